//! Connections as routers of one virtual router tell each other of them, by UDP: a format of our own, since
//! RouterOS's is not published.
//!
//! ```text
//! datagram | "WSct" | version 1 | kind 1 | vrid 1 | family 1 | epoch 4 | sequence 4 | whole 4 | records |
//! record   | what 1 | protocol 1 | flags 1 | tcp 1 | icmp 2 | mark 4 | left 4, ms | idle 4, ms |
//!          | ports 2 × 4, addresses 4 or 16 × 4: original src, dst, reply src, dst |
//! ```
//!
//! A backup says that it is there ([`Kind::Hello`]), and by which number (`whole`) it asks for all connections;
//! the master tells of them ([`Kind::Connections`]), and which number it has answered last.
//!
//! **Nothing proves who has sent a datagram**: that is for the receiver to know of its source.

use crate::bytes::{be16, be32};
use crate::ipv4::protocol;
use crate::layers::FiveTuple;

/// The port of both ends.
pub const PORT: u16 = 8275;
/// The longest payload of a datagram that is sent, bytes: with its headers it fits any Ethernet.
pub const MAX_LEN: usize = 1400;
/// Bytes before the records.
pub const HEADER_LEN: usize = 20;

const MAGIC: &[u8; 4] = b"WSct";
const VERSION: u8 = 1;
/// Of what a record is about, besides its family: it has ended.
const GONE: u8 = 0x80;
/// Of a record, before its ports.
const FIXED: usize = 18;

/// What a record says of a connection.
pub mod flag {
    /// Packets went both ways.
    pub const SEEN_REPLY: u8 = 1;
    /// Kept when the table is full.
    pub const ASSURED: u8 = 2;
    /// Announced by a helper.
    pub const EXPECTED: u8 = 4;
    /// The source is translated.
    pub const SRCNAT: u8 = 8;
    /// The destination is translated.
    pub const DSTNAT: u8 = 16;
    /// The new source is the router's own address, and the connection ends with that.
    pub const MASQUERADE: u8 = 32;
    /// All of them.
    pub const ALL: u8 = 63;
}

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A backup is there, and wants to be told. It has no records.
    Hello,
    /// A master tells of connections.
    Connections,
}

/// What stands before the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the datagram is.
    pub kind: Kind,
    /// The virtual router.
    pub vrid: u8,
    /// Whether that is one of IPv6.
    pub is_ipv6: bool,
    /// Another one when the sender begins to count anew.
    pub epoch: u32,
    /// Of the datagrams of an epoch, each has the next one.
    pub sequence: u32,
    /// The number of a request for all connections: the latest asked, or answered. 0 is none.
    pub whole: u32,
}

/// What is told of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State<A> {
    /// The first packet as it came.
    pub original: FiveTuple<A>,
    /// The replies as they come; of the same protocol.
    pub reply: FiveTuple<A>,
    /// [`flag`]s.
    pub flags: u8,
    /// `tcp-state`, 1 to 9 in the order of a connection's life; 0 of other protocols.
    pub tcp: u8,
    /// Type and code of the first packet, if it was ICMP.
    pub icmp: [u8; 2],
    /// What stands for the connection mark's name: see [`mark`]; 0 is none.
    pub mark: u32,
    /// Milliseconds until it ends if nothing comes.
    pub left_ms: u32,
    /// Milliseconds since the last packet.
    pub idle_ms: u32,
}

/// A record: a connection's state, and whether it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Of IPv4.
    V4(State<u32>, bool),
    /// Of IPv6.
    V6(State<u128>, bool),
}

/// What stands for a mark's name, since routers number them each in its own way: FNV-1a, never 0.
pub fn mark(name: &str) -> u32 {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, mix).max(1)
}

/// Reads a datagram's payload; `None` if it is cut off, of another version, or says what cannot be.
pub fn read(bytes: &[u8]) -> Option<(Header, Vec<Record>)> {
    let head: &[u8; HEADER_LEN] = bytes.first_chunk()?;
    let kind = match head[5] {
        1 => Kind::Hello,
        2 => Kind::Connections,
        _ => return None,
    };
    if &head[..4] != MAGIC || head[4] != VERSION || head[6] == 0 || head[7] > 1 {
        return None;
    }
    let header = Header {
        kind,
        vrid: head[6],
        is_ipv6: head[7] == 1,
        epoch: be32(head, 8),
        sequence: be32(head, 12),
        whole: be32(head, 16),
    };
    let (mut rest, mut records) = (&bytes[HEADER_LEN..], Vec::new());
    while let Some(&what) = rest.first() {
        let gone = what & GONE != 0;
        let (record, len) = match what & !GONE {
            4 => (Record::V4(state(rest)?, gone), FIXED + 8 + 4 * 4),
            6 => (Record::V6(state(rest)?, gone), FIXED + 8 + 4 * 16),
            _ => return None,
        };
        records.push(record);
        rest = rest.get(len..)?;
    }
    (kind == Kind::Connections || records.is_empty()).then_some((header, records))
}

/// An address of either family.
trait Address: Copy {
    const LEN: usize;
    fn get(bytes: &[u8]) -> Option<Self>;
    fn put(self, to: &mut Vec<u8>);
}

impl Address for u32 {
    const LEN: usize = 4;

    fn get(bytes: &[u8]) -> Option<u32> {
        bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    fn put(self, to: &mut Vec<u8>) {
        to.extend(self.to_be_bytes());
    }
}

impl Address for u128 {
    const LEN: usize = 16;

    fn get(bytes: &[u8]) -> Option<u128> {
        bytes.first_chunk().map(|bytes| u128::from_be_bytes(*bytes))
    }

    fn put(self, to: &mut Vec<u8>) {
        to.extend(self.to_be_bytes());
    }
}

fn state<A: Address>(bytes: &[u8]) -> Option<State<A>> {
    let bytes = bytes.get(..FIXED + 8 + 4 * A::LEN)?;
    let (protocol, flags, tcp) = (bytes[1], bytes[2], bytes[3]);
    let is_legal = if protocol == protocol::TCP { (1..=9).contains(&tcp) } else { tcp == 0 };
    if !is_legal || flags & !flag::ALL != 0 {
        return None;
    }
    let port = |n: usize| be16(bytes, FIXED + 2 * n);
    let address = |n: usize| A::get(&bytes[FIXED + 8 + n * A::LEN..]);
    let tuple = |n: usize| {
        let (src, dst) = (address(n)?, address(n + 1)?);
        Some(FiveTuple { src, dst, src_port: port(n), dst_port: port(n + 1), protocol })
    };
    Some(State {
        original: tuple(0)?,
        reply: tuple(2)?,
        flags,
        tcp,
        icmp: [bytes[4], bytes[5]],
        mark: be32(bytes, 6),
        left_ms: be32(bytes, 10),
        idle_ms: be32(bytes, 14),
    })
}

impl Header {
    /// Its bytes.
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(MAGIC);
        let kind = match self.kind {
            Kind::Hello => 1,
            Kind::Connections => 2,
        };
        bytes[4..8].copy_from_slice(&[VERSION, kind, self.vrid, self.is_ipv6.into()]);
        bytes[8..12].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[16..].copy_from_slice(&self.whole.to_be_bytes());
        bytes
    }
}

impl Record {
    /// The longest one, bytes.
    pub const MAX_LEN: usize = FIXED + 8 + 4 * 16;

    /// Adds its bytes.
    pub fn write(&self, to: &mut Vec<u8>) {
        match self {
            Record::V4(state, gone) => put(state, 4, *gone, to),
            Record::V6(state, gone) => put(state, 6, *gone, to),
        }
    }
}

fn put<A: Address>(state: &State<A>, family: u8, gone: bool, to: &mut Vec<u8>) {
    let State { original, reply, flags, tcp, icmp, mark, left_ms, idle_ms } = state;
    to.extend([if gone { family | GONE } else { family }, original.protocol, *flags, *tcp]);
    to.extend(icmp);
    to.extend(mark.to_be_bytes());
    to.extend(left_ms.to_be_bytes());
    to.extend(idle_ms.to_be_bytes());
    for port in [original.src_port, original.dst_port, reply.src_port, reply.dst_port] {
        to.extend(port.to_be_bytes());
    }
    for address in [original.src, original.dst, reply.src, reply.dst] {
        address.put(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple<A>(src: A, dst: A, protocol: u8) -> FiveTuple<A> {
        FiveTuple { src, dst, src_port: 1234, dst_port: 443, protocol }
    }

    fn header(kind: Kind) -> Header {
        Header { kind, vrid: 49, is_ipv6: false, epoch: 7, sequence: 8, whole: 9 }
    }

    fn whole() -> (Header, Vec<Record>, Vec<u8>) {
        let four = State {
            original: tuple(0x0a00_0001, 0x0808_0808, protocol::TCP),
            reply: tuple(0x0808_0808, 0xc633_6402, protocol::TCP),
            flags: flag::SEEN_REPLY | flag::SRCNAT,
            tcp: 3,
            icmp: [0; 2],
            mark: mark("voice"),
            left_ms: 86_400_000,
            idle_ms: 5,
        };
        let six = State {
            original: tuple(1 << 127, 5, protocol::UDP),
            reply: tuple(5, 1 << 127, protocol::UDP),
            ..State::default()
        };
        let records = vec![Record::V4(four, false), Record::V6(six, false), Record::V4(four, true)];
        let mut bytes = header(Kind::Connections).to_bytes().to_vec();
        records.iter().for_each(|record| record.write(&mut bytes));
        (header(Kind::Connections), records, bytes)
    }

    #[test]
    fn what_is_written_is_read() {
        let (header, records, bytes) = whole();
        assert_eq!(bytes.len(), HEADER_LEN + 42 + 90 + 42);
        assert_eq!(read(&bytes), Some((header, records)));
        let hello = self::header(Kind::Hello);
        assert_eq!(read(&hello.to_bytes()), Some((hello, Vec::new())));
    }

    #[test]
    fn what_is_cut_off_or_cannot_be_is_not_read() {
        let (_, _, bytes) = whole();
        let ends = [HEADER_LEN, HEADER_LEN + 42, HEADER_LEN + 42 + 90, bytes.len()];
        for len in 0..bytes.len() {
            assert_eq!(read(&bytes[..len]).is_some(), ends.contains(&len), "{len} bytes");
        }
        // Magic, version, kind (a hello has no records), vrid, family; what, flags, TCP's state, and that of others.
        for (at, byte) in [
            (0, b'w'),
            (4, 2),
            (5, 3),
            (5, 1),
            (6, 0),
            (7, 2),
            (20, 5),
            (22, 64),
            (23, 0),
            (23, 10),
            (HEADER_LEN + 42 + 3, 1),
        ] {
            let mut bad = bytes.clone();
            bad[at] = byte;
            assert_eq!(read(&bad), None, "byte {at} is {byte}");
        }
    }
}
