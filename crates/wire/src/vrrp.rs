//! VRRP's one message, the advertisement: version 2 (RFC 3768) and 3 (RFC 5798).
//!
//! ```text
//! 2 | 0x21 | vrid | priority | count | authentication | interval, s | checksum 2 | addresses | data 8 |
//! 3 | 0x31 | vrid | priority | count | 0, interval in 1/100 s 2     | checksum 2 | addresses |
//! ```
//!
//! Version 3's checksum covers a pseudo-header; of IPv4, routers that leave it out are understood, too.
//! Version 2 knows no IPv6. Its authentication header stands before the message: [`crate::ah`].

use crate::bytes::be16;
use crate::checksum::Sum;
use crate::ipv4::protocol;
use std::net::{IpAddr, Ipv6Addr};

/// Where advertisements go: 224.0.0.18.
pub const GROUP: u32 = 0xe000_0012;
/// Where those over IPv6 go: ff02::12.
pub const GROUP6: u128 = 0xff02 << 112 | 0x12;
/// The TTL they have, so that none comes from afar.
pub const TTL: u8 = 255;
/// No more addresses than the count can say.
const HEADER_LEN: usize = 8;
const AUTH_LEN: usize = 8;
/// What version 2's field says of [`Authentication`].
const SIMPLE: u8 = 1;
const HEADER: u8 = 2;

/// How a message of version 2 says that its sender may speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// It does not.
    #[default]
    None,
    /// By a password in the clear, filled up with zeros.
    Simple([u8; AUTH_LEN]),
    /// By the authentication header before it.
    Header,
}

/// An advertisement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertisement {
    /// 2 or 3.
    pub version: u8,
    /// The virtual router.
    pub vrid: u8,
    /// The sender's; 0 says that it stops.
    pub priority: u8,
    /// How often it advertises, in hundredths of a second.
    pub interval_cs: u16,
    /// The virtual router's addresses, all of the sender's family; of IPv6 the link's own is the first.
    pub addresses: Vec<IpAddr>,
    /// Of version 2; version 3 has none.
    pub authentication: Authentication,
}

impl Advertisement {
    /// Reads an IP packet's payload, sent from `src` to [`GROUP`] or [`GROUP6`]; `None` if it is cut off,
    /// contradicts itself or is of a version that nobody has written.
    pub fn read(bytes: &[u8], src: IpAddr) -> Option<Advertisement> {
        let head: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        let (version, count) = (head[0] >> 4, usize::from(head[3]));
        let is_known = version == 3 || version == 2 && src.is_ipv4();
        if !is_known || head[0] & 0xf != 1 || head[1] == 0 {
            return None;
        }
        let size = if src.is_ipv4() { 4 } else { 16 };
        let end = HEADER_LEN + size * count;
        let auth = if version == 2 { AUTH_LEN } else { 0 };
        let message = bytes.get(..end + auth)?;
        let plain = src.is_ipv4() && Sum::default().bytes(message).is_ok();
        if !(plain || version == 3 && pseudo(src, message.len()).bytes(message).is_ok()) {
            return None;
        }
        let (interval_cs, authentication) = match version {
            2 => {
                let authentication = match head[4] {
                    0 => Authentication::None,
                    SIMPLE => Authentication::Simple(*message[end..].first_chunk()?),
                    HEADER => Authentication::Header,
                    _ => return None,
                };
                (u16::from(head[5]) * 100, authentication)
            }
            _ => (be16(head, 4) & 0xfff, Authentication::None),
        };
        let address = |octets: &[u8]| match *octets {
            [a, b, c, d] => IpAddr::from([a, b, c, d]),
            _ => IpAddr::from(octets.first_chunk::<16>().copied().unwrap_or_default()),
        };
        let addresses = message[HEADER_LEN..end].chunks_exact(size).map(address).collect();
        let (vrid, priority) = (head[1], head[2]);
        Some(Advertisement { version, vrid, priority, interval_cs, addresses, authentication })
    }

    /// Its bytes, sent from `src`. Addresses beyond 255, and those of the other family, are left out.
    pub fn to_bytes(&self, src: IpAddr) -> Vec<u8> {
        let is_ours = |address: &&IpAddr| address.is_ipv4() == src.is_ipv4();
        let addresses: Vec<&IpAddr> = self.addresses.iter().filter(is_ours).take(255).collect();
        let Advertisement { version, vrid, priority, interval_cs, authentication, .. } = *self;
        let (kind, password) = match authentication {
            Authentication::None => (0, [0; AUTH_LEN]),
            Authentication::Simple(password) => (SIMPLE, password),
            Authentication::Header => (HEADER, [0; AUTH_LEN]),
        };
        let mut bytes = vec![version << 4 | 1, vrid, priority, addresses.len() as u8];
        if version == 2 {
            let seconds = interval_cs.div_ceil(100).clamp(1, 255) as u8;
            bytes.extend([kind, seconds]);
        } else {
            bytes.extend((interval_cs & 0xfff).to_be_bytes());
        }
        bytes.extend([0, 0]);
        for address in addresses {
            match address {
                IpAddr::V4(address) => bytes.extend(address.octets()),
                IpAddr::V6(address) => bytes.extend(address.octets()),
            }
        }
        let mut sum = Sum::default();
        if version == 2 {
            bytes.extend(password);
        } else {
            sum = pseudo(src, bytes.len());
        }
        let sum = sum.bytes(&bytes).finish();
        bytes[6..8].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

/// The sum of the pseudo-header of a message so long.
fn pseudo(src: IpAddr, len: usize) -> Sum {
    match src {
        IpAddr::V4(src) => Sum::pseudo_ipv4(src.into(), GROUP, protocol::VRRP, len as u16),
        IpAddr::V6(src) => {
            let group = Ipv6Addr::from(GROUP6).octets();
            Sum::pseudo_ipv6(src.octets(), group, protocol::VRRP, len as u32)
        }
    }
}

/// The virtual router's MAC address (RFC 5798 §7.3).
pub const fn mac(vrid: u8) -> crate::MacAddr {
    crate::MacAddr([0, 0, 0x5e, 0, 1, vrid])
}

/// The same over IPv6.
pub const fn mac6(vrid: u8) -> crate::MacAddr {
    crate::MacAddr([0, 0, 0x5e, 0, 2, vrid])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const SRC: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1));
    const SRC6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));

    fn advertisement() -> Advertisement {
        Advertisement {
            version: 3,
            vrid: 49,
            priority: 200,
            interval_cs: 100,
            addresses: vec![[192, 168, 0, 100].into()],
            authentication: Authentication::None,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for advertisement in [
            advertisement(),
            Advertisement {
                addresses: [1u32, 2, 3].map(|n| Ipv4Addr::from(n).into()).to_vec(),
                interval_cs: 4095,
                ..advertisement()
            },
            Advertisement { version: 2, interval_cs: 300, ..advertisement() },
            Advertisement {
                version: 2,
                authentication: Authentication::Simple(*b"secret\0\0"),
                ..advertisement()
            },
            Advertisement { addresses: Vec::new(), priority: 0, ..advertisement() },
        ] {
            check(advertisement, SRC);
        }
        for addresses in [vec![], vec![SRC6], vec![SRC6, Ipv6Addr::LOCALHOST.into()]] {
            check(Advertisement { addresses, ..advertisement() }, SRC6);
        }
        let old = Advertisement { version: 2, addresses: vec![SRC6], ..advertisement() };
        assert_eq!(Advertisement::read(&old.to_bytes(SRC6), SRC6), None, "version 2");
    }

    fn check(advertisement: Advertisement, src: IpAddr) {
        let bytes = advertisement.to_bytes(src);
        assert_eq!(Advertisement::read(&bytes, src), Some(advertisement));
        for at in 0..bytes.len() {
            assert_eq!(Advertisement::read(&bytes[..at], src), None, "cut off at {at}");
            let mut other = bytes.clone();
            other[at] ^= 0x40;
            assert_eq!(Advertisement::read(&other, src), None, "byte {at}");
        }
    }

    /// As keepalived 2.2 writes it with `version 2`, and with `version 3`.
    #[test]
    fn known_bytes() {
        let bytes = Advertisement { version: 2, ..advertisement() }.to_bytes(SRC);
        let head = [0x21, 49, 200, 1, 0, 1];
        assert_eq!(
            (&bytes[..6], &bytes[8..12], bytes.len()),
            (&head[..], &[192, 168, 0, 100][..], 20)
        );
        // The plain sum of version 3 is taken as well.
        let mut bytes = advertisement().to_bytes(SRC);
        bytes[6..8].fill(0);
        let sum = crate::checksum::of(&bytes);
        bytes[6..8].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(Advertisement::read(&bytes, SRC), Some(advertisement()));
    }

    #[test]
    fn hostile() {
        let mut seed = 9u32;
        for _ in 0..50_000 {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24) as u8
            };
            let mut bytes: Vec<u8> = (0..next() % 40).map(|_| next()).collect();
            if let Some(first) = bytes.first_mut() {
                *first = [0x21, 0x31, 0x22, 0x41][usize::from(next() % 4)];
            }
            if let (Some(sum), true) = (bytes.get_mut(6..8), next() & 1 == 0) {
                sum.fill(0);
                let right = crate::checksum::of(&bytes);
                bytes[6..8].copy_from_slice(&right.to_be_bytes());
            }
            let _ = Advertisement::read(&bytes, SRC);
            let _ = Advertisement::read(&bytes, SRC6);
        }
    }
}
