//! How many connections the kernel may track: of the machine, since a namespace has no limit of its
//! own.
//!
//! ```text
//!  262144 ── raised for a run ─► 4195328 ── the last of those who wanted it is gone ─► 262144
//! ```
//!
//! The one thing that a suite sets outside its own namespaces: it is put back, but not by a run that
//! is killed. Who may not set it measures with what there is, and the result says so.

use std::fs;
use std::sync::{Mutex, PoisonError};

/// As many as a plan can ask for, and who is introduced besides.
const MOST: u64 = (1 << 22) + (1 << 10);

const FILE: &str = "/proc/sys/net/netfilter/nf_conntrack_max";

/// How many want it raised, and what it was before.
static RAISED: Mutex<(usize, u64)> = Mutex::new((0, 0));

/// The limit is high as long as this lives.
pub(super) struct Limit(());

impl Limit {
    /// Raises it, if it is lower and that is allowed; what is to be kept of that for the result.
    pub(super) fn raise() -> (Option<Limit>, String) {
        let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(now) = read() else {
            return (None, format!("# {FILE} cannot be read"));
        };
        if raised.0 == 0 && now >= MOST {
            return (None, format!("# nf_conntrack_max is {now} on this machine"));
        }
        if raised.0 == 0 {
            if let Err(error) = fs::write(FILE, MOST.to_string()) {
                let what = format!("# nf_conntrack_max stays {now}: it cannot be raised ({error})");
                return (None, what);
            }
            raised.1 = now;
        }
        raised.0 += 1;
        let was = raised.1;
        let what = format!(
            "sysctl -qw net.netfilter.nf_conntrack_max={MOST}  (the machine's; {was} before and after)"
        );
        (Some(Limit(())), what)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
        raised.0 -= 1;
        // Somebody may have set it meanwhile: that stays.
        if raised.0 == 0 && read() == Some(MOST) {
            let _ = fs::write(FILE, raised.1.to_string());
        }
    }
}

fn read() -> Option<u64> {
    fs::read_to_string(FILE).ok()?.trim().parse().ok()
}
