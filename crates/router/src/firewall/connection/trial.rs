//! A table in front of the real one, for trials: what a packet would do to connections is done to
//! copies of the few that it can touch, and the real table is only asked who is there.
//!
//! ```text
//!  packet ─► small table: copies ── not there? ─► the real one: is the tuple taken?
//! ```

use super::flow::{Direction, Flow, FlowId};
use super::record::{Connection, ConnectionId};
use super::timers::Rank;
use super::tracking::Connections;
use crate::ip::family::Family;
use wire::{FiveTuple, Moment};

/// The real table, and which of its flows have copies.
pub(super) struct Behind<A: Family = u32> {
    real: Connections<A>,
    copied: Vec<FlowId>,
}

impl<A: Family> Behind<A> {
    /// Whether somebody has the tuple who has no copy.
    pub(super) fn is_taken(&self, tuple: &FiveTuple<A>) -> bool {
        let found = self.real.table.find(A::hash_of(tuple), tuple);
        found.is_some_and(|flow| !self.copied.contains(&flow) && !self.real.is_untracked(flow))
    }
}

/// Connections that a trial may begin.
const ROOM: usize = 16;

impl<A: Family> Connections<A> {
    /// Whether a packet of this tuple belongs to a connection.
    pub(crate) fn is_taken(&self, tuple: &FiveTuple<A>) -> bool {
        let found = self.table.find(A::hash_of(tuple), tuple);
        found.is_some_and(|flow| !self.is_untracked(flow))
            || self.behind.as_ref().is_some_and(|behind| behind.is_taken(tuple))
    }

    /// A small table with copies of the connections that packets of these tuples belong to, before
    /// the real one.
    pub(crate) fn in_front_of(
        real: Connections<A>,
        tuples: &[FiveTuple<A>],
        now: Moment,
    ) -> Connections<A> {
        let mut trial = Connections::new(ROOM);
        trial.configure(*real.settings());
        trial.fasttracked = real.fasttracked;
        trial.expected.clone_from(&real.expected);
        let mut copied = Vec::new();
        for tuple in tuples {
            let Some(found) = real.table.find(A::hash_of(tuple), tuple) else { continue };
            if copied.contains(&found) {
                continue;
            }
            let flow = *real.table.flow(found);
            match real.slab.get(flow.connection.index()) {
                Some(connection) => {
                    copied.extend(connection.flows);
                    trial.copy(&real, flow.connection, connection, now);
                }
                None => {
                    copied.push(found);
                    trial.keep_copy(flow);
                }
            }
        }
        if !real.could_make_room() {
            trial.close();
        }
        trial.behind = Some(Box::new(Behind { real, copied }));
        trial
    }

    /// The real table again, as it was.
    pub(crate) fn real(self) -> Option<Connections<A>> {
        self.behind.map(|behind| behind.real)
    }

    /// What the sender of a tuple would send next on its TCP connection: sequence number and
    /// acknowledgement. `None` if there is no connection.
    pub(crate) fn next_segment(&self, tuple: &FiveTuple<A>) -> Option<(u32, u32)> {
        let flow = self.table.flow(self.table.find(A::hash_of(tuple), tuple)?);
        let connection = self.get(flow.connection)?;
        Some(connection.tcp.next_of(flow.direction()))
    }

    fn copy(&mut self, real: &Connections<A>, from: ConnectionId, was: &Connection, now: Moment) {
        let id = self.next_id();
        let mut connection = was.clone();
        for direction in [Direction::Original, Direction::Reply] {
            let mut flow = *real.table.flow(was.flow(direction));
            flow.connection = id;
            if let Ok(flow) = self.table.insert(flow) {
                connection.flows[direction as usize] = flow;
            }
        }
        self.store(id, connection);
        let now_ms = now.as_millis_u32();
        let deadline = now_ms.wrapping_add(real.timeout_left(from, now_ms));
        let rank = self.rank(id);
        self.timers.insert(&mut self.slab, id, rank, deadline);
    }

    fn keep_copy(&mut self, flow: Flow<A>) {
        if self.table.insert(flow).is_ok() {
            self.untracked += 1;
        }
    }

    /// Whether there is room for one more, if need be at the cost of a dispensable one. Moves
    /// nothing.
    fn could_make_room(&self) -> bool {
        let gives_way = |(id, connection): (ConnectionId, &Connection)| {
            connection.timer.rank != Rank::Kept && self.rank(id) != Rank::Kept
        };
        self.has_place() || self.iter().any(gives_way)
    }

    /// Lets nobody in any more.
    fn close(&mut self) {
        self.max = self.len();
    }
}
