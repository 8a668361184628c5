//! The router's ports, addresses and neighbours for the traffic generator in the same box, which uses
//! them but not its packet flow.
//!
//! ```text
//! port ─► receive ─► [ beside: takes its own ] ─► packet flow ─► send ─► port
//!                         └─ route_to, neighbour_mac: as the router's own packets would go
//! ```
//!
//! What is taken was received and is counted on its interface; nothing else of the router sees it.

use crate::flow;
use crate::interface::InterfaceId;
use crate::ip::address;
use crate::ip::neighbour::Want;
use crate::ip::route::Target;
use crate::ipv6;
use crate::program::Kind;
use crate::router::Router;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{MacAddr, Moment};

impl Router {
    /// The ports in their order: name and MAC address.
    pub fn port_names(&self) -> impl Iterator<Item = (&str, MacAddr)> {
        let interfaces = self.program.ports.iter().map(|&id| self.program.interface(id));
        interfaces.map(|interface| (&*interface.name, interface.mac))
    }

    /// The port that has this address; `None` if none has, or another kind of interface.
    pub fn port_with(&self, address: IpAddr) -> Option<usize> {
        let interface = match address {
            IpAddr::V4(address) => {
                let mut own = self.program.addresses.iter();
                own.find(|own| own.address == u32::from(address))?.interface
            }
            IpAddr::V6(address) => {
                let mut own = self.program.v6.addresses.iter();
                own.find(|own| own.address == u128::from(address))?.interface
            }
        };
        self.port_of(interface)
    }

    /// The address a port would send from to `toward`.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn source_at(&self, port: usize, toward: IpAddr) -> Option<IpAddr> {
        let (program, interface) = (&self.program, self.program.ports[port]);
        match toward {
            IpAddr::V4(toward) => {
                let own = address::source(&program.addresses, interface, toward.into());
                own.map(|own| Ipv4Addr::from(own).into())
            }
            IpAddr::V6(toward) => {
                let own = ipv6::address::source(&program.v6.addresses, interface, toward.into());
                own.map(|own| Ipv6Addr::from(own).into())
            }
        }
    }

    /// By which port, and to which neighbour, packets to this address go; `None` if no route leads
    /// there, or by another kind of interface.
    pub fn route_to(&self, address: IpAddr) -> Option<(usize, IpAddr)> {
        fn way<A: Copy>(target: &Target<A>, address: A) -> Option<(InterfaceId, A)> {
            match target {
                Target::Connected(interface) => Some((*interface, address)),
                Target::Gateways(ways) => ways.first().copied(),
                _ => None,
            }
        }
        let (interface, neighbour) = match address {
            IpAddr::V4(address) => {
                let target = self.v4.routes.target(self.v4.routes.lookup(address.into()))?;
                let (interface, hop) = way(target, address.into())?;
                (interface, Ipv4Addr::from(hop).into())
            }
            IpAddr::V6(address) => {
                let target = self.program.v6.routes.lookup(address.into())?;
                let (interface, hop) = way(target, address.into())?;
                (interface, Ipv6Addr::from(hop).into())
            }
        };
        Some((self.port_of(interface)?, neighbour))
    }

    /// The MAC address of a neighbour behind a port. If it is not known, the next breath asks for
    /// it, and whoever wants it asks again later.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn neighbour_mac(&mut self, now: Moment, port: usize, address: IpAddr) -> Option<MacAddr> {
        let interface = self.program.ports[port];
        let address = match address {
            IpAddr::V4(address) => u32::from(address),
            IpAddr::V6(address) => return self.neighbour6_mac(now, interface, address.into()),
        };
        match self.v4.neighbours.want(now, interface, address) {
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

    fn neighbour6_mac(
        &mut self,
        now: Moment,
        interface: InterfaceId,
        address: u128,
    ) -> Option<MacAddr> {
        match self.v6.neighbours.want(now, interface, address) {
            Want::Ready(id) => self.v6.neighbours.mac(id),
            Want::Wait(_, request) => {
                if let Some(request) = request {
                    flow::v6::solicit(self, now, request);
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
            Kind::Ethernet { port } => {
                Some(port as usize).filter(|port| *port < self.io.ports.len())
            }
            _ => None,
        }
    }
}
