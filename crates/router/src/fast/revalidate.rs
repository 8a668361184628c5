//! Validity of a flow's recipe after a change of the program.
//!
//! ```text
//! 10,000 rules, one of them changed
//!   a flow's next packet ─► could the rule, as it was or as it is, match?  the gate says ─┬─ no: as before
//!                        ─► is its queue still the same one?                              └─ yes: slow path
//! ```
//!
//! Without this every flow's next packet would walk all rules again, and while a million of them do,
//! others are lost. A rule whose gate does not let a flow's packets through neither decides about
//! them nor notes anything in their traces, before the change and after it; so whoever passes none
//! of the changed rules' gates keeps what it has learnt. Never says yes in doubt: what is asked is
//! constant for a flow, and what else a rule looks at is not asked.
//!
//! A dynamic entry of an address list is no change of the program, but may decide about the flows of
//! its address: these go the slow way once.

use crate::firewall::connection::FlowId;
use crate::firewall::gate::{Facts, Gate};
use crate::interface::InterfaceId;
use crate::ip::neighbour::NeighbourId;
use crate::packet::ConnectionState;
use crate::recipe::Stage;
use crate::router::Router;

/// Whether the recipe of a flow that was learnt under an earlier program holds under this one; it
/// is this one's from now on.
#[cold]
#[inline(never)]
pub(super) fn revalidate(r: &mut Router, id: FlowId) -> bool {
    let flow = r.v4.connections.flow(id);
    let Some(differences) = r.learnt.recipes.since(flow.generation) else { return false };
    let Some(recipe) = r.learnt.recipes.get(flow.kept().recipe()) else { return false };
    let addresses = [flow.src, flow.dst, flow.new_src, flow.new_dst];
    if r.learnt.recipes.have_moved(addresses, flow.generation) {
        return false;
    }
    let (way, hop) = (&recipe.way, r.v4.neighbours.rewrite(NeighbourId(flow.next_hop)));
    let tuple = flow.translate_destination(flow.tuple());
    // What the gates of each stage see.
    let (none, untracked) = (InterfaceId::NONE, ConnectionState::Untracked as u8);
    let raw = Facts::of_flow(&flow.tuple(), way.in_interface, none, untracked);
    let arrived = Facts::of_flow(&flow.tuple(), way.in_interface, none, flow.state() as u8);
    let routed = Facts::of_flow(&tuple, way.in_interface, hop.interface(), flow.state() as u8);
    let admits = |&(stage, gate): &(Stage, Gate)| match stage {
        Stage::Untracked => gate.admits(&raw),
        Stage::Arrived => gate.admits(&arrived),
        Stage::Routed => gate.admits(&routed),
        Stage::Any => gate.admits(&arrived) || gate.admits(&routed),
    };
    let mut queues = false;
    for difference in differences {
        if difference.gates.iter().any(admits) {
            return false;
        }
        queues |= difference.queues;
    }
    let clock = (&mut r.rules.clock, r.io.now);
    let path = || {
        let (out, mark) = (hop.interface(), way.marks.packet);
        r.program.queue_path(&tuple, way.in_interface, out, mark, clock)
    };
    if queues && !way.fasttrack && path() != r.learnt.recipes.queues(flow.kept()) {
        return false;
    }
    let generation = r.learnt.recipes.generation();
    r.v4.connections.flow_mut(id).generation = generation;
    true
}
