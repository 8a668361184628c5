//! Replaying recipes: what the slow path found out for one packet of a flow, done for the next.
//!
//! ```text
//! 64 headers ─► hash, prefetch bucket ─► tag, prefetch flow ─► flow line: recipe? guard?
//!                                                               │ TCP: window (connection line)
//!     out ◄─ queue ◄─ Ethernet header, TTL, translation ◄─ count ┘
//! ```
//!
//! Three passes over the batch, each asking for the memory the next one reads, so that the misses
//! of 64 packets overlap. Anything out of the ordinary (fragment, option, TTL, SYN, FIN, RST, a
//! guard that does not admit, a neighbour that is not ready) goes to the slow path, in its place. Of
//! thousands of queues a packet's own is asked for some packets before its turn.

use super::common::{
    self, Came, Common, IN_SESSION, IN_TAGGED_SESSION, Lookup, TAGGED, TWICE_TAGGED, UNTAGGED,
};
use super::passed::Passed;
use super::revalidate::revalidate;
use super::{decrement_ttl, first, has_ports, ipv6, overwrite_header, put_header};
use crate::firewall::connection::flow::{Flow, FlowId, flow_flag};
use crate::flow::{self, Cost, Leaving, Resume, is_martian_source};
use crate::interface::InterfaceId;
use crate::ip::neighbour::NeighbourId;
use crate::queue::{Decision, Label, Path, QueueLeafId, Queues};
use crate::router::Router;
use crate::tool::profile::Facility;
use port::{Batch, Frame, Slab};
use wire::layers::protocol;
use wire::{FiveTuple, MacAddr, Moment, Tcp, checksum};

const FIN_SYN_RST: u8 = 0x07;

/// A packet whose header is plain: IPv4 without options, whole, TCP or UDP, for our MAC address.
#[derive(Clone, Copy)]
pub(super) struct Plain {
    pub(super) tuple: FiveTuple,
    pub(super) hash: u32,
    pub(super) flow: FlowId,
}

impl Plain {
    /// Of what is not plain.
    pub(super) const NONE: Plain = {
        let tuple = FiveTuple { src: 0, dst: 0, src_port: 0, dst_port: 0, protocol: 0 };
        Plain { tuple, hash: 0, flow: FlowId::NONE }
    };

    /// Reads a frame for `mac` with such a header in front of IP's.
    #[inline(always)]
    pub(super) fn read(frame: &[u8], header: usize, mac: MacAddr) -> Option<Plain> {
        let tuple = plain_tuple(frame, header, mac.0)?;
        Some(Plain { tuple, hash: tuple.hash(), flow: FlowId::NONE })
    }
}

/// Forwards a batch. `PROFILED` while a profile looks at each pass: marks cost more than what is
/// between them, so the usual form has none.
pub(super) fn receive<const PROFILED: bool>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    batch: &mut Batch,
) {
    common::prefetch(r, batch);
    let common = Common::of(r, port, batch);
    if common.begins_ipv6(r, batch) {
        return ipv6::receive_alone(r, now, port, &common, batch);
    }
    match common.came.header() {
        IN_SESSION => receive_at::<false, IN_SESSION>(r, now, port, common, batch),
        IN_TAGGED_SESSION => receive_at::<false, IN_TAGGED_SESSION>(r, now, port, common, batch),
        TAGGED => receive_at::<PROFILED, TAGGED>(r, now, port, common, batch),
        TWICE_TAGGED => receive_at::<false, TWICE_TAGGED>(r, now, port, common, batch),
        _ => receive_at::<PROFILED, UNTAGGED>(r, now, port, common, batch),
    }
}

/// Forwards a batch of which most packets have such a header in front.
#[inline(always)]
fn receive_at<const PROFILED: bool, const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    common: Common,
    batch: &mut Batch,
) {
    let n = batch.len();
    let mut plain = [Plain::NONE; Batch::CAPACITY];
    let mut are_all = true;
    for (plain, frame) in plain.iter_mut().zip(batch.as_slice()) {
        match common.read::<HEADER>(&r.io.slab, frame) {
            Some(read) => {
                r.v4.connections.flows().prefetch_bucket(read.hash);
                *plain = read;
            }
            None => are_all = false,
        }
    }
    let came = common.came;
    let mut passed = Passed::default();
    if !are_all {
        if ipv6::are_in(&r.io.slab, batch) {
            return ipv6::receive(r, now, port, batch);
        }
        let mut others = [came; Batch::CAPACITY];
        look_again(r, port, &mut plain, &mut others, batch);
        find_flows(r, &mut plain[..n]);
        let ahead = Ahead::of(r, &plain[..n]);
        for (at, ((plain, came), frame)) in plain.iter().zip(&others).zip(batch.drain()).enumerate()
        {
            ahead.turn(r, at);
            if let Err(frame) = replay_any(r, now, plain, *came, frame, &mut passed) {
                passed.leave(r, now, port, frame);
            }
        }
        return passed.settle(r);
    }
    find_flows(r, &mut plain[..n]);
    let ahead = Ahead::of(r, &plain[..n]);
    for (at, (plain, frame)) in plain.iter().zip(batch.drain()).enumerate() {
        ahead.turn(r, at);
        if let Err(frame) = replay::<PROFILED, HEADER>(r, now, plain, came, frame, &mut passed) {
            passed.leave(r, now, port, frame);
        }
    }
    passed.settle(r);
}

impl Common {
    /// Reads a frame that came as most of its batch did; `None` for others, and where it is not
    /// plain.
    #[inline(always)]
    pub(super) fn read<const HEADER: usize>(&self, slab: &Slab, frame: &Frame) -> Option<Plain> {
        let bytes = slab.bytes(frame);
        let is_common = !frame.has_offload() && self.has_tags::<HEADER>(bytes);
        if is_common { Plain::read(bytes, HEADER, self.mac) } else { None }
    }
}

/// Looks for the flows of packets, and asks for their memory.
#[inline(always)]
pub(super) fn find_flows(r: &Router, plain: &mut [Plain]) {
    let flows = r.v4.connections.flows();
    for plain in plain.iter_mut().filter(|plain| plain.tuple.protocol != 0) {
        if let Some(flow) = flows.candidate(plain.hash) {
            plain.flow = flow;
            flows.prefetch_flow(flow);
        }
    }
}

/// The queues on the ways of a batch's packets, where they are too many for the caches: those at some distance are
/// asked for while a packet is replayed.
struct Ahead {
    leaves: [QueueLeafId; Batch::CAPACITY],
    n: usize,
    /// Nobody waits: it is enough to ask for leaves.
    are_idle: bool,
}

impl Ahead {
    /// Asks for the recipes of packets, and for the first packets' queues.
    #[inline(always)]
    fn of(r: &Router, plain: &[Plain]) -> Ahead {
        let leaves = [QueueLeafId::NONE; Batch::CAPACITY];
        let mut ahead = Ahead { leaves, n: 0, are_idle: false };
        if r.learnt.recipes.are_many() || r.queues.are_many() {
            ahead.find(r, plain);
        }
        ahead
    }

    #[inline(never)]
    fn find(&mut self, r: &Router, plain: &[Plain]) {
        let (flows, recipes) = (r.v4.connections.flows(), &r.learnt.recipes);
        let kept = |plain: &Plain| match plain.flow {
            FlowId::NONE => None,
            // Of what is forgotten, the number of the queue says nothing.
            flow => Some(flows.flow(flow).kept()).filter(|kept| !kept.is_none()),
        };
        if recipes.are_many() {
            plain.iter().filter_map(kept).for_each(|kept| recipes.prefetch(kept));
        }
        for (leaf, plain) in self.leaves.iter_mut().zip(plain) {
            let queue =
                kept(plain).and_then(|kept| kept.queue().or_else(|| recipes.queues(kept).first()));
            *leaf = queue.unwrap_or(QueueLeafId::NONE);
        }
        (self.n, self.are_idle) = (plain.len(), r.queues.are_idle());
        r.queues.look_ahead(&self.leaves[..self.n]);
    }

    /// A packet's turn has come.
    #[inline(always)]
    fn turn(&self, r: &Router, at: usize) {
        if self.n == 0 {
            return;
        }
        match self.are_idle {
            true => r.queues.look_ahead_idle(&self.leaves, at),
            false => r.queues.look_ahead_from(&self.leaves[..self.n], at),
        }
    }
}

/// Looks again at what was not plain: takes priority tags off, and finds what others came through.
/// Out of line, for the loop's sake.
#[inline(never)]
fn look_again(
    r: &Router,
    port: InterfaceId,
    plain: &mut [Plain],
    others: &mut [Came],
    batch: &mut Batch,
) {
    let mut lookup = Lookup::new(r, port);
    let all = plain.iter_mut().zip(others).zip(batch.as_mut_slice());
    for ((plain, came), frame) in all.filter(|((plain, _), _)| plain.tuple.protocol == 0) {
        if let Some((mac, of)) = lookup.find(frame)
            && let Some(found) = Plain::read(r.io.slab.bytes(frame), of.header(), mac)
        {
            (*plain, *came) = (found, of);
            r.v4.connections.flows().prefetch_bucket(plain.hash);
        }
    }
}

/// [`replay`] for a packet that came as others of its batch did not.
#[inline(always)]
pub(super) fn replay_any(
    r: &mut Router,
    now: Moment,
    plain: &Plain,
    came: Came,
    frame: Frame,
    passed: &mut Passed,
) -> Result<(), Frame> {
    replay::<false, 0>(r, now, plain, came, frame, passed)
}

/// Does for the frame what its flow's recipe says; gives it back if there is none that fits.
/// `HEADER`: what stands in front of it, if that is known beforehand; else 0.
#[inline(always)]
pub(super) fn replay<const PROFILED: bool, const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    plain: &Plain,
    came: Came,
    mut frame: Frame,
    passed: &mut Passed,
) -> Result<(), Frame> {
    if plain.flow == FlowId::NONE {
        return replay_first(r, now, plain, came, frame, passed);
    }
    let found = r.v4.connections.confirm_mut(plain.flow, plain.hash, &plain.tuple);
    let Some((id, mut flow)) = found else {
        return Err(frame);
    };
    let (flow_flags, next_hop, kept) = (flow.flags, NeighbourId(flow.next_hop), flow.kept());
    if flow.generation != r.learnt.recipes.generation() {
        if !revalidate(r, id) {
            return Err(frame);
        }
        flow = r.v4.connections.flow_mut(id);
    }
    let mut rewrite = &mut r.v4.neighbours.rewrites_mut()[next_hop.index()];
    if !rewrite.is_fresh(&r.link.hosts) {
        if !refresh(r, next_hop) {
            return Err(frame);
        }
        rewrite = &mut r.v4.neighbours.rewrites_mut()[next_hop.index()];
        flow = r.v4.connections.flow_mut(id);
    }
    // Number 0, no recipe, is nobody's.
    let Some((recipe, _)) = r.learnt.recipes.get_mut(kept.recipe()) else {
        return Err(frame);
    };
    let l3 = if HEADER == 0 { usize::from(came.l3) } else { common::len_of(HEADER) };
    let len = frame.len();
    // What `plain_tuple` has found to be there.
    if len < l3 + 40 {
        return Err(frame);
    }
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let Some(&[_, _, _, _, _, _, ref source @ ..]) = bytes.first_chunk::<12>() else {
        return Err(frame);
    };
    let src_mac = MacAddr(*source);
    let Some(ip) = bytes.get_mut(l3..) else { return Err(frame) };
    let Some(head) = ip.first_chunk::<40>() else { return Err(frame) };
    let ip_len = u16::from_be_bytes([head[2], head[3]]);
    let is_tcp = plain.tuple.protocol == protocol::TCP;
    let flags = if is_tcp { head[33] } else { 0 };
    let way = &recipe.way;
    let is_special = recipe.is_special;
    if way.ingress != came.ingress
        || ip_len > rewrite.mtu
        || flags & FIN_SYN_RST != 0
        || is_special && !way.admits(flow_flags, (ip_len, head[8], head[1], flags.into()), src_mac)
    {
        return Err(frame);
    }
    let now_ms = now.as_millis_u32();
    if PROFILED {
        r.tools.profiler.enter(Facility::Firewall);
    }
    if is_tcp && !way.fasttrack {
        let segment = Tcp::new(&ip[20..usize::from(ip_len)]);
        if !segment.is_ok_and(|segment| r.v4.connections.tcp_fast(id, &segment, now_ms)) {
            return Err(frame);
        }
        flow = r.v4.connections.flow_mut(id);
    }
    flow.count(ip_len, now_ms);
    recipe.count.add(ip_len.into());
    let Some(head) = ip.first_chunk_mut() else { return Err(frame) };
    if flow_flags & flow_flag::NAT != 0 {
        translate(head, !is_tcp, flow);
    }
    decrement_ttl(head);
    if is_special && way.edits.any {
        way.edits.write(ip);
    }
    if PROFILED {
        r.tools.profiler.enter(Facility::Networking);
    }
    let (fasttrack, fast) = (way.fasttrack, way.fast);
    let mark = way.marks.packet;
    r.stats.paths.replayed += 1;
    let is_queued = kept.queue().is_some() || kept.is_by_several();
    if PROFILED && is_queued {
        r.tools.profiler.enter(Facility::Queuing);
    }
    if let Some(leaf) = kept.queue() {
        let decision = r.queues.offer(leaf, now, u32::from(ip_len) + 14);
        if decision != Decision::Pass {
            return wait(r, now, (id, plain.tuple), came, frame, (leaf, decision, 1), passed);
        }
    } else if is_queued
        && let Some(stop) = offer_all(&mut r.queues, now, ip_len, r.learnt.recipes.queues(kept))
    {
        return wait(r, now, (id, plain.tuple), came, frame, stop, passed);
    }
    if PROFILED && is_queued {
        r.tools.profiler.enter(Facility::Networking);
    }
    // Read before it is written: a wide load behind a narrow store to the same line waits for it.
    if !overwrite_header(bytes, l3, rewrite) {
        put_header(&r.io.slab, &mut frame, l3, rewrite);
    }
    let (port, out) = (rewrite.port(), (rewrite.egress, rewrite.interface()));
    let left = frame.len() - rewrite.len();
    rewrite.used_ms = now_ms;
    came_fast(r, passed, came, (len, ip_len), fast, fasttrack);
    passed.left(r, out, left, fast);
    r.transmit_marked(port, frame, fast, mark);
    Ok(())
}

/// A flow's first packet, or one that is not plain.
#[inline(never)]
fn replay_first(
    r: &mut Router,
    now: Moment,
    plain: &Plain,
    came: Came,
    frame: Frame,
    passed: &mut Passed,
) -> Result<(), Frame> {
    if plain.tuple.protocol == 0 {
        return Err(frame);
    }
    match first::flow_of(r, now, (plain.tuple, plain.hash), came) {
        Some(flow) => replay_any(r, now, &Plain { flow, ..*plain }, came, frame, passed),
        None => Err(frame),
    }
}

/// Offers a packet to several queues, one after the other; says where it stops, why, and how many it has come to.
#[inline(never)]
fn offer_all(
    queues: &mut Queues<Resume>,
    now: Moment,
    ip_len: u16,
    path: Path,
) -> Option<(QueueLeafId, Decision, usize)> {
    let leaves = path.places().iter().take_while(|&&leaf| leaf != QueueLeafId::NONE);
    leaves.zip(1..).find_map(|(&leaf, places)| {
        let decision = queues.offer(leaf, now, u32::from(ip_len) + 14);
        (decision != Decision::Pass).then_some((leaf, decision, places))
    })
}

/// Lets a packet wait in a queue, so many from the first on, or drops it. Out of line, so that little has to be
/// saved for others.
#[inline(never)]
fn wait(
    r: &mut Router,
    now: Moment,
    (id, tuple): (FlowId, FiveTuple),
    came: Came,
    frame: Frame,
    (leaf, decision, places): (QueueLeafId, Decision, usize),
    passed: &mut Passed,
) -> Result<(), Frame> {
    r.tools.profiler.enter(Facility::Networking);
    let flow = r.v4.connections.flow(id);
    let (kept, next_hop) = (flow.kept(), NeighbourId(flow.next_hop));
    let tuple = flow.translate_destination(tuple);
    let rewrite = r.v4.neighbours.rewrite(next_hop);
    let hop = rewrite.hop();
    // Its own, by which it was counted.
    let Some((recipe, queues)) = r.learnt.recipes.get_mut(kept.recipe()) else {
        unreachable!("a packet of flow {id:?} was counted by no recipe")
    };
    let way = &recipe.way;
    let (in_interface, mark, queues) = (way.in_interface, way.marks.packet, queues.skip(places));
    let (fast, fasttrack, ingress) = (way.fast, way.fasttrack, came.ingress);
    let (rest, l3, depth) = (Box::default(), came.l3.into(), r.link.depth);
    let ip = &r.io.slab.bytes(&frame)[usize::from(came.l3)..];
    // As mangle left it.
    let (tos, ip_len) = (ip[1], u16::from_be_bytes([ip[2], ip[3]]));
    came_fast(r, passed, came, (frame.len(), ip_len), fast, fasttrack);
    let cost = Cost { len: u32::from(ip_len) + 14, label: Label::v4(tuple, tos) };
    // Made where it is taken from: a wide load behind narrow stores waits for them.
    let resume = Resume::Out(Leaving {
        frame,
        rest,
        in_interface,
        ingress,
        l3,
        fast,
        fasttrack,
        encrypted: false,
        depth,
        hop,
        queues,
        mark,
    });
    flow::queue(r, now, leaf, decision, resume, cost);
    Ok(())
}

/// Sends a packet that has passed its queues with the header that its neighbour's others get; gives back what is
/// for the slow path.
#[inline]
pub(crate) fn resume(
    r: &mut Router,
    now: Moment,
    mut leaving: Leaving,
    passed: &mut Passed,
) -> Result<(), Leaving> {
    let Leaving { hop, queues, fast, depth, l3, mark, .. } = leaving;
    let is_plain = queues == Path::NONE
        && leaving.rest.is_empty()
        && !fast
        && !leaving.encrypted
        && hop.label.is_none()
        && depth == 0
        && !leaving.frame.has_offload();
    let is_watched = r.reference() || r.is_told() || r.tools.profiler.sampling;
    if !is_plain || is_watched || !r.program.runs(hop.interface) {
        return Err(leaving);
    }
    let Some(id) = r.v4.neighbours.find(hop.interface, hop.address) else { return Err(leaving) };
    let rewrite = &mut r.v4.neighbours.rewrites_mut()[id.index()];
    let l3 = usize::from(l3);
    let len = leaving.frame.len();
    let bytes = r.io.slab.bytes_mut(&mut leaving.frame);
    let ip_len =
        bytes.get(l3 + 2..l3 + 4).map_or(u16::MAX, |word| u16::from_be_bytes([word[0], word[1]]));
    let is_ready = rewrite.is_fresh(&r.link.hosts) && ip_len <= rewrite.mtu;
    if !is_ready || !overwrite_header(bytes, l3, rewrite) {
        return Err(leaving);
    }
    let (port, out) = (rewrite.port(), (rewrite.egress, rewrite.interface()));
    rewrite.used_ms = now.as_millis_u32();
    passed.left(r, out, len - l3, fast);
    r.transmit_marked(port, leaving.frame, fast, mark);
    Ok(())
}

/// Counts a packet on the interfaces it came through, and in FastPath or FastTrack if it is there.
#[inline(always)]
fn came_fast(
    r: &mut Router,
    passed: &mut Passed,
    came: Came,
    (len, ip_len): (usize, u16),
    fast: bool,
    fasttrack: bool,
) {
    passed.came(r, came.ingress, len, fast);
    if fast && fasttrack {
        r.stats.paths.ipv4_fasttrack.add(ip_len.into());
    } else if fast && r.ipv4_fast_path() {
        r.stats.paths.ipv4_fast_path.add(ip_len.into());
    }
}

/// Brings a rewrite up to date: the neighbour has moved, or a bridge on the way has learnt something.
#[cold]
#[inline(never)]
fn refresh(r: &mut Router, id: NeighbourId) -> bool {
    r.refresh(id)
}

/// Rewrites addresses and ports and mends the checksums (RFC 1624), of which it does not matter in which
/// order the bytes of all words are read (RFC 1071 §2).
#[inline(always)]
fn translate(ip: &mut [u8; 40], is_udp: bool, flow: &Flow) {
    let words = |ip: &[u8; 40]| {
        let word = |at: usize| u32::from_ne_bytes([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
        [word(12), word(16), word(20)]
    };
    let old = words(ip);
    ip[12..16].copy_from_slice(&flow.new_src.to_be_bytes());
    ip[16..20].copy_from_slice(&flow.new_dst.to_be_bytes());
    ip[20..22].copy_from_slice(&flow.new_src_port.to_be_bytes());
    ip[22..24].copy_from_slice(&flow.new_dst_port.to_be_bytes());
    let new = words(ip);
    let addresses = checksum::Delta::default().u32(old[0], new[0]).u32(old[1], new[1]);
    let all = addresses.u32(old[2], new[2]);
    let sum = addresses.apply(u16::from_ne_bytes([ip[10], ip[11]]));
    ip[10..12].copy_from_slice(&sum.to_ne_bytes());
    if is_udp {
        let sum = all.apply_udp(u16::from_ne_bytes([ip[26], ip[27]]));
        ip[26..28].copy_from_slice(&sum.to_ne_bytes());
    } else {
        let sum = all.apply(u16::from_ne_bytes([ip[36], ip[37]]));
        ip[36..38].copy_from_slice(&sum.to_ne_bytes());
    }
}

/// The 5-tuple of a packet that a recipe may fit; `None` for all others.
#[inline(always)]
fn plain_tuple(frame: &[u8], header: usize, own_mac: [u8; 6]) -> Option<FiveTuple> {
    let l3 = common::len_of(header);
    let macs = frame.first_chunk::<12>()?;
    let head = frame.get(l3 - 2..)?.first_chunk::<42>()?; // shorter ones are no Ethernet frames
    if head[..3] != common::before_ip(header) {
        return None; // at once: whole batches may be tagged
    }
    let ip: &[u8; 40] = head[2..].first_chunk()?;
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let src = u32::from_be_bytes([ip[12], ip[13], ip[14], ip[15]]);
    let plain = macs[..6] == own_mac
        && macs[6] & 1 == 0
        && has_ports(ip, total)
        && total <= frame.len() - l3
        && u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff == 0
        && ip[8] > 1
        && !is_martian_source(src)
        && checksum::ipv4_header_ok(ip.first_chunk()?);
    plain.then(|| FiveTuple {
        src,
        dst: u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]]),
        src_port: u16::from_be_bytes([ip[20], ip[21]]),
        dst_port: u16::from_be_bytes([ip[22], ip[23]]),
        protocol: ip[9],
    })
}
