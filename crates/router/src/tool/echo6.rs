//! Echo requests of the router's own over IPv6 (RFC 4443 §4): made, and their answers read.
//!
//! ```text
//! [`echo`] ─► send_request6 ─► LOCAL OUT of IPv6 ─► …
//!    ▲ answer                                       │
//!    └── is_awaited6 ◄── LOCAL IN: a reply, an error that quotes the request
//! ```
//!
//! Never learns a path's MTU: a request that is too long for a link on its way is answered by whoever is
//! before it, and that is what is shown.

use super::echo::{Came, Host, PingId, Request};
use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::flow;
use crate::interface::InterfaceId;
use crate::ip::fib::NextHopId;
use crate::ip::fragment::Piece;
use crate::ip::route::Target;
use crate::ipv6::address;
use crate::packet::Packet;
use crate::router::Router;
use port::slab::MAX_FRAME;
use port::{Frame, Pool};
use std::net::{IpAddr, Ipv6Addr};
use wire::icmpv6::{self, kind};
use wire::ipv6::{HEADER_LEN, Ipv6Header, MTU_MIN, header};
use wire::layers::{self, ETHERTYPE_IPV6};
use wire::{Ipv6, Moment};

/// A fragment header's length.
const FRAGMENT_LEN: usize = 8;

/// The way a request goes.
struct Way {
    own: u128,
    interface: InterfaceId,
    mtu: u16,
}

impl Router {
    /// Makes a request and gives it to LOCAL OUT; in pieces if it is longer than its first link takes.
    pub(super) fn send_request6(
        &mut self,
        now: Moment,
        id: PingId,
        number: u64,
        request: &Request,
        dst: Ipv6Addr,
    ) -> Result<(), &'static str> {
        let way = self.way_to6(request, dst.into()).ok_or("no route to host")?;
        let len = usize::from(request.size).max(HEADER_LEN + icmpv6::HEADER_LEN);
        if request.dont_fragment && len > usize::from(way.mtu) {
            return Err("packet too large and cannot be fragmented");
        }
        let src = match request.src {
            Some(IpAddr::V6(src)) => src,
            _ => way.own.into(),
        };
        let header = Ipv6Header {
            traffic_class: request.dscp << 2,
            flow_label: 0,
            payload_len: 0,
            next_header: header::ICMPV6,
            hop_limit: request.ttl,
            src,
            dst,
        };
        let message = message(id, number as u16, len - HEADER_LEN, (src, dst));
        let mtu = usize::from(way.mtu).max(MTU_MIN.into());
        let Some(mut pieces) = pieces(&mut self.io.pool, header, &message, mtu, number as u32)
        else {
            // As if it had been lost: it is counted as never made.
            self.stats.discards.add(Discard::NoFrame);
            return Ok(());
        };
        self.stats.tally.made += pieces.len() as u64;
        let first = pieces.remove(0);
        let mut p = self.packet(first.frame, first.layers, InterfaceId::NONE);
        (p.ip_len, p.rest, p.bound) = (len as u16, pieces, way.interface);
        match self.program.vrfs.has(request.table) {
            true => p.vrf = request.table,
            false => p.marks.routing = request.table,
        }
        self.stats.last_discard = None;
        flow::output::<u128>(self, now, p);
        match self.stats.last_discard {
            Some(Discard::FilterDrop | Discard::FilterReject) => Err("packet rejected"),
            _ => Ok(()),
        }
    }

    /// How a request gets there. An interface that is named decides for addresses of links; for others
    /// it must be where the route leads.
    fn way_to6(&self, request: &Request, dst: u128) -> Option<Way> {
        let v6 = &self.program.v6;
        let out = |interface: InterfaceId| {
            let own = address::source(&v6.addresses, interface, dst)?;
            let mtu = v6.mtu(interface, self.program.interface(interface).mtu);
            Some(Way { own, interface, mtu })
        };
        let of_link =
            wire::Ipv6Prefix::LINK_LOCAL.contains(dst) || Ipv6Addr::from(dst).is_multicast();
        if of_link {
            return Some(request.interface).filter(|named| named.is_some()).and_then(out);
        }
        // Where a table says nothing main does, if it is no VRF's.
        let has_it = v6.routes.lookup_in(request.table, dst) != NextHopId::NONE;
        let alone = self.program.vrfs.has(request.table);
        let table = if has_it || alone { request.table } else { Mark::NONE };
        let interface = match v6.routes.target(v6.routes.lookup_in(table, dst))? {
            Target::Local => {
                let mtu = (MAX_FRAME - 14) as u16;
                return Some(Way { own: dst, interface: request.interface, mtu });
            }
            &Target::Connected(interface) => interface,
            Target::Gateways(ways) => ways.first()?.0,
            _ => return None,
        };
        let fits = !request.interface.is_some() || request.interface == interface;
        let way = fits.then(|| out(interface)).flatten()?;
        Some(Way { own: v6.routes.pref_src(table, dst).unwrap_or(way.own), ..way })
    }

    /// LOCAL IN: whether a ping waits for this message of ICMPv6, which then has it. Whoever asks has
    /// looked whether it is intact.
    pub(crate) fn is_awaited6(&mut self, now: Moment, p: &Packet) -> bool {
        if self.tools.echoes.is_empty() {
            return false;
        }
        let Some((id, sequence, error)) = read(self.transport(p)) else { return false };
        let limit = self.io.slab.bytes(&p.frame)[usize::from(p.layers.l3) + 7];
        let host = Some(Host::Address(Ipv6Addr::from(p.ends.src).into()));
        // What came in pieces had a header more.
        let between = if p.rest.is_empty() { 0 } else { FRAGMENT_LEN as u16 };
        let came = Came { host, packet: Some((p.ip_len - between, limit)), error };
        self.tools.echoes.answer(id, sequence, now, came)
    }

    /// A frame of the router's own whose neighbour did not answer: if it is a request, the router tells
    /// itself what it would tell others.
    pub(crate) fn own_frame_failed6(&mut self, now: Moment, frame: &Frame) {
        let ip = self.io.slab.bytes(frame).get(14..).unwrap_or(&[]);
        let Some((id, sequence)) = request_in(ip) else { return };
        let Ok(packet) = Ipv6::new(ip) else { return };
        let quoted =
            (HEADER_LEN + usize::from(packet.payload_len())).min(usize::from(MTU_MIN) - 48);
        let host = Some(Host::Address(packet.src().into()));
        let packet = Some(((quoted + 48) as u16, 64));
        let came = Came { host, packet, error: Some("address unreachable") };
        self.tools.echoes.answer(id, sequence, now, came);
    }
}

/// The message of a request: `len` bytes with its header, and bytes that count.
fn message(PingId(id): PingId, sequence: u16, len: usize, ends: (Ipv6Addr, Ipv6Addr)) -> Vec<u8> {
    let mut message: Vec<u8> = (0..len).map(|i| i as u8).collect();
    message[..4].copy_from_slice(&[kind::ECHO_REQUEST, 0, 0, 0]);
    message[4..6].copy_from_slice(&id.to_be_bytes());
    message[6..8].copy_from_slice(&sequence.to_be_bytes());
    icmpv6::fill_checksum(ends.0, ends.1, &mut message);
    message
}

/// The packet in as many pieces as it needs (RFC 8200 §4.5); `None` when the pool runs dry.
fn pieces(
    pool: &mut Pool,
    header: Ipv6Header,
    message: &[u8],
    mtu: usize,
    identification: u32,
) -> Option<Vec<Piece>> {
    let whole = HEADER_LEN + message.len() <= mtu;
    let (between, room) = match whole {
        true => (0, message.len().max(1)),
        false => (FRAGMENT_LEN, (mtu - HEADER_LEN - FRAGMENT_LEN) & !7),
    };
    let header_len = HEADER_LEN + between;
    let slab = pool.slab().clone();
    let mut pieces: Vec<Piece> = Vec::new();
    for (n, part) in message.chunks(room).enumerate() {
        let offset = n * room;
        let Some(mut frame) = pool.alloc(14 + header_len + part.len()) else {
            pieces.into_iter().for_each(|piece| pool.free(piece.frame));
            return None;
        };
        let payload_len = (between + part.len()) as u16;
        let next_header = if whole { header.next_header } else { header::FRAGMENT };
        let this = Ipv6Header { payload_len, next_header, ..header };
        let bytes = slab.bytes_mut(&mut frame);
        bytes[..12].fill(0);
        bytes[12..14].copy_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
        bytes[14..14 + HEADER_LEN].copy_from_slice(&this.to_bytes());
        if !whole {
            let more = u16::from(offset + part.len() < message.len());
            let fragment = &mut bytes[14 + HEADER_LEN..14 + header_len];
            fragment[..2].copy_from_slice(&[header.next_header, 0]);
            fragment[2..4].copy_from_slice(&(offset as u16 | more).to_be_bytes());
            fragment[4..].copy_from_slice(&identification.to_be_bytes());
        }
        bytes[14 + header_len..].copy_from_slice(part);
        let layers = layers::network(bytes).unwrap_or_default();
        pieces.push(Piece { offset, len: part.len(), header_len, frame, layers });
    }
    Some(pieces)
}

/// Which request a message answers, and what it says is wrong.
fn read(message: &[u8]) -> Option<(PingId, u16, Option<&'static str>)> {
    let &[kind, code, _, _, a, b, c, d] = message.first_chunk::<8>()?;
    if kind == kind::ECHO_REPLY {
        return Some((PingId(u16::from_be_bytes([a, b])), u16::from_be_bytes([c, d]), None));
    }
    let error = error_name(kind, code)?;
    let (id, sequence) = request_in(&message[icmpv6::HEADER_LEN..])?;
    Some((id, sequence, Some(error)))
}

/// The echo request in an IPv6 packet, which may be cut off behind its first eight bytes.
fn request_in(ip: &[u8]) -> Option<(PingId, u16)> {
    let head = ip.first_chunk::<HEADER_LEN>()?;
    let (mut next, mut at) = (head[6], HEADER_LEN);
    if next == header::FRAGMENT {
        let fragment = ip.get(at..at + FRAGMENT_LEN)?;
        // Only the first piece has the message's header.
        (fragment[2] == 0 && fragment[3] & 0xf8 == 0).then_some(())?;
        (next, at) = (fragment[0], at + FRAGMENT_LEN);
    }
    let &[kind, _, _, _, a, b, c, d] = ip.get(at..)?.first_chunk::<8>()?;
    let is_request = head[0] >> 4 == 6 && next == header::ICMPV6 && kind == kind::ECHO_REQUEST;
    is_request.then(|| (PingId(u16::from_be_bytes([a, b])), u16::from_be_bytes([c, d])))
}

/// What STATUS says of an error.
fn error_name(kind: u8, code: u8) -> Option<&'static str> {
    Some(match (kind, code) {
        (kind::UNREACHABLE, 0) => "no route to destination",
        (kind::UNREACHABLE, 1) => "admin prohibited",
        (kind::UNREACHABLE, 2) => "beyond scope of source address",
        (kind::UNREACHABLE, 3) => "address unreachable",
        (kind::UNREACHABLE, 4) => "port unreachable",
        (kind::UNREACHABLE, _) => "unreachable",
        (kind::TOO_BIG, _) => "packet too big",
        (kind::TIME_EXCEEDED, 0) => "hop limit exceeded",
        (kind::TIME_EXCEEDED, _) => "reassembly time exceeded",
        (kind::PARAMETER_PROBLEM, _) => "parameter problem",
        _ => return None,
    })
}
