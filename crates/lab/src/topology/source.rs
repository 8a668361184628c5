//! Sources of values: a router's command, or what a program printed.
//!
//! ```yaml
//! value: /ip settings get ipv4-fasttrack-packets      # what a command returns on a router
//! json: end.sum_received.bits_per_second              # a place in the JSON the step printed
//! field: 3                                            # the third word of the first line that
//! of: ^firewall                                       # … matches
//! or: 0                                               # and what it is if none does
//! text: 358                                           # this: what others have measured
//! ```
//!
//! It is compared with what was expected ([`Wanted`]), or goes into the table that stands at the
//! end of the run ([`Cell`]).

use super::read::{find, number};
use super::steps::pattern;
use super::yaml::{Fault, Map, Node};
use super::{NodeSpec, Place};
use config::Pattern;

/// Where a value comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// What a command returns on a router.
    Value {
        /// The node's place.
        node: usize,
        /// The command: `/ip settings get ipv4-fast-path-packets`.
        command: String,
    },
    /// A place in the JSON that the step printed: keys, and numbers in lists, with dots between them.
    Json(String),
    /// A word of the first line printed that matches.
    Field {
        /// Which line.
        of: Pattern,
        /// Which word, from 1.
        field: usize,
        /// The value if no line matches; if it is not said, that is an error.
        or: Option<String>,
    },
    /// This.
    Text(String),
}

/// What a value is to be.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// This, as it is written.
    Is(String),
    /// A text that matches.
    Matches(Pattern),
    /// At least this number.
    AtLeast(f64),
    /// At most this number.
    AtMost(f64),
}

/// A cell of the table at the end.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What its line is about.
    pub row: String,
    /// Its column's title.
    pub column: String,
    /// What stands in it.
    pub source: Source,
    /// What it is multiplied by: 0.000001 makes Mbit of bits.
    pub times: Option<f64>,
    /// Its digits behind the point, rounded.
    pub digits: Option<usize>,
    /// Where it stands in the file.
    pub at: Place,
}

/// The keys of a source, and those that go with one of them.
pub(super) const KEYS: [&str; 4] = ["value", "json", "field", "text"];
const WITH: [(&str, &str); 3] = [("node", "value"), ("of", "field"), ("or", "field")];
const WANTED: [&str; 4] = ["is", "matches", "at-least", "at-most"];

/// All keys that an expectation of a value may have.
pub(super) fn keys() -> Vec<&'static str> {
    KEYS[..3].iter().chain(WITH.iter().map(|(key, _)| key)).chain(&WANTED).copied().collect()
}

impl Wanted {
    /// Whether a value is so.
    pub fn holds(&self, value: &str) -> bool {
        let number = || value.parse::<f64>().ok();
        match self {
            Wanted::Is(wanted) => value == wanted,
            Wanted::Matches(pattern) => pattern.matches(value),
            Wanted::AtLeast(least) => number().is_some_and(|number| number >= *least),
            Wanted::AtMost(most) => number().is_some_and(|number| number <= *most),
        }
    }
}

impl Cell {
    /// The value as it stands in the table.
    ///
    /// # Errors
    /// A number was wanted, and this is none.
    pub fn show(&self, value: &str) -> Result<String, String> {
        if self.times.is_none() && self.digits.is_none() {
            return Ok(value.to_string());
        }
        let number = value.parse::<f64>().map_err(|_| format!("{value}: no number"))?;
        let number = number * self.times.unwrap_or(1.0);
        Ok(match self.digits {
            Some(digits) => format!("{number:.digits$}"),
            None => number.to_string(),
        })
    }
}

/// What a value is to be, and how the file says it.
pub(super) fn wanted(map: &Map<'_>) -> Result<(String, Wanted), Fault> {
    let (how, node) = map.one_of(&WANTED)?;
    let number = || {
        let number = node.text()?.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| node.fault("a number is wanted here"))
    };
    let wanted = match how {
        "is" => Wanted::Is(node.text()?.to_string()),
        "matches" => Wanted::Matches(pattern(node)?),
        "at-least" => Wanted::AtLeast(number()?),
        _ => Wanted::AtMost(number()?),
    };
    Ok((format!("{how}: {}", node.text()?), wanted))
}

/// A source, of these kinds; `step` is the node that its step is on.
pub(super) fn read(
    map: &Map<'_>,
    kinds: &[&'static str],
    step: Option<usize>,
    nodes: &[NodeSpec],
) -> Result<Source, Fault> {
    let (what, node) = map.one_of(kinds)?;
    let lost = WITH.iter().find_map(|(key, with)| Some((key, with, map.get(key)?)));
    if let Some((key, with, node)) = lost
        && *with != what
    {
        return Err(node.fault(format!("{key} goes with {with}:, not with {what}:")));
    }
    Ok(match what {
        "value" => {
            let on = map.get("node").map(|node| find(node, node.text()?, nodes)).transpose()?;
            let on = on.or(step).ok_or_else(|| node.fault("on which node? node: is missing"))?;
            if nodes[on].host().is_some() {
                let (name, kind) = (&nodes[on].name, nodes[on].kind());
                let why = format!(
                    "{name} is of kind {kind}; value: asks a router, json: and field: \
                                   look at what a program printed"
                );
                return Err(node.fault(why));
            }
            Source::Value { node: on, command: node.text()?.to_string() }
        }
        "json" => Source::Json(node.text()?.to_string()),
        "field" => {
            let or = map.get("or").map(Node::text).transpose()?.map(str::to_string);
            let field = node.number(1, 1000)? as usize;
            Source::Field { of: pattern(map.need("of")?)?, field, or }
        }
        _ => Source::Text(node.text()?.to_string()),
    })
}

/// The cells that a step fills.
pub(super) fn cells(
    node: &Node,
    step: Option<usize>,
    nodes: &[NodeSpec],
) -> Result<Vec<Cell>, Fault> {
    let legal: Vec<_> = ["row", "column", "times", "digits"]
        .iter()
        .chain(&KEYS)
        .chain(WITH.iter().map(|(key, _)| key))
        .copied()
        .collect();
    let cell = |node: &Node| {
        let map = node.map(&legal)?;
        let factor = |node: &Node| {
            let factor = number(node.text()?).filter(|factor| factor.is_finite());
            factor.ok_or_else(|| node.fault("a decimal number is wanted here: 0.000001"))
        };
        Ok(Cell {
            row: map.need("row")?.text()?.to_string(),
            column: map.need("column")?.text()?.to_string(),
            source: read(&map, &KEYS, step, nodes)?,
            times: map.get("times").map(factor).transpose()?,
            digits: map.get("digits").map(|n| n.number(0, 12)).transpose()?.map(|n| n as usize),
            at: node.at,
        })
    };
    node.list()?.iter().map(cell).collect()
}
