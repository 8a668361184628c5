//! A bench: a tester, a device, and the time that both have.
//!
//! ```text
//!  Bench ── Task ─► Testbed ┬ run     tester and device, until all is back
//!                         ├ renew   the device knows nothing any more
//!                         └ bypass  no device: the tester by itself
//! ```

use crate::clock::Clock;
use crate::machine;
use crate::placement::{Distance, Pair};
use crate::suite::inside::Dropped;
use crate::tester::{Task, Tester};
use measure::Conditions;
use measure::procedure::Stop;
use port::Port;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::{FrameLen, Moment};

/// What may change under a trial, read before it and after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// How far the tester's processor is from the device's: nanoseconds that a cache line takes there and
    /// back; none where the device's is not known.
    pub(super) distance_ns: Option<u64>,
    /// How long the machine's host kept the processors for itself so far.
    pub(super) stolen: Duration,
    /// What the steady clock and the wall clock (since 1970) say.
    pub(super) clocks: Option<(Moment, Duration)>,
}

impl Surroundings {
    /// Those of two processors of this machine.
    pub(in crate::suite) fn now(
        clock: Clock,
        pair: Pair,
        distance: Option<&mut Distance>,
    ) -> Surroundings {
        // First what takes a while.
        let distance_ns = distance.and_then(Distance::now_ns);
        let stolen = machine::stolen(&[pair.tester, pair.device]);
        Surroundings { distance_ns, stolen, clocks: Some(clock.beside_the_wall()) }
    }

    /// What a trial that ends now was run under, which began at these.
    pub(super) fn until(self, after: Surroundings, conditions: &mut Conditions) {
        conditions.stolen = after.stolen.saturating_sub(self.stolen);
        conditions.placement_ns = self.distance_ns.zip(after.distance_ns);
        let clocks = self.clocks.zip(after.clocks);
        conditions.clocks = clocks.map(|((steady, wall), (later, wall_later))| {
            (later.since(steady), wall_later.saturating_sub(wall))
        });
    }
}

/// Where tester and device are, and what time is there.
pub trait Testbed {
    /// The wires.
    type Wire: Port;

    /// The tester.
    fn tester(&mut self) -> &mut Tester<Self::Wire>;

    /// What time it is.
    fn now(&self) -> Moment;

    /// How long after now a trial begins at the earliest: threads have to be there by then.
    fn lead(&self) -> Duration {
        Duration::ZERO
    }

    /// Runs tester and device until all is sent and nothing comes any more; if `reset_at` is given,
    /// the device is started anew then.
    ///
    /// # Errors
    /// [`Stop`].
    fn run(&mut self, task: &mut Task, reset_at: Option<Moment>) -> Result<(), Stop>;

    /// A device that knows nothing in the old one's place: a new one, or the same made to forget; or,
    /// of a device that nobody can make forget, nothing happens.
    ///
    /// # Errors
    /// [`Stop`].
    fn renew(&mut self) -> Result<(), Stop>;

    /// Whether the device is still the same after that, so that something may be left in it: then no
    /// trial uses connections of an earlier one.
    fn remembers(&self) -> bool {
        false
    }

    /// Makes the device forget all its connections: how many they were, and how long it took.
    ///
    /// # Errors
    /// [`Stop::Broken`] where that has no meaning.
    fn forget(&mut self) -> Result<(u64, Duration), Stop> {
        Err(Stop::Broken("forgetting takes no time in virtual time".into()))
    }

    /// With or without a device between the wires: without, it is the tester that is measured.
    ///
    /// # Errors
    /// [`Stop`]: there are no wires to be without one.
    fn bypass(&mut self, without: bool) -> Result<(), Stop>;

    /// Whether there is none between them now.
    fn is_bypassed(&self) -> bool;

    /// What of a measured latency is the wires' own.
    fn wire_time(&self, _frame: FrameLen) -> Duration {
        Duration::ZERO
    }

    /// Whether its time is no clock's.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Frames so far that came through the device and found the tester's own end of a wire full,
    /// beyond what the wires themselves count.
    fn found_no_room(&self) -> u64 {
        0
    }

    /// Frames that left the device so far as it says, and that came to the tester's wires; where the
    /// device is ours, and what is between them loses nothing that neither counts.
    fn left_and_came(&self) -> Option<(u64, u64)> {
        None
    }

    /// What a port is called, where somebody has to find it; ports count from 0.
    fn port_name(&self, port: usize) -> String {
        format!("port {}", port + 1)
    }

    /// What is known of the device beyond its configuration, a line each.
    fn witness(&self) -> Vec<String> {
        vec![]
    }

    /// What the device dropped, in its words.
    fn discards(&self) -> String;

    /// What the device dropped so far, by reason, where it is ours.
    fn dropped(&self) -> Dropped {
        Dropped::default()
    }

    /// Begins to look at what the device's time goes to, or ends that and says it: cycles by facility.
    /// `None` where the device does not say it.
    fn profile(&mut self, _begin: bool) -> Option<BTreeMap<String, u64>> {
        None
    }

    /// What may change under a trial, as it is now; nothing where time is no clock's.
    fn surroundings(&mut self) -> Surroundings {
        Surroundings::default()
    }
}
