//! The menus of `/tool traffic-generator` (`routeros/I-tools.md`, I.1).
//!
//! Settings, `port` and `stream` here, the templates in [`template`].

pub mod template;

use config::{Menu, MenuKind, Property, Type};

/// The generator's menus, in the order of an export.
pub static MENUS: [&Menu; 5] = [&SETTINGS, &PORT, &template::PACKET, &template::RAW, &STREAM];

/// The menu of a box's ports, which the generator's refer to.
pub(crate) const INTERFACES: &[&str] = &["/interface ethernet"];
/// The generator's names for them.
pub(crate) const PORTS: &[&str] = &["/tool traffic-generator port"];
/// What `start` sends.
pub(crate) const STREAMS: &[&str] = &["/tool traffic-generator stream"];
/// Either kind of template.
pub(crate) const TEMPLATES: &[&str] =
    &["/tool traffic-generator packet-template", "/tool traffic-generator raw-packet-template"];

/// `/tool traffic-generator`.
pub static SETTINGS: Menu = Menu {
    path: "/tool traffic-generator",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("test-id", Type::Number(0, 255), "Frames of another test are not counted.")
            .default("0"),
        Property::new(
            "latency-distribution-max",
            Type::Time,
            "The longest latency that the distribution tells apart.",
        )
        .default("100us"),
        Property::new("measure-out-of-order", Type::Bool, "Whether RX-OOO is shown.")
            .default("yes"),
        Property::new(
            "stats-samples-to-keep",
            Type::Number(1, 10_000),
            "Seconds of a test that `stats` shows.",
        )
        .default("100"),
        Property::missing("latency-distribution-scale", "use latency-distribution-max"),
        Property::new("running", Type::Bool, "Whether a test is under way.").read_only(),
        Property::new(
            "latency-distribution-samples",
            Type::Number(0, 1000),
            "How many ranges of latency there are.",
        )
        .read_only(),
        Property::new("latency-distribution-measure-interval", Type::Time, "All of them together.")
            .read_only(),
    ],
    help: "The traffic generator: sends streams, and counts what comes back of them.",
};

/// `/tool traffic-generator port`.
pub static PORT: Menu = Menu {
    path: "/tool traffic-generator port",
    kind: list("port"),
    properties: &[
        Property::flag("inactive", 'I', "Its interface does not pass frames."),
        Property::new("name", Type::Text, "Name of the port.").column(),
        Property::new("interface", Type::Reference(INTERFACES), "Where it sends and receives.")
            .required()
            .column(),
        Property::new("first-header", Type::Text, "What frames sent there begin with.")
            .read_only()
            .column(),
    ],
    help: "Names for interfaces that streams are sent from.",
};

/// `/tool traffic-generator stream`.
pub static STREAM: Menu = Menu {
    path: "/tool traffic-generator stream",
    kind: list("str"),
    properties: &[
        Property::new("name", Type::Text, "Name of the stream."),
        Property::new("num", Type::Number(0, 15), "Its number, by which it is counted: unique.")
            .default("0"),
        Property::new(
            "packet-size",
            Type::Numbers(0, 65_535),
            "Bytes without FCS; a-b: any length between them. 0 means 1514.",
        )
        .default("0"),
        Property::new("pps", Type::Number(0, 4_294_967_295), "Packets a second.").default("0"),
        Property::new(
            "mbps",
            Type::Number(0, 4_294_967_295),
            "Megabits a second, by packet-size. With pps and mbps 0: as fast as it goes.",
        )
        .default("0"),
        Property::new("packet-count", COUNT, "Packets to send in all; 0: no end.").default("0"),
        Property::new("port", Type::Reference(PORTS), "Instead of the template's port."),
        Property::new("tx-template", Type::Reference(TEMPLATES), "What is sent.").required(),
    ],
    help: "What `start` sends.",
};

pub(crate) const COUNT: Type = Type::Number(0, i64::MAX);

const fn list(prefix: &'static str) -> MenuKind {
    MenuKind::List { key: Some("name"), auto_name: Some(prefix), ordered: false, fixed: false }
}
