//! `wirespeed lab`: topologies of nodes and links, and what is done with them.
//!
//! ```text
//! check ─► is the file right?
//! run ───► nodes ─► steps ─► transcript, JSON ─► exit code
//! swarm ─► networks drawn from seeds, under faults ─► what failed, as files
//! chaos ─► the router's process, real programs, faults ─► how soon all works again
//! up ────► nodes, consoles ─► stays until down
//! ```

// The router's process under faults.
#[cfg(target_os = "linux")]
mod chaos;
// Going through a lab's steps.
mod run;
// Labs that seeds draw.
mod swarm;
// Labs that are left running.
mod up;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use lab::run::{LIMIT, Lab, Plan, RunError};
use lab::topology::{Time, Topology};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = "\
Nodes are of kind wirespeed (a router of ours), linux (a namespace of this machine, with real
programs; as root), or uml (the same with a Linux kernel of its own and the modules it names; wants
the packages user-mode-linux and busybox-static).

Examples:
  wirespeed lab run labs/routing-performance.yaml
  wirespeed lab run labs/routing-performance.yaml --time real --json result.json
  wirespeed lab up labs/two-routers.yaml
  wirespeed lab down two-routers")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Brings a lab up, goes through its steps, and says whether all was as expected
    Run(run::Arguments),
    /// Draws networks, traffic and faults from seeds, and runs them in virtual time
    Swarm(swarm::Arguments),
    /// Does harm to a router between real programs, and sees whether it recovers
    #[cfg(target_os = "linux")]
    Chaos(chaos::Arguments),
    /// Brings a lab up and leaves it running in real time, its consoles reachable
    Up(up::UpArguments),
    /// Ends a lab that was left running
    Down(up::DownArguments),
    /// The labs that are running, and where their consoles are
    List,
    /// Reads a lab's file and its scripts, tries its routers' startup configurations, and says what
    /// is wrong with them
    Check {
        /// The lab
        #[arg(value_name = "FILE.yaml")]
        file: PathBuf,
        /// Where the nodes' files are, in a directory of each one's name, to be read only [default:
        /// they have none]
        #[arg(long, value_name = "DIRECTORY")]
        files: Option<PathBuf>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        What::Run(arguments) => run::run(arguments),
        What::Swarm(arguments) => swarm::swarm(arguments),
        #[cfg(target_os = "linux")]
        What::Chaos(arguments) => chaos::chaos(arguments),
        What::Up(arguments) => up::up(arguments),
        What::Down(arguments) => up::down(arguments),
        What::List => up::list(),
        What::Check { file, files } => {
            let (topology, scripts) = read(file)?;
            let (time, seed, files) = (Time::Virtual, topology.seed, files.clone());
            let plan = Plan { topology, scripts, time, seed, files, rehearsed: true, limit: LIMIT };
            Lab::rehearse(&plan, &crate::served::language()).map_err(|error| failed(&error))?;
            let topology = &plan.topology;
            let (nodes, links) = (topology.nodes.len(), topology.links.len());
            let (name, steps) = (&topology.name, topology.steps.len());
            outln!("{name}: {nodes} nodes, {links} links, {steps} steps");
            Ok(())
        }
    }
}

/// A lab's file, and the scripts it names.
fn read(file: &Path) -> Result<(Topology, lab::run::Scripts), Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Failure::Environment(format!("reading {shown}: {error}")))?;
    let topology = Topology::read(&text);
    let topology = topology.map_err(|fault| Failure::Usage(format!("{shown}:{fault}")))?;
    // Of a plain name it is the empty path, in which no program starts.
    let directory = file.parent().filter(|directory| *directory != Path::new(""));
    let directory = directory.unwrap_or(Path::new("."));
    let scripts = lab::run::Scripts::read(&topology, directory);
    let scripts = scripts.map_err(|wrong| {
        let lab::run::ScriptError { name, at, error } = wrong;
        let at = format!("{shown}:{}:{}", at.line, at.column);
        Failure::Environment(format!("{at}: reading {name}, looked for beside the lab: {error}"))
    })?;
    Ok((topology, scripts))
}

/// A directory for each node's files.
fn make_homes(files: Option<&Path>, topology: &Topology) -> Result<(), Failure> {
    let nodes = topology.nodes.iter().map(|node| &node.name);
    for home in nodes.filter_map(|name| Some(files?.join(name))) {
        std::fs::create_dir_all(&home)
            .map_err(|error| Failure::Environment(format!("making {}: {error}", home.display())))?;
    }
    Ok(())
}

/// A lab that could not be brought up.
fn failed(error: &RunError) -> Failure {
    match error {
        RunError::Virtual => Failure::Usage(error.to_string()),
        RunError::Startup { .. } | RunError::Exec { .. } => Failure::Failed(error.to_string()),
        RunError::Assemble(_) => Failure::Environment(error.to_string()),
    }
}
