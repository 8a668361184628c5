//! `/ip firewall connection print`: connections as the user sees them.

use super::flow::{Direction, Flow};
use super::record::{Connection, ConnectionId, Flags};
use super::service::Service;
use super::tcp::TcpState;
use super::tracking::Connections;
use crate::counter::Count;
use crate::firewall::mark::Mark;
use crate::firewall::syntax;
use crate::ip::family::Family;
use config::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::layers::protocol;
use wire::{FiveTuple, Moment};

/// A connection, as it stands at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<A = u32> {
    /// Its number.
    pub id: ConnectionId,
    /// Its flags.
    pub flags: Flags,
    /// The first packet as it came.
    pub original: FiveTuple<A>,
    /// The replies as they come.
    pub reply: FiveTuple<A>,
    /// Type and code of the first packet, if it was ICMP.
    pub icmp: Option<(u8, u8)>,
    /// `connection-mark`, by number.
    pub mark: Mark,
    /// The helper that reads it, or read who has announced it.
    pub(crate) service: Option<Service>,
    /// `tcp-state`, if it is TCP.
    pub tcp_state: Option<TcpState>,
    /// Until it ends if nothing comes; 0 if it only waits to be swept.
    pub timeout: Duration,
    /// Packets and IP bytes, by direction.
    pub counts: [Count; 2],
    /// Of these, what FastTrack carried.
    pub fasttrack: [Count; 2],
}

impl<A: Family> Connections<A> {
    /// All connections in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.iter_from(ConnectionId(0))
    }

    /// All connections, in the order of their numbers.
    pub fn list(&self, now: Moment) -> impl Iterator<Item = Entry<A>> {
        self.list_from(ConnectionId(0), now)
    }

    /// Those from a number on.
    pub fn list_from(&self, from: ConnectionId, now: Moment) -> impl Iterator<Item = Entry<A>> {
        self.iter_from(from).map(move |(id, connection)| self.describe(id, connection, now))
    }

    /// One of them.
    pub fn entry(&self, id: ConnectionId, now: Moment) -> Option<Entry<A>> {
        self.get(id).map(|connection| self.describe(id, connection, now))
    }

    fn describe(&self, id: ConnectionId, connection: &Connection, now: Moment) -> Entry<A> {
        let both = [Direction::Original, Direction::Reply];
        let [original, reply] = both.map(|direction| self.flow(connection.flow(direction)));
        let has_icmp = original.protocol == A::ICMP;
        let has_tcp = original.protocol == protocol::TCP;
        Entry {
            id,
            flags: connection.flags(),
            original: original.tuple(),
            reply: reply.tuple(),
            icmp: has_icmp.then_some((connection.icmp_type, connection.icmp_code)),
            mark: connection.mark,
            service: connection.announced.or_else(|| self.settings.services.of(original)),
            tcp_state: has_tcp.then_some(connection.tcp.state),
            timeout: Duration::from_millis(self.timeout_left(id, now.as_millis_u32()).into()),
            counts: [original, reply].map(Flow::counted),
            fasttrack: both.map(|direction| self.fasttrack_count(id, direction)),
        }
    }
}

impl<A: Family> Entry<A> {
    /// The properties of [`CONNECTION`](super::menu::CONNECTION), as far as they have a value.
    pub fn values(&self) -> BTreeMap<&'static str, Value> {
        let mut values = BTreeMap::new();
        for (_, name, flag) in Flags::NAMES {
            values.insert(name, Value::Bool(self.flags.has(flag)));
        }
        let mut text = |name, text: String| values.insert(name, Value::Text(text));
        text("protocol", syntax::protocol_name(self.original.protocol));
        text(
            "src-address",
            address(self.original.protocol, self.original.src, self.original.src_port),
        );
        text(
            "dst-address",
            address(self.original.protocol, self.original.dst, self.original.dst_port),
        );
        text(
            "reply-src-address",
            address(self.reply.protocol, self.reply.src, self.reply.src_port),
        );
        text(
            "reply-dst-address",
            address(self.reply.protocol, self.reply.dst, self.reply.dst_port),
        );
        if let Some(state) = self.tcp_state {
            text("tcp-state", state.name().to_string());
        }
        if let Some(service) = self.service {
            text("connection-type", service.name().to_string());
        }
        values.insert("timeout", Value::Time(self.timeout));
        let mut number = |name, n: u64| values.insert(name, Value::Number(n as i64));
        if let Some((kind, code)) = self.icmp {
            number("icmp-type", kind.into());
            number("icmp-code", code.into());
            number("icmp-id", self.original.src_port.into());
        }
        if self.original.protocol == protocol::GRE && self.original.dst_port != 0 {
            number("gre-key", self.original.dst_port.into());
        }
        let [original, reply] = self.counts;
        number("orig-packets", original.packets);
        number("orig-bytes", original.bytes);
        number("repl-packets", reply.packets);
        number("repl-bytes", reply.bytes);
        let [original, reply] = self.fasttrack;
        number("orig-fasttrack-packets", original.packets);
        number("orig-fasttrack-bytes", original.bytes);
        number("repl-fasttrack-packets", reply.packets);
        number("repl-fasttrack-bytes", reply.bytes);
        values
    }
}

fn address<A: Family>(protocol: u8, address: A, port: u16) -> String {
    address.written(matches!(protocol, protocol::TCP | protocol::UDP).then_some(port))
}
