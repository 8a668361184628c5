//! DPDK's testpmd between the same veths: what a poll-mode forwarder does that looks at nothing.
//!
//! ```text
//!  t0 ═══ d0 ── vdev ─► [ lcore on the device's processor ] ─► vdev ─► d1 ═══ t1
//!                └ net_af_xdp, or net_af_packet
//! ```
//!
//! It forwards and does nothing else, so it has the plain rows alone: bridging is its mode `io` (in
//! by one port, out by the other, no address learned), routing its mode `mac` (both MAC addresses
//! written, no route looked up, no TTL counted down, no ARP). What it is compared with does more for
//! each frame.
//!
//! It never sleeps, and so leaves NAPI threads no time on its processor: beside one as preferred as
//! itself it forwarded 70 to 330 kpps, beside one that always goes first 10 (all is received, nothing
//! forwarded), and busy polling does nothing in copy mode. So its ends have none, and what is sent to
//! them is received on the tester's processor, as by a card that has another core interrupted: 550 to
//! 1150 kpps (2-core VM, Zen 5, 64 bytes). It has more of the machine than others that way, and the
//! tester less: **its rows say so, and it is not compared**. While it is not measured it is stopped, or
//! it would take the processor from whoever is.
//!
//! Its memory is the process's own (`--no-huge`), it takes no card, and ends with the stand. Never
//! writes outside the namespace. Missing: **its other modes**, **several queues**, **frames above 1518
//! bytes**.

use super::device::Cannot;
use super::veth::{DEVICE_ENDS, Rig, device_mac};
use super::wired::Wired;
use crate::configuration::{Configuration, Traffic};
use crate::jumbo;
use crate::machine;
use crate::placement::Pair;
use crate::traffic::tester_mac;
use crate::two_cores::NICE;
use measure::Mode;
use port::linux::{Namespace, Unavailable};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use wire::MacAddr;

/// How it has its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `net_af_xdp`.
    Xdp,
    /// `net_af_packet`.
    Packet,
}

/// The program, and where it comes from.
const PROGRAM: &str = "dpdk-testpmd";
const PACKAGE: &str = "install it: Debian's packages dpdk-dev and librte-net-af-xdp23";

/// What it prints when it forwards.
const READY: &str = "Press enter to exit";
/// How long it may take until then, on a busy machine.
const START: Duration = Duration::from_secs(60);

/// Megabytes of its memory, and the frames in them.
const MEMORY: &str = "--no-huge -m 512 --no-pci --no-shconf --no-telemetry";
const FRAMES: &str = "--total-num-mbufs=16384";

impl Driver {
    /// What the device is called in results.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Xdp => "dpdk testpmd, af_xdp",
            Driver::Packet => "dpdk testpmd, af_packet",
        }
    }

    /// A port's driver, as it is asked for. Busy polling does nothing on a veth.
    fn vdev(self, port: usize) -> String {
        let end = DEVICE_ENDS[port];
        match self {
            Driver::Xdp => format!("--vdev=net_af_xdp{port},iface={end},busy_budget=0"),
            Driver::Packet => format!("--vdev=net_af_packet{port},iface={end},qdisc_bypass=1"),
        }
    }
}

/// testpmd, forwarding.
pub struct Testpmd {
    driver: Driver,
    child: Child,
    mode: Mode,
    /// Its forwarding thread.
    lcore: u32,
}

/// Its arguments for a row; the reason why there are none.
fn words(driver: Driver, row: &Configuration, pair: Option<Pair>) -> Result<String, String> {
    if row.name != "none" || row.traffic == Traffic::Table {
        return Err("testpmd only forwards: it has no rules, queues, connections or routes".into());
    }
    let mode = match row.mode {
        Mode::Bridging => "--forward-mode=io".to_string(),
        Mode::Routing => {
            let peer = |port| format!("--eth-peer={port},{}", tester_mac(port));
            format!("--forward-mode=mac {} {}", peer(0), peer(1))
        }
    };
    // The first lcore only waits for its end.
    let (main, lcore) = pair.map_or((0, 1), |pair| (pair.tester, pair.device));
    let [a, b] = [0, 1].map(|port| driver.vdev(port));
    Ok(format!(
        "{PROGRAM} {MEMORY} -l {main},{lcore} --main-lcore={main} {a} {b} -- {mode} --auto-start \
         {FRAMES} --burst=64"
    ))
}

/// Starts it for a row; returns what was typed.
///
/// # Errors
/// [`Cannot`]: it cannot do the row; it is not installed; it does not start.
pub fn set_up(
    driver: Driver,
    rig: &Rig,
    row: &Configuration,
    pair: Option<Pair>,
) -> Result<(Testpmd, Vec<String>), Cannot> {
    if jumbo::mtu(rig.longest()).is_some() {
        let why =
            "testpmd is not told here how to take frames above 1518 bytes: --sizes up to that";
        return Err(Cannot::Omitted(why.to_string()));
    }
    let words = words(driver, row, pair).map_err(Cannot::Omitted)?;
    let child = start(&rig.device, &words)?;
    let process = child.id();
    let mut testpmd = Testpmd { driver, child, mode: row.mode, lcore: 0 };
    testpmd.lcore = lcore(process).ok_or_else(|| {
        let why = format!("none of its threads is called {}", LCORES.join("… or ") + "…");
        Unavailable::because(
            format!("find the forwarding thread of {PROGRAM}"),
            io::Error::other(why),
        )
    })?;
    machine::prefer(Some(testpmd.lcore), NICE);
    Ok((testpmd, vec![words]))
}

/// Starts it and waits until it forwards.
fn start(namespace: &Namespace, words: &str) -> Result<Child, Unavailable> {
    let cannot = |error: io::Error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let unavailable = Unavailable::because(format!("start {PROGRAM}"), error);
        if missing { unavailable.remedy(PACKAGE) } else { unavailable }
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join(PROGRAM).is_file()) {
        return Err(cannot(io::ErrorKind::NotFound.into()));
    }
    // Into a pipe it would say that it is ready when it has said 4 KiB, which it never has.
    let mut command = Command::new("stdbuf");
    command.arg("--output=L").args(words.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = namespace.spawn(command).map_err(cannot)?;
    let (say, said) = mpsc::channel();
    let out = child.stdout.take().map(|out| Box::new(out) as Box<dyn io::Read + Send>);
    let err = child.stderr.take().map(|err| Box::new(err) as Box<dyn io::Read + Send>);
    for pipe in [out, err].into_iter().flatten() {
        let say = say.clone();
        // Read to its end, heard or not, so that the program never waits for a reader.
        std::thread::spawn(move || {
            let lines = BufReader::new(pipe).lines().map_while(Result::ok);
            lines.for_each(|line| drop(say.send(line)));
        });
    }
    drop(say);
    let mut last = String::new();
    loop {
        let why = match said.recv_timeout(START) {
            Ok(line) if line.contains(READY) => return Ok(child),
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => {
                // The last line is of its taking leave; what went wrong is said before.
                if last.is_empty() || is_error(&line) {
                    last = line;
                }
                continue;
            }
            Err(RecvTimeoutError::Timeout) => format!("it does not forward; it said: {last}"),
            Err(RecvTimeoutError::Disconnected) => format!("it ended: {last}"),
        };
        let _ = child.kill();
        let _ = child.wait();
        return Err(cannot(io::Error::other(why)).remedy(PACKAGE));
    }
}

fn is_error(line: &str) -> bool {
    ["Cause:", "rror", "annot", "ailed"].iter().any(|word| line.contains(word))
}

/// What the thread that forwards is called, by DPDK's versions.
const LCORES: [&str; 3] = ["rte-worker", "lcore-worker", "dpdk-worker"];

/// The thread that forwards.
fn lcore(process: u32) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let mut numbers = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
    numbers.find(|number: &u32| {
        let comm = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        LCORES.iter().any(|name| comm.starts_with(name))
    })
}

impl Wired for Testpmd {
    fn name(&self) -> &'static str {
        self.driver.name()
    }

    fn macs(&self) -> Option<[MacAddr; 2]> {
        (self.mode == Mode::Routing).then(|| [0, 1].map(device_mac))
    }

    fn mute(&self) -> Option<&'static str> {
        let why = "no pings: testpmd answers no ARP in its mode `mac`";
        (self.mode == Mode::Routing).then_some(why)
    }

    fn unfair(&self) -> Option<&'static str> {
        Some(
            "testpmd polls without a rest, so what comes for it is received on the tester's \
             processor: it has more than one for itself, and is not compared with others",
        )
    }

    fn rest(&mut self) {
        self.signal(Signal::STOP);
        // Not before it stands: whoever is measured next is to have the processor.
        for _ in 0..1000 {
            if self.is_stopped() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn wake(&mut self) {
        self.signal(Signal::CONT);
    }

    fn worked(&self) -> Duration {
        machine::thread_time(self.lcore).unwrap_or_default()
    }

    fn witness(&mut self, _: &Rig) -> Vec<String> {
        let time = self.worked();
        vec![format!("its forwarding thread had its processor for {} ms", time.as_millis())]
    }
}

impl Testpmd {
    fn signal(&self, signal: Signal) {
        if let Some(process) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(process, signal);
        }
    }

    /// Whether its thread stands still: the first word behind its name in `stat` is T then (proc(5)).
    fn is_stopped(&self) -> bool {
        let path = format!("/proc/{}/task/{}/stat", self.child.id(), self.lcore);
        let stat = fs::read_to_string(path).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        self.wake();
        // It ends when it reads a line, and then takes its programs off.
        let asked = self.child.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
        if !matches!(asked, Some(Ok(()))) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::ALL;

    #[test]
    fn what_is_typed_for_each_row() {
        let pair = Some(Pair { tester: 2, device: 3 });
        for row in ALL {
            let said = words(Driver::Xdp, row, pair);
            match (row.mode, row.name) {
                (Mode::Bridging, "none") => {
                    let said = said.unwrap();
                    assert!(said.contains("-l 2,3 --main-lcore=2 "), "{said}");
                    assert!(said.contains(" -- --forward-mode=io "), "{said}");
                }
                (Mode::Routing, "none") => {
                    let said = words(Driver::Packet, row, pair).unwrap();
                    assert!(said.contains("--vdev=net_af_packet1,iface=d1"), "{said}");
                    assert!(said.contains("mac --eth-peer=0,06:00:00:00:00:01 "), "{said}");
                }
                _ => assert!(said.unwrap_err().contains("only forwards")),
            }
        }
    }
}
