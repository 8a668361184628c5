//! A plan's procedures of TCP: what they are told, and what they are without.
//!
//! ```text
//!  kind = "tcp-connections"   duration, precision         ┐
//!  kind = "tcp-concurrent"    first, most, rate, error, hold ├ and transactions, request, response,
//!  kind = "tcp-transactions"  connections, repetitions    ┘   window
//! ```
//!
//! A plan's frame size is the longest frame TCP may send: the MSS is that less 58 bytes of Ethernet,
//! its FCS, IPv4 and TCP.

use super::procedure::{ProcedureTable, Reader};
use super::read::count;
use super::{BadPlan, Scaling};
use measure::tcp::Transactions;
use std::time::Duration;
use wire::{FrameLen, PacketRate};

/// What a procedure of TCP does; see [`measure::procedure::tcp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tcp {
    /// How many new connections a second (RFC 9411 §7.2).
    Connections {
        /// How long they are opened.
        duration: Duration,
        /// How close.
        precision: f64,
        /// What each carries.
        talk: Talk,
    },
    /// How many at a time (§7.5).
    Concurrent {
        /// Where to begin.
        first: u64,
        /// No more are tried.
        most: u64,
        /// Opened at this rate.
        rate: PacketRate,
        /// How close.
        error: u64,
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
}

/// What is said on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Talk {
    /// What is asked and answered.
    pub transactions: Transactions,
    /// The receive window, in bytes.
    pub window: u32,
}

/// Ethernet, its FCS, IPv4 and TCP.
const HEADERS: u32 = 18 + 20 + 20;
/// The MSS an endpoint can have.
const MSS: (u32, u32) = (64, 1460);

/// The MSS for frames up to a length; none if that leaves too little, or is more than TCP here can.
pub(in crate::suite) fn mss(frame: FrameLen) -> Option<u16> {
    let mss = frame.l2().checked_sub(HEADERS)?;
    (MSS.0..=MSS.1).contains(&mss).then_some(mss as u16)
}

impl Tcp {
    /// As it stands in plans and results.
    pub fn name(&self) -> &'static str {
        match self {
            Tcp::Connections { .. } => "tcp-connections",
            Tcp::Concurrent { .. } => "tcp-concurrent",
            Tcp::Transactions { .. } => "tcp-transactions",
        }
    }

    /// What a kind takes; none if it is none of TCP.
    pub(super) fn takes(kind: &str) -> Option<&'static [&'static str]> {
        Some(match kind {
            "tcp-connections" => {
                &["duration", "precision", "transactions", "request", "response", "window"]
            }
            "tcp-concurrent" => &[
                "first",
                "most",
                "rate",
                "error",
                "hold",
                "transactions",
                "request",
                "response",
                "window",
            ],
            "tcp-transactions" => {
                &["connections", "repetitions", "transactions", "request", "response", "window"]
            }
            _ => return None,
        })
    }

    /// Makes it short.
    pub(super) fn scale(&mut self, scaling: &Scaling, time: impl Fn(Duration) -> Duration) {
        match self {
            Tcp::Connections { duration, precision, .. } => {
                *duration = time(*duration);
                *precision = precision.max(scaling.precision);
            }
            Tcp::Concurrent { first, most, hold, .. } => {
                *most = (*most).min(scaling.counts_at_most);
                *first = (*first).min(*most);
                *hold = time(*hold);
            }
            Tcp::Transactions { connections, repetitions, .. } => {
                *connections = (*connections).min(scaling.counts_at_most);
                *repetitions = (*repetitions).min(scaling.repetitions_at_most);
            }
        }
    }
}

impl Reader<'_> {
    /// A procedure of TCP, of whose table nothing is set that it does not take.
    pub(super) fn tcp(&self, table: &ProcedureTable) -> Result<Tcp, BadPlan> {
        if let Some(bad) = self.sizes.iter().find(|size| mss(**size).is_none()) {
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
        let time = |value: &Option<_>, default: u64| match value {
            Some(value) => self.source.time(value),
            None => Ok(Duration::from_secs(default)),
        };
        let number = |value: &Option<_>, default: u64, most: u64| match value {
            Some(value) => count(self.source, value, most),
            None => Ok(default),
        };
        let talk = |times: u64| -> Result<Talk, BadPlan> {
            let transactions = Transactions {
                count: number(&table.transactions, times, 1_000_000)? as u32,
                request: number(&table.request, 64, 1 << 30)? as u32,
                response: number(&table.response, 1024, 1 << 30)? as u32,
                think: Duration::ZERO,
            };
            let window = number(&table.window, 65_535, 1 << 30)? as u32;
            match &table.window {
                Some(value) if window < MSS.1 => {
                    let why = format!("a window holds a segment: {} bytes or more", MSS.1);
                    Err(self.source.bad(value, why))
                }
                _ => Ok(Talk { transactions, window }),
            }
        };
        Ok(match table.kind.get_ref().as_str() {
            "tcp-connections" => Tcp::Connections {
                duration: time(&table.duration, 10)?,
                precision: match &table.precision {
                    Some(value) => self.source.share(value, "a precision")?,
                    None => 0.01,
                },
                talk: talk(1)?,
            },
            "tcp-concurrent" => {
                let most = number(&table.most, 1 << 20, 1 << 22)?;
                let first = number(&table.first, 1000.min(most), 1 << 22)?;
                if let Some(value) = table.first.as_ref().filter(|_| first > most) {
                    let why = format!("the bounds of the search cross: first {first}, most {most}");
                    return Err(self.source.bad(value, why));
                }
                Tcp::Concurrent {
                    first,
                    most,
                    rate: self.rate(table.rate.as_ref(), 20_000.0)?,
                    error: number(&table.error, 1, 1 << 20)?,
                    hold: time(&table.hold, 10)?,
                    talk: talk(1)?,
                }
            }
            _ => Tcp::Transactions {
                connections: number(&table.connections, 100, 1 << 20)?,
                repetitions: number(&table.repetitions, 3, 10_000)? as u32,
                talk: talk(100)?,
            },
        })
    }
}
