//! The menus of bridges: `/interface bridge` and what is below it.
//!
//! Each property once, with its default; what RouterOS has and this router has not is named here
//! and refused.

use super::vlan::FRAME_TYPES;
use crate::interface::vlan;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};

/// What can be a port, and what a rule's interface can be.
pub const INTERFACES: Type = Type::Reference(crate::interface::menu::MENUS);

/// A bridge.
pub(super) const BRIDGES: Type = Type::Reference(&["/interface bridge"]);

/// What can belong to a VLAN of a bridge.
pub(super) const PORTS_OR_BRIDGE: Type = Type::List(&INTERFACES);

const VIDS: Type = Type::Number(1, 4094);

/// `/interface bridge`.
pub static BRIDGE: Menu = Menu {
    path: "/interface bridge",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("bridge"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("running", 'R', "Frames pass."),
        Property::new("name", Type::Text, "Name of the interface."),
        Property::new(
            "mtu",
            Type::Or(&["auto"], &Type::Number(68, 65535)),
            "Auto: the least of the ports'.",
        )
        .default("auto"),
        Property::new("actual-mtu", Type::Number(0, 65535), "The longest IP packet, bytes.")
            .read_only(),
        Property::new(
            "protocol-mode",
            Type::Custom(protocol_mode),
            "Spanning tree protocol; only none is built.",
        )
        .default("none"),
        Property::new("ageing-time", Type::Time, "How long a silent host is remembered.")
            .default("5m"),
        Property::new("auto-mac", Type::Bool, "Take the lowest address of the ports.")
            .default("yes"),
        Property::new("admin-mac", Type::Mac, "The bridge's address when auto-mac=no."),
        Property::new("mac-address", Type::Mac, "The bridge's address.").read_only(),
        Property::missing("arp", "only arp=enabled is built"),
        Property::missing("arp-timeout", "set it in /ip settings"),
        Property::missing("fast-forward", "every bridge uses the same fast path"),
        Property::missing("priority", NO_STP),
        Property::missing("forward-delay", NO_STP),
        Property::missing("max-message-age", NO_STP),
        Property::missing("max-hops", NO_STP),
        Property::missing("transmit-hold-count", NO_STP),
        Property::missing("region-name", NO_STP),
        Property::missing("region-revision", NO_STP),
        Property::new("vlan-filtering", Type::Bool, "Keep VLANs apart by /interface bridge vlan.")
            .default("no"),
        Property::new("pvid", VIDS, "The VLAN of the router's own untagged frames.").default("1"),
        Property::new(
            "ether-type",
            Type::Enum(&["0x8100", "0x88a8"]),
            "Which tags name VLANs; others are payload. 0x9100 is not built.",
        )
        .default("0x8100"),
        Property::new(
            "frame-types",
            Type::Enum(FRAME_TYPES),
            "Which frames of the router's own are taken.",
        )
        .default("admit-all"),
        Property::new(
            "ingress-filtering",
            Type::Bool,
            "Take from the router only VLANs that the bridge itself belongs to.",
        )
        .default("no"),
        Property::missing("igmp-snooping", "multicast is flooded"),
        Property::missing("multicast-router", "multicast is flooded"),
        Property::missing("multicast-querier", "multicast is flooded"),
        Property::missing("dhcp-snooping", "use /interface bridge filter"),
        Property::missing("add-dhcp-option82", "DHCP packets pass unchanged"),
    ],
    help: "Bridges: ports of one Ethernet segment.",
};

/// `/interface bridge port`.
pub static PORT: Menu = Menu {
    path: "/interface bridge port",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("inactive", 'I', "The port or the bridge is disabled."),
        Property::new(
            "interface",
            Type::Reference(&["/interface ethernet", "/interface vlan"]),
            "The interface that becomes a port.",
        )
        .required()
        .column(),
        Property::new("bridge", BRIDGES, "The bridge it joins.").required().column(),
        Property::new(
            "learn",
            Type::Enum(&["auto", "yes", "no"]),
            "Whether hosts are learnt here.",
        )
        .default("auto"),
        Property::new(
            "horizon",
            Type::Or(&["none"], &Type::Number(0, 0xffff_ffff)),
            "Ports of the same value do not reach each other.",
        )
        .default("none")
        .column(),
        Property::new("broadcast-flood", Type::Bool, "Flood broadcast out by this port.")
            .default("yes"),
        Property::new(
            "unknown-unicast-flood",
            Type::Bool,
            "Flood unicast to unknown hosts out by this port.",
        )
        .default("yes"),
        Property::new("unknown-multicast-flood", Type::Bool, "Flood multicast out by this port.")
            .default("yes"),
        Property::missing("priority", NO_STP),
        Property::missing("path-cost", NO_STP),
        Property::missing("internal-path-cost", NO_STP),
        Property::missing("edge", NO_STP),
        Property::missing("point-to-point", NO_STP),
        Property::missing("auto-isolate", NO_STP),
        Property::missing("bpdu-guard", NO_STP),
        Property::missing("restricted-role", NO_STP),
        Property::missing("restricted-tcn", NO_STP),
        Property::missing("hw", "there is no switch chip to offload to"),
        Property::new("pvid", VIDS, "The VLAN of untagged frames, with vlan-filtering.")
            .default("1")
            .column(),
        Property::new("frame-types", Type::Enum(FRAME_TYPES), "Which frames are taken.")
            .default("admit-all"),
        Property::new(
            "ingress-filtering",
            Type::Bool,
            "Take only frames of VLANs that the port belongs to.",
        )
        .default("no"),
        Property::new("tag-stacking", Type::Bool, "Tag every frame again, with the pvid.")
            .default("no"),
        Property::missing("trusted", "DHCP snooping is not built"),
        Property::missing("multicast-router", "multicast is flooded"),
        Property::missing("fast-leave", "multicast is flooded"),
    ],
    help: "Ports of bridges.",
};

/// `/interface bridge settings`.
pub static SETTINGS: Menu = Menu {
    path: "/interface bridge settings",
    kind: MenuKind::Settings,
    properties: &[
        Property::new(
            "use-ip-firewall",
            Type::Custom(no_ip_firewall),
            "Send bridged IP through /ip firewall; only no is built.",
        )
        .default("no"),
        Property::new(
            "use-ip-firewall-for-vlan",
            Type::Custom(no_ip_firewall),
            "The same for tagged frames; only no is built.",
        )
        .default("no"),
        Property::new(
            "use-ip-firewall-for-pppoe",
            Type::Custom(no_ip_firewall),
            "The same for PPPoE; only no is built.",
        )
        .default("no"),
        Property::new("allow-fast-path", Type::Bool, "Let bridged frames take the fast path.")
            .default("yes"),
        Property::new(
            "bridge-fast-path-active",
            Type::Bool,
            "Whether the bridge handler is in use.",
        )
        .read_only(),
        Property::new(
            "bridge-fast-path-unmet",
            Type::Text,
            "Why it is not; RouterOS leaves that to guess.",
        )
        .read_only(),
        Property::new(
            "bridge-fast-path-packets",
            Type::Number(0, i64::MAX),
            "Frames bridged in the fast path.",
        )
        .read_only(),
        Property::new("bridge-fast-path-bytes", Type::Number(0, i64::MAX), "Their bytes.")
            .read_only(),
        Property::new(
            "bridge-fast-forward-packets",
            Type::Number(0, i64::MAX),
            "Always 0: there is no separate fast forward.",
        )
        .read_only(),
        Property::new(
            "bridge-fast-forward-bytes",
            Type::Number(0, i64::MAX),
            "Always 0: there is no separate fast forward.",
        )
        .read_only(),
    ],
    help: "Settings of all bridges.",
};

/// `/interface bridge host`: filled from [`super::hosts::Hosts::rows`].
pub static HOST: Menu = Menu {
    path: "/interface bridge host",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("dynamic", 'D', "Always: nobody can type a host."),
        Property::flag("local", 'L', "One of the router's own addresses."),
        Property::new("mac-address", Type::Mac, "The host's address.").read_only().column(),
        Property::new("vid", Type::Number(1, 4094), "Its VLAN, with vlan-filtering.").read_only(),
        Property::new("on-interface", Type::Text, "The port it is behind.").read_only().column(),
        Property::new("bridge", Type::Text, "The bridge that learnt it.").read_only().column(),
        Property::new("age", Type::Time, "Since it was last seen.").read_only().column(),
    ],
    help: "Hosts that bridges have learnt.",
};

const NO_STP: &str = "spanning tree is not built; use protocol-mode=none";

/// What a port that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
pub fn check_port(tree: &Tree, port: &Item) -> Result<(), String> {
    let mut others = tree.items(PORT.path).iter().filter(|other| other.id != port.id);
    if others.any(|other| other.get("interface") == port.get("interface")) {
        return Err("failure: device already added as bridge port".into());
    }
    let name = |property| port.get(property).map_or(String::new(), |value| value.to_string());
    vlan::no_loop(tree, &name("bridge"), &name("interface"))
}

fn protocol_mode(text: &str) -> Result<Value, String> {
    only(text, "none", "spanning tree is not built")
}

fn no_ip_firewall(text: &str) -> Result<Value, String> {
    only(
        text,
        "no",
        "the IP firewall does not see bridged frames yet; use /interface bridge filter",
    )
    .map(|_| Value::Bool(false))
}

/// The one value that is built, or what is missing.
fn only(text: &str, built: &str, missing: &str) -> Result<Value, String> {
    if text == built { Ok(Value::Text(built.into())) } else { Err(format!("{built} ({missing})")) }
}
