//! A lab's file: nodes and links in containerlab's shape, and the steps to go through.
//!
//! ```yaml
//! name: two-routers
//! topology:
//!   nodes:
//!     dut: { kind: wirespeed, ports: 13, startup-config: dut.rsc }
//!     tg:  { kind: wirespeed, ports: 13 }
//!   links:
//!     - { endpoints: ["dut:ether1", "tg:ether1"], rate: 1G, delay: 10us }
//! steps:
//!   - title: Is it there?
//!     node: tg
//!     run: /ping 1.1.1.254 count=3
//!     expect: [{ output: packet-loss=0% }]
//! ```
//!
//! A node of `kind: linux` is a host: a network namespace whose interfaces are the links' ends, and
//! the programs that the steps run in it. One of `kind: uml` is the same with a Linux kernel of its
//! own, and the modules it is to have. Without links it may be a program of such a host, and its one
//! interface the other end of a tunnel that User Mode Linux itself has. A lab with hosts runs in real time only.
//!
//! ```yaml
//!     pc:
//!       kind: linux
//!       addresses: { eth1: 192.168.88.10/24 }
//!       gateway: 192.168.88.1
//!     trunk: { kind: uml, modules: [8021q] }
//!     far: { kind: uml, inside: pc, vector: "transport=l2tpv3,src=192.168.88.10,dst=…" }
//!   links:
//!     - { endpoints: ["dut:ether2", "pc:eth1"], mtu: 1400, backend: packet }
//!     - { endpoints: ["dut:ether3", "trunk:eth1"] }
//! ```
//!
//! Everything is checked before anything starts: an unknown key, a node or a port that is not
//! there, a port with two cables are refused with their line, column and what would be legal.
//!
//! Missing: **containers**, hosts' **IPv6 addresses**, links from **uml to linux**, containerlab's **groups, images and
//! management network**; links have no **loss**, and those of hosts no **rate** or **delay**.

mod hosts;
mod read;
mod source;
mod steps;
mod words;
mod yaml;

pub use source::{Cell, Source, Wanted};
pub use steps::{Action, Expectation, Program, Step, Test};
pub use yaml::{Fault, Place};

use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{BitRate, Ipv4Prefix};

/// The most nodes of a lab.
pub const MOST_NODES: usize = 64;
/// The most ports of a node.
pub const MOST_PORTS: usize = 64;
/// The most nodes of `kind: uml`: each takes up to 192 MiB, and a processor while it boots.
pub const MOST_MACHINES: usize = 8;

/// A lab, as its file has it.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Its name: letters, digits, `-`, `_`.
    pub name: String,
    /// What kind of time it runs in, unless the user says otherwise.
    pub time: Time,
    /// Where random choices start from, unless the user says otherwise.
    pub seed: u64,
    /// The nodes, in the file's order.
    pub nodes: Vec<NodeSpec>,
    /// The cables between them.
    pub links: Vec<LinkSpec>,
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// What kind of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// A number that goes from event to event: the same bytes every time, links exact.
    Virtual,
    /// The clock's: each node on a thread, links as fast as memory.
    Real,
}

/// One node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name; a router's identity until it is given another.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where it stands in the file.
    pub at: Place,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A router of ours.
    Wirespeed(RouterSpec),
    /// A host: the Linux kernel in a network namespace, and real programs.
    Linux(HostSpec),
    /// The same with a kernel of its own: User Mode Linux.
    Uml(HostSpec),
}

/// A router.
#[derive(Clone, Debug)]
pub struct RouterSpec {
    /// How many ports: `ether1`, `ether2` …
    pub ports: usize,
    /// The script it starts with, as its file is named.
    pub startup_config: Option<String>,
}

/// A host.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    /// Those with a cable, in the order of the links.
    pub interfaces: Vec<String>,
    /// Its addresses and the prefixes' lengths: of its interfaces by their place, or of `lo`.
    pub addresses: Vec<(Option<usize>, Ipv4Addr, u8)>,
    /// Its routes and their gateways, the default route among them.
    pub routes: Vec<(Ipv4Prefix, Ipv4Addr)>,
    /// Whether its interfaces leave checksums and segmentation to others, as Linux does by default.
    pub offloads: bool,
    /// What is run on it before the lab's first step.
    pub exec: Vec<Vec<String>>,
    /// The modules that a kernel of its own loads.
    pub modules: Vec<String>,
    /// What such a kernel has instead of cables.
    pub vector: Option<Vector>,
}

/// An interface of User Mode Linux whose frames come and go by the network of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The host's name: the kernel is a program of it.
    pub inside: String,
    /// What the kernel is told of `vec0` on its command line.
    pub device: String,
}

/// How a router's port gets at the interface of a link to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// AF_XDP on the router's end of a veth pair.
    Xdp,
    /// AF_PACKET there.
    Packet,
    /// No veth pair: the host's interface is a TAP device of the router's.
    Tap,
}

/// One cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Its two ends.
    pub ends: [End; 2],
    /// L1 rate, of a cable between two routers.
    pub rate: BitRate,
    /// From the last bit out to the last bit in, of a cable between two routers.
    pub delay: Duration,
    /// What the interfaces carry, of a cable to a host; 1500 if it is not said.
    pub mtu: Option<u32>,
    /// How the router gets at it, of a cable from a router to a host; the best that works if it is
    /// not said.
    pub backend: Option<Backend>,
    /// Where it stands in the file.
    pub at: Place,
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The node's place in [`Topology::nodes`].
    pub node: usize,
    /// A router's port, from 1: 1 is `ether1`. A host's interface, from 1: 1 is the first of
    /// [`HostSpec::interfaces`].
    pub port: usize,
}

impl NodeSpec {
    /// The router, if it is one.
    pub fn router(&self) -> Option<&RouterSpec> {
        match &self.kind {
            Kind::Wirespeed(router) => Some(router),
            Kind::Linux(_) | Kind::Uml(_) => None,
        }
    }

    /// The host, if it is one, whatever its kernel.
    pub fn host(&self) -> Option<&HostSpec> {
        match &self.kind {
            Kind::Wirespeed(_) => None,
            Kind::Linux(host) | Kind::Uml(host) => Some(host),
        }
    }

    /// Whether it is a host with a kernel of its own.
    pub fn is_machine(&self) -> bool {
        matches!(self.kind, Kind::Uml(_))
    }

    /// What its kind is called.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Wirespeed(_) => "wirespeed",
            Kind::Linux(_) => "linux",
            Kind::Uml(_) => "uml",
        }
    }
}

impl HostSpec {
    /// The interface that a neighbour of this address is at, by its place.
    pub fn interface_to(&self, neighbour: Ipv4Addr) -> Option<usize> {
        self.addresses.iter().find_map(|(interface, address, length)| {
            let network = Ipv4Prefix::new((*address).into(), *length);
            interface.filter(|_| network.contains(neighbour.into()))
        })
    }
}

impl LinkSpec {
    /// Whether a host is at one of its ends.
    pub fn is_real(&self, nodes: &[NodeSpec]) -> bool {
        self.ends.iter().any(|end| nodes[end.node].host().is_some())
    }
}

impl Topology {
    /// Reads a lab's file.
    ///
    /// # Errors
    /// The first thing wrong with it.
    pub fn read(text: &str) -> Result<Topology, Fault> {
        read::topology(&yaml::Node::read(text)?)
    }

    /// The place of a node of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Whether there are hosts: then it runs in real time only.
    pub fn has_hosts(&self) -> bool {
        self.nodes.iter().any(|node| node.host().is_some())
    }
}

#[cfg(test)]
mod tests;
