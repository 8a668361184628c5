//! CAKE (Høiland-Jørgensen, Täht, Morton 2018): tins by DSCP, in each of them hosts and flows share.
//!
//! ```text
//!  DSCP ─► tin (bulk │ best effort │ video │ voice) ─► host ─► flow: CoDel ─┐
//!          └─ no bandwidth: in turn, by their weights                       ├─► shaper ─►
//!             bandwidth:    the last whose share of it is not used up  ◄────┘   bytes on the line
//! ```
//!
//! With `cake-bandwidth` it is a shaper itself, which counts what packets take on the line behind
//! ([`Framing`]); without, the class's token bucket is the only one. `cake-autorate-ingress` sets that
//! bandwidth from how packets arrive. Flows are told apart by name, so none ever collide.

use super::ack::AckFilter;
use super::autorate::Autorate;
use super::codel::CodelLimits;
use super::fair::{Fair, FairLimits, Isolation};
use super::framing::Framing;
use super::{Limit, Next, Shared};
use crate::queue::bucket::Bucket;
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
    /// `cake-bandwidth`, bits per second on the line; 0 is no shaper.
    pub rate: u64,
    /// `cake-autorate-ingress`: that is only where it begins.
    pub autorate: bool,
    /// What packets take on the line.
    pub framing: Framing,
    /// `cake-ack-filter`.
    pub acks: AckFilter,
    /// `cake-wash`: DSCP is 0 afterwards.
    pub wash: bool,
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
    /// Eight, from bulk to network control.
    Diffserv8,
    /// By the three bits of IP precedence.
    Precedence,
}

impl Tins {
    /// What each may send in its turn, relative to the others; the largest has the whole bandwidth, the
    /// others as large a part of it. As Linux has it.
    fn quanta(self) -> &'static [u32] {
        match self {
            Tins::BestEffort => &[1024],
            Tins::Diffserv3 => &[64, 1024, 256],
            Tins::Diffserv4 => &[64, 1024, 512, 256],
            Tins::Diffserv8 | Tins::Precedence => &[256, 224, 196, 172, 150, 131, 115, 101],
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
            Tins::Diffserv8 => DIFFSERV8[usize::from(dscp & 63)].into(),
            _ if bulk => 0,
            Tins::Diffserv3 => 1 + usize::from(voice),
            Tins::Diffserv4 if voice => 3,
            Tins::Diffserv4 => 1 + usize::from(video),
        }
    }
}

/// The tins of eight by DSCP, as Linux has them.
const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2, //
    1, 2, 1, 2, 1, 2, 1, 2, // CS1, AF1x
    5, 2, 4, 2, 4, 2, 4, 2, // CS2, AF2x
    3, 2, 3, 2, 3, 2, 3, 2, // CS3, AF3x
    6, 2, 3, 2, 3, 2, 3, 2, // CS4, AF4x
    6, 2, 2, 2, 6, 2, 6, 2, // CS5, VA, EF
    7, 2, 2, 2, 2, 2, 2, 2, // CS6
    7, 2, 2, 2, 2, 2, 2, 2, // CS7
];

#[derive(Clone, Debug)]
pub(in crate::queue) struct Cake {
    tins: Vec<Tin>,
    limits: CakeLimits,
    /// Of the whole.
    shaper: Bucket,
    autorate: Option<Box<Autorate>>,
    /// Whose turn it is.
    turn: usize,
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug)]
struct Tin {
    fair: Fair,
    /// Its share of the bandwidth, bits per second, which it may exceed while nobody else wants it; 0
    /// is none.
    rate: u64,
    /// When it has not used up its share.
    next: Moment,
    quantum: u32,
    deficit: i64,
}

impl Cake {
    pub(super) fn new(limits: CakeLimits, shared: &mut Shared, now: Moment) -> Cake {
        let quanta = limits.tins.quanta();
        let most = most(quanta);
        let tin = |&quantum: &u32| {
            let rate = share(limits.rate, quantum, most);
            let fair = FairLimits {
                packets: u32::MAX,
                bytes: u64::MAX,
                flows: 0,
                quantum: 1514,
                codel: Some(codel(limits.rtt, rate)),
                blue: true,
                isolation: limits.isolation,
                acks: limits.acks,
                perturb: Duration::ZERO,
            };
            let fair = Fair::new(shared.limits(fair));
            Tin { fair, rate, next: now, quantum, deficit: 0 }
        };
        let tins = quanta.iter().map(tin).collect();
        let shaper = Bucket::new(shaped(limits.rate), now).with_room_for_a_packet();
        let autorate = limits.autorate.then(|| Box::new(Autorate::new(limits.rate, now)));
        Cake { tins, limits, shaper, autorate, turn: 0, packets: 0, bytes: 0 }
    }

    /// Shapes to another rate from now on.
    fn set_rate(&mut self, rate: u64, now: Moment) {
        self.limits.rate = rate;
        self.shaper = self.shaper.with_limit(shaped(rate), now).with_room_for_a_packet();
        let most = most(self.limits.tins.quanta());
        for tin in &mut self.tins {
            tin.rate = share(rate, tin.quantum, most);
            tin.fair.set_codel(codel(self.limits.rtt, tin.rate));
        }
    }

    pub(super) fn enqueue(&mut self, list: &mut List, node: u32, now: Moment) {
        let rate = self.autorate.as_mut().and_then(|line| line.arrive(list[node].len, now));
        rate.into_iter().for_each(|rate| self.set_rate(rate, now));
        let dscp = list[node].label.tos >> 2;
        list[node].marks.wash = self.limits.wash && dscp != 0;
        let tin = self.limits.tins.of(dscp);
        if self.packets == 0 {
            self.shaper.keep(SPARE_NS, now);
        }
        if self.tins[tin].fair.packets == 0 {
            self.tins[tin].next = self.tins[tin].next.max(now);
        }
        self.at(tin, |fair| fair.enqueue(list, node, now));
        while self.bytes > self.limits.bytes {
            let tins = self.tins.iter().enumerate();
            let fattest = tins.max_by_key(|(_, tin)| tin.fair.bytes).map_or(0, |(at, _)| at);
            self.at(fattest, |fair| fair.drop_some(list, 1, now));
        }
    }

    pub(super) fn dequeue(&mut self, list: &mut List, now: Moment) -> Next {
        while self.packets > 0 {
            if let Some(when) = self.shaper.clear(now) {
                return Next::Later(when);
            }
            let at = if self.limits.rate == 0 { self.in_turn() } else { self.by_share(now) };
            if let Some(node) = self.at(at, |fair| fair.dequeue(list, now)) {
                let len = self.limits.framing.len(list[node].len);
                let tin = &mut self.tins[at];
                tin.deficit -= i64::from(len);
                tin.charge(len, now);
                self.shaper.charge(len);
                return Next::Packet(node);
            }
        }
        Next::Empty
    }

    /// The tin whose turn it is, of those with packets.
    fn in_turn(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.fair.packets > 0 && tin.deficit > 0 {
                return self.turn;
            }
            tin.deficit = (tin.deficit + i64::from(tin.quantum)).min(i64::from(tin.quantum));
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }

    /// The last tin with packets that has not used up its share of the bandwidth; if all have, the one
    /// that has it again first.
    fn by_share(&self, now: Moment) -> usize {
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| tin.fair.packets > 0);
        let when = waiting.map(|(at, tin)| (tin.next.max(now), at));
        // Of those that may send now, the last; they come before all others.
        when.min_by_key(|&(when, at)| (when, std::cmp::Reverse(at))).map_or(0, |(_, at)| at)
    }

    /// Does something with a tin, and counts what waits by that.
    fn at<R>(&mut self, tin: usize, with: impl FnOnce(&mut Fair) -> R) -> R {
        let fair = &mut self.tins[tin].fair;
        let (packets, bytes) = (fair.packets, fair.bytes);
        let result = with(fair);
        self.packets = self.packets - packets + fair.packets;
        self.bytes = self.bytes - bytes + fair.bytes;
        result
    }

    pub(super) fn rings(&mut self) -> impl Iterator<Item = &mut Ring> {
        self.tins.iter_mut().flat_map(|tin| tin.fair.rings())
    }
}

impl Tin {
    /// Counts `len` bytes in its share. What it has beyond that is not held against it for longer than
    /// one packet takes.
    fn charge(&mut self, len: u32, now: Moment) {
        let takes = (u64::from(len) * 8_000_000_000).checked_div(self.rate).unwrap_or(0);
        let takes = Duration::from_nanos(takes);
        let next = if self.next < now { self.next + takes } else { now + takes };
        self.next = self.next.max(next);
    }
}

/// What was not sent for want of packets in so many nanoseconds may be sent at once.
const SPARE_NS: u64 = 1_000_000;
/// So late a port may be, or a router whose processor does something else, while packets wait.
const LATE_NS: u64 = 20_000_000;

/// The limit of a shaper that makes up for the time in which packets waited and it was not asked, as Linux's does. (Without,
/// User Mode Linux had 3 % more of 9 Mbit/s.)
fn shaped(rate: u64) -> Limit {
    Limit { rate, depth_ns: LATE_NS + packet_ns(rate), packets: 0 }
}

/// The quantum of the tin that has the whole bandwidth.
fn most(quanta: &[u32]) -> u32 {
    quanta.iter().copied().max().unwrap_or(1)
}

/// A tin's share of a rate.
fn share(rate: u64, quantum: u32, most: u32) -> u64 {
    // At most the whole.
    (u128::from(rate) * u128::from(quantum) / u128::from(most)) as u64
}

/// How long the longest packet of Ethernet takes; 0 without a rate.
fn packet_ns(rate: u64) -> u64 {
    (1514 * 8 * 1_000_000_000u64).checked_div(rate).unwrap_or(0)
}

/// CoDel's terms for a tin of this rate: as Linux has it, at least one and a half packets may wait.
fn codel(rtt: Duration, rate: u64) -> CodelLimits {
    let usual = rtt / 20;
    let target = usual.max(Duration::from_nanos(packet_ns(rate).saturating_mul(3) / 2));
    let interval = (rtt + target - usual).max(2 * target);
    CodelLimits { packets: u32::MAX, target, interval, ecn: true, ce: None }
}
