//! Words of RouterOS's versions, for `/export version=`: what is called otherwise in the other version,
//! or stands in another menu, both of which this router reads.
//!
//! ```text
//!           version 6                                       version 7
//! /ip route        routing-mark=a type=blackhole   ◄─►   routing-table=a blackhole
//! /ip route rule   …                               ◄─►   /routing rule …
//! /ip route vrf    routing-mark=a interfaces=b     ◄─►   /ip vrf name=a interfaces=b
//! /system ntp client   primary-ntp=… …             ◄─►   /system ntp client servers add address=…
//! (a mark that is mentioned is a table)            ◄─►   /routing table add fib name=a
//! ```
//!
//! Changes a copy of the configuration. What has no counterpart gets a remark, which stands above the
//! line: either the nearest is written, or the word is left out. What has another default in version 7 is
//! written out.

use crate::firewall::connection::menu::TRACKING;
use crate::firewall::mark::{Mark, routing_tables};
use crate::firewall::menu::FILTER;
use crate::interface::bridge::menu::{BRIDGE, PORT};
use crate::interface::menu::ETHERNET;
use crate::interface::vlan::VLAN;
use crate::ip::dhcp::menu::SERVER;
use crate::ip::dns::menu::STATIC as NAMES;
use crate::ip::menu::{ROUTE, RULE, RULE7, SETTINGS, VRF, VRF7};
use crate::ip::nat_pmp::{self, SIDES};
use crate::ip::rule::TABLE;
use crate::ipv6::firewall::NAT as NAT6;
use crate::ipv6::menu::ROUTE as ROUTE6;
use crate::system::ntp::menu::{CLIENT, SERVERS};
use config::{Item, ItemId, Menu, Translated, Tree, Value, Version};
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Properties whose default is another one in version 7.
static WRITTEN: &[(&str, &str)] = &[
    (BRIDGE.path, "ingress-filtering"),
    (BRIDGE.path, "port-cost-mode"),
    (PORT.path, "ingress-filtering"),
    (PORT.path, "internal-path-cost"),
    (PORT.path, "path-cost"),
    (TRACKING.path, "udp-timeout"),
    (SERVER.path, "authoritative"),
    (SERVER.path, "lease-time"),
];

/// What version 7 writes as a word alone.
static FLAGS: &[(&str, &str)] =
    &[(ROUTE.path, "blackhole"), (ROUTE6.path, "blackhole"), (TABLE.path, "fib")];

/// Properties that version 6 does not have.
static ONLY_V7: &[(&str, &str)] = &[
    (BRIDGE.path, "forward-reserved-addresses"),
    (BRIDGE.path, "max-learned-entries"),
    (BRIDGE.path, "port-cost-mode"),
    (VLAN.path, "mvrp"),
    (FILTER.path, "hw-offload"),
    (NAMES.path, "address-list"),
    (ROUTE.path, "suppress-hw-offload"),
    (ROUTE6.path, "suppress-hw-offload"),
    (CLIENT.path, "mode"),
    (CLIENT.path, "vrf"),
    (RULE.path, "min-prefix"),
];

/// Menus that version 6 does not have, nor anything in their place: their lines stay as they are.
static MENUS_OF_V7: &[&str] = &[nat_pmp::MENU.path, SIDES.path, NAT6.path];

/// Speeds: version 6's word, the one of its `advertise`, and version 7's, which names the medium as well.
/// Back from version 7 every medium has the word of its speed.
const SPEEDS: &[(&str, &str, &str)] = &[
    ("10Mbps", "10M-full", "10M-baseT-full"),
    ("10Mbps", "10M-half", "10M-baseT-half"),
    ("100Mbps", "100M-full", "100M-baseT-full"),
    ("100Mbps", "100M-half", "100M-baseT-half"),
    ("1Gbps", "1000M-full", "1G-baseT-full"),
    ("1Gbps", "1000M-half", "1G-baseT-half"),
    ("2.5Gbps", "2500M-full", "2.5G-baseT"),
    ("5Gbps", "5000M-full", "5G-baseT"),
    ("10Gbps", "10000M-full", "10G-baseT"),
    ("25Gbps", "25000M-full", "25G-baseCR"),
    ("40Gbps", "40000M-full", "40G-baseCR4"),
    ("50Gbps", "50000M-full", "50G-baseCR2"),
    ("100Gbps", "100000M-full", "100G-baseCR4"),
];

/// Properties that version 7 does not have.
static ONLY_V6: &[(&str, &str)] = &[(SETTINGS.path, "route-cache")];

/// Says a configuration in the words of a version.
pub fn translate(tree: &mut Tree, version: Version) -> Translated {
    let mut words = Words { tree, version, remarks: HashMap::new() };
    for menu in [&ROUTE, &ROUTE6] {
        words.routes(menu);
    }
    words.rules();
    words.vrfs();
    words.tables();
    words.time_servers();
    words.speeds();
    let only = if version == Version::V7 { ONLY_V6 } else { ONLY_V7 };
    for (menu, name) in only {
        words.leave_out(menu, name);
    }
    let remarks = words.remarks;
    match version {
        Version::V6 => {
            let mut translated = Translated { remarks, ..Translated::default() };
            for menu in MENUS_OF_V7 {
                let first = tree.items(menu).iter().find(|item| !item.dynamic);
                let remark = first.map(|item| (item.id, format!("version 6 has no {menu}")));
                translated.remarks.extend(remark);
            }
            translated
        }
        Version::V7 => {
            for bridge in tree.existing_mut(BRIDGE.path) {
                // Path costs here are those of version 6.
                set(bridge, "port-cost-mode", text("short"));
            }
            Translated { remarks, written: WRITTEN, flags: FLAGS }
        }
    }
}

struct Words<'a> {
    tree: &'a mut Tree,
    version: Version,
    remarks: HashMap<ItemId, String>,
}

impl Words<'_> {
    fn remark(&mut self, item: ItemId, text: &str) {
        let remark = self.remarks.entry(item).or_default();
        *remark += if remark.is_empty() { "" } else { "; " };
        *remark += text;
    }

    /// Tables by mark, and what only ends packets.
    fn routes(&mut self, menu: &Menu) {
        let names = ["routing-mark", "routing-table", "type", "blackhole"];
        let mut nearest = Vec::new();
        for route in self.tree.existing_mut(menu.path) {
            if !names.iter().any(|name| route.values.contains_key(name)) {
                continue;
            }
            let route = Arc::make_mut(route);
            let [mark, table, kind, blackhole] = names.map(|name| route.values.remove(name));
            let kind = match blackhole {
                Some(Value::Bool(true)) => "blackhole".to_string(),
                _ => kind.map_or_else(|| "unicast".to_string(), |kind| kind.to_string()),
            };
            let table = mark.or(table).filter(|table| !table.to_string().is_empty());
            if self.version == Version::V7 {
                route.values.extend(table.map(|table| ("routing-table", table)));
                if kind != "unicast" {
                    route.values.insert("blackhole", Value::Bool(true));
                }
                if ["unreachable", "prohibit"].contains(&kind.as_str()) {
                    nearest.push((route.id, kind));
                }
                continue;
            }
            let table = table.filter(|table| *table != text("main"));
            route.values.extend(table.map(|table| ("routing-mark", table)));
            if kind != "unicast" {
                route.values.insert("type", Value::Text(kind));
            }
        }
        for (route, kind) in nearest {
            let remark = format!("version 7 has no type={kind}: packets end here silently");
            self.remark(route, &remark);
        }
    }

    /// Those of version 6 are asked first, whichever menu they are in. They are of IPv4, those of version 7 that
    /// do not say so of both families.
    fn rules(&mut self) {
        let (from, to) = if self.version == Version::V7 { (RULE, RULE7) } else { (RULE7, RULE) };
        let mut moved = std::mem::take(self.tree.items_mut(from.path));
        let prefixes = ["src-address", "dst-address"];
        for rule in &mut moved {
            let said = prefixes.iter().filter_map(|name| rule.get(name));
            if self.version == Version::V7 {
                if said.count() == 0 {
                    set(rule, "dst-address", Value::Cidr(Ipv4Addr::UNSPECIFIED, 0));
                }
            } else if said.into_iter().any(|value| matches!(value, Value::Cidr6(..))) {
                self.remark(rule.id, "version 6 has no rules of IPv6");
            }
        }
        let there = self.tree.items_mut(to.path);
        let at = if self.version == Version::V7 { 0 } else { there.len() };
        there.splice(at..at, moved);
    }

    fn vrfs(&mut self) {
        let (from, to) = if self.version == Version::V7 { (VRF, VRF7) } else { (VRF7, VRF) };
        let (old, new) = if self.version == Version::V7 {
            ("routing-mark", "name")
        } else {
            ("name", "routing-mark")
        };
        let mut moved = std::mem::take(self.tree.items_mut(from.path));
        for vrf in &mut moved {
            let values = &mut Arc::make_mut(vrf).values;
            let name = values.remove(old);
            values.extend(name.map(|name| (new, name)));
        }
        self.tree.items_mut(to.path).extend(moved);
    }

    /// Version 7 wants its tables named; in version 6 whoever mentions one makes it.
    fn tables(&mut self) {
        if self.version == Version::V6 {
            self.tree.items_mut(TABLE.path).clear();
            return;
        }
        let mut names = routing_tables(self.tree);
        for vrf in self.tree.items(VRF7.path) {
            names.remove(&vrf.get("name").map(Value::to_string).unwrap_or_default());
        }
        names.remove(Mark::NO_MARK);
        for table in self.tree.existing_mut(TABLE.path) {
            names.remove(table.name("name"));
            set(table, "fib", Value::Bool(true));
        }
        for name in names {
            let values = [("name", Value::Text(name)), ("fib", Value::Bool(true))];
            self.tree.push(&TABLE, values.into());
        }
    }

    fn time_servers(&mut self) {
        let names = ["primary-ntp", "secondary-ntp", "servers", "server-dns-names"];
        let Some(client) = self.tree.existing_mut(CLIENT.path).first_mut() else {
            return self.no_time_client();
        };
        let client = Arc::make_mut(client);
        let id = client.id;
        let said = names.map(|name| client.values.remove(name));
        let said = said.into_iter().flatten().flat_map(|value| match value {
            Value::List(values) => values,
            value => vec![value],
        });
        let said: Vec<Value> = said.filter(|server| server.to_string() != "0.0.0.0").collect();
        if self.version == Version::V7 {
            let listed = std::mem::take(self.tree.items_mut(SERVERS.path));
            for server in said {
                self.tree.push(&SERVERS, [("address", server)].into());
            }
            return self.tree.items_mut(SERVERS.path).extend(listed);
        }
        let listed = std::mem::take(self.tree.items_mut(SERVERS.path));
        let (off, on): (Vec<_>, Vec<_>) = listed.into_iter().partition(|item| item.disabled);
        let listed = on.iter().filter_map(|item| item.get("address").cloned());
        let all = said.into_iter().chain(listed);
        let is_address = |server: &Value| matches!(server, Value::Address(_));
        let (addresses, by_name): (Vec<_>, Vec<_>) = all.partition(is_address);
        let mut addresses = addresses.into_iter();
        let mut values: BTreeMap<_, _> =
            names.into_iter().zip(addresses.by_ref().take(2)).collect();
        if !by_name.is_empty() {
            values.insert("server-dns-names", Value::List(by_name));
        }
        self.tree.settings_mut(&CLIENT).values.extend(values);
        for server in addresses {
            self.remark(id, &format!("version 6 has two addresses, and no room for {server}"));
        }
        for server in off.iter().filter_map(|item| item.get("address")) {
            self.remark(id, &format!("version 6 has no disabled server: {server}"));
        }
    }

    /// Nothing is said of the client: servers alone ask nobody.
    fn no_time_client(&mut self) {
        if self.version == Version::V6 && !self.tree.items(SERVERS.path).is_empty() {
            self.tree.settings_mut(&CLIENT);
            self.time_servers();
        }
    }

    fn speeds(&mut self) {
        let is_new = self.version == Version::V7;
        let word = |value: &Value, list: bool| {
            let typed = value.to_string();
            // `10G-baseSR-LR` is as fast as `10G-baseT`.
            let speed = |word: &str| word.split_once("-base").map(|(speed, _)| speed.to_string());
            let found = SPEEDS.iter().find(|(old, advertised, new)| match is_new {
                true => [*old, *advertised].contains(&typed.as_str()),
                false => *new == typed,
            });
            let as_fast = || SPEEDS.iter().find(|row| !is_new && speed(row.2) == speed(&typed));
            let found = found.or_else(as_fast);
            let found = found.map(|(old, advertised, new)| match (is_new, list) {
                (true, _) => *new,
                (false, true) => *advertised,
                (false, false) => *old,
            });
            found.map_or_else(|| value.clone(), text)
        };
        for port in self.tree.existing_mut(ETHERNET.path) {
            if !["advertise", "speed"].iter().any(|name| port.values.contains_key(name)) {
                continue;
            }
            let values = &mut Arc::make_mut(port).values;
            for (name, list) in [("advertise", true), ("speed", false)] {
                match values.get_mut(name) {
                    Some(Value::List(all)) => all.iter_mut().for_each(|v| *v = word(v, list)),
                    Some(value) => *value = word(value, list),
                    None => {}
                }
            }
        }
    }

    /// A property that the version does not have.
    fn leave_out(&mut self, menu: &str, name: &str) {
        let number = if self.version == Version::V7 { 7 } else { 6 };
        let mut without = Vec::new();
        for item in self.tree.existing_mut(menu) {
            if item.values.contains_key(name) {
                let value = Arc::make_mut(item).values.remove(name);
                // What is so in version 6 needs no word there.
                let value = value.filter(|value| !["no", "short"].contains(&&*value.to_string()));
                without.extend(value.map(|value| (item.id, value)));
            }
        }
        for (item, value) in without {
            self.remark(item, &format!("version {number} has no {name}={value}"));
        }
    }
}

fn set(item: &mut Arc<Item>, name: &'static str, value: Value) {
    if !item.values.contains_key(name) {
        Arc::make_mut(item).values.insert(name, value);
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}
