//! The reach of a stream's finished frames (RFC 6815), whatever its fields are called.
//!
//! ```text
//!  frames as they are built ─► tags ─► EtherType IPv4, IPv6 ─► addresses ─┐
//!  raw bytes of the stack ───► as a packet, as a frame ─────────► addresses ─┴► for benchmarks?
//! ```
//!
//! Fields of known headers are looked at where they are read. Here is what gets by: raw bytes that are
//! a packet behind a type that was set, or that somebody on the way takes out of a tunnel.

use crate::net::FOR_TESTS;
use measure::Stream;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Moment;

/// Frames that are looked at: fields that go through more have addresses that were read as such.
const FRAMES: usize = 256;

/// An address outside RFC 2544's and RFC 5180's networks to which a frame could go, or from which.
pub(super) fn outside(stream: &mut Stream, raw: &[&[u8]]) -> Option<IpAddr> {
    let of_raw = |bytes: &&[u8]| packet(bytes).or_else(|| frame(bytes)).or_else(|| tagged(bytes));
    if let Some(address) = raw.iter().find_map(of_raw) {
        return Some(address);
    }
    let mut bytes = vec![];
    (0..FRAMES).find_map(|_| {
        bytes.clear();
        bytes.resize(stream.next_len(), 0);
        stream.write(Moment::ZERO, &mut bytes);
        frame(&bytes)
    })
}

/// Of an Ethernet frame.
fn frame(bytes: &[u8]) -> Option<IpAddr> {
    tagged(bytes.get(12..)?)
}

/// From an EtherType on, behind any tags and labels.
fn tagged(bytes: &[u8]) -> Option<IpAddr> {
    let mut rest = bytes;
    loop {
        let (kind, behind) = rest.split_first_chunk::<2>()?;
        match u16::from_be_bytes(*kind) {
            0x8100 | 0x88a8 | 0x9100 => rest = behind.get(2..)?,
            0x8847 | 0x8848 => return labelled(behind),
            0x0800 | 0x86dd => return packet(behind),
            _ => return None,
        }
    }
}

/// Behind MPLS labels, whose last one says so: a packet, or a frame, with a control word or without.
fn labelled(mut bytes: &[u8]) -> Option<IpAddr> {
    loop {
        let (label, behind) = bytes.split_first_chunk::<4>()?;
        if label[2] & 1 == 1 {
            let word = || behind.get(4..).filter(|_| behind[..2] == [0; 2]);
            return packet(behind).or_else(|| frame(behind)).or_else(|| frame(word()?));
        }
        bytes = behind;
    }
}

/// Of an IP packet, by its version.
fn packet(bytes: &[u8]) -> Option<IpAddr> {
    let addresses: Vec<IpAddr> = match bytes.first()? >> 4 {
        4 => bytes
            .get(12..20)?
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| Ipv4Addr::from(*b).into())
            .collect(),
        6 => bytes
            .get(8..40)?
            .as_chunks::<16>()
            .0
            .iter()
            .map(|b| Ipv6Addr::from(*b).into())
            .collect(),
        _ => return None,
    };
    addresses.into_iter().find(|address| !is_for_benchmarks(*address))
}

/// RFC 2544 C.2.2, RFC 5180 §8.
pub(in crate::suite::plan) fn is_for_benchmarks(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => FOR_TESTS.contains(v4.to_bits()),
        IpAddr::V6(v6) => v6.segments()[..3] == [0x2001, 2, 0],
    }
}
