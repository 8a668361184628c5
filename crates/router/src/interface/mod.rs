//! Interfaces and their identities.

// `/interface bridge`: frames between ports by MAC address.
pub mod bridge;

// The property table of `/interface ethernet`.
pub mod menu;

// Whether a port's wire carries, and what.
pub mod link;

// `/interface vlan`: one VLAN of another interface.
pub mod vlan;

// `/interface ipip`, `gre`, `6to4` and `eoip`: packets and frames in IPv4 packets.
pub mod tunnel;

// `/interface wireguard`: packets to peers, encrypted.
pub mod wireguard;

// `/interface bonding`: several ports that are one.
pub mod bonding;

// `/interface vrrp`: of several routers one has the addresses.
pub mod vrrp;

// `/interface absent`: interfaces of hardware that is not here.
pub mod absent;

// PPP, whatever carries it.
pub(crate) mod ppp;

// `/interface pppoe-client` and `pppoe-server`: PPP in Ethernet frames.
pub mod pppoe;
// L2TP.
pub(crate) mod l2tp;
// PPTP.
pub(crate) mod pptp;

// `/interface list`: sets of interfaces.
pub mod list;

// The interfaces a frame came through, up to IP.
pub(crate) mod ingress;

// What is written in front of a packet, and where it leaves.
pub mod rewrite;

// 802.1Q's tags that name no VLAN.
pub(crate) mod priority;

// `/interface ethernet monitor`.
pub(crate) mod monitor;

// What the link boxes of the flow need of the router.
mod boxes;

// `/interface` and `/interface ethernet`: what is done with them.
pub(crate) mod facilities;

// Ports, VLANs and bridges, compiled.
mod compile;

pub use compile::InterfaceIds;
pub(crate) use compile::Interfaces;
pub use link::Link;

use pppoe::Session;
use std::collections::HashMap;
use std::sync::Arc;

/// A number of an interface by its name (FNV-1a): an export leads to the same, though its interfaces may
/// be numbered otherwise.
pub(crate) fn lasting_number(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// An interface's number: stable while the router lives, whatever it is renamed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

impl InterfaceId {
    /// No interface: the in-interface of what the router itself sends, for one.
    pub const NONE: InterfaceId = InterfaceId(0);

    /// Whether it names an interface.
    #[inline]
    pub fn is_some(self) -> bool {
        self != InterfaceId::NONE
    }

    /// Whether it has 16 bits, as a bridge's hosts keep it: all that are configured, but for those that come
    /// late among very many.
    pub(crate) fn is_short(self) -> bool {
        self.0 < InterfaceIds::SHORT
    }

    /// It in 16 bits: one number stands for all that are not short.
    #[inline]
    pub(crate) fn short(self) -> u16 {
        self.0.min(InterfaceIds::SHORT) as u16
    }

    /// As an index into tables by interface (place 0 belongs to `NONE`).
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An interface's number and a byte, in four bytes: where a line of cache has no room for more. Numbers
/// have 24 bits at most: no memory has room for the interfaces of more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InterfaceAnd(u32);

impl InterfaceAnd {
    /// Both.
    #[inline(always)]
    pub(crate) const fn new(interface: InterfaceId, byte: u8) -> InterfaceAnd {
        debug_assert!(interface.0 < 1 << 24);
        InterfaceAnd(interface.0 << 8 | byte as u32)
    }

    /// The interface.
    #[inline(always)]
    pub(crate) const fn interface(self) -> InterfaceId {
        InterfaceId(self.0 >> 8)
    }

    /// The byte.
    #[inline(always)]
    pub(crate) const fn byte(self) -> u8 {
        self.0 as u8
    }
}

/// What kind of interface it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    /// A port of the device.
    Ethernet,
    /// A bridge.
    Bridge,
    /// A VLAN of another interface.
    Vlan,
    /// A tunnel.
    Tunnel,
    /// A virtual router.
    Vrrp,
    /// A bond.
    Bond,
    /// One of hardware that is not here.
    Absent,
    /// A session of PPP.
    Ppp,
}

/// The interfaces by name, for compiling what refers to them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    by_name: HashMap<Arc<str>, (InterfaceId, InterfaceKind)>,
    /// Sessions of servers, by name.
    sessions: Vec<(u32, InterfaceId)>,
    /// Where their names are.
    opened: Arc<[Arc<Session>]>,
    lists: HashMap<String, Vec<InterfaceId>>,
}

impl Names {
    /// Names an interface.
    pub fn insert(&mut self, name: &str, id: InterfaceId, kind: InterfaceKind) {
        self.by_name.insert(name.into(), (id, kind));
    }

    /// Names the interfaces that sessions of servers have made.
    fn insert_sessions(&mut self, opened: &Arc<[Arc<Session>]>, ids: &mut InterfaceIds) {
        let all = opened.iter().enumerate().filter(|(_, session)| session.is_dynamic());
        self.sessions = all.map(|(at, session)| (at as u32, ids.of(session.item()))).collect();
        self.sessions.shrink_to_fit();
        self.sessions.sort_by_key(|(at, _)| &opened[*at as usize].name);
        self.opened = opened.clone();
    }

    /// Those of sessions of servers.
    fn dynamic(&self) -> impl Iterator<Item = InterfaceId> {
        self.sessions.iter().map(|(_, id)| *id)
    }

    /// The interface of this name.
    pub fn find(&self, name: &str) -> Option<InterfaceId> {
        let typed = self.by_name.get(name).map(|&(id, _)| id);
        typed.or_else(|| {
            let name_of = |(at, _): &(u32, InterfaceId)| &*self.opened[*at as usize].name;
            let at = self.sessions.binary_search_by_key(&name, name_of).ok()?;
            Some(self.sessions[at].1)
        })
    }

    /// All interfaces.
    pub fn all(&self) -> impl Iterator<Item = InterfaceId> {
        self.by_name.values().map(|&(id, _)| id).chain(self.dynamic())
    }

    /// Enters a list of interfaces, in their order.
    pub fn insert_list(&mut self, name: String, interfaces: Vec<InterfaceId>) {
        self.lists.insert(name, interfaces);
    }

    /// The interfaces of a list.
    pub fn list(&self, name: &str) -> Option<&[InterfaceId]> {
        self.lists.get(name).map(Vec::as_slice)
    }

    /// All interfaces of a kind: `all-ethernet` and the like.
    pub fn of_kind(&self, kind: InterfaceKind) -> impl Iterator<Item = InterfaceId> {
        let typed = self.by_name.values().filter(move |&&(_, k)| k == kind).map(|&(id, _)| id);
        typed.chain(self.dynamic().filter(move |_| kind == InterfaceKind::Ppp))
    }
}
