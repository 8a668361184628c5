//! Links: interfaces as the kernel knows them.
//!
//! ```text
//!  add_veth(a, b)   a ════ b, each where it is wanted
//!  add(n, "bridge") ─► set_master(port, Some(n))
//! ```

use super::message::{Message, Received, attribute, text, u16_at, u32_at};
use super::socket::{CREATE, EXCLUSIVE, Netlink};
use port::linux::{Namespace, Unavailable};
use std::os::fd::AsRawFd;
use wire::MacAddr;

/// One link.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number in its namespace.
    pub index: u32,
    /// `eth1`.
    pub name: String,
    /// Its own address; `None` if it has none of six bytes.
    pub mac: Option<MacAddr>,
    /// What it carries, without the Ethernet header.
    pub mtu: u32,
    /// The least and greatest MTU it takes; 0 as the greatest is unlimited.
    pub mtu_limits: (u32, u32),
    /// Whether it was switched on.
    pub up: bool,
    /// Whether it is on and its wire carries: what RouterOS calls running.
    pub running: bool,
    /// The bridge (or bond) it is a port of.
    pub master: Option<u32>,
    /// `veth`, `bridge`, `tun` …; empty for a plain device.
    pub kind: String,
    /// How many queues it receives and sends by.
    pub queues: (u32, u32),
    /// The number of the XDP program that is attached to it; 0 of several.
    pub xdp: Option<u32>,
    /// The number of a veth's other end, or of the interface it is made on.
    pub peer: Option<u32>,
    /// The namespace that is in, by the number this one knows it by, if it is another.
    pub peer_namespace: Option<i32>,
    /// What it is as a TUN or TAP interface, if it is one.
    pub tun: Option<Tun>,
}

/// A TUN or TAP interface.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tun {
    /// It carries Ethernet frames.
    pub tap: bool,
    /// Several programs, or threads, may have a queue of it.
    pub multi_queue: bool,
    /// How many queues programs have of it; `None` if the kernel does not say.
    pub queues: Option<u32>,
    /// The user who may have it without being an administrator; nobody in particular if `None`.
    pub owner: Option<u32>,
    /// The group, likewise.
    pub group: Option<u32>,
}

/// One end of a veth pair to be made.
#[derive(Clone, Copy, Default)]
pub struct End<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Where it shall be; without it where the socket is.
    pub namespace: Option<&'a Namespace>,
    /// Its address; without it the kernel makes one up.
    pub mac: Option<MacAddr>,
    /// How many queues it receives by, and sends by; without it as many as the kernel chooses.
    pub queues: Option<u32>,
    /// What it carries; without it 1500.
    pub mtu: Option<u32>,
}

// Kinds of messages, attributes and flags: linux/rtnetlink.h, linux/if_link.h, linux/veth.h.
pub(super) const NEW: u16 = 16;
pub(super) const DEL: u16 = 17;
const GET: u16 = 18;
const SET: u16 = 19;
const MAC: u16 = 1;
pub(super) const NAME: u16 = 3;
pub(super) const MTU: u16 = 4;
const PEER: u16 = 5;
const MASTER: u16 = 10;
pub(super) const INFO: u16 = 18;
pub(super) const INFO_KIND: u16 = 1;
pub(super) const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
const FAMILIES: u16 = 26;
pub(super) const NAMESPACE_FD: u16 = 28;
const PEER_NAMESPACE: u16 = 37;
const TUN_OWNER: u16 = 1;
const TUN_GROUP: u16 = 2;
const TUN_TYPE: u16 = 3;
const TUN_MULTI_QUEUE: u16 = 7;
const TUN_QUEUES: u16 = 8;
/// `IFF_TAP`, as the type says it.
const TAP: u8 = 2;
const TX_QUEUES: u16 = 31;
const RX_QUEUES: u16 = 32;
const GSO_MAX_SEGMENTS: u16 = 40;
const GSO_MAX_SIZE: u16 = 41;
const XDP: u16 = 43;
const XDP_ATTACHED: u16 = 2;
const XDP_PROGRAM: u16 = 4;
const MIN_MTU: u16 = 50;
const MAX_MTU: u16 = 51;
const INET6: u16 = 10;
const INET6_ADDRESS_MODE: u16 = 8;
const UP: u32 = 1;
/// `IFF_LOWER_UP`: there is a carrier. (`IFF_RUNNING` says so too, up to a second later.)
const LOWER_UP: u32 = 0x1_0000;

/// `struct ifinfomsg`.
pub(super) fn header(index: u32, flags: u32, change: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&change.to_ne_bytes());
    header
}

impl Link {
    /// What a message says of a link.
    pub(super) fn read(message: &Received<'_>) -> Option<Link> {
        let flags = u32_at(message.body, 8)?;
        let attributes = message.body.get(16..)?;
        let number = |kind| attribute(attributes, kind).and_then(|value| u32_at(value, 0));
        let info = attribute(attributes, INFO).unwrap_or_default();
        let xdp = attribute(attributes, XDP).filter(|xdp| {
            let mode = attribute(xdp, XDP_ATTACHED).and_then(|mode| mode.first());
            mode.is_some_and(|&mode| mode != 0)
        });
        let program = |xdp| attribute(xdp, XDP_PROGRAM).and_then(|value| u32_at(value, 0));
        Some(Link {
            index: u32_at(message.body, 4)?,
            name: text(attribute(attributes, NAME)?),
            mac: attribute(attributes, MAC).and_then(|mac| mac.try_into().ok()).map(MacAddr),
            mtu: number(MTU).unwrap_or(0),
            mtu_limits: (number(MIN_MTU).unwrap_or(0), number(MAX_MTU).unwrap_or(0)),
            up: flags & UP != 0,
            running: flags & (UP | LOWER_UP) == UP | LOWER_UP,
            master: number(MASTER),
            kind: attribute(info, INFO_KIND).map(text).unwrap_or_default(),
            queues: (number(RX_QUEUES).unwrap_or(1), number(TX_QUEUES).unwrap_or(1)),
            xdp: xdp.map(|xdp| program(xdp).unwrap_or(0)),
            peer: number(PEER),
            peer_namespace: number(PEER_NAMESPACE).map(|number| number as i32),
            tun: Tun::read(info),
        })
    }

    /// Whether a message is about a link itself, and not about it as the port of a bridge (which
    /// comes with the bridges' family).
    pub(super) fn is_about(message: &Received<'_>) -> bool {
        u16_at(message.body, 0).is_some_and(|family| family.to_ne_bytes()[0] == 0)
    }
}

impl Tun {
    fn read(info: &[u8]) -> Option<Tun> {
        attribute(info, INFO_KIND).filter(|kind| text(kind) == "tun")?;
        let data = attribute(info, INFO_DATA).unwrap_or_default();
        let byte = |kind| attribute(data, kind).and_then(|value| value.first()).copied();
        let number = |kind| attribute(data, kind).and_then(|value| u32_at(value, 0));
        Some(Tun {
            tap: byte(TUN_TYPE) == Some(TAP),
            multi_queue: byte(TUN_MULTI_QUEUE) == Some(1),
            queues: number(TUN_QUEUES),
            owner: number(TUN_OWNER),
            group: number(TUN_GROUP),
        })
    }
}

impl End<'_> {
    fn attributes(&self, message: Message) -> Message {
        let mut message = message.with_name(NAME, self.name);
        if let Some(mac) = self.mac {
            message = message.with(MAC, &mac.0);
        }
        if let Some(mtu) = self.mtu {
            message = message.with_u32(MTU, mtu);
        }
        if let Some(queues) = self.queues {
            message = message.with_u32(TX_QUEUES, queues).with_u32(RX_QUEUES, queues);
        }
        if let Some(namespace) = self.namespace {
            message = message.with_u32(NAMESPACE_FD, namespace.file().as_raw_fd() as u32);
        }
        message
    }
}

/// The request for a dump of all links.
pub(super) fn all() -> Message {
    Message::new(GET, 0, &header(0, 0, 0))
}

impl Netlink {
    /// All links.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn links(&mut self) -> Result<Vec<Link>, Unavailable> {
        let mut links = Vec::new();
        self.dump("list the interfaces", all, &mut |message| match message {
            None => links.clear(),
            Some(message) => links.extend(Link::read(&message)),
        })?;
        Ok(links)
    }

    /// The link of this name.
    ///
    /// # Errors
    /// [`Unavailable`]: there is none.
    pub fn link(&mut self, name: &str) -> Result<Link, Unavailable> {
        let tried = || format!("find the interface {name}");
        let message = Message::new(GET, 0, &header(0, 0, 0)).with_name(NAME, name);
        let mut link = None;
        self.get(tried, message, &mut |message| link = Link::read(&message))?;
        link.ok_or_else(|| {
            Unavailable::because(tried(), std::io::Error::other("no answer from the kernel"))
        })
    }

    /// Makes a veth pair.
    ///
    /// # Errors
    /// [`Unavailable`]: a name is taken or illegal, rights are lacking, no such links here.
    pub fn add_veth(&mut self, a: &End<'_>, b: &End<'_>) -> Result<(), Unavailable> {
        let message = Message::new(NEW, CREATE | EXCLUSIVE, &header(0, 0, 0));
        let message = a.attributes(message).with_nest(INFO, |info| {
            info.with_name(INFO_KIND, "veth").with_nest(INFO_DATA, |data| {
                data.with_nest(VETH_PEER, |peer| b.attributes(peer.with_bytes(&header(0, 0, 0))))
            })
        });
        self.request(|| format!("make the veth pair {} and {}", a.name, b.name), message, 0)
    }

    /// Makes a link of a kind that needs nothing more: `bridge`, `dummy`.
    ///
    /// # Errors
    /// [`Unavailable`]: the name is taken or illegal, rights are lacking, no such links here.
    pub fn add(&mut self, name: &str, kind: &str) -> Result<(), Unavailable> {
        let message = Message::new(NEW, CREATE | EXCLUSIVE, &header(0, 0, 0))
            .with_name(NAME, name)
            .with_nest(INFO, |info| info.with_name(INFO_KIND, kind));
        self.request(|| format!("make the {kind} {name}"), message, 0)
    }

    /// Switches a link on or off.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn set_up(&mut self, name: &str, up: bool) -> Result<(), Unavailable> {
        let message = Message::new(SET, 0, &header(0, if up { UP } else { 0 }, UP));
        let switch = if up { "up" } else { "down" };
        self.request(|| format!("set {name} {switch}"), message.with_name(NAME, name), 0)
    }

    /// Sets what a link carries, without the Ethernet header.
    ///
    /// # Errors
    /// [`Unavailable`]: the kernel says which is the greatest.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), Unavailable> {
        let tried = || format!("set the MTU of {name} to {mtu}");
        self.set(tried, name, |message| message.with_u32(MTU, mtu))
    }

    /// Sets a link's address.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn set_mac(&mut self, name: &str, mac: MacAddr) -> Result<(), Unavailable> {
        let tried = || format!("set the MAC address of {name} to {mac}");
        self.set(tried, name, |message| message.with(MAC, &mac.0))
    }

    /// Makes a link a port of a bridge, or of none.
    ///
    /// # Errors
    /// [`Unavailable`]: no such link, or it takes no ports.
    pub fn set_master(&mut self, name: &str, master: Option<&str>) -> Result<(), Unavailable> {
        let index = master.map_or(Ok(0), |master| self.link(master).map(|link| link.index))?;
        let tried = || match master {
            Some(master) => format!("make {name} a port of {master}"),
            None => format!("take {name} out of its bridge"),
        };
        self.set(tried, name, |message| message.with_u32(MASTER, index))
    }

    /// How large, and of how many segments, the super-frames are that the kernel makes for a link.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn set_gso_max(&mut self, name: &str, size: u32, segs: u32) -> Result<(), Unavailable> {
        let tried = || format!("limit the super-frames of {name} to {size} bytes");
        self.set(tried, name, |message| {
            message.with_u32(GSO_MAX_SIZE, size).with_u32(GSO_MAX_SEGMENTS, segs)
        })
    }

    /// Keeps IPv6 from giving a link addresses of its own, and so from sending on it unasked. Where
    /// there is no IPv6 that is so already.
    ///
    /// # Errors
    /// [`Unavailable`]: no such link, or rights are lacking.
    pub fn set_silent(&mut self, name: &str) -> Result<(), Unavailable> {
        if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
            return Ok(());
        }
        self.set(
            || format!("keep IPv6 silent on {name}"),
            name,
            |message| {
                message.with_nest(FAMILIES, |families| {
                    families.with_nest(INET6, |inet6| inet6.with(INET6_ADDRESS_MODE, &[1]))
                })
            },
        )
    }

    /// Gives a link another name. It must be down for that on old kernels.
    ///
    /// # Errors
    /// [`Unavailable`]: the name is taken or illegal.
    pub fn rename(&mut self, name: &str, to: &str) -> Result<(), Unavailable> {
        let index = self.link(name)?.index;
        let message = Message::new(SET, 0, &header(index, 0, 0)).with_name(NAME, to);
        self.request(|| format!("rename {name} to {to}"), message, 0)
    }

    /// Moves a link into another namespace, where it is down.
    ///
    /// # Errors
    /// [`Unavailable`]: its name is taken there, or it is bound to where it is.
    pub fn move_to(&mut self, name: &str, namespace: &Namespace) -> Result<(), Unavailable> {
        let fd = namespace.file().as_raw_fd() as u32;
        let tried = || format!("move {name} into another namespace");
        self.set(tried, name, |message| message.with_u32(NAMESPACE_FD, fd))
    }

    /// Removes a link; of a veth pair both ends.
    ///
    /// # Errors
    /// [`Unavailable`]: no such link, or one of real hardware.
    pub fn delete(&mut self, name: &str) -> Result<(), Unavailable> {
        let message = Message::new(DEL, 0, &header(0, 0, 0)).with_name(NAME, name);
        self.request(|| format!("delete {name}"), message, 0)
    }

    fn set(
        &mut self,
        tried: impl FnOnce() -> String,
        name: &str,
        attributes: impl FnOnce(Message) -> Message,
    ) -> Result<(), Unavailable> {
        let message = Message::new(SET, 0, &header(0, 0, 0)).with_name(NAME, name);
        self.request(tried, attributes(message), 0)
    }
}
