//! Routing tables beside main: one for each routing mark that a route has.
//!
//! ```text
//! /ip route … routing-mark=wan2 ─► table wan2: best active way per prefix ─► leaf ─► Fib
//! ```
//!
//! A leaf's number means the same in all tables. A table whose ways have changed is made anew, which
//! takes time by its size; fed routes are in main only.

use super::fib::{Fib, NextHopId};
use super::route::{Candidate, Target, Ways};
use crate::firewall::mark::Mark;
use std::collections::BTreeMap;
use wire::Ipv4Prefix;

/// The ways to every prefix, table by table.
pub(crate) type TableWays = BTreeMap<Mark, Ways>;

/// All tables but main.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    by_mark: BTreeMap<Mark, Table>,
}

#[derive(Debug)]
struct Table {
    ways: Ways,
    fib: Fib,
}

impl Tables {
    /// Where an address leads in a table.
    #[inline]
    pub(crate) fn lookup(&self, table: Mark, dst: u32) -> NextHopId {
        self.by_mark.get(&table).map_or(NextHopId::NONE, |table| table.fib.lookup(dst))
    }

    /// Whether a table has these ways.
    pub(crate) fn has(&self, table: Mark, ways: &Ways) -> bool {
        self.by_mark.get(&table).is_some_and(|table| table.ways == *ways)
    }

    /// Makes a table anew: these ways, of which those with leaves are the best of their prefixes.
    pub(crate) fn set(&mut self, table: Mark, ways: Ways, leaves: Vec<(Ipv4Prefix, NextHopId)>) {
        self.by_mark.insert(table, Table { ways, fib: leaves.into_iter().collect() });
    }

    /// Takes tables away that nobody speaks of any more.
    pub(crate) fn keep(&mut self, spoken_of: impl Fn(Mark) -> bool) {
        self.by_mark.retain(|&mark, _| spoken_of(mark));
    }

    /// All ways.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &Candidate> {
        self.by_mark.values().flat_map(|table| table.ways.all())
    }

    /// The ways to a prefix in a table.
    pub(crate) fn ways_to(&self, table: Mark, prefix: Ipv4Prefix) -> Option<&[Candidate]> {
        Some(self.by_mark.get(&table)?.ways.to(prefix))
    }

    /// Whether a way is the one that packets take.
    pub(crate) fn is_active(&self, way: &Candidate) -> bool {
        let ways = self.ways_to(way.table, way.prefix);
        ways.and_then(best) == Some(way)
    }

    /// The route that an address takes in a table: the longest prefix there is.
    pub(crate) fn prefix_of(&self, table: Mark, address: u32) -> Option<Ipv4Prefix> {
        self.by_mark.get(&table)?.fib.covering(address).map(|(prefix, _)| prefix)
    }
}

/// The best of the ways to a prefix that lead anywhere: of equals the first.
pub(crate) fn best(ways: &[Candidate]) -> Option<&Candidate> {
    ways.iter().filter(|way| way.target.is_some()).min_by_key(|way| way.distance)
}

/// The targets that a table's packets take.
pub(crate) fn targets(ways: &Ways) -> impl Iterator<Item = (Ipv4Prefix, &Target)> {
    ways.by_prefix().filter_map(|(prefix, ways)| Some((prefix, best(ways)?.target.as_ref()?)))
}
