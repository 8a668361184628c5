//! RFC 2889's meshes of a bridge, full and partial: the built-in one, in virtual time and on memory wires.

use lab::placement::{self, Pair};
use lab::suite::dry_run::{self, Excerpt};
use lab::suite::plan::{self, Allowed, Offer, Plan};
use lab::suite::{Device, Options, run, scaled};
use measure::result::Limit;
use measure::suite_result::{Cell, TrialRecord};
use measure::{Environment, SuiteResults};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A bridge of so many ports, which learns or does not.
fn bridge(ports: usize, learn: &str) -> String {
    let port = |n| format!("add bridge=bridge1 interface=ether{n} learn={learn}\n");
    let ports: String = (1..=ports).map(port).collect();
    format!(
        "/interface bridge add name=bridge1 protocol-mode=none\n/interface bridge port\n{ports}"
    )
}

/// A plan of so many ports, all to all; wires of 100 Mbit/s, so long for a frame, no pauses.
fn plan(ports: usize, sizes: &str, frame: &str, kinds: &[&str]) -> Plan {
    plan_of("fully-meshed", ports, sizes, frame, kinds)
}

fn plan_of(mesh: &str, ports: usize, sizes: &str, frame: &str, kinds: &[&str]) -> Plan {
    let kinds = kinds.iter().map(|kind| format!("[[procedure]]\nkind = \"{kind}\"\n"));
    let text = format!(
        "name = \"mesh\"\n[device]\nports = {ports}\n[medium]\nlink = \"100M\"\n\
         [traffic]\nframe-sizes = [{sizes}]\nflows = \"hosts\"\ndistribution = \"{mesh}\"\n{}\
         [virtual]\nlink = \"100M\"\nframe = \"{frame}\"\nbyte-ps = 1\npause-every = \"10s\"\n\
         pause = \"1ns\"\nring = 64\n[virtual.scaling]\ndivide-durations-by = 600.0\n\
         shortest = \"20ms\"\nrepetitions-at-most = 2\nprecision = \"0.2%\"\n",
        kinds.collect::<String>()
    );
    plan::read(&text, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}\n{text}"))
}

fn options(script: &str, pair: Option<Pair>) -> Options {
    Options {
        device: Device::BuiltIn,
        text: String::new(),
        script: script.to_string(),
        quick: true,
        pair,
        interrupt: Arc::new(AtomicBool::new(false)),
        environment: Environment::default(),
    }
}

fn measure(plan: &Plan, script: &str) -> SuiteResults {
    let options = options(script, None);
    let (plan, scaling) = scaled(plan, &options);
    let results = run(&plan, scaling, &options, |_| {});
    assert_eq!((results.complete, &results.incomplete_because), (true, &None));
    assert_eq!(results.faults(), [""; 0]);
    results
}

/// The first figure of the procedure's cell whose name begins so.
fn figure(results: &SuiteResults, procedure: &str, name: &str) -> f64 {
    let is_it = |cell: &&Cell| cell.procedure == procedure;
    let cell = results.cells.iter().find(is_it).unwrap_or_else(|| panic!("no {procedure}"));
    let found = cell.figures.iter().find(|figure| figure.name.starts_with(name));
    found.and_then(|figure| figure.value).unwrap_or_else(|| panic!("no {name}: {cell:?}"))
}

/// Every port sends to every other as often as to the next, and all of it comes there if none was lost.
fn all_to_all(ports: u32, trial: &TrialRecord) {
    let mut ways: Vec<_> = trial.directions.iter().map(|way| (way.from, way.to)).collect();
    ways.sort_unstable();
    let others = |from| (1..=ports).filter(move |to| *to != from).map(move |to| (from, to));
    assert_eq!(ways, (1..=ports).flat_map(others).collect::<Vec<_>>(), "{trial:?}");
    for way in &trial.directions {
        let first = trial.directions.iter().find(|one| one.from == way.from).unwrap();
        assert!(way.sent > 0 && first.sent - way.sent <= 1, "{trial:?}");
        assert!(trial.outcome != "pass" || way.received == way.sent, "{trial:?}");
        assert_eq!(way.elsewhere, 0, "{trial:?}");
    }
    assert_eq!(trial.directions.iter().map(|way| way.sent).sum::<u64>(), trial.sent, "{trial:?}");
}

/// A processor that takes so long for a frame forwards so many, whoever they are from and to; what is
/// faster than the wires is as fast as they.
#[test]
fn every_port_receives_from_every_other() {
    let kinds = ["throughput", "forwarding", "frame-loss", "latency"];
    for (ports, frame, expected) in [
        (4, "5us", 200e3 / 4.0),
        (4, "10us", 100e3 / 4.0),
        (3, "5us", 200e3 / 3.0),
        (2, "5us", 100e3),
        (4, "1us", 1e8 / 672.0),
    ] {
        let results = measure(&plan(ports, "64", frame, &kinds), &bridge(ports, "yes"));
        let told = format!("{ports} ports, {frame}");
        assert_eq!((results.senders as usize, results.fully_meshed), (ports, true));
        assert!(results.traffic.contains("fully meshed: "), "{}", results.traffic);
        let rate = figure(&results, "throughput", "throughput");
        // What waits in the rings when it ends was forwarded, too.
        assert!((rate / expected - 1.0).abs() < 0.03, "{told}: {rate}");
        // All ports together, and the more is offered, not the less.
        for name in ["FRMOL[rfc2889 0.05s, fully meshed, ", "MFR[rfc2889 0.05s, fully meshed, "] {
            let all = figure(&results, "forwarding", name);
            assert!((all / expected / ports as f64 - 1.0).abs() < 0.03, "{told}: {name} {all}");
        }
        let mol = figure(&results, "forwarding", "MOL (this tester's");
        assert!((mol / (1e8 / 672.0) - 1.0).abs() < 1e-3, "{told}: {mol}");
        let trials = results.cells.iter().flat_map(|cell| &cell.trials);
        trials.for_each(|trial| all_to_all(ports as u32, trial));
        for remark in results.cells.iter().flat_map(|cell| &cell.remarks) {
            assert!(!remark.contains("flooded"), "{told}: {remark}");
        }
    }
}

/// One to all others by turns, all others to one, one half to the other: what limits each is its own, and
/// every frame comes where it is to come.
#[test]
fn partial_meshes() {
    let kinds = ["throughput", "forwarding", "frame-loss"];
    let wire = 1e8 / 672.0;
    for (mesh, ports, frame, expected, ways) in [
        // A wire carries what one port sends, and what one receives.
        ("one-to-many", 4, "1us", wire, vec![(1, 2), (1, 3), (1, 4)]),
        ("many-to-one", 4, "1us", wire / 3.0, vec![(1, 4), (2, 4), (3, 4)]),
        ("partially-meshed-unidirectional", 4, "1us", wire, vec![(1, 3), (1, 4), (2, 3), (2, 4)]),
        // A processor that takes so long for a frame.
        ("one-to-many", 3, "10us", 100e3, vec![(1, 2), (1, 3)]),
        (
            "partially-meshed-unidirectional",
            4,
            "10us",
            100e3 / 2.0,
            vec![(1, 3), (1, 4), (2, 3), (2, 4)],
        ),
    ] {
        let plan = plan_of(mesh, ports, "64", frame, &kinds);
        let results = measure(&plan, &bridge(ports, "yes"));
        let told = format!("{mesh}, {ports} ports, {frame}");
        let senders = plan.traffic.senders();
        assert_eq!((results.senders as usize, results.fully_meshed), (senders, false), "{told}");
        assert_eq!(results.destinations, Some(plan.traffic.destinations() as u32), "{told}");
        let limit = results.cells[0].limited_by;
        assert_eq!(limit == Some(Limit::Wire), frame == "1us", "{told}: {limit:?}");
        let rate = figure(&results, "throughput", "throughput");
        assert!((rate / expected - 1.0).abs() < 0.03, "{told}: {rate}");
        let all = figure(&results, "forwarding", "MFR[rfc2889 0.05s, ");
        assert!((all / expected / senders as f64 - 1.0).abs() < 0.03, "{told}: {all}");
        for trial in results.cells.iter().flat_map(|cell| &cell.trials) {
            let mut all: Vec<_> = trial.directions.iter().map(|way| (way.from, way.to)).collect();
            all.sort_unstable();
            assert_eq!(all, ways, "{told}: {trial:?}");
            for way in &trial.directions {
                assert!(trial.outcome != "pass" || way.received == way.sent, "{told}: {trial:?}");
                assert!(way.sent > 0 && way.elsewhere == 0, "{told}: {trial:?}");
            }
        }
    }
}

/// Of a mix every port has all lengths; bursts and recoveries have as many ways.
#[test]
fn mixes_bursts_and_recoveries() {
    let kinds = ["throughput", "back-to-back", "recovery", "delay-variation"];
    for sizes in ["64", "\"imix\""] {
        let plan = plan(3, sizes, "20us", &kinds);
        let results = measure(&plan, &bridge(3, "yes"));
        let rate = figure(&results, "throughput", "throughput");
        assert!((rate / (50e3 / 3.0) - 1.0).abs() < 0.05, "{sizes}: {rate}");
        for trial in results.cells.iter().flat_map(|cell| &cell.trials) {
            assert_eq!(
                (trial.corrupt, trial.flooded, trial.directions.len()),
                (0, 0, 6),
                "{sizes}"
            );
            assert!(!trial.outcome.starts_with("invalid"), "{sizes}: {trial:?}");
        }
        let burst = figure(&results, "back-to-back", "back-to-back");
        assert!((60.0..200.0).contains(&burst), "{sizes}: {burst}");
        let recovery = figure(&results, "recovery", "recovery");
        assert!((0.0..20e6).contains(&recovery), "{sizes}: {recovery}");
        assert_eq!(measure(&plan, &bridge(3, "yes")).cells, results.cells, "bit for bit");
    }
}

/// A bridge that learns nothing: all comes where it is to come, and elsewhere, too.
#[test]
fn a_bridge_that_floods_is_told() {
    let results = measure(&plan(4, "64", "1us", &["throughput", "forwarding"]), &bridge(4, "no"));
    for cell in &results.cells {
        let told = cell.remarks.iter().find(|remark| remark.starts_with("flooded: in "));
        let told = told.unwrap_or_else(|| panic!("{:?}", cell.remarks));
        assert!(told.contains("came out of ports that they were not sent to"), "{told}");
        for trial in cell.trials.iter().filter(|trial| trial.outcome == "pass") {
            assert_eq!(trial.flooded, 2 * trial.sent, "two ports more than it was sent to");
            assert!(trial.directions.iter().all(|way| way.received == way.sent), "{trial:?}");
        }
    }
    // Three times as much leaves by each port as one sends: less is forwarded, but for what waits.
    let rate = figure(&results, "throughput", "throughput");
    assert!(rate < 1e8 / 672.0 * 0.6, "{rate}");
}

/// Frame by frame to the next port, the one behind that, and so on (RFC 2889 §5.1).
#[test]
fn destinations_go_round() {
    let plan = plan(4, "64", "5us", &["throughput"]);
    let load = Offer::Share(1.0);
    let excerpt = Excerpt { simulated: false, quick: false, frames: 60, load };
    let mut to: [Vec<u8>; 4] = Default::default();
    let written = dry_run::write(&plan, &Device::BuiltIn, &excerpt, &mut |port, record| {
        assert_eq!(record.bytes[11], port as u8 + 1);
        to[port].push(record.bytes[5]);
        Ok(())
    });
    let [trial] = &written.unwrap()[..] else { panic!("one kind of trial") };
    assert_eq!(trial.frames, [60; 4]);
    for (port, to) in to.iter().enumerate() {
        // Three learning frames to the next one, then the trial's.
        let next = |n: usize| ((port + 1 + n) % 4) as u8 + 1;
        let expected = [0; 3].into_iter().chain((0..60).map(|k| k % 3)).map(next);
        assert_eq!(*to, expected.collect::<Vec<_>>(), "port {}", port + 1);
    }
}

/// The same by the clock: a load that any machine carries.
#[test]
fn by_the_clock() {
    let mut plan = plan(4, "64", "5us", &["frame-loss"]);
    plan.link = wire::BitRate::mbps(5.0);
    // Where there is one processor nobody runs two.
    let Some(pair) = placement::pair() else { return };
    let options = options(&bridge(4, "yes"), Some(pair));
    let (plan, scaling) = scaled(&plan, &options);
    let results = run(&plan, scaling, &options, |_| {});
    assert_eq!((results.complete, &results.incomplete_because), (true, &None));
    let cell = &results.cells[0];
    let passed = || cell.trials.iter().filter(|trial| trial.outcome == "pass");
    assert!(passed().count() > 0, "{cell:?}");
    passed().for_each(|trial| all_to_all(4, trial));
}
