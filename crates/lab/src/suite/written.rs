//! A plan's frames, written and not sent.
//!
//! ```text
//!  Plan ─► Bench: the trials' own code ─► Tester ══ CapturePort ─► whoever takes the frames
//!                                            ▲          │            (times: the schedule's)
//!                                            └── ARP ── ● a stand-in for the device
//! ```
//!
//! Hosts, streams, senders and schedules are those of a run, in virtual time: a frame's time is when
//! it is due, and its bytes are those that a run with the same seed sends at that time. The device is
//! stood for by somebody who says which MAC address it has, and keeps every frame to himself. So what
//! depends on a device's answers is not there: TCP, RFC 9693's frames back, answers to its questions.
//!
//! Procedures that send the same frames at other loads and for other times are one kind of trial here.
//! Never opens anything: the caller does.

use super::bench::{Bench, Place};
use super::device;
use super::fit::Unfit;
use super::plan::{End, Modifier, Offer, Plan, Procedure, Traffic};
use super::run::{Device, scaled_for};
use super::tester::{Duty, Tester};
use crate::jumbo;
use measure::FrameSize;
use measure::procedure::{Measurer, Stop, TrialInput};
use port::capture::{CapturePort, Sink};
use port::record::{Direction, Record};
use port::{Batch, Pool, Port, PortCounters, Slab};
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use wire::arp::{ArpMessage, Operation};
use wire::{BitRate, MacAddr, Moment, PacketRate, craft};

/// Takes the frames, in the order of their times: the port that sends it, counted from 0, and it.
pub type Take<'a> = dyn FnMut(usize, &Record<'_>) -> io::Result<()> + 'a;

/// How much of a plan is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Excerpt {
    /// As it is in virtual time: other wires, other lengths.
    pub simulated: bool,
    /// As it is when it is quick.
    pub quick: bool,
    /// Frames from each port, in each trial.
    pub frames: u64,
    /// How fast.
    pub load: Offer,
}

/// A trial that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The configuration.
    pub configuration: &'static str,
    /// The length of its frames, or the mix.
    pub frame: FrameSize,
    /// What kind of trial.
    pub kind: &'static str,
    /// Frames a second, from each port that sends.
    pub load: PacketRate,
    /// Frames that introduce the hosts, of all ports.
    pub introduction: u64,
    /// Frames of the trial, of each port.
    pub frames: Vec<u64>,
    /// When the first of them is due, from the beginning of all.
    pub first: Moment,
    /// And the last.
    pub last: Moment,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { configuration, frame, kind, load, introduction, frames, .. } = self;
        let frames: Vec<String> = frames.iter().map(u64::to_string).collect();
        let seconds = |at: Moment| {
            let ns = at.as_nanos();
            format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
        };
        let what = match *kind {
            STREAMS => "streams, each at its own load".to_string(),
            kind => format!("{}, {kind} at {:.1} frames/s", frame.words(), load.0),
        };
        write!(
            f,
            "{configuration}, {what}: {} frames (by port), and {introduction} before; {} s to {} s",
            frames.join(" + "),
            seconds(self.first),
            seconds(self.last)
        )
    }
}

/// Why frames could not be written.
#[derive(Debug)]
pub enum Unwritten {
    /// The plan has no such frames.
    Unfit(Unfit),
    /// Whoever takes them could not.
    Io(io::Error),
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unwritten::Unfit(unfit) => unfit.fmt(f),
            Unwritten::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unwritten {}

/// Hands all frames of an excerpt to `take`, and tells which trials they are of.
///
/// # Errors
/// [`Unwritten`]: the plan has none that do not depend on a device, the load is above the wire, or
/// `take` failed.
pub fn write(
    plan: &Plan,
    device: &Device,
    excerpt: &Excerpt,
    take: &mut Take<'_>,
) -> Result<Vec<Written>, Unwritten> {
    let impossible = |why: String| Unwritten::Unfit(Unfit::Impossible(why));
    let (plan, _) = scaled_for(plan, device, (excerpt.simulated, excerpt.quick));
    let link = if excerpt.simulated { plan.simulated.link } else { plan.link };
    let is_tcp = |procedure: &Procedure| matches!(procedure, Procedure::Tcp(_));
    if plan.procedures.iter().all(is_tcp) {
        let why = "the plan's procedures speak TCP: what they send depends on what is answered";
        return Err(impossible(why.to_string()));
    }
    let shared =
        Rc::new(RefCell::new(Shared { take, n: vec![0; plan.ports], introduction: 0, span: None }));
    let mut all = vec![];
    let mut now = Moment::ZERO;
    for &modifier in &plan.modifiers {
        let place = Quiet::new(&plan, &shared, now).map_err(|stop| impossible(stop.to_string()))?;
        let mut bench = Bench::new(place, &plan, modifier, link);
        let done = sizes(&mut bench, &plan, link, excerpt, (modifier, &shared));
        now = bench.place.now;
        if let Some(error) = bench.place.error() {
            return Err(Unwritten::Io(error));
        }
        all.extend(done?);
    }
    Ok(all)
}

/// All trials of one configuration.
fn sizes(
    bench: &mut Bench<'_, Quiet<'_>>,
    plan: &Plan,
    link: BitRate,
    excerpt: &Excerpt,
    (modifier, shared): (Modifier, &Rc<RefCell<Shared<'_>>>),
) -> Result<Vec<Written>, Unwritten> {
    let impossible = |why: String| Unwritten::Unfit(Unfit::Impossible(why));
    let mut written = vec![];
    for frame in &plan.sizes {
        let highest = frame.max_frames(link);
        let load = excerpt.load.of(highest);
        if load.0 > highest.0 {
            return Err(impossible(format!(
                "a rate above the wire: {} frames a second, and {link:#} carry {:.1} of {}",
                load.0,
                highest.0,
                frame.words()
            )));
        }
        for (kind, input) in trials(plan, frame, load, excerpt.frames) {
            let broken = |stop: Stop| impossible(stop.to_string());
            shared.borrow_mut().restart();
            bench.meet(frame).map_err(broken)?;
            let before = shared.borrow_mut().restart();
            bench.trial(&input).map_err(broken)?;
            let Counted { n: frames, introduction, span } = shared.borrow_mut().restart();
            let introduction = introduction + before.introduction + before.n.iter().sum::<u64>();
            let (first, last) = span.unwrap_or_default();
            let configuration = modifier.name();
            written.push(Written {
                configuration,
                frame: frame.clone(),
                kind,
                load,
                introduction,
                frames,
                first,
                last,
            });
        }
    }
    Ok(written)
}

/// Their load is their own.
const STREAMS: &str = "streams";

/// One trial of each kind that the plan has, of so many frames.
fn trials(
    plan: &Plan,
    frame: &FrameSize,
    load: PacketRate,
    frames: u64,
) -> Vec<(&'static str, TrialInput)> {
    // A schedule has a frame due at its beginning, and none at its end: it ends between the last one
    // and the next. Counts are cut off.
    let until = |n| frame.wire_time(n, frame.cycle().l1(load));
    let duration = (until(frames.saturating_sub(1)) + until(frames)) / 2;
    let counted = Duration::from_secs_f64((frames as f64 + 0.25) / load.0);
    let mut all = vec![];
    for procedure in &plan.procedures {
        if procedure.is_of_smallest_frames() && plan.sizes.first() != Some(frame) {
            continue;
        }
        let (rate, validation) = (load, load);
        let one = match procedure {
            Procedure::Tcp(_) => continue,
            Procedure::Streams(_) => (STREAMS, TrialInput::Streams { duration, most: frames }),
            Procedure::AddressCaching { .. } | Procedure::AddressLearning { .. } => {
                ("addresses shown, then sent to", TrialInput::Learn { addresses: frames, rate })
            }
            Procedure::Broadcast { .. } => {
                ("broadcasts", TrialInput::Broadcast { load, duration: counted })
            }
            Procedure::Congestion { .. } => {
                ("congestion", TrialInput::Congestion { load, duration: counted })
            }
            Procedure::Establishment { .. }
            | Procedure::TearDown { .. }
            | Procedure::Capacity { .. } => {
                let connections = frames;
                ("new connections", TrialInput::Establish { connections, rate, validation })
            }
            _ => ("steady load", TrialInput::Steady { load, duration, tag: None }),
        };
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// What all ports have in common.
struct Shared<'a> {
    take: &'a mut Take<'a>,
    n: Vec<u64>,
    /// ARP, by which hosts say that they are there: of captures at the beginning of their trial.
    introduction: u64,
    span: Option<(Moment, Moment)>,
}

struct Counted {
    n: Vec<u64>,
    introduction: u64,
    span: Option<(Moment, Moment)>,
}

impl Shared<'_> {
    /// What was counted since the last time.
    fn restart(&mut self) -> Counted {
        let none = vec![0; self.n.len()];
        let n = std::mem::replace(&mut self.n, none);
        let introduction = std::mem::take(&mut self.introduction);
        Counted { n, introduction, span: self.span.take() }
    }
}

/// Where a port's frames go.
struct Tap<'a> {
    port: usize,
    /// Whether the tester says by ARP who is there: behind a bridge nobody does, and what a capture has
    /// of it is the capture's.
    introduces: bool,
    shared: Rc<RefCell<Shared<'a>>>,
}

impl Sink for Tap<'_> {
    fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        if record.direction != Some(Direction::Out) {
            return Ok(()); // the stand-in's
        }
        let shared = &mut *self.shared.borrow_mut();
        if self.introduces && is_arp(record.bytes) {
            shared.introduction += 1;
        } else {
            shared.n[self.port] += 1;
            let at = Moment::from_nanos(record.timestamp_ns);
            shared.span = Some((shared.span.map_or(at, |(first, _)| first), at));
        }
        (shared.take)(self.port, record)
    }
}

/// Whether a frame is ARP and nothing behind it: a stream's ends with a trailer.
fn is_arp(bytes: &[u8]) -> bool {
    let is_zero = |rest: &[u8]| rest.iter().all(|byte| *byte == 0);
    bytes.get(12..14) == Some(&[0x08, 0x06]) && bytes.get(14 + 28..).is_some_and(is_zero)
}

/// Stands for the device on a port: says which MAC address it has, and forwards nothing.
struct StandIn {
    mac: MacAddr,
    address: Option<u32>,
    answers: Vec<ArpMessage>,
}

impl Port for StandIn {
    fn receive(&mut self, _: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        for answer in self.answers.drain(..) {
            let bytes = craft::arp(answer).build();
            if let Some(mut frame) = pool.alloc(bytes.len()).filter(|_| batch.room() > 0) {
                pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
                batch.push(frame);
            }
        }
        batch.len() - before
    }

    fn send(&mut self, _: Moment, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.as_slice() {
            let bytes = pool.slab().bytes(frame);
            let arp = bytes.get(14..).filter(|_| bytes[12..14] == [0x08, 0x06]);
            let Some(Ok(arp)) = arp.map(wire::Arp::new) else { continue };
            let asked = arp.message();
            if asked.operation == Operation::Request && Some(asked.target_ip) == self.address {
                self.answers.push(ArpMessage {
                    operation: Operation::Reply,
                    sender_mac: self.mac,
                    sender_ip: asked.target_ip,
                    target_mac: asked.sender_mac,
                    target_ip: asked.sender_ip,
                });
            }
        }
        batch.free_all(pool);
    }

    fn counters(&self) -> PortCounters {
        PortCounters::default()
    }
}

/// Where nothing comes back, in virtual time.
struct Quiet<'a> {
    tester: Tester<CapturePort<StandIn, Tap<'a>>>,
    now: Moment,
}

impl<'a> Quiet<'a> {
    fn new(plan: &Plan, shared: &Rc<RefCell<Shared<'a>>>, now: Moment) -> Result<Quiet<'a>, Stop> {
        let slab = Slab::with(1 << 10, jumbo::slots(plan.longest()))
            .map_err(|error| Stop::Broken(format!("no room for frames: {error}")))?;
        let ends: Vec<End> = match plan.traffic {
            Traffic::Hosts { .. } => vec![],
            _ => plan.ends.to_vec(),
        };
        let wire = |port: usize| {
            let address = ends.get(port).map(|end| end.device);
            let stand_in = StandIn { mac: device::mac(port), address, answers: vec![] };
            let tap = Tap { port, introduces: address.is_some(), shared: shared.clone() };
            CapturePort::new(stand_in, tap)
        };
        let wires = (0..plan.ports).map(wire).collect();
        Ok(Quiet { tester: Tester::new(wires, &slab, ends), now })
    }

    /// Why frames were not taken.
    fn error(self) -> Option<io::Error> {
        self.tester.wires.into_iter().find_map(|wire| wire.finish().2)
    }
}

impl<'a> Place for Quiet<'a> {
    type Wire = CapturePort<StandIn, Tap<'a>>;

    fn tester(&mut self) -> &mut Tester<Self::Wire> {
        &mut self.tester
    }

    fn now(&self) -> Moment {
        self.now
    }

    fn run(&mut self, duty: &mut Duty, _: Option<Moment>) -> Result<(), Stop> {
        self.tester.tick(self.now, duty);
        while duty.next_due() < Moment::from_nanos(u64::MAX) {
            self.now = self.now.max(duty.next_due());
            self.tester.tick(self.now, duty);
        }
        // The stand-in's answers.
        self.tester.receive(self.now, duty);
        // RFC 2544 §23: two seconds after what is learned, and after a trial; and on to the next
        // whole one, so that whoever reads the file finds the trials.
        let second = 1_000_000_000;
        self.now = Moment::from_nanos((self.now.as_nanos() / second + 2) * second);
        Ok(())
    }

    fn renew(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn bypass(&mut self, _: bool) -> Result<(), Stop> {
        Ok(())
    }

    fn is_bypassed(&self) -> bool {
        false
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn discards(&self) -> String {
        "nothing: there is no device".to_string()
    }
}

#[cfg(test)]
mod tests;
