//! The 802.1Q tag: what it says, and putting it on and taking it off in place.
//!
//! ```text
//! | destination 6 | source 6 | TPID 2 | TCI 2 | EtherType 2 | …
//!                              ^ four bytes that push() makes room for and pop() takes away
//!                                TCI = priority 3 | DEI 1 | VLAN id 12
//! ```
//!
//! Both move the twelve address bytes rather than the payload, so a frame grows and shrinks at
//! its front, where the frame pool keeps headroom.

use crate::bytes::{be16, put};
use crate::ethernet::is_tag;

/// Length of a tag.
pub const TAG_LEN: usize = 4;

/// Tag control information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tci(pub u16);

impl Tci {
    /// A tag with VLAN `id` and `priority`; only their low 12 and 3 bits are kept.
    pub const fn new(id: u16, priority: u8) -> Tci {
        Tci((priority as u16 & 7) << 13 | id & 0xfff)
    }

    /// VLAN identifier, 0 to 4095; 0 means "priority only".
    pub const fn id(self) -> u16 {
        self.0 & 0xfff
    }

    /// Priority code point, 0 to 7.
    pub const fn priority(self) -> u8 {
        (self.0 >> 13) as u8
    }

    /// Drop eligible indicator.
    pub const fn drop_eligible(self) -> bool {
        self.0 & 0x1000 != 0
    }
}

/// A frame's outermost tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Tag protocol identifier: 0x8100, 0x88a8 for a service tag, or 0x9100.
    pub tpid: u16,
    /// What it says.
    pub tci: Tci,
}

impl Tag {
    /// The outermost tag of `frame`; `None` if there is none, or it is cut off (a tag counts as
    /// whole only if an EtherType follows it).
    #[inline]
    pub fn of(frame: &[u8]) -> Option<Tag> {
        let header = frame.first_chunk::<18>()?;
        let tpid = be16(header, 12);
        is_tag(tpid).then(|| Tag { tpid, tci: Tci(be16(header, 14)) })
    }
}

/// Tags a frame that begins at `room[4..]`; afterwards it begins at `room[0]`.
///
/// Returns false, and does nothing, if there is no Ethernet header in there.
#[inline]
#[must_use]
pub fn push(room: &mut [u8], tag: Tag) -> bool {
    let Some(head) = room.first_chunk_mut::<{ TAG_LEN + 14 }>() else { return false };
    let [_, _, _, _, ref addresses @ .., _, _] = *head;
    let addresses: [u8; 12] = *addresses; // two words: a call to move them would cost more
    head[..12].copy_from_slice(&addresses);
    put(head, 12, tag.tpid.to_be_bytes());
    put(head, 14, tag.tci.0.to_be_bytes());
    true
}

/// Takes the outermost tag off; the frame then begins at `frame[4]`. `None`, and nothing is
/// changed, if it has none.
#[inline]
#[must_use]
pub fn pop(frame: &mut [u8]) -> Option<Tag> {
    let tag = Tag::of(frame)?;
    let head = frame.first_chunk_mut::<{ TAG_LEN + 12 }>()?;
    let [ref addresses @ .., _, _, _, _] = *head;
    let addresses: [u8; 12] = *addresses;
    head[TAG_LEN..].copy_from_slice(&addresses);
    Some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::ETHERTYPE_VLAN;

    const UNTAGGED: &[u8; 20] = b"....DDDDDDSSSSSS\x08\x00IP";
    const TAGGED: &[u8; 20] = b"DDDDDDSSSSSS\x81\x00\xa0\x0a\x08\x00IP";
    const TAG: Tag = Tag { tpid: ETHERTYPE_VLAN, tci: Tci::new(10, 5) };

    #[test]
    fn on_and_off() {
        let mut room = *UNTAGGED;
        assert!(push(&mut room, TAG));
        assert_eq!(&room, TAGGED);
        assert_eq!(Tag::of(&room), Some(TAG));
        assert_eq!(pop(&mut room), Some(TAG));
        assert_eq!(room[4..], UNTAGGED[4..]);
        assert_eq!(pop(&mut room[4..]), None, "only one tag was there");
    }

    #[test]
    fn what_it_says() {
        let tci = Tci(0xb00a);
        assert_eq!((tci.id(), tci.priority(), tci.drop_eligible()), (10, 5, true));
        assert_eq!(Tci::new(0xffff, 0xff), Tci(0xefff));
    }

    #[test]
    fn cut_off() {
        for len in 0..18 {
            assert_eq!(pop(&mut { *TAGGED }[..len]), None, "{len} bytes");
            assert!(!push(&mut { *UNTAGGED }[..len], TAG), "{len} bytes");
        }
    }
}
