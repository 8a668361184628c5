//! Frames of IPv4 in IPv6: what hosts say in the one, said in the other, and back.
//!
//! ```text
//! 10.0.n.h ◄─► 2001:db8:a00:n::h     ARP ◄─► neighbour discovery     echo, UDP, TCP, fragments alike
//! ```

use std::net::Ipv6Addr;
use wire::arp::Operation;
use wire::checksum::Sum;
use wire::craft::{Body, Frame};
use wire::icmp::IcmpHeader;
use wire::icmpv6::{self, Neighbour, group_mac, kind, solicited_node};
use wire::ipv6::{HEADER_LEN, Ipv6Header, header};
use wire::layers::{self, ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Layers, protocol};
use wire::{Arp, FiveTuple, Ipv6, MacAddr};

/// The address that has this one's place.
pub(crate) fn address(address: u32) -> Ipv6Addr {
    let [a, b, net, host] = address.to_be_bytes().map(u16::from);
    match a {
        0 => Ipv6Addr::UNSPECIFIED,
        127 => Ipv6Addr::LOCALHOST,
        224..=239 => Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, host),
        240..=255 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
        8 => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, host),
        _ => Ipv6Addr::new(0x2001, 0xdb8, a << 8 | b, net, 0, 0, 0, host),
    }
}

fn back(address: Ipv6Addr) -> Option<u32> {
    let [0x2001, 0xdb8, ab, net, 0, 0, 0, host @ 0..=255] = address.segments() else { return None };
    Some(u32::from(ab) << 16 | u32::from(net) << 8 | u32::from(host))
}

/// An IPv4 or ARP frame in IPv6; what is neither, or damaged, stays as it is.
pub(crate) fn of(frame: Vec<u8>) -> Vec<u8> {
    let Ok(layers) = layers::parse(&frame) else { return frame };
    let l3 = usize::from(layers.l3);
    let ip = &frame[l3..layers.l3_end.into()];
    let payload = match layers.ether_type {
        ETHERTYPE_ARP => return discovery(&frame, l3).unwrap_or(frame),
        ETHERTYPE_IPV4 => &ip[usize::from(ip[0] & 15) * 4..],
        _ => return frame,
    };
    let mut payload = payload.to_vec();
    let next_header = match layers.protocol {
        protocol::ICMP if layers.l4 != 0 => {
            match payload[0] {
                8 => payload[0] = kind::ECHO_REQUEST,
                0 => payload[0] = kind::ECHO_REPLY,
                3 => quote(&mut payload, 1),
                11 => quote(&mut payload, 3),
                _ => {}
            }
            header::ICMPV6
        }
        other => other,
    };
    let tuple = layers.tuple;
    let (src, dst) = (address(tuple.src), address(tuple.dst));
    mend(src, dst, next_header, &mut payload);
    let header = Ipv6Header {
        traffic_class: ip[1],
        flow_label: 0,
        payload_len: payload.len() as u16,
        next_header,
        hop_limit: ip[8],
        src,
        dst,
    };
    [&frame[..l3 - 2], &[0x86, 0xdd], &header.to_bytes(), &payload].concat()
}

/// An error quotes the packet as it is in IPv6.
fn quote(payload: &mut Vec<u8>, kind: u8) {
    payload[0] = kind;
    let framed = [&[0; 12][..], &[8, 0], &payload[8..]].concat();
    let Ok(layers) = layers::quoted(&framed[14..]) else { return };
    let FiveTuple { src, dst, protocol, .. } = layers.tuple;
    let upper = &framed[14 + usize::from(framed[14] & 15) * 4..];
    let next_header = if protocol == protocol::ICMP { header::ICMPV6 } else { protocol };
    let mut upper = upper.to_vec();
    if next_header == header::ICMPV6 && upper.first() == Some(&8) {
        upper[0] = kind::ECHO_REQUEST;
    }
    let header = Ipv6Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: upper.len() as u16,
        next_header,
        hop_limit: 60,
        src: address(src),
        dst: address(dst),
    };
    payload.truncate(8);
    payload.extend(header.to_bytes());
    payload.extend(upper);
}

/// Makes the checksum of a transport right.
fn mend(src: Ipv6Addr, dst: Ipv6Addr, next_header: u8, payload: &mut [u8]) {
    let (at, least) = match next_header {
        protocol::TCP => (16, 20),
        protocol::UDP => (6, 8),
        header::ICMPV6 => (2, 4),
        _ => return,
    };
    if payload.len() < least {
        return;
    }
    payload[at..at + 2].fill(0);
    let len = payload.len() as u32;
    let sum =
        Sum::pseudo_ipv6(src.octets(), dst.octets(), next_header, len).bytes(payload).finish();
    let sum = if sum == 0 && next_header == protocol::UDP { 0xffff } else { sum };
    payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// A solicitation for a request, an advertisement for a reply.
fn discovery(frame: &[u8], l3: usize) -> Option<Vec<u8>> {
    let message = Arp::new(&frame[l3..]).ok()?.message();
    let (src, target) = (address(message.sender_ip), address(message.target_ip));
    let mac = Some(message.sender_mac);
    let asks = message.operation == Operation::Request;
    let group = solicited_node(target);
    let (dst, dst_mac, target) =
        if asks { (group, group_mac(group), target) } else { (target, message.target_mac, src) };
    let (router, solicited, override_) = (false, !asks, !asks);
    let advertisement = !asks;
    let said = Neighbour { advertisement, router, solicited, override_, target, mac };
    let head = [&dst_mac.0[..], &frame[6..l3 - 2]].concat();
    Some(said_by(&head, src, dst, said))
}

fn said_by(head: &[u8], src: Ipv6Addr, dst: Ipv6Addr, said: Neighbour) -> Vec<u8> {
    let (bytes, len) = said.to_bytes();
    let mut payload = bytes[..len].to_vec();
    icmpv6::fill_checksum(src, dst, &mut payload);
    let header = Ipv6Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: len as u16,
        next_header: header::ICMPV6,
        hop_limit: 255,
        src,
        dst,
    };
    [head, &[0x86, 0xdd], &header.to_bytes(), &payload].concat()
}

/// What a host that lives where `lives_here` says advertises when it is asked for.
pub(crate) fn advertise(frame: &[u8], lives_here: impl Fn(u32) -> bool) -> Option<Vec<u8>> {
    let layers = v6(frame)?;
    let l3 = usize::from(layers.l3);
    let ip = Ipv6::new(&frame[l3..]).ok()?;
    let asked = Neighbour::read(ip.payload()).ok().filter(|said| !said.advertisement)?;
    let host = back(asked.target).filter(|&host| lives_here(host))?;
    let mac = super::mac_of(host);
    let (router, solicited, override_, advertisement) = (false, true, true, true);
    let said = Neighbour {
        advertisement,
        router,
        solicited,
        override_,
        target: asked.target,
        mac: Some(mac),
    };
    let head = [&frame[6..12], &mac.0, &frame[12..l3 - 2]].concat();
    Some(said_by(&head, asked.target, ip.src(), said))
}

fn v6(frame: &[u8]) -> Option<Layers> {
    layers::parse(frame).ok().filter(|layers| layers.ether_type == ETHERTYPE_IPV6)
}

/// An IPv6 frame in IPv4, as far as hosts answer it.
pub(crate) fn v4(frame: &[u8]) -> Option<Vec<u8>> {
    let layers = v6(frame)?;
    let l3 = usize::from(layers.l3);
    let ip = Ipv6::new(&frame[l3..]).ok()?;
    let (src, dst) = (back(ip.src())?, back(ip.dst())?);
    let payload = ip.payload();
    let macs = [0, 6].map(|at| MacAddr(*frame[at..].first_chunk().unwrap()));
    let vlan = layers.vlan.map(wire::vlan::Tci);
    let body = match (ip.next_header(), payload) {
        (protocol::UDP | protocol::TCP, _) => Body::Ip { protocol: ip.next_header() },
        (header::ICMPV6, &[kind::ECHO_REQUEST, _, _, _, a, b, ..]) => {
            Body::Icmp(IcmpHeader::echo_request(u16::from_be_bytes([a, b]), 1))
        }
        _ => return None,
    };
    let data = if ip.next_header() == header::ICMPV6 { &payload[8..] } else { payload };
    let [dst_mac, src_mac] = macs;
    Some(
        Frame { dst_mac, src_mac, vlan, src, dst, body, payload: data, ..Frame::default() }.build(),
    )
}

/// The pieces of a packet, of so many bytes each.
pub(crate) fn pieces(frame: &[u8], len: usize) -> Option<Vec<Vec<u8>>> {
    let layers = v6(frame)?;
    let l3 = usize::from(layers.l3);
    let (head, body) = frame[..layers.l3_end.into()].split_at(l3 + HEADER_LEN);
    if body.is_empty() || head[l3 + 6] == header::FRAGMENT {
        return None;
    }
    let chunk = len.max(8) / 8 * 8;
    let piece = |(n, part): (usize, &[u8])| {
        let at = n * chunk;
        let more = u16::from(at + part.len() < body.len());
        let [a, b] = (at as u16 | more).to_be_bytes();
        let mut piece = [head, &[head[l3 + 6], 0, a, b, 0, 0, 0, 7], part].concat();
        piece[l3 + 6] = header::FRAGMENT;
        piece[l3 + 4..l3 + 6].copy_from_slice(&(part.len() as u16 + 8).to_be_bytes());
        piece
    };
    Some(body.chunks(chunk).enumerate().map(piece).collect())
}
