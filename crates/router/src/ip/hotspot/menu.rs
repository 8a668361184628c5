//! The property tables of `/ip hotspot` and its menus, and what they mean.

use super::{Action, Binding, Garden, Kind, Profile, Server, Settings, Trial, User, rows};
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::menu::ANY_INTERFACE;
use crate::interface::ppp::rate::Rate;
use crate::ip::facilities::ADDRESS;
use crate::program::Program;
use crate::status::{Values, text};
use config::{Command, Display, Item, Menu, MenuKind, Property, Read, Tree, Type, Unnamed, Value};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::Ipv4Range;
use wire::layers::protocol;

const COUNT: Type = Type::Number(0, i64::MAX);
const NONE_OR_TIME: Type = Type::Or(&["none"], &Type::Time);
const SERVER: Type = Type::Or(&["all"], &Type::Reference(&["/ip hotspot"]));

/// `/ip hotspot`.
pub(crate) static HOTSPOT: Menu = Menu {
    path: "/ip hotspot",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("hotspot"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "What it is called.").column(),
        Property::new("interface", ANY_INTERFACE, "Where its clients are.").required().column(),
        Property::new("address-pool", Type::Text, "Kept: clients have addresses of the network.")
            .default("none"),
        Property::new("profile", Type::Reference(&["/ip hotspot profile"]), "How they log in.")
            .default("default")
            .column(),
        Property::new("idle-timeout", NONE_OR_TIME, "Who does nothing for so long is logged out.")
            .default("5m"),
        Property::new("keepalive-timeout", NONE_OR_TIME, "Kept: silence is idle-timeout's.")
            .default("none"),
        Property::new(
            "login-timeout",
            NONE_OR_TIME,
            "Who has not logged in after so long is forgotten.",
        )
        .default("none"),
        Property::new(
            "addresses-per-mac",
            Type::Or(&["unlimited"], &Type::Number(1, 255)),
            "Clients of one MAC address.",
        )
        .default("2"),
    ],
    help: "Hotspots: clients of a network log in before they get further.",
};

/// `/ip hotspot profile`.
pub(crate) static PROFILE: Menu = Menu {
    path: "/ip hotspot profile",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("hsprof"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("default", '*', "It was there from the beginning."),
        Property::new("name", Type::Text, "What it is called.").column(),
        Property::new(
            "hotspot-address",
            Type::Address,
            "The page's address; 0.0.0.0 is the interface's first.",
        )
        .default("0.0.0.0")
        .column(),
        Property::new("dns-name", Type::Text, "Kept: clients are sent to the address.").default(""),
        Property::new("html-directory", Type::Text, "Kept: the page is built in.")
            .default("hotspot"),
        Property::new("html-directory-override", Type::Text, "Kept: the page is built in.")
            .default(""),
        Property::new("install-hotspot-queue", Type::Bool, "Kept.").default("no"),
        Property::new("login-by", Type::List(&LOGIN), "How clients log in.")
            .default("cookie,http-chap")
            .column(),
        Property::new("http-cookie-lifetime", Type::Time, "So long a browser need not ask again.")
            .default("3d"),
        Property::new("mac-auth-password", Type::Text, "Of users whose name is a MAC address.")
            .default(""),
        Property::new("trial-uptime-limit", Type::Time, "So long clients may try.").default("30m"),
        Property::new("trial-uptime-reset", Type::Time, "After so long again.").default("1d"),
        Property::new(
            "trial-user-profile",
            Type::Reference(&["/ip hotspot user profile"]),
            "What who tries gets.",
        )
        .default("default"),
        Property::new("rate-limit", Type::Text, "Kept: that of users' profiles counts.")
            .default(""),
        Property::only("http-proxy", &Type::Text, &["0.0.0.0:0"], "there is no web proxy")
            .default("0.0.0.0:0"),
        Property::only("smtp-server", &Type::Text, &["0.0.0.0"], "mail goes where it is sent")
            .default("0.0.0.0"),
        Property::only("split-user-domain", &Type::Bool, &["no"], "names are users' names")
            .default("no"),
        Property::only("use-radius", &Type::Bool, &["no"], "users are those typed").default("no"),
        Property::only("ssl-certificate", &Type::Text, &["none"], "the page is HTTP's")
            .default("none"),
    ],
    help: "How clients of hotspots log in.",
};

/// The page takes a password as it is, whichever of the two is said.
const LOGIN: Type = Type::Only(
    &Type::Enum(&["cookie", "http-chap", "http-pap", "https", "mac", "mac-cookie", "trial"]),
    &["cookie", "http-chap", "http-pap", "mac", "trial"],
    "HTTPS and MAC cookies are not built",
);

/// `/ip hotspot user`.
pub(crate) static USER: Menu = Menu {
    path: "/ip hotspot user",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("server", SERVER, "The hotspot.").default("all").column(),
        Property::new("name", Type::Text, "What it is called.").required().column(),
        Property::new("password", Type::Text, "How it is proved.").default(""),
        Property::new("profile", Type::Reference(&["/ip hotspot user profile"]), "What it gets.")
            .default("default")
            .column(),
        Property::new("address", Type::Address, "From this address only.").default("0.0.0.0"),
        Property::new("mac-address", Type::Mac, "From this MAC address only.")
            .default("00:00:00:00:00:00"),
        Property::new("email", Type::Text, "Kept.").default(""),
        Property::new("routes", Type::Text, "Kept: there are none.").default(""),
        Property::new("limit-uptime", Type::Time, "So long in all; 0 is for ever.").default("0s"),
        Property::new("limit-bytes-in", COUNT, "So much from it; 0 is any.").default("0"),
        Property::new("limit-bytes-out", COUNT, "So much to it; 0 is any.").default("0"),
        Property::new("limit-bytes-total", COUNT, "So much both ways; 0 is any.").default("0"),
        Property::new("uptime", Type::Time, "How long it was there.").read_only().column(),
        Property::new("bytes-in", COUNT, "What came from it.").read_only(),
        Property::new("bytes-out", COUNT, "What went to it.").read_only(),
    ],
    help: "Who may log in at hotspots.",
};

/// `/ip hotspot user profile`.
pub(crate) static USER_PROFILE: Menu = Menu {
    path: "/ip hotspot user profile",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("uprof"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("default", '*', "It was there from the beginning."),
        Property::new("name", Type::Text, "What it is called.").column(),
        Property::new("address-pool", Type::Text, "Kept: clients have addresses of the network.")
            .default("none"),
        Property::new("session-timeout", Type::Time, "So long at a time; 0 is for ever.")
            .default("0s"),
        Property::new("idle-timeout", NONE_OR_TIME, "Who does nothing for so long is logged out.")
            .default("none"),
        Property::new("keepalive-timeout", NONE_OR_TIME, "Kept: silence is idle-timeout's.")
            .default("2m"),
        Property::new("status-autorefresh", NONE_OR_TIME, "Kept.").default("1m"),
        Property::new(
            "shared-users",
            Type::Or(&["unlimited"], &Type::Number(1, 65535)),
            "So many clients at a time.",
        )
        .default("1")
        .column(),
        Property::new("rate-limit", Type::Text, "rx[/tx] and more, of the client's queue.")
            .default("")
            .column(),
        Property::new("add-mac-cookie", Type::Bool, "Kept: browsers keep cookies.").default("yes"),
        Property::new("mac-cookie-timeout", Type::Time, "Kept.").default("3d"),
        Property::new("address-list", Type::Text, "Its address is in this list.").default(""),
        Property::only("transparent-proxy", &Type::Bool, &["no"], "there is no web proxy")
            .default("no"),
        Property::only("advertise", &Type::Bool, &["no"], "nobody is shown advertisements")
            .default("no"),
        Property::new("open-status-page", Type::Enum(&["always", "http-login"]), "Kept.")
            .default("always"),
        Property::new("on-login", Type::Text, "A script's name, or its source.").default(""),
        Property::new("on-logout", Type::Text, "A script's name, or its source.").default(""),
        Property::missing("incoming-filter", "rules match the clients' addresses"),
        Property::missing("outgoing-filter", "rules match the clients' addresses"),
        Property::missing("incoming-packet-mark", "rules match the clients' addresses"),
        Property::missing("outgoing-packet-mark", "rules match the clients' addresses"),
        Property::missing("parent-queue", "queues of clients stand by themselves"),
        Property::missing("queue-type", "queues of clients are of the default kind"),
    ],
    help: "What users of hotspots get.",
};

/// `/ip hotspot ip-binding`.
pub(crate) static BINDING: Menu = Menu {
    path: "/ip hotspot ip-binding",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::new("mac-address", Type::Mac, "Clients with this MAC address.")
            .default("00:00:00:00:00:00")
            .column(),
        Property::new("address", Type::Range, "Clients with these addresses.")
            .default("0.0.0.0/0")
            .column(),
        Property::new("to-address", Type::Address, "Kept: clients keep their addresses.")
            .default("0.0.0.0"),
        Property::new("server", SERVER, "The hotspot.").default("all").column(),
        Property::new("type", Type::Enum(&["regular", "bypassed", "blocked"]), "What they may.")
            .default("regular")
            .column(),
    ],
    help: "Clients who need not log in, or may not.",
};

/// `/ip hotspot walled-garden ip`.
pub(crate) static GARDEN: Menu = Menu {
    path: "/ip hotspot walled-garden ip",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::new("action", Type::Enum(&["accept", "drop", "reject"]), "What becomes of them.")
            .default("accept")
            .column(),
        Property::new("server", SERVER, "The hotspot.").default("all").column(),
        Property::new("src-address", Type::Range, "From these clients.").column(),
        Property::new("dst-address", Type::Range, "To these addresses.").column(),
        Property::new("protocol", PROTOCOL, "By this protocol.").column(),
        Property::new("dst-port", Type::List(&Type::Numbers(0, 65535)), "To these ports.").column(),
        Property::missing("dst-host", "names of hosts are not looked at"),
        Property::missing("dst-address-list", "addresses are named one by one"),
        Property::missing("src-address-list", "addresses are named one by one"),
    ],
    help: "What clients may who have not logged in.",
};

const PROTOCOL: Type = Type::Or(&["tcp", "udp", "icmp", "gre"], &Type::Number(0, 255));

/// `/ip hotspot active`.
pub(crate) static ACTIVE: Menu = Menu {
    path: "/ip hotspot active",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("server", Type::Text, "The hotspot.").read_only().column(),
        Property::new("user", Type::Text, "Who.").read_only().column(),
        Property::new("address", Type::Address, "From where.").read_only().column(),
        Property::new("mac-address", Type::Mac, "By which MAC address.").read_only().column(),
        Property::new("login-by", Type::Text, "How.").read_only().column(),
        Property::new("uptime", Type::Time, "For how long.").read_only().column(),
        Property::new("idle-time", Type::Time, "Since when it does nothing.").read_only().column(),
        Property::new("bytes-in", COUNT, "What came from it.").read_only(),
        Property::new("bytes-out", COUNT, "What went to it.").read_only(),
        Property::new("packets-in", COUNT, "How many packets.").read_only(),
        Property::new("packets-out", COUNT, "How many packets.").read_only(),
    ],
    help: "Who is logged in.",
};

/// `/ip hotspot host`.
pub(crate) static HOST: Menu = Menu {
    path: "/ip hotspot host",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("authorized", 'A', "It has logged in."),
        Property::flag("bypassed", 'P', "It need not."),
        Property::flag("blocked", 'B', "It may not."),
        Property::new("mac-address", Type::Mac, "Its MAC address.").read_only().column(),
        Property::new("address", Type::Address, "Its address.").read_only().column(),
        Property::new("server", Type::Text, "The hotspot.").read_only().column(),
        Property::new("uptime", Type::Time, "For how long it is known.").read_only().column(),
        Property::new("idle-time", Type::Time, "Since when it does nothing.").read_only().column(),
    ],
    help: "Clients of hotspots, logged in or not.",
};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES, &ADDRESS],
    compile: |c| {
        let settings = read(c.tree, &c.program);
        if *c.program.hotspot != settings {
            c.program.hotspot = settings.into();
        }
    },
    relearn: true,
    ..Facility::of(&HOTSPOT)
};

/// The menus that are compiled with it.
pub(crate) static PROFILES: Facility =
    Facility { part_of: Some(&FACILITY), factory: default, ..Facility::of(&PROFILE) };
pub(crate) static USERS: Facility =
    Facility { part_of: Some(&FACILITY), value: rows::user, ..Facility::of(&USER) };
pub(crate) static USER_PROFILES: Facility = Facility {
    part_of: Some(&FACILITY),
    factory: default,
    check: |item, _| check(item),
    ..Facility::of(&USER_PROFILE)
};
pub(crate) static BINDINGS: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&BINDING) };
pub(crate) static GARDENS: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&GARDEN) };
pub(crate) static ACTIVES: Facility = Facility {
    rows: Rows::Few(rows::active),
    commands: &[(&REMOVE, rows::remove)],
    ..Facility::of(&ACTIVE)
};
pub(crate) static HOSTS: Facility =
    Facility { rows: Rows::Few(rows::hosts), ..Facility::of(&HOST) };

static REMOVE: Command = Command {
    menu: ACTIVE.path,
    name: "remove",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Logs clients out.",
};

fn default() -> Vec<Values> {
    vec![Values::from([
        ("default", Value::Bool(true)),
        ("name", Value::Text("default".to_string())),
    ])]
}

fn check(item: &Item) -> Result<(), String> {
    let line = text(item, "rate-limit");
    if line.is_empty() {
        Ok(())
    } else {
        Rate::read(&line).map(drop).map_err(|why| format!("failure: {why}"))
    }
}

fn read(tree: &Tree, program: &Program) -> Settings {
    let enabled = |item: &Read| !item.bool("disabled");
    let profiles: BTreeMap<String, Read> =
        tree.read(&PROFILE).map(|item| (item.text("name"), item)).collect();
    let of_users: BTreeMap<String, Profile> = tree
        .read(&USER_PROFILE)
        .map(|item| {
            let list = item.text("address-list");
            let profile = Profile {
                shared: number(&item, "shared-users"),
                rate: Rate::read(&item.text("rate-limit")).ok(),
                session: time(&item, "session-timeout"),
                idle: time(&item, "idle-timeout"),
                list: (!list.is_empty()).then_some(list),
                on_login: item.text("on-login"),
                on_logout: item.text("on-logout"),
            };
            (item.text("name"), profile)
        })
        .collect();
    let server = |item: Read| {
        let interface = program.names.find(&item.text("interface"))?;
        let profile = profiles.get(&item.text("profile"))?;
        let own = || program.addresses.iter().find(|own| own.interface == interface);
        let by = profile.list("login-by").iter().map(ToString::to_string).collect::<Vec<_>>();
        let has = |name: &str| by.iter().any(|by| by == name);
        Some(Server {
            name: item.text("name"),
            interface,
            address: address(profile, "hotspot-address").or_else(|| own().map(|own| own.address)),
            idle: time(&item, "idle-timeout"),
            login_timeout: time(&item, "login-timeout"),
            per_mac: number(&item, "addresses-per-mac"),
            by_cookie: has("cookie").then(|| profile.time("http-cookie-lifetime")),
            by_mac: has("mac").then(|| profile.text("mac-auth-password")),
            by_page: has("http-chap") || has("http-pap"),
            trial: of_users.get(&profile.text("trial-user-profile")).filter(|_| has("trial")).map(
                |of_user| Trial {
                    uptime: profile.time("trial-uptime-limit"),
                    again: profile.time("trial-uptime-reset"),
                    profile: Profile { shared: 0, ..of_user.clone() },
                },
            ),
        })
    };
    let user = |item: Read| {
        let profile = of_users.get(&item.text("profile"))?.clone();
        let bytes = ["in", "out", "total"].map(|way| number(&item, &format!("limit-bytes-{way}")));
        let user = User {
            password: item.text("password"),
            server: of_server(&item),
            address: address(&item, "address"),
            mac: mac(&item),
            uptime: time(&item, "limit-uptime"),
            bytes,
            profile,
        };
        Some((item.text("name"), user))
    };
    let binding = |item: Read| Binding {
        addresses: range(&item, "address"),
        mac: mac(&item),
        server: of_server(&item),
        kind: match item.text("type").as_str() {
            "bypassed" => Kind::Bypassed,
            "blocked" => Kind::Blocked,
            _ => Kind::Regular,
        },
    };
    let garden = |item: Read| Garden {
        action: match item.text("action").as_str() {
            "drop" => Action::Drop,
            "reject" => Action::Reject,
            _ => Action::Accept,
        },
        server: of_server(&item),
        src: range(&item, "src-address"),
        dst: range(&item, "dst-address"),
        protocol: match item.opt("protocol").as_deref() {
            Some(Value::Number(number)) => u8::try_from(*number).ok(),
            Some(Value::Text(name)) => Some(match name.as_str() {
                "tcp" => protocol::TCP,
                "udp" => protocol::UDP,
                "gre" => protocol::GRE,
                _ => protocol::ICMP,
            }),
            _ => None,
        },
        ports: item.opt("dst-port").is_some().then(|| {
            let ports = item.list("dst-port");
            let ports = ports.iter().filter_map(|port| match port {
                Value::Numbers(low, high) => Some((*low as u16, *high as u16)),
                _ => None,
            });
            ports.collect()
        }),
    };
    let servers: Vec<Server> = tree.read(&HOTSPOT).filter(enabled).filter_map(server).collect();
    if servers.is_empty() {
        return Settings::default();
    }
    Settings {
        servers,
        users: tree.read(&USER).filter(enabled).filter_map(user).collect(),
        bindings: tree.read(&BINDING).filter(enabled).map(binding).collect(),
        garden: tree.read(&GARDEN).filter(enabled).map(garden).collect(),
    }
}

fn of_server(item: &Read) -> Option<String> {
    Some(item.text("server")).filter(|name| name != "all" && !name.is_empty())
}

/// None of `none`, and of 0.
fn time(item: &Read, name: &str) -> Option<Duration> {
    match item.opt(name).as_deref() {
        Some(Value::Time(time)) if !time.is_zero() => Some(*time),
        _ => None,
    }
}

/// 0 of `unlimited`.
fn number(item: &Read, name: &str) -> u64 {
    match item.opt(name).as_deref() {
        Some(Value::Number(number)) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

fn address(item: &Read, name: &str) -> Option<u32> {
    match item.opt(name).as_deref() {
        Some(Value::Address(address)) if *address != Ipv4Addr::UNSPECIFIED => {
            Some((*address).into())
        }
        _ => None,
    }
}

fn mac(item: &Read) -> Option<wire::MacAddr> {
    match item.opt("mac-address").as_deref() {
        Some(Value::Mac(mac)) if *mac != wire::MacAddr::default() => Some(*mac),
        _ => None,
    }
}

fn range(item: &Read, name: &str) -> Option<Ipv4Range> {
    match item.opt(name).as_deref() {
        Some(Value::Range(range)) => Some(*range),
        _ => None,
    }
}
