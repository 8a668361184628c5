//! `/tool traceroute`: the routers on the way to a host, of either family (`routeros/I-tools.md`, I.4).
//!
//! ```text
//!  # ADDRESS                          LOSS SENT    LAST     AVG    BEST   WORST STD-DEV STATUS
//!  1 10.0.1.2                           0%    3     2ms       2       2       2       0
//!  2                                  100%    3 timeout
//!  3 2001:db8:2::3                      0%    3     4ms       4       4       4       0
//! ```
//!
//! An echo request for one hop, then for two, until the host itself answers or somebody says that there is
//! no way; then again from the first. Whoever does not answer within `timeout` is passed over.
//!
//! Never makes a packet: that is [`echo`](super::echo)'s.
//! **Missing**: `protocol=udp`, `port`, names (`use-dns`), routing tables.

use super::echo::{Answer, Host, PingId};
use super::{number, ping};
use crate::router::Router;
use config::{
    Call, Command, Display, Group, Job, Progress, Property, Record, Reply, Started, Type, Unnamed,
    Value,
};
use std::net::IpAddr;
use std::time::Duration;
use wire::Moment;

/// `/tool traceroute`.
pub(super) static TRACEROUTE: Command = Command {
    menu: "/tool",
    name: "traceroute",
    unnamed: Unnamed::Parameter("address"),
    parameters: &[
        ping::ADDRESS,
        Property::new(
            "count",
            Type::Number(0, i64::MAX),
            "How many rounds; 0 means until stopped.",
        )
        .default("0"),
        Property::new("max-hops", Type::Number(1, 255), "How far to look.").default("30"),
        Property::new("timeout", Type::Time, "How long to wait for each hop, 10ms to 5s.")
            .default("1s"),
        Property::new("size", Type::Number(28, 65535), "Length of the whole IP packet, bytes.")
            .default("56"),
        ping::SRC_ADDRESS,
        Property::new("interface", super::INTERFACE, "Out by this interface, whatever the routes."),
        Property::new("dscp", Type::Number(0, 63), "DSCP of the requests.").default("0"),
        Property::only("protocol", &Type::Enum(&["icmp", "udp"]), &["icmp"], "it asks by ICMP")
            .default("icmp"),
        Property::only("use-dns", &Type::Bool, &["no"], "names are not looked up").default("no"),
        Property::missing("port", "it asks by ICMP"),
        Property::missing("routing-table", "it asks in the main one"),
    ],
    display: Display::Redraw(table),
    help: "Says which routers are on the way to a host.",
};

/// While an answer may come: how long a hop may stay unseen.
const LOOK: Duration = Duration::from_millis(10);

/// Starts it.
pub(super) fn start(r: &mut Router, call: &Call, now: Moment) -> Result<Started<Router>, String> {
    let (dst, interface) = ping::whom(r, call)?;
    let request = super::echo::Request {
        src: ping::source(r, call, dst)?,
        interface,
        dscp: number(call, "dscp").unwrap_or(0) as u8,
        ..ping::request(call, dst, ping::time(call, "timeout")?)
    };
    let id = r.tools.echoes.begin(request)?;
    let most = number(call, "max-hops").unwrap_or(30) as usize;
    let rounds = number(call, "count").filter(|&count| count != 0);
    let hops = Vec::new();
    Ok(Started::Job(Box::new(Trace { id, dst, most, rounds, hops, at: 0, sent: 0, next: now })))
}

struct Trace {
    id: PingId,
    dst: IpAddr,
    most: usize,
    /// How many are to come, if there is an end.
    rounds: Option<u64>,
    hops: Vec<Hop>,
    /// The hop that is asked for, from 0; nobody has answered yet.
    at: usize,
    /// Requests so far.
    sent: u64,
    /// When a new round may begin.
    next: Moment,
}

/// What is known of the routers that many hops away.
#[derive(Clone, Default)]
struct Hop {
    host: Option<Host>,
    sent: u64,
    times: Vec<Duration>,
    status: Option<&'static str>,
}

/// Times kept for the deviation: the newest of them.
const TIMES: usize = 1000;

impl Hop {
    fn hear(&mut self, answer: &Answer, is_last: bool) {
        let timeout = answer.error == Some("timeout");
        if timeout || answer.host.is_none() {
            self.status = answer.error;
            return;
        }
        self.host = answer.host;
        self.status = answer.error.filter(|_| is_last);
        if self.times.len() == TIMES {
            self.times.remove(0);
        }
        self.times.push(answer.time);
    }

    fn record(&self, number: usize) -> Record {
        let mut record = Record::default().with("hop", super::count(number as u64));
        if let Some(Host::Address(address)) = self.host {
            record = record.with("address", super::address(address));
        }
        let lost = self.sent.saturating_sub(self.times.len() as u64);
        record = record
            .with("loss", super::count(lost * 100 / self.sent.max(1)))
            .with("sent", super::count(self.sent));
        if let (Some(&last), Some(&best), Some(&worst)) =
            (self.times.last(), self.times.iter().min(), self.times.iter().max())
        {
            let n = self.times.len() as f64;
            let average = self.times.iter().sum::<Duration>().div_f64(n);
            let off = |time: &Duration| (time.as_secs_f64() - average.as_secs_f64()).powi(2);
            let deviation = (self.times.iter().map(off).sum::<f64>() / n).sqrt();
            record = record
                .with("last", Value::Time(last))
                .with("avg", Value::Time(average))
                .with("best", Value::Time(best))
                .with("worst", Value::Time(worst))
                .with("std-dev", Value::Time(Duration::from_secs_f64(deviation)));
        }
        match self.status {
            Some(status) => record.with("status", Value::Text(status.to_string())),
            None => record,
        }
    }
}

/// Whether nobody further away is to be asked: the host itself has answered, or there is no way to it.
fn ends(answer: &Answer, dst: IpAddr) -> bool {
    let far = matches!(answer.error, Some("timeout" | "TTL exceeded" | "hop limit exceeded"));
    answer.host == Some(Host::Address(dst)) && answer.error != Some("timeout") || !far
}

impl Trace {
    fn ask(&mut self, r: &mut Router, now: Moment) {
        if self.hops.len() == self.at {
            self.hops.push(Hop::default());
        }
        self.hops[self.at].sent += 1;
        r.tools.echoes.set_ttl(self.id, (self.at + 1) as u8);
        r.send_echo(now, self.id, self.sent);
        self.sent += 1;
    }

    /// Takes in an answer; whether the round is over.
    fn hear(&mut self, answer: &Answer) -> bool {
        let is_last = ends(answer, self.dst);
        self.hops[self.at].hear(answer, is_last);
        if !is_last && self.at + 1 < self.most {
            self.at += 1;
            return false;
        }
        // Who was further away in a round before is so no longer.
        self.hops.truncate(self.at + 1);
        self.at = 0;
        true
    }

    fn records(&self) -> Vec<Record> {
        self.hops.iter().enumerate().map(|(at, hop)| hop.record(at + 1)).collect()
    }
}

/// From the beginning of a round to that of the next, at least.
const PAUSE: Duration = Duration::from_secs(1);

impl Job<Router> for Trace {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        let mut heard = false;
        let progress = loop {
            let waits = r.tools.echoes.deadline(self.id);
            if let Some(answer) = r.tools.echoes.take(self.id, now).first() {
                heard = true;
                if !self.hear(answer) {
                    self.ask(r, now);
                    continue;
                }
                self.rounds = self.rounds.map(|rounds| rounds - 1);
                if self.rounds == Some(0) {
                    break Progress::Done(Reply::Nothing);
                }
            } else if let Some(deadline) = waits {
                break Progress::Again(deadline.min(now + LOOK));
            } else if now < self.next {
                break Progress::Again(self.next);
            } else {
                self.next = now + PAUSE;
                self.ask(r, now);
            }
        };
        if heard {
            out.extend(self.records());
        }
        Ok(progress)
    }

    fn stop(&mut self, r: &mut Router, _: Moment) {
        r.tools.echoes.end(self.id);
    }
}

/// The table.
fn table(group: &Group) -> String {
    let mut text =
        " # ADDRESS                          LOSS SENT    LAST     AVG    BEST   WORST STD-DEV STATUS\n"
            .to_string();
    for record in group.records {
        let get = |name| record.get(name).map_or(String::new(), Value::to_string);
        let ms = |name| match record.get(name) {
            Some(&Value::Time(time)) => tenths(time),
            _ => String::new(),
        };
        let last = match record.get("last") {
            Some(_) => format!("{}ms", ms("last")),
            None => "timeout".to_string(),
        };
        let line = format!(
            "{:>2} {:<31} {:>4}% {:>4} {last:>7} {:>7} {:>7} {:>7} {:>7} {}",
            get("hop"),
            get("address"),
            get("loss"),
            get("sent"),
            ms("avg"),
            ms("best"),
            ms("worst"),
            ms("std-dev"),
            get("status"),
        );
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Milliseconds, a tenth at the most.
fn tenths(time: Duration) -> String {
    let tenths = (time.as_micros() + 50) / 100;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        rest => format!("{}.{rest}", tenths / 10),
    }
}
