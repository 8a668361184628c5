//! Every row of the table is what it says: all its traffic passes, its rules match nothing, the
//! device's counters agree with the tester's.

use crate::left_out;
use config::Tree;
use lab::bench::{self, Kept, Kind, Plan};
use lab::configuration::{ALL, Configuration};
use lab::device::{Device, fast_path_packets};
use lab::net::Net;
use lab::routes::Table;
use lab::tester::row::RowTester;
use lab::{one_core, placement};
use measure::mlrsearch::Goal;
use measure::template::shortest;
use measure::trial::Outcome;
use measure::{Environment, Family, Mode, Row, Trial, Verdict};
use std::time::Duration;
use wire::FrameLen;

const SHORT: Duration = Duration::from_millis(3);

/// The share of frames that the slow path is spared once all is known.
fn expected_share(configuration: &Configuration) -> f64 {
    match (configuration.mode, configuration.name) {
        // RouterOS's condition: no bridge filter. Rules are read for every frame.
        (Mode::Bridging, "25-filter-rules") => 0.0,
        _ => 1.0,
    }
}

/// What a device's interfaces have seen: frames in, frames out.
fn interfaces(device: &Device) -> (u64, u64) {
    let ids = ["ether1", "ether2"].map(|name| device.router.program().names.find(name).unwrap());
    let counts = ids.map(|id| device.router.interface_counts(id));
    (counts.iter().map(|c| c.rx.packets).sum(), counts.iter().map(|c| c.tx.packets).sum())
}

/// Every frame came back. Other programs may have had the processor meanwhile: then its time says nothing,
/// and its frames do all the same.
fn is_whole(trial: &Trial) -> bool {
    let disturbed = matches!(trial.outcome, Outcome::Invalid(reason) if reason.is_disturbance());
    trial.counts.received == trial.counts.sent && (trial.outcome == Outcome::Pass || disturbed)
}

/// Whether other programs had a processor too long for the row to say anything.
fn is_of_a_busy_machine(row: &Row) -> bool {
    let why = row.remark.as_deref().unwrap_or_default();
    row.verdict == Verdict::Invalid && why.contains("other programs had a processor")
}

#[test]
fn every_row_forwards_every_frame_and_counters_agree() {
    let _turn = crate::turn();
    let tables = [Family::Ipv4, Family::Ipv6].map(|family| Table::synthetic(family, 9000, 1));
    for configuration in ALL {
        let family = configuration.family;
        let table = &tables[usize::from(family == Family::Ipv6)];
        let name = format!("{} {}", configuration.mode.of(family), configuration.name);
        let (mut device, wires) = Device::new(2).unwrap();
        let Ok(wires) = <[_; 2]>::try_from(wires) else { panic!("two wires") };
        let mut tester = RowTester::new(wires, device.slab());
        device.load(configuration.file, configuration.script).unwrap();
        device.feed(family, table).unwrap();
        tester.net = Net::of(family);
        for frame in [shortest(family), FrameLen::MAX] {
            let bytes = frame.l2();
            tester
                .prepare(&mut device, configuration.traffic, Some(table), frame, 1)
                .unwrap_or_else(|unfit| panic!("{name}: {unfit}"));
            let (rx, tx) = interfaces(&device);
            let fast = fast_path_packets(&device.router);
            let trial = one_core::trial(&mut device, &mut tester, SHORT);
            let counts = trial.counts;
            let seen = format!("{name}, {bytes}: {counts:?} {:?}", device.router.discards());
            assert!(is_whole(&trial), "{:?} {seen}", trial.outcome);
            assert!(counts.sent >= one_core::CHUNK as u64, "{seen}");
            assert_eq!((counts.reordered, counts.duplicate), (0, 0), "{seen}");
            // A router of IPv6 says now and then that it is there, and what it listens to.
            let own = if family == Family::Ipv6 { 0..=4 } else { 0..=0 };
            assert!(own.contains(&counts.foreign), "{seen}");
            let (rx, tx) = (interfaces(&device).0 - rx, interfaces(&device).1 - tx);
            assert_eq!(rx, counts.sent, "{seen}");
            assert!(own.contains(&(tx - counts.received)), "{tx} sent: {seen}");
            let fast = fast_path_packets(&device.router) - fast;
            let share = fast as f64 / counts.received as f64;
            let expected = expected_share(configuration);
            assert!((share - expected).abs() < 0.01, "{share} instead of {expected}; {seen}");
        }
        matches_nothing(&mut device, configuration);
    }
}

/// The 25 rules dropped nothing: where a row has them they are all there, and none has matched.
fn matches_nothing(device: &mut Device, configuration: &Configuration) {
    let tree: Tree = device.tree().clone();
    let mut drops = vec![];
    for menu in ["/ip firewall filter", "/ipv6 firewall filter", "/interface bridge filter"] {
        let counts = device.router.rule_counts(menu, &tree);
        let rules = tree.items(menu).iter().zip(&counts).filter(|(item, _)| {
            matches!(item.get("action"), Some(config::Value::Text(action)) if action == "drop")
        });
        drops.extend(rules.map(|(_, count)| count.packets));
    }
    let has_rules = ["25-filter-rules", "fasttrack"].contains(&configuration.name);
    let expected = if has_rules { vec![0; 25] } else { vec![] };
    assert_eq!(drops, expected, "{} {}", configuration.mode, configuration.name);
}

#[test]
fn fasttracked_and_masqueraded() {
    let _turn = crate::turn();
    let configuration = ALL.iter().find(|c| c.name == "fasttrack").unwrap();
    let (mut device, wires) = Device::new(2).unwrap();
    let Ok(wires) = <[_; 2]>::try_from(wires) else { panic!("two wires") };
    let mut tester = RowTester::new(wires, device.slab());
    device.load(configuration.file, configuration.script).unwrap();
    tester.prepare(&mut device, configuration.traffic, None, FrameLen::MIN, 1).unwrap();
    let before = device.router.path_counts().ipv4_fasttrack.packets;
    let trial = one_core::trial(&mut device, &mut tester, SHORT);
    let fasttracked = device.router.path_counts().ipv4_fasttrack.packets - before;
    let share = fasttracked as f64 / trial.counts.received as f64;
    assert!(share > 0.99, "{share}");
    let tree = device.tree().clone();
    let masqueraded = device.router.rule_counts("/ip firewall nat", &tree);
    assert_eq!(masqueraded[0].packets, 5000, "one for each connection of the second half");
}

#[test]
fn every_packet_passes_its_clients_queue() {
    let _turn = crate::turn();
    let configuration = ALL.iter().find(|c| c.name == "25-simple-queues").unwrap();
    let (mut device, wires) = Device::new(2).unwrap();
    let Ok(wires) = <[_; 2]>::try_from(wires) else { panic!("two wires") };
    let mut tester = RowTester::new(wires, device.slab());
    device.load(configuration.file, configuration.script).unwrap();
    let passed = |device: &mut Device, property: &str| -> u64 {
        let get = |i| format!(":put [/queue simple get client{i} {property}]\n");
        let text = device.load("console", &(101..=125).map(get).collect::<String>()).unwrap();
        text.split(['/', '\n']).filter_map(|n| n.parse::<u64>().ok()).sum()
    };
    tester.prepare(&mut device, configuration.traffic, None, FrameLen::MIN, 1).unwrap();
    let before = passed(&mut device, "packets");
    let trial = one_core::trial(&mut device, &mut tester, SHORT);
    assert_eq!(passed(&mut device, "packets") - before, trial.counts.received);
    assert_eq!(passed(&mut device, "dropped"), 0);
    assert!(is_whole(&trial), "{:?}", trial.outcome);
}

#[test]
fn a_plan_on_one_core_and_on_two() {
    let _turn = crate::turn();
    let none: Vec<_> = ALL.iter().filter(|c| c.name == "none").collect();
    assert_eq!(none.iter().filter(|c| c.family == Family::Ipv6).count(), 1);
    for pair in [None, placement::pair()] {
        let plan = Plan {
            devices: vec![Kind::Memory],
            turns: None,
            external: None,
            criterion: None,
            generator: None,
            documents: Vec::new(),
            pair,
            sizes: vec![FrameLen::MIN, FrameLen::MAX],
            configurations: none.clone(),
            duration: Duration::from_millis(10),
            seed: 1,
            table: None,
        };
        let measured = || {
            let (mut shown, kept) = (0, Kept::new(Environment::default()));
            bench::run(&plan, &kept, |_| shown += 1).unwrap();
            let results = kept.so_far();
            // IPv6 has no 64 byte; of that length, its shortest, IPv4 has a row, too.
            let sizes: Vec<u32> = results.rows.iter().map(|row| row.frame_size).collect();
            assert_eq!((sizes.as_slice(), shown), (&[64, 1518, 64, 84, 1518, 84, 1518][..], 14));
            assert_eq!(plan.cells(), 7);
            let six: Vec<_> = results.rows.iter().filter(|r| r.family == Family::Ipv6).collect();
            assert_eq!(six.len(), 2);
            let said = six[0].remark.as_deref().unwrap_or_default();
            assert!(said.contains("in place of 64 byte"), "{said}");
            assert!(!six[1].remark.as_deref().unwrap_or_default().contains("in place"));
            results
        };
        // On two cores the machine may be so busy that a device is let in for no moment of 10 ms, or
        // takes longer for a packet than its rate allows, being put aside meanwhile.
        let is_sound = |row: &Row| row.forwarded > 0 && row.faults().is_empty();
        let mut results = measured();
        for _ in 0..20 {
            if pair.is_none() || results.rows.iter().all(is_sound) {
                break;
            }
            results = measured();
        }
        for row in &results.rows {
            assert_eq!(row.faults(), [], "{row:?}");
            assert!(row.forwarded > 0 && row.forwarded <= row.sent, "{row:?}");
            assert_eq!(row.cores, if pair.is_some() { 2 } else { 1 });
            // On two cores the machine may be too busy for a verdict.
            let is_busy = pair.is_some() || is_of_a_busy_machine(row);
            assert!(is_busy || row.verdict == Verdict::Pass, "{row:?}");
            assert_eq!(row.router_ns_per_packet.is_some(), row.verdict != Verdict::Invalid);
            assert_eq!(row.tester_pps.is_some(), pair.is_some());
        }
    }
}

/// A rate by a goal of RFC 9971, named with its lengths, beside the one at the highest load.
#[test]
fn a_plan_with_a_criterion() {
    let _turn = crate::turn();
    let Some(pair) = placement::pair() else { return left_out::left_out("one processor") };
    let goal = Goal {
        initial_trial: Duration::from_millis(2),
        final_trial: Duration::from_millis(5),
        duration_sum: Duration::from_millis(5),
        ..Goal::mikrotik()
    };
    let plan = Plan {
        devices: vec![Kind::Memory],
        turns: None,
        external: None,
        criterion: Some(goal),
        generator: None,
        documents: Vec::new(),
        pair: Some(pair),
        sizes: vec![FrameLen::MIN],
        configurations: ALL
            .iter()
            .filter(|c| (c.name, c.family) == ("none", Family::Ipv4))
            .collect(),
        duration: Duration::from_millis(100),
        seed: 1,
        table: None,
    };
    let kept = Kept::new(Environment::default());
    bench::run(&plan, &kept, |_| {}).unwrap();
    // A machine may be so busy that nothing comes through in time, or that the highest load says
    // nothing: then nothing is searched.
    for row in kept.so_far().rows.iter().filter(|row| row.forwarded > 0) {
        let Some(criterion) = &row.criterion else {
            assert_eq!(row.verdict, Verdict::Invalid, "{row:?}");
            assert_eq!((row.no_drop, row.router_ns_per_packet), (None, None), "{row:?}");
            continue;
        };
        assert_eq!(criterion, "throughput[mikrotik 0.005s/0.005s 0.01% exceed 0%]", "{row:?}");
        assert_eq!(row.faults(), [], "{row:?}");
        // On a busy machine no load may have met it.
        let most = row.tester_pps.unwrap();
        assert!(row.no_drop.is_none_or(|pps| pps <= most), "{row:?}");
    }
}
