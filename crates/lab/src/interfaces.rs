//! Interfaces of this machine that a tester takes: open, with a link, given back when this is dropped.
//!
//! ```text
//!  PortSpec … PortSpec ─► Lines: a line for each, on one slab
//! ```

use crate::bench::BenchError;
use crate::clock::Clock;
use crate::jumbo;
use crate::linux::veth::inside;
use crate::real::open::{self, Opened};
use crate::real::spec::Backend;
use crate::real::{Line, PortSpec, several};
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

/// Open interfaces.
pub(crate) struct Lines {
    /// In the order in which they were named.
    pub(crate) lines: Vec<Line>,
    /// Where their frames are.
    pub(crate) slab: Slab,
    /// What must not be let go.
    pub(crate) opened: Vec<Opened>,
}

impl Lines {
    /// Opens interfaces for frames of up to this length, and waits for their links.
    ///
    /// # Errors
    /// [`BenchError`].
    pub(crate) fn open(specs: &[PortSpec], mut longest: FrameLen) -> Result<Lines, BenchError> {
        let mut queues = 0;
        for spec in specs {
            let look = open::look(spec)?;
            queues += look.queues.max(1) as usize;
            if spec.backend == Backend::Xdp {
                // What comes is received whole: the kernel wants slots for what the interface carries,
                // not for what is sent.
                longest = longest.max(jumbo::carried(look.mtu));
            }
        }
        let slots = jumbo::slots(longest);
        let frames = queues * if slots == Slots::STANDARD { FRAMES } else { LONG_FRAMES };
        let slab = Slab::with(frames.min(1 << 18), slots).map_err(BenchError::Slab)?;
        let (mut lines, mut opened) = (vec![], vec![]);
        for spec in specs {
            let mut interface = open::open(spec, &slab)?;
            let queues = std::mem::take(&mut interface.lines);
            lines.push(several(queues).expect("an interface that is open has a queue"));
            opened.push(interface);
        }
        specs.iter().try_for_each(linked)?;
        Ok(Lines { lines, slab, opened })
    }
}

/// Whether interfaces carry such frames.
///
/// # Errors
/// [`Unavailable`]: the MTU of one is too small, and what helps.
pub(crate) fn carry(specs: &[PortSpec], longest: FrameLen) -> Result<(), Unavailable> {
    for spec in specs {
        let (mtu, name) = (open::look(spec)?.mtu, &spec.interface);
        let most = jumbo::carried(mtu);
        if longest > most {
            let tried = format!("send frames of {longest} bytes by {name}");
            let why = format!("its MTU is {mtu}, which carries frames of {most}");
            let wanted = jumbo::mtu(longest).unwrap_or(1500);
            let remedy = format!(
                "`{}ip link set {name} mtu {wanted}`, and give the device's interfaces the same",
                inside(spec.namespace.as_deref())
            );
            return Err(Unavailable::because(tried, std::io::Error::other(why)).remedy(remedy));
        }
    }
    Ok(())
}

/// The speed of the slowest of these interfaces, where all tell. (What veth says of its speed is made
/// up.)
///
/// # Errors
/// [`Unavailable`]: there is no such interface.
pub(crate) fn speed(specs: &[PortSpec]) -> Result<Option<BitRate>, Unavailable> {
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
