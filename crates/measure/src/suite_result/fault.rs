//! Impossible counts of a trial, whatever device there was.
//!
//! ```text
//!  sent ≤ intended     received ≤ sent     reordered ≤ received     wrong size ≤ corrupt
//!  pass: sent = received, and whoever came with a gap in front was waited for by one overtaken
//!  pass or fail: nothing too late, next to nothing lost in the tester's own ring
//! ```
//!
//! Of invalid trials only the sums that hold whatever went wrong.

use super::{StreamRecord, TcpRecord, TrialRecord, total};
use crate::result::{Latency, kind};
use crate::series::Series;
use crate::trial::is_little;

impl TrialRecord {
    /// Whether it says something about the device.
    pub fn is_valid(&self) -> bool {
        !self.outcome.starts_with("invalid")
    }

    /// Frames of replays that came changed: with headers, a length or data that no frame of theirs has.
    pub fn altered(&self) -> u64 {
        total(self.streams.iter().map(StreamRecord::altered))
    }

    /// Damaged frames of the right length.
    pub fn bad_checksum(&self) -> u64 {
        self.corrupt.saturating_sub(self.wrong_size).saturating_sub(self.altered())
    }

    /// All that cannot be, each to be read after the trial's place.
    pub(crate) fn faults(&self) -> Vec<String> {
        let (valid, passed) = (self.is_valid(), self.outcome == "pass");
        let mut faults = vec![];
        if self.series.as_ref().is_some_and(|series| !series.is_whole()) {
            faults.push(": a time series whose lists have other intervals".to_string());
        }
        let sums = self.series.as_ref().map(Series::sums);
        if sums.is_some_and(|sums| sums != (self.sent, self.received)) {
            faults.push(": a time series is not the sum of its trial".to_string());
        }
        let latency = self.latency.as_ref().and_then(Latency::fault);
        faults.extend(latency.map(|why| format!(": {why}")));
        // One frame, or one of each stream, takes no time to be sent: there is no gap.
        let instant = self.duration == 0.0 && self.intended <= self.streams.len().max(1) as u64;
        let is_time = self.duration.is_finite() && (self.duration > 0.0 || instant);
        if valid && !is_time {
            faults.push(format!(": it took {} s", self.duration));
        }
        if let Some(tcp) = &self.tcp {
            let of_tcp = if valid { tcp.faults(passed) } else { vec![] };
            faults.extend(of_tcp.into_iter().map(|why| format!(": {why}")));
            return faults;
        }
        for stream in self.streams.iter().filter(|_| valid) {
            let fault = stream.fault();
            faults.extend(fault.map(|why| format!(", {}: {why}", stream.name)));
        }
        for one in self.directions.iter().filter(|_| valid) {
            let fault = one.fault();
            faults.extend(fault.map(|why| format!(", from {} to {}: {why}", one.from, one.to)));
        }
        let TrialRecord { intended, sent, received, .. } = *self;
        let outcome = &self.outcome;
        let is_judged = passed || outcome == "fail";
        let mut note = |wrong: bool, why: String| faults.extend(wrong.then(|| format!(": {why}")));
        note(valid && received > sent, format!("{received} received of {sent}"));
        note(
            is_judged && passed != (received == sent),
            format!("{outcome} of a trial that lost frames"),
        );
        note(sent > intended, format!("{sent} sent of {intended}"));
        note(
            valid && !is_little(self.tester_rx_drop, received, sent.saturating_sub(received)),
            format!("{outcome} of a trial whose tester lost {} frames", self.tester_rx_drop),
        );
        note(
            valid && self.stale > 0,
            format!("{outcome} of a trial with {} frames too late to tell", self.stale),
        );
        note(valid && self.lost_gaps() > 0, {
            let (gaps, lost, late) = (self.gaps, sent.saturating_sub(received), self.reordered);
            format!("{gaps} gaps, {lost} frames lost and {late} overtaken")
        });
        self.sums(passed, &mut note);
        faults
    }

    /// Gaps beyond those that lost and overtaken frames can leave: each is in front of a frame, and each
    /// is of frames of its own. (As for frames that are flooded and who sends as fast as it can,
    /// see [`sums`](Self::sums).)
    fn lost_gaps(&self) -> u64 {
        if self.flooded > 0 || self.is_full_speed() {
            return 0;
        }
        let lost = self.sent.saturating_sub(self.received);
        self.gaps.saturating_sub(lost.saturating_add(self.reordered))
    }

    fn is_full_speed(&self) -> bool {
        [kind::SELF_TEST, kind::HIGHEST].contains(&self.kind.as_str())
    }

    /// What the receiver counted, number by number.
    fn sums(&self, passed: bool, note: &mut impl FnMut(bool, String)) {
        let TrialRecord { received, reordered, extent_max, gaps, .. } = *self;
        let (corrupt, wrong_size) = (self.corrupt, self.wrong_size);
        note(wrong_size > corrupt, format!("{wrong_size} of {corrupt} damaged in another length"));
        note(reordered > received, format!("{reordered} overtaken of {received}"));
        note(extent_max > 0 && reordered == 0, format!("none overtaken, and by {extent_max}"));
        // Frames that are flooded come out of ports where only some of them come; who sends as fast as
        // it can has numbers for frames that its port refused.
        let full_speed = self.is_full_speed();
        note(
            passed && gaps > 0 && reordered == 0 && self.flooded == 0 && !full_speed,
            format!("{gaps} gaps that nobody filled, and nothing lost"),
        );
        let by_way = total(self.directions.iter().map(|one| one.received));
        note(
            !self.directions.is_empty() && by_way != received,
            format!("{received} received, and {by_way} of its directions"),
        );
        if self.streams.is_empty() {
            return;
        }
        type Count = (&'static str, u64, fn(&StreamRecord) -> u64);
        let counts: [Count; 4] = [
            ("intended", self.intended, |stream| stream.intended),
            ("received", received, |stream| stream.received),
            ("duplicate", self.duplicate, |stream| stream.duplicate),
            ("overtaken", reordered, |stream| stream.reordered),
        ];
        for (what, all, of) in counts {
            let sum = total(self.streams.iter().map(of));
            note(sum != all, format!("{all} {what}, and {sum} of its streams"));
        }
    }
}

impl TcpRecord {
    /// What cannot be of a trial that passed or failed.
    fn faults(&self, passed: bool) -> Vec<String> {
        let TcpRecord { due, opened, established, closed, reset, timed_out, .. } = *self;
        let TcpRecord { bytes_sent, bytes_received, concurrent_max, .. } = *self;
        let mut faults = vec![];
        let mut note = |wrong: bool, why: String| faults.extend(wrong.then_some(why));
        let ended = total([closed, reset, timed_out]);
        note(
            opened > due || established > opened || ended > opened,
            format!(
                "more connections than there were to be: {due} due, {opened} opened, {established} \
                 established, {closed} closed, {reset} reset, {timed_out} timed out"
            ),
        );
        note(
            bytes_received > bytes_sent,
            format!("more bytes received than sent: {bytes_received} of {bytes_sent}"),
        );
        note(
            passed && (closed != due || bytes_received != bytes_sent),
            format!(
                "a pass with connections or bytes missing: {closed} of {due} closed, \
                 {bytes_received} of {bytes_sent} bytes"
            ),
        );
        note(
            concurrent_max > opened,
            format!("{concurrent_max} connections at a time, and {opened} were opened"),
        );
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedure::{TrialInput, TrialOutput, Tried};
    use crate::trial::{Conditions, Counts, Trial};
    use std::time::Duration;
    use wire::PacketRate;

    /// A record of a trial with these counts.
    fn record(counts: Counts) -> TrialRecord {
        let (load, duration) = (PacketRate(1000.0), Duration::from_secs(1));
        let trial = Trial::judge(duration, counts, &Conditions::default());
        let input = TrialInput::Steady { load, duration, tag: None };
        TrialRecord::of(&Tried { input, output: TrialOutput::of(trial) })
    }

    const SOUND: Counts = Counts {
        intended: 1000,
        sent: 1000,
        received: 1000,
        reordered: 4,
        extent_max: 2,
        gaps: 3,
        duplicate: 5,
        stale: 0,
        corrupt: 7,
        wrong_size: 6,
        foreign: 8,
        tester_rx_drop: 0,
    };

    /// A trial that passed says how disturbed it was.
    #[test]
    fn disturbances_are_kept() {
        let (load, duration) = (PacketRate(1000.0), Duration::from_secs(1));
        let [stood_still, stolen] = [300, 400].map(Duration::from_micros);
        let conditions = Conditions { stood_still, stolen, ..Conditions::default() };
        let trial = Trial::judge(duration, SOUND, &conditions);
        let input = TrialInput::Steady { load, duration, tag: None };
        let output = TrialOutput { conditions, ..TrialOutput::of(trial) };
        let record = TrialRecord::of(&Tried { input, output });
        assert_eq!((record.outcome.as_str(), record.stood_still_ns), ("pass", 300_000));
        assert_eq!(record.stolen_ns, 400_000);
    }

    /// Every count of a trial is in its record, and what is zero is not in the file.
    #[test]
    fn nothing_counted_is_lost() {
        let counts = Counts { stale: 9, tester_rx_drop: 10, ..SOUND };
        let TrialRecord { reordered, extent_max, gaps, duplicate, corrupt, wrong_size, .. } =
            record(counts);
        let TrialRecord { stale, foreign, tester_rx_drop, .. } = record(counts);
        let found = [reordered, extent_max, gaps, duplicate, corrupt, wrong_size];
        assert_eq!(found, [4, 2, 3, 5, 7, 6]);
        assert_eq!([stale, foreign, tester_rx_drop], [9, 8, 10]);
        let json = serde_json::to_string(&record(counts)).unwrap();
        assert_eq!(serde_json::from_str::<TrialRecord>(&json).unwrap(), record(counts));
        let few = Counts { intended: 1, sent: 1, received: 1, ..Counts::default() };
        let json = serde_json::to_string(&record(few)).unwrap();
        for name in ["gaps", "extent_max", "wrong_size", "stale", "foreign", "tester_rx_drop"] {
            assert!(!json.contains(name), "{name} in {json}");
        }
    }

    /// The one frame of a stream, or of a replay, is sent in no time; two are not.
    #[test]
    fn one_frame_takes_no_time() {
        for (frames, seconds, sound) in [
            (1, 0.0, true),
            (2, 0.0, false),
            (1, -1.0, false),
            (1, f64::NAN, false),
            (2, 1.0, true),
        ] {
            let counts =
                Counts { intended: frames, sent: frames, received: frames, ..Counts::default() };
            let record = TrialRecord { duration: seconds, load: 0.0, ..record(counts) };
            let faults = record.faults();
            assert_eq!(faults.is_empty(), sound, "{frames} in {seconds} s: {faults:?}");
        }
    }

    #[test]
    fn sums_that_cannot_be() {
        let sound = record(SOUND);
        assert_eq!((sound.outcome.as_str(), sound.faults()), ("pass", vec![]));
        type Change = fn(&mut TrialRecord);
        let way = |from, to, sent, lost| StreamRecord {
            from,
            to,
            intended: sent,
            sent,
            received: sent - lost,
            lost,
            elsewhere: lost,
            ..StreamRecord::default()
        };
        let both = vec![way(1, 2, 600, 0), way(2, 1, 500, 100)];
        let mut two_ways = sound.clone();
        two_ways.directions = both.clone();
        assert_eq!(two_ways.faults(), [""; 0]);
        assert_eq!(both[1].to_string(), "2 to 1: 400 of 500, 100 elsewhere");
        two_ways.directions[0].lost = 7;
        two_ways.directions[1].received = 1;
        let faults = two_ways.faults().join("\n");
        assert!(faults.contains(", from 1 to 2: received and lost are not"), "{faults}");
        assert!(faults.contains(": 1000 received, and 601 of its directions"), "{faults}");
        let cases: [(Change, &str); 9] = [
            (|t| t.wrong_size = 8, ": 8 of 7 damaged in another length"),
            (|t| t.tester_rx_drop = 2, ": pass of a trial whose tester lost 2 frames"),
            (|t| t.stale = 1, ": pass of a trial with 1 frames too late to tell"),
            (|t| t.reordered = 1001, ": 1001 overtaken of 1000"),
            (|t| (t.reordered, t.gaps) = (0, 0), ": none overtaken, and by 2"),
            (
                |t| (t.reordered, t.extent_max) = (0, 0),
                ": 3 gaps that nobody filled, and nothing lost",
            ),
            (|t| t.sent = 1001, ": pass of a trial that lost frames"),
            (|t| t.received = 1001, ": 1001 received of 1000"),
            (|t| t.intended = 999, ": 1000 sent of 999"),
        ];
        for (change, expected) in cases {
            let mut trial = sound.clone();
            change(&mut trial);
            assert!(trial.faults().iter().any(|why| why == expected), "{:?}", trial.faults());
        }
        // What fell short may be short of anything but its sums.
        let mut invalid = sound;
        invalid.outcome = "invalid: the tester's own receive ring lost 2 frames".to_string();
        (invalid.tester_rx_drop, invalid.stale, invalid.received) = (2, 1, 990);
        assert_eq!(invalid.faults(), [""; 0]);
        invalid.wrong_size = 8;
        assert_eq!(invalid.faults().len(), 1);
    }
}
