//! A table compiled again after few of its rules have changed: the others stay as they are compiled.
//!
//! ```text
//! before  ▮▮▮▮▮▮▮▮▮▯▮▮▮▮▮▮▮▮▮▮▮▮▮▮          the items of two trees are shared where they are the same
//! now     ▮▮▮▮▮▮▮▮▮▯▯▮▮▮▮▮▮▮▮▮▮▮▮▮▮
//!           the same ┘└ changed: out with the old rules, in with the new ones, at their places
//! ```
//!
//! Gives what compiling the whole table would give (a test compares them), or nothing where the change
//! reaches further than its own rules: jumps, chains that come or go, rules that were or become invalid.
//! The surroundings (interfaces, lists, patterns) must be the same: that is for the caller to know.

use super::{Compiler, Setting, Surroundings, Table};
use crate::firewall::invalid::Invalid;
use crate::firewall::read::text;
use crate::firewall::rule::{Ruleset, Step};
use config::{Item, ItemId, Tree};
use std::sync::Arc;

/// So many rules that change are few.
const FEW: usize = 64;

/// The table of this path, which `old` is for the rules of the tree `before`.
pub(crate) fn patched<A: Table>(
    old: &Ruleset<A>,
    setting: &mut Setting,
    before: &Tree,
    (path, v6): (&str, bool),
) -> Option<Ruleset<A>> {
    let (was, is) = (before.items(path), setting.tree.items(path));
    let same = |(was, is): &(&Arc<Item>, &Arc<Item>)| Arc::ptr_eq(was, is);
    let ahead = was.iter().zip(is).take_while(same).count();
    let behind = was[ahead..].iter().rev().zip(is[ahead..].iter().rev()).take_while(same).count();
    let (gone, come) = (&was[ahead..was.len() - behind], &is[ahead..is.len() - behind]);
    // Where marks are short, what goes may leave one to a rule that had none.
    let short = old.invalid.values().any(|why| matches!(why, Invalid::TooManyMarks(..)));
    if gone.len() + come.len() > FEW || short {
        return None;
    }
    let mut around = Surroundings::of(setting);
    around.v6 = v6;
    let mut new = old.clone();
    for item in gone.iter().filter(|item| !item.disabled) {
        new.take_out(item.id)?;
    }
    for note in &mut new.notes {
        if note.number >= ahead + gone.len() {
            note.number = note.number - gone.len() + come.len();
        }
    }
    let mut compiler = Compiler::<A>::new();
    for chain in &old.chains {
        compiler.enter_chain(&chain.name);
    }
    for (number, item) in is.iter().enumerate().take(ahead + come.len()).skip(ahead) {
        if item.disabled {
            continue;
        }
        let draft = compiler.draft(item, &around, setting.slots).ok()?;
        let (chain, name) = (draft.chain, compiler.chains[draft.chain]);
        draft.reached(old.chains[chain].reach, name).ok()?;
        if matches!(draft.action.step, Step::Jump(_)) {
            return None;
        }
        let others = is[..number].iter().rev().filter(|other| !other.disabled);
        let mut others = others.filter(|other| text(other, "chain") == Some(name));
        // Behind the nearest one that is in force.
        let behind = others.find_map(|other| new.place_of(other.id));
        let at = behind.map_or(new.chains[chain].rules.start as usize, |at| at + 1);
        let (rule, gate, note) = draft.emit(name, true, number, setting.book);
        new.rules.insert(at, rule);
        new.gates.insert(at, gate);
        new.notes.insert(at, note);
        new.chains[chain].rules.end += 1;
        for later in &mut new.chains[chain + 1..] {
            later.rules = later.rules.start + 1..later.rules.end + 1;
        }
    }
    // A chain is there as long as it has rules.
    let both = old.chains.iter().zip(&new.chains).skip(A::HOOKS.len());
    if both.into_iter().any(|(old, new)| !old.rules.is_empty() && new.rules.is_empty()) {
        return None;
    }
    new.classes = super::Classes::of(&new.gates).map(Arc::new);
    Some(new)
}

impl<A> Ruleset<A> {
    /// The place of an item's rule.
    fn place_of(&self, item: ItemId) -> Option<usize> {
        self.notes.iter().position(|note| note.item == item)
    }

    /// Takes a rule out that is no jump.
    fn take_out(&mut self, item: ItemId) -> Option<()> {
        let at = self.place_of(item)?;
        if matches!(self.rules[at].step, Step::Jump(_)) {
            return None;
        }
        self.rules.remove(at);
        self.gates.remove(at);
        self.notes.remove(at);
        for chain in &mut self.chains {
            let before = |place: u32| if place as usize > at { place - 1 } else { place };
            chain.rules = before(chain.rules.start)..before(chain.rules.end);
        }
        Some(())
    }
}
