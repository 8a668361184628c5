//! WireGuard's part of the flow: packets to peers and of peers, handshakes, and what is due.
//!
//! ```text
//! link_out ─► [encrypt] ─┬─ keys: sealed ─► LOCAL OUT
//!                        └─ none: it waits, and a handshake is begun
//! local_in ─► [receive] ─┬─ data: opened ─► link_in, as by any interface
//!                        └─ a handshake's message
//! ```

// Keys agreed upon.
mod handshake;
// What is due, and which peers there are.
pub(super) mod tick;

use super::tunnel::{MOST, in_one_piece, leads_back, send_outer};
use super::{link_in, v6};
use crate::discard::Discard;
use crate::fast;
use crate::interface::InterfaceId;
use crate::interface::ingress::Arrival;
use crate::interface::wireguard::state::{MOST_WAITING, REJECT_AFTER_MESSAGES, Session};
use crate::interface::wireguard::{Peer, Wireguard, WireguardAt};
use crate::ip::datagram;
use crate::ip::dns::resolver::own_address;
use crate::ip::icmp::write_ipv4;
use crate::ipv6;
use crate::packet::{Ends, Packet};
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
use port::Frame;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wire::Moment;
use wire::checksum::{self, Sum};
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Layers, protocol};
use wire::wireguard::{DATA, Data, Message, TAG, padded};

/// Ethernet's header, which is there for the form alone.
const LINK: usize = 14;
const UDP: usize = 8;

/// A peer's place: his interface's, and his own there.
type Place = (usize, usize);

/// Whether a packet is for an interface of WireGuard.
pub(super) fn is_asked(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP && listener(r, tuple.dst_port).is_some()
}

/// The interface that listens on a port.
fn listener(r: &Router, port: u16) -> Option<usize> {
    r.program.wireguards.iter().position(|one| one.enabled && one.port == port)
}

/// A datagram of either family has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let is_six = p.layers.ether_type == ETHERTYPE_IPV6;
    let Some(p) = (if is_six { Some(p) } else { in_one_piece(r, p) }) else { return };
    let bytes = match is_six {
        true => ipv6::datagram::payload(r, &p).filter(|_| p.rest.is_empty()),
        false => r.datagram(&p),
    };
    let Some(bytes) = bytes else { return r.discard(p, Discard::MalformedTunnel) };
    let (from, own) = datagram::ends(&p);
    let ends = (own, from);
    match Message::read(bytes) {
        None => r.discard(p, Discard::MalformedTunnel),
        Some(Message::Data(data)) => {
            let len = bytes.len();
            data_in(r, now, p, ends, (data, len))
        }
        Some(_) => {
            let bytes = bytes.to_vec();
            r.tell(|| Event::Local);
            match handshake::receive(r, now, ends, &bytes) {
                Ok(()) => r.consume(p),
                Err(why) => r.discard(p, why),
            }
        }
    }
}

/// A message of data, which begins behind UDP's header.
fn data_in(
    r: &mut Router,
    now: Moment,
    p: Packet,
    ends: (SocketAddr, SocketAddr),
    data: (Data, usize),
) {
    r.at(Step::Decapsulation);
    let start = usize::from(p.layers.l4) + UDP;
    match open(r, now, p, ends, (data.0, start, start + data.1)) {
        Err((p, why)) => r.discard(p, why),
        Ok(None) => {}
        Ok(Some((interface, frame))) => come_in(r, now, interface, frame),
    }
}

/// Opens a message of data, and takes what is inside out of it; nothing if nothing is.
fn open(
    r: &mut Router,
    now: Moment,
    mut p: Packet,
    (own, from): (SocketAddr, SocketAddr),
    (data, start, end): (Data, usize, usize),
) -> Result<Option<(InterfaceId, Frame)>, (Packet, Discard)> {
    let program = r.program.clone();
    let found = place_of_number(r, data.receiver).filter(|(at, _)| {
        program.wireguards.get(*at).is_some_and(|one| one.enabled && one.port == own.port())
    });
    let Some(place) = found else { return Err((p, Discard::NoSecurityAssociation)) };
    let (wireguard, peer) =
        (&program.wireguards[place.0], &program.wireguards[place.0].peers[place.1]);
    let slab = r.io.slab.clone();
    let sealed = &mut slab.bytes_mut(&mut p.frame)[start + DATA..end];
    let Some(state) = r.link.wireguard.peers.get_mut(&peer.item) else {
        return Err((p, Discard::NoSecurityAssociation));
    };
    let session = state.session(data.receiver);
    let session = session.filter(|one| one.is_usable(now) && data.counter < REJECT_AFTER_MESSAGES);
    let Some(session) = session else { return Err((p, Discard::NoSecurityAssociation)) };
    if !session.window.is_new(data.counter) {
        return Err((p, Discard::Repeated));
    }
    if !session.keys.open(data.counter, sealed) {
        return Err((p, Discard::Undecryptable));
    }
    session.window.note(data.counter);
    state.bytes[0] += (end - start) as u64;
    state.endpoint = Some((Some(own.ip()), from));
    let (inside, is_data) = (start + DATA..end - TAG, end - TAG > start + DATA);
    state.heard_from(now, is_data);
    let (is_new, is_stale) = (state.used(now, data.receiver), is_data && state.is_stale(now));
    r.services.due = now;
    if is_new {
        r.link.wireguard.number_anew();
        handshake::agreed(r, now, wireguard, peer);
    }
    if is_stale {
        handshake::begin(r, now, place);
    }
    if !is_data {
        r.consume(p);
        return Ok(None);
    }
    let packet = &slab.bytes(&p.frame)[inside.clone()];
    let Some((ether_type, len, source)) = ip(packet) else {
        return Err((p, Discard::MalformedTunnel));
    };
    if wireguard.allowed.find(source) != Some(place.1) {
        return Err((p, Discard::OutsidePolicy));
    }
    if r.link.depth >= MOST {
        return Err((p, Discard::TunnelLoop));
    }
    p.frame.truncate(inside.start + len);
    p.frame.pull(inside.start - LINK);
    let bytes = slab.bytes_mut(&mut p.frame);
    bytes[..12].fill(0);
    bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
    Ok(Some((wireguard.interface, r.recycle(p))))
}

/// The EtherType of a packet, its length, and from where it is.
fn ip(packet: &[u8]) -> Option<(u16, usize, IpAddr)> {
    let half = |at: usize| Some(usize::from(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?)));
    let (ether_type, len, source) = match packet.first()? >> 4 {
        4 => (ETHERTYPE_IPV4, half(2)?, (*packet.get(12..)?.first_chunk::<4>()?).into()),
        6 => (ETHERTYPE_IPV6, 40 + half(4)?, (*packet.get(8..)?.first_chunk::<16>()?).into()),
        _ => return None,
    };
    (len <= packet.len()).then_some((ether_type, len, source))
}

/// What was inside comes in by its interface, as by a port: most packets by the recipe of their flow.
fn come_in(r: &mut Router, now: Moment, interface: InterfaceId, frame: Frame) {
    let len = (frame.len() - LINK) as u64;
    r.stats.interface_counts[interface.index()].rx.add(len);
    if !r.program.runs(interface) {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    let mut one = r.io.spare.pop().unwrap_or_default();
    one.push(frame);
    r.link.depth += 1;
    fast::receive(r, now, interface, &mut one);
    r.link.depth -= 1;
    r.io.spare.push(one);
}

/// The same box by box.
pub(super) fn inside(r: &mut Router, now: Moment, interface: InterfaceId, frame: Frame) {
    let (layers, malformed) = match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => (layers, None),
        Err(malformed) => (Layers::default(), Some(malformed)),
    };
    let arrival = Arrival::of(interface, r.io.slab.bytes(&frame)).map(|(arrival, _)| arrival);
    let mut p = r.packet(frame, layers, interface);
    (p.malformed, p.arrived_len, p.arrival) = (malformed, p.frame.len() as u16, arrival);
    r.tell(|| Event::Decapsulated(interface));
    link_in(r, now, p, interface);
}

/// To whom a frame's packet is.
fn destination(frame: &[u8]) -> Option<IpAddr> {
    let packet = frame.get(LINK..)?;
    match u16::from_be_bytes(*frame[12..].first_chunk()?) {
        ETHERTYPE_IPV4 => Some((*packet.get(16..)?.first_chunk::<4>()?).into()),
        ETHERTYPE_IPV6 => Some((*packet.get(24..)?.first_chunk::<16>()?).into()),
        _ => None,
    }
}

/// A packet leaves by an interface: to the peer whose its destination is.
pub(super) fn encrypt(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    at: WireguardAt,
    frame: Frame,
) {
    r.at(Step::Encapsulation);
    if !r.program.runs(interface) {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    if frame.has_offload() {
        return r.finish_out(frame, |r, frame| encrypt(r, now, interface, at, frame));
    }
    let program = r.program.clone();
    let Some(to) = destination(r.io.slab.bytes(&frame)) else {
        return r.discard_frame(frame, Discard::UnknownProtocol);
    };
    let at = usize::from(at.0);
    let Some(peer) = program.wireguards.get(at).and_then(|one| one.allowed.find(to)) else {
        return r.discard_frame(frame, Discard::OutsidePolicy);
    };
    // What would come back for ever is not encrypted: each time it would be counted.
    let end = r.link.wireguard.peers.get(&program.wireguards[at].peers[peer].item);
    let end = end.and_then(|state| state.endpoint).filter(|_| r.link.depth > 0);
    let is_loop = end.is_some_and(|(_, end)| match end.ip() {
        IpAddr::V4(v4) => leads_back(r, interface, v4.into()),
        IpAddr::V6(v6) => ipv6::datagram::way_toward(r, v6.into()) == Some(interface),
    });
    if is_loop || r.link.depth >= MOST {
        return r.discard_frame(frame, Discard::TunnelLoop);
    }
    r.count_out(interface, frame.len() - LINK, false);
    let (wireguard, peer_of) = (&program.wireguards[at], &program.wireguards[at].peers[peer]);
    if !r.link.wireguard.peers.contains_key(&peer_of.item) {
        tick::reconcile(r);
    }
    let Some(state) = r.link.wireguard.peers.get_mut(&peer_of.item) else {
        return r.discard_frame(frame, Discard::NoSecurityAssociation);
    };
    r.services.due = now;
    if state.sends_by(now).is_some() {
        return send(r, now, wireguard, peer_of, Some(frame));
    }
    if state.endpoint.is_none() && peer_of.endpoint.is_none() {
        // Nobody knows where he is.
        return r.discard_frame(frame, Discard::NoSecurityAssociation);
    }
    tick::find(r, now, peer_of);
    let Some(state) = r.link.wireguard.peers.get_mut(&peer_of.item) else {
        return r.discard_frame(frame, Discard::NoSecurityAssociation);
    };
    state.wants(now);
    let asks = state.may_ask(now) && !peer_of.is_responder;
    let oldest = (state.waiting.len() >= MOST_WAITING).then(|| state.waiting.remove(0));
    state.waiting.push(frame);
    if let Some(oldest) = oldest {
        r.discard_frame(oldest, Discard::NoSecurityAssociation);
    }
    if asks {
        handshake::begin(r, now, (at, peer));
    }
}

/// Sends a packet by the session there is, or that there is nothing to send.
fn send(r: &mut Router, now: Moment, wireguard: &Wireguard, peer: &Peer, frame: Option<Frame>) {
    let sealed = sealed(r, now, wireguard, peer, frame.as_ref());
    if let Some(frame) = frame {
        match sealed {
            Ok(_) => r.io.pool.free(frame),
            Err(why) => r.discard_frame(frame, why),
        }
    }
    let Ok(sealed) = sealed else { return };
    if r.link.depth >= MOST {
        return r.discard_frame(sealed, Discard::TunnelLoop);
    }
    r.link.depth += 1;
    match r.io.slab.bytes(&sealed)[12..14] == ETHERTYPE_IPV6.to_be_bytes() {
        true => v6::local_out(r, now, sealed, InterfaceId::NONE),
        false => send_outer(r, now, sealed, false),
    }
    r.link.depth -= 1;
}

/// A frame with a packet sealed.
fn sealed(
    r: &mut Router,
    now: Moment,
    wireguard: &Wireguard,
    peer: &Peer,
    frame: Option<&Frame>,
) -> Result<Frame, Discard> {
    let slab = r.io.slab.clone();
    let packet = frame.map_or(&[][..], |frame| &slab.bytes(frame)[LINK..]);
    let (own, to) = ends(r, wireguard, peer).ok_or(Discard::NoRoute)?;
    let most = usize::from(r.program.interface(wireguard.interface).mtu);
    let inside = padded(packet.len()).min(most).max(packet.len());
    let udp = UDP + DATA + inside + TAG;
    if udp + 20 > usize::from(u16::MAX) {
        return Err(Discard::TooLong);
    }
    let state = r.link.wireguard.peers.get_mut(&peer.item);
    let state = state.ok_or(Discard::NoSecurityAssociation)?;
    let session = state.current.as_mut().ok_or(Discard::NoSecurityAssociation)?;
    let pool = &mut r.io.pool;
    let new = match (own.ip(), to.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut new = pool.alloc(LINK + 20 + udp).ok_or(Discard::FramesShort)?;
            let bytes = slab.bytes_mut(&mut new);
            bytes[..12].fill(0);
            bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
            write_ipv4(&mut bytes[LINK..], 0, protocol::UDP, src.into(), dst.into());
            bytes[18..20].copy_from_slice(&r.link.identification.to_be_bytes());
            bytes[24..26].fill(0);
            let sum = checksum::of(&bytes[LINK..34]);
            bytes[24..26].copy_from_slice(&sum.to_be_bytes());
            seal(&mut bytes[34..], (own.port(), to.port()), session, packet);
            new
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let ends = Ends { src: src.into(), dst: dst.into() };
            let new = ipv6::icmp::packet(pool, ends, protocol::UDP, 64, udp, |bytes| {
                seal(bytes, (own.port(), to.port()), session, packet);
                let (src, dst) = (src.octets(), dst.octets());
                let sum = Sum::pseudo_ipv6(src, dst, protocol::UDP, udp as u32).bytes(bytes);
                let sum = Some(sum.finish()).filter(|sum| *sum != 0).unwrap_or(0xffff);
                bytes[6..8].copy_from_slice(&sum.to_be_bytes());
            });
            new.ok_or(Discard::FramesShort)?
        }
        _ => return Err(Discard::NoRoute),
    };
    state.said(now, frame.is_some());
    state.bytes[1] += (udp - UDP) as u64;
    r.link.next_identification();
    // (A keepalive was no frame before.)
    r.stats.tally.made += u64::from(frame.is_none());
    if let (IpAddr::V4(src), IpAddr::V4(dst)) = (own.ip(), to.ip()) {
        let (tunnel, src, dst) = (wireguard.interface, src.into(), dst.into());
        r.tell(|| Event::Encapsulated { tunnel, src, dst });
    }
    Ok(new)
}

/// Writes a datagram with a packet sealed, but for its checksum: what is inside is proved.
fn seal(udp: &mut [u8], ports: (u16, u16), session: &mut Session, packet: &[u8]) {
    let len = (udp.len() as u16).to_be_bytes();
    udp[..2].copy_from_slice(&ports.0.to_be_bytes());
    udp[2..4].copy_from_slice(&ports.1.to_be_bytes());
    udp[4..8].copy_from_slice(&[len[0], len[1], 0, 0]);
    let header = Data { receiver: session.theirs, counter: session.counter };
    udp[UDP..UDP + DATA].copy_from_slice(&header.write());
    let inside = &mut udp[UDP + DATA..];
    inside[..packet.len()].copy_from_slice(packet);
    inside[packet.len()..].fill(0);
    session.keys.seal(session.counter, inside);
    session.counter += 1;
}

/// Where a peer is, and from where the router sends to it.
fn ends(r: &Router, wireguard: &Wireguard, peer: &Peer) -> Option<(SocketAddr, SocketAddr)> {
    let (own, to) = r.link.wireguard.peers.get(&peer.item)?.endpoint?;
    let is_own = |own: &IpAddr| match own {
        IpAddr::V4(v4) => r.program.is_local((*v4).into()),
        IpAddr::V6(v6) => r.program.v6.routes.is_own((*v6).into()),
    };
    let own = own.filter(is_own).or_else(|| match to.ip() {
        IpAddr::V4(v4) => Some(Ipv4Addr::from(own_address(r, v4.into())?).into()),
        IpAddr::V6(v6) => Some(Ipv6Addr::from(ipv6::datagram::own_address(r, v6.into())?).into()),
    })?;
    Some((SocketAddr::new(own, wireguard.port), to))
}

/// The peer whose a number is, as long as he is configured.
fn place_of_number(r: &Router, number: u32) -> Option<Place> {
    let item = *r.link.wireguard.numbers.get(&number)?;
    let place = *r.link.wireguard.places.get(&item)?;
    let peer = r.program.wireguards.get(place.0)?.peers.get(place.1)?;
    (peer.item == item).then_some(place)
}
