//! Sight of a tool: what it sees of a frame on the wire, and which frames it wants to see.
//!
//! ```text
//! frame ─► Sight: MACs, EtherType, VLAN, addresses, protocol, ports ─► Filter ─► torch, sniffer
//! ```
//!
//! Reads what is there: a frame no router would forward is seen as far as it can be read.
//! **Missing**: only the outermost VLAN tag is looked at.

use crate::firewall::syntax;
use crate::interface::InterfaceId;
use crate::interface::bridge::filter::menu::{MAC_PROTOCOL, mac_protocol};
use crate::program::{Kind, Program};
use crate::router::Router;
use config::{Type, Value};
use port::record::Direction;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, protocol};
use wire::{Ipv4Prefix, Ipv6, Ipv6Prefix, Layers, MacAddr};

/// What there is to see of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) src_mac: MacAddr,
    pub(crate) dst_mac: MacAddr,
    /// Behind all VLAN tags.
    pub(crate) ether_type: u16,
    pub(crate) vlan: Option<u16>,
    pub(crate) ip: Option<Ip>,
    /// Bytes without FCS.
    pub(crate) len: usize,
    /// Bytes up to the end of the headers.
    pub(crate) headers: usize,
}

/// What there is to see of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ip {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) dscp: u8,
    /// Source and destination port, if it is TCP or UDP and no later fragment.
    pub(crate) ports: Option<(u16, u16)>,
}

impl Sight {
    /// Looks at a frame.
    pub(crate) fn of(frame: &[u8]) -> Sight {
        let mac = |at: usize| {
            frame
                .get(at..)
                .and_then(<[u8]>::first_chunk)
                .map_or(MacAddr::default(), |b| MacAddr(*b))
        };
        let mut layers = layers::network(frame).unwrap_or_default();
        let ip = match layers.ether_type {
            ETHERTYPE_IPV4 => Some(Ip::of_ipv4(frame, &layers)),
            ETHERTYPE_IPV6 => Ip::of_ipv6(frame, &mut layers),
            _ => None,
        };
        let (l3, l4) = (usize::from(layers.l3), usize::from(layers.l4));
        let headers = match layers.protocol {
            _ if l3 == 0 => 14,
            protocol::TCP if l4 != 0 => {
                l4 + frame.get(l4 + 12).map_or(20, |offset| usize::from(offset >> 4) * 4)
            }
            _ if l4 != 0 => l4 + 8,
            _ if layers.ether_type == ETHERTYPE_IPV4 => {
                l3 + frame.get(l3).map_or(20, |ihl| usize::from(ihl & 0x0f) * 4)
            }
            _ if ip.is_some() => l3 + wire::ipv6::HEADER_LEN,
            _ => l3,
        };
        Sight {
            src_mac: mac(6),
            dst_mac: mac(0),
            ether_type: if layers.ether_type == 0 { ether_type(frame) } else { layers.ether_type },
            vlan: layers.vlan.map(|tci| tci & 0x0fff),
            ip,
            len: frame.len(),
            headers: headers.min(frame.len()),
        }
    }

    /// As from the other end of the wire: what is sent there is the answer to what came from
    /// there.
    pub(crate) fn turned(self) -> Sight {
        let ip = self.ip.map(|ip| Ip {
            src: ip.dst,
            dst: ip.src,
            ports: ip.ports.map(|(src, dst)| (dst, src)),
            ..ip
        });
        Sight { src_mac: self.dst_mac, dst_mac: self.src_mac, ip, ..self }
    }
}

impl Ip {
    fn of_ipv4(frame: &[u8], layers: &Layers) -> Ip {
        let tuple = layers.tuple;
        let has_ports = matches!(layers.protocol, protocol::TCP | protocol::UDP) && layers.l4 != 0;
        Ip {
            src: Ipv4Addr::from(tuple.src).into(),
            dst: Ipv4Addr::from(tuple.dst).into(),
            protocol: layers.protocol,
            dscp: frame.get(usize::from(layers.l3) + 1).map_or(0, |tos| tos >> 2),
            ports: has_ports.then_some((tuple.src_port, tuple.dst_port)),
        }
    }

    /// Walks the extension headers; `layers` says then what is behind them, and where.
    fn of_ipv6(frame: &[u8], layers: &mut Layers) -> Option<Ip> {
        let packet = Ipv6::new(frame.get(usize::from(layers.l3)..)?).ok()?;
        let found = packet.extensions().ok();
        let is_later = |offset: u16| offset != 0;
        let found = found.filter(|found| !found.fragment.is_some_and(|(at, _)| is_later(at)));
        layers.protocol = found.map_or(packet.next_header(), |found| found.protocol);
        layers.l4 = found.map_or(0, |found| layers.l3 + found.end);
        let has_ports = matches!(layers.protocol, protocol::TCP | protocol::UDP);
        let ports = frame.get(usize::from(layers.l4)..).filter(|_| has_ports && layers.l4 != 0);
        let ports = ports.and_then(|upper| upper.first_chunk::<4>());
        Some(Ip {
            src: packet.src().into(),
            dst: packet.dst().into(),
            protocol: layers.protocol,
            dscp: packet.traffic_class() >> 2,
            ports: ports
                .map(|&[a, b, c, d]| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))),
        })
    }
}

/// Of a frame that could not be read further.
fn ether_type(frame: &[u8]) -> u16 {
    frame.get(12..).and_then(<[u8]>::first_chunk).map_or(0, |b| u16::from_be_bytes(*b))
}

/// Which frames a tool wants to see. Lists that are empty want all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Ports of the device, or bridges: then what passes their ports.
    interfaces: Vec<InterfaceId>,
    direction: Option<Direction>,
    /// Every entry of a list must match, not just one.
    every: bool,
    macs: Entries<(MacAddr, MacAddr)>,
    mac_protocols: Entries<(u16, u16)>,
    addresses: Entries<Ipv4Prefix>,
    addresses6: Entries<Ipv6Prefix>,
    protocols: Entries<u8>,
    ports: Entries<(u16, u16)>,
    vlans: Entries<u16>,
}

/// Entries of a list, or all but these.
#[derive(Clone, Debug)]
struct Entries<T> {
    not: bool,
    list: Vec<T>,
}

impl<T> Default for Entries<T> {
    fn default() -> Entries<T> {
        Entries { not: false, list: Vec::new() }
    }
}

impl<T> Entries<T> {
    /// What was typed, as far as `entry` understands it.
    fn read(value: Option<Value>, entry: impl Fn(&Value) -> Option<T>) -> Entries<T> {
        let (not, value) = match value {
            Some(Value::Not(value)) => (true, Some(*value)),
            value => (false, value),
        };
        let list = match value {
            Some(Value::List(values)) => values.iter().filter_map(entry).collect(),
            Some(value) => entry(&value).into_iter().collect(),
            None => Vec::new(),
        };
        Entries { not, list }
    }

    fn want(&self, every: bool, matches: impl FnMut(&T) -> bool) -> bool {
        let mut entries = self.list.iter();
        let found = if every { entries.all(matches) } else { entries.any(matches) };
        self.list.is_empty() || found != self.not
    }
}

/// `filter-mac-address` and the like.
pub(crate) const MACS: Type = Type::Negatable(&Type::List(&Type::MacMask));
/// `filter-mac-protocol`.
pub(crate) const MAC_PROTOCOLS: Type = Type::Negatable(&Type::List(&MAC_PROTOCOL));
/// `filter-ip-address`.
pub(crate) const ADDRESSES: Type = Type::Negatable(&Type::List(&Type::Cidr));
/// `filter-ipv6-address`.
pub(crate) const ADDRESSES6: Type = Type::Negatable(&Type::List(&Type::Cidr6));
/// `filter-ip-protocol`.
pub(crate) const PROTOCOLS: Type =
    Type::Negatable(&Type::List(&Type::Custom(syntax::read_protocol)));
/// `filter-port`.
pub(crate) const PORTS: Type = Type::Negatable(&Type::List(&Type::Custom(read_port)));
/// `filter-vlan`.
pub(crate) const VLANS: Type = Type::Negatable(&Type::List(&Type::Number(0, 4095)));
/// `filter-interface`.
pub(crate) const INTERFACES: Type = Type::List(&Type::Or(&["all"], &super::INTERFACE));

impl Filter {
    /// Reads a filter; `get` gives what was typed for `interface`, `mac-address` …
    pub(crate) fn read(program: &Program, get: impl Fn(&str) -> Option<Value>) -> Filter {
        let text = |name| get(name).map_or(String::new(), |value| value.to_string());
        let interfaces = Entries::read(get("interface"), |name| match name {
            Value::Text(name) if name == "all" => None,
            name => Some(program.names.find(&name.to_string()).unwrap_or(NOBODY)),
        });
        Filter {
            interfaces: interfaces.list,
            direction: match text("direction").as_str() {
                "rx" => Some(Direction::In),
                "tx" => Some(Direction::Out),
                _ => None,
            },
            every: text("operator-between-entries") == "and",
            macs: Entries::read(get("mac-address"), |value| match value {
                Value::MacMask(mac, mask) => Some((*mac, *mask)),
                _ => None,
            }),
            mac_protocols: Entries::read(get("mac-protocol"), |v| mac_protocol(&v.to_string())),
            addresses: Entries::read(get("ip-address"), |value| match value {
                Value::Cidr(address, len) => Some(Ipv4Prefix::new(u32::from(*address), *len)),
                _ => None,
            }),
            addresses6: Entries::read(get("ipv6-address"), |value| match value {
                Value::Cidr6(address, len) => Some(Ipv6Prefix::new(u128::from(*address), *len)),
                _ => None,
            }),
            protocols: Entries::read(get("ip-protocol"), |value| {
                syntax::protocol_number(&value.to_string())
            }),
            ports: Entries::read(get("port"), |value| port_range(&value.to_string())),
            vlans: Entries::read(get("vlan"), |value| match value {
                Value::Number(vlan) => u16::try_from(*vlan).ok(),
                _ => None,
            }),
        }
    }

    /// Of one interface only.
    pub(crate) fn of(interface: InterfaceId) -> Filter {
        Filter { interfaces: vec![interface], ..Filter::default() }
    }

    /// Whether it wants to see what passes by a port this way.
    pub(crate) fn wants_of(&self, program: &Program, port: InterfaceId, way: Direction) -> bool {
        let bridge = program.interface(port).bridge;
        let mut interfaces = self.interfaces.iter();
        let is_it = |&interface: &InterfaceId| {
            let kind = program.interfaces.get(interface.index()).map(|i| i.kind);
            interface == port || bridge.is_some_and(|at| kind == Some(Kind::Bridge(at)))
        };
        (self.interfaces.is_empty() || interfaces.any(is_it))
            && self.direction.is_none_or(|direction| direction == way)
    }

    /// Whether it wants to see a frame like this.
    pub(crate) fn wants(&self, sight: &Sight) -> bool {
        let every = self.every;
        let has_mac = |&(mac, mask): &(MacAddr, MacAddr)| {
            let mask = mask.to_u64();
            [sight.src_mac, sight.dst_mac].iter().any(|m| (m.to_u64() ^ mac.to_u64()) & mask == 0)
        };
        let ip = sight.ip;
        let ports = ip.and_then(|ip| ip.ports);
        let has_port = |&(low, high): &(u16, u16)| {
            ports.is_some_and(|(s, d)| (low..=high).contains(&s) || (low..=high).contains(&d))
        };
        self.macs.want(every, has_mac)
            && self
                .mac_protocols
                .want(every, |&(low, high)| (low..=high).contains(&sight.ether_type))
            && self.wants_addresses(ip)
            && self.protocols.want(every, |&p| ip.is_some_and(|ip| ip.protocol == p))
            && self.ports.want(every, has_port)
            && self.vlans.want(every, |&vlan| sight.vlan == Some(vlan))
    }
}

impl Filter {
    /// Whether it wants these addresses. Where those of both families are named, each packet is asked
    /// about its own.
    fn wants_addresses(&self, ip: Option<Ip>) -> bool {
        let ends = ip.map_or([None; 2], |ip| [Some(ip.src), Some(ip.dst)]);
        let four = || {
            self.addresses.want(self.every, |network| {
                ends.iter().any(
                    |end| matches!(*end, Some(IpAddr::V4(end)) if network.contains(end.into())),
                )
            })
        };
        let six = || {
            self.addresses6.want(self.every, |network| {
                ends.iter().any(
                    |end| matches!(*end, Some(IpAddr::V6(end)) if network.contains(end.into())),
                )
            })
        };
        let both = !self.addresses.list.is_empty() && !self.addresses6.list.is_empty();
        match ends[0] {
            Some(IpAddr::V4(_)) if both => four(),
            Some(IpAddr::V6(_)) if both => six(),
            _ => four() && six(),
        }
    }
}

/// An interface that is gone: nothing passes by it.
const NOBODY: InterfaceId = InterfaceId(u32::MAX);

impl Router {
    /// What an interface is called.
    pub(crate) fn interface_name(&self, id: InterfaceId) -> String {
        self.program.interface(id).name.to_string()
    }
}

/// The ports that have names (RouterOS's words).
const PORT_NAMES: &[(u16, &str)] = &[
    (20, "ftp-data"),
    (21, "ftp"),
    (22, "ssh"),
    (23, "telnet"),
    (25, "smtp"),
    (53, "dns"),
    (67, "bootps"),
    (68, "bootpc"),
    (69, "tftp"),
    (80, "http"),
    (110, "pop3"),
    (123, "ntp"),
    (143, "imap3"),
    (161, "snmp"),
    (162, "snmp-trap"),
    (179, "bgp"),
    (443, "https"),
    (500, "ipsec"),
    (514, "syslog"),
    (520, "rip"),
    (1701, "l2tp"),
    (1723, "pptp"),
    (2000, "btest"),
    (3128, "http-alt"),
    (5678, "discovery"),
    (8080, "http-alt"),
    (8291, "winbox"),
    (8728, "api"),
    (20561, "mac-winbox"),
];

/// `8291 (winbox)`.
pub(crate) fn port_text(port: u16) -> String {
    match PORT_NAMES.iter().find(|(number, _)| *number == port) {
        Some((_, name)) => format!("{port} ({name})"),
        None => port.to_string(),
    }
}

/// `9.9.9.9:443 (https)`, `[2001:db8::9]:443 (https)`.
pub(crate) fn address_text(address: IpAddr, port: Option<u16>) -> String {
    let Some(port) = port else { return address.to_string() };
    // With the address in brackets, where it has colons itself.
    let mut text = SocketAddr::new(address, 0).to_string();
    text.pop();
    text + &port_text(port)
}

/// The ports of `80`, `http`, `8000-8080`.
pub(crate) fn port_range(text: &str) -> Option<(u16, u16)> {
    let port = |text: &str| {
        let named = PORT_NAMES.iter().find(|(_, name)| *name == text).map(|&(number, _)| number);
        named.or_else(|| text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit())))
    };
    // Names may have a `-` in them, too.
    if let Some(one) = port(text) {
        return Some((one, one));
    }
    let (low, high) = text.split_once('-')?;
    let (low, high) = (port(low)?, port(high)?);
    (low <= high).then_some((low, high))
}

/// Reads one of these; a name becomes its number.
pub(crate) fn read_port(text: &str) -> Result<Value, String> {
    match port_range(text) {
        Some((low, high)) if low == high => Ok(Value::Text(low.to_string())),
        Some((low, high)) => Ok(Value::Text(format!("{low}-{high}"))),
        None => Err("a port's number or name (http, dns, winbox, …), or a range of numbers".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::craft::{self, ip};

    #[test]
    fn ports_by_name_number_and_range() {
        for (text, expected) in [
            ("80", Some((80, 80))),
            ("http", Some((80, 80))),
            ("ftp-data", Some((20, 20))),
            ("8000-8080", Some((8000, 8080))),
            ("80-79", None),
            ("+80", None),
            ("65536", None),
            ("", None),
        ] {
            assert_eq!(port_range(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_looked_at(
            frame in prop::collection::vec(any::<u8>(), 0..100),
            ether_type in prop::sample::select(vec![0x0800u16, 0x8100, 0x0806, 0x86dd]),
        ) {
            let mut frame = frame;
            if let Some(at) = frame.get_mut(12..14) {
                at.copy_from_slice(&ether_type.to_be_bytes());
            }
            if let Some(version) = frame.get_mut(14) {
                *version = 0x45;
            }
            let sight = Sight::of(&frame);
            prop_assert!(sight.headers <= frame.len());
            prop_assert_eq!(sight.turned().turned(), sight);
            prop_assert!(Filter::default().wants(&sight));
        }
    }

    #[test]
    fn what_is_there_is_seen() {
        let udp = craft::udp(ip(1, 2, 3, 4), 5, ip(6, 7, 8, 9), 53).build();
        let sight = Sight::of(&udp);
        let seen = sight.ip.unwrap();
        assert_eq!(
            (seen.src, seen.dst, seen.ports),
            (Ipv4Addr::new(1, 2, 3, 4).into(), Ipv4Addr::new(6, 7, 8, 9).into(), Some((5, 53)))
        );
        assert_eq!((sight.ether_type, sight.vlan, sight.headers), (0x0800, None, 14 + 20 + 8));
        assert_eq!(sight.turned().turned(), sight);
        assert_eq!(sight.turned().ip.unwrap().ports, Some((53, 5)));
        // Cut off anywhere, it is seen as far as it goes.
        for len in 0..udp.len() {
            let sight = Sight::of(&udp[..len]);
            assert!(sight.headers <= len, "{len}: {sight:?}");
        }
    }
}
