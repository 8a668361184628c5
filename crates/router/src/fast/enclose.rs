//! Outer headers of tunnels, ready for the next packet.
//!
//! ```text
//! frame for a tunnel ─► the same one as before, and nothing has happened since: [Run]
//!                    ─► its outer flow is known, waits in no queue, and its recipe holds: [Ready]
//!                         ├─► outer header and the neighbour's in front, counted, to the port
//!                         └─ else: flow::tunnel::encapsulate, which makes one ready
//! ```
//!
//! Without this each packet asked for its tunnel's ends, made a header and summed it, and looked for the
//! outer flow as if it had come by a port: 1,150 instructions beside the 360 of plain routing. What is
//! ready takes 390, a run a third of that: it asks nothing again, and counts at its end. A run ends where
//! the slow path begins, and with the batch.

use super::passed::Passed;
use crate::counter::Count;
use crate::firewall::connection::FlowId;
use crate::firewall::connection::flow::{Kept, flow_flag};
use crate::firewall::mark::Mark;
use crate::flow::MOST_TUNNELS;
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::interface::tunnel::outer::{Inner, OuterHeader};
use crate::interface::tunnel::{Carries, Tunnel};
use crate::ip::neighbour::NeighbourId;
use crate::parts::Learnt;
use crate::queue::Path;
use crate::router::Router;
use crate::step::Step;
use port::Frame;
use wire::{FiveTuple, MacAddr};

/// The outer header of a tunnel's packets, and the flow they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// Of recipes, in which all this was found out.
    generation: u32,
    tuple: FiveTuple,
    flow: FlowId,
    kept: Kept,
    next_hop: NeighbourId,
    header: OuterHeader,
    carries: Carries,
    /// Bytes in front of what is carried that the outer headers replace.
    link: u8,
    /// Bytes that can be carried in one piece.
    longest: u16,
    inherits_df: bool,
    allows_fast_path: bool,
}

/// Packets into one tunnel, between which nothing has happened.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The tunnel; `NONE` if there is no run.
    interface: InterfaceId,
    ready: Option<Ready>,
    /// The neighbour's header, and the port.
    ethernet: [u8; 14],
    port: InterfaceId,
    mark: Mark,
    /// As the tunnel counts them, and of them those in FastPath.
    tx: Count,
    fast: Count,
    /// As outer packets.
    outer: Count,
}

/// What is ready, by interface, and the run.
#[derive(Debug, Default)]
pub(crate) struct Outers {
    list: Vec<Option<Box<Ready>>>,
    run: Run,
}

impl Outers {
    #[inline]
    fn get(&self, interface: InterfaceId) -> Option<&Ready> {
        self.list.get(interface.index())?.as_deref()
    }

    fn set(&mut self, interface: InterfaceId, ready: Ready) {
        if self.list.len() <= interface.index() {
            self.list.resize(interface.index() + 1, None);
        }
        self.list[interface.index()] = Some(Box::new(ready));
    }
}

/// Makes a tunnel's outer header ready, if the packet that has just left has a recipe that asks for nothing more.
pub(crate) fn learn(r: &mut Router, tunnel: &Tunnel, header: OuterHeader, mtu: u16) {
    if r.reference()
        || r.is_told()
        || tunnel.is_automatic()
        || r.program.is_shaped_above(tunnel.interface)
    {
        return;
    }
    let (src, dst) = header.ends();
    let protocol = tunnel.carries.protocol();
    let tuple = FiveTuple { src, dst, src_port: 0, dst_port: 0, protocol };
    let (hash, generation) = (tuple.hash(), r.learnt.recipes.generation());
    let Some(id) = r.v4.connections.flows().find(hash, &tuple) else { return };
    let flow = r.v4.connections.flow(id);
    let (kept, next_hop) = (flow.kept(), NeighbourId(flow.next_hop));
    let Some(recipe) = r.learnt.recipes.get(kept.recipe()) else { return };
    let way = &recipe.way;
    let asks_for_more = flow.flags & flow_flag::NAT != 0
        || way.inward
        || way.ingress != IngressId::NONE
        || way.edits.any
        || r.learnt.recipes.queues(kept) != Path::NONE;
    if flow.generation != generation || asks_for_more {
        return;
    }
    let room = mtu.min(r.v4.neighbours.rewrite(next_hop).mtu);
    let ready = Ready {
        generation,
        tuple,
        flow: id,
        kept,
        next_hop,
        header,
        carries: tunnel.carries,
        link: if tunnel.carries == Carries::Eoip { 0 } else { 14 },
        longest: room.saturating_sub(header.len() as u16),
        inherits_df: tunnel.inherits_df,
        allows_fast_path: tunnel.allows_fast_path,
    };
    r.learnt.outers.set(tunnel.interface, ready);
}

/// Sends a frame into a tunnel as the one before; gives it back if that is not known, or does not hold any more.
#[inline(always)]
pub(crate) fn enclose(
    r: &mut Router,
    interface: InterfaceId,
    frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    if r.learnt.outers.run.interface == interface && interface.is_some() {
        return in_run(r, frame, fast).or_else(|frame| as_ready(r, interface, frame, fast));
    }
    as_ready(r, interface, frame, fast)
}

/// The same, if it was the same tunnel's before.
#[inline(always)]
fn in_run(r: &mut Router, mut frame: Frame, fast: bool) -> Result<(), Frame> {
    let run = &mut r.learnt.outers.run;
    let Some(ready) = &run.ready else { return Err(frame) };
    let (link, header) = (usize::from(ready.link), ready.header.len());
    let bytes = r.io.slab.bytes(&frame);
    let (inner, carried) = (Inner::of(bytes), bytes.len() - link);
    if frame.has_offload()
        || r.link.depth >= MOST_TUNNELS
        || !ready.carries.takes(inner.ether_type)
        || carried > usize::from(ready.longest)
        || !r.io.slab.push(&mut frame, 14 + header - link)
    {
        return Err(frame);
    }
    let may_part = !(ready.inherits_df && inner.df);
    let identification = may_part.then(|| r.link.next_identification());
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let Some((head, outer)) = bytes.split_first_chunk_mut() else { return Err(frame) };
    *head = run.ethernet;
    ready.header.write(outer, &inner, carried, identification);
    let fast = fast && ready.allows_fast_path;
    run.outer.add((carried + header) as u64);
    run.tx.add(carried as u64);
    if fast {
        run.fast.add(carried as u64);
    }
    let (port, mark) = (run.port, run.mark);
    r.transmit_marked(port, frame, fast, mark);
    Ok(())
}

/// Ends the run, and counts what it was.
#[inline(always)]
pub(crate) fn end_run(r: &mut Router) {
    if r.learnt.outers.run.interface.is_some() {
        count_run(r);
    }
}

#[inline(never)]
fn count_run(r: &mut Router) {
    let Run { interface, ready, tx, fast, outer, .. } = std::mem::take(&mut r.learnt.outers.run);
    let Some(ready) = ready else { return };
    let flow = r.v4.connections.flow_mut(ready.flow);
    (flow.packets, flow.bytes) = (flow.packets + outer.packets, flow.bytes + outer.bytes);
    if let Some((recipe, _)) = r.learnt.recipes.get_mut(ready.kept.recipe()) {
        recipe.count.merge(outer);
    }
    r.stats.paths.replayed += outer.packets;
    let counts = &mut r.stats.interface_counts[interface.index()];
    counts.tx.merge(tx);
    if r.program.interface(interface).fast_tx {
        counts.fast_tx.merge(fast);
    }
}

/// The same, with all that may have changed looked at again; what comes next may be a run.
#[inline(never)]
fn as_ready(
    r: &mut Router,
    interface: InterfaceId,
    mut frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    end_run(r);
    let is_told = r.is_told();
    let Learnt { outers, recipes, .. } = &mut r.learnt;
    let Some(ready) = outers.get(interface) else { return Err(frame) };
    let (link, header) = (usize::from(ready.link), ready.header.len());
    let bytes = r.io.slab.bytes(&frame);
    let (inner, carried) = (Inner::of(bytes), bytes.len() - link);
    if ready.generation != recipes.generation()
        || is_told
        || frame.has_offload()
        || r.link.depth >= MOST_TUNNELS
        || !ready.carries.takes(inner.ether_type)
        || carried > usize::from(ready.longest)
    {
        return Err(frame);
    }
    let flow = r.v4.connections.flow_if(ready.flow, &ready.tuple);
    let Some(flow) = flow.filter(|flow| flow.kept() == ready.kept) else { return Err(frame) };
    let rewrite = &mut r.v4.neighbours.rewrites_mut()[ready.next_hop.index()];
    let Some((recipe, _)) = recipes.get_mut(ready.kept.recipe()) else { return Err(frame) };
    let (total, tos) = ((carried + header) as u16, ready.header.tos(&inner));
    let len = rewrite.len();
    if !rewrite.is_fresh(&r.link.hosts)
        || !recipe.way.guard.admits(total, OuterHeader::TTL, tos, 0, MacAddr::default())
        || !r.io.slab.push(&mut frame, len + header - link)
    {
        return Err(frame);
    }
    r.tools.profiler.at(Step::Encapsulation);
    let now_ms = r.io.now.as_millis_u32();
    flow.count(total, now_ms);
    recipe.count.add(total.into());
    rewrite.used_ms = now_ms;
    let may_part = !(ready.inherits_df && inner.df);
    let identification = may_part.then(|| r.link.next_identification());
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let outer = match bytes.split_first_chunk_mut() {
        Some((head, outer)) if len == 14 => {
            *head = *rewrite.bytes::<14>();
            outer
        }
        _ => {
            let (head, outer) = bytes.split_at_mut(len);
            head.copy_from_slice(rewrite.header());
            outer
        }
    };
    ready.header.write(outer, &inner, carried, identification);
    let (port, egress, top) = (rewrite.port(), rewrite.egress, rewrite.interface());
    let (mark, fast) = (recipe.way.marks.packet, fast && ready.allows_fast_path);
    // A bridge may learn with every frame, and what lies below is counted by each.
    let is_simple = len == 14 && !egress.has_layers() && !rewrite.is_by_bridge();
    let is_port = usize::from(r.io.ways_out[port.index()].port) < r.io.outboxes.len();
    if is_simple && is_port && recipe.way.guard.admits_all() {
        let ethernet = *rewrite.bytes();
        let run = Run { interface, ready: Some(*ready), ethernet, port, mark, ..Run::default() };
        outers.run = run;
    }
    r.stats.paths.replayed += 1;
    r.count_out(interface, carried, fast);
    if egress.has_layers() {
        let mut passed = Passed::default();
        passed.left(r, (egress, top), frame.len() - len, fast);
        passed.settle(r);
    }
    r.link.depth += 1;
    r.transmit_marked(port, frame, fast, mark);
    r.link.depth -= 1;
    Ok(())
}
