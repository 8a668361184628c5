//! The generator's menus, read: settings, ports, templates, streams.
//!
//! A passive value, read again from every new configuration; what is assumed of templates outlives
//! that ([`assume`](super::assume)).

use super::menu::{PORT, SETTINGS, STREAM, template};
use super::payload::{Payload, Raw};
use super::stack::{self, Found, Header};
use super::surroundings::Interface;
use config::{Item, ItemId, Read, Tree, Value};
use measure::frame::{FramePlan, Lengths};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use wire::FrameLen;

/// Everything the user said.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalogue {
    pub(super) settings: Settings,
    /// The box's ports.
    pub(super) interfaces: Vec<Interface>,
    pub(super) ports: Vec<PortItem>,
    pub(super) templates: Vec<Template>,
    pub(super) streams: Vec<StreamItem>,
}

/// `/tool traffic-generator`.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) test_id: u8,
    pub(super) latency_max: Duration,
    pub(super) measure_out_of_order: bool,
    pub(super) samples: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        let latency_max = Duration::from_micros(100);
        Settings { test_id: 0, latency_max, measure_out_of_order: true, samples: 100 }
    }
}

/// `/tool traffic-generator port`.
#[derive(Clone, Debug)]
pub(super) struct PortItem {
    pub(super) name: String,
    pub(super) interface: String,
    pub(super) disabled: bool,
}

/// A template of either kind.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// What was typed: if it is another one, all is assumed anew.
    pub(super) item: Arc<Item>,
    pub(super) name: String,
    /// The interface it names, directly or by a port.
    pub(super) interface: Option<String>,
    pub(super) gateway: Option<IpAddr>,
    pub(super) headers: Headers,
    payload: Payload,
}

#[derive(Clone, Debug)]
pub(super) enum Headers {
    Stack(Vec<Header>),
    Raw(Raw),
}

/// `/tool traffic-generator stream`, and what `quick` makes of its arguments.
#[derive(Clone, Debug)]
pub(super) struct StreamItem {
    pub(super) name: String,
    pub(super) num: u8,
    pub(super) packet_size: (u64, u64),
    pub(super) pps: u64,
    pub(super) mbps: u64,
    pub(super) packet_count: u64,
    pub(super) interface: Option<String>,
    pub(super) template: String,
    pub(super) disabled: bool,
}

impl Catalogue {
    pub(super) fn read(tree: &Tree, interfaces: Vec<Interface>) -> Catalogue {
        let settings = tree.read_settings(&SETTINGS);
        let settings = Settings {
            test_id: settings.number("test-id") as u8,
            latency_max: settings.time("latency-distribution-max"),
            measure_out_of_order: settings.bool("measure-out-of-order"),
            samples: settings.number("stats-samples-to-keep") as usize,
        };
        let ports: Vec<PortItem> = tree
            .read(&PORT)
            .map(|item| PortItem {
                name: item.name().to_string(),
                interface: item.text("interface"),
                disabled: item.bool("disabled"),
            })
            .collect();
        let packets = tree.items(template::PACKET.path).iter();
        let packets = packets.filter_map(|item| Template::packet(item, &ports));
        let raws = tree.items(template::RAW.path).iter();
        let raws = raws.filter_map(|item| Template::raw(item, &ports));
        let templates = packets.chain(raws).collect();
        let streams = tree.read(&STREAM).map(|item| StreamItem::read(item, &ports)).collect();
        Catalogue { settings, interfaces, ports, templates, streams }
    }

    pub(super) fn template(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|template| template.name == name)
    }

    /// The port of this name that is an interface's.
    pub(super) fn port(&self, interface: &str) -> Option<usize> {
        self.interfaces.iter().position(|other| other.name == interface)
    }

    /// How `stats` calls an interface: `port0:ether1`, or its own name if no port item has it.
    pub(super) fn label(&self, port: usize) -> String {
        let Some(interface) = self.interfaces.get(port) else { return String::new() };
        match self.ports.iter().find(|port| port.interface == interface.name && !port.disabled) {
            Some(port) => format!("{}:{}", port.name, interface.name),
            None => interface.name.clone(),
        }
    }
}

/// The interface that `port=` or `interface=` names.
fn interface(item: Read, ports: &[PortItem]) -> Option<String> {
    let port = item.text("port");
    let of_port = ports.iter().find(|other| other.name == port && !other.disabled);
    of_port.map(|port| port.interface.clone())
}

impl Template {
    pub(super) fn id(&self) -> ItemId {
        self.item.id
    }

    fn packet(typed: &Arc<Item>, ports: &[PortItem]) -> Option<Template> {
        let item = template::PACKET.read(typed);
        let own = Some(item.text("interface")).filter(|name| !name.is_empty());
        let names = item.list("header-stack");
        let names = names.iter().map(ToString::to_string);
        let first = names.into_iter().find(|name| matches!(name.as_str(), "ip" | "ipv6"));
        let property = if first.as_deref() == Some("ipv6") { "ipv6-gateway" } else { "ip-gateway" };
        let gateway = match item.opt(property).as_deref() {
            Some(&Value::Address(address)) => Some(address.into()),
            Some(&Value::Address6(address)) => Some(address.into()),
            _ => None,
        };
        Some(Template {
            item: typed.clone(),
            name: item.name().to_string(),
            interface: own.or_else(|| interface(item, ports)),
            gateway,
            headers: Headers::Stack(stack::read(item).ok()?),
            payload: Payload::read(item),
        })
    }

    fn raw(typed: &Arc<Item>, ports: &[PortItem]) -> Option<Template> {
        let item = template::RAW.read(typed);
        Some(Template {
            item: typed.clone(),
            name: item.name().to_string(),
            interface: interface(item, ports),
            gateway: None,
            headers: Headers::Raw(Raw::read(item).ok()?),
            payload: Payload::read(item),
        })
    }

    /// Its frames.
    pub(super) fn plan(&self, found: Found, lengths: Lengths) -> FramePlan {
        match &self.headers {
            Headers::Stack(headers) => stack::plan(headers, &self.payload, found, lengths),
            Headers::Raw(raw) => raw.plan(&self.payload, lengths),
        }
    }

    /// Its header bytes.
    pub(super) fn header(&self, found: Found) -> Vec<u8> {
        let len = FrameLen::MAX;
        self.plan(found, len.into()).header
    }

    /// From where on its frames carry a checksum of their own, and the bytes behind their data.
    pub(super) fn check(&self) -> Option<usize> {
        self.payload.checksum_from
    }
}

impl StreamItem {
    fn read(item: Read, ports: &[PortItem]) -> StreamItem {
        let packet_size = match &*item.value("packet-size") {
            Value::Numbers(least, most) => (*least, *most),
            _ => (0, 0),
        };
        StreamItem {
            name: item.name().to_string(),
            num: item.number("num") as u8,
            packet_size,
            pps: item.number("pps") as u64,
            mbps: item.number("mbps") as u64,
            packet_count: item.number("packet-count") as u64,
            interface: interface(item, ports),
            template: item.text("tx-template"),
            disabled: item.bool("disabled"),
        }
    }

    /// A stream that is not in the menu.
    pub(super) fn of_template(num: u8, template: String) -> StreamItem {
        StreamItem {
            name: template.clone(),
            num,
            packet_size: (0, 0),
            pps: 0,
            mbps: 0,
            packet_count: 0,
            interface: None,
            template,
            disabled: false,
        }
    }

    /// The lengths of its frames; an unset packet-size is a full frame's.
    pub(super) fn lengths(&self) -> (FrameLen, FrameLen) {
        let bytes = |bytes: u64| match bytes {
            0 => FrameLen::MAX,
            bytes => FrameLen::without_fcs(bytes.min(65_535) as u32),
        };
        (bytes(self.packet_size.0), bytes(self.packet_size.1))
    }
}
