//! Services of the router to the link boxes of the flow: the way up noted, tags put on and taken off,
//! interfaces counted.
//!
//! ```text
//! link_in  ─► [enter, vlan_of, pop_tag, count_in]  ─► learn_ingress ─► IP
//! link_out ─► [count_out, push_tag]                ─► port
//! ```

use super::InterfaceId;
use super::bridge::filter::Chain;
use super::ingress::{Ingress, IngressId};
use super::pppoe::Session;
use super::tunnel::{Tunnel, TunnelAt};
use crate::packet::Packet;
use crate::program::{Kind, Program};
use crate::router::Router;
use port::Frame;
use wire::layers;
use wire::vlan::{self, TAG_LEN, Tag};

/// The Ethernet header that stands in front of what comes by an interface without one, for its form.
const LINK: usize = 14;

impl Program {
    /// The session behind an interface.
    pub(crate) fn session(&self, id: InterfaceId) -> Option<&Session> {
        match self.interface(id).kind {
            Kind::Session(at) => self.sessions.get(at).map(|standing| &*standing.session),
            _ => None,
        }
    }

    /// Whether an interface leads to one neighbour only, whom nobody asks by ARP.
    pub(crate) fn is_point_to_point(&self, id: InterfaceId) -> bool {
        match self.interface(id).kind {
            Kind::Tunnel { carries, .. } => !carries.is_ethernet(),
            kind => matches!(kind, Kind::Session(_) | Kind::Wireguard(_)),
        }
    }

    /// The tunnel behind an interface, if it carries packets and is enabled.
    pub(crate) fn packet_tunnel(&self, id: InterfaceId) -> Option<&Tunnel> {
        match self.interface(id).kind {
            Kind::Tunnel { at, carries } if !carries.is_ethernet() => {
                self.tunnels.list().get(usize::from(at.0))
            }
            _ => None,
        }
    }
}

impl Router {
    /// The way of a packet that has come up to `interface`.
    pub(crate) fn enter(&mut self, p: &Packet, interface: InterfaceId) -> IngressId {
        let link = if self.program.is_point_to_point(interface) { LINK } else { 0 };
        let cut = i32::from(p.arrived_len) - p.frame.len() as i32 + link as i32;
        match i8::try_from(cut) {
            Ok(cut) => self.learnt.ingresses.above(p.ingress, interface, cut),
            Err(_) => IngressId::NONE,
        }
    }

    /// The VLAN interface on `interface` that takes this packet.
    pub(crate) fn vlan_of(&self, p: &Packet, interface: InterfaceId) -> Option<InterfaceId> {
        let lower = self.program.interface(interface);
        let vlans = lower.vlans()?;
        let tag = match (p.class, lower.kind) {
            // Its tag came off when the bridge found out whose it is.
            (Some(class), Kind::Bridge(at)) => {
                self.program.bridge(at).filtering.as_ref()?.tag(class.tci)
            }
            _ => Tag::of(self.io.slab.bytes(&p.frame))?,
        };
        vlans.find(tag)
    }

    /// Takes a packet's outermost tag off.
    pub(crate) fn pop_tag(&mut self, p: &mut Packet) {
        if vlan::pop(self.io.slab.bytes_mut(&mut p.frame)).is_none() {
            return;
        }
        p.frame.pull(TAG_LEN);
        if p.malformed.is_none() {
            p.layers = layers::network(self.io.slab.bytes(&p.frame)).unwrap_or_default();
        }
    }

    /// Puts a tag on; whether there was room in front.
    pub(crate) fn push_tag(&mut self, frame: &mut Frame, tag: Tag) -> bool {
        self.io.slab.push(frame, TAG_LEN) && vlan::push(self.io.slab.bytes_mut(frame), tag)
    }

    /// Counts a packet as received by an interface above its port.
    pub(crate) fn count_in(&mut self, p: &Packet, interface: InterfaceId) {
        self.stats.interface_counts[interface.index()].rx.add(p.frame.len() as u64);
    }

    /// Counts a frame as sent by an interface above its port.
    pub(crate) fn count_out(&mut self, interface: InterfaceId, len: usize, fast: bool) {
        let counts = &mut self.stats.interface_counts[interface.index()];
        counts.tx.add(len as u64);
        if fast && self.program.interface(interface).fast_tx {
            counts.fast_tx.add(len as u64);
        }
    }

    /// Counts a packet as received in FastPath by every interface it came through. `len` is the
    /// length of its frame where IP has it.
    pub(crate) fn count_fast_in(&mut self, ingress: IngressId, len: usize) {
        let mut layers = self.learnt.ingresses.layers(ingress);
        let Some((top, least)) = layers.next() else { return };
        let link = if self.program.is_point_to_point(top) { LINK } else { 0 };
        let len = len - link;
        let counts = &mut self.stats.interface_counts;
        counts[top.index()].fast_rx.add(len as u64);
        for (interface, cut) in layers {
            let more = i64::from(least) - i64::from(cut);
            let len = (len as i64 + more) as u64;
            counts[interface.index()].fast_rx.add(len);
        }
    }

    /// Whether a bridge is on a way up.
    #[cold]
    pub(crate) fn comes_by_bridge(&self, by: IngressId) -> bool {
        let mut layers = self.learnt.ingresses.layers(by);
        layers.any(|(on, _)| matches!(self.program.interface(on).kind, Kind::Bridge(_)))
    }

    /// Notes a sign of life of a tunnel's other end.
    #[inline]
    pub(crate) fn heard_from(&mut self, tunnel: TunnelAt) {
        if let Some(life) = self.link.lives.get_mut(usize::from(tunnel.0)) {
            life.heard();
        }
    }

    /// Counts a tunnel's outer packet as received in FastPath by the interfaces it came through, unless
    /// it came by a bridge that has none.
    pub(crate) fn count_fast_outer(&mut self, by: IngressId, port: InterfaceId, len: usize) {
        if self.tools.closed.is_empty() && (!port.is_some() || self.bridge_fast_path()) {
            self.count_fast_in(by, len);
        }
    }

    /// Remembers how a packet for the router came up, for the fast path: unless rules look at it on
    /// the way, or it has passed two bridges.
    pub(crate) fn learn_ingress(&mut self, p: &Packet) {
        let Some(arrival) = p.arrival.filter(|_| p.layers.vlan.is_none()) else { return };
        if self.has_bridge_rules(p) {
            return;
        }
        let ingress = Ingress {
            id: p.ingress,
            mac: self.program.interface(p.in_interface).mac,
            learns: p.learns,
            peer: arrival.is_in_session().then(|| self.src_mac(p)),
        };
        self.learnt.ingresses.learn(arrival, ingress);
    }

    /// Whether rules of the bridge have looked at the packet on its way up.
    pub(crate) fn has_bridge_rules(&self, p: &Packet) -> bool {
        let program = &self.program;
        p.in_bridge_port.is_some()
            && (program.bridge_filter.has(Chain::Input) || program.bridge_nat.has(Chain::DstNat))
    }
}
