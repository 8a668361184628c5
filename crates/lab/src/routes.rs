//! Full tables: read from a file, or made up, and dealt out over next hops.
//!
//! ```text
//! prefixes ─┬─ even first byte ─► in turn ─► 198.18.0.101 … .108, behind ether1
//!           └─ odd first byte ──► in turn ─► 198.19.0.101 … .108, behind ether2
//! ```
//!
//! Neighbouring prefixes get different next hops: the hard case for a table that merges equals.
//! Whatever lies within a network lies behind the same port, so traffic to it crosses the router.
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
        let here = self.prefixes.iter().filter(|prefix| port_of(**prefix) == port);
        here.copied().filter(|prefix| can_be_sent_to(*prefix)).collect()
    }

    /// Feeds the routes to a router; `ports` are its first two interfaces.
    ///
    /// # Errors
    /// The router has no numbers left for next hops.
    pub fn feed(&self, router: &mut Router, ports: [InterfaceId; 2]) -> Result<(), TooManyTargets> {
        let route = |(prefix, port, via): (Ipv4Prefix, usize, u32)| {
            (prefix, Target::Gateways(vec![(ports[port], via)]))
        };
        router.feed_routes(self.routes().map(route))
    }

    /// Its routes: network, port (0 or 1), next hop.
    pub fn routes(&self) -> impl Iterator<Item = (Ipv4Prefix, usize, u32)> + '_ {
        self.prefixes.iter().enumerate().map(|(at, &prefix)| {
            let port = port_of(prefix);
            (prefix, port, next_hop(port, at as u32 % NEXT_HOPS))
        })
    }
}

/// The port (0 or 1) a network is behind.
fn port_of(prefix: Ipv4Prefix) -> usize {
    (prefix.bits() >> 24) as usize % 2
}

fn can_be_sent_to(prefix: Ipv4Prefix) -> bool {
    let first = prefix.bits() >> 24;
    let benchmark = Ipv4Prefix::new(0xc612_0000, 15); // 198.18.0.0/15: the tester's own
    let ours = benchmark.contains(prefix.bits()) || prefix.contains(benchmark.bits());
    prefix.len() >= 8 && (1..224).contains(&first) && first != 127 && !ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_and_dealt_out() {
        let list = "2.0.0.0/8\n1.0.0.0/24\n1.0.0.0/24\n1.0.0.0/8\n2001:db8::/32\n0.0.0.0/0\n\
                    198.18.0.0/24\n192.0.0.0/8\n224.0.0.0/4\n127.0.0.0/8\n";
        let table = Table::read("list", list.as_bytes()).unwrap();
        assert_eq!(table.prefixes.len(), 8);
        let text =
            |port| -> Vec<String> { table.behind(port).iter().map(ToString::to_string).collect() };
        // Not: everything, our own, multicast, loopback.
        assert_eq!(
            (text(0), text(1)),
            (
                vec!["2.0.0.0/8".to_string(), "192.0.0.0/8".to_string()],
                vec!["1.0.0.0/8".to_string(), "1.0.0.0/24".to_string()],
            )
        );
        assert_eq!(Table::read("list", &b"1.0.0.0/8\nx\n"[..]).unwrap_err().line, 2);
    }

    #[test]
    fn what_lies_within_a_network_lies_behind_the_same_port() {
        let table = Table::synthetic(5000, 3);
        assert_eq!(table.prefixes.len(), 5000);
        let [a, b] = [0, 1].map(|port| table.behind(port));
        assert!(a.len() > 1000 && b.len() > 1000, "{} and {}", a.len(), b.len());
        assert!(!a.iter().any(|a| b.iter().any(|b| a.contains(b.bits()) || b.contains(a.bits()))));
    }
}
