//! Packets on the slow path, as matchers see them.

use crate::firewall::connection::{FlowId, New};
use crate::firewall::mark::{Mark, Marks};
use crate::firewall::matcher::connection::Whole;
use crate::interface::InterfaceId;
use crate::interface::bridge::vlan::Class;
use crate::interface::ingress::{Arrival, IngressId, Learns};
use crate::ip::fragment::Piece;
use crate::ip::route::Routes;
use crate::trace::Trace;
use port::Frame;
use wire::layers::Malformed;
use wire::{Layers, MacAddr};

/// `connection-state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ConnectionState {
    /// Not attributable to any connection.
    Invalid = 0,
    /// Traffic was seen in both directions.
    Established = 1,
    /// Announced by another connection: ICMP errors, helpers.
    Related = 2,
    /// The first packets, as long as no reply was seen.
    New = 3,
    /// Not tracked: connection tracking is off, or the packet bypassed it.
    Untracked = 4,
}

impl ConnectionState {
    /// The words of the property, at the place of their number.
    pub const WORDS: &[&str] = &["invalid", "established", "related", "new", "untracked"];

    /// A set of one.
    #[inline]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// `src-address-type`, `dst-address-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AddressType {
    /// An ordinary address somewhere else.
    Unicast = 0,
    /// One of the router's own.
    Local = 1,
    /// A broadcast address of a connected network, or 255.255.255.255.
    Broadcast = 2,
    /// 224.0.0.0/4.
    Multicast = 3,
    /// Behind a blackhole route.
    Blackhole = 4,
    /// Behind an unreachable route, or no route at all.
    Unreachable = 5,
    /// Behind a prohibit route.
    Prohibit = 6,
}

impl AddressType {
    /// The words of the property, at the place of their number.
    pub const WORDS: &[&str] =
        &["unicast", "local", "broadcast", "multicast", "blackhole", "unreachable", "prohibit"];

    /// A set of one.
    #[inline]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A packet as the matchers see it: read only, whatever box it is in.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The whole frame, without FCS, as it stands now (translations that were made are in it).
    pub frame: &'a [u8],
    /// Its layers.
    pub layers: &'a Layers,
    /// Of IPv6: its addresses, which the layers have no room for.
    pub ends: Ends,
    /// Of IPv6: its extension headers ([`wire::ipv6::Extensions::headers`]).
    pub headers: u8,
    /// IP total length; of the whole datagram when it was reassembled.
    pub ip_len: u16,
    /// Where it came in: the bridge, for a member port. `NONE` for the router's own packets.
    pub in_interface: InterfaceId,
    /// Where it goes out, once that is known.
    pub out_interface: InterfaceId,
    /// Whether it came encrypted, and whether it is to leave so.
    pub ipsec: [bool; 2],
    /// The member port of a bridge it came in by.
    pub in_bridge_port: InterfaceId,
    /// The member port of a bridge it goes out by.
    pub out_bridge_port: InterfaceId,
    /// What connection tracking made of it.
    pub connection_state: ConnectionState,
    /// The connection's source is translated.
    pub srcnat: bool,
    /// The connection's destination is translated.
    pub dstnat: bool,
    /// What mangle has marked it with so far.
    pub marks: Marks,
    /// What its connection is marked with.
    pub connection_mark: Mark,
    /// Its connection.
    pub connection: Whole<'a>,
    /// `ingress-priority`: that of the tag it came with; `None` if it came without.
    pub ingress_priority: Option<u8>,
    /// The routing tables, which say what kind of address an address is,
    pub routes: &'a Routes,
    /// and those of IPv6, where there are any to ask,
    pub routes6: Option<&'a crate::ipv6::route::Routes>,
    /// and of them the one that is asked: main, or its VRF's.
    pub vrf: Mark,
}

impl View<'_> {
    /// The source MAC.
    pub fn src_mac(&self) -> MacAddr {
        self.frame
            .get(6..)
            .and_then(|b| b.first_chunk())
            .map_or(MacAddr::default(), |b| MacAddr(*b))
    }

    /// The destination MAC.
    pub fn dst_mac(&self) -> MacAddr {
        self.frame.first_chunk().map_or(MacAddr::default(), |b| MacAddr(*b))
    }

    /// From the network header to the end of the IP packet.
    pub fn ip(&self) -> &[u8] {
        let (l3, end) = (usize::from(self.layers.l3), usize::from(self.layers.l3_end));
        self.frame.get(l3..end).unwrap_or(&[])
    }

    /// From the transport header to the end of the IP packet; empty for later fragments and what
    /// has none.
    pub fn transport(&self) -> &[u8] {
        let (l4, end) = (usize::from(self.layers.l4), usize::from(self.layers.l3_end));
        if l4 == 0 { &[] } else { self.frame.get(l4..end).unwrap_or(&[]) }
    }
}

/// Between which addresses an IPv6 packet goes; both 0 of any other packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Source.
    pub src: u128,
    /// Destination.
    pub dst: u128,
}

/// A packet on the slow path. Boxes hand it on some twenty times: it stays where it is, for copying all it says
/// was a fifth of what a first packet did.
pub(crate) type Packet = Box<Passing>;

/// What a packet on the slow path is: the frame, and what the boxes it passed have found out.
#[derive(Debug)]
pub(crate) struct Passing {
    /// The frame; of a reassembled datagram, its first fragment.
    pub(crate) frame: Frame,
    /// Its layers.
    pub(crate) layers: Layers,
    /// Of an IPv6 packet whose headers were walked.
    pub(crate) ends: Ends,
    /// Of such a packet: its extension headers ([`wire::ipv6::Extensions::headers`]).
    pub(crate) headers: u8,
    /// Where its upper layer's protocol stands, from its first byte.
    pub(crate) next_header_at: u16,
    /// Where its source route stands, if it has one.
    pub(crate) source_route: Option<u16>,
    /// What is wrong with the headers above Ethernet: a bridge need not mind.
    pub(crate) malformed: Option<Malformed>,
    /// The other fragments of a reassembled datagram.
    pub(crate) rest: Vec<Piece>,
    /// IP total length; of a reassembled datagram, all of it.
    pub(crate) ip_len: u16,
    /// The port it came in by; `NONE` for the router's own packets.
    pub(crate) port: InterfaceId,
    /// What tells it apart on arrival; `None` if nothing may be learnt from it.
    pub(crate) arrival: Option<Arrival>,
    /// The priority of the tag it came with; `None` if it came without.
    pub(crate) ingress_priority: Option<u8>,
    /// How long the frame was on arrival.
    pub(crate) arrived_len: u16,
    /// The interfaces it came through so far.
    pub(crate) ingress: IngressId,
    /// The port of a bridge it came in by, on its way up; else `NONE`.
    pub(crate) in_bridge_port: InterfaceId,
    /// The VLAN it belongs to in a bridge that filters them.
    pub(crate) class: Option<Class>,
    /// The bridge that learnt its source on the way up.
    pub(crate) learns: Option<Learns>,
    /// The interface IP sees, or that sees it so far: the bridge, for a member port.
    pub(crate) in_interface: InterfaceId,
    /// Where it goes, once that is known: the bridge, for a member port.
    pub(crate) out_interface: InterfaceId,
    /// The member port it goes out by, in the bridge's boxes.
    pub(crate) out_port: InterfaceId,
    /// Of the router's own: the interface it must leave by, whatever the routes; else `NONE`.
    pub(crate) bound: InterfaceId,
    /// The VRF it is in, by its table.
    pub(crate) vrf: Mark,
    /// What connection tracking made of it.
    pub(crate) connection_state: ConnectionState,
    /// Its flow, if connection tracking knows it.
    pub(crate) flow: Option<FlowId>,
    /// The connection it would begin.
    pub(crate) new: Option<New>,
    /// The same of IPv6.
    pub(crate) new6: Option<New<u128>>,
    /// For an ICMP error: the flow it goes along with.
    pub(crate) related: Option<FlowId>,
    /// What mangle has marked it with.
    pub(crate) marks: Marks,
    /// What its connection was marked with when it came.
    pub(crate) connection_mark: Mark,
    /// Raw has said that no connection is to be looked for.
    pub(crate) notrack: bool,
    /// Its connection is FastTracked, and it may go that way.
    pub(crate) fasttrack: bool,
    /// A hotspot sends it to this port of the router's: its page, or its names.
    pub(crate) redirected: Option<u16>,
    /// Still in FastPath: no box has taken it to the slow path for good.
    pub(crate) fast: bool,
    /// It is what a tunnel of ours puts around another one: as fast as that, and not the last of its kind.
    pub(crate) is_outer: bool,
    /// It has come out of ESP.
    pub(crate) is_decrypted: bool,
    /// What it counted and what its way depended on.
    pub(crate) trace: Trace,
}
