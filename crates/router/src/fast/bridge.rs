//! Bridging between known hosts, through the bridge filter if it has rules.
//!
//! ```text
//! both MACs of all frames: prefetch their buckets ─► decide ─► known, one port ─► learn, filter, outbox
//!                                                      └ flood, local, tagged … ─► slow path
//! ```
//!
//! Deciding before learning gives the same as the slow path's order, unless a frame is sent to its
//! own source: that one is left to the slow path.

use super::ipv4::{self, Forwarding};
use super::passed::Passed;
use super::replay::{Plain, replay};
use super::verdicts::{self, Key, Verdict};
use crate::counter::Count;
use crate::discard::Discard;
use crate::firewall::rule::Books;
use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::bridge::filter::Chain;
use crate::interface::bridge::hosts::{self, Learnt};
use crate::interface::bridge::vlan::Class;
use crate::interface::bridge::{Bridge, Port};
use crate::interface::ingress::{Arrival, IngressId};
use crate::ip::fib::NextHopId;
use crate::packet::{ConnectionState, View};
use crate::program::{BridgeAt, Program};
use crate::recipe::Way;
use crate::router::Router;
use crate::trace::Guard;
use port::{Batch, Frame};
use wire::Moment;
use wire::layers::{self, ETHERTYPE_SVLAN, ETHERTYPE_VLAN};
use wire::vlan as tag;

/// What a frame is taken for.
#[derive(Clone, Copy, Default)]
enum Frames {
    /// Anything out of the ordinary.
    #[default]
    Slow,
    /// Between hosts.
    Bridged,
    /// For the router, which routes it without asking anybody.
    Stateless,
    /// For the router, by a recipe.
    Replayed,
}

/// What was read of a batch's frames, by place.
struct Sorted {
    kinds: [Frames; Batch::CAPACITY],
    /// Destination and source, as the hosts' table has them.
    hosts: [(u64, u64); Batch::CAPACITY],
    classes: [Class; Batch::CAPACITY],
    dst: [u32; Batch::CAPACITY],
    l3: [(u8, IngressId); Batch::CAPACITY],
    plain: [Plain; Batch::CAPACITY],
    is_routed: bool,
}

/// Bridges a batch, and routes what of it is for the router.
pub(super) fn receive(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    at: BridgeAt,
    batch: &mut Batch,
) {
    let program = r.program.clone();
    let bridge = program.bridge(at);
    let Some((place, &from)) = bridge.placed(port) else {
        return batch.drain().for_each(|frame| flow::physical_in(r, now, port, frame));
    };
    for frame in batch.as_slice() {
        r.io.slab.prefetch(frame);
    }
    let sides = Sides { now, port, at, from, bridge, program: &program };
    match (&bridge.filtering, program.bridge_filter.is_empty()) {
        (None, true) => sides.receive::<false, false>(r, place, batch),
        (None, false) => sides.receive::<false, true>(r, place, batch),
        (Some(_), true) => sides.receive::<true, false>(r, place, batch),
        (Some(_), false) => sides.receive::<true, true>(r, place, batch),
    }
}

/// Where a batch comes from, and when.
struct Sides<'a> {
    now: Moment,
    port: InterfaceId,
    at: BridgeAt,
    from: Port,
    bridge: &'a Bridge,
    program: &'a Program,
}

impl Sides<'_> {
    /// `VLANS`: the bridge filters them. `RULES`: the bridge filter has some.
    fn receive<const VLANS: bool, const RULES: bool>(
        &self,
        r: &mut Router,
        place: usize,
        batch: &mut Batch,
    ) {
        let Sides { now, port, at, from, bridge, program } = *self;
        let n = batch.len();
        let mut sorted = self.sort::<VLANS, RULES>(r, place, batch);
        let mut leaves = [NextHopId::NONE; Batch::CAPACITY];
        if sorted.is_routed {
            self.look_up(r, &mut sorted, &mut leaves, n);
        }
        if RULES {
            prefetch_verdicts(r, program, port, at, &sorted.hosts[..n], batch);
        }
        let fast_rx = program.interface(port).fast_rx;
        let fast = r.bridge_fast_path() && fast_rx;
        // Whatever comes by a bridge must be in its FastPath, too.
        let routed_fast = fast && r.ipv4_fast_path();
        let now_ms = now.as_millis_u32();
        let (mut forwarded, mut passed) = (Count::default(), Passed::default());
        let mut forwarding = Forwarding::default();
        for (n, frame) in batch.drain().enumerate() {
            let (dst, src) = sorted.hosts[n];
            let left = match sorted.kinds[n] {
                Frames::Slow => Err(frame),
                Frames::Bridged => {
                    let to = port_of(r, at, dst);
                    if !bridge.may_pass(&from, to) || !r.is_port(to) {
                        Err(frame)
                    } else {
                        if from.learn {
                            r.link.hosts[at.0].learn(src, port, now_ms);
                        }
                        let class = sorted.classes[n];
                        if VLANS && !bridge.admits(to, class.tci.id()) {
                            r.discard_frame(frame, Discard::VlanFiltered);
                        } else if RULES && !accepts(r, now, (port, to), at, &frame) {
                            r.discard_frame(frame, Discard::BridgeFilterDrop);
                        } else {
                            forwarded.add(frame.len() as u64);
                            let frame =
                                if VLANS { retag(r, bridge, to, class, frame) } else { frame };
                            r.transmit(to, frame, fast);
                        }
                        Ok(())
                    }
                }
                routed => {
                    if from.learn && r.link.hosts[at.0].learn(src, port, now_ms) != Learnt::Known {
                        forwarding.forget();
                    }
                    if matches!(routed, Frames::Stateless) {
                        let (l3, ingress) = sorted.l3[n];
                        let plain = ipv4::Plain { dst: sorted.dst[n], l3, ingress };
                        let leaf = leaves[n];
                        ipv4::forward(r, now, &mut forwarding, &plain, leaf, frame, routed_fast)
                    } else {
                        replay::<false>(r, now, &sorted.plain[n], frame, &mut passed)
                    }
                }
            };
            if let Err(frame) = left {
                flow::physical_in(r, now, port, frame);
                forwarding.forget();
            }
        }
        passed.settle(r);
        forwarding.settle(r, routed_fast);
        if fast {
            r.stats.paths.bridge_fast_path.merge(forwarded);
            r.stats.interface_counts[port.index()].fast_rx.merge(forwarded);
        }
    }

    /// Finds out what each frame is, and asks for the memory that it will need.
    #[inline(always)]
    fn sort<const VLANS: bool, const RULES: bool>(
        &self,
        r: &Router,
        place: usize,
        batch: &Batch,
    ) -> Sorted {
        let mut sorted = Sorted {
            kinds: [Frames::Slow; Batch::CAPACITY],
            hosts: [(0, 0); Batch::CAPACITY],
            classes: [Class::default(); Batch::CAPACITY],
            dst: [0; Batch::CAPACITY],
            l3: [(0, IngressId::NONE); Batch::CAPACITY],
            plain: [Plain::default(); Batch::CAPACITY],
            is_routed: false,
        };
        let own_mac = self.bridge.mac.to_u64();
        // Those of the port itself take their frames before the bridge does.
        let has_vlans = !self.program.interface(self.port).vlans.is_empty();
        for (n, frame) in batch.as_slice().iter().enumerate() {
            if frame.has_offload() {
                continue;
            }
            let bytes = r.io.slab.bytes(frame);
            let (dst, src, tagged) = addresses(bytes);
            if dst == own_mac {
                sorted.hosts[n] = (dst, src);
                self.sort_routed(r, n, bytes, tagged, &mut sorted);
                continue;
            }
            if dst == 0 || tagged && (RULES || has_vlans) {
                continue;
            }
            let mut vid = 0;
            if VLANS && let Some(vlans) = &self.bridge.filtering {
                let Ok(class) = vlans.classify(place, bytes) else { continue };
                sorted.classes[n] = class;
                vid = class.tci.id();
            }
            let (dst, src) = (hosts::key(vid, dst), hosts::key(vid, src));
            sorted.hosts[n] = (dst, src);
            sorted.kinds[n] = Frames::Bridged;
            r.link.hosts[self.at.0].prefetch(dst);
            r.link.hosts[self.at.0].prefetch(src);
        }
        sorted
    }

    /// The same for a frame that has the bridge's own address.
    #[inline(never)]
    fn sort_routed(&self, r: &Router, n: usize, bytes: &[u8], tagged: bool, sorted: &mut Sorted) {
        let arrival = match tagged {
            false => Some((Arrival::untagged(self.port), 14)),
            true => Arrival::of(self.port, bytes),
        };
        let Some((arrival, l3)) = arrival else { return };
        let Some(known) = r.learnt.ingresses.find(arrival) else { return };
        match known.learns {
            Some(learns) if learns.port == self.port => {
                sorted.hosts[n].1 = hosts::key(learns.vid, sorted.hosts[n].1);
            }
            None if !self.from.learn => {}
            _ => return, // a bridge further up
        }
        if self.program.is_stateless() {
            sorted.dst[n] = ipv4::plain_destination(r, bytes, l3, known.mac.0);
            sorted.l3[n] = (l3 as u8, known.id);
            sorted.kinds[n] = Frames::Stateless;
        } else if let Some(plain) = Plain::read(bytes, l3, known) {
            r.v4.connections.flows().prefetch_bucket(plain.hash);
            sorted.plain[n] = plain;
            sorted.kinds[n] = Frames::Replayed;
        }
        sorted.is_routed = true;
        r.link.hosts[self.at.0].prefetch(sorted.hosts[n].1);
    }

    /// Looks up where routed packets go.
    fn look_up(
        &self,
        r: &Router,
        sorted: &mut Sorted,
        leaves: &mut [NextHopId; Batch::CAPACITY],
        n: usize,
    ) {
        if self.program.is_stateless() {
            return r.v4.routes.fib().lookup_batch(&sorted.dst[..n], &mut leaves[..n]);
        }
        let flows = r.v4.connections.flows();
        for plain in sorted.plain[..n].iter_mut().filter(|plain| plain.tuple.protocol != 0) {
            plain.flow = flows.candidate(plain.hash);
            if let Some(flow) = plain.flow {
                flows.prefetch_flow(flow);
            }
        }
    }
}

/// Gives a frame the tag that its VLAN has at the port it leaves by, or none.
#[inline(always)]
fn retag(
    r: &mut Router,
    bridge: &Bridge,
    to: InterfaceId,
    class: Class,
    mut frame: Frame,
) -> Frame {
    let Some(vlans) = &bridge.filtering else { return frame };
    let tagged = vlans.member(bridge.place(to)).is_tagged(class.tci.id());
    let slab = &r.io.slab;
    match (class.tagged, tagged) {
        (false, false) => {}
        (true, true) => {
            if let Some(tci) = slab.bytes_mut(&mut frame).get_mut(14..16) {
                tci.copy_from_slice(&class.tci.0.to_be_bytes());
            }
        }
        (true, false) => {
            if tag::pop(slab.bytes_mut(&mut frame)).is_some() {
                frame.pull(tag::TAG_LEN);
            }
        }
        // There is always headroom for one tag: frames are received behind 128 bytes of it.
        (false, true) => _ = r.push_tag(&mut frame, vlans.tag(class.tci)),
    }
    frame
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
    program: &Program,
    from: InterfaceId,
    at: BridgeAt,
    macs: &[(u64, u64)],
    batch: &Batch,
) {
    for (&(dst, _), frame) in macs.iter().zip(batch.as_slice()) {
        let to = port_of(r, at, dst);
        if let Some(key) = verdicts::key(r.io.slab.bytes(frame), from, to, &program.bridge_looks_at)
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
        let (ingress, in_interface) = (IngressId::NONE, InterfaceId::NONE);
        let way = Way { guard, ingress, in_interface, queue: None, fasttrack: false, fast: false };
        let recipe = r.learnt.recipes.number(way, trace);
        r.link.verdicts.keep(key, recipe, r.learnt.recipes.epoch(), accepted);
    }
    r.learnt.bridge_trace.clear();
    accepted
}

/// Destination and source of a frame between two hosts, as [`wire::MacAddr::to_u64`] gives them,
/// and whether it is tagged; zeros, which are nobody's, for groups and what is cut off.
#[inline(always)]
fn addresses(frame: &[u8]) -> (u64, u64, bool) {
    let Some(head) = frame.first_chunk::<18>() else { return (0, 0, false) };
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1, ..] = *head;
    let dst = u64::from_be_bytes([0, 0, d0, d1, d2, d3, d4, d5]);
    let src = u64::from_be_bytes([0, 0, s0, s1, s2, s3, s4, s5]);
    let ether_type = u16::from_be_bytes([t0, t1]);
    let tagged = ether_type == ETHERTYPE_VLAN || ether_type == ETHERTYPE_SVLAN;
    const GROUP: u64 = 1 << 40;
    if (dst | src) & GROUP != 0 || dst == src { (0, 0, false) } else { (dst, src, tagged) }
}
