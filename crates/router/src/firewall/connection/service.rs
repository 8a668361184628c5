//! `/ip firewall service-port`: the helpers of connection tracking, and the ports at which they listen.
//!
//! ```text
//! ftp 21   tftp 69   irc 6667   sip 5060,5061   pptp     ─► Services: whose packets are read
//! ```
//!
//! A helper that is disabled reads nothing: what its protocol announces is then new, and is not translated.
//!
//! **Missing**: the helper of H.323; UDP-Lite, DCCP and SCTP are carried like any protocol without
//! ports. They are marked `I`, with the reason.

use super::facilities::TRACKING;
use super::flow::{Direction, Flow};
use crate::facility::Facility;
use crate::ip::family::Family;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::layers::{ETHERTYPE_IPV4, protocol};

/// `/ip firewall service-port`.
pub(crate) static MENU: Menu = Menu {
    path: "/ip firewall service-port",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("disabled", 'X', "Nothing is read."),
        Property::flag("invalid", 'I', "There is no such helper; the reason stands above it."),
        Property::new("name", Type::Text, "The protocol.").read_only().column(),
        Property::new("ports", PORTS, "Where its servers listen.").column(),
        Property::new(
            "sip-direct-media",
            Type::Bool,
            "Whether voice may come from elsewhere than the call; yes if not set.",
        ),
        Property::new(
            "sip-timeout",
            Type::Time,
            "How long a call's connection lives without traffic; 1h if not set.",
        ),
    ],
    help: "Helpers: whose packets are read for the connections they announce.",
};

const PORTS: Type = Type::List(&Type::Number(1, 65535));
/// So many ports a helper may have, as in Linux.
const MOST_PORTS: usize = 8;
const SIP_TIMEOUT: Duration = Duration::from_secs(3600);

/// `/ip firewall service-port`.
pub(crate) static FACILITY: Facility = Facility {
    part_of: Some(&TRACKING),
    check: |item, _| check(item),
    value: |_, item, property| standard(item, property),
    remark: |_, item| Some(missing(item.name("name"))?.to_string()),
    ..Facility::of(&MENU)
};

/// What a connection's helper understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Service {
    Ftp,
    Tftp,
    Irc,
    Sip,
    Pptp,
}

/// A helper, its name, its protocol, and where its servers listen.
type Known = (Service, &'static str, u8, &'static [u16]);

impl Service {
    const ALL: [Known; 5] = [
        (Service::Ftp, "ftp", protocol::TCP, &[21]),
        (Service::Tftp, "tftp", protocol::UDP, &[69]),
        (Service::Irc, "irc", protocol::TCP, &[6667]),
        (Service::Sip, "sip", protocol::UDP, &[5060, 5061]),
        (Service::Pptp, "pptp", protocol::TCP, &[1723]),
    ];

    pub(crate) fn name(self) -> &'static str {
        Service::ALL[self as usize].1
    }

    pub(crate) fn named(name: &str) -> Option<Service> {
        Service::ALL.iter().find(|known| known.1 == name).map(|known| known.0)
    }
}

/// RouterOS's other items, and why they do nothing.
const MISSING: [(&str, &str); 4] = [
    ("h323", "there is no helper of H.323"),
    ("udplite", "UDP-Lite is tracked by its addresses, without ports"),
    ("dccp", "DCCP is tracked by its addresses, without ports"),
    ("sctp", "SCTP is tracked by its addresses, without ports"),
];

fn missing(name: &str) -> Option<&'static str> {
    MISSING.iter().find(|(other, _)| *other == name).map(|(_, why)| *why)
}

/// The items that a device begins with.
pub(crate) fn furnish(tree: &mut Tree) {
    if tree.items(MENU.path).is_empty() {
        let names = ["ftp", "tftp", "irc", "h323", "sip", "pptp", "udplite", "dccp", "sctp"];
        for name in names {
            let name = Value::Text(name.to_string());
            tree.push(&MENU, BTreeMap::from([("name", name)]));
        }
    }
}

fn check(item: &Item) -> Result<(), String> {
    let name = item.name("name");
    let service = Service::named(name);
    for property in ["sip-direct-media", "sip-timeout"] {
        if item.get(property).is_some() && service != Some(Service::Sip) {
            return Err(format!("failure: {property} is sip's"));
        }
    }
    match item.get("ports") {
        Some(_) if service.is_none() => Err(format!("failure: {name} has no ports")),
        Some(Value::List(ports)) if ports.len() > MOST_PORTS => {
            Err(format!("failure: ports: at most {MOST_PORTS}"))
        }
        _ => Ok(()),
    }
}

/// What holds where nothing is typed.
fn standard(item: &Item, property: &str) -> Option<Value> {
    let service = Service::named(item.name("name"))?;
    let number = |&port: &u16| Value::Number(port.into());
    match property {
        "ports" => Some(Value::List(Service::ALL[service as usize].3.iter().map(number).collect())),
        "sip-direct-media" if service == Service::Sip => Some(Value::Bool(true)),
        "sip-timeout" if service == Service::Sip => Some(Value::Time(SIP_TIMEOUT)),
        _ => None,
    }
}

/// Which helpers listen where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Services {
    /// By service; 0 is none.
    ports: [[u16; MOST_PORTS]; Service::ALL.len()],
    /// Voice may come from anywhere.
    pub(super) sip_direct_media: bool,
    /// How long a call's connection lives.
    pub(super) sip_timeout: Duration,
}

impl Default for Services {
    fn default() -> Services {
        let mut ports = [[0; MOST_PORTS]; Service::ALL.len()];
        for (service, _, _, standard) in Service::ALL {
            ports[service as usize][..standard.len()].copy_from_slice(standard);
        }
        Services { ports, sip_direct_media: true, sip_timeout: SIP_TIMEOUT }
    }
}

impl Services {
    /// What was typed, with the defaults.
    pub(super) fn read(tree: &Tree) -> Services {
        let mut services = Services::default();
        for item in tree.items(MENU.path) {
            let Some(service) = Service::named(item.name("name")) else { continue };
            let ports = &mut services.ports[service as usize];
            if let Some(Value::List(typed)) = item.get("ports") {
                let numbers = typed.iter().filter_map(|port| match port {
                    Value::Number(port) => u16::try_from(*port).ok(),
                    _ => None,
                });
                ports.fill(0);
                ports.iter_mut().zip(numbers).for_each(|(place, port)| *place = port);
            }
            if item.disabled {
                ports.fill(0);
            }
            if let Some(Value::Bool(direct)) = item.get("sip-direct-media") {
                services.sip_direct_media = *direct;
            }
            if let Some(Value::Time(timeout)) = item.get("sip-timeout") {
                services.sip_timeout = *timeout;
            }
        }
        services
    }

    /// The helper of a server's port.
    pub(crate) fn at(&self, protocol: u8, port: u16) -> Option<Service> {
        let is = |known: &&Known| {
            known.2 == protocol && self.ports[known.0 as usize].contains(&port) && port != 0
        };
        Service::ALL.iter().find(is).map(|known| known.0)
    }

    /// The helper that a flow's packets have.
    pub(crate) fn of<A: Family>(&self, flow: &Flow<A>) -> Option<Service> {
        if A::ETHERTYPE != ETHERTYPE_IPV4 {
            return None; // helpers speak of addresses of IPv4
        }
        self.at(
            flow.protocol,
            match flow.direction() {
                Direction::Original => flow.new_dst_port,
                Direction::Reply => flow.src_port,
            },
        )
    }
}
