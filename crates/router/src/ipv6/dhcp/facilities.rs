//! Facilities behind the menus of DHCPv6: checked, compiled, shown, and the clients' commands.

use super::client::{self, Lease};
use super::duid;
use super::menu::{self, show_duid};
use super::server::{Binding, Key};
use super::settings::Settings;
use crate::facility::{DONE, Facility, Rows, items};
use crate::interface::facilities::ALL as INTERFACES;
use crate::status::{Numbers, RouterStatus, Values, dynamic, text};
use config::{Command, Display, Item, Tree, Unnamed, Value};
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::{Ipv6Prefix, Moment};

/// `/ipv6 dhcp-server`, which compiles all of them.
pub(crate) static SERVER: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| c.program.v6.dhcp = Arc::new(Settings::compile(c.tree, &c.program.names)),
    check: |item, tree| check_server(tree, item),
    value: |status, item, property| match property {
        "invalid" => {
            let program = &status.router.program;
            let id = program.names.find(&text(item, "interface"));
            let has = id.is_some_and(|id| program.v6.is_on(id));
            Some(Value::Bool(!item.disabled && !has))
        }
        _ => None,
    },
    ..Facility::of(&menu::SERVER)
};

/// `/ipv6 dhcp-server binding`.
pub(crate) static BINDING: Facility = Facility {
    part_of: Some(&SERVER),
    value: |status, item, property| {
        let mut all = status.router.services.v6.bindings.iter();
        match all.find(|(_, binding)| binding.typed == Some(item.id)) {
            Some((key, binding)) => {
                status.binding(key, binding).remove(property).filter(|_| property != "server")
            }
            None if property == "status" => Some(Value::Text("waiting".to_string())),
            None => None,
        }
    },
    rows: Rows::Few(bindings),
    ..Facility::of(&menu::BINDING)
};

/// `/ipv6 dhcp-server option`.
pub(crate) static OPTION: Facility =
    Facility { part_of: Some(&SERVER), ..Facility::of(&menu::OPTION) };

/// `/ipv6 dhcp-server option sets`.
pub(crate) static SETS: Facility = Facility { part_of: Some(&SERVER), ..Facility::of(&menu::SETS) };

/// `/ipv6 dhcp-relay`.
pub(crate) static RELAY: Facility = Facility {
    part_of: Some(&SERVER),
    check: |item, tree| check_relay(tree, item),
    ..Facility::of(&menu::RELAY)
};

/// `/ipv6 dhcp-client`.
pub(crate) static CLIENT: Facility = Facility {
    part_of: Some(&SERVER),
    check: |item, tree| check_client(tree, item),
    value: |status, item, property| status.client6(item, property),
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

const RELEASE: Command = Command {
    menu: menu::CLIENT.path,
    name: "release",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Gives all back and looks for it again.",
};

const RENEW: Command = Command {
    name: "renew",
    help: "Asks the server at once to let the client keep what it has.",
    ..RELEASE
};

fn check_server(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = menu::SERVER.read(item);
    if read.time("lease-time") < Duration::from_secs(10) {
        return Err("failure: lease-time must be at least 10s".to_string());
    }
    alone(tree, item)
}

fn check_relay(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = menu::RELAY.read(item);
    let (servers, link) = (read.list("dhcp-server"), read.value("link-address"));
    for value in servers.iter().chain([&*link]) {
        let Value::Address6(address) = value else { continue };
        let of_link = Ipv6Prefix::LINK_LOCAL.contains((*address).into());
        if of_link || address.is_multicast() || address.is_loopback() {
            return Err(format!("failure: {address} is no address beyond a link"));
        }
    }
    if servers.contains(&Value::Address6(Ipv6Addr::UNSPECIFIED)) {
        return Err("failure: dhcp-server must be a server's address".to_string());
    }
    alone(tree, item)
}

/// An interface has one server, or one relay.
fn alone(tree: &Tree, item: &Item) -> Result<(), String> {
    let mut others = tree.enabled(menu::SERVER.path).chain(tree.enabled(menu::RELAY.path));
    let same =
        |other: &Item| other.id != item.id && other.get("interface") == item.get("interface");
    match !item.disabled && others.any(same) {
        true => {
            let interface = text(item, "interface");
            Err(format!("failure: interface {interface} has a dhcp server or relay already"))
        }
        false => Ok(()),
    }
}

fn check_client(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = menu::CLIENT.read(item);
    let asks = read.list("request").iter().any(|word| word.to_string() == "prefix");
    if asks && read.text("pool-name").is_empty() {
        return Err("failure: pool-name says which pool the prefixes become".to_string());
    }
    let same =
        |other: &&Arc<Item>| other.id != item.id && other.get("interface") == item.get("interface");
    match tree.items(menu::CLIENT.path).iter().find(same) {
        Some(_) => Err("failure: dhcp-client on that interface already exists".to_string()),
        None => Ok(()),
    }
}

/// The bindings that are not typed.
fn bindings(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let all = status.router.services.v6.bindings.iter();
    let items = all.filter(|(_, binding)| binding.typed.is_none()).map(|(key, binding)| {
        let mut values = status.binding(key, binding);
        values.extend([
            ("address", Value::Cidr6(binding.prefix.bits().into(), binding.prefix.len())),
            ("duid", Value::Text(show_duid(&key.1))),
            ("iaid", Value::Number(key.2.into())),
        ]);
        dynamic(numbers.of(key), values)
    });
    items.collect()
}

/// How long until then; nothing if never.
fn until(now: Moment, then: Moment) -> Option<Duration> {
    let left = Duration::from_secs(then.since(now).as_secs());
    (then < Moment::from_nanos(u64::MAX)).then_some(left)
}

impl RouterStatus<'_> {
    fn binding(&self, key: &Key, binding: &Binding) -> Values {
        let servers = &self.router.program.v6.dhcp.servers;
        let server = servers.iter().find(|server| server.id == key.0);
        let state = if binding.bound { "bound" } else { "offered" };
        let seen = Duration::from_secs(self.now.since(binding.seen).as_secs());
        let client = Ipv6Addr::from(binding.client).to_string();
        let mut values = Values::from([
            ("server", Value::Text(server.map_or(String::new(), |server| server.name.clone()))),
            ("status", Value::Text(state.to_string())),
            ("client-address", Value::Text(client)),
            ("last-seen", Value::Time(seen)),
        ]);
        if let Some(left) = until(self.now, binding.expires) {
            values.insert("expires-after", Value::Time(left));
        }
        values
    }

    fn client6(&self, item: &Item, property: &str) -> Option<Value> {
        let program = &self.router.program;
        let machine = self.router.services.v6.clients.get(&item.id);
        match property {
            "status" => {
                let state = machine.map_or(client::State::Stopped, |machine| machine.state);
                return Some(Value::Text(state.name().to_string()));
            }
            "duid" => {
                let interface = program.names.find(&text(item, "interface"))?;
                let duid = duid(program.interface(interface).mac);
                return Some(Value::Text(show_duid(&duid)));
            }
            _ => {}
        }
        let given = machine?.given.as_ref()?;
        let show = |address: u128| Value::Text(Ipv6Addr::from(address).to_string());
        let lease = |lease: &Lease| match until(self.now, lease.valid) {
            Some(left) => format!("{}, {}", lease.prefix, Value::Time(left)),
            None => format!("{}, infinity", lease.prefix),
        };
        match property {
            "address" => given.address.as_ref().map(|own| Value::Text(lease(own))),
            "prefix" if !given.prefixes.is_empty() => {
                let all: Vec<String> = given.prefixes.iter().map(lease).collect();
                Some(Value::Text(all.join("; ")))
            }
            "dhcp-server-v6" => Some(show(given.server)),
            "primary-dns" => given.dns.first().map(|&dns| show(dns)),
            "secondary-dns" => given.dns.get(1).map(|&dns| show(dns)),
            "expires-after" => until(self.now, given.end).map(Value::Time),
            _ => None,
        }
    }
}
