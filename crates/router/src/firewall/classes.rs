//! Long lists of rules, found by classes: which gates may let a packet through, without asking each.
//!
//! ```text
//! source          ─► its interval ─► rules ▮▯▮▮▯▯▮▮ ─┐
//! destination     ─► its interval ─► rules ▯▯▮▮▯▮▮▯ ─┼─ and, 64 rules at a time ─► ▯▯▮▯▯▯▮▯ ─► gates
//! ports, state …  ─► its interval ─► rules ▮▮▮▯▮▮▮▮ ─┘
//! ```
//!
//! The bounds of all rules cut a field's values into intervals; within one, the same rules are open.
//! An interval's rules are a list where they are few, else a bit for each rule; rules that do not look
//! at the field are one set of bits for all. This is the bit vector of Lakshman and Stiliadis (1998)
//! with most of its zeros left out.
//!
//! What is found may be too much, never too little: a rule whose interval is so wide that it would
//! stand in too many lists counts as one that does not look. So each rule found is asked by its gate,
//! and whatever remembers or counts sees exactly the packets that it sees in a walk rule by rule.

use super::gate::{FIELDS, Facts, Gate};
use std::sync::Arc;

/// Fewer rules than this are quicker asked one by one.
pub(crate) const FEW: usize = 96;

/// How many intervals the rules may stand in, for each rule of the table: bounds memory and time.
const BREADTH: usize = 64;

/// Rules in a word of bits.
const BITS: usize = u64::BITS as usize;

/// The classes of a table's gates.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    /// Of the fields that any rule looks at.
    fields: Vec<Arc<Field>>,
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

impl Classes {
    /// Of these gates; `None` if they are few, or all let everything through.
    pub(crate) fn of(gates: &[Gate]) -> Option<Classes> {
        if gates.len() < FEW {
            return None;
        }
        let fields = (0..FIELDS).filter_map(|at| Field::of(at, gates)).map(Arc::new);
        let fields: Vec<_> = fields.collect();
        (!fields.is_empty()).then_some(Classes { fields })
    }

    /// Of these gates, as [`of`](Self::of) makes them, where these classes are of `old`: a field at which
    /// all gates look as before stays.
    pub(crate) fn patched(&self, old: &[Gate], gates: &[Gate]) -> Option<Classes> {
        if old.len() != gates.len() {
            return Classes::of(gates);
        }
        let both = || old.iter().zip(gates).filter(|(old, gate)| old != gate);
        let looks = |gate: &Gate, at| {
            let mut pieces = Vec::new();
            gate.pieces(at, |first, last| pieces.push((first, last)));
            pieces
        };
        let fields = (0..FIELDS).filter_map(|at| {
            match both().all(|(old, gate)| looks(old, at) == looks(gate, at)) {
                true => self.fields.iter().find(|field| field.at == at).cloned(),
                false => Field::of(at, gates).map(Arc::new),
            }
        });
        let fields: Vec<_> = fields.collect();
        (!fields.is_empty()).then_some(Classes { fields })
    }

    /// Begins to look for the gates that let a packet through.
    pub(crate) fn search(&self, facts: &Facts) -> Search<'_> {
        let mut spots = [Spot { list: &[], bits: &[], at: 0 }; FIELDS];
        for (spot, field) in spots.iter_mut().zip(&self.fields) {
            *spot = field.spot(facts.value(field.at));
        }
        Search { spots, fields: self.fields.len(), block: 0 }
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
pub(crate) struct Search<'a> {
    spots: [Spot<'a>; FIELDS],
    fields: usize,
    /// The block that was asked last.
    block: usize,
}

impl Search<'_> {
    /// The first of the gates `start..end` that lets the packet through.
    pub(crate) fn next(
        &mut self,
        gates: &[Gate],
        facts: &Facts,
        start: usize,
        end: usize,
    ) -> Option<usize> {
        let mut block = start / BITS;
        if block < self.block {
            self.spots.iter_mut().for_each(|spot| spot.at = 0);
        }
        let mut open = self.open(block) & (u64::MAX << (start % BITS));
        let found = loop {
            if open == 0 {
                block += 1;
                if block * BITS >= end {
                    break None;
                }
                open = self.open(block);
                continue;
            }
            let rule = block * BITS + open.trailing_zeros() as usize;
            open &= open - 1;
            if rule >= end {
                break None;
            }
            if gates[rule].admits(facts) {
                break Some(rule);
            }
        };
        self.block = block;
        found
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
        let blocks = gates.len().div_ceil(BITS);
        let mut any = vec![0u64; blocks];
        let set =
            |bits: &mut [u64], rule: u32| bits[rule as usize / BITS] |= 1 << (rule as usize % BITS);
        // Values from, to, and whose.
        let mut pieces: Vec<(u32, u32, u32)> = Vec::new();
        for (rule, gate) in gates.iter().enumerate() {
            if !gate.pieces(at, |first, last| pieces.push((first, last, rule as u32))) {
                set(&mut any, rule as u32);
            }
        }
        if pieces.is_empty() {
            return None;
        }
        let ends = pieces.iter().filter_map(|(_, last, _)| last.checked_add(1));
        let mut starts: Vec<u32> =
            pieces.iter().map(|piece| piece.0).chain(ends).chain([0]).collect();
        starts.sort_unstable();
        starts.dedup();
        let place = |value: u32| starts.partition_point(|&start| start <= value) - 1;
        for piece in &mut pieces {
            // From now on, intervals.
            (piece.0, piece.1) = (place(piece.0) as u32, place(piece.1) as u32 + 1);
        }
        leave_out_broad(&mut pieces, BREADTH * gates.len(), |rule| set(&mut any, rule));

        let mut counts = vec![0i32; starts.len() + 1];
        for &(from, to, _) in &pieces {
            counts[from as usize] += 1;
            counts[to as usize] -= 1;
        }
        let (mut count, mut listed, mut bits) = (0, 0, any.clone());
        let mut sets = Vec::with_capacity(starts.len());
        for change in &counts[..starts.len()] {
            count += change;
            let mut set = Set { list: (listed, listed), bits: 0 };
            if count as usize > blocks {
                set.bits = bits.len() as u32;
                bits.extend_from_slice(&any);
            } else {
                listed += count as u32;
            }
            sets.push(set);
        }
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
        let set = self.sets[self.starts.partition_point(|&start| start <= value) - 1];
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
