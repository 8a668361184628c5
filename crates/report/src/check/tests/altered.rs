//! Sound files of ours with one figure altered: each is told, and none before.

use super::super::{Known, check};
use serde_json::Value;

const DELAYS: &str = include_str!("../../../data/test-2-delays.json");
const TCP: &str = include_str!("../../../data/test-2-tcp.json");
const PATH: &str = include_str!("../../../data/test-2-path.json");
const BRIDGE: &str = include_str!("../../../data/test-2-bridge.json");
const STATEFUL: &str = include_str!("../../../data/test-2-stateful.json");
const HOSTS: &str = include_str!("../../../data/iperf3-1-path.json");
const PINGS: &str = include_str!("../../../data/iperf3-1-latency.json");
const TURNS: &str =
    include_str!("../../../../../results/2026-11-23-veth-compare-quick-trials.json");
const IPERF3: &str = include_str!("../../../../../results/2026-11-22-beside-the-kernel.json");

/// A file, the place of one figure, what it is made, and words of what is said then.
type Case = (&'static str, &'static str, &'static str, &'static str);

#[test]
fn one_figure_altered() {
    for sound in [DELAYS, TCP, PATH, BRIDGE, STATEFUL, HOSTS, PINGS, TURNS, IPERF3] {
        assert_eq!(found(sound), "");
    }
    let cases: [Case; 20] = [
        (
            DELAYS,
            "/cells/1/trials/0/latency/min_ns",
            "10000000",
            "10000000 ns at least, p50 2439167, p99",
        ),
        (
            DELAYS,
            "/cells/1/trials/0/directions/0/sent",
            "1",
            "received and lost are not what was sent",
        ),
        (DELAYS, "/cells/1/trials/0/gaps", "99999", "99999 gaps, 85 frames lost and 0 overtaken"),
        (
            TCP,
            "/cells/0/trials/7/tcp/concurrent_max",
            "1000000",
            "1000000 connections at a time, and 6498",
        ),
        (HOSTS, "/paths/0/rtt_ns", "0", "a round trip of 0 ns, 8127.3454676148785"),
        (HOSTS, "/paths/0/mtu", "0", "linux kernel, RFC 6349: an MTU of 0 bytes"),
        (PINGS, "/latencies/0/received", "20000", "20000 answers to 10000 packets"),
        (PINGS, "/latencies/0/min_ns", "1000000000", "1000000000 ns at least, median 3000, p99"),
        (PINGS, "/latencies/0/sent", "0", "10000 answers to 0 packets"),
        (PINGS, "/latencies/0/median_ns", "1000000000", "2000 ns at least, median 1000000000, p99"),
        (PINGS, "/latencies/0/mean_ns", "1", "1 ns in the mean, and they are 2000 to"),
        (
            TURNS,
            "/rows/1/trials/0/latency/min_ns",
            "10000000000",
            "10000000000 ns at least, p50 89087, p99",
        ),
        (TURNS, "/setups/5/ping/answered", "5000", "5000 answers to 1000 pings"),
        (TURNS, "/rows/1/router_ns_per_packet", "9000000.0", "is more than 2 cores have"),
        (TURNS, "/rows/1/trials/0/duration", "0.0", "trial 1, self-test: it took 0 s"),
        (
            IPERF3,
            "/rows/0/retransmits",
            "1000000",
            "1000000 segments sent again, and by its pairs 109",
        ),
        (IPERF3, "/rows/0/lost", "7", "7 packets lost, and its pairs lost none"),
        (IPERF3, "/rows/0/streams", "64", "64 streams a pair, and iperf3 had 1"),
        (IPERF3, "/rows/0/pairs", "2", "2 pairs of processes, and there are 1"),
        (IPERF3, "/rows/0/arrived/bytes", "5", "5 bytes came to the host, and 4226809856 of"),
    ];
    for (sound, place, made, expected) in cases {
        let mut file: Value = serde_json::from_str(sound).unwrap();
        let figure = file.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not there"));
        *figure = serde_json::from_str(made).unwrap();
        let said = found(&file.to_string());
        assert!(said.contains(expected), "{place} {made}: {expected}: {said}");
        // Numbers in words, no form of the language's.
        assert!(!said.contains(" { "), "{place}: {said}");
    }
}

/// What a check of a file says.
fn found(text: &str) -> String {
    let findings = check(&[("a.json".to_string(), text.to_string())], &Known::default()).findings;
    findings.iter().map(|finding| finding.to_string() + "\n").collect()
}
