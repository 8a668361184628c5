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
use crate::firewall::connection::flow::{First, FlowId, Kept};
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
    /// What was asked for last, and not known.
    asked: Option<(FiveTuple, Key)>,
    /// How many were not, since one was.
    in_vain: u32,
}

/// More ways than this are forgotten, and learnt anew.
const MAX: usize = 1 << 16;

/// Where so many in a row were not known, every class may be another: only some are asked for, [one of so
/// many](SOME), until one is known.
const PATIENCE: u32 = 512;
const SOME: u32 = 16;

/// DHCP's ports: a client hears its server before IP does.
const DHCP: [u16; 2] = [67, 68];

impl FirstPackets {
    /// Whether it is worth while to ask.
    #[inline]
    fn is_hopeful(&mut self) -> bool {
        self.asked = None;
        self.in_vain = self.in_vain.saturating_add(1);
        self.in_vain < PATIENCE || self.in_vain.is_multiple_of(SOME)
    }

    /// The recipe of a first packet, under a generation.
    #[inline]
    fn find(&mut self, tuple: FiveTuple, key: Key, generation: u32) -> Option<Kept> {
        let known = self.ways.get(&key).filter(|_| self.generation == generation);
        match known {
            Some(_) => self.in_vain = 0,
            None => self.asked = Some((tuple, key)),
        }
        known.copied()
    }

    /// Those of these classes alone, for a trial.
    pub(crate) fn of_classes(&self, classes: &[Class]) -> FirstPackets {
        let ways = self.ways.iter().filter(|(key, _)| classes.contains(&key.class));
        let ways = ways.map(|(&key, &kept)| (key, kept)).collect();
        FirstPackets { ways, generation: self.generation, ..FirstPackets::default() }
    }

    /// What is kept of each.
    pub(crate) fn kept(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.ways.values_mut()
    }

    fn note(&mut self, key: Key, kept: Kept, generation: u32) {
        if self.generation != generation || self.ways.len() >= MAX {
            self.ways.clear();
            self.generation = generation;
        }
        self.ways.insert(key, kept);
    }
}

/// Keeps what a packet went through that was asked for, and passed no queue, for the first packets of its class.
pub(crate) fn note(r: &mut Router, p: &Packet, hop: Hop, kept: Kept) {
    let Some((tuple, key)) = r.learnt.first_packets.asked.take() else { return };
    let is_it = tuple == p.layers.tuple && key.ingress == p.ingress && key.out == hop.interface;
    // (By the interface that it came by, others are told of a shorter way.)
    let is_plain = !p.is_outer && p.marks.routing == Mark::NONE && p.in_interface != hop.interface;
    if is_it && is_plain && !p.trace.beyond {
        let generation = r.learnt.recipes.generation();
        r.learnt.first_packets.note(key, kept, generation);
    }
}

/// A new flow for a plain packet of none, with its class's recipe; `None` if that is not known.
pub(super) fn flow_of(
    r: &mut Router,
    now: Moment,
    (tuple, hash): (FiveTuple, u32),
    came: Came,
) -> Option<FlowId> {
    let tuples = r.program.tuples.as_ref()?;
    let is_heard = tuple.protocol == protocol::UDP && DHCP.contains(&tuple.dst_port);
    let first = &mut r.learnt.first_packets;
    if !first.is_hopeful() || is_heard {
        return None;
    }
    let leaf = r.v4.routes.lookup_in(Mark::NONE, tuple.dst);
    let label = r.v4.routes.label(leaf, 0);
    let hop = match r.v4.routes.target(leaf)? {
        Target::Gateways(ways) => match ways[..] {
            [(interface, address)] => {
                Hop { interface, address, label: label.filter(|label| label.is_written()) }
            }
            _ => return None,
        },
        Target::Connected(interface) => Hop::to(*interface, tuple.dst),
        _ => return None,
    };
    let class = tuples.class(&tuple);
    let key = Key { ingress: came.ingress, out: hop.interface, class };
    let generation = r.learnt.recipes.generation();
    let kept = first.find(tuple, key, generation)?;
    if is_own_source(r, tuple.src, Mark::NONE) {
        return None;
    }
    let neighbour: NeighbourId = r.neighbour(hop)?;
    let connections = &mut r.v4.connections;
    let id = match connections.flows().find(hash, &tuple) {
        Some(known) => known, // of another packet of the batch
        None => connections.keep_untracked(tuple, now, false)?,
    };
    let flow = connections.flow_mut(id);
    flow.keep(kept, generation);
    flow.next_hop = neighbour.0;
    if let (Some(watch), Some(recipe)) =
        (connections.flows_mut().watch(), r.learnt.recipes.get(kept.recipe()))
    {
        let ways = [recipe.way.in_interface, hop.interface];
        watch.note(id, First { ways, came_ms: now.as_millis_u32() });
    }
    Some(id)
}
