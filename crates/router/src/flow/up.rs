//! Interfaces that find out by themselves whether they run: tunnels, virtual routers, bonds, sessions; and
//! gateways that are asked whether they live.
//!
//! ```text
//! chores, a change ─► [look] ─► the ticks of each ─► Links::up, ::sessions ─► news ─► Compiler::set_up
//! ```

use super::{bonding, gateway, l2tp, ppp, pppoe, pptp, radius, tcp, tunnel, vrrp};
use crate::ip::gateway::Gateway;
use crate::program::Kind;
use crate::router::Router;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;

/// How often routes are looked at, which say nothing when they change.
const LOOK: Duration = Duration::from_millis(100);
/// How often sessions are told of, for each hundred of them.
const TELL: Duration = Duration::from_millis(2);

/// Lets them do what is due, and notes and says which run now.
pub(crate) fn look(r: &mut Router, now: Moment) {
    let (mut up, mut due) = (Vec::new(), now + LOOK);
    due = tunnel::tick(r, now, &mut up, due);
    due = vrrp::tick(r, now, &mut up, due);
    due = bonding::tick(r, now, &mut up, due);
    let mut silent = BTreeSet::new();
    ppp::end_changed(r, now);
    due = pppoe::tick(r, now, due);
    due = l2tp::tick(r, now, due);
    due = tcp::tick(r, now, due);
    due = pptp::tick(r, now, due);
    due = ppp::tick(r, now, due);
    due = radius::tick(r, now, due);
    due = gateway::tick(r, now, &mut silent, due);
    r.link.up_due = tell_sessions(r, now, due);
    if *r.link.silent != silent {
        tell_gateways(r, now, &silent);
        r.link.silent = Arc::new(silent);
    }
    up.sort_unstable();
    if r.link.up.iter().eq(&up) {
        return;
    }
    let program = r.program.clone();
    let was = std::mem::replace(&mut r.link.up, Arc::new(up.into_iter().collect()));
    let is = r.link.up.clone();
    let changed = is.difference(&was).map(|id| (id, "up"));
    for (id, word) in changed.chain(was.difference(&is).map(|id| (id, "down"))) {
        // One that is gone is not spoken of, and of slaves their links are.
        let interface = program.interfaces.get(id.index());
        let own = interface.filter(|interface| !matches!(interface.kind, Kind::Ethernet { .. }));
        if let Some(interface) = own {
            let text = format!("{} link {word}", interface.name);
            r.stats.log.say(now, "interface,info", &text);
        }
    }
}

/// Tells the compiler of open sessions: the more there are, the more come together. Returns when something
/// is due next.
fn tell_sessions(r: &mut Router, now: Moment, due: Moment) -> Moment {
    let calls = &mut r.link.calls;
    if !calls.changed {
        return due;
    }
    let next = calls.told + TELL * (1 + calls.len() as u32 / 100);
    if now < next && calls.told != Moment::ZERO {
        return due.min(next);
    }
    (calls.changed, calls.told) = (false, now);
    let sessions = calls.sessions();
    if r.link.sessions[..] != sessions[..] {
        r.link.sessions = sessions.into();
    }
    due
}

/// Says who is silent, and who no longer.
fn tell_gateways(r: &mut Router, now: Moment, is: &BTreeSet<Gateway>) {
    let was = r.link.silent.clone();
    let changed = is.difference(&was).map(|gateway| (gateway, "does not answer"));
    for (gateway, word) in changed.chain(was.difference(is).map(|gateway| (gateway, "answers"))) {
        let text = format!("gateway {} {word}", gateway.address);
        r.stats.log.say(now, "route,info", &text);
    }
}
