//! The time series that a cell keeps: that of the trial on which its figures stand.
//!
//! ```text
//!  throughput     the longest trial that passed at the throughput: the confirming one
//!  the others     the last one that is not invalid
//! ```
//!
//! A series takes one or two kilobytes, and a plan has thousands of trials: searching ones, repetitions.
//! Where many trials make one curve (frame loss, bursts, addresses, connections without TCP) the curve
//! is what is to be seen, and none is kept.

use super::{Cell, TrialRecord};

impl Cell {
    /// Leaves the time series of one trial at most.
    pub fn keep_one_series(&mut self) {
        let kept = self.kept();
        for (i, trial) in self.trials.iter_mut().enumerate() {
            if kept != Some(i) {
                trial.series = None;
            }
        }
    }

    /// The trial whose time series is kept, and the series; none whose lists have other intervals.
    pub fn course(&self) -> Option<(&TrialRecord, &crate::series::Series)> {
        self.trials.iter().find_map(|trial| {
            let series = trial.series.as_ref().filter(|series| series.is_whole());
            series.map(|series| (trial, series))
        })
    }

    fn kept(&self) -> Option<usize> {
        let with = self
            .trials
            .iter()
            .enumerate()
            .filter(|(_, trial)| trial.series.is_some() && trial.is_valid());
        let first = self.figures.first().and_then(|figure| figure.value);
        match self.procedure.as_str() {
            "throughput" => {
                let at = |load: f64| first.is_some_and(|rate| (load / rate - 1.0).abs() < 1e-9);
                let passed = with.filter(|(_, one)| one.outcome == "pass" && at(one.load));
                passed.max_by(|a, b| a.1.duration.total_cmp(&b.1.duration)).map(|(i, _)| i)
            }
            "latency" | "delay-variation" | "recovery" | "reset" | "tcp-connections"
            | "tcp-transactions" | "tcp-concurrent" | "tcp-throughput" | "streams" => {
                with.map(|(i, _)| i).next_back()
            }
            _ => None,
        }
    }
}
