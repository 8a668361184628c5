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
    /// DSCP's byte; `None` is the inner packet's.
    tos: Option<u8>,
    /// The words from TTL on, in the order of the wire; the first is without checksum.
    words: [u32; 3],
    /// Their sum.
    sum: u64,
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
        let first = [Self::TTL, protocol, 0, 0];
        let words = [u32::from_ne_bytes(first), src.to_be(), dst.to_be()];
        let sum = words.iter().copied().map(u64::from).sum();
        OuterHeader { len: len as u8, tos: dscp.map(|dscp| dscp << 2), words, sum, behind }
    }

    /// The tuple of the packets.
    pub(crate) fn tuple(&self) -> FiveTuple {
        let [_, protocol, ..] = self.words[0].to_ne_bytes();
        let (src, dst) = (u32::from_be(self.words[1]), u32::from_be(self.words[2]));
        let (src_port, dst_port) = match self.behind {
            Behind::L2tp([a, b, c, d, ..]) => {
                (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            }
            _ => (0, 0),
        };
        FiveTuple { src, dst, src_port, dst_port, protocol }
    }

    /// Its length.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len.into()
    }

    /// What it says of the packet: DSCP, and no ECN.
    #[inline(always)]
    pub(crate) fn tos(&self, inner: &Inner) -> u8 {
        self.tos.unwrap_or(inner.dscp << 2)
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
        let [l, m] = ((self.len() + carried) as u16).to_be_bytes();
        let ([i, j], df) = match identification {
            Some(id) => (id.to_be_bytes(), 0),
            None => ([0, 0], 0x40),
        };
        let words = [[0x45, self.tos(inner), l, m], [i, j, df, 0]].map(u32::from_ne_bytes);
        let sum = self.sum + u64::from(words[0]) + u64::from(words[1]);
        let [ttl, protocol, ..] = self.words[0].to_ne_bytes();
        let [a, b] = checksum::folded(sum).to_ne_bytes();
        let [_, src, dst] = self.words.map(u32::to_ne_bytes);
        let [first, second] = words.map(u32::to_ne_bytes);
        let ip = [first, second, [ttl, protocol, a, b], src, dst];
        let (head, rest) = out.split_first_chunk_mut::<20>().expect("room for IPv4's header");
        head.copy_from_slice(ip.as_flattened());
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
    dscp: u8,
    pub(crate) df: bool,
    /// The packet's length; 0 of what is not IP.
    pub(crate) len: u16,
    /// No sender has to send shorter packets than this.
    pub(crate) least: u16,
}

impl Inner {
    /// Of a frame; of what is not IP, nothing.
    #[inline]
    pub(crate) fn of(frame: &[u8]) -> Inner {
        // Most often: IPv4 without a tag or options, and whole.
        if let Some(&[8, 0, 0x45, tos, a, b, _, _, flags, ..]) =
            frame.get(12..).and_then(|rest| rest.first_chunk::<22>())
        {
            let total = usize::from(u16::from_be_bytes([a, b]));
            if (20..=frame.len() - 14).contains(&total) {
                let (ether_type, dscp, df) = (ETHERTYPE_IPV4, tos >> 2, flags & 0x40 != 0);
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
            ETHERTYPE_IPV4 => (second >> 2, flags & 0x40 != 0, 0),
            ETHERTYPE_IPV6 => ((first & 0xf) << 2 | second >> 6, true, MTU_MIN),
            _ => return Inner::default(),
        };
        Inner { ether_type, dscp, df, len: layers.l3_end - layers.l3, least }
    }
}
