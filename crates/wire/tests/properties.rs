//! For every format: what a value writes, a view reads back; and no view panics on any bytes.

use std::net::Ipv6Addr;

use proptest::prelude::*;
use wire::arp::{Arp, ArpMessage, Operation};
use wire::craft::{Body, Frame};
use wire::ethernet::EthernetHeader;
use wire::icmp::{Icmp, IcmpHeader};
use wire::ipv4::Ipv4Header;
use wire::ipv6::Ipv6Header;
use wire::layers::{self, ETHERTYPE_IPV4};
use wire::tcp::{TcpFlags, TcpHeader};
use wire::udp::UdpHeader;
use wire::vlan::{self, Tag, Tci};
use wire::{Ethernet, Ipv4, Ipv6, MacAddr, Tcp, Udp};

prop_compose! {
    fn ipv4_headers()(
        (tos, payload_len, ident) in (any::<u8>(), 0..=40u16, any::<u16>()),
        (dont_fragment, more_fragments, eighths) in (any::<bool>(), any::<bool>(), 0..0x2000u16),
        (ttl, protocol, src, dst) in any::<(u8, u8, u32, u32)>(),
    ) -> Ipv4Header {
        let fragment_offset = eighths << 3;
        Ipv4Header {
            tos, payload_len, ident, dont_fragment, more_fragments, fragment_offset, ttl, protocol,
            src, dst,
        }
    }
}

prop_compose! {
    fn tcp_headers()(
        (src_port, dst_port, seq, ack) in any::<(u16, u16, u32, u32)>(),
        (flags, window, urgent) in any::<(u8, u16, u16)>(),
    ) -> TcpHeader {
        TcpHeader { src_port, dst_port, seq, ack, flags: TcpFlags(flags), window, urgent }
    }
}

proptest! {
    #[test]
    fn ethernet_there_and_back(dst: [u8; 6], src: [u8; 6], ether_type: u16) {
        let header = EthernetHeader { dst: MacAddr(dst), src: MacAddr(src), ether_type };
        prop_assert_eq!(Ethernet::new(header.to_bytes()).unwrap().header(), header);
    }

    #[test]
    fn vlan_there_and_back(bytes in prop::collection::vec(any::<u8>(), 18..80), tci: u16, s: bool) {
        let tag = Tag { tpid: if s { 0x88a8 } else { 0x8100 }, tci: Tci(tci) };
        let mut room = bytes.clone();
        prop_assert!(vlan::push(&mut room, tag));
        prop_assert_eq!(Tag::of(&room), Some(tag));
        prop_assert_eq!(&room[16..], &bytes[16..], "EtherType and payload stay where they are");
        prop_assert_eq!(vlan::pop(&mut room), Some(tag));
        prop_assert_eq!(&room[4..], &bytes[4..]);
    }

    #[test]
    fn arp_there_and_back(n: u16, sender: ([u8; 6], u32), target: ([u8; 6], u32)) {
        let message = ArpMessage {
            operation: Operation::from_number(n % 4),
            sender_mac: MacAddr(sender.0),
            sender_ip: sender.1,
            target_mac: MacAddr(target.0),
            target_ip: target.1,
        };
        prop_assert_eq!(Arp::new(message.to_bytes()).unwrap().message(), message);
    }

    #[test]
    fn ipv4_there_and_back(header in ipv4_headers(), tos: u8, ttl: u8, src: u32, dst: u32) {
        let mut bytes = header.to_bytes().to_vec();
        bytes.resize(60, 0xee);
        let mut packet = Ipv4::new(&mut bytes).unwrap();
        prop_assert_eq!(packet.header(), header);
        prop_assert!(packet.checksum_ok());
        prop_assert_eq!(packet.payload().len(), usize::from(header.payload_len));
        // Every setter changes its field, nothing else, and keeps the checksum right.
        packet.set_tos(tos);
        packet.set_ttl(ttl);
        packet.set_src(src);
        packet.set_dst(dst);
        packet.clear_dont_fragment();
        let changed = Ipv4Header { tos, ttl, src, dst, dont_fragment: false, ..header };
        prop_assert_eq!(packet.header(), changed);
        prop_assert!(packet.checksum_ok());
    }

    #[test]
    fn ipv6_there_and_back(
        traffic_class: u8, flow_label in 0..1u32 << 20, payload_len in 0..100u16,
        next_header: u8, hop_limit: u8, src: u128, dst: u128,
    ) {
        let (src, dst) = (Ipv6Addr::from(src), Ipv6Addr::from(dst));
        let header = Ipv6Header {
            traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst,
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes.resize(200, 0);
        prop_assert_eq!(Ipv6::new(bytes).unwrap().header(), header);
    }

    #[test]
    fn transport_there_and_back(
        tcp in tcp_headers(), icmp: (u8, u8, [u8; 4]), src: u32, dst: u32,
        payload in prop::collection::vec(any::<u8>(), 0..50), flip in 0..20usize,
    ) {
        let with_payload = |header: &[u8]| [header, &payload].concat();
        let mut bytes = with_payload(&tcp.to_bytes());
        let mut segment = Tcp::new(&mut bytes).unwrap();
        segment.fill_checksum(src, dst);
        prop_assert_eq!(segment.header(), tcp);
        prop_assert!(segment.checksum_ok(src, dst));
        prop_assert_eq!(segment.payload(), &payload[..]);
        bytes[flip] ^= 1;
        if let Ok(damaged) = Tcp::new(&bytes) {
            prop_assert!(!damaged.checksum_ok(src, dst));
        }

        let (src_port, dst_port) = (tcp.src_port, tcp.dst_port);
        let header = UdpHeader { src_port, dst_port, payload_len: payload.len() as u16 };
        let mut bytes = with_payload(&header.to_bytes());
        let mut datagram = Udp::new(&mut bytes).unwrap();
        datagram.fill_checksum(src, dst);
        prop_assert_ne!(datagram.checksum(), 0);
        prop_assert!(datagram.checksum_ok(src, dst));
        prop_assert_eq!((datagram.src_port(), datagram.dst_port()), (src_port, dst_port));
        prop_assert_eq!(datagram.payload(), &payload[..]);

        let header = IcmpHeader { kind: icmp.0, code: icmp.1, rest: icmp.2 };
        let mut out = [0; 100];
        let len = header.write(&payload, &mut out).unwrap();
        let message = Icmp::new(&out[..len]).unwrap();
        prop_assert_eq!(message.header(), header);
        prop_assert!(message.checksum_ok());
        prop_assert_eq!(message.payload(), &payload[..]);
    }

    /// A crafted frame parses, whatever its fields, and shows them.
    #[test]
    fn craft_there_and_back(
        ip in ipv4_headers(), tcp in tcp_headers(), tag: Option<u16>,
        options in prop::collection::vec(any::<u8>(), 0..41),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let frame = Frame {
            vlan: tag.map(Tci), src: ip.src, dst: ip.dst, tos: ip.tos, ident: ip.ident, ttl: ip.ttl,
            options: &options, payload: &payload, body: Body::Tcp { header: tcp, options: &options },
            ..Frame::default()
        }.build();
        let layers = layers::parse(&frame).unwrap();
        prop_assert_eq!((layers.vlan, layers.ether_type), (tag, ETHERTYPE_IPV4));
        let packet = Ipv4::new(&frame[usize::from(layers.l3)..]).unwrap();
        prop_assert!(packet.checksum_ok());
        let segment = Tcp::new(packet.payload()).unwrap();
        prop_assert!(segment.checksum_ok(ip.src, ip.dst));
        prop_assert_eq!(segment.header(), tcp);
        prop_assert_eq!(segment.payload(), &payload[..]);
    }
}

proptest! {
    // Many cases: rare lengths are what a panic would need, and each case is quick.
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn nothing_panics(mut bytes in any_bytes(), n: u16) {
        let _ = layers::quoted(&bytes);
        if let Ok(layers) = layers::parse(&bytes) {
            // What later steps rely on without asking again.
            let (l3, l4, end) = (layers.l3.into(), layers.l4.into(), layers.l3_end.into());
            prop_assert!(14 <= l3 && l3 <= end && end <= bytes.len(), "{:?}", layers);
            if layers.ether_type == ETHERTYPE_IPV4 {
                prop_assert!(Ipv4::new(&bytes[l3..]).is_ok());
            }
            prop_assert!(l4 == 0 || l3 + 20 <= l4 && l4 + 8 <= end, "{:?}", layers);
        }
        let _ = Tag::of(&bytes);
        let _ = Ethernet::new(&bytes).map(|v| (v.header(), v.payload().len()));
        let _ = Arp::new(&bytes).map(|v| v.message());
        let _ = Ipv6::new(&bytes).map(|v| (v.header(), v.payload().len()));
        if let Ok(mut packet) = Ipv4::new(&mut bytes[..]) {
            let _ = (packet.header(), packet.checksum_ok(), packet.options().set());
            packet.payload_mut().fill(n as u8);
            packet.set_ttl(n as u8);
            packet.fill_checksum();
            prop_assert!(packet.checksum_ok());
        }
        if let Ok(mut segment) = Tcp::new(&mut bytes[..]) {
            let _ = (segment.header(), segment.seq_len(), segment.options().count());
            segment.fill_checksum(1, 2);
            segment.clamp_mss(n);
            prop_assert!(segment.checksum_ok(1, 2));
            prop_assert!(segment.mss().is_none_or(|mss| mss <= n));
        }
        if let Ok(mut datagram) = Udp::new(&mut bytes[..]) {
            datagram.fill_checksum(1, 2);
            prop_assert!(datagram.checksum_ok(1, 2) && datagram.payload().len() < 65_528);
        }
        if let Ok(mut message) = Icmp::new(&mut bytes[..]) {
            let _ = (message.ident(), message.sequence(), message.gateway(), message.mtu());
            message.payload_mut().fill(7);
            message.fill_checksum();
            prop_assert!(message.checksum_ok());
        }
        let _ = vlan::pop(&mut bytes);
        let _ = vlan::push(&mut bytes, Tag { tpid: n, tci: Tci(n) });
    }
}

/// Bytes that look like something more often than chance would have them.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        2 => Just(vec![]),
        1 => Just(vec![0x45, 0, 0, 40]),
        1 => Just([&[0; 12][..], &[0x08, 0x00, 0x45, 0, 0, 40]].concat()),
        1 => Just([&[0; 12][..], &[0x81, 0x00, 0, 1, 0x08, 0x00, 0x48, 0, 0, 60]].concat()),
        1 => Just([&[0; 12][..], &[0x86, 0xdd, 0x60]].concat()),
        1 => Just([&[0; 12][..], &[0x50]].concat()),
        1 => Just([&[0; 12][..], &[0xf0]].concat()),
    ];
    (start, prop::collection::vec(any::<u8>(), 0..100))
        .prop_map(|(start, rest)| [start, rest].concat())
}
