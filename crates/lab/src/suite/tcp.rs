//! TCP in a suite: hosts on both sides of a device that open connections, ask, answer and close.
//!
//! ```text
//!  clients .2 … .9 ═ port 1 ═ device ═ port 2 ═ servers .2 … .9
//!  trial: a new device, or new tuples ─► everybody once, so that neighbours are known ─► the load
//! ```
//!
//! The hosts are [`Endpoint`]s; segments are what a trial's counts are of, so one that was lost is
//! seen although TCP sends it again.
//!
//! Never reads a clock: `Talk::tick` is called by the tester.

use super::bench::{Bench, Testbed};
use super::find::Finding;
use super::plan::{TCP_HOSTS as HOSTS, Tcp, Traffic, mss};
use crate::tester::Task;
use crate::tester::talk::Talk;
use crate::traffic::tester_mac as mac;
use measure::procedure::bisect::Bound;
use measure::procedure::rfc6349::{self, Found, Path, Transfer};
use measure::procedure::spread::Spread;
use measure::procedure::tcp::{self, ConnectionRate, TcpLoad, TcpOutput};
use measure::procedure::{Run, Stop, TrialOutput};
use measure::result::{Latency, Limit};
use measure::suite_result::{Figure, MBPS_L2, MBPS_TCP};
use measure::tcp::{Endpoint, NextHop, Plan, Role, Transactions};
use measure::trial::{Conditions, Counts, Outcome, Trial};
use std::time::Duration;
use wire::{BitRate, FrameLen, Ipv4Range, PacketRate};

/// What is sent if nothing else is, for results.
pub(super) const TRAFFIC: &str =
    "TCP, 8 clients behind the first port, 8 servers behind the second";
/// The clients' ports; the first is for making each other's acquaintance.
const FIRST_PORT: u16 = 1024;
/// For an MSS where the frames leave none.
const MSS_LEAST: u16 = 64;
/// A segment is sent again so often; a SYN then waits 15 seconds in all.
const RETRIES: u8 = 3;
/// How long an end that closed first waits for late segments: no segment is that late here.
const TIME_WAIT: Duration = Duration::from_millis(100);
/// As many connections at a time are opened where no rate is given, before the device is there.
const ALONE: u64 = 256;
/// And so often again if segments were lost.
const AGAIN: u32 = 5;

/// Whose ports tuples are made of: first and last.
#[derive(Clone, Copy)]
struct Ports {
    clients: (u16, u16),
    servers: (u16, u16),
}

impl Ports {
    /// A trial's.
    fn of(servers: (u16, u16)) -> Ports {
        Ports { clients: (FIRST_PORT + 1, u16::MAX), servers }
    }
}

impl<P: Testbed> Bench<'_, P> {
    /// Both ends of a load.
    fn hosts(&mut self, load: TcpLoad, ports: Ports) -> Result<Talk, Stop> {
        let bridged = matches!(self.plan.traffic, Traffic::Hosts { .. });
        let without = self.place.is_bypassed();
        let ends = self.plan.ends;
        let range = |port: usize| {
            let first = ends[port].host;
            Ipv4Range::new(first, first + HOSTS - 1)
        };
        let (Some(here), Some(there)) = (range(0), range(1)) else {
            return Err(Stop::Broken("the plan's networks have no room for hosts".to_string()));
        };
        let no_mss = || Stop::Broken(format!("no TCP with frames of {}", self.frame.words()));
        let plan = |port: usize, role, addresses, ports| Plan {
            role,
            mac: mac(port),
            next_hop: match bridged || without {
                true => NextHop::Mac(mac(1 - port)),
                false => NextHop::Arp(ends[port].device),
            },
            addresses,
            ports,
            transactions: load.transactions,
            mss: 0,
            window: load.window,
            retries: RETRIES,
            time_wait: TIME_WAIT,
            compare: true,
            seed: self.plan.seed ^ port as u64,
        };
        let clients = Role::Clients {
            servers: there,
            services: ports.servers,
            rate: load.rate,
            concurrent: load.concurrent as usize,
            total: Some(load.connections),
            hold: load.hold.map_or(Duration::ZERO, |_| Duration::MAX),
        };
        let mss = load.mss.or_else(|| mss(self.frame.longest())).ok_or_else(no_mss)?;
        let end = |plan: Plan| {
            Endpoint::new(Plan { mss, ..plan }).map_err(|bad| Stop::Broken(bad.to_string()))
        };
        let clients = end(plan(0, clients, here, ports.clients))?;
        let servers = end(plan(1, Role::Servers, there, ports.servers))?;
        Ok(Talk::new(clients, servers, load, self.place.now()))
    }

    fn talk(&mut self, load: TcpLoad, ports: Ports) -> Result<(TrialOutput, Talk), Stop> {
        let begin = self.begin();
        let (talk, n) = (self.hosts(load, ports)?, self.place.tester().wires.len());
        let refused = self.place.tester().refused();
        let (mut task, counts) = self.measured(Task::talking(begin, n, talk), None)?;
        let refused = self.place.tester().refused() - refused;
        let series = task.series();
        let Some(mut talk) = task.talk.take() else { unreachable!("it was put there") };
        let waited = talk.waiting();
        self.place.tester().free(&mut talk);
        let output = talk.output();
        let of =
            |pick: fn(&measure::tcp::Counts) -> u64| pick(&output.clients) + pick(&output.servers);
        let intended = of(|c| c.segments_sent) - waited;
        // What the tester's own ports had no room for never went out: nobody can blame the device.
        let (sent, received) = (intended.saturating_sub(refused), of(|c| c.segments_received));
        let counts = Counts {
            intended,
            sent,
            // Segments under way when it was given up, and copies a device makes, are neither.
            received: received.min(sent),
            corrupt: of(|c| c.corrupt),
            ..counts
        };
        // Where nothing may be lost, a thread that stood still explains what was.
        let stood_still = task.conditions.stood_still;
        let stood_still = if load.lossless { stood_still } else { Duration::ZERO };
        let conditions = Conditions { overrun: talk.late(), stood_still, ..task.conditions };
        let duration = match load.rate {
            Some(rate) => Duration::from_secs_f64(load.connections as f64 / rate.0),
            None => output.took,
        };
        let mut trial = Trial::judge(duration, counts, &conditions);
        if !matches!(trial.outcome, Outcome::Invalid(_)) {
            trial.outcome = match output.is_faultless() {
                true => Outcome::Pass,
                false => Outcome::Fail { lost: sent - received.min(sent) },
            };
        }
        let tcp = Some(Box::new(output));
        let conditions = task.conditions;
        Ok((TrialOutput { tcp, series, conditions, ..TrialOutput::of(trial) }, *talk))
    }

    /// Every host has spoken to every other: who is where is not what is measured.
    fn acquaint(&mut self, servers: (u16, u16)) -> Result<(), Stop> {
        let connections = u64::from(HOSTS * HOSTS);
        let transactions =
            Transactions { count: 1, request: 1, response: 1, think: Duration::ZERO };
        let talk = tcp::Talk { transactions, window: 65_535 };
        let load = TcpLoad { rate: Some(PacketRate(2000.0)), ..TcpLoad::of(connections, talk) };
        let ports = Ports { clients: (FIRST_PORT, FIRST_PORT), servers };
        let (output, _) = self.talk(load, ports)?;
        if output.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        let closed = output.tcp.map_or(0, |tcp| tcp.clients.closed);
        if closed == connections {
            return Ok(());
        }
        Err(Stop::Broken(format!(
            "the device does not forward TCP: of {connections} connections {closed} came about; it \
             dropped {}",
            self.place.discards()
        )))
    }

    /// A trial of TCP, of a device that knows nothing but its configuration and the hosts.
    pub(super) fn tcp(&mut self, load: TcpLoad) -> Result<TrialOutput, Stop> {
        self.renew()?;
        let servers = self.used.tcp(self.place.remembers())?;
        self.acquaint(servers)?;
        let (output, talk) = self.talk(load, Ports::of(servers))?;
        let is_done = talk.is_over();
        if !is_done && !output.is_interrupted() {
            // It was given up: what is still under way is taken off the wires.
            self.run_task(Task::new(self.place.now(), vec![]))?;
        }
        Ok(output)
    }

    /// What the hosts do without a device between them: connections a second, closed as soon as they
    /// have said all.
    ///
    /// # Errors
    /// [`Stop`].
    pub(super) fn tcp_alone(&mut self, tcp: &Tcp) -> Result<Option<PacketRate>, Stop> {
        let Tcp::Connections(ConnectionRate { duration, talk, .. }) = *tcp else { return Ok(None) };
        self.place.bypass(true)?;
        let servers = self.used.tcp(false)?;
        let (mut connections, mut again, mut best) = (4 * ALONE, 0, 0.0f64);
        let alone = loop {
            let load = TcpLoad { concurrent: ALONE, ..TcpLoad::of(connections, talk) };
            match self.talk(load, Ports::of(servers)) {
                Ok((output, _)) if output.is_interrupted() => break Err(Stop::Interrupted),
                Ok((output, _)) => {
                    let tcp = output.tcp.as_ref();
                    let took = tcp.map_or(Duration::ZERO, |tcp| tcp.took);
                    best = best.max(connections as f64 / took.as_secs_f64().max(1e-9));
                    // A segment that the wires lost is sent again a second later: that is not what
                    // the hosts can do, but what a busy machine did.
                    let lossy = tcp.is_some_and(|tcp| tcp.retransmitted() > 0);
                    if lossy && again < AGAIN && !self.place.is_simulated() {
                        again += 1;
                        continue;
                    }
                    // Long enough to say something, and not longer than a trial.
                    if took >= duration.min(Duration::from_millis(100)) || connections >= 1 << 20 {
                        break Ok(best);
                    }
                    (connections, best) = (connections * 4, 0.0);
                }
                Err(stop) => break Err(stop),
            }
        };
        self.place.bypass(false)?;
        alone.map(|rate| Some(PacketRate(rate)))
    }
}

/// What procedures of TCP are told, beside the plan.
pub(super) struct Known<'a> {
    /// What the hosts do without a device, in connections a second.
    pub(super) alone: Option<PacketRate>,
    /// Whether wires have a rate of their own.
    pub(super) simulated: bool,
    /// The longest frames there are to be, and what the hosts' wires carry.
    pub(super) frames: (FrameLen, BitRate),
    /// What was found of the path before.
    pub(super) path: &'a mut Option<Path>,
}

/// Runs a procedure of TCP.
pub(super) fn find(run: &mut Run<'_>, procedure: &Tcp, known: Known<'_>) -> Result<Finding, Stop> {
    let Known { alone, simulated, frames, path } = known;
    match *procedure {
        Tcp::Connections(plan) => {
            let highest = alone.unwrap_or(PacketRate(1000.0));
            let (found, best) = tcp::connection_rate(run, (highest * 0.0001, highest), &plan)?;
            let seconds = plan.duration.as_secs_f64();
            let name = format!("TCP connections per second[rfc9411 §7.2 {seconds}s 0 loss]");
            let rate = found.best;
            let what = if simulated { "the hosts over these wires" } else { "the tester alone" };
            let mut figures = vec![
                Figure::of(name, rate, "/s"),
                Figure::of(format!("{what}, as many as may be"), Some(highest.0), "/s"),
            ];
            figures.extend(best.iter().flat_map(times));
            let limited_by = match rate {
                Some(rate) if rate >= 0.99 * highest.0 && simulated => Some(Limit::Wire),
                Some(rate) if found.bound == Bound::Tester || highest.0 < 1.2 * rate => {
                    (!simulated).then_some(Limit::Tester).or(Some(Limit::Device))
                }
                Some(_) => Some(Limit::Device),
                None => None,
            };
            let finding = Finding { limited_by, ..Finding::of(figures) };
            Ok(finding
                .remark(true, carried(plan.talk.transactions))
                .remark(found.bound == Bound::Tester, "higher rates were beyond the tester"))
        }
        Tcp::Concurrent { capacity, hold, talk } => {
            let found = tcp::concurrent(run, &capacity, (hold, talk))?;
            let (rate, most) = (capacity.rate, capacity.most);
            let name = format!(
                "concurrent TCP connections[rfc9411 §7.5 opened at {}/s, held {}s, 0 loss]",
                rate.0,
                hold.as_secs_f64()
            );
            let figure = Figure::of(name, found.connections.map(|n| n as f64), "connections");
            let limited_by = match found.bound {
                Bound::Loss | Bound::TrialsSpent => Some(Limit::Device),
                Bound::Tester => Some(Limit::Tester),
                Bound::Highest => None,
            };
            let at_least = format!("at least: no more than {most} were tried");
            let none = format!(
                "not even one connection opened at {}/s and held had no fault: a segment was lost, or \
                 the wire carries no such rate",
                rate.0
            );
            Ok(Finding { limited_by, ..Finding::of([figure]) }
                .remark(true, carried(talk.transactions))
                .remark(found.connections.is_none(), none)
                .remark(found.bound == Bound::Highest, at_least))
        }
        Tcp::Transactions { connections, repetitions, talk } => {
            let outputs = tcp::transactions(run, TcpLoad::of(connections, talk), repetitions)?;
            let spread = |value: fn(&TcpOutput) -> f64| {
                Spread::of(&outputs.iter().map(value).collect::<Vec<f64>>())
            };
            let name = |what| {
                format!("{what}[rfc9411 §7.3 {connections} connections {repetitions}x 0 failed]")
            };
            let per_second = spread(TcpOutput::transactions_per_second);
            let goodput = spread(|output| output.goodput_bps() / 1e6);
            let again = spread(|output| output.retransmitted() as f64);
            let mut figures = vec![
                Figure::spread(name("TCP transactions per second"), per_second, |s| s.median, "/s"),
                Figure::spread("goodput, both ways", goodput, |s| s.median, MBPS_TCP),
                Figure::spread("segments sent again", again, |s| s.median, "segments"),
            ];
            let last = outputs.last();
            figures.extend(last.iter().flat_map(|output| times(output)));
            let histogram = last.map_or(vec![], |tcp| tcp.clients.transaction_ns.buckets());
            let failed = repetitions as usize - outputs.len();
            Ok(Finding { histogram, ..Finding::of(figures) }
                .remark(true, carried(talk.transactions))
                .remark(failed > 0, format!("{failed} repetitions failed or were invalid")))
        }
        Tcp::Path { duration } => {
            let most = mss(frames.0).unwrap_or(MSS_LEAST);
            let found = rfc6349::path(run, most, (frames.1, duration))?;
            let nothing = "no path: not even small segments, or no full frames, came through";
            let (known, why) = match found {
                Found::Path(path) => (Some(path), String::new()),
                Found::Nothing => (None, nothing.to_string()),
                Found::Invalid(reason) => {
                    (None, format!("no path: a trial of it stayed invalid: {reason}"))
                }
            };
            *path = known;
            let finding = known.as_ref().map_or_else(Finding::default, of_path);
            Ok(finding.remark(known.is_none(), why))
        }
        Tcp::Throughput { connections, share, duration } => {
            let Some(path) = path else {
                let why = "no path is known: [[procedure]] kind = \"tcp-path\" comes first";
                return Ok(Finding::default().remark(true, why));
            };
            let found = rfc6349::throughput(run, path, (connections, share), duration)?;
            // What is not is short by what it asked for, or because the path is better than was found.
            let took = found.as_ref().map_or(duration, |found| found.time);
            let short = took.as_secs_f64() < 29.5;
            let plural = if connections == 1 { "" } else { "s" };
            let unfinished = format!(
                "the transfer by {connections} connection{plural} with windows of {} % of the BDP did \
                 not come to its end",
                share * 100.0
            );
            Ok(found
                .as_ref()
                .map_or_else(Finding::default, |found| of_transfer(found, path, duration))
                .remark(found.is_none(), unfinished)
                .remark(short, "transfers of less than 30 seconds: RFC 6349 wants longer ones"))
        }
    }
}

/// What a path is.
fn of_path(path: &Path) -> Finding {
    let figures = [
        Figure::of("path MTU[rfc4821]", Some(f64::from(path.mtu)), "byte"),
        Figure::of("baseline RTT[rfc6349]", Some(path.rtt.as_nanos() as f64), "ns"),
        Figure::of("bottleneck bandwidth (L2)", Some(path.bottleneck_bps() / 1e6), MBPS_L2),
        Figure::of("ideal TCP throughput", Some(path.ideal_bps() / 1e6), MBPS_TCP),
        Figure::of("bandwidth-delay product", Some(path.bdp_bytes()), "byte"),
    ];
    Finding::of(figures)
        .remark(!path.mtu_is_limit, "path MTU at least: the hosts send no larger segments")
}

/// What a transfer was like.
fn of_transfer(found: &Transfer, path: &Path, duration: Duration) -> Finding {
    let name = |what: &str| format!("{what}[rfc6349 {}s]", duration.as_secs_f64());
    Finding::of([
        Figure::of("connections", Some(found.connections as f64), "TCP"),
        Figure::of("windows, of the BDP", Some(found.share * 100.0), "%"),
        Figure::of("window of each", Some(f64::from(found.window)), "byte"),
        Figure::of(name("TCP throughput"), Some(found.throughput_bps() / 1e6), MBPS_TCP),
        Figure::of("ideal", Some(path.ideal_bps() / 1e6), MBPS_TCP),
        Figure::of("TCP transfer time ratio", Some(found.ratio), "ratio"),
        Figure::of("TCP efficiency", Some(found.efficiency), "%"),
        Figure::of("buffer delay", found.buffer_delay, "%"),
    ])
    .remark(
        found.segment_percent.is_some(),
        format!(
            "windows are a segment each, and more than asked for: a segment is {:.1} % of the BDP",
            found.segment_percent.unwrap_or_default()
        ),
    )
    .remark(
        found.window < 2 * path.mss(),
        "no buffer delay: a window of less than two segments waits for the receiver's delayed \
         acknowledgement, and for no buffer",
    )
}

/// What was said, in words.
fn carried(talk: Transactions) -> String {
    format!(
        "{} per connection: {} bytes asked, {} answered",
        match talk.count {
            1 => "one transaction".to_string(),
            n => format!("{n} transactions"),
        },
        talk.request,
        talk.response
    )
}

/// How long handshakes and answers took.
fn times(output: &TcpOutput) -> Vec<Figure> {
    let mut figures = vec![];
    for (what, of) in
        [("handshake", &output.clients.connect_ns), ("transaction", &output.clients.transaction_ns)]
    {
        let Some(times) = Latency::of(of) else { continue };
        for (which, ns) in [("p50", times.p50_ns), ("p99", times.p99_ns), ("max", times.max_ns)] {
            figures.push(Figure::of(format!("{what} {which}"), Some(ns as f64), "ns"));
        }
    }
    figures
}
