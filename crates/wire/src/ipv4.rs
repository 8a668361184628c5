//! The IPv4 header (RFC 791) and its options.
//!
//! ```text
//! | 4|IHL 1 | TOS 1 | total length 2 | identification 2 | flags 3, offset 13 |
//! | TTL 1 | protocol 1 | checksum 2 | source 4 | destination 4 | options 0–40 | payload …
//! ```
//!
//! A view is made of the bytes behind the Ethernet header; padding behind the packet's total
//! length is never shown. Never looks at the checksum by itself. Missing: **writing options**
//! (a router forwards or strips them, it never sends any).

use crate::bytes::{be16, be32, put};
use crate::checksum::{self, Delta};
use crate::layers::Malformed;

/// Length of a header without options.
pub const HEADER_LEN: usize = 20;

/// IP protocol numbers (IANA) the router and its tools name.
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// IGMP.
    pub const IGMP: u8 = 2;
    /// IPv4 in IPv4.
    pub const IPIP: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IPv4.
    pub const IPV6: u8 = 41;
    /// GRE.
    pub const GRE: u8 = 47;
    /// IPsec encapsulating security payload.
    pub const ESP: u8 = 50;
    /// IPsec authentication header.
    pub const AH: u8 = 51;
    /// OSPF.
    pub const OSPF: u8 = 89;
    /// VRRP.
    pub const VRRP: u8 = 112;
    /// L2TP version 3.
    pub const L2TP: u8 = 115;
}

/// A view of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<B>(B);

impl<B: AsRef<[u8]>> Ipv4<B> {
    /// Looks at a packet; bytes behind its total length are padding.
    ///
    /// # Errors
    /// [`Malformed::Ipv4`] if version, IHL or total length contradict each other or the bytes.
    #[inline]
    pub fn new(bytes: B) -> Result<Ipv4<B>, Malformed> {
        let b = bytes.as_ref();
        if b.len() < HEADER_LEN || b[0] >> 4 != 4 {
            return Err(Malformed::Ipv4);
        }
        let header_len = usize::from(b[0] & 0xf) * 4;
        let total_len = usize::from(be16(b, 2));
        if header_len < HEADER_LEN || total_len < header_len || b.len() < total_len {
            return Err(Malformed::Ipv4);
        }
        Ok(Ipv4(bytes))
    }

    /// Length of the header with its options, 20 to 60 bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.0.as_ref()[0] & 0xf) * 4
    }

    /// Length of header and payload.
    #[inline]
    pub fn total_len(&self) -> u16 {
        be16(self.0.as_ref(), 2)
    }

    /// Type of service: DSCP (6 bits) and ECN (2 bits).
    #[inline]
    pub fn tos(&self) -> u8 {
        self.0.as_ref()[1]
    }

    /// Differentiated services code point, 0 to 63.
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.tos() >> 2
    }

    /// Identification, which a packet's fragments share.
    #[inline]
    pub fn ident(&self) -> u16 {
        be16(self.0.as_ref(), 4)
    }

    /// Whether routers must not fragment it.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.0.as_ref()[6] & 0x40 != 0
    }

    /// Whether more fragments follow.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.0.as_ref()[6] & 0x20 != 0
    }

    /// Where in the whole payload this fragment's begins, in bytes.
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        (be16(self.0.as_ref(), 6) & 0x1fff) << 3
    }

    /// Time to live.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.0.as_ref()[8]
    }

    /// Protocol of the payload.
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.0.as_ref()[9]
    }

    /// Header checksum.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16(self.0.as_ref(), 10)
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> u32 {
        be32(self.0.as_ref(), 12)
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> u32 {
        be32(self.0.as_ref(), 16)
    }

    /// The options.
    #[inline]
    pub fn options(&self) -> Options<'_> {
        Options { rest: &self.0.as_ref()[HEADER_LEN..self.header_len()] }
    }

    /// What follows the header, without padding.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[self.header_len()..usize::from(self.total_len())]
    }

    /// Whether the header is intact.
    #[inline]
    pub fn checksum_ok(&self) -> bool {
        match self.0.as_ref().first_chunk::<HEADER_LEN>() {
            Some(header) if header[0] == 0x45 => checksum::ipv4_header_ok(header),
            _ => checksum::is_ok(&self.0.as_ref()[..self.header_len()]),
        }
    }

    /// The header as a value, without options: [`Ipv4Header::to_bytes`] gives the same bytes
    /// back if there were none.
    pub fn header(&self) -> Ipv4Header {
        Ipv4Header {
            tos: self.tos(),
            payload_len: self.total_len() - self.header_len() as u16,
            ident: self.ident(),
            dont_fragment: self.dont_fragment(),
            more_fragments: self.more_fragments(),
            fragment_offset: self.fragment_offset(),
            ttl: self.ttl(),
            protocol: self.protocol(),
            src: self.src(),
            dst: self.dst(),
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Ipv4<B> {
    /// Sets the type of service, and the checksum with it.
    #[inline]
    pub fn set_tos(&mut self, tos: u8) {
        let old = be16(self.0.as_ref(), 0);
        self.0.as_mut()[1] = tos;
        self.update(Delta::default().u16(old, old & 0xff00 | u16::from(tos)));
    }

    /// Sets the time to live, and the checksum with it.
    #[inline]
    pub fn set_ttl(&mut self, ttl: u8) {
        let old = be16(self.0.as_ref(), 8);
        self.0.as_mut()[8] = ttl;
        self.update(Delta::default().u16(old, old & 0x00ff | u16::from(ttl) << 8));
    }

    /// Clears "don't fragment", and sets the checksum with it.
    pub fn clear_dont_fragment(&mut self) {
        let old = be16(self.0.as_ref(), 6);
        self.0.as_mut()[6] &= !0x40;
        self.update(Delta::default().u16(old, old & !0x4000));
    }

    /// Overwrites all options with the one that says nothing, and sets the checksum with it.
    pub fn blank_options(&mut self) {
        let end = self.header_len();
        if end > HEADER_LEN {
            self.0.as_mut()[HEADER_LEN..end].fill(option::NOP);
            self.fill_checksum();
        }
    }

    /// Sets the source address, and the checksum with it. The transport checksum covers it too:
    /// that is the caller's, with [`Delta`].
    #[inline]
    pub fn set_src(&mut self, src: u32) {
        let delta = Delta::default().u32(self.src(), src);
        put(self.0.as_mut(), 12, src.to_be_bytes());
        self.update(delta);
    }

    /// Sets the destination address, and the checksum with it; see [`set_src`](Self::set_src).
    #[inline]
    pub fn set_dst(&mut self, dst: u32) {
        let delta = Delta::default().u32(self.dst(), dst);
        put(self.0.as_mut(), 16, dst.to_be_bytes());
        self.update(delta);
    }

    /// Computes the checksum afresh.
    pub fn fill_checksum(&mut self) {
        let header_len = self.header_len();
        let checksum = checksum::ipv4_header(&self.0.as_ref()[..header_len]);
        put(self.0.as_mut(), 10, checksum.to_be_bytes());
    }

    /// What follows the header, to write into.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let payload = self.header_len()..usize::from(self.total_len());
        &mut self.0.as_mut()[payload]
    }

    #[inline]
    fn update(&mut self, delta: Delta) {
        let checksum = delta.apply(self.checksum());
        put(self.0.as_mut(), 10, checksum.to_be_bytes());
    }
}

/// A header without options as a value. Addresses in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Type of service: DSCP and ECN.
    pub tos: u8,
    /// Bytes behind the header, at most 65 515.
    pub payload_len: u16,
    /// Identification.
    pub ident: u16,
    /// Routers must not fragment it.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// In bytes, a multiple of 8.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: u8,
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
}

impl Default for Ipv4Header {
    fn default() -> Ipv4Header {
        Ipv4Header {
            tos: 0,
            payload_len: 0,
            ident: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: 0,
            src: 0,
            dst: 0,
        }
    }
}

impl Ipv4Header {
    /// The header's bytes, checksum included. A payload longer than 65 515 bytes does not fit
    /// the length field; it is set to the maximum.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let total_len = self.payload_len.saturating_add(HEADER_LEN as u16);
        let fragment = u16::from(self.dont_fragment) << 14
            | u16::from(self.more_fragments) << 13
            | self.fragment_offset >> 3;
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = 0x45;
        bytes[1] = self.tos;
        put(&mut bytes, 2, total_len.to_be_bytes());
        put(&mut bytes, 4, self.ident.to_be_bytes());
        put(&mut bytes, 6, fragment.to_be_bytes());
        bytes[8] = self.ttl;
        bytes[9] = self.protocol;
        put(&mut bytes, 12, self.src.to_be_bytes());
        put(&mut bytes, 16, self.dst.to_be_bytes());
        let checksum = checksum::of(&bytes);
        put(&mut bytes, 10, checksum.to_be_bytes());
        bytes
    }
}

/// One option: its type octet (with the copied flag) and the data behind type and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Option<'a> {
    /// Type octet, one of the constants in [`option`], or another.
    pub kind: u8,
    /// Data; empty for those without.
    pub data: &'a [u8],
}

/// Option types (RFC 791 §3.1, RFC 2113).
pub mod option {
    /// End of the list.
    pub const END: u8 = 0;
    /// No operation.
    pub const NOP: u8 = 1;
    /// Record route.
    pub const RECORD_ROUTE: u8 = 7;
    /// Internet timestamp.
    pub const TIMESTAMP: u8 = 68;
    /// Loose source and record route.
    pub const LOOSE_SOURCE_ROUTING: u8 = 131;
    /// Strict source and record route.
    pub const STRICT_SOURCE_ROUTING: u8 = 137;
    /// Router alert.
    pub const ROUTER_ALERT: u8 = 148;
}

/// The options of a header, padding (end, no operation) left out.
///
/// Ends at "end of list", or at the first option whose length contradicts the header: each step
/// takes at least one byte, so it always ends.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    /// Which of the known options are there.
    pub fn set(self) -> OptionSet {
        self.fold(OptionSet::default(), |set, option| set.with(option.kind))
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Ipv4Option<'a>;

    fn next(&mut self) -> Option<Ipv4Option<'a>> {
        while let [option::NOP, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let &[kind, len, ..] = self.rest else { return None };
        if kind == option::END || len < 2 {
            return None;
        }
        let (this, rest) = self.rest.split_at_checked(usize::from(len))?;
        self.rest = rest;
        Some(Ipv4Option { kind, data: &this[2..] })
    }
}

/// A set of option kinds: what the `ipv4-options` matcher asks about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionSet(u8);

impl OptionSet {
    /// Loose source and record route.
    pub const LOOSE_SOURCE_ROUTING: OptionSet = OptionSet(1);
    /// Strict source and record route.
    pub const STRICT_SOURCE_ROUTING: OptionSet = OptionSet(2);
    /// Either kind of source routing.
    pub const SOURCE_ROUTING: OptionSet = OptionSet(3);
    /// Record route.
    pub const RECORD_ROUTE: OptionSet = OptionSet(4);
    /// Router alert.
    pub const ROUTER_ALERT: OptionSet = OptionSet(8);
    /// Internet timestamp.
    pub const TIMESTAMP: OptionSet = OptionSet(16);
    /// An option that is none of the above.
    pub const OTHER: OptionSet = OptionSet(32);

    /// Whether any kind is in both.
    pub const fn intersects(self, other: OptionSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no option is there.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn with(self, kind: u8) -> OptionSet {
        let bit = match kind {
            option::LOOSE_SOURCE_ROUTING => Self::LOOSE_SOURCE_ROUTING,
            option::STRICT_SOURCE_ROUTING => Self::STRICT_SOURCE_ROUTING,
            option::RECORD_ROUTE => Self::RECORD_ROUTE,
            option::ROUTER_ALERT => Self::ROUTER_ALERT,
            option::TIMESTAMP => Self::TIMESTAMP,
            _ => Self::OTHER,
        };
        OptionSet(self.0 | bit.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: [u8; 24] = [
        0x45, 0xb8, 0x00, 0x18, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x49, 0x2c, 0xc0, 0xa8, 0x58,
        0x01, 0xc6, 0x12, 0x00, 0x01, 1, 2, 3, 4,
    ];

    fn header() -> Ipv4Header {
        Ipv4Header {
            tos: 0xb8,
            payload_len: 4,
            ident: 0x1234,
            dont_fragment: true,
            protocol: protocol::UDP,
            src: 0xc0a8_5801,
            dst: 0xc612_0001,
            ..Ipv4Header::default()
        }
    }

    #[test]
    fn known_bytes() {
        let packet = Ipv4::new(PACKET).unwrap();
        assert_eq!(packet.header(), header());
        assert_eq!(header().to_bytes(), PACKET[..20]);
        assert!(packet.checksum_ok());
        assert_eq!((packet.dscp(), packet.payload()), (46, &PACKET[20..]));
    }

    #[test]
    fn padding_is_not_payload() {
        let padded = [&PACKET[..], &[0; 22]].concat();
        assert_eq!(Ipv4::new(padded).unwrap().payload(), &PACKET[20..]);
    }

    #[test]
    fn contradictions() {
        let with = |at: usize, value: u8| {
            let mut packet = PACKET;
            packet[at] = value;
            Ipv4::new(packet).map(|_| ())
        };
        for (what, at, value) in [
            ("version 6", 0, 0x65),
            ("header of 16", 0, 0x44),
            ("header longer than packet", 0, 0x47),
            ("total length below header", 3, 19),
            ("total length beyond frame", 3, 25),
        ] {
            assert_eq!(with(at, value), Err(Malformed::Ipv4), "{what}");
        }
        assert_eq!(Ipv4::new(&PACKET[..19]).unwrap_err(), Malformed::Ipv4);
    }

    #[test]
    fn setters_keep_the_checksum() {
        let mut bytes = PACKET;
        let mut packet = Ipv4::new(&mut bytes).unwrap();
        packet.set_ttl(1);
        packet.set_tos(3);
        packet.clear_dont_fragment();
        packet.set_src(0x0a00_0001);
        packet.set_dst(0xffff_fffe);
        assert!(packet.checksum_ok());
        let expected = Ipv4Header {
            tos: 3,
            dont_fragment: false,
            ttl: 1,
            src: 0x0a00_0001,
            dst: 0xffff_fffe,
            ..header()
        };
        assert_eq!(packet.header(), expected);
        assert_eq!(expected.to_bytes(), bytes[..20]);
    }

    #[test]
    fn fragments() {
        let fragment = Ipv4Header { more_fragments: true, fragment_offset: 1480, ..header() };
        let bytes = [&fragment.to_bytes()[..], &[0; 4]].concat();
        assert_eq!(bytes[6..8], [0x60, 185]);
        assert_eq!(Ipv4::new(bytes).unwrap().header(), fragment);
    }

    #[test]
    fn options_end() {
        let kinds = |options: &[u8]| {
            let mut bytes = vec![0x45 + options.len() as u8 / 4, 0, 0, 20 + options.len() as u8];
            bytes.resize(20, 0);
            bytes.extend(options);
            let packet = Ipv4::new(bytes).unwrap();
            (packet.options().map(|o| o.kind).collect::<Vec<_>>(), packet.options().set())
        };
        let alert = OptionSet::ROUTER_ALERT;
        assert_eq!(kinds(&[]), (vec![], OptionSet::default()));
        assert_eq!(kinds(&[148, 4, 0, 0]), (vec![148], alert));
        assert_eq!(kinds(&[1, 1, 1, 0]), (vec![], OptionSet::default()), "padding");
        assert_eq!(kinds(&[148, 4, 0, 0, 0, 148, 4, 0]), (vec![148], alert), "behind the end");
        assert_eq!(kinds(&[148, 0, 0, 0]).0, [0; 0], "length 0 must not loop");
        assert_eq!(kinds(&[148, 1, 148, 1]).0, [0; 0], "length 1");
        assert_eq!(kinds(&[7, 5, 4, 0]).0, [0; 0], "length beyond the header");
        assert_eq!(kinds(&[1, 1, 1, 131]).0, [0; 0], "length octet missing");
        let (all, set) = kinds(&[7, 3, 4, 68, 4, 5, 0, 131, 3, 4, 1, 137, 3, 4, 130, 2]);
        assert_eq!(all, [7, 68, 131, 137, 130]);
        assert!(set.intersects(OptionSet::SOURCE_ROUTING) && set.intersects(OptionSet::OTHER));
        assert!(set.intersects(OptionSet::TIMESTAMP) && !set.intersects(alert));
    }
}
