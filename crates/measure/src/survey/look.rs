//! Wholeness of a captured frame, by what its own headers say: nobody here knows the plan.
//!
//! ```text
//! Ethernet, tags ─► MPLS ─► IPv4, IPv6 ─► GRE ─► … ─► UDP, TCP, ICMP, ICMPv6
//!                           │             └ goes on inside: IP, Ethernet
//!                           ├ a length that is not the frame's, a piece of a packet ─► WrongSize
//!                           └ a checksum, a header that is none ─────────────────────► Damaged
//! ```
//!
//! Of the same mind as [`receive`](crate::receive) as far as headers go. What a capture alone cannot
//! tell: that a frame whose headers agree with it was sent with another length, that a UDP checksum
//! of 0, which means none, was there once, that bytes changed which no checksum covers. A checksum
//! that a card has still to fill in (a capture on the sender) is a wrong one.
//!
//! Of frames that were not captured whole only headers are looked at, as far as they go, and lengths
//! against the length on the wire. Behind MPLS only an IP header that can be nothing else counts.
//! Missing: **what is inside UDP tunnels**, **IPv6 extension headers** and what is behind them.

use crate::frame::Look;
use wire::checksum::{self, Sum};
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_SVLAN, ETHERTYPE_VLAN, protocol};

const ETHERTYPE_MPLS: u16 = 0x8847;
/// GRE's transparent bridging.
const ETHERTYPE_ETHERNET: u16 = 0x6558;
const IPV4_INSIDE: u8 = 4;
const IPV6_INSIDE: u8 = 41;
const GRE: u8 = 47;
const ICMPV6: u8 = 58;

/// What the shortest frame has behind its Ethernet header and tags; a shorter packet is padded.
const SHORTEST: usize = 46;

/// A frame that is looked at.
struct Frame<'a> {
    /// As much of it as was captured.
    bytes: &'a [u8],
    /// Where it ended on the wire, or where what is inside of it ends.
    end: usize,
    /// Whether something behind the outermost packet may be padding.
    may_pad: bool,
}

/// What comes next.
enum Next {
    /// A header of this EtherType.
    Type(u16, usize),
    /// A header of this protocol, behind the IP header whose addresses are here.
    Protocol(u8, usize, std::ops::Range<usize>),
    /// Nothing that is known, or nothing more that was captured.
    End,
}

/// Looks at a frame that had so many bytes on the wire; `may_pad`: its sender puts nothing at its end,
/// so that a short one may be padded.
pub(super) fn look(bytes: &[u8], original_len: u32, may_pad: bool) -> Look {
    let end = original_len as usize;
    let mut frame = Frame { bytes: &bytes[..bytes.len().min(end)], end, may_pad };
    let mut next = frame.u16_at(12).map_or(Next::End, |ethertype| Next::Type(ethertype, 14));
    loop {
        let found = match next {
            Next::Type(ethertype, at) => frame.behind_type(ethertype, at),
            Next::Protocol(protocol, at, addresses) => {
                frame.behind_protocol(protocol, at, addresses)
            }
            Next::End => return Look::Intact,
        };
        match found {
            Ok(found) => next = found,
            Err(look) => return look,
        }
    }
}

impl Frame<'_> {
    fn u16_at(&self, at: usize) -> Option<u16> {
        let two = self.bytes.get(at..)?.first_chunk::<2>()?;
        Some(u16::from_be_bytes(*two))
    }

    fn behind_type(&mut self, ethertype: u16, at: usize) -> Result<Next, Look> {
        match ethertype {
            ETHERTYPE_VLAN | ETHERTYPE_SVLAN => {
                let inner = self.u16_at(at + 2);
                Ok(inner.map_or(Next::End, |inner| Next::Type(inner, at + 4)))
            }
            ETHERTYPE_MPLS => Ok(self.behind_mpls(at)),
            ETHERTYPE_IPV4 => self.behind_ipv4(at),
            ETHERTYPE_IPV6 => self.behind_ipv6(at),
            ETHERTYPE_ETHERNET => {
                let inner = self.u16_at(at + 12);
                Ok(inner.map_or(Next::End, |inner| Next::Type(inner, at + 14)))
            }
            _ => Ok(Next::End),
        }
    }

    /// Labels do not say what is behind them (RFC 4928): a MAC address may begin as an IP header does.
    fn behind_mpls(&self, mut at: usize) -> Next {
        while self.bytes.get(at + 2).is_some_and(|byte| byte & 1 == 0) {
            at += 4;
        }
        at += 4;
        let rest = self.bytes.get(at..).unwrap_or_default();
        let is_ipv4 =
            rest.first_chunk().is_some_and(|ip| ip[0] == 0x45 && checksum::ipv4_header_ok(ip));
        let is_ipv6 = rest.len() >= 40
            && rest[0] >> 4 == 6
            && self.u16_at(at + 4).map(usize::from) == self.end.checked_sub(at + 40);
        match (is_ipv4, is_ipv6) {
            (true, _) => Next::Type(ETHERTYPE_IPV4, at),
            (_, true) => Next::Type(ETHERTYPE_IPV6, at),
            _ => Next::End,
        }
    }

    /// The end that the header here says: it has to be the frame's, but for padding.
    fn ends_at(&mut self, at: usize, end: usize) -> Result<(), Look> {
        let is_padded = self.may_pad && end < self.end && self.end - at <= SHORTEST;
        if end != self.end && !is_padded {
            return Err(Look::WrongSize);
        }
        (self.end, self.may_pad) = (end, false);
        Ok(())
    }

    fn behind_ipv4(&mut self, at: usize) -> Result<Next, Look> {
        let Some(ip) = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<20>).copied() else {
            return self.cut();
        };
        let header = usize::from(ip[0] & 0xf) * 4;
        if ip[0] >> 4 != 4 || header < 20 {
            return Err(Look::Damaged);
        }
        match self.bytes.get(at..at + header) {
            None => return self.cut(),
            Some(header) if !checksum::is_ok(header) => return Err(Look::Damaged),
            Some(_) => {}
        }
        self.ends_at(at, at + usize::from(u16::from_be_bytes([ip[2], ip[3]])))?;
        // More of it is to come, or came before.
        let is_piece = u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0;
        if is_piece || at + header > self.end {
            return Err(Look::WrongSize);
        }
        Ok(Next::Protocol(ip[9], at + header, at + 12..at + 20))
    }

    fn behind_ipv6(&mut self, at: usize) -> Result<Next, Look> {
        let Some(ip) = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<40>).copied() else {
            return self.cut();
        };
        if ip[0] >> 4 != 6 {
            return Err(Look::Damaged);
        }
        self.ends_at(at, at + 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])))?;
        Ok(Next::Protocol(ip[6], at + 40, at + 8..at + 40))
    }

    fn behind_protocol(
        &mut self,
        protocol: u8,
        at: usize,
        addresses: std::ops::Range<usize>,
    ) -> Result<Next, Look> {
        let is_ipv6 = addresses.len() == 32;
        match (protocol, is_ipv6) {
            (IPV4_INSIDE, _) => Ok(Next::Type(ETHERTYPE_IPV4, at)),
            (IPV6_INSIDE, _) => Ok(Next::Type(ETHERTYPE_IPV6, at)),
            (GRE, _) => Ok(self.behind_gre(at)),
            (protocol::UDP, _) => self.udp(at, addresses),
            (protocol::TCP, _) | (ICMPV6, true) => self.covered(at, Some((protocol, addresses))),
            (protocol::ICMP, false) => self.covered(at, None),
            _ => Ok(Next::End),
        }
    }

    /// Checksum, key and number are in the header if bits say so (RFC 2890).
    fn behind_gre(&self, at: usize) -> Next {
        let (Some(flags), Some(ethertype)) = (self.u16_at(at), self.u16_at(at + 2)) else {
            return Next::End;
        };
        // Version 0 without RFC 1701's routing.
        if flags & 0x4007 != 0 {
            return Next::End;
        }
        let there = [0x8000, 0x2000, 0x1000].iter().filter(|bit| flags & **bit != 0).count();
        Next::Type(ethertype, at + 4 + 4 * there)
    }

    fn udp(&self, at: usize, addresses: std::ops::Range<usize>) -> Result<Next, Look> {
        let (Some(length), Some(sum)) = (self.u16_at(at + 4), self.u16_at(at + 6)) else {
            return self.cut();
        };
        if at + usize::from(length) != self.end {
            return Err(Look::WrongSize);
        }
        if sum == 0 { Ok(Next::End) } else { self.covered(at, Some((protocol::UDP, addresses))) }
    }

    /// A checksum of all from here on, if all was captured; and of a pseudo-header.
    fn covered(
        &self,
        at: usize,
        pseudo: Option<(u8, std::ops::Range<usize>)>,
    ) -> Result<Next, Look> {
        let Some(bytes) = self.bytes.get(at..self.end) else { return self.cut() };
        let sum = pseudo.map_or(Sum::default(), |(protocol, addresses)| {
            let addresses = Sum::default().bytes(&self.bytes[addresses]);
            addresses.u16(u16::from(protocol)).u32(bytes.len() as u32)
        });
        if sum.bytes(bytes).is_ok() { Ok(Next::End) } else { Err(Look::Damaged) }
    }

    /// The frame goes on and the capture does not; or the frame ends inside of a header.
    fn cut(&self) -> Result<Next, Look> {
        if self.bytes.len() < self.end { Ok(Next::End) } else { Err(Look::Damaged) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{Hosts, Stack};
    use wire::{FrameLen, MacAddr, Moment};

    const HOSTS: Hosts = Hosts {
        src_mac: MacAddr([6, 0, 0, 0, 0, 1]),
        dst_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        src: 0xc612_0102,
        dst: 0xc613_0102,
        src6: 0x2001_0002_0000_0001_0000_0000_0000_0002,
        dst6: 0x2001_0002_0000_0002_0000_0000_0000_0002,
    };

    fn frame(stack: &str) -> Vec<u8> {
        let plan = Stack::parse(stack).unwrap().plan(&HOSTS, FrameLen::with_fcs(150).into(), true);
        let mut stream = plan.build(7, 0, 1).unwrap();
        let mut bytes = vec![0; stream.next_len()];
        stream.write(Moment::from_nanos(5), &mut bytes);
        bytes
    }

    /// Every header that streams can have: whole, cut off anywhere, and with each bit of a byte turned.
    #[test]
    fn whole_cut_and_damaged() {
        for (stack, covered_from) in [
            ("eth/ipv4/udp", 34),
            ("eth/svlan/vlan/ipv4/tcp", 42),
            ("eth/ipv4/icmp", 34),
            ("eth/ipv6/udp", 54),
            ("eth/ipv6/tcp", 54),
            ("eth/vlan/ipv6/icmpv6", 58),
            ("eth/mpls/mpls/ipv4/udp", 42),
            ("eth/mpls/ipv6/tcp", 58),
            ("eth/ipv4/ipv6/icmpv6", 74),
            ("eth/ipv6/ipv4/tcp", 74),
            ("eth/ipv4/gre/ipv4/udp", 58),
            ("eth/ipv4/gre/eth/ipv4/udp", 72),
            ("eth/ipv4/raw(11)", 150),
            ("eth/mpls/cw/eth/ipv4/udp", 150),
            ("eth/arp", 150),
        ] {
            let whole = frame(stack);
            let len = whole.len() as u32;
            assert_eq!(look(&whole, len, false), Look::Intact, "{stack}");
            for cut in 0..whole.len() {
                assert_eq!(look(&whole[..cut], len, false), Look::Intact, "{stack} cut at {cut}");
            }
            for at in covered_from..whole.len() {
                let mut damaged = whole.clone();
                damaged[at] ^= 0x10;
                let seen = look(&damaged, len, false);
                assert!(seen != Look::Intact, "{stack}: byte {at}");
            }
        }
    }

    #[test]
    fn what_is_wrong() {
        let plain = frame("eth/ipv4/udp");
        let longer = |at: usize| {
            let mut longer = plain.clone();
            longer.splice(at..at, [0; 4]);
            longer
        };
        let changed = |at: usize, byte: u8, set_right: bool| {
            let mut changed = plain.clone();
            changed[at] = byte;
            if set_right {
                let sum = checksum::ipv4_header(&changed[14..34]);
                changed[24..26].copy_from_slice(&sum.to_be_bytes());
            }
            changed
        };
        let mut tagged = plain.clone();
        tagged.splice(12..12, [0x81, 0, 0, 7]);
        for (what, frame, expected) in [
            ("a tag more, that is said", tagged, Look::Intact),
            ("four bytes more inside", longer(60), Look::WrongSize),
            ("shorter", plain[..140].to_vec(), Look::WrongSize),
            ("a router's TTL", changed(22, 63, true), Look::Intact),
            ("a TTL that the checksum does not know", changed(22, 63, false), Look::Damaged),
            ("an IP length that its checksum knows", changed(17, 9, true), Look::WrongSize),
            ("an IP length that it does not know", changed(17, 9, false), Look::Damaged),
            ("a piece", changed(21, 9, true), Look::WrongSize),
            ("the first of several", changed(20, 0x20, true), Look::WrongSize),
            ("must not be in pieces", changed(20, 0x40, true), Look::Intact),
            ("a UDP length", changed(39, 9, false), Look::WrongSize),
            ("IPv5", changed(14, 0x55, false), Look::Damaged),
            ("a header of 16 bytes", changed(14, 0x44, false), Look::Damaged),
            ("nothing behind Ethernet", plain[..14].to_vec(), Look::Damaged),
            ("nothing", vec![], Look::Intact),
        ] {
            assert_eq!(look(&frame, frame.len() as u32, false), expected, "{what}");
        }
        // Short ones are padded, if nobody says that they are not; no others.
        let mut short = wire::craft::udp(1, 2, 3, 4).build();
        short.resize(60, 0);
        assert_eq!(look(&short, 60, true), Look::Intact);
        assert_eq!(look(&short, 60, false), Look::WrongSize);
        let tagged = [&short[..12], &[0x81, 0, 0, 7], &short[12..]].concat();
        assert_eq!(look(&tagged, 64, true), Look::Intact);
        short.push(0);
        assert_eq!(look(&short, 61, true), Look::WrongSize);
        // A cut one has its headers still, and its length on the wire.
        assert_eq!(look(&plain[..60], 146, false), Look::Intact);
        assert_eq!(look(&plain[..60], 150, false), Look::WrongSize);
        assert_eq!(look(&changed(22, 63, false)[..60], 146, false), Look::Damaged);
    }
}
