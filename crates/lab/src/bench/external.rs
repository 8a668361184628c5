//! The external device: a box at the end of two cables, on two interfaces of this machine.
//!
//! ```text
//!  Tester ══ eth1 ────── cable ────── [ ? ] ────── cable ────── eth2 ══ Tester
//!         ARP, ND: who has 198.18.0.1? ─►  ◄─ who has 198.18.0.107? I have
//! ```
//!
//! It is set up by its owner, for the row he names: nothing is known of it but what comes back. Our
//! hosts ask for its addresses, and answer when it asks for theirs, during trials, too.
//!
//! What the tester can do by itself is not seen with a device in the way: it is measured through two
//! veths of this machine, by the same backends, and the result says so. A cable from one interface
//! to the other, and [`External::patch`], measures it on the interfaces themselves.
//!
//! The interfaces are the tester's while this runs: by AF_XDP, the machine itself gets nothing from
//! them. Their settings stay as they are.
//! Missing: **a full table's traffic**, **TAP**.

use super::BenchError;
use super::Progress;
use super::device::{Alone, Device, Job, Turn, no_setup};
use super::ends::Cost;
use super::patch::Patch;
use super::veth::Rig;
use super::wired::Limits;
use crate::clock::Clock;
use crate::interfaces::{Lines, carry, speed};
use crate::net::Net;
use crate::placement::Pair;
use crate::real::open::Opened;
use crate::real::spec::Backend;
use crate::real::{Line, PortSpec};
use crate::tester::row::{Behind, RowTester, Unfit};
use crate::traffic::tester_mac;
use crate::two_cores::{Bench, Ran};
use measure::Mode;
use measure::result::{Medium, Setup, kind};
use std::time::Duration;
use wire::{BitRate, FrameLen, MacAddr, PacketRate};

/// What it is called in results.
pub const DEVICE: &str = "external";
/// And where the interfaces are connected with each other.
pub const PATCH: &str = "no device, a cable";

/// What is connected, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The interfaces.
    pub ports: [PortSpec; 2],
    /// Our hosts, and its addresses.
    pub net: Net,
    /// There is no device: a cable from one to the other.
    pub patch: bool,
}

/// How long a frame may take through it that is not overloaded.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is connected, and the tester at its interfaces.
pub(super) struct Connected {
    external: External,
    pair: Option<Pair>,
    /// Opened for each frame size: some cards start anew with that.
    ends: Option<Ends>,
    setup: Setup,
}

impl Connected {
    /// Nothing is opened yet.
    ///
    /// # Errors
    /// [`BenchError`]: nobody said where it is, or its interfaces do not carry such frames.
    pub(super) fn new(job: &Job<'_>) -> Result<Connected, BenchError> {
        let external = job.plan.external.clone().ok_or(BenchError::NoPorts)?;
        carry(&external.ports, job.plan.longest())?;
        let name = if external.patch { PATCH } else { DEVICE };
        let setup = no_setup(name, job.configuration);
        Ok(Connected { external, pair: job.plan.pair, ends: None, setup })
    }

    /// What the tester does by itself, by the same backends: through veths with no device between.
    fn alone(&self, job: &Job<'_>, frame: FrameLen) -> Result<Alone, BenchError> {
        let rig = Rig::for_frames(job.plan.longest(), 2, self.pair)?;
        let _patch = Patch::new(&rig)?;
        let Ok(ports) = <[PortSpec; 2]>::try_from(rig.at(&self.external.ports)) else {
            unreachable!("two ports")
        };
        let mut ends = Ends::open(&ports, job.plan.longest(), self.external.net)?;
        ends.prepare(job, frame, Some([tester_mac(1), tester_mac(0)]))?;
        let mut alone = Alone::default();
        for _ in 0..3 {
            let ran = ends.trial(self.pair, None, job.plan.short())?;
            alone.add(ran.trial.forwarding_rate(), ran.record(kind::SELF_TEST, None));
        }
        Ok(alone)
    }

    /// What is known of it, and of how it was measured.
    fn witness(&self, ends: &Ends, gateways: Option<[MacAddr; 2]>) -> Vec<String> {
        let mut witness: Vec<String> =
            ends.opened.iter().map(|opened| opened.facts.clone()).collect();
        let all = self.external.net.gateways.into_iter().zip(gateways.into_iter().flatten());
        witness.extend(all.map(|(ip, mac)| format!("{ip} is at {mac}")));
        let how = match self.external.patch {
            true => "the tester alone: these interfaces, a cable between them",
            false => {
                "set up by its owner; the tester alone was measured through two veths of this \
                 machine and nothing between, not on these interfaces"
            }
        };
        witness.push(how.to_string());
        witness
    }
}

impl Device for Connected {
    fn name(&self) -> &'static str {
        if self.external.patch { PATCH } else { DEVICE }
    }

    fn ready(
        &mut self,
        job: &Job<'_>,
        frame: FrameLen,
        _: &mut Limits,
        _: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Alone>, BenchError> {
        let External { ports, net, patch } = &self.external;
        self.ends = None;
        let mut ends = Ends::open(ports, job.plan.longest(), *net)?;
        let told = patch.then(|| [tester_mac(1), tester_mac(0)]);
        // First of all whether it forwards: nothing else is worth waiting for. One that loses some
        // is what it is: its owner wants to know how much.
        if let Err(error) = ends.prepare(job, frame, told) {
            let BenchError::Unfit(_, unfit @ Unfit::Loses { .. }) = error else {
                return Err(error);
            };
            self.setup.remarks.push(format!("{} byte: it {unfit}", frame.l2()));
            ends.row.bears_loss = true;
        }
        let alone = if *patch { Alone::default() } else { self.alone(job, frame)? };
        let gateways = ends.prepare(job, frame, told)?;
        self.setup.witness = self.witness(&ends, gateways);
        self.ends = Some(ends);
        Ok(Some(alone))
    }

    fn trial(&mut self, load: Option<PacketRate>, duration: Duration) -> Result<Turn, BenchError> {
        let ends = self.ends.as_mut().expect("made ready before a trial");
        let ran = ends.trial(self.pair, load, duration)?;
        Ok(Turn { ran, fast_path_share: None, cost: Cost::default() })
    }

    fn tells_time(&self) -> bool {
        false
    }

    fn is_tester(&self) -> bool {
        self.external.patch
    }

    fn medium(&self, _: &Cost) -> Medium {
        let [a, b] = &self.external.ports;
        let who = |spec: &PortSpec| match spec.backend {
            Backend::Xdp => "AF_XDP",
            Backend::Packet => "AF_PACKET",
            Backend::Tap => "TAP",
        };
        let user = match (who(a), who(b)) {
            (a, b) if a == b => format!("user space, {a}"),
            (a, b) => format!("user space, {a} and {b}"),
        };
        let placement = self.pair.map(|pair| format!("tester on processor {}", pair.tester));
        Medium {
            wire: format!("{a}, {b}"),
            generator: user.clone(),
            receiver: user,
            placement: placement.unwrap_or_default(),
        }
    }

    fn wire(&self) -> Option<BitRate> {
        self.ends.as_ref()?.wire
    }

    fn finish(self: Box<Self>) -> Option<Setup> {
        Some(self.setup)
    }
}

/// The tester at two interfaces.
struct Ends {
    row: RowTester<Line>,
    /// What must not be let go.
    opened: Vec<Opened>,
    /// Both directions together, where the interfaces tell.
    wire: Option<BitRate>,
    clock: Clock,
}

impl Ends {
    fn open(specs: &[PortSpec; 2], longest: FrameLen, net: Net) -> Result<Ends, BenchError> {
        let Lines { lines, slab, opened } = Lines::open(specs, longest)?;
        let Ok(wires) = <[Line; 2]>::try_from(lines) else { unreachable!("two ports") };
        let mut row = RowTester::new(wires, &slab);
        row.net = net;
        row.names = [0, 1].map(|port| format!("{} ({})", specs[port].name, specs[port].interface));
        let wire = speed(specs)?.map(|speed| BitRate(2.0 * speed.0));
        Ok(Ends { row, opened, wire, clock: Clock::start() })
    }

    /// Makes the row's streams; returns where they go, if that was asked.
    fn prepare(
        &mut self,
        job: &Job<'_>,
        frame: FrameLen,
        told: Option<[MacAddr; 2]>,
    ) -> Result<Option<[MacAddr; 2]>, BenchError> {
        let mut outside = Outside { clock: self.clock, told };
        let traffic = job.configuration.traffic;
        let prepared = self.row.prepare(&mut outside, traffic, job.table, frame, job.plan.seed);
        prepared.map_err(|unfit| BenchError::Unfit(DEVICE, unfit))?;
        let asked = told.is_none() && job.configuration.mode == Mode::Routing;
        Ok(asked.then_some(self.row.gateway_macs))
    }

    fn trial(
        &mut self,
        pair: Option<Pair>,
        rate: Option<PacketRate>,
        duration: Duration,
    ) -> Result<Ran, BenchError> {
        let Ends { row, clock, .. } = self;
        let mut bench = Bench { row, clock: *clock, pair, yields: true };
        bench.trial(None, rate, duration).map_err(BenchError::Placement)
    }
}

/// The device as the tester gets to know it.
struct Outside {
    clock: Clock,
    told: Option<[MacAddr; 2]>,
}

impl Behind for Outside {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn settle(&mut self) -> usize {
        std::thread::yield_now();
        0
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn macs(&self) -> Option<[MacAddr; 2]> {
        self.told
    }

    fn drops(&mut self) -> String {
        "nothing that it tells".to_string()
    }
}
