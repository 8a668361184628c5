//! Trials in virtual time under conditions that are made up: what a trial says of them.

use super::*;
use crate::suite::plan::{self, Allowed};
use crate::suite::simulated::Simulated;
use crate::tester::Tester;
use measure::busy::Busy;
use measure::trial::{Outcome, Reason};
use port::simulated::SimulatedPort;
use port::slab::Slots;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROUTER: &str = "/ip address add address=198.18.1.1/24 interface=ether1
/ip address add address=198.19.1.1/24 interface=ether2";

/// A simulated place that says what it is told to say of the surroundings.
struct Odd {
    inside: Simulated,
    /// The distance before, and after.
    distances: [u64; 2],
    /// How often it was asked for.
    n_distances: usize,
    /// How much further the wall clock goes between two looks.
    step: Duration,
    n_clocks: Cell<u32>,
    busy: Option<Busy>,
    /// How many more frames the device says it sent, between two looks.
    more: u64,
    n_looks: Cell<u64>,
}

impl Testbed for Odd {
    type Wire = SimulatedPort;

    fn tester(&mut self) -> &mut Tester<SimulatedPort> {
        self.inside.tester()
    }

    fn now(&self) -> Moment {
        self.inside.now()
    }

    fn run(&mut self, task: &mut Task, reset_at: Option<Moment>) -> Result<(), Stop> {
        let ran = self.inside.run(task, reset_at);
        task.conditions.busy = self.busy;
        ran
    }

    fn renew(&mut self) -> Result<(), Stop> {
        self.inside.renew()
    }

    fn bypass(&mut self, without: bool) -> Result<(), Stop> {
        self.inside.bypass(without)
    }

    fn is_bypassed(&self) -> bool {
        self.inside.is_bypassed()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn discards(&self) -> String {
        self.inside.discards()
    }

    fn left_and_came(&self) -> Option<(u64, u64)> {
        let n = self.n_looks.replace(self.n_looks.get() + 1);
        self.inside.left_and_came().map(|(left, came)| (left + self.more * n, came))
    }

    fn surroundings(&mut self) -> Surroundings {
        let n = self.n_clocks.replace(self.n_clocks.get() + 1);
        let now = self.now();
        self.n_distances += 1;
        Surroundings {
            distance_ns: Some(self.distances[(self.n_distances - 1) % 2]),
            stolen: Duration::ZERO,
            clocks: Some((now, now.since(Moment::ZERO) + self.step * n)),
        }
    }
}

fn plan() -> Plan {
    let text = "name = \"x\"\n[device]\n[medium]\nlink = \"10G\"\n[traffic]\n\
                frame-sizes = [64]\nflows = \"pair\"\n[[procedure]]\nkind = \"throughput\"\n\
                [virtual]\nlink = \"100M\"\nframe = \"5us\"\n";
    plan::read(text, Allowed::default()).unwrap()
}

/// A bench on frames of 64 bytes, ready for trials, whose surroundings are changed so.
fn bench<'a>(
    plan: &'a Plan,
    interrupt: &Arc<AtomicBool>,
    change: impl FnOnce(&mut Odd),
) -> Bench<'a, Odd> {
    let subnets = plan.subnets();
    let inside =
        Simulated::new((2, Slots::STANDARD), ROUTER, subnets, &plan.simulated, interrupt.clone())
            .unwrap();
    let (step, n_clocks) = (Duration::ZERO, Cell::new(0));
    let (more, n_looks) = (0, Cell::new(0));
    let (distances, n_distances, busy) = ([90, 90], 0, None);
    let mut place = Odd { inside, distances, n_distances, step, n_clocks, busy, more, n_looks };
    change(&mut place);
    let mut bench = Bench::new(place, plan, Modifier::None, plan.simulated.link);
    bench.prepare(&FrameLen::MIN.into()).unwrap();
    bench
}

/// A tenth of a second at a load: 100,000 a second are the processor's.
fn steady(load: f64) -> TrialInput {
    let duration = Duration::from_millis(100);
    TrialInput::Steady { load: PacketRate(load), duration, tag: None }
}

#[test]
fn what_happens_around_a_trial_is_in_its_outcome() {
    let (plan, never) = (plan(), Arc::new(AtomicBool::new(false)));
    let ms = Duration::from_millis;
    let worn = Busy { watched: ms(100), behind: ms(99), late: Duration::ZERO };
    type Change = Box<dyn FnOnce(&mut Odd)>;
    let disagree = Reason::DeviceDisagrees { left: 10_002, came: 10_000 };
    let cases: [(Change, f64, Option<Reason>); 9] = [
        (Box::new(|_| {}), 5e4, None),
        (Box::new(|odd| odd.distances = [90, 180]), 5e4, None),
        (Box::new(|odd| odd.distances = [90, 480]), 5e4, Some(Reason::PlacementChanged(90, 480))),
        (Box::new(move |odd| odd.step = ms(1)), 5e4, None),
        (Box::new(move |odd| odd.step = ms(3)), 5e4, Some(Reason::ClockStepped(ms(3)))),
        (Box::new(|odd| odd.more = 2), 5e4, Some(disagree)),
        // All came back: that it had no time left did no harm. At 140,000 a second much is lost.
        (Box::new(move |odd| odd.busy = Some(worn)), 5e4, None),
        (Box::new(move |odd| odd.busy = Some(worn)), 14e4, Some(Reason::Saturated(worn))),
        (Box::new(move |odd| odd.busy = Some(Busy { behind: ms(90), ..worn })), 14e4, None),
    ];
    for (n, (change, load, expected)) in cases.into_iter().enumerate() {
        let output = bench(&plan, &never, change).trial(&steady(load)).unwrap();
        let found = match output.trial.outcome {
            Outcome::Invalid(reason) => Some(reason),
            outcome => {
                assert_eq!(outcome == Outcome::Pass, load < 1e5, "case {n}: {output:?}");
                None
            }
        };
        assert_eq!(found, expected, "case {n}");
    }
    // A burst at the wire's rate is as fast as may be.
    let mut busy = bench(&plan, &never, |odd| odd.busy = Some(worn));
    let burst = busy.trial(&TrialInput::Burst { frames: 5000 }).unwrap();
    assert!(matches!(burst.trial.outcome, Outcome::Fail { .. }), "{burst:?}");
}

/// Ctrl-C in the midst of a trial: what was sent and came back by then is there, and it is the last.
#[test]
fn an_interrupted_trial_has_what_there_is() {
    let (plan, interrupt) = (plan(), Arc::new(AtomicBool::new(false)));
    let mut bench = bench(&plan, &interrupt, |_| {});
    interrupt.store(true, Ordering::Relaxed);
    let mut run = measure::procedure::Run::new(&mut bench);
    assert_eq!(run.once(steady(5e4)), Err(Stop::Interrupted));
    let [last] = run.journal.as_slice() else { panic!("{:?}", run.journal) };
    let (counts, outcome) = (last.output.trial.counts, last.output.trial.outcome);
    let Outcome::Invalid(Reason::Interrupted(after)) = outcome else { panic!("{outcome:?}") };
    assert!(counts.sent > 0 && counts.sent < 10_000, "{counts:?}");
    assert!(counts.received > 0 && counts.received <= counts.sent, "{counts:?}");
    // Both ports have sent their 50,000 a second until then.
    let due = after.as_secs_f64() * 1e5;
    assert!((counts.sent as f64 - due).abs() <= 2.0, "{counts:?} in {after:?}");
    assert_eq!(last.output.latency.as_ref().unwrap().len(), counts.received);
}

/// Devices that do not do what they are to do: lost are all frames that do not come where they were to
/// come, and what the device says of them is nobody's.
#[test]
fn received_is_what_comes_where_it_was_to_come() {
    let there = "/ip route add dst-address=198.19.1.2/32 gateway=198.18.1.10";
    let back = "/ip route add dst-address=198.18.1.2/32 gateway=198.19.1.10";
    let reject = "/ip firewall filter add chain=forward action=reject \
                  reject-with=icmp-network-unreachable in-interface=ether1";
    // Of a thousand frames each way: received, elsewhere, whether the device said something.
    for (added, received, flooded, speaks) in [
        (vec![], 2000, 0, false),
        (vec![there], 1000, 1000, false),
        (vec![there, back], 0, 2000, false),
        (vec![reject], 1000, 0, true),
    ] {
        let (plan, never) = (plan(), Arc::new(AtomicBool::new(false)));
        let script = [&[ROUTER], added.as_slice()].concat().join("\n");
        let subnets = plan.subnets();
        let place =
            Simulated::new((2, Slots::STANDARD), &script, subnets, &plan.simulated, never).unwrap();
        let mut bench = Bench::new(place, &plan, Modifier::None, plan.simulated.link);
        bench.meet(&FrameLen::MIN.into()).unwrap();
        let output = bench.trial(&steady(1e4)).unwrap();
        let counts = output.trial.counts;
        let case = format!("{added:?}: {:?}", output.trial);
        assert_eq!(
            (counts.sent, counts.received, output.flooded),
            (2000, received, flooded),
            "{case}"
        );
        assert_eq!((counts.corrupt, counts.duplicate, counts.gaps), (0, 0, 0), "{case}");
        assert_eq!(counts.foreign > 0, speaks, "{case}");
        assert_eq!(output.latency.unwrap().len(), received, "{case}");
        // Which of both lost them is known.
        let found = output.directions.iter().map(|way| {
            let lost = way.sent - way.tally.received;
            assert_eq!(way.elsewhere, if speaks { 0 } else { lost }, "{case}");
            (way.ports, lost)
        });
        let lost = [received < 2000, received < 1000].map(|some| if some { 1000 } else { 0 });
        assert_eq!(found.collect::<Vec<_>>(), [((1, 2), lost[0]), ((2, 1), lost[1])], "{case}");
        // Nobody measures a device of which nothing comes.
        let prepared = bench.prepare(&FrameLen::MIN.into());
        assert_eq!(prepared.is_ok(), received == 2000, "{added:?}: {prepared:?}");
        let said = prepared.err().map_or(String::new(), |stop| stop.to_string());
        let says = said.contains("out of a port they were not sent to");
        assert_eq!(says, flooded > 0, "{said}");
    }
}

/// A device that loses some of all frames is measured: that is what is to be known of it.
#[test]
fn what_loses_some_is_measured() {
    let (plan, never) = (plan(), Arc::new(AtomicBool::new(false)));
    let script = format!("{ROUTER}\n/ip firewall filter add chain=forward action=drop random=20\n");
    let subnets = plan.subnets();
    let place =
        Simulated::new((2, Slots::STANDARD), &script, subnets, &plan.simulated, never).unwrap();
    let mut bench = Bench::new(place, &plan, Modifier::None, plan.simulated.link);
    bench.prepare(&FrameLen::MIN.into()).unwrap();
    let said = bench.first_look.clone().unwrap();
    assert!(said.starts_with("in a first look the device lost "), "{said}");
    assert!(said.ends_with(" of 80 frames of 64 bytes at 2000 a second"), "{said}");
    let counts = bench.trial(&steady(1e4)).unwrap().trial.counts;
    assert!((1..counts.sent).contains(&counts.received), "{counts:?}");
}

/// Frames above the MTU of the device: what is to be done about it, and not only that they are lost.
#[test]
fn frames_that_are_too_long_for_the_way() {
    let (plan, never) = (plan(), Arc::new(AtomicBool::new(false)));
    for (more, l2, expected) in [
        ("", 1518, None),
        ("", 1600, Some("mtu=1582")),
        ("/interface ethernet set ether2 mtu=1400", 1518, Some("mtu=1500")),
        ("/interface ethernet set ether2 mtu=1400", 1418, None),
        // Not even the shortest come.
        ("/ip firewall filter add chain=forward action=drop", 1600, Some("")),
    ] {
        let script = format!("{ROUTER}\n{more}\n");
        let subnets = plan.subnets();
        let simulated = &plan.simulated;
        let place =
            Simulated::new((2, Slots::STANDARD), &script, subnets, simulated, never.clone())
                .unwrap();
        let mut bench = Bench::new(place, &plan, Modifier::None, plan.simulated.link);
        let prepared = bench.prepare(&FrameLen::with_fcs(l2).into());
        let said = prepared.err().map_or(String::new(), |stop| stop.to_string());
        assert_eq!(said.is_empty(), expected.is_none(), "{more} {l2}: {said}");
        let advises = said.contains("shorter ones do come: an interface on their way has an MTU");
        assert_eq!(advises, expected.is_some_and(|part| !part.is_empty()), "{more} {l2}: {said}");
        assert!(said.contains(expected.unwrap_or_default()), "{said}");
    }
}
