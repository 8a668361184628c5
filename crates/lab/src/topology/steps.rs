//! What a lab does: commands on its nodes, and what is expected of them.
//!
//! ```yaml
//! steps:
//!   - title: Connection tracking costs nothing yet
//!     node: dut
//!     run: |                        # or script: FILE.rsc, or wait: 100ms
//!       /ip firewall connection tracking set enabled=yes
//!     fails: no such item           # only if it is to be refused, with these words
//!     expect:
//!       - output: ^TOT +TOT         # a line of what was printed matches
//!       - no-output: timeout        # none does
//!       - value: /ip settings get ipv4-fast-path-active
//!         node: dut                 # the step's, if it does not say
//!         is: false                 # or matches: ^n, at-least: 1, at-most: 9
//!         time: virtual             # if it is so in one kind of time only
//! ```

use super::read::{duration, find, time};
use super::yaml::{Fault, Map, Node};
use super::{NodeSpec, Place, Time};
use config::Pattern;
use std::time::Duration;

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it is about; empty if the file does not say.
    pub title: String,
    /// What it does.
    pub action: Action,
    /// The words it is to be refused with, if it is.
    pub fails: Option<Pattern>,
    /// What is to be so afterwards.
    pub expect: Vec<Expectation>,
    /// Where it stands in the file.
    pub at: Place,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Types these lines on a node's console.
    Run(usize, String),
    /// Types the lines of this file.
    Script(usize, String),
    /// Lets time pass.
    Wait(Duration),
}

/// What is to be so after a step.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// As the file has it, for the report.
    pub text: String,
    /// What is looked at, and what is wanted of it.
    pub test: Test,
    /// The kind of time it is to be so in, if not in both.
    pub time: Option<Time>,
    /// Where it stands in the file.
    pub at: Place,
}

/// What is looked at.
#[derive(Clone, Debug)]
pub enum Test {
    /// A line of what the step printed matches, or none does.
    Output {
        /// What to look for.
        pattern: Pattern,
        /// Whether it is to be there.
        there: bool,
    },
    /// What a command returns on a node.
    Value {
        /// The node's place.
        node: usize,
        /// The command: `/ip settings get ipv4-fast-path-packets`.
        command: String,
        /// What it is to be.
        wanted: Wanted,
    },
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

pub(super) fn read(node: &Node, nodes: &[NodeSpec]) -> Result<Step, Fault> {
    let map = node.map(&["title", "node", "run", "script", "wait", "fails", "expect"])?;
    let on = map.get("node").map(|node| find(node, node.text()?, nodes)).transpose()?;
    let (what, value) = map.one_of(&["run", "script", "wait"])?;
    let device = || {
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        on.ok_or_else(|| {
            let names = names.join(", ");
            node.fault(format!("on which node? node: is missing; the nodes: {names}"))
        })
    };
    let action = match what {
        "run" => Action::Run(device()?, value.text()?.to_string()),
        "script" => Action::Script(device()?, value.text()?.to_string()),
        _ => Action::Wait(duration(value)?),
    };
    let fails = map.get("fails").map(pattern).transpose()?;
    if let (Action::Wait(_), Some(node)) = (&action, map.get("fails")) {
        return Err(node.fault("waiting does not fail"));
    }
    let expect = map.get("expect").map_or(Ok(&[][..]), Node::list)?;
    let expect = expect.iter().map(|node| expectation(node, on, nodes));
    let expect = expect.collect::<Result<_, _>>()?;
    let title = map.get("title").map_or(Ok(""), Node::text)?.to_string();
    Ok(Step { title, action, fails, expect, at: node.at })
}

fn expectation(node: &Node, step: Option<usize>, nodes: &[NodeSpec]) -> Result<Expectation, Fault> {
    const WANTED: [&str; 4] = ["is", "matches", "at-least", "at-most"];
    let legal = ["output", "no-output", "value", "node", "time"];
    let map = node.map(&[&legal[..], &WANTED].concat())?;
    let (what, value) = map.one_of(&["output", "no-output", "value"])?;
    let mut text = format!("{what}: {}", value.text()?);
    let test = if what == "value" {
        let on = map.get("node").map(|node| find(node, node.text()?, nodes)).transpose()?;
        let on = on.or(step).ok_or_else(|| node.fault("on which node? node: is missing"))?;
        let (how, wanted) = map.one_of(&WANTED)?;
        text.push_str(&format!(" {how}: {}", wanted.text()?));
        Test::Value {
            node: on,
            command: value.text()?.to_string(),
            wanted: wanted_of(how, wanted)?,
        }
    } else {
        only(&map, what, &WANTED)?;
        Test::Output { pattern: pattern(value)?, there: what == "output" }
    };
    let time = map.get("time").map(time).transpose()?;
    Ok(Expectation { text, test, time, at: node.at })
}

/// Refuses keys that mean nothing beside `what`.
fn only(map: &Map<'_>, what: &str, others: &[&str]) -> Result<(), Fault> {
    let other = others.iter().chain(&["node"]).find_map(|other| Some((other, map.get(other)?)));
    other.map_or(Ok(()), |(other, node)| {
        Err(node.fault(format!("{other} goes with value:, not with {what}:")))
    })
}

fn wanted_of(how: &str, node: &Node) -> Result<Wanted, Fault> {
    let number = || {
        let number = node.text()?.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| node.fault("a number is wanted here"))
    };
    Ok(match how {
        "is" => Wanted::Is(node.text()?.to_string()),
        "matches" => Wanted::Matches(pattern(node)?),
        "at-least" => Wanted::AtLeast(number()?),
        _ => Wanted::AtMost(number()?),
    })
}

fn pattern(node: &Node) -> Result<Pattern, Fault> {
    Pattern::new(node.text()?).map_err(|why| node.fault(format!("no regular expression: {why}")))
}
