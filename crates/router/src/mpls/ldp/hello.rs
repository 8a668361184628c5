//! Hellos: by whom routers of a link know that there are others.

use super::{Adjacency, MOST, OnInterface, peer, settings};
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::ip::address;
use crate::ip::datagram::{self, End};
use crate::packet::Packet;
use crate::router::Router;
use crate::story::Event;
use std::time::Duration;
use wire::Moment;
use wire::layers::protocol;
use wire::ldp::{self, GROUP, Message, PORT, Pdu};

/// What a hello holds that does not say it (§3.5.2).
const DEFAULT_HOLD: u16 = 15;
/// For ever.
const FOR_EVER: u16 = u16::MAX;

/// Whether a packet is a hello, on an interface where we hear them.
#[cold]
pub(crate) fn is_hello(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP
        && tuple.dst_port == PORT
        && tuple.dst == GROUP
        && on(r, p.in_interface).is_some()
}

/// What is configured on an interface.
fn on(r: &Router, id: InterfaceId) -> Option<&OnInterface> {
    settings(r)?.interfaces.iter().find(|on| on.id == id)
}

/// The address that sessions by an interface have here.
fn transport(r: &Router, on: &OnInterface) -> Option<u32> {
    let own = || r.program.addresses.iter().find(|own| own.interface == on.id);
    on.transport.or(settings(r)?.transport).or_else(|| own().map(|own| own.address))
}

/// A hello has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let (by, src) = (p.in_interface, p.layers.tuple.src);
    let pdu = r.datagram(&p).and_then(|said| Pdu::read(said).ok());
    let hello =
        pdu.filter(|pdu| pdu.space == 0 && r.is_neighbour(by, src)).and_then(|pdu| {
            match pdu.messages.into_iter().next()?.1 {
                Message::Hello { hold, is_targeted: false, transport } => {
                    Some((pdu.lsr, hold, transport.unwrap_or(src)))
                }
                _ => None,
            }
        });
    let Some((lsr, hold, theirs)) = hello else { return r.discard(p, Discard::BadLdp) };
    r.tell(|| Event::Local);
    r.consume(p);
    let Some(on) = on(r, by).cloned() else { return };
    let (Some(ours), Some(own)) = (transport(r, &on), settings(r).map(|ldp| ldp.lsr)) else {
        return;
    };
    if lsr == own || lsr == 0 || !on.accepts {
        return;
    }
    let hold = if hold == 0 { DEFAULT_HOLD } else { hold }.min(on.hold);
    let until = (hold != FOR_EVER).then(|| now + Duration::from_secs(hold.into()));
    let adjacencies = &mut r.services.ldp.adjacencies;
    let is_new = !adjacencies.contains_key(&(by, src));
    if is_new && adjacencies.len() >= MOST {
        return;
    }
    adjacencies.insert((by, src), Adjacency { lsr, until });
    peer::greeted(r, now, lsr, (ours, theirs));
    if is_new {
        // It need not wait for its turn to know that we are there.
        r.services.ldp.hellos.insert(by, now);
    }
    r.services.due = now;
}

/// Says hello where that is due; forgets whom nothing was heard of.
pub(super) fn tick(r: &mut Router, now: Moment) {
    let interfaces = settings(r).map(|ldp| ldp.interfaces.clone()).unwrap_or_default();
    let is_on = |id: &InterfaceId| interfaces.iter().any(|on| on.id == *id);
    r.services.ldp.hellos.retain(|id, _| is_on(id));
    for on in &interfaces {
        let due = r.services.ldp.hellos.get(&on.id).copied().unwrap_or(now);
        if due <= now && r.program.runs(on.id) {
            say(r, now, on);
            r.services.ldp.hellos.insert(on.id, now + on.every);
        }
    }
    let runs = |id: InterfaceId| r.program.runs(id) && is_on(&id);
    let lives = |until: Option<Moment>| until.is_none_or(|until| until > now);
    r.services.ldp.adjacencies.retain(|(id, _), known| runs(*id) && lives(known.until));
}

fn say(r: &mut Router, now: Moment, on: &OnInterface) {
    let Some(lsr) = settings(r).map(|ldp| ldp.lsr) else { return };
    let own = address::source(&r.program.addresses, on.id, GROUP);
    let (Some(own), transport @ Some(_)) = (own, transport(r, on)) else { return };
    let hello = Message::Hello { hold: on.hold, is_targeted: false, transport };
    let bytes = ldp::write(lsr, &[hello], &mut 0);
    let (from, to) = (End { address: own, port: PORT }, End { address: GROUP, port: PORT });
    datagram::to_group(r, now, on.id, (from, to), 1, &bytes);
}
