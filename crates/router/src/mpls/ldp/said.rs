//! Messages of a session: how it is to be, addresses, labels.

use super::peer::{self, KEEPALIVE, Phase};
use super::{MOST_LABELS, settings};
use crate::router::Router;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wire::ldp::{Fault, Fec, LONGEST, Message, Pdu, status};
use wire::mpls::Label;
use wire::{Ipv4Prefix, Moment};

/// How we want a session to be.
fn init(lsr: u32) -> Message {
    let receiver = (lsr, 0);
    Message::Init { keepalive: KEEPALIVE, on_demand: false, longest: LONGEST, receiver }
}

/// Who has dialled says first how the session is to be.
pub(super) fn propose(r: &mut Router, now: Moment, lsr: u32) {
    peer::say(r, now, lsr, &[init(lsr)]);
}

/// A PDU has come.
pub(super) fn take(r: &mut Router, now: Moment, lsr: u32, pdu: Pdu) -> Result<(), Fault> {
    let Some(own) = settings(r).map(|ldp| ldp.lsr) else { return Err(Fault(status::SHUTDOWN)) };
    for (_, message) in pdu.messages {
        let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return Ok(()) };
        match (message, peer.phase) {
            (Message::Init { keepalive, receiver, .. }, Phase::Opening | Phase::Proposed) => {
                if receiver != (own, 0) {
                    return Err(Fault(status::NO_HELLO));
                }
                if keepalive == 0 {
                    return Err(Fault(status::MALFORMED_TLV));
                }
                peer.keepalive = Duration::from_secs(keepalive.min(KEEPALIVE).into());
                let is_first = peer.phase == Phase::Opening;
                peer.phase = Phase::Agreed;
                match is_first {
                    true => peer::say(r, now, lsr, &[init(lsr), Message::KeepAlive]),
                    false => peer::say(r, now, lsr, &[Message::KeepAlive]),
                }
            }
            (Message::KeepAlive, Phase::Agreed) => {
                peer.phase = Phase::Operational;
                r.services.ldp.bindings.forget();
                r.services.due = now;
                let name = std::net::Ipv4Addr::from(lsr);
                r.stats.log.say(now, "ldp,info", &format!("session with {name} is up"));
            }
            (Message::Notification { is_fatal, .. }, _) if is_fatal => {
                peer::end(r, now, lsr, None);
                return Ok(());
            }
            (Message::Notification { .. } | Message::Other(_), _) => {}
            (Message::KeepAlive, Phase::Operational) => {}
            (message, Phase::Operational) => told(r, now, lsr, message),
            _ => return Err(Fault(status::SHUTDOWN)),
        }
    }
    Ok(())
}

/// What a peer says of its addresses and labels.
fn told(r: &mut Router, now: Moment, lsr: u32, message: Message) {
    let accepts = settings(r).map(|ldp| ldp.accepts.clone()).unwrap_or_default();
    let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return };
    let prefixes = |fecs: &[Fec]| -> Vec<Ipv4Prefix> {
        let prefix = |fec: &Fec| match fec {
            Fec::Prefix(prefix) => Some(*prefix),
            Fec::Wildcard => None,
        };
        fecs.iter().filter_map(prefix).collect()
    };
    match message {
        Message::Address(addresses) => {
            let room = MOST_LABELS.saturating_sub(peer.addresses.len());
            peer.addresses.extend(addresses.into_iter().take(room));
        }
        Message::AddressWithdraw(addresses) => {
            peer.addresses.retain(|own| !addresses.contains(own));
        }
        Message::Mapping(fecs, label) => {
            for prefix in prefixes(&fecs).into_iter().filter(|all| accepts.pass(*all, lsr)) {
                if peer.labels.len() < MOST_LABELS || peer.labels.contains_key(&prefix) {
                    peer.labels.insert(prefix, label);
                }
            }
        }
        Message::Withdraw(fecs, label) => {
            let is_it = |held: &Label| label.is_none_or(|label| label == *held);
            match fecs.contains(&Fec::Wildcard) {
                true => peer.labels.retain(|_, held| !is_it(held)),
                false => {
                    for prefix in prefixes(&fecs) {
                        if peer.labels.get(&prefix).is_some_and(is_it) {
                            peer.labels.remove(&prefix);
                        }
                    }
                }
            }
            // It may use the label for something else once we say so (§3.5.10).
            r.services.ldp.bindings.forget();
            crate::mpls::bindings::settle(r);
            peer::say(r, now, lsr, &[Message::Release(fecs, label)]);
        }
        Message::Request(fecs) => {
            let known = |prefix: Ipv4Prefix| Some((prefix, *peer.told.get(&prefix)?));
            let no_route = Message::Notification { status: status::NO_ROUTE, is_fatal: false };
            let answer = |prefix| match known(prefix) {
                Some((prefix, label)) => Message::Mapping(vec![Fec::Prefix(prefix)], label),
                None => no_route.clone(),
            };
            let answers: Vec<Message> = prefixes(&fecs).into_iter().map(answer).collect();
            peer::say(r, now, lsr, &answers);
            return;
        }
        _ => return,
    }
    r.services.ldp.bindings.forget();
    r.services.due = now;
}

/// Tells a peer what it does not know yet, and what is no longer so.
pub(super) fn tell(r: &mut Router, now: Moment, lsr: u32) {
    let Some(ldp) = settings(r) else { return };
    let advertises = ldp.advertises.clone();
    let here = r.program.addresses.iter().filter(|own| r.program.runs(own.interface));
    let addresses: BTreeSet<u32> = here.map(|own| own.address).collect();
    let own = r.services.ldp.bindings.own.iter();
    let labels: BTreeMap<Ipv4Prefix, Label> = own
        .filter(|(prefix, _)| advertises.pass(**prefix, lsr))
        .map(|(prefix, label)| (*prefix, *label))
        .collect();
    let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return };
    if peer.phase != Phase::Operational {
        return;
    }
    let mut messages = Vec::new();
    let new: Vec<u32> = addresses.difference(&peer.told_addresses).copied().collect();
    let gone: Vec<u32> = peer.told_addresses.difference(&addresses).copied().collect();
    messages.extend(new.chunks(100).map(|some| Message::Address(some.to_vec())));
    messages.extend(gone.chunks(100).map(|some| Message::AddressWithdraw(some.to_vec())));
    for (&prefix, &label) in &peer.told {
        if labels.get(&prefix) != Some(&label) {
            messages.push(Message::Withdraw(vec![Fec::Prefix(prefix)], Some(label)));
        }
    }
    for (&prefix, &label) in &labels {
        if peer.told.get(&prefix) != Some(&label) {
            messages.push(Message::Mapping(vec![Fec::Prefix(prefix)], label));
        }
    }
    (peer.told, peer.told_addresses) = (labels, addresses);
    if !messages.is_empty() {
        peer::say(r, now, lsr, &messages);
    }
}
