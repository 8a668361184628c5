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
//! Of IPv6 the status of a reply says so, and an address of a link wants its interface, by `interface` or
//! as `fe80::1%ether1`.
//!
//! **Missing**: MAC addresses as hosts (mac-ping), names (no resolver).

use super::echo::{Answer, Host, PingId, Request};
use super::{flag, number};
use crate::firewall::mark::Mark;
use crate::firewall::menu::WORD;
use crate::interface::InterfaceId;
use crate::ip::family::Family;
use crate::ip::menu::gateway_by;
use crate::ip::rule;
use crate::ipv6::menu::by_interface;
use crate::router::Router;
use config::{
    Call, Command, Display, Group, Job, Progress, Property, Record, Reply, Started, Type, Unnamed,
    Value,
};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;
use wire::{Ipv6Prefix, Moment};

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
        SRC_ADDRESS,
        Property::new("interface", super::INTERFACE, "Out by this interface, whatever the routes."),
        Property::new("dscp", Type::Number(0, 63), "DSCP of the requests.").default("0"),
        Property::new("do-not-fragment", Type::Bool, "Send no request in pieces."),
        Property::new("arp-ping", Type::Bool, "Ask by ARP; needs an interface."),
        Property::new("routing-table", WORD, "The table to ask: a routing mark, a VRF, or main."),
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

const HOST: Type =
    Type::Either(&[Type::Address, Type::Address6, Type::Mac, Type::Custom(by_interface)]);
pub(super) const ADDRESS: Property = Property::new("address", HOST, "Whom to ask.").required();
pub(super) const SRC_ADDRESS: Property = Property::new(
    "src-address",
    Type::Either(&[Type::Address, Type::Address6]),
    "Which of the router's addresses to use.",
);
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
    let (dst, interface) = whom(r, call)?;
    let arp = flag(call, "arp-ping");
    if arp && !interface.is_some() {
        return Err("failure: interface needs to be specified for arp ping".to_string());
    }
    if arp && dst.is_ipv6() {
        return Err("failure: arp ping is for IPv4 addresses".to_string());
    }
    let table = match call.argument("routing-table") {
        Some(name) => {
            let name = name.to_string();
            let table = rule::table(&name, &r.program().books.marks);
            table.ok_or_else(|| format!("failure: no routing table {name}"))?
        }
        None => r.program().vrfs.of(interface),
    };
    let request = Request {
        src: source(r, call, dst)?,
        table,
        interface,
        ttl: number(call, "ttl").unwrap_or(255) as u8,
        dscp: number(call, "dscp").unwrap_or(0) as u8,
        dont_fragment: flag(call, "do-not-fragment"),
        arp,
        ..request(call, dst, interval)
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
    let (dst, interface) = whom(r, call)?;
    let request = Request { interface, ..request(call, dst, time(call, "timeout")?) };
    let pinger = Pinger::new(r, call, request, time(call, "interval")?, now)?;
    Ok(Started::Job(Box::new(FloodPing(pinger))))
}

/// A request to this host that nothing else is said of.
pub(super) fn request(call: &Call, dst: IpAddr, timeout: Duration) -> Request {
    Request {
        dst,
        src: None,
        table: Mark::NONE,
        interface: InterfaceId::NONE,
        size: number(call, "size").unwrap_or(56) as u16,
        ttl: 255,
        dscp: 0,
        dont_fragment: false,
        arp: false,
        timeout,
    }
}

/// Who is asked, and by which interface, if one is named.
pub(super) fn whom(r: &Router, call: &Call) -> Result<(IpAddr, InterfaceId), String> {
    let mut interface = match call.argument("interface") {
        Some(name) => super::interface(r, &name)?,
        None => InterfaceId::NONE,
    };
    let address: IpAddr = match call.argument("address") {
        Some(Value::Address(address)) => address.into(),
        Some(Value::Address6(address)) => address.into(),
        Some(Value::Text(text)) => {
            let (address, name) = gateway_by::<u128>(&text).ok_or("failure: no such address")?;
            interface = super::interface(r, &Value::Text(name.to_string()))?;
            address.ip()
        }
        Some(other) => return Err(format!("failure: {other}: mac-ping is not implemented")),
        None => return Err("missing value(s) of argument(s) address".to_string()),
    };
    if let IpAddr::V6(address) = address
        && (address.is_multicast() || Ipv6Prefix::LINK_LOCAL.contains(address.into()))
        && !interface.is_some()
    {
        return Err(format!("failure: {address} is of a link: by which interface?"));
    }
    Ok((address, interface))
}

/// The router's own address that is to be used, if one is named.
pub(super) fn source(r: &Router, call: &Call, dst: IpAddr) -> Result<Option<IpAddr>, String> {
    let (is_own, src) = match call.argument("src-address") {
        Some(Value::Address(src)) => {
            (dst.is_ipv4() && r.program().is_local(src.into()), src.into())
        }
        Some(Value::Address6(src)) => {
            let own = r.program().v6.addresses.iter().any(|own| own.address == u128::from(src));
            (dst.is_ipv6() && own, src.into())
        }
        Some(src) => return Err(format!("failure: {src} is no address of this router")),
        None => return Ok(None),
    };
    match is_own {
        true => Ok(Some(src)),
        false if src.is_ipv4() != dst.is_ipv4() => {
            Err(format!("failure: {src} and {dst} are of different families"))
        }
        false => Err(format!("failure: {src} is no address of this router")),
    }
}

pub(super) fn time(call: &Call, name: &str) -> Result<Duration, String> {
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
            record = record.with("host", super::address(address));
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
    let of_ipv6 = matches!(answer.host, Some(Host::Address(IpAddr::V6(_))));
    if let Some(status) = answer.error.or(of_ipv6.then_some("echo reply")) {
        record = record.with("status", Value::Text(status.to_string()));
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
