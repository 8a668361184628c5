//! PPPoE (RFC 2516): how two hosts of an Ethernet find each other, and PPP in its frames.
//!
//! ```text
//! 0x8863, discovery   | 0x11 | code | session id 2 | length 2 | tag … |      tag: type 2, length 2, value
//! 0x8864, session     | 0x11 | 0    | session id 2 | length 2 | PPP protocol 2 | packet …
//!
//! host ── PADI ──► everybody      concentrator ── PADO ──► host
//! host ── PADR ──► concentrator   concentrator ── PADS, session id ──► host      PADT ends it
//! ```
//!
//! The length counts what is behind it; what Ethernet has padded is beyond. Tags that do not fit
//! their packet make no packet.

use crate::bytes::be16;

/// EtherType of discovery.
pub const ETHERTYPE_DISCOVERY: u16 = 0x8863;
/// EtherType of sessions.
pub const ETHERTYPE_SESSION: u16 = 0x8864;
/// Length of the header.
pub const HEADER_LEN: usize = 6;
/// What a session's packet has more than its IP packet: the header, and PPP's protocol.
pub const OVERHEAD: usize = HEADER_LEN + 2;
/// PPP's protocol number of IPv4.
pub const PPP_IPV4: u16 = 0x0021;

/// Version 1, type 1.
const VERSION_TYPE: u8 = 0x11;

/// What a discovery packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// Who is a concentrator?
    Padi = 0x09,
    /// I am.
    Pado = 0x07,
    /// Make me a session.
    Padr = 0x19,
    /// This is it; or why there is none.
    Pads = 0x65,
    /// It is over.
    Padt = 0xa7,
}

/// The tags' types.
pub mod tag {
    /// No tag is behind it.
    pub const END: u16 = 0x0000;
    /// The service that is asked for, or offered; any if empty.
    pub const SERVICE_NAME: u16 = 0x0101;
    /// What the concentrator is called.
    pub const AC_NAME: u16 = 0x0102;
    /// Of the host, given back as it is.
    pub const HOST_UNIQ: u16 = 0x0103;
    /// Of the concentrator, given back as it is.
    pub const AC_COOKIE: u16 = 0x0104;
    /// Of a relay between them, given back as it is.
    pub const RELAY_SESSION: u16 = 0x0110;
    /// The service is not to be had.
    pub const SERVICE_NAME_ERROR: u16 = 0x0201;
    /// The concentrator has no room.
    pub const AC_SYSTEM_ERROR: u16 = 0x0202;
    /// Something else is wrong.
    pub const GENERIC_ERROR: u16 = 0x0203;
}

/// A discovery packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discovery<'a> {
    /// What it is.
    pub code: Code,
    /// The session; 0 before there is one.
    pub session: u16,
    tags: &'a [u8],
}

impl<'a> Discovery<'a> {
    /// Reads what is behind the Ethernet header; `None` if it is cut off, or no discovery packet.
    ///
    /// ```
    /// use wire::pppoe::{Code, Discovery, tag};
    /// let padi = Discovery::write(Code::Padi, 0, &[(tag::SERVICE_NAME, b"isp")]);
    /// let read = Discovery::read(&padi).unwrap();
    /// assert_eq!((read.code, read.tag(tag::SERVICE_NAME)), (Code::Padi, Some(&b"isp"[..])));
    /// ```
    pub fn read(bytes: &'a [u8]) -> Option<Discovery<'a>> {
        let &[version, code, ..] = bytes.first_chunk::<HEADER_LEN>()?;
        let code = [Code::Padi, Code::Pado, Code::Padr, Code::Pads, Code::Padt]
            .into_iter()
            .find(|known| *known as u8 == code)?;
        let tags = bytes.get(HEADER_LEN..)?.get(..usize::from(be16(bytes, 4)))?;
        let read = Discovery { code, session: be16(bytes, 2), tags };
        let all: usize = read.tags().map(|(_, value)| 4 + value.len()).sum();
        let ends = tags.len() == all || tags.get(all..all + 4).is_some_and(|end| end == [0; 4]);
        (version == VERSION_TYPE && ends).then_some(read)
    }

    /// Its tags, up to the first that does not fit.
    pub fn tags(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let mut rest = self.tags;
        std::iter::from_fn(move || {
            let (&[a, b, c, d], behind) = rest.split_first_chunk()?;
            let kind = u16::from_be_bytes([a, b]);
            let value = behind.get(..usize::from(u16::from_be_bytes([c, d])))?;
            rest = &behind[value.len()..];
            (kind != tag::END).then_some((kind, value))
        })
    }

    /// The first tag of this type.
    pub fn tag(&self, kind: u16) -> Option<&'a [u8]> {
        self.tags().find(|(other, _)| *other == kind).map(|(_, value)| value)
    }

    /// The bytes of one, to stand behind an Ethernet header.
    ///
    /// # Panics
    /// If the tags have more than 65,535 bytes.
    pub fn write(code: Code, session: u16, tags: &[(u16, &[u8])]) -> Vec<u8> {
        let len: usize = tags.iter().map(|(_, value)| 4 + value.len()).sum();
        let len = u16::try_from(len).expect("tags of a frame");
        let mut bytes = vec![VERSION_TYPE, code as u8];
        bytes.extend(session.to_be_bytes());
        bytes.extend(len.to_be_bytes());
        for (kind, value) in tags {
            bytes.extend(kind.to_be_bytes());
            bytes.extend((value.len() as u16).to_be_bytes());
            bytes.extend(*value);
        }
        bytes
    }
}

/// The session and the PPP packet, its protocol first, of what is behind a session's Ethernet header;
/// `None` if it is cut off or none.
#[inline]
pub fn session(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let &[version, code, a, b, c, d] = bytes.first_chunk::<HEADER_LEN>()?;
    let len = usize::from(u16::from_be_bytes([c, d]));
    let ppp = bytes[HEADER_LEN..].get(..len)?;
    (version == VERSION_TYPE && code == 0 && len >= 2).then_some((u16::from_be_bytes([a, b]), ppp))
}

/// The header of a session's packet whose PPP packet, protocol included, has `len` bytes.
#[inline]
pub fn header(session: u16, len: u16) -> [u8; HEADER_LEN] {
    let ([a, b], [c, d]) = (session.to_be_bytes(), len.to_be_bytes());
    [VERSION_TYPE, 0, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_discovery_packet() {
        let whole =
            Discovery::write(Code::Pado, 7, &[(tag::AC_NAME, b"ac"), (tag::AC_COOKIE, b"12")]);
        let change = |at: usize, to: u8| {
            let mut bytes = whole.clone();
            bytes[at] = to;
            bytes
        };
        for (bytes, is) in [
            (whole.clone(), true),
            ([whole.clone(), vec![0; 30]].concat(), true), // padded
            (whole[..whole.len() - 1].to_vec(), false),
            (whole[..5].to_vec(), false),
            (Vec::new(), false),
            (change(0, 0x21), false),
            (change(1, 0x08), false),
            (change(5, 255), false), // longer than there are bytes
            (change(5, 11), false),  // a tag cut off
            (change(9, 200), false), // a tag that is longer than the packet
        ] {
            assert_eq!(Discovery::read(&bytes).is_some(), is, "{bytes:02x?}");
        }
        let read = Discovery::read(&whole).unwrap();
        assert_eq!((read.session, read.tags().count()), (7, 2));
        assert_eq!(read.tag(tag::AC_COOKIE), Some(&b"12"[..]));
    }

    #[test]
    fn sessions() {
        let packet = [&header(0x1234, 3)[..], &[0x00, 0x21, 0x45]].concat();
        assert_eq!(session(&packet), Some((0x1234, &[0x00, 0x21, 0x45][..])));
        for cut in 0..packet.len() {
            assert_eq!(session(&packet[..cut]), None);
        }
        assert_eq!(session(&header(1, 0)), None, "no protocol");
    }
}
