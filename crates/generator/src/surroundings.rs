//! The generator's surroundings: interfaces, addresses and neighbours of the box it is part of.

use std::net::IpAddr;
use wire::{MacAddr, Moment};

/// One of the box's ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its MAC address.
    pub mac: MacAddr,
}

/// The box. Ports are named by their index among those that
/// [`Generator::poll`](super::Generator::poll) gets.
pub trait Surroundings {
    /// The ports, in their order.
    fn interfaces(&self) -> Vec<Interface>;

    /// The port that has this address.
    fn owner(&self, address: IpAddr) -> Option<usize>;

    /// The address a port would send from to `toward`.
    fn source(&self, port: usize, toward: IpAddr) -> Option<IpAddr>;

    /// By which port, and to which neighbour, packets to this address go; `None` if there is no
    /// route, or it leads elsewhere than out of a port.
    fn route(&self, to: IpAddr) -> Option<(usize, IpAddr)>;

    /// The MAC address of a neighbour. If it is not known the box begins to ask (ARP, neighbour
    /// discovery), and this is called again a little later.
    fn resolve(&mut self, now: Moment, port: usize, address: IpAddr) -> Option<MacAddr>;
}
