//! PPPoE's part of the flow: sessions found, made and ended, and their packets.
//!
//! ```text
//! to_router ─► [receive] ─► [discovery_in] ─► a client's dial, a server's call
//!                        └► [session_in] ─┬─ IP of an open session: link_in, by its interface
//!                                         └─ control packets ─► ppp::control_in
//! link_out  ─► [session_out] ─► link_out of the interface below
//! ticks     ─► [tick]: who dials
//! ```

use super::call::{self, Whose};
use super::ppp;
use super::tunnel::leads_back;
use super::{l2tp, link_in, link_out, pptp};
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::interface::ingress::{Arrival, IngressId};
use crate::interface::ppp::calls::{Call, Carrier, MOST, MOST_HALF_OPEN, Owner, Rest, Wire};
use crate::interface::ppp::machine::{End, NAME, Phase};
use crate::interface::ppp::mppe::Unread;
use crate::interface::pppoe::state::{Dial, Offer};
use crate::interface::pppoe::{Concentrator, Dialer, SessionAt};
use crate::packet::Packet;
use crate::program::Kind;
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
use port::Frame;
use std::time::Duration;
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Layers, protocol};
use wire::ppp::protocol::{ENCRYPTED, IPV6};
use wire::pppoe::{Code, Discovery, ETHERTYPE_DISCOVERY, ETHERTYPE_SESSION, PPP_IPV4, header, tag};
use wire::{MacAddr, Moment, Tcp, TcpFlags, pppoe};

/// Before a client that was refused, or lost its session, dials again.
const REDIAL: Duration = Duration::from_secs(1);
/// Between the first two PADIs; each later one takes twice as long, up to [`SLOWEST`].
const ASK: Duration = Duration::from_secs(1);
const SLOWEST: Duration = Duration::from_secs(16);
/// PADRs without an answer.
const REQUESTS: u8 = 4;

/// Takes what is PPPoE's of what comes to the router; gives back what is not.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    match p.layers.ether_type {
        _ if p.layers.vlan.is_some() => return Some(p),
        ETHERTYPE_SESSION => session_in(r, now, p),
        ETHERTYPE_DISCOVERY => discovery_in(r, now, p),
        _ => return Some(p),
    }
    None
}

/// A packet of a session: its header is taken off, and it comes in by the session.
fn session_in(r: &mut Router, now: Moment, mut p: Packet) {
    if p.frame.has_offload() {
        return r.finish_in(p, |r, p| session_in(r, now, p));
    }
    r.at(Step::Decapsulation);
    let (src, dst) = (r.src_mac(&p), r.dst_mac(&p));
    let bytes = r.io.slab.bytes(&p.frame);
    let Some((id, ppp)) = bytes.get(14..).and_then(pppoe::session) else {
        return r.discard(p, Discard::MalformedPppoe);
    };
    let (kind, len) = (u16::from_be_bytes([ppp[0], ppp[1]]), ppp.len());
    let on = p.in_interface;
    if dst.is_multicast() {
        return r.discard(p, Discard::UnknownSession);
    }
    if !is_data(kind) {
        let ppp = ppp.to_vec();
        return control_in(r, now, p, (id, src), &ppp);
    }
    let Some((interface, place)) = session_of(r, Wire::Pppoe(on, id, src)) else {
        return r.discard(p, Discard::UnknownSession);
    };
    // Ethernet's padding is not the packet's.
    let padded = p.frame.len() != 14 + 6 + len;
    // Of a frame with a priority tag it does not tell the session, and how much was padded is the
    // frame's own: nothing is learnt from these.
    p.arrival = p.arrival.filter(|arrival| arrival.is_in_session() && !padded);
    p.frame.truncate(14 + 6 + len);
    let macs = r.io.slab.bytes(&p.frame).first_chunk::<12>().copied();
    p.frame.pull(6);
    r.io.slab.bytes_mut(&mut p.frame)[..12].copy_from_slice(&macs.unwrap_or_default());
    packet_in(r, now, p, interface, place)
}

/// The interface and the place of a session that is open, and has been told of.
fn session_of(r: &Router, wire: Wire) -> Option<(InterfaceId, usize)> {
    let place = r.link.calls.find(wire)?;
    let call = r.link.calls.get(place)?;
    let interface = r.program.books.interfaces.find(call.item())?;
    let session = r.program.session(interface)?;
    (session.number == call.number).then_some((interface, place))
}

/// Whether a packet of this protocol is no control packet: it may be IP.
pub(super) fn is_data(kind: u16) -> bool {
    matches!(kind, PPP_IPV4 | IPV6 | ENCRYPTED)
}

/// A session's packet comes in by it. Its frame is an Ethernet header of whose EtherType nothing is said
/// yet, and PPP's protocol behind the addresses: 14 bytes, and the packet.
pub(super) fn packet_in(
    r: &mut Router,
    now: Moment,
    mut p: Packet,
    interface: InterfaceId,
    place: usize,
) {
    if !r.program.runs(interface) {
        return r.discard(p, Discard::InterfaceDown);
    }
    let encrypted = r.link.calls.get_mut(place).and_then(Call::mppe);
    let bytes = r.io.slab.bytes_mut(&mut p.frame);
    // The two bytes before the packet are its protocol, behind two of the header's own.
    let mut kind = u16::from_be_bytes([bytes[14], bytes[15]]);
    let mut skip = 2;
    match (encrypted, kind) {
        (Some(mppe), ENCRYPTED) => {
            let Some((head, rest)) = bytes[16..].split_first_chunk_mut::<2>() else {
                return r.discard(p, Discard::Undecryptable);
            };
            let head = *head;
            match mppe.receiver.decrypt(head, rest) {
                Ok(()) => {}
                Err(why) => {
                    match why {
                        Unread::Lost { first: true } => ask_new_key(r, now, place),
                        Unread::Late if mppe.is_out_of_step(true) => {
                            ppp::close(r, now, place, End::OutOfStep);
                        }
                        Unread::Late | Unread::Lost { .. } | Unread::Malformed => {}
                    }
                    return r.discard(p, Discard::Undecryptable);
                }
            }
            // A protocol of one byte is odd (RFC 1661 §2).
            (kind, skip) = match rest {
                [a, ..] if *a & 1 == 1 => (u16::from(*a), 5),
                [a, b, ..] => (u16::from_be_bytes([*a, *b]), 6),
                _ => return r.discard(p, Discard::Undecryptable),
            };
            if matches!(kind, PPP_IPV4 | IPV6) {
                mppe.is_in_step();
            } else if mppe.is_out_of_step(false) {
                ppp::close(r, now, place, End::OutOfStep);
                return r.discard(p, Discard::Undecryptable);
            }
        }
        (Some(_), _) => return r.discard(p, Discard::NotEncrypted),
        (None, ENCRYPTED) => return r.discard(p, Discard::Undecryptable),
        (None, _) => {}
    }
    let ether_type = match kind {
        PPP_IPV4 => ETHERTYPE_IPV4,
        IPV6 => ETHERTYPE_IPV6,
        _ => return r.discard(p, Discard::UnknownProtocol),
    };
    let macs = bytes.first_chunk::<12>().copied();
    p.frame.pull(skip);
    let bytes = r.io.slab.bytes_mut(&mut p.frame);
    bytes[..12].copy_from_slice(&macs.unwrap_or_default());
    bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
    match layers::network(r.io.slab.bytes(&p.frame)) {
        Ok(layers) => (p.layers, p.ip_len) = (layers, layers.l3_end - layers.l3),
        Err(malformed) => p.malformed = Some(malformed),
    }
    r.tell(|| Event::Decapsulated(interface));
    let len = p.frame.len() as u64 - 14;
    r.stats.interface_counts[interface.index()].rx.add(len);
    match r.program.session(interface) {
        Some(session) if session.on().is_some() => {
            // What is decrypted is no header that recipes could know.
            p.arrival = p.arrival.filter(|_| session.has_header());
            link_in(r, now, p, interface)
        }
        _ => inside(r, now, p, interface),
    }
}

/// What has come out of L2TP or PPTP, and was counted, comes in by its session as by a port.
fn inside(r: &mut Router, now: Moment, mut p: Packet, interface: InterfaceId) {
    p.port = interface;
    p.arrived_len = p.frame.len() as u16;
    p.ingress = IngressId::NONE;
    let arrival = Arrival::of(interface, r.io.slab.bytes(&p.frame)).map(|(arrival, _)| arrival);
    // Of what came in pieces, or is decrypted, nothing is learnt.
    let is_plain = r.program.session(interface).is_some_and(|session| !session.encrypted);
    p.arrival = p.arrival.and(arrival).filter(|_| is_plain);
    link_in(r, now, p, interface)
}

/// The same of what a recipe has taken out.
pub(super) fn inside_again(r: &mut Router, now: Moment, interface: InterfaceId, frame: Frame) {
    let read = layers::network(r.io.slab.bytes(&frame));
    let mut p = r.packet(frame, read.unwrap_or_default(), interface);
    (p.malformed, p.fast) = (read.err(), r.program.interface(interface).fast_rx);
    p.arrival = Some(Arrival::untagged(interface));
    inside(r, now, p, interface)
}

/// A packet of an encrypted session was lost, and those behind it cannot be read.
fn ask_new_key(r: &mut Router, now: Moment, place: usize) {
    let mut out = Vec::new();
    if let Some(call) = r.link.calls.get_mut(place) {
        call.machine.ask_new_key(&mut out);
    }
    ppp::say(r, now, place, out);
}

/// A frame leaves by a session.
pub(super) fn session_out(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    at: SessionAt,
    mut frame: Frame,
    fast: bool,
) {
    r.at(Step::Encapsulation);
    let program = r.program.clone();
    let Some(standing) = program.sessions.get(at).filter(|_| program.runs(interface)) else {
        return r.discard_frame(frame, Discard::InterfaceDown);
    };
    if frame.has_offload() {
        return r.finish_out(frame, |r, frame| session_out(r, now, interface, at, frame, fast));
    }
    let session = &standing.session;
    // What would come back for ever is not encrypted: each time it would be counted.
    if let Carrier::L2tp { peer, .. } | Carrier::Pptp { peer, .. } = session.carrier
        && session.encrypted
        && leads_back(r, interface, peer)
    {
        return r.discard_frame(frame, Discard::TunnelLoop);
    }
    let bytes = r.io.slab.bytes(&frame);
    let kind = match u16::from_be_bytes([bytes[12], bytes[13]]) {
        ETHERTYPE_IPV6 => IPV6,
        _ => PPP_IPV4,
    };
    // What is behind the packet is padding.
    let ip_len = match kind {
        IPV6 => 40 + usize::from(u16::from_be_bytes([bytes[18], bytes[19]])),
        _ => usize::from(u16::from_be_bytes([bytes[16], bytes[17]])),
    };
    frame.truncate(14 + ip_len);
    let fast = fast && program.interface(interface).fast_tx;
    r.count_out(interface, frame.len() - 14, fast);
    // The Ethernet header's last two bytes become the protocol's.
    frame.pull(12);
    r.io.slab.bytes_mut(&mut frame)[..2].copy_from_slice(&kind.to_be_bytes());
    if session.encrypted {
        let call = r.link.calls.get_mut(session.place as usize);
        let call = call.filter(|call| call.number == session.number);
        let Some(mppe) = call.and_then(Call::mppe) else {
            return r.discard_frame(frame, Discard::InterfaceDown);
        };
        let head = mppe.sender.encrypt(r.io.slab.bytes_mut(&mut frame));
        if !r.io.slab.push(&mut frame, 4) {
            return r.discard_frame(frame, Discard::NoFrame);
        }
        let bytes = r.io.slab.bytes_mut(&mut frame);
        bytes[..2].copy_from_slice(&ENCRYPTED.to_be_bytes());
        bytes[2..4].copy_from_slice(&head);
    }
    let (on, id, peer) = match session.carrier {
        Carrier::L2tp { .. } => return l2tp::packet_out(r, now, (interface, session), frame, fast),
        Carrier::Pptp { id, .. } => return pptp::packet_out(r, now, id, frame, fast),
        Carrier::Pppoe { on, id, peer } => (on, id, peer),
    };
    let len = frame.len() as u16;
    if !r.io.slab.push(&mut frame, 14 + pppoe::HEADER_LEN) {
        return r.discard_frame(frame, Discard::NoFrame);
    }
    let own = program.interface(on).mac;
    let bytes = r.io.slab.bytes_mut(&mut frame);
    bytes[..6].copy_from_slice(&peer.0);
    bytes[6..12].copy_from_slice(&own.0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_SESSION.to_be_bytes());
    bytes[14..20].copy_from_slice(&header(id, len));
    link_out(r, now, on, frame, fast)
}

/// `change-tcp-mss`: RouterOS makes a rule of it in mangle's chain forward for each direction. No segment
/// of a connection that begins here may be longer than its sessions take.
pub(super) fn change_mss(r: &mut Router, p: &mut Packet) {
    let Layers { protocol, fragment, l4, l3_end, .. } = p.layers;
    if protocol != protocol::TCP || fragment || l4 == 0 || r.program.sessions.list().is_empty() {
        return;
    }
    let mtu = |id: InterfaceId| match r.program.interface(id).kind {
        Kind::Session(at) => {
            let session = &r.program.sessions.get(at)?.session;
            session.clamps_mss().then_some(session.mtu)
        }
        _ => None,
    };
    let ends = [p.in_interface, p.out_interface];
    let Some(least) = ends.into_iter().filter_map(mtu).min() else { return };
    let bytes = r.io.slab.bytes_mut(&mut p.frame);
    let Ok(mut tcp) = Tcp::new(&mut bytes[usize::from(l4)..usize::from(l3_end)]) else { return };
    if tcp.flags().contains(TcpFlags::SYN) {
        tcp.clamp_mss(least.saturating_sub(40));
    }
}

/// A control packet of a session, or one of a protocol that is not built.
fn control_in(r: &mut Router, now: Moment, p: Packet, (id, src): (u16, MacAddr), ppp: &[u8]) {
    let Some(place) = r.link.calls.find(Wire::Pppoe(p.in_interface, id, src)) else {
        return r.discard(p, Discard::UnknownSession);
    };
    r.tell(|| Event::Local);
    r.consume(p);
    ppp::control_in(r, now, place, ppp);
}

/// The server of a service, if it is still there.
pub(super) fn server_of<'a>(
    r: &'a Router,
    on: InterfaceId,
    service: &str,
) -> Option<&'a Concentrator> {
    let mut all = r.program.pppoe.concentrators.iter();
    all.find(|server| server.on == on && *server.service == *service)
}

/// Whether whoever a call belongs to is still there, and as it was.
pub(super) fn stays(r: &Router, call: &Call) -> bool {
    let Carrier::Pppoe { on, .. } = call.carrier else { return false };
    let same = |dialer: &Dialer| r.program.pppoe.dialers.contains(dialer);
    r.program.runs(on)
        && match &call.owner {
            Owner::Client(item) => {
                r.link.pppoe.dials.get(item).is_some_and(|(dialer, _)| same(dialer))
            }
            Owner::Server(service) => server_of(r, on, service).is_some(),
        }
}

/// A call is over: the other end is told, its client dials again.
pub(super) fn hung_up(r: &mut Router, now: Moment, call: &Call) {
    let Carrier::Pppoe { on, id, peer } = call.carrier else { return };
    if !call.is_client() {
        r.link.pppoe.free_id(on, id);
    }
    let bye = Discovery::write(Code::Padt, id, &[]);
    send(r, now, on, peer, ETHERTYPE_DISCOVERY, &bye);
    if let Owner::Client(item) = call.owner
        && let Some((_, dial)) = r.link.pppoe.dials.get_mut(&item)
    {
        *dial = Dial::Idle(now + REDIAL);
    }
}

/// Sends a control packet.
pub(super) fn say(r: &mut Router, now: Moment, carrier: Carrier, packet: &[u8]) {
    let Carrier::Pppoe { on, id, peer } = carrier else { return };
    let bytes = [&header(id, packet.len() as u16)[..], packet].concat();
    send(r, now, on, peer, ETHERTYPE_SESSION, &bytes);
}

fn say_log(r: &mut Router, now: Moment, topics: &str, text: &str) {
    r.stats.log.say(now, topics, text);
}

/// Sends what stands behind an Ethernet header.
fn send(r: &mut Router, now: Moment, on: InterfaceId, to: MacAddr, ether_type: u16, bytes: &[u8]) {
    if !r.program.runs(on) {
        return;
    }
    let Some(mut frame) = r.io.pool.alloc((14 + bytes.len()).max(60)) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    let own = r.program.interface(on).mac;
    let to_fill = r.io.slab.bytes_mut(&mut frame);
    to_fill.fill(0);
    to_fill[..6].copy_from_slice(&to.0);
    to_fill[6..12].copy_from_slice(&own.0);
    to_fill[12..14].copy_from_slice(&ether_type.to_be_bytes());
    to_fill[14..14 + bytes.len()].copy_from_slice(bytes);
    r.stats.tally.made += 1;
    r.tools.sent = true;
    link_out(r, now, on, frame, false);
}

/// A discovery packet has come to the router.
fn discovery_in(r: &mut Router, now: Moment, p: Packet) {
    let (on, src, dst) = (p.in_interface, r.src_mac(&p), r.dst_mac(&p));
    let bytes = r.io.slab.bytes(&p.frame).get(14..).unwrap_or(&[]).to_vec();
    let Some(said) = Discovery::read(&bytes) else { return r.discard(p, Discard::MalformedPppoe) };
    // RFC 2516 §5: only the first of them goes to everybody.
    if (said.code == Code::Padi) != dst.is_multicast() {
        return r.discard(p, Discard::MalformedPppoe);
    }
    let done = match said.code {
        Code::Padi => offer(r, now, on, src, &said),
        Code::Padr => take_up(r, now, on, src, &said),
        Code::Pado => offered(r, now, on, src, &said),
        Code::Pads => given(r, now, on, src, &said),
        Code::Padt => match r.link.calls.find(Wire::Pppoe(on, said.session, src)) {
            Some(place) => {
                ppp::lost(r, now, place);
                Ok(())
            }
            None => Err(Discard::UnknownSession),
        },
    };
    match done {
        Ok(()) => {
            r.tell(|| Event::Local);
            r.consume(p)
        }
        Err(why) => r.discard(p, why),
    }
}

/// The tags that are given back as they came.
fn given_back<'a>(said: &Discovery<'a>) -> Vec<(u16, &'a [u8])> {
    let is = |kind: u16| matches!(kind, tag::HOST_UNIQ | tag::RELAY_SESSION);
    said.tags().filter(|(kind, _)| is(*kind)).collect()
}

/// A server's answer to who asks: all it knows of him is in the cookie.
fn offer(
    r: &mut Router,
    now: Moment,
    on: InterfaceId,
    src: MacAddr,
    said: &Discovery,
) -> Result<(), Discard> {
    let asked = said.tag(tag::SERVICE_NAME).unwrap_or(&[]);
    let program = r.program.clone();
    let mut none = true;
    let is = |server: &&Concentrator| {
        let is_any = asked.is_empty() && server.accepts_any;
        server.on == on && (is_any || asked == server.service.as_bytes())
    };
    for server in program.pppoe.concentrators.iter().filter(is) {
        none = false;
        let cookie = r.link.pppoe.cookie(on, src, &server.service, || r.rules.number());
        let mut tags = vec![
            (tag::SERVICE_NAME, server.service.as_bytes()),
            (tag::AC_NAME, NAME.as_bytes()),
            (tag::AC_COOKIE, &cookie[..]),
        ];
        tags.extend(given_back(said));
        let pado = Discovery::write(Code::Pado, 0, &tags);
        if server.pado_delay.is_zero() {
            send(r, now, on, src, ETHERTYPE_DISCOVERY, &pado);
            continue;
        }
        let due = now + server.pado_delay;
        if !r.link.pppoe.put_off(Offer { due, on, to: src, pado }) {
            return Err(Discard::TooManySessions);
        }
        r.link.up_due = r.link.up_due.min(due);
    }
    if none { Err(Discard::NoListener) } else { Ok(()) }
}

/// A host has taken an offer: it gets a session, or is told why not.
fn take_up(
    r: &mut Router,
    now: Moment,
    on: InterfaceId,
    src: MacAddr,
    said: &Discovery,
) -> Result<(), Discard> {
    let asked = said.tag(tag::SERVICE_NAME).unwrap_or(&[]);
    let cookie = said.tag(tag::AC_COOKIE).unwrap_or(&[]);
    let program = r.program.clone();
    let on_it = || program.pppoe.concentrators.iter().filter(|server| server.on == on);
    if on_it().next().is_none() {
        return Err(Discard::NoListener);
    }
    let mut ours = on_it().filter(|server| {
        cookie == r.link.pppoe.cookie(on, src, &server.service, || r.rules.number())
    });
    let Some(server) = ours.next() else { return Err(Discard::BadPppoeCookie) };
    let mut tags = vec![(tag::SERVICE_NAME, asked)];
    tags.extend(given_back(said));
    if !asked.is_empty() && asked != server.service.as_bytes() {
        tags.push((tag::SERVICE_NAME_ERROR, b""));
        let pads = Discovery::write(Code::Pads, 0, &tags);
        send(r, now, on, src, ETHERTYPE_DISCOVERY, &pads);
        return Err(Discard::NoListener);
    }
    let uniq = said.tag(tag::HOST_UNIQ).unwrap_or(&[]).to_vec();
    let owner = Owner::Server(server.service.clone());
    let is_mine = |call: &Call| call.owner == owner;
    // The same request once more: its answer was lost.
    let of_host = r.link.calls.of_host(on, src);
    let again = of_host.iter().filter_map(|&place| r.link.calls.get(place)).find(|call| {
        is_mine(call) && *call.host_uniq() == uniq && call.machine.phase() == Phase::Establish
    });
    if let Some(Carrier::Pppoe { id, .. }) = again.map(|call| call.carrier) {
        let pads = Discovery::write(Code::Pads, id, &tags);
        send(r, now, on, src, ETHERTYPE_DISCOVERY, &pads);
        return Ok(());
    }
    if server.ppp.one_session {
        for place in of_host {
            if r.link.calls.get(place).is_some_and(is_mine) {
                ppp::close(r, now, place, End::Closed);
            }
        }
    }
    let room = r.link.calls.of_server(on, &server.service) < server.ppp.max_sessions
        && r.link.calls.half_open() < MOST_HALF_OPEN
        && r.link.calls.len() < MOST;
    let id = if room { r.link.pppoe.fresh_id(on) } else { None };
    let Some(id) = id else {
        tags.push((tag::AC_SYSTEM_ERROR, b"too many sessions"));
        let pads = Discovery::write(Code::Pads, 0, &tags);
        send(r, now, on, src, ETHERTYPE_DISCOVERY, &pads);
        return Err(Discard::TooManySessions);
    };
    let pads = Discovery::write(Code::Pads, id, &tags);
    send(r, now, on, src, ETHERTYPE_DISCOVERY, &pads);
    say_log(r, now, "pppoe,info", &format!("PPPoE connection established from {src}"));
    let carrier = Carrier::Pppoe { on, id, peer: src };
    let whose = Whose::Server(&server.ppp, server.service.clone(), format!("<pppoe-{id}>"));
    call::begin(r, now, own_number(r, on), carrier, whose, |call| {
        let host_uniq = uniq;
        call.rest = Some(Box::new(Rest { host_uniq, ..Rest::default() }));
    });
    Ok(())
}

/// What tells this end from others.
fn own_number(r: &Router, on: InterfaceId) -> u32 {
    let [.., a, b, c, d] = r.program.interface(on).mac.0;
    u32::from_be_bytes([a, b, c, d])
}

/// The client whose request this answers, if it waits for such a one.
fn asked_by(r: &Router, on: InterfaceId, said: &Discovery) -> Option<Dialer> {
    let mine = said.tag(tag::HOST_UNIQ)?;
    let mut dials = r.link.pppoe.dials.values();
    let dial = dials.find(|(dialer, dial)| {
        dialer.on == on
            && match (dial, said.code) {
                (Dial::Asking { uniq, .. }, Code::Pado) => uniq == mine,
                (Dial::Requesting { uniq, .. }, Code::Pads) => uniq == mine,
                _ => false,
            }
    });
    dial.map(|(dialer, _)| dialer.clone())
}

fn has_error(said: &Discovery) -> bool {
    said.tags().any(|(kind, _)| {
        matches!(kind, tag::SERVICE_NAME_ERROR | tag::AC_SYSTEM_ERROR | tag::GENERIC_ERROR)
    })
}

/// A concentrator has made an offer: the first that fits is taken.
fn offered(
    r: &mut Router,
    now: Moment,
    on: InterfaceId,
    src: MacAddr,
    said: &Discovery,
) -> Result<(), Discard> {
    let Some(dialer) = asked_by(r, on, said) else { return Err(Discard::NoListener) };
    let name = said.tag(tag::AC_NAME).unwrap_or(&[]);
    let has_service = dialer.service.is_empty()
        || said
            .tags()
            .any(|(kind, value)| kind == tag::SERVICE_NAME && value == dialer.service.as_bytes());
    let is_his = dialer.ac_name.is_empty() || name == dialer.ac_name.as_bytes();
    if !has_service || !is_his || has_error(said) {
        return Err(Discard::NoListener);
    }
    let is = |kind: u16| matches!(kind, tag::AC_COOKIE | tag::RELAY_SESSION);
    let back = said.tags().filter(|(kind, _)| is(*kind));
    let back: Vec<_> = back.map(|(kind, value)| (kind, value.to_vec())).collect();
    let ac_name = String::from_utf8_lossy(name).into_owned();
    if let Some((_, dial)) = r.link.pppoe.dials.get_mut(&dialer.ppp.item)
        && let Dial::Asking { uniq, .. } = *dial
    {
        *dial = Dial::Requesting { due: now, tries: 0, uniq, ac: src, ac_name, back };
    }
    dial_on(r, now, &dialer);
    Ok(())
}

/// A concentrator has made a session, or says why not.
fn given(
    r: &mut Router,
    now: Moment,
    on: InterfaceId,
    src: MacAddr,
    said: &Discovery,
) -> Result<(), Discard> {
    let Some(dialer) = asked_by(r, on, said) else { return Err(Discard::NoListener) };
    let taken = r.link.calls.find(Wire::Pppoe(on, said.session, src)).is_some();
    let Some((_, dial)) = r.link.pppoe.dials.get_mut(&dialer.ppp.item) else { return Ok(()) };
    let Dial::Requesting { ac, ac_name, .. } = &*dial else { return Ok(()) };
    if *ac != src {
        return Err(Discard::NoListener);
    }
    if said.session == 0 || said.session == u16::MAX || has_error(said) || taken {
        *dial = Dial::Idle(now + REDIAL);
        let text = format!("{}: terminating... - refused by the concentrator", dialer.ppp.name);
        say_log(r, now, "pppoe,ppp,info", &text);
        r.link.up_due = now;
        return Ok(());
    }
    let ac_name = ac_name.clone();
    *dial = Dial::Calling;
    let service = said.tag(tag::SERVICE_NAME).unwrap_or(&[]);
    let carrier = Carrier::Pppoe { on, id: said.session, peer: src };
    let service = String::from_utf8_lossy(service).into_owned();
    call::begin(r, now, own_number(r, on), carrier, Whose::Client(&dialer.ppp), |call| {
        if let Some(client) = call.rest.as_mut().and_then(|rest| rest.client.as_mut()) {
            (client.ac_name, client.service) = (ac_name, service);
        }
    });
    Ok(())
}

/// Does what a client has to do next; says when.
fn dial_on(r: &mut Router, now: Moment, dialer: &Dialer) -> Option<Moment> {
    let (_, mut dial) = r.link.pppoe.dials.get(&dialer.ppp.item)?.clone();
    if let Dial::Idle(at) = dial {
        if now < at {
            return Some(at);
        }
        let [a, b] = [r.rules.number(), r.rules.number()].map(u32::to_be_bytes);
        let uniq = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
        dial = Dial::Asking { due: now, tries: 0, uniq };
        say_log(r, now, "pppoe,ppp,info", &format!("{}: initializing...", dialer.ppp.name));
    }
    let service = (tag::SERVICE_NAME, dialer.service.as_bytes());
    match &mut dial {
        Dial::Asking { due, tries, uniq } if now >= *due => {
            *due = now + (ASK * (1 << (*tries).min(4))).min(SLOWEST);
            *tries = tries.saturating_add(1);
            let padi = Discovery::write(Code::Padi, 0, &[service, (tag::HOST_UNIQ, &uniq[..])]);
            send(r, now, dialer.on, MacAddr::BROADCAST, ETHERTYPE_DISCOVERY, &padi);
        }
        Dial::Requesting { tries: REQUESTS.., .. } => dial = Dial::Idle(now + REDIAL),
        Dial::Requesting { due, tries, uniq, ac, back, .. } if now >= *due => {
            if *tries == 0 {
                say_log(r, now, "pppoe,ppp,info", &format!("{}: connecting...", dialer.ppp.name));
            }
            (*due, *tries) = (now + ASK * 2, *tries + 1);
            let mut tags = vec![service, (tag::HOST_UNIQ, &uniq[..])];
            tags.extend(back.iter().map(|(kind, value)| (*kind, &value[..])));
            let padr = Discovery::write(Code::Padr, 0, &tags);
            send(r, now, dialer.on, *ac, ETHERTYPE_DISCOVERY, &padr);
        }
        _ => {}
    }
    let due = match dial {
        Dial::Idle(at) => Some(at),
        Dial::Asking { due, .. } | Dial::Requesting { due, .. } => Some(due),
        Dial::Calling => None,
    };
    if let Some((_, to)) = r.link.pppoe.dials.get_mut(&dialer.ppp.item) {
        *to = dial;
    }
    due
}

/// Lets clients do what is due, and sends offers that have waited. Returns when something is due next, if that is before `due`.
pub(super) fn tick(r: &mut Router, now: Moment, mut due: Moment) -> Moment {
    while let Some(Offer { on, to, pado, .. }) = r.link.pppoe.due_offer(now) {
        send(r, now, on, to, ETHERTYPE_DISCOVERY, &pado);
    }
    due = r.link.pppoe.next_offer().map_or(due, |at| due.min(at));
    let program = r.program.clone();
    let pppoe = &program.pppoe;
    if pppoe.dialers.is_empty() && r.link.pppoe.dials.is_empty() {
        return due;
    }
    // Clients that are gone or others now, and whose link is down, begin anew.
    let same = |dialer: &Dialer| pppoe.dialers.contains(dialer) && program.runs(dialer.on);
    r.link.pppoe.dials.retain(|_, (dialer, _)| same(dialer));
    for dialer in pppoe.dialers.iter().filter(|dialer| program.runs(dialer.on)) {
        let fresh = || (dialer.clone(), Dial::Idle(now));
        r.link.pppoe.dials.entry(dialer.ppp.item).or_insert_with(fresh);
        due = dial_on(r, now, dialer).map_or(due, |at| due.min(at));
    }
    due
}
