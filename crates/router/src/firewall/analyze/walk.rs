//! A walk of all packets at once through the chains of a table.
//!
//! ```text
//! pieces ─► rule ─┬─ not matched ─► next rule
//!                 ├─ matched ─► Stop ─► an outcome       Jump ─► the chain, and back
//!                 └─ a condition decides ─► both, each with what it assumes
//! ```
//!
//! A piece is a set of packets that have fared alike so far. Marks and DSCP that rules have changed are
//! kept beside the packets as they came, so that a piece's packets can always be sent.
//!
//! What a rule writes to the log, and counts, makes no difference here.

use super::cube::{CONNECTION_MARK, Cube, DSCP, PACKET_MARK, ROUTING_MARK, TTL};
use super::shape::Shape;
use crate::firewall::effect::{Effect, NewTtl};
use crate::firewall::rule::{Ruleset, Step};

/// Fields that rules change.
pub(crate) const CHANGED: [usize; 5] = [DSCP, PACKET_MARK, ROUTING_MARK, CONNECTION_MARK, TTL];
/// Beyond this many pieces, or this much work, an answer would take too long.
const MOST_PIECES: usize = 4096;
/// Chains within chains that are followed.
const DEPTH: usize = 64;

/// Packets that have fared alike.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// As they came.
    pub(crate) cube: Cube,
    /// What has become of the fields of [`CHANGED`]; `Some(None)` is a value that is not known.
    now: [Option<Option<u32>>; CHANGED.len()],
    /// Conditions, and whether they hold.
    pub(crate) assumed: Vec<(usize, bool)>,
    /// What was done to them, in order.
    pub(crate) done: Vec<String>,
}

impl Piece {
    pub(crate) fn of(cube: Cube) -> Piece {
        Piece { cube, now: [None; CHANGED.len()], assumed: Vec::new(), done: Vec::new() }
    }

    fn change(&mut self, field: usize, value: Option<u32>) {
        if let Some(at) = CHANGED.iter().position(|&other| other == field) {
            self.now[at] = Some(value);
        }
    }

    /// The part of a rule's cube that is about fields as they came; `None` if what became of the others
    /// does not match. False beside it if that is not certain.
    fn seen(&self, cube: &Cube) -> Option<(Cube, bool)> {
        let (mut cube, mut certain) = (cube.clone(), true);
        for (&field, now) in CHANGED.iter().zip(&self.now) {
            match now {
                None => continue,
                Some(Some(value)) if !cube.values(field).contains(*value) => return None,
                Some(Some(_)) => {}
                Some(None) => certain &= cube.is_free(field),
            }
            cube.forget(field);
        }
        Some((cube, certain))
    }
}

/// How packets fared.
#[derive(Clone, Debug)]
pub(crate) struct Outcome<A> {
    pub(crate) piece: Piece,
    /// The rule that ended their walk, and its word; `None` at the end of the built-in chain.
    pub(crate) by: Option<(usize, Option<A>)>,
}

impl<A> Outcome<A> {
    /// Whether both have packets in common, under conditions that agree.
    pub(crate) fn meets(&self, other: &Outcome<A>) -> bool {
        let agrees = |&(condition, holds): &(usize, bool)| {
            self.piece.assumed.iter().all(|&(known, was)| known != condition || was == holds)
        };
        self.piece.cube.meets(&other.piece.cube) && other.piece.assumed.iter().all(agrees)
    }
}

/// There are too many kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// A walk.
pub(crate) struct Walk<'a, A> {
    pub(crate) rules: &'a Ruleset<A>,
    pub(crate) shapes: &'a [Shape],
    /// A rule that is left out.
    pub(crate) without: Option<usize>,
    /// The condition that stands for what is not known: no rule's own.
    pub(crate) unknown: usize,
    /// How they fared.
    pub(crate) outcomes: Vec<Outcome<A>>,
    /// Rules that had a packet.
    pub(crate) met: Vec<bool>,
    /// Of those, the ones that ended a walk or went back.
    pub(crate) took: Vec<bool>,
    /// Steps that may still be made.
    pub(crate) work: usize,
}

impl<'a, A: Copy + PartialEq> Walk<'a, A> {
    pub(crate) fn new(rules: &'a Ruleset<A>, shapes: &'a [Shape], unknown: usize) -> Walk<'a, A> {
        let none = vec![false; rules.rules.len()];
        let (met, took) = (none.clone(), none);
        Walk { rules, shapes, without: None, unknown, outcomes: vec![], met, took, work: 4_000_000 }
    }

    /// Takes packets through a built-in chain.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn through(&mut self, hook: usize, pieces: Vec<Piece>) -> Result<(), TooMany> {
        let left = self.chain(hook, pieces, 0)?;
        self.outcomes.extend(left.into_iter().map(|piece| Outcome { piece, by: None }));
        Ok(())
    }

    /// What comes back from a chain.
    fn chain(
        &mut self,
        chain: usize,
        mut pieces: Vec<Piece>,
        depth: usize,
    ) -> Result<Vec<Piece>, TooMany> {
        if depth > DEPTH {
            return Err(TooMany);
        }
        let mut back = Vec::new();
        for at in self.rules.chains[chain].rules.clone() {
            let at = at as usize;
            if pieces.is_empty() {
                break;
            }
            self.work = self.work.checked_sub(pieces.len()).ok_or(TooMany)?;
            if self.without == Some(at) {
                continue;
            }
            let shape = &self.shapes[at];
            let is_near = |piece: &Piece| {
                piece.now.iter().any(Option::is_some)
                    || shape.cubes.iter().any(|cube| piece.cube.meets(cube))
            };
            if !pieces.iter().any(is_near) {
                continue;
            }
            let mut rest = Vec::with_capacity(pieces.len());
            let mut matched = Vec::new();
            for piece in pieces {
                self.split(piece, shape, &mut matched, &mut rest);
            }
            if rest.len() + matched.len() + self.outcomes.len() > MOST_PIECES {
                return Err(TooMany);
            }
            self.met[at] |= !matched.is_empty();
            let rule = &self.rules.rules[at];
            if let Some(add) = &rule.add {
                matched.iter_mut().for_each(|piece| piece.done.push(format!("{add:?}")));
            }
            let is_end = matches!(rule.step, Step::Stop(_) | Step::Return | Step::Last(_));
            self.took[at] |= is_end && !matched.is_empty();
            match rule.step {
                Step::Next => rest.append(&mut matched),
                Step::Do(effect) | Step::Last(effect) => {
                    matched.iter_mut().for_each(|piece| bring_about(piece, effect));
                    match rule.step {
                        Step::Do(_) => rest.append(&mut matched),
                        _ => self.end(at, None, matched),
                    }
                }
                Step::Jump(target) if !matched.is_empty() => {
                    rest.append(&mut self.chain(target as usize, matched, depth + 1)?);
                }
                Step::Jump(_) => {}
                Step::Return => back.append(&mut matched),
                Step::Stop(action) => self.end(at, Some(action), matched),
            }
            pieces = rest;
        }
        back.append(&mut pieces);
        Ok(back)
    }

    fn end(&mut self, at: usize, action: Option<A>, pieces: Vec<Piece>) {
        let outcome = |piece| Outcome { piece, by: Some((at, action)) };
        self.outcomes.extend(pieces.into_iter().map(outcome));
    }

    /// The part of a piece that a rule matches, and the rest.
    fn split(&self, piece: Piece, shape: &Shape, matched: &mut Vec<Piece>, rest: &mut Vec<Piece>) {
        let mut left = vec![piece];
        for cube in &shape.cubes {
            let mut outside = Vec::new();
            for piece in left {
                let Some((seen, certain)) = piece.seen(cube) else {
                    outside.push(piece);
                    continue;
                };
                let Some(inside) = piece.cube.and(&seen) else {
                    outside.push(piece);
                    continue;
                };
                let parts = piece.cube.without(&seen).into_iter();
                outside.extend(parts.map(|cube| Piece { cube, ..piece.clone() }));
                let unknown = (!certain).then_some((self.unknown, true));
                let asked = shape.conditions.iter().copied().chain(unknown);
                let mut inside = Some(Piece { cube: inside, ..piece });
                for (condition, wanted) in asked {
                    let Some(mut piece) = inside.take() else { break };
                    let known = piece.assumed.iter().find(|(other, _)| *other == condition);
                    match known.map(|(_, holds)| *holds) {
                        Some(holds) if holds == wanted => {}
                        Some(_) => {
                            rest.push(piece);
                            continue;
                        }
                        None => {
                            let mut other = piece.clone();
                            other.assumed.push((condition, !wanted));
                            rest.push(other);
                            piece.assumed.push((condition, wanted));
                        }
                    }
                    inside = Some(piece);
                }
                matched.extend(inside);
            }
            left = outside;
        }
        rest.append(&mut left);
    }
}

fn bring_about(piece: &mut Piece, effect: Effect) {
    match effect {
        Effect::MarkPacket(mark) => piece.change(PACKET_MARK, Some(mark.0.into())),
        Effect::MarkRouting(mark) => piece.change(ROUTING_MARK, Some(mark.0.into())),
        Effect::MarkConnection(mark) => piece.change(CONNECTION_MARK, Some(mark.0.into())),
        Effect::Dscp(dscp) => piece.change(DSCP, Some(dscp.into())),
        Effect::Ttl(NewTtl::Set(ttl)) => piece.change(TTL, Some(ttl.into())),
        Effect::Ttl(_) => piece.change(TTL, None),
        _ => {}
    }
    piece.done.push(format!("{effect:?}"));
}
