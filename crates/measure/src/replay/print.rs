//! The bytes by which a frame is known again.
//!
//! ```text
//!  packets    | MACs, tags | IP less TTL, checksum, ECN | all behind it, up to the packet's end |
//!              not looked at          └────────────── hashed ──────────────┘
//!  payloads   less addresses, identification, ports and checksums, too: what a NAT leaves
//!  not IP     the whole frame
//! ```
//!
//! Whether an IPv4 header's checksum is right is hashed instead of the checksum: a device has to set
//! it right where it was, and passes on or drops what was wrong.
//!
//! 64 bits that are no secret: of ten million frames one in a hundred thousand replays has two that are
//! taken for each other.

use super::addresses::upper;
use super::ethernet::behind_tags;
use wire::checksum;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};

/// What of a frame is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lens {
    /// What a router or a bridge leaves as it was.
    #[default]
    Packets,
    /// What a NAT leaves, too.
    Payloads,
}

/// What a frame is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Print {
    /// All of it.
    pub(super) exact: u64,
    /// Its addresses, protocol and ports, this way; its pair's where it has no ports. Neither of what
    /// is not IP, nor through a NAT.
    pub(super) conversation: Option<u64>,
    /// Its addresses and protocol.
    pub(super) pair: Option<u64>,
}

/// The longest header that is looked into, and what of the next one is.
const HEAD: usize = 60 + 20;

impl Print {
    pub(super) fn of(frame: &[u8], lens: Lens) -> Print {
        let (kind, at) = behind_tags(frame);
        let packet = frame.get(at..).unwrap_or_default();
        let print = match kind {
            ETHERTYPE_IPV4 => ipv4(packet, lens),
            ETHERTYPE_IPV6 => ipv6(packet, lens),
            _ => None,
        };
        print.unwrap_or_else(|| Print { exact: hash(0, frame), ..Print::default() })
    }
}

fn ipv4(packet: &[u8], lens: Lens) -> Option<Print> {
    let header = usize::from(packet.first()? & 15) * 4;
    if packet[0] >> 4 != 4 || !(20..=packet.len()).contains(&header) {
        return None;
    }
    let len = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    // One that claims other lengths is hashed as it stands, padding and all.
    let packet = packet.get(..len).filter(|_| len >= header).unwrap_or(packet);
    let right = checksum::is_ok(&packet[..header]);
    let whole = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff == 0;
    let mut head = Head::of(packet);
    head.bytes[1] &= !3; // ECN
    head.clear(8..9);
    head.clear(10..12);
    let protocol = packet[9];
    head.finish(packet, lens, (4..6, 12..20), (protocol, header, whole), u64::from(right) << 8 | 4)
}

fn ipv6(packet: &[u8], lens: Lens) -> Option<Print> {
    if packet.len() < 40 || packet[0] >> 4 != 6 {
        return None;
    }
    let len = 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    let packet = packet.get(..len).unwrap_or(packet);
    let (protocol, at) = upper(packet).unwrap_or((packet[6], 40));
    let whole = at == 40 || packet[6] != 44;
    let mut head = Head::of(packet);
    head.bytes[1] &= !0x30; // ECN
    head.clear(7..8);
    head.finish(packet, lens, (0..0, 8..40), (protocol, at, whole), 6)
}

/// The first bytes of a packet, some of which do not count.
struct Head {
    bytes: [u8; HEAD],
    len: usize,
}

impl Head {
    fn of(packet: &[u8]) -> Head {
        let (mut bytes, len) = ([0; HEAD], packet.len().min(HEAD));
        bytes[..len].copy_from_slice(&packet[..len]);
        Head { bytes, len }
    }

    fn clear(&mut self, at: std::ops::Range<usize>) {
        let end = at.end.min(self.len);
        self.bytes[at.start.min(end)..end].fill(0);
    }

    /// The print of a packet: where identification and addresses stand, what is above, where, and
    /// whether it is whole.
    fn finish(
        mut self,
        packet: &[u8],
        lens: Lens,
        (identification, addresses): (std::ops::Range<usize>, std::ops::Range<usize>),
        (protocol, at, whole): (u8, usize, bool),
        seed: u64,
    ) -> Option<Print> {
        let pair = hash(u64::from(protocol), &packet[addresses.clone()]);
        let ports = packet.get(at..at + 4).filter(|_| whole && matches!(protocol, 6 | 17));
        let conversation = ports.map_or(pair, |ports| hash(pair, ports));
        if lens == Lens::Payloads {
            self.clear(identification);
            self.clear(addresses);
            if whole {
                match protocol {
                    6 => [0..4, 16..18].map(|part| self.clear(part.start + at..part.end + at)),
                    17 => [0..4, 6..8].map(|part| self.clear(part.start + at..part.end + at)),
                    // ICMP's identifier is its port.
                    1 => [2..6, 2..6].map(|part| self.clear(part.start + at..part.end + at)),
                    _ => [(); 2],
                };
            }
        }
        let exact = hash(hash(seed, &self.bytes[..self.len]), &packet[self.len..]);
        let known = |key| (lens == Lens::Packets).then_some(key);
        Some(Print { exact, conversation: known(conversation), pair: known(pair) })
    }
}

/// Sixteen bytes at a time, two multiplications' halves folded, as wyhash does.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    let (chunks, rest) = bytes.as_chunks::<16>();
    let mut now = seed ^ bytes.len() as u64 ^ 0x243f_6a88_85a3_08d3;
    let mut mix = |low: u64, high: u64| {
        now = fold(low ^ 0xa409_3822_299f_31d1 ^ now, high ^ 0x1319_8a2e_0370_7345)
            ^ now.rotate_left(29);
    };
    for chunk in chunks {
        let both = u128::from_be_bytes(*chunk);
        mix((both >> 64) as u64, both as u64);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    mix(word(low), word(high));
    fold(now ^ 0x082e_fa98_ec4e_6c89, 0x4528_21e6_38d0_1377)
}
