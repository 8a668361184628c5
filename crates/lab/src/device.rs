//! A router: its console, its ports; in memory, our ends of the wires, too.
//!
//! ```text
//!  script ─► console ─► Tree ─► [ router ] ─ ports ══ wires ─► the tester
//! ```
//!
//! A script that fails changes nothing, and its error names the file, the line and the column.

use crate::clock::Clock;
use crate::routes::Table;
use config::{Interpreter, Tree};
use measure::Family;
use port::memory::{self, MemoryPort};
use port::slab::{SlabError, Slots};
use port::{Capabilities, Port, Slab};
use router::ip::route::TooManyTargets;
use router::{MENUS, PortInfo, Router};
use std::{fmt, mem};
use wire::{MacAddr, Moment};

/// A router with `ether1`, `ether2` … and, as a rule, memory wires in them.
pub struct Device<P = MemoryPort> {
    /// The router.
    pub router: Router,
    /// Its ends of the wires, in the order of its ports.
    pub ports: Vec<P>,
    /// Its time.
    pub clock: Clock,
    slab: Slab,
    console: Interpreter,
    /// A second router behind the first: its `ether1` is the second of `ports`, and both `ether2` are one
    /// wire, whose ends are its `ports` here.
    far: Option<Box<Device<P>>>,
}

/// The frames a receive ring of the device holds: as a network card's, and more than a chunk of a
/// one-core run puts on a wire.
const RING: usize = 1024;

/// And one of the tester's: all that the device's rings hold, and as much again. While the system
/// takes the tester's processor away, nothing is lost but load.
const fn tester_ring(ports: usize) -> usize {
    2 * ports * RING
}

/// A script was refused.
#[derive(Debug)]
pub struct LoadError {
    /// The script's file.
    pub file: String,
    /// Where and why.
    pub error: config::Error,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config::At { line, column } = self.error.at;
        write!(f, "{}:{line}:{column}: {}", self.file, self.error)
    }
}

impl std::error::Error for LoadError {}

impl Device {
    /// A device with `n` ports (at least one) and no configuration, and the other ends of its
    /// wires.
    ///
    /// # Errors
    /// No slab could be made.
    pub fn new(n: usize) -> Result<(Device, Vec<MemoryPort>), SlabError> {
        Device::with_slots(n, Slots::STANDARD)
    }

    /// The same with other slots for frames.
    ///
    /// # Errors
    /// No slab could be made.
    pub fn with_slots(n: usize, slots: Slots) -> Result<(Device, Vec<MemoryPort>), SlabError> {
        // Full rings in both directions, and what pools, batches and queues hold.
        let slab = Slab::with((n * (RING + tester_ring(n)) + 2048).min(1 << 16), slots)?;
        let (ports, wires): (Vec<_>, _) =
            (0..n).map(|_| memory::wire_between(RING, tester_ring(n))).unzip();
        let ports = ports.into_iter().enumerate().map(|(i, port)| (port_mac(i + 1), port));
        Ok((Device::with(ports, slab, Clock::start()), wires))
    }

    /// Two devices, one behind the other: what comes by the first wire goes through both
    /// to the second.
    ///
    /// # Errors
    /// No slab could be made.
    pub fn chained(slots: Slots) -> Result<(Device, Vec<MemoryPort>), SlabError> {
        let (mut near, wires) = Device::with_slots(2, slots)?;
        let (a, b) = memory::wire_between(RING, RING);
        let mac = |i| MacAddr([0x02, 0, 0, 0, 1, i]);
        let far = Device::with([(mac(1), a), (mac(2), b)], near.slab.clone(), near.clock);
        near.far = Some(Box::new(far));
        Ok((near, wires))
    }
}

impl<P: Port> Device<P> {
    /// A device with these ports and their MAC addresses, and no configuration. All frames are of
    /// the slab.
    pub fn with(
        ports: impl IntoIterator<Item = (MacAddr, P)>,
        slab: Slab,
        clock: Clock,
    ) -> Device<P> {
        let max_frame = slab.slots().max_frame() as u16;
        let (infos, ports): (Vec<_>, Vec<_>) = ports
            .into_iter()
            .enumerate()
            .map(|(i, (mac, port))| {
                let name = format!("ether{}", i + 1);
                let capabilities = Capabilities { max_frame, ..port.capabilities() };
                (PortInfo { name, mac, capabilities }, port)
            })
            .unzip();
        let router = Router::new(infos, &slab);
        let mut console = Interpreter::new(MENUS.to_vec());
        *console.tree_mut() = router.factory_tree();
        Device { router, ports, clock, slab, console, far: None }
    }

    /// Runs a script on the console, takes the configuration over, and returns what it printed.
    ///
    /// # Errors
    /// [`LoadError`]; the configuration is then what it was.
    pub fn load(&mut self, file: &str, script: &str) -> Result<String, LoadError> {
        let failed = |error| LoadError { file: file.to_string(), error };
        let before = self.console.clone();
        let now = self.clock.now();
        let output = self.console.run(script, &self.router.status(now)).map_err(failed)?;
        if let Err(error) = self.router.configure(self.console.tree(), now) {
            self.console = before;
            return Err(failed(config::Error {
                text: error.to_string(),
                at: config::At::default(),
                source: String::new(),
                help: String::new(),
            }));
        }
        Ok(output.text)
    }

    /// Gives it the routes of a full table of a family, by `ether1` and `ether2`.
    ///
    /// # Errors
    /// They do not fit.
    ///
    /// # Panics
    /// Of a device with one port.
    pub fn feed(&mut self, family: Family, table: &Table) -> Result<(), TooManyTargets> {
        let ports = ["ether1", "ether2"].map(|name| self.router.program().names.find(name));
        let [Some(a), Some(b)] = ports else { panic!("a full table is for two ports") };
        table.feed(family, &mut self.router, [a, b])?;
        if family == Family::Ipv6 {
            let again = self.router.configure(self.console.tree(), self.clock.now());
            again.expect("a configuration that was taken, and few next hops");
        }
        Ok(())
    }

    /// The configuration.
    pub fn tree(&self) -> &Tree {
        self.console.tree()
    }

    /// The slab all its frames come from.
    pub fn slab(&self) -> &Slab {
        &self.slab
    }

    /// The device behind it, of two.
    pub fn far(&mut self) -> Option<&mut Device<P>> {
        self.far.as_deref_mut()
    }

    /// Lets the router, or both, breathe once; returns how many frames came in.
    #[inline]
    pub fn breathe_once(&mut self, now: Moment) -> usize {
        let Some(far) = &mut self.far else { return self.router.breathe(now, &mut self.ports) };
        mem::swap(&mut self.ports[1], &mut far.ports[0]);
        let n = self.router.breathe(now, &mut self.ports) + far.router.breathe(now, &mut far.ports);
        mem::swap(&mut self.ports[1], &mut far.ports[0]);
        n
    }

    /// Frames that left so far by the ports toward the tester, as [`left()`] counts them.
    pub fn left(&self) -> u64 {
        let outer = |router: &Router| {
            let first = router.program().ports.first();
            first.map_or(0, |&id| router.interface_counts(id).tx.packets)
        };
        match &self.far {
            Some(far) => outer(&self.router) + outer(&far.router),
            None => left(&self.router),
        }
    }

    /// Frames spared the slow path so far, as [`fast_path_packets`] counts them; of two routers the mean.
    pub fn fast_path_packets(&self) -> u64 {
        let near = fast_path_packets(&self.router);
        self.far.as_ref().map_or(near, |far| (near + fast_path_packets(&far.router)) / 2)
    }

    /// Lets it breathe until nothing more comes in; returns how many frames did.
    pub fn breathe(&mut self) -> usize {
        let mut received = 0;
        loop {
            match self.breathe_once(self.clock.now()) {
                0 => return received,
                n => received += n,
            }
        }
    }
}

/// A router with `n` ports, and the ports' addresses that all routers here have.
pub(crate) fn router(n: usize, slab: &Slab) -> Router {
    let max_frame = slab.slots().max_frame() as u16;
    let infos = (1..=n).map(|i| PortInfo {
        name: format!("ether{i}"),
        mac: port_mac(i),
        capabilities: Capabilities { max_frame, ..Capabilities::default() },
    });
    Router::new(infos.collect(), slab)
}

/// What a script makes of a router's configuration.
///
/// # Errors
/// It is refused: where, and why.
pub(crate) fn typed(router: &mut Router, script: &str) -> Result<Tree, config::Error> {
    let mut console = Interpreter::new(MENUS.to_vec());
    *console.tree_mut() = router.factory_tree();
    console.run(script, &router.status(Moment::ZERO))?;
    Ok(console.tree().clone())
}

/// The configuration that a script makes of a router of as many ports as any here has, and that of one of
/// which nobody typed anything.
///
/// # Errors
/// It is refused: where, and why.
pub(crate) fn configured(script: &str) -> Result<(Tree, Tree), config::Error> {
    let slab = Slab::new(64).expect("room for a few frames");
    let mut router = router(16, &slab);
    typed(&mut router, script).map(|tree| (tree, router.factory_tree()))
}

/// What a router dropped, and why: `nothing`, or `3 packets: no route; …`.
pub fn discarded(router: &Router) -> String {
    let reasons = router.discards().iter();
    let reasons: Vec<String> = reasons.map(|(why, n)| format!("{n} packets: {why:?}")).collect();
    if reasons.is_empty() { "nothing".to_string() } else { reasons.join("; ") }
}

/// Frames the slow path was spared so far: FastPath (routed or bridged), and recipes (FastTrack
/// among them).
pub fn fast_path_packets(router: &Router) -> u64 {
    let paths = router.path_counts();
    let routed = paths.ipv4_fast_path.packets + paths.ipv6_fast_path.packets;
    routed + paths.bridge_fast_path.packets + paths.replayed
}

/// Frames that left a router by its ports so far, by its own counters (`/interface print stats`); what
/// the wires did not take is among them.
pub fn left(router: &Router) -> u64 {
    let ports = router.program().ports.iter();
    ports.map(|&id| router.interface_counts(id).tx.packets).sum()
}

/// Frames that came to these ends of memory wires so far: taken out, lost for want of room, or waiting.
pub fn came(wires: &[MemoryPort]) -> u64 {
    let came = |wire: &MemoryPort| {
        let counters = wire.counters();
        counters.rx_packet + counters.rx_drop + wire.waiting() as u64
    };
    wires.iter().map(came).sum()
}

/// The MAC address of ether`i`.
pub(crate) fn port_mac(i: usize) -> MacAddr {
    MacAddr([0x02, 0, 0, 0, 0, i as u8])
}
