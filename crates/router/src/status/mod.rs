//! What the console shows of the running router, beside what was typed: counters, flags, why a
//! rule is invalid, and the items the router made itself.
//!
//! ```text
//! print, find, get ─► config::Interpreter ─► Status::value, remark ─┐
//!                                          ├► Status::dynamic (rows) ├─► Router, as it is now
//! add, set ─────────────────────────────► └► Status::check: the facilities' own rules
//! ```
//!
//! Speaks of the configuration that the router has taken over: an item added by the same script
//! has no counter, no flag and no remark yet.
//!
//! Never changes anything; what does is in [`commands`](crate::commands).

// `/log`.
pub(crate) mod log;
// `/tool discard`.
pub(crate) mod discard;
// The items the router made itself.
mod rows;

pub(crate) use rows::connection;

use crate::counter::Count;
use crate::firewall::menu::{FILTER, NAT};
use crate::interface::bridge;
use crate::ip::route::Candidate;
use crate::ip::{address, menu as ip_menu, neighbour};
use crate::program::{Interface, Kind};
use crate::queue::leaf::LeafStats;
use crate::router::Router;
use crate::{firewall, queue};
use config::{FIRST_DYNAMIC, Item, ItemId, Menu, Tree, Value};
use std::net::Ipv4Addr;
use wire::{Ipv4Prefix, Moment};

/// A router as the console sees it at one moment.
pub struct RouterStatus<'a> {
    router: &'a Router,
    now: Moment,
}

impl Router {
    /// What the console shows now. All counters are brought up to date first.
    pub fn status(&mut self, now: Moment) -> RouterStatus<'_> {
        self.learnt.recipes.fold(&mut self.stats.counters);
        RouterStatus { router: self, now }
    }
}

impl config::Status for RouterStatus<'_> {
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        match (menu.path, item) {
            ("/ip settings", _) => self.ip_settings(property),
            ("/interface bridge settings", _) => self.bridge_settings(property),
            ("/ip firewall connection tracking", _) => self.tracking(property),
            ("/tool sniffer", _) => self.router.sniffer_status(property),
            ("/interface", Some(item)) => self.any_interface(item, property),
            ("/interface ethernet" | "/interface vlan", Some(item)) => {
                self.ethernet(item, property)
            }
            ("/interface bridge", Some(item)) => self.bridge(item, property),
            ("/interface bridge port", Some(item)) => self.bridge_port(item, property),
            ("/ip address", Some(item)) => self.address(item, property),
            ("/ip arp", Some(item)) => self.neighbour(item, property),
            ("/ip route", Some(item)) => self.route(item, property),
            ("/queue simple", Some(item)) => self.queue(menu, item, property),
            (_, Some(item)) => self.rule(menu, item, property),
            (_, None) => None,
        }
    }

    fn remark(&self, menu: &Menu, item: &Item) -> Option<String> {
        let program = &self.router.program;
        if menu.path == queue::menu::SIMPLE.path {
            let invalid = program.queues.invalid().iter().find(|(id, _)| *id == item.id);
            return invalid.map(|(_, why)| why.clone());
        }
        let why = if menu.path == FILTER.path {
            program.filter.invalid(item.id)
        } else if menu.path == NAT.path {
            program.nat.invalid(item.id)
        } else if menu.path == bridge::filter::menu::FILTER.path {
            program.bridge_filter.invalid(item.id)
        } else if menu.path == bridge::menu::BRIDGE.path {
            return bridge::menu::remark(item);
        } else {
            None
        };
        why.map(ToString::to_string)
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        match menu.path {
            "/interface bridge host" => self.hosts(),
            "/ip arp" => self.learnt_neighbours(),
            "/ip route" => self.routes_page(None, usize::MAX),
            "/ip firewall connection" => self.connections_page(None, usize::MAX),
            "/ip firewall filter" => self.dummy_rule(),
            "/tool sniffer packet" => self.sniffed(None, usize::MAX),
            "/tool discard" => self.discards(),
            "/log" => self.log(None, usize::MAX),
            _ => Vec::new(),
        }
    }

    fn dynamic_page(&self, menu: &Menu, after: Option<ItemId>, max: usize) -> Vec<Item> {
        match menu.path {
            // Tables that may be long are walked, not copied.
            "/ip firewall connection" => self.connections_page(after, max),
            "/ip route" => self.routes_page(after, max),
            "/tool sniffer packet" => self.sniffed(after, max),
            "/log" => self.log(after, max),
            _ => {
                let all = self.dynamic(menu);
                let from = after.map_or(Some(0), |after| {
                    all.iter().position(|item| item.id == after).map(|at| at + 1)
                });
                all.into_iter().skip(from.unwrap_or(usize::MAX)).take(max).collect()
            }
        }
    }

    fn dynamic_item(&self, menu: &Menu, id: ItemId) -> Option<Item> {
        let found = match menu.path {
            "/ip route" if connection(id).is_none() => self.connected_routes(),
            // The one behind the number before.
            "/ip firewall connection" | "/ip route" | "/tool sniffer packet" | "/log" => {
                let before = (id.0 > FIRST_DYNAMIC).then(|| ItemId(id.0 - 1));
                self.dynamic_page(menu, before, 1)
            }
            _ => self.dynamic(menu),
        };
        found.into_iter().find(|item| item.id == id)
    }

    fn check(&self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        check(menu, item, tree)
    }

    fn banner(&self) -> Vec<String> {
        vec![format!("by wirespeed {}", env!("CARGO_PKG_VERSION")), String::new()]
    }
}

/// [`Status::check`](config::Status::check) of the router's menus, which asks nothing of the
/// running router: whoever reads a script of thousands of lines need not hold it up.
///
/// # Errors
/// RouterOS's words.
pub fn check(menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
    match menu.path {
        "/interface bridge port" => bridge::menu::check_port(tree, item),
        "/interface bridge vlan" => bridge::vlan::check(tree, item),
        "/interface list" | "/interface list member" => {
            crate::interface::list::check(tree, menu, item)
        }
        "/interface vlan" => crate::interface::vlan::check(tree, item),
        "/interface bridge filter" => bridge::filter::menu::check(item),
        "/ip address" => ip_menu::check_address(tree, item),
        "/ip arp" => ip_menu::check_neighbour(tree, item),
        "/ip route" => ip_menu::check_route(item),
        "/ip firewall filter" | "/ip firewall nat" => firewall::menu::check(item),
        _ => Ok(()),
    }
}

/// Properties, menu by menu.
impl RouterStatus<'_> {
    fn ip_settings(&self, property: &str) -> Option<Value> {
        let (router, paths) = (self.router, &self.router.stats.paths);
        let fasttracked = router.v4.connections.fasttracked();
        Some(match property {
            "ipv4-fast-path-active" => Value::Bool(router.ipv4_fast_path()),
            "ipv4-fast-path-unmet" => reasons(&router.unmet().ipv4_fast_path),
            "ipv4-fast-path-packets" => number(paths.ipv4_fast_path.packets),
            "ipv4-fast-path-bytes" => number(paths.ipv4_fast_path.bytes),
            "ipv4-fasttrack-active" => Value::Bool(router.fasttrack() && fasttracked > 0),
            "ipv4-fasttrack-unmet" => {
                let mut unmet = router.unmet().ipv4_fasttrack;
                if fasttracked == 0 {
                    unmet.push("no connection is fasttracked");
                }
                reasons(&unmet)
            }
            "ipv4-fasttrack-packets" => number(paths.ipv4_fasttrack.packets),
            "ipv4-fasttrack-bytes" => number(paths.ipv4_fasttrack.bytes),
            _ => return None,
        })
    }

    fn bridge_settings(&self, property: &str) -> Option<Value> {
        let (router, paths) = (self.router, &self.router.stats.paths);
        Some(match property {
            "bridge-fast-path-active" => Value::Bool(router.bridge_fast_path()),
            "bridge-fast-path-unmet" => reasons(&router.unmet().bridge_fast_path),
            "bridge-fast-path-packets" => number(paths.bridge_fast_path.packets),
            "bridge-fast-path-bytes" => number(paths.bridge_fast_path.bytes),
            "bridge-fast-forward-packets" | "bridge-fast-forward-bytes" => number(0),
            _ => return None,
        })
    }

    fn tracking(&self, property: &str) -> Option<Value> {
        let connections = &self.router.v4.connections;
        match property {
            "total-entries" => Some(number(connections.len() as u64)),
            "max-entries" => Some(number(connections.max_entries() as u64)),
            _ => None,
        }
    }

    /// The interface that an item is; none as long as it was never taken over.
    fn interface(&self, item: &Item) -> Option<&Interface> {
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
                }
                .to_string(),
            ),
            "running" => Value::Bool(interface.running && !item.disabled),
            "link-downs" | "last-link-up-time" | "last-link-down-time" => {
                return self.link_history(interface, property);
            }
            "slave" => Value::Bool(interface.bridge.is_some()),
            "actual-mtu" => number(interface.mtu.into()),
            "l2mtu" => number(l2mtu()?),
            "max-l2mtu" if matches!(interface.kind, Kind::Ethernet { .. }) => number(l2mtu()?),
            "mac-address" => Value::Mac(interface.mac),
            "fast-path" => Value::Bool(self.has_fast_path(interface)),
            "rx-drop" => number(trouble.rx_drop),
            "tx-drop" => number(trouble.tx_drop),
            "rx-error" => number(trouble.rx_error),
            "tx-queue-drop" | "tx-error" => number(0),
            counter => return self.interface_counter(interface, counter),
        })
    }

    /// Whether a port's backend lets frames come and go in FastPath; a bridge does.
    fn has_fast_path(&self, interface: &Interface) -> bool {
        let Kind::Ethernet { port } = interface.kind else { return true };
        let port = self.router.io.ports.get(port);
        port.is_some_and(|port| port.capabilities.fast_path_rx && port.capabilities.fast_path_tx)
    }

    /// What became of a port's link; nothing for other interfaces.
    fn link_history(&self, interface: &Interface, property: &str) -> Option<Value> {
        let Kind::Ethernet { port } = interface.kind else { return None };
        let history = self.router.link.histories.get(port)?;
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
                let frame = self.router.io.ports.get(port)?.capabilities.max_frame;
                Some(u64::from(frame).saturating_sub(14))
            }
            Kind::Bridge(at) => {
                let ports = program.interfaces.iter().filter(|port| port.bridge == Some(at));
                ports.filter_map(|port| self.l2mtu(port)).min()
            }
            Kind::Vlan { on, .. } => {
                self.l2mtu(program.interface(on)).map(|mtu| mtu.saturating_sub(4))
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

    fn ethernet(&self, item: &Item, property: &str) -> Option<Value> {
        let interface = self.interface(item)?;
        Some(match property {
            "running" => Value::Bool(interface.running && !item.disabled),
            "slave" => Value::Bool(interface.bridge.is_some()),
            "mac-address" => Value::Mac(interface.mac),
            "l2mtu" => number(self.l2mtu(interface)?),
            counter => return self.interface_counter(interface, counter),
        })
    }

    fn bridge(&self, item: &Item, property: &str) -> Option<Value> {
        let interface = self.interface(item)?;
        match property {
            "running" => Some(Value::Bool(interface.running && !item.disabled)),
            "mac-address" => Some(Value::Mac(interface.mac)),
            "actual-mtu" => Some(number(interface.mtu.into())),
            "protocol-mode" => Some(Value::Text("none".to_string())),
            _ => None,
        }
    }

    fn bridge_port(&self, item: &Item, property: &str) -> Option<Value> {
        let mut bridges = self.router.program.bridges.iter();
        let runs = |id| self.router.program.runs(id);
        let in_use = bridges.any(|bridge| {
            bridge.ports().iter().any(|port| port.item == item.id && runs(port.interface))
        });
        (property == "inactive").then_some(Value::Bool(!in_use && !item.disabled))
    }

    fn address(&self, item: &Item, property: &str) -> Option<Value> {
        let Some(&Value::Cidr(address, len)) = item.get("address") else { return None };
        match property {
            "network" => {
                let network = Ipv4Prefix::new(address.into(), len);
                Some(Value::Address(network.bits().into()))
            }
            "actual-interface" => item.get("interface").cloned(),
            "invalid" => {
                let program = &self.router.program;
                let interface = program.names.find(&text(item, "interface"));
                let there = interface.is_some_and(|interface| program.is_enabled(interface));
                Some(Value::Bool(!there && !item.disabled))
            }
            _ => None,
        }
    }

    fn neighbour(&self, item: &Item, property: &str) -> Option<Value> {
        let Some(&Value::Address(address)) = item.get("address") else { return None };
        let interface = self.router.program.names.find(&text(item, "interface"))?;
        let neighbours = &self.router.v4.neighbours;
        let status = neighbours.status(neighbours.find(interface, address.into())?);
        let in_force = status == neighbour::Status::Permanent && !item.disabled;
        match property {
            "complete" => Some(Value::Bool(in_force)),
            "status" if in_force => Some(Value::Text(status.name().to_string())),
            _ => None,
        }
    }

    fn route(&self, item: &Item, property: &str) -> Option<Value> {
        let program = &self.router.program;
        let runs = |interface| program.runs(interface);
        let kind = |kind: &str| Some(Value::Bool(text(item, "type") == kind));
        match property {
            "active" => {
                let read = ip_menu::ROUTE.read(item);
                let way = address::candidate(read, &program.names, &program.addresses, &runs)?;
                Some(Value::Bool(!item.disabled && self.is_active(&way)))
            }
            "static" => Some(Value::Bool(true)),
            "blackhole" | "unreachable" | "prohibit" => kind(property),
            "gateway-status" => {
                let Some(Value::List(gateways)) = item.get("gateway") else { return None };
                let gateways = gateways.iter().map(|gateway| self.gateway_status(gateway));
                Some(Value::Text(gateways.collect::<Vec<_>>().join(",")))
            }
            _ => None,
        }
    }

    fn is_active(&self, candidate: &Candidate) -> bool {
        // A route of a script under way is not in the table yet, whatever it says.
        let routes = &self.router.v4.routes;
        routes.configured().any(|other| other == candidate) && routes.is_active(candidate)
    }

    /// `10.0.2.1 reachable via ether2`.
    fn gateway_status(&self, gateway: &Value) -> String {
        let program = &self.router.program;
        let runs = |interface| program.runs(interface);
        let way = match gateway {
            Value::Address(address) => {
                address::reach(u32::from(*address), &program.addresses, runs).map(|interface| {
                    format!(" reachable via {}", program.interface(interface).name)
                })
            }
            name => program
                .names
                .find(&name.to_string())
                .filter(|&interface| runs(interface))
                .map(|_| " reachable".to_string()),
        };
        format!("{gateway}{}", way.as_deref().unwrap_or(" unreachable"))
    }

    fn queue(&self, menu: &Menu, item: &Item, property: &str) -> Option<Value> {
        if property == "invalid" {
            return self.is_invalid(menu, item);
        }
        let queue = self.router.program.books.queues.find(item.id)?;
        let stats = queue.leaves().map(|leaf| self.router.queues.stats(leaf));
        let reading: fn(LeafStats) -> Value = match property {
            "bytes" => |leaf| number(leaf.bytes),
            "packets" => |leaf| number(leaf.packets),
            "dropped" => |leaf| number(leaf.dropped),
            "queued-bytes" => |leaf| number(leaf.queued_bytes),
            "queued-packets" => |leaf| number(leaf.queued_packets),
            "rate" => |leaf| Value::Rate(leaf.rate),
            "packet-rate" => |leaf| number(leaf.packet_rate),
            _ => return None,
        };
        let [upload, download] = stats.map(reading);
        Some(Value::Pair(Box::new(upload), Box::new(download)))
    }

    /// Of `/ip firewall filter`, `/ip firewall nat` and `/interface bridge filter`.
    fn rule(&self, menu: &Menu, item: &Item, property: &str) -> Option<Value> {
        let counter = self.router.program.books.counters.find(item.id);
        let count = || counter.map_or(Count::default(), |id| self.router.stats.counters.get(id));
        match property {
            "invalid" => self.is_invalid(menu, item),
            "bytes" => Some(number(count().bytes)),
            "packets" => Some(number(count().packets)),
            _ => None,
        }
    }

    fn is_invalid(&self, menu: &Menu, item: &Item) -> Option<Value> {
        Some(Value::Bool(!item.disabled && config::Status::remark(self, menu, item).is_some()))
    }
}

fn number(number: u64) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

fn reasons(unmet: &[&str]) -> Value {
    Value::Text(unmet.join("; "))
}

fn text(item: &Item, property: &str) -> String {
    item.get(property).map_or(String::new(), ToString::to_string)
}

fn ip(address: u32) -> Value {
    Value::Address(Ipv4Addr::from(address))
}
