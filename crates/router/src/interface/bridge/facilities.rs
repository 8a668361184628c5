//! The facilities of bridges: `/interface bridge`, its ports, its hosts and its settings.

use super::menu;
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL;
use crate::status::{Numbers, RouterStatus, Values, dynamic, number, reasons};
use config::{Item, Value};
use std::time::Duration;

/// `/interface bridge`.
pub(crate) static BRIDGE: Facility = Facility {
    part_of: Some(&ALL),
    value: |status, item, property| status.bridge(item, property),
    remark: |_, bridge| menu::remark(bridge),
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
    },
    relearn: true,
    setting: |status, property| status.bridge_settings(property),
    ..Facility::of(&menu::SETTINGS)
};

/// `/interface bridge host`.
pub(crate) static HOST: Facility = Facility { rows: Rows::Few(hosts), ..Facility::of(&menu::HOST) };

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
