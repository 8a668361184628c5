//! Runs of outer packets: one tunnel's in a row, between which nothing happens.
//!
//! ```text
//! the first   tunnel::open: flow, recipe, tunnel ─► [Run]: what the next ones must be like
//! the next    words of outer and tunnel's headers compared, the sum ─► taken off, where it lies
//! the end     all counted at once
//! ```
//!
//! What was asked of the first is not asked again. In the usual form what is behind the outer header has one
//! length and is compared as a whole; a packet took 240 instructions when it was read, and takes 85.

use super::passed::Passed;
use super::tunnel::{By, Outer, Payload, Protocols, begins_connection, take_off};
use crate::counter::Count;
use crate::firewall::connection::FlowId;
use crate::interface::InterfaceId;
use crate::interface::ingress::{Arrival, Ingress};
use crate::interface::tunnel::{Carries, TunnelAt};
use crate::router::Router;
use port::Frame;
use wire::layers::protocol;
use wire::{FiveTuple, MacAddr, checksum, ppp};

/// What the outer packet before came through, and its flow.
#[derive(Default)]
pub(super) struct Known {
    pub(super) by: Option<(Arrival, Ingress)>,
    pub(super) flow: Option<(FiveTuple, FlowId)>,
    pub(super) run: Option<Run>,
}

impl Known {
    /// Takes off what is around packets that are as the one before; of how many, from the first on.
    #[inline]
    pub(super) fn take(
        &mut self,
        r: &mut Router,
        protocols: Protocols,
        by: &mut By,
        frames: &mut [Frame],
        passed: &mut Passed,
    ) -> usize {
        let Some(run) = &mut self.run else { return 0 };
        let mut n = 0;
        loop {
            n += run.take(r, protocols, &mut frames[n..], passed);
            let Some(frame) = frames.get_mut(n) else { return n };
            if !run.take_other(r, frame, passed) {
                return n;
            }
            by.may_be_nested |= protocols.may_be(r.io.slab.bytes(frame));
            n += 1;
        }
    }

    /// Ends the run, and counts all there was; nothing is known any more.
    pub(super) fn end(&mut self, r: &mut Router, passed: &mut Passed) {
        passed.settle(r);
        self.end_run(r);
        *self = Known::default();
    }

    pub(super) fn end_run(&mut self, r: &mut Router) {
        let Some(run) = self.run.take() else { return };
        let flow = r.v4.connections.flow_mut(run.outer.flow);
        flow.merge(run.came);
        if let Some((recipe, _)) = r.learnt.recipes.get_mut(run.recipe) {
            recipe.count.merge(run.came);
        }
        r.stats.paths.replayed += run.came.packets;
        r.stats.interface_counts[run.interface.index()].rx.merge(run.rx);
    }
}

/// Outer packets of one tunnel, between which nothing has happened.
pub(super) struct Run {
    outer: Outer,
    recipe: u32,
    interface: InterfaceId,
    /// `None` of an L2TP session.
    tunnel: Option<TunnelAt>,
    head: Head,
    kind: Kind,
    /// The first segments of connections are for somebody else to look at.
    syn: bool,
    is_ethernet: bool,
    fast: bool,
    /// As outer packets, and as the tunnel counts them.
    came: Count,
    rx: Count,
}

/// What the outer headers have in common, in words that are compared whole.
#[derive(Clone, Copy)]
struct Head {
    /// The destination's address, and that the source's is no group's.
    macs: u64,
    /// The protocol, and nothing of fragments.
    middle: u64,
    /// Source and destination.
    ends: u64,
    /// Their sum.
    sum: u64,
}

/// What is behind IPv4's header, where that is always the same.
#[derive(Clone, Copy)]
enum Kind {
    Ipip,
    Gre,
    /// GRE's with a number at its end; frames of IPv4.
    Eoip([u8; 2]),
    /// UDP's ports, and L2TP's header without numbers or a length of its own; what PPP puts before its protocol is
    /// there, or left out (RFC 1661 §6.6).
    L2tp([u8; 4], [u8; 8]),
    L2tpShort([u8; 4], [u8; 8]),
    /// In no such way.
    Other,
}

/// The least of an IPv4 packet inside that is taken off at once: with ports.
const INNER: usize = 28;

/// Of eight bytes at `at`.
#[inline(always)]
fn word<const N: usize>(head: &[u8; N], at: usize) -> u64 {
    head[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Of four bytes at `at`.
#[inline(always)]
fn half<const N: usize>(head: &[u8; N], at: usize) -> u32 {
    head[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

impl Head {
    const MACS: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]);
    /// Of EtherType, version and DSCP.
    const TYPE: u32 = u32::from_ne_bytes([0xff, 0xff, 0xff, 0]);
    /// Of identification, fragment, TTL, protocol and checksum: it is no fragment.
    const MIDDLE: u64 = u64::from_ne_bytes([0, 0, 0x3f, 0xff, 0, 0xff, 0, 0]);

    /// Of packets to this address, with such ends and protocol.
    fn new(MacAddr([a, b, c, d, e, f]): MacAddr, tuple: &FiveTuple) -> Head {
        let ([p, q, r, s], [w, x, y, z]) = (tuple.src.to_be_bytes(), tuple.dst.to_be_bytes());
        Head {
            macs: u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]),
            middle: u64::from_ne_bytes([0, 0, 0, 0, 0, tuple.protocol, 0, 0]),
            ends: u64::from_ne_bytes([p, q, r, s, w, x, y, z]),
            sum: u64::from(tuple.src.to_be()) + u64::from(tuple.dst.to_be()),
        }
    }

    /// The length of a packet that begins so; 0 of others.
    #[inline(always)]
    fn ip_len<const N: usize>(&self, head: &[u8; N]) -> usize {
        let (first, middle) = (half(head, 14), word(head, 18));
        let sum = self.sum + u64::from(first) + u64::from(middle as u32) + (middle >> 32);
        let is_alike = word(head, 0) & Self::MACS == self.macs
            && half(head, 12) & Self::TYPE == u32::from_ne_bytes([8, 0, 0x45, 0])
            && middle & Self::MIDDLE == self.middle
            && word(head, 26) == self.ends
            && checksum::is_ok_sum(sum);
        if is_alike { u16::from_be_bytes([head[16], head[17]]).into() } else { 0 }
    }
}

impl Kind {
    /// Of packets like this one.
    fn of(carries: Option<Carries>, id: u32, protocol: u8, frame: &[u8]) -> Kind {
        let l2tp = frame.get(34..).and_then(|rest| rest.first_chunk::<18>());
        match (carries, l2tp) {
            (Some(Carries::Ipip), _) => Kind::Ipip,
            (Some(Carries::Gre), _) => Kind::Gre,
            (Some(Carries::Eoip), _) => Kind::Eoip((id as u16).to_le_bytes()),
            (None, Some(&[a, b, c, d, _, _, 0, 0, 0, 2, p, q, r, s, y, z, ..]))
                if protocol == protocol::UDP =>
            {
                let (ports, head) = ([a, b, c, d], [0, 2, p, q, r, s, y, z]);
                match [y, z] {
                    [0xff, 0x03] => Kind::L2tp(ports, head),
                    PPP_IPV4 => Kind::L2tpShort(ports, head),
                    _ => Kind::Other,
                }
            }
            _ => Kind::Other,
        }
    }
}

/// What PPP says of IPv4.
const PPP_IPV4: [u8; 2] = ppp::protocol::IPV4.to_be_bytes();

impl Run {
    /// Packets like one that is opened: it came to `mac`, and is of this tunnel.
    pub(super) fn new(
        r: &Router,
        (outer, recipe, mac): (Outer, u32, MacAddr),
        payload: &Payload,
        fast: bool,
        frame: &[u8],
    ) -> Run {
        let tunnel = payload.tunnel.map(|at| r.program.tunnels.get(at));
        let (carries, id) =
            (tunnel.map(|tunnel| tunnel.carries), tunnel.map_or(0, |tunnel| tunnel.id));
        Run {
            outer,
            recipe,
            interface: payload.interface,
            tunnel: payload.tunnel,
            head: Head::new(mac, &outer.tuple),
            kind: Kind::of(carries, id, outer.tuple.protocol, frame),
            syn: tunnel.is_some_and(|tunnel| tunnel.clamps_mss),
            is_ethernet: carries.is_some_and(Carries::is_ethernet),
            fast,
            came: Count::default(),
            rx: Count::default(),
        }
    }

    /// Takes off what is around packets of the usual form; of how many, from the first on.
    fn take(
        &mut self,
        r: &mut Router,
        protocols: Protocols,
        frames: &mut [Frame],
        passed: &mut Passed,
    ) -> usize {
        let all = (r, protocols, frames, passed);
        match self.kind {
            Kind::Ipip => self.take_each::<34, 0, { 34 + INNER }>(all, |_, _| true),
            Kind::Gre => self.take_each::<38, 0, { 38 + INNER }>(all, |head, _| {
                half(head, 34) == u32::from_ne_bytes([0, 0, 8, 0])
            }),
            Kind::Eoip([y, z]) => self.take_each::<42, 14, { 56 + INNER }>(all, |head, len| {
                let [a, b] = (len as u16 - 28).to_be_bytes();
                let is_ours = word(head, 34) == u64::from_ne_bytes([0x20, 1, 0x64, 0, a, b, y, z]);
                is_ours && head[48] & 1 == 0 && head[54..56] == [8, 0]
            }),
            Kind::L2tp(ports, session) => self
                .take_each::<52, 0, { 52 + INNER }>(all, |head, len| {
                    is_l2tp(head, len, ports, session) && head[50..52] == PPP_IPV4
                }),
            Kind::L2tpShort(ports, session) => self
                .take_each::<50, 0, { 50 + INNER }>(all, |head, len| {
                    is_l2tp(head, len, ports, session)
                }),
            Kind::Other => 0,
        }
    }

    /// The same, where what is carried begins at `AT`, and IPv4's header behind `LINK` bytes of it. `is_its` is
    /// asked of the first `HEAD` bytes, which all have, and of the outer packet's length.
    ///
    /// Counts are kept beside until the end: in the run they would be loaded and stored for each packet.
    #[inline(always)]
    fn take_each<const AT: usize, const LINK: usize, const HEAD: usize>(
        &mut self,
        (r, protocols, frames, passed): (&mut Router, Protocols, &mut [Frame], &mut Passed),
        is_its: impl Fn(&[u8; HEAD], usize) -> bool,
    ) -> usize {
        let (head, syn) = (self.head, self.syn);
        let (mut n, mut ip_lens, mut lens) = (0, 0, 0);
        for frame in frames {
            if frame.has_offload() {
                break;
            }
            let len = frame.len();
            let bytes = r.io.slab.bytes_mut(frame);
            let Some(first) = bytes.first_chunk_mut::<HEAD>() else { break };
            let ip_len = head.ip_len(first);
            let end = 14 + ip_len;
            if !(HEAD..=len).contains(&end) || !is_its(first, ip_len) {
                break;
            }
            let Some(inner) = first[AT + LINK..].first_chunk::<24>() else { break };
            let may_begin = syn && inner[9] == protocol::TCP;
            if protocols.may_be_packet(inner)
                || may_begin && begins_connection(&bytes[AT + LINK..end])
            {
                break;
            }
            if LINK == 0
                && let Some(link) = bytes[AT - 14..].first_chunk_mut::<14>()
            {
                *link = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
            }
            frame.truncate(end);
            frame.pull(AT + LINK - 14);
            (n, ip_lens, lens) = (n + 1, ip_lens + ip_len as u64, lens + len as u64);
        }
        let packets = n as u64;
        self.came.merge(Count { packets, bytes: ip_lens });
        self.rx.merge(Count { packets, bytes: ip_lens - packets * (AT as u64 - 14) });
        passed.came_together(r, self.outer.came.ingress, Count { packets, bytes: lens }, self.fast);
        n
    }

    /// Whether a packet has the run's ports, where it has ports at all.
    #[inline]
    fn has_same_ports(&self, frame: &[u8]) -> bool {
        let FiveTuple { src_port, dst_port, protocol, .. } = self.outer.tuple;
        let [[a, b], [c, d]] = [src_port, dst_port].map(u16::to_be_bytes);
        protocol != protocol::UDP || frame.get(34..38) == Some(&[a, b, c, d])
    }

    /// Takes off what is around one packet of any form; whether it is of this tunnel.
    fn take_other(&mut self, r: &mut Router, frame: &mut Frame, passed: &mut Passed) -> bool {
        let bytes = r.io.slab.bytes(frame);
        let Some(tunnel) = self.tunnel.filter(|_| !frame.has_offload()) else { return false };
        let ip_len = bytes.first_chunk::<34>().map_or(0, |head| self.head.ip_len(head));
        if ip_len < 20 || !self.has_same_ports(bytes) {
            return false;
        }
        let Some(payload) = Payload::read(r, &self.outer, Some(tunnel), bytes) else {
            return false;
        };
        if payload.tunnel != self.tunnel {
            return false;
        }
        self.came.add(payload.ip_len.into());
        self.rx.add(payload.len as u64);
        let one = Count { packets: 1, bytes: frame.len() as u64 };
        passed.came_together(r, self.outer.came.ingress, one, self.fast);
        take_off(r, &payload, self.is_ethernet, frame);
        true
    }
}

/// Whether behind the outer header of `len` bytes in all are these ports, no checksum, and this of L2TP and PPP.
#[inline(always)]
fn is_l2tp<const N: usize>(
    head: &[u8; N],
    len: usize,
    [a, b, c, d]: [u8; 4],
    session: [u8; 8],
) -> bool {
    let [l, m] = (len as u16 - 20).to_be_bytes();
    word(head, 34) == u64::from_ne_bytes([a, b, c, d, l, m, 0, 0])
        && word(head, 42) == u64::from_ne_bytes(session)
}
