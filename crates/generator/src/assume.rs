//! Assumptions about a template: where its packets go out, whose MAC addresses they have.
//!
//! ```text
//! port:     port= or interface=, else the way to ip-gateway, else the owner of ip-src, else
//!           the way to ip-dst
//! mac-src:  the port's            ip-src: the port's address toward the gateway or ip-dst
//! mac-dst:  ARP of ip-gateway; without one the owner of ip-dst in this box, else ARP of the next
//!           hop to ip-dst
//! ```
//!
//! Where the first IP header is of IPv6 these are ipv6-gateway, ipv6-src and ipv6-dst, and neighbours are
//! asked by neighbour discovery.
//!
//! Assumed when a template is added or set, and not again until it is set, be it with nothing new
//! (`set 0`): a set item is another one in the tree, even with the same values. Only a neighbour
//! that does not answer is asked again and again.

use super::catalogue::{Catalogue, Headers, Template};
use super::stack::{Found, Header};
use super::surroundings::Surroundings;
use config::{Item, ItemId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use wire::{MacAddr, Moment};

/// What is assumed of one template.
#[derive(Clone, Debug)]
pub(super) struct Assumed {
    /// Where its packets go out, if that follows from it.
    pub(super) port: Option<usize>,
    pub(super) found: Found,
    /// What is not known (yet), in a few words.
    pub(super) lacks: Option<String>,
    /// The neighbour that was asked and has not answered.
    asked: Option<(usize, IpAddr)>,
    /// The template as it was then.
    item: Arc<Item>,
}

impl Assumed {
    fn nothing(template: &Template) -> Assumed {
        let item = template.item.clone();
        Assumed { port: None, found: Found::default(), lacks: None, asked: None, item }
    }

    /// Whether a neighbour has yet to answer.
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }
}

/// What is assumed of all templates.
#[derive(Debug, Default)]
pub(super) struct Assumptions {
    by_id: BTreeMap<ItemId, Assumed>,
    /// When neighbours are asked for again; `None` if all have answered.
    again: Option<Moment>,
}

/// Between two looks for a neighbour's answer.
const AGAIN: Duration = Duration::from_millis(10);

impl Assumptions {
    pub(super) fn of(&self, template: &Template) -> Option<&Assumed> {
        self.by_id.get(&template.id())
    }

    pub(super) fn of_item(&self, id: ItemId) -> Option<&Assumed> {
        self.by_id.get(&id)
    }

    /// When neighbours' answers are looked for next.
    pub(super) fn next_due(&self) -> Option<Moment> {
        self.again
    }

    /// Takes over a new configuration: templates that are new, or were set, are looked at.
    pub(super) fn configure(
        &mut self,
        catalogue: &Catalogue,
        now: Moment,
        host: &mut dyn Surroundings,
    ) {
        let ids: BTreeSet<ItemId> = catalogue.templates.iter().map(Template::id).collect();
        self.by_id.retain(|id, _| ids.contains(id));
        for template in &catalogue.templates {
            let known = self.by_id.get(&template.id());
            if known.is_none_or(|known| !Arc::ptr_eq(&known.item, &template.item)) {
                self.by_id.insert(template.id(), assume(template, catalogue, now, host));
            }
        }
        self.plan_again(now);
    }

    /// Looks for answers of neighbours; one look at a time, if nobody is waited for.
    #[inline]
    pub(super) fn attend(&mut self, now: Moment, host: &mut dyn Surroundings) {
        if self.again.is_none_or(|again| now < again) {
            return;
        }
        for assumed in self.by_id.values_mut() {
            let Some((port, address)) = assumed.asked else { continue };
            if let Some(mac) = host.resolve(now, port, address) {
                assumed.found.mac_dst = mac;
                (assumed.asked, assumed.lacks) = (None, None);
            }
        }
        self.plan_again(now);
    }

    fn plan_again(&mut self, now: Moment) {
        let waits = self.by_id.values().any(|assumed| assumed.asked.is_some());
        self.again = waits.then(|| now + AGAIN);
    }
}

fn assume(
    template: &Template,
    catalogue: &Catalogue,
    now: Moment,
    host: &mut dyn Surroundings,
) -> Assumed {
    let port = template.interface.as_ref().and_then(|name| catalogue.port(name));
    let Headers::Stack(headers) = &template.headers else {
        return Assumed { port, ..Assumed::nothing(template) };
    };
    let (src, dst) = ends(headers);
    let gateway = template.gateway;

    let by_route = |to: Option<IpAddr>| to.and_then(|to| host.route(to));
    let way = gateway.map_or_else(|| by_route(dst), |gateway| by_route(Some(gateway)));
    let owner = src.filter(|_| gateway.is_none()).and_then(|src| host.owner(src));
    let port = port.or(owner).or(way.map(|(port, _)| port));

    let mut assumed = Assumed { port, ..Assumed::nothing(template) };
    assumed.found.ip_dst = gateway;
    let Some(port) = port else { return assumed };
    let toward = gateway.or(dst);
    assumed.found.ip_src = toward.and_then(|toward| host.source(port, toward));
    assumed.found.mac_src = catalogue.interfaces.get(port).map_or(MacAddr::default(), |i| i.mac);
    let unknown = |header: &&Header| header.name() == "mac" && header.given("mac-dst").is_none();
    if headers.first().filter(unknown).is_none() {
        return assumed; // nobody needs to be asked
    }
    let local = dst.filter(|_| gateway.is_none()).and_then(|dst| host.owner(dst));
    if let Some(interface) = local.and_then(|local| catalogue.interfaces.get(local)) {
        assumed.found.mac_dst = interface.mac;
        return assumed;
    }
    let Some(neighbour) = gateway.or(way.map(|(_, hop)| hop)).or(dst) else {
        assumed.lacks = Some("neither mac-dst nor ip-gateway nor ip-dst".to_string());
        return assumed;
    };
    let group = match neighbour {
        IpAddr::V4(address) if address.is_multicast() || address.is_broadcast() => {
            Some(MacAddr::BROADCAST)
        }
        IpAddr::V6(address) if address.is_multicast() => Some(wire::icmpv6::group_mac(address)),
        _ => None,
    };
    if let Some(mac) = group {
        assumed.found.mac_dst = mac;
        return assumed;
    }
    match host.resolve(now, port, neighbour) {
        Some(mac) => assumed.found.mac_dst = mac,
        None => {
            let interface = catalogue.interfaces.get(port).map_or("", |i| i.name.as_str());
            assumed.asked = Some((port, neighbour));
            let answer = if neighbour.is_ipv4() { "ARP reply" } else { "advertisement" };
            assumed.lacks = Some(format!("no {answer} of {neighbour} on {interface}"));
        }
    }
    assumed
}

/// Source and destination of the first IP header, as far as they are given.
fn ends(headers: &[Header]) -> (Option<IpAddr>, Option<IpAddr>) {
    let address = |name: &str| {
        let first = |family: &str| {
            let header = headers.iter().find(|header| header.name().starts_with("ip"))?;
            let field = header.given(&format!("{family}-{name}"))?;
            Some(field.first)
        };
        let v4 = first("ip").map(|bits| IpAddr::from(Ipv4Addr::from(bits as u32)));
        v4.or_else(|| first("ipv6").map(|bits| IpAddr::from(Ipv6Addr::from(bits))))
    };
    (address("src"), address("dst"))
}
