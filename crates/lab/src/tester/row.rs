//! The tester of a row of the table: its streams, and a device that knows them.
//!
//! ```text
//! introduce   every host asks for its gateway        ─► the gateways' MACs, known neighbours
//! warm_up     every connection there, back, and there again  ─► hosts, connections
//! trial       one_core, two_cores
//! ```
//!
//! What is behind the wires is a [`Behind`]: a router in memory, which does what it was sent when it is let, or
//! something that works by itself and takes its time.
//!
//! As RFC 2544 §23 asks: what a device learns, it learns before it is measured.

use super::{Subnet, Task, Tester};
use crate::clock::Clock;
use crate::configuration::Traffic;
use crate::device::{Device, discarded};
use crate::net::Net;
use crate::routes::Table;
use crate::traffic;
use crate::ways::{self, Between, Way};
use measure::stream::BadStream;
use measure::{Load, Schedule, Sender, Stream};
use port::{MemoryPort, Port, Slab};
use std::fmt;
use std::time::Duration;
use wire::{FrameLen, MacAddr, Moment};

/// A device may be so many times slower than its patience says before frames are called lost.
const SLOWEST: u32 = 8;

/// What is behind the wires, as the tester sees it.
pub trait Behind {
    /// The clock of the run.
    fn clock(&self) -> Clock;

    /// Lets it do what it was sent; returns how many frames it took.
    fn settle(&mut self) -> usize;

    /// How long frames may take through it. Nothing: all have come when [`settle`](Self::settle)
    /// returns.
    fn patience(&self) -> Duration;

    /// Where frames to be routed go, of what does not say so itself by ARP or neighbour discovery.
    fn macs(&self) -> Option<[MacAddr; 2]> {
        None
    }

    /// What it says it dropped, and why.
    fn drops(&mut self) -> String;
}

impl<P: Port> Behind for Device<P> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn settle(&mut self) -> usize {
        self.breathe()
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    fn drops(&mut self) -> String {
        discarded(&self.router)
    }
}

/// A tester on a device's first two wires, with the streams of a row.
pub struct RowTester<P = MemoryPort> {
    /// Our ends of the wires.
    pub tester: Tester<P>,
    /// The streams from each port.
    pub streams: [Vec<Stream>; 2],
    /// Its hosts, and whom they send to.
    pub net: Net,
    /// What the wires are called, where somebody has to find them.
    pub names: [String; 2],
    /// Where routed frames go: known once it is prepared.
    pub gateway_macs: [MacAddr; 2],
    /// Whether a device that loses some of the warm-up is measured all the same.
    pub bears_loss: bool,
}

/// The device cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It did not answer ARP, or neighbour discovery: where, and asked for which address.
    NoAnswer(String),
    /// No stream can be made.
    Stream(BadStream),
    /// It forwards nothing, or nothing one way: which, and where to look.
    Silent(String),
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
            Unfit::NoAnswer(why) | Unfit::Silent(why) => f.write_str(why),
            Unfit::Stream(bad) => write!(f, "no traffic can be made: {bad}"),
            Unfit::Loses { sent, received, discards } => write!(
                f,
                "loses frames one batch at a time: of {sent} frames, {received} came back; it \
                 dropped {discards}"
            ),
        }
    }
}

impl Unfit {
    /// Whether it forwards all the same: other rows may be had of it.
    pub fn forwards(&self) -> bool {
        matches!(self, Unfit::Loses { .. })
    }
}

impl std::error::Error for Unfit {}

impl<P: Port> RowTester<P> {
    /// A tester on these wires that sends nothing yet. `slab` is where the wires' frames live.
    pub fn new(wires: [P; 2], slab: &Slab) -> RowTester<P> {
        RowTester {
            tester: Tester::new(wires.into(), slab, vec![]),
            streams: [vec![], vec![]],
            net: Net::default(),
            names: ["port 1", "port 2"].map(str::to_string),
            gateway_macs: [MacAddr::default(); 2],
            bears_loss: false,
        }
    }

    /// Makes the streams of a row, and everything known that they need.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn prepare(
        &mut self,
        device: &mut impl Behind,
        traffic: Traffic,
        table: Option<&Table>,
        frame: FrameLen,
        seed: u64,
    ) -> Result<(), Unfit> {
        self.drain(device);
        let told = device.macs();
        let has_hosts = traffic != Traffic::Hosts && told.is_none();
        self.tester.move_in(if has_hosts { Subnet::of(&self.net) } else { vec![] });
        self.gateway_macs = match told {
            Some(macs) => macs,
            None if has_hosts => self.introduce(device)?,
            None => [MacAddr::default(); 2],
        };
        let macs = self.gateway_macs;
        self.streams = traffic::streams(traffic, &self.net, table, frame, seed, macs)
            .map_err(Unfit::Stream)?;
        self.warm_up(device)
    }

    /// A task for the streams, until it is [ended](Self::end).
    pub fn task(&mut self, start: Moment, duration: Duration, load: Load) -> Task {
        let schedule = Schedule { load, start, duration };
        let senders = std::mem::take(&mut self.streams)
            .map(|streams| streams.into_iter().map(|s| Sender::new(s, schedule)).collect());
        let mut task = Task::new(start, senders.into());
        self.tester.begin(&mut task);
        task
    }

    /// Takes the streams back after a trial.
    ///
    /// # Panics
    /// If the task has other ports than the tester's.
    pub fn end(&mut self, task: Task) {
        let streams = task
            .senders
            .into_iter()
            .map(|all: Vec<Sender>| all.into_iter().map(Sender::into_stream).collect());
        let streams: Vec<Vec<Stream>> = streams.collect();
        self.streams = streams.try_into().expect("two ports");
    }

    /// Takes away what an earlier trial has left on the wires: the device's core may have been busy
    /// with something else when the trial ended.
    fn drain(&mut self, device: &mut impl Behind) {
        let mut last = device.clock().now();
        let mut nothing = Task::new(last, vec![]);
        loop {
            let mut moved = device.settle();
            let now = device.clock().now();
            moved += self.tester.receive(now, &mut nothing);
            if moved > 0 {
                last = now;
            } else if now.since(last) >= device.patience() {
                return;
            }
        }
    }

    /// Learns the gateways' MAC addresses, and makes the hosts known to them.
    fn introduce(&mut self, device: &mut impl Behind) -> Result<[MacAddr; 2], Unfit> {
        /// How often they are asked.
        const TIMES: usize = 5;
        let mut nothing = Task::new(device.clock().now(), vec![]);
        for _ in 0..TIMES {
            let asked = device.clock().now();
            self.tester.announce(asked);
            loop {
                device.settle();
                let now = device.clock().now();
                self.tester.receive(now, &mut nothing);
                let known = self.tester.sides().into_iter().filter_map(|side| side.mac);
                if let Ok(macs) = <[MacAddr; 2]>::try_from(known.collect::<Vec<_>>()) {
                    self.tester.announce(now); // with what is known now
                    return Ok(macs);
                }
                if now.since(asked) >= device.patience() {
                    break;
                }
            }
            if device.patience().is_zero() {
                break;
            }
        }
        let silent = self.tester.unanswered(|port| self.names[port].clone());
        Err(Unfit::NoAnswer(silent.unwrap_or_default()))
    }

    /// Everything is sent three times, there and back, a batch at a time; the last time nothing
    /// may be lost, unless that is known and borne. On real wires, on a machine that does other things as well, a ring may run over
    /// even so: then it is sent a few times more, and a device whose frames came late is given
    /// longer each time. One that has let nothing through by then, in whichever direction, never will.
    fn warm_up(&mut self, device: &mut impl Behind) -> Result<(), Unfit> {
        const ROUNDS: usize = 3;
        const MORE: usize = 6;
        let once = device.patience().is_zero() || self.bears_loss;
        let most = if once { ROUNDS } else { ROUNDS + MORE };
        let (mut slower, mut so_far) = (1, vec![]);
        for round in 1..=most {
            let (ways, late) = self.round(device, device.patience() * slower);
            let sent = ways.iter().map(|way| way.sent).sum();
            let received = ways.iter().map(|way| way.received).sum();
            ways::add(&mut so_far, ways);
            let silent = ways::silence(&so_far, &self.names, &self.between(device));
            if let Some(why) = silent.filter(|_| round >= ROUNDS) {
                return Err(Unfit::Silent(format!("{why}. It dropped {}", device.drops())));
            }
            if late && slower < SLOWEST {
                slower *= 2;
            }
            if round >= ROUNDS && sent == received {
                break;
            }
            if round == most && !self.bears_loss {
                return Err(Unfit::Loses { sent, received, discards: device.drops() });
            }
        }
        Ok(())
    }

    /// What is between the wires, as far as it told.
    fn between(&self, device: &impl Behind) -> Between {
        match self.tester.sides() {
            sides if !sides.is_empty() => Between::Router(sides),
            _ if device.macs().is_some() => Between::Cable,
            _ => Between::Bridge,
        }
    }

    /// All of it once, from port to port; so long each batch is waited for. And whether some came
    /// after that.
    fn round(&mut self, device: &mut impl Behind, patience: Duration) -> (Vec<Way>, bool) {
        /// All flows of a stream of 5,000, rounded up to batches; enough for 500 hosts, too.
        const BATCHES: usize = 79;
        let clock = device.clock();
        let mut task = self.task(clock.now(), Duration::MAX, Load::FullSpeed);
        // What has not come of the batches before is not waited for with each one after.
        let mut missing = 0;
        for port in 0..task.senders.len() {
            // Behind a device that loses frames, each batch would be waited for in vain.
            let end = clock.now() + 5 * patience;
            for at in 0..task.senders[port].len() {
                for _ in 0..BATCHES {
                    let now = clock.now();
                    self.tester.feed(now, (port, at), &mut task);
                    loop {
                        device.settle();
                        let then = clock.now();
                        self.tester.receive(then, &mut task);
                        let all = task.received() + missing >= task.sent();
                        if all || then.since(now) >= patience || then >= end {
                            break;
                        }
                    }
                    missing = task.sent().saturating_sub(task.received());
                }
            }
        }
        // What was late, batch by batch, may come yet.
        let (last, mut late) = (clock.now(), false);
        while !task.is_back() && clock.now().since(last) < device.patience() * SLOWEST {
            let (before, waited) = (task.received(), clock.now().since(last));
            device.settle();
            self.tester.receive(clock.now(), &mut task);
            late |= waited >= patience && task.received() > before;
        }
        let ways = task.ways();
        self.end(task);
        (ways, late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loses_some_is_not_called_one_that_does_not_forward() {
        let (loses, discards) =
            ("loses frames one batch at a time: of 10112 frames, 9066", "nothing");
        let (sent, received, discards) = (10112, 9066, discards.to_string());
        for (unfit, forwards, says) in [
            (
                Unfit::Silent("the device does not forward".to_string()),
                false,
                "the device does not",
            ),
            (Unfit::Loses { sent, received, discards }, true, loses),
        ] {
            assert_eq!(unfit.forwards(), forwards);
            assert!(unfit.to_string().starts_with(says), "{unfit}");
        }
    }
}
