//! Translations: what is chosen, and frames before and after.

use super::*;
use crate::discard::Discard;
use crate::firewall::connection::{Connections, Flags, FlowId, New};
use crate::packet::ConnectionState::{Established, Related};
use proptest::prelude::*;
use std::collections::HashSet;
use wire::craft::{self, Body, Frame, ip};
use wire::icmp::IcmpHeader;
use wire::layers::{self, Layers, protocol};
use wire::tcp::TcpHeader;
use wire::{FiveTuple, Ipv4Range, Moment, checksum};

const CLIENT: u32 = ip(10, 0, 0, 2);
const PUBLIC: u32 = ip(203, 0, 113, 1);
const SERVER: u32 = ip(192, 0, 2, 1);
const INSIDE: u32 = ip(10, 0, 0, 9);

fn udp(src: u32, src_port: u16, dst: u32, dst_port: u16) -> FiveTuple {
    FiveTuple { src, dst, src_port, dst_port, protocol: protocol::UDP }
}

fn source(first: u32, last: u32, ports: Option<(u16, u16)>) -> NatTarget {
    NatTarget::new(NatKind::Source, Ipv4Range::new(first, last), ports)
}

fn destination(address: u32, ports: Option<(u16, u16)>) -> NatTarget {
    let addresses = Ipv4Range::new(address, address);
    NatTarget::new(NatKind::Destination, addresses, ports)
}

/// A first packet: the rules' targets in their order, then what every connection needs.
fn bind(
    connections: &mut Connections,
    tuple: FiveTuple,
    targets: &[NatTarget],
) -> Result<FlowId, Discard> {
    let mut new = New::udp(tuple);
    for target in targets {
        connections.translate(&mut new, target)?;
    }
    connections.settle(&mut new)?;
    connections.confirm(&new, Moment::ZERO)
}

#[test]
fn ports_are_kept_or_stay_in_their_class() {
    let masquerade = source(PUBLIC, PUBLIC, None);
    for (port, class) in
        [(53, 1..=511), (600, 600..=1023), (1023, 600..=1023), (5000, 1024..=65535)]
    {
        let mut connections = Connections::new(16);
        let mut seen = HashSet::new();
        for host in 0..5 {
            let tuple = udp(CLIENT + host, port, SERVER, 53);
            let flow = bind(&mut connections, tuple, &[masquerade]).unwrap();
            let flow = connections.flow(flow);
            assert_eq!(flow.new_src, PUBLIC);
            assert_eq!(host == 0, flow.new_src_port == port, "the first one keeps {port}");
            assert!(class.contains(&flow.new_src_port), "{port} became {}", flow.new_src_port);
            assert!(seen.insert(flow.new_src_port));
        }
        // Towards another server all ports are free again.
        let flow = bind(&mut connections, udp(CLIENT + 4, port, SERVER + 1, 53), &[masquerade]);
        assert_eq!(connections.flow(flow.unwrap()).new_src_port, port);
    }
}

#[test]
fn ports_run_out_and_come_back() {
    let target = source(PUBLIC, PUBLIC, Some((2000, 2009)));
    let mut connections = Connections::new(64);
    let tuple = |port| udp(CLIENT, port, SERVER, 53);
    let flows: Vec<_> =
        (1..=10).map(|port| bind(&mut connections, tuple(port), &[target]).unwrap()).collect();
    let ports: HashSet<_> = flows.iter().map(|&flow| connections.flow(flow).new_src_port).collect();
    assert_eq!(ports, (2000..=2009).collect());
    for _ in 0..2 {
        let refused = bind(&mut connections, tuple(11), &[target]);
        assert_eq!(refused, Err(Discard::NatPortsExhausted));
    }
    assert_eq!((connections.counts.ports_exhausted, connections.len()), (2, 10));
    connections.remove(connections.flow(flows[3]).connection);
    assert!(bind(&mut connections, tuple(11), &[target]).is_ok());
    // A second address has ports of its own.
    let two = source(PUBLIC, PUBLIC + 1, Some((2000, 2009)));
    assert!((20..30).all(|port| bind(&mut connections, tuple(port), &[two]).is_ok()));
    assert!(bind(&mut connections, tuple(30), &[two]).is_err());
}

/// Hosts like to begin with the same port, and many ask the same server.
#[test]
fn many_hosts_with_one_port() {
    let masquerade = source(PUBLIC, PUBLIC, None);
    let tries = std::cell::Cell::new(0);
    let mut taken = HashSet::new();
    for host in 0..20_000 {
        let tuple = udp(CLIENT + host, 5000, SERVER, 53);
        let look = |tuple: &FiveTuple| {
            tries.set(tries.get() + 1);
            taken.contains(tuple)
        };
        let chosen = choose::choose(tuple, &masquerade, look).expect("a port");
        taken.insert(chosen);
    }
    // A third of all ports: the own one, and one and a half of the others, on average less.
    assert!(tries.get() < 20_000 * 5 / 2, "{} tries", tries.get());
}

#[test]
fn a_host_keeps_its_address_out_of_many() {
    let target = source(PUBLIC, PUBLIC + 200, None);
    let mut connections = Connections::new(4096);
    let mut addresses = HashSet::new();
    for host in 0..100 {
        let [a, b] = [53, 80].map(|port| {
            let tuple = udp(CLIENT + host, 5000, SERVER, port);
            let flow = bind(&mut connections, tuple, &[target]).unwrap();
            connections.flow(flow).new_src
        });
        assert_eq!(a, b, "RFC 4787 REQ-2");
        addresses.insert(a);
    }
    assert!(addresses.len() > 60, "hosts spread over {} addresses", addresses.len());
}

#[test]
fn destinations_and_hairpin() {
    let cases = [
        ("port forward", Some((8080, 8080)), 8080..=8080),
        ("a range that holds the port", Some((1, 100)), 80..=80),
        ("a range that does not", Some((100, 200)), 100..=200),
        ("the port stays", None, 80..=80),
    ];
    for (name, ports, expected) in cases {
        let mut connections = Connections::new(8);
        let there = udp(SERVER, 5000, PUBLIC, 80);
        let flow = bind(&mut connections, there, &[destination(INSIDE, ports)]).unwrap();
        let flow = *connections.flow(flow);
        assert_eq!((flow.new_dst, flow.new_src, flow.new_src_port), (INSIDE, SERVER, 5000));
        assert!(expected.contains(&flow.new_dst_port), "{name}: {}", flow.new_dst_port);
    }
    // A client inside asks the public address for the server inside, and both are translated.
    let mut connections = Connections::new(8);
    let there = udp(CLIENT, 5000, PUBLIC, 80);
    let targets = [destination(INSIDE, None), source(ip(10, 0, 0, 1), ip(10, 0, 0, 1), None)];
    let flow = bind(&mut connections, there, &targets).unwrap();
    let id = connections.flow(flow).connection;
    let entry = connections.entry(id, Moment::ZERO).unwrap();
    assert_eq!(entry.flags.to_string(), "Csd");
    assert_eq!(entry.reply, udp(INSIDE, 80, ip(10, 0, 0, 1), 5000));
    let reply = connections.flows().find(entry.reply.hash(), &entry.reply).unwrap();
    let reply = connections.flow(reply);
    assert_eq!(reply.translated(), there.reversed());
    // In two steps, as the packet flow has them.
    let before_routing = reply.translate_destination(entry.reply);
    assert_eq!(before_routing, udp(INSIDE, 80, CLIENT, 5000));
    assert_eq!(reply.translate_source(before_routing), there.reversed());
}

#[test]
fn without_a_rule_a_clash_moves_the_port() {
    let mut connections = Connections::new(8);
    // Both reach the server inside as 192.0.2.1:5000, one by the public address.
    bind(&mut connections, udp(SERVER, 5000, PUBLIC, 80), &[destination(INSIDE, None)]).unwrap();
    let flow = bind(&mut connections, udp(SERVER, 5000, INSIDE, 80), &[]).unwrap();
    let flow = *connections.flow(flow);
    assert_eq!((flow.new_src, flow.new_dst, flow.new_dst_port), (SERVER, INSIDE, 80));
    assert_ne!(flow.new_src_port, 5000);
    let flags = connections.get(flow.connection).unwrap().flags();
    assert!(flags.has(Flags::SRCNAT) && !flags.has(Flags::DSTNAT));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever is bound: every tuple, original or reply, belongs to one connection, and the
    /// rules' ranges hold.
    #[test]
    fn replies_are_told_apart(binds in prop::collection::vec(
        (0u32..4, 1u16..6, 0u32..3, prop::option::of((0u32..3, 0u16..4)), 0u8..3, any::<bool>()),
        0..120,
    )) {
        let mut connections = Connections::new(256);
        let mut tuples = HashSet::new();
        for (host, port, server, target, dst, icmp) in binds {
            let mut tuple = udp(CLIENT + host, port, SERVER + server, 53);
            if icmp {
                tuple = FiveTuple { protocol: protocol::ICMP, dst_port: port, ..tuple };
            }
            let known = connections.flows().find(tuple.hash(), &tuple).is_some();
            let mut targets = Vec::new();
            if dst == 1 {
                targets.push(destination(SERVER, Some((53, 54))));
            }
            if let Some((addresses, ports)) = target {
                targets.push(source(PUBLIC, PUBLIC + addresses, Some((1, 1 + ports))));
            }
            match bind(&mut connections, tuple, &targets) {
                Err(Discard::ConnectionClash) => prop_assert!(known),
                Err(why) => prop_assert_eq!(why, Discard::NatPortsExhausted),
                Ok(flow) => {
                    let flow = *connections.flow(flow);
                    prop_assert!(tuples.insert(tuple), "{:?}", tuple);
                    let reply = flow.translated().reversed();
                    prop_assert!(tuples.insert(reply), "{:?}", reply);
                    let back = connections.flows().find(reply.hash(), &reply).unwrap();
                    prop_assert_eq!(connections.flow(back).translated(), tuple.reversed());
                }
            }
        }
        prop_assert_eq!(connections.flows().len(), tuples.len());
    }
}

/// A frame of any kind, with a payload.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let ports = (any::<u16>(), any::<u16>());
    let payload = prop::collection::vec(any::<u8>(), 0..60);
    (0u8..4, ports, any::<[u32; 2]>(), payload, any::<u32>(), any::<bool>()).prop_map(
        |(kind, (src_port, dst_port), [src, dst], payload, seq, options)| {
            let header = TcpHeader { src_port, dst_port, seq, ..TcpHeader::default() };
            let body = match kind {
                0 => Body::Udp { src_port, dst_port },
                1 => Body::Tcp { header, options: &[] },
                2 => Body::Icmp(IcmpHeader::echo_request(src_port, dst_port)),
                _ => Body::Ip { protocol: 47 },
            };
            let options: &[u8] = if options { &[7, 4, 4, 0] } else { &[] };
            Frame { src, dst, body, payload: &payload, options, ..Frame::default() }.build()
        },
    )
}

/// Every checksum of a frame, computed afresh.
fn sums_are_right(frame: &[u8]) -> bool {
    let layers = layers::parse(frame).unwrap();
    let FiveTuple { src, dst, protocol, .. } = layers.tuple;
    let (l3, l4, end) = (layers.l3 as usize, layers.l4 as usize, layers.l3_end as usize);
    let header_len = usize::from(frame[l3] & 15) * 4;
    checksum::is_ok(&frame[l3..l3 + header_len])
        && match protocol {
            protocol::TCP => checksum::tcp_ok(src, dst, &frame[l4..end]),
            protocol::UDP => checksum::udp_ok(src, dst, &frame[l4..end]),
            protocol::ICMP => checksum::is_ok(&frame[l4..end]),
            _ => true,
        }
}

/// The tuple given, as far as a frame of these layers has its parts.
fn as_far_as_there(new: FiveTuple, layers: &Layers) -> FiveTuple {
    let FiveTuple { src_port, dst_port, protocol, .. } = layers.tuple;
    match protocol {
        protocol::TCP | protocol::UDP => FiveTuple { protocol, ..new },
        protocol::ICMP => FiveTuple { protocol, dst_port: new.src_port, ..new },
        _ => FiveTuple { protocol, src_port, dst_port, ..new },
    }
}

fn any_tuple() -> impl Strategy<Value = FiveTuple> {
    any::<(u32, u32, u16, u16)>().prop_map(|(src, dst, sp, dp)| udp(src, sp, dst, dp))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn after_rewriting_all_sums_are_right(mut frame in any_frame(), new in any_tuple()) {
        prop_assert!(sums_are_right(&frame));
        let original = frame.clone();
        let mut layers = layers::parse(&frame).unwrap();
        let new = as_far_as_there(new, &layers);
        let old = layers.tuple;
        rewrite(&mut frame, &mut layers, &new);
        prop_assert!(sums_are_right(&frame));
        prop_assert_eq!(layers, layers::parse(&frame).unwrap());
        prop_assert_eq!(layers.tuple, new);
        rewrite(&mut frame, &mut layers, &old);
        prop_assert_eq!(frame, original);
    }

    /// Damage stays damage: checksums are updated, not made right.
    #[test]
    fn damage_is_not_hidden(mut frame in any_frame(), new in any_tuple(), at in 34usize..60) {
        let mut layers = layers::parse(&frame).unwrap();
        let damaged = usize::from(layers.l4) + 8 <= at && at < usize::from(layers.l3_end);
        prop_assume!(damaged && layers.l4 != 0);
        frame[at] ^= 0x40;
        prop_assume!(layers::parse(&frame) == Ok(layers));
        let new = as_far_as_there(new, &layers);
        rewrite(&mut frame, &mut layers, &new);
        prop_assert!(!sums_are_right(&frame));
    }

    #[test]
    fn quoted_packets_too(
        quoted in any_frame(), new in any_tuple(), outer in any_tuple(), cut in 0usize..80,
    ) {
        let inside = layers::parse(&quoted).unwrap();
        let header_len = usize::from(quoted[14] & 15) * 4;
        let len = (header_len + 8 + cut).min(usize::from(inside.l3_end - inside.l3));
        let body = Body::Icmp(IcmpHeader::unreachable(1));
        let error = Frame { body, payload: &quoted[14..14 + len], ..Frame::default() };
        let mut frame = error.build();
        let original = frame.clone();
        let mut layers = layers::parse(&frame).unwrap();
        let new = as_far_as_there(new, &inside);
        rewrite_quoted(&mut frame, &layers, &new);
        rewrite(&mut frame, &mut layers, &outer);
        prop_assert!(sums_are_right(&frame));
        let at = usize::from(layers.l4) + 8;
        let now = layers::quoted(&frame[at..usize::from(layers.l3_end)]).unwrap();
        prop_assert_eq!(now.tuple, if inside.l4 == 0 { FiveTuple { src_port: 0, dst_port: 0, ..new } } else { new });
        prop_assert!(checksum::is_ok(&frame[at..at + header_len]), "the quoted header's sum");
        if len == usize::from(inside.l3_end - inside.l3) {
            let whole = [&quoted[..14], &frame[at..at + len]].concat();
            prop_assert!(sums_are_right(&whole), "the quoted packet's own sum");
        }
        rewrite_quoted(&mut frame, &layers, &inside.tuple);
        rewrite(&mut frame, &mut layers, &FiveTuple { src: error.src, dst: error.dst, ..outer });
        prop_assert_eq!(frame, original);
    }

    #[test]
    fn any_bytes_do_no_harm(
        mut frame in prop::collection::vec(any::<u8>(), 0..120),
        offsets: [u16; 3], protocol: u8, new in any_tuple(),
    ) {
        // Even layers that are not the frame's.
        let [l3, l4, l3_end] = offsets.map(|o| o % 160);
        let layers = Layers { l3, l4, l3_end, protocol, ..Layers::default() };
        rewrite_quoted(&mut frame, &layers, &new);
        rewrite(&mut frame, &mut layers.clone(), &new);
    }
}

#[test]
fn no_udp_checksum_stays_none() {
    let mut frame = craft::udp(CLIENT, 1, SERVER, 2).build();
    frame[40..42].fill(0);
    let mut layers = layers::parse(&frame).unwrap();
    rewrite(&mut frame, &mut layers, &udp(PUBLIC, 7, SERVER, 2));
    assert_eq!(frame[40..42], [0, 0]);
}

/// RFC 5508 §4: an error about a translated packet comes back to whoever sent it, about the
/// packet he knows.
#[test]
fn an_error_finds_its_way_back() {
    let router_on_the_way = ip(198, 51, 100, 7);
    let mut connections = Connections::new(8);
    let there = udp(CLIENT, 5000, SERVER, 53);
    let masquerade = source(PUBLIC, PUBLIC, Some((2000, 2000)));
    let flow = bind(&mut connections, there, &[masquerade]).unwrap();
    let mut sent = craft::udp(CLIENT, 5000, SERVER, 53).build();
    let as_sent = sent.clone();
    let mut layers = layers::parse(&sent).unwrap();
    rewrite(&mut sent, &mut layers, &connections.flow(flow).translated());
    assert_eq!(layers.tuple, udp(PUBLIC, 2000, SERVER, 53));

    let body = Body::Icmp(IcmpHeader::time_exceeded());
    let payload = &sent[14..42];
    let mut error =
        Frame { src: router_on_the_way, dst: PUBLIC, body, payload, ..Frame::default() }.build();
    let mut layers = layers::parse(&error).unwrap();
    let tracking = connections.track(Moment::ZERO, &error, &layers);
    assert_eq!(tracking.state, Related);
    let along = *connections.flow(tracking.related.unwrap());
    rewrite_quoted(&mut error, &layers, &along.translated().reversed());
    let outer = along.translate_source(along.translate_destination(layers.tuple));
    rewrite(&mut error, &mut layers, &outer);
    assert_eq!((layers.tuple.src, layers.tuple.dst), (router_on_the_way, CLIENT));
    let l4 = usize::from(layers.l4);
    assert_eq!(error[l4 + 8..l4 + 36], as_sent[14..42], "the packet as the client sent it");
    assert!(sums_are_right(&error));
}

#[test]
fn pings_are_translated_by_identifier() {
    let mut connections = Connections::new(8);
    let masquerade = source(PUBLIC, PUBLIC, None);
    for (host, kept) in [(CLIENT, true), (CLIENT + 1, false)] {
        let mut ping = craft::ping(host, SERVER).build();
        let mut layers = layers::parse(&ping).unwrap();
        let mut new = connections.track(Moment::ZERO, &ping, &layers).new.unwrap();
        connections.translate(&mut new, &masquerade).unwrap();
        let flow = connections.confirm(&new, Moment::ZERO).unwrap();
        let out = connections.flow(flow).translate_source(layers.tuple);
        assert_eq!(out, connections.flow(flow).translated(), "one step or two");
        rewrite(&mut ping, &mut layers, &out);
        assert_eq!(layers.tuple.src_port == 1, kept, "both have identifier 1");
        let body = Body::Icmp(IcmpHeader::echo_reply(out.src_port, 1));
        let mut reply = Frame { src: SERVER, dst: PUBLIC, body, ..Frame::default() }.build();
        let mut layers = layers::parse(&reply).unwrap();
        let tracking = connections.track(Moment::ZERO, &reply, &layers);
        assert_eq!(tracking.state, Established);
        let back = connections.flow(tracking.flow.unwrap()).translate_destination(layers.tuple);
        rewrite(&mut reply, &mut layers, &back);
        assert_eq!((layers.tuple.dst, layers.tuple.src_port), (host, 1));
        assert!(sums_are_right(&reply));
    }
}

#[test]
fn netmap_keeps_the_place_and_same_looks_at_both_ends() {
    let tuple = |src, dst, src_port| FiveTuple {
        src,
        dst,
        src_port,
        dst_port: 80,
        protocol: protocol::TCP,
    };
    let netmap = |first, last, old| {
        let target = NatTarget { pick: Pick::Place, ..source(first, last, None) };
        choose::choose(tuple(old, 1, 1024), &target, |_| false).unwrap().src
    };
    let cases = [
        (0x0a09_0900, 0x0a09_09ff, 0x0a00_0117, 0x0a09_0917),
        (0x0a09_0000, 0x0a09_ffff, 0x0a00_0117, 0x0a09_0117),
        (0x0a09_0907, 0x0a09_0907, 0x0a00_0117, 0x0a09_0907),
        // .4 to .6 is in .4/30.
        (0x0a09_0904, 0x0a09_0906, 0x0a00_0117, 0x0a09_0907),
        (0, u32::MAX, 0x0a00_0117, 0x0a00_0117),
    ];
    for (first, last, old, want) in cases {
        assert_eq!(netmap(first, last, old), want, "{first:x}-{last:x}");
    }
    let pick = |pick, src, dst, port| {
        let target = NatTarget { pick, ..source(100, 163, None) };
        choose::choose(tuple(src, dst, port), &target, |_| false).unwrap().src
    };
    for src in 1..50 {
        for dst in 1..20 {
            assert_eq!(pick(Pick::Host, src, dst, 1024), pick(Pick::Host, src, 1, 2000));
            assert_eq!(pick(Pick::Pair, src, dst, 1024), pick(Pick::Pair, src, dst, 2000));
        }
    }
    let all = (1..50).map(|dst| pick(Pick::Pair, 7, dst, 1024));
    let pairs: std::collections::BTreeSet<u32> = all.collect();
    assert!(pairs.len() > 10, "one host has many addresses: {pairs:?}");
}

#[test]
fn randomised_ports_are_free_ones_anywhere() {
    let tuple = FiveTuple { src: 1, dst: 2, src_port: 4000, dst_port: 80, protocol: protocol::UDP };
    let mut seen = std::collections::BTreeSet::new();
    for random in (0..1000u32).map(|n| n.wrapping_mul(0x9e37_79b1)) {
        let target = NatTarget { random: Some(random), ..source(9, 9, None) };
        let chosen =
            choose::choose(tuple, &target, |tuple| tuple.src_port.is_multiple_of(2)).unwrap();
        assert!(chosen.src_port >= 1024 && !chosen.src_port.is_multiple_of(2));
        seen.insert(chosen.src_port);
        let within = NatTarget { ports: Some((5000, 5009)), ..target };
        assert!(
            (5000..=5009).contains(&choose::choose(tuple, &within, |_| false).unwrap().src_port)
        );
    }
    assert!(seen.len() > 900, "{}", seen.len());
}
