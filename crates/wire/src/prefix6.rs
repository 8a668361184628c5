//! IPv6 prefixes, as RouterOS writes them.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// A network: an address whose host bits are zero, and a length of 0 to 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ipv6Prefix {
    bits: u128,
    len: u8,
}

impl Ipv6Prefix {
    /// `::/0`.
    pub const ALL: Ipv6Prefix = Ipv6Prefix { bits: 0, len: 0 };
    /// `fe80::/10`, the addresses of one link.
    pub const LINK_LOCAL: Ipv6Prefix = Ipv6Prefix { bits: 0xfe80 << 112, len: 10 };

    /// The network of `len` bits that holds `addr`; host bits are cleared.
    ///
    /// # Panics
    /// If `len` exceeds 128.
    pub const fn new(addr: u128, len: u8) -> Ipv6Prefix {
        assert!(len <= 128);
        Ipv6Prefix { bits: addr & mask(len), len }
    }

    /// The single address.
    pub const fn host(addr: u128) -> Ipv6Prefix {
        Ipv6Prefix { bits: addr, len: 128 }
    }

    /// The first address.
    pub const fn bits(self) -> u128 {
        self.bits
    }

    /// The length in bits, 0 to 128.
    #[allow(clippy::len_without_is_empty)] // a prefix is never empty
    pub const fn len(self) -> u8 {
        self.len
    }

    /// The last address.
    pub const fn last(self) -> u128 {
        self.bits | !mask(self.len)
    }

    /// Whether `addr` lies inside.
    pub const fn contains(self, addr: u128) -> bool {
        addr & mask(self.len) == self.bits
    }
}

/// The mask of `len` bits (0 to 128).
const fn mask(len: u8) -> u128 {
    if len == 0 { 0 } else { u128::MAX << (128 - len as u32) }
}

impl fmt::Display for Ipv6Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", Ipv6Addr::from(self.bits), self.len))
    }
}

impl fmt::Debug for Ipv6Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is neither an address nor a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPrefix6;

impl fmt::Display for BadPrefix6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an address (2001:db8::1) or prefix (2001:db8::/32)")
    }
}

impl std::error::Error for BadPrefix6 {}

/// The address and the length of `2001:db8::1/64`; an address alone is 128 bits long.
///
/// # Errors
/// [`BadPrefix6`].
pub fn address_and_len(text: &str) -> Result<(Ipv6Addr, u8), BadPrefix6> {
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => {
            let plain = len.len() <= 3 && len.bytes().all(|b| b.is_ascii_digit());
            (address, len.parse().ok().filter(|&len| plain && len <= 128).ok_or(BadPrefix6)?)
        }
        None => (text, 128),
    };
    Ok((address.parse().map_err(|_| BadPrefix6)?, len))
}

impl FromStr for Ipv6Prefix {
    type Err = BadPrefix6;

    /// Reads an address or a prefix; host bits are cleared.
    fn from_str(text: &str) -> Result<Ipv6Prefix, BadPrefix6> {
        let (address, len) = address_and_len(text)?;
        Ok(Ipv6Prefix::new(address.into(), len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_and_printed() {
        for (text, printed) in [
            ("2001:db8::/32", Some("2001:db8::/32")),
            ("2001:db8::1/64", Some("2001:db8::/64")),
            ("2001:DB8:0::1", Some("2001:db8::1/128")),
            ("::/0", Some("::/0")),
            ("::1/129", None),
            ("::1/+8", None),
            ("::1/", None),
            ("1.2.3.4", None),
            ("fe80::1%ether1", None),
            ("", None),
        ] {
            let prefix = text.parse::<Ipv6Prefix>();
            assert_eq!(prefix.ok().map(|p| p.to_string()).as_deref(), printed, "{text:?}");
        }
        let ten = Ipv6Prefix::new(u128::MAX, 10);
        assert!(ten.contains(u128::MAX) && !ten.contains(u128::MAX >> 1));
        assert_eq!(Ipv6Prefix::LINK_LOCAL.to_string(), "fe80::/10");
        assert_eq!((Ipv6Prefix::ALL.last(), ten.last()), (u128::MAX, u128::MAX));
    }
}
