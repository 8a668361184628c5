//! Fragments: made, put together for connection tracking, refused where they are an attack.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::craft::{self, Body, Frame, ip};
use wire::{Ipv4, checksum};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2";
const TRACKED: &str = "/ip firewall connection tracking set enabled=yes";

fn rig(script: &str) -> Rig {
    let mut rig = Rig::new(2, &format!("{NETS}\n{script}"));
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig
}

/// A UDP datagram of so many bytes behind the IP header, checksum and all.
fn udp(dst: u32, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|n| (n * 7 + n / 251) as u8).collect();
    bytes[..8].copy_from_slice(&[3, 232, 7, 208, (len >> 8) as u8, len as u8, 0, 0]);
    let sum = checksum::udp(ip(10, 0, 1, 1), dst, &bytes);
    bytes[6..8].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// One fragment.
fn piece(body: &[u8], dst: u32, range: std::ops::Range<usize>) -> Vec<u8> {
    Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        src: ip(10, 0, 1, 1),
        dst,
        ident: 77,
        fragment_offset: range.start as u16,
        more_fragments: range.end < body.len(),
        body: Body::Ip { protocol: 17 },
        payload: &body[range],
        ..Frame::default()
    }
    .build()
}

/// The payload that these fragments make up, each of them found sound.
fn together(frames: &[(usize, Vec<u8>)], mtu: usize) -> Vec<u8> {
    let mut whole = Vec::new();
    let mut pieces: Vec<_> = frames.iter().map(|(_, f)| Ipv4::new(&f[14..]).unwrap()).collect();
    pieces.sort_by_key(Ipv4::fragment_offset);
    for (n, piece) in pieces.iter().enumerate() {
        assert!(piece.checksum_ok() && piece.ttl() == 63);
        assert!(usize::from(piece.total_len()) <= mtu);
        assert_eq!(usize::from(piece.fragment_offset()), whole.len());
        assert_eq!(piece.more_fragments(), n + 1 < pieces.len());
        whole.extend_from_slice(piece.payload());
    }
    whole
}

/// What is too long for the way leaves in pieces, on all ways through the router.
#[test]
fn too_long_packets_are_fragmented() {
    for script in ["", TRACKED, "/ip firewall filter add chain=forward action=passthrough"] {
        for reference in [false, true] {
            let mut rig = rig(&format!("{script}\n/interface ethernet set ether2 mtu=600"));
            rig.router.set_reference(reference);
            let body = udp(ip(10, 0, 2, 1), 1400);
            for _ in 0..3 {
                let out = rig.pass(1, &piece(&body, ip(10, 0, 2, 1), 0..1400));
                assert_eq!((out.len(), together(&out, 600)), (3, body.clone()));
            }
            assert!(rig.router.frames().balance());
        }
    }
}

/// 64 KB in 46 pieces, in any order, with tracking: one packet of one connection.
#[test]
fn the_longest_datagram_passes_as_one() {
    let script = "/ip firewall filter add chain=forward protocol=udp dst-port=2000 action=accept\n\
                  /ip firewall filter add chain=forward action=drop";
    let len = 65_515;
    let body = udp(ip(10, 0, 2, 1), len);
    for backwards in [false, true] {
        let mut rig = rig(script);
        let mut starts: Vec<usize> = (0..len).step_by(1480).collect();
        if backwards {
            starts.reverse();
        }
        let mut out = Vec::new();
        for (n, &start) in starts.iter().enumerate() {
            assert!(out.is_empty(), "nothing before all is there");
            assert_eq!(rig.router.held().reassembly, n as u64);
            let frame = piece(&body, ip(10, 0, 2, 1), start..(start + 1480).min(len));
            out = rig.pass(1, &frame);
        }
        assert!(together(&out, 1500) == body);
        let counts = rig.router.rule_counts("/ip firewall filter", rig.console.tree());
        assert_eq!((counts[0].packets, counts[0].bytes), (1, 65_535));
        let connection = rig.router.connections().list(rig.now).next().unwrap();
        assert_eq!(connection.counts[0].packets, 1);
        assert!(rig.router.frames().balance() && rig.router.held().total() == 0);
    }
}

/// RFC 1858, RFC 5722: what overlaps is no accident. RFC 791: what is not complete in time goes.
#[test]
fn what_cannot_be_put_together_is_dropped_by_name() {
    let dst = ip(10, 0, 2, 1);
    let body = udp(dst, 400);
    #[rustfmt::skip]
    let cases: &[(&[std::ops::Range<usize>], Discard, u64)] = &[
        (&[0..104, 96..200], Discard::BadFragment, 2),
        (&[0..104, 0..104], Discard::BadFragment, 2),
        (&[200..400, 96..208], Discard::BadFragment, 2),
        (&[0..104, 104..201], Discard::BadFragment, 2), // no multiple of 8
        (&[0..104, 200..400], Discard::ReassemblyTimeout, 2),
        (&[200..304, 304..400], Discard::ReassemblyTimeout, 2),
    ];
    for (n, (ranges, why, times)) in cases.iter().enumerate() {
        let mut rig = rig(TRACKED);
        for range in *ranges {
            assert_eq!(rig.pass(1, &piece(&body, dst, range.clone())), [], "case {n}");
        }
        rig.wait(Duration::from_secs(40));
        let _probes = [rig.take(1), rig.take(2)];
        let discards: Vec<_> = rig.router.discards().iter().collect();
        let frames: u64 = rig.router.frames().discarded;
        assert!(rig.router.discards().get(*why) >= 1, "case {n}: {discards:?}");
        assert_eq!(frames, *times, "case {n}: {discards:?}");
        assert_eq!(rig.frames_in_use(), 0, "case {n}");
        assert!(rig.router.frames().balance());
    }
}

/// The router's own: a ping in pieces is answered, tracked or not.
#[test]
fn a_ping_in_pieces() {
    for script in ["", TRACKED] {
        let mut rig = rig(script);
        let ping = Frame { payload: &[9; 392], ..craft::ping(ip(10, 0, 1, 1), ip(10, 0, 1, 254)) };
        let ping = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..ping }.build();
        let body = ping[34..].to_vec();
        let cut = |range: std::ops::Range<usize>| {
            let mut frame = piece(&body, ip(10, 0, 1, 254), range);
            (frame[23], frame[24], frame[25]) = (1, 0, 0);
            let sum = checksum::of(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame
        };
        assert_eq!(rig.pass(1, &cut(200..400)), []);
        let out = rig.pass(1, &cut(0..200));
        assert_eq!(out.len(), 2, "{:?}", rig.router.discards());
        let mut whole = Vec::new();
        for (_, frame) in &out {
            whole.extend_from_slice(Ipv4::new(&frame[14..]).unwrap().payload());
        }
        assert!(checksum::is_ok(&whole) && whole[0] == 0 && whole[8..] == body[8..]);
    }
}
