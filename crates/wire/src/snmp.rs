//! SNMP, as far as asking a device for values and knowing its answer goes (RFC 3416, RFC 1901).
//!
//! ```text
//! sequence │ version: integer │ community: octets │ get-request or response
//!                                                      └ request-id │ error-status │ error-index │
//!                                                        sequence of │ name: object identifier │ value │
//! ```
//!
//! Every item is a tag, a length and contents (BER, X.690). Only what a response says of itself is
//! read, not its values; [`agent`] is the other side, and [`v3`] what version 3 has around it. Missing:
//! **sets and traps**.

pub mod agent;
pub mod v3;

/// The UDP port of whoever answers.
pub const PORT: u16 = 161;

/// The name of a value: the numbers of an object identifier.
pub type Name = &'static [u32];

/// `sysUpTime.0` of RFC 3418: since when the device runs.
pub const SYS_UP_TIME: Name = &[1, 3, 6, 1, 2, 1, 1, 3, 0];
/// `ifInOctets.1` of RFC 2863: what came by its first interface.
pub const IF_IN_OCTETS_1: Name = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 10, 1];

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const GET_REQUEST: u8 = 0xa0;
const RESPONSE: u8 = 0xa2;

/// What a response says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The question's number.
    pub request: i32,
    /// Why there are no values; 0 if there are.
    pub error: i32,
}

/// A get-request of version 2c for these values, as a UDP payload.
pub fn get_request(community: &str, request: i32, names: &[Name]) -> Vec<u8> {
    let of = |name: &Name| {
        let name = item(OBJECT, &identifier(name));
        item(SEQUENCE, &[name, item(NULL, &[])].concat())
    };
    let bindings: Vec<u8> = names.iter().flat_map(of).collect();
    let numbers = [integer(request), integer(0), integer(0)].concat();
    let pdu = item(GET_REQUEST, &[numbers, item(SEQUENCE, &bindings)].concat());
    let version_2c = integer(1);
    item(SEQUENCE, &[version_2c, item(OCTETS, community.as_bytes()), pdu].concat())
}

/// Reads a response of version 1 or 2c from a UDP payload; `None` if it is none.
pub fn response(payload: &[u8]) -> Option<Response> {
    let (message, _) = take(SEQUENCE, payload)?;
    let (_, rest) = number(message)?;
    let (_, rest) = take(OCTETS, rest)?;
    let (pdu, _) = take(RESPONSE, rest)?;
    let (request, rest) = number(pdu)?;
    let (error, _) = number(rest)?;
    Some(Response { request, error })
}

/// A tag, a length and contents.
fn item(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    let len = contents.len();
    if len < 0x80 {
        bytes.push(len as u8);
    } else {
        let long = len.to_be_bytes();
        let long = &long[long.iter().take_while(|byte| **byte == 0).count()..];
        bytes.push(0x80 | long.len() as u8);
        bytes.extend(long);
    }
    bytes.extend(contents);
    bytes
}

/// In as few bytes as say it.
fn integer(value: i32) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let says_nothing = |at: usize| {
        let sign = if bytes[at + 1] & 0x80 == 0 { 0 } else { 0xff };
        bytes[at] == sign
    };
    let from = (0..3).take_while(|&at| says_nothing(at)).count();
    item(INTEGER, &bytes[from..])
}

/// The first two numbers in one, each number in groups of seven bits.
fn identifier(name: &[u32]) -> Vec<u8> {
    let mut bytes = vec![];
    let [first, second, rest @ ..] = name else { return bytes };
    let head = first.saturating_mul(40).saturating_add(*second);
    for number in std::iter::once(head).chain(rest.iter().copied()) {
        let groups = (0..5).rev().map(|n| (number >> (7 * n)) as u8 & 0x7f);
        let groups: Vec<u8> = groups.skip_while(|group| *group == 0).collect();
        let (last, before) = groups.split_last().unwrap_or((&0, &[]));
        bytes.extend(before.iter().map(|group| group | 0x80));
        bytes.push(*last);
    }
    bytes
}

/// The contents of the first item, if it has this tag, and what follows it.
fn take(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, len], rest) = bytes.split_first_chunk::<2>()?;
    let (len, rest) = match len {
        0..0x80 => (usize::from(len), rest),
        _ => {
            let (long, rest) = rest.split_at_checked(usize::from(len & 0x7f))?;
            let len = long.iter().try_fold(0usize, |all, byte| {
                all.checked_mul(256)?.checked_add(usize::from(*byte))
            })?;
            (len, rest)
        }
    };
    rest.split_at_checked(len).filter(|_| found == tag)
}

/// The first item as a number.
fn number(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (digits, rest) = take(INTEGER, bytes)?;
    let first = *digits.first().filter(|_| digits.len() <= 4)?;
    let sign = if first & 0x80 == 0 { 0i32 } else { -1 };
    Some((digits.iter().fold(sign, |all, byte| all << 8 | i32::from(*byte)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As net-snmp's `snmpget -v 2c -c public` sends it.
    const ASKED: &[u8] = &[
        0x30, 0x29, 0x02, 0x01, 0x01, 0x04, 0x06, b'p', b'u', b'b', b'l', b'i', b'c', 0xa0, 0x1c,
        0x02, 0x04, 0x2d, 0x28, 0x15, 0x07, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00, 0x30, 0x0e, 0x30,
        0x0c, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x02, 0x01, 0x01, 0x03, 0x00, 0x05, 0x00,
    ];

    #[test]
    fn a_question() {
        assert_eq!(get_request("public", 0x2d28_1507, &[SYS_UP_TIME]), ASKED);
        assert_eq!(response(ASKED), None, "it is no answer");
        let both = get_request("public", 1, &[SYS_UP_TIME, IF_IN_OCTETS_1]);
        assert_eq!(usize::from(both[1]) + 2, both.len());
    }

    #[test]
    fn long_items_and_numbers() {
        assert_eq!(item(4, &[7; 200])[..3], [4, 0x81, 200]);
        assert_eq!(item(4, &[7; 300])[..4], [4, 0x82, 1, 44]);
        assert_eq!(identifier(&[1, 3, 128, 16_384]), [0x2b, 0x81, 0, 0x81, 0x80, 0]);
        for (value, bytes) in
            [(0, &[0][..]), (127, &[127]), (128, &[0, 128]), (-1, &[255]), (-129, &[255, 127])]
        {
            assert_eq!(integer(value)[2..], *bytes, "{value}");
        }
    }

    /// The question as its answer: only the tag is another.
    fn answer(request: i32, error: i32) -> Vec<u8> {
        let pdu = [integer(request), integer(error), integer(0), item(SEQUENCE, &[0; 200])];
        let pdu = item(RESPONSE, &pdu.concat());
        item(SEQUENCE, &[integer(0), item(OCTETS, b"public"), pdu].concat())
    }

    proptest! {
        #[test]
        fn answers(request: i32, error in 0..19) {
            prop_assert_eq!(response(&answer(request, error)), Some(Response { request, error }));
        }

        #[test]
        fn any_bytes_are_looked_at(mut bytes in prop::collection::vec(any::<u8>(), 0..60), at: usize) {
            let _ = response(&bytes);
            let mut answer = answer(7, 0);
            let at = at % answer.len();
            answer.truncate(at);
            answer.append(&mut bytes);
            let _ = response(&answer);
        }
    }
}
