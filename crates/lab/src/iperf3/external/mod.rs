//! The external device of the iperf3 method: a box on two interfaces of this machine, and its hosts here.
//!
//! ```text
//!  namespace of host a                                                      namespace of host b
//!   t0 198.18.1.2  ═ all frames of ═  eth1 ── cable ── [ ? ] ── cable ── eth2  ═ … ═  t1 198.19.1.2
//!   └ its default: .1 of its network, the device's address (none: one network, the device is a bridge)
//! ```
//!
//! An interface is not moved: each host has a child of it ([`macvlan`](crate::linux::netlink)), which
//! has the interface's own address and gets all of its frames. With the host the child goes, however
//! the program ends, and the interface is as it was: no setting of it is ever changed, its offloads
//! neither. While it is lent, the machine itself hears nothing from it, so one that is in use is
//! lent only if that is allowed.
//!
//! What is connected is set up by its owner. Before anything counts, it must have answered ARP.
//!
//! Never switches an interface on, never raises its MTU: what it does not carry is left out, and said.
//! Missing: **hosts on other machines**, **IPv6**.

// Who is where.
mod ends;
// A host's end of an interface.
mod host_port;

pub use ends::{Ends, HostInterface};
pub(super) use host_port::HostPort;

use super::latency;
use super::maker::Maker;
use super::plan::{Device, Plan};
use super::rig::{Rig, RigError};
use super::{Iperf3Error, Options};
use crate::linux::netlink::Netlink;
use crate::linux::netlink::route::MAIN;
use crate::live::Interrupt;
use port::linux::interface::Interface;
use port::linux::{Namespace, Unavailable};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// What is connected, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct External {
    /// The interfaces, in the hosts' order.
    pub ports: [HostInterface; 2],
    /// Hosts and gateways.
    pub ends: Ends,
    /// Lend interfaces that have addresses, or by which this machine's own traffic goes.
    pub in_use: bool,
    /// What the cables carry on layer 1, bit/s, if somebody said: interfaces do not always know.
    pub link: Option<f64>,
}

/// What the two interfaces are.
pub(super) struct Seen {
    /// Each.
    pub(super) interfaces: [Interface; 2],
    /// What both carry: the smaller MTU.
    pub(super) mtu: u32,
    /// What both carry on layer 1, bit/s; none if one does not tell.
    pub(super) wire: Option<f64>,
}

impl External {
    /// Looks at both interfaces, and touches nothing.
    ///
    /// # Errors
    /// [`Unavailable`]: one is not there, not for this, in use, or without a link.
    pub(super) fn look(&self) -> Result<Seen, Unavailable> {
        let [a, b] = &self.ports;
        let interfaces = [self.look_at(a)?, self.look_at(b)?];
        let [a, b] = &interfaces;
        // What veth says of its speed is made up.
        let speed = |of: &Interface| of.speed_mbps.filter(|_| of.driver != "veth");
        let slower = speed(a).zip(speed(b)).map(|(a, b)| f64::from(a.min(b)) * 1e6);
        Ok(Seen { mtu: a.mtu.min(b.mtu), wire: self.link.or(slower), interfaces })
    }

    fn look_at(&self, port: &HostInterface) -> Result<Interface, Unavailable> {
        let name = port.interface.as_str();
        let unfit = |why: String, remedy: &str| {
            let unfit = Unavailable::because(format!("lend {port}"), io::Error::other(why));
            Err(unfit.remedy(remedy))
        };
        inside(port, || {
            let of = Interface::of(name)?;
            let mut netlink = Netlink::open()?;
            let link = netlink.link(name)?;
            if of.mac.is_none() {
                return unfit("it has no MAC address".to_string(), "take an Ethernet interface");
            }
            if let Some(master) = link.master {
                let links = netlink.links()?;
                let of = links.iter().find(|link| link.index == master);
                let of = of.map_or("another", |link| link.name.as_str());
                return unfit(format!("it is a port of {of}"), "`ip link set … nomaster` first");
            }
            if link.xdp.is_some() {
                return unfit(
                    "an XDP program takes its frames".to_string(),
                    "end whoever has it (wirespeed router?), or `ip link set … xdp off`",
                );
            }
            if !of.up {
                return unfit("it is down".to_string(), "`ip link set … up`");
            }
            if !of.carrier {
                let remedy = "look at the cable, and at what is at its other end";
                return unfit("it has no link".to_string(), remedy);
            }
            if let Some(use_) = in_use(&mut netlink, of.index, name)?.filter(|_| !self.in_use) {
                let remedy = "while it is lent this machine hears nothing from it; where that does \
                              no harm: --allow-in-use";
                return unfit(use_, remedy);
            }
            Ok(of)
        })
    }
}

/// What a machine uses an interface for; `None` if for nothing.
fn in_use(netlink: &mut Netlink, index: u32, name: &str) -> Result<Option<String>, Unavailable> {
    let by_it = |route: &crate::linux::netlink::Route| {
        route.next_hops.iter().any(|hop| hop.interface == index)
    };
    let routes = netlink.routes(MAIN)?;
    let default = routes.iter().any(|route| route.destination.len() == 0 && by_it(route));
    if default {
        return Ok(Some("the machine's default route leads by it".to_string()));
    }
    let addresses = netlink.addresses()?;
    let address = addresses.iter().find(|address| address.interface == index);
    if let Some(of) = address {
        return Ok(Some(format!("it has the address {}/{}", of.address, of.prefix_len)));
    }
    if let Some(route) = routes.iter().find(|route| by_it(route)) {
        return Ok(Some(format!("a route leads by it, to {}", route.destination)));
    }
    let six = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    Ok(global_six(&six, name).map(|address| format!("it has the address {address}")))
}

/// An interface's first IPv6 address that it has not made up itself (fe80::/10), by the text of
/// `/proc/net/if_inet6`.
fn global_six(text: &str, name: &str) -> Option<Ipv6Addr> {
    let of = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, .., interface] = words.as_slice() else { return None };
        let bits = u128::from_str_radix(address, 16).ok().filter(|_| *interface == name)?;
        Some(Ipv6Addr::from_bits(bits))
    });
    of.into_iter().find(|address| !address.is_unicast_link_local())
}

/// Does something where an interface is.
fn inside<T: Send>(
    port: &HostInterface,
    f: impl FnOnce() -> Result<T, Unavailable> + Send,
) -> Result<T, Unavailable> {
    let Some(name) = &port.namespace else { return f() };
    let entered = Namespace::open(name)?.run(f);
    entered.map_err(|error| {
        Unavailable::because(format!("enter the network namespace {name}"), error)
    })?
}

/// How long what is connected may take to pass its first packet: it has had its link for a while.
const SETTLES: Duration = Duration::from_secs(5);
/// How long to look who does not answer.
const ASKED: Duration = Duration::from_secs(2);

/// What starting a ping may take, on a busy machine.
const GRACE: Duration = Duration::from_secs(20);

/// Two hosts, and what is connected between them.
///
/// # Errors
/// [`RigError`]; nothing is left then.
pub(super) fn rig(
    plan: &Plan,
    options: &Options,
    external: &External,
    mtu: u32,
    place: &super::processors::Processors,
) -> Result<Rig, RigError> {
    let seen = external.look()?;
    let mut maker = Maker { commands: Vec::new(), facts: place.facts(plan, Device::External) };
    let hosts = [Namespace::new()?, Namespace::new()?];
    let mut lent = Vec::new();
    // Interfaces that are slower than the plan's link are the wire themselves.
    let wire = seen.wire.filter(|wire| plan.link.is_none_or(|link| *wire <= link));
    let shaped = Plan { link: plan.link.filter(|_| wire.is_none()), ..plan.clone() };
    for (at, end) in super::rig::ENDS.into_iter().enumerate() {
        let (port, of) = (&external.ports[at], &seen.interfaces[at]);
        lent.push(HostPort::new(port, &hosts[at], end, mtu)?);
        maker.commands.push(format!(
            "ip link add link {} name {end} mtu {mtu} type macvlan mode passthru nopromisc",
            port.interface
        ));
        maker.facts.push(about(port, of));
        let (host, length) = external.ends.hosts[at];
        maker.lent(&hosts[at], end, (host, length), &shaped)?;
        if let Some(gateways) = external.ends.gateways {
            maker.route(&hosts[at], end, external.ends.network(1 - at), gateways[at])?;
        }
    }
    maker.facts.push(match (wire, shaped.link) {
        (Some(bps), _) => format!("the interfaces are the wire: {} Mbit/s, unshaped", bps / 1e6),
        (None, Some(bps)) => format!("what hosts send is shaped to {} Mbit/s (L1)", bps / 1e6),
        (None, None) => "the wire's rate is not known: the interfaces do not tell".to_string(),
    });
    settle(external, &hosts, &mut maker, &options.interrupt)?;
    // What is left to others, or joined on its way up, is counted joined.
    let counts =
        !(plan.offloads || seen.interfaces[1].offloads.gro || seen.interfaces[1].offloads.lro);
    let setup = maker.setup(Device::External, mtu);
    let addresses = external.ends.hosts.map(|(host, _)| host);
    let link_mbps = wire.or(shaped.link).map(|bps| bps / 1e6);
    Ok(Rig::external(lent, hosts, addresses, (link_mbps, counts), setup))
}

/// What an interface is, in words.
fn about(port: &HostInterface, of: &Interface) -> String {
    let speed = of.speed_mbps.map_or("no speed".to_string(), |mbps| format!("{mbps} Mbit/s"));
    let bus = if of.bus.is_empty() { String::new() } else { format!(", {}", of.bus) };
    let on = of.offloads.on().join(", ");
    let on = if on.is_empty() { "none" } else { &on };
    format!("{port} ({}{bus}, {speed}, MTU {}): offloads on: {on}; as they were", of.driver, of.mtu)
}

/// Waits until packets come through, and writes down who answered.
fn settle(
    external: &External,
    hosts: &[Namespace; 2],
    maker: &mut Maker,
    interrupt: &Interrupt,
) -> Result<(), RigError> {
    let ends = external.ends;
    let next = |at: usize| ends.gateways.map_or(ends.hosts[1 - at].0, |gateways| gateways[at]);
    let ping = |at: usize, to: Ipv4Addr, limit: Duration| -> Result<bool, RigError> {
        let command = format!("ping -c 1 -w {} {to}", limit.as_secs());
        let said = latency::run(&hosts[at], &command, limit + GRACE, interrupt);
        let said = said.map_err(|error| match error {
            Iperf3Error::Interrupted => RigError::Interrupted,
            error => RigError::Command(command, error.to_string()),
        })?;
        Ok(measure::iperf3::pings(&said).is_some_and(|(_, times)| !times.is_empty()))
    };
    let comes_through = ping(0, ends.hosts[1].0, SETTLES)?;
    for (at, host) in hosts.iter().enumerate() {
        if !comes_through {
            // Whoever does not answer pings answers ARP.
            let _ = ping(at, next(at), ASKED)?;
        }
        let neighbours = Netlink::open_in(host)?.neighbours()?;
        let mac = neighbours.iter().find(|of| of.address == next(at)).and_then(|of| of.mac);
        let Some(mac) = mac else {
            return Err(RigError::NobodyThere(next(at), external.ports[at].to_string()));
        };
        maker.facts.push(format!("{} is at {mac}, seen by {}", next(at), external.ports[at]));
    }
    if !comes_through {
        let (a, b) = (ends.hosts[0].0, ends.hosts[1].0);
        maker.facts.push(format!("no ping from {a} to {b} is answered"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_were_given() {
        let text = "fe80000000000000d0b2dffffee09dc0 03 40 20 80     eth1\n\
                    20010db8000000000000000000000001 02 40 00 80     eth2\n";
        assert_eq!(global_six(text, "eth1"), None);
        assert_eq!(global_six(text, "eth2").unwrap().to_string(), "2001:db8::1");
    }
}
