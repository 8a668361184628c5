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
//! ready takes 390, in a run 140: it asks nothing again, and counts at its end. Of routed packets in a row that
//! go there what they have in common is not asked again either ([`all_in_run`]): 45. A run ends where the slow
//! path begins, and with the batch.

use super::decrement_ttl;
use super::passed::Passed;
use crate::counter::Count;
use crate::firewall::connection::FlowId;
use crate::firewall::connection::flow::{Kept, flow_flag};
use crate::flow::MOST_TUNNELS;
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::interface::rewrite::Rewrite;
use crate::interface::tunnel::outer::{Behind, Inner, OuterHeader};
use crate::interface::tunnel::{Carries, Tunnel};
use crate::ip::neighbour::NeighbourId;
use crate::parts::Learnt;
use crate::program::WayOut;
use crate::queue::Path;
use crate::router::Router;
use crate::step::Step;
use port::Frame;
use wire::layers::ETHERTYPE_IPV4;
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
    ends: Ends,
}

/// What a tunnel asks of a packet.
#[derive(Clone, Copy, Debug)]
struct Ends {
    /// `None` of an L2TP session: IP, as long as it says it is.
    carries: Option<Carries>,
    /// The tunnel of such a session.
    l2tp: Option<u16>,
    /// Bytes that can be carried in one piece.
    longest: u16,
    inherits_df: bool,
    allows_fast_path: bool,
    /// Also where others are to be looked at.
    takes_ipv4: bool,
}

impl Ends {
    /// How many bytes of a frame so long are carried; `None` if it is not for this tunnel, or too long.
    #[inline(always)]
    fn carried(&self, kind: Behind, len: usize, inner: &Inner) -> Option<usize> {
        // An L2TP session carries IP, as long as it says it is.
        let carried = if kind == Behind::L2tp { inner.len.into() } else { len - kind.link() };
        let is_ipv4 = self.takes_ipv4 && inner.ether_type == ETHERTYPE_IPV4;
        let takes = || self.carries.map_or(inner.len != 0, |it| it.takes(inner.ether_type));
        ((is_ipv4 || takes()) && carried <= usize::from(self.longest)).then_some(carried)
    }
}

/// Packets into one tunnel, between which nothing has happened.
#[derive(Debug)]
struct Run {
    interface: InterfaceId,
    ready: Ready,
    /// The neighbour's header, and the port's place.
    ethernet: [u8; 14],
    port: WayOut,
    /// Came here in FastPath, and leaves so.
    asked_fast: bool,
    fast: bool,
    /// As the tunnel counts them.
    tx: Count,
}

/// What is ready, by interface, and the run.
#[derive(Debug, Default)]
pub(crate) struct Outers {
    list: Vec<Option<Box<Ready>>>,
    run: Option<Run>,
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
    if tunnel.is_automatic() {
        return;
    }
    let Tunnel { interface, carries, inherits_df, allows_fast_path, .. } = *tunnel;
    let takes_ipv4 = carries.takes(ETHERTYPE_IPV4);
    let carries = Some(carries);
    let ends =
        Ends { carries, l2tp: None, longest: mtu, inherits_df, allows_fast_path, takes_ipv4 };
    keep(r, interface, header, ends);
}

/// The same of a session of an L2TP tunnel.
pub(crate) fn learn_l2tp(r: &mut Router, interface: InterfaceId, header: OuterHeader, tunnel: u16) {
    let (carries, l2tp, longest, inherits_df) = (None, Some(tunnel), u16::MAX, false);
    let allows_fast_path = r.program.interface(interface).fast_tx;
    keep(
        r,
        interface,
        header,
        Ends { carries, l2tp, longest, inherits_df, allows_fast_path, takes_ipv4: true },
    );
}

fn keep(r: &mut Router, interface: InterfaceId, header: OuterHeader, ends: Ends) {
    if r.reference() || r.is_told() || r.program.is_shaped_above(interface) {
        return;
    }
    let (tuple, generation) = (header.tuple(), r.learnt.recipes.generation());
    let Some(flow) = r.v4.connections.flows().find(tuple.hash(), &tuple) else { return };
    let known = r.v4.connections.flow(flow);
    let (kept, next_hop) = (known.kept(), NeighbourId(known.next_hop));
    let Some(recipe) = r.learnt.recipes.get(kept.recipe()) else { return };
    let way = &recipe.way;
    let asks_for_more = known.flags & flow_flag::NAT != 0
        || way.inward
        || way.ingress != IngressId::NONE
        || way.edits.any
        || r.learnt.recipes.queues(kept) != Path::NONE;
    if known.generation != generation || asks_for_more {
        return;
    }
    let room = ends.longest.min(r.v4.neighbours.rewrite(next_hop).mtu);
    let longest = room.saturating_sub(header.len() as u16);
    let ends = Ends { longest, ..ends };
    r.learnt.outers.set(interface, Ready { generation, tuple, flow, kept, next_hop, header, ends });
}

/// Sends a frame into a tunnel as the one before; gives it back if that is not known, or does not hold any more.
pub(crate) fn enclose(
    r: &mut Router,
    interface: InterfaceId,
    frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    let done = match kind_of_run(r, interface, fast) {
        Some(kind) => put::<false>(r, kind, frame),
        None => Err(frame),
    };
    done.or_else(|frame| as_ready(r, interface, frame, fast))
}

/// The same of a plain frame of IPv4, if it was the same tunnel's before: most often. Made once for each kind of
/// header, so that all lengths are known to the compiler.
#[inline(always)]
pub(crate) fn in_run(
    r: &mut Router,
    interface: InterfaceId,
    frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    match kind_of_run(r, interface, fast) {
        Some(Behind::Nothing) => put::<true>(r, Behind::Nothing, frame),
        Some(Behind::Gre) => put::<true>(r, Behind::Gre, frame),
        Some(Behind::Eoip) => put::<true>(r, Behind::Eoip, frame),
        Some(Behind::L2tp) => put::<true>(r, Behind::L2tp, frame),
        Some(kind @ Behind::L2tpEther { .. }) => put::<true>(r, kind, frame),
        None => Err(frame),
    }
}

/// Whether outer headers of this tunnel were ready before.
pub(super) fn is_known(r: &Router, interface: InterfaceId) -> bool {
    r.learnt.outers.get(interface).is_some()
}

/// Packets that were sent into a tunnel in a row.
pub(super) struct Enclosed<K> {
    pub(super) packets: u64,
    /// Their lengths as IP says.
    pub(super) ip_bytes: u64,
    /// Their lengths on arrival.
    pub(super) bytes: u64,
    /// What comes then.
    pub(super) other: Option<(K, Frame)>,
}

/// Sends routed packets of IPv4 with the run's header until one is not alike, or not for that. They are plain
/// ones with `L3` bytes in front, and their TTL is still to be taken from.
#[inline(always)]
pub(super) fn all_in_run<const L3: usize, K: Copy>(
    r: &mut Router,
    rewrite: &Rewrite,
    all: &mut impl Iterator<Item = (K, Frame)>,
    is_alike: impl Fn(K) -> bool,
    fast: bool,
) -> Enclosed<K> {
    let is_usual = rewrite.len() == 14 && !rewrite.egress.has_layers();
    let kind = kind_of_run(r, rewrite.port(), fast).filter(|_| is_usual);
    match kind {
        Some(Behind::Nothing) => put_all::<L3, K>(r, Behind::Nothing, rewrite, all, is_alike),
        Some(Behind::Gre) => put_all::<L3, K>(r, Behind::Gre, rewrite, all, is_alike),
        Some(Behind::Eoip) => put_all::<L3, K>(r, Behind::Eoip, rewrite, all, is_alike),
        Some(Behind::L2tp) => put_all::<L3, K>(r, Behind::L2tp, rewrite, all, is_alike),
        Some(kind @ Behind::L2tpEther { .. }) => put_all::<L3, K>(r, kind, rewrite, all, is_alike),
        None => Enclosed { packets: 0, ip_bytes: 0, bytes: 0, other: all.next() },
    }
}

/// The same with a header of this kind. What is the same for all is asked once; a packet takes 100 instructions
/// less than by `forward`, `transmit` and [`put`].
#[inline(always)]
fn put_all<const L3: usize, K: Copy>(
    r: &mut Router,
    kind: Behind,
    rewrite: &Rewrite,
    all: &mut impl Iterator<Item = (K, Frame)>,
    is_alike: impl Fn(K) -> bool,
) -> Enclosed<K> {
    let Some(run) = r.learnt.outers.run.as_mut().filter(|run| run.ready.ends.takes_ipv4) else {
        return Enclosed { packets: 0, ip_bytes: 0, bytes: 0, other: all.next() };
    };
    let Ready { header, ends, .. } = &run.ready;
    let outbox = &mut r.io.outboxes[usize::from(run.port.port)];
    // In front of the packet as it leaves; one that carries frames puts another link's header there as well.
    let link = 14 - kind.link();
    let before = 14 + kind.header_len() + link;
    let longest_frame = usize::from(r.io.ways_out[rewrite.port().index()].longest);
    let (mut packets, mut ip_bytes, mut bytes, mut carried_bytes) = (0, 0, 0, 0);
    let other = loop {
        let Some((key, mut frame)) = all.next() else { break None };
        let len = frame.len();
        if !is_alike(key) || !r.io.slab.push(&mut frame, before - L3) {
            break Some((key, frame));
        }
        let (outer, inside) = r.io.slab.bytes_mut(&mut frame).split_at_mut(before);
        let Some(ip) = inside.first_chunk_mut::<20>() else {
            frame.pull(before - L3);
            break Some((key, frame));
        };
        let ip_len = u16::from_be_bytes([ip[2], ip[3]]);
        let carried = if kind == Behind::L2tp { ip_len.into() } else { link + len - L3 };
        let fits = carried <= usize::from(ends.longest) && len - L3 + 14 <= longest_frame;
        if ip_len > rewrite.mtu || !fits {
            frame.pull(before - L3);
            break Some((key, frame));
        }
        decrement_ttl(ip);
        let inner = Inner::of_ipv4(ip);
        let may_part = !(ends.inherits_df && inner.df);
        let identification = may_part.then(|| r.link.next_identification());
        if let Some((head, rest)) = outer.split_first_chunk_mut() {
            *head = run.ethernet;
            header.write(kind, rest, &inner, carried, identification);
            if link == 14
                && let Some(head) = rest[kind.header_len()..].first_chunk_mut()
            {
                *head = *rewrite.bytes::<14>();
            }
        }
        if kind == Behind::L2tp {
            // There may be padding behind.
            frame.truncate(before + carried);
        }
        packets += 1;
        (ip_bytes, bytes) = (ip_bytes + u64::from(ip_len), bytes + len as u64);
        carried_bytes += carried as u64;
        outbox.push(frame);
    };
    run.tx.merge(Count { packets, bytes: carried_bytes });
    Enclosed { packets, ip_bytes, bytes, other }
}

/// The header of the run, if there is one for such frames.
#[inline(always)]
fn kind_of_run(r: &Router, interface: InterfaceId, fast: bool) -> Option<Behind> {
    let run = r.learnt.outers.run.as_ref()?;
    let is_it = run.interface == interface && run.asked_fast == fast;
    (is_it && r.link.depth < MOST_TUNNELS).then_some(run.ready.header.kind())
}

/// Sends a frame with the run's header, which is of this kind; gives it back if it is not for that, or is not
/// `PLAIN`.
#[inline(always)]
fn put<const PLAIN: bool>(r: &mut Router, kind: Behind, mut frame: Frame) -> Result<(), Frame> {
    let Some(run) = &mut r.learnt.outers.run else { return Err(frame) };
    let Ready { header, ends, .. } = &run.ready;
    // Read and written in one go: where a frame lies takes 12 instructions.
    let more = 14 + kind.header_len() - kind.link();
    if frame.has_offload() || !r.io.slab.push(&mut frame, more) {
        return Err(frame);
    }
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let inside = &bytes[more..];
    let inner = if PLAIN { Inner::plain(inside) } else { Some(Inner::of(inside)) };
    let carried = inner.and_then(|inner| Some((inner, ends.carried(kind, inside.len(), &inner)?)));
    let Some((inner, carried)) = carried else {
        frame.pull(more);
        return Err(frame);
    };
    let may_part = !(ends.inherits_df && inner.df);
    let identification = may_part.then(|| r.link.next_identification());
    if let Some((head, outer)) = bytes.split_first_chunk_mut() {
        *head = run.ethernet;
        header.write(kind, outer, &inner, carried, identification);
    }
    if kind == Behind::L2tp {
        // There may be padding behind.
        frame.truncate(14 + kind.header_len() + carried);
    }
    run.tx.add(carried as u64);
    r.io.outboxes[usize::from(run.port.port)].push(frame);
    Ok(())
}

/// Ends the run, and counts what it was.
#[inline(always)]
pub(crate) fn end_run(r: &mut Router) {
    if r.learnt.outers.run.is_some() {
        count_run(r);
    }
}

#[inline(never)]
fn count_run(r: &mut Router) {
    let Some(Run { interface, ready, port, fast, tx, .. }) = r.learnt.outers.run.take() else {
        return;
    };
    let Ready { flow, kept, header, .. } = ready;
    let longer = |by: usize| Count { bytes: tx.bytes + by as u64 * tx.packets, ..tx };
    let outer = longer(header.len());
    let flow = r.v4.connections.flow_mut(flow);
    flow.merge(outer);
    if let Some((recipe, _)) = r.learnt.recipes.get_mut(kept.recipe()) {
        recipe.count.merge(outer);
    }
    r.stats.paths.replayed += outer.packets;
    let counts = &mut r.stats.interface_counts[interface.index()];
    counts.tx.merge(tx);
    if fast && r.program.interface(interface).fast_tx {
        counts.fast_tx.merge(tx);
    }
    if fast && port.fast_tx {
        r.io.outboxes[usize::from(port.port)].fast.merge(longer(14 + header.len()));
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
    let Ready { header, ends, .. } = ready;
    let kind = header.kind();
    let inner = Inner::of(r.io.slab.bytes(&frame));
    let Some(carried) = ends.carried(kind, frame.len(), &inner) else { return Err(frame) };
    if frame.has_offload()
        || ready.generation != recipes.generation()
        || is_told
        || r.link.depth >= MOST_TUNNELS
        || ends.l2tp.is_some_and(|tunnel| r.link.l2tp.get(tunnel).is_none())
    {
        return Err(frame);
    }
    let flow = r.v4.connections.flow_if(ready.flow, &ready.tuple);
    let Some(flow) = flow.filter(|flow| flow.kept() == ready.kept) else { return Err(frame) };
    let rewrite = &mut r.v4.neighbours.rewrites_mut()[ready.next_hop.index()];
    let Some((recipe, _)) = recipes.get_mut(ready.kept.recipe()) else { return Err(frame) };
    let (total, tos) = ((carried + header.len()) as u16, header.tos(&inner));
    let len = rewrite.len();
    if !rewrite.is_fresh(&r.link.hosts)
        || !recipe.way.guard.admits(total, OuterHeader::TTL, tos, 0, MacAddr::default())
        || !r.io.slab.push(&mut frame, len + header.len() - kind.link())
    {
        return Err(frame);
    }
    frame.truncate(len + header.len() + carried);
    r.tools.profiler.at(Step::Encapsulation);
    let now_ms = r.io.now.as_millis_u32();
    flow.count(total, now_ms);
    recipe.count.add(total.into());
    rewrite.used_ms = now_ms;
    let may_part = !(ends.inherits_df && inner.df);
    let identification = may_part.then(|| r.link.next_identification());
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let outer = match bytes.split_first_chunk_mut() {
        Some((head, outer)) if len == 14 => {
            *head = *rewrite.bytes::<14>();
            outer
        }
        _ => {
            let (head, outer) = bytes.split_at_mut(len);
            rewrite.write(head, total);
            outer
        }
    };
    header.write(kind, outer, &inner, carried, identification);
    let (port, egress, top) = (rewrite.port(), rewrite.egress, rewrite.interface());
    let (mark, asked_fast, fast) = (recipe.way.marks.packet, fast, fast && ends.allows_fast_path);
    // A bridge may learn with every frame, and what lies below is counted by each.
    let is_simple = len == 14 && !egress.has_layers() && !rewrite.is_by_bridge();
    let way_out = r.io.ways_out[port.index()];
    let is_port = usize::from(way_out.port) < r.io.outboxes.len();
    if is_simple && is_port && recipe.way.guard.admits_all() {
        let ethernet = *rewrite.bytes();
        let room = usize::from(way_out.longest).saturating_sub(len + header.len());
        let longest = ends.longest.min(room as u16);
        let ready = Ready { ends: Ends { longest, ..*ends }, ..*ready };
        let tx = Count::default();
        outers.run = Some(Run { interface, ready, ethernet, port: way_out, asked_fast, fast, tx });
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
