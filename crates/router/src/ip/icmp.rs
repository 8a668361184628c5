//! The ICMP messages a router sends: errors about packets it could not forward, and echo replies
//! (RFC 792, RFC 1812 §4.3, RFC 1122 §3.2.2).
//!
//! Never decides that a packet is dropped: whoever does asks here for the message.

use port::{Frame, Pool};
use wire::layers::protocol;
use wire::{Layers, MacAddr, Moment, checksum};

/// An error message's type and code, with the word that follows the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// The second word: the next-hop MTU of "fragmentation needed" (RFC 1191 §4), else 0.
    pub word: u32,
}

impl Error {
    /// A plain message.
    pub const fn new(kind: u8, code: u8) -> Error {
        Error { kind, code, word: 0 }
    }

    /// Destination network unreachable.
    pub const NET_UNREACHABLE: Error = Error::new(3, 0);
    /// Destination host unreachable.
    pub const HOST_UNREACHABLE: Error = Error::new(3, 1);
    /// No such protocol here.
    pub const PROTOCOL_UNREACHABLE: Error = Error::new(3, 2);
    /// Nobody listens on the port.
    pub const PORT_UNREACHABLE: Error = Error::new(3, 3);
    /// Communication administratively prohibited.
    pub const ADMIN_PROHIBITED: Error = Error::new(3, 13);
    /// The TTL ran out in transit.
    pub const TTL_EXCEEDED: Error = Error::new(11, 0);
    /// A datagram's pieces did not all come in time.
    pub const REASSEMBLY_EXCEEDED: Error = Error::new(11, 1);

    /// Fragmentation needed and DF set; the next hop takes `mtu` bytes.
    pub const fn fragmentation_needed(mtu: u16) -> Error {
        Error { kind: 3, code: 4, word: mtu as u32 }
    }
}

/// Whether an error may be sent about this packet (RFC 1122 §3.2.2, RFC 1812 §4.3.2.7): never
/// about an ICMP error, a later fragment, a broadcast or multicast at either layer, or a source
/// that is not one host.
pub fn may_answer(frame: &[u8], layers: &Layers) -> bool {
    let group = frame.first_chunk::<6>().is_none_or(|mac| MacAddr(*mac).is_multicast());
    let tuple = layers.tuple;
    let icmp_error = tuple.protocol == protocol::ICMP
        && frame.get(usize::from(layers.l4)).is_none_or(|kind| !matches!(kind, 0 | 8 | 13..=18));
    !group && !layers.later_fragment && !icmp_error && is_host(tuple.src) && tuple.dst >> 28 != 0xe
}

/// Whether an address can belong to one host.
pub fn is_host(address: u32) -> bool {
    !matches!(address >> 24, 0 | 127 | 224..=255)
}

/// How much of the packet an error quotes: all that fits 576 bytes (RFC 1812 §4.3.2.3).
const QUOTE: usize = 576 - 28;

/// An error about the IP packet `original`, from `src`: a frame whose Ethernet header is still to
/// be written. `None` when the pool is empty.
pub fn error(pool: &mut Pool, original: &[u8], error: Error, src: u32) -> Option<Frame> {
    let dst = u32::from_be_bytes(*original.get(12..)?.first_chunk()?);
    let quote = &original[..original.len().min(QUOTE)];
    let mut frame = pool.alloc(14 + 20 + 8 + quote.len())?;
    let bytes = pool.slab().bytes_mut(&mut frame);
    bytes[..14].fill(0);
    bytes[12..14].copy_from_slice(&wire::layers::ETHERTYPE_IPV4.to_be_bytes());
    let icmp = &mut bytes[34..];
    icmp[..4].copy_from_slice(&[error.kind, error.code, 0, 0]);
    icmp[4..8].copy_from_slice(&error.word.to_be_bytes());
    icmp[8..].copy_from_slice(quote);
    let sum = checksum::of(icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    // TOS: internet control, as RFC 1812 §4.3.2.5 asks for errors.
    write_ipv4(&mut bytes[14..], 0xc0, protocol::ICMP, src, dst);
    Some(frame)
}

/// Writes a 20-byte IPv4 header without options before a payload that fills the rest of `ip`.
pub fn write_ipv4(ip: &mut [u8], tos: u8, protocol: u8, src: u32, dst: u32) {
    let total = ip.len() as u16;
    let header = &mut ip[..20];
    header.fill(0);
    header[0] = 0x45;
    header[1] = tos;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[8] = 64;
    header[9] = protocol;
    header[12..16].copy_from_slice(&src.to_be_bytes());
    header[16..20].copy_from_slice(&dst.to_be_bytes());
    let sum = checksum::of(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Turns the IP packet `ip` round in place: addresses swapped, a fresh TTL, and the echo request
/// at `l4` made a reply; `l4` is 0 in a later fragment.
pub fn turn_round(ip: &mut [u8], l4: usize) {
    let header_len = usize::from(ip[0] & 0x0f) * 4;
    let (src, dst) = ip[12..20].split_at_mut(4);
    src.swap_with_slice(dst);
    ip[8] = 64;
    ip[10..12].fill(0);
    let sum = checksum::of(&ip[..header_len]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    if l4 != 0 {
        let sum = u16::from_be_bytes([ip[l4 + 2], ip[l4 + 3]]);
        let sum = checksum::Delta::default().u16(0x0800, 0x0000).apply(sum);
        ip[l4] = 0;
        ip[l4 + 2..l4 + 4].copy_from_slice(&sum.to_be_bytes());
    }
}

/// A TCP reset that answers the segment in `original` (RFC 9293 §3.10.7.1), its Ethernet header
/// still to be written. `None` when the segment is itself a reset or
/// a later fragment, or the pool is empty.
pub fn tcp_reset(pool: &mut Pool, original: &[u8], layers: &Layers) -> Option<Frame> {
    let tcp = original.get(usize::from(layers.l4.checked_sub(layers.l3)?)..)?;
    let header = tcp.first_chunk::<20>()?;
    let (flags, offset) = (header[13], usize::from(header[12] >> 4) * 4);
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const RST: u8 = 4;
    const ACK: u8 = 16;
    if flags & RST != 0 {
        return None;
    }
    let sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let (seq, ack, answer) = if flags & ACK != 0 {
        (u32::from_be_bytes([header[8], header[9], header[10], header[11]]), 0, RST)
    } else {
        let control = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        let data = tcp.len().saturating_sub(offset) as u32;
        (0, sequence.wrapping_add(data).wrapping_add(control), RST | ACK)
    };
    tcp_answer(pool, header, layers, seq, ack, answer)
}

/// A TCP segment that holds its sender: it is answered, and its window is 0, so that nothing more
/// comes. The Ethernet header is still to be written. `None` when the segment ends a connection, or
/// answers, or is a later fragment, or the pool is empty.
pub fn tcp_hold(pool: &mut Pool, original: &[u8], layers: &Layers) -> Option<Frame> {
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const RST: u8 = 4;
    const ACK: u8 = 16;
    let tcp = original.get(usize::from(layers.l4.checked_sub(layers.l3)?)..)?;
    let header = tcp.first_chunk::<20>()?;
    let sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    match header[13] & (FIN | SYN | RST | ACK) {
        SYN => tcp_answer(pool, header, layers, 0, sequence.wrapping_add(1), SYN | ACK),
        // What it sends is not taken: the sequence number that was expected still is.
        ACK => {
            let seq = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
            tcp_answer(pool, header, layers, seq, sequence, ACK)
        }
        _ => None,
    }
}

/// A segment without data or window that answers the one with this header.
fn tcp_answer(
    pool: &mut Pool,
    header: &[u8; 20],
    layers: &Layers,
    seq: u32,
    ack: u32,
    flags: u8,
) -> Option<Frame> {
    let mut frame = pool.alloc(14 + 20 + 20)?;
    let bytes = pool.slab().bytes_mut(&mut frame);
    bytes[..14].fill(0);
    bytes[12..14].copy_from_slice(&wire::layers::ETHERTYPE_IPV4.to_be_bytes());
    let segment = &mut bytes[34..54];
    segment.fill(0);
    segment[..2].copy_from_slice(&header[2..4]);
    segment[2..4].copy_from_slice(&header[..2]);
    segment[4..8].copy_from_slice(&seq.to_be_bytes());
    segment[8..12].copy_from_slice(&ack.to_be_bytes());
    segment[12] = 5 << 4;
    segment[13] = flags;
    let (src, dst) = (layers.tuple.dst, layers.tuple.src);
    let sum = checksum::tcp(src, dst, segment);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    write_ipv4(&mut bytes[14..], 0, protocol::TCP, src, dst);
    Some(frame)
}

/// `icmp-rate-limit` and `icmp-rate-mask`: a token bucket of one second.
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    /// Messages a second; 0 is no limit.
    pub per_second: u32,
    /// Bit *n*: type *n* is limited.
    pub mask: u32,
    /// Tokens, in nanoseconds of refill.
    credit_ns: u64,
    last: Moment,
}

impl Default for RateLimit {
    /// 10 a second, for types 3, 4, 11 and 12 (0x1818).
    fn default() -> RateLimit {
        RateLimit { per_second: 10, mask: 0x1818, credit_ns: SECOND, last: Moment::ZERO }
    }
}

const SECOND: u64 = 1_000_000_000;

impl RateLimit {
    /// Whether a message of this type may go out now; takes a token if so.
    pub fn allows(&mut self, now: Moment, kind: u8) -> bool {
        if self.per_second == 0 || kind > 31 || self.mask & 1 << kind == 0 {
            return true;
        }
        self.credit_ns =
            SECOND.min(self.credit_ns.saturating_add(now.since(self.last).as_nanos() as u64));
        self.last = now;
        let cost = SECOND / u64::from(self.per_second);
        let allowed = self.credit_ns >= cost;
        if allowed {
            self.credit_ns -= cost;
        }
        allowed
    }
}
