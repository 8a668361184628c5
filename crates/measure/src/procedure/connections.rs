//! Stateful devices (RFC 9693): how quickly connections are established and forgotten, and how
//! many are kept.
//!
//! ```text
//!  phase 1   initiator ── N frames, N four-tuples, rate R ──► device ──► responder: notes what it saw
//!  validate  initiator ◄── one frame for each of them ────── device ◄── responder
//!            pass: all came, both ways                      (the device knew nothing before)
//! ```
//!
//! *Maximum connection establishment rate*: the highest such R. *Tear-down rate*: N by the time in
//! which the device forgets N. *Table capacity*:
//!
//! ```text
//!  R for the first N ─► 2 N, 4 N … : the highest R between γ × that before and that before
//!                                     └ none: the table is full, or has slowed down ─► halve between
//! ```
//!
//! So a rate that is too high for the device is not taken for a table that is too small.

use super::bisect::{Answer, Bisect, Found, Step};
use super::spread::Spread;
use super::throughput::answer;
use super::{Run, Stop, TrialInput};
use crate::procedure::bisect::Bound;
use wire::PacketRate;

/// What is to be measured of establishing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Establishment {
    /// How many connections a trial has.
    pub connections: u64,
    /// How close the search gets, as a share.
    pub precision: f64,
    /// α: validation goes at this share of the rate tried.
    pub validation: f64,
}

/// Maximum connection establishment rate, between these.
///
/// # Errors
/// [`Stop`].
pub fn establishment(
    run: &mut Run<'_>,
    (lowest, highest): (PacketRate, PacketRate),
    plan: &Establishment,
) -> Result<Found, Stop> {
    Bisect::within((lowest.0, highest.0), Step::Relative(plan.precision)).run(|rate| {
        let (rate, validation) = (PacketRate(rate), PacketRate(rate * plan.validation));
        let input = TrialInput::Establish { connections: plan.connections, rate, validation };
        Ok(answer(&run.trial(input)?))
    })
}

/// Connection tear-down rate: connections per second, over the repetitions.
///
/// # Errors
/// [`Stop`].
pub fn tear_down(
    run: &mut Run<'_>,
    connections: u64,
    repetitions: u32,
) -> Result<Option<Spread>, Stop> {
    let mut rates = vec![];
    for _ in 0..repetitions {
        let output = run.trial(TrialInput::TearDown { connections })?;
        let time = output.time.filter(|time| !time.is_zero());
        if let (Answer::Pass, Some(time)) = (answer(&output), time) {
            rates.push(connections as f64 / time.as_secs_f64());
        }
    }
    Ok(Spread::of(&rates))
}

/// What is to be measured of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Where to begin.
    pub first: u64,
    /// No more are tried: the result is then *at least* this.
    pub most: u64,
    /// Connections are offered at no higher rate.
    pub rate: PacketRate,
    /// How close the search gets, in connections.
    pub error: u64,
}

/// How many connections the table holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table {
    /// The most that were all kept; none if not even the first were.
    pub connections: Option<u64>,
    /// What the limit was; [`Bound::Highest`] if it is at least that.
    pub bound: Bound,
}

/// γ: a table that takes connections at less than this share of the rate at which it took half of
/// them is past its knee.
const GAMMA: f64 = 0.4;
/// How closely rates are searched on the way: they only have to be rates that the device can do.
const RATE_PRECISION: f64 = 0.1;
/// The lowest rate tried, as a share of the highest.
const RATE_LEAST: f64 = 0.001;

/// Connection tracking table capacity (RFC 9693 §4.9): doubled to the knee, then halved. The rate
/// beside it is the establishment rate at that many connections.
///
/// # Errors
/// [`Stop`].
pub fn capacity(run: &mut Run<'_>, plan: &Capacity) -> Result<(Table, Option<PacketRate>), Stop> {
    let mut rate = None;
    let table = most_kept(plan, |connections| {
        let bounds = match rate {
            Some(before) => (before * GAMMA, before),
            None => (plan.rate * RATE_LEAST, plan.rate),
        };
        let (precision, validation) = (RATE_PRECISION, 1.0);
        let plan = Establishment { connections, precision, validation };
        let found = establishment(run, bounds, &plan)?;
        rate = found.best.map(PacketRate).or(rate);
        Ok(match (found.best, found.bound) {
            (Some(_), _) => Answer::Pass,
            (None, Bound::Tester) => Answer::Tester,
            (None, _) => Answer::Fail,
        })
    })?;
    Ok((table, rate))
}

/// The most for which `test` passes: doubled from the plan's first until it does not, then the
/// interval halved.
///
/// # Errors
/// [`Stop`], of the test.
pub(super) fn most_kept(
    plan: &Capacity,
    mut test: impl FnMut(u64) -> Result<Answer, Stop>,
) -> Result<Table, Stop> {
    let (mut kept, mut n) = (None, plan.first.max(1).min(plan.most));
    let failed = loop {
        match test(n)? {
            Answer::Pass if n == plan.most => {
                return Ok(Table { connections: Some(n), bound: Bound::Highest });
            }
            Answer::Pass => (kept, n) = (Some(n), n.saturating_mul(2).min(plan.most)),
            answer => break answer,
        }
    };
    let by_tester = |answer| matches!(answer, Answer::Tester | Answer::Disturbed);
    let bound = if by_tester(failed) { Bound::Tester } else { Bound::Loss };
    let (low, step) = (kept.unwrap_or(0), plan.error.max(1));
    // Both ends are known: what is between them.
    let mut ends = (low, n);
    let mut bound = bound;
    while ends.1 - ends.0 > step {
        let middle = ends.0.midpoint(ends.1);
        match test(middle)? {
            Answer::Pass => ends.0 = middle,
            answer => {
                ends.1 = middle;
                bound = if by_tester(answer) { Bound::Tester } else { Bound::Loss };
            }
        }
    }
    Ok(Table { connections: (ends.0 > 0).then_some(ends.0), bound })
}
