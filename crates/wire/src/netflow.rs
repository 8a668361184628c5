//! NetFlow 5 and 9 (RFC 3954) and IPFIX (RFC 7011, 7012): records of flows, written as datagrams.
//!
//! ```text
//!  5      header, up to 30 records of 48 bytes, IPv4 alone
//!  9      header │ templates, now and then │ data of IPv4 │ data of IPv6
//!  IPFIX  the same with other numbers for times, and a length in front
//! ```
//!
//! A template says which fields its records have: without one that came before, a record means nothing. Nothing is read
//! here: a router only tells.

use std::net::IpAddr;

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// NetFlow 5: of IPv4, without translation.
    V5,
    /// NetFlow 9.
    V9,
    /// IPFIX.
    Ipfix,
}

/// Packets of one direction of a flow, as they arrived, in a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// From where, and to where.
    pub addresses: [IpAddr; 2],
    /// The same as they left, after NAT; of the same family.
    pub translated: [IpAddr; 2],
    /// Ports, source first; of protocols without any 0.
    pub ports: [u16; 2],
    /// The same as they left.
    pub translated_ports: [u16; 2],
    /// IP protocol.
    pub protocol: u8,
    /// `ifIndex` of the interface they came by, and of that they left by; 0 is not known, or the router itself.
    pub interfaces: [u32; 2],
    /// How many they were.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// When the first came, and the last, in milliseconds since the router started.
    pub times_ms: [u64; 2],
}

impl Record {
    fn is_ipv4(&self) -> bool {
        self.addresses[0].is_ipv4()
    }
}

/// What stands in front of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// How long the router runs, milliseconds.
    pub uptime_ms: u64,
    /// What time it is, milliseconds since 1970.
    pub unix_ms: u64,
    /// Of NetFlow 5 and IPFIX how many records were told before, of 9 how many datagrams.
    pub sequence: u32,
}

/// The longest payload: with its headers it fits into 1,500 bytes, in a tunnel, too.
const LONGEST: usize = 1400;
/// Records of NetFlow 5 in a datagram.
const MOST_V5: usize = 30;
/// The numbers of both templates.
const TEMPLATES: [u16; 2] = [256, 257];
/// A field's number and length where it is a time.
const TIMES_V9: [(u16, u16); 2] = [(22, 4), (21, 4)];
const TIMES_IPFIX: [(u16, u16); 2] = [(152, 8), (153, 8)];
/// The numbers of those that depend on the family: source, destination, both after translation.
const ADDRESSES: [[u16; 4]; 2] = [[8, 12, 225, 226], [27, 28, 281, 282]];
/// All others, behind the times: packets, bytes, interfaces, protocol, ports, ports after translation.
const OTHERS: [(u16, u16); 9] =
    [(2, 8), (1, 8), (10, 4), (14, 4), (4, 1), (7, 2), (11, 2), (227, 2), (228, 2)];

/// Writes a datagram of the first records, with the templates if these are to be told, and says how many records
/// it has: as many as fit. NetFlow 5 leaves out those of IPv6; they are among those it says.
pub fn write(
    version: Version,
    header: &Header,
    with_templates: bool,
    records: &[Record],
) -> (Vec<u8>, usize) {
    let mut out = Vec::with_capacity(LONGEST);
    let seconds = (header.unix_ms / 1000) as u32;
    if version == Version::V5 {
        let some = &records[..records.len().min(MOST_V5)];
        let told: Vec<&Record> = some.iter().filter(|record| record.is_ipv4()).collect();
        put16(&mut out, 5);
        put16(&mut out, told.len() as u16);
        put32(&mut out, header.uptime_ms as u32);
        put32(&mut out, seconds);
        put32(&mut out, (header.unix_ms % 1000) as u32 * 1_000_000);
        put32(&mut out, header.sequence);
        put32(&mut out, 0); // engine, no sampling
        told.iter().for_each(|record| v5(&mut out, record));
        return (out, some.len());
    }
    let is_v9 = version == Version::V9;
    put16(&mut out, if is_v9 { 9 } else { 10 });
    put16(&mut out, 0); // how many, or how long: below
    if is_v9 {
        put32(&mut out, header.uptime_ms as u32);
    }
    put32(&mut out, seconds);
    put32(&mut out, header.sequence);
    put32(&mut out, 0); // the source, or observation domain
    let mut count = 0;
    if with_templates {
        templates(&mut out, is_v9);
        count += TEMPLATES.len();
    }
    let (taken, room) = fitting(is_v9, LONGEST - out.len(), records);
    debug_assert!(room <= LONGEST);
    for (family, template) in TEMPLATES.into_iter().enumerate() {
        let of_family = records[..taken].iter().filter(|record| record.is_ipv4() == (family == 0));
        let begin = out.len();
        put16(&mut out, template);
        put16(&mut out, 0);
        let mut any = false;
        for record in of_family {
            any = true;
            count += 1;
            data(&mut out, is_v9, header, record);
        }
        if !any {
            out.truncate(begin);
            continue;
        }
        while !out.len().is_multiple_of(4) {
            out.push(0);
        }
        let len = (out.len() - begin) as u16;
        out[begin + 2..begin + 4].copy_from_slice(&len.to_be_bytes());
    }
    let second = if is_v9 { count as u16 } else { out.len() as u16 };
    out[2..4].copy_from_slice(&second.to_be_bytes());
    (out, taken)
}

/// How many of the first records have room, and how much they take.
fn fitting(is_v9: bool, room: usize, records: &[Record]) -> (usize, usize) {
    // The heads of both sets, and what fills them up.
    let mut len = 2 * (4 + 3);
    for (n, record) in records.iter().enumerate() {
        let more = fields(is_v9, usize::from(!record.is_ipv4())).map(|(_, len)| len).sum::<u16>();
        if len + usize::from(more) > room {
            return (n, len);
        }
        len += usize::from(more);
    }
    (records.len(), len)
}

/// Numbers and lengths of the fields of a family's records.
fn fields(is_v9: bool, family: usize) -> impl Iterator<Item = (u16, u16)> {
    let times = if is_v9 { TIMES_V9 } else { TIMES_IPFIX };
    let len = [4, 16][family];
    let addresses = ADDRESSES[family].into_iter().map(move |number| (number, len));
    times.into_iter().chain(addresses).chain(OTHERS)
}

fn templates(out: &mut Vec<u8>, is_v9: bool) {
    let begin = out.len();
    put16(out, if is_v9 { 0 } else { 2 });
    put16(out, 0);
    for (family, template) in TEMPLATES.into_iter().enumerate() {
        put16(out, template);
        put16(out, fields(is_v9, family).count() as u16);
        for (number, len) in fields(is_v9, family) {
            put16(out, number);
            put16(out, len);
        }
    }
    let len = (out.len() - begin) as u16;
    out[begin + 2..begin + 4].copy_from_slice(&len.to_be_bytes());
}

/// The fields in the order of [`fields`].
fn data(out: &mut Vec<u8>, is_v9: bool, header: &Header, record: &Record) {
    for time in record.times_ms {
        match is_v9 {
            true => put32(out, time as u32),
            false => {
                let ago = header.uptime_ms.saturating_sub(time);
                out.extend(header.unix_ms.saturating_sub(ago).to_be_bytes());
            }
        }
    }
    for address in record.addresses.into_iter().chain(record.translated) {
        match address {
            IpAddr::V4(address) => out.extend(address.octets()),
            IpAddr::V6(address) => out.extend(address.octets()),
        }
    }
    out.extend(record.packets.to_be_bytes());
    out.extend(record.bytes.to_be_bytes());
    record.interfaces.into_iter().for_each(|index| put32(out, index));
    out.push(record.protocol);
    record.ports.into_iter().chain(record.translated_ports).for_each(|port| put16(out, port));
}

fn v5(out: &mut Vec<u8>, record: &Record) {
    for address in record.addresses {
        match address {
            IpAddr::V4(address) => out.extend(address.octets()),
            IpAddr::V6(_) => unreachable!("left out before"),
        }
    }
    put32(out, 0); // the next hop is not told
    record.interfaces.into_iter().for_each(|index| put16(out, index.min(0xffff) as u16));
    for number in [record.packets, record.bytes] {
        put32(out, number.min(u32::MAX.into()) as u32);
    }
    record.times_ms.into_iter().for_each(|time| put32(out, time as u32));
    record.ports.into_iter().for_each(|port| put16(out, port));
    out.extend([0, 0, record.protocol, 0]); // flags and TOS are not told
    out.extend([0; 8]); // nor AS numbers, nor prefixes' lengths
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(n: u8, six: bool) -> Record {
        let address = |last: u8| -> IpAddr {
            let text = if six { format!("2001:db8::{last:x}") } else { format!("10.0.0.{last}") };
            text.parse().unwrap()
        };
        Record {
            addresses: [address(n), address(200)],
            translated: [address(100), address(200)],
            ports: [1000 + u16::from(n), 80],
            translated_ports: [2000, 80],
            protocol: 6,
            interfaces: [1, 2],
            packets: 10,
            bytes: 1500,
            times_ms: [1000, 4000],
        }
    }

    const HEADER: Header = Header { uptime_ms: 5000, unix_ms: 1_795_635_005_042, sequence: 7 };

    #[test]
    fn version_five() {
        let records: Vec<Record> = (0..40).map(|n| record(n, n == 3)).collect();
        let (bytes, taken) = write(Version::V5, &HEADER, true, &records);
        assert_eq!((taken, bytes.len()), (30, 24 + 29 * 48), "one of IPv6 is not told");
        assert_eq!(bytes[..4], [0, 5, 0, 29]);
        assert_eq!(bytes[4..8], 5000u32.to_be_bytes());
        assert_eq!(bytes[8..12], 1_795_635_005u32.to_be_bytes());
        assert_eq!(bytes[12..16], 42_000_000u32.to_be_bytes());
        assert_eq!(bytes[16..20], 7u32.to_be_bytes());
        let first = &bytes[24..72];
        assert_eq!(first[..8], [10, 0, 0, 0, 10, 0, 0, 200]);
        assert_eq!(first[12..16], [0, 1, 0, 2]);
        assert_eq!(first[16..24], [0, 0, 0, 10, 0, 0, 0x05, 0xdc]);
        assert_eq!((&first[32..34], first[38]), (&1000u16.to_be_bytes()[..], 6));
    }

    /// Reads what was written, by its own templates: the fields of each record, by number.
    fn read(bytes: &[u8], head: usize) -> Vec<Vec<(u16, Vec<u8>)>> {
        let at = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let (mut sets, mut known, mut all) = (head, vec![], vec![]);
        while sets < bytes.len() {
            let (id, end) = (at(sets), sets + at(sets + 2));
            let mut next = sets + 4;
            if id < 256 {
                while next + 4 <= end {
                    let (template, n) = (at(next), at(next + 2));
                    let fields: Vec<(u16, usize)> = (0..n)
                        .map(|n| (at(next + 4 + 4 * n) as u16, at(next + 6 + 4 * n)))
                        .collect();
                    known.push((template, fields));
                    next += 4 + 4 * n;
                }
            } else {
                let (_, fields) = known.iter().find(|(template, _)| *template == id).unwrap();
                let len: usize = fields.iter().map(|(_, len)| len).sum();
                while next + len <= end {
                    let mut record = vec![];
                    for (number, len) in fields {
                        record.push((*number, bytes[next..next + len].to_vec()));
                        next += len;
                    }
                    all.push(record);
                }
                assert!(end - next < 4, "padding");
            }
            sets = end;
        }
        assert_eq!(sets, bytes.len());
        all
    }

    #[test]
    fn by_templates() {
        for (version, head) in [(Version::V9, 20), (Version::Ipfix, 16)] {
            let records = [record(1, false), record(2, true), record(3, false)];
            let (bytes, taken) = write(version, &HEADER, true, &records);
            assert_eq!(taken, 3);
            let is_v9 = version == Version::V9;
            let second = if is_v9 { 2 + 3 } else { bytes.len() };
            assert_eq!(bytes[2..4], (second as u16).to_be_bytes());
            let read = read(&bytes, head);
            assert_eq!(read.len(), 3);
            let field = |record: &[(u16, Vec<u8>)], number: u16| {
                let found = record.iter().find(|(other, _)| *other == number);
                found.map(|(_, value)| value.clone()).unwrap_or_default()
            };
            // Those of IPv4 stand first.
            for (record, last) in [(&read[0], 1), (&read[1], 3)] {
                assert_eq!(field(record, 8), [10, 0, 0, last]);
                assert_eq!(field(record, 225), [10, 0, 0, 100]);
                assert_eq!(field(record, 227), 2000u16.to_be_bytes());
                assert_eq!(field(record, 1), 1500u64.to_be_bytes());
                assert_eq!(field(record, 2), 10u64.to_be_bytes());
                assert_eq!(field(record, 14), 2u32.to_be_bytes());
            }
            assert_eq!(field(&read[2], 27).len(), 16);
            match is_v9 {
                true => assert_eq!(field(&read[0], 22), 1000u32.to_be_bytes()),
                false => {
                    let first = 1_795_635_005_042u64 - 4000;
                    assert_eq!(field(&read[0], 152), first.to_be_bytes());
                }
            }
        }
    }

    #[test]
    fn no_longer_than_a_packet() {
        let records: Vec<Record> = (0..100).map(|n| record(n, n % 2 == 0)).collect();
        for version in [Version::V9, Version::Ipfix] {
            for templates in [false, true] {
                let (mut rest, mut sizes) = (&records[..], vec![]);
                while !rest.is_empty() {
                    let (bytes, taken) = write(version, &HEADER, templates, rest);
                    assert!(taken > 0 && bytes.len() <= LONGEST, "{version:?} {}", bytes.len());
                    sizes.push(bytes.len());
                    rest = &rest[taken..];
                }
                assert!(sizes[0] > LONGEST - 120, "{version:?}: {sizes:?}");
            }
        }
    }
}
