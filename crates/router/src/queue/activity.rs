//! Activity of queues that have something to do, beside their counters: who waits, what was dropped, how fast
//! they are.
//!
//! ```text
//! idle ─► a packet: active ─► … ─► no packet for a second, nobody waits, nothing was dropped ─► idle
//! ```
//!
//! Of a million queues most are idle, and have no entry here.

use super::leaf::{IDLE, Leaf, LeafStats, QueueLeafId};
use super::nodes::{NONE, Ring};
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
        let active = Active {
            id,
            entry: NONE,
            ring: Ring::default(),
            dropped: 0,
            sampled: now,
            bytes: leaf.bytes,
            packets: leaf.packets,
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

    pub(super) fn get(&self, place: u32) -> Option<&Active> {
        self.list.get(place as usize)
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut Active> {
        self.list.get_mut(place as usize)
    }

    /// Takes the rates' samples, of each entry once a second, of a share of them at each call. Leaves that
    /// had nothing to do since the last are idle then.
    pub(super) fn sample(&mut self, leaves: &mut [Leaf], now: Moment) {
        let elapsed = now.since(self.round);
        let all = self.list.len() as u128;
        let due = elapsed.as_nanos().saturating_mul(all) / u128::from(SECOND);
        let due = due.min(all) as usize;
        for place in self.cursor.min(due)..due {
            let active = &mut self.list[place];
            let Some(leaf) = leaves.get_mut(active.id.index()) else { continue };
            if active.sample(leaf, now) {
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
    fn sample(&mut self, leaf: &Leaf, now: Moment) -> bool {
        let ns = now.since(self.sampled).as_nanos().max(1);
        let per_second =
            |n: u64| (u128::from(n) * u128::from(SECOND) / ns).min(u128::from(u64::MAX)) as u64;
        let packets = leaf.packets - self.packets;
        let rests = packets == 0
            && self.packet_rate == 0
            && self.ring.packets == 0
            && self.dropped == 0
            && leaf.is_plain();
        self.rate = per_second((leaf.bytes - self.bytes).saturating_mul(8));
        self.packet_rate = per_second(packets).min(u32::MAX.into()) as u32;
        (self.bytes, self.packets, self.sampled) = (leaf.bytes, leaf.packets, now);
        rests
    }

    /// `reset-counters`.
    pub(super) fn reset(&mut self) {
        (self.bytes, self.packets, self.dropped) = (0, 0, 0);
    }

    /// The readings of a leaf in which so much waits.
    pub(super) fn stats(&self, leaf: &Leaf, (packets, bytes): (u32, u64)) -> LeafStats {
        LeafStats {
            bytes: leaf.bytes,
            packets: leaf.packets,
            dropped: self.dropped,
            queued_packets: packets.into(),
            queued_bytes: bytes,
            rate: self.rate,
            packet_rate: self.packet_rate.into(),
        }
    }
}
