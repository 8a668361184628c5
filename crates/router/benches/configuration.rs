//! A configuration of 10,000 filter rules and 25,000 simple queues: how long it takes to import, to
//! export, to change; what a change costs packets under way; how 100,000 connections are printed.
//!
//! ```text
//!  import ─► export                                    the whole
//!  edit ─► compile ─► [ apply ]                        one item: only apply holds packets up
//!  1 Mpps ─► ring of 1024 ─► [ breathe | apply ] ─►    100 changes: what overflowed the ring
//!  print: look, look, look … ─► rows                   first row, all, memory
//! ```
//!
//! The wires are fed by the device's own time: what it did not work on stands still, so a busy
//! machine loses no packets that the router would not lose; nor counts what was interrupted. Prints
//! medians beside the bounds they are to meet, and fails where one is missed.

use config::{
    Call, Host, How, Interpreter, Language, Piece, Progress, Record, Session, Status, Tree,
};
use port::memory::{self, MemoryPort};
use port::{Batch, Pool, Port, Slab, affinity};
use router::{COMMANDS, Compiler, MENUS, PortInfo, Router};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::{MacAddr, Moment};

const RULES: u32 = 10_000;
const QUEUES: u32 = 25_000;
const FLOWS: u32 = 10_000;
const CONNECTIONS: u32 = 100_000;
/// Packets per second, both ways together.
const RATE: u64 = 1_000_000;
const RING: usize = 1024;
const CHANGES: usize = 100;
/// Kinds of changes, in turn, and how many milliseconds each may take.
const KINDS: [(&str, u64); 6] = [
    ("  a rule changed", 20),
    ("  a queue changed", 2),
    ("  a rule added", 20),
    ("  a queue added", 50),
    ("  a rule removed", 20),
    ("  a queue removed", 50),
];

fn main() {
    // Asked for a list of tests, or to run some: there are none.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return;
    }
    let mut bounds = Bounds::default();
    let mut bench = Bench::new();
    bench.import_and_export(&mut bounds);
    bench.changes(&mut bounds);
    print(&mut bounds);
    assert!(bounds.0.is_empty(), "missed: {}", bounds.0.join(", "));
}

/// What was missed.
#[derive(Default)]
struct Bounds(Vec<String>);

impl Bounds {
    fn time(&mut self, what: &str, took: Duration, bound: Duration) {
        println!("{what:44} {took:>10.1?}   (at most {bound:?})");
        if took > bound {
            self.0.push(what.to_string());
        }
    }
}

#[allow(clippy::disallowed_methods)] // this is the edge
fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed(), result)
}

fn script() -> String {
    let mut script = String::from(
        "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
         add address=10.0.2.254/24 interface=ether2\n\
         /ip route add dst-address=10.1.0.0/16 gateway=10.0.1.1\n\
         /ip firewall filter\n",
    );
    for n in 0..RULES {
        let _ = writeln!(
            script,
            "add chain=forward protocol=udp dst-address=10.{}.{}.0/24 dst-port={} action=drop",
            100 + n / 250,
            n % 250,
            1000 + n
        );
    }
    script += "/queue simple\n";
    for n in 0..QUEUES {
        let _ = writeln!(
            script,
            "add name=client{n} target=10.1.{}.{}/32 max-limit=10M/20M",
            n / 250,
            n % 250
        );
    }
    script
}

struct Bench {
    router: Router,
    console: Interpreter,
    ports: Vec<MemoryPort>,
    wires: Vec<MemoryPort>,
    slab: Slab,
    pool: Pool,
    now: Moment,
    /// Frames that came out.
    out: u64,
    worked: Duration,
    breaths: u32,
}

impl Bench {
    fn new() -> Bench {
        let slab = Slab::new(1 << 14).expect("memory");
        let infos = (1..=2).map(|n| PortInfo {
            name: format!("ether{n}"),
            mac: MacAddr([2, 0, 0, 0, 0, n]),
            capabilities: Default::default(),
        });
        let router = Router::new(infos.collect(), &slab);
        let mut console = Interpreter::new(MENUS.to_vec()).with_commands(COMMANDS);
        *console.tree_mut() = router.factory_tree();
        let (ports, wires) = (0..2).map(|_| memory::wire(RING)).unzip();
        let pool = slab.pool();
        let (now, worked) = (Moment::ZERO, Duration::ZERO);
        Bench { router, console, ports, wires, slab, pool, now, out: 0, worked, breaths: 0 }
    }

    fn run(&mut self, script: &str) -> String {
        match self.console.run(script, &self.router.status(self.now)) {
            Ok(output) => output.text,
            Err(error) => panic!("{error}"),
        }
    }

    fn import_and_export(&mut self, bounds: &mut Bounds) {
        let script = script();
        let (read, _) = timed(|| self.run(&script));
        let (taken, done) = timed(|| self.router.configure(self.console.tree(), self.now));
        done.expect("few gateways");
        println!("  of which reading {read:.1?}, compiling and applying {taken:.1?}");
        bounds.time("import", read + taken, Duration::from_secs(2));
        let (time, text) = timed(|| self.run("/export"));
        assert!(text.lines().count() > (RULES + QUEUES) as usize, "{}", text.lines().count());
        bounds.time("export", time, Duration::from_secs(1));
    }

    fn send(&mut self, port: usize, bytes: &[u8], batch: &mut Batch) {
        let mut frame = self.pool.alloc(bytes.len()).expect("a frame");
        self.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
        batch.push(frame);
        if batch.room() == 0 {
            self.wires[port].send(self.now, &mut self.pool, batch);
        }
    }

    /// One breath; the time it took, unless the system took the processor away: then as much as the
    /// others.
    fn breathe(&mut self) -> Duration {
        let before = affinity::interruptions();
        let (time, _) = timed(|| self.router.breathe(self.now, &mut self.ports));
        let time = if affinity::interruptions() == before {
            self.worked += time;
            self.breaths += 1;
            time
        } else {
            self.worked / self.breaths.max(1)
        };
        self.now = self.now + time;
        let mut batch = Batch::new();
        for wire in &mut self.wires {
            while wire.receive(self.now, &mut self.pool, &mut batch) > 0 {
                self.out += batch.len() as u64;
                batch.free_all(&mut self.pool);
            }
        }
        time
    }

    fn waiting(&self) -> usize {
        self.ports.iter().map(MemoryPort::waiting).sum()
    }

    /// Sends each of these frames, and lets the router work until it has them all.
    fn settle(&mut self, port: usize, frames: &[Vec<u8>]) {
        let mut batch = Batch::new();
        for chunk in frames.chunks(256) {
            for frame in chunk {
                self.send(port, frame, &mut batch);
            }
            self.wires[port].send(self.now, &mut self.pool, &mut batch);
            while self.waiting() > 0 {
                self.breathe();
            }
        }
    }

    /// 100 changes, one after the other, while packets of 10,000 connections come.
    fn changes(&mut self, bounds: &mut Bounds) {
        let hosts = [(0, 1, ip(10, 0, 1, 1)), (1, 2, ip(10, 0, 2, 1))];
        for (port, n, address) in hosts {
            let request = ArpMessage::request(MacAddr([6, 0, 0, 0, 0, n]), address, address + 253);
            self.settle(port, &[craft::arp(request).build()]);
        }
        let traffic: [Vec<Vec<u8>>; 2] = [true, false].map(|there| {
            let flows = (0..FLOWS).map(|n| (ip(10, 1, (n / 250) as u8, (n % 250) as u8), 5000));
            let server = (ip(10, 0, 2, 1), 80);
            let frames = flows.map(|client| {
                let (from, to) = if there { (client, server) } else { (server, client) };
                let own = MacAddr([2, 0, 0, 0, 0, if there { 1 } else { 2 }]);
                let frame = craft::udp(from.0, from.1, to.0, to.1);
                craft::Frame { dst_mac: own, ..frame }.build()
            });
            frames.collect()
        });
        for _ in 0..3 {
            for (port, frames) in traffic.iter().enumerate() {
                self.settle(port, frames);
            }
        }
        let replayed = self.router.path_counts().replayed;
        let mut compiler = self.router.take_compiler();
        let (mut edits, mut compiles, mut applies) = (Vec::new(), Vec::new(), Vec::new());
        let (mut n_sent, mut most_waiting, mut slowest) = (0u64, 0, Duration::ZERO);
        self.out = 0;
        let start = self.now;
        for n in 0..CHANGES {
            // 5 ms of traffic, then a change.
            let until = start + Duration::from_millis(5 * (n as u64 + 1));
            while self.now < until {
                let due = self.now.since(start).as_nanos() as u64 * RATE / 1_000_000_000;
                let mut batches = [Batch::new(), Batch::new()];
                while n_sent < due {
                    let port = (n_sent % 2) as usize;
                    let frame = &traffic[port][(n_sent / 2) as usize % traffic[port].len()];
                    let frame: &[u8] = frame;
                    self.send(port, frame, &mut batches[port]);
                    n_sent += 1;
                }
                for (port, batch) in batches.iter_mut().enumerate() {
                    self.wires[port].send(self.now, &mut self.pool, batch);
                }
                if self.waiting() == 0 {
                    self.now = self.now + Duration::from_micros(10);
                }
                most_waiting = most_waiting.max(self.waiting());
                slowest = slowest.max(self.breathe());
            }
            let (edit, compile, apply) = self.change(&mut compiler, n);
            edits.push(edit);
            compiles.push(compile);
            applies.push(apply);
        }
        while self.waiting() > 0 {
            self.breathe();
        }
        let replayed = self.router.path_counts().replayed - replayed;
        let lost = n_sent - self.out;
        println!("one change, from the line to the data plane:");
        for (kind, (what, bound)) in KINDS.iter().enumerate() {
            let of = |times: &[Duration]| {
                let times = times.iter().skip(kind).step_by(KINDS.len());
                median(&times.copied().collect::<Vec<_>>())
            };
            let (edit, compile) = (of(&edits), of(&compiles));
            let total = edit + compile + of(&applies);
            bounds.time(what, total, Duration::from_millis(*bound));
            println!("    {edit:.1?} to edit, {compile:.1?} to compile");
        }
        println!("  apply at most {:.1?}", applies.iter().max().expect("changes"));
        bounds.time("  of which packets wait", median(&applies), Duration::from_micros(100));
        println!(
            "  {n_sent} packets, {replayed} replayed, at most {most_waiting} waiting, \
             longest breath {slowest:.1?}"
        );
        println!("{:44} {lost:>10}   (none)", "packets lost");
        if lost > 0 {
            println!("  {:?}", self.router.discards());
            bounds.0.push("packets lost".to_string());
        }
    }

    /// Changes one rule or queue; how long it took to read the line, to compile, to apply.
    fn change(&mut self, compiler: &mut Compiler, n: usize) -> (Duration, Duration, Duration) {
        let line = match n % KINDS.len() {
            0 => format!("/ip firewall filter set {} dst-port={}", n * 97, n + 100),
            1 => format!("/queue simple set client{} max-limit={n}M/{n}M", n * 13 + 7),
            2 => "/ip firewall filter add chain=forward protocol=tcp dst-port=7 action=drop".into(),
            3 => format!("/queue simple add name=new{n} target=10.2.0.{n}/32 max-limit=1M/1M"),
            4 => format!("/ip firewall filter remove {}", n * 31),
            _ => format!("/queue simple remove client{}", 10_000 + n),
        };
        let (edit, _) = timed(|| self.run(&line));
        let (compile, mut change) = timed(|| compiler.compile(self.console.tree()));
        let now = self.now;
        let (apply, done) = timed(|| self.router.apply(&mut change, now));
        done.expect("few gateways");
        self.now = now + apply;
        let (taken, ()) = timed(|| compiler.taken_over(change));
        (edit, compile + taken, apply)
    }
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Prints 100,000 connections.
fn print(bounds: &mut Bounds) {
    let mut bench = Bench::new();
    bench.run(
        "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
         add address=10.0.2.254/24 interface=ether2\n\
         /ip firewall connection tracking set enabled=yes",
    );
    bench.router.configure(bench.console.tree(), bench.now).expect("few gateways");
    for n in 0..2 {
        let address = ip(10, 0, n + 1, 1);
        let request = ArpMessage::request(MacAddr([6, 0, 0, 0, 0, n + 1]), address, address + 253);
        bench.settle(n.into(), &[craft::arp(request).build()]);
    }
    for from in (0..CONNECTIONS).step_by(1000) {
        let frames = (from..from + 1000).map(|n| {
            let client = ip(10, 3, (n / 250 / 250) as u8, (n / 250 % 250) as u8);
            let port = 1000 + (n % 250) as u16;
            let frame = craft::udp(client, port, ip(10, 0, 2, 1), 80);
            craft::Frame { dst_mac: MacAddr([2, 0, 0, 0, 0, 1]), ..frame }.build()
        });
        bench.settle(0, &frames.collect::<Vec<_>>());
    }
    assert_eq!(bench.router.connections().len(), CONNECTIONS as usize);
    let language = Arc::new(Language::new(MENUS.to_vec(), COMMANDS));
    let mut session = Session::new(language);
    let mut desk = Desk { bench: &mut bench, longest: Duration::ZERO };
    let (mut first, mut rows, mut bytes) = (None, 0, 0);
    #[allow(clippy::disallowed_methods)] // this is the edge
    let start = Instant::now();
    let memory = allocation_counter::measure(|| {
        let mut out = |piece| {
            let (Piece::Text(text) | Piece::Frame(text)) = piece;
            first.get_or_insert_with(|| start.elapsed());
            rows += text.lines().count();
            bytes += text.len();
        };
        let printed = session.run("/ip firewall connection print", How::Typed, &mut desk, &mut out);
        printed.unwrap_or_else(|error| panic!("{error}"));
    });
    let total = start.elapsed();
    assert!(rows > CONNECTIONS as usize, "{rows} lines");
    let first = first.expect("a line");
    bounds.time("first line of 100,000 connections", first, Duration::from_millis(50));
    println!("  all {rows} lines, {bytes} bytes, in {total:.1?}");
    bounds.time("  of which packets wait at a time", desk.longest, Duration::from_millis(1));
    println!("{:44} {:>8} KiB   (at most 4 MiB)", "  memory", memory.bytes_max / 1024);
    if memory.bytes_max > 4 << 20 {
        bounds.0.push("memory of print".to_string());
    }
}

/// The device as a session sees it: one look between two breaths after the other.
struct Desk<'a> {
    bench: &'a mut Bench,
    longest: Duration,
}

impl Host for Desk<'_> {
    fn now(&self) -> Moment {
        self.bench.now
    }

    fn look(&mut self, look: &mut dyn FnMut(&dyn Status)) {
        let now = self.bench.now;
        let before = affinity::interruptions();
        let (time, ()) = timed(|| look(&self.bench.router.status(now)));
        if affinity::interruptions() == before {
            self.longest = self.longest.max(time);
        }
    }

    fn tree(&mut self) -> Tree {
        self.bench.console.tree().clone()
    }

    fn edit(&mut self) -> Result<Tree, String> {
        Err("nothing is edited here".to_string())
    }

    fn commit(&mut self, _: &Tree) -> Result<(), String> {
        Err("nothing is edited here".to_string())
    }

    fn release(&mut self) {}

    fn start(&mut self, call: &Call) -> Result<Progress, String> {
        Err(format!("bad command name {}", call.command.name))
    }

    fn poll(&mut self, _: &mut Vec<Record>) -> Result<Progress, String> {
        Err("nothing runs".to_string())
    }

    fn stop(&mut self) {}

    fn wait(&mut self, _: Moment) -> bool {
        false
    }
}
