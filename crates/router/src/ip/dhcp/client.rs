//! `/ip dhcp-client`: an interface that gets its address (RFC 2131 §4.4).
//!
//! ```text
//! stopped ─ link ─► searching ─ offer ─► requesting ─ ack ─► bound ─ T1 ─► renewing ─ T2 ─► rebinding
//!    ▲                 ▲  ▲                  │ nak            ▲  │            │ ack             │ │
//!    └── link down ────┘  └──────────────────┘                └──┼────────────┴─────────────────┘ │
//!                      └────────────── nak, release, end ────────┴────────────────────────────────┘
//! ```
//!
//! What it is given is news to the compiler: an address of the router's, and routes, which are those of
//! option 121 if there are any (RFC 3442). Without an
//! address it asks for broadcasts, so nothing comes to it that a router would pass on.

use super::option::Own;
use super::settings::Client;
use crate::discard::Discard;
use crate::flow;
use crate::interface::InterfaceId;
use crate::ip::datagram::{self, End};
use crate::ip::icmp;
use crate::packet::Packet;
use crate::program::Program;
use crate::router::Router;
use crate::system::ntp;
use config::ItemId;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::dhcp::{self, Kind, Message, option};
use wire::layers::protocol;
use wire::{Ipv4Prefix, MacAddr, Moment, checksum};

/// What a client was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leased {
    pub(crate) client: ItemId,
    pub(crate) interface: InterfaceId,
    pub(crate) address: u32,
    pub(crate) network: Ipv4Prefix,
    /// Routes: networks and gateways, 0 if it is on the link.
    pub(crate) routes: Vec<(Ipv4Prefix, u32)>,
    pub(crate) distance: u8,
}

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
    /// What it was offered: address and server.
    offer: (u32, u32),
    pub(crate) given: Option<Given>,
}

/// What a server gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) address: u32,
    pub(crate) network: Ipv4Prefix,
    pub(crate) gateway: Option<u32>,
    /// Option 121.
    classless: Option<Vec<(Ipv4Prefix, u32)>>,
    pub(crate) dns: Vec<u32>,
    /// Time servers.
    ntp: Vec<u32>,
    pub(crate) server: u32,
    /// From which station its answer came: there it is reached.
    station: MacAddr,
    renew: Moment,
    rebind: Moment,
    pub(crate) end: Moment,
}

/// After a server has said no.
const PAUSE: Duration = Duration::from_secs(1);
/// Requests without an answer, before it looks for another server.
const REQUESTS: u32 = 4;
/// No lease is shorter: it would be asked for all the time.
const SHORTEST: u32 = 10;
/// No more name servers are believed, nor time servers.
const MAX_SERVERS: usize = 4;
/// As much of the router's name is said as a label of DNS holds.
const MAX_NAME: usize = 63;
/// Nor more routes.
const MAX_ROUTES: usize = 64;

impl Machine {
    fn search(&mut self, now: Moment, xid: u32) {
        *self =
            Machine { state: State::Searching, xid, began: now, due: now, ..Machine::default() };
    }

    /// When to say it again, if nobody answers: 1, 2, 4 … 64 seconds, and up to one more.
    fn wait(&mut self, now: Moment, dice: u64) {
        let backoff = Duration::from_secs(1 << self.tries.min(6));
        self.due = now + backoff + Duration::from_millis(dice % 1000);
        self.tries += 1;
    }

    /// The same while there is an address: half of the time that is left.
    fn wait_until(&mut self, now: Moment, end: Moment) {
        let half = end.since(now) / 2;
        self.due = (now + half.max(Duration::from_secs(2))).min(end);
    }
}

/// Lets all clients do what is due; returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let program = r.program.clone();
    let clients = &program.dhcp.clients;
    r.services.clients.retain(|&id, _| clients.iter().any(|client| client.id == id));
    let mut due: Option<Moment> = None;
    for client in clients {
        let mut machine = r.services.clients.remove(&client.id).unwrap_or_default();
        step(r, now, &program, client, &mut machine);
        if machine.state != State::Stopped {
            due = Some(due.map_or(machine.due, |due| due.min(machine.due)));
        }
        r.services.clients.insert(client.id, machine);
    }
    note(r);
    due
}

fn step(r: &mut Router, now: Moment, program: &Program, client: &Client, machine: &mut Machine) {
    if !program.runs(client.interface) {
        if machine.given.is_some() {
            lost(r, now, program, client, machine, "link down");
        }
        *machine = Machine::default();
        return;
    }
    let xid = r.services.dice.throw() as u32;
    if machine.state == State::Stopped {
        machine.search(now, xid);
    }
    if now < machine.due {
        return;
    }
    if let Some(given) = &machine.given {
        let (rebind, end) = (given.rebind, given.end);
        if now >= end {
            lost(r, now, program, client, machine, "lease expired");
            machine.search(now, xid);
        } else if now >= rebind {
            let fresh = machine.state != State::Rebinding;
            begin(machine, now, State::Rebinding, xid, fresh);
            machine.wait_until(now, end);
        } else {
            let fresh = machine.state == State::Bound;
            begin(machine, now, State::Renewing, xid, fresh);
            machine.wait_until(now, rebind);
        }
    }
    if machine.state == State::Requesting && machine.tries >= REQUESTS {
        machine.search(now, xid);
    }
    if machine.given.is_none() {
        let dice = r.services.dice.throw();
        machine.wait(now, dice);
    }
    let kind = match machine.state {
        State::Searching => Kind::Discover,
        _ => Kind::Request,
    };
    say(r, now, program, client, machine, kind);
}

fn begin(machine: &mut Machine, now: Moment, state: State, xid: u32, fresh: bool) {
    machine.state = state;
    if fresh {
        (machine.xid, machine.began) = (xid, now);
    }
}

/// Says something: to everybody, but what is about an address that it has to the server it is of.
fn say(
    r: &mut Router,
    now: Moment,
    program: &Program,
    client: &Client,
    machine: &Machine,
    kind: Kind,
) {
    let mac = program.interface(client.interface).mac;
    let mut message = Message {
        op: dhcp::REQUEST,
        xid: machine.xid,
        secs: now.since(machine.began).as_secs().min(u16::MAX.into()) as u16,
        chaddr: mac,
        ..Message::default()
    };
    message.push(option::KIND, [kind as u8]);
    let name = program.system.identity.as_bytes();
    let name = String::from_utf8_lossy(&name[..name.len().min(MAX_NAME)]);
    let own = Own { name: &name, mac, iaid: client.iaid };
    // Who gives an address back says no more than who he is.
    let said = client
        .options
        .iter()
        .filter(|(code, _)| kind != Kind::Release || *code == option::CLIENT_ID);
    for (code, value) in said {
        if let Some(bytes) = own.bytes(value).filter(|bytes| !bytes.is_empty()) {
            message.push(*code, bytes);
        }
    }
    let (mut src, mut dst, mut station) = (0, u32::MAX, MacAddr::BROADCAST);
    match &machine.given {
        Some(given) => {
            (message.ciaddr, src) = (given.address, given.address);
            if machine.state != State::Rebinding {
                (dst, station) = (given.server, given.station);
            }
            if kind == Kind::Release {
                message.push_addresses(option::SERVER, &[given.server]);
            }
        }
        None => {
            message.flags = dhcp::BROADCAST;
            if kind == Kind::Request {
                message.push_addresses(option::REQUESTED, &[machine.offer.0]);
                message.push_addresses(option::SERVER, &[machine.offer.1]);
            }
        }
    }
    if kind != Kind::Release {
        message.push(
            option::WANTED,
            [
                option::SUBNET_MASK,
                // Before the gateway (RFC 3442).
                option::CLASSLESS_ROUTES,
                option::ROUTER,
                option::DNS,
                option::NTP,
                option::DOMAIN,
                option::NTP,
            ],
        );
    }
    let ends = (
        End { address: src, port: dhcp::CLIENT_PORT },
        End { address: dst, port: dhcp::SERVER_PORT },
    );
    let Some(frame) = datagram::udp(&mut r.io.pool, (mac, station), ends, &message.to_bytes())
    else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    r.stats.tally.made += 1;
    r.tools.sent = true;
    flow::link_out(r, now, client.interface, frame, false);
}

/// Takes a packet that a client waits for; gives back what nobody does.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    let program = r.program.clone();
    let clients = &program.dhcp.clients;
    let Some(client) = clients.iter().find(|client| client.interface == p.in_interface) else {
        return Some(p);
    };
    let tuple = p.layers.tuple;
    let Some(machine) = r.services.clients.get(&client.id) else { return Some(p) };
    let own = machine.given.as_ref().map(|given| given.address);
    let is_for_it = tuple.protocol == protocol::UDP
        && tuple.dst_port == dhcp::CLIENT_PORT
        && (tuple.dst == u32::MAX || Some(tuple.dst) == own)
        && checksum::is_ok(r.ip_header(&p));
    let mac = program.interface(client.interface).mac;
    let awaited = |message: &Message| {
        message.op == dhcp::REPLY && message.xid == machine.xid && message.chaddr == mac
    };
    let message = r.datagram(&p).filter(|_| is_for_it).and_then(Message::read).filter(awaited);
    let Some(message) = message else { return Some(p) };
    let (mut machine, station) = (machine.clone(), r.src_mac(&p));
    hear(r, now, &program, client, &mut machine, (&message, station));
    r.services.due = r.services.due.min(machine.due);
    r.services.clients.insert(client.id, machine);
    note(r);
    r.consume(p);
    None
}

fn hear(
    r: &mut Router,
    now: Moment,
    program: &Program,
    client: &Client,
    machine: &mut Machine,
    (message, station): (&Message, MacAddr),
) {
    let waits = matches!(machine.state, State::Requesting | State::Renewing | State::Rebinding);
    match message.kind() {
        Some(Kind::Offer) if machine.state == State::Searching => {
            let server = message.number(option::SERVER).unwrap_or(0);
            if icmp::is_host(message.yiaddr) && icmp::is_host(server) {
                (machine.state, machine.offer) = (State::Requesting, (message.yiaddr, server));
                (machine.tries, machine.due) = (0, now);
            }
        }
        Some(Kind::Ack) if waits => {
            let key = |given: &Given| (given.address, given.gateway);
            let before = machine.given.as_ref().map(key);
            let Some(given) = Given::read(now, message, station, machine) else { return };
            (machine.state, machine.due, machine.tries) = (State::Bound, given.renew, 0);
            if before != Some(key(&given)) {
                want(r, program, client, &given, true);
                let name = &program.interface(client.interface).name;
                let address = Ipv4Addr::from(given.address);
                let text = format!("dhcp-client on {name} got IP address {address}");
                r.stats.log.say(now, "dhcp,info", &text);
            }
            let ntp = machine.given.as_ref().map_or(&[][..], |given| &given.ntp);
            if client.use_ntp && ntp != given.ntp {
                ntp::adopt(r, now);
            }
            machine.given = Some(given);
        }
        Some(Kind::Nak) if waits => {
            if machine.given.is_some() {
                lost(r, now, program, client, machine, "received NAK");
            }
            let xid = r.services.dice.throw() as u32;
            machine.search(now, xid);
            machine.due = now + PAUSE;
        }
        _ => {}
    }
}

impl Given {
    /// What an acknowledgement gives; `None` if it is no address one could use.
    fn read(now: Moment, message: &Message, station: MacAddr, machine: &Machine) -> Option<Given> {
        let address = Some(message.yiaddr).filter(|&address| icmp::is_host(address))?;
        let mask = message.number(option::SUBNET_MASK);
        let len = match mask {
            Some(mask) if mask.leading_ones() == mask.count_ones() => mask.leading_ones() as u8,
            Some(_) => return None,
            // The natural network (RFC 950 §2.1).
            None => match address >> 30 {
                0 | 1 => 8,
                2 => 16,
                _ => 24,
            },
        };
        let time = message.number(option::LEASE_TIME)?.max(SHORTEST);
        let rebind = message.number(option::REBIND).filter(|&at| at < time);
        let rebind = rebind.unwrap_or((u64::from(time) * 7 / 8) as u32);
        let renew = message.number(option::RENEW).filter(|&at| at < rebind);
        let renew = renew.unwrap_or((time / 2).min(rebind));
        let server = message.number(option::SERVER).filter(|&server| icmp::is_host(server));
        let before = machine.given.as_ref().map(|given| given.server);
        let after = |seconds: u32| now + Duration::from_secs(seconds.into());
        let servers = |code| {
            let mut servers = message.addresses(code);
            servers.retain(|&server| icmp::is_host(server));
            servers.truncate(MAX_SERVERS);
            servers
        };
        let is_way = |&(network, gateway): &(Ipv4Prefix, u32)| {
            let is_sane = network.len() == 0 || icmp::is_host(network.bits() | 1);
            is_sane && (gateway == 0 || icmp::is_host(gateway) && gateway != address)
        };
        let classless = message.classless_routes().map(|mut routes| {
            routes.retain(is_way);
            routes.truncate(MAX_ROUTES);
            routes
        });
        Some(Given {
            address,
            classless: classless.filter(|routes| !routes.is_empty()),
            network: Ipv4Prefix::new(address, len),
            gateway: message
                .number(option::ROUTER)
                .filter(|&gateway| icmp::is_host(gateway) && gateway != address),
            dns: servers(option::DNS),
            ntp: servers(option::NTP),
            server: server.or(before).unwrap_or(machine.offer.1),
            station,
            renew: after(renew.max(1)),
            rebind: after(rebind.max(1)),
            end: after(time),
        })
    }
}

impl Given {
    /// The routes to have; with `both` the default route beside classless ones.
    fn routes(&self, both: bool) -> Vec<(Ipv4Prefix, u32)> {
        let mut routes = self.classless.clone().unwrap_or_default();
        let is_default = |(network, _): &(Ipv4Prefix, u32)| network.len() == 0;
        let wanted = self.classless.is_none() || both && !routes.iter().any(is_default);
        let gateway = self.gateway.filter(|_| wanted);
        routes.extend(gateway.map(|gateway| (Ipv4Prefix::new(0, 0), gateway)));
        routes
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
    if client.use_ntp && !given.ntp.is_empty() {
        ntp::adopt(r, now);
    }
    want(r, program, client, &given, false);
    let name = &program.interface(client.interface).name;
    let address = Ipv4Addr::from(given.address);
    let text = format!("dhcp-client on {name} lost IP address {address} - {why}");
    r.stats.log.say(now, "dhcp,critical,error", &text);
}

/// Wants the client's script to run, with what it may know in front of it.
fn want(r: &mut Router, program: &Program, client: &Client, given: &Given, bound: bool) {
    let interface = &program.interface(client.interface).name;
    let show = |address: u32| Ipv4Addr::from(address).to_string();
    let known = [
        ("bound", u8::from(bound).to_string()),
        ("interface", config::quote_always(interface)),
        ("lease-address", show(given.address)),
        ("gateway-address", given.gateway.map_or("\"\"".to_string(), show)),
        ("server-address", show(given.server)),
    ];
    r.services.want_script(format!("dhcp-client {interface}"), &known, &client.script);
}

/// Notes what clients have been given: news, if it is something else than before.
fn note(r: &mut Router) {
    let program = &r.program;
    let given = program.dhcp.clients.iter().filter_map(|client| {
        let given = r.services.clients.get(&client.id)?.given.as_ref()?;
        Some(Leased {
            client: client.id,
            interface: client.interface,
            address: given.address,
            network: given.network,
            routes: client.route.map(|_| given.routes(client.both)).unwrap_or_default(),
            distance: client.route.unwrap_or_default(),
        })
    });
    let leased: Vec<Leased> = given.collect();
    if r.services.leased[..] != leased[..] {
        r.services.leased = leased.into();
    }
}

/// Those that have an address and will not be there any more give it back; `next` is what comes.
pub(crate) fn resign(r: &mut Router, now: Moment, next: &Program) {
    let program = r.program.clone();
    for client in &program.dhcp.clients {
        let stays = |other: &Client| (other.id, other.interface) == (client.id, client.interface);
        if !next.dhcp.clients.iter().any(stays) {
            give_back(r, now, &program, client);
        }
    }
}

/// Gives an address back, and forgets the client.
fn give_back(r: &mut Router, now: Moment, program: &Program, client: &Client) {
    let Some(mut machine) = r.services.clients.remove(&client.id) else { return };
    if machine.given.is_some() {
        if program.runs(client.interface) {
            machine.xid = r.services.dice.throw() as u32;
            machine.began = now;
            machine.state = State::Bound;
            say(r, now, program, client, &machine, Kind::Release);
        }
        lost(r, now, program, client, &mut machine, "lease stopped locally");
    }
}

/// The command `release`: gives the address back and looks for one again.
pub(super) fn release(r: &mut Router, now: Moment, id: ItemId) {
    let program = r.program.clone();
    if let Some(client) = program.dhcp.clients.iter().find(|client| client.id == id) {
        give_back(r, now, &program, client);
        r.services.due = now;
        note(r);
    }
}

/// The command `renew`: asks the server at once.
pub(super) fn renew(r: &mut Router, now: Moment, id: ItemId) {
    if let Some(machine) = r.services.clients.get_mut(&id) {
        machine.due = now;
        r.services.due = now;
    }
}

impl Router {
    /// The time servers that clients were told, by those that use them.
    pub(crate) fn dynamic_times(&self) -> Vec<u32> {
        let users = self.program.dhcp.clients.iter().filter(|client| client.use_ntp);
        let given =
            users.filter_map(|client| self.services.clients.get(&client.id)?.given.as_ref());
        given.flat_map(|given| given.ntp.iter().copied()).collect()
    }

    /// The name servers that clients of DHCP and PPP were told, by those that use them.
    pub(crate) fn dynamic_servers(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for client in self.program.dhcp.clients.iter().filter(|client| client.use_dns) {
            let machine = self.services.clients.get(&client.id);
            let dns = machine.and_then(|machine| machine.given.as_ref()).map(|given| &given.dns);
            for &server in dns.into_iter().flatten() {
                if !all.contains(&server) {
                    all.push(server);
                }
            }
        }
        let uses = |call: &&crate::interface::ppp::calls::Call| {
            call.client().is_some_and(|client| client.uses_dns)
        };
        for call in self.link.calls.all().filter(uses).filter(|call| call.is_open()) {
            for server in call.machine.dns() {
                if server != 0 && !all.contains(&server) {
                    all.push(server);
                }
            }
        }
        all
    }
}
