//! The router's own tools: `/ping`, `/tool …`, `/interface monitor-traffic`.
//!
//! ```text
//! Router::start ─► Job ─┬─ poll, poll … ─► Records
//!  between two breaths  └─ stop
//!                        │  ▲
//!             what to do ▼  │ what has come meanwhile
//!         [ Tools: pings under way, taps, what closes FastPath ]
//!                           ▲
//!                 breathe ──┴── the packet flow
//! ```
//!
//! A tool's [`Job`] waits with its session and holds no reference to the router; what
//! must happen while packets pass (matching a reply, counting a flow) is kept here, in `Tools`,
//! under a number that the job knows. As long as no tool runs, a breath pays one branch for it.
//!
//! Packets of the router's own leave by LOCAL OUT and come back by LOCAL IN, as all others do.
//! Never: reads a clock, writes a file (a job hands what is to be written to whoever polls it).

// `/tool explain`: a packet's way through the router, in words.
pub mod explain;
// `/tool analyze`: rules that do nothing, and what a change of them changes.
mod analyze;
// The packet flow as a picture.
pub mod picture;
// `/tool profile`: what the router's time goes to.
pub mod profile;
// Echo requests of the router's own: sent, answered, refused.
pub(crate) mod echo;
// The same over IPv6.
mod echo6;
// `/ping` and `/tool flood-ping`.
pub(crate) mod ping;
// `/tool traceroute`: who is on the way.
mod traceroute;

// Tools that see every frame on the wire.
pub(crate) mod tap;
// What a tool sees of a frame, and which it wants to see.
pub(crate) mod sight;
// `/tool torch`: who talks to whom.
pub(crate) mod torch;
// `/tool sniffer`: frames kept, shown and written to a file.
pub(crate) mod sniffer;

// `/interface monitor-traffic`: what passes by an interface in a second.
pub(crate) mod monitor;

use crate::facility::Facility;
use crate::interface::{self, InterfaceId};
use crate::router::Router;
use crate::story::Event;
use crate::unmet::Unmet;
use config::{Call, Job, Progress, Record, Reply, Started, Type, Value};
use echo::Echoes;
use port::Frame;
use profile::Profiler;
use sniffer::Capture;
use std::net::IpAddr;
use std::time::Duration;
use tap::Taps;
use wire::Moment;
use wire::layers::ETHERTYPE_IPV6;

/// The tools that have no menu.
pub(crate) static FACILITY: Facility = Facility {
    commands: &[
        (&explain::COMMAND, explain::start),
        (&analyze::RULES, analyze::start_rules),
        (&analyze::CHANGE, analyze::start_change),
        (&profile::COMMAND, |r, call, _, now| profile::start(r, call, now)),
        (&ping::PING, |r, call, _, now| ping::start(r, call, now)),
        (&ping::FLOOD_PING, |r, call, _, now| ping::start_flood(r, call, now)),
        (&traceroute::TRACEROUTE, |r, call, _, now| traceroute::start(r, call, now)),
        (&torch::TORCH, |r, call, _, now| torch::start(r, call, now)),
    ],
    ..Facility::NONE
};

/// An answer that is known at once, on its way to whoever asked.
pub(crate) struct Told {
    pub(crate) records: Vec<Record>,
    /// What is to be written.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl Told {
    /// A command that says this.
    pub(crate) fn started(records: Vec<Record>) -> Started<Router> {
        Started::Job(Box::new(Told { records, files: Vec::new() }))
    }
}

impl Job<Router> for Told {
    fn poll(
        &mut self,
        _: &mut Router,
        _: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        out.append(&mut self.records);
        Ok(Progress::Done(Reply::Nothing))
    }

    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        std::mem::take(&mut self.files)
    }
}

/// What the tools keep in the router.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// Pings under way.
    pub(crate) echoes: Echoes,
    /// Who looks at frames on the wire.
    pub(crate) taps: Taps,
    /// What the sniffer had seen when it was stopped.
    pub(crate) captured: Option<Capture>,
    /// Something has been sent since the last breath, and is in an outbox.
    pub(crate) sent: bool,
    /// Why FastPath is closed: one for each tool that closes it.
    pub(crate) closed: Vec<&'static str>,
    /// What happens to packets on the slow path, while somebody listens.
    pub(crate) story: Option<Vec<Event>>,
    /// Copies of packets (`sniff-tzsp`, `sniff-pc`).
    pub(crate) copies: Copies,
    /// What a profile measures.
    pub(crate) profiler: Profiler,
}

/// Copies of packets on their way.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Those of the packet that is with the rules.
    pub(crate) made: Vec<Frame>,
    /// They are being sent: none is made of them.
    pub(crate) sending: bool,
}

impl Router {
    /// Adds a line to the log: `:log info "…"`.
    pub fn log_message(&mut self, now: Moment, topics: &str, message: &str) {
        self.stats.log.say(now, topics, message);
    }

    /// Closes FastPath, FastTrack and the bridge's FastPath for as long as a tool runs that must
    /// see every packet or needs the router to itself. `why` is shown among the unmet conditions.
    pub fn close_fast_path(&mut self, why: &'static str) {
        self.tools.closed.push(why);
        self.learnt.recipes.forget();
    }

    /// Takes one [`close_fast_path`](Self::close_fast_path) back.
    pub fn reopen_fast_path(&mut self, why: &'static str) {
        let Some(at) = self.tools.closed.iter().position(|other| *other == why) else { return };
        self.tools.closed.remove(at);
        if self.tools.closed.is_empty() {
            self.learnt.recipes.forget();
        }
    }

    /// Why quick ways are not taken: what the configuration leaves unmet, and the tools that run.
    pub fn unmet(&self) -> Unmet {
        let mut unmet = self.program.unmet.clone();
        for &why in &self.tools.closed {
            for way in unmet.ways().into_iter().filter(|way| !way.contains(&why)) {
                way.push(why);
            }
        }
        unmet
    }

    /// `ipv4-fast-path-active`.
    #[inline]
    pub fn ipv4_fast_path(&self) -> bool {
        self.program.ipv4_fast_path() && self.tools.closed.is_empty()
    }

    /// `mpls-fast-path-active`.
    #[inline]
    pub fn mpls_fast_path(&self) -> bool {
        self.program.mpls.allows_fast_path && self.tools.closed.is_empty()
    }

    /// `ipv4-fasttrack-active`, but for a connection that uses it.
    #[inline]
    pub fn fasttrack(&self) -> bool {
        self.program.fasttrack() && self.tools.closed.is_empty()
    }

    /// `ipv6-fast-path-active`.
    #[inline]
    pub fn ipv6_fast_path(&self) -> bool {
        self.program.v6.fast_path() && self.tools.closed.is_empty()
    }

    /// Whether FastTrack is there for packets of this EtherType.
    #[inline]
    pub(crate) fn fasttrack_of(&self, ether_type: u16) -> bool {
        match ether_type {
            ETHERTYPE_IPV6 => self.program.v6.fasttrack() && self.tools.closed.is_empty(),
            _ => self.fasttrack(),
        }
    }

    /// `bridge-fast-path-active`.
    #[inline]
    pub fn bridge_fast_path(&self) -> bool {
        self.program.bridge_fast_path() && self.tools.closed.is_empty()
    }
}

/// The interfaces there are, for parameters.
const INTERFACE: Type = interface::menu::ANY_INTERFACE;

/// The interface of this name.
fn interface(r: &Router, name: &Value) -> Result<InterfaceId, String> {
    let found = r.program.names.find(&name.to_string());
    found.ok_or_else(|| "input does not match any value of interface".to_string())
}

/// A length of time that was given.
fn time(call: &Call, name: &str) -> Option<Duration> {
    match call.argument(name) {
        Some(Value::Time(time)) => Some(time),
        _ => None,
    }
}

/// Exactly so many per second, cut off.
fn per_second(n: u64, elapsed: Duration) -> Value {
    let n = u128::from(n) * 1_000_000_000 / elapsed.as_nanos().max(1);
    Value::Number(i64::try_from(n).unwrap_or(i64::MAX))
}

/// When a monitor shows what has passed: every so often, until stopped or for a while.
struct Frames {
    interval: Duration,
    last: Moment,
    end: Option<Moment>,
}

impl Frames {
    /// As the parameter `interval`, of some name, and `duration` say.
    fn read(call: &Call, interval: &str, now: Moment) -> Result<Frames, String> {
        let (name, interval) = (interval, time(call, interval).unwrap_or_default());
        if interval < Duration::from_millis(10) {
            return Err(format!("value of {name} out of range (10ms..)"));
        }
        let end = time(call, "duration").map(|duration| now + duration);
        Ok(Frames { interval, last: now, end })
    }

    /// The time since the last frame, if the next one is due now.
    fn elapsed(&mut self, now: Moment) -> Option<Duration> {
        let elapsed = now - self.last;
        let due = elapsed >= self.interval || (self.is_over(now) && !elapsed.is_zero());
        if due {
            self.last = now;
        }
        due.then_some(elapsed)
    }

    fn is_over(&self, now: Moment) -> bool {
        self.end.is_some_and(|end| now >= end)
    }

    /// Where it has come to.
    fn progress(&self, now: Moment, reply: Reply) -> Progress {
        if self.is_over(now) {
            return Progress::Done(reply);
        }
        let next = self.last + self.interval;
        Progress::Again(self.end.map_or(next, |end| next.min(end)))
    }
}

/// An address of either family, for a record.
fn address(address: IpAddr) -> Value {
    match address {
        IpAddr::V4(address) => Value::Address(address),
        IpAddr::V6(address) => Value::Address6(address),
    }
}

/// A count, for a record.
fn count(n: u64) -> Value {
    Value::Number(i64::try_from(n).unwrap_or(i64::MAX))
}

/// An argument that is a whole number, within its range or not there.
fn number(call: &Call, name: &str) -> Option<u64> {
    match call.argument(name) {
        Some(Value::Number(number)) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// A flag that was given.
fn flag(call: &Call, name: &str) -> bool {
    call.argument(name) == Some(Value::Bool(true))
}
