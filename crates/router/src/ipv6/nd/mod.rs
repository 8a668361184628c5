//! Neighbour discovery's control side (RFC 4861, RFC 4862): what a router tells its links, and hears of
//! other routers. Who a neighbour is stands in `flow/v6/discovery.rs`.
//!
//! ```text
//!             ┌► duplicate   is an own address somebody else's, too?
//! timers ─► tick ► advertise what hosts of a link are told        ─► flow::v6::local_out
//!             ├► autoconf    what other routers tell (SLAAC)
//!             └► listener    which groups the router listens to (MLD)
//! LOCAL IN ────┴─ heard                   found ─► news ─► the compiler
//! ```
//!
//! An interface takes part if something of IPv6 was typed of it: one that has nothing but the address
//! of its link is silent until it is asked.
//!
//! For addresses elsewhere it answers as a proxy (RFC 4861 §7.2.8), where it is asked by their group. A question
//! that is sent to such an address itself goes on to it, and who gets no answer asks all anew.
//!
//! **Missing**: SEND, proxies of whole networks (RFC 4389); of what other routers tell their reachable time, retransmission timer and
//! hop limit; redirects are not heeded, as with any router.

// What hosts of a link are told.
pub(crate) mod advertise;
// What other routers tell.
pub(crate) mod autoconf;
// Whether an own address is somebody else's.
pub(crate) mod duplicate;
// What is done with the menus.
pub(crate) mod facilities;
// Which groups the router listens to.
pub(crate) mod listener;
// The property tables.
pub(crate) mod menu;
// What the configuration means.
pub(crate) mod settings;

use super::found::Found;
use super::icmp;
use crate::discard::Discard;
use crate::flow;
use crate::interface::InterfaceId;
use crate::packet::Ends;
use crate::router::Router;
use std::collections::BTreeMap;
use wire::Moment;

/// Where a link stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Own addresses that are, or were, looked for.
    pub(super) probes: BTreeMap<u128, duplicate::Probe>,
    advertiser: advertise::Advertiser,
    pub(super) host: autoconf::Host,
    listener: listener::Listener,
}

/// Lets all links do what is due; returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let program = r.program.clone();
    let links = &program.v6.nd.links;
    // A link that comes up begins anew.
    let runs = |id: InterfaceId| program.runs(id) && links.iter().any(|link| link.interface == id);
    r.services.v6.links.retain(|&id, _| runs(id));
    let mut due = Vec::new();
    for link in links.iter().filter(|link| program.runs(link.interface)) {
        let mut state = r.services.v6.links.remove(&link.interface).unwrap_or_default();
        due.extend(duplicate::tick(r, now, link, &mut state.probes));
        due.extend(advertise::tick(r, now, link, &state.probes, &mut state.advertiser));
        due.extend(autoconf::tick(r, now, link, &mut state.host));
        let near = duplicate::settled_link_local(r, link, &state.probes);
        due.extend(listener::tick(r, now, link, near, &mut state.listener));
        r.services.v6.links.insert(link.interface, state);
    }
    due.into_iter().min()
}

/// Tells what was found out.
pub(super) fn tell(r: &Router, found: &mut Found) {
    for (&interface, state) in &r.services.v6.links {
        let doubled = state.probes.iter().filter(|(_, probe)| probe.is_duplicate());
        found.duplicates.extend(doubled.map(|(&address, _)| (interface, address)));
        state.host.tell(interface, found);
    }
}

/// Sends an ICMPv6 message of the link.
fn say(r: &mut Router, now: Moment, interface: InterfaceId, ends: Ends, bytes: &[u8]) {
    let frame =
        icmp::message(&mut r.io.pool, ends, 255, bytes.len(), |to| to.copy_from_slice(bytes));
    send(r, now, interface, frame);
}

/// Sends a frame by an interface.
fn send(r: &mut Router, now: Moment, interface: InterfaceId, frame: Option<port::Frame>) {
    match frame {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tools.sent = true;
            flow::v6::local_out(r, now, frame, interface);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}
