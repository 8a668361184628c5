//! Pairs of iperf3 processes: started, waited for, and ended whatever happens.
//!
//! ```text
//!  iperf3 -s -1 --json  on the receiver ── listens ──►  iperf3 -c … --json  on the sender
//!        └ its own intervals: the figures                    └ what was sent
//! ```
//!
//! One process is one thread, so each has a port and a processor of its own (`-A`), as far as there
//! are enough. Each is killed when its time is over, when somebody wants an end, and when this
//! program ends.

use super::Iperf3Error;
use crate::clock::Clock;
use crate::live::Interrupt;
use port::linux::Namespace;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often to look.
const LOOK: Duration = Duration::from_millis(10);
/// How long a server may take to listen, on a busy machine.
const LISTENS: Duration = Duration::from_secs(10);

/// An iperf3 that runs. Dropping it ends it.
struct Process {
    command: String,
    child: Child,
    printed: Option<JoinHandle<Vec<u8>>>,
}

impl Process {
    fn start(namespace: &Namespace, words: &[String]) -> Result<Process, Iperf3Error> {
        let mut command = Command::new("iperf3");
        command.args(words).env("LC_ALL", "C.UTF-8");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = namespace.spawn(command);
        let mut child = child.map_err(|error| Iperf3Error::start("iperf3", error))?;
        let mut output = child.stdout.take();
        let printed = thread::Builder::new().name("iperf3 prints".to_string()).spawn(move || {
            let mut bytes = Vec::new();
            if let Some(output) = &mut output {
                // What was read so far is as good as what there is.
                let _ = output.read_to_end(&mut bytes);
            }
            bytes
        });
        let mut process = Process { command: shown(words), child, printed: None };
        process.printed = Some(printed.map_err(Iperf3Error::Start)?);
        Ok(process)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// What it wrote, after it has ended or was made to.
    fn json(&mut self) -> Result<Value, Iperf3Error> {
        self.end();
        let bytes = self.printed.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        serde_json::from_slice(&bytes).map_err(|error| {
            Iperf3Error::Failed(format!("`{}` wrote no JSON: {error}", self.command))
        })
    }

    fn end(&mut self) {
        if !self.has_ended() {
            // It may have ended by itself meanwhile.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn shown(words: &[String]) -> String {
    format!("iperf3 {}", words.join(" "))
}

/// A pair to be.
pub(super) struct Spec<'a> {
    /// Where the sender is.
    pub(super) from: &'a Namespace,
    /// Where the receiver is.
    pub(super) to: &'a Namespace,
    /// Its port there.
    pub(super) port: u16,
    /// The sender's words.
    pub(super) client: Vec<String>,
    /// The receiver's.
    pub(super) server: Vec<String>,
}

/// What a pair wrote.
pub(super) struct Wrote {
    /// The sender's command.
    pub(super) client_command: String,
    /// The receiver's.
    pub(super) server_command: String,
    /// The sender's JSON.
    pub(super) client: Value,
    /// The receiver's.
    pub(super) server: Value,
}

/// Whether there is an iperf3 to start.
///
/// # Errors
/// [`Iperf3Error`]: there is none, or it must not be started.
pub(super) fn installed() -> Result<(), Iperf3Error> {
    let output = Command::new("iperf3").arg("--version").stdin(Stdio::null()).output();
    output.map(drop).map_err(|error| Iperf3Error::start("iperf3", error))
}

/// Starts all pairs together and waits for them, `limit` at most; `look` is called every few
/// milliseconds meanwhile, with how long ago the senders were started.
///
/// # Errors
/// [`Iperf3Error`]; no process is left then.
pub(super) fn run(
    specs: &[Spec<'_>],
    limit: Duration,
    interrupt: &Interrupt,
    look: &mut dyn FnMut(Duration),
) -> Result<Vec<Wrote>, Iperf3Error> {
    let clock = Clock::start();
    let mut servers = Vec::new();
    for spec in specs {
        servers.push(Process::start(spec.to, &spec.server)?);
    }
    let began = clock.now();
    for (spec, server) in specs.iter().zip(&mut servers) {
        while !listens(spec.to, spec.port)? {
            if server.has_ended() {
                let said = server.json().map_or_else(|error| error.to_string(), |said| why(&said));
                return Err(Iperf3Error::Failed(format!("`{}` ended: {said}", server.command)));
            }
            if clock.now().since(began) >= LISTENS {
                let text = format!("`{}` does not listen after {LISTENS:?}", server.command);
                return Err(Iperf3Error::Failed(text));
            }
            if interrupt.wait(LOOK) {
                return Err(Iperf3Error::Interrupted);
            }
        }
    }
    let mut clients = Vec::new();
    for spec in specs {
        clients.push(Process::start(spec.from, &spec.client)?);
    }
    let began = clock.now();
    let in_time = || clock.now().since(began) < limit;
    while !clients.iter_mut().all(Process::has_ended) {
        look(clock.now().since(began));
        if !in_time() {
            let late = clients.iter_mut().position(|client| !client.has_ended());
            let command = late.map_or(String::new(), |at| clients[at].command.clone());
            return Err(Iperf3Error::Failed(format!("`{command}` has not ended after {limit:?}")));
        }
        if interrupt.wait(LOOK) {
            return Err(Iperf3Error::Interrupted);
        }
    }
    let mut wrote = Vec::new();
    for (client, server) in clients.iter_mut().zip(&mut servers) {
        let said = client.json()?;
        // A server ends after its client; one whose client has failed need not end at all.
        while said["error"].is_null() && !server.has_ended() && in_time() {
            if interrupt.wait(LOOK) {
                return Err(Iperf3Error::Interrupted);
            }
        }
        if !said["error"].is_null() {
            let text = format!("`{}`: {}", client.command, why(&said));
            return Err(Iperf3Error::Failed(text));
        }
        wrote.push(Wrote {
            client_command: client.command.clone(),
            server_command: server.command.clone(),
            client: said,
            server: server.json()?,
        });
    }
    Ok(wrote)
}

fn why(said: &Value) -> String {
    said["error"].as_str().unwrap_or("it does not say why").to_string()
}

/// Whether somebody listens to a TCP port of a namespace.
fn listens(namespace: &Namespace, port: u16) -> Result<bool, Iperf3Error> {
    let read = || fs::read_to_string("/proc/thread-self/net/tcp");
    let text = namespace.run(read).and_then(|text| text).map_err(Iperf3Error::Start)?;
    Ok(is_listening(&text, port))
}

/// By the text of `/proc/net/tcp`: state 0A.
fn is_listening(text: &str, port: u16) -> bool {
    let end = format!(":{port:04X}");
    text.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&end)) && words.nth(1) == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens() {
        let text = "  sl  local_address rem_address   st\n   \
                    0: 00000000:1451 00000000:0000 0A 00000000:00000000\n   \
                    1: 0100007F:1452 0100007F:1451 01 00000000:00000000\n";
        assert!(is_listening(text, 5201));
        assert!(!is_listening(text, 5202), "connected only");
        assert!(!is_listening(text, 5203));
        assert!(!is_listening("", 5201));
    }
}
