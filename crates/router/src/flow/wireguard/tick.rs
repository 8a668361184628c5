//! Timers of WireGuard, and its peers as they are configured.

use super::handshake::{begin, random};
use super::{Place, send};
use crate::discard::Discard;
use crate::interface::wireguard::menu::encoded;
use crate::interface::wireguard::noise::KeyPair;
use crate::interface::wireguard::state::{Due, PeerState};
use crate::interface::wireguard::{Peer, Wireguard};
use crate::ip::dns::resolver::lookup;
use crate::router::Router;
use config::quote_always;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use wire::Moment;

/// Peers are those that are configured: what is known of others is forgotten.
pub(super) fn reconcile(r: &mut Router) {
    let program = r.program.clone();
    let state = &r.link.wireguard;
    if state.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &program.wireguards)) {
        return;
    }
    for wireguard in program.wireguards.iter() {
        if r.link.wireguard.keys_of(wireguard).is_none() {
            make_keys(r, wireguard);
        }
    }
    let (mut of, mut places) = (BTreeMap::new(), BTreeMap::new());
    for (at, wireguard) in program.wireguards.iter().enumerate() {
        let keys = r.link.wireguard.keys_of(wireguard);
        for (n, peer) in wireguard.peers.iter().enumerate() {
            of.insert(peer.item, (keys, peer.public, peer.shared));
            places.insert(peer.item, (at, n));
        }
    }
    let state = &mut r.link.wireguard;
    let is_gone = |item: &config::ItemId| state.of.get(item) != of.get(item);
    let gone: Vec<_> = state.peers.keys().copied().filter(is_gone).collect();
    let gone: Vec<PeerState> = gone.iter().filter_map(|item| state.peers.remove(item)).collect();
    for item in of.keys() {
        state.peers.entry(*item).or_default();
    }
    (state.of, state.places, state.seen) = (of, places, Some(program.wireguards.clone()));
    state.made.retain(|item, _| program.wireguards.iter().any(|one| one.item == *item));
    state.number_anew();
    for frame in gone.into_iter().flat_map(|peer| peer.waiting) {
        r.discard_frame(frame, Discard::InterfaceDown);
    }
}

/// Makes an interface's keys, and puts them into the configuration, so that they are the same after a restart.
fn make_keys(r: &mut Router, wireguard: &Wireguard) {
    let keys = KeyPair::of(random(r));
    r.link.wireguard.made.insert(wireguard.item, keys);
    let (name, key) = (quote_always(&wireguard.name), encoded(&keys.secret));
    let script = format!(
        ":local w [/interface wireguard find name={name}]; :if ([:len [/interface wireguard get $w \
         private-key]] = 0) do={{/interface wireguard set $w private-key=\"{key}\"}}"
    );
    r.services.want_script("wireguard".to_string(), &[], &script);
}

/// Does what is due; says when to look again.
pub(in crate::flow) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let program = r.program.clone();
    if program.wireguards.is_empty() && r.link.wireguard.peers.is_empty() {
        return None;
    }
    reconcile(r);
    let mut next = None;
    for (at, wireguard) in program.wireguards.iter().enumerate() {
        for (n, peer) in wireguard.peers.iter().enumerate() {
            let at = tick_peer(r, now, (wireguard, peer), (at, n));
            next = Some(next.map_or(at, |next: Moment| next.min(at)));
        }
    }
    next
}

fn tick_peer(
    r: &mut Router,
    now: Moment,
    (wireguard, peer): (&Wireguard, &Peer),
    place: Place,
) -> Moment {
    find(r, now, peer);
    let Some(state) = r.link.wireguard.peers.get_mut(&peer.item) else { return now };
    let begins = state.endpoint.is_some() && !peer.is_responder;
    let Due { asks, keepalive, gives_up } = state.due(now, peer.keepalive, begins);
    if gives_up {
        for frame in std::mem::take(&mut state.waiting) {
            r.discard_frame(frame, Discard::NoSecurityAssociation);
        }
        r.link.wireguard.number_anew();
    }
    if asks {
        begin(r, now, place);
    }
    if keepalive {
        send(r, now, wireguard, peer, None);
    }
    let state = r.link.wireguard.peers.get(&peer.item);
    state.map_or(now, |state| state.next(now, peer.keepalive))
}

/// Where a peer is, as it was typed: until he is heard from elsewhere.
pub(super) fn find(r: &mut Router, now: Moment, peer: &Peer) {
    let Some((typed, port)) = &peer.endpoint else { return };
    let has_keys = |state: &mut PeerState| state.sends_by(now).is_some();
    let state = r.link.wireguard.peers.get_mut(&peer.item);
    let address = match typed.parse::<IpAddr>() {
        Ok(address) => Some(address),
        // A name is asked for again when he does not answer.
        Err(_) if state.is_some_and(has_keys) => None,
        Err(_) => lookup(r, now, typed).map(|address| Ipv4Addr::from(address).into()),
    };
    let end = address.map(|address| SocketAddr::new(address, *port));
    let state = r.link.wireguard.peers.get_mut(&peer.item);
    if let (Some(end), Some(state)) = (end, state) {
        state.is_said_at(end);
    }
}
