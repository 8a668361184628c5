//! Question of `/tool explain`: a frame, made of arguments of which most may be left out.
//!
//! ```text
//! in-interface=ether1 dst-address=10.0.2.1 protocol=udp ─► the frame that such a host would send
//! ```
//!
//! What was not said is what is likely: the source a host of the in-interface's network, the MAC
//! addresses those that hosts and router have, a segment the one that its connection expects next.

use super::question6;
use crate::firewall::mark::Mark;
use crate::firewall::syntax::{self, FlagTest, IcmpOptions};
use crate::interface::InterfaceId;
use crate::interface::menu::ETHERNET;
use crate::ip::address;
use crate::parts::Stacked;
use crate::program::Kind;
use crate::router::Router;
use config::{Call, Property, Type, Value};
use std::net::{IpAddr, Ipv4Addr};
use wire::craft::{Body, Frame};
use wire::icmp::IcmpHeader;
use wire::layers::protocol;
use wire::tcp::TcpHeader;
use wire::{FiveTuple, MacAddr, TcpFlags};

const EITHER: Type = Type::Either(&[Type::Address, Type::Address6]);
const PORT: Type = Type::Number(0, 65535);

/// The parameters of the command.
pub(super) static PARAMETERS: [Property; 16] = [
    Property::new(
        "in-interface",
        Type::Reference(&[ETHERNET.path]),
        "The port it comes in by; without one it is the router's own packet.",
    ),
    Property::new("src-mac", Type::Mac, "Who sends the frame; a host's own if left out."),
    Property::new("dst-mac", Type::Mac, "Whom the frame is for; the router if left out."),
    Property::new("src-address", EITHER, "The sender; a neighbour if left out."),
    Property::new("dst-address", EITHER, "The destination.").required(),
    Property::new(
        "protocol",
        Type::Custom(syntax::read_protocol),
        "tcp, udp, icmp, … or a number.",
    )
    .default("tcp"),
    Property::new("src-port", PORT, "The sender's port.").default("50000"),
    Property::new("dst-port", PORT, "The destination's port; 80 for TCP, 53 for UDP."),
    Property::new(
        "tcp-flags",
        Type::Custom(syntax::read_tcp_flags),
        "The flags that are set: syn for a new connection, ack for one that is known.",
    ),
    Property::new("icmp-options", Type::Custom(syntax::read_icmp_options), "ICMP type and code.")
        .default("8:0"),
    Property::new("ttl", Type::Number(0, 255), "The TTL it arrives with.").default("64"),
    Property::new("dscp", Type::Number(0, 63), "The DSCP it arrives with.").default("0"),
    Property::new("size", Type::Number(20, 1900), "Its IP length; the headers' if left out."),
    Property::new("dont-fragment", Type::Bool, "Whether routers must not fragment it.")
        .default("no"),
    Property::new("vlan-id", Type::Number(1, 4094), "The VLAN it is tagged with."),
    Property::new(
        "picture",
        Type::Text,
        "A file for the packet flow as a picture (SVG), with the way lit.",
    ),
];

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Where it comes in; nowhere for the router's own packet.
    pub(super) port: InterfaceId,
    pub(super) frame: Vec<u8>,
}

impl Question {
    /// Reads the arguments.
    pub(super) fn read(r: &Router, call: &Call) -> Result<Question, String> {
        let port = match call.argument("in-interface") {
            Some(Value::Text(name)) => {
                let id = r.program.names.find(&name);
                id.ok_or_else(|| format!("failure: no interface {name}"))?
            }
            _ => InterfaceId::NONE,
        };
        let of_ipv6 = |name| matches!(call.argument(name), Some(Value::Address6(_)));
        if of_ipv6("dst-address") {
            return question6::read(r, call, port);
        }
        if of_ipv6("src-address") {
            return Err("failure: the addresses are of different families".to_string());
        }
        let Some(dst) = ip(call, "dst-address") else {
            return Err("failure: what is the dst-address?".to_string());
        };
        let seen_as = seen_as(r, port);
        let src = match ip(call, "src-address") {
            Some(src) => src,
            None if port.is_some() => a_host_on(r, seen_as).ok_or(
                "failure: what is the src-address? the interface has no address to guess it by",
            )?,
            None => {
                let way = r.v4.routes.lookup(dst);
                let out = match r.v4.routes.target(way) {
                    Some(crate::ip::route::Target::Connected(interface)) => *interface,
                    Some(crate::ip::route::Target::Gateways(ways)) => ways[0].0,
                    _ => InterfaceId::NONE,
                };
                let own = r.v4.routes.pref_src(Mark::NONE, dst);
                own.or_else(|| address::source(&r.program.addresses, out, dst))
                    .ok_or("failure: the router has no address")?
            }
        };
        let mac = |name| match call.argument(name) {
            Some(Value::Mac(mac)) => Some(mac),
            _ => None,
        };
        let number = |name| match call.argument(name) {
            Some(Value::Number(n)) => Some(n),
            _ => None,
        };
        let text = |name| match call.argument(name) {
            Some(Value::Text(text)) => text,
            _ => String::new(),
        };
        let protocol = syntax::protocol_number(&text("protocol")).unwrap_or(protocol::TCP);
        let src_port = number("src-port").unwrap_or(0) as u16;
        let default_port = if protocol == protocol::UDP { 53 } else { 80 };
        let dst_port = number("dst-port").unwrap_or(default_port) as u16;
        let icmp = IcmpOptions::parse(&text("icmp-options"))
            .map_or((8, 0), |options| (options.kind, options.codes.0));
        let body = match protocol {
            protocol::TCP => {
                let tuple = FiveTuple { src, dst, src_port, dst_port, protocol };
                let flags = FlagTest::parse(&text("tcp-flags")).map(|flags| flags.set);
                Body::Tcp { header: segment(r, tuple, flags), options: &[] }
            }
            protocol::UDP => Body::Udp { src_port, dst_port },
            protocol::ICMP => {
                let (kind, code) = icmp;
                let [a, b, c, d] = [0, 1, 0, 1];
                Body::Icmp(IcmpHeader { kind, code, rest: [a, b, c, d] })
            }
            protocol => Body::Ip { protocol },
        };
        let headers = match protocol {
            protocol::TCP => 40,
            protocol::UDP | protocol::ICMP => 28,
            _ => 20,
        };
        let size = number("size").unwrap_or(headers);
        let Some(payload) = size.checked_sub(headers).filter(|&n| n >= 0) else {
            return Err(format!("failure: its headers alone are {headers} bytes"));
        };
        let payload = vec![0; payload as usize];
        let src_mac = mac("src-mac").unwrap_or_else(|| mac_of(r, seen_as, src));
        let dst_mac = mac("dst-mac").unwrap_or_else(|| aimed_at(r, port, seen_as, dst));
        let frame = Frame {
            src_mac,
            dst_mac,
            src,
            dst,
            ttl: number("ttl").unwrap_or(64) as u8,
            tos: (number("dscp").unwrap_or(0) as u8) << 2,
            dont_fragment: call.argument("dont-fragment") == Some(Value::Bool(true)),
            vlan: number("vlan-id").map(|vlan| wire::vlan::Tci::new(vlan as u16, 0)),
            body,
            payload: &payload,
            ..Frame::default()
        };
        Ok(Question { port, frame: frame.build() })
    }
}

/// The TCP header: as its connection expects it, if it has one.
pub(super) fn segment<F: Stacked>(r: &Router, tuple: FiveTuple<F>, flags: Option<u8>) -> TcpHeader {
    let known = F::connections(r).next_segment(&tuple);
    let flags = flags.unwrap_or(match known {
        Some(_) => TcpFlags::ACK.0,
        None => TcpFlags::SYN.0,
    });
    let (seq, ack) = known.unwrap_or_default();
    TcpHeader {
        src_port: tuple.src_port,
        dst_port: tuple.dst_port,
        seq,
        ack,
        flags: TcpFlags(flags),
        window: 65535,
        urgent: 0,
    }
}

fn ip(call: &Call, name: &str) -> Option<u32> {
    match call.argument(name) {
        Some(Value::Address(address)) => Some(Ipv4Addr::into(address)),
        _ => None,
    }
}

/// The interface as IP sees it: the bridge, for a member port.
pub(super) fn seen_as(r: &Router, port: InterfaceId) -> InterfaceId {
    match r.program.interface(port).bridge {
        Some(bridge) => r.program.bridge(bridge).interface,
        None => port,
    }
}

/// An address of the network on an interface that is not the router's own.
fn a_host_on(r: &Router, interface: InterfaceId) -> Option<u32> {
    let own = r.program.addresses.iter().find(|own| own.interface == interface)?;
    let first = own.network.bits().wrapping_add(1);
    Some(if first == own.address { first.wrapping_add(1) } else { first })
}

/// The MAC address of a host: what the router knows, else one that nobody has.
fn mac_of(r: &Router, interface: InterfaceId, address: u32) -> MacAddr {
    const SOMEBODY: MacAddr = MacAddr([0x06, 0, 0, 0, 0, 0x01]);
    mac_known(r, interface, Ipv4Addr::from(address).into()).unwrap_or(SOMEBODY)
}

/// The MAC address of a neighbour, as far as the router knows it.
pub(super) fn mac_known(r: &Router, interface: InterfaceId, address: IpAddr) -> Option<MacAddr> {
    match address {
        IpAddr::V4(address) => {
            let id = r.v4.neighbours.find(interface, address.into())?;
            r.v4.neighbours.mac(id)
        }
        IpAddr::V6(address) => {
            let id = r.v6.neighbours.find(interface, address.into())?;
            r.v6.neighbours.mac(id)
        }
    }
}

/// Whom a host behind a port would send the frame to: the destination itself if it is on the same
/// bridge, else the router.
fn aimed_at(r: &Router, port: InterfaceId, seen_as: InterfaceId, dst: u32) -> MacAddr {
    const SOMEBODY_ELSE: MacAddr = MacAddr([0x06, 0, 0, 0, 0, 0x02]);
    let own = r.program.interface(seen_as);
    if !matches!(own.kind, Kind::Bridge(_)) || port == InterfaceId::NONE {
        return own.mac;
    }
    let mut on = r.program.addresses.iter().filter(|own| own.interface == seen_as).peekable();
    let near = on.peek().is_none() || on.any(|own| own.network.contains(dst));
    if !near || r.program.is_local(dst) {
        return own.mac;
    }
    match mac_of(r, seen_as, dst) {
        MacAddr([0x06, 0, 0, 0, 0, 0x01]) => SOMEBODY_ELSE,
        known => known,
    }
}
