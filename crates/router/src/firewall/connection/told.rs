//! Connections of another router: what is told of one, and how it is entered here, for `/interface vrrp`'s
//! `sync-connection-tracking`.
//!
//! ```text
//!  here:  Connection ─► [outline]: has anything changed? ─► [tell] ─► State
//!  there: State ─► [known] ─┬─ nobody has its tuples ─► [enter_told]
//!                           └─ it is there already ───► [renew]
//! ```
//!
//! Both ends of a connection are the same after translation, its state, mark, and how long it may still be
//! silent. Not told: TCP's windows ([`Tcp::told`]), what was counted, helpers, FastTrack's flag, which its rule
//! sets anew.

use super::flow::{Direction, FlowId, FlowTable, flow_flag};
use super::record::{Connection, ConnectionId, Flags};
use super::service::Service;
use super::settings::Class;
use super::tcp::{Tcp, TcpState};
use super::tracking::{Connections, New};
use crate::firewall::mark::Mark;
use crate::ip::family::Family;
use crate::packet::ConnectionState;
use wire::layers::protocol;
use wire::vrrp_sync::{State, flag};
use wire::{FiveTuple, Moment};

/// Flags of a connection, and what is told of them.
const FLAGS: [(Flags, u8); 5] = [
    (Flags::SEEN_REPLY, flag::SEEN_REPLY),
    (Flags::ASSURED, flag::ASSURED),
    (Flags::EXPECTED, flag::EXPECTED),
    (Flags::SRCNAT, flag::SRCNAT),
    (Flags::DSTNAT, flag::DSTNAT),
];

/// TCP's states by number.
const STATES: [TcpState; 10] = [
    TcpState::None,
    TcpState::SynSent,
    TcpState::SynReceived,
    TcpState::Established,
    TcpState::FinWait,
    TcpState::CloseWait,
    TcpState::LastAck,
    TcpState::TimeWait,
    TcpState::Close,
    TcpState::SynSent2,
];

/// As much of a connection as says whether there is anything to tell: of its record alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// When it began ([`wire::Moment::as_millis_u32`]): with its number, which connection it is.
    pub(crate) created_ms: u32,
    /// Of two that differ, something has changed.
    pub(crate) print: u32,
    /// How long it may be silent, milliseconds.
    pub(crate) timeout_ms: u32,
}

/// Who has the tuples of a connection that is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nobody.
    Nobody,
    /// The same connection.
    Same(ConnectionId),
    /// Another one.
    Other,
}

impl<A: Family> Connections<A> {
    /// How many numbers there are, of connections that are and that were.
    pub(crate) fn numbers(&self) -> u32 {
        self.slab.len() as u32
    }

    /// Its flows, for whoever tells of them.
    pub(crate) fn flows_mut(&mut self) -> &mut FlowTable<A> {
        &mut self.table
    }

    /// A connection's outline.
    pub(crate) fn outline(&self, id: ConnectionId) -> Option<Outline> {
        let connection = self.get(id)?;
        let told = flags_of(connection);
        let state = u32::from(told) | (connection.tcp.state as u32) << 8;
        let print = state | u32::from(connection.mark.0) << 16;
        let timeout_ms = self.settings.timeouts.millis(connection.class);
        Some(Outline { created_ms: connection.created_ms, print, timeout_ms })
    }

    /// What is to be told of a connection, `mark` for the number of its mark; `None` of one that is over, or
    /// whose text was rewritten: its sequence numbers differ, by what nobody else knows.
    pub(crate) fn tell(
        &self,
        id: ConnectionId,
        now: Moment,
        mark: impl Fn(Mark) -> u32,
    ) -> Option<State<A>> {
        let connection = self.get(id)?;
        let left_ms = self.timeout_left(id, now.as_millis_u32());
        if left_ms == 0 || self.shifts.contains_key(&id) {
            return None;
        }
        let [original, reply] = connection.flows.map(|flow| self.flow(flow));
        let masquerade = original.flags & flow_flag::MASQUERADE != 0;
        Some(State {
            original: original.tuple(),
            reply: reply.tuple(),
            flags: flags_of(connection) | if masquerade { flag::MASQUERADE } else { 0 },
            tcp: connection.tcp.state as u8,
            icmp: [connection.icmp_type, connection.icmp_code],
            mark: mark(connection.mark),
            left_ms,
            idle_ms: self.idle_ms(id, now),
        })
    }

    /// Who has the tuples of a connection.
    pub(crate) fn known(&mut self, state: &State<A>) -> Known {
        let Some((flow, id)) = self.found(&state.original) else {
            return if self.found(&state.reply).is_some() { Known::Other } else { Known::Nobody };
        };
        if self.slab[id.index()].flags.has(Flags::DYING) {
            self.remove(id);
            return self.known(state);
        }
        let flow = self.flow(flow);
        let is_same = flow.direction() == Direction::Original
            && A::same(&flow.translated(), &state.reply.reversed());
        if is_same { Known::Same(id) } else { Known::Other }
    }

    /// The connection that began with a packet of this tuple.
    pub(crate) fn begun_by(&self, original: &FiveTuple<A>) -> Option<ConnectionId> {
        let (flow, id) = self.found(original)?;
        (self.flow(flow).direction() == Direction::Original).then_some(id)
    }

    /// When a packet of a connection was seen last ([`wire::Moment::as_millis_u32`]), or, of one that was told of,
    /// may have been.
    pub(crate) fn last_ms(&self, id: ConnectionId) -> Option<u32> {
        let [one, other] = self.get(id)?.flows.map(|flow| self.flow(flow).last_ms());
        Some(if other.wrapping_sub(one) as i32 > 0 { other } else { one })
    }

    /// Whether a connection was seen here no later than by who tells of it.
    pub(crate) fn is_older(&self, id: ConnectionId, state: &State<A>, now: Moment) -> bool {
        self.idle_ms(id, now) >= state.idle_ms
    }

    /// How long ago a packet of a connection was seen last.
    fn idle_ms(&self, id: ConnectionId, now: Moment) -> u32 {
        let idle = now.as_millis_u32().wrapping_sub(self.last_ms(id).unwrap_or_default());
        if idle > u32::MAX / 2 { 0 } else { idle }
    }

    /// Enters a connection that another router has told of, whose tuples nobody has. `None` if there is no place:
    /// others do not give way to it.
    pub(crate) fn enter_told(
        &mut self,
        state: &State<A>,
        mark: Mark,
        now: Moment,
    ) -> Option<ConnectionId> {
        if state.left_ms == 0 || !self.has_place() {
            return None;
        }
        let mut flags = Flags::default();
        for (own, told) in FLAGS {
            if state.flags & told != 0 {
                flags.set(own);
            }
        }
        let new = New {
            original: state.original,
            translated: state.reply.reversed(),
            flags,
            masquerade: state.flags & flag::MASQUERADE != 0,
            mark,
            announced: None,
            len: 0,
            class: Class::Generic,
            icmp: state.icmp,
            tcp: Tcp::default(),
        };
        let flow = self.enter(&new, now).ok()?;
        let flow = self.table.flow_mut(flow);
        // Nobody has seen a packet of it here.
        flow.count_anew();
        let id = flow.connection;
        self.renew(id, state, mark, now);
        Some(id)
    }

    /// Takes over what was told of a connection.
    pub(crate) fn renew(&mut self, id: ConnectionId, state: &State<A>, mark: Mark, now: Moment) {
        let Some(connection) = self.slab.get_mut(id.index()) else { return };
        for (own, told) in &FLAGS[..2] {
            if state.flags & told != 0 {
                connection.flags.set(*own);
            }
        }
        let [original, _] = connection.flows;
        if state.original.protocol == protocol::TCP {
            connection.tcp = Tcp::told(STATES[usize::from(state.tcp).min(STATES.len() - 1)]);
        }
        connection.class = match state.original.protocol {
            protocol::TCP => connection
                .tcp
                .class(connection.flags.has(Flags::SEEN_REPLY), &self.settings.timeouts),
            protocol::UDP if connection.flags.has(Flags::ASSURED) => {
                let is_call =
                    self.settings.services.of(self.table.flow(original)) == Some(Service::Sip);
                if is_call { Class::Sip } else { Class::UdpStream }
            }
            protocol::UDP => Class::Udp,
            of if of == A::ICMP => Class::Icmp,
            _ => Class::Generic,
        };
        connection.mark = mark;
        let timeout = self.settings.timeouts.millis(connection.class);
        let left = state.left_ms.min(timeout);
        let seen_reply = connection.flags.has(Flags::SEEN_REPLY);
        let now_ms = now.as_millis_u32();
        for flow in connection.flows {
            self.table.flow_mut(flow).set_last_ms(now_ms.wrapping_sub(timeout - left));
        }
        if seen_reply {
            self.table.flow_mut(original).set_state(ConnectionState::Established);
        }
        self.drop_recipes(id);
        self.reschedule(id, now_ms.wrapping_add(left));
    }

    /// The connection that packets of a tuple belong to, and their flow.
    fn found(&self, tuple: &FiveTuple<A>) -> Option<(FlowId, ConnectionId)> {
        let flow = self.table.find(A::hash_of(tuple), tuple)?;
        let id = self.flow(flow).connection;
        (id != ConnectionId::NONE).then_some((flow, id))
    }
}

/// What is told of a connection's flags.
fn flags_of(connection: &Connection) -> u8 {
    let has = FLAGS.iter().filter(|(own, _)| connection.flags.has(*own));
    has.fold(0, |all, (_, told)| all | told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_their_numbers() {
        assert!(STATES.iter().enumerate().all(|(n, state)| *state as usize == n));
    }
}
