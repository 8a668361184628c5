//! Families: the versions of the Internet Protocol.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A version of IP. Where none is named it is IPv4.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Version 4.
    #[default]
    Ipv4,
    /// Version 6.
    Ipv6,
}

impl Family {
    /// Of an address.
    pub fn of(address: IpAddr) -> Family {
        if address.is_ipv6() { Family::Ipv6 } else { Family::Ipv4 }
    }

    /// Whether it is the one that files do not name.
    pub fn is_default(&self) -> bool {
        *self == Family::default()
    }

    /// As options, plans and files name it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Family::Ipv4 => "IPv4",
            Family::Ipv6 => "IPv6",
        })
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Family, String> {
        let all = [Family::Ipv4, Family::Ipv6];
        let known = all.into_iter().find(|family| family.name() == text);
        known.ok_or_else(|| format!("the families are: {}", all.map(Family::name).join(", ")))
    }
}
