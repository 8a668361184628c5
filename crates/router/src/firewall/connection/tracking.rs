//! All connections: from packet to state, and what is entered. (How they end: [`ending`](super::ending).)

use super::arrival::Packet;
use super::expected::Expected;
use super::flow::{Direction, Flow, FlowId, FlowTable, flow_flag};
use super::ftp::Shift;
use super::look::Looks;
use super::record::{Connection, ConnectionId, Flags};
use super::service::Service;
use super::settings::{Class, Settings, Timeouts};
use super::tcp::{Segment, Tcp, TcpState, Verdict};
use super::timers::{Timer, Timers};
use super::trial::Behind;
use crate::counter::Count;
use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::ip::family::{Control, Family};
use crate::packet::ConnectionState;
use std::collections::HashMap;
use wire::layers::protocol;
use wire::{FiveTuple, Layers, Moment, icmp};

/// What tracking says of a packet.
#[derive(Clone, Debug)]
pub struct Tracking<A = u32> {
    /// What `connection-state` sees.
    pub state: ConnectionState,
    /// The packet's flow, if it has one. It has been counted there.
    pub flow: Option<FlowId>,
    /// What would be entered if the packet left the router. To be translated, then given to
    /// [`Connections::confirm`].
    pub new: Option<New<A>>,
    /// For an ICMP error: the flow the error goes along with, opposite to the packet it is about.
    /// It is translated as that flow is, and the quoted packet becomes
    /// `flow.translated().reversed()`.
    pub related: Option<FlowId>,
    /// It is invalid only because the table is full.
    pub full: bool,
}

/// A connection that is not entered yet.
#[derive(Clone, Debug)]
pub struct New<A = u32> {
    /// The first packet as it came.
    pub original: FiveTuple<A>,
    /// The first packet as it is to leave; changed by [`Connections::translate`].
    pub translated: FiveTuple<A>,
    /// `SRCNAT` and `DSTNAT`, as far as it was translated.
    pub flags: Flags,
    /// It is to end when the router loses the address that is its new source.
    pub masquerade: bool,
    /// What mangle has marked it with.
    pub mark: Mark,
    /// The helper that was told of it.
    pub(crate) announced: Option<Service>,
    pub(super) len: u16,
    pub(super) class: Class,
    pub(super) icmp: [u8; 2],
    pub(super) tcp: Tcp,
}

#[cfg(test)]
impl New {
    /// What tracking gives for the first packet of a UDP tuple.
    pub(crate) fn udp(tuple: FiveTuple) -> New {
        New {
            original: tuple,
            translated: tuple,
            flags: Flags::default(),
            masquerade: false,
            mark: Mark::NONE,
            announced: None,
            len: 28,
            class: Class::Udp,
            icmp: [0; 2],
            tcp: Tcp::default(),
        }
    }
}

/// What happened to connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entered.
    pub created: u64,
    /// Ended because nothing came in time.
    pub expired: u64,
    /// Ended early to make room for new ones.
    pub early_dropped: u64,
    /// Packets that belonged nowhere.
    pub invalid: u64,
    /// First packets refused because the table was full.
    pub full: u64,
    /// First packets whose tuples had been taken meanwhile.
    pub clashes: u64,
    /// Translations refused because no port was free.
    pub ports_exhausted: u64,
}

/// All connections of a router.
pub struct Connections<A: Family = u32> {
    pub(super) table: FlowTable<A>,
    pub(super) slab: Vec<Connection>,
    pub(super) free: ConnectionId,
    pub(super) live: usize,
    pub(super) max: usize,
    pub(super) timers: Timers,
    pub(super) settings: Settings,
    /// What happened.
    pub counts: Counts,
    /// How many have the F flag.
    pub(super) fasttracked: usize,
    /// Flows without a connection, kept for their recipes.
    pub(super) untracked: usize,
    /// Where the search for idle ones among them goes on.
    pub(super) untracked_at: u32,
    /// The source that the newest connection was given: most probably the next one's.
    new_source: Option<A>,
    /// Connections that were announced, the oldest first.
    pub(super) expected: Vec<Expected>,
    /// Of connections whose text was rewritten: how their sequence numbers differ, by direction.
    pub(super) shifts: HashMap<ConnectionId, [Shift; 2]>,
    /// What `print` has found of rates.
    pub(super) looks: Looks,
    /// The real table, when this one is a trial's.
    pub(super) behind: Option<Box<Behind<A>>>,
}

impl<A> Tracking<A> {
    const INVALID: Tracking<A> = Tracking {
        state: ConnectionState::Invalid,
        flow: None,
        new: None,
        related: None,
        full: false,
    };
}

impl<A: Family> Connections<A> {
    /// An empty table for `max_entries` connections. Memory for all of them (256 bytes each) is
    /// asked for at once, and provided by the system as it is touched.
    pub fn new(max_entries: usize) -> Connections<A> {
        let max = max_entries.min(FlowId::NONE.0 as usize / 2);
        Connections {
            // Untracked flows have what is beyond two for each connection.
            table: FlowTable::new(max * 2 + max / 2),
            slab: Vec::with_capacity(max),
            free: ConnectionId::NONE,
            live: 0,
            max,
            timers: Timers::new(),
            settings: Settings::default(),
            counts: Counts::default(),
            fasttracked: 0,
            untracked: 0,
            untracked_at: 0,
            new_source: None,
            expected: Vec::new(),
            shifts: HashMap::new(),
            looks: Looks::default(),
            behind: None,
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes the settings. Connections keep their places in the timers, so that a timeout made
    /// shorter takes effect on idle connections within one round of the wheel (262 s).
    pub fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// `total-entries`.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// `max-entries`.
    pub fn max_entries(&self) -> usize {
        self.max
    }

    /// The flows, for the fast path to probe.
    #[inline(always)]
    pub fn flows(&self) -> &FlowTable<A> {
        &self.table
    }

    /// A flow.
    #[inline(always)]
    pub fn flow(&self, id: FlowId) -> &Flow<A> {
        self.table.flow(id)
    }

    /// A flow, to keep a recipe in or to count a packet.
    #[inline(always)]
    pub fn flow_mut(&mut self, id: FlowId) -> &mut Flow<A> {
        self.table.flow_mut(id)
    }

    /// The flow of a packet that may be this one, to count the packet.
    #[inline(always)]
    pub(crate) fn confirm_mut(
        &mut self,
        candidate: FlowId,
        hash: u32,
        tuple: &FiveTuple<A>,
    ) -> Option<(FlowId, &mut Flow<A>)> {
        self.table.confirm_mut(candidate, hash, tuple)
    }

    /// A flow, if it is still that of the tuple.
    #[inline(always)]
    pub(crate) fn flow_if(&mut self, id: FlowId, tuple: &FiveTuple<A>) -> Option<&mut Flow<A>> {
        self.table.get_if(id, tuple)
    }

    /// Stage 3 for TCP: asks for the line of the windows.
    #[inline(always)]
    pub fn prefetch_connection(&self, id: ConnectionId) {
        port::prefetch::element(&self.slab, id.index());
    }

    /// The connection of this number.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.slab.get(id.index()).filter(|c| c.flags.has(Flags::CONFIRMED))
    }

    /// The flags of a flow's connection; none if it has none.
    pub fn flags_of(&self, flow: FlowId) -> Flags {
        self.get(self.flow(flow).connection).map_or(Flags::default(), Connection::flags)
    }

    /// The mark of a flow's connection; none if it has none.
    pub fn mark_of(&self, flow: FlowId) -> Mark {
        self.get(self.flow(flow).connection).map_or(Mark::NONE, |connection| connection.mark)
    }

    /// Marks a flow's connection. What was recorded of its packets holds no more if that changes
    /// its mark.
    pub fn set_mark(&mut self, flow: FlowId, mark: Mark) {
        let id = self.flow(flow).connection;
        if let Some(connection) = self.slab.get_mut(id.index())
            && connection.mark != mark
        {
            connection.mark = mark;
            self.drop_recipes(id);
        }
    }

    /// Connections from a number on, in the order of their numbers.
    pub fn iter_from(
        &self,
        from: ConnectionId,
    ) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        let all = self.slab.iter().enumerate().skip(from.index());
        all.filter(|(_, c)| c.flags.has(Flags::CONFIRMED)).map(|(i, c)| (ConnectionId(i as u32), c))
    }

    /// Bytes of memory for all that is or was entered, the index included.
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.slab.len() * size_of::<Connection>() + Timers::BYTES
    }

    /// Finds out what a packet of this tuple belongs to: `layers` are `frame`'s. Its transport checksum
    /// may be `unfinished`: yet to be written. Of a datagram that came in pieces `frame` and `layers`
    /// are its first fragment's, and `rest` is the whole one's IP length, and the payloads of its other
    /// fragments in order.
    pub(crate) fn track_as<'a>(
        &mut self,
        now: Moment,
        (frame, layers, tuple): (&[u8], &Layers, FiveTuple<A>),
        unfinished: bool,
        rest: Option<(u16, impl IntoIterator<Item = &'a [u8]>)>,
    ) -> Tracking<A> {
        let known = unfinished.then_some(true);
        let mut packet = Packet::new(now, frame, layers, tuple, known);
        let Some((len, rest)) = rest else { return self.judge(&packet, layers.fragment) };
        packet.len = len;
        packet.checksum_ok = Some(packet.checksum_over(rest));
        self.judge(&packet, layers.later_fragment)
    }

    fn judge(&mut self, packet: &Packet<'_, A>, is_piece: bool) -> Tracking<A> {
        let layers = packet.layers;
        let tracking = if layers.ether_type != A::ETHERTYPE || is_piece {
            Tracking::INVALID
        } else {
            match packet.control() {
                Some(Control::Error) => self.icmp_error(packet),
                Some(Control::OfLink) => {
                    Tracking { state: ConnectionState::Untracked, ..Tracking::INVALID }
                }
                _ => match self.table.find(A::hash_of(&packet.tuple), &packet.tuple) {
                    Some(flow) => self.follow(flow, packet),
                    None => self.begin(packet),
                },
            }
        };
        self.counts.invalid += u64::from(tracking.state == ConnectionState::Invalid);
        tracking
    }

    /// A packet of a flow that is known.
    fn follow(&mut self, id: FlowId, packet: &Packet<'_, A>) -> Tracking<A> {
        let flow = *self.table.flow(id);
        let direction = flow.direction();
        let Some(connection) = self.slab.get_mut(flow.connection.index()) else {
            self.remove_untracked(id); // its recipe is from a time without tracking
            return self.begin(packet);
        };
        if connection.flags.has(Flags::DYING) {
            self.remove(flow.connection);
            return self.begin(packet);
        }
        let seen_reply = connection.flags.has(Flags::SEEN_REPLY);
        let assured = connection.flags.has(Flags::ASSURED);
        let fasttrack = connection.flags.has(Flags::FASTTRACK);
        let state = flow.state();
        let known = Tracking { state, flow: Some(id), ..Tracking::INVALID };
        let mut class = connection.class;
        match flow.protocol {
            protocol::TCP => {
                let Some(segment) = packet.segment() else { return Tracking::INVALID };
                if fasttrack {
                    connection.tcp.forget_windows();
                }
                let from = connection.tcp.state;
                if !connection.tcp.established(direction, &segment) {
                    match connection.tcp.judge(direction, &segment, seen_reply, assured) {
                        Verdict::Accept => {}
                        Verdict::Ignore => {
                            // Not counted, and no timeout begins anew; but somebody answered.
                            if direction == Direction::Reply && !seen_reply {
                                self.reply_seen(flow.connection);
                            }
                            return known;
                        }
                        Verdict::Invalid => return Tracking::INVALID,
                        Verdict::Reopen => {
                            self.remove(flow.connection);
                            return self.begin(packet);
                        }
                    }
                }
                let to = connection.tcp.state;
                class = connection
                    .tcp
                    .class(seen_reply || direction == Direction::Reply, &self.settings.timeouts);
                if !seen_reply && to == TcpState::Close {
                    // Refused, or given up before an answer: nothing to keep (RFC 9293 §3.10.7.3).
                    connection.flags.set(Flags::DYING);
                } else if seen_reply
                    && matches!(from, TcpState::SynReceived | TcpState::Established)
                    && to == TcpState::Established
                {
                    connection.flags.set(Flags::ASSURED);
                }
            }
            protocol::UDP if seen_reply => {
                connection.flags.set(Flags::ASSURED);
                let is_call = self.settings.services.of(&flow) == Some(Service::Sip);
                class = if is_call { Class::Sip } else { Class::UdpStream };
            }
            protocol::UDP => {}
            of if of == A::ICMP => {}
            _ if seen_reply => connection.flags.set(Flags::ASSURED),
            _ => {}
        }
        connection.class = class;
        let len = packet.len;
        if fasttrack {
            connection.regular[direction as usize].add(u64::from(len));
        }
        let flow = self.table.flow_mut(id);
        flow.count(len, packet.now_ms);
        if fasttrack {
            flow.flags |= flow_flag::FASTTRACK; // this direction is set up (again)
        }
        let connection = flow.connection;
        if direction == Direction::Reply && !seen_reply {
            self.reply_seen(connection);
        }
        self.reschedule_if_earlier(connection, packet.now_ms);
        known
    }

    /// The first packet against the original direction: the connection is established from now.
    fn reply_seen(&mut self, id: ConnectionId) {
        let connection = &mut self.slab[id.index()];
        connection.flags.set(Flags::SEEN_REPLY);
        let original = connection.flow(Direction::Original);
        self.table.flow_mut(original).set_state(ConnectionState::Established);
        self.drop_recipes(id);
    }

    /// What rules see of the connection has changed: what was recorded holds no more.
    pub(super) fn drop_recipes(&mut self, id: ConnectionId) {
        for flow in self.slab[id.index()].flows {
            self.table.flow_mut(flow).forget();
        }
    }

    /// A packet no flow is known for.
    fn begin(&mut self, packet: &Packet<'_, A>) -> Tracking<A> {
        let tuple = packet.tuple;
        let mut tcp = Tcp::default();
        let class = match tuple.protocol {
            protocol::TCP => {
                let opened = packet
                    .segment()
                    .and_then(|segment| Tcp::open(&segment, self.settings.loose_tcp));
                let Some(opened) = opened else { return Tracking::INVALID };
                tcp = opened;
                tcp.class(false, &self.settings.timeouts)
            }
            protocol::UDP => Class::Udp,
            of if of == A::ICMP => match packet.control() {
                Some(Control::Query) => Class::Icmp,
                _ => return Tracking::INVALID,
            },
            _ => Class::Generic,
        };
        if !packet.checksum_ok() {
            return Tracking::INVALID;
        }
        if !self.has_room() {
            self.counts.full += 1;
            return Tracking { full: true, ..Tracking::INVALID };
        }
        let mut new = New {
            original: tuple,
            translated: tuple,
            flags: Flags::default(),
            masquerade: false,
            mark: Mark::NONE,
            announced: None,
            len: packet.len,
            class,
            icmp: if tuple.protocol == A::ICMP { packet.icmp() } else { [0; 2] },
            tcp,
        };
        self.expect_reply(&tuple);
        let state = match A::meet(self, &mut new, packet.now_ms) {
            true => ConnectionState::Related,
            false => ConnectionState::New,
        };
        Tracking { state, new: Some(new), ..Tracking::INVALID }
    }

    /// Asks for the line of the bucket that the reply of a new connection will be sought and entered in,
    /// should its source become what the last one's did: the rules take longer than the memory.
    #[inline]
    fn expect_reply(&self, original: &FiveTuple<A>) {
        let src = self.new_source.unwrap_or(original.src);
        let reply = FiveTuple { src, ..*original }.reversed();
        self.table.prefetch_bucket(A::hash_of(&reply));
    }

    /// An ICMP error: it belongs to the connection of the packet it quotes.
    fn icmp_error(&mut self, packet: &Packet<'_, A>) -> Tracking<A> {
        let quoted = packet.transport().get(icmp::HEADER_LEN..);
        let Some(quoted) = quoted.and_then(A::quoted) else { return Tracking::INVALID };
        if !packet.checksum_ok() {
            return Tracking::INVALID;
        }
        let along = quoted.tuple.reversed();
        match self.table.find(A::hash_of(&along), &along) {
            Some(flow) if self.table.flow(flow).connection != ConnectionId::NONE => Tracking {
                state: ConnectionState::Related,
                related: Some(flow),
                ..Tracking::INVALID
            },
            _ => Tracking::INVALID,
        }
    }

    /// Enters a connection whose first packet leaves the router, and returns that packet's flow.
    ///
    /// # Errors
    /// [`Discard::ConnectionClash`]: one of its tuples was taken since it was tracked.
    /// [`Discard::ConnectionTableFull`]: the room there was has been taken.
    pub fn confirm(&mut self, new: &New<A>, now: Moment) -> Result<FlowId, Discard> {
        let reply = new.translated.reversed();
        if self.is_taken(&new.original) || self.is_taken(&reply) {
            self.counts.clashes += 1;
            return Err(Discard::ConnectionClash);
        }
        if !self.make_room() {
            self.counts.full += 1;
            return Err(Discard::ConnectionTableFull);
        }
        self.enter(new, now)
    }

    /// Enters a connection whose tuples nobody has, where there is a place.
    ///
    /// # Errors
    /// [`Discard::ConnectionTableFull`]: its flows have none, after all.
    #[inline]
    pub(super) fn enter(&mut self, new: &New<A>, now: Moment) -> Result<FlowId, Discard> {
        let reply = new.translated.reversed();
        self.give_way(&new.original);
        self.give_way(&reply);
        let now_ms = now.as_millis_u32();
        let id = self.next_id();
        let (srcnat, dstnat) = (new.flags.has(Flags::SRCNAT), new.flags.has(Flags::DSTNAT));
        let nat = |source: bool, destination: bool| {
            let source = if source { flow_flag::SOURCE } else { 0 };
            source | if destination { flow_flag::DESTINATION } else { 0 }
        };
        let mut original = Flow::new(new.original, new.translated, Direction::Original, id);
        original.flags |= nat(srcnat, dstnat);
        if new.masquerade {
            original.flags |= flow_flag::MASQUERADE;
        }
        if new.flags.has(Flags::EXPECTED) {
            original.set_state(ConnectionState::Related);
        }
        original.count(new.len, now_ms);
        let mut back = Flow::new(reply, new.original.reversed(), Direction::Reply, id);
        back.flags |= nat(dstnat, srcnat);
        back.set_state(ConnectionState::Established);
        back.set_last_ms(now_ms);

        let flow = self.table.insert(original);
        let back = flow.and_then(|flow| {
            let back = self.table.insert(back);
            back.inspect_err(|_| self.table.remove(flow))
        });
        let (Ok(flow), Ok(back)) = (flow, back) else {
            self.counts.full += 1;
            return Err(Discard::ConnectionTableFull);
        };
        let mut flags = new.flags;
        flags.set(Flags::CONFIRMED);
        let connection = Connection {
            tcp: new.tcp.clone(),
            class: new.class,
            flags,
            icmp_type: new.icmp[0],
            icmp_code: new.icmp[1],
            flows: [flow, back],
            timer: Timer::IDLE,
            created_ms: now_ms,
            mark: new.mark,
            announced: new.announced,
            regular: [Count::default(); 2],
        };
        self.store(id, connection);
        self.new_source = srcnat.then_some(new.translated.src);
        self.counts.created += 1;
        let deadline = now_ms.wrapping_add(self.settings.timeouts.millis(new.class));
        let rank = self.rank(id);
        self.timers.insert(&mut self.slab, id, rank, deadline);
        Ok(flow)
    }

    /// The number the next connection gets.
    pub(super) fn next_id(&self) -> ConnectionId {
        if self.free == ConnectionId::NONE {
            ConnectionId(self.slab.len() as u32)
        } else {
            self.free
        }
    }

    pub(super) fn store(&mut self, id: ConnectionId, connection: Connection) {
        self.live += 1;
        if id == self.free {
            self.free = self.slab[id.index()].timer.next();
            self.slab[id.index()] = connection;
            port::prefetch::lines(&self.slab, self.free.index(), 0..2); // the next to be taken
        } else {
            self.slab.push(connection);
        }
    }

    /// Whether a segment of an established connection may go the fast way: it has no SYN, FIN or
    /// RST, is in its window, and changes nothing that rules see. The windows have then been
    /// brought up to date, and what remains is [`Flow::count`]. If false, nothing has changed, and
    /// [`track`](Self::track) decides.
    #[inline]
    pub fn tcp_fast(&mut self, id: FlowId, segment: &wire::Tcp<&[u8]>, now_ms: u32) -> bool {
        let flow = self.table.flow(id);
        let (direction, id) = (flow.direction(), flow.connection);
        let Some(connection) = self.slab.get_mut(id.index()) else { return true };
        let flags = connection.flags;
        let settled = flags.has(Flags::ASSURED) || !flags.has(Flags::SEEN_REPLY);
        if !settled
            || flags.0 & (Flags::DYING.0 | Flags::FASTTRACK.0) != 0
            || !connection.tcp.established(direction, &Segment::new(*segment, 0))
        {
            return false;
        }
        let seen_reply = flags.has(Flags::SEEN_REPLY);
        let class = connection.tcp.class(seen_reply, &self.settings.timeouts);
        if class != connection.class {
            connection.class = class;
            self.reschedule_if_earlier(id, now_ms);
        }
        true
    }

    /// Whether a recipe may be recorded for the flow: another packet like the last one changes
    /// nothing about the connection but what [`Flow::count`] and [`tcp_fast`](Self::tcp_fast) do.
    pub fn is_settled(&self, id: FlowId) -> bool {
        let flow = self.table.flow(id);
        let Some(connection) = self.slab.get(flow.connection.index()) else { return true };
        let flags = connection.flags;
        let one_way = !flags.has(Flags::SEEN_REPLY) && flow.direction() == Direction::Original;
        !flags.has(Flags::DYING)
            && flow.protocol != A::ICMP // what its type says is looked at each time
            && self.settings.services.of(flow).is_none()
            && (one_way || flags.has(Flags::ASSURED))
    }

    /// The timeouts.
    pub fn timeouts(&self) -> &Timeouts {
        &self.settings.timeouts
    }
}

impl Connections {
    /// Finds out what a packet belongs to. `layers` are `frame`'s, their tuple is the packet's as
    /// it came. A fragment is invalid: datagrams are put together before.
    pub fn track(&mut self, now: Moment, frame: &[u8], layers: &Layers) -> Tracking {
        self.track_as(now, (frame, layers, layers.tuple), false, NO_PIECES)
    }

    /// [`track`](Self::track) for a packet whose transport checksum is yet to be written.
    pub fn track_unfinished(&mut self, now: Moment, frame: &[u8], layers: &Layers) -> Tracking {
        self.track_as(now, (frame, layers, layers.tuple), true, NO_PIECES)
    }

    /// [`track`](Self::track) for a datagram that came in pieces: `frame` and `layers` are its
    /// first fragment's, `len` is the whole datagram's IP length, `rest` are the payloads of its
    /// other fragments in order.
    pub fn track_reassembled<'a>(
        &mut self,
        now: Moment,
        frame: &[u8],
        layers: &Layers,
        len: u16,
        rest: impl IntoIterator<Item = &'a [u8]>,
    ) -> Tracking {
        self.track_as(now, (frame, layers, layers.tuple), false, Some((len, rest)))
    }
}

/// A packet came whole.
pub(crate) const NO_PIECES: Option<(u16, [&[u8]; 0])> = None;
