//! A frame plan compiled: what is done for each frame.
//!
//! ```text
//! copy the image ─► lengths (if they differ) ─► what varies ─► trailer ─► checksums
//! ```
//!
//! Nothing is allocated, and no byte that stays is looked at.

// The same by the generator in the kernel.
#[cfg(target_os = "linux")]
mod kernel;
// Fields that go by one number, made in advance.
mod rows;

use super::{BadFrame, Data, FramePlan, Lengths, Network, Transport, Varying};
use crate::Prng;
use crate::trailer::{self, Trailer};
use crate::vary::{Source, Values};
use rows::Rows;
use wire::checksum::{self, Sum};

/// The widest field.
const WIDEST: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct Program {
    patches: Vec<Patch>,
    /// All of these made in advance, if they go by one number.
    rows: Option<Rows>,
    /// What linked fields go by, and where that is.
    links: Vec<(Source, u64)>,
    sums: Vec<Checksum>,
    /// What they cover.
    #[cfg(target_os = "linux")]
    coverages: Vec<Coverage>,
    /// Fields that hold the frame's length less a number, if lengths differ.
    lengths: Vec<(usize, usize)>,
    shortest: usize,
    longest: usize,
    /// The lengths that go by turns, if they do, and whose turn it is.
    turns: (Vec<u16>, usize),
    /// What the next frame's length was said to be, until it is written; 0 if it was not asked for.
    next_len: usize,
    footer: bool,
    checksum_from: Option<usize>,
    /// Bytes behind the data.
    tail: usize,
}

/// One thing that varies.
#[derive(Clone, Debug)]
struct Patch {
    at: usize,
    width: usize,
    /// The bits that change. The others may be a length's, which differs from frame to frame.
    mask: u64,
    source: Fed,
    /// The checksums that cover any of it, and per byte, last byte first: 256 if it is the high half
    /// of a word, 1 if it is the low half, 0 if it is not covered.
    weights: Box<[(usize, [u32; WIDEST])]>,
}

/// Where a field's values come from.
#[derive(Clone, Debug)]
enum Fed {
    Itself(Source),
    /// A link's number, divided.
    Link(usize, u64, Values),
}

#[derive(Clone, Debug)]
struct Checksum {
    /// Where it is written.
    at: usize,
    /// One's complement sum of all that stays, for each length from the shortest.
    stays: Vec<u16>,
    /// The sum of what varies in the frame that is being written.
    varied: u64,
    /// Whether it covers the trailer, and where its region begins.
    covers_trailer: Option<usize>,
    /// Whether 0 means none, so that a computed 0 is sent as 0xffff (RFC 768, RFC 8200 §8.1).
    udp: bool,
}

/// The bytes a checksum covers: ranges with the places their words are counted from, one byte of
/// the pseudo-header, and a region that is left out because its own checksum makes it sum to zero.
#[derive(Clone, Debug)]
struct Coverage {
    at: usize,
    udp: bool,
    ranges: Vec<std::ops::Range<usize>>,
    /// Where what it is a checksum of begins, if that goes on to the frame's end.
    payload: Option<usize>,
    /// Where the pseudo-header's protocol is to be read, if there is one and it is read.
    protocol: Option<usize>,
    /// What is added beside: the protocol, where something stands between IP and the transport, so
    /// that IP's own byte says something else (RFC 8200 §8.1).
    beside: u8,
    /// Whether the length is in it, too.
    pseudo: bool,
    without: Vec<std::ops::Range<usize>>,
}

impl Coverage {
    fn weight(&self, byte: usize) -> u32 {
        if self.protocol == Some(byte) {
            return 1;
        }
        if self.without.iter().any(|range| range.contains(&byte)) {
            return 0;
        }
        match self.ranges.iter().find(|range| range.contains(&byte)) {
            Some(range) if (byte - range.start).is_multiple_of(2) => 256,
            Some(_) => 1,
            None => 0,
        }
    }
}

impl FramePlan {
    /// The image of the longest frame, checksums right as long as nothing varies and the trailer
    /// is of zeros; and what is to be done for each frame beside copying it and writing the
    /// trailer, if anything is.
    pub(crate) fn compile(&self, prng: &mut Prng) -> Result<(Vec<u8>, Option<Program>), BadFrame> {
        self.check()?;
        let (shortest, longest) = self.lengths.extremes().ok_or(BadFrame::NoLength)?;
        let [shortest, longest] = [shortest, longest].map(|frame| frame.in_memory() as usize);
        let mut image = vec![0; longest];
        let (header, data) = image.split_at_mut(self.header.len());
        header.copy_from_slice(&self.header);
        match self.data {
            Data::Byte(byte) => data.fill(byte),
            Data::Incrementing => {
                data.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
            }
            Data::Random => data.iter_mut().for_each(|byte| *byte = prng.next() as u8),
        }
        let lengths = self.length_fields();
        set_lengths(&mut image, &lengths, longest);

        let coverages = self.coverages();
        let sums: Vec<Checksum> = coverages
            .iter()
            .map(|coverage| Checksum {
                at: coverage.at,
                stays: (shortest..=longest)
                    .map(|len| self.sum_of_what_stays(&image, coverage, &lengths, len))
                    .collect(),
                varied: 0,
                covers_trailer: coverage.payload.filter(|_| self.footer),
                udp: coverage.udp,
            })
            .collect();
        let is_plain = self.varying.is_empty()
            && shortest == longest
            && self.footer
            && self.checksum_from.is_none()
            && !self.transport.is_some_and(|(_, transport)| transport != Transport::Udp);
        for sum in &sums {
            sum.write(&mut image, longest - shortest, 0, 0);
        }
        let links = self.links.iter().map(|link| {
            let numbers = Values::Range(0, link.count - 1);
            (Source::new(numbers, link.pick, prng), 0)
        });
        let links = links.collect();
        let patches = self.varying.iter().map(|varying| patch(varying, &coverages, prng));
        let patches: Vec<Patch> = patches.collect();
        let rows = match self.links.as_slice() {
            [link] if shortest == longest => {
                Rows::of(&patches, link.count, &image, longest - self.tail(), sums.len())
            }
            _ => None,
        };
        let program = Program {
            patches,
            rows,
            links,
            sums,
            #[cfg(target_os = "linux")]
            coverages: coverages.clone(),
            lengths: if shortest == longest { Vec::new() } else { lengths },
            shortest,
            longest,
            turns: (self.turns(), 0),
            next_len: 0,
            footer: self.footer,
            checksum_from: self.checksum_from,
            tail: self.tail(),
        };
        Ok((image, (!is_plain).then_some(program)))
    }

    /// The lengths that go by turns.
    fn turns(&self) -> Vec<u16> {
        match &self.lengths {
            Lengths::Even(..) => Vec::new(),
            Lengths::InTurn(all) => all.iter().map(|frame| frame.in_memory() as u16).collect(),
        }
    }

    /// Where a frame's length stands, less how much.
    fn length_fields(&self) -> Vec<(usize, usize)> {
        let ip = self.ipv4.iter().map(|ip| (ip + 2, *ip));
        let ipv6 = self.ipv6.iter().map(|ip| (ip + 4, ip + 40));
        let is_udp = |transport| matches!(transport, Transport::Udp | Transport::UdpChecksum);
        let udp = self.transport.filter(|(_, transport)| is_udp(*transport));
        let udp = udp.map(|(at, _)| at).into_iter().chain(self.tunnels.iter().copied());
        ip.chain(ipv6).chain(udp.map(|at| (at + 4, at))).collect()
    }

    fn coverages(&self) -> Vec<Coverage> {
        let header = |ip: &usize| *ip..self.ip_end(*ip);
        let mut coverages: Vec<Coverage> = self
            .ipv4
            .iter()
            .map(|ip| Coverage {
                at: ip + 10,
                udp: false,
                ranges: vec![header(ip)],
                payload: None,
                protocol: None,
                beside: 0,
                pseudo: false,
                without: std::iter::once(ip + 10..ip + 12).collect(),
            })
            .collect();
        let (Some((at, transport)), Some(network)) = (self.transport, self.network()) else {
            return coverages;
        };
        if transport != Transport::Udp {
            let (.., field) = transport.facts();
            let field = at + field;
            // An IP header inside sums to zero together with its own checksum.
            let inside = self.ipv4.iter().filter(|inner| **inner > at).map(header);
            let pseudo = transport.in_pseudo_header().map(|_| network);
            let addresses = pseudo.map(Network::addresses);
            let is_next = |network: &Network| at == self.network_end(*network);
            let beside = transport.in_pseudo_header().filter(|_| !is_next(&network));
            coverages.push(Coverage {
                at: field,
                udp: transport == Transport::UdpChecksum,
                ranges: addresses.into_iter().chain(std::iter::once(at..usize::MAX)).collect(),
                payload: Some(at),
                protocol: pseudo.filter(is_next).map(Network::protocol),
                beside: beside.unwrap_or(0),
                pseudo: pseudo.is_some(),
                without: inside.chain(std::iter::once(field..field + 2)).collect(),
            });
        }
        coverages
    }

    /// Of a frame of this length, without its trailer and without the bits that vary.
    fn sum_of_what_stays(
        &self,
        image: &[u8],
        coverage: &Coverage,
        lengths: &[(usize, usize)],
        len: usize,
    ) -> u16 {
        // Of an IP header nothing behind the headers counts, but a field may begin before their end.
        let end = match coverage.payload {
            Some(_) => len,
            None => len.min(self.header.len() + WIDEST),
        };
        let mut frame = image[..end].to_vec();
        set_lengths(&mut frame, lengths, len);
        if self.footer && end == len {
            frame[len - trailer::LEN..].fill(0);
        }
        if self.checksum_from.is_some() && end == len {
            let at = len - self.tail();
            frame[at..at + 2].fill(0); // made last, over all: it is left out of the others
        }
        for varying in &self.varying {
            let end = varying.at + varying.width;
            if end <= (len - self.tail()).min(frame.len()) {
                let bytes = &mut frame[varying.at..end];
                put(bytes, get(bytes) & !varying.mask);
            }
        }
        coverage.without.iter().for_each(|range| frame[range.clone()].fill(0));
        let mut sum = Sum::default();
        for range in &coverage.ranges {
            sum = sum.bytes(&frame[range.start..range.end.min(len)]);
            // Only the last range may be of odd length, and it is the last one.
        }
        if let (true, Some((at, _))) = (coverage.pseudo, self.transport) {
            let protocol = coverage.protocol.map_or(coverage.beside, |at| frame[at]);
            sum = sum.u16(u16::from(protocol)).u16((len - at) as u16);
        }
        sum.fold()
    }
}

fn patch(varying: &Varying, coverages: &[Coverage], prng: &mut Prng) -> Patch {
    let Varying { at, width, mask, ref values, pick, link } = *varying;
    let weights = coverages.iter().enumerate().filter_map(|(i, coverage)| {
        let mut weights = [0; WIDEST];
        for byte in 0..width {
            weights[width - 1 - byte] = coverage.weight(at + byte);
        }
        weights.iter().any(|weight| *weight > 0).then_some((i, weights))
    });
    let weights = weights.collect();
    let source = match link {
        None => Fed::Itself(Source::new(values.clone(), pick, prng)),
        Some((link, divisor)) => Fed::Link(link, divisor, values.clone()),
    };
    Patch { at, width, mask, source, weights }
}

impl Program {
    /// Whether all frames are of one length.
    pub(crate) fn has_one_length(&self) -> bool {
        self.shortest == self.longest
    }

    /// How long the next frame is, however often it is asked.
    #[inline(never)]
    pub(crate) fn next_len(&mut self, prng: &mut Prng) -> usize {
        // Asked again: there was no room for the frame, which is still the next.
        if self.next_len != 0 {
            return self.next_len;
        }
        let lengths = (self.longest - self.shortest) as u64 + 1;
        let (turns, next) = &mut self.turns;
        self.next_len = if let Some(&len) = turns.get(*next) {
            *next = if *next + 1 == turns.len() { 0 } else { *next + 1 };
            usize::from(len)
        } else if lengths == 1 {
            self.longest
        } else {
            self.shortest + prng.below(lengths) as usize
        };
        self.next_len
    }

    /// Writes a frame of the length said last. Out of line, so that plain streams' loop stays small.
    #[inline(never)]
    pub(crate) fn write(
        &mut self,
        image: &[u8],
        prng: &mut Prng,
        trailer: Trailer,
        bytes: &mut [u8],
    ) {
        let len = bytes.len();
        assert!(
            (self.shortest..=self.longest).contains(&len),
            "{len} bytes for a stream of {} to {}",
            self.shortest,
            self.longest,
        );
        self.next_len = 0;
        bytes.copy_from_slice(&image[..len]);
        set_lengths(bytes, &self.lengths, len);
        let end = len - self.tail;
        for (source, number) in &mut self.links {
            *number = source.next(prng);
        }
        if let Some(rows) = &self.rows {
            rows.put(self.links[0].1, bytes, &mut self.sums);
        }
        let patches = if self.rows.is_some() { &mut [][..] } else { &mut self.patches[..] };
        for patch in patches {
            // Drawn for every frame, so that a short one does not shift the others' values.
            let value = patch.mask
                & match &mut patch.source {
                    Fed::Itself(source) => source.next(prng),
                    Fed::Link(link, divisor, values) => {
                        values.at(self.links[*link].1 / *divisor % values.count())
                    }
                };
            if patch.at + patch.width > end {
                continue;
            }
            let field = &mut bytes[patch.at..patch.at + patch.width];
            put(field, value | get(field) & !patch.mask);
            for (sum, weights) in &patch.weights {
                self.sums[*sum].varied += weigh(value, weights);
            }
        }
        let mut footer = [0; trailer::LEN];
        if self.footer {
            footer = trailer.to_bytes();
            bytes[len - trailer::LEN..].copy_from_slice(&footer);
        }
        for sum in &mut self.sums {
            let varied = fold(std::mem::take(&mut sum.varied));
            let footer = sum.covers_trailer.map_or(0, |from| {
                let footer = Sum::default().bytes(&footer).fold();
                // At an odd offset every byte is the other half of its word (RFC 1071 §2 (B)).
                let even = (len - trailer::LEN - from).is_multiple_of(2);
                if even { footer } else { footer.swap_bytes() }
            });
            sum.write(bytes, len - self.shortest, varied, footer);
        }
        if let Some(from) = self.checksum_from {
            write_check(bytes, from, self.tail);
        }
    }
}

impl Checksum {
    #[inline]
    fn write(&self, bytes: &mut [u8], longer: usize, varied: u16, footer: u16) {
        let sum = Sum::default().u16(self.stays[longer]).u16(varied).u16(footer);
        let checksum = match sum.finish() {
            0 if self.udp => 0xffff,
            checksum => checksum,
        };
        bytes[self.at..self.at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Puts the Internet checksum of all bytes from `from` into the first two of the last `tail`, which
/// count as zeros in it.
fn write_check(bytes: &mut [u8], from: usize, tail: usize) {
    let at = bytes.len() - tail;
    bytes[at..at + 2].fill(0);
    let sum = checksum::of(&bytes[from.min(at)..]);
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Whether the check that `write_check` made is still right.
pub fn check_is_right(bytes: &[u8], from: usize, tail: usize) -> bool {
    let Some(at) = bytes.len().checked_sub(tail) else { return false };
    let (from, found) = (from.min(at), [bytes[at], bytes[at + 1]]);
    let found = u16::from_be_bytes(found);
    // Taking a word away is adding its complement; at an odd offset it counts swapped.
    let counted = if (at - from).is_multiple_of(2) { found } else { found.swap_bytes() };
    let sum = Sum::default().bytes(&bytes[from..]).u16(!counted).finish();
    sum == found || (sum ^ found) == 0xffff && matches!(found, 0 | 0xffff)
}

fn set_lengths(bytes: &mut [u8], fields: &[(usize, usize)], len: usize) {
    for &(at, less) in fields {
        bytes[at..at + 2].copy_from_slice(&((len - less) as u16).to_be_bytes());
    }
}

#[inline]
fn weigh(value: u64, weights: &[u32; WIDEST]) -> u64 {
    let bytes = value.to_le_bytes().into_iter().zip(weights);
    bytes.map(|(byte, weight)| u64::from(byte) * u64::from(*weight)).sum()
}

#[inline]
fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[inline]
fn put(bytes: &mut [u8], value: u64) {
    let value = value.to_be_bytes();
    bytes.copy_from_slice(&value[8 - bytes.len()..]);
}

fn get(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
