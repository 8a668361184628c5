//! The kernel's limit of tracked connections: of the machine, since a namespace has no limit of its
//! own.
//!
//! ```text
//!  262144 ── raised for a run ─► 4195328 ── the last of those who wanted it is gone ─► 262144
//!                                   │
//!                a shell that waits for the end of a pipe, of this process, however it ends
//! ```
//!
//! The one thing that a suite sets outside its own namespaces. Who may not set it measures with what
//! there is, and the result says so.

use std::fs;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// As many as a plan can ask for, and who is introduced besides.
const MOST: u64 = (1 << 22) + (1 << 10);

const FILE: &str = "/proc/sys/net/netfilter/nf_conntrack_max";

/// Puts `$2` back into `$1` when standard input ends, unless somebody has made something else of `$3`
/// meanwhile. What ends the run does not end this.
const GUARD: &str =
    "trap '' INT HUP TERM QUIT; echo; cat; [ \"$(cat \"$1\")\" != \"$3\" ] || echo \"$2\" >\"$1\"";

/// Raised for so many, and who puts it back.
static RAISED: Mutex<Option<Raised>> = Mutex::new(None);

struct Raised {
    wanted_by: usize,
    was: u64,
    guard: Child,
}

/// The limit is high as long as this lives.
pub(super) struct Limit(());

impl Limit {
    /// Raises it, if it is lower and that is allowed; what is to be kept of that for the result.
    pub(super) fn raise() -> (Option<Limit>, String) {
        let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
        let was = match raised.as_mut() {
            Some(raised) => {
                raised.wanted_by += 1;
                raised.was
            }
            None => {
                let Some(was) = read() else {
                    return (None, format!("# {FILE} cannot be read"));
                };
                if was >= MOST {
                    return (None, format!("# nf_conntrack_max is {was} on this machine"));
                }
                let guard = guard(FILE, was, MOST)
                    .and_then(|guard| fs::write(FILE, MOST.to_string()).map(|()| guard));
                match guard {
                    Ok(guard) => *raised = Some(Raised { wanted_by: 1, was, guard }),
                    Err(error) => {
                        let what = "it cannot be raised";
                        return (None, format!("# nf_conntrack_max stays {was}: {what} ({error})"));
                    }
                }
                was
            }
        };
        let what = format!(
            "sysctl -qw net.netfilter.nf_conntrack_max={MOST}  (the machine's; {was} before and after)"
        );
        (Some(Limit(())), what)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(one) = raised.as_mut() {
            one.wanted_by -= 1;
        }
        if let Some(mut last) = raised.take_if(|raised| raised.wanted_by == 0) {
            // Its pipe is closed first.
            let _ = last.guard.wait();
        }
    }
}

/// Who puts `was` back into `file` when this process is gone, or the child is waited for, if there
/// still is `ours`.
fn guard(file: &str, was: u64, ours: u64) -> io::Result<Child> {
    let mut shell = Command::new("sh");
    shell.args(["-c", GUARD, "sh", file, &was.to_string(), &ours.to_string()]);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = shell.spawn()?;
    // It says a line when it no longer minds signals.
    match child.stdout.take() {
        Some(mut out) => out.read_exact(&mut [0]).map(|()| child),
        None => Ok(child),
    }
}

fn read() -> Option<u64> {
    fs::read_to_string(FILE).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_put_back_unless_somebody_has_set_it() {
        let file = std::env::temp_dir().join(format!("ws limit {}", std::process::id()));
        let name = file.to_str().unwrap();
        for (meanwhile, after) in [("9000", "400"), ("77", "77")] {
            fs::write(&file, "400\n").unwrap();
            let mut guard = guard(name, 400, 9000).unwrap();
            fs::write(&file, format!("{meanwhile}\n")).unwrap();
            for signal in ["INT", "TERM", "HUP"] {
                let pid = guard.id().to_string();
                assert!(
                    Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success()
                );
            }
            assert!(guard.try_wait().unwrap().is_none(), "it waits");
            assert!(guard.wait().unwrap().success());
            assert_eq!(fs::read_to_string(&file).unwrap().trim(), after);
        }
        fs::remove_file(&file).unwrap();
    }
}
