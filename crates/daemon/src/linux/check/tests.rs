//! The check against a real kernel, in namespaces of our own.

use super::*;
use crate::left_out::{lacks, left_out};
use crate::linux::command::ask;
use crate::linux::netlink::{End, Netlink};
use port::Slab;
use port::linux::Namespace;
use port::linux::interface::Interface;
use port::linux::xdp::{self, XdpPort};

fn port(text: &str, namespace: &Namespace) -> PortSpec {
    let namespace = Some(namespace.path().display().to_string());
    PortSpec { namespace, ..text.parse().unwrap() }
}

fn looked(ports: &[PortSpec], cores: &[usize]) -> Report {
    let (memory, slots) = (1 << 20, Slots::STANDARD);
    check(&Wanted { ports, threads: 1000, cores, memory, slots })
}

fn find<'a>(report: &'a Report, of: &str, what: &str) -> &'a Finding {
    let found = report.findings.iter().find(|f| (f.of.as_str(), f.what.as_str()) == (of, what));
    found.unwrap_or_else(|| panic!("no {what} of {of} in\n{}", report.table()))
}

#[test]
fn what_is_there_is_told_and_nothing_is_changed() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(unavailable) => {
            return left_out(unavailable);
        }
    };
    let mut netlink = Netlink::open_in(&namespace).unwrap();
    let a = End { name: "va", queues: Some(1), ..End::default() };
    netlink.add_veth(&a, &End { name: "vb", queues: Some(1), ..End::default() }).unwrap();
    netlink.set_up("vb", true).unwrap();
    let before =
        (netlink.links().unwrap(), namespace.run(|| Interface::of("va").unwrap()).unwrap());
    let ports = [
        port("ether1=xdp:va", &namespace),
        port("ether2=packet:vb", &namespace),
        port("ether3=tap:tap0", &namespace),
        port("ether4=packet:no-such-if", &namespace),
        port("ether5=xdp:lo", &namespace),
    ];
    let report = looked(&ports, &[0, 4000, 0]);
    let text = report.table();
    let driver = find(&report, "ether1", "driver");
    assert!(driver.is.starts_with("veth"), "{text}");
    assert_eq!(find(&report, "ether1", "link").is, "down");
    let up = &find(&report, "ether1", "link").advice;
    assert!(
        up.starts_with("type `nsenter --net=/proc/") && up.ends_with("ip link set va up`"),
        "{up}"
    );
    assert_eq!(find(&report, "ether2", "link").is, "no carrier");
    // It is the other end that leaves checksums undone.
    let alone = looked(&ports[..1], &[]);
    let offloads = find(&alone, "ether1", "offloads");
    assert_eq!(offloads.verdict, Verdict::Warn);
    let there = ["nsenter --net=/proc/", "ethtool -K vb tx off tso off gso off"];
    assert!(there.iter().all(|words| offloads.advice.contains(words)), "{text}");
    // Where that is a port too, nobody does.
    for (of, other) in [("ether1", "ether2"), ("ether2", "ether1")] {
        let cable = find(&report, of, "cable");
        assert!(cable.verdict == Verdict::Warn && cable.is.contains(other), "{text}");
    }
    assert_eq!(find(&report, "ether1", "FastPath").is, "both ways");
    let threads = find(&report, "machine", "threads");
    assert_eq!(threads.verdict, Verdict::Better);
    assert!(find(&report, "ether3", "interface").is.contains("made by TAP"), "{text}");
    let missing = find(&report, "ether4", "interface");
    assert_eq!(missing.verdict, Verdict::Stop);
    let says = "cannot look at the interface no-such-if: No such device";
    assert!(missing.is.contains(says) && missing.advice.contains("ip link"), "{text}");
    assert_eq!(find(&report, "ether5", "interface").verdict, Verdict::Stop);
    assert_eq!(find(&report, "core 4000", "processor").verdict, Verdict::Stop);
    assert!(find(&report, "core 0", "steal").is.contains('%'), "{text}");
    // The router's thread and the second worker are asked for on one processor.
    let shared = find(&report, "core 0", "threads");
    assert_eq!(shared.verdict, Verdict::Warn);
    assert_eq!(shared.is, "the router's thread and worker 1 share it");
    let of_core = report.findings.iter().filter(|f| f.of == "core 0" && f.what == "steal");
    assert_eq!(of_core.count(), 1, "{text}");
    assert!(report.stops());
    assert_eq!(report.json()["stops"], true);
    let after = (netlink.links().unwrap(), namespace.run(|| Interface::of("va").unwrap()).unwrap());
    assert_eq!(before, after, "looking changed something");

    let report = looked(&[port("ether1=packet:va", &namespace)], &[]);
    assert!(!report.stops(), "{}", report.table());
}

/// What is asked of an interface, and what it is.
#[test]
fn options_are_compared_with_what_there_is() {
    if lacks(&["ip"]) {
        return;
    }
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(unavailable) => return left_out(unavailable),
    };
    let other = Namespace::new().unwrap();
    let mut netlink = Netlink::open_in(&namespace).unwrap();
    let a = End { name: "va", queues: Some(1), ..End::default() };
    let b = End { name: "vb", queues: Some(1), namespace: Some(&other), ..End::default() };
    netlink.add_veth(&a, &b).unwrap();
    netlink.add("br-lan", "bridge").unwrap();
    let [taken, end] = ["vc", "vd"].map(|name| End { name, queues: Some(2), ..End::default() });
    netlink.add_veth(&taken, &end).unwrap();
    netlink.set_master("vc", Some("br-lan")).unwrap();
    ask(&namespace, "ip link add link va name mac0 type macvlan mode bridge").unwrap();
    netlink.set_up("va", true).unwrap();
    netlink.add_address("va", std::net::Ipv4Addr::new(192, 0, 2, 1), 24).unwrap();
    for (text, what, verdict, is, advice) in [
        ("xdp:va,queues=7", "queues", Verdict::Stop, "7 are asked for", "va has 1 at most: leave"),
        ("xdp:vc,queues=1", "queues", Verdict::Stop, "1 are asked for", "ethtool -L vc rx 1 tx 1`"),
        ("xdp:va,queues=1", "queues", Verdict::Good, "1 to receive by", ""),
        ("xdp:va,copy=no", "zero-copy", Verdict::Stop, "no zero-copy", "leave out copy=no"),
        ("tap:va", "TAP", Verdict::Stop, "no TAP (veth)", "take another name"),
        ("packet:va,offload=yes", "FastPath", Verdict::Good, "half:", ""),
        ("packet:va", "kernel", Verdict::Warn, "it has 192.0.2.1/24 on va", "say kernel=yes"),
        ("xdp:va,kernel=yes", "kernel", Verdict::Good, "left to it", ""),
        ("packet:vc", "bridge", Verdict::Warn, "the kernel's bridge br-lan", "vc nomaster`"),
        ("xdp:va", "macvlan", Verdict::Warn, "the kernel's mac0 is made on va", "delete mac0`"),
        // A namespace without a name: nobody can look into it.
        ("xdp:va", "offloads", Verdict::Warn, "not seen from here", "ethtool -K PEER tx off"),
    ] {
        let report = looked(&[port(&format!("ether1={text}"), &namespace)], &[]);
        let found = find(&report, "ether1", what);
        let as_said = found.verdict == verdict && found.is.contains(is);
        assert!(as_said && found.advice.contains(advice), "{text}: {found:?}");
    }
    // Another program's XDP is in the way of AF_XDP, and in front of AF_PACKET.
    let slab = Slab::new(4096).unwrap();
    let _held = namespace.run(|| XdpPort::open("va", &slab, &xdp::Options::default())).unwrap();
    for (text, verdict, is) in [
        ("xdp:va", Verdict::Stop, "attached already"),
        ("packet:va", Verdict::Warn, "is attached to va: what it drops or redirects does not come"),
    ] {
        let report = looked(&[port(&format!("ether1={text}"), &namespace)], &[]);
        let found = find(&report, "ether1", "XDP");
        assert!(found.verdict == verdict && found.is.contains(is), "{text}: {found:?}");
    }
}
