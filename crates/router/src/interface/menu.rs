//! The property tables of `/interface` and `/interface ethernet` (`routeros/G-interfaces.md`, G.1,
//! G.2).

use config::{Menu, MenuKind, Property, Type};

/// Any interface, by name.
pub const ANY_INTERFACE: Type = Type::Reference(&[INTERFACE.path]);

/// `/interface`: all of them.
pub const INTERFACE: Menu = Menu {
    path: "/interface",
    kind: MenuKind::Union { key: "name", of: "running" },
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
        count("tx-queue-drop", "Frames dropped by the interface's queue."),
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
        Property::new("orig-mac-address", Type::Mac, "The factory's MAC address; only kept."),
        Property::new(
            "l2mtu",
            Type::Number(0, 65535),
            "The longest frame less its header: the wire's, or as typed, which changes no wire.",
        ),
        ARP_MODE,
        ARP_TIMEOUT,
        Property::only(
            "disable-running-check",
            &Type::Bool,
            &["no"],
            "a port runs as its link does",
        ),
        Property::only("loop-protect", &LOOP_PROTECT, &["default", "off"], NO_LOOP_PROTECT),
        Property::only("loop-protect-disable-time", &Type::Time, &["5m"], NO_LOOP_PROTECT),
        Property::only("loop-protect-send-interval", &Type::Time, &["5s"], NO_LOOP_PROTECT),
        Property::new("auto-negotiation", Type::Bool, "Kept: links are as fast as they are.")
            .default("yes"),
        Property::new(
            "advertise",
            Type::List(&Type::Either(&[SPEED, SPEED_V7])),
            "What auto-negotiation may choose; kept, and nothing is negotiated.",
        ),
        Property::new(
            "speed",
            Type::Either(&[SPEED, SPEED_V7]),
            "Without auto-negotiation; kept, and links are as fast as they are.",
        ),
        Property::only("full-duplex", &Type::Bool, &["yes"], "links are full duplex"),
        Property::only("tx-flow-control", &FLOW_CONTROL, &["off", "auto"], NO_PAUSE),
        Property::only("rx-flow-control", &FLOW_CONTROL, &["off", "auto"], NO_PAUSE),
        Property::only("bandwidth", &BANDWIDTH, &["unlimited/unlimited"], "use /queue simple"),
        Property::new("cable-settings", CABLE, "How long the cable is; kept.").default("default"),
        // What only some hardware has is shown where somebody has typed it.
        Property::new("mdix-enable", Type::Bool, "Crossed cables are taken; kept."),
        hardware("combo-mode", &COMBO, &["auto"], "a port has one connector"),
        hardware("sfp-rate-select", &HIGH_LOW, &["high"], "there are no SFP modules"),
        hardware("sfp-shutdown-temperature", &Type::Text, &["95C", "95"], "there is no SFP module"),
        hardware("fec-mode", &FEC, &["off", "auto"], "errors are not corrected"),
        Property::new("poe-out", POE, "Kept: ports give no power."),
        Property::new("poe-priority", Type::Number(0, 99), "Kept: ports give no power."),
        Property::new("poe-voltage", POE_VOLTAGE, "Kept: ports give no power."),
        hardware("power-cycle-interval", &NONE_TIME, &["none"], NO_POWER),
        hardware("power-cycle-ping-enabled", &Type::Bool, &["no"], NO_POWER),
        Property::missing("power-cycle-ping-address", NO_POWER),
        Property::missing("power-cycle-ping-timeout", NO_POWER),
        hardware("master-port", &Type::Text, &["none"], "use /interface bridge port"),
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

/// A property of hardware that is not here, with what can be said of it.
const fn hardware(
    name: &'static str,
    kind: &'static Type,
    built: &'static [&'static str],
    remark: &'static str,
) -> Property {
    Property::only(name, kind, built, remark).default("")
}

/// What an interface does with ARP: [`Mode`](crate::ip::arp::Mode).
pub(crate) const ARP_MODE: Property =
    Property::new("arp", ARP, "Whether neighbours are asked and learnt, and for whom is answered.")
        .default("enabled");
pub(crate) const ARP_TIMEOUT: Property =
    Property::new("arp-timeout", AUTO_TIME, "How long an answer is believed; auto: /ip settings.")
        .default("auto");
const ARP: Type =
    Type::Enum(&["disabled", "enabled", "local-proxy-arp", "proxy-arp", "reply-only"]);
const AUTO_TIME: Type = Type::Or(&["auto"], &Type::Time);
const NONE_TIME: Type = Type::Or(&["none"], &Type::Time);
const LOOP_PROTECT: Type = Type::Enum(&["default", "off", "on"]);
const FLOW_CONTROL: Type = Type::Enum(&["auto", "off", "on"]);
const BANDWIDTH: Type = Type::Pair(&Type::Or(&["unlimited"], &Type::Rate));
const CABLE: Type = Type::Enum(&["default", "short", "standard"]);
const COMBO: Type = Type::Enum(&["auto", "copper", "sfp"]);
const HIGH_LOW: Type = Type::Enum(&["high", "low"]);
const FEC: Type = Type::Enum(&["auto", "fec74", "fec91", "off"]);
const POE: Type = Type::Enum(&["auto-on", "forced-on", "off"]);
const POE_VOLTAGE: Type = Type::Enum(&["auto", "high", "low"]);

/// Version 6's words for speeds, `advertise`'s with the duplex.
const SPEED: Type = Type::Enum(&[
    "10Mbps",
    "100Mbps",
    "1Gbps",
    "2.5Gbps",
    "5Gbps",
    "10Gbps",
    "25Gbps",
    "40Gbps",
    "50Gbps",
    "100Gbps",
    "10M-half",
    "10M-full",
    "100M-half",
    "100M-full",
    "1000M-half",
    "1000M-full",
    "2500M-full",
    "5000M-full",
    "10000M-full",
    "25000M-full",
    "40000M-full",
    "100000M-full",
]);

/// Version 7's.
const SPEED_V7: Type = Type::Enum(&[
    "10M-baseT-half",
    "10M-baseT-full",
    "100M-baseT-half",
    "100M-baseT-full",
    "1G-baseT-half",
    "1G-baseT-full",
    "1G-baseX",
    "2.5G-baseT",
    "2.5G-baseX",
    "5G-baseT",
    "10G-baseT",
    "10G-baseSR-LR",
    "10G-baseCR",
    "25G-baseSR-LR",
    "25G-baseCR",
    "40G-baseSR4-LR4",
    "40G-baseCR4",
    "50G-baseSR2-LR2",
    "50G-baseCR2",
    "100G-baseSR4-LR4",
    "100G-baseCR4",
]);

const NO_LOOP_PROTECT: &str = "loops are not looked for";
const NO_PAUSE: &str = "wires drop, they do not push back";
const NO_POWER: &str = "ports give no power";
