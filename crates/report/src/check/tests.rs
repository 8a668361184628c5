//! What is found in the fixtures, and nothing else.

use super::*;

/// Fixtures: the tables of the source documents, and runs of iperf3.
fn read(names: &[&str]) -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/check/");
    let read = |name: &&str| std::fs::read_to_string(folder.to_string() + name).unwrap();
    names.iter().map(|name| (name.to_string(), read(name))).collect()
}

fn found(names: &[&str], links: &[(&str, f64)]) -> Vec<String> {
    let links = links.iter().map(|(name, link)| (name.to_string(), *link)).collect();
    let findings = check(&read(names), &Known { links }).findings;
    findings.iter().map(ToString::to_string).collect()
}

/// The findings in these files are these and no others: `LINE: kind: …`, and a part of the text.
#[track_caller]
fn finds(names: &[&str], links: &[(&str, f64)], expected: &[(&str, &str)]) {
    let found = found(names, links);
    let mut rest: Vec<&String> = found.iter().collect();
    for (begin, part) in expected {
        let is_it = |text: &&String| text.contains(begin) && text.contains(part);
        match rest.iter().position(is_it) {
            Some(at) => drop(rest.remove(at)),
            None => panic!(
                "{begin} … {part} is not among\n{}",
                rest.iter().map(|text| format!("{text}\n")).collect::<String>()
            ),
        }
    }
    assert!(rest.is_empty(), "found besides: {rest:#?}");
}

#[test]
fn an_overflow_of_32_bits() {
    // Source 001: three totals lost 2^32 bits; all sums of packets hold.
    finds(
        &["S1-tg-quick.csv"],
        &[],
        &[
            (
                ":2: ambiguous",
                "without FCS: rx 60 in 12 rows (0, 1, 2, 3, 4, 5); tx 60 in 4 rows (4, 5); tx 62 in 8 rows (0, 1, 2, 3)",
            ),
            (":15: impossible", "841.2 lost, not 125.3: the 715.9 missing are 2^32 bits in 6 s"),
            (":16: impossible", "931.1 lost, not 215.3: the 715.8 missing are 2^32 bits in 6 s"),
            (":17: impossible", "938.2 lost, not 324.5: the 613.7 missing are 2^32 bits in 7 s"),
        ],
    );
}

#[test]
fn more_than_the_wire_carries() {
    // Source 002: all its gigabit rows, and three of 10 gigabits, on both layers.
    let baseline = found(&["S2-baseline.csv"], &[]);
    for (line, most) in [
        (2, "771.1"),
        (3, "870.7"),
        (4, "930.9"),
        (5, "964.2"),
        (6, "975.3"),
        (7, "995.8"),
        (11, "9642.2"),
        (12, "9752.9"),
        (13, "9958.0"),
    ] {
        let begin = format!("S2-baseline.csv:{line}: impossible");
        let of_line: Vec<_> = baseline.iter().filter(|text| text.starts_with(&begin)).collect();
        assert_eq!(of_line.len(), 2, "{of_line:?}");
        assert!(of_line[0].ends_with(most), "{of_line:?}");
    }
    assert_eq!(baseline.iter().filter(|text| text.contains("impossible")).count(), 18);
    let dut = found(&["S2-dut.csv"], &[]);
    let lines: Vec<&str> = dut.iter().map(|text| text.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["5", "6", "7", "9", "10", "11", "12", "13", "17", "18", "22", "23"]);
    assert!(dut[7].contains("1002.4 Mbps on layer 3 in packets of 9000 bytes are 0.66 % above"));
    finds(&["S2-iperf-sizes.csv"], &[], &[]);
}

#[test]
fn layers_that_are_none() {
    let twice = "rows, from here on, are of neither layer 1 nor 2: Ethernet header and FCS";
    let told = "CCR1072-1G-8S+ 1200MHz: wire speed at 512 bytes would be 80.013 Gbps";
    let found = found(&["S4-ccr-fastpath.csv"], &[]);
    for (begin, part) in [
        (":2: ambiguous: Mbps of 24", twice),
        (":3: impossible", told),
        (":6: impossible", told),
        (":15: ambiguous", "is 20 Gbps on layer 1, and the ports that its name says carry 22"),
        (":21: ambiguous", "is 12 Gbps on layer 1, and the ports that its name says carry 19"),
    ] {
        assert!(found.iter().any(|text| text.contains(begin) && text.contains(part)), "{begin}");
    }
    assert_eq!(found.iter().filter(|text| text.contains("carry")).count(), 2);
    let up = "6579 kpps of 512 bytes: the wire's 6578.947, rounded up";
    finds(
        &["S4-ccr1036-features.csv"],
        &[],
        &[
            (":2: ambiguous: Mbps of 15", twice),
            (":3: rounded", up),
            (
                ":4: warning",
                "2274 kpps of 1518 bytes are marked as wire speed, and are 0.07 % below",
            ),
            (":9: rounded", up),
        ],
    );
    let no_fcs =
        "60 bytes a packet: of a 64 byte frame, as no frame is shorter, so without FCS, cut";
    finds(
        &["S4-interface-rates.csv"],
        &[],
        &[(":2: ambiguous: tx", no_fcs), (":2: ambiguous: rx", no_fcs)],
    );
    // These say which layer they mean, or mean frames with FCS.
    finds(&["S0-rb962-forwarding.csv", "S0-crs309-switching.csv"], &[], &[]);
    finds(
        &["S3-rb750gr2.csv"],
        &[],
        &[
            (":3: rounded", "the wire's 234.962, cut off (2 rows)"),
            (":4: rounded", "the wire's 81.274, cut off (5 rows)"),
        ],
    );
}

#[test]
fn wires_that_are_named() {
    let above = "18800 kpps of 512 bytes are 0.02 % above the wire's 18796.99";
    let rounded = "6502 kpps of 1518 bytes: the wire's 6501.951, rounded up";
    let wires = [
        ("CCR1072", 80e9),
        ("CCR1036", 28e9),
        ("CCR1016", 22e9),
        ("CCR1009", 19e9),
        ("CCR1", 1e12),
    ];
    let up = "6579 kpps of 512 bytes: the wire's 6578.947, rounded up";
    finds(
        &["S4-ccr-fastpath.csv"],
        &wires,
        &[
            (":2: ambiguous", ""),
            (":3: impossible", above),
            (":4: rounded", rounded),
            (":6: impossible", above),
            (":7: rounded", rounded),
            (":9: rounded", up),
            (":10: warning", "0.07 % below the wire's 2275.683 (2 rows)"),
            (":12: rounded", up),
            (
                ":15: ambiguous",
                "4695 kpps of 512 bytes are marked as wire speed, and are 9.2 % below",
            ),
            (":16: ambiguous", "1624 kpps of 1518 bytes are marked as wire speed, and are 9.2 %"),
            (":21: ambiguous", "2817 kpps of 512 bytes are marked as wire speed, and are 36.9 %"),
            (":22: ambiguous", "974 kpps of 1518 bytes are marked as wire speed, and are 36.9 %"),
        ],
    );
    // Every row at 1518 bytes that reaches the wire is rounded up, with the wire named or not.
    for wires in [&wires[..], &[]] {
        let mut ccr1072 = found(&["S3-ccr1072.csv"], wires);
        assert!(ccr1072.remove(0).contains("18790 kpps of 512 bytes are marked as wire speed: the wire's 18796.992, cut off (2 rows)"));
        assert!(
            ccr1072.iter().all(|text| text.ends_with("the wire's 6501.951, rounded up")),
            "{ccr1072:?}"
        );
        assert_eq!(ccr1072.len(), 4, "{ccr1072:?}");
    }
}

#[test]
fn the_same_measurement_told_twice() {
    let same = |file: &str, other: &str| -> Vec<String> {
        let found = found(&[other, file], &[]);
        found.into_iter().filter(|text| text.contains(" kpps here, ")).collect()
    };
    let pppoe = same("S3-pppoe.csv", "S4-pppoe.csv");
    assert_eq!(pppoe.len(), 3, "{pppoe:?}");
    assert!(pppoe[0].contains("512: 4634.2 kpps here, 4633.852 in S4-pppoe.csv:8"), "{pppoe:?}");
    let l2tp = same("S3-l2tp.csv", "S4-l2tp.csv");
    assert_eq!(l2tp.len(), 1, "{l2tp:?}");
    assert!(l2tp[0].contains("1280: 1869.8 kpps here, 1868.99 in"), "{l2tp:?}");
    let two = found(&["S3-pppoe.csv"], &[("", 20e9)]);
    assert!(two[0].contains("4634.2 kpps of 512 bytes are 0.10 % above the wire's 4629.63"));
}

#[test]
fn sums() {
    finds(&["S0-marketing-capacity.csv"], &[], &[(":9: inconsistent", "is 3.6, not 4.6Gbps")]);
    finds(
        &["S0-worked-arithmetic.csv"],
        &[],
        &[
            (":12: rounded", "1028/1066 is 96.435, cut off to 96.43"),
            (":17: rounded", "4225024*8/60 is 563336.533, cut off to 563336"),
            (":19: inconsistent", "22/20 is 1.1, not 22"),
        ],
    );
    finds(&["S0S3-fasttrack-before-after.csv"], &[], &[(":21: inconsistent", "add up to 100.5")]);
}

#[test]
fn iperf3_runs() {
    // A real run of 3.12 with -O 1 over loopback: it received more than it sent.
    finds(
        &["iperf3-3.12-omit.json"],
        &[],
        &[
            ("json: impossible", "1491599360 bytes received of 1481113600 sent"),
            ("json: ambiguous", "-O 1: bytes and time"),
        ],
    );
    finds(&["iperf3-3.12-udp.json"], &[], &[]);
    // The same said of a gigabit wire.
    let (name, text) = read(&["iperf3-3.12-omit.json"]).remove(0);
    let fast = check(&[(name, text)], &Known { links: vec![(String::new(), 10e9)] }).findings;
    assert!(fast.iter().any(|finding| finding.text.contains("% above what the wire carries")));
    type Change<'a> = &'a dyn Fn(&mut serde_json::Value);
    let udp = |change: Change| -> Vec<String> {
        let text = read(&["iperf3-3.12-udp.json"]).remove(0).1;
        let mut value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        let findings = check(&[("x".into(), value.to_string())], &Known::default()).findings;
        findings.iter().map(ToString::to_string).collect()
    };
    fn udp_of(v: &mut serde_json::Value) -> &mut serde_json::Value {
        &mut v["end"]["streams"][0]["udp"]
    }
    let cases: [(Change, &str); 12] = [
        (&|v| udp_of(v)["bits_per_second"] = 9.9e11.into(), "stream 1, udp: "),
        (&|v| udp_of(v)["seconds"] = 200.into(), "stream 1, udp: 200 s of a run that took "),
        (&|v| udp_of(v)["lost_percent"] = 55.into(), "stream 1, udp: 0 of 382 packets are 0.000 %"),
        (&|v| udp_of(v)["out_of_order"] = 1e9.into(), "packets out of order of 382"),
        (&|v| v["end"]["sum"]["seconds"] = 200.into(), "sum: 200 s of a run that took "),
        (
            &|v| v["end"]["sum_received"]["lost_packets"] = 1_000_000.into(),
            "sum_received: 1000000 packets lost of ",
        ),
        (&|v| v["intervals"][0]["streams"][0]["bits_per_second"] = 9e11.into(), "s: stream 1: "),
        (&|v| v["end"]["sum"]["lost_packets"] = 400.into(), "400 packets lost of 382"),
        (&|v| v["end"]["sum"]["lost_percent"] = 5.into(), "0 of 382 packets are 0.000 %, not 5"),
        (&|v| v["end"]["sum"]["bits_per_second"] = 2e8.into(), "Mbps, not 200.0"),
        (&|v| v["end"]["streams"][0]["udp"]["bytes"] = 1.into(), "its streams add up to 1"),
        (&|v| v["end"]["cpu_utilization_percent"]["host_total"] = 99.into(), "busy for 99 %"),
    ];
    for (change, expected) in cases {
        let found = udp(change);
        assert!(found.iter().any(|found| found.contains(expected)), "{expected}: {found:?}");
    }
}

/// Real runs of 3.12 over loopback, each as its client and as its server tell it: sound, all.
#[test]
fn iperf3_runs_of_both_sides() {
    let ways = ["tcp-bidir", "tcp-parallel", "tcp-reverse", "udp-bidir", "udp-loss", "udp-reverse"];
    for way in ways {
        for side in ["client", "server"] {
            finds(&[&format!("iperf3-3.12-{way}-{side}.json")], &[], &[]);
        }
    }
    for way in ["tcp", "udp"] {
        for side in ["client", "server"] {
            let file = format!("../../../measure/data/iperf3-3.12-{way}-{side}.json");
            finds(&[&file], &[], &[]);
        }
    }
    type Change<'a> = &'a dyn Fn(&mut serde_json::Value);
    // What -M asked for, and datagrams of several frames.
    for (file, field, value) in [
        ("tcp-reverse-client", ["", "tcp_mss"], 536),
        ("udp-loss-client", ["test_start", "blksize"], 32768),
    ] {
        let text = read(&[&format!("iperf3-3.12-{file}.json")]).remove(0).1;
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        match field {
            ["", name] => json["start"][name] = value.into(),
            [of, name] => json["start"][of][name] = value.into(),
        }
        json["start"].as_object_mut().unwrap().remove("tcp_mss_default");
        let known = Known { links: vec![(String::new(), 1e5)] };
        let found = check(&[("x".into(), json.to_string())], &known).findings;
        assert!(
            found.iter().any(|of| of.text.contains("what the wire carries")),
            "{file} {found:?}"
        );
    }
    let cases: [(&str, Change, &str); 22] = [
        ("tcp-reverse-client", &|v| v["end"] = serde_json::json!({}), "the run did not end"),
        (
            "tcp-reverse-client",
            &|v| v["end"]["sum_received"]["bits_per_second"] = serde_json::Value::Null,
            "end, sum_received, bits_per_second: null is no number",
        ),
        (
            "tcp-reverse-client",
            &|v| v["end"]["sum_sent"]["bytes"] = "12".into(),
            "end, sum_sent, bytes: \"12\" is no number",
        ),
        (
            "tcp-parallel-client",
            &|v| v["end"]["streams"][1]["receiver"]["bytes"] = (-5).into(),
            "end, streams, 1, receiver, bytes: -5 is below zero",
        ),
        (
            "tcp-parallel-client",
            &|v| v["end"]["sum_sent"]["retransmits"] = 99999.into(),
            "sum_sent: 99999 retransmits, but its streams add up to",
        ),
        (
            "tcp-parallel-client",
            &|v| v["intervals"][0]["sum"]["bytes"] = 7.into(),
            "the interval from 0.0 to 1.0 s: sum: 7 bytes, but its streams add up to",
        ),
        (
            "tcp-parallel-client",
            &|v| v["intervals"][0]["sum"]["bits_per_second"] = 7.into(),
            "Mbps, not 0.0",
        ),
        (
            "udp-loss-client",
            &|v| v["end"]["sum"]["packets"] = 500_000.into(),
            "sum: 500000 packets, but its streams add up to",
        ),
        (
            "udp-loss-client",
            &|v| v["end"]["sum"]["jitter_ms"] = (-1).into(),
            "end, sum, jitter_ms: -1 is below zero",
        ),
        (
            "tcp-bidir-client",
            &|v| v["end"]["streams"][2]["sender"]["bytes"] = 1.into(),
            "sum_sent_bidir_reverse: 1582039040 bytes, but its streams add up to",
        ),
        (
            "udp-bidir-client",
            &|v| v["end"]["streams"][0]["udp"]["bytes"] = 1.into(),
            "sum: 5046272 bytes, but its streams add up to",
        ),
        (
            "tcp-bidir-client",
            &|v| v["end"]["sum_received_bidir_reverse"]["bits_per_second"] = 1e6.into(),
            "sum_received_bidir_reverse: ",
        ),
        // What a client has not sent, its server has not received.
        (
            "tcp-parallel-client",
            &|v| v["end"]["sum_sent"]["bytes"] = 0.into(),
            "bytes received of 0 sent",
        ),
        (
            "tcp-reverse-server",
            &|v| v["end"]["sum_received"]["bytes"] = u64::MAX.into(),
            "bytes received of ",
        ),
        ("udp-loss-client", &|v| v["end"]["sum"]["bits_per_second"] = 1e6.into(), "sum: "),
        (
            "tcp-parallel-client",
            &|v| v["intervals"][0]["sum"]["omitted"] = true.into(),
            "sum: its intervals that count are ",
        ),
        (
            "tcp-bidir-server",
            &|v| {
                let all = v["intervals"].as_array_mut().unwrap();
                all.extend(all.clone());
            },
            "sum_bidir_reverse: its intervals that count are ",
        ),
        (
            "udp-loss-client",
            &|v| {
                let all = v["intervals"].as_array_mut().unwrap();
                all.extend(all.clone());
            },
            "sum: its intervals that count are ",
        ),
        (
            "tcp-reverse-client",
            &|v| v["start"]["test_start"]["duration"] = 60.into(),
            "60 s were asked for, and it took 1.0",
        ),
        (
            "udp-bidir-server",
            &|v| v["start"]["test_start"]["num_streams"] = 4.into(),
            "8 streams were asked for, and its `end` has 4",
        ),
        (
            "tcp-reverse-client",
            &|v| {
                for sum in ["/end/sum_sent", "/end/streams/0/sender"] {
                    v.pointer_mut(sum).unwrap()["retransmits"] = 100_000_000.into();
                }
            },
            "100000000 segments sent again, and 20",
        ),
        (
            "udp-bidir-server",
            &|v| v["end"]["sum_bidir_reverse"]["lost_packets"] = 199.into(),
            "199 packets lost of 154",
        ),
    ];
    for (file, change, expected) in cases {
        let text = read(&[&format!("iperf3-3.12-{file}.json")]).remove(0).1;
        let mut value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        let findings = check(&[("x".into(), value.to_string())], &Known::default()).findings;
        let found: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
        assert!(found.contains(expected), "{file}, {expected}: {found}");
    }
    // A client that was interrupted is not told what the other side had sent.
    let text = read(&["iperf3-3.12-tcp-reverse-client.json"]).remove(0).1;
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["error"] = "interrupt - the client has terminated".into();
    let nothing = serde_json::json!({ "bytes": 0, "bits_per_second": 0, "retransmits": 0 });
    value["end"]["sum_sent"] = nothing.clone();
    value["end"]["streams"][0]["sender"] = nothing;
    let findings = check(&[("x".into(), value.to_string())], &Known::default()).findings;
    assert_eq!(findings.len(), 1, "the error alone: {findings:?}");
}

#[test]
fn files_that_cannot_be_checked() {
    let why = |text: &str| {
        let mut checked = check(&[("f".into(), text.into())], &Known::default());
        assert_eq!((checked.findings.len(), checked.unread.len()), (0, 1), "{text}");
        checked.unread.remove(0).why
    };
    assert!(why("{").starts_with("not JSON: "));
    assert!(why("{}").starts_with("no result file"));
    assert_eq!(why("frame size,fps\n"), "no rows below the head: `frame size`, `fps`");
    assert!(why("a,b\n1,2\n").starts_with(
        "no columns to check: there are `a`, `b`; looked for is a frame size (`Frame size"
    ));
    assert!(why("a,b\n1\n").starts_with("not CSV: "));
    assert_eq!(why(" \n"), "there is nothing in it");
    for (text, part) in [
        ("Frame size;CPU\n64;5\n", "`Frame size` is a frame size, and no rate is beside it"),
        ("Test,Throughput (fps)\na,5\n", "`Throughput (fps)` is a rate, and no frame size is"),
    ] {
        assert!(why(text).contains(part), "{text}");
    }
}

#[test]
fn links() {
    for (text, rate) in [
        ("10G", Some(10e9)),
        ("8x10G", Some(80e9)),
        ("8x1G+2x10G", Some(28e9)),
        ("1000Base-T", Some(1e9)),
        ("10Base-SR", Some(10e9)),
        ("10Base-T", Some(10e6)),
        ("2.5G", Some(2.5e9)),
        ("", None),
        ("G", None),
        ("0G", None),
        ("10", None),
        ("10G+", None),
        ("ÄG", None),
    ] {
        assert_eq!(link(text), rate, "{text}");
    }
}

/// All tables of the sources, checked together, and all that is found.
fn sources() -> Checked {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/check/");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".csv"));
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    check(&read(&names), &Known::default())
}

/// What measuring.md §2 and J-seed-numbers.md list, each with a row of it.
#[test]
fn every_error_that_the_sources_are_known_for() {
    let findings: Vec<String> = sources().findings.iter().map(ToString::to_string).collect();
    for (place, part) in [
        // J.2, §2.1: what Mbps count.
        ("S1-tg-quick.csv:2:", "Mbps count different bytes for a packet, without FCS"),
        ("S4-ccr-fastpath.csv:2:", "Ethernet header and FCS counted a second time"),
        ("S4-ccr1036-features.csv:2:", "Ethernet header and FCS counted a second time"),
        ("S4-interface-rates.csv:2:", "without FCS, cut off, not rounded"),
        ("S4-monitor-aggregate.csv:2:", "the 7.477 Gbps that makes are cut off, not rounded"),
        ("S2-baseline.csv:2:", "layer 2 without FCS, 4 less than the frame"),
        // J.3: limits.
        ("S3-rb750gr2.csv:3:", "the wire's 234.962, cut off"),
        ("S3-rb750gr2.csv:4:", "the wire's 81.274, cut off"),
        ("S3-ccr1072.csv:3:", "the wire's 18796.992, cut off"),
        ("S3-ccr1072.csv:4:", "the wire's 6501.951, rounded up"),
        ("S4-ccr-fastpath.csv:3:", "0.02 % above the 80 Gbps"),
        (
            "S4-ccr-fastpath.csv:15:",
            "is 20 Gbps on layer 1, and the ports that its name says carry 22",
        ),
        (
            "S4-ccr-fastpath.csv:21:",
            "is 12 Gbps on layer 1, and the ports that its name says carry 19",
        ),
        (
            "S4-ccr-fastpath.csv:2:",
            "69777.7 kpps of CCR1072-1G-8S+ 1200MHz v6 here, 119047.6 of CCR1072",
        ),
        (
            "S4-ccr-fastpath.csv:5:",
            "55641 kpps of CCR1072-1G-8S+ 1200MHz v6 here, 94668.4 of CCR1072",
        ),
        ("S4-pricelist.csv:4:", "17.8 Mpps; its ports, 12 Gbps, carry 17.857 of 64 bytes, cut off"),
        (
            "S4-pricelist.csv:6:",
            "24 Mpps; its ports, 16 Gbps, carry 23.810 of 64 bytes, rounded up",
        ),
        ("S4-pricelist.csv:7:", "sold with 41.5 Mpps; the most that was measured is 39.7646"),
        (
            "S3-pppoe.csv:7:",
            "wire speed at 512 bytes would be 20.020 Gbps on layer 1, 0.10 % above",
        ),
        // §2.2.
        ("S2-baseline.csv:2:", "778.1 Mbps on layer 3 in packets of 128 bytes are 0.91 % above"),
        ("S2-baseline.csv:7:", "1000.7 Mbps on layer 3 in packets of 9000 bytes are 0.49 % above"),
        ("S2-baseline.csv:7:", "1002.3 Mbps on layer 2 (no FCS)"),
        ("S2-baseline.csv:13:", "9972.5 Mbps on layer 3 in packets of 9000 bytes are 0.15 % above"),
        ("S2-dut.csv:13:", "1002.4 Mbps on layer 3 in packets of 9000 bytes are 0.66 % above"),
        // §2.3, J.4: 32 bits; a generator that fell short.
        ("S1-tg-quick.csv:15:", "2^32 bits in 6 s"),
        ("S1-tg-quick.csv:16:", "2^32 bits in 6 s"),
        ("S1-tg-quick.csv:17:", "2^32 bits in 7 s"),
        (
            "S1-tg-quick.csv:2:",
            "run 1: its streams sent 110.1 to 134.2 Mbps of packets of 60 bytes",
        ),
        // §2.4.
        ("docs-latency-distribution.csv:2:", "81.46 % were slower than its last row, 0-993us"),
        // J.4: sums and roundings.
        ("S0-marketing-capacity.csv:9:", "is 3.6, not 4.6Gbps"),
        ("S0-worked-arithmetic.csv:12:", "96.435, cut off to 96.43"),
        ("S0-worked-arithmetic.csv:17:", "563336.533, cut off to 563336"),
        ("S0-token-windows.csv:2:", "only if the 47 that are not shown are 60 each"),
        ("S0S3-fasttrack-before-after.csv:21:", "add up to 100.5"),
        ("S2-models.csv:2:", "2 x 6626.13 Mbps (S2-dut.csv:4) are 13.252 Gbps, cut off to 13.2"),
        ("S4-pppoe.csv:8:", "4633.852 kpps here, 4634.2 in S3-pppoe.csv:7"),
        ("S4-pppoe.csv:9:", "2376.862 kpps here, 2378.9 in S3-pppoe.csv:8"),
        ("S4-pppoe.csv:10:", "1912.372 kpps here, 1913.1 in S3-pppoe.csv:9"),
        ("S4-l2tp.csv:10:", "1868.99 kpps here, 1869.8 in S3-l2tp.csv:9"),
        // §2.5: a CPU that is the limit.
        ("S0-speed-test.csv:18:", "tcp-upload: the local CPU was busy for 100 %"),
        // Not in those lists: 43.0 KiB of 2 398 packets, on a screen or misread from it.
        ("S3-firewall-rules.csv:6:", "would be of 18.4 bytes each"),
    ] {
        let is_it = |text: &&String| text.starts_with(place) && text.contains(part);
        assert!(findings.iter().any(|text| is_it(&text)), "{place} {part} in {findings:#?}");
    }
    // Nothing is found in what is right.
    for right in [
        "S0-rb962",
        "S0-crs309",
        "S2-imix",
        "S2-iperf-sizes",
        "S4-pptp",
        "S0S3-conntrack",
        "S3-settings",
    ] {
        assert!(!findings.iter().any(|text| text.starts_with(right)), "{right}: {findings:#?}");
    }
}

/// The others are lists of words and settings: told, each in a line, and they end nothing.
#[test]
fn tables_without_numbers_to_check() {
    let unread: Vec<String> = sources().unread.into_iter().map(|unread| unread.file).collect();
    let expected = [
        "S0-80211ad-rates",
        "S0-80211nac-rates",
        "S1-config",
        "S1-streams",
        "S2-settings",
        "S3-fastpath-support",
        "S3-interface-queues",
        "S3-quiz",
        "S4-matching-order",
        "S4-misc",
        "S4-simple-queue-list",
    ];
    assert_eq!(unread, expected.map(|name| format!("{name}.csv")));
}

/// What others call their columns, part them by, and write their numbers like.
#[test]
fn other_peoples_tables() {
    let above = "1600 kpps of 64 bytes are 7.52 % above the wire's 1488.10";
    for (text, expected) in [
        ("Packet size,pps,Mbps\n64,1600000,819.2\n", above),
        ("Frame size (bytes);kpps;Mbit/s\n64;1600,0;819,2\n", above),
        ("frame_size\tMpps\n64\t1.6\n", above),
        ("size,kpps,Mbps (L1)\n64,1600,1075.2\n", above),
        ("size,kpps,Mbps (L2)\n64,1000,672\n", "Mbps of 1 rows, from here on, are of layer 1"),
        ("size,kpps,Gbit/s\n64,1000,0.656\n", "Ethernet header and FCS counted a second time"),
        ("sent,received,lost\n10,8,1\n", "10 sent and 8 received leave 2 lost, not 1"),
        ("latency,count,share\n0-10us,50,50\n10-20us,40,40\n", "10.00 % were slower than"),
        ("latency,count,share\n0-10us,50,50\n0-20us,100,100\n", ""),
        ("packet_len,count,bytes\n40,7,281\n", "bytes are 281, and the rows make 280"),
        ("minute_values,printed_sum\n60 60,100\n", "2 values add up to 120, not to 100"),
        (
            "field,value\nrx-packets-per-second,1000\nrx-bits-per-second,10kbps\n",
            "no frame is shorter",
        ),
        (
            "field,value\nloss,5% (1/100)\nping-min-avg-max,2ms / 1ms / 3ms\n",
            "1 of 100 packets are 1.0 %",
        ),
        ("model,max,typical\nx,1 Gbps,2 Gbps\n", "typically 2, and 1 at most"),
    ] {
        let known = Known { links: vec![(String::new(), 1e9)] };
        let checked = check(&[("f".into(), text.into())], &known);
        assert_eq!(checked.unread, [], "{text}");
        let found: String = checked.findings.iter().map(|found| format!("{found}\n")).collect();
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{text}{found}"
        );
    }
}

/// A file that is none keeps no other from being checked.
#[test]
fn file_by_file() {
    let mut files = read(&["S0-marketing-capacity.csv"]);
    files.insert(0, ("none".into(), "a,b\n1,2\n".into()));
    let checked = check(&files, &Known::default());
    assert_eq!((checked.findings.len(), checked.unread.len()), (1, 1));
    assert!(checked.unread[0].to_string().starts_with("none: not checked: no columns to check"));
}

/// Whatever ends a line, and however many are empty.
#[test]
fn lines_are_counted() {
    for (text, line) in [
        ("size,fps\n64,1600000\n", 2),
        ("size,fps\r\n64,1600000\r\n", 2),
        ("size,fps\r64,1\r64,1600000\r", 3),
        ("size,fps\r\n\r\n64,1\r\n\n64,1600000", 5),
        ("size,fps,note\n64,1,\"two\nlines\"\n64,1600000,x\n", 4),
    ] {
        let known = Known { links: vec![(String::new(), 1e9)] };
        let checked = check(&[("f".into(), text.into())], &known);
        let lines: Vec<Option<u64>> = checked.findings.iter().map(|found| found.line).collect();
        assert_eq!(lines, [Some(line)], "{text:?}");
    }
}

/// Numbers that no check looks at are told, words are not.
#[test]
fn columns_no_check_looks_at() {
    for (text, columns) in [
        ("size_bytes,kpps,Temperature\n64,1000,45\n", "Temperature"),
        ("size_bytes,kpps,Notes\n64,1000,warm\n", ""),
        ("size_bytes,kpps,Fan,Watt\n64,1000,,7.5 W\n", "Watt"),
        ("Frame size,Throughput (fps),Loss %\n64,1000,0.5\n", ""),
    ] {
        let checked = check(&[("f".into(), text.into())], &Known::default());
        let found: Vec<String> =
            checked.not_looked_at.iter().map(|left| left.columns.join(" ")).collect();
        assert_eq!(found.join(" "), columns, "{text}");
    }
}

mod vendors;
// One figure of a sound file of ours, altered.
mod altered;
