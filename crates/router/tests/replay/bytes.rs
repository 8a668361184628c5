//! Frames by plain byte offsets: nothing of `wire` is used, and every checksum is computed anew.
//!
//! ```text
//!  0 dst 6 src 12 type 14 ┬ 22 TTL 24 sum 26 src 30 dst 34 ┬ 34 src port 36 dst port
//!                         └ IPv4 without options           └ ICMP: 38 identifier 42 quoted packet
//! ```

/// The Internet checksum (RFC 1071) of some bytes, on top of a sum.
fn checksum(mut sum: u64, bytes: &[u8]) -> u16 {
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&byte| u64::from(byte));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

pub(crate) fn protocol(frame: &[u8]) -> u8 {
    frame[23]
}

/// The complaint about a packet whose TTL ran out (RFC 792), as it leaves for the sender.
pub(crate) fn time_exceeded(about: &[u8], from: u32, macs: [[u8; 6]; 2]) -> Vec<u8> {
    let quote = &about[14..about.len().min(14 + 548)]; // all that fits 576 bytes, RFC 1812 §4.3.2.3
    let len = 20 + 8 + quote.len() as u16;
    let mut frame = [&macs[0][..], &macs[1], &[0x08, 0x00, 0x45, 0xc0]].concat();
    frame.extend(len.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 1, 0, 0]);
    frame.extend(from.to_be_bytes());
    frame.extend(&about[26..30]);
    frame.extend([11, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend(quote);
    finish(std::slice::from_mut(&mut frame));
    frame
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The IPv4 header that begins at `at` gets its checksum.
fn mend_header(bytes: &mut [u8], at: usize) {
    assert_eq!(bytes[at], 0x45, "no options in this capture");
    put16(bytes, at + 10, 0);
    let sum = checksum(0, &bytes[at..at + 20]);
    put16(bytes, at + 10, sum);
}

/// What follows the IPv4 header.
fn payload(frame: &[u8]) -> &[u8] {
    let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    &frame[34..end]
}

/// Computes every checksum of a datagram: headers, and transport over all fragments. Of a fragment
/// by itself, only the header's.
pub(crate) fn finish(datagram: &mut [Vec<u8>]) {
    for frame in &mut *datagram {
        mend_header(frame, 14);
    }
    let fragment = u16::from_be_bytes([datagram[0][20], datagram[0][21]]) & 0x3fff != 0;
    if fragment && datagram.len() == 1 {
        return;
    }
    let at = match protocol(&datagram[0]) {
        6 => 34 + 16,
        17 if datagram[0][40..42] == [0, 0] => return,
        17 => 34 + 6,
        1 => 34 + 2,
        other => panic!("protocol {other}"),
    };
    put16(&mut datagram[0], at, 0);
    let all: Vec<u8> = datagram.iter().flat_map(|frame| payload(frame)).copied().collect();
    let frame = &datagram[0];
    let mut pseudo = 0;
    if protocol(frame) != 1 {
        pseudo = frame[26..34].chunks(2).map(|p| u64::from(p[0]) << 8 | u64::from(p[1])).sum();
        pseudo += u64::from(protocol(frame)) + all.len() as u64;
    }
    let sum = checksum(pseudo, &all);
    // A UDP checksum that comes out as 0 is sent as 0xffff (RFC 768).
    let sum = if protocol(frame) == 17 && sum == 0 { 0xffff } else { sum };
    put16(&mut datagram[0], at, sum);
}

pub(crate) fn set_macs(frame: &mut [u8], dst: [u8; 6], src: [u8; 6]) {
    frame[..6].copy_from_slice(&dst);
    frame[6..12].copy_from_slice(&src);
}

/// Which end of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Source,
    Destination,
}

/// Gives one end of a datagram another address, and another port or ICMP identifier.
pub(crate) fn readdress(datagram: &mut [Vec<u8>], end: End, address: u32, port: Option<u16>) {
    let at = if end == End::Source { 26 } else { 30 };
    for frame in &mut *datagram {
        frame[at..at + 4].copy_from_slice(&address.to_be_bytes());
    }
    let Some(port) = port else { return };
    let at = match (protocol(&datagram[0]), end) {
        (1, _) => 38,
        (_, End::Source) => 34,
        (_, End::Destination) => 36,
    };
    put16(&mut datagram[0], at, port);
}

/// The source port, or the ICMP identifier.
pub(crate) fn source_port(frame: &[u8]) -> u16 {
    let at = if protocol(frame) == 1 { 38 } else { 34 };
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

/// One hop further.
pub(crate) fn hop(datagram: &mut [Vec<u8>]) {
    for frame in datagram {
        frame[22] -= 1;
    }
}

/// What an ICMP error quotes, from its IP header on.
pub(crate) fn quoted(frame: &[u8]) -> &[u8] {
    &payload(frame)[8..]
}

/// Makes an ICMP error quote the beginning of another packet.
pub(crate) fn quote(frame: &mut [u8], packet: &[u8]) {
    let len = quoted(frame).len();
    frame[42..42 + len].copy_from_slice(&packet[..len]);
}

/// The quoted packet was one hop further when it was complained about.
pub(crate) fn hop_quoted(frame: &mut [u8]) {
    frame[42 + 8] -= 1;
    mend_header(frame, 42);
}
