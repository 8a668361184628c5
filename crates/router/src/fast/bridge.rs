//! Bridging when there is nothing to ask but the hosts.
//!
//! ```text
//! both MACs of all frames: prefetch their buckets ─► decide ─► known, one port ─► learn, outbox
//!                                                      └ flood, local, tagged … ─► slow path
//! ```
//!
//! Deciding before learning gives the same as the slow path's order, unless a frame is sent to its
//! own source: that one is left to the slow path.

use crate::counter::Count;
use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::bridge::Decision;
use crate::program::BridgeAt;
use crate::router::Router;
use port::Batch;
use wire::layers::{ETHERTYPE_SVLAN, ETHERTYPE_VLAN};
use wire::{MacAddr, Moment};

/// Bridges a batch.
pub(super) fn receive(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    bridge: BridgeAt,
    batch: &mut Batch,
) {
    for frame in batch.as_slice() {
        if let Some((dst, src)) = plain_addresses(r.slab.bytes(frame)) {
            r.hosts[bridge.0].prefetch(dst.to_u64());
            r.hosts[bridge.0].prefetch(src.to_u64());
        }
    }
    let fast = r.program.bridge_fast_path() && r.program.interface(port).fast_rx;
    let learn = r.program.bridge(bridge).port(port).is_some_and(|port| port.learn);
    let mut forwarded = Count::default();
    for frame in batch.drain() {
        let to = plain_addresses(r.slab.bytes(&frame)).and_then(|(dst, src)| {
            match r.program.bridge(bridge).decide(port, dst, &r.hosts[bridge.0]) {
                Decision::Port(to) => Some((to, src)),
                Decision::Local | Decision::Flood { .. } | Decision::Discard(_) => None,
            }
        });
        let Some((to, src)) = to else {
            flow::physical_in(r, now, port, frame);
            continue;
        };
        if learn {
            r.hosts[bridge.0].learn(src.to_u64(), port, now.as_millis_u32());
        }
        forwarded.add(frame.len() as u64);
        r.transmit(to, frame, fast);
    }
    if fast {
        r.paths.bridge_fast_path.merge(forwarded);
        r.interface_counts[port.index()].fast_rx.merge(forwarded);
    }
}

/// Destination and source of an untagged frame between two hosts.
#[inline(always)]
fn plain_addresses(frame: &[u8]) -> Option<(MacAddr, MacAddr)> {
    let head = frame.first_chunk::<14>()?;
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *head;
    let (dst, src) = (MacAddr([d0, d1, d2, d3, d4, d5]), MacAddr([s0, s1, s2, s3, s4, s5]));
    let ether_type = u16::from_be_bytes([t0, t1]);
    let tagged = ether_type == ETHERTYPE_VLAN || ether_type == ETHERTYPE_SVLAN;
    let plain = !tagged && !dst.is_multicast() && !src.is_multicast() && dst != src;
    plain.then_some((dst, src))
}
