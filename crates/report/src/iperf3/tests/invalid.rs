//! Tests of invalid results: each is marked with its reason wherever it is shown, and has no part
//! in any other figure.

use super::read;
use crate::check::{Known, check};
use crate::compare::tests::iperf3 as compared;
use crate::export::iperf3 as records;
use crate::iperf3::{document, tests, turns};
use crate::json::write;
use measure::iperf3::{Results, Validity};

const LATENCIES: &str = include_str!("../../../data/iperf3-1-latency.json");
const PATHS: &str = include_str!("../../../data/iperf3-1-path.json");
const WHY: &str = "the machine's host took its processors away for 9s";

/// Stolen for nine seconds, and once before.
fn stolen() -> Validity {
    let invalid = Some(WHY.to_string());
    Validity { stolen_ns: 9_000_000_000, invalid, disturbed: vec![WHY.to_string()] }
}

/// Of a stored file, what is disturbed there: a row, a latency, a transfer, a path.
type Part = fn(&mut Results) -> &mut Validity;

const PARTS: [(&str, Part, &str); 4] = [
    (tests::STORED, |of| &mut of.rows[1].validity, "node to node, TCP, one way, 1500 byte"),
    (LATENCIES, |of| &mut of.latencies[0].validity, "linux kernel, ping"),
    (PATHS, |of| &mut of.paths[0].transfers[0].validity, "linux kernel, window 4096"),
    (PATHS, |of| &mut of.paths[0].validity, "linux kernel, the path and all its transfers"),
];

/// How often it is there.
fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn each_is_marked_once_with_its_reason() {
    for (file, part, name) in PARTS {
        let mut results = read(file).unwrap();
        let before = document(&results).text();
        assert!(!before.contains("INVALID") && !before.contains("invalid  "), "{before}");
        *part(&mut results) = stolen();
        let n = if name.contains("all its") { results.paths[0].transfers.len() } else { 1 };
        let text = document(&results).text();
        assert_eq!(times(&text, "invalid  "), n, "{text}");
        assert_eq!(times(&text, &format!("INVALID: {name}: {WHY}\n")), 1, "{text}");
        let again = format!("Repeated: {name}: measured 2 times, since {WHY}\n");
        assert_eq!(times(&text, &again), 1, "{text}");
        let markdown = document(&results).markdown();
        assert_eq!(times(&markdown, " *invalid* |"), n, "{markdown}");
        assert_eq!(times(&markdown, &format!("**Invalid:** {name}: {WHY}.")), 1, "{markdown}");
        let page = document(&results).page();
        assert_eq!(times(&page, "<sup>invalid</sup>"), n, "{name}");
        assert_eq!(times(&page, &format!("<b>Invalid.</b> {name}: {WHY}.")), 1, "{page}");
        let csv = records(&results).csv();
        assert_eq!(times(&csv, WHY), n, "{csv}");
        // What is written can be read; what is not disturbed says nothing of it.
        let written = write(&results).unwrap();
        assert_eq!(times(&written, "\"stolen_ns\": 9000000000"), 1);
        assert_eq!(read(&written).unwrap(), results);
        let found = check(&[("x".to_string(), written)], &Known::default()).findings;
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(told.contains(&format!("x: warning: invalid: {name}: {WHY}")), "{told:?}");
        assert!(found.iter().all(|finding| !finding.kind.is_fault()), "{told:?}");
    }
}

#[test]
fn nothing_is_compared_with_it() {
    for (file, part, name) in PARTS {
        let one = read(file).unwrap();
        let mut other = one.clone();
        *part(&mut other) = stolen();
        let text = compared(&[one], &[other]).text;
        let left_out = format!("invalid: {name}: {WHY}\n");
        assert_eq!(times(&text, &left_out), 1, "{text}");
    }
    let mut results = read(tests::STORED).unwrap();
    let figures = |results: &Results| {
        let [a, b] = ["linux kernel", "wirespeed router"];
        turns(results, [a, b]).len()
    };
    let (all, text) = (figures(&results), document(&results).text());
    assert!(all > 0 && text.contains("simple IMIX"));
    for row in results.rows.iter_mut().filter(|row| row.setting.packet == 1500) {
        row.validity = stolen();
    }
    assert!(figures(&results) < all);
    assert!(!document(&results).text().contains("simple IMIX"), "without 1500 bytes there is none");
    assert!(!document(&results).page().contains("simple IMIX"));
}
