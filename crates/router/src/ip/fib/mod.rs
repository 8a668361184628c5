//! The forwarding table: which next hop an address goes to, by longest prefix match; of IPv4 (`Fib`)
//! and of IPv6 (`Fib<u128>`).
//!
//! The last question of routing a packet and the only one that looks at the whole table. It is
//! asked per packet (slow path) or per batch (fast path) and answers with a small number, which
//! the routing facility's next-hop table turns into an interface, a gateway or an ECMP group: a
//! neighbour that changes is one write there and none here.
//!
//! ```text
//!  /ip route: active routes ──► rib (exact, 8.6 B/route) ──► trie (2–5 B/route) ──► next-hop id
//!              insert, remove     rebuilds one node          lookup, lookup_batch
//! ```
//!
//! A change rebuilds the one node that sees it, mostly that of its /18; a prefix of /1 to /18 goes
//! through the 2^(18 − len) /18s that it covers; the default route is a single register. Blocks are
//! reused, so that churn does not make the table grow.
//!
//! It never decides which of several routes to a prefix is active, and knows nothing of gateways,
//! distances, VRFs (a table each) or multicast.
//!
//! **Missing:** sharing between cores. A `Fib` has one owner, who changes it between two batches;
//! several cores hold a copy each (`Clone`) and apply the same changes.

// Free blocks of a growing array.
mod buddy;
// The routes themselves, exactly: IPv4's in buckets.
mod rib;
// IPv6's in order.
mod rib6;
// The look-up structure.
mod trie;
// Addresses of either family, bit by bit.
mod word;
// The trie's memory.
mod words;

// Prefix lists as text, one prefix a line.
pub mod list;
// Made-up tables as large and as uneven as the real one.
pub mod synthetic;
// The same of IPv6.
pub mod synthetic6;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests6;

use trie::Trie;
use word::Rib;

pub use word::Word;

/// A number that stands for a next hop: a place in the routing facility's next-hop table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHopId(pub u32);

impl NextHopId {
    /// How many bits of it count.
    pub const BITS: u32 = 17;

    /// No route. A route to it is no route: setting one takes the prefix out.
    pub const NONE: NextHopId = NextHopId(0);

    /// As an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A forwarding table of a family. See the [module](self).
///
/// ```
/// use router::ip::fib::{Fib, NextHopId};
///
/// let mut fib: Fib = Fib::new();
/// fib.insert("10.0.0.0/8".parse()?, NextHopId(1));
/// fib.insert("10.1.0.0/16".parse()?, NextHopId(2));
/// assert_eq!(fib.lookup(0x0a01_0203), NextHopId(2)); // 10.1.2.3
/// assert_eq!(fib.lookup(0x0aff_0001), NextHopId(1)); // 10.255.0.1
/// assert_eq!(fib.lookup(0x0b00_0001), NextHopId::NONE);
/// # Ok::<(), wire::prefix::BadPrefix>(())
/// ```
#[derive(Clone)]
pub struct Fib<W: Word = u32> {
    trie: Trie<W>,
    rib: W::Rib,
}

impl<W: Word> Fib<W> {
    /// A table without routes. IPv4's takes 4 MiB of address space, most of it untouched.
    pub fn new() -> Fib<W> {
        Fib { trie: Trie::new(), rib: W::Rib::new() }
    }

    /// The next hop of the longest prefix that holds `dst`; [`NextHopId::NONE`] if none does.
    #[inline]
    pub fn lookup(&self, dst: W) -> NextHopId {
        self.trie.lookup(dst)
    }

    /// Looks up many addresses at once, `out[i]` for `dst[i]`: several times as fast as one by
    /// one, for the memory accesses overlap. Best with up to 64.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn lookup_batch(&self, dst: &[W], out: &mut [NextHopId]) {
        assert!(dst.len() == out.len(), "{} addresses, {} answers", dst.len(), out.len());
        self.trie.lookup_batch(dst, out);
    }

    /// Sets the route to a prefix and returns the one it replaces. [`NextHopId::NONE`] removes.
    pub fn insert(&mut self, prefix: W::Prefix, id: NextHopId) -> Option<NextHopId> {
        let old = self.rib.set(prefix, id);
        if old != id {
            self.refresh(prefix);
        }
        (old != NextHopId::NONE).then_some(old)
    }

    /// Takes the route to exactly this prefix away and returns it.
    pub fn remove(&mut self, prefix: W::Prefix) -> Option<NextHopId> {
        self.insert(prefix, NextHopId::NONE)
    }

    /// The next hop of exactly this prefix.
    pub fn get(&self, prefix: W::Prefix) -> Option<NextHopId> {
        self.rib.get(prefix)
    }

    /// The longest prefix that holds `addr`, and its next hop. From the routes, not from the
    /// look-up structure: for people and for tests, not for packets.
    pub fn covering(&self, addr: W) -> Option<(W::Prefix, NextHopId)> {
        let of_len = |len| {
            let prefix = addr.prefix(len);
            self.rib.get(prefix).map(|id| (prefix, id))
        };
        (0..=W::BITS).rev().find_map(of_len)
    }

    /// All routes in address order, a prefix before those inside it.
    pub fn iter(&self) -> <W::Rib as Rib<W>>::Iter<'_> {
        self.rib.iter()
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.rib.len()
    }

    /// Whether there is no route.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes allocated for look-ups alone: what competes for the cache.
    pub fn bytes(&self) -> usize {
        self.trie.bytes()
    }

    /// Bytes allocated in all, with the routes behind it.
    pub fn bytes_with_routes(&self) -> usize {
        self.trie.bytes() + self.rib.bytes()
    }

    /// Makes the trie agree with the routes again after a change to `prefix`.
    fn refresh(&mut self, prefix: W::Prefix) {
        let (bits, len) = W::first(prefix);
        if len == 0 {
            self.trie.default = self.rib.get(prefix).unwrap_or(NextHopId::NONE);
        } else if W::is_short(prefix) {
            for slot in W::slots(prefix) {
                let (base, longest) = self.rib.base(slot);
                // Where a longer one covers, nothing has changed.
                if longest <= len {
                    self.trie.set(slot, base, self.rib.long(slot));
                }
            }
        } else {
            let slot = bits.slot();
            self.trie.update(self.rib.base(slot).0, self.rib.long(slot), prefix);
        }
    }
}

impl<W: Word> Extend<(W::Prefix, NextHopId)> for Fib<W> {
    /// Makes many changes, each slot rebuilt once: the way to load a table. Of several changes to a
    /// prefix the last counts; [`NextHopId::NONE`] takes a route away.
    fn extend<I: IntoIterator<Item = (W::Prefix, NextHopId)>>(&mut self, changes: I) {
        let mut changes: Vec<_> = changes.into_iter().collect();
        // Stable, and little work for a list that is in order already.
        changes.sort_by_key(|(prefix, _)| *prefix);
        changes.reverse();
        changes.dedup_by_key(|(prefix, _)| *prefix); // keeps the first: the last that was said
        changes.reverse();
        let mut dirty = vec![0u64; W::SLOTS.div_ceil(64)];
        self.rib.merge(&changes, |prefix| {
            if W::first(prefix).1 > 0 {
                let slots = W::slots(prefix);
                mark(&mut dirty, *slots.start(), *slots.end());
            }
        });
        self.trie.default = self.rib.get(W::default().prefix(0)).unwrap_or(NextHopId::NONE);
        for slot in marked(&dirty).take_while(|&slot| slot < W::SLOTS) {
            self.trie.set(slot, self.rib.base(slot).0, self.rib.long(slot));
        }
    }
}

impl<W: Word> FromIterator<(W::Prefix, NextHopId)> for Fib<W> {
    fn from_iter<I: IntoIterator<Item = (W::Prefix, NextHopId)>>(routes: I) -> Fib<W> {
        let mut fib = Fib::new();
        fib.extend(routes);
        fib
    }
}

impl<'a, W: Word> IntoIterator for &'a Fib<W> {
    type Item = (W::Prefix, NextHopId);
    type IntoIter = <W::Rib as Rib<W>>::Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<W: Word> Default for Fib<W> {
    fn default() -> Fib<W> {
        Fib::new()
    }
}

impl<W: Word> std::fmt::Debug for Fib<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Sets the bits `first..=last`.
fn mark(bits: &mut [u64], first: usize, last: usize) {
    if last - first < 64 {
        for bit in first..=last {
            bits[bit / 64] |= 1 << (bit % 64);
        }
    } else {
        // A prefix of /11 or shorter: whole words.
        bits[first / 64..=last / 64].fill(u64::MAX);
    }
}

/// The set bits, in order.
fn marked(bits: &[u64]) -> impl Iterator<Item = usize> {
    bits.iter().enumerate().flat_map(|(i, &word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * 64 + bit)
    })
}
