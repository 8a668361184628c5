//! Suites in virtual time: the built-in router between simulated wires, its processor modelled, so
//! that what must be found is known.

use lab::suite::plan::{self, Allowed, Modifier, Plan};
use lab::suite::{Device, Options, run, scaled};
use measure::result::Limit;
use measure::suite_result::Cell;
use measure::{Environment, SuiteResults};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::rip::Version;

const ROUTER: &str = "/ip address add address=198.18.1.1/24 interface=ether1
/ip address add address=198.19.1.1/24 interface=ether2";

const BRIDGE: &str = "/interface bridge add name=bridge1 protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
add bridge=bridge1 interface=ether3
add bridge=bridge1 interface=ether4";

/// A plan of these procedures; wires of 100 Mbit/s, 5 µs a frame and nothing a byte, no pauses.
fn plan(traffic: &str, procedures: &str) -> Plan {
    let text = format!(
        r#"
name = "test"
[device]
[medium]
link = "10G"
[traffic]
{traffic}
{procedures}
[virtual]
link = "100M"
frame = "5us"
byte-ps = 1
pause-every = "10s"
pause = "1ns"
ring = 64
boot = "30ms"
[virtual.scaling]
divide-durations-by = 600.0
shortest = "20ms"
repetitions-at-most = 2
precision = "0.2%"
"#
    );
    plan::read(&text, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}\n{text}"))
}

fn options(script: &str) -> Options {
    Options {
        device: Device::BuiltIn,
        text: String::new(),
        script: script.to_string(),
        quick: true,
        pair: None,
        interrupt: Arc::new(AtomicBool::new(false)),
        environment: Environment::default(),
    }
}

fn measure(plan: &Plan, script: &str) -> SuiteResults {
    let options = options(script);
    let (plan, scaling) = scaled(plan, &options);
    let results = run(&plan, scaling, &options, |_| {});
    assert_eq!((results.complete, &results.incomplete_because), (true, &None));
    assert_eq!(results.faults(), [""; 0]);
    results
}

/// RFC 2544 of a mix, beside 64 bytes: a size of its own, whose 100 % is the wire.
#[test]
fn rfc_2544_of_a_mix() {
    let kinds = ["throughput", "latency", "frame-loss", "back-to-back", "recovery", "reset"];
    let procedures: Vec<String> =
        kinds.iter().map(|kind| format!("[[procedure]]\nkind = \"{kind}\"\n")).collect();
    let delays = "[[procedure]]\nkind = \"delay-variation\"\n";
    let procedures = procedures.concat() + delays;
    let plan = plan("frame-sizes = [\"64\", \"imix\"]\nflows = \"pair\"", &procedures);
    let results = measure(&plan, ROUTER);

    // 12 frames of 4,342 bytes are 4,582 on the wire: 100 Mbit/s carry 32,736 a second.
    let wire = 1e8 / 8.0 * 12.0 / 4_582.0;
    let [mix] = results.mixes.as_slice() else { panic!("{:?}", results.mixes) };
    assert_eq!((mix.name.as_str(), mix.frames, mix.l2_bytes), ("imix", 12, 4_342));
    assert_eq!(mix.genome, "aAaaAagaAaAa");
    let of_mix = |procedure: &str| {
        let cell = cell(&results, procedure, 362);
        assert_eq!(cell.mix.as_deref(), Some("imix"));
        cell
    };
    assert!((results.wire_rate(of_mix("latency").size()).0 / wire - 1.0).abs() < 1e-12);
    let alone = results.self_tests.iter().find(|alone| alone.mix.is_some()).unwrap();
    assert_eq!((alone.frame_size, alone.latency_floor_ns), (362, 0), "no frame waits for another");
    assert!((alone.rate / wire - 1.0).abs() < 1e-3, "{alone:?}");
    assert_eq!(results.self_tests.len(), 2);

    // 5 µs a frame are 200,000 both ways: it is the wire that ends it, exactly.
    let throughput = of_mix("throughput");
    assert_eq!(throughput.limited_by, Some(Limit::Wire));
    let rate = figure(throughput, "throughput");
    assert!((rate / wire - 1.0).abs() < 1e-9, "{rate}");
    let best = throughput.trials.iter().find(|trial| trial.load == rate).unwrap();
    // Every frame is accounted for, and each of its length: others would be damaged.
    for trial in results.cells.iter().filter(|cell| cell.mix.is_some()).flat_map(|c| &c.trials) {
        assert_eq!((trial.corrupt, trial.duplicate, trial.reordered), (0, 0, 0), "{trial:?}");
        assert_eq!(trial.sent, trial.intended, "{trial:?}");
        if trial.kind == "steady" && trial.duration * trial.load > 12.0 {
            let expected = trial.load * trial.duration * 2.0;
            assert!((trial.sent as f64 - expected).abs() <= 4.0, "{expected}: {trial:?}");
        }
    }
    assert_eq!((best.sent, best.received), (best.intended, best.intended));

    // A frame that finds nobody takes its 5 µs and a billionth for each byte, whatever its length.
    let latency = of_mix("latency");
    assert!((5_000..=5_100).contains(&latency.histogram[0].0), "{:?}", latency.histogram);
    let total: u64 = latency.histogram.iter().map(|(_, n)| n).sum();
    let received: u64 = latency.trials.iter().map(|trial| trial.received).sum();
    assert_eq!(total, received);
    let loss = of_mix("frame-loss");
    assert_eq!(figure(loss, "loss at 100%"), 0.0);
    // Where the wire is the limit there is nothing to be found by bursts.
    assert!(of_mix("back-to-back").remarks[0].starts_with("not applicable"));
    // The smallest frames only.
    assert!(!results.cells.iter().any(|cell| cell.procedure == "reset" && cell.mix.is_some()));
    let again = measure(&plan, ROUTER);
    assert_eq!(again.cells, results.cells, "bit for bit");
}

fn cell<'a>(results: &'a SuiteResults, procedure: &str, size: u32) -> &'a Cell {
    let found = results.cells.iter().find(|c| c.procedure == procedure && c.frame_size == size);
    found.unwrap_or_else(|| panic!("no {procedure} of {size} bytes"))
}

/// The first figure whose name begins so.
fn figure(cell: &Cell, name: &str) -> f64 {
    let found = cell.figures.iter().find(|figure| figure.name.starts_with(name));
    found.and_then(|figure| figure.value).unwrap_or_else(|| panic!("no {name}: {cell:?}"))
}

#[test]
fn rfc_2544_finds_what_is_modelled() {
    let procedures = ["throughput", "latency", "frame-loss", "back-to-back", "recovery", "reset"];
    let procedures: Vec<String> =
        procedures.iter().map(|kind| format!("[[procedure]]\nkind = \"{kind}\"\n")).collect();
    let plan = plan("frame-sizes = [64, 512]\nflows = \"pair\"", &procedures.concat());
    let results = measure(&plan, ROUTER);

    // 5 µs a frame: 200,000 in all, half of it each way; the wire would carry 148,809.
    let throughput = cell(&results, "throughput", 64);
    let rate = figure(throughput, "throughput[rfc2544 0.1s 0 loss]");
    // The ring's 64 frames make a short trial look a little better than it is.
    assert!((99_500.0..=100_700.0).contains(&rate), "{rate}");
    assert_eq!(throughput.limited_by, Some(Limit::Device));
    // 512 bytes: the wire's 23,496 are less than the device could do.
    let wire = cell(&results, "throughput", 512);
    assert_eq!(wire.limited_by, Some(Limit::Wire));
    assert_eq!(figure(wire, "throughput").round(), 23_496.0);

    // A frame that finds nobody takes its 5 µs. At the wire's rate whatever comes between (ARP, now
    // and then) is a queue that stays.
    let latency = cell(&results, "latency", 512);
    assert!((5_000..=5_100).contains(&latency.histogram[0].0), "{latency:?}");
    assert!(
        (5_000.0..=60_000.0).contains(&figure(latency, "latency[rfc2544 0.2s 2x worst direction]")),
        "{latency:?}"
    );
    let slowest = latency.histogram.last().unwrap().0 as f64;
    assert!(figure(latency, "all frames max") <= slowest, "{latency:?}");

    // Both ways at 148,809 for a tenth of a second: of 29,762 frames 20,000 come through, and what
    // both rings hold at the end.
    let loss = cell(&results, "frame-loss", 64);
    assert!((figure(loss, "loss at 100%") - 100.0 * 9_634.0 / 29_762.0).abs() < 0.02, "{loss:?}");
    assert_eq!(figure(loss, "highest load without loss"), 60.0);
    // And the router says where each of the lost went.
    let lost: u64 = loss.trials.iter().map(|trial| trial.sent - trial.received).sum();
    assert_eq!(loss.dropped, BTreeMap::from([("rx-ring-full".to_string(), lost)]), "{loss:?}");
    assert_eq!(figure(cell(&results, "frame-loss", 512), "highest load without loss"), 100.0);

    // Each port's ring of 64 fills at what comes less what is taken: 64 / (1 − 100,000 / 148,809).
    let bursts = cell(&results, "back-to-back", 64);
    let frames = figure(bursts, "back-to-back");
    assert!((193.0..=199.0).contains(&frames), "{frames}");
    // The correction finds the ring again: 64 frames at the wire's rate.
    let buffer = figure(bursts, "corrected buffer time") * 148_809.0 / 1e9;
    assert!((62.0..=66.0).contains(&buffer), "{buffer}");
    let none = cell(&results, "back-to-back", 512);
    assert!(none.remarks[0].starts_with("not applicable"), "{none:?}");

    // Rings of 64 frames: 128 · 5 µs of work are left over, while half a load goes on coming.
    let recovery = figure(cell(&results, "recovery", 64), "recovery");
    assert!(recovery < 2e6, "{recovery} ns");
    // What the wire carries is no overload, and there is nothing to recover from.
    let unharmed = cell(&results, "recovery", 512);
    assert!(unharmed.figures.iter().all(|figure| figure.value.is_none()), "{unharmed:?}");
    let ways: Vec<_> = unharmed.trials.iter().flat_map(|trial| &trial.directions).collect();
    assert!(ways.len() > 1 && ways.iter().all(|way| way.time_ns.is_none()), "{unharmed:?}");
    // It starts in 30 ms; then ARP, at once.
    let reset = figure(cell(&results, "reset", 64), "reset");
    assert!((30e6..=33e6).contains(&reset), "{reset} ns");
    assert!(!results.cells.iter().any(|c| c.procedure == "reset" && c.frame_size == 512));

    // When it happened: one trial of each has its course, and what is kept is the sum of its trial.
    for procedure in ["throughput", "latency", "recovery", "reset"] {
        let cell = cell(&results, procedure, 64);
        let (trial, course) = cell.course().unwrap_or_else(|| panic!("{cell:?}"));
        assert_eq!(course.sums(), (trial.sent, trial.received), "{procedure}");
        assert_eq!(cell.trials.iter().filter(|trial| trial.series.is_some()).count(), 1);
        let greatest = course.latency_max_ns.iter().max().unwrap();
        let of_trial = trial.latency.as_ref().map_or(*greatest, |latency| latency.max_ns);
        assert_eq!(*greatest, of_trial, "{procedure}");
    }
    assert_eq!(cell(&results, "throughput", 64).course().unwrap().0.load, rate);
    assert!(loss.course().is_none() && bursts.course().is_none());
    // While it starts nothing comes, and what is sent is missing from then on.
    let course = cell(&results, "reset", 64).course().unwrap().1;
    let silent = course.received.iter().filter(|n| **n == 0).count() as u64;
    assert!((28..=32).contains(&(silent * course.interval_ns / 1_000_000)), "{course:?}");
    assert!(course.received[0] > 0 && *course.received.last().unwrap() > 0, "{course:?}");
    assert!(*course.missing().last().unwrap() > 5_000, "{course:?}");
    // From the overload to half of it.
    let course = cell(&results, "recovery", 64).course().unwrap().1;
    let (first, last) = (course.sent[1] as f64, course.sent[course.len() - 2] as f64);
    assert!((last / first - 0.5).abs() < 0.02, "{course:?}");
    assert!(course.latency_max_ns[1] > 10 * course.latency_max_ns[course.len() - 2]);
}

/// Frames a second are that of every length; of the longest the wire is the bound.
#[test]
fn bounds_of_a_search_in_frames() {
    let traffic = "flows = \"pair\"\nframe-sizes = [64, 512, 1518]";
    let search = "[[procedure]]\nkind = \"throughput\"\nhighest = \"10k\"";
    let results = measure(&plan(traffic, search), ROUTER);
    let found = [64, 512, 1518].map(|size| {
        let cell = cell(&results, "throughput", size);
        (cell.figures[0].value.map(f64::round), cell.limited_by)
    });
    let expected = [
        (Some(10_000.0), Some(Limit::Plan)),
        (Some(10_000.0), Some(Limit::Plan)),
        (Some(8127.0), Some(Limit::Wire)),
    ];
    assert_eq!(found, expected);
}

/// RFC 9971 wants all attributes of a goal told.
#[test]
fn goals_are_told_with_all_attributes() {
    let search = "[[procedure]]\nkind = \"throughput\"\ncriteria = [\"bisection\", \"mikrotik\"]";
    let plan = plan("flows = \"pair\"\nframe-sizes = [1518]", search);
    let [goal] = &*plan.procedures[0].goals() else { panic!("{plan:?}") };
    let expected = "mikrotik: goal loss ratio 0.01%, goal exceed ratio 0%, goal initial trial duration \
                    1s, goal final trial duration 10s, goal duration sum 10s, goal width 0.5%, min load \
                    0.1% of the wire, max load 100% of the wire (if the tester sends so many)";
    assert_eq!(goal, expected);
}

#[test]
fn the_same_numbers_twice() {
    let procedures = "[[procedure]]\nkind = \"throughput\"\ncriteria = [\"mikrotik\", \"verified\"]\n\
                      [[procedure]]\nkind = \"delay-variation\"";
    let plan = plan("frame-sizes = [128]\nflows = \"pair\"", procedures);
    let (a, b) = (measure(&plan, ROUTER), measure(&plan, ROUTER));
    assert_eq!(a, b);
    assert_eq!(a.patience, None, "nothing disturbs virtual time");
    // Of two directions the worst, and neither has more.
    let varied = cell(&a, "delay-variation", 128);
    let pdv = figure(varied, "PDV");
    let of_ways = varied.trials.iter().flat_map(|trial| &trial.directions);
    let most = of_ways.filter_map(|way| way.pdv_ns).max().unwrap() as f64;
    assert!((0.0..=most).contains(&pdv), "{pdv}, {most}");
    assert!(varied.figures[1].name.ends_with(" worst direction]"), "{varied:?}");
}

/// What is asked and told while frames are forwarded (RFC 2544 §11.2, §11.3): our router speaks
/// neither SNMP nor RIP, and the result says what it did instead.
#[test]
fn questions_and_routing_updates() {
    let procedures = "[[procedure]]\nkind = \"throughput\"\n[[procedure]]\nkind = \"frame-loss\"\n\
                      [[procedure]]\nkind = \"back-to-back\"\n[[procedure]]\nkind = \"reset\"";
    let mut plan = plan("frame-sizes = [64]\nflows = \"pair\"", procedures);
    plan.modifiers = vec![Modifier::Queries, Modifier::Updates(Version::One), Modifier::Broadcasts];
    let results = measure(&plan, ROUTER);
    let names: Vec<&str> = results.configurations.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["management-queries", "routing-updates", "1-percent-broadcasts"]);
    assert_eq!(results.cells.len(), 12);
    for cell in &results.cells {
        // No trial is as long as a second.
        let n = cell.trials.len();
        if cell.configuration == "1-percent-broadcasts" {
            let without =
                cell.remarks.iter().any(|remark| remark.starts_with("without the modifier"));
            let is_steady = ["throughput", "frame-loss"].contains(&cell.procedure.as_str());
            assert_eq!(without, !is_steady, "{cell:?}");
            continue;
        }
        let said = match cell.configuration.as_str() {
            // It was not there to refuse it while it started, or forgot to.
            "management-queries" if cell.procedure == "reset" => "management queries (SNMP): 0 of ",
            "management-queries" => {
                &format!("management queries (SNMP): 0 of {n} answered, {n} refused (ICMP)")
            }
            _ => &format!(
                "routing updates (RIP): {n} sent, nothing the device sends tells of their networks"
            ),
        };
        assert!(cell.remarks.iter().any(|remark| remark.starts_with(said)), "{said}: {cell:?}");
    }
    // One frame more in a tenth of a second.
    for cell in results.cells.iter().filter(|cell| cell.procedure == "throughput") {
        let rate = figure(cell, "throughput[rfc2544 0.1s 0 loss]");
        assert!((99_500.0..=100_700.0).contains(&rate), "{rate}");
    }
}

#[test]
fn bridges_and_their_ports() {
    let kinds = ["throughput", "forwarding", "congestion", "broadcast", "address-learning"];
    let mut procedures: Vec<String> =
        kinds.iter().map(|kind| format!("[[procedure]]\nkind = \"{kind}\"\n")).collect();
    procedures.push("[[procedure]]\nkind = \"address-caching\"\nmost = 2000\n".to_string());
    let plan = plan("frame-sizes = [64]\nflows = \"hosts\"", &procedures.concat());
    let results = measure(&plan, BRIDGE);
    let rate = figure(cell(&results, "throughput", 64), "throughput");
    assert!((99_500.0..=100_700.0).contains(&rate), "{rate}");
    // The model forwards as much however much is offered.
    let forwarding = cell(&results, "forwarding", 64);
    assert!((figure(forwarding, "FRMOL") - 200e3).abs() < 5e3, "{forwarding:?}");
    // What is forwarded without loss is forwarded; two of the four ports send.
    assert!(figure(forwarding, "MFR[") >= 2.0 * rate * 0.999, "{rate}, {forwarding:?}");
    // One processor for all ports: congestion at one is overload for all.
    assert!(figure(cell(&results, "congestion", 64), "loss to the congested port") > 30.0);
    // One frame in, three out, in one go: the wire in is the limit.
    let broadcast = figure(cell(&results, "broadcast", 64), "broadcast throughput");
    assert!((148e3..=149e3).contains(&broadcast), "{broadcast}");
    let kept = cell(&results, "address-caching", 64);
    assert_eq!(figure(kept, "address caching capacity"), 2000.0);
    assert!(kept.remarks[0].starts_with("at least"), "{kept:?}");
    let learned = figure(cell(&results, "address-learning", 64), "address learning rate");
    assert!(learned > 140e3, "{learned}");
}

#[test]
fn connections_through_nat() {
    let script = format!(
        "{ROUTER}\n/ip firewall connection tracking set enabled=yes\n\
         /ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade"
    );
    let procedures = "[[procedure]]\nkind = \"establishment\"\nconnections = 2000\n\
                      [[procedure]]\nkind = \"capacity\"\nfirst = 1000\nmost = 4000\nrate = 50000\n\
                      [[procedure]]\nkind = \"tear-down\"\nconnections = 100";
    let plan = plan("frame-sizes = [64]\nflows = \"pair\"", procedures);
    let results = measure(&plan, &script);
    // One way at a time: all of the wire's 148,809, the processor would do 200,000.
    let rate = figure(cell(&results, "establishment", 64), "maximum connection");
    assert!((148e3..=149e3).contains(&rate), "{rate}");
    let table = cell(&results, "capacity", 64);
    assert_eq!(figure(table, "connection table capacity"), 4000.0);
    let refused = cell(&results, "tear-down", 64);
    assert!(refused.remarks[0].contains("virtual time"), "{refused:?}");
}

#[test]
fn real_connections_through_nat_and_fasttrack() {
    let script = include_str!("../../../../configs/tcp.rsc");
    let procedures = "[[procedure]]\nkind = \"tcp-connections\"\nrequest = 64\nresponse = 100\n\
                      [[procedure]]\nkind = \"tcp-transactions\"\nconnections = 20\n\
                      transactions = 50\nresponse = 5000\n\
                      [[procedure]]\nkind = \"tcp-concurrent\"\nfirst = 500\nmost = 2000\n\
                      rate = 5000\nhold = \"60s\"";
    let plan = plan("frame-sizes = [1518]\nflows = \"pair\"", procedures);
    let results = measure(&plan, script);

    // A connection is seven frames (SYN, its answer, request with ACK, response; FIN, FIN, ACK), 5 µs
    // each: 28,571 a second; the rings make a short trial look a little better.
    let rates = cell(&results, "tcp-connections", 1518);
    let rate = figure(rates, "TCP connections per second[rfc9411 §7.2 0.0");
    assert!((20_000.0..=32_000.0).contains(&rate), "{rate}");
    // Every connection of the best trial, both ways, byte for byte.
    let passed = rates.trials.iter().filter(|trial| trial.outcome == "pass");
    let best = passed.max_by_key(|trial| trial.tcp.unwrap().due).unwrap().tcp.unwrap();
    assert_eq!((best.closed, best.established, best.opened), (best.due, best.due, best.due));
    assert_eq!((best.transactions, best.retransmitted), (best.due, 0));
    assert_eq!((best.bytes_sent, best.bytes_received), (164 * best.due, 164 * best.due));
    assert!(rates.trials.iter().any(|trial| trial.outcome == "fail"), "{rates:?}");

    let talk = cell(&results, "tcp-transactions", 1518);
    let per_second = figure(talk, "TCP transactions per second");
    let goodput = figure(talk, "goodput");
    assert!((goodput / (per_second * 5064.0 * 8.0 / 1e6) - 1.0).abs() < 1e-9, "{talk:?}");
    // 100 Mbit/s of wire, less headers: 94.9 of data at the most (RFC 6349 §4), and the requests, which
    // go the other way.
    assert!((40.0..96.2).contains(&goodput), "{goodput}");
    assert_eq!(talk.histogram.iter().map(|(_, n)| n).sum::<u64>(), 1000);
    let (trial, course) = talk.course().unwrap_or_else(|| panic!("{talk:?}"));
    assert_eq!(course.sums(), (trial.sent, trial.received));
    let tcp = trial.tcp.unwrap();
    let sums = [&course.established, &course.transactions, &course.bytes]
        .map(|all| all.iter().sum::<u64>());
    assert_eq!(sums, [tcp.established, tcp.transactions, tcp.bytes_received], "{course:?}");

    let table = cell(&results, "tcp-concurrent", 1518);
    assert_eq!(figure(table, "concurrent TCP connections"), 2000.0);
    assert!(table.remarks.iter().any(|remark| remark.starts_with("at least")), "{table:?}");
}

/// More connections than a transmit buffer has room for, each with a whole window to send: what waits,
/// waits in its host, and what is not received the device has lost.
#[test]
fn segments_that_the_tester_holds_back_are_not_lost() {
    for (connections, ring, lost) in [(16, 64, false), (128, 100_000, false), (128, 16, true)] {
        let text = format!(
            "[[procedure]]\nkind = \"tcp-transactions\"\nconnections = {connections}\n\
             transactions = 20\nrequest = 64\nresponse = 16384\nrepetitions = 1\n"
        );
        let mut plan = plan("frame-sizes = [1518]\nflows = \"pair\"", &text);
        plan.simulated.ring = ring;
        let results = measure(&plan, ROUTER);
        let cell = cell(&results, "tcp-transactions", 1518);
        let [trial] = cell.trials.as_slice() else { panic!("{cell:?}") };
        assert_eq!(trial.outcome, "pass", "{connections} {ring}: {cell:?}");
        assert_eq!(trial.sent, trial.intended, "{connections} {ring}: {cell:?}");
        // Every segment that is missing has a reason of the device's.
        let dropped: u64 = cell.dropped.values().sum();
        assert_eq!(trial.sent - trial.received, dropped, "{connections} {ring}: {cell:?}");
        assert_eq!(dropped > 0, lost, "{connections} {ring}: {cell:?}");
    }
}

/// The plan of RFC 6349 as it stands: 10 Mbit/s, 40 ms, what windows make of it.
#[test]
fn tcp_over_a_path_with_a_bottleneck() {
    let plan = include_str!("../../../../plans/rfc6349.toml");
    let plan = plan::read(plan, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}"));
    let results = measure(&plan, include_str!("../../../../configs/rfc2544.rsc"));
    let path = cell(&results, "tcp-path", 1518);
    assert_eq!(figure(path, "path MTU"), 1500.0);
    assert!(path.remarks[0].starts_with("path MTU at least"), "{path:?}");
    // Four wires of 10 ms, and what the lines and the device take.
    let rtt = figure(path, "baseline RTT");
    assert!((40.0e6..=40.6e6).contains(&rtt), "{rtt}");
    // 812.74 full frames a second; 9.49 Mbit/s of data.
    let ideal = figure(path, "ideal TCP throughput");
    assert!((ideal - 9.493).abs() < 0.02, "{ideal}");
    // Connections, window of the BDP; throughput by ideal, efficiency and buffer delay in per cent.
    let rows: Vec<&Cell> =
        results.cells.iter().filter(|cell| cell.procedure == "tcp-throughput").collect();
    assert_eq!(rows.len(), 7);
    for (row, (connections, window, share, efficiency, delay)) in rows.iter().zip([
        (1.0, 25.0, 0.20..0.26, 100.0..100.1, -1.0..10.0),
        (1.0, 50.0, 0.44..0.51, 100.0..100.1, -1.0..10.0),
        (1.0, 100.0, 0.90..1.0, 100.0..100.1, -1.0..15.0),
        // The second half of the window waits in the buffer, all the time; and what of it is no whole
        // segment, in one of its own.
        (1.0, 200.0, 0.98..1.0, 100.0..100.1, 70.0..110.0),
        // 133 frames fit path and buffer, the window has 270.
        (1.0, 800.0, 0.60..1.0, 90.0..99.999, 70.0..400.0),
        (4.0, 100.0, 0.85..1.0, 100.0..100.1, -1.0..20.0),
        (4.0, 200.0, 0.97..1.0, 100.0..100.1, 60.0..105.0),
    ]) {
        assert_eq!((figure(row, "connections"), figure(row, "windows")), (connections, window));
        let reached = figure(row, "TCP throughput[rfc6349 30s]") / figure(row, "ideal");
        assert!(share.contains(&reached), "{window}: {reached} {row:?}");
        let ratio = figure(row, "TCP transfer time ratio");
        assert!((ratio * reached - 1.0).abs() < 1e-6, "{ratio} {reached}");
        assert!(efficiency.contains(&figure(row, "TCP efficiency")), "{window}: {row:?}");
        assert!(delay.contains(&figure(row, "buffer delay")), "{window}: {row:?}");
    }
}

/// A bottleneck is one in both directions: so much comes through, there and back, and the rest is lost in
/// its buffers, none of it at the tester.
#[test]
fn a_bottleneck_there_and_back() {
    let stream = |from, to| {
        format!(
            "[[stream]]\nstack = \"eth/ipv4/udp\"\nfrom = {from}\nto = {to}\nsizes = 1230\n\
             rate = 2000\nduration = \"2s\"\n"
        )
    };
    let text = format!(
        "name = \"narrow\"\n[device]\n[medium]\nlink = \"100M\"\n[traffic]\nflows = \"pair\"\n\
         [[procedure]]\nkind = \"streams\"\n{}{}[virtual]\nlink = \"100M\"\nframe = \"5us\"\n\
         bottleneck = \"10M\"\nbuffer = 50\n\
         [virtual.scaling]\ndivide-durations-by = 1.0\n",
        stream(1, 2),
        stream(2, 1)
    );
    let plan = plan::read(&text, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}\n{text}"));
    let results = measure(&plan, ROUTER);
    let [trial] = &results.cells[0].trials[..] else { panic!("{:?}", results.cells) };
    assert!(!trial.outcome.starts_with("invalid"), "{trial:?}");
    for stream in &trial.streams {
        assert_eq!((stream.intended, stream.sent), (4000, 4000), "{stream:?}");
        // 1250 bytes of wire are 1 ms: 2000 in two seconds, and what the buffer held when it ended.
        assert!((2000..=2053).contains(&stream.received), "{stream:?}");
        assert_eq!(stream.received + stream.lost, stream.sent, "{stream:?}");
    }
}

/// Streams with a VLAN tag through a router without VLANs: the short frames are lost as the long ones, and
/// no MTU is to blame. The router says what is.
#[test]
fn streams_that_the_router_drops() {
    let stream = |name: &str, stack: &str, sizes: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\nstack = \"{stack}\"\nsizes = {sizes}\nrate = \"1kpps\"\n\
             duration = \"100ms\"\n"
        )
    };
    let procedures = format!(
        "[[procedure]]\nkind = \"streams\"\n{}{}",
        stream("tagged", "eth/vlan/ipv4/udp", "\"72:7,1522:1\""),
        stream("plain", "eth/ipv4/udp", "64")
    );
    let results = measure(&plan("flows = \"pair\"", &procedures), ROUTER);
    let remarks = results.cells[0].remarks.join("\n");
    assert!(remarks.contains("nothing of tagged came; the device dropped "), "{remarks}");
    assert!(remarks.contains(" as unknown-vlan"), "{remarks}");
    assert!(!remarks.contains("MTU"), "{remarks}");
}

/// A router with a smaller MTU behind it: segments that do not fit do not come through.
#[test]
fn a_path_with_a_smaller_mtu() {
    let script = format!("{ROUTER}\n/interface ethernet set ether1 mtu=1400");
    let plan = plan(
        "frame-sizes = [1518]\nflows = \"pair\"\nbidirectional = false",
        "[[procedure]]\nkind = \"tcp-path\"",
    );
    let path = measure(&plan, &script);
    let path = cell(&path, "tcp-path", 1518);
    assert_eq!(figure(path, "path MTU"), 1400.0);
    assert_eq!(path.remarks, [""; 0]);
    // 100 Mbit/s of frames of 1418 bytes, 1360 of them data.
    let ideal = figure(path, "ideal TCP throughput");
    assert!((ideal - 100.0 * 1360.0 / 1438.0).abs() < 0.5, "{ideal}");
}

/// Connections that are forgotten while they are held break, and are seen to.
#[test]
fn connections_that_do_not_hold() {
    let script = format!(
        "{}\n/ip firewall connection tracking set tcp-established-timeout=5s",
        include_str!("../../../../configs/tcp.rsc")
    );
    let procedures = "[[procedure]]\nkind = \"tcp-concurrent\"\nfirst = 100\nmost = 200\n\
                      rate = 5000\nhold = \"7000s\"";
    let plan = plan("frame-sizes = [1518]\nflows = \"pair\"", procedures);
    let results = measure(&plan, &script);
    let table = cell(&results, "tcp-concurrent", 1518);
    assert_eq!(table.figures[0].value, None, "{table:?}");
    assert!(table.trials.iter().all(|trial| trial.outcome == "fail"), "{:?}", table.trials);
}

#[test]
fn an_interrupted_suite_says_so_and_keeps_its_cells() {
    let procedures = "[[procedure]]\nkind = \"throughput\"\n[[procedure]]\nkind = \"frame-loss\"";
    let plan = plan("frame-sizes = [64, 512]\nflows = \"pair\"", procedures);
    let options = options(ROUTER);
    let (plan, scaling) = scaled(&plan, &options);
    let mut n = 0;
    let results = run(&plan, scaling, &options, |progress| {
        if let lab::suite::Progress::Done(_) = progress {
            n += 1;
            options.interrupt.store(n == 2, Ordering::Relaxed);
        }
    });
    assert_eq!(
        (results.complete, results.incomplete_because.as_deref()),
        (false, Some("interrupted"))
    );
    assert!(results.cells.len() >= 2, "{:?}", results.cells.len());
    assert!(results.scaling.as_ref().is_some_and(|said| said.contains("divided by 600")));
}

/// Ctrl-C while a trial runs: its counts are the last trial of the cell under way, and no fault.
#[test]
fn an_interrupted_trial_is_the_last_one_kept() {
    for (procedure, traffic) in [
        ("kind = \"frame-loss\"", "frame-sizes = [64, 512]\nflows = \"pair\""),
        ("kind = \"streams\"", "flows = \"pair\""),
    ] {
        let streams = match procedure.contains("streams") {
            true => {
                "[[stream]]\nname = \"one\"\nstack = \"eth/ipv4/udp\"\nsizes = 64\nrate = \"100kpps\"\nduration = \"60s\"\n"
            }
            false => "",
        };
        let plan = plan(traffic, &format!("[[procedure]]\n{procedure}\n{streams}"));
        let options = options(ROUTER);
        let (plan, scaling) = scaled(&plan, &options);
        let results = run(&plan, scaling, &options, |progress| {
            if let lab::suite::Progress::Begin { .. } = progress {
                options.interrupt.store(true, Ordering::Relaxed);
            }
        });
        let [cell] = results.cells.as_slice() else { panic!("{:?}", results.cells) };
        let [trial] = cell.trials.as_slice() else { panic!("{cell:?}") };
        assert!(trial.outcome.starts_with("invalid: interrupted after "), "{trial:?}");
        assert!(0 < trial.sent && trial.received <= trial.sent, "{trial:?}");
        let of_streams: u64 = trial.streams.iter().map(|stream| stream.sent).sum();
        assert_eq!(of_streams, if streams.is_empty() { 0 } else { trial.sent });
        assert_eq!(cell.remarks, ["interrupted"], "{cell:?}");
        assert_eq!(results.incomplete_because.as_deref(), Some("interrupted"));
        assert_eq!(results.faults(), [""; 0]);
    }
}

#[test]
fn a_device_that_does_not_forward_is_said_not_to() {
    let procedures = "[[procedure]]\nkind = \"throughput\"";
    let plan = plan("frame-sizes = [64]\nflows = \"pair\"", procedures);
    let script = format!("{ROUTER}\n/ip firewall filter add chain=forward action=drop");
    for (script, expected) in [
        (script.as_str(), "the device does not forward"),
        ("/ip address add address=198.18.1.1/24 interface=ether1", "nobody answers ARP"),
        ("/ip adress add", "the configuration, line 1"),
    ] {
        let options = options(script);
        let (plan, scaling) = scaled(&plan, &options);
        let results = run(&plan, scaling, &options, |_| {});
        let why = results.incomplete_because.unwrap();
        assert!(why.contains(expected), "{why}");
    }
}
