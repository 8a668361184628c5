//! Rules compiled, and the walk through them.
//!
//! ```text
//! chains   input │ forward │ output │ icmp │ …         each a stretch of the two tables
//! gates    ▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮▮        all cheap matchers of a rule at once
//! rules    other matchers, counter, log, step          read only when the gate lets through
//!
//! top-down ─► gate ─► matchers ─► count ─► log ─► accept, drop, src-nat …   the walk ends
//!                                                 passthrough, log            the next rule
//!                                                 mark, edit, fasttrack       done, then the next
//!                                                 jump ─► own chain ─► return  the rule after it
//! ```
//!
//! The end of a built-in chain decides nothing, which means accept; the end of an own chain goes
//! back. Chains cannot loop (a jump that would close a loop is [invalid](super::invalid)), so the
//! walk ends; but chains that jump to each other many times multiply, as in Linux.
//!
//! Recipes are neither made nor used for fragments and for packets with IP options; a walk over
//! one says so in the trace.
//!
//! Of a long chain only the gates are asked that may let the packet through: see `classes`.

use crate::counter::{Count, CounterBook, CounterId, Counters};
use crate::firewall::address_list::AddressLists;
use crate::firewall::address_list::dynamic::AddTo;
use crate::firewall::classes::{self, Classes, Search};
use crate::firewall::effect::Effect;
use crate::firewall::gate::{Facts, Gate};
use crate::firewall::invalid::Invalid;
use crate::firewall::log::{Log, LogHead};
use crate::firewall::matcher::Matcher;
use crate::firewall::state::RuleState;
use crate::firewall::told::Note;
use crate::packet::View;
use crate::recipe::Stage;
use crate::trace::Trace;
use config::ItemId;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use wire::Moment;

/// All chains of one table (filter, nat), whose last word is an `A`.
#[derive(Clone, Debug)]
pub struct Ruleset<A> {
    /// The built-in chains first, in the order of the table; then the user's own.
    pub(crate) chains: Vec<Chain>,
    /// One gate and one rule each, chain by chain.
    pub(crate) gates: Vec<Gate>,
    /// Of the gates, if they are many.
    pub(crate) classes: Option<Arc<Classes>>,
    pub(crate) rules: Vec<Rule<A>>,
    /// One each as well: read only when somebody asks why.
    pub(crate) notes: Vec<Note>,
    pub(crate) lists: Arc<AddressLists>,
    pub(crate) invalid: BTreeMap<ItemId, Invalid>,
}

/// A chain: which rules.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) rules: Range<u32>,
    pub(crate) name: Box<str>,
    /// From which built-in chains it is reached: bits by their places.
    pub(crate) reach: u8,
}

/// A rule behind its gate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule<A> {
    /// What the gate could not take over, in the documented order.
    pub(crate) matchers: Arc<[Matcher]>,
    pub(crate) counter: CounterId,
    pub(crate) log: Option<LogHead>,
    pub(crate) step: Step<A>,
    /// `add-src-to-address-list` and the like.
    pub(crate) add: Option<Box<AddTo>>,
}

/// What to do with a packet that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<A> {
    /// `passthrough`, `log`, and what adds to address lists.
    Next,
    /// Something is done, and the next rule sees it done.
    Do(Effect),
    /// Something is done, and the walk ends: `passthrough=no`.
    Last(Effect),
    Jump(u32),
    Return,
    /// The table's own word, which ends the walk.
    Stop(A),
}

/// What a walk reads and writes besides the packet.
#[derive(Debug)]
pub struct Books<'a> {
    /// The time.
    pub now: Moment,
    /// What rules remember.
    pub state: &'a mut RuleState,
    /// What was looked at and counted.
    pub trace: &'a mut Trace,
    /// The rules' counters.
    pub counters: &'a mut Counters,
    /// Where `log=yes` writes.
    pub log: &'a mut Log,
}

/// Where a walk stands.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// The rules of the chain at hand that are still to be tried.
    rules: Range<u32>,
    begun: bool,
    over: bool,
}

/// Why a walk stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause<A> {
    /// To have this done.
    Do(Effect),
    /// It is over: by this last word, or at the end of the built-in chain.
    End(Option<A>),
}

/// How a walk ended whose effects no rule can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome<A> {
    /// The rule that ended it; `None` at the end of the built-in chain.
    pub(crate) action: Option<A>,
    /// The only effect such a table has, if a rule had it.
    effect: Option<Effect>,
}

impl<A> Outcome<A> {
    /// Whether a rule with this effect was passed.
    pub(crate) fn passed(&self, effect: Effect) -> bool {
        self.effect == Some(effect)
    }
}

impl<A: Copy + PartialEq> Ruleset<A> {
    /// Of all rules.
    pub(crate) fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// Walks a packet through a built-in chain, given by its place in the table.
    pub(crate) fn run(&self, chain: usize, view: &View, books: &mut Books) -> Outcome<A> {
        let (mut walk, mut effect) = (self.enter(chain), None);
        loop {
            match self.walk(&mut walk, view, books) {
                Pause::Do(done) => effect = Some(done),
                Pause::End(action) => return Outcome { action, effect },
            }
        }
    }

    /// A walk through a built-in chain, before its first rule.
    pub(crate) fn enter(&self, chain: usize) -> Walk {
        let rules = self.chains[chain].rules.clone();
        Walk { over: rules.is_empty(), rules, begun: false }
    }

    /// Goes on to the next effect, which the caller brings about before it calls again, or to the
    /// end. No other walk may begin meanwhile.
    pub(crate) fn walk(&self, walk: &mut Walk, view: &View, books: &mut Books) -> Pause<A> {
        if walk.over {
            return Pause::End(None);
        }
        if !walk.begun {
            walk.begun = true;
            books.state.returns.clear();
            if view.layers.fragment | view.layers.options {
                books.trace.once = true;
            }
        }
        let facts = Facts::of(view);
        let (mut rules, mut search) = (walk.rules.clone(), None);
        loop {
            let next = self.next(rules.clone(), &facts, &mut search);
            if books.state.told.is_some() {
                self.tell_passed_over(rules.start..next.unwrap_or(rules.end), view, books);
            }
            let Some(at) = next else {
                let Some((start, end)) = books.state.returns.pop() else {
                    walk.over = true;
                    return Pause::End(None);
                };
                rules = start..end;
                continue;
            };
            rules.start = at + 1;
            let rule = &self.rules[at as usize];
            books.trace.beyond |= !rule.matchers.is_empty() || rule.add.is_some();
            let mut matchers = rule.matchers.iter();
            if let Some(failed) = matchers.find(|m| !m.matches(view, &self.lists, books)) {
                if books.state.told.is_some() {
                    self.tell(at, Some(failed.failed(view)), books);
                }
                continue;
            }
            if books.state.told.is_some() {
                self.tell(at, None, books);
            }
            books.counters.add(rule.counter, u64::from(view.ip_len));
            books.trace.counters.push(rule.counter);
            if let Some(head) = &rule.log {
                books.trace.once = true;
                books.log.write(head, view, books.now);
            }
            if let Some(add) = &rule.add {
                add.run(view, books);
            }
            match rule.step {
                Step::Next => (),
                Step::Do(effect) => {
                    walk.rules = rules;
                    return Pause::Do(effect);
                }
                Step::Last(effect) => {
                    walk.over = true;
                    return Pause::Do(effect);
                }
                Step::Jump(chain) => {
                    books.state.returns.push((rules.start, rules.end));
                    rules = self.chains[chain as usize].rules.clone();
                }
                Step::Return => rules.start = rules.end,
                Step::Stop(action) => {
                    walk.over = true;
                    return Pause::End(Some(action));
                }
            }
        }
    }

    /// The first of these rules whose gate lets the packet through.
    #[inline]
    fn next<'a>(
        &'a self,
        rules: Range<u32>,
        facts: &Facts,
        search: &mut Option<Search<'a>>,
    ) -> Option<u32> {
        if let Some(classes) = &self.classes
            && rules.len() >= classes::FEW
        {
            let search = search.get_or_insert_with(|| classes.search(facts));
            let (start, end) = (rules.start as usize, rules.end as usize);
            return search.next(&self.gates, facts, start, end).map(|at| at as u32);
        }
        let gates = &self.gates[rules.start as usize..rules.end as usize];
        gates.iter().position(|gate| gate.admits(facts)).map(|i| rules.start + i as u32)
    }

    /// The gates of the rules that `new` has not, has otherwise or elsewhere, and of those that only
    /// `new` has: a packet that passes none of them fares the same with both. `None` if they are
    /// more than `max`. Each comes with the stage at which a packet meets the rule's chain, which
    /// `stage` tells by its number.
    pub(crate) fn differences(
        &self,
        new: &Ruleset<A>,
        max: usize,
        stage: impl Fn(usize) -> Stage,
    ) -> Option<Vec<(Stage, Gate)>> {
        if std::ptr::eq(self, new) {
            return Some(Vec::new());
        }
        let same_lists = Arc::ptr_eq(&self.lists, &new.lists);
        let same = |(chain, old, new_chain, new_at): (usize, usize, usize, usize)| {
            let (rule, new_rule) = (&self.rules[old], &new.rules[new_at]);
            chain == new_chain
                && self.gates[old] == new.gates[new_at]
                && rule == new_rule
                && (same_lists || !rule.matchers.iter().any(Matcher::asks_list))
        };
        let (old_chains, new_chains) = (self.chain_of_each(), new.chain_of_each());
        let (n_old, n_new) = (old_chains.len(), new_chains.len());
        let pair = |old: usize, at: usize| (old_chains[old], old, new_chains[at], at);
        let both = n_old.min(n_new);
        let head = (0..both).take_while(|&at| same(pair(at, at))).count();
        let tail = (1..=both - head).take_while(|&n| same(pair(n_old - n, n_new - n))).count();
        let mut gates = Vec::new();
        let mut differ = |old: Option<usize>, at: Option<usize>| {
            gates.extend(old.map(|old| (stage(old_chains[old]), self.gates[old])));
            gates.extend(at.map(|at| (stage(new_chains[at]), new.gates[at])));
            gates.len() <= max
        };
        let (old, now) = (head..n_old - tail, head..n_new - tail);
        let within = if old.len() == now.len() {
            // Some were edited where they stand.
            old.zip(now).all(|(old, at)| same(pair(old, at)) || differ(Some(old), Some(at)))
        } else {
            { old }.all(|old| differ(Some(old), None)) && { now }.all(|at| differ(None, Some(at)))
        };
        within.then_some(gates)
    }

    /// Whether a rule has such an effect.
    pub(crate) fn does(&self, is: impl Fn(Effect) -> bool) -> bool {
        let mut steps = self.rules.iter().map(|rule| rule.step);
        steps.any(|step| matches!(step, Step::Do(effect) | Step::Last(effect) if is(effect)))
    }

    /// The chain of every rule.
    pub(crate) fn chain_of_each(&self) -> Vec<usize> {
        let mut chains = Vec::with_capacity(self.rules.len());
        for (number, chain) in self.chains.iter().enumerate() {
            chains.resize(chains.len() + chain.rules.len(), number);
        }
        chains
    }

    /// Why a rule is invalid, if it is.
    pub fn invalid(&self, item: ItemId) -> Option<&Invalid> {
        self.invalid.get(&item)
    }

    /// All invalid rules, with the reasons.
    pub fn all_invalid(&self) -> impl Iterator<Item = (ItemId, &Invalid)> {
        self.invalid.iter().map(|(&item, reason)| (item, reason))
    }

    /// How many rules are in force: neither disabled nor invalid.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether no rule is in force: the table does nothing.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// `print stats`: what a rule has counted; zero if it never was in force.
pub fn stats(item: ItemId, book: &CounterBook, counters: &Counters) -> Count {
    book.find(item).map_or(Count::default(), |id| counters.get(id))
}
