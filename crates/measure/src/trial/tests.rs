//! Trials that pass, fail or are invalid, each by one difference from a sound one.

use super::*;
use proptest::prelude::*;

fn judged(change: impl FnOnce(&mut Counts, &mut Conditions)) -> Outcome {
    let mut counts = Counts { intended: 1000, sent: 1000, received: 1000, ..Counts::default() };
    let mut conditions = Conditions::default();
    change(&mut counts, &mut conditions);
    Trial::judge(Duration::from_secs(1), counts, &conditions).outcome
}

#[test]
fn outcomes() {
    let ms = Duration::from_millis;
    let invalid = Outcome::Invalid;
    let disagree = |received, most| invalid(Reason::CountersDisagree { received, most });
    let below = Reason::OfferedBelowIntended { sent: 1000, intended: 1001 };
    assert_eq!(judged(|_, _| {}), Outcome::Pass);
    assert_eq!(judged(|c, _| c.received = 999), Outcome::Fail { lost: 1 });
    assert_eq!(judged(|c, _| c.received = 0), Outcome::Fail { lost: 1000 });
    assert_eq!(judged(|c, _| (c.duplicate, c.reordered) = (5, 5)), Outcome::Pass);
    assert_eq!(judged(|c, _| c.received = 1001), disagree(1001, 1000));
    let device = |left, came| Outcome::Invalid(Reason::DeviceDisagrees { left, came });
    assert_eq!(judged(|_, c| c.device_says = Some((1004, 1003))), device(1004, 1003));
    assert_eq!(judged(|_, c| c.device_says = Some((1002, 1003))), device(1002, 1003));
    assert_eq!(judged(|_, c| c.device_says = Some((1003, 1003))), Outcome::Pass);
    assert_eq!(judged(|c, _| *c = Counts::default()), invalid(Reason::NothingSent));
    assert_eq!(judged(|c, _| c.stale = 3), invalid(Reason::Stale(3)));
    assert_eq!(judged(|c, _| c.tester_rx_drop = 1), invalid(Reason::TesterRing(1)));
    // What the device lost by itself is a hundred times as much, and what came a thousand times.
    let ring = |sent, received, full| {
        judged(move |c, _| {
            (c.intended, c.sent, c.received, c.tester_rx_drop) = (sent, sent, received, full)
        })
    };
    assert_eq!(ring(2_000_000, 1_000_000, 1000), Outcome::Fail { lost: 1_000_000 });
    assert_eq!(ring(2_000_000, 1_000_000, 1001), invalid(Reason::TesterRing(1001)));
    assert_eq!(ring(1_000_100, 1_000_000, 1), Outcome::Fail { lost: 100 });
    assert_eq!(ring(1_000_199, 1_000_000, 2), invalid(Reason::TesterRing(2)));
    assert_eq!(judged(|c, _| c.intended = 1001), invalid(below));
    assert_eq!(judged(|_, c| c.overrun = ms(1)), Outcome::Pass);
    assert_eq!(judged(|_, c| c.overrun = ms(2)), invalid(Reason::Overrun(ms(2))));
    assert_eq!(judged(|_, c| c.placement_ns = Some((85, 155))), Outcome::Pass);
    let moved = invalid(Reason::PlacementChanged(500, 90));
    assert_eq!(judged(|_, c| c.placement_ns = Some((500, 90))), moved);
    assert_eq!(judged(|_, c| c.clocks = Some((ms(1000), ms(1010)))), Outcome::Pass);
    assert_eq!(judged(|_, c| c.stolen = ms(20)), Outcome::Pass);
    let stolen = |c: &mut Counts, o: &mut Conditions| (c.stale, o.stolen) = (1, ms(30));
    assert_eq!(judged(|c, o| stolen(c, o)), invalid(Reason::Stolen(ms(30))));
    // Others had the processor: it is of no use that no frame was lost.
    let away = |n| Some((ms(n), ms(1000)));
    assert_eq!(judged(|_, o| o.away = away(30)), Outcome::Pass);
    assert_eq!(judged(|_, o| o.away = away(31)), invalid(Reason::Away(ms(31), ms(1000))));
    assert_eq!(
        judged(|_, o| (o.away, o.stolen) = (away(99), ms(30))),
        invalid(Reason::Stolen(ms(30)))
    );
    let short =
        |c: &mut Counts, o: &mut Conditions| (c.received, o.away) = (999, Some((ms(1), ms(2))));
    assert_eq!(judged(short), Outcome::Fail { lost: 1 }, "the system's own work");
    // 10 ms of 1000 frames a second, and as many that were caught up on.
    let still = |lost: u64| {
        move |c: &mut Counts, o: &mut Conditions| {
            (c.received, o.stood_still) = (1000 - lost, ms(10));
        }
    };
    assert_eq!(judged(still(0)), Outcome::Pass);
    assert_eq!(judged(still(20)), invalid(Reason::StoodStill(ms(10))));
    assert_eq!(judged(still(21)), Outcome::Fail { lost: 21 }, "more than that explains");
    let late = |c: &mut Counts, o: &mut Conditions| {
        (c.tester_rx_drop, o.overrun, o.stood_still) = (5, ms(30), ms(10));
    };
    assert_eq!(judged(late), invalid(Reason::StoodStill(ms(10))));
    // A burst is over before a processor is back: what it lost says nothing.
    let burst = |still| {
        let counts = Counts { intended: 1000, sent: 1000, received: 990, ..Counts::default() };
        let conditions = Conditions { stood_still: still, ..Conditions::default() };
        Trial::judge(ms(2), counts, &conditions).outcome
    };
    assert_eq!(burst(ms(4)), invalid(Reason::StoodStill(ms(4))));
    assert_eq!(burst(ms(101)), Outcome::Fail { lost: 10 });
    // Most of the time: that is no disturbance.
    let slow = |c: &mut Counts, o: &mut Conditions| (c.sent, o.stood_still) = (900, ms(501));
    assert_eq!(judged(slow), disagree(1000, 900));
    let slow = |c: &mut Counts, o: &mut Conditions| {
        (c.sent, c.received, o.stood_still) = (900, 900, ms(501));
    };
    let below = Reason::OfferedBelowIntended { sent: 900, intended: 1000 };
    assert_eq!(judged(slow), invalid(below));
    // Behind all the time: what went wrong meanwhile may be anybody's fault; if nothing did, all is well.
    let busy = |behind| Some(Busy { watched: ms(1000), behind: ms(behind), late: ms(3) });
    let worn = invalid(Reason::Saturated(busy(950).unwrap()));
    assert_eq!(judged(|_, o| o.busy = busy(1000)), Outcome::Pass);
    assert_eq!(judged(|c, o| (c.received, o.busy) = (999, busy(949))), Outcome::Fail { lost: 1 });
    assert_eq!(judged(|c, o| (c.received, o.busy) = (999, busy(950))), worn);
    assert_eq!(judged(|c, o| (c.intended, o.busy) = (1001, busy(950))), worn);
    assert_eq!(judged(|c, o| (c.tester_rx_drop, o.busy) = (1, busy(950))), worn);
    assert_eq!(judged(|_, o| (o.overrun, o.busy) = (ms(11), busy(950))), worn);
    let soon = Busy { watched: Duration::from_micros(999), behind: ms(1), late: ms(1) };
    let short = |c: &mut Counts, o: &mut Conditions| (c.received, o.busy) = (999, Some(soon));
    assert_eq!(judged(short), Outcome::Fail { lost: 1 }, "a burst is as fast as may be");
    // Before all else: what is counted is only what there was by then.
    let ended = |c: &mut Counts, o: &mut Conditions| {
        (c.received, o.stolen, o.interrupted) = (500, ms(500), Some(ms(200)));
    };
    assert_eq!(judged(ended), invalid(Reason::Interrupted(ms(200))));
    let stepped = invalid(Reason::ClockStepped(ms(100)));
    assert_eq!(judged(|_, c| c.clocks = Some((ms(1000), ms(900)))), stepped);
}

#[test]
fn rfc_2285_example() {
    // Two inputs of 1 Mfps each, one output of 1.4 Mfps: 30 % lost, 1.4 forwarded in all.
    let counts =
        Counts { intended: 2_000_000, sent: 2_000_000, received: 1_400_000, ..Counts::default() };
    let trial = Trial::judge(Duration::from_secs(1), counts, &Conditions::default());
    assert_eq!(trial.outcome, Outcome::Fail { lost: 600_000 });
    assert_eq!(trial.forwarding_rate().0, 1.4e6);
}

proptest! {
    /// Whatever was counted: sent = received + lost unless the trial is invalid.
    #[test]
    fn the_sum_holds(intended in 0u64..50, sent in 0u64..50, received in 0u64..50, stale in 0u64..2) {
        let counts = Counts { intended, sent, received, stale, ..Counts::default() };
        let trial = Trial::judge(Duration::from_secs(1), counts, &Conditions::default());
        match trial.outcome {
            Outcome::Pass => prop_assert_eq!(sent, received),
            Outcome::Fail { lost } => prop_assert_eq!(sent, received + lost),
            Outcome::Invalid(_) => prop_assert!(
                sent == 0 || received > sent || sent < intended || stale > 0
            ),
        }
    }
}

/// A step of the clock is one of a millisecond at least, however short the trial.
#[test]
fn clocks_of_a_short_trial() {
    let us = Duration::from_micros;
    let counts = Counts { intended: 9, sent: 9, received: 9, ..Counts::default() };
    for (wall, expected) in
        [(us(1100), Outcome::Pass), (us(1101), Outcome::Invalid(Reason::ClockStepped(us(1001))))]
    {
        let conditions = Conditions { clocks: Some((us(100), wall)), ..Conditions::default() };
        assert_eq!(Trial::judge(us(100), counts, &conditions).outcome, expected);
    }
}

/// The evidence is in the words, numbers and all.
#[test]
fn reasons_in_words() {
    let ms = Duration::from_millis;
    let busy = Busy { watched: ms(1000), behind: ms(970), late: Duration::from_micros(3200) };
    for (reason, expected) in [
        (
            Reason::Saturated(busy),
            "the tester had no time left: it was behind for 97% of its time, by up to 3.2ms",
        ),
        (Reason::Interrupted(Duration::from_nanos(1_234_567_891)), "interrupted after 1.234s"),
        (Reason::ClockStepped(ms(3)), "the clocks differ by 3ms"),
        (
            Reason::Away(ms(450), ms(1000)),
            "other programs had a processor of the trial for 45% of its time",
        ),
        (
            Reason::PlacementChanged(90, 480),
            "the cores moved during the trial: 90 ns apart, then 480 ns",
        ),
    ] {
        assert_eq!(reason.to_string(), expected);
    }
    let again = [Reason::Saturated(busy), Reason::Interrupted(ms(1))];
    assert!(Reason::Away(ms(1), ms(2)).is_disturbance());
    assert!(!again.iter().any(Reason::is_disturbance), "neither is better a moment later");
}
