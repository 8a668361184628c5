//! Rows derived from counts: rates, limits, faults; what is written is read again.

use super::*;
use crate::trial::{Conditions, Counts, Reason};

fn measured(sent: u64, received: u64) -> Measured {
    let counts = Counts { intended: sent, sent, received, ..Counts::default() };
    let trial = Trial::judge(Duration::from_secs(2), counts, &Conditions::default());
    Measured {
        device: "router".into(),
        mode: Mode::Routing,
        family: Family::Ipv4,
        configuration: "none".into(),
        frame: FrameLen::with_fcs(64),
        cores: 1,
        trial,
        router_time: Some(Duration::from_secs(2)),
        fast_path_share: Some(0.5),
        wire: None,
        met: None,
        tester: None,
        latency: crate::receive::latency([]),
        trials: vec![highest(&trial)],
        medium: Medium::default(),
        environment: Environment { seed: 7, cpu: "a CPU".into(), ..Environment::default() },
    }
}

fn highest(trial: &Trial) -> TrialRecord {
    TrialRecord::plain(kind::HIGHEST, 0.0, trial.duration, trial, None)
}

/// 1 to 900 ns, each once.
fn latencies() -> LatencyHistogram {
    let mut times = LatencyHistogram::default();
    (1..=900).for_each(|ns| times.record(ns));
    times
}

#[test]
fn layers_of_ten_gigabit_ethernet() {
    // 2 s at 14,880,952.38 a second.
    let wire = Some(BitRate::gbps(10.0));
    let row = Measured { wire, ..measured(29_761_904, 29_761_904) }.row();
    assert_eq!((row.kpps * 1e3) as u64, 14_880_952);
    assert!((row.l1_mbps - 10_000.0).abs() < 0.001, "{}", row.l1_mbps);
    assert!((row.l2_mbps - 7619.047).abs() < 0.001, "{}", row.l2_mbps);
    assert!((row.l3_mbps - 5476.19).abs() < 0.001, "{}", row.l3_mbps);
    assert!((row.router_ns_per_packet.unwrap() - 67.2).abs() < 0.001);
    assert_eq!((row.limited_by, row.verdict, row.lost), (Limit::Wire, Verdict::Pass, 0));
    assert_eq!(row.faults(), []);
}

#[test]
fn what_limits() {
    let wire = |gbps| Some(BitRate::gbps(gbps));
    let tester = |pps| Some(PacketRate(pps));
    let moved = Conditions { placement_ns: Some((90, 500)), ..Conditions::default() };
    let invalid = |conditions: &Conditions, intended| {
        let counts = Counts { intended, sent: 1000, received: 1000, ..Counts::default() };
        Trial::judge(Duration::from_secs(2), counts, conditions)
    };
    for (row, expected) in [
        (measured(1000, 900), Limit::Device),
        (Measured { tester: tester(541.0), ..measured(1000, 900) }, Limit::Device),
        (
            Measured { router_time: Some(Duration::from_millis(1799)), ..measured(1000, 900) },
            Limit::Tester, // idle for more than a tenth of two seconds
        ),
        (Measured { tester: tester(539.0), ..measured(1000, 900) }, Limit::Tester),
        (Measured { wire: wire(450.0 * 672e-9), ..measured(1000, 900) }, Limit::Wire),
        (Measured { wire: wire(460.0 * 672e-9), ..measured(1000, 900) }, Limit::Device),
        (Measured { trial: invalid(&moved, 1000), ..measured(1, 1) }, Limit::Placement),
        (
            Measured { trial: invalid(&Conditions::default(), 1001), ..measured(1, 1) },
            Limit::Tester,
        ),
    ] {
        let trials = vec![highest(&row.trial)];
        let row = Measured { trials, ..row }.row();
        assert_eq!(row.limited_by, expected, "{row:?}");
        assert_eq!(row.faults(), [], "{row:?}");
    }
}

#[test]
fn an_invalid_trial_says_why() {
    let counts = Counts { intended: 10, sent: 10, received: 11, ..Counts::default() };
    let trial = Trial::judge(Duration::from_secs(1), counts, &Conditions::default());
    let row = Measured { trial, ..measured(1, 1) }.row();
    assert_eq!(row.verdict, Verdict::Invalid);
    let reason = Reason::CountersDisagree { received: 11, most: 10 };
    assert_eq!(row.remark, Some(reason.to_string()));
}

/// Other programs had the processor: there is nothing that could be taken for a figure of the device.
#[test]
fn what_was_disturbed_has_no_time_and_no_tax() {
    let counts = Counts { intended: 1000, sent: 1000, received: 1000, ..Counts::default() };
    let lasted = Duration::from_secs(2);
    let away = Some((lasted / 2, lasted));
    let trial = Trial::judge(lasted, counts, &Conditions { away, ..Conditions::default() });
    let tester = Some(PacketRate(400.0));
    let fasttrack = || Measured { configuration: "fasttrack".into(), ..measured(1000, 1000) };
    let plain = measured(1000, 1000).row();
    let disturbed = Measured { trial, tester, ..fasttrack() }.row();
    let [sound, disturbed] = [fasttrack().row(), disturbed];
    let results =
        Results::of(plain.environment.clone(), vec![plain, sound.clone(), disturbed.clone()]);
    assert!(sound.router_ns_per_packet.is_some() && results.tax(&sound) == Some(1.0));
    let figures = (disturbed.router_ns_per_packet, disturbed.fast_path_share);
    assert_eq!((figures, results.tax(&disturbed)), ((None, None), None));
    let why = "other programs had a processor of the trial for 50% of its time";
    assert_eq!(disturbed.remark.as_deref(), Some(why), "and nothing of the tester");
    assert_eq!(disturbed.faults(), []);
}

#[test]
fn a_tester_that_was_slower_by_itself() {
    let medium = |wire: &str| Medium { wire: wire.into(), ..Medium::default() };
    for (wire, expected) in [
        (
            "veth",
            "the tester by itself was slower (0.4 kpps) than with the device: it was disturbed then",
        ),
        (
            "a=packet:eth1, b=packet:eth2",
            "through a veth of this machine the tester was slower (0.4 kpps) than with the device: no \
             limit of it is known",
        ),
    ] {
        let tester = Some(PacketRate(400.0));
        let row = Measured { tester, medium: medium(wire), ..measured(1000, 1000) }.row();
        assert_eq!(row.remark.as_deref(), Some(expected));
    }
}

/// Every name the format promises, literally.
#[test]
fn names() {
    let mut row = measured(1000, 900);
    row.latency = latencies();
    row.met = Some(Met { criterion: "throughput[…]".into(), pps: Some(1.0) });
    row.trials.push(TrialRecord { kind: kind::SEARCH.into(), ..row.trials[0].clone() });
    (row.wire, row.tester) = (Some(BitRate::gbps(1.0)), Some(PacketRate(1e6)));
    let row = serde_json::to_value(row.row()).unwrap();
    for name in [
        "device",
        "mode",
        "configuration",
        "frame_size",
        "cores",
        "offered",
        "sent",
        "forwarded",
        "lost",
        "duration",
        "pps",
        "kpps",
        "l1_mbps",
        "l2_mbps",
        "l3_mbps",
        "router_ns_per_packet",
        "fast_path_share",
        "verdict",
        "limited_by",
        "wire_mbps",
        "no_drop",
        "no_drop_limited_by",
        "criterion",
        "tester_pps",
        "latency",
        "histogram",
        "trials",
        "environment",
    ] {
        assert!(row.get(name).is_some_and(|value| !value.is_null()), "{name} in {row}");
    }
    for name in
        ["cpu", "cores", "kernel", "commit", "build", "features", "timestamp", "command", "seed"]
    {
        assert!(row["environment"].get(name).is_some(), "{name} in {row}");
    }
    let words = [&row["mode"], &row["verdict"], &row["limited_by"], &row["latency"]["p999_ns"]];
    assert_eq!(words.map(ToString::to_string), ["\"routing\"", "\"fail\"", "\"device\"", "900"]);
}

#[test]
fn what_is_written_is_read_again() {
    let row = measured(1_000_003, 900_001).row();
    let results = Results::of(row.environment.clone(), vec![row]);
    let text = serde_json::to_string(&results).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results, "{text}");
}

/// Whose fault the next load above the highest without loss was.
#[test]
fn what_limits_the_highest_load_without_loss() {
    let (pass, fail, late) = ("pass", "fail", "invalid: the tester finished sending 3 ms too late");
    type Trials = Vec<(f64, &'static str)>;
    let cases: [(Trials, f64, Option<Limit>); 8] = [
        (vec![], 1000.0, None),
        (vec![(400.0, fail), (300.0, pass)], 1000.0, Some(Limit::Device)),
        // Of a cable: nothing was ever lost.
        (vec![(400.0, late), (400.0, late), (300.0, pass)], 1000.0, Some(Limit::Tester)),
        (vec![(400.0, late), (400.0, fail), (300.0, pass)], 1000.0, Some(Limit::Device)),
        (
            vec![(400.0, fail), (350.0, late), (350.0, pass), (350.0, late)],
            1e3,
            Some(Limit::Tester),
        ),
        // No trials were left for the confirmation of 350.
        (vec![(400.0, fail), (300.0, pass), (350.0, pass)], 1000.0, Some(Limit::Device)),
        (vec![(300.0, pass)], 300.0, Some(Limit::Tester)),
        (vec![(300.0, pass)], 1000.0, Some(Limit::Plan)),
    ];
    for (trials, tester, expected) in cases {
        let of = |&(load, outcome): &(f64, &str)| {
            let trial = measured(600, 600).trial;
            let record = TrialRecord::plain(kind::SEARCH, load, trial.duration, &trial, None);
            TrialRecord { outcome: outcome.to_string(), ..record }
        };
        let row = Measured {
            met: Some(Met { criterion: "throughput[…]".into(), pps: Some(300.0) }),
            tester: Some(PacketRate(tester)),
            trials: trials.iter().map(of).collect(),
            ..measured(400, 200)
        };
        let mut row = row.row();
        assert_eq!(row.no_drop_limited_by, expected, "{trials:?}, {tester}");
        row.wire_mbps = Some(row.frame().l1() as f64 * 8.0 * 300.0 / 1e6);
        let by_wire = (!trials.is_empty()).then_some(Limit::Wire);
        assert_eq!(row.limit_of_no_drop(), by_wire, "{trials:?}");
    }
}

/// Each change to a sound row is found, and named.
#[test]
fn faults() {
    let mut sound = Measured {
        latency: latencies(),
        wire: Some(BitRate::gbps(1.0)),
        tester: Some(PacketRate(1000.0)),
        met: Some(Met { criterion: "throughput[…]".into(), pps: Some(300.0) }),
        ..measured(1000, 900)
    };
    let passed = measured(600, 600).trial;
    let search = TrialRecord::plain(kind::SEARCH, 300.0, passed.duration, &passed, None);
    sound.trials.push(search);
    let sound = sound.row();
    assert_eq!(sound.faults(), []);
    type Change = fn(&mut Row);
    let cases: [(Change, &str); 19] = [
        (|r| r.lost = 99, "forwarded 900 + lost 99 is not sent 1000"),
        (|r| r.lost = u64::MAX, "is not sent"),
        (|r| r.offered = 999, "sent 1000 is more than offered 999"),
        (|r| r.verdict = Verdict::Pass, "verdict pass with 100 frames lost"),
        (|r| r.duration = 0.0, "duration 0 s"),
        (|r| r.pps = 451.0, "pps 451 in 2 s is not forwarded 900"),
        (|r| r.pps = f64::NAN, "pps NaN"),
        (|r| r.kpps *= 1.001, "kpps 0.45"),
        (|r| r.l1_mbps = r.l2_mbps, "l1_mbps 0.2304 should be 0.3024"),
        // The frame with 18 bytes too many: the tables of 2014.
        (|r| r.l2_mbps *= 82.0 / 64.0, "should be 0.2304"),
        (|r| r.l3_mbps = 0.0, "l3_mbps 0"),
        (|r| r.wire_mbps = Some(0.3), "is more than the wire's 0.3"),
        (|r| r.tester_pps = Some(200.0), "is far more than the tester's own 200"),
        (|r| r.no_drop = Some(45_000.0), "no_drop 45000 is far more than was ever offered, 1500"),
        (
            |r| (r.no_drop, r.wire_mbps) = (Some(700.0), Some(0.4)),
            "no_drop 700 is more than the wire's",
        ),
        (|r| r.tester_pps = Some(500.0), "limited by the device, and the tester alone does "),
        (|r| r.fast_path_share = Some(1.1), "fast_path_share 1.1 is not 0 to 1"),
        (|r| r.latency.as_mut().unwrap().p99_ns = 1, "latencies out of order"),
        (|r| r.trials[1].received = 601, "trial 2, search: 601 received of 600"),
    ];
    for (change, expected) in cases {
        let mut row = sound.clone();
        change(&mut row);
        let faults: Vec<String> = row.faults().iter().map(ToString::to_string).collect();
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:?}");
    }
}

#[test]
fn tax() {
    let plain = measured(1000, 1000).row();
    let mut rules = measured(400, 400).row();
    rules.configuration = "25-filter-rules".into();
    let environment = Environment::default();
    let rows = vec![plain, rules.clone()];
    let mut results = Results::of(environment, rows);
    assert_eq!(results.tax(&rules), Some(2.5));
    assert_eq!(results.tax(&Row { frame_size: 512, ..rules.clone() }), None);
    assert_eq!(results.tax(&Row { device: "linux".into(), ..rules.clone() }), None);
    assert_eq!(results.tax(&Row { family: Family::Ipv6, ..rules.clone() }), None);
    results.rows[0].verdict = Verdict::Invalid;
    assert_eq!(results.tax(&rules), None);
}

#[test]
fn families() {
    let four = measured(1000, 1000).row();
    let six = Measured { family: Family::Ipv6, ..measured(400, 400) }.row();
    let mut results = Results::of(Environment::default(), vec![four.clone(), six.clone()]);
    assert_eq!((results.by_ipv4(&four), results.by_ipv4(&six)), (None, Some(0.4)));
    assert_eq!((four.mode_name().as_str(), six.mode_name().as_str()), ("Routing", "Routing IPv6"));
    // IPv4 is not said: older files do not name it either.
    let text = serde_json::to_string(&results).unwrap();
    assert_eq!((text.matches("\"family\"").count(), text.matches("\"ipv6\"").count()), (1, 1));
    assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
    results.rows[0].verdict = Verdict::Invalid;
    assert_eq!(results.by_ipv4(&six), None);
}

#[test]
fn latency_of_times() {
    let mut times = LatencyHistogram::default();
    assert_eq!(Latency::of(&times), None);
    (1..=1000).for_each(|ns| times.record(ns));
    let expected =
        Latency { count: 1000, min_ns: 1, p50_ns: 500, p99_ns: 990, p999_ns: 999, max_ns: 1000 };
    assert_eq!(Latency::of(&times), Some(expected));
}
