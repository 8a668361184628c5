//! The tester: hosts on the device's ports, who do what a trial's task says.
//!
//! ```text
//!  Task: senders and receivers ─► tick, tick …
//!  Subnets: hosts on each port, who answer ARP and neighbour discovery and say that they are there
//! ```
//!
//! The same in real and in virtual time, for the table's rows and for a plan: whoever has the time calls
//! [`Tester::tick`].
//!
//! As RFC 2544 §23 asks: what a device learns, it learns before it is measured. During trials the hosts go on
//! asking for their gateways every few seconds, so they are not forgotten.
//!
//! Never reads a clock, never waits; but for [`row`], which has a device at hand that can be let.

// Hosts on a port, and what they say of themselves.
mod subnet;
// What it does in a trial, and what came of it.
pub mod task;
// Hosts that speak TCP.
pub(crate) mod talk;
// Frames that wait in a host for its wire.
mod held;
// A trial by the clock.
pub(crate) mod drive;
// The same with the streams of a row of the table.
pub mod row;

pub use subnet::Subnet;
pub(crate) use subnet::reply_from;
pub use task::Task;

use crate::net::Net;
use crate::traffic::tester_mac as mac;
use crate::ways::Side;
use measure::watch::Watch;
use measure::{Family, Sender, Trailer};
use port::{Batch, MemoryPort, Pool, Port, PortCounters, Slab};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use talk::Talk;
use wire::{MacAddr, Moment};

/// How often the hosts say that they are there.
pub const ANNOUNCE: Duration = Duration::from_secs(5);

/// Batches that a tick takes from a wire at most.
const TURNS: usize = 4;

/// Our ends of the wires.
pub struct Tester<P = MemoryPort> {
    /// The wires.
    pub wires: Vec<P>,
    pool: Pool,
    /// Who is on the ports; nobody on bridges.
    subnets: Vec<Subnet>,
    /// Hosts of captures on each port, in order.
    guests: Vec<Vec<u32>>,
    announced: Option<Moment>,
    /// Frames of each port that are no test frames (ARP, what a modifier sends beside) and found no room
    /// on the wire.
    refused_beside: Vec<u64>,
    batch: Batch,
    replies: Batch,
    /// Whether the last tick left work undone.
    behind: bool,
    /// Who has a frame due, and since when: see `send_in_turn`.
    waiting: Vec<(Moment, Turn)>,
}

/// Somebody who sends: the port and which of its senders, or which replay.
#[derive(Clone, Copy)]
enum Turn {
    Sender(usize, usize),
    Beside(usize, usize),
    Player(usize),
}

impl<P: Port> Tester<P> {
    /// A tester on these wires, and who is on its ports. `slab` is where the wires' frames live.
    pub fn new(wires: Vec<P>, slab: &Slab, subnets: Vec<Subnet>) -> Tester<P> {
        let (pool, batch, replies) = (slab.pool(), Batch::new(), Batch::new());
        let (guests, announced, behind, waiting) = (vec![], None, false, vec![]);
        let refused_beside = vec![0; wires.len()];
        Tester {
            wires,
            pool,
            subnets,
            guests,
            announced,
            refused_beside,
            batch,
            replies,
            behind,
            waiting,
        }
    }

    /// There is a host of IPv6 on each port, too.
    pub fn speak_ipv6(&mut self) {
        if self.subnets.iter().all(|subnet| subnet.family() == Family::Ipv4) {
            let net = Net::of(Family::Ipv6);
            let six = |port| Subnet::new(port, net.gateways[port], vec![net.hosts[port]]);
            self.subnets.extend([0, 1].map(six));
        }
    }

    /// Others are on the ports from now on.
    pub fn move_in(&mut self, subnets: Vec<Subnet>) {
        (self.subnets, self.announced) = (subnets, None);
    }

    /// Hosts of captures are on the ports from now on, in order on each.
    pub(crate) fn settle(&mut self, guests: Vec<Vec<u32>>) {
        self.guests = guests;
    }

    /// Where the device is on a port, as it said by ARP.
    pub fn device_mac(&self, port: usize) -> Option<MacAddr> {
        let is_it = |subnet: &&Subnet| subnet.port == port && subnet.family() == Family::Ipv4;
        self.subnets.iter().find(is_it)?.gateway_mac
    }

    /// What is known of the device on each port, by the first hosts there.
    pub fn sides(&self) -> Vec<Side> {
        let first = (0..self.wires.len())
            .filter_map(|port| self.subnets.iter().find(|subnet| subnet.port == port));
        let side = |subnet: &Subnet| Side {
            gateway: subnet.gateway,
            mac: subnet.gateway_mac,
            host: subnet.hosts[0],
        };
        first.map(side).collect()
    }

    /// Of which gateways nothing is known, asked for by what, where a port has this name; `None` if all have said
    /// where they are.
    pub fn unanswered(&self, name: impl Fn(usize) -> String) -> Option<String> {
        let mut silent = self.subnets.iter().filter(|subnet| subnet.gateway_mac.is_none());
        let first = silent.next()?;
        let asked = |subnet: &Subnet| format!("{} on {}", subnet.gateway, name(subnet.port));
        let protocol = first.protocol();
        let others = silent.filter(|subnet| subnet.protocol() == protocol);
        let all: Vec<String> = std::iter::once(first).chain(others).map(asked).collect();
        Some(format!("nobody answers {protocol} for {}", all.join(", nor for ")))
    }

    /// A task is about to begin.
    pub fn begin(&self, task: &mut Task) {
        task.before = self.counters();
    }

    /// What the wires count, but that of frames which found no room only test frames are told.
    pub fn counters(&self) -> Vec<PortCounters> {
        let each = self.wires.iter().zip(&self.refused_beside);
        each.map(|(wire, beside)| less_refused(wire.counters(), *beside)).collect()
    }

    /// Frames of trials that the wires had no room for, so far.
    pub fn refused(&self) -> u64 {
        self.counters().iter().map(|port| port.tx_drop).sum()
    }

    /// Frees what waits in hosts that stopped talking.
    pub fn free(&mut self, talk: &mut Talk) {
        talk.free(&mut self.pool);
    }

    /// Sends a batch of one of a task's senders, by its port and its place there, whether it is due or not.
    #[inline]
    pub(crate) fn feed(&mut self, now: Moment, (port, at): (usize, usize), task: &mut Task) {
        task.senders[port][at].fill(now, &mut self.pool, &mut self.replies);
        self.wires[port].send(now, &mut self.pool, &mut self.replies);
    }

    /// Receives what has come, at most `TURNS` batches a wire, and sends what is due; returns how many
    /// frames came. In this order, so that no frame comes back at the time it was sent.
    #[inline]
    pub fn tick(&mut self, now: Moment, task: &mut Task) -> usize {
        if task.too_late.is_none() && task.course.is_due(now) {
            task.cut(now);
        }
        if let Some(talk) = &mut task.talk {
            return talk.tick(now, &mut self.pool, &mut self.wires);
        }
        let received = self.receive(now, task);
        self.send(now, task);
        received
    }

    /// Whether the last tick left work undone: a sender gave a whole batch and owes more, or a wire
    /// gave as many frames as a tick takes.
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// Sends what is due.
    #[inline]
    pub fn send(&mut self, now: Moment, task: &mut Task) {
        self.announce_if_due(now);
        // First of their second (RFC 2544 §11.2).
        for (port, control) in &mut task.control {
            if control.next_due() <= now {
                let wire = &mut self.wires[*port];
                let (_, refused) = refused(wire, |wire| control.poll(now, &mut self.pool, wire));
                self.refused_beside[*port] += refused;
            }
        }
        if self.wires.iter().any(|wire| wire.next_start().is_some()) {
            return self.send_in_turn(now, task);
        }
        for (senders, wire) in task.senders.iter_mut().zip(&mut self.wires) {
            for sender in senders {
                let sent = sender.poll(now, &mut self.pool, wire);
                self.behind |= sent == Batch::CAPACITY && sender.next_due() <= now;
            }
        }
        self.behind |= task.play(now, &mut self.pool, &mut self.wires);
        for (port, senders) in task.beside.iter_mut().enumerate() {
            for sender in senders.iter_mut().filter(|sender| sender.next_due() <= now) {
                let wire = &mut self.wires[port];
                let (_, refused) = refused(wire, |wire| sender.poll(now, &mut self.pool, wire));
                self.refused_beside[port] += refused;
            }
        }
    }

    /// Sends what is due by wires that say when they are free: a frame of whoever has owed it longest.
    /// The others on its wire are told how long it takes, and wait as they would in the wire's queue.
    fn send_in_turn(&mut self, now: Moment, task: &mut Task) {
        let mut waiting = std::mem::take(&mut self.waiting);
        let is_due = |sender: &Sender| sender.next_due() <= now;
        for (all, turn) in [
            (&task.senders, Turn::Sender as fn(usize, usize) -> Turn),
            (&task.beside, Turn::Beside),
        ] {
            for (port, senders) in all.iter().enumerate() {
                let due = senders.iter().enumerate().filter(|(_, sender)| is_due(sender));
                waiting.extend(due.map(|(n, sender)| (sender.owes_since(), turn(port, n))));
            }
        }
        let players = task.players.iter().enumerate().filter(|(_, one)| one.next_due() <= now);
        waiting.extend(players.map(|(n, player)| (player.owes_since(), Turn::Player(n))));
        waiting.sort_by_key(|(since, _)| *since);
        for (_, turn) in waiting.drain(..) {
            match turn {
                Turn::Sender(port, n) => {
                    task.senders[port][n].poll(now, &mut self.pool, &mut self.wires[port]);
                }
                Turn::Beside(port, n) => {
                    task.beside[port][n].poll(now, &mut self.pool, &mut self.wires[port]);
                }
                Turn::Player(n) => task.play_one(n, now, &mut self.pool, &mut self.wires),
            }
        }
        self.waiting = waiting;
    }

    /// Receives what has come.
    #[inline]
    pub fn receive(&mut self, now: Moment, task: &mut Task) -> usize {
        if let Some(too_late) = &mut task.too_late {
            return self.drain(now, too_late);
        }
        if task.course.is_due(now) {
            task.cut(now);
        }
        let mut received = 0;
        self.behind = false;
        for port in 0..self.wires.len() {
            for turn in 1..=TURNS {
                let n = self.wires[port].receive(now, &mut self.pool, &mut self.batch);
                received += n;
                for frame in self.batch.as_slice() {
                    self.pool.slab().prefetch(frame);
                }
                self.answer(now, port);
                let receiver = task.receivers.get_mut(port);
                if !matches!(task.watch, Watch::Nothing) {
                    let expects = |id| receiver.as_ref().is_some_and(|here| here.expects(id));
                    for frame in self.batch.as_slice() {
                        task.watch.frame(now, self.pool.slab().bytes(frame), expects);
                    }
                }
                for (_, control) in &mut task.control {
                    for frame in self.batch.as_slice() {
                        control.frame(self.pool.slab().bytes(frame));
                    }
                }
                if !self.batch.is_empty() {
                    let first = task.arrivals.map_or(now, |(first, _)| first);
                    task.arrivals = Some((first, now));
                }
                if let Some(returned) = &mut task.returned {
                    returned.take(now, port, &mut self.pool, &mut self.batch);
                }
                match receiver {
                    Some(receiver) => receiver.take(now, &mut self.pool, &mut self.batch),
                    None => self.batch.free_all(&mut self.pool),
                }
                if n < Batch::CAPACITY {
                    break;
                }
                self.behind |= turn == TURNS;
            }
        }
        received
    }

    /// Takes off the wires what came too late.
    #[cold]
    fn drain(&mut self, now: Moment, too_late: &mut u64) -> usize {
        let mut received = 0;
        for port in 0..self.wires.len() {
            received += self.wires[port].receive(now, &mut self.pool, &mut self.batch);
            let bytes = self.batch.as_slice().iter().map(|frame| self.pool.slab().bytes(frame));
            *too_late += bytes.filter(|bytes| Trailer::read(bytes).is_some()).count() as u64;
            self.answer(now, port);
            self.batch.free_all(&mut self.pool);
        }
        received
    }

    /// The hosts on a port: what the device says of itself by ARP or neighbour discovery, and what it asks.
    #[inline]
    fn answer(&mut self, now: Moment, port: usize) {
        if self.subnets.is_empty() {
            return;
        }
        let mut replies = vec![];
        for n in 0..self.batch.len() {
            let frame = &self.batch.as_slice()[n];
            if frame.len() > subnet::LONGEST {
                continue;
            }
            let bytes = self.pool.slab().bytes(frame);
            match bytes.get(12..14) {
                Some([0x08, 0x06]) => {}
                Some([0x86, 0xdd]) if bytes.get(20) == Some(&58) => {}
                _ => continue,
            }
            for subnet in self.subnets.iter_mut().filter(|subnet| subnet.port == port) {
                subnet.gateway_mac = subnet.answer(bytes).or(subnet.gateway_mac);
            }
            let is_ours = |address| self.is_ours(port, address);
            replies.extend(reply_from(mac(port), is_ours, bytes));
        }
        self.say(now, port, &replies);
    }

    /// Whether this is the address of a host on a port.
    fn is_ours(&self, port: usize, address: IpAddr) -> bool {
        let here = self.subnets.iter().filter(|subnet| subnet.port == port);
        let is_guest = |address: Ipv4Addr| {
            let guests = self.guests.get(port);
            guests.is_some_and(|all| all.binary_search(&u32::from(address)).is_ok())
        };
        here.into_iter().any(|subnet| subnet.hosts.contains(&address))
            || matches!(address, IpAddr::V4(address) if is_guest(address))
    }

    /// The hosts say that they are there, if it is time to.
    #[inline]
    pub fn announce_if_due(&mut self, now: Moment) {
        let is_due = self.announced.is_none_or(|last| now.since(last) >= ANNOUNCE);
        if is_due && !self.subnets.is_empty() {
            self.announce(now);
        }
    }

    /// Every host asks for its gateway, which so learns it, and confirms itself where that is the custom.
    pub fn announce(&mut self, now: Moment) {
        self.announced = Some(now);
        for at in 0..self.subnets.len() {
            let said: Vec<Vec<u8>> = self.subnets[at].introductions().collect();
            self.say(now, self.subnets[at].port, &said);
        }
    }

    /// The device forgot everything: the hosts say that they are there at the next tick.
    pub fn introduce_again(&mut self) {
        self.announced = None;
        self.subnets.iter_mut().for_each(|subnet| subnet.gateway_mac = None);
    }

    /// Nobody has answered: the hosts ask again at the next tick.
    pub fn ask_again(&mut self) {
        self.announced = None;
    }

    /// Hosts of captures say that they are there.
    pub(crate) fn announce_guests(&mut self, now: Moment, port: usize, hosts: &[u32]) {
        let is_it = |subnet: &&Subnet| subnet.port == port && subnet.family() == Family::Ipv4;
        let Some(subnet) = self.subnets.iter().find(is_it) else { return };
        let said = hosts.iter().map(|host| subnet.question(Ipv4Addr::from(*host).into()));
        let said: Vec<Vec<u8>> = said.collect();
        self.say(now, port, &said);
    }

    /// Sends what is no test frame.
    fn say(&mut self, now: Moment, port: usize, messages: &[Vec<u8>]) {
        for some in messages.chunks(Batch::CAPACITY) {
            for bytes in some {
                let Some(mut frame) = self.pool.alloc(bytes.len()) else { continue };
                self.pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
                self.replies.push(frame);
            }
            let wire = &mut self.wires[port];
            let send = |wire: &mut P| wire.send(now, &mut self.pool, &mut self.replies);
            self.refused_beside[port] += refused(wire, send).1;
        }
    }
}

/// Sends something, and how many frames of it found no room on the wire.
fn refused<P: Port, T>(wire: &mut P, send: impl FnOnce(&mut P) -> T) -> (T, u64) {
    let before = wire.counters().tx_drop;
    let sent = send(wire);
    (sent, wire.counters().tx_drop.saturating_sub(before))
}

/// What a wire counted, without these frames that found no room on it.
fn less_refused(counters: PortCounters, refused: u64) -> PortCounters {
    PortCounters { tx_drop: counters.tx_drop.saturating_sub(refused), ..counters }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::memory;
    use wire::arp::{ArpMessage, Operation};
    use wire::{Arp, craft};

    #[test]
    fn hosts_answer_for_themselves_alone() {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let (mut far, ours) = memory::wire(64);
        let (_idle, other) = memory::wire(64);
        let net = Net::default();
        let mut tester = Tester::new(vec![other, ours], &slab, Subnet::of(&net));
        let device = MacAddr([2, 0, 0, 0, 0, 9]);
        let number = |address| match address {
            IpAddr::V4(address) => u32::from(address),
            IpAddr::V6(_) => panic!("{address}"),
        };
        let gateway = number(net.gateways[1]);
        let ask =
            |address| craft::arp(ArpMessage::request(device, gateway, number(address))).build();
        let asked = [net.host(1, 0), net.host(1, 24)];
        let others = [net.host(1, 25), net.host(0, 0), net.gateways[1]];
        let mut batch = Batch::new();
        let mut cut = ask(asked[0]);
        cut.truncate(20);
        for bytes in asked.into_iter().chain(others).map(ask).chain([cut, vec![1; 60], vec![8, 6]])
        {
            let mut frame = pool.alloc(bytes.len()).unwrap();
            pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
            batch.push(frame);
        }
        far.send(Moment::ZERO, &mut pool, &mut batch);
        let mut task = Task::new(Moment::ZERO, vec![]);
        assert_eq!(tester.receive(Moment::ZERO, &mut task), 8, "all come through");
        assert_eq!(far.receive(Moment::ZERO, &mut pool, &mut batch), 2);
        for (frame, asked) in batch.as_slice().iter().zip(asked) {
            let bytes = pool.slab().bytes(frame);
            assert_eq!(bytes[..6], device.0);
            let reply = Arp::new(&bytes[14..]).unwrap().message();
            assert_eq!(reply.operation, Operation::Reply);
            assert_eq!((reply.sender_ip, reply.sender_mac), (number(asked), mac(1)));
        }
        batch.free_all(&mut pool);
        assert_eq!((tester.device_mac(0), tester.device_mac(1)), (None, Some(device)));
        let unanswered = tester.unanswered(|port| format!("port {}", port + 1)).unwrap();
        assert_eq!(unanswered, "nobody answers ARP for 198.18.0.1 on port 1");
    }
}
