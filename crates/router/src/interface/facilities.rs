//! The facilities of `/interface` and `/interface ethernet`: compiling all interfaces, and what is shown
//! of them.

use super::menu::{ETHERNET as ETHERNET_MENU, INTERFACE};
use super::monitor::{self as link_monitor, MONITOR};
use super::{InterfaceId, Interfaces};
use crate::compiler::Compiling;
use crate::facility::{self, DONE, Facility};
use crate::interface::ppp::dial::Binding;
use crate::parts::InterfaceCounts;
use crate::program::{Interface, Kind, Program};
use crate::router::Router;
use crate::status::{RouterStatus, log, number};
use crate::tool::monitor::{self, MONITOR_TRAFFIC};
use config::{Call, Item, Started, Tree, Value};
use wire::Moment;

/// `/interface`: interfaces of all kinds, which are compiled together.
pub(crate) static ALL: Facility = Facility {
    follows_links: true,
    follows_sessions: true,
    compile,
    relearn: true,
    value: |status, item, property| status.any_interface(item, property),
    commands: &[
        (&MONITOR_TRAFFIC, |r, call, _, now| monitor::start(r, call, now)),
        (&facility::reset(&INTERFACE), reset),
    ],
    ..Facility::of(&INTERFACE)
};

/// `/interface ethernet`.
pub(crate) static ETHERNET: Facility = Facility {
    part_of: Some(&ALL),
    value: |status, item, property| status.ethernet(item, property),
    commands: &[
        (&MONITOR, |r, call, _, now| link_monitor::start(r, call, now)),
        (&facility::reset(&ETHERNET_MENU), reset),
    ],
    ..Facility::of(&ETHERNET_MENU)
};

fn compile(c: &mut Compiling) {
    let ids = &mut c.program.books.interfaces;
    let interfaces = Interfaces::compile(c.tree, c.ports, c.links, (c.up, c.sessions), ids);
    c.program.set_interfaces(interfaces);
    (c.program.links, c.program.up) = (c.links.clone(), c.up.clone());
    c.program.opened = c.sessions.clone();
    c.interfaces = true;
}

/// Sets the counters of interfaces to zero.
fn reset(r: &mut Router, call: &Call, tree: &Tree, _: Moment) -> Result<Started<Router>, String> {
    let ids = &r.program.books.interfaces;
    for id in facility::items(call, tree)?.into_iter().filter_map(|item| ids.find(item)) {
        r.stats.interface_counts[id.index()] = InterfaceCounts::default();
        r.stats.troubles.remove(&id);
    }
    DONE
}

impl RouterStatus<'_> {
    /// The interface that an item is; none as long as it was never taken over.
    pub(crate) fn interface(&self, item: &Item) -> Option<&Interface> {
        let id = self.router.program.books.interfaces.find(item.id)?;
        self.router.program.interfaces.get(id.index())
    }

    /// Of `/interface`: what its own menu does not say.
    fn any_interface(&self, item: &Item, property: &str) -> Option<Value> {
        let interface = self.interface(item)?;
        let trouble = self.router.interface_trouble(interface.id);
        let l2mtu = || self.l2mtu(interface);
        Some(match property {
            "type" => Value::Text(
                match interface.kind {
                    Kind::Ethernet { .. } => "ether",
                    Kind::Bridge(_) => "bridge",
                    Kind::Vlan { .. } => "vlan",
                    Kind::Tunnel { carries, .. } => carries.name(),
                    Kind::Vrrp { .. } => "vrrp",
                    Kind::Bond(_) => "bond",
                    Kind::Wireguard(_) => "wg",
                    Kind::Absent => "absent",
                    Kind::Session(_) => self.session_type(item, &interface.name),
                }
                .to_string(),
            ),
            "running" => Value::Bool(interface.running && !item.disabled),
            "link-downs" | "last-link-up-time" | "last-link-down-time" => {
                return self.link_history(interface, property);
            }
            "slave" => Value::Bool(interface.bridge.is_some() || interface.bond.is_some()),
            "actual-mtu" => number(interface.mtu.into()),
            "l2mtu" => number(l2mtu()?),
            "max-l2mtu" if matches!(interface.kind, Kind::Ethernet { .. }) => number(l2mtu()?),
            "mac-address" if self.router.program.is_point_to_point(interface.id) => return None,
            "mac-address" => Value::Mac(interface.mac),
            "fast-path" => Value::Bool(self.has_fast_path(interface)),
            "rx-drop" => number(trouble.rx_drop),
            "tx-drop" => number(trouble.tx_drop),
            "rx-error" => number(trouble.rx_error),
            "tx-queue-drop" => number(trouble.queue_drop),
            "tx-error" => number(0),
            counter => return self.interface_counter(interface, counter),
        })
    }

    /// What of PPP an interface is.
    fn session_type(&self, item: &Item, name: &str) -> &'static str {
        let Program { pppoe, l2tp, pptp, .. } = &*self.router.program;
        let has = |bindings: &[Binding]| bindings.iter().any(|binding| binding.item == item.id);
        match item.dynamic {
            true if name.starts_with("<l2tp-") => "l2tp-in",
            true if name.starts_with("<pptp-") => "pptp-in",
            true => "pppoe-in",
            false if l2tp.clients.has(item.id) => "l2tp-out",
            false if pptp.clients.has(item.id) => "pptp-out",
            false if has(&l2tp.bindings) => "l2tp-in",
            false if has(&pptp.bindings) => "pptp-in",
            false if has(&pppoe.bindings) => "pppoe-in",
            false => "pppoe-out",
        }
    }

    /// Whether a port's backend lets frames come and go in FastPath; a bridge does.
    fn has_fast_path(&self, interface: &Interface) -> bool {
        let port = match interface.kind {
            Kind::Ethernet { port } => port as usize,
            kind => {
                let slow = matches!(kind, Kind::Tunnel { .. } | Kind::Wireguard(_) | Kind::Absent);
                return !slow;
            }
        };
        let port = self.router.io.ports.get(port);
        port.is_some_and(|port| port.capabilities.fast_path_rx && port.capabilities.fast_path_tx)
    }

    /// What became of a port's link; nothing for other interfaces.
    fn link_history(&self, interface: &Interface, property: &str) -> Option<Value> {
        let Kind::Ethernet { port } = interface.kind else { return None };
        let history = self.router.link.histories.get(port as usize)?;
        let time = |at: Option<Moment>| at.map(|at| Value::Text(log::time(at)));
        match property {
            "link-downs" => Some(number(history.downs)),
            "last-link-up-time" => time(history.last_up),
            _ => time(history.last_down),
        }
    }

    /// The longest frame an interface takes, less its header: a bridge's is the least of its ports',
    /// a VLAN's that of the interface below, less the tag.
    fn l2mtu(&self, interface: &Interface) -> Option<u64> {
        let program = &self.router.program;
        match interface.kind {
            Kind::Ethernet { port } => {
                let frame = self.router.io.ports.get(port as usize)?.capabilities.max_frame;
                Some(u64::from(frame).saturating_sub(14))
            }
            Kind::Bridge(at) => {
                let ports = program.interfaces.iter().filter(|port| port.bridge == Some(at));
                ports.filter_map(|port| self.l2mtu(port)).min()
            }
            Kind::Vlan { on, .. } => {
                self.l2mtu(program.interface(on)).map(|mtu| mtu.saturating_sub(4))
            }
            // As RouterOS shows it: a longer frame leaves in more pieces.
            Kind::Tunnel { carries, .. } if carries.is_ethernet() => Some(65535),
            Kind::Tunnel { .. } | Kind::Wireguard(_) | Kind::Absent => None,
            Kind::Vrrp { on } => self.l2mtu(program.interface(on)),
            Kind::Session(_) => None,
            Kind::Bond(at) => {
                let slaves = program.bonds.get(at.index())?.slaves.iter();
                slaves.filter_map(|&slave| self.l2mtu(program.interface(slave))).min()
            }
        }
    }

    fn interface_counter(&self, interface: &Interface, property: &str) -> Option<Value> {
        let counts = self.router.interface_counts(interface.id);
        Some(match property {
            "rx-byte" => number(counts.rx.bytes),
            "tx-byte" => number(counts.tx.bytes),
            "rx-packet" => number(counts.rx.packets),
            "tx-packet" => number(counts.tx.packets),
            "fp-rx-byte" => number(counts.fast_rx.bytes),
            "fp-tx-byte" => number(counts.fast_tx.bytes),
            "fp-rx-packet" => number(counts.fast_rx.packets),
            "fp-tx-packet" => number(counts.fast_tx.packets),
            _ => return None,
        })
    }

    /// What the menus of ports, VLANs and tunnels say of their own.
    pub(crate) fn ethernet(&self, item: &Item, property: &str) -> Option<Value> {
        let interface = self.interface(item)?;
        Some(match property {
            "running" => Value::Bool(interface.running && !item.disabled),
            "slave" => Value::Bool(interface.bridge.is_some() || interface.bond.is_some()),
            "mac-address" => Value::Mac(interface.mac),
            "actual-mtu" => number(interface.mtu.into()),
            "l2mtu" => number(self.l2mtu(interface)?),
            counter => return self.interface_counter(interface, counter),
        })
    }

    /// An interface's name, as a value.
    pub(crate) fn name(&self, interface: InterfaceId) -> Value {
        Value::Text(self.router.program.interface(interface).name.to_string())
    }
}
