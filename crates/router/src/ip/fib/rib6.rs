//! The routes of IPv6, exactly: in order, in two lists.
//!
//! ```text
//!  global   2001:200::/32, 2001:200:900::/40, …      what lies in 2000::/3: a slot's are neighbours
//!  outside  ::/0, ::/1, fc00::/7, fe80::/10, …       the rest, and what is more than all of 2000::/3
//! ```
//!
//! 32 bytes a route. A single change moves what stands behind it, so whoever makes many makes them at
//! once; IPv4's buckets would not do, for a slot has room for any number of IPv6's routes.

use super::NextHopId;
use super::word::{GLOBAL, OUTSIDE, ROOT_DEPTH, Rib, Route, Word};
use std::iter::Chain;
use std::slice;
use wire::Ipv6Prefix;

/// A route.
#[derive(Clone, Copy, Debug)]
pub struct Route6 {
    bits: u128,
    id: NextHopId,
    len: u8,
}

impl Route6 {
    fn prefix(self) -> Ipv6Prefix {
        Ipv6Prefix::new(self.bits, self.len)
    }
}

impl Route<u128> for Route6 {
    #[inline]
    fn low(self) -> u128 {
        self.bits
    }

    #[inline]
    fn len(self) -> u32 {
        self.len.into()
    }

    #[inline]
    fn id(self) -> NextHopId {
        self.id
    }
}

/// Every route, by prefix.
#[derive(Clone)]
pub struct Rib6 {
    global: Vec<Route6>,
    outside: Vec<Route6>,
    /// How many prefixes there are of each length: those that there are none of need no search.
    lens: [u32; 129],
}

impl Rib6 {
    fn list(&self, prefix: Ipv6Prefix) -> &[Route6] {
        if is_global(prefix) { &self.global } else { &self.outside }
    }
}

impl Rib<u128> for Rib6 {
    type Route = Route6;
    type Iter<'a> = Iter6<'a>;

    fn new() -> Rib6 {
        Rib6 { global: Vec::new(), outside: Vec::new(), lens: [0; 129] }
    }

    fn len(&self) -> usize {
        self.global.len() + self.outside.len()
    }

    fn get(&self, prefix: Ipv6Prefix) -> Option<NextHopId> {
        if self.lens[usize::from(prefix.len())] == 0 {
            return None;
        }
        let list = self.list(prefix);
        find(list, prefix).ok().map(|at| list[at].id)
    }

    fn set(&mut self, prefix: Ipv6Prefix, id: NextHopId) -> NextHopId {
        let list = if is_global(prefix) { &mut self.global } else { &mut self.outside };
        let n = &mut self.lens[usize::from(prefix.len())];
        match find(list, prefix) {
            Ok(at) if id == NextHopId::NONE => {
                *n -= 1;
                list.remove(at).id
            }
            Ok(at) => std::mem::replace(&mut list[at].id, id),
            Err(_) if id == NextHopId::NONE => id,
            Err(at) => {
                *n += 1;
                list.insert(at, Route6 { bits: prefix.bits(), id, len: prefix.len() });
                NextHopId::NONE
            }
        }
    }

    fn merge(&mut self, changes: &[(Ipv6Prefix, NextHopId)], mut changed: impl FnMut(Ipv6Prefix)) {
        for global in [true, false] {
            let list = if global { &mut self.global } else { &mut self.outside };
            let its = changes.iter().filter(|(prefix, _)| is_global(*prefix) == global);
            let n = its.clone().count();
            if n == 0 {
                continue;
            }
            let mut merged = Vec::with_capacity(list.len() + n);
            let mut kept = 0;
            for &(prefix, id) in its {
                let (until, old) = match find(&list[kept..], prefix) {
                    Ok(at) => (kept + at, list[kept + at].id),
                    Err(at) => (kept + at, NextHopId::NONE),
                };
                merged.extend_from_slice(&list[kept..until]);
                kept = until + usize::from(old != NextHopId::NONE);
                let lens = &mut self.lens[usize::from(prefix.len())];
                *lens -= u32::from(old != NextHopId::NONE);
                *lens += u32::from(id != NextHopId::NONE);
                if id != NextHopId::NONE {
                    merged.push(Route6 { bits: prefix.bits(), id, len: prefix.len() });
                }
                if old != id {
                    changed(prefix);
                }
            }
            merged.extend_from_slice(&list[kept..]);
            merged.shrink_to_fit();
            *list = merged;
        }
    }

    fn long(&self, slot: usize) -> &[Route6] {
        if slot == OUTSIDE {
            // The default route, the first of all, is the trie's own.
            let skip = self.outside.first().is_some_and(|route| route.len == 0);
            return &self.outside[usize::from(skip)..];
        }
        let short = Ipv6Prefix::new(base_of(slot), ROOT_DEPTH as u8);
        let behind = |route: &Route6| (route.bits, u32::from(route.len));
        let from = self.global.partition_point(|route| behind(route) <= (short.bits(), ROOT_DEPTH));
        let n = self.global[from..].partition_point(|route| route.bits <= short.last());
        &self.global[from..from + n]
    }

    fn base(&self, slot: usize) -> (NextHopId, u8) {
        if slot == OUTSIDE {
            return (NextHopId::NONE, 0);
        }
        let of_len = |len| Some((self.get(Ipv6Prefix::new(base_of(slot), len))?, len));
        let found = (1..=ROOT_DEPTH as u8).rev().find_map(of_len);
        found.unwrap_or((NextHopId::NONE, 0))
    }

    fn iter(&self) -> Iter6<'_> {
        let before = self.outside.partition_point(|route| route.bits < GLOBAL.bits());
        let (before, behind) = self.outside.split_at(before);
        Iter6(before.iter().chain(&self.global).chain(behind))
    }

    fn bytes(&self) -> usize {
        (self.global.capacity() + self.outside.capacity()) * size_of::<Route6>()
    }
}

/// The first address of a slot.
fn base_of(slot: usize) -> u128 {
    GLOBAL.bits() | (slot as u128) << (u128::BITS - ROOT_DEPTH)
}

fn is_global(prefix: Ipv6Prefix) -> bool {
    prefix.len() >= GLOBAL.len() && GLOBAL.contains(prefix.bits())
}

fn find(list: &[Route6], prefix: Ipv6Prefix) -> Result<usize, usize> {
    list.binary_search_by_key(&<u128 as Word>::first(prefix), |route| (route.bits, route.len))
}

/// All routes in address order, a prefix before those inside it.
#[derive(Clone)]
pub struct Iter6<'a>(
    Chain<Chain<slice::Iter<'a, Route6>, slice::Iter<'a, Route6>>, slice::Iter<'a, Route6>>,
);

impl Iterator for Iter6<'_> {
    type Item = (Ipv6Prefix, NextHopId);

    fn next(&mut self) -> Option<(Ipv6Prefix, NextHopId)> {
        self.0.next().map(|route| (route.prefix(), route.id))
    }
}
