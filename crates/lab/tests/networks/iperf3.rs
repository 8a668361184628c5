//! The iperf3 method with real processes, a second each.

use crate::rig;
use lab::iperf3::external::Ends;
use lab::iperf3::{External, Iperf3Error, Options, plan, run};
use lab::live::Interrupt;
use measure::Environment;
use measure::iperf3::{Direction, Results};
use rig::can_have_hosts;
use rig::outside::Outside;

fn options(text: &str) -> Options {
    Options {
        text: text.to_string(),
        script: String::new(),
        quick: false,
        interrupt: Interrupt::default(),
        environment: Environment::default(),
        external: None,
    }
}

/// Runs a plan; `None` where iperf3 is not installed, except when `CI` is set.
fn results(text: &str) -> Option<Results> {
    through(text, None)
}

/// The same through what is outside, if there is something.
fn through(text: &str, external: Option<External>) -> Option<Results> {
    let plan = plan::read(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    match run(&plan, &Options { external, ..options(text) }, |_| {}) {
        Err(lacking @ Iperf3Error::NotInstalled(_)) => {
            rig::left_out::left_out(lacking);
            None
        }
        results => Some(results.unwrap_or_else(|error| panic!("{error}"))),
    }
}

/// Node to node over a wire with a rate, both ways: what the processes say is taken apart by pair and
/// way. How near to the wire's rate they come depends on the machine's pauses: no test asks.
#[test]
fn both_ways_have_pairs_of_their_own() {
    if !can_have_hosts(&["iperf3"]) {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"direct\"]\npackets = [1500]\npairs = 2\nstreams = 2\n\
                duration = \"1s\"\nwarm-up = \"1s\"\nlink = \"20M\"\ndirections = [\"both-ways\"]\n";
    let Some(results) = results(text) else { return };
    assert_eq!(results.incomplete_because, None);
    assert_eq!(results.rows.len(), 1);
    for row in &results.rows {
        assert!(row.l3_mbps > 0.0 && row.most_l3_mbps().is_some(), "{}", row.l3_mbps);
        assert_eq!(row.setting.direction, Direction::BothWays);
        let reverse = row.pairs_run.iter().filter(|pair| pair.reverse).count();
        assert_eq!((row.pairs_run.len(), reverse), (4, 2));
        assert_eq!(row.pairs_run[0].figures.mss, Some(row.mss));
    }
    let commands = results.setups[0].commands.join("\n");
    assert!(commands.contains("rate 20000000bit") && commands.contains("gso_max_segs 1"));
}

/// Through the kernel and through our router: what was sent has come, or is counted as lost, in packets
/// as long as they were to be.
#[test]
fn routers_carry_udp_of_the_length_asked_for() {
    if !can_have_hosts(&["iperf3"]) {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"linux\", \"wirespeed\"]\nprotocols = [\"udp\"]\n\
                packets = [128]\npairs = 1\nstreams = 1\nduration = \"1s\"\nwarm-up = \"1s\"\n\
                udp-rate = \"1M\"\n";
    let Some(results) = results(text) else { return };
    assert_eq!(results.incomplete_because, None);
    let devices: Vec<_> = results.rows.iter().map(|row| row.setting.device.as_str()).collect();
    assert_eq!(devices, ["linux kernel", "wirespeed router"]);
    for row in &results.rows {
        assert_eq!(row.faults(), [], "{row:?}");
        let sent = row.pairs_run[0].figures.packets_sent.unwrap();
        let (lost, arrived) = (row.lost.unwrap() as u64, row.arrived.unwrap().frames);
        assert!(sent > 0 && lost < sent && arrived > 0, "{row:?}");
    }
}

/// By turns through the kernel and through our router: each packet is answered, or lost.
#[test]
fn packets_are_timed_by_turns() {
    if !can_have_hosts(&["ping", "irtt"]) {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"linux\", \"wirespeed\", \"linux\", \"wirespeed\"]\n\
                packets = []\nlatency = [\"ping\", \"irtt\"]\nduration = \"1s\"\n";
    let Some(results) = results(text) else { return };
    assert_eq!((&results.incomplete_because, results.rows.len()), (&None, 0));
    let asked: Vec<_> =
        results.latencies.iter().map(|l| (l.device.as_str(), l.tool.to_string())).collect();
    let turn = ["linux kernel", "wirespeed router"]
        .map(|device| ["ping", "irtt"].map(|tool| (device, tool.to_string())));
    assert_eq!(asked, [turn.concat(), turn.concat()].concat());
    for of in &results.latencies {
        assert!(of.received > 0 && of.received <= of.sent, "{of:?}");
        assert!(of.min_ns <= of.median_ns && of.median_ns <= of.p99_ns, "{of:?}");
        assert!(of.p99_ns <= of.max_ns && of.min_ns <= of.mean_ns, "{of:?}");
    }
}

/// RFC 6349 between two kernels, through the kernel and through our router: the path is found, and each
/// transfer is reckoned by it.
#[test]
fn what_tcp_makes_of_a_path() {
    if !can_have_hosts(&["iperf3"]) {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"linux\", \"wirespeed\"]\npackets = []\nstreams = 2\n\
                windows = [4096, 65536]\nlink = \"20M\"\nduration = \"1s\"\n";
    let Some(results) = results(text) else { return };
    assert_eq!((&results.incomplete_because, results.rows.len()), (&None, 0));
    let devices: Vec<_> = results.paths.iter().map(|path| path.device.as_str()).collect();
    assert_eq!(devices, ["linux kernel", "wirespeed router"]);
    for path in &results.paths {
        assert_eq!((path.mtu, path.mtu_is_limit), (1500, false), "{path:?}");
        assert!(path.rtt_ns > 0 && path.packets_per_second > 0.0, "{path:?}");
        let of: Vec<_> = path.transfers.iter().map(|t| (t.window, t.connections)).collect();
        assert_eq!(of, [(4096, 2), (65536, 2)], "{path:?}");
        for transfer in &path.transfers {
            assert!(transfer.bytes > 0 && transfer.rtt_us.is_some(), "{transfer:?}");
            assert!(transfer.ratio > 0.0 && transfer.ratio.is_finite(), "{transfer:?}");
            assert!((0.0..=100.0).contains(&transfer.efficiency), "{transfer:?}");
        }
    }
}

/// What hosts leave to others passes the router's own taps whole.
#[test]
fn super_frames_pass_taps() {
    if !can_have_hosts(&["iperf3"]) {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"wirespeed\"]\npackets = [1500]\npairs = 1\nstreams = 1\n\
                duration = \"1s\"\nwarm-up = \"1s\"\noffloads = true\nbackend = \"tap\"\nplacement = \"free\"\n\
                workers = 1\n";
    let Some(results) = results(text) else { return };
    assert_eq!((results.incomplete_because, results.rows.len()), (None, 1));
    assert!(results.rows[0].payload_mbps > 0.0);
    let facts = results.setups[0].facts.join("\n");
    assert!(facts.contains("t0 (tap, made): queues 1, offload"), "{facts}");
    let long = text.replace("[1500]", "[1501]");
    assert_eq!(plan::read(&long).unwrap_err(), "packets of 1501 bytes: a tap's MTU is 1500");
}

/// Somebody wants an end: it comes at once, and says what it is.
#[test]
fn an_interrupted_run_is_incomplete() {
    if !can_have_hosts(&["iperf3"]) {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"direct\"]\npackets = [1500]\npairs = 1\nstreams = 1\n\
                duration = \"60s\"\nwarm-up = \"1s\"\n";
    let options = options(text);
    options.interrupt.raise();
    match run(&plan::read(text).unwrap(), &options, |_| {}) {
        Ok(results) => {
            assert_eq!(results.incomplete_because.as_deref(), Some("interrupted"));
            assert!(results.rows.is_empty());
        }
        Err(Iperf3Error::NotInstalled(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Every kind of measurement through a box between two interfaces, which are afterwards what they were.
#[test]
fn a_box_between_two_interfaces() {
    let Some(outside) = Outside::routed(1500) else { return };
    let before = outside.interfaces();
    let text = "name = \"t\"\ndevices = [\"direct\", \"external\"]\nprotocols = [\"udp\"]\n\
                packets = [128, 9000]\nstreams = 1\nudp-rate = \"1M\"\nlink = \"20M\"\n\
                duration = \"1s\"\nlatency = [\"ping\", \"irtt\"]\nwindows = [65536]\n";
    let Some(results) = through(text, Some(outside.external())) else { return };
    assert_eq!(results.incomplete_because, None);
    let rows: Vec<_> =
        results.rows.iter().map(|row| (row.setting.device.as_str(), row.setting.packet)).collect();
    assert_eq!(rows, [("node to node", 128), ("node to node", 9000), ("external", 128)]);
    for row in &results.rows {
        assert_eq!((row.faults(), row.setting.link_mbps), (vec![], Some(20.0)), "{row:?}");
        let (lost, arrived) = (row.lost.unwrap() as u64, row.arrived.unwrap().frames);
        assert!(lost < row.pairs_run[0].figures.packets_sent.unwrap() && arrived > 0, "{row:?}");
    }
    let [long] = results.omitted.as_slice() else { panic!("{:?}", results.omitted) };
    assert!(
        long.contains("external, packets of 9000 bytes: its interfaces' MTU is 1500"),
        "{long}"
    );
    let asked: Vec<_> =
        results.latencies.iter().map(|of| (of.device.as_str(), of.received > 0)).collect();
    let turn = [("node to node", true), ("external", true)];
    assert_eq!(asked, turn.map(|of| [of; 2]).concat());
    let [_, path] = results.paths.as_slice() else { panic!("{:?}", results.paths) };
    assert_eq!((path.device.as_str(), path.mtu, path.transfers.len()), ("external", 1500, 1));
    let setup = results.setups.last().unwrap();
    let (commands, facts) = (setup.commands.join("\n"), setup.facts.join("\n"));
    for expected in [
        "ip link add link eth1 name t0 mtu 1500 type macvlan mode passthru nopromisc",
        "ip address add 198.19.1.2/24 dev t1",
        "ip route add 198.19.1.0/24 via 198.18.1.1 dev t0",
        "htb rate 20000000bit",
    ] {
        assert!(commands.contains(expected), "{expected} in\n{commands}");
    }
    for expected in ["198.18.1.1 is at ", "eth2@", "(veth, ", "as they were", "shaped to 20"] {
        assert!(facts.contains(expected), "{expected} in\n{facts}");
    }
    assert_eq!(outside.interfaces(), before);
}

/// Where hosts have no gateways, and where cables carry long packets, the device too or not.
#[test]
fn bridges_and_long_packets() {
    let Some(outside) = Outside::new(9000) else { return };
    outside.at_device("ip link add name br0 mtu 9000 type bridge stp_state 0");
    for end in ["d0", "d1"] {
        outside.at_device(&format!("ip link set {end} master br0"));
    }
    outside.at_device("ip link set br0 up");
    let text = "name = \"t\"\ndevices = [\"external\"]\nprotocols = [\"udp\"]\nudp-rate = \"1M\"\n\
                packets = [9000]\nstreams = 1\nduration = \"1s\"\n";
    let host = |last| Some(([198, 18, 1, last].into(), 24));
    let ends = Ends::new([host(2), host(3)], [None; 2]).unwrap();
    let external = External { ends, ..outside.external() };
    let Some(results) = through(text, Some(external.clone())) else { return };
    let [row] = results.rows.as_slice() else { panic!("{results:?}") };
    assert_eq!((row.setting.packet, row.faults()), (9000, vec![]), "{row:?}");
    assert!(results.setups[0].commands.iter().all(|command| !command.contains("route")));
    outside.at_device("ip link set d1 mtu 1500");
    let results = through(text, Some(external)).unwrap();
    let [long] = results.omitted.as_slice() else { panic!("{results:?}") };
    assert!(results.rows.is_empty() && long.contains("do not come through whole"), "{long}");
}

/// What cannot be lent is refused before anything is measured, and nothing has happened to it.
#[test]
fn interfaces_that_cannot_be_lent() {
    let Some(outside) = Outside::new(1500) else { return };
    let text =
        "name = \"t\"\ndevices = [\"direct\", \"external\"]\npackets = [1500]\nduration = \"1s\"\n";
    let plan = plan::read(text).unwrap();
    let refused = |external: External| {
        let before = outside.interfaces();
        let options = Options { external: Some(external), ..options(text) };
        let error = match run(&plan, &options, |line| panic!("{line:?}")) {
            Err(error) => error.to_string(),
            Ok(results) => panic!("{results:?}"),
        };
        assert_eq!(outside.interfaces(), before);
        error
    };
    for (before, expected, after) in [
        ("ip link set eth1 down", "it is down; `ip link set … up`", "ip link set eth1 up"),
        (
            "ip address add 192.0.2.1/24 dev eth2",
            "it has the address 192.0.2.1/24; while it is lent",
            "ip address del 192.0.2.1/24 dev eth2",
        ),
        (
            "ip route add default dev eth1",
            "the machine's default route leads by it",
            "ip route del default dev eth1",
        ),
        (
            "ip address add 2001:db8::1/64 dev eth1",
            "it has the address 2001:db8::1",
            "ip address del 2001:db8::1/64 dev eth1",
        ),
        ("ip link add name br0 type bridge", "", "ip link set eth1 master br0"),
        ("true", "it is a port of br0", "ip link del br0"),
        (
            "ip link set eth2 name eth3",
            "interface eth2: No such device",
            "ip link set eth3 name eth2",
        ),
    ] {
        outside.at_machine(before);
        if !expected.is_empty() {
            let error = refused(outside.external());
            assert!(error.starts_with("external: ") && error.contains(expected), "{error}");
        }
        outside.at_machine(after);
    }
    outside.at_device("ip link set d1 down");
    let error = refused(outside.external());
    assert!(error.contains("it has no link; look at the cable"), "{error}");
    outside.at_device("ip link set d1 up");
    outside.at_device("ip address add 198.18.1.1/24 dev d0");
    // The machine's own address there, which is allowed: the box has none at the second.
    outside.at_machine("ip address add 192.0.2.1/24 dev eth2");
    let external = External { in_use: true, ..outside.external() };
    let options = Options { external: Some(external), ..options(text) };
    let plan = plan.of(&[lab::iperf3::Device::External], None).unwrap();
    let alone = lab::iperf3::Plan { devices: vec![lab::iperf3::Device::External], ..plan };
    match run(&alone, &options, |_| {}) {
        Err(Iperf3Error::NotInstalled(_)) => {}
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("nobody answers ARP for 198.19.1.1 at eth2@"), "{error}");
        }
        Ok(results) => panic!("{results:?}"),
    }
}

/// Somebody wants an end after the first row: the interfaces are back at once.
#[test]
fn an_end_gives_interfaces_back() {
    let Some(outside) = Outside::routed(1500) else { return };
    let before = outside.interfaces();
    let text = "name = \"t\"\ndevices = [\"external\"]\nprotocols = [\"udp\"]\nudp-rate = \"1M\"\n\
                packets = [128, 1500]\nstreams = 1\nduration = \"1s\"\n";
    let options = Options { external: Some(outside.external()), ..options(text) };
    match run(&plan::read(text).unwrap(), &options, |_| options.interrupt.raise()) {
        Ok(results) => {
            assert_eq!(results.incomplete_because.as_deref(), Some("interrupted"));
            assert_eq!(results.rows.len(), 1);
        }
        Err(Iperf3Error::NotInstalled(_)) => {}
        Err(error) => panic!("{error}"),
    }
    assert_eq!(outside.interfaces(), before);
}
