//! Reasons of rules that did not match, for somebody who asks: each rule a packet met, and the first
//! condition, in the documented order, that did not hold.
//!
//! ```text
//! walk ─► gate of rules 0–6 shut, of rule 7 open ─► matchers of 7 ─► …
//!            │ told? each one's conditions again, one by one         │ told? which one failed
//!            └────────────────────► RuleState::told ◄────────────────┘
//! ```
//!
//! The walk itself decides; this only asks the same matchers again for the rules that the gates
//! turned away. Conditions that remember something stand behind all that a gate asks
//! ([`ORDER`](super::matcher::ORDER)), so that asking again changes nothing.

use crate::firewall::connection::service::Service;
use crate::firewall::mark::Mark;
use crate::firewall::matcher::{Matcher, ORDER, What, payload};
use crate::firewall::rule::{Books, Ruleset};
use crate::firewall::syntax::protocol_name;
use crate::interface::InterfaceId;
use crate::packet::{ConnectionState, View};
use crate::trace::Trace;
use config::ItemId;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;
use wire::layers::protocol;

/// What a rule is called, and what its gate stands for.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) item: ItemId,
    /// Its place in the menu.
    pub(crate) number: usize,
    pub(crate) gate: Arc<[Matcher]>,
}

/// A rule that a packet met.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    pub(crate) rule: ItemId,
    /// How many jumps deep.
    pub(crate) depth: usize,
    /// `None`: it matched.
    pub(crate) failed: Option<Failed>,
}

/// The first condition that did not hold: the property, and what the packet has there.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) property: &'static str,
    pub(crate) has: Has,
}

/// What a packet has.
#[derive(Clone, Debug)]
pub(crate) enum Has {
    /// This interface, or none.
    Interface(InterfaceId),
    /// This mark, or none.
    PacketMark(Mark),
    RoutingMark(Mark),
    ConnectionMark(Mark),
    /// This.
    Text(String),
    /// Nothing that could be compared: no ports, no TCP header.
    Nothing,
}

impl<A: Copy> Ruleset<A> {
    /// Tells that the gates of these rules turned the packet away.
    #[cold]
    pub(crate) fn tell_passed_over(&self, rules: Range<u32>, view: &View, books: &mut Books) {
        for at in rules {
            let failed = self.failing(at as usize, view, books);
            self.tell(at, failed, books);
        }
    }

    /// Tells what became of a rule.
    #[cold]
    pub(crate) fn tell(&self, at: u32, failed: Option<Failed>, books: &mut Books) {
        let depth = books.state.returns.len();
        if let (Some(note), Some(told)) = (self.notes.get(at as usize), &mut books.state.told) {
            told.push(Met { rule: note.item, depth, failed });
        }
    }

    /// The first condition, in the documented order, that does not hold.
    fn failing(&self, at: usize, view: &View, books: &mut Books) -> Option<Failed> {
        let (gate, rest) = (&self.notes.get(at)?.gate, &self.rules[at].matchers);
        let mut all: Vec<&Matcher> = gate.iter().chain(rest.iter()).collect();
        all.sort_by_key(|matcher| ORDER.iter().position(|&name| name == matcher.what.name()));
        let mut trace = Trace::default();
        let mut books = Books {
            now: books.now,
            state: books.state,
            trace: &mut trace,
            counters: books.counters,
            log: books.log,
        };
        let mut all = all.into_iter().take_while(|matcher| !matcher.what.remembers());
        let failing = all.find(|matcher| !matcher.matches(view, &self.lists, &mut books))?;
        Some(failing.failed(view))
    }
}

impl Matcher {
    /// What to say of a packet that it did not match.
    pub(crate) fn failed(&self, view: &View) -> Failed {
        Failed { property: self.what.name(), has: self.what.has(view) }
    }
}

impl What {
    /// The property's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            What::InInterface(_) => "in-interface",
            What::OutInterface(_) => "out-interface",
            What::Protocol(_) => "protocol",
            What::Fragment => "fragment",
            What::Ipsec { .. } => "ipsec-policy",
            What::SrcMac(_) => "src-mac-address",
            What::InBridgePort(_) => "in-bridge-port",
            What::OutBridgePort(_) => "out-bridge-port",
            What::InBridgePortList(_) => "in-bridge-port-list",
            What::OutBridgePortList(_) => "out-bridge-port-list",
            What::SrcAddress(_) => "src-address",
            What::DstAddress(_) => "dst-address",
            What::SrcAddressType(_) => "src-address-type",
            What::DstAddressType(_) => "dst-address-type",
            What::RoutingTable(_) => "routing-table",
            What::DstAddressList(_) => "dst-address-list",
            What::SrcAddressList(_) => "src-address-list",
            What::Ttl(_) => "ttl",
            What::Dscp(_) => "dscp",
            What::PacketSize(..) => "packet-size",
            What::Ipv4Options(_) => "ipv4-options",
            What::DstPort(_) => "dst-port",
            What::SrcPort(_) => "src-port",
            What::Port(_) => "port",
            What::TcpFlags(_) => "tcp-flags",
            What::TcpMss(..) => "tcp-mss",
            What::IcmpOptions(_) => "icmp-options",
            What::Priority(_) => "priority",
            What::PacketMark(_) => "packet-mark",
            What::RoutingMark(_) => "routing-mark",
            What::ConnectionMark(_) => "connection-mark",
            What::ConnectionState(_) => "connection-state",
            What::ConnectionNatState(_) => "connection-nat-state",
            What::Random(_) => "random",
            What::Nth(..) => "nth",
            What::Limit(..) => "limit",
            What::Content(_) => "content",
            What::TlsHost(_) => "tls-host",
            What::IngressPriority(_) => "ingress-priority",
            What::ConnectionBytes(_) => "connection-bytes",
            What::ConnectionLimit(..) => "connection-limit",
            What::ConnectionRate(_) => "connection-rate",
            What::ConnectionType(_) => "connection-type",
            What::Psd(..) => "psd",
            What::DstLimit(..) => "dst-limit",
            What::Classifier(_) => "per-connection-classifier",
            What::Layer7(_) => "layer7-protocol",
            What::Time(_) => "time",
            What::V6(what) => what.name(),
        }
    }

    /// Whether two packets that are alike may fare differently.
    pub(crate) fn varies(&self) -> bool {
        self.remembers() || matches!(self, What::Time(_) | What::ConnectionBytes(_))
    }

    /// Whether asking changes what is remembered.
    fn remembers(&self) -> bool {
        matches!(
            self,
            What::Random(_)
                | What::Nth(..)
                | What::Limit(..)
                | What::ConnectionLimit(..)
                | What::ConnectionRate(_)
                | What::Psd(..)
                | What::DstLimit(..)
                | What::Layer7(_)
        )
    }

    /// What the packet has there.
    fn has(&self, view: &View) -> Has {
        let layers = view.layers;
        let tuple = &layers.tuple;
        let ported = layers.l4 != 0 && matches!(layers.protocol, protocol::TCP | protocol::UDP);
        let transport = view.transport();
        let address = |address: u32| Ipv4Addr::from(address).to_string();
        let kind = |address: u32| {
            crate::packet::AddressType::WORDS[view.routes.address_type(view.vrf, address) as usize]
                .to_string()
        };
        Has::Text(match self {
            What::InInterface(_) => return Has::Interface(view.in_interface),
            What::OutInterface(_) => return Has::Interface(view.out_interface),
            What::PacketMark(_) => return Has::PacketMark(view.marks.packet),
            What::RoutingMark(_) => return Has::RoutingMark(view.marks.routing),
            What::ConnectionMark(_) => return Has::ConnectionMark(view.connection_mark),
            What::InBridgePort(_) | What::InBridgePortList(_) => {
                return Has::Interface(view.in_bridge_port);
            }
            What::OutBridgePort(_) | What::OutBridgePortList(_) => {
                return Has::Interface(view.out_bridge_port);
            }
            What::Protocol(_) => protocol_name(tuple.protocol),
            What::Ipsec { out, .. } => {
                let is = if view.ipsec[usize::from(*out)] { "ipsec" } else { "none" };
                format!("{},{is}", if *out { "out" } else { "in" })
            }
            What::Fragment => (if layers.later_fragment { "yes" } else { "no" }).to_string(),
            What::SrcMac(_) if view.in_interface.is_some() => view.src_mac().to_string(),
            What::SrcAddress(_) | What::SrcAddressList(_) => address(tuple.src),
            What::DstAddress(_) | What::DstAddressList(_) => address(tuple.dst),
            What::SrcAddressType(_) => kind(tuple.src),
            What::DstAddressType(_) => kind(tuple.dst),
            What::RoutingTable(_) => "no route there".to_string(),
            What::Ttl(_) => view.ip().get(8).map_or(0, |&ttl| ttl).to_string(),
            What::Priority(_) => view.marks.priority.to_string(),
            What::Dscp(_) => view.ip().get(1).map_or(0, |&tos| tos >> 2).to_string(),
            What::PacketSize(..) => view.ip_len.to_string(),
            What::Ipv4Options(_) => (if layers.options { "others" } else { "none" }).to_string(),
            What::DstPort(_) if ported => tuple.dst_port.to_string(),
            What::SrcPort(_) if ported => tuple.src_port.to_string(),
            What::Port(_) if ported => format!("{} and {}", tuple.src_port, tuple.dst_port),
            What::TcpFlags(_) if layers.protocol == protocol::TCP => {
                transport.get(13).map_or(String::new(), |&flags| tcp_flags(flags))
            }
            What::IcmpOptions(_) if layers.protocol == protocol::ICMP => {
                let [kind, code] = transport.first_chunk().copied().unwrap_or_default();
                format!("{kind}:{code}")
            }
            What::ConnectionState(_) => {
                ConnectionState::WORDS[view.connection_state as usize].to_string()
            }
            What::ConnectionNatState(_) => match (view.srcnat, view.dstnat) {
                (false, false) => "not translated".to_string(),
                (true, false) => "srcnat".to_string(),
                (false, true) => "dstnat".to_string(),
                (true, true) => "srcnat,dstnat".to_string(),
            },
            What::Random(_) => "not this time".to_string(),
            What::Nth(..) => "not this one".to_string(),
            What::Limit(..) => "reached".to_string(),
            What::Content(_) | What::Layer7(_) => "not in it".to_string(),
            What::TlsHost(_) => match wire::tls::server_name(payload(view)) {
                Some(name) => String::from_utf8_lossy(name).into_owned(),
                None => return Has::Nothing,
            },
            What::IngressPriority(_) => view.ingress_priority.unwrap_or(0).to_string(),
            What::ConnectionBytes(_) => match view.connection.bytes(view.ip_len) {
                Some(bytes) => bytes.to_string(),
                None => return Has::Nothing,
            },
            What::ConnectionLimit(..) => "not reached".to_string(),
            What::ConnectionRate(_) => "another rate".to_string(),
            What::ConnectionType(_) => {
                view.connection.announced().map_or("none", Service::name).to_string()
            }
            What::Psd(..) => "no scan".to_string(),
            What::DstLimit(..) => "reached".to_string(),
            What::Classifier(_) => "in another share".to_string(),
            What::Time(_) => "another time".to_string(),
            What::V6(what) => return what.has(view).map_or(Has::Nothing, Has::Text),
            _ => return Has::Nothing,
        })
    }
}

/// `syn,ack`; `none` if none is set.
pub(crate) fn tcp_flags(flags: u8) -> String {
    const NAMES: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
    let set = NAMES.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1);
    let names: Vec<&str> = set.map(|(_, &name)| name).collect();
    if names.is_empty() { "none".to_string() } else { names.join(",") }
}
