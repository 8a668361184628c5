//! The language as a whole, on a small router's menus.

mod api;
mod bench;
mod commands;
mod counters;
mod errors;
mod factory;
mod files;
mod inspect;
mod only;
mod properties;
mod scripting;
mod seed;
mod session;
mod showing;
mod union;
mod values;

use crate::*;
use std::collections::BTreeMap;

const fn list(
    key: Option<&'static str>,
    auto_name: Option<&'static str>,
    ordered: bool,
) -> MenuKind {
    MenuKind::List { key, auto_name, ordered, fixed: false }
}

const INTERFACES: Type = Type::Reference(&["/interface ethernet", "/interface bridge"]);
const PROTOCOL: Type = Type::Or(&["icmp", "tcp", "udp", "udp-lite"], &Type::Number(0, 255));

const ETHERNET: Menu = Menu {
    path: "/interface ethernet",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("running", 'R', "Whether the link is up."),
        Property::new("name", Type::Text, "What others call it.").required().column(),
        Property::new("default-name", Type::Text, "What the factory calls it.").read_only(),
        Property::new("mtu", Type::Number(68, 9000), "The largest packet.")
            .default("1500")
            .column(),
        Property::new("mac-address", Type::Mac, "Its address.").column(),
        Property::new("rx-byte", Type::Number(0, i64::MAX), "Bytes received.").read_only(),
    ],
    help: "Ports.",
};

const BRIDGE: Menu = Menu {
    path: "/interface bridge",
    kind: list(Some("name"), Some("bridge"), false),
    properties: &[
        Property::new("name", Type::Text, "What others call it."),
        Property::new("ageing-time", Type::Time, "Until a host is forgotten.").default("5m"),
        Property::new("admin-mac", Type::Mac, "Its address."),
        Property::missing("protocol-mode", "spanning trees come later; leave it out"),
    ],
    help: "Bridges.",
};

const BRIDGE_PORT: Menu = Menu {
    path: "/interface bridge port",
    kind: list(None, None, false),
    properties: &[
        Property::new("bridge", Type::Reference(&["/interface bridge"]), "Which.").required(),
        Property::new("interface", INTERFACES, "What joins it.").required(),
        Property::new("horizon", Type::Or(&["none"], &Type::Number(0, 429_496_729)), "Split.")
            .default("none"),
    ],
    help: "Ports of bridges.",
};

const ADDRESS: Menu = Menu {
    path: "/ip address",
    kind: list(None, None, false),
    properties: &[
        Property::new("address", Type::Cidr, "The address and its network.").required().column(),
        Property::new("network", Type::Address, "The network's.").column(),
        Property::new("interface", INTERFACES, "Where it is.").required().column(),
        Property::new("actual-interface", Type::Text, "Where it really is.").read_only(),
    ],
    help: "Addresses.",
};

const FILTER: Menu = Menu {
    path: "/ip firewall filter",
    kind: list(None, None, true),
    properties: &[
        Property::flag("invalid", 'I', "Whether it can never match."),
        Property::new("chain", Type::Text, "Where it stands.").required(),
        Property::new(
            "action",
            Type::Enum(&["accept", "add-src-to-address-list", "drop", "jump", "log", "return"]),
            "What to do.",
        )
        .default("accept"),
        Property::new("protocol", Type::Negatable(&PROTOCOL), "Of the packet."),
        Property::new("src-address", Type::Negatable(&Type::Range), "Of the packet."),
        Property::new("dst-address", Type::Negatable(&Type::Range), "Of the packet."),
        Property::new("src-mac-address", Type::Negatable(&Type::MacMask), "Of the frame."),
        Property::new("dst-port", Type::Negatable(&Type::List(&Type::Numbers(0, 65535))), "Ports."),
        Property::new("in-interface", Type::Negatable(&IN_INTERFACE), "Where it came in."),
        Property::new(
            "connection-state",
            Type::Negatable(&Type::List(&Type::Enum(&[
                "established",
                "invalid",
                "new",
                "related",
                "untracked",
            ]))),
            "Of its connection.",
        ),
        Property::new("icmp-options", Type::Custom(icmp_options), "Type and code."),
        Property::new("jump-target", Type::Text, "Where to."),
        Property::new("log", Type::Bool, "Whether to log.").default("no"),
        Property::new("timeout", Type::Time, "How long.").default("10m"),
        Property::new("rate", Type::Pair(&Type::Rate), "How fast.").default("0/0"),
        Property::new("bytes", Type::Number(0, i64::MAX), "Seen.").read_only(),
        Property::new("packets", Type::Number(0, i64::MAX), "Seen.").read_only(),
        Property::missing("layer7-protocol", "layer 7 comes later; match ports instead"),
    ],
    help: "The filter.",
};

const IN_INTERFACE: Type = Type::Or(&["all-ethernet", "all-vlan"], &INTERFACES);

fn icmp_options(text: &str) -> Result<Value, String> {
    let (kind, code) = text.split_once(':').ok_or("type:code, as 3:4")?;
    let number = |text: &str| text.parse::<u8>().map_err(|_| "two numbers up to 255".to_string());
    Ok(Value::Text(format!("{}:{}", number(kind)?, number(code)?)))
}

const TRACKING: Menu = Menu {
    path: "/ip firewall connection tracking",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Enum(&["auto", "no", "yes"]), "Whether.").default("auto"),
        Property::new("udp-timeout", Type::Time, "How long.").default("10s"),
        Property::new("note", Type::Text, "Anything."),
        Property::new("total-entries", Type::Number(0, i64::MAX), "Now.").read_only(),
    ],
    help: "Connection tracking.",
};

const TEMPLATE: Menu = Menu {
    path: "/tool traffic-generator packet-template",
    kind: list(Some("name"), Some("packet-template"), false),
    properties: &[
        Property::new("name", Type::Text, "What streams call it."),
        Property::new(
            "header-stack",
            Type::List(&Type::Enum(&["ip", "mac", "raw", "tcp", "udp"])),
            "",
        )
        .required(),
        Property::new("ip-gateway", Type::Address, "Next hop."),
        Property::new("ip-src", Type::Range, "Sources."),
        Property::new("ip-dst", Type::Range, "Destinations."),
    ],
    help: "Templates.",
};

const QUICK: Command = Command {
    menu: "/tool traffic-generator",
    name: "quick",
    unnamed: Unnamed::Nothing,
    parameters: &[
        Property::new("tx-template", Type::List(&Type::Reference(&[TEMPLATE.path])), "Which.")
            .required(),
        Property::new("packet-size", Type::Number(60, 9000), "Bytes."),
        Property::new("mbps", Type::Number(0, 100_000), "Per stream.").default("0"),
        Property::missing("num", "give a duration instead"),
    ],
    display: Display::Nothing,
    help: "One test.",
};

const RESET: Command = Command {
    menu: "/ip firewall filter",
    name: "reset-counters",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Counters to zero.",
};

const PING: Command = Command {
    menu: "/",
    name: "ping",
    unnamed: Unnamed::Parameter("address"),
    parameters: &[Property::new("address", Type::Address, "Whom.").required()],
    display: Display::Nothing,
    help: "Echo requests.",
};

/// A router with ether1 to ether13, as in the source document.
fn router() -> Interpreter {
    let menus =
        vec![&ETHERNET, &BRIDGE, &BRIDGE_PORT, &ADDRESS, &FILTER, &TRACKING, &TEMPLATE, &FILE];
    let mut router = Interpreter::new(menus).with_commands([&QUICK, &RESET, &PING]);
    for number in 1..=13 {
        let name = Value::Text(format!("ether{number}"));
        let values = [("name", name.clone()), ("default-name", name)];
        router.tree_mut().push(&ETHERNET, values.into());
    }
    router
}

/// Everything that differs from its default, but identities: what an export must bring back.
fn contents(router: &Interpreter) -> String {
    let mut text = String::new();
    for menu in router.menus() {
        for item in router.tree().items(menu.path) {
            let Item { values, disabled, comment, .. } = &**item;
            let own = values.iter().filter(|(name, value)| {
                let property = menu.property(name);
                property.and_then(Property::default_value).as_ref() != Some(*value)
            });
            let own: Vec<_> = own.collect();
            // Settings that nobody set are not there, or there and empty.
            if menu.is_list() || !own.is_empty() {
                text += &format!("{}: {own:?} {disabled} {comment:?}\n", menu.path);
            }
        }
    }
    text
}

/// The router after a script that must run.
fn after(script: &str) -> Interpreter {
    let mut router = router();
    router.run(script, &()).unwrap_or_else(|error| panic!("{error}"));
    router
}

/// What a script prints.
fn prints(script: &str) -> String {
    let mut router = router();
    router.run(script, &()).unwrap_or_else(|error| panic!("{error}")).text
}

#[test]
fn tables() {
    assert_eq!(menu::faults(router().menus()), Vec::<String>::new());
    const BAD: Menu = Menu {
        path: "/ip  bad",
        kind: list(Some("name"), None, false),
        properties: &[
            Property::new("a", Type::Bool, "").default("perhaps"),
            Property::new("a", Type::Reference(&["/nowhere"]), "").required().default("x"),
            Property::new("comment", Type::Text, ""),
        ],
        help: "",
    };
    let faults = menu::faults(&[&BAD]);
    assert_eq!(faults.len(), 8, "{faults:#?}");
}
