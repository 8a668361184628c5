//! A program on a host, of which lines are read and to which signals are sent; and a namespace with a
//! name, as `ip netns add` makes one.

use super::{PATIENCE, sh};
use port::linux::Namespace;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A program that is killed when this is dropped.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
}

impl Program {
    pub(crate) fn start(namespace: &Namespace, words: &[&str]) -> Program {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child =
            namespace.spawn(command).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let (out, (tell, lines)) = (child.stdout.take().unwrap(), channel());
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // Nobody need listen.
                let _ = tell.send(line);
            }
        });
        Program { child, lines }
    }

    /// The next line it prints.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line of the program")
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub(crate) fn goes_on(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end; whether that was a good one.
    pub(crate) fn ended(&mut self) -> bool {
        for _ in 0..PATIENCE.as_millis() / 10 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A namespace with a name, which goes when this is dropped.
pub(crate) struct Named {
    pub(crate) name: String,
}

impl Named {
    pub(crate) fn new(name: &str) -> Named {
        let status = Command::new("ip").args(["netns", "add", name]).status().unwrap();
        assert!(status.success(), "ip netns add {name}: {status}");
        Named { name: name.to_string() }
    }

    /// Moves an interface there, and switches it on.
    pub(crate) fn takes(&self, from: &Namespace, interface: &str) {
        let name = &self.name;
        sh(
            from,
            &format!("ip link set {interface} netns {name}; ip -n {name} link set {interface} up"),
        );
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}
