//! The frame of IPv6 that `/tool explain` is asked about, and what there is to read in such a frame.
//!
//! As of IPv4, what was not said is what is likely. An extension header cannot be said.

use super::question::{Question, mac_known, seen_as, segment};
use crate::firewall::mark::Mark;
use crate::firewall::syntax::{self, FlagTest, IcmpOptions};
use crate::interface::InterfaceId;
use crate::ip::family::{Family, ports_of};
use crate::ip::route::Target;
use crate::ipv6::address;
use crate::program::Kind;
use crate::router::Router;
use config::{Call, Value};
use port::Frame;
use std::net::Ipv6Addr;
use wire::icmpv6::{self, kind};
use wire::ipv6::{HEADER_LEN, Ipv6Header, header};
use wire::layers::{self, ETHERTYPE_IPV6, protocol};
use wire::{FiveTuple, Ipv6, Ipv6Prefix, MacAddr};

/// The tuple of a frame's IPv6 packet, and what follows its headers; `None` of any other frame, and of a
/// packet whose headers are not in order.
pub(super) fn tuple(frame: &[u8]) -> Option<(FiveTuple<u128>, &[u8])> {
    let layers = layers::network(frame).ok().filter(|of| of.ether_type == ETHERTYPE_IPV6)?;
    let packet = frame.get(usize::from(layers.l3)..usize::from(layers.l3_end))?;
    let ip = Ipv6::new(packet).ok()?;
    let found = ip.extensions().ok()?;
    let upper = packet.get(usize::from(found.end)..)?;
    let is_later = found.fragment.is_some_and(|(offset, _)| offset != 0);
    let ports = ports_of(found.protocol, upper).filter(|_| !is_later).unwrap_or_default();
    let (src, dst) = (ip.src().into(), ip.dst().into());
    let tuple =
        FiveTuple { src, dst, src_port: ports.0, dst_port: ports.1, protocol: found.protocol };
    Some((tuple, upper))
}

/// The tuple of the packet that an ICMPv6 error quotes.
pub(super) fn quoted(message: &[u8]) -> Option<FiveTuple<u128>> {
    let quote = message.get(icmpv6::HEADER_LEN..)?;
    u128::quoted(quote).map(|quoted| quoted.tuple).filter(|_| icmpv6::is_error(message[0]))
}

/// Whether a frame carries IPv6.
pub(super) fn is_ipv6(r: &Router, frame: &Frame) -> bool {
    r.io.slab.bytes(frame).get(12..14) == Some(&ETHERTYPE_IPV6.to_be_bytes())
}

/// Reads the arguments.
pub(super) fn read(r: &Router, call: &Call, port: InterfaceId) -> Result<Question, String> {
    let number = |name| match call.argument(name) {
        Some(Value::Number(n)) => Some(n),
        _ => None,
    };
    let text = |name| match call.argument(name) {
        Some(Value::Text(text)) => text,
        _ => String::new(),
    };
    let mac = |name| match call.argument(name) {
        Some(Value::Mac(mac)) => Some(mac),
        _ => None,
    };
    let Some(Value::Address6(dst)) = call.argument("dst-address") else {
        return Err("failure: what is the dst-address?".to_string());
    };
    let on = seen_as(r, port);
    let src = match call.argument("src-address") {
        Some(Value::Address6(src)) => src.into(),
        Some(_) => return Err("failure: the addresses are of different families".to_string()),
        None if port.is_some() => a_host_on(r, on).ok_or(
            "failure: what is the src-address? the interface has no address to guess it by",
        )?,
        None => own(r, dst.into()).ok_or("failure: the router has no address")?,
    };
    if call.argument("dont-fragment") == Some(Value::Bool(true)) {
        return Err("failure: no router makes pieces of IPv6's packets".to_string());
    }
    let protocol = match syntax::protocol_number(&text("protocol")).unwrap_or(protocol::TCP) {
        protocol::ICMP => header::ICMPV6,
        other => other,
    };
    let src_port = number("src-port").unwrap_or(0) as u16;
    let default_port = if protocol == protocol::UDP { 53 } else { 80 };
    let dst_port = number("dst-port").unwrap_or(default_port) as u16;
    let upper = match protocol {
        protocol::TCP => {
            let tuple = FiveTuple { src, dst: dst.into(), src_port, dst_port, protocol };
            let flags = FlagTest::parse(&text("tcp-flags")).map(|flags| flags.set);
            segment(r, tuple, flags).to_bytes().to_vec()
        }
        protocol::UDP => [src_port.to_be_bytes(), dst_port.to_be_bytes(), [0; 2], [0; 2]].concat(),
        header::ICMPV6 => {
            let (kind, code) = match IcmpOptions::parse(&text("icmp-options")) {
                Some(options) if (options.kind, options.codes.0) != (8, 0) => {
                    (options.kind, options.codes.0)
                }
                _ => (kind::ECHO_REQUEST, 0),
            };
            vec![kind, code, 0, 0, 0, 1, 0, 1]
        }
        _ => Vec::new(),
    };
    let headers = HEADER_LEN + upper.len();
    let size = number("size").map_or(headers, |size| size as usize);
    if size < headers {
        return Err(format!("failure: its headers alone are {headers} bytes"));
    }
    let mut upper = upper;
    upper.resize(size - HEADER_LEN, 0);
    let header = Ipv6Header {
        traffic_class: (number("dscp").unwrap_or(0) as u8) << 2,
        flow_label: 0,
        payload_len: upper.len() as u16,
        next_header: protocol,
        hop_limit: number("ttl").unwrap_or(64) as u8,
        src: src.into(),
        dst,
    };
    fill_checksum(src, dst.into(), protocol, &mut upper);
    let dst_mac = mac("dst-mac").unwrap_or_else(|| aimed_at(r, port, on, dst.into()));
    let src_mac = mac("src-mac").unwrap_or_else(|| mac_of(r, on, src, 1));
    let tag = number("vlan-id").map(|vlan| [&[0x81, 0][..], &(vlan as u16).to_be_bytes()].concat());
    let tag = tag.unwrap_or_default();
    let ether_type = ETHERTYPE_IPV6.to_be_bytes();
    let head = [&dst_mac.0[..], &src_mac.0, &tag, &ether_type].concat();
    Ok(Question { port, frame: [&head[..], &header.to_bytes(), &upper].concat() })
}

/// Writes the checksum of a transport, where it has one.
pub(super) fn fill_checksum(src: u128, dst: u128, protocol: u8, upper: &mut [u8]) {
    let at = match protocol {
        protocol::TCP => 16,
        protocol::UDP => 6,
        header::ICMPV6 => 2,
        _ => return,
    };
    if upper.len() < at + 2 {
        return;
    }
    if protocol == protocol::UDP {
        let len = (upper.len() as u16).to_be_bytes();
        upper[4..6].copy_from_slice(&len);
    }
    upper[at..at + 2].fill(0);
    let (src, dst, len) = (src.to_be_bytes(), dst.to_be_bytes(), upper.len() as u32);
    let sum = wire::checksum::Sum::pseudo_ipv6(src, dst, protocol, len).bytes(upper).finish();
    let sum = if sum == 0 && protocol == protocol::UDP { 0xffff } else { sum };
    upper[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// An address of the network on an interface that is not the router's own.
fn a_host_on(r: &Router, interface: InterfaceId) -> Option<u128> {
    let on = || r.program.v6.addresses.iter().filter(|own| own.interface == interface);
    let own = on().find(|own| !own.is_link_local()).or_else(|| on().next())?;
    let first = own.network.bits().wrapping_add(1);
    Some(if first == own.address { first.wrapping_add(1) } else { first })
}

/// The router's own address for what it sends there.
fn own(r: &Router, dst: u128) -> Option<u128> {
    let v6 = &r.program.v6;
    let out = match v6.routes.lookup(dst) {
        Some(Target::Local) => return Some(dst),
        Some(Target::Connected(interface)) => *interface,
        Some(Target::Gateways(ways)) => ways[0].0,
        _ => InterfaceId::NONE,
    };
    v6.routes.pref_src(Mark::NONE, dst).or_else(|| address::source(&v6.addresses, out, dst))
}

/// The MAC address of a host: what the router knows, else one that nobody has.
fn mac_of(r: &Router, interface: InterfaceId, address: u128, somebody: u8) -> MacAddr {
    let known = mac_known(r, interface, Ipv6Addr::from(address).into());
    known.unwrap_or(MacAddr([0x06, 0, 0, 0, 0, somebody]))
}

/// Whom a host behind a port would send the frame to.
fn aimed_at(r: &Router, port: InterfaceId, on: InterfaceId, dst: u128) -> MacAddr {
    let (own, v6) = (r.program.interface(on), &r.program.v6);
    let group = Ipv6Addr::from(dst);
    if group.is_multicast() {
        return icmpv6::group_mac(group);
    }
    if !matches!(own.kind, Kind::Bridge(_)) || port == InterfaceId::NONE || v6.is_own(on, dst) {
        return own.mac;
    }
    let near = Ipv6Prefix::LINK_LOCAL.contains(dst) || !v6.is_on(on) || v6.is_neighbour(on, dst);
    if near { mac_of(r, on, dst, 2) } else { own.mac }
}
