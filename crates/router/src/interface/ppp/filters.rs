//! Jumps into chains of the filter: `incoming-filter` and `outgoing-filter` of PPP's profiles.
//!
//! ```text
//! forward ─► jump-target=ppp, as somebody has typed it ─► ppp ─┬─ from a session with incoming-filter=x ─► x
//!                                                              └─ to one with outgoing-filter=y         ─► y
//! ```
//!
//! One rule, which comes and goes with the sessions, is all sessions' that want the same: their interfaces
//! are a list of its own.

use super::users::Terms;
use crate::interface::pppoe::Session;
use crate::interface::{InterfaceId, Names, lasting_number};
use crate::status::{Values, dynamic};
use config::{FIRST_AHEAD, Item, ItemId, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The properties, and what a rule looks at for each.
const WAYS: [(&str, &str); 2] =
    [("incoming-filter", "in-interface-list"), ("outgoing-filter", "out-interface-list")];
/// Where the identities of such rules begin, which are shown before all others.
const ITEMS: u32 = FIRST_AHEAD + 0x8000;

/// The list of the sessions that want a filter.
fn list(way: usize, chain: &str) -> String {
    format!("<{}={chain}>", WAYS[way].0)
}

/// What somebody wants: a chain for each way.
fn wanted(terms: &Terms) -> impl Iterator<Item = (usize, &str)> {
    let chains = terms.filters.iter().enumerate();
    chains.filter_map(|(way, chain)| Some((way, chain.as_deref()?)))
}

/// The lists of all sessions that want one.
pub(crate) fn lists(open: &[Arc<Session>], names: &Names) -> BTreeMap<String, Vec<InterfaceId>> {
    let mut lists: BTreeMap<String, Vec<InterfaceId>> = BTreeMap::new();
    for session in open {
        for (way, chain) in session.granted().into_iter().flat_map(|terms| wanted(terms)) {
            let interface = names.find(&session.name);
            lists.entry(list(way, chain)).or_default().extend(interface);
        }
    }
    lists
}

/// The rules.
pub(crate) fn rules(open: &[Arc<Session>]) -> Vec<Item> {
    let terms = open.iter().filter_map(|session| session.granted());
    let all: BTreeSet<(usize, &str)> = terms.flat_map(|terms| wanted(terms)).collect();
    let text = |text: &str| Value::Text(text.to_string());
    let rule = |(way, chain): (usize, &str)| {
        let list = list(way, chain);
        let values = Values::from([
            ("chain", text("ppp")),
            ("action", text("jump")),
            ("jump-target", text(chain)),
            (WAYS[way].1, text(&list)),
        ]);
        dynamic(ItemId(ITEMS + (lasting_number(&list) & 0x7fff)), values)
    };
    all.into_iter().map(rule).collect()
}
