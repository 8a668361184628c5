//! Sets of packets: for each field the values it may have.
//!
//! ```text
//! cube      protocol {6} · dst-port {22, 80-90} · src {10.0.0.0-10.0.0.255}      one rule's packets
//! without   what is left of one when another's packets are taken: at most a cube for each field
//! ```
//!
//! Exact: whatever is cut off is whole again when it is put together. A field that a packet does not
//! have (flags of UDP) is never looked at without the protocol, so it may have any value.

use std::fmt;
use wire::Ipv4Range;

/// Fields, cheap ones to cut by first.
pub(crate) const PROTOCOL: usize = 0;
pub(crate) const FRAGMENT: usize = 1;
pub(crate) const STATE: usize = 2;
pub(crate) const IN: usize = 3;
pub(crate) const OUT: usize = 4;
pub(crate) const DST: usize = 5;
pub(crate) const SRC: usize = 6;
pub(crate) const DST_PORT: usize = 7;
pub(crate) const SRC_PORT: usize = 8;
pub(crate) const FLAGS: usize = 9;
/// Type and code.
pub(crate) const ICMP: usize = 10;
/// 1: source translated, 2: destination.
pub(crate) const NAT: usize = 11;
pub(crate) const TTL: usize = 12;
pub(crate) const DSCP: usize = 13;
pub(crate) const LEN: usize = 14;
pub(crate) const PACKET_MARK: usize = 15;
pub(crate) const ROUTING_MARK: usize = 16;
pub(crate) const CONNECTION_MARK: usize = 17;
/// How many there are.
pub(crate) const FIELDS: usize = 18;

/// The greatest value of each.
const MAX: [u32; FIELDS] = [
    255,
    1,
    4,
    u32::MAX,
    u32::MAX,
    u32::MAX,
    u32::MAX,
    65535,
    65535,
    255,
    65535,
    3,
    255,
    63,
    65535,
    65535,
    65535,
    65535,
];

/// Values: ranges that ascend and do not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// All these, in any order, overlapping or not; those that end before they begin are nothing.
    pub(crate) fn of(ranges: impl IntoIterator<Item = (u32, u32)>) -> Ranges {
        let mut all: Vec<(u32, u32)> = ranges.into_iter().filter(|(a, b)| a <= b).collect();
        all.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match joined.last_mut() {
                Some(end) if end.1 == u32::MAX || first <= end.1 + 1 => end.1 = end.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Ranges(joined)
    }

    pub(crate) fn one(value: u32) -> Ranges {
        Ranges(vec![(value, value)])
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, value: u32) -> bool {
        self.0.iter().any(|&(first, last)| first <= value && value <= last)
    }

    fn and(&self, other: &Ranges) -> Ranges {
        let (mut a, mut b, mut both) =
            (self.0.iter().peekable(), other.0.iter().peekable(), vec![]);
        while let (Some(&&one), Some(&&two)) = (a.peek(), b.peek()) {
            let (first, last) = (one.0.max(two.0), one.1.min(two.1));
            if first <= last {
                both.push((first, last));
            }
            _ = if one.1 < two.1 { a.next() } else { b.next() };
        }
        Ranges(both)
    }

    fn not(&self, max: u32) -> Ranges {
        let (mut rest, mut next) = (Vec::new(), Some(0));
        for &(first, last) in &self.0 {
            if let Some(from) = next.filter(|&from| from < first) {
                rest.push((from, first - 1));
            }
            next = last.checked_add(1);
        }
        rest.extend(next.filter(|&from| from <= max).map(|from| (from, max)));
        Ranges(rest)
    }

    /// One of these values, the first of `liked` that is among them.
    pub(crate) fn pick(&self, liked: &[u32]) -> u32 {
        let liked = liked.iter().copied().find(|&value| self.contains(value));
        liked.or_else(|| self.0.first().map(|range| range.0)).unwrap_or(0)
    }
}

impl From<Ipv4Range> for Ranges {
    fn from(range: Ipv4Range) -> Ranges {
        Ranges(vec![(range.first(), range.last())])
    }
}

/// Packets: those whose every field has one of its values.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Cube(Vec<(usize, Ranges)>);

impl fmt::Debug for Cube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(field, ranges)| (field, &ranges.0))).finish()
    }
}

impl Cube {
    /// All packets.
    pub(crate) fn all() -> Cube {
        Cube::default()
    }

    fn get(&self, field: usize) -> Option<&Ranges> {
        self.0.iter().find(|(other, _)| *other == field).map(|(_, ranges)| ranges)
    }

    /// A field's values.
    pub(crate) fn values(&self, field: usize) -> Ranges {
        self.get(field).cloned().unwrap_or_else(|| Ranges(vec![(0, MAX[field])]))
    }

    fn set(&mut self, field: usize, ranges: Ranges) {
        match self.0.binary_search_by_key(&field, |(other, _)| *other) {
            Ok(at) => self.0[at].1 = ranges,
            Err(at) => self.0.insert(at, (field, ranges)),
        }
    }

    /// Whether a field may have any value.
    pub(crate) fn is_free(&self, field: usize) -> bool {
        self.get(field).is_none()
    }

    /// Lets a field have any value.
    pub(crate) fn forget(&mut self, field: usize) {
        self.0.retain(|(other, _)| *other != field);
    }

    /// Those whose field has one of these values (or, with `not`, none of them); `None` if there is none.
    pub(crate) fn with(&self, field: usize, ranges: &Ranges, not: bool) -> Option<Cube> {
        let wanted = if not { ranges.not(MAX[field]) } else { ranges.clone() };
        let both = self.get(field).map_or(wanted.clone(), |own| own.and(&wanted));
        if both.is_empty() {
            return None;
        }
        let mut cube = self.clone();
        cube.set(field, both);
        Some(cube)
    }

    /// Whether both have packets in common.
    pub(crate) fn meets(&self, other: &Cube) -> bool {
        let mut fields = other.0.iter();
        fields.all(|(field, ranges)| self.get(*field).is_none_or(|own| !own.and(ranges).is_empty()))
    }

    /// The packets of both.
    pub(crate) fn and(&self, other: &Cube) -> Option<Cube> {
        let mut both = self.clone();
        for (field, ranges) in &other.0 {
            let ranges = both.get(*field).map_or(ranges.clone(), |own| own.and(ranges));
            if ranges.is_empty() {
                return None;
            }
            both.set(*field, ranges);
        }
        Some(both)
    }

    /// What is left without the other's packets: cubes that have none in common.
    pub(crate) fn without(&self, other: &Cube) -> Vec<Cube> {
        if !self.meets(other) {
            return vec![self.clone()];
        }
        let (mut left, mut rest) = (Vec::new(), self.clone());
        for (field, ranges) in &other.0 {
            left.extend(rest.with(*field, ranges, true));
            let Some(inside) = rest.with(*field, ranges, false) else { return left };
            rest = inside;
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Cubes of three fields of ten values.
    fn cubes() -> impl Strategy<Value = Cube> {
        let ranges = || {
            let pieces = prop::collection::vec((0..10u32, 0..4u32), 1..4);
            pieces.prop_map(|all| Ranges::of(all.into_iter().map(|(a, n)| (a, (a + n).min(9)))))
        };
        let fields = [PROTOCOL, DST, TTL]
            .map(|field| prop::option::of(ranges()).prop_map(move |r| (field, r)));
        fields.prop_map(|fields| {
            Cube(fields.into_iter().filter_map(|(field, r)| Some((field, r?))).collect())
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost(a in cubes(), b in cubes()) {
            let rest = a.without(&b);
            for (x, y, z) in itertools() {
                let has = |cube: &Cube| {
                    let value = [(PROTOCOL, x), (DST, y), (TTL, z)];
                    value.iter().all(|(field, v)| cube.values(*field).contains(*v))
                };
                let left = rest.iter().filter(|cube| has(cube)).count();
                prop_assert_eq!(left, usize::from(has(&a) && !has(&b)));
                prop_assert_eq!(a.and(&b).is_some_and(|both| has(&both)), has(&a) && has(&b));
            }
        }
    }

    fn itertools() -> impl Iterator<Item = (u32, u32, u32)> {
        (0..11).flat_map(|x| (0..11).flat_map(move |y| (0..11).map(move |z| (x, y, z))))
    }
}
