//! Latency between the two hosts: ping and irtt, one after the other.
//!
//! ```text
//!  first host                                second host
//!  ping -A -c 10000      ══ device ══        its kernel
//!  irtt client -i 200us  ══ device ══        irtt server: ended when the client has
//! ```

use super::Iperf3Error;
use super::activity::Activity;
use super::rig::Rig;
use crate::host::Process;
use crate::live::Interrupt;
use measure::iperf3::{Latency, Tool, undisturbed};
use port::affinity;
use port::linux::Namespace;
use std::path::Path;
use std::time::Duration;

/// As many pings as flood pings have, where there is time for them.
const PINGS: u32 = 10_000;
/// What starting, the neighbour's address and the last answers may take, on a busy machine.
const GRACE: Duration = Duration::from_secs(20);
/// How long irtt waits for the last answers.
const LAST: Duration = Duration::from_secs(1);

/// How long pings may take to find the round trip of an empty path.
pub(super) const PINGS_OF_A_PATH: Duration = Duration::from_secs(2);

/// Measures through one device, for `duration` at most; once more if it was disturbed.
///
/// # Errors
/// [`Iperf3Error`]; no process is left then.
pub(super) fn measure(
    rig: &Rig,
    tool: Tool,
    duration: Duration,
    interrupt: &Interrupt,
) -> Result<Latency, Iperf3Error> {
    undisturbed(|| once(rig, tool, duration, interrupt), |of| &mut of.validity)
}

fn once(
    rig: &Rig,
    tool: Tool,
    duration: Duration,
    interrupt: &Interrupt,
) -> Result<Latency, Iperf3Error> {
    let (to, seconds) = (rig.addresses[1], duration.as_secs());
    // Both neighbours are known before anything counts.
    run(&rig.hosts[0], &format!("ping -c 1 -w {} {to}", GRACE.as_secs()), GRACE, interrupt)?;
    let (command, _server) = match tool {
        Tool::Ping => (format!("ping -A -c {PINGS} -w {seconds} {to}"), None),
        Tool::Irtt => {
            let server = serve(&rig.hosts[1], &format!("irtt server -i 0 -b {to}"), interrupt)?;
            let wait = LAST.as_secs();
            (
                format!("irtt client -i 200us -d {seconds}s --wait={wait}s -Q -o - {to}"),
                Some(server),
            )
        }
    };
    let around = Activity::anywhere(affinity::allowed(), Duration::ZERO..duration);
    let said = run(&rig.hosts[0], &command, duration + LAST + GRACE, interrupt)?;
    let (took, conditions) = around.end();
    let latency = Latency::of(&rig.setup.device, tool, &command, &said);
    let latency = latency.map(|of| of.judged(took, &conditions));
    latency.map_err(|why| Iperf3Error::Failed(format!("`{command}`: {why}")))
}

/// What a program prints up to its end; how it ended does not matter (ping's status tells of losses).
pub(super) fn run(
    host: &Namespace,
    command: &str,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<String, Iperf3Error> {
    let mut process = start(host, command)?;
    let mut said = String::new();
    let told = &mut |piece: &str| said.push_str(piece);
    if process.wait(limit, &|| interrupt.is_raised(), told, &mut || false).is_some() {
        return Ok(said);
    }
    Err(match interrupt.is_raised() {
        true => Iperf3Error::Interrupted,
        false => Iperf3Error::Failed(format!("`{command}` has not ended after {limit:?}")),
    })
}

/// Starts irtt's server and waits until it listens.
fn serve(host: &Namespace, command: &str, interrupt: &Interrupt) -> Result<Process, Iperf3Error> {
    let mut process = start(host, command)?;
    let said = &std::cell::RefCell::new(String::new());
    let listens = || said.borrow().contains("[ListenerStart]");
    let told = &mut |piece: &str| said.borrow_mut().push_str(piece);
    process.wait(GRACE, &|| interrupt.is_raised(), told, &mut || listens());
    if !listens() {
        return Err(Iperf3Error::Failed(format!(
            "`{command}` does not listen: {}",
            said.borrow().trim()
        )));
    }
    Ok(process)
}

fn start(host: &Namespace, command: &str) -> Result<Process, Iperf3Error> {
    let words: Vec<String> = command.split(' ').map(str::to_string).collect();
    // Debian's packages.
    let package = if words[0] == "ping" { "iputils-ping" } else { "irtt" };
    let process = Process::start(host, &words, Path::new("/"));
    process.map_err(|error| Iperf3Error::start(package, error))
}
