//! PPP's part of the flow, whatever carries it: what machines say and hear, who is let in, what ends.
//!
//! ```text
//! pppoe, l2tp, pptp ─► [control_in] ─► the call's machine ─► answers ─► say ─► pppoe, l2tp, pptp
//!                                    └► Check ─► users ─► addresses of pools ─► admit
//! ticks ─► [tick]: who is silent, idle, too long there, or has lost his server
//! ```

use super::pppoe::{is_data, packet_in};
use super::radius::{self, Status};
use super::tunnel::MOST as MOST_DEPTH;
use super::{l2tp, pppoe, pptp};
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::interface::ingress::Arrival;
use crate::interface::ppp::calls::{Call, Carrier, Owner};
use crate::interface::ppp::dial::Binding;
use crate::interface::ppp::machine::{Admitted, End, Pass, Phase, Proof, Said};
use crate::interface::ppp::mppe::{Mppe, Receiver, Sender};
use crate::interface::ppp::users::{Attempt, Offer, Refusal, Whence};
use crate::interface::pppoe::Session;
use crate::ip::pool::User;
use crate::packet::Packet;
use crate::program::Program;
use crate::router::Router;
use crate::story::Event;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, Layers};
use wire::{Ipv4Range, Moment};

/// How often traffic is looked at where it matters: quotas, idle sessions.
const SAMPLE: Duration = Duration::from_secs(1);

/// Takes in a control packet of a call, its protocol first.
pub(super) fn control_in(r: &mut Router, now: Moment, place: usize, ppp: &[u8]) {
    let mut out = Vec::new();
    let Some(call) = r.link.calls.get_mut(place) else { return };
    let before = call.machine.phase();
    let kind = u16::from_be_bytes([ppp[0], ppp[1]]);
    let said = call.machine.receive(now, kind, &ppp[2..], &mut out);
    if said == Said::NewKey
        && let Some(mppe) = call.mppe()
    {
        mppe.sender.flush();
    }
    // Echoes and the like bring nothing nearer.
    if call.machine.phase() != Phase::Open || before != Phase::Open {
        r.link.calls.wait(place, Some(now));
        r.link.up_due = now;
    }
    say(r, now, place, out);
    match said {
        Said::Check { user, proof } => attempt(r, now, place, &user, &proof),
        _ => moved_on(r, now, place, before),
    }
}

/// What a carrier has brought for a call, PPP's protocol first, perhaps behind FF 03. `range` is where it is
/// in the frame; `is_whole` if its outer packet came in one piece.
pub(super) fn arrived(
    r: &mut Router,
    now: Moment,
    mut p: Packet,
    place: usize,
    range: std::ops::Range<usize>,
    is_whole: bool,
) {
    let (mut at, end) = (range.start, range.end);
    if r.io.slab.bytes(&p.frame)[range].starts_with(&[0xff, 0x03]) {
        at += 2;
    }
    let bytes = &r.io.slab.bytes(&p.frame)[at..end];
    let Some(&kind) = bytes.first_chunk() else { return r.discard(p, Discard::MalformedTunnel) };
    if !is_data(u16::from_be_bytes(kind)) {
        let ppp = bytes.to_vec();
        r.tell(|| Event::Local);
        r.consume(p);
        return control_in(r, now, place, &ppp);
    }
    let Some(call) = r.link.calls.get(place) else {
        return r.discard(p, Discard::UnknownSession);
    };
    let item = call.item();
    let interface = r.program.books.interfaces.find(item).unwrap_or(InterfaceId::NONE);
    if r.link.depth >= MOST_DEPTH {
        return r.discard(p, Discard::TunnelLoop);
    }
    let fast = is_whole && r.program.interface(interface).fast_rx;
    if fast {
        let len = p.frame.len();
        r.count_fast_outer(p.ingress, p.in_bridge_port, len);
    }
    p.frame.truncate(end);
    p.frame.pull(at - 14);
    r.io.slab.bytes_mut(&mut p.frame)[..12].fill(0);
    let frame = r.recycle(p);
    let mut inside = r.packet(frame, Layers::default(), interface);
    inside.fast = fast;
    inside.arrival = is_whole.then_some(Arrival::untagged(interface));
    r.link.depth += 1;
    packet_in(r, now, inside, interface, place);
    r.link.depth -= 1;
}

/// What PPP carries that is IP in the clear: how many bytes are before it, and what it is.
#[inline]
pub(super) fn plain(ppp: &[u8]) -> Option<(usize, u16)> {
    let kind = ppp.strip_prefix(&[0xff, 0x03]).unwrap_or(ppp);
    let ether_type = match kind {
        [0x00, 0x21, ..] => ETHERTYPE_IPV4,
        [0x00, 0x57, ..] => ETHERTYPE_IPV6,
        _ => return None,
    };
    Some((ppp.len() - kind.len() + 2, ether_type))
}

/// Whether an interface's session, as compiled, is the one there is, and not encrypted.
#[inline]
pub(super) fn is_plain(r: &Router, interface: InterfaceId) -> bool {
    let session = r.program.session(interface).filter(|session| !session.encrypted);
    session.is_some_and(|session| {
        let call = r.link.calls.get(session.place as usize);
        call.is_some_and(|call| call.number == session.number && call.is_plain())
    })
}

/// Somebody wants to log in.
fn attempt(r: &mut Router, now: Moment, place: usize, user: &str, proof: &Proof) {
    let Some(call) = r.link.calls.get(place) else { return };
    let profile = profile_of(r, call);
    let (service, caller) = (call.carrier.service(), call.carrier.caller());
    let attempt = Attempt { user, proof, profile: &profile, service, caller: &caller };
    let verdict = r.program.users.admit(attempt);
    if verdict == Err(Refusal::Unknown) && r.program.aaa.uses_radius {
        return radius::ask(r, now, place, user, proof);
    }
    decided(r, now, place, user, verdict);
}

/// The profile of a call's server.
pub(super) fn profile_of(r: &Router, call: &Call) -> String {
    match (&call.owner, call.carrier) {
        (Owner::Client(_), _) => String::new(),
        (Owner::Server(service), Carrier::Pppoe { on, .. }) => pppoe::server_of(r, on, service)
            .map_or(String::new(), |server| server.ppp.profile.clone()),
        (Owner::Server(_), Carrier::L2tp { .. }) => l2tp::profile(r),
        (Owner::Server(_), Carrier::Pptp { .. }) => pptp::profile(r),
    }
}

/// It is known whether somebody may log in.
pub(super) fn decided(
    r: &mut Router,
    now: Moment,
    place: usize,
    user: &str,
    verdict: Result<(Offer, Pass), Refusal>,
) {
    let Some(call) = r.link.calls.get(place) else { return };
    let carrier = call.carrier;
    let topics = format!("{},ppp,error", carrier.service());
    let (before, is_same) = (call.machine.phase(), call.user() == user);
    // The other end has begun anew, and will ask again.
    if matches!(before, Phase::Establish | Phase::Down(_)) {
        return;
    }
    let repeated = matches!(before, Phase::Network | Phase::Open);
    let granted = match verdict {
        // He asks again: his answer was lost.
        _ if repeated => Err(Refusal::Unknown),
        Ok((offer, pass)) => grant(r, place, offer).map(|()| pass),
        Err(why) => Err(why),
    };
    if let Err(why) = &granted
        && !repeated
    {
        let text = match why {
            Refusal::Unknown | Refusal::Wrong => format!("user {user} authentication failed"),
            Refusal::Timeout => format!("user {user} authentication failed - radius timeout"),
            Refusal::Caller => format!("user {user} authentication failed - caller id"),
            Refusal::NoAddress => {
                format!("user {user}: could not determine local or remote address")
            }
        };
        r.stats.log.say(now, &topics, &text);
    }
    let mut out = Vec::new();
    if granted.is_ok() {
        let program = r.program.clone();
        r.link.calls.rename(place, user, bindings(&program, &carrier));
    }
    let Some(call) = r.link.calls.get_mut(place) else { return };
    let admitted = granted.ok().zip(call.granted()).map(|(pass, terms)| Admitted {
        local: call.local,
        remote: call.remote,
        dns: terms.dns,
        wins: terms.wins,
        encryption: terms.encryption,
        pass,
    });
    call.machine.admit(now, (admitted, is_same), &mut out);
    say(r, now, place, out);
    r.link.calls.wait(place, Some(now));
    moved_on(r, now, place, before);
}

/// The bindings of the server that has a call.
fn bindings<'a>(program: &'a Program, carrier: &Carrier) -> &'a [Binding] {
    match carrier {
        Carrier::Pppoe { .. } => &program.pppoe.bindings,
        Carrier::L2tp { .. } => &program.l2tp.bindings,
        Carrier::Pptp { .. } => &program.pptp.bindings,
    }
}

/// Whether a session's binding is still there, if it has one, and its.
fn is_bound(r: &Router, call: &Call) -> bool {
    let Some(bound) = &call.bound else { return true };
    let (item, user) = &**bound;
    let mut all = bindings(&r.program, &call.carrier).iter();
    all.any(|binding| {
        let is_it = binding.item == *item && *binding.name == *call.name;
        is_it && binding.is_for(user, call.service())
    })
}

/// Takes the addresses of an offer, and grants it.
fn grant(r: &mut Router, place: usize, offer: Offer) -> Result<(), Refusal> {
    let program = r.program.clone();
    let holder = User::Ppp(place as u32);
    let mut take = |whence: &Whence| match whence {
        Whence::Nowhere => Some((0, false)),
        Whence::Address(address) => Some((*address, false)),
        Whence::Pool(name) => {
            let used = &mut r.services.used;
            let address = used.take(&program.pools, name, &holder, |at| !program.is_local(at));
            address.map(|address| (address, true))
        }
    };
    let (local, remote) = (take(&offer.local), take(&offer.remote));
    let ends = [local, remote].map(Option::unwrap_or_default);
    let [(local, local_pooled), (remote, remote_pooled)] = ends;
    if local == 0 || remote == 0 || local == remote {
        for (address, _) in ends.iter().filter(|(_, pooled)| *pooled) {
            r.services.used.free(&program.pools, *address);
        }
        return Err(Refusal::NoAddress);
    }
    let call = r.link.calls.get_mut(place).ok_or(Refusal::Unknown)?;
    let known = call.known();
    (known.local, known.remote, known.terms) = (local, remote, Some(offer.terms));
    known.of_pool = [local_pooled, remote_pooled];
    Ok(())
}

/// Gives back what was taken for a session.
fn give_back(r: &mut Router, session: &Session) {
    let program = r.program.clone();
    for (address, pooled) in [session.local, session.remote].into_iter().zip(session.of_pool) {
        if pooled {
            r.services.used.free(&program.pools, address);
        }
    }
}

/// Tells what has become of a call, and ends it if it is over.
fn moved_on(r: &mut Router, now: Moment, place: usize, before: Phase) {
    let Some(call) = r.link.calls.get(place) else { return };
    let phase = call.machine.phase();
    if phase == before {
        return;
    }
    // What is open is compiled at the next look.
    let (service, caller) = (call.carrier.service(), call.carrier.caller());
    let topics = format!("{service},ppp,info");
    r.link.up_due = now;
    r.link.calls.wait(place, Some(now));
    let was_let_in = matches!(before, Phase::Establish | Phase::Authenticate);
    if was_let_in && matches!(phase, Phase::Network | Phase::Open) {
        let name = name(r, place);
        r.stats.log.say(now, &topics, &format!("{name}: authenticated"));
    }
    let name = name(r, place);
    match phase {
        Phase::Open => opened(r, now, place, &topics, &caller),
        Phase::Down(why) => {
            r.stats.log.say(now, &topics, &format!("{name}: terminating... - {}", why.name()));
            hang_up(r, now, place);
        }
        Phase::Establish if before == Phase::Open => {
            r.stats.log.say(now, &topics, &format!("{name}: disconnected"));
            r.link.calls.changed = true;
            logged_out(r, now, place);
            if let Some(call) = r.link.calls.get_mut(place) {
                call.decrypt();
                let session = Session::clone(call);
                let known = call.known();
                (known.terms, known.of_pool) = (None, [false; 2]);
                leave_lists(r, &session);
            }
        }
        _ => {}
    }
}

fn name(r: &Router, place: usize) -> String {
    r.link.calls.get(place).map_or(String::new(), |call| call.name.to_string())
}

/// A call is a session now.
fn opened(r: &mut Router, now: Moment, place: usize, topics: &str, caller: &str) {
    r.link.calls.has_opened(place);
    let Some(call) = r.link.calls.get_mut(place) else { return };
    call.begins(now);
    if let Some((keys, send, receive)) = call.machine.take_keys() {
        let (sender, receiver) =
            (Sender::new(keys.send, send), Receiver::new(keys.receive, receive));
        call.encrypt(Mppe::new(sender, receiver));
    }
    let (name, number, is_client) = (call.name.clone(), call.number, call.is_client());
    let (user, remote) = (call.user().to_string(), call.machine.addresses().1);
    let terms = call.granted().cloned();
    r.stats.log.say(now, topics, &format!("{name}: connected"));
    if is_client {
        r.services.due = now;
        return;
    }
    let text = format!("{user} logged in, {} from {caller}", Ipv4Addr::from(remote));
    r.stats.log.say(now, &format!("{topics},account"), &text);
    radius::tell(r, now, place, Status::Start, Default::default(), None);
    let Some(terms) = terms else { return };
    if let (Some(list), Some(range)) = (&terms.address_list, Ipv4Range::new(remote, remote)) {
        r.rules.lists.add(list, range, None, now);
        r.follow_lists();
    }
    if terms.only_one {
        end_others(r, now, |other| {
            other.number != number && !other.is_client() && other.is_open() && other.user() == user
        });
    }
}

/// What a session had is given back; its address is in no list any more.
fn leave_lists(r: &mut Router, session: &Session) {
    let Some(terms) = session.granted() else { return };
    give_back(r, session);
    if let (Some(list), Some(range)) =
        (&terms.address_list, Ipv4Range::new(session.remote, session.remote))
    {
        r.rules.lists.remove(&[(list.clone(), range)]);
        r.follow_lists();
    }
}

/// Ends a call: the other end is told, its client dials again.
pub(super) fn hang_up(r: &mut Router, now: Moment, place: usize) {
    let Some(call) = r.link.calls.get(place) else { return };
    let topics = format!("{},ppp,info", call.carrier.service());
    logged_out(r, now, place);
    let Some(call) = r.link.calls.remove(place) else { return };
    match call.carrier {
        Carrier::Pppoe { .. } => pppoe::hung_up(r, now, &call),
        Carrier::L2tp { .. } => l2tp::hung_up(r, now, &call),
        Carrier::Pptp { .. } => pptp::hung_up(r, now, &call),
    }
    leave_lists(r, &call);
    r.stats.log.say(now, &topics, &format!("{}: disconnected", call.name));
    r.link.up_due = now;
}

/// Says what a user's session was, if it was one.
fn logged_out(r: &mut Router, now: Moment, place: usize) {
    let Some(call) = r.link.calls.get(place) else { return };
    if call.granted().is_none() || call.half_open {
        return;
    }
    let [rx, tx] = traffic(r, place);
    let text = format!(
        "{} logged out, {} {} {} {} {} from {}",
        call.user(),
        (now - call.since.min(now)).as_secs(),
        rx.1,
        tx.1,
        rx.0,
        tx.0,
        call.carrier.caller()
    );
    let topics = format!("{},ppp,info,account", call.carrier.service());
    let why = match call.machine.phase() {
        Phase::Down(why) => Some(why),
        _ => None,
    };
    r.stats.log.say(now, &topics, &text);
    radius::tell(r, now, place, Status::Stop, [rx, tx], why);
}

/// Packets and bytes of a session: received, and sent.
fn traffic(r: &Router, place: usize) -> [(u64, u64); 2] {
    let Some(call) = r.link.calls.get(place) else { return Default::default() };
    let mine = |id: InterfaceId| {
        let interface = r.program.interfaces.get(id.index())?;
        (*interface.name == *call.name).then_some(id)
    };
    let id = r.program.books.interfaces.find(call.item()).and_then(mine);
    let counts = id.and_then(|id| r.stats.interface_counts.get(id.index()));
    counts.map_or(Default::default(), |counts| {
        [counts.rx, counts.tx].map(|count| (count.packets, count.bytes))
    })
}

/// What carried a call is gone.
pub(super) fn lost(r: &mut Router, now: Moment, place: usize) {
    let Some(call) = r.link.calls.get(place) else { return };
    let topics = format!("{},ppp,info", call.carrier.service());
    let text = format!("{}: terminating... - {}", call.name, End::Terminated.name());
    r.stats.log.say(now, &topics, &text);
    hang_up(r, now, place);
}

/// Ends the calls of which this is so.
pub(super) fn end_others(r: &mut Router, now: Moment, is: impl Fn(&Call) -> bool) {
    for place in r.link.calls.places() {
        if r.link.calls.get(place).is_some_and(&is) {
            close(r, now, place, End::Closed);
        }
    }
}

/// Ends the sessions of which this is so: somebody wants them to end.
pub(crate) fn end_sessions(r: &mut Router, now: Moment, is: impl Fn(&Session) -> bool) {
    end_others(r, now, |call| call.is_open() && is(call));
    r.tools.sent = true;
}

/// Closes a call from this end.
pub(super) fn close(r: &mut Router, now: Moment, place: usize, why: End) {
    let Some(call) = r.link.calls.get_mut(place) else { return };
    let (before, mut out) = (call.machine.phase(), Vec::new());
    call.machine.close(why, &mut out);
    say(r, now, place, out);
    moved_on(r, now, place, before);
}

/// Sends what a call's machine has to say.
pub(super) fn say(r: &mut Router, now: Moment, place: usize, packets: Vec<Vec<u8>>) {
    let Some(call) = r.link.calls.get(place) else { return };
    let carrier = call.carrier;
    for packet in packets {
        match carrier {
            Carrier::Pppoe { .. } => pppoe::say(r, now, carrier, &packet),
            Carrier::L2tp { .. } => l2tp::say(r, now, carrier, &packet),
            Carrier::Pptp { .. } => pptp::say(r, now, carrier, &packet),
        }
    }
}

/// Ends calls of whom is no longer there, or another now. Before clients dial: then they are what they will be.
pub(super) fn end_changed(r: &mut Router, now: Moment) {
    if r.link.calls.seen == r.changes {
        return;
    }
    r.link.calls.seen = r.changes;
    for place in r.link.calls.places() {
        let Some(call) = r.link.calls.get(place) else { continue };
        let stays = match call.carrier {
            Carrier::Pppoe { .. } => pppoe::stays(r, call),
            Carrier::L2tp { .. } => l2tp::stays(r, call),
            Carrier::Pptp { .. } => pptp::stays(r, call),
        };
        if !stays || !is_bound(r, call) {
            close(r, now, place, End::Closed);
        }
    }
}

/// Lets calls do what is due. Returns when something is due next, if that is before `due`.
pub(super) fn tick(r: &mut Router, now: Moment, due: Moment) -> Moment {
    if r.link.calls.len() == 0 {
        return due;
    }
    while let Some(place) = r.link.calls.is_due(now) {
        let Some(call) = r.link.calls.get_mut(place) else { break };
        let (number, before, mut out) = (call.number, call.machine.phase(), Vec::new());
        let next = call.machine.tick(now, &mut out);
        say(r, now, place, out);
        let limits = limits(r, now, place);
        if let Err(why) = limits {
            close(r, now, place, why);
            continue;
        }
        let still = r.link.calls.get(place).is_some_and(|call| call.number == number);
        if still {
            let next = [next, limits.unwrap_or_default()].into_iter().flatten().min();
            // Never at once again: somebody who is always due would hold all others up.
            let next = next.map(|at| at.max(now + Duration::from_millis(1)));
            r.link.calls.wait(place, next);
            moved_on(r, now, place, before);
        }
    }
    r.link.calls.next_due().map_or(due, |at| due.min(at))
}

/// Whether a session has reached a limit; and when to look again.
fn limits(r: &mut Router, now: Moment, place: usize) -> Result<Option<Moment>, End> {
    let Some(call) = r.link.calls.get(place).filter(|call| call.is_open()) else { return Ok(None) };
    let Some(terms) = call.granted().cloned() else { return Ok(None) };
    let mut next = terms.session_timeout.map(|timeout| call.since + timeout);
    let interim = terms.interim.or(r.program.aaa.interim).filter(|_| r.program.aaa.tells());
    let told = call.rest.as_ref().map_or(Moment::ZERO, |rest| rest.seen.told);
    if let Some(interim) = interim {
        let due = told.max(call.since) + interim.max(SAMPLE);
        if now >= due {
            let counts = traffic(r, place);
            radius::tell(r, now, place, Status::Interim, counts, None);
            if let Some(call) = r.link.calls.get_mut(place) {
                call.seen().told = now;
            }
        }
        let due = if now >= due { now + interim.max(SAMPLE) } else { due };
        next = Some(next.map_or(due, |next| next.min(due)));
    }
    let ends = terms.session_timeout.zip(r.link.calls.get(place).map(|call| call.since));
    if ends.is_some_and(|(timeout, since)| now >= since + timeout) {
        return Err(End::SessionTimeout);
    }
    if terms.idle_timeout.is_none() && terms.limits == [0; 2] {
        return Ok(next);
    }
    let [rx, tx] = traffic(r, place);
    let over = |bytes: u64, limit: u64| limit != 0 && bytes >= limit;
    if over(rx.1, terms.limits[0]) || over(tx.1, terms.limits[1]) {
        return Err(End::Limit);
    }
    if let (Some(timeout), Some(call)) = (terms.idle_timeout, r.link.calls.get_mut(place)) {
        let passed = rx.0 + tx.0;
        let before = &mut call.seen().passed;
        if passed != before.0 {
            *before = (passed, now);
        } else if now >= before.1 + timeout {
            return Err(End::IdleTimeout);
        }
    }
    let sample = now + SAMPLE;
    next = Some(next.map_or(sample, |next| next.min(sample)));
    Ok(next)
}
