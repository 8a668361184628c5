//! The memory of rules between packets: the buckets of `limit`, the counts of `nth`, the dice of
//! `random`. It belongs to the item, not to the compiled program: editing another rule, or even
//! this one, resets nothing.
//!
//! ```text
//! compiled rule ── SlotId ──► slot { tokens, refilled, seen }   ◄── the same after every edit
//! ```

use crate::book::{Book, Fresh};
use crate::firewall::address_list::dynamic::DynamicLists;
use crate::firewall::matcher::block::Blocks;
use crate::firewall::matcher::dst_limit::Buckets;
use crate::firewall::matcher::hours::Clock;
use crate::firewall::matcher::layer7::Payloads;
use crate::firewall::matcher::rate::Rates;
use crate::firewall::matcher::scan::Sources;
use crate::firewall::syntax::{Limit, Nth};
use crate::firewall::told::Met;
use std::collections::HashMap;
use std::time::Duration;
use wire::Moment;

/// Where a rule's memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId(u32);

/// Which memory belongs to which item.
pub type SlotBook = Book<SlotId>;

impl From<u32> for SlotId {
    fn from(number: u32) -> SlotId {
        SlotId(number)
    }
}

/// The memory of all rules.
#[derive(Clone, Debug)]
pub struct RuleState {
    slots: Vec<Slot>,
    dice: u64,
    /// Of rules with `dst-limit`, `psd` and `connection-limit`.
    pub(crate) buckets: HashMap<SlotId, Buckets>,
    pub(crate) sources: HashMap<SlotId, Sources>,
    pub(crate) blocks: HashMap<SlotId, Blocks>,
    pub(crate) blocks6: HashMap<SlotId, Blocks<u128>>,
    /// Of connections, for all rules alike.
    pub(crate) rates: Rates,
    pub(crate) rates6: Rates<u128>,
    pub(crate) payloads: Payloads,
    /// The entries of address lists that are not configured.
    pub(crate) lists: DynamicLists,
    /// Those of IPv6.
    pub(crate) lists6: DynamicLists<u128>,
    /// The device's time of day.
    pub(crate) clock: Clock,
    /// Where to go on after `return`: the walk's stack, here for its memory.
    pub(crate) returns: Vec<(u32, u32)>,
    /// The rules a packet met, while somebody wants to know.
    pub(crate) told: Option<Vec<Met>>,
}

/// One rule's memory.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    bucket: Bucket,
    /// Packets seen in this round of `nth`.
    seen: u32,
}

/// A bucket of `limit` or `dst-limit`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    /// Tokens, in packets or bits times the nanoseconds of the limit's `per`; `None` before the
    /// first packet, which finds the bucket full.
    tokens: Option<u128>,
    /// The last refill, in ticks.
    refilled: u64,
}

/// Buckets are refilled this often, as RouterOS does.
const TICK: Duration = Duration::from_millis(10);

impl RuleState {
    /// No memory yet. `seed` decides what the dice show.
    pub fn new(seed: u64) -> RuleState {
        RuleState {
            slots: Vec::new(),
            dice: seed,
            buckets: HashMap::new(),
            sources: HashMap::new(),
            blocks: HashMap::new(),
            blocks6: HashMap::new(),
            rates: Rates::default(),
            rates6: Rates::default(),
            payloads: Payloads::default(),
            lists: DynamicLists::default(),
            lists6: DynamicLists::default(),
            clock: Clock::default(),
            returns: Vec::new(),
            told: None,
        }
    }

    /// Begins the dice of `random` anew.
    pub fn set_seed(&mut self, seed: u64) {
        self.dice = seed;
    }

    /// Makes place for the memory of a book's items; what is fresh remembers nothing.
    pub fn admit(&mut self, fresh: &Fresh<SlotId>) {
        self.slots.resize(self.slots.len().max(fresh.end), Slot::default());
        for &SlotId(slot) in &fresh.ids {
            self.slots[slot as usize] = Slot::default();
            self.buckets.remove(&SlotId(slot));
            self.sources.remove(&SlotId(slot));
            self.blocks.remove(&SlotId(slot));
            self.blocks6.remove(&SlotId(slot));
        }
    }

    /// `limit`: takes a token for a packet of `ip_len` bytes; false if there is none.
    pub(crate) fn take(&mut self, slot: SlotId, limit: &Limit, ip_len: u16, now: Moment) -> bool {
        self.slots[slot.0 as usize].bucket.take(limit, ip_len, now)
    }

    /// `nth`: counts one more packet; whether it is the one.
    pub(crate) fn count(&mut self, slot: SlotId, nth: Nth) -> bool {
        let slot = &mut self.slots[slot.0 as usize];
        slot.seen = if slot.seen >= nth.every { 1 } else { slot.seen + 1 };
        slot.seen == nth.packet
    }

    /// `random`: true in `percent` of 100 throws.
    pub(crate) fn throw(&mut self, percent: u8) -> bool {
        let throw = (u128::from(self.next()) * 100) >> 64;
        throw < u128::from(percent)
    }

    /// Any number, by the same dice.
    pub(crate) fn number(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    fn next(&mut self) -> u64 {
        // SplitMix64: one addition and a mix, good enough for dice and repeatable from the seed.
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Bucket {
    /// Takes a token for a packet of `ip_len` bytes; false if there is none.
    pub(crate) fn take(&mut self, limit: &Limit, ip_len: u16, now: Moment) -> bool {
        let unit = limit.per.as_nanos();
        let depth = u128::from(limit.burst) * unit;
        let tick = now.as_nanos() / TICK.as_nanos() as u64;
        let since = u128::from(tick.saturating_sub(self.refilled)) * TICK.as_nanos();
        let refill = since.saturating_mul(u128::from(limit.count));
        let tokens = self.tokens.map_or(depth, |t| t.saturating_add(refill).min(depth));
        self.refilled = tick;
        let price = unit * if limit.bits { u128::from(ip_len) * 8 } else { 1 };
        self.tokens = Some(tokens.checked_sub(price).unwrap_or(tokens));
        tokens >= price
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::ItemId;

    fn at_ms(ms: u64) -> Moment {
        Moment::from_nanos(ms * 1_000_000)
    }

    fn one() -> (RuleState, SlotId) {
        let (mut state, mut book) = (RuleState::new(1), SlotBook::default());
        let slot = book.of(ItemId(1));
        state.admit(&book.take_fresh());
        (state, slot)
    }

    /// Feeds a packet of 100 bytes at each time; how many were let through.
    fn passed(text: &str, times_ms: impl Iterator<Item = u64>) -> usize {
        let limit = Limit::parse(text).unwrap();
        let (mut state, slot) = one();
        times_ms.filter(|&ms| state.take(slot, &limit, 100, at_ms(ms))).count()
    }

    #[test]
    fn a_bucket_lets_through_its_burst_and_then_its_rate() {
        assert_eq!(passed("10,5:packet", std::iter::repeat_n(7, 100)), 5);
        // 5 at once, then 10 a second for 10 s, each token as soon as it is whole.
        assert_eq!(passed("10,5:packet", 0..10_000), 5 + 99);
        assert_eq!(passed("60/1m,1:packet", 0..10_000), 1 + 9);
        // 800 bits a packet: 8000 bit/s are ten packets a second.
        assert_eq!(passed("8k,1600:bit", 0..10_000), 2 + 99);
        // A packet that is greater than the bucket never passes.
        assert_eq!(passed("1M,799:bit", 0..1000), 0);
        // Nothing comes back between two ticks.
        assert_eq!(passed("1000,1:packet", 10..20), 1);
        // Never above the burst, however long nothing came.
        assert_eq!(passed("1000,3:packet", [0, 3_600_000].into_iter().flat_map(|t| [t; 9])), 6);
    }

    #[test]
    fn nth_matches_one_of_each_round() {
        let (mut state, slot) = one();
        let nth = Nth { every: 3, packet: 2 };
        let got: Vec<bool> = (0..7).map(|_| state.count(slot, nth)).collect();
        assert_eq!(got, [false, true, false, false, true, false, false]);
    }

    #[test]
    fn dice_are_fair_and_repeatable() {
        let throws = |seed, percent| {
            let mut state = RuleState::new(seed);
            (0..100_000).filter(|_| state.throw(percent)).count()
        };
        assert_eq!(throws(7, 30), throws(7, 30));
        for percent in [1u8, 30, 99] {
            let got = throws(42, percent) as f64 / 1000.0;
            assert!((got - f64::from(percent)).abs() < 0.5, "{percent} %: {got} %");
        }
    }

    #[test]
    fn memory_belongs_to_the_item() {
        let (mut state, mut book) = (RuleState::new(1), SlotBook::default());
        let [one, other, third] = [1, 2, 3].map(ItemId);
        let (a, b) = (book.of(one), book.of(other));
        state.admit(&book.take_fresh());
        let nth = Nth { every: 2, packet: 2 };
        assert!(!state.count(a, nth) && !state.count(b, nth));
        let freed = book.remove(one);
        book.reuse(freed);
        let c = book.of(third);
        state.admit(&book.take_fresh());
        assert!(state.count(b, nth), "kept");
        assert!(c == a && !state.count(c, nth), "starts anew in the freed place");
    }
}
