//! Steps of a lab: commands on its routers, programs on its hosts, and what is expected of them.
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
//!         within: 20s               # it is looked at again until it is so, for that long
//!         time: virtual             # if it is so in one kind of time only
//!   - node: server                  # a host
//!     exec: iperf3 -s -1
//!     background: server            # it goes on; the lab ends it at its own end
//!     ready: ^Server listening      # wait until it has printed that
//!   - node: pc
//!     exec: iperf3 -c 10.0.0.2 -J   # to its end; exit status 0 is expected
//!     timeout: 20s
//!     expect: [{ json: end.sum_received.bits_per_second, at-least: 1e6 }]
//!     table: [{ row: "Mbit/s", column: now, json: end.sum_received.bits_per_second, times: 0.000001 }]
//!   - join: server                  # waits for its end; what it printed is this step's output
//!   - stop: server                  # or ends it
//! ```

use super::read::{duration, find, time};
use super::source::{self, Cell, Source, Wanted};
use super::words::words;
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
    /// What it puts into the table at the end.
    pub table: Vec<Cell>,
    /// Where it stands in the file.
    pub at: Place,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Types these lines on a router's console.
    Run(usize, String),
    /// Types the lines of this file.
    Script(usize, String),
    /// Lets time pass.
    Wait(Duration),
    /// Runs a program on a host, to its end.
    Exec(usize, Program),
    /// Starts a program on a host, which goes on: its name, and what it is to print first.
    Start(usize, Program, String, Option<Pattern>),
    /// Waits for the end of one that was started, for so long.
    Join(String, Option<Duration>),
    /// Ends one that was started.
    Stop(String),
}

/// A program on a host.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name and its arguments.
    pub words: Vec<String>,
    /// How long it may take to its end, or until it is ready; as long as any step if it is not said.
    pub timeout: Option<Duration>,
}

/// What is to be so after a step.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// As the file has it, for the report.
    pub text: String,
    /// What is looked at, and what is wanted of it.
    pub test: Test,
    /// For how long it is looked at again while it is not so; once, if zero.
    pub within: Duration,
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
    /// A value.
    Value {
        /// Which.
        source: Source,
        /// What it is to be.
        wanted: Wanted,
    },
}

/// What steps do, each with a key.
const ACTIONS: [&str; 6] = ["run", "script", "wait", "exec", "join", "stop"];
/// What goes with some of them only.
const WITH: [(&str, &[&str]); 4] = [
    ("fails", &["run", "script", "exec", "join"]),
    ("timeout", &["exec", "join"]),
    ("background", &["exec"]),
    ("ready", &["exec"]),
];

/// All steps.
pub(super) fn read(list: &[Node], nodes: &[NodeSpec]) -> Result<Vec<Step>, Fault> {
    let mut started = Vec::new();
    list.iter().map(|node| step(node, nodes, &mut started)).collect()
}

/// One step; `started` are the programs that go on, and the nodes they are on.
fn step(
    node: &Node,
    nodes: &[NodeSpec],
    started: &mut Vec<(String, usize)>,
) -> Result<Step, Fault> {
    let keys: Vec<_> = ["title", "node"]
        .into_iter()
        .chain(ACTIONS)
        .chain(WITH.map(|(key, _)| key))
        .chain(["expect", "table"])
        .collect();
    let map = node.map(&keys)?;
    let mut on = map.get("node").map(|node| find(node, node.text()?, nodes)).transpose()?;
    let (what, value) = map.one_of(&ACTIONS)?;
    for (key, with) in WITH {
        match map.get(key) {
            Some(node) if key == "fails" && what == "wait" => {
                return Err(node.fault("waiting does not fail"));
            }
            Some(node) if !with.contains(&what) => {
                return Err(node.fault(format!("{key} goes with {}", with.join(", "))));
            }
            _ => {}
        }
    }
    let timeout = map.get("timeout").map(duration).transpose()?;
    let action = match what {
        "run" => Action::Run(device(node, on, nodes, false)?, value.text()?.to_string()),
        "script" => Action::Script(device(node, on, nodes, false)?, value.text()?.to_string()),
        "wait" => Action::Wait(duration(value)?),
        "exec" => {
            let host = device(node, on, nodes, true)?;
            let program = Program { words: words(value)?, timeout };
            let ready = map.get("ready").map(pattern).transpose()?;
            match map.get("background") {
                Some(name) => {
                    if let Some(node) = map.get("fails") {
                        return Err(
                            node.fault("fails goes with the join of a program that goes on")
                        );
                    }
                    let text = name.text()?;
                    if started.iter().any(|(other, _)| other == text) {
                        return Err(name.fault(format!("{text} goes on already")));
                    }
                    started.push((text.to_string(), host));
                    Action::Start(host, program, text.to_string(), ready)
                }
                None => match map.get("ready") {
                    Some(node) => return Err(node.fault("ready goes with background")),
                    None => Action::Exec(host, program),
                },
            }
        }
        _ => {
            let name = value.text()?;
            let Some(at) = started.iter().position(|(other, _)| other == name) else {
                let names: Vec<_> = started.iter().map(|(name, _)| name.as_str()).collect();
                let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
                return Err(value.fault(format!("no program {name} goes on here; those: {names}")));
            };
            let (name, host) = started.remove(at);
            if let (Some(node), Some(_)) = (map.get("node"), on) {
                return Err(node.fault(format!("{name} is on its node: leave node out")));
            }
            on = Some(host);
            match what {
                "join" => Action::Join(name, timeout),
                _ => Action::Stop(name),
            }
        }
    };
    let fails = map.get("fails").map(pattern).transpose()?;
    let expect = map.get("expect").map_or(Ok(&[][..]), Node::list)?;
    let expect = expect.iter().map(|node| expectation(node, on, nodes));
    let expect = expect.collect::<Result<_, _>>()?;
    let table = map.get("table").map_or(Ok(Vec::new()), |node| source::cells(node, on, nodes))?;
    let title = map.get("title").map_or(Ok(""), Node::text)?.to_string();
    Ok(Step { title, action, fails, expect, table, at: node.at })
}

/// The node a step is on, which is to be a host, or not.
fn device(node: &Node, on: Option<usize>, nodes: &[NodeSpec], host: bool) -> Result<usize, Fault> {
    let Some(on) = on else {
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        let names = names.join(", ");
        return Err(node.fault(format!("on which node? node: is missing; the nodes: {names}")));
    };
    let name = &nodes[on].name;
    match (nodes[on].host().is_some(), host) {
        (true, false) => Err(node.fault(format!(
            "{name} is of kind {}: run and script type on a router's console, exec runs a program",
            nodes[on].kind()
        ))),
        (false, true) => Err(node.fault(format!(
            "{name} is a router: exec runs a program on a node of kind linux or uml, \
             run types on a console"
        ))),
        _ => Ok(on),
    }
}

fn expectation(node: &Node, step: Option<usize>, nodes: &[NodeSpec]) -> Result<Expectation, Fault> {
    let legal: Vec<_> = ["output", "no-output"]
        .into_iter()
        .chain(source::keys())
        .chain(["within", "time"])
        .collect();
    let map = node.map(&legal)?;
    let (what, value) = map.one_of(&["output", "no-output", "value", "json", "field"])?;
    let mut text = format!("{what}: {}", value.text()?);
    let test = if what.ends_with("output") {
        only(&map, what)?;
        Test::Output { pattern: pattern(value)?, there: what == "output" }
    } else {
        let source = source::read(&map, &["value", "json", "field"], step, nodes)?;
        if let Some(of) = map.get("of") {
            text.push_str(&format!(" of: {}", of.text()?));
        }
        let (how, wanted) = source::wanted(&map)?;
        text.push_str(&format!(" {how}"));
        Test::Value { source, wanted }
    };
    let within = match map.get("within") {
        Some(node) if what != "value" => {
            return Err(node.fault(format!("within goes with value:, not with {what}:")));
        }
        Some(node) => duration(node)?,
        None => Duration::ZERO,
    };
    let time = map.get("time").map(time).transpose()?;
    Ok(Expectation { text, test, within, time, at: node.at })
}

/// Refuses keys that mean nothing beside `what`.
fn only(map: &Map<'_>, what: &str) -> Result<(), Fault> {
    let other = source::keys().into_iter().find_map(|other| Some((other, map.get(other)?)));
    other.map_or(Ok(()), |(other, node)| {
        Err(node.fault(format!("{other} goes with value:, not with {what}:")))
    })
}

pub(super) fn pattern(node: &Node) -> Result<Pattern, Fault> {
    Pattern::new(node.text()?).map_err(|why| node.fault(format!("no regular expression: {why}")))
}
