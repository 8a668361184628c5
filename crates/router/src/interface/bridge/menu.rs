//! The menus of bridges: `/interface bridge` and what is below it.
//!
//! Each property once, with its default; what RouterOS has and this router has not is named here
//! and refused.

use super::stp;
use super::vlan::FRAME_TYPES;
use crate::interface::InterfaceId;
use crate::interface::bonding::menu::no_slave;
use crate::interface::menu::{ANY_INTERFACE, ARP_MODE, ARP_TIMEOUT};
use crate::interface::vlan;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};

/// What can be a port, and what a rule's interface can be.
pub const INTERFACES: Type = ANY_INTERFACE;

/// A bridge.
pub(crate) const BRIDGES: Type = Type::Reference(&["/interface bridge"]);

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
            Type::Only(&PROTOCOL_MODE, &["rstp", "none", "stp"], "use rstp, which speaks to it"),
            "Spanning tree protocol, so that no frame goes round in a loop.",
        )
        .default("rstp"),
        Property::new("ageing-time", Type::Time, "How long a silent host is remembered.")
            .default("5m"),
        Property::new("auto-mac", Type::Bool, "Take the lowest address of the ports.")
            .default("yes"),
        Property::new("admin-mac", Type::Mac, "The bridge's address when auto-mac=no."),
        Property::new("mac-address", Type::Mac, "The bridge's address.").read_only(),
        ARP_MODE,
        ARP_TIMEOUT,
        Property::new(
            "fast-forward",
            Type::Bool,
            "Kept: bridges of two ports are as fast as others.",
        )
        .default("yes"),
        Property::new("priority", HEX, "The bridge of the lowest becomes the root.")
            .default("0x8000"),
        Property::new(
            "forward-delay",
            Type::Time,
            "From discarding to learning, and to forwarding, where nobody agrees: 4s to 30s.",
        )
        .default("15s"),
        Property::new(
            "max-message-age",
            Type::Time,
            "How old what the root says may become: 6s to 40s.",
        )
        .default("20s"),
        asleep("max-hops", &Type::Number(6, 40), &["20"], NO_MSTP),
        Property::new(
            "transmit-hold-count",
            Type::Number(1, 10),
            "BPDUs that a port may send in a second.",
        )
        .default("6"),
        asleep("region-name", &Type::Text, &[""], NO_MSTP),
        asleep("region-revision", &Type::Number(0, 65535), &["0"], NO_MSTP),
        Property::new("root-bridge", Type::Bool, "It is the root.").read_only(),
        Property::new("root-bridge-id", Type::Text, "The root: priority and address.").read_only(),
        Property::new("root-path-cost", COST, "The cost of the way to the root.").read_only(),
        Property::new("root-port", Type::Text, "The port towards the root.").read_only(),
        Property::new("port-cost-mode", COST_MODE, "How spanning tree counts; only kept."),
        Property::new("vlan-filtering", Type::Bool, "Keep VLANs apart by /interface bridge vlan.")
            .default("no"),
        Property::new("pvid", VIDS, "The VLAN of the router's own untagged frames.").default("1"),
        Property::new(
            "ether-type",
            Type::Enum(&["0x8100", "0x88a8", "0x9100"]),
            "Which tags name VLANs; others are payload.",
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
        Property::new(
            "igmp-snooping",
            Type::Bool,
            "Multicast goes to the ports alone whose hosts ask for it by IGMP or MLD.",
        )
        .default("no"),
        asleep("igmp-version", &Type::Number(2, 3), &["2"], NO_QUERIER),
        asleep("mld-version", &Type::Number(1, 2), &["1"], NO_QUERIER),
        asleep("multicast-router", &MULTICAST_ROUTER, &["temporary-query"], NO_QUERIER),
        asleep("multicast-querier", &Type::Bool, &["no"], NO_QUERIER),
        Property::new(
            "last-member-interval",
            Type::Time,
            "Who leaves a group is out after so long, times last-member-query-count; 1s.",
        ),
        Property::new("last-member-query-count", COUNT, "See there; 2."),
        Property::new("membership-interval", Type::Time, "How long a report holds; 4m20s."),
        Property::new("querier-interval", Type::Time, "How long a querier is known; 4m15s."),
        asleep("query-interval", &Type::Time, &["2m5s"], NO_QUERIER),
        asleep("query-response-interval", &Type::Time, &["10s"], NO_QUERIER),
        asleep("startup-query-count", &COUNT, &["2"], NO_QUERIER),
        asleep("startup-query-interval", &Type::Time, &["31s250ms"], NO_QUERIER),
        Property::new("dhcp-snooping", Type::Bool, "DHCP servers are behind trusted ports alone.")
            .default("no"),
        asleep("add-dhcp-option82", &Type::Bool, &["no"], "DHCP packets pass unchanged"),
        Property::only(
            "max-learned-entries",
            &Type::Or(&["auto", "unlimited"], &Type::Number(0, 0xffff_ffff)),
            &["auto", "unlimited"],
            "hosts have one table, as long as there is room",
        )
        .default(""),
        Property::only(
            "forward-reserved-addresses",
            &Type::Bool,
            &["yes"],
            "protocol-mode decides: with none they are forwarded",
        )
        .default(""),
    ],
    help: "Bridges: ports of one Ethernet segment.",
};

/// What means something only beside another property, which is not built: shown where it was typed,
/// as RouterOS does.
const fn asleep(
    name: &'static str,
    kind: &'static Type,
    built: &'static [&'static str],
    remark: &'static str,
) -> Property {
    Property::only(name, kind, built, remark).default("")
}

/// `/interface bridge port`.
pub static PORT: Menu = Menu {
    path: "/interface bridge port",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("inactive", 'I', "The port or the bridge is disabled."),
        Property::new("interface", ANY_INTERFACE, "The interface that becomes a port.")
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
        Property::new("priority", HEX, "Among equal ways: the lowest; its upper four bits count.")
            .default("0x80")
            .column(),
        Property::new("path-cost", COST, "What the way by this port costs.").default("10").column(),
        Property::only("internal-path-cost", &COST, &["10"], NO_MSTP),
        Property::new(
            "edge",
            EDGE,
            "Whether no bridge is behind it, so that it forwards at once; auto finds out in 3s.",
        )
        .default("auto"),
        Property::new(
            "point-to-point",
            AUTO_BOOL,
            "Whether one bridge at most is at the other end; auto is yes.",
        )
        .default("auto"),
        Property::only("auto-isolate", &Type::Bool, &["no"], "set restricted-role"),
        Property::new(
            "bpdu-guard",
            Type::Bool,
            "A BPDU from there closes it, until its link goes down.",
        )
        .default("no"),
        Property::new("restricted-role", Type::Bool, "It never leads to the root.").default("no"),
        Property::new("restricted-tcn", Type::Bool, "Topology changes from there are not heard.")
            .default("no"),
        Property::new("role", Type::Text, "Its place in the tree.").read_only().column(),
        Property::new("learning", Type::Bool, "Hosts are learnt.").read_only(),
        Property::new("forwarding", Type::Bool, "Frames pass.").read_only(),
        Property::new("port-number", Type::Number(1, 4095), "Its number in BPDUs.").read_only(),
        Property::new("edge-port", Type::Bool, "No bridge is behind it.").read_only(),
        Property::new("point-to-point-port", Type::Bool, "One bridge at most is there.")
            .read_only(),
        Property::new("sending-rstp", Type::Bool, "RSTP is spoken there, not STP.").read_only(),
        Property::new("designated-bridge", Type::Text, "Who leads the segment to the root.")
            .read_only(),
        Property::new("designated-cost", COST, "What its way there costs.").read_only(),
        Property::new("designated-port-number", Type::Number(1, 4095), "By which of its ports.")
            .read_only(),
        Property::new("hw", Type::Bool, "Whether a switch chip may help; kept, there is none.")
            .default("yes"),
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
        Property::new("trusted", Type::Bool, "With dhcp-snooping: DHCP servers may be here.")
            .default("no"),
        Property::new(
            "multicast-router",
            MULTICAST_ROUTER,
            "Whether all multicast goes there, with igmp-snooping; temporary-query: to a querier.",
        )
        .default("temporary-query"),
        Property::new("fast-leave", Type::Bool, "Who leaves a group was the last one there.")
            .default("no"),
    ],
    help: "Ports of bridges.",
};

/// `/interface bridge settings`.
pub static SETTINGS: Menu = Menu {
    path: "/interface bridge settings",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("use-ip-firewall", Type::Bool, "The boxes of IP see bridged packets, too.")
            .default("no"),
        Property::only("use-ip-firewall-for-vlan", &Type::Bool, &["no"], NO_IP_FIREWALL),
        Property::only("use-ip-firewall-for-pppoe", &Type::Bool, &["no"], NO_IP_FIREWALL),
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

/// `/interface bridge mdb`.
pub static MDB: Menu = Menu {
    path: "/interface bridge mdb",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("group", Type::Text, "The group's MAC address.").read_only().column(),
        Property::new("vid", Type::Number(1, 4094), "Its VLAN, with vlan-filtering.").read_only(),
        Property::new("on-ports", Type::Text, "The ports that have joined it.")
            .read_only()
            .column(),
        Property::new("bridge", Type::Text, "The bridge that has heard it.").read_only().column(),
    ],
    help: "Groups that hosts have joined, with igmp-snooping.",
};

const PROTOCOL_MODE: Type = Type::Enum(&["mstp", "none", "rstp", "stp"]);
const COST_MODE: Type = Type::Enum(&["long", "short"]);
const COST: Type = Type::Number(0, 200_000_000);
const COUNT: Type = Type::Number(0, 0xffff_ffff);
const EDGE: Type = Type::Enum(&["auto", "no", "no-discover", "yes", "yes-discover"]);
const AUTO_BOOL: Type = Type::Enum(&["auto", "no", "yes"]);
const MULTICAST_ROUTER: Type = Type::Enum(&["disabled", "permanent", "temporary-query"]);

/// A number as RouterOS prints a priority: `0x8000`.
const HEX: Type = Type::Custom(|text| {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let number = number.ok_or("a number such as 0x8000")?;
    Ok(Value::Text(format!("{number:#X}")))
});

/// What a bridge that is added or changed must not say.
///
/// # Errors
/// RouterOS's words.
pub fn check_bridge(bridge: &Item) -> Result<(), String> {
    for (name, least, most) in [("forward-delay", 4, 30), ("max-message-age", 6, 40)] {
        if let Some(Value::Time(time)) = bridge.get(name)
            && (time.subsec_nanos() != 0 || !(least..=most).contains(&time.as_secs()))
        {
            return Err(format!("failure: {name} must be whole seconds, {least}s..{most}s"));
        }
    }
    Ok(())
}

/// What a bridge and its ports say of the spanning tree; `None` if there is none.
pub(super) fn spanning(bridge: &Item, ports: &[(&Item, InterfaceId)]) -> Option<stp::Settings> {
    let bridge = BRIDGE.read(bridge);
    let mode = bridge.text("protocol-mode");
    let seconds = |name| u16::try_from(bridge.time(name).as_secs()).unwrap_or(u16::MAX);
    let hex = |text: &str| u16::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or(0x8000);
    let port = |(item, _): &(&Item, InterfaceId)| {
        let item = PORT.read(item);
        let edge = item.text("edge");
        stp::PortSettings {
            cost: item.number("path-cost") as u32,
            priority: hex(&item.text("priority")).min(0xff) as u8,
            admin_edge: edge.starts_with("yes"),
            auto_edge: matches!(&*edge, "auto" | "no-discover" | "yes-discover"),
            point_to_point: item.text("point-to-point") != "no",
            restricted_role: item.bool("restricted-role"),
            restricted_tcn: item.bool("restricted-tcn"),
            guard: item.bool("bpdu-guard"),
        }
    };
    (mode != "none").then(|| stp::Settings {
        rapid: mode != "stp",
        priority: hex(&bridge.text("priority")),
        max_age: seconds("max-message-age"),
        forward_delay: seconds("forward-delay"),
        hold: bridge.number("transmit-hold-count") as u16,
        ports: ports.iter().map(port).collect(),
    })
}

const NO_MSTP: &str = "MSTP is not built";
const NO_QUERIER: &str = "the bridge asks nobody; another router has to";
const NO_IP_FIREWALL: &str =
    "what has a tag, or is in a session, passes a bridge as it is; use /interface bridge filter";

/// What a port that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
pub fn check_port(tree: &Tree, port: &Item) -> Result<(), String> {
    let mut others = tree.items(PORT.path).iter().filter(|other| other.id != port.id);
    if others.any(|other| other.get("interface") == port.get("interface")) {
        return Err("failure: device already added as bridge port".into());
    }
    let name = |property| port.get(property).map_or(String::new(), ToString::to_string);
    if tree.items(BRIDGE.path).iter().any(|bridge| bridge.name("name") == name("interface")) {
        return Err("failure: a bridge cannot be a port of a bridge".into());
    }
    vlan::no_point_to_point(tree, &name("interface"))?;
    no_slave(tree, &name("interface"))?;
    vlan::no_loop(tree, &name("bridge"), &name("interface"))
}
