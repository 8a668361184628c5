//! All cells of the performance table, of any device.
//!
//! ```text
//! for each configuration: the devices, set up (by turns all of them, in both families, else one after
//!                         the other)
//!    for each frame size: introduce, warm up ─► highest load ─► search ─► Row
//!
//!  memory     the built-in router between memory wires
//!  linux      the kernel ┐
//!  wirespeed  our router ├ in a namespace, between two veth pairs made alike
//!  testpmd    DPDK       ┘
//!  external   whatever is connected to two interfaces
//! ```
//!
//! A device that cannot do what a row asks for has no row, and its [`Setup`] says why.

// What is to be measured.
pub mod plan;
// What all of them are to the run loop.
pub mod device;
// The run loop.
mod run;
// The built-in router in memory.
mod memory;
// A device between two wires of the system's, and what of it the bench must know.
pub mod wired;
// Two veth pairs, three namespaces, and who works where.
pub mod veth;
// The tester at their outer ends.
pub mod ends;
// Our router on the same veths.
pub mod ours;
// DPDK's testpmd on them.
pub mod testpmd;
// No device: what goes in comes out, for the tester's own limit.
pub mod patch;
// Pings between two hosts' own network stacks.
pub mod ping;
// Whatever is connected to two interfaces.
pub mod external;
// What has been measured so far.
pub mod kept;
// The highest load by a criterion.
mod criterion;

use crate::configuration::{Configuration, Traffic};
use crate::device::LoadError;
use crate::kernel;
use crate::placement::Pair;
use crate::routes::{self, Table};
use crate::tester::row::Unfit;
pub use ends::Generator;
use external::External;
pub use kept::Kept;
use measure::mlrsearch::Goal;
use measure::result::{Documented, Setup};
use measure::template::shortest;
use measure::trial::Outcome;
use measure::{Family, Mode, Row, Trial};
use port::linux::Unavailable;
use port::slab::SlabError;
use router::ip::route::TooManyTargets;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use wire::FrameLen;

/// A kind of device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The built-in router in memory.
    Memory,
    /// The Linux kernel in a namespace.
    Linux,
    /// The built-in router on veths.
    Wirespeed,
    /// DPDK's testpmd on veths.
    Testpmd(testpmd::Driver),
    /// What is connected to two interfaces: [`Plan::external`].
    External,
}

impl Kind {
    /// What it is called in results.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Memory => memory::DEVICE,
            Kind::Linux => kernel::DEVICE,
            Kind::Wirespeed => ours::DEVICE,
            Kind::Testpmd(driver) => driver.name(),
            Kind::External => external::DEVICE,
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        Ok(match text {
            "wirespeed" => Kind::Memory,
            "linux" => Kind::Linux,
            "wirespeed-veth" => Kind::Wirespeed,
            "testpmd" => Kind::Testpmd(testpmd::Driver::Xdp),
            "testpmd-packet" => Kind::Testpmd(testpmd::Driver::Packet),
            "external" => Kind::External,
            _ => {
                let all = "wirespeed, linux, wirespeed-veth, testpmd, testpmd-packet, external";
                return Err(format!("the devices are: {all}"));
            }
        })
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The devices, in the order of their tables.
    pub devices: Vec<Kind>,
    /// Two processors for tester and device ([`two_cores`](crate::two_cores)); none to run on one
    /// ([`one_core`](crate::one_core)).
    pub pair: Option<Pair>,
    /// The frame sizes.
    pub sizes: Vec<FrameLen>,
    /// The rows.
    pub configurations: Vec<&'static Configuration>,
    /// Of each trial at the highest load.
    pub duration: Duration,
    /// Where random choices start from.
    pub seed: u64,
    /// The full table; made-up ones if there is none.
    pub table: Option<Table>,
    /// How many turns the devices take to be compared; none to measure each by itself.
    pub turns: Option<u32>,
    /// What is connected, if it is to be measured.
    pub external: Option<External>,
    /// By which criterion the highest load is searched; if none, no loss in short trials.
    pub criterion: Option<Goal>,
    /// What documents have for the same rows.
    pub documents: Vec<Documented>,
    /// Who sends between veths; if nobody is named, the kernel where it can.
    pub generator: Option<Generator>,
}

impl Plan {
    /// The longest frames of it.
    pub fn longest(&self) -> FrameLen {
        self.sizes.iter().copied().max().unwrap_or(FrameLen::MAX)
    }

    /// The frame sizes of a row. The shortest frames are too short for IPv6: it begins with the shortest
    /// that it has, and IPv4 has that length, too, where both are asked for.
    pub fn sizes_of(&self, row: &Configuration) -> Vec<FrameLen> {
        let least = shortest(Family::Ipv6);
        let of_ipv6 = self.sizes.iter().map(|size| (*size).max(least));
        let is_ipv6 = |row: &Configuration| row.family == Family::Ipv6;
        let mut sizes: Vec<FrameLen> = match (row.mode, row.family) {
            (_, Family::Ipv6) => of_ipv6.collect(),
            (Mode::Routing, _) if self.configurations.iter().any(|other| is_ipv6(other)) => {
                self.sizes.iter().copied().chain(of_ipv6).collect()
            }
            _ => self.sizes.clone(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// How many cells there are, of all devices.
    pub fn cells(&self) -> usize {
        let each = self.configurations.iter().map(|row| self.sizes_of(row).len());
        self.devices.len() * each.sum::<usize>()
    }

    /// What is to be said of a row's frame size, if nobody asked for it.
    fn said_of_size(&self, row: &Configuration, frame: FrameLen) -> Option<String> {
        if row.family != Family::Ipv6 || self.sizes.contains(&frame) {
            return None;
        }
        let shorter = self.sizes.iter().filter(|size| **size < frame);
        let shorter: Vec<String> = shorter.map(|size| size.l2().to_string()).collect();
        Some(format!("in place of {} byte: no IPv6 test frame is shorter", shorter.join(", ")))
    }

    /// How long a trial of a search, or of a self-test, takes.
    pub fn short(&self) -> Duration {
        (self.duration / 5).clamp(Duration::from_millis(5), Duration::from_secs(1))
    }
}

/// A run could not go on.
#[derive(Debug)]
pub enum BenchError {
    /// No frames.
    Slab(SlabError),
    /// A script was refused.
    Load(LoadError),
    /// The routes do not fit.
    Routes(TooManyTargets),
    /// A thread could not be put on its processor.
    Placement(std::io::Error),
    /// A device does not do what its row says.
    Unfit(&'static str, Unfit),
    /// An external device, and nobody said where.
    NoPorts,
    /// The system does not give what is needed.
    Unavailable(Unavailable),
    /// A command that should have worked did not: the command, and what it said.
    Command(String, String),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Slab(error) => write!(f, "no frames for the device: {error}"),
            BenchError::Load(error) => error.fmt(f),
            BenchError::Routes(error) => write!(f, "feeding the routes: {error}"),
            BenchError::Placement(error) => {
                write!(
                    f,
                    "no processor of its own for tester and device each: {error}; try --cores 1"
                )
            }
            BenchError::Unfit(file, unfit) => write!(f, "{file}: {unfit}"),
            BenchError::NoPorts => f.write_str("an external device is between two ports: which?"),
            BenchError::Unavailable(unavailable) => unavailable.fmt(f),
            BenchError::Command(command, said) => write!(f, "{command}: {said}"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<Unavailable> for BenchError {
    fn from(unavailable: Unavailable) -> BenchError {
        BenchError::Unavailable(unavailable)
    }
}

/// What a run says while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A cell of a device is about to be measured.
    Begin(&'a str, &'a Configuration, FrameLen),
    /// It was.
    Done(&'a Row),
    /// There will be no row.
    Omitted(&'a Setup),
}

/// Runs everything; what is measured goes to `kept`.
///
/// # Errors
/// [`BenchError`]: what was measured before is kept.
pub fn run(
    plan: &Plan,
    kept: &Kept,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<(), BenchError> {
    kept.documents(&plan.documents);
    let environment = &kept.so_far().environment;
    let mut limits = wired::Limits::default();
    let by_turns = plan.turns.is_some();
    // By turns, both families of a row together.
    let together =
        |a: &&Configuration, b: &&Configuration| by_turns && (a.mode, a.name) == (b.mode, b.name);
    for rows in plan.configurations.chunk_by(together) {
        let made_up = |row: &&Configuration| {
            let (family, of_table) = (row.family, row.traffic == Traffic::Table);
            let make = || Table::synthetic(family, routes::synthetic(family), plan.seed);
            (of_table && plan.table.is_none()).then(make)
        };
        let made_up: Vec<Option<Table>> = rows.iter().map(made_up).collect();
        let job = |(row, made_up)| {
            let configuration: &'static Configuration = row;
            let of_table = configuration.traffic == Traffic::Table;
            let table = plan.table.as_ref().filter(|_| of_table);
            let table = table.or(Option::as_ref(made_up));
            device::Job { plan, configuration, table, environment }
        };
        let jobs: Vec<device::Job<'_>> = rows.iter().copied().zip(&made_up).map(job).collect();
        let each = if by_turns { plan.devices.len() } else { 1 };
        for devices in plan.devices.chunks(each.max(1)) {
            run::measure(devices, &jobs, &mut limits, kept, &mut progress)?;
        }
    }
    Ok(())
}

/// How often a trial is repeated that says nothing about the device.
const REPEATS: u32 = 1;

/// And how often one that the machine disturbed: a moment later it may do well. A machine that is busy
/// five times in a row is not one to measure on now.
const DISTURBED: u32 = 4;

/// Whether a trial is to be run once more, after so many times that it was.
fn is_repeated(trial: &Trial, repeats: u32) -> bool {
    match trial.outcome {
        Outcome::Invalid(reason) if reason.is_disturbance() => repeats < DISTURBED,
        Outcome::Invalid(_) => repeats < REPEATS,
        Outcome::Pass | Outcome::Fail { .. } => false,
    }
}

/// Whether the machine disturbed a trial.
fn is_disturbed(trial: &Trial) -> bool {
    matches!(trial.outcome, Outcome::Invalid(reason) if reason.is_disturbance())
}

fn share(fast: u64, received: u64) -> Option<f64> {
    (received > 0).then(|| (fast as f64 / received as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Conditions, Counts};

    #[test]
    fn what_the_machine_disturbed_is_repeated_more_often() {
        let counts = Counts { intended: 9, sent: 9, received: 9, ..Counts::default() };
        let second = Duration::from_secs(1);
        let others = |percent| Conditions {
            away: Some((second * percent / 100, second)),
            ..Conditions::default()
        };
        let short = Counts { intended: 10, ..counts };
        for (counts, conditions, times) in [
            (counts, others(0), 0),
            (Counts { received: 8, ..counts }, others(2), 0),
            (counts, others(45), DISTURBED),
            (short, others(0), REPEATS),
        ] {
            let trial = Trial::judge(second, counts, &conditions);
            let n = (0..99).take_while(|n| is_repeated(&trial, *n)).count();
            assert_eq!(n as u32, times, "{trial:?}");
            assert_eq!(is_disturbed(&trial), times == DISTURBED, "{trial:?}");
        }
    }
}
