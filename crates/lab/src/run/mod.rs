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
//! A router's session is the user `admin`'s. Of what a terminal would redraw, the last picture is
//! kept. A host's programs run one after the other too, except those the lab lets go on.
//!
//! Never prints: whoever runs it gets [`Event`]s as they happen.

mod lines;
mod look;
mod programs;
mod report;
mod steps;

pub use report::{Event, Found, Report, StepReport, TableCell};

use crate::assemble::{self, AssembleError};
use crate::clock::Clock;
use crate::host::{self, LinuxHost};
use crate::live::{Interrupt, Live};
use crate::topology::{Action, NodeSpec, Time, Topology};
use crate::underway::Files;
use crate::world::World;
use config::{Host, How, Language, Session};
use programs::Programs;
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
    /// Whether what is written to those files is let fall.
    pub rehearsed: bool,
    /// How long a step may take, in the lab's time.
    pub limit: Duration,
}

/// How long a step may take unless somebody says otherwise: what never ends by itself ends then.
pub const LIMIT: Duration = Duration::from_secs(600);

/// Characters in a line of the transcript: all columns of the traffic generator's tables.
const WIDTH: usize = 140;

/// The scripts that a lab names.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    /// Where they are, and where programs on hosts run.
    directory: PathBuf,
    /// Names and texts.
    scripts: Vec<(String, String)>,
}

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
            topology.nodes.iter().filter_map(|node| Some((startup_config(node)?, node.at)));
        let steps = topology.steps.iter().filter_map(|step| match &step.action {
            Action::Script(_, name) => Some((name, step.at)),
            _ => None,
        });
        let mut scripts = Vec::new();
        for (name, at) in startup.chain(steps) {
            let text = std::fs::read(directory.join(name)).and_then(|content| {
                let text = config::text_of_file(content);
                text.map_err(|why| std::io::Error::new(std::io::ErrorKind::InvalidData, why))
            });
            let text = text.map_err(|error| ScriptError { name: name.clone(), at, error })?;
            scripts.push((name.clone(), text));
        }
        Ok(Scripts { directory: directory.to_path_buf(), scripts })
    }

    fn get(&self, name: &str) -> &str {
        let script = self.scripts.iter().find(|(other, _)| other == name);
        script.map_or("", |(_, text)| text)
    }
}

fn startup_config(node: &NodeSpec) -> Option<&String> {
    node.router()?.startup_config.as_ref()
}

/// Why a run could not begin.
#[derive(Debug)]
pub enum RunError {
    /// No nodes.
    Assemble(AssembleError),
    /// There are hosts, and their time is the clock's.
    Virtual,
    /// What was to run on a host before all else failed.
    Exec {
        /// The host.
        node: String,
        /// The program and its arguments.
        command: String,
        /// What it printed, and how it ended.
        why: String,
    },
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
            RunError::Virtual => f.write_str(
                "a lab with nodes of kind linux or uml runs in real time only (--time real)",
            ),
            RunError::Exec { node, command, why } => {
                write!(f, "node {node}: {command}: {}", why.trim_end())
            }
            RunError::Startup { node, script, error } => {
                let config::At { line, column } = error.at;
                write!(f, "{script}:{line}:{column}: node {node} refuses it: {error}")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// A lab that runs: its nodes, a session on each router, the programs on the hosts.
pub struct Lab {
    programs: Programs,
    hosts: Vec<host::Host>,
    nodes: Nodes,
    /// What each node is, in the file's order.
    places: Vec<Place>,
    sessions: Vec<Session>,
    files: Option<PathBuf>,
    rehearsed: bool,
    names: Vec<String>,
    interrupt: Interrupt,
    /// What was done to interfaces, and chosen, in bringing it up.
    remarks: Vec<String>,
}

enum Nodes {
    Virtual(Box<World>),
    Real(Vec<Live>, Clock),
}

/// A node's place among the routers, or among the hosts.
#[derive(Clone, Copy)]
enum Place {
    Router(usize),
    Host(usize),
}

impl Lab {
    /// Brings a lab up: nodes, cables, startup configurations. The language has at least
    /// [`node::menus`](crate::node::menus) and [`node::commands`](crate::node::commands).
    ///
    /// # Errors
    /// [`RunError`]; nothing is left running then.
    pub fn up(
        plan: &Plan,
        language: &Arc<Language>,
        interrupt: Interrupt,
    ) -> Result<Lab, RunError> {
        let topology = &plan.topology;
        let (nodes, hosts, remarks) = match plan.time {
            Time::Virtual if topology.has_hosts() => return Err(RunError::Virtual),
            Time::Virtual => {
                let world = assemble::world(topology, plan.seed).map_err(RunError::Assemble)?;
                (Nodes::Virtual(Box::new(world)), Vec::new(), Vec::new())
            }
            Time::Real => {
                let real = assemble::real(topology, plan.seed, &plan.scripts.directory);
                let real = real.map_err(RunError::Assemble)?;
                (Nodes::Real(real.lives, real.clock), real.hosts, real.remarks)
            }
        };
        let session = |_| {
            let mut session = Session::new(language.clone());
            session.set_width(WIDTH);
            session
        };
        let sessions = topology.nodes.iter().map(session).collect();
        let names = topology.nodes.iter().map(|node| node.name.clone()).collect();
        let (mut n_routers, mut n_hosts) = (0.., 0..);
        let places = topology.nodes.iter().map(|node| match node.host() {
            None => Place::Router(n_routers.next().unwrap_or(0)),
            Some(_) => Place::Host(n_hosts.next().unwrap_or(0)),
        });
        let places = places.collect();
        let (programs, files, rehearsed) =
            (Programs::default(), plan.files.clone(), plan.rehearsed);
        let mut lab = Lab {
            programs,
            hosts,
            nodes,
            places,
            sessions,
            files,
            rehearsed,
            names,
            interrupt,
            remarks,
        };
        for (at, spec) in topology.nodes.iter().enumerate() {
            let Some(script) = startup_config(spec) else { continue };
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
        for (at, spec) in topology.nodes.iter().enumerate() {
            for words in spec.host().map_or(&[][..], |host| &host.exec) {
                lab.prepare(at, words, plan.limit)?;
            }
        }
        Ok(lab)
    }

    /// Brings up the routers alone, without cables, so that their startup configurations are tried;
    /// what these write to files is let fall. Of hosts nothing is tried: they need root.
    ///
    /// # Errors
    /// [`RunError`], the one [`up`](Self::up) would give.
    pub fn rehearse(plan: &Plan, language: &Arc<Language>) -> Result<(), RunError> {
        let mut topology = Topology { links: Vec::new(), ..plan.topology.clone() };
        topology.nodes.retain(|node| node.router().is_some());
        if topology.nodes.is_empty() {
            return Ok(());
        }
        let plan = Plan { topology, time: Time::Virtual, rehearsed: true, ..plan.clone() };
        let lab = Lab::up(&plan, language, Interrupt::default())?;
        // In virtual time nothing goes on, so nothing can have failed.
        drop(lab);
        Ok(())
    }

    /// The nodes' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The places of the routers among the nodes.
    pub fn routers(&self) -> Vec<usize> {
        let routers = self.places.iter().enumerate();
        let routers = routers.filter(|(_, place)| matches!(place, Place::Router(_)));
        routers.map(|(at, _)| at).collect()
    }

    /// The live routers, in real time, as [`routers`](Self::routers) has them.
    pub fn lives(&self) -> &[Live] {
        match &self.nodes {
            Nodes::Virtual(_) => &[],
            Nodes::Real(lives, _) => lives,
        }
    }

    /// The hosts that are namespaces of this machine.
    pub fn hosts(&self) -> impl Iterator<Item = &LinuxHost> {
        self.hosts.iter().filter_map(host::Host::linux)
    }

    /// What was done to interfaces, and chosen, in bringing it up.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
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
        let files = self.files.as_ref();
        let files = files.map_or(Files::none(), |home| Files::of(home.join(&self.names[node])));
        if self.rehearsed { files.rehearsed() } else { files }
    }

    /// Lets a script run on a router, for at most this long.
    fn with_host<R>(
        &mut self,
        node: usize,
        limit: Duration,
        run: impl FnOnce(&mut dyn Host) -> R,
    ) -> R {
        let files = self.files(node);
        let Place::Router(at) = self.places[node] else { panic!("node {node} is a host") };
        match &mut self.nodes {
            Nodes::Virtual(world) => {
                let deadline = world.now() + limit;
                run(&mut world.host(at, files, self.interrupt.clone()).until(deadline))
            }
            Nodes::Real(lives, clock) => {
                let deadline = clock.now() + limit;
                run(&mut lives[at].host(files, self.interrupt.clone()).until(deadline))
            }
        }
    }

    /// The host that a node is.
    fn host(&self, node: usize) -> &host::Host {
        let Place::Host(at) = self.places[node] else { panic!("node {node} is a router") };
        &self.hosts[at]
    }

    /// Goes through the steps.
    pub fn run(&mut self, plan: &Plan, events: &mut dyn FnMut(Event<'_>)) -> Report {
        for remark in &self.remarks {
            events(Event::Remark(remark));
        }
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
        let report = Report::new(plan, self.remarks.clone(), reports);
        events(Event::End(&report));
        report
    }

    /// Ends all programs and nodes.
    ///
    /// # Errors
    /// A node had failed, with these words.
    pub fn down(self) -> Result<(), String> {
        let Lab { programs, hosts, nodes, names, places, .. } = self;
        // A machine's end is its programs' end: to end one by one takes seconds each.
        hosts.iter().for_each(host::Host::end);
        drop(programs);
        let Nodes::Real(lives, _) = nodes else { return Ok(()) };
        let names = names.iter().zip(&places);
        let names = names.filter(|(_, place)| matches!(place, Place::Router(_)));
        let mut ends = Vec::new();
        for (live, (name, _)) in lives.into_iter().zip(names) {
            ends.push(live.stop().map_err(|why| format!("node {name}: {why}")));
        }
        drop(hosts);
        ends.into_iter().collect()
    }
}
