//! Impossible latencies, paths and iperf3 outputs, whatever is between the hosts.
//!
//! ```text
//!  latency    received ≤ sent, least ≤ median ≤ 99 of 100 ≤ greatest
//!  path       ratio, efficiency, buffer delay ◄─► bytes, seconds, round trip, packets a second
//!  a pair     its figures ◄─► intervals and end of the JSON that is kept with them
//! ```

use super::{Direction, HostPath, HostTransfer, Latency, Pair, Results, Row};
use crate::histogram;
use crate::procedure::rfc6349::{buffer_delay_percent, efficiency_percent, transfer_time_ratio};
use serde_json::Value;
use std::time::Duration;

/// Equal to a millionth: what survives being written as decimal text, with room to spare.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-6)
}

impl Results {
    /// What cannot be of latencies and paths, each with its place.
    pub(super) fn faults_beside_rows(&self) -> Vec<String> {
        let of_latency = self.latencies.iter().flat_map(|one| {
            let place = format!("{}, {}", one.device, one.tool);
            one.faults().into_iter().map(move |why| format!("{place}: {why}"))
        });
        let of_paths = self.paths.iter().flat_map(|path| {
            let faults = path.faults().into_iter();
            faults.map(move |why| format!("{}, RFC 6349: {why}", path.device))
        });
        of_latency.chain(of_paths).collect()
    }
}

impl Latency {
    fn faults(&self) -> Vec<String> {
        let Latency { sent, received, min_ns, median_ns, mean_ns, p99_ns, max_ns, .. } = *self;
        let mut faults = vec![];
        let mut note = |wrong: bool, why: String| faults.extend(wrong.then_some(why));
        note(received > sent, format!("{received} answers to {sent} packets"));
        note(received == 0, format!("times of no answer, and {sent} packets were sent"));
        note(
            ![min_ns, median_ns, p99_ns, max_ns].is_sorted(),
            format!(
                "times out of order: {min_ns} ns at least, median {median_ns}, p99 {p99_ns}, {max_ns} \
                 at most"
            ),
        );
        note(
            !(min_ns..=max_ns).contains(&mean_ns),
            format!("{mean_ns} ns in the mean, and they are {min_ns} to {max_ns}"),
        );
        if self.histogram.is_empty() {
            return faults;
        }
        let count = histogram::count(&self.histogram);
        note(count != received, format!("{count} times in the histogram, and {received} answers"));
        for (what, said, share) in [
            ("least", min_ns, 0.0),
            ("median", median_ns, 0.5),
            ("p99", p99_ns, 0.99),
            ("most", max_ns, 1.0),
        ] {
            // Three digits are kept, cut off.
            let exact = histogram::at_quantile(&self.histogram, share).unwrap_or(said);
            let far = said.abs_diff(exact) > 1 + said / 100;
            note(far, format!("{what}: {said} ns, and {exact} in the histogram"));
        }
        faults
    }
}

impl HostPath {
    fn faults(&self) -> Vec<String> {
        let HostPath { mtu, rtt_ns, packets_per_second: rate, .. } = *self;
        // Shorter ones no host takes (RFC 791), longer ones there are not.
        if !(68..=65_535).contains(&mtu) {
            return vec![format!("an MTU of {mtu} bytes")];
        }
        if rtt_ns == 0 || !(rate > 0.0 && rate.is_finite()) {
            return vec![format!("a round trip of {rtt_ns} ns, {rate} packets a second")];
        }
        let of = |transfer: &HostTransfer| {
            let place = format!("window {}, connections {}", transfer.window, transfer.connections);
            let faults = self.faults_of(transfer).into_iter();
            faults.map(|why| format!("{place}: {why}")).collect::<Vec<_>>()
        };
        self.transfers.iter().flat_map(of).collect()
    }

    /// All that is derived, once more.
    fn faults_of(&self, transfer: &HostTransfer) -> Vec<String> {
        let HostTransfer { bytes, seconds, retransmits, ratio, efficiency, .. } = *transfer;
        if bytes == 0 || !(seconds > 0.0 && seconds < 1e9) {
            return vec![format!("{bytes} bytes in {seconds} s")];
        }
        let path = self.path();
        let mut faults = vec![];
        let mut note = |wrong: bool, why: String| faults.extend(wrong.then_some(why));
        let exact = transfer_time_ratio(Duration::from_secs_f64(seconds), bytes, path.ideal_bps());
        note(
            !close(ratio, exact),
            format!("a ratio of {ratio}, and {bytes} bytes in {seconds} s have {exact}"),
        );
        // How much was sent is not kept: what came at least, and no more than as much again and what
        // buffers hold.
        let again = retransmits.saturating_mul(u64::from(path.mss()));
        let of_sent = |sent: u64| efficiency_percent(sent.saturating_add(again), again);
        let least = of_sent(bytes);
        let most = of_sent(bytes.saturating_mul(2).saturating_add(1 << 24));
        note(
            !(least - 1e-6..=most + 1e-6).contains(&efficiency),
            format!(
                "an efficiency of {efficiency} %, and with {retransmits} segments sent again it is \
                 {least} to {most}"
            ),
        );
        let exact =
            transfer.rtt_us.map(|us| buffer_delay_percent(Duration::from_micros(us), path.rtt));
        let show =
            |value: Option<f64>| value.map_or("none".to_string(), |value| format!("{value} %"));
        let same = match (transfer.buffer_delay, exact) {
            (Some(said), Some(exact)) => close(said, exact),
            (said, exact) => said == exact,
        };
        note(
            !same,
            format!(
                "a buffer delay of {}, and its round trip has {}",
                show(transfer.buffer_delay),
                show(exact)
            ),
        );
        faults
    }
}

impl Row {
    /// What the row says of all its pairs, and they do not.
    pub(super) fn not_the_pairs(&self) -> Vec<String> {
        let mut faults = vec![];
        let mut note = |wrong: bool, why: String| faults.extend(wrong.then_some(why));
        fn show<T: ToString>(value: Option<T>) -> String {
            value.map_or("none".to_string(), |value| value.to_string())
        }
        let figures = || self.pairs_run.iter().map(|pair| pair.figures);
        let lost: Option<i64> = figures().map(|one| one.lost()).sum();
        note(
            lost != self.lost,
            format!("{} packets lost, and its pairs lost {}", show(self.lost), show(lost)),
        );
        let again: Option<u64> = figures().map(|one| one.retransmits).sum();
        let said = self.retransmits;
        note(
            again != said,
            format!("{} segments sent again, and by its pairs {}", show(said), show(again)),
        );
        let setting = &self.setting;
        let ways = if setting.direction == Direction::BothWays { 2 } else { 1 };
        let (due, ran) = (u64::from(setting.pairs) * ways, self.pairs_run.len() as u64);
        note(due != ran, format!("{due} pairs of processes, and there are {ran}"));
        for pair in &self.pairs_run {
            let ran = pair.client["start"]["test_start"]["num_streams"].as_u64();
            let ran = ran.filter(|ran| *ran != u64::from(setting.streams));
            let why = format!("{} streams a pair, and iperf3 had {}", setting.streams, show(ran));
            note(ran.is_some(), why);
        }
        // Of each packet its headers came as well.
        let payload = figures().map(|one| one.all_bytes).fold(0, u64::saturating_add);
        if let Some(arrived) = self.arrived.filter(|arrived| arrived.bytes < payload) {
            let bytes = arrived.bytes;
            note(true, format!("{bytes} bytes came to the host, and {payload} of payload in them"));
        }
        faults
    }
}

impl Pair {
    /// Figures that what iperf3 wrote does not have. `length` is the payload of a packet.
    pub(super) fn faults(&self, length: u32) -> Vec<String> {
        let figures = &self.figures;
        let mut faults = vec![];
        let mut note = |wrong: bool, why: String| faults.extend(wrong.then_some(why));
        let number = |name: &str, said: Option<u64>, exact: Option<u64>| {
            let (Some(said), Some(exact)) = (said, exact) else { return None };
            (said != exact).then(|| format!("{name}: {said}, and iperf3 wrote {exact}"))
        };
        let end = &self.client["end"];
        let all = (!self.server["intervals"].is_null()).then(|| self.intervals());
        let came = all.as_ref().map(|all| all.iter().map(|one| one.0).fold(0, u64::saturating_add));
        let packets = came.map(|bytes| bytes / u64::from(length.max(1)));
        let numbers = [
            number("bytes in all", Some(figures.all_bytes), came),
            number("packets received", figures.packets_received, packets),
            number("packets sent", figures.packets_sent, packets_sent(end)),
            number(
                "segments sent again",
                figures.retransmits,
                end["sum_sent"]["retransmits"].as_u64(),
            ),
            number("MSS", figures.mss.map(u64::from), self.client["start"]["tcp_mss"].as_u64()),
        ];
        numbers.into_iter().flatten().for_each(|why| note(true, why));
        for (name, said, field) in [
            ("sender busy", figures.client_cpu, "host_total"),
            ("receiver busy", figures.server_cpu, "remote_total"),
        ] {
            let exact = end["cpu_utilization_percent"][field].as_f64();
            if let (Some(said), Some(exact)) = (said, exact) {
                note(!close(said, exact), format!("{name} {said} %, and iperf3 wrote {exact}"));
            }
        }
        // The window is some intervals, one after the other.
        let is_window = |all: &[(u64, f64)]| {
            (0..all.len()).any(|from| {
                let (mut bytes, mut seconds) = (0u64, 0.0);
                all[from..].iter().any(|one| {
                    (bytes, seconds) = (bytes.saturating_add(one.0), seconds + one.1);
                    bytes == figures.bytes && close(seconds, figures.seconds)
                })
            })
        };
        let (bytes, seconds) = (figures.bytes, figures.seconds);
        note(
            all.is_some_and(|all| !is_window(&all)),
            format!("{bytes} bytes in {seconds} s: no intervals of iperf3's have that"),
        );
        for (who, said) in [("client", &self.client), ("server", &self.server)] {
            let why = streams_of_intervals(said);
            faults.extend(why.map(|why| format!("the {who}'s JSON: {why}")));
        }
        faults
    }

    /// Bytes and seconds of each interval of the receiver.
    fn intervals(&self) -> Vec<(u64, f64)> {
        let of = |one: &Value| {
            let sum = &one["sum"];
            (sum["bytes"].as_u64().unwrap_or(0), sum["seconds"].as_f64().unwrap_or(0.0))
        };
        self.server["intervals"].as_array().into_iter().flatten().map(of).collect()
    }
}

/// What a client counts at the end of a test of UDP.
pub(super) fn packets_sent(end: &Value) -> Option<u64> {
    let sent = end["sum_sent"]["packets"].as_u64().filter(|packets| *packets > 0);
    sent.or_else(|| end["sum"]["packets"].as_u64())
}

/// An interval whose streams do not add up.
fn streams_of_intervals(said: &Value) -> Option<String> {
    said["intervals"].as_array()?.iter().zip(1..).find_map(|(one, n)| {
        let (sum, streams) = (one["sum"]["bytes"].as_u64()?, one["streams"].as_array()?);
        let mut each = streams.iter().map(|stream| stream["bytes"].as_u64());
        let bytes = each.try_fold(0u64, |all, bytes| Some(all.saturating_add(bytes?)))?;
        (bytes != sum && !streams.is_empty())
            .then(|| format!("interval {n} has {sum} bytes, and its streams {bytes}"))
    })
}
