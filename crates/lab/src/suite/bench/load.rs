//! Trials of a load: steady, in a burst, from high to low, over a reset (RFC 2544 §26).

use super::{Bench, Place};
use crate::suite::beside::Shares;
use crate::suite::tester::Duty;
use measure::procedure::{Stop, Tag, TrialOutput};
use measure::schedule::{Load, Schedule};
use measure::watch::{Delays, Losses, Silence, Watch};
use measure::{Sender, receive};
use std::time::Duration;
use wire::PacketRate;

impl<P: Place> Bench<'_, P> {
    pub(in crate::suite) fn steady(
        &mut self,
        load: PacketRate,
        duration: Duration,
        tag: Option<Tag>,
    ) -> Result<TrialOutput, Stop> {
        let start = self.begin();
        let Shares { rest: load, broadcasts, control } = self.share(load, start, duration)?;
        let senders = self.senders(load, duration, Duration::ZERO)?;
        let frames = (load.0 * duration.as_secs_f64()) as u64;
        let tags = tag.map_or(vec![], |tag| tags(tag, frames, duration));
        let watch = Watch::Delays(Box::new(Delays::new(0, tags)));
        let mut duty = Duty::new(start, senders).watched(watch);
        (duty.beside, duty.control) = (broadcasts, control);
        let (mut duty, counts) = self.measured(duty, None)?;
        let mut output = self.judge(start, duration, &duty, counts);
        output.series = self.series(&mut duty);
        let wires = self.wire_ns();
        let mut all = receive::latency(&duty.receivers);
        if wires > 0 {
            let whole = all.clone();
            all.reset();
            for value in whole.iter_recorded() {
                let ns = value.value_iterated_to().saturating_sub(wires);
                all.saturating_record_n(ns, value.count_at_value());
            }
        }
        output.latency = Some(all);
        if let Watch::Delays(delays) = &duty.watch {
            let tagged = delays.tagged_ns().iter();
            output.tagged_ns = tagged.map(|ns| ns.saturating_sub(wires)).collect();
            output.ipdv_ns = delays.ipdv_ns();
        }
        Ok(output)
    }

    pub(super) fn burst(&mut self, frames: u64) -> Result<TrialOutput, Stop> {
        let (start, highest) = (self.begin(), self.highest());
        let duration = self.frame.wire_time(frames, self.link);
        let long = Duration::from_secs(86_400);
        let mut senders = self.senders(highest, long, Duration::ZERO)?;
        for sender in senders.iter_mut().flatten() {
            let (load, start) = (Load::Paced(self.pace(highest)?), start);
            let schedule = Schedule { load, start, duration: long };
            let stream = sender.stream().clone();
            *sender = Sender::by_length(stream, schedule).at_most(frames);
        }
        let mut duty = Duty::new(start, senders);
        duty.control = self.control(start, duration);
        let (mut duty, counts) = self.measured(duty, None)?;
        // As fast as may be: that no time is left is what is meant.
        duty.conditions.busy = None;
        Ok(self.judge(start, duration, &duty, counts))
    }

    pub(super) fn step_down(
        &mut self,
        (high, high_for): (PacketRate, Duration),
        (low, low_for): (PacketRate, Duration),
    ) -> Result<TrialOutput, Stop> {
        /// The streams of the second part have numbers from here on.
        const LOW: u8 = 16;
        let start = self.begin();
        let mut senders = self.senders(high, high_for, Duration::ZERO)?;
        let after = self.streams_at(LOW, low, low_for, high_for)?;
        for (all, low) in senders.iter_mut().zip(after) {
            all.extend(low);
        }
        let watch = Watch::Losses(Box::new(Losses::from(LOW)));
        let mut duty = Duty::new(start, senders).watched(watch);
        duty.control = self.control(start, high_for + low_for);
        let (mut duty, counts) = self.measured(duty, None)?;
        let mut output = self.judge(start, high_for + low_for, &duty, counts);
        output.series = self.series(&mut duty);
        if let Watch::Losses(losses) = &duty.watch {
            let of_low = duty.senders.iter().flatten().filter(|s| s.stream().id() >= LOW);
            // When that frame was due is when it was sent: the trial is invalid otherwise.
            let over = of_low.filter_map(|sender| {
                let last = losses.last(sender.stream().id(), sender.sent().offered)?;
                sender.time_of(last + 1)
            });
            output.time = over.max();
        }
        Ok(output)
    }

    pub(super) fn reset(
        &mut self,
        load: PacketRate,
        before: Duration,
        after: Duration,
    ) -> Result<TrialOutput, Stop> {
        let start = self.begin();
        let senders = self.senders(load, before + after, Duration::ZERO)?;
        let reset_at = start + before;
        let watch = Watch::Silence(Silence::ending_after(reset_at));
        let mut duty = Duty::new(start, senders).watched(watch);
        duty.control = self.control(start, before + after);
        let (mut duty, counts) = self.measured(duty, Some(reset_at))?;
        let mut output = self.judge(start, before + after, &duty, counts);
        output.series = self.series(&mut duty);
        if let Watch::Silence(silence) = &duty.watch {
            output.time = silence.longest();
        }
        Ok(output)
    }
}

/// The numbers of the tagged frames among so many.
fn tags(tag: Tag, frames: u64, duration: Duration) -> Vec<u64> {
    let share = tag.after.as_secs_f64() / duration.as_secs_f64().max(1e-9);
    let first = (frames as f64 * share).ceil() as u64;
    let left = frames.saturating_sub(first);
    let n = tag.frames.min(left);
    (0..n).map(|i| first + left * i / n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn tagged_frames_are_spread_over_the_rest() {
        let tag = |frames| Tag { after: SECOND * 60, frames };
        assert_eq!(tags(tag(1), 1200, SECOND * 120), [600]);
        assert_eq!(tags(tag(4), 1200, SECOND * 120), [600, 750, 900, 1050]);
        assert_eq!(tags(tag(500), 4, SECOND * 120), [2, 3], "no more than there are");
    }
}
