//! The sender: frames when they are due, and how many were sent.
//!
//! ```text
//! Timetable of a Schedule ── due at `now`? ──► Stream::write × n ──► Batch ──► Port
//! ```
//!
//! The caller polls, as fast as it can, with the time. A paced sender owes at every moment the
//! frames whose times have come; it pays at most one batch a poll, so a late poll is followed by
//! bursts and never by fewer frames: offered load equals intended load, or the trial is invalid.
//!
//! A port in virtual time knows when its wire is free ([`Port::next_start`]): a frame that is due waits
//! for that here, not in the port's queue, so that its time is the one at which its bits begin, and
//! whatever is due, none is lost for want of room.
//!
//! Never reads a clock, never sleeps. Several streams are as many senders, each with its schedule, but for
//! those that take turns on one port frame by frame, which have one ([`Sender::in_turn`]).

use crate::Stream;
use crate::schedule::{Load, Schedule, Timetable, Turns};
use port::{Batch, Pool, Port};
use wire::Moment;

/// What a sender did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that should have been offered by the last poll (at full speed: those that were).
    pub intended: u64,
    /// Frames given to the port.
    pub offered: u64,
    /// Of these, frames that the port dropped, as far as it says so at once
    /// ([`Port::refused`]). RFC 2285's offered load is `offered` less these.
    pub refused: u64,
    /// Polls at which frames were due and the pool had none left.
    pub starved: u64,
    /// How late the latest poll was, behind the first frame it had to send, in nanoseconds.
    pub late_ns_max: u64,
    /// How long a frame waited at most for the wire behind its own time, in nanoseconds: where the port
    /// says when that is free, and others' frames had it.
    pub waited_ns_max: u64,
    /// When the first frame was sent.
    pub first: Option<Moment>,
    /// When the last frame was sent.
    pub last: Moment,
}

impl Sent {
    /// Frames that went out.
    pub fn went_out(&self) -> u64 {
        self.offered.saturating_sub(self.refused)
    }
}

/// Sends one stream by a schedule, or several by turns.
pub struct Sender {
    streams: Box<[Stream]>,
    /// Whose the next frame is.
    turn: usize,
    /// Frames that the port dropped of each, where there are several.
    refused: Box<[u64]>,
    schedule: Schedule,
    timetable: Timetable,
    /// [`Schedule::frames`], worked out once, or fewer.
    frames: Option<u64>,
    /// Whether only the end of its time shows how many there are: the schedule does not say.
    ends_by_time: bool,
    /// When the next frame is due, or the wire free for it: what a poll with nothing to do looks at, and
    /// no more.
    next: Moment,
    /// When it is due.
    due: Moment,
    sent: Sent,
    batch: Batch,
}

impl Sender {
    /// A sender that has sent nothing yet.
    pub fn new(stream: Stream, schedule: Schedule) -> Sender {
        Sender::of(Box::new([stream]), schedule)
    }

    fn of(streams: Box<[Stream]>, schedule: Schedule) -> Sender {
        let (frames, timetable, next) = (schedule.frames(), schedule.timetable(), schedule.start);
        let (ends_by_time, sent, batch) = (frames.is_none(), Sent::default(), Batch::new());
        let (due, turn, refused) = (next, 0, streams.iter().map(|_| 0).collect());
        Sender {
            streams,
            turn,
            refused,
            schedule,
            timetable,
            frames,
            ends_by_time,
            next,
            due,
            sent,
            batch,
        }
    }

    /// The same, but where a constant rate is of frames whose lengths go by turns, each is as long
    /// apart from the next as it is long: the wire is as full at every moment, and none waits in
    /// the tester for the one before it.
    pub fn by_length(stream: Stream, schedule: Schedule) -> Sender {
        Sender::in_turn(vec![stream], schedule)
    }

    /// The same of streams that take turns, frame by frame: the schedule is that of all together. Their
    /// frames have the same lengths; where these go by turns each stream has all of them, so that one
    /// length is sent once to each before the next one's turn.
    ///
    /// # Panics
    /// If there is none.
    pub fn in_turn(streams: Vec<Stream>, schedule: Schedule) -> Sender {
        let n = streams.len();
        assert!(n > 0, "no stream, and nobody's turn");
        let turns = match schedule.load {
            Load::Paced(pace) => streams[0].turns().and_then(|lengths| {
                let each = lengths.iter().flat_map(|len| std::iter::repeat_n(*len, n));
                Turns::new(pace, &each.collect::<Vec<_>>())
            }),
            _ => None,
        };
        let mut sender = Sender::of(streams.into(), schedule);
        if let Some(turns) = turns {
            sender.frames = Some(turns.before(schedule.duration));
            sender.timetable = Timetable::Turns(Box::new(turns));
        }
        sender
    }

    /// When frame `k` is due, of all streams' together, after the schedule's start; `None` if that has
    /// been and is forgotten.
    pub fn time_of(&self, k: u64) -> Option<std::time::Duration> {
        self.timetable.time_of(k)
    }

    /// Sends no more than `most` frames in all.
    #[must_use]
    pub fn at_most(mut self, most: u64) -> Sender {
        self.frames = Some(self.frames.map_or(most, |frames| frames.min(most)));
        if most == 0 {
            (self.next, self.due) = (NEVER, NEVER);
        }
        self
    }

    /// Sends what is due, at most a batch, and returns how many frames went to the port.
    #[inline]
    pub fn poll<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        if now < self.next {
            return 0;
        }
        let start = port.next_start();
        if let Some(start) = start.filter(|start| *start > now) {
            self.next = start;
            return 0;
        }
        let mut batch = std::mem::take(&mut self.batch);
        // The next one begins when this one is over.
        let room = if start.is_some() { 1 } else { batch.room() };
        let due = self.due;
        let n = self.fill_with(now, pool, &mut batch, room);
        if n > 0 {
            if start.is_some() && self.is_paced() {
                let waited = now.since(due).as_nanos() as u64;
                self.sent.waited_ns_max = self.sent.waited_ns_max.max(waited);
            }
            let refused = port.refused();
            port.send(now, pool, &mut batch);
            let refused = port.refused() - refused;
            if refused > 0 {
                self.refuse(refused);
            }
        }
        self.batch = batch;
        if let Some(start) = start.and_then(|_| port.next_start()) {
            self.next = self.next.max(start);
        }
        n
    }

    /// So many of the frames sent last were dropped: a port takes the first ones of a batch.
    #[cold]
    fn refuse(&mut self, refused: u64) {
        self.sent.refused += refused;
        let n = self.streams.len();
        for back in 1..=refused.min(self.sent.offered) as usize {
            self.refused[(self.turn + n - back % n) % n] += 1;
        }
    }

    /// Adds what is due to `batch`, as far as there is room, and returns how many frames that
    /// were: [`poll`](Self::poll) without a port, for devices that are fed from memory.
    #[inline]
    pub fn fill(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        if now < self.next {
            return 0;
        }
        let room = batch.room();
        self.fill_with(now, pool, batch, room)
    }

    #[inline]
    fn fill_with(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch, room: usize) -> usize {
        let due = self.due(now).min(room as u64);
        let fixed = self.streams[0].fixed_len();
        let mut n = 0;
        while n < due {
            let stream = &mut self.streams[self.turn];
            let len = fixed.unwrap_or_else(|| stream.next_len());
            let Some(mut frame) = pool.alloc(len) else {
                self.sent.starved += 1;
                break;
            };
            stream.write(now, pool.slab().bytes_mut(&mut frame));
            batch.push(frame);
            self.turn = if self.turn + 1 == self.streams.len() { 0 } else { self.turn + 1 };
            n += 1;
        }
        if n > 0 {
            self.sent.offered += n;
            self.sent.first.get_or_insert(now);
            self.sent.last = now;
        }
        self.plan_next();
        n as usize
    }

    /// Whether all frames of the schedule are sent, or (at full speed) its time is over.
    pub fn is_done(&self, now: Moment) -> bool {
        match self.frames {
            Some(frames) if self.sent.offered == frames => true,
            Some(_) if self.is_paced() && !self.ends_by_time => false,
            // What was due at random by the end has been looked at, and sent.
            _ => {
                let is_over = now >= self.schedule.start + self.schedule.duration;
                is_over && (!self.is_paced() || self.next == NEVER)
            }
        }
    }

    /// When the last frame is due, as far as that is known before; else when its time is over.
    pub fn ends(&self) -> Moment {
        let end = self.schedule.duration;
        // At random nobody knows.
        let known = self.frames.filter(|_| !self.ends_by_time);
        let last = known.and_then(|frames| self.time_of(frames.checked_sub(1)?));
        self.schedule.start + last.unwrap_or(end)
    }

    /// When the next frame is due, or the wire free for it; at full speed always.
    pub fn next_due(&self) -> Moment {
        self.next
    }

    /// When the next frame is due, whether the wire is free or not.
    pub fn owes_since(&self) -> Moment {
        self.due
    }

    /// Whether it sends at a rate, not as fast as it can.
    pub fn is_paced(&self) -> bool {
        !matches!(self.schedule.load, Load::FullSpeed)
    }

    /// What was done so far.
    pub fn sent(&self) -> Sent {
        Sent { intended: self.sent.intended.max(self.sent.offered), ..self.sent }
    }

    /// What was done so far of one of the streams that take turns, by its place among them; late, first
    /// and last are those of all.
    pub fn sent_of(&self, turn: usize) -> Sent {
        let n = self.streams.len() as u64;
        let share = |all: u64| (all + n - 1 - turn as u64) / n;
        let sent = self.sent();
        let (intended, offered) = (share(sent.intended), share(sent.offered));
        Sent { intended, offered, refused: self.refused[turn], ..sent }
    }

    /// The stream, for its number and length; of several the first.
    pub fn stream(&self) -> &Stream {
        &self.streams[0]
    }

    /// All that take turns, in that order.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// The stream, to go on with in another trial; of several the first.
    pub fn into_stream(self) -> Stream {
        self.streams.into_vec().swap_remove(0)
    }

    /// How many frames are due and unsent; `now` is not before `next`.
    #[inline]
    fn due(&mut self, now: Moment) -> u64 {
        let Schedule { load, start, duration } = self.schedule;
        let passed = now.since(start);
        if load == Load::FullSpeed {
            let left = || self.frames.map_or(u64::MAX, |frames| frames - self.sent.offered);
            return if passed < duration { left() } else { 0 };
        }
        let due = self.timetable.due_by(passed, duration);
        self.sent.intended = due.min(self.frames.unwrap_or(u64::MAX));
        let late = now.since(self.next).as_nanos() as u64;
        self.sent.late_ns_max = self.sent.late_ns_max.max(late);
        self.sent.intended.saturating_sub(self.sent.offered)
    }

    #[inline]
    fn plan_next(&mut self) {
        if !self.is_paced() {
            return;
        }
        if self.frames == Some(self.sent.offered) {
            (self.next, self.due) = (NEVER, NEVER);
            return;
        }
        let Some(time) = self.timetable.time_of(self.sent.offered) else { return };
        let over = self.ends_by_time && time >= self.schedule.duration;
        self.due = if over { NEVER } else { self.schedule.start + time };
        self.next = self.due;
    }
}

/// When nothing is due any more.
const NEVER: Moment = Moment::from_nanos(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Bursts, Several};
    use crate::{FramePlan, Pace, StreamPlan, Template, Variation};
    use port::{Slab, memory};
    use proptest::prelude::*;
    use std::time::Duration;
    use wire::{FrameLen, PacketRate};

    fn stream() -> Stream {
        let (template, frame) = (Template::default(), FrameLen::with_fcs(64));
        let variation = Variation::NONE;
        StreamPlan { id: 1, template, frame, variation, seed: 1 }.build().unwrap()
    }

    fn at(ns: u64) -> Moment {
        Moment::from_nanos(ns)
    }

    /// Polls at the given times and returns when each frame was sent.
    fn run(schedule: Schedule, polls: impl IntoIterator<Item = u64>) -> (Vec<u64>, Sent) {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let (mut out, mut other) = memory::wire(128);
        let mut sender = Sender::new(stream(), schedule);
        let (mut times, mut batch) = (vec![], Batch::new());
        for now in polls {
            let n = sender.poll(at(now), &mut pool, &mut out);
            times.extend(std::iter::repeat_n(now, n));
            assert_eq!(other.receive(at(now), &mut pool, &mut batch), n);
            batch.free_all(&mut pool);
        }
        assert_eq!(out.counters().tx_packet, times.len() as u64);
        (times, sender.sent())
    }

    fn paced(pps: f64, start: u64, ns: u64) -> Schedule {
        let load = Load::Paced(Pace::of(PacketRate(pps)).unwrap());
        Schedule { load, start: at(start), duration: Duration::from_nanos(ns) }
    }

    #[test]
    fn frames_leave_when_they_are_due() {
        // 3 per microsecond: 0, 333.3, 666.7, 1000 … after the start at 500.
        let (times, sent) = run(paced(3e6, 500, 2000), 0..4000);
        assert_eq!(times, [500, 834, 1167, 1500, 1834, 2167]);
        assert_eq!((sent.intended, sent.offered, sent.late_ns_max), (6, 6, 0));
        assert_eq!(sent.last, at(2167));
    }

    #[test]
    fn a_late_poll_is_made_up_for_in_bursts() {
        let (times, sent) = run(paced(1e9, 0, 1000), [0, 200, 201, 202, 203, 5000, 5001]);
        let per_poll = |t| times.iter().filter(|&&time| time == t).count();
        assert_eq!([0, 200, 201, 202, 203, 5000, 5001].map(per_poll), [1, 64, 64, 64, 11, 64, 64]);
        assert_eq!((sent.intended, sent.offered), (1000, 332), "still owed: {sent:?}");
        assert_eq!(sent.late_ns_max, 5000 - 204);
    }

    #[test]
    fn the_end_is_made_up_for_too() {
        let (times, sent) = run(paced(1e9, 0, 100), [0, 50, 1000, 1001, 1002]);
        assert_eq!(times.len(), 100);
        assert_eq!((sent.intended, sent.offered), (100, 100));
    }

    #[test]
    fn full_speed_is_a_batch_a_poll_until_the_end() {
        let (start, duration) = (at(10), Duration::from_nanos(10));
        let schedule = Schedule { load: Load::FullSpeed, start, duration };
        let (times, sent) = run(schedule, [0, 9, 10, 15, 19, 20, 30]);
        assert_eq!(times.len(), 3 * Batch::CAPACITY);
        assert_eq!((sent.intended, sent.offered), (192, 192));
    }

    /// At random, and with no more frames than so many: whichever comes first.
    #[test]
    fn random_gaps_end_by_time_or_by_number() {
        let load = Load::Poisson { pace: Pace::of(PacketRate(1e6)).unwrap(), seed: 3 };
        let schedule = Schedule { load, start: at(0), duration: Duration::from_micros(100) };
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        for (most, all) in [(10, true), (1_000_000, false)] {
            let (mut out, mut other) = memory::wire(128);
            let mut sender = Sender::new(stream(), schedule).at_most(most);
            let (mut now, mut batch) = (at(0), Batch::new());
            while sender.next_due() < NEVER {
                assert!(sender.next_due() >= now, "time goes on");
                now = sender.next_due();
                sender.poll(now, &mut pool, &mut out);
                other.receive(now, &mut pool, &mut batch);
                batch.free_all(&mut pool);
            }
            assert_eq!(sender.sent().offered == most, all, "{:?}", sender.sent());
            assert!(sender.is_done(at(100_000)) && now < at(100_000));
        }
    }

    #[test]
    fn an_empty_pool_is_counted() {
        let slab = Slab::new(10).unwrap();
        let mut pool = slab.pool();
        let mut batch = Batch::new();
        let mut sender = Sender::new(stream(), paced(1e9, 0, 100));
        assert_eq!(sender.fill(at(49), &mut pool, &mut batch), 10);
        let sent = sender.sent();
        assert_eq!((sent.intended, sent.offered, sent.starved), (50, 10, 1));
        batch.free_all(&mut pool);
    }

    /// Where the port knows when its wire is free, a frame begins when it is given; and what a port
    /// drops at once did not go out.
    #[test]
    fn frames_wait_for_the_wire_and_not_in_it() {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let link = port::simulated::Link::new(wire::BitRate::gbps(1.0));
        let (mut out, mut other) = port::simulated::wire(link).unwrap();
        // All due at once, but for a part of a nanosecond.
        let mut sender = Sender::new(stream(), paced(1e12, 5, 1_000_000)).at_most(2000);
        let (mut batch, mut n) = (Batch::new(), 0);
        while sender.next_due() < NEVER {
            let now = sender.next_due();
            let sent = sender.poll(now, &mut pool, &mut out) as u64;
            // 84 bytes of wire each.
            assert!(sent == 0 || now == at(5 + n * 672), "frame {n} at {now:?}");
            n += sent;
            other.receive(now, &mut pool, &mut batch);
            batch.free_all(&mut pool);
        }
        assert_eq!((n, sender.sent().went_out(), out.counters().tx_drop), (2000, 2000, 0));

        struct Full(u64);
        impl Port for Full {
            fn receive(&mut self, _: Moment, _: &mut Pool, _: &mut Batch) -> usize {
                0
            }
            fn send(&mut self, _: Moment, pool: &mut Pool, batch: &mut Batch) {
                self.0 += batch.len() as u64 - 1;
                batch.free_all(pool);
            }
            fn counters(&self) -> port::PortCounters {
                port::PortCounters::default()
            }
            fn refused(&self) -> u64 {
                self.0
            }
        }
        let mut sender = Sender::new(stream(), paced(1e9, 0, 10));
        assert_eq!(sender.poll(at(9), &mut pool, &mut Full(7)), 10);
        assert_eq!((sender.sent().offered, sender.sent().went_out()), (10, 1));
    }

    /// However late it is polled, and of a mix too: a frame of the first, of the second, of the third,
    /// of the first … each with all lengths.
    #[test]
    fn streams_take_turns_frame_by_frame() {
        let mix = crate::Mix::of("abg", &[]).unwrap();
        for (size, lengths) in [
            (crate::FrameSize::One(FrameLen::MIN), vec![64]),
            (crate::FrameSize::Mix(std::sync::Arc::new(mix)), vec![64, 128, 1518]),
        ] {
            let streams = (1..=3).map(|id| {
                let plan =
                    FramePlan::of_template(&Template::default(), &Variation::NONE, size.lengths());
                plan.build(id, 0, 1).unwrap()
            });
            let mut sender = Sender::in_turn(streams.collect(), paced(1e6, 5, 100_000));
            let slab = Slab::new(256).unwrap();
            let (mut pool, mut batch, mut came) = (slab.pool(), Batch::new(), vec![]);
            for now in [5, 6, 3_005, 90_000, 99_000, 100_005, 200_000] {
                sender.fill(at(now), &mut pool, &mut batch);
                for frame in batch.drain() {
                    let bytes = pool.slab().bytes(&frame);
                    let Some(crate::trailer::Found::Good(trailer)) =
                        crate::trailer::Trailer::read(bytes)
                    else {
                        panic!("no trailer")
                    };
                    came.push((trailer.stream, trailer.sequence, bytes.len() + 4));
                    pool.free(frame);
                }
            }
            let n = sender.sent().offered;
            let expected = (0..n).map(|k| {
                let (stream, sequence) = (k % 3, k / 3);
                (stream as u8 + 1, sequence, lengths[sequence as usize % lengths.len()])
            });
            let expected: Vec<_> = expected.collect();
            assert!((100..=105).contains(&n) && came == expected, "{came:?}");
            let each = [0, 1, 2].map(|turn| sender.sent_of(turn).offered);
            let of = |stream| came.iter().filter(|(one, ..)| *one == stream).count() as u64;
            assert_eq!(each, [1, 2, 3].map(of));
            // And as long apart as the wire takes for them.
            let time = |k| sender.time_of(k).unwrap().as_secs_f64();
            let apart = (time(5) - time(3)) / time(2);
            let expected = if lengths.len() == 1 { 1.0 } else { 148.0 / 84.0 };
            assert!((apart / expected - 1.0).abs() < 0.01, "{apart}");
        }
    }

    /// A port takes the first frames of a batch: the last ones' streams did not send them.
    #[test]
    fn what_a_port_drops_is_of_those_whose_turn_it_was() {
        let mut sender = Sender::in_turn(vec![stream(), stream(), stream()], paced(1e9, 0, 8));
        let slab = Slab::new(16).unwrap();
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        sender.fill(at(7), &mut pool, &mut batch);
        sender.refuse(4);
        let each = [0, 1, 2].map(|turn| sender.sent_of(turn));
        assert_eq!(each.map(|sent| (sent.intended, sent.offered)), [(3, 3), (3, 3), (2, 2)]);
        // Frames 4 to 7 are of the second, the third, the first and the second.
        assert_eq!(each.map(|sent| sent.refused), [1, 2, 1]);
        assert_eq!(sender.sent().went_out(), each.iter().map(Sent::went_out).sum::<u64>());
        batch.free_all(&mut pool);
    }

    /// Of a mix all frames are sent, at 100 % of a wire one right behind the other.
    #[test]
    fn a_mix_fills_the_wire() {
        let size = crate::FrameSize::Mix(std::sync::Arc::new(crate::Mix::of("csit", &[]).unwrap()));
        let plan = FramePlan::of_template(&Template::default(), &Variation::NONE, size.lengths());
        let stream = plan.build(1, 0, 1).unwrap();
        let pace = size.pace_of_wire(1_000_000_000).unwrap();
        let (load, start) = (Load::Paced(pace), at(7));
        // Two cycles of 12 frames and 4,486 bytes of wire each.
        let duration = Duration::from_nanos(2 * 4486 * 8);
        let mut sender = Sender::by_length(stream, Schedule { load, start, duration });
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let (mut out, mut other) = memory::wire(128);
        let (mut batch, mut begins) = (Batch::new(), 7);
        while sender.next_due() < NEVER {
            let now = sender.next_due();
            assert_eq!(now, at(begins));
            assert_eq!(sender.poll(now, &mut pool, &mut out), 1);
            other.receive(now, &mut pool, &mut batch);
            for frame in batch.drain() {
                begins += 8 * u64::from(FrameLen::without_fcs(frame.len() as u32).l1());
                pool.free(frame);
            }
        }
        assert_eq!((sender.sent().offered, sender.is_done(at(begins))), (24, true));
        assert_eq!(begins, 7 + 2 * 4486 * 8);
    }

    proptest! {
        /// The same of every kind of load.
        #[test]
        fn every_load_is_sent_whole(
            pps in 1e5f64..5e7,
            other in 1e5f64..5e7,
            seed in any::<u64>(),
            burst in 0u32..100,
            apart in 0u64..3000,
            gaps in prop::collection::vec(0u64..300, 1..200),
        ) {
            let [pace, to] = [pps, other].map(|pps| Pace::of(PacketRate(pps)).unwrap());
            let within = Pace::of(PacketRate(1e10)).unwrap();
            for load in [
                Load::Bursts(Bursts { pace, burst, within }),
                Load::Several(Several {
                    pace,
                    burst,
                    apart: Duration::from_nanos(apart),
                    bursts: 5,
                }),
                Load::Poisson { pace, seed },
                Load::Ramp { from: pace, to },
            ] {
                let schedule = Schedule { load, start: at(7), duration: Duration::from_nanos(20_000) };
                let mut now = 0;
                let mut polls: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
                polls.extend((now.max(20_007)..).take(100));
                let often = run(schedule, 0..20_100);
                let (times, sent) = run(schedule, polls);
                prop_assert_eq!(sent.offered, often.1.offered, "{:?}", load);
                prop_assert_eq!(sent.intended, sent.offered, "{:?}", load);
                prop_assert_eq!(Some(sent.offered), schedule.frames().or(Some(often.1.offered)));
                // A time just before the end is rounded up to it, and a burst sent to its end.
                prop_assert!(often.1.last <= at(20_007 + 10), "{:?}", often.1);
                let late = times.iter().zip(&often.0).all(|(late, due)| late >= due);
                prop_assert!(late, "{:?}", load);
            }
        }

        /// However unevenly it is polled: what is due is sent, each frame not before its time, and
        /// at the end all of them.
        #[test]
        fn nothing_early_nothing_owed(
            pps in 1.0f64..2e8,
            gaps in prop::collection::vec(0u64..300, 1..300),
        ) {
            let schedule = paced(pps, 7, 20_000);
            let Load::Paced(pace) = schedule.load else { unreachable!() };
            let mut now = 0;
            let mut polls: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            polls.extend((now.max(20_007)..).take(100)); // 4000 frames at most
            let (times, sent) = run(schedule, polls);
            for (k, &time) in times.iter().enumerate() {
                prop_assert!(at(time) >= at(7) + pace.time_of(k as u64), "frame {} at {}", k, time);
            }
            prop_assert_eq!(Some(sent.offered), schedule.frames());
            prop_assert_eq!(sent.intended, sent.offered);
        }
    }
}
