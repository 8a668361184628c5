//! Impossible latencies, paths and iperf3 outputs, whatever is between the hosts.
//!
//! ```text
//!  latency    received ≤ sent, least ≤ median ≤ 99 of 100 ≤ greatest
//!  path       an MTU, a round trip and a rate that can be; bytes in a time
//!  a row      losses, segments and processes ◄─► those of its pairs
//! ```

use super::{Direction, HostPath, HostTransfer, Latency, Results, Row};
use serde_json::Value;

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
            let HostTransfer { bytes, seconds, efficiency, .. } = *transfer;
            let place = format!("window {}, connections {}", transfer.window, transfer.connections);
            if bytes == 0 || !(seconds > 0.0 && seconds < 1e9) {
                return Some(format!("{place}: {bytes} bytes in {seconds} s"));
            }
            (!(0.0..=100.0).contains(&efficiency))
                .then(|| format!("{place}: an efficiency of {efficiency} %"))
        };
        self.transfers.iter().filter_map(of).collect()
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

/// What a client counts at the end of a test of UDP.
pub(super) fn packets_sent(end: &Value) -> Option<u64> {
    let sent = end["sum_sent"]["packets"].as_u64().filter(|packets| *packets > 0);
    sent.or_else(|| end["sum"]["packets"].as_u64())
}
