//! `/interface bridge`: which ports a frame goes out by, looking at MAC addresses only.
//!
//! ```text
//! A (from a port) ─► learn source ─► [decide] ─┬─► bridge filter input ─► B (to the router)
//!                                              └─► bridge filter forward, a copy per port ─► D
//! C (from the router) ─────────────► [decide] ───► bridge filter output, a copy per port ─► D
//! ```
//!
//! A [`Bridge`] is compiled, immutable; [`hosts::Hosts`] is its state and outlives every change of
//! the configuration. The decision is a pure function of both. The lists of ports for flooding are
//! made beforehand, one per port a frame can come from.
//!
//! Never copies a frame, learns or counts: the flow does, following the [`Decision`]. Missing:
//! **a querier** of its own for IGMP and MLD.

// `/interface bridge filter`: which frames pass.
pub mod filter;
// Which ports want which multicast.
pub mod groups;
// Which host is behind which port.
pub mod hosts;
// The menus.
pub mod menu;
// Spanning tree: which ports forward.
pub mod stp;
// What is done with these menus.
pub(crate) mod facilities;
// `/interface bridge vlan`: which ports belong to which VLAN.
pub mod vlan;

use crate::discard::Discard;
use crate::interface::{InterfaceId, Names};
use config::{Item, ItemId, Tree, Value};
use groups::{RouterPort, Snooping};
use hosts::Hosts;
use std::time::Duration;
use vlan::Filtering;
use wire::MacAddr;

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// To the router itself.
    Local,
    /// Out by one port: the host behind it is known.
    Port(InterfaceId),
    /// A copy out by each of these ports, and one to the router if `local`.
    Flood {
        /// In the order of the configuration; not empty.
        ports: &'a [InterfaceId],
        /// For the router as well: broadcast and multicast that did not come from it.
        local: bool,
    },
    /// Nowhere.
    Discard(Discard),
}

/// A port of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The interface.
    pub interface: InterfaceId,
    /// Its item in `/interface bridge port`.
    pub item: ItemId,
    /// Its own address: frames for it are for the router.
    pub mac: MacAddr,
    /// `learn`.
    pub learn: bool,
    /// `horizon`: no frame goes from one port to another of the same value.
    pub horizon: Option<u32>,
    /// What is flooded out by it.
    pub flood: Floods,
    /// `multicast-router`.
    pub router: RouterPort,
    /// `fast-leave`: who leaves a group is the last one there.
    pub fast_leave: bool,
}

/// What may be flooded out by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floods {
    /// `broadcast-flood`.
    pub broadcast: bool,
    /// `unknown-multicast-flood`.
    pub unknown_multicast: bool,
    /// `unknown-unicast-flood`.
    pub unknown_unicast: bool,
}

/// Where frames from one port (or from the router) are flooded to.
#[derive(Clone, Debug, Default)]
struct Lists {
    broadcast: Vec<InterfaceId>,
    multicast: Vec<InterfaceId>,
    unicast: Vec<InterfaceId>,
}

/// A bridge and its ports, compiled.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// The bridge as an interface.
    pub interface: InterfaceId,
    /// Its item in `/interface bridge`.
    pub item: ItemId,
    /// Its address: the lowest of its ports', or `admin-mac`; all zeros without ports.
    pub mac: MacAddr,
    /// `ageing-time`, ms.
    pub ageing_ms: u32,
    /// `mtu`; `None` means auto: the least of its ports'.
    pub mtu: Option<u16>,
    /// All its ports are ports of the device: frames go out there at once.
    pub on_ports: bool,
    /// Its VLANs, if `vlan-filtering=yes`.
    pub filtering: Option<Filtering>,
    /// Its spanning tree, unless `protocol-mode=none`.
    pub spanning: Option<stp::Settings>,
    /// If `igmp-snooping=yes`.
    pub snooping: Option<Snooping>,
    ports: Vec<Port>,
    /// By interface number: its place in `ports`, or [`NO_PORT`].
    places: Vec<u16>,
    /// By place; the last is for frames from the router.
    lists: Vec<Lists>,
}

const NO_PORT: u16 = u16::MAX;

/// 01:80:C2:00:00:01, which no bridge forwards whatever its protocol: MAC control (IEEE 802.3
/// 31.1) goes to the next station, and a pause that travelled on would stop the wrong one.
const MAC_CONTROL: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x01]);

/// The enabled ports of a bridge that are not another's already, by the configuration alone.
///
/// An interface that is a port twice (which the menu refuses) belongs to the first bridge.
pub(super) fn ports_of<'a>(
    tree: &'a Tree,
    names: &Names,
    bridge: &str,
    taken: &mut Vec<InterfaceId>,
) -> Vec<(&'a Item, InterfaceId)> {
    let ports = tree.enabled(menu::PORT.path).filter(|port| text(port, "bridge") == Some(bridge));
    let of = |name| names.find(name).filter(|id| id.is_short());
    let ports = ports.filter_map(|port| Some((port, of(text(port, "interface")?)?)));
    let mut free = Vec::new();
    for (item, id) in ports {
        if !taken.contains(&id) {
            taken.push(id);
            free.push((item, id));
        }
    }
    free
}

/// Compiles a bridge with the ports that are there. `mac` gives the address of an interface that is
/// there and enabled, `runs` says whether its link is up: a port without one stays, but nothing is
/// flooded to it.
pub(super) fn compile(
    tree: &Tree,
    names: &Names,
    item: &Item,
    ports: &[(&Item, InterfaceId)],
    mac: &dyn Fn(InterfaceId) -> Option<MacAddr>,
    runs: &dyn Fn(InterfaceId) -> bool,
) -> Option<Bridge> {
    let interface = names.find(text(item, "name")?).filter(|id| id.is_short())?;
    let there = ports.iter().copied().filter(|&(_, id)| mac(id).is_some());
    let there: Vec<(&Item, InterfaceId)> = there.collect();
    let compiled =
        there.iter().filter_map(|&(item, id)| Some(Port::new(item, id, mac(id)?))).collect();
    let mut bridge = Bridge::new(item, interface, compiled, runs);
    if item.get("vlan-filtering") == Some(&Value::Bool(true)) {
        bridge.filtering = Some(Filtering::compile(tree, names, item, interface, &there));
    }
    bridge.spanning = menu::spanning(item, &there);
    bridge.snooping = snooping(item);
    Some(bridge)
}

impl Port {
    fn new(item: &Item, interface: InterfaceId, mac: MacAddr) -> Port {
        let yes = |name| item.get(name) != Some(&Value::Bool(false));
        Port {
            interface,
            item: item.id,
            mac,
            learn: text(item, "learn") != Some("no"),
            horizon: match item.get("horizon") {
                Some(&Value::Number(n)) => u32::try_from(n).ok(),
                _ => None,
            },
            flood: Floods {
                broadcast: yes("broadcast-flood"),
                unknown_multicast: yes("unknown-multicast-flood"),
                unknown_unicast: yes("unknown-unicast-flood"),
            },
            router: match text(item, "multicast-router") {
                Some("permanent") => RouterPort::Permanent,
                Some("disabled") => RouterPort::Disabled,
                _ => RouterPort::Temporary,
            },
            fast_leave: item.get("fast-leave") == Some(&Value::Bool(true)),
        }
    }
}

/// What `igmp-snooping` goes by, if it is on.
fn snooping(item: &Item) -> Option<Snooping> {
    let time = |name, default: u64| match item.get(name) {
        Some(&Value::Time(time)) => time,
        _ => Duration::from_secs(default),
    };
    let count = match item.get("last-member-query-count") {
        Some(&Value::Number(n)) => u32::try_from(n).unwrap_or(2),
        _ => 2,
    };
    (item.get("igmp-snooping") == Some(&Value::Bool(true))).then(|| Snooping {
        membership: time("membership-interval", 260),
        querier: time("querier-interval", 255),
        last_member: time("last-member-interval", 1).saturating_mul(count),
    })
}

impl Bridge {
    fn new(
        item: &Item,
        interface: InterfaceId,
        ports: Vec<Port>,
        runs: &dyn Fn(InterfaceId) -> bool,
    ) -> Bridge {
        let lowest = ports.iter().map(|port| port.mac).min();
        let mac = match (item.get("auto-mac"), item.get("admin-mac")) {
            (Some(Value::Bool(false)), Some(&Value::Mac(admin))) => admin,
            _ => lowest.unwrap_or_default(),
        };
        let ageing_ms = match item.get("ageing-time") {
            Some(Value::Time(time)) => u32::try_from(time.as_millis()).unwrap_or(u32::MAX),
            _ => 300_000,
        };
        let mtu = match item.get("mtu") {
            Some(&Value::Number(n)) => u16::try_from(n).ok(),
            _ => None,
        };

        let size = ports.iter().map(|port| port.interface.index() + 1).max().unwrap_or(0);
        let mut places = vec![NO_PORT; size];
        for (place, port) in ports.iter().enumerate() {
            places[port.interface.index()] = place as u16;
        }
        let lists = ports.iter().map(Some).chain([None]).map(|from| {
            let to = |wanted: fn(&Floods) -> bool| {
                ports
                    .iter()
                    .filter(|to| from.is_none_or(|from| from.reaches(to)) && wanted(&to.flood))
                    .filter(|to| runs(to.interface))
                    .map(|to| to.interface)
                    .collect()
            };
            Lists {
                broadcast: to(|flood| flood.broadcast),
                multicast: to(|flood| flood.unknown_multicast),
                unicast: to(|flood| flood.unknown_unicast),
            }
        });
        let lists = lists.collect();
        Bridge {
            interface,
            item: item.id,
            mac,
            ageing_ms,
            mtu,
            on_ports: true,
            filtering: None,
            spanning: None,
            snooping: None,
            ports,
            places,
            lists,
        }
    }

    /// The ports, in the order of the configuration.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The port that this interface is.
    #[inline]
    pub fn port(&self, interface: InterfaceId) -> Option<&Port> {
        self.ports.get(usize::from(*self.places.get(interface.index())?))
    }

    /// The router's own addresses on this bridge, for [`Hosts::set_local`].
    pub fn local_addresses(&self) -> impl Iterator<Item = (MacAddr, InterfaceId)> {
        let ports = self.ports.iter().map(|port| (port.mac, port.interface));
        // An admin-mac is the bridge's own; otherwise its address is that of a port as well, and
        // shown there.
        ports.chain([(self.mac, self.interface)])
    }

    /// Where a frame for `dst` that came in by `from` goes; `from` is a port, or the bridge itself
    /// for what the router sends. `vid` is the frame's VLAN where the bridge filters them, else 0;
    /// of ports that are flooded to, only its [members](Self::admits) get a copy, and only open ones.
    ///
    /// Frames to the reserved group 01:80:C2:00:00:0x are forwarded like any multicast where
    /// `protocol-mode=none`; MAC control alone is not. Where there is a spanning tree none is.
    #[inline]
    pub fn decide<'a>(
        &'a self,
        from: InterfaceId,
        dst: MacAddr,
        vid: u16,
        hosts: &'a Hosts,
    ) -> Decision<'a> {
        let from_router = from == self.interface;
        let from_port = self.port(from);
        if from_port.is_none() && !from_router {
            return Decision::Discard(Discard::InterfaceDown);
        }
        if dst.is_multicast() {
            // Of a bridge of one port nobody else asks.
            return match self.group(from, dst, hosts.groups.ports(vid, dst.to_u64())) {
                Decision::Local if !self.admits(self.interface, vid) => {
                    Decision::Discard(Discard::VlanFiltered)
                }
                decision => decision,
            };
        }
        // The router's own addresses are those of every VLAN.
        let own = || hosts.lookup(dst.to_u64()).filter(|host| vid != 0 && host.local);
        let Some(host) = hosts.lookup(hosts::key(vid, dst.to_u64())).or_else(own) else {
            return flood(&self.lists(from).unicast, false);
        };
        if host.local {
            return match self.admits(self.interface, vid) {
                true => Decision::Local,
                false => Decision::Discard(Discard::VlanFiltered),
            };
        }
        let Some(to) = self.port(host.port) else {
            // Learnt by a port that has left since.
            return flood(&self.lists(from).unicast, false);
        };
        match from_port {
            Some(from) if from.interface == to.interface => Decision::Discard(Discard::SamePort),
            _ if !hosts.is_open(to.interface) => Decision::Discard(Discard::PortClosed),
            Some(from) if !from.reaches(to) => Decision::Discard(Discard::NoBridgePort),
            _ if !self.admits(to.interface, vid) => Decision::Discard(Discard::VlanFiltered),
            _ => Decision::Port(to.interface),
        }
    }

    /// Whether frames of a VLAN may go out by a port, or by the bridge itself to the router.
    #[inline]
    pub fn admits(&self, to: InterfaceId, vid: u16) -> bool {
        self.filtering.as_ref().is_none_or(|filtering| filtering.member(self.place(to)).has(vid))
    }

    /// The place of a port; of the bridge itself, beyond the last.
    #[inline(always)]
    pub(crate) fn place(&self, interface: InterfaceId) -> usize {
        usize::from(self.places.get(interface.index()).copied().unwrap_or(NO_PORT))
    }

    /// The port at a place, with it.
    #[inline(always)]
    pub(crate) fn placed(&self, interface: InterfaceId) -> Option<(usize, &Port)> {
        let place = self.place(interface);
        Some((place, self.ports.get(place)?))
    }

    /// Whether a frame for a host behind `to` goes from port `from` to there: what
    /// [`decide`](Self::decide) asks of a known host, for the fast path.
    #[inline(always)]
    pub fn may_pass(&self, from: &Port, to: InterfaceId) -> bool {
        self.port(to).is_some_and(|to| from.reaches(to))
    }

    /// `known` is where the group's frames go, if somebody has joined it.
    pub(crate) fn group<'a>(
        &'a self,
        from: InterfaceId,
        dst: MacAddr,
        known: Option<&'a [InterfaceId]>,
    ) -> Decision<'a> {
        if dst == MAC_CONTROL || self.spanning.is_some() && is_reserved(dst) {
            return Decision::Discard(Discard::LinkLocalGroup);
        }
        let lists = self.lists(from);
        let list = if dst.is_broadcast() { &lists.broadcast } else { &lists.multicast };
        flood(known.unwrap_or(list), from != self.interface)
    }

    /// Whether a copy of a frame from a port, or from the router, may go out by another: to one that has
    /// joined its group it may not.
    pub(crate) fn may_flood(&self, from: InterfaceId, to: InterfaceId) -> bool {
        match (self.port(from), self.port(to)) {
            (Some(from), Some(to)) => from.reaches(to),
            (None, Some(_)) => true,
            _ => false,
        }
    }

    /// The lists for frames from this port, or from the router.
    fn lists(&self, from: InterfaceId) -> &Lists {
        let place = self.places.get(from.index()).copied().unwrap_or(NO_PORT);
        &self.lists[usize::from(place).min(self.ports.len())]
    }
}

/// Whether this is one of the addresses that no bridge of a spanning tree forwards (IEEE 802.1D
/// 7.12.6): 01:80:C2:00:00:00 to :0F.
#[inline]
pub(crate) fn is_reserved(dst: MacAddr) -> bool {
    dst.to_u64() >> 4 == wire::bpdu::GROUP.to_u64() >> 4
}

impl Port {
    /// Whether a frame may go from this port out by another.
    #[inline(always)]
    fn reaches(&self, to: &Port) -> bool {
        self.interface != to.interface && (self.horizon.is_none() || self.horizon != to.horizon)
    }
}

fn flood(ports: &[InterfaceId], local: bool) -> Decision<'_> {
    match (ports, local) {
        ([], true) => Decision::Local,
        ([], false) => Decision::Discard(Discard::NoBridgePort),
        _ => Decision::Flood { ports, local },
    }
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
