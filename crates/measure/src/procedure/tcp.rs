//! TCP through a device, after RFC 9411 §7: connections per second, transactions, connections at a
//! time.
//!
//! ```text
//!  tcp-connections   open ─► ask ─► answered ─► close, at a rate R         the highest R without fault
//!  tcp-concurrent    open N, ask, hold all, close all                      the most N without fault
//!  tcp-transactions  N connections, each asks again and again              answers per second
//! ```
//!
//! Real handshakes, data and closes by [`tcp::Endpoint`](crate::tcp::Endpoint)s on both sides, so a
//! device that tracks connections has everything to do that it has outside. A connection is *without
//! fault* if it was opened when it was due, every answer came whole, and both ends closed it. Where the
//! load is searched for, no segment may be lost either: TCP would hide that by sending again.
//!
//! Terms are RFC 9411's ("TCP connections per second", "concurrent TCP connection capacity"); its
//! ramps, TLS and HTTP itself are not done: **requests and responses are plain bytes**.

use super::bisect::{Answer, Bisect, Found, Step};
use super::connections::{Capacity, Table, most_kept};
use super::throughput::answer;
use super::{Run, Stop, TrialInput};
use crate::tcp::{Counts, Transactions};
use std::time::Duration;
use wire::PacketRate;

/// What one trial has the hosts do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpLoad {
    /// New connections a second; none for as many as `concurrent` lets.
    pub rate: Option<PacketRate>,
    /// How many are opened in all.
    pub connections: u64,
    /// The most at a time.
    pub concurrent: u64,
    /// What is asked and answered on each.
    pub transactions: Transactions,
    /// All are kept open until the last has said all, and for so long after that.
    pub hold: Option<Duration>,
    /// The receive window of both ends, in bytes.
    pub window: u32,
    /// The most data in a segment; none for what the trial's frames hold.
    pub mss: Option<u16>,
    /// Whether a segment that was lost fails the trial.
    pub lossless: bool,
}

/// What is said on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Talk {
    /// What is asked and answered.
    pub transactions: Transactions,
    /// The receive window of both ends, in bytes.
    pub window: u32,
}

impl TcpLoad {
    /// So many connections, all at a time, opened as fast as may be, each closed when all is said.
    pub fn of(connections: u64, Talk { transactions, window }: Talk) -> TcpLoad {
        TcpLoad {
            rate: None,
            connections,
            concurrent: connections,
            transactions,
            hold: None,
            window,
            mss: None,
            lossless: false,
        }
    }

    /// Transactions there are to be.
    pub fn transactions_due(&self) -> u64 {
        self.connections * u64::from(self.transactions.count)
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOutput {
    /// What was asked for.
    pub load: TcpLoad,
    /// What the clients' end counted.
    pub clients: Counts,
    /// What the servers' end did.
    pub servers: Counts,
    /// From the first SYN until the clients had closed the last connection, or all was given up.
    pub took: Duration,
}

impl TcpOutput {
    /// Connections that were not opened, broke, or ended before all was said.
    pub fn failed(&self) -> u64 {
        let whole = self.clients.closed.saturating_sub(self.clients.cut_short);
        self.load.connections - whole.min(self.load.connections)
    }

    /// Segments that were sent again, by either end.
    pub fn retransmitted(&self) -> u64 {
        let of = |counts: &Counts| counts.retransmitted + counts.retransmitted_syns;
        of(&self.clients) + of(&self.servers)
    }

    /// Whether nothing was missing and every byte right.
    pub fn is_faultless(&self) -> bool {
        let transactions = [&self.clients, &self.servers].map(|counts| counts.transactions);
        let bytes = [
            (self.clients.bytes_sent, self.servers.bytes_received),
            (self.servers.bytes_sent, self.clients.bytes_received),
        ];
        let wrong = self.clients.wrong_bytes + self.servers.wrong_bytes;
        self.failed() == 0
            && transactions == [self.load.transactions_due(); 2]
            && bytes.iter().all(|(sent, received)| sent == received)
            && wrong == 0
            && (!self.load.lossless || self.retransmitted() == 0)
    }

    /// Answered requests a second.
    pub fn transactions_per_second(&self) -> f64 {
        self.clients.transactions as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// Bits of data a second, both ways together.
    pub fn goodput_bps(&self) -> f64 {
        let bytes = self.clients.bytes_received + self.servers.bytes_received;
        bytes as f64 * 8.0 / self.took.as_secs_f64().max(1e-9)
    }
}

/// What is to be measured of connections per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionRate {
    /// How long connections are opened.
    pub duration: Duration,
    /// How close the search gets, as a share.
    pub precision: f64,
    /// What each carries.
    pub talk: Talk,
}

/// TCP connections per second: the highest rate between these without fault, and what came of that
/// trial.
///
/// # Errors
/// [`Stop`].
pub fn connection_rate(
    run: &mut Run<'_>,
    (lowest, highest): (PacketRate, PacketRate),
    plan: &ConnectionRate,
) -> Result<(Found, Option<TcpOutput>), Stop> {
    let search = Bisect::within((lowest.0, highest.0), Step::Relative(plan.precision));
    let mut best: Option<TcpOutput> = None;
    let found = search.run(|rate| {
        let connections = (rate * plan.duration.as_secs_f64()).ceil().max(1.0) as u64;
        let rate = Some(PacketRate(rate));
        let load = TcpLoad { rate, lossless: true, ..TcpLoad::of(connections, plan.talk) };
        let output = run.trial(TrialInput::Tcp(load))?;
        let answer = answer(&output);
        let higher = best.as_ref().is_none_or(|best| best.load.connections < connections);
        if answer == Answer::Pass && higher {
            best = output.tcp.map(|tcp| *tcp);
        }
        Ok(answer)
    })?;
    Ok((found, best))
}

/// Concurrent TCP connection capacity: doubled until some do not hold, then halved.
///
/// # Errors
/// [`Stop`].
pub fn concurrent(
    run: &mut Run<'_>,
    plan: &Capacity,
    (hold, talk): (Duration, Talk),
) -> Result<Table, Stop> {
    most_kept(plan, |connections| {
        let (rate, hold) = (Some(plan.rate), Some(hold));
        let load = TcpLoad { rate, hold, lossless: true, ..TcpLoad::of(connections, talk) };
        Ok(answer(&run.trial(TrialInput::Tcp(load))?))
    })
}

/// Connections that ask again and again, as often as it is repeated; what each run said, the ones
/// with faults left out.
///
/// # Errors
/// [`Stop`].
pub fn transactions(
    run: &mut Run<'_>,
    load: TcpLoad,
    repetitions: u32,
) -> Result<Vec<TcpOutput>, Stop> {
    let mut outputs = vec![];
    for _ in 0..repetitions {
        let output = run.trial(TrialInput::Tcp(load))?;
        if answer(&output) == Answer::Pass {
            outputs.extend(output.tcp.map(|tcp| *tcp));
        }
    }
    Ok(outputs)
}
