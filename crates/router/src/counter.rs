//! Packet and byte counters by number, so that a recipe can list them.
//!
//! A counter belongs to what the user sees (a rule, a queue), not to the compiled program:
//! editing the configuration never resets one.

use crate::book::{Book, Fresh};

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

impl From<u32> for CounterId {
    fn from(number: u32) -> CounterId {
        CounterId(number)
    }
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
}

impl Counters {
    /// As many counters, all at zero.
    pub(crate) fn zeroed(&self) -> Counters {
        Counters { counts: vec![Count::default(); self.counts.len()] }
    }

    /// Makes place for the counters of a book; those that are fresh begin at zero.
    pub fn admit(&mut self, fresh: &Fresh<CounterId>) {
        self.counts.resize(self.counts.len().max(fresh.end), Count::default());
        for &id in &fresh.ids {
            self.reset(id);
        }
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

/// Which counter belongs to which item, so that a rule keeps its counter however often the program is
/// compiled anew.
pub type CounterBook = Book<CounterId>;
