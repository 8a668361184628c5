//! Bridging between known hosts, through the bridge filter if it has rules.
//!
//! ```text
//! both MACs of all frames: prefetch their buckets ─► decide ─► known, one port ─► learn, filter, outbox
//!                                                      └ flood, local, tagged … ─► slow path
//! ```
//!
//! Deciding before learning gives the same as the slow path's order, unless a frame is sent to its
//! own source: that one is left to the slow path.

use super::verdicts::{self, Key, Verdict};
use crate::counter::Count;
use crate::discard::Discard;
use crate::firewall::rule::Books;
use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::bridge::filter::Chain;
use crate::packet::{ConnectionState, View};
use crate::program::BridgeAt;
use crate::recipe::Way;
use crate::router::Router;
use crate::trace::Guard;
use port::{Batch, Frame};
use wire::Moment;
use wire::layers::{self, ETHERTYPE_SVLAN, ETHERTYPE_VLAN};

/// Bridges a batch.
pub(super) fn receive(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    at: BridgeAt,
    batch: &mut Batch,
) {
    let Some(from) = r.program.bridge(at).port(port).copied() else {
        return batch.drain().for_each(|frame| flow::physical_in(r, now, port, frame));
    };
    for frame in batch.as_slice() {
        r.io.slab.prefetch(frame);
    }
    let mut macs = [(0, 0); Batch::CAPACITY];
    for ((dst, src), frame) in macs.iter_mut().zip(batch.as_slice()) {
        if frame.has_offload() {
            continue;
        }
        (*dst, *src) = plain_addresses(r.io.slab.bytes(frame));
        r.link.hosts[at.0].prefetch(*dst);
        r.link.hosts[at.0].prefetch(*src);
    }
    let fast = r.bridge_fast_path() && r.program.interface(port).fast_rx;
    let filtered = !r.program.bridge_filter.is_empty();
    let now_ms = now.as_millis_u32();
    let mut forwarded = Count::default();
    if filtered {
        prefetch_verdicts(r, port, at, &macs[..batch.len()], batch);
    }
    for (&(dst, src), frame) in macs.iter().zip(batch.drain()) {
        let to = port_of(r, at, dst);
        if !r.program.bridge(at).may_pass(&from, to) {
            flow::physical_in(r, now, port, frame);
            continue;
        }
        if from.learn {
            r.link.hosts[at.0].learn(src, port, now_ms);
        }
        if filtered && !accepts(r, now, (port, to), at, &frame) {
            r.discard_frame(frame, Discard::BridgeFilterDrop);
            continue;
        }
        forwarded.add(frame.len() as u64);
        r.transmit(to, frame, fast);
    }
    if fast {
        r.stats.paths.bridge_fast_path.merge(forwarded);
        r.stats.interface_counts[port.index()].fast_rx.merge(forwarded);
    }
}

/// The port behind which a host is known to be; `NONE` if it is not, or is the router itself.
#[inline(always)]
fn port_of(r: &Router, at: BridgeAt, mac: u64) -> InterfaceId {
    match r.link.hosts[at.0].lookup(mac) {
        Some(host) if !host.local => host.port,
        _ => InterfaceId::NONE,
    }
}

/// Asks for what the filter said of frames like these. Where a frame goes may still change until
/// its turn comes; then its line was asked for in vain.
fn prefetch_verdicts(
    r: &Router,
    from: InterfaceId,
    at: BridgeAt,
    macs: &[(u64, u64)],
    batch: &Batch,
) {
    for (&(dst, _), frame) in macs.iter().zip(batch.as_slice()) {
        let to = port_of(r, at, dst);
        if let Some(key) =
            verdicts::key(r.io.slab.bytes(frame), from, to, &r.program.bridge_looks_at)
        {
            r.link.verdicts.prefetch(&key);
        }
    }
}

/// Whether the bridge filter lets a frame go from port to port: as it said before of frames like
/// this one, else by walking the rules.
#[inline(always)]
fn accepts(
    r: &mut Router,
    now: Moment,
    sides: (InterfaceId, InterfaceId),
    at: BridgeAt,
    frame: &Frame,
) -> bool {
    let key = verdicts::key(r.io.slab.bytes(frame), sides.0, sides.1, &r.program.bridge_looks_at);
    let known = key.and_then(|key| r.link.verdicts.find(&key, r.learnt.recipes.epoch()));
    if let Some(&Verdict { recipe, accepted, .. }) = known
        && let Some(recipe) = r.learnt.recipes.get_mut(recipe)
    {
        recipe.count.add(frame.len() as u64);
        return accepted;
    }
    walk(r, now, sides, at, frame, key)
}

/// Walks the rules, and keeps what they said if the next frame with this key must hear the same.
#[cold]
fn walk(
    r: &mut Router,
    now: Moment,
    (from, to): (InterfaceId, InterfaceId),
    at: BridgeAt,
    frame: &Frame,
    key: Option<Key>,
) -> bool {
    let bytes = r.io.slab.bytes(frame);
    // A bridge need not understand what it forwards.
    let layers = layers::network(bytes).unwrap_or_default();
    let interface = r.program.bridge(at).interface;
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
        routes: &r.v4.routes,
    };
    let mut books = Books {
        now,
        state: &mut r.rules,
        trace: &mut r.learnt.bridge_trace,
        counters: &mut r.stats.counters,
        log: &mut r.stats.log,
    };
    let accepted = r.program.bridge_filter.accepts(Chain::Forward, &view, &mut books);
    let trace = &r.learnt.bridge_trace;
    if let Some(key) = key.filter(|_| !trace.once && trace.guard == Guard::default()) {
        let guard = trace.guard;
        // The recipe is only for counting here: which port it was does not matter.
        let port = InterfaceId::NONE;
        let way = Way { guard, port, queue: None, fasttrack: false, fast: false };
        let recipe = r.learnt.recipes.number(way, trace);
        r.link.verdicts.keep(key, recipe, r.learnt.recipes.epoch(), accepted);
    }
    r.learnt.bridge_trace.clear();
    accepted
}

/// Destination and source of an untagged frame between two hosts, as [`wire::MacAddr::to_u64`] gives
/// them; zeros, which are nobody's, for all others.
#[inline(always)]
fn plain_addresses(frame: &[u8]) -> (u64, u64) {
    let Some(head) = frame.first_chunk::<16>() else { return (0, 0) };
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1, ..] = *head;
    let dst = u64::from_be_bytes([0, 0, d0, d1, d2, d3, d4, d5]);
    let src = u64::from_be_bytes([0, 0, s0, s1, s2, s3, s4, s5]);
    let ether_type = u16::from_be_bytes([t0, t1]);
    let tagged = ether_type == ETHERTYPE_VLAN || ether_type == ETHERTYPE_SVLAN;
    const GROUP: u64 = 1 << 40;
    if tagged || (dst | src) & GROUP != 0 || dst == src { (0, 0) } else { (dst, src) }
}
