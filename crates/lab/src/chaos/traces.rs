//! Traces: what a machine has that a run could leave behind.

use crate::clock::Clock;
use std::collections::BTreeSet;
use std::time::Duration;

/// Interfaces, mounts, pinned BPF objects and folders for temporary files, by name.
pub(super) struct Traces(BTreeSet<String>);

/// What ends by itself, such as a namespace, is given so long.
const PATIENCE: Duration = Duration::from_secs(5);

impl Traces {
    /// What there is now.
    pub(super) fn now() -> Traces {
        let names = |folder: &str| -> Vec<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path().display().to_string()).collect()
        };
        let mut all = BTreeSet::new();
        all.extend(names("/sys/class/net"));
        all.extend(names("/sys/fs/bpf"));
        all.extend(names("/run/netns"));
        let temporary = std::env::temp_dir().display().to_string();
        all.extend(names(&temporary).into_iter().filter(|name| name.contains("wirespeed-chaos")));
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        // That of named namespaces is made by the first `ip netns` there is, of whomever, and stays.
        let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        let places = places.filter(|place| *place != "/run/netns");
        all.extend(places.map(|place| format!("the mount at {place}")));
        Traces(all)
    }

    /// What is there now and was not then, a sentence each.
    pub(super) fn left(&self) -> Vec<String> {
        let begin = Clock::start();
        loop {
            let now = Traces::now();
            let left: Vec<_> = now.0.difference(&self.0).cloned().collect();
            if left.is_empty() || begin.elapsed() > PATIENCE {
                return left.into_iter().map(|name| format!("left behind: {name}")).collect();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
