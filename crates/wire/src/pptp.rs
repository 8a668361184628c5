//! PPTP (RFC 2637): what a control connection says, and the header of its calls' packets.
//!
//! ```text
//! control   | length 2 | type 1 | cookie 4 | message 2 | 0 2 | fields at fixed places …      by TCP
//! data      | 0x20, S | A, version 1 | 0x880b | length 2 | call 2 | sequence 4 if S
//!           | acknowledged 4 if A | PPP …                                             GRE's version 1
//! ```
//!
//! Views take any bytes; lengths that contradict them make no message. Names of hosts and vendors are not
//! read. Missing: **incoming calls**, which no server makes.

use crate::bytes::{be16, be32};

/// TCP's port.
pub const PORT: u16 = 1723;
/// The longest message there is: an incoming call's.
pub const LONGEST: usize = 220;
/// The result of what was done.
pub const OK: u8 = 1;

const COOKIE: u32 = 0x1a2b_3c4d;
const VERSION: u16 = 0x0100;
const PROTOCOL: u16 = 0x880b;
const KEY: u8 = 0x20;
const SEQUENCE: u8 = 0x10;
const ACKNOWLEDGEMENT: u8 = 0x80;

/// A message of a control connection (§2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// One end wants to have a connection.
    StartRequest,
    /// The other one, too, if that is [`OK`].
    StartReply {
        /// What became of it.
        result: u8,
    },
    /// The connection is over.
    StopRequest {
        /// Why.
        reason: u8,
    },
    /// That was heard.
    StopReply,
    /// Is anybody there?
    EchoRequest {
        /// A number that comes back.
        id: u32,
    },
    /// Yes.
    EchoReply {
        /// The question's number.
        id: u32,
    },
    /// The client wants to have a call.
    CallRequest {
        /// The sender's number of it.
        call: u16,
        /// What it is known by in logs.
        serial: u16,
        /// Packets that the sender takes without acknowledging them.
        window: u16,
    },
    /// It has one, if that is [`OK`].
    CallReply {
        /// The sender's number of it.
        call: u16,
        /// The receiver's.
        peer: u16,
        /// What became of it.
        result: u8,
        /// Packets that the sender takes without acknowledging them.
        window: u16,
    },
    /// The client's call is to end.
    CallClear {
        /// The sender's number of it.
        call: u16,
    },
    /// The server's has ended.
    CallGone {
        /// The sender's number of it.
        call: u16,
        /// Why.
        result: u8,
    },
    /// Errors of a serial line, which nobody has.
    WanError {
        /// The receiver's number of the call.
        peer: u16,
    },
    /// Which bytes are to be escaped, which GRE needs not.
    LinkInfo {
        /// The receiver's number of the call.
        peer: u16,
    },
}

/// Why bytes are no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad;

/// The length of the first message of a stream; `None` if more of it is to come.
///
/// # Errors
/// [`Bad`], if it cannot be one: the connection makes no sense any more (§1.4).
pub fn length(stream: &[u8]) -> Result<Option<usize>, Bad> {
    let Some(head) = stream.first_chunk::<8>() else { return Ok(None) };
    let len = usize::from(be16(head, 0));
    let is_one = (12..=LONGEST).contains(&len) && be16(head, 2) == 1 && be32(head, 4) == COOKIE;
    match is_one {
        true => Ok((stream.len() >= len).then_some(len)),
        false => Err(Bad),
    }
}

impl Message {
    /// Reads a whole message; `None` of one that is too short for its fields, or of another kind.
    ///
    /// ```
    /// use wire::pptp::{Message, length};
    /// let bytes = Message::EchoRequest { id: 7 }.write();
    /// assert_eq!(length(&bytes), Ok(Some(16)));
    /// assert_eq!(Message::read(&bytes), Some(Message::EchoRequest { id: 7 }));
    /// ```
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let len = length(bytes).ok()??;
        let bytes = &bytes[..len];
        let word = |at: usize| Some(be16(bytes.get(at..at + 2)?, 0));
        let long = |at: usize| Some(be32(bytes.get(at..at + 4)?, 0));
        let byte = |at: usize| bytes.get(at).copied();
        Some(match word(8)? {
            1 => Message::StartRequest,
            2 => Message::StartReply { result: byte(14)? },
            3 => Message::StopRequest { reason: byte(12)? },
            4 => Message::StopReply,
            5 => Message::EchoRequest { id: long(12)? },
            6 => Message::EchoReply { id: long(12)? },
            7 => Message::CallRequest { call: word(12)?, serial: word(14)?, window: word(32)? },
            8 => Message::CallReply {
                call: word(12)?,
                peer: word(14)?,
                result: byte(16)?,
                window: word(24)?,
            },
            12 => Message::CallClear { call: word(12)? },
            13 => Message::CallGone { call: word(12)?, result: byte(14)? },
            14 => Message::WanError { peer: word(12)? },
            15 => Message::LinkInfo { peer: word(12)? },
            _ => return None,
        })
    }

    /// The bytes of one, whose other fields are those of a router: any framing, any bearer, a link as fast
    /// as can be.
    pub fn write(self) -> Vec<u8> {
        let (kind, len) = match self {
            Message::StartRequest => (1, 156),
            Message::StartReply { .. } => (2, 156),
            Message::StopRequest { .. } => (3, 16),
            Message::StopReply => (4, 16),
            Message::EchoRequest { .. } => (5, 16),
            Message::EchoReply { .. } => (6, 20),
            Message::CallRequest { .. } => (7, 168),
            Message::CallReply { .. } => (8, 32),
            Message::CallClear { .. } => (12, 16),
            Message::CallGone { .. } => (13, 148),
            Message::WanError { .. } => (14, 40),
            Message::LinkInfo { .. } => (15, 24),
        };
        let mut bytes = vec![0; len];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &(len as u16).to_be_bytes());
        put(2, &[0, 1]);
        put(4, &COOKIE.to_be_bytes());
        put(8, &[0, kind]);
        match self {
            Message::StartRequest | Message::StartReply { .. } => {
                put(12, &VERSION.to_be_bytes());
                if let Message::StartReply { result } = self {
                    put(14, &[result]);
                }
                // Both framings, both bearers.
                put(16, &[0, 0, 0, 3, 0, 0, 0, 3]);
                put(28, NAME);
                put(92, NAME);
            }
            Message::StopRequest { reason } => put(12, &[reason]),
            Message::StopReply => put(12, &[OK]),
            Message::EchoRequest { id } => put(12, &id.to_be_bytes()),
            Message::EchoReply { id } => {
                put(12, &id.to_be_bytes());
                put(16, &[OK]);
            }
            Message::CallRequest { call, serial, window } => {
                put(12, &call.to_be_bytes());
                put(14, &serial.to_be_bytes());
                // From 300 bit/s on; any bearer, any framing.
                put(16, &300_u32.to_be_bytes());
                put(20, &SPEED.to_be_bytes());
                put(24, &[0, 0, 0, 3, 0, 0, 0, 3]);
                put(32, &window.to_be_bytes());
            }
            Message::CallReply { call, peer, result, window } => {
                put(12, &call.to_be_bytes());
                put(14, &peer.to_be_bytes());
                put(16, &[result]);
                put(20, &SPEED.to_be_bytes());
                put(24, &window.to_be_bytes());
            }
            Message::CallClear { call } => put(12, &call.to_be_bytes()),
            Message::CallGone { call, result } => {
                put(12, &call.to_be_bytes());
                put(14, &[result]);
            }
            Message::WanError { peer } => put(12, &peer.to_be_bytes()),
            Message::LinkInfo { peer } => {
                put(12, &peer.to_be_bytes());
                put(16, &[0xff; 8]);
            }
        }
        bytes
    }
}

/// What both ends are called.
const NAME: &[u8] = b"wirespeed";
/// Bits a second.
const SPEED: u32 = 1_000_000_000;

/// What stands before a call's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The receiver's number of the call.
    pub call: u16,
    /// The packet's number; none if it only acknowledges.
    pub sequence: Option<u32>,
    /// The last number that the sender has had.
    pub acknowledged: Option<u32>,
}

impl Header {
    /// How many bytes it has.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(self) -> usize {
        8 + 4 * usize::from(self.sequence.is_some()) + 4 * usize::from(self.acknowledged.is_some())
    }

    /// Writes it, in front of `carried` bytes.
    ///
    /// ```
    /// use wire::pptp::{Header, locate};
    /// let head = Header { call: 7, sequence: Some(1), acknowledged: None };
    /// let mut bytes = vec![0; head.len() + 2];
    /// head.write(2, &mut bytes);
    /// assert_eq!(locate(&bytes), Some((head, 12..14)));
    /// ```
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline]
    pub fn write(self, carried: u16, bytes: &mut [u8]) {
        let ([a, b], [c, d], [e, f]) =
            (PROTOCOL.to_be_bytes(), carried.to_be_bytes(), self.call.to_be_bytes());
        bytes[..8].copy_from_slice(&[KEY, 1, a, b, c, d, e, f]);
        let mut at = 8;
        if let Some(sequence) = self.sequence {
            bytes[0] |= SEQUENCE;
            bytes[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
            at += 4;
        }
        if let Some(acknowledged) = self.acknowledged {
            bytes[1] |= ACKNOWLEDGEMENT;
            bytes[at..at + 4].copy_from_slice(&acknowledged.to_be_bytes());
        }
    }
}

/// Reads a call's header in a GRE packet, and where what it carries is. `None` if it is cut off,
/// contradicts itself, or is another GRE.
#[inline]
pub fn locate(gre: &[u8]) -> Option<(Header, std::ops::Range<usize>)> {
    let head = gre.first_chunk::<8>()?;
    let has = |at: usize, bit: u8| head[at] & bit != 0;
    let known = [head[0] & !SEQUENCE, head[1] & !ACKNOWLEDGEMENT] == [KEY, 1];
    if !known || be16(head, 2) != PROTOCOL {
        return None;
    }
    let mut at = 8;
    let mut field = |is_there: bool| {
        if !is_there {
            return Some(None);
        }
        at += 4;
        Some(Some(be32(gre.get(at - 4..at)?, 0)))
    };
    let (sequence, acknowledged) = (field(has(0, SEQUENCE))?, field(has(1, ACKNOWLEDGEMENT))?);
    let len = usize::from(be16(head, 4));
    // Whatever is carried has a number (§4.1).
    let fits = at + len <= gre.len() && (len == 0 || sequence.is_some());
    let header = Header { call: be16(head, 6), sequence, acknowledged };
    fits.then_some((header, at..at + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Message; 12] = [
        Message::StartRequest,
        Message::StartReply { result: 3 },
        Message::StopRequest { reason: 1 },
        Message::StopReply,
        Message::EchoRequest { id: 0x0102_0304 },
        Message::EchoReply { id: 0x0102_0304 },
        Message::CallRequest { call: 0x102, serial: 0x304, window: 0x506 },
        Message::CallReply { call: 0x102, peer: 0x304, result: 5, window: 0x607 },
        Message::CallClear { call: 0x102 },
        Message::CallGone { call: 0x102, result: 4 },
        Message::WanError { peer: 0x102 },
        Message::LinkInfo { peer: 0x102 },
    ];

    #[test]
    fn what_is_written_is_read() {
        for message in ALL {
            let bytes = message.write();
            assert_eq!(length(&bytes), Ok(Some(bytes.len())), "{message:?}");
            assert_eq!(Message::read(&bytes), Some(message));
            let more = [&bytes[..], &[1, 2, 3]].concat();
            assert_eq!(Message::read(&more), Some(message), "with the next one behind it");
            for cut in 0..bytes.len() {
                assert_eq!(Message::read(&bytes[..cut]), None, "{message:?} {cut}");
                assert_eq!(length(&bytes[..cut]), Ok(None), "{message:?} {cut}");
            }
        }
    }

    #[test]
    fn streams_of_something_else() {
        let echo = Message::EchoRequest { id: 1 }.write();
        for (at, byte) in [(0, 1), (1, 11), (1, 221), (3, 2), (4, 0), (7, 0x4e)] {
            let mut bytes = echo.clone();
            bytes[at] = byte;
            assert_eq!(length(&bytes), Err(Bad), "{at} {byte}");
            assert_eq!(Message::read(&bytes), None, "{at} {byte}");
        }
        assert_eq!(length(b"GET / HTTP/1.1"), Err(Bad));
        // Shorter than its fields, or of a kind that nobody knows: a message all the same.
        for (len, kind) in [(12, 5), (13, 12), (14, 13), (16, 8), (33, 7), (16, 9), (16, 99)] {
            let mut bytes = echo.clone();
            bytes.resize(len, 0);
            (bytes[1], bytes[9]) = (len as u8, kind);
            assert_eq!(length(&bytes), Ok(Some(len)));
            assert_eq!(Message::read(&bytes), None, "{len} {kind}");
        }
    }

    #[test]
    fn headers() {
        let head = |sequence, acknowledged| Header { call: 0x102, sequence, acknowledged };
        for (of, len) in [
            (head(Some(1), None), 12),
            (head(None, Some(2)), 12),
            (head(Some(u32::MAX), Some(0)), 16),
            (head(None, None), 8),
        ] {
            let carried = if of.sequence.is_some() { 5 } else { 0 };
            assert_eq!(of.len(), len);
            let mut bytes = vec![9; len + 8];
            of.write(carried, &mut bytes);
            assert_eq!(locate(&bytes), Some((of, len..len + usize::from(carried))));
            for cut in 0..len + usize::from(carried) {
                assert_eq!(locate(&bytes[..cut]), None, "{of:?} {cut}");
            }
        }
        // What is carried without a number; a key that is none; routing; a version; a protocol.
        let mut whole = [0xff; 14];
        head(Some(1), None).write(2, &mut whole);
        for (at, byte) in [(0, 0x20), (0, 0x10), (0, 0xb0), (0, 0x70), (1, 0), (1, 0x41), (3, 0)] {
            let mut bytes = whole;
            bytes[at] = byte;
            assert_eq!(locate(&bytes), None, "{at} {byte:x}");
        }
    }

    /// Any bytes: no panic, and what is said to be there is there.
    #[test]
    fn hostile() {
        let mut seed = 1u32;
        for n in 0..100_000 {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24) as u8
            };
            let len = usize::from(next());
            let mut bytes: Vec<u8> = (0..len).map(|_| next()).collect();
            if let (0, Some(head)) = (n & 1, bytes.first_chunk_mut()) {
                *head = [0, next(), 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, next() % 17];
            } else if let Some(head) = bytes.first_chunk_mut() {
                *head = [0x20 | next() & 0x10, 1 | next() & 0x80, 0x88, 0x0b, 0, next()];
            }
            if let Some(message) = Message::read(&bytes) {
                assert_eq!(Message::read(&message.write()), Some(message));
            }
            if let Ok(Some(len)) = length(&bytes) {
                assert!(len <= bytes.len());
            }
            if let Some((_, range)) = locate(&bytes) {
                assert!(range.end <= bytes.len());
            }
        }
    }
}
