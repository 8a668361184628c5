//! Ends of an external device: interfaces, hosts and the device's addresses.
//!
//! ```text
//!  eth1@red ── 198.18.1.2/24 ── .1 [ device routes ] .1 ── 198.19.1.2/24 ── eth2
//!  eth1 ────── 198.18.1.2/24 ───── [ device bridges ] ──── 198.18.1.3/24 ── eth2
//! ```

use crate::net::{apart, beside, is_for_tests, network};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;
use wire::Ipv4Prefix;

/// An interface to lend: `eth1`, or `eth1@red` in the network namespace `red`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostInterface {
    /// Its name.
    pub interface: String,
    /// Where it is: a namespace's name, or its path if there is a `/` in it.
    pub namespace: Option<String>,
}

impl FromStr for HostInterface {
    type Err = String;

    fn from_str(text: &str) -> Result<HostInterface, String> {
        for backend in ["xdp:", "packet:", "tap:"] {
            if text.starts_with(backend) {
                return Err(format!(
                    "{text:?}: the hosts' own kernels send here, by no backend: eth1, not {backend}eth1"
                ));
            }
        }
        let (interface, namespace) = match text.split_once('@') {
            Some((_, "")) => return Err(format!("{text:?}: behind @ stands a network namespace")),
            Some((interface, namespace)) => (interface, Some(namespace.to_string())),
            None => (text, None),
        };
        let is_name = (1..=15).contains(&interface.len())
            && !interface.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control());
        if !is_name {
            return Err(format!("{text:?}: an interface's name has 1 to 15 letters, as eth1 has"));
        }
        Ok(HostInterface { interface: interface.to_string(), namespace })
    }
}

impl fmt::Display for HostInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.interface)?;
        self.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, "@{namespace}"))
    }
}

/// Who is where, with what is connected between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The hosts and the lengths of their networks' prefixes.
    pub hosts: [(Ipv4Addr, u8); 2],
    /// The device's addresses, if it routes; both hosts are in one network otherwise.
    pub gateways: Option<[Ipv4Addr; 2]>,
}

/// What goes without saying (RFC 2544, C.2.2).
const HOSTS: [(Ipv4Addr, u8); 2] =
    [(Ipv4Addr::new(198, 18, 1, 2), 24), (Ipv4Addr::new(198, 19, 1, 2), 24)];

impl Ends {
    /// What was said of hosts and gateways; a gateway is the first of its network if nobody said.
    ///
    /// # Errors
    /// Somebody is where he cannot be: why, in a sentence.
    pub fn new(
        hosts: [Option<(Ipv4Addr, u8)>; 2],
        gateways: [Option<Ipv4Addr>; 2],
    ) -> Result<Ends, String> {
        let hosts = [0, 1].map(|at| hosts[at].unwrap_or(HOSTS[at]));
        let networks = [network(hosts[0], 1)?, network(hosts[1], 1)?];
        let [a, b] = networks;
        if a == b {
            if hosts[0].0 == hosts[1].0 {
                return Err(format!("both hosts have the same address, {}", hosts[0].0));
            }
            if gateways != [None; 2] {
                return Err(format!("both hosts are in {a}: nobody needs a gateway there"));
            }
            return Ok(Ends { hosts, gateways: None });
        }
        apart(networks)?;
        let first = networks.map(|network| Ipv4Addr::from(network.bits() + 1));
        let gateways = [0, 1].map(|at| gateways[at].unwrap_or(first[at]));
        for at in [0, 1] {
            beside(gateways[at], networks[at], hosts[at].0, 1)?;
        }
        Ok(Ends { hosts, gateways: Some(gateways) })
    }

    /// Whether all of it is in 198.18.0.0/15, the network for tests.
    pub fn is_for_tests(&self) -> bool {
        [0, 1].into_iter().all(|at| is_for_tests(self.network(at)))
    }

    /// A host's network.
    pub(in super::super) fn network(&self, at: usize) -> Ipv4Prefix {
        let (host, length) = self.hosts[at];
        Ipv4Prefix::new(u32::from(host), length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for text in ["eth1", "enp3s0f1@red", "t0@/proc/1/fd/4"] {
            assert_eq!(text.parse::<HostInterface>().unwrap().to_string(), text);
        }
        for (text, expected) in [
            ("xdp:eth1", "by no backend: eth1, not xdp:eth1"),
            ("", "1 to 15 letters"),
            ("eth1@", "behind @ stands a network namespace"),
            ("sixteen-letters-", "1 to 15 letters"),
        ] {
            let error = text.parse::<HostInterface>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    fn ends(hosts: [&str; 2], gateways: [&str; 2]) -> Result<Ends, String> {
        let host = |text: &str| {
            let (address, length) = text.split_once('/')?;
            Some((address.parse().unwrap(), length.parse().unwrap()))
        };
        Ends::new(hosts.map(host), gateways.map(|text| text.parse().ok()))
    }

    #[test]
    fn who_is_where() {
        let plain = ends(["", ""], ["", ""]).unwrap();
        assert_eq!(plain.hosts, HOSTS);
        let gateways = ["198.18.1.1", "198.19.1.1"].map(|text| text.parse().unwrap());
        assert_eq!((plain.gateways, plain.is_for_tests()), (Some(gateways), true));
        let moved = ends(["10.0.0.9/16", ""], ["10.0.255.254", ""]).unwrap();
        assert_eq!(moved.gateways.unwrap()[0], Ipv4Addr::new(10, 0, 255, 254));
        assert!(!moved.is_for_tests());
        assert_eq!(moved.network(0).to_string(), "10.0.0.0/16");
        let bridged = ends(["198.18.1.2/24", "198.18.1.3/24"], ["", ""]).unwrap();
        assert_eq!(bridged.gateways, None);
        for (hosts, gateways, expected) in [
            (["198.18.1.0/24", ""], ["", ""], "our host, 198.18.1.0, is no host of 198.18.1.0/24"),
            (["198.18.1.2/31", ""], ["", ""], "a network is a /1 to a /30"),
            (["198.18.1.1/24", ""], ["", ""], "the same address, 198.18.1.1"),
            (["", ""], ["198.18.2.1", ""], "the device, 198.18.2.1, is no host of 198.18.1.0/24"),
            (["198.18.1.2/15", ""], ["", ""], "198.18.0.0/15 and 198.19.1.0/24 overlap"),
            (["198.18.1.2/24", "198.18.1.2/24"], ["", ""], "both hosts have the same address"),
            (["198.18.1.2/24", "198.18.1.3/24"], ["198.18.1.1", ""], "nobody needs a gateway"),
        ] {
            let error = ends(hosts, gateways).unwrap_err();
            assert!(error.contains(expected), "{hosts:?} {gateways:?}: {error}");
        }
    }
}
