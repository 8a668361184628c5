//! Address families: what IPv4 and IPv6 do alike is written once, over the type of an address.

use std::fmt::Debug;
use std::hash::Hash;
use wire::MacAddr;
use wire::icmpv6::{group_mac, solicited_node};
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};

/// An address of a family, in host order: `u32` of IPv4, `u128` of IPv6.
pub trait Family: Copy + Eq + Ord + Hash + Debug + Default {
    /// The EtherType of its packets.
    const ETHERTYPE: u16;
    /// PPP's protocol number of its packets.
    const PPP: u16;
    /// Whether an answer that is no longer sure is kept until it is used (RFC 4861 §7.3.2: stale).
    const LINGERS: bool;

    /// Bits for a hash, those of the interface still to be mixed in.
    fn mix(self) -> u64;

    /// Whom to ask for an address that nobody has answered for.
    fn everybody(self) -> MacAddr;
}

impl Family for u32 {
    const ETHERTYPE: u16 = ETHERTYPE_IPV4;
    const PPP: u16 = 0x0021;
    const LINGERS: bool = false;

    #[inline]
    fn mix(self) -> u64 {
        u64::from(self) << 16
    }

    fn everybody(self) -> MacAddr {
        MacAddr::BROADCAST
    }
}

impl Family for u128 {
    const ETHERTYPE: u16 = ETHERTYPE_IPV6;
    const PPP: u16 = 0x0057;
    const LINGERS: bool = true;

    #[inline]
    fn mix(self) -> u64 {
        let (net, host) = ((self >> 64) as u64, self as u64);
        let product =
            u128::from(net ^ 0x243f_6a88_85a3_08d3) * u128::from(host ^ 0x1319_8a2e_0370_7345);
        (product as u64 ^ (product >> 64) as u64) << 16
    }

    fn everybody(self) -> MacAddr {
        group_mac(solicited_node(self.into()))
    }
}
