//! The routes of IPv4, exactly: what the trie is built from, and what can be listed.
//!
//! A route is a prefix and a next-hop id, nothing else: which of several routes to a prefix is the
//! active one (distance, scope, gateway reachable) has been decided before.
//!
//! ```text
//!  /0 … /18    short[1 << len | bits]  ─► id              a full binary tree, 2^19 × 4 B
//!  /19 … /32   bucket[addr >> 14]      ─► | n | n routes, 4 B each, in address order |
//! ```
//!
//! 4 bytes a route hold both the id (17 bits) and the rest of the prefix below its /18 (15 bits,
//! see [`Long`]). With its fixed tables of 1 and 2 MiB, the real table of 901,899 routes costs
//! 8.6 bytes a route.

use super::NextHopId;
use super::buddy::Buddy;
use super::word::{ROOT_DEPTH, Rib, Route, Word};
use wire::Ipv4Prefix;

/// Bits of an address that the direct table resolves; prefixes up to this length are "short".
const DIRECT_BITS: u8 = ROOT_DEPTH as u8;
/// Entries of the direct table.
const SLOTS: usize = 1 << DIRECT_BITS;
/// Address bits below the direct table's.
const LOW_BITS: u32 = 32 - DIRECT_BITS as u32;
/// The same as a mask.
const LOW_MASK: u32 = (1 << LOW_BITS) - 1;

/// A route longer than /18, without the /18 it lies in.
///
/// ```text
///  31 …………………… 17 | 16 ………… 0 |
///   bits 1 0 0 0   |  next hop  |      the lowest set bit of the place marks the length
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Long(u32);

impl Long {
    fn new(prefix: Ipv4Prefix, id: NextHopId) -> Long {
        let low = prefix.bits() & LOW_MASK;
        debug_assert!(id.0 < 1 << NextHopId::BITS);
        Long((low << 1 | 1 << (32 - prefix.len())) << NextHopId::BITS | id.0)
    }

    #[inline]
    fn place(self) -> u32 {
        self.0 >> NextHopId::BITS
    }

    /// Address order, a prefix before those inside it.
    #[inline]
    fn order(self) -> u32 {
        self.low() << 6 | self.len()
    }

    fn prefix(self, slot: usize) -> Ipv4Prefix {
        Ipv4Prefix::new((slot as u32) << LOW_BITS | self.low(), self.len() as u8)
    }
}

impl Route<u32> for Long {
    /// The low 14 bits of the prefix's first address.
    #[inline]
    fn low(self) -> u32 {
        (self.place() & (self.place() - 1)) >> 1
    }

    /// 19 to 32.
    #[inline]
    fn len(self) -> u32 {
        32 - self.place().trailing_zeros()
    }

    #[inline]
    fn id(self) -> NextHopId {
        NextHopId(self.0 & ((1 << NextHopId::BITS) - 1))
    }
}

/// Every route, by prefix.
#[derive(Clone)]
pub struct Rib4 {
    short: Box<[NextHopId]>,
    /// Where each /18's routes begin in `store`, in units of two; [`EMPTY`] for none.
    bucket: Box<[u32]>,
    /// Buckets: the number of routes in place of one, then the routes.
    store: Vec<Long>,
    buddy: Buddy,
    len: usize,
}

/// No route longer than /18.
const EMPTY: u32 = 0;

impl Rib<u32> for Rib4 {
    type Route = Long;
    type Iter<'a> = Iter4<'a>;

    fn new() -> Rib4 {
        let mut buddy = Buddy::new();
        let nothing = buddy.alloc(1);
        debug_assert_eq!(nothing, EMPTY, "the first unit stands for every empty bucket");
        Rib4 {
            short: vec![NextHopId::NONE; 2 * SLOTS].into(),
            bucket: vec![EMPTY; SLOTS].into(),
            store: vec![Long(0); 2],
            buddy,
            len: 0,
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, prefix: Ipv4Prefix) -> Option<NextHopId> {
        let id = if prefix.len() <= DIRECT_BITS {
            self.short[short_index(prefix)]
        } else {
            let routes = self.long(prefix.bits().slot());
            let at = find(routes, Long::new(prefix, NextHopId::NONE)).ok()?;
            routes[at].id()
        };
        (id != NextHopId::NONE).then_some(id)
    }

    fn set(&mut self, prefix: Ipv4Prefix, id: NextHopId) -> NextHopId {
        let old = if prefix.len() <= DIRECT_BITS {
            std::mem::replace(&mut self.short[short_index(prefix)], id)
        } else {
            self.set_long(prefix, id)
        };
        self.len += usize::from(id != NextHopId::NONE);
        self.len -= usize::from(old != NextHopId::NONE);
        old
    }

    fn merge(&mut self, changes: &[(Ipv4Prefix, NextHopId)], mut changed: impl FnMut(Ipv4Prefix)) {
        let mut rest = changes;
        while let Some(&(prefix, id)) = rest.first() {
            let mut n = 1;
            if prefix.len() <= DIRECT_BITS {
                if self.set(prefix, id) != id {
                    changed(prefix);
                }
            } else {
                let at = prefix.bits().slot();
                let here = |(prefix, _): &&(Ipv4Prefix, _)| prefix.bits().slot() == at;
                n = rest.iter().take_while(here).count();
                self.merge_long(at, &rest[..n]);
                changed(prefix);
            }
            rest = &rest[n..];
        }
    }

    #[inline]
    fn long(&self, slot: usize) -> &[Long] {
        let start = self.start(slot);
        let n = self.store[start].0 as usize;
        &self.store[start + 1..start + 1 + n]
    }

    fn base(&self, slot: usize) -> (NextHopId, u8) {
        let mut at = SLOTS + slot;
        let mut len = DIRECT_BITS;
        while len > 0 && self.short[at] == NextHopId::NONE {
            at >>= 1;
            len -= 1;
        }
        if len == 0 { (NextHopId::NONE, 0) } else { (self.short[at], len) }
    }

    fn iter(&self) -> Iter4<'_> {
        Iter4 { rib: self, at: 1, long: 0, done: false }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.short)
            + size_of_val(&*self.bucket)
            + self.store.capacity() * size_of::<Long>()
            + self.buddy.bytes()
    }
}

impl Rib4 {
    fn set_long(&mut self, prefix: Ipv4Prefix, id: NextHopId) -> NextHopId {
        let slot = prefix.bits().slot();
        let route = Long::new(prefix, id);
        let start = self.start(slot);
        let n = self.store[start].0 as usize;
        let first = start + 1;
        match find(self.long(slot), route) {
            Ok(at) if id == NextHopId::NONE => {
                let old = self.store[first + at].id();
                self.store.copy_within(first + at + 1..first + n, first + at);
                self.resize(slot, n - 1);
                old
            }
            Ok(at) => std::mem::replace(&mut self.store[first + at], route).id(),
            Err(_) if id == NextHopId::NONE => NextHopId::NONE,
            Err(at) => {
                let first = self.resize(slot, n + 1) + 1;
                self.store.copy_within(first + at..first + n, first + at + 1);
                self.store[first + at] = route;
                NextHopId::NONE
            }
        }
    }

    /// Merges changes to one /18 into it, in one go: `changes` in order, each prefix longer than
    /// /18, inside the /18 and there once; [`NextHopId::NONE`] takes a route away.
    fn merge_long(&mut self, slot: usize, changes: &[(Ipv4Prefix, NextHopId)]) {
        let mut merged = Vec::new();
        let old = self.long(slot);
        let mut kept = 0;
        for &(prefix, id) in changes {
            let route = Long::new(prefix, id);
            let until = kept + find(&old[kept..], route).unwrap_or_else(|at| at);
            merged.extend_from_slice(&old[kept..until]);
            // The old route to the same prefix gives way.
            kept =
                until + usize::from(old.get(until).is_some_and(|old| old.place() == route.place()));
            if id != NextHopId::NONE {
                merged.push(route);
            }
        }
        merged.extend_from_slice(&old[kept..]);
        self.len = self.len + merged.len() - old.len();
        let start = self.resize(slot, merged.len());
        self.store[start + 1..start + 1 + merged.len()].copy_from_slice(&merged);
    }

    /// Makes room for `n` routes in a bucket, moving those that are there, and returns where in
    /// the store it now begins.
    fn resize(&mut self, slot: usize, n: usize) -> usize {
        let old = self.start(slot);
        let held = self.store[old].0 as usize;
        let (before, after) = (units(held), units(n));
        if after < before {
            let tail = (old / 2) as u32 + after;
            self.buddy.release(tail, before - after);
        }
        if after > before {
            let start = self.buddy.alloc(after);
            self.grow();
            self.bucket[slot] = start;
            let start = start as usize * 2;
            self.store.copy_within(old..=old + held.min(n), start);
            self.buddy.release((old / 2) as u32, before);
        }
        if n == 0 {
            self.bucket[slot] = EMPTY;
            return 0;
        }
        let start = self.start(slot);
        self.store[start] = Long(n as u32);
        start
    }

    fn grow(&mut self) {
        let len = self.buddy.len() * 2;
        if self.store.capacity() < len {
            // An eighth at a time: doubling would leave half of a large table empty.
            let step = (len - self.store.len()).max(self.store.len() / 8);
            self.store.reserve_exact(step);
        }
        self.store.resize(len.max(self.store.len()), Long(0));
    }

    fn start(&self, slot: usize) -> usize {
        self.bucket[slot] as usize * 2
    }
}

fn short_index(prefix: Ipv4Prefix) -> usize {
    // As u64: a /0 shifts all 32 bits out.
    (1usize << prefix.len()) | (u64::from(prefix.bits()) >> (32 - prefix.len())) as usize
}

/// Units of two that a bucket of `n` routes and their number takes.
fn units(n: usize) -> u32 {
    if n == 0 { 0 } else { (1 + n).div_ceil(2) as u32 }
}

fn find(routes: &[Long], route: Long) -> Result<usize, usize> {
    routes.binary_search_by_key(&route.order(), |route| route.order())
}

/// All routes in address order, a prefix before those inside it.
#[derive(Clone)]
pub struct Iter4<'a> {
    rib: &'a Rib4,
    /// The node of the short tree to visit, in pre-order.
    at: usize,
    /// Where in the /18's bucket, plus one; 0 while the short route itself is to be visited.
    long: usize,
    done: bool,
}

impl Iterator for Iter4<'_> {
    type Item = (Ipv4Prefix, NextHopId);

    fn next(&mut self) -> Option<(Ipv4Prefix, NextHopId)> {
        while !self.done {
            let len = self.at.ilog2() as u8;
            if self.long == 0 {
                self.long = 1;
                let id = self.rib.short[self.at];
                if id != NextHopId::NONE {
                    let bits = (self.at as u64) << (32 - len);
                    return Some((Ipv4Prefix::new(bits as u32, len), id));
                }
            }
            if len == DIRECT_BITS {
                let slot = self.at - SLOTS;
                if let Some(&route) = self.rib.long(slot).get(self.long - 1) {
                    self.long += 1;
                    return Some((route.prefix(slot), route.id()));
                }
            }
            self.long = 0;
            if len < DIRECT_BITS {
                self.at *= 2;
            } else {
                // Up past all right children, then to the sibling; past the root it is over.
                let up = (!self.at).trailing_zeros();
                self.at >>= up;
                self.done = self.at == 0;
                self.at += 1;
            }
        }
        None
    }
}
