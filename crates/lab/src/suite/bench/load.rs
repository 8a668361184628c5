//! Trials of a load: steady, in a burst, from high to low, over a reset (RFC 2544 §26).

use super::{Bench, Testbed};
use crate::suite::modifier::Shares;
use measure::latency_histogram::LatencyHistogram;
use measure::procedure::{Direction, Stop, Tag, TrialOutput};
use measure::result::Latency;
use measure::schedule::{Load, Schedule};
use measure::watch::{Losses, Silence, Tags, Watch};
use measure::{Sender, Stream, receive};
use std::time::Duration;
use wire::PacketRate;

impl<P: Testbed> Bench<'_, P> {
    pub(in crate::suite) fn steady(
        &mut self,
        load: PacketRate,
        duration: Duration,
        tag: Option<Tag>,
    ) -> Result<TrialOutput, Stop> {
        let start = self.begin();
        let Shares { rest: load, broadcasts, control } = self.share(load, start, duration)?;
        let senders = self.senders(load, duration, Duration::ZERO)?;
        let each = self.plan.traffic.destinations() as f64;
        let frames = (load.0 * duration.as_secs_f64() / each) as u64;
        let tags = tag.map_or(vec![], |tag| tags(tag, frames, duration));
        let watch = match tags.is_empty() {
            true => Watch::Nothing,
            false => Watch::Tags(ids(&senders).map(|id| Tags::new(id, tags.clone())).collect()),
        };
        let mut task = self.task_of(start, senders).watched(watch);
        (task.beside, task.control) = (broadcasts, control);
        let (mut task, counts) = self.measured(task, None)?;
        let mut output = self.judge(start, duration, &task, counts);
        output.series = task.series();
        let late = receive::delays(&task.receivers);
        output.latency = Some(late.latency());
        output.variation = late.variation();
        if let Watch::Tags(all) = &task.watch {
            output.tagged = tags.len() as u64;
            for tags in all {
                if let Some(way) = way_of(&mut output.directions, task.way(tags.stream())) {
                    let mut all = LatencyHistogram::default();
                    tags.came_ns().iter().for_each(|ns| all.record(*ns));
                    way.tagged = Latency::of(&all);
                }
                output.tagged_ns.push(tags.came_ns().to_vec());
            }
        }
        Ok(output)
    }

    pub(super) fn burst(&mut self, frames: u64) -> Result<TrialOutput, Stop> {
        let (start, highest) = (self.begin(), self.highest());
        // Streams that take turns have all lengths of a mix each.
        let n = self.plan.traffic.destinations() as u64;
        let of_each = (0..n).map(|turn| (frames + n - 1 - turn) / n);
        let duration = of_each.map(|frames| self.frame.wire_time(frames, self.link)).sum();
        let long = Duration::from_secs(86_400);
        let mut senders = self.senders(highest, long, Duration::ZERO)?;
        for sender in senders.iter_mut().flatten() {
            let (load, start) = (Load::Paced(self.pace(highest)?), start);
            let schedule = Schedule { load, start, duration: long };
            let streams = sender.streams().to_vec();
            *sender = Sender::in_turn(streams, schedule).at_most(frames);
        }
        let mut task = self.task_of(start, senders);
        task.control = self.control(start, duration);
        task.until_quiet = true;
        let (mut task, counts) = self.measured(task, None)?;
        // As fast as may be: that no time is left is what is meant.
        task.conditions.busy = None;
        Ok(self.judge(start, duration, &task, counts))
    }

    pub(super) fn step_down(
        &mut self,
        (high, high_for): (PacketRate, Duration),
        (low, low_for): (PacketRate, Duration),
    ) -> Result<TrialOutput, Stop> {
        // The streams of the second part have numbers from here on.
        let low_from = self.streams_n().max(16) as u8;
        let start = self.begin();
        let mut senders = self.senders(high, high_for, Duration::ZERO)?;
        let after = self.streams_at(low_from, low, low_for, high_for)?;
        for (all, low) in senders.iter_mut().zip(after) {
            all.extend(low);
        }
        let watch = Watch::Losses(Box::new(Losses::from(low_from)));
        let mut task = self.task_of(start, senders).watched(watch);
        task.control = self.control(start, high_for + low_for);
        let (mut task, counts) = self.measured(task, None)?;
        let mut output = self.judge(start, high_for + low_for, &task, counts);
        output.series = task.series();
        if let Watch::Losses(losses) = &task.watch {
            // When that frame was due is when it was sent: the trial is invalid otherwise.
            for (_, sender, turn) in task.streams() {
                let id = sender.streams()[turn].id();
                if id < low_from {
                    continue;
                }
                let last = losses.last(id, sender.sent_of(turn).offered);
                // Streams that take turns have every so many of the sender's frames.
                let number =
                    |of_stream: u64| of_stream * sender.streams().len() as u64 + turn as u64;
                let over = last.and_then(|last| sender.time_of(number(last + 1)));
                output.time = output.time.max(over);
                // A way that lost nothing had nothing to recover from; one that lost nothing after the
                // drop had recovered by then.
                if let Some(way) = way_of(&mut output.directions, task.way(id))
                    && way.tally.received < way.sent
                {
                    way.time = Some(over.unwrap_or_default());
                }
            }
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
        let each = ids(&senders).map(|id| Silence::ending_after(id, reset_at));
        let watch = Watch::Silence(each.collect());
        let mut task = self.task_of(start, senders).watched(watch);
        task.control = self.control(start, before + after);
        let (mut task, counts) = self.measured(task, Some(reset_at))?;
        let mut output = self.judge(start, before + after, &task, counts);
        output.series = task.series();
        if let Watch::Silence(silences) = &task.watch {
            // It is back when it is back in every direction.
            let all: Option<Vec<Duration>> = silences.iter().map(Silence::longest).collect();
            output.time = all.and_then(|all| all.into_iter().max());
            for silence in silences {
                if let Some(way) = way_of(&mut output.directions, task.way(silence.stream())) {
                    way.time = silence.longest();
                }
            }
        }
        Ok(output)
    }
}

/// The numbers of the streams that are sent.
fn ids(senders: &[Vec<Sender>]) -> impl Iterator<Item = u8> + '_ {
    senders.iter().flatten().flat_map(Sender::streams).map(Stream::id)
}

/// The direction between these ports.
fn way_of(directions: &mut [Direction], ports: Option<(u32, u32)>) -> Option<&mut Direction> {
    directions.iter_mut().find(|way| Some(way.ports) == ports)
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
