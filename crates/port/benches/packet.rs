//! AF_PACKET's ways, by turns: which is a port's?
//!
//! ```sh
//! cargo bench -p port --bench packet        # as root, ten seconds
//! ```
//!
//! ```text
//!  send     sendmmsg (what a port does)     │ PACKET_TX_RING: frames written into a ring, one send
//!  receive  TPACKET_V2 (what a port does)   │ TPACKET_V3: blocks, handed over when full or in time
//!  alone    how long a single frame takes, by each
//! ```
//!
//! All between the ends of a veth pair, on one thread, 64 frames a batch; a round is 1024 frames,
//! rounds go by turns, medians count. "Sent" is what the sender's thread has had of a processor: the
//! kernel's part, into the receiver's ring, is in it. "Received" is from the ring into a slab.
//! TPACKET_V3 is read here without virtio's header and VLAN tags, which a port looks at.

#[path = "../tests/veth/mod.rs"]
mod veth;

// The two that a port does not use.
#[path = "packet/rings.rs"]
mod rings;

use port::linux::packet::{Options, PacketPort};
use port::{Batch, Pool, Port, Slab};
use rings::{BlockRing, TxRing};
use std::time::Duration;
use veth::Veth;
use wire::Moment;

const ROUND: usize = 1024;
const ROUNDS: usize = 60;
const NOW: Moment = Moment::ZERO;

fn main() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(8192).unwrap();
    let mut pool = slab.pool();
    let open = |place: &port::linux::Namespace, name: &str| {
        place.run(|| PacketPort::open(name, &slab, &Options::default())).unwrap().unwrap()
    };
    let mut sender = open(&pair.a, "va");
    let mut ring = pair.a.run(|| TxRing::open("va", ROUND)).unwrap();
    for len in [60, 512, 1514] {
        let (mut by_call, mut by_ring) = (Vec::new(), Vec::new());
        let (mut v2, mut v3) = (Vec::new(), Vec::new());
        let (mut into_v2, mut into_v3) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            // Nobody listens: what it costs to send.
            match round % 2 {
                0 => by_call.push(send(&mut sender, &mut pool, len)),
                _ => by_ring.push(cpu(|| ring.send(ROUND, len, Batch::CAPACITY))),
            }
            if round % 2 == 0 {
                let mut port = open(&pair.b, "vb");
                into_v2.push(send(&mut sender, &mut pool, len));
                std::thread::sleep(Duration::from_millis(3));
                v2.push(receive(&mut port, &mut pool));
            } else {
                let mut blocks = pair.b.run(|| BlockRing::open("vb")).unwrap();
                into_v3.push(send(&mut sender, &mut pool, len));
                // For the last block to be handed over.
                std::thread::sleep(Duration::from_millis(20));
                v3.push(cpu(|| assert_eq!(blocks.receive_all(&mut pool), ROUND)));
            }
        }
        let lost = sender.counters().tx_drop;
        assert_eq!(lost, 0, "frames that were not sent");
        println!("{len:4} B  send:    sendmmsg {}  TX ring {}", ns(by_call), ns(by_ring));
        println!("{len:4} B  sent to: V2       {}  V3      {}", ns(into_v2), ns(into_v3));
        println!("{len:4} B  receive: V2       {}  V3      {}", ns(v2), ns(v3));
    }
    let mut port = open(&pair.b, "vb");
    let mut blocks = pair.b.run(|| BlockRing::open("vb")).unwrap();
    let (mut v2, mut v3) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let start = port::linux::bpf::clock_ns();
        one(&mut sender, &mut pool);
        while receive_some(&mut port, &mut pool) == 0 {}
        v2.push(port::linux::bpf::clock_ns() - start);
        while blocks.receive_all(&mut pool) == 0 {}
        v3.push(port::linux::bpf::clock_ns() - start);
    }
    println!("alone:   V2 {:9.1} us      V3 {:9.1} us", us(v2), us(v3));
}

/// A round's cost by the port.
fn send(port: &mut PacketPort, pool: &mut Pool, len: usize) -> u64 {
    let mut spent = 0;
    for _ in 0..ROUND / Batch::CAPACITY {
        spent += cpu(|| {
            let mut batch = Batch::new();
            for _ in 0..Batch::CAPACITY {
                let mut frame = pool.alloc(len).unwrap();
                rings::fill(pool.slab().bytes_mut(&mut frame));
                batch.push(frame);
            }
            port.send(NOW, pool, &mut batch);
        });
    }
    spent
}

fn receive(port: &mut PacketPort, pool: &mut Pool) -> u64 {
    let mut received = 0;
    let spent = cpu(|| {
        loop {
            match receive_some(port, pool) {
                0 => break,
                n => received += n,
            }
        }
    });
    assert_eq!(received, ROUND, "{:?}", port.counters());
    spent
}

fn receive_some(port: &mut PacketPort, pool: &mut Pool) -> usize {
    let mut batch = Batch::new();
    let n = port.receive(NOW, pool, &mut batch);
    batch.free_all(pool);
    n
}

fn one(port: &mut PacketPort, pool: &mut Pool) {
    let mut batch = Batch::new();
    let mut frame = pool.alloc(60).unwrap();
    rings::fill(pool.slab().bytes_mut(&mut frame));
    batch.push(frame);
    port.send(NOW, pool, &mut batch);
}

/// What this thread has had of a processor meanwhile, in nanoseconds; software interrupts that run
/// on it are in it.
fn cpu(work: impl FnOnce()) -> u64 {
    fn now() -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is ours; every Linux has this clock.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
    let before = now();
    work();
    now() - before
}

/// The median of rounds, for a frame.
fn ns(rounds: Vec<u64>) -> String {
    format!("{:7.1} ns", median(rounds) / ROUND as f64)
}

fn us(times_ns: Vec<u64>) -> f64 {
    median(times_ns) / 1e3
}

fn median(mut all: Vec<u64>) -> f64 {
    all.sort_unstable();
    all[all.len() / 2] as f64
}
