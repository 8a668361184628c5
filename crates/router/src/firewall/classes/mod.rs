//! Long lists of rules, found by classes: which gates may let a packet through, without asking each.
//!
//! ```text
//! source         ─► its interval ─► rules at home there:  17  230 ──┐
//! destination    ─► its interval ─► rules at home there:  4  5210 ──┼─ the next in order ─► its gate
//! ports, state … ─► its interval ─► rules at home there:  (none) ───┤
//! rules without a home ─► a bit for each: see `broad` ──────────────┘
//! ```
//!
//! The bounds of all rules cut a field's values into intervals. A rule is at home in the field where it has
//! the fewest others beside it: most rules have an address or a port that few others have, so a packet's
//! intervals hold a handful of them, however long the list is.
//!
//! What is found may be too much, never too little. So each rule found is asked by its gate, and whatever
//! remembers or counts sees exactly the packets that it sees in a walk rule by rule.

// Rules that stand with many others in every field.
mod broad;
// Which packets no gate tells apart.
mod tuple;

use super::gate::{FIELDS, Facts, Gate};
use broad::Broad;
pub(crate) use tuple::{Class, Tuples};

/// Fewer rules than this are quicker asked one by one.
pub(crate) const FEW: usize = 96;

/// The most rules that an interval is a home for.
const CROWD: u32 = 32;

/// The most intervals that a rule is at home in: bounds memory and time.
const BREADTH: usize = 64;

/// The classes of a table's gates.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    homes: Vec<Home>,
    broad: Broad,
}

/// A field, and the rules that are at home in it.
#[derive(Clone, Debug)]
struct Home {
    at: usize,
    /// Where each interval begins; the first at 0.
    starts: Vec<u32>,
    /// Where the rules of each interval begin in the list of all; one more, for the end.
    begins: Vec<u32>,
    /// In each interval in their order.
    rules: Vec<u32>,
}

/// A field's values cut into intervals, and the rules in them.
struct Cut {
    starts: Vec<u32>,
    /// From an interval to the one before another, whose rule.
    pieces: Vec<(u32, u32, u32)>,
}

impl Cut {
    /// Of those gates that are meant; without pieces if none looks at the field.
    fn of(at: usize, gates: &[Gate], meant: impl Fn(usize) -> bool) -> Cut {
        let mut pieces: Vec<(u32, u32, u32)> = Vec::new();
        for (rule, gate) in gates.iter().enumerate().filter(|(rule, _)| meant(*rule)) {
            gate.pieces(at, |first, last| pieces.push((first, last, rule as u32)));
        }
        let ends = pieces.iter().filter_map(|(_, last, _)| last.checked_add(1));
        let mut starts: Vec<u32> =
            pieces.iter().map(|piece| piece.0).chain(ends).chain([0]).collect();
        starts.sort_unstable();
        starts.dedup();
        for piece in &mut pieces {
            // From now on, intervals.
            *piece = (place(&starts, piece.0) as u32, place(&starts, piece.1) as u32 + 1, piece.2);
        }
        Cut { starts, pieces }
    }

    /// How many rules stand in each interval.
    fn crowds(&self) -> Vec<u32> {
        let mut changes = vec![0i32; self.starts.len() + 1];
        for &(from, to, _) in &self.pieces {
            changes[from as usize] += 1;
            changes[to as usize] -= 1;
        }
        let mut crowd = 0;
        let crowds = changes[..self.starts.len()].iter().map(|change| {
            crowd += change;
            crowd as u32
        });
        crowds.collect()
    }
}

/// The interval of a value.
#[inline]
fn place(starts: &[u32], value: u32) -> usize {
    starts.partition_point(|&start| start <= value) - 1
}

impl Classes {
    /// Of these gates; `None` if they are few, or all let everything through.
    pub(crate) fn of(gates: &[Gate]) -> Option<Classes> {
        if gates.len() < FEW || gates.iter().all(|gate| *gate == Gate::OPEN) {
            return None;
        }
        // The smallest crowd that each rule can stand in, and the field.
        let mut best = vec![(CROWD + 1, FIELDS); gates.len()];
        let mut crowd_of = vec![0; gates.len()];
        for at in 0..FIELDS {
            let cut = Cut::of(at, gates, |_| true);
            let crowds = cut.crowds();
            for &(from, to, rule) in &cut.pieces {
                let crowd = match (to - from) as usize {
                    0..=BREADTH => crowds[from as usize..to as usize].iter().max().copied(),
                    _ => None,
                };
                // Of a rule that has two pieces the larger crowd counts.
                let known = &mut crowd_of[rule as usize];
                *known = crowd.unwrap_or(u32::MAX).max(*known);
            }
            for &(_, _, rule) in &cut.pieces {
                let best = &mut best[rule as usize];
                *best = (*best).min((crowd_of[rule as usize], at));
            }
            cut.pieces.iter().for_each(|piece| crowd_of[piece.2 as usize] = 0);
        }
        let home = |rule: usize| best[rule].1;
        let homes = (0..FIELDS).filter_map(|at| Home::of(at, gates, |rule| home(rule) == at));
        let homes = homes.collect();
        let broad = (0..gates.len()).filter(|&rule| home(rule) == FIELDS);
        Some(Classes { homes, broad: Broad::of(gates, broad.map(|rule| rule as u32).collect()) })
    }

    /// Begins to look for the gates that let a packet through.
    pub(crate) fn search(&self, facts: &Facts) -> Search<'_> {
        let mut lists = [List { rules: &[], at: 0 }; FIELDS];
        for (list, home) in lists.iter_mut().zip(&self.homes) {
            *list = List { rules: home.rules(facts.value(home.at)), at: 0 };
        }
        Search { lists, homes: self.homes.len(), broad: self.broad.search(facts), start: 0 }
    }
}

impl Home {
    /// Of the gates that are at home there; `None` if none is.
    fn of(at: usize, gates: &[Gate], is_here: impl Fn(usize) -> bool) -> Option<Home> {
        let cut = Cut::of(at, gates, is_here);
        if cut.pieces.is_empty() {
            return None;
        }
        let mut begins: Vec<u32> = Vec::with_capacity(cut.starts.len() + 1);
        let mut sum = 0;
        for crowd in cut.crowds() {
            begins.push(sum);
            sum += crowd;
        }
        begins.push(sum);
        let (mut rules, mut next) = (vec![0; sum as usize], begins.clone());
        for &(from, to, rule) in &cut.pieces {
            for next in &mut next[from as usize..to as usize] {
                rules[*next as usize] = rule;
                *next += 1;
            }
        }
        Some(Home { at, starts: cut.starts, begins, rules })
    }

    /// Those of a value's interval.
    #[inline]
    fn rules(&self, value: u32) -> &[u32] {
        let at = place(&self.starts, value);
        &self.rules[self.begins[at] as usize..self.begins[at + 1] as usize]
    }
}

/// The rules of a packet's interval, and how many of them were passed.
#[derive(Clone, Copy)]
struct List<'a> {
    rules: &'a [u32],
    at: usize,
}

/// A search for the gates that let one packet through.
pub(crate) struct Search<'a> {
    lists: [List<'a>; FIELDS],
    homes: usize,
    broad: broad::Search<'a>,
    /// Where it was asked to begin last.
    start: usize,
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
        let lists = &mut self.lists[..self.homes];
        if start < self.start {
            lists.iter_mut().for_each(|list| list.at = 0);
        }
        self.start = start;
        let mut first = end;
        for list in lists {
            while let Some(&rule) = list.rules.get(list.at) {
                let rule = rule as usize;
                if rule >= first {
                    break;
                }
                if rule >= start && gates[rule].admits(facts) {
                    first = rule;
                    break;
                }
                // It is passed, or shut: it is not asked again before the search begins anew.
                list.at += 1;
            }
        }
        let broad = self.broad.next(gates, facts, start, first);
        broad.or((first < end).then_some(first))
    }
}
