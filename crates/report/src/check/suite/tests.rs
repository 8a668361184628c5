//! Our own suites: a sound one has no findings, and each thing that cannot be has one.

use super::super::{Known, check};
use measure::suite_result::{AloneTried, Cell, Figure, TesterAlone};

const STORED: &str = include_str!("../../../data/test-1.json");
const STORED_2: &str = include_str!("../../../data/test-2.json");

#[test]
fn suites() {
    let found = |change: &dyn Fn(&mut measure::SuiteResults)| {
        let mut results = crate::suite::read(STORED).unwrap();
        change(&mut results);
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        findings.iter().map(|finding| finding.to_string() + "\n").collect::<String>()
    };
    assert_eq!(found(&|_| {}), "");
    let cell = |r: &measure::SuiteResults, procedure: &str| {
        r.cells.iter().position(|c: &Cell| c.procedure == procedure).unwrap()
    };
    let with_points =
        |r: &measure::SuiteResults| r.cells.iter().position(|c| !c.points.is_empty()).unwrap();
    type Change<'a> = &'a dyn Fn(&mut measure::SuiteResults);
    let cases: [(Change<'_>, &str); 20] = [
        (&|r| r.cells[0].figures[0].value = Some(1e12), "impossible: none, 64 byte, throughput"),
        (
            &|r| r.cells[0].trials[0].wrong_size = 3,
            "impossible: none, 64 byte, throughput: 3 of 0 damaged in another length",
        ),
        (
            &|r| r.cells[0].trials[0].tester_rx_drop = 3,
            "throughput: pass of a trial whose tester lost 3 frames",
        ),
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
        (&|r| r.self_tests[0].rate = 9e9, "9000000000 fps, more than the wire's 14881"),
        (
            &|r| {
                r.virtual_time = false;
                r.medium = "2 cores, real time, memory wires".to_string();
                r.self_tests[0].rate = 9e9;
            },
            "a frame in less than a nanosecond",
        ),
        (
            &|r| {
                let at = cell(r, "latency");
                r.cells[at].histogram[0].1 += 7;
            },
            "the histogram has 20979 latencies, and its trials 20972",
        ),
        (
            &|r| {
                let trial = &mut r.cells[0].trials[0];
                (trial.intended, trial.sent, trial.received) = (1994, 1994, 1994);
                trial.latency.as_mut().unwrap().count = 1994;
            },
            "from each of 2 ports are 992 frames, and 1994 were sent",
        ),
        (&|r| r.cells[0].trials[0].latency.as_mut().unwrap().count = 3, "latencies of 3 frames"),
        (
            &|r| {
                let trial = &mut r.cells[0].trials[0];
                (trial.sent, trial.received) = (993, 993);
                trial.latency.as_mut().unwrap().count = 993;
            },
            "993 sent of 994, in a trial that is valid",
        ),
        (&|r| r.cells[0].figures[0].value = Some(1000.0), "no trial passed at 1000 fps"),
        (
            &|r| {
                let best = r.cells[0].figures[0].value.unwrap();
                let full = r.cells[0].trials.iter().map(|t| t.duration).fold(0.0, f64::max);
                let mut trial = r.cells[0].trials[0].clone();
                (trial.duration, trial.load) = (full, best / 2.0);
                let sent = (best * full) as u64;
                (trial.intended, trial.sent, trial.received) = (sent, sent, sent);
                trial.latency = None;
                r.cells[0].trials.push(trial);
                r.cells[0].figures[0].value = Some(best / 2.0);
            },
            "a trial of the same length lost nothing at 13697",
        ),
        (
            &|r| {
                let at = cell(r, "latency");
                r.cells[at].figures[0].value = Some(5.0);
            },
            "measured at 5 fps, and the throughput is 13697",
        ),
        (
            &|r| {
                let at = cell(r, "frame-loss");
                let point = r.cells[at].points.last_mut().unwrap();
                point.lost = 5;
                point.loss_percent = 500.0 / point.sent as f64;
            },
            "warning: none, 64 byte, frame-loss: 5 of 4762 frames are lost at 11905 fps, and the",
        ),
        (
            &|r| {
                let at = cell(r, "recovery");
                for trial in &mut r.cells[at].trials {
                    (trial.received, trial.outcome) = (trial.sent, "pass".to_string());
                }
            },
            "warning: none, 64 byte, recovery: all 6452 frames came back of an overload of 14881 fps",
        ),
    ];
    for (change, expected) in cases {
        let found = found(change);
        assert!(found.contains(expected), "{expected} in {found}");
    }
}

/// A tester's rate, loss and latency floor are those of what it did, where the file has that.
#[test]
fn a_tester_that_did_something_else() {
    let found = |change: fn(&mut TesterAlone, &mut AloneTried)| {
        let mut results = crate::suite::read(STORED_2).unwrap();
        let alone = &mut results.self_tests[0];
        // 1000 frames by each of two ports in a tenth of a second.
        (alone.rate, alone.latency_floor_ns, alone.lossy) = (10_000.0, 700, false);
        let mut tried = AloneTried {
            ports: 2,
            sent: 2000,
            received: 2000,
            took_ns: 100_000_000,
            latency_min_ns: Some(800),
        };
        change(alone, &mut tried);
        alone.tried = Some(tried);
        let text = crate::suite::write(&results).unwrap();
        assert_eq!(crate::suite::read(&text).unwrap(), results);
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        let all = findings.iter().map(ToString::to_string);
        all.filter(|told| told.contains("inconsistent: the tester alone")).collect::<String>()
    };
    type Change = fn(&mut TesterAlone, &mut AloneTried);
    let cases: [(Change, &str); 5] = [
        (|_, _| {}, ""),
        (|alone, _| alone.rate = 10_100.0, "10100 fps from each port, and 2000 frames by 2 in"),
        (|_, tried| tried.sent = 2001, "it lost none, and 2000 came of 2001"),
        (|alone, _| alone.lossy = true, "it lost frames, and 2000 came of 2000"),
        (|alone, _| alone.latency_floor_ns = 900, "no latency below 900 ns, and one of 800 ns"),
    ];
    for (change, expected) in cases {
        let told = found(change);
        assert_eq!(told.is_empty(), expected.is_empty(), "{expected}: {told}");
        assert!(told.contains(expected), "{expected} in {told}");
    }
}

/// A load that passed and failed, when it was asked again, is above the throughput and no fault.
#[test]
fn a_load_that_failed_when_asked_again() {
    let found = |outcomes: &[&str]| {
        let mut results = crate::suite::read(STORED).unwrap();
        let cell = &mut results.cells[0];
        let best = cell.figures[0].value.unwrap();
        let full = cell.trials.iter().map(|trial| trial.duration).fold(0.0, f64::max);
        let load = best * 1.01;
        for outcome in outcomes {
            let mut trial = cell.trials[0].clone();
            let sent = (load * full * 2.0) as u64;
            (trial.duration, trial.load, trial.latency) = (full, load, None);
            (trial.intended, trial.sent, trial.outcome) = (sent, sent, outcome.to_string());
            trial.received = if *outcome == "pass" { sent } else { sent - 1 };
            cell.trials.push(trial);
        }
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        findings.iter().map(|finding| finding.to_string() + "\n").collect::<String>()
    };
    assert!(found(&["pass"]).contains("a trial of the same length lost nothing at"));
    assert_eq!(found(&["pass", "fail"]), "");
}

/// What the tester alone says of itself, and forwarding of throughput.
#[test]
fn floors_headroom_and_forwarding() {
    type Change = fn(&mut measure::SuiteResults);
    let establishment: Change = |r| {
        r.virtual_time = false;
        let cell = &mut r.cells[0];
        cell.procedure = "establishment".to_string();
        cell.limited_by = Some(measure::result::Limit::Device);
        (cell.figures[0].value, cell.figures[0].unit) = (Some(1000.0), "/s".to_string());
        r.self_tests[0].rate = 1150.0;
    };
    let forwarding = |r: &mut measure::SuiteResults, share: f64| {
        let all = r.cells[0].figures[0].value.unwrap() * f64::from(r.senders);
        let mut cell = Cell { procedure: "forwarding".to_string(), ..r.cells[0].clone() };
        let name = "MFR[rfc2889 30s, the sending ports]";
        cell.figures = vec![Figure::of(name, Some(all * share), "fps in all")];
        r.cells.push(cell);
    };
    type Closure<'a> = &'a dyn Fn(&mut measure::SuiteResults);
    let cases: [(Closure<'_>, &str, bool); 7] = [
        (
            &|r| r.self_tests.clear(),
            "are said to be the device's limit, and no self-test shows what the tester alone does",
            true,
        ),
        (&establishment, "1000 /s are said to be the device's limit", true),
        (
            &|r| {
                establishment(r);
                r.self_tests[0].rate = 1200.0;
            },
            "said to be the device's limit",
            false,
        ),
        (
            &|r| {
                r.virtual_time = false;
                r.self_tests.iter_mut().for_each(|alone| alone.latency_floor_ns = u64::MAX);
            },
            "that is no floor",
            true,
        ),
        (
            &|r| {
                r.virtual_time = false;
                r.self_tests.iter_mut().for_each(|alone| alone.latency_floor_ns = 1);
            },
            "that is no floor",
            false,
        ),
        (&|r| forwarding(r, 0.9), "warning: none, 64 byte, forwarding: an MFR of ", true),
        (&|r| forwarding(r, 0.92), "an MFR of ", false),
    ];
    for (change, expected, is_there) in cases {
        let mut results = crate::suite::read(STORED).unwrap();
        change(&mut results);
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        let found: String = findings.iter().map(|finding| finding.to_string() + "\n").collect();
        assert_eq!(found.contains(expected), is_there, "{expected}: {found}");
    }
}

/// Numbers below zero: of five equal ones the mean is none of them but for its last bit.
#[test]
fn spreads_below_zero() {
    let found = |mean: f64| {
        let mut results = crate::suite::read(STORED).unwrap();
        let figures = results.cells.iter_mut().flat_map(|cell| &mut cell.figures);
        let figure =
            figures.into_iter().find(|figure| figure.name.starts_with("IPDV min")).unwrap();
        figure.value = Some(mean);
        let spread = figure.spread.as_mut().unwrap();
        (spread.min, spread.max, spread.median, spread.mean) = (-141.0, -141.0, -141.0, mean);
        (spread.p1, spread.p99, spread.stddev) = (-141.0, -141.0, 0.0);
        let text = crate::suite::write(&results).unwrap();
        check(&[("a.json".to_string(), text)], &Known::default()).findings.len()
    };
    assert_eq!((found(-141.0), found(-141.000_000_000_000_03)), (0, 0));
    assert_eq!((found(-141.1), found(141.0)), (1, 1));
}

/// What a small plan gave in virtual time: bursts and frame loss contradict each other only if
/// someone changes one.
#[test]
fn bursts_and_losses() {
    let found = |change: &dyn Fn(&mut measure::SuiteResults)| {
        let mut results = crate::suite::read(STORED_2).unwrap();
        change(&mut results);
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        findings.iter().map(|finding| finding.to_string() + "\n").collect::<String>()
    };
    assert_eq!(found(&|_| {}), "");
    let bursts = |frames: f64, r: &mut measure::SuiteResults| {
        let cell = r.cells.iter_mut().find(|cell| cell.procedure == "back-to-back").unwrap();
        cell.figures[0].value = Some(frames);
    };
    let longer = found(&|r| bursts(5000.0, r));
    assert!(longer.contains("bursts of 5000 frames are forwarded whole, and of 2977 at the same"));
    let none = found(&|r| {
        bursts(88.0, r);
        let cell = r.cells.iter_mut().find(|cell| cell.procedure == "frame-loss").unwrap();
        (cell.points[0].lost, cell.points[0].loss_percent) = (0, 0.0);
    });
    assert!(
        none.contains("bursts of more than 88 frames are lost, and of 2977 at the same"),
        "{none}"
    );
    assert!(none.contains("nothing is lost at 148810 fps, and the throughput is 51832"), "{none}");
}

/// A committed run, altered in one place: each is told.
#[test]
fn altered_copies() {
    type Change = fn(&mut measure::SuiteResults);
    fn cell<'a>(r: &'a mut measure::SuiteResults, procedure: &str) -> &'a mut Cell {
        let is_it = |cell: &&mut Cell| cell.procedure == procedure && cell.frame_size == 64;
        r.cells.iter_mut().find(is_it).unwrap()
    }
    fn figure<'a>(r: &'a mut measure::SuiteResults, procedure: &str, start: &str) -> &'a mut f64 {
        let mut figures = cell(r, procedure).figures.iter_mut();
        let figure = figures.find(|figure| figure.name.starts_with(start)).unwrap();
        figure.value.as_mut().unwrap()
    }
    const RUN: &str = include_str!("../../../../../results/2026-11-23-rfc2544-virtual.json");
    let cases: [(Change, &str); 29] = [
        (|_| {}, ""),
        (
            // At which load it was to be stays.
            |r| {
                let cell = cell(r, "recovery");
                for trial in &mut cell.trials {
                    trial.outcome = "invalid: the tester had no time left".into();
                }
                (cell.figures[0].value, cell.figures[0].spread) = (None, None);
            },
            "",
        ),
        (
            |r| cell(r, "throughput").figures[0].name = "throughput[rfc2544 60s 0 loss]".into(),
            "throughput[rfc2544 60s 0 loss]: no trial took so long; the longest took 0.2 s",
        ),
        (
            |r| cell(r, "latency").figures[1].name = "latency[rfc2544 120s 20x]".into(),
            "latency[rfc2544 120s 20x]: no trial took so long",
        ),
        (
            |r| {
                cell(r, "back-to-back").figures[0].name = "back-to-back[rfc9004 50x, step 1]".into()
            },
            "back-to-back[rfc9004 50x, step 1]: of 2 repetitions, in ",
        ),
        (
            |r| cell(r, "latency").figures[1].name = "latency[rfc2544 0.4s 20x]".into(),
            "latency[rfc2544 0.4s 20x]: of 2 repetitions, in 2 trials",
        ),
        (|r| *figure(r, "frame-loss", "loss at 100%") = 1.0, "loss at 100% of the wire: 1 %, and"),
        (
            |r| *figure(r, "frame-loss", "highest load") = 90.0,
            "highest load without loss: 90 %, and",
        ),
        (
            |r| {
                let point = &mut cell(r, "frame-loss").points[0];
                point.lost /= 2;
                point.loss_percent = point.lost as f64 / point.sent as f64 * 100.0;
            },
            "at 100 %, no trial lost ",
        ),
        (|r| *figure(r, "latency", "latency[") *= 1.01, "is neither the mean "),
        (|r| *figure(r, "latency", "all frames p50") *= 0.5, "all frames p50: "),
        (|r| *figure(r, "latency", "all frames p99") *= 1.01, "all frames p99: "),
        (
            |r| {
                let figure = &mut cell(r, "latency").figures[1];
                let spread = figure.spread.as_mut().unwrap();
                (spread.mean, spread.median, spread.min, spread.max) = (7.0, 7.0, 7.0, 7.0);
                figure.value = Some(7.0);
            },
            ": 7 ns, and its trials' latencies are ",
        ),
        (|r| *figure(r, "back-to-back", "back-to-back") *= 2.0, "is neither the mean "),
        (|r| *figure(r, "back-to-back", "implied") *= 1.01, "implied buffer time: "),
        (|r| *figure(r, "back-to-back", "corrected") *= 1.01, "corrected buffer time: "),
        (
            |r| cell(r, "back-to-back").figures[0].spread.as_mut().unwrap().max += 5.0,
            "frames passed",
        ),
        (|r| *figure(r, "recovery", "recovery[") += 1000.0, "is neither the mean "),
        (
            |r| cell(r, "recovery").trials.iter_mut().for_each(|trial| trial.time_ns = Some(5)),
            "no trial recovered in ",
        ),
        (|r| *figure(r, "recovery", "overload") *= 1.2, "an overload of "),
        (
            |r| *cell(r, "throughput").dropped.values_mut().next().unwrap() *= 2,
            "were dropped, and its trials lost ",
        ),
        (
            // Frames that teach are dropped, and none of its trials'.
            |r| {
                let mut learning = cell(r, "throughput").clone();
                learning.procedure = "address-learning".into();
                (learning.figures, learning.limited_by) = (vec![], None);
                *learning.dropped.values_mut().next().unwrap() *= 2;
                r.cells.push(learning);
            },
            "",
        ),
        (
            // What came too late is dropped by nobody.
            |r| {
                let cell = cell(r, "throughput");
                cell.dropped.values_mut().for_each(|n| *n -= 1);
                cell.too_late = 1;
            },
            "",
        ),
        (
            |r| cell(r, "throughput").dropped.clear(),
            "the device says that 0 frames were dropped, and its trials lost ",
        ),
        (
            |r| {
                let (cell, wire) = (cell(r, "throughput"), Some(measure::result::Limit::Wire));
                (cell.limited_by, cell.figures[0].limited_by) = (wire, wire);
            },
            "the wire is said to be the limit, and it is ",
        ),
        (
            |r| cell(r, "throughput").figures[0].limited_by = Some(measure::result::Limit::Plan),
            ": limited by plan, and its cell by ",
        ),
        (
            |r| {
                let cell = cell(r, "throughput");
                let name = "throughput[csit-pdr]".to_string();
                let limited_by = Some(measure::result::Limit::Wire);
                let second = cell.figures[0].clone();
                cell.figures.push(Figure { name, limited_by, ..second });
            },
            "throughput[csit-pdr]: the wire is said to be the limit",
        ),
        (
            |r| {
                let again = cell(r, "latency").clone();
                r.cells.push(again);
            },
            "latency: it is there twice",
        ),
        (|r| cell(r, "throughput").trials.clear(), "it has figures, and no trials"),
    ];
    for (change, expected) in cases {
        let mut results = crate::suite::read(RUN).unwrap();
        change(&mut results);
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        let faults = findings.iter().filter(|finding| finding.kind.is_fault());
        let found = faults.map(|finding| finding.to_string() + "\n").collect::<String>();
        assert!(found.contains(expected), "{expected}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{expected}: {found}");
    }
}

/// Names of figures, their units, and what else is not ours: it is told what is not looked at.
#[test]
fn names_of_others() {
    type Change = fn(&mut Cell);
    let cases: [(Change, &str); 6] = [
        (|_| {}, ""),
        (|cell| cell.figures[0].name = "NDR".into(), "the figure `NDR` is unknown"),
        (
            |cell| cell.figures[0].name = "throughput[mikrotik 10s 0.01 % loss]".into(),
            "the figure `throughput[mikrotik 10s 0.01 % loss]` is unknown",
        ),
        (
            |cell| cell.figures[0].unit = "ns".into(),
            "the unit of throughput[rfc2544 0.2s 0 loss], `ns` is unknown",
        ),
        (|cell| cell.procedure = "speed".into(), "the procedure `speed` is unknown"),
        (|cell| cell.trials[0].outcome = "good".into(), "the outcome `good` is unknown"),
    ];
    for (change, expected) in cases {
        let mut results = crate::suite::read(include_str!(
            "../../../../../results/2026-11-23-rfc2544-virtual.json"
        ))
        .unwrap();
        let cell = results.cells.iter_mut().find(|cell| cell.procedure == "throughput").unwrap();
        change(cell);
        let mut told = String::new();
        super::names::check(cell, &mut |_, text| told += &(text + "\n"));
        assert!(told.contains(expected), "{expected}: {told}");
        assert_eq!(told.is_empty(), expected.is_empty(), "{expected}: {told}");
    }
}

/// Crashers: files whose counts add up to more than there are numbers. They are told of, and drawn.
#[test]
fn counts_without_bounds() {
    let stored = [
        include_str!("../../../data/test-2.json"),
        include_str!("../../../data/test-2-delays.json"),
        include_str!("../../../data/test-2-tcp.json"),
    ];
    for stored in stored {
        let mut results = crate::suite::read(stored).unwrap();
        for cell in &mut results.cells {
            cell.histogram = vec![(1, u64::MAX), (2, u64::MAX)];
            for trial in &mut cell.trials {
                let counts = [&mut trial.intended, &mut trial.sent, &mut trial.received];
                counts.into_iter().for_each(|count| *count = u64::MAX);
                (trial.foreign, trial.beside) = (u64::MAX, u64::MAX);
                (trial.duplicate, trial.stale) = (u64::MAX, u64::MAX);
                if let Some(series) = &mut trial.series {
                    series.sent = vec![u64::MAX; series.sent.len()];
                    series.received.truncate(1);
                    series.latency_max_ns.truncate(2);
                }
                if let Some(tcp) = &mut trial.tcp {
                    (tcp.closed, tcp.reset, tcp.timed_out) = (u64::MAX, u64::MAX, u64::MAX);
                }
                for one in &mut trial.directions {
                    (one.sent, one.received, one.lost) = (u64::MAX, u64::MAX, u64::MAX);
                }
                for one in &mut trial.streams {
                    one.histogram = vec![(1, u64::MAX), (2, u64::MAX)];
                    (one.intended, one.sent) = (u64::MAX, u64::MAX);
                    (one.received, one.lost) = (u64::MAX, u64::MAX);
                }
            }
        }
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        assert!(findings.iter().any(|finding| finding.kind.is_fault()), "{findings:?}");
        let tables = crate::suite::render(&results);
        assert!(tables.contains(&u64::MAX.to_string()), "{tables}");
        assert!(crate::html::suite_page(&results).ends_with("</html>\n"));
        assert!(!crate::export::suite_markdown(&results).is_empty());
    }
}
