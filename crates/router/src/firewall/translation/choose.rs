//! Choice of a connection's new 5-tuple.
//!
//! ```text
//!  source:       address by hash of the old one ─► its port, if free ─► another of its kind
//!  destination:  address by hash of the source ─► port of the range
//!                  (a clash is the source's to resolve, behind the routing decision)
//! ```
//!
//! A source keeps its port if it can (RFC 4787 §4.2.1), and a host keeps its address out of many
//! (REQ-2, "paired"). If the port is taken, another of the same kind is looked for: well-known
//! ports stay below 512, privileged ones below 1024, the rest above. The search starts at a hash
//! of the tuple, so it is the same each time, and looks at no more than `TRIES` ports of each of
//! `ADDRESSES` addresses: with 97 of 100 ports in use it fails once in two thousand.
//!
//! With `randomise-ports` the old port is not kept, and the search begins by chance.
//!
//! The same port serves connections to different destinations at once, so ports run out only
//! towards one destination.
//!
//! Missing: **endpoint-independent mapping** beyond what keeping the port gives (RFC 4787 REQ-1),
//! **port parity**.

use crate::discard::Discard;
use crate::firewall::connection::{Connections, Flags, New};
use crate::ip::family::{Block, Family};
use wire::FiveTuple;
use wire::layers::protocol;

/// How many ports of one address are looked at.
pub const TRIES: u32 = 256;
/// How many addresses of a range are looked at.
pub const ADDRESSES: u32 = 4;

/// What is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatKind {
    /// The source: `src-nat`, `masquerade`.
    Source,
    /// The destination: `dst-nat`, `redirect`.
    Destination,
}

/// What a rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatTarget<A: Family = u32> {
    /// What is translated.
    pub kind: NatKind,
    /// One of these addresses; `None`: it stays.
    pub addresses: Option<A::Block>,
    /// One of these ports, both ends included; `None`: any, best the same. Means nothing to
    /// protocols without ports, nor to ICMP.
    pub ports: Option<(u16, u16)>,
    /// Which of the addresses.
    pub pick: Pick,
    /// `randomise-ports`: where the search for a port begins, whatever the old one is.
    pub random: Option<u32>,
}

/// Which of the addresses that a rule allows a connection gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// Each host has its own, whomever it talks to.
    #[default]
    Host,
    /// `same`: each pair of hosts has its own.
    Pair,
    /// `netmap`: the one at the same place of the network.
    Place,
}

impl<A: Family> NatTarget<A> {
    /// One of these addresses, each host its own, and of these ports, best the old one.
    pub const fn new(
        kind: NatKind,
        addresses: Option<A::Block>,
        ports: Option<(u16, u16)>,
    ) -> NatTarget<A> {
        NatTarget { kind, addresses, ports, pick: Pick::Host, random: None }
    }

    /// The addresses to try for an old one of a connection, the best first.
    fn addresses(&self, old: A, tuple: &FiveTuple<A>) -> Addresses<A> {
        let block = self.addresses.unwrap_or_else(|| A::Block::host(old));
        let host = match self.pick {
            Pick::Host => FiveTuple { src: tuple.src, ..FiveTuple::default() },
            Pick::Pair => FiveTuple { src: tuple.src, dst: tuple.dst, ..FiveTuple::default() },
            Pick::Place => {
                let block = A::Block::host(block.at_place_of(old));
                return Addresses { block, count: 1, at: 0 };
            }
        };
        let count = block.count();
        Addresses { block, count, at: u64::from(A::hash_of(&host)) % count }
    }
}

impl<A: Family> Connections<A> {
    /// Translates a connection that is not entered yet. Destinations first, then sources; both
    /// may be (hairpin).
    ///
    /// # Errors
    /// [`Discard::NatPortsExhausted`], counted; the connection is as it was.
    pub fn translate(&mut self, new: &mut New<A>, target: &NatTarget<A>) -> Result<(), Discard> {
        let taken = |tuple: &FiveTuple<A>| self.is_taken(&tuple.reversed());
        let Some(chosen) = choose(new.translated, target, taken) else {
            self.counts.ports_exhausted += 1;
            return Err(Discard::NatPortsExhausted);
        };
        if chosen != new.translated {
            new.flags.set(match target.kind {
                NatKind::Source => Flags::SRCNAT,
                NatKind::Destination => Flags::DSTNAT,
            });
            new.translated = chosen;
        }
        Ok(())
    }

    /// What every connection needs behind the last NAT chain, also if no rule was for it: that
    /// its reply tuple is nobody else's. Mostly nothing is to be done; else the source gets
    /// another port.
    ///
    /// # Errors
    /// [`Discard::NatPortsExhausted`], counted.
    pub fn settle(&mut self, new: &mut New<A>) -> Result<(), Discard> {
        let same = NatTarget::new(NatKind::Source, None, None);
        self.translate(new, &same)
    }
}

/// The tuple with its source or destination translated; `None` if all that was looked at is taken.
/// `taken` says whether a connection whose packets leave with a tuple could not be told from
/// another by its replies.
pub fn choose<A: Family>(
    tuple: FiveTuple<A>,
    target: &NatTarget<A>,
    taken: impl Fn(&FiveTuple<A>) -> bool,
) -> Option<FiveTuple<A>> {
    match target.kind {
        NatKind::Source => source(tuple, target, taken),
        NatKind::Destination => Some(destination(tuple, target)),
    }
}

fn source<A: Family>(
    tuple: FiveTuple<A>,
    target: &NatTarget<A>,
    taken: impl Fn(&FiveTuple<A>) -> bool,
) -> Option<FiveTuple<A>> {
    // Of the tuple as it was: hosts behind one address that use the same port begin apart.
    let start = target.random.unwrap_or_else(|| A::hash_of(&tuple));
    let mut addresses = target.addresses(tuple.src, &tuple);
    (0..addresses.count.min(u64::from(ADDRESSES))).find_map(|_| {
        let tuple = FiveTuple { src: addresses.next(), ..tuple };
        port(tuple, target, start, &taken)
    })
}

/// A free port for this source address.
fn port<A: Family>(
    tuple: FiveTuple<A>,
    target: &NatTarget<A>,
    start: u32,
    taken: &impl Fn(&FiveTuple<A>) -> bool,
) -> Option<FiveTuple<A>> {
    let (port, ports) = (tuple.src_port, target.ports);
    let is_icmp = tuple.protocol == A::ICMP;
    let (low, high) = match (tuple.protocol, ports) {
        (protocol::TCP | protocol::UDP, Some(ports)) => ports,
        (protocol::TCP | protocol::UDP, None) => class(port),
        _ if is_icmp => (0, u16::MAX), // identifiers have no classes (RFC 5508 §3.1)
        _ => return (!taken(&tuple)).then_some(tuple),
    };
    let with = |port: u16| {
        // An identifier stands for both ports.
        let dst_port = if is_icmp { port } else { tuple.dst_port };
        FiveTuple { src_port: port, dst_port, ..tuple }
    };
    let allowed = ports.is_none() || is_icmp || (low <= port && port <= high);
    if allowed && target.random.is_none() && !taken(&tuple) {
        return Some(tuple);
    }
    let size = u32::from(high - low) + 1;
    // Steps of a prime: neighbours of a taken port are taken more often than others.
    let step = if size.is_multiple_of(7919) { 1 } else { 7919 % size };
    let mut at = start % size;
    for _ in 0..size.min(TRIES) {
        let candidate = with(low + at as u16);
        if !taken(&candidate) {
            return Some(candidate);
        }
        at = (at + step) % size;
    }
    None
}

fn destination<A: Family>(tuple: FiveTuple<A>, target: &NatTarget<A>) -> FiveTuple<A> {
    let dst = target.addresses(tuple.dst, &tuple).next();
    let dst_port = match (tuple.protocol, target.ports) {
        (protocol::TCP | protocol::UDP, Some((low, high)))
            if tuple.dst_port < low || tuple.dst_port > high || target.random.is_some() =>
        {
            let start = target.random.unwrap_or_else(|| A::hash_of(&tuple));
            low + (start % (u32::from(high - low) + 1)) as u16
        }
        _ => tuple.dst_port,
    };
    FiveTuple { dst, dst_port, ..tuple }
}

/// The ports a port may be replaced by.
fn class(port: u16) -> (u16, u16) {
    match port {
        0..512 => (1, 511),
        512..1024 => (600, 1023),
        _ => (1024, u16::MAX),
    }
}

/// Addresses of a block, beginning with the one that belongs to a host.
struct Addresses<A: Family> {
    block: A::Block,
    count: u64,
    at: u64,
}

impl<A: Family> Addresses<A> {
    fn next(&mut self) -> A {
        let address = self.block.number(self.at);
        self.at = (self.at + 1) % self.count;
        address
    }
}
