//! L2TP's part of the flow: control messages, tunnels made and ended, and the packets of their sessions.
//!
//! ```text
//! local_in ─► [receive] ─┬─ control: in order, once ─► a tunnel's step ─► what is sent is kept until it
//!                        │                                                 is acknowledged
//!                        └─ data ─┬─ IP: packet_in, by the session's interface
//!                                 └─ PPP's control packets: ppp::control_in
//! link_out ─► session_out ─► [packet_out] ─► LOCAL OUT        ticks ─► [tick]
//! ```

use super::call::{self, Line, Whose};
use super::ppp;
use super::tunnel::{MOST as MOST_DEPTH, in_one_piece, outer, send_outer, with_room};
use crate::discard::Discard;
use crate::fast::enclose;
use crate::interface::InterfaceId;
use crate::interface::l2tp::state::{
    HELLO, Leg, MOST, MOST_HALF_OPEN, MOST_LEGS, MOST_WAITING, Phase, TRIES, Tunnel,
};
use crate::interface::ppp::calls::{Call, Carrier, Owner, Wire};
use crate::interface::ppp::dial::Dialler;
use crate::interface::ppp::machine::NAME;
use crate::interface::pppoe::Session;
use crate::interface::tunnel::outer::OuterHeader;
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::own_address;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::Event;
use config::ItemId;
use port::Frame;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use wire::Moment;
use wire::l2tp::{self, Bad, DATA_LEN, Header, Message, PORT, avp, message};
use wire::layers::protocol;

/// Its clients.
const LINE: Line = Line {
    service: "l2tp",
    clients: |program| &program.l2tp.clients,
    dials: |r| &mut r.link.l2tp.dials,
    ask: dial,
};
/// Ethernet, IPv4, UDP.
const OUTER: usize = 14 + 20 + 8;
/// Reasons to end a tunnel (RFC 2661 §4.4.2).
const SHUT_DOWN: u16 = 6;
const ERROR: u16 = 2;
const NOT_AUTHORIZED: u16 = 4;

/// Whether a packet is L2TP's, and somebody waits for it.
pub(super) fn is_asked(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP
        && tuple.dst_port == PORT
        && (r.program.l2tp.server.is_some() || !r.link.l2tp.is_empty())
}

/// A datagram has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let is_whole = p.rest.is_empty();
    let Some(p) = in_one_piece(r, p) else { return };
    let tuple = p.layers.tuple;
    let from = End { address: tuple.src, port: tuple.src_port };
    let to = End { address: tuple.dst, port: tuple.dst_port };
    let Some(bytes) = r.datagram(&p) else { return r.discard(p, Discard::MalformedL2tp) };
    let Some((header, range)) = l2tp::locate(bytes) else {
        return r.discard(p, Discard::MalformedL2tp);
    };
    if !header.control {
        return data_in(r, now, p, header, range, is_whole);
    }
    let body = bytes[range].to_vec();
    let done = match header.tunnel {
        0 => asked(r, now, (to, from), &body),
        _ => control_in(r, now, (to, from), header, &body),
    };
    match done {
        Ok(()) => {
            r.tell(|| Event::Local);
            r.consume(p)
        }
        Err(why) => r.discard(p, why),
    }
}

/// A packet of a session.
fn data_in(
    r: &mut Router,
    now: Moment,
    p: Packet,
    header: Header,
    range: std::ops::Range<usize>,
    is_whole: bool,
) {
    let src = p.layers.tuple.src;
    let is_his = r.link.l2tp.get(header.tunnel).is_some_and(|t| t.ends.1.address == src);
    let place = r.link.calls.find(Wire::L2tp(header.tunnel, header.session)).filter(|_| is_his);
    let Some(place) = place else { return r.discard(p, Discard::UnknownSession) };
    let begins = usize::from(p.layers.l4) + 8;
    ppp::arrived(r, now, p, place, begins + range.start..begins + range.end, is_whole)
}

/// The session that a datagram's plain packet comes in by, where that begins, and what it is.
#[inline]
pub(crate) fn plain_data(r: &Router, from: u32, udp: &[u8]) -> Option<(InterfaceId, usize, u16)> {
    let (header, range) = l2tp::locate(udp.get(8..)?)?;
    let ppp = udp.get(8 + range.start..8 + range.end)?;
    let (skipped, ether_type) = ppp::plain(ppp)?;
    let tunnel = r.link.l2tp.get(header.tunnel).filter(|_| !header.control)?;
    let interface = r.program.sessions.of_l2tp(header.tunnel, header.session)?;
    let is_it = ppp::is_plain(r, interface);
    let is_his = tunnel.ends.1.address == from && 8 + range.end == udp.len();
    (is_it && is_his).then_some((interface, 8 + range.start + skipped, ether_type))
}

/// A session's packet, its protocol first, leaves in UDP.
pub(super) fn packet_out(
    r: &mut Router,
    now: Moment,
    (interface, session): (InterfaceId, &Session),
    frame: Frame,
    fast: bool,
) {
    let Carrier::L2tp { tunnel: id, peer_id, .. } = session.carrier else { return };
    let Some(tunnel) = r.link.l2tp.get(id) else {
        return r.discard_frame(frame, Discard::InterfaceDown);
    };
    let ((own, peer), tunnel_id) = (tunnel.ends, tunnel.peer_id);
    if r.link.depth >= MOST_DEPTH {
        return r.discard_frame(frame, Discard::TunnelLoop);
    }
    let len = 8 + DATA_LEN + frame.len();
    let data = l2tp::data_header(tunnel_id, peer_id);
    let Some(mut frame) = with_room(r, frame, OUTER + DATA_LEN) else { return };
    outer(r, &mut frame, protocol::UDP, (own.address, peer.address));
    let bytes = &mut r.io.slab.bytes_mut(&mut frame)[34..];
    bytes[..2].copy_from_slice(&own.port.to_be_bytes());
    bytes[2..4].copy_from_slice(&peer.port.to_be_bytes());
    bytes[4..6].copy_from_slice(&(len as u16).to_be_bytes());
    // No checksum: what is inside has its own.
    bytes[6..8].fill(0);
    bytes[8..16].copy_from_slice(&data);
    r.link.depth += 1;
    send_outer(r, now, frame, fast);
    r.link.depth -= 1;
    if !session.encrypted {
        enclose::learn_l2tp(r, interface, OuterHeader::l2tp((own, peer), data), id);
    }
}

/// Sends a control packet of PPP.
pub(super) fn say(r: &mut Router, now: Moment, carrier: Carrier, packet: &[u8]) {
    let Carrier::L2tp { tunnel, peer_id, .. } = carrier else { return };
    let Some(tunnel) = r.link.l2tp.get(tunnel) else { return };
    let ends = tunnel.ends;
    let bytes = [&l2tp::data_header(tunnel.peer_id, peer_id)[..], packet].concat();
    datagram::send(r, now, ends, &bytes);
}

/// The profile of the server's sessions.
pub(super) fn profile(r: &Router) -> String {
    r.program.l2tp.server.as_ref().map_or(String::new(), |server| server.profile.clone())
}

/// Whether whoever a call belongs to is still there, and as it was.
pub(super) fn stays(r: &Router, call: &Call) -> bool {
    let Carrier::L2tp { tunnel, .. } = call.carrier else { return false };
    let there = r.link.l2tp.get(tunnel).is_some();
    there
        && match call.owner {
            Owner::Client(item) => is_same(r, item),
            Owner::Server(_) => r.program.l2tp.server.is_some(),
        }
}

/// Whether a client that has dialled is as it was.
fn is_same(r: &Router, item: ItemId) -> bool {
    r.link.l2tp.dials.is_same(item, &r.program.l2tp.clients)
}

/// A call is over: the other end is told, and a tunnel without sessions ends.
pub(super) fn hung_up(r: &mut Router, now: Moment, call: &Call) {
    let Carrier::L2tp { tunnel, id, peer_id, .. } = call.carrier else { return };
    if r.link.l2tp.get(tunnel).is_none() {
        return;
    }
    let own = (avp::SESSION, id.to_be_bytes().to_vec());
    // Administrative reasons.
    post(r, now, tunnel, peer_id, message::CDN, [(avp::RESULT, vec![0, 3]), own]);
    let left = r.link.l2tp.change(tunnel, |tunnel| {
        tunnel.legs.retain(|leg| leg.id != id);
        tunnel.legs.len()
    });
    if left == Some(0) {
        tear_down(r, now, tunnel, Some(SHUT_DOWN));
    }
}

/// Keeps a message until it is acknowledged, and sends it.
fn post(
    r: &mut Router,
    now: Moment,
    id: u16,
    session: u16,
    kind: u16,
    avps: impl IntoIterator<Item = (u16, Vec<u8>)>,
) {
    let mut all = vec![(avp::MESSAGE, kind.to_be_bytes().to_vec())];
    all.extend(avps);
    let posted = r.link.l2tp.change(id, |tunnel| {
        let ns = tunnel.ns;
        tunnel.ns = ns.wrapping_add(1);
        let bytes = l2tp::control((tunnel.peer_id, session), (ns, tunnel.nr), &all);
        if tunnel.waiting.is_empty() {
            (tunnel.tries, tunnel.due) = (0, now + tunnel.pause());
        }
        tunnel.waiting.push_back((ns, bytes.clone()));
        (tunnel.ends, bytes, tunnel.waiting.len())
    });
    let Some((ends, bytes, waiting)) = posted else { return };
    datagram::send(r, now, ends, &bytes);
    if waiting > MOST_WAITING {
        tear_down(r, now, id, None);
    }
}

/// A bare acknowledgement.
fn acknowledge(r: &mut Router, now: Moment, id: u16) {
    let Some(tunnel) = r.link.l2tp.get(id) else { return };
    let bytes = l2tp::control((tunnel.peer_id, 0), (tunnel.ns, tunnel.nr), &[]);
    let ends = tunnel.ends;
    datagram::send(r, now, ends, &bytes);
}

/// What both ends say of themselves.
fn capabilities(tunnel: &Tunnel) -> Vec<(u16, Vec<u8>)> {
    let mut avps = vec![
        (avp::PROTOCOL_VERSION, vec![1, 0]),
        (avp::FRAMING, vec![0, 0, 0, 3]),
        (avp::HOST_NAME, NAME.as_bytes().to_vec()),
        (avp::TUNNEL, tunnel.id.to_be_bytes().to_vec()),
        (avp::WINDOW, vec![0, 4]),
    ];
    if tunnel.secret.is_some() {
        avps.push((avp::CHALLENGE, tunnel.challenge.to_vec()));
    }
    avps
}

fn new_tunnel(r: &mut Router, now: Moment, ends: (End, End), phase: Phase) -> Tunnel {
    let [a, b] = [r.services.dice.throw(), r.services.dice.throw()];
    let mut challenge = [0; 16];
    challenge[..8].copy_from_slice(&a.to_be_bytes());
    challenge[8..].copy_from_slice(&b.to_be_bytes());
    Tunnel {
        id: r.link.l2tp.fresh_id(a as u16),
        peer_id: 0,
        ends,
        client: None,
        phase,
        secret: r.program.l2tp.secret(ends.1.address).map(str::to_string),
        challenge,
        legs: Vec::new(),
        ns: 0,
        nr: 0,
        waiting: VecDeque::new(),
        tries: 0,
        due: now + HELLO,
    }
}

/// Somebody wants to have a tunnel.
fn asked(r: &mut Router, now: Moment, ends: (End, End), body: &[u8]) -> Result<(), Discard> {
    if r.program.l2tp.server.is_none() {
        return Err(Discard::NoListener);
    }
    let secret = r.program.l2tp.secret(ends.1.address).unwrap_or("").as_bytes();
    let said = Message::read(body, secret).map_err(|_| Discard::MalformedL2tp)?;
    let peer_id = said.number(avp::TUNNEL).filter(|id| *id != 0).ok_or(Discard::MalformedL2tp)?;
    if said.kind != message::SCCRQ {
        return Err(Discard::UnknownSession);
    }
    if let Some(again) = r.link.l2tp.of_peer(ends.1, peer_id) {
        r.link.l2tp.change(again, |tunnel| tunnel.due = now);
        return Ok(());
    }
    if r.link.l2tp.half_open() >= MOST_HALF_OPEN || r.link.l2tp.len() >= MOST {
        return Err(Discard::TooManySessions);
    }
    let peer = Ipv4Addr::from(ends.1.address);
    r.stats.log.say(now, "l2tp,info", &format!("first L2TP UDP packet received from {peer}"));
    let mut tunnel = new_tunnel(r, now, ends, Phase::Offered);
    (tunnel.peer_id, tunnel.nr) = (peer_id, 1);
    let mut avps = capabilities(&tunnel);
    match (said.get(avp::CHALLENGE), &tunnel.secret) {
        (Some(challenge), Some(secret)) => {
            let proof = l2tp::response(message::SCCRP, secret.as_bytes(), challenge);
            avps.push((avp::RESPONSE, proof.to_vec()));
        }
        (Some(_), None) => {
            let text = format!("{peer} wants to have the tunnel proved: no /ppp l2tp-secret");
            r.stats.log.say(now, "l2tp,error", &text);
            return Err(Discard::BadL2tpProof);
        }
        _ => {}
    }
    let id = tunnel.id;
    r.link.l2tp.add(tunnel);
    post(r, now, id, 0, message::SCCRP, avps);
    Ok(())
}

/// A message of a tunnel.
fn control_in(
    r: &mut Router,
    now: Moment,
    ends: (End, End),
    header: Header,
    body: &[u8],
) -> Result<(), Discard> {
    let id = header.tunnel;
    let Some(tunnel) = r.link.l2tp.get(id) else { return Err(Discard::UnknownSession) };
    let known = (tunnel.ends.0.address, tunnel.ends.1.address);
    let Some((ns, nr)) = header.sequence.filter(|_| known == (ends.0.address, ends.1.address))
    else {
        return Err(Discard::UnknownSession);
    };
    let (expected, secret) = (tunnel.nr, tunnel.secret.clone().unwrap_or_default());
    if tunnel.is_another_of(ns) {
        return Err(Discard::UnknownSession);
    }
    r.link.l2tp.change(id, |tunnel| tunnel.acknowledged(nr, now));
    if body.is_empty() {
        return Ok(());
    }
    if ns != expected {
        // It was had, and our acknowledgement was lost; or one before it is still to come.
        acknowledge(r, now, id);
        return Ok(());
    }
    let before = r.link.l2tp.change(id, |tunnel| {
        tunnel.nr = tunnel.nr.wrapping_add(1);
        // RFC 2661 §8.1: the other end may answer from another port.
        tunnel.ends.1.port = ends.1.port;
        tunnel.ns
    });
    let done = match Message::read(body, secret.as_bytes()) {
        Ok(said) => step(r, now, id, header.session, &said),
        Err(Bad::Malformed | Bad::Unknown(_)) => Err((ERROR, Discard::MalformedL2tp)),
    };
    if let Err((result, why)) = done {
        tear_down(r, now, id, Some(result));
        return Err(why);
    }
    if r.link.l2tp.get(id).map(|tunnel| tunnel.ns) == before {
        acknowledge(r, now, id);
    }
    Ok(())
}

/// What a message changes; why the tunnel ends, if it does.
fn step(
    r: &mut Router,
    now: Moment,
    id: u16,
    session: u16,
    said: &Message,
) -> Result<(), (u16, Discard)> {
    let malformed = (ERROR, Discard::MalformedL2tp);
    let Some(tunnel) = r.link.l2tp.get(id).cloned() else { return Ok(()) };
    let is_client = tunnel.client.is_some();
    match (said.kind, tunnel.phase) {
        (message::SCCRP, Phase::Asking) => {
            let peer_id = said.number(avp::TUNNEL).filter(|id| *id != 0).ok_or(malformed)?;
            is_proved(r, now, &tunnel, said)?;
            let mut proof = Vec::new();
            if let Some(challenge) = said.get(avp::CHALLENGE) {
                let Some(secret) = &tunnel.secret else {
                    return Err((NOT_AUTHORIZED, Discard::BadL2tpProof));
                };
                let response = l2tp::response(message::SCCCN, secret.as_bytes(), challenge);
                proof.push((avp::RESPONSE, response.to_vec()));
            }
            let leg = r.services.dice.throw() as u16 | 1;
            r.link.l2tp.change(id, |tunnel| {
                (tunnel.peer_id, tunnel.phase) = (peer_id, Phase::Open);
                tunnel.legs.push(Leg { id: leg, peer_id: 0, place: None });
            });
            post(r, now, id, 0, message::SCCCN, proof);
            let asks =
                [(avp::SESSION, leg.to_be_bytes().to_vec()), (avp::SERIAL, vec![0, 0, 0, 1])];
            post(r, now, id, 0, message::ICRQ, asks);
        }
        (message::SCCCN, Phase::Offered) => {
            is_proved(r, now, &tunnel, said)?;
            r.link.l2tp.change(id, |tunnel| tunnel.phase = Phase::Open);
        }
        (message::STOP_CCN, _) => {
            acknowledge(r, now, id);
            tear_down(r, now, id, None);
        }
        (message::ICRQ, Phase::Open) if !is_client => {
            let peer_id = said.number(avp::SESSION).filter(|id| *id != 0).ok_or(malformed)?;
            incoming(r, now, &tunnel, peer_id);
        }
        (message::ICRP, Phase::Open) if is_client => {
            let peer_id = said.number(avp::SESSION).filter(|id| *id != 0).ok_or(malformed)?;
            let Some(leg) = tunnel.legs.iter().find(|leg| leg.id == session) else { return Ok(()) };
            let connected =
                [(avp::SPEED, vec![0x3b, 0x9a, 0xca, 0]), (avp::FRAMING_TYPE, vec![0, 0, 0, 1])];
            post(r, now, id, peer_id, message::ICCN, connected);
            begin(r, now, &tunnel, leg.id, peer_id);
        }
        (message::ICCN, Phase::Open) if !is_client => {
            let leg = tunnel.legs.iter().find(|leg| leg.id == session && leg.place.is_none());
            let Some(&Leg { id: leg, peer_id, .. }) = leg else { return Ok(()) };
            if said.get(avp::SEQUENCING).is_some() {
                // Numbered data is not built.
                let own = (avp::SESSION, leg.to_be_bytes().to_vec());
                post(r, now, id, peer_id, message::CDN, [(avp::RESULT, vec![0, 2, 0, 6]), own]);
                r.link.l2tp.change(id, |tunnel| tunnel.legs.retain(|other| other.id != leg));
                return Ok(());
            }
            begin(r, now, &tunnel, leg, peer_id);
        }
        (message::OCRQ, Phase::Open) => {
            let peer_id = said.number(avp::SESSION).unwrap_or(0);
            let own = (avp::SESSION, vec![0, 0]);
            post(r, now, id, peer_id, message::CDN, [(avp::RESULT, vec![0, 4]), own]);
        }
        (message::CDN, Phase::Open) => {
            let Some(leg) = tunnel.legs.iter().find(|leg| leg.id == session) else { return Ok(()) };
            let (leg, place) = (leg.id, leg.place);
            r.link.l2tp.change(id, |tunnel| tunnel.legs.retain(|other| other.id != leg));
            acknowledge(r, now, id);
            match place {
                Some(place) => ppp::lost(r, now, place),
                None if is_client => tear_down(r, now, id, Some(SHUT_DOWN)),
                None => {}
            }
        }
        (message::HELLO | message::WEN | message::SLI, _) => {}
        // Out of its turn.
        _ => return Err(malformed),
    }
    Ok(())
}

/// Whether the other end knows the tunnel's secret, if it has one.
fn is_proved(
    r: &mut Router,
    now: Moment,
    tunnel: &Tunnel,
    said: &Message,
) -> Result<(), (u16, Discard)> {
    let Some(secret) = &tunnel.secret else { return Ok(()) };
    let right = l2tp::response(said.kind, secret.as_bytes(), &tunnel.challenge);
    if said.get(avp::RESPONSE) == Some(&right[..]) {
        return Ok(());
    }
    let peer = Ipv4Addr::from(tunnel.ends.1.address);
    r.stats.log.say(now, "l2tp,error", &format!("tunnel authentication failed for {peer}"));
    Err((NOT_AUTHORIZED, Discard::BadL2tpProof))
}

/// A session is asked for: it gets a number, or is told that there is no room.
fn incoming(r: &mut Router, now: Moment, tunnel: &Tunnel, peer_id: u16) {
    let max = r.program.l2tp.server.as_ref().map_or(0, |server| server.max_sessions);
    let room = tunnel.legs.len() < MOST_LEGS
        && r.link.calls.of_server(InterfaceId::NONE, "") < max
        && r.link.calls.half_open() < crate::interface::ppp::calls::MOST_HALF_OPEN
        && r.link.calls.len() < crate::interface::ppp::calls::MOST;
    let mut leg = r.services.dice.throw() as u16 | 1;
    while tunnel.legs.iter().any(|other| other.id == leg) {
        leg = leg.wrapping_add(2);
    }
    let own = (avp::SESSION, leg.to_be_bytes().to_vec());
    if !room {
        return post(r, now, tunnel.id, peer_id, message::CDN, [(avp::RESULT, vec![0, 4]), own]);
    }
    r.link.l2tp.change(tunnel.id, |tunnel| {
        tunnel.legs.push(Leg { id: leg, peer_id, place: None });
    });
    post(r, now, tunnel.id, peer_id, message::ICRP, [own]);
}

/// A session is there: PPP begins.
fn begin(r: &mut Router, now: Moment, tunnel: &Tunnel, id: u16, peer_id: u16) {
    let program = r.program.clone();
    let peer = tunnel.ends.1.address;
    let carrier = Carrier::L2tp { tunnel: tunnel.id, id, peer_id, peer };
    let dialler = tunnel.client.and_then(|item| r.link.l2tp.dials.get(item)).cloned();
    let whose = match (&dialler, &program.l2tp.server) {
        (Some(dialler), _) => Whose::Client(dialler),
        (None, Some(server)) if tunnel.client.is_none() => {
            if server.one_session {
                ppp::end_others(r, now, |other| match other.carrier {
                    Carrier::L2tp { peer: other, .. } => other == peer,
                    _ => false,
                });
            }
            Whose::Server(server, "".into(), format!("<l2tp-{}-{id}>", tunnel.id))
        }
        _ => return,
    };
    let place = call::begin(r, now, tunnel.ends.0.address, carrier, whose, |_| {});
    r.link.l2tp.change(tunnel.id, |tunnel| {
        for leg in tunnel.legs.iter_mut().filter(|leg| leg.id == id) {
            (leg.peer_id, leg.place) = (peer_id, Some(place));
        }
    });
}

/// Ends a tunnel; `result` is what the other end is told.
fn tear_down(r: &mut Router, now: Moment, id: u16, result: Option<u16>) {
    let Some(tunnel) = r.link.l2tp.remove(id) else { return };
    if let Some(result) = result {
        let avps = [
            (avp::MESSAGE, message::STOP_CCN.to_be_bytes().to_vec()),
            (avp::TUNNEL, id.to_be_bytes().to_vec()),
            (avp::RESULT, result.to_be_bytes().to_vec()),
        ];
        // Whoever does not hear it finds out by his own questions.
        let bytes = l2tp::control((tunnel.peer_id, 0), (tunnel.ns, tunnel.nr), &avps);
        datagram::send(r, now, tunnel.ends, &bytes);
    }
    for place in tunnel.legs.iter().filter_map(|leg| leg.place) {
        ppp::lost(r, now, place);
    }
    LINE.ended(r, now, tunnel.client);
}

/// Lets clients dial and tunnels do what is due. Returns when something is due next, if that is before
/// `due`.
pub(super) fn tick(r: &mut Router, now: Moment, mut due: Moment) -> Moment {
    let program = r.program.clone();
    if program.l2tp.clients.list.is_empty() && r.link.l2tp.is_empty() {
        return due;
    }
    let gone: Vec<u16> = r.link.l2tp.ids();
    let gone = gone.into_iter().filter(|&id| match r.link.l2tp.get(id).map(|t| t.client) {
        Some(Some(item)) => !is_same(r, item),
        Some(None) => program.l2tp.server.is_none(),
        None => false,
    });
    for id in gone.collect::<Vec<_>>() {
        tear_down(r, now, id, Some(SHUT_DOWN));
    }
    due = LINE.dial(r, now, due);
    while let Some(id) = r.link.l2tp.is_due(now) {
        remind(r, now, id);
    }
    r.link.l2tp.next_due().map_or(due, |at| due.min(at))
}

/// A client asks for a tunnel.
fn dial(r: &mut Router, now: Moment, dialler: &Dialler) -> bool {
    let Some(own) = own_address(r, dialler.server) else { return false };
    let ends = (End { address: own, port: PORT }, End { address: dialler.server, port: PORT });
    let tunnel = Tunnel { client: Some(dialler.item), ..new_tunnel(r, now, ends, Phase::Asking) };
    let (id, avps) = (tunnel.id, capabilities(&tunnel));
    r.link.l2tp.add(tunnel);
    post(r, now, id, 0, message::SCCRQ, avps);
    true
}

/// What was not acknowledged is sent again, and who is silent is asked.
fn remind(r: &mut Router, now: Moment, id: u16) {
    let Some(tunnel) = r.link.l2tp.get(id) else { return };
    if tunnel.waiting.is_empty() {
        return match tunnel.phase {
            Phase::Open => post(r, now, id, 0, message::HELLO, []),
            _ => tear_down(r, now, id, None),
        };
    }
    if tunnel.tries + 1 >= TRIES {
        if tunnel.phase == Phase::Open || tunnel.client.is_some() {
            let peer = Ipv4Addr::from(tunnel.ends.1.address);
            let text = format!("tunnel to {peer} ended - peer is not responding");
            r.stats.log.say(now, "l2tp,info", &text);
        }
        return tear_down(r, now, id, None);
    }
    let again = r.link.l2tp.change(id, |tunnel| {
        tunnel.tries += 1;
        tunnel.due = now + tunnel.pause();
        let (peer_id, nr) = (tunnel.peer_id.to_be_bytes(), tunnel.nr.to_be_bytes());
        for (_, bytes) in &mut tunnel.waiting {
            bytes[4..6].copy_from_slice(&peer_id);
            bytes[10..12].copy_from_slice(&nr);
        }
        (tunnel.ends, tunnel.waiting.clone())
    });
    let Some((ends, waiting)) = again else { return };
    for (_, bytes) in waiting {
        datagram::send(r, now, ends, &bytes);
    }
}
