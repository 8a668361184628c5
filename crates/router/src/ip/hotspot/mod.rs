//! `/ip hotspot`: clients of a network get no further than to a page where they log in.
//!
//! ```text
//! HOTSPOT-IN  ─► [come] ─┬─ logged in, or bypassed ─► on, counted
//!                        ├─ DHCP, the walled garden ─► on
//!                        ├─ DNS ─► dst-nat to the router
//!                        ├─ HTTP ─► dst-nat to the router ─► [login]: the page, names and passwords
//!                        └─ all else ─► refused
//! HOTSPOT-OUT ─► [go]: to clients who are logged in, counted; to others only answers
//! ```
//!
//! A client is an address with its MAC address. What those do who are not logged in goes box by box, each time; the
//! others' packets go by recipes as any, and their recipes are forgotten when they log out. FastTracked packets
//! pass without a look, as in RouterOS. Connections are tracked wherever there is a hotspot.
//!
//! Missing: clients with addresses of another network (`address-pool`), HTTPS, RADIUS, the walled garden by names of
//! hosts, pages of one's own (`html-directory`), CHAP on the page, advertisements, IPv6 (which RouterOS lets
//! pass, too).
//!
//! # DoS
//!
//! Of [`MOST`] clients those make room who are not logged in. Wrong passwords are answered, nothing else.

// What is typed.
pub(crate) mod menu;
// What is shown.
pub(crate) mod rows;
// The page.
pub(crate) mod login;

use super::http;
use super::icmp;
use crate::counter::CounterId;
use crate::discard::Discard;
use crate::flow::{refuse, reset};
use crate::interface::InterfaceId;
use crate::interface::ppp::rate::Rate;
use crate::packet::{ConnectionState, Packet};
use crate::parts::Stacked;
use crate::router::Router;
use config::Item;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use wire::layers::{ETHERTYPE_IPV4, protocol};
use wire::{Ipv4Range, MacAddr, Moment};

/// Clients there can be.
const MOST: usize = 8192;
/// The port of the page.
pub(crate) const HTTP: u16 = 64_873;
/// How often somebody looks whether a client's time is over.
const LOOK: Duration = Duration::from_secs(1);

/// All hotspots, compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    servers: Vec<Server>,
    users: BTreeMap<String, User>,
    bindings: Vec<Binding>,
    garden: Vec<Garden>,
}

impl Settings {
    /// Whether there is one.
    pub(crate) fn is_on(&self) -> bool {
        !self.servers.is_empty()
    }

    fn on(&self, interface: InterfaceId) -> Option<&Server> {
        self.servers.iter().find(|server| server.interface == interface)
    }

    /// A user by its name, or the one that a client's trial is.
    fn user(&self, name: &str, client: &Client) -> Option<Cow<'_, User>> {
        if let Some(user) = self.users.get(name) {
            return Some(Cow::Borrowed(user));
        }
        let server = self.on(client.interface)?;
        let is_its = server.trial_of(client.mac).is_some_and(|own| own == name);
        let trial = server.trial.as_ref().filter(|_| is_its)?;
        let (uptime, profile) = (Some(trial.uptime), trial.profile.clone());
        let (server, address, mac) = (None, None, None);
        let password = String::new();
        Some(Cow::Owned(User { password, server, address, mac, uptime, bytes: [0; 3], profile }))
    }
}

/// `/ip hotspot`, one, and its profile.
#[derive(Clone, Debug, PartialEq)]
struct Server {
    name: String,
    interface: InterfaceId,
    /// The address of the page.
    address: Option<u32>,
    idle: Option<Duration>,
    login_timeout: Option<Duration>,
    /// How many clients may have one MAC address; 0 is any number.
    per_mac: u64,
    by_cookie: Option<Duration>,
    /// Whether MAC addresses log in, and with which password.
    by_mac: Option<String>,
    by_page: bool,
    trial: Option<Trial>,
}

/// Clients without a name may go on for a while.
#[derive(Clone, Debug, PartialEq)]
struct Trial {
    uptime: Duration,
    /// After so long they may again.
    again: Duration,
    profile: Profile,
}

impl Server {
    /// What a trial is called.
    fn trial_of(&self, mac: MacAddr) -> Option<String> {
        self.trial.as_ref().map(|_| format!("T-{mac}"))
    }
}

/// `/ip hotspot user`, and its profile.
#[derive(Clone, Debug, PartialEq)]
struct User {
    password: String,
    server: Option<String>,
    address: Option<u32>,
    mac: Option<MacAddr>,
    uptime: Option<Duration>,
    /// In, out, both.
    bytes: [u64; 3],
    profile: Profile,
}

/// `/ip hotspot user profile`.
#[derive(Clone, Debug, PartialEq)]
struct Profile {
    shared: u64,
    rate: Option<Rate>,
    session: Option<Duration>,
    idle: Option<Duration>,
    list: Option<String>,
    on_login: String,
    on_logout: String,
}

/// `/ip hotspot ip-binding`.
#[derive(Clone, Debug, PartialEq)]
struct Binding {
    addresses: Option<Ipv4Range>,
    mac: Option<MacAddr>,
    server: Option<String>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Regular,
    Bypassed,
    Blocked,
}

/// `/ip hotspot walled-garden ip`.
#[derive(Clone, Debug, PartialEq)]
struct Garden {
    action: Action,
    server: Option<String>,
    src: Option<Ipv4Range>,
    dst: Option<Ipv4Range>,
    protocol: Option<u8>,
    ports: Option<Vec<(u16, u16)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Accept,
    Drop,
    Reject,
}

/// What hotspots know between packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    clients: BTreeMap<u32, Client>,
    /// By what browsers keep.
    cookies: HashMap<String, Cookie>,
    /// What users have had, those that are over.
    had: BTreeMap<String, Had>,
    /// The next client's number.
    next: u32,
    pub(crate) talks: http::Talks,
    /// Rates of those who are logged in, which are queues.
    pub(crate) rated: Arc<[Rated]>,
}

/// A rate-limit that is a queue while a client is logged in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rated {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) address: u32,
    pub(crate) rate: Rate,
}

impl Rated {
    /// The queue.
    pub(crate) fn queue(&self) -> Arc<Item> {
        self.rate.queue_of_client(self.number, self.name.clone(), self.address)
    }
}

/// A client.
#[derive(Clone, Debug)]
struct Client {
    mac: MacAddr,
    interface: InterfaceId,
    since: Moment,
    /// Its counters' number.
    number: u32,
    kind: Kind,
    active: Option<Active>,
    /// When it was last seen to do something, and how much there was then.
    seen: Moment,
    packets: u64,
}

/// A client who is logged in.
#[derive(Clone, Debug)]
struct Active {
    user: String,
    since: Moment,
    by: &'static str,
    /// What the client had had before, in and out.
    before: [u64; 2],
}

#[derive(Clone, Debug)]
struct Cookie {
    user: String,
    mac: MacAddr,
    until: Moment,
}

/// What a user has had.
#[derive(Clone, Copy, Debug, Default)]
struct Had {
    uptime: Duration,
    bytes: [u64; 2],
    /// When it was there first.
    first: Moment,
}

/// The counters of a client: in and out.
fn counters(number: u32) -> [CounterId; 2] {
    [2 * number, 2 * number + 1].map(CounterId::of_client)
}

/// HOTSPOT-IN: a packet has come; gives it back if it may go on.
pub(crate) fn come<F: Stacked>(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    match F::ETHERTYPE == ETHERTYPE_IPV4 && r.program.hotspot.on(p.in_interface).is_some() {
        true => meet(r, now, p),
        false => Some(p),
    }
}

fn meet(r: &mut Router, now: Moment, mut p: Packet) -> Option<Packet> {
    let program = r.program.clone();
    let (settings, tuple) = (&program.hotspot, p.layers.tuple);
    let server = settings.on(p.in_interface)?;
    if !icmp::is_host(tuple.src) || r.dst_mac(&p).is_multicast() {
        return Some(p); // DHCP, for one
    }
    let mac = r.src_mac(&p);
    greet(r, now, server, (tuple.src, mac));
    let client = r.services.hotspot.clients.get(&tuple.src).map(|client| {
        let is_in = client.active.is_some() || client.kind == Kind::Bypassed;
        (client.kind, is_in, client.number)
    });
    let Some((kind, is_in, number)) = client else {
        r.discard(p, Discard::HotspotBlocked);
        return None;
    };
    let is_own = r.program.is_local(tuple.dst);
    let is_tcp = |port: u16| tuple.protocol == protocol::TCP && tuple.dst_port == port;
    if kind == Kind::Blocked {
        r.discard(p, Discard::HotspotBlocked);
        return None;
    }
    let is_page = server.address == Some(tuple.dst) && is_tcp(80);
    if is_in && !is_page {
        let counter = counters(number)[0];
        r.stats.counters.add(counter, p.ip_len.into());
        p.trace.counters.push(counter);
        return Some(p);
    }
    // The next one may be treated otherwise, without any change of the configuration.
    p.trace.once = true;
    let is_dns = tuple.dst_port == 53 && matches!(tuple.protocol, protocol::UDP | protocol::TCP);
    let is_dhcp = tuple.protocol == protocol::UDP && tuple.dst_port == 67;
    let is_ours = is_own && (is_dhcp || tuple.protocol == protocol::ICMP);
    if is_page || is_tcp(HTTP) && is_own {
        p.redirected = Some(HTTP);
        return Some(p);
    }
    if is_dns {
        // What calls itself so may be anything: names are asked here.
        p.redirected = Some(53);
    }
    if is_dns || is_ours {
        return Some(p);
    }
    let fits = |garden: &&Garden| {
        let holds = |range: &Option<Ipv4Range>, address| range.is_none_or(|r| r.contains(address));
        let within = |ports: &Vec<(u16, u16)>| {
            ports.iter().any(|(low, high)| (*low..=*high).contains(&tuple.dst_port))
        };
        garden.server.as_ref().is_none_or(|name| *name == server.name)
            && holds(&garden.src, tuple.src)
            && holds(&garden.dst, tuple.dst)
            && garden.protocol.is_none_or(|protocol| protocol == tuple.protocol)
            && garden.ports.as_ref().is_none_or(within)
    };
    match settings.garden.iter().find(fits).map(|garden| garden.action) {
        Some(Action::Accept) => return Some(p),
        Some(Action::Drop) => {
            r.discard(p, Discard::HotspotLogin);
            return None;
        }
        Some(Action::Reject) => {}
        None if is_tcp(80) => {
            p.redirected = Some(HTTP);
            return Some(p);
        }
        None => {}
    }
    match tuple.protocol {
        protocol::TCP => reset(r, now, p, Discard::HotspotLogin),
        _ => refuse(r, now, p, Discard::HotspotLogin, icmp::Error::ADMIN_PROHIBITED),
    }
    None
}

/// Knows a client by its first packet; one whose address has another MAC address is somebody else.
fn greet(r: &mut Router, now: Moment, server: &Server, (address, mac): (u32, MacAddr)) {
    let clients = &r.services.hotspot.clients;
    match clients.get(&address) {
        Some(known) if known.mac == mac => return,
        Some(_) => leave(r, now, address, "somebody else has its address"),
        None if clients.len() >= MOST => {
            let idle = clients.iter().find(|(_, client)| client.active.is_none());
            let Some(idle) = idle.map(|(address, _)| *address) else { return };
            r.services.hotspot.clients.remove(&idle);
        }
        None => {}
    }
    let state = &mut r.services.hotspot;
    let of_mac = state.clients.values().filter(|client| client.mac == mac).count() as u64;
    if server.per_mac > 0 && of_mac >= server.per_mac {
        return;
    }
    let settings = &r.program.hotspot;
    let binds = |binding: &&Binding| {
        binding.addresses.is_none_or(|range| range.contains(address))
            && binding.mac.is_none_or(|own| own == mac)
            && binding.server.as_ref().is_none_or(|name| *name == server.name)
    };
    let kind = settings.bindings.iter().find(binds).map_or(Kind::Regular, |binding| binding.kind);
    // There are more numbers than clients.
    while state.clients.values().any(|client| client.number == state.next) {
        state.next = (state.next + 1) & CounterId::CLIENTS;
    }
    let number = state.next;
    state.next = (state.next + 1) & CounterId::CLIENTS;
    let interface = server.interface;
    let (since, seen) = (now, now);
    let client = Client { mac, interface, since, number, kind, active: None, seen, packets: 0 };
    state.clients.insert(address, client);
    counters(number).into_iter().for_each(|counter| r.stats.counters.reset(counter));
    if let (Some(password), Kind::Regular) = (&server.by_mac, kind) {
        let password = password.clone();
        let _ = admit(r, now, address, &mac.to_string(), &password, "mac");
    }
    r.services.due = r.services.due.min(now + LOOK);
}

/// HOTSPOT-OUT: a packet is to leave, maybe for a client; gives it back if it may.
pub(crate) fn go<F: Stacked>(r: &mut Router, p: Packet, dst: F) -> Option<Packet> {
    let is_one = F::ETHERTYPE == ETHERTYPE_IPV4 && r.program.hotspot.on(p.out_interface).is_some();
    if is_one { leaves(r, p, dst.folded()) } else { Some(p) }
}

fn leaves(r: &mut Router, mut p: Packet, dst: u32) -> Option<Packet> {
    let client = r.services.hotspot.clients.get(&dst);
    let is_in = |client: &&Client| client.active.is_some() || client.kind == Kind::Bypassed;
    if let Some(number) = client.filter(is_in).map(|client| client.number) {
        let counter = counters(number)[1];
        r.stats.counters.add(counter, p.ip_len.into());
        p.trace.counters.push(counter);
        return Some(p);
    }
    p.trace.once = true;
    // Answers, and what the router itself says.
    if p.connection_state != ConnectionState::New || !p.port.is_some() {
        return Some(p);
    }
    r.discard(p, Discard::HotspotLogin);
    None
}

/// Whether somebody may ask for the page by this interface.
pub(crate) fn listens(r: &Router, on: InterfaceId) -> bool {
    r.program.hotspot.on(on).is_some()
}

/// Logs a client in.
///
/// # Errors
/// Why not, in words for the page.
fn admit(
    r: &mut Router,
    now: Moment,
    address: u32,
    name: &str,
    password: &str,
    by: &'static str,
) -> Result<(), &'static str> {
    let program = r.program.clone();
    let state = &r.services.hotspot;
    let Some(client) = state.clients.get(&address) else { return Err("unknown client") };
    let server = program.hotspot.on(client.interface).ok_or("no hotspot here")?;
    let known = program.hotspot.user(name, client).filter(|user| {
        user.password == password
            && user.server.as_ref().is_none_or(|own| *own == server.name)
            && user.address.is_none_or(|own| own == address)
            && user.mac.is_none_or(|own| own == client.mac)
    });
    let Some(user) = known else { return Err("invalid username or password") };
    if !state.had.contains_key(name) && state.had.len() >= MOST + program.hotspot.users.len() {
        return Err("too many have tried");
    }
    if is_spent(state.had.get(name).copied().unwrap_or_default(), &user) {
        return Err("the limit of this user is reached");
    }
    let others = state.clients.iter().filter(|(other, client)| {
        **other != address && client.active.as_ref().is_some_and(|active| active.user == name)
    });
    if user.profile.shared > 0 && others.count() as u64 >= user.profile.shared {
        return Err("no more sessions are allowed for this user");
    }
    r.learnt.recipes.fold(&mut r.stats.counters);
    let before = bytes(r, client_number(r, address));
    let Some(client) = r.services.hotspot.clients.get_mut(&address) else { return Ok(()) };
    client.active = Some(Active { user: name.to_string(), since: now, by, before });
    client.seen = now;
    let text = format!("{name} ({}): logged in", std::net::Ipv4Addr::from(address));
    r.stats.log.say(now, "hotspot,account,info", &text);
    if let (Some(list), Some(range)) = (&user.profile.list, Ipv4Range::new(address, address)) {
        r.rules.lists.add(list, range, None, now);
        r.follow_lists();
    }
    run(r, name, address, &user.profile.on_login);
    note(r);
    r.services.due = r.services.due.min(now + LOOK);
    Ok(())
}

fn run(r: &mut Router, name: &str, address: u32, script: &str) {
    let known = [
        ("user", format!("\"{name}\"")),
        ("address", format!("\"{}\"", std::net::Ipv4Addr::from(address))),
    ];
    r.services.want_script(format!("hotspot {name}"), &known, script);
}

fn client_number(r: &Router, address: u32) -> u32 {
    r.services.hotspot.clients.get(&address).map_or(0, |client| client.number)
}

/// What has come from a client, and what went to it.
fn bytes(r: &Router, number: u32) -> [u64; 2] {
    counters(number).map(|counter| r.stats.counters.get(counter).bytes)
}

fn is_spent(had: Had, user: &User) -> bool {
    let [inward, outward] = had.bytes;
    user.uptime.is_some_and(|limit| had.uptime >= limit)
        || [inward, outward, inward + outward]
            .iter()
            .zip(user.bytes)
            .any(|(had, limit)| limit > 0 && *had >= limit)
}

/// What a client's user has had, this time included.
fn had(r: &Router, now: Moment, client: &Client) -> Option<(String, Had)> {
    let active = client.active.as_ref()?;
    let first = Had { first: active.since, ..Had::default() };
    let mut had = r.services.hotspot.had.get(&active.user).copied().unwrap_or(first);
    had.uptime += now.since(active.since);
    let all = bytes(r, client.number);
    for ((had, all), before) in had.bytes.iter_mut().zip(all).zip(active.before) {
        *had += all.saturating_sub(before);
    }
    Some((active.user.clone(), had))
}

/// Logs a client out, if it is logged in.
fn leave(r: &mut Router, now: Moment, address: u32, why: &str) {
    r.learnt.recipes.fold(&mut r.stats.counters);
    let Some(client) = r.services.hotspot.clients.get(&address) else { return };
    let had = had(r, now, client);
    let program = r.program.clone();
    let user = had.as_ref().and_then(|(name, _)| program.hotspot.user(name, client));
    let active = r.services.hotspot.clients.get_mut(&address).and_then(|c| c.active.take());
    let (Some(_), Some((name, had))) = (active, had) else { return };
    r.services.hotspot.had.insert(name.clone(), had);
    let text = format!("{name} ({}): logged out: {why}", std::net::Ipv4Addr::from(address));
    r.stats.log.say(now, "hotspot,account,info", &text);
    r.learnt.recipes.forget();
    // FastTracked ones would go on.
    r.v4.connections.remove_of(address, HTTP);
    if let Some(user) = user {
        if let (Some(list), Some(range)) = (&user.profile.list, Ipv4Range::new(address, address)) {
            r.rules.lists.remove(&[(list.clone(), range)]);
            r.follow_lists();
        }
        run(r, &name, address, &user.profile.on_logout);
    }
    note(r);
}

/// Notes the rates of those who are logged in.
fn note(r: &mut Router) {
    let settings = &r.program.hotspot;
    let rated = r.services.hotspot.clients.iter().filter_map(|(address, client)| {
        let name = &client.active.as_ref()?.user;
        let rate = settings.user(name, client)?.profile.rate.clone()?;
        let name = format!("hs-<{name}>");
        Some(Rated { number: client.number, name, address: *address, rate })
    });
    let rated: Vec<Rated> = rated.collect();
    if r.services.hotspot.rated[..] != rated[..] {
        r.services.hotspot.rated = rated.into();
    }
}

/// Logs those out whose time is over, or who do nothing; forgets who has gone. Returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let talks = http::tick(r, now, login::SERVICE);
    if r.services.hotspot.clients.is_empty() {
        return talks;
    }
    r.learnt.recipes.fold(&mut r.stats.counters);
    let program = r.program.clone();
    let all: Vec<u32> = r.services.hotspot.clients.keys().copied().collect();
    for address in all {
        let Some(client) = r.services.hotspot.clients.get(&address) else { continue };
        let (number, interface) = (client.number, client.interface);
        let Some(server) = program.hotspot.on(interface) else {
            leave(r, now, address, "the hotspot is gone");
            r.services.hotspot.clients.remove(&address);
            continue;
        };
        let packets: u64 =
            counters(number).map(|counter| r.stats.counters.get(counter).packets).iter().sum();
        let Some(client) = r.services.hotspot.clients.get_mut(&address) else { continue };
        if std::mem::replace(&mut client.packets, packets) != packets {
            client.seen = now;
        }
        let client = client.clone();
        let quiet = now.since(client.seen);
        match &client.active {
            Some(active) => {
                let user = program.hotspot.user(&active.user, &client);
                let limit = user.as_ref().and_then(|user| user.profile.session);
                let idle = user.as_ref().and_then(|user| user.profile.idle).or(server.idle);
                let had = had(r, now, &client);
                let spent = user.as_ref().zip(had).is_some_and(|(u, (_, had))| is_spent(had, u));
                let why = match user {
                    None => Some("the user is gone"),
                    _ if limit.is_some_and(|limit| now.since(active.since) >= limit) => {
                        Some("session timeout")
                    }
                    _ if idle.is_some_and(|idle| quiet >= idle) => Some("idle timeout"),
                    _ if spent => Some("limit reached"),
                    _ => None,
                };
                if let Some(why) = why {
                    leave(r, now, address, why);
                }
            }
            None => {
                let limit = server.login_timeout.or(server.idle).unwrap_or(UNKNOWN);
                if client.kind == Kind::Regular && now.since(client.since) >= limit {
                    r.services.hotspot.clients.remove(&address);
                }
            }
        }
    }
    r.services.hotspot.cookies.retain(|_, cookie| cookie.until > now);
    let again = program.hotspot.servers.iter().filter_map(|server| server.trial.as_ref());
    if let Some(again) = again.map(|trial| trial.again).min() {
        let is_over =
            |name: &str, had: &Had| name.starts_with("T-") && now.since(had.first) >= again;
        r.services.hotspot.had.retain(|name, had| !is_over(name, had));
    }
    talks.into_iter().chain([now + LOOK]).min()
}

/// How long a client is known that does not log in, where nobody says it.
const UNKNOWN: Duration = Duration::from_secs(300);

/// The settings have changed: bindings may be others; who is logged in stays so.
pub(crate) fn adopt(r: &mut Router) {
    r.services.hotspot.clients.retain(|_, client| client.active.is_some());
    note(r);
}
