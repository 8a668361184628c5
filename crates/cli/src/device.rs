//! Arguments about a device at the end of cables, and the hosts around it, of each command that measures.

use crate::failure::Failure;
use clap::Args;
use daemon::real::PortSpec;
use daemon::real::spec::Backend;
#[cfg(target_os = "linux")]
use lab::iperf3::external::HostInterface;
use lab::net::NOT_FOR_TESTS;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// An address, and its network's length.
type Host<A = IpAddr> = (A, u8);

/// Our hosts and the device's addresses, as far as they were said.
type Ends = ([Option<Host<Ipv4Addr>>; 2], [Option<Ipv4Addr>; 2]);

#[derive(Args, Default)]
#[command(next_help_heading = "An external device")]
pub(crate) struct Outside {
    /// Its ports, as many as the plan wants: a=xdp:eth1 and b=packet:eth2, of a bridge c and d, too. They
    /// are the tester's while it runs: by xdp the machine itself gets nothing from them. Of iperf3, whose
    /// hosts' kernels send, without a backend: a=eth1 for the first host, b=eth2@NAMESPACE for the second
    #[arg(long = "port", value_name = "a|b|…=[BACKEND:]INTERFACE")]
    ports: Vec<String>,
    /// Our first host on each of its ports, and the network there (both in one where iperf3 goes through
    /// a bridge)
    /// [default: the plan's: a=198.18.1.2/24 and b=198.19.1.2/24; of bench, 25 hosts from
    /// a=198.18.0.101/24 and b=198.19.0.101/24 on, by IPv6 from a=2001:2:0:1::101/64 and
    /// b=2001:2:0:2::101/64 on]
    #[arg(long = "address", value_name = "a|b=IP/BITS", value_parser = address)]
    addresses: Vec<(usize, Host)>,
    /// The device's own addresses [default: the plan's, or the first of each network, such as
    /// a=198.18.1.1 and b=198.19.1.1]
    #[arg(long = "gateway", value_name = "a|b=IP", value_parser = gateway)]
    gateways: Vec<(usize, IpAddr)>,
    /// Allow addresses outside 198.18.0.0/15 and 2001:2::/48, the networks for tests: what gets lost on
    /// the way may reach somebody (RFC 6815)
    #[arg(long = "allow-any-address", alias = "any-address")]
    pub(crate) any_address: bool,
}

pub(crate) fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

/// `a=…` or `b=…`: which port, and what is said of it.
fn named(text: &str) -> Result<(usize, &str), String> {
    let (name, rest) = text.split_once('=').unwrap_or((text, ""));
    let port = ["a", "b"].iter().position(|known| *known == name);
    Ok((port.ok_or_else(|| format!("the ports are a and b, not {name:?}"))?, rest))
}

fn address(text: &str) -> Result<(usize, Host), String> {
    let (port, rest) = named(text)?;
    let read = || {
        let (address, bits) = rest.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        Some((address, bits.parse().ok().filter(|bits| *bits <= most)?))
    };
    let read = read().ok_or_else(|| format!("an address is a=198.18.0.101/24, not {text:?}"))?;
    Ok((port, read))
}

fn gateway(text: &str) -> Result<(usize, IpAddr), String> {
    let (port, rest) = named(text)?;
    let read = rest.parse().map_err(|_| format!("a gateway is a=198.18.0.1, not {text:?}"))?;
    Ok((port, read))
}

/// What was said of each port.
fn each<T: Copy>(what: &str, said: &[(usize, T)]) -> Result<[Option<T>; 2], Failure> {
    let mut all = [None, None];
    for (port, value) in said {
        if all[*port].replace(*value).is_some() {
            return Err(usage(format!("{what} {} stands there twice", ["a", "b"][*port])));
        }
    }
    Ok(all)
}

/// Ports in the order of their names, which are a, b and so on; of those that have none, as they come.
fn in_order<T>(mut ports: Vec<(String, String, T)>) -> Result<Vec<(String, T)>, Failure> {
    if ports.len() < 2 {
        let text = "an external device has two ports or more: --port a=xdp:eth1 --port b=xdp:eth2 (of \
                    iperf3 a=eth1 and b=eth2)";
        return Err(usage(text));
    }
    let names = || ('a'..='z').map(String::from);
    for (port, name) in ports.iter_mut().zip(names()).filter(|(port, _)| port.0.is_empty()) {
        port.0 = name;
    }
    ports.sort_by(|a, b| a.0.cmp(&b.0));
    let called: Vec<String> = names().take(ports.len()).collect();
    if !ports.iter().map(|(name, ..)| name).eq(&called) {
        let (n, called) = (ports.len(), called.join(" and "));
        return Err(usage(format!("the {n} ports of an external device are called {called}")));
    }
    for (i, (name, at, _)) in ports.iter().enumerate() {
        if let Some((other, ..)) = ports[..i].iter().find(|(_, there, _)| there == at) {
            return Err(usage(format!("{other} and {name} are the same interface, {at}")));
        }
    }
    Ok(ports.into_iter().map(|(name, _, port)| (name, port)).collect())
}

impl Outside {
    /// Refuses all of it, and `more`, where no external device is asked for.
    pub(crate) fn is_of(&self, external: bool, more: bool) -> Result<(), Failure> {
        let hosts = !(self.addresses.is_empty() && self.gateways.is_empty());
        match !external && (more || hosts || self.any_address || !self.ports.is_empty()) {
            true => Err(usage(
                "ports, addresses and what a device is set up for are an external device's: --device \
                 external",
            )),
            false => Ok(()),
        }
    }

    /// The ports, in their order.
    pub(crate) fn ports(&self) -> Result<Vec<PortSpec>, Failure> {
        let read = |text: &String| {
            let port = PortSpec::from_str(text).map_err(|why| usage(why.to_string()))?;
            let at = port.namespace.as_ref().map_or(String::new(), |name| format!("@{name}"));
            Ok((port.name.clone(), port.interface.clone() + &at, port))
        };
        let ports = in_order(self.ports.iter().map(read).collect::<Result<_, Failure>>()?)?;
        if ports.iter().any(|(_, port)| port.backend == Backend::Tap) {
            return Err(usage("a tap has no device at its other end: the ports are xdp or packet"));
        }
        Ok(ports.into_iter().map(|(name, port)| PortSpec { name, ..port }).collect())
    }

    /// Two of them, of which the hosts' own kernels have all frames.
    #[cfg(target_os = "linux")]
    pub(crate) fn interfaces(&self) -> Result<[HostInterface; 2], Failure> {
        let read = |text: &String| {
            let (name, rest) = text.split_once('=').unwrap_or(("", text));
            let port = HostInterface::from_str(rest).map_err(usage)?;
            Ok((name.to_string(), port.to_string(), port))
        };
        let ports = in_order(self.ports.iter().map(read).collect::<Result<_, Failure>>()?)?;
        two(ports.into_iter().map(|(_, port)| port).collect())
    }

    /// Our hosts, as far as they were said.
    pub(crate) fn ours(&self) -> Result<[Option<Host>; 2], Failure> {
        each("--address", &self.addresses)
    }

    /// The device's addresses, as far as they were said.
    pub(crate) fn the_devices(&self) -> Result<[Option<IpAddr>; 2], Failure> {
        each("--gateway", &self.gateways)
    }

    /// Our hosts and the device's addresses, where only IPv4's are taken.
    pub(crate) fn ipv4(&self) -> Result<Ends, Failure> {
        let v4 = |address: IpAddr| match address {
            IpAddr::V4(address) => Ok(address),
            IpAddr::V6(_) => Err(usage(format!("{address}: hosts have addresses of IPv4 here"))),
        };
        let host = |host: Option<Host>| host.map(|(at, bits)| Ok((v4(at)?, bits))).transpose();
        let ([a, b], [c, d]) = (self.ours()?, self.the_devices()?);
        Ok(([host(a)?, host(b)?], [c.map(v4).transpose()?, d.map(v4).transpose()?]))
    }

    /// Refuses what could reach somebody, unless it is allowed.
    pub(crate) fn check(&self, is_for_tests: bool) -> Result<(), Failure> {
        match is_for_tests || self.any_address {
            true => Ok(()),
            false => Err(usage(NOT_FOR_TESTS)),
        }
    }
}

/// Two ports, where there are no more.
pub(crate) fn two<T>(ports: Vec<T>) -> Result<[T; 2], Failure> {
    ports.try_into().map_err(|_| usage("an external device has two ports here: a and b"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        outside: Outside,
    }

    /// What these words say, or what is wrong with them.
    fn read<T>(words: &str, of: fn(&Outside) -> Result<T, Failure>) -> Result<T, String> {
        let words = ["x"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        of(&line.outside).map_err(|failure| match failure {
            Failure::Usage(text) => text,
            _ => panic!("a usage error has another code"),
        })
    }

    #[test]
    fn what_is_said_is_understood() {
        let names = |words: &str| {
            let ports = read(words, Outside::ports).unwrap();
            ports.into_iter().map(|port| port.name + " " + &port.interface).collect::<Vec<_>>()
        };
        assert_eq!(names("--port b=packet:eth2 --port a=xdp:eth1"), ["a eth1", "b eth2"]);
        assert_eq!(names("--port xdp:eth2 --port xdp:eth1"), ["a eth2", "b eth1"]);
        let hosts = read("--port b=eth2@red --port a=eth1", Outside::interfaces).unwrap();
        assert_eq!(hosts.map(|port| port.to_string()), ["eth1", "eth2@red"]);
        let said = "--address a=198.18.5.2/24 --gateway b=198.18.5.1";
        assert_eq!(
            read(said, Outside::ours),
            Ok([Some(("198.18.5.2".parse().unwrap(), 24)), None])
        );
        assert_eq!(read(said, Outside::the_devices).unwrap()[0], None);
        assert!(
            read(said, |said| said.is_of(false, false)).unwrap_err().contains("--device external")
        );
        assert!(read("", |said| said.is_of(false, true)).is_err());
        assert!(read("", |said| said.is_of(false, false)).is_ok());
        assert!(read("", |said| said.check(false)).unwrap_err().contains("RFC 6815"));
        assert!(read("--any-address", |said| said.check(false)).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (words, expected) in [
            ("", "has two ports or more"),
            ("--port a=xdp:eth1", "has two ports or more"),
            ("--port a=xdp:eth1 --port c=xdp:eth2", "are called a and b"),
            ("--port a=xdp:eth1 --port a=xdp:eth2", "are called a and b"),
            ("--port a=xdp:eth1 --port b=packet:eth1", "a and b are the same interface, eth1"),
            ("--port a=xdp:eth1 --port b=tap:eth2", "xdp or packet"),
        ] {
            let error = read(words, Outside::ports).map(|_| ()).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
        for (words, expected) in [
            ("--port a=eth1", "has two ports or more"),
            ("--port a=xdp:eth1 --port b=eth2", "by no backend: eth1"),
            ("--port a=eth1 --port b=eth1", "a and b are the same interface, eth1"),
            ("--port a=eth1 --port b=eth2 --port c=eth3", "has two ports here"),
        ] {
            let error = read(words, Outside::interfaces).map(|_| ()).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
        for (words, expected) in [
            ("--gateway c=198.18.0.1", "the ports are a and b"),
            ("--gateway a=198.18.0", "a gateway is a=198.18.0.1"),
            ("--address a=198.18.0.2", "an address is a=198.18.0.101/24"),
            ("--address a=198.18.0.2/33", "an address is"),
            ("--address a=2001:2:0:1::2/129", "an address is"),
            (
                "--address a=198.18.0.2/24 --address a=198.18.0.3/24",
                "--address a stands there twice",
            ),
        ] {
            let error = read(words, Outside::ours).map(|_| ()).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }
}
