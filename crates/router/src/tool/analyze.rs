//! `/tool analyze`: rules that do nothing, and which packets a change of rules makes fare otherwise.
//!
//! ```text
//! rules   ─► shapes of all rules ─► a few at a time ─► shadowed, unreachable, redundant, never hit
//! change  ─► script ─► a copy of the configuration ─► compiled beside ─► packets, before and after
//! ```
//!
//! Our own: RouterOS has nothing like it. Nothing changes, and nothing is sent.
//!
//! **Missing**: IPv6's filter, and rules of bridges.

use crate::facility::MENUS;
use crate::firewall::address_list::AddressLists;
use crate::firewall::address_list::dynamic::ListKey;
use crate::firewall::analyze::cube::{
    CONNECTION_MARK, Cube, DST, DST_PORT, FLAGS, FRAGMENT, ICMP, IN, LEN, NAT, OUT, PACKET_MARK,
    PROTOCOL, ROUTING_MARK, Ranges, SRC, SRC_PORT, STATE, TTL,
};
use crate::firewall::analyze::shape::{Conditions, Shape};
use crate::firewall::analyze::{self, Finding, Shaped};
use crate::firewall::compile::{Setting, Table};
use crate::firewall::filter::Filter;
use crate::firewall::mangle::{self, Mangle};
use crate::firewall::matcher::List;
use crate::firewall::matcher::layer7::Patterns;
use crate::firewall::menu;
use crate::firewall::nat::Nat;
use crate::firewall::raw::{self, Raw};
use crate::firewall::rule::Ruleset;
use crate::firewall::syntax::protocol_name;
use crate::firewall::told::tcp_flags;
use crate::interface::InterfaceId;
use crate::packet::ConnectionState;
use crate::program::Program;
use crate::router::Router;
use crate::tool::Told;
use config::{
    Call, Command, Display, Group, Interpreter, Item, ItemId, Job, Menu, Progress, Property,
    Record, Reply, Started, Tree, Type, Unnamed, Value,
};
use std::collections::HashMap;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::Moment;
use wire::layers::protocol;

/// `/tool analyze rules`.
pub(super) static RULES: Command = Command {
    menu: "/tool analyze",
    name: "rules",
    unnamed: Unnamed::Nothing,
    parameters: &[Property::new("table", Type::Enum(&TABLES), "One of them; all if left out.")],
    display: Display::Append(show_rules),
    help: "Names rules that do nothing: shadowed, unreachable, redundant, never hit.",
};

/// `/tool analyze change`.
pub(super) static CHANGE: Command = Command {
    menu: "/tool analyze",
    name: "change",
    unnamed: Unnamed::Parameter("script"),
    parameters: &[Property::new("script", Type::Text, "What would be typed.").required()],
    display: Display::Append(show_change),
    help: "Says which packets would fare otherwise if a script were run. It is not.",
};

const TABLES: [&str; 4] = ["filter", "nat", "mangle", "raw"];
/// Packets shown for each built-in chain.
const MOST: usize = 16;
/// Rules looked at between two breaths: a few milliseconds.
const AT_ONCE: usize = 8;

fn table_menu(table: &str) -> &'static Menu {
    match table {
        "filter" => &menu::FILTER,
        "nat" => &menu::NAT,
        "mangle" => &mangle::MENU,
        _ => &raw::MENU,
    }
}

/// A configuration's rules, by table.
struct Tables {
    raw: Arc<Raw>,
    mangle: Arc<Mangle>,
    filter: Arc<Filter>,
    nat: Arc<Nat>,
}

impl Tables {
    fn of(program: &Program) -> Tables {
        let Program { raw, mangle, filter, nat, .. } = program;
        Tables {
            raw: Arc::clone(raw),
            mangle: Arc::clone(mangle),
            filter: Arc::clone(filter),
            nat: Arc::clone(nat),
        }
    }

    /// Those of another configuration of the same router.
    fn compile(program: &Program, tree: &Tree) -> Tables {
        let mut books = program.books.clone();
        books.marks.enter(
            tree,
            &[&menu::FILTER, &menu::NAT, &mangle::MENU, &raw::MENU],
            [].into_iter(),
        );
        let lists = Arc::new(AddressLists::compile(tree));
        let patterns = Arc::new(Patterns::compile(tree));
        let mut setting = Setting {
            tree,
            lists: &lists,
            patterns: &patterns,
            names: &program.names,
            marks: &books.marks,
            use_ip_firewall: false,
            ipsec: program.ipsec.is_some(),
            book: &mut books.counters,
            slots: &mut books.slots,
        };
        Tables {
            raw: Arc::new(Raw::compile(&mut setting)),
            mangle: Arc::new(Mangle::compile(&mut setting)),
            filter: Arc::new(Filter::compile(&mut setting)),
            nat: Arc::new(Nat::compile(&mut setting)),
        }
    }
}

/// Items by their identity.
type Items<'a> = HashMap<ItemId, &'a Item>;

fn items<'a>(tree: &'a Tree, table: &str) -> Items<'a> {
    tree.items(table_menu(table).path).iter().map(|item| (item.id, &**item)).collect()
}

/// The lists whose entries come and go: rules add to them, or somebody has.
fn changing(r: &Router, tree: &Tree) -> impl Fn(&List) -> bool + use<> {
    let rules = TABLES.iter().flat_map(|table| tree.items(table_menu(table).path));
    let names = rules.filter_map(|item| match item.get("address-list") {
        Some(Value::Text(name)) => Some(ListKey::of(name)),
        _ => None,
    });
    let configured = tree.items(menu::ADDRESS_LIST.path).iter();
    let known = configured.filter_map(|item| {
        let (key, is_name) =
            (ListKey::of(item.name("list")), matches!(item.get("address"), Some(Value::Text(_))));
        (is_name || r.rules.lists.has(key)).then_some(key)
    });
    let all: Vec<ListKey> = names.chain(known).collect();
    move |list| all.contains(&list.key)
}

fn interfaces(program: &Program) -> Ranges {
    Ranges::of(program.names.all().map(|id| (id.0, id.0)))
}

/// Starts `/tool analyze rules`.
pub(super) fn start_rules(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    _: Moment,
) -> Result<Started<Router>, String> {
    r.learnt.recipes.fold(&mut r.stats.counters);
    let changing = changing(r, tree);
    let tables = Tables::of(&r.program);
    let mut conditions = Conditions::default();
    let unknown = conditions.unknown();
    let wanted = call.argument("table").map(|table| table.to_string());
    let mut work = Vec::new();
    for (at, table) in TABLES.iter().enumerate() {
        if wanted.as_ref().is_some_and(|wanted| wanted != table) {
            continue;
        }
        let items = items(tree, table);
        let item = |id: ItemId| items.get(&id).copied();
        let shapes = match at {
            0 => tables.filter.rules().shapes(item, &changing, &mut conditions),
            1 => tables.nat.rules().shapes(item, &changing, &mut conditions),
            2 => tables.mangle.rules().shapes(item, &changing, &mut conditions),
            _ => tables.raw.rules().shapes(item, &changing, &mut conditions),
        };
        work.push((at, shapes));
    }
    work.reverse();
    let interfaces = interfaces(&r.program);
    Ok(Started::Job(Box::new(Rules { tables, interfaces, unknown, work, at: 0 })))
}

/// `/tool analyze rules`, under way.
struct Rules {
    tables: Tables,
    interfaces: Ranges,
    unknown: usize,
    /// Tables still to be looked at, the next one last.
    work: Vec<(usize, Vec<Shape>)>,
    /// The next rule.
    at: usize,
}

impl Job<Router> for Rules {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        let Some((table, shapes)) = self.work.last() else {
            return Ok(Progress::Done(Reply::Nothing));
        };
        let range = self.at..(self.at + AT_ONCE).min(shapes.len());
        let (interfaces, unknown) = (&self.interfaces, self.unknown);
        let name = TABLES[*table];
        match table {
            0 => findings(
                r,
                name,
                &shaped(self.tables.filter.rules(), shapes, interfaces, unknown),
                range,
                out,
            ),
            1 => findings(
                r,
                name,
                &shaped(self.tables.nat.rules(), shapes, interfaces, unknown),
                range,
                out,
            ),
            2 => findings(
                r,
                name,
                &shaped(self.tables.mangle.rules(), shapes, interfaces, unknown),
                range,
                out,
            ),
            _ => findings(
                r,
                name,
                &shaped(self.tables.raw.rules(), shapes, interfaces, unknown),
                range,
                out,
            ),
        }
        self.at += AT_ONCE;
        if self.at >= shapes.len() {
            self.work.pop();
            self.at = 0;
        }
        Ok(Progress::Again(now))
    }
}

fn shaped<'a, A>(
    rules: &'a Ruleset<A>,
    shapes: &'a [Shape],
    interfaces: &'a Ranges,
    unknown: usize,
) -> Shaped<'a, A> {
    Shaped { rules, shapes, interfaces, unknown }
}

fn findings<A: Table + PartialEq>(
    r: &Router,
    table: &str,
    shaped: &Shaped<A>,
    range: std::ops::Range<usize>,
    out: &mut Vec<Record>,
) {
    for at in range {
        let note = &shaped.rules.notes[at];
        let counted = r.program.books.counters.find(note.item).map(|id| r.stats.counters.get(id));
        let numbers = |places: &[usize]| {
            let numbers = places.iter().map(|&place| shaped.rules.notes[place].number.to_string());
            let shown: Vec<String> = numbers.take(8).collect();
            let more = if places.len() > 8 { " and others" } else { "" };
            let word = if places.len() == 1 { "rule" } else { "rules" };
            format!("{word} {}{more}", shown.join(", "))
        };
        let (kind, why) = match shaped.finding(at) {
            Some(Finding::Unreachable(takers)) if takers.is_empty() => {
                ("unreachable", "no such packet gets there".to_string())
            }
            Some(Finding::Unreachable(takers)) if takers.len() == 1 => {
                ("shadowed", format!("{} takes all its packets", numbers(&takers)))
            }
            Some(Finding::Unreachable(takers)) => {
                ("unreachable", format!("{} together take all its packets", numbers(&takers)))
            }
            Some(Finding::Redundant(others)) if others.is_empty() => {
                ("redundant", "without it its packets fare the same".to_string())
            }
            Some(Finding::Redundant(others)) => {
                ("redundant", format!("without it {} would do the same", numbers(&others)))
            }
            Some(Finding::TooMany) => {
                ("undecided", "too many kinds of packets meet it".to_string())
            }
            None if counted.is_none_or(|count| count.packets == 0) => {
                ("never-hit", "no packet has matched since it was counted last".to_string())
            }
            None => continue,
        };
        let text = |text: &str| Value::Text(text.to_string());
        out.push(Record(vec![
            ("table", text(table)),
            ("rule", Value::Number(note.number as i64)),
            ("finding", text(kind)),
            ("why", text(&why)),
        ]));
    }
}

/// `TABLE RULE FINDING WHY`.
fn show_rules(group: &Group) -> String {
    let mut out = String::new();
    if group.before == 0 && !group.records.is_empty() {
        let _ = writeln!(out, "{:<8}{:>5}  {:<12}WHY", "TABLE", "RULE", "FINDING");
    }
    for record in group.records {
        let text = |name| record.get(name).map_or(String::new(), ToString::to_string);
        let _ = writeln!(
            out,
            "{:<8}{:>5}  {:<12}{}",
            text("table"),
            text("rule"),
            text("finding"),
            text("why")
        );
    }
    if group.last && group.before == 0 && group.records.is_empty() {
        out.push_str("every rule has packets of its own\n");
    }
    out
}

/// Starts `/tool analyze change`.
pub(super) fn start_change(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let script = call.argument("script").map_or(String::new(), |script| script.to_string());
    let mut interpreter = Interpreter::new(MENUS.to_vec());
    *interpreter.tree_mut() = tree.clone();
    let ran = interpreter.run(&script, &r.status(now));
    ran.map_err(|error| format!("failure: script: {}", error.text))?;
    let new_tree = interpreter.tree();
    let (old, new) = (Tables::of(&r.program), Tables::compile(&r.program, new_tree));
    let (was, becomes) = (changing(r, tree), changing(r, new_tree));
    let changing = |list: &List| was(list) || becomes(list);
    let mut records = Vec::new();
    for table in TABLES {
        let (before, after) = (items(tree, table), items(new_tree, table));
        let side = Side { r, table, before: &before, after: &after, changing: &changing };
        match table {
            "filter" => side.compare(old.filter.rules(), new.filter.rules(), &mut records),
            "nat" => side.compare(old.nat.rules(), new.nat.rules(), &mut records),
            "mangle" => side.compare(old.mangle.rules(), new.mangle.rules(), &mut records),
            _ => side.compare(old.raw.rules(), new.raw.rules(), &mut records),
        }
    }
    Ok(Told::started(records))
}

/// A table before and after.
struct Side<'a> {
    r: &'a Router,
    table: &'static str,
    before: &'a Items<'a>,
    after: &'a Items<'a>,
    changing: &'a dyn Fn(&List) -> bool,
}

impl Side<'_> {
    fn compare<A: Table + PartialEq>(
        &self,
        old: &Ruleset<A>,
        new: &Ruleset<A>,
        out: &mut Vec<Record>,
    ) {
        let mut conditions = Conditions::default();
        let unknown = conditions.unknown();
        let interfaces = interfaces(&self.r.program);
        let old_shapes =
            old.shapes(|id| self.before.get(&id).copied(), self.changing, &mut conditions);
        let new_shapes =
            new.shapes(|id| self.after.get(&id).copied(), self.changing, &mut conditions);
        let found = analyze::change(
            &shaped(old, &old_shapes, &interfaces, unknown),
            &shaped(new, &new_shapes, &interfaces, unknown),
            MOST,
        );
        let text = |text: &str| Value::Text(text.to_string());
        let Ok(found) = found else {
            let row = Record(vec![("table", text(self.table))]);
            return out.push(row.with("packet", text("too many kinds of packets to say")));
        };
        for difference in found {
            let verdict = |rules: &Ruleset<A>, items: &Items, by: Option<usize>| match by {
                None => "accept (end of the chain)".to_string(),
                Some(at) => {
                    let note = &rules.notes[at];
                    let action = items.get(&note.item).and_then(|item| item.get("action"));
                    let action = action.map_or("accept".to_string(), ToString::to_string);
                    format!("{action} (rule {})", note.number)
                }
            };
            let known: Vec<String> = difference
                .assumed
                .iter()
                .map(|&(condition, holds)| {
                    let not = if holds { "" } else { "not " };
                    format!("{not}{}", conditions.text(condition))
                })
                .collect();
            let mut row = Record(vec![
                ("table", text(self.table)),
                ("chain", text(A::HOOKS[difference.hook].name)),
                ("packet", Value::Text(packet(&self.r.program, &difference.cube))),
                ("before", Value::Text(verdict(old, self.before, difference.old.map(|by| by.0)))),
                ("after", Value::Text(verdict(new, self.after, difference.new.map(|by| by.0)))),
            ]);
            if difference.done {
                row = row.with("differs", text("what is done to it on the way"));
            }
            if !known.is_empty() {
                row = row.with("may", Value::Text(known.join(", ")));
            }
            out.push(row);
        }
    }
}

/// One of these packets, in words.
fn packet(program: &Program, cube: &Cube) -> String {
    let pick = |field: usize, liked: &[u32]| cube.values(field).pick(liked);
    let number = pick(PROTOCOL, &[6, 17, 1]) as u8;
    let has_ports = matches!(number, protocol::TCP | protocol::UDP) && pick(FRAGMENT, &[0]) == 0;
    let address = |field: usize, liked: u32| Ipv4Addr::from(pick(field, &[liked, 0x0808_0808]));
    let (src, dst) = (address(SRC, 0x0a00_0001), address(DST, 0x0a00_0002));
    let mut text = match has_ports {
        true => format!(
            "{} {src}:{}->{dst}:{}",
            protocol_name(number),
            pick(SRC_PORT, &[40000]),
            pick(DST_PORT, &[80, 53])
        ),
        false => format!("{} {src}->{dst}", protocol_name(number)),
    };
    let name = |id: u32| &*program.interface(InterfaceId(id)).name;
    for (field, word) in [(IN, "in"), (OUT, "out")] {
        let id = pick(field, &[0]);
        if id != 0 {
            let _ = write!(text, " {word} {}", name(id));
        }
    }
    if !cube.is_free(STATE) {
        let state = pick(STATE, &[3, 1]) as usize;
        let _ = write!(text, " {}", ConnectionState::WORDS.get(state).unwrap_or(&""));
    }
    if number == protocol::TCP && !cube.is_free(FLAGS) {
        let _ = write!(text, " flags {}", tcp_flags(pick(FLAGS, &[2, 16]) as u8));
    }
    if number == protocol::ICMP && !cube.is_free(ICMP) {
        let kind = pick(ICMP, &[0x800]);
        let _ = write!(text, " type {}:{}", kind >> 8, kind & 0xff);
    }
    for (field, word) in [(TTL, "ttl"), (analyze::cube::DSCP, "dscp"), (LEN, "length")] {
        if !cube.is_free(field) {
            let _ = write!(text, " {word} {}", pick(field, &[64]));
        }
    }
    if !cube.is_free(NAT) {
        let words = ["not translated", "srcnat", "dstnat", "srcnat,dstnat"];
        let _ = write!(text, " {}", words[pick(NAT, &[0]) as usize & 3]);
    }
    let marks = &program.books.marks;
    for (field, names, word) in [
        (PACKET_MARK, &marks.packet, "packet-mark"),
        (ROUTING_MARK, &marks.routing, "routing-mark"),
        (CONNECTION_MARK, &marks.connection, "connection-mark"),
    ] {
        if !cube.is_free(field) {
            let mark = crate::firewall::mark::Mark(pick(field, &[]) as u16);
            let _ = write!(text, " {word} {}", names.name(mark).unwrap_or("no-mark"));
        }
    }
    if pick(FRAGMENT, &[0]) == 1 {
        text.push_str(" later fragment");
    }
    text
}

/// A packet, and how it fares.
fn show_change(group: &Group) -> String {
    let mut out = String::new();
    for record in group.records {
        let text = |name| record.get(name).map_or(String::new(), ToString::to_string);
        let _ = writeln!(out, "{} {}  {}", text("table"), text("chain"), text("packet"));
        if record.get("before").is_some() {
            let _ = writeln!(out, "    {} -> {}", text("before"), text("after"));
        }
        if record.get("differs").is_some() {
            let _ = writeln!(out, "    {} differs", text("differs"));
        }
        if record.get("may").is_some() {
            let _ = writeln!(out, "    may differ, if: {}", text("may"));
        }
    }
    if group.last && group.before == 0 && group.records.is_empty() {
        out.push_str("all packets fare the same\n");
    }
    out
}
