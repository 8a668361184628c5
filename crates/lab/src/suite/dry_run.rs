//! A plan's frames, written and not sent.
//!
//! ```text
//!  Plan ─► Bench: the trials' own code ─► Tester ══ a wire ─► whoever takes the frames
//!                                            ▲        │       (times: when each begins)
//!                                            └─ ARP ─ ● a stand-in for the device
//! ```
//!
//! Hosts, streams, senders and schedules are those of a run, in virtual time: a frame's time is when
//! it is due, or when the wire is free that others had, and its bytes are those that a run with the same
//! seed sends at that time. No two frames of a port are on its wire at once. The device is
//! stood for by somebody who says which MAC address it has, and keeps every frame to himself. So what
//! depends on a device's answers is not there: TCP, RFC 9693's frames back, answers to its questions.
//!
//! Procedures that send the same frames at other loads and for other times are one kind of trial here.
//! Never opens anything: the caller does.

use super::bench::{Bench, Testbed};
use super::device;
use super::fit::Unfit;
use super::plan::{Modifier, Offer, Plan, Procedure};
use super::run::{Device, scaled_for};
use crate::jumbo;
use crate::net::Net;
use crate::tester::{Task, Tester, reply_from};
use measure::procedure::{Measurer, Stop, TrialInput};
use measure::{Family, FrameSize};
use port::record::{Direction, Record};
use port::simulated::Line;
use port::{Batch, Pool, Port, PortCounters, Slab};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;
use wire::icmpv6::Neighbour;
use wire::{BitRate, MacAddr, Moment, PacketRate};

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
    /// How long a stream's frame waited at most for its wire, behind its time.
    pub waited: Duration,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { configuration, frame, kind, load, introduction, frames, waited, .. } = self;
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
        )?;
        // Times are rounded by a nanosecond.
        match *waited > Duration::from_nanos(1) {
            true => write!(f, "; later than due, since others had the wire, by up to {waited:.1?}"),
            false => Ok(()),
        }
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
    let shared = Rc::new(RefCell::new(Shared::new(take, plan.ports)));
    let mut all = vec![];
    let mut now = Moment::ZERO;
    for &modifier in &plan.modifiers {
        let place =
            Quiet::new(&plan, link, &shared, now).map_err(|stop| impossible(stop.to_string()))?;
        let mut bench = Bench::new(place, &plan, modifier, link);
        let done = sizes(&mut bench, &plan, link, excerpt, (modifier, &shared));
        now = bench.place.now;
        if let Some(error) = shared.borrow_mut().error.take() {
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
            let output = bench.trial(&input).map_err(broken)?;
            let waited = output.streams.iter().filter_map(|one| one.waited).max();
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
                waited: waited.unwrap_or_default(),
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
            Procedure::Establishment(_) | Procedure::TearDown { .. } | Procedure::Capacity(_) => {
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
    /// Why a frame was not taken: none is, after that.
    error: Option<io::Error>,
    /// Frames by when they begin, and which was given first: one whose wire others have begins later than
    /// frames of other ports that were given after it.
    waiting: BTreeMap<(Moment, u64), (usize, Vec<u8>)>,
    given: u64,
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

impl<'a> Shared<'a> {
    fn new(take: &'a mut Take<'a>, ports: usize) -> Shared<'a> {
        Shared {
            take,
            error: None,
            waiting: BTreeMap::new(),
            given: 0,
            n: vec![0; ports],
            introduction: 0,
            span: None,
        }
    }

    /// What was counted since the last time.
    fn restart(&mut self) -> Counted {
        let none = vec![0; self.n.len()];
        let n = std::mem::replace(&mut self.n, none);
        let introduction = std::mem::take(&mut self.introduction);
        Counted { n, introduction, span: self.span.take() }
    }

    /// A frame of a port begins.
    fn frame(&mut self, port: usize, at: Moment, bytes: &[u8], introduces: bool) {
        if introduces {
            self.introduction += 1;
        } else {
            self.n[port] += 1;
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        self.waiting.insert((at, self.given), (port, bytes.to_vec()));
        self.given += 1;
    }

    /// No frame will begin before this.
    fn take_until(&mut self, now: Moment) {
        while let Some(next) = self.waiting.first_entry().filter(|next| next.key().0 < now) {
            let ((at, _), (port, bytes)) = next.remove_entry();
            if self.error.is_none() {
                let record = Record::ethernet(at.as_nanos(), &bytes);
                let record = Record { direction: Some(Direction::Out), ..record };
                self.error = (self.take)(port, &record).err();
            }
        }
    }
}

/// Whether a frame is ARP or neighbour discovery and nothing behind it: a stream's ends with a trailer.
fn is_introduction(bytes: &[u8]) -> bool {
    let is_zero = |rest: &[u8]| rest.iter().all(|byte| *byte == 0);
    match bytes.get(12..14) {
        Some([0x08, 0x06]) => bytes.get(14 + 28..).is_some_and(is_zero),
        Some([0x86, 0xdd]) => {
            let packet = wire::Ipv6::new(&bytes[14..]).ok();
            packet.is_some_and(|packet| Neighbour::read(packet.payload()).is_ok())
        }
        _ => false,
    }
}

/// The wire of a port, and who stands for the device at its other end: says which MAC address it has, and
/// forwards nothing.
struct StandIn<'a> {
    port: usize,
    line: Line,
    mac: MacAddr,
    /// The device's, if the tester says who is there: behind a bridge nobody does, and what a
    /// capture has of it is the capture's.
    addresses: Vec<IpAddr>,
    answers: Vec<Vec<u8>>,
    shared: Rc<RefCell<Shared<'a>>>,
}

impl Port for StandIn<'_> {
    fn receive(&mut self, _: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        for bytes in self.answers.drain(..) {
            if let Some(mut frame) = pool.alloc(bytes.len()).filter(|_| batch.room() > 0) {
                pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
                batch.push(frame);
            }
        }
        batch.len() - before
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.as_slice() {
            let bytes = pool.slab().bytes(frame);
            let begins = self.line.next_start().max(now);
            self.line.depart(now, bytes.len());
            let introduces = !self.addresses.is_empty() && is_introduction(bytes);
            self.shared.borrow_mut().frame(self.port, begins, bytes, introduces);
            let is_his = |address| self.addresses.contains(&address);
            self.answers.extend(reply_from(self.mac, is_his, bytes));
        }
        batch.free_all(pool);
    }

    fn counters(&self) -> PortCounters {
        PortCounters::default()
    }

    fn next_start(&self) -> Option<Moment> {
        Some(self.line.next_start())
    }
}

/// Hosts say that they are there so long before a trial's first frame: no frame waits for that.
const LEAD: Duration = Duration::from_millis(1);

/// Where nothing comes back, in virtual time.
struct Quiet<'a> {
    tester: Tester<StandIn<'a>>,
    shared: Rc<RefCell<Shared<'a>>>,
    now: Moment,
}

impl<'a> Quiet<'a> {
    fn new(
        plan: &Plan,
        link: BitRate,
        shared: &Rc<RefCell<Shared<'a>>>,
        now: Moment,
    ) -> Result<Quiet<'a>, Stop> {
        let slab = Slab::with(1 << 10, jumbo::slots(plan.longest()))
            .map_err(|error| Stop::Broken(format!("no room for frames: {error}")))?;
        let line = Line::new(link).map_err(|error| Stop::Broken(error.to_string()))?;
        let ends = plan.ends_on_ports();
        let wire = |port: usize| StandIn {
            port,
            line,
            mac: device::mac(port),
            addresses: ends
                .get(port)
                .into_iter()
                .flat_map(|end| {
                    let device = Ipv4Addr::from(end.device);
                    [device.into(), Net::of(Family::Ipv6).gateways[port]]
                })
                .collect(),
            answers: vec![],
            shared: shared.clone(),
        };
        let wires = (0..plan.ports).map(wire).collect();
        Ok(Quiet { tester: Tester::new(wires, &slab, plan.subnets()), shared: shared.clone(), now })
    }
}

impl<'a> Testbed for Quiet<'a> {
    type Wire = StandIn<'a>;

    fn tester(&mut self) -> &mut Tester<Self::Wire> {
        &mut self.tester
    }

    fn now(&self) -> Moment {
        self.now
    }

    fn run(&mut self, task: &mut Task, _: Option<Moment>) -> Result<(), Stop> {
        self.tester.tick(self.now, task);
        while task.next_due() < Moment::from_nanos(u64::MAX) {
            self.now = self.now.max(task.next_due());
            self.shared.borrow_mut().take_until(self.now);
            self.tester.tick(self.now, task);
        }
        self.shared.borrow_mut().take_until(Moment::from_nanos(u64::MAX));
        // The stand-in's answers.
        self.tester.receive(self.now, task);
        // RFC 2544 §23: two seconds after what is learned, and after a trial; and on to the next
        // whole one, so that whoever reads the file finds the trials.
        let second = 1_000_000_000;
        let begin = Moment::from_nanos((self.now.as_nanos() / second + 2) * second);
        self.now = Moment::from_nanos(begin.as_nanos() - LEAD.as_nanos() as u64);
        Ok(())
    }

    fn lead(&self) -> Duration {
        LEAD
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
