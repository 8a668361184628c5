//! Segments against etherparse: every checksum, and the payload put together again.

use super::*;
use crate::craft::{self, Body, ip};
use crate::tcp::{TcpFlags, TcpHeader};
use crate::vlan::Tci;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;

const TCP: TcpHeader = TcpHeader {
    src_port: 1000,
    dst_port: 80,
    seq: u32::MAX - 500, // it wraps within the super-frame
    ack: 7,
    flags: TcpFlags(0x99), // CWR, ACK, PSH, FIN
    window: 100,
    urgent: 0,
};

/// A super-frame with this payload: `kind` says of what.
fn large(kind: u8, options: &[u8], tag: bool, payload: &[u8]) -> (Vec<u8>, usize) {
    let tcp = kind.is_multiple_of(2);
    let body = match tcp {
        true => Body::Tcp { header: TCP, options },
        false => Body::Udp { src_port: 53, dst_port: 54 },
    };
    let frame = craft::Frame {
        vlan: tag.then_some(Tci(5)),
        ident: 0xfffe,
        dont_fragment: true,
        body,
        payload,
        ..craft::udp(ip(10, 0, 0, 1), 0, ip(10, 0, 0, 2), 0)
    };
    let mut bytes = frame.build();
    let l3 = if tag { 18 } else { 14 };
    if kind < 2 {
        return (bytes, l3 + 20);
    }
    // The same behind an IPv6 header.
    let mut transport = bytes.split_off(l3 + 20);
    transport.truncate(payload.len() + if tcp { 20 + options.len() } else { 8 }); // less padding
    bytes.truncate(l3);
    bytes[l3 - 2..].copy_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
    let len = (transport.len() as u16).to_be_bytes();
    bytes.extend([0x60, 1, 2, 3, len[0], len[1], if tcp { 6 } else { 17 }, 64]);
    bytes.extend((0..32).map(|n| n * 7));
    bytes.extend(transport);
    (bytes, l3 + 40)
}

/// What etherparse makes of a packet: TCP's flags, sequence number and payload, if its checksums
/// are right.
fn checked(frame: &[u8]) -> (u8, u32, Vec<u8>) {
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let v4 = |ip: &etherparse::Ipv4HeaderSlice<'_>| {
        assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        (ip.source(), ip.destination())
    };
    let v6 = |ip: &etherparse::Ipv6HeaderSlice<'_>| (ip.source(), ip.destination());
    match (packet.net.unwrap(), packet.transport.unwrap()) {
        (NetSlice::Ipv4(ip), TransportSlice::Tcp(tcp)) => {
            let (src, dst) = v4(&ip.header());
            assert_eq!(tcp.checksum(), tcp.calc_checksum_ipv4(src, dst).unwrap());
            (tcp.header_slice()[13], tcp.sequence_number(), tcp.payload().to_vec())
        }
        (NetSlice::Ipv6(ip), TransportSlice::Tcp(tcp)) => {
            let (src, dst) = v6(&ip.header());
            assert_eq!(tcp.checksum(), tcp.calc_checksum_ipv6(src, dst).unwrap());
            (tcp.header_slice()[13], tcp.sequence_number(), tcp.payload().to_vec())
        }
        (NetSlice::Ipv4(ip), TransportSlice::Udp(udp)) => {
            let (src, dst) = v4(&ip.header());
            let header = udp.to_header();
            let sum = header.calc_checksum_ipv4_raw(src, dst, udp.payload()).unwrap();
            assert_eq!((udp.checksum(), usize::from(udp.length())), (sum, 8 + udp.payload().len()));
            (0, 0, udp.payload().to_vec())
        }
        (NetSlice::Ipv6(ip), TransportSlice::Udp(udp)) => {
            let (src, dst) = v6(&ip.header());
            let header = udp.to_header();
            let sum = header.calc_checksum_ipv6_raw(src, dst, udp.payload()).unwrap();
            assert_eq!((udp.checksum(), usize::from(udp.length())), (sum, 8 + udp.payload().len()));
            (0, 0, udp.payload().to_vec())
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    /// Cut, checked by another's arithmetic, and put together again.
    #[test]
    fn segments_are_right_and_whole(
        kind in 0..4u8,
        tag: bool,
        options in 0..11usize,
        payload in prop_oneof![
            prop::collection::vec(any::<u8>(), 1..300),
            prop::collection::vec(any::<u8>(), 20_000..60_000),
        ],
        size in prop_oneof![64..200u16, 500..9000u16],
    ) {
        let options = vec![1; options * 4];
        let (frame, l4) = large(kind, &options, tag, &payload);
        let offload = Offload::of(&frame, l4, size).unwrap();
        prop_assert_eq!(usize::from(offload.segment) < payload.len(), true);
        let Some(large) = Large::new(&frame, offload) else {
            // It fits one: only its checksum is missing.
            prop_assert!(payload.len() <= usize::from(size) && offload.segment == 0);
            let mut whole = frame.clone();
            whole[l4 + if offload.tcp { 16 } else { 6 }] ^= 0x55;
            complete(&mut whole, offload);
            prop_assert_eq!(checked(&whole).2, payload);
            return Ok(());
        };
        let (mut got, mut ip_bytes) = (vec![], 0);
        for n in 0..large.len() {
            let mut segment = vec![0xee; large.segment_len(n)];
            large.write(n, &mut segment);
            let (flags, seq, data) = checked(&segment);
            let (first, last) = (n == 0, n + 1 == large.len());
            prop_assert!(last || data.len() == usize::from(size), "{} at {n}", data.len());
            if offload.tcp {
                prop_assert_eq!(seq, TCP.seq.wrapping_add(got.len() as u32));
                let expected = 0x10 | if last { 0x09 } else { 0 } | if first { 0x80 } else { 0 };
                prop_assert_eq!(flags, expected);
            }
            let l3 = if tag { 18 } else { 14 };
            if kind < 2 {
                let id = u16::from_be_bytes([segment[l3 + 4], segment[l3 + 5]]);
                prop_assert_eq!(id, 0xfffe_u16.wrapping_add(n as u16));
            }
            prop_assert!(segment.len() - l3 <= large.ip_len());
            ip_bytes += segment.len() - l3;
            got.extend(data);
        }
        prop_assert_eq!(ip_bytes, large.ip_bytes());
        prop_assert_eq!(got, payload);
    }

    /// Whatever is said of whatever bytes: no panic, and what is believed can be cut.
    #[test]
    fn nothing_panics(
        kind in 0..4u8,
        len in 0..400usize,
        damage in prop::collection::vec((0..80usize, any::<u8>()), 0..6),
        l4 in prop_oneof![Just(34usize), Just(54), 0..500usize, Just(usize::MAX)],
        size: u16,
    ) {
        let (mut frame, _) = large(kind, &[], false, &vec![7; len]);
        for (at, byte) in damage {
            if let Some(at) = frame.get_mut(at) {
                *at = byte;
            }
        }
        if let Ok(offload) = Offload::of(&frame, l4, size % 300) {
            prepare(&mut frame.clone(), offload);
            complete(&mut frame.clone(), offload);
            if let Some(large) = Large::new(&frame, offload) {
                for n in 0..large.len() {
                    large.write(n, &mut vec![0; large.segment_len(n)]);
                }
            }
        }
        // A note may outlive what it was of.
        let offload = Offload { l4: l4 as u16, segment: size, tcp: size % 2 == 0 };
        prepare(&mut frame, offload);
        complete(&mut frame, offload);
        if let Some(large) = Large::new(&frame, offload) {
            large.write(0, &mut vec![0; large.segment_len(0)]);
        }
    }
}

#[test]
fn a_prepared_checksum_can_be_completed_by_a_plain_sum() {
    for kind in 0..4 {
        let (frame, l4) = large(kind, &[], false, b"abcde");
        let offload = Offload::of(&frame, l4, 0).unwrap();
        let field = l4 + if offload.tcp { 16 } else { 6 };
        let mut prepared = frame.clone();
        prepared[field] ^= 0xff;
        prepare(&mut prepared, offload);
        // What the kernel and cards do: sum from the transport header to the end.
        let end = l4 + if offload.tcp { 25 } else { 13 };
        let sum = checksum::of(&prepared[l4..end]);
        let mut whole = frame.clone();
        complete(&mut whole, offload);
        assert_eq!(whole[field..field + 2], sum.to_be_bytes(), "{kind}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (tcp, l4) = large(0, &[], false, &[0; 1000]);
    let is_ok = |frame: &[u8], l4, size| Offload::of(frame, l4, size).is_ok();
    assert!(is_ok(&tcp, l4, 100) && !is_ok(&tcp, l4 + 2, 100) && !is_ok(&tcp[..500], l4, 100));
    for (at, byte, what) in [
        (14, 0x46, "another header length"),
        (20, 0x20, "a fragment"),
        (23, 1, "another protocol"),
        (46, 0x40, "a TCP header too short"),
        (46, 0xf0, "a total length beyond the frame"),
    ] {
        let mut frame = tcp.clone();
        frame[at] = byte;
        if at == 46 && byte == 0xf0 {
            frame[16] = 0xff;
        }
        assert!(!is_ok(&frame, l4, 100), "{what}");
    }
    let (mut udp, l4) = large(1, &[], false, &[0; 100]);
    assert!(is_ok(&udp, l4, 0));
    udp[l4 + 5] -= 1;
    assert!(!is_ok(&udp, l4, 0), "a datagram shorter than its packet");
    let (huge, l4) = large(0, &[], false, &[0; 65_000]);
    assert!(!is_ok(&huge, l4, 10) && is_ok(&huge, l4, 48), "more segments than there may be");
}
