//! Every procedure on simulated devices, its result compared with what is true of them.

use super::back_to_back::{Bursts, back_to_back, buffer_times};
use super::bridge::{address_caching, address_learning, broadcast, congestion, forwarding};
use super::connections::{capacity, establishment, tear_down};
use super::frame_loss::frame_loss;
use super::latency::latency;
use super::recovery::{recovery, reset};
use super::rfc6349::Found;
use super::throughput::{Bisection, bisection, goals};
use super::variation::variation;
use super::*;
use crate::mlrsearch::{Goal, MlrSearch};
use crate::procedure::bisect::Bound;
use crate::tcp::Transactions;
use crate::trial::{Counts, Reason};
use proptest::prelude::*;
use simulated::{STEADY, Simulated};

// Devices that are formulas.
pub(super) mod simulated;

const SECOND: Duration = Duration::from_secs(1);

const RFC_2544: Bisection = Bisection {
    lowest: PacketRate(1000.0),
    highest: PacketRate(1_488_095.0),
    precision: 0.001,
    trial: SECOND,
    confirmation: Duration::from_secs(60),
    verify: 0,
};
const TST_009: Bisection = Bisection { verify: 2, ..RFC_2544 };

#[test]
fn throughput_of_every_kind_of_device() {
    // What the device is, how it is searched, what must be found: within a thousandth, and why.
    let noisy = Simulated { noise: 0.1, ..STEADY };
    let flaky = Simulated { flake: 5, ..STEADY };
    let stretched = Simulated { stretch: 4, ..STEADY };
    for (name, mut device, search, truth, bound) in [
        ("steady", STEADY, RFC_2544, 999_000.0..=1e6, Bound::Loss),
        ("steady", STEADY, TST_009, 999_000.0..=1e6, Bound::Loss),
        (
            "wire speed",
            Simulated { capacity: 2e6, ..STEADY },
            RFC_2544,
            1_488_095.0..=1_488_095.0,
            Bound::Highest,
        ),
        ("noisy", noisy.clone(), RFC_2544, 880e3..=1e6, Bound::Loss),
        ("noisy", noisy, TST_009, 890e3..=1e6, Bound::Loss),
        // Loses a frame in every fifth trial: RFC 2544 gives it what it deserves, TST 009 looks again.
        ("flaky", flaky, TST_009, 999_000.0..=1e6, Bound::Loss),
        // The tester is late at times: asked again, and nothing of it in the result.
        ("stretched", stretched, RFC_2544, 999_000.0..=1e6, Bound::Loss),
        (
            "weak tester",
            Simulated { tester: 5e5, ..STEADY },
            RFC_2544,
            499_500.0..=5e5,
            Bound::Tester,
        ),
        // Never a loss: not "the device's throughput is 1 Mpps", but "it cannot be loaded".
        (
            "back-pressured",
            Simulated { back_pressure: true, ..STEADY },
            RFC_2544,
            999_000.0..=1e6,
            Bound::Tester,
        ),
    ] {
        let mut run = Run::new(&mut device);
        let found = bisection(&mut run, &search).unwrap();
        let trials = run.journal.len();
        let case = format!("{name}, verify {}: {found:?} in {trials} trials", search.verify);
        assert!(found.rate.is_some_and(|rate| truth.contains(&rate.0)), "{case}");
        assert_eq!(found.bound, bound, "{case}");
        assert!(trials < 120, "{case}");
        // RFC 2544 §24: the result was confirmed in full length.
        let confirmed = run.journal.iter().any(|tried| {
            let full = TrialInput::Steady {
                load: found.rate.unwrap(),
                duration: search.confirmation,
                tag: None,
            };
            tried.input == full && tried.output.trial.outcome == Outcome::Pass
        });
        assert!(confirmed, "{case}");
    }
}

#[test]
fn a_buffer_hides_overload_from_short_trials() {
    // 200,000 frames of buffer: a second at 1.2 Mpps passes, a minute does not.
    let mut device = Simulated { buffer: 200e3, ..STEADY };
    let mut run = Run::new(&mut device);
    let found = bisection(&mut run, &RFC_2544).unwrap();
    let minute = 1e6 + 200e3 / 60.0;
    let rate = found.rate.unwrap().0;
    assert!((minute * 0.998..=minute).contains(&rate), "{found:?}");
    assert_eq!(found.metric, "throughput[rfc2544 60s 0 loss]");
}

#[test]
fn throughput_by_goals() {
    let search = MlrSearch {
        goals: Goal::presets().to_vec(),
        lowest: PacketRate(1000.0),
        highest: PacketRate(1_488_095.0),
        ..MlrSearch::default()
    };
    let mut device = STEADY;
    let found = goals(&mut Run::new(&mut device), &search).unwrap();
    for result in &found {
        let loss = if result.metric.contains("0.5%") { 1.0051 } else { 1.0002 };
        let rate = result.rate.unwrap().0;
        assert!((994e3..=1e6 * loss).contains(&rate), "{result:?}");
        assert_eq!((result.bound, result.regular), (Bound::Loss, true), "{result:?}");
    }
    assert_eq!(found[4].metric, "throughput[mikrotik 10s/10s 0.01% exceed 0%]");
    let mut weak = Simulated { tester: 4e5, ..STEADY };
    let found = goals(&mut Run::new(&mut weak), &search).unwrap();
    assert!(found.iter().all(|result| result.bound == Bound::Tester), "{found:?}");
}

#[test]
fn latencies() {
    let plan = Latency {
        duration: Duration::from_secs(120),
        after: Duration::from_secs(60),
        tagged: 500,
        repetitions: 20,
    };
    let mut device = STEADY;
    let load = PacketRate(5e5);
    let found = latency(&mut Run::new(&mut device), load, &plan).unwrap();
    let (typical, worst) = (found.typical.unwrap(), found.worst.unwrap());
    assert_eq!((typical.n, typical.median, worst.median), (20, 5049.5, 5099.0));
    assert_eq!((found.tagged_lost, found.invalid, found.lossy), (0, 0, 0));
    assert_eq!(found.all.unwrap().len(), 20 * 100);

    // RFC 2544: one frame a repetition.
    let one = Latency { tagged: 1, ..plan };
    let found = latency(&mut Run::new(&mut device), load, &one).unwrap();
    assert_eq!(found.tagged.unwrap().mean, 5000.0);

    // At 5 frames a second there are 300 to be tagged: no others are lost, and the figure is of these.
    let found = latency(&mut Run::new(&mut device), PacketRate(5.0), &plan).unwrap();
    assert_eq!((found.tagged_each, found.tagged_lost), (300, 0));

    // A tester that is late in every trial: no latency is claimed.
    let mut late = Simulated { stretch: 1, ..STEADY };
    let found = latency(&mut Run::new(&mut late), load, &plan).unwrap();
    assert_eq!((found.typical, found.invalid), (None, 20));
}

#[test]
fn delay_variation() {
    let plan = DelayVariation { duration: Duration::from_secs(60), repetitions: 20 };
    let mut device = STEADY;
    let found = variation(&mut Run::new(&mut device), PacketRate(5e5), &plan).unwrap();
    let medians = [found.ipdv_min, found.ipdv_median, found.ipdv_max].map(|s| s.unwrap().median);
    assert_eq!(medians, [-99.0, 1.0, 1.0]);
    // To three digits: 5099 − 5000 in buckets of 4.
    assert!((95.0..=103.0).contains(&found.pdv.unwrap().median), "{:?}", found.pdv);
}

#[test]
fn frame_loss_ends_after_two_trials_without() {
    let plan = FrameLoss { step: 0.1, duration: SECOND };
    let highest = PacketRate(1e6);
    let mut device = Simulated { capacity: 550e3, ..STEADY };
    let points = frame_loss(&mut Run::new(&mut device), highest, &plan).unwrap();
    let loads: Vec<f64> = points.iter().map(|point| point.load_percent.round()).collect();
    assert_eq!(loads, [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0]);
    assert!((points[0].loss_percent - 45.0).abs() < 1e-9);
    assert_eq!(points[4].lost, 50_000);
    assert_eq!((points[5].lost, points[6].lost), (0, 0));
    // One frame in a million is not nothing.
    let mut one = Simulated { flake: 1, ..STEADY };
    let points = frame_loss(&mut Run::new(&mut one), highest, &plan).unwrap();
    assert_eq!((points.len(), points[9].lost), (10, 1));
    // A step that does not go into 100 %.
    let plan = FrameLoss { step: 0.07, ..plan };
    let mut device = Simulated { capacity: 1.0, ..STEADY };
    let points = frame_loss(&mut Run::new(&mut device), highest, &plan).unwrap();
    let percent: Vec<f64> = points.iter().map(|point| point.load_percent).collect();
    assert_eq!(percent, (0..15).map(|n| 100.0 - 7.0 * f64::from(n)).collect::<Vec<_>>());
    assert_eq!(points[1].load, 930e3);
}

#[test]
fn bursts_and_buffer_times() {
    let rates @ (highest, _) = (PacketRate(1_488_095.0), PacketRate(1e6));
    let plan = BackToBack { longest: Duration::from_secs(2), step: 1, verify: 1, repetitions: 50 };
    // The buffer fills at the difference of the rates: its 3000 frames are full after a burst of
    // 3000 / (1 − 1 / 1.488), and the correction finds them again.
    let mut device = Simulated { buffer: 3000.0, ..STEADY };
    let found = back_to_back(&mut Run::new(&mut device), rates, &plan).unwrap();
    let Bursts::Found { frames, implied_buffer_s, corrected_buffer_s, .. } = found else {
        panic!("{found:?}")
    };
    let truth = 3000.0 / (1.0 - 1e6 / 1_488_095.0);
    assert!((frames.mean - truth).abs() < 2.0, "{frames:?} {truth}");
    assert_eq!((frames.n, frames.stddev), (50, 0.0));
    assert!((corrected_buffer_s * 1_488_095.0 - 3000.0).abs() < 1.0, "{corrected_buffer_s}");
    assert!(implied_buffer_s > corrected_buffer_s);

    let found = back_to_back(&mut Run::new(&mut device), (highest, highest), &plan).unwrap();
    assert_eq!(found, Bursts::NotApplicable);
    let mut endless = Simulated { buffer: 1e9, ..STEADY };
    let found = back_to_back(&mut Run::new(&mut endless), rates, &plan).unwrap();
    assert_eq!(found, Bursts::AtLimit { frames: 2_976_190 });
    let mut weak = Simulated { tester: 1000.0, ..STEADY };
    let found = back_to_back(&mut Run::new(&mut weak), rates, &plan).unwrap();
    assert_eq!(found, Bursts::None { tester: true, disturbed: false });
}

/// A device whose machine is disturbed: of three trials two are.
struct Disturbed(Simulated, u32);

impl Measurer for Disturbed {
    fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop> {
        let mut output = self.0.trial(input)?;
        self.1 += 1;
        if !self.1.is_multiple_of(3) {
            output.trial.outcome = Outcome::Invalid(Reason::Stolen(SECOND));
        }
        Ok(output)
    }
}

/// Disturbed trials are repeated while there is patience, and then are what they are.
#[test]
fn patience() {
    let load = PacketRate(1e5);
    let mut device = Disturbed(STEADY, 0);
    let mut run = Run { repeats: 0, patience: SECOND * 5, ..Run::new(&mut device) };
    for left in [3, 1, 0] {
        let output = run.steady(load, SECOND).unwrap();
        // The third time, one second of patience is less than two trials.
        let is_invalid = matches!(output.trial.outcome, Outcome::Invalid(_));
        assert_eq!((run.patience, is_invalid), (SECOND * left, left == 0));
    }
    assert_eq!(run.journal.len(), 8, "all of them are noted");
    // Shorter than it is worth: a trial costs something all the same.
    run.patience = SECOND / 100;
    for _ in 0..2 {
        run.steady(load, Duration::ZERO).unwrap();
    }
    assert!(run.patience.is_zero());
}

#[test]
fn buffer_times_by_hand() {
    // RFC 9004 §6: 26,700 frames of 64 bytes at 10 Gbit/s, throughput half of the highest rate.
    let (implied, corrected) =
        buffer_times(26_700.0, PacketRate(14_880_952.0), PacketRate(7_440_476.0));
    assert!((implied - 0.001_794_24).abs() < 1e-9, "{implied}");
    assert!((corrected - implied / 2.0).abs() < 1e-12);
}

#[test]
fn times_after_overload_and_reset() {
    let rates = (PacketRate(1e6), PacketRate(1_488_095.0));
    let plan = Recovery { overload: Duration::from_secs(60), watch: SECOND, repetitions: 3 };
    let mut device = STEADY;
    let mut run = Run::new(&mut device);
    let found = recovery(&mut run, rates, &plan).unwrap();
    assert_eq!((found.times.unwrap().mean, found.load.0.round()), (30e6, 1.1e6));
    let TrialInput::StepDown { high, low, .. } = run.journal[0].input else { panic!() };
    assert_eq!(low.0, high.0 * 0.5);
    // The medium's rate is as much as there is.
    let capped = (rates.0, PacketRate(1.05e6));
    assert_eq!(recovery(&mut run, capped, &plan).unwrap().load.0, 1.05e6);
    let mut never = Simulated { recovery: SECOND, ..STEADY };
    let found = recovery(&mut Run::new(&mut never), rates, &plan).unwrap();
    assert_eq!((found.times, found.never), (None, 3));

    let mut run = Run::new(&mut device);
    let found = reset(&mut run, PacketRate(9e5), SECOND, SECOND * 5, 2).unwrap();
    assert_eq!(found.times.unwrap().mean, 1.5e9);
    let found = reset(&mut run, PacketRate(9e5), SECOND, SECOND, 2).unwrap();
    assert_eq!((found.times, found.never), (None, 2));
}

#[test]
fn bridges() {
    let mut device = Simulated { livelock: 0.5, ..STEADY };
    let mut run = Run::new(&mut device);
    // It forwards the throughput and no more; tenths of the highest load alone do not show it.
    for (throughput, mfr) in [(Some(PacketRate(1e6)), 1e6), (None, 0.9975e6)] {
        let found = forwarding(&mut run, PacketRate(1.4e6), throughput, SECOND).unwrap();
        assert!((found.frmol - 0.8e6).abs() < 2.0 && (found.mfr - mfr).abs() < 2.0, "{found:?}");
        assert!((found.mfr_load - mfr).abs() < 2.0, "{found:?}");
    }

    // A second's trials of a device that holds two seconds' frames: it forwards no more for it, and what
    // it takes whole is no better than what it loses some of.
    let mut holding = Simulated { buffer: 400e3, ..STEADY };
    let found = forwarding(&mut Run::new(&mut holding), PacketRate(1.488e6), None, SECOND).unwrap();
    assert!((found.frmol / 1e6 - 1.0).abs() < 1e-3, "{found:?}");
    assert!((found.mfr / 1e6 - 1.0).abs() < 1e-2, "{found:?}");

    let kept = address_caching(&mut run, 100_000, PacketRate(1000.0)).unwrap();
    assert_eq!((kept.best, kept.bound), (Some(4000.0), Bound::Loss));
    let all = address_caching(&mut run, 3000, PacketRate(1000.0)).unwrap();
    assert_eq!((all.best, all.bound), (Some(3000.0), Bound::Highest));
    let bounds = (PacketRate(100.0), PacketRate(1e6));
    let rate = address_learning(&mut run, 4000, bounds, 0.01).unwrap();
    assert!((79.2e3..=80e3).contains(&rate.best.unwrap()), "{rate:?}");
    let rate = broadcast(&mut run, bounds, 0.01, SECOND).unwrap();
    assert!((0.99e6..=1e6).contains(&rate.best.unwrap()), "{rate:?}");

    let blocked = congestion(&mut run, (PacketRate(1e6), PacketRate(1e6)), SECOND).unwrap();
    assert!(blocked.head_of_line_blocking && !blocked.back_pressure, "{blocked:?}");
    assert_eq!(blocked.uncongested_loss_percent, 50.0);
    let mut device = STEADY;
    let both = (PacketRate(1e6), PacketRate(1e6));
    let free = congestion(&mut Run::new(&mut device), both, SECOND).unwrap();
    assert!(!free.head_of_line_blocking, "{free:?}");
    assert!((free.congested_loss_percent - 100.0 / 3.0).abs() < 1e-9, "{free:?}");
    assert_eq!(free.buffered, 0, "{free:?}");
}

/// What one port cannot carry is lost, or it waits somewhere: two ports send 400 frames each, the
/// first 200 of its own to a free port.
#[test]
fn congestion_that_fits_into_buffers() {
    struct Counted(u64, u64);
    impl Measurer for Counted {
        fn trial(&mut self, _: &TrialInput) -> Result<TrialOutput, Stop> {
            let Counted(sent, received) = *self;
            let counts = Counts { intended: 800, sent, received, ..Counts::default() };
            let outcome = if sent < 800 {
                Outcome::Invalid(Reason::OfferedBelowIntended { intended: 800, sent })
            } else {
                Outcome::Fail { lost: sent - received }
            };
            let trial = Trial { duration: SECOND, counts, outcome };
            Ok(TrialOutput { aside: Some((200, 200)), ..TrialOutput::of(trial) })
        }
    }
    // Sent, came, the wire's rate ─► what must be lost of 600, how many frames of it waited.
    for (sent, received, wire, excess, buffered) in [
        (800, 600, 400.0, 33.333, 0),
        (800, 635, 400.0, 33.333, 35),
        (800, 800, 400.0, 33.333, 200),
        (800, 598, 400.0, 33.333, 0),
        // A tester that sends less than the wire carries.
        (800, 740, 540.0, 10.0, 0),
        (800, 800, 540.0, 10.0, 60),
        (800, 800, 700.0, 0.0, 0),
        // Held up, not buffered.
        (600, 600, 400.0, 33.333, 0),
    ] {
        let rates = (PacketRate(400.0), PacketRate(wire));
        let found = congestion(&mut Run::new(&mut Counted(sent, received)), rates, SECOND).unwrap();
        assert!((found.excess_percent - excess).abs() < 0.001, "{found:?}");
        assert_eq!(found.buffered, buffered, "{found:?}");
    }
}

/// One direction takes longer than the other, and each as long every time: nothing varies, and the
/// slower one's latency is the device's.
#[test]
fn directions_are_not_pooled() {
    struct TwoWays;
    impl Measurer for TwoWays {
        fn trial(&mut self, _: &TrialInput) -> Result<TrialOutput, Stop> {
            let counts = Counts { intended: 200, sent: 200, received: 200, ..Counts::default() };
            let trial = Trial { duration: SECOND, counts, outcome: Outcome::Pass };
            let mut all = LatencyHistogram::default();
            let ways = [((1, 2), 104_500u64), ((2, 1), 109_050)].map(|(ports, ns)| {
                let mut own = LatencyHistogram::default();
                own.record_n(ns, 100);
                all.record_n(ns, 100);
                let latency = result::Latency::of(&own);
                let variation = Some(Variation { pairs: 99, ..Variation::default() });
                Direction { ports, latency, variation, ..Direction::default() }
            });
            Ok(TrialOutput {
                latency: Some(all),
                tagged_ns: vec![vec![104_500; 5], vec![109_050; 5]],
                directions: ways.to_vec(),
                ..TrialOutput::of(trial)
            })
        }
    }
    let (load, duration) = (PacketRate(100.0), SECOND);
    let plan = DelayVariation { duration, repetitions: 3 };
    let found = variation(&mut Run::new(&mut TwoWays), load, &plan).unwrap();
    let medians = [found.pdv, found.ipdv_min, found.ipdv_max].map(|one| one.unwrap().median);
    assert_eq!((medians, found.directions), ([0.0; 3], 2));
    assert_eq!(found.all.unwrap().len(), 600);
    for tagged in [1, 5] {
        let plan = Latency { duration, after: Duration::ZERO, tagged, repetitions: 3 };
        let found = latency(&mut Run::new(&mut TwoWays), load, &plan).unwrap();
        let of = [found.tagged.map(|s| s.mean), found.typical.map(|s| s.median)];
        assert_eq!((of, found.directions), ([Some(109_050.0); 2], 2));
        assert_eq!(found.worst.unwrap().min, 109_050.0);
    }
}

/// A trial in which the tester's processor was taken away says nothing of the device.
#[test]
fn a_disturbed_trial_is_no_congestion() {
    struct Disturbed;
    impl Measurer for Disturbed {
        fn trial(&mut self, _: &TrialInput) -> Result<TrialOutput, Stop> {
            let counts = Counts { intended: 200, sent: 180, received: 170, ..Counts::default() };
            let stolen = Reason::StoodStill(Duration::from_millis(5));
            let outcome = Outcome::Invalid(stolen);
            let aside = Some((50, 40));
            let trial = Trial { duration: SECOND, counts, outcome };
            Ok(TrialOutput { aside, ..TrialOutput::of(trial) })
        }
    }
    let both = (PacketRate(100.0), PacketRate(100.0));
    let found = congestion(&mut Run::new(&mut Disturbed), both, SECOND).unwrap();
    assert!(found.invalid && !found.head_of_line_blocking && !found.back_pressure, "{found:?}");
}

#[test]
fn stateful_devices() {
    let mut device = STEADY;
    let mut run = Run::new(&mut device);
    let bounds = (PacketRate(1000.0), PacketRate(1e6));
    let plan = Establishment { connections: 4000, precision: 0.01, validation: 1.0 };
    let found = establishment(&mut run, bounds, &plan).unwrap();
    assert!((247e3..=250e3).contains(&found.best.unwrap()), "{found:?}");
    assert_eq!(tear_down(&mut run, 4000, 5).unwrap().unwrap().mean.round(), 1e7);
    for (first, most, rate, truth, bound) in [
        (1000, 1 << 20, 1000.0, Some(10_000), Bound::Loss),
        (1000, 8000, 1000.0, Some(8000), Bound::Highest),
        (40_000, 1 << 20, 1000.0, Some(10_000), Bound::Loss),
        (10_000, 10_000, 1000.0, Some(10_000), Bound::Highest),
        // Four times what it establishes: no reason to think its table small.
        (1000, 1 << 20, 1e6, Some(10_000), Bound::Loss),
    ] {
        let plan = Capacity { first, most, rate: PacketRate(rate), error: 1 };
        let (found, at) = capacity(&mut run, &plan).unwrap();
        assert_eq!((found.connections, found.bound), (truth, bound), "{plan:?}");
        assert!(at.unwrap().0 <= 250e3, "{at:?}");
    }
}

#[test]
fn real_connections() {
    let talk = Transactions { count: 2, request: 100, response: 1000, think: Duration::ZERO };
    let mut device = STEADY;
    let mut run = Run::new(&mut device);
    let bounds = (PacketRate(1000.0), PacketRate(1e6));
    let talk = tcp::Talk { transactions: talk, window: 65_535 };
    let plan = tcp::ConnectionRate { duration: SECOND, precision: 0.01, talk };
    let (found, best) = tcp::connection_rate(&mut run, bounds, &plan).unwrap();
    let rate = found.best.unwrap();
    assert!((247e3..=250e3).contains(&rate) && found.bound == Bound::Loss, "{found:?}");
    let best = best.unwrap();
    assert_eq!((best.clients.closed, best.failed()), (rate.ceil() as u64, 0));
    assert!(best.is_faultless());
    // The table's size, whatever the rate of coming and going was.
    let plan = Capacity { first: 1000, most: 1 << 20, rate: PacketRate(1000.0), error: 1 };
    let found = tcp::concurrent(&mut run, &plan, (SECOND, talk)).unwrap();
    assert_eq!((found.connections, found.bound), (Some(10_000), Bound::Loss));
    let load = TcpLoad::of(500, talk);
    let found = tcp::transactions(&mut run, load, 3).unwrap();
    assert_eq!(found.len(), 3);
    // A thousand answers, a millisecond for each connection.
    assert_eq!((found[0].transactions_per_second(), found[0].goodput_bps()), (2000.0, 17.6e6));
    // What broke is no result, and says what is missing.
    let mut broken = found[0].clone();
    for (missing, failed) in [(0, 0), (1, 1), (500, 500)] {
        broken.clients.closed = 500 - missing;
        assert_eq!((broken.failed(), broken.is_faultless()), (failed, failed == 0));
    }
    broken.clients.closed = 500;
    broken.clients.retransmitted = 1;
    assert!(broken.is_faultless(), "TCP sends again");
    broken.load.lossless = true;
    assert!(!broken.is_faultless(), "but not for nothing");
}

#[test]
fn a_path_and_what_tcp_makes_of_it() {
    let mut device = Simulated { buffer: 500.0, ..STEADY };
    let mut run = Run::new(&mut device);
    let link = wire::BitRate::gbps(100.0);
    let found = match rfc6349::path(&mut run, 1460, (link, SECOND)) {
        Ok(Found::Path(path)) => path,
        found => panic!("{found:?}"),
    };
    assert_eq!((found.mtu, found.mtu_is_limit, found.mss()), (1400, true, 1360));
    assert!((found.rtt.as_secs_f64() / 0.002 - 1.0).abs() < 1e-3, "{found:?}");
    // The buffer's 500 frames are not the bottleneck's rate.
    assert_eq!((found.frames.0, found.ideal_bps()), (1e6, 10.88e9));
    assert!(run.journal.len() < 20, "{}", run.journal.len());
    let one = rfc6349::throughput(&mut run, &found, (2, 0.5), SECOND / 1000).unwrap().unwrap();
    assert_eq!((one.connections, one.bytes, one.efficiency), (2, 1_360_000, 100.0));
    assert!((1.4e6..1.42e6).contains(&(f64::from(one.window) * 4.0 / 2.0)), "{one:?}");
    assert!((one.ratio - 2.0).abs() < 0.01, "a millisecond's data in two: {one:?}");
    // Half a minute of 10 Gbit/s is more than 2³² bytes.
    let long = rfc6349::throughput(&mut run, &found, (1, 1.0), SECOND * 30).unwrap().unwrap();
    assert_eq!(long.bytes, 40_800_000_000);
    // No window is less than a segment: what it is of the BDP is said as it is.
    let many = rfc6349::throughput(&mut run, &found, (10_000, 0.5), SECOND).unwrap().unwrap();
    let of_bdp = 1360.0 * 10_000.0 / found.bdp_bytes();
    let percent = many.segment_percent.unwrap();
    assert_eq!((many.window, (percent * 1e6).round()), (1360, (of_bdp * 1e4).round()));
    assert!((many.share / of_bdp - 1.0).abs() < 1e-9 && many.buffer_delay.is_none(), "{many:?}");
    assert_eq!((one.share, one.segment_percent), (0.5, None));
    let mut small = Simulated { mss_most: 100, ..STEADY };
    let found = rfc6349::path(&mut Run::new(&mut small), 1460, (link, SECOND));
    assert_eq!(found, Ok(Found::Nothing));
    // A tester that sends half of what would fill the path, or too late, says nothing of it.
    for (tester, stretch, tries) in [(5e5, 0, 1), (1e9, 1, 1), (1e9, 20, 0)] {
        let mut short = Simulated { tester, stretch, buffer: 500.0, mss_most: 1460, ..STEADY };
        let mut run = Run::new(&mut short);
        let found = rfc6349::path(&mut run, 1460, (link, SECOND)).unwrap();
        let floods = run.journal.iter().filter(|one| matches!(one.input, TrialInput::Flood { .. }));
        let (floods, is_known) = (floods.count(), matches!(found, Found::Path(_)));
        assert_eq!((floods, is_known), if tries > 0 { (3, false) } else { (2, true) }, "{found:?}");
    }
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    for at in 0..12 {
        let mut device = Simulated { interrupted_at: at, ..STEADY };
        let mut run = Run::new(&mut device);
        assert_eq!(bisection(&mut run, &RFC_2544), Err(Stop::Interrupted));
        assert_eq!(run.journal.len() as u64, at);
        let search = MlrSearch { highest: PacketRate(1e6), ..MlrSearch::default() };
        assert_eq!(goals(&mut run, &search), Err(Stop::Interrupted));
    }
}

/// What there is of the trial that was interrupted is the journal's last.
#[test]
fn an_interrupted_trial_is_noted_and_the_last() {
    struct Cut(Simulated, u64);
    impl Measurer for Cut {
        fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop> {
            let mut output = self.0.trial(input)?;
            if self.0.n == self.1 {
                output.trial.outcome = Outcome::Invalid(Reason::Interrupted(SECOND / 2));
            }
            assert!(self.0.n <= self.1, "nothing is run after it");
            Ok(output)
        }
    }
    for at in 1..12 {
        let mut device = Cut(STEADY, at);
        let mut run = Run::new(&mut device);
        assert_eq!(bisection(&mut run, &RFC_2544), Err(Stop::Interrupted));
        assert_eq!(run.journal.len() as u64, at);
        assert!(run.journal.last().is_some_and(|tried| tried.output.is_interrupted()));
    }
}

proptest! {
    /// Whatever the device: no rate above what it can do at its best, every invalid trial repeated
    /// a bounded number of times, the same seed the same result.
    #[test]
    fn never_more_than_the_truth(
        seed: u64, capacity in 2e3f64..2e6, noise in 0f64..0.3, flake in 0u64..9,
        stretch in 0u64..5, tester in 1e4f64..4e6, verify in 0u32..3,
    ) {
        let device = Simulated {
            capacity, noise, flake, stretch, tester, prng: crate::Prng::new(seed), ..STEADY
        };
        let search = Bisection { verify, trial: SECOND, confirmation: SECOND * 2, ..RFC_2544 };
        let (mut a, mut b) = (device.clone(), device);
        let (mut run, mut again) = (Run::new(&mut a), Run::new(&mut b));
        let found = bisection(&mut run, &search).unwrap();
        prop_assert_eq!(&found, &bisection(&mut again, &search).unwrap());
        prop_assert!(run.journal.len() < 120 * 9);
        if let Some(rate) = found.rate {
            prop_assert!(rate.0 <= capacity.min(tester) * 1.001 + 1.0, "{:?}", found);
        }
    }
}
