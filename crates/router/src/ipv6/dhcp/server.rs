//! `/ipv6 dhcp-server`: what clients ask, and what they are answered (RFC 8415 §18.3).
//!
//! ```text
//! solicit ─► [bind] ─► advertise, or with rapid commit reply
//! request, renew, rebind ─► [bind] ─► reply           release, decline ─► free
//! confirm ─► are they of this link?                   information-request ─► name servers, options
//! ```
//!
//! Clients behind relays (RFC 8415 §19.3) are served as those of the interface by which the relay is heard.
//!
//! To a delegated prefix a route leads, by the client's address on its link, or by its relay. An offer that is not taken
//! ends after a minute. There are no more than [`MAX`] bindings, and no message asks for more than
//! [`ASKED`] of them.

use super::menu::show_duid;
use super::settings::{Server, Typed};
use super::{client, dns_servers, duid};
use crate::interface::InterfaceId;
use crate::ip::route::Target;
use crate::ipv6::found::{self, Found, Told};
use crate::ipv6::pool::{Owner, Pool};
use crate::program::Program;
use crate::router::Router;
use config::ItemId;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::dhcp6::{Association, Kind, Lent, Message, Relayed, option, status};
use wire::{Ipv6Prefix, Moment};

/// Whose a binding is: the server's, the client's DUID, its number, and whether it is of prefixes.
pub(super) type Key = (ItemId, Vec<u8>, u32, bool);

/// What was given out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings(BTreeMap<Key, Binding>);

/// A prefix, or an address, that a client has.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) prefix: Ipv6Prefix,
    pub(super) bound: bool,
    pub(super) expires: Moment,
    pub(super) seen: Moment,
    /// The client's address on its link.
    pub(super) client: u128,
    pub(super) typed: Option<ItemId>,
}

impl Bindings {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Binding)> {
        self.0.iter()
    }
}

/// How long an offer stands.
const OFFERED: Duration = Duration::from_secs(60);
/// The most bindings.
const MAX: usize = 1 << 16;
/// The most associations of a message that are answered.
const ASKED: usize = 4;
/// The most bytes of options: an answer fits one frame.
const MAX_OPTIONS: usize = 800;

/// Ends what has expired; returns when something does next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let ended = r.services.v6.bindings.0.extract_if(.., |_, binding| now >= binding.expires);
    for (key, binding) in ended.collect::<Vec<_>>() {
        ends(r, &key, &binding);
    }
    r.services.v6.bindings.0.values().map(|binding| binding.expires).min()
}

/// The configuration is another one: what does not fit it any more ends.
pub(crate) fn adopt(r: &mut Router) {
    let program = r.program.clone();
    let (v6, used) = (&program.v6, &mut r.services.v6.used);
    r.services.v6.bindings.0.retain(|(server, ..), binding| {
        let server = v6.dhcp.servers.iter().find(|other| other.id == *server);
        let typed = binding.typed.is_none_or(|id| {
            v6.dhcp.typed.iter().any(|typed| typed.id == id && typed.prefix == binding.prefix)
        });
        let has = |server: &Server| {
            binding.typed.is_some() || pools(&program, server).any(|pool| pool.has(binding.prefix))
        };
        let stays = typed && server.is_some_and(has);
        if !stays {
            used.free(binding.prefix);
        }
        stays
    });
}

fn pools<'a>(program: &'a Program, server: &'a Server) -> impl Iterator<Item = &'a Pool> {
    program.v6.pools.iter().filter(|pool| server.pools.contains(&pool.name))
}

/// The answer to a relay's message, however many relays it has come by.
pub(super) fn relayed(
    r: &mut Router,
    now: Moment,
    server: &Server,
    from: u128,
    asked: &Relayed,
    depth: u8,
) -> Option<Relayed> {
    /// HOP_COUNT_LIMIT (RFC 8415 §7.6).
    const DEEPEST: u8 = 8;
    let inside = asked.get(option::RELAYED).filter(|_| depth <= DEEPEST)?;
    let answer = match Relayed::read(inside) {
        Some(inner) if inner.reply => return None,
        Some(inner) => relayed(r, now, server, from, &inner, depth + 1)?.to_bytes(),
        None => answer(r, now, server, from, &Message::read(inside)?)?.to_bytes(),
    };
    let name = asked.get(option::INTERFACE_ID).map(|name| (option::INTERFACE_ID, name.to_vec()));
    let options = name.into_iter().chain([(option::RELAYED, answer)]).collect();
    let &Relayed { hops, link, peer, .. } = asked;
    Some(Relayed { reply: true, hops, link, peer, options })
}

/// The answer to a client's message, from its address on the link, or from a relay's; `None`: it is for
/// others, or for nobody.
pub(super) fn answer(
    r: &mut Router,
    now: Moment,
    server: &Server,
    from: u128,
    message: &Message,
) -> Option<Message> {
    let program = r.program.clone();
    let interface = server.interface;
    let own = duid(program.interface(interface).mac);
    let to_us = message.duid(option::SERVER_ID).map(|server| server == own);
    let client = message.duid(option::CLIENT_ID).map(<[u8]>::to_vec);
    // Who is spoken to (RFC 8415 §16): one server by its name, or whoever hears it.
    let is_ours = match message.kind {
        Kind::Solicit | Kind::Confirm | Kind::Rebind => to_us.is_none() && client.is_some(),
        Kind::Request | Kind::Renew | Kind::Release | Kind::Decline => {
            to_us == Some(true) && client.is_some()
        }
        Kind::Information => to_us != Some(false) && message.associations.is_empty(),
        _ => false,
    };
    if !is_ours {
        return None;
    }
    let rapid = server.rapid && message.get(option::RAPID_COMMIT).is_some();
    let offers = message.kind == Kind::Solicit && !rapid;
    let mut answer = Message::new(if offers { Kind::Advertise } else { Kind::Reply }, message.xid);
    let id = client.clone().unwrap_or_default();
    if client.is_some() {
        answer.push(option::CLIENT_ID, id.clone());
    }
    answer.push(option::SERVER_ID, own);
    let asked = message.associations.iter().take(ASKED);
    match message.kind {
        Kind::Solicit | Kind::Request | Kind::Renew | Kind::Rebind => {
            if message.kind == Kind::Solicit {
                answer.push(option::PREFERENCE, [server.preference]);
                if rapid {
                    answer.push(option::RAPID_COMMIT, []);
                }
            }
            for asked in asked {
                let given = bind(r, now, &program, server, (&id, from), asked, !offers);
                answer.associations.push(given);
            }
            let nothing = answer.associations.iter().all(|given| given.lent.is_empty());
            // Who asks any server is not told no by one that has nothing (RFC 8415 §18.3.5).
            if message.kind == Kind::Rebind && nothing {
                return None;
            }
        }
        Kind::Release | Kind::Decline => {
            for asked in asked {
                end(r, server, (id.clone(), asked));
            }
            answer.push(option::STATUS, status::SUCCESS.to_be_bytes());
        }
        Kind::Confirm => {
            let mut lent = asked.flat_map(|asked| &asked.lent).peekable();
            lent.peek()?;
            let own = program.v6.addresses.iter().filter(|own| own.interface == interface);
            let on_link = |lent: &Lent| {
                let bits = u128::from(lent.address);
                own.clone().any(|own| !own.is_link_local() && own.network.contains(bits))
                    || pools(&program, server).any(|pool| pool.prefix.contains(bits))
            };
            let all = lent.all(on_link);
            let code = if all { status::SUCCESS } else { status::NOT_ON_LINK };
            answer.push(option::STATUS, code.to_be_bytes());
        }
        _ => {}
    }
    options(r, server, message, &mut answer);
    r.services.due = r.services.due.min(now);
    found::note(r);
    Some(answer)
}

/// The options that are asked for, and those that a user wrote.
fn options(r: &Router, server: &Server, message: &Message, answer: &mut Message) {
    let typed = |code: u16| server.options.iter().any(|(other, _)| *other == code);
    let dns = dns_servers(r);
    if message.wants(option::DNS) && !typed(option::DNS) && !dns.is_empty() {
        let bytes: Vec<u8> = dns.iter().take(4).flat_map(|server| server.to_be_bytes()).collect();
        answer.push(option::DNS, bytes);
    }
    let mut left = MAX_OPTIONS;
    for (code, data) in &server.options {
        let Some(rest) = left.checked_sub(data.len() + 4) else { break };
        left = rest;
        answer.push(*code, data.clone());
    }
}

/// Gives a client what it asks for: what it has, what is typed for it, what it would like, what is free.
fn bind(
    r: &mut Router,
    now: Moment,
    program: &Program,
    server: &Server,
    (id, from): (&[u8], u128),
    asked: &Association,
    commits: bool,
) -> Association {
    let (is_pd, iaid) = (asked.is_pd, asked.iaid);
    let mut given = Association { is_pd, iaid, t1_s: 0, t2_s: 0, lent: Vec::new(), status: None };
    let key = (server.id, id.to_vec(), iaid, is_pd);
    let typed = typed(program, server, id, asked);
    let held = r.services.v6.bindings.0.get(&key).map(|held| (held.prefix, held.bound));
    let kept = held.map(|(prefix, _)| prefix);
    let kept = kept.filter(|&prefix| typed.is_none_or(|typed| typed.prefix == prefix));
    if let (Some((prefix, _)), None) = (held, kept) {
        r.services.v6.used.free(prefix);
        r.services.v6.bindings.0.remove(&key);
    }
    let Some(prefix) = kept.or_else(|| choose(r, program, server, typed, asked)) else {
        given.status = Some(match is_pd {
            true => status::NO_PREFIXES,
            false => status::NO_ADDRESSES,
        });
        return given;
    };
    let lasts = typed.and_then(|typed| typed.lease_time).unwrap_or(server.lease_time);
    let lasts = lasts.as_secs().clamp(10, u64::from(u32::MAX) - 1) as u32;
    // What was delegated to us is not given for longer (RFC 8415 §18.3.9 leaves it to us).
    let (preferred, valid) = client::left(r, now, prefix).unwrap_or((u32::MAX, u32::MAX));
    let (preferred_s, valid_s) = (lasts.min(preferred).min(valid), lasts.min(valid));
    let bound = commits || held.is_some_and(|(_, bound)| bound);
    let expires = match commits {
        true => now + Duration::from_secs(valid_s.into()),
        false => now + OFFERED,
    };
    let fresh = Binding {
        prefix,
        bound,
        expires,
        seen: now,
        client: from,
        typed: typed.map(|typed| typed.id),
    };
    let binding = r.services.v6.bindings.0.entry(key).or_insert_with(|| fresh.clone());
    if commits {
        if !held.is_some_and(|(_, bound)| bound) {
            let text = format!("{} assigned {prefix}", server.name);
            r.stats.log.say(now, "dhcp,info", &text);
        }
        *binding = fresh;
    }
    binding.seen = now;
    if commits && !held.is_some_and(|(_, bound)| bound) {
        want_script(r, server, id, prefix, true);
    }
    (given.t1_s, given.t2_s) = (preferred_s / 2, (u64::from(preferred_s) * 4 / 5) as u32);
    let (address, len) = (prefix.bits().into(), prefix.len());
    given.lent.push(Lent { address, len, preferred_s, valid_s });
    // What the client believes to have and does not (RFC 8415 §18.3.4): no longer.
    let others = asked.lent.iter().filter(|lent| lent.address != address).take(ASKED);
    let others = others.filter(|lent| !lent.address.is_unspecified());
    given.lent.extend(others.map(|&lent| Lent { preferred_s: 0, valid_s: 0, ..lent }));
    given
}

/// The typed binding of a client.
fn typed<'a>(
    program: &'a Program,
    server: &Server,
    id: &[u8],
    asked: &Association,
) -> Option<&'a Typed> {
    program.v6.dhcp.typed.iter().find(|typed| {
        typed.duid == id
            && (typed.prefix.len() < 128) == asked.is_pd
            && typed.server.is_none_or(|id| id == server.id)
            && typed.iaid.is_none_or(|iaid| iaid == asked.iaid)
    })
}

fn choose(
    r: &mut Router,
    program: &Program,
    server: &Server,
    typed: Option<&Typed>,
    asked: &Association,
) -> Option<Ipv6Prefix> {
    let used = &mut r.services.v6.used;
    let info = &server.name;
    if let Some(typed) = typed {
        return used.claim(typed.prefix, Owner::Server, info).then_some(typed.prefix);
    }
    if r.services.v6.bindings.0.len() >= MAX {
        return None;
    }
    let reserved =
        |prefix: Ipv6Prefix| program.v6.dhcp.typed.iter().any(|typed| typed.prefix == prefix);
    // The router's own addresses, and that of all routers, are nobody's.
    let own = |prefix: Ipv6Prefix| prefix.len() == 128 && program.v6.routes.is_own(prefix.bits());
    let may = |prefix: Ipv6Prefix| !reserved(prefix) && !own(prefix);
    let fits = |pool: &&Pool| (pool.len < 128) == asked.is_pd;
    for lent in &asked.lent {
        let wanted = Ipv6Prefix::new(lent.address.into(), lent.len);
        let has = pools(program, server).filter(fits).any(|pool| pool.has(wanted));
        if has && may(wanted) && used.claim(wanted, Owner::Server, info) {
            return Some(wanted);
        }
    }
    pools(program, server).filter(fits).find_map(|pool| {
        let one = std::slice::from_ref(pool);
        used.take(one, &pool.name, (Owner::Server, info), may)
    })
}

fn end(r: &mut Router, server: &Server, (id, asked): (Vec<u8>, &Association)) {
    let key = (server.id, id, asked.iaid, asked.is_pd);
    if let Some(binding) = r.services.v6.bindings.0.remove(&key) {
        ends(r, &key, &binding);
    }
}

/// Frees what a binding that is no more had.
fn ends(r: &mut Router, (server, duid, ..): &Key, binding: &Binding) {
    r.services.v6.used.free(binding.prefix);
    let program = r.program.clone();
    let server = program.v6.dhcp.servers.iter().find(|other| other.id == *server);
    if let Some(server) = server.filter(|_| binding.bound) {
        want_script(r, server, duid, binding.prefix, false);
    }
}

/// Wants the server's script to run for a client that is bound now, or is no more.
fn want_script(r: &mut Router, server: &Server, duid: &[u8], prefix: Ipv6Prefix, bound: bool) {
    let (address, delegated) = match prefix.len() {
        128 => (prefix.to_string(), String::new()),
        _ => (String::new(), prefix.to_string()),
    };
    let known = [
        ("bindingBound", u8::from(bound).to_string()),
        ("bindingServerName", config::quote_always(&server.name)),
        ("bindingDUID", config::quote_always(&show_duid(duid))),
        ("bindingAddress", config::quote_always(&address)),
        ("bindingPrefix", config::quote_always(&delegated)),
    ];
    r.services.want_script(format!("dhcpv6-server {}", server.name), &known, &server.script);
}

/// Tells the routes to what was delegated.
pub(crate) fn tell(r: &Router, found: &mut Found) {
    let servers = &r.program.v6.dhcp.servers;
    for ((id, _, _, is_pd), binding) in &r.services.v6.bindings.0 {
        let Some(server) = servers.iter().find(|server| server.id == *id) else { continue };
        if *is_pd && binding.bound {
            // To a relay beyond the link other routes lead.
            let of_link = Ipv6Prefix::LINK_LOCAL.contains(binding.client);
            let bound = if of_link { server.interface } else { InterfaceId::NONE };
            let target = Target::Gateways(vec![(bound, binding.client)]);
            let (prefix, distance, by) = (binding.prefix, server.distance, "dhcp");
            found.routes.push(Told { prefix, distance, target, check: None, by });
        }
    }
}
