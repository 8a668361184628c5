//! Sound files of ours with one figure altered: each is told, and none before.

use super::super::{Known, check};
use serde_json::Value;

const DELAYS: &str = include_str!("../../../data/test-2-delays.json");
const TCP: &str = include_str!("../../../data/test-2-tcp.json");
const PATH: &str = include_str!("../../../data/test-2-path.json");
const BRIDGE: &str = include_str!("../../../data/test-2-bridge.json");
const STATEFUL: &str = include_str!("../../../data/test-2-stateful.json");
const HOSTS: &str = include_str!("../../../../../results/2026-11-22-rfc6349-hosts-quick.json");
const PINGS: &str =
    include_str!("../../../../../results/2026-11-22-latency-beside-the-kernel.json");
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
    let cases: [Case; 56] = [
        (
            DELAYS,
            "/cells/5/trials/0/duration",
            "0.001",
            "its course goes on at 0.198 s, and it took",
        ),
        (DELAYS, "/cells/5/trials/0/ipdv/pairs", "50", "50 pairs of neighbours, and 249 of its"),
        (
            DELAYS,
            "/cells/5/trials/0/ipdv/mean_abs_ns",
            "1.0",
            "IPDV 1 ns in the mean, and of its streams",
        ),
        (
            DELAYS,
            "/cells/5/trials/0/streams/0/ipdv/pairs",
            "9",
            "249 pairs of neighbours, and 59 of its",
        ),
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
        (TCP, "/cells/0/trials/7/tcp/transactions", "0", "times of 6498 transactions, and 0 were"),
        (
            TCP,
            "/cells/0/trials/7/tcp/connect/min_ns",
            "1000000000",
            "1000000000 ns at least, p50 329983, p99",
        ),
        (
            TCP,
            "/cells/0/trials/7/tcp/took_ns",
            "50000000",
            "its course goes on at 0.1 s, and it took",
        ),
        (
            TCP,
            "/cells/0/trials/7/tcp/took_ns",
            "500000000",
            "its course ends at 0.10200000000000001 s,",
        ),
        (
            TCP,
            "/cells/0/trials/7/tcp/concurrent_max",
            "1000000",
            "1000000 connections at a time, and 6498",
        ),
        (TCP, "/cells/0/trials/7/tcp/connect/count", "1", "times of 1 handshakes, and 6498 were"),
        (
            TCP,
            "/cells/0/trials/7/series/established/3",
            "7777",
            "6498 established, and 14145 in its course",
        ),
        (
            TCP,
            "/cells/0/trials/7/series/interval_ns",
            "9000000",
            "its course goes on at 0.44999999999999996",
        ),
        (
            BRIDGE,
            "/cells/0/trials/7/series/latency_max_ns/3",
            "1000000000",
            "a latency of 1000000000 ns in its course,",
        ),
        (
            HOSTS,
            "/paths/0/transfers/0/efficiency",
            "250.0",
            "an efficiency of 250 %, and with 0 segments",
        ),
        (HOSTS, "/paths/0/transfers/0/bytes", "2351696800", "a ratio of 1.009348679121892, and"),
        (HOSTS, "/paths/0/transfers/0/ratio", "0.001", "a ratio of 0.001, and 23516968 bytes in"),
        (HOSTS, "/paths/0/rtt_ns", "0", "a round trip of 0 ns, 8127.3454676148785"),
        (
            HOSTS,
            "/paths/0/packets_per_second",
            "8127345.0",
            "a ratio of 1.009348679121892, and 23516968",
        ),
        (
            HOSTS,
            "/paths/0/transfers/0/buffer_delay",
            "1.0",
            "a buffer delay of 1 %, and its round trip",
        ),
        (HOSTS, "/paths/0/mtu", "0", "linux kernel, RFC 6349: an MTU of 0 bytes"),
        (
            HOSTS,
            "/paths/0/transfers/0/rtt_us",
            "18446744073709551615",
            "a buffer delay of 3933.333333333333 %, and",
        ),
        (PINGS, "/latencies/0/received", "20000", "20000 answers to 10000 packets"),
        (PINGS, "/latencies/0/min_ns", "1000000000", "1000000000 ns at least, median 3000, p99"),
        (PINGS, "/latencies/0/sent", "0", "10000 answers to 0 packets"),
        (PINGS, "/latencies/0/median_ns", "1000000000", "2000 ns at least, median 1000000000, p99"),
        (PINGS, "/latencies/0/mean_ns", "1", "1 ns in the mean, and they are 2000 to"),
        (TURNS, "/comparisons/0/ratio", "3.0", "a ratio of 3, and the rates have"),
        (TURNS, "/comparisons/0/spread/0", "5.0", "a least ratio of 5, and the rates have"),
        (TURNS, "/comparisons/0/chance", "7.0", "a chance of 7, and the rates have 0.21875"),
        (
            TURNS,
            "/comparisons/0/device_pps/0",
            "5000000.0",
            "a ratio of 1.1302169760585854, and the",
        ),
        (TURNS, "/comparisons/0/base_pps/0", "5000000.0", "a ratio of 1.1302169760585854, and the"),
        (TURNS, "/comparisons/0/verdict", "\"device\"", "said to be faster, and the rates say"),
        (
            TURNS,
            "/rows/1/trials/0/latency/min_ns",
            "10000000000",
            "10000000000 ns at least, p50 89087, p99",
        ),
        (TURNS, "/setups/5/ping/answered", "5000", "5000 answers to 1000 pings"),
        (TURNS, "/comparisons/0/frame_size", "9999", "linux kernel has no such row"),
        (TURNS, "/rows/1/router_ns_per_packet", "9000000.0", "is more than 2 cores have"),
        (
            TURNS,
            "/rows/1/trials/3/latency/count",
            "1000000000",
            "latencies of 1000000000 frames, and",
        ),
        (TURNS, "/rows/1/trials/3/received", "5", "latencies of 68334 frames, and 5 came"),
        (TURNS, "/rows/1/tester_pps", "9000000.0", "no trial of the tester alone had that"),
        (TURNS, "/rows/1/trials/0/duration", "0.0", "trial 1, self-test: it took 0 s"),
        (TURNS, "/rows/1/trials/3/duration", "0.01", "681567.7738430976 pps compared, and no"),
        (IPERF3, "/rows/0/pairs_run/0/figures/all_bytes", "5", "5, and iperf3 wrote 4226809856"),
        (
            IPERF3,
            "/rows/0/pairs_run/0/figures/bytes",
            "5",
            "the pairs add up to 0.000013337925796788103",
        ),
        (
            IPERF3,
            "/rows/0/pairs_run/0/figures/seconds",
            "1.0",
            "the pairs add up to 20240.662528 Mbps of",
        ),
        (IPERF3, "/rows/0/pairs_run/0/figures/retransmits", "5", "5, and iperf3 wrote 109"),
        (
            IPERF3,
            "/rows/0/pairs_run/0/figures/client_cpu",
            "5.0",
            "sender busy 5 %, and iperf3 wrote",
        ),
        (
            IPERF3,
            "/rows/0/pairs_run/0/server/intervals/1/sum/bytes",
            "5",
            "4226809856, and iperf3 wrote 3386376197",
        ),
        (
            IPERF3,
            "/rows/0/pairs_run/0/server/intervals/1/streams/0/bytes",
            "5",
            "interval 2 has 840433664 bytes, and its",
        ),
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
