//! RADIUS (RFC 2865, 2866, 5176): who may log in and what he gets, asked of another host.
//!
//! ```text
//! | code 1 | id 1 | length 2 | authenticator 16 | attribute: type 1, length 1, value | …
//! vendor's attribute: type 26, length, vendor 4, type 1, length 1, value
//! ```
//!
//! The authenticator of a request is drawn, or (accounting, disconnecting) a digest of it and the secret;
//! that of an answer is a digest of both. Passwords and keys are hidden with it.

use crate::bytes::be16;
use crate::md5;

/// Length of the header.
pub const HEADER_LEN: usize = 20;
const MOST: usize = 4096;

/// Codes.
pub mod code {
    #![allow(missing_docs, reason = "the RFCs' names")]
    pub const ACCESS_REQUEST: u8 = 1;
    pub const ACCESS_ACCEPT: u8 = 2;
    pub const ACCESS_REJECT: u8 = 3;
    pub const ACCOUNTING_REQUEST: u8 = 4;
    pub const ACCOUNTING_RESPONSE: u8 = 5;
    pub const DISCONNECT_REQUEST: u8 = 40;
    pub const DISCONNECT_ACK: u8 = 41;
    pub const DISCONNECT_NAK: u8 = 42;
}

/// Types of attributes.
pub mod attribute {
    #![allow(missing_docs, reason = "the RFCs' names")]
    pub const USER_NAME: u8 = 1;
    pub const USER_PASSWORD: u8 = 2;
    pub const CHAP_PASSWORD: u8 = 3;
    pub const NAS_IP_ADDRESS: u8 = 4;
    pub const NAS_PORT: u8 = 5;
    pub const SERVICE_TYPE: u8 = 6;
    pub const FRAMED_PROTOCOL: u8 = 7;
    pub const FRAMED_IP_ADDRESS: u8 = 8;
    pub const FILTER_ID: u8 = 11;
    pub const FRAMED_ROUTE: u8 = 22;
    pub const CLASS: u8 = 25;
    pub const VENDOR: u8 = 26;
    pub const SESSION_TIMEOUT: u8 = 27;
    pub const IDLE_TIMEOUT: u8 = 28;
    pub const CALLED_STATION_ID: u8 = 30;
    pub const CALLING_STATION_ID: u8 = 31;
    pub const NAS_IDENTIFIER: u8 = 32;
    pub const ACCT_STATUS_TYPE: u8 = 40;
    pub const ACCT_INPUT_OCTETS: u8 = 42;
    pub const ACCT_OUTPUT_OCTETS: u8 = 43;
    pub const ACCT_SESSION_ID: u8 = 44;
    pub const ACCT_AUTHENTIC: u8 = 45;
    pub const ACCT_SESSION_TIME: u8 = 46;
    pub const ACCT_INPUT_PACKETS: u8 = 47;
    pub const ACCT_OUTPUT_PACKETS: u8 = 48;
    pub const ACCT_TERMINATE_CAUSE: u8 = 49;
    pub const ACCT_INPUT_GIGAWORDS: u8 = 52;
    pub const ACCT_OUTPUT_GIGAWORDS: u8 = 53;
    pub const CHAP_CHALLENGE: u8 = 60;
    pub const NAS_PORT_TYPE: u8 = 61;
    pub const MESSAGE_AUTHENTICATOR: u8 = 80;
    pub const ACCT_INTERIM_INTERVAL: u8 = 85;
    pub const NAS_PORT_ID: u8 = 87;
    pub const FRAMED_POOL: u8 = 88;
    pub const ERROR_CAUSE: u8 = 101;
}

/// Microsoft's attributes (RFC 2548).
pub mod microsoft {
    #![allow(missing_docs, reason = "the RFC's names")]
    pub const VENDOR: u32 = 311;
    pub const CHAP_RESPONSE: u8 = 1;
    pub const CHAP_CHALLENGE: u8 = 11;
    pub const CHAP_MPPE_KEYS: u8 = 12;
    pub const MPPE_SEND_KEY: u8 = 16;
    pub const MPPE_RECV_KEY: u8 = 17;
    pub const CHAP2_RESPONSE: u8 = 25;
    pub const CHAP2_SUCCESS: u8 = 26;
    pub const PRIMARY_DNS: u8 = 28;
    pub const SECONDARY_DNS: u8 = 29;
}

/// MikroTik's attributes.
pub mod mikrotik {
    #![allow(missing_docs, reason = "the dictionary's names")]
    pub const VENDOR: u32 = 14988;
    pub const RECV_LIMIT: u8 = 1;
    pub const XMIT_LIMIT: u8 = 2;
    pub const RATE_LIMIT: u8 = 8;
    pub const ADDRESS_LIST: u8 = 19;
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What it is.
    pub code: u8,
    /// What an answer belongs to.
    pub id: u8,
    /// A drawn number, or a digest.
    pub authenticator: [u8; 16],
    /// Its attributes, each a type and a value.
    pub attributes: Vec<(u8, Vec<u8>)>,
}

impl Packet {
    /// Reads one; `None` if it is cut off or contradicts itself. What is behind its length is padding.
    ///
    /// ```
    /// use wire::radius::{Packet, attribute, code};
    /// let mut packet = Packet::new(code::ACCESS_REQUEST, 7, [9; 16]);
    /// packet.put(attribute::USER_NAME, b"bob");
    /// assert_eq!(Packet::read(&packet.write()), Some(packet));
    /// ```
    pub fn read(bytes: &[u8]) -> Option<Packet> {
        let &[code, id, ..] = bytes.first_chunk::<HEADER_LEN>()?;
        let bytes = bytes.get(..usize::from(be16(bytes, 2)))?;
        let authenticator = *bytes.get(4..)?.first_chunk()?;
        let (mut rest, mut attributes) = (bytes.get(HEADER_LEN..)?, Vec::new());
        while let &[kind, len, ..] = rest {
            let (attribute, behind) = rest.split_at_checked(len.into())?;
            attributes.push((kind, attribute.get(2..)?.to_vec()));
            rest = behind;
        }
        rest.is_empty().then_some(Packet { code, id, authenticator, attributes })
    }

    /// One without attributes.
    pub fn new(code: u8, id: u8, authenticator: [u8; 16]) -> Packet {
        Packet { code, id, authenticator, attributes: Vec::new() }
    }

    /// Adds an attribute; one that is too long is cut.
    pub fn put(&mut self, kind: u8, value: &[u8]) {
        self.attributes.push((kind, value[..value.len().min(253)].to_vec()));
    }

    /// Adds a number.
    pub fn put_number(&mut self, kind: u8, number: u32) {
        self.put(kind, &number.to_be_bytes());
    }

    /// Adds a vendor's attribute.
    pub fn put_vendor(&mut self, vendor: u32, kind: u8, value: &[u8]) {
        let value = &value[..value.len().min(247)];
        let head = [&vendor.to_be_bytes()[..], &[kind, 2 + value.len() as u8]].concat();
        self.put(attribute::VENDOR, &[&head, value].concat());
    }

    /// An attribute's value.
    pub fn get(&self, kind: u8) -> Option<&[u8]> {
        self.all(kind).next()
    }

    /// The values of all attributes of a type.
    pub fn all(&self, kind: u8) -> impl Iterator<Item = &[u8]> {
        self.attributes.iter().filter(move |(other, _)| *other == kind).map(|(_, value)| &value[..])
    }

    /// An attribute that is a number, or an address.
    pub fn number(&self, kind: u8) -> Option<u32> {
        self.get(kind)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// An attribute that is text.
    pub fn text(&self, kind: u8) -> Option<String> {
        self.get(kind).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// A vendor's attribute.
    pub fn vendor(&self, vendor: u32, kind: u8) -> Option<&[u8]> {
        self.all(attribute::VENDOR).find_map(|value| {
            let (head, mut rest) = value.split_first_chunk::<4>()?;
            while let &[other, len, ..] = rest {
                let (attribute, behind) = rest.split_at_checked(len.into())?;
                let value = attribute.get(2..)?;
                if u32::from_be_bytes(*head) == vendor && other == kind {
                    return Some(value);
                }
                rest = behind;
            }
            None
        })
    }

    /// Its bytes.
    ///
    /// # Panics
    /// If there are more than 4,096.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![self.code, self.id, 0, 0];
        bytes.extend(self.authenticator);
        for (kind, value) in &self.attributes {
            bytes.extend([*kind, 2 + value.len() as u8]);
            bytes.extend(value);
        }
        assert!(bytes.len() <= MOST, "a packet of {} bytes", bytes.len());
        let len = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&len);
        bytes
    }

    /// The bytes of a request that asks who may log in: with `Message-Authenticator` (RFC 3579 §3.2), so
    /// that nobody can change it on its way.
    pub fn write_signed(&self, secret: &[u8]) -> Vec<u8> {
        let mut packet = self.clone();
        packet.attributes.insert(0, (attribute::MESSAGE_AUTHENTICATOR, vec![0; 16]));
        let digest = md5::hmac(secret, &packet.write());
        packet.attributes[0].1 = digest.to_vec();
        packet.write()
    }

    /// The bytes of a request whose authenticator is a digest: accounting, disconnecting.
    pub fn write_request(&self, secret: &[u8]) -> Vec<u8> {
        self.write_answer([0; 16], secret)
    }

    /// The bytes of an answer to a request with this authenticator.
    pub fn write_answer(&self, request: [u8; 16], secret: &[u8]) -> Vec<u8> {
        let mut bytes = Packet { authenticator: request, ..self.clone() }.write();
        let digest = md5::digest(&[&bytes[..], secret].concat());
        bytes[4..HEADER_LEN].copy_from_slice(&digest);
        bytes
    }

    /// Whether it was made by who knows the secret, for a request with this authenticator (zeros, if it is
    /// a request itself).
    pub fn is_proved(&self, request: [u8; 16], secret: &[u8]) -> bool {
        self.write_answer(request, secret)[4..HEADER_LEN] == self.authenticator
    }
}

/// Hides a password in a request (RFC 2865 §5.2), or shows it.
pub fn hide_password(password: &[u8], secret: &[u8], authenticator: &[u8; 16]) -> Vec<u8> {
    let mut padded = password[..password.len().min(128)].to_vec();
    padded.resize(padded.len().max(1).next_multiple_of(16), 0);
    let (mut hidden, mut before) = (Vec::new(), authenticator.to_vec());
    for piece in padded.chunks(16) {
        let pad = md5::digest(&[secret, &before].concat());
        before = piece.iter().zip(pad).map(|(byte, pad)| byte ^ pad).collect();
        hidden.extend(&before);
    }
    hidden
}

/// Shows what was hidden: all of it, with what it was filled up with.
pub fn show(hidden: &[u8], secret: &[u8], before: &[u8]) -> Vec<u8> {
    let (mut shown, mut before) = (Vec::new(), before.to_vec());
    for piece in hidden.chunks(16) {
        let pad = md5::digest(&[secret, &before].concat());
        shown.extend(piece.iter().zip(pad).map(|(byte, pad)| byte ^ pad));
        before = piece.to_vec();
    }
    shown
}

/// A key of MPPE (RFC 2548 §2.4.2), hidden with a salt; `None` if it is none.
pub fn mppe_key(value: &[u8], secret: &[u8], authenticator: &[u8; 16]) -> Option<[u8; 16]> {
    let (salt, hidden) = value.split_at_checked(2)?;
    let shown = show(hidden, secret, &[&authenticator[..], salt].concat());
    let (&len, key) = shown.split_first()?;
    key.get(..len.into())?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2865 §7.1.
    #[test]
    fn the_rfcs_example() {
        let authenticator = [
            0x0f, 0x40, 0x3f, 0x94, 0x73, 0x97, 0x80, 0x57, 0xbd, 0x83, 0xd5, 0xcb, 0x98, 0xf4,
            0x22, 0x7a,
        ];
        let secret = b"xyzzy5461";
        let hidden = hide_password(b"arctangent", secret, &authenticator);
        assert_eq!(hidden[..4], [0x0d, 0xbe, 0x70, 0x8d]);
        assert_eq!(show(&hidden, secret, &authenticator)[..10], b"arctangent"[..]);
        let mut accept = Packet::new(code::ACCESS_ACCEPT, 0, [0; 16]);
        accept.put_number(attribute::SERVICE_TYPE, 1);
        accept.put_number(15, 0);
        accept.put_number(14, 0xc0a8_0103);
        let bytes = accept.write_answer(authenticator, secret);
        assert_eq!(bytes[4..8], [0x86, 0xfe, 0x22, 0x0e]);
        let read = Packet::read(&bytes).unwrap();
        assert!(read.is_proved(authenticator, secret));
        assert!(!read.is_proved(authenticator, b"other") && !read.is_proved([0; 16], secret));
        // RFC 2202, the second case.
        assert_eq!(
            md5::hmac(b"Jefe", b"what do ya want for nothing?")[..4],
            [0x75, 0x0c, 0x78, 0x3e]
        );
    }

    #[test]
    fn what_contradicts_itself() {
        let mut packet = Packet::new(1, 1, [0; 16]);
        packet.put(1, b"bob");
        packet.put_vendor(mikrotik::VENDOR, mikrotik::RATE_LIMIT, b"1M");
        let whole = packet.write();
        assert_eq!(packet.vendor(mikrotik::VENDOR, mikrotik::RATE_LIMIT), Some(&b"1M"[..]));
        assert_eq!(packet.vendor(9, mikrotik::RATE_LIMIT), None);
        for cut in 0..whole.len() {
            assert_eq!(Packet::read(&whole[..cut]), None, "{cut}");
        }
        for (at, to) in [(3, 255), (3, 19), (3, 21), (21, 0), (21, 1), (21, 4), (21, 255)] {
            let mut bytes = whole.clone();
            bytes[at] = to;
            assert_eq!(Packet::read(&bytes), None, "{at} {to}");
        }
        for value in [&[][..], &[0, 0, 58, 140], &[0, 0, 58, 140, 8], &[0, 0, 58, 140, 8, 0, 1]] {
            let mut packet = Packet::new(1, 1, [0; 16]);
            packet.put(attribute::VENDOR, value);
            assert_eq!(packet.vendor(mikrotik::VENDOR, 8), None, "{value:?}");
        }
    }
}
