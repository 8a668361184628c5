//! `/ping` and `/tool flood-ping` (`routeros/I-tools.md`, I.4).
//!
//! ```text
//!   SEQ HOST                                     SIZE TTL TIME  STATUS
//!     0 10.0.2.1                                   56  64 3ms
//!     1 10.0.2.1                                              timeout
//!     sent=2 received=1 packet-loss=50% min-rtt=3ms avg-rtt=3ms max-rtt=3ms
//! ```
//!
//! A request is waited for until the next one is due; `flood-ping` waits for `timeout` and sends on
//! meanwhile. Every request gets exactly one row. Times are shown in whole milliseconds, as v6
//! does; programs get them to the microsecond.
//!
//! Never makes a packet: that is [`echo`](super::echo)'s.
//! **Missing**: MAC addresses as hosts (mac-ping), names (no resolver), IPv6, routing tables.

use super::echo::{Answer, Host, PingId, Request};
use super::{flag, number};
use crate::interface::InterfaceId;
use crate::router::Router;
use config::{
    Call, Command, Display, Group, Job, Progress, Property, Record, Reply, Started, Type, Unnamed,
    Value,
};
use std::fmt::Write as _;
use std::time::Duration;
use wire::Moment;

/// `/ping`.
pub(crate) static PING: Command = Command {
    menu: "/",
    name: "ping",
    unnamed: Unnamed::Parameter("address"),
    parameters: &[
        ADDRESS,
        COUNT,
        Property::new("interval", Type::Time, "From one request to the next, 10ms to 5s.")
            .default("1s"),
        SIZE,
        Property::new("ttl", Type::Number(1, 255), "Time to live of the requests.").default("255"),
        Property::new("src-address", Type::Address, "Which of the router's addresses to use."),
        Property::new("interface", super::INTERFACE, "Out by this interface, whatever the routes."),
        Property::new("dscp", Type::Number(0, 63), "DSCP of the requests.").default("0"),
        Property::new("do-not-fragment", Type::Bool, "Send no request in pieces."),
        Property::new("arp-ping", Type::Bool, "Ask by ARP; needs an interface."),
        Property::missing("routing-table", "there is one routing table"),
    ],
    display: Display::Append(rows),
    help: "Sends echo requests to a host and says what comes back.",
};

/// `/tool flood-ping`.
pub(crate) static FLOOD_PING: Command = Command {
    menu: "/tool",
    name: "flood-ping",
    unnamed: Unnamed::Parameter("address"),
    parameters: &[
        ADDRESS,
        COUNT,
        Property::new("interval", Type::Time, "From one request to the next, 10ms to 5s.")
            .default("10ms"),
        SIZE,
        Property::new("timeout", Type::Time, "How long to wait for each reply, 10ms to 5s.")
            .default("1s"),
    ],
    display: Display::Redraw(block),
    help: "Sends echo requests quickly and sums up what comes back.",
};

const ADDRESS: Property =
    Property::new("address", Type::Either(&[Type::Address, Type::Mac]), "Whom to ask.").required();
const COUNT: Property =
    Property::new("count", Type::Number(0, i64::MAX), "How many requests; 0 means until stopped.")
        .default("0");
const SIZE: Property =
    Property::new("size", Type::Number(28, 65535), "Length of the whole IP packet, bytes.")
        .default("56");

/// While an answer may come: how long a row may stay unseen.
const LOOK: Duration = Duration::from_millis(10);

/// Starts `/ping`.
pub(crate) fn start(r: &mut Router, call: &Call, now: Moment) -> Result<Started<Router>, String> {
    let interval = time(call, "interval")?;
    let interface = match call.argument("interface") {
        Some(name) => super::interface(r, &name)?,
        None => InterfaceId::NONE,
    };
    let src = match call.argument("src-address") {
        Some(Value::Address(src)) if r.program().is_local(src.into()) => Some(src.into()),
        Some(src) => return Err(format!("failure: {src} is no address of this router")),
        None => None,
    };
    let arp = flag(call, "arp-ping");
    if arp && !interface.is_some() {
        return Err("failure: interface needs to be specified for arp ping".to_string());
    }
    let request = Request {
        dst: address(call)?,
        src,
        interface,
        size: number(call, "size").unwrap_or(56) as u16,
        ttl: number(call, "ttl").unwrap_or(255) as u8,
        dscp: number(call, "dscp").unwrap_or(0) as u8,
        dont_fragment: flag(call, "do-not-fragment"),
        arp,
        timeout: interval,
    };
    let pinger = Pinger::new(r, call, request, interval, now)?;
    Ok(Started::Job(Box::new(Ping(pinger))))
}

/// Starts `/tool flood-ping`.
pub(crate) fn start_flood(
    r: &mut Router,
    call: &Call,
    now: Moment,
) -> Result<Started<Router>, String> {
    let request = Request {
        dst: address(call)?,
        src: None,
        interface: InterfaceId::NONE,
        size: number(call, "size").unwrap_or(56) as u16,
        ttl: 255,
        dscp: 0,
        dont_fragment: false,
        arp: false,
        timeout: time(call, "timeout")?,
    };
    let pinger = Pinger::new(r, call, request, time(call, "interval")?, now)?;
    Ok(Started::Job(Box::new(FloodPing(pinger))))
}

fn address(call: &Call) -> Result<u32, String> {
    match call.argument("address") {
        Some(Value::Address(address)) => Ok(address.into()),
        Some(other) => Err(format!("failure: {other}: mac-ping is not implemented")),
        None => Err("missing value(s) of argument(s) address".to_string()),
    }
}

fn time(call: &Call, name: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(10)..=Duration::from_secs(5);
    match call.argument(name) {
        Some(Value::Time(time)) if range.contains(&time) => Ok(time),
        _ => Err(format!("value of {name} out of range (10ms..5s)")),
    }
}

/// Sends in time and sums up.
struct Pinger {
    id: PingId,
    /// How many, if there is an end.
    count: Option<u64>,
    interval: Duration,
    next: Moment,
    so_far: SoFar,
}

/// What came of all requests so far.
#[derive(Clone, Copy, Default)]
struct SoFar {
    sent: u64,
    received: u64,
    min: Duration,
    max: Duration,
    sum: Duration,
}

impl Pinger {
    fn new(
        r: &mut Router,
        call: &Call,
        request: Request,
        interval: Duration,
        now: Moment,
    ) -> Result<Pinger, String> {
        let id = r.tools.echoes.begin(request)?;
        let count = number(call, "count").filter(|&count| count != 0);
        Ok(Pinger { id, count, interval, next: now, so_far: SoFar::default() })
    }

    /// Sends what is due, and says what has come, each with what is so far.
    fn step(&mut self, r: &mut Router, now: Moment) -> Vec<(Answer, SoFar)> {
        let mut rows = Vec::new();
        loop {
            for answer in r.tools.echoes.take(self.id, now) {
                self.so_far.add(&answer);
                rows.push((answer, self.so_far));
            }
            if !self.sends() || now < self.next {
                return rows;
            }
            r.send_echo(now, self.id, self.so_far.sent);
            self.so_far.sent += 1;
            // Who comes late sends on from there, not all at once.
            let next = self.next + self.interval;
            self.next = if next > now { next } else { now + self.interval };
        }
    }

    fn sends(&self) -> bool {
        self.count.is_none_or(|count| self.so_far.sent < count)
    }

    /// Where it has come to; it returns how many replies there were.
    fn progress(&self, r: &Router, now: Moment) -> Progress {
        let deadline = r.tools.echoes.deadline(self.id);
        let next = self.sends().then_some(self.next);
        let look = deadline.map(|_| now + LOOK);
        match [deadline, next, look].into_iter().flatten().min() {
            Some(again) => Progress::Again(again),
            None => Progress::Done(Reply::Text(self.so_far.received.to_string())),
        }
    }
}

impl SoFar {
    fn add(&mut self, answer: &Answer) {
        if answer.error.is_some() {
            return;
        }
        self.min = if self.received == 0 { answer.time } else { self.min.min(answer.time) };
        self.max = self.max.max(answer.time);
        self.sum += answer.time;
        self.received += 1;
    }

    /// In percent, cut off.
    fn loss(&self) -> i64 {
        let lost = self.sent.saturating_sub(self.received);
        i64::try_from(lost * 100 / self.sent.max(1)).unwrap_or(100)
    }

    fn average(&self) -> Duration {
        let ns = self.sum.as_nanos() / u128::from(self.received.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

struct Ping(Pinger);

impl Job<Router> for Ping {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        out.extend(self.0.step(r, now).iter().map(|(answer, so_far)| record(answer, so_far)));
        Ok(self.0.progress(r, now))
    }

    fn stop(&mut self, r: &mut Router, _: Moment) {
        r.tools.echoes.end(self.0.id);
    }
}

struct FloodPing(Pinger);

impl Job<Router> for FloodPing {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        let before = self.0.so_far.sent;
        if !self.0.step(r, now).is_empty() || self.0.so_far.sent != before {
            let so_far = &self.0.so_far;
            let ms = |time: Duration| time.as_millis() as u64;
            let mut record = Record::default();
            for (name, value) in [
                ("sent", so_far.sent),
                ("received", so_far.received),
                ("min-rtt", ms(so_far.min)),
                ("avg-rtt", ms(so_far.average())),
                ("max-rtt", ms(so_far.max)),
            ] {
                record = record.with(name, super::count(value));
            }
            out.push(record);
        }
        Ok(self.0.progress(r, now))
    }

    fn stop(&mut self, r: &mut Router, _: Moment) {
        r.tools.echoes.end(self.0.id);
    }
}

/// A row, with the sums so far.
fn record(answer: &Answer, so_far: &SoFar) -> Record {
    let mut record = Record::default().with("seq", super::count(answer.number));
    match answer.host {
        Some(Host::Address(address)) => {
            record = record.with("host", Value::Address(address.into()));
        }
        Some(Host::Mac(mac)) => record = record.with("host", Value::Mac(mac)),
        None => {}
    }
    if let Some((size, ttl)) = answer.packet {
        record = record.with("size", super::count(size.into()));
        record = record.with("ttl", super::count(ttl.into()));
    }
    if answer.packet.is_some() || answer.error.is_none() {
        record = record.with("time", Value::Time(answer.time));
    }
    if let Some(error) = answer.error {
        record = record.with("status", Value::Text(error.to_string()));
    }
    record = record
        .with("sent", super::count(so_far.sent))
        .with("received", super::count(so_far.received))
        .with("packet-loss", Value::Number(so_far.loss()));
    if so_far.received == 0 {
        return record;
    }
    record
        .with("min-rtt", Value::Time(so_far.min))
        .with("avg-rtt", Value::Time(so_far.average()))
        .with("max-rtt", Value::Time(so_far.max))
}

/// Rows between two summaries.
const ROWS: usize = 20;

/// Rows below the title, the sums after every twenty and at the end.
fn rows(group: &Group) -> String {
    let mut text = String::new();
    for (n, record) in group.records.iter().enumerate() {
        let n = group.before + n;
        if n.is_multiple_of(ROWS) {
            text += "  SEQ HOST                                     SIZE TTL TIME  STATUS\n";
        }
        let get = |name| record.get(name).map_or(String::new(), Value::to_string);
        let time = record.get("time").map_or(String::new(), milliseconds);
        let row = format!(
            "{:>5} {:<40} {:>4} {:>3} {time:<5} {}",
            get("seq"),
            get("host"),
            get("size"),
            get("ttl"),
            get("status")
        );
        let _ = writeln!(text, "{}", row.trim_end());
        if (n + 1).is_multiple_of(ROWS) {
            text += &summary(record);
        }
    }
    let shown = group.before + group.records.len();
    if let Some(latest) = group.latest.filter(|_| group.last && !shown.is_multiple_of(ROWS)) {
        text += &summary(latest);
    }
    text
}

fn summary(record: &Record) -> String {
    let get = |name| record.get(name).map_or(String::new(), Value::to_string);
    let (sent, received, loss) = (get("sent"), get("received"), get("packet-loss"));
    let mut text = format!("    sent={sent} received={received} packet-loss={loss}%");
    for name in ["min-rtt", "avg-rtt", "max-rtt"] {
        if let Some(time) = record.get(name) {
            let _ = write!(text, " {name}={}", milliseconds(time));
        }
    }
    text + "\n"
}

fn milliseconds(time: &Value) -> String {
    match time {
        Value::Time(time) => format!("{}ms", time.as_millis()),
        other => other.to_string(),
    }
}

/// The sums, one below the other.
fn block(group: &Group) -> String {
    let Some(Record(values)) = group.records.last().or(group.latest) else { return String::new() };
    values.iter().map(|(name, value)| format!("{name:>10}: {value}\n")).collect()
}
