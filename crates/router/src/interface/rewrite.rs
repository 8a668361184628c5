//! The rewrite: what is written in front of an IP packet on its way to one neighbour.
//!
//! ```text
//! interface ─► tag ─► tag ─► bridge: which port? ─► port      walked once: resolve()
//!                                                     │
//!   [ MAC MAC | 0x8100 vid | 0x0800 ] + port + layers ◄┘      used for every packet: Rewrite
//!   [ MAC MAC | 0x8847 | label      ]                         in front of a packet with a label
//! ```
//!
//! The way is the one of `flow::link_out`, walked over the configuration instead of over a frame.
//! A neighbour that is known has a rewrite as soon as somebody needs it; a change of the interfaces
//! makes all rewrites stale, and a bridge that learns something those that lead through it.
//!
//! Never sends, floods, or guesses: where a frame would be flooded, go by two bridges or be asked
//! about by the bridge filter, there is no rewrite, and the slow path takes it.

use super::bridge::Decision;
use super::bridge::hosts::Hosts;
use super::ppp::calls::Carrier;
use super::{InterfaceAnd, InterfaceId};
use crate::flow::Hop;
use crate::ip::family::Family;
use crate::program::{Kind, Program};
use std::collections::HashMap;
use wire::MacAddr;
use wire::mpls::{self, ETHERTYPE_MPLS, Label};
use wire::pppoe::{self, ETHERTYPE_SESSION};
use wire::vlan::Tag;

/// Room for the longest header: GRE over IPv4 over Ethernet.
const ROOM: usize = 38;
/// No bridge is on the way.
const NO_BRIDGE: u16 = u16::MAX;

/// A finished header, and where it leads: one cache line; of IPv6 two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Rewrite<A: Family = u32> {
    bytes: [u8; ROOM],
    /// The longest IP packet the out-interface takes.
    pub mtu: u16,
    /// The out-interface, as IP sees it; and how many of the bytes are written, 0 if nothing is known.
    interface_and_len: InterfaceAnd,
    /// The port by which frames leave, or the first interface on the way that has a queue tree; and whether
    /// the header's end tells of the packet behind it ([`tail`]).
    port_and_tail: InterfaceAnd,
    /// The interfaces between the two.
    pub(crate) egress: EgressId,
    bridge: u16,
    /// What the bridge's hosts were when it was resolved ([`Hosts::version`]).
    hosts: u32,
    /// The neighbour's address.
    pub address: A,
    /// When it was last used, coarsely: [`wire::Moment::as_millis_u32`].
    pub used_ms: u32,
}

const _: () = assert!(size_of::<Rewrite>() == 64 && size_of::<Rewrite<u128>>() == 128);

impl<A: Family> Default for Rewrite<A> {
    fn default() -> Rewrite<A> {
        Rewrite {
            bytes: [0; ROOM],
            mtu: 0,
            interface_and_len: InterfaceAnd::default(),
            port_and_tail: InterfaceAnd::default(),
            egress: EgressId::default(),
            bridge: NO_BRIDGE,
            hosts: 0,
            address: A::default(),
            used_ms: 0,
        }
    }
}

impl<A: Family> Rewrite<A> {
    /// Of a neighbour of which only this is known.
    pub(crate) fn of(interface: InterfaceId, address: A) -> Rewrite<A> {
        let interface_and_len = InterfaceAnd::new(interface, 0);
        Rewrite { interface_and_len, address, ..Rewrite::default() }
    }

    /// The out-interface, as IP sees it.
    #[inline(always)]
    pub fn interface(&self) -> InterfaceId {
        self.interface_and_len.interface()
    }

    /// The port by which frames leave, or the first interface on the way that has a queue tree.
    #[inline(always)]
    pub fn port(&self) -> InterfaceId {
        self.port_and_tail.interface()
    }

    /// The header; empty if nothing is known.
    #[inline(always)]
    pub fn header(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Its first bytes; those of a shorter one are followed by what was there before.
    #[inline(always)]
    pub(crate) fn bytes<const N: usize>(&self) -> &[u8; N] {
        const { assert!(N <= ROOM) };
        self.bytes.first_chunk().expect("no longer than there is room for")
    }

    /// Its length; 0 if nothing is known.
    #[inline(always)]
    pub fn len(&self) -> usize {
        usize::from(self.interface_and_len.byte())
    }

    /// Whether the header ends with PPPoE's: its length, four bytes before the end, is the packet's and 2.
    #[inline(always)]
    pub(crate) fn is_in_session(&self) -> bool {
        self.port_and_tail.byte() == tail::SESSION
    }

    /// Where it leads.
    pub(crate) fn hop(&self) -> Hop<A> {
        Hop { interface: self.interface(), address: self.address, label: self.label() }
    }

    /// Whether the header's end depends on the packet: then no copy of it will do.
    #[inline(always)]
    pub(crate) fn tells_of_packet(&self) -> bool {
        self.port_and_tail.byte() != tail::NONE
    }

    /// The label that the header ends with.
    #[inline]
    pub(crate) fn label(&self) -> Option<Label> {
        let is_labelled = matches!(self.port_and_tail.byte(), tail::TTL | tail::FULL_TTL);
        let entry = self.len().checked_sub(mpls::Entry::LEN).filter(|_| is_labelled)?;
        self.bytes[entry..].first_chunk().map(|entry| mpls::Entry::read(*entry).label)
    }

    /// Whether the label's TTL is the packet's own.
    #[inline]
    pub(crate) fn has_ttl_of_packet(&self) -> bool {
        self.port_and_tail.byte() == tail::TTL
    }

    /// Writes the header, before a packet of `ip_len` bytes.
    pub(crate) fn write(&self, head: &mut [u8], ip_len: u16) {
        head.copy_from_slice(self.header());
        if self.is_in_session()
            && let Some(len) = self.len().checked_sub(4).and_then(|at| head[at..].first_chunk_mut())
        {
            *len = ip_len.saturating_add(2).to_be_bytes();
        }
    }

    /// Whether nothing is known: who needs it resolves it first.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.interface_and_len.byte() == 0
    }

    /// Whether it leads where a frame on the slow path would go now.
    #[inline(always)]
    pub(crate) fn is_fresh(&self, hosts: &[Hosts]) -> bool {
        let same = |at: usize| hosts.get(at).is_some_and(|hosts| hosts.version() == self.hosts);
        !self.is_empty() && (self.bridge == NO_BRIDGE || same(usize::from(self.bridge)))
    }

    /// Whether it leads through a bridge, where it is fresh only while that learns nothing.
    pub(crate) fn is_by_bridge(&self) -> bool {
        self.bridge != NO_BRIDGE
    }

    /// Forgets the header.
    pub(crate) fn clear(&mut self) {
        self.interface_and_len = InterfaceAnd::new(self.interface(), 0);
    }

    /// Writes the header for a neighbour of this MAC address; whether there is one.
    pub(crate) fn resolve(
        &mut self,
        program: &Program,
        hosts: &[Hosts],
        egresses: &mut Egresses,
        (mac, label): (MacAddr, Option<Label>),
    ) -> bool {
        self.clear();
        let network = label.map_or(A::ETHERTYPE, |_| ETHERTYPE_MPLS);
        let way = Way::walk(program, hosts, self.interface(), (mac, label.is_some()), network);
        let Some(way) = way else { return false };
        let Some(egress) = egresses.number(&way.layers) else { return false };
        let own = program.interface(self.interface());
        let len = way.header_len();
        let (to, from) = way.macs;
        let behind = if way.is_labelled { mpls::Entry::LEN } else { 0 };
        self.bytes[..6].copy_from_slice(&to.0);
        self.bytes[6..12].copy_from_slice(&from.0);
        for (n, tag) in way.tags.iter().rev().enumerate() {
            self.bytes[12 + 4 * n..14 + 4 * n].copy_from_slice(&tag.tpid.to_be_bytes());
            self.bytes[14 + 4 * n..16 + 4 * n].copy_from_slice(&tag.tci.0.to_be_bytes());
        }
        let mut network = network;
        if let Some(id) = way.session {
            let at = len - pppoe::OVERHEAD;
            self.bytes[at - 2..at].copy_from_slice(&ETHERTYPE_SESSION.to_be_bytes());
            self.bytes[at..len - 2].copy_from_slice(&pppoe::header(id, 0));
            network = A::PPP;
        }
        let tail = match label {
            _ if way.session.is_some() => tail::SESSION,
            None => tail::NONE,
            Some(label) => {
                let entry = mpls::Entry { label, class: 0, is_bottom: true, ttl: 255 };
                self.bytes[len - behind..len].copy_from_slice(&entry.bytes());
                if program.mpls.propagates_ttl { tail::TTL } else { tail::FULL_TTL }
            }
        };
        self.bytes[len - behind - 2..len - behind].copy_from_slice(&network.to_be_bytes());
        self.interface_and_len = InterfaceAnd::new(self.interface(), len as u8);
        self.port_and_tail = InterfaceAnd::new(way.port, tail);
        let labelled = label.map(|_| program.mpls.mtu_behind_label(self.interface()));
        self.mtu = own.mtu.min(labelled.unwrap_or(u16::MAX));
        self.egress = egress;
        (self.bridge, self.hosts) = way.bridge.unwrap_or((NO_BRIDGE, 0));
        true
    }
}

/// What the end of a header tells of the packet behind it.
mod tail {
    /// Nothing.
    pub(super) const NONE: u8 = 0;
    /// PPPoE's length.
    pub(super) const SESSION: u8 = 1;
    /// A label's TTL.
    pub(super) const TTL: u8 = 2;
    /// Nothing: the label's TTL is 255 each time. (As for the others, the header is not only Ethernet's.)
    pub(super) const FULL_TTL: u8 = 3;
}

/// Tags that fit a rewrite.
const MOST_TAGS: usize = (ROOM - 14) / 4;

/// The way from an interface down to a port.
struct Way {
    /// Where frames go, and where they come from.
    macs: (MacAddr, MacAddr),
    /// The number of the PPPoE session it begins with.
    session: Option<u16>,
    /// Whether a label is behind it.
    is_labelled: bool,
    /// The innermost first.
    tags: Vec<Tag>,
    /// Each interface above the port, and how many bytes of header a frame has there.
    layers: Vec<(InterfaceId, u8)>,
    port: InterfaceId,
    bridge: Option<(u16, u32)>,
}

impl Way {
    /// The way of packets of this EtherType.
    fn walk(
        program: &Program,
        hosts: &[Hosts],
        from: InterfaceId,
        (mac, is_labelled): (MacAddr, bool),
        network: u16,
    ) -> Option<Way> {
        let own = program.interface(from).mac;
        let mut way = Way {
            // In front of what has no link's addresses they are for the form alone.
            macs: if program.is_point_to_point(from) { Default::default() } else { (mac, own) },
            session: None,
            is_labelled,
            tags: Vec::new(),
            layers: Vec::new(),
            port: from,
            bridge: None,
        };
        loop {
            let interface = program.interface(way.port);
            if !interface.running || way.tags.len() > MOST_TAGS {
                return None;
            }
            // What goes into a tunnel, or is encrypted, is counted there.
            if program.session(way.port).is_some_and(|session| !session.has_header()) {
                break;
            }
            let ends = matches!(
                interface.kind,
                Kind::Ethernet { .. } | Kind::Tunnel { .. } | Kind::Wireguard(_)
            );
            if !ends {
                // It waits there, and goes on interface by interface.
                if program.is_shaped_above(way.port) {
                    break;
                }
                // The way of all sessions of an interface is one: which of them is said beside it.
                let layer = match interface.kind {
                    Kind::Session(_) => (InterfaceId::NONE, 0),
                    _ => (way.port, way.header_len() as u8),
                };
                way.layers.push(layer);
            }
            match interface.kind {
                Kind::Ethernet { .. } => break,
                // Its outer packet has a way of its own.
                Kind::Tunnel { .. } if is_labelled => return None,
                Kind::Tunnel { .. } => break,
                Kind::Wireguard(_) if is_labelled => return None,
                Kind::Wireguard(_) => break,
                Kind::Absent => return None,
                Kind::Session(_) if is_labelled => return None,
                Kind::Session(at) => {
                    let session = &program.sessions.get(at)?.session;
                    let Carrier::Pppoe { on, id, peer } = session.carrier else { return None };
                    way.macs = (peer, program.interface(on).mac);
                    (way.session, way.port) = (Some(id), on);
                }
                Kind::Vrrp { on } => way.port = on,
                Kind::Bond(at) => {
                    let mut header = [0; 14];
                    header[..6].copy_from_slice(&way.macs.0.0);
                    header[6..12].copy_from_slice(&way.macs.1.0);
                    let network = way.session.map_or(network, |_| ETHERTYPE_SESSION);
                    let ether_type = way.tags.last().map_or(network, |tag| tag.tpid);
                    header[12..].copy_from_slice(&ether_type.to_be_bytes());
                    let bond = program.bonds.get(at.index())?;
                    way.port = bond.slave_of(&header)?;
                    let is_ours = way.macs.1 == program.interface(bond.interface).mac;
                    if is_ours && bond.receiver().is_some_and(|receiver| receiver != way.port) {
                        way.macs.1 = program.interface(way.port).mac;
                    }
                }
                Kind::Vlan { on, tag } => {
                    way.tags.push(tag);
                    way.port = on;
                }
                Kind::Bridge(at) => {
                    let (bridge, hosts) = (program.bridge(at), hosts.get(at.index())?);
                    if way.bridge.is_some() || program.has_bridge_output() {
                        return None;
                    }
                    let class = match &bridge.filtering {
                        None => None,
                        Some(vlans) => {
                            let class =
                                vlans.class_of(usize::MAX, way.tags.last().copied()).ok()?;
                            if class.tagged {
                                way.tags.pop();
                            }
                            Some((vlans, class.tci))
                        }
                    };
                    let vid = class.map_or(0, |(_, tci)| tci.id());
                    let Decision::Port(to) = bridge.decide(way.port, way.macs.0, vid, hosts) else {
                        return None;
                    };
                    if let Some((vlans, tci)) = class
                        && vlans.member(bridge.place(to)).is_tagged(vid)
                    {
                        way.tags.push(vlans.tag(tci));
                    }
                    way.bridge = Some((at.0, hosts.version()));
                    way.port = to;
                }
            }
        }
        (way.header_len() <= ROOM).then_some(way)
    }

    fn header_len(&self) -> usize {
        let label = if self.is_labelled { mpls::Entry::LEN } else { 0 };
        14 + 4 * self.tags.len() + self.session.map_or(0, |_| pppoe::OVERHEAD) + label
    }
}

/// A number of [`Egresses`]; 0 is a port without anything above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct EgressId(u16);

impl EgressId {
    /// Whether interfaces stand between IP and the port: they are to be counted.
    #[inline(always)]
    pub(crate) fn has_layers(self) -> bool {
        self.0 != 0
    }
}

/// The interfaces that frames pass above their port, on their way out: each way once; that of all sessions
/// of an interface is one, with no interface in their place.
#[derive(Clone, Debug)]
pub(crate) struct Egresses {
    list: Vec<Box<[(InterfaceId, u8)]>>,
    numbers: HashMap<Box<[(InterfaceId, u8)]>, EgressId>,
}

impl Default for Egresses {
    fn default() -> Egresses {
        let none: Box<[(InterfaceId, u8)]> = Box::default();
        let numbers = HashMap::from([(none.clone(), EgressId::default())]);
        Egresses { list: vec![none], numbers }
    }
}

impl Egresses {
    fn number(&mut self, layers: &[(InterfaceId, u8)]) -> Option<EgressId> {
        if let Some(&id) = self.numbers.get(layers) {
            return Some(id);
        }
        let id = EgressId(u16::try_from(self.list.len()).ok()?);
        self.list.push(layers.into());
        self.numbers.insert(layers.into(), id);
        Some(id)
    }

    /// The interfaces, IP's first, and the bytes of header there. A session stands for itself as `top`.
    pub(crate) fn layers(
        &self,
        id: EgressId,
        top: InterfaceId,
    ) -> impl Iterator<Item = (InterfaceId, u8)> + use<'_> {
        let layers = self.list[usize::from(id.0)].iter();
        layers.map(move |&(layer, len)| (if layer.is_some() { layer } else { top }, len))
    }
}
