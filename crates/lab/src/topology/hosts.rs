//! A node of `kind: linux` or `uml`, and its interfaces.
//!
//! ```yaml
//! pc:
//!   kind: linux
//!   addresses: { eth1: [192.168.88.10/24, 192.168.88.11/24], lo: 10.9.9.9/32 }
//!   gateway: 192.168.88.1
//!   routes: { 10.0.0.0/8: 192.168.88.2 }
//!   offloads: on                      # if it is to leave checksums and segments to others
//!   exec:                             # before the first step
//!     - sysctl -w net.ipv4.icmp_echo_ignore_broadcasts=0
//! trunk:
//!   kind: uml                         # the same with a kernel of its own, and without offloads
//!   modules: [8021q, bridge]          # which that kernel is to load
//! far:
//!   kind: uml
//!   inside: pc                        # a program of that host, whose interface eth1 is
//!   vector: transport=l2tpv3,src=192.168.88.10,dst=192.168.88.1,rx_session=1,tx_session=2
//! ```
//!
//! Its interfaces are those that the links name.

use super::read::Layers;
use super::words::words;
use super::yaml::{Fault, Node};
use super::{Backend, HostSpec, Vector};
use std::net::Ipv4Addr;
use wire::Ipv4Prefix;

/// What a host has of its own.
pub(super) const KEYS: [&str; 4] = ["addresses", "gateway", "routes", "exec"];
/// What only one of the kinds has.
pub(super) const LINUX_KEYS: [&str; 1] = ["offloads"];
pub(super) const UML_KEYS: [&str; 3] = ["modules", "inside", "vector"];

/// The longest name of an interface.
const LONGEST: usize = 15;

/// A host without its interfaces and their addresses: these need the links.
pub(super) fn read(layers: &Layers<'_>) -> Result<HostSpec, Fault> {
    let mut host = HostSpec::default();
    if let Some(node) = layers.get("gateway") {
        host.routes.push((Ipv4Prefix::ALL, address(node)?));
    }
    for (key, value) in layers.get("routes").map_or(Ok(Vec::new()), Node::entries)? {
        let (base, length) = prefix(key)?;
        let destination = Ipv4Prefix::new(base.into(), length);
        if destination.bits() != u32::from(base) {
            let right = Ipv4Addr::from(destination.bits());
            return Err(key.fault(format!("the prefix of that length is {right}/{length}")));
        }
        if host.routes.iter().any(|(other, _)| *other == destination) {
            return Err(key.fault("there is a route to it already: the gateway's"));
        }
        host.routes.push((destination, address(value)?));
    }
    host.offloads = layers.get("offloads").map_or(Ok(false), switch)?;
    for line in layers.get("exec").map_or(Ok(&[][..]), Node::list)? {
        host.exec.push(words(line)?);
    }
    for node in layers.get("modules").map_or(Ok(&[][..]), Node::list)? {
        host.modules.push(module(node)?);
    }
    if let Some(node) = layers.get("vector") {
        let Some(inside) = layers.get("inside") else {
            return Err(
                node.fault("inside is missing: the node of kind linux whose network it uses")
            );
        };
        let (inside, device) = (inside.text()?.to_string(), node.text()?.to_string());
        host.vector = Some(Vector { inside, device });
        host.interfaces.push("eth1".to_string());
    } else if let Some(node) = layers.get("inside") {
        return Err(node.fault("vector is missing: what the kernel is told of its interface"));
    }
    // Whether the interfaces are there is known when the links are.
    for (_, value) in layers.get("addresses").map_or(Ok(Vec::new()), Node::entries)? {
        each(value).iter().try_for_each(|node| prefix(node).map(drop))?;
    }
    Ok(host)
}

/// Its addresses, now that its interfaces are known.
pub(super) fn give_addresses(
    host: &mut HostSpec,
    name: &str,
    layers: &Layers<'_>,
) -> Result<(), Fault> {
    for (key, value) in layers.get("addresses").map_or(Ok(Vec::new()), Node::entries)? {
        let interface = key.text()?;
        let at = match host.interfaces.iter().position(|other| other == interface) {
            None if interface == "lo" => None,
            None => {
                let there = [&host.interfaces[..], &["lo".to_string()]].concat().join(", ");
                let why = format!("no cable goes to {name}:{interface}; its interfaces: {there}");
                return Err(key.fault(why));
            }
            at => at,
        };
        for node in each(value) {
            let (address, length) = prefix(node)?;
            host.addresses.push((at, address, length));
        }
    }
    let gateways = layers.get("routes").map_or(Ok(Vec::new()), Node::entries)?;
    for node in layers.get("gateway").into_iter().chain(gateways.into_iter().map(|(_, node)| node))
    {
        if host.interface_to(address(node)?).is_none() {
            return Err(node.fault(format!("{name} has no address of this gateway's network")));
        }
    }
    Ok(())
}

/// The place of this interface among a host's, from 1; it is made if it is not there.
pub(super) fn interface(host: &mut HostSpec, node: &Node, name: &str) -> Result<usize, Fault> {
    if let Some(at) = host.interfaces.iter().position(|other| other == name) {
        return Ok(at + 1);
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(legal) || name == "lo" {
        let why = format!("an interface is 1 to {LONGEST} letters, digits, - _ or ., and not lo");
        return Err(node.fault(why));
    }
    host.interfaces.push(name.to_string());
    Ok(host.interfaces.len())
}

pub(super) fn backend(node: &Node) -> Result<Backend, Fault> {
    match node.text()? {
        "xdp" => Ok(Backend::Xdp),
        "packet" => Ok(Backend::Packet),
        "tap" => Ok(Backend::Tap),
        other => Err(node.fault(format!("{other} is no backend; legal: xdp, packet, tap"))),
    }
}

/// What stands here, one or a list of them.
fn each(node: &Node) -> &[Node] {
    if node.is_list() { node.list().unwrap_or(&[]) } else { std::slice::from_ref(node) }
}

pub(super) fn switch(node: &Node) -> Result<bool, Fault> {
    match node.text()? {
        "on" | "yes" | "true" => Ok(true),
        "off" | "no" | "false" => Ok(false),
        other => Err(node.fault(format!("{other} is neither on nor off"))),
    }
}

/// A module's name. Whether the kernel has it is known when it is looked for.
fn module(node: &Node) -> Result<String, Fault> {
    let text = node.text()?;
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if text.starts_with('-') || !text.chars().all(legal) {
        return Err(node.fault("a module is letters, digits, - or _, as in lsmod: 8021q"));
    }
    Ok(text.to_string())
}

fn address(node: &Node) -> Result<Ipv4Addr, Fault> {
    let address = node.text()?.parse();
    address.map_err(|_| node.fault("an IPv4 address is wanted here: 192.168.88.1"))
}

fn prefix(node: &Node) -> Result<(Ipv4Addr, u8), Fault> {
    let parts = node.text()?.split_once('/');
    let read = parts.and_then(|(address, length)| {
        let length: u8 = length.parse().ok().filter(|length| *length <= 32)?;
        Some((address.parse().ok()?, length))
    });
    read.ok_or_else(|| node.fault("an IPv4 address and a length are wanted here: 192.168.88.1/24"))
}
