//! Frames of any headers: every length, checksum and varying bit, against the plain computation.

use super::*;
use crate::{Prng, Stream, Trailer, trailer::Found};
use proptest::prelude::*;
use wire::{Moment, checksum};

const MAC: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];

fn ip(protocol: u8) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
    ip.extend([10, 0, 0, 1, 10, 0, 1, 1]);
    ip
}

/// Ethernet, IPv4 and, behind a second IPv4 header if asked for, UDP or TCP.
fn plan(two: bool, transport: Transport) -> FramePlan {
    nested(if two { 2 } else { 1 }, transport)
}

/// Ethernet, so many IPv4 headers, UDP or TCP.
fn nested(networks: usize, transport: Transport) -> FramePlan {
    let protocol = if transport == Transport::Tcp { 6 } else { 17 };
    let mut header = MAC.to_vec();
    let ipv4 = (0..networks).map(|n| 14 + 20 * n).collect();
    (1..networks).for_each(|_| header.extend(ip(4)));
    header.extend(ip(protocol));
    let at = header.len();
    header.extend([0, 100, 0, 200, 0, 0, 0, 0]);
    if transport == Transport::Tcp {
        header.extend([0, 0, 0, 0, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    }
    FramePlan {
        header,
        ipv4,
        ipv6: vec![],
        transport: Some((at, transport)),
        tunnels: vec![],
        varying: vec![],
        links: vec![],
        data: Data::Incrementing,
        lengths: FrameLen::without_fcs(100).into(),
        footer: true,
        checksum_from: None,
    }
}

fn next(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = vec![0xee; stream.next_len()];
    stream.write(Moment::from_nanos(77), &mut bytes);
    bytes
}

fn address(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

/// Whether every length and checksum of a frame is right, by the plain computation.
fn faults(plan: &FramePlan, frame: &[u8], sequence: u64) -> Vec<String> {
    let mut faults = Vec::new();
    let mut expect = |what: &str, ok: bool| {
        if !ok {
            faults.push(format!("{what} of {frame:02x?}"));
        }
    };
    let u16_at = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    for &ip in &plan.ipv4 {
        expect("total length", u16_at(ip + 2) == frame.len() - ip);
        expect("ip checksum", checksum::is_ok(&frame[ip..plan.ip_end(ip)]));
    }
    if let (Some((at, transport)), Some(ip)) = (plan.transport, plan.ipv4.last().copied()) {
        let (src, dst) = (address(frame, ip + 12), address(frame, ip + 16));
        match transport {
            Transport::Tcp => expect("tcp", checksum::tcp_ok(src, dst, &frame[at..])),
            _ => {
                expect("udp length", u16_at(at + 4) == frame.len() - at);
                expect("udp checksum", checksum::udp_ok(src, dst, &frame[at..]));
                let none = u16_at(at + 6) == 0;
                expect("checksum or none", none == (transport == Transport::Udp));
            }
        }
    }
    if plan.footer {
        let trailer = Trailer { stream: 5, test: 9, sequence, time: Moment::from_nanos(77) };
        expect("trailer", Trailer::read(frame) == Some(Found::Good(trailer)));
    }
    if let Some(from) = plan.checksum_from {
        expect("check", check_is_right(frame, from, plan.tail()));
    }
    faults
}

fn field(at: usize, width: usize, mask: u64) -> Varying {
    let values = Values::Range(0, if width > 7 { u64::MAX } else { (1 << (8 * width)) - 1 });
    Varying { at, width, mask, values, pick: Pick::Random, link: None }
}

#[test]
fn frames_alike_need_no_program() {
    let alike = plan(false, Transport::Udp);
    let (_, program) = alike.compile(&mut Prng::new(1)).unwrap();
    assert!(program.is_none(), "as fast as the plainest stream");
    let mut stream = alike.build(5, 9, 1).unwrap();
    assert_eq!(faults(&alike, &next(&mut stream), 0), Vec::<String>::new());
    assert_eq!(faults(&alike, &next(&mut stream), 1), Vec::<String>::new());
}

#[test]
fn masked_bits_change_and_others_stay() {
    let mut varied = plan(false, Transport::UdpChecksum);
    varied.varying = vec![field(30, 4, 0x0000_00ff), field(36, 2, 0x00f0)];
    let mut stream = varied.build(5, 9, 1).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for sequence in 0..500 {
        let frame = next(&mut stream);
        assert_eq!(faults(&varied, &frame, sequence), Vec::<String>::new());
        assert_eq!(frame[30..33], [10, 0, 1], "{frame:02x?}");
        assert_eq!((frame[36], frame[37] & 0x0f), (0, 200 & 0x0f), "{frame:02x?}");
        seen.insert((frame[33], frame[37]));
    }
    assert!(seen.len() > 450, "{}", seen.len());
}

#[test]
fn data_fills_what_headers_leave() {
    let check = |data, expected: &[u8]| {
        let plan = FramePlan { data, ..plan(false, Transport::Udp) };
        let frame = next(&mut plan.build(5, 9, 1).unwrap());
        assert_eq!(frame[42..46], *expected, "{data:?}");
    };
    check(Data::Byte(0x5a), &[0x5a; 4]);
    check(Data::Incrementing, &[0, 1, 2, 3]);
    let random = FramePlan { data: Data::Random, ..plan(false, Transport::Udp) };
    let frames = [1, 1, 2].map(|seed| next(&mut random.build(5, 9, seed).unwrap()));
    assert_eq!(frames[0], frames[1], "the same seed, the same bytes");
    assert_ne!(frames[0], frames[2]);
}

#[test]
fn a_damaged_byte_shows_in_the_check() {
    let checked = FramePlan { checksum_from: Some(14), ..plan(false, Transport::Udp) };
    let mut frame = next(&mut checked.build(5, 9, 1).unwrap());
    assert!(check_is_right(&frame, 14, checked.tail()));
    frame[3] ^= 1; // in front of the offset
    assert!(check_is_right(&frame, 14, checked.tail()));
    for byte in 14..frame.len() {
        frame[byte] ^= 4;
        assert!(!check_is_right(&frame, 14, checked.tail()), "byte {byte}");
        frame[byte] ^= 4;
    }
}

#[test]
fn refused() {
    let check = |change: &dyn Fn(&mut FramePlan), expected: &str| {
        let mut plan = plan(true, Transport::Tcp);
        change(&mut plan);
        let error = plan.build(5, 9, 1).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let lengths = |a, b| Lengths::Even(FrameLen::without_fcs(a), FrameLen::without_fcs(b));
    check(
        &|plan| plan.lengths = lengths(60, 60),
        "packet-size 60 is too small: headers and footer take 92",
    );
    check(&|plan| plan.lengths = lengths(59, 60), "packet-size 59-60: use 60 to 9856");
    check(&|plan| plan.lengths = lengths(100, 99), "packet-size 100-99: use 60 to 9856");
    check(&|plan| plan.lengths = lengths(100, 9900), "packet-size 100-9900: use 60 to 9856");
    check(&|plan| plan.ipv4.push(40), "two headers share the bytes at 40");
    check(&|plan| plan.ipv4[1] = 70, "the ip header at 70 does not fit into the header bytes");
    check(&|plan| plan.header[14] = 0x4f, "two headers share the bytes at 34");
    check(&|plan| plan.ipv4.clear(), "no ip header in front of the tcp header");
    check(
        &|plan| plan.transport = Some((60, Transport::Tcp)),
        "the tcp header at 60 does not fit into the header bytes",
    );
    check(
        &|plan| plan.checksum_from = Some(14),
        "compute-checksum-from-offset beside a udp or tcp checksum, which covers all already",
    );
    let vary = |varying: Varying| move |plan: &mut FramePlan| plan.varying = vec![varying.clone()];
    check(&vary(field(24, 2, 0xffff)), "byte 24 cannot vary: it is computed, or varies already");
    check(&vary(field(80, 4, 0xff)), "4 bytes at 80 cannot vary: the packet ends before");
    check(&vary(field(0, 9, 0xff)), "9 bytes at 0 cannot vary: the packet ends before");
    let none = Varying { values: Values::Range(9, 8), ..field(0, 2, 0xff) };
    check(&vary(none), "no value, or too large a one, for byte 0");
    let large = Varying { values: Values::List(vec![70_000]), ..field(0, 2, 0xff) };
    check(&vary(large), "no value, or too large a one, for byte 0");
    check(
        &|plan| plan.varying = vec![field(0, 6, 0xff), field(5, 1, 1)],
        "byte 5 cannot vary: it is computed, or varies already",
    );
}

#[test]
fn what_varies_around_a_length_leaves_it() {
    for mask in [0, 0xff00_00ff_ff00] {
        let mut plan = plan(false, Transport::UdpChecksum);
        plan.lengths = Lengths::Even(FrameLen::without_fcs(100), FrameLen::without_fcs(101));
        plan.varying = vec![field(15, 6, mask)];
        let mut stream = plan.build(5, 9, 1).unwrap();
        for sequence in 0..16 {
            let frame = next(&mut stream);
            assert_eq!(
                faults(&plan, &frame, sequence),
                Vec::<String>::new(),
                "{mask:x} {frame:x?}"
            );
        }
    }
}

fn transports() -> impl Strategy<Value = Transport> {
    prop_oneof![Just(Transport::Udp), Just(Transport::UdpChecksum), Just(Transport::Tcp)]
}

proptest! {
    /// Whatever stands in the frame, whatever varies and however long it is: all is right.
    #[test]
    fn every_frame_is_right(
        networks in 1usize..7,
        transport in transports(),
        raw in prop::collection::vec(any::<u8>(), 0..4),
        least in 200u32..300,
        more in 0u32..20,
        varying in prop::collection::vec((0usize..220, 1usize..9, any::<u64>()), 0..6),
        footer: bool,
        checked: bool,
        seed: u64,
    ) {
        let mut plan = nested(networks, transport);
        plan.header.extend(raw);
        plan.lengths =
            Lengths::Even(FrameLen::without_fcs(least), FrameLen::without_fcs(least + more));
        plan.footer = footer;
        plan.checksum_from = (checked && transport == Transport::Udp).then_some(14);
        for (at, width, mask) in varying {
            let last = plan.varying.len();
            plan.varying.push(field(at, width, mask & (u64::MAX >> (64 - 8 * width))));
            // A protocol or a checksum that varies freely is no fault, but the check's own ends.
            let free = [plan.ipv4.last().map(|ip| ip + 9), plan.transport.map(|(at, _)| at + 6)];
            let is_free = free.into_iter().flatten().any(|byte| (at..at + width).contains(&byte))
                || plan.transport.is_some_and(|(udp, _)| at == udp + 7);
            if is_free || plan.check().is_err() {
                plan.varying.truncate(last);
            }
        }
        let mut stream = plan.build(5, 9, seed).unwrap();
        for sequence in 0..8 {
            let frame = next(&mut stream);
            prop_assert_eq!(faults(&plan, &frame, sequence), Vec::<String>::new(), "{:?}", plan);
        }
    }
}

#[test]
fn lengths_in_turn_are_a_mix() {
    let mix = crate::Mix::of("csit", &[]).unwrap();
    let mut plan = plan(false, Transport::UdpChecksum);
    plan.lengths = Lengths::InTurn(mix.sequence().to_vec());
    let mut stream = plan.build(5, 9, 1).unwrap();
    let rounds = mix.sequence().iter().chain(mix.sequence());
    for (sequence, frame) in (0..).zip(rounds) {
        let bytes = next(&mut stream);
        assert_eq!(bytes.len(), frame.in_memory() as usize, "frame {sequence}");
        assert_eq!(faults(&plan, &bytes, sequence), Vec::<String>::new());
    }
    plan.lengths = Lengths::InTurn(Vec::new());
    assert_eq!(plan.check(), Err(BadFrame::NoLength));
}
