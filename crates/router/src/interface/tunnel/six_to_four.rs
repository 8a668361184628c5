//! IPv6 in IPv4 (RFC 4213): which IPv4 address an IPv6 one stands for, and what may come out of a tunnel.
//!
//! ```text
//! 2002:c000:201::1          is behind 192.0.2.1            (RFC 3056 §2)
//! gateway=::192.0.2.1%t     is 192.0.2.1                   a relay, as Linux and RouterOS have it
//! fe80::192.0.2.1           the tunnel's own link's address (RFC 4213 §3.7)
//! ```
//!
//! A tunnel to everybody takes packets from everybody: each must have a 2002::/16 address of that
//! IPv4 address it came from, or goes to (RFC 3964 §4). Private IPv4 addresses are taken: such a
//! tunnel is of use within one site, too.
//!
//! Pure: looks at addresses, decides, never sends.

use super::{Carries, Tunnel};
use crate::discard::Discard;
use crate::flow::is_martian_source;
use crate::ipv6::ALL_NODES;
use crate::packet::Ends;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::icmpv6::{self, kind};
use wire::ipv6::{HEADER_LEN, Ipv6Header, header};
use wire::{Ipv6, Ipv6Prefix, MacAddr};

/// The IPv4 address that a packet to `dst` by the next hop `hop` is sent to in a tunnel to everybody:
/// that in its destination, or else that of the gateway; `None` if there is none, or it is no host's.
pub(crate) fn far_end(dst: u128, hop: u128) -> Option<u32> {
    let of_gateway = || within(hop).or_else(|| compatible(hop));
    within(dst).or_else(of_gateway).filter(|&end| !is_martian_source(end))
}

/// The IPv4 address in one of 2002::/16.
fn within(address: u128) -> Option<u32> {
    (address >> 112 == 0x2002).then_some((address >> 80) as u32)
}

/// The IPv4 address of `::a.b.c.d` (RFC 4291 §2.5.5.1), which none and loopback are not.
fn compatible(address: u128) -> Option<u32> {
    (address > 1).then(|| u32::try_from(address).ok()).flatten()
}

/// What stands in the place of the neighbour's MAC address in front of a packet for an automatic
/// tunnel, which has no other way to say whom it is for: queues may lie between.
pub(crate) fn link_address(end: u32) -> MacAddr {
    MacAddr::from_u64(u64::from(end))
}

/// Reads it again.
pub(crate) fn end_of(frame: &[u8]) -> Option<u32> {
    frame.get(2..6)?.first_chunk().copied().map(u32::from_be_bytes)
}

/// The last 64 bits of the address that a tunnel has on its link: its own IPv4 address, as Linux and
/// RouterOS make it, of GRE with ISATAP's mark in front (RFC 5214 §6.1). `None` without one.
pub(crate) fn interface_id(tunnel: &Tunnel) -> Option<u64> {
    let own = Some(tunnel.local).filter(|&own| own != 0)?;
    match tunnel.carries {
        Carries::SixToFour => Some(own.into()),
        Carries::Gre => {
            let address = Ipv4Addr::from(own);
            let is_everywhere = !address.is_private() && !address.is_link_local();
            Some(u64::from(is_everywhere) << 57 | 0x5efe << 32 | u64::from(own))
        }
        Carries::Ipip | Carries::Eoip | Carries::L2tpEther => None,
    }
}

/// Whether what was in a packet between these ends may come out of a 6to4 tunnel. What is no IPv6
/// packet at all ends later, by its own name.
///
/// # Errors
/// Why not.
pub(crate) fn admit(tunnel: &Tunnel, (src, dst): (u32, u32), packet: &[u8]) -> Result<(), Discard> {
    let Ok(ip) = Ipv6::new(packet) else { return Ok(()) };
    let ends = Ends { src: ip.src().into(), dst: ip.dst().into() };
    // RFC 4213 §3.6. The rest of what no source may be is IPv6's own to find out.
    if compatible(ends.src).is_some() {
        return Err(Discard::MartianSource);
    }
    if !tunnel.is_automatic() {
        return Ok(());
    }
    // There is no link: whoever speaks of one is anywhere.
    if Ipv6Prefix::LINK_LOCAL.contains(ends.src) {
        return Err(Discard::LinkLocalSource);
    }
    if Ipv6Prefix::LINK_LOCAL.contains(ends.dst) {
        return Err(Discard::LinkLocalDestination);
    }
    if Ipv6Addr::from(ends.dst).is_multicast() {
        return Err(Discard::MulticastDestination);
    }
    // RFC 3964 §4.1, §4.2: what has no address of 2002::/16 at all has nothing to do here.
    match (within(ends.src), within(ends.dst)) {
        (None, None) => Err(Discard::SpoofedTunnel),
        (from, to) if from.is_none_or(|from| from == src) && to.is_none_or(|to| to == dst) => {
            Ok(())
        }
        _ => Err(Discard::SpoofedTunnel),
    }
}

/// Length of a keepalive's packet.
pub(crate) const KEEPALIVE_LEN: usize = HEADER_LEN + MESSAGE_LEN;
const MESSAGE_LEN: usize = 16;
/// Whom it is for: on the link there is one other end, whatever its address.
pub(crate) const KEEPALIVE_TO: u128 = ALL_NODES;

/// A keepalive: an echo request to whoever is there, from the tunnel's address on its link.
pub(crate) fn question(tunnel: &Tunnel, from: u128) -> [u8; KEEPALIVE_LEN] {
    let (src, dst) = (Ipv6Addr::from(from), Ipv6Addr::from(KEEPALIVE_TO));
    let mut message = message(tunnel, kind::ECHO_REQUEST);
    icmpv6::fill_checksum(src, dst, &mut message);
    let header = Ipv6Header {
        // As network control, like those of other tunnels.
        traffic_class: 0xc0,
        flow_label: 0,
        payload_len: MESSAGE_LEN as u16,
        next_header: header::ICMPV6,
        hop_limit: 255,
        src,
        dst,
    };
    let mut packet = [0; KEEPALIVE_LEN];
    packet[..HEADER_LEN].copy_from_slice(&header.to_bytes());
    packet[HEADER_LEN..].copy_from_slice(&message);
    packet
}

/// Its ICMPv6 message, all but its checksum; that of the answer differs in its type.
fn message(tunnel: &Tunnel, kind: u8) -> [u8; MESSAGE_LEN] {
    let mut message = [0; MESSAGE_LEN];
    message[0] = kind;
    message[8..12].copy_from_slice(&tunnel.local.to_be_bytes());
    message[12..].copy_from_slice(&tunnel.remote.to_be_bytes());
    message
}

/// Whether a packet that came out is the answer to the tunnel's keepalive.
pub(crate) fn is_answer(tunnel: &Tunnel, packet: &[u8]) -> bool {
    let Ok(ip) = Ipv6::new(packet) else { return false };
    let mut message = message(tunnel, kind::ECHO_REPLY);
    let said = ip.payload();
    if let (Some(sum), Some(said)) = (message.get_mut(2..4), said.get(2..4)) {
        sum.copy_from_slice(said);
    }
    tunnel.keepalive.is_some() && ip.next_header() == header::ICMPV6 && said == message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip6(text: &str) -> u128 {
        text.parse::<Ipv6Addr>().expect(text).into()
    }

    #[test]
    fn whom_it_is_for() {
        let cases = [
            ("2002:c000:201::1", "2002:c000:201::1", Some("192.0.2.1")),
            ("2002:a00:1:9::1", "2001:db8::1", Some("10.0.0.1")),
            ("2001:db8::1", "2002:c000:201::", Some("192.0.2.1")),
            ("2001:db8::1", "::192.88.99.1", Some("192.88.99.1")),
            ("2001:db8::1", "2001:db8::1", None),
            ("2001:db8::1", "fe80::192.0.2.1", None),
            ("2001:db8::1", "::", None),
            ("2001:db8::1", "::1", None),
            // RFC 3056 §9: no host's.
            ("2002::1", "2002::1", None),
            ("2002:7f00:1::1", "2002:7f00:1::1", None),
            ("2002:e000:1::1", "2002:e000:1::1", None),
            ("2002:ffff:ffff::1", "2002:ffff:ffff::1", None),
        ];
        for (dst, hop, end) in cases {
            let end = end.map(|end| u32::from(end.parse::<Ipv4Addr>().expect(end)));
            assert_eq!(far_end(ip6(dst), ip6(hop)), end, "{dst} by {hop}");
            let frame = end.map(|end| [&link_address(end).0[..], &[0; 8]].concat());
            assert_eq!(frame.and_then(|frame| end_of(&frame)), end);
        }
    }
}
