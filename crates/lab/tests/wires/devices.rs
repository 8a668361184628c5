//! Devices on real veths do what their rows say: the kernel's own counters agree with the tester's.
//!
//! Every test makes namespaces of its own; without the right to, or a program that it takes, each says
//! so and returns (except with `CI` set).

use crate::left_out;
use lab::bench::device::{Cannot, Job};
use lab::bench::testpmd::Driver;
use lab::bench::wired::WiredTestbed;
use lab::bench::{self, BenchError, Generator, Kept, Kind, Plan};
use lab::configuration::{ALL, Configuration, Traffic};
use lab::kernel::ask;
use lab::kernel::{classes, witness};
use lab::placement;
use lab::routes::Table;
use measure::template::shortest;
use measure::trial::{Counts, Outcome};
use measure::{Comparison, Environment, Family, Mode, Results, Setup};
use port::linux::Namespace;
use std::process::Command;
use std::time::Duration;
use wire::{FrameLen, PacketRate};

/// Whether these programs, those that every device takes, or rights are lacking; then that is said.
fn skipped(programs: &[&str]) -> bool {
    if left_out::lacks(&[&["ip", "sysctl"], programs].concat()) {
        return true;
    }
    let Err(unavailable) = Namespace::new() else { return false };
    left_out::left_out(unavailable);
    true
}

fn rows(mode: Mode, family: Family, name: &str) -> Vec<&'static Configuration> {
    ALL.iter().filter(|row| (row.mode, row.family, row.name) == (mode, family, name)).collect()
}

fn plan(devices: &[Kind], mode: Mode, name: &str) -> Plan {
    Plan {
        devices: devices.to_vec(),
        pair: placement::pair(),
        sizes: vec![FrameLen::MIN],
        configurations: rows(mode, Family::Ipv4, name),
        duration: Duration::from_millis(200),
        seed: 1,
        table: None,
        turns: None,
        external: None,
        criterion: None,
        generator: None,
        documents: Vec::new(),
    }
}

fn measured(plan: &Plan) -> Results {
    let kept = Kept::new(Environment::default());
    bench::run(plan, &kept, |_| {}).unwrap();
    kept.so_far()
}

/// A device that does a row, introduced and warmed up.
fn testbed(kind: &Kind, mode: Mode, name: &str) -> WiredTestbed {
    stand_between(kind, mode, name, None)
}

fn stand_between(
    kind: &Kind,
    mode: Mode,
    name: &str,
    generator: Option<Generator>,
) -> WiredTestbed {
    let (plan, environment) =
        (plan(std::slice::from_ref(kind), mode, name), Environment::default());
    let plan = Plan { generator, ..plan };
    let configuration = plan.configurations[0];
    let job = Job { plan: &plan, configuration, table: None, environment: &environment };
    let mut testbed =
        WiredTestbed::new(kind, &job).unwrap_or_else(|cannot| panic!("{name}: {cannot:?}"));
    testbed.prepare(&job, FrameLen::MIN).unwrap_or_else(|error| panic!("{name}: {error}"));
    testbed
}

/// Sends at 10,000 frames a second until all come back: on a machine that does other things as well
/// a ring may run over now and then.
fn lossless(testbed: &mut WiredTestbed) -> Counts {
    let mut seen = Vec::new();
    for _ in 0..20 {
        let turn = testbed.trial(Some(PacketRate(10_000.0)), Duration::from_millis(300)).unwrap();
        let counts = turn.ran.trial.counts;
        if counts.received == counts.sent && counts.sent >= 2000 {
            assert_eq!((counts.duplicate, counts.corrupt), (0, 0), "{counts:?}");
            return counts;
        }
        seen.push(turn.ran.trial);
    }
    panic!("{}: {seen:#?}", testbed.name());
}

/// What a counter of a rule says: `counter packets 12 bytes 720`.
fn counted(namespace: &Namespace, family: &str) -> u64 {
    let text = ask(namespace, &format!("nft list table {family} filter")).unwrap();
    let number = text.split("counter packets ").nth(1).and_then(|text| text.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no counter: {text}"))
}

/// That packets went through a device and back, one by one, or that nobody could send them.
fn is_pinged(testbed: &WiredTestbed, has_ping: bool) {
    let Setup { ping, remarks, .. } = &testbed.setup;
    assert_eq!(ping.is_some(), has_ping, "{remarks:?}");
    match ping {
        Some(ping) => assert!(ping.answered > 0 && ping.p50_ns > 0, "{ping:?}"),
        None => assert!(remarks.iter().any(|why| why.contains("ping is not installed"))),
    }
}

#[test]
fn the_kernel_forwards_and_bridges() {
    let _turn = crate::turn();
    if skipped(&[]) {
        return;
    }
    let has_ping = !left_out::lacks_in_part(&["ping"]);
    for mode in [Mode::Routing, Mode::Bridging] {
        let mut testbed = testbed(&Kind::Linux, mode, "none");
        let before = ["d0", "d1"].map(|end| testbed.rig().counters(end).rx);
        let first = lossless(&mut testbed);
        let after = ["d0", "d1"].map(|end| testbed.rig().counters(end).rx);
        let seen: u64 = after.iter().zip(before).map(|(after, before)| after - before).sum();
        assert!(seen >= first.sent, "{mode}: {seen} frames at the kernel's ends, {first:?}");
        is_pinged(&testbed, has_ping);
        assert!(!testbed.setup.commands.is_empty());
    }
}

/// What is kept of a device makes it again, typed into a shell: the same links, offloads, threads,
/// routes and rules.
#[test]
fn what_is_kept_makes_it_again() {
    let _turn = crate::turn();
    if skipped(&["ethtool", "nft"]) {
        return;
    }
    let testbed = testbed(&Kind::Linux, Mode::Routing, "25-filter-rules");
    // Of the offloads, those that the program at the tester's end does not fix.
    let tells = "for end in d0 d1; do ip -br link show $end; cat /sys/class/net/$end/threaded; \
                 ethtool -k $end | grep -E '^([rt]x-checksumming|tcp-seg|generic-)'; done; \
                 ip route; ip neighbour show nud permanent | sort; nft list ruleset";
    let device = [testbed.setup.commands.join("\n"), format!("{{ {tells}; }} >&3")].join("\n");
    // Threads are called alike wherever they are, and these would be the device's own.
    let cables = testbed.setup.cables.iter().filter(|line| !line.contains("pgrep"));
    let cables = cables.map(String::as_str).collect::<Vec<_>>().join("\n");
    let script = format!(
        "mkdir -p /run/netns; mount -t tmpfs none /run/netns; set -e; exec 3>&1 >/dev/null\n\
         {cables}\nip netns exec device sh -e <<'END'\n{device}\nEND"
    );
    let typed = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]);
        let output = testbed.rig().device.output(command).unwrap();
        let [said, error] =
            [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
        assert!(output.status.success() && error.is_empty(), "{error}\n{script}");
        said.lines().map(str::to_string).collect::<Vec<_>>()
    };
    let is = typed(&format!("mount -t sysfs none /sys; {tells}"));
    let again = typed(&script);
    assert!(is.len() > 90 && is.iter().any(|line| line.contains("drop")), "{is:#?}");
    assert_eq!(is, again);
    assert!(testbed.setup.cables.iter().filter(|line| line.contains("pgrep")).count() >= 4);
}

#[test]
fn rules_are_read_and_connections_tracked() {
    let _turn = crate::turn();
    if skipped(&["nft"]) {
        return;
    }
    for (mode, family) in [(Mode::Routing, "ip"), (Mode::Bridging, "bridge")] {
        let mut testbed = testbed(&Kind::Linux, mode, "25-filter-rules");
        let device = &testbed.rig().device;
        // Behind the 25: what arrives here has been compared with them all.
        ask(device, &format!("nft add rule {family} filter forward counter")).unwrap();
        let said = witness(device, Family::Ipv4);
        assert!(said.contains(&"nft: 25 rules that drop".to_string()), "{said:?}");
        if mode == Mode::Routing {
            let connections = said.iter().find_map(|line| line.strip_prefix("conntrack: "));
            let connections = connections.and_then(|text| text.split(' ').next()?.parse().ok());
            assert!(connections.is_some_and(|n: u64| n >= 10_000), "{said:?}");
        }
        let before = counted(&testbed.rig().device, family);
        let counts = lossless(&mut testbed);
        let passed = counted(&testbed.rig().device, family) - before;
        assert!(passed >= counts.received, "{mode}: {passed} of {counts:?}");
    }
}

#[test]
fn every_client_has_a_class_at_both_ends() {
    let _turn = crate::turn();
    if skipped(&["tc"]) {
        return;
    }
    let mut testbed = testbed(&Kind::Linux, Mode::Routing, "25-simple-queues");
    let passed =
        |testbed: &WiredTestbed| ["d0", "d1"].map(|end| classes(&testbed.rig().device, end));
    let before = passed(&testbed);
    let counts = lossless(&mut testbed);
    let after = passed(&testbed);
    assert_eq!(after.map(|(classes, _)| classes), [25, 25], "{after:?}");
    let packets: u64 = after.iter().zip(before).map(|(after, before)| after.1 - before.1).sum();
    assert!(packets >= counts.received, "{packets} of {counts:?}");
}

#[test]
fn our_router_in_the_kernels_place() {
    let _turn = crate::turn();
    if skipped(&[]) {
        return;
    }
    let has_ping = !left_out::lacks_in_part(&["ping"]);
    for (mode, name, generator) in [
        (Mode::Routing, "25-filter-rules", Generator::Kernel),
        (Mode::Routing, "fasttrack", Generator::User),
        (Mode::Bridging, "none", Generator::Kernel),
    ] {
        let mut testbed = stand_between(&Kind::Wirespeed, mode, name, Some(generator));
        lossless(&mut testbed);
        is_pinged(&testbed, has_ping);
    }
}

/// The same rows by IPv6: frames of the tester in the kernel and of ours, rules read, connections tracked,
/// classes passed, routes there.
#[test]
fn the_kernel_and_our_router_by_ipv6() {
    let _turn = crate::turn();
    if skipped(&["nft", "tc"]) {
        return;
    }
    let has_ping = !left_out::lacks_in_part(&["ping"]);
    let table = Table::synthetic(Family::Ipv6, 9000, 1);
    for (kind, name, generator) in [
        (Kind::Linux, "none", Some(Generator::User)),
        (Kind::Linux, "25-filter-rules", None),
        (Kind::Linux, "25-simple-queues", None),
        (Kind::Linux, "conntrack", None),
        (Kind::Linux, "bgp-table", None),
        (Kind::Wirespeed, "25-filter-rules", None),
        (Kind::Wirespeed, "bgp-table", Some(Generator::User)),
    ] {
        let plan = plan(std::slice::from_ref(&kind), Mode::Routing, name);
        let configurations = rows(Mode::Routing, Family::Ipv6, name);
        let plan = Plan { generator, configurations, ..plan };
        let (configuration, environment) = (plan.configurations[0], Environment::default());
        let table = (configuration.traffic == Traffic::Table).then_some(&table);
        let job = Job { plan: &plan, configuration, table, environment: &environment };
        let mut testbed =
            WiredTestbed::new(&kind, &job).unwrap_or_else(|cannot| panic!("{name}: {cannot:?}"));
        let prepared = testbed.prepare(&job, shortest(Family::Ipv6));
        prepared.unwrap_or_else(|error| panic!("{kind:?}, {name}: {error}"));
        lossless(&mut testbed);
        is_pinged(&testbed, has_ping);
        let device = &testbed.rig().device;
        let said = witness(device, Family::Ipv6).join("; ");
        let routes =
            said.rsplit_once("ip -6: ").and_then(|(_, n)| n.split(' ').next()?.parse().ok());
        match (kind, name) {
            (Kind::Linux, "25-filter-rules") => {
                assert!(said.contains("nft: 25 rules that drop"), "{said}");
            }
            (Kind::Linux, "25-simple-queues") => {
                let passed = ["d0", "d1"].map(|end| classes(device, end).0);
                assert_eq!(passed, [25, 25], "{said}");
            }
            (Kind::Linux, "conntrack") => assert!(said.contains("conntrack: 1000"), "{said}"),
            (Kind::Linux, "bgp-table") => {
                assert!(routes.is_some_and(|n: usize| n >= 9000), "{said}");
            }
            _ => {}
        }
    }
}

#[test]
fn one_per_cent_lost_is_found_to_the_frame() {
    let _turn = crate::turn();
    if skipped(&["nft"]) {
        return;
    }
    let mut testbed = testbed(&Kind::Linux, Mode::Routing, "none");
    let device = &testbed.rig().device;
    for words in [
        "nft add table ip filter",
        "nft add chain ip filter forward { type filter hook forward priority 0 ; }",
        "nft add rule ip filter forward numgen random mod 100 0 counter drop",
    ] {
        ask(device, words).unwrap();
    }
    let mut seen = Vec::new();
    for _ in 0..20 {
        let before = counted(&testbed.rig().device, "ip");
        let turn = testbed.trial(Some(PacketRate(10_000.0)), Duration::from_millis(500)).unwrap();
        let lost = counted(&testbed.rig().device, "ip") - before;
        let counts = turn.ran.trial.counts;
        let share = counts.lost().unwrap() as f64 / counts.sent as f64;
        seen.push((lost, turn.ran.trial));
        // Unless the machine was so busy that a ring ran over as well.
        if counts.lost() == Some(lost) {
            assert!((0.003..0.03).contains(&share), "{share}: {seen:?}");
            let outcome = turn.ran.trial.outcome;
            assert!(!matches!(outcome, Outcome::Pass), "{seen:?}");
            return;
        }
    }
    panic!("never as many lost as the rule dropped: {seen:#?}");
}

#[test]
fn by_turns() {
    let _turn = crate::turn();
    if skipped(&["nft"]) {
        return;
    }
    let devices = [Kind::Linux, Kind::Wirespeed];
    let mut plan = Plan { turns: Some(2), ..plan(&devices, Mode::Routing, "conntrack") };
    plan.duration = Duration::from_millis(200);
    plan.configurations.extend(rows(Mode::Routing, Family::Ipv6, "conntrack"));
    plan.sizes = vec![shortest(Family::Ipv6)];
    let mut begun = Vec::new();
    let kept = Kept::new(Environment::default());
    let ended = bench::run(&plan, &kept, |progress| {
        if let bench::Progress::Begin(device, ..) = progress {
            begun.push(device.to_string());
        }
    });
    ended.unwrap();
    let results = kept.so_far();
    // Both families take turns together, and each device is compared within its own.
    assert_eq!(begun, ["linux kernel", "wirespeed on veth"].repeat(2));
    assert_eq!((results.rows.len(), results.setups.len()), (4, 4), "{results:?}");
    let families = results.comparisons.iter().map(|compared| compared.family);
    assert_eq!(families.collect::<Vec<_>>(), [Family::Ipv4, Family::Ipv6]);
    for compared in &results.comparisons {
        let Comparison { base_pps, ratio, left_out, .. } = &compared.comparison;
        assert_eq!(base_pps.len() as u32 + left_out, 2, "{compared:?}");
        // On a machine that does other things as well, all turns may have been in vain.
        let has_ratio = ratio.is_some_and(|ratio| ratio > 0.0);
        assert_eq!(has_ratio, *left_out < 2, "{compared:?}");
    }
    for row in &results.rows {
        assert_eq!(row.faults(), [], "{row:?}");
        assert!(row.forwarded > 0 && row.tester_pps.is_some(), "{row:?}");
        assert_eq!(row.medium.wire, "veth");
    }
}

/// What is sent and does not come is told apart: the row names who sent, and what that cost.
#[test]
fn both_generators_and_a_row_says_which() {
    let _turn = crate::turn();
    if skipped(&[]) {
        return;
    }
    for (generator, name) in [(Generator::Kernel, "kernel, BPF"), (Generator::User, "user space")] {
        let mut plan = plan(&[Kind::Linux], Mode::Routing, "none");
        (plan.generator, plan.duration) = (Some(generator), Duration::from_millis(200));
        let results = measured(&plan);
        let [row] = results.rows.as_slice() else { panic!("{results:?}") };
        for said in [&row.medium.generator, &row.medium.receiver] {
            let name = if said.contains("XDP counter") { "kernel, XDP" } else { name };
            assert!(said.starts_with(name) && said.contains(" ns a frame"), "{said}");
        }
        assert!(row.forwarded > 0 && row.forwarded <= row.sent, "{row:?}");
    }
}

/// Also where it is not installed: then it says which package has it.
#[test]
fn testpmd_forwards_and_does_nothing_else() {
    let _turn = crate::turn();
    if skipped(&[]) {
        return;
    }
    for (driver, mode) in [(Driver::Xdp, Mode::Routing), (Driver::Packet, Mode::Bridging)] {
        let kind = Kind::Testpmd(driver);
        let (plan, environment) =
            (plan(std::slice::from_ref(&kind), mode, "none"), Environment::default());
        let configuration = plan.configurations[0];
        let job = Job { plan: &plan, configuration, table: None, environment: &environment };
        let mut testbed = match WiredTestbed::new(&kind, &job) {
            Ok(testbed) => testbed,
            Err(Cannot::Failed(BenchError::Unavailable(unavailable))) => {
                let said = unavailable.to_string();
                assert!(said.contains("package"), "{said}");
                return left_out::left_out(said);
            }
            Err(other) => panic!("{other:?}"),
        };
        testbed.prepare(&job, FrameLen::MIN).unwrap_or_else(|error| panic!("{driver:?}: {error}"));
        lossless(&mut testbed);
        assert!(testbed.setup.commands.iter().any(|line| line.starts_with("dpdk-testpmd ")));
        // It polls, but only while it is measured.
        let worked = testbed.worked();
        std::thread::sleep(Duration::from_millis(100));
        assert!(worked > Duration::ZERO);
        assert_eq!(testbed.worked(), worked, "it takes the processor from others");
        let is_mute = testbed.setup.remarks.iter().any(|remark| remark.starts_with("no pings: "));
        assert_eq!((testbed.setup.ping.is_none(), testbed.is_fair()), (is_mute, false));
    }
    let plan = plan(&[Kind::Testpmd(Driver::Xdp)], Mode::Routing, "conntrack");
    let results = measured(&plan);
    let reason = results.setups[0].omitted.as_deref();
    assert!(results.rows.is_empty() && reason.is_some_and(|why| why.contains("only forwards")));
}

#[test]
fn what_the_kernel_cannot_do_is_said() {
    let _turn = crate::turn();
    if skipped(&["nft"]) {
        return;
    }
    let plan = plan(&[Kind::Linux], Mode::Routing, "fasttrack");
    let results = measured(&plan);
    let [setup] = results.setups.as_slice() else { panic!("{results:?}") };
    match &setup.omitted {
        Some(reason) => assert!(reason.contains("flow table"), "{reason}"),
        None => assert_eq!(results.rows.len(), 1, "a kernel with flow tables has a row"),
    }
}
