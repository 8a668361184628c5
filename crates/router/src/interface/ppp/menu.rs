//! The property tables of `/ppp profile`, `/ppp secret` and `/ppp active` (`routeros/G-interfaces.md`,
//! G.5).

use super::users::Users;
use crate::facility::{Facility, Rows};
use crate::interface::pppoe::status::active;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};

/// `/ppp profile`.
pub(crate) static PROFILES: Facility =
    Facility { part_of: Some(&SECRETS), ..Facility::of(&PROFILE) };

/// `/ppp secret`.
pub(crate) static SECRETS: Facility = Facility {
    compile: |c| c.program.users = Users::read(c.tree).into(),
    check: |item, tree| check(item, tree),
    ..Facility::of(&SECRET)
};

/// `/ppp active`.
pub(crate) static ACTIVES: Facility = Facility { rows: Rows::Few(active), ..Facility::of(&ACTIVE) };

/// The profiles that always are.
pub(crate) const BUILT_IN: &[&str] = &["default", "default-encryption"];
/// A profile, by name.
pub(crate) const A_PROFILE: Type = Type::Or(BUILT_IN, &Type::Reference(&["/ppp profile"]));

/// `/ppp profile`.
pub(crate) static PROFILE: Menu = Menu {
    path: "/ppp profile",
    kind: MenuKind::List { key: Some("name"), auto_name: Some("profile"), ordered: false, fixed: false },
    properties: &[
        Property::new(
            "name",
            Type::Text,
            "What it is called; default and default-encryption are there, and say nothing until added.",
        )
        .column(),
        Property::new("local-address", END, "The router's end.").column(),
        Property::new("remote-address", END, "The other end.").column(),
        Property::new(
            "change-tcp-mss",
            Type::Enum(&["default", "no", "yes"]),
            "Lowers the MSS of forwarded TCP connections to what the link takes; default is yes.",
        )
        .default("default")
        .column(),
        Property::new("only-one", CHOICE, "A user's new session ends the one he has.")
            .default("default"),
        Property::only("use-compression", &CHOICE, &["default", "no"], "nothing is compressed"),
        Property::only("use-encryption", &MUST, &["default", "no"], "nothing is encrypted"),
        Property::only("use-mpls", &MUST, &["default", "no"], "MPLS is not built"),
        Property::only("use-upnp", &CHOICE, &["default", "no"], "UPnP is not built"),
        Property::only("use-ipv6", &MUST, &["yes", "no", "default"], "no link has IPv6")
            .default(""),
        Property::missing("rate-limit", "use /queue simple with the user's address as target"),
        Property::missing("address-list", "use /ip firewall address-list"),
        Property::missing("bridge", "bridging by PPP (BCP) is not built"),
        Property::missing("dns-server", "the client is told no name servers"),
        Property::missing("wins-server", "the client is told none"),
        Property::missing("idle-timeout", "sessions end with keepalive-timeout"),
        Property::missing("session-timeout", "sessions end with keepalive-timeout"),
        Property::missing("incoming-filter", "use /ip firewall filter"),
        Property::missing("outgoing-filter", "use /ip firewall filter"),
        Property::missing("interface-list", "sessions are in no list"),
        Property::missing("insert-queue-before", "sessions make no queues"),
        Property::missing("parent-queue", "sessions make no queues"),
        Property::missing("queue-type", "sessions make no queues"),
        Property::missing("on-up", "scripts are not started"),
        Property::missing("on-down", "scripts are not started"),
    ],
    help: "What those who log in by PPP get.",
};

const CHOICE: Type = Type::Enum(&["default", "no", "yes"]);
const MUST: Type = Type::Enum(&["default", "no", "required", "yes"]);
const END: Type = Type::Custom(end);

/// An address; a pool would be a name.
fn end(text: &str) -> Result<Value, String> {
    match Type::Address.parse(text, &config::AnyName) {
        Ok(address) => Ok(address),
        Err(_) => Err("an address; sessions take none of a pool".to_string()),
    }
}

/// `/ppp secret`.
pub(crate) static SECRET: Menu = Menu {
    path: "/ppp secret",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "The user's name.").required().column(),
        Property::new(
            "service",
            Type::Enum(&["any", "async", "l2tp", "ovpn", "pppoe", "pptp", "sstp"]),
            "The service he may use; of these pppoe is built.",
        )
        .default("any")
        .column(),
        Property::new("caller-id", Type::Text, "The MAC address he must call from; any if empty.")
            .column(),
        Property::new("password", Type::Text, "The user's password.").column(),
        Property::new("profile", A_PROFILE, "What he gets; default is the server's.")
            .default("default")
            .column(),
        Property::new("local-address", END, "The router's end, before the profile's."),
        Property::new("remote-address", END, "His address, before the profile's.").column(),
        Property::missing("routes", "use /ip route with the user's address as gateway"),
        Property::only("limit-bytes-in", &LIMIT, &["0"], "sessions have no quota"),
        Property::only("limit-bytes-out", &LIMIT, &["0"], "sessions have no quota"),
        Property::missing("ipv6-routes", "no link has IPv6"),
        Property::missing("remote-ipv6-prefix", "no link has IPv6"),
    ],
    help: "Who may log in by PPP.",
};

const LIMIT: Type = Type::Number(0, i64::MAX);

/// `/ppp active`.
pub(crate) static ACTIVE: Menu = Menu {
    path: "/ppp active",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("name", Type::Text, "Who.").read_only().column(),
        Property::new("service", Type::Text, "By which service.").read_only().column(),
        Property::new("caller-id", Type::Text, "From where.").read_only().column(),
        Property::new("address", Type::Address, "What he has got.").read_only().column(),
        Property::new("uptime", Type::Time, "For how long.").read_only().column(),
        Property::new("encoding", Type::Text, "How it is encrypted: it is not.")
            .read_only()
            .column(),
    ],
    help: "Who has logged in by PPP.",
};

/// What a secret must not be.
fn check(item: &Item, tree: &Tree) -> Result<(), String> {
    let profile = SECRET.read(item).text("profile");
    let is = |other: &Item| other.get("name").is_some_and(|name| name.to_string() == profile);
    if BUILT_IN.contains(&&*profile) || tree.items(PROFILE.path).iter().any(|other| is(other)) {
        return Ok(());
    }
    Err(format!("input does not match any value of profile: {profile}"))
}
