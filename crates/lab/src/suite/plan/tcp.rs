//! A plan's procedures of TCP: what they are told, and what they are without.
//!
//! ```text
//!  kind = "tcp-connections"   duration, precision         ┐
//!  kind = "tcp-concurrent"    first, most, rate, error, hold ├ and transactions, request, response,
//!  kind = "tcp-transactions"  connections, repetitions    ┘   window
//!  kind = "tcp-path"          duration                      RFC 6349: what the path is …
//!  kind = "tcp-throughput"    connections, window, duration … and what TCP makes of it
//! ```
//!
//! A plan's frame size is the longest frame TCP may send: the MSS is that less 58 bytes of Ethernet,
//! its FCS, IPv4 and TCP.

use super::read::count;
use super::reader::{ProcedureTable, Reader, or};
use super::value::Number;
use super::{BadPlan, Scaling};
use measure::procedure::Capacity;
use measure::procedure::tcp::{ConnectionRate, Talk};
use measure::tcp::Transactions;
use std::time::Duration;
use wire::FrameLen;

/// What a procedure of TCP does; see [`measure::procedure::tcp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tcp {
    /// How many new connections a second (RFC 9411 §7.2).
    Connections(ConnectionRate),
    /// How many at a time (§7.5).
    Concurrent {
        /// How many are tried, how fast they are opened.
        capacity: Capacity,
        /// How long all are kept open.
        hold: Duration,
        /// What each carries.
        talk: Talk,
    },
    /// How many requests are answered a second, and how quickly (§7.3, §7.4).
    Transactions {
        /// At a time.
        connections: u64,
        /// How often.
        repetitions: u32,
        /// What each carries.
        talk: Talk,
    },
    /// RFC 6349 §3.1, §3.2: path MTU, baseline RTT, bottleneck bandwidth.
    Path {
        /// How long more is sent than comes through; the second time twice as long.
        duration: Duration,
    },
    /// RFC 6349 §4, on the path that was found before.
    Throughput {
        /// At a time.
        connections: u64,
        /// All windows together, as a share of the bandwidth-delay product.
        share: f64,
        /// How long the transfer takes at best.
        duration: Duration,
    },
}

/// Ethernet, its FCS, IPv4 and TCP.
const HEADERS: u32 = 18 + 20 + 20;
/// The MSS an endpoint can have.
const MSS: (u32, u32) = (measure::tcp::MSS.0 as u32, measure::tcp::MSS.1 as u32);

/// The MSS for frames up to a length; none if that leaves too little, or is more than TCP here can.
pub(in crate::suite) fn mss(frame: FrameLen) -> Option<u16> {
    let mss = frame.l2().checked_sub(HEADERS)?;
    (MSS.0..=MSS.1).contains(&mss).then_some(mss as u16)
}

impl Tcp {
    /// As it stands in plans and results.
    pub fn name(&self) -> &'static str {
        match self {
            Tcp::Connections(_) => "tcp-connections",
            Tcp::Concurrent { .. } => "tcp-concurrent",
            Tcp::Transactions { .. } => "tcp-transactions",
            Tcp::Path { .. } => "tcp-path",
            Tcp::Throughput { .. } => "tcp-throughput",
        }
    }

    /// Makes it short.
    pub(super) fn scale(&mut self, scaling: &Scaling, time: impl Fn(Duration) -> Duration) {
        match self {
            Tcp::Connections(ConnectionRate { duration, precision, .. }) => {
                *duration = time(*duration);
                *precision = precision.max(scaling.precision);
            }
            Tcp::Concurrent { capacity: Capacity { first, most, .. }, hold, .. } => {
                *most = (*most).min(scaling.counts_at_most);
                *first = (*first).min(*most);
                *hold = time(*hold);
            }
            Tcp::Transactions { connections, repetitions, .. } => {
                *connections = (*connections).min(scaling.counts_at_most);
                *repetitions = (*repetitions).min(scaling.repetitions_at_most);
            }
            Tcp::Path { duration } | Tcp::Throughput { duration, .. } => {
                *duration = time(*duration);
            }
        }
    }
}

impl Reader<'_> {
    /// A procedure of TCP, of whose table nothing is set that it does not take.
    pub(super) fn tcp(&self, table: &ProcedureTable) -> Result<Tcp, BadPlan> {
        if let Some(bad) = self.sizes.iter().find(|size| mss(size.longest()).is_none()) {
            let why = format!(
                "{} and frames of {bad} bytes: TCP takes frames of {} to {} (an MSS of {} to {}, and \
                 58 bytes of headers)",
                table.kind.get_ref(),
                MSS.0 + HEADERS,
                MSS.1 + HEADERS,
                MSS.0,
                MSS.1
            );
            return Err(self.source.bad(&table.kind, why));
        }
        let time =
            |value, default| or(value, Duration::from_secs(default), |it| self.source.time(it));
        let number = |value, default, most| or(value, default, |it| count(self.source, it, most));
        let longest = self.sizes.iter().filter_map(|size| mss(size.longest())).max();
        let least = longest.map_or(1460, |mss| i64::from(mss.max(1460)));
        let talk = |times: u64| -> Result<Talk, BadPlan> {
            let transactions = Transactions {
                count: number(&table.transactions, times, 1_000_000)? as u32,
                request: number(&table.request, 64, 1 << 30)? as u32,
                response: number(&table.response, 1024, 1 << 30)?,
                think: Duration::ZERO,
            };
            let window = or(&table.window, 65_535, |value| match value.get_ref() {
                Number::Whole(n) if (least..=1 << 30).contains(n) => Ok(*n as u32),
                _ => {
                    let why = format!("a window is {least} (a segment) to {} bytes", 1 << 30);
                    Err(self.source.bad(value, why))
                }
            })?;
            Ok(Talk { transactions, window })
        };
        Ok(match table.kind.get_ref().as_str() {
            "tcp-connections" => Tcp::Connections(ConnectionRate {
                duration: time(&table.duration, 10)?,
                precision: or(&table.precision, 0.01, |it| self.source.share(it, "a precision"))?,
                talk: talk(1)?,
            }),
            "tcp-concurrent" => Tcp::Concurrent {
                capacity: self.capacity(table, 20_000.0)?,
                hold: time(&table.hold, 10)?,
                talk: talk(1)?,
            },
            "tcp-path" => Tcp::Path { duration: time(&table.duration, 10)? },
            "tcp-throughput" => Tcp::Throughput {
                connections: number(&table.connections, 1, 1000)?,
                share: or(&table.window, 1.0, |value| match value.get_ref().share() {
                    Some(share) if (0.01..=100.0).contains(&share) => Ok(share),
                    _ => Err(self.source.bad(
                        value,
                        "windows are a share of the bandwidth-delay product: \"1%\" to \"10000%\"",
                    )),
                })?,
                duration: time(&table.duration, 30)?,
            },
            _ => Tcp::Transactions {
                connections: number(&table.connections, 100, 1 << 20)?,
                repetitions: number(&table.repetitions, 3, 10_000)? as u32,
                talk: talk(100)?,
            },
        })
    }
}
