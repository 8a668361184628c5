//! The property tables of `/system logging`, and what a device begins with.

use super::Logging;
use crate::facility::Facility;
use crate::status::Values;
use config::{AnyName, Item, Menu, MenuKind, Property, Tree, Type, Value};

/// `/system logging`.
pub(super) static LOGGING: Menu = Menu {
    path: "/system logging",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("topics", Type::List(&TOPIC), "What a line must be of, or !must not.")
            .default("info")
            .column(),
        Property::new("action", Type::Reference(&["/system logging action"]), "Where it goes.")
            .default("memory")
            .column(),
        Property::new("prefix", Type::Text, "Stands in front of it.").column(),
        Property::only("regex", &Type::Text, &[""], "lines are told apart by topics").default(""),
    ],
    help: "Which lines of the log go where.",
};

/// `/system logging action`.
pub(super) static ACTION: Menu = Menu {
    path: "/system logging action",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("action"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "Its name.").column(),
        Property::only(
            "target",
            &TARGET,
            &["memory", "disk", "echo", "remote"],
            "there is no mail",
        )
        .column(),
        Property::new("memory-lines", Type::Number(1, 65_535), "Lines kept.").default("1000"),
        Property::new("memory-stop-on-full", Type::Bool, "Old lines stay, new ones are lost.")
            .default("no"),
        Property::new("remember", Type::Bool, "Kept.").default("yes"),
        Property::new(
            "disk-file-name",
            Type::Custom(file),
            "The files' name, without .0.txt; a folder in front of it is left out.",
        )
        .default("log"),
        Property::new("disk-lines-per-file", Type::Number(1, 65_535), "Lines of one.")
            .default("1000"),
        Property::new("disk-file-count", Type::Number(1, 65_535), "How many.").default("2"),
        Property::new("disk-stop-on-full", Type::Bool, "Old files stay, new lines are lost.")
            .default("no"),
        Property::new("remote", Type::Address, "The syslog server.").default("0.0.0.0").column(),
        Property::new("remote-port", Type::Number(1, 65_535), "Its UDP port.").default("514"),
        Property::only("remote-protocol", &PROTOCOL, &["udp"], "syslog goes by UDP").default(""),
        Property::only("remote-log-format", &FORMAT, &["default", "syslog"], "CEF is not built")
            .default(""),
        Property::new("src-address", Type::Address, "The router's address to send from.")
            .default("0.0.0.0"),
        Property::new("bsd-syslog", Type::Bool, "With the header of RFC 3164.").default("no"),
        Property::new(
            "syslog-time-format",
            Type::Enum(&["bsd-syslog", "iso8601"]),
            "iso8601: the header of RFC 5424 instead.",
        )
        .default("bsd-syslog"),
        Property::new("syslog-facility", Type::Enum(FACILITIES), "Whose lines they are.")
            .default("daemon"),
        Property::new(
            "syslog-severity",
            Type::Or(&["auto"], &Type::Enum(SEVERITIES)),
            "How important they are; auto goes by the topics.",
        )
        .default("auto"),
        Property::only("vrf", &Type::Text, &["main"], "there is one VRF").default(""),
    ],
    help: "Places that lines of the log go to.",
};

/// `/system logging action`.
pub(crate) static ACTIONS: Facility =
    Facility { part_of: Some(&RULES), factory: actions, check: is_used, ..Facility::of(&ACTION) };

/// `/system logging`.
pub(crate) static RULES: Facility = Facility {
    compile: |c| {
        let logging = Logging::compile(c.tree);
        if *c.program.system.logging != logging {
            c.program.system.logging = logging.into();
        }
    },
    factory: rules,
    ..Facility::of(&LOGGING)
};

/// The actions a device begins with.
pub(super) fn actions() -> Vec<Values> {
    let action = |name: &str| {
        let [name, target] = [name, name].map(|word| Value::Text(word.to_string()));
        [("name", name), ("target", target), ("default", Value::Bool(true))].into()
    };
    ["memory", "disk", "echo", "remote"].into_iter().map(action).collect()
}

/// The rules a device begins with.
pub(super) fn rules() -> Vec<Values> {
    let rule = |(topic, action): (&str, &str)| {
        let [topic, action] = [topic, action].map(|word| Value::Text(word.to_string()));
        let topics = Value::List(vec![topic]);
        [("topics", topics), ("action", action), ("default", Value::Bool(true))].into()
    };
    let all =
        [("info", "memory"), ("error", "memory"), ("warning", "memory"), ("critical", "echo")];
    all.into_iter().map(rule).collect()
}

fn is_used(item: &Item, _: &Tree) -> Result<(), String> {
    let is = |name: &str, word: &str| item.get(name).is_some_and(|value| value.to_string() == word);
    match is("target", "remote") && is("remote", "0.0.0.0") && !is("default", "yes") {
        true => Err("failure: remote is the address of a syslog server".to_string()),
        false => Ok(()),
    }
}

const TARGET: Type = Type::Enum(&["memory", "disk", "echo", "remote", "email"]);
const PROTOCOL: Type = Type::Enum(&["udp", "tcp"]);
const FORMAT: Type = Type::Enum(&["default", "syslog", "cef"]);

/// By their numbers in RFC 3164.
pub(super) const FACILITIES: &[&str] = &[
    "kern",
    "user",
    "mail",
    "daemon",
    "auth",
    "syslog",
    "lpr",
    "news",
    "uucp",
    "cron",
    "authpriv",
    "ftp",
    "ntp",
    "log-audit",
    "log-alert",
    "clock",
    "local0",
    "local1",
    "local2",
    "local3",
    "local4",
    "local5",
    "local6",
    "local7",
];
/// By their numbers in RFC 3164.
pub(super) const SEVERITIES: &[&str] =
    &["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];

const TOPIC: Type = Type::Custom(topic);

/// RouterOS's topics, of versions 6 and 7.
const TOPICS: &[&str] = &[
    "account",
    "acme",
    "amt",
    "async",
    "backup",
    "bfd",
    "bgp",
    "bridge",
    "calc",
    "caps",
    "certificate",
    "clock",
    "container",
    "critical",
    "ddns",
    "debug",
    "dhcp",
    "disk",
    "dns",
    "dot1x",
    "dude",
    "e-mail",
    "error",
    "event",
    "fetch",
    "firewall",
    "gps",
    "gsm",
    "health",
    "hotspot",
    "igmp-proxy",
    "igmp-snooping",
    "info",
    "interface",
    "iot",
    "ipsec",
    "ipv6",
    "iscsi",
    "isdn",
    "isis",
    "kidcontrol",
    "kvm",
    "l2tp",
    "ldp",
    "lora",
    "lte",
    "macsec",
    "manager",
    "mme",
    "mpls",
    "mqtt",
    "mvrp",
    "natpmp",
    "netinstall",
    "netwatch",
    "ntp",
    "ospf",
    "ovpn",
    "packet",
    "pim",
    "poe-out",
    "ppp",
    "pppoe",
    "pptp",
    "ptp",
    "queue",
    "radius",
    "radvd",
    "raw",
    "read",
    "rip",
    "route",
    "rpki",
    "rsvp",
    "script",
    "sertcp",
    "simulator",
    "smb",
    "sms",
    "snmp",
    "socks",
    "socksify",
    "ssh",
    "ssl",
    "sstp",
    "state",
    "store",
    "stp",
    "system",
    "telephony",
    "tftp",
    "timer",
    "tr069",
    "update",
    "upnp",
    "ups",
    "vpls",
    "vrrp",
    "warning",
    "watchdog",
    "web-proxy",
    "wifi",
    "wireguard",
    "wireless",
    "write",
    "zerotier",
];

/// A topic, maybe behind a `!`.
fn topic(text: &str) -> Result<Value, String> {
    let known = |name: &str| Type::Enum(TOPICS).parse(name, &AnyName);
    let value = match text.strip_prefix('!') {
        Some(name) => known(name).map(|topic| Value::Not(Box::new(topic))),
        None => known(text),
    };
    value.map_err(|_| "a topic, as info or !dhcp".to_string())
}

/// `log` of `flash/log`: RouterOS's folder for what outlives a restart, as all does here.
pub(super) fn without_folder(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

/// A name that leads out of no folder.
fn file(text: &str) -> Result<Value, String> {
    let name = without_folder(text);
    match name.is_empty() || text.contains(['\\', '\0']) || name.starts_with('.') {
        true => Err("a file's name".to_string()),
        false => Ok(Value::Text(text.to_string())),
    }
}
