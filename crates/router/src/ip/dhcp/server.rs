//! `/ip dhcp-server`: what clients say, and what they are answered (RFC 2131 §4.3).
//!
//! ```text
//! discover ─► [choose] ─┬─ ARP asks first ─► (tick) ─► offer
//!                       └─ known ─────────────────────► offer
//! request  ─► is it the client's? ─► ack, nak, silence
//! decline ─► conflict    release ─► free    inform ─► ack without an address
//! ```
//!
//! A relay's clients have the server that is for it: their addresses are of the network that the relay's
//! address is in, and answers go to the relay by the routes (RFC 1542 §4.1, RFC 3046).
//!
//! An offer that is not taken ends after half a minute. When a pool is used up, and when there are more
//! leases than [`MAX`], clients are not answered.

use super::lease::{Lease, MAX, Probe, Second, State, Who};
use super::relay;
use super::settings::{Custom, Server, Typed};
use crate::discard::Discard;
use crate::flow::{self, Hop};
use crate::interface::InterfaceId;
use crate::ip::datagram::{self, End};
use crate::ip::pool::User;
use crate::ip::{arp, icmp, pool};
use crate::packet::Packet;
use crate::program::Program;
use crate::router::Router;
use crate::story::{Event, Made};
use config::ItemId;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::dhcp::{self, Kind, Message, option};
use wire::layers::protocol;
use wire::{Ipv4Prefix, Ipv4Range, MacAddr, Moment};

/// How long an offer stands.
const OFFERED: Duration = Duration::from_secs(30);
/// How long ARP may take to answer.
const PROBE: Duration = Duration::from_millis(300);
/// Probes at once; who comes then asks again.
const MAX_PROBES: usize = 256;
/// The most bytes of options: an answer fits one frame.
const MAX_OPTIONS: usize = 1000;
/// What a relay says of itself and the client (RFC 3046).
const RELAY_INFO: u8 = 82;

/// Whether a packet is for the server on its interface.
pub(crate) fn is_asked(program: &Program, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP
        && tuple.dst_port == dhcp::SERVER_PORT
        && program.dhcp.server_on(p.in_interface).is_some()
}

/// Whether a packet is a question of somebody who has no address yet.
pub(crate) fn is_nobodys(program: &Program, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    let asks = is_asked(program, p) || relay::is_asked(program, p);
    tuple.src == 0 && tuple.dst == u32::MAX && asks
}

/// A message has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let program = r.program.clone();
    let is_whole = |message: &Message| {
        let no_host = message.chaddr.is_multicast() || message.chaddr == MacAddr::default();
        let no_relay = message.giaddr != 0 && !icmp::is_host(message.giaddr);
        message.op == dhcp::REQUEST && !no_relay && !no_host
    };
    let Some(message) = r.datagram(&p).and_then(Message::read).filter(is_whole) else {
        return r.discard(p, Discard::BadDhcp);
    };
    match server_of(r, &program, p.in_interface, &message) {
        Some(server) => {
            hear(r, now, server, &message);
            r.consume(p)
        }
        None => r.discard(p, Discard::NoListener),
    }
}

/// The server of an interface for whom a message is: of those behind a relay the one for it, or for all;
/// of those who have an address and ask for themselves the one who gave it.
fn server_of<'a>(
    r: &Router,
    program: &'a Program,
    interface: InterfaceId,
    message: &Message,
) -> Option<&'a Server> {
    let mut here = program.dhcp.servers.iter().filter(|server| server.interface == interface);
    let gave = |server: &&Server| {
        let held = r.services.leases.of(server.id, &who(message));
        held.is_some_and(|held| held.address == message.ciaddr)
    };
    let first = match (message.giaddr, message.ciaddr) {
        (0, 0) => None,
        (0, _) => here.clone().find(gave),
        (relay, _) => here.clone().find(|server| server.relay == relay),
    };
    let others = if message.giaddr == 0 { 0 } else { u32::MAX };
    first.or_else(|| here.find(|server| server.relay == others))
}

fn hear(r: &mut Router, now: Moment, server: &Server, message: &Message) {
    match message.kind() {
        Some(Kind::Discover) => discover(r, now, server, message),
        Some(Kind::Request) => request(r, now, server, message),
        Some(Kind::Decline) => decline(r, now, server, message),
        Some(Kind::Release) => release(r, now, server, message),
        Some(Kind::Inform) if icmp::is_host(message.ciaddr) => {
            answer(r, now, server, message, Some(Kind::Ack), None);
        }
        None if server.bootp => bootp(r, now, server, message),
        _ => {}
    }
    r.services.due = now;
}

/// Who says it.
fn who(message: &Message) -> Who {
    match message.get(option::CLIENT_ID) {
        Some(id) if !id.is_empty() => Who::Id(id.into()),
        _ => Who::Mac(message.chaddr),
    }
}

/// The typed lease of a client.
fn typed<'a>(program: &'a Program, server: &Server, message: &Message) -> Option<&'a Typed> {
    let id = message.get(option::CLIENT_ID);
    let is_its = |typed: &&Typed| match &typed.client_id {
        Some(known) => id == Some(known),
        None => typed.mac == Some(message.chaddr),
    };
    let served = |typed: &&Typed| typed.server.is_none_or(|id| id == server.id);
    program.dhcp.typed.iter().filter(served).find(is_its)
}

/// Whether an address can be given to anybody.
fn may(program: &Program, address: u32) -> bool {
    icmp::is_host(address)
        && !program.is_local(address)
        && !program.dhcp.typed.iter().any(|typed| typed.address == address)
        && !program.addresses.iter().any(|own| {
            own.network.len() < 31
                && (own.network.bits() == address || own.network.last() == address)
        })
}

fn discover(r: &mut Router, now: Moment, server: &Server, message: &Message) {
    if Duration::from_secs(message.secs.into()) < server.delay {
        return;
    }
    let program = r.program.clone();
    let Some(mut lease) = choose(r, now, &program, server, message) else { return };
    (lease.seen, lease.host_name) = (now.into(), host_name(message, lease.host_name));
    let fresh = lease.state == State::Testing;
    if fresh && server.probes && server.relay == 0 && lease.typed.is_none() {
        let (address, pending) = (lease.address, &r.services.leases.probes);
        let asked = pending.iter().any(|probe| probe.address == address);
        if !asked && pending.len() < MAX_PROBES {
            let message = message.clone();
            let (due, server) = (now + PROBE, server.id);
            let probe = Probe { due, server, address, taken: false, message };
            r.services.leases.probes.push(probe);
            ask(r, now, lease_interface(&program, lease.server), address);
        }
        return r.services.leases.put(lease);
    }
    if lease.state != State::Bound {
        (lease.state, lease.expires) = (State::Offered, (now + OFFERED).into());
    }
    r.services.leases.put(lease.clone());
    answer(r, now, server, message, Some(Kind::Offer), Some(&lease));
}

/// What a client is offered: its typed lease, the one it has, what it asks for, whatever is free.
fn choose(
    r: &mut Router,
    now: Moment,
    program: &Program,
    server: &Server,
    message: &Message,
) -> Option<Lease> {
    let who = who(message);
    let services = &mut r.services;
    let (typed, user) = (typed(program, server, message), User::Client(message.chaddr));
    let held = services.leases.of(server.id, &who).cloned();
    let new = |address, typed: Option<&Typed>| Lease {
        server: server.id,
        who: who.clone(),
        mac: message.chaddr,
        address,
        state: State::Testing,
        expires: (now + OFFERED).into(),
        seen: now.into(),
        host_name: Box::default(),
        typed: typed.map(|typed| typed.id),
    };
    if let Some(typed) = typed {
        if typed.blocked {
            return None;
        }
        if let Some(held) = held {
            if held.address == typed.address {
                return Some(Lease { mac: message.chaddr, typed: Some(typed.id), ..held });
            }
            end(r, now, held.address, "");
        }
        let has = r.services.leases.at(typed.address).is_none();
        let claimed = has && r.services.used.claim(typed.address, &user);
        return claimed.then(|| new(typed.address, Some(typed)));
    }
    if let Some(held) = held {
        if fits(program, server, message.giaddr, held.address) {
            return Some(Lease { mac: message.chaddr, ..held });
        }
        end(r, now, held.address, &server.name);
    }
    let (services, name) = (&mut r.services, server.pool.as_deref()?);
    if services.leases.len() >= MAX {
        let text = format!("{} failed to give out IP address: too many leases", server.name);
        r.stats.log.say(now, "dhcp,warning", &text);
        return None;
    }
    let pools = &program.pools;
    if let Some(wanted) = message.number(option::REQUESTED)
        && pool::has(pools, name, wanted)
        && may(program, wanted)
        && services.used.claim(wanted, &user)
    {
        return Some(new(wanted, None));
    }
    match services.used.take(pools, name, &user, |address| may(program, address)) {
        Some(address) => Some(new(address, None)),
        None => {
            let Server { name: own, .. } = server;
            let text = format!("{own} failed to give out IP address: pool <{name}> is empty");
            r.stats.log.say(now, "dhcp,warning", &text);
            None
        }
    }
}

/// Whether an address is still one that a server gives out where the client is.
fn fits(program: &Program, server: &Server, relay: u32, address: u32) -> bool {
    is_there(program, server, relay, address)
        && server.pool.as_ref().is_some_and(|name| pool::has(&program.pools, name, address))
}

/// Whether an address is of a network of the server's interface, or of the one behind a relay; of a client
/// that asks for itself, of any.
fn is_there(program: &Program, server: &Server, relay: u32, address: u32) -> bool {
    let mut own = program.addresses.iter().filter(|own| own.interface == server.interface);
    match (server.relay, relay) {
        (0, _) => own.any(|own| own.network.contains(address)),
        (_, 0) => true,
        (_, relay) => {
            let network = program.dhcp.network_of(address);
            network.is_none_or(|network| network.prefix.contains(relay))
        }
    }
}

fn host_name(message: &Message, before: Box<str>) -> Box<str> {
    let name = message.text(option::HOST_NAME).filter(|name| !name.is_empty());
    name.map_or(before, String::into_boxed_str)
}

fn request(r: &mut Router, now: Moment, server: &Server, message: &Message) {
    let program = r.program.clone();
    let who = who(message);
    let wanted = message.number(option::REQUESTED).unwrap_or(message.ciaddr);
    let relay = message.giaddr;
    let Some(own) = own_address(&program, server, wanted) else { return };
    let held = r.services.leases.of(server.id, &who).cloned();
    let selected = message.number(option::SERVER);
    if selected.is_some_and(|other| other != own) {
        // It took another server's offer.
        if let Some(held) = held.filter(|held| held.state != State::Bound) {
            end(r, now, held.address, "");
        }
        return;
    }
    let is_final =
        server.authoritative.is_some_and(|delay| Duration::from_secs(message.secs.into()) >= delay);
    let typed = typed(&program, server, message);
    let lease = match (typed, held) {
        (Some(typed), _) if typed.blocked || typed.address != wanted => None,
        (None, Some(held))
            if { held.address != wanted || !fits(&program, server, relay, wanted) } =>
        {
            None
        }
        (_, Some(held)) if held.address == wanted => Some(held),
        // Nobody knows it (the router has started again): it may have what it asks for, if it is free.
        (typed, _) if typed.is_some() || is_final => {
            let free = typed.is_some()
                || may(&program, wanted)
                    && r.services.leases.len() < MAX
                    && fits(&program, server, relay, wanted);
            let free = free && r.services.used.claim(wanted, &User::Client(message.chaddr));
            free.then(|| Lease {
                server: server.id,
                who,
                mac: message.chaddr,
                address: wanted,
                state: State::Offered,
                expires: now.into(),
                seen: now.into(),
                host_name: Box::default(),
                typed: typed.map(|typed| typed.id),
            })
        }
        _ => None,
    };
    let elsewhere = !is_there(&program, server, relay, wanted);
    match lease {
        Some(lease) => bind(r, now, server, message, typed, lease),
        None if selected.is_some() || is_final || elsewhere && server.authoritative.is_some() => {
            answer(r, now, server, message, Some(Kind::Nak), None);
        }
        None => {}
    }
}

/// The address is the client's.
fn bind(
    r: &mut Router,
    now: Moment,
    server: &Server,
    message: &Message,
    typed: Option<&Typed>,
    lease: Lease,
) {
    let time = typed.and_then(|typed| typed.lease_time).unwrap_or(server.lease_time);
    let begins = lease.state != State::Bound;
    if begins {
        let address = Ipv4Addr::from(lease.address);
        let text = format!("{} assigned {address} to {}", server.name, message.chaddr);
        r.stats.log.say(now, "dhcp,info", &text);
    }
    let lease = Lease {
        mac: message.chaddr,
        state: State::Bound,
        expires: (now + time).into(),
        seen: now.into(),
        host_name: host_name(message, lease.host_name),
        typed: typed.map(|typed| typed.id),
        ..lease
    };
    r.services.leases.put(lease.clone());
    if begins {
        want_script(r, server, &lease, true);
    }
    if let (Some(typed), Some(alone)) = (typed, Ipv4Range::new(lease.address, lease.address)) {
        for list in &typed.lists {
            r.rules.lists.add(list, alone, Some(time), now);
        }
        r.follow_lists();
    }
    answer(r, now, server, message, Some(Kind::Ack), Some(&lease));
    if server.add_arp && r.is_neighbour(server.interface, lease.address) {
        let (interface, address) = (server.interface, lease.address);
        let waiting = r.v4.neighbours.lease(interface, address, lease.mac, now + time);
        for frame in waiting {
            flow::to_neighbour(r, now, Hop::to(interface, address), frame);
        }
    }
}

/// A client that cannot be offered anything: it gets its typed lease for good.
fn bootp(r: &mut Router, now: Moment, server: &Server, message: &Message) {
    let program = r.program.clone();
    let Some(typed) = typed(&program, server, message).filter(|typed| !typed.blocked) else {
        return;
    };
    if let Some(mut lease) = choose(r, now, &program, server, message) {
        (lease.state, lease.typed) = (State::Bound, Some(typed.id));
        lease.expires = Second::NEVER;
        r.services.leases.put(lease.clone());
        answer(r, now, server, message, None, Some(&lease));
    }
}

fn decline(r: &mut Router, now: Moment, server: &Server, message: &Message) {
    let address = message.number(option::REQUESTED).unwrap_or(0);
    let held = r.services.leases.of(server.id, &who(message)).cloned();
    if let Some(held) = held.filter(|held| held.address == address) {
        conflict(r, now, server, held);
    }
}

/// Somebody has an address who did not get it here: it is not given out for a while.
fn conflict(r: &mut Router, now: Moment, server: &Server, lease: Lease) {
    let (address, mac) = (Ipv4Addr::from(lease.address), lease.mac);
    let text = format!("{} deassigned {address} from {mac}: conflict", server.name);
    r.stats.log.say(now, "dhcp,warning", &text);
    r.services.leases.remove(lease.address);
    forget_neighbour(r, now, &lease);
    let expires = (now + server.lease_time).into();
    r.services.leases.put(Lease { state: State::Conflict, expires, typed: None, ..lease });
}

fn release(r: &mut Router, now: Moment, server: &Server, message: &Message) {
    let held = r.services.leases.of(server.id, &who(message));
    if let Some(address) = held.map(|held| held.address).filter(|&held| held == message.ciaddr) {
        end(r, now, address, &server.name);
    }
}

/// Who had a lease is no neighbour by it any more.
fn forget_neighbour(r: &mut Router, now: Moment, lease: &Lease) {
    let program = r.program.clone();
    if let Some(server) = program.dhcp.servers.iter().find(|server| server.id == lease.server) {
        r.v4.neighbours.end_lease(now, server.interface, lease.address);
    }
}

/// A lease has ended; its server, by name, says so.
fn end(r: &mut Router, now: Moment, address: u32, server: &str) {
    let pools = r.program.pools.clone();
    let Some(lease) = r.services.leases.remove(address) else { return };
    r.services.used.free(&pools, address);
    forget_neighbour(r, now, &lease);
    // Lists of a typed lease that is there no more end when the lease would have.
    let typed = r.program.dhcp.typed.iter().find(|typed| Some(typed.id) == lease.typed);
    if let (Some(typed), Some(alone)) = (typed, Ipv4Range::new(address, address)) {
        let entries: Vec<_> = typed.lists.iter().map(|list| (list.clone(), alone)).collect();
        r.rules.lists.remove(&entries);
        r.follow_lists();
    }
    if lease.state == State::Bound {
        let text = format!("{server} deassigned {} from {}", Ipv4Addr::from(address), lease.mac);
        r.stats.log.say(now, "dhcp,info", &text);
        let program = r.program.clone();
        if let Some(server) = program.dhcp.servers.iter().find(|server| server.id == lease.server) {
            want_script(r, server, &lease, false);
        }
    }
}

/// Wants the server's script to run for a lease that is bound now, or is no more.
fn want_script(r: &mut Router, server: &Server, lease: &Lease, bound: bool) {
    let known = [
        ("leaseBound", u8::from(bound).to_string()),
        ("leaseServerName", config::quote_always(&server.name)),
        ("leaseActMAC", config::quote_always(&lease.mac.to_string())),
        ("leaseActIP", Ipv4Addr::from(lease.address).to_string()),
        ("lease-hostname", config::quote_always(&lease.host_name)),
    ];
    r.services.want_script(format!("dhcp-server {}", server.name), &known, &server.script);
}

/// Does what is due; returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let program = r.program.clone();
    let (due, rest) = std::mem::take(&mut r.services.leases.probes)
        .into_iter()
        .partition(|probe| probe.due <= now);
    r.services.leases.probes = rest;
    let due: Vec<Probe> = due;
    for probe in due {
        let lease = r.services.leases.at(probe.address).cloned();
        let testing = lease.filter(|lease| lease.state == State::Testing);
        let Some(lease) = testing else { continue };
        let by_id = |server: &&Server| server.id == probe.server;
        let Some(server) = program.dhcp.servers.iter().find(by_id) else { continue };
        if probe.taken {
            conflict(r, now, server, lease);
            discover(r, now, server, &probe.message);
        } else {
            let lease = Lease { state: State::Offered, expires: (now + OFFERED).into(), ..lease };
            r.services.leases.put(lease.clone());
            answer(r, now, server, &probe.message, Some(Kind::Offer), Some(&lease));
        }
    }
    while let Some(address) = r.services.leases.ended(now) {
        let server = r.services.leases.at(address).map(|lease| lease.server);
        let named = program.dhcp.servers.iter().find(|other| Some(other.id) == server);
        end(r, now, address, named.map_or("", |server| &server.name));
    }
    r.services.leases.due()
}

/// Forgets what servers and typed leases have given out that are there no more.
pub(crate) fn adopt(r: &mut Router, now: Moment) {
    let program = r.program.clone();
    r.services.used.forget_places();
    let settings = &program.dhcp;
    let stays = |lease: &Lease| {
        let typed = |id| settings.typed.iter().any(|typed| typed.id == id);
        settings.servers.iter().any(|server| server.id == lease.server)
            && lease.typed.is_none_or(typed)
    };
    let gone: Vec<u32> =
        r.services.leases.iter().filter(|l| !stays(l)).map(|l| l.address).collect();
    for address in gone {
        end(r, now, address, "dhcp");
    }
    r.services.due = now;
}

/// ARP says that somebody has an address.
pub(crate) fn heard(r: &mut Router, interface: InterfaceId, address: u32, mac: MacAddr) {
    let servers = &r.program.dhcp.servers;
    for probe in &mut r.services.leases.probes {
        let here = |server: &Server| server.id == probe.server && server.interface == interface;
        // The client itself may still have it.
        let other = mac != probe.message.chaddr;
        probe.taken |= probe.address == address && other && servers.iter().any(here);
    }
}

/// Asks by ARP whether somebody has an address (RFC 5227 §2.1.1).
fn ask(r: &mut Router, now: Moment, interface: InterfaceId, address: u32) {
    let mac = r.program.interface(interface).mac;
    match arp::frame(&mut r.io.pool, ArpMessage::request(mac, 0, address), mac, MacAddr::BROADCAST)
    {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tell(|| Event::Makes(Made::ArpRequest { interface, address }));
            flow::link_out(r, now, interface, frame, false);
            r.tell(|| Event::Done);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}

fn lease_interface(program: &Program, server: ItemId) -> InterfaceId {
    let server = program.dhcp.servers.iter().find(|other| other.id == server);
    server.map_or(InterfaceId::NONE, |server| server.interface)
}

/// The server's own address toward a client: the one that was typed, if the router has it; that of the network
/// the client's is in, else the first.
fn own_address(program: &Program, server: &Server, toward: u32) -> Option<u32> {
    let typed = server.own.filter(|&own| program.is_local(own));
    let on = || program.addresses.iter().filter(|own| own.interface == server.interface);
    if typed.is_some() {
        return typed;
    }
    let own = on().find(|own| own.network.contains(toward)).or_else(|| on().next());
    own.map(|own| own.address)
}

/// Answers; BOOTP's answers have no kind.
fn answer(
    r: &mut Router,
    now: Moment,
    server: &Server,
    message: &Message,
    kind: Option<Kind>,
    lease: Option<&Lease>,
) {
    let program = r.program.clone();
    let toward = lease.map_or(message.ciaddr, |lease| lease.address);
    let Some(own) = own_address(&program, server, toward) else { return };
    let mut reply = Message {
        op: dhcp::REPLY,
        xid: message.xid,
        flags: message.flags,
        chaddr: message.chaddr,
        giaddr: message.giaddr,
        ..Message::default()
    };
    if let Some(kind) = kind {
        reply.push(option::KIND, [kind as u8]);
        reply.push_addresses(option::SERVER, &[own]);
    }
    let nak = kind == Some(Kind::Nak);
    if !nak {
        reply.ciaddr = message.ciaddr;
        reply.yiaddr = lease.map_or(0, |lease| lease.address);
        if lease.is_some() && kind.is_some() {
            let typed = typed(&program, server, message).and_then(|typed| typed.lease_time);
            let time = typed.unwrap_or(server.lease_time).as_secs().min(u32::MAX.into()) as u32;
            reply.push(option::LEASE_TIME, time.to_be_bytes());
            reply.push(option::RENEW, (time / 2).to_be_bytes());
            reply.push(option::REBIND, (time as u64 * 7 / 8).to_be_bytes()[4..].to_vec());
        }
        tell(r, &program, server, message, toward, &mut reply);
    }
    if let Some(id) = message.get(option::CLIENT_ID) {
        reply.push(option::CLIENT_ID, id); // RFC 6842
    }
    if let Some(told) = message.get(RELAY_INFO).filter(|_| message.giaddr != 0) {
        reply.push(RELAY_INFO, told); // as it came, and last (RFC 3046 §2.2)
    }
    if server.relay != 0 {
        let (address, port) = match (message.giaddr, message.ciaddr) {
            (0, client) => (client, dhcp::CLIENT_PORT),
            (relay, _) => (relay, dhcp::SERVER_PORT),
        };
        if nak {
            reply.flags |= dhcp::BROADCAST; // the relay is to tell whoever has no address
        }
        let ends = (End { address: own, port: dhcp::SERVER_PORT }, End { address, port });
        return datagram::send(r, now, ends, &reply.to_bytes());
    }
    let always = typed(&program, server, message).is_some_and(|typed| typed.always_broadcast);
    let broadcast = always || server.always_broadcast || message.flags & dhcp::BROADCAST != 0;
    let (mac, address) = match () {
        () if nak => (MacAddr::BROADCAST, u32::MAX),
        () if message.ciaddr != 0 => (message.chaddr, message.ciaddr),
        () if broadcast || reply.yiaddr == 0 => (MacAddr::BROADCAST, u32::MAX),
        () => (message.chaddr, reply.yiaddr),
    };
    let ends =
        (End { address: own, port: dhcp::SERVER_PORT }, End { address, port: dhcp::CLIENT_PORT });
    let macs = (program.interface(server.interface).mac, mac);
    match datagram::udp(&mut r.io.pool, macs, ends, &reply.to_bytes()) {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tell(|| Event::Makes(Made::Dhcp));
            flow::link_out(r, now, server.interface, frame, false);
            r.tell(|| Event::Done);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}

/// Tells a client about its network.
fn tell(
    r: &Router,
    program: &Program,
    server: &Server,
    message: &Message,
    client: u32,
    reply: &mut Message,
) {
    let mut options: Vec<Custom> = Vec::new();
    if let Some(typed) = typed(program, server, message) {
        options.extend(typed.options.iter().cloned());
    }
    let network = program.dhcp.network_of(client);
    let mut own = program.addresses.iter().filter(|own| own.interface == server.interface);
    let own_len = own.find(|own| own.network.contains(client)).map(|own| own.network.len());
    options.extend(network.iter().flat_map(|network| network.options.iter().cloned()));
    options.extend(server.options.iter().cloned());
    let asked = message.get(option::WANTED);
    let wants = |code: u8| asked.is_none_or(|asked| asked.contains(&code));
    let mut plain = Vec::new();
    let mut push = |code: u8, always: bool, data: Vec<u8>| {
        if !data.is_empty() && (always || wants(code)) {
            plain.push(Custom { code, data, force: true });
        }
    };
    let flat = |addresses: &[u32]| addresses.iter().flat_map(|a| a.to_be_bytes()).collect();
    if let Some(len) = network.map(|network| network.mask_len).or(own_len) {
        push(option::SUBNET_MASK, true, flat(&[Ipv4Prefix::new(u32::MAX, len).bits()]));
    }
    if let Some(network) = network {
        push(option::ROUTER, true, flat(&network.gateways));
        let dns = match network.dns.is_empty() && !network.dns_none {
            true => r.name_servers(),
            false => network.dns.clone(),
        };
        push(option::DNS, false, flat(&dns));
        push(option::DOMAIN, false, network.domain.clone().into_bytes());
        push(option::NTP, false, flat(&network.ntp));
        push(option::WINS, false, flat(&network.wins));
        push(option::CONTROLLERS, false, flat(&network.controllers));
        push(option::BOOT_FILE, false, network.boot_file.clone().into_bytes());
        reply.siaddr = network.next_server;
    }
    let mut left = MAX_OPTIONS;
    for Custom { code, data, force } in options.into_iter().chain(plain) {
        // What a user writes comes first, and only once.
        if reply.get(code).is_some() || !(force || wants(code)) || data.len() > left {
            continue;
        }
        left -= data.len();
        reply.push(code, data);
    }
}
