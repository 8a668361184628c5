//! Rules that stand with many others in every field: bits, 64 rules at a time.
//!
//! ```text
//! source          ─► its interval ─► rules ▮▯▮▮▯▯▮▮ ─┐
//! destination     ─► its interval ─► rules ▯▯▮▮▯▮▮▯ ─┼─ and, 64 rules at a time ─► ▯▯▮▯▯▯▮▯ ─► gates
//! ports, state …  ─► its interval ─► rules ▮▮▮▯▮▮▮▮ ─┘
//! ```
//!
//! An interval's rules are a list where they are few, else a bit for each rule; rules that do not look
//! at the field are one set of bits for all. This is the bit vector of Lakshman and Stiliadis (1998)
//! with most of its zeros left out. A rule whose interval is so wide that it would stand in too many lists
//! counts as one that does not look.

use super::{Cut, place};
use crate::firewall::gate::{FIELDS, Facts, Gate};

/// How many intervals the rules may stand in, for each rule of the table: bounds memory and time.
const BREADTH: usize = 64;

/// Rules in a word of bits.
const BITS: usize = u64::BITS as usize;

/// Those rules, and their classes. From here on they have numbers of their own, without gaps.
#[derive(Clone, Debug)]
pub(super) struct Broad {
    /// Their numbers among all rules.
    rules: Vec<u32>,
    /// The fields that any of them looks at.
    fields: Vec<Field>,
}

/// The classes of one field.
#[derive(Clone, Debug)]
struct Field {
    /// Which one.
    at: usize,
    /// Where each interval begins; the first at 0.
    starts: Vec<u32>,
    sets: Vec<Set>,
    /// The rules of intervals with few of them, in their order.
    lists: Vec<u32>,
    /// The bits of the others; before them all, those of the rules that do not look at the field.
    bits: Vec<u64>,
}

/// The rules of an interval: the list, and the bits that go with it.
#[derive(Clone, Copy, Debug, Default)]
struct Set {
    list: (u32, u32),
    bits: u32,
}

impl Broad {
    /// Of these rules, in their order.
    pub(super) fn of(gates: &[Gate], rules: Vec<u32>) -> Broad {
        let gates: Vec<Gate> = rules.iter().map(|&rule| gates[rule as usize]).collect();
        let fields = (0..FIELDS).filter_map(|at| Field::of(at, &gates)).collect();
        Broad { rules, fields }
    }

    /// Begins to look for the gates that let a packet through.
    pub(super) fn search(&self, facts: &Facts) -> Search<'_> {
        let mut spots = [Spot { list: &[], bits: &[], at: 0 }; FIELDS];
        for (spot, field) in spots.iter_mut().zip(&self.fields) {
            *spot = field.spot(facts.value(field.at));
        }
        Search {
            rules: &self.rules,
            spots,
            fields: self.fields.len(),
            block: 0,
            left: 0,
            from: usize::MAX,
            number: 0,
        }
    }
}

/// Where a packet stands in a field.
#[derive(Clone, Copy)]
struct Spot<'a> {
    list: &'a [u32],
    bits: &'a [u64],
    /// How much of the list lies before the block that was asked last.
    at: usize,
}

/// A search for the gates that let one packet through.
pub(super) struct Search<'a> {
    rules: &'a [u32],
    spots: [Spot<'a>; FIELDS],
    fields: usize,
    /// The block that was asked last.
    block: usize,
    /// What of it is open and was not found yet, and which rules that is true of: from this one on.
    left: u64,
    from: usize,
    /// Where the rules began that were asked last.
    number: usize,
}

impl Search<'_> {
    /// The first of the gates `start..end` that lets the packet through.
    pub(super) fn next(
        &mut self,
        gates: &[Gate],
        facts: &Facts,
        start: usize,
        end: usize,
    ) -> Option<usize> {
        if self.rules.last().is_none_or(|&last| (last as usize) < start) {
            return None;
        }
        let start = self.number(start);
        let mut block = start / BITS;
        if block < self.block {
            self.spots.iter_mut().for_each(|spot| spot.at = 0);
        }
        let known = block == self.block && start >= self.from;
        let open = if known { self.left } else { self.open(block) };
        let mut open = open & (u64::MAX << (start % BITS));
        self.from = usize::MAX;
        let found = loop {
            if open == 0 {
                block += 1;
                if self.rules.get(block * BITS).is_none_or(|&rule| rule as usize >= end) {
                    break None;
                }
                open = self.open(block);
                continue;
            }
            let at = block * BITS + open.trailing_zeros() as usize;
            open &= open - 1;
            let Some(&rule) = self.rules.get(at) else { break None };
            let rule = rule as usize;
            if rule >= end {
                break None;
            }
            if gates[rule].admits(facts) {
                (self.left, self.from) = (open, at + 1);
                break Some(rule);
            }
        };
        self.block = block;
        found
    }

    /// The first of these rules that is no earlier than one of all rules. Mostly it is the next one.
    #[inline]
    fn number(&mut self, rule: usize) -> usize {
        let is_earlier = |other: &u32| (*other as usize) < rule;
        let is_late = |at: usize| at > 0 && !is_earlier(&self.rules[at - 1]);
        let mut at = self.number;
        if is_late(at) {
            at = 0;
        } else if self.rules.get(at).is_some_and(is_earlier) {
            at += 1;
        }
        if self.rules.get(at).is_some_and(is_earlier) {
            at += self.rules[at..].partition_point(is_earlier);
        }
        self.number = at;
        self.number
    }

    /// Which of the 64 rules of a block may be open; blocks are asked upwards.
    #[inline]
    fn open(&mut self, block: usize) -> u64 {
        let mut open = u64::MAX;
        for spot in &mut self.spots[..self.fields] {
            let mut bits = spot.bits[block];
            if let Some(&next) = spot.list.get(spot.at)
                && next as usize / BITS <= block
            {
                bits |= spot.listed(block);
            }
            open &= bits;
        }
        open
    }
}

impl Spot<'_> {
    fn listed(&mut self, block: usize) -> u64 {
        let before = |&&rule: &&u32| (rule as usize) < block * BITS;
        self.at += self.list[self.at..].iter().take_while(before).count();
        let within = self.list[self.at..].iter().take_while(|&&rule| rule as usize / BITS == block);
        within.fold(0, |bits, &rule| bits | 1 << (rule as usize % BITS))
    }
}

impl Field {
    /// `None` if no rule looks at it.
    fn of(at: usize, gates: &[Gate]) -> Option<Field> {
        let Cut { starts, mut pieces } = Cut::of(at, gates, |_| true);
        if pieces.is_empty() {
            return None;
        }
        let mut any = vec![0u64; gates.len().div_ceil(BITS)];
        let set =
            |bits: &mut [u64], rule: u32| bits[rule as usize / BITS] |= 1 << (rule as usize % BITS);
        for (rule, gate) in gates.iter().enumerate() {
            if !gate.pieces(at, |_, _| ()) {
                set(&mut any, rule as u32);
            }
        }
        leave_out_broad(&mut pieces, BREADTH * gates.len(), |rule| set(&mut any, rule));

        let cut = Cut { starts, pieces };
        let (mut listed, mut bits) = (0, any.clone());
        let mut sets = Vec::with_capacity(cut.starts.len());
        for count in cut.crowds() {
            let mut set = Set { list: (listed, listed), bits: 0 };
            if count as usize > any.len() {
                set.bits = bits.len() as u32;
                bits.extend_from_slice(&any);
            } else {
                listed += count;
            }
            sets.push(set);
        }
        let Cut { starts, pieces } = cut;
        let mut lists = vec![0; listed as usize];
        for &(from, to, rule) in &pieces {
            for entry in &mut sets[from as usize..to as usize] {
                if entry.bits == 0 {
                    lists[entry.list.1 as usize] = rule;
                    entry.list.1 += 1;
                } else {
                    set(&mut bits[entry.bits as usize..], rule);
                }
            }
        }
        Some(Field { at, starts, sets, lists, bits })
    }

    #[inline]
    fn spot(&self, value: u32) -> Spot<'_> {
        let set = self.sets[place(&self.starts, value)];
        let list = &self.lists[set.list.0 as usize..set.list.1 as usize];
        Spot { list, bits: &self.bits[set.bits as usize..], at: 0 }
    }
}

/// Takes out the pieces that stand in most intervals, until all together stand in at most `most`.
fn leave_out_broad(pieces: &mut Vec<(u32, u32, u32)>, most: usize, mut left_out: impl FnMut(u32)) {
    let breadth = |piece: &(u32, u32, u32)| (piece.1 - piece.0) as usize;
    if pieces.iter().map(breadth).sum::<usize>() <= most {
        return;
    }
    let mut breadths: Vec<usize> = pieces.iter().map(breadth).collect();
    breadths.sort_unstable();
    let mut sum = 0;
    let fits = breadths.iter().take_while(|&&breadth| {
        sum += breadth;
        sum <= most
    });
    let fits = fits.count();
    let limit = breadths.get(fits).copied().unwrap_or(usize::MAX);
    pieces.retain(|piece| {
        let stays = breadth(piece) < limit;
        if !stays {
            left_out(piece.2);
        }
        stays
    });
}
