//! What procedures of one configuration and size say of each other.
//!
//! ```text
//!  throughput ◄─► the load that latency and delay variation were measured at   the same number
//!      ▲ ▲ ▲
//!      │ │ └──── recovery: an overload that loses nothing is none
//!      │ └────── frame loss: loss below it, no loss above it
//!      └──────── back-to-back: bursts end where a steady load at the wire's rate loses
//!  forwarding: the most at any load is no less than the throughput of all senders
//! ```
//!
//! Trials of separate procedures are minutes apart: what does not fit is a warning with both
//! numbers, not a fault. Only a number that was taken over from another must be that number.

use super::super::Kind;
use super::is_valid;
use measure::SuiteResults;
use measure::procedure::again::CLOSE;
use measure::suite_result::Cell;

/// Checks the cells of each configuration and size.
pub(super) fn check(results: &SuiteResults, note: &mut impl FnMut(Kind, String)) {
    for cell in results.cells.iter().filter(|cell| cell.procedure == "throughput") {
        let Some(rate) = cell.figures.first().and_then(|figure| figure.value) else { continue };
        let length = cell.trials.iter().map(|trial| trial.duration).fold(0.0, f64::max);
        let of = |other: &&Cell| {
            (&other.configuration, other.size()) == (&cell.configuration, cell.size())
        };
        for other in results.cells.iter().filter(of) {
            let place =
                format!("{}, {}, {}", cell.configuration, cell.size().words(), other.procedure);
            let mut note = |kind, text: String| note(kind, format!("{place}: {text}"));
            match other.procedure.as_str() {
                "latency" | "delay-variation" => at_throughput(other, rate, &mut note),
                "frame-loss" => {
                    // Above what wires carry nothing was searched: more has waited in the device.
                    let at_most = rate >= 0.999 * results.carried_rate(cell.size()).0;
                    losses(other, (rate, length), at_most, &mut note);
                }
                "back-to-back" => bursts(results, other, rate, &mut note),
                "recovery" => overload(other, (rate, length), &mut note),
                "forwarding" => forwarded(results, other, rate, &mut note),
                _ => {}
            }
        }
    }
}

/// Measured at the throughput: so it says, and so it must be.
fn at_throughput(cell: &Cell, rate: f64, note: &mut impl FnMut(Kind, String)) {
    let load = cell.figures.iter().find(|figure| figure.name == "load" && figure.unit == "fps");
    if let Some(load) = load.and_then(|load| load.value)
        && (load - rate).abs() > rate * 1e-6
    {
        let text = format!("measured at {load:.0} fps, and the throughput is {rate:.0}");
        note(Kind::Inconsistent, text);
    }
}

/// Below the throughput nothing is lost, above it something is, in trials at least as long.
fn losses(
    cell: &Cell,
    (rate, length): (f64, f64),
    at_most: bool,
    note: &mut impl FnMut(Kind, String),
) {
    let durations = cell.trials.iter().map(|trial| trial.duration);
    let as_long = durations.fold(f64::INFINITY, f64::min) >= length * 0.999;
    let valid = || cell.points.iter().filter(|point| !point.invalid);
    let free = valid().filter(|point| point.lost == 0).map(|point| point.load);
    let free = free.fold(0.0, f64::max);
    if as_long && !at_most && free > rate * (1.0 + CLOSE) {
        let text = format!("nothing is lost at {free:.0} fps, and the throughput is {rate:.0}");
        note(Kind::Doubtful, text);
    }
    let lossy = valid().filter(|point| point.lost > 0 && point.load < rate * (1.0 - CLOSE));
    if let Some(point) = lossy.min_by(|a, b| a.load.total_cmp(&b.load)) {
        let (lost, sent, load) = (point.lost, point.sent, point.load);
        let text = format!(
            "{lost} of {sent} frames are lost at {load:.0} fps, and the throughput is {rate:.0}"
        );
        note(Kind::Doubtful, text);
    }
}

/// Bursts are sent at the wire's rate: so is a frame loss trial at 100 %.
fn bursts(results: &SuiteResults, cell: &Cell, rate: f64, note: &mut impl FnMut(Kind, String)) {
    let Some(longest) = cell.figures.iter().find(|figure| figure.unit == "frames") else { return };
    let Some(frames) = longest.value else { return };
    let wire = results.wire_rate(cell.size()).0;
    if rate >= wire * 0.999 {
        let text = format!(
            "bursts of more than {frames:.0} frames are lost, and the throughput is the wire's {wire:.0} fps"
        );
        note(Kind::Doubtful, text);
    }
    let is_partner = |other: &&Cell| {
        other.procedure == "frame-loss"
            && (&other.configuration, other.size()) == (&cell.configuration, cell.size())
    };
    let Some(losses) = results.cells.iter().find(is_partner) else { return };
    let full = losses.points.iter().find(|point| !point.invalid && point.load >= wire * 0.9999);
    let Some(full) = full else { return };
    let each = full.sent as f64 / f64::from(results.senders.max(1));
    let text = if full.lost == 0 && each > frames * (1.0 + CLOSE) {
        format!(
            "bursts of more than {frames:.0} frames are lost, and of {each:.0} at the same rate \
             frame-loss lost none"
        )
    } else if full.lost > 0 && each < frames * (1.0 - CLOSE) {
        let lost = full.lost;
        format!(
            "bursts of {frames:.0} frames are forwarded whole, and of {each:.0} at the same rate \
             frame-loss lost {lost}"
        )
    } else {
        return;
    };
    note(Kind::Doubtful, text);
}

/// The most that is forwarded at any load is no less than what is forwarded without loss (RFC 2285
/// §3.6.2); the throughput is each port's. What a device still holds when a trial of the throughput ends
/// comes after it and counts, for a tenth of it without a remark; the MFR is by when frames came.
fn forwarded(results: &SuiteResults, cell: &Cell, rate: f64, note: &mut impl FnMut(Kind, String)) {
    let mfr = cell.figures.iter().find(|figure| figure.name.starts_with("MFR["));
    let Some(mfr) = mfr.and_then(|figure| figure.value) else { return };
    let all = rate * f64::from(results.senders);
    if mfr * LATE < all {
        let text = format!(
            "an MFR of {mfr:.0} fps in all, and the throughput of {rate:.0} from each of {} ports is \
             {all:.0}",
            results.senders
        );
        note(Kind::Doubtful, text);
    }
}

/// So many times as long as they are sent may frames come, without a word in the result.
const LATE: f64 = 1.1;

/// An overload is above the throughput: something is lost.
fn overload(cell: &Cell, (rate, length): (f64, f64), note: &mut impl FnMut(Kind, String)) {
    let overload = cell.figures.iter().find(|figure| figure.name == "overload");
    let Some(overload) = overload.and_then(|figure| figure.value) else { return };
    let mut trials = cell.trials.iter().filter(is_valid);
    let free = trials.find(|trial| trial.outcome == "pass" && trial.duration >= length);
    if let Some(free) = free.filter(|_| overload > rate * (1.0 + CLOSE)) {
        let text = format!(
            "all {} frames came back of an overload of {overload:.0} fps, and the throughput is \
             {rate:.0}",
            free.sent
        );
        note(Kind::Doubtful, text);
    }
}
