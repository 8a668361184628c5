//! Delay variation: how late frames are, and how much that varies from one to the next.
//!
//! ```text
//! latency D(i) ─┬─► histogram: floor, median, 99.9th percentile; PDV = D99.9 − Dmin
//!               └─► D(i) − D(i−1) of neighbours: IPDV, jitter
//! ```
//!
//! Every frame counts. A batch shares its time of sending and of arrival, so latencies come in runs
//! of the same value: a run costs one comparison a frame, and is recorded when it ends.
//!
//! One-way, on one clock. Sources: RFC 5481 (PDV, IPDV), RFC 8219 §7.3, RFC 3550 §6.4.1 (jitter).

use crate::latency_histogram::{LatencyHistogram, NS_MAX};

/// Latencies of one stream.
#[derive(Clone, Debug)]
pub struct Delays {
    latency: LatencyHistogram,
    /// The run of frames with the same latency that is not yet recorded: its value and length.
    run: (u64, u64),
    rises: LatencyHistogram,
    falls: LatencyHistogram,
    /// Neighbours with the same latency.
    equal: u64,
    jitter_ns: f64,
    jitter_max_ns: f64,
    /// The greatest latency since it was last asked for, the run left out; of that, frames asked for.
    peak: Option<u64>,
    peak_run: u64,
}

/// How much latency varies, all in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variation {
    /// Packet delay variation: the 99.9th percentile of the latencies less the least (RFC 8219
    /// §7.3.1).
    pub pdv_ns: u64,
    /// Pairs of neighbours that were compared.
    pub pairs: u64,
    /// Inter-packet delay variation: the least (the steepest fall, below 0).
    pub ipdv_min_ns: i64,
    /// Its median.
    pub ipdv_median_ns: i64,
    /// The greatest.
    pub ipdv_max_ns: i64,
    /// The mean of its absolute values.
    pub ipdv_mean_abs_ns: f64,
    /// RFC 3550's smoothed jitter at the end: the filter looks back over some 16 frames, so this is of
    /// the last ones.
    pub jitter_ns: f64,
    /// The greatest value that the filter had.
    pub jitter_max_ns: f64,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            latency: LatencyHistogram::default(),
            run: (0, 0),
            // Two digits: quantiles to a hundredth, in 30 KB.
            rises: LatencyHistogram::up_to(NS_MAX, 2),
            falls: LatencyHistogram::up_to(NS_MAX, 2),
            equal: 0,
            jitter_ns: 0.0,
            jitter_max_ns: 0.0,
            peak: None,
            peak_run: 0,
        }
    }
}

impl Delays {
    /// A frame took so long; it is a `neighbour` if the last frame recorded was sent just before.
    #[inline]
    pub fn record(&mut self, latency_ns: u64, neighbour: bool) {
        if latency_ns == self.run.0 && neighbour && self.run.1 > 0 {
            self.run.1 += 1;
        } else {
            self.begin_run(latency_ns, neighbour);
        }
    }

    #[inline(never)]
    fn begin_run(&mut self, latency_ns: u64, neighbour: bool) {
        self.end_run();
        self.note_peak();
        let (before, n) = self.run;
        self.run = (latency_ns, 1);
        self.peak_run = 0;
        if !neighbour || n == 0 {
            return;
        }
        let by = latency_ns.abs_diff(before);
        match latency_ns.cmp(&before) {
            std::cmp::Ordering::Greater => self.rises.record(by),
            std::cmp::Ordering::Less => self.falls.record(by),
            std::cmp::Ordering::Equal => self.equal += 1,
        }
        self.jitter_ns += (by as f64 - self.jitter_ns) / 16.0;
        // Within a run it only falls.
        self.jitter_max_ns = self.jitter_max_ns.max(self.jitter_ns);
    }

    /// Records the run; its frames after the first have neighbours as late as themselves.
    fn end_run(&mut self) {
        let (latency, n) = self.run;
        if n > 0 {
            self.latency.record_n(latency, n);
            self.equal += n - 1;
            self.jitter_ns *= (15.0f64 / 16.0).powf((n - 1) as f64);
        }
    }

    /// The greatest latency since this was last asked, in nanoseconds; `None` if nothing came. Costs a
    /// comparison for each run, none for each frame.
    pub fn take_peak(&mut self) -> Option<u64> {
        self.note_peak();
        self.peak_run = self.run.1;
        self.peak.take()
    }

    fn note_peak(&mut self) {
        if self.run.1 > self.peak_run {
            self.peak = self.peak.max(Some(self.run.0));
        }
    }

    /// All latencies recorded, in nanoseconds.
    pub fn latency(&self) -> LatencyHistogram {
        let mut all = self.latency.clone();
        all.record_n(self.run.0, self.run.1);
        all
    }

    /// Takes another stream's in: latencies and their differences together; the jitter is the mean
    /// of both, weighted by their pairs, its greatest value the greater of both.
    pub fn add(&mut self, other: &Delays) {
        let mut other = other.clone();
        for delays in [&mut *self, &mut other] {
            delays.end_run();
            delays.run = (0, 0);
        }
        let pairs = [&*self, &other].map(|delays| delays.pairs() as f64);
        if pairs[0] + pairs[1] > 0.0 {
            let sum = self.jitter_ns * pairs[0] + other.jitter_ns * pairs[1];
            self.jitter_ns = sum / (pairs[0] + pairs[1]);
        }
        for (mine, theirs) in [
            (&mut self.latency, &other.latency),
            (&mut self.rises, &other.rises),
            (&mut self.falls, &other.falls),
        ] {
            mine.add(theirs);
        }
        self.equal += other.equal;
        self.jitter_max_ns = self.jitter_max_ns.max(other.jitter_max_ns);
    }

    fn pairs(&self) -> u64 {
        self.rises.len() + self.falls.len() + self.equal + self.run.1.saturating_sub(1)
    }

    /// How much it varies; `None` before the first frame.
    pub fn variation(&self) -> Option<Variation> {
        let latency = self.latency();
        if latency.is_empty() {
            return None;
        }
        let pairs = self.pairs();
        let (rises, falls) = (&self.rises, &self.falls);
        // Falls, steepest first; then no change; then rises.
        let half = pairs.div_ceil(2);
        let level = pairs - rises.len() - falls.len();
        let median = if half <= falls.len() && !falls.is_empty() {
            let from_least = falls.len() - half + 1;
            -(falls.nth(from_least) as i64)
        } else if half <= falls.len() + level {
            0
        } else {
            rises.nth(half - falls.len() - level) as i64
        };
        let mean = (rises.sum() + falls.sum()) as f64 / pairs.max(1) as f64;
        let open = (15.0f64 / 16.0).powf(self.run.1.saturating_sub(1) as f64);
        Some(Variation {
            pdv_ns: latency.at_quantile(0.999) - latency.min(),
            pairs,
            ipdv_min_ns: if pairs > 0 { least(rises, falls, level) } else { 0 },
            ipdv_median_ns: if pairs > 0 { median } else { 0 },
            ipdv_max_ns: if rises.is_empty() && level == 0 && !falls.is_empty() {
                -(falls.min() as i64)
            } else {
                rises.max() as i64
            },
            ipdv_mean_abs_ns: mean,
            jitter_ns: self.jitter_ns * open,
            jitter_max_ns: self.jitter_max_ns,
        })
    }
}

/// The steepest fall, or the smallest rise where nothing ever fell or stayed.
fn least(rises: &LatencyHistogram, falls: &LatencyHistogram, level: u64) -> i64 {
    if !falls.is_empty() {
        -(falls.max() as i64)
    } else if level > 0 {
        0
    } else {
        rises.min() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(latencies: &[u64]) -> Delays {
        let mut delays = Delays::default();
        latencies.iter().for_each(|&latency| delays.record(latency, true));
        delays
    }

    #[test]
    fn variations() {
        let all = of(&[100, 100, 100, 150, 150, 90, 90, 90, 90]).variation().unwrap();
        assert_eq!((all.pdv_ns, all.pairs), (60, 8));
        assert_eq!((all.ipdv_min_ns, all.ipdv_median_ns, all.ipdv_max_ns), (-60, 0, 50));
        assert_eq!(all.ipdv_mean_abs_ns, 110.0 / 8.0);
        let jitter = [0.0, 0.0, 50.0, 0.0, 60.0, 0.0, 0.0, 0.0];
        let (jitter, most) = jitter.iter().fold((0.0, 0.0f64), |(smooth, most), by| {
            let smooth: f64 = smooth + (by - smooth) / 16.0;
            (smooth, most.max(smooth))
        });
        assert!((all.jitter_ns - jitter).abs() < 1e-9, "{} {jitter}", all.jitter_ns);
        assert!((all.jitter_max_ns - most).abs() < 1e-9, "{} {most}", all.jitter_max_ns);
        assert_eq!(Delays::default().variation(), None);
        // Wider apart than two digits tell, and later than three do.
        let wide = of(&[10_155_138, 10_104_687]).variation().unwrap();
        assert_eq!(
            (wide.ipdv_min_ns, wide.ipdv_median_ns, wide.ipdv_max_ns),
            (-50_451, -50_451, -50_451)
        );
        assert_eq!((wide.ipdv_mean_abs_ns, wide.pdv_ns), (50_451.0, 50_451));
        let still = of(&[10_155_138; 3]).variation().unwrap();
        assert_eq!((still.pdv_ns, still.ipdv_mean_abs_ns), (0, 0.0));
        let one = of(&[5]).variation().unwrap();
        assert_eq!((one.pairs, one.ipdv_min_ns, one.ipdv_max_ns, one.pdv_ns), (0, 0, 0, 0));
    }

    proptest! {
        /// Against all differences kept and sorted; a lost frame between two has no difference.
        #[test]
        fn as_reckoned_one_by_one(
            frames in prop::collection::vec((prop_oneof![Just(7u64), 1u64..60], prop::bool::weighted(0.9)), 1..200),
        ) {
            let mut delays = Delays::default();
            frames.iter().for_each(|&(latency, neighbour)| delays.record(latency, neighbour));
            let mut differences: Vec<i64> = frames
                .windows(2)
                .filter(|pair| pair[1].1)
                .map(|pair| pair[1].0 as i64 - pair[0].0 as i64)
                .collect();
            differences.sort_unstable();
            let variation = delays.variation().unwrap();
            prop_assert_eq!(variation.pairs, differences.len() as u64);
            prop_assert_eq!(delays.latency().len(), frames.len() as u64);
            if let (Some(first), Some(last)) = (differences.first(), differences.last()) {
                prop_assert_eq!(variation.ipdv_min_ns, *first);
                prop_assert_eq!(variation.ipdv_max_ns, *last);
                let median = differences[differences.len().div_ceil(2) - 1];
                prop_assert_eq!(variation.ipdv_median_ns, median, "{:?}", differences);
            }
            // Two halves added are the whole, but for the pair between them.
            let (front, back) = frames.split_at(frames.len() / 2);
            let half = |frames: &[(u64, bool)]| {
                let mut half = Delays::default();
                frames.iter().for_each(|&(latency, neighbour)| half.record(latency, neighbour));
                half
            };
            let mut both = half(front);
            both.add(&half(back));
            prop_assert_eq!(both.latency(), delays.latency());
            let lost = u64::from(!front.is_empty() && back[0].1);
            prop_assert_eq!(both.variation().unwrap().pairs + lost, variation.pairs);
            // The greatest of each part, wherever it is cut.
            let (mut delays, mut peaks) = (Delays::default(), vec![]);
            for part in frames.chunks(7) {
                part.iter().for_each(|&(latency, neighbour)| delays.record(latency, neighbour));
                peaks.push(delays.take_peak());
            }
            let greatest = |part: &[(u64, bool)]| part.iter().map(|(latency, _)| *latency).max();
            prop_assert_eq!(peaks, frames.chunks(7).map(greatest).collect::<Vec<_>>());
            prop_assert_eq!(delays.take_peak(), None);
        }
    }
}
