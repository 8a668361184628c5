//! The queues of one parent by their targets: which is the first that takes a packet.
//!
//! One probe for each prefix length that occurs, see [`super`]. Never knows parents or limits.

use super::{Dst, Index, Side, Target};
use crate::firewall::matcher::hours::Hours;
use crate::interface::InterfaceId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use wire::Ipv6Prefix;

/// Queues of one parent by their targets.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Lookup {
    /// Candidates of every target, those of one target together and in order.
    candidates: Vec<Candidate>,
    /// By length and network, see [`key`].
    by_prefix: HashMap<u64, Span, BuildHasherDefault<Mix>>,
    /// Bit n: targets of length n occur.
    lengths: u64,
    /// The same of IPv6.
    by_prefix6: HashMap<Ipv6Prefix, Span, BuildHasherDefault<Mix>>,
    /// The lengths that occur there.
    lengths6: Vec<u8>,
    /// By interface number.
    by_interface: Vec<Span>,
}

/// A lookup that is being made.
#[derive(Default)]
pub(super) struct Making {
    prefixes: HashMap<u64, Vec<Candidate>, BuildHasherDefault<Mix>>,
    prefixes6: HashMap<Ipv6Prefix, Vec<Candidate>, BuildHasherDefault<Mix>>,
    interfaces: HashMap<InterfaceId, Vec<Candidate>>,
    lengths: u64,
}

/// A queue that matches if its `dst` and its marks do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) queue: u32,
    /// The place of its marks; 0 if it asks for none.
    pub(super) marks: u32,
    /// The place of its hours; 0 if it is for all times.
    pub(super) hours: u32,
    pub(super) dst: Dst,
}

impl Candidate {
    /// Whether it takes everything of its target, always.
    fn is_for_all(&self) -> bool {
        self.dst == Dst::Any && self.marks == 0 && self.hours == 0
    }
}

/// The places of candidates that stand together.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Making {
    pub(super) fn enter(&mut self, target: Target, candidate: Candidate) {
        let list = match target {
            Target::Prefix(prefix) => {
                self.lengths |= 1 << prefix.len();
                self.prefixes.entry(key(prefix.bits(), prefix.len())).or_default()
            }
            Target::Prefix6(prefix) => self.prefixes6.entry(prefix).or_default(),
            Target::Interface(id) => self.interfaces.entry(id).or_default(),
        };
        list.push(candidate);
    }
}

impl Lookup {
    pub(super) fn make(making: Making) -> Lookup {
        let mut lookup = Lookup { lengths: making.lengths, ..Lookup::default() };
        lookup.by_prefix.reserve(making.prefixes.len());
        for (key, list) in making.prefixes {
            let span = lookup.span(list);
            lookup.by_prefix.insert(key, span);
        }
        for (prefix, list) in making.prefixes6 {
            let span = lookup.span(list);
            lookup.by_prefix6.insert(prefix, span);
            lookup.lengths6.push(prefix.len());
        }
        lookup.lengths6.sort_unstable();
        lookup.lengths6.dedup();
        for (id, list) in making.interfaces {
            let span = lookup.span(list);
            let size = lookup.by_interface.len().max(id.index() + 1);
            lookup.by_interface.resize(size, Span::default());
            lookup.by_interface[id.index()] = span;
        }
        lookup
    }

    pub(super) fn bytes(&self) -> usize {
        self.candidates.capacity() * size_of::<Candidate>()
            + self.by_interface.capacity() * size_of::<Span>()
            + self.by_prefix.capacity() * 8 / 7 * (size_of::<(u64, Span)>() + 1)
            + self.by_prefix6.capacity() * 8 / 7 * (size_of::<(Ipv6Prefix, Span)>() + 1)
    }

    /// The first queue whose target is `here` and whose `dst` is `there`.
    pub(super) fn first<A: Sorted>(
        &self,
        side: &Side<A>,
        index: &Index,
        is_now: &mut impl FnMut(&Hours) -> bool,
    ) -> Option<u32> {
        let Side { here, here_interface, there, there_interface, mark } = *side;
        let mut matches = |candidate: &&Candidate| {
            let is_there = match candidate.dst {
                Dst::Any => true,
                Dst::Interface(id) => id == there_interface,
                prefix => there.is_in(prefix, &index.prefixes),
            };
            let marks = &index.marks[candidate.marks as usize];
            is_there
                && (candidate.marks == 0 || marks.contains(&mark))
                && (candidate.hours == 0 || is_now(&index.hours[candidate.hours as usize - 1]))
        };
        let mut first = |span: &Span| {
            let list = &self.candidates[span.start as usize..span.end as usize];
            list.iter().find(&mut matches).map(|candidate| candidate.queue)
        };
        let mut best = self.by_interface.get(here_interface.index()).and_then(&mut first);
        here.each_span(self, |span| {
            best = match (best, first(span)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        });
        best
    }

    /// Candidates of one target, in order; behind one that takes everything nobody has a chance.
    fn span(&mut self, mut list: Vec<Candidate>) -> Span {
        list.sort_by_key(|candidate| candidate.queue);
        let all = list.iter().position(Candidate::is_for_all);
        list.truncate(all.map_or(list.len(), |all| all + 1));
        let start = self.candidates.len() as u32;
        self.candidates.extend_from_slice(&list);
        Span { start, end: self.candidates.len() as u32 }
    }
}

/// A family whose packets are sorted into queues by their addresses.
pub trait Sorted: Copy {
    /// Whether a queue's prefix has this address.
    #[doc(hidden)]
    fn is_in(self, dst: Dst, prefixes: &[Ipv6Prefix]) -> bool;

    /// Calls `with` for the queues of each network that has this address.
    #[doc(hidden)]
    fn each_span(self, lookup: &Lookup, with: impl FnMut(&Span));
}

impl Sorted for u32 {
    #[inline(always)]
    fn is_in(self, dst: Dst, _: &[Ipv6Prefix]) -> bool {
        matches!(dst, Dst::Prefix(prefix) if prefix.contains(self))
    }

    #[inline(always)]
    fn each_span(self, lookup: &Lookup, with: impl FnMut(&Span)) {
        let mut lengths = lookup.lengths;
        let next = || {
            let len = (lengths != 0).then(|| lengths.trailing_zeros() as u8)?;
            lengths &= lengths - 1;
            Some(key(self & wire::prefix::mask(len), len))
        };
        let keys = std::iter::from_fn(next);
        keys.filter_map(|key| lookup.by_prefix.get(&key)).for_each(with);
    }
}

impl Sorted for u128 {
    fn is_in(self, dst: Dst, prefixes: &[Ipv6Prefix]) -> bool {
        matches!(dst, Dst::Prefix6(at) if prefixes[at as usize].contains(self))
    }

    fn each_span(self, lookup: &Lookup, with: impl FnMut(&Span)) {
        let networks = lookup.lengths6.iter().map(|&len| Ipv6Prefix::new(self, len));
        networks.filter_map(|network| lookup.by_prefix6.get(&network)).for_each(with);
    }
}

fn key(network: u32, len: u8) -> u64 {
    u64::from(len) << 32 | u64::from(network)
}

/// A hash for keys that users configure: one multiplication. Nobody gains by making them collide.
#[derive(Clone, Copy, Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, n: u64) {
        let product = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table takes its bucket from the low bits and its tag from the highest.
        self.0 = product ^ product >> 32;
    }
}
