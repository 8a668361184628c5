//! The facilities of bridges: `/interface bridge`, its ports, its hosts and its settings.

use super::{menu, stp};
use crate::facility::{Facility, Rows};
use crate::interface::InterfaceId;
use crate::interface::facilities::ALL;
use crate::program::Kind;
use crate::status::{Numbers, RouterStatus, Values, dynamic, number, reasons};
use config::{Item, Value};
use std::time::Duration;
use wire::MacAddr;

/// `/interface bridge`.
pub(crate) static BRIDGE: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, _| menu::check_bridge(item),
    value: |status, item, property| status.bridge(item, property),
    ..Facility::of(&menu::BRIDGE)
};

/// `/interface bridge port`.
pub(crate) static PORT: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, tree| menu::check_port(tree, item),
    value: |status, item, property| status.bridge_port(item, property),
    ..Facility::of(&menu::PORT)
};

/// `/interface bridge settings`.
pub(crate) static SETTINGS: Facility = Facility {
    compile: |c| {
        let settings = c.tree.read_settings(&menu::SETTINGS);
        c.program.bridges_allow_fast_path = settings.bool("allow-fast-path");
        c.program.bridges_use_ip_firewall = settings.bool("use-ip-firewall");
    },
    relearn: true,
    setting: |status, property| status.bridge_settings(property),
    ..Facility::of(&menu::SETTINGS)
};

/// `/interface bridge host`.
pub(crate) static HOST: Facility = Facility { rows: Rows::Few(hosts), ..Facility::of(&menu::HOST) };

/// `/interface bridge mdb`.
pub(crate) static MDB: Facility = Facility { rows: Rows::Few(groups), ..Facility::of(&menu::MDB) };

/// `/interface bridge mdb`, by bridge, VLAN and address.
fn groups(status: &RouterStatus) -> Vec<Item> {
    let (mut numbers, mut items) = (Numbers::default(), Vec::new());
    let program = &status.router.program;
    for (bridge, hosts) in program.bridges.iter().zip(&status.router.link.hosts) {
        for (vid, mac, ports) in hosts.groups.rows() {
            let ports: Vec<String> =
                ports.iter().map(|&port| status.name(port).to_string()).collect();
            let mut values = Values::from([
                ("group", Value::Text(MacAddr::from_u64(mac).to_string())),
                ("on-ports", Value::Text(ports.join(","))),
                ("bridge", status.name(bridge.interface)),
            ]);
            if vid != 0 {
                values.insert("vid", Value::Number(vid.into()));
            }
            items.push(dynamic(numbers.of((bridge.item, mac, vid)), values));
        }
    }
    items
}

/// `/interface bridge host`, by bridge and address.
fn hosts(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let mut items = Vec::new();
    let program = &status.router.program;
    for (bridge, hosts) in program.bridges.iter().zip(&status.router.link.hosts) {
        let mut rows: Vec<_> = hosts.rows(status.now.as_millis_u32()).collect();
        rows.sort_by_key(|row| (row.mac, row.vid));
        items.extend(rows.into_iter().map(|row| {
            let mut values = Values::from([
                ("mac-address", Value::Mac(row.mac)),
                ("on-interface", status.name(row.host.port)),
                ("bridge", status.name(bridge.interface)),
                ("local", Value::Bool(row.host.local)),
            ]);
            if row.vid != 0 {
                values.insert("vid", Value::Number(row.vid.into()));
            }
            if !row.host.local {
                let age = Duration::from_secs(u64::from(row.age_ms) / 1000);
                values.insert("age", Value::Time(age));
            }
            dynamic(numbers.of((bridge.item, row.mac, row.vid)), values)
        }));
    }
    items
}

impl RouterStatus<'_> {
    fn bridge(&self, item: &Item, property: &str) -> Option<Value> {
        let interface = self.interface(item)?;
        match property {
            "running" => Some(Value::Bool(interface.running && !item.disabled)),
            "mac-address" => Some(Value::Mac(interface.mac)),
            "actual-mtu" => Some(number(interface.mtu.into())),
            _ => self.tree(interface.id, property),
        }
    }

    /// What a bridge's spanning tree has come to.
    fn tree(&self, bridge: InterfaceId, property: &str) -> Option<Value> {
        let Kind::Bridge(at) = self.router.program.interface(bridge).kind else { return None };
        let (root, cost, port) = self.router.link.trees.get(at.index())?.as_ref()?.root();
        Some(match property {
            "root-bridge" => Value::Bool(port.is_none()),
            "root-bridge-id" => Value::Text(stp::bridge_name(root)),
            "root-path-cost" => number(cost.into()),
            "root-port" => port.map_or(Value::Text("none".to_string()), |port| self.name(port)),
            _ => return None,
        })
    }

    fn bridge_port(&self, item: &Item, property: &str) -> Option<Value> {
        let mut bridges = self.router.program.bridges.iter().enumerate();
        let found = bridges.find_map(|(at, bridge)| {
            let port = bridge.ports().iter().find(|port| port.item == item.id)?;
            Some((at, port.interface))
        });
        if property == "inactive" {
            let in_use = found.is_some_and(|(_, port)| self.router.program.runs(port));
            return Some(Value::Bool(!in_use && !item.disabled));
        }
        let (at, port) = found?;
        let port = self.router.link.trees.get(at)?.as_ref()?.port(port)?;
        Some(match property {
            "role" => Value::Text(port.role.name().to_string()),
            "learning" => Value::Bool(port.learning),
            "forwarding" => Value::Bool(port.forwarding),
            "port-number" => number(port.number.into()),
            "edge-port" => Value::Bool(port.edge),
            "point-to-point-port" => Value::Bool(port.point_to_point),
            "sending-rstp" => Value::Bool(port.rapid),
            "designated-bridge" => Value::Text(stp::bridge_name(port.designated.bridge)),
            "designated-cost" => number(port.designated.cost.into()),
            "designated-port-number" => number((port.designated.port & 0xfff).into()),
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
}
