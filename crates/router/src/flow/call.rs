//! Calls of PPP as they begin, and clients that dial again, whatever carries them.
//!
//! ```text
//! [Line::dial] ─► a carrier asks its server ─► there is a session ─► [begin] ─► the machine's first words
//!      ▲                                                                     └► ppp: until it is over
//!      └──────────────────────── [Line::ended], a pause ◄───────────────────────────┘
//! ```

use super::ppp;
use crate::interface::ppp::calls::{Call, Carrier, OfClient, Owner, Rest};
use crate::interface::ppp::dial::{Dialler, Diallers, Dials, Listener};
use crate::interface::ppp::machine::{Login, Machine, Role, Ways};
use crate::program::Program;
use crate::router::Router;
use config::ItemId;
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;

/// Before a client dials again.
const REDIAL: Duration = Duration::from_secs(3);

/// Whose a call is to be.
pub(super) enum Whose<'a> {
    /// A client's.
    Client(&'a Dialler),
    /// A server's: of this service, and called so until somebody has logged in.
    Server(&'a Listener, Arc<str>, String),
}

/// A carrier has a session: PPP begins there. `own` tells this end from others; `more` is what the carrier
/// knows beside. Returns the call's place.
pub(super) fn begin(
    r: &mut Router,
    now: Moment,
    own: u32,
    carrier: Carrier,
    whose: Whose,
    more: impl FnOnce(&mut Call),
) -> usize {
    let profile = r.program.users.profile(match &whose {
        Whose::Client(dialler) => &dialler.profile,
        Whose::Server(server, ..) => &server.profile,
    });
    let (role, asks, mru, keepalive) = match &whose {
        Whose::Client(dialler) => {
            let login = Login {
                user: dialler.user.clone(),
                password: dialler.password.clone(),
                allow: dialler.allow,
                wants_dns: dialler.uses_dns,
                encryption: profile.terms.encryption,
            };
            (Role::Client(Box::new(login)), Ways::default(), dialler.mru, dialler.keepalive)
        }
        Whose::Server(server, ..) => (Role::Server, server.asks, server.mru, server.keepalive),
    };
    // Two routers whose dice fall alike must have different magic numbers.
    let own = own.wrapping_mul(0x9e37_79b1);
    let ipv6 = profile.terms.ipv6 && !r.program.v6.settings.disabled;
    let mut out = Vec::new();
    let dice = || r.services.dice.throw() as u32 ^ own;
    let machine = Machine::new(now, (role, asks), (mru, ipv6), keepalive, dice, &mut out);
    let mut call = match whose {
        Whose::Client(dialler) => {
            let mut call =
                Call::new((Owner::Client(dialler.item), &dialler.name), carrier, machine, now);
            call.rest = Some(Box::new(Rest {
                client: Some(OfClient {
                    profile,
                    route: dialler.route,
                    uses_dns: dialler.uses_dns,
                    ac_name: String::new(),
                    service: String::new(),
                }),
                ..Rest::default()
            }));
            call
        }
        Whose::Server(_, service, name) => {
            Call::new((Owner::Server(service), &name), carrier, machine, now)
        }
    };
    more(&mut call);
    let place = r.link.calls.add(call, now);
    ppp::say(r, now, place, out);
    r.link.up_due = now;
    place
}

/// A carrier whose clients dial an address.
pub(super) struct Line {
    pub(super) service: &'static str,
    pub(super) clients: fn(&Program) -> &Diallers,
    pub(super) dials: fn(&mut Router) -> &mut Dials,
    /// Asks a client's server for a session; no if there is no way to it.
    pub(super) ask: fn(&mut Router, Moment, &Dialler) -> bool,
}

impl Line {
    /// Lets clients dial. Returns when the next one does, if that is before `due`.
    pub(super) fn dial(&self, r: &mut Router, now: Moment, mut due: Moment) -> Moment {
        let program = r.program.clone();
        let clients = (self.clients)(&program);
        (self.dials)(r).keep(clients);
        for dialler in &clients.list {
            let mut at = (self.dials)(r).at(dialler, now);
            if at.is_some_and(|at| now >= at) {
                let asked = (self.ask)(r, now, dialler);
                for word in ["initializing...", "connecting..."].iter().filter(|_| asked) {
                    self.say(r, now, &dialler.name, word);
                }
                at = (!asked).then_some(now + REDIAL);
                (self.dials)(r).set(dialler.item, at);
            }
            due = at.map_or(due, |at| due.min(at));
        }
        due
    }

    /// What a client had dialled is over: it dials again.
    pub(super) fn ended(&self, r: &mut Router, now: Moment, client: Option<ItemId>) {
        let dialler = client.and_then(|item| (self.dials)(r).set(item, Some(now + REDIAL)));
        if let Some(name) = dialler.map(|dialler| dialler.name.clone()) {
            self.say(r, now, &name, "disconnected");
        }
        r.link.up_due = now;
    }

    fn say(&self, r: &mut Router, now: Moment, name: &str, word: &str) {
        let topics = format!("{},ppp,info", self.service);
        r.stats.log.say(now, &topics, &format!("{name}: {word}"));
    }
}
