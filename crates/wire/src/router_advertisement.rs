//! Router advertisements (RFC 4861 §4.2), with the DNS servers of RFC 8106.
//!
//! ```text
//! | 134 | 0 | checksum 2 | hop limit 1 | M O pref 1 | lifetime 2 | reachable 4 | retransmit 4 | options |
//!   prefix: | 3 | 4 | length | L A | valid 4 | preferred 4 | 0 4 | prefix 16 |
//!   DNS:    | 25 | 1+2n | 0 2 | lifetime 4 | n servers, 16 each |
//! ```
//!
//! Never decides whether one is believed: that is the router's.
//!
//! **Missing**: routes (RFC 4191), search lists.

use crate::bytes::{be16, be32};
use crate::icmpv6::{each_option, kind, option};
use crate::layers::Malformed;
use crate::mac::MacAddr;
use std::net::Ipv6Addr;

/// The most prefixes that are read of a message.
pub const MAX_PREFIXES: usize = 16;
/// The most DNS servers that are read of a message.
pub const MAX_DNS: usize = 8;

/// A router advertisement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// The hop limit that hosts use; 0 leaves it to them.
    pub hop_limit: u8,
    /// Addresses are to be had by DHCPv6.
    pub managed: bool,
    /// The rest of the configuration is.
    pub other: bool,
    /// The preference (RFC 4191): 1 is high, 0 medium, 3 low.
    pub preference: u8,
    /// How long it may be a default router, in seconds; 0 is never.
    pub lifetime_s: u16,
    /// How long an answer is believed, in milliseconds; 0 leaves it to hosts.
    pub reachable_ms: u32,
    /// Between two solicitations, in milliseconds; 0 leaves it to hosts.
    pub retransmit_ms: u32,
    /// The router's link-layer address.
    pub mac: Option<MacAddr>,
    /// The link's MTU.
    pub mtu: Option<u32>,
    /// The link's prefixes.
    pub prefixes: Vec<PrefixInfo>,
    /// DNS servers.
    pub dns: Vec<Ipv6Addr>,
    /// How long those may be asked, in seconds.
    pub dns_s: u32,
}

/// A prefix in a router advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixInfo {
    /// Its first address.
    pub prefix: Ipv6Addr,
    /// Its length in bits.
    pub len: u8,
    /// Its addresses are neighbours.
    pub on_link: bool,
    /// Hosts make addresses of it by themselves (SLAAC).
    pub autonomous: bool,
    /// In seconds; all ones are for ever.
    pub valid_s: u32,
    /// In seconds.
    pub preferred_s: u32,
}

impl RouterAdvertisement {
    /// The message, its checksum yet to be written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![kind::ROUTER_ADVERTISEMENT, 0, 0, 0, self.hop_limit];
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        bytes.push(flag(self.managed, 0x80) | flag(self.other, 0x40) | (self.preference & 3) << 3);
        bytes.extend(self.lifetime_s.to_be_bytes());
        bytes.extend(self.reachable_ms.to_be_bytes());
        bytes.extend(self.retransmit_ms.to_be_bytes());
        if let Some(mac) = self.mac {
            bytes.extend([option::SOURCE, 1]);
            bytes.extend(mac.0);
        }
        if let Some(mtu) = self.mtu {
            bytes.extend([option::MTU, 1, 0, 0]);
            bytes.extend(mtu.to_be_bytes());
        }
        for info in &self.prefixes {
            let flags = flag(info.on_link, 0x80) | flag(info.autonomous, 0x40);
            bytes.extend([option::PREFIX, 4, info.len, flags]);
            bytes.extend(info.valid_s.to_be_bytes());
            bytes.extend(info.preferred_s.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(info.prefix.octets());
        }
        // An option's length is one byte, in units of eight.
        for servers in self.dns.chunks(127) {
            bytes.extend([option::DNS, 1 + 2 * servers.len() as u8, 0, 0]);
            bytes.extend(self.dns_s.to_be_bytes());
            servers.iter().for_each(|server| bytes.extend(server.octets()));
        }
        bytes
    }

    /// Reads a message that begins at its ICMPv6 header. Of what there may be many only the first
    /// [`MAX_PREFIXES`] and [`MAX_DNS`] are kept.
    ///
    /// # Errors
    /// [`Malformed::Transport`] if it is none, cut off, an option has no length, or a prefix one of more than
    /// 128 bits.
    pub fn read(message: &[u8]) -> Result<RouterAdvertisement, Malformed> {
        let (head, rest) = message.split_first_chunk::<16>().ok_or(Malformed::Transport)?;
        if head[0] != kind::ROUTER_ADVERTISEMENT || head[1] != 0 {
            return Err(Malformed::Transport);
        }
        let mut said = RouterAdvertisement {
            hop_limit: head[4],
            managed: head[5] & 0x80 != 0,
            other: head[5] & 0x40 != 0,
            preference: head[5] >> 3 & 3,
            lifetime_s: be16(head, 6),
            reachable_ms: be32(head, 8),
            retransmit_ms: be32(head, 12),
            ..RouterAdvertisement::default()
        };
        each_option(rest, |kind, data| said.read_option(kind, data))?;
        match said.prefixes.iter().any(|info| info.len > 128) {
            true => Err(Malformed::Transport),
            false => Ok(said),
        }
    }

    /// Takes an option in; one of another length than it must have is passed over.
    fn read_option(&mut self, kind: u8, data: &[u8]) {
        match kind {
            option::SOURCE if data.len() == 6 => {
                self.mac = data.first_chunk().map(|mac| MacAddr(*mac));
            }
            option::MTU if data.len() == 6 => self.mtu = Some(be32(data, 2)),
            option::PREFIX if data.len() == 30 && self.prefixes.len() < MAX_PREFIXES => {
                let Some(prefix) = data[14..].first_chunk::<16>() else { return };
                self.prefixes.push(PrefixInfo {
                    prefix: Ipv6Addr::from(*prefix),
                    len: data[0],
                    on_link: data[1] & 0x80 != 0,
                    autonomous: data[1] & 0x40 != 0,
                    valid_s: be32(data, 2),
                    preferred_s: be32(data, 6),
                });
            }
            option::DNS if data.len() >= 22 => {
                self.dns_s = be32(data, 2);
                for server in data[6..].as_chunks::<16>().0 {
                    if self.dns.len() < MAX_DNS {
                        self.dns.push(Ipv6Addr::from(*server));
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_advertisement_is_as_long_as_its_options() {
        let prefix = PrefixInfo {
            prefix: "2001:db8::".parse().unwrap(),
            len: 64,
            on_link: true,
            autonomous: true,
            valid_s: 2_592_000,
            preferred_s: 604_800,
        };
        let message = RouterAdvertisement {
            hop_limit: 64,
            managed: false,
            other: true,
            preference: 0,
            lifetime_s: 1800,
            reachable_ms: 0,
            retransmit_ms: 0,
            mac: Some(MacAddr([2, 0, 0, 0, 0, 1])),
            mtu: Some(1500),
            prefixes: vec![prefix; 2],
            dns: vec!["2001:db8::53".parse().unwrap()],
            dns_s: 1800,
        };
        let bytes = message.to_bytes();
        assert_eq!(bytes.len(), 16 + 8 + 8 + 2 * 32 + 24);
        assert_eq!(bytes[..8], [134, 0, 0, 0, 64, 0x40, 7, 8]);
        assert_eq!(bytes[32..36], [3, 4, 64, 0xc0]);
        assert_eq!(RouterAdvertisement::read(&bytes), Ok(message));
    }

    #[test]
    fn messages_that_are_none() {
        let with = |change: fn(&mut Vec<u8>)| {
            let mtu = Some(1400);
            let mut bytes =
                RouterAdvertisement { mtu, ..RouterAdvertisement::default() }.to_bytes();
            change(&mut bytes);
            RouterAdvertisement::read(&bytes).map(|message| message.mtu)
        };
        let none = Err(Malformed::Transport);
        assert_eq!(with(|_| ()), Ok(Some(1400)));
        assert_eq!(with(|bytes| bytes.truncate(15)), none);
        assert_eq!(with(|bytes| bytes.truncate(17)), none, "half an option");
        assert_eq!(with(|bytes| bytes[17] = 0), none, "without a length");
        assert_eq!(with(|bytes| bytes[17] = 2), none, "beyond the message");
        assert_eq!(with(|bytes| bytes[1] = 1), none, "code");
        assert_eq!(with(|bytes| bytes[16] = option::PREFIX), Ok(None), "a prefix too short");
        let long = |bytes: &mut Vec<u8>| {
            bytes.extend([option::PREFIX, 4, 129]);
            bytes.extend([0; 29]);
        };
        assert_eq!(with(long), none, "a prefix of 129 bits");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let [kind, code, ..] = &mut bytes[..] {
                (*kind, *code) = (kind::ROUTER_ADVERTISEMENT, 0);
            }
            if let Ok(said) = RouterAdvertisement::read(&bytes) {
                prop_assert!(said.prefixes.len() <= MAX_PREFIXES && said.dns.len() <= MAX_DNS);
                let again = RouterAdvertisement::read(&said.to_bytes());
                prop_assert_eq!(again.map(|again| again.prefixes), Ok(said.prefixes));
            }
        }
    }
}
