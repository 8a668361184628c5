//! Matchers of IPv6 alone: addresses, what counts connections and packets by them, the hop limit, extension
//! headers, ICMPv6.

use crate::firewall::address_list::AddressLists;
use crate::firewall::mark::Mark;
use crate::firewall::matcher::List;
use crate::firewall::matcher::block::ConnectionLimit;
use crate::firewall::matcher::classifier::Classifier;
use crate::firewall::matcher::connection::{Between, Key};
use crate::firewall::matcher::dst_limit::DstLimit;
use crate::firewall::rule::Books;
use crate::firewall::state::SlotId;
use crate::firewall::syntax::{self, IcmpOptions, Ttl};
use crate::packet::{AddressType, View};
use config::Value;
use std::net::Ipv6Addr;
use wire::ipv6::header::{self, ICMPV6};
use wire::layers::protocol;
use wire::{FiveTuple, Ipv6Prefix};

/// What is compared with what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OfIpv6 {
    SrcAddress(Ipv6Prefix),
    DstAddress(Ipv6Prefix),
    SrcAddressList(List),
    DstAddressList(List),
    HopLimit(Ttl),
    IcmpOptions(IcmpOptions),
    Headers(Headers),
    /// `protocol=ipsec-ah`: its header lies before the upper layer's.
    Authenticated,
    ConnectionLimit(ConnectionLimit, SlotId),
    ConnectionRate(Between),
    DstLimit(DstLimit, SlotId),
    /// Sets of [`AddressType::bit`](crate::packet::AddressType::bit)s.
    SrcAddressType(u8),
    DstAddressType(u8),
    /// The table of a mark alone; of none, main.
    RoutingTable(Mark),
    Classifier(Classifier),
}

/// `headers`: which headers there are. Bits are those of [`Headers::NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    wanted: u8,
    /// These and no others.
    exact: bool,
}

impl Headers {
    /// The extension headers, as [`wire::ipv6::Extensions::headers`] has them, and what they end with: an
    /// encrypted packet, nothing, or any protocol.
    const NAMES: [&str; 8] = ["hop", "dst", "route", "frag", "auth", "esp", "none", "proto"];

    /// Reads `header,header:contains` and `header:exact`.
    pub(crate) fn parse(text: &str) -> Option<Headers> {
        let (names, how) = text.split_once(':').unwrap_or((text, "exact"));
        let exact = match how {
            "exact" => true,
            "contains" => false,
            _ => return None,
        };
        let bit = |name: &str| Headers::NAMES.iter().position(|&other| other == name);
        let wanted = names.split(',').try_fold(0, |set, name| Some(set | 1 << bit(name)?))?;
        Some(Headers { wanted, exact })
    }

    /// What a packet has.
    fn of(view: &View) -> u8 {
        let end = match view.layers.protocol {
            ESP => 5,
            header::NONE => 6,
            _ => 7,
        };
        view.headers | 1 << end
    }
}

/// Reads `headers`.
pub(crate) fn read_headers(text: &str) -> Result<Value, String> {
    let expected = "hop, dst, route, frag, auth, esp, none, proto, and :contains or :exact";
    syntax::keep(text, Headers::parse(text).is_some(), expected)
}

/// Encapsulating security payload (RFC 4303).
const ESP: u8 = 50;
/// The bit of [`Headers`] for authentication.
const AUTH: u8 = 1 << 4;

impl OfIpv6 {
    /// Whether it holds; `None` if the packet has nothing to look at.
    pub(super) fn holds(
        &self,
        view: &View,
        lists: &AddressLists,
        books: &mut Books,
    ) -> Option<bool> {
        Some(match self {
            OfIpv6::SrcAddress(prefix) => prefix.contains(view.ends.src),
            OfIpv6::DstAddress(prefix) => prefix.contains(view.ends.dst),
            OfIpv6::SrcAddressList(list) => has(*list, view.ends.src, lists, books),
            OfIpv6::DstAddressList(list) => has(*list, view.ends.dst, lists, books),
            OfIpv6::HopLimit(limit) => {
                let n = *view.ip().get(7)?;
                books.trace.looked_at_ttl(n);
                (limit.range.0 <= n && n <= limit.range.1) != limit.not
            }
            OfIpv6::IcmpOptions(want) => {
                let [kind, code] = icmp(view)?;
                kind == want.kind && want.codes.0 <= code && code <= want.codes.1
            }
            OfIpv6::Headers(want) => {
                let has = Headers::of(view);
                if want.exact { has == want.wanted } else { has & want.wanted == want.wanted }
            }
            OfIpv6::Authenticated => view.headers & AUTH != 0,
            OfIpv6::ConnectionLimit(limit, slot) => {
                let (connections, _) = view.connection.v6?;
                let (original, _) = view.connection.key6(books.now)?;
                books.trace.once = true;
                let blocks = books.state.blocks6.entry(*slot).or_default();
                let counts = |tuple: &FiveTuple<u128>| connections.counts(tuple);
                blocks.exceed(*limit, view.ends.src, original, counts)
            }
            OfIpv6::ConnectionRate(between) => {
                let ported = matches!(view.layers.protocol, protocol::TCP | protocol::UDP);
                let (connections, _) = view.connection.v6.filter(|_| ported)?;
                let (key, bytes) =
                    (view.connection.key6(books.now)?, view.connection.bytes(view.ip_len)?);
                books.trace.once = true;
                let now_ms = books.now.as_millis_u32();
                let lives = |key: &Key<u128>| connections.lives(key);
                between.contains(books.state.rates6.of(key, bytes, now_ms, lives))
            }
            OfIpv6::DstLimit(limit, slot) => {
                books.trace.once = true;
                let buckets = books.state.buckets.entry(*slot).or_default();
                buckets.take(limit, &tuple(view), view.ip_len, books.now)
            }
            OfIpv6::SrcAddressType(set) => {
                view.routes6?.address_type(view.vrf, view.ends.src).bit() & set != 0
            }
            OfIpv6::DstAddressType(set) => {
                view.routes6?.address_type(view.vrf, view.ends.dst).bit() & set != 0
            }
            OfIpv6::RoutingTable(table) => {
                let routes = view.routes6?;
                routes.target(routes.lookup_in(*table, view.ends.dst)).is_some()
            }
            OfIpv6::Classifier(classifier) => classifier.holds(&tuple(view)),
        })
    }

    /// The property's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            OfIpv6::SrcAddress(_) => "src-address",
            OfIpv6::DstAddress(_) => "dst-address",
            OfIpv6::SrcAddressList(_) => "src-address-list",
            OfIpv6::DstAddressList(_) => "dst-address-list",
            OfIpv6::HopLimit(_) => "hop-limit",
            OfIpv6::IcmpOptions(_) => "icmp-options",
            OfIpv6::Headers(_) => "headers",
            OfIpv6::Authenticated => "protocol",
            OfIpv6::ConnectionLimit(..) => "connection-limit",
            OfIpv6::ConnectionRate(_) => "connection-rate",
            OfIpv6::DstLimit(..) => "dst-limit",
            OfIpv6::SrcAddressType(_) => "src-address-type",
            OfIpv6::DstAddressType(_) => "dst-address-type",
            OfIpv6::RoutingTable(_) => "routing-table",
            OfIpv6::Classifier(_) => "per-connection-classifier",
        }
    }

    /// What the packet has there.
    pub(crate) fn has(&self, view: &View) -> Option<String> {
        Some(match self {
            OfIpv6::SrcAddress(_) | OfIpv6::SrcAddressList(_) => {
                Ipv6Addr::from(view.ends.src).to_string()
            }
            OfIpv6::DstAddress(_) | OfIpv6::DstAddressList(_) => {
                Ipv6Addr::from(view.ends.dst).to_string()
            }
            OfIpv6::HopLimit(_) => view.ip().get(7)?.to_string(),
            OfIpv6::IcmpOptions(_) => {
                let [kind, code] = icmp(view)?;
                format!("{kind}:{code}")
            }
            OfIpv6::Headers(_) | OfIpv6::Authenticated => {
                let has = Headers::of(view);
                let there = (0..8).filter(|bit| has >> bit & 1 == 1);
                there.map(|bit| Headers::NAMES[bit]).collect::<Vec<_>>().join(",")
            }
            OfIpv6::ConnectionLimit(..)
            | OfIpv6::ConnectionRate(_)
            | OfIpv6::DstLimit(..)
            | OfIpv6::SrcAddressType(_)
            | OfIpv6::DstAddressType(_)
            | OfIpv6::RoutingTable(_)
            | OfIpv6::Classifier(_) => return None,
        })
    }

    /// Whether no packet at all can match.
    pub(crate) fn never(&self, not: bool) -> bool {
        match self {
            OfIpv6::SrcAddress(prefix) | OfIpv6::DstAddress(prefix) => not && prefix.len() == 0,
            OfIpv6::HopLimit(limit) => !limit.not && limit.range.0 > limit.range.1,
            OfIpv6::IcmpOptions(options) => !not && options.codes.0 > options.codes.1,
            OfIpv6::ConnectionRate(between) => {
                let is_all = between.from == 0 && between.to.is_none();
                if not { is_all } else { between.is_empty() }
            }
            OfIpv6::DstLimit(limit, _) => !not && limit.limit.burst == 0,
            OfIpv6::SrcAddressType(set) | OfIpv6::DstAddressType(set) => {
                let all = set.count_ones() as usize == AddressType::WORDS.len();
                if not { all } else { *set == 0 }
            }
            OfIpv6::Classifier(classifier) => {
                !not && classifier.remainder >= classifier.denominator
            }
            OfIpv6::ConnectionLimit(..)
            | OfIpv6::SrcAddressList(_)
            | OfIpv6::DstAddressList(_)
            | OfIpv6::Headers(_)
            | OfIpv6::RoutingTable(_)
            | OfIpv6::Authenticated => false,
        }
    }
}

/// Its 5-tuple, with whole addresses.
fn tuple(view: &View) -> FiveTuple<u128> {
    let FiveTuple { src_port, dst_port, protocol, .. } = view.layers.tuple;
    FiveTuple { src: view.ends.src, dst: view.ends.dst, src_port, dst_port, protocol }
}

fn has(list: List, address: u128, lists: &AddressLists, books: &Books) -> bool {
    lists.has6(list.set, address) || books.state.lists6.contains(list.key, address)
}

fn icmp(view: &View) -> Option<[u8; 2]> {
    let message = view.transport().first_chunk().copied();
    message.filter(|_| view.layers.protocol == ICMPV6)
}
