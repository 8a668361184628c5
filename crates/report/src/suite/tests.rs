//! A stored run of the first version: read, written again, drawn.

use super::*;
use crate::json::write;

const STORED: &str = include_str!("../../data/test-1.json");

#[test]
fn the_stored_file_is_read_and_written_again() {
    let results = read(STORED).unwrap();
    assert!(results.complete && results.virtual_time);
    assert_eq!(results.faults(), [""; 0]);
    assert_eq!(results.schema, "wirespeed-test/2", "what is read is of this version");
    let text = write(&results).unwrap();
    assert_eq!(read(&text).unwrap(), results);
    // Histograms were pairs, each number on a line of its own.
    assert!(results.cells.iter().any(|cell| cell.histogram.len() > 5));
    assert!(text.len() * 2 < STORED.len(), "{} of {}", text.len(), STORED.len());
}

/// A small plan in virtual time, of the version that is written now: once read and written again it
/// is the same text.
#[test]
fn the_stored_file_of_this_version() {
    let text = include_str!("../../data/test-2.json");
    assert!(text.contains(&format!("\"schema\": \"{SCHEMA}\"")));
    let results = read(text).unwrap();
    assert!(results.complete && results.virtual_time);
    assert_eq!((results.name.as_str(), results.cells.len()), ("A little of everything", 12));
    assert_eq!(results.faults(), [""; 0]);
    assert_eq!(write(&results).unwrap().trim_end(), text.trim_end());
}

#[test]
fn refused() {
    let other = STORED.replacen("wirespeed-test/1", "wirespeed-test/9", 1);
    assert_eq!(read(&other), Err(ReadError::OtherSchema("wirespeed-test/9".to_string())));
    let damaged = STORED.replacen("\"frame_size\"", "\"frame\"", 1);
    assert!(matches!(read(&damaged), Err(ReadError::Malformed { .. })));
    let mut results = read(STORED).unwrap();
    results.cells[0].figures[0].value = Some(f64::NAN);
    assert!(write(&results).unwrap_err().contains("is not a number"));
}

#[test]
fn what_cannot_be_is_found() {
    let mut results = read(STORED).unwrap();
    results.cells[0].figures[0].value = Some(1e12);
    results.cells[1].trials[0].received = u64::MAX;
    let faults = results.faults().join("\n");
    assert!(faults.contains("is above the wire's"), "{faults}");
    assert!(faults.contains("received of"), "{faults}");
}

/// Text and page say every figure, and what must not be overlooked.
#[test]
fn tables_and_page() {
    let mut results = read(STORED).unwrap();
    let (text, page) = (document(&results).text(), document(&results).page());
    for cell in &results.cells {
        for one in cell.figures.iter().filter(|one| one.value.is_some()) {
            assert!(text.contains(&figure(one)), "{} {}", one.name, figure(one));
            assert!(page.contains(&figure(one)), "{} {}", one.name, figure(one));
        }
    }
    assert!(
        text.contains("SHORTENED") && page.contains("Shortened.") && page.contains("Virtual time.")
    );
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    for forbidden in ["http://", "https://", "<script", "NaN", "inf "] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(!text.contains(CYCLES) && !page.contains(DROPPED), "an older router said nothing");
    let cell = &mut results.cells[0];
    cell.cycles = [("ethernet".to_string(), 12.34), ("firewall".to_string(), 100.0)].into();
    cell.dropped = [("rx-ring-full".to_string(), 4711)].into();
    let (text, page) = (document(&results).text(), document(&results).page());
    for inside in [CYCLES, DROPPED, "12.3", "112.3", "rx-ring-full 4711"] {
        assert!(text.contains(inside) && page.contains(inside), "{inside}");
    }
    assert!(!text.contains("\nlossy: "), "none lost any");
    results.self_tests[0].lossy = true;
    let text = document(&results).text();
    assert!(text.contains(" fps lossy") && text.contains("\nlossy: of what it sent"), "{text}");
    results.complete = false;
    results.incomplete_because = Some("<interrupted>".to_string());
    assert!(document(&results).text().contains("INCOMPLETE: <interrupted>"));
    assert!(document(&results).page().contains("&lt;interrupted&gt;"));
    results.cells.clear();
    results.self_tests.clear();
    assert!(document(&results).text().ends_with('\n') && !document(&results).page().is_empty());
}

/// What each RFC wants drawn, each drawing with words for who does not see it; and a trial over time.
#[test]
fn graphs_of_a_page() {
    let mut results = read(include_str!("../../data/test-2.json")).unwrap();
    let course = measure::series::Series {
        interval_ns: 1_000_000,
        sent: vec![10; 40],
        received: [vec![10; 20], vec![0; 10], vec![10; 10]].concat(),
        latency_max_ns: vec![5_000; 40],
        ..Default::default()
    };
    for cell in &mut results.cells {
        if let Some(trial) = cell.trials.last_mut() {
            trial.duration = 0.04;
            trial.series = Some(course.clone());
        }
    }
    let page = document(&results).page();
    for title in
        ["<h2>Summary</h2>", "Frame rate by frame size", "Frame loss rate by load", "Over time"]
    {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.contains("the wires (theoretical)") && page.contains("40 intervals of 1.00 ms."));
    let drawings = page.matches("<svg").count();
    assert!(drawings > 4 && page.matches("<desc>").count() == drawings, "{drawings}");
    assert_eq!(page.matches("<figure>").count(), page.matches("</figure>").count());
    for forbidden in ["NaN", "inf ", "<desc></desc>", "<title></title>"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn units() {
    let shown = |value: f64, unit: &str| figure(&Figure::of("x", Some(value), unit));
    for (value, unit, expected) in [
        (1_488_095.2, "fps", "1,488,095 fps"),
        (950.0, "ns", "950 ns"),
        (12_345.0, "ns", "12.3 µs"),
        (12_345_678.0, "ns", "12.35 ms"),
        (9_504.0, "ns", "9.50 µs"),
        (1.563e9, "ns", "1.56 s"),
        (5e10, "ns", "50.00 s"),
        (0.5, "%", "0.5%"),
        (0.0, "%", "0%"),
        (100.0, "%", "100%"),
        (4e-5, "%", "<0.001%"),
        (17.9794, "%", "17.979%"),
        (1.0, "TCP", "1"),
        (4.2941, "ratio", "4.294"),
        (8000.0, "/s", "8,000/s"),
        (12.5, "frames", "12.5 frames"),
        (0.01, "fps", "0.01 fps"),
        (-0.051_23, "frames", "-0.051 frames"),
    ] {
        assert_eq!(shown(value, unit), expected);
    }
    assert_eq!(figure(&Figure::of("x", None, "ns")), "-");
}

/// Bits a second say of which layer they are, whatever the file has; of both versions the same.
#[test]
fn bits_have_a_layer() {
    for (stored, name, expected) in [
        (include_str!("../../data/test-2-tcp.json"), "goodput, both ways", "Mbps(TCP payload)"),
        (include_str!("../../data/test-2-path.json"), "TCP throughput", "Mbps(TCP payload)"),
        (include_str!("../../data/test-2-path.json"), "bottleneck bandwidth (L2)", "Mbps(L2)"),
    ] {
        let old = read(stored).unwrap();
        let mut new = old.clone();
        let figures = new.cells.iter_mut().flat_map(|cell| &mut cell.figures);
        figures.for_each(|figure| figure.unit = figure.unit().to_string());
        for results in [&old, &new] {
            let all = || results.cells.iter().flat_map(|cell| &cell.figures);
            let one = all().find(|figure| figure.name.starts_with(name)).unwrap();
            let shown = figure(one);
            assert!(shown.ends_with(expected), "{name}: {shown}");
            let written =
                [document(results).text(), document(results).page(), document(results).markdown()];
            assert!(written.iter().all(|text| text.contains(&shown)), "{shown}");
            assert!(crate::export::suite(results).csv().contains(&format!(",{expected},")));
        }
        let [mut one, mut other] = [old, new];
        (one.environment.seed, other.environment.seed) = (1, 2);
        let text = crate::compare::tests::suites(&[one], &[other]).text;
        assert!(!text.contains("only "), "{text}");
    }
}
