//! The plan of a TCP load: requests of clients, responses of servers.
//!
//! ```text
//! client  connect ─┬─► request ─► response ─► think ─┐ × count ─► hold ─► close
//!                  └─────────────────────────────────┘
//! server  listen ──► request ─► response ─► …         until the client closes
//! ```

use crate::schedule::Pace;
use std::fmt;
use std::time::Duration;
use wire::{Ipv4Range, MacAddr, PacketRate};

/// What an endpoint is to be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Clients or servers.
    pub role: Role,
    /// The MAC address of all its hosts.
    pub mac: MacAddr,
    /// Where its frames go.
    pub next_hop: NextHop,
    /// Its hosts' addresses. ARP for them is answered.
    pub addresses: Ipv4Range,
    /// Source ports of clients, or the ports servers listen on; first and last.
    pub ports: (u16, u16),
    /// What is asked and answered; the same at both ends.
    pub transactions: Transactions,
    /// The most bytes of data in a segment, sent or received; 1460 fit into 1518-byte frames, 8960 into
    /// packets of 9000 bytes, for which the pool's slots must have room.
    pub mss: u16,
    /// The receive window in bytes, at most 2³⁰.
    pub window: u32,
    /// How often a segment is sent again before a connection is given up; 1 to 20.
    pub retries: u8,
    /// How long the end that closes first waits for late segments (RFC 9293's 2 MSL is 4 minutes;
    /// tests want less).
    pub time_wait: Duration,
    /// Whether received bytes are compared with what an endpoint of ours would have sent; not with
    /// real hosts at the other end.
    pub compare: bool,
    /// Where random choices (first sequence numbers) start from.
    pub seed: u64,
}

/// Who opens connections.
#[derive(Clone, Debug)]
pub enum Role {
    /// These do.
    Clients {
        /// The servers' addresses.
        servers: Ipv4Range,
        /// The servers' ports, first and last.
        services: (u16, u16),
        /// New connections a second; none for as many as `concurrent` lets.
        rate: Option<PacketRate>,
        /// The most connections at a time, those in TIME-WAIT not included.
        concurrent: usize,
        /// How many to open in all; none for no end.
        total: Option<u64>,
        /// How long a connection is idle after its transactions, before it is closed;
        /// [`Duration::MAX`] until [`release`](super::Endpoint::release).
        hold: Duration,
    },
    /// These wait.
    Servers,
}

/// Where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// To this MAC address.
    Mac(MacAddr),
    /// To whoever answers ARP for this address.
    Arp(u32),
}

/// What is asked and answered on each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transactions {
    /// How many, one after the other.
    pub count: u32,
    /// Bytes of each request; at least one, if there are any transactions.
    pub request: u32,
    /// Bytes of each response; may be 0 only for the one and only transaction.
    pub response: u64,
    /// From the end of a response to the next request.
    pub think: Duration,
}

/// The smallest and the largest MSS: the largest is that of packets of 9000 bytes.
pub const MSS: (u16, u16) = (64, 8960);

/// A plan that cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BadPlan {
    /// The MSS is not 64 to 8960 bytes.
    Mss(u16),
    /// The window is not from one MSS to 2³⁰ bytes.
    Window(u32),
    /// Retries are not 1 to 20.
    Retries(u8),
    /// The first port is behind the last, or 0.
    Ports((u16, u16)),
    /// The rate is not from a thousandth to 10¹² a second.
    Rate(PacketRate),
    /// No connection at all is allowed.
    Nothing,
    /// More connections at a time than there are tuples of addresses and ports.
    TooFewTuples {
        /// How many tuples there are.
        tuples: u64,
        /// How many connections there are to be.
        concurrent: u64,
    },
    /// Transactions without requests, or several without responses.
    Transactions(Transactions),
}

impl fmt::Display for BadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BadPlan::Mss(mss) => write!(f, "an MSS of {mss} bytes: use {} to {}", MSS.0, MSS.1),
            BadPlan::Window(window) => {
                write!(f, "a window of {window} bytes: use one MSS to 1073741824")
            }
            BadPlan::Retries(n) => write!(f, "{n} retries: use 1 to 20"),
            BadPlan::Ports((first, last)) => {
                write!(f, "ports {first}-{last}: use 1 to 65535, the lower one first")
            }
            BadPlan::Rate(rate) => {
                write!(f, "{} connections a second: use 0.001 to 1000000000000", rate.0)
            }
            BadPlan::Nothing => {
                f.write_str("no connection is to be open at any time: use 1 or more")
            }
            BadPlan::TooFewTuples { tuples, concurrent } => write!(
                f,
                "{concurrent} connections at a time, and addresses and ports for {tuples}: give \
                 more of these"
            ),
            BadPlan::Transactions(t) => write!(
                f,
                "{} transactions of {} and {} bytes: a request has at least one byte, and so has a \
                 response, unless there is but one transaction",
                t.count, t.request, t.response
            ),
        }
    }
}

impl std::error::Error for BadPlan {}

impl Plan {
    /// Whether it can be carried out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), BadPlan> {
        let Plan { mss, window, retries, ports, transactions, .. } = *self;
        if !(MSS.0..=MSS.1).contains(&mss) {
            return Err(BadPlan::Mss(mss));
        }
        if !(u32::from(mss)..=1 << 30).contains(&window) {
            return Err(BadPlan::Window(window));
        }
        if !(1..=20).contains(&retries) {
            return Err(BadPlan::Retries(retries));
        }
        let Transactions { count, request, response, .. } = transactions;
        if count > 0 && (request == 0 || (count > 1 && response == 0)) {
            return Err(BadPlan::Transactions(transactions));
        }
        check_ports(ports)?;
        let Role::Clients { servers, services, rate, concurrent, .. } = &self.role else {
            return Ok(());
        };
        check_ports(*services)?;
        if let Some(rate) = rate
            && Pace::of(*rate).is_none()
        {
            return Err(BadPlan::Rate(*rate));
        }
        let concurrent = *concurrent as u64;
        if concurrent == 0 {
            return Err(BadPlan::Nothing);
        }
        let tuples = count_of(ports)
            .saturating_mul(hosts(self.addresses))
            .saturating_mul(hosts(*servers))
            .saturating_mul(count_of(*services));
        if tuples < concurrent {
            return Err(BadPlan::TooFewTuples { tuples, concurrent });
        }
        Ok(())
    }
}

fn check_ports(ports: (u16, u16)) -> Result<(), BadPlan> {
    if ports.0 == 0 || ports.0 > ports.1 { Err(BadPlan::Ports(ports)) } else { Ok(()) }
}

pub(super) fn count_of((first, last): (u16, u16)) -> u64 {
    u64::from(last - first) + 1
}

pub(super) fn hosts(range: Ipv4Range) -> u64 {
    u64::from(range.last() - range.first()) + 1
}
