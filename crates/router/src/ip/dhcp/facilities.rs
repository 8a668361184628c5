//! Facilities of DHCP's menus: checked, compiled, shown, and the clients' commands.

use super::lease::{Lease, State, Who};
use super::menu;
use super::settings::Settings;
use super::{client, option};
use crate::facility::{DONE, Facility, Rows, items};
use crate::interface::facilities::ALL as INTERFACES;
use crate::ip::pool;
use crate::status::{Numbers, RouterStatus, Values, dynamic, ip, text};
use config::{Command, Display, Item, Read, Tree, Unnamed, Value};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;

/// `/ip dhcp-server`, which compiles all of them.
pub(crate) static SERVER: Facility = Facility {
    after: &[&INTERFACES, &pool::FACILITY],
    compile: |c| c.program.dhcp = Arc::new(Settings::compile(c.tree, &c.program.names)),
    check: |item, tree| check_server(tree, item),
    value: |status, item, property| match property {
        "invalid" => {
            let program = &status.router.program;
            let id = program.names.find(&text(item, "interface"));
            let has = program.addresses.iter().any(|own| Some(own.interface) == id);
            Some(Value::Bool(!item.disabled && !has))
        }
        _ => None,
    },
    ..Facility::of(&menu::SERVER)
};

/// `/ip dhcp-server network`.
pub(crate) static NETWORK: Facility =
    Facility { part_of: Some(&SERVER), ..Facility::of(&menu::NETWORK) };

/// `/ip dhcp-server lease`.
pub(crate) static LEASE: Facility = Facility {
    part_of: Some(&SERVER),
    check: |item, tree| check_lease(tree, item),
    value: |status, item, property| match property {
        "blocked" => Some(Value::Bool(item.get("block-access") == Some(&Value::Bool(true)))),
        _ => {
            let mut leases = status.router.services.leases.iter();
            match leases.find(|lease| lease.typed == Some(item.id)) {
                Some(lease) => status.lease(lease).remove(property).filter(|_| is_shown(property)),
                None if property == "status" => Some(Value::Text("waiting".to_string())),
                None => None,
            }
        }
    },
    rows: Rows::Few(leases),
    ..Facility::of(&menu::LEASE)
};

/// `/ip dhcp-server option`.
pub(crate) static OPTION: Facility = Facility {
    part_of: Some(&SERVER),
    value: |_, item, property| match property {
        "raw-value" => {
            let bytes = option::bytes(&text(item, "value")).unwrap_or_default();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Some(Value::Text(hex))
        }
        _ => None,
    },
    ..Facility::of(&menu::OPTION)
};

/// `/ip dhcp-server option sets`.
pub(crate) static SETS: Facility = Facility { part_of: Some(&SERVER), ..Facility::of(&menu::SETS) };

/// `/ip dhcp-server config`.
pub(crate) static CONFIG: Facility = Facility::of(&menu::CONFIG);

/// `/ip dhcp-client`.
pub(crate) static CLIENT: Facility = Facility {
    part_of: Some(&SERVER),
    check: |item, tree| check_client(tree, item),
    value: |status, item, property| status.client(item, property),
    commands: &[
        (&RELEASE, |r, call, tree, now| {
            items(call, tree)?.into_iter().for_each(|id| client::release(r, now, id));
            DONE
        }),
        (&RENEW, |r, call, tree, now| {
            items(call, tree)?.into_iter().for_each(|id| client::renew(r, now, id));
            DONE
        }),
    ],
    ..Facility::of(&menu::CLIENT)
};

/// `/ip dhcp-client option`.
pub(crate) static CLIENT_OPTION: Facility = Facility {
    part_of: Some(&SERVER),
    factory: client_options,
    check: |item, _| match item.get("code") {
        Some(Value::Number(50 | 51 | 53 | 54 | 55 | 82)) => {
            Err("failure: the client says this option itself".to_string())
        }
        _ => Ok(()),
    },
    ..Facility::of(&menu::CLIENT_OPTION)
};

/// Those that RouterOS begins with.
fn client_options() -> Vec<Values> {
    let all = [
        ("clientid_duid", 61, "0xff$(CLIENT_DUID)"),
        ("clientid", 61, "0x01$(CLIENT_MAC)"),
        ("hostname", 12, "$(HOSTNAME)"),
    ];
    let text = |text: &str| Value::Text(text.to_string());
    let values = all.map(|(name, code, value)| {
        let flag = ("default", Value::Bool(true));
        [("name", text(name)), ("code", Value::Number(code)), ("value", text(value)), flag].into()
    });
    values.into()
}

const RELEASE: Command = Command {
    menu: menu::CLIENT.path,
    name: "release",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Gives the address back and looks for one again.",
};

const RENEW: Command = Command {
    name: "renew",
    help: "Asks the server at once to let the client keep its address.",
    ..RELEASE
};

fn check_server(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = menu::SERVER.read(item);
    if read.time("lease-time") < Duration::from_secs(1) {
        return Err("failure: lease-time must be at least 1s".to_string());
    }
    let mut others = tree.read(&menu::SERVER).filter(|other| other.id() != item.id);
    let (interface, relay) = (read.text("interface"), read.text("relay"));
    let same = |other: &Read| other.text("interface") == interface && other.text("relay") == relay;
    if !item.disabled && others.any(|other| !other.bool("disabled") && same(&other)) {
        let whose = if relay == "0.0.0.0" { String::new() } else { format!(" for relay {relay}") };
        return Err(format!("failure: interface {interface} has a dhcp server{whose} already"));
    }
    Ok(())
}

fn check_lease(tree: &Tree, item: &Item) -> Result<(), String> {
    if item.get("mac-address").is_none() && item.get("client-id").is_none() {
        return Err("failure: either mac-address or client-id must be specified".to_string());
    }
    let same =
        |other: &&Arc<Item>| other.id != item.id && other.get("address") == item.get("address");
    match tree.items(menu::LEASE.path).iter().find(same) {
        Some(_) => Err("failure: already have static lease with this IP address".to_string()),
        None => Ok(()),
    }
}

fn check_client(tree: &Tree, item: &Item) -> Result<(), String> {
    let same =
        |other: &&Arc<Item>| other.id != item.id && other.get("interface") == item.get("interface");
    match tree.items(menu::CLIENT.path).iter().find(same) {
        Some(_) => Err("failure: dhcp-client on that interface already exists".to_string()),
        None => Ok(()),
    }
}

/// What of a typed lease the server says, and not the user.
fn is_shown(property: &str) -> bool {
    menu::LEASE
        .property(property)
        .is_some_and(|property| property.access == config::Access::ReadOnly)
}

/// The leases that are not typed.
fn leases(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let all = status.router.services.leases.iter().filter(|lease| lease.typed.is_none());
    let items = all.map(|lease| {
        let mut values = status.lease(lease);
        values.insert("address", ip(lease.address));
        values.insert("mac-address", Value::Mac(lease.mac));
        if let Who::Id(id) = &lease.who {
            values.insert("client-id", Value::Text(option::show_id(id)));
        }
        dynamic(numbers.of(lease.address), values)
    });
    items.collect()
}

/// How long until then; nothing if never.
fn until(now: Moment, then: Moment) -> Option<Value> {
    let left = Duration::from_secs(then.since(now).as_secs());
    (then < Moment::from_nanos(u64::MAX)).then_some(Value::Time(left))
}

impl RouterStatus<'_> {
    fn lease(&self, lease: &Lease) -> Values {
        let servers = &self.router.program.dhcp.servers;
        let server = servers.iter().find(|server| server.id == lease.server);
        let server = Value::Text(server.map_or(String::new(), |server| server.name.clone()));
        let seen = Duration::from_secs(self.now.since(lease.seen.moment()).as_secs());
        let mut values = Values::from([
            ("status", Value::Text(lease.state.name().to_string())),
            ("last-seen", Value::Time(seen)),
            ("server", server.clone()),
            ("blocked", Value::Bool(false)),
        ]);
        if lease.state == State::Bound {
            values.extend([
                ("active-address", ip(lease.address)),
                ("active-mac-address", Value::Mac(lease.mac)),
                ("active-server", server),
            ]);
            if let Who::Id(id) = &lease.who {
                values.insert("active-client-id", Value::Text(option::show_id(id)));
            }
        }
        if !lease.host_name.is_empty() {
            values.insert("host-name", Value::Text(lease.host_name.to_string()));
        }
        if let Some(left) = until(self.now, lease.expires.moment()) {
            values.insert("expires-after", left);
        }
        values
    }

    fn client(&self, item: &Item, property: &str) -> Option<Value> {
        let machine = self.router.services.clients.get(&item.id);
        if property == "status" {
            let state = machine.map_or(client::State::Stopped, |machine| machine.state);
            return Some(Value::Text(state.name().to_string()));
        }
        let given = machine?.given.as_ref()?;
        let show = |address: u32| Value::Text(Ipv4Addr::from(address).to_string());
        match property {
            "address" => Some(Value::Cidr(given.address.into(), given.network.len())),
            "gateway" => given.gateway.map(show),
            "dhcp-server" => Some(show(given.server)),
            "primary-dns" => given.dns.first().map(|&dns| show(dns)),
            "secondary-dns" => given.dns.get(1).map(|&dns| show(dns)),
            "expires-after" => until(self.now, given.end),
            _ => None,
        }
    }
}
