//! Offload notes: what is left to do to a frame, kept in front of it.
//!
//! ```text
//! | note 8 | headroom … | frame bytes …
//! ^ slot     the note names the transport header's place in the slot, so it stays true
//!            while headers come off and on; `push` leaves it alone
//! ```
//!
//! One bit of the frame's handle says whether there is a note: whoever does not care pays for a
//! test of a bit. A note goes wherever its frame goes, and ends with it.

use super::{Frame, OFFLOAD, Pool, Slab};
use wire::Offload;

/// Bytes of headroom that a note takes.
pub(super) const NOTE: usize = 8;

impl Frame {
    /// Whether there is a note: part of its work is still to be done.
    #[inline(always)]
    pub fn has_offload(&self) -> bool {
        self.0 & OFFLOAD != 0
    }

    /// Takes the note off: the work is done.
    #[inline]
    pub fn clear_offload(&mut self) {
        self.0 &= !OFFLOAD;
    }
}

impl Slab {
    /// What is left to do to the frame, if anything is.
    ///
    /// # Panics
    /// If the frame belongs to another slab.
    #[inline]
    pub fn offload(&self, frame: &Frame) -> Option<Offload> {
        if !frame.has_offload() {
            return None;
        }
        let &[a, b, c, d, tcp, ..] = self.note(frame);
        // A header that was taken off the front cannot have been the transport header's.
        let l4 = u16::from_ne_bytes([a, b]).checked_sub(frame.off())?;
        Some(Offload { l4, segment: u16::from_ne_bytes([c, d]), tcp: tcp != 0 })
    }

    /// Notes what is left to do to the frame.
    ///
    /// # Panics
    /// If the frame belongs to another slab, or has less than eight bytes of headroom.
    pub fn set_offload(&self, frame: &mut Frame, offload: Offload) {
        assert!(usize::from(frame.off()) >= NOTE, "no headroom for a note: {frame:?}");
        let [a, b] = frame.off().saturating_add(offload.l4).to_ne_bytes();
        let [c, d] = offload.segment.to_ne_bytes();
        *self.note_mut(frame) = [a, b, c, d, u8::from(offload.tcp), 0, 0, 0];
        frame.0 |= OFFLOAD;
    }

    fn note<'a>(&'a self, frame: &'a Frame) -> &'a [u8; NOTE] {
        let start = self.start(frame);
        // SAFETY: a frame with a note begins at least `NOTE` bytes behind its slot's beginning
        // (`set_offload` asks, `push` keeps it), the bytes are initialised, and the shared borrow of
        // the one `Frame` that names the slot keeps writers away.
        unsafe { &*start.sub(usize::from(frame.off())).cast() }
    }

    #[allow(clippy::mut_from_ref)] // the exclusive borrow is the frame's, not the slab's
    fn note_mut<'a>(&'a self, frame: &'a mut Frame) -> &'a mut [u8; NOTE] {
        let start = self.start(frame);
        // SAFETY: as in `note`, and the exclusive borrow of the `Frame` keeps everybody away.
        unsafe { &mut *start.sub(usize::from(frame.off())).cast() }
    }
}

impl Pool {
    /// A second frame with the same bytes, and the same left to do; `None` when the slab is
    /// exhausted.
    ///
    /// # Panics
    /// If the frame belongs to another slab.
    pub fn copy(&mut self, frame: &Frame) -> Option<Frame> {
        let mut copy = self.alloc(0)?;
        if !self.slab.set_len(&mut copy, frame.len()) {
            self.free(copy);
            return None;
        }
        self.slab.bytes_mut(&mut copy).copy_from_slice(self.slab.bytes(frame));
        if let Some(offload) = self.slab.offload(frame) {
            self.slab.set_offload(&mut copy, offload);
        }
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_follows_its_frame() {
        let slab = Slab::new(64).unwrap();
        let mut pool = slab.pool();
        let mut frame = pool.alloc(100).unwrap();
        assert_eq!(slab.offload(&frame), None);
        let offload = Offload { l4: 34, segment: 1448, tcp: true };
        slab.set_offload(&mut frame, offload);
        let slot = frame.slot();
        // A tag comes off, a longer header goes on: the transport header stays where it is.
        frame.pull(4);
        assert_eq!(slab.offload(&frame), Some(Offload { l4: 30, ..offload }));
        assert!(slab.push(&mut frame, 20));
        assert_eq!(slab.offload(&frame), Some(Offload { l4: 50, ..offload }));
        // All the headroom there is, but for the note.
        let room = usize::from(super::super::HEADROOM) + 4 - 20;
        assert!(!slab.push(&mut frame, room - NOTE + 1) && slab.push(&mut frame, room - NOTE));
        slab.bytes_mut(&mut frame).fill(0xee);
        let l4 = 34 + 128 - NOTE as u16;
        assert_eq!(slab.offload(&frame), Some(Offload { l4, ..offload }));
        let copy = pool.copy(&frame).unwrap();
        assert_eq!(slab.offload(&copy), slab.offload(&frame));
        assert_eq!((slab.bytes(&copy), frame.slot()), (slab.bytes(&frame), slot));
        frame.clear_offload();
        assert!(slab.offload(&frame).is_none() && slab.push(&mut frame, NOTE));
        pool.free(frame);
        pool.free(copy);
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
    }

    #[test]
    fn a_slot_freed_with_a_note_comes_back_without() {
        let slab = Slab::new(1).unwrap();
        let mut pool = slab.pool();
        let mut frame = pool.alloc(60).unwrap();
        slab.set_offload(&mut frame, Offload { l4: 34, segment: 0, tcp: false });
        pool.free(frame);
        assert!(!pool.alloc(60).unwrap().has_offload());
    }
}
