//! Bridges (RFC 2889): forwarding at the highest load, how many addresses are kept, how quickly
//! they are learned, broadcasts, congestion.
//!
//! ```text
//!  forwarding   the tester's highest load (MOL) ─► FRMOL; tenths of it, the throughput, and closer
//!               and closer around the best ─► MFR
//!  addresses    learn N, send to each: nothing may be lost, nothing flooded ─► the largest N
//!  learning     the same N, shown faster and faster ─► the highest rate
//!  broadcast    one port to all others: throughput of broadcasts
//!  congestion   ports 1, 2 ─► 3 (half of 1's), 4 (all else): is 3 the worse for 4's loss?
//! ```
//!
//! FRMOL below MFR is a device that does less the more it is asked for (receive livelock).
//!
//! Between which ports frames go (a mesh of all, full or partial, or ports 1 and 2 alone) is the
//! measurer's to know: a load is that of each port that sends.
//!
//! Missing: RFC 2889's **bursts** of more than one frame, **two devices** with a backbone (§5.3).

use super::bisect::{Answer, Bisect, Found, Step};
use super::throughput::answer;
use super::{Run, Stop, TrialInput, TrialOutput};
use crate::trial::{Outcome, Trial};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wire::PacketRate;

/// Forwarding rates in frames per second, all sending ports together (RFC 2285 §3.6).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forwarding {
    /// MOL: the highest load offered from each port. It is the tester's, and must be stated.
    pub mol: f64,
    /// Forwarding rate at the highest load offered.
    pub frmol: f64,
    /// The highest forwarding rate at any load tried: never below the throughput, where that is
    /// forwarded once more.
    pub mfr: f64,
    /// The load from each port it was seen at.
    pub mfr_load: f64,
    /// Whether trials were invalid: then these are the tester's.
    pub tester_limited: bool,
}

/// How far from the best load so far the next ones are tried, by the highest load.
const CLOSER: [f64; 3] = [0.05, 0.025, 0.0125];

/// Forwarding rates at the highest load and at nine tenths, eight tenths … of it until nothing is
/// lost, at the throughput if it is known, and around the best of these (RFC 2285 §3.6.2: "from an
/// iterative set of forwarding rate measurements").
///
/// # Errors
/// [`Stop`].
pub fn forwarding(
    run: &mut Run<'_>,
    mol: PacketRate,
    throughput: Option<PacketRate>,
    duration: Duration,
) -> Result<Forwarding, Stop> {
    let mut found =
        Forwarding { mol: mol.0, frmol: 0.0, mfr: 0.0, mfr_load: 0.0, tester_limited: false };
    let mut tried: Vec<f64> = vec![];
    let mut at = |load: PacketRate, found: &mut Forwarding| -> Result<bool, Stop> {
        let is_new = tried.iter().all(|other| (load.0 / other - 1.0).abs() > 1e-6);
        if !is_new || load.0 <= 0.0 || load.0 > mol.0 * (1.0 + 1e-9) {
            return Ok(false);
        }
        tried.push(load.0);
        let output = run.steady(load, duration)?;
        let rate = forwarding_rate(&output, load);
        if tried.len() == 1 {
            found.frmol = rate;
        }
        if rate > found.mfr {
            (found.mfr, found.mfr_load) = (rate, load.0);
        }
        found.tester_limited |= matches!(output.trial.outcome, Outcome::Invalid(_));
        Ok(output.trial.outcome == Outcome::Pass)
    };
    for tenth in (1..=10).rev() {
        // What nothing is lost of can only be less at lower loads.
        if at(mol * (f64::from(tenth) / 10.0), &mut found)? {
            if tenth == 10 {
                return Ok(found);
            }
            break;
        }
    }
    if let Some(throughput) = throughput {
        at(throughput, &mut found)?;
    }
    for share in CLOSER {
        let best = found.mfr_load;
        for load in [best + share * mol.0, best - share * mol.0] {
            at(PacketRate(load), &mut found)?;
        }
    }
    Ok(found)
}

/// A trial whose frames came for so much longer than they were sent, as a share, emptied a queue.
const QUEUE: f64 = 0.01;

/// Frames a second that came back, all ports together, of a trial at this load from each: by the time
/// they took, where that is longer than the trial (a queue was emptied after it) or sending them took
/// longer (the first of N frames leaves at once, so they fit into N - 1 gaps). If all came that is the
/// load, as a throughput is, unless a queue took some of it: by the load, what a queue holds would be
/// forwarded at loads that are just low enough for it, and the device do less the more it is asked for.
fn forwarding_rate(output: &TrialOutput, load: PacketRate) -> f64 {
    let Trial { duration, counts, .. } = output.trial;
    let seconds = duration.as_secs_f64();
    let ports = (counts.sent as f64 / (load.0 * seconds)).round().max(1.0);
    let sending = counts.sent as f64 / (ports * load.0);
    let arriving = output.arriving.map_or(0.0, |time| time.as_secs_f64());
    if output.trial.outcome == Outcome::Pass && arriving <= sending * (1.0 + QUEUE) {
        return counts.received as f64 / sending;
    }
    counts.received as f64 / seconds.max(sending).max(arriving)
}

/// Address caching capacity: the most addresses that are kept, learned at a rate that is safe.
/// At the upper end of the search the result is *at least* that.
///
/// # Errors
/// [`Stop`].
pub fn address_caching(run: &mut Run<'_>, most: u64, rate: PacketRate) -> Result<Found, Stop> {
    Bisect::within((1.0, most.max(1) as f64), Step::Absolute(1.0)).run(|addresses| {
        let input = TrialInput::Learn { addresses: addresses as u64, rate };
        Ok(kept(&run.trial(input)?))
    })
}

/// Address learning rate: the highest rate at which that many addresses are all learned.
///
/// # Errors
/// [`Stop`].
pub fn address_learning(
    run: &mut Run<'_>,
    addresses: u64,
    (lowest, highest): (PacketRate, PacketRate),
    precision: f64,
) -> Result<Found, Stop> {
    Bisect::within((lowest.0, highest.0), Step::Relative(precision)).run(|rate| {
        let input = TrialInput::Learn { addresses, rate: PacketRate(rate) };
        Ok(kept(&run.trial(input)?))
    })
}

/// Every frame came, and only where it was to.
fn kept(output: &TrialOutput) -> Answer {
    match answer(output) {
        Answer::Pass if output.flooded > 0 => Answer::Fail,
        answer => answer,
    }
}

/// The highest load of broadcasts from one port that comes whole out of all others.
///
/// # Errors
/// [`Stop`].
pub fn broadcast(
    run: &mut Run<'_>,
    (lowest, highest): (PacketRate, PacketRate),
    precision: f64,
    duration: Duration,
) -> Result<Found, Stop> {
    Bisect::within((lowest.0, highest.0), Step::Relative(precision)).run(|load| {
        let input = TrialInput::Broadcast { load: PacketRate(load), duration };
        Ok(answer(&run.trial(input)?))
    })
}

/// What congestion on one port does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Congestion {
    /// The load from each of the two sending ports, frames per second.
    pub load: f64,
    /// Per cent lost to the port that is not congested: above zero is head-of-line blocking.
    pub uncongested_loss_percent: f64,
    /// Per cent lost to the congested port.
    pub congested_loss_percent: f64,
    /// Per cent of what was offered to it that one port cannot carry: a third at the wire's rate. If
    /// less is lost, it waited in buffers when the trial ended, or the senders were held up.
    pub excess_percent: f64,
    /// Frames of these that waited, so that the trial was too short to show what becomes of them; 0 of
    /// a device that held the senders up.
    pub buffered: u64,
    /// Whether frames to a port that could have taken them were lost.
    pub head_of_line_blocking: bool,
    /// Whether the device kept the senders from sending.
    pub back_pressure: bool,
    /// Whether the tester fell short.
    pub invalid: bool,
}

/// Of the excess so much need not be lost in trials that are long enough, in per cent of what was
/// offered: a frame more or less at either end, and what a buffer of a few milliseconds holds.
const EXCESS_SLACK: f64 = 1.0;

/// Two ports' loads on one and a half, which carry `wire` each.
///
/// # Errors
/// [`Stop`].
pub fn congestion(
    run: &mut Run<'_>,
    (load, wire): (PacketRate, PacketRate),
    duration: Duration,
) -> Result<Congestion, Stop> {
    let output = run.trial(TrialInput::Congestion { load, duration })?;
    let (sent, received) = output.aside.unwrap_or_default();
    let counts = output.trial.counts;
    let percent = |sent: u64, received: u64| {
        if sent == 0 { 0.0 } else { sent.saturating_sub(received) as f64 * 100.0 / sent as f64 }
    };
    let (others, came) =
        (counts.sent.saturating_sub(sent), counts.received.saturating_sub(received));
    let congested = percent(others, came);
    // Frames that could not be sent are the device's doing if it lost nothing of what was, and the
    // tester could have: a disturbed trial says nothing of either.
    let disturbed = match output.trial.outcome {
        Outcome::Invalid(reason) => reason.is_disturbance(),
        _ => false,
    };
    let held_up = counts.sent < counts.intended && !disturbed;
    let excess = (1.0 - wire.0 / (1.5 * load.0).max(1.0)).max(0.0) * 100.0;
    let waited =
        if held_up || excess - congested <= EXCESS_SLACK { 0.0 } else { excess - congested };
    Ok(Congestion {
        load: load.0,
        uncongested_loss_percent: percent(sent, received),
        congested_loss_percent: congested,
        excess_percent: excess,
        buffered: (waited / 100.0 * others as f64).round() as u64,
        head_of_line_blocking: received < sent && !disturbed,
        back_pressure: held_up && congested == 0.0,
        invalid: matches!(output.trial.outcome, Outcome::Invalid(_)) && !held_up,
    })
}
