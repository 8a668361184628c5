//! A device under test and its tester, as the run loop sees them.
//!
//! ```text
//!  set_up ─► Device ┬ ready   introduced, warmed up; what the tester does by itself ─► Alone
//!                   ├ trial   at a load, or as fast as the tester can               ─► Turn
//!                   └ finish  how it was set up, and what it says afterwards        ─► Setup
//!
//!  memory.rs   the built-in router in memory          wired.rs   what is between two veth pairs
//!  external.rs whatever is at two interfaces
//! ```
//!
//! Never decides which trials are run: that is [`run`](super::run)'s.

use super::ends::Cost;
use super::external::Connected;
use super::memory::Memory;
use super::wired::{Limits, WiredTestbed};
use super::{BenchError, Kind, Plan, Progress};
use crate::configuration::Configuration;
use crate::routes::Table;
use crate::two_cores::Ran;
use measure::Environment;
use measure::result::{Medium, Setup};
use measure::suite_result::TrialRecord;
use port::linux::Unavailable;
use std::fmt;
use std::time::Duration;
use wire::{BitRate, FrameLen, PacketRate};

/// A configuration to be measured.
pub struct Job<'a> {
    /// The run it belongs to.
    pub plan: &'a Plan,
    /// What is asked of the devices.
    pub configuration: &'static Configuration,
    /// The full table, if the row needs one.
    pub table: Option<&'a Table>,
    /// Where and how.
    pub environment: &'a Environment,
}

/// What a trial gave, and what the device says of it.
pub struct Turn {
    /// The trial; its time worked is the device's, the kernel's part included.
    pub ran: Ran,
    /// The share of frames that the slow path was spared.
    pub fast_path_share: Option<f64>,
    /// What it cost the tester.
    pub cost: Cost,
}

/// What the tester can do by itself with frames of one size, and the trials that say so.
#[derive(Clone, Debug, Default)]
pub struct Alone {
    /// None where its time does not count, or it is what is measured.
    pub(super) rate: Option<PacketRate>,
    pub(super) trials: Vec<TrialRecord>,
}

impl Alone {
    /// A trial of it. Its rate is that of the best one: what it did once it can do, however busy the
    /// machine was the other times.
    pub(super) fn add(&mut self, rate: PacketRate, trial: TrialRecord) {
        self.rate = Some(self.at_least(rate));
        self.trials.push(trial);
    }

    /// Its rate; what it did with a device it can do alone.
    pub(super) fn at_least(&self, rate: PacketRate) -> PacketRate {
        PacketRate(self.rate.map_or(rate.0, |alone| alone.0.max(rate.0)))
    }
}

/// A device and its tester.
pub(super) trait Device {
    /// What it is called in results.
    fn name(&self) -> &'static str;

    /// Makes both ready for trials with frames of a size. `None` if there is no row of this size,
    /// which is noted.
    ///
    /// # Errors
    /// [`BenchError::Unfit`]: it does not do what the row says.
    fn ready(
        &mut self,
        job: &Job<'_>,
        frame: FrameLen,
        limits: &mut Limits,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Alone>, BenchError>;

    /// Runs a trial at this rate, or as fast as the tester can.
    ///
    /// # Errors
    /// [`BenchError`].
    fn trial(&mut self, load: Option<PacketRate>, duration: Duration) -> Result<Turn, BenchError>;

    /// Whether the tester can keep to a load.
    fn takes_loads(&self) -> bool {
        true
    }

    /// Whether it is known how long the device worked.
    fn tells_time(&self) -> bool {
        true
    }

    /// Whether there is none: the tester by itself is what is measured.
    fn is_tester(&self) -> bool {
        false
    }

    /// Why its figures are not what it can do, if they are not: then it is not compared.
    fn unfair(&self) -> Option<&'static str> {
        None
    }

    /// What is between both, and what that cost the tester.
    fn medium(&self, _cost: &Cost) -> Medium {
        Medium::default()
    }

    /// What the wires carry, both directions together, if it is known.
    fn wire(&self) -> Option<BitRate> {
        None
    }

    /// What is to be said with every row.
    fn remark(&self) -> Option<String> {
        self.unfair().map(str::to_string)
    }

    /// How it was set up, and what it says now that it has been measured.
    fn finish(self: Box<Self>) -> Option<Setup>;
}

/// Why there is no device for a row.
#[derive(Debug)]
pub enum Cannot {
    /// It cannot do what the row asks for: the reason stands in the result.
    Omitted(String),
    /// Something else went wrong.
    Failed(BenchError),
}

impl fmt::Display for Cannot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cannot::Omitted(why) => f.write_str(why),
            Cannot::Failed(error) => error.fmt(f),
        }
    }
}

impl From<BenchError> for Cannot {
    fn from(error: BenchError) -> Cannot {
        Cannot::Failed(error)
    }
}

impl From<Unavailable> for Cannot {
    fn from(unavailable: Unavailable) -> Cannot {
        Cannot::Failed(unavailable.into())
    }
}

/// Sets a device up for a row. What is compared by turns is between veths.
///
/// # Errors
/// [`Cannot`].
pub(super) fn set_up(kind: &Kind, job: &Job<'_>) -> Result<Box<dyn Device>, Cannot> {
    Ok(match kind {
        Kind::Memory if job.plan.turns.is_none() => Box::new(Memory::new(job)?),
        Kind::External if job.plan.turns.is_none() => Box::new(Connected::new(job)?),
        kind => Box::new(WiredTestbed::new(kind, job)?),
    })
}

/// A set-up with nothing done yet.
pub(super) fn no_setup(device: &str, configuration: &Configuration) -> Setup {
    Setup {
        device: device.to_string(),
        mode: configuration.mode,
        family: configuration.family,
        configuration: configuration.name.to_string(),
        cables: Vec::new(),
        commands: Vec::new(),
        witness: Vec::new(),
        remarks: Vec::new(),
        omitted: None,
        ping: None,
    }
}
