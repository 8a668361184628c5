//! SNMP as an agent hears and says it: requests, and responses with values.
//!
//! Reading takes any bytes, never panics, and takes no more than [`MOST_NAMES`] names of
//! [`LONGEST_NAME`] numbers each.

use super::{
    GET_REQUEST, NULL, OBJECT, OCTETS, RESPONSE, SEQUENCE, identifier, integer, item, number, take,
};

/// Names of one request.
pub const MOST_NAMES: usize = 128;
/// Numbers of one name (RFC 3416 §4.1).
pub const LONGEST_NAME: usize = 128;

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// These values.
    Get,
    /// Those behind them.
    GetNext,
    /// Many of those behind them.
    GetBulk,
    /// Others.
    Set,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of 2c, else of 1.
    pub is_2c: bool,
    /// What it knows.
    pub community: Vec<u8>,
    /// What is wanted.
    pub kind: Kind,
    /// Its number.
    pub request: i32,
    /// Of GETBULK: the names of which one value each is wanted.
    pub non_repeaters: usize,
    /// Of GETBULK: how many values of each of the others.
    pub repetitions: usize,
    /// The names.
    pub names: Vec<Vec<u32>>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// INTEGER.
    Integer(i32),
    /// OCTET STRING.
    Octets(Vec<u8>),
    /// OBJECT IDENTIFIER.
    Name(Vec<u32>),
    /// IpAddress.
    Address(u32),
    /// Counter32: the low bits of a longer one.
    Counter32(u64),
    /// Gauge32, which stays at its greatest.
    Gauge(u64),
    /// TimeTicks: hundredths of seconds.
    Ticks(u64),
    /// Counter64.
    Counter64(u64),
    /// NULL: in requests, and in responses with an error.
    Null,
    /// There is no such object.
    NoSuchObject,
    /// There is nothing behind it.
    EndOfMib,
}

/// Why there are no values (RFC 3416 §3).
pub mod error {
    /// There is no error.
    pub const NONE: i32 = 0;
    /// The response would be too long.
    pub const TOO_BIG: i32 = 1;
    /// Version 1: there is no such name.
    pub const NO_SUCH_NAME: i32 = 2;
    /// Version 1: it cannot be set.
    pub const READ_ONLY: i32 = 4;
    /// It cannot be set.
    pub const NOT_WRITABLE: i32 = 17;
}

/// Reads a request of version 1 or 2c from a UDP payload; `None` if it is none.
pub fn read(payload: &[u8]) -> Option<Request> {
    let (message, _) = take(SEQUENCE, payload)?;
    let (version, rest) = number(message)?;
    let is_2c = match version {
        0 => false,
        1 => true,
        _ => return None,
    };
    let (community, rest) = take(OCTETS, rest)?;
    read_pdu(rest, is_2c, community.to_vec())
}

/// Reads a request's PDU, which is of version 2c or later, or of 1.
pub(super) fn read_pdu(rest: &[u8], is_2c: bool, community: Vec<u8>) -> Option<Request> {
    let kind = match rest.first()? {
        0xa0 => Kind::Get,
        0xa1 => Kind::GetNext,
        0xa3 => Kind::Set,
        0xa5 if is_2c => Kind::GetBulk,
        _ => return None,
    };
    let (pdu, _) = take(*rest.first()?, rest)?;
    let (request, rest) = number(pdu)?;
    let (first, rest) = number(rest)?;
    let (second, rest) = number(rest)?;
    let (bindings, _) = take(SEQUENCE, rest)?;
    let names = read_names(bindings)?;
    let positive = |number: i32| usize::try_from(number).unwrap_or(0);
    let bulk = kind == Kind::GetBulk;
    Some(Request {
        is_2c,
        community,
        kind,
        request,
        non_repeaters: if bulk { positive(first) } else { 0 },
        repetitions: if bulk { positive(second) } else { 0 },
        names,
    })
}

fn read_names(mut bindings: &[u8]) -> Option<Vec<Vec<u32>>> {
    let mut names = Vec::new();
    while !bindings.is_empty() {
        let (binding, behind) = take(SEQUENCE, bindings)?;
        let (name, _) = take(OBJECT, binding)?;
        if names.len() == MOST_NAMES {
            return None;
        }
        names.push(read_name(name)?);
        bindings = behind;
    }
    Some(names)
}

/// The names of a response's values, as a manager reads them; `None` if it is none.
pub fn names(response: &[u8]) -> Option<Vec<Vec<u32>>> {
    let (message, _) = take(SEQUENCE, response)?;
    let (_, rest) = number(message)?;
    let (_, rest) = take(OCTETS, rest)?;
    let (pdu, _) = take(RESPONSE, rest)?;
    let (_, rest) = number(pdu)?;
    let (_, rest) = number(rest)?;
    let (_, rest) = number(rest)?;
    read_names(take(SEQUENCE, rest)?.0)
}

/// Writes a response, a UDP payload.
pub fn response(to: &Request, error: i32, index: usize, bindings: &[(Vec<u32>, Value)]) -> Vec<u8> {
    let pdu = pdu(RESPONSE, to.request, error, index, bindings);
    let version = integer(to.is_2c.into());
    item(SEQUENCE, &[version, item(OCTETS, &to.community), pdu].concat())
}

/// Writes a PDU with values.
pub(super) fn pdu(
    tag: u8,
    request: i32,
    error: i32,
    index: usize,
    bindings: &[(Vec<u32>, Value)],
) -> Vec<u8> {
    let of = |(name, value): &(Vec<u32>, Value)| {
        item(SEQUENCE, &[item(OBJECT, &identifier(name)), written(value)].concat())
    };
    let bindings: Vec<u8> = bindings.iter().flat_map(of).collect();
    let index = i32::try_from(index).unwrap_or(0);
    let numbers = [integer(request), integer(error), integer(index)].concat();
    item(tag, &[numbers, item(SEQUENCE, &bindings)].concat())
}

/// How many bytes a binding takes in a response, at most.
pub fn len(name: &[u32], value: &Value) -> usize {
    identifier(name).len() + written(value).len() + 8
}

/// Writes a request, as a manager does.
pub fn request(of: &Request) -> Vec<u8> {
    let pdu = request_pdu(of);
    item(SEQUENCE, &[integer(of.is_2c.into()), item(OCTETS, &of.community), pdu].concat())
}

/// Its PDU.
pub(super) fn request_pdu(of: &Request) -> Vec<u8> {
    let bindings = of.names.iter().flat_map(|name| {
        item(SEQUENCE, &[item(OBJECT, &identifier(name)), item(NULL, &[])].concat())
    });
    let bindings: Vec<u8> = bindings.collect();
    let positive = |number: usize| integer(i32::try_from(number).unwrap_or(i32::MAX));
    let numbers = [integer(of.request), positive(of.non_repeaters), positive(of.repetitions)];
    let tag = GET_REQUEST
        + match of.kind {
            Kind::Get => 0,
            Kind::GetNext => 1,
            Kind::Set => 3,
            Kind::GetBulk => 5,
        };
    item(tag, &[numbers.concat(), item(SEQUENCE, &bindings)].concat())
}

fn written(value: &Value) -> Vec<u8> {
    match value {
        Value::Integer(number) => integer(*number),
        Value::Octets(bytes) => item(OCTETS, bytes),
        Value::Name(name) => item(OBJECT, &identifier(name)),
        Value::Address(address) => item(0x40, &address.to_be_bytes()),
        Value::Counter32(count) => unsigned(0x41, count & 0xffff_ffff),
        Value::Gauge(count) => unsigned(0x42, (*count).min(u32::MAX.into())),
        Value::Ticks(ticks) => unsigned(0x43, ticks & 0xffff_ffff),
        Value::Counter64(count) => unsigned(0x46, *count),
        Value::Null => item(NULL, &[]),
        Value::NoSuchObject => item(0x80, &[]),
        Value::EndOfMib => item(0x82, &[]),
    }
}

/// In as few bytes as say it, and none of them looks like a sign.
fn unsigned(tag: u8, value: u64) -> Vec<u8> {
    let bytes = [&[0][..], &value.to_be_bytes()].concat();
    let from = (0..8).take_while(|&at| bytes[at] == 0 && bytes[at + 1] & 0x80 == 0).count();
    item(tag, &bytes[from..])
}

fn read_name(bytes: &[u8]) -> Option<Vec<u32>> {
    let (mut name, mut number) = (Vec::new(), 0u32);
    for byte in bytes {
        number = number.checked_mul(128)?.checked_add(u32::from(byte & 0x7f))?;
        if byte & 0x80 != 0 {
            continue;
        }
        match name.is_empty() {
            true => name.extend([(number / 40).min(2), number - (number / 40).min(2) * 40]),
            false => name.push(number),
        }
        if name.len() > LONGEST_NAME {
            return None;
        }
        number = 0;
    }
    bytes.last().is_some_and(|last| last & 0x80 == 0).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_request() -> impl Strategy<Value = Request> {
        let name = prop::collection::vec(any::<u32>(), 0..20);
        let name = name.prop_map(|rest| [&[1, 3][..], &rest].concat());
        let names = prop::collection::vec(name, 0..9);
        (names, any::<i32>(), 0..3usize, 0..50usize).prop_map(
            |(names, request, non_repeaters, repetitions)| Request {
                is_2c: true,
                community: b"public".to_vec(),
                kind: Kind::GetBulk,
                request,
                non_repeaters,
                repetitions,
                names,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_asked_is_read(asked in any_request()) {
            prop_assert_eq!(read(&request(&asked)), Some(asked));
        }

        #[test]
        fn any_bytes(asked in any_request(), at: usize, byte: u8) {
            let mut bytes = request(&asked);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = read(&bytes);
            bytes.truncate(at);
            let _ = read(&bytes);
        }
    }

    #[test]
    fn values_as_net_snmp_reads_them() {
        for (value, bytes) in [
            (Value::Counter32(u64::MAX), &[0x41, 5, 0, 255, 255, 255, 255][..]),
            (Value::Gauge(1 << 40), &[0x42, 5, 0, 255, 255, 255, 255]),
            (Value::Counter64(128), &[0x46, 2, 0, 128]),
            (Value::Ticks(0), &[0x43, 1, 0]),
            (Value::Address(0x0a00_0001), &[0x40, 4, 10, 0, 0, 1]),
            (Value::EndOfMib, &[0x82, 0]),
        ] {
            assert_eq!(written(&value), bytes, "{value:?}");
        }
    }
}
