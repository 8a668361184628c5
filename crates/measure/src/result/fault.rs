//! Impossible rows, whatever device there was.
//!
//! ```text
//!  sent ≤ offered     forwarded + lost = sent     rates = forwarded / duration ≤ wire
//! ```
//!
//! What is derived of a trial is not derived a second time here.

use super::HEADROOM;
use super::{Limit, Ping, Results, Row, Verdict};
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
    /// All that cannot be, each with its row's name.
    pub fn faults(&self) -> Vec<String> {
        let of_rows = self.rows.iter().flat_map(|row| {
            let family = if row.family.is_default() { "" } else { " IPv6" };
            let name = format!("{}{family} {}", row.configuration, row.frame_size);
            row.faults().into_iter().map(move |fault| format!("{name}: {fault}"))
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
        of_rows.chain(of_pings).collect()
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
        for (n, trial) in (1..).zip(&self.trials) {
            let place = |why| Fault(format!("trial {n}, {}{why}", trial.kind));
            faults.extend(trial.faults().into_iter().map(place));
        }
        faults
    }
}

/// Equal to a millionth: what survives being written as decimal text, with room to spare.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-6)
}
