//! The addresses of the tester's hosts, and of the gateways they send to.
//!
//! ```text
//!  hosts from 198.18.0.101 on ── port 0 [ 198.18.0.1  device  198.19.0.1 ] port 1 ── from 198.19.0.101 on
//! ```
//!
//! RFC 2544 §C.2.2 sets 198.18.0.0/15 aside for this, and RFC 6815 §5 asks that tests keep to it:
//! whoever wants other addresses has to say so.

use crate::traffic::{HOSTS, host, router_address};
use std::net::Ipv4Addr;

/// Who the tester is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    /// The first host on each port; the others follow it.
    pub hosts: [u32; 2],
    /// Whom they send to.
    pub gateways: [u32; 2],
}

impl Default for Net {
    /// As the table's devices are set up.
    fn default() -> Net {
        let [a, b] = [0, 1];
        Net { hosts: [host(a, 0), host(b, 0)], gateways: [a, b].map(router_address) }
    }
}

/// A network's first and last address.
fn range(address: u32, length: u8) -> (u32, u32) {
    let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
    (address & mask, address | !mask)
}

impl Net {
    /// Of the first host on each port with the length of its network's prefix, and the gateways.
    ///
    /// # Errors
    /// The hosts do not fit, or somebody is where he cannot be: why, in a sentence.
    pub fn new(first: [(Ipv4Addr, u8); 2], gateways: [Ipv4Addr; 2]) -> Result<Net, String> {
        let mut networks = Vec::new();
        for ((address, length), gateway) in first.into_iter().zip(gateways) {
            if length > 32 {
                return Err(format!("{address}/{length} is no network: 0 to 32"));
            }
            let host = u32::from(address);
            let (least, most) = range(host, length);
            let last = host.checked_add(HOSTS - 1);
            if host == least || last.is_none_or(|last| last >= most) {
                return Err(format!(
                    "{address}/{length} has no room for {HOSTS} hosts from {address} on"
                ));
            }
            let to = u32::from(gateway);
            if !(least + 1..most).contains(&to) {
                return Err(format!("the gateway {gateway} is not in {address}/{length}"));
            }
            if (host..host + HOSTS).contains(&to) {
                return Err(format!(
                    "the gateway {gateway} is among the {HOSTS} hosts from {address} on"
                ));
            }
            networks.push((least, most));
        }
        if networks[0].0 <= networks[1].1 && networks[1].0 <= networks[0].1 {
            let [(a, _), (b, _)] = first;
            return Err(format!("{a} and {b} are in one network: a router has two"));
        }
        let hosts = first.map(|(address, _)| u32::from(address));
        Ok(Net { hosts, gateways: gateways.map(u32::from) })
    }

    /// The address of host `n` (from 0) behind a port.
    pub fn host(&self, port: usize, n: u32) -> u32 {
        self.hosts[port].wrapping_add(n)
    }

    /// Whether an address is one of the hosts behind a port.
    pub fn has(&self, port: usize, address: u32) -> bool {
        address.wrapping_sub(self.hosts[port]) < HOSTS
    }

    /// Whether everything stays within 198.18.0.0/15.
    pub fn is_for_tests(&self) -> bool {
        let range = range(u32::from_be_bytes([198, 18, 0, 0]), 15);
        let last = self.hosts.map(|first| first.wrapping_add(HOSTS - 1));
        let all = self.hosts.into_iter().chain(last).chain(self.gateways);
        all.into_iter().all(|address| (range.0..=range.1).contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(a: &str, b: &str, gateways: [&str; 2]) -> Result<Net, String> {
        let first = [a, b].map(|text| {
            let (address, length) = text.split_once('/').unwrap();
            (address.parse().unwrap(), length.parse().unwrap())
        });
        Net::new(first, gateways.map(|text| text.parse().unwrap()))
    }

    #[test]
    fn the_tables_own() {
        let same = net("198.18.0.101/24", "198.19.0.101/24", ["198.18.0.1", "198.19.0.1"]).unwrap();
        assert_eq!(same, Net::default());
        assert!(same.is_for_tests());
        assert!(same.has(0, same.host(0, 24)) && !same.has(0, same.host(0, 25)));
        assert!(!same.has(0, same.gateways[0]) && !same.has(0, same.host(1, 0)));
    }

    #[test]
    fn others_are_told_apart() {
        for (a, b, gateways, is_for_tests) in [
            ("198.18.0.2/24", "198.18.1.2/24", ["198.18.0.1", "198.18.1.254"], true),
            ("10.0.0.2/24", "198.19.0.2/24", ["10.0.0.1", "198.19.0.1"], false),
            ("198.18.0.2/24", "198.20.0.2/24", ["198.18.0.1", "198.20.0.1"], false),
        ] {
            let net = net(a, b, gateways).unwrap();
            assert_eq!(net.is_for_tests(), is_for_tests, "{a} {b}");
        }
        for (a, b, gateways, expected) in [
            (
                "198.18.0.2/28",
                "198.19.0.2/24",
                ["198.18.0.1", "198.19.0.1"],
                "no room for 25 hosts",
            ),
            ("198.18.0.0/24", "198.19.0.2/24", ["198.18.0.200", "198.19.0.1"], "no room"),
            ("198.18.0.231/24", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "no room"),
            ("255.255.255.250/0", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "no room"),
            ("198.18.0.2/33", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "is no network"),
            (
                "198.18.0.2/24",
                "198.19.0.2/24",
                ["198.18.1.1", "198.19.0.1"],
                "not in 198.18.0.2/24",
            ),
            ("198.18.0.2/24", "198.19.0.2/24", ["198.18.0.9", "198.19.0.1"], "among the 25 hosts"),
            ("198.18.0.2/15", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "in one network"),
        ] {
            let error = net(a, b, gateways).unwrap_err();
            assert!(error.contains(expected), "{a} {b}: {error}");
        }
    }
}
