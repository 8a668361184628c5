//! MPLS's label stack (RFC 3032): entries of four bytes between Ethernet and the packet.
//!
//! ```text
//!  0                   20      23 24            32
//! ├────────────────────┼───────┼──┼──────────────┤
//! │ label              │ class │ S│ TTL          │   S: the last one, the packet is behind it
//! ```

use std::num::NonZeroU32;

/// The EtherType of labelled frames.
pub const ETHERTYPE_MPLS: u16 = 0x8847;

/// A label, of 20 bits. (It is kept one higher, so that none at all has a number, too.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(NonZeroU32);

impl Label {
    /// A packet of IPv4 whose label says nothing but its class and TTL.
    pub const EXPLICIT_NULL: Label = Label::of(0);
    /// No label on the wire: who is told it takes the label off.
    pub const IMPLICIT_NULL: Label = Label::of(3);
    /// The first that stands for no meaning of its own.
    pub const FIRST: Label = Label::of(16);
    /// The last one.
    pub const LAST: Label = Label::of(0xf_ffff);

    /// Of 20 bits.
    const fn of(number: u32) -> Label {
        Label(NonZeroU32::MIN.saturating_add(number & 0xf_ffff))
    }

    /// Of a number; `None` above [`LAST`](Self::LAST).
    pub const fn new(number: u32) -> Option<Label> {
        if number <= 0xf_ffff { Some(Label::of(number)) } else { None }
    }

    /// Whether it stands in frames: all do but [`IMPLICIT_NULL`](Self::IMPLICIT_NULL).
    pub fn is_written(self) -> bool {
        self != Label::IMPLICIT_NULL
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// An entry of a label stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The label.
    pub label: Label,
    /// The traffic class (RFC 5462), 0 to 7.
    pub class: u8,
    /// Whether it is the last one.
    pub is_bottom: bool,
    /// How many routers it may still pass.
    pub ttl: u8,
}

impl Entry {
    /// Bytes of one.
    pub const LEN: usize = 4;

    /// Reads one.
    #[inline(always)]
    pub const fn read(bytes: [u8; 4]) -> Entry {
        let word = u32::from_be_bytes(bytes);
        Entry {
            label: Label::of(word >> 12),
            class: (word >> 9) as u8 & 7,
            is_bottom: word & 0x100 != 0,
            ttl: word as u8,
        }
    }

    /// As it stands in a frame.
    #[inline(always)]
    pub const fn bytes(self) -> [u8; 4] {
        let class = (self.class as u32 & 7) << 9;
        let bottom = (self.is_bottom as u32) << 8;
        (self.label.number() << 12 | class | bottom | self.ttl as u32).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (bytes, label, class, is_bottom, ttl) in [
            ([0x00, 0x01, 0x01, 0x40], 16, 0, true, 64),
            ([0xff, 0xff, 0xfe, 0xff], 0xf_ffff, 7, false, 255),
            ([0x00, 0x00, 0x01, 0x00], 0, 0, true, 0),
        ] {
            let entry = Entry { label: Label::new(label).unwrap(), class, is_bottom, ttl };
            assert_eq!(Entry::read(bytes), entry);
            assert_eq!(entry.bytes(), bytes);
        }
        assert_eq!(Label::new(1 << 20), None);
    }
}
