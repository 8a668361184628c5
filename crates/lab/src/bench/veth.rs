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
//! is part of the latency seen there.
//!
//! Offloads that fake checksums or make super-frames are off. The namespaces have no names: nothing
//! is left when the process is gone. Never touches an interface it did not make.

use super::BenchError;
use super::commands::ask;
use crate::jumbo;
use crate::machine;
use crate::placement::Pair;
use crate::traffic::tester_mac;
use crate::two_cores::NICE;
use port::linux::Namespace;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use wire::{FrameLen, MacAddr};

/// The device's first two ends, in its namespace.
pub const DEVICE_ENDS: [&str; 2] = ["d0", "d1"];
/// The tester's first two ends, each in a namespace of its own.
pub const TESTER_ENDS: [&str; 2] = ["t0", "t1"];

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
        let mut rig = Rig { testers, device, threads: [vec![], vec![]], pair, longest };
        for namespace in rig.testers.iter().chain([&rig.device]) {
            // Nobody is to announce himself on the wires. Without IPv6 nobody can.
            let quiet = || fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            let _ = namespace.run(quiet);
            ask(namespace, "ip link set lo up")?;
        }
        let mut queues = "numrxqueues 1 numtxqueues 1".to_string();
        if let Some(mtu) = jumbo::mtu(longest) {
            queues += &format!(" mtu {mtu}");
        }
        for (i, (here, (namespace, there))) in rig.inner().iter().zip(rig.outer()).enumerate() {
            let (mac, peer, path) = (device_mac(i), tester_mac(i), namespace.path());
            let pair = format!(
                "ip link add name {here} address {mac} {queues} type veth \
                 peer name {there} address {peer} {queues} netns {}",
                path.display()
            );
            ask(&rig.device, &pair)?;
        }
        // Before any is up: what may be redirected to an end is settled when it goes up, and it is
        // nothing while the other end has no GRO and no program.
        for (namespace, end) in rig.ends() {
            ask(namespace, &format!("ethtool -K {end} gro on tx off tso off gso off"))?;
        }
        for (namespace, end) in rig.ends() {
            ask(namespace, &format!("ip link set {end} up"))?;
        }
        let _making = MAKING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut threads = Vec::new();
        for (namespace, end) in rig.ends() {
            threads.push(threaded(namespace, end)?);
        }
        // The device's come first.
        let of_tester = threads.split_off(ports);
        if let Some(Pair { tester, device }) = pair {
            let all = [(&threads, device), (&of_tester, tester)];
            for (thread, processor) in
                all.iter().flat_map(|(of, at)| of.iter().map(move |t| (t, at)))
            {
                ask(&rig.device, &format!("taskset -p -c {processor} {thread}"))?;
            }
        }
        // The device's threads are alike, the kernel's and ours, on a machine that does other
        // things as well. At the tester's ends, whatever comes is taken before more is sent.
        for thread in &threads {
            machine::prefer(Some(*thread), NICE);
        }
        for thread in &of_tester {
            ask(&rig.device, &format!("chrt --fifo --pid 1 {thread}"))?;
        }
        for (namespace, end) in rig.outer() {
            set(namespace, end, &COALESCED)?;
        }
        rig.threads = [threads, of_tester];
        Ok(rig)
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

    /// The device's, then the tester's.
    fn ends(&self) -> impl Iterator<Item = (&Namespace, &'static str)> {
        self.inner().iter().map(|end| (&self.device, *end)).chain(self.outer())
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
            Some(Pair { tester, device }) => format!(
                "tester and the NAPI threads of its veths on processor {tester}, device and those \
                 of its veths on processor {device}"
            ),
            None => "tester, device and the veths' NAPI threads on whichever processor".to_string(),
        }
    }
}

/// The address of a device's end, as `ether1` and `ether2` have in memory.
pub fn device_mac(port: usize) -> MacAddr {
    MacAddr([0x02, 0, 0, 0, 0, port as u8 + 1])
}

/// Gives an interface a thread of its own in the kernel, and returns its number.
fn threaded(namespace: &Namespace, end: &str) -> Result<u32, BenchError> {
    let before = threads_of(end);
    let script = set(namespace, end, &[("threaded", 1)])?;
    let new = threads_of(end).into_iter().find(|thread| !before.contains(thread));
    let none = || BenchError::Command(script, "no NAPI thread came of it".to_string());
    new.ok_or_else(none)
}

/// Sets what sysfs alone has of an interface; returns what would be typed.
///
/// # Errors
/// [`BenchError::Command`].
pub fn set(namespace: &Namespace, end: &str, values: &[(&str, u64)]) -> Result<String, BenchError> {
    let echo = |(name, value): &(&str, u64)| format!("echo {value} > /sys/class/net/{end}/{name}");
    let words = values.iter().map(echo).collect::<Vec<_>>().join(" && ");
    // The files of a namespace's interfaces show where sysfs was mounted in it.
    let script = format!("mount -t sysfs none /sys && {words}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    let failed = |said: String| BenchError::Command(script.clone(), said);
    let output = namespace.output(command).map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_string()));
    }
    Ok(words)
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
    fn of(text: &str, interface: &str) -> Counters {
        let line = text.lines().find_map(|line| {
            let (name, numbers) = line.split_once(':')?;
            (name.trim() == interface).then_some(numbers)
        });
        let numbers: Vec<u64> =
            line.unwrap_or("").split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
        Counters { rx: at(1), rx_dropped: at(3), tx: at(9), tx_dropped: at(11) }
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
        let expected = Counters { rx: 100, rx_dropped: 3, tx: 20, tx_dropped: 7 };
        assert_eq!(Counters::of(text, "d0"), expected);
        assert_eq!(Counters::of(text, "d1"), Counters::default());
    }
}
