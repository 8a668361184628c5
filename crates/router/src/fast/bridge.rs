//! Bridging between known hosts, through the bridge filter if it has rules.
//!
//! ```text
//! both MACs of all frames: prefetch their buckets ─► decide ─► known, one port ─► learn, filter, outbox
//!                                                      └ flood, local, tagged … ─► slow path
//! ```
//!
//! Of what it routes, packets of IPv6 go the way of [`ipv6`](super::ipv6), in their places.
//!
//! Deciding before learning gives the same as the slow path's order, unless a frame is sent to its
//! own source: that one is left to the slow path.

use super::Left;
use super::common::{Came, Common, UNTAGGED};
use super::ipv4::{Forwarding, forward_any, plain_destination, tell_why};
use super::ipv6::Six;
use super::passed::Passed;
use super::replay::{Plain, find_flows, replay, replay_any};
use super::verdicts::{self, Key, Verdict};
use crate::counter::Count;
use crate::discard::Discard;
use crate::firewall::matcher::connection::Whole;
use crate::firewall::rule::Books;
use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::bridge::filter::Chain;
use crate::interface::bridge::hosts::{self, Learnt};
use crate::interface::bridge::vlan::Class;
use crate::interface::bridge::{Bridge, Port};
use crate::interface::ingress::{Arrival, IngressId};
use crate::ip::fib::NextHopId;
use crate::packet::{ConnectionState, Ends, View};
use crate::program::{BridgeAt, Program};
use crate::recipe::Way;
use crate::router::Router;
use crate::story::Event;
use crate::trace::Guard;
use port::{Batch, Frame};
use wire::ethernet::is_tag;
use wire::vlan::{self as tag, Tag};
use wire::{MacAddr, Moment, layers};

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
    // NAT rewrites what the hosts are asked for.
    let plain = program.bridge_nat.is_empty() && r.link.hosts[at.index()].is_open(port);
    let placed = bridge.placed(port).filter(|_| plain);
    let Some((place, &from)) = placed else {
        return batch.drain().for_each(|frame| {
            r.tell(|| Event::Left(Left::BridgeRules));
            flow::enter(r, now, port, frame);
        });
    };
    for frame in batch.as_slice() {
        r.io.slab.prefetch(frame);
    }
    // Those of the port itself take their frames before the bridge does.
    let has_vlans = program.interface(port).vlans().is_some();
    let sides = Sides { now, port, at, place, from, bridge, program: &program, has_vlans };
    match (&bridge.filtering, program.bridge_filter.is_empty()) {
        (None, true) => sides.receive::<false, false>(r, batch),
        (None, false) => sides.receive::<false, true>(r, batch),
        (Some(_), true) => sides.receive::<true, false>(r, batch),
        (Some(_), false) => sides.receive::<true, true>(r, batch),
    }
}

/// Where a batch comes from, and when.
struct Sides<'a> {
    now: Moment,
    port: InterfaceId,
    at: BridgeAt,
    place: usize,
    from: Port,
    bridge: &'a Bridge,
    program: &'a Program,
    has_vlans: bool,
}

/// What was read of a frame.
#[derive(Clone, Copy, Default)]
struct Read {
    /// Destination and source as the table of hosts has them; zeros for the slow path.
    dst: u64,
    src: u64,
    /// In which lines of the table they would be.
    dst_line: u32,
    src_line: u32,
    /// Its VLAN, if the bridge filters them.
    class: Class,
}

/// What the last frame went by, and what was asked of it: most often the next one goes there as
/// well. The slow path may open and close ports.
#[derive(Default)]
struct WayOut {
    to: InterfaceId,
    vid: u16,
    /// A frame goes from here to there.
    passes: bool,
    /// The port belongs to the VLAN.
    admits: bool,
    /// Of the VLAN's tags.
    tpid: u16,
    /// It has one there.
    tagged: bool,
    /// It is a port, not a VLAN on one.
    is_port: bool,
}

/// What was read of a batch's frames for the router, by place.
struct Routed {
    dst: [u32; Batch::CAPACITY],
    leaves: [NextHopId; Batch::CAPACITY],
    came: [Came; Batch::CAPACITY],
    plain: [Plain; Batch::CAPACITY],
    /// Those of IPv6, if there are any.
    six: Option<Six>,
}

impl Routed {
    #[inline(always)]
    fn new() -> Routed {
        Routed {
            dst: [0; Batch::CAPACITY],
            leaves: [NextHopId::NONE; Batch::CAPACITY],
            came: [Came::default(); Batch::CAPACITY],
            plain: [Plain::NONE; Batch::CAPACITY],
            six: None,
        }
    }

    /// Reads a packet of IPv6; whether it is plain. Out of line, for IPv4's sake.
    #[inline(never)]
    fn read_six(&mut self, r: &Router, at: usize, bytes: &[u8], came: Came, mac: MacAddr) -> bool {
        let six = self.six.get_or_insert_with(|| Six::new(r));
        came.is_before_ipv6(bytes) && six.read(r, at, bytes, came, mac)
    }

    /// Where a packet of IPv6 was read.
    #[inline(always)]
    fn six_at(&mut self, at: usize) -> Option<&mut Six> {
        self.six.as_mut().filter(|six| six.has(at))
    }

    /// What else was learnt makes routes to neighbours behind bridges uncertain.
    fn forget(&mut self) {
        self.six.iter_mut().for_each(Six::forget);
    }

    fn settle(self, r: &mut Router, fast: bool) {
        self.six.into_iter().for_each(|six| six.settle(r, fast));
    }
}

impl Sides<'_> {
    /// `VLANS`: the bridge filters them. `RULES`: the bridge filter has some.
    fn receive<const VLANS: bool, const RULES: bool>(&self, r: &mut Router, batch: &mut Batch) {
        let n = batch.len();
        let own_mac = self.bridge.mac.to_u64();
        let is_for_us =
            |frame| addresses(r.io.slab.bytes(frame)).is_some_and(|(dst, ..)| dst == own_mac);
        if !self.program.is_stateless()
            && batch.as_slice().first().is_some_and(is_for_us)
            && self.replay_untagged(r, batch)
        {
            return;
        }
        let mut read = [Read::default(); Batch::CAPACITY];
        // Bit n: frame n is for the router.
        let mut routed = 0u64;
        let table = &r.link.hosts[self.at.index()];
        let filtering = self.bridge.filtering.as_ref().filter(|_| VLANS);
        let untagged = filtering.and_then(|vlans| vlans.class_of(self.place, None).ok());
        // Most begin behind their addresses as the frame before: with the same tag, or without one.
        let mut last = ([0; 4], untagged);
        for (at, (read, frame)) in read.iter_mut().zip(batch.as_slice()).enumerate() {
            if frame.has_offload() {
                continue;
            }
            let bytes = r.io.slab.bytes(frame);
            let Some((mut dst, mut src, tag)) = addresses(bytes) else { continue };
            if dst == own_mac {
                routed |= 1 << at;
                (read.dst, read.src) = (dst, src);
                continue;
            }
            if (RULES || self.has_vlans) && is_tagged(tag) {
                continue;
            }
            if let Some(vlans) = filtering {
                if tag != last.0 {
                    let tagged = || vlans.classify(self.place, bytes).ok();
                    last = (tag, if is_tagged(tag) { tagged() } else { untagged });
                }
                let Some(class) = last.1 else { continue };
                read.class = class;
                let vid = class.tci.id();
                (dst, src) = (hosts::key(vid, dst), hosts::key(vid, src));
            }
            (read.dst, read.src) = (dst, src);
            (read.dst_line, read.src_line) = (table.prefetch(dst), table.prefetch(src));
        }
        let fast = r.bridge_fast_path() && self.program.interface(self.port).fast_rx;
        if RULES {
            let Sides { program, port, at, .. } = *self;
            prefetch_verdicts::<VLANS>(r, program, port, at, &read[..n], batch);
        }
        let mut forwarded = Count::default();
        let all = routed.count_ones() as usize == n;
        if all && !self.program.is_stateless() {
            self.replay_all(r, batch, &mut read);
        } else if routed != 0 {
            self.mixed::<VLANS, RULES>(r, batch, &mut read, routed, &mut forwarded);
        } else {
            let mut out = WayOut::default();
            for (read, frame) in read.iter().zip(batch.drain()) {
                let counted = (&mut out, &mut forwarded);
                let left = self.bridge::<VLANS, RULES>(r, read, frame, fast, counted);
                if let Err(frame) = left {
                    r.tell(|| Event::Left(self.left()));
                    flow::enter(r, self.now, self.port, frame);
                    out = WayOut::default();
                }
            }
        }
        if fast {
            r.stats.paths.bridge_fast_path.merge(forwarded);
            r.stats.interface_counts[self.port.index()].fast_rx.merge(forwarded);
        }
    }

    /// Sends a frame to the host it is for, if that is known; else gives it back.
    #[inline(always)]
    fn bridge<const VLANS: bool, const RULES: bool>(
        &self,
        r: &mut Router,
        read: &Read,
        frame: Frame,
        fast: bool,
        (out, forwarded): (&mut WayOut, &mut Count),
    ) -> Result<(), Frame> {
        let Sides { now, port, at, from, program, .. } = *self;
        let (to, class) = (port_of::<VLANS>(r, at, read), read.class);
        let vid = class.tci.id();
        if to != out.to || (VLANS && vid != out.vid) {
            *out = self.way_out(r, to, vid);
        }
        if !out.passes {
            return Err(frame);
        }
        if from.learn {
            let hosts = &mut r.link.hosts[at.index()];
            hosts.learn_at::<VLANS>(read.src_line, read.src, port, now.as_millis_u32());
        }
        if VLANS && !out.admits {
            r.discard_frame(frame, Discard::VlanFiltered);
            return Ok(());
        }
        if RULES && !accepts(r, now, &program.bridge_looks_at, (port, to), at, &frame) {
            r.discard_frame(frame, Discard::BridgeFilterDrop);
            return Ok(());
        }
        forwarded.add(frame.len() as u64);
        match if VLANS { retag(r, out, class, frame) } else { Ok(frame) } {
            Ok(frame) if out.is_port => r.transmit(to, frame, fast),
            // A VLAN: down from there, interface by interface.
            Ok(frame) => flow::link_out(r, now, to, frame, fast),
            Err(frame) => r.discard_frame(frame, Discard::NoFrame),
        }
        Ok(())
    }

    fn left(&self) -> Left {
        if self.program.bridges_use_ip_firewall { Left::IpFirewall } else { Left::Unknown }
    }

    /// What becomes of a VLAN's frames by a port.
    #[inline(never)]
    fn way_out(&self, r: &Router, to: InterfaceId, vid: u16) -> WayOut {
        let Sides { at, from, bridge, .. } = self;
        let filtering = bridge.filtering.as_ref();
        WayOut {
            to,
            vid,
            passes: bridge.may_pass(from, to)
                && r.link.hosts[at.index()].is_open(to)
                && !self.program.bridges_use_ip_firewall,
            admits: bridge.admits(to, vid),
            tpid: filtering.map_or(0, |vlans| vlans.tpid),
            tagged: filtering.is_some_and(|vlans| vlans.member(bridge.place(to)).is_tagged(vid)),
            is_port: bridge.on_ports || r.is_port(to),
        }
    }

    /// A batch of which some is for the router, frame by frame in its order.
    #[inline(never)]
    fn mixed<const VLANS: bool, const RULES: bool>(
        &self,
        r: &mut Router,
        batch: &mut Batch,
        frames: &mut [Read; Batch::CAPACITY],
        routed: u64,
        forwarded: &mut Count,
    ) {
        let fast = r.bridge_fast_path() && self.program.interface(self.port).fast_rx;
        let mut counted = (Forwarding::default(), Passed::default());
        let (mut read, mut out) = (Routed::new(), WayOut::default());
        let ready = self.read_routed(r, batch, frames, routed, &mut read);
        for (at, frame) in batch.drain().enumerate() {
            let left = if ready >> at & 1 == 1 {
                self.route(r, (&mut read, at), frames[at].src, frame, fast, &mut counted)
            } else if routed >> at & 1 == 1 {
                Err(frame)
            } else {
                let counted = (&mut out, &mut *forwarded);
                self.bridge::<VLANS, RULES>(r, &frames[at], frame, fast, counted)
            };
            if let Err(frame) = left {
                if routed >> at & 1 == 0 {
                    r.tell(|| Event::Left(self.left()));
                } else if self.program.is_stateless() {
                    tell_why(r, (read.dst[at], read.leaves[at]), &frame, read.came[at]);
                }
                counted.1.leave(r, self.now, self.port, frame);
                counted.0.forget();
                read.forget();
                out = WayOut::default();
            }
        }
        counted.1.settle(r);
        counted.0.settle(r, fast && r.ipv4_fast_path());
        read.settle(r, fast && r.ipv6_fast_path());
    }

    /// Routes a frame that was read. A call for each: batches that are mixed are rare, and the loop is
    /// made four times.
    #[inline(never)]
    fn route(
        &self,
        r: &mut Router,
        (read, at): (&mut Routed, usize),
        host: u64,
        frame: Frame,
        fast: bool,
        (forwarding, passed): &mut (Forwarding, Passed),
    ) -> Result<(), Frame> {
        if self.from.learn && self.learn(r, host) {
            forwarding.forget();
            read.forget();
        }
        let came = read.came[at];
        if let Some(six) = read.six_at(at) {
            let fast = fast && r.ipv6_fast_path();
            return six.pass(r, self.now, passed, (at, came), frame, fast);
        }
        if !self.program.is_stateless() {
            return replay_any(r, self.now, &read.plain[at], read.came[at], frame, passed);
        }
        let to = (read.dst[at], read.leaves[at]);
        // Whatever comes by a bridge must be in its FastPath, too.
        let fast = fast && r.ipv4_fast_path();
        forward_any(r, self.now, (forwarding, passed), read.came[at], to, frame, fast)
    }

    /// Replays a batch whose frames are all for the router, plain and untagged: what a port of a
    /// LAN's bridge brings. Whether this is such a batch.
    #[inline(never)]
    fn replay_untagged(&self, r: &mut Router, batch: &mut Batch) -> bool {
        let mut sources = [0; Batch::CAPACITY];
        let Some((plain, came)) = self.read_untagged(r, batch, &mut sources) else { return false };
        let mut passed = Passed::default();
        // Frames of one host come in runs: to learn it once for each run gives the same.
        let mut learnt = 0;
        for ((plain, &source), frame) in plain.iter().zip(&sources).zip(batch.drain()) {
            if self.from.learn && source != learnt {
                self.learn(r, source);
                learnt = source;
            }
            let left = replay::<false, UNTAGGED>(r, self.now, plain, came, frame, &mut passed);
            if let Err(frame) = left {
                passed.leave(r, self.now, self.port, frame);
                learnt = 0;
            }
        }
        passed.settle(r);
        true
    }

    /// A batch that is for the router, all of it, where flows have recipes.
    #[inline(never)]
    fn replay_all(&self, r: &mut Router, batch: &mut Batch, frames: &mut [Read; Batch::CAPACITY]) {
        let mut passed = Passed::default();
        let mut read = Routed::new();
        let ready = self.read_routed(r, batch, frames, u64::MAX, &mut read);
        let fast = r.bridge_fast_path() && self.program.interface(self.port).fast_rx;
        let fast = fast && r.ipv6_fast_path();
        for (at, frame) in batch.drain().enumerate() {
            let came = read.came[at];
            let learns = ready >> at & 1 == 1 && self.from.learn;
            if learns && self.learn(r, frames[at].src) {
                read.forget();
            }
            let left = if ready >> at & 1 == 0 {
                Err(frame)
            } else if let Some(six) = read.six_at(at) {
                six.pass(r, self.now, &mut passed, (at, came), frame, fast)
            } else {
                replay_any(r, self.now, &read.plain[at], came, frame, &mut passed)
            };
            if let Err(frame) = left {
                passed.leave(r, self.now, self.port, frame);
                read.forget();
            }
        }
        passed.settle(r);
        read.settle(r, fast);
    }

    /// Reads such a batch, and the hosts it is from as the table has them; `None` for others.
    #[inline(always)]
    fn read_untagged(
        &self,
        r: &Router,
        batch: &Batch,
        sources: &mut [u64; Batch::CAPACITY],
    ) -> Option<([Plain; Batch::CAPACITY], Came)> {
        let known = r.learnt.ingresses.find(Arrival::untagged(self.port))?;
        let learns = known.learns.filter(|learns| learns.port == self.port);
        if known.learns.is_some() != learns.is_some() || learns.is_some() != self.from.learn {
            return None;
        }
        let vid = learns.map_or(0, |learns| learns.vid);
        let own_mac = self.bridge.mac.to_u64();
        let common = Common::new(&[], UNTAGGED, known);
        let mut plain = [Plain::NONE; Batch::CAPACITY];
        let mut last = 0;
        for ((plain, source), frame) in plain.iter_mut().zip(sources).zip(batch.as_slice()) {
            *plain = common.read::<UNTAGGED>(&r.io.slab, frame)?;
            r.v4.connections.flows().prefetch_bucket(plain.hash);
            let mac = r.io.slab.bytes(frame).get(6..12)?.first_chunk().copied()?;
            let mac = MacAddr(mac).to_u64();
            *source = hosts::key(vid, mac);
            if mac != last {
                if mac == own_mac {
                    return None; // a loop
                }
                r.link.hosts[self.at.index()].prefetch(*source);
                last = mac;
            }
        }
        find_flows(r, &mut plain[..batch.len()]);
        Some((plain, common.came))
    }

    /// Notes a host; whether that was news.
    #[inline(always)]
    fn learn(&self, r: &mut Router, host: u64) -> bool {
        let known = r.link.hosts[self.at.index()].learn(host, self.port, self.now.as_millis_u32());
        known != Learnt::Known
    }

    /// Reads the frames for the router, and asks for what they need; says which of them need not
    /// take the slow path.
    #[inline(always)]
    fn read_routed(
        &self,
        r: &Router,
        batch: &Batch,
        frames: &mut [Read; Batch::CAPACITY],
        routed: u64,
        read: &mut Routed,
    ) -> u64 {
        let stateless = self.program.is_stateless();
        let untagged = r.learnt.ingresses.find(Arrival::untagged(self.port));
        let n = batch.len();
        let mut ready = 0;
        for (at, frame) in batch.as_slice().iter().enumerate() {
            if routed >> at & 1 == 0 {
                continue;
            }
            let bytes = r.io.slab.bytes(frame);
            let (known, l3) = match bytes.get(12..14) {
                Some([0x81 | 0x91, 0x00] | [0x88, 0xa8 | 0x64]) => {
                    match Arrival::of(self.port, bytes) {
                        Some((arrival, l3)) => (r.learnt.ingresses.find(arrival), l3),
                        None => continue,
                    }
                }
                _ => (untagged, 14),
            };
            let Some(known) = known.filter(|known| known.takes(bytes, l3)) else { continue };
            let came = Came::by(known, l3);
            match known.learns {
                Some(learns) if learns.port == self.port => {
                    frames[at].src = hosts::key(learns.vid, frames[at].src);
                }
                None if !self.from.learn => {}
                _ => continue, // a bridge further up
            }
            if stateless {
                read.dst[at] = plain_destination(
                    r,
                    &self.program.own_sources,
                    bytes,
                    came.header(),
                    known.mac.0,
                );
                if read.dst[at] == 0 {
                    read.read_six(r, at, bytes, came, known.mac);
                }
            } else if let Some(plain) = Plain::read(bytes, came.header(), known.mac) {
                r.v4.connections.flows().prefetch_bucket(plain.hash);
                read.plain[at] = plain;
            } else if !read.read_six(r, at, bytes, came, known.mac) {
                continue;
            }
            read.came[at] = came;
            ready |= 1 << at;
            r.link.hosts[self.at.index()].prefetch(frames[at].src);
        }
        if stateless {
            r.v4.routes.fib().lookup_batch(&read.dst[..n], &mut read.leaves[..n]);
        } else {
            find_flows(r, &mut read.plain[..n]);
        }
        read.six.iter_mut().for_each(|six| six.find(r, n));
        ready
    }
}

/// Gives a frame the tag that its VLAN has at the port it leaves by, or none; gives it back if there
/// is no room for a tag.
#[inline(always)]
fn retag(r: &mut Router, out: &WayOut, class: Class, mut frame: Frame) -> Result<Frame, Frame> {
    let slab = &r.io.slab;
    match (class.tagged, out.tagged) {
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
        (false, true) => {
            if !r.push_tag(&mut frame, Tag { tpid: out.tpid, tci: class.tci }) {
                return Err(frame);
            }
        }
    }
    Ok(frame)
}

/// The port behind which a host is known to be; `NONE` if it is not, or is the router itself.
#[inline(always)]
fn port_of<const VLANS: bool>(r: &Router, at: BridgeAt, read: &Read) -> InterfaceId {
    match r.link.hosts[at.index()].lookup_at::<VLANS>(read.dst_line, read.dst) {
        Some(host) if !host.local => host.port,
        _ => InterfaceId::NONE,
    }
}

/// Asks for what the filter said of frames like these. Where a frame goes may still change until
/// its turn comes; then its line was asked for in vain.
fn prefetch_verdicts<const VLANS: bool>(
    r: &Router,
    program: &Program,
    from: InterfaceId,
    at: BridgeAt,
    read: &[Read],
    batch: &Batch,
) {
    for (read, frame) in read.iter().zip(batch.as_slice()) {
        let to = port_of::<VLANS>(r, at, read);
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
    looks_at: &[u64; 4],
    sides: (InterfaceId, InterfaceId),
    at: BridgeAt,
    frame: &Frame,
) -> bool {
    let key = verdicts::key(r.io.slab.bytes(frame), sides.0, sides.1, looks_at);
    let known = key.and_then(|key| r.link.verdicts.find(&key, r.learnt.recipes.epoch()));
    if let Some(&Verdict { recipe, accepted, .. }) = known
        && let Some((recipe, _)) = r.learnt.recipes.get_mut(recipe)
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
        ipsec: [false; 2],
        ends: Ends::default(),
        headers: 0,
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
        marks: Default::default(),
        connection_mark: Default::default(),
        connection: Whole::default(),
        ingress_priority: None,
        routes: &r.v4.routes,
        routes6: None,
        vrf: Default::default(),
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
        let (edits, marks) = Default::default();
        let way = Way {
            guard,
            ingress,
            in_interface,
            inward: false,
            tunnel: None,
            fasttrack: false,
            fast: false,
            edits,
            marks,
        };
        let recipe = r.learnt.recipes.number(way, trace);
        r.link.verdicts.keep(key, recipe, r.learnt.recipes.epoch(), accepted);
    }
    r.learnt.bridge_trace.clear();
    accepted
}

/// Destination and source of a frame between two hosts, as [`wire::MacAddr::to_u64`] gives them,
/// and what would be its tag; none of groups and of what is cut off.
#[inline(always)]
fn addresses(frame: &[u8]) -> Option<(u64, u64, [u8; 4])> {
    let head = frame.first_chunk::<18>()?;
    // Eight bytes at a time, of which two belong to what follows.
    let word = |at: usize| head[at..].first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight));
    let (dst, src) = (word(0) >> 16, word(6) >> 16);
    const GROUP: u64 = 1 << 40;
    let unusual = (dst | src) & GROUP != 0 || dst == src;
    (!unusual).then_some((dst, src, *head[12..].first_chunk()?))
}

#[inline(always)]
fn is_tagged([t0, t1, ..]: [u8; 4]) -> bool {
    is_tag(u16::from_be_bytes([t0, t1]))
}
