//! The look-up structure: a direct table of 18 address bits, then nodes of 6 bits. One for both
//! families; `word` says how they take an address apart.
//!
//! After Asai and Ohara, "Poptrie" (SIGCOMM 2015), with one change that saves a cache miss: a
//! node's leaves stand right behind its bitmap, in the same cache line for up to 28 of them,
//! because nodes with children (below them something longer than /24) are rare enough to be a kind
//! of their own. So nearly every look-up reads two lines.
//!
//! ```text
//!  direct[addr >> 14]          31 30 | 29 ……………………………… 0
//!                    leaf       0  0 |        next hop
//!                    narrow     0  1 | word ─┐     a node of leaves of 16 bits only, four to a word
//!                    wide       1  0 | word  │     leaves and nodes, as in `direct`, two to a word
//!                    skip       1  1 | word  │     IPv6: levels, the bits they must have, the entry behind
//!                    table      1  1 1 word  ▼     them, and the leaf of all others; or 12 bits at once
//!   ┌──────────────┬─────────────┬─────────────┬──  words of 64 bits
//!   │ bitmap, 1 =  │ leaves 0–3, │ leaves 4–7, │    of the 64 entries, runs of equal ones are
//!   │ run begins   │ 16 bits each│ 16 bits each│    kept once: entry i is leaf
//!   └──────────────┴─────────────┴─────────────┴──  popcount(bitmap[0..=i]) − 1
//! ```
//!
//! Measured with the real table (901,899 routes) and 16 next hops drawn at random, on one core of a
//! busy 2.6 GHz Zen 5 machine, best of many runs; 46 to 50 instructions a look-up:
//!
//! ```text
//!  memory    4.4 MB, 4.9 B/route    (1.8 MB with one next hop; 100 MB with 12 M routes)
//!  look-ups  310 M/s in batches inside random routes, 190 M/s one by one; 400 M/s in batches
//!            at random addresses; 160 M/s among the host routes of whole pools (wide nodes)
//!  changes   1.2 µs for a random route, 2 ns for the default route, 270 µs for a crowded /8
//!  loading   0.035 s, and 0.037 s to read the text
//! ```
//!
//! Of IPv6 a host's route lies 18 levels down, and mostly alone: nodes that have one way on, and the same
//! leaf everywhere else, are one *skip* together, up to ten of them: 60 bits, so that comparing them and
//! shifting them out are an instruction each (with skips of any length, 14 and 8 of a small table's 170).
//!
//! Of a crowded slot of IPv6 the next 12 bits are a *table* of their own, as `direct`: 21 slots have three fifths of
//! the real table's routes, and the two wide nodes that it stands for took 90 instructions, it takes 15.
//!
//! The default route is no leaf but a register, filled in where the trie says "no route": it may
//! change a thousand times a second (`check-gateway`, a second uplink) without touching a node.

use super::NextHopId;
use super::buddy::Buddy;
use super::word::{Rest, Route, STRIDE, Word};
use super::words::Words;
use port::prefetch;

/// Addresses whose look-ups overlap.
const AT_ONCE: usize = 64;

/// Words that lie in the nearest cache, 16 KB of them.
const NEAR: usize = 2048;

/// Slots of a direct table that lies in the second cache: the processor waits for several of them by itself.
const NEAR_SLOTS: usize = 1 << 16;

/// What a direct entry or an entry of a wide node says: a next hop, or where to look further.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);

const NARROW: u32 = 1;
const WIDE: u32 = 2;
/// Levels with one way on; the bit of [`WIDE`] says that this is not the end.
const SKIP: u32 = 3;
/// The bit of a word's number that makes a skip a table.
const TABLE: u32 = 1 << 29;
/// Its bits, entries, and words of two entries each.
const TABLE_BITS: u32 = 2 * STRIDE;
const TABLE_ENTRIES: usize = 1 << TABLE_BITS;
const TABLE_WORDS: u32 = TABLE_ENTRIES as u32 / 2;
/// The routes of a slot from which on it has a table, which takes 16 KB.
const CROWDED: usize = 1536;
/// Its words: the bits that are compared, with the number of levels in the last four; the entry behind them
/// and, in the upper half, the leaf of all others.
const SKIP_WORDS: u32 = 2;
/// Levels that one takes: their bits and their number are one word. A longer way is several.
const MOST_LEVELS: u32 = 10;
const LEVELS: u64 = 15;

impl Entry {
    const fn leaf(id: NextHopId) -> Entry {
        Entry(id.0)
    }

    /// 0 (a leaf), [`NARROW`], [`WIDE`] or [`SKIP`].
    #[inline]
    const fn kind(self) -> u32 {
        self.0 >> 30
    }

    /// Where a node begins.
    #[inline]
    const fn word(self) -> usize {
        (self.0 & (TABLE - 1)) as usize
    }

    /// Whether it is a table; only a slot's entry is.
    #[inline]
    const fn is_table(self) -> bool {
        self.0 >> 29 == SKIP << 1 | 1
    }
}

/// Next hops by longest matching prefix.
#[derive(Clone)]
pub(super) struct Trie<W: Word> {
    /// [`Entry`]s.
    direct: Box<W::Direct>,
    words: Words,
    buddy: Buddy,
    /// The next hop of 0.0.0.0/0 or ::/0.
    pub(super) default: NextHopId,
    /// From how many routes on a slot has a table.
    pub(super) crowded: usize,
}

impl<W: Word> Trie<W> {
    pub(super) fn new() -> Trie<W> {
        // Some are always there: looking up a leaf reads word 0 for nothing, and without branch.
        let words = Words::new(16);
        let (direct, buddy) = (W::direct(), Buddy::new());
        let crowded = if W::SKIPS { CROWDED } else { usize::MAX };
        Trie { direct, words, buddy, default: NextHopId::NONE, crowded }
    }

    /// The next hop for an address.
    #[inline(always)]
    pub(super) fn lookup(&self, dst: W) -> NextHopId {
        let words = self.words.as_slice();
        let (slot, mut rest) = dst.enter();
        let mut entry = self.entry(slot);
        if W::SKIPS && entry.is_table() {
            entry = table(words, entry, &mut rest);
        }
        while entry.kind() & WIDE != 0 {
            entry = step(words, entry, &mut rest);
        }
        self.settle(words, entry, rest)
    }

    /// The next hops of any number of addresses, 64 at a time, so that the cache misses of each
    /// stage overlap.
    pub(super) fn lookup_batch(&self, dst: &[W], out: &mut [NextHopId]) {
        let words = self.words.as_slice();
        if W::SKIPS && self.buddy.used() <= NEAR {
            // No misses to overlap: the processor does that by itself for what depends on nothing.
            for (out, &dst) in out.iter_mut().zip(dst) {
                *out = self.lookup(dst);
            }
            return;
        }
        for (dst, out) in dst.chunks(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
            if W::SLOTS > NEAR_SLOTS {
                for &dst in dst {
                    prefetch::element(W::Direct::as_ref(&self.direct), dst.slot());
                }
            }
            let (mut entries, mut rest) = ([Entry(0); AT_ONCE], [W::Window::default(); AT_ONCE]);
            let mut any = 0;
            for ((entry, window), &dst) in entries.iter_mut().zip(&mut rest).zip(dst) {
                let (slot, rest) = dst.enter();
                (*entry, *window) = (self.entry(slot), W::window(rest));
                any |= entry.0;
                // Where the table's entry is, or a node's first word.
                let at = if W::SKIPS { W::window(rest).left() >> (64 - TABLE_BITS) } else { 0 };
                let at = if entry.is_table() { at as usize / 2 } else { 0 };
                prefetch::element(words, entry.word() + at);
            }
            let mut spent = 0;
            if Entry(any).kind() & WIDE != 0 {
                spent = descend(words, &mut entries, &mut rest);
            }
            for ((out, &entry), &rest) in out.iter_mut().zip(&entries).zip(&rest) {
                *out = self.settle(words, entry, rest);
            }
            for at in places(spent) {
                out[at] = self.lookup(dst[at]);
            }
        }
    }

    /// The last step: a leaf, or the leaf of a narrow node.
    #[inline(always)]
    fn settle(&self, words: &[u64], entry: Entry, rest: impl Rest) -> NextHopId {
        // Which of the two is a coin toss for the branch predictor, so both are done and one is
        // kept: `mask` is all ones for a node.
        let mask = (entry.kind() & NARROW).wrapping_neg();
        let found = narrow(words, entry.word() & mask as usize, rest.next());
        let id = NextHopId(found.0 & mask | entry.0 & !mask);
        if id == NextHopId::NONE { self.default } else { id }
    }

    #[inline(always)]
    fn entry(&self, slot: usize) -> Entry {
        Entry(W::Direct::as_ref(&self.direct)[slot])
    }

    /// Rebuilds what lies below one direct entry: `base` is the next hop of the longest short
    /// prefix over it, `routes` are the longer ones, in order.
    pub(super) fn set<R: Route<W>>(&mut self, slot: usize, base: NextHopId, routes: &[R]) {
        let old = self.entry(slot);
        let new = self.build_slot(W::depth(slot), Entry::leaf(base), routes);
        self.direct.as_mut().as_mut()[slot] = new.0;
        self.release(old);
    }

    /// What a slot leads to: a table where it is crowded.
    fn build_slot<R: Route<W>>(&mut self, depth: u32, base: Entry, routes: &[R]) -> Entry {
        if routes.len() < self.crowded {
            return self.build(depth, base, routes);
        }
        let node = self.alloc(TABLE_WORDS);
        self.write_table(node, depth, 0, vec![base; TABLE_ENTRIES], routes);
        Entry(SKIP << 30 | TABLE | node as u32)
    }

    /// Paints `routes` over the entries of a table from `first` on, and writes them.
    fn write_table<R: Route<W>>(
        &mut self,
        node: usize,
        depth: u32,
        first: usize,
        mut entries: Vec<Entry>,
        routes: &[R],
    ) {
        self.paint(depth, TABLE_BITS, first, &mut entries, routes);
        for (at, entry) in (first..).zip(entries) {
            put_wide(self.words.as_mut_slice(), node, at, entry);
        }
    }

    /// Makes a table what `routes` say after a change of one of them.
    fn update_table<R: Route<W>>(
        &mut self,
        node: usize,
        depth: u32,
        base: Entry,
        routes: &[R],
        changed: (W, u8),
    ) {
        let below = depth + TABLE_BITS;
        let len = u32::from(changed.1).min(below);
        let first = place(changed.0, depth, TABLE_BITS);
        let (over, inside) = beneath(routes, changed.0, depth, len);
        let base = over.unwrap_or(base);
        if u32::from(changed.1) > below {
            let old = wide_leaf(self.words.as_slice(), node, first);
            let new = self.rebuild(old, below, base, inside, changed);
            put_wide(self.words.as_mut_slice(), node, first, new);
            return;
        }
        let n = 1 << (below - len);
        let child = |at| wide_leaf(self.words.as_slice(), node, at);
        let old: Vec<_> = (first..first + n).map(child).collect();
        self.write_table(node, depth, first, vec![base; n], inside);
        for entry in old {
            self.release(entry);
        }
    }

    /// The same after a change of the one route `changed`, which is among `routes` if it is there still:
    /// only the node that sees it is built anew, which is worth it where a slot is full of host routes.
    pub(super) fn update<R: Route<W>>(
        &mut self,
        base: NextHopId,
        routes: &[R],
        changed: W::Prefix,
    ) {
        let changed = W::first(changed);
        let slot = changed.0.slot();
        let old = self.entry(slot);
        let (depth, leaf) = (W::depth(slot), Entry::leaf(base));
        match (old.is_table(), routes.len() >= self.crowded) {
            (true, true) => self.update_table(old.word(), depth, leaf, routes, changed),
            (false, false) => {
                let new = self.rebuild(old, depth, leaf, routes, changed);
                self.direct.as_mut().as_mut()[slot] = new.0;
            }
            _ => self.set(slot, base, routes),
        }
    }

    /// Replaces `old`, at `depth`, by what `routes` now say.
    fn rebuild<R: Route<W>>(
        &mut self,
        old: Entry,
        depth: u32,
        base: Entry,
        routes: &[R],
        changed: (W, u8),
    ) -> Entry {
        let below = depth + STRIDE;
        if old.kind() == WIDE && u32::from(changed.1) > below {
            let (node, at) = (old.word(), changed.0.bits_at(depth));
            let bitmap = self.words.as_slice()[node];
            let place = runs_up_to(bitmap, at) as usize + 1;
            let child = wide_leaf(self.words.as_slice(), node, place);
            // A node is never part of a run, so the place is this entry's alone.
            if child.kind() != 0 {
                let (over, inside) = beneath(routes, changed.0, depth, below);
                let child = self.rebuild(child, below, over.unwrap_or(base), inside, changed);
                put_wide(self.words.as_mut_slice(), node, place, child);
                if child.kind() != 0 {
                    return old;
                }
            }
        }
        if old.kind() == SKIP {
            let skip = self.skip(old);
            let below = depth + STRIDE * skip.levels;
            if u32::from(changed.1) > below && skip.has(changed.0.behind(depth)) {
                let (over, inside) = beneath(routes, changed.0, depth, below);
                let base = over.unwrap_or(base);
                let child = self.rebuild(skip.entry, below, base, inside, changed);
                if child.kind() != 0 {
                    self.buddy.release(old.word() as u32, SKIP_WORDS);
                    return self.pass_over(Skip { entry: child, ..skip });
                }
                let ways = Skip { entry: child, ..skip }.words()[1];
                self.words.as_mut_slice()[old.word() + 1] = ways;
            }
        }
        let new = self.build(depth, base, routes);
        self.release(old);
        new
    }

    fn build<R: Route<W>>(&mut self, depth: u32, base: Entry, routes: &[R]) -> Entry {
        let mut entries = [base; 64];
        self.paint(depth, STRIDE, 0, &mut entries, routes);
        match only_way(&entries).filter(|_| W::SKIPS) {
            Some((at, others)) => self.pass_over(Skip {
                levels: 1,
                key: (at as u64) << (64 - STRIDE),
                entry: entries[at],
                others,
            }),
            None => self.store(&entries),
        }
    }

    /// Paints `routes` over the entries of a node of so many bits, from `first` on.
    fn paint<R: Route<W>>(
        &mut self,
        depth: u32,
        bits: u32,
        first: usize,
        entries: &mut [Entry],
        routes: &[R],
    ) {
        let mut i = 0;
        while i < routes.len() {
            let route = routes[i];
            let at = place(route.low(), depth, bits) - first;
            if route.len() <= depth + bits {
                // Those inside it come later and paint over.
                let n = 1 << (depth + bits - route.len());
                entries[at..at + n].fill(Entry::leaf(route.id()));
                i += 1;
            } else {
                // What is longer than this node sees, and in the same entry, stands together.
                let here = |route: &&R| place(route.low(), depth, bits) - first == at;
                let end = i + routes[i..].iter().take_while(here).count();
                entries[at] = self.build(depth + bits, entries[at], &routes[i..end]);
                i = end;
            }
        }
    }

    /// Writes a skip: with another one below it they are one, or the lower one is full, so that there is
    /// one form of everything.
    fn pass_over(&mut self, mut skip: Skip) -> Entry {
        if skip.entry.kind() == SKIP {
            let below = self.skip(skip.entry);
            if below.others == skip.others {
                self.buddy.release(skip.entry.word() as u32, SKIP_WORDS);
                let key = u128::from(below.key) << 64 >> (STRIDE * skip.levels);
                let key = u128::from(skip.key) << 64 | key;
                let levels = skip.levels + below.levels;
                let upper = levels.saturating_sub(MOST_LEVELS);
                let cut =
                    |key: u128, levels: u32| (key >> 64) as u64 & !(u64::MAX >> (STRIDE * levels));
                let lower = Skip {
                    levels: levels - upper,
                    key: cut(key << (STRIDE * upper), levels - upper),
                    ..below
                };
                if upper == 0 {
                    skip = lower;
                } else {
                    let entry = self.store_skip(lower);
                    skip = Skip { levels: upper, key: cut(key, upper), entry, ..skip };
                }
            }
        }
        self.store_skip(skip)
    }

    fn store_skip(&mut self, skip: Skip) -> Entry {
        let node = self.alloc(SKIP_WORDS);
        self.words.as_mut_slice()[node..node + SKIP_WORDS as usize].copy_from_slice(&skip.words());
        Entry(SKIP << 30 | node as u32)
    }

    fn skip(&self, entry: Entry) -> Skip {
        Skip::read(self.words.as_slice(), entry.word())
    }

    /// Writes a node, or none where one leaf says it all.
    fn store(&mut self, entries: &[Entry; 64]) -> Entry {
        let mut bitmap = 1u64;
        let mut runs = [entries[0]; 64];
        let mut n = 1;
        let mut any = entries[0].0;
        for i in 1..64 {
            if entries[i] != entries[i - 1] {
                bitmap |= 1 << i;
                runs[n] = entries[i];
                n += 1;
                any |= entries[i].0;
            }
        }
        if n == 1 && entries[0].kind() == 0 {
            return entries[0];
        }
        let kind = if any >> 16 == 0 { NARROW } else { WIDE };
        let node = self.alloc(words(kind, n as u32));
        let to = &mut self.words.as_mut_slice()[node..];
        to[0] = bitmap;
        let per_word = leaves_per_word(kind) as usize;
        for (to, leaves) in to[1..].iter_mut().zip(runs[..n].chunks(per_word)) {
            let shift = 64 / per_word as u32;
            let pack = |word: u64, leaf: &Entry| word << shift | u64::from(leaf.0);
            *to = leaves.iter().rev().fold(0, pack);
        }
        Entry(kind << 30 | node as u32)
    }

    /// Gives a node and all below it back.
    fn release(&mut self, entry: Entry) {
        if entry.kind() == 0 {
            return;
        }
        let node = entry.word();
        if entry.is_table() {
            for at in 0..TABLE_ENTRIES {
                self.release(wide_leaf(self.words.as_slice(), node, at));
            }
            return self.buddy.release(node as u32, TABLE_WORDS);
        }
        if entry.kind() == SKIP {
            let below = self.skip(entry).entry;
            self.release(below);
            return self.buddy.release(node as u32, SKIP_WORDS);
        }
        let n = self.words.as_slice()[node].count_ones();
        if entry.kind() == WIDE {
            for place in 2..2 + n as usize {
                self.release(wide_leaf(self.words.as_slice(), node, place));
            }
        }
        self.buddy.release(node as u32, words(entry.kind(), n));
    }

    fn alloc(&mut self, words: u32) -> usize {
        let node = self.buddy.alloc(words);
        self.words.grow(self.buddy.len());
        node as usize
    }

    /// Words in use: the same for the same routes, however they came to be.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.buddy.used()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        W::SLOTS * size_of::<Entry>() + self.words.bytes() + self.buddy.bytes()
    }
}

/// Follows all wide nodes of a batch down, level by level, so that their misses overlap, too. The
/// bits used up are shifted out of `rest`, so that at every depth the next ones stand in the
/// same place.
///
/// How far down an address leads, and whether by a node or a skip, no branch predictor foresees: those of
/// each kind are marked without a branch, and the marks gone through (routing IPv6's full table at random:
/// 30 ns a packet instead of 36.7).
///
/// Returns those for which there was not enough of the address, a bit for each.
#[inline(never)]
fn descend<R: Rest>(words: &[u64], entries: &mut [Entry; AT_ONCE], rest: &mut [R; AT_ONCE]) -> u64 {
    let mut spent = 0;
    let mut now = Down::default();
    let mut tables = 0;
    for (at, &entry) in entries.iter().enumerate() {
        tables |= u64::from(entry.is_table()) << at;
    }
    for at in places(tables) {
        let (entry, rest) = (&mut entries[at], &mut rest[at]);
        *entry = table(words, *entry, rest);
        prefetch::element(words, entry.word());
    }
    for (at, &entry) in entries.iter().enumerate() {
        now.mark(at, entry);
    }
    while now.further != 0 {
        let mut next = Down::default();
        for at in places(now.further & !now.odd) {
            let (entry, rest) = (&mut entries[at], &mut rest[at]);
            *entry = wide(words, entry.word(), rest.next());
            *rest = rest.shift();
            if rest.is_spent() {
                (spent, *entry) = (spent | 1 << at, Entry(0));
            }
            prefetch::element(words, entry.word());
            next.mark(at, *entry);
        }
        for at in places(now.further & now.odd) {
            let (entry, rest) = (&mut entries[at], &mut rest[at]);
            *entry = skip(words, *entry, rest);
            if rest.is_spent() {
                (spent, *entry) = (spent | 1 << at, Entry(0));
            }
            prefetch::element(words, entry.word());
            next.mark(at, *entry);
        }
        now = next;
    }
    spent
}

/// Which addresses of a batch lead further down, a bit for each: the two bits of their entries' kinds.
#[derive(Default)]
struct Down {
    /// By a wide node or a skip.
    further: u64,
    /// By a skip, if further.
    odd: u64,
}

impl Down {
    #[inline(always)]
    fn mark(&mut self, at: usize, entry: Entry) {
        self.further |= u64::from(entry.kind() >> 1) << at;
        self.odd |= u64::from(entry.kind() & 1) << at;
    }
}

/// The bits that are set, from the lowest on.
#[inline(always)]
fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize % AT_ONCE;
        (bits != 0).then(|| {
            bits &= bits - 1;
            at
        })
    })
}

/// Levels that are passed over.
#[derive(Clone, Copy)]
struct Skip {
    levels: u32,
    /// What the address must have there, at the left end; zeros behind it.
    key: u64,
    /// What is behind them.
    entry: Entry,
    /// The leaf of everything else.
    others: Entry,
}

impl Skip {
    #[inline(always)]
    fn read(words: &[u64], node: usize) -> Skip {
        let Some(&[head, ways]) = words[node..].first_chunk::<2>() else {
            unreachable!("a skip has two words")
        };
        let (levels, key) = ((head & LEVELS) as u32, head & !LEVELS);
        Skip { levels, key, entry: Entry(ways as u32), others: Entry((ways >> 32) as u32) }
    }

    fn words(&self) -> [u64; SKIP_WORDS as usize] {
        [
            self.key | u64::from(self.levels),
            u64::from(self.others.0) << 32 | u64::from(self.entry.0),
        ]
    }

    /// Whether what is next of an address, at the left end, has the bits.
    #[inline(always)]
    fn has(&self, left: u64) -> bool {
        (left ^ self.key) >> (64 - STRIDE * self.levels) == 0
    }
}

/// The one entry that leads on, where all others are one leaf: its place, and that leaf.
fn only_way(entries: &[Entry; 64]) -> Option<(usize, Entry)> {
    let at = entries.iter().position(|entry| entry.kind() != 0)?;
    let others = entries[usize::from(at == 0)];
    let is_other = |(i, entry): (usize, &Entry)| i == at || *entry == others;
    let is_only = others.kind() == 0 && entries.iter().enumerate().all(is_other);
    is_only.then_some((at, others))
}

/// One level down, or several where there is one way.
#[inline(always)]
fn step<W: Word>(words: &[u64], entry: Entry, rest: &mut W) -> Entry {
    if W::SKIPS && entry.kind() == SKIP {
        return skip(words, entry, rest);
    }
    let next = wide(words, entry.word(), rest.next());
    *rest = rest.shift();
    next
}

/// By a table.
#[inline(always)]
fn table<R: Rest>(words: &[u64], entry: Entry, rest: &mut R) -> Entry {
    let at = rest.left() >> (64 - TABLE_BITS);
    *rest = rest.skip(TABLE_BITS);
    wide_leaf(words, entry.word(), at as usize)
}

/// The next bits of an address behind the first `depth`, as an entry's place: six, or a table's.
fn place<W: Word>(address: W, depth: u32, bits: u32) -> usize {
    let at = address.bits_at(depth) as usize;
    if bits == STRIDE { at } else { at << STRIDE | address.bits_at(depth + STRIDE) as usize }
}

/// Past the levels of a skip.
#[inline(always)]
fn skip<R: Rest>(words: &[u64], entry: Entry, rest: &mut R) -> Entry {
    let skip = Skip::read(words, entry.word());
    let has = skip.has(rest.left());
    *rest = rest.skip(STRIDE * skip.levels);
    if has { skip.entry } else { skip.others }
}

#[inline(always)]
fn narrow(words: &[u64], node: usize, index: u32) -> NextHopId {
    // Leaf `rank - 1`, four to a word, after the bitmap: place `rank + 3`.
    let place = runs_up_to(words[node], index) as usize + 3;
    NextHopId(u32::from((words[node + place / 4] >> (place % 4 * 16)) as u16))
}

#[inline(always)]
fn wide(words: &[u64], node: usize, index: u32) -> Entry {
    wide_leaf(words, node, runs_up_to(words[node], index) as usize + 1)
}

/// What stands in a wide node, two to a word; the bitmap takes places 0 and 1. Of a table, its entries.
#[inline]
fn wide_leaf(words: &[u64], node: usize, place: usize) -> Entry {
    Entry((words[node + place / 2] >> (place % 2 * 32)) as u32)
}

/// Puts something else there.
fn put_wide(words: &mut [u64], node: usize, place: usize, entry: Entry) {
    let (word, shift) = (&mut words[node + place / 2], place % 2 * 32);
    *word = *word & !(0xffff_ffff << shift) | u64::from(entry.0) << shift;
}

/// Of the `routes` of a node at `depth`, what the entry of `addr` is made from, whose own length is `len`:
/// the longest that covers it whole, if any, and those inside it.
fn beneath<W: Word, R: Route<W>>(
    routes: &[R],
    addr: W,
    depth: u32,
    len: u32,
) -> (Option<Entry>, &[R]) {
    let network = |len: u32| addr.prefix(len as u8);
    let low = |len: u32| W::first(network(len)).0.low();
    let before = |low, len| routes.partition_point(|r| (r.low(), r.len()) < (low, len));
    let last = W::last(network(len)).low();
    let inside = before(low(len), len + 1)..routes.partition_point(|r| r.low() <= last);
    let covers = |len| {
        let route = routes.get(before(low(len), len))?;
        ((route.low(), route.len()) == (low(len), len)).then(|| Entry::leaf(route.id()))
    };
    ((depth + 1..=len).rev().find_map(covers), &routes[inside])
}

/// How many runs begin at or before an entry: at least 1, for the first begins at 0.
#[inline]
fn runs_up_to(bitmap: u64, index: u32) -> u32 {
    (bitmap << (63 - index)).count_ones()
}

const fn leaves_per_word(kind: u32) -> u32 {
    if kind == NARROW { 4 } else { 2 }
}

/// Words of a node of `n` leaves, with its bitmap.
fn words(kind: u32, n: u32) -> u32 {
    1 + n.div_ceil(leaves_per_word(kind))
}
