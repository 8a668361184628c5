//! Fed tables: routing tables beside main, and routing rules, that somebody else knows (the kernel).
//!
//! ```text
//!  Router::feed_tables ─► FedTables ─► news ─► the compiler ─┬─► ways of the tables of these names
//!                                                            └─► rules, behind those that were typed
//! ```
//!
//! A table's name is that of a routing mark or table that the configuration speaks of, or a fed rule does;
//! of another one nothing is used. What is fed into main goes by [`feed`](super::feed), of IPv6 by
//! `Router::feed6`.

use super::feed::Protocol;
use super::fib::Word;
use super::route::{Candidate, Target};
use super::rule::Action;
use crate::firewall::mark::{MAIN, Mark, MarkBook};
use crate::interface::InterfaceId;
use crate::program::Program;

/// A route that somebody else knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fed<A: Word = u128> {
    /// The network.
    pub prefix: A::Prefix,
    /// What lies behind it.
    pub target: Target<A>,
    /// Who knows it.
    pub protocol: Protocol,
}

/// A table that somebody else knows, each prefix once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FedTable {
    /// Its name here.
    pub name: String,
    /// Its routes of IPv4.
    pub four: Vec<Fed<u32>>,
    /// And of IPv6.
    pub six: Vec<Fed<u128>>,
}

/// A routing rule that somebody else knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FedRule<A: Word> {
    /// Its place there: the least comes first.
    pub priority: u32,
    /// Packets from there.
    pub src: Option<A::Prefix>,
    /// Packets to there.
    pub dst: Option<A::Prefix>,
    /// Packets that came in by it.
    pub interface: Option<InterfaceId>,
    /// What becomes of them.
    pub action: Action,
    /// The name of the table that they ask: of main, `main`.
    pub table: String,
    /// Prefixes of this length, or shorter, do not count.
    pub min_prefix: Option<u32>,
}

/// All that is fed but for main.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FedTables {
    /// The tables.
    pub tables: Vec<FedTable>,
    /// The rules of IPv4, in their order.
    pub rules4: Vec<FedRule<u32>>,
    /// And of IPv6.
    pub rules6: Vec<FedRule<u128>>,
}

impl FedTables {
    /// The names of the tables that rules ask, but main.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let four = self.rules4.iter().map(|rule| rule.table.as_str());
        let all = four.chain(self.rules6.iter().map(|rule| rule.table.as_str()));
        all.filter(|name| *name != MAIN && !name.is_empty())
    }
}

impl<A: Word> Fed<A> {
    /// The way that it means in a table; those of its gateways count whose interface runs.
    pub(crate) fn candidate(&self, table: Mark, program: &Program) -> Candidate<A> {
        let target = match &self.target {
            Target::Connected(interface) => program.runs(*interface).then(|| self.target.clone()),
            Target::Gateways(ways) => {
                let runs = |way: &(InterfaceId, A)| program.runs(way.0);
                let ways: Vec<_> = ways.iter().copied().filter(runs).collect();
                (!ways.is_empty()).then_some(Target::Gateways(ways))
            }
            other => Some(other.clone()),
        };
        let distance = self.protocol.distance();
        Candidate { table, prefix: self.prefix, distance, pref_src: A::default(), target }
    }
}

/// All fed routes of a family, each with its table's mark.
pub(crate) fn marked<'a, A: Word + 'a>(
    fed: &'a FedTables,
    marks: &'a MarkBook,
    routes: impl Fn(&'a FedTable) -> &'a [Fed<A>] + 'a,
) -> impl Iterator<Item = (Mark, &'a Fed<A>)> {
    fed.tables.iter().flat_map(move |table| {
        let mark = marks.routing.find(&table.name).filter(|mark| *mark != Mark::NONE);
        mark.into_iter().flat_map({
            let routes = routes(table);
            move |mark| routes.iter().map(move |fed| (mark, fed))
        })
    })
}
