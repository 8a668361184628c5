//! The property tables of `/ip dns`.

use super::typed;
use crate::firewall::menu::WORD;
use config::{Menu, MenuKind, Property, Type, Value};

/// `/ip dns`.
pub(crate) const DNS: Menu = Menu {
    path: "/ip dns",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("servers", Type::List(&SERVER), "Name servers to ask."),
        Property::new("dynamic-servers", WORD, "Those that DHCP clients were told.").read_only(),
        Property::only("use-doh-server", &Type::Text, &[""], NO_HTTPS),
        Property::only("verify-doh-cert", &Type::Bool, &["no"], NO_HTTPS),
        Property::new("allow-remote-requests", Type::Bool, "Whether others may ask the router.")
            .default("no"),
        Property::new(
            "max-udp-packet-size",
            Type::Number(50, 65507),
            "The longest answer that is taken and given; not more than fits a frame.",
        )
        .default("4096"),
        Property::new("query-server-timeout", Type::Time, "How long to wait for one server.")
            .default("2s"),
        Property::new("query-total-timeout", Type::Time, "How long to wait for all together.")
            .default("10s"),
        Property::new("max-concurrent-queries", Type::Number(1, 1000), "Questions under way.")
            .default("100"),
        Property::new(
            "max-concurrent-tcp-sessions",
            Type::Number(1, 1000),
            "Kept: names are asked for by UDP.",
        )
        .default("20"),
        Property::new("cache-size", Type::Custom(size), "How much is kept in memory.")
            .default("2048KiB"),
        Property::new("cache-max-ttl", Type::Time, "No longer is anything believed.").default("1w"),
        Property::new("cache-used", WORD, "How much is kept now.").read_only(),
    ],
    help: "Name servers, and what others may ask.",
};

/// `/ip dns static`.
pub(crate) const STATIC: Menu = Menu {
    path: "/ip dns static",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::new("name", Type::Custom(typed::name), "The name.").column(),
        Property::new("regexp", Type::Custom(typed::regexp), "Names that match it.").column(),
        Property::new("type", KIND, "What is said of it; FWD: others are asked.")
            .default("A")
            .column(),
        Property::new("address", Type::Custom(typed::address), "IPv4, of AAAA IPv6.").column(),
        Property::new("cname", Type::Custom(typed::name), "The name it stands for."),
        Property::new("ttl", Type::Time, "How long others may believe it.").default("1d").column(),
        Property::new("match-subdomain", Type::Bool, "Names below it, too.").default("no"),
        Property::new(
            "forward-to",
            Type::List(&FORWARD_TO),
            "Of FWD: name servers to ask, or who stands in /ip dns forwarders; none: those of /ip dns.",
        ),
        Property::new(
            "address-list",
            Type::Text,
            "Addresses that are answered are in this /ip firewall address-list, until their TTL ends.",
        ),
        Property::new("mx-exchange", Type::Custom(typed::name), "Of MX: the mail server."),
        Property::new("mx-preference", SHORT, "Of MX: the lowest is tried first.").default("0"),
        Property::new("ns", Type::Custom(typed::name), "Of NS: the name server."),
        Property::new("srv-port", SHORT, "Of SRV: the service's port.").default("0"),
        Property::new("srv-priority", SHORT, "Of SRV: the lowest is tried first.").default("0"),
        Property::new("srv-target", Type::Custom(typed::name), "Of SRV: the service's host."),
        Property::new("srv-weight", SHORT, "Of SRV: its share of equal ones.").default("0"),
        Property::new("text", Type::Custom(typed::text), "Of TXT: the text."),
    ],
    help: "Names that are answered here.",
};

/// `/ip dns forwarders`.
pub(crate) const FORWARDERS: Menu = Menu {
    path: "/ip dns forwarders",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "The name, for forward-to.").required().column(),
        Property::new("dns-servers", Type::List(&SERVER), "Name servers to ask.").column(),
        Property::only("doh-servers", &Type::Text, &[""], NO_HTTPS),
        Property::new("verify-doh-cert", Type::Bool, "Kept: of doh-servers, which are not asked.")
            .default("yes"),
    ],
    help: "Name servers that stand together under a name.",
};

/// `/ip dns cache`.
pub(crate) const CACHE: Menu = Menu {
    path: "/ip dns cache",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("name", WORD, "The name.").read_only().column(),
        Property::new("type", WORD, "The kind of record.").read_only().column(),
        Property::new("data", WORD, "What is said of it.").read_only().column(),
        Property::new("ttl", Type::Time, "How long it is still believed.").read_only().column(),
    ],
    help: "What name servers have said.",
};

const SERVER: Type = Type::Either(&[Type::Address, Type::Address6]);
const FORWARD_TO: Type = Type::Either(&[Type::Address, Type::Address6, WORD]);
const SHORT: Type = Type::Number(0, 65535);
const KIND: Type = Type::Enum(&["A", "AAAA", "CNAME", "FWD", "MX", "NS", "NXDOMAIN", "SRV", "TXT"]);
const NO_HTTPS: &str = "names are asked for by UDP";

/// `2048KiB`, or a number of KiB.
fn size(text: &str) -> Result<Value, String> {
    let digits = text.strip_suffix("KiB").unwrap_or(text);
    match digits.parse::<u32>() {
        Ok(kib @ 64..=1_048_576) => Ok(Value::Text(format!("{kib}KiB"))),
        _ => Err("a size from 64KiB to 1048576KiB".to_string()),
    }
}

/// The bytes of a size.
pub(super) fn bytes(text: &str) -> usize {
    text.trim_end_matches("KiB").parse::<usize>().unwrap_or(0) * 1024
}
