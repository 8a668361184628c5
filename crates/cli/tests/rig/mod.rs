//! Two hosts and a router's process, each in a network namespace without a name.
//!
//! Nothing is left behind: the namespaces and the processes in them end with the test.

#![allow(dead_code)] // not every test uses all of it

// A routing daemon.
pub(crate) mod bird;
// Programs on hosts, and namespaces with names.
pub(crate) mod program;

#[path = "../../../port/tests/left_out/mod.rs"]
pub(crate) mod left_out;

use port::linux::Namespace;
use port::linux::interface::{Offloads, set_offloads, set_queues};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const CONFIG: &str = "
/system identity set name=edge
/ip address
add address=10.0.1.1/24 interface=ether1
add address=10.0.2.1/24 interface=ether2
";

pub(crate) struct Rig {
    pub(crate) a: Namespace,
    pub(crate) r: Namespace,
    pub(crate) b: Namespace,
    home: PathBuf,
    child: Option<Child>,
    out: Said,
    err: Said,
    /// Up to where it was heard.
    heard: Cell<usize>,
}

/// What a process has written so far.
#[derive(Clone, Default)]
struct Said(Arc<(Mutex<String>, Condvar)>);

impl Said {
    fn listen(&self, from: impl Read + Send + 'static) {
        let said = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                said.0.0.lock().unwrap().push_str(&(line + "\n"));
                said.0.1.notify_all();
            }
        });
    }

    fn text(&self) -> String {
        self.0.0.lock().unwrap().clone()
    }

    /// Waits for these words, said after place `from`; where they end.
    fn wait(&self, words: &str, from: usize) -> Option<usize> {
        let said = self.0.0.lock().unwrap();
        let until = |said: &mut String| !said[from..].contains(words);
        let (said, _) = self.0.1.wait_timeout_while(said, PATIENCE, until).unwrap();
        said[from..].find(words).map(|at| from + at + words.len())
    }
}

impl Rig {
    /// `None`, said on standard error, where there are no rights for it, no `ip` or one of the
    /// programs missing that the test takes (except when `CI` is set: then it panics).
    pub(crate) fn new(test: &str, programs: &[&str]) -> Option<Rig> {
        if left_out::lacks(&[&["ip"], programs].concat()) {
            return None;
        }
        let all = (Namespace::new(), Namespace::new(), Namespace::new());
        let (a, r, b) = match all {
            (Ok(a), Ok(r), Ok(b)) => (a, r, b),
            (Err(unavailable), ..) | (_, Err(unavailable), _) | (.., Err(unavailable)) => {
                left_out::left_out(unavailable);
                return None;
            }
        };
        let home = std::env::temp_dir().join(format!("ws-router-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("edge.rsc"), CONFIG).unwrap();
        let (out, err) = (Said::default(), Said::default());
        let rig = Rig { a, r, b, home, child: None, out, err, heard: Cell::new(0) };
        rig.connect_a();
        rig.connect_b();
        Some(rig)
    }

    pub(crate) fn connect_a(&self) {
        self.connect_a_by(1);
    }

    /// By so many queues.
    pub(crate) fn connect_a_by(&self, queues: u32) {
        self.connect(&self.a, "a0", "eth1", "10.0.1", queues);
    }

    pub(crate) fn connect_b(&self) {
        self.connect(&self.b, "b0", "eth2", "10.0.2", 1);
    }

    /// Another namespace in host a's place; the old one is gone.
    pub(crate) fn renew_a(&mut self) {
        self.a = Namespace::new().unwrap();
    }

    fn connect(&self, host: &Namespace, near: &str, far: &str, net: &str, queues: u32) {
        let there = self.r.path();
        let pair = format!(
            "ip link add name {near} numrxqueues {queues} numtxqueues {queues} type veth \
             peer name {far} numrxqueues {queues} numtxqueues {queues} netns {}",
            there.display()
        );
        sh(host, &pair);
        quiet(host, near);
        quiet(&self.r, far);
        sh(host, &format!("ip link set {near} up; ip address add {net}.2/24 dev {near}"));
        sh(&self.r, &format!("ip link set {far} up"));
        sh(host, &format!("ip route add default via {net}.1"));
    }

    fn command(&self, wrapper: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_wirespeed");
        let words: Vec<&str> = wrapper.iter().copied().chain([program]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("XDG_RUNTIME_DIR", &self.home);
        command
    }

    pub(crate) fn config(&self) -> String {
        self.home.join("edge.rsc").to_str().unwrap().to_string()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }

    /// Starts the router and waits until it forwards.
    pub(crate) fn start(&mut self, arguments: &[&str]) {
        self.start_by(&[], arguments, &[]);
    }

    /// The same by way of another program, and with variables of the environment.
    pub(crate) fn start_by(&mut self, by: &[&str], arguments: &[&str], with: &[(&str, &str)]) {
        (self.out, self.err) = (Said::default(), Said::default());
        let mut command = self.command(by);
        command.envs(with.iter().copied());
        command.args(["router", &self.config()]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.r.spawn(command).unwrap();
        self.out.listen(child.stdout.take().unwrap());
        self.err.listen(child.stderr.take().unwrap());
        self.child = Some(child);
        self.heard.set(0);
        let ready = self.out.wait("ready\n", 0);
        assert!(ready.is_some(), "it is not ready\n{}", self.all());
    }

    /// Runs another one to its end in the router's namespace: its exit code, and what it says.
    pub(crate) fn wirespeed(&self, arguments: &[&str]) -> (i32, String) {
        self.wrapped(&[], arguments)
    }

    pub(crate) fn wrapped(&self, wrapper: &[&str], arguments: &[&str]) -> (i32, String) {
        let mut command = self.command(wrapper);
        command.args(arguments);
        let output = self.r.output(command).unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    pub(crate) fn wirespeed_says(&self, arguments: &[&str], code: i32, expected: &str) {
        self.wrapped_says(&[], arguments, code, expected);
    }

    pub(crate) fn wrapped_says(&self, by: &[&str], words: &[&str], code: i32, expected: &str) {
        let (got, text) = self.wrapped(by, words);
        let words = [by, words].concat().join(" ");
        assert!(got == code && text.contains(expected), "{words}: exit {got}\n{text}");
    }

    /// Types a line at the router's console.
    pub(crate) fn console(&mut self, line: &str) -> String {
        let script = self.file("line.rsc", line);
        let (code, text) = self.wirespeed(&["console", "edge", &script]);
        assert_eq!(code, 0, "{line}\n{text}\n{}", self.all());
        text
    }

    /// Waits until a line at the console prints this.
    pub(crate) fn console_comes_to(&mut self, line: &str, expected: &str) {
        self.console_comes_to_or(line, expected, String::new);
    }

    /// The same; what else explains that it does not.
    pub(crate) fn console_comes_to_or(
        &mut self,
        line: &str,
        expected: &str,
        state: impl Fn() -> String,
    ) {
        let mut text = String::new();
        for _ in 0..PATIENCE.as_millis() / 100 {
            text = self.console(line);
            if text.trim() == expected {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{line}: {text} is not {expected}\n{}{}", self.all(), state());
    }

    /// Where this test's files are.
    pub(crate) fn home(&self) -> &std::path::Path {
        &self.home
    }

    /// So many packets there and back, host to host; the first may wait for addresses.
    pub(crate) fn pings(&self, n: usize) {
        let words = format!("ping -q -c 1 -w 30 10.0.2.2 && ping -q -i 0.05 -c {n} -w 30 10.0.2.2");
        let mut command = Command::new("sh");
        command.args(["-c", &words]);
        let output = self.a.output(command).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", self.all());
    }

    /// The other port goes on.
    pub(crate) fn still_answers_b(&self) {
        sh(&self.b, "ping -q -c 2 -i 0.05 -w 30 10.0.2.1");
    }

    /// Packets as fast as they come back, until it is ended.
    pub(crate) fn load(&self) -> Load {
        let mut command = Command::new("ping");
        command.args(["-q", "-f", "-s", "1000", "10.0.2.2"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Load(self.a.spawn(command).unwrap())
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the router's end: its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let mut child = self.child.take().unwrap();
        for _ in 0..PATIENCE.as_millis() / 10 {
            if let Some(status) = child.try_wait().unwrap() {
                // What it said last is read by now, or soon.
                std::thread::sleep(Duration::from_millis(50));
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        panic!("it does not end\n{}", self.all());
    }

    /// Waits until the router says so, after what it was heard to say before.
    pub(crate) fn says(&self, words: &str) {
        match self.err.wait(words, self.heard.get()) {
            Some(end) => self.heard.set(end),
            None => panic!("it does not say {words:?}\n{}", self.all()),
        }
    }

    pub(crate) fn out(&self) -> String {
        self.out.text()
    }

    pub(crate) fn all(&self) -> String {
        let links = sh(&self.r, "ip -s link");
        format!("--- out\n{}--- err\n{}--- links\n{links}", self.out.text(), self.err.text())
    }

    /// A final counter.
    pub(crate) fn counter(&self, interface: &str, name: &str) -> u64 {
        let out = self.out();
        let line = out.lines().find(|line| line.starts_with(&format!("{interface}: rx-packet=")));
        let words = line.into_iter().flat_map(str::split_whitespace);
        let mut value = words.filter_map(|word| word.strip_prefix(&format!("{name}=")));
        value.next().and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{out}"))
    }

    /// A final count of packets discarded for this reason.
    pub(crate) fn discarded(&self, reason: &str) -> u64 {
        let out = self.out();
        let mut lines = out.lines().filter_map(|line| line.strip_prefix("discarded: "));
        let count = lines.find_map(|line| line.strip_prefix(reason)?.trim().parse().ok());
        count.unwrap_or(0)
    }

    /// All packets that were discarded, for whatever reason.
    pub(crate) fn all_discarded(&self) -> u64 {
        let out = self.out();
        let lines = out.lines().filter_map(|line| line.strip_prefix("discarded: "));
        let counts = lines.filter_map(|line| line.split(' ').nth(1)?.parse::<u64>().ok());
        counts.sum()
    }

    /// Datagrams that came to a host where nobody listens.
    pub(crate) fn arrived(&self, host: &Namespace) -> u64 {
        let text = sh(host, "cat /proc/net/snmp");
        let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (rows.next().unwrap_or(""), rows.next().unwrap_or(""));
        let mut pairs = names.split(' ').zip(values.split(' '));
        let found = pairs.find(|(name, _)| *name == "NoPorts");
        found.and_then(|(_, value)| value.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }

    /// How many frames a host has put on its wire.
    pub(crate) fn sent(&self, host: &Namespace, interface: &str) -> u64 {
        device_counter(host, interface, 9)
    }

    /// How many frames of a host its wire did not take.
    pub(crate) fn unsent(&self, host: &Namespace, interface: &str) -> u64 {
        device_counter(host, interface, 11)
    }

    /// How many frames have come to a host by its wire.
    pub(crate) fn received(&self, host: &Namespace, interface: &str) -> u64 {
        device_counter(host, interface, 1)
    }

    /// No program, no wish for all addresses, no interface that we made. (What a port by packet puts
    /// at the ingress `ip` does not show: [`the_kernel_works`](Rig::the_kernel_works) finds out.)
    pub(crate) fn nothing_is_attached(&self) {
        let links = sh(&self.r, "ip -d link");
        assert!(!links.contains("xdp") && !links.contains("persist off"), "{links}");
        let promiscuous = links.split("promiscuity ").skip(1).any(|rest| !rest.starts_with("0 "));
        assert!(!promiscuous, "{links}");
    }

    /// The kernel has its interfaces back.
    pub(crate) fn the_kernel_works(&self) {
        sh(&self.r, "ip address add 10.0.1.9/24 dev eth1");
        sh(&self.a, "ping -q -c 1 -w 30 10.0.1.9");
        sh(&self.r, "ip address del 10.0.1.9/24 dev eth1");
    }
}

/// Nobody announces himself there, and frames are what they seem.
fn quiet(at: &Namespace, name: &str) {
    let file = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
    // Without IPv6 nobody can.
    let _ = at.run(|| std::fs::write(file, "1")).unwrap();
    switch(at, name, Offloads::NONE);
}

/// Makes an interface's offloads these.
pub(crate) fn switch(at: &Namespace, name: &str, offloads: Offloads) {
    let switched = at.run(|| set_offloads(name, offloads)).unwrap();
    switched.unwrap_or_else(|unavailable| panic!("{unavailable}"));
}

/// Makes an interface have so many queues, each way.
pub(crate) fn give_queues(at: &Namespace, name: &str, rx: u32, tx: u32) {
    let given = at.run(|| set_queues(name, rx, tx)).unwrap();
    given.unwrap_or_else(|unavailable| panic!("{unavailable}"));
}

/// A column of `/proc/net/dev`.
fn device_counter(host: &Namespace, interface: &str, column: usize) -> u64 {
    let text = sh(host, "cat /proc/net/dev");
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:")));
    let word = line.and_then(|line| line.split_whitespace().nth(column));
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// A process that ends when this is dropped.
pub(crate) struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Runs a shell's words in a namespace and returns what they print.
///
/// # Panics
/// If they fail.
pub(crate) fn sh(namespace: &Namespace, words: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", words]);
    let output = namespace.output(command).unwrap_or_else(|error| panic!("{words}: {error}"));
    let [out, err] =
        [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    assert!(output.status.success(), "{words}: {}\n{out}{err}", output.status);
    out
}
