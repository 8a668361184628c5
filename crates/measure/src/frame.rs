//! Frames of any headers: their bytes, what varies in them, their lengths and checksums.
//!
//! ```text
//! | header bytes … | data …              | check 2 | trailer 18 |
//!    ▲  ▲      ▲      ▲                       ▲
//!    │  │      │      └ Varying: bits that      └ of all from `checksum_from` on
//!    │  │      │        change from frame to frame
//!    │  │      └ UDP, TCP or ICMP: length, checksum
//!    │  └ IPv4 headers: total length, checksum; IPv6 headers: payload length
//!    └ Varying
//! ```
//!
//! A [`FramePlan`] says it, [`FramePlan::build`](crate::FramePlan::build) makes a
//! [`Stream`](crate::Stream) of it. Checksums are never computed over the frame: the sum of all
//! that stays is kept for each length, and of each varying byte it is known whether it is the high
//! or the low half of a word, in which checksum. Only `checksum_from` costs a pass.
//!
//! Never knows what the header bytes mean beyond the offsets it is given ([`stack`](crate::stack)
//! does). Missing: **IPv6 extension headers**, **inner lengths of PPPoE**, **checksums of UDP
//! around a tunnel** (none, as RFC 7348 and RFC 6935 have it).

mod program;
// The same looked at when it comes back.
mod shape;
// The plain UDP frames of a template as such a plan.
mod plain;

#[cfg(target_os = "linux")]
pub(crate) use plain::place;
pub(crate) use program::Program;
pub use program::check_is_right;
pub(crate) use shape::{Look, Shape};

use crate::vary::{Pick, Values};
use crate::{template, trailer};
use std::fmt;
use wire::FrameLen;

/// What the frames of a stream are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramePlan {
    /// All headers. Lengths and checksums of IPv4, UDP and TCP in it are filled in.
    pub header: Vec<u8>,
    /// Where IPv4 headers begin in it.
    pub ipv4: Vec<usize>,
    /// Where IPv6 headers begin in it; they have no extension headers.
    pub ipv6: Vec<usize>,
    /// Where a UDP, TCP or ICMP header begins in it, behind the IP header it belongs to.
    pub transport: Option<(usize, Transport)>,
    /// Where UDP headers in front of that one begin, which carry tunnels: their lengths are filled
    /// in, their checksums stay as they are (0: none).
    pub tunnels: Vec<usize>,
    /// What changes from frame to frame. No two may share a bit.
    pub varying: Vec<Varying>,
    /// What fields that change together go by.
    pub links: Vec<Link>,
    /// What stands behind the headers.
    pub data: Data,
    /// How long they are.
    pub lengths: Lengths,
    /// Whether frames have a trailer, without which they are not known again.
    pub footer: bool,
    /// From where on the two bytes in front of the trailer are the Internet checksum of all bytes.
    pub checksum_from: Option<usize>,
}

/// How long frames are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// From the shortest to the longest: each length between them is as likely.
    Even(FrameLen, FrameLen),
    /// These, one after the other, over and over: a [`Mix`](crate::Mix)'s sequence.
    InTurn(Vec<FrameLen>),
}

impl From<FrameLen> for Lengths {
    fn from(frame: FrameLen) -> Lengths {
        Lengths::Even(frame, frame)
    }
}

impl Lengths {
    /// The shortest and the longest; an empty sequence has none.
    pub fn extremes(&self) -> Option<(FrameLen, FrameLen)> {
        match self {
            Lengths::Even(least, most) => Some((*least, *most)),
            Lengths::InTurn(all) => all.iter().min().copied().zip(all.iter().max().copied()),
        }
    }
}

/// What stands behind IP, and whether it has a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP whose checksum stays as the header has it (0: none).
    Udp,
    /// UDP with a right checksum.
    UdpChecksum,
    /// TCP, always with a right checksum.
    Tcp,
    /// ICMP, likewise; behind IPv4.
    Icmp,
    /// ICMPv6, likewise, with the pseudo-header of IPv6.
    Icmpv6,
}

impl Transport {
    /// What it is called, how long its header is at least, where its checksum stands in it.
    pub(crate) fn facts(self) -> (&'static str, usize, usize) {
        match self {
            Transport::Udp | Transport::UdpChecksum => ("udp", 8, 6),
            Transport::Tcp => ("tcp", 20, 16),
            Transport::Icmp => ("icmp", 8, 2),
            Transport::Icmpv6 => ("icmpv6", 8, 2),
        }
    }

    /// The protocol's number, where it is in the checksum.
    pub(crate) fn in_pseudo_header(self) -> Option<u8> {
        match self {
            Transport::Udp | Transport::UdpChecksum => Some(17),
            Transport::Tcp => Some(6),
            Transport::Icmp => None,
            Transport::Icmpv6 => Some(58),
        }
    }
}

/// An IP header, by where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    V4(usize),
    V6(usize),
}

impl Network {
    /// The addresses.
    pub(crate) fn addresses(self) -> std::ops::Range<usize> {
        match self {
            Network::V4(ip) => ip + 12..ip + 20,
            Network::V6(ip) => ip + 8..ip + 40,
        }
    }

    /// The byte that says what is behind.
    fn protocol(self) -> usize {
        match self {
            Network::V4(ip) => ip + 9,
            Network::V6(ip) => ip + 6,
        }
    }
}

/// Bits that change from frame to frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varying {
    /// Where in the frame the field begins.
    pub at: usize,
    /// Its length in bytes, 1 to 8.
    pub width: usize,
    /// The bits of it that change; the others stay.
    pub mask: u64,
    /// The values they go through.
    pub values: Values,
    /// In which order; of linked fields the link's.
    pub pick: Pick,
    /// By which of the plan's links it goes, if by any: the value for a number `n` of it is the
    /// `n / divisor`th, and after the last comes the first.
    pub link: Option<(usize, u64)>,
}

/// A number that several fields are read off, so that they go through their values together: the
/// rows of a table (divisor 1 in all of them), or the combinations of their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// It is below this.
    pub count: u64,
    /// Which number is next.
    pub pick: Pick,
}

/// What stands behind the headers (`data`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// This byte.
    Byte(u8),
    /// 00 01 02 03 …
    Incrementing,
    /// Random bytes, the same in each frame.
    Random,
}

/// The plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadFrame {
    /// Not within [`template::FRAME_LENGTHS`], or the wrong way round. Bytes without FCS.
    Length(u32, u32),
    /// A sequence of lengths with nothing in it.
    NoLength,
    /// Headers and footer take so many bytes, the shortest frame has so many.
    TooShort(usize, u32),
    /// A header does not lie within the header bytes.
    Outside(&'static str, usize),
    /// There is no IP header (for ICMP: of its version) in front of this one.
    NoIp(&'static str),
    /// `checksum_from` beside a UDP or TCP checksum: each would have to cover the other.
    TwoChecksums,
    /// Two headers share bytes.
    Overlap(usize),
    /// What varies lies where a length, a checksum or the footer stands, or another thing varies.
    VaryingTwice(usize),
    /// What varies lies behind the longest frame's data, or is no field: offset and width.
    VaryingOutside(usize, usize),
    /// No value to vary through, or one too large for the field at this offset.
    Values(usize),
    /// The field at this offset goes by a link that is not there, or that counts nothing.
    Link(usize),
}

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BadFrame::Length(least, most) => {
                let (low, high) = template::FRAME_LENGTHS;
                let (low, high) = (low.in_memory(), high.in_memory());
                write!(f, "packet-size {least}-{most}: use {low} to {high}")
            }
            BadFrame::NoLength => f.write_str("a sequence of no lengths: give one at least"),
            BadFrame::TooShort(need, have) => {
                write!(f, "packet-size {have} is too small: headers and footer take {need}")
            }
            BadFrame::Outside(what, at) => {
                write!(f, "the {what} header at {at} does not fit into the header bytes")
            }
            BadFrame::NoIp(what) => write!(f, "no ip header in front of the {what} header"),
            BadFrame::TwoChecksums => f.write_str(
                "compute-checksum-from-offset beside a udp or tcp checksum, which covers all already",
            ),
            BadFrame::Overlap(at) => write!(f, "two headers share the bytes at {at}"),
            BadFrame::VaryingTwice(at) => {
                write!(f, "byte {at} cannot vary: it is computed, or varies already")
            }
            BadFrame::VaryingOutside(at, width) => {
                write!(f, "{width} bytes at {at} cannot vary: the packet ends before")
            }
            BadFrame::Values(at) => write!(f, "no value, or too large a one, for byte {at}"),
            BadFrame::Link(at) => write!(f, "nothing that the field at byte {at} could go by"),
        }
    }
}

impl std::error::Error for BadFrame {}

impl FramePlan {
    /// Bytes behind the data: trailer and checksum.
    fn tail(&self) -> usize {
        let check = if self.checksum_from.is_some() { 2 } else { 0 };
        let footer = if self.footer { trailer::LEN } else { 0 };
        check + footer
    }

    /// The header lengths in 32-bit words are the packet's own affair, as far as it has them.
    fn ip_end(&self, ip: usize) -> usize {
        ip + usize::from(self.header.get(ip).map_or(5, |first| first & 0xf)).max(5) * 4
    }

    fn network_end(&self, network: Network) -> usize {
        match network {
            Network::V4(ip) => self.ip_end(ip),
            Network::V6(ip) => ip + 40,
        }
    }

    /// The IP header that the transport's belongs to.
    pub(crate) fn network(&self) -> Option<Network> {
        let (transport, _) = self.transport?;
        let before = |all: &[usize]| all.iter().copied().filter(|ip| *ip < transport).max();
        match (before(&self.ipv4), before(&self.ipv6)) {
            (v4, Some(v6)) if v4.is_none_or(|v4| v4 < v6) => Some(Network::V6(v6)),
            (v4, _) => v4.map(Network::V4),
        }
    }

    /// Bytes that are computed for each frame length: lengths and checksums.
    fn computed(&self) -> Vec<std::ops::Range<usize>> {
        let mut computed = Vec::new();
        for &ip in &self.ipv4 {
            computed.extend([ip..ip + 1, ip + 2..ip + 4, ip + 10..ip + 12]);
        }
        for &ip in &self.ipv6 {
            computed.push(ip + 4..ip + 6);
        }
        match self.transport {
            Some((at, Transport::Udp)) => computed.push(at + 4..at + 6),
            Some((at, Transport::UdpChecksum)) => computed.push(at + 4..at + 8),
            Some((at, transport)) => {
                let (.., checksum) = transport.facts();
                computed.push(at + checksum..at + checksum + 2);
            }
            None => {}
        }
        computed.extend(self.tunnels.iter().map(|udp| udp + 4..udp + 6));
        computed
    }

    fn check(&self) -> Result<(), BadFrame> {
        let (least, most) = self.lengths.extremes().ok_or(BadFrame::NoLength)?;
        let (low, high) = template::FRAME_LENGTHS;
        if least < low || most > high || least > most {
            return Err(BadFrame::Length(least.in_memory(), most.in_memory()));
        }
        let need = self.header.len() + self.tail();
        if need > least.in_memory() as usize {
            return Err(BadFrame::TooShort(need, least.in_memory()));
        }
        self.check_headers()?;
        self.check_varying(most.in_memory() as usize - self.tail())
    }

    fn check_headers(&self) -> Result<(), BadFrame> {
        let end = self.header.len();
        let mut places = Vec::new();
        for &ip in &self.ipv4 {
            if ip >= end || self.ip_end(ip) > end {
                return Err(BadFrame::Outside("ip", ip));
            }
            places.push(ip..self.ip_end(ip));
        }
        for &ip in &self.ipv6 {
            if ip.saturating_add(40) > end {
                return Err(BadFrame::Outside("ipv6", ip));
            }
            places.push(ip..ip + 40);
        }
        if let Some((at, transport)) = self.transport {
            let (name, len, _) = transport.facts();
            if at.saturating_add(len) > end {
                return Err(BadFrame::Outside(name, at));
            }
            match (transport, self.network()) {
                (_, None)
                | (Transport::Icmp, Some(Network::V6(_)))
                | (Transport::Icmpv6, Some(Network::V4(_))) => return Err(BadFrame::NoIp(name)),
                _ => {}
            }
            if transport != Transport::Udp && self.checksum_from.is_some() {
                return Err(BadFrame::TwoChecksums);
            }
            places.push(at..at + len);
        }
        for &udp in &self.tunnels {
            if udp.saturating_add(8) > end {
                return Err(BadFrame::Outside("udp", udp));
            }
            places.push(udp..udp + 8);
        }
        places.sort_by_key(|place| place.start);
        match places.windows(2).find(|pair| pair[0].end > pair[1].start) {
            Some(pair) => Err(BadFrame::Overlap(pair[1].start)),
            None => Ok(()),
        }
    }

    fn check_varying(&self, end: usize) -> Result<(), BadFrame> {
        // Bits that are taken, by their byte.
        let mut taken: Vec<(usize, u8)> =
            self.computed().into_iter().flatten().map(|byte| (byte, 0xff)).collect();
        for varying in &self.varying {
            let Varying { at, width, ref values, link, .. } = *varying;
            if !(1..=8).contains(&width) || at.saturating_add(width) > end {
                return Err(BadFrame::VaryingOutside(at, width));
            }
            let largest = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
            if values.largest().is_none_or(|value| value > largest) {
                return Err(BadFrame::Values(at));
            }
            if let Some((link, divisor)) = link {
                let counts = self.links.get(link).is_some_and(|link| link.count > 0);
                if !counts || divisor == 0 {
                    return Err(BadFrame::Link(at));
                }
            }
            // Only bits that change: a mask may leave a length alone.
            let bits = |byte: usize| (varying.mask >> (8 * (at + width - 1 - byte))) as u8;
            let twice = |byte: &usize| {
                let bits = bits(*byte);
                taken.iter().any(|(other, taken)| other == byte && taken & bits != 0)
            };
            if let Some(byte) = (at..at + width).find(twice) {
                return Err(BadFrame::VaryingTwice(byte));
            }
            taken.extend((at..at + width).map(|byte| (byte, bits(byte))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
