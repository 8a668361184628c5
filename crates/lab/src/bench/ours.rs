//! The built-in router on AF_XDP ports, in the kernel's place between the same veths.
//!
//! ```text
//!  t0 ═══ d0 ── XDP ─► socket ─► [ router's thread ] ─► socket ─► d1 ═══ t1
//! ```
//!
//! Its frames live in one slab, which both ports share: forwarding moves descriptors. The router's
//! thread runs on the device's processor, only while a trial is on, and shares it with the NAPI
//! threads of the device's ends as a driver and its interrupts would: it comes first, and sleeps when
//! it has done all that came. So these threads work only when the router has nothing to do, a batch
//! or two, and what there is no time for is lost in the veths' rings, before it has cost anything.
//! (Threads of equal standing starve the router: they fill its receive rings, and go on throwing away
//! what they have paid for, two thirds of the time.)
//!
//! While many frames come it does not wait for the first of them but a while (`GATHER`), as a card
//! gathers frames before it interrupts: woken by each poll of a NAPI thread it had 27 at a time, and
//! a frame cost it twice as much (25 filter rules, 64 bytes, 2-core Intel VM: 1650 ns with each poll,
//! 1000 with 30 µs in between, 900 with 50, 750 with 100). With 100 it sends so many at once that
//! the next ring, of a veth's 256 frames, overflows in most trials; with 50 in one of ten. A lone
//! ping, which would take longer by that while, is waited for by its socket.

use super::BenchError;
use super::device::Cannot;
use super::veth::{DEVICE_ENDS, Rig, device_mac};
use super::wired::{RealPort, Wired, open};
use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::configuration::Configuration;
use crate::device::{Device, discarded, fast_path_packets};
use crate::jumbo;
use crate::routes::Table;
use crate::two_cores::Dut;
use port::linux::Unavailable;
use port::linux::xdp::Options;
use port::{Port, Slab};
use std::time::Duration;
use wire::Moment;

/// What it is called in results.
pub const DEVICE: &str = "wirespeed on veth";

/// How long it sleeps at most when nothing comes: its timers wait no longer.
const REST: Duration = Duration::from_micros(200);

/// What it rests, whatever comes, after it had many frames to do.
const GATHER: Duration = Duration::from_micros(50);

/// As many: less would come to it one poll at a time, and need not wait.
const MANY: usize = 16;

/// Frames of its slab: the rings of two ports, and what is under way.
const FRAMES: usize = 1 << 14;

/// The router and its ports.
pub struct Ours {
    worked: Worked,
}

/// What a thread of ours works.
struct Worked {
    device: Device<RealPort>,
    alarm: Alarm,
    /// Frames done since it rested.
    done: usize,
}

/// Puts a router with a row's script on a rig; returns the script's commands.
///
/// # Errors
/// [`Cannot`].
pub fn set_up(
    rig: &Rig,
    clock: Clock,
    row: &Configuration,
    table: Option<&Table>,
) -> Result<(Ours, Vec<String>), Cannot> {
    let slab = Slab::with(FRAMES, jumbo::slots(rig.longest())).map_err(BenchError::Slab)?;
    let (options, mut ports) = (Options::default(), Vec::new());
    for (i, end) in DEVICE_ENDS.iter().enumerate() {
        ports.push((device_mac(i), open(&rig.device, end, &slab, &options)?));
    }
    let mut device = Device::with(ports, slab, clock);
    device.load(row.file, row.script).map_err(BenchError::Load)?;
    let longer = jumbo::command(rig.longest());
    device.load(row.file, &longer).map_err(BenchError::Load)?;
    if let Some(table) = table {
        device.feed(row.family, table).map_err(BenchError::Routes)?;
    }
    let script = row.script.lines().chain(longer.lines());
    let script = script.filter(|line| !line.starts_with('#') && !line.is_empty());
    let cannot = |error| Unavailable::because("make an event to wait for", error);
    let alarm = Alarm::new().map_err(cannot)?;
    let worked = Worked { device, alarm, done: 0 };
    Ok((Ours { worked }, script.map(str::to_string).collect()))
}

impl Dut for Worked {
    fn breathe(&mut self, now: Moment) -> usize {
        let Device { router, ports, .. } = &mut self.device;
        let came = router.breathe(now, ports);
        self.done += came;
        came
    }

    fn rests(&self) -> bool {
        true
    }

    fn rest(&mut self) {
        if std::mem::take(&mut self.done) >= MANY {
            return std::thread::sleep(GATHER);
        }
        let descriptors: Vec<_> = self.device.ports.iter().flat_map(Port::descriptors).collect();
        self.alarm.sleep(&descriptors, REST);
    }
}

impl Wired for Ours {
    fn name(&self) -> &'static str {
        DEVICE
    }

    fn dut(&mut self) -> Option<&mut dyn Dut> {
        Some(&mut self.worked)
    }

    fn settle(&mut self) -> usize {
        let settled = self.worked.device.breathe();
        if settled == 0 {
            self.worked.rest();
        }
        settled
    }

    fn fast_path(&self) -> Option<u64> {
        Some(fast_path_packets(&self.worked.device.router))
    }

    fn drops(&mut self, _: &Rig) -> String {
        discarded(&self.worked.device.router)
    }

    fn witness(&mut self, rig: &Rig) -> Vec<String> {
        let connections = self.worked.device.router.connections().len();
        let mut witness = vec![format!("connection tracking: {connections} connections")];
        let drops = self.drops(rig);
        if drops != "nothing" {
            witness.push(format!("dropped: {drops}"));
        }
        witness
    }
}
