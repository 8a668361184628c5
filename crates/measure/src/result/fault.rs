//! Impossible rows, whatever device there was.
//!
//! ```text
//!  sent ≤ offered     forwarded + lost = sent     rates = forwarded / duration ≤ wire
//!  latencies = those of the histogram             counts = those of a trial, each trial sound
//! ```

use super::{Compared, Limit, Ping, Results, Row, Verdict, kind};
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

impl Results {
    /// All that cannot be, each with its row's or its comparison's name.
    pub fn faults(&self) -> Vec<String> {
        let of_rows = self.rows.iter().flat_map(|row| {
            let name = format!("{} {}", row.configuration, row.frame_size);
            row.faults().into_iter().map(move |fault| format!("{name}: {fault}"))
        });
        let of_pairs = self.comparisons.iter().flat_map(|one| {
            let name = format!(
                "{} {}, {} beside {}",
                one.configuration, one.frame_size, one.device, one.base
            );
            let faults = one.comparison.faults().into_iter().chain(self.faults_of_rates(one));
            faults.map(move |fault| format!("{name}: {fault}"))
        });
        let of_pings = self.setups.iter().filter_map(|setup| {
            let Ping { sent, answered, p50_ns, p99_ns } = setup.ping?;
            let is_wrong = answered > sent || p50_ns > p99_ns;
            is_wrong.then(|| {
                format!(
                    "{} {}: {answered} answers to {sent} pings, half of them in {p50_ns} ns and 99 of 100 \
                     in {p99_ns}",
                    setup.device, setup.configuration
                )
            })
        });
        of_rows.chain(of_pairs).chain(of_pings).collect()
    }

    /// Rates compared that no trial of the device had, or of which there is no row.
    fn faults_of_rates(&self, one: &Compared) -> Vec<String> {
        let of = |(device, rates): (&String, &Vec<f64>)| {
            let of_it = self.rows.iter().filter(|row| {
                (&row.device, row.mode, &row.configuration, row.frame_size)
                    == (device, one.mode, &one.configuration, one.frame_size)
            });
            if of_it.clone().next().is_none() {
                return vec![format!("{device} has no such row")];
            }
            let trials = of_it.flat_map(|row| &row.trials);
            let highest = trials.filter(|t| t.kind == kind::HIGHEST && t.is_valid());
            let had: Vec<f64> = highest.map(|t| t.received as f64 / t.duration).collect();
            // Files that were written before trials were kept have none.
            let none = |rate: &&f64| !had.is_empty() && !had.iter().any(|had| close(*had, **rate));
            let why =
                |rate: &f64| format!("{rate} pps compared, and no trial of {device} had that");
            rates.iter().filter(none).map(why).collect::<Vec<_>>()
        };
        let comparison = &one.comparison;
        [(&one.base, &comparison.base_pps), (&one.device, &comparison.device_pps)]
            .into_iter()
            .flat_map(of)
            .collect()
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
            format!("verdict {} with {lost} frames lost", self.verdict)
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
        let wire = self.wire_mbps.unwrap_or(f64::MAX);
        check(l1 <= wire * 1.0001, &|| {
            format!("no_drop {no_drop} is more than the wire's {wire} Mbit/s")
        });
        let headroom = self.tester_pps.map_or(f64::MAX, |tester| tester / pps);
        let is_device = sound && self.limited_by == Limit::Device;
        check(!is_device || headroom >= HEADROOM * 0.999, &|| {
            format!("limited by the device, and the tester alone does {headroom} times {pps}")
        });
        // Each of its cores has a nanosecond in each nanosecond.
        let busy = self.router_ns_per_packet.unwrap_or(0.0) * pps;
        check(busy <= 1e9 * f64::from(self.cores.max(1)) * 1.05, &|| {
            let (ns, cores) = (self.router_ns_per_packet.unwrap_or(0.0), self.cores);
            format!("router_ns_per_packet {ns} of {pps} pps is more than {cores} cores have")
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
            let fault = l.fault();
            check(fault.is_none(), &|| fault.clone().unwrap_or_default());
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
        for (n, trial) in (1..).zip(&self.trials) {
            let mut place =
                |why: String| faults.push(Fault(format!("trial {n}, {}: {why}", trial.kind)));
            if let Some(all) = trial.latency.filter(|all| all.count < trial.received) {
                place(format!(
                    "latencies of {} frames, and {} received",
                    all.count, trial.received
                ));
            }
            let seen = trial.latency.map_or(0, |all| all.count);
            if seen > trial.received.saturating_add(trial.duplicate) {
                place(format!("latencies of {seen} frames, and {} received", trial.received));
            }
            // Each port begins with a frame, and ends of trials are a frame or two.
            let due = trial.load * trial.duration;
            let is_steady = trial.kind == kind::SEARCH && trial.is_valid();
            if is_steady && (due - trial.sent as f64).abs() > 4.0 + due * 1e-2 {
                let (load, duration, sent) = (trial.load, trial.duration, trial.sent);
                place(format!(
                    "{load} fps for {duration} s are {due:.0} frames, and {sent} were sent"
                ));
            }
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
        // Slower alone than with the device it was disturbed: then it is the row's.
        let alone = || of(kind::SELF_TEST).map(|trial| trial.received as f64 / trial.duration);
        if let Some(tester) = self.tester_pps.filter(|_| alone().next().is_some())
            && !alone().chain([self.pps]).any(|rate| close(rate, tester))
        {
            faults
                .push(Fault(format!("tester_pps {tester}: no trial of the tester alone had that")));
        }
        if let Some(no_drop) = self.no_drop.filter(|rate| *rate > 0.0)
            && !of(kind::SEARCH).any(|trial| trial.is_valid() && close(trial.load, no_drop))
        {
            faults.push(Fault(format!("no_drop {no_drop}: no valid trial had that load")));
        }
        // Files that were written before it was kept do not say it.
        if let (Some(said), Some(is)) = (self.no_drop_limited_by, self.limit_of_no_drop())
            && said != is
        {
            faults.push(Fault(format!(
                "no_drop_limited_by {said}, and by its trials it is the {is}"
            )));
        }
        faults
    }
}

/// Equal to a millionth: what survives being written as decimal text, with room to spare.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-6)
}
