//! `/queue simple`, compiled: which packet belongs to which leaf.
//!
//! ```text
//!  source, in-interface   ─► upload of …   ┐ smallest order wins; in one queue upload before
//!  destination, out-interface ► download of … ┘ download
//!
//!  an address: for each prefix length that occurs, one probe of a hash table
//!              (length, network) ─► candidates, in order: queue, its dst
//! ```
//!
//! The first match in order wins, as in a firewall, but nobody walks the list: a look-up costs one
//! probe for each prefix length that targets use (25,000 single addresses: one), whatever their
//! number. Only queues with the very same target, told apart by `dst`, are tried one by one.
//!
//! The addresses are the untranslated ones: a queue's target is the client behind the NAT. The
//! result depends on addresses and interfaces alone, so it is constant for a flow.
//!
//! Never counts or limits: that is [`super::leaf`].

use super::bucket::Limit;
use super::leaf::{QueueId, QueueLeafId};
use super::menu;
use crate::book::Book;
use crate::interface::{InterfaceId, Names};
use config::{Item, ItemId, Tree, Value};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use wire::Ipv4Prefix;

/// The simple queues, compiled.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    queues: Vec<Queue>,
    /// Candidates of every target, those of one target together and in order.
    candidates: Vec<Candidate>,
    /// By length and network, see [`key`].
    by_prefix: HashMap<u64, Span, BuildHasherDefault<Mix>>,
    /// Bit n: targets of length n occur.
    lengths: u64,
    /// By interface number.
    by_interface: Vec<Span>,
    invalid: Vec<(ItemId, String)>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    id: QueueId,
    limits: [Limit; 2],
}

/// A queue that matches if its `dst` does.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    queue: u32,
    dst: Dst,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Dst {
    Any,
    Prefix(Ipv4Prefix),
    Interface(InterfaceId),
}

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    end: u32,
}

/// What a queue is for.
enum Target {
    Prefix(Ipv4Prefix),
    Interface(InterfaceId),
}

impl Simple {
    /// Compiles all enabled queues, giving new ones their numbers.
    pub fn compile(tree: &Tree, names: &Names, book: &mut Book<QueueId>) -> Simple {
        let mut simple = Simple::default();
        let mut prefixes: HashMap<u64, Vec<Candidate>, BuildHasherDefault<Mix>> =
            HashMap::default();
        let mut interfaces: HashMap<InterfaceId, Vec<Candidate>> = HashMap::new();
        for item in tree.enabled(menu::SIMPLE.path) {
            let (targets, dst) = match (targets(item, names), dst(item, names)) {
                (Ok(targets), Ok(dst)) => (targets, dst),
                (Err(why), _) | (_, Err(why)) => {
                    simple.invalid.push((item.id, why));
                    continue;
                }
            };
            let candidate = Candidate { queue: simple.queues.len() as u32, dst };
            simple.queues.push(Queue { id: book.of(item.id), limits: menu::limits(item) });
            for target in targets {
                let list = match target {
                    Target::Prefix(prefix) => {
                        simple.lengths |= 1 << prefix.len();
                        prefixes.entry(key(prefix.bits(), prefix.len())).or_default()
                    }
                    Target::Interface(id) => interfaces.entry(id).or_default(),
                };
                // Behind a queue that takes everything nobody has a chance.
                if list.last().is_none_or(|last| last.dst != Dst::Any) {
                    list.push(candidate);
                }
            }
        }
        simple.by_prefix.reserve(prefixes.len());
        for (key, list) in prefixes {
            let span = simple.span(&list);
            simple.by_prefix.insert(key, span);
        }
        for (id, list) in interfaces {
            let span = simple.span(&list);
            let size = simple.by_interface.len().max(id.index() + 1);
            simple.by_interface.resize(size, Span::default());
            simple.by_interface[id.index()] = span;
        }
        simple
    }

    /// Whether there is no queue: what FastPath asks.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// The enabled queues that can never match, and why.
    pub fn invalid(&self) -> &[(ItemId, String)] {
        &self.invalid
    }

    /// The leaf of a packet with these (untranslated) addresses.
    pub fn classify(
        &self,
        src: u32,
        dst: u32,
        in_interface: InterfaceId,
        out_interface: InterfaceId,
    ) -> Option<QueueLeafId> {
        let upload = self.first(src, in_interface, dst, out_interface);
        let download = self.first(dst, out_interface, src, in_interface);
        let (queue, direction) = match (upload, download) {
            (Some(up), Some(down)) if down < up => (down, 1),
            (Some(up), _) => (up, 0),
            (None, Some(down)) => (down, 1),
            (None, None) => return None,
        };
        Some(self.queues[queue as usize].id.leaves()[direction])
    }

    /// Every queue and its limits.
    pub fn limits(&self) -> impl Iterator<Item = (QueueId, [Limit; 2])> {
        self.queues.iter().map(|queue| (queue.id, queue.limits))
    }

    /// Memory taken, in bytes (the hash table's as its entries with one byte of control each).
    pub fn bytes(&self) -> usize {
        self.queues.capacity() * size_of::<Queue>()
            + self.candidates.capacity() * size_of::<Candidate>()
            + self.by_interface.capacity() * size_of::<Span>()
            + self.by_prefix.capacity() * 8 / 7 * (size_of::<(u64, Span)>() + 1)
    }

    /// The first queue whose target is `here` and whose `dst` is `there`.
    fn first(
        &self,
        here: u32,
        here_interface: InterfaceId,
        there: u32,
        there_interface: InterfaceId,
    ) -> Option<u32> {
        let matches = |candidate: &&Candidate| match candidate.dst {
            Dst::Any => true,
            Dst::Prefix(prefix) => prefix.contains(there),
            Dst::Interface(id) => id == there_interface,
        };
        let first = |span: &Span| {
            let list = &self.candidates[span.start as usize..span.end as usize];
            list.iter().find(matches).map(|candidate| candidate.queue)
        };
        let mut best = self.by_interface.get(here_interface.index()).and_then(first);
        let mut lengths = self.lengths;
        while lengths != 0 {
            let len = lengths.trailing_zeros() as u8;
            lengths &= lengths - 1;
            let network = here & wire::prefix::mask(len);
            let found = self.by_prefix.get(&key(network, len)).and_then(first);
            best = match (best, found) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        best
    }

    fn span(&mut self, list: &[Candidate]) -> Span {
        let start = self.candidates.len() as u32;
        self.candidates.extend_from_slice(list);
        Span { start, end: self.candidates.len() as u32 }
    }
}

fn key(network: u32, len: u8) -> u64 {
    u64::from(len) << 32 | u64::from(network)
}

fn targets(item: &Item, names: &Names) -> Result<Vec<Target>, String> {
    let list = match item.get("target") {
        Some(Value::List(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    list.iter().map(|value| target(value, names)).collect()
}

fn dst(item: &Item, names: &Names) -> Result<Dst, String> {
    match item.get("dst") {
        None => Ok(Dst::Any),
        Some(value) => Ok(match target(value, names)? {
            Target::Prefix(prefix) => Dst::Prefix(prefix),
            Target::Interface(id) => Dst::Interface(id),
        }),
    }
}

fn target(value: &Value, names: &Names) -> Result<Target, String> {
    match value {
        &Value::Cidr(addr, len) if len <= 32 => {
            Ok(Target::Prefix(Ipv4Prefix::new(addr.into(), len)))
        }
        Value::Text(name) => {
            names.find(name).map(Target::Interface).ok_or(format!("no interface {name}"))
        }
        other => Err(format!("neither a prefix nor an interface: {other:?}")),
    }
}

/// A hash for keys that users configure: one multiplication. Nobody gains by making them collide.
#[derive(Clone, Copy, Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, n: u64) {
        let product = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table takes its bucket from the low bits and its tag from the highest.
        self.0 = product ^ product >> 32;
    }
}

#[cfg(test)]
mod tests;
