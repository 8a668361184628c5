//! From hash to flow number: a bucketized cuckoo table that grows without a stall.
//!
//! ```text
//! hash ─► first choice ┌ 8 tags │ 8 numbers │ elsewhere ┐  one cache line
//!                      └────────┴───────────┴─────┬─────┘
//!              elsewhere > 0: some flow whose first choice this is had to go to its
//!              second choice ─► (first ^ odd multiple of the tag), one line more
//! ```
//!
//! A tag is 16 bits of the hash, so a probe touches flows only where the tag agrees; because of
//! `elsewhere` nearly every probe, hit or miss, ends in its first line.
//!
//! Growing: at three quarters full a table of twice the size is begun, and every insertion pays
//! for it: it lays 64 buckets or moves eight flows. The old table answers until the new one is
//! complete, which is long before the old one is full. The longest insertion is therefore about
//! a microsecond, whatever the number of flows; giving back the old memory comes on top once.
//!
//! # DoS
//! The hash is not keyed. Whoever crafts tuples that share both buckets gets sixteen of them in;
//! the seventeenth is refused. Nothing becomes slow.

/// Flows in a bucket.
const WIDTH: usize = 8;
/// Buckets laid per insertion while growing.
const LAY: usize = 64;
/// Flows moved per insertion while growing.
const MOVE: u32 = 8;
/// How many buckets a search for room looks into.
const SEARCH: usize = 96;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    /// 0: the place is empty.
    tags: [u16; WIDTH],
    ids: [u32; WIDTH],
    /// Flows that have this bucket as their first choice and live in their second.
    elsewhere: u32,
    /// One bit a place: the flow there has this bucket as its second choice.
    displaced: u8,
    _spare: [u8; 11],
}

const _: () = assert!(size_of::<Bucket>() == 64);

const EMPTY: Bucket =
    Bucket { tags: [0; WIDTH], ids: [0; WIDTH], elsewhere: 0, displaced: 0, _spare: [0; 11] };

impl Bucket {
    /// One bit a place whose tag is `tag`.
    #[inline(always)]
    fn places(&self, tag: u16) -> u8 {
        port::tags::equal(&self.tags, tag)
    }
}

/// One table.
struct Table {
    /// A power of two of them, at least two.
    buckets: Vec<Bucket>,
}

impl Table {
    fn new(buckets: usize) -> Table {
        Table { buckets: vec![EMPTY; buckets] }
    }

    /// The first choice and the tag.
    #[inline(always)]
    fn place(&self, hash: u32) -> (usize, u16) {
        let tag = (hash >> 16) as u16;
        (hash as usize & (self.buckets.len() - 1), tag + u16::from(tag == 0))
    }

    /// The other choice: its own inverse, and never the same bucket.
    #[inline(always)]
    fn other(&self, bucket: usize, tag: u16) -> usize {
        (bucket ^ (usize::from(tag).wrapping_mul(0x5bd1_e995) | 1)) & (self.buckets.len() - 1)
    }

    #[inline(always)]
    fn find(&self, hash: u32, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (first, tag) = self.place(hash);
        let bucket = &self.buckets[first];
        if let Some((_, id)) = probe(bucket, tag, &mut is) {
            return Some(id);
        }
        if bucket.elsewhere == 0 {
            return None;
        }
        let bucket = &self.buckets[self.other(first, tag)];
        probe(bucket, tag, &mut is).map(|(_, id)| id)
    }

    fn insert(&mut self, hash: u32, id: u32) -> bool {
        let (first, tag) = self.place(hash);
        let second = self.other(first, tag);
        for bucket in [first, second] {
            if let Some(place) = self.room(bucket) {
                self.put(bucket, place, tag, id, bucket != first);
                return true;
            }
        }
        let Some((bucket, place)) = self.make_room(first, second) else { return false };
        self.put(bucket, place, tag, id, bucket != first);
        true
    }

    fn room(&self, bucket: usize) -> Option<usize> {
        let free = self.buckets[bucket].places(0);
        (free != 0).then(|| free.trailing_zeros() as usize)
    }

    fn put(&mut self, bucket: usize, place: usize, tag: u16, id: u32, displaced: bool) {
        let b = &mut self.buckets[bucket];
        (b.tags[place], b.ids[place]) = (tag, id);
        b.displaced = b.displaced & !(1 << place) | u8::from(displaced) << place;
        if displaced {
            let first = self.other(bucket, tag);
            self.buckets[first].elsewhere += 1;
        }
    }

    fn take(&mut self, bucket: usize, place: usize) -> (u16, u32, bool) {
        let b = &mut self.buckets[bucket];
        let (tag, id) = (b.tags[place], b.ids[place]);
        let displaced = b.displaced >> place & 1 == 1;
        b.tags[place] = 0;
        b.displaced &= !(1 << place);
        if displaced {
            let first = self.other(bucket, tag);
            self.buckets[first].elsewhere -= 1;
        }
        (tag, id, displaced)
    }

    /// Frees a place in one of two full buckets: finds, breadth first, the shortest chain of
    /// flows that can each step aside to their other choice, and moves them, last one first.
    fn make_room(&mut self, first: usize, second: usize) -> Option<(usize, usize)> {
        // A bucket, and whose flow (a node and its place) would step aside into it.
        let mut nodes = [(0usize, 0usize, 0usize); SEARCH];
        (nodes[0], nodes[1]) = ((first, SEARCH, 0), (second, SEARCH, 0));
        let (mut seen, mut at) = (2, 0);
        while at < seen {
            let (bucket, ..) = nodes[at];
            for place in 0..WIDTH {
                let other = self.other(bucket, self.buckets[bucket].tags[place]);
                if let Some(free) = self.room(other) {
                    return Some(self.step_aside(&nodes, (at, place), (other, free)));
                }
                // A chain that came back to a bucket of its own would move a flow twice.
                if seen < SEARCH && nodes[..seen].iter().all(|&(known, ..)| known != other) {
                    nodes[seen] = (other, at, place);
                    seen += 1;
                }
            }
            at += 1;
        }
        None
    }

    fn step_aside(
        &mut self,
        nodes: &[(usize, usize, usize); SEARCH],
        mut from: (usize, usize),
        mut to: (usize, usize),
    ) -> (usize, usize) {
        loop {
            let (node, place) = from;
            let (bucket, parent, parent_place) = nodes[node];
            let (tag, id, displaced) = self.take(bucket, place);
            self.put(to.0, to.1, tag, id, !displaced);
            to = (bucket, place);
            if parent == SEARCH {
                return to;
            }
            from = (parent, parent_place);
        }
    }

    fn remove(&mut self, hash: u32, id: u32) -> bool {
        let (first, tag) = self.place(hash);
        for bucket in [first, self.other(first, tag)] {
            if let Some((place, _)) = probe(&self.buckets[bucket], tag, &mut |i| i == id) {
                self.take(bucket, place);
                return true;
            }
        }
        false
    }
}

#[inline(always)]
fn probe(bucket: &Bucket, tag: u16, is: &mut impl FnMut(u32) -> bool) -> Option<(usize, u32)> {
    let mut places = bucket.places(tag);
    while places != 0 {
        let place = places.trailing_zeros() as usize & (WIDTH - 1);
        if is(bucket.ids[place]) {
            return Some((place, bucket.ids[place]));
        }
        places &= places - 1;
    }
    None
}

/// A table that is being built to take over.
struct Growing {
    table: Table,
    /// How many buckets it is to have.
    buckets: usize,
    /// Flows with a smaller number are in it.
    moved: u32,
}

/// The index: flow numbers by hash. Whether a number's flow is the one sought is the caller's to
/// say; two flows may have the same hash.
pub(crate) struct Index {
    table: Table,
    growing: Option<Growing>,
    len: usize,
}

impl Index {
    /// An empty index.
    pub(crate) fn new() -> Index {
        Index { table: Table::new(64), growing: None, len: 0 }
    }

    /// Asks for the line of the hash's first choice.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u32) {
        port::prefetch::element(&self.table.buckets, self.table.place(hash).0);
    }

    /// The first flow of this hash for which `is` holds.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u32, is: impl FnMut(u32) -> bool) -> Option<u32> {
        self.table.find(hash, is)
    }

    /// Adds a flow number. `flows` is how many numbers are in use or were, and `hash_of` gives
    /// the hash of a number that is in use. False if there is no room for this hash.
    pub(crate) fn insert(
        &mut self,
        hash: u32,
        id: u32,
        flows: u32,
        hash_of: impl Fn(u32) -> Option<u32>,
    ) -> bool {
        if !self.table.insert(hash, id) {
            return false;
        }
        self.len += 1;
        let n = self.table.buckets.len();
        if let Some(growing) = &mut self.growing {
            if id < growing.moved && !growing.table.insert(hash, id) {
                self.growing = None; // crafted: begin again, with the numbers in another order
            } else {
                self.grow(flows, hash_of);
            }
        } else if self.len > n / 4 * 3 * WIDTH {
            let table = Table { buckets: Vec::with_capacity(n * 2) };
            self.growing = Some(Growing { table, buckets: n * 2, moved: 0 });
        }
        true
    }

    /// Forgets a flow number.
    pub(crate) fn remove(&mut self, hash: u32, id: u32) {
        if self.table.remove(hash, id) {
            self.len -= 1;
        }
        if let Some(growing) = &mut self.growing
            && id < growing.moved
        {
            growing.table.remove(hash, id);
        }
    }

    /// One insertion's share of the work.
    fn grow(&mut self, flows: u32, hash_of: impl Fn(u32) -> Option<u32>) {
        let Some(growing) = &mut self.growing else { return };
        let laid = growing.table.buckets.len();
        if laid < growing.buckets {
            let upto = growing.buckets.min(laid + LAY);
            growing.table.buckets.resize(upto, EMPTY);
            return;
        }
        let upto = flows.min(growing.moved + MOVE);
        for id in growing.moved..upto {
            if let Some(hash) = hash_of(id)
                && !growing.table.insert(hash, id)
            {
                self.growing = None;
                return;
            }
        }
        growing.moved = upto;
        if upto == flows
            && let Some(growing) = self.growing.take()
        {
            self.table = growing.table;
        }
    }

    /// Bytes of memory, that of a table being built included.
    pub(crate) fn bytes(&self) -> usize {
        let growing = self.growing.as_ref().map_or(0, |g| g.table.buckets.capacity());
        (self.table.buckets.capacity() + growing) * size_of::<Bucket>()
    }
}
