//! From what `--port` says to a way to the interface.
//!
//! ```text
//!  PortSpec ─► its namespace ─► claim ─► backend's open ─► Opened: a line for each queue
//! ```
//!
//! What an interface is is looked at first ([`look`]), before anything is touched: the router's
//! ports have its addresses.

use super::claim::Claim;
use super::hot_plug::Line;
use super::running::SUPER_FRAME;
use super::spec::{Backend, PortSpec};
use crate::linux::netlink::{Netlink, Tun};
use crate::linux::others;
use crate::linux::tap::User;
use crate::linux::veth;
use port::linux::bpf::Mode;
use port::linux::interface::Interface;
use port::linux::packet::{self, PacketPort};
use port::linux::promiscuous::Promiscuous;
use port::linux::tap::{self, TapPort};
use port::linux::xdp::{self, QueueWatch, XdpPort};
use port::linux::{Kernels, Namespace, Unavailable};
use port::slab::Slots;
use port::{Capabilities, Offloads, Slab};
use rustix::io::Errno;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use wire::MacAddr;

/// An interface that is ours.
pub struct Opened {
    /// A way to each of its queues, if they can be told apart; never empty.
    pub lines: Vec<Line>,
    /// What it became, in words.
    pub facts: String,
    /// Its number in its namespace.
    pub index: u32,
    /// The lock on it.
    pub(super) claim: Claim,
    /// What the kernel keeps of it.
    pub(super) kernels: Option<Kernels>,
    /// A card lets only frames for its own address through, unless it is asked: a bridge's port
    /// wants all.
    pub(super) promiscuous: Option<Promiscuous>,
    /// Whether it has other queues by now.
    pub(super) queues: Option<QueueWatch>,
}

impl Opened {
    /// With nothing besides.
    fn of(lines: Vec<Line>, facts: String, index: u32, claim: Claim) -> Opened {
        let (kernels, promiscuous, queues) = (None, None, None);
        Opened { lines, facts, index, claim, kernels, promiscuous, queues }
    }
}

/// What an interface is before it is opened.
#[derive(Clone, Debug)]
pub struct Look {
    /// The address of the router's port there.
    pub mac: MacAddr,
    /// What it carries.
    pub mtu: u32,
    /// The queues it receives by.
    pub queues: u32,
}

/// What stands before a packet: Ethernet's header and two tags.
pub(crate) const HEADER: usize = 14 + 8;
/// What the kernel gives to a tap that it makes.
const NEW_TAP_MTU: u32 = 1500;

/// Looks at an interface. A tap that is yet to be made will be as it is told.
///
/// # Errors
/// [`Unavailable`]: there is none, or it is no Ethernet interface.
pub fn look(spec: &PortSpec) -> Result<Look, Unavailable> {
    if spec.backend == Backend::Tap {
        // The kernel's end has the interface's address; ours is another.
        let (mac, queues) = (made_up(spec), spec.options.queues.unwrap_or(1));
        let mtu = match inside(spec, || Ok(Interface::of(&spec.interface).ok()))? {
            Some(there) => there.mtu,
            None => NEW_TAP_MTU,
        };
        return Ok(Look { mac, mtu, queues });
    }
    let interface = interface(spec)?;
    let Some(mac) = interface.mac else {
        let error = io::Error::other("it has no MAC address");
        let tried = format!("use {} as a port", spec.interface);
        return Err(Unavailable::because(tried, error).remedy("take an Ethernet interface"));
    };
    Ok(Look { mac, mtu: interface.mtu, queues: interface.queues.rx })
}

/// All that the system tells of a port's interface.
///
/// # Errors
/// [`Unavailable`]: there is none.
pub fn interface(spec: &PortSpec) -> Result<Interface, Unavailable> {
    inside(spec, || Interface::of(&spec.interface))
}

/// Opens an interface for frames of `slab`.
///
/// # Errors
/// [`Unavailable`]: somebody else has it, or whatever the backend says.
pub fn open(spec: &PortSpec, slab: &Slab) -> Result<Opened, Unavailable> {
    inside(spec, || match spec.backend {
        Backend::Xdp => open_xdp(spec, slab),
        Backend::Tap => open_tap(spec, slab),
        Backend::Packet => open_packet(spec, slab),
    })
}

/// How many of such frames a ring of AF_XDP has without being told: of 64 KiB each not as many as of 2.
pub(super) fn ring(slots: Slots) -> u32 {
    if slots.max_frame() < SUPER_FRAME { xdp::Options::default().ring } else { 512 }
}

/// What ports of this kind can do, at least.
pub fn capabilities(spec: &PortSpec, slots: Slots) -> Capabilities {
    let max_frame = slots.max_frame() as u16;
    let plain = Capabilities { max_frame, ..Capabilities::default() };
    if spec.options.offload != Some(true) {
        return plain;
    }
    // Super-frames of UDP are cut by the router, whatever the kernel could do: there are few.
    let offload = Offloads { checksum: true, tcp: true, udp: false };
    Capabilities { fast_path_rx: false, offload, ..plain }
}

fn open_tap(spec: &PortSpec, slab: &Slab) -> Result<Opened, Unavailable> {
    let options = tap::Options {
        queues: spec.options.queues.unwrap_or(1),
        offload: spec.options.offload == Some(true),
        ..tap::Options::default()
    };
    let port = TapPort::open(&spec.interface, slab, &options).map_err(|why| owned(why, spec))?;
    let tap::Facts { name, index, queues, offload, made, .. } = port.facts().clone();
    let made = if made { "made" } else { "found" };
    let offload = if offload { "offload" } else { "no offload" };
    let facts = format!("{name} (tap, {made}): queues {queues}, {offload}");
    let claim = Claim::take(&spec.interface, index)?;
    let lines = port.queues().into_iter().map(|port| Box::new(port) as Line).collect();
    Ok(Opened::of(lines, facts, index, claim))
}

/// The TAP interface of this name as the system knows it, if it is there.
pub fn tun(spec: &PortSpec) -> Option<Tun> {
    inside(spec, || Netlink::open()?.link(&spec.interface)).ok()?.tun
}

/// Who lacks the rights for a TAP interface is told whose it is.
fn owned(why: Unavailable, spec: &PortSpec) -> Unavailable {
    if why.error.kind() != io::ErrorKind::PermissionDenied {
        return why;
    }
    // In its namespace already.
    let link = Netlink::open().and_then(|mut netlink| netlink.link(&spec.interface));
    let tun = link.ok().and_then(|link| link.tun);
    let also = User::ours().remedy(&spec.interface, tun.as_ref());
    let rights = why.remedy.as_deref().unwrap_or("run as root").to_string();
    why.remedy(format!("{also}; or {rights}"))
}

fn open_packet(spec: &PortSpec, slab: &Slab) -> Result<Opened, Unavailable> {
    let interface = Interface::of(&spec.interface)?;
    let claim = Claim::take(&interface.name, interface.index)?;
    let default = packet::Options::default();
    let options = packet::Options {
        queues: spec.options.queues.unwrap_or(default.queues),
        ring: spec.options.ring.unwrap_or(default.ring),
        offload: spec.options.offload == Some(true),
        alone: true,
        kernel: spec.options.kernel == Some(true),
    };
    let port = PacketPort::open(&interface.name, slab, &options)?;
    let offload = if options.offload { "offload" } else { "no offload" };
    let alone = match port.alone() {
        Ok(_) if options.kernel => "the kernel's addresses left to it".to_string(),
        Ok(_) => "past the kernel's stack".to_string(),
        Err(why) if spec.options.kernel == Some(false) => {
            let tried = format!("keep the frames of {} from the kernel's stack", interface.name);
            let why = Unavailable::because(tried, io::Error::other(why.to_string()));
            return Err(why.remedy("leave out kernel=no, and give the interface no addresses"));
        }
        Err(why) => format!(
            "the kernel's stack has the frames too, and with net.ipv4.ip_forward forwards them once \
             more: {why}"
        ),
    };
    let (name, sockets) = (&interface.name, options.queues);
    let facts = format!("{name} (packet): sockets {sockets}, {offload}, {alone}");
    let kernels = port.kernels();
    let lines = port.queues().into_iter().map(|port| Box::new(port) as Line).collect();
    Ok(Opened { kernels, ..Opened::of(lines, facts, interface.index, claim) })
}

fn open_xdp(spec: &PortSpec, slab: &Slab) -> Result<Opened, Unavailable> {
    let interface = Interface::of(&spec.interface)?;
    if let Some(wanted) = spec.options.queues.filter(|&n| n != interface.queues.rx) {
        let Interface { name, queues, .. } = &interface;
        let error = io::Error::other(format!("it receives by {}", queues.rx));
        let tried = format!("have {wanted} queues of {name}");
        let inside = veth::inside(spec.namespace.as_deref());
        let remedy = queues_remedy(&interface, wanted, &inside);
        return Err(Unavailable::because(tried, error).remedy(remedy));
    }
    let claim = Claim::take(&interface.name, interface.index)?;
    let default = xdp::Options::default();
    let options = xdp::Options {
        mode: spec.options.native.map(|is| if is { Mode::Native } else { Mode::Generic }),
        zero_copy: spec.options.copy.map(|copy| !copy),
        ring: spec.options.ring.unwrap_or(ring(slab.slots())),
        kernel: spec.options.kernel == Some(true),
        ..default
    };
    let named = |why| named(why, &interface);
    let promiscuous = Some(Promiscuous::hold(interface.index).map_err(named)?);
    let port = XdpPort::open(&interface.name, slab, &options);
    let port = port.map_err(|why| fewer_queues(why, spec, &interface)).map_err(named)?;
    let queues = port.watch_queues().map_err(|error| {
        Unavailable::because(format!("watch the queues of {}", interface.name), error)
    })?;
    let (facts, kernels) = (port.facts().to_string(), port.kernels());
    let lines = port.queues().into_iter().map(|port| Box::new(port) as Line).collect();
    let opened = Opened::of(lines, facts, interface.index, claim);
    Ok(Opened { kernels, promiscuous, queues: Some(queues), ..opened })
}

/// That a veth has too few queues for native XDP, in numbers and with the command, if its other end
/// is seen.
fn fewer_queues(why: Unavailable, spec: &PortSpec, interface: &Interface) -> Unavailable {
    if interface.driver != "veth" || why.error.raw_os_error() != Some(Errno::NOSPC.raw_os_error()) {
        return why;
    }
    let link = Netlink::open().and_then(|mut netlink| netlink.link(&interface.name));
    let end = link.ok().and_then(|link| {
        veth::other_end(&link, spec.namespace.as_deref(), std::slice::from_ref(spec))
    });
    match veth::fewer_queues(interface, end.as_ref()) {
        Some((is, advice)) => Unavailable::because(why.tried, io::Error::other(is)).remedy(advice),
        None => why,
    }
}

/// What helps against an interface's having another number of queues than is wanted.
pub(crate) fn queues_remedy(interface: &Interface, wanted: u32, inside: &str) -> String {
    let Interface { name, queues, .. } = interface;
    match queues.words(wanted) {
        Some(words) => format!("type `{inside}ethtool -L {name} {words}`, or leave out queues="),
        None => format!("{name} has {} at most: leave out queues=", queues.rx_max),
    }
}

/// What speaks of an interface by its number, or of any, in the words of who has typed its name.
fn named(why: Unavailable, interface: &Interface) -> Unavailable {
    let Unavailable { tried, error, remedy } = why;
    let (name, number) = (&interface.name, format!("interface {} ", interface.index));
    let tried = match tried.strip_prefix("attach the BPF program ") {
        Some(program) => format!("attach the BPF program {program} to {name}"),
        None => tried.replace(&number, &format!("{name} ")),
    };
    Unavailable { tried, error, remedy: remedy.map(|remedy| remedy.replace("INTERFACE", name)) }
}

/// What will not work at one of these ports, though it is open, or not as fast as it could, and what to
/// do about it.
pub(super) fn warnings(spec: &PortSpec, ports: &[PortSpec]) -> Vec<String> {
    let look = || {
        let mut netlink = Netlink::open()?;
        let link = netlink.link(&spec.interface)?;
        let end = veth::other_end(&link, spec.namespace.as_deref(), ports);
        Ok((netlink.links()?, link, Interface::of(&spec.interface)?, end))
    };
    let Ok((links, link, interface, end)) = inside(spec, look) else { return Vec::new() };
    let typed = veth::inside(spec.namespace.as_deref());
    let others = others::others(spec, &link, &links, &typed);
    let others = others.into_iter().map(|other| format!("{}; {}", other.is, other.advice));
    if link.kind != "veth" {
        return others.collect();
    }
    let onto_itself = end.as_ref().and_then(|end| veth::onto_itself(&link, end, ports));
    let frames = match (onto_itself, spec.backend) {
        (Some(itself), _) => Some(itself),
        (None, Backend::Xdp) => veth::undone(&link, end.as_ref()),
        (None, _) => None,
    };
    let native = spec.backend == Backend::Xdp && spec.options.native != Some(false);
    let queues = veth::fewer_queues(&interface, end.as_ref()).filter(|_| native);
    let words = |(is, advice): (String, String)| format!("{is}; {advice}");
    others.chain(frames.into_iter().chain(queues).map(words)).collect()
}

/// Does something in a port's namespace.
fn inside<T: Send>(
    spec: &PortSpec,
    f: impl FnOnce() -> Result<T, Unavailable> + Send,
) -> Result<T, Unavailable> {
    let Some(name) = &spec.namespace else { return f() };
    let entered = Namespace::open(name)?.run(f);
    entered.map_err(|error| {
        Unavailable::because(format!("enter the network namespace {name}"), error)
    })?
}

/// A locally administered address, the same whenever this port is opened on this machine.
pub(super) fn made_up(spec: &PortSpec) -> MacAddr {
    let mut hasher = DefaultHasher::new();
    std::fs::read("/etc/machine-id").unwrap_or_default().hash(&mut hasher);
    (&spec.name, &spec.interface, &spec.namespace).hash(&mut hasher);
    let [a, b, c, d, e, ..] = hasher.finish().to_be_bytes();
    MacAddr([0x02, a, b, c, d, e])
}
