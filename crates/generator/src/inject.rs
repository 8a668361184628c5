//! Single frames and captures, sent as they are.
//!
//! ```text
//! inject data=…   ─► waiting ─┐
//!                             ├─► poll ─► port
//! inject-pcap file ─► Replay ─┘   each record at its time, divided by speed-multiplier
//! ```
//!
//! Never changes a byte: what comes back of them is the box's.

use port::record::{ETHERNET, Reader};
use port::slab::MAX_FRAME;
use port::{Batch, Pool, Port};
use std::collections::VecDeque;
use wire::Moment;

/// What is to be sent beside the test.
#[derive(Debug, Default)]
pub(super) struct Injector {
    waiting: VecDeque<(usize, Vec<u8>)>,
    replay: Option<Replay>,
    batch: Batch,
}

/// The most frames that wait, so that a program cannot fill the memory.
const MOST_WAITING: usize = 1024;

/// A capture being sent.
#[derive(Debug)]
pub(super) struct Replay {
    port: usize,
    /// Nanoseconds after the first, in order, and bytes.
    records: Vec<(u64, Vec<u8>)>,
    speed: u64,
    repeat: bool,
    /// When this iteration began.
    begin: Moment,
    next: usize,
    pub(super) sent: Sent,
}

/// What was sent of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) iteration: u64,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) done: bool,
}

impl Replay {
    /// Reads a capture: its Ethernet frames.
    ///
    /// # Errors
    /// RouterOS's words for a file that is none, or holds what cannot be sent.
    pub(super) fn read(
        file: &[u8],
        port: usize,
        speed: u64,
        repeat: bool,
        now: Moment,
    ) -> Result<Replay, String> {
        let fault = |why: &dyn std::fmt::Display| format!("failure: pcap-file: {why}");
        let mut reader = Reader::new(file).map_err(|error| fault(&error))?;
        let (mut records, mut first, mut last) = (Vec::new(), None, 0);
        while let Some(record) = reader.read().map_err(|error| fault(&error))? {
            let number = records.len() + 1;
            if record.link_type != ETHERNET {
                return Err(fault(&format!("packet {number} is no ethernet frame")));
            }
            if record.bytes.len() < record.original_len as usize {
                return Err(fault(&format!("packet {number} was not captured whole")));
            }
            if record.bytes.len() > MAX_FRAME {
                let len = record.bytes.len();
                return Err(fault(&format!(
                    "packet {number} has {len} bytes, at most {MAX_FRAME}"
                )));
            }
            let time = record.timestamp_ns;
            // A time before the one in front of it is its: frames keep their order.
            last = time.saturating_sub(*first.get_or_insert(time)).max(last);
            records.push((last, record.bytes.to_vec()));
        }
        if records.is_empty() {
            return Err(fault(&"it holds no packets"));
        }
        let sent = Sent { iteration: 1, ..Sent::default() };
        Ok(Replay { port, records, speed: speed.max(1), repeat, begin: now, next: 0, sent })
    }

    /// When the next record is due; `None` at the end.
    fn due(&self) -> Option<Moment> {
        let (time, _) = self.records.get(self.next)?;
        Some(self.begin + std::time::Duration::from_nanos(time / self.speed))
    }

    /// How long one iteration takes: the last frame has the mean distance to the first of the
    /// next. A single one comes once a second.
    fn period(&self) -> std::time::Duration {
        let span = self.records.last().map_or(0, |(time, _)| *time);
        let gaps = self.records.len() as u64 - 1;
        let gap = span.checked_div(gaps).unwrap_or(1_000_000_000).max(1);
        std::time::Duration::from_nanos(((span + gap) / self.speed).max(1))
    }

    fn fill(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        while batch.room() > 0 && self.due().is_some_and(|due| due <= now) {
            let (_, bytes) = &self.records[self.next];
            let Some(mut frame) = pool.alloc(bytes.len()) else { return };
            pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
            batch.push(frame);
            self.next += 1;
            if self.next == self.records.len() && self.repeat {
                (self.begin, self.next) = (self.begin + self.period(), 0);
                self.sent.iteration += 1;
            }
        }
        self.sent.done = self.next == self.records.len();
    }
}

impl Injector {
    /// Whether there is something to send, now or later.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.replay.is_some() || !self.waiting.is_empty()
    }

    /// Sends a frame at the next poll.
    ///
    /// # Errors
    /// RouterOS's words for one that cannot be sent.
    pub(super) fn add(&mut self, port: usize, bytes: Vec<u8>) -> Result<(), String> {
        if !(14..=MAX_FRAME).contains(&bytes.len()) {
            let len = bytes.len();
            return Err(format!("failure: data has {len} bytes, a frame 14 to {MAX_FRAME}"));
        }
        if self.waiting.len() == MOST_WAITING {
            return Err("failure: too many frames wait to be injected".to_string());
        }
        self.waiting.push_back((port, bytes));
        Ok(())
    }

    /// Begins a replay.
    ///
    /// # Errors
    /// One is under way.
    pub(super) fn replay(&mut self, replay: Replay) -> Result<(), String> {
        if self.replay.as_ref().is_some_and(|replay| !replay.sent.done) {
            return Err("failure: a capture is being injected already".to_string());
        }
        self.replay = Some(replay);
        Ok(())
    }

    /// What was sent of the capture.
    pub(super) fn sent(&self) -> Option<Sent> {
        self.replay.as_ref().map(|replay| replay.sent)
    }

    /// Ends the replay.
    pub(super) fn stop(&mut self) {
        self.replay = None;
    }

    /// Sends what is due.
    pub(super) fn poll<P: Port>(&mut self, now: Moment, pool: &mut Pool, ports: &mut [P]) {
        while let Some((port, bytes)) = self.waiting.pop_front() {
            let Some(mut frame) = pool.alloc(bytes.len()) else {
                self.waiting.push_front((port, bytes));
                break;
            };
            pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
            self.batch.push(frame);
            send(now, port, pool, ports, &mut self.batch);
        }
        let Some(replay) = &mut self.replay else { return };
        replay.fill(now, pool, &mut self.batch);
        let sent = send(now, replay.port, pool, ports, &mut self.batch);
        replay.sent.packets += sent.0;
        replay.sent.bytes += sent.1;
    }

    /// When there is something to send next.
    pub(super) fn next_due(&self, now: Moment) -> Option<Moment> {
        if !self.waiting.is_empty() {
            return Some(now);
        }
        self.replay.as_ref().and_then(Replay::due)
    }
}

/// Sends a batch, and returns what the port took: packets and bytes.
fn send<P: Port>(
    now: Moment,
    port: usize,
    pool: &mut Pool,
    ports: &mut [P],
    batch: &mut Batch,
) -> (u64, u64) {
    let Some(port) = ports.get_mut(port) else {
        batch.free_all(pool);
        return (0, 0);
    };
    if batch.is_empty() {
        return (0, 0);
    }
    let before = port.counters();
    port.send(now, pool, batch);
    let after = port.counters();
    (after.tx_packet - before.tx_packet, after.tx_byte - before.tx_byte)
}
