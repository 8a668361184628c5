//! `/interface list`: names for sets of interfaces, which rules match by `in-interface-list`.
//!
//! ```text
//! /interface list add name=LAN include=guests exclude=lab
//!   interfaces of LAN = (members of LAN ∪ those of guests) \ those of lab
//! all, none, dynamic, static: there from the beginning
//! ```
//!
//! A rule is compiled with the interfaces that its list has now; a change of a list compiles it anew.

use super::facilities::ALL;
use super::menu::ANY_INTERFACE;
use super::ppp::filters;
use super::pppoe::Session;
use super::{InterfaceId, Names};
use crate::facility::Facility;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The lists that are always there.
pub(crate) const BUILT_IN: &[&str] = &["all", "dynamic", "none", "static"];

/// The name of a list.
pub(crate) const LIST_NAME: Type = Type::Or(BUILT_IN, &Type::Reference(&["/interface list"]));

/// The facility of `/interface list`.
pub(crate) static LISTS: Facility =
    Facility { part_of: Some(&ALL), check: check_list, ..Facility::of(&LIST) };

/// The facility of `/interface list member`.
pub(crate) static MEMBERS: Facility =
    Facility { part_of: Some(&ALL), check: check_member, ..Facility::of(&MEMBER) };

/// `/interface list`.
pub static LIST: Menu = Menu {
    path: "/interface list",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "What it is called.").required().column(),
        Property::new("include", Type::List(&LIST_NAME), "Lists whose interfaces belong to it.")
            .default("")
            .column(),
        Property::new("exclude", Type::List(&LIST_NAME), "Lists whose interfaces do not.")
            .default("")
            .column(),
    ],
    help: "Sets of interfaces for firewall rules; all, none, dynamic and static are there already.",
};

/// `/interface list member`.
pub static MEMBER: Menu = Menu {
    path: "/interface list member",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("list", Type::Reference(&["/interface list"]), "The list.")
            .required()
            .column(),
        Property::new("interface", ANY_INTERFACE, "The interface that belongs to it.").column(),
    ],
    help: "Which interfaces belong to which list.",
};

/// Enters all lists into the names of interfaces.
pub(super) fn compile(tree: &Tree, sessions: &[Arc<Session>], names: &mut Names) {
    let all: BTreeSet<InterfaceId> = names.all().collect();
    let dynamic: BTreeSet<InterfaceId> = names.dynamic().collect();
    let mut of_sessions: Vec<(&str, InterfaceId)> = Vec::new();
    for session in sessions {
        let list = session.granted().and_then(|terms| terms.interface_list.as_deref());
        of_sessions.extend(list.and_then(|list| Some((list, names.find(&session.name)?))));
    }
    let sets = Sets { all, dynamic, of_sessions };
    let found: Vec<(String, Vec<InterfaceId>)> = tree
        .enabled(LIST.path)
        .filter_map(|list| {
            let name = text(list, "name")?;
            let interfaces = interfaces(tree, names, &sets, name, &mut Vec::new());
            Some((name.to_string(), interfaces.into_iter().collect()))
        })
        .collect();
    for (name, interfaces) in found {
        names.insert_list(name, interfaces);
    }
    for (name, interfaces) in filters::lists(sessions, names) {
        names.insert_list(name, interfaces);
    }
    for &name in BUILT_IN {
        let interfaces = interfaces(tree, names, &sets, name, &mut Vec::new());
        names.insert_list(name.to_string(), interfaces.into_iter().collect());
    }
}

/// What lists are made of, beside what is typed.
struct Sets<'a> {
    all: BTreeSet<InterfaceId>,
    /// Those that sessions have made.
    dynamic: BTreeSet<InterfaceId>,
    /// What profiles put into lists.
    of_sessions: Vec<(&'a str, InterfaceId)>,
}

/// The interfaces of a list. `above` are the lists that are being read: one within itself adds
/// nothing.
fn interfaces<'a>(
    tree: &'a Tree,
    names: &Names,
    sets: &Sets,
    name: &'a str,
    above: &mut Vec<&'a str>,
) -> BTreeSet<InterfaceId> {
    match name {
        "all" => return sets.all.clone(),
        "static" => return sets.all.difference(&sets.dynamic).copied().collect(),
        "dynamic" => return sets.dynamic.clone(),
        "none" => return BTreeSet::new(),
        _ if above.contains(&name) => return BTreeSet::new(),
        _ => above.push(name),
    }
    let members = tree.enabled(MEMBER.path).filter(|item| text(item, "list") == Some(name));
    let mut found: BTreeSet<InterfaceId> =
        members.filter_map(|item| names.find(text(item, "interface")?)).collect();
    let own = sets.of_sessions.iter().filter(|(list, _)| *list == name);
    found.extend(own.map(|(_, interface)| interface));
    if let Some(list) = tree.enabled(LIST.path).find(|list| text(list, "name") == Some(name)) {
        for other in listed(list, "include") {
            found.extend(interfaces(tree, names, sets, other, above));
        }
        for other in listed(list, "exclude") {
            for id in interfaces(tree, names, sets, other, above) {
                found.remove(&id);
            }
        }
    }
    above.pop();
    found
}

fn listed<'a>(list: &'a Item, property: &str) -> Vec<&'a str> {
    let Some(Value::List(names)) = list.get(property) else { return Vec::new() };
    let name = |value: &'a Value| match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    };
    names.iter().filter_map(name).collect()
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// What a list that is added or changed must not be.
fn check_list(list: &Item, _: &Tree) -> Result<(), String> {
    match text(list, "name") {
        Some(name) if BUILT_IN.contains(&name) => {
            Err(format!("failure: list {name} is there already, built in"))
        }
        _ => Ok(()),
    }
}

/// What a member that is added or changed must not be.
fn check_member(member: &Item, tree: &Tree) -> Result<(), String> {
    let mut others = tree.items(MEMBER.path).iter().filter(|other| other.id != member.id);
    let key = |item: &Item| (item.get("list").cloned(), item.get("interface").cloned());
    match others.any(|other| key(other) == key(member)) {
        true => Err("failure: already have such interface in this list".to_string()),
        false => Ok(()),
    }
}
