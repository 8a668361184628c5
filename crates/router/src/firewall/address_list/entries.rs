//! The entries of address lists that are not configured, at the console: shown, added, removed.

use super::dynamic::{DynamicLists, Entry};
use crate::facility::{self, DONE};
use crate::firewall::menu::ADDRESS_LIST;
use crate::firewall::read::range;
use crate::ip::family::{Block, Family};
use crate::ipv6::firewall::ADDRESS_LIST as ADDRESS_LIST6;
use crate::router::Router;
use crate::status::{Numbers, RouterStatus, Values, dynamic};
use config::{Call, Command, Display, Item, Property, Started, Tree, Type, Unnamed, Value};
use wire::{Ipv6Prefix, Moment};

/// An entry with a timeout; one without is the configuration's.
pub(crate) const ADD: Command = Command {
    menu: ADDRESS_LIST.path,
    name: "add",
    unnamed: Unnamed::Nothing,
    parameters: &[Property::new("timeout", Type::Time, "How long the entry stays.")],
    display: Display::Nothing,
    help: "Adds an entry; one with a timeout is no part of the configuration.",
};

/// Of the entries that are not configured.
pub(crate) const REMOVE: Command = Command {
    menu: ADDRESS_LIST.path,
    name: "remove",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Removes entries, those that rules made among them.",
};

/// The same of IPv6.
pub(crate) static ADD6: Command = Command { menu: ADDRESS_LIST6.path, ..ADD };
/// The same of IPv6.
pub(crate) static REMOVE6: Command = Command { menu: ADDRESS_LIST6.path, ..REMOVE };

/// All of them, by list and address.
pub(crate) fn rows(status: &RouterStatus) -> Vec<Item> {
    rows_of(&status.router.rules.lists, status.now, Value::Range)
}

/// The same of IPv6.
pub(crate) fn rows6(status: &RouterStatus) -> Vec<Item> {
    rows_of(&status.router.rules.lists6, status.now, cidr)
}

fn rows_of<A: Family>(
    lists: &DynamicLists<A>,
    now: Moment,
    value: fn(A::Block) -> Value,
) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let row = |entry: &Entry<A>| {
        let mut values = Values::from([
            ("list", Value::Text(entry.list.to_string())),
            ("address", value(entry.address)),
        ]);
        if let Some(left) = entry.left {
            values.insert("timeout", Value::Time(left));
        }
        let range = (entry.address.least(), entry.address.greatest());
        dynamic(numbers.of((entry.list, range)), values)
    };
    lists.entries(now).iter().map(row).collect()
}

pub(crate) fn add(
    r: &mut Router,
    call: &Call,
    _: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let done = add_to(&mut r.rules.lists, call, now, range);
    r.follow_lists();
    done
}

pub(crate) fn add6(
    r: &mut Router,
    call: &Call,
    _: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let done = add_to(&mut r.rules.lists6, call, now, prefix);
    r.follow_lists();
    done
}

fn add_to<A: Family>(
    lists: &mut DynamicLists<A>,
    call: &Call,
    now: Moment,
    block: fn(&Value) -> Option<A::Block>,
) -> Result<Started<Router>, String> {
    let missing = |name| format!("missing value(s) of argument(s) {name}");
    let Some(Value::Text(list)) = call.arguments.get("list") else { return Err(missing("list")) };
    let address = call.arguments.get("address").and_then(block);
    let address = address.ok_or_else(|| missing("address"))?;
    let timeout = match call.arguments.get("timeout") {
        Some(&Value::Time(timeout)) => Some(timeout),
        _ => None,
    };
    let refused = lists.refused;
    lists.add(list, address, timeout, now);
    match lists.refused == refused {
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
    let gone = named(rows(&r.status(now)), call, tree, range)?;
    r.rules.lists.remove(&gone);
    r.follow_lists();
    DONE
}

pub(crate) fn remove6(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let gone = named(rows6(&r.status(now)), call, tree, prefix)?;
    r.rules.lists6.remove(&gone);
    r.follow_lists();
    DONE
}

/// The entries among these rows that a command is about.
fn named<B>(
    rows: Vec<Item>,
    call: &Call,
    tree: &Tree,
    block: fn(&Value) -> Option<B>,
) -> Result<Vec<(String, B)>, String> {
    let items = facility::items(call, tree)?;
    let gone = rows.into_iter().filter(|row| items.contains(&row.id));
    let entry = |row: Item| match (row.get("list")?, row.get("address")?) {
        (Value::Text(list), address) => Some((list.clone(), block(address)?)),
        _ => None,
    };
    Ok(gone.filter_map(entry).collect())
}

fn prefix(value: &Value) -> Option<Ipv6Prefix> {
    match *value {
        Value::Cidr6(address, len) => Some(Ipv6Prefix::new(address.into(), len)),
        _ => None,
    }
}

fn cidr(prefix: Ipv6Prefix) -> Value {
    Value::Cidr6(prefix.bits().into(), prefix.len())
}
