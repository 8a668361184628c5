//! One semantics, several speeds: random configurations and packets through two routers, of which
//! one takes the slow path only. After every step both must have sent the same frames in the same
//! order and show the same counters, connections, neighbours, hosts, queues and log lines.
//!
//! ```text
//!              ┌─► [ reference: flow.rs only ] ─► frames, state ─┐
//!  steps ──────┤                                                 ├─ equal, or the first difference
//!              └─► [ fast: batches, recipes  ] ─► frames, state ─┘
//! ```
//!
//! `WIRESPEED_CASES=20000 cargo test -p router --test differential` looks longer; with `WIRESPEED_SEED=5`
//! it draws the same cases again.

#[path = "configuration.rs"] // as other tests take it, with what it is made of beside it
mod configuration;
mod regressions;
#[path = "../rig/mod.rs"]
mod rig;
mod session;
mod traffic;

use configuration::Configuration;
use port::Slab;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use rig::Rig;
use router::Link;
use std::any::Any;
use std::cell::RefCell;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use traffic::{Answer, Packet};

/// One thing that happens to both routers.
#[derive(Clone, Debug)]
enum Step {
    /// Frames come in, each so often.
    Send(Vec<(Packet, usize)>),
    /// The hosts answer what came out last.
    Answer(Answer),
    /// Time passes, in milliseconds; the router breathes this often meanwhile.
    Wait(u64, u64),
    /// The user types a line.
    Type(String),
    /// A port's link comes up or goes down, with an MTU.
    Link(usize, bool, Option<u16>),
}

fn step() -> impl Strategy<Value = Step> {
    let times = prop_oneof![4 => Just(1usize), 2 => 2..4usize, 1 => 10..64usize];
    let packets = proptest::collection::vec((traffic::packet(), times), 1..6);
    prop_oneof![
        8 => packets.prop_map(Step::Send),
        8 => traffic::answer().prop_map(Step::Answer),
        2 => (prop_oneof![0..20u64, 20..1500u64, 1000..40_000u64, Just(400_000)], 1..8u64)
            .prop_map(|(ms, breaths)| Step::Wait(ms, breaths)),
        2 => configuration::change().prop_map(Step::Type),
        1 => (0..8usize, prop::bool::weighted(0.7), prop::option::of(600..1600u16))
            .prop_map(|(port, running, mtu)| Step::Link(port, running, mtu)),
    ]
}

/// What leads to the PPPoE session in IPv6.
const ROUTE_TO_SESSION: &str =
    "/ipv6 route add dst-address=2001:db8:ac10:7::/64 gateway=<pppoe-bob>";

/// Both routers and what their hosts have seen last.
struct Pair {
    rigs: [Rig; 2],
    /// Frames in the last step, by port from 1.
    last: Vec<(usize, Vec<u8>)>,
}

impl Pair {
    fn new(configuration: &Configuration) -> Pair {
        let mut rigs = [true, false].map(|reference| {
            let mut rig = Rig::with_slab(&slab(reference), &configuration.capabilities());
            rig.router.set_reference(reference);
            for line in configuration.lines() {
                if let Err(error) = rig.try_run(&line) {
                    assert!(may_be(&error.to_string()), "{error}");
                }
            }
            rig
        });
        if let Some(port) = configuration.session {
            let tag = traffic::tag_behind(&rigs[0], port);
            session::dial(&mut rigs, port, tag.map(wire::vlan::Tci::id), configuration.l2tp);
            // Not there if what was typed before keeps it from coming about.
            for rig in &mut rigs {
                let _ = rig.try_run(ROUTE_TO_SESSION);
            }
        }
        Pair { rigs, last: Vec::new() }
    }

    /// Takes the step with both; says how they differ.
    fn take(&mut self, step: &Step) -> Result<(), String> {
        let mut frames = Vec::new();
        match step {
            Step::Send(packets) => {
                for (packet, times) in packets {
                    for frame in packet.frames(&self.rigs[0]) {
                        frames.extend(std::iter::repeat_n((packet.port, frame), *times));
                    }
                }
            }
            Step::Answer(answer) => {
                for (port, frame) in &self.last {
                    let reply = answer.to(*port, frame);
                    frames.extend(reply.into_iter().map(|reply| (*port, reply)));
                }
            }
            Step::Wait(ms, breaths) => {
                for rig in &mut self.rigs {
                    let end = rig.now + Duration::from_millis(*ms);
                    for _ in 0..*breaths {
                        rig.now = (rig.now + Duration::from_millis(ms / breaths)).min(end);
                        rig.breathe();
                    }
                    rig.now = end;
                }
            }
            Step::Type(line) => {
                let [said, fast] = self.rigs.each_mut().map(|rig| {
                    let said = rig.try_run(line);
                    said.map_err(|error| error.to_string())
                });
                let legal = said.as_ref().map_or_else(|error| may_be(error), |_| true);
                if said != fast || !legal {
                    return Err(format!(" reference: {said:?}\n fast:      {fast:?}"));
                }
            }
            Step::Link(..) => {}
        }
        if let &Step::Link(port, running, mtu) = step {
            for rig in &mut self.rigs {
                let link = Link { running, mtu, ..Link::default() };
                rig.router.set_link(port % rig.n_ports(), link, rig.now).unwrap();
            }
        }
        frames.truncate(500);
        let [reference, fast] = self.rigs.each_mut().map(|rig| {
            for (port, frame) in &frames {
                rig.send(*port, frame);
            }
            rig.breathe();
            let out: Vec<_> = (1..=rig.n_ports())
                .flat_map(|port| rig.take(port).into_iter().map(move |frame| (port, frame)))
                .collect();
            (out, rig.state(), rig.frames_in_use() as u64)
        });
        for (at, rig) in self.rigs.iter().enumerate() {
            let in_use = [reference.2, fast.2][at];
            let held = rig.router.held();
            let frames = rig.router.frames();
            if !frames.balance() {
                let discards: Vec<_> = rig.router.discards().iter().collect();
                return Err(format!("not accounted for: {frames:?}, {discards:?}"));
            }
            if in_use != held.total() {
                return Err(format!("{in_use} frames in use, but {held:?}"));
            }
        }
        if reference.0 != fast.0 {
            return Err(differing_frames(&reference.0, &fast.0));
        }
        differing_lines(&reference.1, &fast.1)?;
        if !reference.0.is_empty() || !matches!(step, Step::Type(_) | Step::Wait(..)) {
            self.last = reference.0;
            self.last.truncate(64);
        }
        Ok(())
    }
}

/// Lines are written so that they are legal; but some may be there already, or be dynamic.
fn may_be(error: &str) -> bool {
    ["already", "dynamic", "parent"].iter().any(|reason| error.contains(reason))
}

/// A slab for one of the two. What a router holds when it is dropped is lost to its slab, so a
/// slab serves for a while and is then replaced.
fn slab(reference: bool) -> Slab {
    thread_local! {
        static SLABS: RefCell<[Slab; 2]> = RefCell::new([true; 2].map(|_| Slab::new(8192).unwrap()));
    }
    SLABS.with_borrow_mut(|slabs| {
        let slab = &mut slabs[usize::from(reference)];
        if slab.frames_out() > slab.capacity() / 2 {
            *slab = Slab::new(slab.capacity()).unwrap();
        }
        slab.clone()
    })
}

/// What a panic said.
fn message(panic: &dyn Any) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}

fn differing_frames(reference: &[(usize, Vec<u8>)], fast: &[(usize, Vec<u8>)]) -> String {
    let at = reference.iter().zip(fast).position(|(a, b)| a != b);
    let at = at.unwrap_or(reference.len().min(fast.len()));
    let show = |frame: Option<&(usize, Vec<u8>)>| match frame {
        Some((port, bytes)) => format!("ether{port} {}", traffic::show(bytes)),
        None => "nothing".into(),
    };
    let (n, m) = (reference.len(), fast.len());
    let (expected, got) = (show(reference.get(at)), show(fast.get(at)));
    format!("frame {at} of {n}, {m}:\n reference: {expected}\n fast:      {got}")
}

fn differing_lines(reference: &[String], fast: &[String]) -> Result<(), String> {
    if reference == fast {
        return Ok(());
    }
    let mut text = String::new();
    for line in reference.iter().filter(|line| !fast.contains(line)) {
        let _ = writeln!(text, " reference: {line}");
    }
    for line in fast.iter().filter(|line| !reference.contains(line)) {
        let _ = writeln!(text, " fast:      {line}");
    }
    Err(text)
}

/// Runs all steps; on a difference, tells the whole story.
fn check(configuration: &Configuration, steps: &[Step]) -> Result<(), String> {
    let mut pair = Pair::new(configuration);
    for (at, step) in steps.iter().enumerate() {
        let taken = catch_unwind(AssertUnwindSafe(|| pair.take(step)));
        let Err(difference) = taken.unwrap_or_else(|panic| Err(message(&*panic))) else { continue };
        let mut story = String::from("configuration:\n");
        for line in configuration.lines() {
            let _ = writeln!(story, "  {line}");
        }
        for (n, step) in steps[..=at].iter().enumerate() {
            let _ = writeln!(story, "step {n}: {step:?}");
        }
        let _ = writeln!(
            story,
            "step {at}, {} breathing:\n{difference}",
            pair.rigs[0].now.as_millis_u32()
        );
        return Err(story);
    }
    Ok(())
}

/// Else nothing of sessions would be compared.
#[test]
fn sessions_open() {
    for l2tp in [false, true] {
        let mut configuration = Configuration::of(0, &[]);
        (configuration.session, configuration.l2tp) = (Some(2), l2tp);
        let pair = Pair::new(&configuration);
        for rig in &pair.rigs {
            assert_eq!(rig.router.program().sessions.list().len(), 1, "L2TP: {l2tp}");
        }
    }
}

#[test]
fn all_paths_agree() {
    let config = Config {
        cases: cases(),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..Config::default()
    };
    let steps = proptest::collection::vec(step(), 1..40);
    let mut runner = match seed() {
        Some(seed) => TestRunner::new_with_rng(config, seed),
        None => TestRunner::new(config),
    };
    let result = runner.run(&(configuration::configuration(), steps), |(configuration, steps)| {
        check(&configuration, &steps).map_err(TestCaseError::fail)
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(story, _)) => panic!("{story}"),
        Err(abort) => panic!("{abort}"),
    }
}

/// Few enough for every day; more when asked.
fn cases() -> u32 {
    std::env::var("WIRESPEED_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// The cases of a number, if one is asked for.
fn seed() -> Option<TestRng> {
    let seed: u64 = std::env::var("WIRESPEED_SEED").ok()?.parse().ok()?;
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    Some(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
