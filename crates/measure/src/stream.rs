//! Streams: a template, a frame length, and what changes from frame to frame.
//!
//! ```text
//! StreamPlan ─ build ─► Stream { image, sums, fields or flows }   UDP over IPv4: the fast path
//!      └ of IPv6 ▼
//! FramePlan ── build ─► Stream { image, program }                 any headers (module `frame`)
//!                          │ write, once per frame
//!                          ▼
//!   copy the image ─► patch what varies ─► IPv4 checksum ─► trailer ─► (UDP checksum)
//! ```
//!
//! Checksums are never computed over the frame: the sum of all that stays is kept, and what varies
//! is added to it. Fields that stay cost nothing. A flow is 16 bytes made in advance (IPv4
//! checksum, addresses and ports lie side by side in the frame, so it is one copy).
//!
//! Never decides when a frame is sent ([`send`](crate::send)).

// Streams sent and counted in the kernel.
#[cfg(target_os = "linux")]
pub mod kernel;

use crate::frame::{BadFrame, FramePlan, Look, Program, Shape};
use crate::message::Kind;
use crate::template::{BadLength, Ends, IPV4, UDP};
use crate::trailer::{self, Trailer};
use crate::vary::{self, Ahead, Source};
pub use crate::vary::{BadVariation, Field, Pick, Values, Variation};
use crate::{Prng, Template};
use std::fmt;
use std::sync::Arc;
use wire::checksum::Sum;
use wire::{FrameLen, Moment};

/// What a stream is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// Its number, by which the receiver knows it; unique within a test.
    pub id: u8,
    /// What all frames have in common.
    pub template: Template,
    /// Length of every frame.
    pub frame: FrameLen,
    /// What changes.
    pub variation: Variation,
    /// Where random choices start from.
    pub seed: u64,
}

/// The plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadStream {
    /// See [`BadLength`].
    Length(BadLength),
    /// See [`BadVariation`].
    Variation(BadVariation),
    /// See [`BadFrame`].
    Frame(BadFrame),
}

impl fmt::Display for BadStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadStream::Length(bad) => bad.fmt(f),
            BadStream::Variation(bad) => bad.fmt(f),
            BadStream::Frame(bad) => bad.fmt(f),
        }
    }
}

impl std::error::Error for BadStream {}

impl From<BadLength> for BadStream {
    fn from(bad: BadLength) -> BadStream {
        BadStream::Length(bad)
    }
}

impl From<BadVariation> for BadStream {
    fn from(bad: BadVariation) -> BadStream {
        BadStream::Variation(bad)
    }
}

impl From<BadFrame> for BadStream {
    fn from(bad: BadFrame) -> BadStream {
        BadStream::Frame(bad)
    }
}

impl StreamPlan {
    /// Makes ready all that need not be done per frame.
    ///
    /// # Errors
    /// [`BadStream`] names what is wrong with the plan.
    pub fn build(self) -> Result<Stream, BadStream> {
        let image = self.template.image(self.frame)?;
        self.variation.check(self.template.ends.family())?;
        let Ends::V4 { src, dst } = self.template.ends else {
            let plan = FramePlan::of_template(&self.template, &self.variation, self.frame.into());
            return Ok(plan.build(self.id, 0, self.seed)?);
        };
        let mut still = image.clone();
        still[IPV4 + 10..UDP + 4].fill(0); // checksum, addresses, ports
        still[UDP + 6..UDP + 8].fill(0);
        let udp_len = (still.len() - UDP) as u16;
        let ipv4_sum = Sum::default().bytes(&still[IPV4..UDP]);
        let udp_sum = Sum::pseudo_ipv4(0, 0, 17, udp_len).bytes(&still[UDP..]);
        let now = Current::of(&self.template, src, dst);
        let mut prng = Prng::new(self.seed);
        let vary = match self.variation {
            Variation::Fields(fields) if fields.is_empty() => Vary::Nothing,
            Variation::Fields(fields) => {
                let source = |(field, values, pick)| (field, Source::new(values, pick, &mut prng));
                Vary::Fields(fields.into_iter().map(source).collect())
            }
            Variation::Flows { fields, count, pick } => {
                let flow = |index| {
                    let mut values = now;
                    vary::flow(&fields, index).for_each(|(field, value)| values.set(field, value));
                    Flow::new(ipv4_sum, values)
                };
                let flows: Vec<Flow> = (0..count).map(flow).collect();
                match pick {
                    Pick::InTurn => Vary::FlowsInTurn { flows, next: 0 },
                    Pick::Backwards => {
                        let flows = flows.into_iter().rev().collect();
                        Vary::FlowsInTurn { flows, next: 0 }
                    }
                    Pick::Random => {
                        let ahead = Ahead::new(&mut prng, count as u64);
                        Vary::FlowsRandom { flows, ahead }
                    }
                }
            }
        };
        let udp_sum = self.template.udp_checksum.then_some(udp_sum);
        let (id, frame) = (self.id, self.frame);
        let (test, sequence, shape) = (0, 0, None);
        Ok(Stream { id, test, frame, image, ipv4_sum, udp_sum, now, vary, prng, sequence, shape })
    }
}

impl FramePlan {
    /// The stream of these frames. If they are all alike but for their trailers, they cost what
    /// the plainest stream costs.
    ///
    /// # Errors
    /// [`BadFrame`] names what is wrong with the plan.
    pub fn build(&self, id: u8, test: u8, seed: u64) -> Result<Stream, BadFrame> {
        let mut prng = Prng::new(seed);
        let (image, program) = self.compile(&mut prng)?;
        let vary = program.map_or(Vary::Nothing, |program| Vary::Program(Box::new(program)));
        let (_, frame) = self.lengths.extremes().ok_or(BadFrame::NoLength)?;
        let (ipv4_sum, now) = (Sum::default(), Current::default());
        let (udp_sum, sequence, shape) = (None, 0, Some(Arc::new(self.shape())));
        Ok(Stream { id, test, frame, image, ipv4_sum, udp_sum, now, vary, prng, sequence, shape })
    }
}

/// A stream under way: makes one frame after the other.
#[derive(Clone, Debug)]
pub struct Stream {
    id: u8,
    test: u8,
    frame: FrameLen,
    image: Vec<u8>,
    /// Of the IPv4 header without checksum and addresses.
    ipv4_sum: Sum,
    /// Of pseudo-header and datagram without checksum, addresses, ports and trailer; none if
    /// frames go without UDP checksum.
    udp_sum: Option<Sum>,
    now: Current,
    vary: Vary,
    prng: Prng,
    sequence: u64,
    /// What its frames look like, if they are not UDP over IPv4 of one length.
    shape: Option<Arc<Shape>>,
}

#[derive(Clone, Debug)]
enum Vary {
    Nothing,
    Fields(Vec<(Field, Source)>),
    FlowsInTurn {
        flows: Vec<Flow>,
        next: usize,
    },
    FlowsRandom {
        flows: Vec<Flow>,
        ahead: Ahead,
    },
    /// Any headers: see [`frame`](crate::frame).
    Program(Box<Program>),
}

/// The six fields that can change.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    dst_mac: u64,
    src_mac: u64,
    src: u32,
    dst: u32,
    src_port: u16,
    dst_port: u16,
}

/// What a flow puts into a frame from the IPv4 checksum to the UDP ports, and its sum.
#[derive(Clone, Copy, Debug)]
struct Flow {
    bytes: [u8; FLOW],
    /// One's complement sum of addresses and ports: the flow's part of the UDP checksum.
    sum: u16,
}

const FLOW: usize = 14;
/// Where those bytes stand.
const FLOW_AT: usize = IPV4 + 10;

impl Stream {
    /// The stream's number.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// The length of its frames; of the longest, if they differ.
    pub fn frame(&self) -> FrameLen {
        self.frame
    }

    /// The length in memory of all its frames; `None` if they may differ.
    #[inline]
    pub fn fixed_len(&self) -> Option<usize> {
        match &self.vary {
            Vary::Program(program) => program.has_one_length().then_some(self.image.len()),
            _ => Some(self.image.len()),
        }
    }

    /// How many bytes in memory the next frame has: what [`write`](Self::write) is to be given.
    #[inline]
    pub fn next_len(&mut self) -> usize {
        match &mut self.vary {
            Vary::Program(program) => program.next_len(&mut self.prng),
            _ => self.image.len(),
        }
    }

    /// The lengths that its frames have by turns, if they do.
    pub(crate) fn turns(&self) -> Option<Vec<FrameLen>> {
        self.shape.as_ref()?.turns()
    }

    /// Whether the receiver would take a frame with this number for a whole one of the stream.
    pub fn is_intact(&self, frame: &[u8], number: u64) -> bool {
        self.shape.as_ref().is_none_or(|shape| shape.look(frame, number) == Look::Intact)
    }

    /// What frames of any headers look like.
    pub(crate) fn shape(&self) -> Option<&Arc<Shape>> {
        self.shape.as_ref()
    }

    /// What its frames are by their headers.
    pub(crate) fn kind(&self) -> Kind {
        Kind::of(&self.image)
    }

    /// Whether its frames carry a UDP checksum.
    pub fn udp_checksum(&self) -> bool {
        self.udp_sum.is_some()
    }

    /// The sequence number the next frame will have: how many were written.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Writes the next frame, stamped `now`.
    ///
    /// # Panics
    /// If `bytes` is not exactly as long as the stream's frames in memory; of frames that differ,
    /// as [`next_len`](Self::next_len) said.
    #[inline]
    pub fn write(&mut self, now: Moment, bytes: &mut [u8]) {
        if let Vary::Program(program) = &mut self.vary {
            let Stream { id: stream, test, sequence, .. } = *self;
            let trailer = Trailer { stream, test, sequence, time: now };
            program.write(&self.image, &mut self.prng, trailer, bytes);
            self.sequence += 1;
            return;
        }
        assert!(bytes.len() == self.image.len(), "{} bytes for {:?}", bytes.len(), self.frame);
        // The commonest length by far, as a copy the compiler unrolls: 2 ns less than a call.
        match (bytes.as_mut_array::<60>(), self.image.as_array::<60>()) {
            (Some(bytes), Some(image)) => *bytes = *image,
            _ => bytes.copy_from_slice(&self.image),
        }
        let varied = match &mut self.vary {
            Vary::Nothing | Vary::Program(_) => self.now.sum(),
            Vary::Fields(sources) => {
                for (field, source) in sources {
                    self.now.set(*field, source.next(&mut self.prng));
                }
                bytes[..12].copy_from_slice(&self.now.macs());
                Flow::new(self.ipv4_sum, self.now).put(bytes)
            }
            Vary::FlowsInTurn { flows, next } => {
                let flow = &flows[*next];
                *next = if *next + 1 == flows.len() { 0 } else { *next + 1 };
                flow.put(bytes)
            }
            Vary::FlowsRandom { flows, ahead } => {
                let n = flows.len() as u64;
                let far = |index| port::prefetch::element(flows, index);
                let index = ahead.next(&mut self.prng, n, far);
                flows[index as usize].put(bytes)
            }
        };
        let Stream { id: stream, test, sequence, .. } = *self;
        let trailer = Trailer { stream, test, sequence, time: now }.to_bytes();
        let at = bytes.len() - trailer::LEN;
        bytes[at..].copy_from_slice(&trailer);
        if let Some(sum) = self.udp_sum {
            let trailer = Sum::default().bytes(&trailer).fold();
            // At an odd offset every byte is the other half of its word (RFC 1071 §2 (B)).
            let trailer = if at.is_multiple_of(2) { trailer } else { trailer.swap_bytes() };
            let checksum = match sum.u16(varied).u16(trailer).finish() {
                0 => 0xffff, // 0 would mean none (RFC 768)
                checksum => checksum,
            };
            bytes[UDP + 6..UDP + 8].copy_from_slice(&checksum.to_be_bytes());
        }
        self.sequence += 1;
    }
}

impl Current {
    fn of(template: &Template, src: u32, dst: u32) -> Current {
        Current {
            dst_mac: template.dst_mac.to_u64(),
            src_mac: template.src_mac.to_u64(),
            src,
            dst,
            src_port: template.src_port,
            dst_port: template.dst_port,
        }
    }

    #[inline]
    fn set(&mut self, field: Field, value: u64) {
        match field {
            Field::DstMac => self.dst_mac = value,
            Field::SrcMac => self.src_mac = value,
            Field::Src => self.src = value as u32,
            Field::Dst => self.dst = value as u32,
            Field::SrcPort => self.src_port = value as u16,
            Field::DstPort => self.dst_port = value as u16,
        }
    }

    #[inline]
    fn macs(self) -> [u8; 12] {
        let both = u128::from(self.dst_mac) << 80 | u128::from(self.src_mac) << 32;
        let mut bytes = [0; 12];
        bytes.copy_from_slice(&both.to_be_bytes()[..12]);
        bytes
    }

    /// Of addresses and ports.
    #[inline]
    fn sum(self) -> u16 {
        let ports = u32::from(self.src_port) << 16 | u32::from(self.dst_port);
        Sum::default().u32(self.src).u32(self.dst).u32(ports).fold()
    }
}

impl Flow {
    #[inline]
    fn new(ipv4_sum: Sum, values: Current) -> Flow {
        let checksum = ipv4_sum.u32(values.src).u32(values.dst).finish();
        let bytes = u128::from(checksum) << 96
            | u128::from(values.src) << 64
            | u128::from(values.dst) << 32
            | u128::from(values.src_port) << 16
            | u128::from(values.dst_port);
        let mut flow = Flow { bytes: [0; FLOW], sum: values.sum() };
        flow.bytes.copy_from_slice(&bytes.to_be_bytes()[2..]);
        flow
    }

    /// Writes it into a frame, and returns its part of the UDP checksum.
    #[inline]
    fn put(&self, frame: &mut [u8]) -> u16 {
        frame[FLOW_AT..FLOW_AT + FLOW].copy_from_slice(&self.bytes);
        self.sum
    }
}

#[cfg(test)]
mod tests;
