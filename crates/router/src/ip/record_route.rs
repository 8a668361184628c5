//! Record Route, RFC 791's option 7: each router on the way writes its address into the next free
//! place of the list, until it is full.
//!
//! ```text
//! 7 │ length │ pointer │ address 1 │ address 2 │ (free) …
//!                 └─ counts from the option's first byte, 4 at first ──┘
//! ```
//!
//! Packets with options never have a recipe, so each of them comes by here. Never drops: an option
//! that is full or makes no sense goes on as it came. Missing: **timestamps** (option 68); packets
//! with source routes are dropped before.

use super::address;
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::router::Router;
use wire::Ipv4;
use wire::ipv4::option;

/// Writes our address on `out` into a packet's list, if it has one with room.
pub(crate) fn note(r: &mut Router, p: &mut Packet, out: InterfaceId) {
    if !p.layers.options {
        return;
    }
    let Some(own) = address::source(&r.program.addresses, out, p.layers.tuple.dst) else { return };
    stamp(&mut r.io.slab.bytes_mut(&mut p.frame)[usize::from(p.layers.l3)..], own);
}

/// Writes an address into the list of an IPv4 packet, and the header's checksum; whether it did.
fn stamp(packet: &mut [u8], own: u32) -> bool {
    let Ok(ip) = Ipv4::new(&*packet) else { return false };
    let end = ip.header_len();
    let mut at = 20;
    while at < end {
        let length = match (packet[at], packet.get(at + 1)) {
            (option::END, _) => return false,
            (option::NOP, _) => 1,
            (_, Some(&length)) if length >= 2 && at + usize::from(length) <= end => {
                usize::from(length)
            }
            _ => return false,
        };
        if packet[at] == option::RECORD_ROUTE && length >= 3 {
            let pointer = usize::from(packet[at + 2]);
            if pointer < 4 || pointer + 3 > length {
                return false;
            }
            packet[at + pointer - 1..][..4].copy_from_slice(&own.to_be_bytes());
            packet[at + 2] += 4;
            if let Ok(mut ip) = Ipv4::new(packet) {
                ip.fill_checksum();
            }
            return true;
        }
        at += length;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::checksum;

    /// (options before, options behind, as the list is on the way through 10.0.0.1).
    const CASES: &[(&[u8], &[u8])] = &[
        // Two places, both free; the second; none.
        (&[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[7, 11, 8, 10, 0, 0, 1, 0, 0, 0, 0, 0]),
        (&[7, 11, 8, 1, 1, 1, 1, 0, 0, 0, 0, 0], &[7, 11, 12, 1, 1, 1, 1, 10, 0, 0, 1, 0]),
        (&[7, 11, 12, 1, 1, 1, 1, 2, 2, 2, 2, 0], &[7, 11, 12, 1, 1, 1, 1, 2, 2, 2, 2, 0]),
        // Behind another option and a blank.
        (&[148, 4, 0, 0, 1, 7, 7, 4, 0, 0, 0, 0], &[148, 4, 0, 0, 1, 7, 7, 8, 10, 0, 0, 1]),
        // What makes no sense stays: a place outside of the list, a length beyond the header, zero.
        (&[7, 7, 0, 0, 0, 0, 0, 0], &[7, 7, 0, 0, 0, 0, 0, 0]),
        (&[7, 7, 5, 0, 0, 0, 0, 0], &[7, 7, 5, 0, 0, 0, 0, 0]),
        (&[7, 40, 4, 0, 0, 0, 0, 0], &[7, 40, 4, 0, 0, 0, 0, 0]),
        (&[7, 0, 4, 0], &[7, 0, 4, 0]),
        (&[0, 7, 7, 4, 0, 0, 0, 0], &[0, 7, 7, 4, 0, 0, 0, 0]),
        (&[], &[]),
    ];

    #[test]
    fn addresses_are_written_where_there_is_room() {
        for (before, behind) in CASES {
            let length = 20 + before.len();
            let mut packet = vec![0x45 + (before.len() / 4) as u8, 0, 0, length as u8];
            packet.extend([0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 2, 10, 0, 1, 2]);
            packet.extend_from_slice(before);
            Ipv4::new(&mut packet[..]).unwrap().fill_checksum();
            let written = stamp(&mut packet, 0x0a00_0001);
            assert_eq!((&packet[20..], written), (*behind, before != behind), "{before:?}");
            assert!(checksum::is_ok(&packet), "{before:?}");
        }
    }
}
