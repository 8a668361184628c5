//! Full tables: read from a file, or made up, and dealt out over next hops.
//!
//! ```text
//! prefixes ─► in turn ─► 198.19.0.101 … .108 (behind ether2), 198.18.0.101 … .108 (behind ether1)
//! ```
//!
//! Neighbouring prefixes get different next hops, on both sides: the hard case for a table that
//! merges equals, and traffic both ways.
//! Never opens a file: the reader is given.

use crate::traffic::{NEXT_HOPS, next_hop};
use router::Router;
use router::interface::InterfaceId;
use router::ip::fib::{list, synthetic};
use router::ip::route::{Target, TooManyTargets};
use std::io::BufRead;
use wire::Ipv4Prefix;

/// How many routes a made-up table has.
pub const SYNTHETIC: usize = 900_000;

/// A table's networks, and what it is called.
#[derive(Clone, Debug)]
pub struct Table {
    /// The networks, in order, each once.
    pub prefixes: Vec<Ipv4Prefix>,
    /// For the result: `synthetic table`, or the file.
    pub source: String,
}

impl Table {
    /// A made-up table with the real mix of prefix lengths.
    pub fn synthetic(n: usize, seed: u64) -> Table {
        Table { prefixes: synthetic::prefixes(n, seed), source: "synthetic table".to_string() }
    }

    /// A list of prefixes, one a line.
    ///
    /// # Errors
    /// The line that is no prefix.
    pub fn read(source: &str, reader: impl BufRead) -> Result<Table, list::ListError> {
        let mut prefixes = list::read(reader)?.ipv4;
        prefixes.sort_unstable();
        prefixes.dedup();
        Ok(Table { prefixes, source: source.to_string() })
    }

    /// The networks whose routes lead out of a port (0 or 1) and that traffic can be sent to:
    /// unicast, and none of the tester's own.
    pub fn behind(&self, port: usize) -> Vec<Ipv4Prefix> {
        let dealt = self.prefixes.iter().enumerate();
        let here = dealt.filter(|(at, _)| dealt_to(*at).0 == port);
        here.map(|(_, prefix)| *prefix).filter(|prefix| can_be_sent_to(*prefix)).collect()
    }

    /// Feeds the routes to a router; `ports` are its first two interfaces.
    ///
    /// # Errors
    /// The router has no numbers left for next hops.
    pub fn feed(&self, router: &mut Router, ports: [InterfaceId; 2]) -> Result<(), TooManyTargets> {
        let route = |(at, prefix): (usize, &Ipv4Prefix)| {
            let (port, n) = dealt_to(at);
            (*prefix, Target::Gateways(vec![(ports[port], next_hop(port, n))]))
        };
        router.feed_routes(self.prefixes.iter().enumerate().map(route))
    }
}

/// The port and the next hop there of the route at a place.
fn dealt_to(at: usize) -> (usize, u32) {
    ((at + 1) % 2, (at / 2) as u32 % NEXT_HOPS)
}

fn can_be_sent_to(prefix: Ipv4Prefix) -> bool {
    let first = prefix.bits() >> 24;
    let benchmark = Ipv4Prefix::new(0xc612_0000, 15); // 198.18.0.0/15: the tester's own
    let ours = benchmark.contains(prefix.bits()) || prefix.contains(benchmark.bits());
    prefix.len() >= 8 && (1..224).contains(&first) && first != 127 && !ours
}
