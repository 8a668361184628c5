//! Frames of any headers: their bytes, what varies in them, their lengths and checksums.
//!
//! ```text
//! | header bytes … | data …              | check 2 | trailer 18 |
//!    ▲  ▲      ▲      ▲                       ▲
//!    │  │      │      └ Varying: bits that      └ of all from `checksum_from` on
//!    │  │      │        change from frame to frame
//!    │  │      └ UDP or TCP: length, checksum
//!    │  └ IPv4 headers: total length, checksum
//!    └ Varying
//! ```
//!
//! A [`FramePlan`] says it, [`FramePlan::build`](crate::FramePlan::build) makes a
//! [`Stream`](crate::Stream) of it. Checksums are never computed over the frame: the sum of all
//! that stays is kept for each length, and of each varying byte it is known whether it is the high
//! or the low half of a word, in which checksum. Only `checksum_from` costs a pass.
//!
//! Never knows what the header bytes mean beyond the offsets it is given. Missing: **IPv6**,
//! **inner lengths of other tunnels** (VXLAN, PPPoE).

mod program;

pub(crate) use program::{Program, check_is_right};

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
    /// Where a UDP or TCP header begins in it, behind the IPv4 header it belongs to.
    pub transport: Option<(usize, Transport)>,
    /// What changes from frame to frame. No two may share a byte.
    pub varying: Vec<Varying>,
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
    /// In which order.
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
    /// There is no IPv4 header in front of the UDP or TCP header.
    NoIp,
    /// `checksum_from` beside a UDP or TCP checksum: each would have to cover the other.
    TwoChecksums,
    /// Two headers share bytes.
    Overlap(usize),
    /// So many IPv4 headers; there can be two.
    TooManyIp(usize),
    /// What varies lies where a length, a checksum or the footer stands, or another thing varies.
    VaryingTwice(usize),
    /// What varies lies behind the longest frame's data, or is no field: offset and width.
    VaryingOutside(usize, usize),
    /// No value to vary through, or one too large for the field at this offset.
    Values(usize),
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
            BadFrame::NoIp => f.write_str("no ip header in front of the udp or tcp header"),
            BadFrame::TwoChecksums => f.write_str(
                "compute-checksum-from-offset beside a udp or tcp checksum, which covers all already",
            ),
            BadFrame::Overlap(at) => write!(f, "two headers share the bytes at {at}"),
            BadFrame::TooManyIp(n) => write!(f, "{n} ip headers, at most 2"),
            BadFrame::VaryingTwice(at) => {
                write!(f, "byte {at} cannot vary: it is computed, or varies already")
            }
            BadFrame::VaryingOutside(at, width) => {
                write!(f, "{width} bytes at {at} cannot vary: the packet ends before")
            }
            BadFrame::Values(at) => write!(f, "no value, or too large a one, for byte {at}"),
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

    /// The IPv4 header that the UDP or TCP header belongs to.
    fn outer_ip(&self) -> Option<usize> {
        let (transport, _) = self.transport?;
        self.ipv4.iter().copied().filter(|ip| *ip < transport).max()
    }

    /// Bytes that are computed for each frame length: lengths and checksums.
    fn computed(&self) -> Vec<std::ops::Range<usize>> {
        let mut computed = Vec::new();
        for &ip in &self.ipv4 {
            computed.extend([ip..ip + 1, ip + 2..ip + 4, ip + 10..ip + 12]);
        }
        match self.transport {
            Some((at, Transport::Udp)) => computed.push(at + 4..at + 6),
            Some((at, Transport::UdpChecksum)) => computed.push(at + 4..at + 8),
            Some((at, Transport::Tcp)) => computed.push(at + 16..at + 18),
            None => {}
        }
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
        if self.ipv4.len() > 2 {
            return Err(BadFrame::TooManyIp(self.ipv4.len()));
        }
        let mut places = Vec::new();
        for &ip in &self.ipv4 {
            if ip >= end || self.ip_end(ip) > end {
                return Err(BadFrame::Outside("ip", ip));
            }
            places.push(ip..self.ip_end(ip));
        }
        if let Some((at, transport)) = self.transport {
            let (name, len) = if transport == Transport::Tcp { ("tcp", 20) } else { ("udp", 8) };
            if at.saturating_add(len) > end {
                return Err(BadFrame::Outside(name, at));
            }
            if self.outer_ip().is_none() {
                return Err(BadFrame::NoIp);
            }
            if transport != Transport::Udp && self.checksum_from.is_some() {
                return Err(BadFrame::TwoChecksums);
            }
            places.push(at..at + len);
        }
        places.sort_by_key(|place| place.start);
        match places.windows(2).find(|pair| pair[0].end > pair[1].start) {
            Some(pair) => Err(BadFrame::Overlap(pair[1].start)),
            None => Ok(()),
        }
    }

    fn check_varying(&self, end: usize) -> Result<(), BadFrame> {
        let mut taken = self.computed();
        for varying in &self.varying {
            let Varying { at, width, ref values, .. } = *varying;
            if !(1..=8).contains(&width) || at.saturating_add(width) > end {
                return Err(BadFrame::VaryingOutside(at, width));
            }
            let largest = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
            if values.largest().is_none_or(|value| value > largest) {
                return Err(BadFrame::Values(at));
            }
            // Only bytes with bits that change: a mask may leave a length alone.
            let place = at..at + width;
            let moves = |byte: usize| varying.mask >> (8 * (at + width - 1 - byte)) & 0xff != 0;
            let twice =
                |byte: &usize| moves(*byte) && taken.iter().any(|other| other.contains(byte));
            if let Some(byte) = place.clone().find(twice) {
                return Err(BadFrame::VaryingTwice(byte));
            }
            taken.push(place);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
