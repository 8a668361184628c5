//! What stands beside the router in the same box: a traffic generator that uses its ports, its
//! addresses and its neighbours, but not its packet flow.
//!
//! ```text
//! port ─► receive ─► [ beside: takes its own ] ─► packet flow ─► send ─► port
//!                         └─ route_to, neighbour_mac: as the router's own packets would go
//! ```
//!
//! What is taken was received and is counted on its interface; nothing else of the router sees it.

use crate::interface::InterfaceId;
use crate::ip::address;
use crate::ip::neighbour::Want;
use crate::ip::route::Target;
use crate::program::Kind;
use crate::router::Router;
use wire::{MacAddr, Moment};

impl Router {
    /// The ports in their order: name and MAC address.
    pub fn port_names(&self) -> impl Iterator<Item = (&str, MacAddr)> {
        let interfaces = self.program.ports.iter().map(|&id| self.program.interface(id));
        interfaces.map(|interface| (interface.name.as_str(), interface.mac))
    }

    /// The port that has this address; `None` if none has, or another kind of interface.
    pub fn port_with(&self, address: u32) -> Option<usize> {
        let own = self.program.addresses.iter().find(|own| own.address == address)?;
        self.port_of(own.interface)
    }

    /// The address a port would send from to `toward`.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn source_at(&self, port: usize, toward: u32) -> Option<u32> {
        address::source(&self.program.addresses, self.program.ports[port], toward)
    }

    /// By which port, and to which neighbour, packets to this address go; `None` if no route leads
    /// there, or by another kind of interface.
    pub fn route_to(&self, address: u32) -> Option<(usize, u32)> {
        let (interface, neighbour) = match self.v4.routes.target(self.v4.routes.lookup(address))? {
            Target::Connected(interface) => (*interface, address),
            Target::Gateways(ways) => *ways.first()?,
            _ => return None,
        };
        Some((self.port_of(interface)?, neighbour))
    }

    /// The MAC address of a neighbour behind a port. If it is not known, the next breath asks for
    /// it, and whoever wants it asks again later.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn neighbour_mac(&mut self, now: Moment, port: usize, address: u32) -> Option<MacAddr> {
        match self.v4.neighbours.want(now, self.program.ports[port], address) {
            Want::Ready(id) => self.v4.neighbours.mac(id),
            Want::Wait(_, request) => {
                if let Some(request) = request {
                    self.send_arp_request(now, request);
                    self.tools.sent = true;
                }
                None
            }
            Want::Full => None,
        }
    }

    /// Counts what was sent by a port beside the router. Bytes are L2 without FCS.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn count_sent(&mut self, port: usize, packets: u64, bytes: u64) {
        let tx = &mut self.stats.interface_counts[self.program.ports[port].index()].tx;
        tx.packets += packets;
        tx.bytes += bytes;
    }

    fn port_of(&self, interface: InterfaceId) -> Option<usize> {
        match self.program.interface(interface).kind {
            Kind::Ethernet { port } if port < self.io.ports.len() => Some(port),
            _ => None,
        }
    }
}
