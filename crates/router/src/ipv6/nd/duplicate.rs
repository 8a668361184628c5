//! Duplicate address detection (RFC 4862 §5.4): whether somebody else on a link has an own address.
//!
//! ```text
//! new, link up ─ up to 1 s ─► asks (NS from ::) ─ 1 s, nobody answers ─► sure
//!                    └── NA, or somebody else asks the same ──► duplicate: flagged, logged, not used
//! ```
//!
//! A router's packets do not wait for it: an address is used meanwhile, and its advertisements override
//! nothing (RFC 4429). Hosts are told of a network by [`advertise`](super::advertise) when it is over. One that is a duplicate stays so until its link goes down or it is typed anew.
//!
//! **Missing**: nonces (RFC 7527); what comes back from an own MAC address is no conflict.

use super::say;
use super::settings::Link;
use crate::interface::InterfaceId;
use crate::ipv6::found;
use crate::packet::Ends;
use crate::router::Router;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::icmpv6::{Neighbour, solicited_node};
use wire::{Ipv6Prefix, MacAddr, Moment};

/// How far an address is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// It is asked for then (RFC 4862 §5.4.2).
    Delayed(Moment),
    /// Nobody has answered yet; if nobody does until then, it is ours alone.
    Asked(Moment),
    /// Nobody else has it.
    Sure,
    /// Somebody else has it.
    Duplicate,
}

impl Probe {
    pub(super) fn is_duplicate(self) -> bool {
        self == Probe::Duplicate
    }

    pub(super) fn is_tentative(self) -> bool {
        matches!(self, Probe::Delayed(_) | Probe::Asked(_))
    }
}

/// MAX_RTR_SOLICITATION_DELAY (RFC 4861 §10), in milliseconds.
const DELAY_MS: u64 = 1000;
/// RetransTimer (RFC 4861 §10).
const RETRANSMIT: Duration = Duration::from_secs(1);

/// Does what is due.
pub(super) fn tick(
    r: &mut Router,
    now: Moment,
    link: &Link,
    probes: &mut BTreeMap<u128, Probe>,
) -> Option<Moment> {
    probes.retain(|address, _| link.own.iter().any(|own| own.address == *address));
    for own in &link.own {
        probes.entry(own.address).or_insert_with(|| match own.probes {
            true => {
                let delay = Duration::from_millis(r.services.dice.throw() % DELAY_MS);
                Probe::Delayed(now + delay)
            }
            false => Probe::Sure,
        });
    }
    let mut next: Option<Moment> = None;
    for (&address, probe) in probes {
        match *probe {
            Probe::Delayed(at) if at <= now => {
                ask(r, now, link.interface, address.into());
                *probe = Probe::Asked(now + RETRANSMIT);
            }
            Probe::Asked(at) if at <= now => *probe = Probe::Sure,
            _ => {}
        }
        if let Probe::Delayed(at) | Probe::Asked(at) = *probe {
            next = Some(next.map_or(at, |next| next.min(at)));
        }
    }
    next
}

fn ask(r: &mut Router, now: Moment, interface: InterfaceId, target: Ipv6Addr) {
    let (router, solicited, override_, mac) = (false, false, false, None);
    let message = Neighbour { advertisement: false, router, solicited, override_, target, mac };
    let (bytes, len) = message.to_bytes();
    let ends = Ends { src: 0, dst: solicited_node(target).into() };
    say(r, now, interface, ends, &bytes[..len]);
}

/// Somebody else advertises an own address, or asks whether it is free.
pub(crate) fn conflict(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    address: u128,
    by: MacAddr,
    advertised: bool,
) {
    if by == r.program.interface(interface).mac {
        return;
    }
    let Some(state) = r.services.v6.links.get_mut(&interface) else { return };
    let Some(probe) = state.probes.get_mut(&address) else { return };
    let name = &r.program.interface(interface).name;
    let text = format!("{} on {name} is {by}'s, too", Ipv6Addr::from(address));
    match *probe {
        Probe::Delayed(_) | Probe::Asked(_) => {
            *probe = Probe::Duplicate;
            let text = format!("duplicate address: {text}; it is not used");
            r.stats.log.say(now, "ipv6,error", &text);
            found::note(r);
        }
        // RFC 4862 §5.4.4: it was ours first.
        Probe::Sure if advertised => r.stats.log.say(now, "ipv6,warning", &text),
        Probe::Sure | Probe::Duplicate => {}
    }
}

/// Whether an own address is not sure yet.
pub(crate) fn is_tentative(r: &Router, interface: InterfaceId, address: u128) -> bool {
    let probe = r.services.v6.links.get(&interface).and_then(|state| state.probes.get(&address));
    probe.is_some_and(|probe| probe.is_tentative())
}

/// Whether the router's address for its link is still looked for.
pub(super) fn link_local_is_tentative(probes: &BTreeMap<u128, Probe>) -> bool {
    let near = |(address, _): &(&u128, &Probe)| Ipv6Prefix::LINK_LOCAL.contains(**address);
    probes.iter().filter(near).any(|(_, probe)| probe.is_tentative())
}

/// The link's own address, if it is sure.
pub(super) fn settled_link_local(
    r: &Router,
    link: &Link,
    probes: &BTreeMap<u128, Probe>,
) -> Option<u128> {
    let own = r.program.v6.addresses.iter().filter(|own| own.interface == link.interface);
    let near = own.map(|own| own.address).find(|&own| Ipv6Prefix::LINK_LOCAL.contains(own));
    near.filter(|near| probes.get(near) == Some(&Probe::Sure))
}
