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
//! Everything is checked before anything starts: an unknown key, a node or a port that is not
//! there, a port with two cables are refused with their line, column and what would be legal.
//!
//! Missing: **other kinds of nodes than wirespeed** (containers, the Linux kernel), containerlab's
//! **groups, images and management network**; links have no **loss**.

mod read;
mod steps;
mod yaml;

pub use steps::{Action, Expectation, Step, Test, Wanted};
pub use yaml::{Fault, Place};

use std::time::Duration;
use wire::BitRate;

/// The most nodes of a lab.
pub const MOST_NODES: usize = 64;
/// The most ports of a node.
pub const MOST_PORTS: usize = 64;

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
    /// Its name, and its identity until it is given another.
    pub name: String,
    /// How many ports: `ether1`, `ether2` …
    pub ports: usize,
    /// The script it starts with, as its file is named.
    pub startup_config: Option<String>,
    /// Where it stands in the file.
    pub at: Place,
}

/// One cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Its two ends.
    pub ends: [End; 2],
    /// L1 rate.
    pub rate: BitRate,
    /// From the last bit out to the last bit in.
    pub delay: Duration,
    /// Where it stands in the file.
    pub at: Place,
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The node's place in [`Topology::nodes`].
    pub node: usize,
    /// The port's number, from 1: 1 is `ether1`.
    pub port: usize,
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
}

#[cfg(test)]
mod tests;
