//! Frames of replays that came back, counted exactly.
//!
//! ```text
//!  frame at a port ─► its print ─┬ expected here, not all have come ──► received (or overtaken)
//!                                ├ expected here, all have come ──────► duplicate
//!                                ├ expected at another port ──────────► elsewhere
//!                                ├ of a conversation expected here ───► altered
//!                                └ nobody's: left to whoever is next
//! ```
//!
//! Frames that are alike are a multiset: so many were sent, so many came. Which of them it was is not
//! known while another is on its way; then it counts, and is in no latency. A copy that the device made
//! of one stands for another that it lost.
//!
//! *Altered* are frames between the same addresses and ports as one of the capture, but unlike any of
//! them: changed, cut to fragments, or the device's own. They were sent, so they are lost, too.

use super::print::{Lens, Print};
use super::script::Script;
use super::sides::Side;
use crate::delay::{Delays, Variation};
use crate::latency_histogram::LatencyHistogram;
use crate::receive::Tally;
use port::{Batch, Pool};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use wire::{FrameLen, Moment};

/// What is not back by then is lost (RFC 2544 §23): a frame like it is told from it again.
const LOST_AFTER: Duration = Duration::from_secs(2);

/// Frames of a replay one way: where they are to come out, and what they are.
pub struct Way<'a> {
    /// The port.
    pub to: usize,
    /// Of which replay.
    pub script: &'a Script,
    /// And whose.
    pub side: Side,
}

/// What came of one way.
#[derive(Clone, Debug)]
pub struct Back {
    /// What came where it was to come; `corrupt` are the altered.
    pub tally: Tally,
    /// What came elsewhere.
    pub elsewhere: u64,
    /// Latencies of those that could be told from others, in nanoseconds.
    pub latency: LatencyHistogram,
    /// How much they vary.
    pub variation: Option<Variation>,
}

/// All that is to come back.
#[derive(Default)]
pub struct Returned {
    ways: Vec<Expected>,
    /// What of a latency is the wires' own, by length in memory.
    wires_ns: Vec<u64>,
    rest: Batch,
}

struct Expected {
    to: usize,
    lens: Lens,
    frames: HashMap<u64, Alike>,
    conversations: HashSet<u64>,
    /// Frames sent so far.
    sent: u64,
    /// One more than the highest number that came.
    next: u64,
    /// One more than the number that came last.
    following: u64,
    tally: Tally,
    elsewhere: u64,
    delays: Delays,
}

/// Frames that look the same.
#[derive(Clone, Copy, Debug, Default)]
struct Alike {
    sent: u64,
    came: u64,
    /// The last one's number on its way, and when it was sent.
    number: u64,
    at: Moment,
    /// Whether no other of them was under way then.
    alone: bool,
}

impl Returned {
    /// Of these ways, by their place in the list. `wire_time` is what of a latency is the wires' own.
    pub fn new<'a>(
        ways: impl IntoIterator<Item = Way<'a>>,
        wire_time: impl Fn(FrameLen) -> Duration,
    ) -> Returned {
        let expected = |way: Way<'_>| {
            let room = way.script.distinct(way.side) as usize;
            Expected {
                to: way.to,
                lens: way.script.lens,
                frames: HashMap::with_capacity(room),
                conversations: HashSet::new(),
                sent: 0,
                next: 0,
                following: 0,
                tally: Tally::default(),
                elsewhere: 0,
                delays: Delays::default(),
            }
        };
        let longest = crate::template::FRAME_LENGTHS.1.in_memory();
        let of = |len| wire_time(FrameLen::without_fcs(len)).as_nanos() as u64;
        let wires_ns = (0..=longest).map(of).collect();
        Returned { ways: ways.into_iter().map(expected).collect(), wires_ns, rest: Batch::new() }
    }

    /// A frame is being sent.
    #[inline]
    pub(super) fn expect(&mut self, way: usize, print: Print, now: Moment) {
        let way = &mut self.ways[way];
        let alike = way.frames.entry(print.exact).or_default();
        let alone = alike.sent == alike.came || now.since(alike.at) >= LOST_AFTER;
        *alike = Alike { sent: alike.sent + 1, number: way.sent, at: now, alone, ..*alike };
        way.sent += 1;
        way.conversations.extend(print.conversation);
        way.conversations.extend(print.pair);
    }

    /// Counts and frees those frames of a port's batch that are of replays, and leaves the others.
    #[inline]
    pub fn take(&mut self, now: Moment, port: usize, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.drain() {
            if self.count(now, port, pool.slab().bytes(&frame)) {
                pool.free(frame);
            } else {
                self.rest.push(frame);
            }
        }
        std::mem::swap(batch, &mut self.rest);
    }

    /// Counts a frame, if it is of a replay.
    pub fn count(&mut self, now: Moment, port: usize, frame: &[u8]) -> bool {
        let mut known: Option<(Lens, Print)> = None;
        let mut print = |lens| match known {
            Some((of, print)) if of == lens => print,
            _ => known.insert((lens, Print::of(frame, lens))).1,
        };
        let (mut copy, mut elsewhere, mut altered) = (None, None, None);
        for (index, way) in self.ways.iter_mut().enumerate() {
            let print = print(way.lens);
            match way.frames.get_mut(&print.exact) {
                Some(alike) if way.to == port && alike.came < alike.sent => {
                    let alike = alike.receive();
                    let wires_ns = self.wires_ns.get(frame.len()).copied().unwrap_or_default();
                    way.receive(now, frame, alike, wires_ns);
                    return true;
                }
                Some(_) if way.to == port => copy = copy.or(Some(index)),
                Some(_) => elsewhere = elsewhere.or(Some(index)),
                None if way.to == port => {
                    let ours = |key| way.conversations.contains(&key);
                    if print.conversation.is_some_and(ours) {
                        altered = altered.or(Some(index));
                    }
                }
                None => {}
            }
        }
        match (copy, elsewhere, altered) {
            (Some(way), ..) => self.ways[way].tally.duplicate += 1,
            (_, Some(way), _) => self.ways[way].elsewhere += 1,
            (.., Some(way)) => self.ways[way].tally.corrupt += 1,
            _ => return false,
        }
        true
    }

    /// First copies that came, of all ways.
    pub fn received(&self) -> u64 {
        self.ways.iter().map(|way| way.tally.received).sum()
    }

    /// What came of all ways, `corrupt` being the altered.
    pub fn total(&self) -> Tally {
        self.ways.iter().map(|way| way.tally).fold(Tally::default(), |all, one| Tally {
            received: all.received + one.received,
            bytes: all.bytes + one.bytes,
            reordered: all.reordered + one.reordered,
            duplicate: all.duplicate + one.duplicate,
            corrupt: all.corrupt + one.corrupt,
            ..all
        })
    }

    /// How late frames of all ways were: differences are those of neighbours of one way.
    pub fn delays(&self) -> Delays {
        let mut all = Delays::default();
        self.ways.iter().for_each(|way| all.add(&way.delays));
        all
    }

    /// What came of a way.
    ///
    /// # Panics
    /// If there is no such way.
    pub fn of(&self, way: usize) -> Back {
        let Expected { tally, elsewhere, delays, .. } = &self.ways[way];
        let (latency, variation) = (delays.latency(), delays.variation());
        Back { tally: *tally, elsewhere: *elsewhere, latency, variation }
    }
}

impl Alike {
    /// One of them has come: its number and when it was sent, if that is known.
    fn receive(&mut self) -> Option<(u64, Moment)> {
        self.came += 1;
        // A second one is another's, which was thought lost.
        std::mem::take(&mut self.alone).then_some((self.number, self.at))
    }
}

impl Expected {
    fn receive(&mut self, now: Moment, frame: &[u8], which: Option<(u64, Moment)>, wires_ns: u64) {
        let tally = &mut self.tally;
        tally.received += 1;
        tally.bytes += u64::from(FrameLen::without_fcs(frame.len() as u32).l2());
        tally.first.get_or_insert(now);
        tally.last = Some(now);
        let Some((number, at)) = which else { return };
        let neighbour = number == self.following;
        self.following = number + 1;
        if number < self.next {
            tally.reordered += 1;
        }
        self.next = self.next.max(number + 1);
        let latency = now.as_nanos().saturating_sub(at.as_nanos());
        self.delays.record(latency.saturating_sub(wires_ns), neighbour);
    }
}
