//! What the configuration means: compiled, immutable, swapped whole between two batches.
//!
//! ```text
//! config::Tree (said) ──► Program (meant) ──► State (happening: connections, neighbours, counters)
//! ```
//!
//! Nothing here outlives a change of the configuration; nothing in the state is lost by one.

use crate::counter::{CounterBook, Counters};
use crate::firewall::compile::Setting;
use crate::firewall::connection::{self, Enabled};
use crate::firewall::filter::Filter;
use crate::firewall::nat::Nat;
use crate::firewall::state::RuleState;
use crate::flow::Leaving;
use crate::interface::bridge::menu::{BRIDGE, SETTINGS as BRIDGE_SETTINGS};
use crate::interface::bridge::{self, Bridge};
use crate::interface::menu::ETHERNET;
use crate::interface::{InterfaceId, InterfaceKind, Names};
use crate::ip::address::{self, Address};
use crate::ip::settings::Settings;
use crate::queue::leaf::Queues;
use crate::queue::simple::Simple;
use config::{ItemId, Tree, Value};
use port::Capabilities;
use std::collections::HashMap;
use wire::MacAddr;

/// A port of the device, as the device describes it.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// Its name: `ether1`.
    pub name: String,
    /// Its MAC address.
    pub mac: MacAddr,
    /// What its driver can do.
    pub capabilities: Capabilities,
}

/// The way out by an interface, in the form the fast path reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The port's place; none of the ports' if the interface is down or has no port of its own.
    pub(crate) port: u16,
    /// Frames can be sent in FastPath.
    pub(crate) fast_tx: bool,
}

/// What an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A port of the device.
    Ethernet {
        /// Its place among the ports.
        port: usize,
    },
    /// A bridge.
    Bridge(BridgeAt),
}

/// A bridge's place in [`Program::bridges`] (and of its hosts in the state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeAt(pub usize);

/// Why a quick way is not taken: the conditions of `routeros/C-fastpath.md` that are not met. A way
/// with none of these is active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmet {
    /// IPv4 FastPath.
    pub ipv4_fast_path: Vec<&'static str>,
    /// Bridge FastPath.
    pub bridge_fast_path: Vec<&'static str>,
    /// IPv4 FastTrack.
    pub ipv4_fasttrack: Vec<&'static str>,
}

const IPV4: fn(&mut Unmet) -> &mut Vec<&'static str> = |unmet| &mut unmet.ipv4_fast_path;
const BRIDGE_PATH: fn(&mut Unmet) -> &mut Vec<&'static str> = |unmet| &mut unmet.bridge_fast_path;
const FASTTRACK: fn(&mut Unmet) -> &mut Vec<&'static str> = |unmet| &mut unmet.ipv4_fasttrack;

/// Whether a condition is violated, how to say so, and which ways it closes.
type Condition = (bool, &'static str, &'static [fn(&mut Unmet) -> &mut Vec<&'static str>]);

impl Unmet {
    /// The conditions of all ways.
    pub(crate) fn ways(&mut self) -> [&mut Vec<&'static str>; 3] {
        [&mut self.ipv4_fast_path, &mut self.bridge_fast_path, &mut self.ipv4_fasttrack]
    }

    fn of(conditions: &[Condition]) -> Unmet {
        let mut unmet = Unmet::default();
        for &(violated, text, ways) in conditions {
            for way in ways.iter().filter(|_| violated) {
                way(&mut unmet).push(text);
            }
        }
        unmet
    }
}

/// An interface as compiled.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its number.
    pub id: InterfaceId,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its MAC address.
    pub mac: MacAddr,
    /// The longest IP packet.
    pub mtu: u16,
    /// Not disabled.
    pub enabled: bool,
    /// The bridge it is a port of.
    pub bridge: Option<BridgeAt>,
    /// Frames can be received in FastPath.
    pub fast_rx: bool,
    /// Frames can be sent in FastPath.
    pub fast_tx: bool,
}

impl Interface {
    /// The interface that is none: disabled, nameless.
    fn none() -> Interface {
        Interface {
            id: InterfaceId::NONE,
            name: String::new(),
            kind: Kind::Ethernet { port: usize::MAX },
            mac: MacAddr::default(),
            mtu: 0,
            enabled: false,
            bridge: None,
            fast_rx: false,
            fast_tx: false,
        }
    }
}

/// The compiled configuration.
#[derive(Debug)]
pub struct Program {
    /// By number; place 0 is a disabled interface that nobody uses.
    pub interfaces: Vec<Interface>,
    /// By number: the ways out.
    pub(crate) links: Vec<Link>,
    /// The interface behind each port.
    pub ports: Vec<InterfaceId>,
    /// By name.
    pub names: Names,
    /// The bridges.
    pub bridges: Vec<Bridge>,
    /// `/interface bridge filter`.
    pub bridge_filter: bridge::filter::Filter,
    /// What of a frame its rules look at.
    pub(crate) bridge_looks_at: [u64; 4],
    /// The router's own addresses.
    pub addresses: Vec<Address>,
    /// `/ip settings`.
    pub settings: Settings,
    /// `/ip firewall filter`.
    pub filter: Filter,
    /// `/ip firewall nat`.
    pub nat: Nat,
    /// `/queue simple`.
    pub queues: Simple,
    /// `/ip firewall connection tracking`.
    pub connection_settings: connection::Settings,
    /// Whether connections are tracked.
    pub tracking: bool,
    /// Why quick ways are not taken.
    pub unmet: Unmet,
}

/// The numbers that items of the configuration have as interfaces: kept for the router's life.
#[derive(Debug, Default)]
pub struct InterfaceIds(HashMap<ItemId, InterfaceId>);

impl InterfaceIds {
    /// The number of an item; a fresh one when it is asked for the first time.
    pub fn of(&mut self, item: ItemId) -> InterfaceId {
        let next = InterfaceId(self.0.len() as u16 + 1);
        *self.0.entry(item).or_insert(next)
    }

    /// The number of an item that has one.
    pub fn find(&self, item: ItemId) -> Option<InterfaceId> {
        self.0.get(&item).copied()
    }

    /// How many numbers are in use, the one of no interface included.
    pub fn len(&self) -> usize {
        self.0.len() + 1
    }

    /// Never: there is always the number of no interface.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// What compiling reads and writes of the state: who has which number, counter, memory, leaf.
pub(crate) struct Books<'a> {
    pub(crate) ids: &'a mut InterfaceIds,
    pub(crate) book: &'a mut CounterBook,
    pub(crate) counters: &'a mut Counters,
    pub(crate) rules: &'a mut RuleState,
    pub(crate) queues: &'a mut Queues<Leaving>,
}

impl Program {
    /// What a device comes with: its ports.
    pub fn factory_tree(ports: &[PortInfo]) -> Tree {
        let mut tree = Tree::default();
        for port in ports {
            let name = Value::Text(port.name.clone());
            tree.push(&ETHERNET, [("name", name.clone()), ("default-name", name)].into());
        }
        tree
    }

    /// Compiles a configuration. What refers to nothing (an interface that is gone) is left out:
    /// the interpreter refuses such lines, and a rule so broken is marked invalid.
    pub(crate) fn compile(tree: &Tree, ports: &[PortInfo], books: Books) -> Program {
        let ids = books.ids;
        let mut interfaces = Vec::new();
        let mut ports_of = vec![InterfaceId::NONE; ports.len()];
        for item in tree.read(&ETHERNET) {
            let default_name = item.text("default-name");
            let Some(at) = ports.iter().position(|port| port.name == default_name) else {
                continue;
            };
            let id = ids.of(item.id());
            ports_of[at] = id;
            let mac = match item.opt("mac-address").as_deref() {
                Some(Value::Mac(mac)) => *mac,
                _ => ports[at].mac,
            };
            interfaces.push(Interface {
                id,
                name: item.name().to_owned(),
                kind: Kind::Ethernet { port: at },
                mac,
                mtu: item.number("mtu") as u16,
                enabled: !item.bool("disabled"),
                bridge: None,
                fast_rx: ports[at].capabilities.fast_path_rx,
                fast_tx: ports[at].capabilities.fast_path_tx,
            });
        }
        let mut names = Names::default();
        for interface in &interfaces {
            names.insert(interface.name.clone(), interface.id, InterfaceKind::Ethernet);
        }
        for item in tree.read(&BRIDGE).filter(|item| !item.bool("disabled")) {
            let id = ids.of(item.id());
            names.insert(item.name().to_owned(), id, InterfaceKind::Bridge);
        }
        let mac_of = |id| {
            let port = interfaces.iter().find(|port| port.id == id);
            port.filter(|port| port.enabled).map(|port| port.mac)
        };
        let bridges = bridge::compile(tree, &names, &mac_of);
        for (at, bridge) in bridges.iter().enumerate() {
            for port in &mut interfaces {
                if bridge.port(port.id).is_some() {
                    port.bridge = Some(BridgeAt(at));
                }
            }
            let ports = interfaces.iter().filter(|port| port.bridge == Some(BridgeAt(at)));
            let least = ports.map(|port| port.mtu).min();
            let item = tree.read(&BRIDGE).find(|item| item.id() == bridge.item);
            interfaces.push(Interface {
                id: bridge.interface,
                name: item.map_or(String::new(), |item| item.name().to_owned()),
                kind: Kind::Bridge(BridgeAt(at)),
                mac: bridge.mac,
                mtu: bridge.mtu.or(least).unwrap_or(1500),
                enabled: true,
                bridge: None,
                fast_rx: true,
                fast_tx: true,
            });
        }
        let mut by_id = vec![Interface::none(); ids.len()];
        for interface in interfaces {
            let at = interface.id.index();
            by_id[at] = interface;
        }
        let link = |interface: &Interface| match interface.kind {
            Kind::Ethernet { port } if interface.enabled => port as u16,
            _ => u16::MAX,
        };
        let links = by_id.iter().map(|i| Link { port: link(i), fast_tx: i.fast_tx }).collect();
        let addresses = address::read(tree, &names);
        let settings = Settings::read(tree);
        let bridge_filter =
            bridge::filter::Filter::compile(tree, &names, books.book, books.counters, books.rules);
        let mut setting = Setting {
            tree,
            names: &names,
            use_ip_firewall: false,
            book: books.book,
            counters: books.counters,
            state: books.rules,
        };
        let filter = Filter::compile(&mut setting);
        let nat = Nat::compile(&mut setting);
        let queues = Simple::compile(tree, &names, books.queues);
        let connection_settings = connection::Settings::read(tree);
        let rules = filter.len() + nat.len() > 0;
        let tracking = match connection_settings.enabled {
            Enabled::Yes => true,
            Enabled::No => false,
            Enabled::Auto => rules,
        };
        let bridge_settings = tree.read_settings(&BRIDGE_SETTINGS);
        let unmet = Unmet::of(&[
            (!settings.allow_fast_path, "/ip settings allow-fast-path=no", &[IPV4, FASTTRACK]),
            (rules, "there are rules in /ip firewall", &[IPV4]),
            (tracking, "connection tracking is active", &[IPV4]),
            (!tracking, "connection tracking is not active", &[FASTTRACK]),
            (!queues.is_empty(), "there are simple queues", &[IPV4]),
            (
                !bridge_filter.is_empty(),
                "there are rules in /interface bridge filter",
                &[BRIDGE_PATH],
            ),
            (
                !bridge_settings.bool("allow-fast-path"),
                "/interface bridge settings allow-fast-path=no",
                &[BRIDGE_PATH],
            ),
        ]);
        Program {
            interfaces: by_id,
            links,
            ports: ports_of,
            names,
            bridges,
            bridge_looks_at: bridge_filter.looks_at(),
            bridge_filter,
            addresses,
            settings,
            filter,
            nat,
            queues,
            connection_settings,
            tracking,
            unmet,
        }
    }

    /// The interface.
    #[inline]
    pub fn interface(&self, id: InterfaceId) -> &Interface {
        &self.interfaces[id.index()]
    }

    /// The bridge.
    #[inline]
    pub fn bridge(&self, at: BridgeAt) -> &Bridge {
        &self.bridges[at.0]
    }

    /// `ipv4-fast-path-active`.
    #[inline]
    pub fn ipv4_fast_path(&self) -> bool {
        self.unmet.ipv4_fast_path.is_empty()
    }

    /// `ipv4-fasttrack-active`, but for a connection that uses it.
    #[inline]
    pub fn fasttrack(&self) -> bool {
        self.unmet.ipv4_fasttrack.is_empty()
    }

    /// Whether a routed packet needs nothing but the FIB.
    #[inline]
    pub fn is_stateless(&self) -> bool {
        let nothing = !self.tracking && self.filter.is_empty() && self.queues.is_empty();
        nothing && self.settings.ip_forward
    }

    /// `bridge-fast-path-active`.
    #[inline]
    pub fn bridge_fast_path(&self) -> bool {
        self.unmet.bridge_fast_path.is_empty()
    }

    /// Whether the interface is up: frames pass.
    pub fn runs(&self, id: InterfaceId) -> bool {
        self.interfaces.get(id.index()).is_some_and(|i| i.enabled)
    }

    /// Whether `address` is one of the router's own.
    pub fn is_local(&self, address: u32) -> bool {
        self.addresses.iter().any(|own| own.address == address)
    }
}
