//! The tester alone: what it can do with no device between the wires.

use super::{Bench, Testbed};
use crate::tester::Task;
use measure::latency_histogram::LatencyHistogram;
use measure::procedure::Stop;
use measure::schedule::{Load, Schedule};
use measure::suite_result::{AloneTried, TesterAlone};
use measure::{FrameSize, Mix, Sender, receive};
use std::time::Duration;
use wire::PacketRate;

/// Of the tester's own rate, one in each try: a floor is what a frame takes where none waits for others,
/// and where the system at the other end sleeps as little as at the rates of a plan. Which of them that is
/// depends on the wires: through two veths and AF_PACKET it was 6 µs at a tenth, and 50 at a hundredth.
const LOW: [f64; 3] = [0.01, 0.1, 0.3];

impl<P: Testbed> Bench<'_, P> {
    /// The same with frames of another length than those of now.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn self_test_of(
        &mut self,
        frame: &FrameSize,
        duration: Duration,
    ) -> Result<TesterAlone, Stop> {
        let now = std::mem::replace(&mut self.frame, frame.clone());
        let alone = self.self_test(duration);
        self.frame = now;
        alone
    }

    /// The tester alone, with no device between the wires: as fast as it can, or (where wires are
    /// simulated) as fast as these go.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn self_test(&mut self, duration: Duration) -> Result<TesterAlone, Stop> {
        // What it did once it can do, however busy the machine was the other times.
        let tries = if self.place.is_simulated() { &LOW[..1] } else { &LOW };
        self.place.bypass(true)?;
        let tried: Result<Vec<TesterAlone>, Stop> =
            tries.iter().map(|low| self.alone(duration, *low)).collect();
        self.place.bypass(false)?;
        let tried = tried?;
        // Nor is a floor what was undercut in another of them.
        let floor = tried.iter().map(|one| one.latency_floor_ns).min().unwrap_or_default();
        let best = tried.into_iter().max_by(|a, b| a.rate.total_cmp(&b.rate));
        let best = best.map(|best| TesterAlone { latency_floor_ns: floor, ..best });
        best.ok_or_else(|| Stop::Broken("the tester was not tried".to_string()))
    }

    /// As fast as it can, and at a share of that.
    fn alone(&mut self, duration: Duration, share: f64) -> Result<TesterAlone, Stop> {
        let (start, highest) = (self.start(), self.highest());
        let mut senders = self.connected(highest, duration)?;
        let sending = senders.iter().filter(|all| !all.is_empty()).count().max(1);
        if !self.place.is_simulated() {
            for sender in senders.iter_mut().flatten() {
                let schedule = Schedule { load: Load::FullSpeed, start, duration };
                *sender = Sender::in_turn(sender.streams().to_vec(), schedule);
            }
        }
        let (task, counts) = self.run_task(Task::new(start, senders))?;
        let took = duration.max(task.last_sent().since(start));
        // Wires have their rates each; what a tester can is shared by all who are to send.
        let sending = if self.place.is_simulated() { sending } else { self.plan.traffic.senders() };
        let mut floor = receive::latency(&task.receivers);
        let tried = AloneTried {
            ports: sending as u32,
            sent: counts.sent,
            received: counts.received,
            took_ns: took.as_nanos() as u64,
            latency_min_ns: (!floor.is_empty()).then(|| floor.min()),
        };
        let each = counts.received as f64 / sending as f64;
        let rate = match task.arriving().filter(|_| self.place.is_simulated()) {
            // Of a wire: between the first frame and the last, and so not what a queue on the way held
            // when the sending ended, nor the frame that a time has more than gaps.
            Some(arriving) if each > 1.0 => self.wired_rate(each, arriving),
            _ => tried.rate(),
        };
        // Either may be the quicker: at a low load no frame waits for its batch, at a high one nobody
        // sleeps who would have to wake up first.
        if !self.place.is_simulated() {
            let low = self.low(PacketRate((rate * share).max(100.0)), duration)?;
            let least = if floor.is_empty() { u64::MAX } else { floor.min() };
            if !low.is_empty() && low.min() < least {
                floor = low;
            }
        }
        let floor = floor.min();
        Ok(TesterAlone {
            frame_size: self.frame.rounded(),
            mix: self.frame.mix().map(Mix::label),
            rate,
            latency_floor_ns: floor,
            lossy: counts.received != counts.sent,
            tried: (!self.place.is_simulated()).then_some(tried),
        })
    }

    /// The plan's streams where a wire leads from each port to the one beside it, the third's to the
    /// fourth: of an odd number the last has none, and does not send.
    fn connected(&mut self, load: PacketRate, time: Duration) -> Result<Vec<Vec<Sender>>, Stop> {
        let mut senders = self.senders(load, time, Duration::ZERO)?;
        if let Some((_, ports)) = self.plan.traffic.mesh() {
            senders[ports & !1..].iter_mut().for_each(Vec::clear);
        }
        Ok(senders)
    }

    /// What wires carried, of which so many frames took so long from the first one's arrival to the
    /// last one's. Of a mix the last may have waited, where a wire follows a wire, for a longest one
    /// that was before it, once and for all: no more than the wire is made of that.
    fn wired_rate(&self, frames: f64, arriving: Duration) -> f64 {
        if self.frame.mix().is_none() {
            return (frames - 1.0) / arriving.as_secs_f64();
        }
        let sending = self.frame.wire_time(frames as u64 - 1, self.link).as_secs_f64();
        let waited = self.place.wire_time(self.frame.longest());
        let arriving = arriving.saturating_sub(waited).as_secs_f64();
        self.highest().0 * (sending / arriving.max(1e-9)).min(1.0)
    }

    /// How long frames take from the tester to itself, in nanoseconds, at a load so low that none waits
    /// until those of its batch are made.
    fn low(&mut self, load: PacketRate, duration: Duration) -> Result<LatencyHistogram, Stop> {
        let start = self.start();
        let senders = self.connected(load, duration)?;
        let (task, _) = self.run_task(Task::new(start, senders))?;
        Ok(receive::latency(&task.receivers))
    }
}
