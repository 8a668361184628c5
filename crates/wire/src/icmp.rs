//! ICMP (RFC 792): queries, and errors that quote the packet they are about.
//!
//! ```text
//! | type 1 | code 1 | checksum 2 | rest 4 | data …
//!   query:  rest = identifier 2, sequence 2
//!   error:  rest = unused | gateway 4 | 0, next-hop MTU 2;  data = IP header and 8 or more bytes
//! ```
//!
//! The quoted packet is read by [`layers::quoted`](crate::layers::quoted). Never decides whether
//! an error may be sent (RFC 1812 §4.3.2.7) nor how often: that is the router's.

use crate::bytes::{be16, be32, put};
use crate::checksum;
use crate::layers::Malformed;

/// Length of the header, the "rest" included.
pub const HEADER_LEN: usize = 8;
/// The most bytes of a packet an error quotes, so that the error is no longer than 576 bytes
/// with its IP header (RFC 1812 §4.3.2.3).
pub const QUOTE_MAX: usize = 576 - 20 - HEADER_LEN;

/// Message types.
pub mod kind {
    /// Echo reply: a ping's answer.
    pub const ECHO_REPLY: u8 = 0;
    /// Destination unreachable; [`code`](super::code) says why.
    pub const UNREACHABLE: u8 = 3;
    /// Source quench (deprecated by RFC 6633).
    pub const SOURCE_QUENCH: u8 = 4;
    /// Redirect.
    pub const REDIRECT: u8 = 5;
    /// Echo request: a ping.
    pub const ECHO_REQUEST: u8 = 8;
    /// Time exceeded: code 0 in transit, 1 in reassembly.
    pub const TIME_EXCEEDED: u8 = 11;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 12;
    /// Timestamp request, the first of the queries 13 to 18.
    pub const TIMESTAMP_REQUEST: u8 = 13;
    /// Address mask reply, the last of the queries 13 to 18.
    pub const ADDRESS_MASK_REPLY: u8 = 18;
}

/// Codes of "destination unreachable" (RFC 792, 1122 and 1812).
pub mod code {
    /// No route to the network.
    pub const NETWORK_UNREACHABLE: u8 = 0;
    /// The host does not answer.
    pub const HOST_UNREACHABLE: u8 = 1;
    /// The host does not speak the protocol.
    pub const PROTOCOL_UNREACHABLE: u8 = 2;
    /// Nobody listens on the port.
    pub const PORT_UNREACHABLE: u8 = 3;
    /// Too long for the next hop, and "don't fragment" is set.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Network administratively prohibited.
    pub const NETWORK_PROHIBITED: u8 = 9;
    /// Host administratively prohibited.
    pub const HOST_PROHIBITED: u8 = 10;
    /// Communication administratively prohibited.
    pub const ADMIN_PROHIBITED: u8 = 13;
}

/// Whether messages of this type quote a packet.
#[inline]
pub const fn is_error(kind: u8) -> bool {
    matches!(kind, 3..=5 | 11 | 12)
}

/// Whether messages of this type carry an identifier: requests and replies alike.
#[inline]
pub const fn is_query(kind: u8) -> bool {
    matches!(kind, 0 | 8 | 13..=18)
}

/// A view of a message.
#[derive(Clone, Copy, Debug)]
pub struct Icmp<B>(B);

impl<B: AsRef<[u8]>> Icmp<B> {
    /// Looks at an IP payload.
    ///
    /// # Errors
    /// [`Malformed::Transport`] below 8 bytes.
    #[inline]
    pub fn new(bytes: B) -> Result<Icmp<B>, Malformed> {
        if bytes.as_ref().len() < HEADER_LEN { Err(Malformed::Transport) } else { Ok(Icmp(bytes)) }
    }

    /// Message type.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.0.as_ref()[0]
    }

    /// Code: the type's detail.
    #[inline]
    pub fn code(&self) -> u8 {
        self.0.as_ref()[1]
    }

    /// Checksum.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16(self.0.as_ref(), 2)
    }

    /// Identifier of a query.
    #[inline]
    pub fn ident(&self) -> u16 {
        be16(self.0.as_ref(), 4)
    }

    /// Sequence number of a query.
    #[inline]
    pub fn sequence(&self) -> u16 {
        be16(self.0.as_ref(), 6)
    }

    /// The better gateway a redirect names.
    #[inline]
    pub fn gateway(&self) -> u32 {
        be32(self.0.as_ref(), 4)
    }

    /// The next hop's MTU in "fragmentation needed" (RFC 1191 §4), 0 if not told.
    #[inline]
    pub fn mtu(&self) -> u16 {
        be16(self.0.as_ref(), 6)
    }

    /// What follows the header: a query's data, or the quoted packet.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[HEADER_LEN..]
    }

    /// Whether the message is intact.
    #[inline]
    pub fn checksum_ok(&self) -> bool {
        checksum::is_ok(self.0.as_ref())
    }

    /// The header as a value.
    pub fn header(&self) -> IcmpHeader {
        IcmpHeader {
            kind: self.kind(),
            code: self.code(),
            rest: be32(self.0.as_ref(), 4).to_be_bytes(),
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Icmp<B> {
    /// Sets the identifier of a query. The checksum is the caller's, with [`checksum::Delta`].
    #[inline]
    pub fn set_ident(&mut self, ident: u16) {
        put(self.0.as_mut(), 4, ident.to_be_bytes());
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.0.as_mut(), 2, checksum.to_be_bytes());
    }

    /// What follows the header, to write into.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.0.as_mut()[HEADER_LEN..]
    }

    /// Computes the checksum afresh.
    pub fn fill_checksum(&mut self) {
        let checksum = checksum::icmp(self.0.as_ref());
        self.set_checksum(checksum);
    }
}

/// The header as a value; its checksum is written as 0, for [`Icmp::fill_checksum`] to fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpHeader {
    /// Message type.
    pub kind: u8,
    /// Its detail.
    pub code: u8,
    /// The four bytes whose meaning depends on the type.
    pub rest: [u8; 4],
}

impl IcmpHeader {
    /// A ping.
    pub const fn echo_request(ident: u16, sequence: u16) -> IcmpHeader {
        let [a, b] = ident.to_be_bytes();
        let [c, d] = sequence.to_be_bytes();
        IcmpHeader { kind: kind::ECHO_REQUEST, code: 0, rest: [a, b, c, d] }
    }

    /// The answer to a ping: its data goes back as it came.
    pub const fn echo_reply(ident: u16, sequence: u16) -> IcmpHeader {
        IcmpHeader { kind: kind::ECHO_REPLY, ..Self::echo_request(ident, sequence) }
    }

    /// "Destination unreachable", for one of the reasons in [`code`].
    pub const fn unreachable(code: u8) -> IcmpHeader {
        IcmpHeader { kind: kind::UNREACHABLE, code, rest: [0; 4] }
    }

    /// "Fragmentation needed and DF set", with the next hop's MTU (RFC 1191 §4).
    pub const fn fragmentation_needed(mtu: u16) -> IcmpHeader {
        let [a, b] = mtu.to_be_bytes();
        let rest = [0, 0, a, b];
        IcmpHeader { kind: kind::UNREACHABLE, code: code::FRAGMENTATION_NEEDED, rest }
    }

    /// "Time to live exceeded in transit".
    pub const fn time_exceeded() -> IcmpHeader {
        IcmpHeader { kind: kind::TIME_EXCEEDED, code: 0, rest: [0; 4] }
    }

    /// "Redirect for the host: `gateway` is nearer".
    pub const fn redirect_host(gateway: u32) -> IcmpHeader {
        IcmpHeader { kind: kind::REDIRECT, code: 1, rest: gateway.to_be_bytes() }
    }

    /// The header's bytes, checksum 0.
    #[inline]
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, d] = self.rest;
        [self.kind, self.code, 0, 0, a, b, c, d]
    }

    /// Writes a whole message, checksum and all: this header and `data`. For an error, `data`
    /// is the packet it is about, from its IP header; no more than [`QUOTE_MAX`] of it are taken.
    ///
    /// Returns the message's length; `None`, and nothing is written, if `out` is shorter.
    pub fn write(self, data: &[u8], out: &mut [u8]) -> Option<usize> {
        let quote_max = if is_error(self.kind) { QUOTE_MAX } else { data.len() };
        let data = &data[..data.len().min(quote_max)];
        let out = out.get_mut(..HEADER_LEN + data.len())?;
        out[..HEADER_LEN].copy_from_slice(&self.to_bytes());
        out[HEADER_LEN..].copy_from_slice(data);
        let checksum = checksum::of(out);
        put(out, 2, checksum.to_be_bytes());
        Some(out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        // 0800 + 1234 + 0001 + 6869 = 829e, whose complement is 7d61.
        let expected = [8, 0, 0x7d, 0x61, 0x12, 0x34, 0, 1, b'h', b'i'];
        let mut out = [0; 10];
        assert_eq!(IcmpHeader::echo_request(0x1234, 1).write(b"hi", &mut out), Some(10));
        assert_eq!(out, expected);
        let message = Icmp::new(expected).unwrap();
        assert!(message.checksum_ok());
        assert_eq!(message.header(), IcmpHeader::echo_request(0x1234, 1));
        assert_eq!((message.ident(), message.sequence()), (0x1234, 1));
        assert_eq!(message.payload(), b"hi");
    }

    #[test]
    fn headers() {
        for (header, bytes) in [
            (IcmpHeader::echo_reply(1, 2), [0, 0, 0, 0, 0, 1, 0, 2]),
            (IcmpHeader::unreachable(code::ADMIN_PROHIBITED), [3, 13, 0, 0, 0, 0, 0, 0]),
            (IcmpHeader::fragmentation_needed(1480), [3, 4, 0, 0, 0, 0, 5, 200]),
            (IcmpHeader::time_exceeded(), [11, 0, 0, 0, 0, 0, 0, 0]),
            (IcmpHeader::redirect_host(0x0a00_00fe), [5, 1, 0, 0, 10, 0, 0, 254]),
        ] {
            assert_eq!(header.to_bytes(), bytes);
            assert_eq!(Icmp::new(bytes).unwrap().header(), header);
        }
        assert_eq!(
            Icmp::new(IcmpHeader::fragmentation_needed(1480).to_bytes()).unwrap().mtu(),
            1480
        );
    }

    #[test]
    fn quotes_are_cut_echoes_are_not() {
        let (data, mut out) = ([7; 1400], [0; 1500]);
        assert_eq!(IcmpHeader::time_exceeded().write(&data, &mut out), Some(556));
        assert!(checksum::is_ok(&out[..556]));
        assert_eq!(IcmpHeader::echo_reply(1, 1).write(&data, &mut out), Some(1408));
        assert_eq!(IcmpHeader::time_exceeded().write(&data, &mut out[..555]), None);
    }

    #[test]
    fn errors_and_queries_are_different() {
        for kind in 0..=u8::MAX {
            assert!(!(is_error(kind) && is_query(kind)), "{kind}");
        }
        assert!(is_error(kind::UNREACHABLE) && is_query(kind::ECHO_REPLY));
        assert!(!is_query(42) && !is_error(42));
    }
}
