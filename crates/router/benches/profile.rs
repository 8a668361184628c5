//! Cost of a running `/tool profile`: the same traffic with it and without, in turns of one run.
//!
//! ```text
//! off ─ on ─ off ─ on …   ns/packet of each, the median of many turns
//! ```

use config::{Call, Interpreter, Started};
use port::memory::{self, MemoryPort};
use port::{Batch, Pool, Port, Slab};
use router::{COMMANDS, MENUS, PortInfo, Router};
use std::time::Instant;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::{MacAddr, Moment};

/// Frames on the wire at a time, and turns of so many times.
const CHUNK: usize = 1024;
const TIMES: usize = 100;
const TURNS: usize = 60;

struct Device {
    router: Router,
    ports: Vec<MemoryPort>,
    wires: Vec<MemoryPort>,
    slab: Slab,
    pool: Pool,
}

fn mac(n: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, n])
}

impl Device {
    fn new(script: &str) -> Device {
        let slab = Slab::new(4 * CHUNK).expect("memory");
        let port = |n| PortInfo {
            name: format!("ether{n}"),
            mac: mac(n),
            capabilities: Default::default(),
        };
        let mut router = Router::new((1..=2).map(port).collect(), &slab);
        router.set_profiler(port::cycles::NOW);
        let mut console = Interpreter::new(MENUS.to_vec());
        *console.tree_mut() = router.factory_tree();
        let nets = "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
                    add address=10.0.2.254/24 interface=ether2\n";
        console.run(&format!("{nets}{script}"), &()).unwrap_or_else(|error| panic!("{error}"));
        router.configure(console.tree(), Moment::ZERO).expect("few gateways");
        let (ports, wires) = (0..2).map(|_| memory::wire(2 * CHUNK)).unzip();
        let pool = slab.pool();
        let mut device = Device { router, ports, wires, slab, pool };
        for n in 1..=2u8 {
            let host = ArpMessage::request(mac(10 + n), ip(10, 0, n, 1), ip(10, 0, n, 254));
            device.pass(&craft::arp(host).build(), usize::from(n) - 1, 1);
        }
        device
    }

    /// Sends a frame so often; returns how long the router took, in ns.
    #[allow(clippy::disallowed_methods)] // this is the edge
    fn pass(&mut self, bytes: &[u8], port: usize, times: usize) -> u128 {
        let mut batch = Batch::new();
        for _ in 0..times {
            let mut frame = self.pool.alloc(bytes.len()).expect("a frame");
            self.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
            batch.push(frame);
            if batch.room() == 0 {
                self.wires[port].send(Moment::ZERO, &mut self.pool, &mut batch);
            }
        }
        self.wires[port].send(Moment::ZERO, &mut self.pool, &mut batch);
        let start = Instant::now();
        while self.router.breathe(Moment::ZERO, &mut self.ports) > 0 {}
        let took = start.elapsed().as_nanos();
        for wire in &mut self.wires {
            while wire.receive(Moment::ZERO, &mut self.pool, &mut batch) > 0 {
                batch.free_all(&mut self.pool);
            }
        }
        took
    }
}

fn median(mut all: Vec<u128>) -> f64 {
    all.sort_unstable();
    all[all.len() / 2] as f64 / (CHUNK * TIMES) as f64
}

#[allow(clippy::print_stdout)]
fn main() {
    let rules = (0..25).map(|n| format!("add chain=forward src-address=172.16.{n}.0/24\n"));
    let rules = rules.fold("/ip firewall filter\n".to_owned(), |all, rule| all + &rule);
    let command = COMMANDS.iter().find(|command| command.name == "profile").expect("it");
    let call = Call { command, items: None, arguments: Default::default() };
    for (name, script) in [("fast path", ""), ("25 rules", &rules)] {
        let mut device = Device::new(script);
        let udp = craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 7);
        let frame = craft::Frame { src_mac: mac(11), dst_mac: mac(1), ..udp }.build();
        let (mut off, mut on) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            off.push((0..TIMES).map(|_| device.pass(&frame, 0, CHUNK)).sum());
            let started = device.router.start(&call, &Default::default(), Moment::ZERO);
            let Ok(Started::Job(mut job)) = started else { panic!("no profile here") };
            on.push((0..TIMES).map(|_| device.pass(&frame, 0, CHUNK)).sum());
            job.stop(&mut device.router, Moment::ZERO);
        }
        let (off, on) = (median(off), median(on));
        let cost = (on / off - 1.0) * 100.0;
        println!("{name}: {off:.2} ns/packet, {on:.2} profiled: {cost:+.2} %");
    }
}
