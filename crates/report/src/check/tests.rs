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
    let findings = check(&read(names), &Known { links }).unwrap();
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
    finds(
        &["S4-ccr-fastpath.csv"],
        &[],
        &[(":2: ambiguous: Mbps of 24", twice), (":3: impossible", told), (":6: impossible", told)],
    );
    finds(&["S4-ccr1036-features.csv"], &[], &[(":2: ambiguous: Mbps of 15", twice)]);
    let no_fcs =
        "60 bytes a packet: of a 64 byte frame, as no frame is shorter, so without FCS, cut";
    finds(
        &["S4-interface-rates.csv"],
        &[],
        &[(":2: ambiguous: tx", no_fcs), (":2: ambiguous: rx", no_fcs)],
    );
    // These say which layer they mean, or mean frames with FCS.
    finds(&["S0-rb962-forwarding.csv", "S0-crs309-switching.csv", "S3-rb750gr2.csv"], &[], &[]);
}

#[test]
fn wires_that_are_named() {
    let above = "18800 kpps of 512 bytes are 0.02 % above the wire's 18796.99";
    let rounded = "6502 kpps of 1518 bytes: the wire's 6501.951, rounded up";
    let eight = [("CCR1072", 80e9), ("", 1e12)];
    finds(
        &["S4-ccr-fastpath.csv"],
        &eight,
        &[
            (":2: ambiguous", ""),
            (":3: impossible", above),
            (":4: rounded", rounded),
            (":6: impossible", above),
            (":7: rounded", rounded),
        ],
    );
    // Every row at 1518 bytes that reaches the wire is rounded up.
    let ccr1072 = found(&["S3-ccr1072.csv"], &eight);
    assert!(
        ccr1072.iter().all(|text| text.ends_with("the wire's 6501.951, rounded up")),
        "{ccr1072:?}"
    );
    assert_eq!(ccr1072.len(), 4, "{ccr1072:?}");
}

#[test]
fn the_same_measurement_told_twice() {
    let same = |file: &str, other: &str| -> Vec<String> {
        let found = found(&[other, file], &[]);
        found.into_iter().filter(|text| text.contains("here, ")).collect()
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
    let fast = check(&[(name, text)], &Known { links: vec![(String::new(), 10e9)] }).unwrap();
    assert!(fast.iter().any(|finding| finding.text.contains("% above what the wire carries")));
    type Change<'a> = &'a dyn Fn(&mut serde_json::Value);
    let udp = |change: Change| -> Vec<String> {
        let text = read(&["iperf3-3.12-udp.json"]).remove(0).1;
        let mut value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        let findings = check(&[("x".into(), value.to_string())], &Known::default()).unwrap();
        findings.iter().map(ToString::to_string).collect()
    };
    let cases: [(Change, &str); 5] = [
        (&|v| v["end"]["sum"]["lost_packets"] = 400.into(), "400 packets lost of 382"),
        (&|v| v["end"]["sum"]["lost_percent"] = 5.into(), "0 of 382 packets are 0.000 %, not 5"),
        (&|v| v["end"]["sum"]["bits_per_second"] = 2e8.into(), "Mbps, not 200.0"),
        (&|v| v["end"]["streams"][0]["udp"]["bytes"] = 1.into(), "its streams add up to 1"),
        (&|v| v["end"]["cpu_utilization_percent"]["host_total"] = 99.into(), "busy for 99 %"),
    ];
    for (change, expected) in cases {
        let found = udp(change);
        assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
    }
}

#[test]
fn unreadable_files() {
    let why = |text: &str| check(&[("f".into(), text.into())], &Known::default()).unwrap_err().why;
    assert!(why("{").starts_with("not JSON: "));
    assert!(why("{}").starts_with("no result file"));
    assert!(why("a,b\n1,2\n").starts_with("no columns to check: there are a, b; known are size_b"));
    assert!(why("a,b\n1\n").starts_with("not CSV: "));
    for text in
        ["size_bytes,kpps,mbps\n64,,\n,1,\nx,y,z\n", "tx_packet,rx_packet,lost_packet\n,,\n"]
    {
        assert_eq!(check(&[("f".into(), text.into())], &Known::default()), Ok(vec![]), "{text}");
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

/// Our own suites: a sound one has no findings, and each thing that cannot be has one.
#[test]
fn suites() {
    const STORED: &str = include_str!("../../data/test-1.json");
    let found = |change: &dyn Fn(&mut measure::SuiteResults)| {
        let mut results = crate::suite::read(STORED).unwrap();
        change(&mut results);
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).unwrap();
        findings.iter().map(|finding| finding.to_string() + "\n").collect::<String>()
    };
    assert_eq!(found(&|_| {}), "");
    let with_points =
        |r: &measure::SuiteResults| r.cells.iter().position(|c| !c.points.is_empty()).unwrap();
    type Change<'a> = &'a dyn Fn(&mut measure::SuiteResults);
    let cases: [(Change<'_>, &str); 7] = [
        (&|r| r.cells[0].figures[0].value = Some(1e12), "impossible: none, 64 byte, throughput"),
        (&|r| r.complete = false, "ambiguous: the run is incomplete: it is not known why"),
        (
            &|r| {
                r.virtual_time = false;
                r.cells[0].limited_by = Some(measure::result::Limit::Device);
                r.self_tests[0].rate = r.cells[0].figures[0].value.unwrap() * 1.1;
            },
            "the tester alone does only 1.10 times that",
        ),
        (
            &|r| {
                let at = with_points(r);
                r.cells[at].points[0].loss_percent += 1.0;
            },
            "inconsistent: ",
        ),
        (
            &|r| {
                let at = with_points(r);
                r.cells[at].points[0].lost = r.cells[at].points[0].sent + 1;
            },
            "frames lost of",
        ),
        (
            &|r| {
                let at = with_points(r);
                r.cells[at].points[0].load *= 2.0;
            },
            "of the wire's",
        ),
        (
            &|r| {
                let figures = r.cells.iter_mut().flat_map(|cell| &mut cell.figures);
                let p50 = figures.into_iter().find(|f| f.name == "all frames p50").unwrap();
                p50.value = Some(1e12);
            },
            "is above all frames p99",
        ),
    ];
    for (change, expected) in cases {
        let found = found(change);
        assert!(found.contains(expected), "{expected} in {found}");
    }
}
