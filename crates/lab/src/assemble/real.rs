//! A lab in real time: its hosts, its routers on threads, and the cables between them.
//!
//! ```text
//! router ══ memory ══ router          router ── port ─ etherN ══ veth ══ eth1 ─ host
//!                                       the router's own namespace        its namespace
//!                                     router ── port ══ UDP ══ eth1 ─ machine
//! ```
//!
//! First the cables and the routers' ports are there, then the hosts' addresses and routes, so that
//! nothing a host sends goes nowhere.

use super::cable::{self, Cable, Jack, Plug};
use super::machines::{self, Machines};
use super::{AssembleError, RING, failed, plug, slab, sockets};
use crate::alarm::Alarm;
use crate::clock::{self, Clock};
use crate::host::{self, Host, LinuxHost};
use crate::live::Live;
use crate::machine;
use crate::node::{self, Environment, Node, Socket};
use crate::topology::{End, LinkSpec, Topology};
use port::linux::{Namespace, Unavailable};
use port::slab::Slots;
use port::{MemoryPort, Port, Slab, affinity, memory};
use std::path::Path;
use std::sync::Arc;

/// A lab in real time.
pub struct Real {
    /// Its routers, running, in the order of its nodes.
    pub lives: Vec<Live>,
    /// Its hosts, in the order of its nodes.
    pub hosts: Vec<Host>,
    /// Its time.
    pub clock: Clock,
    /// What was done to interfaces, and chosen.
    pub remarks: Vec<String>,
}

/// The lab in real time: all its routers running, their random choices starting from `seed`, all its
/// hosts there, whose programs run in `directory`.
///
/// # Errors
/// No slab could be made, no thread started, no namespace or interface had; nothing is left running
/// then.
///
/// # Panics
/// If the topology was not checked: its ends are not there.
pub fn real(topology: &Topology, seed: u64, directory: &Path) -> Result<Real, AssembleError> {
    let threads = Threads::new(topology, seed);
    if topology.has_hosts() {
        return with_hosts(topology, &threads, directory);
    }
    let slab = slab(topology, topology.links.len() * 2 * RING, Slots::STANDARD)?;
    let mut sockets = sockets::<MemoryPort>(topology);
    for link in &topology.links {
        plug(&mut sockets, link.ends, memory::wire(RING).into());
    }
    let mut lives = Vec::new();
    for (at, sockets) in sockets.into_iter().enumerate() {
        let node = threads.node(at, &slab, &sockets);
        let live = Live::start(node, sockets, threads.clock, threads.cpu(at));
        lives.push(live.map_err(thread_error(topology, at))?);
    }
    Ok(Real { lives, hosts: Vec::new(), clock: threads.clock, remarks: Vec::new() })
}

fn with_hosts(
    topology: &Topology,
    threads: &Threads<'_>,
    directory: &Path,
) -> Result<Real, AssembleError> {
    let nodes = &topology.nodes;
    let mut remarks = Vec::new();
    let mut machines = Machines::of(topology)?;
    let mut boxes = Vec::new();
    for spec in nodes {
        let made = match spec.host() {
            Some(_) if spec.is_machine() => Ok(Made::Machine),
            Some(_) => LinuxHost::new(&spec.name, directory).map(Made::Host),
            None => Namespace::new().and_then(|namespace| Ok(Made::Router(namespace, alarm()?))),
        };
        boxes.push(made.map_err(failed(&spec.name))?);
    }
    let slab = slab(topology, topology.links.len() * 2 * RING, slots(topology))?;
    let mut sockets = sockets::<Cable>(topology);
    for (at, link) in topology.links.iter().enumerate() {
        let [a, b] = link.ends;
        let failed = failed(&nodes[a.node].name);
        match (&boxes[a.node], &boxes[b.node]) {
            (Made::Router(_, to_a), Made::Router(_, to_b)) => {
                plug(&mut sockets, link.ends, cable::memory([to_a.clone(), to_b.clone()]));
            }
            (Made::Host(a), Made::Host(b)) => {
                let namespaces = [&**a.namespace(), b.namespace()];
                host::connect(link, nodes, namespaces).map_err(failed)?;
            }
            (Made::Host(host), Made::Router(namespace, _)) => {
                let (port, remark) =
                    real_cable(topology, link, [a, b], host, namespace, &slab).map_err(failed)?;
                remarks.push(remark);
                sockets[b.node][b.port - 1] = Socket::Cable(port);
            }
            (Made::Router(namespace, _), Made::Host(host)) => {
                let (port, remark) =
                    real_cable(topology, link, [b, a], host, namespace, &slab).map_err(failed)?;
                remarks.push(remark);
                sockets[a.node][a.port - 1] = Socket::Cable(port);
            }
            (Made::Machine, _) | (_, Made::Machine) => {
                let machines = machines.as_mut().expect("there are some");
                if let Some((side, port)) = machines.plug(topology, at, &slab).map_err(failed)? {
                    let (router, machine) = (link.ends[side], link.ends[1 - side]);
                    sockets[router.node][router.port - 1] = Socket::Cable(port);
                    let host = nodes[machine.node].host().expect("a machine");
                    remarks.push(format!(
                        "{}:ether{} to {}:{}: L2TPv3 over UDP",
                        nodes[router.node].name,
                        router.port,
                        nodes[machine.node].name,
                        host.interfaces[machine.port - 1],
                    ));
                }
            }
        }
    }
    for (made, spec) in boxes.iter().zip(nodes) {
        if let (Made::Host(host), Some(of)) = (made, spec.host()) {
            remarks.extend(host.configure(of).map_err(failed(&spec.name))?);
        }
    }
    let host = |name: &str| match &boxes[topology.find(name)?] {
        Made::Host(host) => Some(Arc::clone(host.namespace())),
        _ => None,
    };
    let mut machines = match machines {
        Some(machines) => machines.boot(topology, directory, host)?,
        None => Vec::new(),
    };
    for (made, spec) in boxes.iter().zip(nodes) {
        if let (Made::Host(host), Some(of)) = (made, spec.host()) {
            host.wait_for_wires(of).map_err(failed(&spec.name))?;
        }
    }
    machines::wait(&mut machines)?;
    let mut machines = machines.into_iter();
    let (mut lives, mut hosts) = (Vec::new(), Vec::new());
    for ((at, sockets), made) in sockets.into_iter().enumerate().zip(boxes) {
        match made {
            Made::Host(host) => hosts.push(Host::Linux(host)),
            Made::Machine => hosts.extend(machines.next().map(Host::Uml)),
            // Its namespace goes on as long as its ports are there.
            Made::Router(_, alarm) => {
                let node = threads.node(at, &slab, &sockets);
                let live = Live::start_woken(node, sockets, threads.clock, threads.cpu(at), alarm);
                lives.push(live.map_err(thread_error(topology, at))?);
            }
        }
    }
    Ok(Real { lives, hosts, clock: threads.clock, remarks })
}

/// A node of a lab with hosts, before it runs.
enum Made {
    /// A router's interfaces, and what wakes it.
    Router(Namespace, Alarm),
    Host(LinuxHost),
    /// One of those that boot when all cables are there.
    Machine,
}

/// A cable between a host's end and a router's, and what is to be said about it.
fn real_cable(
    topology: &Topology,
    link: &LinkSpec,
    [at_host, at_router]: [End; 2],
    host: &LinuxHost,
    namespace: &Namespace,
    slab: &Slab,
) -> Result<(Cable, String), Unavailable> {
    let spec = topology.nodes[at_host.node].host().expect("a host");
    let interface = spec.interfaces[at_host.port - 1].as_str();
    let name = format!("ether{}", at_router.port);
    let mac = node::port_mac(at_router.node as u8 + 1, at_router.port);
    let jack = Jack { namespace, name: &name, mac };
    let plug = Plug { host, interface, offloads: spec.offloads };
    let (port, facts) = cable::to_host(link, &plug, &jack, slab)?;
    let router = &topology.nodes[at_router.node].name;
    Ok((port, format!("{router}:{name} to {}:{interface}: {facts}", host.name())))
}

/// How long frames are: super-frames come by taps from hosts with offloads.
fn slots(topology: &Topology) -> Slots {
    let links = topology.links.iter().filter(|link| link.is_real(&topology.nodes));
    // Ethernet's header and two VLAN tags.
    let longest = links.clone().filter_map(|link| link.mtu).max().unwrap_or(1500) as usize + 22;
    let offloads = links
        .flat_map(|link| link.ends)
        .any(|end| topology.nodes[end.node].host().is_some_and(|host| host.offloads));
    let longest = if offloads { LONGEST } else { longest };
    Slots::holding(longest).expect("the MTU was checked when the lab was read")
}

/// The longest frame there is room for: a super-frame.
const LONGEST: usize = 65_152;

/// What all routers' threads have in common.
struct Threads<'a> {
    topology: &'a Topology,
    seed: u64,
    clock: Clock,
    environment: Environment,
    /// A processor each, if there are enough; else the system does better.
    cpus: Option<Vec<usize>>,
}

impl Threads<'_> {
    fn new(topology: &Topology, seed: u64) -> Threads<'_> {
        let cpus = affinity::allowed();
        let cpus = Some(cpus).filter(|cpus| cpus.len() >= topology.nodes.len());
        let environment = machine::environment(clock::unix());
        Threads { topology, seed, clock: Clock::start(), environment, cpus }
    }

    fn cpu(&self, at: usize) -> Option<usize> {
        self.cpus.as_ref().map(|cpus| cpus[at])
    }

    /// The node at a place, for these ports.
    fn node<P: Port>(&self, at: usize, slab: &Slab, sockets: &[Socket<P>]) -> Node {
        let environment = self.environment.clone();
        super::node(self.topology, at, self.seed, slab, environment, self.clock.now(), sockets)
    }
}

fn alarm() -> Result<Alarm, Unavailable> {
    Alarm::new().map_err(|error| Unavailable::because("make an event to be woken by", error))
}

fn thread_error(topology: &Topology, at: usize) -> impl Fn(std::io::Error) -> AssembleError {
    let name = topology.nodes[at].name.clone();
    move |error| AssembleError::Thread(name.clone(), error)
}
