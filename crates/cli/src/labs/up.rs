//! `wirespeed lab up`, `down` and `list`: labs that are left running.
//!
//! ```text
//! up ─► checks the file ─► up --foreground, a process of its own ─► `ready` ─► says where consoles are
//!                              nodes, a server for each ─► until `down`, SIGTERM, ctrl-C
//! ```

use crate::arguments;
use crate::failure::Failure;
use crate::served::Served;
use clap::Args;
use config::Language;
use daemon::live::Interrupt;
use daemon::state::{HostInfo, Info, Labs, NodeInfo, Standing};
use lab::run::{LIMIT, Lab, Plan};
use lab::topology::{Time, Topology};
use serve::Server;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct UpArguments {
    /// The lab
    #[arg(value_name = "FILE.yaml")]
    file: PathBuf,
    /// Stays here until ctrl-C, SIGTERM or `lab down`, in place of a process of its own
    #[arg(long)]
    foreground: bool,
    /// Where the nodes' files are, in a directory of each one's name [default: they have none]
    #[arg(long, value_name = "DIRECTORY")]
    files: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct DownArguments {
    /// The lab: its name, or its file
    #[arg(value_name = "LAB")]
    lab: String,
    /// How long its end may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = arguments::duration)]
    wait: Duration,
}

/// What a lab says when its consoles can be reached.
const READY: &str = "ready\n";

pub(super) fn up(arguments: &UpArguments) -> Result<(), Failure> {
    if arguments.foreground {
        return stay(arguments);
    }
    let (topology, _) = super::read(&arguments.file)?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Environment(format!("finding this program: {error}")))?;
    let mut command = Command::new(program);
    command.args(["lab", "up", "--foreground"]).arg(&arguments.file);
    if let Some(files) = &arguments.files {
        command.arg("--files").arg(files);
    }
    // Ctrl-C here must not reach it, and nothing of ours may stay open in it.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| Failure::Environment(format!("starting the lab's process: {error}")))?;
    let mut said = String::new();
    if let Some(stdout) = &mut child.stdout {
        let mut bytes = [0; READY.len()];
        if stdout.read_exact(&mut bytes).is_ok() {
            said = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
    if said == READY {
        return labs()?.find(&topology.name).map_or_else(
            || Err(Failure::Failed(format!("lab {} is gone again", topology.name))),
            |info| {
                show(&info);
                Ok(())
            },
        );
    }
    let mut why = String::new();
    if let Some(stderr) = &mut child.stderr {
        let _ = stderr.read_to_string(&mut why);
    }
    let why = why.trim_start_matches("wirespeed: ").trim_end().to_string();
    match child.wait().ok().and_then(|status| status.code()) {
        Some(2) => Err(Failure::Usage(why)),
        Some(3) => Err(Failure::Environment(why)),
        _ => Err(Failure::Failed(why)),
    }
}

pub(super) fn down(arguments: &DownArguments) -> Result<(), Failure> {
    let file = Path::new(&arguments.lab);
    let name = match file.extension().is_some_and(|end| end == "yaml" || end == "yml") {
        true => super::read(file)?.0.name,
        false => arguments.lab.clone(),
    };
    if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
        return Err(Failure::Usage(format!("{name}: no name of a lab")));
    }
    match labs()?.down(&name, arguments.wait) {
        Ok(true) => {
            outln!("lab {name} is down");
            Ok(())
        }
        Ok(false) => {
            Err(Failure::Failed(format!("there is no lab {name}; see: wirespeed lab list")))
        }
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}

pub(super) fn list() -> Result<(), Failure> {
    labs()?.list().iter().for_each(show);
    Ok(())
}

fn labs() -> Result<Labs, Failure> {
    Labs::ours().map_err(|error| Failure::Environment(format!("where labs are found: {error}")))
}

fn show(info: &Info) {
    let Info { name, pid, file, since, nodes, hosts } = info;
    let what = if file.extension().is_some_and(|end| end == "rsc") { "router" } else { "lab" };
    outln!("{what} {name} is up since {since}: {}, process {pid}", file.display());
    for node in nodes {
        outln!("  {:<12} wirespeed console --connect unix:{}", node.name, node.socket.display());
    }
    for host in hosts {
        outln!("  {:<12} nsenter --net={}", host.name, host.namespace.display());
    }
}

/// The lab itself.
fn stay(arguments: &UpArguments) -> Result<(), Failure> {
    let environment = |error: std::io::Error| Failure::Environment(error.to_string());
    let (topology, scripts) = super::read(&arguments.file)?;
    let labs = labs()?;
    let routers = topology.nodes.iter().filter(|node| node.router().is_some());
    let sockets = routers.map(|node| labs.socket(&topology.name, &node.name));
    let sockets = sockets.collect::<Result<Vec<_>, _>>().map_err(environment)?;
    let interrupt = Interrupt::default();
    crate::signals::raise(&interrupt)?;
    let asked = interrupt.clone();
    let standing = labs.stand(&topology.name, move || asked.raise()).map_err(environment)?;
    let Some(standing) = standing else {
        let name = &topology.name;
        let why = format!("lab {name} is up already; end it: wirespeed lab down {name}");
        return Err(Failure::Environment(why));
    };
    super::make_homes(arguments.files.as_deref(), &topology)?;
    let (seed, files) = (topology.seed, arguments.files.clone());
    let plan =
        Plan { topology, scripts, time: Time::Real, seed, files, rehearsed: false, limit: LIMIT };
    let language = crate::served::language();
    let lab =
        Lab::up(&plan, &language, interrupt.clone()).map_err(|error| super::failed(&error))?;
    let servers = serve(&lab, &language, &sockets)?;
    standing
        .announce(&info(&lab, &plan.topology, &arguments.file, sockets))
        .map_err(environment)?;
    lab.remarks().iter().for_each(|remark| standing.log(remark));
    standing.log("up");
    // Whoever started us may be gone already.
    let _ = std::io::stdout().write_all(READY.as_bytes()).and_then(|()| std::io::stdout().flush());
    watch(&lab, &interrupt, &standing);
    drop(servers);
    let ended = lab.down();
    drop(standing);
    ended.map_err(Failure::Failed)
}

/// Waits for the end, and logs what becomes of the nodes meanwhile.
fn watch(lab: &Lab, interrupt: &Interrupt, standing: &Standing) {
    let mut failed = vec![false; lab.lives().len()];
    while !interrupt.wait(Duration::from_millis(500)) {
        for ((live, at), failed) in lab.lives().iter().zip(lab.routers()).zip(&mut failed) {
            if let (false, Some(why)) = (*failed, live.failure()) {
                standing.log(&format!("node {} has failed: {why}", lab.names()[at]));
                *failed = true;
            }
        }
    }
}

/// A server for each router, at its socket.
fn serve(lab: &Lab, language: &Arc<Language>, sockets: &[PathBuf]) -> Result<Vec<Server>, Failure> {
    let mut servers = Vec::new();
    for ((at, live), socket) in lab.routers().into_iter().zip(lab.lives()).zip(sockets) {
        let device = Served::new(live.door(), lab.files(at), language.clone());
        let failed = |why: String| Failure::Environment(format!("{}: {why}", lab.names()[at]));
        let mut server = Server::new(Arc::new(device)).map_err(failed)?;
        server.unix(socket).map_err(|error| failed(error.to_string()))?;
        servers.push(server);
    }
    Ok(servers)
}

fn info(lab: &Lab, topology: &Topology, file: &Path, sockets: Vec<PathBuf>) -> Info {
    let routers = lab.routers().into_iter().zip(sockets);
    let routers = routers.map(|(at, socket)| NodeInfo { name: lab.names()[at].clone(), socket });
    let hosts = lab
        .hosts()
        .map(|host| HostInfo { name: host.name().to_string(), namespace: host.namespace().path() });
    Info {
        name: topology.name.clone(),
        pid: std::process::id(),
        file: file.canonicalize().unwrap_or(file.to_path_buf()),
        since: daemon::clock::timestamp(),
        nodes: routers.collect(),
        hosts: hosts.collect(),
    }
}
