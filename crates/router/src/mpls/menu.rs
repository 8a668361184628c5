//! The property tables of `/mpls` and its menus, and what they mean.

use super::ldp::{Filters, OnInterface, Settings as Ldp};
use super::{MTU, Settings};
use crate::facility::Facility;
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::menu::ANY_INTERFACE;
use crate::ip::facilities::ADDRESS;
use crate::mpls::rows;
use crate::program::Program;
use crate::status::Values;
use config::{Item, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::net::Ipv4Addr;
use wire::Ipv4Prefix;
use wire::mpls::Label;

/// `/mpls`.
pub(crate) static MPLS: Menu = Menu {
    path: "/mpls",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("dynamic-label-range", RANGE, "The labels that LDP gives out.")
            .default("16-1048575"),
        Property::new("propagate-ttl", Type::Bool, "Whether labels have the packets' TTL.")
            .default("yes"),
        Property::new("allow-fast-path", Type::Bool, "Whether labelled packets may take FastPath.")
            .default("yes"),
        Property::new("mpls-fast-path-active", Type::Bool, "Whether they do.").read_only(),
        Property::new("mpls-fast-path-packets", COUNT, "How many did.").read_only(),
        Property::new("mpls-fast-path-bytes", COUNT, "Their bytes, labels included.").read_only(),
    ],
    help: "Packets that are switched by a label, not by an address.",
};

const COUNT: Type = Type::Number(0, i64::MAX);
const RANGE: Type = Type::Numbers(16, 1_048_575);

/// `/mpls interface`.
pub(crate) static INTERFACE: Menu = Menu {
    path: "/mpls interface",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::flag("default", '*', "It was there from the beginning."),
        Property::new("interface", Type::Or(&["all"], &ANY_INTERFACE), "Which one.")
            .required()
            .column(),
        Property::new("mpls-mtu", Type::Number(512, 65535), "The longest packet, labels included.")
            .default("1508")
            .column(),
        Property::only("input", &Type::Bool, &["yes"], "labels are taken by all interfaces")
            .default("yes"),
    ],
    help: "How long labelled packets of interfaces may be.",
};

/// `/mpls ldp`.
pub(crate) static LDP: Menu = Menu {
    path: "/mpls ldp",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether labels are agreed upon with neighbours.")
            .default("no"),
        Property::new("lsr-id", Type::Address, "Who we are; 0.0.0.0 is the lowest own address.")
            .default("0.0.0.0"),
        Property::new(
            "transport-address",
            Type::Address,
            "Where sessions come from; 0.0.0.0 is the address of the interface.",
        )
        .default("0.0.0.0"),
        Property::new("use-explicit-null", Type::Bool, "Labels for networks of our own, too.")
            .default("no"),
        Property::new("distribute-for-default-route", Type::Bool, "A label for 0.0.0.0/0, too.")
            .default("no"),
        Property::only("loop-detect", &Type::Bool, &["no"], "labels go where routes go")
            .default("no"),
        Property::new("path-vector-limit", Type::Number(0, 255), "Kept, for loop-detect.")
            .default("255"),
        Property::new("hop-limit", Type::Number(0, 255), "Kept, for loop-detect.").default("255"),
    ],
    help: "Labels are agreed upon with neighbours by LDP.",
};

/// `/mpls ldp interface`.
pub(crate) static LDP_INTERFACE: Menu = Menu {
    path: "/mpls ldp interface",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("interface", ANY_INTERFACE, "Where neighbours are looked for.")
            .required()
            .column(),
        Property::new("hello-interval", Type::Time, "So often we say hello.")
            .default("5s")
            .column(),
        Property::new("hold-time", Type::Time, "So long a hello holds.").default("15s").column(),
        Property::new(
            "transport-address",
            Type::Address,
            "Where sessions by this interface come from, if not from that of /mpls ldp.",
        )
        .default("0.0.0.0"),
        Property::new(
            "accept-dynamic-neighbors",
            Type::Bool,
            "Whether whoever says hello is a neighbour.",
        )
        .default("yes"),
    ],
    help: "Interfaces where LDP looks for neighbours.",
};

/// `/mpls ldp neighbor`.
pub(crate) static NEIGHBOR: Menu = Menu {
    path: "/mpls ldp neighbor",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("dynamic", 'D', "It has said hello."),
        Property::flag("operational", 'O', "Labels are told."),
        Property::new("transport", Type::Address, "Its address of the session.")
            .read_only()
            .column(),
        Property::new("local-transport", Type::Address, "Ours.").read_only().column(),
        Property::new("peer", Type::Text, "Its identifier.").read_only().column(),
        Property::new("addresses", Type::List(&Type::Address), "Its own addresses.").read_only(),
    ],
    help: "Routers with which labels are agreed upon.",
};

const PEER: Type = Type::Or(&["all"], &Type::Address);
const PREFIX: Property = Property::new("prefix", Type::Cidr, "Networks in this one.").column();
const WHOSE: Property =
    Property::new("neighbor", PEER, "Whose, or whom: by its identifier.").default("all").column();

/// `/mpls ldp accept-filter`.
pub(crate) static ACCEPTS: Menu = Menu {
    path: "/mpls ldp accept-filter",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        PREFIX,
        WHOSE,
        Property::new("accept", Type::Bool, "Whether their labels are kept.")
            .default("yes")
            .column(),
    ],
    help: "Which labels of neighbours are kept: the first line that fits says it.",
};

/// `/mpls ldp advertise-filter`.
pub(crate) static ADVERTISES: Menu = Menu {
    path: "/mpls ldp advertise-filter",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        PREFIX,
        WHOSE,
        Property::new("advertise", Type::Bool, "Whether their labels are told.")
            .default("yes")
            .column(),
    ],
    help: "Which labels neighbours are told: the first line that fits says it.",
};

/// Labels as they are typed: two have names.
const LABEL: Type = Type::Or(&["expl-null", "impl-null"], &Type::Number(16, 1_048_575));

/// `/mpls local-bindings`.
pub(crate) static LOCAL: Menu = Menu {
    path: "/mpls local-bindings",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("dynamic", 'D', "LDP made it."),
        Property::new("dst-address", Type::Cidr, "The network.").required().column(),
        Property::new("label", LABEL, "With this label packets for it come.").required().column(),
        Property::new("peers", Type::List(&Type::Text), "Who was told.").read_only().column(),
    ],
    help: "Labels that we want to see in front of packets.",
};

/// `/mpls remote-bindings`.
pub(crate) static REMOTE: Menu = Menu {
    path: "/mpls remote-bindings",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("dynamic", 'D', "LDP made it."),
        Property::flag("active", 'A', "The route to the network leads there."),
        Property::new("dst-address", Type::Cidr, "The network.").required().column(),
        Property::new("nexthop", Type::Address, "The router.").required().column(),
        Property::new("label", LABEL, "With this label it wants to see packets.")
            .required()
            .column(),
        Property::new("peer", Type::Text, "The router's identifier.").read_only().column(),
    ],
    help: "Labels that next hops want to see in front of packets.",
};

/// `/mpls forwarding-table`.
pub(crate) static FORWARDING: Menu = Menu {
    path: "/mpls forwarding-table",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("ldp", 'L', "LDP made it."),
        Property::new("in-label", Type::Text, "Packets come with this label,").read_only().column(),
        Property::new("out-labels", Type::Text, "and leave with this one;").read_only().column(),
        Property::new("destination", Type::Cidr, "they are for this network.").read_only().column(),
        Property::new("interface", Type::Text, "They leave by this interface").read_only().column(),
        Property::new("nexthop", Type::Address, "for this router.").read_only().column(),
    ],
    help: "Where packets with a label go.",
};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES, &ADDRESS],
    compile: |c| {
        let settings = read(c.tree, &c.program);
        if *c.program.mpls != settings {
            c.program.mpls = settings.into();
        }
    },
    relearn: true,
    setting: rows::setting,
    ..Facility::of(&MPLS)
};

/// The menus that are compiled with it.
pub(crate) static OF_INTERFACES: Facility =
    Facility { part_of: Some(&FACILITY), factory: default, ..Facility::of(&INTERFACE) };
pub(crate) static OF_LDP: Facility = Facility { part_of: Some(&FACILITY), ..Facility::of(&LDP) };
pub(crate) static OF_LDP_INTERFACES: Facility = Facility {
    part_of: Some(&FACILITY),
    check: |item, _| check(item),
    ..Facility::of(&LDP_INTERFACE)
};
pub(crate) static OF_ACCEPTS: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&ACCEPTS) };
pub(crate) static OF_ADVERTISES: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&ADVERTISES) };
pub(crate) static LOCALS: Facility = Facility {
    part_of: Some(&FACILITY),
    rows: crate::facility::Rows::Few(rows::local),
    ..Facility::of(&LOCAL)
};
pub(crate) static REMOTES: Facility = Facility {
    part_of: Some(&FACILITY),
    value: rows::remote_value,
    rows: crate::facility::Rows::Few(rows::remote),
    ..Facility::of(&REMOTE)
};
pub(crate) static NEIGHBORS: Facility =
    Facility { rows: crate::facility::Rows::Few(rows::neighbors), ..Facility::of(&NEIGHBOR) };
pub(crate) static TABLE: Facility =
    Facility { rows: crate::facility::Rows::Few(rows::forwarding), ..Facility::of(&FORWARDING) };

fn default() -> Vec<Values> {
    let all = Value::Text("all".to_string());
    vec![Values::from([("default", Value::Bool(true)), ("interface", all)])]
}

fn check(item: &Item) -> Result<(), String> {
    for (name, least) in [("hello-interval", 1), ("hold-time", 3)] {
        if matches!(item.get(name), Some(Value::Time(time)) if time.as_secs() < least) {
            return Err(format!("failure: {name} is {least} s at least"));
        }
    }
    Ok(())
}

fn read(tree: &Tree, program: &Program) -> Settings {
    let find = |item: &Read| program.names.find(&item.text("interface"));
    let enabled = |item: &Read| !item.bool("disabled");
    let all = tree.read_settings(&MPLS);
    let mut settings = Settings {
        propagates_ttl: all.bool("propagate-ttl"),
        allows_fast_path: all.bool("allow-fast-path"),
        ..Settings::default()
    };
    if let Some(Value::Numbers(from, to)) = all.opt("dynamic-label-range").as_deref()
        && let (Some(from), Some(to)) = (Label::new(*from as u32), Label::new(*to as u32))
    {
        settings.range = (from, to);
    }
    for item in tree.read(&INTERFACE).filter(enabled) {
        let mtu = item.number("mpls-mtu") as u16;
        match (item.text("interface").as_str(), find(&item)) {
            // The first that fits counts.
            ("all", _) if settings.mtu == MTU => settings.mtu = mtu,
            (_, Some(id)) => settings.mtus.push((id, mtu)),
            _ => {}
        }
    }
    for item in tree.read(&LOCAL).filter(enabled) {
        settings.own.extend(network(&item, "dst-address").zip(label(&item)));
    }
    for item in tree.read(&REMOTE).filter(enabled) {
        let bound = network(&item, "dst-address").zip(address(&item, "nexthop"));
        settings.remote.extend(bound.zip(label(&item)).map(|((to, hop), label)| (to, hop, label)));
    }
    settings.ldp = ldp(tree, program);
    settings.is_on =
        settings.ldp.is_some() || !settings.own.is_empty() || !settings.remote.is_empty();
    settings
}

fn ldp(tree: &Tree, program: &Program) -> Option<Ldp> {
    let item = tree.read_settings(&LDP);
    let enabled = |item: &Read| !item.bool("disabled");
    if !item.bool("enabled") {
        return None;
    }
    let lowest = || program.addresses.iter().map(|own| own.address).min();
    let on = |item: Read| {
        Some(OnInterface {
            id: program.names.find(&item.text("interface"))?,
            every: item.time("hello-interval"),
            hold: item.time("hold-time").as_secs().min(0xffff) as u16,
            transport: address(&item, "transport-address"),
            accepts: item.bool("accept-dynamic-neighbors"),
        })
    };
    let filters = |menu: &'static Menu, says: &str| {
        let read =
            |item: Read| (network(&item, "prefix"), address(&item, "neighbor"), item.bool(says));
        Filters(tree.read(menu).filter(enabled).map(read).collect())
    };
    Some(Ldp {
        lsr: address(&item, "lsr-id").or_else(lowest)?,
        transport: address(&item, "transport-address"),
        null: match item.bool("use-explicit-null") {
            true => Label::EXPLICIT_NULL,
            false => Label::IMPLICIT_NULL,
        },
        distributes_default: item.bool("distribute-for-default-route"),
        interfaces: tree.read(&LDP_INTERFACE).filter(enabled).filter_map(on).collect(),
        accepts: filters(&ACCEPTS, "accept"),
        advertises: filters(&ADVERTISES, "advertise"),
    })
}

fn network(item: &Read, name: &str) -> Option<Ipv4Prefix> {
    match item.opt(name).as_deref() {
        Some(Value::Cidr(address, len)) => Some(Ipv4Prefix::new((*address).into(), *len)),
        _ => None,
    }
}

/// None of 0.0.0.0.
fn address(item: &Read, name: &str) -> Option<u32> {
    match item.opt(name).as_deref() {
        Some(Value::Address(address)) if *address != Ipv4Addr::UNSPECIFIED => {
            Some((*address).into())
        }
        _ => None,
    }
}

fn label(item: &Read) -> Option<Label> {
    match item.opt("label").as_deref()? {
        Value::Number(number) => Label::new(u32::try_from(*number).ok()?),
        Value::Text(name) if name == "expl-null" => Some(Label::EXPLICIT_NULL),
        Value::Text(_) => Some(Label::IMPLICIT_NULL),
        _ => None,
    }
}
