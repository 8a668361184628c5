//! What cannot be of a row, whatever device there was.
//!
//! ```text
//!  sent ≤ offered     forwarded + lost = sent     rates = forwarded / duration ≤ wire
//!  latencies = those of the histogram             counts = those of a trial, each trial sound
//! ```

use super::{Limit, Row, Verdict, kind};
use crate::histogram::{self, at_quantile};
use crate::self_test::HEADROOM;
use std::fmt;
use wire::{FrameLen, PacketRate};

/// Something in a row that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(
    /// Names the fields and their values.
    pub String,
);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Row {
    /// All that cannot be: sums that do not add up, rates that do not follow from the counts,
    /// more frames than the wire carries. None in a sound row; a row that was judged invalid is
    /// looked at in the same way, but for the sums, which may be why.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = vec![];
        let mut check = |is_right: bool, text: &dyn Fn() -> String| {
            if !is_right {
                faults.push(Fault(text()));
            }
        };
        let sound = self.verdict != Verdict::Invalid;
        let Row { offered, sent, forwarded, lost, duration, pps, .. } = *self;
        check(!sound || forwarded.checked_add(lost) == Some(sent), &|| {
            format!("forwarded {forwarded} + lost {lost} is not sent {sent}")
        });
        check(sent <= offered, &|| format!("sent {sent} is more than offered {offered}"));
        check(!sound || (self.verdict == Verdict::Pass) == (lost == 0), &|| {
            format!("verdict {:?} with {lost} frames lost", self.verdict)
        });
        check(duration > 0.0 && duration.is_finite(), &|| format!("duration {duration} s"));
        check(close(pps * duration, forwarded as f64), &|| {
            format!("pps {pps} in {duration} s is not forwarded {forwarded}")
        });
        let rate = PacketRate(pps);
        let frame = FrameLen::with_fcs(self.frame_size.min(1 << 20));
        for (name, value, expected) in [
            ("kpps", self.kpps, rate.as_kpps()),
            ("l1_mbps", self.l1_mbps, rate.l1(frame).as_mbps()),
            ("l2_mbps", self.l2_mbps, rate.l2(frame).as_mbps()),
            ("l3_mbps", self.l3_mbps, rate.l3(frame).as_mbps()),
        ] {
            check(close(value, expected), &|| format!("{name} {value} should be {expected}"));
        }
        if let Some(wire) = self.wire_mbps {
            check(self.l1_mbps <= wire * 1.0001, &|| {
                format!("l1_mbps {} is more than the wire's {wire}", self.l1_mbps)
            });
        }
        if let Some(tester) = self.tester_pps {
            check(pps <= tester * 1.5, &|| {
                format!("pps {pps} is far more than the tester's own {tester}")
            });
        }
        // What was forwarded without loss was offered, and is no more than the wire carries.
        let no_drop = self.no_drop.unwrap_or(0.0);
        let at_most = (offered as f64 / duration).max(self.tester_pps.unwrap_or(0.0)) * 1.5;
        check(no_drop <= at_most, &|| {
            format!("no_drop {no_drop} is far more than was ever offered, {at_most}")
        });
        let l1 = PacketRate(no_drop).l1(frame).as_mbps();
        check(self.wire_mbps.is_none_or(|wire| l1 <= wire * 1.0001), &|| {
            format!("no_drop {no_drop} is more than the wire's {:?} Mbit/s", self.wire_mbps)
        });
        let headroom = self.tester_pps.map(|tester| tester / pps);
        let is_device = sound && self.limited_by == Limit::Device;
        check(!is_device || headroom.is_none_or(|times| times >= HEADROOM * 0.999), &|| {
            format!("limited by the device, and the tester alone does {headroom:?} times {pps}")
        });
        let share = self.fast_path_share.unwrap_or(0.0);
        check((0.0..=1.0).contains(&share), &|| format!("fast_path_share {share} is not 0 to 1"));
        for (name, value) in
            [("router_ns_per_packet", self.router_ns_per_packet), ("no_drop", self.no_drop)]
        {
            let value = value.unwrap_or(0.0);
            check(value >= 0.0 && value.is_finite(), &|| format!("{name} {value}"));
        }
        if let Some(l) = self.latency {
            let order = [l.min_ns, l.p50_ns, l.p99_ns, l.p999_ns, l.max_ns];
            check(order.is_sorted(), &|| format!("latency percentiles fall: {order:?}"));
            check(l.count == forwarded, &|| {
                format!("latency of {} frames, forwarded {forwarded}", l.count)
            });
        }
        faults.extend(self.faults_of_histogram());
        faults.extend(self.faults_of_trials());
        faults
    }

    /// Latencies that are none of the histogram's.
    fn faults_of_histogram(&self) -> Vec<Fault> {
        let Some(latency) = self.latency.filter(|_| !self.histogram.is_empty()) else {
            return vec![];
        };
        let at = |share| at_quantile(&self.histogram, share).unwrap_or(0);
        let count = histogram::count(&self.histogram);
        let values = [
            ("min_ns", latency.min_ns, at(0.0)),
            ("p50_ns", latency.p50_ns, at(0.5)),
            ("p99_ns", latency.p99_ns, at(0.99)),
            ("p999_ns", latency.p999_ns, at(0.999)),
            ("max_ns", latency.max_ns, at(1.0)),
        ];
        // Both have three digits, and a bucket is named by its end. The least is exact and may be the
        // first bucket's beginning: those of the counter in the kernel are 1 % wide.
        let close = |name: &str, a: u64, b: u64| {
            let parts = if name == "min_ns" { 100 } else { 500 };
            a.abs_diff(b) <= 1 + a.max(b) / parts
        };
        let differ = values.into_iter().filter(|(name, said, found)| !close(name, *said, *found));
        let differ = differ.map(|(name, said, found)| {
            Fault(format!("latency {name} {said}, and {found} of its histogram"))
        });
        let all = (count != latency.count).then(|| {
            Fault(format!("latency of {} frames, {count} in its histogram", latency.count))
        });
        differ.chain(all).collect()
    }

    /// Trials that cannot be, and figures that are of none of them.
    fn faults_of_trials(&self) -> Vec<Fault> {
        if self.trials.is_empty() {
            return vec![]; // an older file
        }
        let mut faults: Vec<Fault> = vec![];
        for (n, trial) in (1..).zip(&self.trials) {
            let place = |why| Fault(format!("trial {n}, {}{why}", trial.kind));
            faults.extend(trial.faults().into_iter().map(place));
        }
        let of = |name: &'static str| self.trials.iter().filter(move |trial| trial.kind == name);
        let counts = (self.offered, self.sent, self.forwarded);
        if !of(kind::HIGHEST).any(|t| (t.intended, t.sent, t.received) == counts) {
            let (offered, sent, forwarded) = counts;
            faults.push(Fault(format!(
                "offered {offered}, sent {sent}, forwarded {forwarded}: no trial at the highest load \
                 counted that"
            )));
        }
        if let Some(no_drop) = self.no_drop.filter(|rate| *rate > 0.0)
            && !of(kind::SEARCH).any(|trial| trial.is_valid() && close(trial.load, no_drop))
        {
            faults.push(Fault(format!("no_drop {no_drop}: no valid trial had that load")));
        }
        faults
    }
}

/// Equal to a millionth: what survives being written as decimal text, with room to spare.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-6)
}
