//! The addresses of the tester's hosts, and of the gateways they send to.
//!
//! ```text
//!  hosts from 198.18.0.101 on ── port 0 [ 198.18.0.1  device  198.19.0.1 ] port 1 ── from 198.19.0.101 on
//!         2001:2:0:1::101           2001:2:0:1::1    2001:2:0:2::1           2001:2:0:2::101
//! ```
//!
//! RFC 2544 §C.2.2 sets 198.18.0.0/15 aside for this, RFC 5180 §8 2001:2::/48, and RFC 6815 §5 asks that
//! tests keep to them: whoever wants other addresses has to say so.

use crate::traffic::{HOSTS, host, router_address};
use measure::{Ends, Family};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Ipv4Prefix, Ipv6Prefix};

/// Who the tester is: all addresses are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    /// The first host on each port; the others follow it.
    pub hosts: [IpAddr; 2],
    /// Whom they send to.
    pub gateways: [IpAddr; 2],
}

impl Default for Net {
    /// That of IPv4.
    fn default() -> Net {
        Net::of(Family::Ipv4)
    }
}

/// The address `n` after this one.
pub(crate) fn after(address: IpAddr, n: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from(u32::from(address).wrapping_add(n)).into(),
        IpAddr::V6(address) => IpAddr::V6(u128::from(address).wrapping_add(n.into()).into()),
    }
}

/// What is set aside for tests of IPv6.
pub const FOR_TESTS6: Ipv6Prefix = Ipv6Prefix::new(0x2001_0002_0000 << 80, 48);

/// What is set aside for tests.
pub const FOR_TESTS: Ipv4Prefix = Ipv4Prefix::new(u32::from_be_bytes([198, 18, 0, 0]), 15);

/// What is said to whoever wants other addresses.
pub const NOT_FOR_TESTS: &str = "not all addresses are in 198.18.0.0/15 or 2001:2::/48, the networks for \
                                 tests (RFC 6815, RFC 5180); where the device is connected to nothing else: --allow-any-address";

/// Whether a network is set aside for tests, all of it.
pub fn is_for_tests(network: Ipv4Prefix) -> bool {
    contains(FOR_TESTS, network)
}

/// Whether all of one network is in another.
pub fn contains(all: Ipv4Prefix, one: Ipv4Prefix) -> bool {
    all.bits() <= one.bits() && one.last() <= all.last()
}

/// The network of so many of our hosts, from the first on.
///
/// # Errors
/// They have no room there: why, in a sentence.
pub fn network((first, length): (Ipv4Addr, u8), hosts: u32) -> Result<Ipv4Prefix, String> {
    if !(1..=30).contains(&length) {
        return Err(format!("{first}/{length}: a network is a /1 to a /30"));
    }
    let network = Ipv4Prefix::new(u32::from(first), length);
    match is_host(network, u32::from(first)) {
        false => Err(format!("our host, {first}, is no host of {network}")),
        true if network.last() - u32::from(first) < hosts => {
            Err(format!("{network} has no room for {hosts} hosts from {first} on"))
        }
        true => Ok(network),
    }
}

/// Whether the device can be there, beside our hosts.
///
/// # Errors
/// It cannot: why, in a sentence.
pub fn beside(
    device: Ipv4Addr,
    network: Ipv4Prefix,
    first: Ipv4Addr,
    hosts: u32,
) -> Result<(), String> {
    if !is_host(network, u32::from(device)) {
        return Err(format!("the device, {device}, is no host of {network}"));
    }
    match u32::from(device).checked_sub(u32::from(first)) {
        Some(0) => Err(format!("our host and the device have the same address, {device}")),
        Some(n) if n < hosts => {
            Err(format!("the device, {device}, is among our {hosts} hosts from {first} on"))
        }
        _ => Ok(()),
    }
}

/// Whether a router can be between the two networks.
///
/// # Errors
/// They overlap.
pub fn apart([a, b]: [Ipv4Prefix; 2]) -> Result<(), String> {
    if contains(a, b) || contains(b, a) {
        let why = "a router has a network on each port, a bridge the same on both";
        return Err(format!("{a} and {b} overlap: {why}"));
    }
    Ok(())
}

/// The network of our hosts from the first on, in which the device is beside them.
fn network6((first, length): (Ipv6Addr, u8), device: Ipv6Addr) -> Result<Ipv6Prefix, String> {
    if !(1..=122).contains(&length) {
        return Err(format!("{first}/{length}: a network is a /1 to a /122"));
    }
    let network = Ipv6Prefix::new(first.into(), length);
    let (first_bits, device_bits) = (u128::from(first), u128::from(device));
    // The first address is that of all routers (RFC 4291 §2.6.1).
    if first_bits == network.bits() || network.last() - first_bits < HOSTS.into() {
        return Err(format!("{network} has no room for {HOSTS} hosts from {first} on"));
    }
    if !network.contains(device_bits) {
        return Err(format!("the device, {device}, is no host of {network}"));
    }
    match device_bits.checked_sub(first_bits) {
        Some(n) if n < HOSTS.into() => {
            Err(format!("the device, {device}, is among our {HOSTS} hosts from {first} on"))
        }
        _ => Ok(network),
    }
}

fn is_host(network: Ipv4Prefix, address: u32) -> bool {
    network.bits() < address && address < network.last()
}

impl Net {
    /// As the table's devices are set up.
    pub fn of(family: Family) -> Net {
        let ports = [0, 1];
        Net {
            hosts: ports.map(|port| host(family, port, 0)),
            gateways: ports.map(|port| router_address(family, port)),
        }
    }

    /// The family of its addresses.
    pub fn family(&self) -> Family {
        Family::of(self.hosts[0])
    }

    /// From the first host behind a port to the first behind the other.
    ///
    /// # Panics
    /// If they are of two families.
    pub fn ends(&self, port: usize) -> Ends {
        match (self.hosts[port], self.hosts[1 - port]) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Ends::V4 { src: src.into(), dst: dst.into() },
            (IpAddr::V6(src), IpAddr::V6(dst)) => Ends::V6 { src: src.into(), dst: dst.into() },
            mixed => panic!("hosts of two families: {mixed:?}"),
        }
    }

    /// Of the first host on each port with the length of its network's prefix, and the gateways.
    ///
    /// # Errors
    /// The hosts do not fit, or somebody is where he cannot be: why, in a sentence.
    pub fn new(first: [(IpAddr, u8); 2], gateways: [IpAddr; 2]) -> Result<Net, String> {
        let [(a, _), (b, _)] = first;
        match (a, b, gateways) {
            (IpAddr::V4(a), IpAddr::V4(b), [IpAddr::V4(c), IpAddr::V4(d)]) => {
                let (first, gateways) = ([(a, first[0].1), (b, first[1].1)], [c, d]);
                let networks = [network(first[0], HOSTS)?, network(first[1], HOSTS)?];
                for at in [0, 1] {
                    beside(gateways[at], networks[at], first[at].0, HOSTS)?;
                }
                apart(networks)?;
            }
            (IpAddr::V6(a), IpAddr::V6(b), [IpAddr::V6(c), IpAddr::V6(d)]) => {
                let networks = [network6((a, first[0].1), c)?, network6((b, first[1].1), d)?];
                let [a, b] = networks;
                if a.contains(b.bits()) || b.contains(a.bits()) {
                    return Err(format!(
                        "{a} and {b} overlap: a router has a network on each port"
                    ));
                }
            }
            _ => {
                let all = [a, b, gateways[0], gateways[1]].map(|at| at.to_string()).join(", ");
                return Err(format!("these are addresses of two families: {all}"));
            }
        }
        Ok(Net { hosts: first.map(|(address, _)| address), gateways })
    }

    /// The address of host `n` (from 0) behind a port.
    pub fn host(&self, port: usize, n: u32) -> IpAddr {
        after(self.hosts[port], n)
    }

    /// Whether an address is one of the hosts behind a port.
    pub fn has(&self, port: usize, address: IpAddr) -> bool {
        (0..HOSTS).any(|n| self.host(port, n) == address)
    }

    /// Whether everything stays within the networks for tests.
    pub fn is_for_tests(&self) -> bool {
        let last = self.hosts.map(|first| after(first, HOSTS - 1));
        let mut all = self.hosts.into_iter().chain(last).chain(self.gateways);
        all.all(|address| match address {
            IpAddr::V4(address) => FOR_TESTS.contains(address.into()),
            IpAddr::V6(address) => FOR_TESTS6.contains(address.into()),
        })
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
    fn the_tables_own_of_ipv6() {
        let six = Net::of(Family::Ipv6);
        assert!(six.is_for_tests() && six.family() == Family::Ipv6);
        assert_eq!(
            six.gateways.map(|gateway| gateway.to_string()),
            ["2001:2:0:1::1", "2001:2:0:2::1"]
        );
        assert_eq!(six.host(1, 24).to_string(), "2001:2:0:2::119");
        assert!(six.has(0, six.host(0, 24)) && !six.has(0, six.host(1, 0)));
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
            ("198.18.0.0/24", "198.19.0.2/24", ["198.18.0.200", "198.19.0.1"], "is no host of"),
            ("198.18.0.231/24", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "no room"),
            ("255.255.255.250/0", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "/1 to a /30"),
            ("198.18.0.2/33", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "/1 to a /30"),
            (
                "198.18.0.2/24",
                "198.19.0.2/24",
                ["198.18.1.1", "198.19.0.1"],
                "is no host of 198.18.0.0/24",
            ),
            ("198.18.0.2/24", "198.19.0.2/24", ["198.18.0.9", "198.19.0.1"], "among our 25 hosts"),
            ("198.18.0.2/15", "198.19.0.2/24", ["198.18.0.1", "198.19.0.1"], "overlap"),
            ("2001:2::2/64", "198.19.0.2/24", ["2001:2::1", "198.19.0.1"], "of two families"),
            ("2001:2::2/123", "2001:2:1::2/64", ["2001:2::1", "2001:2:1::1"], "/1 to a /122"),
            ("2001:2::/64", "2001:2:1::2/64", ["2001:2::99", "2001:2:1::1"], "no room"),
            ("2001:2::3a/122", "2001:2:1::2/64", ["2001:2::1", "2001:2:1::1"], "no room"),
            ("2001:2::2/64", "2001:2:1::2/64", ["2001:2:1::1", "2001:2:1::1"], "is no host of"),
            ("2001:2::2/64", "2001:2:1::2/64", ["2001:2::9", "2001:2:1::1"], "among our 25"),
            ("2001:2::2/32", "2001:2:1::2/64", ["2001:2::1", "2001:2:1::1"], "overlap"),
        ] {
            let error = net(a, b, gateways).unwrap_err();
            assert!(error.contains(expected), "{a} {b}: {error}");
        }
    }
}
