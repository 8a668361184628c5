//! A foreign tester's frames: those of the Linux kernel's packet generator.
//!
//! ```text
//!  … │ UDP │ magic be9be955 │ number, from 1 │ seconds │ microseconds │ …     4 bytes each, big-endian
//!                             └ loss, order      └─────┬─────┘
//!                                                      └ latency, if both clocks are one
//! ```
//!
//! The layout is the kernel's own (`net/core/pktgen.c`, `struct pktgen_hdr`; Wireshark knows it, too).
//! Seconds are since 1970 by the sender's clock; with `flag NO_TIMESTAMP` both are 0 and there is no
//! latency. With `clone_skb` the kernel sends one frame many times: copies are counted as duplicates.
//! Numbers are 32 bits wide and go round.
//!
//! How many were sent only the sender knows; what is missing in front of the highest number that came
//! is seen here. Never touches the frames.

use crate::delay::{Delays, Variation};
use crate::latency_histogram::LatencyHistogram;
use crate::receive::Tally;
use crate::sequence::{Arrival, Sequence};
use port::{Batch, Pool, Port};
use std::net::IpAddr;
use wire::Moment;

/// What the header begins with.
pub const MAGIC: u32 = 0xbe9b_e955;
/// The number of the first frame.
const FIRST: u64 = 1;

/// What a frame of the kernel's generator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The frame's number, from 1.
    pub number: u32,
    /// When it was made, in nanoseconds since 1970; 0 if it does not say.
    pub time_ns: u64,
}

/// Where a frame's IP header and its UDP header begin: any VLAN tags, IPv4 or IPv6.
#[inline]
fn places(frame: &[u8]) -> Option<(usize, usize)> {
    let u16_at = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = 12;
    while matches!(u16_at(at)?, 0x8100 | 0x88a8) {
        at += 4;
    }
    let ip = at + 2;
    let (protocol, udp) = match u16_at(at)? {
        0x0800 => {
            let header = usize::from(*frame.get(ip)? & 0x0f) * 4;
            // Not the first piece: what looks like UDP is something else.
            let is_first = u16_at(ip + 6)? & 0x1fff == 0;
            (is_first.then_some(*frame.get(ip + 9)?)?, ip + header)
        }
        0x86dd => (*frame.get(ip + 6)?, ip + 40),
        _ => return None,
    };
    (protocol == wire::layers::protocol::UDP).then_some((ip, udp))
}

impl Header {
    /// Reads a frame: any VLAN tags, IPv4 or IPv6, UDP; `None` if it is none of the generator's.
    #[inline]
    pub fn read(frame: &[u8]) -> Option<Header> {
        let (_, udp) = places(frame)?;
        let words = frame.get(udp + 8..udp + 24)?;
        let word =
            |n: usize| words[4 * n..].first_chunk().map_or(0, |four| u32::from_be_bytes(*four));
        let time_ns = u64::from(word(2)) * 1_000_000_000 + u64::from(word(3)) * 1000;
        (word(0) == MAGIC).then(|| Header { number: word(1), time_ns })
    }

    /// The number with the rounds that its 32 bits went: of all that end in these, the one next to the
    /// highest that came before.
    #[inline]
    pub fn after(self, highest: u64) -> u64 {
        let by = self.number.wrapping_sub(highest as u32) as i32;
        highest.saturating_add_signed(i64::from(by))
    }
}

/// What its threads' frames may differ by: each from, then to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fields {
    /// Ethernet's.
    pub macs: ([u8; 6], [u8; 6]),
    /// IP's.
    pub addresses: (IpAddr, IpAddr),
    /// UDP's.
    pub ports: (u16, u16),
}

impl Fields {
    /// Reads a frame of which [`Header::read`] says that it is the generator's.
    pub fn read(frame: &[u8]) -> Option<Fields> {
        let (ip, udp) = places(frame)?;
        let mac = |at: usize| frame.get(at..)?.first_chunk::<6>().copied();
        let four = |at: usize| frame.get(at..)?.first_chunk::<4>().map(|ip| IpAddr::from(*ip));
        let six = |at: usize| frame.get(at..)?.first_chunk::<16>().map(|ip| IpAddr::from(*ip));
        let port = |at: usize| frame.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two));
        let addresses = match *frame.get(ip)? >> 4 {
            4 => (four(ip + 12)?, four(ip + 16)?),
            _ => (six(ip + 8)?, six(ip + 24)?),
        };
        let (macs, ports) = ((mac(6)?, mac(0)?), (port(udp)?, port(udp + 2)?));
        Some(Fields { macs, addresses, ports })
    }
}

/// Counts what comes of one generator.
pub struct PktgenReceiver {
    /// `Moment::ZERO` in nanoseconds since 1970.
    zero_ns: u64,
    sequence: Sequence,
    /// The highest number that came, with the rounds that 32 bits went.
    highest: u64,
    tally: Tally,
    delays: Delays,
    foreign: u64,
    batch: Batch,
}

impl PktgenReceiver {
    /// A receiver of one generator's frames, the first of which has number 1; [`Moment::ZERO`] is so
    /// many nanoseconds after the beginning of 1970, by the sender's clock.
    pub fn new(zero_ns: u64) -> PktgenReceiver {
        PktgenReceiver {
            zero_ns,
            sequence: Sequence::starting_at(FIRST),
            highest: 0,
            tally: Tally::default(),
            delays: Delays::default(),
            foreign: 0,
            batch: Batch::new(),
        }
    }

    /// Receives one batch, counts and frees it, and returns how many frames it had.
    pub fn poll<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        let mut batch = std::mem::take(&mut self.batch);
        let n = port.receive(now, pool, &mut batch);
        for frame in batch.drain() {
            self.count(now, pool.slab().bytes(&frame));
            pool.free(frame);
        }
        self.batch = batch;
        n
    }

    /// Counts one frame.
    pub fn count(&mut self, now: Moment, frame: &[u8]) {
        let Some(header) = Header::read(frame) else {
            self.foreign += 1;
            return;
        };
        let number = header.after(self.highest);
        let arrival = self.sequence.arrive(number);
        let tally = &mut self.tally;
        match arrival {
            Arrival::InOrder => {}
            Arrival::Ahead => tally.gaps += 1,
            Arrival::Late => {
                tally.reordered += 1;
                tally.extent_max = tally.extent_max.max(self.sequence.extent(number));
            }
            Arrival::Duplicate => return tally.duplicate += 1,
            Arrival::Stale => return tally.stale += 1,
            Arrival::Absurd => return tally.corrupt += 1,
        }
        self.highest = self.highest.max(number);
        tally.received += 1;
        tally.bytes += frame.len() as u64 + 4;
        tally.first.get_or_insert(now);
        tally.last = Some(now);
        if header.time_ns > 0 {
            let now_ns = self.zero_ns + now.as_nanos();
            // Its microseconds are cut off, never rounded up.
            self.delays.record(now_ns.saturating_sub(header.time_ns), arrival == Arrival::InOrder);
        }
    }

    /// What came.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Numbers up to the highest that have not come.
    pub fn missing(&self) -> u64 {
        self.highest.saturating_sub(self.tally.received)
    }

    /// Frames that are none of the generator's.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Latencies of the frames that say when they were made, in nanoseconds, to a microsecond.
    pub fn latency(&self) -> LatencyHistogram {
        self.delays.latency()
    }

    /// How much they vary; `None` if there are none.
    pub fn variation(&self) -> Option<Variation> {
        self.delays.variation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::craft;

    /// A frame as `net/core/pktgen.c` lays it out.
    fn frame(number: u32, seconds: u32, micros: u32) -> Vec<u8> {
        let words = [MAGIC, number, seconds, micros];
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let plain = craft::udp(0x0a00_0001, 9, 0x0a00_0002, 9);
        craft::Frame { payload: &payload, ..plain }.build()
    }

    fn after(micros: u64) -> Moment {
        Moment::from_nanos(micros * 1000)
    }

    #[test]
    fn headers() {
        let plain = frame(7, 3, 5);
        let read = Some(Header { number: 7, time_ns: 3_000_005_000 });
        assert_eq!(Header::read(&plain), read);
        let fields = Fields::read(&plain).unwrap();
        let addresses = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse::<IpAddr>().unwrap());
        assert_eq!((fields.addresses, fields.ports), ((addresses[0], addresses[1]), (9, 9)));
        assert_eq!((&fields.macs.1[..], &fields.macs.0[..]), (&plain[..6], &plain[6..12]));
        let mut tagged = plain[..12].to_vec();
        tagged.extend([0x88, 0xa8, 0, 5, 0x81, 0, 0, 7]);
        tagged.extend(&plain[12..]);
        assert_eq!(Header::read(&tagged), read);
        assert_eq!(Fields::read(&tagged), Some(fields));
        let mut six = plain[..12].to_vec();
        six.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 17, 64]);
        six.extend([0; 32]);
        six.extend(&plain[34..]);
        assert_eq!(Header::read(&six), read);
        assert!(Fields::read(&six).unwrap().addresses.0.is_ipv6());
        for (at, byte) in [(23, 6), (42, 0), (21, 1), (12, 9)] {
            let mut other = plain.clone();
            other[at] = byte;
            assert_eq!(Header::read(&other), None, "byte {at}");
        }
        for len in 0..58 {
            assert_eq!(Header::read(&plain[..len]), None, "{len}");
        }
    }

    /// Numbers in their order, and what they say: received, reordered, duplicate, missing.
    #[test]
    fn loss_order_and_copies() {
        for (numbers, expected) in [
            (&[1, 2, 3][..], (3, 0, 0, 0)),
            (&[2, 3], (2, 0, 0, 1)),
            (&[1, 3, 2, 5], (4, 1, 0, 1)),
            (&[1, 1, 1, 2], (2, 0, 2, 0)),
        ] {
            let mut receiver = PktgenReceiver::new(0);
            numbers.iter().for_each(|&n| receiver.count(Moment::ZERO, &frame(n, 0, 0)));
            let Tally { received, reordered, duplicate, .. } = receiver.tally();
            let counted = (received, reordered, duplicate, receiver.missing());
            assert_eq!(counted, expected, "{numbers:?}");
            assert!(receiver.latency().is_empty(), "it does not say when");
        }
        let mut receiver = PktgenReceiver::new(0);
        receiver.count(Moment::ZERO, &[0; 60]);
        assert_eq!((receiver.foreign(), receiver.tally().received), (1, 0));
    }

    #[test]
    fn numbers_go_round() {
        let mut receiver = PktgenReceiver::new(0);
        receiver.highest = u64::from(u32::MAX) - 1;
        receiver.sequence = Sequence::starting_at(u64::from(u32::MAX));
        for number in [u32::MAX, 1, 0, 2] {
            receiver.count(Moment::ZERO, &frame(number, 0, 0));
        }
        let tally = receiver.tally();
        assert_eq!((tally.received, tally.reordered, tally.corrupt), (4, 1, 0), "{tally:?}");
        assert_eq!(receiver.highest, (1 << 32) + 2);
    }

    #[test]
    fn latency_on_one_clock() {
        // Moment::ZERO is 100 s after 1970; frames are made at 100 s + 10 µs and come at + 25 µs.
        let mut receiver = PktgenReceiver::new(100_000_000_000);
        for n in 1..=10 {
            receiver.count(after(u64::from(n) * 100 + 15), &frame(n, 100, n * 100));
        }
        let latency = receiver.latency();
        assert_eq!((latency.len(), latency.min(), latency.max()), (10, 15_000, 15_000));
        assert_eq!(receiver.variation().unwrap().ipdv_max_ns, 0);
    }
}
