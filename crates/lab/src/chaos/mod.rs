//! Chaos: a router's process in real time, between hosts with real programs, while things go wrong.
//!
//! ```text
//!  host a ══ a0 ── eth1 ══ wirespeed router ══ eth2 ── b0 ══ host b
//!  ping, curl, iperf3            ▲                            iperf3 -s, a web server
//!                                │ a fault at a time, drawn from a seed
//!     fault ─► its end ─► how long until ping, curl and iperf3 work again ─► the next one
//! ```
//!
//! Three namespaces without names hold all of it; afterwards the machine is looked at again, and what
//! was not there before is told.

// What goes wrong.
mod fault;
// The namespaces, the router's process, the hosts' programs.
mod rig;
// What a machine has that a run could leave behind.
mod traces;

use crate::clock::Clock;
use crate::swarm::dice::Dice;
pub use fault::Fault;
use port::linux::Unavailable;
use rig::Rig;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use traces::Traces;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The router's program.
    pub program: PathBuf,
    /// Where the faults are drawn from.
    pub seed: u64,
    /// For how long faults are begun.
    pub time: Duration,
}

/// After a fault so long is waited for the hosts' programs to work again.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What came of a fault.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// What went wrong.
    pub fault: Fault,
    /// When it began, since the run did.
    pub at: Duration,
    /// How long after its end all programs worked; `None` if they did not within [`PATIENCE`].
    pub took: Option<Duration>,
    /// What was seen while it lasted.
    pub seen: String,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// By fault, in time's order.
    pub recoveries: Vec<Recovery>,
    /// What is wrong: a fault that was not recovered from, an exit code, something left behind.
    pub wrong: Vec<String>,
}

/// Why there was no run.
#[derive(Debug)]
pub enum ChaosError {
    /// The machine does not give what it takes.
    Unavailable(Unavailable),
    /// A command that makes the hosts failed, or a program does not start: which, and what it said.
    Command(String),
}

impl fmt::Display for ChaosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChaosError::Unavailable(unavailable) => unavailable.fmt(f),
            ChaosError::Command(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ChaosError {}

impl From<Unavailable> for ChaosError {
    fn from(unavailable: Unavailable) -> ChaosError {
        ChaosError::Unavailable(unavailable)
    }
}

/// Runs faults one after the other until the time is over, or `is_over` says so; each is told to
/// `progress`. The first that is not recovered from ends the run.
///
/// # Errors
/// [`ChaosError`]: nothing was run.
pub fn run(
    plan: &Plan,
    mut progress: impl FnMut(&Recovery),
    is_over: impl Fn() -> bool,
) -> Result<Ran, ChaosError> {
    let before = Traces::now();
    let (mut rig, mut dice, mut ran) = (Rig::new(plan)?, Dice::new(plan.seed), Ran::default());
    let begin = Clock::start();
    rig.recovered(PATIENCE)
        .map_err(|why| ChaosError::Command(format!("without any fault: {why}\n{}", rig.said())))?;
    while begin.elapsed() < plan.time && !is_over() {
        // Whatever else there is, the hosts' traffic goes on between faults.
        std::thread::sleep(Duration::from_millis(dice.between(100, 1500)));
        let (fault, at) = (Fault::draw(&mut dice), begin.elapsed());
        let seen = fault.inflict(&mut rig, &mut dice)?;
        let recovered = rig.recovered(PATIENCE);
        let recovery = Recovery { fault, at, took: recovered.as_ref().ok().copied(), seen };
        progress(&recovery);
        ran.recoveries.push(recovery);
        if let Err(why) = recovered {
            let said = rig.said();
            ran.wrong.push(format!("after {fault}: {why}\n{said}"));
            break;
        }
    }
    ran.wrong.extend(rig.end());
    ran.wrong.extend(before.left());
    Ok(ran)
}
