//! The forwarding table: which next hop an IPv4 address goes to, by longest prefix match.
//!
//! The last question of routing a packet and the only one that looks at the whole table. It is
//! asked per packet (slow path) or per batch (fast path) and answers with a small number, which
//! the routing facility's next-hop table turns into an interface, a gateway or an ECMP group: a
//! neighbour that changes is one write there and none here.
//!
//! ```text
//!  /ip route: active routes ──► rib (exact, 7.4 B/route) ──► trie (2–5 B/route) ──► next-hop id
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
// The routes themselves, exactly.
mod rib;
// The look-up structure.
mod trie;
// Its memory.
mod words;

// Prefix lists as text, one prefix a line.
pub mod list;
// Made-up tables as large and as uneven as the real one.
pub mod synthetic;

#[cfg(test)]
mod tests;

use rib::{DIRECT_BITS, Rib, slot};
use trie::Trie;
use wire::Ipv4Prefix;

pub use rib::Iter;

/// A number that stands for a next hop: a place in the routing facility's next-hop table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHopId(pub u16);

impl NextHopId {
    /// No route. A route to it is no route: setting one takes the prefix out.
    pub const NONE: NextHopId = NextHopId(0);
}

/// An IPv4 forwarding table. See the [module](self).
///
/// ```
/// use router::ip::fib::{Fib, NextHopId};
///
/// let mut fib = Fib::new();
/// fib.insert("10.0.0.0/8".parse()?, NextHopId(1));
/// fib.insert("10.1.0.0/16".parse()?, NextHopId(2));
/// assert_eq!(fib.lookup(0x0a01_0203), NextHopId(2)); // 10.1.2.3
/// assert_eq!(fib.lookup(0x0aff_0001), NextHopId(1)); // 10.255.0.1
/// assert_eq!(fib.lookup(0x0b00_0001), NextHopId::NONE);
/// # Ok::<(), wire::prefix::BadPrefix>(())
/// ```
#[derive(Clone)]
pub struct Fib {
    trie: Trie,
    rib: Rib,
}

impl Fib {
    /// A table without routes. It takes 4 MiB of address space, most of it untouched.
    pub fn new() -> Fib {
        Fib { trie: Trie::new(), rib: Rib::new() }
    }

    /// The next hop of the longest prefix that holds `dst`; [`NextHopId::NONE`] if none does.
    #[inline]
    pub fn lookup(&self, dst: u32) -> NextHopId {
        self.trie.lookup(dst)
    }

    /// Looks up many addresses at once, `out[i]` for `dst[i]`: several times as fast as one by
    /// one, for the memory accesses overlap. Best with up to 64.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn lookup_batch(&self, dst: &[u32], out: &mut [NextHopId]) {
        assert!(dst.len() == out.len(), "{} addresses, {} answers", dst.len(), out.len());
        self.trie.lookup_batch(dst, out);
    }

    /// Sets the route to a prefix and returns the one it replaces. [`NextHopId::NONE`] removes.
    pub fn insert(&mut self, prefix: Ipv4Prefix, id: NextHopId) -> Option<NextHopId> {
        let old = self.rib.set(prefix, id);
        if old != id {
            self.refresh(prefix);
        }
        (old != NextHopId::NONE).then_some(old)
    }

    /// Takes the route to exactly this prefix away and returns it.
    pub fn remove(&mut self, prefix: Ipv4Prefix) -> Option<NextHopId> {
        self.insert(prefix, NextHopId::NONE)
    }

    /// The next hop of exactly this prefix.
    pub fn get(&self, prefix: Ipv4Prefix) -> Option<NextHopId> {
        self.rib.get(prefix)
    }

    /// The longest prefix that holds `addr`, and its next hop. From the routes, not from the
    /// look-up structure: for people and for tests, not for packets.
    pub fn covering(&self, addr: u32) -> Option<(Ipv4Prefix, NextHopId)> {
        let of_len = |len| {
            let prefix = Ipv4Prefix::new(addr, len);
            self.rib.get(prefix).map(|id| (prefix, id))
        };
        (0..=32).rev().find_map(of_len)
    }

    /// All routes in address order, a prefix before those inside it.
    pub fn iter(&self) -> Iter<'_> {
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
    fn refresh(&mut self, prefix: Ipv4Prefix) {
        let first = slot(prefix.bits());
        match prefix.len() {
            0 => self.trie.default = self.rib.get(prefix).unwrap_or(NextHopId::NONE),
            1..=DIRECT_BITS => {
                for slot in first..=slot(prefix.last()) {
                    let (base, len) = self.rib.base(slot);
                    // Where a longer one covers, nothing has changed.
                    if len <= prefix.len() {
                        self.trie.set(slot, base, self.rib.long(slot));
                    }
                }
            }
            _ => self.trie.update(self.rib.base(first).0, self.rib.long(first), prefix),
        }
    }
}

impl Extend<(Ipv4Prefix, NextHopId)> for Fib {
    /// Makes many changes, each /18 rebuilt once: the way to load a table. Of several changes to a
    /// prefix the last counts; [`NextHopId::NONE`] takes a route away.
    fn extend<I: IntoIterator<Item = (Ipv4Prefix, NextHopId)>>(&mut self, changes: I) {
        let mut changes: Vec<_> = changes.into_iter().collect();
        // Stable, and little work for a list that is in order already.
        changes.sort_by_key(|(prefix, _)| *prefix);
        changes.reverse();
        changes.dedup_by_key(|(prefix, _)| *prefix); // keeps the first: the last that was said
        changes.reverse();
        let mut dirty = vec![0u64; rib::SLOTS / 64];
        let mut rest = &changes[..];
        while let Some(&(prefix, id)) = rest.first() {
            let at = slot(prefix.bits());
            if prefix.len() <= DIRECT_BITS {
                rest = &rest[1..];
                if self.rib.set(prefix, id) == id {
                    continue;
                }
                if prefix.len() == 0 {
                    self.trie.default = id;
                } else {
                    mark(&mut dirty, at, slot(prefix.last()));
                }
            } else {
                let here = |(prefix, _): &&(Ipv4Prefix, _)| slot(prefix.bits()) == at;
                let n = rest.iter().take_while(here).count();
                self.rib.merge_long(at, &rest[..n]);
                rest = &rest[n..];
                mark(&mut dirty, at, at);
            }
        }
        for slot in marked(&dirty) {
            self.trie.set(slot, self.rib.base(slot).0, self.rib.long(slot));
        }
    }
}

impl FromIterator<(Ipv4Prefix, NextHopId)> for Fib {
    fn from_iter<I: IntoIterator<Item = (Ipv4Prefix, NextHopId)>>(routes: I) -> Fib {
        let mut fib = Fib::new();
        fib.extend(routes);
        fib
    }
}

impl<'a> IntoIterator for &'a Fib {
    type Item = (Ipv4Prefix, NextHopId);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Default for Fib {
    fn default() -> Fib {
        Fib::new()
    }
}

impl std::fmt::Debug for Fib {
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
