//! `/interface monitor-traffic`: what passes by an interface in a second (`routeros/G-interfaces.md`,
//! G.1).
//!
//! ```text
//!                         name: ether1
//!        rx-packets-per-second: 15 577 081
//!           rx-bits-per-second: 7.4Gbps
//! ```
//!
//! Rates follow from the interface's counters at two moments and the time between them, exactly;
//! bits are those of L2 without FCS, as RouterOS counts them. `aggregate` is all ports together.

use super::Frames;
use crate::counter::Count;
use crate::interface::InterfaceId;
use crate::interface::menu::INTERFACE;
use crate::parts::{InterfaceCounts, Trouble};
use crate::program::Kind;
use crate::router::Router;
use config::{
    Call, Command, Display, Group, Job, Progress, Property, Record, Reply, Started, Type, Unnamed,
    Value, number,
};
use std::time::Duration;
use wire::Moment;

/// `/interface monitor-traffic`.
pub(crate) static MONITOR_TRAFFIC: Command = Command {
    menu: INTERFACE.path,
    name: "monitor-traffic",
    unnamed: Unnamed::Parameter("interface"),
    parameters: &[
        Property::new(
            "interface",
            Type::List(&Type::Or(&["aggregate"], &super::INTERFACE)),
            "Interfaces, or aggregate for all ports together.",
        )
        .required(),
        Property::new("interval", Type::Time, "Over which to measure.").default("1s"),
        Property::new("duration", Type::Time, "For how long; until stopped if not given."),
        Property::new("once", Type::Bool, "Measure once."),
    ],
    display: Display::Redraw(block),
    help: "Shows what passes by interfaces in a second.",
};

/// What is looked at.
#[derive(Clone, Copy)]
enum What {
    Interface(InterfaceId),
    Aggregate,
}

/// What an interface has counted by a moment.
#[derive(Clone, Copy, Default)]
struct Reading {
    counts: InterfaceCounts,
    trouble: Trouble,
}

impl What {
    fn read(self, r: &Router) -> Reading {
        let one = |id: InterfaceId| Reading {
            counts: r.interface_counts(id),
            trouble: r.interface_trouble(id),
        };
        match self {
            What::Interface(id) => one(id),
            What::Aggregate => {
                let ports = r.program.interfaces.iter().skip(1);
                let ports = ports.filter(|i| matches!(i.kind, Kind::Ethernet { .. }));
                ports.fold(Reading::default(), |sum, port| sum.and(one(port.id)))
            }
        }
    }
}

impl Reading {
    fn and(mut self, other: Reading) -> Reading {
        let (a, b) = (&mut self.counts, other.counts);
        a.rx.merge(b.rx);
        a.tx.merge(b.tx);
        a.fast_rx.merge(b.fast_rx);
        a.fast_tx.merge(b.fast_tx);
        let (a, b) = (&mut self.trouble, other.trouble);
        a.rx_drop += b.rx_drop;
        a.rx_error += b.rx_error;
        a.tx_drop += b.tx_drop;
        a.queue_drop += b.queue_drop;
        self
    }

    /// What came since `before`, by the second. After the counters were reset, what came since
    /// then.
    fn since(self, before: Reading, elapsed: Duration, name: Option<String>) -> Record {
        let rate = |now: u64, before: u64| {
            super::per_second(now.checked_sub(before).unwrap_or(now), elapsed)
        };
        let packets = |now: Count, before: Count| rate(now.packets, before.packets);
        let bits = |now: Count, before: Count| rate(now.bytes * 8, before.bytes * 8);
        let mut record = Record::default();
        if let Some(name) = name {
            record = record.with("name", Value::Text(name));
        }
        let (now, was) = (self.counts, before.counts);
        let (trouble, had) = (self.trouble, before.trouble);
        record
            .with("rx-packets-per-second", packets(now.rx, was.rx))
            .with("rx-bits-per-second", bits(now.rx, was.rx))
            .with("fp-rx-packets-per-second", packets(now.fast_rx, was.fast_rx))
            .with("fp-rx-bits-per-second", bits(now.fast_rx, was.fast_rx))
            .with("rx-drops-per-second", rate(trouble.rx_drop, had.rx_drop))
            .with("rx-errors-per-second", rate(trouble.rx_error, had.rx_error))
            .with("tx-packets-per-second", packets(now.tx, was.tx))
            .with("tx-bits-per-second", bits(now.tx, was.tx))
            .with("fp-tx-packets-per-second", packets(now.fast_tx, was.fast_tx))
            .with("fp-tx-bits-per-second", bits(now.fast_tx, was.fast_tx))
            .with("tx-drops-per-second", rate(trouble.tx_drop, had.tx_drop))
            .with("tx-queue-drops-per-second", rate(trouble.queue_drop, had.queue_drop))
            // Wires make none.
            .with("tx-errors-per-second", Value::Number(0))
    }
}

/// Starts it.
pub(crate) fn start(r: &mut Router, call: &Call, now: Moment) -> Result<Started<Router>, String> {
    let names = match call.argument("interface") {
        Some(Value::List(names)) => names,
        other => other.into_iter().collect(),
    };
    let mut watched = Vec::new();
    for name in &names {
        let what = match name.to_string().as_str() {
            "aggregate" => What::Aggregate,
            _ => What::Interface(super::interface(r, name)?),
        };
        watched.push((what, what.read(r)));
    }
    let frames = Frames::read(call, "interval", now)?;
    Ok(Started::Job(Box::new(Monitor { watched, frames, once: super::flag(call, "once") })))
}

struct Monitor {
    watched: Vec<(What, Reading)>,
    frames: Frames,
    once: bool,
}

impl Job<Router> for Monitor {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        if let Some(elapsed) = self.frames.elapsed(now) {
            for (what, before) in &mut self.watched {
                let reading = what.read(r);
                let name = match what {
                    What::Interface(id) => Some(r.interface_name(*id)),
                    What::Aggregate => None,
                };
                out.push(reading.since(*before, elapsed, name));
                *before = reading;
            }
            if self.once {
                return Ok(Progress::Done(Reply::Nothing));
            }
        }
        Ok(self.frames.progress(now, Reply::Nothing))
    }
}

/// A block with a column for each interface.
fn block(group: &Group) -> String {
    let Some(Record(first)) = group.records.first() else { return String::new() };
    // The name of an interface heads its column, also beside one without.
    let named = group.records.iter().find(|record| record.get("name").is_some()).map(|_| "name");
    let rates = first.iter().map(|(name, _)| *name).filter(|name| *name != "name");
    let lines: Vec<&str> = named.into_iter().chain(rates).collect();
    let cell = |record: &Record, line: &str| match record.get(line) {
        Some(&Value::Number(n)) if line.contains("-bits-") => number::rate(n.unsigned_abs()),
        Some(&Value::Number(n)) => number::signed_count(n),
        Some(other) => other.to_string(),
        None if line == "name" => "aggregate".to_string(),
        None => String::new(),
    };
    let width = |record: &Record| lines.iter().map(|line| cell(record, line).len()).max();
    let alone = group.records.len() == 1;
    let mut text = String::new();
    for line in &lines {
        let cells = group.records.iter().map(|record| match width(record) {
            Some(width) if !alone => format!("{:>width$}", cell(record, line)),
            _ => cell(record, line),
        });
        let cells = cells.collect::<Vec<_>>().join(" ");
        text += &format!("{line:>29}: {cells}\n");
    }
    text
}
