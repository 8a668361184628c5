//! What only packets of IPv6 are asked for: their addresses, the hop limit, ICMPv6.

use crate::firewall::address_list::AddressLists;
use crate::firewall::syntax::{IcmpOptions, Ttl};
use crate::packet::View;
use std::net::Ipv6Addr;
use wire::Ipv6Prefix;
use wire::ipv6::header::ICMPV6;

/// What is compared with what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OfIpv6 {
    SrcAddress(Ipv6Prefix),
    DstAddress(Ipv6Prefix),
    /// By its number in [`AddressLists`].
    SrcAddressList(u32),
    DstAddressList(u32),
    HopLimit(Ttl),
    IcmpOptions(IcmpOptions),
}

impl OfIpv6 {
    /// Whether it holds; `None` if the packet has nothing to look at.
    pub(super) fn holds(&self, view: &View, lists: &AddressLists) -> Option<bool> {
        Some(match self {
            OfIpv6::SrcAddress(prefix) => prefix.contains(view.ends.src),
            OfIpv6::DstAddress(prefix) => prefix.contains(view.ends.dst),
            OfIpv6::SrcAddressList(list) => lists.has6(*list, view.ends.src),
            OfIpv6::DstAddressList(list) => lists.has6(*list, view.ends.dst),
            OfIpv6::HopLimit(limit) => {
                let n = *view.ip().get(7)?;
                (limit.range.0 <= n && n <= limit.range.1) != limit.not
            }
            OfIpv6::IcmpOptions(want) => {
                let [kind, code] = icmp(view)?;
                kind == want.kind && want.codes.0 <= code && code <= want.codes.1
            }
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
        })
    }

    /// Whether no packet at all can match.
    pub(crate) fn never(&self, not: bool) -> bool {
        match self {
            OfIpv6::SrcAddress(prefix) | OfIpv6::DstAddress(prefix) => not && prefix.len() == 0,
            OfIpv6::HopLimit(limit) => !limit.not && limit.range.0 > limit.range.1,
            OfIpv6::IcmpOptions(options) => !not && options.codes.0 > options.codes.1,
            OfIpv6::SrcAddressList(_) | OfIpv6::DstAddressList(_) => false,
        }
    }
}

fn icmp(view: &View) -> Option<[u8; 2]> {
    let message = view.transport().first_chunk().copied();
    message.filter(|_| view.layers.protocol == ICMPV6)
}
