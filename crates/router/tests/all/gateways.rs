//! Gateways of routes, of either family: whether they answer, what is behind them, and where the router's
//! own packets by them come from.
//!
//! Scripts and addresses are written as IPv4's; [`six`] makes IPv6's of them.

use crate::ipv6::{Sent, advertisement, introduce, ip6, says, to};
use crate::rig::{Rig, mac, own_mac};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use wire::craft::{self, Frame};
use wire::icmpv6::{Neighbour, kind};
use wire::{Ipv6, ipv6::header, layers::protocol};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
add address=10.0.3.254/24 interface=ether3";

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}
use Family::{V4, V6};

impl Family {
    /// A text of IPv4, as this family has it.
    fn text(self, text: &str) -> String {
        if self == V4 { text.to_string() } else { six(text) }
    }

    /// Three networks, in each of which a host is known.
    fn rig(self, script: &str) -> Rig {
        let more = if self == V6 { " advertise=no no-dad=yes" } else { "" };
        let nets = NETS.replace("add ", &format!("add{more} "));
        let mut rig = Rig::new(3, &self.text(&format!("{nets}\n{script}")));
        for n in 1..=3 {
            let [host, own] = [1, 254].map(|host| Ipv4Addr::new(10, 0, n, host));
            match self {
                V4 => rig.introduce(n.into(), mac(n), host.into(), own.into()),
                V6 => {
                    for host in [&six(&host.to_string()), "fe80::1"] {
                        introduce(&mut rig, n, n, host, &six(&own.to_string()));
                    }
                }
            }
        }
        rig
    }

    /// By which port a datagram leaves, whatever the router says itself meanwhile.
    fn way(self, rig: &mut Rig, dst: &str) -> usize {
        let frame = match self {
            V4 => {
                let [src, dst] = ["10.0.1.1", dst].map(|text| text.parse::<Ipv4Addr>().unwrap());
                let udp = craft::udp(src.into(), 1000, dst.into(), 2000);
                Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp }.build()
            }
            V6 => Sent { src: ip6(&six("10.0.1.1")), ..to(&six(dst)) }.build(),
        };
        let out = rig.pass(1, &frame);
        let out: Vec<_> = out.iter().filter(|(_, frame)| is(frame, protocol::UDP)).collect();
        assert_eq!(out.len(), 1, "{self:?}: {:?}", rig.router.discards());
        out[0].0
    }
}

/// A text with the addresses and menus of IPv6 in place of IPv4's: 10.0.2.1 is 2001:db8:a00:2::1.
fn six(text: &str) -> String {
    const SIGNS: [char; 8] = [' ', '=', ',', ';', '\n', '/', '%', ']'];
    let (mut all, mut before) = (String::new(), ("", ""));
    for piece in text.split_inclusive(SIGNS) {
        let word = piece.trim_end_matches(SIGNS);
        let rest = &piece[word.len()..];
        let is_len = before.1 == "/" && before.0.parse::<Ipv4Addr>().is_ok();
        match (word.parse::<Ipv4Addr>().map(|address| address.octets()), word) {
            (Ok([a, b, c, d]), _) => {
                let text = format!("2001:db8:{a:x}{b:02x}:{c:x}::{d:x}");
                all += &ip6(&text).to_string();
            }
            (_, "16") if is_len => all += "48",
            (_, "24") if is_len => all += "64",
            (_, "32") if is_len => all += "128",
            (_, "ip") => all += "ipv6",
            (_, other) => all += other,
        }
        all += rest;
        before = (word, rest);
    }
    all
}

/// Whether a frame carries a packet of this protocol, of either family.
fn is(frame: &[u8], protocol: u8) -> bool {
    matches!(frame[12..14], [0x08, 0] if frame[23] == protocol)
        || matches!(frame[12..14], [0x86, 0xdd] if frame[20] == protocol)
}

/// Whether a frame is an echo request.
fn is_request(frame: &[u8]) -> bool {
    is(frame, protocol::ICMP) && frame[34] == 8
        || is(frame, header::ICMPV6) && frame[54] == kind::ECHO_REQUEST
}

/// The source of a frame's packet.
fn source(frame: &[u8]) -> IpAddr {
    match frame[12] {
        8 => <[u8; 4]>::try_from(&frame[26..30]).unwrap().into(),
        _ => <[u8; 16]>::try_from(&frame[22..38]).unwrap().into(),
    }
}

/// What a host on a port answers: `pings` or questions of its neighbours, as ARP and neighbour discovery
/// have them.
fn answer(port: u8, frame: &[u8], pings: bool, neighbours: bool) -> Option<Vec<u8>> {
    let (src_mac, dst_mac) = (mac(port), own_mac(port));
    if is_request(frame) {
        let mut reply = [&dst_mac.0[..], &src_mac.0, &frame[12..]].concat();
        if frame[12] == 8 {
            reply[26..30].copy_from_slice(&frame[30..34]);
            reply[30..34].copy_from_slice(&frame[26..30]);
            // The checksum has 8 more.
            reply[34] = 0;
            let sum = u32::from(u16::from_be_bytes([reply[36], reply[37]])) + 0x800;
            let sum = (sum & 0xffff) + (sum >> 16);
            reply[36..38].copy_from_slice(&(sum as u16).to_be_bytes());
            return pings.then_some(reply);
        }
        let packet = Ipv6::new(&frame[14..]).ok()?;
        let mut payload = packet.payload().to_vec();
        payload[0] = kind::ECHO_REPLY;
        let (src, dst, next_header, hop_limit) = (packet.dst(), packet.src(), header::ICMPV6, 64);
        let reply = Sent { src_mac, dst_mac, src, dst, next_header, hop_limit, payload };
        return pings.then(|| reply.build());
    }
    if frame[12..14] == [0x08, 0x06] {
        let message = wire::Arp::new(&frame[14..]).ok()?.message();
        let is_it = neighbours && message.target_ip.to_be_bytes()[3] == 1;
        return is_it.then(|| craft::arp(message.reply_from(src_mac)).build());
    }
    if !is(frame, header::ICMPV6) {
        return None;
    }
    let packet = Ipv6::new(&frame[14..]).ok()?;
    let asked = Neighbour::read(packet.payload()).ok().filter(|said| !said.advertisement)?;
    let is_it = neighbours && asked.target.segments()[7] == 1 && !packet.src().is_unspecified();
    let (own, asker) = (asked.target.to_string(), packet.src().to_string());
    let reply = || says(port, &own, &asker, advertisement(&own, src_mac));
    is_it.then(|| Sent { dst_mac, ..reply() }.build())
}

/// Lets seconds pass; whoever of these (their ports) is asked by ping meanwhile answers, and so does whoever
/// of the others is asked where it is. Returns how many pings came by each port.
fn live(rig: &mut Rig, seconds: u64, pings: &[u8], neighbours: &[u8]) -> [usize; 4] {
    let mut asked = [0; 4];
    for _ in 0..10 * seconds {
        rig.wait(Duration::from_millis(100));
        for port in 1..=3u8 {
            for frame in rig.take(port.into()) {
                asked[usize::from(port)] += usize::from(is_request(&frame));
                let (pings, neighbours) = (pings.contains(&port), neighbours.contains(&port));
                if let Some(reply) = answer(port, &frame, pings, neighbours) {
                    rig.send(port.into(), &reply);
                }
            }
        }
        rig.breathe();
    }
    asked
}

/// `check-gateway`: two requests, 10 s apart, without an answer, and the route with the next distance
/// is taken, in whatever table; an answer, and it is as before. Connections go on by the other way.
#[test]
fn a_gateway_that_falls_silent() {
    const V4_ONLY: &str = "/ip route rule add dst-address=172.19.0.0/16 table=m
        /ip settings set arp-timeout=1h";
    const V6_ONLY: &str = "/ip firewall mangle add chain=prerouting dst-address=172.19.0.0/16 \
        action=mark-routing new-routing-mark=m";
    // Who is on an interface, but has no address of its link, is asked as a neighbour.
    for (family, how, gateway, by_ping) in [
        (V4, "ping", "10.0.2.1", true),
        (V4, "arp", "10.0.2.1", false),
        (V4, "ping", "10.0.2.1%ether2", true),
        (V6, "ping", "10.0.2.1", true),
        (V6, "arp", "10.0.2.1", false),
        (V6, "ping", "10.0.2.1%ether2", false),
        (V6, "ping", "fe80::1%ether2", true),
        (V6, "arp", "fe80::1%ether2", false),
    ] {
        for reference in [false, true] {
            let case = format!("{family:?} {how} {gateway}");
            let more = if family == V4 { V4_ONLY } else { V6_ONLY };
            let mut rig = family.rig(&format!(
                "/ip route
                add dst-address=172.16.0.0/16 gateway={gateway} check-gateway={how}
                add dst-address=172.16.0.0/16 gateway=10.0.3.1 distance=5
                add dst-address=172.17.0.0/16 gateway={gateway}
                add dst-address=172.17.0.0/16 gateway=10.0.3.1 distance=2
                add dst-address=172.18.0.0/16 gateway={gateway},10.0.3.1
                add routing-table=m gateway={gateway}
                add routing-table=m gateway=10.0.3.1 distance=2
                {more}"
            ));
            rig.run("/ip firewall connection tracking set enabled=yes");
            rig.router.set_reference(reference);
            let all = ["172.16.0.1", "172.17.0.1", "172.18.0.5", "172.19.0.1"];
            let ways = |rig: &mut Rig| all.map(|dst| family.way(rig, dst));
            // Neighbours of IPv6 are asked again while they are used: who keeps silent to pings still says
            // where it is.
            let others: &[u8] = if by_ping && family == V6 { &[2, 3] } else { &[3] };
            live(&mut rig, 25, &[2, 3], &[2, 3]);
            let first = ways(&mut rig);
            assert_eq!((first[0], first[1], first[3]), (2, 2, 2), "{case}");
            // The last answer came between 25 s before and now.
            live(&mut rig, 18, &[3], others);
            assert_eq!(ways(&mut rig), first, "{case}: one missing answer says nothing");
            live(&mut rig, 12, &[3], others);
            assert_eq!(ways(&mut rig), [3; 4], "{case}");
            let status = rig.run(&family.text(":put [/ip route get 0 gateway-status]"));
            assert_eq!(status.trim(), family.text(&format!("{gateway} unreachable")));
            live(&mut rig, 11, &[2, 3], &[2, 3]);
            assert_eq!(ways(&mut rig), first, "{case}");
            // Nobody asks any more.
            rig.run(&family.text("/ip route set 0 check-gateway=none"));
            assert_eq!(live(&mut rig, 60, &[3], &[2, 3])[2], 0, "{case}");
            assert_eq!(ways(&mut rig), first, "{case}");
            assert!(rig.router.frames().balance());
        }
    }
}

/// Gateways behind other routes, by scope and target-scope; and what a ping tells of one far away.
#[test]
fn gateways_behind_routes() {
    const RECURSIVE: &str = "/ip route
        add dst-address=9.9.9.9/32 gateway=10.0.2.1 scope=10
        add dst-address=8.8.8.8/32 gateway=10.0.3.1 scope=10
        add gateway=9.9.9.9 check-gateway=ping
        add gateway=8.8.8.8 distance=2 check-gateway=ping";
    let to = "172.16.0.1";
    for family in [V4, V6] {
        let mut rig = family.rig(RECURSIVE);
        let all = [2, 3];
        live(&mut rig, 15, &all, &all);
        assert_eq!(family.way(&mut rig, to), 2);
        let status = rig.run(&family.text(":put [/ip route get 2 gateway-status]"));
        assert_eq!(status.trim(), family.text("9.9.9.9 recursive via 10.0.2.1 ether2"));
        // The provider's router says where it is, but nothing behind it lives: pings are lost.
        live(&mut rig, 40, &[3], &all);
        assert_eq!(family.way(&mut rig, to), 3);
        live(&mut rig, 11, &all, &all);
        assert_eq!(family.way(&mut rig, to), 2);
        for (script, expected) in [
            // A scope that is too great, and one that is seen all the same.
            ("/ip route set 0 scope=30", 3),
            ("/ip route set 2 target-scope=30", 2),
            // In two steps, each through the one before.
            (
                "/ip route add dst-address=7.7.7.7/32 gateway=8.8.8.8 scope=11; set 2 gateway=7.7.7.7 target-scope=11",
                3,
            ),
            // Whose gateway is behind itself has none.
            (
                "/ip route set [find dst-address=7.7.7.7/32] gateway=7.7.7.7; set 3 !check-gateway",
                3,
            ),
            ("/ip route set 2 gateway=10.0.2.1", 2),
            ("/ip route set 2 pref-src=10.0.9.9", 3),
            ("/ip route set 2 pref-src=10.0.1.254", 2),
        ] {
            rig.run(&family.text(script));
            assert_eq!(family.way(&mut rig, to), expected, "{family:?} {script}");
        }
        // The router's own packets come from there.
        for script in [
            "/ip route set 2 check-gateway=none",
            "/ip route add dst-address=6.6.6.6/32 gateway=10.0.2.1 pref-src=10.0.3.254 scope=10",
            "/ip route add dst-address=6.6.0.0/16 gateway=6.6.6.6 check-gateway=ping",
        ] {
            rig.run(&family.text(script));
        }
        rig.breathe();
        let sent = rig.take(2);
        let from: Vec<_> = sent.iter().filter(|frame| is_request(frame)).collect();
        let from: Vec<_> = from.into_iter().map(|frame| source(frame).to_string()).collect();
        assert_eq!(from, [family.text("10.0.3.254")]);
    }
}
