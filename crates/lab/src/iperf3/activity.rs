//! Machine activity while programs measure, looked at around the time that counts.
//!
//! ```text
//!  distance   a look          warm-up    the time that counts        cool-down       distance
//!  of cores   ·───────────────────────·══════════════════════════·────────────────   of cores
//!                         the last look before it      the first one after it
//! ```
//!
//! A look reads the time stolen, the time that programs had and two clocks, which takes some microseconds; how far cores are apart
//! takes their time, and is asked when nothing runs. What it means is
//! [`measure::trial::disturbance`]'s.

use super::processors::Processors;
use crate::clock::Clock;
use crate::machine;
use crate::placement::{Distance, Pair};
use measure::Conditions;
use std::ops::Range;
use std::time::Duration;
use wire::Moment;

/// So near to the time that counts, before and after it, is near enough: looks are 10 ms apart, and the
/// programs take some time to begin.
const NEAR: Duration = Duration::from_millis(100);

/// Linux counts by ticks what programs had: a twentieth of the time may be an error of that.
const UNKNOWN: u32 = 20;

/// What is seen at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Time stolen so far.
    stolen: Duration,
    /// For how long programs of others had the processors so far.
    others: Option<Duration>,
    /// The steady clock's time, and the wall clock's.
    clocks: (Moment, Duration),
}

/// The looks next to the time that counts.
#[derive(Debug)]
struct Window {
    counts: Range<Duration>,
    before: Look,
    /// Whether it counts by now.
    is_open: bool,
    after: Option<Look>,
}

impl Window {
    /// A time that counts, since the beginning; nothing has begun.
    fn new(counts: Range<Duration>, look: Look) -> Window {
        Window { counts, before: look, is_open: false, after: None }
    }

    /// So long after the beginning.
    fn at(&mut self, since: Duration, look: impl FnOnce() -> Look) {
        let Range { start, end } = self.counts;
        if !self.is_open && since + NEAR >= start {
            self.is_open = true;
            // Who looks too late has missed something: then what was seen first is before it.
            if since <= start {
                self.before = look();
            }
        } else if self.after.is_none() && since >= end + NEAR {
            self.after = Some(look());
        }
    }

    /// It is over.
    fn conditions(self, processors: usize, look: impl FnOnce() -> Look) -> Conditions {
        let (before, after) = (self.before, self.after.unwrap_or_else(look));
        let [(steady, wall), (later, wall_later)] = [before.clocks, after.clocks];
        let all = later.since(steady) * processors as u32;
        let others = before.others.zip(after.others);
        let away = others.map(|(before, after)| {
            (after.saturating_sub(before).saturating_sub(all / UNKNOWN), all)
        });
        Conditions {
            stolen: after.stolen.saturating_sub(before.stolen),
            away,
            clocks: Some((later.since(steady), wall_later.saturating_sub(wall))),
            ..Conditions::default()
        }
    }
}

/// A measurement's machine.
pub(super) struct Activity {
    cores: Vec<usize>,
    clock: Clock,
    /// How far the processes' cores are apart, if they have two and stay there.
    distance: Option<(Distance, Option<u64>)>,
    window: Window,
}

impl Activity {
    /// Before processes begin at a place, whose time counts from and to these moments.
    pub(super) fn of(place: &Processors, counts: Range<Duration>) -> Activity {
        let distance = place.apart().map(|(tester, device)| {
            let mut distance = Distance::of(Pair { tester, device });
            let before = distance.now_ns();
            (distance, before)
        });
        Activity { distance, ..Activity::anywhere(place.processors(), counts) }
    }

    /// Before something begins that is anywhere on these.
    pub(super) fn anywhere(cores: Vec<usize>, counts: Range<Duration>) -> Activity {
        let clock = Clock::start();
        let window = Window::new(counts, look(&cores, clock));
        Activity { cores, clock, distance: None, window }
    }

    /// So long after the processes began.
    pub(super) fn at(&mut self, since: Duration) {
        let Activity { cores, clock, window, .. } = self;
        window.at(since, || look(cores, *clock));
    }

    /// What it was like, and how long it took since the first look; they have ended.
    pub(super) fn end(self) -> (Duration, Conditions) {
        let Activity { cores, clock, distance, window } = self;
        let took = clock.now().since(Moment::ZERO);
        let conditions = window.conditions(cores.len(), || look(&cores, clock));
        let placement_ns =
            distance.and_then(|(mut distance, before)| before.zip(distance.now_ns()));
        (took, Conditions { placement_ns, ..conditions })
    }
}

fn look(cores: &[usize], clock: Clock) -> Look {
    let others = machine::programs(cores)
        .zip(machine::own_programs())
        .map(|(all, own)| all.saturating_sub(own));
    Look { stolen: machine::stolen(cores), others, clocks: clock.beside_the_wall() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A machine that takes 1 ms of every 10 away until it stops, and sets its clock 5 s ahead then. Others
    /// have one of its two processors for half of the time.
    fn look_at(ms: u32, until: u32) -> Look {
        let wall = MS * ms + if ms > until { MS * 5000 } else { Duration::ZERO };
        Look {
            stolen: MS * ms.min(until) / 10,
            others: Some(MS * ms / 2),
            clocks: (Moment::from_nanos(u64::from(ms) * 1_000_000), wall),
        }
    }

    #[test]
    fn what_happens_around_the_time_that_counts_is_not_its_own() {
        // Looks, in ms after the beginning; the time that counts, when it stops; stolen, and how
        // far the clocks are apart.
        for (looks, counts, until, stolen, apart) in [
            // From 900 to 2100 ms.
            (&[500, 900, 910, 1990, 2100, 2900][..], 1000..2000, 9999, 120, 0),
            (&[500, 1000, 2500, 2900], 1000..2000, 9999, 150, 0),
            // The first look was too late.
            (&[500, 1010, 2100], 1000..2000, 9999, 210, 0),
            // It ended before there was another look.
            (&[950], 1000..2000, 9999, 205, 0),
            // No warm-up: what was seen first, before anything had begun, counts.
            (&[10, 20, 1100], 0..1000, 9999, 110, 0),
            // All was over before it counted, or began afterwards.
            (&[950, 2100], 1000..2000, 900, 0, 0),
            (&[950, 2100], 1000..2000, 1500, 55, 5000),
        ] {
            let mut window = Window::new(MS * counts.start..MS * counts.end, look_at(0, until));
            for &ms in looks {
                window.at(MS * ms, || look_at(ms, until));
            }
            let of = window.conditions(2, || look_at(3000, until));
            let (steady, wall) = of.clocks.unwrap();
            let got = (of.stolen, steady.abs_diff(wall));
            assert_eq!(got, (MS * stolen, MS * apart), "{looks:?} {counts:?} {until}");
            // A quarter of both processors, less what ticks may be wrong by.
            let (away, all) = of.away.unwrap();
            assert_eq!((away, all), (all / 4 - all / 20, 2 * steady), "{looks:?}");
        }
    }

    /// Of this machine, as it is: clocks that go on together, and a time.
    #[test]
    fn a_look_at_this_machine() {
        let mut around = Activity::anywhere(vec![0], Duration::ZERO..MS * 10);
        around.at(MS * 5);
        let (_, of) = around.end();
        assert!(of.clocks.is_some() && of.placement_ns.is_none(), "{of:?}");
    }
}
