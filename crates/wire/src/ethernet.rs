//! The Ethernet II header (IEEE 802.3 §3.2), without preamble and FCS.
//!
//! ```text
//! | destination 6 | source 6 | EtherType 2 | payload, at least 46 with the padding … |
//! ```
//!
//! Tags are [`vlan`](crate::vlan)'s. Missing: **802.3 length field with LLC/SNAP**: a value
//! below 0x0600 is handed on as an EtherType nobody claims.

use crate::bytes::{be16, mac, put};
use crate::layers::Malformed;
use crate::mac::MacAddr;

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// EtherType of an 802.1Q tag.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// EtherType of an 802.1ad service tag.
pub const ETHERTYPE_SVLAN: u16 = 0x88a8;
/// EtherType of an outer tag before 802.1ad gave it one of its own.
pub const ETHERTYPE_OUTER_VLAN: u16 = 0x9100;
/// EtherType of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;

/// Length of the header: two addresses and the EtherType.
pub const HEADER_LEN: usize = 14;
/// The shortest frame in memory: 64 bytes less the FCS.
pub const MIN_LEN: usize = 60;

/// Whether an EtherType is a VLAN tag's: 0x8100, 0x88a8 or 0x9100.
#[inline(always)]
pub const fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, ETHERTYPE_VLAN | ETHERTYPE_SVLAN | ETHERTYPE_OUTER_VLAN)
}

/// A view of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Ethernet<B>(B);

impl<B: AsRef<[u8]>> Ethernet<B> {
    /// Looks at `frame`.
    ///
    /// # Errors
    /// [`Malformed::Ethernet`] below 14 bytes.
    #[inline]
    pub fn new(frame: B) -> Result<Ethernet<B>, Malformed> {
        if frame.as_ref().len() < HEADER_LEN { Err(Malformed::Ethernet) } else { Ok(Self(frame)) }
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> MacAddr {
        mac(self.0.as_ref(), 0)
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> MacAddr {
        mac(self.0.as_ref(), 6)
    }

    /// EtherType: of the tag if the frame has one.
    #[inline]
    pub fn ether_type(&self) -> u16 {
        be16(self.0.as_ref(), 12)
    }

    /// What follows the header, padding included.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[HEADER_LEN..]
    }

    /// The header as a value.
    pub fn header(&self) -> EthernetHeader {
        EthernetHeader { dst: self.dst(), src: self.src(), ether_type: self.ether_type() }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Ethernet<B> {
    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, dst: MacAddr) {
        put(self.0.as_mut(), 0, dst.0);
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, src: MacAddr) {
        put(self.0.as_mut(), 6, src.0);
    }

    /// Sets the EtherType.
    #[inline]
    pub fn set_ether_type(&mut self, ether_type: u16) {
        put(self.0.as_mut(), 12, ether_type.to_be_bytes());
    }

    /// What follows the header, to write into.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.0.as_mut()[HEADER_LEN..]
    }
}

/// The header as a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// What the payload is.
    pub ether_type: u16,
}

impl EthernetHeader {
    /// The header's bytes.
    #[inline]
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, d, e, f] = self.dst.0;
        let [g, h, i, j, k, l] = self.src.0;
        let [m, n] = self.ether_type.to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        let mut bytes = *b"\xff\xff\xff\xff\xff\xff\x00\x0c\x42\x01\x02\x03\x08\x06payload";
        let header = EthernetHeader {
            dst: MacAddr::BROADCAST,
            src: MacAddr([0x00, 0x0c, 0x42, 1, 2, 3]),
            ether_type: ETHERTYPE_ARP,
        };
        assert_eq!(Ethernet::new(&bytes).unwrap().header(), header);
        assert_eq!(header.to_bytes(), bytes[..14]);

        let mut frame = Ethernet::new(&mut bytes).unwrap();
        frame.set_dst(header.src);
        frame.set_src(MacAddr([2; 6]));
        frame.set_ether_type(0x1234);
        frame.payload_mut()[0] = b'P';
        assert_eq!(bytes, *b"\x00\x0c\x42\x01\x02\x03\x02\x02\x02\x02\x02\x02\x12\x34Payload");
    }

    #[test]
    fn too_short() {
        assert_eq!(Ethernet::new([0; 13]).unwrap_err(), Malformed::Ethernet);
        assert!(Ethernet::new([0; 14]).unwrap().payload().is_empty());
    }
}
