//! Validity of what programs measured: what the machine did meanwhile.
//!
//! ```text
//!  Conditions ─► trial::disturbance ─┬ nothing: valid
//!                                    └ a reason: once more, AGAIN times at most; then invalid
//! ```
//!
//! The third outcome of all trials, by the same thresholds. Hosts that have no time left are no reason:
//! [`limit`](Results::limit) says whose limit a rate is.

use super::{HostPath, HostTransfer, Latency, Results, Row};
use crate::trial::{Conditions, disturbance};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How often at most what was disturbed is measured once more: a machine that takes its processors away
/// for four times is not one to measure on now.
pub const AGAIN: usize = 3;

/// What the machine did to a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validity {
    /// How long a virtual machine's host kept its processors for itself, all of them together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stolen_ns: u64,
    /// Why it says nothing about the device; none if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Why it was measured once more, each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
}

pub(super) fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Validity {
    /// Of what took so long, under these conditions.
    pub fn of(duration: Duration, conditions: &Conditions) -> Validity {
        Validity {
            stolen_ns: u64::try_from(conditions.stolen.as_nanos()).unwrap_or(u64::MAX),
            invalid: disturbance(duration, conditions).map(|reason| reason.to_string()),
            disturbed: Vec::new(),
        }
    }

    /// Of what stands on both.
    pub fn and(mut self, other: Validity) -> Validity {
        self.disturbed.extend(other.disturbed);
        Validity {
            stolen_ns: self.stolen_ns.saturating_add(other.stolen_ns),
            invalid: self.invalid.or(other.invalid),
            disturbed: self.disturbed,
        }
    }

    /// Whether it says something about the device.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_none()
    }
}

/// Measures until nothing disturbs it, [`AGAIN`] times more at most. The last one may be invalid all the
/// same; it has why the others were.
///
/// # Errors
/// Whatever measuring says, the first time it does.
pub fn undisturbed<T, E>(
    mut measure: impl FnMut() -> Result<T, E>,
    validity: fn(&mut T) -> &mut Validity,
) -> Result<T, E> {
    let mut disturbed = Vec::new();
    loop {
        let mut measured = measure()?;
        let of = validity(&mut measured);
        match of.invalid.take() {
            Some(why) if disturbed.len() < AGAIN => disturbed.push(why),
            last => {
                of.invalid = last;
                of.disturbed = disturbed;
                return Ok(measured);
            }
        }
    }
}

impl Row {
    /// The same, judged by what the machine did during the time that counts.
    pub fn judged(mut self, conditions: &Conditions) -> Row {
        self.validity = Validity::of(self.counted(), conditions);
        self
    }

    /// The time that counts, the shortest of all pairs; nothing if there is none.
    pub fn counted(&self) -> Duration {
        let seconds = self.pairs_run.iter().map(|pair| pair.figures.seconds);
        seconds_of(seconds.fold(f64::MAX, f64::min))
    }
}

impl HostPath {
    /// Why a transfer over it says nothing: its own reason, or that of the path by which it is reckoned.
    pub fn invalid<'a>(&'a self, transfer: &'a HostTransfer) -> Option<&'a String> {
        transfer.validity.invalid.as_ref().or(self.validity.invalid.as_ref())
    }
}

impl HostTransfer {
    /// The same, judged by what the machine did meanwhile.
    pub fn judged(mut self, conditions: &Conditions) -> HostTransfer {
        self.validity = Validity::of(seconds_of(self.seconds), conditions);
        self
    }
}

impl Latency {
    /// The same, judged by what the machine did while it took so long.
    pub fn judged(mut self, took: Duration, conditions: &Conditions) -> Latency {
        self.took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.validity = Validity::of(took, conditions);
        self
    }
}

/// A file's seconds, whatever they are.
fn seconds_of(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

impl Results {
    /// Everything measured: its name, and whether it says something about the device.
    fn validities(&self) -> Vec<(String, &Validity)> {
        let rows = self.rows.iter().map(|row| (row.setting.name(), &row.validity));
        let latencies =
            self.latencies.iter().map(|of| (format!("{}, {}", of.device, of.tool), &of.validity));
        let paths = self.paths.iter().flat_map(|path| {
            let transfers = path.transfers.iter().map(|transfer| {
                let window = transfer.window;
                (format!("{}, window {window}", path.device), &transfer.validity)
            });
            let own = (format!("{}, the path and all its transfers", path.device), &path.validity);
            std::iter::once(own).chain(transfers)
        });
        rows.chain(latencies).chain(paths).collect()
    }

    /// What says nothing about its device, and why.
    pub fn invalid(&self) -> Vec<String> {
        let of = |(name, of): (String, &Validity)| {
            of.invalid.as_ref().map(|why| format!("{name}: {why}"))
        };
        self.validities().into_iter().filter_map(of).collect()
    }

    /// Whether nothing that was measured says anything about a device.
    pub fn is_all_invalid(&self) -> bool {
        let rows = self.rows.iter().map(|row| row.validity.is_valid());
        let latencies = self.latencies.iter().map(|of| of.validity.is_valid());
        let transfers = self.paths.iter().flat_map(|path| {
            path.transfers.iter().map(|transfer| path.invalid(transfer).is_none())
        });
        let mut all = rows.chain(latencies).chain(transfers).peekable();
        all.peek().is_some() && all.all(|is_valid| !is_valid)
    }

    /// What was measured more than once, how often, and why the last time.
    pub fn repeated(&self) -> Vec<String> {
        let of = |(name, of): (String, &Validity)| {
            let (n, why) = (of.disturbed.len() + 1, of.disturbed.last()?);
            Some(format!("{name}: measured {n} times, since {why}"))
        };
        self.validities().into_iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn stolen(ms: u32) -> Conditions {
        Conditions { stolen: MS * ms, ..Conditions::default() }
    }

    /// The thresholds are those of other trials, whatever disturbs.
    #[test]
    fn what_disturbs() {
        let quiet = Conditions::default();
        let (second, hour) = (MS * 1000, MS * 3_600_000);
        for (duration, conditions, expected) in [
            (second, quiet, None),
            (second, stolen(20), None),
            (second, stolen(30), Some("took its processors away for 30ms")),
            (MS * 100, stolen(10), None),
            (MS * 100, stolen(20), Some("took its processors away for 20ms")),
            (second * 10, stolen(200), None),
            (second * 10, stolen(210), Some("took its processors away for 210ms")),
            (second, Conditions { placement_ns: Some((90, 180)), ..quiet }, None),
            (
                second,
                Conditions { placement_ns: Some((90, 480)), ..quiet },
                Some("the cores moved during the trial: 90 ns apart, then 480 ns"),
            ),
            (second, Conditions { clocks: Some((second, second + MS * 10)), ..quiet }, None),
            (
                second,
                Conditions { clocks: Some((second, hour)), ..quiet },
                Some("the clocks differ by 3599s"),
            ),
        ] {
            let of = Validity::of(duration, &conditions);
            assert_eq!(of.stolen_ns, conditions.stolen.as_nanos() as u64);
            assert_eq!(of.is_valid(), expected.is_none(), "{duration:?} {of:?}");
            assert!(expected.is_none_or(|part| of.invalid.unwrap().contains(part)));
        }
    }

    /// A machine that takes so much away, measurement by measurement.
    #[test]
    fn what_was_disturbed_is_measured_again() {
        for (machine, n, valid) in [
            (&[0][..], 1, true),
            (&[500, 20], 2, true),
            (&[500, 500, 500, 0], 4, true),
            (&[500, 500, 500, 30, 0], 4, false),
        ] {
            let mut times = machine.iter();
            let mut taken = 0;
            let of = undisturbed(
                || {
                    taken += 1;
                    times.next().map(|ms| Validity::of(MS * 1000, &stolen(*ms))).ok_or("too often")
                },
                |of| of,
            );
            let of = of.unwrap();
            assert_eq!(
                (taken, of.disturbed.len() + 1, of.is_valid()),
                (n, n, valid),
                "{machine:?}"
            );
            assert_eq!(of.stolen_ns, u64::from(machine[n - 1]) * 1_000_000);
            assert!(of.disturbed.iter().all(|why| why.contains("for 500ms")), "{of:?}");
        }
        let failed = undisturbed(|| Err::<Validity, _>("it ended"), |of| of);
        assert_eq!(failed, Err("it ended"));
    }

    #[test]
    fn what_stands_on_two_measurements() {
        let of = |ms| Validity::of(MS * 1000, &stolen(ms));
        assert!(of(10).and(of(20)).is_valid());
        assert_eq!(of(10).and(of(20)).stolen_ns, 30_000_000);
        assert_eq!(of(40).and(of(50)).invalid, of(40).invalid);
        assert_eq!(of(0).and(of(50)).invalid, of(50).invalid);
    }
}
