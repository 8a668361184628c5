//! LDP (RFC 5036): labels that routers of a link tell each other.
//!
//! ```text
//! UDP ─► [hello]: who is there ─► adjacency ─► [peer]: TCP, by the end with the greater address
//!                                                 │ init, keepalive: how the session is to be
//!                                                 ▼
//!        bindings::settle ◄── what it wants to see ── [said] ── what we want to see ◄── bindings
//! ```
//!
//! Labels are told unasked (downstream unsolicited), as soon as there is a route (independent control), and kept
//! whoever they are from (liberal retention): as in RouterOS. What peers were told is compared with what they are
//! to know, so that they hear of what has changed and no more.
//!
//! Missing: peers that are not on a link of ours (targeted hellos), loop detection, TCP's MD5, proof by TTL
//! (RFC 6720), graceful restart.
//!
//! # DoS
//!
//! Adjacencies and peers are [`MOST`], labels of one peer [`MOST_LABELS`]; hellos count from neighbours on links
//! where LDP is configured, sessions from whom a hello has come.

// Who is there.
mod hello;
// A session.
mod peer;
// What is said in it.
mod said;

use super::bindings::{self, Bindings};
use crate::interface::InterfaceId;
use crate::router::Router;
pub(crate) use hello::{is_hello, receive};
pub(crate) use peer::{Peer, Phase, heard, is_expected};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::mpls::Label;
use wire::{Ipv4Prefix, Moment};

/// Adjacencies, and peers.
const MOST: usize = 256;
/// Labels of one peer.
const MOST_LABELS: usize = 100_000;
/// How often somebody looks whether routes have changed.
const LOOK: Duration = Duration::from_millis(100);

/// `/mpls ldp`, compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Who we are.
    pub(crate) lsr: u32,
    /// Where sessions come from.
    pub(crate) transport: Option<u32>,
    /// What stands for networks of our own.
    pub(crate) null: Label,
    /// Whether the default route has a label.
    pub(crate) distributes_default: bool,
    pub(crate) interfaces: Vec<OnInterface>,
    /// Which labels of peers are kept.
    pub(crate) accepts: Filters,
    /// Which of ours they are told.
    pub(crate) advertises: Filters,
}

/// `/mpls ldp interface`, compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnInterface {
    pub(crate) id: InterfaceId,
    pub(crate) every: Duration,
    /// In seconds.
    pub(crate) hold: u16,
    pub(crate) transport: Option<u32>,
    /// Whether whoever says hello is a peer.
    pub(crate) accepts: bool,
}

/// A list of filters: the first that a network and a peer fit says yes or no.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters(pub(crate) Vec<(Option<Ipv4Prefix>, Option<u32>, bool)>);

impl Filters {
    fn pass(&self, network: Ipv4Prefix, peer: u32) -> bool {
        let fits = |(prefix, whose, _): &&(Option<Ipv4Prefix>, Option<u32>, bool)| {
            let holds = |all: Ipv4Prefix| {
                all.len() <= network.len() && Ipv4Prefix::new(network.bits(), all.len()) == all
            };
            prefix.is_none_or(holds) && whose.is_none_or(|whose| whose == peer)
        };
        self.0.iter().find(fits).is_none_or(|(_, _, says)| *says)
    }
}

/// What LDP knows between packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ldp {
    /// When hellos are due.
    hellos: BTreeMap<InterfaceId, Moment>,
    /// Who has said hello, by interface and source.
    adjacencies: BTreeMap<(InterfaceId, u32), Adjacency>,
    /// By their identifiers.
    pub(crate) peers: BTreeMap<u32, Peer>,
    pub(crate) bindings: Bindings,
}

/// Somebody who has said hello.
#[derive(Clone, Copy, Debug)]
struct Adjacency {
    lsr: u32,
    /// `None` is for ever.
    until: Option<Moment>,
}

/// The label that the router with this address wants to see in front of packets for a network.
pub(super) fn label_of(ldp: &Ldp, network: Ipv4Prefix, hop: u32) -> Option<Label> {
    let open = |peer: &&Peer| peer.phase == Phase::Operational && peer.addresses.contains(&hop);
    ldp.peers.values().find(open)?.labels.get(&network).copied()
}

/// Does what is due. Returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let was_on = !r.services.ldp.peers.is_empty() || !r.services.ldp.bindings.own.is_empty();
    if !r.program.mpls.is_on && !was_on {
        return None;
    }
    hello::tick(r, now);
    peer::tick(r, now);
    if bindings::are_stale(r) {
        bindings::settle(r);
        let peers: Vec<u32> = r.services.ldp.peers.keys().copied().collect();
        for lsr in peers {
            said::tell(r, now, lsr);
        }
    }
    r.program.mpls.is_on.then(|| now + LOOK)
}

/// The configuration that LDP has now.
fn settings(r: &Router) -> Option<&Settings> {
    r.program.mpls.ldp.as_ref()
}
