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

/// This bit of a counter's number says that it is of a pair of `/ip accounting`, which no configuration knows.
const PAIR: u32 = 1 << 31;
/// This one, that it is a client's of a hotspot.
const CLIENT: u32 = 1 << 30;

impl CounterId {
    /// The counter of a pair.
    pub(crate) const fn of_pair(number: u32) -> CounterId {
        CounterId(PAIR | number)
    }

    /// Numbers of clients that have two counters each are these bits.
    pub(crate) const CLIENTS: u32 = 0xffff;

    /// One of a client's counters.
    pub(crate) const fn of_client(number: u32) -> CounterId {
        CounterId(CLIENT | number)
    }
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
    /// Those of pairs, and of clients, as many as were counted with.
    pairs: Vec<Count>,
    clients: Vec<Count>,
}

impl Counters {
    /// As many counters, all at zero.
    pub(crate) fn zeroed(&self) -> Counters {
        Counters {
            counts: vec![Count::default(); self.counts.len()],
            pairs: vec![],
            clients: vec![],
        }
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
        let more = match id.0 & (PAIR | CLIENT) {
            0 => return self.counts[id.0 as usize],
            CLIENT => &self.clients,
            _ => &self.pairs,
        };
        more.get((id.0 & !(PAIR | CLIENT)) as usize).copied().unwrap_or_default()
    }

    /// Counts one packet.
    #[inline]
    pub fn add(&mut self, id: CounterId, bytes: u64) {
        self.of(id).add(bytes);
    }

    #[inline]
    fn of(&mut self, id: CounterId) -> &mut Count {
        let more = match id.0 & (PAIR | CLIENT) {
            0 => return &mut self.counts[id.0 as usize],
            CLIENT => &mut self.clients,
            _ => &mut self.pairs,
        };
        let place = (id.0 & !(PAIR | CLIENT)) as usize;
        more.resize(more.len().max(place + 1), Count::default());
        &mut more[place]
    }

    /// All pairs' begin anew.
    pub(crate) fn forget_pairs(&mut self) {
        self.pairs.clear();
    }

    /// Counts many packets at once.
    pub fn merge(&mut self, id: CounterId, count: Count) {
        self.of(id).merge(count);
    }

    /// Back to zero.
    pub fn reset(&mut self, id: CounterId) {
        *self.of(id) = Count::default();
    }
}

/// Which counter belongs to which item, so that a rule keeps its counter however often the program is
/// compiled anew.
pub type CounterBook = Book<CounterId>;
