//! All connections of a port: hosts that open them, or hosts that wait for them.
//!
//! ```text
//! frame ─┬─ ARP ────────────► answer, learn the next hop
//!        └─ Segment ─► by tuple ─► Connection ─► what the plan says next ─► segments ─► frames
//! poll ─── new connections that are due, timers that are due ─────────────────┘
//! ```
//!
//! Owned by one core, polled with the time. Connections lie in one vector and are found by tuple;
//! a timer that was put off stays in the heap and is looked at again when it comes up.

use super::connection::{self, Connection, Context, End, NEVER, Settings, State};
use super::counts::Counts;
use super::host::Host;
use super::plan::{BadPlan, NextHop, Plan, Role, count_of, hosts};
use super::segment::{NoSegment, Outgoing, Segment, Tuple};
use crate::Prng;
use crate::schedule::Pace;
use port::{Batch, Frame, Pool, Port};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;
use wire::arp::{ArpMessage, Operation};
use wire::tcp::TcpFlags;
use wire::{Arp, MacAddr, Moment, craft};

/// How often the next hop is asked for until it answers, and afterwards.
const ASK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// New connections in one poll: what is late comes in bursts, as a sender's frames do.
const OPEN_AT_ONCE: u64 = 64;
/// Tuples in use that are passed over before a connection waits for the next poll.
const PASS_OVER: u64 = 64;

/// Clients or servers on one port.
pub struct Endpoint {
    plan: Plan,
    settings: Settings,
    pace: Option<Pace>,
    start: Option<Moment>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_tuple: HashMap<Tuple, u32, BuildHasherDefault<Mix>>,
    timers: BinaryHeap<Reverse<(Moment, u32)>>,
    counts: Counts,
    prng: Prng,
    /// Connections that are not yet closed, and not yet waiting.
    open: usize,
    /// Tuples tried so far.
    tuples: u64,
    next_hop: Option<MacAddr>,
    asked: Option<Moment>,
    ident: u16,
    released: bool,
    stopped: bool,
    /// Scratch.
    segments: Vec<Outgoing>,
    frames: Vec<Frame>,
    batch: Batch,
    outgoing: Batch,
}

/// A connection, and how far its host has come with it.
struct Slot {
    connection: Connection,
    host: Host,
    established: bool,
    /// Whether it is among the open ones.
    open: bool,
    /// The earliest time the heap has for it.
    armed: Moment,
}

impl Endpoint {
    /// An endpoint that has sent nothing yet.
    ///
    /// # Errors
    /// [`BadPlan`].
    pub fn new(plan: Plan) -> Result<Endpoint, BadPlan> {
        plan.check()?;
        let pace = match plan.role {
            Role::Clients { rate: Some(rate), .. } => Pace::of(rate),
            _ => None,
        };
        let scale = (0..=14).find(|&shift| plan.window >> shift <= 0xffff).unwrap_or(14);
        let settings = Settings {
            mss: plan.mss,
            window: plan.window,
            scale,
            retries: plan.retries,
            time_wait: plan.time_wait,
            compare: plan.compare,
        };
        let next_hop = match plan.next_hop {
            NextHop::Mac(mac) => Some(mac),
            NextHop::Arp(_) => None,
        };
        Ok(Endpoint {
            settings,
            pace,
            start: None,
            slots: Vec::new(),
            free: Vec::new(),
            by_tuple: HashMap::default(),
            timers: BinaryHeap::new(),
            counts: Counts::default(),
            prng: Prng::new(plan.seed),
            open: 0,
            tuples: 0,
            next_hop,
            asked: None,
            ident: 0,
            released: false,
            stopped: false,
            segments: Vec::new(),
            frames: Vec::new(),
            batch: Batch::new(),
            outgoing: Batch::new(),
            plan,
        })
    }

    /// What happened so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Connections there are: opening, open, closing, waiting.
    pub fn connections(&self) -> usize {
        self.by_tuple.len()
    }

    /// Connections that are established and not closing.
    pub fn established(&self) -> usize {
        let is = |slot: &&Slot| slot.open && slot.established;
        self.slots.iter().filter(is).count()
    }

    /// Opens no more connections; those there are go on.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Lets the connections go that are held.
    pub fn release(&mut self, now: Moment) {
        self.release_over(now, Duration::ZERO);
    }

    /// Lets them go one after the other, the last one so much later: closing all of them in one go is
    /// a burst no receive ring holds.
    pub fn release_over(&mut self, now: Moment, time: Duration) {
        self.released = true;
        let step = time / u32::try_from(self.open.max(1)).unwrap_or(u32::MAX);
        let mut n = 0;
        for at in 0..self.slots.len() as u32 {
            let slot = &mut self.slots[at as usize];
            if slot.open && slot.host.is_held(&self.plan.transactions) {
                slot.host.wake = now + step * n;
                n += 1;
                self.arm(at);
            }
        }
    }

    /// Whether all connections there were to be are over.
    pub fn is_done(&self) -> bool {
        let all = match self.plan.role {
            Role::Clients { total: Some(total), .. } => self.counts.opened >= total,
            Role::Clients { total: None, .. } => self.stopped,
            Role::Servers => true,
        };
        all && self.by_tuple.is_empty()
    }

    /// When the next poll has something to do, if nothing is received until then.
    pub fn next_due(&self, now: Moment) -> Moment {
        let timer = self.timers.peek().map_or(NEVER, |Reverse((at, _))| *at);
        let ask = match (self.plan.next_hop, self.asked, self.next_hop) {
            (NextHop::Mac(_), ..) => NEVER,
            (_, None, _) => now,
            (_, Some(at), known) => at + if known.is_some() { ASK.1 } else { ASK.0 },
        };
        timer.min(ask).min(self.next_opening(now)).max(now)
    }

    fn next_opening(&self, now: Moment) -> Moment {
        let Role::Clients { concurrent, total, .. } = self.plan.role else { return NEVER };
        let over = self.stopped || total.is_some_and(|total| self.counts.opened >= total);
        if over || self.open >= concurrent || self.next_hop.is_none() {
            return NEVER;
        }
        match (self.pace, self.start) {
            (Some(pace), Some(start)) => start + pace.time_of(self.counts.opened),
            _ => now,
        }
    }

    /// Receives all that has come, does all that is due, sends; returns how many frames came and
    /// went.
    pub fn poll<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        let mut moved = 0;
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            let n = port.receive(now, pool, &mut batch);
            if n == 0 {
                break;
            }
            moved += n;
            self.receive(now, pool, &mut batch);
            moved += self.flush(now, pool, port);
        }
        self.batch = batch;
        self.work(now, pool);
        moved + self.flush(now, pool, port)
    }

    /// Takes received frames.
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.as_slice() {
            pool.slab().prefetch(frame);
        }
        for frame in batch.drain() {
            match Segment::read(pool.slab().bytes(&frame)) {
                Ok(segment) => self.take(now, &segment),
                Err(NoSegment::Corrupt) => self.counts.corrupt += 1,
                Err(NoSegment::Other) => {
                    let arp = wire::Ethernet::new(pool.slab().bytes(&frame)).ok().and_then(|eth| {
                        let is = eth.ether_type() == wire::layers::ETHERTYPE_ARP;
                        is.then(|| Arp::new(eth.payload()).ok().map(|arp| arp.message())).flatten()
                    });
                    match arp {
                        Some(message) => self.take_arp(message, pool),
                        None => self.counts.foreign += 1,
                    }
                }
            }
            pool.free(frame);
            self.put_into_frames(pool);
        }
    }

    fn take(&mut self, now: Moment, segment: &Segment<'_>) {
        if !self.plan.addresses.contains(segment.tuple.local) {
            self.counts.foreign += 1;
            return;
        }
        self.counts.segments_received += 1;
        let opens = segment.flags.contains(TcpFlags::SYN) && !segment.flags.contains(TcpFlags::ACK);
        if let Some(&at) = self.by_tuple.get(&segment.tuple) {
            let waits = self.slots[at as usize].connection.state == State::TimeWait;
            if waits && opens && matches!(self.plan.role, Role::Servers) {
                // A new connection of an old name (RFC 9293 §3.10.7.4, TIME-WAIT; RFC 1122 §4.2.2.13).
                self.forget(at);
            } else {
                let slot = &mut self.slots[at as usize];
                slot.connection.receive(
                    segment,
                    &mut Context {
                        now,
                        settings: &self.settings,
                        counts: &mut self.counts,
                        out: &mut self.segments,
                    },
                );
                return self.go_on(now, at);
            }
        }
        let (first, last) = self.plan.ports;
        let listens = matches!(self.plan.role, Role::Servers)
            && (first..=last).contains(&segment.tuple.local_port);
        if opens && listens && !segment.flags.contains(TcpFlags::RST) {
            let iss = self.prng.next() as u32;
            let connection = Connection::accept(
                segment,
                iss,
                &mut Context {
                    now,
                    settings: &self.settings,
                    counts: &mut self.counts,
                    out: &mut self.segments,
                },
            );
            let at = self.add(now, connection);
            self.arm(at);
        } else {
            self.counts.stray += 1;
            if !segment.flags.contains(TcpFlags::RST) {
                self.segments.push(connection::refusal(segment));
            }
        }
    }

    /// Timers, new connections, ARP.
    fn work(&mut self, now: Moment, pool: &mut Pool) {
        self.ask_for_next_hop(now, pool);
        while let Some(&Reverse((due, at))) = self.timers.peek()
            && due <= now
        {
            self.timers.pop();
            let slot = &mut self.slots[at as usize];
            if slot.armed != due {
                continue; // an earlier one came in between, or another connection has the slot
            }
            slot.armed = NEVER;
            if slot.connection.deadline() <= now {
                slot.connection.on_time(&mut Context {
                    now,
                    settings: &self.settings,
                    counts: &mut self.counts,
                    out: &mut self.segments,
                });
            }
            self.go_on(now, at);
            self.put_into_frames(pool);
        }
        self.open_due(now);
        self.put_into_frames(pool);
    }

    fn open_due(&mut self, now: Moment) {
        if self.next_hop.is_none() {
            return;
        }
        let start = *self.start.get_or_insert(now);
        let Role::Clients { concurrent, total, .. } = self.plan.role else { return };
        if self.stopped {
            return;
        }
        let by_rate = self.pace.map_or(u64::MAX, |pace| pace.by(now.since(start)));
        let due = by_rate.min(total.unwrap_or(u64::MAX)).saturating_sub(self.counts.opened);
        let room = concurrent.saturating_sub(self.open) as u64;
        for _ in 0..due.min(room).min(OPEN_AT_ONCE) {
            let Some(tuple) = self.free_tuple() else {
                self.counts.no_tuple += 1;
                return;
            };
            let iss = self.prng.next() as u32;
            let connection = Connection::open(
                tuple,
                iss,
                &mut Context {
                    now,
                    settings: &self.settings,
                    counts: &mut self.counts,
                    out: &mut self.segments,
                },
            );
            self.counts.opened += 1;
            let at = self.add(now, connection);
            self.arm(at);
        }
    }

    /// The next tuple that is not in use, ports changing fastest.
    fn free_tuple(&mut self) -> Option<Tuple> {
        let Role::Clients { servers, services, .. } = self.plan.role else { return None };
        for _ in 0..PASS_OVER {
            let mut rest = self.tuples;
            self.tuples += 1;
            let mut digit = |base: u64| {
                let digit = rest % base;
                rest /= base;
                digit
            };
            let local_port = self.plan.ports.0 + digit(count_of(self.plan.ports)) as u16;
            let local = self.plan.addresses.first() + digit(hosts(self.plan.addresses)) as u32;
            let remote = servers.first() + digit(hosts(servers)) as u32;
            let remote_port = services.0 + digit(count_of(services)) as u16;
            let tuple = Tuple { local, remote, local_port, remote_port };
            if !self.by_tuple.contains_key(&tuple) {
                return Some(tuple);
            }
        }
        None
    }

    fn add(&mut self, now: Moment, connection: Connection) -> u32 {
        let tuple = connection.tuple;
        let slot =
            Slot { connection, host: Host::new(now), established: false, open: true, armed: NEVER };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.by_tuple.insert(tuple, at);
        self.open += 1;
        self.counts.concurrent_max = self.counts.concurrent_max.max(self.by_tuple.len() as u64);
        at
    }

    /// After something has happened to a connection: what its host does next, then what is to be
    /// sent.
    fn go_on(&mut self, now: Moment, at: u32) {
        let slot = &mut self.slots[at as usize];
        if !slot.established && !is_opening(slot.connection.state) {
            slot.established = !matches!(slot.connection.state, State::Closed(_));
            if slot.established {
                self.counts.established += 1;
                if matches!(self.plan.role, Role::Clients { .. }) {
                    self.counts.connect_ns.record(now.since(slot.host.since).as_nanos() as u64);
                }
            }
        }
        if slot.established {
            match self.plan.role {
                Role::Clients { hold, .. } => {
                    let hold = if self.released { Duration::ZERO } else { hold };
                    let Slot { connection, host, .. } = slot;
                    host.ask(now, connection, &self.plan.transactions, hold, &mut self.counts);
                }
                Role::Servers => {
                    let Slot { connection, host, .. } = slot;
                    host.answer(connection, &self.plan.transactions, &mut self.counts);
                }
            }
            slot.connection.transmit(&mut Context {
                now,
                settings: &self.settings,
                counts: &mut self.counts,
                out: &mut self.segments,
            });
        }
        let state = slot.connection.state;
        let over = matches!(state, State::TimeWait | State::Closed(_));
        if slot.open && over {
            slot.open = false;
            self.open -= 1;
            self.counts.never_established += u64::from(!slot.established);
            match state {
                State::Closed(End::Reset) => self.counts.reset += 1,
                State::Closed(End::TimedOut) => self.counts.timed_out += 1,
                _ => self.counts.closed += 1,
            }
        }
        match state {
            State::Closed(_) => self.forget(at),
            _ => self.arm(at),
        }
    }

    fn forget(&mut self, at: u32) {
        let slot = &mut self.slots[at as usize];
        slot.armed = NEVER;
        self.by_tuple.remove(&slot.connection.tuple);
        self.free.push(at);
    }

    /// Puts the slot's next time into the heap, unless an earlier one is there.
    fn arm(&mut self, at: u32) {
        let slot = &mut self.slots[at as usize];
        let due = slot.connection.deadline().min(slot.host.wake);
        if due < slot.armed {
            slot.armed = due;
            self.timers.push(Reverse((due, at)));
        }
    }

    fn put_into_frames(&mut self, pool: &mut Pool) {
        let Some(next_hop) = self.next_hop else {
            self.segments.clear(); // nobody to send them to: as if lost, and sent again
            return;
        };
        for segment in self.segments.drain(..) {
            self.ident = self.ident.wrapping_add(1);
            match segment.write((self.plan.mac, next_hop), self.ident, pool) {
                Some(frame) => {
                    self.frames.push(frame);
                    self.counts.segments_sent += 1;
                }
                None => self.counts.starved += 1,
            }
        }
    }

    fn flush<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        let n = self.frames.len();
        for frame in self.frames.drain(..) {
            self.outgoing.push(frame);
            if self.outgoing.room() == 0 {
                port.send(now, pool, &mut self.outgoing);
            }
        }
        if !self.outgoing.is_empty() {
            port.send(now, pool, &mut self.outgoing);
        }
        n
    }

    /// Answers for our addresses; learns the next hop's.
    fn take_arp(&mut self, message: ArpMessage, pool: &mut Pool) {
        if self.plan.next_hop == NextHop::Arp(message.sender_ip) {
            self.next_hop = Some(message.sender_mac);
        }
        if message.operation == Operation::Request
            && self.plan.addresses.contains(message.target_ip)
        {
            self.send_arp(message.reply_from(self.plan.mac), pool);
        }
    }

    fn ask_for_next_hop(&mut self, now: Moment, pool: &mut Pool) {
        let NextHop::Arp(address) = self.plan.next_hop else { return };
        let every = if self.next_hop.is_some() { ASK.1 } else { ASK.0 };
        if self.asked.is_some_and(|asked| now.since(asked) < every) {
            return;
        }
        self.asked = Some(now);
        let own = self.plan.addresses.first();
        self.send_arp(ArpMessage::request(self.plan.mac, own, address), pool);
    }

    fn send_arp(&mut self, message: ArpMessage, pool: &mut Pool) {
        let bytes = craft::arp(message).build();
        match pool.alloc(bytes.len()) {
            Some(mut frame) => {
                pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
                self.frames.push(frame);
            }
            None => self.counts.starved += 1,
        }
    }
}

fn is_opening(state: State) -> bool {
    matches!(state, State::SynSent | State::SynReceived)
}

/// A hash for tuples: they are ours to choose, or a laboratory's.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0.rotate_left(23) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
