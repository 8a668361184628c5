//! The outer header of the packets of a tunnel, or of one of L2TP's sessions.
//!
//! ```text
//! | version, DSCP | length | identification | DF | TTL 64, protocol | checksum | own end | other end | GRE, UDP |
//!     each packet's own: DSCP, length, identification, DF, checksum; GRE's and PPP's protocol, lengths behind
//! ```

use super::{Carries, Tunnel, l2tp_ether};
use crate::ip::datagram::End;
use wire::ipv6::MTU_MIN;
use wire::l2tp::DATA_LEN;
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, protocol};
use wire::ppp::protocol::IPV6;
use wire::pppoe::PPP_IPV4;
use wire::{FiveTuple, checksum, gre};

/// What is in front of every packet of a tunnel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OuterHeader {
    /// Version and DSCP's byte, and which bits of the inner packet's come to it: its DSCP, or none.
    first: u16,
    inherits: u8,
    /// TTL and protocol, in front of the checksum.
    middle: u32,
    /// Source and destination, as they are sent.
    ends: [u8; 8],
    /// The sum of what is the same in all, folded.
    sum: u16,
    kind: Behind,
    /// What is behind, without lengths.
    behind: [u8; l2tp_ether::MOST],
}

/// What follows IPv4's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Of IPIP and 6to4: the packet.
    Nothing,
    Gre,
    /// GRE's, and a frame.
    Eoip,
    /// UDP's and L2TP's.
    L2tp,
    /// L2TP's of version 3, so many bytes with UDP's if that is there, and a frame.
    L2tpEther {
        len: u8,
        is_in_udp: bool,
    },
}

impl Behind {
    /// How long the outer header is with that.
    #[inline(always)]
    pub(crate) const fn header_len(self) -> usize {
        20 + match self {
            Behind::Nothing => 0,
            Behind::Gre => gre::HEADER_LEN,
            Behind::Eoip => gre::EOIP_LEN,
            Behind::L2tp => L2TP_LEN,
            Behind::L2tpEther { len, .. } => len as usize,
        }
    }

    /// Bytes in front of what is carried that the outer header takes the place of: Ethernet's, which are for the
    /// form alone if no frames are carried.
    #[inline(always)]
    pub(crate) const fn link(self) -> usize {
        if matches!(self, Behind::Eoip | Behind::L2tpEther { .. }) { 0 } else { 14 }
    }
}

/// DSCP's place in its byte.
const DSCP: u8 = 0xfc;

/// UDP, L2TP, and PPP's protocol.
const L2TP_LEN: usize = 8 + DATA_LEN + 2;

impl OuterHeader {
    /// What it begins with.
    pub(crate) const TTL: u8 = 64;

    /// Of packets from `src`, the tunnel's own end.
    pub(crate) fn new(tunnel: &Tunnel, src: u32) -> OuterHeader {
        let Tunnel { carries, remote, dscp, id, l2tp, .. } = *tunnel;
        let mut behind = [0; l2tp_ether::MOST];
        let kind = match carries {
            Carries::Ipip | Carries::SixToFour => Behind::Nothing,
            Carries::Gre => Behind::Gre,
            Carries::Eoip => {
                behind[..gre::EOIP_LEN].copy_from_slice(&gre::eoip(id as u16, 0));
                Behind::Eoip
            }
            Carries::L2tpEther => {
                let (header, len) = l2tp.map_or(([0; _], 0), |session| session.header());
                behind = header;
                let is_in_udp = tunnel.protocol() == protocol::UDP;
                Behind::L2tpEther { len: len as u8, is_in_udp }
            }
        };
        OuterHeader::of(dscp, tunnel.protocol(), (src, remote), (kind, behind))
    }

    /// Of an L2TP session's packets, between these ends, with this header behind UDP's.
    pub(crate) fn l2tp((own, peer): (End, End), data: [u8; DATA_LEN]) -> OuterHeader {
        let mut behind = [0; l2tp_ether::MOST];
        behind[..2].copy_from_slice(&own.port.to_be_bytes());
        behind[2..4].copy_from_slice(&peer.port.to_be_bytes());
        behind[8..8 + DATA_LEN].copy_from_slice(&data);
        let ends = (own.address, peer.address);
        OuterHeader::of(Some(0), protocol::UDP, ends, (Behind::L2tp, behind))
    }

    fn of(
        dscp: Option<u8>,
        protocol: u8,
        (src, dst): (u32, u32),
        (kind, behind): (Behind, [u8; l2tp_ether::MOST]),
    ) -> OuterHeader {
        let (tos, inherits) = match dscp {
            Some(dscp) => (dscp << 2, 0),
            None => (0, DSCP),
        };
        let ([a, b, c, d], [e, f, g, h]) = (src.to_be_bytes(), dst.to_be_bytes());
        let ends = [a, b, c, d, e, f, g, h];
        let sum = !checksum::of(&[0x45, tos, Self::TTL, protocol, a, b, c, d, e, f, g, h]);
        let first = u16::from_be_bytes([0x45, tos]);
        let middle = u32::from_be_bytes([Self::TTL, protocol, 0, 0]);
        OuterHeader { first, inherits, middle, ends, sum, kind, behind }
    }

    /// The tuple of the packets.
    pub(crate) fn tuple(&self) -> FiveTuple {
        let [a, b, c, d, e, f, g, h] = self.ends;
        let [src, dst] = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
        let [_, protocol, ..] = self.middle.to_be_bytes();
        let [a, b, c, d, ..] = self.behind;
        let (src_port, dst_port) = match self.kind {
            Behind::L2tp | Behind::L2tpEther { is_in_udp: true, .. } => {
                (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            }
            _ => (0, 0),
        };
        FiveTuple { src, dst, src_port, dst_port, protocol }
    }

    /// What follows IPv4's.
    #[inline(always)]
    pub(crate) fn kind(&self) -> Behind {
        self.kind
    }

    /// Its length.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.kind.header_len()
    }

    /// What it says of the packet: DSCP, and no ECN.
    #[inline(always)]
    pub(crate) fn tos(&self, inner: &Inner) -> u8 {
        self.first as u8 | inner.dscp & self.inherits
    }

    /// Writes it in front of `carried` bytes, where `out` begins; with an identification if the packet may
    /// leave in pieces, else with DF. `kind` is its own: where the caller has asked for it, all lengths are
    /// known to the compiler.
    ///
    /// # Panics
    /// If `out` is shorter.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        kind: Behind,
        out: &mut [u8],
        inner: &Inner,
        carried: usize,
        identification: Option<u16>,
    ) {
        let inherited = u16::from(inner.dscp & self.inherits);
        let total = (kind.header_len() + carried) as u16;
        let (id, df) = match identification {
            Some(id) => (id, 0),
            None => (0, 0x4000),
        };
        let sum = [self.sum, inherited, total, id, df].map(u32::from).into_iter().sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        let words = [self.first | inherited, total, id, df].map(u64::from);
        let first = words[0] << 48 | words[1] << 32 | words[2] << 16 | words[3];
        let middle = self.middle | u32::from(sum);
        let (head, rest) = out.split_first_chunk_mut::<20>().expect("room for IPv4's header");
        head[..8].copy_from_slice(&first.to_be_bytes());
        head[8..12].copy_from_slice(&middle.to_be_bytes());
        head[12..].copy_from_slice(&self.ends);
        match kind {
            Behind::Nothing => {}
            Behind::Gre => {
                *rest.first_chunk_mut().expect("room for GRE's") = gre::header(inner.ether_type);
            }
            Behind::Eoip => {
                let [p, q, r, s, _, _, x, y, ..] = self.behind;
                let [v, w] = (carried as u16).to_be_bytes();
                *rest.first_chunk_mut().expect("room for EoIP's") = [p, q, r, s, v, w, x, y];
            }
            Behind::L2tp => {
                let rest: &mut [u8; L2TP_LEN] = rest.first_chunk_mut().expect("room for L2TP's");
                let len = (L2TP_LEN + carried) as u16;
                let ppp = if inner.ether_type == ETHERTYPE_IPV6 { IPV6 } else { PPP_IPV4 };
                rest.copy_from_slice(&self.behind[..L2TP_LEN]);
                rest[4..6].copy_from_slice(&len.to_be_bytes());
                rest[L2TP_LEN - 2..].copy_from_slice(&ppp.to_be_bytes());
            }
            Behind::L2tpEther { len, is_in_udp } => {
                let len = usize::from(len);
                rest[..len].copy_from_slice(&self.behind[..len]);
                if is_in_udp {
                    let len = (len + carried) as u16;
                    rest[4..6].copy_from_slice(&len.to_be_bytes());
                }
            }
        }
    }
}

/// What the outer header takes from what is inside.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inner {
    pub(crate) ether_type: u16,
    /// In its place in DSCP's byte.
    dscp: u8,
    pub(crate) df: bool,
    /// The packet's length; 0 of what is not IP.
    pub(crate) len: u16,
    /// No sender has to send shorter packets than this.
    pub(crate) least: u16,
}

impl Inner {
    /// Of a frame; of what is not IP, nothing.
    pub(crate) fn of(frame: &[u8]) -> Inner {
        Inner::plain(frame).unwrap_or_else(|| Inner::of_any(frame))
    }

    /// Of most frames: IPv4 without a tag or options, and whole.
    #[inline(always)]
    pub(crate) fn plain(frame: &[u8]) -> Option<Inner> {
        let &[8, 0, 0x45, tos, a, b, _, _, flags, ..] = frame.get(12..)?.first_chunk::<22>()?
        else {
            return None;
        };
        let len = u16::from_be_bytes([a, b]);
        let is_whole = (20..=frame.len() - 14).contains(&usize::from(len));
        let (ether_type, dscp, df) = (ETHERTYPE_IPV4, tos & DSCP, flags & 0x40 != 0);
        is_whole.then_some(Inner { ether_type, dscp, df, len, least: 0 })
    }

    /// Of a whole packet of IPv4.
    #[inline(always)]
    pub(crate) fn of_ipv4(ip: &[u8; 20]) -> Inner {
        let (ether_type, len) = (ETHERTYPE_IPV4, u16::from_be_bytes([ip[2], ip[3]]));
        Inner { ether_type, dscp: ip[1] & DSCP, df: ip[6] & 0x40 != 0, len, least: 0 }
    }

    #[inline(never)]
    pub(crate) fn of_any(frame: &[u8]) -> Inner {
        let Ok(layers) = layers::network(frame) else { return Inner::default() };
        let Some(&[first, second, .., flags]) =
            frame.get(usize::from(layers.l3)..).and_then(<[u8]>::first_chunk::<7>)
        else {
            return Inner::default();
        };
        let ether_type = layers.ether_type;
        let (dscp, df, least) = match ether_type {
            ETHERTYPE_IPV4 => (second & DSCP, flags & 0x40 != 0, 0),
            ETHERTYPE_IPV6 => ((first << 4 | second >> 4) & DSCP, true, MTU_MIN),
            _ => return Inner::default(),
        };
        Inner { ether_type, dscp, df, len: layers.l3_end - layers.l3, least }
    }
}
