//! Switching by labels: no address is looked at, and no box of IP.
//!
//! ```text
//! label ─► Routes::all_incoming ─► leaf ─► rewrite ─┬─ ends with a label: that one, the entry's class, its TTL less one
//!                                                   └─ ends with Ethernet's: the label goes, IPv4 goes on
//! ```
//!
//! What is unusual (several next hops, the last label of something else, a TTL that has run out) is left to
//! [`flow::mpls`](crate::flow).

use super::common::{self, Came, Common};
use super::{Passed, put_header};
use crate::counter::Count;
use crate::flow;
use crate::interface::InterfaceId;
use crate::ip::neighbour::NeighbourId;
use crate::ip::route::Leaf;
use crate::router::Router;
use port::{Batch, Frame};
use wire::Moment;
use wire::mpls::{ETHERTYPE_MPLS, Entry};

/// Whether a batch begins with a labelled frame, or has one behind a plain one: most often all are alike.
#[inline]
pub(super) fn are_in(r: &Router, batch: &Batch) -> bool {
    batch.as_slice().iter().any(|frame| l3(r.io.slab.bytes(frame)).is_some())
}

/// Where the labels of a frame begin, if it has some: behind up to two tags.
#[inline(always)]
fn l3(frame: &[u8]) -> Option<usize> {
    let ether_type = ETHERTYPE_MPLS.to_be_bytes();
    [14, 18, 22].into_iter().find(|at| frame.get(at - 2..*at) == Some(&ether_type[..]))
}

/// Switches the labelled frames of a batch; the others go the way that `others` takes, in their order.
pub(super) fn receive(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    batch: &mut Batch,
    others: fn(&mut Router, Moment, InterfaceId, &mut Batch),
) {
    common::prefetch(r, batch);
    let common = Common::of(r, port, batch);
    let fast = r.mpls_fast_path() && r.program.interface(port).fast_rx;
    // Each label has a header of its own: with a thousand of them a packet waits for its line for 35 ns, unless it
    // is asked for before.
    let mut found = [None; Batch::CAPACITY];
    for (found, frame) in found.iter_mut().zip(batch.as_slice()) {
        *found = find(r, &common, frame);
        if let Some(Found { id, .. }) = found {
            let rewrite = std::slice::from_ref(r.v4.neighbours.rewrite(*id));
            port::prefetch::lines(rewrite, 0, 0..1);
        }
    }
    let (mut passed, mut switched) = (Passed::default(), Count::default());
    let mut plain = r.io.spare.pop().unwrap_or_default();
    let mut labelled = std::mem::take(batch);
    let mut is_known = true;
    for (frame, found) in labelled.drain().zip(found) {
        if found.is_none() && l3(r.io.slab.bytes(&frame)).is_none() {
            plain.push(frame);
            continue;
        }
        if !plain.is_empty() {
            passed.settle(r);
            others(r, now, port, &mut plain);
            is_known = false;
        }
        // Whatever else was done may have changed where labels lead.
        let found = if is_known { found } else { find(r, &common, &frame) };
        let counted = (&mut passed, &mut switched);
        if let Err(frame) = switch(r, now, counted, &common, found, frame, fast) {
            passed.leave(r, now, port, frame);
            is_known = false;
        }
    }
    passed.settle(r);
    if fast {
        r.stats.paths.mpls_fast_path.merge(switched);
    }
    if !plain.is_empty() {
        others(r, now, port, &mut plain);
    }
    *batch = labelled;
    r.io.spare.push(plain);
}

/// A frame's first label, and the neighbour that it leads to.
#[derive(Clone, Copy)]
struct Found {
    entry: Entry,
    id: NeighbourId,
}

/// What a labelled frame's label leads to: none if it is not as most of its batch are, or several next hops are there.
#[inline(always)]
fn find(r: &Router, common: &Common, frame: &Frame) -> Option<Found> {
    let l3 = usize::from(common.came.l3);
    let bytes = r.io.slab.bytes(frame);
    let entry = Entry::read(*bytes.get(l3..)?.first_chunk()?);
    let is_usual = self::l3(bytes) == Some(l3) && common.is_alike(bytes) && !frame.has_offload();
    let leaf = *r.v4.routes.all_incoming().get(entry.label.number() as usize)?;
    match r.v4.routes.leaf(leaf) {
        Leaf::Neighbour(id) if is_usual && entry.ttl > 1 && id != NeighbourId::NONE => {
            Some(Found { entry, id })
        }
        _ => None,
    }
}

/// Sends a labelled frame on; gives it back if it is none of those that go this way.
#[inline(always)]
fn switch(
    r: &mut Router,
    now: Moment,
    (passed, switched): (&mut Passed, &mut Count),
    common: &Common,
    found: Option<Found>,
    mut frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    let Came { l3, ingress, .. } = common.came;
    let (l3, len) = (usize::from(l3), frame.len());
    let behind = l3 + Entry::LEN;
    let Some(Found { entry, id }) = found else { return Err(frame) };
    let rewrite = r.v4.neighbours.rewrite(id);
    if (rewrite.is_empty() || rewrite.is_by_bridge()) && !r.refresh(id) {
        return Err(frame);
    }
    let rewrite = &mut r.v4.neighbours.rewrites_mut()[id.index()];
    if len - behind > usize::from(rewrite.mtu) {
        return Err(frame);
    }
    match rewrite.label() {
        Some(label) => {
            let head = rewrite.len() - Entry::LEN;
            let has_room = if l3 >= head {
                frame.pull(l3 - head);
                true
            } else {
                r.io.slab.push(&mut frame, head - l3)
            };
            if !has_room {
                return Err(frame);
            }
            let bytes = r.io.slab.bytes_mut(&mut frame);
            match bytes.first_chunk_mut() {
                Some(ethernet) if head == 14 => *ethernet = *rewrite.bytes::<14>(),
                _ => bytes[..head].copy_from_slice(&rewrite.header()[..head]),
            }
            let entry = Entry { label, ttl: entry.ttl - 1, ..entry };
            if let Some(place) = bytes.get_mut(head..).and_then(|rest| rest.first_chunk_mut()) {
                *place = entry.bytes();
            }
        }
        None => {
            let ip = r.io.slab.bytes_mut(&mut frame).get_mut(behind..);
            let Some(ip) = ip.filter(|ip| entry.is_bottom && ip.len() >= 20 && ip[0] >> 4 == 4)
            else {
                return Err(frame);
            };
            if r.program.mpls.propagates_ttl {
                flow::limit_ttl(ip, entry.ttl - 1);
            }
            put_header(&r.io.slab, &mut frame, behind, rewrite);
        }
    }
    rewrite.used_ms = now.as_millis_u32();
    let (port, out) = (rewrite.port(), (rewrite.egress, rewrite.interface()));
    let left = frame.len() - rewrite.len();
    switched.add((len - l3) as u64);
    passed.came(r, ingress, len, fast);
    passed.left(r, out, left, fast);
    r.transmit(port, frame, fast);
    Ok(())
}
