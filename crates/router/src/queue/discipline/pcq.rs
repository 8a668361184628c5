//! PCQ, per connection queuing: a sub-queue for each value of the classifier, each with its own rate.
//!
//! ```text
//! classifier: src/dst address (masked), src/dst port ─► sub-queue: FIFO of pcq-limit, bucket of pcq-rate
//!                                                        └─ served in turn; pcq-rate=0: equal shares
//! ```
//!
//! Addresses of IPv6 come folded (`Label::v6`), cut to the masks of the first such queue on their way.
//! Missing: **other masks of a second one** on the way of the same packet.

use super::limit;
use crate::queue::bucket::Bucket;
use crate::queue::burst::{Burst, BurstLimit};
use crate::queue::discipline::Next;
use crate::queue::nodes::{Label, List, Ring};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use wire::{FiveTuple, Moment};

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcqLimits {
    /// `pcq-rate`, bits per second of each sub-queue; 0 means unlimited.
    pub rate: u64,
    /// `pcq-limit`, bytes in each.
    pub limit: u64,
    /// `pcq-total-limit`, bytes in all.
    pub total: u64,
    /// `pcq-classifier` and its masks.
    pub classifier: Classifier,
    /// `pcq-burst-*`.
    pub burst: BurstLimit,
}

/// What tells sub-queues apart: the bits of a tuple that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classifier {
    /// Of the source address.
    pub src: u32,
    /// Of the destination address.
    pub dst: u32,
    /// Of the source port.
    pub src_port: u16,
    /// Of the destination port.
    pub dst_port: u16,
    /// How many leading bits of an IPv6 source and destination, of those that are looked at at all.
    pub len6: [u8; 2],
}

#[derive(Clone, Debug)]
struct Sub {
    ring: Ring,
    bucket: Bucket,
    burst: Option<Burst>,
    rate: u64,
    deficit: i64,
    key: FiveTuple,
}

#[derive(Clone, Debug)]
pub(in crate::queue) struct Pcq {
    limits: PcqLimits,
    subs: Vec<Sub>,
    free: Vec<u32>,
    by_key: HashMap<FiveTuple, u32>,
    turns: VecDeque<u32>,
    /// Those who wait for tokens.
    later: BinaryHeap<Reverse<(Moment, u32)>>,
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

const QUANTUM: i64 = 1514;
/// More sub-queues without packets than this are not remembered.
const IDLE: usize = 4096;

impl Pcq {
    pub(super) fn new(limits: PcqLimits) -> Pcq {
        Pcq {
            limits,
            subs: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            turns: VecDeque::new(),
            later: BinaryHeap::new(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(super) fn lengths6(&self) -> [u8; 2] {
        self.limits.classifier.len6
    }

    pub(super) fn enqueue(&mut self, list: &mut List, node: u32, now: Moment) {
        let len = u64::from(list[node].len);
        let at = self.sub(list[node].label, now);
        let sub = &mut self.subs[at as usize];
        if sub.ring.bytes + len > self.limits.limit || self.bytes + len > self.limits.total {
            return list.dropped.push(node);
        }
        sub.ring.push(list, node);
        if sub.ring.packets == 1 {
            sub.deficit = QUANTUM;
            self.turns.push_back(at);
        }
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + len);
    }

    pub(super) fn dequeue(&mut self, list: &mut List, now: Moment) -> Next {
        while let Some(&Reverse((when, at))) = self.later.peek() {
            if when > now {
                break;
            }
            self.later.pop();
            self.turns.push_back(at);
        }
        while let Some(&at) = self.turns.front() {
            let sub = &mut self.subs[at as usize];
            if let Some(when) = sub.wait(&self.limits, now) {
                self.turns.pop_front();
                self.later.push(Reverse((when, at)));
                continue;
            }
            if sub.deficit <= 0 {
                sub.deficit += QUANTUM;
                self.turns.rotate_left(1);
                continue;
            }
            let Some(node) = sub.ring.pop(list) else {
                self.turns.pop_front();
                continue;
            };
            let len = list[node].len;
            sub.deficit -= i64::from(len);
            sub.bucket.charge(len);
            if let Some(burst) = &mut sub.burst {
                burst.count(len);
            }
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(len));
            if sub.ring.packets == 0 {
                self.turns.pop_front();
                if self.limits.rate == 0 {
                    self.forget(at);
                }
            }
            return Next::Packet(node);
        }
        match self.later.peek() {
            Some(&Reverse((when, _))) => Next::Later(when),
            None => Next::Empty,
        }
    }

    pub(super) fn rings(&mut self) -> impl Iterator<Item = &mut Ring> {
        self.subs.iter_mut().map(|sub| &mut sub.ring)
    }

    fn forget(&mut self, at: u32) {
        self.by_key.remove(&self.subs[at as usize].key);
        self.free.push(at);
    }

    fn sub(&mut self, label: Label, now: Moment) -> u32 {
        let (tuple, mut mask) = (label.tuple, self.limits.classifier);
        // Addresses of IPv6 are folded, and were masked before.
        if label.v6 {
            [mask.src, mask.dst] =
                [mask.src, mask.dst].map(|mask| if mask == 0 { 0 } else { u32::MAX });
        }
        let key = FiveTuple {
            src: tuple.src & mask.src,
            dst: tuple.dst & mask.dst,
            src_port: tuple.src_port & mask.src_port,
            dst_port: tuple.dst_port & mask.dst_port,
            protocol: u8::from(label.v6),
        };
        if let Some(&at) = self.by_key.get(&key) {
            return at;
        }
        if self.by_key.len() >= IDLE + self.turns.len() + self.later.len() {
            let idle = self.by_key.values().copied();
            let idle: Vec<u32> =
                idle.filter(|&at| self.subs[at as usize].ring.packets == 0).collect();
            idle.into_iter().for_each(|at| self.forget(at));
        }
        let bursts = self.limits.rate > 0 && self.limits.burst.is_some();
        let sub = Sub {
            ring: Ring::default(),
            bucket: Bucket::new(limit(self.limits.rate), now).with_room_for_a_packet(),
            burst: bursts.then(|| Burst::new(self.limits.burst)),
            rate: self.limits.rate,
            deficit: 0,
            key,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.subs[at as usize] = sub;
                at
            }
            None => {
                self.subs.push(sub);
                self.subs.len() as u32 - 1
            }
        };
        self.by_key.insert(key, at);
        at
    }
}

impl Sub {
    /// Until when it must wait for tokens, if it must.
    fn wait(&mut self, limits: &PcqLimits, now: Moment) -> Option<Moment> {
        let mut next = None;
        if let Some(burst) = &mut self.burst {
            let rate = burst.rate(now).unwrap_or(limits.rate);
            next = Some(burst.next());
            if rate != self.rate {
                self.rate = rate;
                self.bucket = self.bucket.with_limit(limit(rate), now).with_room_for_a_packet();
            }
        }
        let when = self.bucket.clear(now)?;
        Some(next.map_or(when, |next| when.min(next)))
    }
}
