//! A router of two ports in memory, and wires to both: what benches send frames through.

use config::{Interpreter, Tree};
use port::memory::{self, MemoryPort};
use port::{Batch, Pool, Port, Slab};
use router::{MENUS, PortInfo, Router};
use std::hint::black_box;
use std::time::{Duration, Instant};
use wire::arp::ArpMessage;
use wire::craft;
use wire::{MacAddr, Moment};

/// Frames that pass between two looks at the clock, which cost some 50 ns together.
pub(crate) const CHUNK: usize = 1024;

pub(crate) struct Device {
    pub(crate) router: Router,
    pub(crate) ports: Vec<MemoryPort>,
    pub(crate) wires: Vec<MemoryPort>,
    pub(crate) slab: Slab,
    pub(crate) pool: Pool,
    pub(crate) now: Moment,
    /// Of the frames on each side.
    pub(crate) tags: [&'static [u16]; 2],
}

pub(crate) fn own_mac(port: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, port])
}

/// The configuration that a script makes of a new router's.
pub(crate) fn tree_of(router: &Router, script: &str) -> Tree {
    let mut console = Interpreter::new(MENUS.to_vec());
    *console.tree_mut() = router.factory_tree();
    if let Err(error) = console.run(script, &()) {
        panic!("{error}");
    }
    console.tree().clone()
}

impl Device {
    pub(crate) fn new(script: &str) -> Device {
        Device::with_frames(script, 4 * CHUNK)
    }

    /// With memory for so many frames.
    pub(crate) fn with_frames(script: &str, frames: usize) -> Device {
        let slab = Slab::new(frames).expect("memory");
        let infos = (1..=2).map(|n| PortInfo {
            name: format!("ether{n}"),
            mac: own_mac(n),
            capabilities: Default::default(),
        });
        let mut router = Router::new(infos.collect(), &slab);
        let tree = tree_of(&router, script);
        router.configure(&tree, Moment::ZERO).expect("few gateways");
        let (ports, wires) = (0..2).map(|_| memory::wire(2 * CHUNK)).unzip();
        let pool = slab.pool();
        Device { router, ports, wires, slab, pool, now: Moment::ZERO, tags: [&[], &[]] }
    }

    pub(crate) fn send(&mut self, port: usize, frames: &[Vec<u8>]) {
        let mut batch = Batch::new();
        for bytes in frames {
            let mut frame = self.pool.alloc(bytes.len()).expect("a frame");
            self.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
            batch.push(frame);
            if batch.room() == 0 {
                self.wires[port].send(self.now, &mut self.pool, &mut batch);
            }
        }
        self.wires[port].send(self.now, &mut self.pool, &mut batch);
    }

    /// Lets the router work until all is done; returns how long it took.
    #[allow(clippy::disallowed_methods)] // this is the edge
    pub(crate) fn breathe(&mut self) -> Duration {
        self.now = self.now + Duration::from_micros(20);
        let start = Instant::now();
        while self.router.breathe(self.now, &mut self.ports) > 0 {}
        start.elapsed()
    }

    pub(crate) fn drain(&mut self) -> usize {
        let mut n = 0;
        let mut batch = Batch::new();
        for wire in &mut self.wires {
            while wire.receive(self.now, &mut self.pool, &mut batch) > 0 {
                n += batch.len();
                black_box(batch.as_slice());
                batch.free_all(&mut self.pool);
            }
        }
        n
    }

    pub(crate) fn introduce(&mut self, port: usize, mac: MacAddr, ip: u32, router_ip: u32) {
        let request = craft::arp(ArpMessage::request(mac, ip, router_ip)).build();
        self.send(port, &[with_tags(&request, self.tags[port])]);
        self.breathe();
        self.drain();
    }
}

/// A frame with these tags, the outer first; the outer of two is a service tag.
pub(crate) fn with_tags(frame: &[u8], tags: &[u16]) -> Vec<u8> {
    let mut bytes = frame[..12].to_vec();
    for (n, tag) in tags.iter().enumerate() {
        let service = n == 0 && tags.len() == 2;
        bytes.extend(if service { [0x88, 0xa8] } else { [0x81, 0x00] });
        bytes.extend(tag.to_be_bytes());
    }
    [&bytes, &frame[12..]].concat()
}
