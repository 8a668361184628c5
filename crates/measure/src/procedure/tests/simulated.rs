//! Devices that are formulas, as data: what is true of them is known, so a procedure's result can
//! be compared with it.
//!
//! ```text
//!  Simulated { capacity, buffer, noise, flake, … } ─► Measurer: exact counts, no frame
//! ```

use crate::delay::Variation;
use crate::latency_histogram::LatencyHistogram;
use crate::procedure::tcp::{TcpLoad, TcpOutput};
use crate::procedure::{Measurer, Stop, TrialInput, TrialOutput};
use crate::trial::{Conditions, Counts, Trial};
use crate::{Prng, tcp};
use std::time::Duration;
use wire::PacketRate;

/// A device and the tester in front of it. Rates are per port and second; there is one port.
#[derive(Clone, Debug)]
pub(in crate::procedure) struct Simulated {
    /// What the medium carries: bursts come at this rate.
    pub(in crate::procedure) medium: f64,
    /// What the device forwards.
    pub(in crate::procedure) capacity: f64,
    /// How much less it does at times, as a share: each trial is somewhere in between.
    pub(in crate::procedure) noise: f64,
    /// One trial in so many loses a frame for no reason; 0 for never.
    pub(in crate::procedure) flake: u64,
    /// Frames it holds.
    pub(in crate::procedure) buffer: f64,
    /// Above its capacity it forwards less the more comes, by this share of what is too much.
    pub(in crate::procedure) livelock: f64,
    /// What the tester sends at most.
    pub(in crate::procedure) tester: f64,
    /// The device pauses its senders rather than losing a frame.
    pub(in crate::procedure) back_pressure: bool,
    /// One trial in so many takes a tenth longer than its schedule; 0 for never.
    pub(in crate::procedure) stretch: u64,
    /// Latency: of frame i it is this, and i nanoseconds more, up to a hundred of them.
    pub(in crate::procedure) latency_ns: u64,
    /// How long it goes on losing after an overload.
    pub(in crate::procedure) recovery: Duration,
    /// How long a reset takes.
    pub(in crate::procedure) reset: Duration,
    /// Connections it keeps, and how many new ones a second.
    pub(in crate::procedure) table: (u64, f64),
    /// Addresses it keeps, and how many new ones a second.
    pub(in crate::procedure) addresses: (u64, f64),
    /// The most data in a segment that it lets through.
    pub(in crate::procedure) mss_most: u16,
    pub(in crate::procedure) prng: Prng,
    /// Trials run so far.
    pub(in crate::procedure) n: u64,
    /// Interrupted at this trial.
    pub(in crate::procedure) interrupted_at: u64,
}

/// A gigabit and 64-byte frames: a device that does two thirds of it.
pub(in crate::procedure) const STEADY: Simulated = Simulated {
    medium: 1_488_095.0,
    capacity: 1e6,
    noise: 0.0,
    flake: 0,
    buffer: 0.0,
    livelock: 0.0,
    tester: 1e9,
    back_pressure: false,
    stretch: 0,
    latency_ns: 5000,
    recovery: Duration::from_millis(30),
    reset: Duration::from_millis(1500),
    table: (10_000, 250e3),
    addresses: (4000, 80e3),
    mss_most: 1360,
    prng: Prng::new(1),
    n: 0,
    interrupted_at: u64::MAX,
};

impl Simulated {
    /// One trial of constant load: so many frames at this rate.
    fn forward(&mut self, intended: u64, rate: f64, duration: Duration) -> Trial {
        self.n += 1;
        let luck = 1.0 - self.noise * self.prng.below(1000) as f64 / 1000.0;
        let capacity = self.capacity * luck;
        let flaked = self.flake > 0 && self.n.is_multiple_of(self.flake);
        let stretched = self.stretch > 0 && self.n.is_multiple_of(self.stretch);
        let seconds = intended as f64 / rate;
        let mut sent = intended.min((self.tester * seconds).round() as u64);
        let holds = capacity * seconds + self.buffer;
        if self.back_pressure {
            sent = sent.min(holds.round() as u64);
        }
        let excess = (rate - capacity).max(0.0) * self.livelock * seconds;
        let mut received = sent.min((holds - excess).max(0.0).round() as u64);
        if flaked {
            received = received.saturating_sub(1);
        }
        let counts = Counts { intended, sent, received, ..Counts::default() };
        let overrun = if stretched { duration / 10 } else { Duration::ZERO };
        Trial::judge(duration, counts, &Conditions { overrun, ..Conditions::default() })
    }

    /// N of a table of a size, filled at a rate; returns how many are kept.
    fn keep(&mut self, n: u64, rate: f64, (most, per_second): (u64, f64)) -> u64 {
        self.n += 1;
        let too_quick = if rate > per_second { n / 100 + 1 } else { 0 };
        n.min(most).saturating_sub(too_quick)
    }

    fn counted(sent: u64, received: u64) -> TrialOutput {
        let counts = Counts { intended: sent, sent, received, ..Counts::default() };
        TrialOutput::of(Trial::judge(Duration::from_secs(1), counts, &Conditions::default()))
    }
}

impl Simulated {
    /// What hosts count of whom so many connections went through, a millisecond for each.
    fn talked(load: TcpLoad, closed: u64) -> TcpOutput {
        let transactions = closed * u64::from(load.transactions.count);
        let asked = transactions * u64::from(load.transactions.request);
        let answered = transactions * load.transactions.response;
        let mut connect_ns = tcp::Counts::default().connect_ns;
        connect_ns.record_n(2_000_000, closed);
        let clients = tcp::Counts {
            transaction_ns: connect_ns.clone(),
            connect_ns,
            opened: load.connections,
            established: closed,
            closed,
            transactions,
            bytes_sent: asked,
            bytes_received: answered,
            ..tcp::Counts::default()
        };
        let servers =
            tcp::Counts { bytes_sent: answered, bytes_received: asked, ..clients.clone() };
        TcpOutput { load, clients, servers, took: Duration::from_millis(load.connections) }
    }
}

impl Measurer for Simulated {
    fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop> {
        if self.n >= self.interrupted_at {
            return Err(Stop::Interrupted);
        }
        let frames =
            |load: PacketRate, duration: Duration| (load.0 * duration.as_secs_f64()).round() as u64;
        Ok(match *input {
            TrialInput::Steady { load, duration, tag } => {
                let trial = self.forward(frames(load, duration), load.0, duration);
                let mut all = LatencyHistogram::default();
                for i in 0..100 {
                    all.record(self.latency_ns + i);
                }
                let left = tag.map_or(Duration::ZERO, |tag| duration.saturating_sub(tag.after));
                let tagged = tag.map_or(0, |tag| tag.frames.min(frames(load, left)));
                // What it holds comes at the rate it can.
                let took = trial.counts.received as f64 / load.0.min(self.capacity);
                TrialOutput {
                    arriving: Some(Duration::from_secs_f64(took)),
                    tagged,
                    latency: Some(all),
                    tagged_ns: vec![(0..tagged).map(|i| self.latency_ns + i % 100).collect()],
                    variation: Some(Variation {
                        pairs: 99,
                        ipdv_min_ns: -99,
                        ipdv_median_ns: 1,
                        ipdv_max_ns: 1,
                        ..Variation::default()
                    }),
                    ..TrialOutput::of(trial)
                }
            }
            TrialInput::Burst { frames } => {
                let duration = Duration::from_secs_f64(frames as f64 / self.medium);
                TrialOutput::of(self.forward(frames, self.medium, duration))
            }
            TrialInput::StepDown { high, high_for, low, low_for } => {
                let trial = self.forward(frames(high, high_for), high.0, high_for);
                let time = if low.0 <= self.capacity { self.recovery } else { low_for };
                let lost = trial.counts.received < trial.counts.sent;
                TrialOutput { time: lost.then_some(time), ..TrialOutput::of(trial) }
            }
            TrialInput::Reset { load, before, after } => {
                let trial = self.forward(frames(load, before), load.0, before);
                let time = (self.reset < after).then_some(self.reset);
                TrialOutput { time, ..TrialOutput::of(trial) }
            }
            TrialInput::Establish { connections, rate, .. } => {
                let kept = self.keep(connections, rate.0, self.table);
                Simulated::counted(2 * connections, connections + kept)
            }
            TrialInput::TearDown { connections } => {
                let time = Duration::from_nanos(100 * connections);
                TrialOutput { time: Some(time), ..Simulated::counted(connections, connections) }
            }
            TrialInput::Learn { addresses, rate } => {
                let kept = self.keep(addresses, rate.0, self.addresses);
                // What is not known is flooded: it comes all the same.
                let flooded = addresses - kept;
                TrialOutput { flooded, ..Simulated::counted(addresses, addresses) }
            }
            TrialInput::Broadcast { load, duration } => {
                TrialOutput::of(self.forward(frames(load, duration), load.0, duration))
            }
            TrialInput::Congestion { load, duration } => {
                let half = frames(load, duration) / 2;
                let came = if self.livelock > 0.0 { half / 2 } else { half };
                let output = Simulated::counted(4 * half, came + 2 * half);
                TrialOutput { aside: Some((half, came)), ..output }
            }
            TrialInput::Flood { load, duration, .. } => {
                TrialOutput::of(self.forward(frames(load, duration), load.0, duration))
            }
            TrialInput::Streams { .. } => {
                return Err(Stop::Broken("a formula has no streams of its own".to_string()));
            }
            TrialInput::Tcp(load) if load.mss.is_some_and(|mss| mss > self.mss_most) => {
                let tcp = Some(Box::new(Simulated::talked(load, 0)));
                TrialOutput { tcp, ..Simulated::counted(load.connections, 0) }
            }
            TrialInput::Tcp(load) => {
                // Only those that are held are there at the same time.
                let most = if load.hold.is_some() { self.table.0 } else { u64::MAX };
                let rate = load.rate.map_or(0.0, |rate| rate.0);
                let kept = self.keep(load.connections, rate, (most, self.table.1));
                let tcp = Some(Box::new(Simulated::talked(load, kept)));
                TrialOutput { tcp, ..Simulated::counted(load.connections, kept) }
            }
        })
    }
}
