//! SNTP (RFC 4330, RFC 5905 §7.3): asking for the time of day, and the answer.
//!
//! ```text
//! | LI 2 │ version 3 │ mode 3 | stratum | poll | precision | delay 4 | dispersion 4 | reference 4 |
//! | reference time 8 | origin 8 | received 8 | sent 8 |
//! ```
//!
//! Times are seconds since 1900 and fractions of 2^-32. **Missing**: authentication.

/// The server's UDP port.
pub const PORT: u16 = 123;
/// Seconds from 1900 to 1970.
const TO_UNIX: u64 = 2_208_988_800;
/// The length of a question.
const LEN: usize = 48;

/// What a server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How far it is from a clock; 0: it does not want to be asked.
    pub stratum: u8,
    /// Its clock is not set.
    pub alarm: bool,
    /// What the question had as its time.
    pub origin: u64,
    /// When the question came, nanoseconds since 1970.
    pub received: u64,
    /// When the answer left.
    pub sent: u64,
}

/// A question; `cookie` stands where its time would, and comes back (RFC 9109 has no time be told).
pub fn question(cookie: u64) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[0] = 4 << 3 | 3;
    bytes[40..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}

/// Reads an answer; `None` if it is none.
pub fn read(bytes: &[u8]) -> Option<Answer> {
    let head = *bytes.first_chunk::<LEN>()?;
    let (leap, mode) = (head[0] >> 6, head[0] & 7);
    let time = |at: usize| head[at..].first_chunk().map(|time| u64::from_be_bytes(*time));
    (mode == 4).then_some(Answer {
        stratum: head[1],
        alarm: leap == 3,
        origin: time(24)?,
        received: to_unix(time(32)?)?,
        sent: to_unix(time(40)?)?,
    })
}

/// Nanoseconds since 1970; times before 1968 are those of the next era, from 2036 on.
fn to_unix(time: u64) -> Option<u64> {
    let (seconds, fraction) = (time >> 32, time & 0xffff_ffff);
    let era = if seconds < 1 << 31 { 1 << 32 } else { 0 };
    let seconds = (seconds + era).checked_sub(TO_UNIX)?;
    Some(seconds * 1_000_000_000 + ((fraction * 1_000_000_000) >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_eras() {
        for (time, unix) in [
            (TO_UNIX << 32, Some(0)),
            (TO_UNIX << 32 | 1 << 31, Some(500_000_000)),
            (0, Some((4_294_967_296 - TO_UNIX) * 1_000_000_000)),
            (1 << 63, None),
        ] {
            assert_eq!(to_unix(time), unix, "{time:x}");
        }
    }

    #[test]
    fn only_answers_of_servers_are_read() {
        assert_eq!(read(&question(7)), None, "it is a question");
        let mut answer = question(7);
        (answer[0], answer[1], answer[31]) = (0x24, 2, 9);
        answer[32..40].copy_from_slice(&(TO_UNIX << 32).to_be_bytes());
        answer[40..].copy_from_slice(&(TO_UNIX << 32).to_be_bytes());
        let expected = Answer { stratum: 2, alarm: false, origin: 9, received: 0, sent: 0 };
        assert_eq!(read(&answer), Some(expected));
        (0..48).for_each(|len| assert_eq!(read(&answer[..len]), None));
    }
}
