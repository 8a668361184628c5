//! Going through a lab's steps: commands typed on its nodes, and whether what was expected is so.
//!
//! ```text
//! Topology ─► nodes ─► startup configurations ─► step, step … ─► Report
//!                                                  └─► Event: typed, printed, met, failed
//! ```
//!
//! Steps run one after the other, each on its node's session, which stays where it was in the
//! menus. A step that fails does not end the run unless what follows cannot be trusted: a node
//! that is gone, or the user who has had enough.
//!
//! A node's session is the user `admin`'s. Of what a terminal would redraw, the last picture is
//! kept.
//!
//! Never prints: whoever runs it gets [`Event`]s as they happen.

mod lines;
mod report;

pub use report::{Event, Found, Report, StepReport};

use crate::assemble::{self, AssembleError};
use crate::clock::Clock;
use crate::live::{Interrupt, Live};
use crate::node;
use crate::topology::{Action, Expectation, Step, Test, Time, Topology};
use crate::underway::Files;
use crate::world::World;
use config::{Host, How, Language, Piece, Reply, Session};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The lab.
    pub topology: Topology,
    /// What it reads, by name: startup configurations and scripts.
    pub scripts: Scripts,
    /// What kind of time.
    pub time: Time,
    /// Where random choices start from.
    pub seed: u64,
    /// Where its nodes' files are, each in a directory of its name; none if they have none.
    pub files: Option<PathBuf>,
    /// How long a step may take, in the lab's time.
    pub limit: Duration,
}

/// How long a step may take unless somebody says otherwise: what never ends by itself ends then.
pub const LIMIT: Duration = Duration::from_secs(600);

/// Characters in a line of the transcript: all columns of the traffic generator's tables.
const WIDTH: usize = 140;

/// The scripts that a lab names.
#[derive(Clone, Debug, Default)]
pub struct Scripts(Vec<(String, String)>);

/// A script that is not there.
#[derive(Debug)]
pub struct ScriptError {
    /// As the lab names it.
    pub name: String,
    /// Where the lab names it.
    pub at: crate::topology::Place,
    /// Why.
    pub error: std::io::Error,
}

impl Scripts {
    /// Reads all that a lab names, from its directory.
    ///
    /// # Errors
    /// The first one that cannot be read.
    pub fn read(topology: &Topology, directory: &Path) -> Result<Scripts, ScriptError> {
        let startup =
            topology.nodes.iter().filter_map(|node| Some((node.startup_config.as_ref()?, node.at)));
        let steps = topology.steps.iter().filter_map(|step| match &step.action {
            Action::Script(_, name) => Some((name, step.at)),
            _ => None,
        });
        let mut scripts = Vec::new();
        for (name, at) in startup.chain(steps) {
            let text = std::fs::read_to_string(directory.join(name));
            let text = text.map_err(|error| ScriptError { name: name.clone(), at, error })?;
            scripts.push((name.clone(), text));
        }
        Ok(Scripts(scripts))
    }

    fn get(&self, name: &str) -> &str {
        let script = self.0.iter().find(|(other, _)| other == name);
        script.map_or("", |(_, text)| text)
    }
}

/// Why a run could not begin.
#[derive(Debug)]
pub enum RunError {
    /// No nodes.
    Assemble(AssembleError),
    /// A node's startup configuration was refused.
    Startup {
        /// The node.
        node: String,
        /// The script's name.
        script: String,
        /// Where and why.
        error: Box<config::Error>,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Assemble(error) => error.fmt(f),
            RunError::Startup { node, script, error } => {
                let config::At { line, column } = error.at;
                write!(f, "{script}:{line}:{column}: node {node} refuses it: {error}")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// A lab that runs: its nodes, and a session on each.
pub struct Lab {
    nodes: Nodes,
    sessions: Vec<Session>,
    files: Option<PathBuf>,
    names: Vec<String>,
    interrupt: Interrupt,
}

enum Nodes {
    Virtual(Box<World>),
    Real(Vec<Live>, Clock),
}

impl Lab {
    /// Brings a lab up: nodes, cables, startup configurations. The language has at least
    /// [`node::menus`] and [`node::commands`].
    ///
    /// # Errors
    /// [`RunError`]; nothing is left running then.
    pub fn up(
        plan: &Plan,
        language: &Arc<Language>,
        interrupt: Interrupt,
    ) -> Result<Lab, RunError> {
        let topology = &plan.topology;
        let nodes =
            match plan.time {
                Time::Virtual => assemble::world(topology, plan.seed)
                    .map(|world| Nodes::Virtual(Box::new(world))),
                Time::Real => assemble::live(topology, plan.seed)
                    .map(|(lives, clock)| Nodes::Real(lives, clock)),
            };
        let nodes = nodes.map_err(RunError::Assemble)?;
        let session = |_| {
            let mut session = Session::new(language.clone());
            session.set_width(WIDTH);
            session
        };
        let sessions = topology.nodes.iter().map(session).collect();
        let names = topology.nodes.iter().map(|node| node.name.clone()).collect();
        let mut lab = Lab { nodes, sessions, files: plan.files.clone(), names, interrupt };
        for (at, spec) in topology.nodes.iter().enumerate() {
            let Some(script) = &spec.startup_config else { continue };
            let text = plan.scripts.get(script);
            let session = &mut lab.sessions[at].clone();
            let started =
                lab.with_host(at, LIMIT, |host| session.run(text, How::Import, host, &mut |_| {}));
            started.map_err(|error| RunError::Startup {
                node: spec.name.clone(),
                script: script.clone(),
                error: Box::new(error),
            })?;
        }
        Ok(lab)
    }

    /// The nodes' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The live nodes, in real time.
    pub fn lives(&self) -> &[Live] {
        match &self.nodes {
            Nodes::Virtual(_) => &[],
            Nodes::Real(lives, _) => lives,
        }
    }

    /// The world, in virtual time.
    pub fn world(&self) -> Option<&World> {
        match &self.nodes {
            Nodes::Virtual(world) => Some(world),
            Nodes::Real(..) => None,
        }
    }

    /// The files of a node.
    pub fn files(&self, node: usize) -> Files {
        self.files.as_ref().map_or(Files::none(), |home| Files::of(home.join(&self.names[node])))
    }

    /// Lets a script run on a node, for at most this long.
    fn with_host<R>(
        &mut self,
        node: usize,
        limit: Duration,
        run: impl FnOnce(&mut dyn Host) -> R,
    ) -> R {
        let files = self.files(node);
        match &mut self.nodes {
            Nodes::Virtual(world) => {
                let deadline = world.now() + limit;
                run(&mut world.host(node, files, self.interrupt.clone()).until(deadline))
            }
            Nodes::Real(lives, clock) => {
                let deadline = clock.now() + limit;
                run(&mut lives[node].host(files, self.interrupt.clone()).until(deadline))
            }
        }
    }

    /// Goes through the steps.
    pub fn run(&mut self, plan: &Plan, events: &mut dyn FnMut(Event<'_>)) -> Report {
        let steps = &plan.topology.steps;
        let mut reports = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            events(Event::Step { number: at + 1, of: steps.len(), title: &step.title });
            let report = self.step(plan, step, events);
            let ends = report.ends;
            reports.push(report);
            if ends || self.interrupt.is_raised() {
                break;
            }
        }
        let report = Report::new(plan, reports);
        events(Event::End(&report));
        report
    }

    fn step(&mut self, plan: &Plan, step: &Step, events: &mut dyn FnMut(Event<'_>)) -> StepReport {
        let mut report = StepReport { title: step.title.clone(), ..StepReport::default() };
        match &step.action {
            Action::Wait(time) => self.wait(*time),
            Action::Run(node, script) => self.type_in(*node, script, plan, &mut report, events),
            Action::Script(node, name) => {
                let script = plan.scripts.get(name);
                self.type_in(*node, script, plan, &mut report, events);
            }
        }
        match (&step.fails, report.refused.take()) {
            (None, None) => {}
            (Some(pattern), Some(refused)) if pattern.matches(&refused) => {
                report.found(Found::met(format!("refused: {refused}")), events);
            }
            (None, Some(refused)) => {
                report.refused = Some(refused.clone());
                report.found(Found::not("no error".to_string(), refused), events);
            }
            (Some(_), refused) => {
                let found = refused.unwrap_or_else(|| "it was accepted".to_string());
                report.found(Found::not("refused with other words".to_string(), found), events);
            }
        }
        let here = |expected: &&Expectation| expected.time.is_none_or(|time| time == plan.time);
        for expectation in step.expect.iter().filter(here) {
            let found = self.look(plan, expectation, &report);
            report.found(found, events);
        }
        if let Some(why) = self.lives().iter().find_map(Live::failure) {
            report.found(Found::not("all nodes go on".to_string(), why), events);
            report.ends = true;
        }
        report
    }

    fn wait(&mut self, time: Duration) {
        match &mut self.nodes {
            Nodes::Virtual(world) => world.advance(world.now() + time),
            Nodes::Real(..) => drop(self.interrupt.wait(time)),
        }
    }

    /// Types a script on a node, command by command, up to the first that is refused.
    fn type_in(
        &mut self,
        node: usize,
        script: &str,
        plan: &Plan,
        report: &mut StepReport,
        events: &mut dyn FnMut(Event<'_>),
    ) {
        report.node = Some(self.names[node].clone());
        let mut session = self.sessions[node].clone();
        for command in lines::commands(script) {
            let prompt = self.prompt(node, &session);
            events(Event::Typed { prompt: &prompt, command });
            report.typed(&prompt, command);
            let mut frame = String::new();
            let mut print = |piece: Piece| {
                let (text, next) = match piece {
                    Piece::Text(text) => (std::mem::take(&mut frame) + &text, String::new()),
                    // Of what a terminal redraws, only the last picture is kept.
                    Piece::Frame(next) => (String::new(), next),
                };
                frame = next;
                if !text.is_empty() {
                    events(Event::Printed(&text));
                    report.printed(&text);
                }
            };
            let done = self.with_host(node, plan.limit, |host| {
                session.run(command, How::Typed, host, &mut print)
            });
            print(Piece::Text(String::new()));
            if let Err(error) = done {
                events(Event::Refused(&error.to_string()));
                report.printed(&format!("{error}\n"));
                report.refused = Some(error.text);
                break;
            }
        }
        self.sessions[node] = session;
    }

    /// `[admin@dut] /ip address> `, as RouterOS writes it.
    fn prompt(&mut self, node: usize, session: &Session) -> String {
        let place = session.place();
        let name = self.with_host(node, LIMIT, |host| node::name(&host.tree()));
        format!("[admin@{name}] {}> ", if place == "/" { "" } else { place })
    }

    fn look(&mut self, plan: &Plan, expectation: &Expectation, report: &StepReport) -> Found {
        let text = expectation.text.clone();
        match &expectation.test {
            Test::Output { pattern, there } => {
                match report.output().find(|line| pattern.matches(line)) {
                    Some(_) if *there => Found::met(text),
                    None if !there => Found::met(text),
                    Some(line) => Found::not(text, line.to_string()),
                    None => Found::not(text, "no line of the output matches".to_string()),
                }
            }
            Test::Value { node, command, wanted } => {
                // A session of its own: an expectation moves nobody to another menu.
                let mut session = Session::new(self.sessions[*node].language().clone());
                let mut printed = String::new();
                let mut print = |piece: Piece| match piece {
                    Piece::Text(text) | Piece::Frame(text) => printed.push_str(&text),
                };
                let value = self.with_host(*node, plan.limit, |host| {
                    session.run(command, How::Typed, host, &mut print)
                });
                match value {
                    Err(error) => Found::not(text, error.to_string()),
                    Ok(reply) => {
                        let value = match reply {
                            Reply::Nothing => printed.trim().to_string(),
                            reply => reply.to_string(),
                        };
                        if wanted.holds(&value) {
                            Found::met(text)
                        } else {
                            Found::not(text, value)
                        }
                    }
                }
            }
        }
    }

    /// Ends all nodes.
    ///
    /// # Errors
    /// A node had failed, with these words.
    pub fn down(self) -> Result<(), String> {
        match self.nodes {
            Nodes::Virtual(_) => Ok(()),
            Nodes::Real(lives, _) => {
                let mut ends = Vec::new();
                for (live, name) in lives.into_iter().zip(&self.names) {
                    ends.push(live.stop().map_err(|why| format!("node {name}: {why}")));
                }
                ends.into_iter().collect()
            }
        }
    }
}
