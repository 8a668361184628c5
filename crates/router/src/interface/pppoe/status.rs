//! PPPoE's clients and sessions as they are shown: `print`, `/ppp active`, `monitor`.
//!
//! ```text
//!               status: connected
//!               uptime: 1m2s
//!         service-name: internet
//!              ac-name: wirespeed
//!               ac-mac: 02:00:00:00:00:01
//!                  mtu: 1492
//!        local-address: 10.0.0.2
//!       remote-address: 10.0.0.1
//! ```

use super::menu::CLIENT;
use super::state::Dial;
use crate::interface::ppp::calls::{Call, Carrier, Owner};
use crate::interface::ppp::machine::Phase;
use crate::router::Router;
use crate::status::{RouterStatus, Values, dynamic, ip, number};
use config::{
    Call as Command_, Command, Display, Group, Item, ItemId, Job, Progress, Property, Record,
    Reply, Started, Type, Unnamed, Value,
};
use std::time::Duration;
use wire::Moment;

/// Of `/interface pppoe-client`.
pub(crate) fn client(status: &RouterStatus, item: &Item, property: &str) -> Option<Value> {
    match property {
        "running" | "actual-mtu" => status.ethernet(item, property),
        _ => None,
    }
}

impl Call {
    pub(crate) fn uptime(&self, now: Moment) -> Value {
        Value::Time(Duration::from_secs((now - self.since.min(now)).as_secs()))
    }

    pub(crate) fn encoding(&self) -> Value {
        Value::Text(self.machine.encryption().map_or("", |(send, _)| send.name()).to_string())
    }
}

pub(crate) fn open<'a>(status: &'a RouterStatus) -> impl Iterator<Item = (&'a Call, ItemId)> {
    let standing = status.router.program.sessions.list().iter();
    standing.filter_map(|standing| {
        let call = status.router.link.calls.get(standing.session.place as usize)?;
        let same = call.number == standing.session.number && !call.is_client();
        same.then_some((call, standing.session.item()))
    })
}

/// Of `/interface pppoe-server`, `l2tp-server` and `pptp-server`: of a binding what its session is.
pub(crate) fn session(status: &RouterStatus, item: &Item, property: &str) -> Option<Value> {
    let call = || Some(open(status).find(|(_, of)| *of == item.id)?.0);
    match property {
        "running" | "actual-mtu" => status.ethernet(item, property),
        "client-address" | "remote-address" => Some(Value::Text(call()?.carrier.caller())),
        "encoding" => Some(call()?.encoding()),
        "uptime" => Some(call()?.uptime(status.now)),
        _ => None,
    }
}

/// `/interface pppoe-server`: those without a binding.
pub(crate) fn sessions(status: &RouterStatus) -> Vec<Item> {
    let text = |text: &str| Value::Text(text.to_string());
    let row = |(call, item): (&Call, ItemId)| {
        let values = Values::from([
            ("name", text(&call.name)),
            ("user", text(call.user())),
            ("service", text(call.service())),
            ("remote-address", Value::Text(call.carrier.caller())),
            ("encoding", call.encoding()),
            ("uptime", call.uptime(status.now)),
        ]);
        dynamic(item, values)
    };
    let is = |(call, _): &(&Call, ItemId)| {
        matches!(call.carrier, Carrier::Pppoe { .. }) && call.is_dynamic()
    };
    open(status).filter(is).map(row).collect()
}

/// `/ppp active`.
pub(crate) fn active(status: &RouterStatus) -> Vec<Item> {
    let text = |text: &str| Value::Text(text.to_string());
    let row = |(call, item): (&Call, ItemId)| {
        let values = Values::from([
            ("name", text(call.user())),
            ("service", text(call.carrier.service())),
            ("caller-id", Value::Text(call.carrier.caller())),
            ("address", ip(call.machine.addresses().1)),
            ("uptime", call.uptime(status.now)),
            ("encoding", call.encoding()),
        ]);
        dynamic(item, values)
    };
    open(status).map(row).collect()
}

/// `/interface pppoe-client monitor`.
pub(crate) static MONITOR: Command = Command {
    menu: CLIENT.path,
    name: "monitor",
    unnamed: Unnamed::Items,
    parameters: &[
        Property::new("duration", Type::Time, "For how long; until stopped if not given."),
        Property::new("once", Type::Bool, "Look once."),
    ],
    display: Display::Redraw(block),
    help: "Shows how far a client has come.",
};

/// Starts it.
pub(crate) fn start(_: &Router, call: &Command_, now: Moment) -> Result<Started<Router>, String> {
    let Some(items) = &call.items else {
        return Err("missing value(s) of argument(s) numbers".to_string());
    };
    let end = match call.argument("duration") {
        Some(Value::Time(duration)) => Some(now + duration),
        _ => None,
    };
    let once = call.argument("once") == Some(Value::Bool(true));
    Ok(Started::Job(Box::new(Monitor { items: items.clone(), next: now, end, once })))
}

struct Monitor {
    items: Vec<ItemId>,
    next: Moment,
    end: Option<Moment>,
    once: bool,
}

impl Job<Router> for Monitor {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        if now >= self.next {
            self.next = now + Duration::from_secs(1);
            out.extend(self.items.iter().map(|&item| look(r, item, now)));
        }
        if self.once || self.end.is_some_and(|end| now >= end) {
            return Ok(Progress::Done(Reply::Nothing));
        }
        Ok(Progress::Again(self.end.map_or(self.next, |end| end.min(self.next))))
    }
}

/// How far a client has come, in RouterOS's words.
fn look(r: &Router, item: ItemId, now: Moment) -> Record {
    let state = &r.link.pppoe;
    let call = r.link.calls.all().find(|call| call.owner == Owner::Client(item));
    let status = match (state.dials.get(&item), call.map(|call| call.machine.phase())) {
        (None, _) => "disabled",
        (Some((_, Dial::Idle(_))), _) => "terminated",
        (Some((_, Dial::Asking { .. } | Dial::Requesting { .. })), _) => "connecting",
        (Some(_), Some(Phase::Establish)) => "link established",
        (Some(_), Some(Phase::Authenticate)) => "authenticating",
        (Some(_), Some(Phase::Network)) => "authenticated",
        (Some(_), Some(Phase::Open)) => "connected",
        (Some(_), _) => "disconnected",
    };
    let text = |text: &str| Value::Text(text.to_string());
    let record = Record::default().with("status", text(status));
    let Some(call) = call.filter(|call| call.is_open()) else { return record };
    let (local, remote) = call.machine.addresses();
    record
        .with("uptime", call.uptime(now))
        .with("encoding", call.encoding())
        .with("service-name", text(call.service()))
        .with("ac-name", text(call.client().map_or("", |client| &client.ac_name)))
        .with("ac-mac", text(&call.carrier.caller()))
        .with("mtu", number(call.machine.mtu().into()))
        .with("mru", number(call.machine.mtu().into()))
        .with("local-address", ip(local))
        .with("remote-address", ip(remote))
}

fn block(group: &Group) -> String {
    let mut lines = String::new();
    for record in group.records {
        for name in [
            "status",
            "uptime",
            "encoding",
            "service-name",
            "ac-name",
            "ac-mac",
            "mtu",
            "mru",
            "local-address",
            "remote-address",
        ] {
            if let Some(value) = record.get(name) {
                lines += format!("{name:>18}: {value}").trim_end();
                lines.push('\n');
            }
        }
    }
    lines
}
