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
use crate::interface::rewrite::Rewrite;
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::NeighbourId;
use crate::ip::route::Leaf;
use crate::router::Router;
use port::{Batch, Frame};
use wire::Moment;
use wire::mpls::{ETHERTYPE_MPLS, Entry};

/// Where the last packet went: most often the next one goes there as well.
#[derive(Default)]
struct Last {
    leaf: NextHopId,
    rewrite: Rewrite,
}

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
    let (mut last, mut passed, mut switched) =
        (Last::default(), Passed::default(), Count::default());
    let mut plain = r.io.spare.pop().unwrap_or_default();
    let mut labelled = std::mem::take(batch);
    for frame in labelled.drain() {
        if l3(r.io.slab.bytes(&frame)).is_none() {
            plain.push(frame);
            continue;
        }
        if !plain.is_empty() {
            passed.settle(r);
            others(r, now, port, &mut plain);
            last = Last::default();
        }
        let counted = (&mut passed, &mut switched);
        if let Err(frame) = switch(r, now, counted, &common, &mut last, frame, fast) {
            passed.leave(r, now, port, frame);
            last = Last::default();
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

/// Sends a labelled frame on; gives it back if it is none of those that go this way.
#[inline(always)]
fn switch(
    r: &mut Router,
    now: Moment,
    (passed, switched): (&mut Passed, &mut Count),
    common: &Common,
    last: &mut Last,
    mut frame: Frame,
    fast: bool,
) -> Result<(), Frame> {
    let Came { l3, ingress, .. } = common.came;
    let l3 = usize::from(l3);
    let len = frame.len();
    let bytes = r.io.slab.bytes(&frame);
    let entry =
        bytes.get(l3..).and_then(|rest| rest.first_chunk()).map(|entry| Entry::read(*entry));
    let Some(entry) = entry.filter(|entry| {
        entry.ttl > 1
            && self::l3(bytes) == Some(l3)
            && common.is_alike(bytes)
            && !frame.has_offload()
    }) else {
        return Err(frame);
    };
    let incoming = r.v4.routes.all_incoming().get(entry.label.number() as usize);
    let leaf = incoming.copied().unwrap_or(NextHopId::NONE);
    if leaf != last.leaf || last.rewrite.is_empty() {
        let Some(rewrite) = resolve(r, now, leaf) else { return Err(frame) };
        *last = Last { leaf, rewrite };
    }
    let rewrite = &last.rewrite;
    let behind = l3 + Entry::LEN;
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
            bytes[head..head + Entry::LEN].copy_from_slice(&entry.bytes());
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
    switched.add((len - l3) as u64);
    passed.came(r, ingress, len, fast);
    passed.left(r, (rewrite.egress, rewrite.interface()), frame.len() - rewrite.len(), fast);
    r.transmit(rewrite.port(), frame, fast);
    Ok(())
}

/// The header in front of what goes on by a leaf, brought up to date: of one neighbour that is known.
#[inline(never)]
fn resolve(r: &mut Router, now: Moment, leaf: NextHopId) -> Option<Rewrite> {
    let Leaf::Neighbour(id) = r.v4.routes.leaf(leaf) else { return None };
    let interface = r.v4.neighbours.rewrite(id).interface();
    if id == NeighbourId::NONE || r.program.is_point_to_point(interface) || !r.refresh(id) {
        return None;
    }
    let rewrite = &mut r.v4.neighbours.rewrites_mut()[id.index()];
    rewrite.used_ms = now.as_millis_u32();
    Some(*rewrite)
}
