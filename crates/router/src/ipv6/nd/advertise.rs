//! Router advertisements (RFC 4861 §6.2): what hosts of a link are told, by and by and when they ask.
//!
//! ```text
//! comes up ─ own addresses are sure ─► changes ─ up to 0.5 s ─► sends, three times within 16 s each, then by ra-interval
//! solicitation ─ up to 0.5 s, ra-delay after the last ─► sends to all
//! goes ─► a last one with lifetime 0; a prefix that goes is told three times as not preferred any more
//! ```

use super::duplicate::{Probe, link_local_is_tentative};
use super::say;
use super::settings::{Advertised, Link, Prefix};
use crate::interface::InterfaceId;
use crate::ipv6::{ALL_NODES, address, dhcp};

use crate::packet::Ends;
use crate::program::Program;
use crate::router::Router;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::router_advertisement::{PrefixInfo, RouterAdvertisement};
use wire::{Ipv6Prefix, Moment};

/// How far a link's advertisements are.
#[derive(Clone, Debug, Default)]
pub(super) struct Advertiser {
    /// What is told now.
    said: Option<Advertised>,
    next: Moment,
    last: Option<Moment>,
    /// How many were sent since something has changed.
    sent: u32,
    /// Prefixes that are gone, and how often that is still told (RFC 7084 L-13).
    gone: Vec<(Prefix, u8)>,
}

/// MAX_RA_DELAY_TIME (RFC 4861 §10), in milliseconds.
const DELAY_MS: u64 = 500;
/// MAX_INITIAL_RTR_ADVERT_INTERVAL.
const INITIAL: Duration = Duration::from_secs(16);
/// MAX_INITIAL_RTR_ADVERTISEMENTS.
const INITIALS: u32 = 3;
/// How often it is told that a prefix is gone.
const FAREWELLS: u8 = 3;
/// A host keeps an address for two hours, whatever it is told (RFC 4862 §5.5.3).
const LAST_S: u32 = 7200;

/// Does what is due.
pub(super) fn tick(
    r: &mut Router,
    now: Moment,
    link: &Link,
    probes: &BTreeMap<u128, Probe>,
    state: &mut Advertiser,
) -> Option<Moment> {
    let Some(advertised) = &link.advertises else {
        *state = Advertiser::default();
        return None;
    };
    // No packet comes from an address that may be somebody else's (RFC 4862 §5.4); what ends that is due.
    // Who has said nothing yet begins with all of it.
    let begins = state.said.is_none() && probes.values().any(|probe| probe.is_tentative());
    if begins || link_local_is_tentative(probes) {
        return None;
    }
    let advertised = &*settled(r, link, probes, advertised);
    if state.said.as_ref() != Some(advertised) {
        let told = advertised.prefixes.iter();
        let is_told = |prefix: Ipv6Prefix| told.clone().any(|other| other.prefix == prefix);
        let before = state.said.take().map_or(Vec::new(), |said| said.prefixes);
        let gone = before.into_iter().map(|prefix| (prefix, FAREWELLS));
        state.gone.extend(gone);
        state.gone.retain(|(gone, _)| !is_told(gone.prefix));
        (state.said, state.sent) = (Some(advertised.clone()), 0);
        state.next = soon(r, now, state.last, advertised);
    }
    if now >= state.next {
        let Some(message) = message(r, now, link.interface, advertised, &state.gone) else {
            // Its link's address is a duplicate: nobody may be told by another (RFC 4861 §4.2).
            state.next = now + INITIAL;
            return Some(state.next);
        };
        send(r, now, link.interface, &message);
        state.gone.iter_mut().for_each(|(_, left)| *left -= 1);
        state.gone.retain(|(_, left)| *left > 0);
        state.last = Some(now);
        state.sent = state.sent.saturating_add(1);
        let (least, most) = advertised.interval;
        let spread = (most - least).as_millis() as u64;
        let pause = least + Duration::from_millis(r.services.dice.throw() % (spread + 1));
        let begins = state.sent < INITIALS;
        state.next = now + if begins { pause.min(INITIAL) } else { pause };
    }
    Some(state.next)
}

/// What may be told: not the networks in which the router itself has no address yet that is sure.
fn settled<'a>(
    r: &Router,
    link: &Link,
    probes: &BTreeMap<u128, Probe>,
    advertised: &'a Advertised,
) -> Cow<'a, Advertised> {
    let is_tentative = |prefix: &Prefix| {
        let own = r.program.v6.addresses.iter();
        let own = own.filter(|own| own.interface == link.interface && own.network == prefix.prefix);
        let mut all = own.map(|own| probes.get(&own.address)).peekable();
        all.peek().is_some() && all.all(|probe| probe.is_some_and(|probe| probe.is_tentative()))
    };
    if !advertised.prefixes.iter().any(is_tentative) {
        return Cow::Borrowed(advertised);
    }
    let mut told = advertised.clone();
    told.prefixes.retain(|prefix| !is_tentative(prefix));
    Cow::Owned(told)
}

/// After a random delay, and not too soon after the last one.
fn soon(r: &mut Router, now: Moment, last: Option<Moment>, advertised: &Advertised) -> Moment {
    let at = now + Duration::from_millis(r.services.dice.throw() % DELAY_MS);
    last.map_or(at, |last| at.max(last + advertised.delay))
}

/// A host asks for routers.
pub(crate) fn asked(r: &mut Router, now: Moment, interface: InterfaceId) {
    let program = r.program.clone();
    let Some(link) = program.v6.nd.link(interface) else { return };
    let Some(advertised) = &link.advertises else { return };
    let Some(mut state) = r.services.v6.links.remove(&interface) else { return };
    let at = soon(r, now, state.advertiser.last, advertised);
    state.advertiser.next = state.advertiser.next.min(at);
    r.services.due = r.services.due.min(state.advertiser.next);
    r.services.v6.links.insert(interface, state);
}

/// What is told now; `None` without an address of the link.
fn message(
    r: &Router,
    now: Moment,
    interface: InterfaceId,
    advertised: &Advertised,
    gone: &[(Prefix, u8)],
) -> Option<RouterAdvertisement> {
    address::source(&r.program.v6.addresses, interface, ALL_NODES)?;
    let info = |prefix: &Prefix, valid_s, preferred_s| PrefixInfo {
        prefix: prefix.prefix.bits().into(),
        len: prefix.prefix.len(),
        on_link: prefix.on_link,
        autonomous: prefix.autonomous,
        valid_s,
        preferred_s,
    };
    let told = advertised.prefixes.iter().map(|prefix| {
        // What was delegated is not told for longer than it is ours (RFC 8415 §18.2.10.1).
        let left = dhcp::client::left(r, now, prefix.prefix);
        let (preferred, valid) = left.unwrap_or((u32::MAX, u32::MAX));
        let valid = valid.min(prefix.valid_s);
        info(prefix, valid, preferred.min(prefix.preferred_s).min(valid))
    });
    let gone = gone.iter().map(|(prefix, _)| info(prefix, LAST_S.min(prefix.valid_s), 0));
    let own = r.program.interface(interface);
    let lifetime_s = if r.program.v6.settings.forward { advertised.lifetime_s } else { 0 };
    let dns = match advertised.dns.is_empty() && advertised.advertise_dns {
        true => dhcp::dns_servers(r),
        false => advertised.dns.clone(),
    };
    let most = advertised.interval.1.as_secs() as u32;
    Some(RouterAdvertisement {
        hop_limit: advertised.hop_limit,
        managed: advertised.managed,
        other: advertised.other,
        preference: advertised.preference,
        lifetime_s,
        reachable_ms: advertised.reachable_ms,
        retransmit_ms: advertised.retransmit_ms,
        mac: advertised.mac.then_some(own.mac),
        mtu: advertised.mtu,
        prefixes: told.chain(gone).collect(),
        dns: dns.into_iter().map(Into::into).collect(),
        // RFC 8106 §5.1: three times the interval.
        dns_s: 3 * most,
    })
}

fn send(r: &mut Router, now: Moment, interface: InterfaceId, message: &RouterAdvertisement) {
    let Some(src) = address::source(&r.program.v6.addresses, interface, ALL_NODES) else { return };
    say(r, now, interface, Ends { src, dst: ALL_NODES }, &message.to_bytes());
}

/// Links on which it will advertise no longer are told that it is no router there any more (RFC 4861
/// §6.2.5); `next` is what comes.
pub(crate) fn resign(r: &mut Router, now: Moment, next: &Program) {
    let program = r.program.clone();
    for link in &program.v6.nd.links {
        let (Some(advertised), interface) = (&link.advertises, link.interface) else { continue };
        let stays = next.v6.nd.link(interface).is_some_and(|link| link.advertises.is_some());
        let begun = r.services.v6.links.get(&interface);
        let begun = begun.is_some_and(|state| state.advertiser.last.is_some());
        if stays || !begun || !program.runs(interface) {
            continue;
        }
        let gone: Vec<_> = advertised.prefixes.iter().map(|prefix| (*prefix, 1)).collect();
        let last = Advertised { lifetime_s: 0, prefixes: Vec::new(), ..advertised.clone() };
        if let Some(message) = message(r, now, interface, &last, &gone) {
            send(r, now, interface, &message);
        }
    }
}
