//! The property tables of `/system ntp`, in the words of both versions.

use super::{Server, Serving, Settings};
use crate::facility::Facility;
use crate::status::RouterStatus;
use config::{Menu, MenuKind, Property, Tree, Type, Value};
use std::net::Ipv4Addr;
use std::time::Duration;

/// `/system ntp client`.
pub(crate) static CLIENT: Menu = Menu {
    path: "/system ntp client",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether servers are asked.").default("no"),
        Property::only("mode", &MODE, &["unicast"], "servers are asked, not waited for"),
        Property::new("primary-ntp", Type::Address, "The first server, in version 6.")
            .default("0.0.0.0"),
        Property::new("secondary-ntp", Type::Address, "The second one.").default("0.0.0.0"),
        Property::new("server-dns-names", Type::List(&Type::Text), "Others, by name."),
        Property::new("servers", Type::List(&SERVER), "Servers, in version 7."),
        Property::only("vrf", &Type::Text, &["main"], "there is one VRF").default(""),
        Property::new("status", Type::Text, "started, synchronized or stopped.").read_only(),
        Property::new("synced-server", Type::Text, "Who was believed last.").read_only(),
        Property::new("active-server", Type::Text, "The same, in version 6.").read_only(),
        Property::new("synced-stratum", Type::Text, "How far it is from a clock.").read_only(),
        Property::new("system-offset", Type::Text, "How far the clock was off.").read_only(),
        Property::new("last-update-before", Type::Time, "Since it answered.").read_only(),
        Property::new("poll-interval", Type::Time, "How often it is asked.").read_only(),
    ],
    help: "The time of day, asked of servers by SNTP; corrects what the router shows.",
};

/// `/system ntp client servers`.
pub(crate) static SERVERS: Menu = Menu {
    path: "/system ntp client servers",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("address", SERVER, "An address, or a name.").required().column(),
        Property::new("min-poll", Type::Number(3, 17), "Kept.").default("6"),
        Property::new("max-poll", Type::Number(3, 17), "Kept.").default("10"),
        Property::new("iburst", Type::Bool, "Kept.").default("yes"),
        Property::only("auth-key", &Type::Text, &["none"], "keys are not built").default(""),
    ],
    help: "Servers, in version 7.",
};

/// `/system ntp server`.
pub(crate) static SERVER_MENU: Menu = Menu {
    path: "/system ntp server",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether who asks is told the time.").default("no"),
        Property::new("use-local-clock", Type::Bool, "Whether, too, while nobody is believed.")
            .default("no"),
        Property::new("local-clock-stratum", Type::Number(1, 15), "At which stratum then.")
            .default("5"),
        Property::only("broadcast", &Type::Bool, &["no"], ASKED).default("no"),
        Property::only("multicast", &Type::Bool, &["no"], ASKED).default("no"),
        Property::only("manycast", &Type::Bool, &["no"], ASKED).default("no"),
        Property::only("broadcast-addresses", &Type::Text, &[""], ASKED).default(""),
        Property::only("auth-key", &Type::Text, &["none", ""], "keys are not built").default(""),
        Property::only("vrf", &Type::Text, &["main", ""], "there is one VRF").default(""),
    ],
    help: "Tells who asks by SNTP the time that the router shows.",
};

const ASKED: &str = "who asks is answered; nobody is told unasked";

/// `/system ntp server`.
pub(crate) static SERVER_FACILITY: Facility = Facility {
    compile: |c| {
        let read = c.tree.read_settings(&SERVER_MENU);
        let local = read.bool("use-local-clock");
        c.program.system.serving = Serving {
            enabled: read.bool("enabled"),
            local: local.then(|| read.number("local-clock-stratum") as u8),
        };
    },
    ..Facility::of(&SERVER_MENU)
};

const MODE: Type = Type::Enum(&["unicast", "broadcast", "multicast", "manycast"]);
const SERVER: Type = Type::Either(&[Type::Address, Type::Custom(name)]);

fn name(text: &str) -> Result<Value, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    match !text.is_empty() && text.len() < 254 && text.chars().all(fits) {
        true => Ok(Value::Text(text.to_string())),
        false => Err("an address of IPv4, or a name".to_string()),
    }
}

/// `/system ntp client`.
pub(crate) static FACILITY: Facility = Facility {
    compile: |c| {
        let settings = compile(c.tree);
        if *c.program.system.ntp != settings {
            c.program.system.ntp = settings.into();
        }
    },
    setting,
    ..Facility::of(&CLIENT)
};

/// `/system ntp client servers`.
pub(crate) static SERVERS_FACILITY: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&SERVERS) };

fn compile(tree: &Tree) -> Settings {
    let read = tree.read_settings(&CLIENT);
    let server = |value: &Value| match value {
        Value::Address(address) if address.is_unspecified() => None,
        Value::Address(address) => Some(Server::Address((*address).into())),
        name => Some(Server::Name(name.to_string().to_ascii_lowercase())),
    };
    let first = ["primary-ntp", "secondary-ntp"].map(|name| read.value(name).into_owned());
    let lists = ["servers", "server-dns-names"].map(|name| read.list(name));
    let listed = tree.read(&SERVERS).filter(|item| !item.bool("disabled"));
    let listed: Vec<Value> = listed.map(|item| item.value("address").into_owned()).collect();
    let all = first.iter().chain(lists.iter().flatten()).chain(&listed);
    Settings { enabled: read.bool("enabled"), servers: all.filter_map(server).collect() }
}

fn setting(status: &RouterStatus, property: &str) -> Option<Value> {
    let (router, now) = (status.router, status.now);
    let client = &router.services.ntp;
    let text = |text: String| Some(Value::Text(text));
    let enabled = router.program.system.ntp.enabled;
    if property == "status" {
        let status = match (enabled, &client.synced) {
            (false, _) => "stopped",
            (true, None) => "started",
            (true, Some(_)) => "synchronized",
        };
        return text(status.to_string());
    }
    let synced = client.synced.as_ref().filter(|_| enabled)?;
    match property {
        "synced-server" | "active-server" => text(Ipv4Addr::from(synced.server).to_string()),
        "synced-stratum" => text(synced.stratum.to_string()),
        "system-offset" => text(format!("{:.3} ms", synced.offset as f64 / 1e6)),
        "last-update-before" => {
            Some(Value::Time(Duration::from_secs(now.since(synced.at).as_secs())))
        }
        "poll-interval" => Some(Value::Time(client.poll)),
        _ => None,
    }
}
