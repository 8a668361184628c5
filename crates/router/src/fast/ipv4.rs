//! Routing when there is nothing to ask but the FIB: no tracking, no rules, no queues.
//!
//! ```text
//! check (header, checksum, TTL)  ─► 64 destinations ─► Fib::lookup_batch ─► leaf ─► adjacency
//!    └ not plain: dst stays 0 = martian ─► slow path             rewrite, outbox ◄─┘
//! ```

use super::decrement_ttl;
use crate::counter::Count;
use crate::flow::{self, is_martian_source};
use crate::interface::InterfaceId;
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::NeighbourId;
use crate::ip::route::LeafKind;
use crate::router::Router;
use port::Batch;
use wire::{Moment, checksum};

/// Forwards a batch.
pub(super) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    let n = batch.len();
    let interface = r.program.interface(port);
    let own_mac = interface.mac.0;
    let fast = r.program.ipv4_fast_path() && interface.fast_rx;
    let (mut frames, mut packets) = (Count::default(), Count::default());
    // 0.0.0.0 leads to the martian leaf, so whatever is not plain takes the slow path.
    let mut dst = [0; Batch::CAPACITY];
    for (dst, frame) in dst.iter_mut().zip(batch.as_slice()) {
        *dst = plain_destination(r.slab.bytes(frame), own_mac);
    }
    let mut leaves = [NextHopId::NONE; Batch::CAPACITY];
    r.routes.fib().lookup_batch(&dst[..n], &mut leaves[..n]);
    let now_ms = now.as_millis_u32();
    for (at, mut frame) in batch.drain().enumerate() {
        let neighbour = neighbour_behind(r, leaves[at], dst[at]);
        let adjacency = &mut r.neighbours.adjacencies_mut()[neighbour.index()];
        let bytes = r.slab.bytes_mut(&mut frame);
        let Some(head) = bytes.first_chunk_mut::<34>() else {
            flow::physical_in(r, now, port, frame);
            continue;
        };
        let ip_len = u16::from_be_bytes([head[16], head[17]]);
        if !adjacency.ready || ip_len > adjacency.mtu {
            flow::physical_in(r, now, port, frame);
            continue;
        }
        adjacency.used_ms = now_ms;
        head[..14].copy_from_slice(&adjacency.header);
        decrement_ttl(&mut head[14..]);
        let out = adjacency.interface;
        frames.add(frame.len() as u64);
        packets.add(ip_len.into());
        r.transmit(out, frame, fast);
    }
    if fast {
        r.paths.ipv4_fast_path.merge(packets);
        r.interface_counts[port.index()].fast_rx.merge(frames);
    }
}

/// The destination of a packet that needs nothing but forwarding; 0 for all others.
#[inline(always)]
fn plain_destination(frame: &[u8], own_mac: [u8; 6]) -> u32 {
    let Some(head) = frame.first_chunk::<34>() else { return 0 };
    let ip: &[u8; 20] = head[14..].first_chunk().expect("34 - 14 bytes");
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let plain = head[..6] == own_mac
        && head[6] & 1 == 0
        && head[12..15] == [0x08, 0x00, 0x45]
        && (20..=frame.len() - 14).contains(&total)
        && ip[8] > 1
        && !is_martian_source(u32::from_be_bytes([ip[12], ip[13], ip[14], ip[15]]))
        && checksum::ipv4_header_ok(ip);
    if plain { u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]]) } else { 0 }
}

#[inline(always)]
fn neighbour_behind(r: &Router, leaf: NextHopId, dst: u32) -> NeighbourId {
    let leaf = r.routes.leaf(leaf);
    match leaf.kind {
        LeafKind::Gateway => leaf.neighbour,
        LeafKind::Connected => r.neighbours.find(leaf.interface, dst).unwrap_or(NeighbourId::NONE),
        LeafKind::None | LeafKind::Ecmp | LeafKind::Special => NeighbourId::NONE,
    }
}
