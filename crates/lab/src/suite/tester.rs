//! The tester of a suite: hosts on the device's ports, who do what a trial's task says.
//!
//! ```text
//!  Task: senders and receivers ─► tick, tick …
//!  hosts: .2 (and routers .10) on each port, who answer ARP and say that they are there
//! ```
//!
//! The same in real and in virtual time: whoever has the time calls [`Tester::tick`].
//!
//! Never reads a clock, never waits.

use super::plan::{End, Plan, Traffic};
use super::task::Task;
use super::tcp::Talk;
use crate::introduction::{answer, confirmation, question, reply_from};
use crate::net::Net;
use crate::tester::{less_refused, refused};
pub use crate::traffic::tester_mac as mac;
use measure::watch::Watch;
use measure::{
    Ends, Family, Field, Pick, Sender, Stream, StreamPlan, Template, Trailer, Values, Variation,
};
use measure::{FramePlan, FrameSize};
use port::{Batch, Pool, Port, PortCounters, Slab};
use std::net::IpAddr;
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::{Arp, Ipv4Prefix, MacAddr, Moment, craft};

/// How often the hosts say that they are there.
const ANNOUNCE: Duration = Duration::from_secs(5);

/// Batches that a tick takes from a wire at most.
const TURNS: usize = 4;

/// Our ends of the wires.
pub struct Tester<P> {
    /// The wires.
    pub wires: Vec<P>,
    pool: Pool,
    /// Who is on each port; nobody on bridges.
    ends: Vec<End>,
    /// The host of IPv6 on each port, the first of these, if some frames are its.
    six: Option<Net>,
    /// Hosts of captures on each port, in order.
    guests: Vec<Vec<u32>>,
    /// The device's address on each port, as ARP told.
    pub device_macs: Vec<Option<MacAddr>>,
    /// The same as neighbour discovery told, where frames are IPv6's, too.
    pub device_macs6: Vec<Option<MacAddr>>,
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
    /// A tester on these wires. `ends` are who is on the ports, none on a bridge.
    pub fn new(wires: Vec<P>, slab: &Slab, ends: Vec<End>) -> Tester<P> {
        let [device_macs, device_macs6] = [(); 2].map(|()| wires.iter().map(|_| None).collect());
        let (pool, batch, replies) = (slab.pool(), Batch::new(), Batch::new());
        let (guests, announced, behind, waiting) = (vec![], None, false, vec![]);
        let refused_beside = vec![0; wires.len()];
        Tester {
            wires,
            pool,
            ends,
            six: None,
            guests,
            device_macs,
            device_macs6,
            announced,
            refused_beside,
            batch,
            replies,
            behind,
            waiting,
        }
    }

    /// Who is on the ports.
    pub(super) fn ends(&self) -> &[End] {
        &self.ends
    }

    /// There is a host of IPv6 on each port, too.
    pub fn speak_ipv6(&mut self) {
        self.six = Some(Net::of(Family::Ipv6));
    }

    /// Hosts of captures are on the ports from now on, in order on each.
    pub(super) fn settle(&mut self, guests: Vec<Vec<u32>>) {
        self.guests = guests;
    }

    /// A task is about to begin.
    pub fn begin(&self, task: &mut Task) {
        task.before = self.counters();
    }

    /// What the wires count, but that of frames which found no room only test frames are told.
    pub(super) fn counters(&self) -> Vec<PortCounters> {
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
        if !self.ends.is_empty() && self.announced.is_none_or(|last| now.since(last) >= ANNOUNCE) {
            self.announce(now);
        }
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
        let Some(&end) = self.ends.get(port) else { return };
        let (slab, six, guests) = (self.pool.slab(), self.six, self.guests.get(port));
        let is_ours = |address: IpAddr| match address {
            IpAddr::V4(address) => {
                let address = u32::from(address);
                [end.host, end.router].contains(&address)
                    || guests.is_some_and(|all| all.binary_search(&address).is_ok())
            }
            IpAddr::V6(_) => six.is_some_and(|net| net.has(port, address)),
        };
        let mut replies = vec![];
        for frame in self.batch.as_slice() {
            let bytes = slab.bytes(frame);
            match (bytes.get(12..14), six) {
                (Some([0x08, 0x06]), _) => {
                    let said = Arp::new(&bytes[14..]).map(|arp| arp.message());
                    if let Ok(said) = said
                        && said.sender_ip == end.device
                    {
                        self.device_macs[port] = Some(said.sender_mac);
                    }
                }
                (Some([0x86, 0xdd]), Some(net)) if bytes.get(20) == Some(&58) => {
                    self.device_macs6[port] = answer(&net, port, bytes).or(self.device_macs6[port]);
                }
                _ => continue,
            }
            replies.extend(reply_from(mac(port), is_ours, bytes));
        }
        replies.iter().for_each(|bytes| self.send_beside(now, port, bytes));
    }

    /// Every host and router asks for the device, which so learns them.
    fn announce(&mut self, now: Moment) {
        self.announced = Some(now);
        for port in 0..self.six.map_or(0, |_| self.ends.len()) {
            let Some(net) = self.six else { continue };
            let device = self.device_macs6[port];
            let said = device.and_then(|device| confirmation(&net, port, 0, device));
            self.send_beside(now, port, &question(&net, port, 0));
            said.iter().for_each(|said| self.send_beside(now, port, said));
        }
        for port in 0..self.ends.len() {
            let End { host, router, device, .. } = self.ends[port];
            for sender in [host, router] {
                self.send_arp(now, port, ArpMessage::request(mac(port), sender, device));
            }
        }
    }

    /// The device forgot everything: the hosts say that they are there at the next tick.
    pub fn introduce_again(&mut self) {
        self.announced = None;
        self.device_macs.fill(None);
        self.device_macs6.fill(None);
    }

    /// Nobody has answered: the hosts ask again at the next tick.
    pub fn ask_again(&mut self) {
        self.announced = None;
    }

    pub(super) fn send_arp(&mut self, now: Moment, port: usize, message: ArpMessage) {
        self.send_beside(now, port, &craft::arp(message).build());
    }

    /// Sends what is no test frame.
    fn send_beside(&mut self, now: Moment, port: usize, bytes: &[u8]) {
        if let Some(mut frame) = self.pool.alloc(bytes.len()) {
            self.pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
            self.replies.push(frame);
            let wire = &mut self.wires[port];
            let send = |wire: &mut P| wire.send(now, &mut self.pool, &mut self.replies);
            self.refused_beside[port] += refused(wire, send).1;
        }
    }
}

/// The RFC's test frame from a port to another: a UDP echo request (C.2.6.4), its payload neither
/// all zeros nor all ones.
pub fn template(plan: &Plan, from: usize, to: usize, device_mac: Option<MacAddr>) -> Template {
    let host = |port: usize| plan.ends[port.min(1)].host;
    Template {
        src_mac: mac(from),
        dst_mac: device_mac.unwrap_or_else(|| mac(to)),
        ends: Ends::V4 { src: host(from), dst: host(to) },
        src_port: 0xc020,
        dst_port: 7,
        fill: 0xa5,
        udp_checksum: plan.udp_checksum,
        ..Template::default()
    }
}

/// The address of a port of a mesh, each its own, of those that are for benchmarks (RFC 6815): bridges do
/// not look at it.
fn on_a_bridge(port: usize) -> u32 {
    u32::from_be_bytes([198, 18, 1, 2 + port as u8])
}

/// The stream of the plan's traffic from a port, of those that take turns there one: to the other port,
/// or to one of a mesh.
///
/// # Errors
/// The frame length is none a frame can have.
pub fn stream(
    plan: &Plan,
    id: u8,
    (from, turn): (usize, usize),
    size: &FrameSize,
    device_mac: Option<MacAddr>,
) -> Result<Stream, String> {
    let to = plan.traffic.destination(from, turn);
    let variation = match plan.traffic {
        Traffic::Pair { .. } | Traffic::Hosts { .. } => Variation::NONE,
        Traffic::Networks { .. } => {
            let base = plan.ends[to].network.bits() & 0xffff_0000;
            let behind = (65..=254).map(|n| Ipv4Prefix::new(base | n << 8, 24));
            let anywhere = Values::Networks(behind.collect());
            Variation::Fields(vec![(Field::Dst, anywhere, Pick::Random)])
        }
    };
    let mut template = template(plan, from, to, device_mac);
    if let (Family::Ipv6, net) = (plan.traffic.family(turn), Net::of(Family::Ipv6)) {
        let host = |port| match net.host(port, 0) {
            IpAddr::V6(host) => u128::from(host),
            IpAddr::V4(_) => unreachable!("a net of IPv6"),
        };
        template.ends = Ends::V6 { src: host(from), dst: host(to) };
    }
    if plan.traffic.mesh().is_some() {
        template.ends = Ends::V4 { src: on_a_bridge(from), dst: on_a_bridge(to) };
    }
    let seed = plan.seed ^ u64::from(id) << 32;
    built(id, template, size, variation, seed)
}

/// A stream of frames of this size.
///
/// # Errors
/// Why there is none, in a sentence.
pub(super) fn built(
    id: u8,
    template: Template,
    size: &FrameSize,
    variation: Variation,
    seed: u64,
) -> Result<Stream, String> {
    match (size, variation) {
        (FrameSize::One(frame), variation) => {
            let plan = StreamPlan { id, template, frame: *frame, variation, seed };
            plan.build().map_err(|bad| bad.to_string())
        }
        (FrameSize::Mix(_), variation @ Variation::Fields(_)) => {
            let plan = FramePlan::of_template(&template, &variation, size.lengths());
            plan.build(id, 0, seed).map_err(|bad| bad.to_string())
        }
        (FrameSize::Mix(mix), Variation::Flows { .. }) => {
            Err(format!("connections are opened by frames of one length, not of {}", mix.label()))
        }
    }
}
