//! RADIUS's part of the flow: servers asked who may log in, told of sessions, and heard.
//!
//! ```text
//! ppp::attempt ─► [ask] ─► Access-Request ─┬► Accept ─► an Offer ─► ppp::decided
//!                                          └► Reject, or nobody answers ─► ppp::decided
//! a session opens, lasts, is over ─► [tell] ─► Accounting-Request
//! local_in ─► [receive] ◄── Disconnect-Request
//! ```
//!
//! Each request has a port of its own, so that many may wait at the same time. An answer is believed if it
//! comes from where was asked, and knows the secret.

use super::ppp;
use crate::discard::Discard;
use crate::interface::ppp::aaa::Server;
use crate::interface::ppp::calls::Call;
use crate::interface::ppp::machine::{End as Over, Pass, Proof};
use crate::interface::ppp::mschap::{self, Keys};
use crate::interface::ppp::rate::Rate;
use crate::interface::ppp::users::{Offer, Refusal, Terms, Whence, routes};
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::own_address;
use crate::packet::Packet as Frame_;
use crate::router::Router;
use crate::story::Event;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;
use wire::layers::protocol;
use wire::radius::{self, Packet, attribute as is, code, microsoft, mikrotik};

/// How often each server is asked.
const TRIES: u8 = 3;
/// Requests that wait at the same time.
const MOST: usize = 16_384;
/// So many different things that users are given are remembered.
const TARIFFS: usize = 16;
/// Ports they come from.
const PORTS: std::ops::Range<u16> = 49_152..65_535;

/// What is asked.
#[derive(Clone, Debug)]
enum About {
    /// Whether somebody may log in, whose call is this one.
    Login { place: usize, number: u64, user: String, proof: Proof },
    /// Nothing: it is told.
    Account,
}

/// A request that waits.
#[derive(Clone, Debug)]
struct Pending {
    about: About,
    attributes: Vec<(u8, Vec<u8>)>,
    /// The server, by place.
    server: usize,
    tries: u8,
    due: Moment,
    ends: (End, End),
    sent: Packet,
}

/// Requests that wait, by their ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pending: BTreeMap<u16, Pending>,
    /// What users were given last: most have the same as others, and share it.
    given: VecDeque<Arc<Terms>>,
}

/// What a session's account is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Start = 1,
    Stop = 2,
    Interim = 3,
}

/// Asks servers whether somebody may log in.
pub(super) fn ask(r: &mut Router, now: Moment, place: usize, user: &str, proof: &Proof) {
    let Some(call) = r.link.calls.get(place) else { return };
    let attributes = described(r, call, user);
    let (number, user, proof) = (call.number, user.to_string(), proof.clone());
    begin(r, now, About::Login { place, number, user, proof }, attributes);
}

/// Tells servers of a session.
pub(super) fn tell(
    r: &mut Router,
    now: Moment,
    place: usize,
    status: Status,
    traffic: [(u64, u64); 2],
    why: Option<Over>,
) {
    if !r.program.aaa.tells() {
        return;
    }
    let Some(call) = r.link.calls.get(place).filter(|call| !call.is_client()) else { return };
    let Some(terms) = call.granted() else { return };
    let mut attributes = described(r, call, call.user());
    let mut put = |kind: u8, number: u64| {
        attributes.push((kind, (number as u32).to_be_bytes().to_vec()));
    };
    put(is::ACCT_STATUS_TYPE, status as u64);
    put(is::ACCT_AUTHENTIC, if terms.by_radius { 1 } else { 2 });
    put(is::FRAMED_IP_ADDRESS, call.remote.into());
    if status != Status::Start {
        let [rx, tx] = traffic;
        put(is::ACCT_SESSION_TIME, (now - call.since.min(now)).as_secs());
        put(is::ACCT_INPUT_OCTETS, rx.1);
        put(is::ACCT_OUTPUT_OCTETS, tx.1);
        put(is::ACCT_INPUT_GIGAWORDS, rx.1 >> 32);
        put(is::ACCT_OUTPUT_GIGAWORDS, tx.1 >> 32);
        put(is::ACCT_INPUT_PACKETS, rx.0);
        put(is::ACCT_OUTPUT_PACKETS, tx.0);
    }
    if status == Status::Stop {
        put(is::ACCT_TERMINATE_CAUSE, cause(why));
    }
    attributes.extend(terms.class.iter().map(|class| (is::CLASS, class.clone())));
    begin(r, now, About::Account, attributes);
}

/// RFC 2866 §5.10.
fn cause(why: Option<Over>) -> u64 {
    match why {
        Some(Over::Terminated) => 1,
        Some(Over::Silent) => 2,
        Some(Over::IdleTimeout) => 4,
        Some(Over::SessionTimeout) => 5,
        Some(Over::Closed | Over::Disconnected) => 6,
        Some(Over::Limit) => 18,
        _ => 9,
    }
}

/// What every request says of a call.
fn described(r: &Router, call: &Call, user: &str) -> Vec<(u8, Vec<u8>)> {
    let is_pppoe = call.carrier.service() == "pppoe";
    let number = |number: u32| number.to_be_bytes().to_vec();
    let session = format!("81{:06x}", call.number & 0x00ff_ffff);
    let server = r.program.aaa.servers.first();
    let called = server.map(|server| server.called_id.clone()).filter(|id| !id.is_empty());
    vec![
        (is::SERVICE_TYPE, number(2)),
        (is::FRAMED_PROTOCOL, number(1)),
        (is::NAS_PORT, number(call.number as u32)),
        (is::NAS_PORT_TYPE, number(if is_pppoe { 15 } else { 5 })),
        (is::USER_NAME, user.as_bytes().to_vec()),
        (is::CALLING_STATION_ID, call.carrier.caller().into_bytes()),
        (is::CALLED_STATION_ID, called.unwrap_or_else(|| call.service().to_string()).into_bytes()),
        (is::NAS_PORT_ID, call.name.as_bytes().to_vec()),
        (is::ACCT_SESSION_ID, session.into_bytes()),
        (is::NAS_IDENTIFIER, b"wirespeed".to_vec()),
    ]
}

fn begin(r: &mut Router, now: Moment, about: About, attributes: Vec<(u8, Vec<u8>)>) {
    let none = End { address: 0, port: 0 };
    let sent = Packet::new(0, 0, [0; 16]);
    let pending =
        Pending { about, attributes, server: 0, tries: 0, due: now, ends: (none, none), sent };
    if r.link.radius.pending.len() >= MOST {
        return give_up(r, now, pending.about);
    }
    go_on(r, now, pending);
}

/// Sends a request for the first time to the next server that there is a way to.
fn go_on(r: &mut Router, now: Moment, mut pending: Pending) {
    let program = r.program.clone();
    let is_login = matches!(pending.about, About::Login { .. });
    while let Some(server) = program.aaa.servers.get(pending.server) {
        let own = server.src.or_else(|| own_address(r, server.address));
        let (Some(address), false) = (own, is_login && server.only_accounts) else {
            pending.server += 1;
            continue;
        };
        let dice = [r.services.dice.throw(), r.services.dice.throw()];
        let mut authenticator = [0; 16];
        authenticator[..8].copy_from_slice(&dice[0].to_be_bytes());
        authenticator[8..].copy_from_slice(&dice[1].to_be_bytes());
        let own = loop {
            let port = PORTS.start + (r.services.dice.throw() % PORTS.len() as u64) as u16;
            if !r.link.radius.pending.contains_key(&port) {
                break End { address, port };
            }
        };
        let port = if is_login { server.login_port } else { server.account_port };
        pending.ends = (own, End { address: server.address, port });
        let id = r.services.dice.throw() as u8;
        pending.sent = packet(&pending, server, id, authenticator, address);
        (pending.tries, pending.due) = (1, now + server.timeout);
        datagram::send(r, now, pending.ends, &bytes(&pending.sent, server));
        r.link.up_due = r.link.up_due.min(pending.due);
        r.link.radius.pending.insert(own.port, pending);
        return;
    }
    give_up(r, now, pending.about);
}

fn bytes(packet: &Packet, server: &Server) -> Vec<u8> {
    let secret = server.secret.as_bytes();
    match packet.code {
        code::ACCESS_REQUEST => packet.write_signed(secret),
        _ => packet.write_request(secret),
    }
}

/// The request as this server is to have it.
fn packet(pending: &Pending, server: &Server, id: u8, authenticator: [u8; 16], own: u32) -> Packet {
    let mut packet = match pending.about {
        About::Login { .. } => Packet::new(code::ACCESS_REQUEST, id, authenticator),
        About::Account => Packet::new(code::ACCOUNTING_REQUEST, id, [0; 16]),
    };
    for (kind, value) in &pending.attributes {
        packet.put(*kind, value);
    }
    packet.put_number(is::NAS_IP_ADDRESS, own);
    let About::Login { proof, .. } = &pending.about else {
        // What its answer is a digest of.
        let digest = packet.write_request(server.secret.as_bytes());
        packet.authenticator = std::array::from_fn(|n| digest[4 + n]);
        return packet;
    };
    match proof {
        Proof::Password(password) => {
            let secret = server.secret.as_bytes();
            let hidden = radius::hide_password(password, secret, &authenticator);
            packet.put(is::USER_PASSWORD, &hidden);
        }
        Proof::Chap { id, challenge, answer } => {
            packet.put(is::CHAP_PASSWORD, &[&[*id], &answer[..]].concat());
            packet.put(is::CHAP_CHALLENGE, challenge);
        }
        // RFC 2548 §2.1: its number, flags, both answers.
        Proof::Mschap1 { id, challenge, answer } => {
            let said = [&[*id, 1], &answer[..48]].concat();
            packet.put_vendor(microsoft::VENDOR, microsoft::CHAP_CHALLENGE, challenge);
            packet.put_vendor(microsoft::VENDOR, microsoft::CHAP_RESPONSE, &said);
        }
        Proof::Mschap2 { id, challenge, answer } => {
            let said = [&[*id, 0], &answer[..48]].concat();
            packet.put_vendor(microsoft::VENDOR, microsoft::CHAP_CHALLENGE, challenge);
            packet.put_vendor(microsoft::VENDOR, microsoft::CHAP2_RESPONSE, &said);
        }
    }
    packet
}

/// Nobody has answered.
fn give_up(r: &mut Router, now: Moment, about: About) {
    r.stats.log.say(now, "radius,error", "RADIUS server is not responding");
    if let About::Login { place, number, user, .. } = about {
        answer(r, now, place, number, &user, Err(Refusal::Timeout));
    }
}

fn answer(
    r: &mut Router,
    now: Moment,
    place: usize,
    number: u64,
    user: &str,
    verdict: Result<(Offer, Pass), Refusal>,
) {
    // His call may be over by now, and another have its place.
    if r.link.calls.get(place).is_some_and(|call| call.number == number) {
        ppp::decided(r, now, place, user, verdict);
    }
}

/// Whether a packet answers a request, or a server wants something.
pub(super) fn is_asked(r: &Router, p: &Frame_) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP
        && (r.link.radius.pending.contains_key(&tuple.dst_port)
            || r.program.aaa.incoming == Some(tuple.dst_port))
}

/// A datagram has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Frame_) {
    let tuple = p.layers.tuple;
    let from = End { address: tuple.src, port: tuple.src_port };
    let to = End { address: tuple.dst, port: tuple.dst_port };
    let said = r.datagram(&p).and_then(Packet::read);
    let done = said.and_then(|said| match said.code {
        code::DISCONNECT_REQUEST => disconnect(r, now, (to, from), &said),
        _ => answered(r, now, (to, from), &said),
    });
    match done {
        Some(()) => {
            r.tell(|| Event::Local);
            r.consume(p)
        }
        None => r.discard(p, Discard::BadRadius),
    }
}

/// An answer; `None` if it is not to be believed.
fn answered(r: &mut Router, now: Moment, ends: (End, End), said: &Packet) -> Option<()> {
    let program = r.program.clone();
    let pending = r.link.radius.pending.get(&ends.0.port)?;
    let server = program.aaa.servers.get(pending.server)?;
    let (secret, sent) = (server.secret.as_bytes(), &pending.sent);
    let fits = pending.ends == ends && said.id == sent.id;
    if !fits || !said.is_proved(sent.authenticator, secret) {
        return None;
    }
    let is_login = matches!(pending.about, About::Login { .. });
    let of_login = matches!(said.code, code::ACCESS_ACCEPT | code::ACCESS_REJECT);
    if is_login != of_login {
        return None;
    }
    let pending = r.link.radius.pending.remove(&ends.0.port)?;
    let About::Login { place, number, user, proof } = pending.about else { return Some(()) };
    let verdict = match said.code {
        code::ACCESS_ACCEPT => {
            let call = r.link.calls.get(place)?;
            let offer = program.users.offer(&ppp::profile_of(r, call));
            let accepted = accepted(r, now, said, offer, &user);
            Ok((accepted, pass(said, &proof, secret, &pending.sent.authenticator)))
        }
        _ => Err(Refusal::Wrong),
    };
    answer(r, now, place, number, &user, verdict);
    Some(())
}

/// What somebody gets of whom a server says so.
fn accepted(r: &mut Router, now: Moment, said: &Packet, mut offer: Offer, user: &str) -> Offer {
    let terms = Arc::make_mut(&mut offer.terms);
    terms.by_radius = true;
    match said.number(is::FRAMED_IP_ADDRESS) {
        // The router is to choose, or he may.
        None | Some(0xffff_fffe | 0xffff_ffff) => {
            if let Some(pool) = said.text(is::FRAMED_POOL) {
                offer.remote = Whence::Pool(pool);
            }
        }
        Some(address) => offer.remote = Whence::Address(address),
    }
    let seconds = |kind| said.number(kind).map(|n| Duration::from_secs(n.into()));
    terms.session_timeout = seconds(is::SESSION_TIMEOUT).or(terms.session_timeout);
    terms.idle_timeout = seconds(is::IDLE_TIMEOUT).or(terms.idle_timeout);
    terms.interim = seconds(is::ACCT_INTERIM_INTERVAL);
    terms.class = said.get(is::CLASS).map(<[u8]>::to_vec);
    for name in said.all(is::FILTER_ID) {
        let name = String::from_utf8_lossy(name);
        let (chain, ways) = match name.rsplit_once('.') {
            Some((chain, "in")) => (chain, 0..1),
            Some((chain, "out")) => (chain, 1..2),
            _ => (&*name, 0..2),
        };
        terms.filters[ways].fill(Some(chain.to_string()));
    }
    let own = |kind| said.vendor(mikrotik::VENDOR, kind);
    let text = |kind| own(kind).map(|value| String::from_utf8_lossy(value).into_owned());
    terms.address_list = text(mikrotik::ADDRESS_LIST).or(terms.address_list.take());
    for (limit, kind) in terms.limits.iter_mut().zip([mikrotik::RECV_LIMIT, mikrotik::XMIT_LIMIT]) {
        let bytes = own(kind).and_then(|value| value.try_into().ok()).map(u32::from_be_bytes);
        *limit = bytes.map_or(*limit, u64::from);
    }
    let dns = [microsoft::PRIMARY_DNS, microsoft::SECONDARY_DNS];
    for (to, kind) in terms.dns.iter_mut().zip(dns) {
        let told = said.vendor(microsoft::VENDOR, kind).and_then(|value| value.try_into().ok());
        *to = told.map_or(*to, u32::from_be_bytes);
    }
    let mut wrong = Vec::new();
    match text(mikrotik::RATE_LIMIT).map(|line| Rate::read(&line)) {
        Some(Ok(rate)) => terms.rate = Some(rate),
        Some(Err(why)) => wrong.push(why),
        None => {}
    }
    for route in said.all(is::FRAMED_ROUTE) {
        match routes(&String::from_utf8_lossy(route)) {
            Ok(routes) => terms.routes.extend(routes),
            Err(why) => wrong.push(why),
        }
    }
    for why in wrong {
        r.stats.log.say(now, "radius,error", &format!("user {user}: {why}"));
    }
    let given = &mut r.link.radius.given;
    match given.iter().find(|given| **given == offer.terms) {
        Some(same) => offer.terms = same.clone(),
        None => {
            given.push_front(offer.terms.clone());
            given.truncate(TARIFFS);
        }
    }
    offer
}

/// What an accepted proof leaves: the server's own proof, and the keys.
fn pass(said: &Packet, proof: &Proof, secret: &[u8], authenticator: &[u8; 16]) -> Pass {
    let own = |kind| said.vendor(microsoft::VENDOR, kind);
    let key = |kind| radius::mppe_key(own(kind)?, secret, authenticator);
    let keys = match proof {
        Proof::Mschap2 { .. } => {
            let keys = (key(microsoft::MPPE_SEND_KEY), key(microsoft::MPPE_RECV_KEY));
            match keys {
                (Some(send), Some(receive)) => Some(Keys { send, receive, has_short: true }),
                _ => None,
            }
        }
        Proof::Mschap1 { challenge, .. } => own(microsoft::CHAP_MPPE_KEYS).and_then(|hidden| {
            let shown = radius::show(hidden, secret, authenticator);
            let twice: [u8; 16] = shown.get(8..24)?.try_into().ok()?;
            Some(mschap::keys_v1_of(&twice, challenge))
        }),
        _ => None,
    };
    let message = own(microsoft::CHAP2_SUCCESS).and_then(|value| value.get(1..));
    let message = message.map_or(String::new(), |text| String::from_utf8_lossy(text).into_owned());
    Pass { message, keys }
}

/// A server wants a session to end (RFC 5176); `None` if it is none of ours.
fn disconnect(r: &mut Router, now: Moment, ends: (End, End), said: &Packet) -> Option<()> {
    let program = r.program.clone();
    let mut servers = program.aaa.servers.iter();
    let of = |server: &&Server| {
        server.address == ends.1.address && said.is_proved([0; 16], server.secret.as_bytes())
    };
    let server = servers.find(of).filter(|_| program.aaa.incoming == Some(ends.0.port))?;
    let user = said.text(is::USER_NAME);
    let session = said.text(is::ACCT_SESSION_ID);
    let address = said.number(is::FRAMED_IP_ADDRESS);
    let named = user.is_some() || session.is_some() || address.is_some();
    let is_meant = |call: &Call| {
        let own = format!("81{:06x}", call.number & 0x00ff_ffff);
        named
            && call.is_open()
            && !call.is_client()
            && user.as_ref().is_none_or(|user| call.user() == user)
            && session.as_ref().is_none_or(|session| *session == own)
            && address.is_none_or(|address| call.machine.addresses().1 == address)
    };
    let places = r.link.calls.places();
    let meant = places.into_iter().filter(|&at| r.link.calls.get(at).is_some_and(is_meant));
    let meant: Vec<usize> = meant.collect();
    let code = if meant.is_empty() { code::DISCONNECT_NAK } else { code::DISCONNECT_ACK };
    let mut reply = Packet::new(code, said.id, [0; 16]);
    if meant.is_empty() {
        // There is no such session (RFC 5176 §3.5).
        reply.put_number(is::ERROR_CAUSE, 503);
    }
    for place in meant {
        ppp::close(r, now, place, Over::Disconnected);
    }
    let bytes = reply.write_answer(said.authenticator, server.secret.as_bytes());
    datagram::send(r, now, ends, &bytes);
    Some(())
}

/// Asks again, and others. Returns when something is due next, if that is before `due`.
pub(super) fn tick(r: &mut Router, now: Moment, mut due: Moment) -> Moment {
    if r.link.radius.pending.is_empty() {
        return due;
    }
    let program = r.program.clone();
    let late = r.link.radius.pending.iter().filter(|(_, pending)| now >= pending.due);
    let late: Vec<u16> = late.map(|(port, _)| *port).collect();
    for port in late {
        let Some(mut pending) = r.link.radius.pending.remove(&port) else { continue };
        match program.aaa.servers.get(pending.server) {
            Some(server) if pending.tries < TRIES => {
                (pending.tries, pending.due) = (pending.tries + 1, now + server.timeout);
                datagram::send(r, now, pending.ends, &bytes(&pending.sent, server));
                r.link.radius.pending.insert(port, pending);
            }
            _ => {
                pending.server += 1;
                go_on(r, now, pending);
            }
        }
    }
    for pending in r.link.radius.pending.values() {
        due = due.min(pending.due);
    }
    due
}
