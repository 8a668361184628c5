//! CoDel (RFC 8289): whoever waits longer than the target, for an interval, costs packets, one after
//! the other at distances that shrink with the square root of their number.

use crate::queue::nodes::{List, Ring};
use std::time::Duration;
use wire::Moment;

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelLimits {
    /// `codel-limit`, packets.
    pub packets: u32,
    /// `codel-target`.
    pub target: Duration,
    /// `codel-interval`.
    pub interval: Duration,
    /// `codel-ecn`: mark those that take it, instead of dropping.
    pub ecn: bool,
    /// `codel-ce-threshold`: whoever has waited longer is marked, if it takes that.
    pub ce: Option<Duration>,
}

/// A queue's state, apart from its ring and its limits.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::queue) struct Codel {
    /// When those that wait will have waited too long; the beginning of time: they have not begun to.
    first_above: Moment,
    drop_next: Moment,
    count: u16,
    last_count: u16,
    dropping: bool,
}

/// As long as a packet at least: below, nobody waits for long.
const MTU: u64 = 1514;

impl Codel {
    /// Whether it never dropped or marked: it has nothing to remember.
    pub(super) fn is_fresh(&self) -> bool {
        self.count == 0
    }

    /// Who goes next, marked if it waited beyond `codel-ce-threshold`.
    pub(super) fn dequeue(
        &mut self,
        limits: &CodelLimits,
        ring: &mut Ring,
        list: &mut List,
        now: Moment,
    ) -> Option<u32> {
        let node = self.next(limits, ring, list, now)?;
        let late = |threshold| now.since(list[node].came) > threshold;
        if limits.ce.is_some_and(late) && list[node].label.takes_marks() {
            list[node].marks.ce = true;
        }
        Some(node)
    }

    /// RFC 8289 §5.5.
    fn next(
        &mut self,
        limits: &CodelLimits,
        ring: &mut Ring,
        list: &mut List,
        now: Moment,
    ) -> Option<u32> {
        let (mut node, mut late) = self.look(limits, ring, list, now);
        if self.dropping {
            if !late {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                let first = node?;
                self.count = self.count.saturating_add(1);
                if limits.mark(list, first) {
                    self.drop_next = self.law(limits, self.drop_next);
                    return Some(first);
                }
                list.dropped.push(first);
                (node, late) = self.look(limits, ring, list, now);
                if late {
                    self.drop_next = self.law(limits, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
            return node;
        }
        if !late {
            return node;
        }
        let first = node?;
        if !limits.mark(list, first) {
            list.dropped.push(first);
            node = self.look(limits, ring, list, now).0;
        }
        self.dropping = true;
        let fresh = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < 16 * limits.interval;
        self.count = if fresh > 1 && recent { fresh } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.law(limits, now);
        node
    }

    /// The first packet, and whether those before it have waited too long for an interval.
    fn look(
        &mut self,
        limits: &CodelLimits,
        ring: &mut Ring,
        list: &mut List,
        now: Moment,
    ) -> (Option<u32>, bool) {
        let Some(node) = ring.pop(list) else {
            self.first_above = Moment::ZERO;
            return (None, false);
        };
        if now.since(list[node].came) < limits.target || ring.bytes <= MTU {
            self.first_above = Moment::ZERO;
            return (Some(node), false);
        }
        if self.first_above == Moment::ZERO {
            self.first_above = now + limits.interval;
            return (Some(node), false);
        }
        (Some(node), now >= self.first_above)
    }

    /// The next drop after one at `when`.
    fn law(&self, limits: &CodelLimits, when: Moment) -> Moment {
        when + limits.interval.div_f64(f64::from(self.count.max(1)).sqrt())
    }
}

impl CodelLimits {
    /// Marks a packet that takes it, if that is asked for; says whether.
    fn mark(&self, list: &mut List, node: u32) -> bool {
        let marks = self.ecn && list[node].label.takes_marks();
        list[node].marks.ce |= marks;
        marks
    }
}
