//! The outer header of the packets of a tunnel, or of one of L2TP's sessions.
//!
//! ```text
//! | version, DSCP | length | identification | DF | TTL 64, protocol | checksum | own end | other end | GRE, UDP |
//!     each packet's own: DSCP, length, identification, DF, checksum; GRE's and PPP's protocol, lengths behind
//! ```

use super::{Carries, Tunnel};
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
    len: u8,
    /// DSCP's byte, and which bits of the inner packet's come to it: its DSCP, or none.
    tos: u8,
    inherits: u8,
    protocol: u8,
    /// Source and destination, as they are sent.
    ends: [u8; 8],
    /// The sum of what is the same in all, folded.
    sum: u16,
    behind: Behind,
}

/// What follows IPv4's header.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// Of IPIP and 6to4: the packet.
    Nothing,
    Gre,
    /// GRE's, without a length.
    Eoip([u8; 8]),
    /// UDP's and L2TP's, without lengths.
    L2tp([u8; L2TP_LEN - 2]),
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
        let Tunnel { carries, remote, dscp, id, .. } = *tunnel;
        let behind = match carries {
            Carries::Ipip | Carries::SixToFour => Behind::Nothing,
            Carries::Gre => Behind::Gre,
            Carries::Eoip => Behind::Eoip(gre::eoip(id, 0)),
        };
        let len = carries.overhead();
        OuterHeader::of(dscp, carries.protocol(), (src, remote), (len, behind))
    }

    /// Of an L2TP session's packets, between these ends, with this header behind UDP's.
    pub(crate) fn l2tp((own, peer): (End, End), data: [u8; DATA_LEN]) -> OuterHeader {
        let mut behind = [0; L2TP_LEN - 2];
        behind[..2].copy_from_slice(&own.port.to_be_bytes());
        behind[2..4].copy_from_slice(&peer.port.to_be_bytes());
        behind[8..].copy_from_slice(&data);
        let (ends, behind) = ((own.address, peer.address), Behind::L2tp(behind));
        OuterHeader::of(Some(0), protocol::UDP, ends, (20 + L2TP_LEN, behind))
    }

    fn of(
        dscp: Option<u8>,
        protocol: u8,
        (src, dst): (u32, u32),
        (len, behind): (usize, Behind),
    ) -> OuterHeader {
        let (tos, inherits) = match dscp {
            Some(dscp) => (dscp << 2, 0),
            None => (0, DSCP),
        };
        let ([a, b, c, d], [e, f, g, h]) = (src.to_be_bytes(), dst.to_be_bytes());
        let ends = [a, b, c, d, e, f, g, h];
        let sum = !checksum::of(&[0x45, tos, Self::TTL, protocol, a, b, c, d, e, f, g, h]);
        OuterHeader { len: len as u8, tos, inherits, protocol, ends, sum, behind }
    }

    /// The tuple of the packets.
    pub(crate) fn tuple(&self) -> FiveTuple {
        let [a, b, c, d, e, f, g, h] = self.ends;
        let [src, dst] = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
        let (src_port, dst_port) = match self.behind {
            Behind::L2tp([a, b, c, d, ..]) => {
                (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            }
            _ => (0, 0),
        };
        FiveTuple { src, dst, src_port, dst_port, protocol: self.protocol }
    }

    /// Its length.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len.into()
    }

    /// What it says of the packet: DSCP, and no ECN.
    #[inline(always)]
    pub(crate) fn tos(&self, inner: &Inner) -> u8 {
        self.tos | inner.dscp & self.inherits
    }

    /// Writes it in front of `carried` bytes, where `out` begins; with an identification if the packet may
    /// leave in pieces, else with DF.
    ///
    /// # Panics
    /// If `out` is shorter.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        out: &mut [u8],
        inner: &Inner,
        carried: usize,
        identification: Option<u16>,
    ) {
        let (inherited, total) = (inner.dscp & self.inherits, (self.len() + carried) as u16);
        let (id, df) = match identification {
            Some(id) => (id, 0),
            None => (0, 0x4000),
        };
        let sum = [self.sum, inherited.into(), total, id, df].into_iter().map(u32::from).sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        let tos = self.tos | inherited;
        let words = [u16::from_be_bytes([0x45, tos]), total, id, df].map(u64::from);
        let first = words[0] << 48 | words[1] << 32 | words[2] << 16 | words[3];
        let second = u32::from_be_bytes([Self::TTL, self.protocol, 0, 0]) | u32::from(sum);
        let (head, rest) = out.split_first_chunk_mut::<20>().expect("room for IPv4's header");
        head[..8].copy_from_slice(&first.to_be_bytes());
        head[8..12].copy_from_slice(&second.to_be_bytes());
        head[12..].copy_from_slice(&self.ends);
        match self.behind {
            Behind::Nothing => {}
            Behind::Gre => {
                *rest.first_chunk_mut().expect("room for GRE's") = gre::header(inner.ether_type);
            }
            Behind::Eoip([p, q, r, s, _, _, x, y]) => {
                let [v, w] = (carried as u16).to_be_bytes();
                *rest.first_chunk_mut().expect("room for EoIP's") = [p, q, r, s, v, w, x, y];
            }
            Behind::L2tp(all) => {
                let rest: &mut [u8; L2TP_LEN] = rest.first_chunk_mut().expect("room for L2TP's");
                let len = (L2TP_LEN + carried) as u16;
                let ppp = if inner.ether_type == ETHERTYPE_IPV6 { IPV6 } else { PPP_IPV4 };
                rest[..L2TP_LEN - 2].copy_from_slice(&all);
                rest[4..6].copy_from_slice(&len.to_be_bytes());
                rest[L2TP_LEN - 2..].copy_from_slice(&ppp.to_be_bytes());
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
    #[inline(always)]
    pub(crate) fn of(frame: &[u8]) -> Inner {
        // Most often: IPv4 without a tag or options, and whole.
        if let Some(&[8, 0, 0x45, tos, a, b, _, _, flags, ..]) =
            frame.get(12..).and_then(|rest| rest.first_chunk::<22>())
        {
            let total = usize::from(u16::from_be_bytes([a, b]));
            if (20..=frame.len() - 14).contains(&total) {
                let (ether_type, dscp, df) = (ETHERTYPE_IPV4, tos & DSCP, flags & 0x40 != 0);
                return Inner { ether_type, dscp, df, len: total as u16, least: 0 };
            }
        }
        Inner::of_any(frame)
    }

    #[inline(never)]
    fn of_any(frame: &[u8]) -> Inner {
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
