//! The property tables of `/interface` and `/interface ethernet` (`routeros/G-interfaces.md`, G.1,
//! G.2).

use config::{Menu, MenuKind, Property, Type};

/// The menus whose items are interfaces.
pub const MENUS: &[&str] = &["/interface ethernet", "/interface bridge", "/interface vlan"];

/// Any interface, by name.
pub const ANY_INTERFACE: Type = Type::Reference(MENUS);

/// `/interface`: all of them.
pub const INTERFACE: Menu = Menu {
    path: "/interface",
    kind: MenuKind::Union { key: "name", of: MENUS },
    properties: &[
        Property::flag("dynamic", 'D', "The router made it."),
        Property::flag("disabled", 'X', "Frames do not pass."),
        Property::flag("running", 'R', "Frames pass."),
        Property::flag("slave", 'S', "It is a port of a bridge."),
        Property::new("name", Type::Text, "What it is called.").column(),
        Property::new("type", Type::Text, "What it is.").read_only().column(),
        Property::new("actual-mtu", Type::Number(0, 65535), "The longest IP packet, bytes.")
            .read_only()
            .column(),
        Property::new("l2mtu", Type::Number(0, 65535), "The longest frame less its header.")
            .read_only()
            .column(),
        Property::new("max-l2mtu", Type::Number(0, 65535), "The most l2mtu could be.")
            .read_only()
            .column(),
        Property::new("mac-address", Type::Mac, "Its MAC address.").read_only().column(),
        Property::missing("default-name", "read it in /interface ethernet"),
        Property::missing("mtu", "set it in the interface's own menu"),
        Property::new("last-link-up-time", Type::Text, "When its link came up, since the start.")
            .read_only(),
        Property::new("last-link-down-time", Type::Text, "When its link went down.").read_only(),
        Property::new("link-downs", Type::Number(0, i64::MAX), "How often it went down.")
            .read_only()
            .detail(),
        Property::new("fast-path", Type::Bool, "Whether its frames may come and go in FastPath.")
            .read_only(),
        count("rx-byte", "Bytes received."),
        count("tx-byte", "Bytes sent."),
        count("rx-packet", "Frames received."),
        count("tx-packet", "Frames given to the wire; tx-drop says how many it did not take."),
        count("rx-drop", "Frames lost: the receive ring was full, or they exceeded the MTU."),
        count("tx-drop", "Frames that did not go out: the wire or its other end was full."),
        count("tx-queue-drop", "Frames dropped by the interface's queue; it has none."),
        count("rx-error", "Frames received that are damaged, or no Ethernet frames."),
        count("tx-error", "Frames that could not be sent; wires make no errors."),
        count("fp-rx-byte", "Bytes received in FastPath.").detail(),
        count("fp-tx-byte", "Bytes sent in FastPath.").detail(),
        count("fp-rx-packet", "Frames received in FastPath.").detail(),
        count("fp-tx-packet", "Frames sent in FastPath.").detail(),
    ],
    help: "All interfaces.",
};

const fn count(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Type::Number(0, i64::MAX), help).read_only()
}

/// `/interface ethernet`: the ports the device has; they cannot be added or removed.
pub const ETHERNET: Menu = Menu {
    path: "/interface ethernet",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("disabled", 'X', "Frames do not pass."),
        Property::flag("running", 'R', "Frames pass."),
        Property::flag("slave", 'S', "It is a port of a bridge."),
        Property::new("name", Type::Text, "What the port is called.").required().column(),
        Property::new("default-name", Type::Text, "What it was called first.").read_only(),
        Property::new("mtu", Type::Number(68, 65535), "The longest IP packet, bytes.")
            .default("1500")
            .column(),
        Property::new("mac-address", Type::Mac, "The port's MAC address.").column(),
        Property::new("l2mtu", Type::Number(0, 65535), "The longest frame less its header.")
            .read_only(),
        Property::missing("arp", "ARP is always enabled"),
        Property::missing("arp-timeout", "set it for all interfaces in /ip settings"),
        Property::missing("auto-negotiation", "memory wires have no speed"),
        Property::missing("speed", "memory wires have no speed"),
        Property::missing("bandwidth", "use /queue simple"),
        Property::missing("rx-flow-control", "wires drop, they do not push back"),
        Property::missing("tx-flow-control", "wires drop, they do not push back"),
        Property::missing("loop-protect", "it is not built"),
        count("rx-byte", "Bytes received."),
        count("tx-byte", "Bytes sent."),
        count("rx-packet", "Frames received."),
        count("tx-packet", "Frames sent."),
        count("fp-rx-byte", "Of these, in FastPath.").detail(),
        count("fp-tx-byte", "Of these, in FastPath.").detail(),
        count("fp-rx-packet", "Of these, in FastPath.").detail(),
        count("fp-tx-packet", "Of these, in FastPath.").detail(),
    ],
    help: "The ports of the device.",
};
