//! The namespaces of a chaos run, the router's process between them, and the hosts' programs.

use super::{ChaosError, Plan};
use crate::clock::Clock;
use crate::linux::command::ask;
use port::linux::Namespace;
use port::linux::interface::{Offloads, set_offloads};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A home's router, with what most have: NAT, FastTrack, a firewall, a queue.
const CONFIG: &str = "\
/ip address
add address=10.0.1.1/24 interface=ether1
add address=10.0.2.1/24 interface=ether2
/ip firewall filter
add chain=input connection-state=established,related action=accept
add chain=input protocol=icmp action=accept
add chain=forward connection-state=established,related action=fasttrack-connection
add chain=forward connection-state=established,related action=accept
add chain=forward connection-state=invalid action=drop
/ip firewall nat
add chain=srcnat out-interface=ether2 action=masquerade
/queue simple
add name=home target=10.0.1.0/24 max-limit=100M/100M queue=default/default
";

/// What the web server has: some hundred kilobytes.
const PAGE: usize = 300_000;
/// How long the router may take to begin, to end, or to do a typed line.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long what is tried may take.
const STEP: Duration = Duration::from_millis(100);

/// A host's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    A,
    B,
}

impl Host {
    /// Its interface, the router's, and the first three numbers of their network.
    fn names(self) -> [&'static str; 3] {
        match self {
            Host::A => ["a0", "eth1", "10.0.1"],
            Host::B => ["b0", "eth2", "10.0.2"],
        }
    }
}

/// All of it.
pub(super) struct Rig {
    // Dropped first: they end with their namespaces anyway, but are not left as zombies.
    router: Option<Child>,
    servers: Vec<Child>,
    a: Namespace,
    r: Namespace,
    b: Namespace,
    program: PathBuf,
    home: PathBuf,
}

impl Rig {
    /// Hosts, wires and servers, and the router started.
    pub(super) fn new(plan: &Plan) -> Result<Rig, ChaosError> {
        let (a, r, b) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        let home = std::env::temp_dir().join(format!(
            "wirespeed-chaos-{}-{}",
            std::process::id(),
            plan.seed
        ));
        let (router, servers, program) = (None, Vec::new(), plan.program.clone());
        let mut rig = Rig { router, servers, a, r, b, program, home };
        let made = std::fs::create_dir_all(rig.home.join("files"))
            .and_then(|()| std::fs::create_dir_all(rig.home.join("www")))
            .and_then(|()| std::fs::write(rig.home.join("edge.rsc"), CONFIG))
            .and_then(|()| std::fs::write(rig.home.join("www/page"), vec![b'p'; PAGE]));
        made.map_err(|error| {
            ChaosError::Command(format!("writing in {}: {error}", rig.home.display()))
        })?;
        rig.connect(Host::A)?;
        rig.connect(Host::B)?;
        command(&rig.b, "ip link set lo up")?;
        let www = rig.home.join("www");
        for words in ["iperf3 -s", "python3 -m http.server 80"] {
            let mut split = words.split(' ');
            let mut server = Command::new(split.next().unwrap_or_default());
            server.args(split).current_dir(&www);
            server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let started = rig.b.spawn(server);
            let failed = |error| ChaosError::Command(format!("{words}: {error}"));
            rig.servers.push(started.map_err(failed)?);
        }
        rig.start()?;
        Ok(rig)
    }

    fn host(&self, host: Host) -> &Namespace {
        match host {
            Host::A => &self.a,
            Host::B => &self.b,
        }
    }

    /// A wire between a host and the router, with the host's address.
    pub(super) fn connect(&self, host: Host) -> Result<(), ChaosError> {
        let ([near, far, net], at) = (host.names(), self.host(host));
        let there = self.r.path().display().to_string();
        command(at, &format!("ip link add {near} type veth peer name {far} netns {there}"))?;
        for (at, name) in [(at, near), (&self.r, far)] {
            let file = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
            // Without IPv6 nobody announces himself there.
            let _ = at.run(|| std::fs::write(file, "1"));
            let off = at.run(|| set_offloads(name, Offloads::NONE));
            off.map_err(|error| ChaosError::Command(format!("{name}: {error}")))??;
        }
        command(&self.r, &format!("ip link set {far} up"))?;
        command(at, &format!("ip address add {net}.2/24 dev {near}"))?;
        self.set_link(host, true)
    }

    /// Deletes a host's wire.
    pub(super) fn disconnect(&self, host: Host) -> Result<(), ChaosError> {
        let [near, ..] = host.names();
        command(self.host(host), &format!("ip link del {near}")).map(drop)
    }

    /// The host's end goes down, or up.
    pub(super) fn set_link(&self, host: Host, up: bool) -> Result<(), ChaosError> {
        let ([near, _, net], at) = (host.names(), self.host(host));
        if !up {
            return command(at, &format!("ip link set {near} down")).map(drop);
        }
        command(at, &format!("ip link set {near} up"))?;
        command(at, &format!("ip route replace default via {net}.1")).map(drop)
    }

    /// Starts the router, and waits until it forwards. Its files are on a disk of a megabyte that only
    /// it sees.
    pub(super) fn start(&mut self) -> Result<(), ChaosError> {
        let io =
            |error: std::io::Error| ChaosError::Command(format!("starting the router: {error}"));
        let out = self.home.join("out");
        let err = File::options().create(true).append(true).open(self.home.join("err"));
        let mut router = Command::new("unshare");
        let files = self.home.join("files");
        let script = "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\"";
        router.args(["-m", "sh", "-c", script]).arg(&files).arg(&self.program);
        router.arg("router").arg(self.home.join("edge.rsc"));
        router.args(["--port", "ether1=xdp:eth1", "--port", "ether2=xdp:eth2", "--files"]);
        router.arg(&files).env("XDG_RUNTIME_DIR", &self.home).stdin(Stdio::null());
        router.stdout(File::create(&out).map_err(io)?).stderr(err.map_err(io)?);
        self.router = Some(self.r.spawn(router).map_err(io)?);
        let begin = Clock::start();
        while !std::fs::read_to_string(&out).unwrap_or_default().contains("ready\n") {
            if self.has_ended() || begin.elapsed() > PATIENCE {
                let said = self.said();
                return Err(ChaosError::Command(format!("the router is not ready\n{said}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        self.router.as_ref().map_or(0, Child::id)
    }

    /// Sends the router a signal; none, if it has ended.
    pub(super) fn signal(&mut self, signal: &str) -> Result<(), ChaosError> {
        match self.has_ended() {
            true => Ok(()),
            false => command(&self.r, &format!("kill -s {signal} {}", self.pid())).map(drop),
        }
    }

    /// Whether the router has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.status().is_some()
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.router.as_mut()?.try_wait().ok().flatten()
    }

    /// Waits for the router's end.
    pub(super) fn await_end(&mut self) -> Option<ExitStatus> {
        let begin = Clock::start();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.status() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// The router may have so many kilobytes more of data than it has; `None`: as many as it likes.
    pub(super) fn limit_memory(&self, more: Option<u64>) -> Result<(), ChaosError> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.unwrap_or_default();
        let has =
            status.lines().find_map(|line| line.strip_prefix("VmData:")?.split_whitespace().next());
        let has: u64 = has.and_then(|kilobytes| kilobytes.parse().ok()).unwrap_or(0);
        let most = more.map_or("unlimited".to_string(), |more| ((has + more) << 10).to_string());
        // Not of addresses, of which it reserves more than it uses. The soft limit may be raised again.
        command(&self.r, &format!("prlimit --pid {} --data={most}:", self.pid())).map(drop)
    }

    /// Types a line at the router's console: what it prints, or why it was refused.
    pub(super) fn type_line(&self, line: &str) -> Result<String, String> {
        let script = self.home.join("line.rsc");
        std::fs::write(&script, line).map_err(|error| error.to_string())?;
        let mut console = Command::new("timeout");
        console.arg(PATIENCE.as_secs().to_string()).arg(&self.program).args(["console", "edge"]);
        console.arg(&script).env("XDG_RUNTIME_DIR", &self.home);
        let output = self.r.output(console).map_err(|error| error.to_string())?;
        let [out, err] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if output.status.success() { Ok(out) } else { Err(format!("{err}{out}")) }
    }

    /// The file that fills the router's disk, as we see it.
    fn fill(&self) -> PathBuf {
        let files = self.home.join("files/fill");
        PathBuf::from(format!("/proc/{}/root{}", self.pid(), files.display()))
    }

    /// Fills the router's disk to its last page.
    pub(super) fn fill_disk(&self) -> Result<(), ChaosError> {
        let failed = |error| ChaosError::Command(format!("{}: {error}", self.fill().display()));
        let mut file = File::create(self.fill()).map_err(failed)?;
        while file.write_all(&[0; 4096]).is_ok() {}
        Ok(())
    }

    /// Makes room on it again.
    pub(super) fn free_disk(&self) -> Result<(), ChaosError> {
        let failed = |error| ChaosError::Command(format!("{}: {error}", self.fill().display()));
        std::fs::remove_file(self.fill()).map_err(failed)
    }

    /// Keeps all processors busy.
    pub(super) fn burn(&self, time: Duration) {
        let n = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..n {
                scope.spawn(|| {
                    let begin = Clock::start();
                    while begin.elapsed() < time {
                        std::hint::spin_loop();
                    }
                });
            }
        });
    }

    /// Waits until ping, curl and iperf3 work on host a: how long that took.
    ///
    /// # Errors
    /// What does not.
    pub(super) fn recovered(&mut self, patience: Duration) -> Result<Duration, String> {
        let begin = Clock::start();
        let page =
            format!("curl -s -m 5 -o /dev/null -w %{{size_download}} {}", "http://10.0.2.2/page");
        loop {
            let tried = ask(&self.a, "ping -q -c 1 -W 1 10.0.2.2")
                .and_then(|_| match ask(&self.a, &page)?.trim() == PAGE.to_string() {
                    true => Ok(begin.elapsed()),
                    false => Err("curl has not got all of the page".to_string()),
                })
                .and_then(|took| {
                    let iperf3 = "timeout 10 iperf3 -c 10.0.2.2 -t 1 --connect-timeout 2000";
                    ask(&self.a, iperf3).map(|_| took).map_err(|why| format!("iperf3: {why}"))
                });
            if let Some(status) = self.status() {
                return Err(format!("the router has ended by itself: {status}"));
            }
            match tried {
                Ok(took) => return Ok(took),
                Err(why) if begin.elapsed() > patience => return Err(why),
                Err(_) => std::thread::sleep(STEP),
            }
        }
    }

    /// The last lines that the router has said.
    pub(super) fn said(&self) -> String {
        let err = std::fs::read_to_string(self.home.join("err")).unwrap_or_default();
        let lines: Vec<&str> = err.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// Ends the router as asked; what is wrong then.
    pub(super) fn end(mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.has_ended() {
            return wrong; // told already
        }
        wrong.extend(self.signal("TERM").err().map(|error| error.to_string()));
        match self.await_end() {
            Some(status) if status.success() => {}
            Some(status) => wrong.push(format!("the router's end: {status}\n{}", self.said())),
            None => wrong.push(format!("the router does not end\n{}", self.said())),
        }
        match ask(&self.r, "ip -d link") {
            Ok(links) if !links.contains("xdp") => {}
            Ok(links) => wrong.push(format!("a program is still attached:\n{links}")),
            Err(why) => wrong.push(why),
        }
        wrong
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for child in self.router.iter_mut().chain(&mut self.servers) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

fn command(at: &Namespace, words: &str) -> Result<String, ChaosError> {
    ask(at, words).map_err(|said| ChaosError::Command(format!("{words}: {said}")))
}
