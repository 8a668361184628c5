//! `wirespeed router`: the router on real interfaces.
//!
//! ```text
//! FILE.rsc, --port … ─► daemon::real::start ─► `ready` ─► until SIGTERM, ctrl-C, `lab down` ─► counters
//!                            └─ a server at NAME.sock: `wirespeed console NAME`
//! ```

use crate::failure::Failure;
use crate::served::Served;
use clap::Args;
use daemon::linux::check::{Finding, Verdict};
use daemon::live::Interrupt;
use daemon::outlet::Outlet;
use daemon::real::{self, Final, KernelRoutes, Plan, PortSpec, Running, StartError, Tell, spec};
use daemon::state::{Info, Labs, NodeInfo};
use daemon::underway::Files;
use serve::Server;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed router edge.rsc --port ether1=xdp:eth1 --port ether2=xdp:eth2
  wirespeed router edge.rsc --port xdp:eth1,mode=native,ring=4096 --port packet:eth2
  wirespeed router edge.rsc --port xdp:eth1@red --port xdp:eth2@blue --workers 2 --cores 1,2,3
  wirespeed router edge.rsc --port xdp:eth1 --port xdp:eth2 --kernel-routes
  wirespeed router edge.rsc --port xdp:eth1 --check     would it run, and as well as it could?
  wirespeed console edge                     its console, while it runs
  wirespeed lab down edge                    ends it, as SIGTERM and ctrl-C do

A port is NAME=BACKEND:INTERFACE[@NAMESPACE][,OPTION=VALUE…]; NAME may be left out: ether1, ether2 …
Backends: xdp (options queues, ring, mode=native|generic, copy=yes|no, kernel=yes|no),
          packet (queues, ring, offload=yes|no, kernel=yes|no), tap (queues, offload=yes|no).
With --kernel-routes bird or frr on the host drive the router: what they put into the kernel's table
is in `/ip route`, dynamic, while the kernel has it, and its neighbours are in `/ip arp`. What it
sends by an interface that is no port is unreachable (distance 255). Another table of the kernel's
is the router's of that name (`/routing table add name=100`), and its rules (`ip rule`) are in
`/routing rule`, behind the router's own. The kernel needs an address in each network a next hop
is in, on the port's interface. If that is not one of the router's as well, a port by xdp leaves it to the kernel (kernel=no: it does not; kernel=yes:
without --kernel-routes too): ARP, ND, ICMP and the daemon's sessions with neighbours there, past the
router's firewall. A port by packet leaves it a copy of everything then, and nothing otherwise
(Linux 6.6).
It needs root, or the capabilities CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK, and to
enter namespaces CAP_SYS_ADMIN. All frames of a port's interface are the router's: a session by ssh
that comes that way is cut off, which --check tells. An interface that is deleted is taken up again
when it is back; nothing stays attached when the router ends, however it ends: by SIGTERM, ctrl-C,
SIGHUP or `lab down` with its last counters. When it forwards it writes `ready` to standard output,
to --ready-fd, and to systemd (NOTIFY_SOCKET).

Exit codes, with --check the same: 0 ended as asked, 1 failed or the configuration has an error,
2 usage, 3 environment (no permission, no such interface, an interface or the router's name in use)")]
#[allow(missing_docs)] // a line here would be the command's help
pub struct Arguments {
    /// The configuration; with an error in it nothing is touched
    #[arg(value_name = "FILE.rsc")]
    config: PathBuf,
    /// Keep lines of the configuration that have no meaning here, as /import tolerant=yes does
    #[arg(long)]
    tolerant: bool,
    /// A port of the router, and its interface; in the order of ether1, ether2 …
    #[arg(long = "port", required = true, value_name = "[NAME=]BACKEND:INTERFACE")]
    ports: Vec<PortSpec>,
    /// What it is called, for `wirespeed console NAME` [default: the file's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Threads that own the interfaces' queues, beside the router's own [default: none, it does all]
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u16).range(0..=64))]
    workers: u16,
    /// The processors to stay on: the router's, then the workers'
    #[arg(long, value_name = "CPU,…", value_delimiter = ',')]
    cores: Vec<usize>,
    /// The router's files: what its commands read and write [default: it has none]
    #[arg(long, value_name = "DIRECTORY")]
    files: Option<PathBuf>,
    /// Follows the kernel's neighbours, and the routes of its main table, as bird or frr make them:
    /// by their interfaces they become routes by the ports [default: of the namespace the ports'
    /// interfaces are in]
    #[arg(long, value_name = "NAMESPACE", num_args = 0..=1, require_equals = true)]
    kernel_routes: Option<Option<String>>,
    /// Only tells whether the configuration has an error, what the machine, each interface and each
    /// core allow, and what to change
    #[arg(long)]
    check: bool,
    /// With --check: as JSON
    #[arg(long, requires = "check")]
    json: bool,
    /// Also writes `ready` to this open file descriptor
    #[arg(long, value_name = "FD")]
    ready_fd: Option<u32>,
}

/// What it says when it forwards.
const READY: &str = "ready";
/// How long the last words may wait for a reader.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Runs it until it is ended.
///
/// # Errors
/// [`Failure`]: what was asked for cannot be, or the machine does not give it.
pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    spec::name_all(&mut arguments.ports).map_err(Failure::Usage)?;
    let plan = plan(&arguments)?;
    let environment = |error: std::io::Error| Failure::Environment(error.to_string());
    let told = arguments.ready_fd.map(descriptor).transpose()?;
    let place = place(&plan.name);
    if arguments.check {
        return check(&plan, place, &arguments.config, arguments.json);
    }
    let (labs, socket) = place.map_err(|error| nowhere(&error))?;
    let interrupt = Interrupt::default();
    crate::signals::raise(&interrupt)?;
    let asked = interrupt.clone();
    let standing =
        labs.stand(&plan.name, move || asked.raise()).map_err(|error| nowhere(&error))?;
    let Some(standing) = standing else {
        let name = &plan.name;
        return Err(Failure::Environment(format!("{name} is up already; {}", end_it(name))));
    };
    let standing = Arc::new(standing);
    // Nobody need read what it says, or go on reading.
    let [out, err] = [std::io::stdout().as_fd(), std::io::stderr().as_fd()].map(Outlet::to);
    let (out, err) = (out.map_err(environment)?, err.map_err(environment)?);
    let tell: Tell = {
        let (standing, err) = (Arc::downgrade(&standing), err.clone());
        Arc::new(move |line| {
            err.say(&format!("wirespeed: {line}"));
            if let Some(standing) = standing.upgrade() {
                standing.log(line);
            }
        })
    };
    let language = crate::served::language();
    let running = match real::start(&plan, &language, tell, &interrupt) {
        Err(StartError::Interrupted) => {
            notify("STOPPING=1");
            err.say(&format!("wirespeed: {}", StartError::Interrupted));
            err.finish(LAST_WORDS);
            return Ok(());
        }
        started => started.map_err(|error| failed(&arguments.config, &error))?,
    };
    let device = Served::new(running.door(), plan.files.clone(), language);
    let mut server = Server::new(Arc::new(device)).map_err(Failure::Environment)?;
    server.unix(&socket).map_err(environment)?;
    for (name, facts) in running.facts() {
        out.say(&format!("{name}: {facts}"));
    }
    standing.announce(&info(&plan, &arguments.config, socket)).map_err(environment)?;
    // Who was told to end meanwhile only lets go.
    if !interrupt.is_raised() {
        ready(&out, told)?;
    }
    let failure = watch(&running, &interrupt);
    notify("STOPPING=1");
    drop(server);
    let ended = running.stop().map_err(Failure::Failed)?;
    show(&out, &ended);
    drop(standing);
    err.finish(LAST_WORDS);
    out.finish(LAST_WORDS);
    failure.map_or(Ok(()), |why| Err(Failure::Failed(why)))
}

/// Where routers are found, and the console of the one of this name there.
fn place(name: &str) -> std::io::Result<(Labs, PathBuf)> {
    let labs = Labs::ours()?;
    let socket = labs.socket(name, name)?;
    Ok((labs, socket))
}

fn nowhere(error: &std::io::Error) -> Failure {
    Failure::Environment(format!("no place where the router is found: {error}"))
}

fn end_it(name: &str) -> String {
    format!("end it (wirespeed lab down {name}) or use --name")
}

/// Whether the router could be found, and none of its name is there.
fn found(place: std::io::Result<(Labs, PathBuf)>, name: &str) -> Finding {
    let place = place.and_then(|(labs, _)| labs.probe().map(|()| labs));
    let (what, is, verdict, advice) = match place {
        Ok(labs) => match labs.find(name) {
            None => ("name", format!("{name} is free"), Verdict::Good, String::new()),
            Some(info) => {
                let is = format!("{name} is up already, process {}", info.pid);
                ("name", is, Verdict::Stop, end_it(name))
            }
        },
        // What to do about it stands behind the last semicolon.
        Err(error) => {
            let text = error.to_string();
            let (is, advice) = text.rsplit_once("; ").unwrap_or((&text, ""));
            ("state directory", is.to_string(), Verdict::Stop, advice.to_string())
        }
    };
    Finding { of: "machine".to_string(), what: what.to_string(), is, verdict, advice }
}

/// What the machine allows; the router's own exit code if it would not start.
fn check(
    plan: &Plan,
    place: std::io::Result<(Labs, PathBuf)>,
    config: &Path,
    json: bool,
) -> Result<(), Failure> {
    let allowed = port::affinity::allowed();
    let cores = match &plan.cores[..] {
        [] => &allowed[..allowed.len().min(plan.workers + 1)],
        cores => cores,
    };
    let language = crate::served::language();
    let mut report = real::check(plan, config, cores, &language);
    let found = found(place, &plan.name);
    let has_place = found.verdict != Verdict::Stop;
    // Behind the configuration, which is the router's own.
    report.findings.insert(1, found);
    let text = if json { format!("{:#}\n", report.json()) } else { report.table() };
    match std::io::stdout().write_all(text.as_bytes()) {
        // Who has read enough knows the verdict by the exit code.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            return Err(Failure::Environment(format!("writing to standard output: {error}")));
        }
        _ => {}
    }
    let why = || "the router would not start: see STOP above".to_string();
    match report.stops() {
        false => Ok(()),
        // Without a place the router does not come to its configuration.
        true if has_place && report.stops_at("router") => Err(Failure::Failed(why())),
        true => Err(Failure::Environment(why())),
    }
}

fn plan(arguments: &Arguments) -> Result<Plan, Failure> {
    let Arguments { config, ports, name, workers, cores, files, kernel_routes, tolerant, .. } =
        arguments;
    let shown = config.display();
    let failed =
        |why: &dyn std::fmt::Display| Failure::Environment(format!("reading {shown}: {why}"));
    let startup = std::fs::read(config).map_err(|error| failed(&error))?;
    let mut startup = config::text_of_file(startup).map_err(|why| failed(&why))?;
    if *tolerant {
        startup = config::inert::tolerant(&startup).map_err(|error| failed(&error))?.0;
    }
    let stem = || config.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = name.clone().or_else(stem).unwrap_or_default();
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
        return Err(Failure::Usage(format!("{name:?} is no name of a router; give it a --name")));
    }
    if let Some(directory) = files {
        std::fs::read_dir(directory).map_err(|error| {
            Failure::Environment(format!("--files {}: {error}", directory.display()))
        })?;
    }
    let workers = usize::from(*workers);
    Ok(Plan {
        name,
        ports: ports.clone(),
        workers,
        cores: processors(cores, workers, arguments.check)?,
        startup,
        files: files.clone().map_or(Files::none(), Files::of),
        kernel_routes: kernel_routes.as_ref().map(|namespace| match namespace {
            None => KernelRoutes::OfPorts,
            Some(namespace) => KernelRoutes::Of(namespace.clone()),
        }),
    })
}

/// The processors of the router's thread and the workers'. That one cannot be had the `check` itself says.
fn processors(asked: &[usize], workers: usize, check: bool) -> Result<Vec<usize>, Failure> {
    let allowed = port::affinity::allowed();
    if let Some(cpu) = asked.iter().find(|cpu| !check && !allowed.contains(cpu)) {
        let text = format!("--cores: this process may not use processor {cpu}, only {allowed:?}");
        return Err(Failure::Environment(text));
    }
    if asked.len() > workers + 1 {
        let n = workers + 1;
        let text = format!("--cores: {} processors for {n} threads; see --workers", asked.len());
        return Err(Failure::Usage(text));
    }
    match asked {
        // One each, if there are enough; else the system does better.
        [] if workers > 0 && allowed.len() > workers => Ok(allowed[..=workers].to_vec()),
        _ => Ok(asked.to_vec()),
    }
}

fn failed(config: &Path, error: &StartError) -> Failure {
    match error {
        StartError::Startup(_) => Failure::Failed(format!("{}:{error}", config.display())),
        _ => Failure::Environment(error.to_string()),
    }
}

/// Where `--ready-fd` leads: opened before anything is touched.
fn descriptor(fd: u32) -> Result<(u32, File), Failure> {
    let file = File::options().append(true).open(format!("/proc/self/fd/{fd}"));
    file.map(|file| (fd, file)).map_err(|error| cannot_tell(fd, &error))
}

fn cannot_tell(fd: u32, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("--ready-fd {fd}: {error}"))
}

/// Says that it forwards, to everybody who wants to know.
fn ready(out: &Outlet, told: Option<(u32, File)>) -> Result<(), Failure> {
    out.say(READY);
    if let Some((fd, mut file)) = told {
        writeln!(file, "{READY}").map_err(|error| cannot_tell(fd, &error))?;
    }
    notify("READY=1");
    Ok(())
}

/// What systemd wants to be told (`sd_notify(3)`), if it started us.
fn notify(state: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let Some(to) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let name = to.as_encoded_bytes();
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&to),
    };
    // Who cannot be told is not, and who does not listen is not waited for.
    let _ = address.and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(state.as_bytes(), &address)
    });
}

/// Waits for the end; why, if nobody asked for it.
fn watch(running: &Running, interrupt: &Interrupt) -> Option<String> {
    while !interrupt.wait(Duration::from_millis(500)) {
        if let Some(why) = running.failure() {
            return Some(why);
        }
    }
    None
}

fn info(plan: &Plan, config: &Path, socket: PathBuf) -> Info {
    Info {
        name: plan.name.clone(),
        pid: std::process::id(),
        file: config.canonicalize().unwrap_or(config.to_path_buf()),
        since: daemon::clock::timestamp(),
        nodes: vec![NodeInfo { name: plan.name.clone(), socket }],
        hosts: Vec::new(),
    }
}

/// The final counters, by name.
fn show(out: &Outlet, ended: &Final) {
    for (name, counts, trouble) in &ended.interfaces {
        let (rx, tx) = (counts.rx, counts.tx);
        out.say(&format!(
            "{name}: rx-packet={} rx-byte={} rx-drop={} rx-error={} tx-packet={} tx-byte={} \
             tx-drop={}",
            rx.packets,
            rx.bytes,
            trouble.rx_drop,
            trouble.rx_error,
            tx.packets,
            tx.bytes,
            trouble.tx_drop
        ));
    }
    for (reason, n) in &ended.discards {
        out.say(&format!("discarded: {reason} {n}"));
    }
}
