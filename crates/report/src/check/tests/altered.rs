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
    let cases: [Case; 107] = [
        (DELAYS, "/cells/5/figures/1/value", "9999.0", "9999, and its last trial counted 252"),
        (DELAYS, "/cells/5/figures/2/value", "9999.0", "9999, and its last trial counted 252"),
        (DELAYS, "/cells/5/figures/3/value", "7.0", "7, and its last trial counted 0"),
        (
            DELAYS,
            "/cells/5/trials/0/streams/0/bytes",
            "1",
            "1 bytes of 200 frames, whose lengths are",
        ),
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
            "/cells/1/trials/0/directions/0/tagged/min_ns",
            "1",
            "tagged frames took 1 to 2437119 ns, and all",
        ),
        (
            DELAYS,
            "/cells/1/trials/0/directions/0/sent",
            "1",
            "received and lost are not what was sent",
        ),
        (DELAYS, "/cells/1/trials/0/gaps", "99999", "99999 gaps, 85 frames lost and 0 overtaken"),
        (
            DELAYS,
            "/cells/1/trials/0/directions/0/intended",
            "1000000",
            "9970 frames intended, and 1004985 of its",
        ),
        (
            DELAYS,
            "/cells/1/figures/1/spread/p99",
            "1.0",
            "of 2 repetitions the percentiles 1 and 99",
        ),
        (
            DELAYS,
            "/cells/1/figures/1/spread/stddev",
            "1000000000.0",
            "a standard deviation of 1000000000, of 2",
        ),
        (DELAYS, "/cells/5/trials/0/streams/0/from", "8", "voice: from port 8 to port 2, of 2"),
        (DELAYS, "/cells/5/trials/0/streams/0/to", "3", "voice: from port 1 to port 3, of 2"),
        (DELAYS, "/cells/5/trials/0/streams/0/from", "2", "voice: from port 2 to port 2"),
        (DELAYS, "/cells/1/trials/0/directions/0/to", "0", "from port 1 to port 0"),
        (DELAYS, "/self_tests/0/rate", "100.0", "148810 fps were sent, and the tester alone"),
        (DELAYS, "/cells/5/trials/0/outcome", "\"NaN\"", "the outcome `NaN` is unknown"),
        (DELAYS, "/cells/5/figures/1/unit", "\"elephants\"", "it is not looked at"),
        (DELAYS, "/cells/1/procedure", "\"guess\"", "it is not looked at"),
        (TCP, "/cells/0/figures/0/value", "194934.0", "no trial passed at 194934 connections a"),
        (TCP, "/cells/0/figures/1/value", "50.0", "50 /s, and 97844 were tried"),
        (TCP, "/cells/0/figures/2/value", "1.0", "handshake p50: no trial has 1 ns"),
        (
            TCP,
            "/cells/0/trials/7/received",
            "90972",
            "trial 8: 90972 frames received of 45486 sent",
        ),
        (TCP, "/cells/0/trials/7/received", "30000", "30000 of 45486 frames came, and nothing was"),
        (TCP, "/cells/0/trials/7/tcp/retransmitted", "1", "passed without loss, and 1 segments"),
        (
            TCP,
            "/cells/1/trials/0/received",
            "0",
            "trial 1: 100 connections established by 0 frames",
        ),
        (
            TCP,
            "/cells/1/trials/0/tcp/retransmitted",
            "1000000000",
            "1000000000 segments sent again",
        ),
        (
            TCP,
            "/cells/0/trials/7/duration",
            "100.0",
            "trial 8: 100 s long, and it took 101348630 ns",
        ),
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
        (TCP, "/cells/1/figures/1/value", "3.0", "3 is neither the mean 949.5967483398705 nor"),
        (TCP, "/cells/2/figures/0/value", "12345.0", "no trial held 12345 connections at a time"),
        (PATH, "/cells/1/figures/3/value", "90.0", "TCP throughput 90 Mbit/s 4.343137528533333"),
        (PATH, "/cells/1/figures/4/value", "90.0", "TCP throughput 2.185594155754386 Mbit/s"),
        (PATH, "/cells/1/figures/6/value", "250.0", "250 %, which is 100 to 100 here"),
        (PATH, "/cells/3/figures/1/value", "90.0", "windows of 49641 bytes, and 90 % of the BDP"),
        (PATH, "/cells/6/figures/2/value", "49641.0", "windows of 198564 bytes, and 100 % of the"),
        (PATH, "/cells/1/figures/5/value", "0.001", "TCP throughput 2.185594155754386 Mbit/s"),
        (PATH, "/cells/0/figures/2/value", "95.0", "9.492336, and of its path it is"),
        (PATH, "/cells/0/figures/1/value", "7.0", "49641.21843523921, and of its path it is"),
        (PATH, "/cells/0/figures/4/value", "7.0", "7, and of its path it is 49641.218435239214"),
        (BRIDGE, "/cells/2/figures/0/value", "400.0", "400 % is more than all"),
        (BRIDGE, "/cells/2/figures/0/value", "40.0", "40 %, and 1194 of 7440 frames were lost"),
        (TCP, "/cells/0/frame_size", "64", "the tester never tried frames of this size"),
        (STATEFUL, "/cells/0/frame_size", "512", "the tester never tried frames of this size"),
        (
            STATEFUL,
            "/cells/0/trials/0/load",
            "2232142.0",
            "a trial of 2232142 /s, and the wire carries",
        ),
        (
            BRIDGE,
            "/cells/3/trials/0/load",
            "2232142.0",
            "a trial of 2232142 /s, and the wire carries",
        ),
        (BRIDGE, "/cells/3/figures/0/value", "-4.0", "-4 addresses is below zero"),
        (BRIDGE, "/cells/3/figures/0/value", "400.0", "no trial passed with 400 addresses"),
        (
            BRIDGE,
            "/cells/4/figures/0/value",
            "4000000000.0",
            "4000000000 /s, and the wire carries 148810",
        ),
        (BRIDGE, "/cells/5/figures/0/value", "1.0", "no trial passed with 1 fps"),
        (
            BRIDGE,
            "/cells/0/trials/7/series/latency_max_ns/3",
            "1000000000",
            "a latency of 1000000000 ns in its course,",
        ),
        (
            STATEFUL,
            "/cells/0/figures/0/value",
            "4000000000.0",
            "4000000000 /s, and the wire carries 1488095",
        ),
        (STATEFUL, "/cells/2/figures/0/value", "77.0", "no trial passed with 77 connections"),
        (STATEFUL, "/cells/2/figures/1/value", "77.0", "no trial passed at 77 /s"),
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
        (
            IPERF3,
            "/rows/0/pairs_run/0/client/end/sum_sent/bytes",
            "5",
            "5 bytes in 5.000516 s are 0.0 Mbps, not",
        ),
        (
            IPERF3,
            "/rows/0/pairs_run/0/client/end/streams/0/sender/bytes",
            "5",
            "4259971072 bytes, but its streams add up to",
        ),
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

/// What files keep now of a transfer: efficiency and buffer delay follow from it.
#[test]
fn what_a_transfer_sent_again() {
    let mut results: Value = serde_json::from_str(PATH).unwrap();
    let cell = &results["cells"][5];
    let [efficiency, delay] = [6, 7].map(|at| cell["figures"][at]["value"].as_f64().unwrap());
    let rtt = results["cells"][0]["figures"][1]["value"].as_f64().unwrap();
    let trial = &cell["trials"][0]["tcp"];
    let data = trial["bytes_sent"].as_f64().unwrap() - trial["due"].as_f64().unwrap();
    let again = (data * (100.0 / efficiency - 1.0)).round() as u64;
    let mean = (rtt * (1.0 + delay / 100.0)).round() as u64;
    for (again, mean, expected) in [
        (again, mean, ""),
        (again + 100_000, mean, "TCP efficiency: no transfer had 99.20654296875 %"),
        (again, mean + 1_000_000, "buffer delay: no transfer had 280.04768184955395 %"),
    ] {
        let trial = &mut results["cells"][5]["trials"][0]["tcp"];
        (trial["sent_again"], trial["rtt_mean_ns"]) = (again.into(), mean.into());
        let found = found(&results.to_string());
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
    }
}
