//! Flows of a fair queue by number, and their turns: lists of numbers.

use super::codel::Codel;
use crate::queue::nodes::Ring;
use std::mem::offset_of;
use std::ops::{Index, IndexMut};
use wire::FiveTuple;

const NONE: u32 = u32::MAX;

/// Packets of the same addresses and ports, or of the same hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) ring: Ring,
    pub(super) key: FiveTuple,
    pub(super) deficit: i32,
    /// Who has the turn behind it, if it has one; else [`IDLE`], and [`FREE`] if it is nobody's.
    pub(super) next: u32,
    pub(super) codel: Codel,
}

/// A flow that is known and has no turn.
pub(super) const IDLE: u32 = u32::MAX - 1;
/// No flow.
pub(super) const FREE: u32 = u32::MAX - 2;

impl Flow {
    /// One of these packets, in which nobody waits.
    pub(super) fn new(key: FiveTuple) -> Flow {
        Flow { ring: Ring::default(), key, deficit: 0, next: IDLE, codel: Codel::default() }
    }

    pub(super) fn has_turn(&self) -> bool {
        self.next != IDLE && self.next != FREE
    }
}

/// Flows by number: the first stands in line with its queue, for most have but that one.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Flows {
    one: Flow,
    count: u32,
    more: Box<More>,
}

/// All but the first.
#[derive(Clone, Debug, Default)]
struct More(Vec<Flow>);

impl Flows {
    /// So many of its bytes whoever asks for the first touches.
    pub(super) const TOUCHED: usize = offset_of!(Flows, more);

    pub(super) fn new() -> Flows {
        Flows { one: Flow::new(FiveTuple::default()), count: 0, more: Box::default() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&Flow> {
        match at {
            0 => (self.count > 0).then_some(&self.one),
            _ => self.more.0.get(at as usize - 1),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut Flow> {
        match at {
            0 => (self.count > 0).then_some(&mut self.one),
            _ => self.more.0.get_mut(at as usize - 1),
        }
    }

    pub(super) fn push(&mut self, flow: Flow) {
        match self.count {
            0 => self.one = flow,
            _ => self.more.0.push(flow),
        }
        self.count += 1;
    }

    /// Asks for the memory of one that is not in line.
    pub(super) fn foresee(&self, at: u32) {
        if at > 0 {
            port::prefetch::element(&self.more.0, at as usize - 1);
        }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.more.0.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Flow> {
        let one = (self.count > 0).then_some(&self.one);
        one.into_iter().chain(if self.count > 1 { &self.more.0[..] } else { &[] })
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        let one = (self.count > 0).then_some(&mut self.one);
        one.into_iter().chain(&mut self.more.0)
    }
}

impl Index<u32> for Flows {
    type Output = Flow;

    #[inline]
    fn index(&self, at: u32) -> &Flow {
        match at {
            0 => &self.one,
            _ => &self.more.0[at as usize - 1],
        }
    }
}

impl IndexMut<u32> for Flows {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut Flow {
        match at {
            0 => &mut self.one,
            _ => &mut self.more.0[at as usize - 1],
        }
    }
}

/// Those of whom one has a turn, and then another.
pub(super) trait Turned {
    /// Who has it behind this one.
    fn next(&mut self, at: u32) -> &mut u32;
}

impl Turned for Flows {
    #[inline]
    fn next(&mut self, at: u32) -> &mut u32 {
        &mut self[at].next
    }
}

/// Those who have turns, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Turns {
    pub(super) const NOBODY: Turns = Turns { first: NONE, last: NONE };

    pub(super) fn push(&mut self, all: &mut impl Turned, at: u32) {
        *all.next(at) = NONE;
        match self.first {
            NONE => self.first = at,
            _ => *all.next(self.last) = at,
        }
        self.last = at;
    }

    pub(super) fn pop(&mut self, all: &mut impl Turned) -> Option<u32> {
        let first = (self.first != NONE).then_some(self.first)?;
        self.first = *all.next(first);
        Some(first)
    }
}
