//! A host's use of its connection: it asks, or answers.
//!
//! ```text
//! client   write a request ─► wait for the response ─► think ─► … ─► hold ─► close
//! server   wait for a request ─► write the response ─► …             ─► close after the client
//! ```

use super::Transactions;
use super::connection::{Connection, NEVER};
use super::counts::Counts;
use std::time::Duration;
use wire::Moment;

/// How far a host has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// Transactions done.
    done: u32,
    /// Whether a request is under way.
    asked: bool,
    /// When the connection began, or the request was sent.
    pub(super) since: Moment,
    /// When the host does its next step by itself.
    pub(super) wake: Moment,
}

impl Host {
    /// Of a connection that begins now.
    pub(super) fn new(now: Moment) -> Host {
        Host { done: 0, asked: false, since: now, wake: NEVER }
    }

    /// Whether all is said and the connection kept until it is released.
    pub(super) fn is_held(&self, plan: &Transactions) -> bool {
        self.wake == NEVER && self.done >= plan.count
    }

    /// A client's next step, on a connection that is established.
    pub(super) fn ask(
        &mut self,
        now: Moment,
        connection: &mut Connection,
        plan: &Transactions,
        hold: Duration,
        counts: &mut Counts,
    ) {
        if self.asked && self.is_answered(connection, plan) {
            counts.transaction_ns.record(now.since(self.since).as_nanos() as u64);
            counts.transactions += 1;
            self.done += 1;
            self.asked = false;
            self.wake = if self.done < plan.count { later(now, plan.think) } else { NEVER };
        }
        if connection.peer_is_done() && self.done < plan.count {
            counts.cut_short += 1;
            (self.asked, self.done) = (false, plan.count);
            connection.close();
        }
        if self.asked {
            return;
        }
        let is_time = self.wake <= now;
        if self.done < plan.count {
            if self.wake == NEVER || is_time {
                (self.asked, self.since, self.wake) = (true, now, NEVER);
                connection.write(u64::from(plan.request));
            }
        } else if hold.is_zero() || is_time {
            self.wake = NEVER;
            connection.close();
        } else if self.wake == NEVER {
            self.wake = later(now, hold);
        }
    }

    fn is_answered(&self, connection: &Connection, plan: &Transactions) -> bool {
        let due = u64::from(self.done + 1) * plan.response;
        match plan.response {
            0 => connection.all_acknowledged(),
            _ => connection.bytes_received() >= due,
        }
    }

    /// A server's.
    pub(super) fn answer(
        &mut self,
        connection: &mut Connection,
        plan: &Transactions,
        counts: &mut Counts,
    ) {
        let requests = |done: u32| u64::from(done + 1) * u64::from(plan.request);
        while self.done < plan.count && connection.bytes_received() >= requests(self.done) {
            self.done += 1;
            counts.transactions += 1;
            connection.write(plan.response);
        }
        if connection.peer_is_done() {
            connection.close();
        }
    }
}

/// So much later, or never where that is beyond a century.
fn later(now: Moment, by: Duration) -> Moment {
    if by > Duration::from_secs(1 << 32) { NEVER } else { now + by }
}
