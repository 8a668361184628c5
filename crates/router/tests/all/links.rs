//! Links that go down and come up: what follows from it.

use crate::rig::{Rig, mac, own_mac};
use port::Capabilities;
use router::discard::Discard;
use router::ip::route::Target;
use router::{Link, PortInfo};
use wire::{MacAddr, craft};

const ROUTED: &str = "/ip address add address=10.0.1.1/24 interface=ether1
    /ip address add address=10.0.2.1/24 interface=ether2
    /ip address add address=10.0.3.1/24 interface=ether3";

const fn ip(net: u8, host: u8) -> u32 {
    u32::from_be_bytes([10, 0, net, host])
}

fn set(rig: &mut Rig, port: usize, link: Link) {
    rig.router.set_link(port - 1, link, rig.now).unwrap();
}

fn down() -> Link {
    Link { running: false, ..Link::default() }
}

fn udp(src: u32, dst: u32) -> Vec<u8> {
    from_one(craft::udp(src, 1000, dst, 2000))
}

/// A frame of our host behind ether1 to the router.
fn from_one(frame: craft::Frame) -> Vec<u8> {
    craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame }.build()
}

/// Where the router sends a packet from 10.0.1.2 to `dst`.
fn out(rig: &mut Rig, dst: u32) -> Vec<usize> {
    let frames = rig.pass(1, &udp(ip(1, 2), dst));
    let ipv4 = |frame: &[u8]| frame[12..14] == [8, 0] && frame[23] == 17;
    frames.into_iter().filter(|(_, frame)| ipv4(frame)).map(|(port, _)| port).collect()
}

fn discarded(rig: &Rig, why: Discard) -> u64 {
    rig.router.discards().get(why)
}

#[test]
fn routes_by_a_port_that_is_down_are_inactive() {
    let mut rig = Rig::new(3, ROUTED);
    rig.run(
        "/ip route add dst-address=10.9.0.0/16 gateway=10.0.2.2
        /ip route add dst-address=10.9.0.0/16 gateway=10.0.3.2 distance=5
        /ip route add dst-address=10.8.0.0/16 gateway=10.0.2.2,10.0.3.2",
    );
    for (net, host) in [(1, 2), (2, 2), (3, 2)] {
        rig.introduce(net.into(), mac(net), ip(net, host), ip(net, 1));
    }
    let elsewhere = |rig: &mut Rig| out(rig, u32::from_be_bytes([10, 9, 0, 1]));
    let ecmp = |rig: &mut Rig| {
        let mut ports: Vec<_> =
            (1..40).flat_map(|n| out(rig, u32::from_be_bytes([10, 8, 0, n]))).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    };
    assert_eq!((out(&mut rig, ip(2, 2)), elsewhere(&mut rig)), (vec![2], vec![2]));
    assert_eq!(ecmp(&mut rig), [2, 3]);

    set(&mut rig, 2, down());
    assert_eq!(out(&mut rig, ip(2, 2)), [0; 0]);
    assert_eq!(discarded(&rig, Discard::NoRoute), 1);
    assert_eq!(elsewhere(&mut rig), [3], "the second best takes over");
    assert_eq!(ecmp(&mut rig), [3]);
    let text = rig.run("/ip route print");
    for line in
        ["0   S  10.9.0.0/16", "1 A S  10.9.0.0/16", "4  DC  10.0.2.0/24", "5 ADC  10.0.3.0/24"]
    {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let text = rig.run("/ip route print detail where distance=1");
    assert!(text.contains("10.0.2.2 unreachable"), "{text}");
    // The router's own address stays its own, and is not said to be invalid.
    let reply = rig.pass(1, &from_one(craft::ping(ip(1, 2), ip(2, 1))));
    assert!(reply.iter().any(|(port, frame)| *port == 1 && frame[23] == 1), "{reply:02x?}");
    assert_eq!(rig.run(":put [/ip address find invalid]").trim(), "");

    set(&mut rig, 2, Link::default());
    assert_eq!(elsewhere(&mut rig), [0; 0], "the neighbour is to be found anew");
    rig.introduce(2, mac(2), ip(2, 2), ip(2, 1));
    assert_eq!((out(&mut rig, ip(2, 2)), elsewhere(&mut rig)), (vec![2], vec![2]));
    assert_eq!(ecmp(&mut rig), [2, 3]);
}

#[test]
fn what_flows_had_learnt_is_forgotten() {
    let mut rig = Rig::new(3, ROUTED);
    rig.run(
        "/ip firewall connection tracking set enabled=yes
        /ip route add dst-address=0.0.0.0/0 gateway=10.0.3.2",
    );
    rig.introduce(2, mac(2), ip(2, 2), ip(2, 1));
    rig.introduce(3, mac(3), ip(3, 2), ip(3, 1));
    for _ in 0..4 {
        assert_eq!(out(&mut rig, ip(2, 2)), [2]);
    }
    let replayed = rig.router.path_counts().replayed;
    assert!(replayed > 0);
    set(&mut rig, 2, down());
    assert_eq!(out(&mut rig, ip(2, 2)), [3], "by the default route");
    assert_eq!(rig.router.path_counts().replayed, replayed);
}

#[test]
fn a_port_that_is_down_neither_takes_nor_gives() {
    let mut rig = Rig::new(2, ROUTED.lines().take(2).collect::<Vec<_>>().join("\n").as_str());
    rig.introduce(2, mac(2), ip(2, 2), ip(2, 1));
    set(&mut rig, 1, down());
    assert_eq!(out(&mut rig, ip(2, 2)), [0; 0]);
    assert_eq!(discarded(&rig, Discard::InterfaceDown), 1);
    let text = rig.run("/interface print");
    assert!(text.contains("0   ether1") && text.contains("1 R ether2"), "{text}");
    let text = rig.run("/interface ethernet print");
    assert!(text.contains("0   ether1") && text.contains("1 R ether2"), "{text}");
}

#[test]
fn a_bridge_forgets_who_was_behind_a_port() {
    let mut rig = Rig::new(
        3,
        "/interface bridge add name=b protocol-mode=none
        /interface bridge port add bridge=b interface=ether1
        /interface bridge port add bridge=b interface=ether2
        /interface bridge port add bridge=b interface=ether3",
    );
    let frame = |from, to| {
        let template = craft::udp(ip(1, 2), 1, ip(1, 3), 2);
        craft::Frame { src_mac: mac(from), dst_mac: mac(to), ..template }.build()
    };
    let ports =
        |out: Vec<(usize, Vec<u8>)>| out.into_iter().map(|(port, _)| port).collect::<Vec<_>>();
    rig.pass(2, &frame(2, 1));
    assert_eq!(ports(rig.pass(1, &frame(1, 2))), [2]);
    set(&mut rig, 2, down());
    assert_eq!(ports(rig.pass(1, &frame(1, 2))), [3], "flooded, but not to the port that is down");
    assert_eq!(ports(rig.pass(2, &frame(2, 1))), [0; 0]);
    let mac_of = |rig: &Rig| {
        let names = &rig.router.program().names;
        rig.router.program().interface(names.find("b").unwrap()).mac
    };
    assert_eq!(mac_of(&rig), own_mac(1));
    let text = rig.run("/interface bridge port print");
    assert!(text.contains("1 I ether2") || text.contains("I   ether2"), "{text}");
    let runs = |rig: &Rig| {
        let program = rig.router.program();
        program.runs(program.names.find("b").unwrap())
    };
    set(&mut rig, 1, down());
    assert!(runs(&rig));
    assert_eq!(mac_of(&rig), own_mac(1), "the bridge keeps its address");
    set(&mut rig, 3, down());
    assert!(!runs(&rig), "all of its ports are down");
    set(&mut rig, 2, Link::default());
    assert!(runs(&rig));
    rig.pass(2, &frame(2, 1));
}

#[test]
fn fed_routes_use_what_is_left_of_their_gateways() {
    let mut rig = Rig::new(3, ROUTED);
    let [two, three] = [rig.ether(2), rig.ether(3)];
    let (prefix, other) = ("10.9.0.0/16".parse().unwrap(), "10.8.0.0/16".parse().unwrap());
    let gateways = |ways: &[_]| Target::Gateways(ways.to_vec());
    rig.router
        .feed_routes([
            (prefix, gateways(&[(two, ip(2, 2)), (three, ip(3, 2))])),
            (other, gateways(&[(two, ip(2, 2))])),
        ])
        .unwrap();
    rig.run("/ip route add dst-address=10.8.0.0/16 gateway=10.0.3.2 distance=200");
    let target = |rig: &Rig, address: [u8; 4]| {
        let routes = rig.router.routes();
        routes.target(routes.lookup(u32::from_be_bytes(address))).cloned()
    };
    assert_eq!(target(&rig, [10, 8, 0, 1]), Some(gateways(&[(two, ip(2, 2))])));
    set(&mut rig, 2, down());
    assert_eq!(target(&rig, [10, 9, 0, 1]), Some(gateways(&[(three, ip(3, 2))])));
    assert_eq!(target(&rig, [10, 8, 0, 1]), Some(gateways(&[(three, ip(3, 2))])));
    set(&mut rig, 3, down());
    assert_eq!(target(&rig, [10, 9, 0, 1]), None);
    assert_eq!(target(&rig, [10, 8, 0, 1]), None);
    // What is fed meanwhile waits for its link.
    let late = "10.7.0.0/16".parse().unwrap();
    rig.router.feed_routes([(late, gateways(&[(two, ip(2, 9))]))]).unwrap();
    assert_eq!(target(&rig, [10, 7, 0, 1]), None);
    set(&mut rig, 2, Link::default());
    assert_eq!(target(&rig, [10, 7, 0, 1]), Some(gateways(&[(two, ip(2, 9))])));
    assert_eq!(target(&rig, [10, 9, 0, 1]), Some(gateways(&[(two, ip(2, 2))])));
    assert_eq!(rig.router.withdraw_routes([prefix, other, late]), 3);
    assert_eq!(target(&rig, [10, 9, 0, 1]), None);
}

#[test]
fn links_are_told() {
    let mut rig = Rig::new(2, "");
    let fast = Link { speed_mbps: Some(10_000), ..Link::default() };
    for link in [down(), down(), fast, Link { running: false, ..fast }, fast] {
        set(&mut rig, 1, link);
    }
    let log = rig.run("/log print");
    let said: Vec<_> = log.lines().filter_map(|line| line.split_once("interface,info ")).collect();
    let said: Vec<_> = said.into_iter().map(|(_, text)| text.trim_end()).collect();
    let up = "ether1 link up (speed 10G, full duplex)";
    assert_eq!(said, ["ether1 link down", up, "ether1 link down", up], "{log}");
    let text = rig.run("/interface print detail where name=ether1");
    assert!(text.contains("last-link-up-time=\"00:00:00\""), "{text}");
    assert_eq!(rig.run(":put [/interface get ether1 link-downs]").trim(), "2");
    // The interface's own address, and the longest packet it takes.
    let other = Link { mac: Some(MacAddr([2, 9, 9, 9, 9, 9])), mtu: Some(1400), ..fast };
    set(&mut rig, 1, other);
    let text = rig.run("/interface print detail where name=ether1");
    assert!(text.contains("actual-mtu=1400") && text.contains("02:09:09:09:09:09"), "{text}");
    assert!(
        rig.run("/log print").contains("interface,warning ether1 has an MTU of 1400, not 1500")
    );
    rig.run("/interface ethernet set ether1 mtu=1300");
    assert!(rig.run("/interface print detail where name=ether1").contains("actual-mtu=1300"));
}

#[test]
fn an_mtu_that_shrinks_is_kept() {
    let mut rig = Rig::new(2, ROUTED.lines().take(2).collect::<Vec<_>>().join("\n").as_str());
    rig.introduce(2, mac(2), ip(2, 2), ip(2, 1));
    rig.introduce(1, mac(1), ip(1, 2), ip(1, 1));
    let template = craft::udp(ip(1, 2), 1, ip(2, 2), 2);
    let long = from_one(craft::Frame { payload: &[0; 1372], ..template });
    assert_eq!(rig.pass(1, &long).len(), 1);
    set(&mut rig, 2, Link { mtu: Some(1000), ..Link::default() });
    rig.introduce(2, mac(2), ip(2, 2), ip(2, 1));
    let pieces = rig.pass(1, &long);
    assert_eq!(pieces.len(), 2, "in fragments: {pieces:02x?}");
    assert!(pieces.iter().all(|(port, frame)| *port == 2 && frame.len() <= 1014));
}

/// The number of ports is not what matters here: the infos are.
#[test]
#[should_panic(expected = "index out of bounds")]
fn there_are_only_the_ports_there_are() {
    let slab = port::Slab::new(64).unwrap();
    let info = PortInfo {
        name: "ether1".to_string(),
        mac: own_mac(1),
        capabilities: Capabilities::default(),
    };
    let mut router = router::Router::new(vec![info], &slab);
    let _ = router.set_link(1, Link::default(), wire::Moment::ZERO);
}
