//! Arguments of every command that measures about the hosts around an external device.

use crate::failure::Failure;
use clap::Args;
use lab::net::NOT_FOR_TESTS;
use std::net::Ipv4Addr;

/// What the two sides are called, here and in the options.
pub(super) const NAMES: [&str; 2] = ["a", "b"];

/// An address, and its network's length.
pub(super) type Host = (Ipv4Addr, u8);

#[derive(Args)]
pub(crate) struct Hosts {
    /// Our first host on each of its ports, and the network there (both in one where iperf3 goes through
    /// a bridge)
    /// [default: the plan's: a=198.18.1.2/24 and b=198.19.1.2/24; of bench, 25 hosts from
    /// a=198.18.0.101/24 and b=198.19.0.101/24 on]
    #[arg(long = "address", value_name = "a|b=IP/BITS", value_parser = address)]
    #[arg(help_heading = "An external device")]
    addresses: Vec<(usize, Host)>,

    /// The device's own addresses [default: the plan's, or the first of each network, such as
    /// a=198.18.1.1 and b=198.19.1.1]
    #[arg(long = "gateway", value_name = "a|b=IP", value_parser = gateway)]
    #[arg(help_heading = "An external device")]
    gateways: Vec<(usize, Ipv4Addr)>,

    /// Allow addresses outside 198.18.0.0/15, the network for tests: what gets lost on the way may
    /// reach somebody (RFC 6815)
    #[arg(long = "allow-any-address", alias = "any-address")]
    #[arg(help_heading = "An external device")]
    pub(crate) any_address: bool,
}

/// `a=…` or `b=…`: which port, and what is said of it.
fn named(text: &str) -> Result<(usize, &str), String> {
    let (name, rest) = text.split_once('=').unwrap_or((text, ""));
    let port = NAMES.iter().position(|known| *known == name);
    Ok((port.ok_or_else(|| format!("the ports are a and b, not {name:?}"))?, rest))
}

fn address(text: &str) -> Result<(usize, Host), String> {
    let (port, rest) = named(text)?;
    let read = || {
        let (address, bits) = rest.split_once('/')?;
        Some((address.parse().ok()?, bits.parse().ok().filter(|bits| *bits <= 32)?))
    };
    let read = read().ok_or_else(|| format!("an address is a=198.18.0.101/24, not {text:?}"))?;
    Ok((port, read))
}

fn gateway(text: &str) -> Result<(usize, Ipv4Addr), String> {
    let (port, rest) = named(text)?;
    let read = rest.parse().map_err(|_| format!("a gateway is a=198.18.0.1, not {text:?}"))?;
    Ok((port, read))
}

/// What was said of each port.
pub(super) fn each<T: Clone>(what: &str, said: &[(usize, T)]) -> Result<[Option<T>; 2], Failure> {
    let mut all = [None, None];
    for (port, value) in said {
        if all[*port].replace(value.clone()).is_some() {
            return Err(Failure::Usage(format!("{what} {} stands there twice", NAMES[*port])));
        }
    }
    Ok(all)
}

impl Hosts {
    /// Whether anything was said.
    pub(super) fn are_said(&self) -> bool {
        self.any_address || !(self.addresses.is_empty() && self.gateways.is_empty())
    }

    /// Our hosts, as far as they were said.
    pub(super) fn ours(&self) -> Result<[Option<Host>; 2], Failure> {
        each("--address", &self.addresses)
    }

    /// The device's addresses, as far as they were said.
    pub(super) fn the_devices(&self) -> Result<[Option<Ipv4Addr>; 2], Failure> {
        each("--gateway", &self.gateways)
    }

    /// Refuses what could reach somebody, unless it is allowed.
    pub(super) fn check(&self, is_for_tests: bool) -> Result<(), Failure> {
        match is_for_tests || self.any_address {
            true => Ok(()),
            false => Err(Failure::Usage(NOT_FOR_TESTS.to_string())),
        }
    }
}
