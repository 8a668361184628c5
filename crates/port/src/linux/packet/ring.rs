//! The receive ring the kernel shares with us (`PACKET_RX_RING`, TPACKET_V2): a place for each frame.
//!
//! ```text
//! place: | tpacket2_hdr 32 | sockaddr_ll 20 | … | virtio's header 10 | frame …     |
//!        ^ status: KERNEL (0) or USER (1)      ^ mac - 10            ^ mac
//! ```
//!
//! A place is ours from the moment its status says USER until we write KERNEL into it; the kernel
//! fills them in turn, and drops when the next one is still ours.

use crate::linux::vnet::{self, Header};
use crate::mapping::Mapping;
use std::sync::atomic::{AtomicU32, Ordering};
use wire::vlan::{Tag, Tci};

// linux/if_packet.h
const USER: u32 = 1;
const COPY: u32 = 1 << 1;
const VLAN_VALID: u32 = 1 << 4;
const VLAN_TPID_VALID: u32 = 1 << 6;
const OUTGOING: u8 = 4;

/// Bytes of a place before the frame: 32 and 20, aligned to 16 with 16 for the link header, virtio's
/// header, and what alignment may add.
const BEFORE: usize = 80 + vnet::LEN;

/// The ring.
pub(super) struct Ring {
    mapping: Mapping,
    /// Bytes of a place.
    place: usize,
    places: usize,
    next: usize,
}

/// What the kernel has put into a place.
#[derive(Debug)]
pub(super) struct Received<'a> {
    /// The frame, or its beginning.
    pub(super) bytes: &'a [u8],
    /// How long it is altogether.
    pub(super) len: usize,
    /// Whether all of it can be read from the socket.
    pub(super) copied: bool,
    pub(super) header: Header,
    /// The tag that the kernel took out.
    pub(super) tag: Option<Tag>,
    /// We, or somebody beside us, have sent it.
    pub(super) outgoing: bool,
}

/// The bytes of a place that holds frames of up to `longest` bytes.
pub(super) fn place_for(longest: usize) -> usize {
    (BEFORE + longest).next_power_of_two().max(2048)
}

impl Ring {
    /// The mapping of `places` of `place` bytes each, both powers of two.
    pub(super) fn new(mapping: Mapping, place: usize, places: usize) -> Ring {
        assert!(place * places <= mapping.len(), "{places} places of {place} bytes");
        Ring { mapping, place, places, next: 0 }
    }

    /// The status of the place whose turn it is.
    #[inline]
    fn status(&self) -> &AtomicU32 {
        // SAFETY: `next` is below `places`, so the place lies in the mapping; it is aligned to 2 KiB,
        // and its first word is only ever read and written as a whole.
        unsafe { &*self.start().cast() }
    }

    #[inline]
    fn start(&self) -> *mut u8 {
        // SAFETY: `next` is below `places`.
        unsafe { self.mapping.base().add(self.next * self.place) }
    }

    /// The next frame, if there is one. It stays until [`done`](Self::done).
    #[inline]
    pub(super) fn peek(&self) -> Option<Received<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & USER == 0 {
            return None;
        }
        // SAFETY: the place is ours since its status says so (read with Acquire), and nobody else
        // writes it until `done`, which needs the ring exclusively.
        let place = unsafe { std::slice::from_raw_parts(self.start(), self.place) };
        let half = |at: usize| u16::from_ne_bytes([place[at], place[at + 1]]);
        let word = |at: usize| {
            u32::from_ne_bytes([place[at], place[at + 1], place[at + 2], place[at + 3]]) as usize
        };
        let (len, kept, mac) = (word(4), word(8), usize::from(half(12)));
        let bytes = place.get(mac..mac + kept).unwrap_or(&[]);
        let header = mac.checked_sub(vnet::LEN).and_then(|at| place.get(at..)?.first_chunk());
        let tpid = if status & VLAN_TPID_VALID != 0 { half(26) } else { 0x8100 };
        let tag = (status & VLAN_VALID != 0).then(|| Tag { tpid, tci: Tci(half(24)) });
        Some(Received {
            bytes,
            len,
            copied: status & COPY != 0,
            header: header.map_or(Header::default(), |bytes| Header::from_bytes(*bytes)),
            tag,
            outgoing: place[32 + 10] == OUTGOING,
        })
    }

    /// Gives the place back to the kernel.
    #[inline]
    pub(super) fn done(&mut self) {
        self.status().store(0, Ordering::Release);
        self.next = if self.next + 1 == self.places { 0 } else { self.next + 1 };
    }
}
