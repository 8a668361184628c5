//! The tester: our ends of the wires, introduced to the device.
//!
//! ```text
//! introduce   ARP: who has the router's address? tell host .101, .102 …   ─► the router's MACs,
//!                                                                            known neighbours
//! warm_up     every connection there, back, and there again               ─► hosts, connections
//! trial       one_core, two_cores
//! ```
//!
//! As RFC 2544 §23 asks: what a device learns, it learns before it is measured. During trials the
//! hosts go on asking for the router every few seconds, so they are not forgotten.

use crate::configuration::Traffic;
use crate::device::Device;
use crate::routes::Table;
use crate::traffic::{self, HOSTS, host, router_address, tester_mac};
use measure::stream::BadStream;
use measure::{Load, Receiver, Schedule, Sender, Stream};
use port::memory::MemoryPort;
use port::{Batch, Pool, Port, Slab};
use std::fmt;
use std::time::Duration;
use wire::arp::{ArpMessage, Operation};
use wire::{FrameLen, MacAddr, Moment, craft};

/// How often the hosts say that they are there.
const ANNOUNCE: Duration = Duration::from_secs(5);

/// Our side of a device's first two wires.
pub struct Tester {
    /// The wires in use.
    pub wires: [MemoryPort; 2],
    /// Its stock of frames.
    pub pool: Pool,
    /// The streams from each port, under way.
    pub streams: [Vec<Stream>; 2],
    /// Whether it has hosts that speak ARP.
    speaks_arp: bool,
    announced: Moment,
}

/// The device cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It did not answer ARP on this port (0 or 1).
    NoArp(usize),
    /// No stream can be made.
    Stream(BadStream),
    /// It lost frames of the warm-up, one batch at a time, nothing overloaded.
    Loses {
        /// How many were sent the last time.
        sent: u64,
        /// How many came.
        received: u64,
        /// What the router says it dropped, and why.
        discards: String,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::NoArp(port) => {
                let address = std::net::Ipv4Addr::from(router_address(*port));
                write!(f, "nobody answers ARP for {address} on ether{}", port + 1)
            }
            Unfit::Stream(bad) => write!(f, "no traffic can be made: {bad}"),
            Unfit::Loses { sent, received, discards } => write!(
                f,
                "the device does not forward: of {sent} frames sent one batch at a time, \
                 {received} came back; it dropped {discards}"
            ),
        }
    }
}

impl std::error::Error for Unfit {}

impl Tester {
    /// A tester on these wires that sends nothing yet. `slab` is the device's.
    pub fn new(wires: [MemoryPort; 2], slab: &Slab) -> Tester {
        let (pool, announced) = (slab.pool(), Moment::ZERO);
        Tester { wires, pool, streams: [vec![], vec![]], speaks_arp: false, announced }
    }

    /// Makes the streams of a row, and everything known that they need.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn prepare(
        &mut self,
        device: &mut Device,
        traffic: Traffic,
        table: Option<&Table>,
        frame: FrameLen,
        seed: u64,
    ) -> Result<(), Unfit> {
        self.drain(device);
        self.speaks_arp = traffic != Traffic::Hosts;
        let macs = if self.speaks_arp { self.introduce(device)? } else { [MacAddr::default(); 2] };
        self.streams =
            traffic::streams(traffic, table, frame, seed, macs).map_err(Unfit::Stream)?;
        self.warm_up(device)
    }

    /// Takes away what an earlier trial has left on the wires: the device's core may have been busy
    /// with something else when the trial ended.
    fn drain(&mut self, device: &mut Device) {
        let mut batch = Batch::new();
        loop {
            let moved = device.breathe();
            for wire in &mut self.wires {
                while wire.receive(Moment::ZERO, &mut self.pool, &mut batch) > 0 {
                    batch.free_all(&mut self.pool);
                }
            }
            if moved == 0 {
                return;
            }
        }
    }

    /// The next senders and a receiver for them, from `now` on.
    pub fn begin(
        &mut self,
        now: Moment,
        duration: Duration,
        load: Load,
    ) -> ([Vec<Sender>; 2], Receiver) {
        let receiver = Receiver::new(now, self.streams.iter().flatten());
        let schedule = Schedule { load, start: now, duration };
        let senders = std::mem::take(&mut self.streams)
            .map(|streams| streams.into_iter().map(|s| Sender::new(s, schedule)).collect());
        (senders, receiver)
    }

    /// Takes the streams back after a trial.
    pub fn end(&mut self, senders: [Vec<Sender>; 2]) {
        self.streams = senders.map(|all| all.into_iter().map(Sender::into_stream).collect());
    }

    /// Says that the hosts are there, if it is time to.
    #[inline]
    pub fn announce(&mut self, now: Moment) {
        if self.speaks_arp && now.since(self.announced) >= ANNOUNCE {
            self.ask_all(now);
        }
    }

    /// Every host asks for the router.
    fn ask_all(&mut self, now: Moment) {
        self.announced = now;
        for port in 0..2 {
            let mut batch = Batch::new();
            for n in 0..HOSTS {
                let request =
                    ArpMessage::request(tester_mac(port), host(port, n), router_address(port));
                let bytes = craft::arp(request).build();
                if let Some(mut frame) = self.pool.alloc(bytes.len()) {
                    self.pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
                    batch.push(frame);
                }
            }
            self.wires[port].send(now, &mut self.pool, &mut batch);
        }
    }

    /// Learns the router's MAC addresses, and makes the hosts known to it.
    fn introduce(&mut self, device: &mut Device) -> Result<[MacAddr; 2], Unfit> {
        self.ask_all(device.clock.now());
        device.breathe();
        let mut macs = [None; 2];
        let mut batch = Batch::new();
        for (port, mac) in macs.iter_mut().enumerate() {
            while self.wires[port].receive(Moment::ZERO, &mut self.pool, &mut batch) > 0 {
                for frame in batch.as_slice() {
                    let bytes = self.pool.slab().bytes(frame);
                    let arp = bytes.get(14..).and_then(|bytes| wire::Arp::new(bytes).ok());
                    let Some(reply) = arp.map(|arp| arp.message()) else { continue };
                    if reply.operation == Operation::Reply
                        && reply.sender_ip == router_address(port)
                    {
                        *mac = Some(reply.sender_mac);
                    }
                }
                batch.free_all(&mut self.pool);
            }
        }
        match macs {
            [Some(a), Some(b)] => Ok([a, b]),
            [None, _] => Err(Unfit::NoArp(0)),
            [_, None] => Err(Unfit::NoArp(1)),
        }
    }

    /// Everything is sent three times, there and back, a batch at a time; the last time nothing
    /// may be lost.
    fn warm_up(&mut self, device: &mut Device) -> Result<(), Unfit> {
        const ROUNDS: usize = 3;
        for round in 1..=ROUNDS {
            let (sent, received) = self.round(device);
            if round == ROUNDS && sent != received {
                let discards = format!("{:?}", device.router.discards());
                return Err(Unfit::Loses { sent, received, discards });
            }
        }
        Ok(())
    }

    fn round(&mut self, device: &mut Device) -> (u64, u64) {
        /// All flows of a stream of 5,000, rounded up to batches; enough for 500 hosts, too.
        const BATCHES: usize = 79;
        let now = device.clock.now();
        let (mut senders, mut receiver) = self.begin(now, Duration::MAX, Load::FullSpeed);
        let mut batch = Batch::new();
        for (port, senders) in senders.iter_mut().enumerate() {
            for sender in senders {
                for _ in 0..BATCHES {
                    let now = device.clock.now();
                    sender.fill(now, &mut self.pool, &mut batch);
                    self.wires[port].send(now, &mut self.pool, &mut batch);
                    device.breathe();
                    self.receive(device.clock.now(), &mut receiver);
                }
            }
        }
        let sent = senders.iter().flatten().map(|sender| sender.sent().offered).sum();
        self.end(senders);
        (sent, receiver.total().received)
    }

    /// Receives all that waits.
    pub fn receive(&mut self, now: Moment, receiver: &mut Receiver) {
        for wire in &mut self.wires {
            while receiver.poll(now, &mut self.pool, wire) > 0 {}
        }
    }
}
