//! Cost of a crowd of API clients for forwarding: `cargo bench -p cli --bench clients`.
//!
//! ```text
//! tester ══ ether1 ─ a bridge, live ─ ether2 ══ tester        frames go round and round
//!                         │
//!                       serve ── 1000 idle clients, 1 that asks for much and reads nothing
//! ```
//!
//! A fixed number of frames circulates through a live node, so the rate is what it can do and a lost
//! frame is missed. Seconds without clients and seconds with them take turns, so that whatever else
//! the machine does meets both alike; the medians are compared.

use config::{Host, How, Language, Session};
use lab::clock::{self, Clock};
use lab::live::{Interrupt, Live};
use lab::machine;
use lab::node::{self, Node, Socket};
use lab::underway::Files;
use port::{Batch, MemoryPort, Pool, Port, Slab, memory};
use serve::{Client, Device, Sentence, Server};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::craft;

/// Frames that circulate: less than a ring holds, so none is lost by crowding.
const CIRCULATING: usize = 2048;
const RING: usize = 4096;
const IDLE: usize = 1000;
const ROUNDS: usize = 8;
const WINDOWS: usize = 10;
const WINDOW: Duration = Duration::from_millis(100);

/// A bridge of two ports, and enough queues that printing them is much.
const CONFIGURATION: &str = "
/interface bridge add name=bridge1 protocol-mode=none
/interface bridge port add bridge=bridge1 interface=ether1
/interface bridge port add bridge=bridge1 interface=ether2
";
const QUEUES: usize = 2000;

struct Dut {
    live: Live,
    language: Arc<Language>,
}

impl Device for Dut {
    fn language(&self) -> Arc<Language> {
        Arc::clone(&self.language)
    }

    fn host(&self) -> Box<dyn Host + '_> {
        Box::new(self.live.host(Files::none(), Interrupt::default()))
    }
}

/// The two ends of the cables, and what goes round between them.
struct Tester {
    ends: [MemoryPort; 2],
    pool: Pool,
    batch: Batch,
}

impl Tester {
    /// Sends what has arrived at the second end into the first, for a while; frames a second.
    fn circulate(&mut self, time: Duration) -> f64 {
        let (began, mut frames) = (now(), 0);
        let [into, out_of] = &mut self.ends;
        while began.elapsed() < time {
            // Looking at the clock is dear beside a batch.
            for _ in 0..64 {
                frames += out_of.receive(wire::Moment::ZERO, &mut self.pool, &mut self.batch);
                into.send(wire::Moment::ZERO, &mut self.pool, &mut self.batch);
            }
        }
        frames as f64 / began.elapsed().as_secs_f64()
    }

    /// How many frames are on their way, once nothing is sent.
    fn gather(&mut self) -> usize {
        std::thread::sleep(Duration::from_millis(200));
        self.ends[1].waiting()
    }
}

fn main() {
    let slab = Slab::new(1 << 14).expect("memory for frames");
    let clock = Clock::start();
    let environment = machine::environment(clock::unix());
    let node = Node::new("dut", 1, 2, &slab, environment, clock.now());
    let (near, sockets) = [memory::wire(RING), memory::wire(RING)]
        .map(|(near, far)| (near, Socket::Cable(far)))
        .into_iter()
        .unzip::<_, _, Vec<_>, Vec<_>>();
    let live = Live::start(node, sockets, clock, None).expect("a thread");
    let dut = Arc::new(Dut { live, language: Arc::new(node::language(serve::MENUS)) });
    let queues = (0..QUEUES)
        .map(|n| format!("/queue simple add name=q{n} target=10.9.{}.{}/32\n", n / 250, n % 250));
    let script = CONFIGURATION.to_string() + &queues.collect::<String>();
    let mut session = Session::new(dut.language());
    session.run(&script, How::Import, &mut *dut.host(), &mut |_| {}).expect("a configuration");
    let mut server = Server::new(Arc::clone(&dut) as Arc<dyn Device>).expect("a device to serve");
    let address = server.tcp("127.0.0.1:0".parse().expect("an address")).expect("a port");

    let mut tester = Tester {
        ends: near.try_into().unwrap_or_else(|_| panic!("two cables")),
        pool: slab.pool(),
        batch: Batch::new(),
    };
    let frame = craft::udp(0x0a00_0001, 1, 0x0a00_0002, 2).build();
    for _ in 0..CIRCULATING / 64 {
        while tester.batch.room() > 0 && tester.batch.len() < 64 {
            let mut new = tester.pool.alloc(frame.len()).expect("a frame");
            slab.bytes_mut(&mut new).copy_from_slice(&frame);
            tester.batch.push(new);
        }
        let Tester { ends, pool, batch } = &mut tester;
        ends[0].send(wire::Moment::ZERO, pool, batch);
    }
    let there = tester.gather();
    assert_eq!(there, CIRCULATING, "the bridge forwards");
    tester.circulate(Duration::from_secs(1));

    raise_limit();
    let [mut quiet, mut crowded] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        quiet.extend((0..WINDOWS).map(|_| tester.circulate(WINDOW)));
        let crowd = Crowd::gather(address);
        crowded.extend((0..WINDOWS).map(|_| tester.circulate(WINDOW)));
        drop(crowd);
        // Their threads end.
        std::thread::sleep(Duration::from_millis(500));
    }
    let left = tester.gather();
    let [quiet, crowded] = [quiet, crowded].map(median);
    println!("alone          {:6.2} Mpps", quiet / 1e6);
    println!(
        "with clients   {:6.2} Mpps  ({:+.1} %)",
        crowded / 1e6,
        (crowded / quiet - 1.0) * 100.0
    );
    println!("frames lost    {}", there - left);
    assert_eq!(there, left, "no frame is lost");
}

/// The clients.
struct Crowd {
    _idle: Vec<Client>,
    _stuck: Client,
}

impl Crowd {
    fn gather(address: SocketAddr) -> Crowd {
        let client = || {
            let mut client = Client::tcp(address, Duration::from_secs(10)).expect("a connection");
            client.login("admin", Some("")).expect("a login");
            client
        };
        let stuck = client();
        for _ in 0..200 {
            stuck.send(&Sentence::new("/queue/simple/print")).expect("a command");
        }
        let idle = (0..IDLE).map(|_| client()).collect();
        Crowd { _idle: idle, _stuck: stuck }
    }
}

/// Each client takes a file descriptor at both ends.
fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    setrlimit(Resource::Nofile, raised).expect("more file descriptors");
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "how long a window took")]
fn now() -> Instant {
    Instant::now()
}
