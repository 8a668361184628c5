//! The queues of one parent by their targets: which is the first that takes a packet.
//!
//! One probe for each prefix length that occurs, see [`super`]. Never knows parents or limits.

use super::{Dst, Index, Side, Target};
use crate::firewall::matcher::hours::Hours;
use crate::interface::InterfaceId;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use wire::Ipv6Prefix;

/// What is known of networks.
type Networks<N, T> = HashMap<N, T, BuildHasherDefault<Mix>>;

/// Queues of one parent by their targets.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Lookup {
    /// Those who share a target: candidates of every such target, together and in order.
    candidates: Vec<Candidate>,
    /// Where those of each such target stand.
    spans: Vec<Range<u32>>,
    /// By length the networks of that length.
    by_prefix: Vec<(u8, Networks<u32, Takers>)>,
    /// The same of IPv6.
    by_prefix6: Networks<Ipv6Prefix, Takers>,
    /// The lengths that occur there.
    lengths6: Vec<u8>,
    /// By interface number.
    by_interface: Vec<Takers>,
}

/// Who takes what is for a target: one queue everything, as nearly always, or one of a span.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Takers(u32);

impl Takers {
    const NOBODY: Takers = Takers(u32::MAX);
    /// The others bits are a span's number.
    const SEVERAL: u32 = 1 << 31;
}

/// A lookup that is being made.
#[derive(Default)]
pub(super) struct Making {
    prefixes: BTreeMap<u8, Networks<u32, Vec<Candidate>>>,
    prefixes6: Networks<Ipv6Prefix, Vec<Candidate>>,
    interfaces: HashMap<InterfaceId, Vec<Candidate>>,
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

impl Making {
    pub(super) fn enter(&mut self, target: Target, candidate: Candidate) {
        let list = match target {
            Target::Prefix(prefix) => {
                let of_length = self.prefixes.entry(prefix.len()).or_default();
                of_length.entry(prefix.bits()).or_default()
            }
            Target::Prefix6(prefix) => self.prefixes6.entry(prefix).or_default(),
            Target::Interface(id) => self.interfaces.entry(id).or_default(),
        };
        list.push(candidate);
    }
}

impl Lookup {
    pub(super) fn make(making: Making) -> Lookup {
        let mut lookup = Lookup::default();
        for (length, networks) in making.prefixes {
            let mut takers = Networks::default();
            takers.reserve(networks.len());
            takers.extend(networks.into_iter().map(|(net, list)| (net, lookup.takers(list))));
            lookup.by_prefix.push((length, takers));
        }
        for (prefix, list) in making.prefixes6 {
            let takers = lookup.takers(list);
            lookup.by_prefix6.insert(prefix, takers);
            lookup.lengths6.push(prefix.len());
        }
        lookup.lengths6.sort_unstable();
        lookup.lengths6.dedup();
        for (id, list) in making.interfaces {
            let takers = lookup.takers(list);
            let size = lookup.by_interface.len().max(id.index() + 1);
            lookup.by_interface.resize(size, Takers::NOBODY);
            lookup.by_interface[id.index()] = takers;
        }
        lookup
    }

    pub(super) fn bytes(&self) -> usize {
        let prefixes = self.by_prefix.iter().map(|(_, takers)| takers.capacity()).sum::<usize>();
        self.candidates.capacity() * size_of::<Candidate>()
            + self.spans.capacity() * size_of::<Range<u32>>()
            + self.by_interface.capacity() * size_of::<Takers>()
            + prefixes * 8 / 7 * (size_of::<(u32, Takers)>() + 1)
            + self.by_prefix6.capacity() * 8 / 7 * (size_of::<(Ipv6Prefix, Takers)>() + 1)
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
        let mut first = |&Takers(takers): &Takers| {
            if takers & Takers::SEVERAL == 0 {
                return Some(takers);
            }
            let span = self.spans.get((takers & !Takers::SEVERAL) as usize)?;
            let list = &self.candidates[span.start as usize..span.end as usize];
            list.iter().find(&mut matches).map(|candidate| candidate.queue)
        };
        let mut best = self.by_interface.get(here_interface.index()).and_then(&mut first);
        here.each_taker(self, |takers| {
            best = match (best, first(takers)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        });
        best
    }

    /// Candidates of one target, in order; behind one that takes everything nobody has a chance.
    fn takers(&mut self, mut list: Vec<Candidate>) -> Takers {
        list.sort_by_key(|candidate| candidate.queue);
        let all = list.iter().position(Candidate::is_for_all);
        list.truncate(all.map_or(list.len(), |all| all + 1));
        if let ([only], Some(0)) = (&list[..], all) {
            return Takers(only.queue);
        }
        let start = self.candidates.len() as u32;
        self.candidates.extend_from_slice(&list);
        self.spans.push(start..self.candidates.len() as u32);
        Takers(Takers::SEVERAL | (self.spans.len() as u32 - 1))
    }
}

/// A family whose packets are sorted into queues by their addresses.
pub trait Sorted: Copy {
    /// Whether a queue's prefix has this address.
    #[doc(hidden)]
    fn is_in(self, dst: Dst, prefixes: &[Ipv6Prefix]) -> bool;

    /// Calls `with` for the queues of each network that has this address.
    #[doc(hidden)]
    fn each_taker(self, lookup: &Lookup, with: impl FnMut(&Takers));
}

impl Sorted for u32 {
    #[inline(always)]
    fn is_in(self, dst: Dst, _: &[Ipv6Prefix]) -> bool {
        matches!(dst, Dst::Prefix(prefix) if prefix.contains(self))
    }

    #[inline(always)]
    fn each_taker(self, lookup: &Lookup, with: impl FnMut(&Takers)) {
        let lengths = lookup.by_prefix.iter();
        lengths
            .filter_map(|(len, takers)| takers.get(&(self & wire::prefix::mask(*len))))
            .for_each(with);
    }
}

impl Sorted for u128 {
    fn is_in(self, dst: Dst, prefixes: &[Ipv6Prefix]) -> bool {
        matches!(dst, Dst::Prefix6(at) if prefixes[at as usize].contains(self))
    }

    fn each_taker(self, lookup: &Lookup, with: impl FnMut(&Takers)) {
        let networks = lookup.lengths6.iter().map(|&len| Ipv6Prefix::new(self, len));
        networks.filter_map(|network| lookup.by_prefix6.get(&network)).for_each(with);
    }
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

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        let product = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table takes its bucket from the low bits and its tag from the highest.
        self.0 = product ^ product >> 32;
    }
}
