//! PPTP's helper: calls that a control connection announces (RFC 2637 §2).
//!
//! ```text
//! client (PNS)  Outgoing-Call-Request  call ID c ─────────────► server (PAC)
//!               Outgoing-Call-Reply    call ID s, peer's ID c ◄
//! GRE           to the server: key s       to the client: key c
//! ```
//!
//! Behind one address two clients may have chosen the same ID: then the server is told another one, and
//! GRE is translated on its way back. Every message has its fields at fixed places, so nothing becomes
//! longer. Pure: bytes.
//!
//! **Missing**: Incoming-Call-Request, which PPTP servers do not send to clients.

use super::flow::Direction;

/// What a message says of a call, and where its text has the ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The sender takes GRE packets with this ID.
    Own { at: usize, id: u16 },
    /// The same, in answer to the other side's ID.
    Answered { own: u16, peer_at: usize, peer: u16 },
    /// Something about the other side's ID.
    Peer { at: usize, id: u16 },
}

const COOKIE: u32 = 0x1a2b_3c4d;
const OUTGOING_CALL_REQUEST: u16 = 7;
const OUTGOING_CALL_REPLY: u16 = 8;
const CALL_CLEAR_REQUEST: u16 = 12;
const WAN_ERROR_NOTIFY: u16 = 14;
const SET_LINK_INFO: u16 = 15;

impl Call {
    /// Reads the message at the beginning of a segment's payload.
    pub(crate) fn read(payload: &[u8], from: Direction) -> Option<Call> {
        let word = |at: usize| Some(u16::from_be_bytes(*payload.get(at..at + 2)?.first_chunk()?));
        let cookie = u32::from(word(4)?) << 16 | u32::from(word(6)?);
        if usize::from(word(0)?) > payload.len() || word(2)? != 1 || cookie != COOKIE {
            return None;
        }
        Some(match (word(8)?, from) {
            (OUTGOING_CALL_REQUEST, Direction::Original) => Call::Own { at: 12, id: word(12)? },
            (OUTGOING_CALL_REPLY, Direction::Reply) => {
                Call::Answered { own: word(12)?, peer_at: 14, peer: word(14)? }
            }
            (CALL_CLEAR_REQUEST, Direction::Original) => Call::Own { at: 12, id: word(12)? },
            (WAN_ERROR_NOTIFY | SET_LINK_INFO, Direction::Reply) => {
                Call::Peer { at: 12, id: word(12)? }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Original, Reply};

    #[test]
    fn what_messages_say() {
        let message = |kind: u8, rest: &[u8]| {
            let head = [0, 12 + rest.len() as u8, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, kind, 0, 0];
            [&head[..], rest].concat()
        };
        let cases = [
            (message(7, &[1, 2, 9, 9]), Original, Some(Call::Own { at: 12, id: 0x102 })),
            (
                message(8, &[1, 2, 3, 4, 1, 0]),
                Reply,
                Some(Call::Answered { own: 0x102, peer_at: 14, peer: 0x304 }),
            ),
            (message(14, &[1, 2]), Reply, Some(Call::Peer { at: 12, id: 0x102 })),
            (message(8, &[1, 2, 3, 4]), Original, None),
            (message(1, &[0; 100]), Original, None),
            (message(7, &[1]), Original, None),
            (vec![0, 200, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 7, 0, 0, 1, 2], Original, None),
            (vec![0; 20], Original, None),
            (Vec::new(), Reply, None),
        ];
        for (payload, from, expected) in cases {
            assert_eq!(Call::read(&payload, from), expected, "{payload:?}");
        }
    }
}
