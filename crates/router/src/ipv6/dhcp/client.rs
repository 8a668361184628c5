//! `/ipv6 dhcp-client`: an interface that gets an address, and prefixes for others (RFC 8415 §18.2).
//!
//! ```text
//! stopped ─ link ─► searching ─ advertise ─► requesting ─ reply ─► bound ─ T1 ─► renewing ─ T2 ─► rebinding
//!                      ▲  └──── reply (rapid commit) ───────────────► ▲            │ reply          │ │
//!                      │                                              └────────────┴────────────────┘ │
//!                      └──────────────── release, all of it expired ──────────────────────────────────┘
//! ```
//!
//! Of the servers that answer within a second the one that wants it most is chosen.

use super::settings::Client;
use super::{duid, say};
use crate::interface::InterfaceId;
use crate::ip::route::Target;
use crate::ipv6::found::{Found, Given, Told};
use crate::ipv6::pool::Pool;
use crate::ipv6::{found, icmp};
use crate::program::Program;
use crate::router::Router;
use config::ItemId;
use std::time::Duration;
use wire::dhcp6::{
    Association, CLIENT_PORT, Kind, Lent, Message, SERVER_PORT, SERVERS, option, status,
};
use wire::{Ipv6Prefix, Moment};

/// Where a client stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Its link is down.
    #[default]
    Stopped,
    Searching,
    Requesting,
    Bound,
    Renewing,
    Rebinding,
}

impl State {
    pub(super) const fn name(self) -> &'static str {
        match self {
            State::Stopped => "stopped",
            State::Searching => "searching...",
            State::Requesting => "requesting...",
            State::Bound => "bound",
            State::Renewing => "renewing...",
            State::Rebinding => "rebinding...",
        }
    }

    /// The first pause before it says something again, and the longest (RFC 8415 §7.6).
    const fn pauses(self) -> (Duration, Duration) {
        let (first, most) = match self {
            State::Renewing | State::Rebinding => (10, 600),
            State::Requesting => (1, 30),
            _ => (1, 3600),
        };
        (Duration::from_secs(first), Duration::from_secs(most))
    }
}

/// A client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) state: State,
    xid: u32,
    began: Moment,
    /// When it says something again, or does the next thing.
    due: Moment,
    tries: u32,
    pause: Duration,
    /// The best of what it was offered: how much that server wants it, its DUID, and what.
    offer: Option<(u8, Vec<u8>, Vec<Association>)>,
    pub(super) given: Option<Leased>,
}

/// What a server gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leased {
    pub(super) address: Option<Lease>,
    pub(super) prefixes: Vec<Lease>,
    pub(super) dns: Vec<u128>,
    pub(super) duid: Vec<u8>,
    /// Its address on the link.
    pub(super) server: u128,
    renew: Moment,
    rebind: Moment,
    pub(super) end: Moment,
}

/// A prefix or an address, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) prefix: Ipv6Prefix,
    preferred: Moment,
    pub(super) valid: Moment,
}

/// Before it looks for servers, in milliseconds (SOL_MAX_DELAY).
const DELAY_MS: u64 = 1000;
/// Requests without an answer, before it looks for another server (REQ_MAX_RC).
const REQUESTS: u32 = 10;
/// After a server has had nothing.
const NOTHING: Duration = Duration::from_secs(10);
/// No lease is shorter: it would be asked for all the time.
const SHORTEST_S: u32 = 10;
/// When to ask for the rest of the configuration again (IRT_DEFAULT).
const REFRESH: Duration = Duration::from_secs(86_400);
const FOREVER: Moment = Moment::from_nanos(u64::MAX);
const MAX_PREFIXES: usize = 8;
const MAX_DNS: usize = 4;

impl Machine {
    fn search(&mut self, now: Moment, xid: u32, after: Duration) {
        let state = State::Searching;
        *self = Machine { state, xid, began: now + after, due: now + after, ..Machine::default() };
    }

    fn begin(&mut self, now: Moment, state: State, xid: u32) {
        (self.state, self.xid, self.began) = (state, xid & 0xff_ffff, now);
        (self.tries, self.pause) = (0, Duration::ZERO);
    }

    /// When to say it again, if nobody answers: twice as late each time, and up to a tenth more.
    fn wait(&mut self, now: Moment, dice: u64) {
        let (first, most) = self.state.pauses();
        self.pause = if self.tries == 0 { first } else { (self.pause * 2).min(most) };
        let tenth = self.pause.as_millis() as u64 / 10;
        self.due = now + self.pause + Duration::from_millis(dice % (tenth + 1));
        self.tries += 1;
    }
}

/// Lets all clients do what is due; returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let program = r.program.clone();
    let clients = &program.v6.dhcp.clients;
    r.services.v6.clients.retain(|&id, _| clients.iter().any(|client| client.id == id));
    let mut due: Option<Moment> = None;
    for client in clients {
        let mut machine = r.services.v6.clients.remove(&client.id).unwrap_or_default();
        step(r, now, &program, client, &mut machine);
        if machine.state != State::Stopped {
            due = Some(due.map_or(machine.due, |due| due.min(machine.due)));
        }
        r.services.v6.clients.insert(client.id, machine);
    }
    due
}

fn step(r: &mut Router, now: Moment, program: &Program, client: &Client, machine: &mut Machine) {
    if !program.runs(client.interface) || !program.v6.is_on(client.interface) {
        if machine.given.is_some() {
            lost(r, now, program, client, machine, "link down");
        }
        *machine = Machine::default();
        return;
    }
    let dice = r.services.dice.throw();
    let xid = dice as u32 & 0xff_ffff;
    if machine.state == State::Stopped {
        machine.search(now, xid, Duration::from_millis(dice % DELAY_MS));
    }
    if now < machine.due {
        return;
    }
    match (&machine.given, machine.state) {
        (Some(given), _) if now >= given.end => {
            lost(r, now, program, client, machine, "lease expired");
            machine.search(now, xid, Duration::ZERO);
        }
        (Some(given), State::Bound | State::Renewing) if now >= given.rebind => {
            machine.begin(now, State::Rebinding, xid);
        }
        (Some(_), State::Bound) => machine.begin(now, State::Renewing, xid),
        (None, State::Searching) if machine.offer.is_some() => {
            machine.begin(now, State::Requesting, xid);
        }
        (None, State::Requesting) if machine.tries >= REQUESTS => {
            machine.search(now, xid, Duration::ZERO);
        }
        _ => {}
    }
    let kind = match machine.state {
        State::Searching if client.address || client.prefix => Kind::Solicit,
        State::Searching => Kind::Information,
        State::Requesting => Kind::Request,
        State::Renewing if client.address || client.prefix => Kind::Renew,
        State::Rebinding if client.address || client.prefix => Kind::Rebind,
        _ => Kind::Information,
    };
    machine.wait(now, dice >> 32);
    if let Some(given) = &machine.given {
        let bound = if machine.state == State::Renewing { given.rebind } else { given.end };
        machine.due = machine.due.min(bound);
    }
    send(r, now, program, client, machine, kind);
}

/// Says something to all servers.
fn send(
    r: &mut Router,
    now: Moment,
    program: &Program,
    client: &Client,
    machine: &Machine,
    kind: Kind,
) {
    let mut message = Message::new(kind, machine.xid);
    message.push(option::CLIENT_ID, duid(program.interface(client.interface).mac));
    let server = match (&machine.given, &machine.offer) {
        (Some(given), _) => Some(&given.duid),
        (None, Some((_, duid, _))) => Some(duid),
        (None, None) => None,
    };
    if let (Some(server), Kind::Request | Kind::Renew | Kind::Release) = (server, kind) {
        message.push(option::SERVER_ID, server.clone());
    }
    let elapsed = (now.since(machine.began).as_millis() / 10).min(u16::MAX.into()) as u16;
    message.push(option::ELAPSED, elapsed.to_be_bytes());
    if kind != Kind::Release {
        let wanted = [option::DNS, option::DOMAINS, option::SOL_MAX_RT, option::REFRESH];
        message.push(option::WANTED, wanted.map(u16::to_be_bytes).concat());
    }
    if kind == Kind::Solicit && client.rapid {
        message.push(option::RAPID_COMMIT, []);
    }
    if kind != Kind::Information {
        let asked = [(client.address, false), (client.prefix, true)];
        for (_, is_pd) in asked.into_iter().filter(|(asks, _)| *asks) {
            message.associations.push(association(client, machine, is_pd));
        }
    }
    let ports = (CLIENT_PORT, SERVER_PORT);
    say(r, now, client.interface, SERVERS.into(), ports, &message);
}

/// What it asks for: what it has, what it was offered, what it would like.
fn association(client: &Client, machine: &Machine, is_pd: bool) -> Association {
    let lent = |prefix: Ipv6Prefix| {
        let (preferred_s, valid_s) = (0, 0);
        Lent { address: prefix.bits().into(), len: prefix.len(), preferred_s, valid_s }
    };
    let lent = match (&machine.given, &machine.offer) {
        (Some(given), _) if is_pd => {
            given.prefixes.iter().map(|lease| lent(lease.prefix)).collect()
        }
        (Some(given), _) => given.address.iter().map(|lease| lent(lease.prefix)).collect(),
        (None, Some((_, _, offered))) => {
            let offered = offered.iter().filter(|offered| offered.is_pd == is_pd);
            offered.flat_map(|offered| offered.lent.clone()).collect()
        }
        (None, None) if is_pd => client.hint.iter().map(|&hint| lent(hint)).collect(),
        (None, None) => Vec::new(),
    };
    Association { is_pd, iaid: client.iaid, t1_s: 0, t2_s: 0, lent, status: None }
}

/// A server's message, from its address on the link.
pub(super) fn hear(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    from: u128,
    message: &Message,
) {
    let program = r.program.clone();
    let Some(client) = program.v6.dhcp.client_on(interface) else { return };
    let Some(mut machine) = r.services.v6.clients.get(&client.id).cloned() else { return };
    let own = duid(program.interface(interface).mac);
    let awaited = message.xid == machine.xid && message.duid(option::CLIENT_ID) == Some(&own);
    let Some(server) = message.duid(option::SERVER_ID).filter(|_| awaited) else { return };
    let waits = matches!(machine.state, State::Requesting | State::Renewing | State::Rebinding);
    let rapid = client.rapid && message.get(option::RAPID_COMMIT).is_some();
    let informed = !client.address && !client.prefix;
    match message.kind {
        Kind::Advertise if machine.state == State::Searching => {
            advertised(now, client, &mut machine, server, message);
        }
        Kind::Reply if waits || machine.state == State::Searching && (rapid || informed) => {
            replied(r, now, &program, client, &mut machine, (from, server), message);
        }
        _ => return,
    }
    r.services.due = r.services.due.min(machine.due);
    r.services.v6.clients.insert(client.id, machine);
    found::note(r);
}

fn advertised(
    now: Moment,
    client: &Client,
    machine: &mut Machine,
    server: &[u8],
    message: &Message,
) {
    let offers = |is_pd| {
        let mut all = message.associations.iter().filter(|offered| offered.is_pd == is_pd);
        all.any(|offered| offered.lent.iter().any(|lent| lent.valid_s > 0 && usable(lent)))
    };
    let useful = client.prefix && offers(true) || client.address && offers(false);
    if !useful || message.status() != status::SUCCESS {
        return;
    }
    let preference = message.get(option::PREFERENCE).and_then(|data| data.first().copied());
    let preference = preference.unwrap_or(0);
    if machine.offer.as_ref().is_none_or(|(best, ..)| preference > *best) {
        machine.offer = Some((preference, server.to_vec(), message.associations.clone()));
    }
    // Who wants it most is not to be outbid; and who was late, nobody waits for (RFC 8415 §18.2.1).
    if preference == u8::MAX || machine.tries > 1 {
        machine.due = now;
    }
}

/// Whether it is something that can be had on a network.
fn usable(lent: &Lent) -> bool {
    let bits = u128::from(lent.address);
    icmp::is_host(bits)
        && !Ipv6Prefix::LINK_LOCAL.contains(bits)
        && lent.preferred_s <= lent.valid_s
}

fn replied(
    r: &mut Router,
    now: Moment,
    program: &Program,
    client: &Client,
    machine: &mut Machine,
    (from, server): (u128, &[u8]),
    message: &Message,
) {
    let xid = r.services.dice.throw() as u32 & 0xff_ffff;
    let no_binding = message.associations.iter().any(|a| a.status == Some(status::NO_BINDING));
    if no_binding && machine.given.is_some() && machine.state != State::Requesting {
        // It has forgotten us (RFC 8415 §18.2.10.1): all is asked for anew.
        let offered = [(client.address, false), (client.prefix, true)];
        let offered = offered.into_iter().filter(|(asks, _)| *asks);
        let offered = offered.map(|(_, is_pd)| association(client, machine, is_pd)).collect();
        machine.offer = Some((0, server.to_vec(), offered));
        machine.begin(now, State::Requesting, xid);
        machine.due = now;
        return;
    }
    let leased = Leased::read(now, client, message, machine.given.as_ref(), (from, server));
    let Some(leased) = leased.filter(|_| message.status() == status::SUCCESS) else {
        if machine.given.is_none() {
            machine.search(now, xid, NOTHING);
        }
        return;
    };
    let name = &program.interface(client.interface).name;
    let before: Vec<_> = machine.given.iter().flat_map(Leased::all).copied().collect();
    for lease in leased.all().filter(|lease| !before.iter().any(|old| old.prefix == lease.prefix)) {
        let text = format!("dhcpv6-client on {name} got {}", lease.prefix);
        r.stats.log.say(now, "dhcp,info", &text);
    }
    let same = leased.all().map(|lease| lease.prefix).eq(before.iter().map(|lease| lease.prefix));
    if !same {
        want_script(r, program, client, &leased, true);
    }
    (machine.state, machine.due, machine.tries) = (State::Bound, leased.renew, 0);
    (machine.given, machine.offer) = (Some(leased), None);
}

impl Leased {
    /// What a reply gives, beside what was given before and is not spoken of; `None` if that is nothing.
    fn read(
        now: Moment,
        client: &Client,
        message: &Message,
        before: Option<&Leased>,
        (from, server): (u128, &[u8]),
    ) -> Option<Leased> {
        let after = |seconds: u32| match seconds {
            u32::MAX => FOREVER,
            seconds => now + Duration::from_secs(seconds.into()),
        };
        let mut address = before.and_then(|before| before.address);
        let mut prefixes = before.map_or(Vec::new(), |before| before.prefixes.clone());
        let (mut renew, mut rebind) = (FOREVER, FOREVER);
        let wanted = |is_pd: bool| if is_pd { client.prefix } else { client.address };
        for association in message.associations.iter().filter(|a| wanted(a.is_pd)) {
            let lent = association.lent.iter().filter(|lent| usable(lent));
            let lent = lent.take(if association.is_pd { MAX_PREFIXES } else { 1 });
            let mut shortest = u32::MAX;
            for lent in lent {
                let prefix = Ipv6Prefix::new(lent.address.into(), lent.len);
                let valid_s = if lent.valid_s == 0 { 0 } else { lent.valid_s.max(SHORTEST_S) };
                let (preferred, valid) = (after(lent.preferred_s), after(valid_s));
                let lease = Some(Lease { prefix, preferred, valid }).filter(|_| valid_s > 0);
                if association.is_pd {
                    prefixes.retain(|old| old.prefix != prefix);
                    prefixes.extend(lease);
                } else {
                    address = lease;
                }
                if valid_s > 0 {
                    let lasts = if lent.preferred_s == 0 { valid_s } else { lent.preferred_s };
                    shortest = shortest.min(lasts.max(SHORTEST_S));
                }
            }
            let (t1, t2) = (association.t1_s, association.t2_s);
            let told = t1 > 0 && t2 >= t1 && t2 < shortest;
            let share = |n: u64| (u64::from(shortest) * n / 10) as u32;
            let (t1, t2) = match (told, shortest) {
                (true, _) => (t1, t2),
                (false, u32::MAX) => (u32::MAX, u32::MAX),
                (false, _) => (share(5), share(8)),
            };
            (renew, rebind) = (renew.min(after(t1)), rebind.min(after(t2)));
        }
        prefixes.retain(|lease| now < lease.valid);
        prefixes.truncate(MAX_PREFIXES);
        let address = address.filter(|lease| now < lease.valid);
        let ends = prefixes.iter().chain(&address).map(|lease| lease.valid);
        let end = ends.max();
        if end.is_none() && (client.address || client.prefix) {
            return None;
        }
        let end = end.unwrap_or_else(|| {
            let told = message.get(option::REFRESH).and_then(|data| data.first_chunk::<4>());
            let told = told.map(|told| u64::from(u32::from_be_bytes(*told)).clamp(600, 86_400));
            renew = now + told.map_or(REFRESH, Duration::from_secs);
            FOREVER
        });
        let mut dns: Vec<u128> =
            message.addresses(option::DNS).into_iter().map(Into::into).collect();
        dns.retain(|&server| icmp::is_host(server));
        dns.truncate(MAX_DNS);
        let (renew, rebind) = (renew.min(end), rebind.min(end));
        let duid = server.to_vec();
        Some(Leased { address, prefixes, dns, duid, server: from, renew, rebind, end })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Lease> {
        self.address.iter().chain(&self.prefixes)
    }
}

fn lost(
    r: &mut Router,
    now: Moment,
    program: &Program,
    client: &Client,
    machine: &mut Machine,
    why: &str,
) {
    let Some(given) = machine.given.take() else { return };
    want_script(r, program, client, &given, false);
    let name = &program.interface(client.interface).name;
    for lease in given.all() {
        let text = format!("dhcpv6-client on {name} lost {} - {why}", lease.prefix);
        r.stats.log.say(now, "dhcp,critical,error", &text);
    }
}

/// Wants the client's script to run, which knows what it has, and whether that is its own now.
fn want_script(r: &mut Router, program: &Program, client: &Client, given: &Leased, has: bool) {
    let interface = &program.interface(client.interface).name;
    let (prefix, address) = (given.prefixes.first(), given.address.as_ref());
    let valid = |lease: Option<&Lease>| u8::from(has && lease.is_some()).to_string();
    let text = |lease: Option<&Lease>| {
        config::quote_always(&lease.map_or(String::new(), |lease| lease.prefix.to_string()))
    };
    let known = [
        ("interface", config::quote_always(interface)),
        ("pd-valid", valid(prefix)),
        ("pd-prefix", text(prefix)),
        ("na-valid", valid(address)),
        ("na-address", text(address)),
    ];
    r.services.want_script(format!("dhcpv6-client {interface}"), &known, &client.script);
}

/// Tells what was found out.
pub(crate) fn tell(r: &Router, found: &mut Found) {
    for client in &r.program.v6.dhcp.clients {
        let machine = r.services.v6.clients.get(&client.id);
        let Some(given) = machine.and_then(|machine| machine.given.as_ref()) else { continue };
        let interface = client.interface;
        if let Some(lease) = given.address {
            let (address, network) = (lease.prefix.bits(), lease.prefix);
            found.addresses.push(Given { address, network, interface });
        }
        for lease in &given.prefixes {
            let (prefix, by) = (lease.prefix, "dhcp");
            if !client.pool.is_empty() {
                let len = client.pool_len.max(prefix.len());
                let (name, client) = (client.pool.clone(), Some(client.id));
                found.pools.push(Pool { name, prefix, len, client });
            }
            // What of it nobody has goes nowhere, and not back (RFC 7084 WPD-5).
            let (distance, target) = (1, Target::Unreachable);
            found.routes.push(Told { prefix, distance, target, check: None, by });
        }
        if let Some(distance) = client.route {
            let target = Target::Gateways(vec![(interface, given.server)]);
            let (prefix, check, by) = (Ipv6Prefix::ALL, client.check, "dhcp");
            found.routes.push(Told { prefix, distance, target, check, by });
        }
    }
}

/// For how long a prefix is preferred and valid, in seconds, if a client was given it.
pub(crate) fn left(r: &Router, now: Moment, prefix: Ipv6Prefix) -> Option<(u32, u32)> {
    let machines = r.services.v6.clients.values();
    let mut leases =
        machines.filter_map(|machine| machine.given.as_ref()).flat_map(|g| &g.prefixes);
    let lease = leases.find(|lease| lease.prefix.contains(prefix.bits()))?;
    let left = |until: Moment| match until {
        FOREVER => u32::MAX,
        until => until.since(now).as_secs().min(u64::from(u32::MAX) - 1) as u32,
    };
    Some((left(lease.preferred), left(lease.valid)))
}

/// The name servers that clients were told, by those that use them.
pub(super) fn dns_servers(r: &Router) -> Vec<u128> {
    let clients = r.program.v6.dhcp.clients.iter().filter(|client| client.use_dns);
    let machines = clients.filter_map(|client| r.services.v6.clients.get(&client.id));
    machines.filter_map(|machine| machine.given.as_ref()).flat_map(|g| g.dns.clone()).collect()
}

/// Those that have something and will not be there any more give it back; `next` is what comes.
pub(crate) fn resign(r: &mut Router, now: Moment, next: &Program) {
    let program = r.program.clone();
    for client in &program.v6.dhcp.clients {
        let stays = |other: &Client| (other.id, other.interface) == (client.id, client.interface);
        if !next.v6.dhcp.clients.iter().any(stays) {
            give_back(r, now, &program, client);
        }
    }
}

/// Gives all back, and forgets the client.
fn give_back(r: &mut Router, now: Moment, program: &Program, client: &Client) {
    let Some(mut machine) = r.services.v6.clients.remove(&client.id) else { return };
    if machine.given.as_ref().is_some_and(|given| given.all().next().is_some()) {
        if program.runs(client.interface) {
            let xid = r.services.dice.throw() as u32;
            machine.begin(now, State::Bound, xid);
            send(r, now, program, client, &machine, Kind::Release);
        }
        lost(r, now, program, client, &mut machine, "released");
    }
}

/// The command `release`: gives all back and looks for it again.
pub(super) fn release(r: &mut Router, now: Moment, id: ItemId) {
    let program = r.program.clone();
    if let Some(client) = program.v6.dhcp.clients.iter().find(|client| client.id == id) {
        give_back(r, now, &program, client);
        r.services.due = now;
        found::note(r);
    }
}

/// The command `renew`: asks the server at once.
pub(super) fn renew(r: &mut Router, now: Moment, id: ItemId) {
    if let Some(machine) = r.services.v6.clients.get_mut(&id) {
        machine.due = now;
        r.services.due = now;
    }
}
