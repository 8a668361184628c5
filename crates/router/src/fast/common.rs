//! The arrival that a batch's frames have in common: the first frame's.
//!
//! ```text
//! first frame ─► port and tags ─► Common: bytes 12.. as they must be, where IP begins, its ingress
//! the others  ─► the same bytes there? ─► a loop made for 14, 18 or 22 bytes of header
//!                                   └ no ─► looked up one by one
//! ```
//!
//! Frames of one VLAN come in runs, so that a tagged batch costs what an untagged one does.

use crate::interface::ingress::{Arrival, Ingress, IngressId};
use crate::interface::{InterfaceId, priority};
use crate::router::Router;
use port::{Batch, Frame, Slab};
use wire::MacAddr;

/// The untagged header's length, and those with one and two tags: what the loops are made for.
pub(super) const UNTAGGED: usize = 14;
pub(super) const TAGGED: usize = 18;
pub(super) const TWICE_TAGGED: usize = 22;

/// Where a packet's IP header begins, and what it came through.
#[derive(Clone, Copy, Default)]
pub(super) struct Came {
    pub(super) l3: u8,
    pub(super) ingress: IngressId,
}

/// What most frames of a batch are like.
#[derive(Clone, Copy)]
pub(super) struct Common {
    /// Type and VLAN of up to two tags, without their priorities.
    tags: [u32; 2],
    pub(super) mac: MacAddr,
    pub(super) came: Came,
}

impl Common {
    /// Nothing is known: no frame has these tags, whose priority was not taken out.
    const NONE: Common = Common {
        tags: [u32::MAX; 2],
        mac: MacAddr([0; 6]),
        came: Came { l3: TAGGED as u8, ingress: IngressId::NONE },
    };

    /// What the first frame of a batch came through; what untagged ones do, if that is not known.
    /// What a bridge further up learns from is not known here.
    #[inline]
    pub(super) fn of(r: &Router, port: InterfaceId, batch: &Batch) -> Common {
        let known =
            |arrival| r.learnt.ingresses.find(arrival).filter(|known| known.learns.is_none());
        let first = batch.as_slice().first().map_or(&[][..], |frame| r.io.slab.bytes(frame));
        if let Some((arrival, l3)) = Arrival::of(port, first)
            && let Some(known) = known(arrival)
        {
            return Common::new(first, l3, known);
        }
        let untagged = known(Arrival::untagged(port));
        untagged.map_or(Common::NONE, |known| Common::new(&[], UNTAGGED, known))
    }

    /// Of the tags of a frame with its IP header at `l3`.
    pub(super) fn new(frame: &[u8], l3: usize, known: &Ingress) -> Common {
        let tag = |at: usize| frame.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, tag);
        let tags = [12, 16].map(|at| if at + 2 < l3 { tag(at) } else { 0 });
        Common { tags, mac: known.mac, came: Came { l3: l3 as u8, ingress: known.id } }
    }

    /// Whether a frame has the same tags. That what follows them is IPv4 is for the caller to see.
    #[inline(always)]
    pub(super) fn has_tags<const L3: usize>(&self, frame: &[u8]) -> bool {
        let same = |at: usize, n: usize| {
            frame
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .is_some_and(|c| tag(c) == self.tags[n])
        };
        (L3 < TAGGED || same(12, 0)) && (L3 < TWICE_TAGGED || same(16, 1))
    }
}

/// A tag's type and VLAN.
#[inline(always)]
fn tag(bytes: &[u8; 4]) -> u32 {
    u32::from_be_bytes(*bytes) & 0xffff_0fff
}

/// Asks for the bytes of a batch's frames.
#[inline(always)]
pub(super) fn prefetch(slab: &Slab, batch: &Batch) {
    for frame in batch.as_slice() {
        slab.prefetch(frame);
    }
}

/// What frames came through that are not as most of their batch, one by one.
pub(super) struct Lookup<'a> {
    r: &'a Router,
    port: InterfaceId,
    /// Its bond counts frames as they came, and may be a port of a bridge.
    is_slave: bool,
    last: Option<(Arrival, Option<&'a Ingress>)>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(r: &'a Router, port: InterfaceId) -> Lookup<'a> {
        let is_slave = r.program.interface(port).bond.is_some();
        Lookup { r, port, is_slave, last: None }
    }

    /// The address that such frames have, and what this one came through; takes a priority tag off.
    #[inline(always)]
    pub(super) fn find(&mut self, frame: &mut Frame) -> Option<(MacAddr, Came)> {
        if frame.has_offload() {
            return None;
        }
        let slab = &self.r.io.slab;
        let Some((arrival, l3)) = Arrival::of(self.port, slab.bytes(frame)) else {
            let untagged = Arrival::untagged(self.port);
            let known = self.r.learnt.ingresses.find_again(untagged, &mut self.last)?;
            let is_for_it = slab.bytes(frame).starts_with(&known.mac.0) && known.learns.is_none();
            let is_taken_off = is_for_it && !self.is_slave && priority::take_off(slab, frame);
            let came = Came { l3: UNTAGGED as u8, ingress: known.id };
            return is_taken_off.then_some((known.mac, came));
        };
        let known = self.r.learnt.ingresses.find_again(arrival, &mut self.last)?;
        let came = Came { l3: l3 as u8, ingress: known.id };
        known.learns.is_none().then_some((known.mac, came))
    }
}
