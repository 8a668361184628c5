//! From a lab's file to nodes with cables between them.
//!
//! ```text
//! Topology ─┬─► World        simulated cables: rate, delay, 1024 frames at either end
//!           └─► Live, Live … memory cables: 4096 frames at either end, a thread for each router
//!               hosts …      veth pairs between them, and to the routers' ports
//!               machines …   UDP between them, and to the routers' ports
//! ```
//!
//! Startup configurations are not loaded here: that is a session's business.

// A router's end of a cable to a host.
mod cable;
mod machines;
mod real;

pub use real::{Real, real};

use crate::node::{Environment, Node, Socket, port_mac};
use crate::topology::{End, MOST_NODES, Topology};
use crate::world::World;
use port::linux::Unavailable;
use port::simulated::{self, Link};
use port::slab::{SlabError, Slots};
use port::{Port, SimulatedPort, Slab};
use router::PortInfo;
use std::fmt;
use wire::Moment;

/// Why a lab cannot be there.
#[derive(Debug)]
pub enum AssembleError {
    /// No frames.
    Slab(SlabError),
    /// No thread for a node.
    Thread(String, std::io::Error),
    /// A host, or a cable to one, cannot be had.
    Host(String, Unavailable),
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssembleError::Slab(error) => write!(f, "no frames for the lab: {error}"),
            AssembleError::Host(node, unavailable) => write!(f, "node {node}: {unavailable}"),
            AssembleError::Thread(node, error) => write!(f, "no thread for node {node}: {error}"),
        }
    }
}

impl std::error::Error for AssembleError {}

/// What cannot be had, and which node it is for.
fn failed(node: &str) -> impl Fn(Unavailable) -> AssembleError + '_ {
    move |unavailable| AssembleError::Host(node.to_string(), unavailable)
}

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
/// If the topology was not checked: its ends are not there; or if it has hosts.
pub fn world(topology: &Topology, seed: u64) -> Result<World, AssembleError> {
    let links = topology.links.iter();
    let links = links.map(|link| Link { delay: link.delay, ..Link::new(link.rate) });
    let links: Vec<Link> = links.collect();
    // What a cable holds: its buffers, and what is under way on it.
    let flying = |link: &Link| (link.rate.0 * link.delay.as_secs_f64() / (84.0 * 8.0)) as usize;
    let held = links.iter().map(|link| 2 * (link.tx_buffer + link.rx_ring + flying(link)));
    let slab = slab(topology, held.sum(), Slots::STANDARD)?;
    let mut sockets = sockets::<SimulatedPort>(topology);
    for (link, spec) in links.into_iter().zip(&topology.links) {
        let ends = simulated::wire(link).expect("rates and buffers were checked when it was read");
        plug(&mut sockets, spec.ends, ends.into());
    }
    let nodes = (0..topology.nodes.len()).map(|at| {
        let environment = Environment::simulated();
        node(topology, at, seed, &slab, environment, Moment::ZERO, &sockets[at])
    });
    let nodes: Vec<_> = nodes.collect();
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
    let nodes = nodes.into_iter().zip(sockets).collect();
    Ok(World::new(nodes, peers.collect(), slab))
}

fn slab(topology: &Topology, on_cables: usize, slots: Slots) -> Result<Slab, AssembleError> {
    let frames = on_cables + topology.nodes.len() * HELD;
    Slab::with(frames.clamp(1 << 14, MOST_FRAMES), slots).map_err(AssembleError::Slab)
}

fn node<P: Port>(
    topology: &Topology,
    at: usize,
    seed: u64,
    slab: &Slab,
    environment: Environment,
    now: Moment,
    sockets: &[Socket<P>],
) -> Node {
    let infos = sockets.iter().enumerate().map(|(port, socket)| PortInfo {
        name: format!("ether{}", port + 1),
        mac: port_mac(at as u8 + 1, port + 1),
        capabilities: socket.capabilities(),
    });
    let name = &topology.nodes[at].name;
    let mut node = Node::with_ports(name, infos.collect(), slab, environment, now);
    // No two nodes throw alike.
    node.set_seed(seed.wrapping_mul(MOST_NODES as u64).wrapping_add(at as u64));
    node
}

/// Sockets without cables; hosts have none.
fn sockets<P: Port>(topology: &Topology) -> Vec<Vec<Socket<P>>> {
    let ports = topology.nodes.iter().map(|node| node.router().map_or(0, |router| router.ports));
    ports.map(|ports| (0..ports).map(|_| Socket::empty()).collect()).collect()
}

fn plug<P>(sockets: &mut [Vec<Socket<P>>], ends: [End; 2], cable: [P; 2]) {
    for (end, port) in ends.into_iter().zip(cable) {
        sockets[end.node][end.port - 1] = Socket::Cable(port);
    }
}
