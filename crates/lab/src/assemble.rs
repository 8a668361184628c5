//! From a lab's file to nodes with cables between them.
//!
//! ```text
//! Topology ─┬─► World        simulated cables: rate, delay, 1024 frames at either end
//!           └─► Live, Live … memory cables: 4096 frames at either end, a thread for each node
//! ```
//!
//! Startup configurations are not loaded here: that is a session's business.

use crate::clock::{self, Clock};
use crate::live::Live;
use crate::machine;
use crate::node::{Environment, Node, Socket};
use crate::topology::{MOST_NODES, Topology};
use crate::world::World;
use port::simulated::{self, Link};
use port::slab::SlabError;
use port::{MemoryPort, Port, SimulatedPort, Slab, affinity, memory};
use std::fmt;
use wire::Moment;

/// Why a lab cannot be there.
#[derive(Debug)]
pub enum AssembleError {
    /// No frames.
    Slab(SlabError),
    /// No thread for a node.
    Thread(String, std::io::Error),
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssembleError::Slab(error) => write!(f, "no frames for the lab: {error}"),
            AssembleError::Thread(node, error) => write!(f, "no thread for node {node}: {error}"),
        }
    }
}

impl std::error::Error for AssembleError {}

/// Frames at either end of a cable between memory rings: some milliseconds of anything a thread
/// can send, since the threads may have to share processors.
const RING: usize = 4096;
/// Frames that a node holds beside those on its cables: pools, batches, queues.
const HELD: usize = 4096;
/// The most frames of a lab: 1.1 GB, of which only what is used is touched.
const MOST_FRAMES: usize = 1 << 19;

/// The lab in virtual time, its random choices starting from `seed`.
///
/// # Errors
/// No slab could be made.
///
/// # Panics
/// If the topology was not checked: its ends are not there.
pub fn world(topology: &Topology, seed: u64) -> Result<World, AssembleError> {
    let links = topology.links.iter();
    let links = links.map(|link| Link { delay: link.delay, ..Link::new(link.rate) });
    let links: Vec<Link> = links.collect();
    // What a cable holds: its buffers, and what is under way on it.
    let flying = |link: &Link| (link.rate.0 * link.delay.as_secs_f64() / (84.0 * 8.0)) as usize;
    let held = links.iter().map(|link| 2 * (link.tx_buffer + link.rx_ring + flying(link)));
    let slab = slab(topology, held.sum())?;
    let mut sockets = sockets::<SimulatedPort>(topology);
    for (link, spec) in links.into_iter().zip(&topology.links) {
        let ends = simulated::wire(link).expect("rates and buffers were checked when it was read");
        plug(&mut sockets, spec.ends, ends.into());
    }
    let nodes = (0..topology.nodes.len())
        .map(|at| node(topology, at, seed, &slab, Environment::simulated(), Moment::ZERO));
    let peers = (0..topology.nodes.len()).map(|at| {
        let links = topology.links.iter().map(|link| link.ends.map(|end| end.node));
        let mut peers: Vec<usize> = links
            .flat_map(|[a, b]| [(a, b), (b, a)])
            .filter(|&(own, peer)| own == at && peer != at)
            .map(|(_, peer)| peer)
            .collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    });
    let nodes = nodes.zip(sockets).collect();
    Ok(World::new(nodes, peers.collect(), slab))
}

/// The lab in real time: all its nodes, running, their random choices starting from `seed`.
///
/// # Errors
/// No slab could be made, or no thread started; nothing is left running then.
///
/// # Panics
/// If the topology was not checked: its ends are not there.
pub fn live(topology: &Topology, seed: u64) -> Result<(Vec<Live>, Clock), AssembleError> {
    let slab = slab(topology, topology.links.len() * 2 * RING)?;
    let mut sockets = sockets::<MemoryPort>(topology);
    for link in &topology.links {
        plug(&mut sockets, link.ends, memory::wire(RING).into());
    }
    let clock = Clock::start();
    // A processor each, if there are enough; else the system does better.
    let cpus = affinity::allowed();
    let own = cpus.len() >= topology.nodes.len();
    let environment = machine::environment(clock::unix());
    let mut lives = Vec::new();
    for (at, sockets) in sockets.into_iter().enumerate() {
        let node = node(topology, at, seed, &slab, environment.clone(), clock.now());
        let name = &topology.nodes[at].name;
        let cpu = own.then(|| cpus[at]);
        let live = Live::start(node, sockets, clock, cpu);
        lives.push(live.map_err(|error| AssembleError::Thread(name.clone(), error))?);
    }
    Ok((lives, clock))
}

fn slab(topology: &Topology, on_cables: usize) -> Result<Slab, AssembleError> {
    let frames = on_cables + topology.nodes.len() * HELD;
    Slab::new(frames.clamp(1 << 14, MOST_FRAMES)).map_err(AssembleError::Slab)
}

fn node(
    topology: &Topology,
    at: usize,
    seed: u64,
    slab: &Slab,
    environment: Environment,
    now: Moment,
) -> Node {
    let spec = &topology.nodes[at];
    let mut node = Node::new(&spec.name, at as u8 + 1, spec.ports, slab, environment, now);
    // No two nodes throw alike.
    node.set_seed(seed.wrapping_mul(MOST_NODES as u64).wrapping_add(at as u64));
    node
}

/// Sockets without cables.
fn sockets<P: Port>(topology: &Topology) -> Vec<Vec<Socket<P>>> {
    let node = |ports| (0..ports).map(|_| Socket::empty()).collect();
    topology.nodes.iter().map(|spec| node(spec.ports)).collect()
}

fn plug<P>(sockets: &mut [Vec<Socket<P>>], ends: [crate::topology::End; 2], cable: [P; 2]) {
    for (end, port) in ends.into_iter().zip(cable) {
        sockets[end.node][end.port - 1] = Socket::Cable(port);
    }
}
