//! Two devices measured by turns in one run, one beside the other.
//!
//! ```text
//! Mode     Configuration       byte  linux kernel  wirespeed on veth  ratio  least  most  verdict
//! Routing  25 ip filter rules    64         459.1              512.0   1.12   1.05  1.20  faster
//! ```
//!
//! A ratio without a verdict is printed as such: it may be chance. What each ratio is of, and which turns
//! say nothing, is [`Comparison`]'s.

use crate::document::{Cell, Table};
use crate::number::thousands;
use measure::Comparison;
use measure::compare::{Ahead, SIGNIFICANT, median};

/// Something that was measured through both.
pub(crate) struct Beside {
    /// What it is, in words.
    pub(crate) words: Vec<String>,
    /// What kept each of both from being better.
    pub(crate) marks: [&'static str; 2],
    pub(crate) comparison: Comparison,
    /// What a number of it is divided by to be shown.
    pub(crate) unit: f64,
    /// Whether less is better: a time.
    pub(crate) is_time: bool,
}

/// A line for each, the medians of both, their ratios and what these say; of its own heads so many are of
/// words.
pub(crate) fn table(
    (n, heads): (usize, &[&str]),
    [base, device]: [&str; 2],
    all: &[Beside],
) -> Table {
    let heads = heads.iter().copied().chain([base, device, "ratio", "least", "most", "verdict"]);
    let mut table = Table::new(n, heads);
    for Beside { words, marks, comparison, unit, is_time } in all {
        let middle = |values: &[f64], mark: &'static str| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            let shown = |value: f64| Cell::from(thousands(value / unit)).marked(mark);
            median(&values).map_or("-".into(), shown)
        };
        let ratio = |ratio: Option<f64>| Cell::maybe(ratio.map(|ratio| format!("{ratio:.2}")));
        let verdict = match (comparison.verdict, is_time) {
            (Ahead::Device, true) => Ahead::Base,
            (Ahead::Base, true) => Ahead::Device,
            (verdict, _) => verdict,
        };
        let cells = [
            middle(&comparison.base_pps, marks[0]),
            middle(&comparison.device_pps, marks[1]),
            ratio(comparison.ratio),
            ratio(comparison.spread.map(|(least, _)| least)),
            ratio(comparison.spread.map(|(_, most)| most)),
            verdict.to_string().into(),
        ];
        table.row(words.iter().cloned().map(Cell::from).chain(cells));
    }
    table.notes.push(format!(
        "ratio: the median of the turns' ratios, {device} by {base}; a verdict where equal devices would \
         seem as different in fewer than {:.0} of 100 runs (sign test)",
        100.0 * SIGNIFICANT
    ));
    table
}
