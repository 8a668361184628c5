//! The built-in device's own knowledge of a procedure, which no tester sees from outside.
//!
//! ```text
//!  every procedure ─► what was dropped meanwhile, by reason: in rings, in the router ─┐
//!  throughput ─► one trial more at that rate, profiled ─► cycles a frame by facility ─┴─► the cell
//! ```
//!
//! The profiled trial is none of the procedure's: looking costs the router up to a percent.

use super::bench::{Bench, Testbed};
use measure::procedure::{Stop, TrialOutput};
use port::PortCounters;
use router::Router;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::PacketRate;

/// Frames that found the ring before the device's processor full, and the one behind it.
const RINGS: [&str; 2] = ["rx-ring-full", "tx-ring-full"];

/// How long the trial is whose time is looked at.
const PROFILED: Duration = Duration::from_millis(100);

/// Frames by why they were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped(BTreeMap<String, u64>);

impl Dropped {
    /// A router's own, and of those before it.
    pub(super) fn with(&self, router: &Router) -> Dropped {
        let mut all = self.clone();
        for (reason, n) in router.discards().iter() {
            *all.0.entry(reason.to_string()).or_default() += n;
        }
        all
    }

    /// What its ports' rings lost, too.
    pub(super) fn with_rings(mut self, ports: impl Iterator<Item = PortCounters>) -> Dropped {
        for port in ports {
            for (ring, n) in RINGS.into_iter().zip([port.rx_drop, port.tx_drop]) {
                if n > 0 {
                    *self.0.entry(ring.to_string()).or_default() += n;
                }
            }
        }
        self
    }

    /// What was dropped since.
    pub(super) fn since(&self, before: &Dropped) -> BTreeMap<String, u64> {
        let of = |reason| before.0.get(reason).copied().unwrap_or(0);
        let more = self.0.iter().map(|(reason, n)| (reason.clone(), n.saturating_sub(of(reason))));
        more.filter(|&(_, n)| n > 0).collect()
    }
}

impl<P: Testbed> Bench<'_, P> {
    /// What the device dropped so far.
    pub(super) fn dropped(&self) -> Dropped {
        self.place.dropped()
    }

    /// What a frame costs the device at a load: cycles of the processor's time stamp counter, by
    /// facility; nothing where the device does not know.
    pub(super) fn cycles(&mut self, load: PacketRate) -> Result<BTreeMap<String, f64>, Stop> {
        if self.place.profile(true).is_none() {
            return Ok(BTreeMap::new());
        }
        // What it was asked meanwhile is not the procedure's.
        let asked = std::mem::take(&mut self.asked);
        let ran: Result<TrialOutput, Stop> = self.steady(load, PROFILED, None);
        self.asked = asked;
        let cycles = self.place.profile(false).unwrap_or_default();
        let ran = ran?;
        if ran.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        let frames = ran.trial.counts.received.max(1) as f64;
        // Neither what was spent on nothing nor on looking.
        let busy = cycles.into_iter().filter(|(name, _)| name != "idle" && name != "profiling");
        Ok(busy
            .map(|(facility, n)| (facility, (n as f64 / frames * 10.0).round() / 10.0))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_meanwhile() {
        let of = |entries: &[(&str, u64)]| {
            Dropped(entries.iter().map(|&(reason, n)| (reason.to_string(), n)).collect())
        };
        let rings = |ports: &[(u64, u64)]| {
            let of = |&(rx_drop, tx_drop)| PortCounters { rx_drop, tx_drop, ..Default::default() };
            Dropped::default().with_rings(ports.iter().map(of))
        };
        for (before, after, more) in [
            (of(&[]), of(&[]), of(&[])),
            (of(&[("no-route", 3)]), of(&[("no-route", 3)]), of(&[])),
            (
                of(&[("no-route", 3)]),
                of(&[("no-route", 5), ("a", 1)]),
                of(&[("no-route", 2), ("a", 1)]),
            ),
            (of(&[]), rings(&[(7, 0), (2, 1)]), of(&[(RINGS[0], 9), (RINGS[1], 1)])),
            (of(&[]), rings(&[(0, 0)]), of(&[])),
        ] {
            assert_eq!(after.since(&before), more.0, "{before:?} {after:?}");
        }
    }
}
