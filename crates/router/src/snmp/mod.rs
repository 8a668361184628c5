//! `/snmp`: an agent of versions 1, 2c and 3 that is asked and never told (RFC 3416, RFC 1901, RFC 3414).
//!
//! ```text
//! LOCAL IN, UDP 161 ─► community? from there? ─► GET, GETNEXT, GETBULK ─► [`mib`] ─► through OUTPUT
//!              ▲        └ no: dropped, counted, not answered
//!              └ version 3: [`users`]
//! ```
//!
//! It answers with one datagram of one frame, whatever it is asked for: who lies about his address gets
//! another no more than that. Nothing can be set.
//!
//! **Missing**: traps, informs, the rest of MikroTik's MIB, addresses of IPv6.

pub(crate) mod menu;
mod mib;
// Version 3's.
pub(crate) mod users;

use crate::discard::Discard;
use crate::ip::datagram;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::Event;
use config::ItemId;
use std::sync::Arc;
use std::time::Duration;
use wire::layers::protocol;
use wire::snmp::agent::{self, Kind, Request, Value, error};
use wire::snmp::{PORT, v3};
use wire::{Ipv4Prefix, Moment};

/// Bytes of a response's values: it fits a frame, with what version 3 has around it.
const MOST: usize = 1240;
/// How old what recipes have counted may be.
const FRESH: Duration = Duration::from_secs(1);

/// `/snmp`, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    enabled: bool,
    /// The router's name among engines of version 3.
    engine: Vec<u8>,
    contact: String,
    location: String,
    communities: Vec<Community>,
    /// Names of queues, in their order, where somebody may ask.
    simple: Arc<[(String, ItemId)]>,
    tree: Arc<[(String, ItemId)]>,
}

/// Who may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Community {
    name: String,
    from: Vec<Ipv4Prefix>,
    /// How he asks: by the name alone, or as a user of version 3.
    level: Level,
    keys: Option<users::Keys>,
}

/// `security`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    None,
    Authorized,
    Private,
}

/// Whether a packet is a question.
pub(crate) fn is_asked(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    r.program.system.snmp.enabled && tuple.protocol == protocol::UDP && tuple.dst_port == PORT
}

/// A question has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let tuple = p.layers.tuple;
    let settings = r.program.system.snmp.clone();
    let from_there = |who: &&Community| who.from.iter().any(|from| from.contains(tuple.src));
    let users: Vec<&Community> = settings.communities.iter().filter(from_there).collect();
    let may = |request: &Request| {
        let is_his = |who: &&Community| who.name.as_bytes() == request.community;
        users.iter().any(|who| who.level == Level::None && is_his(who))
    };
    if now >= r.services.snmp_counted {
        r.services.snmp_counted = now + FRESH;
        r.learnt.recipes.fold(&mut r.stats.counters);
    }
    let payload = r.datagram(&p).unwrap_or_default().to_vec();
    let said = if v3::is_3(&payload) {
        let (zero, dice) = (r.rules.clock.zero, r.services.dice.throw());
        let mut counts = std::mem::take(&mut r.services.snmp_wrong);
        let here = users::Here { settings: &settings, users: users.clone(), zero, now, dice };
        let said = here.hear(&mut counts, &payload, |scoped| {
            let (error, index, bindings) = answer(&mib::Mib::new(r, now), &scoped.request);
            v3::response(scoped, error, index, &bindings)
        });
        r.services.snmp_wrong = counts;
        said
    } else {
        agent::read(&payload).filter(may).map(|request| {
            let (error, index, bindings) = answer(&mib::Mib::new(r, now), &request);
            agent::response(&request, error, index, &bindings)
        })
    };
    let Some(said) = said else { return r.discard(p, Discard::BadSnmp) };
    r.tell(|| Event::Local);
    r.consume(p);
    datagram::answer(r, now, &tuple, &said);
}

/// An error, which name it is about, and values with their names.
type Answer = (i32, usize, Vec<(Vec<u32>, Value)>);

/// The response to a request.
fn answer(mib: &mib::Mib, request: &Request) -> Answer {
    let asked = |value: Value| move |name: &Vec<u32>| (name.clone(), value.clone());
    let failed = |error, index| {
        let names: Vec<_> = request.names.iter().map(asked(Value::Null)).collect();
        (error, index, names)
    };
    let (first, rest) = match request.kind {
        Kind::Set => {
            let why = if request.is_2c { error::NOT_WRITABLE } else { error::READ_ONLY };
            return failed(why, 1);
        }
        Kind::GetBulk => request.names.split_at(request.non_repeaters.min(request.names.len())),
        _ => (&request.names[..], &[][..]),
    };
    let (mut bindings, mut room) = (Vec::new(), MOST);
    for (place, name) in first.iter().enumerate() {
        let found = match request.kind {
            Kind::Get => mib.get(name).map(|value| (name.clone(), value)),
            _ => mib.next(name),
        };
        // Version 1 has no word for it but an error, and no counter of 64 bits.
        let found =
            found.filter(|(_, value)| request.is_2c || !matches!(value, Value::Counter64(_)));
        let none = match request.kind {
            Kind::Get => Value::NoSuchObject,
            _ => Value::EndOfMib,
        };
        let (name, value) = match found {
            Some(found) => found,
            None if request.is_2c => (name.clone(), none),
            None => return failed(error::NO_SUCH_NAME, place + 1),
        };
        match room.checked_sub(agent::len(&name, &value)) {
            Some(left) => room = left,
            None => return (error::TOO_BIG, 0, Vec::new()),
        }
        bindings.push((name, value));
    }
    let mut names = rest.to_vec();
    'turns: for _ in 0..request.repetitions {
        let mut over = true;
        for name in &mut names {
            let found = mib.next(name);
            over &= found.is_none();
            let (next, value) = found.unwrap_or((name.clone(), Value::EndOfMib));
            match room.checked_sub(agent::len(&next, &value)) {
                Some(left) => room = left,
                None => break 'turns,
            }
            name.clone_from(&next);
            bindings.push((next, value));
        }
        if over {
            break;
        }
    }
    (error::NONE, 0, bindings)
}
