//! IKEv2's messages (RFC 7296): the header, and the payloads one behind the other.
//!
//! ```text
//!  SPI 8 │ SPI 8 │ next │ 2.0 │ exchange │ flags │ number 4 │ length 4      28 bytes
//!  next │ critical │ length 2 │ body                                        a payload
//!  SK: IV │ payloads, padding, its length │ ICV                             the last, encrypted
//! ```
//!
//! A payload's own number stands in the one in front of it. Nothing is encrypted or decrypted here:
//! [`Message::enclose`] makes room for it.

use crate::bytes::{be16, be32};

/// The UDP port.
pub const PORT: u16 = 500;
/// The port behind NAT (RFC 3948), where four zeros stand in front of a message.
pub const NAT_PORT: u16 = 4500;
/// The length of the header, bytes.
pub const HEADER: usize = 28;
const VERSION: u8 = 0x20;
/// The length of a payload's own header.
pub const PAYLOAD_HEADER: usize = 4;

/// Exchanges.
pub mod exchange {
    #![allow(missing_docs)] // the RFC's words
    pub const SA_INIT: u8 = 34;
    pub const AUTH: u8 = 35;
    pub const CREATE_CHILD_SA: u8 = 36;
    pub const INFORMATIONAL: u8 = 37;
}

/// Payloads.
pub mod payload {
    #![allow(missing_docs)] // the RFC's words
    pub const SA: u8 = 33;
    pub const KE: u8 = 34;
    pub const ID_I: u8 = 35;
    pub const ID_R: u8 = 36;
    pub const AUTH: u8 = 39;
    pub const NONCE: u8 = 40;
    pub const NOTIFY: u8 = 41;
    pub const DELETE: u8 = 42;
    pub const TS_I: u8 = 44;
    pub const TS_R: u8 = 45;
    pub const SK: u8 = 46;
    /// Those of version 2: what is critical and none of them is refused.
    pub const KNOWN: std::ops::RangeInclusive<u8> = 33..=48;
}

/// What notifications say.
pub mod notify {
    #![allow(missing_docs)] // the RFC's words
    pub const UNSUPPORTED_CRITICAL_PAYLOAD: u16 = 1;
    pub const NO_PROPOSAL_CHOSEN: u16 = 14;
    pub const INVALID_KE_PAYLOAD: u16 = 17;
    pub const AUTHENTICATION_FAILED: u16 = 24;
    pub const TS_UNACCEPTABLE: u16 = 38;
    pub const TEMPORARY_FAILURE: u16 = 43;
    pub const CHILD_SA_NOT_FOUND: u16 = 44;
    /// From here on they are no errors.
    pub const STATUS: u16 = 16384;
    pub const INITIAL_CONTACT: u16 = 16384;
    pub const NAT_DETECTION_SOURCE_IP: u16 = 16388;
    pub const NAT_DETECTION_DESTINATION_IP: u16 = 16389;
    pub const COOKIE: u16 = 16390;
    pub const USE_TRANSPORT_MODE: u16 = 16391;
    pub const REKEY_SA: u16 = 16393;
}

/// What proposals are for.
pub mod protocol {
    #![allow(missing_docs)] // the RFC's words
    pub const IKE: u8 = 1;
    pub const ESP: u8 = 3;
}

/// Kinds of transforms.
pub mod transform {
    #![allow(missing_docs)] // the RFC's words
    pub const ENCRYPTION: u8 = 1;
    pub const PRF: u8 = 2;
    pub const INTEGRITY: u8 = 3;
    pub const GROUP: u8 = 4;
    pub const EXTENDED_SEQUENCE: u8 = 5;
}

/// The first 28 bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The initiator's SPI, and the responder's.
    pub spis: [u64; 2],
    /// The first payload's number.
    pub next: u8,
    /// Which exchange it is of.
    pub exchange: u8,
    /// Whether it is of who began the IKE SA.
    pub from_initiator: bool,
    /// Whether it answers.
    pub is_response: bool,
    /// Its number.
    pub id: u32,
}

const INITIATOR: u8 = 0x08;
const RESPONSE: u8 = 0x20;

impl Header {
    /// Reads it; `None` if it is cut off, of another version, or says another length.
    pub fn read(message: &[u8]) -> Option<Header> {
        let head = message.first_chunk::<HEADER>()?;
        let is_whole = be32(head, 24) as usize == message.len();
        let spi = |at: usize| u64::from(be32(head, at)) << 32 | u64::from(be32(head, at + 4));
        (is_whole && head[17] >> 4 == VERSION >> 4).then_some(Header {
            spis: [spi(0), spi(8)],
            next: head[16],
            exchange: head[18],
            from_initiator: head[19] & INITIATOR != 0,
            is_response: head[19] & RESPONSE != 0,
            id: be32(head, 20),
        })
    }
}

/// A payload, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Its number.
    pub kind: u8,
    /// Whoever does not know it has to refuse the message.
    pub is_critical: bool,
    /// What is in it.
    pub body: &'a [u8],
    /// Where `body` begins in what was read.
    pub at: usize,
}

/// The payloads of `bytes`, whose first has this number; of an encrypted one the body is what is encrypted. `None` if
/// they are cut off, or more than a hundred.
pub fn payloads(mut kind: u8, bytes: &[u8]) -> Option<Vec<Payload<'_>>> {
    const MOST: usize = 100;
    let (mut all, mut at) = (Vec::new(), 0);
    while kind != 0 {
        let head = bytes.get(at..at + PAYLOAD_HEADER)?;
        let len = usize::from(be16(head, 2));
        let body = bytes.get(at + PAYLOAD_HEADER..at + len)?;
        all.push(Payload { kind, is_critical: head[1] & 0x80 != 0, body, at: at + PAYLOAD_HEADER });
        if kind == payload::SK || all.len() == MOST {
            return (kind == payload::SK).then_some(all);
        }
        (kind, at) = (head[0], at + len);
    }
    Some(all)
}

/// One way to do what a proposal needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transform {
    /// For what.
    pub kind: u8,
    /// Which one.
    pub id: u16,
    /// The length of its key in bits, where that is not fixed.
    pub key_bits: u16,
}

/// What one end would do, or has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its place in the list, from 1.
    pub number: u8,
    /// IKE or ESP.
    pub protocol: u8,
    /// The SPI of who says it: none of a first IKE SA, 8 bytes of a later one, 4 of ESP.
    pub spi: Vec<u8>,
    /// All there are to choose from.
    pub transforms: Vec<Transform>,
}

const KEY_LENGTH: u16 = 0x800e;

impl Proposal {
    /// Reads the body of an SA payload; `None` if it is cut off.
    pub fn read_all(mut body: &[u8]) -> Option<Vec<Proposal>> {
        let mut all = Vec::new();
        while !body.is_empty() {
            let head = body.first_chunk::<8>()?;
            let len = usize::from(be16(head, 2));
            let whole = body.get(8..len)?;
            let spi = whole.get(..usize::from(head[6]))?;
            let transforms = transforms(&whole[spi.len()..], head[7])?;
            let (number, protocol) = (head[4], head[5]);
            all.push(Proposal { number, protocol, spi: spi.to_vec(), transforms });
            body = &body[len..];
        }
        Some(all)
    }

    fn write(&self, is_last: bool, to: &mut Vec<u8>) {
        let at = to.len();
        to.extend([if is_last { 0 } else { 2 }, 0, 0, 0]);
        let counts = [self.spi.len() as u8, self.transforms.len() as u8];
        to.extend([self.number, self.protocol, counts[0], counts[1]]);
        to.extend(&self.spi);
        for (n, one) in self.transforms.iter().enumerate() {
            let more = if n + 1 == self.transforms.len() { 0 } else { 3 };
            let len: u8 = if one.key_bits == 0 { 8 } else { 12 };
            to.extend([more, 0, 0, len, one.kind, 0]);
            to.extend(one.id.to_be_bytes());
            if one.key_bits != 0 {
                to.extend(KEY_LENGTH.to_be_bytes());
                to.extend(one.key_bits.to_be_bytes());
            }
        }
        let len = (to.len() - at) as u16;
        to[at + 2..at + 4].copy_from_slice(&len.to_be_bytes());
    }
}

fn transforms(mut bytes: &[u8], n: u8) -> Option<Vec<Transform>> {
    let mut all = Vec::new();
    for _ in 0..n {
        let head = bytes.first_chunk::<8>()?;
        let len = usize::from(be16(head, 2));
        let mut rest = bytes.get(8..len)?;
        let mut key_bits = 0;
        while let Some(attribute) = rest.first_chunk::<4>() {
            let (kind, value) = (be16(attribute, 0), be16(attribute, 2));
            if kind == KEY_LENGTH {
                key_bits = value;
            }
            // Those without the upper bit have a length instead of a value.
            rest = rest.get(4 + if kind & 0x8000 == 0 { usize::from(value) } else { 0 }..)?;
        }
        all.push(Transform { kind: head[4], id: be16(head, 6), key_bits });
        bytes = &bytes[len..];
    }
    Some(all)
}

/// Which packets an SA is for: a protocol, 0 for all, and what their addresses and ports are between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The IP protocol; 0 is any.
    pub protocol: u8,
    /// The least port and the greatest.
    pub ports: [u16; 2],
    /// The least address and the greatest.
    pub addresses: [u32; 2],
}

const IPV4_RANGE: u8 = 7;

impl Selector {
    /// Reads the body of a TS payload: those of IPv4, for there are others. `None` if it is cut off.
    pub fn read_all(body: &[u8]) -> Option<Vec<Selector>> {
        let (n, mut rest) = (*body.first()?, body.get(4..)?);
        let mut all = Vec::new();
        for _ in 0..n {
            let len = usize::from(be16(rest.get(..4)?, 2));
            let one = rest.get(..len).filter(|one| one.len() >= 8)?;
            if let (IPV4_RANGE, Some(one)) = (one[0], one.first_chunk::<16>()) {
                all.push(Selector {
                    protocol: one[1],
                    ports: [be16(one, 4), be16(one, 6)],
                    addresses: [be32(one, 8), be32(one, 12)],
                });
            }
            rest = &rest[len..];
        }
        Some(all)
    }

    /// What both of them are for, if there is anything.
    pub fn and(&self, other: &Selector) -> Option<Selector> {
        let protocol = match [self.protocol, other.protocol] {
            [one, 0] | [0, one] => one,
            [one, two] if one == two => one,
            _ => return None,
        };
        let [[p, q], [r, s]] = [self.ports, other.ports];
        let [[a, b], [c, d]] = [self.addresses, other.addresses];
        let both =
            Selector { protocol, ports: [p.max(r), q.min(s)], addresses: [a.max(c), b.min(d)] };
        let [ports, addresses] =
            [both.ports[0] <= both.ports[1], both.addresses[0] <= both.addresses[1]];
        (ports && addresses).then_some(both)
    }

    /// Whether it is for such a packet.
    pub fn admits(&self, protocol: u8, port: u16, address: u32) -> bool {
        (self.protocol == 0 || self.protocol == protocol)
            && (self.ports[0]..=self.ports[1]).contains(&port)
            && (self.addresses[0]..=self.addresses[1]).contains(&address)
    }
}

/// What a notification says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notify<'a> {
    /// Which one.
    pub kind: u16,
    /// Of which SA, if it is of one of ESP.
    pub spi: Option<u32>,
    /// What else.
    pub data: &'a [u8],
}

impl Notify<'_> {
    /// Reads a notification's body; `None` if it is cut off.
    pub fn read(body: &[u8]) -> Option<Notify<'_>> {
        let head = body.first_chunk::<4>()?;
        let spi = body.get(4..4 + usize::from(head[1]))?;
        let data = &body[4 + spi.len()..];
        let spi = spi.first_chunk::<4>().filter(|_| spi.len() == 4).map(|spi| be32(spi, 0));
        Some(Notify { kind: be16(head, 2), spi, data })
    }
}

/// The SPIs of a delete payload's body: of ESP, or none for the IKE SA itself. `None` if it is cut off.
pub fn deleted(body: &[u8]) -> Option<Vec<u32>> {
    let head = body.first_chunk::<4>()?;
    if head[0] == protocol::IKE {
        return Some(Vec::new());
    }
    let n = usize::from(be16(head, 2));
    let spis = body.get(4..4 + 4 * n).filter(|_| head[1] == 4 && n > 0)?;
    Some(spis.chunks_exact(4).map(|spi| be32(spi, 0)).collect())
}

/// A message that is being written.
#[derive(Clone, Debug)]
pub struct Message {
    bytes: Vec<u8>,
    /// Where the number of the next payload is to stand.
    next_at: usize,
}

impl Message {
    /// One without payloads, with this header, which is [`isakmp`](crate::isakmp)'s.
    pub(crate) fn of(header: &[u8; HEADER]) -> Message {
        Message { bytes: header.to_vec(), next_at: 16 }
    }

    /// One without payloads.
    pub fn new(header: Header) -> Message {
        let mut bytes = Vec::with_capacity(512);
        header.spis.iter().for_each(|spi| bytes.extend(spi.to_be_bytes()));
        let flags = [(header.from_initiator, INITIATOR), (header.is_response, RESPONSE)];
        let flags = flags.iter().filter(|(is, _)| *is).map(|(_, flag)| flag).sum();
        bytes.extend([0, VERSION, header.exchange, flags]);
        bytes.extend(header.id.to_be_bytes());
        bytes.extend([0; 4]);
        Message { bytes, next_at: 16 }
    }

    /// A payload behind those that are there.
    pub fn push(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.bytes.len();
        self.bytes[self.next_at] = kind;
        self.bytes.extend([0; PAYLOAD_HEADER]);
        write(&mut self.bytes);
        let len = (self.bytes.len() - at) as u16;
        self.bytes[at + 2..at + 4].copy_from_slice(&len.to_be_bytes());
        self.next_at = at;
    }

    /// Proposals.
    pub fn sa(&mut self, proposals: &[Proposal]) {
        self.push(payload::SA, |to| {
            for (n, one) in proposals.iter().enumerate() {
                one.write(n + 1 == proposals.len(), to);
            }
        });
    }

    /// A public value of this group.
    pub fn ke(&mut self, group: u16, value: &[u8]) {
        self.push(payload::KE, |to| {
            to.extend(group.to_be_bytes());
            to.extend([0, 0]);
            to.extend(value);
        });
    }

    /// A notification, of an SA of ESP or of none.
    pub fn notify(&mut self, kind: u16, spi: Option<u32>, data: &[u8]) {
        self.push(payload::NOTIFY, |to| {
            let (protocol, len) = if spi.is_some() { (protocol::ESP, 4) } else { (0, 0) };
            to.extend([protocol, len]);
            to.extend(kind.to_be_bytes());
            to.extend(spi.iter().flat_map(|spi| spi.to_be_bytes()));
            to.extend(data);
        });
    }

    /// That SAs of ESP are over, or, of none, the IKE SA.
    pub fn delete(&mut self, spis: &[u32]) {
        self.push(payload::DELETE, |to| {
            let (protocol, len) =
                if spis.is_empty() { (protocol::IKE, 0) } else { (protocol::ESP, 4) };
            to.extend([protocol, len]);
            to.extend((spis.len() as u16).to_be_bytes());
            to.extend(spis.iter().flat_map(|spi| spi.to_be_bytes()));
        });
    }

    /// Which packets an SA is for.
    pub fn selectors(&mut self, kind: u8, selectors: &[Selector]) {
        self.push(kind, |to| {
            to.extend([selectors.len() as u8, 0, 0, 0]);
            for one in selectors {
                to.extend([IPV4_RANGE, one.protocol, 0, 16]);
                to.extend(one.ports.iter().flat_map(|port| port.to_be_bytes()));
                to.extend(one.addresses.iter().flat_map(|address| address.to_be_bytes()));
            }
        });
    }

    /// Overwrites bytes from `at` on with what is made of all that stands there and behind.
    #[must_use]
    pub fn fill(mut self, at: usize, make: impl FnOnce(&[u8]) -> Vec<u8>) -> Message {
        let made = make(&self.bytes[at..]);
        self.bytes[at..at + made.len()].copy_from_slice(&made);
        self
    }

    /// The message as it goes out in the clear.
    pub fn finish(mut self) -> Vec<u8> {
        let len = self.bytes.len() as u32;
        self.bytes[24..28].copy_from_slice(&len.to_be_bytes());
        self.bytes
    }

    /// The message with its payloads in one that is to be encrypted: room for an IV of `iv` bytes in front of them, behind
    /// them padding to whole blocks, its length, and room for an ICV. Also says where the IV begins.
    pub fn enclose(self, iv: usize, block: usize, icv: usize) -> (Vec<u8>, usize) {
        let inner = &self.bytes[HEADER..];
        let padding = (block - (inner.len() + 1) % block) % block;
        let len = PAYLOAD_HEADER + iv + inner.len() + padding + 1 + icv;
        let mut bytes = self.bytes[..HEADER].to_vec();
        let first = std::mem::replace(&mut bytes[16], payload::SK);
        bytes.extend([first, 0]);
        bytes.extend((len as u16).to_be_bytes());
        let iv_at = bytes.len();
        bytes.resize(iv_at + iv, 0);
        bytes.extend(inner);
        bytes.resize(bytes.len() + padding, 0);
        bytes.push(padding as u8);
        bytes.resize(bytes.len() + icv, 0);
        let len = bytes.len() as u32;
        bytes[24..28].copy_from_slice(&len.to_be_bytes());
        (bytes, iv_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(next: u8) -> Header {
        Header {
            spis: [0x0102_0304_0506_0708, 9],
            next,
            exchange: exchange::SA_INIT,
            from_initiator: true,
            is_response: false,
            id: 7,
        }
    }

    /// What is written is read as it was meant.
    #[test]
    fn a_message_is_read_as_it_was_written() {
        let aes = Transform { kind: transform::ENCRYPTION, id: 12, key_bits: 256 };
        let group = Transform { kind: transform::GROUP, id: 31, key_bits: 0 };
        let proposal = |number| Proposal {
            number,
            protocol: protocol::ESP,
            spi: vec![1, 2, 3, 4],
            transforms: vec![aes, group],
        };
        let proposals = vec![proposal(1), proposal(2)];
        let selector = Selector { protocol: 17, ports: [0, 65535], addresses: [10, 20] };
        let mut message = Message::new(header(0));
        message.sa(&proposals);
        message.ke(31, &[5; 32]);
        message.notify(notify::REKEY_SA, Some(77), &[1]);
        message.selectors(payload::TS_I, &[selector]);
        message.delete(&[1, 2]);
        message.delete(&[]);
        let bytes = message.finish();
        assert_eq!(Header::read(&bytes), Some(header(payload::SA)));
        let all = payloads(payload::SA, &bytes[HEADER..]).unwrap();
        let kinds: Vec<u8> = all.iter().map(|payload| payload.kind).collect();
        assert_eq!(kinds, [33, 34, 41, 44, 42, 42]);
        assert_eq!(Proposal::read_all(all[0].body), Some(proposals));
        assert_eq!(all[1].body[..5], [0, 31, 0, 0, 5]);
        let said = Notify { kind: notify::REKEY_SA, spi: Some(77), data: &[1] };
        assert_eq!(Notify::read(all[2].body), Some(said));
        assert_eq!(Selector::read_all(all[3].body), Some(vec![selector]));
        assert_eq!((deleted(all[4].body), deleted(all[5].body)), (Some(vec![1, 2]), Some(vec![])));
        assert_eq!(&bytes[all[3].at + HEADER..][..4], [1, 0, 0, 0]);
        // Cut off anywhere it is none, and nothing panics.
        for len in 0..bytes.len() {
            assert_eq!(Header::read(&bytes[..len]), None);
            assert!(len < HEADER || payloads(payload::SA, &bytes[HEADER..len]).is_none());
        }
    }

    #[test]
    fn payloads_are_enclosed_in_whole_blocks() {
        for (n, block) in [(0, 16), (1, 16), (11, 16), (12, 16), (5, 1), (3, 4)] {
            let mut message = Message::new(header(0));
            message.push(payload::NONCE, |to| to.extend(vec![9; n]));
            let (bytes, iv_at) = message.enclose(8, block, 12);
            assert_eq!(Header::read(&bytes), Some(header(payload::SK)));
            let all = payloads(payload::SK, &bytes[HEADER..]).unwrap();
            assert_eq!(
                (all[0].at + HEADER, all[0].kind, bytes[HEADER]),
                (iv_at, 46, payload::NONCE)
            );
            let plain = &all[0].body[8..all[0].body.len() - 12];
            let padding = usize::from(plain[plain.len() - 1]);
            assert_eq!((plain.len() % block, plain.len() - 1 - padding), (0, n + 4));
        }
    }

    #[test]
    fn selectors_are_cut_to_what_both_say() {
        let one = Selector { protocol: 0, ports: [0, 65535], addresses: [10, 20] };
        let two = Selector { protocol: 6, ports: [80, 80], addresses: [15, 30] };
        let both = Selector { protocol: 6, ports: [80, 80], addresses: [15, 20] };
        assert_eq!((one.and(&two), two.and(&one)), (Some(both), Some(both)));
        assert_eq!(two.and(&Selector { protocol: 17, ..one }), None);
        assert_eq!(one.and(&Selector { addresses: [21, 30], ..one }), None);
        assert!(both.admits(6, 80, 15) && !both.admits(17, 80, 15) && !both.admits(6, 81, 15));
    }
}
