//! Queries answered and passed on, and the responses that are awaited.
//!
//! ```text
//! query ─► typed? ─► kept? ─► asked already? wait with the first
//!                          └► ask: a server, an id and a port by the dice ─► 2 s ─► the next server
//! response ─► from there, to that port, with that id, of that question? ─► kept, passed on, and its
//!              addresses into the lists that `/ip dns static` names
//! ```
//!
//! Answers nobody who has not asked; asks no more than `max-concurrent-queries` at a time. A response
//! never leaves in pieces: what is too long for the asker or a frame is marked as truncated.

use super::cache::{Cache, Key};
use super::menu::{self, DNS};
use super::names::{self, List};
use super::typed::{Record, Typed, server};
use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::ip::address;
use crate::ip::datagram;
use crate::ip::family::Block;
use crate::ip::route::Target;
use crate::ipv6;
use crate::packet::Packet;
use crate::program::Program;
use crate::router::Router;
use crate::story::{Event, Made};
use config::Tree;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use wire::Moment;
use wire::dns::{self, Message, PLAIN_LEN, code, flag, kind};
use wire::layers::{ETHERTYPE_IPV6, protocol};

/// What fits a frame, beside the headers: RFC 9715's advice against fragments.
const MAX_LEN: usize = 1400;
/// Who asks the same at once.
const MAX_WAITERS: usize = 16;
/// Ports that queries leave from.
const PORTS: std::ops::Range<u64> = 1024..65536;
/// Kinds that ask for whole zones, which is done by TCP.
const ZONES: std::ops::RangeInclusive<u16> = 251..=252;

/// `/ip dns`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) servers: Vec<IpAddr>,
    remote: bool,
    max_len: usize,
    server_timeout: Duration,
    total_timeout: Duration,
    max_queries: usize,
    pub(super) cache_bytes: usize,
    max_ttl: Duration,
    pub(crate) typed: Typed,
}

impl Settings {
    pub(crate) fn compile(tree: &Tree) -> Settings {
        let read = tree.read_settings(&DNS);
        Settings {
            servers: read.list("servers").iter().filter_map(server).collect(),
            remote: read.bool("allow-remote-requests"),
            max_len: (read.number("max-udp-packet-size") as usize).min(MAX_LEN),
            server_timeout: read.time("query-server-timeout").max(Duration::from_millis(100)),
            total_timeout: read.time("query-total-timeout").max(Duration::from_millis(100)),
            max_queries: read.number("max-concurrent-queries") as usize,
            cache_bytes: menu::bytes(&read.text("cache-size")),
            max_ttl: read.time("cache-max-ttl"),
            typed: Typed::compile(tree),
        }
    }
}

/// Somebody who has asked.
#[derive(Clone, Debug)]
struct Waiter {
    from: SocketAddr,
    /// Whom it has asked: the answer comes from there.
    to: SocketAddr,
    id: u16,
    flags: u16,
    /// The question in its own spelling.
    question: Vec<u8>,
    /// With EDNS: how long an answer it takes.
    edns: Option<u16>,
    /// What is typed of the name it has asked for: that it stands for another.
    before: Vec<Record>,
}

/// A question that a server is asked.
#[derive(Clone, Debug)]
struct Pending {
    key: Key,
    id: u16,
    /// Ours and the server's.
    ends: (SocketAddr, SocketAddr),
    /// Whom to ask, if not those who are asked for everything.
    servers: Vec<IpAddr>,
    /// Address lists that the answer's addresses go to.
    lists: Vec<List>,
    /// How many servers were asked.
    tries: usize,
    due: Moment,
    end: Moment,
    waiters: Vec<Waiter>,
}

/// What is kept between packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolver {
    pub(super) cache: Cache,
    pending: Vec<Pending>,
    /// The server that has answered last, by place.
    good: usize,
}

/// Whether a packet is for the resolver: a query, or a response that may be awaited.
pub(crate) fn is_asked(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    let query = tuple.dst_port == dns::PORT && r.program.dns.remote;
    tuple.protocol == protocol::UDP && (query || awaited(r, p).is_some())
}

fn awaited(r: &Router, p: &Packet) -> Option<usize> {
    let (from, to) = datagram::ends(p);
    r.services.resolver.pending.iter().position(|pending| pending.ends == (to, from))
}

/// A query or a response has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let payload = match p.layers.ether_type {
        ETHERTYPE_IPV6 => ipv6::datagram::payload(r, &p),
        _ => r.datagram(&p),
    };
    let bytes = payload.map(<[u8]>::to_vec).unwrap_or_default();
    let Some(read) = Message::read(&bytes) else { return r.discard(p, Discard::BadDns) };
    let done = match awaited(r, &p) {
        Some(place) => response(r, now, place, bytes, read),
        None => query(r, now, &p, &bytes, &read),
    };
    match done {
        Some(()) => r.consume(p),
        None => r.discard(p, Discard::BadDns),
    }
    r.services.due = now;
}

/// A query; `None` if it is none.
fn query(r: &mut Router, now: Moment, p: &Packet, bytes: &[u8], read: &Message) -> Option<()> {
    if read.flags & flag::RESPONSE != 0 {
        return None;
    }
    let (from, to) = datagram::ends(p);
    let mut waiter = Waiter {
        from,
        to,
        id: read.id,
        flags: read.flags,
        question: bytes[12..read.question_end].to_vec(),
        edns: read.edns.as_ref().map(|(len, _)| *len),
        before: Vec::new(),
    };
    if !read.is_query() || ZONES.contains(&read.kind) {
        let answer = dns::response(bytes, read, code::NOT_IMPLEMENTED, &[]);
        answer_with(r, now, &waiter, &answer);
        return Some(());
    }
    let program = r.program.clone();
    let mut key = (read.name.clone(), read.kind);
    let (mut servers, mut lists) = (Vec::new(), Vec::new());
    if let Some(known) = program.dns.typed.find(&read.name, read.kind) {
        let Some(other) = known.open else {
            let said = known.records.iter();
            let said: Vec<_> = said.map(|(_, kind, ttl, data)| (*kind, *ttl, &data[..])).collect();
            enter(r, now, &known.lists, &said);
            let answer = dns::response(bytes, read, known.code, &known.records);
            answer_with(r, now, &waiter, &answer);
            return Some(());
        };
        (key.0, waiter.before) = (other, known.records);
        (servers, lists) = (known.servers, known.lists);
    }
    if let Some(kept) = r.services.resolver.cache.get(now, &key) {
        let answer = kept.now(now, program.dns.max_ttl);
        if !lists.is_empty()
            && let Some(read) = Message::read(&answer)
        {
            enter(r, now, &lists, &said(&answer, &read));
        }
        answer_with(r, now, &waiter, &answer);
        return Some(());
    }
    if let Some(same) = pending_of(r, &key, &lists) {
        if same.waiters.len() < MAX_WAITERS {
            same.waiters.push(waiter);
        }
        return Some(());
    }
    if let Some(pending) = begin(r, now, key, servers, lists, vec![waiter]) {
        fail(r, now, &pending);
    }
    Some(())
}

/// The question that is under way already; its answer's addresses go to these lists, too.
fn pending_of<'r>(r: &'r mut Router, key: &Key, lists: &[List]) -> Option<&'r mut Pending> {
    let all = &mut r.services.resolver.pending;
    let same = all.iter_mut().find(|other| other.key == *key)?;
    for list in lists {
        if !same.lists.contains(list) {
            same.lists.push(list.clone());
        }
    }
    Some(same)
}

/// Asks a server; gives the question back where none can be asked.
fn begin(
    r: &mut Router,
    now: Moment,
    key: Key,
    servers: Vec<IpAddr>,
    lists: Vec<List>,
    waiters: Vec<Waiter>,
) -> Option<Pending> {
    let program = r.program.clone();
    let (end, none) = (now + program.dns.total_timeout, SocketAddr::from(([0; 4], 0)));
    let ends = (none, none);
    let mut pending =
        Pending { key, id: 0, ends, servers, lists, tries: 0, due: now, end, waiters };
    let room = r.services.resolver.pending.len() < program.dns.max_queries;
    if !room || !ask(r, now, &program, &mut pending) {
        return Some(pending);
    }
    r.services.resolver.pending.push(pending);
    None
}

/// What is known of a name, record by record; if that is nothing yet, name servers are asked, and it is
/// a little later.
pub(super) fn known(
    r: &mut Router,
    now: Moment,
    name: &str,
    kind: u16,
    to: Option<&List>,
) -> Option<Vec<(u16, u32, Vec<u8>)>> {
    let program = r.program.clone();
    let mut key = (name.to_ascii_lowercase(), kind);
    let (mut servers, mut lists) = (Vec::new(), Vec::new());
    if let Some(known) = program.dns.typed.find(&key.0, kind) {
        let Some(other) = known.open else {
            let said = known.records.into_iter();
            return Some(said.map(|(_, kind, ttl, data)| (kind, ttl, data)).collect());
        };
        (key.0, servers, lists) = (other, known.servers, known.lists);
    }
    if let Some(kept) = r.services.resolver.cache.get(now, &key) {
        let answer = kept.now(now, program.dns.max_ttl);
        let read = Message::read(&answer)?;
        let said = said(&answer, &read).into_iter();
        return Some(said.map(|(kind, ttl, data)| (kind, ttl, data.to_vec())).collect());
    }
    lists.extend(to.cloned());
    if pending_of(r, &key, &lists).is_none() {
        begin(r, now, key, servers, lists, Vec::new());
    }
    None
}

/// The address of a name, for the router itself; if it is not known yet, it is a little later.
pub(crate) fn lookup(r: &mut Router, now: Moment, name: &str) -> Option<u32> {
    let records = known(r, now, name, kind::A, None)?;
    let (.., data) = records.iter().find(|(kind, ..)| *kind == kind::A)?;
    data.as_slice().try_into().ok().map(u32::from_be_bytes)
}

/// The servers to ask, in order, but for the router itself.
fn servers(r: &Router, program: &Program) -> Vec<IpAddr> {
    let mut servers = r.all_name_servers();
    servers.retain(|&server| !is_own(program, server));
    servers
}

fn is_own(program: &Program, server: IpAddr) -> bool {
    match server {
        IpAddr::V4(server) => program.is_local(server.into()),
        IpAddr::V6(server) => program.v6.routes.is_own(server.into()),
    }
}

/// Asks the next server; no if there is none, or no way to any.
fn ask(r: &mut Router, now: Moment, program: &Program, pending: &mut Pending) -> bool {
    let mut servers = servers(r, program);
    let mut first = r.services.resolver.good;
    if !pending.servers.is_empty() {
        let others = pending.servers.iter().filter(|&&server| !is_own(program, server));
        (servers, first) = (others.copied().collect(), 0);
    }
    for _ in 0..servers.len() {
        let server = servers[(first + pending.tries) % servers.len()];
        pending.tries += 1;
        let own = match server {
            IpAddr::V4(to) => own_address(r, to.into()).map(|own| Ipv4Addr::from(own).into()),
            IpAddr::V6(to) => {
                let own = ipv6::datagram::own_address(r, to.into());
                own.map(|own| Ipv6Addr::from(own).into())
            }
        };
        let Some::<IpAddr>(own) = own else { continue };
        let dice = r.services.dice.throw();
        let port = PORTS.start + (dice >> 16) % (PORTS.end - PORTS.start);
        pending.id = dice as u16;
        pending.ends = ((own, port as u16).into(), (server, dns::PORT).into());
        pending.due = (now + program.dns.server_timeout).min(pending.end);
        let (name, kind) = &pending.key;
        let max_len = program.dns.max_len as u16;
        let Some(bytes) = dns::query(pending.id, name, *kind, max_len) else { return false };
        send(r, now, pending.ends, &bytes);
        return true;
    }
    false
}

/// The router's address toward a server; `None` if no route leads there.
pub(crate) fn own_address(r: &Router, toward: u32) -> Option<u32> {
    let (routes, addresses) = (&r.v4.routes, &r.program.addresses);
    let own = match routes.target(routes.lookup(toward))? {
        Target::Connected(interface) => address::source(addresses, *interface, toward),
        Target::Gateways(ways) => {
            let (interface, gateway) = *ways.first()?;
            address::source(addresses, interface, gateway)
        }
        _ => return None,
    };
    routes.pref_src(Mark::NONE, toward).or(own)
}

/// A response to what was asked; `None` if it is not that.
fn response(
    r: &mut Router,
    now: Moment,
    place: usize,
    mut bytes: Vec<u8>,
    read: Message,
) -> Option<()> {
    let resolver = &mut r.services.resolver;
    let pending = &resolver.pending[place];
    let asked = dns::name_bytes(&pending.key.0)?.len() + 4;
    let is_it = read.flags & flag::RESPONSE != 0
        && read.id == pending.id
        && (&read.name, read.kind, read.class) == (&pending.key.0, pending.key.1, dns::INTERNET)
        // A name that points elsewhere is no question of ours.
        && read.question_end == 12 + asked;
    if !is_it {
        return None;
    }
    let pending = resolver.pending.swap_remove(place);
    let read = without_edns(&mut bytes, read)?;
    let servers = r.all_name_servers();
    let good = servers.iter().position(|&server| server == pending.ends.1.ip());
    if pending.servers.is_empty() {
        r.services.resolver.good = good.unwrap_or(0);
    }
    enter(r, now, &pending.lists, &said(&bytes, &read));
    for waiter in &pending.waiters {
        answer_with(r, now, waiter, &bytes);
    }
    let program = r.program.clone();
    let (max_ttl, max_bytes) = (program.dns.max_ttl, program.dns.cache_bytes);
    r.services.resolver.cache.put(now, (bytes, read), max_ttl, max_bytes);
    Some(())
}

/// What the answers of a response say: the kind, TTL and data of each.
fn said<'b>(bytes: &'b [u8], read: &Message) -> Vec<(u16, u32, &'b [u8])> {
    let answers = read.records.iter().take(read.answers);
    let data = |record: &dns::Record| bytes.get(record.data.clone());
    answers.filter_map(|record| Some((record.kind, record.ttl, data(record)?))).collect()
}

/// Enters the addresses that are answered into address lists, for as long as they may be believed.
pub(super) fn enter(r: &mut Router, now: Moment, lists: &[List], said: &[(u16, u32, &[u8])]) {
    for list in lists {
        for (kind, ttl, data) in said {
            let time = list.time(*ttl);
            match *kind {
                kind::A if list.is_for(kind::A) => {
                    let Ok(bytes) = (*data).try_into() else { continue };
                    let address = Block::host(u32::from_be_bytes(bytes));
                    r.rules.lists.add(&list.name, address, Some(time), now);
                }
                kind::AAAA if list.is_for(kind::AAAA) => {
                    let Ok(bytes) = (*data).try_into() else { continue };
                    let address = Block::host(u128::from_be_bytes(bytes));
                    r.rules.lists6.add(&list.name, address, Some(time), now);
                }
                _ => {}
            }
        }
        r.services.names.entered(now, list, said);
    }
    if !lists.is_empty() {
        r.follow_lists();
    }
}

/// Takes EDNS's record off, and whatever stands behind it.
fn without_edns(bytes: &mut Vec<u8>, mut read: Message) -> Option<Message> {
    bytes.truncate(read.end);
    let Some((_, range)) = read.edns.take() else { return Some(read) };
    let place = read.records.iter().position(|record| record.kind == kind::OPT)?;
    // It stands among the additional records, or the message is none.
    let left = place.checked_sub(read.before_additional)? as u16;
    bytes.truncate(range.start);
    bytes.get_mut(10..12)?.copy_from_slice(&left.to_be_bytes());
    read.records.truncate(place);
    Some(read)
}

/// Gives a response to one who has asked: with its own number, in its own spelling.
fn answer_with(r: &mut Router, now: Moment, waiter: &Waiter, response: &[u8]) {
    let together = match waiter.before.is_empty() {
        true => None,
        false => Message::read(response).and_then(|read| join(waiter, response, &read)),
    };
    let mut bytes = together.unwrap_or_else(|| response.to_vec());
    let question_end = 12 + waiter.question.len();
    let Some(head) = bytes.get_mut(..question_end) else { return };
    let flags = u16::from_be_bytes([head[2], head[3]]);
    let asked = waiter.flags & (flag::RECURSE | flag::OPCODE);
    let flags = flag::RESPONSE | flag::RECURSES | asked | flags & (flag::CODE | flag::TRUNCATED);
    head[..2].copy_from_slice(&waiter.id.to_be_bytes());
    head[2..4].copy_from_slice(&flags.to_be_bytes());
    head[12..].copy_from_slice(&waiter.question);
    let most = r.program.dns.max_len.max(PLAIN_LEN);
    let max = waiter.edns.map_or(PLAIN_LEN, |len| usize::from(len).clamp(PLAIN_LEN, most));
    let edns = dns::edns(most as u16);
    let opt = if waiter.edns.is_some() { &edns[..] } else { &[] };
    if bytes.len() + opt.len() > max {
        bytes.truncate(question_end);
        bytes[2..4].copy_from_slice(&(flags | flag::TRUNCATED).to_be_bytes());
        bytes[6..12].fill(0);
    }
    if !opt.is_empty() {
        let additional = u16::from_be_bytes([bytes[10], bytes[11]]).saturating_add(1);
        bytes[10..12].copy_from_slice(&additional.to_be_bytes());
        bytes.extend(opt);
    }
    send(r, now, (waiter.to, waiter.from), &bytes);
}

/// What was typed of the name that was asked for, and what is said of the one that it stands for.
fn join(waiter: &Waiter, response: &[u8], read: &Message) -> Option<Vec<u8>> {
    let mut records = waiter.before.clone();
    for record in read.records.iter().take(read.answers) {
        let data = match record.kind {
            kind::CNAME => dns::name_bytes(&dns::read_name(response, record.data.start)?.0)?,
            kind::MX => {
                let (name, _) = dns::read_name(response, record.data.start + 2)?;
                let preference = response.get(record.data.start..record.data.start + 2)?;
                [preference, &dns::name_bytes(&name)?].concat()
            }
            kind::A | kind::AAAA | kind::TXT => response.get(record.data.clone())?.to_vec(),
            // Others may hold names that point into the message.
            _ => continue,
        };
        records.push((record.name.clone(), record.kind, record.ttl, data));
    }
    let question = bare(waiter);
    let asked = Message::read(&question)?;
    Some(dns::response(&question, &asked, read.code(), &records))
}

/// A message that is the waiter's question alone.
fn bare(waiter: &Waiter) -> Vec<u8> {
    [&[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], &waiter.question[..]].concat()
}

/// Tells all who wait that there is no answer.
fn fail(r: &mut Router, now: Moment, pending: &Pending) {
    for waiter in &pending.waiters {
        let mut bytes = bare(waiter);
        bytes[3] = code::SERVER_FAILURE as u8;
        answer_with(r, now, waiter, &bytes);
    }
}

fn send(r: &mut Router, now: Moment, ends: (SocketAddr, SocketAddr), payload: &[u8]) {
    r.tell(|| Event::Makes(Made::Dns));
    datagram::send_between(r, now, ends, payload);
    r.tell(|| Event::Done);
}

/// Does what is due: other servers are asked, what has ended is forgotten. Returns when something is
/// due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let program = r.program.clone();
    let all = std::mem::take(&mut r.services.resolver.pending);
    for mut pending in all {
        let goes_on = now < pending.due || now < pending.end && ask(r, now, &program, &mut pending);
        match goes_on {
            true => r.services.resolver.pending.push(pending),
            false => fail(r, now, &pending),
        }
    }
    let (kept, names) = (r.services.resolver.cache.expire(now), names::tick(r, now));
    let pending = r.services.resolver.pending.iter().map(|pending| pending.due);
    pending.chain(kept).chain(names).min()
}

/// The settings have changed.
pub(crate) fn adopt(r: &mut Router, now: Moment) {
    let max_bytes = r.program.dns.cache_bytes;
    // What is kept of names that others are asked for now is not theirs.
    if r.program.dns.typed.any_forward {
        r.services.resolver.cache.flush();
    }
    r.services.resolver.cache.shrink(max_bytes);
    r.services.due = now;
}

impl Router {
    /// The name servers of IPv4 that are asked: those typed, and those that DHCP clients and sessions
    /// were told.
    pub(crate) fn name_servers(&self) -> Vec<u32> {
        let servers = self.all_name_servers().into_iter();
        let of_ipv4 = servers.filter_map(|server| match server {
            IpAddr::V4(server) => Some(server.into()),
            IpAddr::V6(_) => None,
        });
        of_ipv4.collect()
    }

    /// The same of both families, those last that DHCPv6 and other routers have told.
    fn all_name_servers(&self) -> Vec<IpAddr> {
        let mut servers = self.program.dns.servers.clone();
        servers.extend(self.told_servers());
        servers
    }

    /// Those that the router was told.
    pub(super) fn told_servers(&self) -> Vec<IpAddr> {
        let told = self.dynamic_servers().into_iter().map(|at| Ipv4Addr::from(at).into());
        let told6 = ipv6::dhcp::dns_servers(self).into_iter().map(|at| Ipv6Addr::from(at).into());
        told.chain(told6).collect()
    }
}
