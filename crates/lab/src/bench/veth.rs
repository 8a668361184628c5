//! Veth pairs, namespaces, and who works where: the cables of a device under test.
//!
//! ```text
//!  namespace of t0    namespace of the device    namespace of t1
//!       t0 ═══ veth ═══ d0   [ device ]   d1 ═══ veth ═══ t1        (and so on to t15)
//!  └── the tester's processor ──┘└ the device's ┘└─ the tester's ──┘
//! ```
//!
//! Most devices have two of them; bridges of a suite have as many as its plan says.
//!
//! A veth has no processor of its own: what a frame costs at the receiving end is paid wherever the
//! sender was. Here every end has a kernel thread instead (threaded NAPI, which veth has once GRO is
//! on), pinned: the device's ends and all that the kernel does behind them to the device's
//! processor, the tester's ends to the tester's. The threads' own times say how long the kernel was
//! busy for the device. At the tester's ends they look for frames every 20 µs while some come, which
//! is part of the latency seen there. A device that never sleeps would leave its threads no time, and
//! goes without: [`Rig::receive_where_sent`].
//!
//! Offloads that fake checksums or make super-frames are off. The namespaces have no names: nothing
//! is left when the process is gone. Never touches an interface it did not make.

use super::BenchError;
use crate::jumbo;
use crate::kernel::{ask, typed};
use crate::machine;
use crate::placement::Pair;
use crate::real::PortSpec;
use crate::real::spec::Options;
use crate::traffic::tester_mac;
use crate::two_cores::NICE;
use port::linux::interface::{Offloads, set_offloads};
use port::linux::{Namespace, Unavailable};
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use wire::{FrameLen, MacAddr};

/// The device's first two ends, in its namespace.
pub const DEVICE_ENDS: [&str; 2] = ["d0", "d1"];
/// The tester's first two ends, each in a namespace of its own.
const TESTER_ENDS: [&str; 2] = ["t0", "t1"];

/// All ends there can be: the device's, and the tester's.
const ENDS: [[&str; 16]; 2] = [
    [
        "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", "d13",
        "d14", "d15",
    ],
    [
        "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10", "t11", "t12", "t13",
        "t14", "t15",
    ],
];

/// The offloads of all ends, for the result.
pub const OFFLOADS: &str = "veth: gro on, tx off, tso off, gso off";

/// The same, for the kernel.
const GRO_ALONE: Offloads = Offloads { gro: true, ..Offloads::NONE };

/// A thread of its own.
const THREADED: (&str, u64) = ("threaded", 1);
/// None: received is where it was sent.
const UNTHREADED: (&str, u64) = ("threaded", 0);
/// The tester's ends look for frames this often while some come, as a card gathers them before it
/// interrupts. Without it every frame wakes a thread, for a microsecond of the tester's processor.
const COALESCED: [(&str, u64); 2] = [("napi_defer_hard_irqs", 5), ("gro_flush_timeout", GATHER_NS)];
/// So long a frame may wait for others, at the tester's ends.
pub const GATHER_NS: u64 = 20_000;

/// A device's cables, and their other ends.
pub struct Rig {
    /// Where the tester's ends are, one in each.
    testers: Vec<Namespace>,
    /// Where the device's are.
    pub device: Namespace,
    /// The kernel's threads that work for the device, and those that do for the tester.
    threads: [Vec<u32>; 2],
    pair: Option<Pair>,
    /// Of frames, that they carry.
    longest: FrameLen,
    commands: Vec<String>,
}

/// Kernel threads are named after interfaces, which are called the same in every rig: so one rig at
/// a time looks for its own.
static MAKING: Mutex<()> = Mutex::new(());

impl Rig {
    /// Two new cables, up; with two processors, each end on its own.
    ///
    /// # Errors
    /// [`BenchError`]: no rights, or a program is lacking.
    pub fn new(pair: Option<Pair>) -> Result<Rig, BenchError> {
        Rig::with_ports(2, pair)
    }

    /// The same for a device of more ports.
    ///
    /// # Errors
    /// [`BenchError`].
    ///
    /// # Panics
    /// Of less than two ports, or more than 16.
    pub fn with_ports(ports: usize, pair: Option<Pair>) -> Result<Rig, BenchError> {
        Rig::for_frames(FrameLen::MAX, ports, pair)
    }

    /// The same for frames of up to this length: the cables' MTU is 1500, or what these take.
    ///
    /// # Errors
    /// [`BenchError`].
    ///
    /// # Panics
    /// As of [`with_ports`](Self::with_ports).
    pub fn for_frames(
        longest: FrameLen,
        ports: usize,
        pair: Option<Pair>,
    ) -> Result<Rig, BenchError> {
        assert!((2..=ENDS[0].len()).contains(&ports), "a device of {ports} ports");
        let testers: Result<Vec<_>, _> = (0..ports).map(|_| Namespace::new()).collect();
        let (testers, device) = (testers?, Namespace::new()?);
        let (threads, commands) = ([vec![], vec![]], vec![]);
        let mut rig = Rig { testers, device, threads, pair, longest, commands };
        let mut said = Vec::new();
        rig.link(&mut said)?;
        rig.give_threads(&mut said)?;
        rig.commands = said;
        Ok(rig)
    }

    /// The cables, up.
    fn link(&self, said: &mut Vec<String>) -> Result<(), BenchError> {
        for place in self.places() {
            said.push(format!("ip netns add {}", place.name));
            // Nobody is to announce himself on the wires. Without IPv6 nobody can.
            let quiet = || fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            if let Ok(Ok(())) = place.namespace.run(quiet) {
                said.push(place.typed("sysctl -qw net.ipv6.conf.default.disable_ipv6=1"));
            }
            place.run("ip link set lo up", said)?;
        }
        let mut queues = "numrxqueues 1 numtxqueues 1".to_string();
        if let Some(mtu) = jumbo::mtu(self.longest) {
            queues += &format!(" mtu {mtu}");
        }
        let device = self.place_of_device();
        for (i, (here, (tester, there))) in self.inner().iter().zip(self.outer_ends()).enumerate() {
            let (mac, peer) = (device_mac(i), tester_mac(i));
            let pair = format!(
                "ip link add name {here} address {mac} {queues} type veth \
                 peer name {there} address {peer} {queues} netns"
            );
            ask(&self.device, &format!("{pair} {}", tester.namespace.path().display()))?;
            said.push(device.typed(&format!("{pair} {}", tester.name)));
        }
        // Before any is up: what may be redirected to an end is settled when it goes up, and it is
        // nothing while the other end has no GRO and no program.
        for (place, end) in self.ends() {
            switch_offloads(place.namespace, end)?;
            said.push(place.typed(&format!("ethtool -K {end} gro on tx off tso off gso off")));
        }
        self.ends().try_for_each(|(place, end)| place.run(&format!("ip link set {end} up"), said))
    }

    /// A thread of the kernel for every end, where it is to be.
    fn give_threads(&mut self, said: &mut Vec<String>) -> Result<(), BenchError> {
        let _making = MAKING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut threads = Vec::new();
        for (place, end) in self.ends() {
            threads.push(threaded(place.namespace, end)?);
            said.push(place.sets(end, &[THREADED]));
        }
        let mut keep = |words: &str, end: &str| {
            said.push(format!("{words} \"$(pgrep '^napi/{end}-')\""));
        };
        // The device's come first.
        let of_tester = threads.split_off(self.testers.len());
        let with_ends = || {
            let of_device = threads.iter().zip(ENDS[0]).map(|(thread, end)| (*thread, end, false));
            of_device.chain(of_tester.iter().zip(ENDS[1]).map(|(thread, end)| (*thread, end, true)))
        };
        for (thread, end, is_tester) in with_ends() {
            if let Some(Pair { tester, device }) = self.pair {
                let words = format!("taskset -p -c {}", if is_tester { tester } else { device });
                ask(&self.device, &format!("{words} {thread}"))?;
                keep(&words, end);
            }
            // The device's threads are alike, the kernel's and ours, on a machine that does other
            // things as well. At the tester's ends, whatever comes is taken before more is sent.
            if is_tester {
                let words = "chrt --fifo --pid 1";
                ask(&self.device, &format!("{words} {thread}"))?;
                keep(words, end);
            } else {
                machine::prefer(Some(thread), NICE);
                keep(&format!("renice -n {NICE} -p"), end);
            }
        }
        for (place, end) in self.outer_ends() {
            set(place.namespace, end, &COALESCED)?;
            said.push(place.sets(end, &COALESCED));
        }
        self.threads = [threads, of_tester];
        Ok(())
    }

    /// Takes the kernel's threads of the device's ends away: what is sent to them is received on the
    /// sender's processor, for a device that never sleeps and so leaves them no time on its own.
    ///
    /// # Errors
    /// [`BenchError::Command`].
    pub fn receive_where_sent(&mut self) -> Result<(), BenchError> {
        let mut said = Vec::new();
        for end in self.inner() {
            set(&self.device, end, &[UNTHREADED])?;
            said.push(self.place_of_device().sets(end, &[UNTHREADED]));
        }
        self.threads[0].clear();
        self.commands.extend(said);
        Ok(())
    }

    /// What made it, as it is typed into a shell where the namespaces have names: `device`,
    /// `tester0` and so on. These have none.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// The longest frames that they are made for.
    pub fn longest(&self) -> FrameLen {
        self.longest
    }

    /// The tester's first two ends and where they are.
    pub fn tester_ends(&self) -> [(&Namespace, &'static str); 2] {
        [(&self.testers[0], TESTER_ENDS[0]), (&self.testers[1], TESTER_ENDS[1])]
    }

    /// The device's ends.
    pub fn inner(&self) -> &'static [&'static str] {
        &ENDS[0][..self.testers.len()]
    }

    /// All of the tester's ends and where they are.
    pub fn outer(&self) -> impl Iterator<Item = (&Namespace, &'static str)> {
        self.testers.iter().zip(ENDS[1])
    }

    /// These ports at the tester's ends. (A veth here has one queue, and no way without a copy.)
    pub fn at(&self, specs: &[PortSpec]) -> Vec<PortSpec> {
        let at = |(spec, (namespace, end)): (&PortSpec, (&Namespace, &str))| PortSpec {
            interface: end.to_string(),
            namespace: Some(namespace.path().display().to_string()),
            options: Options { queues: None, copy: None, ..spec.options },
            ..spec.clone()
        };
        specs.iter().zip(self.outer()).map(at).collect()
    }

    fn place_of_device(&self) -> Place<'_> {
        Place { namespace: &self.device, name: "device".to_string() }
    }

    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        let tester = |(i, namespace)| Place { namespace, name: format!("tester{i}") };
        [self.place_of_device()].into_iter().chain(self.testers.iter().enumerate().map(tester))
    }

    fn outer_ends(&self) -> impl Iterator<Item = (Place<'_>, &'static str)> {
        self.places().skip(1).zip(ENDS[1])
    }

    /// The device's, then the tester's.
    fn ends(&self) -> impl Iterator<Item = (Place<'_>, &'static str)> {
        let inner = self.inner().iter().map(|end| (self.place_of_device(), *end));
        inner.chain(self.outer_ends())
    }

    /// How long the kernel has worked for the device so far.
    pub fn worked(&self) -> Duration {
        self.threads[0].iter().filter_map(machine::thread_time).sum()
    }

    /// How long it has received for the tester so far.
    pub fn tester_worked(&self) -> Duration {
        self.threads[1].iter().filter_map(machine::thread_time).sum()
    }

    /// Frames so far that came through the device and found a tester's end full. (A veth counts
    /// them at the end that sent.)
    pub fn full(&self) -> u64 {
        self.inner().iter().map(|end| self.counters(end).tx_dropped).sum()
    }

    /// What one of the device's ends has counted.
    pub fn counters(&self, end: &str) -> Counters {
        let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        Counters::of(&self.device.run(read).unwrap_or_default(), end)
    }

    /// What runs on which processor.
    pub fn placement(&self) -> String {
        match self.pair {
            Some(Pair { tester, device }) if self.threads[0].is_empty() => format!(
                "tester and all receiving at either end of the veths on processor {tester}, device \
                 on processor {device}"
            ),
            Some(Pair { tester, device }) => format!(
                "tester and the NAPI threads of its veths on processor {tester}, device and those \
                 of its veths on processor {device}"
            ),
            None => "tester, device and the veths' NAPI threads on whichever processor".to_string(),
        }
    }
}

/// A namespace, and what it is called where commands are told.
struct Place<'a> {
    namespace: &'a Namespace,
    name: String,
}

impl Place<'_> {
    /// Runs a command here, and keeps it.
    fn run(&self, words: &str, said: &mut Vec<String>) -> Result<(), BenchError> {
        ask(self.namespace, words)?;
        said.push(self.typed(words));
        Ok(())
    }

    fn typed(&self, words: &str) -> String {
        format!("ip netns exec {} {}", self.name, typed(words))
    }

    /// What [`set`] does.
    fn sets(&self, end: &str, values: &[(&str, u64)]) -> String {
        format!("ip netns exec {} sh -c '{}'", self.name, echoes(end, values))
    }
}

/// The address of a device's end, as `ether1` and `ether2` have in memory.
pub fn device_mac(port: usize) -> MacAddr {
    crate::device::port_mac(port + 1)
}

/// Switches the offloads of an end: super-frames and checksums left undone are no frames, and with
/// GRO it takes what is redirected to it.
fn switch_offloads(namespace: &Namespace, end: &str) -> Result<(), BenchError> {
    let enter = |error| Unavailable::because("enter a namespace", error);
    namespace.run(|| set_offloads(end, GRO_ALONE)).map_err(enter)??;
    Ok(())
}

/// Gives an interface a thread of its own in the kernel, and returns its number.
fn threaded(namespace: &Namespace, end: &str) -> Result<u32, BenchError> {
    let before = threads_of(end);
    set(namespace, end, &[THREADED])?;
    let new = threads_of(end).into_iter().find(|thread| !before.contains(thread));
    let none =
        || BenchError::Command(echoes(end, &[THREADED]), "no NAPI thread came of it".to_string());
    new.ok_or_else(none)
}

/// Sets what sysfs alone has of an interface.
///
/// # Errors
/// [`BenchError::Command`].
fn set(namespace: &Namespace, end: &str, values: &[(&str, u64)]) -> Result<(), BenchError> {
    // The files of a namespace's interfaces show where sysfs was mounted in it.
    let script = format!("mount -t sysfs none /sys && {}", echoes(end, values));
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    let failed = |said: String| BenchError::Command(script.clone(), said);
    let output = namespace.output(command).map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_string()));
    }
    Ok(())
}

fn echoes(end: &str, values: &[(&str, u64)]) -> String {
    let echo = |(name, value): &(&str, u64)| format!("echo {value} > /sys/class/net/{end}/{name}");
    values.iter().map(echo).collect::<Vec<_>>().join(" && ")
}

/// The kernel's threads `napi/END-…`.
fn threads_of(end: &str) -> Vec<u32> {
    let name = format!("napi/{end}-");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_one = |number: &u32| {
        let comm = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        comm.starts_with(&name)
    };
    numbers.filter(is_one).collect()
}

/// What the kernel has counted of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes in, without FCS.
    pub rx_bytes: u64,
    /// Frames in.
    pub rx: u64,
    /// Of these, those there was no room for.
    pub rx_dropped: u64,
    /// Frames out.
    pub tx: u64,
    /// Frames that did not go out.
    pub tx_dropped: u64,
}

impl Counters {
    /// Of the text of `/proc/net/dev`.
    pub(crate) fn of(text: &str, interface: &str) -> Counters {
        let line = text.lines().find_map(|line| {
            let (name, numbers) = line.split_once(':')?;
            (name.trim() == interface).then_some(numbers)
        });
        let numbers: Vec<u64> =
            line.unwrap_or("").split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
        Counters { rx_bytes: at(0), rx: at(1), rx_dropped: at(3), tx: at(9), tx_dropped: at(11) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_their_place() {
        let text = "Inter-|   Receive                |  Transmit\n \
                    face |bytes packets errs drop …\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n  \
                    d0: 6000 100 0 3 0 0 0 0 1200 20 0 7 0 0 0 0\n";
        let expected = Counters { rx_bytes: 6000, rx: 100, rx_dropped: 3, tx: 20, tx_dropped: 7 };
        assert_eq!(Counters::of(text, "d0"), expected);
        assert_eq!(Counters::of(text, "d1"), Counters::default());
    }
}
