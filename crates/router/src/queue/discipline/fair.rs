//! Fair shares: flows in turn, each as many bytes as the others (deficit round robin).
//!
//! ```text
//!  sfq       1024 hashed flows, rotated                 full: the longest loses its last packet
//!  fq_codel  1024 hashed flows, new ones first, CoDel   full: the fattest loses its first packets
//!  a tin of cake  flows by name, hosts share first, CoDel
//! ```
//!
//! RFC 8290 is fq_codel; McKenney 1990 is sfq.

use super::ack::AckFilter;
use super::codel::{Codel, CodelLimits};
use crate::queue::nodes::{Label, List, Ring};
use std::collections::{HashMap, VecDeque};
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
    /// Whose shares are equal.
    pub isolation: Isolation,
    /// Acknowledgements that go for a later one.
    pub acks: AckFilter,
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
    pub(super) fn sfq(allot: u32) -> FairLimits {
        FairLimits {
            packets: 128,
            bytes: u64::MAX,
            flows: 1024,
            quantum: allot,
            codel: None,
            isolation: Isolation::Flows,
            acks: AckFilter::None,
        }
    }
}

#[derive(Clone, Debug)]
struct Flow {
    ring: Ring,
    deficit: i64,
    codel: Option<Codel>,
    tuple: FiveTuple,
    key: FiveTuple,
    /// In the lists of those that have a turn.
    active: bool,
}

#[derive(Clone, Debug)]
pub(in crate::queue) struct Fair {
    limits: FairLimits,
    flows: Vec<Flow>,
    free: Vec<u32>,
    by_key: HashMap<FiveTuple, u32>,
    fresh: VecDeque<u32>,
    old: VecDeque<u32>,
    /// How many flows have a turn, by host.
    by_src: HashMap<u32, u32>,
    by_dst: HashMap<u32, u32>,
    pub(super) packets: u32,
    pub(super) bytes: u64,
    perturb: Duration,
    perturbed: Moment,
    seed: u32,
}

impl Fair {
    pub(super) fn new(limits: FairLimits, perturb: Duration) -> Fair {
        Fair {
            limits,
            flows: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            by_src: HashMap::new(),
            by_dst: HashMap::new(),
            packets: 0,
            bytes: 0,
            perturb,
            perturbed: Moment::ZERO,
            seed: 0,
        }
    }

    pub(super) fn enqueue(&mut self, list: &mut List, node: u32, now: Moment) {
        if self.perturb > Duration::ZERO && now.since(self.perturbed) >= self.perturb {
            self.perturbed = now;
            self.hash_anew(list);
        }
        let (label, len) = (list[node].label, list[node].len);
        let at = self.flow(label);
        let ring = &mut self.flows[at as usize].ring;
        ring.push(list, node);
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + u64::from(len));
        if let Some(old) = self.limits.acks.take(ring, list, node) {
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(list[old].len));
            list.dropped.push(old);
        }
        self.activate(at);
        while self.packets > self.limits.packets || self.bytes > self.limits.bytes {
            self.drop_one(list);
        }
    }

    pub(super) fn dequeue(&mut self, list: &mut List, now: Moment) -> Option<u32> {
        loop {
            let is_fresh = !self.fresh.is_empty();
            let at = *if is_fresh { self.fresh.front()? } else { self.old.front()? };
            let quantum = self.quantum(at);
            let flow = &mut self.flows[at as usize];
            if flow.deficit <= 0 {
                flow.deficit += quantum;
                self.rotate(is_fresh);
                continue;
            }
            let before = flow.ring;
            let node = match &mut flow.codel {
                Some(codel) => codel.dequeue(&mut flow.ring, list, now),
                None => flow.ring.pop(list),
            };
            self.packets -= before.packets - flow.ring.packets;
            self.bytes -= before.bytes - flow.ring.bytes;
            if let Some(node) = node {
                flow.deficit -= i64::from(list[node].len);
                if flow.ring.packets == 0 && flow.codel.is_none() {
                    self.retire(at, is_fresh);
                }
                return Some(node);
            }
            // RFC 8290 §4.2: a new flow that is empty waits for its turn among the old ones.
            if is_fresh && !self.old.is_empty() {
                self.rotate(true);
            } else {
                self.retire(at, is_fresh);
            }
        }
    }

    pub(super) fn rings(&mut self) -> impl Iterator<Item = &mut Ring> {
        self.flows.iter_mut().map(|flow| &mut flow.ring)
    }

    /// Moves the flow whose turn it is behind the old ones.
    fn rotate(&mut self, is_fresh: bool) {
        let from = if is_fresh { self.fresh.pop_front() } else { self.old.pop_front() };
        self.old.extend(from);
    }

    /// The flow whose turn it is has nothing left.
    fn retire(&mut self, at: u32, is_fresh: bool) {
        if is_fresh {
            self.fresh.pop_front()
        } else {
            self.old.pop_front()
        };
        let flow = &mut self.flows[at as usize];
        flow.active = false;
        let tuple = flow.tuple;
        for (hosts, host) in [(&mut self.by_src, tuple.src), (&mut self.by_dst, tuple.dst)] {
            if let Some(n) = hosts.get_mut(&host) {
                *n -= 1;
                if *n == 0 {
                    hosts.remove(&host);
                }
            }
        }
        // CoDel's memory of a flow is worth keeping for a while; that of thousands is not.
        if self.limits.codel.is_none() || self.by_key.len() > 1024 {
            self.by_key.remove(&self.flows[at as usize].key);
            self.free.push(at);
        }
    }

    fn activate(&mut self, at: u32) {
        let flow = &mut self.flows[at as usize];
        if flow.active {
            return;
        }
        flow.active = true;
        let tuple = flow.tuple;
        *self.by_src.entry(tuple.src).or_default() += 1;
        *self.by_dst.entry(tuple.dst).or_default() += 1;
        let quantum = self.quantum(at);
        self.flows[at as usize].deficit = quantum;
        if self.limits.codel.is_some() { &mut self.fresh } else { &mut self.old }.push_back(at);
    }

    /// A flow's share of a turn: hosts share first, where they are to.
    fn quantum(&self, at: u32) -> i64 {
        let tuple = self.flows[at as usize].tuple;
        let flows = |hosts: &HashMap<u32, u32>, host| hosts.get(&host).copied().unwrap_or(1).max(1);
        let (src, dst) = (flows(&self.by_src, tuple.src), flows(&self.by_dst, tuple.dst));
        let load = match self.limits.isolation {
            Isolation::DualSrcHost => src,
            Isolation::DualDstHost => dst,
            Isolation::Triple => src.max(dst),
            _ => 1,
        };
        i64::from((self.limits.quantum / load).max(1))
    }

    fn flow(&mut self, label: Label) -> u32 {
        let key = self.key(label.tuple);
        if let Some(&at) = self.by_key.get(&key) {
            if !self.flows[at as usize].active {
                self.flows[at as usize].tuple = label.tuple;
            }
            return at;
        }
        let flow = Flow {
            ring: Ring::default(),
            deficit: 0,
            codel: self.limits.codel.map(Codel::new),
            tuple: label.tuple,
            key,
            active: false,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.flows[at as usize] = flow;
                at
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        self.by_key.insert(key, at);
        at
    }

    /// What packets of one flow have in common.
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

    /// No room: whoever has most loses.
    pub(super) fn drop_one(&mut self, list: &mut List) {
        let active = self.fresh.iter().chain(&self.old);
        let Some(&at) = active.max_by_key(|&&at| self.flows[at as usize].ring.bytes) else {
            return;
        };
        let ring = &mut self.flows[at as usize].ring;
        let before = *ring;
        if self.limits.codel.is_some() {
            let first = ring.pop(list);
            list.dropped.extend(first);
        } else {
            // The last: the others stay in their order.
            let mut rest = Ring::default();
            while let Some(node) = ring.pop(list) {
                if ring.packets == 0 {
                    list.dropped.push(node);
                } else {
                    rest.push(list, node);
                }
            }
            *ring = rest;
        }
        self.packets -= before.packets - ring.packets;
        self.bytes -= before.bytes - ring.bytes;
    }

    /// Flows that fell together are apart from now on, most likely.
    fn hash_anew(&mut self, list: &mut List) {
        self.seed = self.seed.wrapping_mul(0x915f_77f5).wrapping_add(0x3c6e_f372);
        let turns: Vec<u32> = self.fresh.drain(..).chain(self.old.drain(..)).collect();
        let mut rings: Vec<Ring> =
            turns.iter().map(|&at| std::mem::take(&mut self.flows[at as usize].ring)).collect();
        self.flows.clear();
        self.free.clear();
        self.by_key.clear();
        self.by_src.clear();
        self.by_dst.clear();
        for ring in &mut rings {
            while let Some(node) = ring.pop(list) {
                let at = self.flow(list[node].label);
                self.flows[at as usize].ring.push(list, node);
                self.activate(at);
            }
        }
    }
}
