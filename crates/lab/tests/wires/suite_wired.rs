//! Suites behind real interfaces: the kernel that is set up here, and one that the test set up and
//! that is told nothing.
//!
//! Every test makes namespaces of its own; without the right to, or a program that it takes, each says
//! so and returns (except with `CI` set). How fast a machine is nobody knows: what is asserted are counts and words.

use crate::left_out;
use lab::bench::veth::{DEVICE_ENDS, Rig, device_mac};
use lab::kernel::ask;
use lab::placement::{self, Pair};
use lab::real::PortSpec;
use lab::suite::plan::{self, Allowed, Modifier};
use lab::suite::{Device, External, Options, fit, run, scaled};
use measure::{Environment, SuiteResults};
use port::linux::Namespace;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const PLAN: &str = r#"
name = "wired"
[device]
modifiers = ["none", "25-filters-permit-last", "1-percent-broadcasts"]
[medium]
link = "100M"
[traffic]
frame-sizes = [64, 512]
flows = "pair"
[[procedure]]
kind = "throughput"
highest = "20%"
[[procedure]]
kind = "latency"
[[procedure]]
kind = "reset"
[quick]
divide-durations-by = 3000.0
shortest = "20ms"
repetitions-at-most = 1
precision = "50%"
"#;

/// Two processors, the right to make namespaces, and what the kernel is told by there; none, said.
fn allowed(programs: &[&str]) -> Option<Pair> {
    if left_out::lacks(&[&["ip", "sysctl"], programs].concat()) {
        return None;
    }
    if let Err(unavailable) = Namespace::new() {
        left_out::left_out(unavailable);
        return None;
    }
    let pair = placement::pair();
    if pair.is_none() {
        left_out::left_out("one processor");
    }
    pair
}

/// Whatever is between a rig's outer ends.
fn external(rig: &Rig, modifier: Modifier) -> External {
    let names = ["a=xdp", "b=packet", "c=xdp", "d=xdp"];
    let port = |((namespace, end), name): ((&Namespace, &str), &str)| -> PortSpec {
        format!("{name}:{end}@{}", namespace.path().display()).parse().unwrap()
    };
    let ports = rig.outer().zip(names).map(port).collect();
    External { ports, modifier, reset: None }
}

fn measure(device: Device, pair: Pair) -> SuiteResults {
    measure_as(PLAN, device, pair)
}

fn measure_as(text: &str, device: Device, pair: Pair) -> SuiteResults {
    measure_with(text, "", device, pair)
}

/// The same of a device with this configuration.
fn measure_with(text: &str, script: &str, device: Device, pair: Pair) -> SuiteResults {
    let external = matches!(device, Device::External(_));
    let plan = plan::read(text, Allowed { external, any_address: false }).unwrap();
    let plan = fit(&plan, &device, None).unwrap();
    let options = Options {
        device,
        text: text.to_string(),
        script: script.to_string(),
        quick: true,
        pair: Some(pair),
        interrupt: Arc::new(AtomicBool::new(false)),
        environment: Environment::default(),
    };
    let (plan, scaling) = scaled(&plan, &options);
    run(&plan, scaling, &options, |_| {})
}

/// What must be so however busy the machine is.
fn is_sound(results: &SuiteResults, cells: usize) {
    let why = &results.incomplete_because;
    assert_eq!((results.complete, why, results.cells.len()), (true, &None, cells));
    assert_eq!(results.faults(), [""; 0], "{results:?}");
    let trials = results.cells.iter().flat_map(|cell| &cell.trials);
    let received: u64 = trials.map(|trial| trial.received).sum();
    assert!(received > 0, "{results:?}");
    assert!(results.self_tests.iter().all(|alone| alone.rate > 0.0), "{results:?}");
    let resets = results.cells.iter().filter(|cell| cell.procedure == "reset");
    for reset in resets {
        assert!(reset.remarks[0].contains("by its owner"), "{reset:?}");
    }
}

#[test]
fn the_kernel_is_told_what_the_plan_says() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&["nft"]) else { return };
    let results = measure(Device::Linux, pair);
    // Two sizes with throughput and latency, one reset, for each of three modifiers.
    is_sound(&results, 15);
    assert_eq!(results.device, "linux kernel");
    let [plain, filters, _] = results.configurations.as_slice() else { panic!("{results:?}") };
    for expected in ["ip address add 198.18.1.1/24 dev d0", "# 198.19.1.1 is at 02:00:00:00:00:02"]
    {
        assert!(plain.script.contains(expected), "{expected} in {}", plain.script);
    }
    assert_eq!(filters.script.matches(" drop").count(), 24, "{}", filters.script);
}

#[test]
fn whatever_is_between_two_interfaces() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    let rig = Rig::new(Some(pair)).unwrap();
    ask(&rig.device, "sysctl -qw net.ipv4.ip_forward=1").unwrap();
    for (end, address) in DEVICE_ENDS.into_iter().zip(["198.18.1.1/24", "198.19.1.1/24"]) {
        ask(&rig.device, &format!("ip address add {address} dev {end}")).unwrap();
    }
    let external = external(&rig, Modifier::None);
    let ports = external.ports.clone();
    let results = measure(Device::External(Box::new(external)), pair);
    // Its owner has set up no filters; broadcasts are ours to send.
    is_sound(&results, 10);
    let names: Vec<&str> = results.configurations.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["none", "1-percent-broadcasts"]);
    let at = format!("# 198.18.1.1 is at {}", device_mac(0));
    assert!(results.configurations[0].script.contains(&at), "{:?}", results.configurations);
    assert!(results.medium.contains("a=xdp:t0@"), "{}", results.medium);
    // And what cannot be is refused before a frame is sent.
    let seen = rig.counters(DEVICE_ENDS[0]);
    let external = External { ports, modifier: Modifier::None, reset: None };
    let device = Device::External(Box::new(external));
    let long = PLAN.replace("512", "1900");
    let long = plan::read(&long, Allowed::default()).unwrap();
    let error = fit(&long, &device, None).unwrap_err().to_string();
    assert!(error.contains("its MTU is 1500"), "{error}");
    let bridge = bridge("ports = 4", "forwarding");
    let bridge = plan::read(&bridge, Allowed::default()).unwrap();
    let error = fit(&bridge, &device, None).unwrap_err().to_string();
    assert_eq!(error, "the plan wants 4 ports, --port a=… to --port d=…: 2 were given");
    let mut reset = plan::read(PLAN, Allowed::default()).unwrap();
    reset.procedures.retain(|procedure| procedure.name() == "reset");
    for device in [device, Device::Linux] {
        let error = fit(&reset, &device, None).unwrap_err().to_string();
        assert!(error.contains("is started anew by its owner, and nobody else"), "{error}");
    }
    assert_eq!(rig.counters(DEVICE_ENDS[0]), seen);
}

/// The plan, for a bridge, with this procedure in a reset's place.
fn bridge(ports: &str, kind: &str) -> String {
    let modifiers = "modifiers = [\"none\", \"25-filters-permit-last\", \"1-percent-broadcasts\"]";
    let plan = PLAN.replace("\"pair\"", "\"hosts\"").replace(modifiers, ports);
    plan.replace("kind = \"reset\"", &format!("kind = \"{kind}\""))
}

/// A rig whose device is a bridge of so many ports.
fn bridged(ports: usize, pair: Pair) -> Rig {
    let rig = Rig::with_ports(ports, Some(pair)).unwrap();
    ask(&rig.device, "ip link add name br0 type bridge stp_state 0").unwrap();
    for end in rig.inner() {
        ask(&rig.device, &format!("ip link set {end} master br0")).unwrap();
    }
    ask(&rig.device, "ip link set br0 up").unwrap();
    rig
}

/// A bridge of two ports: the kernel is told to be one, or its owner has made it one.
#[test]
fn bridges_have_two_ports_there() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    let bridge = bridge("ports = 2", "forwarding");
    let rig = bridged(2, pair);
    let external = Device::External(Box::new(external(&rig, Modifier::None)));
    for device in [Device::Linux, external] {
        let told = matches!(device, Device::Linux);
        let results = measure_as(&bridge, device, pair);
        is_sound(&results, 6);
        let names: Vec<_> = results.cells.iter().map(|cell| cell.procedure.as_str()).collect();
        let per_size = ["throughput", "latency", "forwarding"];
        assert!(per_size.iter().all(|name| names.iter().filter(|n| n == &name).count() == 2));
        let script = &results.configurations[0].script;
        assert_eq!(script.contains("ip link set d0 master br0"), told, "{script}");
    }
}

/// A command that makes a bridge between a rig's ends forget its hosts.
fn flush(rig: &Rig) -> String {
    let namespace = rig.device.path();
    format!("nsenter --net={} ip link set br0 type bridge fdb_flush", namespace.display())
}

/// And of four ports: addresses are learned and forgotten, broadcasts come out of three, two ports are
/// congested by two.
#[test]
fn and_four() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    let plan = BRIDGE_OF_FOUR;
    let rig = bridged(4, pair);
    let keeps = external(&rig, Modifier::None);
    let forgets = External { reset: Some(flush(&rig)), ..keeps.clone() };
    let [keeps, forgets] = [keeps, forgets].map(|device| Device::External(Box::new(device)));
    for (device, expected) in [
        (Device::Linux, Some("between trials: ip link set br0 type bridge fdb_flush")),
        (forgets, Some("between trials: nsenter --net=")),
        (keeps, None),
    ] {
        let results = measure_as(plan, device, pair);
        is_sound(&results, 4);
        let script = &results.configurations[0].script;
        match expected {
            Some(expected) => assert!(script.contains(expected), "{script}"),
            None => assert!(!script.contains("between trials"), "{script}"),
        }
        for cell in &results.cells {
            let not_run = cell.remarks.iter().any(|remark| remark.starts_with("not run: "));
            let wants_empty = cell.procedure == "address-caching";
            assert_eq!(not_run, wants_empty && expected.is_none(), "{cell:?}");
            if not_run {
                assert!(cell.remarks[0].contains("--reset-command"), "{cell:?}");
            } else {
                assert!(!cell.trials.is_empty(), "{cell:?}");
            }
        }
    }
}

const BRIDGE_OF_FOUR: &str = r#"
name = "a bridge"
[device]
ports = 4
[medium]
link = "100M"
[traffic]
frame-sizes = [64]
flows = "hosts"
[[procedure]]
kind = "throughput"
highest = "20%"
[[procedure]]
kind = "congestion"
[[procedure]]
kind = "address-caching"
most = 64
rate = 1000
[[procedure]]
kind = "broadcast"
precision = "50%"
[quick]
divide-durations-by = 3000.0
shortest = "20ms"
repetitions-at-most = 1
precision = "50%"
"#;

/// RFC 9693's three, and connections of TCP, small.
const CONNECTIONS: &str = r#"
name = "connections"
[device]
configuration = "gateway.rsc"
[medium]
link = "100M"
[traffic]
frame-sizes = [512]
flows = "pair"
[[procedure]]
kind = "establishment"
connections = 500
precision = "50%"
[[procedure]]
kind = "tear-down"
connections = 500
repetitions = 2
[[procedure]]
kind = "capacity"
first = 100
most = 400
rate = 2000
[[procedure]]
kind = "tcp-transactions"
connections = 10
transactions = 3
repetitions = 2
"#;

/// A gateway, as the kernel in a rig's device: what its owner would have typed.
fn gateway(rig: &Rig) {
    for line in [
        "sysctl -qw net.ipv4.ip_forward=1",
        "ip address add 198.18.1.1/24 dev d0",
        "ip address add 198.19.1.1/24 dev d1",
        "nft add table ip nat",
        "nft add chain ip nat postrouting { type nat hook postrouting priority 100 ; }",
        "nft add rule ip nat postrouting oifname d1 masquerade",
    ] {
        ask(&rig.device, line).unwrap();
    }
}

/// What stands behind "connections[…": how often it was said.
fn said(results: &SuiteResults, procedure: &str, words: &str) -> usize {
    let cells = results.cells.iter().filter(|cell| cell.procedure == procedure);
    cells.flat_map(|cell| &cell.remarks).filter(|remark| remark.contains(words)).count()
}

#[test]
fn connections_are_forgotten_between_trials() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&["nft"]) else { return };
    let rig = Rig::new(Some(pair)).unwrap();
    gateway(&rig);
    let keeps = external(&rig, Modifier::None);
    // Its owner's command notes that it was called; that nothing is forgotten does not matter: no
    // connection is there twice.
    let called = std::env::temp_dir().join(format!("wirespeed-reset-{}", std::process::id()));
    let _ = std::fs::remove_file(&called);
    let reset = Some(format!("echo called >> {}", called.display()));
    let forgets = External { reset, ..keeps.clone() };
    let [keeps, forgets] = [keeps, forgets].map(|device| Device::External(Box::new(device)));
    let script = "/ip address\nadd address=198.18.1.1/24 interface=ether1\n\
                  add address=198.19.1.1/24 interface=ether2\n\
                  /ip firewall connection tracking\nset enabled=yes\n/ip firewall nat\n\
                  add chain=srcnat out-interface=ether2 action=masquerade\n/ip firewall filter\n\
                  add chain=forward connection-state=invalid action=drop\n";
    for (device, not_run) in
        [(Device::Linux, &[][..]), (forgets, &["tear-down"]), (keeps, &["tear-down", "capacity"])]
    {
        let results = measure_with(CONNECTIONS, script, device.clone(), pair);
        is_sound(&results, 4);
        for cell in &results.cells {
            let refused = cell.remarks.iter().any(|remark| remark.starts_with("not run: "));
            assert_eq!(refused, not_run.contains(&cell.procedure.as_str()), "{cell:?}");
            assert_eq!(refused, cell.trials.is_empty(), "{cell:?}");
        }
        if not_run == ["tear-down"] {
            let trials: usize = results.cells.iter().map(|cell| cell.trials.len()).sum();
            let calls = std::fs::read_to_string(&called).unwrap().lines().count();
            assert_eq!(calls, trials, "once before each: {results:?}");
        }
        let kept = said(&results, "establishment", "kept the connections of earlier trials");
        assert_eq!(kept, usize::from(not_run.len() == 2), "{results:?}");
        let configured = &results.configurations[0].script;
        if device == Device::Linux {
            for expected in [
                "nft add rule ip nat postrouting oifname d1 masquerade",
                "nft add rule ip filter forward ct state invalid drop",
                "sysctl -qw net.netfilter.nf_conntrack_udp_timeout=86400",
                "nf_conntrack_max",
                "# between trials: all connections deleted",
            ] {
                assert!(configured.contains(expected), "{expected} in {configured}");
            }
        }
    }
    let _ = std::fs::remove_file(&called);
    // What the kernel is not told how to do is said, before anything is measured.
    let script = "/queue simple\nadd target=198.18.1.2/32 max-limit=1M/1M\n";
    let results = measure_with(CONNECTIONS, script, Device::Linux, pair);
    let why = results.incomplete_because.unwrap();
    assert!(why.starts_with("the kernel is not told yet how to do /queue simple"), "{why}");
}

/// A device that speaks SNMP and RIP, a little: it answers every question, and passes every update on
/// to whoever is at its other port.
fn speaks(rig: &Rig, stop: &Arc<AtomicBool>) -> [JoinHandle<()>; 2] {
    let bind = |address: (Ipv4Addr, u16)| {
        let socket = rig.device.run(|| UdpSocket::bind(address)).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        socket
    };
    let (snmp, rip) = (bind((Ipv4Addr::UNSPECIFIED, 161)), bind((Ipv4Addr::UNSPECIFIED, 520)));
    rip.join_multicast_v4(&Ipv4Addr::new(224, 0, 0, 9), &Ipv4Addr::new(198, 18, 1, 1)).unwrap();
    let serve = |socket: UdpSocket, answer: fn(&UdpSocket, &mut [u8], SocketAddr)| {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 600];
            while !stop.load(Ordering::Relaxed) {
                if let Ok((n, from)) = socket.recv_from(&mut bytes) {
                    answer(&socket, &mut bytes[..n], from);
                }
            }
        })
    };
    [
        serve(snmp, |socket, question, from| {
            // Its answer but for the values: the kind of message is another.
            if let Some(kind) = question.iter().position(|byte| *byte == 0xa0) {
                question[kind] = 0xa2;
                let _ = socket.send_to(question, from);
            }
        }),
        serve(rip, |socket, update, _| {
            let _ = socket.send_to(update, (Ipv4Addr::new(198, 19, 1, 2), 520));
        }),
    ]
}

#[test]
fn what_a_device_is_asked_and_told() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    let rig = Rig::new(Some(pair)).unwrap();
    ask(&rig.device, "sysctl -qw net.ipv4.ip_forward=1").unwrap();
    for (end, address) in DEVICE_ENDS.into_iter().zip(["198.18.1.1/24", "198.19.1.1/24"]) {
        ask(&rig.device, &format!("ip address add {address} dev {end}")).unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let threads = speaks(&rig, &stop);
    let text = PLAN
        .replace(
            "\"25-filters-permit-last\", \"1-percent-broadcasts\"",
            "\"management-queries\", \"routing-updates\", \"routing-updates-rip-2\"",
        )
        .replace("[64, 512]", "[64]")
        .replace("20ms", "100ms");
    let results =
        measure_as(&text, Device::External(Box::new(external(&rig, Modifier::None))), pair);
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    is_sound(&results, 12);
    // A machine may be so busy that an answer comes too late, but not that none comes in time.
    let remarks = || results.cells.iter().flat_map(|cell| &cell.remarks);
    let answered = |remark: &&String| {
        let words: Vec<&str> = remark.split_whitespace().collect();
        matches!(words[..], ["management", "queries", "(SNMP):", n, "of", ..] if n != "0")
    };
    assert!(remarks().any(|remark| answered(&remark)), "{results:?}");
    for version in ["routing-updates", "routing-updates-rip-2"] {
        let mut cells = results.cells.iter().filter(|cell| cell.configuration == version);
        let heard = |remark: &String| remark.contains("of the device's own tell of");
        assert!(cells.any(|cell| cell.remarks.iter().any(heard)), "{version}: {results:?}");
    }
}

#[test]
fn nobody_at_the_other_end_is_said() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    let rig = Rig::new(Some(pair)).unwrap();
    let external = external(&rig, Modifier::FiltersLast);
    let results = measure(Device::External(Box::new(external)), pair);
    let why = results.incomplete_because.unwrap();
    assert_eq!(why, "nobody answers ARP for 198.18.1.1 on a (t0), nor for 198.19.1.1 on b (t1)");
    assert_eq!(results.configurations[0].name, "25-filters-permit-last");
}

/// A device that answers ARP, and lets nothing through one way: found before anything is measured.
#[test]
fn a_way_that_carries_nothing_is_said() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    let rig = Rig::new(Some(pair)).unwrap();
    for line in [
        "sysctl -qw net.ipv4.ip_forward=1",
        "ip address add 198.18.1.1/24 dev d0",
        "ip address add 198.19.1.1/24 dev d1",
        "ip rule add iif d1 blackhole pref 10",
    ] {
        ask(&rig.device, line).unwrap();
    }
    let results = measure(Device::External(Box::new(external(&rig, Modifier::None))), pair);
    let why = results.incomplete_because.unwrap();
    for words in [
        // On a busy machine frames of the other way may be lost.
        "the device does not forward from b (t1) to a (t0): a (t0) sent ",
        " test frames, a (t0) received 0 of them",
        "198.19.1.1 is at 02:00:00:00:00:02 on b (t1)",
        "its route to 198.18.1.2",
    ] {
        assert!(why.contains(words), "{words} in {why}");
    }
    assert!(results.cells.is_empty() && results.self_tests.is_empty());
}
