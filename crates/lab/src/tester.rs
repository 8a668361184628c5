//! The tester: our ends of the wires, introduced to the device.
//!
//! ```text
//! introduce   who has the router's address? tell host .101, .102 …        ─► the router's MACs,
//!             (ARP, neighbour discovery)                                     known neighbours
//! warm_up     every connection there, back, and there again               ─► hosts, connections
//! trial       one_core, two_cores
//! ```
//!
//! The wires are any two ports; what is behind them is a [`Behind`]: a router in memory, which does
//! what it was sent when it is let, or something that works by itself and takes its time.
//!
//! As RFC 2544 §23 asks: what a device learns, it learns before it is measured. During trials the
//! hosts go on asking for the router every few seconds, so they are not forgotten; with IPv6 they confirm
//! that they are there, too (`introduction.rs`).

use crate::clock::Clock;
use crate::configuration::Traffic;
use crate::device::Device;
use crate::introduction;
use crate::net::Net;
use crate::routes::Table;
use crate::traffic::{self, HOSTS};
use crate::ways::{self, Between, Side, Way};
use measure::stream::BadStream;
use measure::{Load, Receiver, Schedule, Sender, Stream};
use port::{Batch, MemoryPort, Pool, Port, PortCounters, Slab};
use router::Router;
use std::fmt;
use std::time::Duration;
use wire::{FrameLen, MacAddr, Moment};

/// How often the hosts say that they are there.
pub const ANNOUNCE: Duration = Duration::from_secs(5);

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

/// What a router dropped, and why: `nothing`, or `3 packets: no route; …`.
pub fn discarded(router: &Router) -> String {
    let reasons = router.discards().iter();
    let reasons: Vec<String> = reasons.map(|(why, n)| format!("{n} packets: {why:?}")).collect();
    if reasons.is_empty() { "nothing".to_string() } else { reasons.join("; ") }
}

/// Our side of a device's first two wires.
pub struct Tester<P = MemoryPort> {
    /// The wires in use.
    pub wires: [P; 2],
    /// Its stock of frames.
    pub pool: Pool,
    /// The streams from each port, under way.
    pub streams: [Vec<Stream>; 2],
    /// Its hosts, and whom they send to.
    pub net: Net,
    /// What the wires are called, where somebody has to find them.
    pub names: [String; 2],
    /// Where routed frames go: known once it is prepared.
    pub gateway_macs: [MacAddr; 2],
    /// Whether a device that loses some of the warm-up is measured all the same.
    pub bears_loss: bool,
    /// Whether it has hosts that say who they are.
    has_hosts: bool,
    announced: Moment,
    /// What they said by each port that found no room on the wire.
    refused: [u64; 2],
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

impl<P: Port> Tester<P> {
    /// A tester on these wires that sends nothing yet. `slab` is where the wires' frames live.
    pub fn new(wires: [P; 2], slab: &Slab) -> Tester<P> {
        let (pool, announced) = (slab.pool(), Moment::ZERO);
        let (streams, net) = ([vec![], vec![]], Net::default());
        let gateway_macs = [MacAddr::default(); 2];
        let (has_hosts, refused) = (false, [0; 2]);
        let names = ["port 1", "port 2"].map(str::to_string);
        Tester {
            wires,
            pool,
            streams,
            net,
            names,
            gateway_macs,
            has_hosts,
            announced,
            refused,
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
        self.has_hosts = traffic != Traffic::Hosts && told.is_none();
        let macs = match told {
            Some(macs) => macs,
            None if self.has_hosts => self.introduce(device)?,
            None => [MacAddr::default(); 2],
        };
        self.gateway_macs = macs;
        self.streams = traffic::streams(traffic, &self.net, table, frame, seed, macs)
            .map_err(Unfit::Stream)?;
        self.warm_up(device)
    }

    /// Takes away what an earlier trial has left on the wires: the device's core may have been busy
    /// with something else when the trial ended.
    fn drain(&mut self, device: &mut impl Behind) {
        let mut batch = Batch::new();
        let mut last = device.clock().now();
        loop {
            let mut moved = device.settle();
            for wire in &mut self.wires {
                while wire.receive(Moment::ZERO, &mut self.pool, &mut batch) > 0 {
                    moved += batch.len();
                    batch.free_all(&mut self.pool);
                }
            }
            let now = device.clock().now();
            if moved > 0 {
                last = now;
            } else if now.since(last) >= device.patience() {
                return;
            }
        }
    }

    /// The next senders, and on each port a receiver for what the other sends, from `now` on: what comes
    /// back by the port it was sent from was not forwarded.
    pub fn begin(
        &mut self,
        now: Moment,
        duration: Duration,
        load: Load,
    ) -> ([Vec<Sender>; 2], [Receiver; 2]) {
        let receivers = [1, 0].map(|from: usize| Receiver::new(now, &self.streams[from]));
        let schedule = Schedule { load, start: now, duration };
        let senders = std::mem::take(&mut self.streams)
            .map(|streams| streams.into_iter().map(|s| Sender::new(s, schedule)).collect());
        (senders, receivers)
    }

    /// Takes the streams back after a trial.
    pub fn end(&mut self, senders: [Vec<Sender>; 2]) {
        self.streams = senders.map(|all| all.into_iter().map(Sender::into_stream).collect());
    }

    /// Says that the hosts are there, if it is time to.
    #[inline]
    pub fn announce(&mut self, now: Moment) {
        if self.has_hosts && now.since(self.announced) >= ANNOUNCE {
            self.ask_all(now);
            self.confirm_all(now);
        }
    }

    /// Every host asks for the router.
    fn ask_all(&mut self, now: Moment) {
        self.announced = now;
        for port in 0..2 {
            let net = self.net;
            self.say(now, port, (0..HOSTS).map(|n| introduction::question(&net, port, n)));
        }
    }

    /// Every host confirms that it is there, where that is the custom.
    fn confirm_all(&mut self, now: Moment) {
        for port in 0..2 {
            let (net, mac) = (self.net, self.gateway_macs[port]);
            let confirmation = |n| introduction::confirmation(&net, port, n, mac);
            self.say(now, port, (0..HOSTS).filter_map(confirmation));
        }
    }

    /// Sends what the hosts behind a port say.
    fn say(&mut self, now: Moment, port: usize, messages: impl Iterator<Item = Vec<u8>>) {
        let mut batch = Batch::new();
        for bytes in messages {
            if let Some(mut frame) = self.pool.alloc(bytes.len()) {
                self.pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
                batch.push(frame);
            }
        }
        let send = |wire: &mut P| wire.send(now, &mut self.pool, &mut batch);
        self.refused[port] += refused(&mut self.wires[port], send).1;
    }

    /// Learns the router's MAC addresses, and makes the hosts known to it.
    fn introduce(&mut self, device: &mut impl Behind) -> Result<[MacAddr; 2], Unfit> {
        /// How often it is asked.
        const TIMES: usize = 5;
        let mut macs = [None; 2];
        for _ in 0..TIMES {
            let asked = device.clock().now();
            self.ask_all(asked);
            loop {
                device.settle();
                for (port, mac) in macs.iter_mut().enumerate() {
                    *mac = mac.or(self.answer(port));
                }
                if let [Some(a), Some(b)] = macs {
                    self.gateway_macs = [a, b];
                    self.confirm_all(device.clock().now());
                    return Ok([a, b]);
                }
                if device.clock().now().since(asked) >= device.patience() {
                    break;
                }
            }
            if device.patience().is_zero() {
                break;
            }
        }
        let silent = macs.iter().enumerate().filter(|(_, mac)| mac.is_none());
        let asked =
            silent.map(|(port, _)| format!("{} on {}", self.net.gateways[port], self.names[port]));
        let asked: Vec<String> = asked.collect();
        let protocol = introduction::protocol(&self.net);
        let asked = asked.join(", nor for ");
        Err(Unfit::NoAnswer(format!("nobody answers {protocol} for {asked}")))
    }

    /// The router's MAC address, if it has come on this port.
    fn answer(&mut self, port: usize) -> Option<MacAddr> {
        let mut batch = Batch::new();
        let mut mac = None;
        while self.wires[port].receive(Moment::ZERO, &mut self.pool, &mut batch) > 0 {
            for frame in batch.as_slice() {
                let bytes = self.pool.slab().bytes(frame);
                mac = introduction::answer(&self.net, port, bytes).or(mac);
            }
            batch.free_all(&mut self.pool);
        }
        mac
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
        if !self.has_hosts {
            return if device.macs().is_some() { Between::Cable } else { Between::Bridge };
        }
        let side = |port: usize| Side {
            gateway: self.net.gateways[port],
            mac: Some(self.gateway_macs[port]),
            host: self.net.host(port, 0),
        };
        Between::Router([0, 1].map(side).to_vec())
    }

    /// All of it once, from port to port; so long each batch is waited for. And whether some came
    /// after that.
    fn round(&mut self, device: &mut impl Behind, patience: Duration) -> ([Way; 2], bool) {
        /// All flows of a stream of 5,000, rounded up to batches; enough for 500 hosts, too.
        const BATCHES: usize = 79;
        let clock = device.clock();
        let (mut senders, mut receivers) = self.begin(clock.now(), Duration::MAX, Load::FullSpeed);
        let mut batch = Batch::new();
        // What has not come of the batches before is not waited for with each one after.
        let (mut sent, mut missing, mut sent_by) = (0, 0, [0; 2]);
        for (port, senders) in senders.iter_mut().enumerate() {
            // Behind a device that loses frames, each batch would be waited for in vain.
            let end = clock.now() + 5 * patience;
            for sender in senders {
                for _ in 0..BATCHES {
                    let now = clock.now();
                    let filled = sender.fill(now, &mut self.pool, &mut batch) as u64;
                    (sent, sent_by[port]) = (sent + filled, sent_by[port] + filled);
                    self.wires[port].send(now, &mut self.pool, &mut batch);
                    loop {
                        device.settle();
                        let then = clock.now();
                        self.receive(then, &mut receivers);
                        let all = received(&receivers) + missing >= sent;
                        if all || then.since(now) >= patience || then >= end {
                            break;
                        }
                    }
                    missing = sent.saturating_sub(received(&receivers));
                }
            }
        }
        // What was late, batch by batch, may come yet.
        let (last, mut late) = (clock.now(), false);
        while received(&receivers) < sent && clock.now().since(last) < device.patience() * SLOWEST {
            let (before, waited) = (received(&receivers), clock.now().since(last));
            device.settle();
            self.receive(clock.now(), &mut receivers);
            late |= waited >= patience && received(&receivers) > before;
        }
        self.end(senders);
        let ways = [(0, 1), (1, 0)].map(|(from, to)| {
            let received = receivers[to].total().received;
            Way { from, to, sent: sent_by[from], received }
        });
        (ways, late)
    }

    /// What the wires count, but that of frames which found no room only test frames are told.
    pub fn counters(&self) -> [PortCounters; 2] {
        [0, 1].map(|port| less_refused(self.wires[port].counters(), self.refused[port]))
    }

    /// Receives all that waits.
    pub fn receive(&mut self, now: Moment, receivers: &mut [Receiver; 2]) {
        for (wire, receiver) in self.wires.iter_mut().zip(receivers) {
            while receiver.poll(now, &mut self.pool, wire) > 0 {}
        }
    }
}

/// Sends something, and how many frames of it found no room on the wire.
pub fn refused<P: Port, T>(wire: &mut P, send: impl FnOnce(&mut P) -> T) -> (T, u64) {
    let before = wire.counters().tx_drop;
    let sent = send(wire);
    (sent, wire.counters().tx_drop.saturating_sub(before))
}

/// What a wire counted, without these frames that found no room on it.
pub fn less_refused(counters: PortCounters, refused: u64) -> PortCounters {
    PortCounters { tx_drop: counters.tx_drop.saturating_sub(refused), ..counters }
}

/// Frames that came where they were to come, so far.
pub fn received(receivers: &[Receiver; 2]) -> u64 {
    receivers.iter().map(|receiver| receiver.total().received).sum()
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
