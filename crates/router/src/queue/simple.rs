//! `/queue simple`, compiled: which packet belongs to which leaf.
//!
//! ```text
//!  source, in-interface   ─► upload of …   ┐ smallest order wins; in one queue upload before
//!  destination, out-interface ► download of … ┘ download
//!
//!  an address: for each prefix length that occurs, one probe of a hash table
//!              network ─► the queue; of several, candidates in order: queue, its dst
//! ```
//!
//! Of either family: addresses of IPv6 have lengths and a table of their own, and queues one order.
//!
//! The first match in order wins, as in a firewall, but nobody walks the list: a look-up costs one
//! probe for each prefix length that targets use (25,000 single addresses: one), whatever their
//! number. Only queues with the very same target, told apart by `dst`, are tried one by one.
//!
//! The addresses are the untranslated ones: a queue's target is the client behind the NAT. The
//! result depends on addresses and interfaces alone, so it is constant for a flow.
//!
//! Never counts or limits: that is [`super::leaf`].

mod lookup;

use super::Limit;
use super::change::changed;
use super::leaf::{QueueId, QueueLeafId};
use super::menu::{self, marks_of};
use super::settings::Settings;
use super::tree::LEVELS;
use super::types::Types;
use crate::book::Book;
use crate::firewall::mark::{Mark, MarkNames};
use crate::firewall::matcher::hours::Hours;
use crate::interface::{InterfaceId, Names};
use config::{Item, ItemId, Tree, Value};
use lookup::{Candidate, Making};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wire::{Ipv4Prefix, Ipv6Prefix};

#[doc(hidden)]
pub use lookup::{Lookup, Sorted, Takers};

/// The simple queues, compiled. Cloning is cheap where only limits differ.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    index: Arc<Index>,
    /// What each queue's classes may do, by its place in the index. Those that are alike share it: a
    /// million queues have a few plans.
    plans: Vec<Arc<Plan>>,
}

/// What a queue's classes may do, each way and both together.
#[derive(Debug, PartialEq)]
struct Plan {
    both: [Settings; 2],
    total: Option<Settings>,
}

/// Plans by their limits.
#[derive(Default)]
struct Plans(HashMap<[Limit; 2], Vec<Arc<Plan>>>);

impl Plans {
    /// Those of these queues.
    fn of(simple: &Simple) -> Plans {
        let mut plans = Plans::default();
        for plan in &simple.plans {
            let alike = plans.0.entry(plan.limits()).or_default();
            if !alike.iter().any(|known| Arc::ptr_eq(known, plan)) {
                alike.push(plan.clone());
            }
        }
        plans
    }

    /// The plan that is like this.
    fn share(&mut self, plan: Plan) -> Arc<Plan> {
        let alike = self.0.entry(plan.limits()).or_default();
        if let Some(known) = alike.iter().find(|known| ***known == plan) {
            return known.clone();
        }
        let plan = Arc::new(plan);
        alike.push(plan.clone());
        plan
    }
}

impl Plan {
    fn limits(&self) -> [Limit; 2] {
        self.both.map(|settings| settings.limit)
    }
}

/// Which packet belongs to which queue.
#[derive(Debug, Default)]
struct Index {
    queues: Vec<Queue>,
    /// What queues have that are not alone; the first is nobody's.
    kins: Vec<Kin>,
    /// The first is that of the queues without a parent; each parent has one for its children.
    lookups: Vec<Lookup>,
    /// Lists of marks; the first is empty.
    marks: Vec<Vec<Mark>>,
    /// Prefixes of IPv6 that are somebody's `dst`.
    prefixes: Vec<Ipv6Prefix>,
    /// Hours, each with the place before its own: the first has place 1.
    hours: Vec<Hours>,
    /// The place in `queues` of each item of the menu; of one that has none, the last number.
    places: Vec<u32>,
    invalid: Vec<(ItemId, String)>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    id: QueueId,
    /// The place of its kin; 0 if it is alone: without parent, children and a total limit.
    kin: u32,
}

/// Whom a queue belongs to, and what belongs to it.
#[derive(Clone, Copy, Debug)]
struct Kin {
    /// Its parent's place.
    above: u32,
    /// How many there are above it.
    depth: u8,
    /// Where packets go that are none of its children's, if it has any.
    own: Option<QueueId>,
    /// The classes of both ways together: its own, and that of such packets.
    total: Option<QueueId>,
    /// The place of its children's lookup; 0 if it has none.
    children: u32,
}

impl Kin {
    const NOBODY: Kin = Kin { above: NO_PLACE, depth: 0, own: None, total: None, children: 0 };

    fn is_somebody(&self) -> bool {
        self.above != NO_PLACE || self.children != 0 || self.total.is_some()
    }
}

impl Index {
    fn kin(&self, queue: Queue) -> &Kin {
        &self.kins[queue.kin as usize]
    }

    /// The classes of the queue of a place, with a plan.
    fn classes(&self, place: usize, plan: &Plan) -> Vec<(QueueLeafId, Settings)> {
        let queue = self.queues[place];
        let kin = self.kin(queue);
        let above = self.queues.get(kin.above as usize).copied();
        let above = above.map(|queue| (queue.id, self.kin(queue).total));
        classes_of(queue.id, kin, above, plan)
    }
}

/// The classes that a packet passes, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// That of its direction.
    pub leaf: QueueLeafId,
    /// That of both ways together.
    pub total: Option<QueueLeafId>,
}

/// What of a packet a queue is found by.
#[derive(Clone, Copy)]
struct Side<A> {
    here: A,
    here_interface: InterfaceId,
    there: A,
    there_interface: InterfaceId,
    mark: Mark,
}

/// Whom a queue's packets are to, or from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub enum Dst {
    Any,
    Prefix(Ipv4Prefix),
    /// Its place among the prefixes.
    Prefix6(u32),
    Interface(InterfaceId),
}

/// What a queue is for.
#[derive(Clone, Copy)]
enum Target {
    Prefix(Ipv4Prefix),
    Prefix6(Ipv6Prefix),
    Interface(InterfaceId),
}

/// An item that is being compiled.
struct Typed<'a> {
    item: &'a Item,
    parent: Option<usize>,
    depth: usize,
    children: bool,
    total: bool,
    /// Its place in `queues`.
    place: usize,
}

/// More numbers of an item's queue, beside its own: of what it holds itself though it has children,
/// and of both ways together.
#[derive(Clone, Copy)]
enum More {
    Own = 1,
    Total = 2,
}

fn more(item: ItemId, which: More) -> ItemId {
    ItemId(item.0 | (which as u32) << 30)
}

const NO_PLACE: u32 = u32::MAX;

impl Simple {
    /// Compiles all enabled queues, giving new ones their numbers.
    pub fn compile(
        tree: &Tree,
        names: (&Names, &MarkNames),
        types: &Types,
        book: &mut Book<QueueId>,
    ) -> Simple {
        Simple::default().compile_anew(tree.items(menu::SIMPLE.path), names, types, book)
    }

    /// The same of these items, which share plans with what was compiled before.
    pub(super) fn compile_anew(
        &self,
        items: &[Arc<Item>],
        (names, marks): (&Names, &MarkNames),
        types: &Types,
        book: &mut Book<QueueId>,
    ) -> Simple {
        let places = vec![NO_PLACE; items.len()];
        let (marks_of_all, kins) = (vec![Vec::new()], vec![Kin::NOBODY]);
        let mut index = Index { places, marks: marks_of_all, kins, ..Index::default() };
        let mut known = Plans::of(self);
        let mut typed = family(items, &mut index.invalid);
        let mut plans = Vec::with_capacity(items.len());
        index.queues.reserve_exact(items.len());
        let mut making = vec![Making::default()];
        // By place: parents come before their children.
        let mut order: Vec<usize> = (0..items.len()).filter(|&at| typed[at].is_some()).collect();
        order.sort_by_key(|&at| typed[at].as_ref().map(|typed| typed.depth));
        for at in order {
            let Some(mut one) = typed[at].take() else { continue };
            let parent = match one.parent.map(|parent| typed[parent].as_ref()) {
                Some(None) => {
                    index.invalid.push((one.item.id, "its parent is invalid".to_string()));
                    continue;
                }
                parent => parent.flatten(),
            };
            let mut read = || {
                let both = menu::both(one.item, types)?;
                let total = menu::total(one.item, types)?;
                let dst = dst(one.item, names, &mut index.prefixes)?;
                Ok::<_, String>((targets(one.item, names)?, dst, both, total))
            };
            let (targets, dst, both, total) = match read() {
                Ok(read) => read,
                Err(why) => {
                    index.invalid.push((one.item.id, why));
                    continue;
                }
            };
            one.total = total.is_some() || parent.is_some_and(|parent| parent.total);
            let item = one.item.id;
            let id = book.of(item);
            let kin = Kin {
                above: parent.map_or(NO_PLACE, |parent| parent.place as u32),
                depth: one.depth as u8,
                own: one.children.then(|| book.of(more(item, More::Own))),
                total: one.total.then(|| book.of(more(item, More::Total))),
                children: if one.children { making.len() as u32 } else { 0 },
            };
            if one.children {
                making.push(Making::default());
            }
            let siblings =
                parent.map_or(0, |parent| index.kin(index.queues[parent.place]).children as usize);
            let at_kin = if kin.is_somebody() { index.kins.len() as u32 } else { 0 };
            index.kins.extend(kin.is_somebody().then_some(kin));
            one.place = index.queues.len();
            index.places[at] = one.place as u32;
            let asked = marks_of(one.item.get("packet-marks"), marks);
            let at_marks = if asked.is_some() { index.marks.len() as u32 } else { 0 };
            index.marks.extend(asked);
            let hours = one.item.get("time").and_then(|time| Hours::parse(&time.to_string()));
            index.hours.extend(hours);
            let at_hours = hours.map_or(0, |_| index.hours.len() as u32);
            let queue_at = one.place as u32;
            let candidate = Candidate { queue: queue_at, marks: at_marks, hours: at_hours, dst };
            let lookup = &mut making[siblings];
            targets.into_iter().for_each(|target| lookup.enter(target, candidate));
            plans.push(known.share(Plan { both, total }));
            index.queues.push(Queue { id, kin: at_kin });
            typed[at] = Some(one);
        }
        index.invalid.sort_by_key(|(id, _)| *id);
        index.lookups = making.into_iter().map(Lookup::make).collect();
        plans.shrink_to_fit();
        Simple { index: Arc::new(index), plans }
    }

    /// The same queues after a change of limits alone, and what changed; `None` if anything else did.
    /// Takes time by how many were changed, nearly.
    pub(super) fn edited(
        &self,
        old: &Tree,
        new: &Tree,
        types: &Types,
    ) -> Option<(Simple, Vec<(QueueLeafId, Settings)>)> {
        let (old, new) = (old.items(menu::SIMPLE.path), new.items(menu::SIMPLE.path));
        if old.len() != new.len() {
            return None;
        }
        let mut edited = Vec::new();
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            if !Arc::ptr_eq(old, new) {
                edited.push((at, stays(old, new).then_some(new)?));
            }
        }
        let mut simple = self.clone();
        let mut changes = Vec::new();
        for (at, item) in edited {
            // What was invalid may be valid now.
            let place = *self.index.places.get(at)? as usize;
            let Some(before) = self.plans.get(place) else {
                if item.disabled { continue } else { return None }
            };
            let (both, total) = (menu::both(item, types).ok()?, menu::total(item, types).ok()?);
            let plan = Plan { both, total };
            let old = self.index.classes(place, before).into_iter();
            let new = self.index.classes(place, &plan).into_iter();
            changes.extend(old.zip(new).filter(|(old, new)| old != new).map(|(_, new)| new));
            simple.plans[place] = Arc::new(plan);
        }
        Some((simple, changes))
    }

    /// What leads from other queues to these; `gone` are those whose items are gone. Takes time by how
    /// many there are, but little for each that is as it was.
    pub fn changes_from(&self, old: &Simple, gone: &[QueueId]) -> Vec<(QueueLeafId, Settings)> {
        let others: HashSet<QueueId> = gone.iter().copied().collect();
        let queues = || old.index.queues.iter().zip(0u32..);
        let end = queues().map(|(queue, _)| queue.id.0 as usize + 1).max().unwrap_or(0);
        // Where each queue stood that still has its number.
        let mut stood = vec![NO_PLACE; end];
        for (queue, place) in queues().filter(|(queue, _)| !others.contains(&queue.id)) {
            stood[queue.id.0 as usize] = place;
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (place, queue) in self.index.queues.iter().enumerate() {
            let was = stood.get_mut(queue.id.0 as usize);
            let was = was.map_or(NO_PLACE, |was| std::mem::replace(was, NO_PLACE)) as usize;
            if let Some(plan) = old.plans.get(was) {
                let alone = queue.kin == 0 && old.index.queues[was].kin == 0;
                if alone && Arc::ptr_eq(plan, &self.plans[place]) {
                    continue;
                }
                before.extend(old.index.classes(was, plan));
            }
            after.extend(self.index.classes(place, &self.plans[place]));
        }
        for was in stood.into_iter().filter(|&was| was != NO_PLACE) {
            before.extend(old.index.classes(was as usize, &old.plans[was as usize]));
        }
        changed(before.into_iter(), after.into_iter(), gone)
    }

    /// Whether there is no queue: what FastPath asks.
    pub fn is_empty(&self) -> bool {
        self.index.queues.is_empty()
    }

    /// Whether every packet belongs to the same queue as with the other.
    pub(crate) fn finds_as(&self, other: &Simple) -> bool {
        Arc::ptr_eq(&self.index, &other.index)
    }

    /// The enabled queues that can never match, and why.
    pub fn invalid(&self) -> &[(ItemId, String)] {
        &self.index.invalid
    }

    /// The classes of a packet with these (untranslated) addresses and this mark, at any time of day.
    pub fn classify<A: Sorted>(
        &self,
        src: A,
        dst: A,
        in_interface: InterfaceId,
        out_interface: InterfaceId,
        mark: Mark,
    ) -> Option<Found> {
        self.classify_at(src, dst, (in_interface, out_interface), mark, &mut |_| true)
    }

    /// The same at a time of day that is one of a queue's hours, or not.
    pub(crate) fn classify_at<A: Sorted>(
        &self,
        src: A,
        dst: A,
        (in_interface, out_interface): (InterfaceId, InterfaceId),
        mark: Mark,
        is_now: &mut impl FnMut(&Hours) -> bool,
    ) -> Option<Found> {
        let index = &*self.index;
        let top = index.lookups.first()?;
        let from = Side {
            here: src,
            here_interface: in_interface,
            there: dst,
            there_interface: out_interface,
            mark,
        };
        let to = Side {
            here: dst,
            here_interface: out_interface,
            there: src,
            there_interface: in_interface,
            mark,
        };
        let upload = top.first(&from, index, is_now);
        let download = top.first(&to, index, is_now);
        let (mut at, direction) = match (upload, download) {
            (Some(up), Some(down)) if down < up => (down, 1),
            (Some(up), _) => (up, 0),
            (None, Some(down)) => (down, 1),
            (None, None) => return None,
        };
        let mut queue = index.queues[at as usize];
        let mut kin = index.kin(queue);
        while kin.children != 0 {
            let lookup = &index.lookups[kin.children as usize];
            let side = if direction == 0 { &from } else { &to };
            let Some(child) = lookup.first(side, index, is_now) else { break };
            at = child;
            queue = index.queues[at as usize];
            kin = index.kin(queue);
        }
        let id = kin.own.unwrap_or(queue.id);
        // Who has children holds such packets in a class beside.
        let total = kin.total.map(|total| total.leaves()[usize::from(kin.own.is_some())]);
        Some(Found { leaf: id.leaves()[direction], total })
    }

    /// All classes.
    #[cfg(test)]
    fn classes(&self) -> impl Iterator<Item = (QueueLeafId, Settings)> {
        let plans = self.plans.iter().enumerate();
        plans.flat_map(|(place, plan)| self.index.classes(place, plan))
    }

    /// Which queue a class belongs to, and whether it is that of both ways together.
    pub(crate) fn item_of<'a>(
        &self,
        tree: &'a Tree,
        leaf: QueueLeafId,
    ) -> Option<(&'a Item, bool)> {
        let has = |id: QueueId| id.leaves().contains(&leaf);
        let index = &self.index;
        let found = index.queues.iter().position(|&queue| {
            let kin = index.kin(queue);
            has(queue.id) || kin.own.is_some_and(has) || kin.total.is_some_and(has)
        })?;
        let at = index.places.iter().position(|&place| place as usize == found)?;
        let item = tree.items(menu::SIMPLE.path).get(at)?;
        Some((item, index.kin(index.queues[found]).total.is_some_and(has)))
    }

    /// Memory taken, in bytes (the hash tables' as their entries with one byte of control each).
    pub fn bytes(&self) -> usize {
        let index = &self.index;
        index.queues.capacity() * size_of::<Queue>()
            + index.places.capacity() * 4
            + index.kins.capacity() * size_of::<Kin>()
            + self.plans.capacity() * size_of::<Arc<Plan>>()
            + Plans::of(self).0.values().map(Vec::len).sum::<usize>() * (16 + size_of::<Plan>())
            + index.lookups.iter().map(Lookup::bytes).sum::<usize>()
    }
}

/// The numbers an item's queue had, which is gone.
pub(super) fn forget(item: ItemId, book: &mut Book<QueueId>) -> impl Iterator<Item = QueueId> {
    let ids = [item, more(item, More::Own), more(item, More::Total)];
    ids.map(|item| book.remove(item)).into_iter().flatten()
}

/// The number of both ways together of an item's queue, if it has one.
pub(crate) fn total_of(item: ItemId, book: &Book<QueueId>) -> Option<QueueLeafId> {
    book.find(more(item, More::Total)).map(|total| total.leaves()[0])
}

/// Whether a changed item is the same but for its limits.
fn stays(old: &Item, new: &Item) -> bool {
    let is_limit = |name: &str| menu::OWN.contains(&name) || menu::TOTAL.contains(&name);
    let others = |item: &Item| {
        let others = item.values.iter().filter(|(name, _)| !is_limit(name));
        others.map(|(name, value)| (*name, value.clone())).collect::<Vec<_>>()
    };
    (old.id, old.disabled) == (new.id, new.disabled)
        && menu::has_total(old) == menu::has_total(new)
        && others(old) == others(new)
}

/// All enabled items, by their places, with their parents; those whose parents are none are invalid.
fn family<'a>(
    items: &'a [Arc<Item>],
    invalid: &mut Vec<(ItemId, String)>,
) -> Vec<Option<Typed<'a>>> {
    let parent = |item: &'a Item| match item.get("parent") {
        Some(Value::Text(name)) if name != "none" => Some(name.as_str()),
        _ => None,
    };
    let mut typed: Vec<Option<Typed>> = items
        .iter()
        .map(|item| {
            let (parent, depth, place) = (None, 0, 0);
            let (children, total) = (false, false);
            let typed = Typed { item, parent, depth, children, total, place };
            (!item.disabled).then_some(typed)
        })
        .collect();
    if items.iter().all(|item| parent(item).is_none()) {
        return typed;
    }
    let names: HashMap<&str, usize> =
        items.iter().enumerate().map(|(at, item)| (item.name("name"), at)).collect();
    for (at, item) in items.iter().enumerate() {
        let Some(name) = parent(item).filter(|_| !item.disabled) else { continue };
        let (mut depth, mut above) = (0, Some(at));
        while let Some(child) = above {
            above = parent(&items[child]).and_then(|name| names.get(name).copied());
            depth += usize::from(above.is_some());
            if depth > items.len() {
                break;
            }
        }
        let why = match names.get(name) {
            None => format!("there is no queue {name}"),
            Some(&parent) if items[parent].disabled => format!("its parent {name} is disabled"),
            _ if depth > items.len() => "its parents go in a circle".to_string(),
            _ if depth >= LEVELS => format!("it is below {depth} others; {} may be", LEVELS - 1),
            Some(&parent) => {
                if let Some(typed) = &mut typed[at] {
                    (typed.parent, typed.depth) = (Some(parent), depth);
                }
                continue;
            }
        };
        invalid.push((item.id, why));
        typed[at] = None;
    }
    let parents: Vec<usize> = typed.iter().flatten().filter_map(|typed| typed.parent).collect();
    for parent in parents {
        if let Some(typed) = &mut typed[parent] {
            typed.children = true;
        }
    }
    typed
}

/// The classes of a queue that stands below another, of which the number and the total are given.
fn classes_of(
    queue: QueueId,
    kin: &Kin,
    above: Option<(QueueId, Option<QueueId>)>,
    plan: &Plan,
) -> Vec<(QueueLeafId, Settings)> {
    let (depth, inner) = (kin.depth, kin.own.is_some());
    let free = Settings::plain(Limit { packets: 50, ..Limit::NONE });
    let below = |parent: Option<QueueLeafId>| Settings { parent, depth: depth + 1, ..free };
    let mut classes = Vec::new();
    for (half, settings) in plan.both.into_iter().enumerate() {
        let id = queue.leaves()[half];
        let parent = above.map(|(above, _)| above.leaves()[half]);
        classes.push((id, Settings { parent, depth, inner, ..settings }));
        if let Some(own) = kin.own {
            let kind = Settings { kind: settings.kind, limit: free.limit, ..below(Some(id)) };
            classes.push((own.leaves()[half], kind));
        }
    }
    if let Some(id) = kin.total {
        let parent = above.and_then(|(_, total)| total).map(|total| total.leaves()[0]);
        let depth = if parent.is_some() { depth } else { 0 };
        let settings = plan.total.unwrap_or(free);
        classes.push((id.leaves()[0], Settings { parent, depth, inner, ..settings }));
        if inner {
            let own = Settings { depth: depth + 1, ..below(Some(id.leaves()[0])) };
            classes.push((id.leaves()[1], own));
        }
    }
    classes
}

fn targets(item: &Item, names: &Names) -> Result<Vec<Target>, String> {
    let list = match item.get("target") {
        Some(Value::List(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    list.iter().map(|value| target(value, names)).collect()
}

fn dst(item: &Item, names: &Names, prefixes: &mut Vec<Ipv6Prefix>) -> Result<Dst, String> {
    match item.get("dst") {
        None => Ok(Dst::Any),
        Some(value) => Ok(match target(value, names)? {
            Target::Prefix(prefix) => Dst::Prefix(prefix),
            Target::Prefix6(prefix) => {
                prefixes.push(prefix);
                Dst::Prefix6(prefixes.len() as u32 - 1)
            }
            Target::Interface(id) => Dst::Interface(id),
        }),
    }
}

fn target(value: &Value, names: &Names) -> Result<Target, String> {
    match value {
        &Value::Cidr(addr, len) if len <= 32 => {
            Ok(Target::Prefix(Ipv4Prefix::new(addr.into(), len)))
        }
        &Value::Cidr6(addr, len) if len <= 128 => {
            Ok(Target::Prefix6(Ipv6Prefix::new(addr.into(), len)))
        }
        Value::Text(name) => {
            names.find(name).map(Target::Interface).ok_or(format!("no interface {name}"))
        }
        other => Err(format!("neither a prefix nor an interface: {other:?}")),
    }
}

#[cfg(test)]
mod tests;
