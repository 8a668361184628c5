//! Policy routing: `/ip route rule`, `/routing rule`: which routing table a packet asks.
//!
//! ```text
//! own addresses, broadcasts ─► input, whatever else is said
//! others ─► rules, top-down ─┬─ lookup: the rule's table; nothing there, or no longer prefix than
//!                            │          min-prefix ─► the next rule
//!                            ├─ lookup-only-in-table: nothing there ─► no route
//!                            └─ drop, unreachable
//!        ─► the table of the packet's routing mark; nothing there ─► main, or its VRF's
//! ```
//!
//! A rule is of the family of its prefixes; one of `/routing rule` without a prefix is of both, as
//! one of `/ip route rule` is of IPv4. Behind the rules that were typed come those that were
//! [fed](super::fed): the kernel's.
//!
//! All that a rule looks at is constant for a flow, so a recipe keeps the way. What FastTrack carries
//! asks the main table only.

use super::fed::{FedRule, FedTables};
use super::fib::{NextHopId, Word};
use super::menu::{RULE, RULE7};
use super::route::{Routes, Target};
use super::vrf::Vrfs;
use crate::facility::{Facility, Rows};
use crate::firewall::mark::{Mark, MarkBook};
use crate::firewall::menu::WORD;
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::{InterfaceId, Names};
use crate::ipv6;
use crate::program::Program;
use crate::status::{Numbers, RouterStatus, Values, dynamic, number};
use config::{Item, ItemId, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::sync::Arc;
use wire::{Ipv4Prefix, Ipv6Prefix};

/// `/ip route rule`.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES],
    follows_tables: true,
    compile: |c| {
        let (program, fed) = (&c.program, &c.fed);
        let four = compile(c.tree, program, &fed.rules4);
        c.program.v6.route_rules = compile(c.tree, program, &fed.rules6);
        c.program.route_rules = four;
    },
    relearn: true,
    ..Facility::of(&RULE)
};

/// `/routing rule`: version 7's, behind those of version 6.
pub(crate) static ROUTING_RULE: Facility = Facility {
    part_of: Some(&FACILITY),
    check: |item, _| check(item),
    rows: Rows::Few(fed_rules),
    ..Facility::of(&RULE7)
};

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
pub struct Rule<A: Word = u32> {
    /// Who said it.
    origin: Origin,
    src: Option<A::Prefix>,
    dst: Option<A::Prefix>,
    mark: Option<Mark>,
    interface: Option<InterfaceId>,
    action: Action,
    /// The table's mark; none for main.
    table: Mark,
    /// Prefixes of this length, or shorter, do not count.
    min_prefix: Option<u32>,
}

/// Who said a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Who typed an item of a menu.
    Typed(&'static str, ItemId),
    /// The kernel, whose rule has this priority.
    Kernel(u32),
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It asks the table; if nothing is there, the next rule comes.
    Lookup,
    /// It asks the table, and nobody else.
    OnlyInTable,
    /// It drops.
    Drop,
    /// It drops, and says "host unreachable".
    Unreachable,
    /// It drops, and says "administratively prohibited".
    Prohibit,
}

impl Action {
    /// The action's word; version 7 has none for [`Action::Prohibit`].
    fn name(self) -> &'static str {
        match self {
            Action::Lookup => "lookup",
            Action::OnlyInTable => "lookup-only-in-table",
            Action::Drop => "drop",
            Action::Unreachable => "unreachable",
            Action::Prohibit => "prohibit",
        }
    }
}

/// What a packet asks with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<A> {
    pub(crate) src: A,
    pub(crate) dst: A,
    pub(crate) mark: Mark,
    /// The table that is asked last: main, or its VRF's.
    pub(crate) home: Mark,
    /// Where it came in; none for the router's own.
    pub(crate) interface: InterfaceId,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// What a table says; no route, maybe. A rule may have chosen the table.
    Route { table: Mark, leaf: NextHopId, by: Option<Origin> },
    /// A rule says that nothing leads there.
    Ends(Action, Origin),
}

impl Decision {
    /// What a table says, which no rule has chosen.
    pub(crate) fn of_table(table: Mark, leaf: NextHopId) -> Decision {
        Decision::Route { table, leaf, by: None }
    }

    /// Where it leads; none, where a rule ends it.
    pub(crate) fn leaf(self) -> NextHopId {
        match self {
            Decision::Route { leaf, .. } => leaf,
            Decision::Ends(..) => NextHopId::NONE,
        }
    }
}

/// The routing tables of a family.
pub(crate) trait Lookup<A: Word> {
    /// Where an address leads in the table of a routing mark; of none, in main.
    fn lookup_in(&self, table: Mark, dst: A) -> NextHopId;

    /// The route that an address takes in a table: the longest prefix there is.
    fn prefix_in(&self, table: Mark, dst: A) -> Option<A::Prefix>;

    /// What lies behind a leaf; `None` for no route.
    fn target(&self, leaf: NextHopId) -> Option<&Target<A>>;
}

impl Lookup<u32> for Routes {
    fn lookup_in(&self, table: Mark, dst: u32) -> NextHopId {
        Routes::lookup_in(self, table, dst)
    }

    fn prefix_in(&self, table: Mark, dst: u32) -> Option<Ipv4Prefix> {
        Routes::prefix_in(self, table, dst)
    }

    fn target(&self, leaf: NextHopId) -> Option<&Target> {
        Routes::target(self, leaf)
    }
}

impl Lookup<u128> for ipv6::route::Routes {
    fn lookup_in(&self, table: Mark, dst: u128) -> NextHopId {
        ipv6::route::Routes::lookup_in(self, table, dst)
    }

    fn prefix_in(&self, table: Mark, dst: u128) -> Option<Ipv6Prefix> {
        ipv6::route::Routes::prefix_in(self, table, dst)
    }

    fn target(&self, leaf: NextHopId) -> Option<&Target<u128>> {
        ipv6::route::Routes::target(self, leaf)
    }
}

impl<A: Word> Rule<A> {
    fn matches(&self, query: &Query<A>) -> bool {
        self.src.is_none_or(|src| contains(src, query.src))
            && self.dst.is_none_or(|dst| contains(dst, query.dst))
            && self.mark.is_none_or(|mark| mark == query.mark)
            && self.interface.is_none_or(|interface| interface == query.interface)
    }

    /// Whether a route counts that an address takes in the rule's table.
    fn takes(&self, routes: &impl Lookup<A>, dst: A) -> bool {
        let longer = |min| {
            let prefix = routes.prefix_in(self.table, dst);
            prefix.is_some_and(|prefix| u32::from(A::first(prefix).1) > min)
        };
        self.min_prefix.is_none_or(longer)
    }
}

/// The routing decision for a packet that is not for the router itself.
pub(crate) fn decide<A: Word>(
    rules: &[Rule<A>],
    routes: &impl Lookup<A>,
    vrfs: &Vrfs,
    query: &Query<A>,
) -> Decision {
    for rule in rules.iter().filter(|rule| rule.matches(query)) {
        let (table, only) = (rule.table, rule.action == Action::OnlyInTable);
        match rule.action {
            Action::Lookup | Action::OnlyInTable => {
                let leaf = routes.lookup_in(table, query.dst);
                let counts = leaf != NextHopId::NONE && rule.takes(routes, query.dst);
                if counts || only {
                    let leaf = if counts { leaf } else { NextHopId::NONE };
                    return Decision::Route { table, leaf, by: Some(rule.origin) };
                }
            }
            ends => return Decision::Ends(ends, rule.origin),
        }
    }
    let Query { mark, home, dst, .. } = *query;
    let leaf = routes.lookup_in(mark, dst);
    // A VRF stands for itself.
    if mark != Mark::NONE && (leaf != NextHopId::NONE || vrfs.has(mark)) {
        return Decision::of_table(mark, leaf);
    }
    Decision::of_table(home, routes.lookup_in(home, dst))
}

fn contains<A: Word>(prefix: A::Prefix, address: A) -> bool {
    address.prefix(A::first(prefix).1) == prefix
}

/// What a rule that is added or changed must not be.
fn check(item: &Item) -> Result<(), String> {
    let item = RULE7.read(item);
    let four = |name| matches!(item.opt(name).as_deref(), Some(Value::Cidr(..)));
    let six = |name| matches!(item.opt(name).as_deref(), Some(Value::Cidr6(..)));
    let (src, dst) = ("src-address", "dst-address");
    match four(src) && six(dst) || six(src) && four(dst) {
        true => Err("failure: src-address and dst-address are of two families".to_string()),
        false => Ok(()),
    }
}

/// The enabled rules of a family in their order, and those that were fed. One whose interface or table there
/// is not is left out.
fn compile<A: Ruled>(tree: &Tree, program: &Program, fed: &[FedRule<A>]) -> Arc<[Rule<A>]> {
    let (names, marks) = (&program.names, &program.books.marks);
    let typed = A::MENUS.iter().flat_map(|menu| {
        let enabled = tree.read(menu).filter(|item| !item.bool("disabled"));
        enabled.filter_map(|item| typed(menu.path, item, names, marks))
    });
    let fed = fed.iter().filter_map(|rule| {
        let FedRule { priority, src, dst, interface, action, min_prefix, .. } = *rule;
        let (origin, mark) = (Origin::Kernel(priority), None);
        let table = table(&rule.table, marks)?;
        Some(Rule { origin, src, dst, mark, interface, action, table, min_prefix })
    });
    typed.chain(fed).collect()
}

/// A family of rules.
trait Ruled: Word {
    /// The menus that they are typed in.
    const MENUS: &'static [&'static Menu];

    /// A prefix of this family.
    fn of(prefix: &Value) -> Option<Self::Prefix>;

    /// A prefix as a value.
    fn shown(prefix: Self::Prefix) -> Value;
}

impl Ruled for u32 {
    const MENUS: &'static [&'static Menu] = &[&RULE, &RULE7];

    fn of(prefix: &Value) -> Option<Ipv4Prefix> {
        match *prefix {
            Value::Cidr(address, len) => Some(Ipv4Prefix::new(address.into(), len)),
            _ => None,
        }
    }

    fn shown(prefix: Ipv4Prefix) -> Value {
        Value::Cidr(prefix.bits().into(), prefix.len())
    }
}

impl Ruled for u128 {
    const MENUS: &'static [&'static Menu] = &[&RULE7];

    fn of(prefix: &Value) -> Option<Ipv6Prefix> {
        match *prefix {
            Value::Cidr6(address, len) => Some(Ipv6Prefix::new(address.into(), len)),
            _ => None,
        }
    }

    fn shown(prefix: Ipv6Prefix) -> Value {
        Value::Cidr6(prefix.bits().into(), prefix.len())
    }
}

/// A rule as typed; `None` if it is of the other family.
fn typed<A: Ruled>(
    menu: &'static str,
    item: Read,
    names: &Names,
    marks: &MarkBook,
) -> Option<Rule<A>> {
    let prefix = |name| match item.opt(name).as_deref() {
        Some(value) => A::of(value).map(Some),
        None => Some(None),
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
    let min_prefix = match menu == RULE7.path {
        true => item.opt("min-prefix").as_deref().and_then(min_prefix),
        false => None,
    };
    Some(Rule {
        origin: Origin::Typed(menu, item.id()),
        src: prefix("src-address")?,
        dst: prefix("dst-address")?,
        mark,
        interface,
        action,
        table: table(&item.text("table"), marks)?,
        min_prefix,
    })
}

fn min_prefix(value: &Value) -> Option<u32> {
    match value {
        &Value::Number(min) => u32::try_from(min).ok(),
        _ => None,
    }
}

/// The rules that were fed: flag `D`.
fn fed_rules(status: &RouterStatus) -> Vec<Item> {
    let FedTables { rules4, rules6, .. } = &*status.router.program.fed;
    let mut numbers = Numbers::default();
    let four = rules4.iter().map(|rule| (rule.priority, fed_rule(status, rule)));
    let all = four.chain(rules6.iter().map(|rule| (rule.priority, fed_rule(status, rule))));
    let item = |(at, (priority, values))| Item {
        comment: format!("the kernel's rule {priority}"),
        ..dynamic(numbers.of(at), values)
    };
    all.enumerate().map(item).collect()
}

fn fed_rule<A: Ruled>(status: &RouterStatus, rule: &FedRule<A>) -> Values {
    let mut values = Values::from([("action", Value::Text(rule.action.name().to_string()))]);
    for (name, prefix) in [("src-address", rule.src), ("dst-address", rule.dst)] {
        values.extend(prefix.map(|prefix| (name, A::shown(prefix))));
    }
    if let Some(interface) = rule.interface {
        values.insert("interface", status.name(interface));
    }
    if matches!(rule.action, Action::Lookup | Action::OnlyInTable) {
        values.insert("table", Value::Text(rule.table.clone()));
    }
    if let Some(min) = rule.min_prefix {
        values.insert("min-prefix", number(min.into()));
    }
    values
}

/// The table of a name: that of a mark, or main.
pub(crate) fn table(name: &str, marks: &MarkBook) -> Option<Mark> {
    if matches!(name, "main" | "") { Some(Mark::NONE) } else { marks.routing.find(name) }
}
