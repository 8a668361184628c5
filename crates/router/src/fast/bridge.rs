//! Bridging between known hosts, through the bridge filter if it has rules.
//!
//! ```text
//! both MACs of all frames: prefetch their buckets ─► decide ─► known, one port ─► learn, filter, outbox
//!                                                      └ flood, local, tagged … ─► slow path
//! ```
//!
//! Deciding before learning gives the same as the slow path's order, unless a frame is sent to its
//! own source: that one is left to the slow path.

use crate::counter::Count;
use crate::discard::Discard;
use crate::firewall::rule::Books;
use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::bridge::Decision;
use crate::interface::bridge::filter::Chain;
use crate::packet::{ConnectionState, View};
use crate::program::BridgeAt;
use crate::router::Router;
use port::{Batch, Frame};
use wire::layers::{self, ETHERTYPE_SVLAN, ETHERTYPE_VLAN};
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
    let filtered = !r.program.bridge_filter.is_empty();
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
        if filtered && !accepts(r, now, (port, to), bridge, &frame) {
            r.discard_frame(frame, Discard::BridgeFilterDrop);
            continue;
        }
        forwarded.add(frame.len() as u64);
        r.transmit(to, frame, fast);
    }
    if fast {
        r.paths.bridge_fast_path.merge(forwarded);
        r.interface_counts[port.index()].fast_rx.merge(forwarded);
    }
}

/// Whether the bridge filter lets a frame go from port to port.
fn accepts(
    r: &mut Router,
    now: Moment,
    (from, to): (InterfaceId, InterfaceId),
    bridge: BridgeAt,
    frame: &Frame,
) -> bool {
    let bytes = r.slab.bytes(frame);
    // A bridge need not understand what it forwards.
    let layers = layers::network(bytes).unwrap_or_default();
    let interface = r.program.bridge(bridge).interface;
    let view = View {
        frame: bytes,
        layers: &layers,
        ip_len: layers.l3_end.saturating_sub(layers.l3),
        in_interface: interface,
        out_interface: interface,
        in_bridge_port: from,
        out_bridge_port: to,
        connection_state: ConnectionState::Untracked,
        srcnat: false,
        dstnat: false,
        address_type: &|address| r.routes.address_type(address),
    };
    let mut books = Books {
        now,
        state: &mut r.rule_state,
        trace: &mut r.bridge_trace,
        counters: &mut r.counters,
        log: &mut r.log,
    };
    let accepted = r.program.bridge_filter.accepts(Chain::Forward, &view, &mut books);
    r.bridge_trace.clear();
    accepted
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
