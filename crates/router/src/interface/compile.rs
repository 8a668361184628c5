//! Ports, VLANs and bridges, compiled: who has which number, which name, which way out.

use super::absent::ABSENT;
use super::bonding::menu::BONDING;
use super::bonding::{Bond, BondAt};
use super::bridge::menu::BRIDGE;
use super::bridge::{self, Bridge};
use super::l2tp::L2tp;
use super::l2tp::menu::{CLIENT as L2TP_CLIENT, SESSION as L2TP_SESSION};
use super::list;
use super::menu::ETHERNET;
use super::ppp::aaa::Aaa;
use super::ppp::calls::{Carrier, ITEMS};
use super::pppoe::menu::{CLIENT, SESSION};
use super::pppoe::{Pppoe, Session, SessionAt, Sessions};
use super::pptp::Pptp;
use super::pptp::menu::{CLIENT as PPTP_CLIENT, SESSION as PPTP_SESSION};
use super::tunnel::l2tp_ether;
use super::tunnel::menu::EOIP;
use super::tunnel::{self, Carries, Tunnel, Tunnels};
use super::vlan::{self, VLAN};
use super::vrrp::Vrrp;
use super::vrrp::menu::VRRP;
use super::wireguard::menu::WIREGUARD;
use super::wireguard::{self, Wireguard, WireguardAt};
use super::{InterfaceId, InterfaceKind, Link, Names};
use crate::ip::arp;
use crate::program::{BridgeAt, Interface, Kind, PortInfo, Rest, WayOut};
use crate::queue::interface::is_hardware;
use config::{Item, ItemId, Read, Tree, Value};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use wire::MacAddr;

/// The numbers that items of the configuration have as interfaces: kept for the router's life.
/// Cloning shares them until one side changes them.
#[derive(Clone, Debug, Default)]
pub struct InterfaceIds {
    items: Arc<HashMap<ItemId, InterfaceId>>,
    /// Those of servers' sessions, by place.
    sessions: Arc<Vec<InterfaceId>>,
    /// The highest number there is.
    count: u32,
    /// Numbers below that are left to what is configured.
    kept: Range<u32>,
}

impl InterfaceIds {
    /// Numbers below this have 16 bits, and it as well.
    pub(super) const SHORT: u32 = 0xffff;
    /// So many of them are left to what is configured, however many sessions there are.
    const KEPT: u32 = 1024;

    /// The number of an item; a fresh one when it is asked for the first time.
    pub fn of(&mut self, item: ItemId) -> InterfaceId {
        if let Some(id) = self.find(item) {
            return id;
        }
        let (last, is_session) = (InterfaceIds::SHORT - 1, place(item).is_some());
        if is_session && (last - InterfaceIds::KEPT..last).contains(&self.count) {
            self.kept = self.count + 1..InterfaceIds::SHORT;
            self.count = last;
        }
        let kept = if is_session { None } else { self.kept.next() };
        let next = InterfaceId(kept.unwrap_or_else(|| {
            self.count += 1;
            self.count
        }));
        match place(item) {
            Some(place) => {
                let sessions = Arc::make_mut(&mut self.sessions);
                sessions.resize(sessions.len().max(place + 1), InterfaceId::NONE);
                sessions[place] = next;
            }
            None => _ = Arc::make_mut(&mut self.items).insert(item, next),
        }
        next
    }

    /// The number of an item that has one.
    pub fn find(&self, item: ItemId) -> Option<InterfaceId> {
        match place(item) {
            Some(place) => self.sessions.get(place).copied().filter(|id| id.is_some()),
            None => self.items.get(&item).copied(),
        }
    }

    /// How many numbers are in use, the one of no interface included.
    pub fn len(&self) -> usize {
        self.count as usize + 1
    }

    /// Never: there is always the number of no interface.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The place of a server's session, if an item is one's.
fn place(item: ItemId) -> Option<usize> {
    item.0.checked_sub(ITEMS).map(|place| place as usize)
}

/// What the menus of interfaces mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interfaces {
    /// By number; place 0 is a disabled interface that nobody uses.
    pub(crate) by_id: Vec<Interface>,
    /// By number.
    pub(crate) ways_out: Arc<[WayOut]>,
    /// The interface behind each port.
    pub(crate) ports: Vec<InterfaceId>,
    pub(crate) names: Names,
    pub(crate) bridges: Vec<Bridge>,
    pub(crate) tunnels: Arc<Tunnels>,
    pub(crate) wireguards: Arc<Vec<Wireguard>>,
    pub(crate) vrrps: Vec<Vrrp>,
    pub(crate) bonds: Vec<Bond>,
    pub(crate) pppoe: Pppoe,
    pub(crate) l2tp: L2tp,
    pub(crate) pptp: Pptp,
    pub(crate) aaa: Aaa,
    pub(crate) sessions: Sessions,
}

/// An Ethernet header and two tags, which are before an IP packet in a port's frames.
const HEADERS: u16 = 14 + 8;

impl Interfaces {
    /// Compiles the menus of interfaces. The ports have these links; of the interfaces that know by
    /// themselves whether they run, `up` do; these sessions are open. What refers to nothing is left out.
    pub(crate) fn compile(
        tree: &Tree,
        ports: &[PortInfo],
        links: &[Link],
        (up, open): (&BTreeSet<InterfaceId>, &Arc<[Arc<Session>]>),
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
                name: item.name().into(),
                kind: Kind::Ethernet { port: at as u32 },
                mac,
                mtu: mtu.min(most),
                rest: configured_mtu(mtu, mtu.min(most)),
                enabled,
                running: enabled && links[at].running,
                fast_rx: ports[at].capabilities.fast_path_rx,
                fast_tx: ports[at].capabilities.fast_path_tx && is_hardware(tree, item.name()),
                offload: ports[at].capabilities.offload,
                ..Interface::none()
            });
        }
        let mut names = Names::default();
        for interface in &interfaces {
            names.insert(&interface.name, interface.id, InterfaceKind::Ethernet);
        }
        for item in tree.read(&VLAN) {
            names.insert(item.name(), ids.of(item.id()), InterfaceKind::Vlan);
        }
        for (menu, _) in tunnel::menu::MENUS {
            for item in tree.read(menu) {
                names.insert(item.name(), ids.of(item.id()), InterfaceKind::Tunnel);
            }
        }
        for item in tree.read(&WIREGUARD) {
            names.insert(item.name(), ids.of(item.id()), InterfaceKind::Tunnel);
        }
        for item in tree.read(&ABSENT) {
            names.insert(item.name(), ids.of(item.id()), InterfaceKind::Absent);
        }
        for item in tree.read(&BONDING) {
            names.insert(item.name(), ids.of(item.id()), InterfaceKind::Bond);
        }
        for item in tree.read(&VRRP) {
            names.insert(item.name(), ids.of(item.id()), InterfaceKind::Vrrp);
        }
        for item in tree.read(&BRIDGE).filter(|item| !item.bool("disabled")) {
            let id = ids.of(item.id());
            names.insert(item.name(), id, InterfaceKind::Bridge);
        }
        for item in dialling(tree) {
            names.insert(item.name(), ids.of(item.id()), InterfaceKind::Ppp);
        }
        names.insert_sessions(open, ids);
        list::compile(tree, open, &mut names);
        let mut by_id = vec![Interface::none(); ids.len()];
        for interface in interfaces {
            let at = interface.id.index();
            by_id[at] = interface;
        }
        let tunnels = put_tunnels(tree, ports, up, &names, &mut by_id);
        put_absent(tree, ports, &names, &mut by_id);
        let wireguards = put_wireguards(tree, &names, &mut by_id);
        let bonds = put_bonds(tree, up, &names, &mut by_id);
        let (bridges, vrrps) = stack(tree, up, &names, &mut by_id);
        let below = |name: &str| {
            let id = names.find(name)?;
            by_id.get(id.index()).filter(|lower| lower.enabled).map(|lower| (id, lower.mtu))
        };
        let (pppoe, l2tp, pptp) = (Pppoe::read(tree, below), L2tp::read(tree), Pptp::read(tree));
        let sessions = put_sessions(tree, open, ids, (&pppoe, &l2tp, &pptp), &mut by_id);
        put_arp(tree, &names, &mut by_id);
        let port = |interface: &Interface| match interface.kind {
            Kind::Ethernet { port } if interface.running => port as u16,
            _ => u16::MAX,
        };
        let longest = |interface: &Interface| match interface.kind {
            Kind::Ethernet { port } => links.get(port as usize).and_then(|link| link.mtu),
            _ => None,
        };
        let way_out = |i: &Interface| WayOut {
            port: port(i),
            longest: longest(i).map_or(u16::MAX, |mtu| mtu.saturating_add(14)),
            fast_tx: i.fast_tx,
            offload: i.offload,
        };
        let ways_out = by_id.iter().map(way_out).collect();
        let (tunnels, ports) = (Arc::new(tunnels), ports_of);
        Interfaces {
            by_id,
            ways_out,
            ports,
            names,
            bridges,
            tunnels,
            wireguards,
            vrrps,
            bonds,
            pppoe,
            l2tp,
            pptp,
            aaa: Aaa::read(tree),
            sessions,
        }
    }
}

const _: () = assert!(size_of::<Interface>() == 64, "there may be many");

impl Interface {
    /// The MTU that is configured.
    pub fn configured_mtu(&self) -> u16 {
        self.rest.as_ref().and_then(|rest| rest.configured_mtu).unwrap_or(self.mtu)
    }
}

/// What is kept of a configured MTU beside the one there is.
fn configured_mtu(configured: u16, mtu: u16) -> Option<Box<Rest>> {
    let rest = Rest { configured_mtu: Some(configured), ..Rest::default() };
    (configured != mtu).then(|| Box::new(rest))
}

/// Puts VLANs and bridges on what they stand on, from below: each as soon as everything below it is
/// there. What stands on itself (which the menus refuse) or on nothing stays disabled.
fn stack(
    tree: &Tree,
    up: &BTreeSet<InterfaceId>,
    names: &Names,
    by_id: &mut [Interface],
) -> (Vec<Bridge>, Vec<Vrrp>) {
    let mut taken = Vec::new();
    let vlans: Vec<_> = tree.read(&VLAN).collect();
    let virtual_routers: Vec<_> = tree.read(&VRRP).collect();
    let mut vrrps = Vec::new();
    let bridges: Vec<_> = tree.enabled(BRIDGE.path).collect();
    let ports: Vec<_> = bridges
        .iter()
        .map(|item| {
            let name = item.get("name").map_or(String::new(), ToString::to_string);
            bridge::ports_of(tree, names, &name, &mut taken)
        })
        .collect();
    // Below: the ports, which are there; above: what is still to come.
    let mut left: Vec<InterfaceId> = Vec::new();
    left.extend(vlans.iter().filter_map(|item| names.find(item.name())));
    left.extend(virtual_routers.iter().filter_map(|item| names.find(item.name())));
    let name = |item: &Item| item.get("name").map_or(String::new(), ToString::to_string);
    left.extend(bridges.iter().filter_map(|item| names.find(&name(item))));
    let mut compiled: Vec<Option<Bridge>> = bridges.iter().map(|_| None).collect();
    loop {
        let before = left.len();
        for item in &vlans {
            let (Some(id), Some(on)) =
                (names.find(item.name()), names.find(&item.text("interface")))
            else {
                continue;
            };
            if left.contains(&on) || !left.contains(&id) {
                continue;
            }
            left.retain(|&other| other != id);
            put_vlan(by_id, id, on, item);
        }
        for item in &virtual_routers {
            let (Some(id), Some(on)) =
                (names.find(item.name()), names.find(&item.text("interface")))
            else {
                continue;
            };
            if left.contains(&on) || !left.contains(&id) {
                continue;
            }
            left.retain(|&other| other != id);
            vrrps.extend(put_vrrp(names, by_id, up, id, on, item));
        }
        for ((item, ports), compiled) in bridges.iter().zip(&ports).zip(&mut compiled) {
            let Some(id) = names.find(&name(item)) else { continue };
            if !left.contains(&id) || ports.iter().any(|(_, port)| left.contains(port)) {
                continue;
            }
            left.retain(|&other| other != id);
            let mac = |id: InterfaceId| by_id.get(id.index()).filter(|i| i.enabled).map(|i| i.mac);
            let runs = |id: InterfaceId| by_id.get(id.index()).is_some_and(|i| i.running);
            *compiled = bridge::compile(tree, names, item, ports, &mac, &runs);
            if let Some(bridge) = compiled {
                put_bridge(by_id, bridge, name(item));
            }
        }
        if left.len() == before {
            break;
        }
    }
    let mut bridges: Vec<Bridge> = compiled.into_iter().flatten().collect();
    for bridge in &mut bridges {
        let kind = |port: &bridge::Port| by_id[port.interface.index()].kind;
        bridge.on_ports =
            bridge.ports().iter().all(|port| matches!(kind(port), Kind::Ethernet { .. }));
    }
    for (at, bridge) in bridges.iter().enumerate() {
        by_id[bridge.interface.index()].kind = Kind::Bridge(BridgeAt(at as u16));
        for port in bridge.ports() {
            by_id[port.interface.index()].bridge = Some(BridgeAt(at as u16));
        }
    }
    (bridges, vrrps)
}

/// Bonds stand on ports.
fn put_bonds(
    tree: &Tree,
    up: &BTreeSet<InterfaceId>,
    names: &Names,
    by_id: &mut [Interface],
) -> Vec<Bond> {
    let mut bonds = Vec::new();
    for item in tree.read(&BONDING) {
        let Some(id) = names.find(item.name()) else { continue };
        let bond = Bond::read(&item, id, names, up);
        let at = BondAt(bonds.len() as u16);
        let slaves = || bond.slaves.iter().map(|slave| &by_id[slave.index()]);
        let is_port = |slave: &Interface| matches!(slave.kind, Kind::Ethernet { .. });
        let (enabled, mtu) = (!item.bool("disabled"), item.number("mtu") as u16);
        let first = slaves().next().map_or(MacAddr::default(), |slave| slave.mac);
        let least = slaves().map(|slave| slave.mtu).min().unwrap_or(mtu);
        let interface = Interface {
            id,
            name: item.name().into(),
            kind: Kind::Bond(at),
            mac: Bond::forced_mac(&item).unwrap_or(first),
            mtu: mtu.min(least),
            rest: configured_mtu(mtu, mtu.min(least)),
            enabled,
            running: enabled && slaves().all(is_port) && up.contains(&id),
            fast_rx: slaves().all(|slave| slave.fast_rx),
            fast_tx: false, // receive only, says RouterOS
            ..Interface::none()
        };
        for slave in bond.slaves.iter().filter(|_| enabled) {
            by_id[slave.index()].bond = Some(at);
        }
        by_id[id.index()] = interface;
        // One that is disabled keeps its place, and has no slaves.
        bonds.push(if enabled { bond } else { Bond { slaves: Vec::new(), ..bond } });
    }
    bonds
}

/// What the interfaces that carry Ethernet frames do with ARP.
fn put_arp(tree: &Tree, names: &Names, by_id: &mut [Interface]) {
    for item in [&ETHERNET, &VLAN, &BRIDGE, &BONDING, &EOIP, &l2tp_ether::MENU, &VRRP]
        .into_iter()
        .flat_map(|menu| tree.read(menu))
    {
        let Some(id) = names.find(item.name()) else { continue };
        let interface = &mut by_id[id.index()];
        interface.arp = arp::Mode::read(&item);
        if let Value::Time(time) = *item.value("arp-timeout") {
            interface.rest().arp_timeout = Some(time);
        }
    }
}

/// Nothing is behind them.
fn put_absent(tree: &Tree, ports: &[PortInfo], names: &Names, by_id: &mut [Interface]) {
    for item in tree.read(&ABSENT) {
        let Some(id) = names.find(item.name()) else { continue };
        by_id[id.index()] = Interface {
            id,
            name: item.name().into(),
            kind: Kind::Absent,
            mac: own_mac(ports, item.name()),
            mtu: 1500,
            enabled: !item.bool("disabled"),
            running: false,
            ..Interface::none()
        };
    }
}

/// WireGuard stands on routes: below it is no interface.
fn put_wireguards(tree: &Tree, names: &Names, by_id: &mut [Interface]) -> Arc<Vec<Wireguard>> {
    let all = wireguard::menu::read(tree, names);
    for ((at, one), item) in (0..).zip(&all).zip(tree.read(&WIREGUARD)) {
        if one.interface == InterfaceId::NONE {
            continue;
        }
        by_id[one.interface.index()] = Interface {
            id: one.interface,
            name: item.name().into(),
            kind: Kind::Wireguard(WireguardAt(at)),
            mtu: item.number("mtu") as u16,
            enabled: one.enabled,
            running: one.enabled,
            ..Interface::none()
        };
    }
    Arc::new(all)
}

/// The items of those that dial, and of bindings.
fn dialling(tree: &Tree) -> impl Iterator<Item = Read<'_>> {
    let diallers = [&CLIENT, &L2TP_CLIENT, &PPTP_CLIENT];
    let bindings = [&SESSION, &L2TP_SESSION, &PPTP_SESSION];
    diallers.into_iter().chain(bindings).flat_map(|menu| tree.read(menu))
}

/// PPPoE's clients, and the sessions of its servers, stand on what carries Ethernet frames, and nothing
/// stands on them.
fn put_sessions(
    tree: &Tree,
    open: &[Arc<Session>],
    ids: &mut InterfaceIds,
    (pppoe, l2tp, pptp): (&Pppoe, &L2tp, &Pptp),
    by_id: &mut [Interface],
) -> Sessions {
    let mut sessions = Sessions::with_room(open.len());
    let diallers = || {
        let of_pppoe = pppoe.dialers.iter().map(|dialer| &dialer.ppp);
        of_pppoe.chain(&l2tp.clients.list).chain(&pptp.clients.list)
    };
    for item in dialling(tree) {
        let id = ids.of(item.id());
        let dialler = diallers().find(|dialler| dialler.item == item.id());
        let mtu = dialler.map_or(0, |dialler| dialler.mru);
        by_id[id.index()] = Interface {
            id,
            name: item.name().into(),
            kind: Kind::Session(SessionAt::NONE),
            mtu,
            enabled: !item.bool("disabled"),
            ..Interface::none()
        };
    }
    let is_slow = |port: &Interface| matches!(port.kind, Kind::Ethernet { .. }) && !port.fast_rx;
    let all_fast = !by_id.iter().any(|port| port.id.is_some() && is_slow(port));
    for session in open {
        let id = ids.of(session.item());
        let (Some(lower), Some(own)) = (by_id.get(session.on().index()), by_id.get(id.index()))
        else {
            continue;
        };
        let stands = lower.running || session.on() == InterfaceId::NONE;
        if !stands || (!session.is_dynamic() && !own.enabled) {
            continue;
        }
        // L2TP's packets may come by any port, and what is encrypted has no FastPath, nor PPTP any.
        let (fast_rx, fast_tx) = match session.carrier {
            _ if session.encrypted => (false, false),
            Carrier::L2tp { .. } => {
                let allows = l2tp.allows_fast_path(session.item());
                (allows && all_fast, allows)
            }
            Carrier::Pptp { .. } => (false, false),
            Carrier::Pppoe { .. } => (lower.fast_rx, lower.fast_tx),
        };
        let interface = Interface {
            id,
            name: session.name.clone(),
            kind: Kind::Session(sessions.add(id, session)),
            mac: lower.mac,
            mtu: session.mtu,
            enabled: true,
            running: true,
            fast_rx,
            fast_tx,
            ..Interface::none()
        };
        by_id[id.index()] = interface;
    }
    sessions
}

/// Tunnels stand on routes: below them is no interface.
fn put_tunnels(
    tree: &Tree,
    ports: &[PortInfo],
    up: &BTreeSet<InterfaceId>,
    names: &Names,
    by_id: &mut [Interface],
) -> Tunnels {
    let mut tunnels = Tunnels::default();
    for (menu, carries) in tunnel::menu::MENUS {
        for item in tree.read(menu) {
            let Some(id) = names.find(item.name()) else { continue };
            let enabled = !item.bool("disabled");
            let (tunnel, mtu) = Tunnel::read(&item, id, carries);
            let at = if enabled { tunnels.add(tunnel) } else { None };
            let mac = match carries {
                Carries::Ipip | Carries::Gre | Carries::SixToFour => MacAddr::default(),
                Carries::Eoip | Carries::L2tpEther => match item.opt("mac-address").as_deref() {
                    Some(Value::Mac(mac)) => *mac,
                    _ => own_mac(ports, item.name()),
                },
            };
            by_id[id.index()] = Interface {
                id,
                name: item.name().into(),
                kind: Kind::Tunnel { at: at.unwrap_or(tunnel::TunnelAt(u16::MAX)), carries },
                mac,
                mtu,
                enabled,
                running: at.is_some() && up.contains(&id),
                // Its packets may come by any port.
                fast_rx: tunnel.allows_fast_path
                    && ports.iter().all(|port| port.capabilities.fast_path_rx),
                fast_tx: tunnel.allows_fast_path,
                ..Interface::none()
            };
        }
    }
    tunnels
}

/// The address of an interface that has none of its own: the same whenever the configuration is
/// read on this device, an export of it as well, and another one on others.
fn own_mac(ports: &[PortInfo], name: &str) -> MacAddr {
    let device = ports.first().map_or(0, |port| port.mac.to_u64());
    let own = u64::from(super::lasting_number(name));
    let mixed = (device ^ own << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let [a, b, c, d, e, ..] = mixed.rotate_left(29).to_be_bytes();
    MacAddr([0x02, a, b, c, d, e])
}

fn put_vlan(by_id: &mut [Interface], id: InterfaceId, on: InterfaceId, item: &Read) {
    let Some(lower) = by_id.get(on.index()).filter(|lower| lower.id.is_some()).cloned() else {
        return;
    };
    let tag = vlan::tag(item.number("vlan-id"), item.bool("use-service-tag"));
    let (mtu, enabled) = (item.number("mtu") as u16, !item.bool("disabled"));
    if enabled {
        by_id[on.index()].rest().vlans.add(tag, id);
    }
    by_id[id.index()] = Interface {
        id,
        name: item.name().into(),
        kind: Kind::Vlan { on, tag },
        mac: lower.mac,
        // The tag is not part of the MTU of the interface below, as with a switch's l2mtu.
        mtu: mtu.min(lower.mtu),
        rest: configured_mtu(mtu, mtu.min(lower.mtu)),
        enabled,
        running: enabled && lower.running,
        fast_rx: lower.fast_rx,
        fast_tx: lower.fast_tx,
        ..Interface::none()
    };
}

fn put_vrrp(
    names: &Names,
    by_id: &mut [Interface],
    up: &BTreeSet<InterfaceId>,
    id: InterfaceId,
    on: InterfaceId,
    item: &Read,
) -> Option<Vrrp> {
    let lower = by_id.get(on.index()).filter(|lower| lower.id.is_some())?.clone();
    let vrrp = Vrrp::read(item, names, id, on);
    let (mtu, enabled) = (item.number("mtu") as u16, !item.bool("disabled"));
    let mac = vrrp.mac();
    let running = enabled && lower.running && up.contains(&id);
    if running {
        by_id[on.index()].rest().aliases.push((mac, id));
    }
    by_id[id.index()] = Interface {
        id,
        name: item.name().into(),
        kind: Kind::Vrrp { on },
        mac,
        mtu: mtu.min(lower.mtu),
        rest: configured_mtu(mtu, mtu.min(lower.mtu)),
        enabled,
        running,
        fast_rx: lower.fast_rx,
        fast_tx: lower.fast_tx,
        ..Interface::none()
    };
    enabled.then_some(vrrp)
}

fn put_bridge(by_id: &mut [Interface], bridge: &Bridge, name: String) {
    let ports = || bridge.ports().iter().map(|port| &by_id[port.interface.index()]);
    let least = ports().map(|port| port.mtu).min();
    // As Linux's: a bridge without ports runs, one whose ports are all down does not.
    let running = bridge.ports().is_empty() || ports().any(|port| port.running);
    let mtu = bridge.mtu.or(least).unwrap_or(1500);
    by_id[bridge.interface.index()] = Interface {
        id: bridge.interface,
        name: name.into(),
        // Its place is known when all are there.
        kind: Kind::Bridge(BridgeAt(u16::MAX)),
        mac: bridge.mac,
        mtu,
        enabled: true,
        running,
        fast_rx: true,
        fast_tx: true,
        ..Interface::none()
    };
}
