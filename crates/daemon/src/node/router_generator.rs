//! The traffic generator beside the router: what it asks of the box, and its jobs.
//!
//! ```text
//! generator ─► Around ─► Router: ports, addresses, ways, neighbours
//! ```

use super::Node;
use config::{Job, Progress, Record, Tree};
use generator::{Generator, Interface, Surroundings};
use router::Router;
use std::net::IpAddr;
use wire::{MacAddr, Moment};

/// The box as its generator sees it.
pub(super) struct Around<'a>(pub(super) &'a mut Router);

impl Surroundings for Around<'_> {
    fn interfaces(&self) -> Vec<Interface> {
        let ports = self.0.port_names();
        ports.map(|(name, mac)| Interface { name: name.to_string(), mac }).collect()
    }

    fn owner(&self, address: IpAddr) -> Option<usize> {
        self.0.port_with(address)
    }

    fn source(&self, port: usize, toward: IpAddr) -> Option<IpAddr> {
        self.0.source_at(port, toward)
    }

    fn route(&self, to: IpAddr) -> Option<(usize, IpAddr)> {
        self.0.route_to(to)
    }

    fn resolve(&mut self, now: Moment, port: usize, address: IpAddr) -> Option<MacAddr> {
        self.0.neighbour_mac(now, port, address)
    }
}

/// Whether the menu of this path is the generator's.
pub(super) fn is_generators(path: &str) -> bool {
    path.starts_with("/tool traffic-generator")
}

/// Whether the generator has to look at a new configuration: its own menus, or the ports' names.
pub(super) fn concerns(old: &Tree, new: &Tree) -> bool {
    let menus = generator::MENUS.iter().map(|menu| menu.path);
    menus.chain(["/interface ethernet"]).any(|path| !new.shares(old, path))
}

impl AsMut<Generator> for Node {
    fn as_mut(&mut self) -> &mut Generator {
        &mut self.generator
    }
}

/// A job of the router's, in its node.
pub(super) struct OfRouter(pub(super) Box<dyn Job<Router>>);

impl Job<Node> for OfRouter {
    fn poll(
        &mut self,
        node: &mut Node,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        self.0.poll(&mut node.router, now, out)
    }

    fn wants_file(&mut self) -> Option<String> {
        self.0.wants_file()
    }

    fn give_file(&mut self, content: Result<Vec<u8>, String>) {
        self.0.give_file(content);
    }

    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        self.0.take_files()
    }

    fn wind_up(&mut self, node: &mut Node, now: Moment) -> bool {
        self.0.wind_up(&mut node.router, now)
    }

    fn stop(&mut self, node: &mut Node, now: Moment) {
        self.0.stop(&mut node.router, now);
    }
}
