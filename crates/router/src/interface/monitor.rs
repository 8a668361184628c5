//! `/interface ethernet monitor`: what a port's link is at this moment.
//!
//! ```text
//!                       name: ether1
//!                     status: link-ok
//!                       rate: 10Gbps
//!                full-duplex: yes
//! ```
//!
//! Missing: **auto-negotiation and what the other end advertises**.

use super::link::rate;
use super::menu::ETHERNET;
use crate::program::Kind;
use crate::router::Router;
use config::{
    Call, Command, Display, Group, Job, Progress, Property, Record, Reply, Started, Type, Unnamed,
    Value,
};
use std::time::Duration;
use wire::Moment;

/// `/interface ethernet monitor`.
pub(crate) static MONITOR: Command = Command {
    menu: ETHERNET.path,
    name: "monitor",
    unnamed: Unnamed::Items,
    parameters: &[
        Property::new("duration", Type::Time, "For how long; until stopped if not given."),
        Property::new("once", Type::Bool, "Look once."),
    ],
    display: Display::Redraw(block),
    help: "Shows the link of a port.",
};

/// How often it looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Starts it.
pub(crate) fn start(r: &Router, call: &Call, now: Moment) -> Result<Started<Router>, String> {
    let Some(items) = &call.items else {
        return Err("missing value(s) of argument(s) numbers".to_string());
    };
    let ports = items.iter().filter_map(|item| {
        let id = r.program.books.interfaces.find(*item)?;
        match r.program.interface(id).kind {
            Kind::Ethernet { port } => Some(port as usize),
            _ => None,
        }
    });
    let end = match call.argument("duration") {
        Some(Value::Time(duration)) => Some(now + duration),
        _ => None,
    };
    let once = call.argument("once") == Some(Value::Bool(true));
    Ok(Started::Job(Box::new(Monitor { ports: ports.collect(), next: now, end, once })))
}

struct Monitor {
    ports: Vec<usize>,
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
            self.next = now + INTERVAL;
            out.extend(self.ports.iter().filter_map(|&port| look(r, port)));
        }
        if self.once || self.end.is_some_and(|end| now >= end) {
            return Ok(Progress::Done(Reply::Nothing));
        }
        Ok(Progress::Again(self.end.map_or(self.next, |end| end.min(self.next))))
    }
}

fn look(r: &Router, port: usize) -> Option<Record> {
    let (link, interface) =
        (r.program.links.get(port)?, r.program.interface(r.program.ports[port]));
    let status = if interface.running { "link-ok" } else { "no-link" };
    let record = Record::default()
        .with("name", Value::Text(interface.name.to_string()))
        .with("status", Value::Text(status.to_string()));
    Some(match link.speed_mbps.filter(|_| interface.running) {
        Some(mbps) => record
            .with("rate", Value::Text(rate(mbps, "bps")))
            .with("full-duplex", Value::Bool(true)),
        None => record,
    })
}

/// A block with a column for each port.
fn block(group: &Group) -> String {
    let names = ["name", "status", "rate", "full-duplex"];
    let cell = |record: &Record, name| record.get(name).map_or(String::new(), ToString::to_string);
    let width = |record: &Record| names.iter().map(|name| cell(record, name).len()).max();
    let mut text = String::new();
    for name in names {
        let cells: Vec<String> = group
            .records
            .iter()
            .map(|record| match width(record) {
                Some(width) if group.records.len() > 1 => format!("{:<width$}", cell(record, name)),
                _ => cell(record, name),
            })
            .collect();
        if cells.iter().any(|cell| !cell.trim().is_empty()) {
            text += format!("{name:>26}: {}", cells.join(" ")).trim_end();
            text.push('\n');
        }
    }
    text
}
