//! Batches with packets of IPv6 among them: what the two loops of IPv4 leave over before the slow path.
//!
//! ```text
//!  batch of ipv4, replay ─ all IPv4 and plain ─► their own loop
//!     ├ all IPv6, alike and plain ─► a loop of their own
//!     └ else, IPv6 in it ─► read each: came by, plain? ─┬ IPv4 ─► forward_any, replay_any
//!                                                       └ IPv6 ─┬ nothing to ask ─► FIB, rewrite, out
//!                                                               └ flow ─► recipe ─► out
//! ```
//!
//! IPv4's loops ask nothing about IPv6: a batch that begins with it comes here at once, and one in which packets fail
//! their test of the EtherType after that; a bridge's loop asks [`Six`] for those among what it routes. Extension
//! headers, links' own addresses, groups, and a neighbour that is stale are the slow path's.
//!
//! Looking for each packet's arrival, and IPv4's loop before that, took a third of a packet's time: the loop for
//! batches that are alike brought routing from 42.5 to 27.9 ns, a full table from 40.8 to 26.3, tracking from 45 to
//! 31.7 (medians of runs by turns, a 64-byte frame, two cores of a virtual Xeon with AMX, 2026-11-27).

use super::common::{self, Came, Common, Lookup, TAGGED, UNTAGGED};
use super::ipv4::{Forwarding, forward_any, plain_destination, tell_why};
use super::passed::Passed;
use super::put_header;
use super::replay::{Plain, find_flows, replay_any};
use crate::counter::Count;
use crate::firewall::connection::flow::{FlowId, flow_flag};
use crate::flow::{self, Cost, Hop, Leaving, Resume};
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::interface::rewrite::Rewrite;
use crate::ip::family::{Family, ports_of};
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::NeighbourId;
use crate::ip::route::Target;
use crate::queue::{Decision, Label};
use crate::router::Router;
use port::{Batch, Frame, Slab};
use wire::checksum::Delta;
use wire::ipv6::{HEADER_LEN, header};
use wire::layers::protocol;
use wire::{FiveTuple, MacAddr, Moment, Tcp};

const FIN_SYN_RST: u8 = 0x07;

/// A packet that needs nothing but forwarding: of no group and no link's own address, for our MAC address.
#[derive(Clone, Copy)]
struct Plain6 {
    /// With ports if it is TCP or UDP and whole; protocol 0 of what is not plain.
    tuple: FiveTuple<u128>,
    hash: u32,
    flow: FlowId,
    /// What its destination leads to.
    leaf: NextHopId,
    /// Where IP saw it come in.
    by: InterfaceId,
}

impl Plain6 {
    const NONE: Plain6 = {
        let tuple = FiveTuple { src: 0, dst: 0, src_port: 0, dst_port: 0, protocol: 0 };
        Plain6 { tuple, hash: 0, flow: FlowId::NONE, leaf: NextHopId::NONE, by: InterfaceId::NONE }
    };
}

/// Whether there are packets of IPv6 in a batch.
#[inline(never)]
pub(super) fn are_in(slab: &Slab, batch: &Batch) -> bool {
    // Behind one tag or two, or in a session, too.
    batch.as_slice().iter().any(|frame| {
        let bytes = slab.bytes(frame);
        let is = |at: usize, says: [u8; 2]| bytes.get(at..at + 2) == Some(&says);
        [12, 16, 20].iter().any(|&at| is(at, [0x86, 0xdd]))
            || [20, 24].iter().any(|&at| is(at, [0x00, 0x57]))
    })
}

/// A batch's packets of IPv6: read, looked for, sent on, each in its place.
pub(super) struct Six {
    plain: [Plain6; Batch::CAPACITY],
    forwarding: Forwarding6,
    stateless: bool,
    /// What the last one came through, and the interface that IPv6 sees, if it is on there.
    on: (IngressId, Option<InterfaceId>),
}

impl Six {
    #[inline(always)]
    pub(super) fn new(r: &Router) -> Six {
        Six {
            plain: [Plain6::NONE; Batch::CAPACITY],
            forwarding: Forwarding6::default(),
            stateless: r.program.v6.stateless,
            on: (IngressId::NONE, None),
        }
    }

    /// Reads a frame that came so, for this address; whether it is plain.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        r: &Router,
        at: usize,
        bytes: &[u8],
        came: Came,
        mac: MacAddr,
    ) -> bool {
        if self.on.0 != came.ingress {
            let by = r.learnt.ingresses.layers(came.ingress).next().map(|(by, _)| by);
            let v6 = &r.program.v6;
            let is_on = |by: &InterfaceId| v6.is_on(*by) && !v6.settings.disabled;
            self.on = (came.ingress, by.filter(is_on));
        }
        let read = plain_tuple(r, bytes, came.l3.into(), mac, self.stateless);
        let (Some(tuple), Some(by)) = (read, self.on.1) else { return false };
        let six = &mut self.plain[at];
        (six.tuple, six.by) = (tuple, by);
        if !self.stateless {
            six.hash = tuple.hash();
            r.v6.connections.flows().prefetch_bucket(six.hash);
        }
        true
    }

    /// Looks for what was read: its route, or its flow.
    #[inline(always)]
    pub(super) fn find(&mut self, r: &Router, n: usize) {
        if self.stateless {
            let (mut dst, mut leaves) = ([0; Batch::CAPACITY], [NextHopId::NONE; Batch::CAPACITY]);
            for (dst, six) in dst.iter_mut().zip(&self.plain[..n]) {
                *dst = six.tuple.dst;
            }
            r.program.v6.routes.fib().lookup_batch(&dst[..n], &mut leaves[..n]);
            for (six, leaf) in self.plain[..n].iter_mut().zip(leaves) {
                six.leaf = leaf;
            }
            return;
        }
        find_flows6(r, &mut self.plain[..n]);
    }

    /// Whether the frame of this place was read.
    #[inline(always)]
    pub(super) fn has(&self, at: usize) -> bool {
        self.plain[at].tuple.protocol != 0
    }

    /// Sends a frame on that was read; gives it back if it is for the slow path.
    #[inline(always)]
    pub(super) fn pass(
        &mut self,
        r: &mut Router,
        now: Moment,
        passed: &mut Passed,
        (at, came): (usize, Came),
        frame: Frame,
        fast: bool,
    ) -> Result<(), Frame> {
        let six = &self.plain[at];
        match self.stateless {
            true => {
                let to = (six.leaf, six.tuple.dst, six.by);
                self.forwarding.forward(r, now, passed, to, (came, fast), frame)
            }
            false => replay(r, now, six, came, frame, passed),
        }
    }

    /// Something was learnt meanwhile.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.forwarding.last = Last::default();
    }

    /// The end of the batch.
    pub(super) fn settle(self, r: &mut Router, fast: bool) {
        self.forwarding.settle(r, fast);
    }
}

/// Forwards a batch that begins with IPv6: at once if all of it came alike and is plain.
#[inline(never)]
pub(super) fn receive_alone(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    common: &Common,
    batch: &mut Batch,
) {
    let is_done = match common.came.header() {
        UNTAGGED => receive_alike::<UNTAGGED>(r, now, port, common, batch),
        TAGGED => receive_alike::<TAGGED>(r, now, port, common, batch),
        _ => false,
    };
    if !is_done {
        receive(r, now, port, batch);
    }
}

/// Forwards a batch of plain packets that all came alike; leaves any other as it is, and says so.
#[inline(always)]
fn receive_alike<const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    common: &Common,
    batch: &mut Batch,
) -> bool {
    let by = r.learnt.ingresses.layers(common.came.ingress).next().map(|(by, _)| by);
    let v6 = &r.program.v6;
    match by.filter(|by| v6.is_on(*by) && !v6.settings.disabled) {
        Some(by) if v6.stateless => forward_alike::<HEADER>(r, now, (port, by), common, batch),
        Some(_) => replay_alike::<HEADER>(r, now, port, common, batch),
        None => false,
    }
}

/// The tuple of a packet that came as its batch did, and is plain.
#[inline(always)]
fn alike<const HEADER: usize>(
    r: &Router,
    common: &Common,
    frame: &Frame,
    alone: bool,
) -> Option<FiveTuple<u128>> {
    let (l3, bytes) = (common::len_of(HEADER), r.io.slab.bytes(frame));
    let is_alike = !frame.has_offload()
        && common.has_tags::<HEADER>(bytes)
        && bytes.get(l3 - 2..l3) == Some(&[0x86, 0xdd]);
    if is_alike { plain_tuple(r, bytes, l3, common.mac, alone) } else { None }
}

/// Where the FIB is all there is to ask.
#[inline(always)]
fn forward_alike<const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    (port, by): (InterfaceId, InterfaceId),
    common: &Common,
    batch: &mut Batch,
) -> bool {
    let n = batch.len();
    let mut dst = [0; Batch::CAPACITY];
    for (dst, frame) in dst.iter_mut().zip(batch.as_slice()) {
        let Some(tuple) = alike::<HEADER>(r, common, frame, true) else { return false };
        *dst = tuple.dst;
    }
    let mut leaves = [NextHopId::NONE; Batch::CAPACITY];
    r.program.v6.routes.fib().lookup_batch(&dst[..n], &mut leaves[..n]);
    let fast = r.program.interface(port).fast_rx && r.ipv6_fast_path();
    let (mut forwarding, mut passed) = (Forwarding6::default(), Passed::default());
    for (at, frame) in batch.drain().enumerate() {
        let (to, came) = ((leaves[at], dst[at], by), (common.came, fast));
        if let Err(frame) = forwarding.forward(r, now, &mut passed, to, came, frame) {
            flow::physical_in(r, now, port, frame);
            forwarding.last = Last::default();
        }
    }
    passed.settle(r);
    forwarding.settle(r, fast);
    true
}

/// Where flows have recipes.
#[inline(always)]
fn replay_alike<const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    common: &Common,
    batch: &mut Batch,
) -> bool {
    let n = batch.len();
    let mut plain = [Plain6::NONE; Batch::CAPACITY];
    for (plain, frame) in plain.iter_mut().zip(batch.as_slice()) {
        let Some(tuple) = alike::<HEADER>(r, common, frame, false) else { return false };
        (plain.tuple, plain.hash) = (tuple, tuple.hash());
        r.v6.connections.flows().prefetch_bucket(plain.hash);
    }
    find_flows6(r, &mut plain[..n]);
    let mut passed = Passed::default();
    for (plain, frame) in plain.iter().zip(batch.drain()) {
        if let Err(frame) = replay(r, now, plain, common.came, frame, &mut passed) {
            flow::physical_in(r, now, port, frame);
        }
    }
    passed.settle(r);
    true
}

/// Looks for the flows of packets, and asks for their memory.
#[inline(always)]
fn find_flows6(r: &Router, plain: &mut [Plain6]) {
    let flows = r.v6.connections.flows();
    for plain in plain.iter_mut().filter(|plain| plain.tuple.protocol != 0) {
        if let Some(flow) = flows.candidate(plain.hash) {
            plain.flow = flow;
            flows.prefetch_flow(flow);
        }
    }
}

/// Forwards a batch of both families.
#[inline(never)]
pub(super) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    let program = r.program.clone();
    let stateless = program.is_stateless();
    let n = batch.len();
    let mut came = [Came::UNKNOWN; Batch::CAPACITY];
    let (mut plain, mut six) = ([Plain::NONE; Batch::CAPACITY], Six::new(r));
    let (mut dst, mut leaves) = ([0; Batch::CAPACITY], [NextHopId::NONE; Batch::CAPACITY]);
    let mut lookup = Lookup::new(r, port);
    for (at, frame) in batch.as_mut_slice().iter_mut().enumerate() {
        let Some((mac, of)) = lookup.find(frame) else { continue };
        came[at] = of;
        let bytes = r.io.slab.bytes(frame);
        if of.is_before_ipv6(bytes) {
            six.read(r, at, bytes, of, mac);
        } else if stateless {
            dst[at] = plain_destination(r, &program.own_sources, bytes, of.header(), mac.0);
        } else if let Some(read) = Plain::read(bytes, of.header(), mac) {
            plain[at] = read;
            r.v4.connections.flows().prefetch_bucket(read.hash);
        }
    }
    if stateless {
        r.v4.routes.fib().lookup_batch(&dst[..n], &mut leaves[..n]);
    } else {
        find_flows(r, &mut plain[..n]);
    }
    six.find(r, n);
    let runs_fast = program.interface(port).fast_rx;
    let (fast, fast6) = (runs_fast && r.ipv4_fast_path(), runs_fast && r.ipv6_fast_path());
    let (mut forwarding, mut passed) = (Forwarding::default(), Passed::default());
    for (at, frame) in batch.drain().enumerate() {
        let left = if six.has(at) {
            six.pass(r, now, &mut passed, (at, came[at]), frame, fast6)
        } else if stateless {
            let (to, counted) = ((dst[at], leaves[at]), (&mut forwarding, &mut passed));
            forward_any(r, now, counted, came[at], to, frame, fast)
                .inspect_err(|frame| tell_why(r, to, frame, came[at]))
        } else {
            replay_any(r, now, &plain[at], came[at], frame, &mut passed)
        };
        if let Err(frame) = left {
            flow::physical_in(r, now, port, frame);
            forwarding.forget();
            six.forget();
        }
    }
    passed.settle(r);
    forwarding.settle(r, fast);
    six.settle(r, fast6);
}

/// The tuple of a packet without extension headers that goes from one host to another; if it is not for FIBs
/// `alone`, of TCP and UDP only, with its ports.
#[inline(always)]
fn plain_tuple(
    r: &Router,
    frame: &[u8],
    l3: usize,
    mac: MacAddr,
    alone: bool,
) -> Option<FiveTuple<u128>> {
    let macs = frame.first_chunk::<12>()?;
    let ip = frame.get(l3..)?;
    let head = ip.first_chunk::<HEADER_LEN>()?;
    let len = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let upper = ip.get(HEADER_LEN..HEADER_LEN + len)?;
    let address = |at: usize| {
        let octets: &[u8; 16] = head[at..].first_chunk().expect("in the header");
        u128::from_be_bytes(*octets)
    };
    let (src, dst, protocol) = (address(8), address(24), head[6]);
    let is_plain = macs[..6] == mac.0
        && macs[6] & 1 == 0
        && head[0] >> 4 == 6
        && head[7] > 1
        && is_of_hosts(r, src, dst);
    if !is_plain {
        return None;
    }
    let is_whole = match protocol {
        protocol::TCP => {
            let header = upper.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4);
            (20..=upper.len()).contains(&header)
        }
        protocol::UDP => {
            let len = upper.get(4..6).map_or(0, |len| u16::from_be_bytes([len[0], len[1]]));
            (8..=upper.len()).contains(&usize::from(len))
        }
        _ => false,
    };
    match protocol {
        header::HOP_BY_HOP | header::ROUTING | header::FRAGMENT | header::DESTINATION => None,
        header::AH => None,
        _ if alone => Some(FiveTuple { src, dst, src_port: 0, dst_port: 0, protocol }),
        _ if !is_whole => None,
        _ => {
            let (src_port, dst_port) = ports_of(protocol, upper)?;
            Some(FiveTuple { src, dst, src_port, dst_port, protocol })
        }
    }
}

/// Whether a packet may go from the one to the other: neither a group nor a link's own address, nothing that is
/// nobody's, and not from the router itself.
#[inline(always)]
fn is_of_hosts(r: &Router, src: u128, dst: u128) -> bool {
    // Neither what begins with zeros, where odd addresses lie, nor fe80::/10 and ff00::/8.
    let is_host = |address: u128| (0x20..=0xfd).contains(&((address >> 120) as u8));
    let v6 = &r.program.v6;
    is_host(src) && is_host(dst) && !(v6.may_be_own(src) && v6.routes.is_own(src))
}

/// Where the last packet went.
#[derive(Default)]
struct Last {
    leaf: NextHopId,
    /// The destination, where the neighbour depends on it; else 0.
    dst: u128,
    neighbour: NeighbourId,
    rewrite: Rewrite<u128>,
    used: bool,
}

/// What a batch has counted, and what it need not look up again.
#[derive(Default)]
struct Forwarding6 {
    last: Last,
    packets: Count,
}

impl Forwarding6 {
    /// Counts what has passed.
    fn settle(self, r: &mut Router, fast: bool) {
        if fast {
            r.stats.paths.ipv6_fast_path.merge(self.packets);
        }
    }

    /// Sends a packet on to a leaf and a destination, unless it came by the interface that this is behind, if
    /// its neighbour is known; else gives it back.
    #[inline(always)]
    fn forward(
        &mut self,
        r: &mut Router,
        now: Moment,
        passed: &mut Passed,
        (leaf, dst, by): (NextHopId, u128, InterfaceId),
        (came, fast): (Came, bool),
        mut frame: Frame,
    ) -> Result<(), Frame> {
        let last = &mut self.last;
        if leaf == NextHopId::NONE {
            return Err(frame);
        }
        if leaf != last.leaf || (last.dst != 0 && last.dst != dst) {
            *last = neighbour_behind(r, leaf, dst);
        }
        if last.rewrite.is_empty() && !refresh_last(r, last) {
            return Err(frame);
        }
        let l3 = usize::from(came.l3);
        let ip = &mut r.io.slab.bytes_mut(&mut frame)[l3..];
        let ip_len = HEADER_LEN as u16 + u16::from_be_bytes([ip[4], ip[5]]);
        let is_redirected = last.rewrite.interface() == by;
        if is_redirected || ip_len > last.rewrite.mtu || ip_len < HEADER_LEN as u16 {
            return Err(frame);
        }
        ip[7] -= 1;
        if !last.used {
            last.used = true;
            let rewrites = r.v6.neighbours.rewrites_mut();
            rewrites[last.neighbour.index()].used_ms = now.as_millis_u32();
        }
        self.packets.add(ip_len.into());
        let len = frame.len();
        put_header(&r.io.slab, &mut frame, l3, &last.rewrite);
        passed.came(r, came.ingress, len, fast);
        let out = (last.rewrite.egress, last.rewrite.interface());
        passed.left(r, out, len - l3, fast);
        r.transmit(last.rewrite.port(), frame, fast);
        Ok(())
    }
}

/// The neighbour behind a leaf; none if there is not just one.
fn neighbour_behind(r: &Router, leaf: NextHopId, dst: u128) -> Last {
    // Behind a tunnel or a session there is one, whatever its address.
    let find = |interface, address| match r.program.is_point_to_point(interface) {
        true => r.v6.neighbours.find(interface, 0),
        false => r.v6.neighbours.find(interface, address),
    };
    let (neighbour, dst) = match r.program.v6.routes.target(leaf) {
        Some(&Target::Connected(interface)) => (find(interface, dst), dst),
        Some(Target::Gateways(ways)) if ways.len() == 1 => (find(ways[0].0, ways[0].1), 0),
        _ => (None, 0),
    };
    Last { leaf, dst, neighbour: neighbour.unwrap_or(NeighbourId::NONE), ..Last::default() }
}

#[inline(never)]
fn refresh_last(r: &mut Router, last: &mut Last) -> bool {
    if last.neighbour == NeighbourId::NONE || !r.refresh6(last.neighbour) {
        return false;
    }
    last.rewrite = *r.v6.neighbours.rewrite(last.neighbour);
    true
}

/// Does for the frame what its flow's recipe says; gives it back if there is none that fits.
#[inline(always)]
fn replay(
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
    let (flags, next_hop, kept) = (flow.flags, NeighbourId(flow.next_hop), flow.kept());
    if flow.generation != r.learnt.recipes.generation() && !revalidate(r, id) {
        return Err(frame);
    }
    if !r.v6.neighbours.rewrite(next_hop).is_fresh(&r.link.hosts) && !r.refresh6(next_hop) {
        return Err(frame);
    }
    let all_queues = r.learnt.recipes.queues(kept);
    let Some((recipe, _)) = r.learnt.recipes.get_mut(kept.recipe()) else {
        return Err(frame);
    };
    let rewrite = &mut r.v6.neighbours.rewrites_mut()[next_hop.index()];
    let (l3, len) = (usize::from(came.l3), frame.len());
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let Some(&src_mac) = bytes.get(6..).and_then(|rest| rest.first_chunk()) else {
        return Err(frame);
    };
    let ip = &mut bytes[l3..];
    let ip_len = u16::from_be_bytes([ip[4], ip[5]]).saturating_add(HEADER_LEN as u16);
    let (hop_limit, class) = (ip[7], ip[0] << 4 | ip[1] >> 4);
    let is_tcp = plain.tuple.protocol == protocol::TCP;
    let tcp_flags = if is_tcp { ip[HEADER_LEN + 13] } else { 0 };
    let way = &recipe.way;
    if way.ingress != came.ingress
        || !way.guard.admits(ip_len, hop_limit, class, tcp_flags.into(), MacAddr(src_mac))
        || ip_len > rewrite.mtu
        || (is_tcp && tcp_flags & FIN_SYN_RST != 0)
        || (way.fasttrack && flags & flow_flag::FASTTRACK == 0)
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
    if flags & flow_flag::NAT != 0 {
        translate(ip, is_tcp, &r.v6.connections.flow(id).translated());
    }
    ip[7] -= 1;
    if way.edits.any {
        way.edits.write6(ip);
    }
    let (fasttrack, fast, mark) = (way.fasttrack, way.fast, way.marks.packet);
    let in_interface = way.in_interface;
    let mut queues = all_queues;
    r.stats.paths.replayed += 1;
    while let Some(leaf) = queues.first() {
        queues = queues.rest();
        let queue_len = u32::from(ip_len) + 14;
        let decision = r.queues.offer(leaf, now, queue_len);
        if decision != Decision::Pass {
            let hop = Hop { interface: rewrite.interface(), address: rewrite.address };
            let (rest, ingress, l3) = (Vec::new(), came.ingress, l3 as u16);
            let tuple = r.v6.connections.flow(id).translate_destination(plain.tuple);
            let class = flow::traffic_class(&r.io.slab.bytes(&frame)[usize::from(l3)..]);
            let label = Label::v6(tuple, class, r.queues.lengths6_on(all_queues));
            let cost = Cost { len: queue_len, label, mark };
            let leaving = Leaving {
                frame,
                rest,
                in_interface,
                ingress,
                l3,
                fast,
                fasttrack,
                depth: 0,
                hop,
                queues,
                cost,
            };
            came_fast(r, passed, came, (len, ip_len), fast, fasttrack);
            flow::queue(r, now, leaf, decision, Resume::Out6(Box::new(leaving)), cost);
            return Ok(());
        }
    }
    put_header(&r.io.slab, &mut frame, l3, rewrite);
    let (port, out) = (rewrite.port(), (rewrite.egress, rewrite.interface()));
    rewrite.used_ms = now_ms;
    came_fast(r, passed, came, (len, ip_len), fast, fasttrack);
    passed.left(r, out, len - l3, fast);
    r.transmit_marked(port, frame, fast, mark);
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
