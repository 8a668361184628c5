//! Nodes and cables in virtual time: exact, and the same every time.

use config::{How, Interpreter, Session};
use daemon::live::Interrupt;
use daemon::underway::Files;
use lab::node::{self, Environment, Node, Socket};
use lab::world::World;
use port::simulated::{self, Link};
use port::{Batch, Pool, Port, SimulatedPort, Slab};
use std::sync::Arc;
use std::time::Duration;
use wire::craft::{self, Frame, ip};
use wire::{BitRate, MacAddr, Moment};

const DELAY: Duration = Duration::from_micros(10);

fn cable() -> (SimulatedPort, SimulatedPort) {
    simulated::wire(Link { delay: DELAY, ..Link::new(BitRate::gbps(1.0)) }).unwrap()
}

/// An import that nobody confirms goes back; one that somebody does stays.
#[test]
fn an_import_goes_back_unless_it_is_confirmed() {
    let home = std::env::temp_dir().join(format!("wirespeed-confirm-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("new.rsc"), "/system identity set name=new\n").unwrap();
    let mut world = Chain::new().world;
    let language = Arc::new(node::language(&[]));
    for (then, after, expected) in [
        ("", 4, "new"),
        ("", 6, "r1"),
        ("/system identity set name=later", 6, "r1"),
        ("/confirm", 6, "new"),
        ("/system identity set name=r1", 6, "r1"),
    ] {
        let mut session = Session::new(language.clone());
        let import = if expected == "r1" && then.ends_with("r1") { "" } else { IMPORT };
        let mut host = world.host(0, Files::of(home.clone()), Interrupt::default());
        for script in [import, then] {
            session.run(script, How::Typed, &mut host, &mut |_| ()).unwrap();
        }
        drop(host);
        world.advance(world.now() + Duration::from_secs(after));
        assert_eq!(node::name(world.node(0).tree()), expected, "{import}; {then}; {after} s");
        world.advance(world.now() + Duration::from_secs(10));
    }
    let mut host = world.host(0, Files::none(), Interrupt::default());
    let mut session = Session::new(language);
    let refused = session.run("/confirm", How::Typed, &mut host, &mut |_| ()).unwrap_err();
    assert!(refused.to_string().contains("there is nothing to confirm"), "{refused}");
    std::fs::remove_dir_all(home).unwrap();
}

const IMPORT: &str = "/import new.rsc confirm=5s";

/// Types a script on a node.
fn load(world: &mut World, place: usize, script: &str) {
    let now = world.now();
    let node = world.node_mut(place);
    let mut console = Interpreter::new(node::menus());
    *console.tree_mut() = node.tree().clone();
    console.run(script, &node.status(now)).unwrap();
    node.configure(console.tree(), now).unwrap();
}

/// `left ══ r1 ══ r2 ══ right`: two routers, and what is beside them in our hands.
struct Chain {
    world: World,
    pool: Pool,
    left: SimulatedPort,
    right: SimulatedPort,
}

impl Chain {
    fn new() -> Chain {
        let slab = Slab::new(1 << 14).unwrap();
        let [(left, a), (b, c), (d, right)] = [(); 3].map(|()| cable());
        let node = |name: &str, number, ports: [SimulatedPort; 2]| {
            let node = Node::new(name, number, 2, &slab, Environment::simulated(), Moment::ZERO);
            (node, ports.map(Socket::Cable).into())
        };
        let nodes = vec![node("r1", 1, [a, b]), node("r2", 2, [c, d])];
        let mut world = World::new(nodes, vec![vec![1], vec![0]], slab.clone());
        load(
            &mut world,
            0,
            "/ip address add address=10.0.1.1/24 interface=ether1
            /ip address add address=10.0.0.1/30 interface=ether2
            /ip route add dst-address=10.0.2.0/24 gateway=10.0.0.2",
        );
        load(
            &mut world,
            1,
            "/ip address add address=10.0.0.2/30 interface=ether1
            /ip address add address=10.0.2.1/24 interface=ether2
            /ip arp add address=10.0.2.9 mac-address=02:99:00:00:00:09 interface=ether2",
        );
        Chain { world, pool: slab.pool(), left, right }
    }

    /// Sends a UDP packet of 46 bytes from the left to 10.0.2.9.
    fn send(&mut self) {
        let datagram = craft::udp(ip(10, 0, 1, 9), 1, ip(10, 0, 2, 9), 2);
        let (src_mac, dst_mac) = (MacAddr([2, 0x99, 0, 0, 0, 1]), MacAddr([2, 0, 0, 1, 0, 1]));
        let frame = Frame { src_mac, dst_mac, payload: &[7; 18], ..datagram }.build();
        assert_eq!(frame.len(), 60);
        let mut sent = self.pool.alloc(frame.len()).unwrap();
        self.pool.slab().bytes_mut(&mut sent).copy_from_slice(&frame);
        let mut batch = Batch::new();
        batch.push(sent);
        self.left.send(self.world.now(), &mut self.pool, &mut batch);
        // Ours is no place of the world: it has to be told to look.
        self.world.node_mut(0);
    }

    /// When the next frame comes out at the right, running the world until then.
    fn arrival(&mut self) -> Option<Moment> {
        for _ in 0..200 {
            if let Some(at) = self.right.next_arrival() {
                let mut batch = Batch::new();
                assert_eq!(self.right.receive(at, &mut self.pool, &mut batch), 1);
                batch.free_all(&mut self.pool);
                return Some(at);
            }
            self.world.advance(self.world.now() + Duration::from_micros(1));
        }
        None
    }
}

/// 8 bytes of preamble and 64 of frame at 1 Gbit/s, and the cable.
const HOP: Duration = Duration::from_nanos(72 * 8 + 10_000);

#[test]
fn cables_take_their_time_and_routers_none() {
    let mut chain = Chain::new();
    let start = chain.world.now();
    chain.send();
    // The first packet waits for ARP between the routers: there and back, 60 bytes as well.
    assert_eq!(chain.arrival().expect("the first packet") - start, HOP * 5);
    let start = chain.world.now();
    chain.send();
    assert_eq!(chain.arrival().expect("the second packet") - start, HOP * 3);
}

#[test]
fn an_idle_hour_is_short_and_time_is_where_it_should_be() {
    let mut chain = Chain::new();
    chain.world.advance(Moment::from_nanos(60_000_000_000));
    assert_eq!(chain.world.now().as_nanos(), 60_000_000_000);
    let breaths = chain.world.breaths();
    assert!(breaths <= 2 * 60_001, "{breaths} breaths in an idle minute");
    // Not back, either.
    chain.world.advance(Moment::ZERO);
    assert_eq!(chain.world.now().as_nanos(), 60_000_000_000);
}

#[test]
fn the_same_every_time() {
    let run = || {
        let mut chain = Chain::new();
        let mut arrivals = Vec::new();
        for gap in [0, 700, 5, 123_456, 1] {
            chain.world.advance(chain.world.now() + Duration::from_nanos(gap));
            chain.send();
            arrivals.push(chain.arrival());
        }
        (arrivals, chain.world.breaths())
    };
    assert_eq!(run(), run());
}
