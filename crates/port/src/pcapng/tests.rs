//! Files built block by block, so that what no writer of ours makes is read as well.

use super::*;
use proptest::prelude::*;

/// Adds a block as the format says, whatever the body.
fn block(file: &mut Vec<u8>, endian: Endian, kind: u32, body: &[u8]) {
    let len = body.len().next_multiple_of(4);
    endian.put_u32(file, kind);
    endian.put_u32(file, len as u32 + 12);
    file.extend(body);
    file.resize(file.len() + len - body.len(), 0);
    endian.put_u32(file, len as u32 + 12);
}

fn numbers(endian: Endian, numbers: &[u32]) -> Vec<u8> {
    let mut bytes = vec![];
    for &number in numbers {
        endian.put_u32(&mut bytes, number);
    }
    bytes
}

fn section(endian: Endian) -> Vec<u8> {
    let mut body = numbers(endian, &[BYTE_ORDER]);
    endian.put_u16(&mut body, 1);
    endian.put_u16(&mut body, 0);
    body.extend([0xff; 8]);
    let mut file = vec![];
    block(&mut file, endian, SECTION_HEADER, &body);
    file
}

fn interface(file: &mut Vec<u8>, endian: Endian, snaplen: u32, options: &[(u16, &[u8])]) {
    let mut body = vec![];
    endian.put_u16(&mut body, ETHERNET);
    endian.put_u16(&mut body, 0);
    endian.put_u32(&mut body, snaplen);
    for &(code, value) in options {
        endian.put_u16(&mut body, code);
        endian.put_u16(&mut body, value.len() as u16);
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(file, endian, INTERFACE_DESCRIPTION, &body);
}

fn packet(file: &mut Vec<u8>, endian: Endian, id: u32, ticks: u64, original: u32, bytes: &[u8]) {
    let head = [id, (ticks >> 32) as u32, ticks as u32, bytes.len() as u32, original];
    let mut body = numbers(endian, &head);
    body.extend(bytes);
    block(file, endian, ENHANCED_PACKET, &body);
}

type Seen = (u64, u32, Option<Direction>, Vec<u8>);

fn read_all(file: &[u8]) -> Result<Vec<Seen>, ReadError> {
    let mut reader = Reader::new(file)?;
    let mut seen = vec![];
    while let Some(r) = reader.read()? {
        seen.push((r.timestamp_ns, r.original_len, r.direction, r.bytes.to_vec()));
    }
    Ok(seen)
}

/// What the writer writes, byte by byte.
#[test]
fn a_known_file() {
    let mut writer = Writer::new(vec![]).unwrap();
    let record = Record {
        original_len: 64,
        direction: Some(Direction::Out),
        ..Record::ethernet(0x1_0000_0002, &[0xaa, 0xbb, 0xcc])
    };
    writer.write(&record).unwrap();
    #[rustfmt::skip]
    let expected = [
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
        1, 0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
        6, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 64, 0, 0, 0,
        0xaa, 0xbb, 0xcc, 0, 2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0,
    ];
    assert_eq!(writer.finish().unwrap(), expected);
}

#[test]
fn sections_interfaces_and_all_kinds_of_packets() {
    let mut file = vec![];
    for endian in [Endian::Big, Endian::Little] {
        file.extend(section(endian));
        // Unknown blocks before, between and after.
        block(&mut file, endian, 0xbad, &[1, 2, 3, 4, 5]);
        interface(&mut file, endian, 4, &[(2, b"eth0"), (1, b"a comment")]);
        interface(&mut file, endian, 0, &[(IF_TSRESOL, &[9]), (0, &[])]);
        packet(&mut file, endian, 0, 7, 60, &[1; 5]);
        packet(&mut file, endian, 1, 8, 2, &[2; 2]);
        block(&mut file, endian, 5, &[0; 12]);
        // A simple one: 9 bytes long, of which interface 0 keeps 4.
        let mut body = numbers(endian, &[9]);
        body.extend([3; 4]);
        block(&mut file, endian, SIMPLE_PACKET, &body);
        // An old one: interface 1, 3 drops.
        let mut body = vec![];
        endian.put_u16(&mut body, 1);
        endian.put_u16(&mut body, 3);
        body.extend(numbers(endian, &[1, 0, 1, 1]));
        body.push(4);
        block(&mut file, endian, OLD_PACKET, &body);
    }
    let one: Vec<Seen> = vec![
        (7000, 60, None, vec![1; 5]),
        (8, 2, None, vec![2; 2]),
        (8, 9, None, vec![3; 4]),
        (1 << 32, 1, None, vec![4]),
    ];
    assert_eq!(read_all(&file).unwrap(), [one.clone(), one].concat());
}

#[test]
fn a_section_forgets_the_interfaces_before() {
    let mut file = section(Endian::Little);
    interface(&mut file, Endian::Little, 0, &[]);
    file.extend(section(Endian::Little));
    packet(&mut file, Endian::Little, 0, 0, 0, &[]);
    let error = read_all(&file).unwrap_err().to_string();
    assert_eq!(error, "at byte 76: a packet of interface 0, but 0 are described");
}

#[test]
fn times_are_what_the_interface_says() {
    let check = |resolution: u8, offset: i64, ticks, expected: u64| {
        for endian in [Endian::Big, Endian::Little] {
            let offset_bytes = match endian {
                Endian::Big => offset.to_be_bytes(),
                Endian::Little => offset.to_le_bytes(),
            };
            let mut file = section(endian);
            let options: [(u16, &[u8]); 2] =
                [(IF_TSRESOL, &[resolution]), (IF_TSOFFSET, &offset_bytes)];
            interface(&mut file, endian, 0, &options);
            packet(&mut file, endian, 0, ticks, 0, &[]);
            let seen = read_all(&file).unwrap();
            assert_eq!(seen[0].0, expected, "{resolution:#x} {offset} {ticks} {endian:?}");
        }
    };
    check(6, 0, 1, 1000);
    check(9, 0, u64::MAX, u64::MAX);
    check(0, 0, 3, 3_000_000_000);
    check(0, 0, u64::MAX, u64::MAX);
    check(12, 0, 1999, 1);
    check(127, 0, u64::MAX, 0);
    check(0x80 | 10, 0, 1024, 1_000_000_000);
    check(0x80 | 30, 0, 1 << 29, 500_000_000);
    check(0x80 | 127, 0, u64::MAX, 0);
    check(3, 2, 1, 2_001_000_000);
    check(3, -1, 1500, 500_000_000);
    check(3, i64::MIN, 1, 0);
    check(3, i64::MAX, 1, u64::MAX);
}

#[test]
fn a_frame_check_sequence_comes_off() {
    let mut file = section(Endian::Little);
    interface(&mut file, Endian::Little, 0, &[(IF_FCSLEN, &[32])]);
    packet(&mut file, Endian::Little, 0, 0, 8, &[1, 2, 3, 4, 5, 6, 7, 8]);
    packet(&mut file, Endian::Little, 0, 0, 8, &[1, 2, 3]);
    packet(&mut file, Endian::Little, 0, 0, 3, &[1, 2, 3]);
    let seen = read_all(&file).unwrap();
    let lens: Vec<_> = seen.iter().map(|seen| (seen.1, seen.3.len())).collect();
    assert_eq!(lens, [(4, 4), (4, 3), (0, 0)]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    // Section header 0–27, interface 28–47 (28 + 20), then a packet of 4 bytes, 48–83.
    let mut good = section(Endian::Little);
    interface(&mut good, Endian::Little, 0, &[]);
    packet(&mut good, Endian::Little, 0, 0, 4, &[1; 4]);
    assert_eq!((good.len(), read_all(&good).unwrap().len()), (84, 1));
    let check = |place: usize, bytes: &[u8], len: usize, expected: &str| {
        let mut file = good.clone();
        file[place..place + bytes.len()].copy_from_slice(bytes);
        file.truncate(len);
        assert_eq!(read_all(&file).unwrap_err().to_string(), expected);
    };
    let ff = [0xff; 4];
    check(0, &[1], 99, "at byte 0: neither pcap nor pcapng: it begins with [01, 0d, 0d, 0a]");
    check(8, &ff, 99, "at byte 8: ffffffff is no byte-order magic");
    check(12, &[2], 99, "at byte 12: version 2.0 of the format is not known");
    check(4, &[24], 99, "at byte 0: a section header of 24 bytes: it can have 28 to 16777216");
    check(32, &ff, 99, "at byte 28: a block of 4294967295 bytes: it can have 12 to 16777216");
    check(32, &[8], 99, "at byte 28: a block of 8 bytes: it can have 12 to 16777216");
    check(32, &[21], 99, "at byte 28: a block of 21 bytes: it can have 12 to 16777216");
    check(44, &[9], 99, "at byte 28: a block has length 20 in front and 9 behind");
    check(28, &[6], 99, "at byte 28: a packet block of 20 bytes: it can have 32 to 16777216");
    check(56, &[1], 99, "at byte 48: a packet of interface 1, but 1 are described");
    check(28, &[9], 99, "at byte 48: a packet of interface 0, but 0 are described");
    check(68, &[5], 99, "at byte 48: a packet in its block of 5 bytes: it can have 0 to 4");
    check(68, &ff, 99, "at byte 48: a packet in its block of 4294967295 bytes: it can have 0 to 4");
    check(0, &[], 30, "at byte 28: the file ends inside a block's header: 2 of 8 bytes");
    check(0, &[], 60, "at byte 56: the file ends inside a block: 4 of 28 bytes");
    check(0, &[], 10, "at byte 8: the file ends inside a section header: 2 of 4 bytes");
    // With no captured bytes the four become an option: code 0x101, 257 bytes, of which 0 follow.
    check(68, &[0], 99, "at byte 48: a block's option of 257 bytes: it can have 0 to 0");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut writer = Writer::new(vec![]).unwrap();
    let long = vec![0; MAX_RECORD as usize + 1];
    let radio = Record { link_type: 127, ..Record::ethernet(0, &[]) };
    for bad in [Record::ethernet(0, &long), radio] {
        assert_eq!(writer.write(&bad).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    assert_eq!(writer.finish().unwrap().len(), 60, "nothing half-written");
}

proptest! {
    /// What is written is read.
    #[test]
    fn round_trip(
        big: bool,
        records in prop::collection::vec(
            (any::<u64>(), prop::collection::vec(any::<u8>(), 0..80), 0u32..2000, 0..3),
            0..10,
        ),
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let mut writer = Writer::with(vec![], endian).unwrap();
        let mut expected: Vec<Seen> = vec![];
        for (timestamp_ns, bytes, cut, direction) in records {
            let direction = [None, Some(Direction::In), Some(Direction::Out)][direction as usize];
            let original_len = bytes.len() as u32 + cut;
            let record = Record { original_len, direction, ..Record::ethernet(timestamp_ns, &bytes) };
            writer.write(&record).unwrap();
            expected.push((timestamp_ns, original_len, direction, bytes));
        }
        prop_assert_eq!(read_all(&writer.finish().unwrap()).unwrap(), expected);
    }
}
