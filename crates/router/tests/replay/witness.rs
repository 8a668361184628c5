//! The capture, and what tshark says of each of its frames: no code of ours has read them.

use flate2::read::GzDecoder;
use port::record::Reader;
use std::fs::File;
use std::io::{BufReader, Read};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// The clients' MAC address in the capture (`captures/make.sh`).
pub(crate) const CLIENT_MAC: [u8; 6] = [0x06, 0x00, 0xc0, 0xa8, 0x58, 0x0b];
/// The servers'.
pub(crate) const SERVER_MAC: [u8; 6] = [0x06, 0x00, 0xcb, 0x00, 0x71, 0x01];

/// A frame of the capture.
pub(crate) struct Row {
    /// Since the first frame.
    pub(crate) time_ns: u64,
    /// What was captured.
    pub(crate) bytes: Vec<u8>,
    /// A client sent it.
    pub(crate) from_client: bool,
    /// As tshark writes it: `0x0800`.
    pub(crate) ether_type: String,
    /// If it is IPv4.
    pub(crate) ip: Option<Ip>,
}

/// tshark's fields of an IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ip {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) protocol: u8,
    /// `ip.len`.
    pub(crate) len: u16,
    pub(crate) ttl: u8,
    pub(crate) id: u16,
    pub(crate) more_fragments: bool,
    /// In bytes.
    pub(crate) fragment_offset: u16,
    /// Ports of TCP or UDP; of the quoted packet in an ICMP error.
    pub(crate) tcp: Option<(u16, u16)>,
    pub(crate) udp: Option<(u16, u16)>,
    pub(crate) tcp_flags: u16,
    pub(crate) icmp_type: Option<u8>,
    pub(crate) icmp_id: Option<u16>,
}

fn unpacked(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name);
    let mut bytes = Vec::new();
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    GzDecoder::new(BufReader::new(file)).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A number as tshark writes it, or 0.
fn number(text: &str) -> u16 {
    match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).unwrap(),
        None if text.is_empty() => 0,
        None => text.parse().unwrap(),
    }
}

/// The whole capture.
pub(crate) fn rows() -> Vec<Row> {
    let csv = String::from_utf8(unpacked("home.frames.csv.gz")).unwrap();
    let pcap = unpacked("home.pcap.gz");
    let mut reader = Reader::new(&pcap[..]).unwrap();
    let mut lines = csv.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let (mut rows, mut start_ns, mut latest_ns) = (Vec::new(), None, 0);
    for line in lines {
        let fields: Vec<_> = line.split(',').collect();
        let field = |name| fields[header.iter().position(|&column| column == name).unwrap()];
        let record = reader.read().unwrap().expect("as many records as tshark saw");
        assert_eq!(field("frame.len"), record.bytes.len().to_string(), "{line}");
        let start_ns = *start_ns.get_or_insert(record.timestamp_ns);
        // Two cores stamped the frames; their clocks differ by a little.
        latest_ns = record.timestamp_ns.max(latest_ns);
        let address = |name| u32::from(field(name).parse::<Ipv4Addr>().unwrap());
        let some = |name| Some(field(name)).filter(|text| !text.is_empty()).map(number);
        let ports = |src, dst| some(src).zip(some(dst));
        let ip = (field("eth.type") == "0x0800").then(|| Ip {
            src: address("ip.src"),
            dst: address("ip.dst"),
            protocol: number(field("ip.proto")) as u8,
            len: number(field("ip.len")),
            ttl: number(field("ip.ttl")) as u8,
            id: number(field("ip.id")),
            more_fragments: number(field("ip.flags.mf")) != 0,
            fragment_offset: number(field("ip.frag_offset")) * 8,
            tcp: ports("tcp.srcport", "tcp.dstport"),
            udp: ports("udp.srcport", "udp.dstport"),
            tcp_flags: number(field("tcp.flags")),
            icmp_type: some("icmp.type").map(|kind| kind as u8),
            icmp_id: some("icmp.ident"),
        });
        let mac = &record.bytes[6..12];
        assert!(mac == CLIENT_MAC || mac == SERVER_MAC, "whose is {mac:02x?}?");
        rows.push(Row {
            time_ns: latest_ns - start_ns,
            bytes: record.bytes.to_vec(),
            from_client: mac == CLIENT_MAC,
            ether_type: field("eth.type").to_owned(),
            ip,
        });
    }
    assert!(reader.read().unwrap().is_none(), "more records than tshark saw");
    rows
}
