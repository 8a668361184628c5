//! RED, random early detection (Floyd, Jacobson 1993), counting bytes.
//!
//! ```text
//!  probability       1 ┤          ┌────
//!                      │          │
//!                 0.02 ┤       ／ │
//!                      └──────／───┴────► average length
//!                           min  max
//! ```
//!
//! The average follows the length slowly, by how many packets a burst may have; below `min` nobody is
//! dropped, above `max` everybody is, in between more and more, at even distances. While nobody waits
//! it sinks as if packets had left at 10 Mbit/s, as tc has it where no bandwidth is given.

use crate::queue::nodes::{List, Ring};
use wire::Moment;

/// What is configured; thresholds in packets of the average size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedLimits {
    /// `red-limit`: so many packets at most.
    pub limit: u32,
    /// `red-min-threshold`.
    pub min: u32,
    /// `red-max-threshold`.
    pub max: u32,
    /// `red-burst`, packets.
    pub burst: u32,
    /// `red-avg-packet`, bytes.
    pub average_packet: u32,
}

const MAX_PROBABILITY: f64 = 0.02;
const IDLE_RATE: f64 = 10e6;

#[derive(Clone, Debug)]
pub(in crate::queue) struct Red {
    limits: RedLimits,
    pub(super) ring: Ring,
    /// Of the length, in bytes.
    average: f64,
    /// How much one packet moves it.
    weight: f64,
    /// Packets since the last that was dropped.
    since_drop: f64,
    idle_since: Option<Moment>,
    dice: u64,
}

impl Red {
    pub(super) fn new(limits: RedLimits) -> Red {
        // As tc chooses it: the first power of a half with which so many packets in a burst stay
        // below the lower threshold.
        let burst = f64::from(limits.burst);
        let wanted = burst + 1.0 - f64::from(limits.min);
        let mut weight = 0.5f64;
        while weight > 1e-9 && wanted > (1.0 - (1.0 - weight).powf(burst)) / weight {
            weight /= 2.0;
        }
        Red {
            limits,
            ring: Ring::default(),
            average: 0.0,
            weight,
            since_drop: -1.0,
            idle_since: None,
            dice: 0x9e37_79b9_7f4a_7c15,
        }
    }

    pub(super) fn enqueue(&mut self, list: &mut List, node: u32, now: Moment) {
        let limits = self.limits;
        let packet = f64::from(limits.average_packet.max(1));
        if let Some(since) = self.idle_since.take() {
            let passed = now.since(since).as_secs_f64() * IDLE_RATE / 8.0 / packet;
            self.average *= (1.0 - self.weight).powf(passed);
        } else {
            self.average += self.weight * (self.ring.bytes as f64 - self.average);
        }
        let (min, max) = (f64::from(limits.min) * packet, f64::from(limits.max) * packet);
        let drop = if self.average < min {
            self.since_drop = -1.0;
            false
        } else if self.average >= max {
            self.since_drop = -1.0;
            true
        } else {
            self.since_drop += 1.0;
            let p = MAX_PROBABILITY * (self.average - min) / (max - min);
            let drop = self.since_drop > 0.0 && self.throw() * (1.0 - self.since_drop * p) < p;
            if drop {
                self.since_drop = 0.0;
            }
            drop
        };
        if drop || self.ring.packets >= limits.limit {
            if self.ring.packets == 0 {
                self.idle_since = Some(now);
            }
            return list.dropped.push(node);
        }
        self.ring.push(list, node);
    }

    pub(super) fn dequeue(&mut self, list: &mut List, now: Moment) -> Option<u32> {
        let node = self.ring.pop(list);
        if self.ring.packets == 0 && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        node
    }

    /// A number from 0 to 1.
    fn throw(&mut self) -> f64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 11) as f64 / (1u64 << 53) as f64
    }
}
