//! `connection-limit`: how many connections a block of sources has.
//!
//! ```text
//! source 10.1.2.3, masklen 24 ─► block 10.1.2.0 ─► its connections, as far as this rule saw them
//!                                                  more than the limit? those that ended, out
//! ```
//!
//! As in Linux each rule counts by itself what has passed its matchers before this one; the packet's
//! own connection counts, one that TCP has closed does not. So `connection-limit=10,32` matches from
//! the eleventh connection on: the ten that are allowed are there already.

use crate::firewall::syntax;
use config::Value;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use wire::FiveTuple;

/// `connection-limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// So many do not match yet.
    pub connections: u32,
    /// The length of the blocks' prefixes.
    pub prefix: u8,
}

impl ConnectionLimit {
    /// Reads `connections,prefix`; addresses have so many bits.
    pub fn parse(text: &str, bits: u8) -> Option<ConnectionLimit> {
        let (connections, prefix) = text.split_once(',')?;
        let prefix = syntax::number(prefix).filter(|&prefix| prefix <= bits)?;
        Some(ConnectionLimit { connections: syntax::number(connections)?, prefix })
    }

    fn block<A: Into<u128>>(self, address: A) -> u128 {
        let bits = 8 * size_of::<A>() as u32;
        address.into() & u128::MAX.checked_shl(bits - u32::from(self.prefix)).unwrap_or(0)
    }
}

/// Reads `connection-limit`.
pub fn read(text: &str) -> Result<Value, String> {
    let is_good = ConnectionLimit::parse(text, 32).is_some();
    syntax::keep(text, is_good, "connections,prefix length, as in 10,32")
}

/// The same of IPv6.
pub fn read6(text: &str) -> Result<Value, String> {
    let is_good = ConnectionLimit::parse(text, 128).is_some();
    syntax::keep(text, is_good, "connections,prefix length, as in 10,64")
}

/// The connections a rule has seen, by block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks<A = u32> {
    by_block: HashMap<u128, HashSet<FiveTuple<A>>>,
    /// How many there are.
    n: usize,
    /// At so many, those that have ended are looked for.
    full: usize,
}

/// Fewer are not worth looking for those that have ended.
const FEW: usize = 1024;

impl<A: Copy + Eq + Hash + Into<u128>> Blocks<A> {
    /// Whether the block of `source` has more connections than allowed, that of the packet, which
    /// began with `original`, among them. `lives` says whether the connection of a tuple still counts.
    pub(crate) fn exceed(
        &mut self,
        limit: ConnectionLimit,
        source: A,
        original: FiveTuple<A>,
        lives: impl Fn(&FiveTuple<A>) -> bool,
    ) -> bool {
        let keep = |tuple: &FiveTuple<A>| *tuple == original || lives(tuple);
        if self.n >= self.full.max(FEW) {
            self.by_block.retain(|_, connections| {
                connections.retain(&keep);
                !connections.is_empty()
            });
            self.n = self.by_block.values().map(HashSet::len).sum();
            self.full = self.n * 2;
        }
        let connections = self.by_block.entry(limit.block(source)).or_default();
        self.n += usize::from(connections.insert(original));
        let allowed = limit.connections as usize;
        if connections.len() > allowed {
            let before = connections.len();
            connections.retain(keep);
            self.n -= before - connections.len();
        }
        connections.len() > allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(src: u32, src_port: u16) -> FiveTuple {
        FiveTuple { src, src_port, ..FiveTuple::default() }
    }

    #[test]
    fn blocks_count_apart_and_what_ended_counts_no_more() {
        let limit = ConnectionLimit::parse("2,24", 32).unwrap();
        let mut blocks = Blocks::<u32>::default();
        let mut exceed = |src, port, ended: u16| {
            blocks.exceed(limit, src, tuple(src, port), |tuple| tuple.src_port > ended)
        };
        assert!(!exceed(0x0a00_0001, 1, 0));
        assert!(!exceed(0x0a00_0002, 2, 0), "the second of the block");
        assert!(exceed(0x0a00_0003, 3, 0), "the third");
        assert!(!exceed(0x0a00_0103, 3, 0), "another block");
        assert!(exceed(0x0a00_0001, 1, 0), "those that were there count with the others");
        assert!(!exceed(0x0a00_0004, 4, 2), "two have ended");
    }

    #[test]
    fn memory_follows_the_connections_that_are_there() {
        let limit = ConnectionLimit::parse("5,32", 32).unwrap();
        let mut blocks = Blocks::default();
        for n in 0..100_000 {
            blocks.exceed(limit, n, tuple(n, 1), |tuple| tuple.src + 10 > n);
        }
        assert!(blocks.n <= FEW && blocks.by_block.len() <= FEW, "{}", blocks.n);
    }

    #[test]
    fn syntax() {
        assert_eq!(ConnectionLimit::parse("0,0", 32).map(|l| l.block(u32::MAX)), Some(0));
        let whole = ConnectionLimit::parse("1,32", 32).map(|l| l.block(u32::MAX));
        assert_eq!(whole, Some(u32::MAX.into()));
        for (text, want) in [("1,64", !0 << 64), ("1,128", u128::MAX), ("1,0", 0)] {
            let limit = ConnectionLimit::parse(text, 128);
            assert_eq!(limit.map(|l| l.block(u128::MAX)), Some(want), "{text}");
        }
        for bad in ["", "1", "1,33", ",32", "a,1", "1,2,3"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
