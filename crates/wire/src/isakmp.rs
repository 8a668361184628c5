//! IKEv1's messages (ISAKMP, RFC 2408; the IPsec DOI, RFC 2407): what differs from [`ike`](crate::ike)'s.
//!
//! ```text
//!  cookie 8 │ cookie 8 │ next │ 1.0 │ exchange │ flags │ number 4 │ length 4   28 bytes
//!  SA: DOI 4, situation 4 │ proposal ─► transforms ─► attributes               one transform is chosen
//!  flag 1: what is behind the header is encrypted, and padded with what nobody reads
//! ```
//!
//! Payloads are those of [`ike::payloads`](crate::ike::payloads), under other numbers.

use crate::bytes::{be16, be32};
use crate::ike::{HEADER, Message, PAYLOAD_HEADER, Payload, Selector};

/// The first byte of a version in the header, 17 bytes from its beginning.
pub const VERSION: u8 = 0x10;
const ENCRYPTED: u8 = 1;
/// IPsec's domain of interpretation, in which it says what numbers mean.
const DOI: [u8; 4] = [0, 0, 0, 1];

/// Exchanges.
pub mod exchange {
    #![allow(missing_docs)] // the RFC's words
    pub const MAIN: u8 = 2;
    pub const INFORMATIONAL: u8 = 5;
    pub const QUICK: u8 = 32;
}

/// Payloads.
pub mod payload {
    #![allow(missing_docs)] // the RFC's words
    pub const SA: u8 = 1;
    pub const KE: u8 = 4;
    pub const ID: u8 = 5;
    pub const HASH: u8 = 8;
    pub const NONCE: u8 = 10;
    pub const NOTIFY: u8 = 11;
    pub const DELETE: u8 = 12;
    pub const VENDOR: u8 = 13;
    pub const NAT_D: u8 = 20;
}

/// What notifications say.
pub mod notify {
    #![allow(missing_docs)] // the RFC's words
    pub const NO_PROPOSAL_CHOSEN: u16 = 14;
    pub const INVALID_ID_INFORMATION: u16 = 18;
    /// From here on they are no errors.
    pub const STATUS: u16 = 16384;
    pub const INITIAL_CONTACT: u16 = 24578;
    pub const R_U_THERE: u16 = 36136;
    pub const R_U_THERE_ACK: u16 = 36137;
}

/// Attributes of a transform by which IKE's own messages are encrypted (RFC 2409, appendix A).
pub mod phase1 {
    #![allow(missing_docs)] // the RFC's words
    pub const ENCRYPTION: u16 = 1;
    pub const HASH: u16 = 2;
    pub const METHOD: u16 = 3;
    pub const GROUP: u16 = 4;
    pub const LIFE_TYPE: u16 = 11;
    pub const LIFE: u16 = 12;
    pub const KEY_LENGTH: u16 = 14;
}

/// Attributes of one by which packets are (RFC 2407 §4.5).
pub mod phase2 {
    #![allow(missing_docs)] // the RFC's words
    pub const LIFE_TYPE: u16 = 1;
    pub const LIFE: u16 = 2;
    pub const GROUP: u16 = 3;
    pub const MODE: u16 = 4;
    pub const INTEGRITY: u16 = 5;
    pub const KEY_LENGTH: u16 = 6;
}

/// Who says this knows RFC 3947: NAT on the way.
pub const NAT_VENDOR: [u8; 16] = [
    0x4a, 0x13, 0x1c, 0x81, 0x07, 0x03, 0x58, 0x45, 0x5c, 0x57, 0x28, 0xf2, 0x0e, 0x95, 0x45, 0x2f,
];
/// Who says this knows RFC 3706: whether one lives.
pub const PROBE_VENDOR: [u8; 16] = [
    0xaf, 0xca, 0xd7, 0x13, 0x68, 0xa1, 0xf1, 0xc9, 0x6b, 0x86, 0x96, 0xfc, 0x77, 0x57, 0x01, 0x00,
];

/// The first 28 bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The initiator's cookie, and the responder's.
    pub cookies: [u64; 2],
    /// The first payload's number.
    pub next: u8,
    /// Which exchange it is of.
    pub exchange: u8,
    /// Whether what is behind it is encrypted.
    pub is_encrypted: bool,
    /// Which one of the exchanges of this kind; 0 of those by which keys for IKE's own messages are made.
    pub id: u32,
}

impl Header {
    /// Reads it; `None` if it is cut off, of another version, or says another length.
    pub fn read(message: &[u8]) -> Option<Header> {
        let head = message.first_chunk::<HEADER>()?;
        let is_whole = be32(head, 24) as usize == message.len();
        let cookie = |at: usize| u64::from(be32(head, at)) << 32 | u64::from(be32(head, at + 4));
        (is_whole && head[17] == VERSION).then_some(Header {
            cookies: [cookie(0), cookie(8)],
            next: head[16],
            exchange: head[18],
            is_encrypted: head[19] & ENCRYPTED != 0,
            id: be32(head, 20),
        })
    }

    /// A message without payloads.
    pub fn message(self) -> Message {
        let mut head = [0; HEADER];
        for (at, cookie) in [0, 8].into_iter().zip(self.cookies) {
            head[at..at + 8].copy_from_slice(&cookie.to_be_bytes());
        }
        head[17..19].copy_from_slice(&[VERSION, self.exchange]);
        head[19] = if self.is_encrypted { ENCRYPTED } else { 0 };
        head[20..24].copy_from_slice(&self.id.to_be_bytes());
        Message::of(&head)
    }
}

/// One way to encrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    /// Its place in the list, from 1.
    pub number: u8,
    /// Which one: of IKE's own messages always 1.
    pub id: u8,
    /// What it is like, by attribute.
    pub attributes: Vec<(u16, u32)>,
}

impl Transform {
    /// The value of an attribute.
    pub fn get(&self, attribute: u16) -> Option<u32> {
        self.attributes.iter().find(|(kind, _)| *kind == attribute).map(|(_, value)| *value)
    }
}

/// What one end would do, or has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its place in the list, from 1.
    pub number: u8,
    /// [`ike::protocol`](crate::ike::protocol)'s.
    pub protocol: u8,
    /// The SPI of who says it; none of IKE.
    pub spi: Vec<u8>,
    /// All there are to choose from.
    pub transforms: Vec<Transform>,
}

impl Proposal {
    /// Reads the body of an SA payload; `None` if it is cut off, or of another domain than IPsec's.
    pub fn read_all(body: &[u8]) -> Option<Vec<Proposal>> {
        let mut rest = body.strip_prefix(&DOI)?.get(4..)?;
        let mut all = Vec::new();
        while !rest.is_empty() {
            let head = rest.first_chunk::<8>()?;
            let whole = rest.get(8..usize::from(be16(head, 2)))?;
            let spi = whole.get(..usize::from(head[6]))?;
            let transforms = transforms(&whole[spi.len()..], head[7])?;
            let (number, protocol) = (head[4], head[5]);
            all.push(Proposal { number, protocol, spi: spi.to_vec(), transforms });
            rest = &rest[8 + whole.len()..];
        }
        Some(all)
    }

    /// The body of an SA payload.
    pub fn write_all(all: &[Proposal]) -> Vec<u8> {
        // For identity only (SIT_IDENTITY_ONLY).
        let mut to = [DOI, [0, 0, 0, 1]].concat();
        for (n, one) in all.iter().enumerate() {
            let at = to.len();
            to.extend([if n + 1 == all.len() { 0 } else { 2 }, 0, 0, 0]);
            to.extend([one.number, one.protocol, one.spi.len() as u8, one.transforms.len() as u8]);
            to.extend(&one.spi);
            for (n, transform) in one.transforms.iter().enumerate() {
                let begin = to.len();
                to.extend([if n + 1 == one.transforms.len() { 0 } else { 3 }, 0, 0, 0]);
                to.extend([transform.number, transform.id, 0, 0]);
                transform.attributes.iter().for_each(|one| write_attribute(*one, &mut to));
                end(begin, &mut to);
            }
            end(at, &mut to);
        }
        to
    }
}

/// Writes a payload's length where it begins.
fn end(begin: usize, to: &mut [u8]) {
    let len = (to.len() - begin) as u16;
    to[begin + 2..begin + 4].copy_from_slice(&len.to_be_bytes());
}

/// An attribute's bit that says that its value stands in it.
const SHORT: u16 = 0x8000;

fn write_attribute((kind, value): (u16, u32), to: &mut Vec<u8>) {
    match u16::try_from(value) {
        Ok(value) => {
            to.extend((kind | SHORT).to_be_bytes());
            to.extend(value.to_be_bytes());
        }
        Err(_) => {
            to.extend(kind.to_be_bytes());
            to.extend([0, 4]);
            to.extend(value.to_be_bytes());
        }
    }
}

fn transforms(mut bytes: &[u8], n: u8) -> Option<Vec<Transform>> {
    let mut all = Vec::new();
    for _ in 0..n {
        let head = bytes.first_chunk::<8>()?;
        let len = usize::from(be16(head, 2));
        let mut rest = bytes.get(8..len)?;
        let mut attributes = Vec::new();
        while let Some(attribute) = rest.first_chunk::<4>() {
            let (kind, short) = (be16(attribute, 0), be16(attribute, 2));
            let long = if kind & SHORT == 0 { usize::from(short) } else { 0 };
            let bytes = rest.get(4..4 + long)?;
            let value = match kind & SHORT {
                0 => {
                    bytes.iter().fold(0u32, |all, &byte| all.saturating_mul(256) + u32::from(byte))
                }
                _ => short.into(),
            };
            attributes.push((kind & !SHORT, value));
            rest = &rest[4 + long..];
        }
        all.push(Transform { number: head[4], id: head[5], attributes });
        bytes = &bytes[len..];
    }
    Some(all)
}

/// What a notification says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notify<'a> {
    /// Which one.
    pub kind: u16,
    /// What else.
    pub data: &'a [u8],
}

impl Notify<'_> {
    /// Reads a notification's body; `None` if it is cut off.
    pub fn read(body: &[u8]) -> Option<Notify<'_>> {
        let head = body.first_chunk::<8>()?;
        let data = body.get(8 + usize::from(head[5])..)?;
        Some(Notify { kind: be16(head, 6), data })
    }

    /// A notification's body, of the IKE SA of these cookies.
    pub fn write(&self, cookies: [u64; 2]) -> Vec<u8> {
        let mut to = DOI.to_vec();
        to.extend([crate::ike::protocol::IKE, 16]);
        to.extend(self.kind.to_be_bytes());
        to.extend(cookies.iter().flat_map(|cookie| cookie.to_be_bytes()));
        to.extend(self.data);
        to
    }
}

/// What is over: SAs of ESP, or the IKE SA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delete {
    /// Of packets to who says it.
    Esp(Vec<u32>),
    /// Of these cookies.
    Ike([u64; 2]),
}

impl Delete {
    /// Reads a delete payload's body; `None` if it is cut off, or of something else.
    pub fn read(body: &[u8]) -> Option<Delete> {
        let head = body.first_chunk::<8>()?;
        let n = usize::from(be16(head, 6));
        match (head[4], head[5]) {
            (crate::ike::protocol::ESP, 4) => {
                let spis = body.get(8..8 + 4 * n)?;
                Some(Delete::Esp(spis.chunks_exact(4).map(|spi| be32(spi, 0)).collect()))
            }
            (crate::ike::protocol::IKE, 16) if n == 1 => {
                let spi = body.get(8..24)?;
                let cookie = |at| u64::from(be32(spi, at)) << 32 | u64::from(be32(spi, at + 4));
                Some(Delete::Ike([cookie(0), cookie(8)]))
            }
            _ => None,
        }
    }

    /// A delete payload's body.
    pub fn write(&self) -> Vec<u8> {
        let (protocol, len, n) = match self {
            Delete::Esp(spis) => (crate::ike::protocol::ESP, 4, spis.len() as u16),
            Delete::Ike(_) => (crate::ike::protocol::IKE, 16, 1),
        };
        let mut to = DOI.to_vec();
        to.extend([protocol, len]);
        to.extend(n.to_be_bytes());
        match self {
            Delete::Esp(spis) => to.extend(spis.iter().flat_map(|spi| spi.to_be_bytes())),
            Delete::Ike(both) => to.extend(both.iter().flat_map(|cookie| cookie.to_be_bytes())),
        }
        to
    }
}

const ADDRESS: u8 = 1;
const SUBNET: u8 = 4;
const RANGE: u8 = 7;

/// Which packets an ID payload's body is for; `None` if it is cut off, or not of IPv4's addresses.
pub fn read_selector(body: &[u8]) -> Option<Selector> {
    let head = body.first_chunk::<8>()?;
    let (protocol, port, first) = (head[1], be16(head, 2), be32(head, 4));
    let second = || body.get(8..12).map(|bytes| be32(bytes, 0));
    let addresses = match head[0] {
        ADDRESS => [first; 2],
        SUBNET => [first & second()?, first | !second()?],
        RANGE => [first, second()?],
        _ => return None,
    };
    let ports = if port == 0 { [0, u16::MAX] } else { [port; 2] };
    (addresses[0] <= addresses[1]).then_some(Selector { protocol, ports, addresses })
}

/// The body of an ID payload for these packets: of one port, or all.
pub fn write_selector(selector: &Selector) -> Vec<u8> {
    let [first, last] = selector.addresses;
    let span = first ^ last;
    let is_subnet = span & span.wrapping_add(1) == 0 && first & span == 0;
    let (kind, second) = match (first == last, is_subnet) {
        (true, _) => (ADDRESS, None),
        (_, true) => (SUBNET, Some(!span)),
        _ => (RANGE, Some(last)),
    };
    let port = if selector.ports[0] == selector.ports[1] { selector.ports[0] } else { 0 };
    let mut to = vec![kind, selector.protocol];
    to.extend(port.to_be_bytes());
    to.extend(first.to_be_bytes());
    to.extend(second.iter().flat_map(|second| second.to_be_bytes()));
    to
}

/// Where the last of a message's payloads ends, in what they were read from.
pub fn end_of(all: &[Payload<'_>]) -> usize {
    all.last().map_or(0, |last| last.at + last.body.len())
}

/// Where a payload begins.
pub fn begin_of(payload: &Payload<'_>) -> usize {
    payload.at - PAYLOAD_HEADER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ike::{payloads, protocol};

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let header = Header {
            cookies: [7, 0x0102_0304_0506_0708],
            next: 0,
            exchange: exchange::MAIN,
            is_encrypted: true,
            id: 9,
        };
        let attributes = vec![(phase1::KEY_LENGTH, 256), (phase1::LIFE, 86_400)];
        let transform = |number| Transform { number, id: 1, attributes: attributes.clone() };
        let proposal = |number| Proposal {
            number,
            protocol: protocol::IKE,
            spi: vec![],
            transforms: vec![transform(1), transform(2)],
        };
        let proposals = vec![proposal(1), proposal(2)];
        let said = Notify { kind: notify::R_U_THERE, data: &[1, 2] };
        let over = [Delete::Esp(vec![5, 6]), Delete::Ike([1, 2])];
        let mut message = header.message();
        message.push(payload::SA, |to| to.extend(Proposal::write_all(&proposals)));
        message.push(payload::NOTIFY, |to| to.extend(said.write([1, 2])));
        over.iter().for_each(|over| message.push(payload::DELETE, |to| to.extend(over.write())));
        let bytes = message.finish();
        assert_eq!(Header::read(&bytes), Some(Header { next: payload::SA, ..header }));
        let all = payloads(payload::SA, &bytes[HEADER..]).unwrap();
        assert_eq!((all.len(), end_of(&all)), (4, bytes.len() - HEADER));
        assert_eq!(Proposal::read_all(all[0].body), Some(proposals));
        assert_eq!(Notify::read(all[1].body), Some(said));
        assert_eq!([Delete::read(all[2].body), Delete::read(all[3].body)], over.map(Some));
        for all in all {
            for len in 0..all.body.len() {
                let cut = &all.body[..len];
                // Nothing panics.
                _ = (Proposal::read_all(cut), Notify::read(cut), Delete::read(cut));
            }
        }
    }

    #[test]
    fn selectors_are_read_as_they_were_written() {
        for (addresses, kind) in [
            ([0x0a00_0001, 0x0a00_0001], ADDRESS),
            ([0x0a00_0000, 0x0a00_00ff], SUBNET),
            ([0, u32::MAX], SUBNET),
            ([0x0a00_0001, 0x0a00_0002], RANGE),
        ] {
            for ports in [[0, u16::MAX], [1701; 2]] {
                let one = Selector { protocol: 17, ports, addresses };
                let body = write_selector(&one);
                assert_eq!((body[0], read_selector(&body)), (kind, Some(one)));
                for len in 0..body.len() {
                    assert!(read_selector(&body[..len]).is_none_or(|cut| cut == one));
                }
            }
        }
    }
}
