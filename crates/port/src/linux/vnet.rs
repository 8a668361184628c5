//! Virtio's header, by which the kernel says in front of a frame what is left to do to it
//! (`linux/virtio_net.h`, VIRTIO 1.2 §5.1.6), as TAP and AF_PACKET use it.
//!
//! ```text
//! | flags 1 | gso type 1 | header length 2 | segment size 2 | checksum start 2 | its field 2 | frame …
//! ```
//!
//! Whoever is at the other end of a TAP interface may say anything here. What cannot be is refused;
//! a partial checksum that is neither TCP's nor UDP's is completed at once, as the header says; a
//! super-frame that does not fit a slot of the slab is cut at once. So an
//! [offload note](wire::Offload) is always true of its frame.

use crate::slab::HEADROOM;
use crate::{Batch, Frame, Pool, PortCounters};
use std::collections::VecDeque;
use wire::checksum;
use wire::layers::Malformed;
use wire::segment::{Large, Offload};

/// Bytes of the header.
pub(super) const LEN: usize = 10;

/// Bytes of the longest frame there is: an IP packet of 65,535, an Ethernet header, two tags.
pub(super) const LONGEST: usize = 65_535 + 14 + 8;

/// What came of looking for a frame.
pub(super) enum Taken {
    /// One, with a note if something is left to do.
    Frame(Frame),
    /// So many were lost (none, if it was nobody's, or its segments wait).
    Lost(u64),
    /// None is there, or no slot for it.
    Nothing,
}

/// Fills a batch with what `take` finds; what it was, in the counters of a receiver.
#[inline]
pub(super) fn receive(batch: &mut Batch, mut take: impl FnMut() -> Taken) -> PortCounters {
    let mut got = PortCounters::default();
    while batch.room() > 0 {
        match take() {
            Taken::Frame(frame) => {
                got.rx_packet += 1;
                got.rx_byte += frame.len() as u64;
                batch.push(frame);
            }
            Taken::Lost(n) => got.rx_drop += n,
            Taken::Nothing => break,
        }
    }
    got
}

const NEEDS_CHECKSUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// A bit beside the type: the segment has CWR set.
const ECN: u8 = 0x80;

/// Where the checksum stands in a transport header.
const TCP_FIELD: u16 = 16;
const UDP_FIELD: u16 = 6;

/// The header, in the machine's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    flags: u8,
    gso: u8,
    header_len: u16,
    size: u16,
    pub(super) start: u16,
    field: u16,
}

impl Header {
    /// Of its bytes.
    #[inline]
    pub(super) fn from_bytes(bytes: [u8; LEN]) -> Header {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let [flags, gso, ..] = bytes;
        Header { flags, gso, header_len: word(2), size: word(4), start: word(6), field: word(8) }
    }

    /// Its bytes.
    #[inline]
    pub(super) fn to_bytes(self) -> [u8; LEN] {
        let [[a, b], [c, d], [e, f], [g, h]] =
            [self.header_len, self.size, self.start, self.field].map(u16::to_ne_bytes);
        [self.flags, self.gso, a, b, c, d, e, f, g, h]
    }

    /// What is to be said of a frame.
    pub(super) fn of(frame: &[u8], offload: Option<Offload>) -> Header {
        let Some(offload) = offload else { return Header::default() };
        let field = if offload.tcp { TCP_FIELD } else { UDP_FIELD };
        let partial =
            Header { flags: NEEDS_CHECKSUM, start: offload.l4, field, ..Header::default() };
        let Some(large) = Large::new(frame, offload) else { return partial };
        let cwr = frame.get(usize::from(offload.l4) + 13).is_some_and(|flags| flags & 0x80 != 0);
        let gso = match (offload.tcp, large.is_ipv6()) {
            (false, _) => UDP,
            (true, false) => TCP_V4 | if cwr { ECN } else { 0 },
            (true, true) => TCP_V6 | if cwr { ECN } else { 0 },
        };
        Header { gso, header_len: large.header_len() as u16, size: offload.segment, ..partial }
    }

    /// What is left to do to the frame, if anything is; what a note cannot say is done here.
    ///
    /// # Errors
    /// [`Malformed`]: what the header says cannot be true of the frame.
    #[inline]
    pub(super) fn read(self, frame: &mut [u8]) -> Result<Option<Offload>, Malformed> {
        if self.flags & NEEDS_CHECKSUM == 0 && self.gso == 0 {
            return Ok(None);
        }
        self.believe(frame)
    }

    fn believe(self, frame: &mut [u8]) -> Result<Option<Offload>, Malformed> {
        let (gso, start) = (self.gso & !ECN, usize::from(self.start));
        let size = if gso == 0 { 0 } else { self.size };
        let offload = Offload::of(frame, start, size)
            .ok()
            .filter(|offload| self.field == if offload.tcp { TCP_FIELD } else { UDP_FIELD });
        if gso == 0 {
            if offload.is_none() {
                complete(frame, start, start + usize::from(self.field))?;
            }
            return Ok(offload);
        }
        let offload = offload.ok_or(Malformed::Transport)?;
        let fits = match gso {
            TCP_V4 | TCP_V6 => offload.tcp,
            UDP => !offload.tcp,
            _ => false, // UFO, which nobody was offered
        };
        let partial = self.flags & NEEDS_CHECKSUM != 0;
        if fits && partial && size != 0 { Ok(Some(offload)) } else { Err(Malformed::Transport) }
    }
}

/// Writes the checksum of any protocol: what stands from `start` to the end, at `field`.
fn complete(frame: &mut [u8], start: usize, field: usize) -> Result<(), Malformed> {
    let covered = frame.get(start..).ok_or(Malformed::Transport)?;
    let sum = checksum::of(covered);
    let sum = if sum == 0 { 0xffff } else { sum };
    let place = frame.get_mut(field..field + 2).ok_or(Malformed::Transport)?;
    place.copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// A frame of as many bytes as a slot can take, to be read into.
#[inline]
pub(super) fn empty(pool: &mut Pool) -> Option<Frame> {
    let mut frame = pool.alloc(0)?;
    let room = pool.slab().slots().stride() - usize::from(HEADROOM);
    let whole = pool.slab().set_len(&mut frame, room.min(LONGEST));
    debug_assert!(whole, "a fresh frame has all its slot");
    Some(frame)
}

/// Puts what the header says on a frame that lies in its slot; no if it cannot be true.
#[inline]
pub(super) fn note(pool: &Pool, frame: &mut Frame, header: Header) -> bool {
    match header.read(pool.slab().bytes_mut(frame)) {
        Ok(None) => true,
        Ok(Some(offload)) => {
            pool.slab().set_offload(frame, offload);
            true
        }
        Err(_) => false,
    }
}

/// Cuts a super-frame that is too long for a slot; returns how many frames are lost: this one, if it
/// is none, or segments for which there was no slot.
pub(super) fn cut(
    bytes: &mut [u8],
    header: Header,
    pool: &mut Pool,
    out: &mut VecDeque<Frame>,
) -> u64 {
    let Ok(Some(offload)) = header.read(bytes) else { return 1 };
    let Some(large) = Large::new(bytes, offload) else { return 1 };
    for n in 0..large.len() {
        let Some(mut segment) = pool.alloc(large.segment_len(n)) else {
            return (large.len() - n) as u64;
        };
        large.write(n, pool.slab().bytes_mut(&mut segment));
        out.push_back(segment);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slab;
    use proptest::prelude::*;
    use wire::craft::{self, ip};

    fn datagram(payload: &[u8]) -> Vec<u8> {
        let frame = craft::udp(ip(10, 0, 0, 1), 1, ip(10, 0, 0, 2), 2);
        craft::Frame { payload, ..frame }.build()
    }

    #[test]
    fn what_is_said_is_read_again() {
        let mut frame = datagram(&[7; 3000]);
        for size in [0, 1000] {
            let offload = Offload::of(&frame, 34, size).unwrap();
            let header = Header::of(&frame, Some(offload));
            assert_eq!(Header::from_bytes(header.to_bytes()), header);
            assert_eq!(header.read(&mut frame), Ok(Some(offload)));
        }
        assert_eq!(Header::of(&frame, None).read(&mut frame), Ok(None));
    }

    #[test]
    fn a_checksum_of_another_protocol_is_completed() {
        let mut frame = craft::ping(1, 2).build();
        let right = frame.clone();
        frame[36..38].fill(0);
        let header = Header { flags: NEEDS_CHECKSUM, start: 34, field: 2, ..Header::default() };
        assert_eq!(header.read(&mut frame), Ok(None));
        assert_eq!(frame, right);
    }

    #[test]
    fn what_does_not_fit_a_slot_is_cut() {
        let slab = Slab::new(64).unwrap();
        let (mut pool, mut out) = (slab.pool(), VecDeque::new());
        let mut frame = datagram(&[7; 9000]);
        let header = Header::of(&frame, Some(Offload::of(&frame, 34, 1000).unwrap()));
        assert_eq!(cut(&mut frame, header, &mut pool, &mut out), 0);
        assert_eq!(out.iter().map(Frame::len).collect::<Vec<_>>(), [1042; 9]);
        // 55 slots are left; the 60 segments of this one do not all fit, and are counted.
        let mut frame = datagram(&[7; 60_000]);
        let header = Header::of(&frame, Some(Offload::of(&frame, 34, 1000).unwrap()));
        assert_eq!(cut(&mut frame, header, &mut pool, &mut out), 5);
        assert_eq!(cut(&mut frame, Header::default(), &mut pool, &mut out), 1, "no super-frame");
    }

    proptest! {
        /// Whatever a program says of whatever bytes.
        #[test]
        fn nothing_panics(
            bytes: [u8; LEN],
            likely in any::<bool>(),
            len in 0..3000usize,
            damage in prop::collection::vec((0..60usize, any::<u8>()), 0..4),
        ) {
            let mut frame = datagram(&vec![1; len]);
            for (at, byte) in damage {
                if let Some(at) = frame.get_mut(at) {
                    *at = byte;
                }
            }
            let mut header = Header::from_bytes(bytes);
            if likely {
                header = Header { flags: 1, gso: header.gso % 8, start: 34, field: 6, ..header };
            }
            if let Ok(Some(offload)) = header.read(&mut frame) {
                prop_assert!(usize::from(offload.l4) < frame.len());
                if let Some(large) = Large::new(&frame, offload) {
                    prop_assert!(large.len() <= wire::segment::MAX_SEGMENTS);
                }
            }
        }
    }
}
