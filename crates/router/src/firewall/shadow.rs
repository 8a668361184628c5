//! Rules that no packet reaches, because an earlier one of their chain takes all of theirs.
//!
//! ```text
//! 3  chain=forward protocol=tcp dst-port=1-1023 action=drop
//! 7  chain=forward protocol=tcp dst-port=22 action=accept     ◄─ rule 3 takes all its packets
//! ```
//!
//! Said only where it is certain: the earlier rule ends the walk, each of its conditions is among the
//! later one's or wider, and none of them remembers anything. A rule behind more than [`LOOK_BACK`]
//! others is compared with the nearest ones. Never changes what a rule does: this is for print.

use crate::firewall::rule::{Ruleset, Step};
use config::ItemId;

/// So many earlier rules are compared.
const LOOK_BACK: usize = 1024;

impl<A: Copy + PartialEq> Ruleset<A> {
    /// The number, as `print` shows it, of the first rule that takes all packets of this one.
    pub(crate) fn shadowed_by(&self, item: ItemId) -> Option<usize> {
        let at = self.notes.iter().position(|note| note.item == item)?;
        let chain = self.chains.iter().find(|chain| chain.rules.contains(&(at as u32)))?;
        let first = (chain.rules.start as usize).max(at.saturating_sub(LOOK_BACK));
        let taker = (first..at).find(|&earlier| self.takes_all(earlier, at))?;
        Some(self.notes[taker].number)
    }

    fn takes_all(&self, earlier: usize, later: usize) -> bool {
        let (rule, other) = (&self.rules[earlier], &self.rules[later]);
        let ends = matches!(rule.step, Step::Stop(_) | Step::Return);
        let is_among = |matcher| other.matchers.contains(matcher);
        ends && self.gates[earlier].covers(&self.gates[later])
            && rule.matchers.iter().all(|m| !m.what.varies() && is_among(m))
    }
}
