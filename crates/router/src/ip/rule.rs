//! `/ip route rule`: which routing table a packet asks.
//!
//! ```text
//! own addresses, broadcasts ─► input, whatever else is said
//! others ─► rules, top-down ─┬─ lookup: the rule's table; nothing there ─► the next rule
//!                            ├─ lookup-only-in-table: nothing there ─► no route
//!                            └─ drop, unreachable
//!        ─► the table of the packet's routing mark; nothing there ─► main, or its VRF's
//! ```
//!
//! All that a rule looks at is constant for a flow, so a recipe keeps the way. What FastTrack carries
//! asks the main table only.

use super::fib::NextHopId;
use super::menu::{RULE, RULE7};
use super::route::Routes;
use super::vrf::Vrfs;
use crate::facility::Facility;
use crate::firewall::mark::{Mark, MarkBook};
use crate::firewall::menu::WORD;
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::{InterfaceId, Names};
use config::{Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::sync::Arc;
use wire::Ipv4Prefix;

/// `/ip route rule`.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| {
        c.program.route_rules = compile(c.tree, &c.program.names, &c.program.books.marks);
    },
    relearn: true,
    ..Facility::of(&RULE)
};

/// `/routing rule`: version 7's, behind those of version 6.
pub(crate) static ROUTING_RULE: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&RULE7) };

/// `/routing table`: version 7 wants its tables named before they are spoken of.
pub(crate) static ROUTING_TABLE: Facility = Facility::of(&TABLE);

/// `/routing table`.
pub(crate) static TABLE: Menu = Menu {
    path: "/routing table",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", WORD, "Its name: what routing-table and routing marks say.")
            .required()
            .column(),
        Property::only("fib", &Type::Bool, &["yes"], "packets ask every table that has routes")
            .column(),
    ],
    help: "Names of routing tables; a route or a rule that speaks of one makes it as well.",
};

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    src: Option<Ipv4Prefix>,
    dst: Option<Ipv4Prefix>,
    mark: Option<Mark>,
    interface: Option<InterfaceId>,
    action: Action,
    /// The table's mark; none for main.
    table: Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Lookup,
    OnlyInTable,
    Drop,
    Unreachable,
}

/// What a packet asks with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) mark: Mark,
    /// The table that is asked last: main, or its VRF's.
    pub(crate) home: Mark,
    /// Where it came in; none for the router's own.
    pub(crate) interface: InterfaceId,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// What a table says; no route, maybe.
    Route { table: Mark, leaf: NextHopId },
    /// A rule says drop.
    Drop,
    /// A rule says unreachable.
    Unreachable,
}

impl Rule {
    fn matches(&self, query: &Query) -> bool {
        self.src.is_none_or(|src| src.contains(query.src))
            && self.dst.is_none_or(|dst| dst.contains(query.dst))
            && self.mark.is_none_or(|mark| mark == query.mark)
            && self.interface.is_none_or(|interface| interface == query.interface)
    }
}

/// The routing decision for a packet that is not for the router itself.
pub(crate) fn decide(rules: &[Rule], routes: &Routes, vrfs: &Vrfs, query: &Query) -> Decision {
    for rule in rules.iter().filter(|rule| rule.matches(query)) {
        let (table, only) = (rule.table, rule.action == Action::OnlyInTable);
        match rule.action {
            Action::Drop => return Decision::Drop,
            Action::Unreachable => return Decision::Unreachable,
            Action::Lookup | Action::OnlyInTable => {
                let leaf = routes.lookup_in(table, query.dst);
                if leaf != NextHopId::NONE || only {
                    return Decision::Route { table, leaf };
                }
            }
        }
    }
    let leaf = routes.lookup_in(query.mark, query.dst);
    // A VRF stands for itself.
    if query.mark != Mark::NONE && (leaf != NextHopId::NONE || vrfs.has(query.mark)) {
        return Decision::Route { table: query.mark, leaf };
    }
    Decision::Route { table: query.home, leaf: routes.lookup_in(query.home, query.dst) }
}

/// The enabled rules, in their order. One whose interface or table there is not is left out.
fn compile(tree: &Tree, names: &Names, marks: &MarkBook) -> Arc<[Rule]> {
    let enabled = tree.read(&RULE).chain(tree.read(&RULE7)).filter(|item| !item.bool("disabled"));
    enabled.filter_map(|item| rule(item, names, marks)).collect()
}

fn rule(item: Read, names: &Names, marks: &MarkBook) -> Option<Rule> {
    let prefix = |name| match item.opt(name).as_deref() {
        Some(&Value::Cidr(address, len)) => Some(Ipv4Prefix::new(address.into(), len)),
        _ => None,
    };
    let text = |name| Some(item.text(name)).filter(|text| !text.is_empty());
    let interface = match text("interface") {
        Some(name) => Some(names.find(&name)?),
        None => None,
    };
    let mark = match text("routing-mark") {
        Some(name) => Some(table(&name, marks)?),
        None => None,
    };
    let action = match item.text("action").as_str() {
        "drop" => Action::Drop,
        "unreachable" => Action::Unreachable,
        "lookup-only-in-table" => Action::OnlyInTable,
        _ => Action::Lookup,
    };
    let table = table(&item.text("table"), marks)?;
    let (src, dst) = (prefix("src-address"), prefix("dst-address"));
    Some(Rule { src, dst, mark, interface, action, table })
}

/// The table of a name: that of a mark, or main.
pub(crate) fn table(name: &str, marks: &MarkBook) -> Option<Mark> {
    if matches!(name, "main" | "") { Some(Mark::NONE) } else { marks.routing.find(name) }
}
