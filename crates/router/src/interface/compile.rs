//! Ports and bridges, compiled: who has which number, which name, which way out.

use super::bridge::menu::BRIDGE;
use super::bridge::{self, Bridge};
use super::menu::ETHERNET;
use super::{InterfaceId, InterfaceKind, Link, Names};
use crate::program::{BridgeAt, Interface, Kind, PortInfo, WayOut};
use config::{ItemId, Tree, Value};
use port::Offloads;
use std::collections::HashMap;
use std::sync::Arc;

/// The numbers that items of the configuration have as interfaces: kept for the router's life.
/// Cloning shares them until one side changes them.
#[derive(Clone, Debug, Default)]
pub struct InterfaceIds(Arc<HashMap<ItemId, InterfaceId>>);

impl InterfaceIds {
    /// The number of an item; a fresh one when it is asked for the first time.
    pub fn of(&mut self, item: ItemId) -> InterfaceId {
        if let Some(id) = self.find(item) {
            return id;
        }
        let next = InterfaceId(self.0.len() as u16 + 1);
        Arc::make_mut(&mut self.0).insert(item, next);
        next
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

/// What the menus of interfaces mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interfaces {
    /// By number; place 0 is a disabled interface that nobody uses.
    pub(crate) by_id: Vec<Interface>,
    /// By number.
    pub(crate) ways_out: Vec<WayOut>,
    /// The interface behind each port.
    pub(crate) ports: Vec<InterfaceId>,
    pub(crate) names: Names,
    pub(crate) bridges: Vec<Bridge>,
}

/// An Ethernet header and two tags, which are before an IP packet in a port's frames.
const HEADERS: u16 = 14 + 8;

impl Interfaces {
    /// Compiles `/interface ethernet`, `/interface bridge` and its ports, which have these links. What
    /// refers to nothing is left out.
    pub(crate) fn compile(
        tree: &Tree,
        ports: &[PortInfo],
        links: &[Link],
        ids: &mut InterfaceIds,
    ) -> Interfaces {
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
                _ => links[at].mac.unwrap_or(ports[at].mac),
            };
            let (mtu, enabled) = (item.number("mtu") as u16, !item.bool("disabled"));
            let held = ports[at].capabilities.max_frame.saturating_sub(HEADERS);
            let most = links[at].mtu.map_or(held, |mtu| mtu.min(held));
            interfaces.push(Interface {
                id,
                name: item.name().to_owned(),
                kind: Kind::Ethernet { port: at },
                mac,
                mtu: mtu.min(most),
                configured_mtu: mtu,
                enabled,
                running: enabled && links[at].running,
                bridge: None,
                fast_rx: ports[at].capabilities.fast_path_rx,
                fast_tx: ports[at].capabilities.fast_path_tx,
                offload: ports[at].capabilities.offload,
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
        let runs = |id| interfaces.iter().any(|port| port.id == id && port.running);
        let bridges = bridge::compile(tree, &names, &mac_of, &runs);
        for (at, bridge) in bridges.iter().enumerate() {
            for port in &mut interfaces {
                if bridge.port(port.id).is_some() {
                    port.bridge = Some(BridgeAt(at));
                }
            }
            let ports = interfaces.iter().filter(|port| port.bridge == Some(BridgeAt(at)));
            let least = ports.clone().map(|port| port.mtu).min();
            // As Linux's: a bridge without ports runs, one whose ports are all down does not.
            let running = bridge.ports().is_empty() || ports.clone().any(|port| port.running);
            let item = tree.read(&BRIDGE).find(|item| item.id() == bridge.item);
            let mtu = bridge.mtu.or(least).unwrap_or(1500);
            interfaces.push(Interface {
                id: bridge.interface,
                name: item.map_or(String::new(), |item| item.name().to_owned()),
                kind: Kind::Bridge(BridgeAt(at)),
                mac: bridge.mac,
                mtu,
                configured_mtu: mtu,
                enabled: true,
                running,
                bridge: None,
                fast_rx: true,
                fast_tx: true,
                offload: Offloads::NONE,
            });
        }
        let mut by_id = vec![Interface::none(); ids.len()];
        for interface in interfaces {
            let at = interface.id.index();
            by_id[at] = interface;
        }
        let port = |interface: &Interface| match interface.kind {
            Kind::Ethernet { port } if interface.running => port as u16,
            _ => u16::MAX,
        };
        let longest = |interface: &Interface| match interface.kind {
            Kind::Ethernet { port } => links.get(port).and_then(|link| link.mtu),
            Kind::Bridge(_) => None,
        };
        let way_out = |i: &Interface| WayOut {
            port: port(i),
            longest: longest(i).map_or(u16::MAX, |mtu| mtu.saturating_add(14)),
            fast_tx: i.fast_tx,
            offload: i.offload,
        };
        let ways_out = by_id.iter().map(way_out).collect();
        Interfaces { by_id, ways_out, ports: ports_of, names, bridges }
    }
}
