//! The tester at the outer ends of a device's cables: in the kernel, where that can be had, or in
//! user space.
//!
//! ```text
//!  kernel   BPF live frames ─► t0 ══ device ══ t1 ─► XDP counter      trials
//!           packet sockets ══ t0 ══ device ══ t1 ══ packet sockets    introductions, the warm-up
//!  user     AF_XDP sockets ══ t0 ══ device ══ t1 ══ AF_XDP sockets    all of it
//! ```
//!
//! In user space a frame costs the tester about as much as it costs a device, and whatever keeps
//! its thread from its processor fills its rings: on two cores it cannot load a device in veths to
//! its limit. In the kernel it offers several times of what a device there forwards. What the far
//! end's ring has no room for is sent and lost then, as at the end of a cable, so a trial at the
//! highest load usually fails, and says how much was lost.
//!
//! Beside a long trial in the kernel a thread goes on introducing the hosts; in user space the
//! sender does.
//!
//! Missing: **frames above an MTU of 1500 of the kernel's tester** (user space has them).
//!
//! Never decides what a trial says: that is [`measure::trial`]'s, the same for both.

use super::BenchError;
use super::device::Job;
use super::veth::Rig;
use super::wired::{RealPort, Wired, open};
use crate::clock::Clock;
use crate::jumbo;
use crate::kernel_tester::{self, KernelTester};
use crate::net::Net;
use crate::placement::Pair;
use crate::tester::row::{Behind, RowTester, Unfit};
use crate::tester::{ANNOUNCE, Tester};
use crate::two_cores::{Bench, Dut, Ran, side_by_side};
use measure::trial::Conditions;
use measure::{Stream, StreamPlan, Template, Trial, Variation};
use port::Slab;
use port::linux::packet::{self, PacketPort};
use port::linux::xdp;
use port::linux::{Namespace, Unavailable};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::{FrameLen, PacketRate};

/// Who sends and counts in trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// A BPF program, and XDP programs as counters.
    Kernel,
    /// A thread of ours, by AF_XDP.
    User,
}

/// The tester at a rig's outer ends.
pub struct Ends {
    row: RowTester<RealPort>,
    way: Way,
    clock: Clock,
    pair: Option<Pair>,
}

enum Way {
    /// In trials, the tester in the kernel; made for each size of frames.
    Kernel(Option<Box<KernelTester>>),
    /// Why not in the kernel, if that was not asked for.
    User(Option<String>),
}

/// What a frame costs the tester, as far as the system tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The sending thread's time by the frames it made; in user space its receiving is in it.
    pub sending: Option<Duration>,
    /// The time of the NAPI threads at the tester's ends by the frames that came.
    pub receiving: Option<Duration>,
}

/// Frames of the tester's slab: the rings of its two ports, and what is under way.
const FRAMES: usize = 1 << 14;

impl Ends {
    /// Takes a rig's outer ends. Unless one is `wanted`, the generator is the kernel's if there is
    /// one.
    ///
    /// # Errors
    /// [`BenchError`]: the generator asked for cannot be had, or no ports.
    pub fn open(
        rig: &Rig,
        clock: Clock,
        pair: Option<Pair>,
        wanted: Option<Generator>,
    ) -> Result<Ends, BenchError> {
        let way = match wanted {
            Some(Generator::User) => Way::User(None),
            Some(Generator::Kernel) => probe(rig).map(|()| Way::Kernel(None))?,
            None => match probe(rig) {
                Ok(()) => Way::Kernel(None),
                Err(unavailable) => Way::User(Some(unavailable.to_string())),
            },
        };
        let slots = jumbo::slots(rig.longest());
        let slab = Slab::with(FRAMES, slots).map_err(BenchError::Slab)?;
        let wire = |(namespace, end): (&Namespace, &'static str)| match way {
            Way::User(_) => open(namespace, end, &slab, &xdp::Options::default()),
            Way::Kernel(_) => beside(namespace, end, &slab),
        };
        let [a, b] = rig.tester_ends().map(wire);
        let row = RowTester::new([a?, b?], &slab);
        Ok(Ends { row, way, clock, pair })
    }

    /// Makes streams, and everything known that they need.
    ///
    /// # Errors
    /// [`BenchError::Unfit`]: the device does not do what the row says.
    pub fn prepare(
        &mut self,
        rig: &Rig,
        device: &mut impl Behind,
        job: &Job<'_>,
        frame: FrameLen,
    ) -> Result<(), BenchError> {
        if let Way::Kernel(kernel) = &mut self.way {
            *kernel = None; // its counters would keep the frames of the warm-up for themselves
        }
        let (traffic, file) = (job.configuration.traffic, job.configuration.file);
        let unfit = |unfit: Unfit| BenchError::Unfit(file, unfit);
        self.row.net = Net::of(job.configuration.family);
        self.row.prepare(device, traffic, job.table, frame, job.plan.seed).map_err(unfit)?;
        if let Way::Kernel(kernel) = &mut self.way {
            let opened = KernelTester::open(rig.tester_ends(), &self.row.streams)?;
            *kernel = Some(Box::new(opened));
        }
        Ok(())
    }

    /// Runs a trial: at this rate, all streams together, or as fast as it can.
    ///
    /// # Errors
    /// [`BenchError`]: a thread could not be pinned; the kernel does not send.
    ///
    /// # Panics
    /// If nothing was prepared.
    pub fn trial(
        &mut self,
        rig: &Rig,
        device: &mut dyn Wired,
        rate: Option<PacketRate>,
        duration: Duration,
    ) -> Result<(Ran, Cost), BenchError> {
        let (dut, received) = (device.dut(), rig.tester_worked());
        let ran = match &mut self.way {
            Way::User(_) => {
                let Ends { row, clock, pair, .. } = self;
                let mut bench = Bench { row, clock: *clock, pair: *pair, yields: true };
                bench.trial(dut, rate, duration).map_err(BenchError::Placement)?
            }
            Way::Kernel(kernel) => {
                let kernel = kernel.as_mut().expect("prepared before a trial");
                let herald = Herald { tester: &mut self.row.tester, clock: self.clock };
                in_kernel(kernel, herald, self.pair, dut, rate, duration)?
            }
        };
        let counts = ran.trial.counts;
        let each = |time: Duration, frames: u64| {
            (frames > 0).then(|| Duration::from_secs_f64(time.as_secs_f64() / frames as f64))
        };
        let cost = Cost {
            sending: ran.tester_worked.and_then(|time| each(time, counts.sent)),
            receiving: each(rig.tester_worked().saturating_sub(received), counts.received),
        };
        Ok((ran, cost))
    }

    /// Who sent and who received, and what that cost, for the result.
    pub fn names(&self, cost: &Cost) -> [String; 2] {
        let ns = |cost: Option<Duration>, what: &str| {
            cost.map_or(String::new(), |time| format!(": {} ns a frame{what}", time.as_nanos()))
        };
        let [generator, receiver] = match &self.way {
            Way::Kernel(_) => kernel_tester::NAMES.map(|name| format!("kernel, {name}")),
            Way::User(None) => ["user space, AF_XDP"; 2].map(str::to_string),
            Way::User(Some(why)) => {
                let user = "user space, AF_XDP";
                [format!("{user} (none in the kernel: {why})"), user.to_string()]
            }
        };
        let (both, beside) = match self.way {
            Way::Kernel(_) => ("", ""),
            Way::User(_) => (", receiving and waiting included", " in NAPI threads beside"),
        };
        [generator + &ns(cost.sending, both), receiver + &ns(cost.receiving, beside)]
    }
}

/// Whether the kernel sends and counts here.
fn probe(rig: &Rig) -> Result<(), Unavailable> {
    if jumbo::mtu(rig.longest()).is_some() {
        let tried = format!("have the kernel send frames of {} bytes", rig.longest());
        let why = "its live frames and its counters are of one page; user space sends longer ones";
        return Err(Unavailable::because(tried, std::io::Error::other(why)));
    }
    let (template, frame) = (Template::default(), FrameLen::MIN);
    let plan = StreamPlan { id: 0, template, frame, variation: Variation::Fields(vec![]), seed: 0 };
    let stream: Stream = plan.build().expect("a stream without anything that could be wrong");
    KernelTester::open(rig.tester_ends(), &[vec![stream], vec![]]).map(drop)
}

/// A port beside the tester in the kernel: it gets what the counters pass on.
fn beside(namespace: &Namespace, interface: &str, slab: &Slab) -> Result<RealPort, Unavailable> {
    let open = || PacketPort::open(interface, slab, &packet::Options::default());
    let opened = namespace.run(open).unwrap_or_else(|error| {
        Err(Unavailable::because(format!("enter the namespace of {interface}"), error))
    });
    opened.map(|port| Box::new(port) as RealPort)
}

/// Who goes on saying that the hosts are there, while the kernel sends.
struct Herald<'a> {
    tester: &'a mut Tester<RealPort>,
    clock: Clock,
}

impl Herald<'_> {
    fn go_on(self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            self.tester.announce_if_due(self.clock.now());
            std::thread::park_timeout(ANNOUNCE);
        }
    }
}

/// A trial of the tester in the kernel, as one of ours.
fn in_kernel(
    kernel: &mut KernelTester,
    herald: Herald<'_>,
    pair: Option<Pair>,
    dut: Option<&mut dyn Dut>,
    rate: Option<PacketRate>,
    duration: Duration,
) -> Result<Ran, BenchError> {
    let (clock, stop) = (herald.clock, AtomicBool::new(false));
    let driven = std::thread::scope(|scope| {
        let herald = scope.spawn(|| herald.go_on(&stop));
        let drive = || kernel.trial(rate, duration);
        let driven = side_by_side(dut, clock, pair, true, drive);
        stop.store(true, Ordering::Release);
        herald.thread().unpark();
        driven
    });
    let (ran, beside) = driven.map_err(BenchError::Placement)?;
    let ran = ran?;
    // At full speed the device is given all the time it takes for what it accepted: what waits in
    // its rings at the end is forwarded after it.
    let took = match rate {
        Some(_) => duration,
        None => duration.max(ran.last_after),
    };
    let overrun = if rate.is_some() { ran.overrun } else { Duration::ZERO };
    let conditions = Conditions { overrun, stolen: beside.stolen, ..Conditions::default() };
    Ok(Ran {
        trial: Trial::judge(took, ran.counts, &conditions),
        worked: beside.worked,
        tester_worked: beside.tester_worked,
        latency: ran.latency,
        conditions,
    })
}
