//! FastTrack: the flag F, and which packets stay on the regular path.
//!
//! ```text
//!  orig  #1 new ─ regular          #2 regular ─► #3 … FastTrack ─► one regular ─► FastTrack …
//!  reply          #1 regular, marked ─► #2 … FastTrack ──────────► one regular ─► FastTrack …
//!                                              once a timeout, when the timers look ▲
//! ```
//!
//! The packet that is marked sets up its own direction, the other one takes one packet more:
//! (2, 1) packets stay regular, as in most rows of the published connection tables. Whenever the
//! timers look at a connection in use (once a timeout, at least every 262 s), the next packet of
//! each direction is regular again. What FastTrack carried is what the flow counted less what was
//! regular, so nothing is counted twice and the fast path writes one line only.
//!
//! TCP windows are not followed meanwhile: the next regular segment of each side is believed.

use super::flow::{Direction, Flow, FlowId, flow_flag};
use super::record::{ConnectionId, Flags};
use super::tracking::Connections;
use crate::counter::Count;
use crate::ip::family::Family;
use wire::layers::protocol;

impl<A: Family> Connections<A> {
    /// Marks a connection as fasttracked, as `action=fasttrack-connection` does for a packet of
    /// `flow`: the packet that is under way sets up its own direction, the other one takes one
    /// regular packet more. Nothing happens unless it is TCP or UDP.
    pub fn set_fasttrack(&mut self, flow: FlowId) {
        let Flow { connection: id, protocol, .. } = *self.table.flow(flow);
        // A helper has to see them all.
        let helped = self.settings.services.of(self.table.flow(flow)).is_some();
        let Some(connection) = self.slab.get_mut(id.index()) else { return };
        let takes = matches!(protocol, protocol::TCP | protocol::UDP) && !helped;
        if !takes || connection.flags.has(Flags::FASTTRACK) {
            return;
        }
        connection.flags.set(Flags::FASTTRACK);
        self.fasttracked += 1;
        for (regular, flow) in connection.regular.iter_mut().zip(connection.flows) {
            *regular = self.table.flow(flow).counted();
        }
        self.table.flow_mut(flow).flags |= flow_flag::FASTTRACK;
        self.drop_recipes(id);
    }

    /// Whether the flow's next packet may take the FastTrack way. SYN, FIN and RST should not:
    /// the connection's end is to be seen.
    #[inline(always)]
    pub fn fasttrack_allows(flow: &Flow<A>) -> bool {
        flow.flags & flow_flag::FASTTRACK != 0
    }

    /// How many connections are fasttracked: the special dummy rules show while there is one.
    pub fn fasttracked(&self) -> usize {
        self.fasttracked
    }

    /// What FastTrack carried of a direction of a connection: what its flow counted, less what
    /// took the regular way.
    pub fn fasttrack_count(&self, id: ConnectionId, direction: Direction) -> Count {
        match self.get(id) {
            Some(connection) if connection.flags.has(Flags::FASTTRACK) => {
                let counted = self.table.flow(connection.flow(direction)).counted();
                let regular = connection.regular[direction as usize];
                Count {
                    packets: counted.packets.saturating_sub(regular.packets),
                    bytes: counted.bytes.saturating_sub(regular.bytes),
                }
            }
            _ => Count::default(),
        }
    }
}
