//! ARP (RFC 826): its packets as frames, what an interface does with it, and the neighbours typed in
//! `/ip arp`.
//!
//! ```text
//!  arp=             learns, asks   answers for its own    for others, where a route leads
//!  enabled              yes               yes             those published in /ip arp
//!  reply-only           no                yes             those published
//!  proxy-arp            yes               yes             by another interface
//!  local-proxy-arp      yes               yes             by this one
//!  disabled             no                no              nobody
//! ```
//!
//! Where nobody is learnt, neighbours are those typed, and those that `/ip dhcp-server add-arp=yes` enters.
//! A gratuitous request and a probe (RFC 5227) are answered for the router's own addresses only, as in Linux.
//! Missing: Linux's **random delay** of an answer for others.

use super::icmp::is_host;
use super::menu::ARP;
use super::neighbour::{Neighbours, Status, Waiting};
use crate::interface::InterfaceId;
use crate::ip::route::{Routes, Target};
use crate::program::Program;
use config::{Read, Tree, Value};
use port::{Frame, Pool};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use wire::MacAddr;
use wire::arp::{ArpMessage, LEN};
use wire::layers::ETHERTYPE_ARP;

/// What an interface does with ARP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Disabled,
    /// Asks, learns, answers for its own addresses.
    #[default]
    Enabled,
    /// Answers for others on the same network as well: its hosts do not hear each other.
    LocalProxy,
    /// Answers for others as well whom another interface leads to.
    Proxy,
    /// Answers for its own addresses; neighbours are those typed.
    ReplyOnly,
}

impl Mode {
    /// The property `arp`.
    pub(crate) fn read(item: &Read) -> Mode {
        match &*item.text("arp") {
            "disabled" => Mode::Disabled,
            "local-proxy-arp" => Mode::LocalProxy,
            "proxy-arp" => Mode::Proxy,
            "reply-only" => Mode::ReplyOnly,
            _ => Mode::Enabled,
        }
    }

    /// Whether neighbours are asked, and learnt of what they say.
    pub(crate) fn learns(self) -> bool {
        !matches!(self, Mode::Disabled | Mode::ReplyOnly)
    }

    /// Whether the interface's own addresses are answered for.
    pub(crate) fn answers(self) -> bool {
        self != Mode::Disabled
    }
}

/// Whether a request that came by `interface` is answered although the address is none of its own.
pub(crate) fn is_proxied(
    program: &Program,
    routes: &Routes,
    interface: InterfaceId,
    request: &ArpMessage,
) -> bool {
    let (mode, target) = (program.interface(interface).arp, request.target_ip);
    let published = || program.published.binary_search(&(interface, target)).is_ok();
    let elsewhere = match mode {
        Mode::Disabled => return false,
        Mode::LocalProxy if !published() => false,
        Mode::Enabled | Mode::ReplyOnly if !published() => return false,
        _ => true,
    };
    let is_question = is_host(request.sender_ip) && request.sender_ip != target && is_host(target);
    if !program.settings.ip_forward || !is_question {
        return false;
    }
    let place = routes.lookup_in(program.vrfs.of(interface), target);
    match routes.target(place) {
        Some(Target::Local) => elsewhere,
        Some(Target::Connected(by)) => (*by != interface) == elsewhere,
        Some(Target::Gateways(ways)) => ways.iter().all(|(by, _)| (*by != interface) == elsewhere),
        _ => false,
    }
}

/// A frame that carries `message` from `src` to `dst`, padded to 60 bytes. `None` when the pool is
/// empty.
pub fn frame(pool: &mut Pool, message: ArpMessage, src: MacAddr, dst: MacAddr) -> Option<Frame> {
    let mut frame = pool.alloc(60)?;
    let bytes = pool.slab().bytes_mut(&mut frame);
    bytes[..6].copy_from_slice(&dst.0);
    bytes[6..12].copy_from_slice(&src.0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_ARP.to_be_bytes());
    bytes[14..14 + LEN].copy_from_slice(&message.to_bytes());
    bytes[14 + LEN..].fill(0);
    Some(frame)
}

/// The neighbours typed in `/ip arp`, on interfaces that are enabled.
pub(crate) type Typed = HashMap<(InterfaceId, u32), MacAddr>;

/// Reads the neighbours that are to be entered for good.
pub(crate) fn typed(tree: &Tree, program: &Program) -> Typed {
    let typed = tree.read(&ARP).filter(|item| !item.bool("disabled") && !item.bool("published"));
    let typed = typed.filter_map(|item| {
        let interface = program.names.find(&item.text("interface"))?;
        match (&*item.value("address"), &*item.value("mac-address")) {
            (&Value::Address(address), &Value::Mac(mac)) => {
                Some(((interface, u32::from(address)), mac))
            }
            _ => None,
        }
    });
    typed.filter(|&((at, _), _)| program.is_enabled(at)).collect()
}

/// Reads the addresses that are answered for, in order.
pub(crate) fn published(tree: &Tree, program: &Program) -> Arc<[(InterfaceId, u32)]> {
    let published = tree.read(&ARP).filter(|item| !item.bool("disabled") && item.bool("published"));
    let mut published: Vec<_> = published
        .filter_map(|item| {
            let interface = program.names.find(&item.text("interface"))?;
            match *item.value("address") {
                Value::Address(address) => Some((interface, u32::from(address))),
                _ => None,
            }
        })
        .collect();
    published.sort_unstable();
    published.into()
}

/// Brings the neighbours in line with a new configuration: those typed are entered for good, those
/// no longer typed go, and so do learnt ones whose link is down, or where nobody is learnt any more. Returns the frames that waited for
/// one that went.
pub(crate) fn configure(
    neighbours: &mut Neighbours,
    typed: &Typed,
    program: &Program,
) -> VecDeque<Waiting> {
    let orphans = neighbours.retain(|neighbour, status| {
        let own = program.interface(neighbour.interface());
        if status == Status::OtherEnd {
            return own.running && program.is_point_to_point(own.id);
        }
        let is_typed = typed.contains_key(&(neighbour.interface(), neighbour.address));
        let is_there = match status {
            _ if is_typed => own.enabled,
            Status::Leased | Status::Fed => own.running,
            _ => own.running && own.arp.learns(),
        };
        is_there && is_typed == (status == Status::Permanent)
    });
    for (&(interface, address), &mac) in typed {
        neighbours.set_permanent(interface, address, mac);
    }
    orphans
}
