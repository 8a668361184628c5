//! The entries of address lists that are not configured, at the console: shown, added, removed.

use super::dynamic::Entry;
use crate::facility::{self, DONE};
use crate::firewall::menu::ADDRESS_LIST;
use crate::firewall::read::range;
use crate::router::Router;
use crate::status::{Numbers, RouterStatus, Values, dynamic};
use config::{Call, Command, Display, Item, Property, Started, Tree, Type, Unnamed, Value};
use wire::{Ipv4Range, Moment};

/// An entry with a timeout; one without is the configuration's.
pub(crate) static ADD: Command = Command {
    menu: ADDRESS_LIST.path,
    name: "add",
    unnamed: Unnamed::Nothing,
    parameters: &[Property::new("timeout", Type::Time, "How long the entry stays.")],
    display: Display::Nothing,
    help: "Adds an entry; one with a timeout is no part of the configuration.",
};

/// Of the entries that are not configured.
pub(crate) static REMOVE: Command = Command {
    menu: ADDRESS_LIST.path,
    name: "remove",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Removes entries, those that rules made among them.",
};

/// All of them, by list and address.
pub(crate) fn rows(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let row = |entry: &Entry| {
        let mut values = Values::from([
            ("list", Value::Text(entry.list.to_string())),
            ("address", Value::Range(entry.address)),
        ]);
        if let Some(left) = entry.left {
            values.insert("timeout", Value::Time(left));
        }
        let range = (entry.address.first(), entry.address.last());
        dynamic(numbers.of((entry.list, range)), values)
    };
    status.router.rules.lists.entries(status.now).iter().map(row).collect()
}

pub(crate) fn add(
    r: &mut Router,
    call: &Call,
    _: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let missing = |name| format!("missing value(s) of argument(s) {name}");
    let Some(Value::Text(list)) = call.arguments.get("list") else { return Err(missing("list")) };
    let address = call.arguments.get("address").and_then(range);
    let address = address.ok_or_else(|| missing("address"))?;
    let timeout = match call.arguments.get("timeout") {
        Some(&Value::Time(timeout)) => Some(timeout),
        _ => None,
    };
    let refused = r.rules.lists.refused;
    r.rules.lists.add(list, address, timeout, now);
    r.follow_lists();
    match r.rules.lists.refused == refused {
        true => DONE,
        false => Err("failure: there is no room for more entries".to_string()),
    }
}

pub(crate) fn remove(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let items = facility::items(call, tree)?;
    let gone = rows(&r.status(now)).into_iter().filter(|row| items.contains(&row.id));
    let entry = |row: Item| match (row.get("list")?, row.get("address")?) {
        (Value::Text(list), Value::Range(range)) => Some((list.clone(), *range)),
        _ => None,
    };
    let gone: Vec<(String, Ipv4Range)> = gone.filter_map(entry).collect();
    r.rules.lists.remove(&gone);
    r.follow_lists();
    DONE
}
