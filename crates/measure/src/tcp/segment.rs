//! A segment in a frame, read and written.
//!
//! ```text
//! Ethernet 14 │ IPv4 20 │ TCP 20 (+ 8 of options in a SYN) │ payload
//! ```

use super::content;
use port::{Frame, Pool};
use wire::checksum::{self, Sum};
use wire::tcp::TcpFlags;
use wire::{Ipv4, MacAddr, Tcp};

/// Ethernet and IPv4 in front of a segment.
const TCP: usize = 34;
/// Bytes of headers in a frame with data.
pub(super) const HEADERS: usize = TCP + 20;
/// MSS, no operation, window scale: the options of a SYN.
const SYN_OPTIONS: usize = 8;
/// The shortest frame, without FCS.
const SHORTEST: usize = 60;

/// What names a connection, from the side of the end that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    pub(super) local: u32,
    pub(super) remote: u32,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
}

/// A segment that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub(super) tuple: Tuple,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: TcpFlags,
    /// Unscaled.
    pub(super) window: u16,
    /// Of a SYN.
    pub(super) mss: Option<u16>,
    /// Of a SYN.
    pub(super) scale: Option<u8>,
    pub(super) payload: &'a [u8],
}

/// Why a frame is no segment for anybody here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoSegment {
    /// Not IPv4 with TCP in it, or a fragment.
    Other,
    /// Cut off, or with a wrong checksum.
    Corrupt,
}

impl<'a> Segment<'a> {
    /// Reads a frame.
    pub(super) fn read(frame: &'a [u8]) -> Result<Segment<'a>, NoSegment> {
        let (Some(kind), Some(packet)) = (frame.get(12..14), frame.get(14..)) else {
            return Err(NoSegment::Other);
        };
        if kind != [0x08, 0x00] {
            return Err(NoSegment::Other);
        }
        let ip = Ipv4::new(packet).map_err(|_| NoSegment::Corrupt)?;
        let is_fragment = ip.more_fragments() || ip.fragment_offset() != 0;
        if ip.protocol() != wire::layers::protocol::TCP || is_fragment {
            return Err(NoSegment::Other);
        }
        let (header, end) = (ip.header_len(), usize::from(ip.total_len()));
        let (src, dst) = (ip.src(), ip.dst());
        let bytes = packet.get(header..end).ok_or(NoSegment::Corrupt)?;
        let tcp = Tcp::new(bytes).map_err(|_| NoSegment::Corrupt)?;
        if !ip.checksum_ok() || !tcp.checksum_ok(src, dst) {
            return Err(NoSegment::Corrupt);
        }
        let tuple = Tuple {
            local: dst,
            remote: src,
            local_port: tcp.dst_port(),
            remote_port: tcp.src_port(),
        };
        let flags = tcp.flags();
        let syn = flags.contains(TcpFlags::SYN);
        let scale = || {
            tcp.options().find_map(|option| match option {
                wire::tcp::TcpOption::WindowScale(shift) => Some(shift.min(14)), // RFC 7323 §2.3
                _ => None,
            })
        };
        Ok(Segment {
            tuple,
            seq: tcp.seq(),
            ack: tcp.ack(),
            flags,
            window: tcp.window(),
            mss: if syn { tcp.mss() } else { None },
            scale: if syn { scale() } else { None },
            payload: &bytes[tcp.header_len()..],
        })
    }
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) tuple: Tuple,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: TcpFlags,
    /// Unscaled.
    pub(super) window: u16,
    /// MSS and window scale, in a SYN.
    pub(super) options: Option<(u16, Option<u8>)>,
    /// The first sequence number of our stream, the offset in it, and how many bytes.
    pub(super) payload: (u32, u64, usize),
}

impl Outgoing {
    /// Puts it into a frame; `None` if the pool has none.
    pub(super) fn write(
        &self,
        (src_mac, dst_mac): (MacAddr, MacAddr),
        ident: u16,
        pool: &mut Pool,
    ) -> Option<Frame> {
        let options = if self.options.is_some() { SYN_OPTIONS } else { 0 };
        let (first, offset, payload) = self.payload;
        let len = HEADERS + options + payload;
        let mut frame = pool.alloc(len.max(SHORTEST))?;
        let bytes = pool.slab().bytes_mut(&mut frame);
        bytes[len..].fill(0);
        bytes[..6].copy_from_slice(&dst_mac.0);
        bytes[6..12].copy_from_slice(&src_mac.0);
        bytes[12..14].copy_from_slice(&wire::layers::ETHERTYPE_IPV4.to_be_bytes());

        let Tuple { local, remote, local_port, remote_port } = self.tuple;
        let ip = &mut bytes[14..TCP];
        ip.fill(0);
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&((len - 14) as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&ident.to_be_bytes());
        ip[6] = 0x40; // do not fragment
        ip[8] = 64;
        ip[9] = wire::layers::protocol::TCP;
        ip[12..16].copy_from_slice(&local.to_be_bytes());
        ip[16..20].copy_from_slice(&remote.to_be_bytes());
        let sum = checksum::ipv4_header(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());

        let tcp = &mut bytes[TCP..len];
        tcp[..2].copy_from_slice(&local_port.to_be_bytes());
        tcp[2..4].copy_from_slice(&remote_port.to_be_bytes());
        tcp[4..8].copy_from_slice(&self.seq.to_be_bytes());
        tcp[8..12].copy_from_slice(&self.ack.to_be_bytes());
        tcp[12] = ((20 + options) as u8 / 4) << 4;
        tcp[13] = self.flags.0;
        tcp[14..16].copy_from_slice(&self.window.to_be_bytes());
        tcp[16..20].fill(0);
        if let Some((mss, scale)) = self.options {
            let [high, low] = mss.to_be_bytes();
            // Without a scale, no operation takes its place (RFC 9293 §3.2).
            let scale = scale.map_or([1; 3], |shift| [3, 3, shift]);
            let options = [2, 4, high, low, 1, scale[0], scale[1], scale[2]];
            tcp[20..28].copy_from_slice(&options);
        }
        content::write(first, offset, &mut tcp[20 + options..]);
        let pseudo = Sum::pseudo_ipv4(local, remote, wire::layers::protocol::TCP, tcp.len() as u16);
        let sum = pseudo.bytes(tcp).finish();
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        Some(frame)
    }
}
