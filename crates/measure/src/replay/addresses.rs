//! IP addresses of a frame, changed with every checksum that covers them.
//!
//! ```text
//!  | tags | IPv4 or IPv6 | TCP, UDP, ICMP | … ICMP error: the packet that it is about |
//!           addresses ─► header checksum                      addresses, checksums ─┐
//!                    └─► TCP's, UDP's, ICMPv6's (pseudo-header)      ◄── ICMP's own ┘
//!  ARP: the sender's and the target's. IPv6 neighbour discovery: the target's.
//! ```
//!
//! Checksums are updated (RFC 1624, equation 3), never computed: one that was wrong stays wrong, one
//! that is not there stays away, and fragments keep theirs. Bytes that are no such header are left.
//!
//! Missing: **addresses in tunnels, in routing headers, in payloads**.

use super::ethernet::behind_tags;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::checksum::Delta;
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6};

/// Puts `change(address)` in place of every address of a frame.
///
/// # Panics
/// If `change` makes an IPv4 address of an IPv6 one, or the other way round.
pub fn readdress(frame: &mut [u8], change: &mut impl FnMut(IpAddr) -> IpAddr) {
    let (kind, at) = behind_tags(frame);
    let packet = frame.get_mut(at..).unwrap_or_default();
    match kind {
        ETHERTYPE_IPV4 => drop(ipv4(packet, change)),
        ETHERTYPE_IPV6 => drop(ipv6(packet, change)),
        // Of IPv4 over Ethernet.
        ETHERTYPE_ARP if packet.get(..6) == Some(&[0, 1, 8, 0, 6, 4]) => {
            address4(packet, 14, change);
            address4(packet, 24, change);
        }
        _ => {}
    }
}

/// Every address of a frame, where [`readdress`] would change it.
pub fn addresses(frame: &[u8]) -> Vec<IpAddr> {
    let mut all = vec![];
    readdress(&mut frame.to_vec(), &mut |address| {
        all.push(address);
        address
    });
    all
}

/// What words changed; nothing, if none did: that would make 0 of a checksum of 0xffff.
type Changed = Option<Delta>;

fn both(one: Changed, other: Changed) -> Changed {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}

/// Puts another checksum where one stands, if it is there.
fn patch(bytes: &mut [u8], at: usize, new: impl FnOnce(u16) -> u16) -> Changed {
    let word = bytes.get_mut(at..at + 2)?;
    let old = u16::from_be_bytes([word[0], word[1]]);
    let new = new(old);
    word.copy_from_slice(&new.to_be_bytes());
    (old != new).then(|| Delta::default().u16(old, new))
}

fn address4(bytes: &mut [u8], at: usize, change: &mut impl FnMut(IpAddr) -> IpAddr) -> Changed {
    let word: &mut [u8; 4] = bytes.get_mut(at..at + 4)?.try_into().ok()?;
    let old = Ipv4Addr::from(*word);
    let IpAddr::V4(new) = change(old.into()) else { panic!("{old} became one of IPv6") };
    *word = new.octets();
    (old != new).then(|| Delta::default().u32(old.to_bits(), new.to_bits()))
}

fn address6(bytes: &mut [u8], at: usize, change: &mut impl FnMut(IpAddr) -> IpAddr) -> Changed {
    let word: &mut [u8; 16] = bytes.get_mut(at..at + 16)?.try_into().ok()?;
    let old = Ipv6Addr::from(*word);
    let IpAddr::V6(new) = change(old.into()) else { panic!("{old} became one of IPv4") };
    *word = new.octets();
    let halves = old.segments().into_iter().zip(new.segments());
    let delta = halves.fold(Delta::default(), |delta, (old, new)| delta.u16(old, new));
    (old != new).then_some(delta)
}

/// The part of `packet` that is its own by its length: padding is nobody's.
fn own(packet: &mut [u8], len: usize) -> &mut [u8] {
    let end = len.min(packet.len());
    &mut packet[..end]
}

fn ipv4(packet: &mut [u8], change: &mut impl FnMut(IpAddr) -> IpAddr) -> Changed {
    let header = usize::from(packet.first()? & 15) * 4;
    if packet[0] >> 4 != 4 || !(20..=packet.len()).contains(&header) {
        return None;
    }
    let u16_at = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (len, later) = (usize::from(u16_at(2)).max(header), u16_at(6) & 0x1fff != 0);
    let packet = own(packet, len);
    let addresses = both(address4(packet, 12, change), address4(packet, 16, change));
    let own = addresses.and_then(|delta| patch(packet, 10, |old| delta.apply(old)));
    let protocol = packet[9];
    let above = match later {
        true => None,
        false => transport(&mut packet[header..], protocol, addresses, change),
    };
    both(both(addresses, own), above)
}

fn ipv6(packet: &mut [u8], change: &mut impl FnMut(IpAddr) -> IpAddr) -> Changed {
    if packet.len() < 40 || packet[0] >> 4 != 6 {
        return None;
    }
    let len = 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    let packet = own(packet, len);
    let addresses = both(address6(packet, 8, change), address6(packet, 24, change));
    let above = match upper(packet) {
        Some((protocol, at)) => transport(&mut packet[at..], protocol, addresses, change),
        None => None,
    };
    both(addresses, above)
}

/// What is above the extension headers of an IPv6 packet, and where; nothing in later fragments.
pub(super) fn upper(packet: &[u8]) -> Option<(u8, usize)> {
    let (mut next, mut at) = (*packet.get(6)?, 40);
    loop {
        let header = packet.get(at..at + 8);
        match (next, header) {
            // Hop-by-hop, routing, destination options.
            (0 | 43 | 60, Some(header)) => {
                (next, at) = (header[0], at + 8 + usize::from(header[1]) * 8);
            }
            (44, Some(header)) if header[2] == 0 && header[3] & 0xf8 == 0 => {
                (next, at) = (header[0], at + 8);
            }
            (0 | 43 | 44 | 60, _) => return None,
            _ => return (at <= packet.len()).then_some((next, at)),
        }
    }
}

fn transport(
    bytes: &mut [u8],
    protocol: u8,
    pseudo: Changed,
    change: &mut impl FnMut(IpAddr) -> IpAddr,
) -> Changed {
    let (covered, at, inside) = match (protocol, bytes.first()) {
        (6, _) => (pseudo, 16, None),
        (17, _) => (pseudo, 6, None),
        // Errors have the packet they are about behind eight bytes; a redirect names a gateway, too.
        (1, Some(5)) if bytes.len() > 8 => {
            (None, 2, both(address4(bytes, 4, change), ipv4(&mut bytes[8..], change)))
        }
        (1, Some(3 | 4 | 11 | 12)) if bytes.len() > 8 => (None, 2, ipv4(&mut bytes[8..], change)),
        (58, Some(1..=4)) if bytes.len() > 8 => (pseudo, 2, ipv6(&mut bytes[8..], change)),
        (58, Some(135..=137)) => (pseudo, 2, address6(bytes, 8, change)),
        (58, _) => (pseudo, 2, None),
        _ => return None,
    };
    let delta = both(covered, inside)?;
    let own = patch(bytes, at, |old| match protocol {
        17 => delta.apply_udp(old),
        _ => delta.apply(old),
    });
    both(inside, own)
}
