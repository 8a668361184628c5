//! Multicast listener discovery: queries, and reports of version 2 (RFC 3810) and 1 (RFC 2710).
//!
//! ```text
//! query:     | 130 | 0 | checksum 2 | delay 2 | 0 2 | group 16 |  of version 2: | S QRV | QQIC | sources … |
//! report v2: | 143 | 0 | checksum 2 | 0 2 | records 2 | kind | 0 | 0 2 | group 16 | …
//! ```
//!
//! All go with hop limit 1 behind a router alert (RFC 2711), which snooping switches look for.

use crate::bytes::be16;
use crate::icmpv6::kind;
use crate::ipv6::header;
use crate::layers::Malformed;
use std::net::Ipv6Addr;
use std::time::Duration;

/// The hop-by-hop header with a router alert that stands before a message.
pub const ALERT: [u8; 8] = [header::ICMPV6, 0, 5, 2, 0, 0, 1, 0];
/// Where reports of version 2 go.
pub const REPORTS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// Where it is told that nobody listens any more, in version 1's words: all routers.
pub const ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// What a record of a report says of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// It is listened to: the answer to a query.
    Listens = 2,
    /// It is not any more.
    Leaves = 3,
    /// It is from now on.
    Joins = 4,
}

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// The group; none of a general query.
    pub group: Option<Ipv6Addr>,
    /// Within which time answers are expected.
    pub delay: Duration,
    /// Whether who asks understands only version 1.
    pub is_v1: bool,
}

impl Query {
    /// Reads a message that begins at its ICMPv6 header.
    ///
    /// # Errors
    /// [`Malformed::Transport`] if it is none.
    pub fn read(message: &[u8]) -> Result<Query, Malformed> {
        let head = message.first_chunk::<24>().ok_or(Malformed::Transport)?;
        // RFC 3810 §8.1: 24 bytes are version 1, 28 and more are version 2.
        if head[0] != kind::LISTENER_QUERY || (25..28).contains(&message.len()) {
            return Err(Malformed::Transport);
        }
        let group = head[8..].first_chunk::<16>().map(|group| Ipv6Addr::from(*group));
        let group = group.filter(|group| !group.is_unspecified());
        if group.is_some_and(|group| !group.is_multicast()) {
            return Err(Malformed::Transport);
        }
        let (is_v1, code) = (message.len() == 24, u64::from(be16(head, 4)));
        // RFC 3810 §5.1.3: large ones have an exponent.
        let ms = match code {
            code if is_v1 || code < 0x8000 => code,
            code => (code & 0xfff | 0x1000) << ((code >> 12 & 7) + 3),
        };
        Ok(Query { group, delay: Duration::from_millis(ms), is_v1 })
    }
}

/// A report of version 2, its checksum yet to be written.
pub fn report(records: &[(Record, Ipv6Addr)]) -> Vec<u8> {
    let mut bytes = vec![kind::LISTENER_REPORT_V2, 0, 0, 0, 0, 0];
    bytes.extend((records.len() as u16).to_be_bytes());
    for (record, group) in records {
        bytes.extend([*record as u8, 0, 0, 0]);
        bytes.extend(group.octets());
    }
    bytes
}

/// The same of one group in version 1's words.
pub fn report_v1(record: Record, group: Ipv6Addr) -> Vec<u8> {
    let kind = match record {
        Record::Leaves => kind::LISTENER_DONE_V1,
        Record::Joins | Record::Listens => kind::LISTENER_REPORT_V1,
    };
    let mut bytes = vec![kind, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(group.octets());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_of_two_versions() {
        let query = |delay: u16, group: &str, more: &[u8]| {
            let group: Ipv6Addr = group.parse().unwrap();
            let mut bytes = vec![kind::LISTENER_QUERY, 0, 0, 0];
            bytes.extend(delay.to_be_bytes());
            bytes.extend([0, 0]);
            bytes.extend(group.octets());
            bytes.extend(more);
            Query::read(&bytes).map(|query| (query.delay.as_millis(), query.is_v1))
        };
        let v2 = [2, 125, 0, 0];
        assert_eq!(query(10_000, "::", &[]), Ok((10_000, true)));
        assert_eq!(query(10_000, "::", &v2), Ok((10_000, false)));
        assert_eq!(query(0x8000, "::", &v2), Ok((0x8000, false)));
        assert_eq!(query(0x9001, "ff02::1:2", &v2), Ok((0x1001 << 4, false)));
        assert_eq!(query(1, "::", &v2[..3]), Err(Malformed::Transport));
        assert_eq!(query(1, "2001:db8::1", &v2), Err(Malformed::Transport));
        assert_eq!(Query::read(&[130; 23]), Err(Malformed::Transport));
    }

    #[test]
    fn reports_are_as_long_as_their_groups() {
        let group: Ipv6Addr = "ff02::1:ff00:1".parse().unwrap();
        let bytes = report(&[(Record::Joins, group), (Record::Leaves, REPORTS)]);
        assert_eq!((bytes.len(), &bytes[6..10]), (48, &[0, 2, 4, 0][..]));
        assert_eq!(report_v1(Record::Leaves, group)[0], 132);
        assert_eq!(report_v1(Record::Listens, group).len(), 24);
    }
}
