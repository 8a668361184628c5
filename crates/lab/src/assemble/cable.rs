//! A router's end of a cable, in a lab with hosts: to a host, or to another router.
//!
//! ```text
//! xdp, packet   port ─ etherN ══ veth pair ══ eth1 ─ host's kernel
//!               (in a namespace of the router's, where no kernel answers)
//! tap           port ═════════════════════════ eth1 ─ host's kernel
//! memory        ring ═════════════════════════ ring ─ the other router, woken by what is sent
//! ```
//!
//! Unless the lab says which, a host with offloads gets a tap, which takes frames as they are, and
//! one without gets AF_XDP, or AF_PACKET where that cannot be had. Which it became is remarked.

use super::RING;
use crate::alarm::Alarm;
use crate::host::LinuxHost;
use crate::linux::netlink::{End, Netlink};
use crate::topology::{Backend, LinkSpec};
use port::linux::interface::{Offloads, set_offloads};
use port::linux::packet::{self, PacketPort};
use port::linux::tap::{self, TapPort};
use port::linux::xdp::{self, XdpPort};
use port::linux::{Namespace, Unavailable};
use port::{Batch, Capabilities, MemoryPort, Pool, Port, PortCounters, Slab, memory};
use wire::{MacAddr, Moment};

/// Any router's end of a cable.
pub(super) type Cable = Box<dyn Port + Send>;

/// The router's port of a cable to a host.
pub(super) struct Jack<'a> {
    /// Where its end of a veth pair is.
    pub(super) namespace: &'a Namespace,
    /// Its name there and in the router: `ether1`.
    pub(super) name: &'a str,
    /// Its address.
    pub(super) mac: MacAddr,
}

/// The host's interface of a cable to a router.
pub(super) struct Plug<'a> {
    pub(super) host: &'a LinuxHost,
    pub(super) interface: &'a str,
    /// Whether it leaves checksums and segments to others.
    pub(super) offloads: bool,
}

/// Makes a cable between a host and a router; what it became, in words.
///
/// # Errors
/// [`Unavailable`]: what the kernel refuses.
pub(super) fn to_host(
    link: &LinkSpec,
    plug: &Plug<'_>,
    jack: &Jack<'_>,
    slab: &Slab,
) -> Result<(Cable, String), Unavailable> {
    match link.backend {
        Some(Backend::Tap) => tap(link, plug, slab),
        None if plug.offloads => tap(link, plug, slab),
        Some(Backend::Packet) => {
            veth(link, plug, jack)?;
            packet(jack, plug.offloads, slab)
        }
        Some(Backend::Xdp) => {
            veth(link, plug, jack)?;
            xdp(jack, slab)
        }
        None => {
            veth(link, plug, jack)?;
            xdp(jack, slab).or_else(|unavailable| {
                let (cable, facts) = packet(jack, false, slab)?;
                Ok((cable, format!("{facts} ({unavailable})")))
            })
        }
    }
}

/// A veth pair: up and silent at the router's end.
fn veth(link: &LinkSpec, plug: &Plug<'_>, jack: &Jack<'_>) -> Result<(), Unavailable> {
    let a = End {
        name: plug.interface,
        namespace: Some(plug.host.namespace()),
        mtu: link.mtu,
        ..End::default()
    };
    // One queue: frames of others would have to be waited for as well.
    let b = End {
        name: jack.name,
        namespace: Some(jack.namespace),
        mac: Some(jack.mac),
        queues: Some(1),
        mtu: link.mtu,
    };
    Netlink::open_in(a.namespace.unwrap_or(jack.namespace))?.add_veth(&a, &b)?;
    if !plug.offloads {
        inside(jack, || set_offloads(jack.name, Offloads::NONE))?;
    }
    let mut netlink = Netlink::open_in(jack.namespace)?;
    netlink.set_silent(jack.name)?;
    netlink.set_up(jack.name, true)
}

fn xdp(jack: &Jack<'_>, slab: &Slab) -> Result<(Cable, String), Unavailable> {
    let port = inside(jack, || XdpPort::open(jack.name, slab, &xdp::Options::default()))?;
    let facts = port.facts().to_string();
    Ok((Box::new(port), facts))
}

fn packet(jack: &Jack<'_>, offload: bool, slab: &Slab) -> Result<(Cable, String), Unavailable> {
    let options = packet::Options { offload, ..packet::Options::default() };
    let port = inside(jack, || PacketPort::open(jack.name, slab, &options))?;
    let facts = format!("{}: AF_PACKET{}", jack.name, handed_on(offload));
    Ok((Box::new(port), facts))
}

fn tap(link: &LinkSpec, plug: &Plug<'_>, slab: &Slab) -> Result<(Cable, String), Unavailable> {
    let mtu = link.mtu.map(|mtu| mtu as u16);
    let options = tap::Options { offload: plug.offloads, mtu, ..tap::Options::default() };
    let opened = plug.host.namespace().run(|| TapPort::open(plug.interface, slab, &options));
    let port =
        opened.map_err(|error| Unavailable::because("enter the host's namespace", error))??;
    let facts = format!("TAP{}", handed_on(port.facts().offload));
    Ok((Box::new(port), facts))
}

/// What a host with offloads leaves to others goes through the router as it is.
fn handed_on(offload: bool) -> &'static str {
    if offload { ", checksums and segments left to do are handed on" } else { "" }
}

/// Does something where the router's interfaces are.
fn inside<T: Send>(
    jack: &Jack<'_>,
    f: impl FnOnce() -> Result<T, Unavailable> + Send,
) -> Result<T, Unavailable> {
    let entered = jack.namespace.run(f);
    entered.map_err(|error| Unavailable::because("enter the router's namespace", error))?
}

/// A cable between two routers that sleep until frames come: their alarms.
pub(super) fn memory(alarms: [Alarm; 2]) -> [Cable; 2] {
    let (a, b) = memory::wire(RING);
    let [to_a, to_b] = alarms;
    [Box::new(Ringing { port: a, peer: to_b }), Box::new(Ringing { port: b, peer: to_a })]
}

/// One end of a memory cable, which wakes whoever is at the other.
struct Ringing {
    port: MemoryPort,
    peer: Alarm,
}

impl Port for Ringing {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.port.receive(now, pool, batch)
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        self.port.send(now, pool, batch);
        self.peer.ring();
    }

    fn counters(&self) -> PortCounters {
        self.port.counters()
    }

    fn capabilities(&self) -> Capabilities {
        self.port.capabilities()
    }
}
