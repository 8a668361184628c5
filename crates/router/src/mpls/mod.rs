//! `/mpls`: packets that are switched by a label, not by an address (RFC 3031), and LDP, which agrees upon labels.
//!
//! ```text
//! /mpls ldp ─► [ldp]: peers, and the labels they want to see ─┐
//! /mpls remote-bindings ──────────────────────────────────────┼─► [bindings] ─► Routes: a network's labels
//! the routes of main, but BGP's ─► labels of our own ─────────┘                     │
//!                  packets: flow::mpls, fast::mpls, and whatever sends by a route ◄─┘
//! ```
//!
//! Labels are those of the router as a whole. A packet without a label gets the one that its next hop wants to
//! see; what comes with one of ours goes where packets for its network go.
//!
//! Missing: **VPLS**, **traffic engineering**, **IPv6**, VRFs with labels (BGP), labels in PPP.

// What is typed, and what it means; what is shown.
pub(crate) mod menu;
pub(crate) mod rows;
// Which label stands for which network.
pub(crate) mod bindings;
// What routers tell each other of that.
pub(crate) mod ldp;

use crate::flow::Hop;
use crate::interface::InterfaceId;
use crate::program::Program;
use wire::Ipv4Prefix;
use wire::mpls::{Entry, Label};

/// `mpls-mtu`, if nobody says it: an IP packet of 1,500 bytes, and two labels.
const MTU: u16 = 1508;

/// All that is configured, compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether anything has to do with labels.
    pub(crate) is_on: bool,
    /// Labels' TTLs are the packets' own.
    pub(crate) propagates_ttl: bool,
    /// `allow-fast-path`.
    pub(crate) allows_fast_path: bool,
    /// `dynamic-label-range`.
    range: (Label, Label),
    /// `mpls-mtu` of all interfaces, and of some.
    mtu: u16,
    mtus: Vec<(InterfaceId, u16)>,
    /// Typed labels of our own.
    own: Vec<(Ipv4Prefix, Label)>,
    /// Typed labels of next hops.
    remote: Vec<(Ipv4Prefix, u32, Label)>,
    /// Unless it is off.
    pub(crate) ldp: Option<ldp::Settings>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            is_on: false,
            propagates_ttl: true,
            allows_fast_path: true,
            range: (Label::FIRST, Label::LAST),
            mtu: MTU,
            mtus: Vec::new(),
            own: Vec::new(),
            remote: Vec::new(),
            ldp: None,
        }
    }
}

impl Settings {
    /// The longest packet that leaves by an interface with labels, these included.
    pub(crate) fn mtu(&self, interface: InterfaceId) -> u16 {
        let own = self.mtus.iter().find(|(id, _)| *id == interface);
        own.map_or(self.mtu, |(_, mtu)| *mtu)
    }

    /// The longest packet that fits behind one label.
    pub(crate) fn mtu_behind_label(&self, interface: InterfaceId) -> u16 {
        self.mtu(interface).saturating_sub(Entry::LEN as u16)
    }
}

impl Program {
    /// The longest IP packet that goes to a next hop as a whole.
    pub(crate) fn mtu(&self, hop: Hop) -> u16 {
        let mtu = self.interface(hop.interface).mtu;
        match hop.label {
            Some(_) => mtu.min(self.mpls.mtu_behind_label(hop.interface)),
            None => mtu,
        }
    }
}
