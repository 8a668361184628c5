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

/// A queue's state, apart from its ring.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Codel {
    pub(super) limits: CodelLimits,
    first_above: Option<Moment>,
    drop_next: Moment,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// As long as a packet at least: below, nobody waits for long.
const MTU: u64 = 1514;

impl Codel {
    pub(super) fn new(limits: CodelLimits) -> Codel {
        Codel {
            limits,
            first_above: None,
            drop_next: Moment::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Who goes next, marked if it waited beyond `codel-ce-threshold`.
    pub(super) fn dequeue(&mut self, ring: &mut Ring, list: &mut List, now: Moment) -> Option<u32> {
        let node = self.next(ring, list, now)?;
        let late = |threshold| now.since(list[node].came) > threshold;
        if self.limits.ce.is_some_and(late) && list[node].label.takes_marks() {
            list[node].marks.ce = true;
        }
        Some(node)
    }

    /// RFC 8289 §5.5.
    fn next(&mut self, ring: &mut Ring, list: &mut List, now: Moment) -> Option<u32> {
        let (mut node, mut late) = self.look(ring, list, now);
        if self.dropping {
            if !late {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                let first = node?;
                self.count += 1;
                if self.mark(list, first) {
                    self.drop_next = self.law(self.drop_next);
                    return Some(first);
                }
                list.dropped.push(first);
                (node, late) = self.look(ring, list, now);
                if late {
                    self.drop_next = self.law(self.drop_next);
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
        if !self.mark(list, first) {
            list.dropped.push(first);
            node = self.look(ring, list, now).0;
        }
        self.dropping = true;
        let fresh = self.count - self.last_count;
        let recent = now.since(self.drop_next) < 16 * self.limits.interval;
        self.count = if fresh > 1 && recent { fresh } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.law(now);
        node
    }

    /// The first packet, and whether those before it have waited too long for an interval.
    fn look(&mut self, ring: &mut Ring, list: &mut List, now: Moment) -> (Option<u32>, bool) {
        let Some(node) = ring.pop(list) else {
            self.first_above = None;
            return (None, false);
        };
        if now.since(list[node].came) < self.limits.target || ring.bytes <= MTU {
            self.first_above = None;
            return (Some(node), false);
        }
        let late = match self.first_above {
            None => {
                self.first_above = Some(now + self.limits.interval);
                false
            }
            Some(when) => now >= when,
        };
        (Some(node), late)
    }

    fn mark(&self, list: &mut List, node: u32) -> bool {
        let marks = self.limits.ecn && list[node].label.takes_marks();
        list[node].marks.ce |= marks;
        marks
    }

    /// The next drop after one at `when`.
    fn law(&self, when: Moment) -> Moment {
        when + self.limits.interval.div_f64(f64::from(self.count.max(1)).sqrt())
    }
}
