//! Rows and values of `/ip hotspot` and its menus: what they show of the running router.

use super::{Client, Kind, bytes, counters, had, leave};
use crate::facility::{self, DONE};
use crate::router::Router;
use crate::status::{Numbers, RouterStatus, Values, dynamic, ip, number, text};
use config::{Call, Item, ItemId, Started, Tree, Value};
use std::time::Duration;
use wire::Moment;

/// `/ip hotspot active`.
pub(super) fn active(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let clients = status.router.services.hotspot.clients.iter();
    let row = |(address, client): (&u32, &Client)| {
        let active = client.active.as_ref()?;
        let [inward, outward] = bytes(status.router, client.number);
        let packets = counters(client.number).map(|c| status.router.stats.counters.get(c).packets);
        let mut values = common(status, *address, client);
        values.extend([
            ("user", Value::Text(active.user.clone())),
            ("login-by", Value::Text(active.by.to_string())),
            ("uptime", seconds(status.now.since(active.since))),
            ("bytes-in", number(inward.saturating_sub(active.before[0]))),
            ("bytes-out", number(outward.saturating_sub(active.before[1]))),
            ("packets-in", number(packets[0])),
            ("packets-out", number(packets[1])),
        ]);
        Some(dynamic(numbers.of(address), values))
    };
    clients.filter_map(row).collect()
}

/// `/ip hotspot host`.
pub(super) fn hosts(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let clients = status.router.services.hotspot.clients.iter();
    let row = |(address, client): (&u32, &Client)| {
        let mut values = common(status, *address, client);
        values.extend([
            ("authorized", Value::Bool(client.active.is_some())),
            ("bypassed", Value::Bool(client.kind == Kind::Bypassed)),
            ("blocked", Value::Bool(client.kind == Kind::Blocked)),
            ("uptime", seconds(status.now.since(client.since))),
        ]);
        dynamic(numbers.of(address), values)
    };
    clients.map(row).collect()
}

fn common(status: &RouterStatus, address: u32, client: &Client) -> Values {
    let server = status.router.program.hotspot.on(client.interface);
    Values::from([
        ("address", ip(address)),
        ("mac-address", Value::Mac(client.mac)),
        ("server", Value::Text(server.map_or(String::new(), |server| server.name.clone()))),
        ("idle-time", seconds(status.now.since(client.seen))),
    ])
}

fn seconds(time: Duration) -> Value {
    Value::Time(Duration::from_secs(time.as_secs()))
}

/// Of `/ip hotspot user`.
pub(super) fn user(status: &RouterStatus, item: &Item, property: &str) -> Option<Value> {
    let (router, name) = (status.router, text(item, "name"));
    let state = &router.services.hotspot;
    let now = state.clients.values().filter_map(|client| had(router, status.now, client));
    let now = now.into_iter().find(|(user, _)| *user == name).map(|(_, had)| had);
    let had = now.or(state.had.get(&name).copied()).unwrap_or_default();
    match property {
        "uptime" => Some(seconds(had.uptime)),
        "bytes-in" => Some(number(had.bytes[0])),
        "bytes-out" => Some(number(had.bytes[1])),
        _ => None,
    }
}

/// Logs clients out.
pub(super) fn remove(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let items = facility::items(call, tree)?;
    let mut numbers = Numbers::default();
    let clients = r.services.hotspot.clients.iter().filter(|(_, client)| client.active.is_some());
    let known: Vec<(ItemId, u32)> =
        clients.map(|(address, _)| (numbers.of(address), *address)).collect();
    for (_, address) in known.into_iter().filter(|(id, _)| items.contains(id)) {
        leave(r, now, address, "administrator's request");
    }
    DONE
}
