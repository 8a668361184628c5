//! Frames rewritten in place, with every checksum that depends on what changed.
//!
//! ```text
//!  IP header     addresses ──────────────► header checksum (IPv4's)
//!  TCP, UDP      ports ─── and addresses ► checksum (UDP: 0 stays 0)
//!  ICMP query    identifier ─────────────► checksum (ICMPv6's: with the addresses, of any type)
//!  GRE of PPTP   call ID (no checksum)
//!  ICMP error    quoted packet: the same once more ─► the error's own checksum
//! ```
//!
//! Checksums are updated, not computed (RFC 1624): a packet that was damaged on its way stays
//! damaged, and its receiver finds out.
//!
//! Never panics, whatever the frame; never looks at what a translation is for.

use crate::ip::family::{Control, Family};
use wire::checksum::Delta;
use wire::layers::protocol;
use wire::{FiveTuple, Layers, icmp, layers};

/// Gives a packet another 5-tuple. `layers` are `frame`'s and become those of the result; addresses of IPv6
/// are not in them.
///
/// Of an ICMP error, and of a fragment that is not the first, only the addresses change. The
/// other fragments of a datagram need the same addresses, each with a call of its own.
#[inline]
pub fn rewrite<A: Family>(frame: &mut [u8], layers: &mut Layers, new: &FiveTuple<A>) {
    let Some(packet) = frame.get_mut(usize::from(layers.l3)..usize::from(layers.l3_end)) else {
        return;
    };
    let l4 = match layers.l4 {
        0 => None,
        l4 => l4.checked_sub(layers.l3).map(usize::from),
    };
    let has_ports = rewrite_packet(packet, l4, layers.protocol, new, &mut Delta::default());
    A::note(layers, new.src, new.dst);
    if has_ports {
        (layers.tuple.src_port, layers.tuple.dst_port) = (new.src_port, new.dst_port);
    }
}

/// Gives the packet that an ICMP error quotes another 5-tuple, and puts the checksums of both
/// right (RFC 5508 §4.2). Nothing happens if nothing readable is quoted.
pub fn rewrite_quoted<A: Family>(frame: &mut [u8], layers: &Layers, new: &FiveTuple<A>) {
    let (l4, end) = (usize::from(layers.l4), usize::from(layers.l3_end));
    if l4 == 0 || layers.protocol != A::ICMP {
        return;
    }
    let Some(message) = frame.get_mut(l4..end) else { return };
    let Some(kind) = message.first() else { return };
    if A::control(*kind) != Control::Error {
        return;
    }
    let Some((header, quoted)) = message.split_first_chunk_mut::<{ icmp::HEADER_LEN }>() else {
        return;
    };
    let Some(inside) = A::quoted(quoted) else { return };
    let mut change = Delta::default();
    let packet = &mut quoted[..usize::from(inside.end)];
    let l4 = inside.l4.map(usize::from);
    rewrite_packet(packet, l4, inside.tuple.protocol, new, &mut change);
    let checksum = u16::from_be_bytes([header[2], header[3]]);
    header[2..4].copy_from_slice(&change.apply(checksum).to_be_bytes());
}

/// Gives a packet of PPTP another call ID; false if it is none.
#[cold]
fn rewrite_call(packet: &mut [u8], call: u16, change: &mut Delta) -> bool {
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let Some(gre) = packet.get_mut(header_len..) else { return false };
    let Some(old) = layers::pptp_call(gre) else { return false };
    gre[6..8].copy_from_slice(&call.to_be_bytes());
    *change = change.u16(old, call);
    true
}

/// Rewrites from the IP header on; `l4` counts from there. All that changes is gathered in
/// `change`. Says whether ports (or an identifier) were there to be rewritten.
#[inline(always)]
fn rewrite_packet<A: Family>(
    packet: &mut [u8],
    l4: Option<usize>,
    protocol: u8,
    new: &FiveTuple<A>,
    change: &mut Delta,
) -> bool {
    let Some(addresses) = A::put_addresses(packet, new.src, new.dst, change) else { return false };
    let Some(transport) = l4.and_then(|l4| packet.get_mut(l4..)) else {
        let is_call = protocol == protocol::GRE && A::ETHERTYPE == layers::ETHERTYPE_IPV4;
        return is_call && rewrite_call(packet, new.dst_port, change);
    };
    let Some(start) = transport.first_chunk_mut::<8>() else { return false };
    let word = |at: usize| u16::from_be_bytes([start[at], start[at + 1]]);
    match protocol {
        protocol::TCP | protocol::UDP => {
            let ports = Delta::default().u16(word(0), new.src_port).u16(word(2), new.dst_port);
            let udp_checksum = word(6);
            start[0..2].copy_from_slice(&new.src_port.to_be_bytes());
            start[2..4].copy_from_slice(&new.dst_port.to_be_bytes());
            *change = change.and(ports);
            let delta = addresses.and(ports);
            if protocol == protocol::UDP {
                let new_checksum = delta.apply_udp(udp_checksum);
                start[6..8].copy_from_slice(&new_checksum.to_be_bytes());
                *change = change.u16(udp_checksum, new_checksum);
            } else if let Some(&[a, b]) = transport.get(16..18) {
                let old = u16::from_be_bytes([a, b]);
                let new_checksum = delta.apply(old);
                transport[16..18].copy_from_slice(&new_checksum.to_be_bytes());
                *change = change.u16(old, new_checksum);
            }
            true
        }
        _ if protocol == A::ICMP => {
            let (is_query, checksum, identifier) = (A::has_identifier(start[0]), word(2), word(4));
            let mut delta = A::over_control(addresses);
            if is_query {
                let changed = Delta::default().u16(identifier, new.src_port);
                start[4..6].copy_from_slice(&new.src_port.to_be_bytes());
                (delta, *change) = (delta.and(changed), change.and(changed));
            }
            if delta != Delta::default() {
                let new_checksum = delta.apply(checksum);
                start[2..4].copy_from_slice(&new_checksum.to_be_bytes());
                *change = change.u16(checksum, new_checksum);
            }
            is_query
        }
        _ => false,
    }
}
