//! Each matcher against packets it holds for and packets it does not.

use super::*;
use crate::firewall::matcher::ORDER;
use wire::craft::{self, Body, ip};
use wire::icmp::IcmpHeader;
use wire::tcp::TcpHeader;
use wire::{FrameLen, MacAddr, TcpFlags};

const A: u32 = ip(10, 0, 0, 1);
const B: u32 = ip(172, 16, 5, 9);
const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;

fn flags(bits: &[TcpFlags]) -> TcpFlags {
    TcpFlags(bits.iter().fold(0, |set, flag| set | flag.0))
}

fn tcp_options(options: &'static [u8], flags: TcpFlags) -> Packet {
    let header = TcpHeader { src_port: 4000, dst_port: 80, flags, ..TcpHeader::default() };
    let body = Body::Tcp { header, options };
    Packet::of(&Frame { src: A, dst: B, body, ..Frame::default() })
}

fn icmp(kind: u8, code: u8) -> Packet {
    let header = IcmpHeader { kind, code, ..IcmpHeader::echo_request(1, 1) };
    Packet::of(&Frame { src: A, dst: B, body: Body::Icmp(header), ..Frame::default() })
}

/// The packets of the matrix, by letter.
fn packet(letter: char) -> Packet {
    let udp = craft::udp(A, 4000, B, 53);
    let tcp = |flags| craft::tcp(A, 4000, B, 80, flags);
    let udp_with = |vary: fn(&mut Packet)| {
        let mut packet = Packet::of(&udp);
        vary(&mut packet);
        packet
    };
    let size = |len| Packet::of(&Frame { len: Some(FrameLen::with_fcs(len)), ..udp });
    match letter {
        // Protocols and ports.
        'u' => Packet::of(&udp),
        'v' => Packet::of(&craft::udp(B, 53, A, 4000)),
        'z' => Packet::of(&craft::udp(A, 0, B, 0)),
        's' => Packet::of(&tcp(SYN)),
        'S' => Packet::of(&tcp(flags(&[SYN, ACK]))),
        'a' => Packet::of(&tcp(ACK)),
        'g' => Packet::of(&Frame { body: Body::Ip { protocol: 47 }, ..udp }),
        // ICMP.
        'p' => Packet::of(&craft::ping(A, B)),
        'q' => icmp(0, 0),
        'x' => icmp(3, 1),
        'y' => icmp(3, 4),
        // Sizes: 46, 110 and 1500 bytes of IP.
        '1' => size(64),
        '2' => size(128),
        '3' => size(1518),
        // TTL, TOS.
        't' => Packet::of(&Frame { ttl: 1, ..udp }),
        'd' => Packet::of(&Frame { tos: 0xb8, ..udp }),
        // Fragments: first and later.
        'f' => Packet::of(&Frame { more_fragments: true, ..udp }),
        'F' => Packet::of(&Frame {
            fragment_offset: 64,
            body: Body::Ip { protocol: 17 },
            payload: b"01234567",
            ..udp
        }),
        // IP options: record route, router alert.
        'r' => Packet::of(&Frame { options: &[7, 7, 4, 0, 0, 0, 0], ..udp }),
        'R' => Packet::of(&Frame { options: &[148, 4, 0, 0], ..udp }),
        // MSS of 1460, and none.
        'm' => tcp_options(&[2, 4, 5, 180], SYN),
        'M' => tcp_options(&[2, 4, 5, 180], ACK),
        // Payload.
        'T' => {
            let hello = wire::tls::client_hello("www.example.com");
            Packet::of(&Frame { payload: &hello, ..tcp(ACK) })
        }
        'c' => Packet::of(&Frame { payload: b"GET /secret HTTP/1.1", ..tcp(ACK) }),
        'C' => Packet::of(&Frame { payload: b"GET /public HTTP/1.1", ..tcp(ACK) }),
        // Interfaces.
        'b' => udp_with(|p| (p.in_interface, p.in_bridge_port) = (BRIDGE1, ETHER3)),
        'B' => udp_with(|p| (p.out_interface, p.out_bridge_port) = (BRIDGE1, ETHER3)),
        // MAC.
        'w' => Packet::of(&Frame { src_mac: MacAddr([2, 0, 0, 0, 0, 9]), ..udp }),
        // States and translations.
        'P' => udp_with(|p| p.ingress_priority = Some(3)),
        'n' => udp_with(|p| p.state = ConnectionState::Established),
        'i' => udp_with(|p| p.state = ConnectionState::Invalid),
        'k' => udp_with(|p| p.srcnat = true),
        'l' => udp_with(|p| p.dstnat = true),
        // Addresses.
        'L' => Packet::of(&craft::udp(A, 4000, ip(10, 0, 0, 254), 53)),
        'h' => Packet::of(&craft::udp(A, 4000, ip(192, 0, 2, 1), 53)),
        'G' => Packet::of(&craft::udp(A, 4000, ip(239, 1, 1, 1), 53)),
        'W' => Packet::of(&craft::udp(u32::MAX, 4000, 0, 53)),
        letter => panic!("no packet {letter}"),
    }
}

/// The matchers of a rule; the packets that match; the packets that do not.
const MATRIX: &[(&str, &str, &str)] = &[
    ("", "uvsapgxfFLG", ""),
    ("in-interface=ether1", "us", "b"),
    ("in-interface=!ether1", "b", "us"),
    ("in-interface=bridge1", "b", "u"),
    ("out-interface=ether2", "ub", "B"),
    ("out-interface=!ether2", "B", "ub"),
    ("in-interface=all-ethernet", "u", "b"),
    ("in-interface=!all-ethernet", "b", "u"),
    ("protocol=udp", "uvfF", "spg"),
    ("protocol=17", "u", "s"),
    ("protocol=!udp", "spg", "uF"),
    ("protocol=gre", "g", "u"),
    ("fragment=yes", "F", "uf"),
    ("fragment=no", "uf", "F"),
    ("src-mac-address=02:00:00:00:00:09", "w", "u"),
    ("src-mac-address=!02:00:00:00:00:09", "u", "w"),
    ("in-bridge-port=ether3", "b", "uB"),
    ("in-bridge-port=!ether3", "uB", "b"),
    ("out-bridge-port=ether3", "B", "ub"),
    ("src-address=10.0.0.1", "us", "v"),
    ("src-address=10.0.0.0/24", "u", "v"),
    ("src-address=10.0.0.1-10.0.0.9", "u", "v"),
    ("src-address=10.0.0.2-10.0.0.9", "", "uv"),
    ("src-address=!10.0.0.0/24", "v", "u"),
    ("src-address=!0.0.0.0/1", "vW", "u"),
    ("src-address=255.255.255.255", "W", "u"),
    ("src-address=!255.255.255.255", "u", "W"),
    ("dst-address=172.16.0.0/12", "us", "v"),
    ("dst-address=!172.16.0.0/12", "vWL", "us"),
    ("dst-address=0.0.0.0", "W", "u"),
    ("dst-address=!0.0.0.0", "u", "W"),
    ("dst-address-type=local", "L", "uh"),
    ("dst-address-type=!local", "uh", "L"),
    ("dst-address-type=local,blackhole", "Lh", "uG"),
    ("dst-address-type=multicast", "G", "u"),
    ("src-address-type=unicast", "uv", "W"),
    ("src-address-type=broadcast", "W", "u"),
    ("routing-table=main", "uhW", ""),
    ("routing-table=!main", "", "uhW"),
    ("routing-table=nobodys", "", "uh"),
    ("src-address-list=lan", "us", "v"),
    ("src-address-list=!lan", "v", "us"),
    ("dst-address-list=lan", "vL", "u"),
    ("dst-address-list=!nobody", "uv", ""),
    ("ttl=equal:64", "us", "t"),
    ("ttl=not-equal:64", "t", "us"),
    ("ttl=less-than:2", "t", "u"),
    ("ttl=greater-than:1", "u", "t"),
    ("dscp=46", "d", "u"),
    ("dscp=!46", "u", "d"),
    ("packet-size=46", "1", "23"),
    ("packet-size=100-200", "2", "13"),
    ("packet-size=!100-200", "13", "2"),
    ("packet-size=0-65535", "123u", ""),
    ("tls-host=*.example.com", "T", "c"),
    ("tls-host=!*.example.org", "T", "cu"),
    ("ingress-priority=3", "P", "u"),
    ("ingress-priority=0", "u", "P"),
    ("ingress-priority=!0", "P", "u"),
    ("per-connection-classifier=src-port:1/0", "ug", ""),
    ("time=0s-1h,thu", "u", ""),
    ("time=1h-2h,thu", "", "u"),
    ("dst-limit=1,1,dst-address", "u", ""),
    ("psd=1,3s,1,1", "us", "gp"),
    // Of no connection there is nothing to look at, with or without !.
    ("connection-bytes=0-1000", "", "u"),
    ("connection-bytes=!0-1000", "", "u"),
    ("connection-rate=0-1M", "", "u"),
    ("connection-limit=!1,32", "", "u"),
    ("ipv4-options=any", "rR", "u"),
    ("ipv4-options=none", "u", "rR"),
    ("ipv4-options=record-route", "r", "uR"),
    ("ipv4-options=no-record-route", "uR", "r"),
    ("ipv4-options=router-alert", "R", "ur"),
    ("ipv4-options=no-source-routing", "urR", ""),
    ("ipv4-options=timestamp", "", "urR"),
    ("protocol=udp dst-port=53", "uf", "vFsz"),
    ("protocol=udp dst-port=!53", "vz", "uFs"),
    ("protocol=udp dst-port=50-60", "u", "v"),
    ("protocol=udp dst-port=1,53,99", "u", "v"),
    ("protocol=udp dst-port=!1,53,99", "vz", "uF"),
    ("protocol=udp dst-port=0-65535", "uvz", "Fs"),
    ("protocol=udp dst-port=0", "z", "uF"),
    ("protocol=udp src-port=53", "v", "uF"),
    ("protocol=udp src-port=!53", "uz", "vF"),
    ("protocol=udp port=53", "uv", "zF"),
    ("protocol=udp port=!53", "z", "uvF"),
    ("protocol=tcp dst-port=80 src-port=4000", "sa", "u"),
    ("protocol=tcp tcp-flags=syn", "sS", "au"),
    ("protocol=tcp tcp-flags=syn,!ack", "s", "Sau"),
    ("protocol=tcp tcp-flags=!syn", "a", "sSu"),
    ("protocol=tcp tcp-mss=1460", "m", "Msu"),
    ("protocol=tcp tcp-mss=0-1459", "", "mMs"),
    ("protocol=tcp tcp-mss=!0-1459", "m", "Ms"),
    ("protocol=icmp icmp-options=8:0", "p", "qxu"),
    ("protocol=icmp icmp-options=!8:0", "qx", "pu"),
    ("protocol=icmp icmp-options=3:0-3", "x", "yp"),
    ("protocol=icmp icmp-options=3", "xy", "pq"),
    ("connection-state=new", "us", "ni"),
    ("connection-state=established,invalid", "ni", "u"),
    ("connection-state=!established", "ui", "n"),
    ("connection-nat-state=srcnat", "k", "ul"),
    ("connection-nat-state=dstnat", "l", "uk"),
    ("connection-nat-state=srcnat,dstnat", "kl", "u"),
    ("connection-nat-state=!srcnat", "ul", "k"),
    ("content=secret", "c", "Cu"),
    ("content=!secret", "Cus", "c"),
    ("content=GET", "cC", "a"),
    ("src-address=10.0.0.0/8 protocol=udp dst-port=53 ttl=equal:64", "u", "tvs"),
];

#[test]
fn matchers_hold_for_what_they_say() {
    let lists = "/ip firewall address-list\nadd list=lan address=10.0.0.0/25\n\
                 add list=lan address=10.0.0.128-10.0.0.255\n\
                 add list=lan address=1.1.1.1 disabled=yes";
    for &(matchers, yes, no) in MATRIX {
        let rule = format!("/ip firewall filter add chain=forward action=drop {matchers}");
        let mut fixture = Fixture::new(&format!("{lists}\n{rule}"));
        assert_eq!(fixture.reasons(), [""], "{matchers}");
        for (letters, want) in [(yes, Decision::Drop), (no, Decision::Accept)] {
            for letter in letters.chars() {
                let packet = packet(letter);
                let before = fixture.counted()[0];
                let got = fixture.forward(&packet);
                assert_eq!(got, want, "{matchers} on {letter}: {packet:?}");
                let mut after = before;
                if want == Decision::Drop {
                    after.add(packet.ip_len().into());
                }
                assert_eq!(fixture.counted(), [after], "{matchers} counts {letter}");
            }
        }
    }
}

#[test]
fn the_order_is_the_documented_one() {
    // J-S4-matching-order.csv, positions 1 to 43.
    let s4 = "in-interface out-interface protocol fragment src-mac-address in-bridge-port \
              out-bridge-port src-address dst-address src-address-type dst-address-type \
              dst-address-list src-address-list ttl dscp packet-size ipv4-options dst-port \
              src-port port tcp-flags tcp-mss icmp-options ingress-priority priority packet-mark \
              routing-mark hotspot connection-mark connection-state connection-bytes \
              connection-limit connection-rate connection-type random psd nth limit dst-limit \
              per-connection-classifier p2p content layer7-protocol";
    let younger = [
        "connection-nat-state",
        "in-interface-list",
        "out-interface-list",
        "in-bridge-port-list",
        "out-bridge-port-list",
        "tls-host",
        "time",
        "routing-table",
        "ipsec-policy",
    ];
    let ours = ORDER.into_iter().filter(|name| !younger.contains(name));
    assert!(ours.eq(s4.split_whitespace()), "{ORDER:?}");
    // Every matcher a rule can be given has its place, and the other way round.
    for name in ORDER {
        assert!(menu::FILTER.property(name).is_some(), "{name}");
        assert!(menu::NAT.property(name).is_some(), "{name}");
    }
    for &(matchers, ..) in MATRIX {
        for word in matchers.split_whitespace() {
            let name = word.split('=').next().unwrap();
            assert!(ORDER.contains(&name), "{name}");
        }
    }
}

#[test]
fn what_remembers_sees_only_what_passed_before_it() {
    // nth comes before limit, limit before content: the third of three, if a token is there,
    // which is taken even when the content is another.
    let rule = "/ip firewall filter add chain=forward action=drop protocol=tcp \
                content=secret limit=1,2 nth=3,3";
    let mut fixture = Fixture::new(rule);
    let mut drops = String::new();
    for letter in "ccCcccCccCccccc".chars() {
        let dropped = fixture.forward(&packet(letter)) == Decision::Drop;
        drops.push(if dropped { '!' } else { '.' });
        assert!(fixture.trace.once, "no recipe for a rule that remembers");
        // UDP does not pass the protocol: it is not counted by nth.
        fixture.forward(&packet('u'));
        assert!(!fixture.trace.once);
    }
    // Third packet: C takes a token; sixth: c; ninth: no token left.
    assert_eq!(drops, ".....!.........");
}

#[test]
fn memory_and_counters_survive_an_edit() {
    let mut fixture = Fixture::new("/ip firewall filter add chain=forward action=drop nth=2,2");
    assert_eq!(fixture.forward(&packet('u')), Decision::Accept);
    fixture.edit("/ip firewall filter add chain=forward action=accept comment=new");
    assert_eq!(fixture.forward(&packet('u')), Decision::Drop);
    fixture.edit("/ip firewall filter set 0 nth=3,1");
    assert_eq!(fixture.forward(&packet('u')), Decision::Accept);
    assert_eq!(fixture.forward(&packet('u')), Decision::Drop);
    assert_eq!(fixture.packets(), [2, 1]);
}

#[test]
fn random_is_about_as_likely_as_it_says() {
    let mut fixture = Fixture::new("/ip firewall filter add chain=forward action=drop random=30");
    let dropped = (0..10_000).filter(|_| fixture.forward(&packet('u')) == Decision::Drop).count();
    assert!((2_800..3_200).contains(&dropped), "{dropped}");
}

/// What is looked at within a flow, and what the trace says about it.
#[test]
fn the_trace_notes_what_was_looked_at() {
    // Matchers, a packet, and a change of it after which the recipe must not be used.
    type Change = fn(&mut (u16, u8, u8, u16, MacAddr));
    let cases: &[(&str, char, Option<Change>)] = &[
        ("protocol=udp dst-port=53", 'u', None),
        ("packet-size=100-200", 'u', Some(|p| p.0 = 100)),
        ("packet-size=!100-200", '2', Some(|p| p.0 = 99)),
        ("ttl=less-than:5", 'u', Some(|p| p.1 = 4)),
        ("dscp=46", 'u', Some(|p| p.2 = 0xb8)),
        ("protocol=tcp tcp-flags=syn", 'a', Some(|p| p.3 = 2)),
        ("protocol=tcp tcp-mss=1460", 'a', Some(|p| p.3 = 2)),
        ("protocol=icmp icmp-options=8:0", 'q', Some(|p| p.3 = 0x0800)),
        ("src-mac-address=02:00:00:00:00:09", 'u', Some(|p| p.4.0[5] = 9)),
        // Never looked at: the protocol is another.
        ("protocol=icmp ttl=less-than:5", 'u', None),
    ];
    for &(matchers, letter, change) in cases {
        let rule = format!("/ip firewall filter add chain=forward {matchers}");
        let mut fixture = Fixture::new(&rule);
        let packet = packet(letter);
        fixture.forward(&packet);
        assert!(!fixture.trace.once, "{matchers}");
        let guard = fixture.trace.guard;
        let mut fields = recipe::fields(&packet);
        let admits = |f: (u16, u8, u8, u16, MacAddr)| guard.admits(f.0, f.1, f.2, f.3, f.4);
        assert!(admits(fields), "{matchers}: {guard:?}");
        match change {
            Some(change) => {
                change(&mut fields);
                assert!(!admits(fields), "{matchers}: {guard:?}");
            }
            None => assert_eq!(guard, crate::trace::Guard::default(), "{matchers}"),
        }
    }
    for matchers in ["limit=1,1", "nth=1,1", "random=50", "content=x", "log=yes"] {
        let rule = format!("/ip firewall filter add chain=forward {matchers}");
        let mut fixture = Fixture::new(&rule);
        fixture.forward(&packet('u'));
        assert!(fixture.trace.once, "{matchers}");
    }
}
