//! PPTP's part of the flow: control connections and their calls, and the packets of these.
//!
//! ```text
//! tcp::serve ─► [heard] ─► messages, one by one ─► a control connection's step ─► tcp::push
//! local_in ─► [receive] ─► GRE: numbers ─┬─ IP: packet_in, by the session's interface
//!                                        └─ PPP's control packets: ppp::control_in
//! link_out ─► session_out ─► [packet_out] ─► LOCAL OUT        ticks ─► [tick]
//! ```

use super::call::{self, Line, Whose};
use super::tunnel::{MOST as MOST_DEPTH, in_one_piece, outer, send_outer, with_room};
use super::{ppp, tcp};
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::interface::ppp::calls::{self, Call, Carrier, Owner};
use crate::interface::ppp::dial::Dialler;
use crate::interface::pptp::state::{Control, ECHO, Leg, MOST_LEGS, OPENING, Phase, WINDOW};
use crate::ip::datagram::End;
use crate::ip::tcp::{Ends, Progress, Service};
use crate::packet::Packet;
use crate::router::Router;
use config::ItemId;
use port::Frame;
use std::net::Ipv4Addr;
use wire::Moment;
use wire::layers::protocol;
use wire::pptp::{self, Header, Message, OK, PORT};

/// Its clients.
const LINE: Line = Line {
    service: "pptp",
    clients: |program| &program.pptp.clients,
    dials: |r| &mut r.link.pptp.dials,
    ask: dial,
};
/// Ethernet, and IPv4.
const OUTER: usize = 14 + 20;
/// Why a call cannot be, or is over (RFC 2637 §2.8, §2.13).
const NO_ROOM: u8 = 4;
const SHUT_DOWN: u8 = 3;
const REQUESTED: u8 = 4;

/// Whether a GRE packet is a call's, and somebody may wait for it.
pub(super) fn is_asked(r: &Router, p: &Packet) -> bool {
    let waits = r.program.pptp.server.is_some() || !r.link.pptp.is_empty();
    waits && matches!(gre(r, p), [_, version, 0x88, 0x0b, ..] if version & 7 == 1)
}

/// What stands behind the IPv4 header.
fn gre<'a>(r: &'a Router, p: &'a Packet) -> &'a [u8] {
    let at = usize::from(p.layers.l3) + r.ip_header(p).len();
    r.io.slab.bytes(&p.frame).get(at..usize::from(p.layers.l3_end)).unwrap_or_default()
}

/// A GRE packet has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let is_whole = p.rest.is_empty();
    let Some(p) = in_one_piece(r, p) else { return };
    let Some((header, range)) = pptp::locate(gre(r, &p)) else {
        return r.discard(p, Discard::MalformedTunnel);
    };
    let src = p.layers.tuple.src;
    let leg = r.link.pptp.leg(header.call).filter(|leg| leg.control.1.address == src);
    let Some(place) = leg.and_then(|leg| leg.place) else {
        return r.discard(p, Discard::UnknownSession);
    };
    let Some(number) = header.sequence else { return r.consume(p) };
    if !hear(r, now, header.call, number) {
        return r.discard(p, Discard::Repeated);
    }
    if range.is_empty() {
        return r.consume(p);
    }
    let at = usize::from(p.layers.l3_end) - gre(r, &p).len();
    ppp::arrived(r, now, p, place, at + range.start..at + range.end, is_whole)
}

/// Takes note of a packet's number; false if the packet is not to be taken.
#[inline]
pub(crate) fn hear(r: &mut Router, now: Moment, id: u16, number: u32) -> bool {
    let (is_new, soon) = r.link.pptp.hear(now, id, number);
    if soon {
        r.link.up_due = now;
    }
    is_new
}

/// The session that a GRE packet's plain packet comes in by, where that begins, and what it is; and the call
/// and the packet's number in it.
#[inline]
pub(crate) fn plain_call(
    r: &Router,
    from: u32,
    gre: &[u8],
) -> Option<(InterfaceId, usize, u16, (u16, u32))> {
    let (header, range) = pptp::locate(gre)?;
    let (skipped, ether_type) = ppp::plain(&gre[range.clone()])?;
    let leg = r.link.pptp.leg(header.call)?;
    let interface = r.program.sessions.of_pptp(header.call)?;
    let is_his = leg.control.1.address == from && range.end == gre.len();
    let is_it = is_his && ppp::is_plain(r, interface);
    let begins = range.start + skipped;
    Some((interface, begins, ether_type, (header.call, header.sequence?))).filter(|_| is_it)
}

/// A session's packet, its protocol first, leaves in GRE.
pub(super) fn packet_out(r: &mut Router, now: Moment, id: u16, frame: Frame, fast: bool) {
    if r.link.depth >= MOST_DEPTH {
        return r.discard_frame(frame, Discard::TunnelLoop);
    }
    let header = r.link.pptp.leg_mut(id).and_then(|leg| Some((leg.control, leg.header(true)?)));
    let Some((ends, header)) = header else {
        return r.discard_frame(frame, Discard::InterfaceDown);
    };
    let len = frame.len() + 2;
    let Some(mut frame) = with_room(r, frame, OUTER + header.len() + 2) else { return };
    outer(r, &mut frame, protocol::GRE, (ends.0.address, ends.1.address));
    let gre = &mut r.io.slab.bytes_mut(&mut frame)[34..];
    header.write(len as u16, gre);
    gre[header.len()..][..2].copy_from_slice(&[0xff, 0x03]);
    r.link.depth += 1;
    send_outer(r, now, frame, fast);
    r.link.depth -= 1;
}

/// Says what was had of a call's packets, if nothing was sent that says it.
fn acknowledge(r: &mut Router, now: Moment, id: u16) {
    let header = r.link.pptp.leg_mut(id).and_then(|leg| Some((leg.control, leg.header(false)?)));
    let Some((ends, header)) = header else { return };
    own(r, now, ends, header);
}

/// A packet of the router's own without anything in it.
fn own(r: &mut Router, now: Moment, ends: Ends, header: Header) {
    let Some(mut frame) = r.io.pool.alloc(OUTER + header.len()) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    outer(r, &mut frame, protocol::GRE, (ends.0.address, ends.1.address));
    header.write(0, &mut r.io.slab.bytes_mut(&mut frame)[34..]);
    r.stats.tally.made += 1;
    r.tools.sent = true;
    super::local_out(r, now, frame);
}

/// Sends a control packet of PPP.
pub(super) fn say(r: &mut Router, now: Moment, carrier: Carrier, packet: &[u8]) {
    let Carrier::Pptp { id, .. } = carrier else { return };
    let Some(mut frame) = r.io.pool.alloc(packet.len()) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    r.io.slab.bytes_mut(&mut frame).copy_from_slice(packet);
    r.stats.tally.made += 1;
    r.tools.sent = true;
    packet_out(r, now, id, frame, false);
}

/// The profile of the server's sessions.
pub(super) fn profile(r: &Router) -> String {
    r.program.pptp.server.as_ref().map_or(String::new(), |server| server.profile.clone())
}

/// Whether whoever a call belongs to is still there, and as it was.
pub(super) fn stays(r: &Router, call: &Call) -> bool {
    let Carrier::Pptp { id, .. } = call.carrier else { return false };
    let there = r.link.pptp.leg(id).is_some();
    there
        && match call.owner {
            Owner::Client(item) => is_same(r, item),
            Owner::Server(_) => r.program.pptp.server.is_some(),
        }
}

/// Whether a client that has dialled is as it was.
fn is_same(r: &Router, item: ItemId) -> bool {
    r.link.pptp.dials.is_same(item, &r.program.pptp.clients)
}

/// A call is over: the other end is told, and a control connection without calls ends.
pub(super) fn hung_up(r: &mut Router, now: Moment, call: &Call) {
    let Carrier::Pptp { id, .. } = call.carrier else { return };
    let Some(leg) = r.link.pptp.remove_leg(id) else { return };
    let ends = leg.control;
    let Some(control) = r.link.pptp.get(ends) else { return };
    let (is_client, left) = (control.client.is_some(), control.legs.len());
    tell(r, now, ends, end_of(is_client, id, SHUT_DOWN));
    if left == 0 {
        tear_down(r, now, ends, true);
    }
}

/// What the other end is told when a call ends.
fn end_of(is_client: bool, call: u16, result: u8) -> Message {
    if is_client { Message::CallClear { call } } else { Message::CallGone { call, result } }
}

/// Sends a message; who takes none is gone.
fn tell(r: &mut Router, now: Moment, ends: Ends, message: Message) {
    let taken = r.link.tcp.write(ends, &message.write());
    tcp::push(r, now, ends);
    if !taken {
        tear_down(r, now, ends, false);
    }
}

/// Something has become of a TCP connection.
pub(super) fn heard(r: &mut Router, now: Moment, ends: Ends) {
    let progress = r.link.tcp.progress(ends);
    if progress == Progress::Opening {
        return;
    }
    match r.link.pptp.get(ends).map(|control| control.phase) {
        None if progress == Progress::Open && r.program.pptp.server.is_some() => {
            let peer = Ipv4Addr::from(ends.1.address);
            let text = format!("TCP connection established from {peer}");
            r.stats.log.say(now, "pptp,info", &text);
            r.link.pptp.add(ends, control(None, Phase::Starting, now));
            r.link.up_due = now;
        }
        None => return r.link.tcp.abort(now, ends),
        Some(Phase::Connecting) if progress == Progress::Open => {
            if let Some(control) = r.link.pptp.get_mut(ends) {
                control.phase = Phase::Starting;
            }
            tell(r, now, ends, Message::StartRequest);
        }
        Some(_) => {}
    }
    let bytes = r.link.tcp.read(ends);
    let Some(control) = r.link.pptp.get_mut(ends) else { return };
    control.said.extend(bytes);
    while let Some(control) = r.link.pptp.get_mut(ends) {
        match pptp::length(&control.said) {
            Err(pptp::Bad) => {
                let peer = Ipv4Addr::from(ends.1.address);
                r.stats.log.say(now, "pptp,error", &format!("{peer} does not speak PPTP"));
                tear_down(r, now, ends, false);
            }
            Ok(None) => break,
            Ok(Some(len)) => {
                let message: Vec<u8> = control.said.drain(..len).collect();
                if control.phase == Phase::Open {
                    control.asked = false;
                    r.link.pptp.wait(ends, now + ECHO);
                }
                if let Some(message) = Message::read(&message) {
                    step(r, now, ends, message);
                }
            }
        }
    }
    if progress != Progress::Open {
        tear_down(r, now, ends, false);
    }
}

fn control(client: Option<ItemId>, phase: Phase, now: Moment) -> Control {
    let (said, legs, asked, due) = (Vec::new(), Vec::new(), false, now + OPENING);
    Control { client, phase, said, legs, asked, due }
}

/// A control connection that has come to its end of the beginning.
fn opened(r: &mut Router, now: Moment, ends: Ends) {
    if let Some(control) = r.link.pptp.get_mut(ends) {
        control.phase = Phase::Open;
    }
    r.link.pptp.wait(ends, now + ECHO);
}

/// What a message changes.
fn step(r: &mut Router, now: Moment, ends: Ends, message: Message) {
    let Some(control) = r.link.pptp.get(ends) else { return };
    let (is_client, phase) = (control.client.is_some(), control.phase);
    match (message, phase) {
        (Message::StartRequest, Phase::Starting | Phase::Open) if !is_client => {
            opened(r, now, ends);
            tell(r, now, ends, Message::StartReply { result: OK });
        }
        (Message::StartReply { result: OK }, Phase::Starting) if is_client => {
            let dice = r.services.dice.throw() as u16;
            let Some(call) = r.link.pptp.add_leg(Leg::new(ends, None), dice) else {
                return tear_down(r, now, ends, true);
            };
            if let Some(control) = r.link.pptp.get_mut(ends) {
                control.phase = Phase::Calling;
            }
            tell(r, now, ends, Message::CallRequest { call, serial: call, window: WINDOW });
        }
        (Message::CallRequest { call, .. }, Phase::Open) if !is_client => {
            called(r, now, ends, call);
        }
        (Message::CallReply { call, peer, result: OK, .. }, Phase::Calling) if is_client => {
            let leg = r.link.pptp.leg_mut(peer).filter(|leg| leg.control == ends);
            let Some(leg) = leg else { return };
            leg.peer_id = Some(call);
            opened(r, now, ends);
            tell(r, now, ends, Message::LinkInfo { peer: call });
            begin(r, now, ends, peer);
        }
        (Message::CallClear { call }, _) if !is_client => {
            let Some(id) = r.link.pptp.of_peer(ends, call) else { return };
            gone(r, now, id);
            tell(r, now, ends, Message::CallGone { call: id, result: REQUESTED });
        }
        (Message::CallGone { call, .. }, _) if is_client => {
            let Some(id) = r.link.pptp.of_peer(ends, call) else { return };
            gone(r, now, id);
            tear_down(r, now, ends, true);
        }
        (Message::EchoRequest { id }, _) => tell(r, now, ends, Message::EchoReply { id }),
        (Message::StopRequest { .. }, _) => {
            tell(r, now, ends, Message::StopReply);
            tear_down(r, now, ends, false);
        }
        (Message::StartReply { .. } | Message::CallReply { .. }, _) if is_client => {
            let peer = Ipv4Addr::from(ends.1.address);
            r.stats.log.say(now, "pptp,error", &format!("{peer} refuses the call"));
            tear_down(r, now, ends, true);
        }
        (Message::StopReply, _) => tear_down(r, now, ends, false),
        // What is not for this end, or needs no answer.
        _ => {}
    }
}

/// A call has ended at the other end.
fn gone(r: &mut Router, now: Moment, id: u16) {
    let place = r.link.pptp.remove_leg(id).and_then(|leg| leg.place);
    if let Some(place) = place {
        ppp::lost(r, now, place);
    }
}

/// A client wants to have a call: it gets a number, or is told that there is no room.
fn called(r: &mut Router, now: Moment, ends: Ends, peer: u16) {
    if let Some(again) = r.link.pptp.of_peer(ends, peer) {
        // He has begun anew with it.
        gone(r, now, again);
    }
    let Some(control) = r.link.pptp.get(ends) else { return };
    let room = control.legs.len() < MOST_LEGS
        && r.link.calls.half_open() < calls::MOST_HALF_OPEN
        && r.link.calls.len() < calls::MOST;
    let dice = r.services.dice.throw() as u16;
    let leg = Leg::new(ends, Some(peer));
    let id = room.then(|| r.link.pptp.add_leg(leg, dice)).flatten();
    let Some(call) = id else {
        let refusal = Message::CallReply { call: 0, peer, result: NO_ROOM, window: 0 };
        return tell(r, now, ends, refusal);
    };
    tell(r, now, ends, Message::CallReply { call, peer, result: OK, window: WINDOW });
    begin(r, now, ends, call);
}

/// A call is there: PPP begins.
fn begin(r: &mut Router, now: Moment, ends: Ends, id: u16) {
    let program = r.program.clone();
    let (own, peer) = (ends.0.address, ends.1.address);
    let carrier = Carrier::Pptp { id, own, peer };
    let Some(client) = r.link.pptp.get(ends).map(|control| control.client) else { return };
    let dialler = client.and_then(|item| r.link.pptp.dials.get(item)).cloned();
    let whose = match (&dialler, &program.pptp.server) {
        (Some(dialler), _) => Whose::Client(dialler),
        // L2TP's server stands on no interface either.
        (None, Some(server)) if client.is_none() => {
            Whose::Server(server, "pptp".into(), format!("<pptp-{id}>"))
        }
        _ => return,
    };
    let place = call::begin(r, now, own, carrier, whose, |_| {});
    if let Some(leg) = r.link.pptp.leg_mut(id) {
        leg.place = Some(place);
    }
}

/// Ends a control connection, and tells the other end if it can hear that.
fn tear_down(r: &mut Router, now: Moment, ends: Ends, tells: bool) {
    let Some((control, legs)) = r.link.pptp.remove(ends) else { return };
    let is_client = control.client.is_some();
    if tells && r.link.tcp.progress(ends) == Progress::Open {
        for (id, _) in &legs {
            r.link.tcp.write(ends, &end_of(is_client, *id, SHUT_DOWN).write());
        }
        // For no particular reason.
        r.link.tcp.write(ends, &Message::StopRequest { reason: 1 }.write());
    }
    r.link.tcp.close(now, ends);
    tcp::push(r, now, ends);
    for place in legs.iter().filter_map(|(_, leg)| leg.place) {
        ppp::lost(r, now, place);
    }
    LINE.ended(r, now, control.client);
}

/// Lets clients dial and control connections do what is due. Returns when something is due next, if that is
/// before `due`.
pub(super) fn tick(r: &mut Router, now: Moment, mut due: Moment) -> Moment {
    let program = r.program.clone();
    if program.pptp.clients.list.is_empty() && r.link.pptp.is_empty() {
        return due;
    }
    let gone = r.link.pptp.all().filter(|(_, control)| match control.client {
        Some(item) => !is_same(r, item),
        None => program.pptp.server.is_none(),
    });
    for ends in gone.map(|(ends, _)| ends).collect::<Vec<_>>() {
        tear_down(r, now, ends, true);
    }
    due = LINE.dial(r, now, due);
    while let Some(ends) = r.link.pptp.is_due(now) {
        remind(r, now, ends);
    }
    while let Some(id) = r.link.pptp.owing(now) {
        acknowledge(r, now, id);
    }
    r.link.pptp.next_due().map_or(due, |at| due.min(at))
}

/// A client asks for a connection.
fn dial(r: &mut Router, now: Moment, dialler: &Dialler) -> bool {
    let server = End { address: dialler.server, port: PORT };
    // Of one's own there is nothing to have.
    if r.program.is_local(dialler.server) {
        return false;
    }
    let Some(ends) = tcp::connect(r, now, Service::Pptp, server) else { return false };
    r.link.pptp.add(ends, control(Some(dialler.item), Phase::Connecting, now));
    tcp::push(r, now, ends);
    true
}

/// Who is silent is asked, and who does not answer is gone.
fn remind(r: &mut Router, now: Moment, ends: Ends) {
    let Some(control) = r.link.pptp.get_mut(ends) else { return };
    let asks = control.phase == Phase::Open && !control.asked;
    if !asks {
        let peer = Ipv4Addr::from(ends.1.address);
        let text = format!("control connection with {peer} ended - peer is not responding");
        r.stats.log.say(now, "pptp,info", &text);
        return tear_down(r, now, ends, false);
    }
    control.asked = true;
    r.link.pptp.wait(ends, now + ECHO);
    let id = r.services.dice.throw() as u32;
    tell(r, now, ends, Message::EchoRequest { id });
}
