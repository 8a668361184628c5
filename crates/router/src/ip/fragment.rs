//! Fragmentation of IPv4, and reassembly of either family (RFC 791 §3.2, RFC 8200 §4.5).
//!
//! Reassembly here collects, it does not copy: a complete datagram is its first fragment (with the
//! transport header) and the list of the others, and goes through the packet flow as one packet.
//! On its way out the pieces leave as they came, each rewritten, each split further if it must be.
//! So a 64 KB datagram needs no 64 KB buffer.
//!
//! Never answers: a datagram that runs out of time is handed back for the ICMP error.

use crate::ip::family::Family;
use crate::packet::Packet;
use port::{Frame, Pool, Slab};
use std::collections::{HashMap, VecDeque};
use wire::{Layers, Moment, checksum};

/// Splits the IP packet at `l3` of `frame` into fragments of at most `mtu` bytes and hands each to
/// `emit`, Ethernet header included. Options without the copied flag stay in the first
/// (RFC 791 §3.1). Returns whether all could be made; when the pool runs dry those made are out.
///
/// # Panics
/// If the packet is no valid IPv4 packet: the flow has parsed it.
pub fn split(
    pool: &mut Pool,
    frame: Frame,
    l3: usize,
    mtu: usize,
    emit: impl FnMut(Frame),
) -> bool {
    let slab = pool.slab().clone();
    let whole = split_bytes(pool, slab.bytes(&frame), l3, mtu, emit);
    pool.free(frame);
    whole
}

/// [`split`] of what is in no frame: longer, maybe, than one is.
pub(crate) fn split_bytes(
    pool: &mut Pool,
    bytes: &[u8],
    l3: usize,
    mtu: usize,
    mut emit: impl FnMut(Frame),
) -> bool {
    let slab = pool.slab().clone();
    let header_len = usize::from(bytes[l3] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([bytes[l3 + 2], bytes[l3 + 3]]));
    let field = u16::from_be_bytes([bytes[l3 + 6], bytes[l3 + 7]]);
    let (more, first_offset) = (field & 0x2000, usize::from(field & 0x1fff) * 8);
    let mut whole = true;
    let mut at = header_len;
    while at < total {
        let mut header = [0; 60];
        let this_header = if at == header_len {
            header[..header_len].copy_from_slice(&bytes[l3..l3 + header_len]);
            header_len
        } else {
            copied_options(&bytes[l3..l3 + header_len], &mut header)
        };
        let room = mtu.saturating_sub(this_header) & !7;
        if room == 0 {
            whole = false;
            break;
        }
        let last = total - at <= mtu - this_header;
        let take = if last { total - at } else { room };
        let Some(mut fragment) = pool.alloc(l3 + this_header + take) else {
            whole = false;
            break;
        };
        let offset = first_offset + at - header_len;
        let flags = if last { more } else { 0x2000 };
        header[2..4].copy_from_slice(&((this_header + take) as u16).to_be_bytes());
        header[6..8].copy_from_slice(&(flags | (offset / 8) as u16).to_be_bytes());
        header[10..12].fill(0);
        let sum = checksum::of(&header[..this_header]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        let out = slab.bytes_mut(&mut fragment);
        out[..l3].copy_from_slice(&bytes[..l3]);
        out[l3..l3 + this_header].copy_from_slice(&header[..this_header]);
        out[l3 + this_header..].copy_from_slice(&bytes[l3 + at..l3 + at + take]);
        emit(fragment);
        at += take;
    }
    whole
}

/// Writes the header that later fragments have: the copied options only. Returns its length.
fn copied_options(header: &[u8], out: &mut [u8; 60]) -> usize {
    out[..20].copy_from_slice(&header[..20]);
    let (mut at, mut end) = (20, 20);
    while at < header.len() && header[at] != 0 {
        let len = if header[at] == 1 { 1 } else { header.get(at + 1).map_or(0, |&n| n.into()) };
        if len == 0 || at + len > header.len() {
            break;
        }
        if header[at] & 0x80 != 0 {
            out[end..end + len].copy_from_slice(&header[at..at + len]);
            end += len;
        }
        at += len;
    }
    let padded = end.next_multiple_of(4);
    out[end..padded].fill(0);
    out[0] = 0x40 | (padded / 4) as u8;
    padded
}

/// Copies a datagram that came in pieces into `out`, which is as long as all of it, the first one's
/// headers included; says whether nothing is missing. Lengths and checksum are as in the first one.
pub(crate) fn join(slab: &Slab, p: &Packet, out: &mut [u8]) -> bool {
    let (l3, end) = (usize::from(p.layers.l3), usize::from(p.layers.l3_end));
    let first = &slab.bytes(&p.frame)[..end];
    let Some(room) = out.get_mut(..end) else { return false };
    room.copy_from_slice(first);
    let mut at = end;
    // In the order of their offsets, as they are collected.
    for piece in &p.rest {
        let start = usize::from(piece.layers.l3) + piece.header_len;
        let data = &slab.bytes(&piece.frame)[start..usize::from(piece.layers.l3_end)];
        let Some(room) = out.get_mut(at..at + data.len()) else { return false };
        room.copy_from_slice(data);
        at += data.len();
    }
    at == out.len() && l3 < end
}

/// What tells one datagram's fragments from another's (RFC 791 §3.2, RFC 8200 §4.5): addresses,
/// identification and, of IPv4, protocol.
type Key<A> = (A, A, u32, u8);

/// One datagram in pieces.
#[derive(Debug)]
pub struct Datagram {
    /// The pieces: offset in the datagram's payload, length there, frame, offset of its IP header.
    pub pieces: Vec<Piece>,
    /// The payload's length, known once the last fragment is here.
    total: Option<usize>,
    deadline: Moment,
}

/// One fragment.
#[derive(Debug)]
pub struct Piece {
    /// Where its payload belongs, in bytes.
    pub offset: usize,
    /// Its payload's length.
    pub len: usize,
    /// Its IP header's length.
    pub header_len: usize,
    /// The frame.
    pub frame: Frame,
    /// What parsing it gave.
    pub layers: Layers,
}

/// What became of a fragment.
#[derive(Debug)]
pub enum Collected {
    /// It waits for the others.
    Held,
    /// The datagram is complete: its pieces in order, and its IP total length.
    Complete(Vec<Piece>, u16),
    /// It contradicts the others (overlap, beyond 65,535): all of them are to be dropped.
    Bad(Vec<Piece>),
    /// Too much is kept already: drop this one.
    Full(Frame),
}

/// Datagrams in pieces.
#[derive(Debug)]
pub struct Reassembly<A = u32> {
    datagrams: HashMap<Key<A>, Datagram>,
    /// In the order of their deadlines (the timeout is one constant).
    order: VecDeque<(Moment, Key<A>)>,
    frames: usize,
}

/// The most frames kept, all datagrams together.
const MAX_FRAMES: usize = 1024;

impl<A> Default for Reassembly<A> {
    fn default() -> Reassembly<A> {
        Reassembly { datagrams: HashMap::new(), order: VecDeque::new(), frames: 0 }
    }
}

/// What a fragment says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment<A> {
    pub(crate) key: Key<A>,
    /// Where its payload belongs.
    pub(crate) offset: usize,
    /// Its IP header's length, and of IPv6 that of all headers up to the fragment header's end.
    pub(crate) header_len: usize,
    /// No other one follows.
    pub(crate) last: bool,
}

impl Reassembly {
    /// Takes in a fragment.
    pub fn collect(&mut self, now: Moment, slab: &Slab, frame: Frame, layers: Layers) -> Collected {
        let bytes = slab.bytes(&frame);
        let l3 = usize::from(layers.l3);
        let header_len = usize::from(bytes[l3] & 0x0f) * 4;
        let field = u16::from_be_bytes([bytes[l3 + 6], bytes[l3 + 7]]);
        let id = u16::from_be_bytes([bytes[l3 + 4], bytes[l3 + 5]]);
        let offset = usize::from(field & 0x1fff) * 8;
        let last = field & 0x2000 == 0;
        let tuple = layers.tuple;
        let key = (tuple.src, tuple.dst, u32::from(id), tuple.protocol);
        self.put(now, frame, layers, Fragment { key, offset, header_len, last })
    }
}

impl<A: Family> Reassembly<A> {
    /// Takes in a fragment whose header was read.
    pub(crate) fn put(
        &mut self,
        now: Moment,
        frame: Frame,
        layers: Layers,
        Fragment { key, offset, header_len, last }: Fragment<A>,
    ) -> Collected {
        let len = usize::from(layers.l3_end) - usize::from(layers.l3) - header_len;
        if self.frames >= MAX_FRAMES {
            return Collected::Full(frame);
        }
        let deadline = now + A::PATIENCE;
        let datagram = self.datagrams.entry(key).or_insert_with(|| {
            self.order.push_back((deadline, key));
            Datagram { pieces: Vec::new(), total: None, deadline }
        });
        let end = offset + len;
        // RFC 791: all but the last carry multiples of 8 bytes; RFC 1858, RFC 5722: pieces that
        // overlap are an attack, not an accident.
        let contradiction = end + header_len > 65_535
            || (!last && (len == 0 || len % 8 != 0))
            || datagram.total.is_some_and(|total| end > total || (last && end != total))
            || (last && datagram.pieces.iter().any(|p| p.offset + p.len > end))
            || datagram.pieces.iter().any(|p| offset < p.offset + p.len && p.offset < end);
        let at = datagram.pieces.partition_point(|p| p.offset < offset);
        datagram.pieces.insert(at, Piece { offset, len, header_len, frame, layers });
        self.frames += 1;
        if last {
            datagram.total = Some(end);
        }
        let have: usize = datagram.pieces.iter().map(|p| p.len).sum();
        let complete = datagram.total == Some(have);
        if !contradiction && !complete {
            return Collected::Held;
        }
        let pieces = self.take(key);
        if contradiction {
            return Collected::Bad(pieces);
        }
        let total = have + pieces[0].header_len;
        Collected::Complete(pieces, total.min(65_535) as u16)
    }

    /// The datagrams that ran out of time.
    pub fn expired(&mut self, now: Moment) -> Vec<Vec<Piece>> {
        let mut expired = Vec::new();
        while let Some(&(deadline, key)) = self.order.front() {
            if deadline > now {
                break;
            }
            self.order.pop_front();
            // A completed datagram's key may be in use again: that one has a later deadline.
            if self.datagrams.get(&key).is_some_and(|d| d.deadline == deadline) {
                expired.push(self.take(key));
            }
        }
        expired
    }

    /// Frames kept.
    pub fn frames(&self) -> usize {
        self.frames
    }

    fn take(&mut self, key: Key<A>) -> Vec<Piece> {
        let pieces = self.datagrams.remove(&key).map_or(Vec::new(), |d| d.pieces);
        self.frames -= pieces.len();
        pieces
    }
}
