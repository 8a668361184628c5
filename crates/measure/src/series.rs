//! Time series of a trial: frames sent and received in equal intervals.
//!
//! ```text
//!  totals at each tick ─► interval over? ─► what is new since the last cut
//!
//!   sent       ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇     intervals: 1 ms at first; when there are too many, 5, 10, 50 … ms,
//!   received   ▇▇▇▇▇▇▇      ▇▇▇▇▇▇▇     so that nobody has to know how long a trial will take
//!   latency    ▁▁▁▁▁▁▁      ▃▂▁▁▁▁▁
//! ```
//!
//! A tick compares two times; only where an interval ends is anything added up. A frame belongs to the
//! interval of the tick that sent or received it, so sums are the trial's counts exactly. How many
//! frames of an interval were *lost* nobody can say: those that were sent and have not come back by its
//! end are under way or lost, and at the trial's end they are lost.
//!
//! Never reads a clock; keeps nothing of a single frame.

use crate::suite_result::total;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wire::Moment;

/// A trial in equal intervals. Sums are the trial's counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// How long each interval is, in nanoseconds. The first begins with the trial.
    pub interval_ns: u64,
    /// Frames sent in each; segments of both ends of TCP.
    pub sent: Vec<u64>,
    /// Frames received in each.
    pub received: Vec<u64>,
    /// The greatest latency of those, in nanoseconds; 0 where none came. None of TCP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_max_ns: Vec<u64>,
    /// Connections of TCP that clients had established.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub established: Vec<u64>,
    /// Requests that were answered whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<u64>,
    /// Bytes of data received, both ways together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bytes: Vec<u64>,
}

impl Series {
    /// How many intervals there are.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Frames sent and received, all intervals together.
    pub fn sums(&self) -> (u64, u64) {
        (total(self.sent.iter().copied()), total(self.received.iter().copied()))
    }

    /// Whether every list there is has as many intervals.
    pub fn is_whole(&self) -> bool {
        let optional =
            [&self.latency_max_ns, &self.established, &self.transactions, &self.bytes].into_iter();
        self.interval_ns > 0
            && self.received.len() == self.len()
            && optional.filter(|list| !list.is_empty()).all(|list| list.len() == self.len())
    }

    /// Frames that were sent and had not come back by the end of each interval: under way, or lost.
    pub fn missing(&self) -> Vec<u64> {
        let (mut sent, mut received) = (0u64, 0u64);
        let each = self.sent.iter().zip(&self.received).map(|(s, r)| {
            sent = sent.saturating_add(*s);
            received = received.saturating_add(*r);
            sent.saturating_sub(received)
        });
        each.collect()
    }
}

/// What there has been since the trial began, or in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Frames sent.
    pub sent: u64,
    /// Frames received.
    pub received: u64,
    /// Of TCP: connections, requests answered, bytes received.
    pub tcp: Option<[u64; 3]>,
}

/// Cuts a trial into intervals while it runs.
#[derive(Clone, Debug)]
pub struct Recorder {
    begin: Moment,
    interval: u64,
    /// The interval of now, and when it is over.
    at: u64,
    over: Moment,
    /// What there was when the last one was over.
    before: Totals,
    /// Those in which anything happened, ascending.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    at: u64,
    new: Totals,
    latency: Option<u64>,
}

/// The first interval: 1 ms.
const FIRST: u64 = 1_000_000;
/// With more intervals than these they are made longer, by 5 and by 2 in turns.
const MOST: u64 = 500;
/// As many are given at most; with fewer than the least there is no course to be seen.
const GIVEN: u64 = 100;
const LEAST: u64 = 20;

impl Recorder {
    /// Of a trial that begins then.
    pub fn beginning(begin: Moment) -> Recorder {
        let over = begin + Duration::from_nanos(FIRST);
        let (before, slots) = (Totals::default(), vec![]);
        Recorder { begin, interval: FIRST, at: 0, over, before, slots }
    }

    /// Whether an interval is over: [`cut`](Self::cut) is to be called before anything happens now.
    #[inline]
    pub fn is_due(&self, now: Moment) -> bool {
        now >= self.over
    }

    /// An interval is over: all there has been so far, and the greatest latency since the last cut.
    pub fn cut(&mut self, now: Moment, totals: Totals, latency: Option<u64>) {
        self.add(totals, latency);
        self.at = now.since(self.begin).as_nanos() as u64 / self.interval;
        self.over = self.begin + Duration::from_nanos((self.at + 1) * self.interval);
    }

    /// The trial is over: its course, if it took long enough to have one.
    pub fn finish(mut self, totals: Totals, latency: Option<u64>) -> Option<Series> {
        self.add(totals, latency);
        let n = self.slots.last()?.at + 1;
        if n < LEAST {
            return None;
        }
        let whole = |by: &u64| is_round(self.interval * by) && n.div_ceil(*by) <= GIVEN;
        let by = (1..=10).find(whole)?;
        let len = n.div_ceil(by) as usize;
        let column = |of: &dyn Fn(&Slot) -> u64, join: fn(u64, u64) -> u64| {
            let mut all = vec![0; len];
            for slot in &self.slots {
                let cell = &mut all[(slot.at / by) as usize];
                *cell = join(*cell, of(slot));
            }
            all
        };
        let sum = |of: &dyn Fn(&Slot) -> u64| column(of, |a, b| a + b);
        let tcp = |which: usize| match totals.tcp {
            Some(_) => sum(&|slot| slot.new.tcp.map_or(0, |tcp| tcp[which])),
            None => vec![],
        };
        let latencies = self.slots.iter().any(|slot| slot.latency.is_some());
        Some(Series {
            interval_ns: self.interval * by,
            sent: sum(&|slot| slot.new.sent),
            received: sum(&|slot| slot.new.received),
            latency_max_ns: match latencies {
                true => column(&|slot| slot.latency.unwrap_or(0), u64::max),
                false => vec![],
            },
            established: tcp(0),
            transactions: tcp(1),
            bytes: tcp(2),
        })
    }

    /// What is new belongs to the interval of now.
    fn add(&mut self, totals: Totals, latency: Option<u64>) {
        let before = std::mem::replace(&mut self.before, totals);
        if before == totals {
            return;
        }
        let tcp = totals.tcp.map(|tcp| {
            let was = before.tcp.unwrap_or_default();
            std::array::from_fn(|i| tcp[i].saturating_sub(was[i]))
        });
        let (sent, received) = (totals.sent - before.sent, totals.received - before.received);
        while self.at >= MOST {
            self.widen();
        }
        let new = Totals { sent, received, tcp };
        self.push(Slot { at: self.at, new, latency });
    }

    fn push(&mut self, slot: Slot) {
        match self.slots.last_mut() {
            Some(last) if last.at == slot.at => {
                last.new.sent += slot.new.sent;
                last.new.received += slot.new.received;
                last.new.tcp = match (last.new.tcp, slot.new.tcp) {
                    (Some(a), Some(b)) => Some(std::array::from_fn(|i| a[i] + b[i])),
                    (a, b) => a.or(b),
                };
                last.latency = last.latency.max(slot.latency);
            }
            _ => self.slots.push(slot),
        }
    }

    /// Longer intervals: 1 becomes 5, 5 becomes 10.
    fn widen(&mut self) {
        let by = if leading(self.interval) == 1 { 5 } else { 2 };
        self.interval *= by;
        self.at /= by;
        for slot in std::mem::take(&mut self.slots) {
            self.push(Slot { at: slot.at / by, ..slot });
        }
    }
}

fn leading(mut ns: u64) -> u64 {
    while ns.is_multiple_of(10) {
        ns /= 10;
    }
    ns
}

/// 1, 2 or 5 times a power of ten.
fn is_round(ns: u64) -> bool {
    matches!(leading(ns), 1 | 2 | 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// A trial of events: when, how many were sent and received, and their latency.
    fn record(events: &[(u64, u64, u64, u64)]) -> Option<Series> {
        let mut recorder = Recorder::beginning(Moment::from_nanos(7));
        let (mut totals, mut peak) = (Totals::default(), None);
        for &(ns, sent, received, latency) in events {
            let now = Moment::from_nanos(7 + ns);
            if recorder.is_due(now) {
                recorder.cut(now, totals, peak.take());
            }
            totals.sent += sent;
            totals.received += received;
            if received > 0 {
                peak = peak.max(Some(latency));
            }
        }
        recorder.finish(totals, peak)
    }

    /// How long a trial takes, and what its intervals then are.
    #[test]
    fn intervals_are_round_and_few() {
        for (ms, interval_ms, n) in [
            (19, 0, 0),
            (20, 1, 20),
            (100, 1, 100),
            (101, 2, 51),
            (200, 2, 100),
            (250, 5, 50),
            (499, 5, 100),
            (501, 10, 51),
            (2_000, 20, 100),
            (2_400, 50, 48),
            (10_000, 100, 100),
            (60_000, 1_000, 60),
            (120_000, 2_000, 60),
        ] {
            let events: Vec<_> = (0..ms).map(|ms| (ms * MS, 2, 1, ms)).collect();
            let series = record(&events).unwrap_or_default();
            let found = (series.interval_ns / MS, series.len());
            assert_eq!(found, (interval_ms, n), "{ms} ms");
            if n > 0 {
                assert_eq!(series.sums(), (2 * ms, ms));
                assert_eq!(series.missing().last(), Some(&ms), "what never came is lost");
                assert_eq!(series.latency_max_ns.last(), Some(&(ms - 1)));
            }
        }
    }

    /// A silence is a row of zeros; what nothing follows is not there.
    #[test]
    fn silences_are_seen() {
        let mut events: Vec<_> = (0..10).map(|ms| (ms * MS, 1, 1, 5)).collect();
        events.extend((10..30).map(|ms| (ms * MS, 1, 0, 0)));
        events.push((39 * MS, 0, 1, 9));
        events.push((2000 * MS, 0, 0, 0));
        let series = record(&events).unwrap();
        assert_eq!((series.interval_ns, series.len()), (MS, 40));
        assert_eq!(series.received[9..12], [1, 0, 0]);
        assert_eq!((series.missing()[29], series.missing()[39]), (20, 19));
        assert_eq!((series.latency_max_ns[20], series.latency_max_ns[39]), (0, 9));
    }

    proptest! {
        /// Against every event put where it belongs.
        #[test]
        fn as_counted_one_by_one(
            gaps in prop::collection::vec((0u64..200 * MS, 0u64..9, 0u64..9, 0u64..1000), 1..300),
        ) {
            let mut ns = 0;
            let events: Vec<_> = gaps.iter().map(|&(gap, s, r, l)| { ns += gap; (ns, s, r, l) }).collect();
            let happened = events.iter().filter(|(_, s, r, _)| s + r > 0);
            let end = happened.clone().map(|event| event.0).next_back();
            let Some(series) = record(&events) else {
                prop_assert!(end.is_none_or(|end| end < LEAST * MS || end >= MS));
                return Ok(());
            };
            prop_assert!(series.len() as u64 <= GIVEN && is_round(series.interval_ns));
            let at = |ns: u64| (ns / series.interval_ns) as usize;
            let (mut sent, mut received, mut latency) =
                (vec![0; series.len()], vec![0; series.len()], vec![0; series.len()]);
            for &(ns, s, r, l) in happened {
                sent[at(ns)] += s;
                received[at(ns)] += r;
                if r > 0 {
                    latency[at(ns)] = l.max(latency[at(ns)]);
                }
            }
            prop_assert_eq!(&series.sent, &sent);
            prop_assert_eq!(&series.received, &received);
            if !series.latency_max_ns.is_empty() {
                prop_assert_eq!(&series.latency_max_ns, &latency);
            }
        }
    }
}
