//! Who counts what: packet and byte counters by number, so that a recipe can list them.
//!
//! A counter belongs to what the user sees (a rule, a queue), not to the compiled program:
//! editing the configuration never resets one.

use config::ItemId;
use std::collections::BTreeMap;

/// A counter's place in [`Counters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterId(pub u32);

/// Packets and bytes. Which bytes is said by whoever owns the counter: IP length for firewall
/// rules, L2 without FCS for interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Adds another count.
    #[inline]
    pub fn merge(&mut self, other: Count) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// All counters of a router.
#[derive(Debug, Default)]
pub struct Counters {
    counts: Vec<Count>,
    free: Vec<CounterId>,
}

impl Counters {
    /// A new counter at zero.
    pub fn create(&mut self) -> CounterId {
        if let Some(id) = self.free.pop() {
            self.counts[id.0 as usize] = Count::default();
            return id;
        }
        self.counts.push(Count::default());
        CounterId(self.counts.len() as u32 - 1)
    }

    /// Gives a counter up; its number will be used again.
    pub fn release(&mut self, id: CounterId) {
        self.free.push(id);
    }

    /// The counter's reading.
    pub fn get(&self, id: CounterId) -> Count {
        self.counts[id.0 as usize]
    }

    /// Counts one packet.
    #[inline]
    pub fn add(&mut self, id: CounterId, bytes: u64) {
        self.counts[id.0 as usize].add(bytes);
    }

    /// Counts many packets at once.
    pub fn merge(&mut self, id: CounterId, count: Count) {
        self.counts[id.0 as usize].merge(count);
    }

    /// Back to zero.
    pub fn reset(&mut self, id: CounterId) {
        self.counts[id.0 as usize] = Count::default();
    }
}

/// Which counter belongs to which item of the configuration, so that a rule keeps its counter
/// however often the program is compiled anew. An item's identity is unique over all menus.
#[derive(Debug, Default)]
pub struct CounterBook(BTreeMap<ItemId, CounterId>);

impl CounterBook {
    /// The item's counter; made when it is asked for the first time.
    pub fn of(&mut self, item: ItemId, counters: &mut Counters) -> CounterId {
        *self.0.entry(item).or_insert_with(|| counters.create())
    }

    /// The item's counter, if it ever had one.
    pub fn find(&self, item: ItemId) -> Option<CounterId> {
        self.0.get(&item).copied()
    }

    /// Gives up the counters of items that are gone.
    pub fn retain(&mut self, counters: &mut Counters, mut lives: impl FnMut(ItemId) -> bool) {
        self.0.retain(|&item, &mut id| {
            let keep = lives(item);
            if !keep {
                counters.release(id);
            }
            keep
        });
    }
}
