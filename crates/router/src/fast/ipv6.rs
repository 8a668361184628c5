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
use super::replay::{Plain, find_flows, replay_any};
use super::replay6::replay;
use super::{overwrite_header, put_header};
use crate::counter::Count;
use crate::firewall::connection::flow::FlowId;
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::interface::rewrite::Rewrite;
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::NeighbourId;
use crate::ip::route::Target;
use crate::router::Router;
use port::{Batch, Frame, Slab};
use wire::ipv6::{HEADER_LEN, header};
use wire::layers::protocol;
use wire::{FiveTuple, MacAddr, Moment};

/// A packet that needs nothing but forwarding: of no group and no link's own address, for our MAC address.
#[derive(Clone, Copy)]
pub(super) struct Plain6 {
    /// With ports if it is TCP or UDP and whole; protocol 0 of what is not plain.
    pub(super) tuple: FiveTuple<u128>,
    pub(super) hash: u32,
    pub(super) flow: FlowId,
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
                self.forwarding.forward::<0>(r, now, passed, to, (came, fast), frame)
            }
            false => replay::<0>(r, now, six, came, frame, passed),
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
    let all = dst[..n].iter().zip(&leaves[..n]).zip(batch.drain());
    for ((&dst, &leaf), frame) in all {
        let (to, came) = ((leaf, dst, by), (common.came, fast));
        if let Err(frame) = forwarding.forward::<HEADER>(r, now, &mut passed, to, came, frame) {
            let together = std::mem::take(&mut forwarding.together);
            passed.came_together(r, common.came.ingress, together, fast);
            passed.leave(r, now, port, frame);
            forwarding.last = Last::default();
        }
    }
    passed.came_together(r, common.came.ingress, forwarding.together, fast);
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
        let left = replay::<HEADER>(r, now, plain, common.came, frame, &mut passed);
        if let Err(frame) = left {
            passed.leave(r, now, port, frame);
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
            passed.leave(r, now, port, frame);
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
    let tuple = FiveTuple { src, dst, src_port: 0, dst_port: 0, protocol };
    match protocol {
        header::HOP_BY_HOP | header::ROUTING | header::FRAGMENT | header::DESTINATION => None,
        header::AH => None,
        _ if alone => Some(tuple),
        protocol::TCP | protocol::UDP => {
            let [a, b, c, d, len @ .., _, _] = *upper.first_chunk::<8>()?;
            let is_whole = match protocol {
                protocol::TCP => {
                    let header = upper.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4);
                    (20..=upper.len()).contains(&header)
                }
                _ => (8..=upper.len()).contains(&usize::from(u16::from_be_bytes(len))),
            };
            let (src_port, dst_port) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            is_whole.then_some(FiveTuple { src_port, dst_port, ..tuple })
        }
        _ => None,
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
    /// Of those that came as all of their batch did.
    together: Count,
}

impl Forwarding6 {
    /// Counts what has passed.
    fn settle(self, r: &mut Router, fast: bool) {
        if fast {
            r.stats.paths.ipv6_fast_path.merge(self.packets);
        }
    }

    /// Sends a packet on to a leaf and a destination, unless it came by the interface that this is behind, if
    /// its neighbour is known; else gives it back. `HEADER`: what stands in front of it, and it came as all of
    /// its batch did; else 0.
    #[inline(always)]
    fn forward<const HEADER: usize>(
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
        let l3 = if HEADER == 0 { usize::from(came.l3) } else { common::len_of(HEADER) };
        let len = frame.len();
        let bytes = r.io.slab.bytes_mut(&mut frame);
        let ip = bytes.get_mut(l3..).and_then(|ip| ip.first_chunk_mut::<8>());
        let Some(ip) = ip else { return Err(frame) };
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
        let rewrite = &last.rewrite;
        self.packets.add(ip_len.into());
        if !overwrite_header(bytes, l3, rewrite) {
            put_header(&r.io.slab, &mut frame, l3, rewrite);
        }
        if HEADER == 0 {
            passed.came(r, came.ingress, len, fast);
        } else {
            self.together.add(len as u64);
        }
        passed.left(r, (rewrite.egress, rewrite.interface()), len - l3, fast);
        r.transmit(rewrite.port(), frame, fast);
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
