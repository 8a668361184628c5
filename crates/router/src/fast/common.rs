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
use port::{Batch, Frame};
use wire::MacAddr;

/// The untagged header's length, and those with one and two tags: what the loops are made for.
pub(super) const UNTAGGED: usize = 14;
pub(super) const TAGGED: usize = 18;
pub(super) const TWICE_TAGGED: usize = 22;
/// Those of a PPPoE session, without a tag and with one.
pub(super) const IN_SESSION: usize = SESSION | 22;
pub(super) const IN_TAGGED_SESSION: usize = SESSION | 26;
/// The bit in such a number that says so; without it, it is the header's length.
const SESSION: usize = 0x100;

/// How long such a header is.
#[inline(always)]
pub(super) const fn len_of(header: usize) -> usize {
    header & !SESSION
}

/// The EtherType at its end, or PPP's protocol, and how an IPv4 header without options begins.
#[inline(always)]
pub(super) const fn before_ip(header: usize) -> [u8; 3] {
    if header & SESSION == 0 { [0x08, 0x00, 0x45] } else { [0x00, 0x21, 0x45] }
}

/// Where a packet's IP header begins, and what it came through.
#[derive(Clone, Copy, Default)]
pub(super) struct Came {
    pub(super) l3: u8,
    /// By a PPPoE session.
    in_session: bool,
    pub(super) ingress: IngressId,
}

impl Came {
    /// By nothing that is known.
    pub(super) const UNKNOWN: Came =
        Came { l3: UNTAGGED as u8, in_session: false, ingress: IngressId::NONE };

    /// By an ingress, with the IP header at `l3`.
    #[inline(always)]
    pub(super) fn by(known: &Ingress, l3: usize) -> Came {
        Came { l3: l3 as u8, in_session: known.peer.is_some(), ingress: known.id }
    }

    /// Whether IPv6 is behind it.
    #[inline(always)]
    pub(super) fn is_before_ipv6(self, frame: &[u8]) -> bool {
        let l3 = usize::from(self.l3);
        let says = if self.in_session { [0x00, 0x57] } else { [0x86, 0xdd] };
        frame.get(l3 - 2..l3) == Some(&says)
    }

    /// What its header is like.
    #[inline(always)]
    pub(super) fn header(self) -> usize {
        usize::from(self.l3) | if self.in_session { SESSION } else { 0 }
    }
}

/// What most frames of a batch are like.
#[derive(Clone, Copy)]
pub(super) struct Common {
    /// Type and VLAN of up to two tags, without their priorities.
    tags: [u32; 2],
    /// PPPoE's header up to its length, and whom it is from.
    session: [u8; 6],
    peer: MacAddr,
    pub(super) mac: MacAddr,
    pub(super) came: Came,
}

impl Common {
    /// Nothing is known: no frame has these tags, whose priority was not taken out.
    const NONE: Common = Common {
        tags: [u32::MAX; 2],
        session: [0; 6],
        peer: MacAddr([0; 6]),
        mac: MacAddr([0; 6]),
        came: Came { l3: TAGGED as u8, in_session: false, ingress: IngressId::NONE },
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

    /// Whether the first frame is one of IPv6: most often all are then.
    #[inline(always)]
    pub(super) fn begins_ipv6(&self, r: &Router, batch: &Batch) -> bool {
        let first = batch.as_slice().first();
        first.is_some_and(|frame| self.came.is_before_ipv6(r.io.slab.bytes(frame)))
    }

    /// Of the tags of a frame with its IP header at `l3`.
    pub(super) fn new(frame: &[u8], l3: usize, known: &Ingress) -> Common {
        let tag = |at: usize| frame.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, tag);
        let tags = [12, 16].map(|at| if at + 2 < l3 { tag(at) } else { 0 });
        let session = known.peer.and_then(|_| frame.get(l3 - 10..)?.first_chunk().copied());
        Common {
            tags,
            session: session.unwrap_or_default(),
            peer: known.peer.unwrap_or_default(),
            mac: known.mac,
            came: Came::by(known, l3),
        }
    }

    /// Whether a frame is for the same address, by the same tags, and from one host.
    #[inline(always)]
    pub(super) fn is_alike(&self, frame: &[u8]) -> bool {
        let tags = match usize::from(self.came.l3) {
            UNTAGGED => true,
            TAGGED => self.has_tags::<TAGGED>(frame),
            TWICE_TAGGED => self.has_tags::<TWICE_TAGGED>(frame),
            _ => false,
        };
        tags && !self.came.in_session
            && frame
                .first_chunk::<7>()
                .is_some_and(|macs| macs[..6] == self.mac.0 && macs[6] & 1 == 0)
    }

    /// Whether a frame has the same tags, and is of the same session. That what follows them is IPv4 is
    /// for the caller to see.
    #[inline(always)]
    pub(super) fn has_tags<const HEADER: usize>(&self, frame: &[u8]) -> bool {
        if HEADER & SESSION != 0 {
            return self.is_in_session::<HEADER>(frame);
        }
        let same = |at: usize, n: usize| {
            frame
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .is_some_and(|c| tag(c) == self.tags[n])
        };
        (HEADER < TAGGED || same(12, 0)) && (HEADER < TWICE_TAGGED || same(16, 1))
    }

    /// Whether a frame is of the same session, and nothing is behind it.
    #[inline(always)]
    fn is_in_session<const HEADER: usize>(&self, frame: &[u8]) -> bool {
        let l3 = len_of(HEADER);
        let Some(head) = frame.get(..l3) else { return false };
        let is_tagged = HEADER != IN_SESSION;
        let tags = head[12..].first_chunk().map_or(0, tag);
        let carried = usize::from(u16::from_be_bytes([head[l3 - 4], head[l3 - 3]]));
        head[6..12] == self.peer.0
            && head[l3 - 10..l3 - 4] == self.session
            && carried == frame.len() + 2 - l3
            && (!is_tagged || tags == self.tags[0])
    }
}

/// A tag's type and VLAN.
#[inline(always)]
fn tag(bytes: &[u8; 4]) -> u32 {
    u32::from_be_bytes(*bytes) & 0xffff_0fff
}

/// Asks for the bytes of a batch's frames, but for those that were taken out of others just now.
#[inline(always)]
pub(super) fn prefetch(r: &Router, batch: &Batch) {
    if r.link.depth == 0 {
        batch.as_slice().iter().for_each(|frame| r.io.slab.prefetch(frame));
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
            // What is of a session keeps its tag, by which the slow path counts it.
            let is_ip = matches!(slab.bytes(frame).get(16..18), Some([0x08, 0x00] | [0x86, 0xdd]));
            let is_for_it =
                is_ip && slab.bytes(frame).starts_with(&known.mac.0) && known.learns.is_none();
            let is_taken_off = is_for_it && !self.is_slave && priority::take_off(slab, frame);
            let came = Came::by(known, UNTAGGED);
            return is_taken_off.then_some((known.mac, came));
        };
        let known = self.r.learnt.ingresses.find_again(arrival, &mut self.last)?;
        let is_its = known.learns.is_none() && known.takes(slab.bytes(frame), l3);
        is_its.then_some((known.mac, Came::by(known, l3)))
    }
}
