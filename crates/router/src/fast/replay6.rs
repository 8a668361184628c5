//! Replaying recipes of IPv6: what [`replay`](super::replay) does of IPv4.

use super::common::{self, Came};
use super::ipv6::Plain6;
use super::passed::Passed;
use super::{overwrite_header, put_header};
use crate::firewall::connection::flow::{FlowId, flow_flag};
use crate::flow::{self, Cost, Leaving, Resume};
use crate::ip::family::Family;
use crate::ip::neighbour::NeighbourId;
use crate::queue::{Decision, Label, QueueLeafId};
use crate::router::Router;
use port::Frame;
use wire::checksum::Delta;
use wire::ipv6::HEADER_LEN;
use wire::layers::protocol;
use wire::{FiveTuple, MacAddr, Moment, Tcp};

const FIN_SYN_RST: u8 = 0x07;

/// Does for the frame what its flow's recipe says; gives it back if there is none that fits.
/// `HEADER`: what stands in front of it, if that is known beforehand; else 0.
#[inline(always)]
pub(super) fn replay<const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    plain: &Plain6,
    came: Came,
    mut frame: Frame,
    passed: &mut Passed,
) -> Result<(), Frame> {
    if plain.flow == FlowId::NONE {
        return Err(frame);
    }
    let flows = r.v6.connections.flows();
    let Some((id, flow)) = flows.confirm(plain.flow, plain.hash, &plain.tuple) else {
        return Err(frame);
    };
    let (flow_flags, next_hop, kept) = (flow.flags, NeighbourId(flow.next_hop), flow.kept());
    if flow.generation != r.learnt.recipes.generation() && !revalidate(r, id) {
        return Err(frame);
    }
    let mut rewrite = &mut r.v6.neighbours.rewrites_mut()[next_hop.index()];
    if !rewrite.is_fresh(&r.link.hosts) {
        if !refresh(r, next_hop) {
            return Err(frame);
        }
        rewrite = &mut r.v6.neighbours.rewrites_mut()[next_hop.index()];
    }
    // Number 0, no recipe, is nobody's.
    let Some((recipe, queues)) = r.learnt.recipes.get_mut(kept.recipe()) else {
        return Err(frame);
    };
    let l3 = if HEADER == 0 { usize::from(came.l3) } else { common::len_of(HEADER) };
    let len = frame.len();
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let Some(&[_, _, _, _, _, _, ref source @ ..]) = bytes.first_chunk::<12>() else {
        return Err(frame);
    };
    let src_mac = MacAddr(*source);
    let Some(ip) = bytes.get_mut(l3..) else { return Err(frame) };
    // What `plain_tuple` has found to be there: UDP's header at least.
    let Some(head) = ip.first_chunk::<48>() else { return Err(frame) };
    let ip_len = u16::from_be_bytes([head[4], head[5]]).saturating_add(HEADER_LEN as u16);
    let (hop_limit, class) = (head[7], head[0] << 4 | head[1] >> 4);
    let is_tcp = plain.tuple.protocol == protocol::TCP;
    let flags = if is_tcp { ip.get(HEADER_LEN + 13).map_or(u8::MAX, |&flags| flags) } else { 0 };
    let way = &recipe.way;
    let is_special = recipe.is_special;
    if way.ingress != came.ingress
        || ip_len > rewrite.mtu
        || flags & FIN_SYN_RST != 0
        || is_special && !way.admits(flow_flags, (ip_len, hop_limit, class, flags.into()), src_mac)
    {
        return Err(frame);
    }
    let now_ms = now.as_millis_u32();
    if is_tcp && !way.fasttrack {
        let segment = Tcp::new(&ip[HEADER_LEN..usize::from(ip_len)]);
        if !segment.is_ok_and(|segment| r.v6.connections.tcp_fast(id, &segment, now_ms)) {
            return Err(frame);
        }
    }
    r.v6.connections.flow_mut(id).count(ip_len, now_ms);
    recipe.count.add(ip_len.into());
    if flow_flags & flow_flag::NAT != 0 {
        translate(ip, is_tcp, &r.v6.connections.flow(id).translated());
    }
    ip[7] -= 1;
    if is_special && way.edits.any {
        way.edits.write6(ip);
    }
    let (fasttrack, fast, mark) = (way.fasttrack, way.fast, way.marks.packet);
    r.stats.paths.replayed += 1;
    let mut leaf = kept.queue().unwrap_or(queues.places()[0]);
    let mut place = 1;
    while leaf != QueueLeafId::NONE {
        let queue_len = u32::from(ip_len) + 14;
        let decision = r.queues.offer(leaf, now, queue_len);
        if decision != Decision::Pass {
            let hop = rewrite.hop();
            let (rest, ingress, l3) = (Box::default(), came.ingress, l3 as u16);
            let (queues, in_interface) = (queues.skip(place), way.in_interface);
            let all_queues = r.learnt.recipes.queues(kept);
            let tuple = r.v6.connections.flow(id).translate_destination(plain.tuple);
            let class = flow::traffic_class(&r.io.slab.bytes(&frame)[usize::from(l3)..]);
            let label = Label::v6(tuple, class, r.queues.lengths6_on(all_queues));
            let cost = Cost { len: queue_len, label };
            let leaving = Leaving {
                frame,
                rest,
                in_interface,
                ingress,
                l3,
                fast,
                fasttrack,
                encrypted: false,
                depth: r.link.depth,
                hop,
                queues,
                mark,
            };
            came_fast(r, passed, came, (len, ip_len), fast, fasttrack);
            flow::queue(r, now, leaf, decision, Resume::Out6(Box::new(leaving)), cost);
            return Ok(());
        }
        leaf = queues.places().get(place).copied().unwrap_or(QueueLeafId::NONE);
        place += 1;
    }
    if !overwrite_header(bytes, l3, rewrite) {
        put_header(&r.io.slab, &mut frame, l3, rewrite);
    }
    let (port, out) = (rewrite.port(), (rewrite.egress, rewrite.interface()));
    rewrite.used_ms = now_ms;
    came_fast(r, passed, came, (len, ip_len), fast, fasttrack);
    passed.left(r, out, len - l3, fast);
    r.transmit_marked(port, frame, fast, mark);
    Ok(())
}

/// Brings a rewrite up to date: the neighbour has moved, or a bridge on the way has learnt something.
#[cold]
#[inline(never)]
fn refresh(r: &mut Router, id: NeighbourId) -> bool {
    r.refresh6(id)
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
        r.stats.paths.ipv6_fasttrack.add(ip_len.into());
    } else if fast && r.ipv6_fast_path() {
        r.stats.paths.ipv6_fast_path.add(ip_len.into());
    }
}

/// Rewrites addresses and ports and mends the checksum (RFC 1624).
#[inline(never)]
fn translate(ip: &mut [u8], is_tcp: bool, new: &FiveTuple<u128>) {
    let Some(addresses) = u128::put_addresses(ip, new.src, new.dst, &mut Delta::default()) else {
        return;
    };
    let Some(start) = ip[HEADER_LEN..].first_chunk_mut::<4>() else { return };
    let old = u32::from_be_bytes(*start);
    let ports = u32::from(new.src_port) << 16 | u32::from(new.dst_port);
    *start = ports.to_be_bytes();
    let delta = addresses.u32(old, ports);
    let at = HEADER_LEN + if is_tcp { 16 } else { 6 };
    if let Some(sum) = ip[at..].first_chunk_mut::<2>() {
        let was = u16::from_be_bytes(*sum);
        *sum = if is_tcp { delta.apply(was) } else { delta.apply_udp(was) }.to_be_bytes();
    }
}

/// Whether a recipe of an earlier program holds under this one. A change of IPv6's rules or routes forgets all
/// recipes, so what is left to ask is whether an address has come into a list, or left it, and whether the
/// flow's queues are still the same ones.
#[cold]
#[inline(never)]
fn revalidate(r: &mut Router, id: FlowId) -> bool {
    let flow = r.v6.connections.flow(id);
    let (here, there) = (flow.tuple().folded(), flow.translated().folded());
    let addresses = [here.src, here.dst, there.src, there.dst];
    let Some(mut differences) = r.learnt.recipes.since(flow.generation) else { return false };
    let Some(recipe) = r.learnt.recipes.get(flow.kept().recipe()) else { return false };
    if r.learnt.recipes.have_moved(addresses, flow.generation) {
        return false;
    }
    let way = &recipe.way;
    if !way.fasttrack && differences.any(|difference| difference.queues) {
        let tuple = flow.translate_destination(flow.tuple());
        let out = r.v6.neighbours.rewrite(NeighbourId(flow.next_hop)).interface();
        let (mark, clock) = (way.marks.packet, (&mut r.rules.clock, r.io.now));
        let queues = r.program.queue_path(&tuple, way.in_interface, out, mark, clock);
        if queues != r.learnt.recipes.queues(flow.kept()) {
            return false;
        }
    }
    r.v6.connections.flow_mut(id).generation = r.learnt.recipes.generation();
    true
}
