//! Activity of queues that have something to do, beside their counters: who waits, what was dropped, how fast
//! they are.
//!
//! ```text
//! idle ─► a packet: active ─► … ─► no packet for a second, nobody waits, nothing was dropped ─► idle
//! ```
//!
//! Of a million queues most are idle, and have no entry here.

use super::leaf::{LeafStats, QueueLeafId};
use super::leaves::{IDLE, Leaf, Leaves};
use super::nodes::{NONE, Ring};
use super::tree::Forest;
use super::wheel::EntryId;
use std::time::Duration;
use wire::Moment;

/// The entry of a leaf that is not idle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    id: QueueLeafId,
    /// Its entry in the wheel, if somebody waits in a plain leaf.
    pub(super) entry: EntryId,
    /// Who waits in a plain leaf.
    pub(super) ring: Ring,
    pub(super) dropped: u64,
    /// Bytes and packets that the leaf had no room to count: it keeps this entry.
    carried: (u64, u64),
    /// The readings at the last sample, and the rates found then.
    sampled: Moment,
    bytes: u64,
    packets: u64,
    rate: u64,
    packet_rate: u32,
}

/// All of them, by place.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity {
    list: Vec<Active>,
    free: Vec<u32>,
    /// Where sampling goes on, and when this round began.
    cursor: usize,
    round: Moment,
}

const SECOND: u64 = 1_000_000_000;

impl Activity {
    /// A leaf has something to do; its place.
    pub(super) fn begin(&mut self, id: QueueLeafId, leaf: &Leaf, now: Moment) -> u32 {
        let (bytes, packets) = leaf.counters();
        let active = Active {
            id,
            entry: NONE,
            ring: Ring::default(),
            dropped: 0,
            carried: (0, 0),
            sampled: now,
            bytes,
            packets,
            rate: 0,
            packet_rate: 0,
        };
        match self.free.pop() {
            Some(place) => {
                self.list[place as usize] = active;
                place
            }
            None => {
                self.list.push(active);
                self.list.len() as u32 - 1
            }
        }
    }

    /// It has none any more.
    pub(super) fn end(&mut self, place: u32) {
        self.list[place as usize].id = QueueLeafId(NONE);
        self.free.push(place);
    }

    /// The entry of a place.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn of(&mut self, place: u32) -> &mut Active {
        &mut self.list[place as usize]
    }

    /// Asks for its memory.
    #[inline]
    pub(super) fn foresee(&self, place: u32) {
        port::prefetch::element(&self.list, place as usize);
    }

    pub(super) fn get(&self, place: u32) -> Option<&Active> {
        self.list.get(place as usize)
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut Active> {
        self.list.get_mut(place as usize)
    }

    /// Takes the rates' samples, of each entry once a second, of a share of them at each call. Leaves that
    /// had nothing to do since the last are idle then.
    pub(super) fn sample(&mut self, leaves: &mut Leaves, forest: &Forest, now: Moment) {
        let elapsed = now.since(self.round);
        let all = self.list.len() as u128;
        let due = elapsed.as_nanos().saturating_mul(all) / u128::from(SECOND);
        let due = due.min(all) as usize;
        for place in self.cursor.min(due)..due {
            let active = &mut self.list[place];
            if active.id.0 == NONE {
                continue;
            }
            let leaf = &mut leaves[active.id];
            if active.sample(leaf, forest.passed(leaf.class()), now) {
                leaf.state = IDLE;
                self.end(place as u32);
            }
        }
        self.cursor = due.max(self.cursor);
        if elapsed >= Duration::from_nanos(SECOND) {
            (self.cursor, self.round) = (0, now);
        }
    }

    /// Memory taken, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Active>()
    }
}

impl Active {
    /// Finds the rates since the last sample; says whether it may rest.
    fn sample(&mut self, leaf: &Leaf, passed: (u64, u64), now: Moment) -> bool {
        let ns = now.since(self.sampled).as_nanos().max(1);
        let per_second =
            |n: u64| (u128::from(n) * u128::from(SECOND) / ns).min(u128::from(u64::MAX)) as u64;
        let (all_bytes, all_packets) = self.counters(leaf, passed);
        let packets = all_packets - self.packets;
        let rests = packets == 0
            && self.packet_rate == 0
            && self.ring.packets == 0
            && self.dropped == 0
            && self.carried == (0, 0)
            && leaf.is_plain();
        self.rate = per_second((all_bytes - self.bytes).saturating_mul(8));
        self.packet_rate = per_second(packets).min(u32::MAX.into()) as u32;
        (self.bytes, self.packets, self.sampled) = (all_bytes, all_packets, now);
        rests
    }

    /// Bytes and packets that passed, with those that passed its class.
    fn counters(&self, leaf: &Leaf, passed: (u64, u64)) -> (u64, u64) {
        let (bytes, packets) = leaf.counters();
        (self.carried.0 + bytes + passed.0, self.carried.1 + packets + passed.1)
    }

    /// Counts what its leaf has counted so far.
    pub(super) fn carry(&mut self, (bytes, packets): (u64, u64)) {
        self.carried = (self.carried.0 + bytes, self.carried.1 + packets);
    }

    /// `reset-counters`.
    pub(super) fn reset(&mut self) {
        (self.bytes, self.packets, self.dropped, self.carried) = (0, 0, 0, (0, 0));
    }

    /// The readings of a leaf in which so much waits.
    pub(super) fn stats(
        &self,
        leaf: &Leaf,
        passed: (u64, u64),
        (queued_packets, queued_bytes): (u32, u64),
    ) -> LeafStats {
        let (bytes, packets) = self.counters(leaf, passed);
        LeafStats {
            bytes,
            packets,
            dropped: self.dropped,
            queued_packets: queued_packets.into(),
            queued_bytes,
            rate: self.rate,
            packet_rate: self.packet_rate.into(),
        }
    }
}
