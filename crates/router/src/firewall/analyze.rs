//! Analysis of rules for all packets at once: which are never asked, and what a change of them changes.
//!
//! ```text
//! a rule's packets ─► walk with it    ─┬─ it has none: shadowed, unreachable
//!                  └► walk without it ─┴─ they fare alike: redundant
//! changed rules' packets ─► walk of the old ─┬─ pieces of both that fare otherwise: a packet of each
//!                        └► walk of the new ─┘
//! ```
//!
//! Exact for what is constant in a packet's headers, marks and connection state. What remembers or looks
//! further (`limit`, `content`, lists that rules fill) is a condition: an answer says which ones it needs.
//! Tables are looked at one by one: which marks an earlier table leaves, and which packets routing
//! sends where, is not asked.

// Sets of packets.
pub(crate) mod cube;
// A rule's packets.
pub(crate) mod shape;
// All packets at once.
pub(crate) mod walk;

use self::cube::{Cube, FRAGMENT, IN, OUT, Ranges};
use self::shape::Shape;
use self::walk::{CHANGED, Outcome, Piece, TooMany, Walk};
use crate::firewall::compile::{Hook, Table};
use crate::firewall::raw;
use crate::firewall::rule::{Ruleset, Step};

/// What is to be said of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// No packet meets it: these rules, by place, take all that it would.
    Unreachable(Vec<usize>),
    /// Without it all packets would fare the same, for these rules do to them what it does.
    Redundant(Vec<usize>),
    /// There are too many kinds of packets to say.
    TooMany,
}

/// Packets that fare otherwise with the new rules.
#[derive(Clone, Debug)]
pub(crate) struct Difference<A> {
    /// The built-in chain.
    pub(crate) hook: usize,
    pub(crate) cube: Cube,
    /// Under these conditions.
    pub(crate) assumed: Vec<(usize, bool)>,
    /// The rule that decided, and its word; before and now.
    pub(crate) old: Option<(usize, Option<A>)>,
    pub(crate) new: Option<(usize, Option<A>)>,
    /// What was done to them differs, not how they end.
    pub(crate) done: bool,
}

/// Rules with the shapes of each.
pub(crate) struct Shaped<'a, A> {
    pub(crate) rules: &'a Ruleset<A>,
    pub(crate) shapes: &'a [Shape],
    /// Interfaces that there are.
    pub(crate) interfaces: &'a Ranges,
    /// The condition that stands for what is not known.
    pub(crate) unknown: usize,
}

/// What a chain's packets have in common.
fn of_hook(hook: &Hook, interfaces: &Ranges, has_pieces: bool) -> Cube {
    let none = Ranges::one(0);
    let of = |has: bool| if has { interfaces } else { &none };
    let all = Ranges::of([(0, u32::from(has_pieces))]);
    let cube = Cube::all().with(FRAGMENT, &all, false);
    let cube = cube.and_then(|cube| cube.with(IN, of(hook.has_in), false));
    cube.and_then(|cube| cube.with(OUT, of(hook.has_out), false)).unwrap_or_default()
}

impl<A: Table + PartialEq> Shaped<'_, A> {
    /// The pieces to begin with: the packets of these cubes at a built-in chain.
    fn begin(&self, hook: usize, cubes: &[Cube]) -> Vec<Piece> {
        let all = of_hook(
            &A::HOOKS[hook],
            self.interfaces,
            // Connection tracking puts them together, behind raw.
            A::PATH == raw::MENU.path,
        );
        let mut pieces: Vec<Cube> = Vec::new();
        for cube in cubes {
            let mut cube = cube.clone();
            // What rules change is looked at when it is changed.
            CHANGED.iter().for_each(|&field| cube.forget(field));
            let Some(cube) = cube.and(&all) else { continue };
            let mut fresh = vec![cube];
            for known in &pieces {
                fresh = fresh.iter().flat_map(|cube| cube.without(known)).collect();
            }
            pieces.append(&mut fresh);
        }
        pieces.into_iter().map(Piece::of).collect()
    }

    fn walk(
        &self,
        hook: usize,
        cubes: &[Cube],
        without: Option<usize>,
    ) -> Result<Walk<'_, A>, TooMany> {
        let mut walk = Walk::new(self.rules, self.shapes, self.unknown);
        walk.without = without;
        walk.through(hook, self.begin(hook, cubes))?;
        Ok(walk)
    }

    /// What is to be said of a rule; `None` if it has packets, and is needed.
    pub(crate) fn finding(&self, at: usize) -> Option<Finding> {
        self.try_finding(at).unwrap_or(Some(Finding::TooMany))
    }

    fn try_finding(&self, at: usize) -> Result<Option<Finding>, TooMany> {
        let cubes = &self.shapes[at].cubes;
        let (mut met, mut alike) = (false, true);
        let mut takers = vec![false; self.shapes.len()];
        let mut others = takers.clone();
        let rule = &self.rules.rules[at];
        let does_more = rule.log.is_some() || rule.add.is_some();
        for hook in 0..A::HOOKS.len() {
            let with = self.walk(hook, cubes, None)?;
            takers.iter_mut().zip(&with.took).for_each(|(taker, took)| *taker |= took);
            if !with.met[at] {
                continue;
            }
            met = true;
            if alike && !does_more && !matches!(rule.step, Step::Jump(_)) {
                let without = self.walk(hook, cubes, Some(at))?;
                alike &= differences(hook, &with.outcomes, &without.outcomes, 1)?.is_empty();
                let own = with.outcomes.iter().filter(|one| one.by.is_some_and(|(by, _)| by == at));
                for own in own {
                    for other in without.outcomes.iter().filter(|one| own.meets(one)) {
                        if let Some((by, _)) = other.by {
                            others[by] = true;
                        }
                    }
                }
            }
        }
        let chain = self.rules.chains.iter().find(|chain| chain.rules.contains(&(at as u32)));
        let own = chain.map_or(0..0, |chain| chain.rules.start as usize..chain.rules.end as usize);
        let places = |which: &[bool], is: &dyn Fn(usize) -> bool| {
            let all = which.iter().enumerate().filter(|(place, which)| **which && is(*place));
            all.map(|(place, _)| place).collect::<Vec<_>>()
        };
        Ok(match (met, alike && !does_more && !matches!(rule.step, Step::Jump(_))) {
            // Of its own chain, only those before it.
            (false, _) => Some(Finding::Unreachable(places(&takers, &|place| {
                place < at || !own.contains(&place)
            }))),
            (true, true) => Some(Finding::Redundant(places(&others, &|place| place != at))),
            (true, false) => None,
        })
    }
}

/// Where pieces fare otherwise; at most so many.
fn differences<A: Table + PartialEq>(
    hook: usize,
    old: &[Outcome<A>],
    new: &[Outcome<A>],
    max: usize,
) -> Result<Vec<Difference<A>>, TooMany> {
    let mut found: Vec<Difference<A>> = Vec::new();
    if old.len().saturating_mul(new.len()) > 4_000_000 {
        return Err(TooMany);
    }
    for before in old {
        for now in new {
            // The end of a built-in chain accepts.
            let word = |outcome: &Outcome<A>| {
                outcome.by.and_then(|(_, action)| action).filter(|action| !action.accepts())
            };
            let (ends, done) = (word(before) != word(now), before.piece.done != now.piece.done);
            // The same rules decide of many pieces: one of them will do.
            let is_known = |known: &Difference<A>| {
                let place = |by: &Option<(usize, Option<A>)>| by.map(|(at, _)| at);
                place(&known.old) == place(&before.by) && place(&known.new) == place(&now.by)
            };
            if (!ends && !done) || found.iter().any(is_known) {
                continue;
            }
            if !before.meets(now) {
                continue;
            }
            let Some(cube) = before.piece.cube.and(&now.piece.cube) else { continue };
            let mut assumed = before.piece.assumed.clone();
            let more = now.piece.assumed.iter().filter(|more| !before.piece.assumed.contains(more));
            assumed.extend(more);
            found.push(Difference {
                hook,
                cube,
                assumed,
                old: before.by,
                new: now.by,
                done: !ends,
            });
            if found.len() == max {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Which packets fare otherwise: one of each kind, at most `max` for each built-in chain.
///
/// # Errors
/// [`TooMany`] kinds of packets to say.
pub(crate) fn change<A: Table + PartialEq>(
    old: &Shaped<'_, A>,
    new: &Shaped<'_, A>,
    max: usize,
) -> Result<Vec<Difference<A>>, TooMany> {
    let (old_chains, new_chains) = (old.rules.chain_of_each(), new.rules.chain_of_each());
    let same = |(at, other): (usize, usize)| {
        let (rule, new_rule) = (&old.rules.rules[at], &new.rules.rules[other]);
        old_chains[at] == new_chains[other]
            && old.shapes[at] == new.shapes[other]
            && rule.step == new_rule.step
            && rule.add == new_rule.add
    };
    let (n_old, n_new) = (old.shapes.len(), new.shapes.len());
    let chains = |rules: &Ruleset<A>| -> Vec<u32> {
        rules.chains.iter().map(|chain| chain.rules.end - chain.rules.start).collect()
    };
    let alike = chains(old.rules) == chains(new.rules);
    let both = n_old.min(n_new);
    let mut cubes: Vec<Cube> = Vec::new();
    if alike {
        // Some were edited where they stand.
        for at in (0..both).filter(|&at| !same((at, at))) {
            cubes.extend(old.shapes[at].cubes.iter().chain(&new.shapes[at].cubes).cloned());
        }
    } else {
        let head = (0..both).take_while(|&at| same((at, at))).count();
        let tail = (1..=both - head).take_while(|&n| same((n_old - n, n_new - n))).count();
        let changed = old.shapes[head..n_old - tail].iter().chain(&new.shapes[head..n_new - tail]);
        cubes.extend(changed.flat_map(|shape| shape.cubes.iter().cloned()));
    }
    if cubes.is_empty() {
        return Ok(Vec::new());
    }
    if cubes.len() > 256 {
        cubes = vec![Cube::all()];
    }
    let mut found = Vec::new();
    for hook in 0..A::HOOKS.len() {
        let (before, now) = (old.walk(hook, &cubes, None)?, new.walk(hook, &cubes, None)?);
        found.extend(differences(hook, &before.outcomes, &now.outcomes, max)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
