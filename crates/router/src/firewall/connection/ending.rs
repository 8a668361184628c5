//! Ends of connections: asked for, when their time has come, or to make room for others.
//!
//! ```text
//!  packet ─► reschedule_if_earlier ─► wheel of timers ─► sweep ─┬─ time left ─► back to its place
//!                                                               └─ none ──────► remove
//!  no room ─► dispensable: unreplied, opening, closing ─► remove
//! ```
//!
//! A connection in use is not moved for each packet: its turn comes, and then it is looked at when it
//! was used last.

use super::flow::{Direction, FlowId, flow_flag};
use super::record::{Connection, ConnectionId, Flags};
use super::tcp::TcpState;
use super::timers::{Rank, Timer};
use super::tracking::Connections;
use crate::ip::family::Family;
use wire::Moment;

impl<A: Family> Connections<A> {
    /// Ends a connection. False if there is none of this number.
    pub fn remove(&mut self, id: ConnectionId) -> bool {
        let Some(connection) = self.get(id) else { return false };
        let flows = connection.flows;
        if connection.flags.has(Flags::FASTTRACK) {
            self.fasttracked -= 1;
        }
        for flow in flows {
            self.table.remove(flow);
        }
        self.timers.remove(&mut self.slab, id);
        self.forget_expected(id);
        let connection = &mut self.slab[id.index()];
        connection.flags = Flags::default();
        connection.timer = Timer::free(self.free);
        self.free = id;
        self.live -= 1;
        true
    }

    /// Ends the connections that a host has begun, or that came to it, but for those to a port of ours.
    pub(crate) fn remove_of(&mut self, host: A, but: u16) {
        let is_its = |&(_, connection): &(ConnectionId, &Connection)| {
            let [tuple, reply] = connection.flows.map(|flow| self.flow(flow).tuple());
            (tuple.src == host || tuple.dst == host) && reply.src_port != but
        };
        let its: Vec<ConnectionId> =
            self.iter_from(ConnectionId(0)).filter(is_its).map(|(id, _)| id).collect();
        for id in its {
            self.remove(id);
        }
    }

    /// Ends all connections, and forgets all flows: tracking was switched off or on.
    pub fn clear(&mut self) {
        for i in 0..self.slab.len() {
            self.remove(ConnectionId(i as u32));
        }
        for i in 0..self.table.end() {
            self.remove_untracked(FlowId(i));
        }
    }

    /// Ends connections whose time has come and forgets untracked flows that are idle, looking at
    /// no more than `budget` of each. To be called every now and then, with time going forward.
    /// Returns how many it looked at: as many as `budget` means there may be more.
    pub fn sweep(&mut self, now: Moment, budget: usize) -> usize {
        let now_ms = now.as_millis_u32();
        self.sweep_untracked(now_ms, budget);
        for looked_at in 0..budget {
            let Some(id) = self.timers.due(now_ms) else { return looked_at };
            self.look_ahead(id);
            let left = self.timeout_left(id, now_ms);
            if left == 0 {
                self.remove(id);
                self.counts.expired += 1;
            } else {
                self.reschedule(id, now_ms.wrapping_add(left));
                self.refresh(id, now_ms);
            }
        }
        budget
    }

    /// Asks for the memory of those whose turn comes next: the third one's record, the flows of the
    /// second, where the index has the first's. Among a million connections each would be waited for.
    #[inline]
    fn look_ahead(&self, id: ConnectionId) {
        let next = |id: ConnectionId| self.slab[id.index()].timer.next();
        let (first, second) = (next(id), next(next(id)));
        for flow in self.slab[first.index()].flows {
            self.table.prefetch_bucket_of(flow);
        }
        for flow in self.slab[second.index()].flows {
            self.table.prefetch_flow(flow);
        }
        port::prefetch::lines(&self.slab, next(second).index(), 0..2);
    }

    /// Ends the connections that were masqueraded by one of these addresses.
    pub(crate) fn end_masqueraded(&mut self, addresses: &[A]) {
        let is_gone = |connection: &Connection| {
            let flow = self.flow(connection.flow(Direction::Original));
            flow.flags & flow_flag::MASQUERADE != 0 && addresses.contains(&flow.new_src)
        };
        let all = self.iter_from(ConnectionId(0));
        let gone = all.filter(|(_, connection)| is_gone(connection));
        let gone: Vec<ConnectionId> = gone.map(|(id, _)| id).collect();
        for id in gone {
            self.remove(id);
        }
    }

    /// Once a timeout, when a connection in use is looked at: FastTrack has to show it to the
    /// regular path again, and a direction that is silent for long must not look recent when the
    /// clock comes round.
    fn refresh(&mut self, id: ConnectionId, now_ms: u32) {
        const OLDEST: u32 = 1 << 30;
        for flow in self.slab[id.index()].flows {
            let flow = self.table.flow_mut(flow);
            flow.flags &= !flow_flag::FASTTRACK;
            if now_ms.wrapping_sub(flow.last_ms()) > OLDEST {
                flow.set_last_ms(now_ms.wrapping_sub(OLDEST));
            }
        }
    }

    /// Milliseconds until the connection ends if nothing comes.
    pub(super) fn timeout_left(&self, id: ConnectionId, now_ms: u32) -> u32 {
        let connection = &self.slab[id.index()];
        if connection.flags.has(Flags::DYING) {
            return 0;
        }
        let age = |flow: FlowId| {
            let age = now_ms.wrapping_sub(self.table.flow(flow).last_ms());
            if age > u32::MAX / 2 { 0 } else { age }
        };
        let idle = age(connection.flows[0]).min(age(connection.flows[1]));
        self.settings.timeouts.millis(connection.class).saturating_sub(idle)
    }

    /// After a packet: its class may have a timeout that ends before the connection's turn.
    #[inline]
    pub(super) fn reschedule_if_earlier(&mut self, id: ConnectionId, now_ms: u32) {
        let connection = &self.slab[id.index()];
        let timeout = self.settings.timeouts.millis(connection.class);
        let timeout = if connection.flags.has(Flags::DYING) { 0 } else { timeout };
        let deadline_ms = now_ms.wrapping_add(timeout);
        if self.timers.is_earlier(connection.timer, deadline_ms) {
            self.reschedule(id, deadline_ms);
        }
    }

    pub(super) fn reschedule(&mut self, id: ConnectionId, deadline_ms: u32) {
        let rank = self.rank(id);
        self.timers.remove(&mut self.slab, id);
        self.timers.insert(&mut self.slab, id, rank, deadline_ms);
    }

    /// How dispensable a connection is now.
    pub(super) fn rank(&self, id: ConnectionId) -> Rank {
        let connection = &self.slab[id.index()];
        match connection.tcp.state {
            TcpState::SynSent | TcpState::SynSent2 | TcpState::SynReceived => Rank::Opening,
            TcpState::None | TcpState::Established => {
                let assured = connection.flags.has(Flags::ASSURED);
                if assured { Rank::Kept } else { Rank::Unreplied }
            }
            _ => Rank::Closing,
        }
    }

    /// Whether one more connection could be entered.
    pub(super) fn has_room(&mut self) -> bool {
        self.has_place() || self.dispensable().is_some()
    }

    pub(super) fn has_place(&self) -> bool {
        self.live < self.max && self.table.room() >= 2
    }

    /// Makes room for one more connection, if need be at the cost of a dispensable one.
    pub(super) fn make_room(&mut self) -> bool {
        if !self.has_place()
            && let Some(id) = self.dispensable()
        {
            self.look_ahead(id);
            self.remove(id);
            self.counts.early_dropped += 1;
        }
        self.has_place()
    }

    /// The connection that gives way first. Those that have become worth keeping since they were
    /// put in their wheel are put where they belong on the way: once each.
    fn dispensable(&mut self) -> Option<ConnectionId> {
        for rank in [Rank::Unreplied, Rank::Opening, Rank::Closing] {
            while let Some(id) = self.timers.next_of(rank) {
                let now = self.rank(id);
                if now == rank {
                    return Some(id);
                }
                self.timers.change_rank(&mut self.slab, id, now);
            }
        }
        None
    }
}
