//! The property tables of `/ppp profile`, `/ppp secret` and `/ppp active` (`routeros/G-interfaces.md`,
//! G.5).

use super::rate::Rate;
use super::users::{Users, routes};
use crate::facility::{self, DONE, Facility, Rows};
use crate::interface::list::LIST_NAME;
use crate::interface::pppoe::status::active;
use crate::ip::pool::A_POOL;
use crate::queue::menu::A_QUEUE;
use crate::queue::types::KINDS;
use crate::router::Router;
use crate::status::Values;
use config::{
    Call, Command, Display, Item, Menu, MenuKind, Property, Started, Tree, Type, Unnamed, Value,
};
use wire::Moment;

/// `/ppp profile`.
pub(crate) static PROFILES: Facility =
    Facility { part_of: Some(&SECRETS), factory: profiles, ..Facility::of(&PROFILE) };

/// The profiles that RouterOS begins with.
fn profiles() -> Vec<Values> {
    let profile = |name: &str| {
        Values::from([("name", Value::Text(name.to_string())), ("default", Value::Bool(true))])
    };
    let mut encrypted = profile("default-encryption");
    encrypted.insert("use-encryption", Value::Text("yes".to_string()));
    vec![profile("default"), encrypted]
}

/// `/ppp secret`.
pub(crate) static SECRETS: Facility = Facility {
    compile: |c| c.program.users = Users::read(c.tree).into(),
    check: |item, tree| check(item, tree),
    ..Facility::of(&SECRET)
};

/// `/ppp active`.
pub(crate) static ACTIVES: Facility =
    Facility { rows: Rows::Few(active), commands: &[(&REMOVE, remove)], ..Facility::of(&ACTIVE) };

/// Of sessions: they are over then.
static REMOVE: Command = Command {
    menu: ACTIVE.path,
    name: "remove",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Ends sessions.",
};

fn remove(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let items = facility::items(call, tree)?;
    crate::flow::end_sessions(r, now, |session| items.contains(&session.item()));
    DONE
}

/// A profile, by name.
pub(crate) const A_PROFILE: Type = Type::Reference(&["/ppp profile"]);

/// `/ppp profile`.
pub(crate) static PROFILE: Menu = Menu {
    path: "/ppp profile",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("profile"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "What it is called.").column(),
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
        Property::new("use-encryption", MUST, "MPPE, which needs MS-CHAP; default is no.")
            .default("default"),
        Property::only(
            "use-mpls",
            &MUST,
            &["default", "no"],
            "packets with labels do not go by PPP",
        ),
        Property::only(
            "use-upnp",
            &CHOICE,
            &["default", "no"],
            "/ip upnp interfaces says who is inside",
        ),
        Property::new("use-ipv6", MUST, "Whether IPv6 is spoken of.").default("yes"),
        Property::new(
            "rate-limit",
            Type::Custom(rate),
            "rx[/tx] [burst [threshold [time [priority [least]]]]]: the queue of each session.",
        )
        .column(),
        Property::new("parent-queue", Type::Or(&["none"], &A_QUEUE), "Whose part the queue is."),
        Property::new("queue-type", Type::Pair(&KINDS), "How packets wait in the queue."),
        Property::only("insert-queue-before", &Type::Text, &["bottom"], "queues stand at the end"),
        Property::new("address-list", Type::Text, "The list that has the addresses of sessions."),
        Property::new("interface-list", LIST_NAME, "The list that has sessions' interfaces."),
        Property::new("dns-server", SERVERS, "Name servers that clients are told, two at most."),
        Property::new("wins-server", SERVERS, "WINS servers that clients are told, two at most."),
        Property::new("session-timeout", Type::Time, "Sessions last so long at most."),
        Property::new("idle-timeout", Type::Time, "Sessions end when no packet passed so long."),
        Property::missing(
            "bridge",
            "bridging by PPP (BCP) is not built; EoIP carries frames between routers",
        ),
        Property::new("bridge-learning", CHOICE, OF_BRIDGE).default("default"),
        Property::missing("bridge-horizon", "bridging by PPP (BCP) is not built"),
        Property::missing("bridge-path-cost", "bridging by PPP (BCP) is not built"),
        Property::missing("bridge-port-priority", "bridging by PPP (BCP) is not built"),
        Property::missing("bridge-port-trusted", "bridging by PPP (BCP) is not built"),
        Property::missing("bridge-port-vid", "bridging by PPP (BCP) is not built"),
        Property::new(
            "incoming-filter",
            Type::Text,
            "The filter's chain that has packets from sessions which come to chain ppp.",
        ),
        Property::new(
            "outgoing-filter",
            Type::Text,
            "The filter's chain that has packets to sessions which come to chain ppp.",
        ),
        Property::new("on-up", Type::Text, "The script that runs when a session has begun."),
        Property::new("on-down", Type::Text, "The script that runs when a session is over."),
    ],
    help: "What those who log in by PPP get.",
};

const OF_BRIDGE: &str = "Kept: of bridge, which is not built.";
const CHOICE: Type = Type::Enum(&["default", "no", "yes"]);
const MUST: Type = Type::Enum(&["default", "no", "required", "yes"]);
const END: Type = Type::Either(&[Type::Address, A_POOL]);
const SERVERS: Type = Type::List(&Type::Address);

/// A line of rates, kept as it was typed.
pub(crate) fn rate(text: &str) -> Result<Value, String> {
    if !text.is_empty() {
        Rate::read(text)?;
    }
    Ok(Value::Text(text.to_string()))
}

fn a_route(text: &str) -> Result<Value, String> {
    routes(text).map(|_| Value::Text(text.to_string()))
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
            "The service he may use; of these l2tp, pppoe and pptp are built.",
        )
        .default("any")
        .column(),
        Property::new(
            "caller-id",
            Type::Text,
            "The MAC or IP address he must call from; any if empty.",
        )
        .column(),
        Property::new("password", Type::Text, "The user's password.").column(),
        Property::new("profile", A_PROFILE, "What he gets; default is the server's.")
            .default("default")
            .column(),
        Property::new("local-address", END, "The router's end, before the profile's."),
        Property::new("remote-address", END, "His address, before the profile's.").column(),
        Property::new(
            "routes",
            Type::Custom(a_route),
            "Networks behind him: dst-address [gateway [distance]], with commas between them.",
        ),
        Property::new("limit-bytes-in", LIMIT, "A session ends behind so many bytes from him.")
            .default("0"),
        Property::new("limit-bytes-out", LIMIT, "A session ends behind so many bytes to him.")
            .default("0"),
        Property::missing("ipv6-routes", "no prefixes are given to sessions"),
        Property::missing("remote-ipv6-prefix", "no prefixes are given to sessions"),
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
        Property::new("encoding", Type::Text, "How it is encrypted.").read_only().column(),
    ],
    help: "Who has logged in by PPP.",
};

/// What a secret must not be.
fn check(item: &Item, tree: &Tree) -> Result<(), String> {
    let profile = SECRET.read(item).text("profile");
    let is = |other: &Item| other.get("name").is_some_and(|name| name.to_string() == profile);
    if profile == "default" || tree.items(PROFILE.path).iter().any(|other| is(other)) {
        return Ok(());
    }
    Err(format!("input does not match any value of profile: {profile}"))
}
