//! The property table of `/interface ethernet` (`routeros/G-interfaces.md`, G.2).

use config::{Menu, MenuKind, Property, Type};

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
        Property::new("mtu", Type::Number(68, 1886), "The longest IP packet, bytes.")
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
        Property::new("rx-byte", Type::Number(0, i64::MAX), "Bytes received.").read_only(),
        Property::new("tx-byte", Type::Number(0, i64::MAX), "Bytes sent.").read_only(),
        Property::new("rx-packet", Type::Number(0, i64::MAX), "Frames received.").read_only(),
        Property::new("tx-packet", Type::Number(0, i64::MAX), "Frames sent.").read_only(),
        Property::new("fp-rx-byte", Type::Number(0, i64::MAX), "Of these, in FastPath.")
            .read_only(),
        Property::new("fp-tx-byte", Type::Number(0, i64::MAX), "Of these, in FastPath.")
            .read_only(),
        Property::new("fp-rx-packet", Type::Number(0, i64::MAX), "Of these, in FastPath.")
            .read_only(),
        Property::new("fp-tx-packet", Type::Number(0, i64::MAX), "Of these, in FastPath.")
            .read_only(),
    ],
    help: "The ports of the device.",
};
