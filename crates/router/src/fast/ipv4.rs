//! Routing when there is nothing to ask but the FIB: no tracking, no rules, no queues.
//!
//! ```text
//! check (header, checksum, TTL)  ─► 64 destinations ─► Fib::lookup_batch ─► leaf ─► adjacency
//!    └ not plain: dst stays 0 = martian ─► slow path             rewrite, outbox ◄─┘
//! ```

use super::decrement_ttl;
use crate::counter::Count;
use crate::flow::{self, is_martian_source, is_own_source};
use crate::interface::{InterfaceId, priority};
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::{Adjacency, NeighbourId};
use crate::ip::route::LeafKind;
use crate::router::Router;
use port::Batch;
use wire::{Moment, checksum};

/// Where the last packet went: most often the next one goes there as well.
#[derive(Default)]
struct Last {
    leaf: NextHopId,
    /// The destination, where the adjacency depends on it; else 0.
    dst: u32,
    neighbour: NeighbourId,
    adjacency: Adjacency,
    /// A packet went there, and the neighbour was told.
    used: bool,
}

/// Forwards a batch.
pub(super) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    let n = batch.len();
    let interface = r.program.interface(port);
    let own_mac = interface.mac.0;
    let fast = r.ipv4_fast_path() && interface.fast_rx;
    for frame in batch.as_slice() {
        r.io.slab.prefetch(frame);
    }
    // 0.0.0.0 leads to the martian leaf, so whatever is not plain takes the slow path.
    let mut dst = [0; Batch::CAPACITY];
    for (dst, frame) in dst.iter_mut().zip(batch.as_slice()) {
        if !frame.has_offload() {
            let own = |src| is_own_source(r, src);
            *dst = plain_destination(r.io.slab.bytes(frame), own_mac, own);
        }
    }
    if dst[..n].contains(&0) {
        untag(r, own_mac, &mut dst, batch);
    }
    let mut leaves = [NextHopId::NONE; Batch::CAPACITY];
    r.v4.routes.fib().lookup_batch(&dst[..n], &mut leaves[..n]);
    let (mut frames, mut packets) = (Count::default(), Count::default());
    let mut last = Last::default();
    for (at, mut frame) in batch.drain().enumerate() {
        if leaves[at] != last.leaf || (last.dst != 0 && last.dst != dst[at]) {
            last = adjacency_behind(r, leaves[at], dst[at]);
        }
        let adjacency = last.adjacency;
        let Some(head) = r.io.slab.bytes_mut(&mut frame).first_chunk_mut::<34>() else {
            flow::physical_in(r, now, port, frame);
            continue;
        };
        let ip_len = u16::from_be_bytes([head[16], head[17]]);
        if !adjacency.ready || ip_len > adjacency.mtu {
            flow::physical_in(r, now, port, frame);
            last = Last::default(); // the slow path may have changed what is known
            continue;
        }
        if !last.used {
            last.used = true;
            let at = last.neighbour.index();
            r.v4.neighbours.adjacencies_mut()[at].used_ms = now.as_millis_u32();
        }
        head[..14].copy_from_slice(&adjacency.header);
        decrement_ttl(&mut head[14..]);
        frames.add(frame.len() as u64);
        packets.add(ip_len.into());
        r.transmit(adjacency.interface, frame, fast);
    }
    if fast {
        r.stats.paths.ipv4_fast_path.merge(packets);
        r.stats.interface_counts[port.index()].fast_rx.merge(frames);
    }
}

/// Takes priority tags off what was not plain, and looks again. Out of line, so that the loop above stays
/// as short as it is without: with it inside a packet took 13 instructions more.
#[cold]
#[inline(never)]
fn untag(r: &Router, own_mac: [u8; 6], dst: &mut [u32], batch: &mut Batch) {
    for (dst, frame) in dst.iter_mut().zip(batch.as_mut_slice()).filter(|(dst, _)| **dst == 0) {
        if !frame.has_offload() && priority::take_off(&r.io.slab, frame) {
            *dst = plain_destination(r.io.slab.bytes(frame), own_mac, |src| is_own_source(r, src));
        }
    }
}

/// The destination of a packet that needs nothing but forwarding; 0 for all others.
#[inline(always)]
fn plain_destination(frame: &[u8], own_mac: [u8; 6], is_own_source: impl Fn(u32) -> bool) -> u32 {
    let Some(head) = frame.first_chunk::<34>() else { return 0 };
    let ip: &[u8; 20] = head[14..].first_chunk().expect("34 - 14 bytes");
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let src = u32::from_be_bytes([ip[12], ip[13], ip[14], ip[15]]);
    let plain = head[..6] == own_mac
        && head[6] & 1 == 0
        && head[12..15] == [0x08, 0x00, 0x45]
        && (20..=frame.len() - 14).contains(&total)
        && ip[8] > 1
        && !is_martian_source(src)
        && !is_own_source(src)
        && checksum::ipv4_header_ok(ip);
    if plain { u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]]) } else { 0 }
}

/// The adjacency behind a leaf; one that is not ready if there is none, or if it is not behind a
/// port.
#[inline]
fn adjacency_behind(r: &Router, id: NextHopId, dst: u32) -> Last {
    let leaf = r.v4.routes.leaf(id);
    let (neighbour, dst) = match leaf.kind {
        LeafKind::Gateway => (leaf.neighbour, 0),
        LeafKind::Connected => {
            (r.v4.neighbours.find(leaf.interface, dst).unwrap_or(NeighbourId::NONE), dst)
        }
        LeafKind::None | LeafKind::Ecmp | LeafKind::Special => (NeighbourId::NONE, 0),
    };
    let mut adjacency = *r.v4.neighbours.adjacency(neighbour);
    // By which port a frame leaves a bridge is for the slow path to find out.
    adjacency.ready = adjacency.ready && r.is_port(adjacency.interface);
    Last { leaf: id, dst, neighbour, adjacency, used: false }
}
