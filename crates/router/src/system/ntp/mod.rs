//! `/system ntp`: the time of day by SNTP (RFC 4330), asked of others, and told to others.
//!
//! ```text
//! servers, one after the other ─ a question through OUTPUT ─► an answer in LOCAL IN ─► /system clock
//!     ▲ nobody answers in 2 s, or it does not know          64 s, later 1024 s ─┐
//!     └──────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! An answer is believed if it comes from where was asked and brings back a number that nobody could
//! guess. Servers that a DHCP client was told (`use-peer-ntp`) are asked in place of those typed. What it corrects, to the second, is the clock that the router shows, writes into its log and
//! asks for rules with `time`; never the host's. Names are asked of the router's own resolver.
//!
//! The server tells what the clock shows: one stratum above whom the client believes, or, with
//! `use-local-clock`, at a stratum of its own; else that it does not know.
//!
//! **Missing**: slewing (the clock jumps), broadcast, authentication, IPv6.

pub(crate) mod menu;

use crate::discard::Discard;
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::{lookup, own_address};
use crate::packet::Packet;
use crate::router::Router;
use crate::story::Event;
use std::time::Duration;
use wire::Moment;
use wire::layers::protocol;
use wire::ntp::{self, Answer, Known};

/// How long to wait for an answer, and for a name.
const PATIENCE: Duration = Duration::from_secs(2);
/// Until all are asked anew, when nobody has answered.
const PAUSE: Duration = Duration::from_secs(16);
/// How often it is asked: at first, and when nothing was wrong for long.
const POLL: (Duration, Duration) = (Duration::from_secs(64), Duration::from_secs(1024));
/// Ports that questions leave from.
const PORTS: std::ops::Range<u64> = 49_152..65_536;

/// A server, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Address(u32),
    Name(String),
}

/// `/system ntp client`, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) enabled: bool,
    pub(crate) servers: Vec<Server>,
}

/// `/system ntp server`, compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Serving {
    pub(crate) enabled: bool,
    /// The stratum of its own clock, where nobody else is believed.
    pub(crate) local: Option<u8>,
}

/// A question under way.
#[derive(Clone, Debug)]
struct Asked {
    ends: (End, End),
    cookie: u64,
    at: Moment,
}

/// What was said last.
#[derive(Clone, Copy, Debug)]
struct Synced {
    server: u32,
    stratum: u8,
    at: Moment,
    /// Nanoseconds that the clock was behind.
    offset: i64,
}

/// What the client knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// The server to ask, by place.
    place: usize,
    /// How many did not answer, one after the other.
    silent: usize,
    asked: Option<Asked>,
    due: Option<Moment>,
    poll: Duration,
    synced: Option<Synced>,
}

/// The settings have changed: all begins anew, but for the clock.
pub(crate) fn adopt(r: &mut Router, now: Moment) {
    let due = r.program.system.ntp.enabled.then_some(now);
    r.services.ntp = Client { due, poll: POLL.0, ..Client::default() };
    r.services.due = now;
}

/// Asks if that is due; returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    if r.services.ntp.due.is_none_or(|due| now < due) {
        return r.services.ntp.due;
    }
    let told = r.dynamic_times().into_iter().map(Server::Address).collect::<Vec<_>>();
    let program = r.program.clone();
    let servers = if told.is_empty() { &program.system.ntp.servers } else { &told };
    if servers.is_empty() {
        r.services.ntp.due = None;
        return None;
    }
    if r.services.ntp.asked.take().is_some() {
        next_server(r, now, servers.len());
    }
    if r.services.ntp.due.is_some_and(|due| due <= now) {
        ask(r, now, &servers[r.services.ntp.place % servers.len()]);
    }
    r.services.ntp.due
}

/// The one that was asked is of no use.
fn next_server(r: &mut Router, now: Moment, all: usize) {
    let client = &mut r.services.ntp;
    (client.place, client.silent) = ((client.place + 1) % all, client.silent + 1);
    if client.silent >= all {
        client.silent = 0;
        client.due = Some(now + PAUSE);
    }
}

fn ask(r: &mut Router, now: Moment, server: &Server) {
    r.services.ntp.due = Some(now + PATIENCE);
    let none = End { address: 0, port: 0 };
    let cookie = r.services.dice.throw();
    r.services.ntp.asked = Some(Asked { ends: (none, none), cookie, at: now });
    let address = match server {
        Server::Address(address) => Some(*address),
        // If it is not known yet, it may be when the server has its turn again.
        Server::Name(name) => lookup(r, now, name),
    };
    let Some((address, own)) = address.and_then(|to| Some((to, own_address(r, to)?))) else {
        return;
    };
    let port = (PORTS.start + r.services.dice.throw() % (PORTS.end - PORTS.start)) as u16;
    let ends = (End { address: own, port }, End { address, port: ntp::PORT });
    r.services.ntp.asked = Some(Asked { ends, cookie, at: now });
    datagram::send(r, now, ends, &ntp::question(cookie));
}

/// Whether a packet may be an answer.
pub(crate) fn is_asked(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    let from = End { address: tuple.src, port: tuple.src_port };
    let to = End { address: tuple.dst, port: tuple.dst_port };
    tuple.protocol == protocol::UDP
        && r.services.ntp.asked.as_ref().is_some_and(|asked| asked.ends == (to, from))
}

/// An answer has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let answer = r.datagram(&p).and_then(ntp::read);
    let asked = r.services.ntp.asked.as_ref();
    let Some((answer, asked)) =
        answer.zip(asked.cloned()).filter(|(answer, asked)| answer.origin == asked.cookie)
    else {
        return r.discard(p, Discard::BadNtp);
    };
    r.tell(|| Event::Local);
    r.consume(p);
    r.services.due = now;
    if answer.alarm || !(1..16).contains(&answer.stratum) {
        // It does not know, or does not want to be asked: it has its turn when the others had theirs.
        r.services.ntp.due = Some(now);
        return;
    }
    let client = &mut r.services.ntp;
    client.asked = None;
    client.silent = 0;
    correct(r, now, &asked, &answer);
}

/// Whether a packet is a question to the server.
pub(crate) fn is_served(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    let serves = r.program.system.serving.enabled;
    serves && tuple.protocol == protocol::UDP && tuple.dst_port == ntp::PORT
}

/// A question has come to LOCAL IN.
pub(crate) fn serve(r: &mut Router, now: Moment, p: Packet) {
    let unix =
        |at: Moment| r.rules.clock.zero.saturating_mul(1_000_000_000).saturating_add(at.as_nanos());
    let serving = &r.program.system.serving;
    let known = match (&r.services.ntp.synced, serving.local) {
        (Some(synced), _) if synced.stratum < 15 => Known {
            stratum: synced.stratum + 1,
            reference: synced.server.to_be_bytes(),
            set: unix(synced.at),
        },
        (_, Some(stratum)) => Known { stratum, reference: *b"LOCL", set: unix(now) },
        _ => Known { stratum: 0, reference: *b"INIT", set: 0 },
    };
    let answer = r.datagram(&p).and_then(|asks| ntp::answer(asks, &known, unix(now)));
    let Some(answer) = answer else { return r.discard(p, Discard::BadNtp) };
    let tuple = p.layers.tuple;
    r.tell(|| Event::Local);
    r.consume(p);
    datagram::answer(r, now, &tuple, &answer);
}

/// Sets the clock right.
fn correct(r: &mut Router, now: Moment, asked: &Asked, answer: &Answer) {
    let zero = i128::from(r.rules.clock.zero) * 1_000_000_000;
    // RFC 5905 §8: half of what both ways seem to be apart.
    let [left, back] = [asked.at, now].map(|at| zero + i128::from(at.as_nanos()));
    let (came, went) = (i128::from(answer.received), i128::from(answer.sent));
    let offset = ((came - left) + (went - back)) / 2;
    let seconds = (offset + offset.signum() * 500_000_000) / 1_000_000_000;
    let zero = i128::from(r.rules.clock.zero) + seconds;
    if let Ok(zero) = u64::try_from(zero)
        && seconds != 0
    {
        r.set_clock(zero);
        let text = format!("clock changed by {seconds} s");
        r.stats.log.say(now, "ntp,info", &text);
    }
    let client = &mut r.services.ntp;
    client.poll = match seconds {
        0 => (client.poll * 2).min(POLL.1),
        _ => POLL.0,
    };
    client.due = Some(now + client.poll);
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    let (server, stratum) = (asked.ends.1.address, answer.stratum);
    client.synced = Some(Synced { server, stratum, at: now, offset });
}
