//! `/ip traffic-flow`: collectors are told of flows, by NetFlow 5 and 9 and IPFIX.
//!
//! ```text
//!  packets ─► flows of connection tracking, which both paths count in
//!                 ├─ over ──────────────────────────────────────┐
//!                 └─ looked at in turn: silent, or long enough ──┴► records ─► datagrams ─► targets
//! ```
//!
//! Whoever counts is there already: each packet of a flow adds to its tally, on the slow path and by its recipe, so that
//! collectors see what takes FastPath and FastTrack, and it costs them nothing. Without tracking the flows are those
//! kept for their recipes; a batch that asks nothing but the FIB has none, so it is left to recipes where collectors are
//! told.
//!
//! A record is of one direction: its tuple as it came and as it left, the interfaces of its first packet, what passed
//! since the last one, and since the collectors were configured.
//!
//! Missing: **TCP flags, TOS, prefix lengths and AS numbers** (NetFlow 5 has zeros there), **sampling**, **bridged
//! frames** that `use-ip-firewall` does not show to IP, **collectors of IPv6 addresses**.

// The menus.
pub(crate) mod menu;

use super::datagram::{self, End};
use super::dns::resolver::own_address;
use super::route::Target as RouteTarget;
use super::rule::Lookup;
use crate::counter::Count;
use crate::firewall::connection::flow::{First, Flow, FlowId, Watch};
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::parts::Stacked;
use crate::router::Router;
use std::collections::HashMap;
use std::time::Duration;
use wire::Moment;
use wire::layers::protocol;
use wire::netflow::{self, Header, Record, Version};

/// `/ip traffic-flow`, compiled, where anybody is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// By which interfaces they came, in order; `None` is any.
    interfaces: Option<Vec<InterfaceId>>,
    active: Duration,
    inactive: Duration,
    targets: Vec<Target>,
}

/// A collector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Target {
    to: End,
    src: Option<u32>,
    version: Version,
    /// Datagrams after which templates are told again, and time.
    refresh: u64,
    again: Duration,
}

/// The port they come from.
const PORT: u16 = 2055;
/// Records that wait to be sent; of those beyond nobody is told.
const MOST: usize = 1 << 18;
/// How long one waits at most for others to fill a datagram.
const WAITS: Duration = Duration::from_secs(1);
/// Records that are sent at once, a thousand times a second: more would hold packets up.
const BURST: usize = 512;
/// How often the log says what was lost.
const SAYS: Duration = Duration::from_secs(10);
/// In so many looks, a thousand a second, all flows are looked at; some at least each time.
const LOOKS: u32 = 4000;
const LEAST: u32 = 256;

/// What collectors were told.
#[derive(Debug, Default)]
pub(crate) struct Exporter {
    four: Told,
    six: Told,
    records: Vec<Record>,
    /// When the first of them came.
    since: Option<Moment>,
    sent: HashMap<Target, Sent>,
    /// Flows of which nobody is told: they had no room. And when the log said so last.
    lost: u64,
    said: Option<Moment>,
    is_on: bool,
}

/// A trial tells nobody.
impl Clone for Exporter {
    fn clone(&self) -> Exporter {
        Exporter::default()
    }
}

/// What a collector has got.
#[derive(Debug, Default)]
struct Sent {
    datagrams: u64,
    records: u64,
    /// Datagrams since the templates, and when these were told.
    since_templates: Option<(u64, Moment)>,
}

/// What was told of a family's flows, by their numbers.
#[derive(Debug, Default)]
struct Told {
    flows: Vec<Before>,
    /// Which is looked at next.
    at: u32,
}

/// Of a flow: what was told of it, and when what is to be told began, milliseconds since the start; 0 is not known.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    count: Count,
    since_ms: u64,
}

impl Exporter {
    /// Whether there is anything to do, or to end.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }
}

/// Counts a packet that is not tracked, where collectors are told: connections count theirs by themselves.
pub(crate) fn count_untracked<F: Stacked>(r: &mut Router, now: Moment, p: &Packet) {
    if r.program.traffic_flow.is_none() {
        return;
    }
    if let Ok(flow) = r.untracked_flow::<F>(now, p) {
        F::connections_mut(r).flow_mut(flow).count(p.ip_len, now.as_millis_u32());
    }
}

/// Notes a packet of a flow, which leaves, if it is the first.
pub(crate) fn note<F: Stacked>(r: &mut Router, now: Moment, p: &Packet, flow: Option<FlowId>) {
    if r.program.traffic_flow.is_none() {
        return;
    }
    let Some(flow) = flow.or_else(|| r.untracked_flow::<F>(now, p).ok()) else { return };
    if let Some(watch) = F::connections_mut(r).flows_mut().watch() {
        let ways = [p.in_interface, p.out_interface];
        watch.note(flow, First { ways, came_ms: now.as_millis_u32() });
    }
}

/// Looks at some flows, and tells of those that are due.
#[cold]
pub(crate) fn tick(r: &mut Router, now: Moment) {
    let program = r.program.clone();
    let mut exporter = std::mem::take(&mut r.services.traffic_flow);
    let is_on = program.traffic_flow.is_some();
    if is_on != exporter.is_on {
        r.v4.connections.flows_mut().set_watch(is_on);
        r.v6.connections.flows_mut().set_watch(is_on);
        exporter = Exporter { is_on, ..Exporter::default() };
        if is_on {
            (exporter.four, exporter.six) = (Told::from_now::<u32>(r), Told::from_now::<u128>(r));
        }
    }
    if let Some(settings) = program.traffic_flow.as_deref() {
        let mut records = std::mem::take(&mut exporter.records);
        let before = records.len();
        exporter.four.look::<u32>(r, now, settings, &mut records);
        exporter.six.look::<u128>(r, now, settings, &mut records);
        // In an order of their own: places in the table are not the same in two routers that count alike.
        records[before..].sort_unstable_by_key(|one| (one.addresses, one.ports, one.protocol));
        exporter.lost += records.len().saturating_sub(MOST) as u64;
        exporter.lost += lost::<u32>(r) + lost::<u128>(r);
        records.truncate(MOST);
        exporter.say_lost(r, now);
        if before == 0 && !records.is_empty() {
            exporter.since = Some(now);
        }
        exporter.records = records;
        exporter.send(r, now, settings);
    }
    r.services.traffic_flow = exporter;
}

/// Of how many flows of a family that ended nothing was kept since somebody asked.
fn lost<F: Stacked>(r: &mut Router) -> u64 {
    let watch = F::connections_mut(r).flows_mut().watch();
    watch.map_or(0, |watch| std::mem::take(&mut watch.lost))
}

impl Told {
    /// What passed before somebody is told is no part of it: box by box untracked packets were not counted.
    fn from_now<F: Stacked>(r: &Router) -> Told {
        let flows = F::connections(r).flows();
        let count = |id| flows.get(FlowId(id)).map_or(Count::default(), Flow::counted);
        let before = |id| Before { count: count(id), since_ms: 0 };
        Told { flows: (0..flows.end()).map(before).collect(), at: 0 }
    }

    /// Makes records of the flows that have ended, and of some others.
    fn look<F: Stacked>(
        &mut self,
        r: &mut Router,
        now: Moment,
        settings: &Settings,
        records: &mut Vec<Record>,
    ) {
        let watch = F::connections_mut(r).flows_mut().watch();
        for (id, flow, first) in watch.map_or(vec![], Watch::take_ended) {
            let before = self.flows.get_mut(id.0 as usize).map(std::mem::take).unwrap_or_default();
            records.extend(record(r, now, settings, (&flow, first), before));
        }
        let end = F::connections(r).flows().end();
        self.flows.resize(self.flows.len().max(end as usize), Before::default());
        let (now_ms, timeouts) = (millis(now), [settings.active, settings.inactive]);
        let [active, inactive] = timeouts.map(|time| time.as_millis() as u64);
        for _ in 0..end.min(LEAST + end / LOOKS) {
            self.at = if self.at >= end { 0 } else { self.at };
            let id = FlowId(self.at);
            self.at += 1;
            let Some(flow) = F::connections(r).flows().get(id) else { continue };
            let before = &mut self.flows[id.0 as usize];
            let counted = flow.counted();
            // `reset-counters` begins anew.
            if counted.packets < before.count.packets {
                before.count = Count::default();
            }
            if counted.packets == before.count.packets {
                continue;
            }
            let first = F::connections(r).flows().first(id);
            if before.since_ms == 0 {
                before.since_ms = begin(now, flow, first, before);
            }
            let silent = now_ms.saturating_sub(ms_of(now, flow.last_ms())) >= inactive;
            if silent || now_ms.saturating_sub(before.since_ms) >= active {
                records.extend(record(r, now, settings, (flow, first), *before));
                let since_ms = if silent { 0 } else { now_ms };
                *before = Before { count: counted, since_ms };
            }
        }
    }
}

/// When the packets began that are to be told of: of a new flow with its first, else they were seen just now.
fn begin<F: Stacked>(now: Moment, flow: &Flow<F>, first: Option<First>, before: &Before) -> u64 {
    let first = first.filter(|_| before.count.packets == 0);
    ms_of(now, first.map_or(flow.last_ms(), |first| first.came_ms))
}

/// What is to be told of a flow; nothing if it has passed nothing, or came by another interface.
fn record<F: Stacked>(
    r: &Router,
    now: Moment,
    settings: &Settings,
    (flow, first): (&Flow<F>, Option<First>),
    before: Before,
) -> Option<Record> {
    let Count { packets, bytes } = flow.counted();
    let new = packets >= before.count.packets;
    let base = if new { before.count } else { Count::default() };
    let (packets, bytes) = (packets - base.packets, bytes.saturating_sub(base.bytes));
    let [came, left] = ways(r, flow, first);
    let is_asked =
        settings.interfaces.as_ref().is_none_or(|some| some.binary_search(&came).is_ok());
    if packets == 0 || !is_asked {
        return None;
    }
    let last = ms_of(now, flow.last_ms());
    let since = match before.since_ms {
        0 => begin(now, flow, first, &before),
        since => since,
    };
    let (tuple, translated) = (flow.tuple(), flow.translated());
    // What stands there of others is no port.
    let has_ports = [protocol::TCP, protocol::UDP, SCTP, UDP_LITE].contains(&tuple.protocol);
    let ports = |one: u16, other: u16| if has_ports { [one, other] } else { [0; 2] };
    Some(Record {
        addresses: [tuple.src.ip(), tuple.dst.ip()],
        translated: [translated.src.ip(), translated.dst.ip()],
        ports: ports(tuple.src_port, tuple.dst_port),
        translated_ports: ports(translated.src_port, translated.dst_port),
        protocol: tuple.protocol,
        interfaces: [came.0, left.0],
        packets,
        bytes,
        times_ms: [since.min(last), last],
    })
}

const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// By which interface a flow's packets come, and by which they leave; none where that is the router itself. Of a
/// flow whose packets went no further the routes say it, there and back.
fn ways<F: Stacked>(r: &Router, flow: &Flow<F>, first: Option<First>) -> [InterfaceId; 2] {
    let route = |address: F| {
        let routes = F::routes(r);
        match routes.target(routes.lookup_in(Mark::NONE, address)) {
            Some(RouteTarget::Connected(interface)) => *interface,
            Some(RouteTarget::Gateways(ways)) => {
                ways.first().map_or(InterfaceId::NONE, |(interface, _)| *interface)
            }
            _ => InterfaceId::NONE,
        }
    };
    first.map_or_else(|| [flow.src, flow.translated().dst].map(route), |first| first.ways)
}

/// Milliseconds since the router started.
fn millis(now: Moment) -> u64 {
    now.as_nanos() / 1_000_000
}

/// The same of a time that has lost its upper bits.
fn ms_of(now: Moment, ms: u32) -> u64 {
    millis(now).saturating_sub(u64::from(now.as_millis_u32().wrapping_sub(ms)))
}

impl Exporter {
    /// The log says now and then of how many flows nobody was told.
    fn say_lost(&mut self, r: &mut Router, now: Moment) {
        let is_time = self.said.is_none_or(|said| now.since(said) >= SAYS);
        if self.lost > 0 && is_time {
            let text = format!("{} flows ended at once, of which nobody is told", self.lost);
            r.stats.log.say(now, "firewall,warning", &text);
            (self.lost, self.said) = (0, Some(now));
        }
    }

    /// Sends records, once they fill a datagram or have waited long enough.
    fn send(&mut self, r: &mut Router, now: Moment, settings: &Settings) {
        let waited = self.since.is_some_and(|since| now.since(since) >= WAITS);
        let is_full = self.records.len() >= BURST;
        if self.records.is_empty() || !waited && !is_full {
            return;
        }
        let n = self.records.len().min(BURST);
        let some: Vec<Record> = self.records.drain(..n).collect();
        self.sent.retain(|target, _| settings.targets.contains(target));
        for target in &settings.targets {
            let Some(own) = target.src.or_else(|| own_address(r, target.to.address)) else {
                continue;
            };
            let ends = (End { address: own, port: PORT }, target.to);
            let sent = self.sent.entry(target.clone()).or_default();
            let mut rest = &some[..];
            while !rest.is_empty() {
                let (payload, taken) = sent.write(r, now, target, rest);
                rest = &rest[taken..];
                datagram::send(r, now, ends, &payload);
            }
        }
        self.since = (!self.records.is_empty()).then_some(now);
    }
}

impl Sent {
    /// A datagram of the first of some records, and how many it has.
    fn write(
        &mut self,
        r: &Router,
        now: Moment,
        target: &Target,
        records: &[Record],
    ) -> (Vec<u8>, usize) {
        let is_told = self.since_templates.is_some_and(|(datagrams, at)| {
            datagrams < target.refresh && now.since(at) < target.again
        });
        let sequence = match target.version {
            Version::V9 => self.datagrams,
            Version::V5 | Version::Ipfix => self.records,
        };
        let unix_ms = r.rules.clock.zero * 1000 + millis(now);
        let header = Header { uptime_ms: millis(now), unix_ms, sequence: sequence as u32 };
        let (payload, taken) = netflow::write(target.version, &header, !is_told, records);
        self.since_templates = match self.since_templates.filter(|_| is_told) {
            Some((datagrams, at)) => Some((datagrams + 1, at)),
            None => Some((1, now)),
        };
        self.datagrams += 1;
        self.records += taken as u64;
        (payload, taken)
    }
}
