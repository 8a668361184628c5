//! Ethernet (MAC) addresses, printed as RouterOS prints them: upper case, colons.

use std::fmt;
use std::str::FromStr;

/// A 48-bit Ethernet address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// `FF:FF:FF:FF:FF:FF`.
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);

    /// Whether the group bit is set: multicast, and broadcast as well.
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether this is the broadcast address.
    #[inline]
    pub fn is_broadcast(self) -> bool {
        self == Self::BROADCAST
    }

    /// Whether this is one of `01:80:C2:00:00:00`–`0F`, which bridges do not forward
    /// (IEEE 802.1D, table 7-10).
    #[inline]
    pub fn is_link_local(self) -> bool {
        self.0[..5] == [0x01, 0x80, 0xc2, 0x00, 0x00] && self.0[5] < 0x10
    }

    /// The address as the low 48 bits of a number, first byte highest.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        let b = self.0;
        u64::from_be_bytes([0, 0, b[0], b[1], b[2], b[3], b[4], b[5]])
    }

    /// The inverse of [`to_u64`](Self::to_u64); the top 16 bits are ignored.
    #[inline]
    pub const fn from_u64(n: u64) -> MacAddr {
        let b = n.to_be_bytes();
        MacAddr([b[2], b[3], b[4], b[5], b[6], b[7]])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        f.pad(&format!("{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{g:02X}"))
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not six pairs of hexadecimal digits separated by colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMac;

impl fmt::Display for BadMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MAC address is six pairs of hex digits, as in 00:0C:42:00:00:01")
    }
}

impl std::error::Error for BadMac {}

impl FromStr for MacAddr {
    type Err = BadMac;

    fn from_str(s: &str) -> Result<MacAddr, BadMac> {
        let mut bytes = [0; 6];
        let mut parts = s.split(':');
        for byte in &mut bytes {
            let part = parts.next().ok_or(BadMac)?;
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(BadMac);
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| BadMac)?;
        }
        if parts.next().is_some() { Err(BadMac) } else { Ok(MacAddr(bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_and_printed() {
        let mac: MacAddr = "00:0c:42:Ab:CD:ef".parse().unwrap();
        assert_eq!(mac, MacAddr([0x00, 0x0c, 0x42, 0xab, 0xcd, 0xef]));
        assert_eq!(
            (mac.to_string(), format!("{mac:?}")),
            ("00:0C:42:AB:CD:EF".into(), mac.to_string())
        );
        assert_eq!(format!("[{mac:>19}]"), "[  00:0C:42:AB:CD:EF]", "columns of `print`");
        for bad in [
            "",
            "00",
            "00:0C:42:AB:CD",
            "00:0C:42:AB:CD:EF:00",
            "00:0C:42:AB:CD:E",
            "0:0C:42:AB:CD:EF",
            "00-0C-42-AB-CD-EF",
            "00:0C:42:AB:CD:+F",
            "00:0C:42:AB:CD:EG",
            "00:0C:42:AB:CD:EF:",
            "00:0C:42:AB:CD:é",
        ] {
            assert_eq!(bad.parse::<MacAddr>(), Err(BadMac), "{bad:?}");
        }
    }

    #[test]
    fn kinds() {
        let [host, group, bpdu] = ["02:00:00:00:00:01", "01:00:5E:00:00:01", "01:80:C2:00:00:00"]
            .map(|s| s.parse().unwrap());
        let kinds = |mac: MacAddr| (mac.is_multicast(), mac.is_broadcast(), mac.is_link_local());
        assert_eq!(kinds(host), (false, false, false));
        assert_eq!(kinds(group), (true, false, false));
        assert_eq!(kinds(bpdu), (true, false, true));
        assert_eq!(kinds(MacAddr::BROADCAST), (true, true, false));
        assert_eq!(kinds("01:80:C2:00:00:10".parse().unwrap()), (true, false, false));
    }

    #[test]
    fn as_a_number() {
        let mac = MacAddr([1, 2, 3, 4, 5, 6]);
        assert_eq!(mac.to_u64(), 0x0102_0304_0506);
        assert_eq!(MacAddr::from_u64(0xffff_0102_0304_0506), mac);
    }
}
