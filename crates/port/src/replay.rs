//! A capture played back in virtual time: each frame comes when it came then.
//!
//! ```text
//!  record::Reader ─► due = start + (its time − the first's time) ─► receive at the first now ≥ due
//!  send ─► counted and freed: this wire ends nowhere
//! ```
//!
//! A time that lies before its predecessor's counts as the same: frames keep the file's order.
//! What cannot be played is skipped and counted in [`Skipped`]; a file that turns out broken ends
//! the replay, and [`error`](ReplayPort::error) says why. To keep what is sent, wrap the port in a
//! [`CapturePort`](crate::CapturePort).
//!
//! Never reads a clock, never opens a file, reads one record ahead.
//! Missing: **`speed-multiplier`**, **`loop`** (a `Read` cannot go back).

use crate::record::{ETHERNET, ReadError, Reader, Record};
use crate::slab::MAX_FRAME;
use crate::{Batch, Pool, Port, PortCounters};
use std::io::Read;
use std::time::Duration;
use wire::Moment;

/// What of a capture was not played, and what was played in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Records that are no Ethernet frames: not played.
    pub not_ethernet: u64,
    /// Frames longer than [`MAX_FRAME`]: not played.
    pub too_long: u64,
    /// Frames of which the file holds only the beginning: that was played.
    pub cut_short: u64,
}

/// A port that receives a capture.
pub struct ReplayPort<R> {
    reader: Reader<R>,
    start: Moment,
    /// The time of the file's first record.
    first_ns: Option<u64>,
    /// When the next frame comes; `None` after the last.
    due: Option<Moment>,
    /// The next frame.
    bytes: Vec<u8>,
    skipped: Skipped,
    error: Option<ReadError>,
    counters: PortCounters,
}

impl<R: Read> ReplayPort<R> {
    /// Plays what `reader` reads from now on; its first record comes at `start`.
    pub fn new(reader: Reader<R>, start: Moment) -> ReplayPort<R> {
        let mut port = ReplayPort {
            reader,
            start,
            first_ns: None,
            due: Some(start),
            bytes: Vec::new(),
            skipped: Skipped::default(),
            error: None,
            counters: PortCounters::default(),
        };
        port.advance();
        port
    }

    /// When the next frame comes, or could have; `None` after the last.
    pub fn next_arrival(&self) -> Option<Moment> {
        self.due
    }

    /// What was not played so far.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// Why the replay ended before the file did, if it did.
    pub fn error(&self) -> Option<&ReadError> {
        self.error.as_ref()
    }

    /// Makes the next record that can be played the next frame.
    fn advance(&mut self) {
        let previous = self.due.take();
        loop {
            let record = match self.reader.read() {
                Ok(Some(record)) => record,
                Ok(None) => return,
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            };
            let first_ns = *self.first_ns.get_or_insert(record.timestamp_ns);
            match record {
                Record { link_type, .. } if link_type != ETHERNET => self.skipped.not_ethernet += 1,
                Record { bytes, .. } if bytes.len() > MAX_FRAME => self.skipped.too_long += 1,
                Record { timestamp_ns, original_len, bytes, .. } => {
                    self.skipped.cut_short += u64::from(bytes.len() < original_len as usize);
                    let offset = Duration::from_nanos(timestamp_ns.saturating_sub(first_ns));
                    self.due = previous.max(Some(self.start + offset));
                    self.bytes.clear();
                    self.bytes.extend(bytes);
                    return;
                }
            }
        }
    }
}

impl<R: Read> Port for ReplayPort<R> {
    /// When no frame is free the one that comes is lost and counted as `rx_drop`, as by a NIC
    /// without descriptors.
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        while batch.room() > 0 && self.due.is_some_and(|due| due <= now) {
            match pool.alloc(self.bytes.len()) {
                Some(mut frame) => {
                    pool.slab().bytes_mut(&mut frame).copy_from_slice(&self.bytes);
                    self.counters.rx_packet += 1;
                    self.counters.rx_byte += self.bytes.len() as u64;
                    batch.push(frame);
                }
                None => self.counters.rx_drop += 1,
            }
            self.advance();
        }
        batch.len() - before
    }

    fn send(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.drain() {
            self.counters.tx_packet += 1;
            self.counters.tx_byte += frame.len() as u64;
            pool.free(frame);
        }
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Slab, pcap};

    fn capture(records: &[Record<'_>]) -> Vec<u8> {
        let mut writer = pcap::Writer::new(vec![]).unwrap();
        for record in records {
            writer.write(record).unwrap();
        }
        writer.finish().unwrap()
    }

    /// When a frame came and what it held.
    type Seen = (u64, Vec<u8>);

    /// Plays `file` from nanosecond 100 on, moving from arrival to arrival; returns when each frame
    /// came and what it held.
    fn play(file: &[u8]) -> (Vec<Seen>, ReplayPort<&[u8]>) {
        let slab = Slab::new(64).unwrap();
        let (mut pool, mut batch, mut seen) = (slab.pool(), Batch::new(), vec![]);
        let mut port = ReplayPort::new(Reader::new(file).unwrap(), Moment::from_nanos(100));
        while let Some(due) = port.next_arrival() {
            let before = Moment::from_nanos(due.as_nanos() - 1);
            assert_eq!(port.receive(before, &mut pool, &mut batch), 0, "early");
            assert!(port.receive(due, &mut pool, &mut batch) > 0, "late");
            for frame in batch.drain() {
                seen.push((due.as_nanos(), slab.bytes(&frame).to_vec()));
                pool.free(frame);
            }
        }
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
        (seen, port)
    }

    #[test]
    fn frames_come_at_their_times() {
        let at = |ns: u64, bytes| Record::ethernet(1_700_000_000_000_000_000 + ns, bytes);
        // The third one's time runs backwards.
        let file = capture(&[at(50, b"a"), at(60, b"bb"), at(55, b"c"), at(9_000_000_050, b"d")]);
        let (seen, port) = play(&file);
        let expected = [(100, "a"), (110, "bb"), (110, "c"), (9_000_000_100, "d")];
        assert_eq!(seen, expected.map(|(ns, bytes)| (ns, bytes.as_bytes().to_vec())));
        assert_eq!((port.counters().rx_packet, port.counters().rx_byte), (4, 5));
        assert_eq!(port.skipped(), Skipped::default());
        assert!(port.error().is_none());
    }

    #[test]
    fn what_cannot_be_played_is_counted() {
        let long = vec![7; MAX_FRAME + 1];
        let cut = Record { original_len: 1500, ..Record::ethernet(3, b"cut") };
        let mut file = capture(&[Record::ethernet(1, &long), Record::ethernet(2, &long[1..]), cut]);
        let (seen, port) = play(&file);
        // Time starts with the first record, though that one is not played.
        assert_eq!(seen, [(101, long[1..].to_vec()), (102, b"cut".to_vec())]);
        let skipped = Skipped { too_long: 1, cut_short: 1, not_ethernet: 0 };
        assert_eq!(port.skipped(), skipped);

        file[20] = 127; // link type: 802.11 with radiotap
        let (seen, port) = play(&file);
        assert_eq!((seen.len(), port.skipped().not_ethernet), (0, 3));
    }

    #[test]
    fn a_broken_file_ends_the_replay() {
        let file = capture(&[Record::ethernet(1, b"a"), Record::ethernet(2, b"b")]);
        let (seen, port) = play(&file[..file.len() - 1]);
        assert_eq!(seen, [(100, b"a".to_vec())]);
        let error = port.error().unwrap().to_string();
        assert_eq!(error, "at byte 57: the file ends inside a record's bytes: 0 of 1 bytes");
    }

    #[test]
    fn without_free_frames_frames_are_lost() {
        let records: Vec<_> = (0..100).map(|i| Record::ethernet(i, b"frame")).collect();
        let file = capture(&records);
        let slab = Slab::new(30).unwrap();
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        let now = Moment::from_nanos(50);
        let mut port = ReplayPort::new(Reader::new(file.as_slice()).unwrap(), Moment::ZERO);
        assert_eq!(port.receive(now, &mut pool, &mut batch), 30);
        assert_eq!((port.counters().rx_packet, port.counters().rx_drop), (30, 21));
        assert_eq!(port.next_arrival(), Some(Moment::from_nanos(51)));
        port.send(now, &mut pool, &mut batch);
        assert_eq!((port.counters().tx_packet, port.counters().tx_byte), (30, 150));
        drop(pool);
        assert_eq!((batch.len(), slab.frames_out()), (0, 0));
    }
}
