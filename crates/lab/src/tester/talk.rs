//! Hosts on two ports that speak TCP: clients on the first, servers on the second.
//!
//! ```text
//!  clients ═ held ═ port 1 ═ device ═ port 2 ═ held ═ servers
//! ```
//!
//! Never reads a clock: [`Talk::tick`] is called by whoever has the time.

use super::held::Held;
use measure::procedure::tcp::{TcpLoad, TcpOutput};
use measure::series::Totals;
use measure::tcp::Endpoint;
use port::{Pool, Port};
use std::time::Duration;
use wire::Moment;

/// Clients on the first port, servers on the second, and what they are to do.
pub struct Talk {
    clients: Endpoint,
    servers: Endpoint,
    load: TcpLoad,
    /// What waits for each one's wire, and when that is free for it.
    held: [Held; 2],
    free: Option<Moment>,
    /// The last tick's.
    now: Moment,
    /// When the first connection was opened, the last one, and the last one closed.
    began: Option<Moment>,
    opened: Option<Moment>,
    over: Option<Moment>,
    /// When those that are held may go.
    release: Option<Moment>,
    released: bool,
}

impl Talk {
    /// Both ends of a load, from now on.
    pub(crate) fn new(clients: Endpoint, servers: Endpoint, load: TcpLoad, now: Moment) -> Talk {
        let (began, opened, over, release, released) = (None, None, None, None, false);
        let (held, free) = (<[Held; 2]>::default(), None);
        Talk { clients, servers, load, held, free, now, began, opened, over, release, released }
    }

    /// Receives, does what is due, sends; returns how many frames came and went.
    pub fn tick<P: Port>(&mut self, now: Moment, pool: &mut Pool, wires: &mut [P]) -> usize {
        let [first, second, ..] = wires else { return 0 };
        self.now = now;
        let mut moved = 0;
        let ends = [(&mut self.clients, first), (&mut self.servers, second)];
        self.free = None;
        for ((end, wire), held) in ends.into_iter().zip(&mut self.held) {
            let mut wire_of = held.before(wire);
            wire_of.go_on(now, pool);
            moved += end.poll(now, pool, &mut wire_of);
            self.free = self.free.into_iter().chain(held.next_due(wire)).min();
        }
        let (counts, load) = (self.clients.counts(), &self.load);
        if counts.opened > 0 {
            self.began.get_or_insert(now);
        }
        if counts.opened >= load.connections {
            self.opened.get_or_insert(now);
        }
        if counts.closed + counts.reset + counts.timed_out >= load.connections {
            self.over.get_or_insert(now);
        }
        if let Some(hold) = load.hold
            && self.release.is_none()
            && counts.established >= load.connections
            && counts.transactions >= load.transactions_due()
        {
            self.release = Some(now + hold);
        }
        if !self.released && self.release.is_some_and(|at| at <= now) {
            self.released = true;
            // They close as quickly as they were opened.
            let rate = load.rate.map_or(f64::INFINITY, |rate| rate.0);
            let over = Duration::from_secs_f64(load.connections as f64 / rate);
            self.clients.release_over(now, over);
        }
        moved
    }

    /// Whether a connection was begun.
    pub fn has_begun(&self) -> bool {
        self.began.is_some()
    }

    /// Whether a fault has shown that need not be looked at any longer.
    fn has_failed(&self) -> bool {
        let of = |endpoint: &Endpoint| {
            let counts = endpoint.counts();
            let again = counts.retransmitted + counts.retransmitted_syns;
            counts.reset + counts.timed_out + if self.load.lossless { again } else { 0 }
        };
        of(&self.clients) + of(&self.servers) > 0
    }

    /// Segments that wait for a wire.
    pub(crate) fn waiting(&self) -> u64 {
        self.held.iter().map(|held| held.len() as u64).sum()
    }

    /// What waits for a wire when all is over goes nowhere.
    pub fn free(&mut self, pool: &mut Pool) {
        self.held.iter_mut().for_each(|held| held.free(pool));
    }

    /// Whether all connections are over.
    pub(crate) fn is_over(&self) -> bool {
        self.clients.is_done() && self.servers.is_done()
    }

    /// Whether all is over, or has failed.
    pub fn is_done(&self) -> bool {
        self.is_over() && self.waiting() == 0 || self.has_failed()
    }

    /// When the next tick has something to do.
    pub fn next_due(&self) -> Moment {
        let ends = self.clients.next_due(self.now).min(self.servers.next_due(self.now));
        let ends = self.free.map_or(ends, |free| ends.min(free));
        let release = self.release.filter(|_| !self.released);
        release.map_or(ends, |at| ends.min(at))
    }

    /// How much later the last connection was opened than it was due. Never the device's fault: as
    /// many as there are may be open at a time.
    pub(crate) fn late(&self) -> Duration {
        let (Some(rate), Some(began), Some(opened)) = (self.load.rate, self.began, self.opened)
        else {
            return Duration::ZERO;
        };
        let due = Duration::from_secs_f64((self.load.connections - 1) as f64 / rate.0);
        opened.since(began + due)
    }

    /// Segments, connections, answers and bytes so far, both ends together.
    pub fn totals(&self) -> Totals {
        let (clients, servers) = (self.clients.counts(), self.servers.counts());
        let sent = clients.segments_sent + servers.segments_sent - self.waiting();
        let received = clients.segments_received + servers.segments_received;
        let bytes = clients.bytes_received + servers.bytes_received;
        let tcp = Some([clients.established, clients.transactions, bytes]);
        // As the trial counts them: copies that a device makes are none.
        Totals { sent, received: received.min(sent), tcp }
    }

    /// What came of it so far.
    pub(crate) fn output(&self) -> TcpOutput {
        let began = self.began.unwrap_or(self.now);
        TcpOutput {
            load: self.load,
            clients: self.clients.counts().clone(),
            servers: self.servers.counts().clone(),
            took: self.over.unwrap_or(self.now).since(began),
        }
    }
}
