//! Networks of both kinds, and the map from some to others.
//!
//! ```text
//!  192.168.88.0/24 ─► 198.18.1.0/24     192.168.88.11 becomes 198.18.1.11    the longest prefix
//!  0.0.0.0/0 ───────► 198.19.1.0/24     203.0.113.1   becomes 198.19.1.1     that an address is in
//! ```
//!
//! What stands behind the new prefix stays, as in tcprewrite's `pnat`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network, `10.0.0.0/8` or `2001:db8::/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    len: u8,
}

/// Not a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadNetwork(String);

impl fmt::Display for BadNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no network: 10.0.0.0/8, 2001:db8::/32, no bits behind the prefix",
            self.0
        )
    }
}

impl std::error::Error for BadNetwork {}

fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

impl std::str::FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Network, BadNetwork> {
        let bad = || BadNetwork(text.to_string());
        let (address, len) = text.split_once('/').ok_or_else(bad)?;
        let address: IpAddr = address.trim().parse().map_err(|_| bad())?;
        let len: u8 = len.trim().parse().map_err(|_| bad())?;
        let network = Network { address, len };
        let (value, width) = bits(address);
        if len > width || value & network.behind() != 0 { Err(bad()) } else { Ok(network) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

impl Network {
    /// The bits that are the hosts'.
    fn behind(&self) -> u128 {
        let (_, width) = bits(self.address);
        (1u128.checked_shl(u32::from(width - self.len)).unwrap_or(0)).wrapping_sub(1)
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let ((network, width), (value, other)) = (bits(self.address), bits(address));
        width == other && value & !self.behind() == network
    }

    /// Whether both are of one kind, IPv4 or IPv6.
    pub fn is_like(&self, other: &Network) -> bool {
        self.address.is_ipv4() == other.address.is_ipv4()
    }

    /// The address in this network with the host bits of another.
    fn at(&self, address: IpAddr) -> IpAddr {
        let ((network, _), (value, _)) = (bits(self.address), bits(address));
        self.address_of(network | value & self.behind())
    }

    fn address_of(&self, value: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => Ipv4Addr::from_bits(value as u32).into(),
            IpAddr::V6(_) => Ipv6Addr::from_bits(value).into(),
        }
    }
}

/// Networks and what they become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressMap(Vec<(Network, Network)>);

impl AddressMap {
    /// A map, in whatever order.
    ///
    /// # Panics
    /// If one is IPv4 and what it becomes is IPv6.
    pub fn new(mut pairs: Vec<(Network, Network)>) -> AddressMap {
        assert!(pairs.iter().all(|(from, to)| from.is_like(to)), "{pairs:?}");
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len));
        AddressMap(pairs)
    }

    /// What an address becomes; itself, if it is in no network of the map.
    pub fn of(&self, address: IpAddr) -> IpAddr {
        let found = self.0.iter().find(|(from, _)| from.contains(address));
        found.map_or(address, |(_, to)| to.at(address))
    }
}

/// How far addresses of a network go on with each loop, so that each has flows of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whose.
    pub network: Network,
    /// How far.
    pub by: u64,
}

impl Step {
    /// An address in a loop, counted from 0; `None` if that is outside of the network.
    pub fn of(&self, address: IpAddr, turn: u64) -> Option<IpAddr> {
        if !self.network.contains(address) {
            return Some(address);
        }
        let value = bits(address).0.checked_add(u128::from(self.by) * u128::from(turn))?;
        let moved = value & !self.network.behind() == bits(self.network.address).0;
        moved.then(|| self.network.address_of(value))
    }
}
