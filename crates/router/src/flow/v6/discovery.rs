//! Neighbour discovery (RFC 4861): who asks for the router is answered, and what neighbours say of
//! themselves is learnt.

use super::{local_out, to_neighbour, vrrp};
use crate::discard::Discard;
use crate::flow::leave::Hop;
use crate::interface::InterfaceId;
use crate::ip::family::{Control, Family};
use crate::ip::neighbour::{Heard, Request};
use crate::ipv6::icmp;
use crate::ipv6::nd::{advertise, autoconf, duplicate, listener};
use crate::ipv6::{ALL_NODES, address};
use crate::packet::{Ends, Packet};
use crate::router::Router;
use crate::story::{Event, Made};
use std::net::Ipv6Addr;
use wire::icmpv6::{self, Neighbour, kind, solicited_node};
use wire::ipv6::header;
use wire::mld::Query;
use wire::router_advertisement::RouterAdvertisement;
use wire::{Ipv6Prefix, MacAddr, Moment};

/// A message of neighbour discovery, its checksum right.
pub(super) fn heard(r: &mut Router, now: Moment, p: Packet, kind: u8) {
    let l3 = usize::from(p.layers.l3);
    // What a router has forwarded has fewer: the sender is on the link (RFC 4861 §6.1, §7.1).
    let near = r.io.slab.bytes(&p.frame)[l3 + 7] == 255;
    let said = match kind {
        kind::ROUTER_SOLICITATION => icmpv6::router_solicitation(r.transport(&p)).map(Said::Router),
        kind::ROUTER_ADVERTISEMENT => {
            RouterAdvertisement::read(r.transport(&p)).map(|said| Said::Here(Box::new(said)))
        }
        _ => Neighbour::read(r.transport(&p)).map(Said::Neighbour),
    };
    let Some(said) = said.ok().filter(|said| near && is_plausible(said, p.ends)) else {
        return r.discard(p, Discard::BadDiscovery);
    };
    let (interface, ends, by) = (p.in_interface, p.ends, r.src_mac(&p));
    r.consume(p);
    match said {
        Said::Router(mac) => {
            learn(r, now, interface, ends.src, mac, Heard::Asking);
            let program = r.program.clone();
            let on = program.vrrps.iter().filter(|vrrp| vrrp.on == interface);
            for interface in on.map(|vrrp| vrrp.interface).chain([interface]) {
                advertise::asked(r, now, interface);
            }
        }
        Said::Here(said) => {
            learn(r, now, interface, ends.src, said.mac, Heard::Asking);
            autoconf::heard(r, now, interface, ends.src, &said);
        }
        // Two look for the same address at a time (RFC 4862 §5.4.3): nobody has it.
        Said::Neighbour(Neighbour { advertisement: false, target, .. })
            if ends.src == 0 && duplicate::is_tentative(r, interface, target.into()) =>
        {
            duplicate::conflict(r, now, interface, target.into(), by, false);
        }
        Said::Neighbour(Neighbour { advertisement: false, target, mac, .. }) => {
            let virtual_ = vrrp::owner_of6(r, interface, target.into());
            let interface = virtual_.unwrap_or(interface);
            let own = r.program.v6.is_own(interface, target.into());
            if own || r.program.v6.nd.is_proxied(interface, target.into()) {
                learn(r, now, interface, ends.src, mac, Heard::Asking);
                answer(r, now, interface, (target, own), ends.src);
            }
        }
        Said::Neighbour(Neighbour { target, .. }) if r.program.v6.has(interface, target.into()) => {
            duplicate::conflict(r, now, interface, target.into(), by, true);
        }
        Said::Neighbour(Neighbour { target, mac, solicited, override_, .. }) => {
            if solicited {
                r.tools.echoes.arp_reply(now, interface, target.into(), mac.unwrap_or(by));
            }
            let heard = Heard::Advertised { solicited, override_ };
            learn(r, now, interface, target.into(), mac, heard);
        }
    }
}

/// Whether a packet is what neighbours and groups of a link say to each other.
pub(super) fn is_of_link(r: &Router, p: &Packet) -> bool {
    let kind = r.transport(p).first().copied().unwrap_or(0);
    p.layers.protocol == header::ICMPV6
        && (u128::control(kind) == Control::OfLink || kind == kind::REDIRECT)
}

/// Whether somebody advertises one of the router's own addresses from there: a duplicate.
pub(super) fn is_conflict(r: &Router, p: &Packet) -> bool {
    let said = || Neighbour::read(r.transport(p)).ok();
    p.layers.protocol == header::ICMPV6
        && said().is_some_and(|said| said.advertisement && u128::from(said.target) == p.ends.src)
}

/// What was said.
enum Said {
    /// Who asks for routers has this address.
    Router(Option<MacAddr>),
    /// A router is here.
    Here(Box<RouterAdvertisement>),
    Neighbour(Neighbour),
}

/// What a message must not be beside its form (RFC 4861 §6.1.1, §7.1).
fn is_plausible(said: &Said, Ends { src, dst }: Ends) -> bool {
    let (nobody, group) = (src == 0, Ipv6Addr::from(dst).is_multicast());
    match said {
        Said::Router(mac) => !nobody || mac.is_none(),
        Said::Here(_) => Ipv6Prefix::LINK_LOCAL.contains(src),
        Said::Neighbour(said) if said.advertisement => !(nobody || group && said.solicited),
        // Who looks whether an address is free has none yet.
        Said::Neighbour(said) if nobody => {
            said.mac.is_none() && dst == u128::from(solicited_node(said.target))
        }
        Said::Neighbour(_) => true,
    }
}

/// Learns where a neighbour is; what waited for it goes.
fn learn(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    address: u128,
    mac: Option<MacAddr>,
    heard: Heard,
) {
    // At a tunnel's other end, or a session's, nobody is looked for.
    let believed = icmp::is_host(address)
        && !r.program.is_point_to_point(interface)
        && mac.is_none_or(|mac| !mac.is_multicast())
        && !r.program.v6.is_own(interface, address)
        && r.program.v6.is_neighbour(interface, address);
    if !believed {
        return;
    }
    for waiting in r.v6.neighbours.hear(now, interface, address, mac, heard) {
        to_neighbour(r, now, Hop::to(interface, address), waiting);
    }
}

/// Answers who asks for one of the router's addresses, or for one elsewhere; nobody in particular if he has
/// none himself.
fn answer(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    (target, own): (Ipv6Addr, bool),
    to: u128,
) {
    let src = match own {
        true => Some(target.into()),
        false => address::source(&r.program.v6.addresses, interface, ALL_NODES),
    };
    let Some(src) = src else { return };
    let (solicited, dst) = match to {
        0 => (false, Ipv6Addr::from([0xff02, 0, 0, 0, 0, 0, 0, 1]).into()),
        to => (true, to),
    };
    // RFC 4213 §3.8: who asks in a tunnel whether we live is answered, without an address of the link.
    let has_link = !r.program.is_point_to_point(interface);
    let mac = Some(r.program.interface(interface).mac).filter(|_| has_link);
    // Of what it is not sure it convinces nobody (RFC 4429 §3.3), nor of what is another's.
    let override_ = own && !duplicate::is_tentative(r, interface, target.into());
    let message =
        Neighbour { advertisement: true, router: true, solicited, override_, target, mac };
    send(r, now, interface, message, Ends { src, dst });
}

/// Tells everybody on a link that an address is here now (RFC 4861 §7.2.6).
pub(in crate::flow) fn announce(r: &mut Router, now: Moment, interface: InterfaceId, own: u128) {
    let mac = Some(r.program.interface(interface).mac);
    let (target, advertisement) = (own.into(), true);
    let (router, solicited, override_) = (true, false, true);
    let message = Neighbour { advertisement, router, solicited, override_, target, mac };
    send(r, now, interface, message, Ends { src: own, dst: ALL_NODES });
}

/// Somebody asks which groups are listened to (RFC 3810 §6.2): a router of the link.
pub(super) fn query(r: &mut Router, now: Moment, p: Packet) {
    let l3 = usize::from(p.layers.l3);
    let near =
        r.io.slab.bytes(&p.frame)[l3 + 7] == 1 && Ipv6Prefix::LINK_LOCAL.contains(p.ends.src);
    match Query::read(r.transport(&p)) {
        Ok(query) if near => {
            let interface = p.in_interface;
            r.consume(p);
            listener::asked(r, now, interface, query);
        }
        _ => r.discard(p, Discard::BadDiscovery),
    }
}

/// The type of ICMP's redirects, of which the limiter knows: those of IPv6 are beyond its mask.
const REDIRECTS: u8 = 5;

/// Tells who has sent a packet that goes back to its link by whom it gets there at once (RFC 4861 §8.2).
pub(super) fn redirect(r: &mut Router, now: Moment, p: &Packet, hop: Hop<u128>) {
    let Ends { src, dst } = p.ends;
    // A router is named by its address on the link; another one of it hosts would not believe.
    let near = hop.address == dst || Ipv6Prefix::LINK_LOCAL.contains(hop.address);
    let v6 = &r.program.v6;
    if !near || r.program.is_point_to_point(hop.interface) || !v6.is_neighbour(hop.interface, src) {
        return;
    }
    let Some(own) = address::source(&v6.addresses, hop.interface, ALL_NODES) else { return };
    if !r.services.v6.redirects.allows(now, REDIRECTS) {
        return;
    }
    let id = r.v6.neighbours.find(hop.interface, hop.address);
    let mac = id.and_then(|id| r.v6.neighbours.mac(id));
    let (l3, end) = (usize::from(p.layers.l3), usize::from(p.layers.l3_end));
    let packet = &r.io.slab.bytes(&p.frame)[l3..end];
    let bytes = icmpv6::redirect(hop.address.into(), dst.into(), mac, packet);
    let ends = Ends { src: own, dst: src };
    let frame =
        icmp::message(&mut r.io.pool, ends, 255, bytes.len(), |to| to.copy_from_slice(&bytes));
    match frame {
        Some(frame) => {
            r.stats.tally.made += 1;
            local_out(r, now, frame, hop.interface);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}

/// Asks for a neighbour: everybody whose address ends alike, or the one who answered last.
pub(super) fn solicit(r: &mut Router, now: Moment, request: Request<u128>) {
    let Request { interface, address, to } = request;
    let target = Ipv6Addr::from(address);
    let group = solicited_node(target);
    let dst = if to == icmpv6::group_mac(group) { group } else { target };
    let Some(src) = address::source(&r.program.v6.addresses, interface, address) else { return };
    let own = r.program.interface(interface);
    if !own.running {
        return;
    }
    let (mac, advertisement) = (Some(own.mac), false);
    let (router, solicited, override_) = (false, false, false);
    let message = Neighbour { advertisement, router, solicited, override_, target, mac };
    send(r, now, interface, message, Ends { src, dst: dst.into() });
}

fn send(r: &mut Router, now: Moment, interface: InterfaceId, message: Neighbour, ends: Ends) {
    match icmp::neighbour(&mut r.io.pool, message, ends) {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tell(|| match message.advertisement {
                true => Event::Makes(Made::Advertisement),
                false => {
                    let address = message.target.into();
                    Event::Makes(Made::Solicitation { interface, address })
                }
            });
            local_out(r, now, frame, interface);
            r.tell(|| Event::Done);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}
