//! Recovery times of a device: after an overload (RFC 2544 §26.5), after a reset
//! (§26.6, RFC 6201).
//!
//! ```text
//!  load  110 % of throughput ───────┐                        load ──────╳ reset
//!                                   └── 50 % of that ──            A: last frame ── B: first frame
//!                                   A          B: last lost frame      before           after
//!                    recovery time = B − A                        reset time = B − A
//! ```
//!
//! (§26.5 prints the subtraction the wrong way round.) Which resets there are is the measurer's
//! matter; **hardware and power resets** need a box and somebody at its plug.

use super::spread::Spread;
use super::{Run, Stop, TrialInput};
use crate::trial::Outcome;
use std::time::Duration;
use wire::PacketRate;

/// After an overload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// How long the overload lasts (60 seconds or more).
    pub overload: Duration,
    /// How long the device is watched afterwards.
    pub watch: Duration,
    /// How often.
    pub repetitions: u32,
}

/// What was found, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// The load of the first part, frames per second from each port.
    pub load: PacketRate,
    /// The times; the mean is the benchmark.
    pub times: Option<Spread>,
    /// Repetitions that stayed invalid.
    pub invalid: u32,
    /// Repetitions at whose end the device had not recovered.
    pub never: u32,
    /// Repetitions in which nothing was lost at all: there was nothing to recover from.
    pub unharmed: u32,
}

/// After an overload of what has this throughput from each port, and not above the medium's highest rate.
///
/// # Errors
/// [`Stop`].
pub fn recovery(
    run: &mut Run<'_>,
    (throughput, highest): (PacketRate, PacketRate),
    plan: &Recovery,
) -> Result<Recovered, Stop> {
    let high = PacketRate((throughput.0 * 1.1).min(highest.0));
    let input = TrialInput::StepDown {
        high,
        high_for: plan.overload,
        low: high * 0.5,
        low_for: plan.watch,
    };
    repeat(run, input, high, plan.repetitions, Some(plan.watch))
}

/// After a reset in the midst of frames at this load.
///
/// # Errors
/// [`Stop`].
pub fn reset(
    run: &mut Run<'_>,
    load: PacketRate,
    before: Duration,
    after: Duration,
    repetitions: u32,
) -> Result<Recovered, Stop> {
    repeat(run, TrialInput::Reset { load, before, after }, load, repetitions, None)
}

fn repeat(
    run: &mut Run<'_>,
    input: TrialInput,
    load: PacketRate,
    repetitions: u32,
    watch_for: Option<Duration>,
) -> Result<Recovered, Stop> {
    let (mut times, mut invalid, mut never, mut unharmed) = (vec![], 0, 0, 0);
    for _ in 0..repetitions {
        let output = run.trial(input)?;
        match (output.trial.outcome, output.time) {
            (Outcome::Invalid(_), _) => invalid += 1,
            // Nothing was lost of the overload either: there was nothing to recover from, no 0 ns.
            (Outcome::Pass, _) if watch_for.is_some() => unharmed += 1,
            // Still losing in the last tenth: that was not the end of it.
            (_, Some(time)) if watch_for.is_some_and(|watch| time > watch * 9 / 10) => never += 1,
            (_, Some(time)) => times.push(time.as_nanos() as f64),
            // Nothing was lost after the drop: it never left its senses. No frame after a reset:
            // it never came back.
            (_, None) if watch_for.is_some() => times.push(0.0),
            (_, None) => never += 1,
        }
    }
    Ok(Recovered { load, times: Spread::of(&times), invalid, never, unharmed })
}
