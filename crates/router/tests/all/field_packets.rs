//! Configurations as they are in the field (`configs/field/`): packets through each, and what comes of them.
//!
//! ```text
//! FILE.rsc ─► a router, tolerant ─► packet in by a port ─► packets out, by which ports
//!                                   who is asked for by the router, or pinged, answers, whatever the address
//! ```

use crate::ipv6::{Sent, advertisement, ip6, to};
use crate::rig::{Rig, own_mac};
use config::survey;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use wire::arp::{ArpMessage, Operation};
use wire::checksum::Sum;
use wire::icmpv6::Neighbour;
use wire::layers::{self, protocol};
use wire::vlan::Tci;
use wire::{Arp, Ipv6, MacAddr, TcpFlags, craft};

/// What our packets carry: by it they are found again, in errors, too.
const MARK: &[u8] = b"of the field";

/// A packet and what comes of it: `-` is nothing.
///
/// `PORT [vlan N] ADDRESS:PORT [via GATEWAY] > ADDRESS:PORT PROTOCOL`; without `via` it is sent to whom it is
/// for, on the same network.
type Packet = (&'static str, &'static str);

/// A file, what is typed beside it (what its provider would have given it), and packets.
const CASES: &[(&str, &str, &[Packet])] = &[
    (
        "bridge-wireless-link",
        "",
        &[
            // The radio is not there: a bridge with one port that runs, and its own address.
            ("ether1 192.168.255.9:1 > 192.168.255.77:2 udp", "-"),
            (
                "ether1 192.168.255.9:1 > 192.168.255.2:0 icmp",
                "ether1 192.168.255.2 > 192.168.255.9",
            ),
        ],
    ),
    (
        "dual-wan-pcc",
        "",
        &[
            // The classifier sends some here and some there, each with the address of its way.
            (
                "ether3 192.168.10.50:1000 via 192.168.10.1 > 8.8.8.8:53 udp",
                "ether1-wan1 198.51.100.2:1000 > 8.8.8.8:53",
            ),
            (
                "ether3 192.168.10.53:1001 via 192.168.10.1 > 8.8.8.8:53 udp",
                "ether2-wan2 203.0.113.2:1001 > 8.8.8.8:53",
            ),
            (
                "ether2-wan2 8.8.8.8:53 via 203.0.113.2 > 203.0.113.2:1001 udp",
                "ether3 8.8.8.8:53 > 192.168.10.53:1001",
            ),
            // The web server inside; its answer leaves where the question came from.
            (
                "ether2-wan2 198.18.0.9:1000 via 203.0.113.2 > 203.0.113.2:443 tcp",
                "ether3 198.18.0.9:1000 > 192.168.10.5:443",
            ),
            (
                "ether3 192.168.10.5:443 via 192.168.10.1 > 198.18.0.9:1000 tcp-answer",
                "ether2-wan2 203.0.113.2:443 > 198.18.0.9:1000",
            ),
            ("ether1-wan1 198.18.0.9:1000 via 198.51.100.2 > 198.51.100.2:22 tcp", "-"),
        ],
    ),
    (
        "dual-wan-v7",
        "",
        &[
            (
                "ether3 10.20.0.50:1000 via 10.20.0.1 > 8.8.8.8:53 udp",
                "wan1 192.0.2.2:1000 > 8.8.8.8:53",
            ),
            (
                "wan1 8.8.8.8:53 via 192.0.2.2 > 192.0.2.2:1000 udp",
                "ether3 8.8.8.8:53 > 10.20.0.50:1000",
            ),
            ("ether3 10.20.0.50:1000 via 10.20.0.1 > 10.77.0.1:53 udp", "-"), // the black hole
        ],
    ),
    ("home-defconf", PROVIDER, HOME),
    ("home-defconf-v7", PROVIDER, HOME),
    (
        "hotspot",
        PROVIDER,
        &[
            // Who has not logged in asks the router for names, and gets the page.
            ("ether5 10.5.50.9:1000 via 10.5.50.1 > 8.8.8.8:53 udp", "-"),
            ("ether5 10.5.50.9:1000 via 10.5.50.1 > 8.8.8.8:443 udp", "-"),
            ("ether5 10.5.50.9:1000 via 10.5.50.1 > 192.168.1.1:80 tcp", "-"),
        ],
    ),
    (
        "ipv6-home",
        PROVIDER,
        &[(
            "ether2 192.168.70.9:1000 via 192.168.70.1 > 8.8.8.8:53 udp",
            "ether1 203.0.113.2:1000 > 8.8.8.8:53",
        )],
    ),
    (
        "isp-pppoe",
        "",
        &[
            // A debtor sees the page that says so, names, and nothing else.
            (
                "ether2 10.255.0.9:1000 via 10.255.0.1 > 192.0.2.80:443 tcp",
                "sfp-sfpplus1 10.255.0.9:1000 > 192.0.2.80:443",
            ),
            ("sfp-sfpplus1 10.9.9.9:1 via 192.0.2.10 > 10.255.0.9:2 udp", "-"),
            ("sfp-sfpplus1 198.18.0.9:1 via 192.0.2.10 > 192.0.2.10:80 tcp", "-"),
            ("sfp-sfpplus1 192.0.2.9:1 > 192.0.2.10:0 icmp", "sfp-sfpplus1 192.0.2.10 > 192.0.2.9"),
            ("ether2 10.255.0.9:1 via 10.255.0.1 > 203.0.113.99:9 udp", "-"), // the black hole
            ("debtors", "/ip firewall address-list add list=debtors address=10.255.0.9"),
            (
                "ether2 10.255.0.9:1001 via 10.255.0.1 > 198.18.0.9:80 tcp",
                "sfp-sfpplus1 10.255.0.9:1001 > 192.0.2.80:8080",
            ),
            (
                "ether2 10.255.0.9:1002 via 10.255.0.1 > 198.18.0.9:53 udp",
                "sfp-sfpplus1 10.255.0.9:1002 > 198.18.0.9:53",
            ),
            (
                "ether2 10.255.0.9:1003 via 10.255.0.1 > 198.18.0.9:443 tcp",
                "ether2 10.255.0.1 > 10.255.0.9",
            ),
        ],
    ),
    (
        "office-terse",
        "/ip address add address=203.0.113.2/24 interface=ether1
/interface list member add interface=ether1 list=WAN\n/ip route add gateway=203.0.113.1",
        &[
            (
                "ether2 192.168.5.30:1000 via 192.168.5.1 > 8.8.8.8:53 udp",
                "ether1 203.0.113.2:1000 > 8.8.8.8:53",
            ),
            // Guests are in a VLAN, and kept from the office.
            (
                "ether2 vlan 50 192.168.50.30:1001 via 192.168.50.1 > 8.8.8.8:53 udp",
                "ether1 203.0.113.2:1001 > 8.8.8.8:53",
            ),
            ("ether2 vlan 50 192.168.50.30:1002 via 192.168.50.1 > 192.168.5.30:80 tcp", "-"),
            // Hairpin: the office asks for its own server by the address outside.
            (
                "ether2 192.168.5.30:1003 via 192.168.5.1 > 203.0.113.2:443 tcp",
                "ether2 192.168.5.1:1003 > 192.168.5.9:443",
            ),
            ("ether1 198.18.0.9:1 via 203.0.113.2 > 203.0.113.2:80 tcp", "-"),
        ],
    ),
    (
        "qos-tree",
        "",
        &[
            (
                "ether2-LAN 192.168.7.7:1000 via 192.168.7.1 > 8.8.8.8:5060 udp",
                "ether1-WAN 203.0.113.30:1000 > 8.8.8.8:5060",
            ),
            (
                "ether1-WAN 8.8.8.8:5060 via 203.0.113.30 > 203.0.113.30:1000 udp",
                "ether2-LAN 8.8.8.8:5060 > 192.168.7.7:1000",
            ),
            ("get :put [/queue tree get voice-up packets]", "1"),
            ("get :put [/queue tree get voice-down packets]", "2"), // of global, both ways
            ("get :put [/queue tree get rest-up packets]", "0"),
        ],
    ),
    (
        "switch",
        "",
        &[
            (
                "ether4 192.168.3.40:1 > 192.168.3.50:2 udp",
                "ether1 192.168.3.40:1 > 192.168.3.50:2, ether2 192.168.3.40:1 > 192.168.3.50:2, ether3 \
                 192.168.3.40:1 > 192.168.3.50:2, sfp9 192.168.3.40:1 > 192.168.3.50:2",
            ),
            // Behind the horizon of ether4 is ether5; what is known goes to one port.
            ("ether5 192.168.3.50:2 > 192.168.3.40:1 udp", "-"),
            ("ether1 192.168.3.1:2 > 192.168.3.40:1 udp", "ether4 192.168.3.1:2 > 192.168.3.40:1"),
        ],
    ),
    (
        "verbose-v6",
        PROVIDER,
        &[
            (
                "ether2 192.168.50.20:1000 via 192.168.50.1 > 8.8.8.8:53 udp",
                "ether1 203.0.113.2:1000 > 8.8.8.8:53",
            ),
            (
                "ether1 8.8.8.8:53 via 203.0.113.2 > 203.0.113.2:1000 udp",
                "ether2 8.8.8.8:53 > 192.168.50.20:1000",
            ),
        ],
    ),
    (
        "vlan-campus",
        "",
        &[
            (
                "ether2 10.10.0.60:1 via 10.10.0.1 > 198.18.0.9:2 udp",
                "ether1 10.10.0.60:1 > 198.18.0.9:2",
            ),
            (
                "ether2 10.10.0.60:1 via 10.10.0.1 > 10.30.0.60:2 udp",
                "ether4 10.10.0.60:1 > 10.30.0.60:2",
            ),
            // Students stay out of the staff's network, and voice out of both without a rule.
            ("ether3 10.20.0.60:1 via 10.20.0.1 > 10.10.0.60:3 udp", "-"),
            ("ether3 10.20.0.60:1 via 10.20.0.1 > 10.20.0.1:22 tcp", "-"),
            (
                "ether3 10.20.0.60:1 via 10.20.0.1 > 10.20.0.1:0 icmp",
                "ether3 10.20.0.1 > 10.20.0.60",
            ),
            ("ether2 vlan 20 10.20.0.61:1 via 10.20.0.1 > 198.18.0.9:2 udp", "-"),
        ],
    ),
    (
        "vpn-server",
        "",
        &[
            (
                "ether2 192.168.1.50:1000 via 192.168.1.1 > 8.8.8.8:53 udp",
                "ether1 203.0.113.5:1000 > 8.8.8.8:53",
            ),
            // To branches through tunnels, untranslated; what is seen is the outer packet.
            (
                "ether2 192.168.1.50:1000 via 192.168.1.1 > 192.168.2.9:53 udp",
                "ether1 203.0.113.5 > 198.51.100.77",
            ),
            (
                "ether2 192.168.1.50:1000 via 192.168.1.1 > 10.50.0.9:53 udp",
                "ether1 203.0.113.5 > 198.51.100.99",
            ),
            ("ether1 198.18.0.9:1 via 203.0.113.5 > 203.0.113.5:1723 tcp", "-"),
        ],
    ),
    (
        "vrrp-pair",
        "",
        &[
            // Nobody else says that he is it: the router is master, and hosts have its virtual address.
            (
                "ether3 vlan 10 10.0.10.9:1 via 10.0.10.1 > 198.18.0.9:2 udp",
                "ether1 10.0.10.9:1 > 198.18.0.9:2",
            ),
            (
                "ether3 vlan 10 10.0.10.9:1 via 10.0.10.1 > 10.0.20.9:2 udp",
                "ether3 vlan 20 10.0.10.9:1 > 10.0.20.9:2",
            ),
            (
                "ether3 vlan 10 10.0.10.9:1 via 10.0.10.1 > 192.168.7.7:2 udp",
                "ether1 10.0.10.9:1 > 192.168.7.7:2",
            ),
            ("ether3 vlan 10 10.0.10.9:1 via 10.0.10.1 > 10.0.10.1:22 tcp", "-"),
            (
                "ether3 vlan 10 10.0.10.9:1 via 10.0.10.1 > 10.0.10.1:0 icmp",
                "ether3 vlan 10 10.0.10.1 > 10.0.10.9",
            ),
        ],
    ),
    (
        "wireguard-v7",
        "/ip dhcp-client remove [find interface=ether1]
         /ip address add address=203.0.113.2/24 interface=ether1\n/ip route add gateway=203.0.113.1
         /interface wireguard peers set site-b endpoint-address=198.51.100.77 persistent-keepalive=0s",
        &[
            (
                "ether2 192.168.88.10:1000 via 192.168.88.1 > 8.8.8.8:53 udp",
                "ether1 203.0.113.2:1000 > 8.8.8.8:53",
            ),
            // To the other site: it waits, and a handshake is begun.
            ("ether2 192.168.88.10:1000 via 192.168.88.1 > 192.168.90.9:53 udp", "-"),
            ("get :put [/interface wireguard peers get [find name=site-b] tx]", "148"),
            // A laptop is waited for; whoever speaks without knowing a key is not answered.
            ("ether2 192.168.88.10:1000 via 192.168.88.1 > 10.77.0.3:53 udp", "-"),
            ("ether1 198.18.0.9:1 via 203.0.113.2 > 203.0.113.2:51820 udp", "-"),
            ("ether1 198.18.0.9:1 via 203.0.113.2 > 203.0.113.2:80 tcp", "-"),
        ],
    ),
];

/// What a provider gives by DHCP.
const PROVIDER: &str = "/ip dhcp-client remove [find interface=ether1]
/ip address add address=203.0.113.2/24 interface=ether1\n/ip route add gateway=203.0.113.1";

/// A house of the factory.
const HOME: &[Packet] = &[
    (
        "ether2 192.168.88.10:1000 via 192.168.88.1 > 8.8.8.8:53 udp",
        "ether1 203.0.113.2:1000 > 8.8.8.8:53",
    ),
    (
        "ether1 8.8.8.8:53 via 203.0.113.2 > 203.0.113.2:1000 udp",
        "ether2 8.8.8.8:53 > 192.168.88.10:1000",
    ),
    ("ether3 192.168.88.11:1 > 192.168.88.10:2 udp", "ether2 192.168.88.11:1 > 192.168.88.10:2"),
    (
        "ether2 192.168.88.10:1 via 192.168.88.1 > 192.168.88.1:0 icmp",
        "ether2 192.168.88.1 > 192.168.88.10",
    ),
    ("ether1 198.18.0.9:1 via 203.0.113.2 > 203.0.113.2:80 tcp", "-"),
    ("ether1 198.18.0.9:1 via 203.0.113.2 > 192.168.88.10:80 tcp", "-"),
    ("ether1 198.18.0.9:1 via 203.0.113.2 > 203.0.113.2:0 icmp", "ether1 203.0.113.2 > 198.18.0.9"),
];

/// Ports of all boxes together.
const PORTS: [&str; 9] = [
    "ether1",
    "ether2",
    "ether3",
    "ether4",
    "ether5",
    "ether8",
    "sfp9",
    "sfp-sfpplus1",
    "sfp-sfpplus2",
];

/// A router of a file, as a tolerant import makes it, after its bridges let packets pass.
fn router(file: &str, beside: &str) -> Rig {
    let path = format!("{}/../../configs/field/{file}.rsc", env!("CARGO_MANIFEST_DIR"));
    let script = std::fs::read_to_string(path).unwrap();
    let mut rig = Rig::with_names(&PORTS);
    let tried = survey::survey(&script, &mut rig.console, &rig.router.status(rig.now));
    assert!(!tried.unwrap().is_empty());
    rig.run(beside);
    for _ in 0..100 {
        rig.wait(Duration::from_millis(100));
        came(&mut rig);
    }
    rig
}

/// A host's MAC address, by its IP address.
fn mac_of(address: u32) -> MacAddr {
    let [a, b, c, d] = address.to_be_bytes();
    MacAddr([0x06, 0, a, b, c, d])
}

/// The place of a port, by the name that it has now.
fn port(rig: &Rig, name: &str) -> usize {
    let program = rig.router.program();
    let id = program.names.find(name).unwrap_or_else(|| panic!("no {name}"));
    1 + program.ports.iter().position(|port| *port == id).expect("a port")
}

/// What somebody answers who is asked for, or pinged, by the router.
fn answer(frame: &[u8]) -> Option<Vec<u8>> {
    let layers = layers::network(frame).ok()?;
    let (vlan, l3) = (layers.vlan.map(Tci), usize::from(layers.l3));
    let router = MacAddr(frame[6..12].try_into().unwrap());
    let (is_host, is_ours) = (router.0[0] == 6, frame.windows(MARK.len()).any(|part| part == MARK));
    match (layers.ether_type, layers.protocol) {
        _ if is_host || is_ours => None,
        (0x806, _) => {
            let asked = Arp::new(&frame[l3..]).ok()?.message();
            let asks = asked.operation == Operation::Request && asked.sender_ip != asked.target_ip;
            let answer = ArpMessage {
                operation: Operation::Reply,
                sender_mac: mac_of(asked.target_ip),
                sender_ip: asked.target_ip,
                target_mac: asked.sender_mac,
                target_ip: asked.sender_ip,
            };
            asks.then(|| craft::Frame { vlan, ..craft::arp(answer) }.build())
        }
        (0x800, protocol::ICMP) if frame[l3 + 20] == 8 => {
            let mut answer = frame.to_vec();
            answer[..12].copy_from_slice(&[&frame[6..12], &frame[..6]].concat());
            answer[l3 + 12..l3 + 20]
                .copy_from_slice(&[&frame[l3 + 16..l3 + 20], &frame[l3 + 12..l3 + 16]].concat());
            answer[l3 + 20] = 0;
            let sum = u16::from_be_bytes([frame[l3 + 22], frame[l3 + 23]]);
            let (sum, over) = sum.overflowing_add(0x800);
            answer[l3 + 22..l3 + 24].copy_from_slice(&(sum + u16::from(over)).to_be_bytes());
            Some(answer)
        }
        (0x86dd, _) => {
            let packet = Ipv6::new(&frame[l3..]).ok()?;
            let asked =
                Neighbour::read(packet.payload()).ok().filter(|asked| !asked.advertisement)?;
            let (mac, own) = (MacAddr([6, 0, 0, 0, 0, 6]), asked.target);
            let says = advertisement(&own.to_string(), mac);
            let asks = packet.next_header() == 58 && !packet.src().is_unspecified();
            asks.then(|| craft::neighbour(says, [mac, router], [own, packet.src()]))
        }
        _ => None,
    }
}

/// What comes out of all ports until nothing more does.
fn came(rig: &mut Rig) -> Vec<(usize, Vec<u8>)> {
    let mut came = Vec::new();
    loop {
        rig.breathe();
        let out: Vec<_> = (1..=rig.n_ports())
            .flat_map(|port| rig.take(port).into_iter().map(move |f| (port, f)))
            .collect();
        if out.is_empty() {
            return came;
        }
        for (port, frame) in out {
            match answer(&frame) {
                Some(answer) => rig.send(port, &answer),
                None => came.push((port, frame)),
            }
        }
    }
}

/// Sends what a line says, and says what comes of it.
fn sent(rig: &mut Rig, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let at = |word: &str| words.iter().position(|w| *w == word).map(|at| words[at + 1]);
    let number = |text: &str| u32::from(text.parse::<Ipv4Addr>().expect(text));
    let end = |text: &str| {
        let (address, port) = text.split_once(':').expect(text);
        (number(address), port.parse().unwrap())
    };
    let vlan = at("vlan").map(|id| Tci(id.parse().unwrap()));
    let (src, src_port) = end(words[if vlan.is_some() { 3 } else { 1 }]);
    let (dst, dst_port): (u32, u16) = end(at(">").unwrap());
    let (port, src_mac) = (port(rig, words[0]), mac_of(src));
    // Whoever is asked by a host that wants to talk: the gateway, or the one on the same network.
    let next = at("via").map_or(dst, number);
    let asks = craft::arp(ArpMessage::request(src_mac, src, next));
    rig.send(port, &craft::Frame { vlan, ..asks }.build());
    let answer = came(rig).into_iter().find_map(|(_, frame)| {
        let layers = layers::network(&frame).ok()?;
        let arp = Arp::new(&frame[layers.l3.into()..]).ok()?.message();
        (layers.ether_type == 0x806 && arp.operation == Operation::Reply).then_some(arp.sender_mac)
    });
    let frame = match *words.last().unwrap() {
        "udp" => craft::udp(src, src_port, dst, dst_port),
        "tcp" => craft::tcp(src, src_port, dst, dst_port, TcpFlags::SYN),
        "tcp-answer" => craft::tcp(src, src_port, dst, dst_port, TcpFlags::SYN | TcpFlags::ACK),
        _ => craft::ping(src, dst),
    };
    let dst_mac = answer.unwrap_or(mac_of(next));
    rig.send(port, &craft::Frame { src_mac, dst_mac, vlan, payload: MARK, ..frame }.build());
    let mut out = came(rig);
    // Queues and their rates take their time.
    rig.wait(Duration::from_millis(500));
    out.extend(came(rig));
    let is_ours = |frame: &[u8]| frame.windows(MARK.len()).any(|part| part == MARK);
    let program = rig.router.program();
    let shown = out.iter().filter(|(_, frame)| is_ours(frame)).map(|(port, frame)| {
        let layers = layers::network(frame).unwrap();
        let mut text = program.interface(program.ports[port - 1]).name.to_string();
        if let Some(vlan) = layers.vlan {
            write!(text, " vlan {}", vlan & 0xfff).unwrap();
        }
        let tuple = layers.tuple;
        let end = |address: u32, port: u16| match layers.protocol {
            protocol::UDP | protocol::TCP => format!("{}:{port}", Ipv4Addr::from(address)),
            _ => Ipv4Addr::from(address).to_string(),
        };
        format!("{text} {} > {}", end(tuple.src, tuple.src_port), end(tuple.dst, tuple.dst_port))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "-".to_string() } else { shown.join(", ") }
}

#[test]
fn configurations_of_the_field_behave() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/field");
    assert_eq!(
        std::fs::read_dir(folder).unwrap().count(),
        CASES.len(),
        "each file has its packets"
    );
    let mut faults = String::new();
    for (file, beside, packets) in CASES {
        let mut rig = router(file, beside);
        for (line, expected) in *packets {
            let is = match (line.strip_prefix("get "), line.contains('>')) {
                (Some(command), _) => rig.run(command).trim().to_string(),
                (None, true) => sent(&mut rig, line),
                (None, false) => {
                    rig.run(expected);
                    continue;
                }
            };
            if is != *expected {
                writeln!(faults, "{file}: {line}\n  is       {is}\n  expected {expected}").unwrap();
            }
        }
        let balance = rig.frames_in_use();
        assert!(balance < 64, "{file}: {balance} frames are kept");
    }
    assert!(faults.is_empty(), "{faults}");
}

/// The same by IPv6: out, back by what was asked, and nothing else in.
#[test]
fn the_home_with_ipv6_behaves() {
    let mut rig = router("ipv6-home", "");
    let (inside, outside) = (ip6("2001:db8:70:1::5"), ip6("2001:db8:9::9"));
    let mut out = |port: usize, src: Ipv6Addr, dst: Ipv6Addr, mut payload: Vec<u8>| {
        payload[6..8].fill(0);
        let sum = Sum::pseudo_ipv6(src.octets(), dst.octets(), protocol::UDP, payload.len() as u32);
        let sum = sum.bytes(&payload).finish();
        payload[6..8].copy_from_slice(&sum.to_be_bytes());
        let frame = Sent { src, dst, dst_mac: own_mac(port as u8), payload, ..to("::1") };
        rig.send(port, &frame.build());
        let is_udp = |frame: &[u8]| layers::network(frame).is_ok_and(|of| of.protocol == 17);
        let out = came(&mut rig).into_iter().filter(|(_, frame)| is_udp(frame));
        out.map(|(port, _)| port).collect::<Vec<_>>()
    };
    let there = to("::1").payload;
    let back = [&there[2..4], &there[..2], &there[4..]].concat();
    assert_eq!(out(1, outside, inside, back.clone()), [], "nobody asked");
    assert_eq!(out(2, inside, outside, there.clone()), [1]);
    assert_eq!(out(1, outside, inside, back), [2]);
    assert_eq!(
        out(2, inside, ip6("2001:db8:70:9::1"), there),
        [],
        "the black hole of the own networks"
    );
}
