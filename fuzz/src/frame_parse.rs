//! Any bytes as a frame.
//!
//! `layers::parse` must keep its promise about offsets, for later steps rely on it; every view must
//! show something, and keep checksums right when it changes a field.

use std::net::IpAddr;
use wire::gre::{self, Gre};
use wire::layers::{self, ETHERTYPE_IPV4, Layers};
use wire::{
    Arp, Ethernet, Icmp, Ipv4, Ipv6, Tcp, Udp, checksum, ike, l2tp, l2tp3, lacp, ldp, vlan, vrrp,
    wireguard,
};

/// Reads `input` as a frame, and what follows each offset as each format.
pub fn run(input: &[u8]) {
    for layers in [layers::parse(input), layers::network(input)].into_iter().flatten() {
        offsets(&layers, input.len());
    }
    if let Ok(layers) = layers::quoted(input) {
        assert!(usize::from(layers.l4) <= input.len(), "{layers:?}");
        assert!(usize::from(layers.l3_end) <= input.len(), "{layers:?}");
    }
    tags(input);
    for skip in [0, 14, 18, 34] {
        if let Some(rest) = input.get(skip..) {
            views(rest);
        }
    }
}

/// What `layers` promises: its offsets can be used without another look at the length.
fn offsets(layers: &Layers, len: usize) {
    let Layers { l3, l4, l3_end, .. } = *layers;
    assert!(l3 >= 14 && l3 <= l3_end && usize::from(l3_end) <= len, "{layers:?} of {len} bytes");
    if layers.ether_type == ETHERTYPE_IPV4 {
        assert!(l3_end - l3 >= 20, "{layers:?}");
        assert_eq!(layers.tuple.protocol, layers.protocol);
    }
    if l4 != 0 {
        assert!(l4 >= l3 + 20 && l4 <= l3_end, "{layers:?} of {len} bytes");
        assert!(!layers.later_fragment, "{layers:?}");
    }
}

fn tags(input: &[u8]) {
    let mut room = input.to_vec();
    if let Some(tag) = vlan::Tag::of(input) {
        assert_eq!(vlan::pop(&mut room), Some(tag));
        assert!(vlan::push(&mut room, tag));
        assert_eq!(room, input, "popped and pushed again");
    }
}

fn views(bytes: &[u8]) {
    let _ = format!("{:?}", (checksum::of(bytes), checksum::is_ok(bytes)));
    if let Ok(frame) = Ethernet::new(bytes) {
        let _ = format!("{:?} {:?}", frame.header(), frame.payload());
    }
    // What has a session has its number, and is of one version.
    assert!(l2tp3::in_ip(bytes).is_none() || bytes.len() >= 4);
    if l2tp3::in_udp(bytes).is_some() {
        assert!(bytes.len() >= 8 && l2tp3::is_version_3(bytes) && l2tp::locate(bytes).is_none());
    }
    match Gre::read(bytes) {
        Some(Gre::Packet { at, .. }) => assert!(at <= bytes.len()),
        Some(Gre::Eoip { len, .. }) => assert!(len + gre::EOIP_LEN <= bytes.len()),
        None => {}
    }
    for src in [IpAddr::from([0, 0, 0, 1]), IpAddr::from([1; 16])] {
        let Some(said) = vrrp::Advertisement::read(bytes, src) else { continue };
        assert_eq!(vrrp::Advertisement::read(&said.to_bytes(src), src), Some(said));
    }
    if let Ok(Some((pdu, len))) = ldp::Pdu::first(bytes) {
        assert!(len <= bytes.len());
        for (_, said) in pdu.messages {
            // What was passed over is not there any more.
            if !matches!(said, ldp::Message::Other(_)) {
                let again = ldp::Pdu::read(&ldp::write(1, std::slice::from_ref(&said), &mut 6));
                assert_eq!(again.map(|pdu| pdu.messages), Ok(vec![(7, said)]));
            }
        }
    }
    match wireguard::Message::read(bytes) {
        Some(wireguard::Message::Initiation(said)) => {
            assert_eq!(said.write()[..116], bytes[..116]);
            let [one, two] = wireguard::macs(bytes);
            assert_eq!((one.end, two.end), (two.start, bytes.len()));
        }
        Some(wireguard::Message::Response(said)) => assert_eq!(said.write()[..60], bytes[..60]),
        Some(wireguard::Message::Cookie(said)) => assert_eq!(said.write()[..], *bytes),
        Some(wireguard::Message::Data(said)) => {
            assert_eq!(said.write(), bytes[..wireguard::DATA]);
        }
        None => {}
    }
    if let Some(head) = ike::Header::read(bytes) {
        for one in ike::payloads(head.next, &bytes[ike::HEADER..]).into_iter().flatten() {
            let _ = (ike::Proposal::read_all(one.body), ike::Selector::read_all(one.body));
            let _ = (ike::Notify::read(one.body), ike::deleted(one.body));
        }
    }
    if let Some(said) = lacp::Lacpdu::read(bytes) {
        assert_eq!(lacp::Lacpdu::read(&said.to_bytes()), Some(said));
    }
    if let Ok(arp) = Arp::new(bytes) {
        let _ = format!("{:?}", arp.message());
    }
    if let Ok(packet) = Ipv4::new(bytes) {
        let options: Vec<_> = packet.options().collect();
        let _ = format!("{:?} {options:?} {:?}", packet.header(), packet.options().set());
        assert!(packet.payload().len() <= bytes.len() - 20);
        rewrite_ipv4(bytes);
    }
    if let Ok(packet) = Ipv6::new(bytes) {
        let _ = format!("{:?} {:?}", packet.header(), packet.payload());
    }
    if let Ok(segment) = Tcp::new(bytes) {
        let options: Vec<_> = segment.options().collect();
        let _ = format!("{:?} {options:?} {:?}", segment.header(), segment.mss());
        rewrite_tcp(bytes);
    }
    if let Ok(datagram) = Udp::new(bytes) {
        let _ =
            format!("{:?}", (datagram.src_port(), datagram.payload(), datagram.checksum_ok(1, 2)));
    }
    if let Ok(message) = Icmp::new(bytes) {
        let _ = format!("{:?} {:?} {}", message.header(), message.payload(), message.checksum_ok());
    }
}

/// Changing fields keeps a right checksum right.
fn rewrite_ipv4(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let Ok(mut packet) = Ipv4::new(&mut bytes) else { return };
    packet.fill_checksum();
    packet.set_ttl(packet.ttl().wrapping_sub(1));
    packet.set_tos(!packet.tos());
    packet.set_src(packet.dst());
    packet.set_dst(0x0a00_0001);
    packet.clear_dont_fragment();
    assert!(packet.checksum_ok(), "{:?}", packet.header());
}

fn rewrite_tcp(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let Ok(mut segment) = Tcp::new(&mut bytes) else { return };
    segment.set_src_port(segment.dst_port());
    segment.fill_checksum(1, 2);
    let clamped = segment.clamp_mss(536);
    assert!(segment.checksum_ok(1, 2), "clamped from {clamped:?}");
}
