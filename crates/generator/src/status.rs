//! Read-only values of the generator's menus: assumed values, dynamic items; and which
//! templates and ports are refused.

use super::Generator;
use super::catalogue::Headers;
use super::count::BUCKETS;
use super::menu::{PORT, SETTINGS, STREAM, template};
use super::payload::{Payload, Raw};
use super::stack;
use config::{FIRST_DYNAMIC, Item, ItemId, Menu, Status, Tree, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// Dynamic ports begin behind the dynamic raw templates.
const FIRST_DYNAMIC_PORT: u32 = FIRST_DYNAMIC + 0x0100_0000;

impl Status for Generator {
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        let text = |text: &str| Some(Value::Text(text.to_string()));
        match (menu.path, property) {
            (path, "running") if path == SETTINGS.path => Some(Value::Bool(self.is_running())),
            (path, "latency-distribution-samples") if path == SETTINGS.path => {
                Some(Value::Number(BUCKETS as i64))
            }
            (path, "latency-distribution-measure-interval") if path == SETTINGS.path => {
                let ns = self.catalogue.settings.latency_max.as_nanos() as u64;
                Some(Value::Time(Duration::from_nanos(ns / BUCKETS as u64 * BUCKETS as u64)))
            }
            (path, "first-header") if path == PORT.path => text("mac"),
            (path, "inactive") if path == PORT.path => {
                let interface = item?.get("interface").map(ToString::to_string)?;
                Some(Value::Bool(self.catalogue.port(&interface).is_none()))
            }
            (path, "header-length") if path == template::RAW.path => {
                let digits = item?.get("header").map_or(0, |header| header.to_string().len());
                Some(Value::Number(digits as i64 / 2))
            }
            (path, name) if path == template::PACKET.path && name.starts_with("assumed-") => {
                self.assumed(menu, item?, name).map(Value::Text)
            }
            _ => None,
        }
    }

    fn remark(&self, menu: &Menu, item: &Item) -> Option<String> {
        if menu.path != template::PACKET.path {
            return None;
        }
        self.assumptions.of_item(item.id).and_then(|assumed| assumed.lacks.clone())
    }

    /// Of packet templates the raw templates they make; of their interfaces ports.
    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        match menu.path {
            path if path == template::RAW.path => self.raw_templates(),
            path if path == PORT.path => self.dynamic_ports(),
            _ => Vec::new(),
        }
    }

    fn check(&self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        check(menu, item, tree)
    }
}

impl Generator {
    fn assumed(&self, menu: &Menu, item: &Item, name: &str) -> Option<String> {
        let assumed = self.assumptions.of_item(item.id)?;
        let template = self.catalogue.templates.iter().find(|template| template.id() == item.id)?;
        if name == "assumed-interface" {
            let port = assumed.port.filter(|_| template.interface.is_none())?;
            return self.catalogue.interfaces.get(port).map(|interface| interface.name.clone());
        }
        let Headers::Stack(headers) = &template.headers else { return None };
        stack::assumed(headers, assumed.found, menu.read(item), name)
    }

    fn raw_templates(&self) -> Vec<Item> {
        let made = self.catalogue.templates.iter();
        let made = made.filter(|template| matches!(template.headers, Headers::Stack(_)));
        let item = |template: &super::catalogue::Template| {
            let found = self.assumptions.of(template).map(|assumed| assumed.found);
            let header = template.header(found.unwrap_or_default());
            let hex: String = header.iter().map(|byte| format!("{byte:02x}")).collect();
            let values = BTreeMap::from([
                ("name", Value::Text(dynamic_name(&template.name))),
                ("header", Value::Text(hex)),
            ]);
            let id = ItemId(FIRST_DYNAMIC + (template.id().0 & 0x00ff_ffff));
            Item { dynamic: true, ..Item::new(id, values) }
        };
        made.map(item).collect()
    }

    /// A port for each interface that templates use and no port item names.
    fn dynamic_ports(&self) -> Vec<Item> {
        let used = self.catalogue.templates.iter().filter_map(|template| {
            let own = template.interface.as_ref().and_then(|name| self.catalogue.port(name));
            own.or_else(|| self.assumptions.of(template).and_then(|assumed| assumed.port))
        });
        let used: std::collections::BTreeSet<usize> = used.collect();
        let named = |name: &str| self.catalogue.ports.iter().any(|port| port.interface == name);
        let ports = used.into_iter().filter_map(|port| {
            let name = &self.catalogue.interfaces.get(port)?.name;
            let values = BTreeMap::from([
                ("name", Value::Text(dynamic_name(name))),
                ("interface", Value::Text(name.clone())),
            ]);
            let id = ItemId(FIRST_DYNAMIC_PORT + port as u32);
            (!named(name)).then(|| Item { dynamic: true, ..Item::new(id, values) })
        });
        ports.collect()
    }
}

/// In brackets, as RouterOS names what it makes itself: the name stays the user's.
fn dynamic_name(of: &str) -> String {
    format!("<{of}>")
}

/// [`Status::check`] of the generator's menus, which asks nothing of the running generator.
///
/// # Errors
/// RouterOS's words.
pub fn check(menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
    let read = menu.read(item);
    let given = |name: &str| item.get(name).is_some();
    match menu.path {
        path if path == template::PACKET.path => {
            if given("port") && given("interface") {
                return Err("failure: port or interface, not both".to_string());
            }
            stack::read(read).map(|_| ())
        }
        path if path == template::RAW.path => {
            let raw = Raw::read(read)?;
            let longest = wire::FrameLen::without_fcs(port::slab::MAX_FRAME as u32);
            let plan = raw.plan(&Payload::read(read), longest.into());
            plan.build(0, 0, 0).map(|_| ()).map_err(|bad| format!("failure: {bad}"))
        }
        path if path == STREAM.path => {
            let num = read.number("num");
            let others = tree.read(&STREAM).filter(|other| other.id() != item.id);
            match others.into_iter().find(|other| other.number("num") == num) {
                Some(other) => {
                    Err(format!("failure: {} has the number {num} already", other.name()))
                }
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
