//! DNS messages (RFC 1035) and EDNS's record (RFC 6891), in UDP from and to port 53.
//!
//! ```text
//! | id 2 | flags 2 | questions, answers, authorities, additional: 2 each |
//! | name | kind 2 | class 2 |                              one question
//! | name | kind 2 | class 2 | ttl 4 | length 2 | data |    records
//! ```
//!
//! Names are text, in lower case and without the last dot; what is no printable character of a label
//! is written `\ddd`. So two names are the same if their texts are.
//!
//! Never: more than one question; compresses names.

use crate::bytes::{be16, be32};
use std::fmt::Write as _;
use std::ops::Range;

/// The server's port.
pub const PORT: u16 = 53;
/// What a message without EDNS may be long, bytes (RFC 1035 §2.3.4).
pub const PLAIN_LEN: usize = 512;
const HEADER_LEN: usize = 12;
const MAX_NAME: usize = 255;
const MAX_LABEL: usize = 63;
/// More than any honest message has.
const MAX_RECORDS: usize = 1000;

/// Bits of the flags.
pub mod flag {
    /// It is a response.
    pub const RESPONSE: u16 = 0x8000;
    /// What is asked for, beside 0: a query.
    pub const OPCODE: u16 = 0x7800;
    /// It was too long for UDP.
    pub const TRUNCATED: u16 = 0x0200;
    /// Ask others if you do not know.
    pub const RECURSE: u16 = 0x0100;
    /// That is done here.
    pub const RECURSES: u16 = 0x0080;
    /// The response code.
    pub const CODE: u16 = 0x000f;
}

/// Response codes.
pub mod code {
    /// All is well.
    pub const NO_ERROR: u16 = 0;
    /// The query is not understood.
    pub const FORMAT_ERROR: u16 = 1;
    /// No answer was to be had.
    pub const SERVER_FAILURE: u16 = 2;
    /// There is no such name.
    pub const NO_SUCH_NAME: u16 = 3;
    /// That cannot be asked here.
    pub const NOT_IMPLEMENTED: u16 = 4;
}

/// Kinds of records.
pub mod kind {
    /// An IPv4 address.
    pub const A: u16 = 1;
    /// A name server.
    pub const NS: u16 = 2;
    /// Another name.
    pub const CNAME: u16 = 5;
    /// A zone's own: how long a name that is not there is known to be none.
    pub const SOA: u16 = 6;
    /// The name of an address.
    pub const PTR: u16 = 12;
    /// A mail server.
    pub const MX: u16 = 15;
    /// Text.
    pub const TXT: u16 = 16;
    /// An IPv6 address.
    pub const AAAA: u16 = 28;
    /// A service's host and port.
    pub const SRV: u16 = 33;
    /// EDNS's, which is no record of a name.
    pub const OPT: u16 = 41;
}

/// The class of the Internet.
pub const INTERNET: u16 = 1;

/// A message with its one question, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What a response belongs to.
    pub id: u16,
    /// See [`flag`].
    pub flags: u16,
    /// The name asked for.
    pub name: String,
    /// The kind of record asked for.
    pub kind: u16,
    /// The class asked for.
    pub class: u16,
    /// Where the question ends.
    pub question_end: usize,
    /// Where the last record ends.
    pub end: usize,
    /// All records, the answers first.
    pub records: Vec<Record>,
    /// How many of them are answers.
    pub answers: usize,
    /// How many of them are answers and authorities.
    pub before_additional: usize,
    /// EDNS: how long a response may be, and where its record stands.
    pub edns: Option<(u16, Range<usize>)>,
}

/// A record, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose.
    pub name: String,
    /// Its kind.
    pub kind: u16,
    /// Its class.
    pub class: u16,
    /// For how long it may be believed, seconds.
    pub ttl: u32,
    /// Where the TTL stands in the message.
    pub ttl_at: usize,
    /// Where its data stand.
    pub data: Range<usize>,
}

impl Message {
    /// Reads a UDP payload; `None` if it is cut off, contradicts itself, or has not one question.
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let head: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        if be16(head, 4) != 1 {
            return None;
        }
        let counts = [be16(head, 6), be16(head, 8), be16(head, 10)].map(usize::from);
        if counts.iter().sum::<usize>() > MAX_RECORDS {
            return None;
        }
        let (name, at) = read_name(bytes, HEADER_LEN)?;
        let fixed: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
        let mut message = Message {
            id: be16(head, 0),
            flags: be16(head, 2),
            name,
            kind: be16(fixed, 0),
            class: be16(fixed, 2),
            question_end: at + 4,
            end: at + 4,
            records: Vec::new(),
            answers: counts[0],
            before_additional: counts[0] + counts[1],
            edns: None,
        };
        let mut at = message.question_end;
        for _ in 0..counts.iter().sum() {
            let start = at;
            let (record, end) = read_record(bytes, at)?;
            at = end;
            if record.kind == kind::OPT && message.edns.is_none() {
                message.edns = Some((record.class, start..end));
            }
            message.records.push(record);
        }
        message.end = at;
        Some(message)
    }

    /// Whether it is a query for names of the Internet.
    pub fn is_query(&self) -> bool {
        self.flags & (flag::RESPONSE | flag::OPCODE) == 0 && self.class == INTERNET
    }

    /// The response code.
    pub fn code(&self) -> u16 {
        self.flags & flag::CODE
    }

    /// How long the whole response may be believed, seconds: the shortest time of its records. Where
    /// there is no answer, what the zone says of that (RFC 2308 §5), and nothing if it says nothing.
    pub fn ttl(&self, bytes: &[u8]) -> u32 {
        let real = self.records.iter().filter(|record| record.kind != kind::OPT);
        let least = real.map(|record| record.ttl).min().unwrap_or(0);
        if self.answers > 0 {
            return least;
        }
        let soa = self.records.iter().find(|record| record.kind == kind::SOA);
        let minimum = soa.and_then(|soa| bytes.get(soa.data.clone())?.last_chunk::<4>());
        minimum.map_or(0, |minimum| least.min(u32::from_be_bytes(*minimum)))
    }
}

/// A query with recursion, and EDNS if responses longer than [`PLAIN_LEN`] are taken; `None` if the
/// name is none.
pub fn query(id: u16, name: &str, kind: u16, max_len: u16) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(id.to_be_bytes());
    bytes.extend(flag::RECURSE.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 0, 0, 0]);
    bytes.extend(name_bytes(name)?);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(INTERNET.to_be_bytes());
    if usize::from(max_len) > PLAIN_LEN {
        bytes[11] = 1;
        bytes.extend(edns(max_len));
    }
    Some(bytes)
}

/// EDNS's record: how long responses may be.
pub fn edns(max_len: u16) -> [u8; 11] {
    let [high, low] = max_len.to_be_bytes();
    [0, 0, kind::OPT as u8, high, low, 0, 0, 0, 0, 0, 0]
}

/// A response of our own to a query: its question, and these answers (whose, kind, TTL, data). What
/// is no query at all has none.
pub fn response(
    query: &[u8],
    read: &Message,
    code: u16,
    answers: &[(String, u16, u32, Vec<u8>)],
) -> Vec<u8> {
    let mut bytes = query.get(..read.question_end).unwrap_or(&[]).to_vec();
    let flags =
        flag::RESPONSE | flag::RECURSES | read.flags & (flag::RECURSE | flag::OPCODE) | code;
    let count = (answers.len() as u16).to_be_bytes();
    bytes[2..4].copy_from_slice(&flags.to_be_bytes());
    bytes[6..12].copy_from_slice(&[count[0], count[1], 0, 0, 0, 0]);
    for (name, kind, ttl, data) in answers {
        match *name == read.name {
            true => bytes.extend([0xc0, HEADER_LEN as u8]),
            false => bytes.extend(name_bytes(name).unwrap_or(vec![0])),
        }
        bytes.extend(kind.to_be_bytes());
        bytes.extend(INTERNET.to_be_bytes());
        bytes.extend(ttl.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }
    bytes
}

/// A name as it stands in messages; `None` if it is none: a label that is empty or longer than 63
/// bytes, more than 255 in all.
pub fn name_bytes(name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(name.len() + 2);
    for label in name.split('.').filter(|_| !name.is_empty()) {
        let start = bytes.len();
        bytes.push(0);
        let mut rest = label.as_bytes();
        while let [byte, behind @ ..] = rest {
            rest = behind;
            if *byte != b'\\' {
                bytes.push(*byte);
                continue;
            }
            let (digits, behind) = rest.split_first_chunk::<3>()?;
            bytes.push(std::str::from_utf8(digits).ok()?.parse().ok()?);
            rest = behind;
        }
        let len = bytes.len() - start - 1;
        if !(1..=MAX_LABEL).contains(&len) {
            return None;
        }
        bytes[start] = len as u8;
    }
    bytes.push(0);
    Some(bytes).filter(|bytes| bytes.len() <= MAX_NAME)
}

/// The name that stands at `at`, and where it ends.
pub fn read_name(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let (mut text, mut end, mut len) = (String::new(), None, 1);
    let (mut at, mut before) = (at, at);
    loop {
        let &first = bytes.get(at)?;
        match first {
            0 => return Some((text, end.unwrap_or(at + 1))),
            0xc0.. => {
                let to = usize::from(be16(bytes.get(at..)?.first_chunk::<2>()?, 0) & 0x3fff);
                end = end.or(Some(at + 2));
                // Only back: so it comes to an end.
                if to >= before {
                    return None;
                }
                (at, before) = (to, to);
            }
            1..=63 => {
                let label = bytes.get(at + 1..at + 1 + usize::from(first))?;
                len += label.len() + 1;
                if len > MAX_NAME {
                    return None;
                }
                if !text.is_empty() {
                    text.push('.');
                }
                for &byte in label {
                    match byte {
                        b'.' | b'\\' | 0..=b' ' | 0x7f.. => {
                            let _ = write!(text, "\\{byte:03}");
                        }
                        _ => text.push(byte.to_ascii_lowercase().into()),
                    }
                }
                at += 1 + label.len();
            }
            _ => return None,
        }
    }
}

fn read_record(bytes: &[u8], at: usize) -> Option<(Record, usize)> {
    let (name, at) = read_name(bytes, at)?;
    let fixed: &[u8; 10] = bytes.get(at..)?.first_chunk()?;
    let data = at + 10..at + 10 + usize::from(be16(fixed, 8));
    bytes.get(data.clone())?;
    let end = data.end;
    // RFC 2181 §8: a TTL with its first bit set is none.
    let ttl = Some(be32(fixed, 4)).filter(|ttl| ttl >> 31 == 0).unwrap_or(0);
    let (kind, class) = (be16(fixed, 0), be16(fixed, 2));
    Some((Record { name, kind, class, ttl, ttl_at: at + 4, data }, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for name in ["", "a", "www.example.com", "x\\046y.z", "\\000.\\255"] {
            let asked = query(7, name, kind::AAAA, 4096).unwrap();
            let read = Message::read(&asked).unwrap();
            assert!(read.is_query(), "{read:?}");
            assert_eq!((read.name.as_str(), read.kind, read.id), (name, kind::AAAA, 7));
            assert_eq!(read.edns.as_ref().map(|(len, _)| *len), Some(4096));
            let data = vec![1, 2, 3, 4];
            let record = |name: &str, ttl| (name.to_string(), kind::A, ttl, data.clone());
            let answers = [record(name, 60), record("other", 9)];
            let answer = response(&asked, &read, code::NO_ERROR, &answers);
            let read = Message::read(&answer).unwrap();
            assert_eq!((read.answers, read.ttl(&answer), read.code()), (2, 9, 0));
            assert_eq!(read.records[0].name, name);
            assert_eq!(read.records[1].name, "other");
            assert_eq!(answer[read.records[0].data.clone()], data);
        }
    }

    #[test]
    fn names_that_are_none() {
        let long = "a".repeat(64);
        let many = ["abcdefg"; 32].join(".");
        for name in ["a..b", ".a", "a.", "\\12", "\\300", &long, &many] {
            assert_eq!(query(1, name, kind::A, 512), None, "{name}");
        }
    }

    #[test]
    fn pointers_lead_back_only() {
        let message = |tail: &[u8]| {
            let mut bytes = vec![0; 12];
            bytes[5] = 1;
            bytes.extend(tail);
            bytes
        };
        for (tail, expected) in [
            (&[1, b'A', 0, 0, 1, 0, 1][..], Some("a")),
            (&[0xc0, 12, 0, 1, 0, 1], None),
            (&[0xc0, 14, 0, 1, 0, 1], None),
            (&[1, b'a', 0xc0, 12, 0, 1, 0, 1], None),
            (&[0x40, 0, 0, 1, 0, 1], None),
            (&[1, b'a', 0, 0, 1, 0], None),
            (&[5, b'a'], None),
        ] {
            let read = Message::read(&message(tail)).map(|read| read.name);
            assert_eq!(read.as_deref(), expected, "{tail:?}");
        }
    }
}
