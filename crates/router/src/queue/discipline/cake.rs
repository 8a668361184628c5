//! CAKE (Høiland-Jørgensen, Täht, Morton 2018): tins by DSCP, in each of them hosts and flows share.
//!
//! ```text
//!  DSCP ─► tin (bulk │ best effort │ video │ voice) ─► host ─► flow: CoDel ─┐
//!          └────────── in turn, by their weights ◄──────────────────────────┘
//! ```
//!
//! The rate is the class's own: its token bucket is CAKE's shaper. Flows are told apart by name, so
//! none ever collide. Missing: **ack-filter**, **overhead** (refused), **BLUE beside CoDel**.

use super::codel::CodelLimits;
use super::fair::{Fair, FairLimits, Isolation};
use crate::queue::nodes::{List, Ring};
use std::time::Duration;
use wire::Moment;

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CakeLimits {
    /// `cake-diffserv`.
    pub tins: Tins,
    /// `cake-flowmode`.
    pub isolation: Isolation,
    /// `cake-rtt`: CoDel's interval; its target is a twentieth of it.
    pub rtt: Duration,
    /// `cake-memlimit`, bytes.
    pub bytes: u64,
}

/// `cake-diffserv`: how many tins, and who belongs where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tins {
    /// One for all.
    BestEffort,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// By the three bits of IP precedence.
    Precedence,
}

impl Tins {
    /// What each may send in its turn, relative to the others: as Linux has it.
    fn quanta(self) -> &'static [u32] {
        match self {
            Tins::BestEffort => &[1024],
            Tins::Diffserv3 => &[64, 1024, 256],
            Tins::Diffserv4 => &[64, 1024, 512, 256],
            Tins::Precedence => &[256, 224, 196, 172, 150, 131, 115, 101],
        }
    }

    /// The tin of a DSCP.
    fn of(self, dscp: u8) -> usize {
        let bulk = matches!(dscp, 1 | 8);
        // TOS4, VA, EF, CS6, CS7.
        let voice = matches!(dscp, 4 | 44 | 46 | 48 | 56);
        // AF4x, AF3x, CS3, AF2x, TOS1..3, CS4, CS5.
        let video = matches!(dscp, 18 | 20 | 22 | 24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40);
        match self {
            Tins::BestEffort => 0,
            Tins::Precedence => usize::from(dscp >> 3),
            _ if bulk => 0,
            Tins::Diffserv3 => 1 + usize::from(voice),
            Tins::Diffserv4 if voice => 3,
            Tins::Diffserv4 => 1 + usize::from(video),
        }
    }
}

#[derive(Clone, Debug)]
pub(in crate::queue) struct Cake {
    tins: Vec<Tin>,
    kind: Tins,
    limits: CakeLimits,
    /// Whose turn it is.
    turn: usize,
}

#[derive(Clone, Debug)]
struct Tin {
    fair: Fair,
    quantum: u32,
    deficit: i64,
}

impl Cake {
    pub(super) fn new(limits: CakeLimits) -> Cake {
        let codel = CodelLimits {
            packets: u32::MAX,
            target: limits.rtt / 20,
            interval: limits.rtt,
            ecn: true,
            ce: None,
        };
        let fair = FairLimits {
            packets: u32::MAX,
            bytes: u64::MAX,
            flows: 0,
            quantum: 1514,
            codel: Some(codel),
            isolation: limits.isolation,
        };
        let tin =
            |&quantum: &u32| Tin { fair: Fair::new(fair, Duration::ZERO), quantum, deficit: 0 };
        let tins = limits.tins.quanta().iter().map(tin).collect();
        Cake { tins, kind: limits.tins, limits, turn: 0 }
    }

    pub(super) fn enqueue(&mut self, list: &mut List, node: u32, now: Moment) {
        let tin = self.kind.of(list[node].label.tos >> 2);
        self.tins[tin].fair.enqueue(list, node, now);
        while self.waiting().1 > self.limits.bytes {
            let fattest = self.tins.iter_mut().max_by_key(|tin| tin.fair.bytes);
            fattest.into_iter().for_each(|tin| tin.fair.drop_one(list));
        }
    }

    pub(super) fn dequeue(&mut self, list: &mut List, now: Moment) -> Option<u32> {
        while self.waiting().0 > 0 {
            let tin = &mut self.tins[self.turn];
            if tin.fair.packets == 0 || tin.deficit <= 0 {
                tin.deficit = (tin.deficit + i64::from(tin.quantum)).min(i64::from(tin.quantum));
                self.turn = (self.turn + 1) % self.tins.len();
                continue;
            }
            if let Some(node) = tin.fair.dequeue(list, now) {
                tin.deficit -= i64::from(list[node].len);
                return Some(node);
            }
        }
        None
    }

    pub(super) fn waiting(&self) -> (u32, u64) {
        let add =
            |(packets, bytes), tin: &Tin| (packets + tin.fair.packets, bytes + tin.fair.bytes);
        self.tins.iter().fold((0, 0), add)
    }

    pub(super) fn rings(&mut self) -> impl Iterator<Item = &mut Ring> {
        self.tins.iter_mut().flat_map(|tin| tin.fair.rings())
    }
}
