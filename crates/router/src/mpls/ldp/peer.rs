//! Peers: a session with each router that says hello, by one TCP connection.
//!
//! ```text
//!  idle ─ TCP ─► opening ─ init is said ─► proposed ─ init, keepalive ─► agreed ─ keepalive ─► operational
//!   ▲   (who has the greater address dials and begins; the other one answers)                      │
//!   └──────────── no hello, no PDU in time, a fault, a fatal notification, TCP is over ◄───────────┘
//! ```

use super::{MOST, said, settings};
use crate::flow::tcp;
use crate::ip::datagram::End;
use crate::ip::tcp::{Ends, Progress, Service};
use crate::router::Router;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wire::ldp::{self, Fault, Message, PORT, Pdu, status};
use wire::mpls::Label;
use wire::{Ipv4Prefix, Moment};

/// So long may be between two PDUs, if the other end does not want less. After so long at most a router that has
/// begun anew is known to have: its old labels lead elsewhere.
pub(super) const KEEPALIVE: u16 = 30;
/// A session that failed is begun anew no sooner.
const RETRY: Duration = Duration::from_secs(5);
/// What a peer does not take waits, but no more than this.
const MOST_WAITING: usize = 8 << 20;

/// How far a session has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Idle,
    Opening,
    Proposed,
    Agreed,
    Operational,
}

/// Another router, and the session with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// Where sessions come from, here and there.
    pub(crate) ours: u32,
    pub(crate) theirs: u32,
    pub(crate) phase: Phase,
    pub(super) ends: Option<Ends>,
    pub(super) keepalive: Duration,
    heard: Moment,
    said: Moment,
    retry: Moment,
    /// What has come of a PDU that is not whole.
    came: Vec<u8>,
    /// What TCP has not taken yet.
    leaving: Vec<u8>,
    /// The number of our last message.
    id: u32,
    /// Its own addresses.
    pub(crate) addresses: BTreeSet<u32>,
    /// What it wants to see.
    pub(crate) labels: BTreeMap<Ipv4Prefix, Label>,
    /// What it was told.
    pub(crate) told: BTreeMap<Ipv4Prefix, Label>,
    pub(super) told_addresses: BTreeSet<u32>,
}

/// A hello has come from a router.
pub(super) fn greeted(r: &mut Router, now: Moment, lsr: u32, (ours, theirs): (u32, u32)) {
    let peers = &mut r.services.ldp.peers;
    if !peers.contains_key(&lsr) && peers.len() >= MOST {
        return;
    }
    let peer = peers.entry(lsr).or_default();
    if peer.phase != Phase::Idle {
        return; // sessions stay with the addresses that they have
    }
    (peer.ours, peer.theirs) = (ours, theirs);
    if ours > theirs && peer.retry <= now {
        peer.retry = now + RETRY;
        let ends = (End { address: ours, port: 0 }, End { address: theirs, port: PORT });
        let ends = tcp::connect_from(r, now, Service::Ldp, ends);
        if let (Some(peer), Some(ends)) = (r.services.ldp.peers.get_mut(&lsr), ends) {
            begin(peer, now, ends);
            tcp::push(r, now, ends);
        }
    }
}

fn begin(peer: &mut Peer, now: Moment, ends: Ends) {
    (peer.ends, peer.phase) = (Some(ends), Phase::Opening);
    (peer.heard, peer.said) = (now, now);
    peer.keepalive = Duration::from_secs(KEEPALIVE.into());
}

/// Whether we have heard a hello of who wants to have a connection.
pub(crate) fn is_expected(r: &Router, (own, other): Ends) -> bool {
    let is_it = |peer: &Peer| (peer.ours, peer.theirs) == (own.address, other.address);
    r.services.ldp.peers.values().any(|peer| is_it(peer) && peer.ours < peer.theirs)
}

/// Something has become of a TCP connection.
pub(crate) fn heard(r: &mut Router, now: Moment, ends: Ends) {
    let progress = r.link.tcp.progress(ends);
    if progress == Progress::Opening {
        return;
    }
    let is_of = |peer: &Peer| (peer.ours, peer.theirs) == (ends.0.address, ends.1.address);
    let mut peers = r.services.ldp.peers.iter();
    let Some((&lsr, known)) = peers.find(|(_, peer)| is_of(peer)) else {
        r.link.tcp.abort(now, ends);
        return tcp::push(r, now, ends);
    };
    // Who dials anew has forgotten what there was.
    if known.ends.is_some_and(|old| old != ends) {
        end(r, now, lsr, Some(status::SHUTDOWN));
    }
    let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return };
    let dials = peer.ours > peer.theirs;
    if peer.phase == Phase::Idle {
        begin(peer, now, ends);
    }
    if peer.phase == Phase::Opening && dials && progress == Progress::Open {
        peer.phase = Phase::Proposed;
        said::propose(r, now, lsr);
    }
    let bytes = r.link.tcp.read(ends);
    let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return };
    peer.came.extend(bytes);
    let mut came = std::mem::take(&mut peer.came);
    let mut taken = 0;
    let fault = loop {
        match Pdu::first(&came[taken..]) {
            Ok(None) => break None,
            Ok(Some((pdu, _))) if (pdu.lsr, pdu.space) != (lsr, 0) => {
                break Some(Fault(status::BAD_IDENTIFIER));
            }
            Ok(Some((pdu, len))) => {
                taken += len;
                if let Err(fault) = said::take(r, now, lsr, pdu) {
                    break Some(fault);
                }
                if r.services.ldp.peers.get(&lsr).is_none_or(|peer| peer.ends != Some(ends)) {
                    return; // it is over
                }
            }
            Err(fault) => break Some(fault),
        }
    };
    came.drain(..taken);
    if let Some(peer) = r.services.ldp.peers.get_mut(&lsr) {
        peer.came = came;
        if taken > 0 {
            peer.heard = now;
        }
    }
    match fault {
        Some(Fault(why)) => end(r, now, lsr, Some(why)),
        None if progress != Progress::Open => end(r, now, lsr, None),
        None => flush(r, now, lsr),
    }
}

/// Says something to a peer.
pub(super) fn say(r: &mut Router, now: Moment, lsr: u32, messages: &[Message]) {
    let Some(own) = settings(r).map(|ldp| ldp.lsr) else { return };
    let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return };
    peer.leaving.extend(ldp::write(own, messages, &mut peer.id));
    peer.said = now;
    if peer.leaving.len() > MOST_WAITING {
        return end(r, now, lsr, None);
    }
    flush(r, now, lsr);
}

/// Gives TCP as much as it takes.
fn flush(r: &mut Router, now: Moment, lsr: u32) {
    let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return };
    let Some(ends) = peer.ends else { return };
    let taken = r.link.tcp.offer(ends, &peer.leaving);
    peer.leaving.drain(..taken);
    tcp::push(r, now, ends);
}

/// The session is over; the peer is told why, if it is for that.
pub(super) fn end(r: &mut Router, now: Moment, lsr: u32, why: Option<u32>) {
    let Some(own) = settings(r).map(|ldp| ldp.lsr).or(Some(0)) else { return };
    let Some(peer) = r.services.ldp.peers.get_mut(&lsr) else { return };
    let (ours, theirs, id) = (peer.ours, peer.theirs, peer.id);
    let mut old =
        std::mem::replace(peer, Peer { ours, theirs, id, retry: now + RETRY, ..Peer::default() });
    r.services.ldp.bindings.forget();
    let Some(ends) = old.ends else { return };
    if let Some(status) = why {
        let message = Message::Notification { status, is_fatal: true };
        let bytes = ldp::write(own, &[message], &mut old.id);
        r.link.tcp.offer(ends, &bytes);
    }
    r.link.tcp.close(now, ends);
    tcp::push(r, now, ends);
}

/// Ends the sessions whose time is over; says that we are there where nothing else was said.
pub(super) fn tick(r: &mut Router, now: Moment) {
    let peers: Vec<u32> = r.services.ldp.peers.keys().copied().collect();
    for lsr in peers {
        let is_greeted = r.services.ldp.adjacencies.values().any(|known| known.lsr == lsr);
        let Some(peer) = r.services.ldp.peers.get(&lsr) else { continue };
        let (heard, said) = (peer.heard, peer.said);
        let (keepalive, phase) = (peer.keepalive, peer.phase);
        if !is_greeted || settings(r).is_none() {
            let is_off = settings(r).is_none();
            let why = if is_off { status::SHUTDOWN } else { status::HOLD_EXPIRED };
            end(r, now, lsr, Some(why));
            r.services.ldp.peers.remove(&lsr);
        } else if phase != Phase::Idle && now.since(heard) >= keepalive {
            end(r, now, lsr, Some(status::KEEPALIVE_EXPIRED));
        } else if phase >= Phase::Agreed && now.since(said) >= keepalive / 3 {
            say(r, now, lsr, &[Message::KeepAlive]);
        }
    }
}
