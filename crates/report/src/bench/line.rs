//! Lines of the table: what a device does, in which family, loaded with what.
//!
//! In the documents' order, and with their names; in bridging, filter rules are bridge filter rules. Of
//! both families IPv4 comes first, and IPv6 is said.

use crate::document::once;
use measure::result::{Compared, Setup};
use measure::{Family, Mode, Row};

/// The configurations' names in the documents, in the documents' order, ours behind them.
const CONFIGURATIONS: [(&str, &str); 6] = [
    ("none", "none (fast path)"),
    ("25-simple-queues", "25 simple queues"),
    ("25-filter-rules", "25 ip filter rules"),
    ("fasttrack", "fasttrack, 25 ip filter rules"),
    ("conntrack", "connection tracking"),
    ("bgp-table", "full BGP table (fast path)"),
];

/// A line, without the frame sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) mode: Mode,
    pub(crate) family: Family,
    pub(crate) configuration: &'a str,
}

impl<'a> Line<'a> {
    pub(crate) fn of(row: &'a Row) -> Line<'a> {
        Line { mode: row.mode, family: row.family, configuration: &row.configuration }
    }

    pub(crate) fn of_setup(setup: &'a Setup) -> Line<'a> {
        Line { mode: setup.mode, family: setup.family, configuration: &setup.configuration }
    }

    pub(crate) fn of_compared(one: &'a Compared) -> Line<'a> {
        Line { mode: one.mode, family: one.family, configuration: &one.configuration }
    }

    /// What it does, in the family: `Routing`, `Routing IPv6`.
    pub(crate) fn mode(&self) -> String {
        self.mode.of(self.family)
    }

    /// What it is loaded with.
    pub(crate) fn label(&self) -> String {
        let known = CONFIGURATIONS.iter().find(|(name, _)| *name == self.configuration);
        let label = known.map_or(self.configuration, |(_, label)| label);
        match (self.mode, self.family) {
            (Mode::Bridging, _) => label.replace(" ip ", " bridge "),
            (Mode::Routing, Family::Ipv6) => label.replace(" ip ", " ipv6 "),
            (Mode::Routing, Family::Ipv4) => label.to_string(),
        }
    }

    /// Its row of a frame size.
    pub(crate) fn find<'b>(&self, rows: &[&'b Row], size: u32) -> Option<&'b Row> {
        rows.iter().find(|row| Line::of(row) == *self && row.frame_size == size).copied()
    }
}

/// The lines that there are, in their order; unknown configurations last, in the order in which they come.
pub(crate) fn order<'a>(rows: &[&'a Row]) -> Vec<Line<'a>> {
    let mut all = once(rows.iter().map(|row| Line::of(row)));
    let rank = |name: &str| CONFIGURATIONS.iter().position(|(known, _)| *known == name);
    let rank = |name: &str| rank(name).unwrap_or(CONFIGURATIONS.len());
    all.sort_by_key(|line| (line.mode, line.family, rank(line.configuration)));
    all
}
