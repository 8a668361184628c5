//! Fair shares: flows in turn, each as many bytes as the others (deficit round robin).
//!
//! ```text
//!  sfq       1024 hashed flows, rotated                 full: the longest loses its last packet
//!  fq_codel  1024 hashed flows, new ones first, CoDel   full: the fattest loses its first packets
//!  a tin of cake  flows by name, hosts share first, CoDel and BLUE
//!
//!  new flows ─────────────────────► each its turn, once
//!  old flows, or hosts ─► flows ──► round and round
//! ```
//!
//! RFC 8290 is fq_codel; McKenney 1990 is sfq. Where hosts share, they have turns and their flows have
//! turns in theirs: cake's `triple-isolate` puts a flow to that one of its two hosts that has more flows.
//!
//! A queue of few flows, as most are, costs few cache lines: its first stands in line with it, the few are
//! looked through, and stand in lists by their own numbers.

use super::ack::AckFilter;
use super::blue::Blue;
use super::codel::CodelLimits;
use super::flows::{FREE, Flow, Flows, IDLE, Turned, Turns};
use crate::queue::nodes::{Label, List, Ring};
use crate::secret::Secret;
use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::Arc;
use std::time::Duration;
use wire::{FiveTuple, Moment};

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairLimits {
    /// Packets at most.
    pub packets: u32,
    /// Bytes at most.
    pub bytes: u64,
    /// Into how many flows the 5-tuples are hashed; 0 keeps each by itself.
    pub flows: u32,
    /// Bytes a flow may send in its turn.
    pub quantum: u32,
    /// How long they may wait; nobody is dropped for waiting if there is none.
    pub codel: Option<CodelLimits>,
    /// Whether who fills the queue again and again loses packets by chance.
    pub blue: bool,
    /// Whose shares are equal.
    pub isolation: Isolation,
    /// Acknowledgements that go for a later one.
    pub acks: AckFilter,
    /// How often flows are hashed anew; 0 is never.
    pub perturb: Duration,
}

/// Whose shares are equal: cake's `flowmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // RouterOS's words
pub enum Isolation {
    Flowblind,
    SrcHost,
    DstHost,
    Hosts,
    Flows,
    DualSrcHost,
    DualDstHost,
    Triple,
}

impl FairLimits {
    /// Those of sfq: 128 packets in all.
    pub(super) fn sfq(allot: u32, perturb: Duration) -> FairLimits {
        FairLimits {
            packets: 128,
            bytes: u64::MAX,
            flows: 1024,
            quantum: allot,
            codel: None,
            blue: false,
            isolation: Isolation::Flows,
            acks: AckFilter::None,
            perturb,
        }
    }

    /// Whether hosts share before flows do.
    fn has_hosts(&self) -> bool {
        matches!(
            self.isolation,
            Isolation::DualSrcHost | Isolation::DualDstHost | Isolation::Triple
        )
    }
}

const NONE: u32 = u32::MAX;
/// So many flows are looked through; more have a table.
const FEW: usize = 8;
/// So many flows are known though they are idle; of more, what CoDel knows of them decides.
const KNOWN: usize = 64;
/// Of more flows than these nothing is worth keeping.
const REMEMBERED: usize = 1024;
/// RFC 8290 §4.1: as many packets at most are dropped at once, of a queue that is full.
const DROPPED_AT_ONCE: u32 = 64;

// What each packet touches of a queue of one flow stands first: it has two cache lines with the class's own.
#[derive(Clone, Debug)]
#[repr(C)]
pub(in crate::queue) struct Fair {
    limits: Arc<FairLimits>,
    pub(super) bytes: u64,
    pub(super) packets: u32,
    seed: u32,
    fresh: Turns,
    /// Where no hosts share.
    old: Turns,
    flows: Flows,
    more: Box<More>,
}

/// What few packets ask for.
#[derive(Clone, Debug, Default)]
struct More {
    perturbed: Moment,
    hosts: Hosts,
    blue: Blue,
    free: Vec<u32>,
    /// Of more than a few flows: by hash their numbers, or by name.
    by_hash: Vec<u32>,
    by_key: HashMap<FiveTuple, u32, Secret>,
}

impl Fair {
    /// So many of its bytes a packet touches, if there is one flow.
    pub(in crate::queue) const TOUCHED: usize = offset_of!(Fair, flows) + Flows::TOUCHED;

    pub(super) fn new(limits: Arc<FairLimits>) -> Fair {
        Fair {
            limits,
            bytes: 0,
            packets: 0,
            seed: 0,
            fresh: Turns::NOBODY,
            old: Turns::NOBODY,
            flows: Flows::new(),
            more: Box::default(),
        }
    }

    pub(super) fn enqueue(&mut self, list: &mut List, node: u32, now: Moment) {
        let perturb = self.limits.perturb;
        if perturb > Duration::ZERO && now.since(self.more.perturbed) >= perturb {
            self.more.perturbed = now;
            self.hash_anew(list);
        }
        let (label, len) = (list[node].label, list[node].len);
        let at = self.flow(label);
        let ring = &mut self.flows[at].ring;
        ring.push(list, node);
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + u64::from(len));
        if let Some(old) = self.limits.acks.take(ring, list, node) {
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(list[old].len));
            list.dropped.push(old);
        }
        self.activate(at, label.tuple);
        while self.packets > self.limits.packets || self.bytes > self.limits.bytes {
            self.drop_some(list, DROPPED_AT_ONCE, now);
        }
    }

    /// Other terms of CoDel from now on.
    pub(super) fn set_codel(&mut self, codel: CodelLimits) {
        self.limits = Arc::new(FairLimits { codel: Some(codel), ..*self.limits });
    }

    pub(super) fn dequeue(&mut self, list: &mut List, now: Moment) -> Option<u32> {
        loop {
            let is_fresh = self.fresh.first != NONE;
            let at = self.next();
            let flow = self.flows.get_mut(at)?;
            if flow.deficit <= 0 {
                flow.deficit += self.limits.quantum();
                self.rotate(is_fresh);
                continue;
            }
            let before = flow.ring;
            let node = match &self.limits.codel {
                Some(limits) => flow.codel.dequeue(limits, &mut flow.ring, list, now),
                None => flow.ring.pop(list),
            };
            self.packets -= before.packets - flow.ring.packets;
            self.bytes -= before.bytes - flow.ring.bytes;
            if let Some(node) = node {
                // Its last packet goes, whoever it is.
                if self.limits.blue && flow.ring.packets > 0 && self.more.blue.drops(at) {
                    list.dropped.push(node);
                    continue;
                }
                let len = list[node].len.min(1 << 24).cast_signed();
                flow.deficit -= len;
                let is_empty = flow.ring.packets == 0;
                if self.limits.has_hosts() {
                    self.more.hosts.charge(at, len);
                }
                if is_empty && self.limits.codel.is_none() {
                    self.retire(is_fresh);
                }
                return Some(node);
            }
            if let Some(target) = self.limits.blue_target() {
                self.more.blue.empty(at, target, now);
            }
            // RFC 8290 §4.2: a new flow that is empty waits for its turn among the old ones.
            if is_fresh && !self.has_old() {
                self.retire(true);
            } else if is_fresh {
                self.rotate(true);
            } else {
                self.retire(false);
            }
        }
    }

    /// The flow whose turn it is: new ones first.
    fn next(&mut self) -> u32 {
        if self.fresh.first != NONE {
            self.fresh.first
        } else if self.limits.has_hosts() {
            self.more.hosts.next_flow(self.limits.quantum())
        } else {
            self.old.first
        }
    }

    fn has_old(&self) -> bool {
        self.old.first != NONE || self.more.hosts.turns.first != NONE
    }

    /// Takes the flow out whose turn it is.
    fn take(&mut self, is_fresh: bool) -> Option<u32> {
        if is_fresh {
            self.fresh.pop(&mut self.flows)
        } else if self.limits.has_hosts() {
            self.more.hosts.take_flow(&mut self.flows)
        } else {
            self.old.pop(&mut self.flows)
        }
    }

    /// Moves the flow whose turn it is behind the old ones.
    fn rotate(&mut self, is_fresh: bool) {
        let Some(at) = self.take(is_fresh) else { return };
        if self.limits.has_hosts() {
            self.more.hosts.push_flow(at, &mut self.flows);
        } else {
            self.old.push(&mut self.flows, at);
        }
    }

    /// The flow whose turn it is has nothing left.
    fn retire(&mut self, is_fresh: bool) {
        let Some(at) = self.take(is_fresh) else { return };
        if self.limits.has_hosts() {
            self.more.hosts.leave(at);
        }
        let known = self.flows.len() - self.more.free.len();
        let flow = &mut self.flows[at];
        flow.next = IDLE;
        let is_fresh = self.limits.codel.is_none() || flow.codel.is_fresh();
        if known > REMEMBERED || known > KNOWN && is_fresh {
            flow.next = FREE;
            self.more.free.push(at);
            if let Some(place) = self.more.by_hash.get_mut(flow.key.src as usize) {
                *place = NONE;
            } else if !self.more.by_key.is_empty() {
                self.more.by_key.remove(&flow.key);
            }
        }
    }

    fn activate(&mut self, at: u32, tuple: FiveTuple) {
        let flow = &mut self.flows[at];
        if flow.has_turn() {
            return;
        }
        flow.deficit = self.limits.quantum();
        if self.limits.has_hosts() {
            self.more.hosts.enter(at, [tuple.src, tuple.dst], self.limits.isolation);
        }
        match self.limits.codel {
            Some(_) => self.fresh.push(&mut self.flows, at),
            None => self.old.push(&mut self.flows, at),
        }
    }

    /// The flow of a packet, which may be new.
    fn flow(&mut self, label: Label) -> u32 {
        let key = self.key(label.tuple);
        let has_table = self.flows.len() > FEW;
        let known = if !has_table {
            let at = self.flows.iter().position(|flow| flow.key == key && flow.next != FREE);
            at.map(|at| at as u32)
        } else if let Some(&at) = self.more.by_hash.get(key.src as usize) {
            (at != NONE).then_some(at)
        } else {
            self.more.by_key.get(&key).copied()
        };
        if let Some(at) = known {
            return at;
        }
        let flow = Flow::new(key);
        let at = match self.more.free.pop() {
            Some(at) => {
                self.flows[at] = flow;
                self.more.blue.forget(at);
                at
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        if has_table {
            self.note(key, at);
        } else if self.flows.len() > FEW {
            self.more.by_hash.resize(self.limits.flows as usize, NONE);
            for at in 0..self.flows.len() as u32 {
                if self.flows[at].next != FREE {
                    self.note(self.flows[at].key, at);
                }
            }
        }
        at
    }

    /// Puts a flow in the table.
    fn note(&mut self, key: FiveTuple, at: u32) {
        match self.more.by_hash.get_mut(key.src as usize) {
            Some(place) => *place = at,
            None => _ = self.more.by_key.insert(key, at),
        }
    }

    /// What packets of one flow have in common; of hashed ones the hash alone.
    fn key(&self, tuple: FiveTuple) -> FiveTuple {
        let FiveTuple { src, dst, .. } = tuple;
        let none = FiveTuple::default();
        let key = match self.limits.isolation {
            Isolation::Flowblind => none,
            Isolation::SrcHost => FiveTuple { src, ..none },
            Isolation::DstHost => FiveTuple { dst, ..none },
            Isolation::Hosts => FiveTuple { src, dst, ..none },
            _ => tuple,
        };
        if self.limits.flows == 0 {
            return key;
        }
        let salted = FiveTuple { src: key.src ^ self.seed, ..key };
        FiveTuple { src: salted.hash() % self.limits.flows, ..none }
    }

    /// No room: whoever has most loses, at most half of it, and so many packets.
    pub(super) fn drop_some(&mut self, list: &mut List, most: u32, now: Moment) {
        let active = (0..).zip(self.flows.iter_mut()).filter(|(_, flow)| flow.has_turn());
        let Some((at, flow)) = active.max_by_key(|(_, flow)| flow.ring.bytes) else { return };
        if let Some(target) = self.limits.blue_target() {
            self.more.blue.full(at, target, now);
        }
        let ring = &mut flow.ring;
        let before = *ring;
        if self.limits.codel.is_none() {
            // The last: the others stay in their order.
            let last = ring.pop_last(list);
            list.dropped.extend(last);
        } else {
            for _ in 0..most {
                let first = ring.pop(list);
                list.dropped.extend(first);
                if ring.bytes <= before.bytes / 2 {
                    break;
                }
            }
        }
        self.packets -= before.packets - ring.packets;
        self.bytes -= before.bytes - ring.bytes;
    }

    /// Flows that fell together are apart from now on, most likely.
    fn hash_anew(&mut self, list: &mut List) {
        self.seed = self.seed.wrapping_mul(0x915f_77f5).wrapping_add(0x3c6e_f372);
        let mut rings = Vec::new();
        while let Some(at) = self.fresh.pop(&mut self.flows).or_else(|| self.take(false)) {
            rings.push(self.flows[at].ring);
        }
        self.flows.clear();
        self.more.free.clear();
        self.more.by_hash.clear();
        self.more.by_key.clear();
        self.more.hosts = Hosts::default();
        self.more.blue = Blue::default();
        for ring in &mut rings {
            while let Some(node) = ring.pop(list) {
                let label = list[node].label;
                let at = self.flow(label);
                self.flows[at].ring.push(list, node);
                self.activate(at, label.tuple);
            }
        }
    }

    /// The flow whose turn it is, most likely; the first if it is nobody's.
    fn likely(&self) -> u32 {
        let turns = if self.fresh.first != NONE { self.fresh } else { self.old };
        if turns.first == NONE { 0 } else { turns.first }
    }

    /// Asks for the flow whose turn it is.
    pub(super) fn foresee_flow(&self) {
        self.flows.foresee(self.likely());
    }

    /// What waits of it.
    pub(super) fn next_ring(&self) -> Option<Ring> {
        self.flows.get(self.likely()).map(|flow| flow.ring)
    }

    pub(super) fn rings(&mut self) -> impl Iterator<Item = &mut Ring> {
        self.flows.iter_mut().map(|flow| &mut flow.ring)
    }
}

impl FairLimits {
    /// What a flow, or a host, may send in its turn: at least what Linux gives it, for with a byte a turn
    /// one packet takes a thousand of them.
    fn quantum(&self) -> i32 {
        self.quantum.clamp(256, 1 << 30).cast_signed()
    }

    /// CoDel's target, where BLUE stands beside it.
    fn blue_target(&self) -> Option<Duration> {
        self.codel.filter(|_| self.blue).map(|codel| codel.target)
    }
}

/// Hosts with flows that have turns: they share first.
#[derive(Clone, Debug)]
struct Hosts {
    /// Those with old flows.
    turns: Turns,
    hosts: Vec<Host>,
    free: Vec<u32>,
    /// Sources and destinations by their addresses.
    places: [HashMap<u32, u32, Secret>; 2],
    /// By flow: its two hosts, and the one in whose turns it is.
    of_flow: Vec<([u32; 2], u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    address: u32,
    side: u8,
    /// How many of its flows have turns.
    flows: u32,
    /// The old ones of those that are in its own.
    old: Turns,
    deficit: i32,
    next: u32,
}

impl Turned for Vec<Host> {
    fn next(&mut self, at: u32) -> &mut u32 {
        &mut self[at as usize].next
    }
}

impl Default for Hosts {
    fn default() -> Hosts {
        Hosts {
            turns: Turns::NOBODY,
            hosts: Vec::new(),
            free: Vec::new(),
            places: Default::default(),
            of_flow: Vec::new(),
        }
    }
}

impl Hosts {
    /// A flow of these hosts has turns from now on, in one host's.
    fn enter(&mut self, flow: u32, addresses: [u32; 2], isolation: Isolation) {
        let [src, dst] = [0, 1].map(|side| self.host(side, addresses[usize::from(side)]));
        let flows = |place: u32| self.hosts[place as usize].flows;
        let own = match isolation {
            Isolation::DualSrcHost => src,
            Isolation::DualDstHost => dst,
            _ if flows(src) >= flows(dst) => src,
            _ => dst,
        };
        let size = self.of_flow.len().max(flow as usize + 1);
        self.of_flow.resize(size, ([NONE; 2], NONE));
        self.of_flow[flow as usize] = ([src, dst], own);
    }

    /// One flow more of a host; its place.
    fn host(&mut self, side: u8, address: u32) -> u32 {
        let Hosts { hosts, free, places, .. } = self;
        let place = *places[usize::from(side)].entry(address).or_insert_with(|| {
            let (old, deficit, next) = (Turns::NOBODY, 0, NONE);
            let host = Host { address, side, flows: 0, old, deficit, next };
            match free.pop() {
                Some(place) => {
                    hosts[place as usize] = host;
                    place
                }
                None => {
                    hosts.push(host);
                    hosts.len() as u32 - 1
                }
            }
        });
        hosts[place as usize].flows += 1;
        place
    }

    /// A flow has no turns any more.
    fn leave(&mut self, flow: u32) {
        for place in self.of_flow[flow as usize].0 {
            let host = &mut self.hosts[place as usize];
            host.flows -= 1;
            if host.flows == 0 {
                self.places[usize::from(host.side)].remove(&host.address);
                self.free.push(place);
            }
        }
    }

    /// A flow has sent.
    fn charge(&mut self, flow: u32, len: i32) {
        let own = self.of_flow[flow as usize].1;
        let deficit = &mut self.hosts[own as usize].deficit;
        *deficit = deficit.saturating_sub(len);
    }

    /// The flow whose turn it is, of the host whose turn it is.
    fn next_flow(&mut self, quantum: i32) -> u32 {
        loop {
            let Some(host) = self.hosts.get_mut(self.turns.first as usize) else { return NONE };
            if host.deficit > 0 {
                return host.old.first;
            }
            host.deficit = host.deficit.saturating_add(quantum);
            let first = self.turns.pop(&mut self.hosts);
            first.into_iter().for_each(|at| self.turns.push(&mut self.hosts, at));
        }
    }

    /// Takes that one out.
    fn take_flow(&mut self, flows: &mut Flows) -> Option<u32> {
        let host = self.hosts.get_mut(self.turns.first as usize)?;
        let flow = host.old.pop(flows);
        if host.old.first == NONE {
            self.turns.pop(&mut self.hosts);
        }
        flow
    }

    /// Puts a flow behind the old ones of its host.
    fn push_flow(&mut self, flow: u32, flows: &mut Flows) {
        let own = self.of_flow[flow as usize].1;
        let host = &mut self.hosts[own as usize];
        let begins = host.old.first == NONE;
        host.old.push(flows, flow);
        if begins {
            self.turns.push(&mut self.hosts, own);
        }
    }
}
