//! From a property as typed to a matcher: what one value means, by itself.

use crate::firewall::address_list::AddressLists;
use crate::firewall::address_list::dynamic::ListKey;
use crate::firewall::compile::Setting;
use crate::firewall::connection::service::Service;
use crate::firewall::invalid::Invalid;
use crate::firewall::mark::{Mark, MarkBook, MarkNames};
use crate::firewall::matcher::block::ConnectionLimit;
use crate::firewall::matcher::classifier::Classifier;
use crate::firewall::matcher::connection::Between;
use crate::firewall::matcher::dst_limit::DstLimit;
use crate::firewall::matcher::hours::Hours;
use crate::firewall::matcher::layer7::Patterns;
use crate::firewall::matcher::p2p;
use crate::firewall::matcher::scan::Scan;
use crate::firewall::matcher::v6::{Headers, OfIpv6};
use crate::firewall::matcher::{Ipv4Options, List, Matcher, What};
use crate::firewall::menu::{ALL_ETHERNET, ALL_PPP, ALL_VLAN, NAT_STATES};
use crate::firewall::state::SlotId;
use crate::firewall::syntax::{self, FlagTest, IcmpOptions, Limit, Nth, Ttl};
use crate::interface::bridge::menu;
use crate::interface::{InterfaceId, InterfaceKind, Names};
use crate::ip::rule;
use crate::packet::{AddressType, ConnectionState};
use config::{Item, Value};
use std::collections::HashMap;
use std::sync::Arc;
use wire::ipv6::header;
use wire::{Ipv4Prefix, Ipv4Range, Ipv6Prefix};

/// The text of a property; `None` if it is not set.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// `ipsec-policy` where there is no IPsec: every packet is `none`, which needs no matcher, and none is
/// `ipsec`.
///
/// # Errors
/// The rule can never match.
pub(crate) fn ipsec_policy(item: &Item) -> Result<(), Invalid> {
    match text(item, "ipsec-policy") {
        Some(policy) if policy.ends_with(",ipsec") => Err(Invalid::NoIpsec(policy.to_string())),
        _ => Ok(()),
    }
}

/// Addresses, however they were typed.
pub(crate) fn range(value: &Value) -> Option<Ipv4Range> {
    match *value {
        Value::Range(range) => Some(range),
        Value::Address(address) => Some(Ipv4Prefix::host(address.into()).into()),
        Value::Cidr(address, len) if len <= 32 => Some(Ipv4Prefix::new(address.into(), len).into()),
        _ => None,
    }
}

/// A range of 16-bit numbers, however it was typed.
pub(crate) fn numbers(value: &Value) -> Option<(u16, u16)> {
    match *value {
        Value::Numbers(low, high) => Some((low.try_into().ok()?, high.try_into().ok()?)),
        Value::Number(n) => Some((n.try_into().ok()?, n.try_into().ok()?)),
        _ => None,
    }
}

/// What the matchers of all rules refer to.
pub(crate) struct Surroundings<'a> {
    names: &'a Names,
    lists: &'a AddressLists,
    pub(crate) marks: &'a MarkBook,
    patterns: &'a Arc<Patterns>,
    /// The bridge of each bridge port.
    masters: HashMap<&'a str, &'a str>,
    use_ip_firewall: bool,
    /// Whether there is IPsec.
    pub(crate) ipsec: bool,
    /// Whether the rules are of IPv6.
    pub(crate) v6: bool,
}

impl<'a> Surroundings<'a> {
    pub(crate) fn of(setting: &Setting<'a>) -> Self {
        let &Setting { tree, names, lists, patterns, marks, use_ip_firewall, ipsec, .. } = setting;
        let ports = tree.enabled(menu::PORT.path);
        let masters =
            ports.filter_map(|port| Some((text(port, "interface")?, text(port, "bridge")?)));
        let masters = masters.collect();
        Surroundings { names, lists, patterns, marks, masters, use_ip_firewall, ipsec, v6: false }
    }

    /// Reads one property. `slot` is the memory of the rule, asked for only where it is needed.
    pub(crate) fn matcher(
        &self,
        name: &'static str,
        value: &Value,
        slot: impl FnOnce() -> SlotId,
    ) -> Result<Matcher, Invalid> {
        let (not, plain) = match value {
            Value::Not(plain) => (true, &**plain),
            Value::Bool(yes) => (!yes, value),
            plain => (false, plain),
        };
        let what = match plain {
            Value::Text(text) => self.worded(name, text, slot)?,
            Value::List(values) if name == "packet-mark" => {
                let names = values.iter().filter_map(|value| match value {
                    Value::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                let marks = names.map(|text| mark(name, text, &self.marks.packet));
                Some(What::PacketMark(marks.collect::<Result<_, _>>()?))
            }
            plain => self.plain(name, plain),
        };
        let matcher = Matcher { not, what: what.ok_or(Invalid::Unreadable(name))? };
        if matcher.never() {
            return Err(Invalid::Never(name, typed(value)));
        }
        Ok(matcher)
    }

    fn worded(
        &self,
        name: &'static str,
        text: &str,
        slot: impl FnOnce() -> SlotId,
    ) -> Result<Option<What>, Invalid> {
        Ok(match name {
            "in-interface" => Some(What::InInterface(self.interfaces(name, text)?)),
            "ipsec-policy" => text
                .split_once(',')
                .map(|(way, is)| What::Ipsec { out: way == "out", is: is == "ipsec" }),
            "out-interface" => Some(What::OutInterface(self.interfaces(name, text)?)),
            "in-interface-list" => Some(What::InInterface(self.listed(name, text)?)),
            "out-interface-list" => Some(What::OutInterface(self.listed(name, text)?)),
            "in-bridge-port" => Some(What::InBridgePort(self.bridge_port(name, text)?)),
            "out-bridge-port" => Some(What::OutBridgePort(self.bridge_port(name, text)?)),
            "in-bridge-port-list" => Some(What::InBridgePortList(self.bridge_ports(name, text)?)),
            "out-bridge-port-list" => Some(What::OutBridgePortList(self.bridge_ports(name, text)?)),
            "dst-address-list" if self.v6 => {
                Some(What::V6(OfIpv6::DstAddressList(self.list6(text))))
            }
            "src-address-list" if self.v6 => {
                Some(What::V6(OfIpv6::SrcAddressList(self.list6(text))))
            }
            "headers" => Headers::parse(text).map(OfIpv6::Headers).map(What::V6),
            "protocol" if self.v6 && syntax::protocol_number(text) == Some(header::AH) => {
                Some(What::V6(OfIpv6::Authenticated))
            }
            "protocol" => syntax::protocol_number(text).map(What::Protocol),
            "hop-limit" => Ttl::parse(text).map(OfIpv6::HopLimit).map(What::V6),
            "icmp-options" if self.v6 => {
                IcmpOptions::parse(text).map(OfIpv6::IcmpOptions).map(What::V6)
            }
            "dst-address-list" => Some(What::DstAddressList(self.list(text))),
            "src-address-list" => Some(What::SrcAddressList(self.list(text))),
            "src-address-type" if self.v6 => {
                word(text, AddressType::WORDS).map(OfIpv6::SrcAddressType).map(What::V6)
            }
            "dst-address-type" if self.v6 => {
                word(text, AddressType::WORDS).map(OfIpv6::DstAddressType).map(What::V6)
            }
            "src-address-type" => word(text, AddressType::WORDS).map(What::SrcAddressType),
            "dst-address-type" => word(text, AddressType::WORDS).map(What::DstAddressType),
            "packet-mark" => Some(What::PacketMark([mark(name, text, &self.marks.packet)?].into())),
            "routing-mark" => Some(What::RoutingMark(mark(name, text, &self.marks.routing)?)),
            "routing-table" => {
                let none = || Invalid::TooManyMarks(name, text.to_string());
                let table = rule::table(text, self.marks).ok_or_else(none)?;
                Some(match self.v6 {
                    true => What::V6(OfIpv6::RoutingTable(table)),
                    false => What::RoutingTable(table),
                })
            }
            "connection-mark" => {
                Some(What::ConnectionMark(mark(name, text, &self.marks.connection)?))
            }
            "ttl" => Ttl::parse(text).map(What::Ttl),
            "ipv4-options" => Ipv4Options::parse(text).map(What::Ipv4Options),
            "tcp-flags" => FlagTest::parse(text).map(What::TcpFlags),
            "icmp-options" => IcmpOptions::parse(text).map(What::IcmpOptions),
            "connection-state" => word(text, ConnectionState::WORDS).map(What::ConnectionState),
            "connection-nat-state" => word(text, NAT_STATES).map(What::ConnectionNatState),
            "nth" => Nth::parse(text).map(|nth| What::Nth(nth, slot())),
            "limit" => Limit::parse(text).map(|limit| What::Limit(limit, slot())),
            "connection-bytes" => Between::parse(text).map(What::ConnectionBytes),
            "connection-limit" if self.v6 => {
                let limit = ConnectionLimit::parse(text, 128);
                limit.map(|limit| What::V6(OfIpv6::ConnectionLimit(limit, slot())))
            }
            "connection-rate" if self.v6 => {
                Between::parse(text).map(OfIpv6::ConnectionRate).map(What::V6)
            }
            "dst-limit" if self.v6 => {
                let limit = DstLimit::parse(text);
                limit.map(|limit| What::V6(OfIpv6::DstLimit(limit, slot())))
            }
            "per-connection-classifier" if self.v6 => {
                Classifier::parse(text).map(OfIpv6::Classifier).map(What::V6)
            }
            "connection-limit" => {
                ConnectionLimit::parse(text, 32).map(|limit| What::ConnectionLimit(limit, slot()))
            }
            "connection-rate" => Between::parse(text).map(What::ConnectionRate),
            "connection-type" => {
                let service = Service::named(text);
                let never = || Invalid::Never(name, text.to_string());
                Some(What::ConnectionType(service.ok_or_else(never)?))
            }
            "psd" => Scan::parse(text).map(|scan| What::Psd(scan, slot())),
            "dst-limit" => DstLimit::parse(text).map(|limit| What::DstLimit(limit, slot())),
            "per-connection-classifier" => Classifier::parse(text).map(What::Classifier),
            "layer7-protocol" => {
                let pattern = self.patterns.find(text);
                Some(What::Layer7(pattern.ok_or_else(|| Invalid::NoPattern(text.to_string()))?))
            }
            "p2p" => p2p::find(text).map(What::Layer7),
            "time" => Hours::parse(text).map(What::Time),
            "tls-host" => Some(What::TlsHost(text.as_bytes().into())),
            "content" => Some(What::Content(text.as_bytes().into())),
            _ => None,
        })
    }

    fn plain(&self, name: &str, value: &Value) -> Option<What> {
        Some(match name {
            "fragment" => What::Fragment,
            "protocol" => What::Protocol(numbers(value)?.0.try_into().ok()?),
            "src-mac-address" => match value {
                Value::Mac(mac) => What::SrcMac(*mac),
                _ => return None,
            },
            "src-address" if let Value::Cidr6(address, len) = *value => {
                What::V6(OfIpv6::SrcAddress(Ipv6Prefix::new(address.into(), len)))
            }
            "dst-address" if let Value::Cidr6(address, len) = *value => {
                What::V6(OfIpv6::DstAddress(Ipv6Prefix::new(address.into(), len)))
            }
            "src-address" => What::SrcAddress(range(value)?),
            "dst-address" => What::DstAddress(range(value)?),
            "src-address-type" if self.v6 => {
                What::V6(OfIpv6::SrcAddressType(words(value, AddressType::WORDS)?))
            }
            "dst-address-type" if self.v6 => {
                What::V6(OfIpv6::DstAddressType(words(value, AddressType::WORDS)?))
            }
            "src-address-type" => What::SrcAddressType(words(value, AddressType::WORDS)?),
            "dst-address-type" => What::DstAddressType(words(value, AddressType::WORDS)?),
            "dscp" => What::Dscp(numbers(value)?.0.try_into().ok()?),
            "packet-size" => What::PacketSize(numbers(value)?.0, numbers(value)?.1),
            "tcp-mss" => What::TcpMss(numbers(value)?.0, numbers(value)?.1),
            "dst-port" => What::DstPort(ports(value)?),
            "src-port" => What::SrcPort(ports(value)?),
            "port" => What::Port(ports(value)?),
            "connection-state" => What::ConnectionState(words(value, ConnectionState::WORDS)?),
            "connection-nat-state" => What::ConnectionNatState(words(value, NAT_STATES)?),
            "priority" => What::Priority(numbers(value)?.0.try_into().ok()?),
            "ingress-priority" => What::IngressPriority(numbers(value)?.0.try_into().ok()?),
            "random" => What::Random(numbers(value)?.0.try_into().ok()?),
            _ => return None,
        })
    }

    fn list(&self, name: &str) -> List {
        List { set: self.lists.find(name), key: ListKey::of(name) }
    }

    fn list6(&self, name: &str) -> List {
        List { set: self.lists.find6(name), key: ListKey::of(name) }
    }

    /// The interfaces of this name, as IP sees them.
    fn interfaces(&self, name: &'static str, text: &str) -> Result<Box<[InterfaceId]>, Invalid> {
        let mut ids: Vec<InterfaceId> = if text == ALL_ETHERNET {
            self.names.of_kind(InterfaceKind::Ethernet).collect()
        } else if text == ALL_PPP {
            self.names.of_kind(InterfaceKind::Ppp).collect()
        } else if text == ALL_VLAN {
            self.names.of_kind(InterfaceKind::Vlan).collect()
        } else {
            self.names.find(text).into_iter().collect()
        };
        if ids.is_empty() {
            return Err(Invalid::NoInterface(name, text.to_string()));
        }
        if let Some(&bridge) = self.masters.get(text) {
            return Err(Invalid::Slave(text.to_string(), bridge.to_string()));
        }
        ids.sort_unstable();
        Ok(ids.into())
    }

    /// The interfaces of a list; of a bridge's ports none is seen by IP.
    fn listed(&self, name: &'static str, text: &str) -> Result<Box<[InterfaceId]>, Invalid> {
        let list = self.names.list(text);
        list.map(Into::into).ok_or_else(|| Invalid::NoInterface(name, text.to_string()))
    }

    fn bridge_port(&self, name: &'static str, text: &str) -> Result<InterfaceId, Invalid> {
        let port = self.names.find(text);
        let port = port.ok_or_else(|| Invalid::NoInterface(name, text.to_string()))?;
        if !self.masters.contains_key(text) {
            return Err(Invalid::NotSlave(text.to_string()));
        }
        if self.use_ip_firewall { Ok(port) } else { Err(Invalid::NoIpFirewall(name)) }
    }
}

impl Surroundings<'_> {
    /// The ports of bridges that a list has.
    fn bridge_ports(&self, name: &'static str, text: &str) -> Result<Box<[InterfaceId]>, Invalid> {
        let list = self.names.list(text);
        let list = list.ok_or_else(|| Invalid::NoInterface(name, text.to_string()))?;
        let is_port =
            |&&id: &&InterfaceId| self.masters.keys().any(|port| self.names.find(port) == Some(id));
        let ports: Box<[InterfaceId]> = list.iter().filter(is_port).copied().collect();
        if ports.is_empty() {
            return Err(Invalid::NotSlave(text.to_string()));
        }
        if self.use_ip_firewall { Ok(ports) } else { Err(Invalid::NoIpFirewall(name)) }
    }
}

impl Matcher {
    /// Whether no packet at all can match.
    fn never(&self) -> bool {
        let never = |all: bool, none: bool| if self.not { all } else { none };
        let set = |set: u8, words: &[&str]| never(set.count_ones() == words.len() as u32, set == 0);
        let ports = |ports: &[(u16, u16)]| {
            let covers = |&(low, high): &(u16, u16)| low == 0 && high == u16::MAX;
            never(ports.iter().any(covers), ports.iter().all(|&(low, high)| low > high))
        };
        match &self.what {
            What::SrcAddress(range) | What::DstAddress(range) => {
                never(range.first() == 0 && range.last() == u32::MAX, false)
            }
            What::SrcAddressType(types) | What::DstAddressType(types) => {
                set(*types, AddressType::WORDS)
            }
            What::ConnectionState(states) => set(*states, ConnectionState::WORDS),
            // Untranslated connections exist: the complement is never empty.
            What::ConnectionNatState(states) => never(false, *states == 0),
            What::DstPort(list) | What::SrcPort(list) | What::Port(list) => ports(list),
            // An IPv4 packet has 20 bytes at least.
            What::PacketSize(low, high) => {
                never(*low <= 20 && *high == u16::MAX, low > high || *high < 20)
            }
            What::TcpMss(low, high) => never(*low == 0 && *high == u16::MAX, low > high),
            What::Ttl(ttl) => !ttl.not && ttl.range.0 > ttl.range.1,
            What::TcpFlags(flags) => flags.set & flags.unset != 0,
            What::IcmpOptions(options) => never(false, options.codes.0 > options.codes.1),
            What::Nth(nth, _) => nth.packet == 0 || nth.packet > nth.every,
            What::Limit(limit, _) => limit.burst == 0,
            What::ConnectionBytes(between) => {
                let all = between.from == 0 && between.to.is_none();
                never(all, between.is_empty())
            }
            What::ConnectionRate(between) => {
                let all = between.from == 0 && between.to.is_none();
                never(all, between.is_empty())
            }
            What::DstLimit(limit, _) => limit.limit.burst == 0,
            What::Psd(scan, _) => scan.low == 0 && scan.high == 0 && scan.weight > 0,
            What::Classifier(classifier) => classifier.remainder >= classifier.denominator,
            // A tag has three bits for it.
            What::IngressPriority(priority) => never(false, *priority > 7),
            What::Content(text) => never(text.is_empty(), false),
            What::V6(what) => what.never(self.not),
            _ => false,
        }
    }
}

/// The number of a mark.
fn mark(property: &'static str, name: &str, names: &MarkNames) -> Result<Mark, Invalid> {
    names.find(name).ok_or_else(|| Invalid::TooManyMarks(property, name.to_string()))
}

/// The value as it was typed, for the reason of an invalid rule.
fn typed(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Range(range) => range.to_string(),
        Value::Cidr6(..) => value.to_string(),
        Value::Number(n) => n.to_string(),
        Value::Numbers(low, high) => format!("{low}-{high}"),
        Value::List(values) => values.iter().map(typed).collect::<Vec<_>>().join(","),
        Value::Not(value) => format!("!{}", typed(value)),
        value => format!("{value:?}"),
    }
}

fn word(text: &str, words: &[&str]) -> Option<u8> {
    words.iter().position(|&word| word == text).map(|i| 1 << i)
}

/// The set of a list of words: bits by place in `words`.
fn words(value: &Value, all: &[&str]) -> Option<u8> {
    let Value::List(values) = value else { return None };
    values.iter().try_fold(0, |set, value| match value {
        Value::Text(text) => Some(set | word(text, all)?),
        _ => None,
    })
}

fn ports(value: &Value) -> Option<Box<[(u16, u16)]>> {
    match value {
        Value::List(values) => values.iter().map(numbers).collect(),
        value => Some([numbers(value)?].into()),
    }
}
