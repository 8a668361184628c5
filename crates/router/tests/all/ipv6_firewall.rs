//! `/ipv6 firewall`: MikroTik's default one, packet by packet; what connection tracking makes of packets; raw and
//! mangle; lists that rules fill.

use crate::ipv6::{Sent, discards, introduce, ip6, ping, rig, to};
use crate::rig::{Rig, mac, own_mac};
use std::time::Duration;
use wire::Ipv6;
use wire::checksum::Sum;
use wire::icmpv6::kind;
use wire::ipv6::header;
use wire::layers::protocol;

/// What a home router comes with (v7's default configuration, its comments left out). ether2 is its LAN.
const DEFAULT: &str = "/interface list add name=LAN
/interface list member add list=LAN interface=ether2
/ipv6 address add address=2001:db8:f::1/64 interface=ether2
/ipv6 firewall address-list
add list=bad_ipv6 address=::/128
add list=bad_ipv6 address=::1/128
add list=bad_ipv6 address=fec0::/10
add list=bad_ipv6 address=::ffff:0.0.0.0/96
add list=bad_ipv6 address=::/96
add list=bad_ipv6 address=100::/64
add list=bad_ipv6 address=2001:db8:f::/48
add list=bad_ipv6 address=2001:10::/28
add list=bad_ipv6 address=3ffe::/16
/ipv6 firewall filter
add action=accept chain=input connection-state=established,related,untracked
add action=drop chain=input connection-state=invalid
add action=accept chain=input protocol=icmpv6
add action=accept chain=input port=33434-33534 protocol=udp
add action=accept chain=input dst-port=546 protocol=udp src-address=fe80::/10
add action=accept chain=input dst-port=500,4500 protocol=udp
add action=accept chain=input protocol=ipsec-ah
add action=accept chain=input protocol=ipsec-esp
add action=accept chain=input ipsec-policy=in,ipsec
add action=drop chain=input in-interface-list=!LAN
add action=accept chain=forward connection-state=established,related,untracked
add action=drop chain=forward connection-state=invalid
add action=drop chain=forward src-address-list=bad_ipv6
add action=drop chain=forward dst-address-list=bad_ipv6
add action=drop chain=forward hop-limit=equal:1 protocol=icmpv6
add action=accept chain=forward protocol=icmpv6
add action=accept chain=forward protocol=139
add action=accept chain=forward dst-port=500,4500 protocol=udp
add action=accept chain=forward protocol=ipsec-ah
add action=accept chain=forward protocol=ipsec-esp
add action=accept chain=forward ipsec-policy=in,ipsec
add action=drop chain=forward in-interface-list=!LAN";

const FAR: &str = "2001:db8:2::b";
const OWN: &str = "2001:db8:1::1";

/// A UDP datagram to this port.
fn udp(dst: &str, port: u16) -> Sent {
    let mut sent = to(dst);
    sent.payload[2..4].copy_from_slice(&port.to_be_bytes());
    sent
}

/// A TCP segment with these flags, from port 1000 to port 80.
fn tcp(dst: &str, flags: u8, seq: u32, ack: u32) -> Sent {
    let mut payload = vec![0x03, 0xe8, 0, 80];
    payload.extend(seq.to_be_bytes());
    payload.extend(ack.to_be_bytes());
    payload.extend([0x50, flags, 0x20, 0, 0, 0, 0, 0]);
    summed(Sent { next_header: protocol::TCP, payload, ..to(dst) })
}

/// With its TCP checksum.
fn summed(mut sent: Sent) -> Sent {
    let len = sent.payload.len() as u32;
    sent.payload[16..18].fill(0);
    let sum = Sum::pseudo_ipv6(sent.src.octets(), sent.dst.octets(), protocol::TCP, len);
    let sum = sum.bytes(&sent.payload).finish();
    sent.payload[16..18].copy_from_slice(&sum.to_be_bytes());
    sent
}

/// The answer that comes in by ether2, to what went out there.
fn back(sent: &Sent) -> Sent {
    let mut payload = sent.payload.clone();
    if matches!(sent.next_header, protocol::UDP | protocol::TCP) {
        payload[..2].copy_from_slice(&sent.payload[2..4]);
        payload[2..4].copy_from_slice(&sent.payload[..2]);
    }
    Sent {
        src_mac: mac(2),
        dst_mac: own_mac(2),
        src: sent.dst,
        dst: sent.src,
        payload,
        ..sent.clone()
    }
}

/// The packets that the rules of a menu have counted.
fn counted(rig: &mut Rig, menu: &str) -> Vec<u64> {
    let tree = rig.console.tree().clone();
    rig.router.rule_counts(menu, &tree).iter().map(|count| count.packets).collect()
}

const FILTER: &str = "/ipv6 firewall filter";

#[test]
fn the_default_firewall() {
    let plain = |next_header: u8| Sent { next_header, ..to(FAR) };
    let of_own = |next_header: u8| Sent { next_header, ..to(OWN) };
    let link = |sent: Sent| Sent { src: ip6("fe80::a"), ..sent };
    // Authentication before UDP.
    let ah = |dst: &str| {
        let header = [vec![17, 4, 0, 0], vec![0; 20]].concat();
        Sent { next_header: header::AH, payload: [header, to(dst).payload].concat(), ..to(dst) }
    };
    let nothing: Vec<Sent> = Vec::new();
    // What was sent before by ether2, the packet that comes in by ether1 (or ether2), and the rule that
    // decides; no rule at the end of the chain.
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<Sent>, usize, Sent, Option<usize>)> = vec![
        ("invalid input", nothing.clone(), 1, tcp(OWN, 0x14, 1, 1), Some(1)),
        ("a reply without request", nothing.clone(), 1, Sent { payload: vec![129, 0, 0, 0, 0, 7, 0, 1], ..ping(OWN) }, Some(1)),
        ("ping", nothing.clone(), 1, ping(OWN), Some(2)),
        ("traceroute", nothing.clone(), 1, udp(OWN, 33_500), Some(3)),
        ("DHCPv6", nothing.clone(), 1, link(udp("fe80::ff:fe00:1", 546)), Some(4)),
        ("DHCPv6 from afar", nothing.clone(), 1, udp(OWN, 546), Some(9)),
        ("IKE", nothing.clone(), 1, udp(OWN, 500), Some(5)),
        ("IKE behind NAT", nothing.clone(), 1, udp(OWN, 4500), Some(5)),
        ("AH", nothing.clone(), 1, ah(OWN), Some(6)),
        ("ESP", nothing.clone(), 1, of_own(50), Some(7)),
        ("input from the WAN", nothing.clone(), 1, udp(OWN, 53), Some(9)),
        ("input from the LAN", nothing.clone(), 2, back(&Sent { src: ip6("2001:db8:2::1"), ..to(FAR) }), None),
        ("an answer", vec![back(&to(FAR))], 1, to(FAR), Some(10)),
        ("invalid", nothing.clone(), 1, tcp(FAR, 0x14, 1, 1), Some(11)),
        ("bad source", nothing.clone(), 1, Sent { src: ip6("fec0::1"), ..to(FAR) }, Some(12)),
        ("bad destination", nothing.clone(), 1, to("2001:db8:f::7"), Some(13)),
        ("at its end", nothing.clone(), 1, Sent { hop_limit: 2, ..ping(FAR) }, Some(14)),
        ("ping through", nothing.clone(), 1, ping(FAR), Some(15)),
        ("HIP", nothing.clone(), 1, plain(139), Some(16)),
        ("IKE through", nothing.clone(), 1, udp(FAR, 500), Some(17)),
        ("AH through", nothing.clone(), 1, ah(FAR), Some(18)),
        ("ESP through", nothing.clone(), 1, plain(50), Some(19)),
        ("from the WAN", nothing.clone(), 1, udp(FAR, 443), Some(21)),
        ("from the LAN", nothing.clone(), 2, back(&udp(FAR, 443)), None),
    ];
    for (what, before, port, sent, rule) in cases {
        for reference in [false, true] {
            let mut rig = rig(DEFAULT);
            rig.router.set_reference(reference);
            for sent in &before {
                assert_eq!(rig.pass(2, &sent.build()).len(), 1, "{what}: goes out");
            }
            let was = counted(&mut rig, FILTER);
            rig.pass(port, &sent.build());
            let counts = counted(&mut rig, FILTER);
            // What the router says itself to neighbours passes no rule of input and forward.
            let passed: Vec<usize> = (0..counts.len()).filter(|&n| counts[n] > was[n]).collect();
            assert_eq!(passed, Vec::from_iter(rule), "{what}: {:?}", discards(&rig));
            let drops = rule.is_some_and(|rule| [1, 9, 11, 12, 13, 14, 21].contains(&rule));
            let dropped = discards(&rig).iter().any(|(why, _)| *why == "filter-drop");
            assert_eq!(dropped, drops, "{what}");
            assert!(rig.router.frames().balance(), "{what}: {:?}", rig.router.frames());
        }
    }
}

/// Packets by (port, packet), and what `connection-state` sees of each.
#[test]
fn states() {
    let states = ["invalid", "established", "related", "new", "untracked"];
    let rules: Vec<String> = states
        .iter()
        .map(|state| format!("add chain=forward connection-state={state} action=accept"))
        .collect();
    let error = |about: &Sent| {
        let quoted = &about.build()[14..];
        let payload = [&[1, 3, 0, 0, 0, 0, 0, 0][..], quoted].concat();
        Sent { payload, ..back(&ping(FAR)) }
    };
    let reply =
        Sent { payload: [&[129][..], &ping(FAR).payload[1..]].concat(), ..back(&ping(FAR)) };
    let (udp, ping) = (to(FAR), ping(FAR));
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<(usize, Sent)>, Vec<&str>)> = vec![
        ("UDP", vec![(1, udp.clone()), (1, udp.clone()), (2, back(&udp)), (1, udp.clone())], vec!["new", "new", "established", "established"]),
        ("TCP", vec![(1, tcp(FAR, 2, 9, 0)), (2, summed(back(&tcp(FAR, 0x12, 99, 10)))), (1, tcp(FAR, 0x10, 10, 100)),
            (1, tcp(FAR, 0x10, 0x7000_0000, 100))], vec!["new", "established", "established", "invalid"]),
        ("echo", vec![(1, ping.clone()), (2, reply.clone()), (1, ping.clone())], vec!["new", "established", "established"]),
        ("a reply alone", vec![(2, reply.clone())], vec!["invalid"]),
        ("an error", vec![(1, udp.clone()), (2, error(&udp))], vec!["new", "related"]),
        ("an error about nothing", vec![(2, error(&udp))], vec!["invalid"]),
        ("another protocol", vec![(1, Sent { next_header: 99, ..udp.clone() }), (2, Sent { next_header: 99, ..back(&udp) })], vec!["new", "established"]),
        ("damaged", vec![(1, { let mut sent = tcp(FAR, 2, 9, 0); sent.payload[16] ^= 1; sent })], vec!["invalid"]),
        ("cut short", vec![(1, Sent { next_header: 6, payload: vec![0; 7], ..udp.clone() })], vec!["invalid"]),
    ];
    for (what, sent, expected) in cases {
        for reference in [false, true] {
            let mut rig = rig(&format!("{FILTER}\n{}", rules.join("\n")));
            rig.router.set_reference(reference);
            let mut was = vec![0; 5];
            for (n, (port, packet)) in sent.iter().enumerate() {
                assert_eq!(
                    rig.pass(*port, &packet.build()).len(),
                    1,
                    "{what} {n}: {:?}",
                    discards(&rig)
                );
                let counts = counted(&mut rig, FILTER);
                let now = (0..5).find(|&n| counts[n] != was[n]).map(|n| states[n]);
                assert_eq!(now, Some(expected[n]), "{what} {n}");
                was = counts;
            }
            assert!(rig.router.frames().balance(), "{what}");
        }
    }
}

/// What neighbours say to each other begins no connection, and `print` shows what does.
#[test]
fn connections_are_shown_and_end() {
    let mut rig = rig("/ipv6 firewall filter add chain=forward action=accept");
    assert_eq!(rig.router.connections6().len(), 0, "neighbours were discovered");
    rig.pass(1, &to(FAR).build());
    rig.pass(2, &back(&to(FAR)).build());
    rig.pass(1, &ping(FAR).build());
    let shown = rig.run("/ipv6 firewall connection print detail");
    for part in ["[2001:db8:1::a]:1000", "[2001:db8:2::b]:2000", "icmp-type=128", "protocol=udp"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(rig.run("/ip firewall connection print count-only").trim(), "0");
    assert_eq!(rig.router.connections6().len(), 2);
    rig.run("/ipv6 firewall connection remove [find protocol=udp]");
    assert_eq!(rig.router.connections6().len(), 1);
    rig.wait(Duration::from_secs(15));
    assert_eq!(rig.router.connections6().len(), 0, "an echo's lasts ten seconds");
    let per = wire_bytes(&rig);
    assert!(per <= 416, "{per} bytes a connection");
}

/// Bytes of a connection of IPv6: two flows, what they share, and their places in an index half full.
fn wire_bytes(_: &Rig) -> usize {
    use router::firewall::connection::{Connection, Flow};
    2 * size_of::<Flow<u128>>() + size_of::<Connection>() + 2 * 16
}

/// Both hosts ask for the router again, which has given them up.
fn known_again(rig: &mut Rig) {
    (1..=2).for_each(|port| drop(rig.take(port)));
    introduce(rig, 1, 1, "2001:db8:1::a", "2001:db8:1::1");
    introduce(rig, 2, 2, "2001:db8:2::b", "2001:db8:2::1");
}

/// The pieces of a packet of this payload.
fn pieces(sent: &Sent, lengths: &[usize]) -> Vec<Sent> {
    let mut at = 0;
    let piece = |&len: &usize| {
        let more = u16::from(at + len < sent.payload.len());
        let mut payload = vec![sent.next_header, 0];
        payload.extend((at as u16 | more).to_be_bytes());
        payload.extend([0, 0, 0, 77]);
        payload.extend(&sent.payload[at..at + len]);
        at += len;
        Sent { next_header: header::FRAGMENT, payload, ..sent.clone() }
    };
    lengths.iter().map(piece).collect()
}

/// Pieces are collected for tracking and the filter's ports, and leave as they came.
#[test]
fn fragments() {
    let mut udp = to(FAR);
    udp.payload = [vec![0x03, 0xe8, 0x07, 0xd0, 0, 108, 0, 0], vec![7; 100]].concat();
    for (rule, passes) in [("dst-port=2000", 2), ("dst-port=!2000", 0)] {
        for order in [[0, 1], [1, 0]] {
            let mut rig = rig(&format!(
                "{FILTER} add chain=forward protocol=udp {rule} action=accept
                 {FILTER} add chain=forward action=drop"
            ));
            let pieces = pieces(&udp, &[48, 60]);
            assert_eq!(rig.pass(1, &pieces[order[0]].build()), [], "the rest is waited for");
            let out = rig.pass(1, &pieces[order[1]].build());
            assert_eq!(out.len(), passes, "{rule}: {:?}", discards(&rig));
            for ((port, frame), piece) in out.iter().zip(&pieces) {
                let want =
                    Sent { src_mac: own_mac(2), dst_mac: mac(2), hop_limit: 63, ..piece.clone() };
                assert_eq!((*port, frame), (2, &want.build()));
            }
            assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
        }
    }
    // RFC 5722: pieces that overlap are all dropped; RFC 8200 §4.5: what is not complete in a minute.
    let mut rig = rig("/ip firewall connection tracking set enabled=yes");
    let [first, mut second] = <[Sent; 2]>::try_from(pieces(&udp, &[48, 60])).ok().unwrap();
    second.payload[2..4].copy_from_slice(&40u16.to_be_bytes());
    assert_eq!(rig.pass(1, &first.build()), []);
    assert_eq!(rig.pass(1, &second.build()), []);
    assert_eq!(discards(&rig), [("bad-fragment", 2)]);
    rig.pass(1, &first.build());
    rig.wait(Duration::from_secs(58));
    known_again(&mut rig);
    rig.wait(Duration::from_secs(4));
    let told = rig.take(1);
    assert_eq!(discards(&rig)[0], ("reassembly-timeout", 1));
    assert!(told.iter().any(|frame| frame[54..56] == [3, 1]), "its sender is told");
    // A ping in pieces is answered in pieces.
    let mut long = ping(OWN);
    long.payload.extend([5; 93]);
    wire::icmpv6::fill_checksum(long.src, long.dst, &mut long.payload);
    let pieces = pieces(&long, &[48, 56]);
    rig.pass(1, &pieces[0].build());
    let out = rig.pass(1, &pieces[1].build());
    assert_eq!(out.len(), 2, "{:?}", discards(&rig));
    let whole: Vec<u8> = out.iter().flat_map(|(_, frame)| frame[62..].to_vec()).collect();
    let packet = Ipv6::new(&out[0].1[14..]).unwrap();
    assert_eq!((packet.src(), packet.dst(), whole[0]), (ip6(OWN), long.src, kind::ECHO_REPLY));
    assert!(wire::icmpv6::is_intact(packet.src(), packet.dst(), &whole));
    assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
}

/// Rules, a packet, and what of it comes out: its class, its hop limit, its MSS; or why it does not.
#[test]
fn raw_and_mangle() {
    let (raw, mangle) = ("/ipv6 firewall raw add chain=prerouting", "/ipv6 firewall mangle add");
    let mut syn = tcp(FAR, 2, 9, 0);
    syn.payload.extend([2, 4, 5, 0xa0]);
    syn.payload[12] = 0x60;
    let syn = summed(syn);
    let hop = |next: u8, payload: &Sent| {
        let payload = [&[next, 0, 1, 4, 0, 0, 0, 0][..], &payload.payload].concat();
        Sent { next_header: header::HOP_BY_HOP, payload, ..to(FAR) }
    };
    #[rustfmt::skip]
    let cases: Vec<(String, Sent, Result<(u8, u8), &str>)> = vec![
        (format!("{raw} action=drop"), to(FAR), Err("raw-drop")),
        (format!("{raw} action=drop src-address=2001:db8:1::/64 protocol=udp dst-port=2001"), to(FAR), Ok((0, 63))),
        (format!("{raw} action=notrack
                  {FILTER} add chain=forward connection-state=untracked action=drop"), to(FAR), Err("filter-drop")),
        (format!("{mangle} chain=prerouting action=change-hop-limit new-hop-limit=set:9"), to(FAR), Ok((0, 8))),
        (format!("{mangle} chain=forward action=change-hop-limit new-hop-limit=increment:5"), to(FAR), Ok((0, 68))),
        (format!("{mangle} chain=postrouting action=change-dscp new-dscp=46"), to(FAR), Ok((0xb8, 63))),
        (format!("{mangle} chain=prerouting action=change-dscp new-dscp=46
                  {FILTER} add chain=forward dscp=46 action=drop"), to(FAR), Err("filter-drop")),
        (format!("{mangle} chain=forward action=change-mss protocol=tcp tcp-flags=syn new-mss=clamp-to-pmtu"), syn, Ok((0, 63))),
        (format!("{mangle} chain=prerouting action=mark-packet new-packet-mark=six
                  {FILTER} add chain=forward packet-mark=six action=drop"), to(FAR), Err("filter-drop")),
        (format!("{mangle} chain=prerouting action=mark-connection new-connection-mark=six
                  {FILTER} add chain=forward connection-mark=six action=drop"), to(FAR), Err("filter-drop")),
        (format!("{FILTER} add chain=forward headers=hop:contains action=drop"), hop(17, &to(FAR)), Err("filter-drop")),
        (format!("{FILTER} add chain=forward headers=hop action=drop"), hop(17, &to(FAR)), Ok((0, 63))),
        (format!("{FILTER} add chain=forward headers=hop,proto:exact action=drop"), hop(17, &to(FAR)), Err("filter-drop")),
        (format!("{FILTER} add chain=forward headers=proto action=drop"), to(FAR), Err("filter-drop")),
        (format!("{FILTER} add chain=forward connection-bytes=0-51 action=drop"), to(FAR), Ok((0, 63))),
        (format!("{FILTER} add chain=forward connection-bytes=52-0 action=drop"), to(FAR), Err("filter-drop")),
    ];
    for (script, sent, expected) in cases {
        for reference in [false, true] {
            // Neighbours are discovered before there are rules.
            let mut rig = rig(&script.replace("chain=", "disabled=yes chain="));
            for menu in ["raw", "mangle", "filter"] {
                rig.run(&format!("/ipv6 firewall {menu} enable [find]"));
            }
            rig.router.set_reference(reference);
            let out = rig.pass(1, &sent.build());
            let became = match &out[..] {
                [(2, frame)] => {
                    let packet = Ipv6::new(&frame[14..]).unwrap();
                    if sent.next_header == protocol::TCP {
                        let (src, dst) = (packet.src().octets(), packet.dst().octets());
                        let sum = Sum::pseudo_ipv6(src, dst, 6, 24).bytes(packet.payload());
                        assert!(sum.is_ok() && packet.payload()[22..] == [4, 0xd8], "1300 - 60");
                    }
                    Ok((packet.traffic_class(), packet.hop_limit()))
                }
                _ => Err(discards(&rig)[0].0),
            };
            assert_eq!(became, expected, "{script}");
            assert!(rig.router.frames().balance(), "{script}");
        }
    }
}

/// A rule fills a list, another one asks it; entries end.
#[test]
fn lists_that_rules_fill() {
    let mut rig = rig("/ipv6 firewall filter
        add chain=forward src-address-list=seen action=drop
        add chain=forward protocol=udp dst-port=2000 action=add-src-to-address-list address-list=seen \\
        address-list-timeout=10s");
    let passes = |rig: &mut Rig| {
        let out = rig.pass(1, &to(FAR).build());
        out.iter().filter(|(port, frame)| *port == 2 && frame[20] == protocol::UDP).count()
    };
    assert_eq!(passes(&mut rig), 1);
    assert_eq!(passes(&mut rig), 0);
    let shown = rig.run("/ipv6 firewall address-list print");
    assert!(shown.contains("2001:db8:1::a"), "{shown}");
    rig.wait(Duration::from_secs(12));
    known_again(&mut rig);
    assert_eq!(passes(&mut rig), 1);
    rig.run("/ipv6 firewall address-list remove [find dynamic]");
    rig.run("/ipv6 firewall address-list add list=seen address=2001:db8:1::/64 timeout=1m");
    assert_eq!(passes(&mut rig), 0);
    rig.run("/ipv6 firewall address-list remove [find list=seen]");
    assert_eq!(passes(&mut rig), 1);
}

/// The quick ways: what goes them is counted as what it is, and as the slow path would.
#[test]
fn quick_ways() {
    let long = |rig: &mut Rig, n: usize| {
        for _ in 0..n {
            assert_eq!(rig.pass(1, &to(FAR).build()).len(), 1, "{:?}", discards(rig));
            assert_eq!(rig.pass(2, &back(&to(FAR)).build()).len(), 1, "{:?}", discards(rig));
        }
    };
    // FastPath: nothing to ask but the FIB.
    let mut rig = rig("");
    long(&mut rig, 5);
    let paths = rig.router.path_counts();
    assert_eq!((paths.ipv6_fast_path.packets, paths.ipv6_fast_path.bytes), (10, 520));
    assert_eq!(paths.ipv4_fast_path.packets, 0);
    // Recipes: with rules and tracking.
    let mut rig = crate::ipv6::rig(DEFAULT);
    rig.run("/interface list member add list=LAN interface=ether1");
    long(&mut rig, 10);
    assert!(rig.router.path_counts().replayed >= 12, "{:?}", rig.router.path_counts());
    assert_eq!(counted(&mut rig, FILTER)[10], 19, "all but the first are established");
    assert_eq!(rig.router.path_counts().ipv6_fasttrack.packets, 0);
    // FastTrack.
    let mut rig = crate::ipv6::rig(
        "/ipv6 firewall filter
        add chain=forward connection-state=established,related action=fasttrack-connection
        add chain=forward connection-state=established,related action=accept",
    );
    long(&mut rig, 10);
    let fasttracked = rig.router.path_counts().ipv6_fasttrack.packets;
    assert!((15..20).contains(&fasttracked), "{fasttracked}");
    let shown = rig.run("/ipv6 settings print");
    assert!(shown.contains("ipv6-fasttrack-active: yes"), "{shown}");
    let shown = rig.run("/ipv6 firewall filter print");
    assert!(shown.contains("special dummy rule"), "{shown}");
}

/// Rules that count by addresses: 20 connections of four hosts, five each to as many ports, and how many
/// of their packets a rule has.
#[test]
fn matchers_by_address() {
    let from = |host: u16, port: u16| Sent {
        src: ip6(&format!("2001:db8:1::{host:x}")),
        ..udp(FAR, port)
    };
    let all: Vec<Sent> =
        (0x101..=0x104).flat_map(|host| (1..=5).map(move |port| from(host, port))).collect();
    for (matchers, expected) in [
        (&["connection-limit=5,128"][..], vec![0]),
        (&["connection-limit=4,128"], vec![4]),
        (&["connection-limit=12,64"], vec![8]),
        (&["connection-limit=!12,64"], vec![12]),
        (&["dst-limit=1/1s,3,dst-address"], vec![3]),
        (&["dst-limit=1/1s,3,src-address"], vec![12]),
        (&["dst-limit=1/1s,1,dst-address-and-port"], vec![5]),
        (
            &[
                "per-connection-classifier=dst-address:2/0",
                "per-connection-classifier=dst-address:2/1",
            ],
            vec![0, 20],
        ),
        (&["dst-address-type=unicast"], vec![20]),
        (&["dst-address-type=local,multicast"], vec![0]),
        (&["routing-table=main"], vec![20]),
        (&["routing-table=!main"], vec![0]),
        (&["routing-table=nobodys"], vec![0]),
        (&["src-address-type=!unicast"], vec![0]),
        (&["connection-rate=0-1"], vec![20]),
        (&["connection-rate=1-0"], vec![0]),
    ] {
        let rules = matchers
            .iter()
            .map(|matcher| format!("{FILTER} add chain=forward {matcher} action=passthrough"));
        let mut rig = rig(&rules.collect::<Vec<_>>().join("\n"));
        for sent in &all {
            assert_eq!(rig.pass(1, &sent.build()).len(), 1, "{matchers:?}");
        }
        let mut counts = counted(&mut rig, FILTER);
        counts.sort_unstable();
        assert_eq!(counts, expected, "{matchers:?}");
    }
    // Shares of connections: each is in one, and none is empty.
    let shares = (0..3).map(|n| {
        let classifier = format!("per-connection-classifier=both-addresses-and-ports:3/{n}");
        format!("{FILTER} add chain=forward {classifier} action=passthrough")
    });
    let mut rig = rig(&shares.collect::<Vec<_>>().join("\n"));
    for sent in all.iter().chain(&all) {
        rig.pass(1, &sent.build());
    }
    let counts = counted(&mut rig, FILTER);
    assert!(
        counts.iter().sum::<u64>() == 40 && counts.iter().all(|n| *n > 0 && n % 2 == 0),
        "{counts:?}"
    );
}

/// Packets that mangle marks ask the table of their mark first, and main where that has no route.
#[test]
fn routing_marks_choose_a_table() {
    let script = "/ipv6 route
add dst-address=2001:db8:a::/48 gateway=2001:db8:2::b
add dst-address=2001:db8:a::/48 gateway=2001:db8:1::a routing-table=other
add dst-address=::/0 type=blackhole routing-table=none-such
/ipv6 firewall mangle
add chain=prerouting protocol=udp dst-port=7 action=mark-routing new-routing-mark=other
add chain=prerouting protocol=udp dst-port=8 action=mark-routing new-routing-mark=none-such
add chain=prerouting protocol=udp dst-port=9 action=mark-routing new-routing-mark=empty
/ipv6 firewall filter
add chain=forward routing-mark=other action=passthrough";
    let (far, next) = ("2001:db8:a::1", "2001:db8:2::b");
    for reference in [false, true] {
        let mut rig = rig(script);
        rig.router.set_reference(reference);
        for (what, sent, port) in [
            ("unmarked", udp(far, 6), Some(2)),
            ("marked", udp(far, 7), Some(1)),
            ("marked, not in the table", udp(next, 7), Some(2)),
            ("a table that ends everything", udp(far, 8), None),
            ("but not what is for the router", udp(OWN, 8), Some(1)),
            ("a table without routes", udp(far, 9), Some(2)),
        ] {
            for again in 0..3 {
                let out = rig.pass(1, &sent.build());
                let ports: Vec<usize> = out.iter().map(|(port, _)| *port).collect();
                assert!(
                    ports.iter().eq(&port),
                    "{what}, {again}: {ports:?} {:?} {:?}",
                    discards(&rig),
                    rig.router.frames()
                );
            }
        }
        assert_eq!(counted(&mut rig, FILTER), [6], "3 marked, 3 not in the table");
        let shown = rig.run("/ipv6 route print where routing-table=other");
        assert!(shown.contains("2001:db8:a::/48"), "{shown}");
        rig.run("/ipv6 route remove [find routing-table=other]");
        assert_eq!(rig.pass(1, &udp(far, 7).build())[0].0, 2, "main again");
    }
}
