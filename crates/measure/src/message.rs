//! Messages of devices that must not be taken for a test frame: ARP, and ICMP errors about
//! one.
//!
//! ```text
//!  | Ethernet, tags | IPv4 | ICMP error | the IPv4 packet it is about … trailer |
//!                                         └ as much as there is room for: a short one whole
//! ```
//!
//! An error quotes the packet that could not be delivered (RFC 1812 §4.3.2.3, RFC 4443 §2.4 (c)), and
//! so ends as a test frame ends, its trailer good. The end of an ARP message, of which nothing but
//! addresses is left where nobody pads it, may look like a damaged trailer. Looked at only where a
//! frame is not what was expected: streams that are themselves such messages are counted before.
//!
//! Missing: **errors inside tunnels and MPLS**, **IPv6 extension headers in front of an error**,
//! **answers to echo requests** (they differ in one field from what was sent).

use wire::layers::{ETHERTYPE_IPV4, protocol};

const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// VLAN tags: IEEE 802.1Q's and 802.1ad's.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const ICMPV6: u8 = 58;
/// ARP of IPv4 over Ethernet (RFC 826).
const ARP: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP_LEN: usize = 28;

/// What a frame is by its headers: EtherType, and of IP what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(u16, u8);

impl Kind {
    /// Of a frame; zeros of one that ends before.
    pub(crate) fn of(frame: &[u8]) -> Kind {
        let ethertype = u16_at(frame, 12).unwrap_or(0);
        let at = match ethertype {
            ETHERTYPE_IPV4 => 14 + 9,
            ETHERTYPE_IPV6 => 14 + 6,
            _ => return Kind(ethertype, 0),
        };
        Kind(ethertype, frame.get(at).copied().unwrap_or(0))
    }
}

/// Whether a frame is an ARP message, with nothing behind it, or an ICMP error that quotes a packet.
pub(crate) fn is_message(frame: &[u8]) -> bool {
    let mut at = 12;
    while u16_at(frame, at).is_some_and(|ethertype| TAGS.contains(&ethertype)) {
        at += 4;
    }
    let (ethertype, packet) = (u16_at(frame, at), frame.get(at + 2..).unwrap_or_default());
    match ethertype {
        Some(ETHERTYPE_ARP) => {
            let padding = packet.get(ARP_LEN..);
            packet.starts_with(&ARP) && padding.is_some_and(|all| all.iter().all(|byte| *byte == 0))
        }
        Some(ETHERTYPE_IPV4) => is_error_v4(packet),
        Some(ETHERTYPE_IPV6) => is_error_v6(packet),
        _ => false,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*word))
}

/// Destination unreachable, source quench, redirect, time exceeded, parameter problem (RFC 792).
fn is_error_v4(packet: &[u8]) -> bool {
    let Some(header) = packet.first_chunk::<20>() else { return false };
    let icmp = packet.get(usize::from(header[0] & 0xf) * 4..).unwrap_or_default();
    let is_error = matches!(icmp.first(), Some(3 | 4 | 5 | 11 | 12));
    // What is quoted begins with an IPv4 header.
    let quotes = icmp.get(8).is_some_and(|byte| byte >> 4 == 4 && byte & 0xf >= 5);
    header[0] >> 4 == 4 && header[9] == protocol::ICMP && is_error && quotes
}

/// Types below 128 (RFC 4443 §2.1); those that are in use.
fn is_error_v6(packet: &[u8]) -> bool {
    let Some((header, icmp)) = packet.split_first_chunk::<40>() else { return false };
    let quotes = icmp.get(8).is_some_and(|byte| byte >> 4 == 6);
    header[0] >> 4 == 6 && header[6] == ICMPV6 && matches!(icmp.first(), Some(1..=4)) && quotes
}

/// An ICMP error about this frame, as a router sends it back: of type 3 or 11, or of ICMPv6 1 or 3.
#[cfg(test)]
pub(crate) fn error_about(frame: &[u8], kind: u8) -> Vec<u8> {
    let is_v4 = frame[12..14] == [8, 0];
    let (macs, packet) = ([&frame[6..12], &frame[..6], &frame[12..14]].concat(), &frame[14..]);
    let icmp = [&[kind, 0, 0, 0, 0, 0, 0, 0], packet].concat();
    let mut header = vec![0; if is_v4 { 20 } else { 40 }];
    if is_v4 {
        header[0] = 0x45;
        header[2..4].copy_from_slice(&(20 + icmp.len() as u16).to_be_bytes());
        (header[8], header[9]) = (64, protocol::ICMP);
        header[12..16].copy_from_slice(&packet[16..20]);
        header[16..20].copy_from_slice(&packet[12..16]);
        let sum = wire::checksum::ipv4_header(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        header[0] = 0x60;
        header[4..6].copy_from_slice(&(icmp.len() as u16).to_be_bytes());
        (header[6], header[7]) = (ICMPV6, 64);
        header[8..24].copy_from_slice(&packet[24..40]);
        header[24..40].copy_from_slice(&packet[8..24]);
    }
    [macs, header, icmp].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::arp::ArpMessage;
    use wire::{MacAddr, craft};

    #[test]
    fn errors_and_arp_and_nothing_else() {
        let udp = craft::Frame { payload: &[0xa5; 18], ..craft::udp(1, 2, 3, 4) }.build();
        let mut v6 = vec![0; 14 + 40 + 8];
        v6[12..14].copy_from_slice(&[0x86, 0xdd]);
        (v6[14], v6[20]) = (0x60, 17);
        let mut arp = craft::arp(ArpMessage::request(MacAddr([2; 6]), 1, 2)).build();
        arp.truncate(14 + ARP_LEN);
        let padded = |bytes: &[u8], with: u8| [bytes, &[with; 18]].concat();
        let tagged = |bytes: &[u8]| {
            [&bytes[..12], &[0x81, 0, 0, 7, 0x88, 0xa8, 0, 9], &bytes[12..]].concat()
        };
        let cases = [
            ("port unreachable", error_about(&udp, 3), true),
            ("time exceeded", error_about(&udp, 11), true),
            ("in two VLANs", tagged(&error_about(&udp, 11)), true),
            ("an echo request", error_about(&udp, 8), false),
            ("time exceeded, v6", error_about(&v6, 3), true),
            ("echo, v6", error_about(&v6, 128), false),
            ("an error that quotes nothing", error_about(&udp, 3)[..42].to_vec(), false),
            ("ARP", arp.clone(), true),
            ("ARP, padded", padded(&arp, 0), true),
            ("ARP with something behind it", padded(&arp, 7), false),
            ("UDP", udp, false),
            ("UDP over IPv6", v6, false),
            ("nothing", vec![], false),
            ("a tag and no more", vec![0x81; 16], false),
        ];
        for (what, frame, expected) in cases {
            assert_eq!(is_message(&frame), expected, "{what}: {frame:02x?}");
            // However much of it there is.
            (0..frame.len())
                .for_each(|len| _ = (is_message(&frame[..len]), Kind::of(&frame[..len])));
        }
    }
}
