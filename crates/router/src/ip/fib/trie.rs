//! The look-up structure: a direct table of 18 address bits, then nodes of 6 bits.
//!
//! After Asai and Ohara, "Poptrie" (SIGCOMM 2015), with one change that saves a cache miss: a
//! node's leaves stand right behind its bitmap, in the same cache line for up to 28 of them,
//! because nodes with children (below them something longer than /24) are rare enough to be a kind
//! of their own. So nearly every look-up reads two lines.
//!
//! ```text
//!  direct[addr >> 14]          31 30 | 29 ……………………………… 0
//!                    leaf       0  0 |        next hop
//!                    narrow     0  1 | word ─┐          all 64 entries are leaves: 16 bits each
//!                    wide       1  0 | word ─┤          leaves and nodes: 32 bits each, as here
//!                                            ▼
//!   ┌──────────────┬──────────┬──────────┬──  words of 64 bits
//!   │ bitmap, 1 =  │ leaf 0 1 │ leaf 4 5 │    the 64 entries, runs of equal ones kept once:
//!   │ run begins   │      2 3 │      6 7 │    entry i is leaf popcount(bitmap[0..=i]) − 1
//!   └──────────────┴──────────┴──────────┴──
//! ```
//!
//! The default route is no leaf but a register, filled in where the trie says "no route": it may
//! change a thousand times a second (`check-gateway`, a second uplink) without touching a node.

use super::NextHopId;
use super::buddy::Buddy;
use super::rib::{SLOTS, as_long, slot};
use port::prefetch;

/// Address bits a node resolves.
const STRIDE: u32 = 6;
/// Address bits resolved before the first node.
const ROOT_DEPTH: u32 = 18;

/// What a direct entry or an entry of a wide node says: a next hop, or where to look further.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);

const NARROW: u32 = 1;
const WIDE: u32 = 2;

impl Entry {
    const fn leaf(id: NextHopId) -> Entry {
        Entry(id.0 as u32)
    }

    /// 0 (a leaf), [`NARROW`] or [`WIDE`].
    #[inline]
    const fn kind(self) -> u32 {
        self.0 >> 30
    }

    /// A leaf's next hop.
    #[inline]
    const fn id(self) -> NextHopId {
        NextHopId(self.0 as u16)
    }

    /// Where a node begins.
    #[inline]
    const fn word(self) -> usize {
        (self.0 & ((1 << 30) - 1)) as usize
    }
}

/// A cache line of the arena.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line([u64; 8]);

/// Next hops by longest matching prefix.
#[derive(Clone)]
pub(super) struct Trie {
    direct: Box<[Entry; SLOTS]>,
    lines: Vec<Line>,
    buddy: Buddy,
    /// The next hop of 0.0.0.0/0.
    pub(super) default: NextHopId,
}

impl Trie {
    pub(super) fn new() -> Trie {
        let direct = vec![Entry::leaf(NextHopId::NONE); SLOTS].into_boxed_slice();
        let Ok(direct) = direct.try_into() else { unreachable!("made with SLOTS entries") };
        // One line is always there: looking up a leaf reads word 0 for nothing, and without branch.
        let lines = vec![Line::default()];
        Trie { direct, lines, buddy: Buddy::new(), default: NextHopId::NONE }
    }

    /// The next hop for an address.
    #[inline]
    pub(super) fn lookup(&self, dst: u32) -> NextHopId {
        self.finish(self.direct[slot(dst)], dst)
    }

    /// The next hops of up to any number of addresses, with the cache misses of each stage
    /// overlapping.
    #[inline]
    pub(super) fn lookup_batch(&self, dst: &[u32], out: &mut [NextHopId]) {
        const AT_ONCE: usize = 64;
        for (dst, out) in dst.chunks(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
            let mut entries = [Entry(0); AT_ONCE];
            for &dst in dst {
                prefetch::element(&self.direct[..], slot(dst));
            }
            for (entry, &dst) in entries.iter_mut().zip(dst) {
                *entry = self.direct[slot(dst)];
                prefetch::element(&self.lines, entry.word() / 8);
            }
            for ((out, &entry), &dst) in out.iter_mut().zip(&entries).zip(dst) {
                *out = self.finish(entry, dst);
            }
        }
    }

    /// The look-up after the direct table.
    #[inline(always)]
    fn finish(&self, entry: Entry, dst: u32) -> NextHopId {
        let id = if entry.kind() == WIDE {
            self.descend(entry, dst)
        } else {
            // Leaf or narrow node is a coin toss for the branch predictor, so both are done and
            // one is kept.
            let narrow = (entry.kind() & NARROW).wrapping_neg();
            let found =
                self.narrow((entry.0 & narrow) as usize & entry.word(), index(dst, ROOT_DEPTH));
            NextHopId((u32::from(found.0) & narrow | entry.0 & !narrow) as u16)
        };
        if id == NextHopId::NONE { self.default } else { id }
    }

    /// The look-up below something longer than /24.
    fn descend(&self, mut entry: Entry, dst: u32) -> NextHopId {
        let mut depth = ROOT_DEPTH;
        while entry.kind() == WIDE {
            entry = self.wide(entry.word(), index(dst, depth));
            depth += STRIDE;
        }
        if entry.kind() == NARROW {
            self.narrow(entry.word(), index(dst, depth))
        } else {
            entry.id()
        }
    }

    #[inline(always)]
    fn narrow(&self, node: usize, index: u32) -> NextHopId {
        let rank = runs_up_to(self.word(node), index);
        // Leaf `rank - 1`, four to a word, after the bitmap: place `rank + 3`.
        let place = rank as usize + 3;
        NextHopId((self.word(node + place / 4) >> (place % 4 * 16)) as u16)
    }

    #[inline]
    fn wide(&self, node: usize, index: u32) -> Entry {
        let place = runs_up_to(self.word(node), index) as usize + 1;
        Entry((self.word(node + place / 2) >> (place % 2 * 32)) as u32)
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        self.lines[at / 8].0[at % 8]
    }

    /// Rebuilds what lies below one direct entry: `base` is the next hop of the longest short
    /// prefix over it, `routes` are the longer ones, in order.
    pub(super) fn set(&mut self, slot: usize, base: NextHopId, routes: &[u32]) {
        let old = self.direct[slot];
        self.direct[slot] = self.build(ROOT_DEPTH, Entry::leaf(base), routes);
        self.release(old);
    }

    fn build(&mut self, depth: u32, base: Entry, routes: &[u32]) -> Entry {
        let mut entries = [base; 64];
        let mut i = 0;
        while i < routes.len() {
            let route = as_long(routes[i]);
            let at = index(route.low(), depth) as usize;
            if route.len() <= depth + STRIDE {
                // Those inside it come later and paint over.
                let n = 1 << (depth + STRIDE - route.len());
                entries[at..at + n].fill(Entry::leaf(route.id()));
                i += 1;
            } else {
                // What is longer than this node sees, and in the same entry, stands together.
                let here = |&&r: &&u32| index(as_long(r).low(), depth) as usize == at;
                let end = i + routes[i..].iter().take_while(here).count();
                entries[at] = self.build(depth + STRIDE, entries[at], &routes[i..end]);
                i = end;
            }
        }
        self.store(&entries)
    }

    /// Writes a node, or none where one leaf says it all.
    fn store(&mut self, entries: &[Entry; 64]) -> Entry {
        let mut bitmap = 1u64;
        let mut runs = [entries[0]; 64];
        let mut n = 1;
        let mut kinds = entries[0].kind();
        for i in 1..64 {
            if entries[i] != entries[i - 1] {
                bitmap |= 1 << i;
                runs[n] = entries[i];
                n += 1;
                kinds |= entries[i].kind();
            }
        }
        if n == 1 && kinds == 0 {
            return entries[0];
        }
        let kind = if kinds == 0 { NARROW } else { WIDE };
        let node = self.alloc(words(kind, n as u32));
        *self.word_mut(node) = bitmap;
        let per_word = leaves_per_word(kind) as usize;
        for (i, leaves) in runs[..n].chunks(per_word).enumerate() {
            let shift = 64 / per_word as u32;
            let pack = |word: u64, leaf: &Entry| word << shift | u64::from(leaf.0);
            *self.word_mut(node + 1 + i) = leaves.iter().rev().fold(0, pack);
        }
        Entry(kind << 30 | node as u32)
    }

    /// Gives a node and all below it back.
    fn release(&mut self, entry: Entry) {
        if entry.kind() == 0 {
            return;
        }
        let node = entry.word();
        let n = self.word(node).count_ones();
        if entry.kind() == WIDE {
            for place in 2..2 + n as usize {
                let below = Entry((self.word(node + place / 2) >> (place % 2 * 32)) as u32);
                self.release(below);
            }
        }
        self.buddy.release(node as u32, words(entry.kind(), n));
    }

    fn alloc(&mut self, words: u32) -> usize {
        let node = self.buddy.alloc(words);
        let lines = self.buddy.len() / 8;
        if self.lines.capacity() < lines {
            // An eighth at a time: doubling would leave half of a large table empty.
            let step = (lines - self.lines.len()).max(self.lines.len() / 8);
            self.lines.reserve_exact(step);
        }
        if self.lines.len() < lines {
            self.lines.resize(lines, Line::default());
        }
        node as usize
    }

    fn word_mut(&mut self, at: usize) -> &mut u64 {
        &mut self.lines[at / 8].0[at % 8]
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.direct) + self.lines.capacity() * size_of::<Line>() + self.buddy.bytes()
    }
}

/// The six address bits a node at `depth` resolves. At depth 30 only two are left: they count as
/// the upper two of six, so that all nodes are alike.
#[inline]
fn index(addr: u32, depth: u32) -> u32 {
    (addr << depth) >> (32 - STRIDE)
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
