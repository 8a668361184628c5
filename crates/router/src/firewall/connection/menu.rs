//! The property tables of `/ip firewall connection` and `/ip firewall connection tracking`
//! (`routeros/D-conntrack.md`).

use super::service::Services;
use super::settings::{Class, Enabled, Settings, Timeouts};
use crate::firewall::menu::WORD;
use config::{Menu, MenuKind, Property, Tree, Type, Value};
use std::time::Duration;

/// `/ip firewall connection tracking`.
pub const TRACKING: Menu = Menu {
    path: "/ip firewall connection tracking",
    kind: MenuKind::Settings,
    properties: &TRACKING_PROPERTIES,
    help: "Whether connections are tracked, and how long they live without traffic.",
};

/// `/ip firewall connection`: made by traffic; `remove` ends one.
pub const CONNECTION: Menu = Menu {
    path: "/ip firewall connection",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &CONNECTION_PROPERTIES,
    help: "The connections that are tracked.",
};

const TRACKING_PROPERTIES: [Property; Class::ALL.len() + 6] = {
    let enabled = Property::new(
        "enabled",
        Type::Enum(&["auto", "yes", "no"]),
        "auto: as soon as something needs it, a firewall rule for one.",
    );
    let mut all = [enabled.default("auto"); Class::ALL.len() + 6];
    let mut i = 0;
    while i < Class::ALL.len() {
        let (_, name, default, help) = Class::ALL[i];
        all[1 + i] = Property::new(name, Type::Custom(timeout), help).default(default);
        i += 1;
    }
    let at = 1 + i;
    all[at] = Property::new(
        "loose-tcp-tracking",
        Type::Bool,
        "A TCP segment from the middle of a connection may enter it.",
    )
    .default("yes");
    let count = Type::Number(0, u32::MAX as i64);
    all[at + 1] = Property::new("total-entries", count, "Connections now.").read_only();
    all[at + 2] = Property::new("max-entries", count, "Connections at most.").read_only();
    let active = "Whether connections are tracked now.";
    all[at + 3] = Property::new("active-ipv4", Type::Bool, active).read_only();
    all[at + 4] = Property::new("active-ipv6", Type::Bool, active).read_only();
    all
};

pub(crate) const CONNECTION_PROPERTIES: [Property; 32] = [
    Property::flag("expected", 'E', "Announced by another connection, to a helper."),
    Property::flag("seen-reply", 'S', "Traffic was seen in both directions."),
    Property::flag("assured", 'A', "Kept when the table is full."),
    Property::flag("confirmed", 'C', "The first packet has left the router."),
    Property::flag("dying", 'D', "About to end."),
    Property::flag("fasttrack", 'F', "Marked by action=fasttrack-connection."),
    Property::flag("srcnat", 's', "The source is translated."),
    Property::flag("dstnat", 'd', "The destination is translated."),
    text("protocol", "IP protocol.").wide(4),
    text("src-address", "Source of the first packet, with its port.").wide(21),
    text("dst-address", "Destination of the first packet, with its port.").wide(21),
    text("reply-src-address", "Source of the replies."),
    text("reply-dst-address", "Destination of the replies."),
    field("icmp-type", 255, "ICMP type of the first packet."),
    field("icmp-code", 255, "ICMP code of the first packet."),
    field("icmp-id", 65535, "ICMP identifier of the first packet."),
    text("tcp-state", "State of the TCP connection.").wide(11),
    Property::new("timeout", Type::Time, "Until it ends if nothing comes.").read_only().column(),
    number("orig-packets", "Packets as the first one."),
    number("orig-bytes", "IP bytes as the first packet."),
    number("orig-fasttrack-packets", "Of these, packets by FastTrack."),
    number("orig-fasttrack-bytes", "Of these, bytes by FastTrack."),
    number("repl-packets", "Packets against the first one."),
    number("repl-bytes", "IP bytes against the first packet."),
    number("repl-fasttrack-packets", "Of these, packets by FastTrack."),
    number("repl-fasttrack-bytes", "Of these, bytes by FastTrack."),
    text("connection-mark", "What mangle has marked it with."),
    text("connection-type", "The helper that reads it, or read who has announced it."),
    rate("orig-rate", "Bits a second as the first packet, since it was printed before."),
    rate("repl-rate", "Bits a second against the first packet."),
    field("gre-key", 65535, "The call of PPTP that it is a direction of."),
    text("p2p", "The program that it begins as, where p2p or layer7-protocol look at it."),
];

const fn text(name: &'static str, help: &'static str) -> Property {
    Property::new(name, WORD, help).read_only()
}

const fn number(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Type::Number(0, i64::MAX), help).read_only()
}

const fn rate(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Type::Rate, help).read_only()
}

const fn field(name: &'static str, max: i64, help: &'static str) -> Property {
    Property::new(name, Type::Number(0, max), help).read_only()
}

/// A time of at least a millisecond that the time stamps can tell.
fn timeout(text: &str) -> Result<Value, String> {
    let expected = || "a time from 1ms to 12d, such as 10s or 1d".to_string();
    let value = Type::Time.parse(text, &config::AnyName).map_err(|_| expected())?;
    match value {
        Value::Time(time) if time >= Duration::from_millis(1) && time <= Timeouts::MAX => {
            Ok(Value::Time(time))
        }
        _ => Err(expected()),
    }
}

impl Settings {
    /// What was typed in `/ip firewall connection tracking`, with the defaults.
    pub fn read(tree: &Tree) -> Settings {
        let typed = tree.read_settings(&TRACKING);
        let mut timeouts = Timeouts::default();
        for (class, name, ..) in Class::ALL {
            timeouts.set(class, typed.time(name));
        }
        let services = Services::read(tree);
        timeouts.set(Class::Sip, services.sip_timeout);
        Settings {
            enabled: match typed.text("enabled").as_str() {
                "yes" => Enabled::Yes,
                "no" => Enabled::No,
                _ => Enabled::Auto,
            },
            timeouts,
            loose_tcp: typed.bool("loose-tcp-tracking"),
            services,
        }
    }
}
