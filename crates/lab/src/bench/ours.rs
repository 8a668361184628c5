//! The built-in router on AF_XDP ports, in the kernel's place between the same veths.
//!
//! ```text
//!  t0 ═══ d0 ── XDP ─► socket ─► [ router's thread ] ─► socket ─► d1 ═══ t1
//! ```
//!
//! Its frames live in one slab, which both ports share: forwarding moves descriptors. The router's
//! thread runs on the device's processor, only while a trial is on, and polls the device's ends from
//! its own system calls. With the kernel's threads doing that, an overloaded router starved: they
//! filled its receive rings, threw away what came after, and left it a third of the processor.

use super::BenchError;
use super::veth::{DEVICE_ENDS, POLLED, Rig, device_mac, set};
use super::wired::{Cannot, RealPort, Wired, open};
use crate::clock::Clock;
use crate::configuration::Configuration;
use crate::device::{Device, fast_path_packets};
use crate::routes::Table;
use crate::tester::discarded;
use crate::two_cores::Dut;
use port::Slab;
use port::linux::xdp::Options;
use std::sync::Arc;
use wire::Moment;

/// What it is called in results.
pub const DEVICE: &str = "wirespeed on veth";

/// Frames of its slab: the rings of two ports, and what is under way.
const FRAMES: usize = 1 << 14;

/// The router and its ports.
pub struct Ours {
    device: Device<RealPort>,
    _rig: Arc<Rig>,
}

/// Puts a router with a row's script on a rig; returns the script's commands.
///
/// # Errors
/// [`Cannot`].
pub fn set_up(
    rig: &Arc<Rig>,
    clock: Clock,
    row: &Configuration,
    table: Option<&Table>,
) -> Result<(Ours, Vec<String>), Cannot> {
    let slab = Slab::new(FRAMES).map_err(BenchError::Slab)?;
    let options = Options { busy_poll: true, ..Options::default() };
    let (mut ports, mut commands) = (Vec::new(), Vec::new());
    for (i, end) in DEVICE_ENDS.iter().enumerate() {
        commands.push(set(&rig.device, end, &POLLED)?);
        ports.push((device_mac(i), open(&rig.device, end, &slab, &options)?));
    }
    let mut device = Device::with(ports, slab, clock);
    device.load(row.file, row.script).map_err(BenchError::Load)?;
    if let Some(table) = table {
        let ports = ["ether1", "ether2"].map(|name| device.router.program().names.find(name));
        let [Some(a), Some(b)] = ports else { unreachable!("the device has two ports") };
        table.feed(&mut device.router, [a, b]).map_err(BenchError::Routes)?;
    }
    let script = row.script.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    commands.extend(script.map(str::to_string));
    Ok((Ours { device, _rig: rig.clone() }, commands))
}

impl Dut for Device<RealPort> {
    fn breathe(&mut self, now: Moment) -> usize {
        self.router.breathe(now, &mut self.ports)
    }

    fn yields(&self) -> bool {
        true
    }
}

impl Wired for Ours {
    fn name(&self) -> &'static str {
        DEVICE
    }

    fn dut(&mut self) -> Option<&mut dyn Dut> {
        Some(&mut self.device)
    }

    fn settle(&mut self) -> usize {
        self.device.breathe()
    }

    fn fast_path(&self) -> Option<u64> {
        Some(fast_path_packets(&self.device.router))
    }

    fn drops(&mut self) -> String {
        discarded(&self.device.router)
    }

    fn witness(&mut self) -> Vec<String> {
        let connections = self.device.router.connections().len();
        let mut witness = vec![format!("connection tracking: {connections} connections")];
        let drops = self.drops();
        if drops != "nothing" {
            witness.push(format!("dropped: {drops}"));
        }
        witness
    }
}
