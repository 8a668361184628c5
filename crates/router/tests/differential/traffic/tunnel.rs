//! Tunnel headers of random traffic: put around packets, and taken off again.

use super::six;
use router::interface::tunnel::Carries;
use wire::gre::{self, Gre};
use wire::layers::{Layers, protocol};

/// Where the other end of such a tunnel is: behind which port, and which host there.
pub(super) fn other_end(carries: Carries, n: usize) -> (usize, u8) {
    match carries {
        Carries::Ipip | Carries::SixToFour => (2, 1),
        Carries::Gre => (3, 1),
        Carries::Eoip if n.is_multiple_of(2) => (2, 1),
        Carries::Eoip => (4, 1),
    }
}

/// The protocol and the payload of an outer packet around a frame.
pub(super) fn wrap(carries: Carries, inner: &[u8]) -> (u8, Vec<u8>) {
    match carries {
        Carries::Ipip => (protocol::IPIP, inner[14..].to_vec()),
        Carries::SixToFour => (protocol::IPV6, six::of(inner.to_vec())[14..].to_vec()),
        Carries::Gre => (protocol::GRE, [&gre::header(0x0800), &inner[14..]].concat()),
        Carries::Eoip => {
            let header = gre::eoip(1, inner.len() as u16);
            (protocol::GRE, [&header, inner].concat())
        }
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
        _ => None,
    }
}
