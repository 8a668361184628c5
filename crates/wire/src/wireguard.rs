//! WireGuard's messages (Donenfeld, "WireGuard: Next Generation Kernel Network Tunnel", §5.4).
//!
//! ```text
//! initiation  148 │ 1 │ sender │ ephemeral 32 │ static 48 │ timestamp 28 │ mac1 16 │ mac2 16 │
//! response     92 │ 2 │ sender │ receiver │ ephemeral 32 │ nothing 16    │ mac1 16 │ mac2 16 │
//! cookie       64 │ 3 │ receiver │ nonce 24 │ cookie 32 │
//! data     32 …   │ 4 │ receiver │ counter 8 │ packet, padded to 16 bytes, and its tag 16 │
//! ```
//!
//! Kinds and indices are 4 bytes; all numbers are little-endian. What is sealed is not opened here.

use std::ops::Range;

/// An initiation's length.
pub const INITIATION: usize = 148;
/// A response's length.
pub const RESPONSE: usize = 92;
/// A cookie's length.
pub const COOKIE: usize = 64;
/// What stands in front of a packet.
pub const DATA: usize = 16;
/// What stands behind it: the tag that proves it.
pub const TAG: usize = 16;
/// Each of the two proofs at the end of an initiation and of a response.
pub const MAC: usize = 16;

/// A message, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Somebody begins.
    Initiation(Initiation<'a>),
    /// And is answered.
    Response(Response<'a>),
    /// Somebody is busy: who has begun has to prove his address.
    Cookie(Cookie<'a>),
    /// A packet.
    Data(Data),
}

/// The first message of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initiation<'a> {
    /// The number by which the sender wants to be answered.
    pub sender: u32,
    /// A public key for this handshake alone.
    pub ephemeral: &'a [u8; 32],
    /// The sender's own public key, sealed.
    pub sealed_static: &'a [u8; 48],
    /// The time (TAI64N), sealed.
    pub sealed_timestamp: &'a [u8; 28],
}

/// The second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The number by which the sender wants to be reached.
    pub sender: u32,
    /// The number of the initiation.
    pub receiver: u32,
    /// A public key for this handshake alone.
    pub ephemeral: &'a [u8; 32],
    /// Nothing, sealed.
    pub sealed_nothing: &'a [u8; 16],
}

/// What makes the next initiation prove its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'a> {
    /// The number of the message that it answers.
    pub receiver: u32,
    /// With what it was sealed.
    pub nonce: &'a [u8; 24],
    /// The cookie, sealed.
    pub sealed: &'a [u8; 32],
}

/// What stands in front of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Whose it is.
    pub receiver: u32,
    /// How many were sent before.
    pub counter: u64,
}

impl Message<'_> {
    /// The message that a datagram is; `None` if it is none, or has another length.
    pub fn read(bytes: &[u8]) -> Option<Message<'_>> {
        let (kind, rest) = bytes.split_first_chunk::<4>()?;
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(match (u32::from_le_bytes(*kind), bytes.len()) {
            (1, INITIATION) => Message::Initiation(Initiation {
                sender: word(4)?,
                ephemeral: bytes[8..].first_chunk()?,
                sealed_static: bytes[40..].first_chunk()?,
                sealed_timestamp: bytes[88..].first_chunk()?,
            }),
            (2, RESPONSE) => Message::Response(Response {
                sender: word(4)?,
                receiver: word(8)?,
                ephemeral: bytes[12..].first_chunk()?,
                sealed_nothing: bytes[44..].first_chunk()?,
            }),
            (3, COOKIE) => Message::Cookie(Cookie {
                receiver: word(4)?,
                nonce: bytes[8..].first_chunk()?,
                sealed: bytes[32..].first_chunk()?,
            }),
            (4, len) if len >= DATA + TAG => Message::Data(Data {
                receiver: word(4)?,
                counter: u64::from_le_bytes(*rest[4..].first_chunk()?),
            }),
            _ => return None,
        })
    }
}

impl Initiation<'_> {
    /// Its bytes; both proofs are zeros.
    pub fn write(&self) -> [u8; INITIATION] {
        let mut bytes = [0; INITIATION];
        bytes[0] = 1;
        bytes[4..8].copy_from_slice(&self.sender.to_le_bytes());
        bytes[8..40].copy_from_slice(self.ephemeral);
        bytes[40..88].copy_from_slice(self.sealed_static);
        bytes[88..116].copy_from_slice(self.sealed_timestamp);
        bytes
    }
}

impl Response<'_> {
    /// Its bytes; both proofs are zeros.
    pub fn write(&self) -> [u8; RESPONSE] {
        let mut bytes = [0; RESPONSE];
        bytes[0] = 2;
        bytes[4..8].copy_from_slice(&self.sender.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.receiver.to_le_bytes());
        bytes[12..44].copy_from_slice(self.ephemeral);
        bytes[44..60].copy_from_slice(self.sealed_nothing);
        bytes
    }
}

impl Cookie<'_> {
    /// Its bytes.
    pub fn write(&self) -> [u8; COOKIE] {
        let mut bytes = [0; COOKIE];
        bytes[0] = 3;
        bytes[4..8].copy_from_slice(&self.receiver.to_le_bytes());
        bytes[8..32].copy_from_slice(self.nonce);
        bytes[32..].copy_from_slice(self.sealed);
        bytes
    }
}

impl Data {
    /// Its bytes.
    pub fn write(&self) -> [u8; DATA] {
        let mut bytes = [0; DATA];
        bytes[0] = 4;
        bytes[4..8].copy_from_slice(&self.receiver.to_le_bytes());
        bytes[8..].copy_from_slice(&self.counter.to_le_bytes());
        bytes
    }
}

/// Where the proofs of an initiation or a response stand: the first is of all before it, the second of all before
/// that.
///
/// # Panics
/// If the message is shorter than both.
pub fn macs(message: &[u8]) -> [Range<usize>; 2] {
    let first = message.len() - 2 * MAC;
    [first..first + MAC, first + MAC..message.len()]
}

/// A packet's length in a message of data: nothing of it shows how long it is but to 16 bytes.
pub fn padded(len: usize) -> usize {
    len.next_multiple_of(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_as_written() {
        let (one, two): ([u8; 48], [u8; 32]) = ([7; 48], [9; 32]);
        let initiation = Initiation {
            sender: 0x0102_0304,
            ephemeral: &two,
            sealed_static: &one,
            sealed_timestamp: &[3; 28],
        };
        let response =
            Response { sender: 5, receiver: 6, ephemeral: &two, sealed_nothing: &[1; 16] };
        let cookie = Cookie { receiver: 8, nonce: &[4; 24], sealed: &two };
        let data = Data { receiver: 1, counter: u64::MAX };
        assert_eq!(Message::read(&initiation.write()), Some(Message::Initiation(initiation)));
        assert_eq!(Message::read(&response.write()), Some(Message::Response(response)));
        assert_eq!(Message::read(&cookie.write()), Some(Message::Cookie(cookie)));
        let keepalive = [&data.write()[..], &[0; TAG]].concat();
        assert_eq!(Message::read(&keepalive), Some(Message::Data(data)));
        assert_eq!(initiation.write()[..8], [1, 0, 0, 0, 4, 3, 2, 1]);
        assert_eq!(macs(&response.write()), [60..76, 76..92]);
        // Of another length, or another kind.
        for bytes in [&keepalive[..31], &initiation.write()[..147], &[5, 0, 0, 0], &[4, 0], &[]] {
            assert_eq!(Message::read(bytes), None, "{bytes:?}");
        }
        let mut reserved = cookie.write();
        reserved[3] = 1;
        assert_eq!(Message::read(&reserved), None);
    }
}
