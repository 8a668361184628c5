//! IPv6: what is forwarded, what is refused and how, and who is heard.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::icmpv6::{self, Neighbour, group_mac, kind, solicited_node};
use wire::ipv6::{Ipv6Header, header};
use wire::{Ipv6, MacAddr};

const NETS: &str = "/ipv6 address
add address=2001:db8:1::1/64 interface=ether1 advertise=no
add address=2001:db8:2::1/64 interface=ether2 advertise=no
/interface ethernet set ether2 mtu=1300
/ipv6 route
add dst-address=2001:db8:f1::/48 type=unreachable
add dst-address=2001:db8:f2::/48 type=prohibit
add dst-address=2001:db8:f3::/48 type=blackhole
add dst-address=2001:db8:9::/48 gateway=2001:db8:2::9
add dst-address=2001:db8:8::/48 gateway=fe80::8%ether2";

/// The router's own address on its first link.
const LINK: &str = "fe80::ff:fe00:1";

pub(crate) fn ip6(text: &str) -> Ipv6Addr {
    text.parse().expect(text)
}

/// A packet of a payload behind one next header, in a frame.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) src_mac: MacAddr,
    pub(crate) dst_mac: MacAddr,
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) next_header: u8,
    pub(crate) hop_limit: u8,
    pub(crate) payload: Vec<u8>,
}

impl Sent {
    pub(crate) fn build(&self) -> Vec<u8> {
        let &Sent { src, dst, next_header, hop_limit, .. } = self;
        let payload_len = self.payload.len() as u16;
        let (traffic_class, flow_label) = (0, 0);
        let header =
            Ipv6Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        let mut payload = self.payload.clone();
        if next_header == header::ICMPV6 && payload.len() >= 4 {
            icmpv6::fill_checksum(src, dst, &mut payload);
        }
        let macs = [self.dst_mac.0, self.src_mac.0].concat();
        [&macs[..], &[0x86, 0xdd], &header.to_bytes(), &payload].concat()
    }
}

pub(crate) fn to(dst: &str) -> Sent {
    let payload = [&[0x03, 0xe8, 0x07, 0xd0, 0, 12, 0, 0][..], &[1, 2, 3, 4]].concat();
    Sent {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        src: ip6("2001:db8:1::a"),
        dst: ip6(dst),
        next_header: 17,
        hop_limit: 64,
        payload,
    }
}

pub(crate) fn ping(dst: &str) -> Sent {
    let payload = vec![kind::ECHO_REQUEST, 0, 0, 0, 0, 7, 0, 1, 9, 9, 9];
    Sent { next_header: header::ICMPV6, payload, ..to(dst) }
}

/// What a neighbour says of itself, from its address.
pub(crate) fn says(n: u8, src: &str, dst: &str, message: Neighbour) -> Sent {
    let (bytes, len) = message.to_bytes();
    let dst = ip6(dst);
    let dst_mac = if dst.is_multicast() { group_mac(dst) } else { own_mac(1) };
    Sent {
        src_mac: mac(n),
        dst_mac,
        src: ip6(src),
        dst,
        next_header: header::ICMPV6,
        hop_limit: 255,
        payload: bytes[..len].to_vec(),
    }
}

pub(crate) fn solicitation(target: &str, mac: Option<MacAddr>) -> Neighbour {
    let (router, solicited, override_) = (false, false, false);
    Neighbour { advertisement: false, router, solicited, override_, target: ip6(target), mac }
}

pub(crate) fn advertisement(target: &str, mac: MacAddr) -> Neighbour {
    let (router, solicited, override_) = (false, true, true);
    let (target, mac) = (ip6(target), Some(mac));
    Neighbour { advertisement: true, router, solicited, override_, target, mac }
}

/// A router between two networks; a host of each is known.
pub(crate) fn rig(more: &str) -> Rig {
    let mut rig = Rig::new(2, &format!("{NETS}\n{more}"));
    introduce(&mut rig, 1, 1, "2001:db8:1::a", "2001:db8:1::1");
    introduce(&mut rig, 2, 2, "2001:db8:2::b", "2001:db8:2::1");
    rig
}

/// A host asks for the router, as one does that wants to talk.
pub(crate) fn introduce(rig: &mut Rig, port: u8, n: u8, own: &str, router: &str) {
    let group = solicited_node(ip6(router)).to_string();
    let out =
        rig.pass(port.into(), &says(n, own, &group, solicitation(router, Some(mac(n)))).build());
    let [(to, frame)] = &out[..] else { panic!("no advertisement, but {out:02x?}") };
    let packet = Ipv6::new(&frame[14..]).unwrap();
    assert_eq!((*to, &frame[..6]), (port.into(), &mac(n).0[..]));
    assert_eq!((packet.src(), packet.dst(), packet.hop_limit()), (ip6(router), ip6(own), 255));
    assert!(icmpv6::is_intact(packet.src(), packet.dst(), packet.payload()));
    let said = Neighbour::read(packet.payload()).unwrap();
    let (mac, target) = (Some(own_mac(port)), ip6(router));
    let (router, solicited, override_) = (true, true, true);
    let advertisement = true;
    assert_eq!(said, Neighbour { advertisement, router, solicited, override_, target, mac });
}

/// What was dropped, by name.
pub(crate) fn discards(rig: &Rig) -> Vec<(&'static str, u64)> {
    rig.router.discards().iter().map(|(why, n)| (why.name(), n)).collect()
}

#[test]
fn forwarded() {
    for reference in [false, true] {
        let mut rig = rig("");
        rig.router.set_reference(reference);
        let out = rig.pass(1, &to("2001:db8:2::b").build());
        let mut expected =
            Sent { src_mac: own_mac(2), dst_mac: mac(2), hop_limit: 63, ..to("2001:db8:2::b") };
        assert_eq!(out, [(2, expected.build())]);
        // Extension headers are nothing to a router.
        let payload = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &to("::").payload].concat();
        let sent = Sent { next_header: header::HOP_BY_HOP, payload, ..to("2001:db8:2::b") };
        (expected.next_header, expected.payload) = (header::HOP_BY_HOP, sent.payload.clone());
        assert_eq!(rig.pass(1, &sent.build()), [(2, expected.build())]);
        assert_eq!(discards(&rig), []);
        assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
    }
}

/// Packet, the answer's type, code and second word, or none; and the reason.
type Case = (&'static str, Sent, Option<(u8, u8, u32)>, Discard);

#[test]
fn refused() {
    let far = || to("2001:db8:2::b");
    let long = |len: usize| vec![0; len];
    let chain = |next: u8, payload: &[u8]| Sent {
        next_header: next,
        payload: payload.to_vec(),
        ..to("2001:db8:2::b")
    };
    let error = Sent { payload: vec![3, 0, 0, 0, 0, 0, 0, 0], ..ping("2001:db8:2::b") };
    #[rustfmt::skip]
    let cases: Vec<Case> = vec![
        ("hop limit", Sent { hop_limit: 1, ..far() }, Some((3, 0, 0)), Discard::TtlExceeded),
        ("hop limit 0", Sent { hop_limit: 0, ..far() }, Some((3, 0, 0)), Discard::TtlExceeded),
        ("about an error", Sent { hop_limit: 1, ..error }, None, Discard::TtlExceeded),
        ("no route", to("2001:db9::1"), Some((1, 0, 0)), Discard::NoRoute),
        ("unreachable", to("2001:db8:f1::1"), Some((1, 3, 0)), Discard::RouteUnreachable),
        ("prohibit", to("2001:db8:f2::1"), Some((1, 1, 0)), Discard::RouteProhibit),
        ("blackhole", to("2001:db8:f3::1"), None, Discard::RouteBlackhole),
        ("too big", Sent { payload: long(1400), ..far() }, Some((2, 0, 1300)), Discard::PacketTooBig),
        ("beyond its link", Sent { src: ip6("fe80::a"), ..far() }, Some((1, 2, 0)), Discard::LinkLocalSource),
        ("somebody's link", to("fe80::b"), None, Discard::LinkLocalDestination),
        ("port", to("2001:db8:1::1"), Some((1, 4, 0)), Discard::NoListener),
        ("routers' anycast", to("2001:db8:1::"), Some((1, 4, 0)), Discard::NoListener),
        ("protocol", Sent { next_header: 99, ..to("2001:db8:1::1") }, Some((4, 1, 6)), Discard::NoListener),
        ("nothing", Sent { next_header: 59, ..to("2001:db8:1::1") }, None, Discard::NoListener),
        ("a group", to("ff0e::1234"), None, Discard::MulticastDestination),
        ("nowhere", to("::"), None, Discard::MartianDestination),
        ("loopback", to("::1"), None, Discard::MartianDestination),
        ("mapped", to("::ffff:1.2.3.4"), None, Discard::MartianDestination),
        ("from nowhere", Sent { src: ip6("::"), ..far() }, None, Discard::MartianSource),
        ("from loopback", Sent { src: ip6("::1"), ..far() }, None, Discard::MartianSource),
        ("from a group", Sent { src: ip6("ff02::1"), ..far() }, None, Discard::MartianSource),
        ("from the router", Sent { src: ip6("2001:db8:2::1"), ..far() }, None, Discard::MartianSource),
        ("from its link", Sent { src: ip6(LINK), ..far() }, None, Discard::MartianSource),
        ("by a group's MAC", Sent { dst_mac: MacAddr::BROADCAST, ..far() }, None, Discard::OtherHost),
        ("source route", chain(43, &[17, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
         Some((4, 0, 42)), Discard::SourceRoute),
        ("chain past the end", chain(0, &[17, 9, 0, 0, 0, 0, 0, 0]), None, Discard::BadExtensionHeader),
        ("hop-by-hop second", chain(60, &[0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0]), None, Discard::BadExtensionHeader),
        ("endless chain", chain(60, &[60, 0, 0, 0, 0, 0, 0, 0].repeat(30)), None, Discard::BadExtensionHeader),
        ("damaged", Sent { payload: vec![128, 0, 0], ..ping("2001:db8:1::1") }, None, Discard::MalformedTransport),
    ];
    for (what, sent, answer, why) in cases {
        for reference in [false, true] {
            let mut rig = rig("");
            rig.router.set_reference(reference);
            let out = rig.pass(1, &sent.build());
            // Whoever has but a link's address is asked for first.
            if sent.src == ip6("fe80::a") {
                assert_eq!(discards(&rig), [(why.name(), 1)], "{what}");
                assert_eq!(rig.router.held().neighbours, 1, "{what}");
                continue;
            }
            let said = out.iter().map(|(port, frame)| {
                let packet = Ipv6::new(&frame[14..]).unwrap();
                assert!(icmpv6::is_intact(packet.src(), packet.dst(), packet.payload()), "{what}");
                assert_eq!((*port, packet.dst()), (1, sent.src), "{what}");
                let quote = &packet.payload()[8..];
                assert_eq!(quote[8..40], sent.build()[22..54], "{what}: quotes its addresses");
                assert_eq!(quote.len(), (sent.payload.len() + 40).min(1280 - 48), "{what}");
                let word = packet.payload()[4..8].try_into().unwrap();
                (packet.payload()[0], packet.payload()[1], u32::from_be_bytes(word))
            });
            let said: Vec<_> = said.collect();
            assert_eq!(
                said,
                answer.into_iter().collect::<Vec<_>>(),
                "{what}: {:?}",
                discards(&rig)
            );
            assert_eq!(discards(&rig), [(why.name(), 1)], "{what}");
            assert!(rig.router.frames().balance(), "{what}: {:?}", rig.router.frames());
        }
    }
}

#[test]
fn pinged() {
    for (dst, from) in [
        ("2001:db8:1::1", "2001:db8:1::1"),
        ("2001:db8:2::1", "2001:db8:2::1"),
        ("2001:db8:2::", "2001:db8:2::"),
        (LINK, LINK),
        ("ff02::1", "2001:db8:1::1"),
        ("ff02::2", "2001:db8:1::1"),
    ] {
        let mut rig = rig("");
        let mut sent = ping(dst);
        if sent.dst.is_multicast() {
            sent.dst_mac = group_mac(sent.dst);
        }
        let out = rig.pass(1, &sent.build());
        let payload = [&[kind::ECHO_REPLY][..], &sent.payload[1..]].concat();
        let (src_mac, dst_mac) = (own_mac(1), mac(1));
        let reply = Sent {
            src_mac,
            dst_mac,
            src: ip6(from),
            dst: sent.src,
            payload,
            hop_limit: 64,
            ..sent
        };
        assert_eq!(out, [(1, reply.build())], "{dst}");
        assert_eq!(discards(&rig), [], "{dst}");
    }
}

/// A TCP segment that nobody takes is reset.
#[test]
fn reset() {
    let mut rig = rig("");
    let mut payload = vec![0x03, 0xe8, 0, 80, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0];
    payload[17] = 1;
    let out = rig.pass(1, &Sent { next_header: 6, payload, ..to("2001:db8:1::1") }.build());
    let [(1, frame)] = &out[..] else { panic!("{out:?}") };
    let packet = Ipv6::new(&frame[14..]).unwrap();
    let tcp = packet.payload();
    assert_eq!((&tcp[..4], tcp[13]), (&[0, 80, 0x03, 0xe8][..], 0x14));
    assert_eq!(tcp[8..12], [0, 0, 0, 10]);
    let (src, dst) = (packet.src().octets(), packet.dst().octets());
    assert!(wire::checksum::Sum::pseudo_ipv6(src, dst, 6, 20).bytes(tcp).is_ok());
}

/// What comes out of a port: whom it asks for, or that it forwards.
fn out(rig: &mut Rig, port: usize) -> Vec<String> {
    let said = |frame: Vec<u8>| {
        let packet = Ipv6::new(&frame[14..]).unwrap();
        match Neighbour::read(packet.payload()) {
            Ok(said) if packet.next_header() == header::ICMPV6 => {
                let from = packet.src();
                assert_eq!(packet.hop_limit(), 255);
                assert_eq!(said.mac, Some(own_mac(port as u8)));
                format!("{from} asks {} for {}", packet.dst(), said.target)
            }
            _ => format!("to {}", MacAddr(frame[..6].try_into().unwrap())),
        }
    };
    rig.take(port).into_iter().map(said).collect()
}

/// RFC 4861 §7.3: asked three times; then packets are answered, and the next begins anew.
#[test]
fn a_neighbour_that_does_not_answer() {
    let mut rig = rig("");
    rig.send(1, &to("2001:db8:2::77").build());
    rig.breathe();
    let asks = "2001:db8:2::1 asks ff02::1:ff00:77 for 2001:db8:2::77";
    assert_eq!(out(&mut rig, 2), [asks]);
    rig.send(1, &to("2001:db8:2::77").build());
    rig.breathe();
    assert_eq!(out(&mut rig, 2), [""; 0], "asked already");
    assert_eq!(rig.router.held().neighbours, 2);
    rig.wait(Duration::from_secs(4));
    assert_eq!(out(&mut rig, 2), [asks; 2]);
    assert_eq!(rig.take(1).len(), 2, "both senders are told");
    assert_eq!(discards(&rig), [("neighbour-unreachable", 2)]);
    assert_eq!(rig.frames_in_use(), 0);
}

/// What waited goes when the neighbour advertises itself; by and by it is stale, and when it is used
/// again, asked again.
#[test]
fn a_neighbours_states() {
    let mut rig = Rig::new(2, NETS);
    introduce(&mut rig, 1, 1, "2001:db8:1::a", "2001:db8:1::1");
    let status = |rig: &mut Rig| {
        let text = rig.run("/ipv6 neighbor print");
        let lines = text.lines().filter(|line| line.contains("2001:db8:2::77"));
        lines.map(|line| line.split_whitespace().last().unwrap().to_string()).collect::<Vec<_>>()
    };
    let advertise = |rig: &mut Rig, n: u8, solicited: bool, override_: bool| {
        let said = advertisement("2001:db8:2::77", mac(n));
        let said = Neighbour { solicited, override_, ..said };
        let frame =
            Sent { dst_mac: own_mac(2), ..says(n, "2001:db8:2::77", "2001:db8:2::1", said) };
        rig.send(2, &frame.build());
        rig.breathe();
    };
    let send = |rig: &mut Rig| {
        rig.send(1, &to("2001:db8:2::77").build());
        rig.breathe();
    };
    advertise(&mut rig, 7, true, true);
    assert_eq!(status(&mut rig), [""; 0], "nobody had asked");
    send(&mut rig);
    assert_eq!(status(&mut rig), ["incomplete"]);
    out(&mut rig, 2);
    advertise(&mut rig, 7, true, true);
    assert_eq!(out(&mut rig, 2), [format!("to {}", mac(7))], "what waited");
    assert_eq!(status(&mut rig), ["reachable"]);
    advertise(&mut rig, 8, false, false);
    assert_eq!(status(&mut rig), ["stale"], "somebody else says so, too");
    send(&mut rig);
    assert_eq!(out(&mut rig, 2), [format!("to {}", mac(7))]);
    assert_eq!(status(&mut rig), ["delay"]);
    advertise(&mut rig, 8, true, true);
    assert_eq!(status(&mut rig), ["reachable"]);
    rig.wait(Duration::from_secs(31));
    assert_eq!(status(&mut rig), ["stale"]);
    assert_eq!(out(&mut rig, 2), [""; 0], "nobody asks for what is not used");
    send(&mut rig);
    rig.wait(Duration::from_millis(5500));
    assert_eq!(status(&mut rig), ["probe"]);
    let asks = "2001:db8:2::1 asks 2001:db8:2::77 for 2001:db8:2::77".to_string();
    assert_eq!(out(&mut rig, 2), [format!("to {}", mac(8)), asks.clone()]);
    rig.wait(Duration::from_secs(3));
    assert_eq!(out(&mut rig, 2), [asks.clone(), asks]);
    assert_eq!(status(&mut rig), [""; 0], "gone");
    assert_eq!(discards(&rig), []);
}

/// Who looks whether an address is free gets an answer if it is the router's.
#[test]
fn a_duplicate_is_told() {
    let mut rig = rig("");
    for (target, answered) in [("2001:db8:1::1", 1), (LINK, 1), ("2001:db8:1::5", 0)] {
        let group = solicited_node(ip6(target)).to_string();
        let out = rig.pass(1, &says(5, "::", &group, solicitation(target, None)).build());
        assert_eq!(out.len(), answered, "{target}");
        for (_, frame) in out {
            assert_eq!(frame[..6], [0x33, 0x33, 0, 0, 0, 1]);
            assert!(!Neighbour::read(&frame[54..]).unwrap().solicited);
        }
    }
}

#[test]
fn not_believed() {
    let solicits =
        || says(3, "2001:db8:1::c", "2001:db8:1::1", solicitation("2001:db8:1::1", Some(mac(3))));
    let cases: Vec<(&str, Sent)> = vec![
        ("from afar", Sent { hop_limit: 254, ..solicits() }),
        ("code", {
            let mut sent = solicits();
            sent.payload[1] = 1;
            sent
        }),
        ("an option without a length", {
            let mut sent = solicits();
            sent.payload[25] = 0;
            sent
        }),
        ("from nowhere, to all", says(3, "::", "ff02::1", solicitation("2001:db8:1::1", None))),
        ("from nowhere, with a MAC address", {
            let group = solicited_node(ip6("2001:db8:1::1")).to_string();
            says(3, "::", &group, solicitation("2001:db8:1::1", Some(mac(3))))
        }),
        (
            "an answer to all",
            says(3, "2001:db8:1::c", "ff02::1", advertisement("2001:db8:1::c", mac(3))),
        ),
    ];
    for (what, sent) in cases {
        let mut rig = Rig::new(2, NETS);
        assert_eq!(rig.pass(1, &sent.build()), [], "{what}");
        assert_eq!(discards(&rig), [("bad-discovery", 1)], "{what}");
        assert_eq!(rig.run("/ipv6 neighbor print count-only").trim(), "0", "{what}");
    }
    // Plausible, but nobody there is a neighbour.
    for (what, src, m) in [
        ("another network", "2001:db8:7::c", mac(3)),
        ("a group's MAC address", "2001:db8:1::c", MacAddr([3, 0, 0, 0, 0, 1])),
    ] {
        let mut rig = Rig::new(2, NETS);
        rig.pass(1, &says(3, src, "2001:db8:1::1", solicitation("2001:db8:1::1", Some(m))).build());
        assert_eq!(
            rig.run(&format!("/ipv6 neighbor print count-only where mac-address={m}")).trim(),
            "0",
            "{what}"
        );
    }
}

/// Static routes lead by their gateways, also by one of the link.
#[test]
fn gateways() {
    let mut rig = rig("");
    for (dst, asks) in [
        ("2001:db8:9::1", "2001:db8:2::1 asks ff02::1:ff00:9 for 2001:db8:2::9"),
        ("2001:db8:8::1", "fe80::ff:fe00:2 asks ff02::1:ff00:8 for fe80::8"),
    ] {
        rig.send(1, &to(dst).build());
        rig.breathe();
        assert_eq!(out(&mut rig, 2), [asks], "{dst}");
    }
}

/// Bridges and VLANs are ways like ports.
#[test]
fn by_bridge_and_vlan() {
    let mut rig = Rig::new(
        3,
        "/interface bridge add name=lan protocol-mode=none
/interface bridge port add bridge=lan interface=ether2
/interface bridge port add bridge=lan interface=ether3
/interface vlan add name=v7 interface=ether1 vlan-id=7
/ipv6 address add address=2001:db8:1::1/64 interface=v7
/ipv6 address add address=2001:db8:2::1/64 interface=lan",
    );
    let tagged = |frame: Vec<u8>| [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat();
    let said =
        says(1, "2001:db8:1::a", "2001:db8:1::1", solicitation("2001:db8:1::1", Some(mac(1))));
    assert_eq!(rig.pass(1, &tagged(said.build())).len(), 1);
    let said =
        says(2, "2001:db8:2::b", "2001:db8:2::1", solicitation("2001:db8:2::1", Some(mac(2))));
    let lan = rig.router.program().names.find("lan").unwrap();
    let lan = rig.router.program().interface(lan).mac;
    let out = rig.pass(3, &Sent { dst_mac: lan, ..said }.build());
    assert_eq!(out.len(), 1, "{out:02x?}");
    let out = rig.pass(1, &tagged(to("2001:db8:2::b").build()));
    let expected = Sent { src_mac: lan, dst_mac: mac(2), hop_limit: 63, ..to("2001:db8:2::b") };
    assert_eq!(out, [(3, expected.build())]);
}

#[test]
fn shown() {
    let mut rig = rig("/ipv6 address add address=2001:db8:3::/64 eui-64=yes interface=ether1");
    let addresses = rig.run("/ipv6 address print");
    for line in ["GL  fe80::ff:fe00:1/64", "2001:db8:1::1/64"] {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(addresses.contains(words.last().unwrap()), "{line} in\n{addresses}");
    }
    let routes = rig.run("/ipv6 route print");
    for prefix in ["2001:db8:1::/64", "2001:db8:f1::/48", "2001:db8:3::/64"] {
        assert!(routes.contains(prefix), "{prefix} in\n{routes}");
    }
    assert_eq!(rig.run("/ipv6 route print count-only where active").trim(), "8", "{routes}");
    // What it makes of the prefix answers.
    let out = rig.pass(1, &ping("2001:db8:3::ff:fe00:1").build());
    assert_eq!(out.len(), 1);
    assert!(rig.run("/ipv6 address export").contains("address=2001:db8:3::/64 eui-64=yes"));
}

#[test]
fn switched_off() {
    for (script, why) in [
        ("/ipv6 settings set disable-ipv6=yes", "ipv6-off"),
        ("/ipv6 settings set forward=no", "forwarding-off"),
    ] {
        let mut rig = rig(script.strip_prefix("x").unwrap_or(""));
        rig.run(script);
        assert_eq!(rig.pass(1, &to("2001:db8:2::b").build()), [], "{script}");
        assert_eq!(discards(&rig), [(why, 1)], "{script}");
    }
}

/// Rules, a packet, and what becomes of it: it comes out, an error of this type and code does, or it is
/// dropped by name.
#[test]
fn filtered() {
    let filter = |rule: &str| format!("/ipv6 firewall filter add chain={rule}");
    let far = || to("2001:db8:2::b");
    let lists = "/ipv6 firewall address-list add list=bad address=2001:db8:2::/120\n\
                 /ipv6 firewall address-list add list=good address=2001:db8:1::a\n";
    let (passes, dropped) = ("passes", "filter-drop");
    #[rustfmt::skip]
    let cases: Vec<(String, Sent, &str)> = vec![
        (filter("forward action=drop"), far(), dropped),
        (filter("input action=drop"), far(), passes),
        (filter("input action=drop"), ping("2001:db8:1::1"), dropped),
        (filter("output action=drop"), ping("2001:db8:1::1"), dropped),
        (filter("forward action=drop protocol=udp dst-port=2000"), far(), dropped),
        (filter("forward action=drop protocol=udp dst-port=2001"), far(), passes),
        (filter("forward action=drop protocol=tcp"), far(), passes),
        (filter("forward action=drop src-address=2001:db8:1::/64"), far(), dropped),
        (filter("forward action=drop src-address=!2001:db8:1::/64"), far(), passes),
        (filter("forward action=drop dst-address=2001:db8:2::c"), far(), passes),
        (filter("forward action=drop dst-address=2001:db8:2::b"), far(), dropped),
        (filter("forward action=drop in-interface=ether1 out-interface=ether2"), far(), dropped),
        (filter("forward action=drop in-interface=ether2"), far(), passes),
        (filter("forward action=drop hop-limit=equal:63"), far(), dropped),
        (filter("forward action=drop hop-limit=greater-than:63"), far(), passes),
        (filter("forward action=drop protocol=icmpv6 icmp-options=128:0"), ping("2001:db8:2::b"), dropped),
        (filter("forward action=drop protocol=icmpv6 icmp-options=129:0"), ping("2001:db8:2::b"), passes),
        (lists.to_string() + &filter("forward action=drop dst-address-list=bad"), far(), dropped),
        (lists.to_string() + &filter("forward action=drop dst-address-list=!bad"), far(), passes),
        (lists.to_string() + &filter("forward action=drop src-address-list=good"), far(), dropped),
        (lists.to_string() + &filter("forward action=drop src-address-list=nobody"), far(), passes),
        (filter("forward action=jump jump-target=mine") + "\n" + &filter("mine action=drop"), far(), dropped),
        (filter("forward action=reject"), far(), "1:0"),
        (filter("forward action=reject reject-with=icmp-admin-prohibited"), far(), "1:1"),
        (filter("forward action=reject reject-with=icmp-port-unreachable"), far(), "1:4"),
    ];
    for (script, sent, expected) in cases {
        for reference in [false, true] {
            let mut rig = rig(&script.replace("chain=", "disabled=yes chain="));
            rig.run("/ipv6 firewall filter enable [find]");
            rig.router.set_reference(reference);
            let out = rig.pass(1, &sent.build());
            let became = match &out[..] {
                [(2, _)] => passes.to_string(),
                [(1, frame)] => format!("{}:{}", frame[54], frame[55]),
                _ => discards(&rig)[0].0.to_string(),
            };
            assert_eq!(became, expected, "{script}");
            let packets = rig.run("/ipv6 firewall filter print count-only where packets>0");
            assert_eq!(packets.trim() == "0", expected == passes, "{script}");
            assert!(rig.router.frames().balance(), "{script}");
        }
    }
}

/// A rule's line in the log, and why a rule can never match.
#[test]
fn rules_say_why() {
    let mut rig = rig("/ipv6 firewall filter add chain=forward log=yes log-prefix=six\n\
                       /ipv6 firewall filter add chain=output in-interface=ether1 action=drop");
    rig.pass(1, &to("2001:db8:2::b").build());
    let line = rig.run("/log print");
    assert!(
        line.contains("proto UDP, [2001:db8:1::a]:1000->[2001:db8:2::b]:2000, len 52"),
        "{line}"
    );
    let invalid = rig.run("/ipv6 firewall filter print count-only where invalid");
    assert_eq!(invalid.trim(), "1");
    let refused = rig.try_run("/ipv6 route add gateway=2001:db8:2::b check-gateway=bfd");
    assert!(refused.unwrap_err().text.contains("BFD is not built"));
}
