//! IPv6 in tunnels: 6to4 to one end and to everybody, and GRE; what is written around packets, what comes
//! out again, and what may not.

use crate::ipv6::{Sent, advertisement, ip6, ping, says, solicitation, to};
use crate::rig::{Rig, mac, own_mac};
use crate::tunnels::{Pair, script};
use router::discard::Discard;
use std::time::Duration;
use wire::icmpv6::{kind, solicited_node};
use wire::ipv6::{MTU_MIN, header};
use wire::{Ipv6, Tcp, checksum};

/// A tunnel `t` for both and the ways behind it, where the inner packet begins in the underlay's frames,
/// what stands before it behind the outer IP header, and the outer protocol; the host's network is
/// `$NET:$me::/64`.
type Kind = (&'static str, &'static str, usize, &'static [u8], u8);

const BY_ADDRESS: &str = "/ipv6 address add address=2001:db8:ff::$me/64 interface=t
/ipv6 route add dst-address=2001:db8:$you::/64 gateway=2001:db8:ff::$you";
const BY_INTERFACE: &str = "/ipv6 route add dst-address=2001:db8:$you::/64 gateway=t";
const CONNECTED: &str = "/ipv6 address add address=2002:c0a8:$me:ff::1/16 interface=t";

const NATIVE: &str = "2001:db8";
const OWN: &str = "2002:c0a8";

const KINDS: &[(&str, &str, Kind)] = &[
    (NATIVE, "one end", ("/interface 6to4 add name=t $ENDS", BY_ADDRESS, 34, &[], 41)),
    (
        NATIVE,
        "any address",
        ("/interface 6to4 add name=t remote-address=192.168.0.$you", BY_INTERFACE, 34, &[], 41),
    ),
    (
        NATIVE,
        "GRE",
        ("/interface gre add name=t keepalive=0s,0 $ENDS", BY_ADDRESS, 38, &[0, 0, 0x86, 0xdd], 47),
    ),
    (
        OWN,
        "everybody",
        ("/interface 6to4 add name=t local-address=192.168.0.$me", CONNECTED, 34, &[], 41),
    ),
    (OWN, "everybody, any address", ("/interface 6to4 add name=t", CONNECTED, 34, &[], 41)),
];

/// Two routers, each with a host `::a` that is known.
fn pair(net: &str, more: &str) -> Pair {
    let lan = match net {
        OWN => "/ipv6 address add address=2002:c0a8:$me:1::1/64 interface=ether1 advertise=no",
        _ => "/ipv6 address add address=2001:db8:$me::1/64 interface=ether1 advertise=no",
    };
    let mut pair = Pair::new(&script(&format!("{lan}\n{more}")));
    for n in [1, 2] {
        let [own, router] = ["a", "1"].map(|host| address(net, n, host));
        introduce(&mut pair.routers[usize::from(n) - 1], n, &own, &router);
    }
    pair
}

/// The host behind the first port asks for the router, which may still look for who else has its address.
fn introduce(rig: &mut Rig, n: u8, own: &str, router: &str) {
    let group = solicited_node(ip6(router)).to_string();
    let asks = says(n, own, &group, solicitation(router, Some(mac(n))));
    rig.pass(1, &asks.build());
}

/// A host, or the router, of the first or the second network.
fn address(net: &str, n: u8, host: &str) -> String {
    let subnet = if net == OWN { ":1" } else { "" };
    format!("{net}:{n}{subnet}::{host}")
}

/// From host 1 to host 2, an IPv6 packet of so many bytes.
fn datagram(net: &str, len: usize) -> Sent {
    let [src, dst] = [1, 2].map(|n| address(net, n, "a"));
    let mut payload = vec![7; len - 40];
    payload[..8].copy_from_slice(&[3, 232, 7, 208, 0, 0, 0, 0]);
    payload[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
    Sent { src: ip6(&src), payload, ..to(&dst) }
}

/// What IP sees of it at the other host.
fn arrived(sent: &Sent) -> Vec<u8> {
    let hop_limit = sent.hop_limit - 2;
    Sent { src_mac: own_mac(1), dst_mac: mac(2), hop_limit, ..sent.clone() }.build()
}

/// Sends from the first host; what comes out for the second one.
fn pass(pair: &mut Pair, sent: &Sent) -> Vec<Vec<u8>> {
    for_hosts(pair.pass(&sent.build()))
}

/// Those that are not for groups.
fn for_hosts(frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    frames.into_iter().filter(|frame| frame[0] & 1 == 0).collect()
}

/// The ICMPv6 error that the first host has got: type, code, the word behind them. Time passes, so that
/// there may be another one.
fn error(pair: &mut Pair) -> (u8, u8, u32) {
    pair.routers[0].wait(Duration::from_millis(100));
    let is_error = |frame: &&Vec<u8>| frame[12..14] == [0x86, 0xdd] && frame[54] < 128;
    let frames = for_hosts(pair.routers[0].take(1));
    let frame = frames.iter().find(is_error).expect("an error");
    let ip = Ipv6::new(&frame[14..]).expect("IPv6");
    let said = ip.payload();
    assert_eq!(ip.next_header(), header::ICMPV6);
    (said[0], said[1], u32::from_be_bytes([said[4], said[5], said[6], said[7]]))
}

const NOTHING: [Vec<u8>; 0] = [];

#[test]
fn routed() {
    for (net, name, (tunnel, ways, start, between, protocol)) in KINDS {
        let mut pair = pair(net, &format!("{tunnel}\n{ways}"));
        assert!(pair.runs(0, "t") && pair.runs(1, "t"), "{name}");
        let sent = datagram(net, 200);
        let mut bytes = sent.build();
        // Traffic class 0xb8.
        (bytes[14], bytes[15]) = (0x6b, 0x80);
        let mut out = for_hosts(pair.pass(&bytes));
        assert_eq!(out.len(), 1, "{name}: {:?}", pair.routers[0].router.discards());
        assert_eq!(out[0][14..16], [0x6b, 0x80]);
        (out[0][14], out[0][15]) = (0x60, 0);
        assert_eq!(out, [arrived(&sent)], "{name}");
        let [(0, frame)] = &pair.seen[..] else { panic!("{name}: {:02x?}", pair.seen) };
        assert_eq!((frame[23], frame[15]), (*protocol, 0xb8), "{name}: DSCP is inherited");
        assert_eq!(frame[26..34], [192, 168, 0, 1, 192, 168, 0, 2], "{name}");
        assert_eq!(frame[34..34 + between.len()], **between, "{name}");
        assert!(checksum::is_ok(&frame[14..34]), "{name}");
        bytes[21] -= 1;
        assert_eq!(frame[*start..], bytes[14..], "{name}");
        assert_eq!(pair.counts(0, "t")[1], (1, 200));
        assert_eq!(pair.counts(1, "t")[0], (1, 200));

        // What is too long for the tunnel never goes in; the sender is told what fits.
        let mtu = 1500 - (start - 14);
        assert_eq!(pass(&mut pair, &datagram(net, mtu + 1)), NOTHING, "{name}");
        assert_eq!(error(&mut pair), (kind::TOO_BIG, 0, mtu as u32), "{name}");
        let fits = datagram(net, mtu);
        assert_eq!(pass(&mut pair, &fits), [arrived(&fits)], "{name}");
        // The hop limit runs out before.
        let last = Sent { hop_limit: 1, ..datagram(net, 100) };
        assert_eq!(pass(&mut pair, &last), NOTHING, "{name}");
        assert_eq!(error(&mut pair).0, kind::TIME_EXCEEDED, "{name}");
        pair.balanced();
    }
}

/// What follows a flow's first packets goes by recipe: the outer packet out and in, and what is inside, but for
/// into a tunnel to everybody.
#[test]
fn by_recipe() {
    for (net, name, (tunnel, ways, ..)) in KINDS {
        for (tracking, inside) in [("no", 0), ("yes", 2)] {
            let track = format!("/ip firewall connection tracking set enabled={tracking}");
            let mut pair = pair(net, &format!("{track}\n{tunnel}\n{ways}"));
            let there = datagram(net, 200);
            let mut back = Sent { src_mac: mac(2), dst_mac: own_mac(1), ..there.clone() };
            back.src = ip6(&address(net, 2, "a"));
            back.dst = ip6(&address(net, 1, "a"));
            back.payload[..4].copy_from_slice(&[7, 208, 3, 232]);
            let replayed =
                |pair: &Pair| [0, 1].map(|n| pair.routers[n].router.path_counts().replayed);
            let mut before = [0; 2];
            for round in 0..9 {
                if round == 4 {
                    before = replayed(&pair);
                }
                assert_eq!(pass(&mut pair, &there), [arrived(&there)], "{name} {tracking} {round}");
                let came = for_hosts(pair.pass_back(&back.build()));
                let answer = Sent { src_mac: own_mac(1), dst_mac: mac(1), ..back.clone() };
                let answer = Sent { hop_limit: back.hop_limit - 2, ..answer };
                assert_eq!(came, [answer.build()], "{name} {tracking} {round}");
            }
            let least = if name.starts_with("everybody") { inside / 2 } else { inside };
            for (now, before) in replayed(&pair).into_iter().zip(before) {
                assert_eq!(now - before, 5 * (2 + least), "{name} {tracking}");
            }
            assert_eq!(pair.counts(0, "t"), [(9, 9 * 200); 2], "{name} {tracking}");
            assert_eq!(pair.counts(1, "t"), [(9, 9 * 200); 2], "{name} {tracking}");
            pair.balanced();
        }
    }
}

/// The tunnel's own packets leave in pieces where it promises more than its way takes; with `inherit`
/// the sender is told, but for what no sender has to make shorter (RFC 4213 §3.2.2).
#[test]
fn outer_fragments() {
    for (net, name, (tunnel, ways, ..)) in KINDS {
        let overhead = if *name == "GRE" { 24 } else { 20 };
        let mut whole = pair(net, &format!("{tunnel} mtu=1500\n{ways}"));
        let sent = datagram(net, 1500);
        assert_eq!(pass(&mut whole, &sent), [arrived(&sent)], "{name}");
        assert_eq!(whole.seen.len(), 2, "{name}: two pieces");
        whole.balanced();
        for (underlay, told) in [(1500, 1500 - overhead), (1290, u32::from(MTU_MIN))] {
            let set = format!("/interface ethernet set ether2 mtu={underlay}");
            let tunnel = format!("{tunnel} mtu=1500 dont-fragment=inherit");
            let mut pair = pair(net, &format!("{set}\n{tunnel}\n{ways}"));
            assert_eq!(pass(&mut pair, &sent), NOTHING, "{name}");
            assert_eq!(error(&mut pair), (kind::TOO_BIG, 0, told), "{name}");
            let discards = pair.routers[0].router.discards();
            assert_eq!(discards.get(Discard::PacketTooBig), 1, "{name}");
            let fits = datagram(net, told as usize);
            assert_eq!(pass(&mut pair, &fits), [arrived(&fits)], "{name}: {told} bytes");
            let pieces = if underlay == 1500 { 1 } else { 2 };
            assert_eq!(pair.seen.len(), pieces, "{name}");
            assert_eq!(pair.seen[0].1[20] & 0x40 != 0, pieces == 1, "{name}: DF");
            pair.balanced();
        }
    }
}

/// To everybody: whom a packet is for says its destination, or the gateway; or nothing does.
#[test]
fn everybody() {
    let ways = "/ipv6 address add address=2002:c0a8:$me::1/16 interface=t
        /ipv6 address add address=2001:db8:$me::1/64 interface=ether1 advertise=no
        /ipv6 route add dst-address=2001:db8:2::/64 gateway=::192.168.0.2%t
        /ipv6 route add dst-address=2001:db8:3::/64 gateway=2002:c0a8:2::1
        /ipv6 route add dst-address=2001:db8:4::/64 gateway=t";
    let mut pair =
        pair(OWN, &format!("/interface 6to4 add name=t local-address=192.168.0.$me\n{ways}"));
    introduce(&mut pair.routers[1], 2, "2001:db8:2::a", "2001:db8:2::1");
    let from = |dst: &str| Sent { dst: ip6(dst), ..datagram(OWN, 100) };
    let sent = from("2001:db8:2::a");
    assert_eq!(pass(&mut pair, &sent), [arrived(&sent)], "by a relay");
    pass(&mut pair, &from("2001:db8:3::a"));
    assert_eq!(pair.seen[0].1[30..34], [192, 168, 0, 2], "by the gateway's network");
    // The answer of what has no 2002::/16 address finds the way by its destination.
    let [src, dst] = ["2001:db8:2::a", "2002:c0a8:1:1::a"].map(ip6);
    let answer = Sent { src_mac: mac(2), src, dst, ..datagram(OWN, 100) };
    let back = Sent { src_mac: own_mac(1), dst_mac: mac(1), hop_limit: 62, ..answer.clone() };
    assert_eq!(for_hosts(pair.pass_back(&answer.build())), [back.build()]);
    for dst in ["2001:db8:4::a", "2002:7f00:1::1", "2002:e000:5::1", "2002:ffff:ffff::1", "2002::1"]
    {
        assert_eq!(pass(&mut pair, &from(dst)), NOTHING, "{dst}");
        assert_eq!(error(&mut pair), (kind::UNREACHABLE, 3, 0), "{dst}");
        assert!(pair.seen.is_empty(), "{dst}");
    }
    let discards = pair.routers[0].router.discards();
    assert_eq!(discards.get(Discard::NeighbourUnreachable), 5, "{discards:?}");
    // RFC 6324: an address of the router's own as the other end, and no subnet of it behind here.
    pass(&mut pair, &from("2002:c0a8:1:9::1"));
    assert_eq!(pair.routers[0].router.discards().get(Discard::TunnelLoop), 1);
    assert!(pair.seen.is_empty());
    // A broadcast of the underlay, and somewhere no route leads to.
    for dst in ["2002:c0a8:ff::1", "2002:c633:6401::1"] {
        pass(&mut pair, &from(dst));
        assert!(pair.seen.is_empty(), "{dst}");
    }
    assert_eq!(pair.routers[0].router.discards().get(Discard::NoRoute), 2);
    pair.balanced();
}

/// An outer packet from the first router's address, around these bytes.
fn outer(src: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
    ip[2..4].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
    ip.extend(src);
    ip.extend([192, 168, 0, 2]);
    let sum = checksum::of(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&own_mac(2).0[..], &own_mac(2).0, &[8, 0], &ip, payload].concat()
}

/// What may not come out of a tunnel ends by name (RFC 4213 §3.6, RFC 3964 §4).
#[test]
fn what_may_not_come_out() {
    let one = "/interface 6to4 add name=one $ENDS
        /ipv6 address add address=2001:db8:ff::$me/64 interface=one";
    let all = "/interface 6to4 add name=all local-address=192.168.0.$me
        /ipv6 address add address=2002:c0a8:$me:ff::1/16 interface=all";
    let (near, far) = ([192, 168, 0, 1], [192, 168, 0, 77]);
    use Discard::*;
    let cases = [
        // From the end that has a tunnel of its own.
        (near, "2001:db8:1::a", "2001:db8:2::a", None),
        (near, "2002:c0a8:1::1", "2001:db8:2::a", None),
        (near, "2002:505:505::1", "2001:db8:2::a", None),
        (near, "::10.0.0.1", "2001:db8:2::a", Some(MartianSource)),
        (near, "::1", "2001:db8:2::a", Some(MartianSource)),
        (near, "::", "2001:db8:2::a", Some(MartianSource)),
        (near, "ff02::1", "2001:db8:2::a", Some(MartianSource)),
        (near, "::ffff:10.0.0.1", "2001:db8:2::a", Some(MartianSource)),
        (near, "2001:db8:2::1", "2001:db8:2::a", Some(MartianSource)),
        (near, "2001:db8:1::a", "::ffff:10.0.0.1", Some(MartianDestination)),
        (near, "2001:db8:1::a", "::1", Some(MartianDestination)),
        (near, "fe80::192.168.0.1", "2001:db8:2::a", Some(LinkLocalSource)),
        // From everybody else.
        (far, "2002:c0a8:4d::1", "2001:db8:2::a", None),
        (far, "2002:c0a8:4d::1", "2002:c0a8:2:1::a", None),
        (far, "2001:db8:9::1", "2002:c0a8:2:1::a", None),
        (far, "2002:c0a8:4e::1", "2002:c0a8:2:1::a", Some(SpoofedTunnel)),
        (far, "2002:c0a8:4e::1", "2001:db8:2::a", Some(SpoofedTunnel)),
        (far, "2002:c0a8:4d::1", "2002:c0a8:1:1::a", Some(SpoofedTunnel)),
        (far, "2001:db8:9::1", "2002:c0a8:1:1::a", Some(SpoofedTunnel)),
        (far, "2001:db8:9::1", "2001:db8:2::a", Some(SpoofedTunnel)),
        (far, "::192.168.0.77", "2002:c0a8:2:1::a", Some(MartianSource)),
        (far, "fe80::192.168.0.77", "2002:c0a8:2:1::a", Some(LinkLocalSource)),
        (far, "2002:c0a8:4d::1", "fe80::192.168.0.2", Some(LinkLocalDestination)),
        (far, "2002:c0a8:4d::1", "ff02::1", Some(MulticastDestination)),
    ];
    let mut pair = pair(NATIVE, &format!("{one}\n{all}"));
    let rig = &mut pair.routers[1];
    rig.run("/ipv6 address add address=2002:c0a8:2:1::1/64 interface=ether1 advertise=no");
    introduce(rig, 2, "2002:c0a8:2:1::a", "2002:c0a8:2:1::1");
    for (outside, src, dst, why) in cases {
        let sent = Sent { src: ip6(src), dst: ip6(dst), ..datagram(NATIVE, 100) };
        let before = rig.router.discards().clone();
        let out = rig.pass(2, &outer(outside, 41, &sent.build()[14..]));
        let after = rig.router.discards();
        let arrives = out.iter().any(|(port, frame)| *port == 1 && frame.starts_with(&mac(2).0));
        assert_eq!(arrives, why.is_none(), "{outside:?} {src} {dst}: {after:?}");
        if let Some(why) = why {
            assert_eq!(after.get(why), before.get(why) + 1, "{outside:?} {src} {dst}: {after:?}");
        }
        rig.wait(Duration::from_millis(100));
    }
    // What is cut off, lies, or is none at all.
    let whole = datagram(NATIVE, 100).build()[14..].to_vec();
    let lies = [&whole[..4], &[0xff, 0xff], &whole[6..]].concat();
    let four = [&[0x45][..], &whole[1..]].concat();
    for (protocol, from) in [(41, near), (41, far), (47, near)] {
        let gre = "/interface gre add name=g local-address=192.168.0.2 remote-address=192.168.0.1";
        if protocol == 47 {
            rig.run(gre);
            rig.wait(Duration::from_millis(200));
        }
        let cuts = (1..40).map(|len| &whole[..len]).chain([&whole[..99], &lies[..], &four[..]]);
        for bytes in cuts {
            let header: &[u8] = if protocol == 47 { &[0, 0, 0x86, 0xdd] } else { &[] };
            let before = rig.router.discards().get(MalformedIpv6);
            rig.pass(2, &outer(from, protocol, &[header, bytes].concat()));
            let after = rig.router.discards().get(MalformedIpv6);
            assert_eq!(after, before + 1, "{protocol}: {bytes:02x?}");
        }
        // Of nothing in it, nothing comes.
        rig.pass(2, &outer(from, protocol, &[]));
    }
    pair.balanced();
}

/// A tunnel that leads to itself, and a packet in a packet in a packet.
#[test]
fn loops() {
    let mut rig = Rig::new(2, "/ip address add address=192.168.0.1/24 interface=ether2");
    rig.run(
        "/interface 6to4 add name=t local-address=192.168.0.1 remote-address=192.168.5.5
         /interface gre add name=g local-address=192.168.0.1 remote-address=192.168.6.6
         /ip route add dst-address=192.168.5.5/32 gateway=g
         /ip route add dst-address=192.168.6.6/32 gateway=192.168.0.9 distance=2
         /ipv6 address add address=2001:db8:1::1/64 interface=ether1 advertise=no
         /ipv6 route add dst-address=2001:db8:2::/64 gateway=t",
    );
    introduce(&mut rig, 1, "2001:db8:1::a", "2001:db8:1::1");
    rig.wait(Duration::from_millis(500));
    // The way to each one's end is behind the other.
    rig.run("/ip route add dst-address=192.168.6.6/32 gateway=g");
    rig.wait(Duration::from_millis(500));
    for port in [1, 2] {
        rig.take(port);
    }
    let before = rig.router.discards().get(Discard::TunnelLoop);
    assert_eq!(rig.pass(1, &datagram(NATIVE, 1000).build()), []);
    let loops = rig.router.discards().get(Discard::TunnelLoop) - before;
    let down = rig.router.discards().get(Discard::InterfaceDown);
    assert!(loops + down > 0, "{:?}", rig.router.discards());
    assert!(rig.router.frames().balance());

    let mut pair =
        pair(NATIVE, "/interface ipip add name=i $ENDS\n/interface 6to4 add name=t $ENDS");
    let mut inner = datagram(NATIVE, 100).build()[14..].to_vec();
    inner = outer([192, 168, 0, 1], 41, &inner)[14..].to_vec();
    for _ in 0..40 {
        inner = outer([192, 168, 0, 1], 4, &inner)[14..].to_vec();
    }
    let frame = outer([192, 168, 0, 1], 4, &inner);
    pair.routers[1].pass(2, &frame);
    assert_eq!(pair.routers[1].router.discards().get(Discard::TunnelLoop), 1);
    pair.balanced();
}

/// The address of its link is made of its own IPv4 address; nothing is asked or told there, and who asks
/// for the router is answered.
#[test]
fn no_neighbours() {
    for (tunnel, near) in [
        ("6to4 add name=t $ENDS", "fe80::c0a8:1/64"),
        ("6to4 add name=t remote-address=192.168.0.$you", "fe80::ff:fe00:1/64"),
        ("6to4 add name=t local-address=192.168.0.$me", "fe80::c0a8:1/64"),
        ("gre add name=t $ENDS", "fe80::5efe:c0a8:1/64"),
        ("ipip add name=t $ENDS", ""),
    ] {
        let more = format!(
            "/interface {tunnel} keepalive=0s,0
             /ipv6 address add address=2001:db8:ff::$me/64 interface=t"
        );
        let mut pair = pair(NATIVE, &more);
        let printed = pair.routers[0].run("/ipv6 address print where interface=t");
        assert!(printed.contains(near), "{tunnel}: {printed}");
        assert_eq!(printed.contains("fe80"), !near.is_empty(), "{tunnel}: {printed}");
        pair.seen.clear();
        pair.wait(120);
        let outer = |frame: &[u8]| frame[12..14] == [8, 0] && [4, 41, 47].contains(&frame[23]);
        let quiet = pair.seen.iter().all(|(_, frame)| !outer(frame));
        assert!(quiet, "{tunnel}: {:02x?}", pair.seen);
        let rows = pair.routers[0].run("/ipv6 neighbor print where interface=t");
        assert!(!rows.contains("2001:db8:ff::2"), "{tunnel}: {rows}");
        pair.balanced();
    }
    // RFC 4213 §3.8: who asks whether the router lives is answered, and learnt no address of.
    let mut pair = pair(NATIVE, &format!("/interface 6to4 add name=t $ENDS\n{BY_ADDRESS}"));
    pass(&mut pair, &datagram(NATIVE, 100));
    let (bytes, len) = solicitation("2001:db8:ff::2", None).to_bytes();
    let [src, dst] = ["2001:db8:ff::1", "2001:db8:ff::2"].map(ip6);
    let (next_header, hop_limit) = (header::ICMPV6, 255);
    let asks =
        Sent { src, dst, next_header, hop_limit, payload: bytes[..len].to_vec(), ..to("::") };
    let out = pair.routers[1].pass(2, &outer([192, 168, 0, 1], 41, &asks.build()[14..]));
    let said = Ipv6::new(&out[0].1[34..]).expect("IPv6");
    assert_eq!(said.dst(), src);
    let wanted = advertisement("2001:db8:ff::2", mac(9));
    let wanted = wire::icmpv6::Neighbour { router: true, mac: None, ..wanted };
    assert_eq!(wire::icmpv6::Neighbour::read(said.payload()).ok(), Some(wanted));
    pair.balanced();
}

/// What a tunnel's network has no host for does not go to and fro (RFC 4443 §3.1).
#[test]
fn to_and_fro() {
    for tunnel in ["6to4", "gre"] {
        let tunnel = format!("/interface {tunnel} add name=t $ENDS\n{BY_ADDRESS}");
        let mut pair = pair(NATIVE, &tunnel);
        let nobody = Sent { dst: ip6("2001:db8:ff::77"), ..datagram(NATIVE, 100) };
        pass(&mut pair, &nobody);
        assert_eq!(error(&mut pair), (kind::UNREACHABLE, 3, 0));
        assert_eq!(pair.seen.len(), 2, "there, and that it was refused");
        pair.balanced();
    }
}

/// The firewall sees the outer packet in output and input of IPv4, the inner one in forward of IPv6.
#[test]
fn firewall() {
    for (net, name, (tunnel, ways, _, _, protocol)) in KINDS {
        let rule = |table: &str, chain: &str, what: &str| {
            format!("/{table} firewall filter add chain={chain} action=passthrough {what}\n")
        };
        let outer = format!("protocol={protocol}");
        let mut pair = pair(
            net,
            &[
                format!("{tunnel}\n{ways}\n"),
                rule("ip", "output", &outer),
                rule("ip", "input", &outer),
                rule("ip", "forward", ""),
                rule("ipv6", "forward", "out-interface=t protocol=udp"),
                rule("ipv6", "forward", "in-interface=t protocol=udp"),
            ]
            .concat(),
        );
        for _ in 0..5 {
            assert_eq!(pass(&mut pair, &datagram(net, 100)).len(), 1, "{name}");
        }
        for (n, passed) in [(0, [5, 0, 0, 5, 0]), (1, [0, 5, 0, 0, 5])] {
            let rig = &mut pair.routers[n];
            let tables = ["/ip firewall filter", "/ipv6 firewall filter"];
            let counts = tables.map(|menu| rig.router.rule_counts(menu, rig.console.tree()));
            let packets: Vec<_> = counts.concat().iter().map(|count| count.packets).collect();
            assert_eq!(packets, passed, "{name}");
        }
        let connections = pair.routers[0].run("/ipv6 firewall connection print");
        assert!(connections.contains(&address(net, 2, "a")), "{name}: {connections}");
        pair.balanced();
    }
}

/// `clamp-tcp-mss`: what comes out of the tunnel promises no more than fits it.
#[test]
fn clamped() {
    for (net, name, (tunnel, ways, start, ..)) in KINDS {
        for (clamp, mss) in [("yes", (1500 - (*start as u16 - 14)) - 60), ("no", 1440)] {
            let mut pair = pair(net, &format!("{tunnel} clamp-tcp-mss={clamp}\n{ways}"));
            let mut payload = vec![0, 1, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 6 << 4, 2, 255, 255];
            payload.extend([0, 0, 0, 0, 2, 4, 5, 160]);
            let sent = Sent { next_header: 6, payload, ..datagram(net, 100) };
            let out = pass(&mut pair, &sent);
            let tcp = Tcp::new(&out[0][54..78]).expect("TCP");
            assert_eq!(tcp.mss(), Some(mss), "{name}");
            pair.balanced();
        }
    }
}

/// Keepalives bring a tunnel down when they stay unanswered, and up when they are answered again; it needs a
/// route, and one to everybody its own address.
#[test]
fn up_and_down() {
    let mut pair = pair(NATIVE, "/interface 6to4 add name=t keepalive=2s,3 $ENDS");
    pair.wait(60);
    assert!(pair.runs(0, "t") && pair.runs(1, "t"), "answered");
    let [discards, _] = [0, 1].map(|n| pair.routers[n].router.discards().clone());
    assert_eq!(discards.get(Discard::NoListener), 0, "{discards:?}");
    // The other end need not ask itself.
    pair.routers[1].run("/interface 6to4 set t keepalive=0s,0");
    pair.wait(30);
    assert!(pair.runs(0, "t"));
    pair.cut = true;
    pair.wait(9);
    assert!(!pair.runs(0, "t"), "three missed");
    pair.cut = false;
    pair.wait(3);
    assert!(pair.runs(0, "t"), "heard again");
    pair.routers[0].run("/ip address remove [find interface=ether2]");
    pair.wait(1);
    assert!(!pair.runs(0, "t"), "no route");
    pair.balanced();

    let mut rig = Rig::new(
        2,
        "/interface 6to4 add name=t local-address=192.0.2.1
         /interface 6to4 add name=any",
    );
    let runs = |rig: &Rig, name: &str| {
        let program = rig.router.program();
        program.runs(program.names.find(name).expect("the interface"))
    };
    rig.wait(Duration::from_millis(200));
    assert!(!runs(&rig, "t") && !runs(&rig, "any"), "no address");
    rig.run("/ip address add address=198.51.100.1/24 interface=ether2");
    rig.wait(Duration::from_millis(200));
    assert!(!runs(&rig, "t") && runs(&rig, "any"), "another address");
    rig.run("/ip address add address=192.0.2.1/24 interface=ether2");
    rig.wait(Duration::from_millis(200));
    assert!(runs(&rig, "t"));
}

/// The router's own packets go by a tunnel, and whoever pings it there is answered.
#[test]
fn of_the_routers_own() {
    for (net, name, (tunnel, ways, ..)) in KINDS {
        let mut pair = pair(net, &format!("{tunnel}\n{ways}"));
        let src = ip6(&address(net, 1, "a"));
        let asks = Sent { src, ..ping(&address(net, 2, "1")) };
        pass(&mut pair, &asks);
        let frames = pair.routers[0].take(1);
        let reply = frames.iter().find(|frame| frame[12..14] == [0x86, 0xdd]);
        let reply = Ipv6::new(&reply.expect("a reply")[14..]).expect("IPv6");
        assert_eq!(reply.payload()[0], kind::ECHO_REPLY, "{name}");
        assert_eq!(reply.hop_limit(), 63, "{name}");
        pair.balanced();
    }
}

/// IPv4 does not go into what carries IPv6 alone, nor IPv6 into IPIP.
#[test]
fn the_wrong_kind() {
    let mut pair = pair(
        NATIVE,
        "/interface 6to4 add name=t $ENDS
         /interface ipip add name=i $ENDS
         /ip route add dst-address=10.0.$you.0/24 gateway=t
         /ipv6 route add dst-address=2001:db8:$you::/64 gateway=i",
    );
    pair.pass(&crate::tunnels::datagram(&[1; 20]).build());
    assert_eq!(pair.routers[0].router.discards().get(Discard::UnknownProtocol), 1);
    pass(&mut pair, &datagram(NATIVE, 100));
    assert_eq!(pair.routers[0].router.discards().get(Discard::InterfaceDown), 1);
    assert!(pair.seen.is_empty());
    pair.balanced();
}

#[test]
fn refused() {
    let mut rig = Rig::new(
        2,
        "/interface 6to4 add name=t remote-address=10.0.0.1 local-address=10.0.0.2 !keepalive
         /interface 6to4 add",
    );
    for (line, why) in [
        ("/interface 6to4 add remote-address=224.0.0.1", "no host"),
        ("/interface 6to4 add remote-address=10.0.0.1 local-address=10.0.0.1", "to itself"),
        ("/interface 6to4 add remote-address=10.0.0.1 local-address=10.0.0.2", "t has these ends"),
        ("/interface 6to4 add", "6to4-tunnel1 has these ends already"),
        ("/interface 6to4 add remote-address=10.0.0.3 mtu=1279", "1280"),
        ("/interface 6to4 add remote-address=10.0.0.3 keepalive=often", "10s,10"),
        ("/interface vlan add interface=t vlan-id=5", "carries no Ethernet frames"),
    ] {
        match rig.try_run(line) {
            Err(error) => assert!(error.to_string().contains(why), "{line}: {error}"),
            Ok(_) => panic!("{line} was taken"),
        }
    }
    let printed = rig.run("/interface print");
    assert!(printed.contains("6to4-tunnel"), "{printed}");
    let exported = rig.run("/interface 6to4 export");
    let line = "add local-address=10.0.0.2 name=t remote-address=10.0.0.1\n";
    assert!(exported.contains(line), "{exported}");
}
