//! Arguments of `wirespeed bench --device external`: the ports, and the hosts at them.

use super::hosts::Hosts;
use crate::failure::Failure;
use clap::Args;
use daemon::real::PortSpec;
use daemon::real::spec::Backend;
use lab::bench::Kind;
use lab::bench::external::External;
use lab::configuration::{Configuration, Traffic};
use lab::net::Net;
use measure::Mode;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

#[derive(Args)]
#[command(next_help_heading = "An external device")]
pub(crate) struct Connected {
    /// Its two ports: a=xdp:eth1 and b=packet:eth2. They are the tester's while it runs: by xdp the
    /// machine itself gets nothing from them
    #[arg(long = "port", value_name = "a|b=BACKEND:INTERFACE", value_parser = PortSpec::from_str)]
    ports: Vec<PortSpec>,

    #[command(flatten)]
    hosts: Hosts,

    /// No device: a cable from one port to the other, for what the tester can do by itself
    #[arg(long)]
    patch: bool,
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

impl Connected {
    /// The device, if it is asked for.
    pub(crate) fn read(
        &self,
        devices: &[Kind],
        compare: bool,
    ) -> Result<Option<External>, Failure> {
        let Connected { ports, hosts, patch } = self;
        if !devices.contains(&Kind::External) {
            return match hosts.are_said() || *patch || !ports.is_empty() {
                true => {
                    Err(usage("ports and addresses are an external device's: --device external"))
                }
                false => Ok(None),
            };
        }
        if devices.len() > 1 || compare {
            return Err(usage("an external device is measured by itself, in a run of its own"));
        }
        let (addresses, gateways) = (hosts.ours()?, hosts.the_devices()?);
        let Net { hosts: ours, gateways: theirs } = Net::default();
        let net = Net::new(
            [0, 1].map(|at| addresses[at].unwrap_or((v4(ours[at]), 24))),
            [0, 1].map(|at| gateways[at].unwrap_or(v4(theirs[at]))),
        );
        let net = net.map_err(usage)?;
        hosts.check(net.is_for_tests())?;
        Ok(Some(External { ports: pair(ports)?, net, patch: *patch }))
    }
}

/// An address of the tester's own IPv4.
fn v4(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => unreachable!("{address} in a net of IPv4"),
    }
}

/// The two ports, in the order of their names.
pub(crate) fn pair(ports: &[PortSpec]) -> Result<[PortSpec; 2], Failure> {
    let two = <[PortSpec; 2]>::try_from(in_order(ports)?);
    two.map_err(|_| usage("an external device has two ports: --port a=xdp:eth1 --port b=xdp:eth2"))
}

/// Two or more ports, in the order of their names: a, b and so on.
pub(crate) fn in_order(ports: &[PortSpec]) -> Result<Vec<PortSpec>, Failure> {
    if ports.len() < 2 {
        return Err(usage(
            "an external device has two ports or more: --port a=xdp:eth1 --port b=xdp:eth2",
        ));
    }
    let names = || ('a'..='z').map(String::from);
    let mut ports = ports.to_vec();
    for (port, name) in ports.iter_mut().zip(names()) {
        if port.name.is_empty() {
            port.name = name;
        }
    }
    ports.sort_by(|a, b| a.name.cmp(&b.name));
    if ports.iter().map(|port| port.name.clone()).ne(names().take(ports.len())) {
        let called: Vec<String> = names().take(ports.len()).collect();
        return Err(usage(format!(
            "the {} ports of an external device are called {}",
            ports.len(),
            called.join(" and ")
        )));
    }
    for (i, port) in ports.iter().enumerate() {
        let is_same = |other: &&PortSpec| {
            (&other.interface, &other.namespace) == (&port.interface, &port.namespace)
        };
        if let Some(other) = ports[..i].iter().find(is_same) {
            return Err(usage(format!(
                "{} and {} are the same interface, {}",
                other.name, port.name, port.interface
            )));
        }
    }
    if ports.iter().any(|port| port.backend == Backend::Tap) {
        return Err(usage("a tap has no device at its other end: the ports are xdp or packet"));
    }
    Ok(ports)
}

/// The one row its owner has set it up for: routing, none, where nothing is said.
pub(crate) fn narrow(
    rows: &mut Vec<&'static Configuration>,
    modes: &[Mode],
    names: &[&str],
) -> Result<(), Failure> {
    if modes.is_empty() {
        rows.retain(|row| row.mode == Mode::Routing);
    }
    if names.is_empty() {
        rows.retain(|row| row.name == "none");
    }
    let [row] = rows.as_slice() else {
        return Err(usage(
            "an external device is set up by its owner, for one row at a time: name it by --modes \
             and --configurations",
        ));
    };
    if row.traffic == Traffic::Table {
        return Err(usage("an external device cannot be sent a full table's traffic yet"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use lab::configuration::ALL;
    use measure::Family;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        external: Connected,
    }

    fn read(words: &str) -> Result<External, String> {
        let words = ["bench"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        match line.external.read(&[Kind::External], false) {
            Ok(external) => Ok(external.unwrap()),
            Err(Failure::Usage(text)) => Err(text),
            Err(_) => panic!("a usage error has another code"),
        }
    }

    #[test]
    fn what_is_said_is_understood() {
        let plain = read("--port b=packet:eth2 --port a=xdp:eth1").unwrap();
        assert_eq!(plain.ports.clone().map(|port| port.interface), ["eth1", "eth2"]);
        assert_eq!((plain.net, plain.patch), (Net::default(), false));
        let ports = "--port xdp:eth1 --port xdp:eth2";
        let other = "--address a=198.18.5.2/24 --gateway a=198.18.5.1 --patch";
        let other = read(&format!("{ports} {other}")).unwrap();
        let [host, gateway]: [IpAddr; 2] = ["198.18.5.2", "198.18.5.1"].map(|a| a.parse().unwrap());
        assert_eq!(other.net.hosts, [host, Net::default().hosts[1]]);
        assert_eq!((other.net.gateways[0], other.patch), (gateway, true));
        let far = "--address a=10.0.0.2/24 --gateway a=10.0.0.1";
        assert!(read(&format!("{ports} {far}")).unwrap_err().contains("RFC 6815"));
        assert!(read(&format!("{ports} {far} --any-address")).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (words, expected) in [
            ("", "has two ports"),
            ("--port a=xdp:eth1", "has two ports"),
            ("--port a=xdp:eth1 --port c=xdp:eth2", "are called a and b"),
            ("--port a=xdp:eth1 --port b=packet:eth1", "the same interface"),
            ("--port a=xdp:eth1 --port b=tap:eth2", "xdp or packet"),
            ("--port xdp:a --port xdp:b --gateway c=198.18.0.1", "the ports are a and b"),
            ("--port xdp:a --port xdp:b --gateway a=198.18.0", "a gateway is a=198.18.0.1"),
            ("--port xdp:a --port xdp:b --address a=198.18.0.2", "an address is a=198.18.0.101/24"),
            ("--port xdp:a --port xdp:b --address a=198.18.0.2/33", "an address is"),
            ("--port xdp:a --port xdp:b --address a=198.18.0.2/28", "no room for 25 hosts"),
            (
                "--port xdp:a --port xdp:b --gateway a=198.18.0.2 --gateway a=198.18.0.3",
                "--gateway a stands there twice",
            ),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }

    #[test]
    fn one_row_at_a_time() {
        let narrowed = |modes: &[Mode], names: &[&str]| {
            let asked = |row: &&Configuration| {
                row.family == Family::Ipv4
                    && (modes.is_empty() || modes.contains(&row.mode))
                    && (names.is_empty() || names.contains(&row.name))
            };
            let mut rows: Vec<_> = ALL.iter().filter(asked).collect();
            narrow(&mut rows, modes, names).ok().map(|()| (rows[0].mode, rows[0].name))
        };
        assert_eq!(narrowed(&[], &[]), Some((Mode::Routing, "none")));
        assert_eq!(narrowed(&[Mode::Bridging], &[]), Some((Mode::Bridging, "none")));
        assert_eq!(narrowed(&[], &["conntrack"]), Some((Mode::Routing, "conntrack")));
        assert_eq!(narrowed(&[], &["none", "conntrack"]), None);
        assert_eq!(narrowed(&[], &["bgp-table"]), None);
    }
}
