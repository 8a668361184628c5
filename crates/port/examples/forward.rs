//! Speed of frames between two AF_XDP ports, beside DPDK's testpmd on the same interfaces.
//!
//! ```text
//!  namespace a          namespace b                    namespace c
//!  generator in the ─ va ══ b1 ─ port ─ forward ─ port ─ b2 ══ vc ─ counter in the
//!  kernel (core 0)               (core 1)                           kernel (core 1)
//! ```
//!
//! `cargo run --release -p port --example forward -- [SECONDS] [ROUNDS] [WORD…]`, as root, runs the
//! ways whose names hold one of the words, all of them one after the other in each round, and prints
//! medians. Generator: a BPF program over live frames; counter: an XDP program that drops.
//!
//! Never touches the machine's own interfaces. Missing: **one core alone**, **several queues**.

#![allow(clippy::disallowed_methods)] // it measures by the clock

use port::linux::bpf::assembler::{Assembler, Register::*};
use port::linux::bpf::{self, Map, Mode, Program, SharedArray, action, helper, map};
use port::linux::interface::{Interface, Offloads, set_offloads};
use port::linux::xdp::{Options, XdpPort};
use port::linux::{Namespace, Unavailable};
use port::{Batch, Port, Slab, Slots, affinity};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::Moment;

/// What forwards, and how.
#[derive(Clone)]
enum Way {
    Ours { slots: Slots, options: Options, batch: usize },
    Testpmd { busy_budget: u32, burst: u32 },
}

struct Rig {
    a: Namespace,
    b: Namespace,
    _c: Namespace,
    counted: SharedArray,
    _counter: bpf::Link,
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut number = |or: u64| match arguments.peek().and_then(|word| word.parse().ok()) {
        Some(number) => arguments.next().map_or(or, |_| number),
        None => or,
    };
    let (seconds, rounds) = (number(2), number(3));
    let words: Vec<String> = arguments.collect();
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let ways: Vec<_> = ways().into_iter().filter(|(name, _)| is_chosen(name)).collect();
    let rig = Rig::new().unwrap_or_else(|unavailable| panic!("{unavailable}"));
    let mut rates = vec![vec![]; ways.len()];
    for round in 0..rounds {
        // Each round begins with another way, so that none is always first.
        for at in 0..ways.len() {
            let at = (at + round as usize) % ways.len();
            let (name, way) = &ways[at];
            let mpps = rig.measure(way, Duration::from_secs(seconds));
            println!("round {round}: {name:32} {mpps:.3} Mpps");
            rates[at].push(mpps);
        }
    }
    let testpmd = |(name, _): &&(&str, Way)| name.contains("testpmd");
    let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
    let best = ways.iter().zip(&medians).filter(|(way, _)| testpmd(way));
    let best = best.map(|(_, &mpps)| mpps).fold(f64::NAN, f64::max);
    println!("\n{:32} {:>8}  of the best testpmd", "", "Mpps");
    for ((name, _), mpps) in ways.iter().zip(&medians) {
        println!("{name:32} {mpps:8.3}  {:.2}", mpps / best);
    }
}

fn ways() -> Vec<(&'static str, Way)> {
    let ours = |slots, batch, options| Way::Ours { slots, options, batch };
    let standard = |options| ours(Slots::STANDARD, Batch::CAPACITY, options);
    let default = Options::default;
    vec![
        ("ours", standard(default())),
        ("ours, 32 at a time", ours(Slots::STANDARD, 32, default())),
        ("ours, aligned 2048", ours(Slots::ALIGNED, Batch::CAPACITY, default())),
        ("ours, slots for jumbo frames", ours(Slots::JUMBO, Batch::CAPACITY, default())),
        ("ours, 32 a system call", standard(Options { budget: 32, ..default() })),
        ("ours, rings of 512", standard(Options { ring: 512, ..default() })),
        ("ours, generic", standard(Options { mode: Some(Mode::Generic), ..default() })),
        ("testpmd", Way::Testpmd { busy_budget: 0, burst: 32 }),
        ("testpmd, burst 64", Way::Testpmd { busy_budget: 0, burst: 64 }),
        ("testpmd, busy polling", Way::Testpmd { busy_budget: 64, burst: 32 }),
    ]
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Rig {
    fn new() -> Result<Rig, Unavailable> {
        let [a, b, c] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        let one = "numrxqueues 1 numtxqueues 1";
        for (here, name, there) in [(&a, "va", "b1"), (&c, "vc", "b2")] {
            let path = b.path();
            let path = path.display();
            sh(
                here,
                &format!("ip link add {name} {one} type veth peer {there} {one} netns {path}"),
            );
        }
        for (namespace, name) in [(&a, "va"), (&b, "b1"), (&b, "b2"), (&c, "vc")] {
            sh(namespace, &format!("sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1"));
            // Without an XDP program of its driver's, a veth takes the generator's frames with GRO.
            let gro = || {
                let offloads = Interface::of(name)?.offloads;
                set_offloads(name, Offloads { gro: true, ..offloads })
            };
            namespace.run(gro).expect("a thread")?;
            sh(namespace, &format!("ip link set {name} up"));
        }
        let counted = SharedArray::new("counted", 1)?;
        let mut count = Assembler::new();
        count.address(R1, counted.map(), 0);
        count.set(R2, 1);
        count.atomic_add(R1, 0, R2);
        count.set(R0, action::DROP);
        count.exit();
        let counter = Program::xdp("count", &count.finish(), false)?;
        let attach = || counter.attach(bpf::interface_index("vc")?, Mode::Native);
        let link = c.run(attach).expect("a thread")?;
        Ok(Rig { a, b, _c: c, counted, _counter: link })
    }

    /// Frames that arrive in a second, in millions.
    fn measure(&self, way: &Way, time: Duration) -> f64 {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Whatever happens, the others end.
            let _end = Finally(|| stop.store(true, Ordering::Relaxed));
            let mut child = None;
            match way {
                Way::Ours { slots, options, batch } => {
                    let slab = Slab::with(1 << 14, *slots).expect("memory");
                    let open = |name| {
                        let port = self.b.run(|| XdpPort::open(name, &slab, options));
                        port.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
                    };
                    let (mut one, mut two) = (open("b1"), open("b2"));
                    let stop = &stop;
                    scope.spawn(move || {
                        let _ = affinity::pin(1);
                        forward(&mut one, &mut two, &slab, *batch, stop);
                        if std::env::var_os("VERBOSE").is_some() {
                            println!("{}\n{:?}\n{:?}", one.facts(), one.drops(), two.drops());
                        }
                    });
                }
                Way::Testpmd { busy_budget, burst } => {
                    let command = testpmd(*busy_budget, *burst);
                    child = Some(self.b.spawn(command).expect("testpmd starts"));
                    std::thread::sleep(Duration::from_secs(3));
                }
            }
            let flood = scope.spawn(|| {
                let _ = affinity::pin(0);
                self.a.run(|| flood(&stop)).expect("a thread").expect("live frames");
            });
            std::thread::sleep(Duration::from_millis(300));
            let (before, began) = (self.counted.get(0), Instant::now());
            std::thread::sleep(time);
            let frames = self.counted.get(0) - before;
            let mpps = frames as f64 / began.elapsed().as_secs_f64() / 1e6;
            stop.store(true, Ordering::Relaxed);
            flood.join().expect("the generator");
            if let Some(mut child) = child {
                // It ends when it reads a line, and then takes its program off.
                let _ = child.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
                let _ = child.wait();
            }
            mpps
        })
    }
}

/// Both ways, `most` frames at a time.
fn forward(one: &mut XdpPort, two: &mut XdpPort, slab: &Slab, most: usize, stop: &AtomicBool) {
    let (mut pool, mut received, mut part) = (slab.pool(), Batch::new(), Batch::new());
    let mut pass = |from: &mut XdpPort, to: &mut XdpPort| {
        from.receive(Moment::ZERO, &mut pool, &mut received);
        if received.len() <= most {
            return to.send(Moment::ZERO, &mut pool, &mut received);
        }
        for frame in received.drain() {
            part.push(frame);
            if part.len() == most {
                to.send(Moment::ZERO, &mut pool, &mut part);
            }
        }
        to.send(Moment::ZERO, &mut pool, &mut part);
    };
    while !stop.load(Ordering::Relaxed) {
        pass(one, two);
        pass(two, one);
    }
}

/// Sends the same frame over and over out of `va`, as fast as the kernel can.
fn flood(stop: &AtomicBool) -> Result<(), Unavailable> {
    let devices = Map::new(map::Kind::Devices, "devices", 4, 4, 1)?;
    devices.set(0, bpf::interface_index("va")?)?;
    let mut redirect = Assembler::new();
    redirect.map(R1, &devices);
    redirect.set(R2, 0);
    redirect.set(R3, 0);
    redirect.call(helper::REDIRECT_MAP);
    redirect.exit();
    let program = Program::xdp("flood", &redirect.finish(), false)?;
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    while !stop.load(Ordering::Relaxed) {
        program.run_live(&frame, 1 << 20, 64)?;
    }
    Ok(())
}

fn testpmd(busy_budget: u32, burst: u32) -> Command {
    let mut command = Command::new("dpdk-testpmd");
    command.args(
        "--no-huge -m 512 --no-pci --no-shconf --no-telemetry -l 0,1 --main-lcore 0".split(' '),
    );
    for (at, name) in ["b1", "b2"].into_iter().enumerate() {
        command.arg(format!("--vdev=net_af_xdp{at},iface={name},busy_budget={busy_budget}"));
    }
    command
        .args(["--", "--forward-mode=io", "--auto-start", "--total-num-mbufs=16384"])
        .arg(format!("--burst={burst}"));
    command.stdin(Stdio::piped());
    if std::env::var_os("VERBOSE").is_none() {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    command
}

fn sh(namespace: &Namespace, words: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", words]);
    let output = namespace.output(command).unwrap_or_else(|error| panic!("{words}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {said}");
}

struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
