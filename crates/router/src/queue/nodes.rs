//! Packets that wait: one pool for all queues, and the rings in which they stand.
//!
//! ```text
//! ring: first ─► … ─► last        what stands behind the last means nothing
//! ```
//!
//! Whatever the discipline, a packet waits in a node of this pool, named by number. The pool grows
//! to what was ever needed at once. What a discipline drops, or marks, is noted here for whoever
//! called it.

use wire::{FiveTuple, Ipv6Prefix, Moment};

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// What disciplines look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The packet's 5-tuple, its source not translated; of IPv6 its addresses folded.
    pub tuple: FiveTuple,
    /// Its TOS byte, or traffic class: DSCP and ECN.
    pub tos: u8,
    /// It is of IPv6.
    pub v6: bool,
    /// What it acknowledges, if it does nothing else: TCP, no data, no option but time stamps.
    pub ack: Option<u32>,
}

impl Label {
    /// That of a packet of IPv4.
    #[inline(always)]
    pub const fn v4(tuple: FiveTuple, tos: u8) -> Label {
        Label { tuple, tos, v6: false, ack: None }
    }

    /// That of a packet of IPv6, for a queue that looks at so many bits of its addresses.
    pub fn v6(tuple: FiveTuple<u128>, tos: u8, [src, dst]: [u8; 2]) -> Label {
        let network = |address, len| Ipv6Prefix::new(address, len).bits();
        let (src, dst) = (network(tuple.src, src), network(tuple.dst, dst));
        Label { tuple: FiveTuple { src, dst, ..tuple }.folded(), tos, v6: true, ack: None }
    }

    /// Whether it may be marked (RFC 3168: ECT(0), ECT(1) or CE) instead of dropped.
    pub(super) fn takes_marks(self) -> bool {
        self.tos & 3 != 0
    }
}

/// What is written into a packet when it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Congestion Experienced (RFC 3168).
    pub ce: bool,
    /// DSCP 0: cake's `wash`.
    pub wash: bool,
}

impl Marks {
    /// Whether there is anything to write.
    #[inline]
    pub fn any(self) -> bool {
        self != Marks::default()
    }
}

/// What a packet was to the queue that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// IP length + 14.
    pub len: u32,
    /// As it came.
    pub label: Label,
    /// To be written into it.
    pub marks: Marks,
}

/// What is known of a packet that waits.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // one cache line: each is alone when its turn comes
pub(super) struct Node {
    pub(super) len: u32,
    /// When it came.
    pub(super) came: Moment,
    pub(super) label: Label,
    pub(super) marks: Marks,
}

/// The pool.
#[derive(Debug)]
pub(super) struct Nodes<T> {
    pub(super) list: List,
    waiting: Vec<Place<T>>,
}

/// Room for a packet: whole cache lines.
#[derive(Debug)]
#[repr(align(64))]
struct Place<T>(Option<T>);

/// The pool without the packets themselves: all that disciplines need.
#[derive(Clone, Debug)]
pub(super) struct List {
    nodes: Vec<Node>,
    /// Who stands behind each: apart, for whoever comes must not ask for the line of the one before.
    next: Vec<u32>,
    /// The first free node.
    free: u32,
    /// What disciplines have dropped since somebody took it.
    pub(super) dropped: Vec<u32>,
}

impl<T> Default for Nodes<T> {
    fn default() -> Nodes<T> {
        let list = List { nodes: Vec::new(), next: Vec::new(), free: NONE, dropped: Vec::new() };
        Nodes { list, waiting: Vec::new() }
    }
}

impl<T> Nodes<T> {
    /// Takes a packet in; it stands in no ring yet.
    pub(super) fn put(&mut self, waiting: T, len: u32, label: Label, now: Moment) -> u32 {
        let node = Node { len, came: now, label, marks: Marks::default() };
        let list = &mut self.list;
        if list.free == NONE {
            list.nodes.push(node);
            list.next.push(NONE);
            self.waiting.push(Place(Some(waiting)));
            return list.nodes.len() as u32 - 1;
        }
        let id = list.free;
        list.free = list.next[id as usize];
        list.nodes[id as usize] = node;
        self.waiting[id as usize].0 = Some(waiting);
        // The next to be taken.
        self.foresee(self.list.free);
        id
    }

    /// Takes a packet out, which stands in no ring any more.
    pub(super) fn take(&mut self, id: u32) -> Option<T> {
        self.list.next[id as usize] = self.list.free;
        self.list.free = id;
        self.waiting[id as usize].0.take()
    }

    /// The same, with what it was to its queue.
    #[inline]
    pub(super) fn let_go(&mut self, id: u32) -> Option<(T, Waited)> {
        let Node { len, label, marks, .. } = self.list[id];
        Some((self.take(id)?, Waited { len, label, marks }))
    }

    /// Asks for a packet's memory.
    #[inline]
    pub(super) fn foresee(&self, id: u32) {
        self.list.foresee(id);
        port::prefetch::element(&self.waiting, id as usize);
    }

    /// Whether they are too many for the nearest caches.
    pub(super) fn are_many(&self) -> bool {
        self.waiting.len() > 4096
    }

    /// What waits, in no particular order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().filter_map(|place| place.0.as_ref())
    }

    /// The same packets, of which nothing is there but what disciplines know: for a trial.
    pub(super) fn trial(&self) -> Nodes<T> {
        let waiting = self.waiting.iter().map(|_| Place(None)).collect();
        Nodes { list: self.list.clone(), waiting }
    }

    /// Takes out whatever waits.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = T> {
        self.waiting.iter_mut().filter_map(|place| place.0.take())
    }

    /// Memory taken, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.list.nodes.capacity() * size_of::<Node>()
            + self.list.next.capacity() * size_of::<u32>()
            + self.waiting.capacity() * size_of::<Place<T>>()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

impl List {
    /// Asks for a node's memory.
    pub(super) fn foresee(&self, id: u32) {
        port::prefetch::element(&self.nodes, id as usize);
        port::prefetch::element(&self.next, id as usize);
    }
}

impl std::ops::Index<u32> for List {
    type Output = Node;

    #[inline]
    fn index(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }
}

impl std::ops::IndexMut<u32> for List {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }
}

/// Packets in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    first: u32,
    last: u32,
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

impl Default for Ring {
    fn default() -> Ring {
        Ring { first: NONE, last: NONE, packets: 0, bytes: 0 }
    }
}

impl Ring {
    /// The first packet.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.packets > 0).then_some(self.first)
    }

    /// Puts a packet behind the last. Nothing is read of that one: it has left the caches, maybe.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, node: u32) {
        match self.packets {
            0 => self.first = node,
            _ => list.next[self.last as usize] = node,
        }
        self.last = node;
        self.packets += 1;
        self.bytes += u64::from(list[node].len);
    }

    /// All packets, in order.
    pub(super) fn nodes<'a>(&self, list: &'a List) -> impl Iterator<Item = u32> + 'a {
        let nodes = std::iter::successors(self.first(), |&node| Some(list.next[node as usize]));
        nodes.take(self.packets as usize)
    }

    /// Takes out the first packet of those of which `is` says so.
    pub(super) fn take_if(&mut self, list: &mut List, is: impl Fn(&Node) -> bool) -> Option<u32> {
        let (mut node, mut before) = (self.first, NONE);
        for _ in 0..self.packets {
            if is(&list[node]) {
                self.take(list, node, before);
                return Some(node);
            }
            (node, before) = (list.next[node as usize], node);
        }
        None
    }

    /// Takes the last packet.
    pub(super) fn pop_last(&mut self, list: &mut List) -> Option<u32> {
        let (mut node, mut before) = (self.first()?, NONE);
        for _ in 1..self.packets {
            (node, before) = (list.next[node as usize], node);
        }
        self.take(list, node, before);
        Some(node)
    }

    /// Takes out a packet behind `before`, or the first.
    fn take(&mut self, list: &mut List, node: u32, before: u32) {
        match before {
            NONE => self.first = list.next[node as usize],
            _ => list.next[before as usize] = list.next[node as usize],
        }
        if self.last == node {
            self.last = before;
        }
        self.packets -= 1;
        self.bytes -= u64::from(list[node].len);
    }

    /// Takes the first packet.
    #[inline]
    pub(super) fn pop(&mut self, list: &mut List) -> Option<u32> {
        let first = self.first()?;
        self.first = list.next[first as usize];
        self.packets -= 1;
        self.bytes -= u64::from(list[first].len);
        Some(first)
    }
}
