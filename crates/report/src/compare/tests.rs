//! Runs against each other: what is said of them, and what is not.

use super::{Compared, compare};
use crate::file::File;
use crate::suite::streams;
use measure::suite_result::{Cell, SuiteResults};
use measure::{Limit, iperf3 as method};

// Of performance tables.
mod bench;

/// Suites against each other.
pub(crate) fn suites(base: &[SuiteResults], device: &[SuiteResults]) -> Compared {
    let files = |side: &[SuiteResults]| side.iter().cloned().map(File::Suite).collect::<Vec<_>>();
    compare(&files(base), &files(device))
}

/// The same of the iperf3 method.
pub(crate) fn iperf3(base: &[method::Results], device: &[method::Results]) -> Compared {
    let files =
        |side: &[method::Results]| side.iter().cloned().map(File::Iperf3).collect::<Vec<_>>();
    compare(&files(base), &files(device))
}

const STORED: &str = include_str!("../../data/test-2.json");
const IPERF3: &str = include_str!("../../data/iperf3-1.json");

/// Runs of one device, each of a moment and a seed of its own.
fn runs(rates: &[f64]) -> Vec<SuiteResults> {
    let stored = crate::suite::read(STORED).unwrap();
    let with = |rate: &f64| {
        let mut results = stored.clone();
        results.cells.truncate(2);
        results.cells[0].figures[0].value = Some(*rate);
        results.environment.seed = *rate as u64;
        results
    };
    rates.iter().map(with).collect()
}

const BASE: [f64; 6] = [1000.0, 1010.0, 1020.0, 1030.0, 1040.0, 1050.0];
const HIGHER: [f64; 6] = [1100.0, 1110.0, 1120.0, 1130.0, 1140.0, 1150.0];

#[test]
fn suites_figure_by_figure() {
    let (base, more) = (runs(&BASE), runs(&HIGHER));
    let text = suites(&base, &more).text;
    for line in [
        "A little of everything, throughput: throughput[rfc2544 0.02s 0 loss]",
        "  configuration  byte                         base                     compared  ratio  runs  verdict",
        "  none             64  1,025 fps (1,000 fps..1,050 fps)  1,125 fps (1,100 fps..1,150 fps)  1.098   6:6  higher (p 0.017)",
        "p: of 8 comparisons together (Benjamini and Hochberg): of the verdicts at most one in twenty is to be wrong by chance",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.lines().any(|found| squeezed(found) == squeezed(line)), "{line}\n{text}");
    }
    assert!(suites(&more, &base).text.contains("lower (p 0.017)"));
    // Equal latencies are no verdict, and nobody is alone.
    assert!(text.contains("unclear") && !text.contains("only "), "{text}");
    // Four of each are a verdict for one figure, and none for one of eight.
    let few = suites(&base[..4], &more[..4]).text;
    assert!(few.contains("unclear (p 0.029 alone)") && !few.contains("higher"), "{few}");
}

/// A stream that became slower is seen, whatever the others did.
#[test]
fn each_stream_by_itself() {
    let base = crate::suite::read(include_str!("../../data/test-2-delays.json")).unwrap();
    let mut slower = base.clone();
    slower.environment.seed += 1;
    let of_streams = |cell: &&mut Cell| cell.trials.iter().any(|t| !t.streams.is_empty());
    let cell = slower.cells.iter_mut().find(of_streams).unwrap();
    let streams = cell.trials.iter_mut().flat_map(|trial| &mut trial.streams);
    let name = base.cells.iter().find_map(streams::shown).unwrap().streams[0].name.clone();
    for stream in streams.filter(|stream| stream.name == name) {
        stream.latency.as_mut().unwrap().p50_ns *= 3;
    }
    let text = suites(&[base], &[slower]).text;
    let (_, table) = text.split_once(&format!("streams: {name}, latency p50\n")).expect(&text);
    let row = table.lines().nth(1).unwrap();
    assert!(row.contains("  3.000  "), "{row}\n{text}");
    assert!(text.contains(&format!("streams: {name}, lost\n")), "{text}");
}

/// One run in several files is one; it must not be what makes a verdict.
#[test]
fn copies_count_once() {
    let (base, more) = (runs(&BASE), runs(&HIGHER));
    let mut copies = vec![more[0].clone(); 4];
    for case in ["same files", "another seed, same numbers", "same moment, other numbers"] {
        match case {
            "another seed, same numbers" => copies[1].environment.seed = 99,
            "same moment, other numbers" => copies[2].cells[0].figures[0].value = Some(7.0),
            _ => {}
        }
        let text = suites(&base[..4], &copies).text;
        let once = "counted once: the 4 files of what is compared are of 1 run: ";
        assert!(text.contains(once) && text.contains(" 4:1 "), "{case}\n{text}");
        assert!(!text.contains("higher") && !text.contains("lower"), "{case}\n{text}");
    }
    // What is simulated of one plan and seed is one run, at whatever hour; of two builds it is two.
    let mut later = more[0].clone();
    later.environment.timestamp = "2030-01-01T00:00:00Z".to_string();
    later.cells[0].figures[0].value = Some(1.0);
    let text = suites(&base, &[more[0].clone(), later.clone()]).text;
    assert!(text.contains("are of 1 run: "), "{text}");
    later.environment.commit = "another".to_string();
    assert!(!suites(&base, &[more[0].clone(), later]).text.contains("counted once"));
    let text = suites(&base, &base[..2]).text;
    assert!(text.contains("on both sides: 2 of the runs compared"), "{text}");
    let one = crate::json::read::<measure::iperf3::Results>(IPERF3).unwrap();
    let text = iperf3(&[one.clone(), one.clone()], std::slice::from_ref(&one)).text;
    assert!(text.contains("the 2 files of the base are of 1 run: "), "{text}");
}

/// What was measured under other conditions has no verdict, and why is said.
#[test]
fn other_conditions() {
    type Change = fn(&mut SuiteResults);
    let cases: [(Change, &str, bool); 12] = [
        (|run| run.traffic = "IPv6".into(), "no verdicts: different traffic: UDP port 7", false),
        (|run| run.senders = 1, "different numbers of sending ports: 2 | 1", false),
        (|run| run.wire_mbps = 7.0, "different wires: 100 Mbit/s | 7 Mbit/s", false),
        (|run| run.virtual_time = false, "different clocks: virtual time | real time", false),
        (
            |run| run.plan = run.plan.replace("bidirectional = true", "bidirectional = false"),
            "different plans: traffic.bidirectional = true | traffic.bidirectional = false",
            false,
        ),
        // Cells that only one has make no others of those that both have.
        (
            |run| run.plan = run.plan.replace("frame-sizes = [64]", "frame-sizes = [64, 128]"),
            "",
            true,
        ),
        (
            |run| run.plan = run.plan.replace("trial = \"50ms\"", "trial = \"90ms\""),
            "no verdicts on throughput: different plans: throughput.trial = \"50ms\" | \
             throughput.trial = \"90ms\"",
            false,
        ),
        (
            |run| run.plan = run.plan.replace("tagged = 50", "tagged = 5"),
            "no verdicts on latency: different plans: latency.tagged = 50 | latency.tagged = 5",
            true,
        ),
        (
            |run| run.configurations[0].script += "/ip settings set rp-filter=strict\n",
            "no verdicts on none: different device scripts of wirespeed router",
            false,
        ),
        (
            |run| run.latency_definition = "bit forwarding".into(),
            "no verdicts on latency: different definitions: store-and-forward",
            true,
        ),
        (
            |run| run.plan = format!("# mine\n{}", run.plan.replace("rfc2544.rsc", "mine.rsc")),
            "",
            true,
        ),
        (
            |run| run.environment.machine = vec!["governor = powersave".into()],
            "different governor: performance | powersave",
            true,
        ),
    ];
    for (change, expected, has_verdict) in cases {
        let (mut base, mut more) = (runs(&BASE), runs(&HIGHER));
        base.iter_mut()
            .for_each(|run| run.environment.machine = vec!["governor = performance".into()]);
        more.iter_mut().for_each(change);
        let text = suites(&base, &more).text;
        assert!(text.contains(expected), "{expected}\n{text}");
        assert_eq!(text.contains("higher (p "), has_verdict, "{expected}\n{text}");
        let is_told = text.contains("not comparable, no verdicts");
        assert_eq!(is_told, !has_verdict || expected.contains("latency"), "{expected}\n{text}");
    }
    let mut others = vec![crate::json::read::<measure::iperf3::Results>(IPERF3).unwrap(); 2];
    others[1].plan = others[1].plan.replace("packets = [128, 1500]", "packets = [128]");
    others[1].rows[0].l3_mbps += 1.0;
    others[1].environment.seed = 9;
    let text = iperf3(&others[..1], &others[1..]).text;
    assert!(!text.contains("different plans"), "{text}");
    others[1].plan = others[1].plan.replace("warm-up = \"1s\"", "warm-up = \"2s\"");
    let text = iperf3(&others[..1], &others[1..]).text;
    assert!(text.contains("different plans: warm-up = \"1s\" | warm-up = \"2s\""), "{text}");
}

/// A size that only one plan has is named, and the others are compared.
#[test]
fn one_more_frame_size() {
    let (base, mut more) = (runs(&BASE), runs(&HIGHER));
    for run in &mut more {
        run.plan = run.plan.replace("frame-sizes = [64]", "frame-sizes = [64, 128]");
        let mut cell = run.cells[0].clone();
        cell.frame_size = 128;
        run.cells.push(cell);
    }
    let text = suites(&base, &more).text;
    assert!(text.contains("higher (p ") && !text.contains("not comparable"), "{text}");
    let only = "only what is compared has: A little of everything, throughput: ";
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(only)).collect();
    assert!(
        !lines.is_empty() && lines.iter().all(|line| line.ends_with("none, 128 byte")),
        "{text}"
    );
}

#[test]
fn what_the_tester_limited() {
    let (base, mut more) = (runs(&BASE), runs(&HIGHER));
    assert!(!suites(&base, &more).text.contains("tester-limited"));
    more.iter_mut().for_each(|run| run.cells[0].limited_by = Some(Limit::Tester));
    let text = suites(&base, &more).text;
    assert!(text.contains("1,125 fps t (1,100 fps..1,150 fps)"), "{text}");
    assert!(text.contains("tester-limited (t): 0 and 6 rates; "), "{text}");
}

#[test]
fn one_run_of_each_says_nothing() {
    let (one, mut other) = (runs(&[1000.0]), runs(&[2000.0]));
    other[0].cells[1].figures[0].name = "another".to_string();
    other[0].device = "B".to_string();
    other[0].environment.cpu = "B".to_string();
    other[0].complete = false;
    let text = suites(&one, &other).text;
    for part in [
        "2.000   1:1  unclear",
        " of 3)",
        "unclear: fewer than four runs",
        "only the base has: A little of everything, latency: load: none, 64 byte",
        "only what is compared has: A little of everything, latency: another: none, 64 byte",
        "different ways to measure: ",
        "incomplete: a run of A little of everything: it is not known why",
        "different processors: ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    other[0].name = "another plan".to_string();
    assert!(suites(&one, &other).text.starts_with("nothing to compare: "));
}

#[test]
fn iperf3_rows() {
    let one = crate::json::read::<measure::iperf3::Results>(IPERF3).unwrap();
    let mut other = one.clone();
    for row in &mut other.rows {
        row.l3_mbps *= 2.0;
    }
    let text = iperf3(std::slice::from_ref(&one), &[other]).text;
    assert!(text.contains("2.000") && text.contains(": L3\n") && !text.contains("only "), "{text}");
    let rows = text.lines().filter(|line| line.contains("unclear") && line.contains("2.000"));
    let mut settings: Vec<_> = one.rows.iter().map(|row| format!("{:?}", row.setting)).collect();
    settings.sort();
    settings.dedup();
    assert_eq!(rows.count(), settings.len());
}
