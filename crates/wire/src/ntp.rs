//! SNTP (RFC 4330, RFC 5905 §7.3): questions for the time of day, and answers.
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

/// What a server knows of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// How far it is from a clock; 0: its clock is not set.
    pub stratum: u8,
    /// Whom it asks: an address, or four letters.
    pub reference: [u8; 4],
    /// When its clock was set last, nanoseconds since 1970.
    pub set: u64,
}

/// The answer to a question that came at this time, nanoseconds since 1970, and is answered at once; `None`
/// to what is no client's question.
pub fn answer(question: &[u8], known: &Known, at: u64) -> Option<[u8; LEN]> {
    let head = *question.first_chunk::<LEN>()?;
    let (version, mode) = (head[0] >> 3 & 7, head[0] & 7);
    if !(1..=4).contains(&version) || mode != 3 {
        return None;
    }
    let alarm = if known.stratum == 0 { 3 << 6 } else { 0 };
    let mut bytes = [0; LEN];
    // The clock shows milliseconds, and the time may be off by a second.
    bytes[..4].copy_from_slice(&[alarm | version << 3 | 4, known.stratum, head[2], -10_i8 as u8]);
    bytes[8..12].copy_from_slice(&(1_u32 << 16).to_be_bytes());
    bytes[12..16].copy_from_slice(&known.reference);
    bytes[16..24].copy_from_slice(&from_unix(known.set).to_be_bytes());
    bytes[24..32].copy_from_slice(&head[40..]);
    bytes[32..40].copy_from_slice(&from_unix(at).to_be_bytes());
    bytes[40..].copy_from_slice(&from_unix(at).to_be_bytes());
    Some(bytes)
}

/// The time stamp of so many nanoseconds since 1970: of any era (RFC 5905 §6).
fn from_unix(nanoseconds: u64) -> u64 {
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    ((seconds + TO_UNIX) << 32) | ((rest << 32) / 1_000_000_000)
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
    fn who_asks_is_answered() {
        let known = Known { stratum: 3, reference: [10, 0, 0, 9], set: 1_000_000_000 };
        for (first, answered) in [(0x1b, true), (0x23, true), (0x24, false), (0x03, false)] {
            let mut asks = question(7);
            asks[0] = first;
            let said = answer(&asks, &known, 1_700_000_000_250_000_000);
            assert_eq!(said.is_some(), answered, "{first:x}");
            let Some(said) = said else { continue };
            assert_eq!((said[0], &said[12..16]), (first + 1, &[10, 0, 0, 9][..]));
            let read = read(&said).expect("an answer");
            assert_eq!((read.stratum, read.alarm, read.origin), (3, false, 7));
            assert!(read.sent.abs_diff(1_700_000_000_250_000_000) < 2, "{}", read.sent);
        }
        let unset = Known { stratum: 0, ..known };
        let said = answer(&question(7), &unset, 0).and_then(|said| read(&said)).expect("an answer");
        assert!(said.alarm);
        assert_eq!(answer(&question(7)[..47], &known, 0), None);
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
