//! L2TP version 2 (RFC 2661): PPP in UDP, and how two hosts agree upon it.
//!
//! ```text
//! | flags, version 2 | length 2 if L | tunnel 2 | session 2 | Ns 2, Nr 2 if S | offset if O | …
//! control: T, L and S are set; behind it attributes (AVPs), the message's type first
//!          | M H, length 10 bits | vendor 2 | type 2 | value … |     H: the value is hidden
//! data:    PPP's protocol, often behind FF 03, and the packet
//! ```
//!
//! Views take any bytes; lengths that contradict them make no message.

use crate::bytes::be16;
use crate::md5;

/// UDP's port.
pub const PORT: u16 = 1701;
/// What stands before PPP's protocol in the packets that are sent: the header, and FF 03.
pub const DATA_LEN: usize = 8;

const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const VERSION: u16 = 2;
const MANDATORY: u16 = 0x8000;
const HIDDEN: u16 = 0x4000;

/// Types of messages (§3.2).
pub mod message {
    #![allow(missing_docs, reason = "the RFC's names")]
    pub const SCCRQ: u16 = 1;
    pub const SCCRP: u16 = 2;
    pub const SCCCN: u16 = 3;
    pub const STOP_CCN: u16 = 4;
    pub const HELLO: u16 = 6;
    pub const OCRQ: u16 = 7;
    pub const ICRQ: u16 = 10;
    pub const ICRP: u16 = 11;
    pub const ICCN: u16 = 12;
    pub const CDN: u16 = 14;
    pub const WEN: u16 = 15;
    pub const SLI: u16 = 16;
}

/// Types of attributes (§4.4).
pub mod avp {
    #![allow(missing_docs, reason = "the RFC's names")]
    pub const MESSAGE: u16 = 0;
    pub const RESULT: u16 = 1;
    pub const PROTOCOL_VERSION: u16 = 2;
    pub const FRAMING: u16 = 3;
    pub const BEARER: u16 = 4;
    pub const HOST_NAME: u16 = 7;
    pub const VENDOR: u16 = 8;
    pub const TUNNEL: u16 = 9;
    pub const WINDOW: u16 = 10;
    pub const CHALLENGE: u16 = 11;
    pub const RESPONSE: u16 = 13;
    pub const SESSION: u16 = 14;
    pub const SERIAL: u16 = 15;
    pub const FRAMING_TYPE: u16 = 19;
    pub const SPEED: u16 = 24;
    pub const RANDOM: u16 = 36;
    pub const SEQUENCING: u16 = 39;
    /// The highest of RFC 2661.
    pub const LAST: u16 = 39;
}

/// What stands before a message's attributes, or a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// A control message.
    pub control: bool,
    /// The receiver's number of the tunnel.
    pub tunnel: u16,
    /// The receiver's number of the session; 0 is the tunnel's own.
    pub session: u16,
    /// The message's number, and that of the next one that is expected.
    pub sequence: Option<(u16, u16)>,
}

/// Reads a header; gives what stands behind it. `None` if it is cut off, of another version, or a control
/// message without its fields.
///
/// ```
/// let data = wire::l2tp::data_header(7, 9);
/// let (header, rest) = wire::l2tp::read(&[&data[..], &[0, 0x21]].concat()).unwrap();
/// assert_eq!((header.tunnel, header.session, rest.len()), (7, 9, 4));
/// ```
pub fn read(bytes: &[u8]) -> Option<(Header, Vec<u8>)> {
    let (header, range) = locate(bytes)?;
    Some((header, bytes[range].to_vec()))
}

/// The same, of what is behind the header only where it is.
pub fn locate(bytes: &[u8]) -> Option<(Header, std::ops::Range<usize>)> {
    let flags = be16(bytes.get(..2)?, 0);
    let control = flags & CONTROL != 0;
    let field = |at: usize| bytes.get(at..at + 2).map(|field| be16(field, 0));
    let (mut at, mut end) = (2, bytes.len());
    if flags & LENGTH != 0 {
        end = usize::from(field(at)?);
        at += 2;
    }
    let (tunnel, session) = (field(at)?, field(at + 2)?);
    at += 4;
    let mut sequence = None;
    if flags & SEQUENCE != 0 {
        sequence = Some((field(at)?, field(at + 2)?));
        at += 4;
    }
    if flags & OFFSET != 0 {
        at += 2 + usize::from(field(at)?);
    }
    let whole = !control || flags & LENGTH != 0 && sequence.is_some() && flags & OFFSET == 0;
    let fits = at <= end && end <= bytes.len();
    (flags & 0xf == VERSION && whole && fits)
        .then_some((Header { control, tunnel, session, sequence }, at..end))
}

/// The header of a packet that is not numbered, with FF 03 behind it.
#[inline]
pub fn data_header(tunnel: u16, session: u16) -> [u8; DATA_LEN] {
    let ([a, b], [c, d]) = (tunnel.to_be_bytes(), session.to_be_bytes());
    [0, VERSION as u8, a, b, c, d, 0xff, 0x03]
}

/// A control message's attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its type.
    pub kind: u16,
    /// Attributes of no vendor, what was hidden being read.
    avps: Vec<(u16, Vec<u8>)>,
}

/// Why a message cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// Attributes that contradict themselves, or something hidden that cannot be read.
    Malformed,
    /// An attribute that must be understood, and is not.
    Unknown(u16),
}

impl Message {
    /// Reads what is behind a header; `secret` is what attributes are hidden with.
    ///
    /// # Errors
    /// [`Bad`].
    pub fn read(mut bytes: &[u8], secret: &[u8]) -> Result<Message, Bad> {
        let (mut avps, mut random) = (Vec::new(), None);
        while !bytes.is_empty() {
            let head = bytes.get(..6).ok_or(Bad::Malformed)?;
            let flags = be16(head, 0);
            let len = usize::from(flags & 0x3ff);
            let value = bytes.get(6..len).ok_or(Bad::Malformed)?;
            let (vendor, kind) = (be16(head, 2), be16(head, 4));
            bytes = &bytes[len..];
            if vendor != 0 || kind > avp::LAST {
                match flags & MANDATORY {
                    0 => continue,
                    _ => return Err(Bad::Unknown(kind)),
                }
            }
            let value = match flags & HIDDEN {
                0 => value.to_vec(),
                _ => {
                    let random: &Vec<u8> = random.as_ref().ok_or(Bad::Malformed)?;
                    uncover(kind, value, secret, random).ok_or(Bad::Malformed)?
                }
            };
            if kind == avp::RANDOM {
                random = Some(value.clone());
            }
            avps.push((kind, value));
        }
        let kind = match avps.first() {
            Some((avp::MESSAGE, value)) if value.len() == 2 => be16(value, 0),
            _ => return Err(Bad::Malformed),
        };
        Ok(Message { kind, avps })
    }

    /// An attribute's value.
    pub fn get(&self, kind: u16) -> Option<&[u8]> {
        self.avps.iter().find(|(other, _)| *other == kind).map(|(_, value)| &value[..])
    }

    /// An attribute of two bytes; of a longer one its first two.
    pub fn number(&self, kind: u16) -> Option<u16> {
        self.get(kind).filter(|value| value.len() >= 2).map(|value| be16(value, 0))
    }
}

/// The bytes of a control message: of a bare acknowledgement, if there are no attributes.
///
/// # Panics
/// If it is longer than 65,535 bytes, or an attribute than 1,017.
pub fn control(
    (tunnel, session): (u16, u16),
    (ns, nr): (u16, u16),
    avps: &[(u16, Vec<u8>)],
) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    for (kind, value) in avps {
        let len = u16::try_from(6 + value.len()).ok().filter(|len| *len < 0x400);
        bytes.extend((MANDATORY | len.expect("an attribute's length")).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(kind.to_be_bytes());
        bytes.extend(value);
    }
    let len = u16::try_from(bytes.len()).expect("a message's length");
    let fields = [CONTROL | LENGTH | SEQUENCE | VERSION, len, tunnel, session, ns, nr];
    for (to, field) in bytes.chunks_exact_mut(2).zip(fields) {
        to.copy_from_slice(&field.to_be_bytes());
    }
    bytes
}

/// The answer to a challenge, in a message of this type (§4.4.3).
pub fn response(kind: u16, secret: &[u8], challenge: &[u8]) -> [u8; 16] {
    md5::digest(&[&[kind as u8], secret, challenge].concat())
}

/// Reads a hidden value (§4.3).
fn uncover(kind: u16, value: &[u8], secret: &[u8], random: &[u8]) -> Option<Vec<u8>> {
    let mut pad = md5::digest(&[&kind.to_be_bytes(), secret, random].concat());
    let mut clear = Vec::with_capacity(value.len());
    for piece in value.chunks(16) {
        clear.extend(piece.iter().zip(pad).map(|(byte, pad)| byte ^ pad));
        pad = md5::digest(&[secret, piece].concat());
    }
    let len = usize::from(be16(clear.get(..2)?, 0));
    clear.get(2..2 + len).map(<[u8]>::to_vec)
}

/// Hides a value; `padding` bytes make its length a secret, too.
pub fn hide(kind: u16, value: &[u8], secret: &[u8], random: &[u8], padding: usize) -> Vec<u8> {
    let mut clear = (value.len() as u16).to_be_bytes().to_vec();
    clear.extend(value);
    clear.resize(clear.len() + padding, 0);
    let mut pad = md5::digest(&[&kind.to_be_bytes(), secret, random].concat());
    let mut hidden: Vec<u8> = Vec::with_capacity(clear.len());
    for piece in clear.chunks(16) {
        let from = hidden.len();
        hidden.extend(piece.iter().zip(pad).map(|(byte, pad)| byte ^ pad));
        pad = md5::digest(&[secret, &hidden[from..]].concat());
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let hello = control((7, 0), (3, 4), &[(avp::MESSAGE, vec![0, 6])]);
        let (header, rest) = read(&hello).unwrap();
        let wanted = Header { control: true, tunnel: 7, session: 0, sequence: Some((3, 4)) };
        assert_eq!((header, Message::read(&rest, b"").unwrap().kind), (wanted, message::HELLO));
        for cut in 0..hello.len() {
            assert_eq!(read(&hello[..cut]), None, "{cut}");
        }
        for (bytes, behind) in [
            (&[0, 2, 0, 1, 0, 2, 9][..], Some(1)),
            (&[0x40, 2, 0, 9, 0, 1, 0, 2, 9, 8, 7], Some(1)), // its length, and padding
            (&[0x40, 2, 0, 7, 0, 1, 0, 2, 9], None),          // shorter than its header
            (&[0x40, 2, 0, 99, 0, 1, 0, 2, 9], None),
            (&[0x08, 2, 0, 1, 0, 2, 0, 0, 0, 0, 9], Some(1)),
            (&[0x02, 2, 0, 1, 0, 2, 0, 1, 0xee, 9], Some(1)), // an offset
            (&[0x02, 2, 0, 1, 0, 2, 0, 99, 9], None),
            (&[0x02, 2, 0, 1, 0, 2, 0xff, 0xff], None),
            (&[0, 3, 0, 1, 0, 2, 9], None), // version 3
            (&[0x80, 2, 0, 1, 0, 2, 9], None),
        ] {
            assert_eq!(read(bytes).map(|(_, rest)| rest.len()), behind, "{bytes:02x?}");
        }
    }

    #[test]
    fn attributes() {
        let message = |avps: &[u8]| [&[0x80, 8, 0, 0, 0, 0, 0, 1][..], avps].concat();
        for (avps, read) in [
            (&[][..], Ok(())),
            (&[0x80, 8, 0, 0, 0, 9, 0, 5], Ok(())),
            (&[0, 6, 0, 9, 0, 1], Ok(())), // another vendor's
            (&[0x80, 6, 0, 9, 0, 1], Err(Bad::Unknown(1))), // which must be understood
            (&[0x80, 6, 0, 0, 0, 99], Err(Bad::Unknown(99))),
            (&[0x80, 5, 0, 0, 0, 9], Err(Bad::Malformed)), // shorter than its header
            (&[0x80, 0, 0, 0, 0, 9], Err(Bad::Malformed)),
            (&[0x80, 9, 0, 0, 0, 9], Err(Bad::Malformed)), // beyond the end
            (&[0x80, 6, 0, 0, 0], Err(Bad::Malformed)),
            (&[0xc0, 8, 0, 0, 0, 9, 0, 5], Err(Bad::Malformed)), // hidden without a vector
        ] {
            assert_eq!(Message::read(&message(avps), b"s").map(|_| ()), read, "{avps:02x?}");
        }
        assert_eq!(Message::read(&[], b""), Err(Bad::Malformed));
        assert_eq!(Message::read(&[0x80, 8, 0, 0, 0, 9, 0, 1], b""), Err(Bad::Malformed));
    }

    #[test]
    fn hidden_attributes() {
        for (len, padding) in [(2, 0), (2, 30), (40, 0), (100, 7)] {
            let value = vec![5; len];
            let hidden = hide(avp::HOST_NAME, &value, b"secret", b"random", padding);
            let mut bytes = vec![0x80, 8, 0, 0, 0, 0, 0, 1, 0x80, 12, 0, 0, 0, 36];
            bytes.extend(b"random");
            bytes.extend((0xc000 | (6 + hidden.len() as u16)).to_be_bytes());
            bytes.extend([0, 0, 0, 7]);
            bytes.extend(hidden);
            let read = Message::read(&bytes, b"secret").unwrap();
            assert_eq!(read.get(avp::HOST_NAME), Some(&value[..]));
            let other = Message::read(&bytes, b"another");
            assert_ne!(other.ok().and_then(|read| read.get(7).map(<[u8]>::to_vec)), Some(value));
        }
    }
}
