//! Evenness of a paced sender, by the clock of the tester's thread: sending and receiving by turns, a memory
//! wire between; and the clock's resolution.
//!
//! ```text
//! due:   0     1000    2000    3000 ns …       gap off by: |left[i] − left[i − 1] − 1000|
//! left:  20    1031    2004    3050            late: left[i] − due[i]
//! ```
//!
//! The rate is off by what lateness has grown by from the first tenth of a second to the last, medians
//! of both: at its very ends one pause of the processor would say more than ten million frames.
//!
//! `cargo bench -p lab --bench pacing -- [PPS] [SECONDS]`; 1,000,000 and 10 without. A processor that
//! others use too shows here first: the last line says how often it was taken away.

use hdrhistogram::Histogram;
use lab::clock::Clock;
use measure::{Load, Pace, Receiver, Schedule, Sender, StreamPlan, Template, Variation};
use port::{Batch, Pool, Port, PortCounters, Slab, affinity, memory};
use std::time::Duration;
use wire::{FrameLen, Moment, PacketRate};

const TENTH: Duration = Duration::from_millis(100);

/// A wire that notes when frames leave.
struct Noting<P> {
    wire: P,
    clock: Clock,
    pace: Pace,
    ideal_ns: u64,
    start: Moment,
    end: Moment,
    last: Option<Moment>,
    frames: u64,
    /// How late the first frames of a batch were, in the first and in the last tenth of a second.
    late_ns: [Histogram<u64>; 2],
    /// Frames that left with the one before them, in one batch.
    together: u64,
    off_ns: Histogram<u64>,
}

impl<P: Port> Port for Noting<P> {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.wire.receive(now, pool, batch)
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        let n = batch.len() as u64;
        self.wire.send(now, pool, batch);
        let left = self.clock.now();
        if let Some(last) = self.last.replace(left) {
            let gap = left.since(last).as_nanos() as u64;
            self.off_ns.saturating_record(gap.abs_diff(self.ideal_ns));
        }
        let due = self.start + self.pace.time_of(self.frames);
        let late = left.since(due).as_nanos() as u64;
        for (is_there, late_ns) in
            [due < self.start + TENTH, due + TENTH >= self.end].into_iter().zip(&mut self.late_ns)
        {
            if is_there {
                late_ns.saturating_record(late);
            }
        }
        // The others of the batch leave at once.
        self.off_ns.saturating_record_n(self.ideal_ns, n - 1);
        (self.frames, self.together) = (self.frames + n, self.together + n - 1);
    }

    fn counters(&self) -> PortCounters {
        self.wire.counters()
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let pps = numbers.next().unwrap_or(1_000_000).max(1);
    let seconds = numbers.next().unwrap_or(10).clamp(1, 600);
    if let Some(&last) = affinity::allowed().last() {
        // Elsewhere it works as well, only not as evenly.
        let _ = affinity::pin(last);
    }
    let clock = Clock::start();
    resolution(clock);

    let (template, frame) = (Template::default(), FrameLen::MIN);
    let plan = StreamPlan { id: 1, template, frame, variation: Variation::NONE, seed: 1 };
    let stream = plan.build().expect("a stream");
    let slab = Slab::new(4096).expect("a slab");
    let mut pool = slab.pool();
    let (wire, mut back) = memory::wire(1024);
    let histogram = || Histogram::new_with_bounds(1, 10_000_000_000, 3).expect("a histogram");
    let start = clock.now() + Duration::from_millis(10);
    let (duration, pace) = (Duration::from_secs(seconds), Pace::of(PacketRate(pps as f64)));
    let pace = pace.expect("a rate");
    let mut out = Noting {
        wire,
        clock,
        pace,
        ideal_ns: 1_000_000_000 / pps,
        start,
        end: start + duration,
        last: None,
        frames: 0,
        late_ns: [histogram(), histogram()],
        together: 0,
        off_ns: histogram(),
    };
    let mut receiver = Receiver::new(start, [&stream]);
    let schedule = Schedule { load: Load::Paced(pace), start, duration };
    let mut sender = Sender::new(stream, schedule);
    let before = affinity::interruptions();
    let mut now = clock.now();
    while !sender.is_done(now) {
        receiver.poll(now, &mut pool, &mut back);
        sender.poll(now, &mut pool, &mut out);
        now = clock.now();
    }
    receiver.poll(clock.now(), &mut pool, &mut back);
    let taken = before.zip(affinity::interruptions()).map(|(before, after)| after - before);

    let Noting { frames, late_ns, together, off_ns, .. } = out;
    let (sent, tally) = (sender.sent(), receiver.total());
    let lost = tally.lost(sent.offered);
    println!(
        "{pps} frames a second for {seconds} s: {} intended, {frames} sent, {together} of them with the \
         one before; lost {}",
        sent.intended,
        lost.map_or("more than none".to_string(), |lost| lost.to_string())
    );
    let [first, last] = late_ns.map(|late| late.value_at_quantile(0.5) as f64);
    let off = (first - last) / (duration - TENTH).as_nanos() as f64 * 1e6;
    println!("{first:.0} ns late at first, {last:.0} at last: rate off by {off:+.4} ppm");
    for of in [50.0, 90.0, 99.0, 99.9, 99.99] {
        println!("{of:>6} % of gaps within {} ns", off_ns.value_at_quantile(of / 100.0));
    }
    let within = off_ns.count_between(0, 2000) as f64 / off_ns.len() as f64 * 100.0;
    println!("{within:.3} % of gaps within 2 µs; the worst off by {} ns", off_ns.max());
    println!(
        "latest look {} ns behind a frame's time; the processor was taken away {} times",
        sent.late_ns_max,
        taken.map_or("an unknown number of".to_string(), |taken| taken.to_string())
    );
}

/// The least step of the clock, and what a look at it takes.
fn resolution(clock: Clock) {
    const LOOKS: u32 = 1_000_000;
    let begin = clock.now();
    let (mut before, mut least) = (begin, u64::MAX);
    for _ in 0..LOOKS {
        let now = clock.now();
        let step = now.since(before).as_nanos() as u64;
        if step > 0 {
            least = least.min(step);
        }
        before = now;
    }
    let each = before.since(begin).as_nanos() as f64 / f64::from(LOOKS);
    println!("clock: nanoseconds, steps of {least} ns and more seen; a look takes {each:.0} ns");
}
