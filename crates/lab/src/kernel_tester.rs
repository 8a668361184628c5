//! The tester in the kernel: a generator and two counters at the tester's ends of veth pairs.
//!
//! ```text
//!              ┌─ streams of end 0 ─► t0 ══ device ══ t1 ─► counter ┐
//!  generator ──┤                                                    ├─► Counts, latency
//!              └─ streams of end 1 ─► t1 ══ device ══ t0 ─► counter ┘
//! ```
//!
//! A sender in user space reaches a million frames a second on veth, less than a device there
//! forwards; this one some five. Generator and, where NAPI has no thread, all that follows a frame,
//! run on the processor of the thread that calls [`KernelTester::trial`]: a device is only measured
//! if its ends have NAPI threads on another. The counters pass all frames on to the stack until the
//! first trial, and everything but test frames in trials: who introduces the hosts by ARP, and warms
//! the device up, does so by packet sockets beside them.
//!
//! Never looks at what is between the ends. Missing: **streams of any headers**, **bursts, random gaps
//! and ramps**, **the extent of reordering**.

use measure::latency_histogram::LatencyHistogram;
use measure::stream::kernel;
use measure::trial::Counts;
use measure::{Pace, Stream};
use port::linux::bpf::counter::Count;
use port::linux::bpf::generator::{Plan, Schedule, Sent};
use port::linux::bpf::{Counter, Generator, Mode, clock_ns};
use port::linux::{Namespace, Unavailable};
use std::io;
use std::time::Duration;
use wire::PacketRate;

/// What generator and receiver are called in results.
pub const NAMES: [&str; 2] = ["BPF live frames", "XDP counter"];

/// Generator and counters, ready for trials.
pub struct KernelTester {
    generator: Generator,
    counters: [Counter; 2],
    /// For each of the plan's streams: the end it leaves by, and its first sequence number.
    streams: Vec<(usize, u64)>,
}

/// What a trial gave.
pub struct Ran {
    /// All streams together. What the far end's ring had no room for was sent, and is lost there.
    pub counts: Counts,
    /// What the generator did.
    pub sent: Sent,
    /// What came, by end.
    pub came: [Count; 2],
    /// Of all received frames, in nanoseconds.
    pub latency: LatencyHistogram,
    /// How long after the end of the schedule the last frame left.
    pub overrun: Duration,
    /// How long after the begin of the schedule the last frame came; nothing if none did.
    pub last_after: Duration,
}

/// Below this rate frames come one by one.
const FEW: PacketRate = PacketRate::kpps(250.0);
/// How long before its first frame is due a trial is begun.
const AHEAD_NS: u64 = 1_000_000;
/// When nothing has come for so long, nothing more comes; and how long is waited at most.
const QUIET: Duration = Duration::from_millis(50);
const LISTEN: Duration = Duration::from_secs(2);

impl KernelTester {
    /// A tester at these ends; the streams of each leave by it, and come back at the other one.
    /// Nothing is sent before a trial.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, another XDP program at an end, streams that the kernel cannot
    /// send.
    pub fn open(
        ends: [(&Namespace, &str); 2],
        streams: &[Vec<Stream>; 2],
    ) -> Result<KernelTester, Unavailable> {
        let cannot = |why: String| {
            Unavailable::because("send these streams in the kernel", io::Error::other(why))
        };
        let (mut in_kernel, mut firsts) = (Vec::new(), Vec::new());
        for (end, streams) in streams.iter().enumerate() {
            for stream in streams {
                let one = stream.in_kernel(1, end, 0).ok_or_else(|| {
                    cannot("they have headers, or more MAC addresses, that it cannot make".into())
                })?;
                in_kernel.push(one);
                firsts.push((end, stream.sequence()));
            }
        }
        let plan = Plan::new(in_kernel).map_err(|bad| cannot(bad.to_string()))?;
        let counter = |end: usize| {
            let (namespace, interface) = ends[end];
            let expected: Vec<_> = streams[1 - end].iter().map(Stream::expected).collect();
            let open = || Counter::open(interface, Mode::Native, &kernel::tail(0), &expected);
            let mut counter = namespace.run(open).unwrap_or_else(|error| {
                Err(Unavailable::because(format!("enter the namespace of {interface}"), error))
            })?;
            // Not yet.
            counter.start(u64::MAX, &vec![0; expected.len()]);
            Ok(counter)
        };
        let counters = [counter(0)?, counter(1)?];
        let generator = Generator::through(&ends, plan)?;
        Ok(KernelTester { generator, counters, streams: firsts })
    }

    /// Runs one trial: at this rate, all streams together, or as fast as it can.
    ///
    /// # Errors
    /// As of [`Generator::run`]; a rate that is none.
    pub fn trial(
        &mut self,
        rate: Option<PacketRate>,
        duration: Duration,
    ) -> Result<Ran, Unavailable> {
        let pace = match rate.map(Pace::of) {
            None => None,
            Some(Some(pace)) => Some(pace.frames_in_ns()),
            Some(None) => {
                let error = io::Error::from(io::ErrorKind::InvalidInput);
                return Err(Unavailable::because(format!("send at {rate:?}"), error));
            }
        };
        self.generator.batches_of(batch(rate));
        let start_ns = clock_ns() + AHEAD_NS;
        let made = self.generator.made_ever();
        for (end, counter) in self.counters.iter_mut().enumerate() {
            let of_other = self.streams.iter().zip(&made).filter(|((from, _), _)| *from != end);
            let firsts: Vec<u64> = of_other.map(|((_, first), made)| first + made).collect();
            counter.start(start_ns, &firsts);
        }
        self.generator.start(Schedule { pace, start_ns, duration, at_most: u64::MAX });
        self.generator.run(u64::MAX)?;
        let sent = self.generator.sent();
        let came = self.listen(sent.accepted);
        let end_ns = start_ns + duration.as_nanos() as u64;
        let tallies = came.iter().flat_map(|count| &count.streams);
        let last_ns = tallies.map(|tally| tally.last_ns).max().unwrap_or(0);
        let streams_to = |end| self.streams.iter().filter(|(from, _)| *from != end).count();
        let latency =
            kernel::latency(self.counters.iter().enumerate().flat_map(|(end, counter)| {
                (0..streams_to(end)).map(|place| counter.latencies(place))
            }));
        Ok(Ran {
            counts: counts(&sent, &came),
            latency,
            overrun: Duration::from_nanos(sent.last_ns.saturating_sub(end_ns)),
            last_after: Duration::from_nanos(last_ns.saturating_sub(start_ns)),
            sent,
            came,
        })
    }

    /// Reads the counters once all has come, or nothing comes any more.
    fn listen(&self, sent: u64) -> [Count; 2] {
        let (begin, mut last, mut before) = (clock_ns(), clock_ns(), u64::MAX);
        loop {
            let came = self.counters.each_ref().map(Counter::read);
            let now = clock_ns();
            let received = came.iter().flat_map(|c| &c.streams).map(|tally| tally.received).sum();
            if received != before {
                (before, last) = (received, now);
            }
            let passed = |since: u64, limit: Duration| u128::from(now - since) > limit.as_nanos();
            if received >= sent || passed(last, QUIET) || passed(begin, LISTEN) {
                return came;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// How many frames the generator makes at once.
///
/// A batch ends with a wake-up of the threads at the device's ends, some 5 us each where another
/// processor's clock of a virtual machine has to be interrupted, and its pages are a pool that lasts as
/// long as no more frames are under way. Our router with 25 rules and tracking got 0.80 million frames
/// a second in batches of 64 (half of the generator's time went into these two), 1.06 of 128, 1.22 of
/// 256 (2026-11-23, two cores of a virtual Xeon, family 6 model 167). But at a pace the first frame of a
/// batch waits for the last look at the clock, 60 ns each: where few are due, 4 us instead of 15.
fn batch(rate: Option<PacketRate>) -> u32 {
    match rate {
        Some(rate) if rate < FEW => 64,
        _ => 256,
    }
}

fn counts(sent: &Sent, came: &[Count; 2]) -> Counts {
    // A veth refuses without an error what its far end has no room for: a cable would carry it, and
    // the card at its end lose it. With an error, nothing could be sent.
    let lost_there = if sent.error.is_none() { sent.refused } else { 0 };
    let (intended, sent) = (sent.intended, sent.accepted + lost_there);
    let mut counts = Counts { intended, sent, ..Counts::default() };
    for count in came {
        counts.foreign += count.foreign + count.other_queue;
        counts.corrupt += count.corrupt;
        for tally in &count.streams {
            counts.received += tally.received;
            counts.reordered += tally.reordered;
            counts.duplicate += tally.duplicate;
            counts.stale += tally.stale;
            counts.corrupt += tally.corrupt;
        }
    }
    counts
}
