//! SNMP version 3's message with the parameters of its users (RFC 3412 §6, RFC 3414 §2.4).
//!
//! ```text
//! sequence │ 3 │ sequence of │ id │ longest answer │ flags │ 3: by users │
//!          │ octets: sequence of │ engine │ boots │ time │ user │ digest │ salt │
//!          │ sequence of │ engine │ context │ PDU │, or octets that hold it encrypted
//! ```
//!
//! Whether the digest is right, and what was encrypted, whoever knows the keys finds out.

use super::agent::{self, Request, Value};
use super::{INTEGER, OCTETS, RESPONSE, SEQUENCE, integer, item, number, take};

/// Flags of a message.
pub mod flag {
    /// It has a digest.
    pub const AUTHENTIC: u8 = 1;
    /// It is encrypted.
    pub const PRIVATE: u8 = 2;
    /// Who sent it wants to know why it was not taken.
    pub const REPORTABLE: u8 = 4;
}

/// Bytes of a digest.
pub const DIGEST: usize = 12;
/// Bytes of a salt.
pub const SALT: usize = 8;
/// The most bytes of an engine's or a user's name (RFC 3411 §5, RFC 3414 §5).
const LONGEST: usize = 32;
/// Users as the security model (RFC 3411 §5).
const BY_USERS: i32 = 3;
const REPORT: u8 = 0xa8;

/// What stands in front of the request or the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The message's number.
    pub id: i32,
    /// Of [`flag`].
    pub flags: u8,
    /// The agent, how often it began, and for how many seconds it has run.
    pub engine: Vec<u8>,
    /// How often the agent began.
    pub boots: i32,
    /// For how many seconds it has run.
    pub time: i32,
    /// Who asks.
    pub user: Vec<u8>,
    /// Of the whole message, where this is zero; empty if it has none.
    pub digest: Vec<u8>,
    /// What the encryption begins with; empty if there is none.
    pub salt: Vec<u8>,
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What stands in front.
    pub head: Head,
    /// Where the digest lies in the message.
    pub digest_at: usize,
    /// A scoped PDU; encrypted, if the flags say so.
    pub body: &'a [u8],
}

/// A request, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scoped {
    /// The agent that is asked.
    pub engine: Vec<u8>,
    /// The part of it.
    pub context: Vec<u8>,
    /// What is wanted.
    pub request: Request,
}

/// Whether a UDP payload says that it is of version 3.
pub fn is_3(payload: &[u8]) -> bool {
    let message = take(SEQUENCE, payload).and_then(|(message, _)| number(message));
    message.is_some_and(|(version, _)| version == 3)
}

/// Reads a message from a UDP payload; `None` if it is none of users.
pub fn read(payload: &[u8]) -> Option<Message<'_>> {
    let (message, _) = take(SEQUENCE, payload)?;
    let (version, rest) = number(message)?;
    let (header, rest) = take(SEQUENCE, rest)?;
    let (id, header) = number(header)?;
    let (_, header) = number(header)?;
    let (flags, header) = take(OCTETS, header)?;
    let (model, _) = number(header)?;
    let (parameters, body) = take(OCTETS, rest)?;
    let (parameters, _) = take(SEQUENCE, parameters)?;
    let (engine, parameters) = take(OCTETS, parameters)?;
    let (boots, parameters) = number(parameters)?;
    let (time, parameters) = number(parameters)?;
    let (user, parameters) = take(OCTETS, parameters)?;
    let (digest, parameters) = take(OCTETS, parameters)?;
    let (salt, _) = take(OCTETS, parameters)?;
    let &[flags] = flags else { return None };
    let fits =
        version == 3 && model == BY_USERS && engine.len() <= LONGEST && user.len() <= LONGEST;
    let is_private = flags & flag::PRIVATE != 0;
    let is_authentic = flags & flag::AUTHENTIC != 0;
    let lengths = (!is_authentic || digest.len() == DIGEST) && (!is_private || salt.len() == SALT);
    if !fits || !lengths || is_private && !is_authentic {
        return None;
    }
    let body = if is_private { take(OCTETS, body)?.0 } else { body };
    // Both are parts of the payload.
    let digest_at = digest.as_ptr() as usize - payload.as_ptr() as usize;
    let [engine, user, digest, salt] = [engine, user, digest, salt].map(<[u8]>::to_vec);
    let head = Head { id, flags, engine, boots, time, user, digest, salt };
    Some(Message { head, digest_at, body })
}

/// Reads a scoped PDU; what follows it is padding.
pub fn scoped(bytes: &[u8]) -> Option<Scoped> {
    let (scoped, _) = take(SEQUENCE, bytes)?;
    let (engine, rest) = take(OCTETS, scoped)?;
    let (context, rest) = take(OCTETS, rest)?;
    let request = agent::read_pdu(rest, true, Vec::new())?;
    Some(Scoped { engine: engine.to_vec(), context: context.to_vec(), request })
}

/// Writes the scoped PDU of a response.
pub fn response(to: &Scoped, error: i32, index: usize, bindings: &[(Vec<u32>, Value)]) -> Vec<u8> {
    let pdu = agent::pdu(RESPONSE, to.request.request, error, index, bindings);
    item(SEQUENCE, &[item(OCTETS, &to.engine), item(OCTETS, &to.context), pdu].concat())
}

/// Writes the scoped PDU of a report: how often something was wrong.
pub fn report(engine: &[u8], request: i32, counter: &[u32], count: u64) -> Vec<u8> {
    let pdu = agent::pdu(REPORT, request, 0, 0, &[(counter.to_vec(), Value::Counter32(count))]);
    item(SEQUENCE, &[item(OCTETS, engine), item(OCTETS, &[]), pdu].concat())
}

/// Writes the scoped PDU of a request, as a manager does.
pub fn request(of: &Scoped) -> Vec<u8> {
    let pdu = agent::request_pdu(&of.request);
    item(SEQUENCE, &[item(OCTETS, &of.engine), item(OCTETS, &of.context), pdu].concat())
}

/// Writes a message around a scoped PDU, which is encrypted already if the flags say so. `longest` is what may
/// be answered.
pub fn write(head: &Head, longest: i32, body: &[u8]) -> Vec<u8> {
    let header =
        [integer(head.id), integer(longest), item(OCTETS, &[head.flags]), integer(BY_USERS)];
    let parameters = [
        item(OCTETS, &head.engine),
        integer(head.boots),
        integer(head.time),
        item(OCTETS, &head.user),
        item(OCTETS, &head.digest),
        item(OCTETS, &head.salt),
    ];
    let parameters = item(SEQUENCE, &parameters.concat());
    let body = if head.flags & flag::PRIVATE != 0 { item(OCTETS, body) } else { body.to_vec() };
    let header = item(SEQUENCE, &header.concat());
    let version: [u8; 3] = [INTEGER, 1, 3];
    item(SEQUENCE, &[&version[..], &header, &item(OCTETS, &parameters), &body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snmp::agent::Kind;
    use proptest::prelude::*;

    fn any_head() -> impl Strategy<Value = Head> {
        let some = || prop::collection::vec(any::<u8>(), 0..=LONGEST);
        (any::<i32>(), 0..4u8, some(), any::<i32>(), any::<i32>(), some()).prop_map(
            |(id, flags, engine, boots, time, user)| {
                let flags = if flags == flag::PRIVATE { 3 } else { flags };
                let has = |flag: u8, len: usize| if flags & flag != 0 { len } else { 0 };
                let digest = vec![7; has(flag::AUTHENTIC, DIGEST)];
                let salt = vec![9; has(flag::PRIVATE, SALT)];
                Head { id, flags, engine, boots, time, user, digest, salt }
            },
        )
    }

    fn asked(request: i32) -> Scoped {
        let names = vec![vec![1, 3, 6, 1, 2, 1, 1, 5, 0]];
        let request = Request {
            is_2c: true,
            community: Vec::new(),
            kind: Kind::GetNext,
            request,
            non_repeaters: 0,
            repetitions: 0,
            names,
        };
        Scoped { engine: b"engine".to_vec(), context: Vec::new(), request }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(head in any_head(), number: i32) {
            let asked = asked(number);
            let body = request(&asked);
            let bytes = write(&head, 65_507, &body);
            let read = read(&bytes).unwrap();
            prop_assert_eq!(&read.head, &head);
            prop_assert_eq!(&bytes[read.digest_at..][..head.digest.len()], &head.digest[..]);
            prop_assert_eq!(scoped(read.body), Some(asked));
            prop_assert!(is_3(&bytes));
        }

        #[test]
        fn any_bytes(head in any_head(), at: usize, byte: u8) {
            let mut bytes = write(&head, 65_507, &request(&asked(1)));
            let at = at % bytes.len();
            bytes[at] = byte;
            let message = read(&bytes);
            let _ = message.map(|message| scoped(message.body));
            bytes.truncate(at);
            let _ = read(&bytes);
        }
    }
}
