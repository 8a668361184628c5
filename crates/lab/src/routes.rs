//! Full tables: read from a file, or made up, and dealt out over next hops.
//!
//! ```text
//! IPv4 ─┬─ even first byte ────────► in turn ─► 198.18.0.101 … .108, behind ether1
//!       └─ odd first byte ─────────► in turn ─► 198.19.0.101 … .108, behind ether2
//! IPv6 ─┬─ even first two bytes ───► in turn ─► 2001:2:0:1::101 … ::108
//!       └─ odd first two bytes ────► in turn ─► 2001:2:0:2::101 … ::108
//! ```
//!
//! Neighbouring prefixes get different next hops: the hard case for a table that merges equals.
//! Whatever lies within a network lies behind the same port, so traffic to it crosses the router.
//! Never opens a file: the reader is given.

use crate::net::FOR_TESTS6;
use crate::traffic::{NEXT_HOPS, next_hop};
use measure::{Family, Values};
use router::Router;
use router::interface::InterfaceId;
use router::ip::fed::Fed;
use router::ip::feed::Protocol;
use router::ip::fib::{list, synthetic, synthetic6};
use router::ip::route::{Target, TooManyTargets};
use std::io::BufRead;
use std::net::IpAddr;
use wire::{Ipv4Prefix, Ipv6Prefix};

/// How many routes a made-up table has: about as many as the Internet.
pub fn synthetic(family: Family) -> usize {
    match family {
        Family::Ipv4 => 900_000,
        Family::Ipv6 => 160_000,
    }
}

/// A table's networks, and what it is called.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The networks of IPv4, in order, each once.
    pub ipv4: Vec<Ipv4Prefix>,
    /// Those of IPv6.
    pub ipv6: Vec<Ipv6Prefix>,
    /// For the result: `synthetic table`, or the file.
    pub source: String,
}

impl Table {
    /// A made-up table of one family with the real mix of prefix lengths.
    pub fn synthetic(family: Family, n: usize, seed: u64) -> Table {
        let source = "synthetic table".to_string();
        match family {
            Family::Ipv4 => {
                Table { ipv4: synthetic::prefixes(n, seed), source, ..Table::default() }
            }
            Family::Ipv6 => {
                Table { ipv6: synthetic6::prefixes(n, seed), source, ..Table::default() }
            }
        }
    }

    /// A list of prefixes, one a line.
    ///
    /// # Errors
    /// The line that is no prefix.
    pub fn read(source: &str, reader: impl BufRead) -> Result<Table, list::ListError> {
        let list::PrefixList { mut ipv4, mut ipv6 } = list::read(reader)?;
        ipv4.sort_unstable();
        ipv4.dedup();
        ipv6.sort_unstable();
        ipv6.dedup();
        Ok(Table { ipv4, ipv6, source: source.to_string() })
    }

    /// How many networks of a family there are.
    pub fn len(&self, family: Family) -> usize {
        match family {
            Family::Ipv4 => self.ipv4.len(),
            Family::Ipv6 => self.ipv6.len(),
        }
    }

    /// The networks whose routes lead out of a port (0 or 1) and that traffic can be sent to: unicast,
    /// and none of the tester's own. Of IPv6 none that is smaller than a link's.
    pub fn behind(&self, family: Family, port: usize) -> Values {
        match family {
            Family::Ipv4 => {
                let here = self.ipv4.iter().filter(|prefix| port_of(**prefix) == port);
                Values::Networks(here.copied().filter(|prefix| can_be_sent_to(*prefix)).collect())
            }
            Family::Ipv6 => {
                let here = self.ipv6.iter().filter(|prefix| port_of6(**prefix) == port);
                Values::Networks6(here.copied().filter(|prefix| can_be_sent_to6(*prefix)).collect())
            }
        }
    }

    /// Feeds the routes of a family to a router; `ports` are its first two interfaces. Those of IPv6 are
    /// news to its compiler: they are there once it is configured again.
    ///
    /// # Errors
    /// The router has no numbers left for next hops.
    pub(crate) fn feed(
        &self,
        family: Family,
        router: &mut Router,
        ports: [InterfaceId; 2],
    ) -> Result<(), TooManyTargets> {
        match family {
            Family::Ipv4 => router.feed_routes(self.routes4().filter_map(|(prefix, port, via)| {
                let IpAddr::V4(via) = via else { return None };
                Some((prefix, Target::Gateways(vec![(ports[port], via.into())])))
            })),
            Family::Ipv6 => {
                let routes = self.routes6().filter_map(|(prefix, port, via)| {
                    let IpAddr::V6(via) = via else { return None };
                    let target = Target::Gateways(vec![(ports[port], via.into())]);
                    Some(Fed { prefix, target, protocol: Protocol::Bgp })
                });
                router.feed6(routes.collect());
                Ok(())
            }
        }
    }

    /// The routes of a family, each as `each` says it: network, port (0 or 1), next hop.
    pub fn said(&self, family: Family, each: impl Fn(String, usize, IpAddr) -> String) -> String {
        match family {
            Family::Ipv4 => {
                self.routes4().map(|(net, port, via)| each(net.to_string(), port, via)).collect()
            }
            Family::Ipv6 => {
                self.routes6().map(|(net, port, via)| each(net.to_string(), port, via)).collect()
            }
        }
    }

    fn routes4(&self) -> impl Iterator<Item = (Ipv4Prefix, usize, IpAddr)> + '_ {
        dealt(Family::Ipv4, &self.ipv4, port_of)
    }

    fn routes6(&self) -> impl Iterator<Item = (Ipv6Prefix, usize, IpAddr)> + '_ {
        dealt(Family::Ipv6, &self.ipv6, port_of6)
    }

    /// The port that the longest of the networks is behind which has an address in it.
    #[cfg(test)]
    pub(crate) fn port_of(&self, address: IpAddr) -> Option<usize> {
        match address {
            IpAddr::V4(address) => {
                let of = self.ipv4.iter().filter(|net| net.contains(address.into()));
                of.max_by_key(|net| net.len()).map(|net| port_of(*net))
            }
            IpAddr::V6(address) => {
                let of = self.ipv6.iter().filter(|net| net.contains(address.into()));
                of.max_by_key(|net| net.len()).map(|net| port_of6(*net))
            }
        }
    }
}

/// Routes: each network, the port it is behind, and the next hop there.
fn dealt<P: Copy>(
    family: Family,
    prefixes: &[P],
    port_of: impl Fn(P) -> usize,
) -> impl Iterator<Item = (P, usize, IpAddr)> {
    prefixes.iter().enumerate().map(move |(at, &prefix)| {
        let port = port_of(prefix);
        (prefix, port, next_hop(family, port, at as u32 % NEXT_HOPS))
    })
}

/// The port (0 or 1) a network is behind.
fn port_of(prefix: Ipv4Prefix) -> usize {
    (prefix.bits() >> 24) as usize % 2
}

fn port_of6(prefix: Ipv6Prefix) -> usize {
    (prefix.bits() >> 112) as usize % 2
}

fn can_be_sent_to(prefix: Ipv4Prefix) -> bool {
    let first = prefix.bits() >> 24;
    let benchmark = Ipv4Prefix::new(0xc612_0000, 15); // 198.18.0.0/15: the tester's own
    let ours = benchmark.contains(prefix.bits()) || prefix.contains(benchmark.bits());
    prefix.len() >= 8 && (1..224).contains(&first) && first != 127 && !ours
}

fn can_be_sent_to6(prefix: Ipv6Prefix) -> bool {
    let is_global = prefix.bits() >> 125 == 1; // 2000::/3
    let ours = FOR_TESTS6.contains(prefix.bits()) || prefix.contains(FOR_TESTS6.bits());
    (16..=64).contains(&prefix.len()) && is_global && !ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_and_dealt_out() {
        let list = "2.0.0.0/8\n1.0.0.0/24\n1.0.0.0/24\n1.0.0.0/8\n2001:db8::/32\n0.0.0.0/0\n\
                    198.18.0.0/24\n192.0.0.0/8\n224.0.0.0/4\n127.0.0.0/8\n2400::/12\n2a00::/16\n\
                    2001:2::/48\n2001:db8::/32\nfe80::/64\n2001:db8::/80\n::/0\n2001::/16\n";
        let table = Table::read("list", list.as_bytes()).unwrap();
        assert_eq!((table.len(Family::Ipv4), table.len(Family::Ipv6)), (8, 8));
        let text = |values| -> Vec<String> {
            match values {
                Values::Networks(all) => all.iter().map(ToString::to_string).collect(),
                Values::Networks6(all) => all.iter().map(ToString::to_string).collect(),
                _ => panic!("no networks"),
            }
        };
        // Not: everything, our own, multicast, loopback.
        let behind = [0, 1].map(|port| text(table.behind(Family::Ipv4, port)));
        assert_eq!(behind, [vec!["2.0.0.0/8", "192.0.0.0/8"], vec!["1.0.0.0/8", "1.0.0.0/24"]]);
        // Not: everything, what may hold networks of either port, our own, links, less than a link.
        let behind = [0, 1].map(|port| text(table.behind(Family::Ipv6, port)));
        assert_eq!(behind, [vec!["2a00::/16"], vec!["2001:db8::/32"]]);
        let said = table.said(Family::Ipv6, |net, port, via| format!("{net} {port} {via}\n"));
        assert!(said.contains("2001:db8::/32 1 2001:2:0:2::10"), "{said}");
        assert_eq!(Table::read("list", &b"1.0.0.0/8\nx\n"[..]).unwrap_err().line, 2);
    }

    #[test]
    fn what_lies_within_a_network_lies_behind_the_same_port() {
        let table = Table::synthetic(Family::Ipv4, 5000, 3);
        assert_eq!(table.len(Family::Ipv4), 5000);
        let [Values::Networks(a), Values::Networks(b)] =
            [0, 1].map(|port| table.behind(Family::Ipv4, port))
        else {
            panic!("no networks")
        };
        assert!(a.len() > 1000 && b.len() > 1000, "{} and {}", a.len(), b.len());
        assert!(!a.iter().any(|a| b.iter().any(|b| a.contains(b.bits()) || b.contains(a.bits()))));
        let table = Table::synthetic(Family::Ipv6, 5000, 3);
        let [Values::Networks6(a), Values::Networks6(b)] =
            [0, 1].map(|port| table.behind(Family::Ipv6, port))
        else {
            panic!("no networks")
        };
        assert!(a.len() > 1000 && b.len() > 1000, "{} and {}", a.len(), b.len());
        assert!(!a.iter().any(|a| b.iter().any(|b| a.contains(b.bits()) || b.contains(a.bits()))));
    }
}
