//! `quick`: a test that is shown second by second, and summed up at its end.
//!
//! ```text
//! neighbours answer (3 s at most) ─► test ─► a group each second ─► what is left of the last
//!                                                                   second ─► TOT lines
//! ```
//!
//! Interrupted, it sums up what there was. `start` begins a test as `quick` does, and leaves it
//! alone.

use super::plan::NoTest;
use super::test::Test;
use super::{Generator, stats};
use config::{Call, Job, Progress, Record, Reply, Value};
use std::time::Duration;
use wire::Moment;

/// How long neighbours may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at the test.
const LOOK: Duration = Duration::from_millis(10);

/// `start`, while neighbours have yet to answer.
pub(super) struct Start {
    call: Call,
    give_up: Moment,
}

impl Start {
    pub(super) fn new(call: Call, now: Moment) -> Start {
        Start { call, give_up: now + PATIENCE }
    }
}

impl<D: AsMut<Generator> + ?Sized> Job<D> for Start {
    fn poll(
        &mut self,
        device: &mut D,
        now: Moment,
        _out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        match device.as_mut().begin(&self.call, now) {
            Ok(_) => Ok(Progress::Done(Reply::Nothing)),
            Err(NoTest::Wait(_)) if now < self.give_up => Ok(Progress::Again(now + LOOK)),
            Err(NoTest::Wait(why) | NoTest::Bad(why)) => Err(why),
        }
    }
}

pub(super) struct Quick {
    call: Call,
    give_up: Moment,
    /// The number of the test it has begun.
    test: Option<u64>,
    /// The last second that was shown.
    shown: u64,
    entries: usize,
    interval: Duration,
    /// When it is shown next.
    next: Moment,
}

impl Quick {
    pub(super) fn new(call: Call, now: Moment) -> Quick {
        let entries = match call.argument("entries-to-show") {
            Some(Value::Number(entries)) => entries as usize,
            _ => 1,
        };
        let interval = match call.argument("freeze-frame-interval") {
            Some(Value::Time(interval)) => interval.max(LOOK),
            _ => Duration::from_secs(1),
        };
        Quick { call, give_up: now + PATIENCE, test: None, shown: 0, entries, interval, next: now }
    }

    /// The seconds that are to be shown now; returns whether there is a new one.
    fn frame(&mut self, test: &Test, out: &mut Vec<Record>) -> bool {
        let newest = test.kept().back().map_or(0, |sample| sample.seq);
        if newest <= self.shown {
            return false;
        }
        self.shown = newest;
        let from = test.kept().len().saturating_sub(self.entries);
        for sample in test.kept().range(from..) {
            out.extend(stats::of_streams(test, sample, false));
        }
        true
    }
}

impl Generator {
    /// Begins a test.
    pub(super) fn begin(&mut self, call: &Call, now: Moment) -> Result<u64, NoTest> {
        if self.test.as_ref().is_some_and(|test| test.is_sending()) {
            return Err("failure: a test is under way already: stop it first".to_string().into());
        }
        let plan = self.plan(call)?;
        if let Some(mut draining) = self.test.take() {
            draining.finish(now);
            self.last = Some(draining);
        }
        self.tests += 1;
        self.test = Some(Box::new(Test::start(plan, self.catalogue.interfaces.len(), now)));
        Ok(self.tests)
    }
}

impl<D: AsMut<Generator> + ?Sized> Job<D> for Quick {
    fn poll(
        &mut self,
        device: &mut D,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        let generator = device.as_mut();
        let Some(number) = self.test else {
            return match generator.begin(&self.call, now) {
                Ok(number) => {
                    self.test = Some(number);
                    self.next = now + self.interval;
                    Ok(Progress::Again(now))
                }
                Err(NoTest::Wait(_)) if now < self.give_up => Ok(Progress::Again(now + LOOK)),
                Err(NoTest::Wait(why) | NoTest::Bad(why)) => Err(why),
            };
        };
        if generator.tests != number {
            return Ok(Progress::Done(Reply::Nothing)); // somebody stopped it and began another
        }
        if let Some(test) = &generator.test {
            // The last second is shown when all that was under way has come.
            let is_due = test.is_sending() && now >= self.next && test.is_up_to_date(now);
            if is_due && self.frame(test, out) {
                while self.next <= now {
                    self.next = self.next + self.interval;
                }
            }
            let soon = now + LOOK;
            return Ok(Progress::Again(if self.next > now { soon.min(self.next) } else { soon }));
        }
        let Some(test) = &generator.last else { return Ok(Progress::Done(Reply::Nothing)) };
        if self.frame(test, out) {
            return Ok(Progress::Again(now));
        }
        out.extend(stats::of_streams(test, &test.total(), true));
        Ok(Progress::Done(Reply::Nothing))
    }

    /// The totals are shown when all that is under way has come.
    fn wind_up(&mut self, device: &mut D, now: Moment) -> bool {
        self.stop(device, now);
        self.test.is_some()
    }

    /// The senders stop; what is under way is still counted, for `stats`.
    fn stop(&mut self, device: &mut D, now: Moment) {
        let generator = device.as_mut();
        if self.test == Some(generator.tests)
            && let Some(test) = &mut generator.test
        {
            test.stop(now);
        }
    }
}
