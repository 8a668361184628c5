//! Routing when there is nothing to ask but the FIB: no tracking, no rules, no queues.
//!
//! ```text
//! check (header, checksum, TTL)  ─► 64 destinations ─► Fib::lookup_batch ─► leaf ─► rewrite
//!    └ not plain: dst stays 0 = martian ─► slow path                  write, outbox ◄─┘
//! ```

use super::common::{
    self, Came, Common, IN_SESSION, IN_TAGGED_SESSION, Lookup, TAGGED, TWICE_TAGGED, UNTAGGED,
};
use super::passed::Passed;
use super::tunnel::Protocols;
use super::{Left, decrement_ttl, enclose, ipv6, overwrite_header, put_header};
use crate::counter::Count;
use crate::firewall::mark::Mark;
use crate::flow::{is_martian_source, is_own_source};
use crate::interface::InterfaceId;
use crate::interface::rewrite::Rewrite;
use crate::ip::address::OwnSources;
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::NeighbourId;
use crate::ip::route::Leaf;
use crate::router::Router;
use crate::story::Event;
use port::{Batch, Frame};
use wire::{Moment, checksum};

/// Where the last packet went: most often the next one goes there as well.
#[derive(Default)]
struct Last {
    leaf: NextHopId,
    /// The destination, where the neighbour depends on it; else 0.
    dst: u32,
    neighbour: NeighbourId,
    /// The neighbour's; empty before the first packet.
    rewrite: Rewrite,
    /// It leads into a tunnel.
    is_tunnel: bool,
}

/// What a batch has counted, and what it need not look up again.
#[derive(Default)]
pub(super) struct Forwarding {
    last: Last,
    packets: Count,
    /// Of those that came as most of the batch did.
    together: Count,
}

/// Forwards a batch.
pub(super) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    common::prefetch(r, batch);
    let common = Common::of(r, port, batch);
    if common.begins_ipv6(r, batch) {
        return ipv6::receive_alone(r, now, port, &common, batch);
    }
    match common.came.header() {
        IN_SESSION => receive_at::<IN_SESSION>(r, now, port, common, batch),
        IN_TAGGED_SESSION => receive_at::<IN_TAGGED_SESSION>(r, now, port, common, batch),
        TAGGED => receive_at::<TAGGED>(r, now, port, common, batch),
        TWICE_TAGGED => receive_at::<TWICE_TAGGED>(r, now, port, common, batch),
        _ => receive_at::<UNTAGGED>(r, now, port, common, batch),
    }
}

/// The same of a batch in which there may be tunnels' outer packets; nothing is done if there may, or there is
/// anything unusual: false. To look for them by itself took each packet 20 instructions, here it takes 6.
pub(super) fn receive_unless_outer(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    protocols: Protocols,
    batch: &mut Batch,
) -> bool {
    let first = batch.as_slice().first().map_or(&[][..], |frame| r.io.slab.bytes(frame));
    if protocols.may_be(first) {
        return false;
    }
    let common = Common::of(r, port, batch);
    if common.came.header() != UNTAGGED {
        return false;
    }
    common::prefetch(r, batch);
    let mut dst = [0; Batch::CAPACITY];
    let program = r.program.clone();
    for (dst, frame) in dst.iter_mut().zip(batch.as_slice()) {
        let bytes = r.io.slab.bytes(frame);
        if !frame.has_offload() && common.has_tags::<UNTAGGED>(bytes) {
            *dst = plain_destination(r, &program.own_sources, bytes, UNTAGGED, common.mac.0);
        }
        let ip = bytes.get(UNTAGGED..).and_then(|ip| ip.first_chunk());
        if *dst == 0 || ip.is_none_or(|ip| protocols.may_be_packet(ip)) {
            return false;
        }
    }
    forward_all::<UNTAGGED>(r, now, port, common.came, &dst, batch);
    true
}

/// Forwards a batch of which most packets have such a header in front.
#[inline(always)]
fn receive_at<const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    common: Common,
    batch: &mut Batch,
) {
    let n = batch.len();
    let fast = r.ipv4_fast_path() && r.program.interface(port).fast_rx;
    // 0.0.0.0 leads to the martian leaf, so whatever is not plain takes the slow path.
    let mut dst = [0; Batch::CAPACITY];
    let program = r.program.clone();
    let own = &program.own_sources;
    for (dst, frame) in dst.iter_mut().zip(batch.as_slice()) {
        let bytes = r.io.slab.bytes(frame);
        if !frame.has_offload() && common.has_tags::<HEADER>(bytes) {
            *dst = plain_destination(r, own, bytes, HEADER, common.mac.0);
        }
    }
    let came = common.came;
    if !dst[..n].contains(&0) {
        return forward_all::<HEADER>(r, now, port, came, &dst, batch);
    }
    let mut leaves = [NextHopId::NONE; Batch::CAPACITY];
    let (mut forwarding, mut passed) = (Forwarding::default(), Passed::default());
    if ipv6::are_in(&r.io.slab, batch) {
        return ipv6::receive(r, now, port, batch);
    }
    let mut others = [came; Batch::CAPACITY];
    look_again(r, port, &mut dst, &mut others, batch);
    r.v4.routes.fib().lookup_batch(&dst[..n], &mut leaves[..n]);
    for (at, frame) in batch.drain().enumerate() {
        let to = (dst[at], leaves[at]);
        let counted = (&mut forwarding, &mut passed);
        if let Err(frame) = forward_any(r, now, counted, others[at], to, frame, fast) {
            tell_why(r, to, &frame, others[at]);
            passed.came_together(r, came.ingress, forwarding.take_together(), fast);
            passed.leave(r, now, port, frame);
            forwarding.forget();
        }
    }
    passed.came_together(r, came.ingress, forwarding.together, fast);
    passed.settle(r);
    forwarding.settle(r, fast);
}

/// Forwards a batch of which each packet is plain, with its destination.
#[inline(always)]
fn forward_all<const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    came: Came,
    dst: &[u32; Batch::CAPACITY],
    batch: &mut Batch,
) {
    let n = batch.len();
    let fast = r.ipv4_fast_path() && r.program.interface(port).fast_rx;
    let mut leaves = [NextHopId::NONE; Batch::CAPACITY];
    let (mut forwarding, mut passed) = (Forwarding::default(), Passed::default());
    r.v4.routes.fib().lookup_batch(&dst[..n], &mut leaves[..n]);
    let mut all = dst[..n].iter().zip(&leaves[..n]).zip(batch.drain());
    while let Some(((&dst, &leaf), frame)) = all.next() {
        let (to, counted) = ((dst, leaf), (&mut forwarding, &mut passed));
        if let Err(frame) = forward::<HEADER>(r, now, counted, came, to, frame, fast) {
            tell_why(r, to, &frame, came);
            passed.came_together(r, came.ingress, forwarding.take_together(), fast);
            passed.leave(r, now, port, frame);
            forwarding.forget();
        }
        // By value: what has an address is kept in memory all along.
        if forwarding.last.is_tunnel {
            let counted = (forwarding, passed);
            return forward_rest::<HEADER>(r, now, port, counted, came, all, fast);
        }
    }
    passed.came_together(r, came.ingress, forwarding.together, fast);
    passed.settle(r);
    forwarding.settle(r, fast);
}

/// Forwards the rest of a batch whose last packet went into a tunnel.
#[inline(never)]
fn forward_rest<'a, const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    (mut forwarding, mut passed): (Forwarding, Passed),
    came: Came,
    mut all: impl Iterator<Item = ((&'a u32, &'a NextHopId), Frame)>,
    fast: bool,
) {
    let mut next = forwarding.enclose::<HEADER>(r, &mut all, fast);
    while let Some(((&dst, &leaf), frame)) = next {
        let (to, counted) = ((dst, leaf), (&mut forwarding, &mut passed));
        if let Err(frame) = forward::<HEADER>(r, now, counted, came, to, frame, fast) {
            tell_why(r, to, &frame, came);
            passed.came_together(r, came.ingress, forwarding.take_together(), fast);
            passed.leave(r, now, port, frame);
            forwarding.forget();
        }
        next = match forwarding.last.is_tunnel {
            true => forwarding.enclose::<HEADER>(r, &mut all, fast),
            false => all.next(),
        };
    }
    passed.came_together(r, came.ingress, forwarding.together, fast);
    passed.settle(r);
    forwarding.settle(r, fast);
}

/// [`forward`] for a packet that came as others of its batch did not.
#[inline(always)]
pub(super) fn forward_any(
    r: &mut Router,
    now: Moment,
    counted: (&mut Forwarding, &mut Passed),
    came: Came,
    to: (u32, NextHopId),
    frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    forward::<0>(r, now, counted, came, to, frame, fast)
}

/// Sends a packet on `to` a destination and the leaf it led to, if its neighbour is known; else
/// gives it back. `HEADER`: what stands in front of it, and it came as most of its batch did; else 0.
#[inline(always)]
fn forward<const HEADER: usize>(
    r: &mut Router,
    now: Moment,
    (forwarding, passed): (&mut Forwarding, &mut Passed),
    came: Came,
    (dst, leaf): (u32, NextHopId),
    mut frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    let Forwarding { last, packets, together } = forwarding;
    if leaf != last.leaf || (last.dst != 0 && last.dst != dst) {
        *last = neighbour_behind(r, leaf, dst);
    }
    // Nothing that a bridge on the way has learnt changes before the batch ends, the slow path is
    // taken or a host is learnt: then all this is forgotten.
    let l3 = if HEADER == 0 { usize::from(came.l3) } else { common::len_of(HEADER) };
    if last.rewrite.is_empty() && !refresh(r, now, last, &frame, l3) {
        return Err(frame);
    }
    let len = frame.len();
    let bytes = r.io.slab.bytes_mut(&mut frame);
    let ip = bytes.get_mut(l3..).and_then(|ip| ip.first_chunk_mut::<20>());
    let Some(ip) = ip else { return Err(frame) };
    let ip_len = u16::from_be_bytes([ip[2], ip[3]]);
    if ip_len > last.rewrite.mtu {
        return Err(frame);
    }
    let rewrite = &last.rewrite;
    decrement_ttl(ip);
    packets.add(ip_len.into());
    if !overwrite_header(bytes, l3, rewrite) {
        put_header(&r.io.slab, &mut frame, l3, rewrite);
    }
    if HEADER == 0 {
        passed.came(r, came.ingress, len, fast);
    } else {
        together.add(len as u64);
    }
    passed.left(r, (rewrite.egress, rewrite.interface()), frame.len() - rewrite.len(), fast);
    r.transmit(rewrite.port(), frame, fast);
    Ok(())
}

/// Tells, if somebody listens, why [`forward`] gave a packet back.
#[cold]
pub(super) fn tell_why(r: &mut Router, (dst, leaf): (u32, NextHopId), frame: &Frame, came: Came) {
    if !r.is_told() {
        return;
    }
    let ip = r.io.slab.bytes(frame).get(usize::from(came.l3)..).unwrap_or(&[]);
    let len = ip.get(2..4).map_or(0, |len| u16::from_be_bytes([len[0], len[1]]));
    let why = match neighbour_behind(r, leaf, dst).neighbour {
        _ if dst == 0 && ip.first().is_some_and(|&first| (0x46..=0x4f).contains(&first)) => {
            Left::Options
        }
        _ if dst == 0 => Left::Unusual,
        NeighbourId::NONE => match r.v4.routes.leaf(leaf) {
            Leaf::Ecmp => Left::Ecmp,
            Leaf::Neighbour(_) | Leaf::Connected(_) => Left::Neighbour,
            Leaf::None | Leaf::Special => Left::Unusual,
        },
        id if len > r.v4.neighbours.rewrite(id).mtu => Left::TooLong,
        _ => Left::Neighbour,
    };
    r.tell(|| Event::Left(why));
}

/// Brings a neighbour's rewrite up to date, which a packet uses now; `false` if there is none, or the packet is
/// too long for it.
#[inline(never)]
fn refresh(r: &mut Router, now: Moment, last: &mut Last, frame: &Frame, l3: usize) -> bool {
    if last.neighbour == NeighbourId::NONE || !r.refresh(last.neighbour) {
        return false;
    }
    let len = r.io.slab.bytes(frame).get(l3 + 2..).and_then(|rest| rest.first_chunk());
    let rewrite = &mut r.v4.neighbours.rewrites_mut()[last.neighbour.index()];
    if len.is_none_or(|&len| u16::from_be_bytes(len) > rewrite.mtu) {
        return false;
    }
    rewrite.used_ms = now.as_millis_u32();
    last.rewrite = *rewrite;
    last.is_tunnel = r.program.has_tunnels() && enclose::is_known(r, last.rewrite.port());
    true
}

impl Forwarding {
    /// Counts what has passed. By value: what has an address is kept in memory all along.
    #[inline(always)]
    pub(super) fn settle(self, r: &mut Router, fast: bool) {
        if fast {
            r.stats.paths.ipv4_fast_path.merge(self.packets);
        }
    }

    /// Those that came as most of the batch did, and are not counted yet.
    #[inline(always)]
    fn take_together(&mut self) -> Count {
        std::mem::take(&mut self.together)
    }

    /// Sends those into a tunnel that go where the last packet went; returns the first that does not.
    #[inline(always)]
    fn enclose<'a, const HEADER: usize>(
        &mut self,
        r: &mut Router,
        all: &mut impl Iterator<Item = ((&'a u32, &'a NextHopId), Frame)>,
        fast: bool,
    ) -> Option<((&'a u32, &'a NextHopId), Frame)> {
        let Last { leaf, dst: only, ref rewrite, .. } = self.last;
        let is_alike =
            |(&dst, &next): (&u32, &NextHopId)| next == leaf && (only == 0 || dst == only);
        let enclosed = match common::len_of(HEADER) {
            UNTAGGED => enclose::all_in_run::<UNTAGGED, _>(r, rewrite, all, is_alike, fast),
            TAGGED => enclose::all_in_run::<TAGGED, _>(r, rewrite, all, is_alike, fast),
            _ => return all.next(),
        };
        let packets = enclosed.packets;
        self.packets.merge(Count { packets, bytes: enclosed.ip_bytes });
        self.together.merge(Count { packets, bytes: enclosed.bytes });
        enclosed.other
    }

    /// Forgets where the last packet went: the slow path may have changed what is known.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.last = Last::default();
    }
}

/// Looks again at what was not plain: takes priority tags off, and finds what others came through.
/// Out of line, so that the loop above stays as short as it is without: with it inside a packet took
/// 13 instructions more.
#[inline(never)]
fn look_again(
    r: &Router,
    port: InterfaceId,
    dst: &mut [u32],
    others: &mut [Came],
    batch: &mut Batch,
) {
    let own = &r.program.own_sources;
    let mut lookup = Lookup::new(r, port);
    let all = dst.iter_mut().zip(others).zip(batch.as_mut_slice());
    for ((dst, came), frame) in all.filter(|((dst, _), _)| **dst == 0) {
        if let Some((mac, of)) = lookup.find(frame) {
            let bytes = r.io.slab.bytes(frame);
            *dst = plain_destination(r, own, bytes, of.header(), mac.0);
            *came = of;
        }
    }
}

/// The destination of a packet that needs nothing but forwarding; 0 for all others.
#[inline(always)]
pub(super) fn plain_destination(
    r: &Router,
    own: &OwnSources,
    frame: &[u8],
    header: usize,
    own_mac: [u8; 6],
) -> u32 {
    let l3 = common::len_of(header);
    let Some(macs) = frame.first_chunk::<12>() else { return 0 };
    let Some(head) = frame.get(l3 - 2..).and_then(|rest| rest.first_chunk::<22>()) else {
        return 0;
    };
    if head[..3] != common::before_ip(header) {
        return 0; // at once: whole batches may be tagged
    }
    let ip: &[u8; 20] = head[2..].first_chunk().expect("22 - 2 bytes");
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let src = u32::from_be_bytes([ip[12], ip[13], ip[14], ip[15]]);
    let plain = macs[..6] == own_mac
        && macs[6] & 1 == 0
        && (20..=frame.len() - l3).contains(&total)
        && ip[8] > 1
        && !is_martian_source(src)
        && !(own.may_have(src) && is_own_source(r, src, Mark::NONE))
        && checksum::ipv4_header_ok(ip);
    if plain { u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]]) } else { 0 }
}

/// The neighbour behind a leaf; none if there is not just one.
#[inline]
fn neighbour_behind(r: &Router, id: NextHopId, dst: u32) -> Last {
    let (neighbour, dst) = match r.v4.routes.leaf(id) {
        Leaf::Neighbour(neighbour) => (neighbour, 0),
        Leaf::Connected(interface) => {
            (r.v4.neighbours.find(interface, dst).unwrap_or(NeighbourId::NONE), dst)
        }
        Leaf::None | Leaf::Ecmp | Leaf::Special => (NeighbourId::NONE, 0),
    };
    Last { leaf: id, dst, neighbour, ..Last::default() }
}
