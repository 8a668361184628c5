//! Matchers of firewall rules. The matchers of a rule are tried in the documented order ([`ORDER`]),
//! cheap before costly; the first that fails ends it.
//!
//! ```text
//! in-interface ─ out-interface ─ protocol ─ … ─ connection-state ─ random ─ nth ─ limit ─ content
//! └── constant for a flow: tried at once by the gate ──┘            └── remember something ──┘
//! ```
//!
//! Each matcher with a memory or a syntax of its own has a file in `matcher/`.
//!
//! A matcher that looks at something that is not constant for a flow says so in the trace,
//! whether it matched or not; one that remembers, or reads the payload, forbids a recipe.

pub mod block;
pub mod classifier;
pub mod connection;
pub mod dst_limit;
pub mod hours;
pub mod layer7;
// Programs of peer-to-peer networks.
pub mod name;
pub(crate) mod p2p;
pub mod rate;
pub mod scan;
// What only packets of IPv6 are asked for.
pub(crate) mod v6;

use self::block::ConnectionLimit;
use self::classifier::Classifier;
use self::connection::Between;
use self::dst_limit::DstLimit;
use self::hours::Hours;
use self::layer7::{Part, Pattern};
use self::scan::Scan;
use crate::firewall::address_list::AddressLists;
use crate::firewall::address_list::dynamic::ListKey;
use crate::firewall::connection::service::Service;
use crate::firewall::mark::Mark;
use crate::firewall::rule::Books;
use crate::firewall::state::SlotId;
use crate::firewall::syntax::{FlagTest, IcmpOptions, Limit, Nth, Ttl};
use crate::interface::InterfaceId;
use crate::packet::View;
use std::collections::HashMap;
use std::sync::LazyLock;
use wire::ipv4::OptionSet;
use wire::layers::protocol;
use wire::{Ipv4, Ipv4Range, MacAddr, Tcp, TcpFlags};

/// The order in which a rule's matchers are tried: RouterOS's, position 1 first. Observable only
/// where a matcher remembers something (`random`, `nth`, `limit`): it sees what passed everything
/// before it. `connection-nat-state`, `tls-host` and lists of interfaces are younger than the list and
/// stand where the current manual has them; `time` is in neither and comes last.
pub const ORDER: [&str; 52] = [
    "in-interface",
    "out-interface",
    "in-interface-list",
    "out-interface-list",
    "protocol",
    "fragment",
    "src-mac-address",
    "in-bridge-port",
    "out-bridge-port",
    "in-bridge-port-list",
    "out-bridge-port-list",
    "src-address",
    "dst-address",
    "src-address-type",
    "dst-address-type",
    "dst-address-list",
    "src-address-list",
    "ttl",
    "dscp",
    "packet-size",
    "tls-host",
    "ipv4-options",
    "dst-port",
    "src-port",
    "port",
    "tcp-flags",
    "tcp-mss",
    "icmp-options",
    "ingress-priority",
    "priority",
    "packet-mark",
    "routing-mark",
    "routing-table",
    "hotspot",
    "connection-mark",
    "connection-state",
    "connection-nat-state",
    "connection-bytes",
    "connection-limit",
    "connection-rate",
    "ipsec-policy",
    "connection-type",
    "random",
    "psd",
    "nth",
    "limit",
    "dst-limit",
    "per-connection-classifier",
    "p2p",
    "content",
    "layer7-protocol",
    "time",
];

/// The place of a matcher in the [`ORDER`]; `None` for a property that is none.
pub(crate) fn place(name: &str) -> Option<usize> {
    static PLACES: LazyLock<HashMap<&str, usize>> =
        LazyLock::new(|| ORDER.iter().enumerate().map(|(place, &name)| (name, place)).collect());
    PLACES.get(name).copied()
}

/// One matcher of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matcher {
    /// `!`: matches what `what` does not. (Where there is nothing to look at, neither matches.)
    pub(crate) not: bool,
    pub(crate) what: What,
}

/// What is compared with what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    InInterface(Box<[InterfaceId]>),
    OutInterface(Box<[InterfaceId]>),
    Protocol(u8),
    Fragment,
    /// `ipsec-policy`: whether it came encrypted, or leaves so (`out`).
    Ipsec {
        out: bool,
        is: bool,
    },
    SrcMac(MacAddr),
    InBridgePort(InterfaceId),
    OutBridgePort(InterfaceId),
    InBridgePortList(Box<[InterfaceId]>),
    OutBridgePortList(Box<[InterfaceId]>),
    SrcAddress(Ipv4Range),
    DstAddress(Ipv4Range),
    /// A set of [`AddressType::bit`](crate::packet::AddressType::bit)s.
    SrcAddressType(u8),
    DstAddressType(u8),
    DstAddressList(List),
    SrcAddressList(List),
    Ttl(Ttl),
    Dscp(u8),
    PacketSize(u16, u16),
    Ipv4Options(Ipv4Options),
    DstPort(Box<[(u16, u16)]>),
    SrcPort(Box<[(u16, u16)]>),
    Port(Box<[(u16, u16)]>),
    TcpFlags(FlagTest),
    TcpMss(u16, u16),
    IcmpOptions(IcmpOptions),
    /// One of these.
    PacketMark(Box<[Mark]>),
    RoutingMark(Mark),
    /// The table of a mark alone; of none, main.
    RoutingTable(Mark),
    ConnectionMark(Mark),
    /// A set of [`ConnectionState::bit`](crate::packet::ConnectionState::bit)s.
    ConnectionState(u8),
    /// 1: the source is translated; 2: the destination.
    ConnectionNatState(u8),
    Random(u8),
    Nth(Nth, SlotId),
    Limit(Limit, SlotId),
    Content(Box<[u8]>),
    TlsHost(Box<[u8]>),
    IngressPriority(u8),
    Priority(u8),
    ConnectionBytes(Between),
    ConnectionLimit(ConnectionLimit, SlotId),
    ConnectionRate(Between),
    ConnectionType(Service),
    Psd(Scan, SlotId),
    DstLimit(DstLimit, SlotId),
    Classifier(Classifier),
    Layer7(Pattern),
    Time(Hours),
    /// Something of IPv6.
    V6(v6::OfIpv6),
}

/// An address list: its configured entries, and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Number in [`AddressLists`].
    pub(crate) set: u32,
    pub(crate) key: ListKey,
}

impl List {
    #[inline]
    fn has(self, address: u32, lists: &AddressLists, books: &Books) -> bool {
        lists.get(self.set).contains(address) || books.state.lists.contains(self.key, address)
    }
}

/// `ipv4-options`: which options the packet has to have, or must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ipv4Options {
    Any,
    None,
    Some(OptionSet),
    No(OptionSet),
}

impl Ipv4Options {
    /// The meaning of one of the property's words.
    pub(crate) fn parse(word: &str) -> Option<Ipv4Options> {
        use Ipv4Options::{Any, No, None as Nothing, Some as Has};
        Some(match word {
            "any" => Any,
            "none" => Nothing,
            "loose-source-routing" => Has(OptionSet::LOOSE_SOURCE_ROUTING),
            "strict-source-routing" => Has(OptionSet::STRICT_SOURCE_ROUTING),
            "no-source-routing" => No(OptionSet::SOURCE_ROUTING),
            "record-route" => Has(OptionSet::RECORD_ROUTE),
            "no-record-route" => No(OptionSet::RECORD_ROUTE),
            "router-alert" => Has(OptionSet::ROUTER_ALERT),
            "no-router-alert" => No(OptionSet::ROUTER_ALERT),
            "timestamp" => Has(OptionSet::TIMESTAMP),
            "no-timestamp" => No(OptionSet::TIMESTAMP),
            _ => return None,
        })
    }

    fn holds(self, set: OptionSet) -> bool {
        match self {
            Ipv4Options::Any => !set.is_empty(),
            Ipv4Options::None => set.is_empty(),
            Ipv4Options::Some(wanted) => set.intersects(wanted),
            Ipv4Options::No(unwanted) => !set.intersects(unwanted),
        }
    }
}

impl Matcher {
    /// Whether it looks into an address list.
    pub(crate) fn asks_list(&self) -> bool {
        matches!(self.what, What::SrcAddressList(_) | What::DstAddressList(_) | What::V6(_))
    }

    /// Whether the packet matches; notes in the trace what it looked at.
    pub(crate) fn matches(&self, view: &View, lists: &AddressLists, books: &mut Books) -> bool {
        // Nothing to look at (no ports in a later fragment): no match, with or without `!`.
        self.what.holds(view, lists, books).is_some_and(|holds| holds != self.not)
    }
}

impl What {
    fn holds(&self, view: &View, lists: &AddressLists, books: &mut Books) -> Option<bool> {
        let tuple = &view.layers.tuple;
        let trace = &mut *books.trace;
        Some(match self {
            What::InInterface(set) => set.contains(&view.in_interface),
            What::OutInterface(set) => set.contains(&view.out_interface),
            What::Protocol(protocol) => tuple.protocol == *protocol,
            What::Fragment => view.layers.later_fragment,
            What::Ipsec { out, is } => view.ipsec[usize::from(*out)] == *is,
            What::SrcMac(mac) => {
                if !view.in_interface.is_some() {
                    return None;
                }
                trace.looked_at_src_mac(view.src_mac());
                view.src_mac() == *mac
            }
            // A host may move to another port of the bridge while its flows live on.
            What::InBridgePort(port) => {
                trace.once = true;
                view.in_bridge_port == *port
            }
            What::OutBridgePort(port) => {
                trace.once = true;
                view.out_bridge_port == *port
            }
            What::InBridgePortList(ports) => {
                trace.once = true;
                ports.contains(&view.in_bridge_port)
            }
            What::OutBridgePortList(ports) => {
                trace.once = true;
                ports.contains(&view.out_bridge_port)
            }
            What::SrcAddress(range) => range.contains(tuple.src),
            What::DstAddress(range) => range.contains(tuple.dst),
            What::SrcAddressType(set) => {
                view.routes.address_type(view.vrf, tuple.src).bit() & set != 0
            }
            What::DstAddressType(set) => {
                view.routes.address_type(view.vrf, tuple.dst).bit() & set != 0
            }
            What::RoutingTable(table) => {
                view.routes.target(view.routes.lookup_in(*table, tuple.dst)).is_some()
            }
            What::DstAddressList(list) => list.has(tuple.dst, lists, books),
            What::SrcAddressList(list) => list.has(tuple.src, lists, books),
            What::Ttl(ttl) => {
                let n = *view.ip().get(8)?;
                trace.looked_at_ttl(n);
                (ttl.range.0 <= n && n <= ttl.range.1) != ttl.not
            }
            What::Dscp(dscp) => {
                let tos = tos(view)?;
                trace.looked_at_tos(tos);
                tos >> 2 == *dscp
            }
            What::PacketSize(min, max) => {
                trace.looked_at_len(view.ip_len, *min, *max);
                (*min..=*max).contains(&view.ip_len)
            }
            What::Ipv4Options(options) => options.holds(Ipv4::new(view.ip()).ok()?.options().set()),
            What::DstPort(ports) => holds_port(ports, has_ports(view)?.dst_port),
            What::SrcPort(ports) => holds_port(ports, has_ports(view)?.src_port),
            What::Port(ports) => {
                let tuple = has_ports(view)?;
                holds_port(ports, tuple.src_port) || holds_port(ports, tuple.dst_port)
            }
            What::TcpFlags(want) => {
                let flags = tcp_flags(view)?;
                trace.looked_at_flags(flags, want.set | want.unset);
                flags & want.set == want.set && flags & want.unset == 0
            }
            What::TcpMss(min, max) => {
                const SYN: u8 = TcpFlags::SYN.0;
                let flags = tcp_flags(view)?;
                trace.looked_at_flags(flags, SYN);
                if flags & SYN == 0 {
                    return None;
                }
                trace.once = true;
                (*min..=*max).contains(&Tcp::new(view.transport()).ok()?.mss()?)
            }
            What::IcmpOptions(want) => {
                let [kind, code] = *view.transport().first_chunk()?;
                if tuple.protocol != protocol::ICMP {
                    return None;
                }
                trace.looked_at_icmp(kind, code);
                kind == want.kind && want.codes.0 <= code && code <= want.codes.1
            }
            What::PacketMark(marks) => marks.contains(&view.marks.packet),
            What::RoutingMark(mark) => view.marks.routing == *mark,
            // A connection's recipes end when its mark changes.
            What::ConnectionMark(mark) => view.connection_mark == *mark,
            What::ConnectionState(set) => view.connection_state.bit() & set != 0,
            What::ConnectionNatState(set) => {
                (u8::from(view.srcnat) | u8::from(view.dstnat) << 1) & set != 0
            }
            What::Random(percent) => {
                trace.once = true;
                books.state.throw(*percent)
            }
            What::Nth(nth, slot) => {
                trace.once = true;
                books.state.count(*slot, *nth)
            }
            What::Limit(limit, slot) => {
                trace.once = true;
                books.state.take(*slot, limit, view.ip_len, books.now)
            }
            What::Content(text) => {
                trace.once = true;
                payload(view).windows(text.len()).any(|window| window == &**text)
            }
            What::TlsHost(pattern) => {
                if tuple.protocol != protocol::TCP {
                    return None;
                }
                trace.once = true;
                name::is_like(wire::tls::server_name(payload(view))?, pattern)
            }
            What::Priority(priority) => view.marks.priority == *priority,
            // Frames of one VLAN may differ; those without a tag have none.
            What::IngressPriority(priority) => {
                trace.once |= view.ingress_priority.is_some();
                view.ingress_priority.unwrap_or(0) == *priority
            }
            What::ConnectionBytes(between) => {
                between.holds_of_bytes(view.connection.bytes(view.ip_len)?, trace)
            }
            What::ConnectionLimit(limit, slot) => {
                let connections = view.connection.connections?;
                let (original, _) = view.connection.key(books.now)?;
                trace.once = true;
                let blocks = books.state.blocks.entry(*slot).or_default();
                blocks.exceed(*limit, tuple.src, original, |tuple| connections.counts(tuple))
            }
            What::ConnectionRate(between) => {
                let ported = matches!(tuple.protocol, protocol::TCP | protocol::UDP);
                let connections = view.connection.connections.filter(|_| ported)?;
                let (key, bytes) =
                    (view.connection.key(books.now)?, view.connection.bytes(view.ip_len)?);
                trace.once = true;
                let now_ms = books.now.as_millis_u32();
                let lives = |key: &connection::Key| connections.lives(key);
                between.contains(books.state.rates.of(key, bytes, now_ms, lives))
            }
            // A connection is announced or not from its first packet on.
            What::ConnectionType(service) => view.connection.announced() == Some(*service),
            What::Psd(scan, slot) => {
                let port = has_ports(view)?.dst_port;
                trace.once = true;
                let sources = books.state.sources.entry(*slot).or_default();
                sources.is_scan(scan, tuple.src, port, books.now)
            }
            What::DstLimit(limit, slot) => {
                trace.once = true;
                let buckets = books.state.buckets.entry(*slot).or_default();
                buckets.take(limit, tuple, view.ip_len, books.now)
            }
            What::Classifier(classifier) => classifier.holds(tuple),
            What::Layer7(pattern) => {
                let connections = view.connection.connections?;
                let connection = view.connection.key(books.now)?;
                let seen = std::mem::replace(&mut trace.layer7, true);
                let part = Part { connection, payload: payload(view), seen };
                let lives = |key: &connection::Key| connections.lives(key);
                let (matches, decided) = books.state.payloads.matches(pattern, &part, lives);
                trace.once |= !decided;
                matches
            }
            What::Time(hours) => books.state.clock.is(hours, books.now),
            What::V6(what) => return what.holds(view, lists, books),
        })
    }
}

/// The TOS byte, which IPv6 calls the traffic class.
fn tos(view: &View) -> Option<u8> {
    match view.ip() {
        &[first, second, ..] if first >> 4 == 6 => Some(first << 4 | second >> 4),
        ip => ip.get(1).copied(),
    }
}

/// The ports, if the packet has any: not a later fragment, not another protocol.
fn has_ports<'a>(view: &View<'a>) -> Option<&'a wire::FiveTuple> {
    let is_port_protocol = matches!(view.layers.protocol, protocol::TCP | protocol::UDP);
    (view.layers.l4 != 0 && is_port_protocol).then_some(&view.layers.tuple)
}

fn holds_port(ports: &[(u16, u16)], port: u16) -> bool {
    ports.iter().any(|&(low, high)| low <= port && port <= high)
}

fn tcp_flags(view: &View) -> Option<u8> {
    let is_tcp = view.layers.protocol == protocol::TCP;
    if is_tcp { view.transport().get(13).copied() } else { None }
}

/// What the transport header carries; for protocols without one, and later fragments, what IP
/// carries.
pub(super) fn payload<'a>(view: &'a View) -> &'a [u8] {
    let transport = view.transport();
    let header_len = match view.layers.protocol {
        _ if transport.is_empty() => {
            let ip = view.ip();
            let header_len = ip.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
            return ip.get(header_len..).unwrap_or(&[]);
        }
        protocol::TCP => transport.get(12).map_or(0, |b| usize::from(b >> 4) * 4),
        _ => 8,
    };
    transport.get(header_len..).unwrap_or(&[])
}
