//! First packets of flows: the recipe of others of their class, where nothing else can differ.
//!
//! ```text
//! first packet ─► no flow ─┬─ class of its tuple, where it comes and leaves ─► a recipe ─► a flow with it ─► replay
//!                          └─ none yet ─► slow path ─► recipe, kept for the class, too
//! ```
//!
//! Rules, however many, cut addresses and ports into classes ([`Tuples`](crate::firewall::classes::Tuples)). Where
//! connections are not tracked, and neither queues nor tables of routes go by addresses, that is all a way
//! depends on: unless a rule has looked at more, or what a port tells is heard beside IP.
//!
//! With ten thousand rules and nothing tracked a first packet takes 1,470 instructions instead of 6,190.

use super::common::Came;
use crate::firewall::classes::Class;
use crate::firewall::connection::flow::{FlowId, Kept};
use crate::firewall::mark::Mark;
use crate::flow::{Hop, is_own_source};
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::ip::neighbour::NeighbourId;
use crate::ip::route::Target;
use crate::packet::Packet;
use crate::router::Router;
use crate::secret::Secret;
use std::collections::HashMap;
use wire::layers::protocol;
use wire::{FiveTuple, Moment};

/// What a first packet's way depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    ingress: IngressId,
    out: InterfaceId,
    class: Class,
}

/// The ways that are known.
#[derive(Debug, Default)]
pub(crate) struct FirstPackets {
    ways: HashMap<Key, Kept, Secret>,
    /// The generation of recipes they are of.
    generation: u32,
}

/// More ways than this are forgotten, and learnt anew.
const MAX: usize = 1 << 16;

/// DHCP's ports: a client hears its server before IP does.
const DHCP: [u16; 2] = [67, 68];

/// Keeps what a packet went through, which passed no queue, for the first packets of its class.
pub(crate) fn note(r: &mut Router, p: &Packet, hop: Hop, kept: Kept) {
    let Some(tuples) = &r.program.tuples else { return };
    // (By the interface that it came by, others are told of a shorter way.)
    let is_plain = !p.is_outer && p.marks.routing == Mark::NONE && p.in_interface != hop.interface;
    if p.trace.beyond || !is_plain {
        return;
    }
    let key = Key { ingress: p.ingress, out: hop.interface, class: tuples.class(&p.layers.tuple) };
    let generation = r.learnt.recipes.generation();
    let first = &mut r.learnt.first_packets;
    if first.generation != generation || first.ways.len() >= MAX {
        first.ways.clear();
        first.generation = generation;
    }
    first.ways.insert(key, kept);
}

/// A new flow for a plain packet of none, with its class's recipe; `None` if that is not known.
pub(super) fn flow_of(
    r: &mut Router,
    now: Moment,
    (tuple, hash): (FiveTuple, u32),
    came: Came,
) -> Option<FlowId> {
    let tuples = r.program.tuples.as_ref()?;
    let generation = r.learnt.recipes.generation();
    if r.learnt.first_packets.generation != generation
        || tuple.protocol == protocol::UDP && DHCP.contains(&tuple.dst_port)
        || is_own_source(r, tuple.src, Mark::NONE)
    {
        return None;
    }
    let hop = match r.v4.routes.target(r.v4.routes.lookup_in(Mark::NONE, tuple.dst))? {
        Target::Gateways(ways) => match ways[..] {
            [(interface, address)] => Hop { interface, address },
            _ => return None,
        },
        Target::Connected(interface) => Hop { interface: *interface, address: tuple.dst },
        _ => return None,
    };
    let class = tuples.class(&tuple);
    let key = Key { ingress: came.ingress, out: hop.interface, class };
    let kept = *r.learnt.first_packets.ways.get(&key)?;
    let neighbour: NeighbourId = r.neighbour(hop)?;
    let connections = &mut r.v4.connections;
    let id = match connections.flows().find(hash, &tuple) {
        Some(known) => known, // of another packet of the batch
        None => connections.keep_untracked(tuple, now, false)?,
    };
    let flow = connections.flow_mut(id);
    flow.keep(kept, generation);
    flow.next_hop = neighbour.0;
    Some(id)
}
