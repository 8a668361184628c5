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
//! guard that does not admit, a neighbour that is not ready) goes to the slow path, in its place.

use super::revalidate::revalidate;
use super::{decrement_ttl, has_ports};
use crate::firewall::connection::flow::{FlowId, flow_flag};
use crate::flow::{self, Hop, Leaving, is_martian_source};
use crate::interface::{InterfaceId, priority};
use crate::queue::leaf::Decision;
use crate::router::Router;
use crate::tool::profile::Facility;
use port::{Batch, Frame};
use wire::layers::protocol;
use wire::{FiveTuple, MacAddr, Moment, Tcp, checksum};

const FIN_SYN_RST: u8 = 0x07;

/// A packet whose header is plain: IPv4 without options, whole, TCP or UDP, for our MAC address.
#[derive(Clone, Copy, Default)]
struct Plain {
    tuple: FiveTuple,
    hash: u32,
    flow: Option<FlowId>,
}

/// Forwards a batch. `PROFILED` while a profile looks at each pass: marks cost more than what is
/// between them, so the usual form has none.
pub(super) fn receive<const PROFILED: bool>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    batch: &mut Batch,
) {
    let own_mac = r.program.interface(port).mac.0;
    for frame in batch.as_slice() {
        r.io.slab.prefetch(frame);
    }
    let mut plain = [Plain::default(); Batch::CAPACITY];
    let mut are_all = true;
    for (plain, frame) in plain.iter_mut().zip(batch.as_slice()) {
        if frame.has_offload() {
            continue;
        }
        if let Some(tuple) = plain_tuple(r.io.slab.bytes(frame), own_mac) {
            *plain = Plain { tuple, hash: tuple.hash(), flow: None };
            r.v4.connections.flows().prefetch_bucket(plain.hash);
        } else {
            are_all = false;
        }
    }
    if !are_all {
        untag(r, own_mac, &mut plain, batch);
    }
    let n = batch.len();
    for plain in plain[..n].iter_mut().filter(|plain| plain.tuple.protocol != 0) {
        plain.flow = r.v4.connections.flows().candidate(plain.hash);
        if let Some(flow) = plain.flow {
            r.v4.connections.flows().prefetch_flow(flow);
        }
    }
    for (plain, frame) in plain.iter().zip(batch.drain()) {
        if let Err(frame) = replay::<PROFILED>(r, now, port, plain, frame) {
            flow::physical_in(r, now, port, frame);
        }
    }
}

/// Takes priority tags off what was not plain, and looks again: out of line, for the loop's sake.
#[cold]
#[inline(never)]
fn untag(r: &Router, own_mac: [u8; 6], plain: &mut [Plain], batch: &mut Batch) {
    let all = plain.iter_mut().zip(batch.as_mut_slice());
    for (plain, frame) in all.filter(|(plain, _)| plain.tuple.protocol == 0) {
        if !frame.has_offload()
            && priority::take_off(&r.io.slab, frame)
            && let Some(tuple) = plain_tuple(r.io.slab.bytes(frame), own_mac)
        {
            *plain = Plain { tuple, hash: tuple.hash(), flow: None };
        }
    }
}

/// Does for the frame what its flow's recipe says; gives it back if there is none that fits.
#[inline(always)]
fn replay<const PROFILED: bool>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    plain: &Plain,
    mut frame: Frame,
) -> Result<(), Frame> {
    let flows = r.v4.connections.flows();
    let id = plain.flow.and_then(|flow| flows.confirm(flow, plain.hash, &plain.tuple));
    let Some(id) = id else { return Err(frame) };
    let flow = flows.flow(id);
    if flow.generation != r.learnt.recipes.generation() && !revalidate(r, id) {
        return Err(frame);
    }
    let flow = r.v4.connections.flow(id);
    let (flow_flags, next_hop) = (flow.flags, flow.next_hop as usize);
    // Number 0, no recipe, is nobody's.
    let Some(recipe) = r.learnt.recipes.get_mut(flow.recipe) else { return Err(frame) };
    let adjacency = &mut r.v4.neighbours.adjacencies_mut()[next_hop];
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let Some(head) = bytes.first_chunk::<34>() else { return Err(frame) };
    let ip_len = u16::from_be_bytes([head[16], head[17]]);
    let (ttl, tos) = (head[22], head[15]);
    let src_mac = MacAddr([head[6], head[7], head[8], head[9], head[10], head[11]]);
    let is_tcp = plain.tuple.protocol == protocol::TCP;
    let flags = if is_tcp { bytes[47] } else { 0 };
    let way = &recipe.way;
    if way.port != port
        || !way.guard.admits(ip_len, ttl, tos, flags.into(), src_mac)
        || !adjacency.ready
        || ip_len > adjacency.mtu
        || (is_tcp && flags & FIN_SYN_RST != 0)
        || (way.fasttrack && flow_flags & flow_flag::FASTTRACK == 0)
    {
        return Err(frame);
    }
    let now_ms = now.as_millis_u32();
    if PROFILED {
        r.tools.profiler.enter(Facility::Firewall);
    }
    if is_tcp && !way.fasttrack {
        let segment = Tcp::new(&bytes[34..14 + usize::from(ip_len)]);
        if !segment.is_ok_and(|segment| r.v4.connections.tcp_fast(id, &segment, now_ms)) {
            return Err(frame);
        }
    }
    let flow = r.v4.connections.flow_mut(id);
    flow.count(ip_len, now_ms);
    recipe.count.add(ip_len.into());
    if flow_flags & flow_flag::NAT != 0 {
        translate(bytes, &plain.tuple, &flow.translated());
    }
    if PROFILED {
        r.tools.profiler.enter(Facility::Networking);
    }
    let (queue, fasttrack, fast) = (way.queue, way.fasttrack, way.fast);
    let hop = Hop { interface: adjacency.interface, address: adjacency.address };
    bytes[..14].copy_from_slice(&adjacency.header);
    decrement_ttl(&mut bytes[14..]);
    if fast {
        r.stats.interface_counts[port.index()].fast_rx.add(frame.len() as u64);
        if fasttrack {
            r.stats.paths.ipv4_fasttrack.add(ip_len.into());
        }
    }
    r.stats.paths.replayed += 1;
    if let Some(leaf) = queue {
        let len = u32::from(ip_len) + 14;
        if PROFILED {
            r.tools.profiler.enter(Facility::Queuing);
        }
        let decision = r.queues.offer(leaf, now, len);
        if PROFILED {
            r.tools.profiler.enter(Facility::Networking);
        }
        match decision {
            Decision::Pass => {}
            verdict => {
                let leaving = Leaving {
                    frame,
                    rest: Vec::new(),
                    in_interface: port,
                    l3: 14,
                    fast,
                    fasttrack,
                    hop,
                };
                flow::queue(r, leaf, verdict, leaving, len);
                return Ok(());
            }
        }
    }
    r.v4.neighbours.adjacencies_mut()[next_hop].used_ms = now_ms;
    r.transmit(hop.interface, frame, fast);
    Ok(())
}

/// Rewrites addresses and ports and mends the checksums (RFC 1624).
#[inline(always)]
fn translate(bytes: &mut [u8], old: &FiveTuple, new: &FiveTuple) {
    let addresses = checksum::Delta::default().u32(old.src, new.src).u32(old.dst, new.dst);
    let ports =
        checksum::Delta::default().u16(old.src_port, new.src_port).u16(old.dst_port, new.dst_port);
    let mend = |at: &mut [u8; 2], delta: checksum::Delta, udp: bool| {
        let sum = u16::from_be_bytes(*at);
        let sum = if udp { delta.apply_udp(sum) } else { delta.apply(sum) };
        *at = sum.to_be_bytes();
    };
    bytes[26..30].copy_from_slice(&new.src.to_be_bytes());
    bytes[30..34].copy_from_slice(&new.dst.to_be_bytes());
    bytes[34..36].copy_from_slice(&new.src_port.to_be_bytes());
    bytes[36..38].copy_from_slice(&new.dst_port.to_be_bytes());
    let is_udp = old.protocol == protocol::UDP;
    let l4_sum = if is_udp { 40 } else { 50 };
    let both = addresses.and(ports);
    if let Some(at) = bytes[24..].first_chunk_mut() {
        mend(at, addresses, false);
    }
    if let Some(at) = bytes[l4_sum..].first_chunk_mut() {
        mend(at, both, is_udp);
    }
}

/// The 5-tuple of a packet that a recipe may fit; `None` for all others.
#[inline(always)]
fn plain_tuple(frame: &[u8], own_mac: [u8; 6]) -> Option<FiveTuple> {
    let head = frame.first_chunk::<54>()?; // shorter ones are no Ethernet frames
    let ip: &[u8; 20] = head[14..].first_chunk()?;
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let src = u32::from_be_bytes([ip[12], ip[13], ip[14], ip[15]]);
    let plain = head[..6] == own_mac
        && head[6] & 1 == 0
        && head[12..15] == [0x08, 0x00, 0x45]
        && has_ports(head, total)
        && total <= frame.len() - 14
        && u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff == 0
        && ip[8] > 1
        && !is_martian_source(src)
        && checksum::ipv4_header_ok(ip);
    plain.then(|| FiveTuple {
        src,
        dst: u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]]),
        src_port: u16::from_be_bytes([head[34], head[35]]),
        dst_port: u16::from_be_bytes([head[36], head[37]]),
        protocol: ip[9],
    })
}
