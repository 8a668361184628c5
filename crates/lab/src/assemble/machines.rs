//! The machines of a lab (`kind: uml`), and their cables.
//!
//! ```text
//! router ── L2tpPort ══ 127.0.0.1 ══ vec0 ─ machine ─ vec1 ══ 127.0.0.1 ══ vec0 ─ machine
//!                    └──────── one namespace of theirs, with nothing but lo ────────┘
//! ```
//!
//! Cables first, then all of them boot at once, then each is waited for.

use super::cable::Cable;
use super::{AssembleError, failed};
use crate::host::Machine;
use crate::host::uml::{Kernel, Plugged, address};
use crate::linux::netlink::Netlink;
use crate::node::port_mac;
use crate::topology::{NodeSpec, Topology};
use port::Slab;
use port::linux::l2tp::L2tpPort;
use port::linux::{Namespace, Unavailable};
use std::path::Path;
use std::sync::Arc;

/// The UDP port of the first cable's first end: below those that the kernel gives away.
const FIRST: usize = 20_000;

/// The machines of a lab, before they are there.
pub(super) struct Machines {
    kernel: Kernel,
    namespace: Arc<Namespace>,
    /// What each node's kernel is told of its cables, in the order of the links, which is that of its interfaces.
    devices: Vec<Vec<String>>,
}

impl Machines {
    /// None yet, if the lab has any.
    pub(super) fn of(topology: &Topology) -> Result<Option<Machines>, AssembleError> {
        let Some(first) = topology.nodes.iter().find(|node| node.is_machine()) else {
            return Ok(None);
        };
        let failed = failed(&first.name);
        let kernel = Kernel::find().map_err(&failed)?;
        let namespace = Namespace::new().map_err(&failed)?;
        let up = Netlink::open_in(&namespace).and_then(|mut netlink| netlink.set_up("lo", true));
        up.map_err(&failed)?;
        let vector = |node: &NodeSpec| Some(node.host()?.vector.as_ref()?.device.clone());
        let devices =
            topology.nodes.iter().map(|node| vector(node).into_iter().collect()).collect();
        Ok(Some(Machines { kernel, namespace: Arc::new(namespace), devices }))
    }

    /// Makes the cable at this place among the links; gives the end of a router, if there is one, by
    /// its place among the cable's two.
    pub(super) fn plug(
        &mut self,
        topology: &Topology,
        at: usize,
        slab: &Slab,
    ) -> Result<Option<(usize, Cable)>, Unavailable> {
        let link = &topology.links[at];
        let ports = [FIRST + 2 * at, FIRST + 2 * at + 1].map(|port| port as u16);
        let mut cable: Option<(usize, Cable)> = None;
        for (side, end) in link.ends.into_iter().enumerate() {
            let ports = [ports[side], ports[1 - side]];
            if topology.nodes[end.node].is_machine() {
                let mac = port_mac(end.node as u8 + 1, end.port);
                let plugged = Plugged { mac, mtu: link.mtu, ports };
                self.devices[end.node].push(plugged.device());
                continue;
            }
            let open = || L2tpPort::open(address(ports[0]), address(ports[1]), slab);
            let opened = self.namespace.run(open);
            let entered = opened
                .map_err(|error| Unavailable::because("enter the machines' namespace", error));
            cable = Some((side, Box::new(entered??)));
        }
        Ok(cable)
    }

    /// Boots them all, in their own namespace or in that of the host that they are inside; they are not there
    /// yet.
    pub(super) fn boot(
        self,
        topology: &Topology,
        directory: &Path,
        host: impl Fn(&str) -> Option<Arc<Namespace>>,
    ) -> Result<Vec<Machine>, AssembleError> {
        let Machines { kernel, namespace, devices } = self;
        let nodes = topology.nodes.iter().zip(&devices).filter(|(node, _)| node.is_machine());
        let machines = nodes.filter_map(|(node, devices)| {
            let spec = node.host()?;
            let inside = spec.vector.as_ref().and_then(|vector| host(&vector.inside));
            let namespace = inside.as_ref().unwrap_or(&namespace);
            let booted = Machine::boot(&node.name, &kernel, spec, devices, namespace, directory);
            Some(booted.map_err(failed(&node.name)))
        });
        machines.collect()
    }
}

/// Waits until they are there.
pub(super) fn wait(machines: &mut [Machine]) -> Result<(), AssembleError> {
    for machine in machines {
        let there = machine.wait();
        there.map_err(|unavailable| failed(machine.name())(unavailable))?;
    }
    Ok(())
}
