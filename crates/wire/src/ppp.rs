//! PPP's control packets (RFC 1661): LCP, IPCP, PAP and CHAP are of one form.
//!
//! ```text
//! | protocol 2 | code 1 | identifier 1 | length 2 | data …                       a control packet
//! data of a Configure packet: | type 1 | length 1 | value … | type 1 | …        its options
//! ```
//!
//! Lengths that contradict the bytes make no packet; what stands behind the length is padding.

use crate::bytes::be16;

/// The protocols' numbers.
pub mod protocol {
    pub use crate::pppoe::PPP_IPV4 as IPV4;
    /// IPv6.
    pub const IPV6: u16 = 0x0057;
    /// The link itself.
    pub const LCP: u16 = 0xc021;
    /// A name and a password in the clear (RFC 1334).
    pub const PAP: u16 = 0xc023;
    /// A question that only who knows the password can answer (RFC 1994).
    pub const CHAP: u16 = 0xc223;
    /// IPv4's addresses (RFC 1332).
    pub const IPCP: u16 = 0x8021;
    /// IPv6's.
    pub const IPV6CP: u16 = 0x8057;
    /// Packets encrypted by MPPE (RFC 3078).
    pub const ENCRYPTED: u16 = 0x00fd;
    /// Compression (RFC 1962).
    pub const CCP: u16 = 0x80fd;
}

/// The codes of LCP; IPCP has the first seven of them.
pub mod code {
    /// These are my options.
    pub const CONFIGURE_REQUEST: u8 = 1;
    /// They are taken as they are.
    pub const CONFIGURE_ACK: u8 = 2;
    /// These should have other values.
    pub const CONFIGURE_NAK: u8 = 3;
    /// These are not known here.
    pub const CONFIGURE_REJECT: u8 = 4;
    /// It is to end.
    pub const TERMINATE_REQUEST: u8 = 5;
    /// It has.
    pub const TERMINATE_ACK: u8 = 6;
    /// That code is not known here.
    pub const CODE_REJECT: u8 = 7;
    /// That protocol is not.
    pub const PROTOCOL_REJECT: u8 = 8;
    /// Are you there?
    pub const ECHO_REQUEST: u8 = 9;
    /// I am.
    pub const ECHO_REPLY: u8 = 10;
    /// Nothing.
    pub const DISCARD_REQUEST: u8 = 11;
}

/// A control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control<'a> {
    /// What it is, of its protocol.
    pub code: u8,
    /// What an answer belongs to.
    pub id: u8,
    /// The rest.
    pub data: &'a [u8],
}

impl<'a> Control<'a> {
    /// Reads what is behind the protocol; `None` if it is cut off.
    ///
    /// ```
    /// use wire::ppp::{Control, protocol};
    /// let bytes = Control { code: 9, id: 3, data: &[1, 2] }.write(protocol::LCP);
    /// assert_eq!(bytes, [0xc0, 0x21, 9, 3, 0, 6, 1, 2]);
    /// assert_eq!(Control::read(&bytes[2..]).unwrap().data, [1, 2]);
    /// ```
    pub fn read(bytes: &'a [u8]) -> Option<Control<'a>> {
        let &[code, id, ..] = bytes.first_chunk::<4>()?;
        let data = bytes.get(4..usize::from(be16(bytes, 2)))?;
        Some(Control { code, id, data })
    }

    /// Its bytes behind the protocol's.
    pub fn write(&self, protocol: u16) -> Vec<u8> {
        let mut bytes = protocol.to_be_bytes().to_vec();
        bytes.extend([self.code, self.id]);
        bytes.extend((4 + self.data.len() as u16).to_be_bytes());
        bytes.extend(self.data);
        bytes
    }

    /// The options in its data, each a type and a value; `None` if they contradict themselves.
    pub fn options(&self) -> Option<Vec<(u8, &'a [u8])>> {
        let (mut rest, mut options) = (self.data, Vec::new());
        while let &[kind, len, ..] = rest {
            let (option, behind) = rest.split_at_checked(usize::from(len))?;
            options.push((kind, option.get(2..)?));
            rest = behind;
        }
        rest.is_empty().then_some(options)
    }
}

/// Options, one after the other.
pub fn options<'a>(options: impl IntoIterator<Item = &'a (u8, Vec<u8>)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, value) in options {
        bytes.extend([*kind, 2 + value.len() as u8]);
        bytes.extend(value);
    }
    bytes
}

/// CHAP's answer to a challenge with MD5 (RFC 1994 §4.1).
pub fn chap_md5(id: u8, password: &[u8], challenge: &[u8]) -> [u8; 16] {
    crate::md5::digest(&[&[id], password, challenge].concat())
}

/// A value behind its length, and the name behind that, as in CHAP; `None` if it is cut off.
pub fn value_and_name(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = data.split_first()?;
    rest.split_at_checked(len.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_contradict_themselves() {
        for (data, read) in [
            (&[][..], Some(0)),
            (&[1, 4, 5, 212], Some(1)),
            (&[1, 4, 5, 212, 7, 2], Some(2)),
            (&[1, 5, 5, 212], None), // beyond the end
            (&[1, 1, 5, 212], None), // shorter than its own header
            (&[1, 0], None),
            (&[1, 4, 5, 212, 7], None),
        ] {
            let control = Control { code: 1, id: 1, data };
            assert_eq!(control.options().map(|options| options.len()), read, "{data:?}");
        }
        for bytes in [&[1, 1, 0][..], &[1, 1, 0, 3], &[1, 1, 0, 5]] {
            assert_eq!(Control::read(bytes), None, "{bytes:?}");
        }
        assert_eq!(Control::read(&[1, 1, 0, 4, 9, 9]).unwrap().data, [0; 0], "padding");
        assert_eq!(value_and_name(&[2, 1, 2, b'n']), Some((&[1, 2][..], &b"n"[..])));
        assert_eq!(value_and_name(&[3, 1, 2]), None);
    }
}
