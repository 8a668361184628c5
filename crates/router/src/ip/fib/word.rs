//! Addresses as the table takes them apart: a place in the direct table, then six bits at a time.
//!
//! ```text
//!           18 bits                        6        6
//!  IPv4  ├──── slot ────┤                ├────┤  ├────┤ …
//!  IPv6  001├─ slot, 15 ┤                ├────┤  ├────┤ …       2000::/3, all that the Internet has
//!        every other address: the last slot, ├────┤├────┤ …     from its first bit on
//! ```
//!
//! Behind its three bits IPv6's direct table takes 128 KiB instead of one MiB, and nodes end at /24,
//! /30, /36, /42 and /48: half of all prefixes are /48, and 64 of them share a node. With a direct
//! table of 18 bits behind the three they end at /45 and /51, and the real table takes 19 bytes a route
//! instead of 12.

use super::NextHopId;
use super::rib::Rib4;
use super::rib6::Rib6;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use wire::{Ipv4Prefix, Ipv6Prefix};

/// Address bits a node resolves.
pub(super) const STRIDE: u32 = 6;
/// Address bits resolved before the first node, and how long a "short" prefix is at most.
pub(super) const ROOT_DEPTH: u32 = 18;

/// What a look-up has not used yet of an address, the next bits at a fixed place.
pub trait Rest: Copy + Default {
    /// The six bits that come next.
    fn next(self) -> u32;

    /// Takes six bits off.
    #[must_use]
    fn shift(self) -> Self;

    /// What is next, at the left end.
    fn left(self) -> u64;

    /// Takes bits off, fewer than 64.
    #[must_use]
    fn skip(self, bits: u32) -> Self;

    /// Whether so much was taken off that less than six bits may be left, where it held a part of the address.
    fn is_spent(self) -> bool;
}

/// An address: `u32` of IPv4, `u128` of IPv6.
pub trait Word: Rest + Ord + Debug {
    /// As much of an address as nearly all look-ups take.
    type Window: Rest;
    /// A network of such addresses.
    type Prefix: Copy + Ord + Debug;
    /// Its routes.
    type Rib: Rib<Self>;
    /// An entry for each slot. An array, so that the compiler knows that every slot is there.
    type Direct: AsRef<[u32]> + AsMut<[u32]> + Clone;

    /// Bits of an address.
    const BITS: u8;
    /// Entries of the direct table.
    const SLOTS: usize;

    /// A direct table of zeros.
    fn direct() -> Box<Self::Direct>;

    /// The entry of an address in the direct table.
    fn slot(self) -> usize;

    /// Its slot, and the address without the bits that the slot stands for.
    fn enter(self) -> (usize, Self);

    /// The first of what is left.
    fn window(rest: Self) -> Self::Window;

    /// Whether nodes with one way on are passed over: of IPv4 there are two or three in a row at most, each of
    /// which takes as long as a comparison.
    const SKIPS: bool;

    /// What stands behind the first `depth` bits of an address, at the left end.
    fn behind(self, depth: u32) -> u64;

    /// The six bits behind the first `depth`; fewer at the end count as the upper ones of six.
    fn bits_at(self, depth: u32) -> u32;

    /// The part of an address that routes below a slot are told apart by.
    fn low(self) -> Self;

    /// A network.
    fn prefix(self, len: u8) -> Self::Prefix;

    /// The first address of a network, and its length.
    fn first(prefix: Self::Prefix) -> (Self, u8);

    /// The last address of a network.
    fn last(prefix: Self::Prefix) -> Self;

    /// The slots whose addresses a network has any of; of /0, which is in none, all.
    fn slots(prefix: Self::Prefix) -> RangeInclusive<usize>;

    /// Whether a network covers whole slots, rather than being told apart below one.
    fn is_short(prefix: Self::Prefix) -> bool;

    /// How many bits are resolved where a slot's first node is.
    fn depth(slot: usize) -> u32;
}

/// The routes themselves, by prefix.
pub trait Rib<W: Word>: Clone {
    /// A route below a slot.
    type Route: Route<W>;
    /// All routes in address order, a prefix before those inside it.
    type Iter<'a>: Iterator<Item = (W::Prefix, NextHopId)> + Clone
    where
        Self: 'a;

    /// None.
    fn new() -> Self;

    /// How many routes there are.
    fn len(&self) -> usize;

    /// The next hop of exactly this prefix.
    fn get(&self, prefix: W::Prefix) -> Option<NextHopId>;

    /// Sets the next hop of a prefix, [`NextHopId::NONE`] to take the route away; returns what it
    /// was.
    fn set(&mut self, prefix: W::Prefix, id: NextHopId) -> NextHopId;

    /// The same for many in order, each prefix there once. `changed` hears of a prefix in every slot
    /// that is concerned.
    fn merge(&mut self, changes: &[(W::Prefix, NextHopId)], changed: impl FnMut(W::Prefix));

    /// The routes told apart below a slot, in order.
    fn long(&self, slot: usize) -> &[Self::Route];

    /// The longest short route that covers a slot: its next hop and length; the default route does
    /// not count (the trie keeps it apart).
    fn base(&self, slot: usize) -> (NextHopId, u8);

    /// All routes.
    fn iter(&self) -> Self::Iter<'_>;

    /// Bytes allocated.
    fn bytes(&self) -> usize;
}

/// A route below a slot.
pub trait Route<W>: Copy {
    /// Of its first address, what [`Word::low`] leaves.
    fn low(self) -> W;

    /// The length of its prefix.
    fn len(self) -> u32;

    /// Its next hop.
    fn id(self) -> NextHopId;
}

impl Rest for u32 {
    /// The slot's bits are still there: shifting them out here is free.
    #[inline(always)]
    fn next(self) -> u32 {
        (self << ROOT_DEPTH) >> (32 - STRIDE)
    }

    #[inline(always)]
    fn shift(self) -> u32 {
        self << STRIDE
    }

    #[inline(always)]
    fn left(self) -> u64 {
        self.behind(ROOT_DEPTH)
    }

    #[inline(always)]
    fn skip(self, bits: u32) -> u32 {
        self << bits
    }

    #[inline(always)]
    fn is_spent(self) -> bool {
        false
    }
}

impl Word for u32 {
    type Window = u32;
    type Prefix = Ipv4Prefix;
    type Rib = Rib4;
    type Direct = [u32; 1 << ROOT_DEPTH];

    const BITS: u8 = 32;
    const SLOTS: usize = 1 << ROOT_DEPTH;

    fn direct() -> Box<Self::Direct> {
        zeros(Self::SLOTS)
    }

    #[inline(always)]
    fn slot(self) -> usize {
        (self >> (32 - ROOT_DEPTH)) as usize
    }

    #[inline(always)]
    fn enter(self) -> (usize, u32) {
        (self.slot(), self)
    }

    #[inline(always)]
    fn window(rest: u32) -> u32 {
        rest
    }

    const SKIPS: bool = false;

    fn behind(self, depth: u32) -> u64 {
        u64::from(self << depth) << 32
    }

    #[inline]
    fn bits_at(self, depth: u32) -> u32 {
        (self << depth) >> (32 - STRIDE)
    }

    #[inline]
    fn low(self) -> u32 {
        self & (u32::MAX >> ROOT_DEPTH)
    }

    #[inline]
    fn prefix(self, len: u8) -> Ipv4Prefix {
        Ipv4Prefix::new(self, len)
    }

    #[inline]
    fn first(prefix: Ipv4Prefix) -> (u32, u8) {
        (prefix.bits(), prefix.len())
    }

    #[inline]
    fn last(prefix: Ipv4Prefix) -> u32 {
        prefix.last()
    }

    #[inline]
    fn slots(prefix: Ipv4Prefix) -> RangeInclusive<usize> {
        prefix.bits().slot()..=prefix.last().slot()
    }

    #[inline]
    fn is_short(prefix: Ipv4Prefix) -> bool {
        u32::from(prefix.len()) <= ROOT_DEPTH
    }

    #[inline]
    fn depth(_: usize) -> u32 {
        ROOT_DEPTH
    }
}

/// The bits in front of IPv6's direct table.
const FIXED: u32 = 3;
/// The bits of its index.
const INDEX: u32 = ROOT_DEPTH - FIXED;
/// `2000::/3`, global unicast (RFC 4291 §2.4).
pub(super) const GLOBAL: Ipv6Prefix = Ipv6Prefix::new(0x2000 << 112, FIXED as u8);
/// The slot of every address that is not global.
pub(super) const OUTSIDE: usize = 1 << INDEX;

impl Rest for u128 {
    #[inline(always)]
    fn next(self) -> u32 {
        (self >> (128 - STRIDE)) as u32
    }

    #[inline(always)]
    fn shift(self) -> u128 {
        self << STRIDE
    }

    #[inline(always)]
    fn left(self) -> u64 {
        (self >> 64) as u64
    }

    /// By halves: a shift of all 128 bits asks whether it is by 64 or more.
    #[inline(always)]
    fn skip(self, bits: u32) -> u128 {
        let (high, low) = ((self >> 64) as u64, self as u64);
        let bits = bits & 63;
        let high = high << bits | low >> 1 >> (63 - bits);
        u128::from(high) << 64 | u128::from(low << bits)
    }

    #[inline(always)]
    fn is_spent(self) -> bool {
        false
    }
}

/// 63 bits and a mark behind them, which says how many of them were taken off: half as much to keep and to shift as
/// the address, of which routes up to /78 need no more.
impl Rest for u64 {
    #[inline(always)]
    fn next(self) -> u32 {
        (self >> (64 - STRIDE)) as u32
    }

    #[inline(always)]
    fn shift(self) -> u64 {
        self << STRIDE
    }

    #[inline(always)]
    fn left(self) -> u64 {
        self
    }

    #[inline(always)]
    fn skip(self, bits: u32) -> u64 {
        self << (bits & 63)
    }

    #[inline(always)]
    fn is_spent(self) -> bool {
        self << STRIDE == 0
    }
}

impl Word for u128 {
    type Window = u64;
    type Prefix = Ipv6Prefix;
    type Rib = Rib6;
    type Direct = [u32; OUTSIDE + 1];

    const BITS: u8 = 128;
    const SLOTS: usize = OUTSIDE + 1;

    fn direct() -> Box<Self::Direct> {
        zeros(Self::SLOTS)
    }

    #[inline(always)]
    fn slot(self) -> usize {
        self.enter().0
    }

    #[inline(always)]
    fn enter(self) -> (usize, u128) {
        // The upper half alone says it.
        let top = (self >> 64) as u64 >> (64 - ROOT_DEPTH);
        let is_global = top >> INDEX == 1;
        let slot = if is_global { top as usize & (OUTSIDE - 1) } else { OUTSIDE };
        (slot, if is_global { self << ROOT_DEPTH } else { self })
    }

    #[inline(always)]
    fn window(rest: u128) -> u64 {
        rest.left() | 1
    }

    const SKIPS: bool = true;

    fn behind(self, depth: u32) -> u64 {
        ((self << depth) >> 64) as u64
    }

    #[inline]
    fn bits_at(self, depth: u32) -> u32 {
        ((self << depth) >> (128 - STRIDE)) as u32
    }

    #[inline]
    fn low(self) -> u128 {
        self
    }

    #[inline]
    fn prefix(self, len: u8) -> Ipv6Prefix {
        Ipv6Prefix::new(self, len)
    }

    #[inline]
    fn first(prefix: Ipv6Prefix) -> (u128, u8) {
        (prefix.bits(), prefix.len())
    }

    #[inline]
    fn last(prefix: Ipv6Prefix) -> u128 {
        prefix.last()
    }

    fn slots(prefix: Ipv6Prefix) -> RangeInclusive<usize> {
        if covers_global(prefix) {
            return 0..=OUTSIDE;
        }
        prefix.bits().slot()..=prefix.last().slot()
    }

    fn is_short(prefix: Ipv6Prefix) -> bool {
        let global = GLOBAL.contains(prefix.bits()) && u32::from(prefix.len()) <= ROOT_DEPTH;
        global || covers_global(prefix)
    }

    #[inline]
    fn depth(slot: usize) -> u32 {
        if slot == OUTSIDE { 0 } else { ROOT_DEPTH }
    }
}

/// Whether a network is more than the global addresses: ::/0, ::/1, ::/2.
pub(super) fn covers_global(prefix: Ipv6Prefix) -> bool {
    prefix.len() < GLOBAL.len() && prefix.contains(GLOBAL.bits())
}

/// Memory of the system's that it has not touched yet: of a table with few routes most stays so.
fn zeros<const N: usize>(n: usize) -> Box<[u32; N]> {
    let zeros = vec![0; n].into_boxed_slice();
    zeros.try_into().unwrap_or_else(|_| unreachable!("made with {n} entries"))
}
