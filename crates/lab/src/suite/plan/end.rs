//! Hosts and the device on the ports, and the networks they are in.
//!
//! ```text
//!  host .2, router .10 ── 198.18.1.0/24 ── .1 [ device ] .1 ── 198.19.1.0/24 ── host .2, router .10
//! ```
//!
//! RFC 2544 (C.2.2) sets 198.18.0.0/15 aside for this, and RFC 6815 §5 asks that tests keep to it:
//! of a device outside, whoever wants other addresses has to say so.

use super::{Plan, Procedure};
use crate::net::{self, NOT_FOR_TESTS, apart, is_for_tests};
use crate::tester::Subnet;
use std::net::Ipv4Addr;
use wire::Ipv4Prefix;

/// Hosts on each side where they speak TCP, from the test host's address on.
pub(in crate::suite) const TCP_HOSTS: u32 = 8;

/// A port's network, and who is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The network.
    pub network: Ipv4Prefix,
    /// The device's address.
    pub device: u32,
    /// The test host's.
    pub host: u32,
    /// The router's behind which other networks are.
    pub router: u32,
}

impl End {
    /// As RFC 2544 has it (C.2.2): the device is .1, the host .2, the router .10.
    pub fn of(network: Ipv4Prefix) -> End {
        let address = |n| network.bits() + n;
        End { network, device: address(1), host: address(2), router: address(10) }
    }

    /// Its hosts on a port: the test host, and the router.
    pub fn subnet(&self, port: usize) -> Subnet {
        let ip = |address: u32| Ipv4Addr::from(address).into();
        Subnet::new(port, ip(self.device), vec![ip(self.host), ip(self.router)])
    }
}

/// What was said of a port beyond the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Our host, and its network's length.
    pub host: Option<(Ipv4Addr, u8)>,
    /// The device's own address.
    pub device: Option<Ipv4Addr>,
}

/// The plan's ends where an external device has them: as it was said, as the plan has it elsewhere.
///
/// # Errors
/// Somebody is where he cannot be, or may not be: why, in a sentence.
pub fn moved(plan: &Plan, said: [Said; 2], any_address: bool) -> Result<[End; 2], String> {
    let mut ends = plan.ends;
    let is_tcp = |procedure: &Procedure| matches!(procedure, Procedure::Tcp(_));
    let hosts = if plan.procedures.iter().any(is_tcp) { TCP_HOSTS } else { 1 };
    for (end, said) in ends.iter_mut().zip(said) {
        *end = one(*end, said, hosts)?;
        if !any_address && !is_for_tests(end.network) {
            return Err(format!("{} is not for tests: {NOT_FOR_TESTS}", end.network));
        }
    }
    apart(ends.map(|end| end.network))?;
    Ok(ends)
}

fn one(end: End, said: Said, hosts: u32) -> Result<End, String> {
    let mut end = end;
    if let Some((host, length)) = said.host {
        if !(8..=28).contains(&length) {
            return Err(format!("{host}/{length}: a network is a /8 to a /28"));
        }
        let network = Ipv4Prefix::new(u32::from(host) & (u32::MAX << (32 - length)), length);
        end = End { host: u32::from(host), ..End::of(network) };
    }
    if let Some(device) = said.device {
        end.device = u32::from(device);
    }
    let host = Ipv4Addr::from(end.host);
    let network = net::network((host, end.network.len()), hosts)?;
    net::beside(Ipv4Addr::from(end.device), network, host, hosts)?;
    // Nobody else is where the router of other networks is.
    while [end.device, end.host].contains(&end.router) {
        end.router += 1;
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::plan::{Allowed, read};

    fn said(host: &str, device: &str) -> Said {
        let host = host.split_once('/').map(|(a, n)| (a.parse().unwrap(), n.parse().unwrap()));
        Said { host, device: device.parse().ok() }
    }

    #[test]
    fn where_they_are() {
        let text = "name = \"x\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\n\
                    frame-sizes = [64]\nflows = \"pair\"\n[[procedure]]\nkind = \"throughput\"\n";
        let plan = read(text, Allowed::default()).unwrap();
        let nothing = Said::default();
        assert_eq!(moved(&plan, [nothing; 2], false), Ok(plan.ends));
        let other = moved(&plan, [said("10.1.0.10/16", "10.1.255.254"), nothing], true).unwrap();
        let [a, b] = other;
        assert_eq!(a.network.to_string(), "10.1.0.0/16");
        let shown = [a.device, a.host, a.router].map(|a| Ipv4Addr::from(a).to_string());
        assert_eq!(shown, ["10.1.255.254", "10.1.0.10", "10.1.0.11"]);
        assert_eq!(b, plan.ends[1]);
        let text = text.replace("[64]", "[1518]").replace("throughput", "tcp-connections");
        let tcp = read(&text, Allowed::default()).unwrap();
        for (host, device) in [("198.18.1.248/24", ""), ("198.18.1.2/24", "198.18.1.9")] {
            let said = [said(host, device), nothing];
            let error = moved(&tcp, said, false).unwrap_err();
            assert!(error.contains("8 hosts from 198.18.1.2"), "{error}");
            assert!(moved(&plan, said, false).is_ok(), "one host has room");
        }
        for (a, b, any, expected) in [
            (said("10.1.0.10/16", ""), nothing, false, "10.1.0.0/16 is not for tests"),
            (nothing, said("198.18.1.9/25", ""), false, "198.18.1.0/24 and 198.18.1.0/25 overlap"),
            (nothing, said("", "198.18.1.1"), false, "the device, 198.18.1.1, is no host of"),
            (said("", "198.18.1.0"), nothing, false, "the device, 198.18.1.0, is no host of"),
            (said("", "198.18.1.255"), nothing, false, "is no host of 198.18.1.0/24"),
            (said("", "198.18.1.2"), nothing, false, "have the same address, 198.18.1.2"),
            (said("198.18.1.9/29", ""), nothing, false, "a network is a /8 to a /28"),
            (said("198.18.1.9/0", ""), nothing, true, "a network is a /8 to a /28"),
        ] {
            let error = moved(&plan, [a, b], any).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
