//! A tester at real interfaces: taken, up, and given back when this is dropped.
//!
//! ```text
//!  PortSpec … PortSpec ─► open ─► lines on one slab ─► Tester
//! ```

use super::broken;
use crate::bench::BenchError;
use crate::bench::patch::Patch;
use crate::bench::veth::Rig;
use crate::clock::Clock;
use crate::jumbo;
use crate::real::open::{self, Opened};
use crate::real::spec::{Backend, Options};
use crate::real::{Line, PortSpec, several};
use crate::suite::plan::End;
use crate::suite::tester::Tester;
use measure::procedure::Stop;
use port::Slab;
use port::linux::Unavailable;
use port::linux::interface::Interface;
use port::slab::Slots;
use std::time::Duration;
use wire::{BitRate, FrameLen, Moment};

/// How long an interface may take to find its cable's other end, once it is opened.
const LINK: Duration = Duration::from_secs(10);

/// Frames for each queue: its rings, and what is under way.
const FRAMES: usize = 1 << 14;

/// And of long ones, which AF_XDP keeps in memory all the time: the rings alone.
const LONG_FRAMES: usize = 1 << 13;

/// A tester at interfaces.
pub(super) struct TestPorts {
    pub(super) tester: Tester<Line>,
    /// What must not be let go.
    pub(super) opened: Vec<Opened>,
    _patch: Option<Patch>,
    pub(super) rig: Option<Rig>,
}

impl TestPorts {
    pub(super) fn open(
        specs: &[PortSpec],
        longest: FrameLen,
        ends: &[End],
        rig: Option<Rig>,
        patch: Option<Patch>,
    ) -> Result<TestPorts, Stop> {
        let opening = || -> Result<(Vec<Line>, Slab, Vec<Opened>), BenchError> {
            let (mut queues, mut longest) = (0, longest);
            for spec in specs {
                let look = open::look(spec)?;
                queues += look.queues.max(1) as usize;
                if spec.backend == Backend::Xdp {
                    // What comes is received whole: the kernel wants slots for what the interface
                    // carries, not for what is sent.
                    longest = longest.max(jumbo::carried(look.mtu));
                }
            }
            let slots = jumbo::slots(longest);
            let frames = queues * if slots == Slots::STANDARD { FRAMES } else { LONG_FRAMES };
            let slab = Slab::with(frames.min(1 << 18), slots).map_err(BenchError::Slab)?;
            let (mut wires, mut opened) = (vec![], vec![]);
            for spec in specs {
                let mut interface = open::open(spec, &slab)?;
                let lines = std::mem::take(&mut interface.lines);
                wires.push(several(lines).expect("an interface that is open has a queue"));
                opened.push(interface);
            }
            specs.iter().try_for_each(linked)?;
            Ok((wires, slab, opened))
        };
        let (wires, slab, opened) = opening().map_err(|error| broken(&error))?;
        let tester = Tester::new(wires, &slab, ends.to_vec());
        Ok(TestPorts { tester, opened, _patch: patch, rig })
    }
}

/// The same ports at a rig's ends. (A veth there has one queue, and no way without a copy.)
pub(super) fn at(rig: &Rig, specs: &[PortSpec]) -> Vec<PortSpec> {
    let at = |(spec, (namespace, end)): (&PortSpec, (&port::linux::Namespace, &str))| PortSpec {
        interface: end.to_string(),
        namespace: Some(namespace.path().display().to_string()),
        options: Options { queues: None, copy: None, ..spec.options },
        ..spec.clone()
    };
    specs.iter().zip(rig.outer()).map(at).collect()
}

/// The speed of the slowest of these interfaces, where all tell. (What veth says of its speed is made
/// up.)
///
/// # Errors
/// [`Unavailable`]: there is no such interface.
pub fn speed(specs: &[PortSpec]) -> Result<Option<BitRate>, Unavailable> {
    let mut slowest = Some(u32::MAX);
    for spec in specs {
        let Interface { driver, speed_mbps, .. } = open::interface(spec)?;
        slowest = slowest.zip(speed_mbps.filter(|_| driver != "veth")).map(|(a, b)| a.min(b));
    }
    Ok(slowest.map(|mbps| BitRate::mbps(f64::from(mbps))))
}

/// Waits for an interface's link: opening one may make its card start anew.
fn linked(spec: &PortSpec) -> Result<(), Unavailable> {
    let clock = Clock::start();
    while !open::interface(spec)?.carrier {
        if clock.now().since(Moment::ZERO) >= LINK {
            let (tried, what) = (format!("send by {}", spec.interface), "it has no link");
            let remedy = "`ip link set … up`, and look at the cable and what is at its other end";
            return Err(Unavailable::because(tried, std::io::Error::other(what)).remedy(remedy));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
