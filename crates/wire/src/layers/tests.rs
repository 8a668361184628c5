//! The pass over a frame, case by case, and the hash's distribution. The comparison with
//! etherparse is in `tests/oracle.rs`.

use super::*;
use crate::craft::{self, Body, Frame, ip};
use crate::icmp::{IcmpHeader, code};
use crate::tcp::TcpFlags;
use crate::vlan::Tci;

const A: u32 = ip(10, 0, 0, 1);
const B: u32 = ip(10, 0, 0, 2);

fn tuple(protocol: u8, src_port: u16, dst_port: u16) -> FiveTuple {
    FiveTuple { src: A, dst: B, src_port, dst_port, protocol }
}

#[test]
fn good_frames() {
    let udp = Frame { payload: b"abc", ..craft::udp(A, 5, B, 7) };
    let plain = Layers {
        ether_type: ETHERTYPE_IPV4,
        l3: 14,
        l4: 34,
        l3_end: 45,
        protocol: 17,
        tuple: tuple(17, 5, 7),
        ..Layers::default()
    };
    let tag = Some(Tci::new(10, 1));
    let ping = Layers { l3_end: 42, protocol: 1, tuple: tuple(1, 1, 1), ..plain };
    let unreachable = Body::Icmp(IcmpHeader::unreachable(code::PORT_UNREACHABLE));
    for (name, frame, expected) in [
        ("udp", udp, plain),
        (
            "tagged",
            Frame { vlan: tag, ..udp },
            Layers { vlan: Some(0x200a), l3: 18, l4: 38, l3_end: 49, ..plain },
        ),
        (
            "options",
            Frame { options: &[148, 4, 0, 0], ..udp },
            Layers { options: true, l4: 38, l3_end: 49, ..plain },
        ),
        (
            "first fragment",
            Frame { more_fragments: true, ..udp },
            Layers { fragment: true, ..plain },
        ),
        (
            "later fragment",
            Frame { fragment_offset: 8, body: Body::Ip { protocol: 17 }, ..udp },
            Layers {
                fragment: true,
                later_fragment: true,
                l4: 0,
                l3_end: 37,
                tuple: tuple(17, 0, 0),
                ..plain
            },
        ),
        (
            "tcp",
            craft::tcp(A, 5, B, 7, TcpFlags::SYN),
            Layers { l3_end: 54, protocol: 6, tuple: tuple(6, 5, 7), ..plain },
        ),
        ("ping", craft::ping(A, B), ping),
        (
            "icmp error",
            Frame { body: unreachable, ..craft::ping(A, B) },
            Layers { tuple: tuple(1, 0, 0), ..ping },
        ),
        (
            "ospf",
            Frame { body: Body::Ip { protocol: 89 }, ..udp },
            Layers { l4: 0, l3_end: 37, protocol: 89, tuple: tuple(89, 0, 0), ..plain },
        ),
        (
            "not ip",
            Frame { body: Body::Raw { ether_type: 0x88cc }, ..udp },
            Layers { ether_type: 0x88cc, l3: 14, l3_end: 60, ..Layers::default() },
        ),
    ] {
        assert_eq!(parse(&frame.build()), Ok(expected), "{name}");
    }
}

#[test]
fn two_tags() {
    let inner = Frame { vlan: Some(Tci::new(20, 0)), ..craft::udp(A, 5, B, 7) }.build();
    let mut frame = [&[0; 4][..], &inner].concat();
    let tag = crate::vlan::Tag { tpid: ETHERTYPE_SVLAN, tci: Tci::new(30, 0) };
    assert!(crate::vlan::push(&mut frame, tag));
    let layers = parse(&frame).unwrap();
    assert_eq!((layers.vlan, layers.l3, layers.l4), (Some(30), 22, 42), "the outermost is kept");
    assert_eq!(layers.tuple, tuple(17, 5, 7));
}

#[test]
fn bad_frames() {
    // Each case is a good frame, some of whose bytes are overwritten, and a length it is cut to.
    let udp = craft::udp(A, 5, B, 7);
    let tcp = craft::tcp(A, 5, B, 7, TcpFlags::SYN);
    let tagged = Frame { vlan: Some(Tci::new(1, 0)), ..udp };
    let short = |protocol, payload| Frame { body: Body::Ip { protocol }, payload, ..udp };
    let arp = craft::arp(crate::arp::ArpMessage::request(Frame::default().src_mac, A, B));
    let raw = |ether_type| Frame { body: Body::Raw { ether_type }, payload: &[0x60; 46], ..udp };
    type Case<'a> = (&'a str, Frame<'a>, &'a [(usize, u8)], usize, Malformed);
    let cases: [Case<'_>; 21] = [
        ("13 bytes", udp, &[], 13, Malformed::Ethernet),
        ("tag cut off", tagged, &[], 17, Malformed::Ethernet),
        ("second tag cut off", tagged, &[(16, 0x81), (17, 0)], 18, Malformed::Ethernet),
        ("no IP header", udp, &[], 14, Malformed::Ipv4),
        ("IP header cut off", udp, &[], 33, Malformed::Ipv4),
        ("version", udp, &[(14, 0x65)], 60, Malformed::Ipv4),
        ("IHL", udp, &[(14, 0x44)], 60, Malformed::Ipv4),
        ("IHL beyond the packet", udp, &[(14, 0x48)], 60, Malformed::Ipv4),
        ("total length below IHL", udp, &[(17, 19)], 60, Malformed::Ipv4),
        ("total length beyond the frame", udp, &[(17, 47)], 60, Malformed::Ipv4),
        ("UDP of 7 bytes", short(17, &[0; 7]), &[], 60, Malformed::Transport),
        ("UDP length 7", udp, &[(39, 7)], 60, Malformed::Transport),
        ("UDP length beyond the packet", udp, &[(39, 9)], 60, Malformed::Transport),
        ("ICMP of 7 bytes", short(1, &[0; 7]), &[], 60, Malformed::Transport),
        ("TCP of 19 bytes", short(6, &[0x50; 19]), &[], 60, Malformed::Transport),
        ("TCP of 12 bytes", short(6, &[0x50; 12]), &[], 60, Malformed::Transport),
        ("TCP data offset 4", tcp, &[(46, 0x40)], 60, Malformed::Transport),
        ("TCP data offset beyond", tcp, &[(46, 0x60)], 60, Malformed::Transport),
        ("ARP cut off", arp, &[], 41, Malformed::Arp),
        ("ARP for something else", arp, &[(18, 8)], 60, Malformed::Arp),
        ("IPv6 payload beyond the frame", raw(ETHERTYPE_IPV6), &[], 60, Malformed::Ipv6),
    ];
    for (name, frame, overwrite, len, expected) in cases {
        let mut bytes = frame.build();
        assert!(overwrite.is_empty() || parse(&bytes).is_ok(), "{name}: was bad from the start");
        for &(at, value) in overwrite {
            bytes[at] = value;
        }
        assert_eq!(parse(&bytes[..len]), Err(expected), "{name}");
    }
    assert_eq!(parse(&vec![0; 65_536]), Err(Malformed::Ethernet));
    assert!(parse(&vec![0; 65_535]).is_ok());
}

#[test]
fn a_first_fragment_may_end_inside_the_tcp_header() {
    let start = [0, 5, 0, 7, 0, 0, 0, 0];
    let tiny = Frame {
        more_fragments: true,
        body: Body::Ip { protocol: 6 },
        payload: &start,
        ..craft::udp(A, 5, B, 7)
    };
    assert_eq!(parse(&tiny.build()).unwrap().tuple, tuple(6, 5, 7));
    assert_eq!(parse(&Frame { payload: &start[..7], ..tiny }.build()), Err(Malformed::Transport));
    assert_eq!(
        parse(&Frame { more_fragments: false, ..tiny }.build()),
        Err(Malformed::Transport),
        "whole, it may not"
    );
}

#[test]
fn quotations() {
    for frame in [
        Frame { payload: &[1; 100], ..craft::udp(A, 5, B, 7) },
        Frame { payload: &[1; 100], ..craft::tcp(A, 5, B, 7, TcpFlags::ACK) },
        craft::ping(A, B),
        Frame { options: &[148, 4, 0, 0], ..craft::udp(A, 5, B, 7) },
    ] {
        let bytes = frame.build();
        let whole = parse(&bytes).unwrap();
        let packet = &bytes[14..usize::from(whole.l3_end)];
        let header_len = usize::from(whole.l4) - 14;
        for len in 0..packet.len() {
            match quoted(&packet[..len]) {
                Ok(found) => {
                    assert!(len >= header_len + 8, "{len} bytes suffice for {frame:?}");
                    assert_eq!(found.tuple, whole.tuple);
                    assert_eq!(usize::from(found.l3_end), len);
                    assert_eq!(usize::from(found.l4), header_len);
                }
                Err(error) => {
                    assert!(len < header_len + 8, "{error:?} at {len} bytes of {frame:?}");
                }
            }
        }
    }
}

/// Chi-square of how the hashes' bits `shift..shift + 12` fill 4096 slots, in standard
/// deviations from what chance would give. Chance itself stays below 5.
fn unevenness(hashes: &[u32], shift: u32) -> f64 {
    let mut slots = [0u32; 4096];
    for hash in hashes {
        slots[(hash >> shift & 0xfff) as usize] += 1;
    }
    let mean = hashes.len() as f64 / 4096.0;
    let chi2: f64 = slots.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
    (chi2 - 4095.0) / (2.0 * 4095.0f64).sqrt()
}

#[test]
fn hash_spreads_what_generators_send() {
    let base = FiveTuple { src: A, dst: B, src_port: 1024, dst_port: 80, protocol: 6 };
    type Pattern = fn(FiveTuple, u32) -> FiveTuple;
    let patterns: [(&str, Pattern); 10] = [
        ("dst + 1", |t, i| FiveTuple { dst: t.dst + i, ..t }),
        ("dst + 256: networks", |t, i| FiveTuple { dst: t.dst + (i << 8), ..t }),
        ("src + 1", |t, i| FiveTuple { src: t.src + i, ..t }),
        ("src + 1, dst + 1", |t, i| FiveTuple { src: t.src + i, dst: t.dst + i, ..t }),
        ("src + 1, dst - 1", |t, i| FiveTuple { src: t.src + i, dst: t.dst.wrapping_sub(i), ..t }),
        ("src port + 1", |t, i| FiveTuple { src_port: i as u16, ..t }),
        ("dst port + 1", |t, i| FiveTuple { dst_port: i as u16, ..t }),
        ("both ports + 1", |t, i| FiveTuple { src_port: i as u16, dst_port: i as u16, ..t }),
        ("256 hosts, 256 ports", |t, i| FiveTuple {
            src: t.src + (i >> 8),
            src_port: (i & 0xff) as u16,
            ..t
        }),
        ("reversed: port + 1", |t, i| FiveTuple { src_port: i as u16, ..t }.reversed()),
    ];
    for (name, pattern) in patterns {
        let mut hashes: Vec<u32> = (0..65536).map(|i| pattern(base, i).hash()).collect();
        for shift in [0, 4, 10, 16, 20] {
            let sigmas = unevenness(&hashes, shift);
            assert!(sigmas < 5.0, "{name}, bits from {shift}: {sigmas:.1} σ too uneven");
        }
        hashes.sort_unstable();
        let collisions = hashes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(collisions <= 5, "{name}: {collisions} equal hashes, chance gives 0.5");
    }
}

#[test]
fn every_bit_of_the_tuple_moves_every_bit_of_the_hash() {
    let flip = |t: FiveTuple, bit: u32| match bit {
        0..32 => FiveTuple { src: t.src ^ 1 << bit, ..t },
        32..64 => FiveTuple { dst: t.dst ^ 1 << (bit - 32), ..t },
        64..80 => FiveTuple { src_port: t.src_port ^ 1 << (bit - 64), ..t },
        80..96 => FiveTuple { dst_port: t.dst_port ^ 1 << (bit - 80), ..t },
        _ => FiveTuple { protocol: t.protocol ^ 1 << (bit - 96), ..t },
    };
    const N: u32 = 1000;
    for bit in 0..104 {
        let mut moved = [0u32; 32];
        for i in 0..N {
            let n = i.wrapping_mul(0x9e37_79b9);
            let t = FiveTuple { src: A + i, dst: B ^ n, ..tuple(6, n as u16, (n >> 16) as u16) };
            let difference = t.hash() ^ flip(t, bit).hash();
            for (out, moved) in moved.iter_mut().enumerate() {
                *moved += difference >> out & 1;
            }
        }
        for (out, moved) in moved.into_iter().enumerate() {
            // Chance: half of them, give or take 16; 3328 such draws stay within 6 of these.
            assert!(moved.abs_diff(N / 2) < 100, "bit {bit} moves bit {out} {moved} times of {N}");
        }
    }
}

#[test]
fn reversed_is_another_flow() {
    let there = tuple(17, 5, 7);
    assert_eq!(there.reversed().reversed(), there);
    assert_ne!(there.reversed().hash(), there.hash());
}

#[test]
fn a_flow_is_what_stays_together() {
    let udp = craft::udp(A, 5, B, 7);
    let first = Frame { more_fragments: true, ..udp };
    let last = Frame { fragment_offset: 64, payload: b"abcdefgh", ..udp };
    let arp = [&[2; 12][..], &[0x88, 0xb5], &[0; 46]].concat();
    let other_arp = [&[3; 12][..], &[0x88, 0xb5], &[0; 46]].concat();
    let build = |frame: Frame<'_>| frame.build();
    for (name, a, b, same) in [
        ("length", build(udp), build(Frame { payload: b"abc", ..udp }), true),
        ("tag", build(udp), build(Frame { vlan: Some(Tci::new(10, 1)), ..udp }), true),
        ("port", build(udp), build(craft::udp(A, 6, B, 7)), false),
        ("protocol", build(udp), build(craft::tcp(A, 5, B, 7, TcpFlags::SYN)), false),
        ("fragments", build(first), build(last), true),
        ("what is not IPv4", arp.clone(), [&arp[..], &[1]].concat(), true),
        ("of others", arp, other_arp, false),
        ("nothing", vec![], vec![0; 11], true),
    ] {
        assert_eq!(flow(&a) == flow(&b), same, "{name}");
    }
}
