//! Findings in the fixtures: these, and no others.

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
        assert!(of_line[0].contains(&format!("layer 3, {most};")), "{of_line:?}");
    }
    assert_eq!(baseline.iter().filter(|text| text.contains("impossible")).count(), 18);
    let dut = found(&["S2-dut.csv"], &[]);
    let lines: Vec<&str> = dut.iter().map(|text| text.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["5", "6", "7", "9", "10", "11", "12", "13", "17", "18", "22", "23"]);
    assert!(
        dut[7].contains(
            "1002.4 Mbps of 9018 bytes are 0.66 % above what the wire carries on layer 3"
        )
    );
}

#[test]
fn layers_that_are_none() {
    let twice = "are of neither layer 1 nor 2: Ethernet header and FCS counted a second time";
    let no_fcs = "less for a packet than the shortest frame has, without FCS: rx 60 in 11 rows";
    finds(&["S4-ccr-fastpath.csv"], &[], &[(":2: ambiguous: Mbps of 24", twice)]);
    finds(&["S4-ccr1036-features.csv"], &[], &[(":2: ambiguous: Mbps of 15", twice)]);
    finds(&["S4-interface-rates.csv"], &[], &[(":2: ambiguous: Mbps", no_fcs)]);
    // These say which layer they mean, or mean frames with FCS.
    let sound = ["S0-rb962-forwarding.csv", "S0-crs309-switching.csv", "S3-rb750gr2.csv"];
    finds(&sound, &[], &[]);
}

#[test]
fn wires_that_are_named() {
    let above = "18800 kpps of 512 bytes are 0.02 % above the wire's 18796.99";
    let rounded = "6502 kpps of 1518 bytes: the wire's 6501.951, rounded up";
    let up = "6579 kpps of 512 bytes: the wire's 6578.947, rounded up";
    let wires = [("CCR1072", 80e9), ("CCR1036", 28e9), ("CCR1016", 22e9), ("CCR1", 1e12)];
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
            (":12: rounded", up),
        ],
    );
    let pppoe = found(&["S3-pppoe.csv"], &[("", 20e9)]);
    assert!(pppoe[0].contains("4634.2 kpps of 512 bytes are 0.10 % above the wire's 4629.63"));
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
    let cases: [(Change, &str); 9] = [
        (&|v| udp_of(v)["bits_per_second"] = 9.9e11.into(), "stream 1, udp: "),
        (&|v| udp_of(v)["lost_percent"] = 55.into(), "stream 1, udp: 0 of 382 packets are 0.000 %"),
        (&|v| udp_of(v)["out_of_order"] = 1e9.into(), "packets out of order of 382"),
        (
            &|v| v["end"]["sum_received"]["lost_packets"] = 1_000_000.into(),
            "sum_received: 1000000 packets lost of ",
        ),
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
    let cases: [(&str, Change, &str); 9] = [
        ("tcp-reverse-client", &|v| v["end"] = serde_json::json!({}), "the run did not end"),
        (
            "udp-loss-client",
            &|v| v["end"]["sum"]["packets"] = 500_000.into(),
            "sum: 500000 packets, but its streams add up to",
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
        checked.unread.remove(0).text.strip_prefix("not checked: ").unwrap().to_string()
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
    let mut files = read(&["S4-interface-rates.csv"]);
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
        ("Frame size,Throughput (fps),Loss %\n64,1000,0.5\n", "Loss %"),
    ] {
        let checked = check(&[("f".into(), text.into())], &Known::default());
        let found: String = checked.not_looked_at.iter().map(ToString::to_string).collect();
        let told = format!("f: no check looks at `{columns}`");
        assert_eq!(found, if columns.is_empty() { "" } else { &told }, "{text}");
    }
}

mod vendors;
// The errors of the source documents' tables.
mod sources;
// One figure of a sound file of ours, altered.
mod altered;
