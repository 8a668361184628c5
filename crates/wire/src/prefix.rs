//! IPv4 prefixes and ranges, as RouterOS writes them.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// A network: an address whose host bits are zero, and a length of 0 to 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ipv4Prefix {
    bits: u32,
    len: u8,
}

impl Ipv4Prefix {
    /// `0.0.0.0/0`.
    pub const ALL: Ipv4Prefix = Ipv4Prefix { bits: 0, len: 0 };

    /// The network of `len` bits that holds `addr`; host bits are cleared.
    ///
    /// # Panics
    /// If `len` exceeds 32.
    #[inline]
    pub const fn new(addr: u32, len: u8) -> Ipv4Prefix {
        assert!(len <= 32);
        Ipv4Prefix { bits: addr & mask(len), len }
    }

    /// The single address.
    pub const fn host(addr: u32) -> Ipv4Prefix {
        Ipv4Prefix { bits: addr, len: 32 }
    }

    /// The first address.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The length in bits, 0 to 32.
    #[allow(clippy::len_without_is_empty)] // a prefix is never empty
    pub const fn len(self) -> u8 {
        self.len
    }

    /// The last address: the network's broadcast address for lengths up to 30.
    pub const fn last(self) -> u32 {
        self.bits | !mask(self.len)
    }

    /// Whether `addr` lies inside.
    #[inline]
    pub const fn contains(self, addr: u32) -> bool {
        addr & mask(self.len) == self.bits
    }
}

/// The netmask of `len` bits (0 to 32).
#[inline]
pub const fn mask(len: u8) -> u32 {
    if len == 0 { 0 } else { u32::MAX << (32 - len as u32) }
}

impl fmt::Display for Ipv4Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", Ipv4Addr::from(self.bits), self.len))
    }
}

impl fmt::Debug for Ipv4Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not `a.b.c.d`, `a.b.c.d/len` or `a.b.c.d-e.f.g.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPrefix;

impl fmt::Display for BadPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an address (1.2.3.4), prefix (1.2.3.0/24) or range (1.2.3.4-1.2.3.9)")
    }
}

impl std::error::Error for BadPrefix {}

impl FromStr for Ipv4Prefix {
    type Err = BadPrefix;

    /// Reads `a.b.c.d/len`, or an address alone as `/32`. Host bits are cleared, as RouterOS
    /// does for matchers (`1.1.1.1/24` is `1.1.1.0/24`).
    fn from_str(s: &str) -> Result<Ipv4Prefix, BadPrefix> {
        let (addr, len) = match s.split_once('/') {
            Some((addr, len)) => {
                let plain = len.len() <= 2 && len.bytes().all(|b| b.is_ascii_digit());
                (addr, len.parse().ok().filter(|&len| plain && len <= 32).ok_or(BadPrefix)?)
            }
            None => (s, 32),
        };
        let addr: Ipv4Addr = addr.parse().map_err(|_| BadPrefix)?;
        Ok(Ipv4Prefix::new(addr.into(), len))
    }
}

/// A contiguous range of addresses, both ends included, `first <= last`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv4Range {
    first: u32,
    last: u32,
}

impl Ipv4Range {
    /// The range from `first` to `last`, both included; `None` if they are the wrong way round.
    pub const fn new(first: u32, last: u32) -> Option<Ipv4Range> {
        if first <= last { Some(Ipv4Range { first, last }) } else { None }
    }

    /// The lowest address.
    pub const fn first(self) -> u32 {
        self.first
    }

    /// The highest address.
    pub const fn last(self) -> u32 {
        self.last
    }

    /// Whether `addr` lies inside.
    #[inline]
    pub const fn contains(self, addr: u32) -> bool {
        self.first <= addr && addr <= self.last
    }

    /// The prefix that is exactly this range, if there is one.
    pub fn as_prefix(self) -> Option<Ipv4Prefix> {
        let len = (self.first ^ self.last).leading_zeros() as u8;
        let prefix = Ipv4Prefix::new(self.first, len);
        (prefix.bits() == self.first && prefix.last() == self.last).then_some(prefix)
    }
}

impl From<Ipv4Prefix> for Ipv4Range {
    fn from(prefix: Ipv4Prefix) -> Ipv4Range {
        Ipv4Range { first: prefix.bits(), last: prefix.last() }
    }
}

impl fmt::Display for Ipv4Range {
    /// As RouterOS prints it: an address alone, a prefix if the range is exactly one, else `a-b`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_prefix() {
            Some(prefix) if prefix.len() == 32 => Ipv4Addr::from(self.first).fmt(f),
            Some(prefix) => prefix.fmt(f),
            None => {
                let (first, last) = (Ipv4Addr::from(self.first), Ipv4Addr::from(self.last));
                f.pad(&format!("{first}-{last}"))
            }
        }
    }
}

impl fmt::Debug for Ipv4Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Ipv4Range {
    type Err = BadPrefix;

    fn from_str(s: &str) -> Result<Ipv4Range, BadPrefix> {
        let Some((first, last)) = s.split_once('-') else {
            return s.parse::<Ipv4Prefix>().map(Into::into);
        };
        let first: Ipv4Addr = first.parse().map_err(|_| BadPrefix)?;
        let last: Ipv4Addr = last.parse().map_err(|_| BadPrefix)?;
        Ipv4Range::new(first.into(), last.into()).ok_or(BadPrefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn read_and_printed() {
        for (text, printed) in [
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            ("1.1.1.1/24", Some("1.1.1.0/24")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("1.2.3.4", Some("1.2.3.4")),
            ("1.2.3.4/32", Some("1.2.3.4")),
            ("1.2.3.4-1.2.3.9", Some("1.2.3.4-1.2.3.9")),
            ("1.2.3.4-1.2.3.4", Some("1.2.3.4")),
            ("1.2.3.0-1.2.3.255", Some("1.2.3.0/24")),
            ("0.0.0.0-255.255.255.255", Some("0.0.0.0/0")),
            ("1.2.3.9-1.2.3.4", None),
            ("1.2.3.4/33", None),
            ("1.2.3.4/+8", None),
            ("1.2.3.4/008", None),
            ("1.2.3.4/", None),
            ("1.2.3", None),
            ("1.2.3.4-", None),
            ("1.2.3.0/24-1.2.4.0", None),
            ("", None),
        ] {
            let range = text.parse::<Ipv4Range>();
            assert_eq!(range.ok().map(|range| range.to_string()).as_deref(), printed, "{text:?}");
        }
        assert_eq!(Ipv4Prefix::host(0x0102_0304).to_string(), "1.2.3.4/32");
        assert_eq!(format!("[{:<12}]", Ipv4Prefix::ALL), "[0.0.0.0/0   ]", "columns of `print`");
    }

    #[test]
    fn masks() {
        assert_eq!([0, 1, 24, 31, 32].map(mask), [0, 1 << 31, !0xff, !1, u32::MAX]);
    }

    proptest! {
        #[test]
        fn a_prefix_is_its_range(addr: u32, len in 0..=32u8, probe: u32) {
            let prefix = Ipv4Prefix::new(addr, len);
            let range = Ipv4Range::from(prefix);
            prop_assert!(prefix.contains(addr) && prefix.contains(prefix.last()));
            prop_assert_eq!(u64::from(prefix.last() - prefix.bits()) + 1, 1 << (32 - len));
            prop_assert_eq!(prefix.contains(probe), range.contains(probe));
            prop_assert_eq!(range.as_prefix(), Some(prefix));
            prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }

        #[test]
        fn a_range_is_read_as_printed(a: u32, b: u32, near in 0..300u32) {
            for (first, last) in [(a.min(b), a.max(b)), (a, a.saturating_add(near))] {
                let range = Ipv4Range::new(first, last).unwrap();
                prop_assert_eq!(range.to_string().parse(), Ok(range));
                if let Some(prefix) = range.as_prefix() {
                    prop_assert_eq!(Ipv4Range::from(prefix), range);
                }
            }
        }
    }
}
