//! Stateless autoconfiguration by other routers' advertisements (RFC 4862 §5.5, RFC 4861 §6.3): addresses,
//! default routes, an MTU, name servers.
//!
//! ```text
//! link up ─► solicits, three times ─► advertisement ─► found: an address of each prefix, routes, the MTU
//!                                          └─ each thing has its lifetime, and goes when it is over
//! ```
//!
//! Only where the router advertises nothing itself, and `accept-router-advertisements` lets it. Bounded:
//! so many routers and prefixes of a link, whatever is told.

use super::say;
use super::settings::Link;
use crate::interface::InterfaceId;
use crate::ip::route::Target;
use crate::ipv6::found::{Found, Given, Told};
use crate::ipv6::{ALL_ROUTERS, address, found};
use crate::packet::Ends;
use crate::router::Router;
use std::time::Duration;
use wire::icmpv6::{interface_id, solicit_routers};
use wire::ipv6::MTU_MIN;
use wire::router_advertisement::{PrefixInfo, RouterAdvertisement};
use wire::{Ipv6Prefix, Moment};

/// What was told on a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    /// Solicitations sent, and when the next is due.
    tries: u8,
    due: Option<Moment>,
    /// Default routers: the address, until when, and how much they want to be preferred.
    routers: Vec<(u128, Moment, i8)>,
    prefixes: Vec<Heard>,
    mtu: Option<u16>,
    /// Name servers, and until when.
    dns: Vec<(u128, Moment)>,
}

/// A prefix that was told.
#[derive(Clone, Copy, Debug)]
struct Heard {
    prefix: Ipv6Prefix,
    /// Until when its addresses are neighbours.
    on_link: Option<Moment>,
    /// The address made of it, and until when it is valid.
    own: Option<(u128, Moment)>,
}

/// MAX_RTR_SOLICITATIONS (RFC 4861 §10).
const TRIES: u8 = 3;
/// RTR_SOLICITATION_INTERVAL.
const INTERVAL: Duration = Duration::from_secs(4);
/// MAX_RTR_SOLICITATION_DELAY, in milliseconds.
const DELAY_MS: u64 = 1000;
/// What is told with less is not shortened to it (RFC 4862 §5.5.3 e).
const TWO_HOURS: Duration = Duration::from_secs(7200);
const MAX_ROUTERS: usize = 8;
const MAX_PREFIXES: usize = 16;
const MAX_DNS: usize = 4;
/// Of a default route that was told.
const DISTANCE: u8 = 1;

/// Does what is due.
pub(super) fn tick(r: &mut Router, now: Moment, link: &Link, host: &mut Host) -> Option<Moment> {
    if !link.accepts {
        *host = Host::default();
        return None;
    }
    if host.tries == 0 && host.due.is_none() && host.is_empty() {
        let delay = Duration::from_millis(r.services.dice.throw() % DELAY_MS);
        host.due = Some(now + delay);
    }
    if host.due.is_some_and(|due| due <= now) {
        solicit(r, now, link.interface);
        host.tries += 1;
        host.due = (host.tries < TRIES).then(|| now + INTERVAL);
    }
    host.routers.retain(|&(_, until, _)| now < until);
    host.dns.retain(|&(_, until)| now < until);
    for heard in &mut host.prefixes {
        heard.own = heard.own.filter(|&(_, until)| now < until);
        heard.on_link = heard.on_link.filter(|&until| now < until);
    }
    host.prefixes.retain(|heard| heard.own.is_some() || heard.on_link.is_some());
    host.next()
}

fn solicit(r: &mut Router, now: Moment, interface: InterfaceId) {
    let src = address::source(&r.program.v6.addresses, interface, ALL_ROUTERS);
    // Who has no address, or is not sure of it, does not say where he is (RFC 4861 §4.1).
    let src = src.filter(|&src| !super::duplicate::is_tentative(r, interface, src));
    let mac = src.map(|_| r.program.interface(interface).mac);
    let (bytes, len) = solicit_routers(mac);
    let ends = Ends { src: src.unwrap_or(0), dst: ALL_ROUTERS };
    say(r, now, interface, ends, &bytes[..len]);
}

/// Whether an interface hears other routers.
pub(crate) fn accepts(r: &Router, interface: InterfaceId) -> bool {
    r.program.v6.nd.link(interface).is_some_and(|link| link.accepts)
}

/// The name servers that other routers have told.
pub(crate) fn dns_servers(r: &Router) -> Vec<u128> {
    r.services.v6.links.values().flat_map(|state| state.host.dns()).collect()
}

/// An advertisement of another router, from its address on the link.
pub(crate) fn heard(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    router: u128,
    said: &RouterAdvertisement,
) {
    let own = r.program.interface(interface);
    let (id, mtu) = (u128::from(interface_id(own.mac)), own.mtu);
    let Some(state) = r.services.v6.links.get_mut(&interface) else { return };
    let host = &mut state.host;
    host.due = None;
    let after = |seconds: u32| match seconds {
        u32::MAX => Moment::from_nanos(u64::MAX),
        seconds => now + Duration::from_secs(seconds.into()),
    };
    host.routers.retain(|&(other, ..)| other != router);
    if said.lifetime_s > 0 && host.routers.len() < MAX_ROUTERS {
        let preference = match said.preference {
            1 => 1,
            3 => -1,
            _ => 0,
        };
        host.routers.push((router, after(said.lifetime_s.into()), preference));
        host.routers.sort_by_key(|&(address, _, preference)| (-preference, address));
    }
    if let Some(told) = said.mtu {
        let told = u16::try_from(told).ok().filter(|told| (MTU_MIN..=mtu).contains(told));
        host.mtu = told.or(host.mtu);
    }
    for info in &said.prefixes {
        host.prefix(now, info, after, id);
    }
    for server in &said.dns {
        let server = u128::from(*server);
        host.dns.retain(|&(other, _)| other != server);
        if said.dns_s > 0 && host.dns.len() < MAX_DNS {
            host.dns.push((server, after(said.dns_s)));
        }
    }
    r.services.due = r.services.due.min(now);
    found::note(r);
}

impl Host {
    /// Takes in a prefix, of which `id` makes an address.
    fn prefix(&mut self, now: Moment, info: &PrefixInfo, after: impl Fn(u32) -> Moment, id: u128) {
        let len = info.len;
        let prefix = Ipv6Prefix::new(info.prefix.into(), len);
        if Ipv6Prefix::LINK_LOCAL.contains(prefix.bits()) || info.prefix.is_multicast() || len == 0
        {
            return;
        }
        let at = self.prefixes.iter().position(|heard| heard.prefix == prefix);
        let at = match at {
            Some(at) => at,
            None if info.valid_s > 0 && self.prefixes.len() < MAX_PREFIXES => {
                self.prefixes.push(Heard { prefix, on_link: None, own: None });
                self.prefixes.len() - 1
            }
            None => return,
        };
        let heard = &mut self.prefixes[at];
        let until = after(info.valid_s);
        if info.on_link {
            heard.on_link = Some(until).filter(|_| info.valid_s > 0);
        }
        // Our part of an address is 64 bits (RFC 4862 §5.5.3 d).
        if !info.autonomous || len != 64 || info.preferred_s > info.valid_s {
            return;
        }
        heard.own = match heard.own {
            None if info.valid_s > 0 => Some((prefix.bits() | id, until)),
            None => None,
            Some((own, old)) if until > now + TWO_HOURS || until > old => Some((own, until)),
            Some((own, old)) => Some((own, old.min(now + TWO_HOURS))),
        };
    }

    fn is_empty(&self) -> bool {
        self.routers.is_empty() && self.prefixes.is_empty()
    }

    fn next(&self) -> Option<Moment> {
        let routers = self.routers.iter().map(|&(_, until, _)| until);
        let prefixes = self.prefixes.iter().flat_map(|heard| {
            let own = heard.own.map(|(_, until)| until);
            own.into_iter().chain(heard.on_link)
        });
        let dns = self.dns.iter().map(|&(_, until)| until);
        routers.chain(prefixes).chain(dns).chain(self.due).min()
    }

    fn dns(&self) -> impl Iterator<Item = u128> {
        self.dns.iter().map(|&(server, _)| server)
    }

    /// Tells what was found out.
    pub(super) fn tell(&self, interface: InterfaceId, found: &mut Found) {
        for heard in &self.prefixes {
            let prefix = heard.prefix;
            let on_link = heard.on_link.is_some();
            if let Some((address, _)) = heard.own {
                let network = if on_link { prefix } else { Ipv6Prefix::host(address) };
                found.addresses.push(Given { address, network, interface });
            } else if on_link {
                let target = Target::Connected(interface);
                found.routes.push(Told { prefix, distance: 0, target, check: None, by: "connect" });
            }
        }
        // The best of them only: what is told later is for when it goes.
        if let Some(&(router, ..)) = self.routers.first() {
            let target = Target::Gateways(vec![(interface, router)]);
            let prefix = Ipv6Prefix::ALL;
            let (distance, check, by) = (DISTANCE, None, "slaac");
            found.routes.push(Told { prefix, distance, target, check, by });
        }
        found.mtus.extend(self.mtu.map(|mtu| (interface, mtu)));
    }
}
