//! Capturing: a port around a port, that copies what passes to a sink.
//!
//! ```text
//!  inner.receive ─┬──────────────► receive        send ──┬────────────► inner.send
//!                 └─ copy, In ─► sink ◄─── copy, Out ────┘
//! ```
//!
//! A sink is a vector, a [`pcap::Writer`] or a
//! [`pcapng::Writer`]. What is sent is copied before the inner port may drop
//! it, as a sniffer on an interface sees it. Time is the `now` that was passed in, counted from
//! [`starting_at`](CapturePort::starting_at).
//!
//! A sink that fails never harms the traffic: its first error is kept, and the frames from then on
//! are counted as missed.
//!
//! Never changes a frame, never opens a file. Missing: **filters**, **limits of length and memory**.

use crate::record::{Direction, Record};
use crate::{Batch, Capabilities, Frame, Pool, Port, PortCounters, Slab, pcap, pcapng};
use std::io::{self, Write};
use wire::Moment;

/// Where captured frames go.
pub trait Sink {
    /// Takes one frame.
    ///
    /// # Errors
    /// Whatever keeps it from being stored.
    fn write(&mut self, record: &Record<'_>) -> io::Result<()>;
}

impl<W: Write> Sink for pcap::Writer<W> {
    fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.write(record)
    }
}

impl<W: Write> Sink for pcapng::Writer<W> {
    fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.write(record)
    }
}

/// A captured frame of a sink in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Nanoseconds since 1970, or since the simulation began.
    pub timestamp_ns: u64,
    /// Whether the port received it or sent it.
    pub direction: Option<Direction>,
    /// The frame, without FCS.
    pub bytes: Vec<u8>,
}

impl Sink for Vec<Captured> {
    fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        let Record { timestamp_ns, direction, bytes, .. } = *record;
        self.push(Captured { timestamp_ns, direction, bytes: bytes.to_vec() });
        Ok(())
    }
}

/// A port whose traffic is copied to a [`Sink`].
pub struct CapturePort<P, S> {
    inner: P,
    sink: S,
    /// What `Moment::ZERO` is in nanoseconds since 1970.
    start_ns: u64,
    error: Option<io::Error>,
    n_missed: u64,
}

impl<P: Port, S: Sink> CapturePort<P, S> {
    /// Wraps `inner`; [`Moment::ZERO`] becomes the beginning of 1970.
    pub fn new(inner: P, sink: S) -> CapturePort<P, S> {
        CapturePort { inner, sink, start_ns: 0, error: None, n_missed: 0 }
    }

    /// The same, with [`Moment::ZERO`] at so many nanoseconds since 1970.
    pub fn starting_at(self, start_ns: u64) -> CapturePort<P, S> {
        CapturePort { start_ns, ..self }
    }

    /// What has been captured so far.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Frames that passed after the sink had failed, and the one with which it did.
    pub fn n_missed(&self) -> u64 {
        self.n_missed
    }

    /// Ends the capture: the inner port, the sink, and why it failed if it did.
    pub fn finish(self) -> (P, S, Option<io::Error>) {
        (self.inner, self.sink, self.error)
    }

    fn capture(&mut self, now: Moment, direction: Direction, slab: &Slab, frames: &[Frame]) {
        let timestamp_ns = self.start_ns.saturating_add(now.as_nanos());
        for frame in frames {
            if self.error.is_none() {
                let record = Record::ethernet(timestamp_ns, slab.bytes(frame));
                let record = Record { direction: Some(direction), ..record };
                self.error = self.sink.write(&record).err();
            }
            self.n_missed += u64::from(self.error.is_some());
        }
    }
}

impl<P: Port, S: Sink> Port for CapturePort<P, S> {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        let n = self.inner.receive(now, pool, batch);
        self.capture(now, Direction::In, pool.slab(), &batch.as_slice()[batch.len() - n..]);
        n
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        self.capture(now, Direction::Out, pool.slab(), batch.as_slice());
        self.inner.send(now, pool, batch);
    }

    fn counters(&self) -> PortCounters {
        self.inner.counters()
    }

    fn next_start(&self) -> Option<Moment> {
        self.inner.next_start()
    }

    fn refused(&self) -> u64 {
        self.inner.refused()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    fn frame(pool: &mut Pool, bytes: &[u8]) -> Frame {
        let mut frame = pool.alloc(bytes.len()).unwrap();
        pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
        frame
    }

    /// Two frames out at 5 ns, one in at 7 ns, through a capturing end into `sink`.
    fn exchange<S: Sink>(sink: S) -> (S, u64, Option<io::Error>) {
        let slab = Slab::new(64).unwrap();
        let mut pool = slab.pool();
        let (a, mut b) = memory::wire(8);
        let mut a = CapturePort::new(a, sink).starting_at(1_000_000_000);
        let mut batch = Batch::new();
        batch.push(frame(&mut pool, b"one"));
        batch.push(frame(&mut pool, b"two"));
        a.send(Moment::from_nanos(5), &mut pool, &mut batch);
        batch.push(frame(&mut pool, b"three"));
        b.send(Moment::from_nanos(6), &mut pool, &mut batch);
        // What is in the batch before is not captured.
        batch.push(frame(&mut pool, b"other"));
        assert_eq!(a.receive(Moment::from_nanos(7), &mut pool, &mut batch), 1);
        assert_eq!(slab.bytes(&batch.as_slice()[1]), b"three");
        let counters = a.counters();
        assert_eq!((counters.tx_packet, counters.rx_packet, b.waiting()), (2, 1, 2));
        let n_missed = a.n_missed();
        let (_, sink, error) = a.finish();
        (sink, n_missed, error)
    }

    #[test]
    fn what_passes_is_copied_with_its_time_and_direction() {
        let (sink, n_missed, error) = exchange(Vec::new());
        let captured = |timestamp_ns, direction, bytes: &[u8]| Captured {
            timestamp_ns,
            direction: Some(direction),
            bytes: bytes.to_vec(),
        };
        let expected = [
            captured(1_000_000_005, Direction::Out, b"one"),
            captured(1_000_000_005, Direction::Out, b"two"),
            captured(1_000_000_007, Direction::In, b"three"),
        ];
        assert_eq!((&sink[..], n_missed), (&expected[..], 0));
        assert!(error.is_none());
    }

    #[test]
    fn files_hold_what_memory_holds() {
        let (expected, ..) = exchange(Vec::new());
        let pcap = exchange(pcap::Writer::new(vec![]).unwrap()).0.finish().unwrap();
        let pcapng = exchange(pcapng::Writer::new(vec![]).unwrap()).0.finish().unwrap();
        for (file, knows_direction) in [(pcap, false), (pcapng, true)] {
            let mut reader = crate::record::Reader::new(file.as_slice()).unwrap();
            for captured in &expected {
                let record = reader.read().unwrap().unwrap();
                assert_eq!(record.timestamp_ns, captured.timestamp_ns);
                assert_eq!(record.bytes, captured.bytes);
                assert_eq!(record.direction, captured.direction.filter(|_| knows_direction));
            }
            assert_eq!(reader.read().unwrap(), None);
        }
    }

    struct Full(usize);

    impl Sink for Full {
        fn write(&mut self, _: &Record<'_>) -> io::Result<()> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::other("the disk is full"))?;
            Ok(())
        }
    }

    #[test]
    fn a_sink_that_fails_harms_only_the_capture() {
        let (_, n_missed, error) = exchange(Full(1)); // which checks the traffic itself
        assert_eq!(n_missed, 2);
        assert_eq!(error.unwrap().to_string(), "the disk is full");
    }
}
