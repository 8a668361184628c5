//! From the items of a menu to rules, chains, and the list of invalid rules.
//!
//! ```text
//! items ─► drafts ─────────► jumps ──────────► chains ─────────────► Ruleset
//!          matchers, action   targets, loops    which built-in ones
//!                                               lead here, and what
//!                                               can match there
//!          invalid: value,    invalid: target   invalid: no way here,
//!          interface, list    missing, loop     in-interface in output …
//! ```

// A few rules anew.
mod patch;

use crate::counter::CounterBook;
use crate::firewall::address_list::AddressLists;
use crate::firewall::address_list::dynamic::AddTo;
use crate::firewall::classes::Classes;
use crate::firewall::gate::Gate;
use crate::firewall::invalid::Invalid;
use crate::firewall::log::LogHead;
use crate::firewall::mark::MarkBook;
use crate::firewall::matcher::layer7::Patterns;
use crate::firewall::matcher::{self, Matcher, ORDER, What};
use crate::firewall::read::{self, Surroundings, text};
use crate::firewall::rule::{Chain, Rule, Ruleset, Step};
use crate::firewall::state::SlotBook;
use crate::firewall::told::Note;
use crate::interface::Names;
use crate::ipv6::firewall::ORDER as ORDER6;
use config::{Item, ItemId, Tree, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub(crate) use patch::patched;

/// A table of rules: its built-in chains and its own actions.
pub(crate) trait Table: Copy {
    /// The menu's path.
    const PATH: &'static str;
    /// The built-in chains, in order.
    const HOOKS: &'static [Hook];

    /// Whether the last word is what the end of a built-in chain means as well.
    fn accepts(self) -> bool;

    /// An action that not all tables have.
    fn action(action: &str, item: &Item, marks: &MarkBook) -> Result<Possible<Self>, Invalid>;
}

/// An action, and where it is possible.
pub(crate) struct Possible<A> {
    pub(crate) step: Step<A>,
    /// The only built-in chains that may lead to it (`prerouting,output`), if not all may; and the
    /// action's name.
    pub(crate) only: Option<(&'static str, &'static str)>,
}

/// A built-in chain.
pub(crate) struct Hook {
    pub(crate) name: &'static str,
    /// Packets have come in by an interface.
    pub(crate) has_in: bool,
    /// It is known by which interface they go out.
    pub(crate) has_out: bool,
}

/// What rules refer to, and what they leave behind.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The configuration: rules, bridge ports.
    pub tree: &'a Tree,
    /// `/ip firewall address-list`, compiled.
    pub lists: &'a Arc<AddressLists>,
    /// `/ip firewall layer7-protocol`, compiled.
    pub patterns: &'a Arc<Patterns>,
    /// The interfaces.
    pub names: &'a Names,
    /// The marks.
    pub marks: &'a MarkBook,
    /// `/interface bridge settings use-ip-firewall`.
    pub use_ip_firewall: bool,
    /// Whether there are policies of IPsec.
    pub ipsec: bool,
    /// Which rule has which counter.
    pub book: &'a mut CounterBook,
    /// Which rule has which memory.
    pub slots: &'a mut SlotBook,
}

/// Compiles the enabled rules of a table. `gated` is false only to test that gates change nothing.
pub(crate) fn compile<A: Table>(setting: &mut Setting, gated: bool) -> Ruleset<A> {
    compile_of(setting, gated, (A::PATH, false), &[])
}

/// The same, and of rules before them that nobody has typed.
pub(crate) fn compile_and<A: Table>(setting: &mut Setting, more: &[Item]) -> Ruleset<A> {
    compile_of(setting, true, (A::PATH, false), more)
}

/// The same of the menu of this path, which is of IPv6.
pub(crate) fn compile6<A: Table>(setting: &mut Setting, path: &str) -> Ruleset<A> {
    compile_of(setting, true, (path, true), &[])
}

fn compile_of<A: Table>(
    setting: &mut Setting,
    gated: bool,
    (path, v6): (&str, bool),
    more: &[Item],
) -> Ruleset<A> {
    let numbered = setting.tree.items(path).iter().enumerate();
    let numbers: HashMap<ItemId, usize> = numbered.map(|(n, item)| (item.id, n)).collect();
    let items: Vec<&Item> = more.iter().chain(setting.tree.enabled(path)).collect();
    let mut around = Surroundings::of(setting);
    around.v6 = v6;
    let mut compiler = Compiler::<A>::new();
    for hook in A::HOOKS {
        compiler.enter_chain(hook.name);
    }
    // A chain comes into being by use.
    for item in &items {
        compiler.enter_chain(text(item, "chain").unwrap_or_default());
    }
    for item in items {
        match compiler.draft(item, &around, setting.slots) {
            Ok(draft) => compiler.drafts.push(draft),
            Err(reason) => _ = compiler.invalid.insert(item.id, reason),
        }
    }
    let order = compiler.refuse_loops();
    compiler.refuse_unreachable(&order);
    compiler.emit(setting.lists, gated, setting.book, &numbers)
}

/// A rule on its way.
struct Draft<'a, A> {
    item: &'a Item,
    chain: usize,
    matchers: Vec<Matcher>,
    action: Possible<A>,
}

impl<A: Table> Draft<'_, A> {
    /// From which of the built-in chains that lead to its own it can be reached.
    fn reached(&self, hooks: u8, chain: &str) -> Result<u8, Invalid> {
        let with = |has: fn(&Hook) -> bool| {
            let hooks = A::HOOKS.iter().enumerate().filter(|(_, hook)| has(hook));
            hooks.fold(0u8, |set, (i, _)| set | 1 << i)
        };
        let (mut in_hooks, mut out_hooks) = (hooks, hooks);
        for matcher in &self.matchers {
            match matcher.what {
                What::InInterface(_) | What::InBridgePort(_) | What::IngressPriority(_) => {
                    in_hooks &= with(|hook| hook.has_in);
                }
                What::OutInterface(_) | What::OutBridgePort(_) => {
                    out_hooks &= with(|hook| hook.has_out);
                }
                _ => (),
            }
        }
        let wrong = |names: &str| {
            let allows = |at: usize| names.split(',').any(|name| A::HOOKS[at].name == name);
            (0..A::HOOKS.len()).any(|at| hooks >> at & 1 == 1 && !allows(at))
        };
        match self.action.only {
            _ if hooks == 0 => Err(Invalid::Unreachable(chain.to_string())),
            _ if in_hooks == 0 => Err(Invalid::InInterface),
            _ if out_hooks == 0 || in_hooks & out_hooks == 0 => Err(Invalid::OutInterface),
            Some((name, action)) if wrong(name) => Err(Invalid::WrongChain(action, name)),
            _ => Ok(in_hooks & out_hooks),
        }
    }

    /// The rule behind its gate.
    fn emit(self, chain: &str, gated: bool, number: usize, book: &mut CounterBook) -> Compiled<A> {
        let mut gate = Gate::OPEN;
        let absorbed = |matcher: &Matcher| gated && gate.absorb(matcher);
        let (gate_of, rest): (Vec<_>, Vec<_>) = self.matchers.into_iter().partition(absorbed);
        let item = self.item;
        let rule = Rule {
            matchers: rest.into(),
            counter: book.of(item.id),
            log: log_head(item, chain),
            add: AddTo::of(item).map(Box::new),
            step: self.action.step,
        };
        (rule, gate, Note { item: item.id, number, gate: gate_of.into() })
    }
}

/// A rule, its gate, and what it is called.
type Compiled<A> = (Rule<A>, Gate, Note);

struct Compiler<'a, A> {
    chains: Vec<&'a str>,
    /// By name: the place in `chains`.
    numbers: HashMap<&'a str, usize>,
    drafts: Vec<Draft<'a, A>>,
    invalid: BTreeMap<ItemId, Invalid>,
    /// Of each chain: from which built-in ones it is reached.
    reach: Vec<u8>,
}

impl<'a, A: Table> Compiler<'a, A> {
    fn new() -> Self {
        let (chains, numbers, drafts) = (Vec::new(), HashMap::new(), Vec::new());
        Compiler { chains, numbers, drafts, invalid: BTreeMap::new(), reach: Vec::new() }
    }

    fn enter_chain(&mut self, name: &'a str) {
        let next = self.chains.len();
        if *self.numbers.entry(name).or_insert(next) == next {
            self.chains.push(name);
        }
    }

    /// A rule as far as it can be understood by itself.
    fn draft(
        &self,
        item: &'a Item,
        around: &Surroundings,
        slots: &mut SlotBook,
    ) -> Result<Draft<'a, A>, Invalid> {
        let chain = self.chain(text(item, "chain").unwrap_or_default());
        let chain = chain.ok_or(Invalid::Unreadable("chain"))?;
        let mut matchers = Vec::new();
        let asks_ipsec = around.ipsec && !around.v6;
        if !asks_ipsec {
            read::ipsec_policy(item)?;
        }
        // A rule has a handful of properties, of fifty that are matchers.
        // The order in which matchers are tried.
        let order: &[&str] = if around.v6 { &ORDER6 } else { &ORDER };
        let place = |name: &str| match around.v6 {
            true => order.iter().position(|&matcher| matcher == name),
            false => matcher::place(name),
        };
        let is_asked = |name: &str| asks_ipsec || name != "ipsec-policy";
        let typed = item.values.iter().filter(|(name, _)| is_asked(name));
        let typed = typed.filter_map(|(name, value)| Some((place(name)?, value)));
        // Old exports say of some that they are empty: nothing is asked.
        let typed = typed.filter(|(_, value)| **value != Value::Text(String::new()));
        let mut typed: Vec<(usize, &Value)> = typed.collect();
        typed.sort_unstable_by_key(|(place, _)| *place);
        for (place, value) in typed {
            matchers.push(around.matcher(order[place], value, || slots.of(item.id))?);
        }
        let step = match text(item, "action").unwrap_or("accept") {
            "passthrough" | "log" | "add-src-to-address-list" | "add-dst-to-address-list" => {
                Step::Next
            }
            "return" => Step::Return,
            "jump" => Step::Jump(self.jump(text(item, "jump-target").unwrap_or_default())?),
            own => {
                let action = A::action(own, item, around.marks)?;
                return Ok(Draft { item, chain, matchers, action });
            }
        };
        Ok(Draft { item, chain, matchers, action: Possible { step, only: None } })
    }

    fn chain(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    fn jump(&self, target: &str) -> Result<u32, Invalid> {
        match self.chain(target) {
            None => Err(Invalid::NoChain(target.to_string())),
            Some(chain) if chain < A::HOOKS.len() => {
                Err(Invalid::BuiltinTarget(target.to_string()))
            }
            Some(chain) => Ok(chain as u32),
        }
    }

    /// Makes the jumps that close a loop invalid, as Linux refuses them: the first such jump on
    /// the way down from the first built-in chain. Returns the chains in an order in which jumps
    /// go forward only.
    fn refuse_loops(&mut self) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum Visit {
            Not,
            Open,
            Done,
        }
        let mut jumps: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.chains.len()];
        for (i, draft) in self.drafts.iter().enumerate() {
            if let Step::Jump(target) = draft.action.step {
                jumps[draft.chain].push((i, target as usize));
            }
        }
        let mut visits = vec![Visit::Not; self.chains.len()];
        let (mut done, mut loops) = (Vec::new(), Vec::new());
        for root in 0..self.chains.len() {
            // Depth first, without recursion: a configuration may nest chains at will.
            let mut path = if visits[root] == Visit::Not { vec![(root, 0)] } else { vec![] };
            while let Some((chain, at)) = path.last_mut() {
                visits[*chain] = Visit::Open;
                let Some(&(draft, target)) = jumps[*chain].get(*at) else {
                    visits[*chain] = Visit::Done;
                    done.push(*chain);
                    path.pop();
                    continue;
                };
                *at += 1;
                match visits[target] {
                    Visit::Not => path.push((target, 0)),
                    Visit::Open => loops.push(draft),
                    Visit::Done => (),
                }
            }
        }
        self.remove(|i, draft, chains| {
            loops.contains(&i).then(|| Invalid::Loop(target_name(draft, chains)))
        });
        done.reverse();
        done
    }

    /// Finds out from which built-in chains each rule can be reached, and makes invalid what can
    /// not be reached, match or act there.
    fn refuse_unreachable(&mut self, order: &[usize]) {
        // Sets of built-in chains, bits by place in `HOOKS`.
        let mut reach: Vec<u8> = vec![0; self.chains.len()];
        for (hook, reach) in reach.iter_mut().enumerate().take(A::HOOKS.len()) {
            *reach = 1 << hook;
        }
        let mut by_chain: Vec<Vec<usize>> = vec![Vec::new(); self.chains.len()];
        for (i, draft) in self.drafts.iter().enumerate() {
            by_chain[draft.chain].push(i);
        }
        let mut refused: BTreeMap<usize, Invalid> = BTreeMap::new();
        for &chain in order {
            for &i in &by_chain[chain] {
                let draft = &self.drafts[i];
                match (draft.reached(reach[chain], self.chains[chain]), draft.action.step) {
                    (Err(reason), _) => _ = refused.insert(i, reason),
                    (Ok(hooks), Step::Jump(target)) => reach[target as usize] |= hooks,
                    _ => {}
                }
            }
        }
        self.remove(|i, _, _| refused.remove(&i));
        self.reach = reach;
    }

    /// Moves drafts for which there is a reason to the invalid ones.
    fn remove(&mut self, mut reason: impl FnMut(usize, &Draft<A>, &[&str]) -> Option<Invalid>) {
        let drafts = std::mem::take(&mut self.drafts);
        for (i, draft) in drafts.into_iter().enumerate() {
            match reason(i, &draft, &self.chains) {
                Some(reason) => _ = self.invalid.insert(draft.item.id, reason),
                None => self.drafts.push(draft),
            }
        }
    }

    fn emit(
        mut self,
        lists: &Arc<AddressLists>,
        gated: bool,
        book: &mut CounterBook,
        numbers: &HashMap<ItemId, usize>,
    ) -> Ruleset<A> {
        let mut ruleset = Ruleset {
            chains: Vec::new(),
            gates: Vec::new(),
            classes: None,
            rules: Vec::new(),
            notes: Vec::new(),
            lists: lists.clone(),
            invalid: self.invalid,
        };
        // Stable: the order within a chain stays.
        self.drafts.sort_by_key(|draft| draft.chain);
        let mut drafts = self.drafts.into_iter().peekable();
        for (chain, &name) in self.chains.iter().enumerate() {
            let start = ruleset.rules.len() as u32;
            while let Some(draft) = drafts.next_if(|draft| draft.chain == chain) {
                let number = numbers.get(&draft.item.id).copied().unwrap_or(0);
                let (rule, gate, note) = draft.emit(name, gated, number, book);
                ruleset.rules.push(rule);
                ruleset.gates.push(gate);
                ruleset.notes.push(note);
            }
            let rules = start..ruleset.rules.len() as u32;
            let reach = self.reach[chain];
            ruleset.chains.push(Chain { rules, name: name.into(), reach });
        }
        ruleset.classes = Classes::of(&ruleset.gates).map(Arc::new);
        ruleset
    }
}

fn target_name<A>(draft: &Draft<A>, chains: &[&str]) -> String {
    match draft.action.step {
        Step::Jump(chain) => chains[chain as usize].to_string(),
        _ => String::new(),
    }
}

/// `log=yes`, or `action=log`: one line either way.
fn log_head(item: &Item, chain: &str) -> Option<LogHead> {
    let wanted = item.get("log") == Some(&Value::Bool(true)) || text(item, "action") == Some("log");
    wanted.then(|| LogHead::new(text(item, "log-prefix").unwrap_or_default(), chain))
}
