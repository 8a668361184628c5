//! Data messages of L2TP version 3 (RFC 3931): frames behind a session's number, in IP or in UDP.
//!
//! ```text
//! IP, protocol 115 |                                   | session 4 | cookie 0, 4, 8 | sublayer 0, 4 | frame …
//! UDP, port 1701   | flags 2, version 3 | reserved 2   | session 4 | cookie 0, 4, 8 | sublayer 0, 4 | frame …
//! ```
//!
//! How long the cookie is, and whether there is a sublayer, both ends know: no message says it.

use crate::bytes::{be16, be32};

/// The bits of the flags that make a control message, and the version's.
const CONTROL: u16 = 0x8000;
const VERSION: u16 = 0x000f;

/// The session of a data message in UDP, of whose payload these are the first bytes; what follows its number
/// begins at 8. `None` of control messages, of other versions, and of what is too short (§4.1.2.1).
///
/// ```
/// assert_eq!(wire::l2tp3::in_udp(&[0, 3, 0, 0, 0, 0, 1, 2]), Some(0x102));
/// assert_eq!(wire::l2tp3::in_udp(&[0, 2, 0, 7, 0, 9, 0xff, 3]), None);
/// ```
#[inline]
pub fn in_udp(payload: &[u8]) -> Option<u32> {
    let head: &[u8; 8] = payload.first_chunk()?;
    let is_data = is_version_3(head) && be16(head, 0) & CONTROL == 0;
    is_data.then(|| be32(head, 4)).filter(|&session| session != 0)
}

/// Whether a UDP payload is of this version.
#[inline]
pub fn is_version_3(payload: &[u8]) -> bool {
    payload.len() >= 2 && be16(payload, 0) & VERSION == 3
}

/// The session of a data message in IP; what follows its number begins at 4. `None` of control messages, whose
/// session is 0, and of what is too short (§4.1.1.1).
#[inline]
pub fn in_ip(payload: &[u8]) -> Option<u32> {
    let head: &[u8; 4] = payload.first_chunk()?;
    Some(be32(head, 0)).filter(|&session| session != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_data_message() {
        for (bytes, udp, ip) in [
            (&[0, 3, 0, 0, 1, 2, 3, 4][..], Some(0x0102_0304), Some(0x0003_0000)),
            (&[0, 3, 9, 9, 0, 0, 0, 1, 5], Some(1), Some(0x0003_0909)),
            // A control message, version 2, session 0, and what is cut short.
            (&[0xc8, 3, 0, 12, 0, 0, 0, 1], None, Some(0xc803_000c)),
            (&[0, 2, 0, 0, 0, 0, 0, 1], None, Some(0x0002_0000)),
            (&[0, 3, 0, 0, 0, 0, 0, 0], None, Some(0x0003_0000)),
            (&[0, 0, 0, 0, 0xc8, 3, 0, 20], None, None),
            (&[0, 3, 0, 0, 0, 0, 1], None, Some(0x0003_0000)),
            (&[0, 3, 0], None, None),
            (&[], None, None),
        ] {
            assert_eq!((in_udp(bytes), in_ip(bytes)), (udp, ip), "{bytes:02x?}");
        }
    }
}
