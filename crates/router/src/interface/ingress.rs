//! The ingress: the interfaces a frame came through, from its port up to IP.
//!
//! ```text
//! ether1 ─► bridge1 ─► vlan10 ─► IP        each way once, under a number: Ingress
//!
//! slow path: step by step, above() and learn()      fast path: all at once, by port and tags: find()
//! ```
//!
//! The slow path walks and the fast path remembers: what a frame for the router, of a port and with
//! such tags, came through, the next one comes through too, until the interfaces change.
//!
//! Never decides: a way is only ever learnt from a frame that went it.

use super::InterfaceId;
use crate::secret::Secret;
use std::collections::HashMap;
use wire::MacAddr;
use wire::ethernet::ETHERTYPE_OUTER_VLAN;
use wire::layers::{ETHERTYPE_SVLAN, ETHERTYPE_VLAN};
use wire::pppoe::{ETHERTYPE_SESSION, OVERHEAD};

/// A number of [`Ingresses`]; 0 is that of the router's own packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct IngressId(u32);

impl IngressId {
    /// Of what the router itself makes.
    pub(crate) const NONE: IngressId = IngressId(0);
}

/// The bit that tells a session without a number from none.
const IN_SESSION: u32 = 1 << 16;

/// What tells frames of different ways apart before anything is looked up: the port, up to two tags,
/// the virtual router whose address they have, and the number of their PPPoE session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Arrival {
    /// The port, and 16 bits for each tag.
    link: u64,
    /// The session's number and a bit, 0 if they have none, which no session with a number is; the virtual
    /// router's above.
    session: u32,
}

impl Arrival {
    /// A port's untagged frames.
    #[inline(always)]
    pub(crate) fn untagged(port: InterfaceId) -> Arrival {
        Arrival { link: u64::from(port.0) << 32, session: 0 }
    }

    /// Whether they are of a PPPoE session.
    #[inline]
    pub(crate) fn is_in_session(self) -> bool {
        self.session & IN_SESSION != 0
    }

    /// Of a frame, and where its network header begins; `None` for more than two tags, a tag cut
    /// off, a priority tag, which names no VLAN, and what a session carries beside IPv4.
    #[inline]
    pub(crate) fn of(port: InterfaceId, frame: &[u8]) -> Option<(Arrival, usize)> {
        let mut key = u64::from(port.0);
        let vrid = match frame.first_chunk()? {
            &[0, 0, 0x5e, 0, 1, vrid] => u32::from(vrid) << 24,
            _ => 0,
        };
        let mut at = 12;
        loop {
            let &[a, b, c, d] = frame.get(at..)?.first_chunk()?;
            let service = match u16::from_be_bytes([a, b]) {
                ETHERTYPE_VLAN => 0,
                ETHERTYPE_SVLAN => 1,
                ETHERTYPE_OUTER_VLAN => return None, // a bridge's, never an interface's
                other => {
                    // Two shifts for two tags, whatever came.
                    let link = key << (16 * (2 - (at - 12) / 4));
                    if other != ETHERTYPE_SESSION {
                        return Some((Arrival { link, session: vrid }, at + 2));
                    }
                    let [0x11, 0, a, b, _, _, 0x00, 0x21 | 0x57] =
                        *frame.get(at + 2..)?.first_chunk()?
                    else {
                        return None;
                    };
                    let session = vrid | IN_SESSION | u32::from(u16::from_be_bytes([a, b]));
                    return Some((Arrival { link, session }, at + 2 + OVERHEAD));
                }
            };
            let id = u64::from(u16::from_be_bytes([c, d]) & 0xfff);
            if at == 20 || id == 0 {
                return None;
            }
            key = key << 16 | 1 << 13 | service << 12 | id;
            at += 4;
        }
    }
}

/// How the frames of an arrival come to IP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ingress {
    pub(crate) id: IngressId,
    /// The address that frames for the router have.
    pub(crate) mac: MacAddr,
    /// The bridge on the way, if its port is to learn hosts.
    pub(crate) learns: Option<Learns>,
    /// The other end of the PPPoE session, whom its frames are from.
    pub(crate) peer: Option<MacAddr>,
}

impl Ingress {
    /// Whether a frame of its arrival, with its IP header at `l3`, came through it indeed: what claims to
    /// be of a session is from its other end, and nothing is behind it. (What Ethernet has padded is cut
    /// off on the slow path.)
    #[inline]
    pub(crate) fn takes(&self, frame: &[u8], l3: usize) -> bool {
        let Some(peer) = self.peer else { return true };
        let len = frame.get(l3 - 4..).and_then(|rest| rest.first_chunk().copied());
        frame.get(6..12) == Some(&peer.0[..])
            && len.is_some_and(|len| usize::from(u16::from_be_bytes(len)) == frame.len() + 2 - l3)
    }
}

/// Where a frame's source is noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learns {
    pub(crate) port: InterfaceId,
    pub(crate) vid: u16,
}

/// The ways that were gone.
#[derive(Clone, Debug)]
pub(crate) struct Ingresses {
    /// Number n is at n - 1: the one below, the interface, the bytes cut off so far.
    steps: Vec<(IngressId, InterfaceId, i8)>,
    numbers: HashMap<(IngressId, InterfaceId, i8), IngressId, Secret>,
    /// What arrivals are known to come through, at present.
    known: Vec<(Arrival, Ingress)>,
    /// Open addressing by arrival: places in `known`, plus one. Never more than half full.
    index: Vec<u32>,
}

impl Default for Ingresses {
    fn default() -> Ingresses {
        let index = vec![0; 16];
        Ingresses { steps: Vec::new(), numbers: HashMap::default(), known: Vec::new(), index }
    }
}

impl Ingresses {
    /// The way that goes on by `interface`, where a frame is `cut` bytes shorter than it arrived.
    /// `NONE` when no more can be told apart.
    pub(crate) fn above(&mut self, below: IngressId, interface: InterfaceId, cut: i8) -> IngressId {
        let step = (below, interface, cut);
        if let Some(&id) = self.numbers.get(&step) {
            return id;
        }
        let Ok(number) = u32::try_from(self.steps.len() + 1) else { return IngressId::NONE };
        self.steps.push(step);
        self.numbers.insert(step, IngressId(number));
        IngressId(number)
    }

    /// The interfaces of a way, IP's first, the port's last, and the bytes cut off there.
    pub(crate) fn layers(
        &self,
        id: IngressId,
    ) -> impl Iterator<Item = (InterfaceId, i8)> + use<'_> {
        let mut at = id;
        std::iter::from_fn(move || {
            let &(below, interface, cut) = self.steps.get((at.0 as usize).wrapping_sub(1))?;
            at = below;
            Some((interface, cut))
        })
    }

    /// Notes what a frame of an arrival has come through.
    pub(crate) fn learn(&mut self, arrival: Arrival, ingress: Ingress) {
        if ingress.id == IngressId::NONE {
            return;
        }
        let at = self.place(arrival);
        if let Some((_, known)) = self.known.get_mut((self.index[at] as usize).wrapping_sub(1)) {
            *known = ingress;
            return;
        }
        self.known.push((arrival, ingress));
        self.index[at] = self.known.len() as u32;
        if self.known.len() * 2 > self.index.len() {
            self.index = vec![0; self.index.len() * 2];
            for n in 0..self.known.len() {
                let at = self.place(self.known[n].0);
                self.index[at] = n as u32 + 1;
            }
        }
    }

    /// What frames of this arrival come through, if it is known.
    #[inline]
    pub(crate) fn find(&self, arrival: Arrival) -> Option<&Ingress> {
        let place = self.index[self.place(arrival)] as usize;
        self.known.get(place.wrapping_sub(1)).map(|(_, ingress)| ingress)
    }

    /// The same, asked again and again: most often for what was asked for last.
    #[inline]
    pub(crate) fn find_again<'a>(
        &'a self,
        arrival: Arrival,
        last: &mut Option<(Arrival, Option<&'a Ingress>)>,
    ) -> Option<&'a Ingress> {
        match *last {
            Some((same, found)) if same == arrival => found,
            _ => {
                let found = self.find(arrival);
                *last = Some((arrival, found));
                found
            }
        }
    }

    /// Forgets what arrivals come through: the interfaces have changed.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.index.fill(0);
    }

    /// Where an arrival stands in the index, or would.
    #[inline]
    fn place(&self, arrival: Arrival) -> usize {
        let mask = self.index.len() - 1;
        let key = arrival.link ^ u64::from(arrival.session).rotate_left(40);
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while let Some((other, _)) = self.known.get((self.index[at] as usize).wrapping_sub(1)) {
            if *other == arrival {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }
}
