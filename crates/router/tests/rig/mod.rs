//! A router on a bench: a script for its configuration, a wire in every port, a clock of our own.
//!
//! ```text
//!   send(port, frame) ══ wire ══► [ router ] ══ wire ══► take(port)
//! ```

#![allow(dead_code)] // each test file uses its part

mod state;

use config::{Interpreter, Started};
use port::memory::{self, MemoryPort};
use port::{Batch, Capabilities, Pool, Port, Slab};
use router::interface::InterfaceId;
use router::{COMMANDS, MENUS, PortInfo, Router};
use std::time::Duration;
use wire::arp::{ArpMessage, Operation};
use wire::{MacAddr, Moment, Offload, craft};

/// A router with `ether1`, `ether2` … and our ends of the wires.
pub(crate) struct Rig {
    pub(crate) router: Router,
    pub(crate) console: Interpreter,
    pub(crate) now: Moment,
    ports: Vec<MemoryPort>,
    wires: Vec<MemoryPort>,
    slab: Slab,
    pool: Pool,
    /// Frames that earlier users of the slab took with them.
    lost: usize,
}

/// The router's MAC address on a port (from 1).
pub(crate) fn own_mac(port: u8) -> MacAddr {
    MacAddr([0x02, 0, 0, 0, 0, port])
}

/// A MAC address of ours.
pub(crate) fn mac(n: u8) -> MacAddr {
    MacAddr([0x06, 0, 0, 0, 0, n])
}

impl Rig {
    /// `n` ports and a configuration.
    pub(crate) fn new(n: u8, script: &str) -> Rig {
        let mut rig = Rig::with_ports(&vec![Capabilities::default(); n.into()]);
        rig.run(script);
        if script.contains("/ipv6 ") {
            rig.settle();
        }
        rig
    }

    /// Lets pass what is said when addresses are new: duplicates are looked for, groups joined.
    fn settle(&mut self) {
        self.wait(Duration::from_secs(4));
        (1..=self.n_ports()).for_each(|port| drop(self.take(port)));
    }

    /// A port for each of `capabilities`, and no configuration.
    pub(crate) fn with_ports(capabilities: &[Capabilities]) -> Rig {
        Rig::with_slab(&Slab::new(4096).unwrap(), capabilities)
    }

    /// The same, with frames of this slab: there cannot be more than 256 of them.
    pub(crate) fn with_slab(slab: &Slab, capabilities: &[Capabilities]) -> Rig {
        let infos = (1..).zip(capabilities).map(|(i, &capabilities)| PortInfo {
            name: format!("ether{i}"),
            mac: own_mac(i),
            capabilities,
        });
        Rig::of(slab, infos.collect())
    }

    /// Ports with other names.
    pub(crate) fn with_names(names: &[&str]) -> Rig {
        let infos = (1..).zip(names).map(|(i, name)| PortInfo {
            name: name.to_string(),
            mac: own_mac(i),
            capabilities: Capabilities::default(),
        });
        Rig::of(&Slab::new(4096).unwrap(), infos.collect())
    }

    fn of(slab: &Slab, infos: Vec<PortInfo>) -> Rig {
        let slab = slab.clone();
        let (lost, n) = (slab.frames_out(), infos.len());
        let router = Router::new(infos, &slab);
        let (ports, wires) = (0..n).map(|_| memory::wire(1024)).unzip();
        let console = Interpreter::new(MENUS.to_vec()).with_commands(COMMANDS);
        let mut console = console.with_versions(router::version::translate);
        *console.tree_mut() = router.factory_tree();
        let pool = slab.pool();
        Rig { router, console, now: Moment::ZERO, ports, wires, slab, pool, lost }
    }

    /// Runs a script on the console and takes the configuration over.
    pub(crate) fn run(&mut self, script: &str) -> String {
        match self.try_run(script) {
            Ok(text) => text,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same, for scripts that are refused.
    pub(crate) fn try_run(&mut self, script: &str) -> Result<String, config::Error> {
        let output = self.console.run(script, &self.router.status(self.now))?;
        self.router.configure(self.console.tree(), self.now).unwrap();
        for call in &output.calls {
            let done = self.router.start(call, self.console.tree(), self.now);
            assert!(
                matches!(done, Ok(Started::Done(_))),
                "{}: {:?}",
                call.command.name,
                done.err()
            );
        }
        Ok(output.text)
    }

    /// Puts a frame on the wire of a port (from 1).
    pub(crate) fn send(&mut self, port: usize, bytes: &[u8]) {
        self.send_unfinished(port, bytes, None);
    }

    /// The same with a note of what is left to do to it.
    pub(crate) fn send_unfinished(&mut self, port: usize, bytes: &[u8], rest: Option<Offload>) {
        let mut frame = self.pool.alloc(bytes.len()).expect("a frame");
        self.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
        if let Some(offload) = rest {
            self.slab.set_offload(&mut frame, offload);
        }
        let mut batch = Batch::new();
        batch.push(frame);
        self.wires[port - 1].send(self.now, &mut self.pool, &mut batch);
    }

    /// Lets the router breathe until nothing more comes in.
    pub(crate) fn breathe(&mut self) {
        while self.router.breathe(self.now, &mut self.ports) > 0 {}
    }

    /// Lets time pass in steps of at most 100 ms.
    pub(crate) fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = (self.now + Duration::from_millis(100)).min(end);
            self.breathe();
        }
    }

    /// Takes what the router has sent out of a port (from 1).
    pub(crate) fn take(&mut self, port: usize) -> Vec<Vec<u8>> {
        self.take_unfinished(port).into_iter().map(|(bytes, _)| bytes).collect()
    }

    /// The same, with what is left to do to each.
    pub(crate) fn take_unfinished(&mut self, port: usize) -> Vec<(Vec<u8>, Option<Offload>)> {
        let mut taken = Vec::new();
        let mut batch = Batch::new();
        while self.wires[port - 1].receive(self.now, &mut self.pool, &mut batch) > 0 {
            let frames = batch.as_slice().iter();
            taken.extend(frames.map(|f| (self.slab.bytes(f).to_vec(), self.slab.offload(f))));
            batch.free_all(&mut self.pool);
        }
        taken
    }

    /// Sends a frame, lets the router breathe, and takes what came out, as (port, frame).
    pub(crate) fn pass(&mut self, port: usize, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
        self.send(port, bytes);
        self.breathe();
        (1..=self.wires.len())
            .flat_map(|port| self.take(port).into_iter().map(move |frame| (port, frame)))
            .collect()
    }

    /// Introduces a neighbour: an ARP request from it, as a host does that wants to talk.
    pub(crate) fn introduce(&mut self, port: usize, mac: MacAddr, ip: u32, router_ip: u32) {
        let out = self.pass(port, &craft::arp(ArpMessage::request(mac, ip, router_ip)).build());
        let replied = out.iter().any(|(to, frame)| {
            let arp = wire::Arp::new(&frame[14..]).map(|arp| arp.message());
            *to == port && arp.is_ok_and(|arp| arp.operation == Operation::Reply)
        });
        assert!(replied, "no ARP reply, but {out:02x?}");
    }

    /// The number of ether`n`.
    pub(crate) fn ether(&self, n: u8) -> InterfaceId {
        self.router.program().names.find(&format!("ether{n}")).expect("the port")
    }

    /// How many frames are in somebody's hands: with all wires empty, the router's.
    pub(crate) fn frames_in_use(&self) -> usize {
        self.slab.frames_out() - self.lost - self.pool.stock() - self.router.frames_in_pool()
    }

    /// How many ports there are.
    pub(crate) fn n_ports(&self) -> usize {
        self.wires.len()
    }
}
