//! States, what is refused, and a full table.

use super::*;
use crate::discard::Discard;
use crate::firewall::connection::flow::Kept;
use crate::packet::ConnectionState::{Established, Invalid, New as NewState, Related};
use wire::craft::{self, Body, Frame};
use wire::icmp::IcmpHeader;

const THERE: FiveTuple =
    FiveTuple { src: CLIENT, dst: SERVER, src_port: 5000, dst_port: 53, protocol: protocol::UDP };

#[test]
fn udp_becomes_established_then_assured() {
    let mut bench = Bench::new(8);
    let flags = |bench: &Bench, flow| bench.entry(flow).flags.to_string();
    let (state, flow) = bench.pass_udp(THERE);
    let flow = flow.unwrap();
    assert_eq!((state, flags(&bench, flow).as_str()), (NewState, "C"));
    assert_eq!(bench.pass_udp(THERE).0, NewState, "still no reply");
    let (state, reply) = bench.pass_udp(THERE.reversed());
    assert_eq!((state, flags(&bench, flow).as_str()), (Established, "SC"));
    assert_eq!(bench.connections.flow(flow).state(), Established, "for the next packet");
    assert_eq!(bench.pass_udp(THERE), (Established, Some(flow)));
    assert_eq!(flags(&bench, flow), "SAC");
    let (f, r) = (bench.connections.flow(flow), bench.connections.flow(reply.unwrap()));
    let (f, r) = (f.counted(), r.counted());
    assert_eq!((f.packets, f.bytes, r.packets, r.bytes), (3, 3 * 28, 1, 28));
}

#[test]
fn recipes_go_when_the_state_changes() {
    let mut bench = Bench::new(8);
    let flow = bench.pass_udp(THERE).1.unwrap();
    assert!(bench.connections.is_settled(flow), "one way traffic stays new");
    let kept = Kept::new(7, None);
    bench.connections.flow_mut(flow).keep(kept, 1);
    bench.pass_udp(THERE);
    assert_eq!(bench.connections.flow(flow).kept(), kept);
    let reply = bench.pass_udp(THERE.reversed()).1.unwrap();
    assert!(bench.connections.flow(flow).kept().is_none(), "new has become established");
    assert!(!bench.connections.is_settled(reply), "the next packet makes it assured");
    bench.pass_udp(THERE);
    assert!(bench.connections.is_settled(flow) && bench.connections.is_settled(reply));
}

#[test]
fn a_dropped_first_packet_leaves_nothing() {
    let mut bench = Bench::new(8);
    let frame = craft::udp(CLIENT, 1, SERVER, 2).build();
    let layers = layers::parse(&frame).unwrap();
    let tracking = bench.connections.track(bench.now, &frame, &layers);
    assert_eq!(tracking.state, NewState);
    assert!(tracking.new.is_some() && tracking.flow.is_none());
    assert!(bench.connections.is_empty() && bench.connections.flows().is_empty());
}

#[test]
fn what_begins_no_connection() {
    let udp = craft::udp(CLIENT, 1, SERVER, 2);
    let broken = |frame: Frame, at: usize| {
        let mut bytes = frame.build();
        bytes[14 + 20 + at] ^= 0x11;
        bytes
    };
    let icmp = |kind| {
        let header = IcmpHeader { kind, code: 0, rest: [0, 1, 0, 1] };
        Frame { body: Body::Icmp(header), payload: &[7; 40], ..udp }
    };
    let cases: &[(&str, Vec<u8>)] = &[
        ("UDP, wrong checksum", broken(Frame { payload: b"abcd", ..udp }, 9)),
        ("TCP, wrong checksum", broken(craft::tcp(CLIENT, 1, SERVER, 2, wire::TcpFlags::SYN), 4)),
        ("ping, wrong checksum", broken(craft::ping(CLIENT, SERVER), 7)),
        ("an echo reply nobody asked for", icmp(0).build()),
        ("a timestamp reply nobody asked for", icmp(14).build()),
        ("a router advertisement", icmp(9).build()),
        ("an error that quotes rubbish", icmp(3).build()),
        ("an error that quotes nothing", Frame { payload: &[], ..icmp(11) }.build()),
        ("a fragment", Frame { more_fragments: true, payload: &[0; 16], ..udp }.build()),
    ];
    for (name, frame) in cases {
        let mut bench = Bench::new(8);
        assert_eq!(bench.pass(frame), (Invalid, None), "{name}");
        assert!(bench.connections.is_empty(), "{name}");
        assert_eq!(bench.connections.counts.invalid, 1, "{name}");
    }
    let mut none = udp.build();
    none[14 + 20 + 6..][..2].fill(0);
    assert_eq!(Bench::new(8).pass(&none).0, NewState, "no UDP checksum at all is fine");
}

#[test]
fn damaged_packets_of_known_flows_pass() {
    let mut bench = Bench::new(8);
    bench.pass_udp(THERE);
    let mut frame = craft::udp(CLIENT, 5000, SERVER, 53).build();
    frame[14 + 20 + 6] ^= 1;
    assert_eq!(bench.pass(&frame).0, NewState);
    assert_eq!(bench.connections.counts.invalid, 0);
}

#[test]
fn ping_is_told_apart_by_identifier() {
    let mut bench = Bench::new(8);
    let ping = craft::ping(CLIENT, SERVER);
    let (state, flow) = bench.pass(&ping.build());
    assert_eq!(state, NewState);
    let reply = Body::Icmp(IcmpHeader::echo_reply(1, 1));
    let reply = Frame { src: SERVER, dst: CLIENT, body: reply, ..ping };
    assert_eq!(bench.pass(&reply.build()).0, Established);
    let other = Frame { body: Body::Icmp(IcmpHeader::echo_reply(2, 1)), ..reply };
    assert_eq!(bench.pass(&other.build()).0, Invalid);
    let flow = flow.unwrap();
    let entry = bench.entry(flow);
    assert_eq!((entry.icmp, entry.original.src_port), (Some((8, 0)), 1));
    assert!(!bench.connections.is_settled(flow), "ICMP keeps to the regular path");
}

#[test]
fn icmp_errors_are_related_to_what_they_quote() {
    let mut bench = Bench::new(8);
    let flow = bench.pass_udp(THERE).1.unwrap();
    let cause = craft::udp(CLIENT, 5000, SERVER, 53).build();
    let stranger = craft::udp(CLIENT, 5001, SERVER, 53).build();
    let error = |quoted: &[u8], header| {
        let body = Body::Icmp(header);
        Frame { src: SERVER, dst: CLIENT, body, payload: quoted, ..Frame::default() }.build()
    };
    let layers_of = |frame: &[u8]| layers::parse(frame).unwrap();
    for header in [IcmpHeader::unreachable(3), IcmpHeader::time_exceeded()] {
        let frame = error(&cause[14..], header);
        let tracking = bench.connections.track(bench.now, &frame, &layers_of(&frame));
        assert_eq!(tracking.state, Related, "{header:?}");
        let along = bench.connections.flow(tracking.related.unwrap());
        assert_eq!(along.direction(), Direction::Reply);
        assert_eq!(along.translated().reversed(), THERE, "what the quoted packet becomes");
    }
    let frame = error(&stranger[14..], IcmpHeader::unreachable(3));
    assert_eq!(bench.pass(&frame).0, Invalid, "about nobody's packet");
    let mut frame = error(&cause[14..], IcmpHeader::unreachable(3));
    frame[14 + 20 + 4] ^= 1;
    assert_eq!(bench.pass(&frame).0, Invalid, "wrong checksum");
    let entry = bench.entry(flow);
    assert_eq!((entry.counts[0].packets, entry.counts[1].packets), (1, 0), "errors do not count");
}

#[test]
fn a_datagram_in_pieces_is_judged_whole() {
    let payload: Vec<u8> = (0..3001).map(|i| i as u8).collect();
    let frame = Frame { payload: &payload, ..craft::udp(CLIENT, 1, SERVER, 2) }.build();
    let whole = layers::parse(&frame).unwrap();
    let cut = 14 + 20 + 1480;
    let first = layers::Layers { fragment: true, l3_end: cut as u16, ..whole };
    for damage in [false, true] {
        let mut frame = frame.clone();
        frame[2900] ^= u8::from(damage);
        let (a, b) = frame[cut..whole.l3_end.into()].split_at(1480);
        let mut bench = Bench::new(8);
        let len = whole.l3_end - whole.l3;
        let tracking = bench.connections.track_reassembled(bench.now, &frame, &first, len, [a, b]);
        assert_eq!(tracking.state, if damage { Invalid } else { NewState });
        if let Some(new) = tracking.new {
            let flow = bench.connections.confirm(&new, bench.now).unwrap();
            assert_eq!(bench.connections.flow(flow).counted().bytes, 3029, "all of it is counted");
        }
    }
}

#[test]
fn other_protocols_go_by_addresses() {
    let gre = Frame { body: Body::Ip { protocol: 47 }, payload: &[0; 20], ..Frame::default() };
    let back = Frame { src: gre.dst, dst: gre.src, ..gre };
    let mut bench = Bench::new(8);
    let flow = bench.pass(&gre.build()).1.unwrap();
    assert_eq!(bench.pass(&back.build()).0, Established);
    bench.pass(&gre.build());
    assert_eq!(bench.entry(flow).flags.to_string(), "SAC");
    assert_eq!(bench.entry(flow).timeout, Duration::from_secs(600));
}

/// A table of 4, filled by the client's ports 1 to 4.
fn full() -> Bench {
    let mut bench = Bench::new(4);
    for port in 1..=4 {
        bench.pass_udp(udp(CLIENT, port, SERVER, 9));
        bench.wait(10);
    }
    bench
}

fn assure(bench: &mut Bench, port: u16) {
    let tuple = udp(CLIENT, port, SERVER, 9);
    bench.pass_udp(tuple.reversed());
    bench.pass_udp(tuple);
}

#[test]
fn a_full_table_keeps_what_is_established() {
    let mut bench = full();
    (1..=4).for_each(|port| assure(&mut bench, port));
    let tuple = udp(CLIENT, 5, SERVER, 9);
    let frame = craft::udp(CLIENT, 5, SERVER, 9).build();
    for _ in 0..3 {
        let tracking = bench.connections.track(bench.now, &frame, &layers::parse(&frame).unwrap());
        assert_eq!((tracking.state, tracking.full), (Invalid, true));
    }
    assert_eq!((bench.connections.counts.full, bench.connections.len()), (3, 4));
    for port in 1..=4 {
        assert_eq!(bench.pass_udp(udp(CLIENT, port, SERVER, 9)).0, Established, "{port}");
    }
    bench.wait(180_000 + 256);
    assert_eq!((bench.connections.len(), bench.pass_udp(tuple).0), (0, NewState));
}

#[test]
fn a_full_table_drops_what_is_dispensable() {
    let mut bench = full();
    assure(&mut bench, 1); // put where the unreplied are, and worth keeping since
    assure(&mut bench, 3);
    assert_eq!(bench.pass_udp(udp(CLIENT, 5, SERVER, 9)).0, NewState);
    let ports = |bench: &Bench| {
        let mut ports: Vec<_> =
            bench.connections.list(bench.now).map(|e| e.original.src_port).collect();
        ports.sort_unstable();
        ports
    };
    assert_eq!(ports(&bench), [1, 3, 4, 5], "2 was the oldest nobody answered");
    assert_eq!(bench.connections.counts.early_dropped, 1);
    // A first packet that the filter then drops costs nobody anything.
    let frame = craft::udp(CLIENT, 6, SERVER, 9).build();
    let new = bench.connections.track(bench.now, &frame, &layers::parse(&frame).unwrap()).new;
    assert!(new.is_some());
    assert_eq!(ports(&bench), [1, 3, 4, 5]);
}

#[test]
fn the_second_of_two_first_packets_clashes() {
    let mut bench = Bench::new(8);
    let frame = craft::udp(CLIENT, 5000, SERVER, 53).build();
    let layers = layers::parse(&frame).unwrap();
    let [first, second] =
        [(); 2].map(|()| bench.connections.track(bench.now, &frame, &layers).new.unwrap());
    assert!(bench.connections.confirm(&first, bench.now).is_ok());
    let clash = bench.connections.confirm(&second, bench.now);
    assert_eq!(clash, Err(Discard::ConnectionClash));
    assert_eq!((bench.connections.len(), bench.connections.counts.clashes), (1, 1));
}

#[test]
fn remove_and_clear() {
    let mut bench = full();
    let ids: Vec<_> = bench.connections.iter().map(|(id, _)| id).collect();
    assert!(bench.connections.remove(ids[1]) && !bench.connections.remove(ids[1]));
    assert_eq!(bench.connections.flows().len(), 6);
    assert_eq!(bench.pass_udp(udp(CLIENT, 7, SERVER, 9)).0, NewState);
    assert_eq!(bench.connections.len(), 4, "the place is used again");
    let kept = udp(CLIENT, 8, SERVER, 9);
    bench.connections.clear();
    assert!(bench.connections.is_empty() && bench.connections.flows().is_empty());
    assert!(bench.connections.keep_untracked(kept, bench.now, false).is_some());
    bench.wait(9_000);
    assert_eq!(bench.connections.flows().len(), 1);
    bench.wait(1_000);
    assert!(bench.connections.flows().is_empty(), "idle for ten seconds");
}

#[test]
fn settings_and_print() {
    assert_eq!(Settings::read(&config::Tree::default()), Settings::default());
    let mut bench = Bench::new(8);
    let flow = bench.pass_udp(THERE).1.unwrap();
    let values = bench.entry(flow).values();
    let printed = |name: &str| values[name].to_string();
    assert_eq!(printed("src-address"), "10.0.0.2:5000");
    assert_eq!(printed("reply-dst-address"), "10.0.0.2:5000");
    assert_eq!((printed("protocol"), printed("timeout")), ("udp".into(), "10s".into()));
    for name in values.keys() {
        assert!(menu::CONNECTION.property(name).is_some(), "{name}");
    }
}

#[test]
fn a_rate_is_what_passed_between_two_looks() {
    let mut bench = Bench::new(8);
    let flow = bench.pass_udp(THERE).1.unwrap();
    let id = bench.connections.flow(flow).connection;
    let mut check = |after_ms, bytes: u16, want, case: &str| {
        bench.connections.flow_mut(flow).count(bytes, bench.now.as_millis_u32());
        bench.now = bench.now + Duration::from_millis(after_ms);
        assert_eq!(bench.connections.look(id, bench.now), want, "{case}");
    };
    check(0, 1000, Some([0, 0]), "the first look");
    check(500, 1000, Some([0, 0]), "too soon");
    check(1500, 1000, Some([8_000, 0]), "2,000 bytes in two seconds");
    check(10, 9000, Some([8_000, 0]), "too soon: as before");
    bench.connections.remove(id);
    assert_eq!(bench.connections.look(id, bench.now), None);
    let flow = bench.pass_udp(THERE).1.unwrap();
    assert_eq!(bench.connections.flow(flow).connection, id, "the number is used again");
    bench.now = bench.now + Duration::from_secs(2);
    assert_eq!(bench.connections.look(id, bench.now), Some([0, 0]), "another connection");
}
