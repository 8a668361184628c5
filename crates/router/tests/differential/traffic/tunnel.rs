//! Tunnel headers of random traffic: put around packets, and taken off again.

use super::six;
use router::interface::tunnel::Carries;
use wire::gre::{self, Gre};
use wire::layers::{Layers, protocol};

/// What is drawn.
pub(super) const KINDS: &[Carries] =
    &[Carries::Ipip, Carries::Gre, Carries::SixToFour, Carries::Eoip, Carries::L2tpEther];

/// The tunnel of this kind that has an address of its own; there is none of others.
pub(super) fn addressed(carries: Carries) -> &'static str {
    match carries {
        Carries::Eoip => "tunnel4",
        Carries::L2tpEther => "tunnel9",
        _ => "",
    }
}

/// Where the other end of such a tunnel is: behind which port, and which host there.
pub(super) fn other_end(carries: Carries, n: usize) -> (usize, u8) {
    match carries {
        Carries::Ipip | Carries::SixToFour => (2, 1),
        Carries::Gre => (3, 1),
        Carries::Eoip if n.is_multiple_of(2) => (2, 1),
        Carries::Eoip => (4, 1),
        Carries::L2tpEther => (3, 1),
    }
}

/// What the configuration's session of L2TP has in front of a frame: its number, and the cookie.
const L2TP: [u8; 8] = [0, 0, 0, 9, 0xde, 0xad, 0xbe, 0xef];

/// The protocol and the payload of an outer packet around a frame.
pub(super) fn wrap(carries: Carries, n: usize, inner: &[u8]) -> (u8, Vec<u8>) {
    match carries {
        Carries::Ipip => (protocol::IPIP, inner[14..].to_vec()),
        Carries::SixToFour => (protocol::IPV6, six::of(inner.to_vec())[14..].to_vec()),
        Carries::Gre => (protocol::GRE, [&gre::header(0x0800), &inner[14..]].concat()),
        Carries::Eoip => {
            let header = gre::eoip(1, inner.len() as u16);
            (protocol::GRE, [&header, inner].concat())
        }
        // Every other one has no cookie, or not the one that is expected.
        Carries::L2tpEther if n.is_multiple_of(2) => (protocol::L2TP, [&L2TP, inner].concat()),
        Carries::L2tpEther => (protocol::L2TP, [&L2TP[..7], &[0], inner].concat()),
    }
}

/// What lies in a frame's packet, as a frame, and in which tunnel; `None` if it is no outer packet.
pub(super) fn unwrap(frame: &[u8], layers: &Layers) -> Option<(Carries, Vec<u8>)> {
    if layers.fragment || layers.options {
        return None;
    }
    let payload = &frame[usize::from(layers.l3) + 20..usize::from(layers.l3_end)];
    let framed = |ip: &[u8]| [&[0; 12][..], &[8, 0], ip].concat();
    match (layers.protocol, Gre::read(payload)) {
        (protocol::IPIP, _) => Some((Carries::Ipip, framed(payload))),
        (protocol::GRE, Some(Gre::Packet { protocol: 0x0800, at, .. })) => {
            Some((Carries::Gre, framed(&payload[at..])))
        }
        (protocol::GRE, Some(Gre::Eoip { len: 14.., .. })) => {
            Some((Carries::Eoip, payload[gre::EOIP_LEN..].to_vec()))
        }
        (protocol::L2TP, _) => Some((Carries::L2tpEther, payload.get(L2TP.len()..)?.to_vec())),
        _ => None,
    }
}
