//! Facts of a connection that rules ask for: bytes, its number, whether it still counts.

use super::flow::{Direction, FlowId};
use super::tcp::TcpState;
use super::{Connection, ConnectionId, Connections};
use crate::ip::family::Family;
use wire::FiveTuple;
use wire::layers::protocol;

impl<A: Family> Connections<A> {
    /// IP bytes of both directions of a flow's connection.
    pub(crate) fn bytes_of(&self, flow: FlowId) -> Option<u64> {
        let connection = self.get(self.flow(flow).connection)?;
        Some(connection.flows.iter().map(|&flow| self.flow(flow).counted().bytes).sum())
    }

    /// What tells a flow's connection from all others: its first packet's tuple, and when it left
    /// ([`wire::Moment::as_millis_u32`]).
    pub(crate) fn key_of(&self, flow: FlowId) -> Option<(FiveTuple<A>, u32)> {
        let connection = self.get(self.flow(flow).connection)?;
        let original = self.flow(connection.flow(Direction::Original));
        Some((original.tuple(), connection.created_ms))
    }

    /// The same by its number.
    pub(crate) fn key(&self, id: ConnectionId) -> Option<(FiveTuple<A>, u32)> {
        self.key_of(self.get(id)?.flow(Direction::Original))
    }

    /// Whether the connection of this key has not ended.
    pub(crate) fn lives(&self, (original, created_ms): &(FiveTuple<A>, u32)) -> bool {
        self.of_original(original).is_some_and(|connection| connection.created_ms == *created_ms)
            || self.behind.is_some()
    }

    /// Whether `connection-limit` counts a connection that began with this tuple: it is there, and
    /// TCP has not closed it.
    pub(crate) fn counts(&self, original: &FiveTuple<A>) -> bool {
        match self.of_original(original) {
            Some(connection) if original.protocol == protocol::TCP => {
                !matches!(connection.tcp.state, TcpState::TimeWait | TcpState::Close)
            }
            Some(_) => true,
            // A trial's table has copies of a few only.
            None => self.behind.is_some(),
        }
    }

    fn of_original(&self, original: &FiveTuple<A>) -> Option<&Connection> {
        let flow = self.table.find(A::hash_of(original), original)?;
        let flow = self.flow(flow);
        self.get(flow.connection).filter(|_| flow.direction() == Direction::Original)
    }
}
