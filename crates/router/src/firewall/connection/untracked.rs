//! Flows without a connection: kept for their recipes alone, in a time without tracking, and for
//! packets that raw's `notrack` keeps from it.
//!
//! ```text
//!  packet ─► keep_untracked ─► flow ─► … idle for ten seconds ─► sweep_untracked: forgotten
//! ```

use super::flow::{Direction, Flow, FlowId};
use super::record::ConnectionId;
use super::tracking::Connections;
use crate::ip::family::Family;
use crate::packet::ConnectionState;
use wire::{FiveTuple, Moment};

/// How long an untracked flow is kept without packets.
const UNTRACKED_IDLE_MS: u32 = 10_000;

impl<A: Family> Connections<A> {
    /// Keeps a flow for its recipe alone. `None` if there is no room, or, while others are
    /// `tracking`, none that connections may not want. Forgotten when idle for ten seconds.
    pub fn keep_untracked(
        &mut self,
        tuple: FiveTuple<A>,
        now: Moment,
        tracking: bool,
    ) -> Option<FlowId> {
        if tracking && self.table.room() <= 2 * (self.max - self.live) {
            return None;
        }
        let mut flow = Flow::new(tuple, tuple, Direction::Original, ConnectionId::NONE);
        flow.set_state(ConnectionState::Untracked);
        flow.set_last_ms(now.as_millis_u32());
        let id = self.table.insert(flow).ok()?;
        self.untracked += 1;
        Some(id)
    }

    /// Whether a flow has no connection.
    pub fn is_untracked(&self, id: FlowId) -> bool {
        self.table.flow(id).connection == ConnectionId::NONE
    }

    /// Forgets the untracked flow of a tuple that a connection is about to have.
    pub(super) fn give_way(&mut self, tuple: &FiveTuple<A>) {
        if self.untracked > 0
            && let Some(flow) = self.table.find(A::hash_of(tuple), tuple)
        {
            self.remove_untracked(flow);
        }
    }

    pub(super) fn remove_untracked(&mut self, id: FlowId) {
        if self.table.get(id).is_some_and(|flow| flow.connection == ConnectionId::NONE) {
            self.table.remove(id);
            self.untracked -= 1;
        }
    }

    pub(super) fn sweep_untracked(&mut self, now_ms: u32, budget: usize) {
        if self.untracked == 0 {
            return;
        }
        let end = self.table.end();
        for _ in 0..budget.min(end as usize) {
            self.untracked_at = if self.untracked_at >= end { 0 } else { self.untracked_at };
            let id = FlowId(self.untracked_at);
            self.untracked_at += 1;
            let idle = |flow: &Flow<A>| now_ms.wrapping_sub(flow.last_ms()) >= UNTRACKED_IDLE_MS;
            if self.table.get(id).is_some_and(idle) {
                self.remove_untracked(id);
            }
        }
    }
}
