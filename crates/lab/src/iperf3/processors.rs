//! On which processors the processes of a row and the router's threads lie.
//!
//! ```text
//!              processor 0                   processor 1
//!  free        wherever the system puts them
//!  together    sender, receiver, router
//!  apart       sender                        receiver
//!  …, beside   sender                        receiver, router
//!  …, shared   sender, router, worker of     receiver, worker of the
//!              the sender's interface        receiver's interface
//!  across      sender, receiver              router
//!  …, alone    sender                        receiver                      (router on a third)
//! ```
//!
//! Hosts that share processors with the device are slowed down by it, and by how much is decided by
//! who lies where: two runs of one device differ by a factor of two. A device is compared with another
//! at the best place that each was found to have.
//!
//! With super-frames all of it is copying, four times through our router, and on one processor each copy
//! finds what the last one left in its cache: 30 Gbit/s instead of 27 across (2-core Intel VM).
//!
//! A router that shares processors with the hosts it serves gives way to them (`chrt --idle`): it
//! runs when they wait for it, takes more frames at a time, and interrupts nobody for one of them.

use super::plan::{Device, Placement, Plan};
use port::affinity;

/// A place for everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Processors {
    /// What it is called.
    pub(super) name: &'static str,
    /// Processors of iperf3's processes, in turn: pairs one after the other, their senders before
    /// their receivers. None: the system moves them.
    pub(super) processes: Vec<usize>,
    /// The built-in router's I/O workers.
    pub(super) workers: usize,
    /// Processors of the built-in router's thread and its workers. None: the system moves them.
    pub(super) router: Vec<usize>,
    /// Whether the built-in router's threads let all others go first.
    pub(super) gives_way: bool,
}

impl Processors {
    /// The places a plan has a device tried at, on these processors: one, unless the plan says that
    /// it is to be found.
    pub(super) fn candidates(plan: &Plan, device: Device, cores: &[usize]) -> Vec<Processors> {
        let ours = device == Device::Wirespeed;
        let free = Processors {
            name: "free",
            processes: Vec::new(),
            workers: plan.workers,
            router: Vec::new(),
            gives_way: false,
        };
        match (plan.placement, cores) {
            (Placement::Free, _) | (_, []) => vec![free],
            (Placement::Pinned, [.., last]) => {
                let router = if plan.workers == 0 { vec![*last] } else { vec![] };
                vec![Processors { name: "pinned", processes: cores.to_vec(), router, ..free }]
            }
            (Placement::Probed, [_]) => vec![free],
            (Placement::Probed, &[a, b, ..]) if !ours => {
                let at = |name, processes| Processors { name, processes, ..free.clone() };
                vec![at("together", vec![a]), at("apart", vec![a, b]), free]
            }
            (Placement::Probed, &[a, b, ref more @ ..]) => {
                let at = |name, processes, router: Vec<usize>, gives_way| {
                    let workers = router.len() - 1;
                    Processors { name, processes, workers, router, gives_way }
                };
                let mut places = vec![
                    at("together", vec![a], vec![a], false),
                    at("beside", vec![a, b], vec![b], true),
                    at("shared", vec![a, b], vec![a, a, b], true),
                    at("across", vec![a], vec![b], false),
                ];
                places.extend(more.first().map(|&c| at("alone", vec![a, b], vec![c], false)));
                places.push(Processors { workers: 0, ..free });
                places
            }
        }
    }

    /// iperf3's word for where a process is to be, a blank before it; nothing if that is anywhere.
    pub(super) fn affinity(&self, pair: usize, is_server: bool) -> String {
        let n = self.processes.len().max(1);
        let place = self.processes.get((2 * pair + usize::from(is_server)) % n);
        place.map_or(String::new(), |core| format!(" -A {core}"))
    }

    /// The processors of everything here; those of this program where the system moves it.
    pub(super) fn processors(&self) -> Vec<usize> {
        let mut all = [self.processes.as_slice(), &self.router].concat();
        all.sort_unstable();
        all.dedup();
        if self.processes.is_empty() { affinity::allowed() } else { all }
    }

    /// Two processors on which processes stay, if there are two.
    pub(super) fn apart(&self) -> Option<(usize, usize)> {
        let (&first, rest) = self.processes.split_first()?;
        Some((first, *rest.iter().find(|core| **core != first)?))
    }

    /// What it means for a device, for the result.
    pub(super) fn facts(&self, plan: &Plan, device: Device) -> Vec<String> {
        let Processors { processes: places, workers, router, .. } = self;
        let processes = 2 * plan.pairs as usize * plan.ways();
        let processes_are = match places.as_slice() {
            [] => format!("{processes} iperf3 processes at most, where the system puts them"),
            _ => {
                let here = matches!(device, Device::Linux | Device::Wirespeed);
                let short = processes + usize::from(here) > places.len();
                let remark = if short {
                    ": they share them, and rates are the machine's as well"
                } else {
                    ""
                };
                format!("{processes} iperf3 processes at most on processors {places:?}{remark}")
            }
        };
        // Who asks after paths is where the system puts it.
        let mut facts = Vec::new();
        if !plan.packets.is_empty() {
            facts.push(processes_are);
        }
        if device == Device::Wirespeed {
            let threads = match workers {
                0 => "the router's thread".to_string(),
                n => format!("the router's thread and {n} workers"),
            };
            let at = match router.as_slice() {
                [] => "where the system puts them".to_string(),
                router => format!("on processors {router:?}"),
            };
            let way =
                if self.gives_way { ", after everybody else there (chrt --idle)" } else { "" };
            facts.push(format!("{threads}: {at}{way}"));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;

    fn places(placement: &str, device: Device, cores: &[usize]) -> Vec<Processors> {
        let text = format!(
            "name = \"t\"\ndevices = [\"direct\"]\npairs = 1\nduration = \"1s\"\nwarm-up = \"1s\"\n\
             placement = \"{placement}\"\n"
        );
        Processors::candidates(&plan::read(&text).unwrap(), device, cores)
    }

    #[test]
    fn who_lies_where() {
        for (placement, device, cores, names) in [
            ("free", Device::Wirespeed, &[0, 1][..], &["free"][..]),
            ("pinned", Device::Linux, &[0, 1], &["pinned"]),
            ("pinned", Device::Linux, &[], &["free"]),
            ("probed", Device::Linux, &[3], &["free"]),
            ("probed", Device::Linux, &[0, 1], &["together", "apart", "free"]),
            (
                "probed",
                Device::Wirespeed,
                &[0, 1],
                &["together", "beside", "shared", "across", "free"],
            ),
            (
                "probed",
                Device::Wirespeed,
                &[0, 1, 2, 3],
                &["together", "beside", "shared", "across", "alone", "free"],
            ),
        ] {
            let found = places(placement, device, cores);
            assert_eq!(found.iter().map(|place| place.name).collect::<Vec<_>>(), names);
            for place in found {
                assert!(place.router.is_empty() || place.router.len() == place.workers + 1);
                assert!(!place.gives_way || device == Device::Wirespeed, "{place:?}");
            }
        }
    }

    #[test]
    fn each_process_has_its_processor() {
        let [pinned] = places("pinned", Device::Wirespeed, &[4, 5, 6, 7]).try_into().unwrap();
        let of = |pair| [false, true].map(|is_server| pinned.affinity(pair, is_server));
        assert_eq!([of(0), of(1)], [[" -A 4", " -A 5"], [" -A 6", " -A 7"]]);
        assert_eq!((of(2), pinned.router.as_slice()), (of(0), &[7][..]));
        assert_eq!((pinned.processors(), pinned.apart()), (vec![4, 5, 6, 7], Some((4, 5))));
        let across = &places("probed", Device::Wirespeed, &[4, 5])[3];
        assert_eq!((across.processors(), across.apart()), (vec![4, 5], None));
        let free = &places("free", Device::Linux, &[4, 5])[0];
        assert_eq!((free.processors(), free.apart()), (affinity::allowed(), None));
        assert_eq!(free.affinity(1, true), "");
    }
}
