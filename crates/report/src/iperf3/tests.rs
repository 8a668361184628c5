//! Tables of the iperf3 method: stored files, turns, and what cannot be.

use super::*;
use crate::json::{ReadError, write};
use measure::iperf3::SCHEMA;

// What is invalid, wherever it is shown.
mod invalid;

fn read(text: &str) -> Result<Results, ReadError> {
    crate::json::read(text)
}

/// A quick run of `plans/iperf3.toml`.
const STORED: &str = include_str!("../../data/iperf3-1.json");

#[test]
fn the_stored_file_is_read_written_again_and_shown() {
    let results = read(STORED).unwrap();
    assert_eq!(write(&results).unwrap(), STORED);
    let text = document(&results).text();
    for row in &results.rows {
        let rate = thousands(row.l3_mbps);
        let line = text.lines().find(|line| line.contains(&format!(" {rate} ")));
        assert!(line.is_some(), "{rate} in\n{text}");
    }
    for part in ["TCP, one way, ", "node to node", "wirespeed router", "Mbps(L3)", "IMIX"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("IMPOSSIBLE"), "{text}");
}

#[test]
fn what_cannot_be_is_marked() {
    let mut results = read(STORED).unwrap();
    results.rows[0].setting.link_mbps = Some(1.0);
    results.incomplete_because = Some("interrupted".to_string());
    let text = document(&results).text();
    assert!(text.contains("!  ") && text.contains("INCOMPLETE: interrupted"), "{text}");
    assert!(text.contains("% above the wire's 1"), "{text}");
    results.rows[0].kpps = f64::NAN;
    assert!(write(&results).unwrap_err().contains("is not a number"));
}

fn latency(&(device, tool, median_ns): &(&str, Tool, u64)) -> Latency {
    Latency {
        device: device.to_string(),
        tool,
        command: String::new(),
        sent: 10_000,
        received: 9_998,
        min_ns: 1,
        median_ns,
        mean_ns: median_ns,
        p99_ns: median_ns,
        max_ns: 2_000_000,
        histogram: Vec::new(),
        took_ns: 0,
        validity: Default::default(),
    }
}

#[test]
fn turns_have_their_medians() {
    let [linux, ours] = COMPARED;
    let mut results = read(STORED).unwrap();
    results.rows.clear();
    let mut shown = |latencies: &[(&str, Tool, u64)]| {
        results.latencies = latencies.iter().map(latency).collect();
        (pair(&results).map(|pair| pair.map(str::to_string)), document(&results).text())
    };
    let (_, text) = shown(&[
        (linux, Tool::Ping, 5_000),
        (ours, Tool::Ping, 10_000),
        (linux, Tool::Ping, 6_000),
        (ours, Tool::Ping, 12_000),
        (linux, Tool::Ping, 99_000),
        (ours, Tool::Ping, 3_000),
        (ours, Tool::Irtt, 1_000),
    ]);
    let line = text.lines().find(|line| line.starts_with("ping, median, µs")).unwrap();
    let words: Vec<_> = line.split_whitespace().skip(3).collect();
    assert_eq!(words, ["6.0", "10.0", "2.00", "0.03", "2.00", "unclear"], "{text}");
    assert!(!text.contains("irtt, median"), "only one has it: {text}");
    let line = text.lines().find(|line| line.starts_with("linux kernel      ping")).unwrap();
    let words: Vec<_> = line.split_whitespace().skip(2).collect();
    assert_eq!(words, ["ping", "10,000", "2", "0.0", "5.0", "5.0", "5.0", "2,000.0"]);
    // Six turns of more time each are a verdict.
    let slower = [(linux, Tool::Ping, 5_000), (ours, Tool::Ping, 10_000)].repeat(6);
    assert!(shown(&slower).1.contains("  slower\n"));
    for none in [&[][..], &[(linux, Tool::Ping, 1)]] {
        assert!(!shown(none).1.contains(" beside "));
    }
    let (direct, other) = ("node to node", "external");
    for (measured, expected) in [
        (&[direct, other][..], Some([direct, other])),
        (&[direct, linux, ours], Some(COMPARED)),
        (&[direct, other, linux], None),
    ] {
        let all: Vec<_> = measured.iter().map(|of| (*of, Tool::Ping, 1)).collect();
        assert_eq!(shown(&all).0, expected.map(|pair| pair.map(str::to_string)));
    }
}

/// A file may say anything of a path: it is shown, and what cannot be is named.
#[test]
fn paths_that_cannot_be() {
    const PATHS: &str = include_str!("../../data/iperf3-1-path.json");
    type Change = fn(&mut HostPath);
    let changes: [(Change, &str); 6] = [
        (|of| of.mtu = 0, "an MTU of 0 bytes"),
        (|of| of.mtu = 39, "an MTU of 39 bytes"),
        (|of| of.mtu = u32::MAX, "an MTU of 4294967295 bytes"),
        (|of| of.rtt_ns = 0, "a round trip of 0 ns"),
        (|of| of.packets_per_second = 0.0, "0 packets a second"),
        (|of| of.transfers[0].bytes = 0, "0 bytes in"),
    ];
    for (change, expected) in changes {
        let mut results = read(PATHS).unwrap();
        change(&mut results.paths[0]);
        let text = document(&results).text();
        assert!(text.contains(expected), "{expected} in\n{text}");
        document(&results).page();
        crate::export::iperf3(&results).csv();
        document(&results).markdown();
        crate::compare::tests::iperf3(&[read(PATHS).unwrap()], &[results.clone()]);
        let files = [("x".to_string(), write(&results).unwrap())];
        let found = crate::check::check(&files, &crate::check::Known::default()).findings;
        assert!(found.iter().any(|one| one.to_string().contains(expected)), "{found:?}");
    }
}

#[test]
fn refused() {
    let other = STORED.replace(SCHEMA, "wirespeed-iperf3/2");
    let damaged = STORED.replacen("\"l3_mbps\"", "\"l4_mbps\"", 1);
    for (text, expected) in [
        ("", "not JSON"),
        ("{}", "no result file"),
        (&other, "format \"wirespeed-iperf3/2\""),
        (&damaged, "missing field `l3_mbps`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
