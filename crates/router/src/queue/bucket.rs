//! The token bucket: S0's toll booth, where unused permits are kept, but only so many.
//!
//! ```text
//!        rate, all the time
//!             │
//!             ▼
//!   | ~~~~~~~~~~~~ | ◄─ capacity = bucket-size × rate: what is beyond runs over
//!   |   tokens     |
//!   └──────┬───────┘
//!          ▼ a packet takes its size
//! ```
//!
//! In any window of T seconds at most `rate · T + capacity` passes. A packet that is larger than
//! the capacity passes a full bucket and leaves a debt (else it would wait for ever), so where the
//! capacity is less than one packet, one packet takes its place in that formula.
//!
//! The arithmetic is exact: a token is such a part of a byte that both a nanosecond's fill and a
//! byte's price are whole numbers. At 1 Mbit/s a nanosecond brings 1 token and a byte costs 8,000;
//! at 10 Gbit/s they are 5 and 4. Nothing is rounded but moments, to the nanosecond, and what that
//! costs is kept: the rate is met over any time.

use wire::Moment;

/// A rate limit, as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// `max-limit`, bits per second; 0 means unlimited.
    pub rate: u64,
    /// `bucket-size`, as the nanoseconds it takes to fill the bucket.
    pub depth_ns: u64,
    /// How many packets may wait.
    pub packets: u16,
}

impl Limit {
    /// No limit: packets are only counted.
    pub const NONE: Limit = Limit { rate: 0, depth_ns: 0, packets: 0 };
}

/// A limit in tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Tokens that a nanosecond brings; 0 means unlimited.
    per_ns: u64,
    /// Tokens that a byte costs.
    per_byte: u64,
    capacity: i64,
}

/// As many tokens as can be counted: with as many again they still fit.
const MOST: u64 = (1 << 62) - 1;

/// How full a bucket is. Filled lazily, when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// Negative: a debt.
    tokens: i64,
    /// When `tokens` was true.
    last: Moment,
}

/// A token bucket of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    level: Level,
    terms: Terms,
}

impl Terms {
    pub(super) fn of(limit: Limit) -> Terms {
        /// Tokens would be bit-nanoseconds if nothing could be shortened.
        const BYTE: u64 = 8_000_000_000;
        if limit.rate == 0 {
            return Terms { per_ns: 0, per_byte: 0, capacity: 0 };
        }
        let common = gcd(limit.rate, BYTE);
        let (per_ns, per_byte) = (limit.rate / common, BYTE / common);
        // Only odd rates of many Gbit/s with buckets of seconds come near this bound.
        let capacity = per_ns.saturating_mul(limit.depth_ns).min(MOST) as i64;
        Terms { per_ns, per_byte, capacity }
    }

    /// Nanoseconds that bring as many tokens as can be counted: longer ones bring no more.
    pub(super) fn longest_ns(&self) -> u64 {
        MOST.checked_div(self.per_ns).unwrap_or(u64::MAX)
    }

    /// Whether nothing is limited.
    #[inline]
    fn unlimited(&self) -> bool {
        self.per_ns == 0
    }

    /// What `len` bytes cost: no packet has 2²⁸, and a byte at most 2³³ tokens.
    #[inline(always)]
    fn price(&self, len: u32) -> i64 {
        (u64::from(len.min((1 << 28) - 1)) * self.per_byte) as i64
    }
}

impl Level {
    /// Nobody has taken anything of no limit.
    pub(super) const NONE: Level = Level { tokens: 0, last: Moment::ZERO };

    /// That of a full bucket.
    fn full(terms: &Terms, now: Moment) -> Level {
        Level { tokens: terms.capacity, last: now }
    }

    /// The level under other terms, with what was in the bucket.
    pub(super) fn under(mut self, old: &Terms, new: &Terms, now: Moment) -> Level {
        let mut level = Level::full(new, now);
        if !old.unlimited() && !new.unlimited() {
            self.fill(old, now);
            let tokens =
                i128::from(self.tokens) * i128::from(new.per_byte) / i128::from(old.per_byte);
            level.tokens = i64::try_from(tokens).map_or(new.capacity, |t| t.min(new.capacity));
        }
        level
    }

    /// Takes `len` bytes' tokens if they are there at `now`; without a limit they are. `longest_ns`:
    /// [`Terms::longest_ns`], which whoever has many leaves works out once.
    #[inline(always)]
    pub(super) fn take(&mut self, terms: &Terms, longest_ns: u64, now: Moment, len: u32) -> bool {
        // Whether this packet is the first one now is a coin toss: filling by nothing is cheaper
        // than foreseeing it.
        let elapsed = now.as_nanos().saturating_sub(self.last.as_nanos());
        let fresh = (elapsed.min(longest_ns) * terms.per_ns) as i64;
        let (tokens, price) = ((self.tokens + fresh).min(terms.capacity), terms.price(len));
        // Neither enough nor a full bucket: it is filled when somebody asks again.
        if tokens < price && tokens < terms.capacity {
            return false;
        }
        self.last = self.last.max(now);
        self.tokens = tokens - price;
        true
    }

    /// Pays for `len` bytes at `when`, which [`ready`](Self::ready) gave. The part of a nanosecond
    /// by which that was too late is kept: nothing runs over while somebody waits.
    pub(super) fn pay(&mut self, terms: &Terms, when: Moment, len: u32) {
        if terms.unlimited() {
            return;
        }
        let tokens = (self.tokens + self.fresh(terms, when)).min(MOST as i64);
        self.tokens = tokens.saturating_sub(terms.price(len));
        self.last = self.last.max(when);
    }

    /// When `len` bytes' tokens will be there, if nobody takes any before.
    pub(super) fn ready(&self, terms: &Terms, len: u32) -> Moment {
        let missing = terms.price(len).min(terms.capacity).saturating_sub(self.tokens);
        match u64::try_from(missing) {
            Ok(missing) if !terms.unlimited() => {
                let wait = missing.div_ceil(terms.per_ns);
                Moment::from_nanos(self.last.as_nanos().saturating_add(wait))
            }
            _ => self.last,
        }
    }

    #[inline(always)]
    fn fill(&mut self, terms: &Terms, now: Moment) {
        // Neither is above MOST.
        self.tokens = (self.tokens + self.fresh(terms, now)).min(terms.capacity);
        self.last = self.last.max(now);
    }

    /// What came in since `last`.
    #[inline(always)]
    fn fresh(&self, terms: &Terms, now: Moment) -> i64 {
        let elapsed = now.as_nanos().saturating_sub(self.last.as_nanos());
        elapsed.saturating_mul(terms.per_ns).min(MOST) as i64
    }
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(limit: Limit, now: Moment) -> Bucket {
        let terms = Terms::of(limit);
        Bucket { level: Level::full(&terms, now), terms }
    }

    /// The bucket under another limit, with what was in it.
    pub(super) fn with_limit(self, limit: Limit, now: Moment) -> Bucket {
        let terms = Terms::of(limit);
        Bucket { level: self.level.under(&self.terms, &terms, now), terms }
    }

    /// Whether nothing is limited.
    #[inline]
    pub(super) fn unlimited(&self) -> bool {
        self.terms.unlimited()
    }

    /// The bucket with so much less room that, whenever a packet may go as long as there is no debt,
    /// no window passes more than rate · T + capacity: what [`clear`](Self::clear) asks.
    pub(super) fn with_room_for_a_packet(mut self) -> Bucket {
        const PACKET: u32 = 1514;
        let terms = &mut self.terms;
        // A nanosecond's tokens are kept: nothing runs over by rounding.
        terms.capacity = (terms.capacity - terms.price(PACKET)).max(terms.per_ns as i64);
        self.level.tokens = self.level.tokens.min(terms.capacity);
        self
    }

    /// When there will be no debt; `None` if there is none at `now`.
    #[inline]
    pub(super) fn clear(&mut self, now: Moment) -> Option<Moment> {
        if self.unlimited() {
            return None;
        }
        self.level.fill(&self.terms, now);
        self.debt_until()
    }

    /// The same of a bucket that was filled now.
    #[inline]
    pub(super) fn debt_until(&self) -> Option<Moment> {
        (self.level.tokens < 0).then(|| self.level.ready(&self.terms, 0))
    }

    /// Lets run over what is more than this time brings.
    pub(super) fn keep(&mut self, ns: u64, now: Moment) {
        self.level.fill(&self.terms, now);
        let most = self.terms.per_ns.saturating_mul(ns).min(MOST) as i64;
        self.level.tokens = self.level.tokens.min(most);
    }

    /// Takes `len` bytes' tokens, there or not, after [`clear`](Self::clear) filled the bucket.
    #[inline]
    pub(super) fn charge(&mut self, len: u32) {
        if !self.unlimited() {
            // A debt of a second, or of the largest packet: a parent whose children are assured more
            // than it has recovers when they stop.
            let second = self.terms.per_ns.saturating_mul(1_000_000_000).min(1 << 62) as i64;
            let floor = -second.max(self.terms.price(u16::MAX.into()));
            let tokens = self.level.tokens.saturating_sub(self.terms.price(len));
            self.level.tokens = tokens.max(floor);
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
