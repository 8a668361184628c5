//! Ctrl-C, SIGTERM, and a terminal that goes (SIGHUP): a run ends in good order, and what it has
//! measured is kept.

use crate::failure::Failure;
use daemon::clock::Clock;
use daemon::live::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::Moment;

/// Who asks again after this long means it; before, a key was pressed twice.
const PATIENCE: Duration = Duration::from_secs(1);

/// Raises it.
pub fn raise(interrupt: &Interrupt) -> Result<(), Failure> {
    let mut signals = Signals::new(asked()).map_err(|error| failed(&error))?;
    let interrupt = interrupt.clone();
    std::thread::spawn(move || signals.forever().for_each(|_| interrupt.raise()));
    Ok(())
}

/// Sets it, at once. Who asks once more, a second later or after that, ends the program as it is: the
/// first may have come at a bad time.
pub fn set(interrupt: &Arc<AtomicBool>) -> Result<(), Failure> {
    for signal in asked() {
        let set = signal_hook::flag::register(signal, Arc::clone(interrupt));
        set.map_err(|error| failed(&error))?;
    }
    let mut signals = Signals::new(asked()).map_err(|error| failed(&error))?;
    std::thread::spawn(move || {
        let mut first = None;
        for _ in signals.forever() {
            let since = first.get_or_insert_with(Clock::start).now().since(Moment::ZERO);
            if since >= PATIENCE {
                say!("wirespeed: asked twice: ended at once, and the result is not written");
                std::process::exit(130);
            }
        }
    });
    Ok(())
}

/// Whoever starts it with `nohup` wants it to go on.
fn asked() -> Vec<i32> {
    let mut asked = vec![SIGINT, SIGTERM];
    asked.extend((!is_ignored(SIGHUP)).then_some(SIGHUP));
    asked
}

fn failed(error: &std::io::Error) -> Failure {
    Failure::Environment(format!("listening for signals: {error}"))
}

/// Whether this process was started with a signal ignored (`proc(5)`, `SigIgn`).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}
