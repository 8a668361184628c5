//! The flow table: one cache line for each direction of a connection, found by 5-tuple.
//!
//! ```text
//!   5-tuple ─► hash ─► bucket (tags) ─► Flow, 64 bytes ─► Connection, 128 bytes
//!                stage 1        stage 2            stage 3 (TCP only)
//! ```
//!
//! A flow line holds all that the fast path needs to send a packet on: where it goes, what its
//! addresses become, which recipe to replay, and the counters and the time stamp it writes.
//! Probe many packets at a time: [`prefetch_bucket`](FlowTable::prefetch_bucket) for all, then
//! [`candidate`](FlowTable::candidate) and [`prefetch_flow`](FlowTable::prefetch_flow) for all,
//! then [`find`](FlowTable::find).
//!
//! Never decides what a packet means: that is [`Connections`]'.
//! A flow of IPv6 has two lines, the second for its translation and the counters as a whole ([`Tally`]).
//! Missing: **a zone or interface in the key**.
//!
//! [`Connections`]: crate::firewall::connection::Connections

use super::ConnectionId;
use super::index::Index;
use super::tally::Tally;
use crate::counter::Count;
use crate::interface::InterfaceId;
use crate::ip::family::Family;
use crate::packet::ConnectionState;
use crate::queue::QueueLeafId;
use std::mem::offset_of;
use wire::FiveTuple;

/// A flow's number, used again after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// No flow.
    pub const NONE: FlowId = FlowId(u32::MAX);

    #[inline(always)]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which way a packet goes within its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Direction {
    /// As the first packet.
    Original = 0,
    /// Against it.
    Reply = 1,
}

impl Direction {
    /// The other one.
    #[inline]
    pub const fn opposite(self) -> Direction {
        match self {
            Direction::Original => Direction::Reply,
            Direction::Reply => Direction::Original,
        }
    }
}

/// What [`Flow::flags`] says.
pub mod flow_flag {
    /// Source address or port are rewritten.
    pub const SOURCE: u8 = 1;
    /// Destination address or port are rewritten.
    pub const DESTINATION: u8 = 2;
    /// Both of them: whether anything is rewritten.
    pub const NAT: u8 = SOURCE | DESTINATION;
    /// The next packet may take the FastTrack way.
    pub const FASTTRACK: u8 = 4;
    /// Its packets go against the first one: [`Direction::Reply`].
    pub(crate) const REPLY: u8 = 8;
    /// Where [`ConnectionState`](crate::packet::ConnectionState) begins, in two bits.
    pub(crate) const STATE: u8 = 4;
    /// Of the original direction: its source is the out-interface's address, and ends with that.
    pub(crate) const MASQUERADE: u8 = 64;
    /// The place is in use.
    pub(crate) const LIVE: u8 = 128;
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Flow<A: Family = u32> {
    /// Source address, as packets of this direction arrive.
    pub src: A,
    /// Destination address.
    pub dst: A,
    /// Source port, or the ICMP identifier.
    pub src_port: u16,
    /// Destination port, or the ICMP identifier.
    pub dst_port: u16,
    /// IP protocol.
    pub protocol: u8,
    /// [`flow_flag`]s.
    pub flags: u8,
    /// The lower bits of the queue's number: see [`kept`](Self::kept).
    queue: u16,
    /// The connection; `NONE` for a flow that is kept for its recipe only.
    pub connection: ConnectionId,
    /// What to replay for its packets, with the upper bits of the queue's number: see [`Kept`]; 0 if nothing yet.
    /// Whatever changes what rules see of the connection sets it to 0, in both directions.
    recipe: u32,
    /// The program the recipe was recorded under.
    pub generation: u32,
    /// Where its packets go.
    pub next_hop: u32,
    /// Its packets and bytes, and when the last one came; of IPv6 the end of the first line, and what is touched
    /// rarely in the second.
    tally: A::Tally,
    /// Source address after translation; the same if there is none.
    pub new_src: A,
    /// Destination address after translation.
    pub new_dst: A,
    /// Source port after translation.
    pub new_src_port: u16,
    /// Destination port after translation.
    pub new_dst_port: u16,
}

const fn state_bits(state: ConnectionState) -> u8 {
    (state as u8).saturating_sub(1) << flow_flag::STATE
}

/// What a flow keeps of its way: the number of a recipe, and of the queue if there is just one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The recipe's number, and in the lowest byte the queue's upper bits.
    word: u32,
    queue: u16,
}

impl Kept {
    /// Numbers of recipes and of queues are smaller.
    pub(crate) const END: u32 = (1 << 24) - 1;

    /// A recipe, and the one queue on the way.
    pub(crate) fn new(recipe: u32, queue: Option<QueueLeafId>) -> Kept {
        let queue = queue.map_or(Kept::END, |queue| queue.0);
        Kept { word: recipe << 8 | queue >> 16 & 0xff, queue: queue as u16 }
    }

    /// Whether nothing is kept.
    pub(crate) fn is_none(self) -> bool {
        self.recipe() == 0
    }

    /// The recipe's number; 0 is none.
    #[inline(always)]
    pub(crate) fn recipe(self) -> u32 {
        self.word >> 8
    }

    /// The one queue on the way.
    #[inline(always)]
    pub(crate) fn queue(self) -> Option<QueueLeafId> {
        let queue = (self.word & 0xff) << 16 | u32::from(self.queue);
        (queue != Kept::END).then_some(QueueLeafId(queue))
    }
}

const _: () = assert!(size_of::<Flow>() == 64 && size_of::<Flow<u128>>() == 128);
const _: () =
    assert!(offset_of!(Flow<u128>, tally) == 56, "its first eight bytes are in the first line");

impl<A: Family> Flow<A> {
    /// A flow whose packets arrive as `tuple` and leave as `new`.
    pub fn new(
        tuple: FiveTuple<A>,
        new: FiveTuple<A>,
        direction: Direction,
        connection: ConnectionId,
    ) -> Flow<A> {
        Flow {
            src: tuple.src,
            dst: tuple.dst,
            src_port: tuple.src_port,
            dst_port: tuple.dst_port,
            protocol: tuple.protocol,
            flags: flow_flag::LIVE
                | (flow_flag::REPLY * direction as u8)
                | state_bits(ConnectionState::New),
            queue: 0,
            connection,
            recipe: 0,
            generation: 0,
            next_hop: 0,
            tally: A::Tally::default(),
            new_src: new.src,
            new_dst: new.dst,
            new_src_port: new.src_port,
            new_dst_port: new.dst_port,
        }
    }

    /// The 5-tuple of its packets as they arrive.
    #[inline]
    pub const fn tuple(&self) -> FiveTuple<A> {
        FiveTuple {
            src: self.src,
            dst: self.dst,
            src_port: self.src_port,
            dst_port: self.dst_port,
            protocol: self.protocol,
        }
    }

    /// The 5-tuple of its packets as they leave.
    #[inline]
    pub const fn translated(&self) -> FiveTuple<A> {
        FiveTuple {
            src: self.new_src,
            dst: self.new_dst,
            src_port: self.new_src_port,
            dst_port: self.new_dst_port,
            protocol: self.protocol,
        }
    }

    /// What a packet of the flow becomes before the routing decision: its destination is
    /// translated, in either direction of the connection. For an ICMP error that goes along, give
    /// the error's own tuple.
    #[inline]
    pub fn translate_destination(&self, mut tuple: FiveTuple<A>) -> FiveTuple<A> {
        if self.flags & flow_flag::DESTINATION != 0 {
            tuple.dst = self.new_dst;
            if tuple.protocol == self.protocol {
                self.put_ports(&mut tuple, self.new_dst_port, false);
            }
        }
        tuple
    }

    /// What it becomes last: its source is translated. For an ICMP error that goes along, give
    /// the error's own tuple: whoever sent it is shown as the translated host is (RFC 5508 §4.2).
    #[inline]
    pub fn translate_source(&self, mut tuple: FiveTuple<A>) -> FiveTuple<A> {
        if self.flags & flow_flag::SOURCE != 0 {
            tuple.src = self.new_src;
            if tuple.protocol == self.protocol {
                self.put_ports(&mut tuple, self.new_src_port, true);
            }
        }
        tuple
    }

    #[inline]
    fn put_ports(&self, tuple: &mut FiveTuple<A>, port: u16, source: bool) {
        if self.protocol == A::ICMP {
            (tuple.src_port, tuple.dst_port) = (port, port); // one identifier stands for both
        } else if source {
            tuple.src_port = port;
        } else {
            tuple.dst_port = port;
        }
    }

    /// Its direction.
    #[inline]
    pub const fn direction(&self) -> Direction {
        if self.flags & flow_flag::REPLY == 0 { Direction::Original } else { Direction::Reply }
    }

    /// What to replay for its packets.
    #[inline(always)]
    pub(crate) const fn kept(&self) -> Kept {
        Kept { word: self.recipe, queue: self.queue }
    }

    /// Keeps what to replay for its packets, under a generation of recipes.
    pub(crate) fn keep(&mut self, kept: Kept, generation: u32) {
        (self.recipe, self.queue, self.generation) = (kept.word, kept.queue, generation);
    }

    /// Forgets what to replay.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        self.recipe = 0;
    }

    /// What `connection-state` will see of the next packet of this direction.
    #[inline]
    pub const fn state(&self) -> ConnectionState {
        match self.flags >> flow_flag::STATE & 3 {
            0 => ConnectionState::Established,
            1 => ConnectionState::Related,
            2 => ConnectionState::New,
            _ => ConnectionState::Untracked,
        }
    }

    /// Sets it: any but [`ConnectionState::Invalid`], of which there are no flows.
    pub(crate) const fn set_state(&mut self, state: ConnectionState) {
        self.flags = self.flags & !(3 << flow_flag::STATE) | state_bits(state);
    }

    /// Counts a packet of `len` IP bytes: what both paths do for each packet they accept as the
    /// flow's, and all that the timers need to know.
    #[inline(always)]
    pub fn count(&mut self, len: u16, now_ms: u32) {
        self.tally.packet(len, now_ms);
    }

    /// Counts packets that came at some time before.
    #[inline]
    pub(crate) fn merge(&mut self, count: Count) {
        self.tally.merge(count);
    }

    /// Packets and IP bytes.
    #[inline]
    pub fn counted(&self) -> Count {
        self.tally.count()
    }

    /// Counts from nothing.
    pub(crate) fn count_anew(&mut self) {
        let last_ms = self.last_ms();
        self.tally = A::Tally::default();
        self.set_last_ms(last_ms);
    }

    /// When the last packet came ([`wire::Moment::as_millis_u32`]).
    #[inline]
    pub fn last_ms(&self) -> u32 {
        self.tally.last_ms()
    }

    /// Says when that was.
    pub(crate) fn set_last_ms(&mut self, ms: u32) {
        self.tally.set_last_ms(ms);
    }

    #[inline(always)]
    fn is(&self, tuple: &FiveTuple<A>) -> bool {
        A::same(&self.tuple(), tuple)
    }

    fn live(&self) -> bool {
        self.flags & flow_flag::LIVE != 0
    }
}

/// Flows that were taken away and are kept at most: a millisecond's.
const MOST_ENDED: usize = 1 << 18;

/// A flow's first packet, as whoever tells of flows has to know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct First {
    /// By which interfaces it came and left.
    pub(crate) ways: [InterfaceId; 2],
    /// When it came ([`wire::Moment::as_millis_u32`]).
    pub(crate) came_ms: u32,
}

/// A flow that was taken away, its number, and its first packet, if that was noted.
pub(crate) type Ended<A> = (FlowId, Flow<A>, Option<First>);

/// What whoever tells of flows has to know beyond them.
#[derive(Debug)]
pub(crate) struct Watch<A: Family> {
    ended: Vec<Ended<A>>,
    /// By number.
    first: Vec<Option<First>>,
    /// Of how many that were taken away nothing is kept.
    pub(crate) lost: u64,
}

impl<A: Family> Default for Watch<A> {
    fn default() -> Watch<A> {
        Watch { ended: vec![], first: vec![], lost: 0 }
    }
}

impl<A: Family> Watch<A> {
    /// Notes a packet of a flow, if it is the first.
    pub(crate) fn note(&mut self, id: FlowId, packet: First) {
        if self.first.len() <= id.index() {
            self.first.resize(id.index() + 1, None);
        }
        self.first[id.index()].get_or_insert(packet);
    }

    /// Those that were taken away since somebody asked, the first first.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended<A>> {
        std::mem::take(&mut self.ended)
    }

    /// A flow's first packet, if it was noted.
    pub(crate) fn first(&self, id: FlowId) -> Option<First> {
        self.first.get(id.index()).copied().flatten()
    }

    fn end(&mut self, id: FlowId, flow: &Flow<A>) {
        let first = self.first.get_mut(id.index()).and_then(Option::take);
        match self.ended.len() < MOST_ENDED {
            true => self.ended.push((id, *flow, first)),
            false => self.lost += 1,
        }
    }
}

/// All flows.
pub struct FlowTable<A: Family = u32> {
    flows: Vec<Flow<A>>,
    /// Free places are chained by `recipe`.
    free: FlowId,
    live: usize,
    max: usize,
    index: Index,
    /// Of whoever tells collectors of flows.
    watch: Option<Box<Watch<A>>>,
}

impl<A: Family> FlowTable<A> {
    /// An empty table for at most `max` flows. Memory for all of them is asked for at once, so
    /// that nothing ever moves; the system provides it as it is touched.
    pub fn new(max: usize) -> FlowTable<A> {
        let max = max.min(FlowId::NONE.index());
        let flows = Vec::with_capacity(max);
        let (free, index) = (FlowId::NONE, Index::new());
        FlowTable { flows, free, live: 0, max, index, watch: None }
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many more fit.
    pub fn room(&self) -> usize {
        self.max - self.live
    }

    /// Stage 1: asks for the line of the bucket.
    #[inline(always)]
    pub fn prefetch_bucket(&self, hash: u32) {
        self.index.prefetch(hash);
    }

    /// Stage 2: the flow this is likely to be, by its tag alone; no flow's memory is touched.
    /// `None` is certain: no such flow.
    #[inline(always)]
    pub fn candidate(&self, hash: u32) -> Option<FlowId> {
        self.index.find(hash, |_| true).map(FlowId)
    }

    /// Stage 2: asks for the line of the flow; of IPv6 the first, for most packets need no other.
    #[inline(always)]
    pub fn prefetch_flow(&self, id: FlowId) {
        port::prefetch::lines(&self.flows, id.index(), 0..1);
    }

    /// Asks for the line of a flow's bucket; reads the flow.
    #[inline]
    pub(super) fn prefetch_bucket_of(&self, id: FlowId) {
        if let Some(flow) = self.flows.get(id.index()) {
            self.index.prefetch(A::hash_of(&flow.tuple()));
        }
    }

    /// Stage 3: whether the candidate was right; else what [`find`](Self::find) says.
    #[inline(always)]
    pub fn confirm(
        &self,
        candidate: FlowId,
        hash: u32,
        tuple: &FiveTuple<A>,
    ) -> Option<(FlowId, &Flow<A>)> {
        let flow = self.flows.get(candidate.index());
        match flow.filter(|flow| flow.live() && flow.is(tuple)) {
            Some(flow) => Some((candidate, flow)),
            None => self.find(hash, tuple).map(|id| (id, self.flow(id))),
        }
    }

    /// The same, to be written to.
    #[inline(always)]
    pub(crate) fn confirm_mut(
        &mut self,
        candidate: FlowId,
        hash: u32,
        tuple: &FiveTuple<A>,
    ) -> Option<(FlowId, &mut Flow<A>)> {
        if !self.is_of(candidate, tuple) {
            return self.find_mut(hash, tuple);
        }
        Some((candidate, self.flow_mut(candidate)))
    }

    #[cold]
    #[inline(never)]
    fn find_mut(&mut self, hash: u32, tuple: &FiveTuple<A>) -> Option<(FlowId, &mut Flow<A>)> {
        let id = self.find(hash, tuple)?;
        Some((id, self.flow_mut(id)))
    }

    /// Whether a flow is there, and the tuple's.
    #[inline(always)]
    pub(crate) fn is_of(&self, id: FlowId, tuple: &FiveTuple<A>) -> bool {
        self.flows.get(id.index()).is_some_and(|flow| flow.live() && flow.is(tuple))
    }

    /// The flow of this number, to be written to, if it is still that of the tuple.
    #[inline(always)]
    pub(crate) fn get_if(&mut self, id: FlowId, tuple: &FiveTuple<A>) -> Option<&mut Flow<A>> {
        self.flows.get_mut(id.index()).filter(|flow| flow.live() && flow.is(tuple))
    }

    /// The flow of this 5-tuple; `hash` is the tuple's.
    #[inline]
    pub fn find(&self, hash: u32, tuple: &FiveTuple<A>) -> Option<FlowId> {
        self.index.find(hash, |id| self.flows[id as usize].is(tuple)).map(FlowId)
    }

    /// The flow.
    ///
    /// # Panics
    /// If there never was one of this number.
    #[inline(always)]
    pub fn flow(&self, id: FlowId) -> &Flow<A> {
        &self.flows[id.index()]
    }

    /// The flow, to be written to.
    ///
    /// # Panics
    /// If there never was one of this number.
    #[inline(always)]
    pub fn flow_mut(&mut self, id: FlowId) -> &mut Flow<A> {
        &mut self.flows[id.index()]
    }

    /// Adds a flow. The caller has looked that no flow has this tuple.
    ///
    /// # Errors
    /// [`Full`]: the most flows there may be, or (crafted tuples) no room for this hash.
    pub fn insert(&mut self, flow: Flow<A>) -> Result<FlowId, Full> {
        if self.live == self.max {
            return Err(Full);
        }
        let id = if self.free == FlowId::NONE {
            self.flows.push(flow);
            FlowId(self.flows.len() as u32 - 1)
        } else {
            let id = self.free;
            self.free = FlowId(self.flow(id).recipe);
            self.prefetch_flow(self.free); // the next to be taken
            *self.flow_mut(id) = flow;
            id
        };
        let flows = &self.flows;
        let hash_of = |id: u32| {
            let flow = &flows[id as usize];
            flow.live().then(|| A::hash_of(&flow.tuple()))
        };
        if self.index.insert(A::hash_of(&flow.tuple()), id.0, flows.len() as u32, hash_of) {
            self.live += 1;
            return Ok(id);
        }
        self.release(id);
        Err(Full)
    }

    /// Takes a flow away. Nothing happens if there is none of this number.
    pub fn remove(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get(id.index()).filter(|flow| flow.live()) {
            if let Some(watch) = &mut self.watch {
                watch.end(id, flow);
            }
            self.index.remove(A::hash_of(&flow.tuple()), id.0);
            self.live -= 1;
            self.release(id);
        }
    }

    /// Keeps flows that are taken away, and ways, until somebody asks for them; or no more.
    pub(crate) fn set_watch(&mut self, on: bool) {
        self.watch = on.then(Box::default);
    }

    /// What is kept of them.
    pub(crate) fn watch(&mut self) -> Option<&mut Watch<A>> {
        self.watch.as_deref_mut()
    }

    /// A flow's first packet, if it was noted.
    pub(crate) fn first(&self, id: FlowId) -> Option<First> {
        self.watch.as_ref()?.first(id)
    }

    fn release(&mut self, id: FlowId) {
        let flow = &mut self.flows[id.index()];
        flow.flags = 0;
        flow.recipe = self.free.0;
        self.free = id;
    }

    /// The numbers that are in use or were: all flows have smaller ones.
    pub fn end(&self) -> u32 {
        self.flows.len() as u32
    }

    /// The flow, if the number is in use.
    pub fn get(&self, id: FlowId) -> Option<&Flow<A>> {
        self.flows.get(id.index()).filter(|flow| flow.live())
    }

    /// Bytes of memory: flows that are or were, and the index.
    pub fn bytes(&self) -> usize {
        self.flows.len() * size_of::<Flow<A>>() + self.index.bytes()
    }
}

/// There is no room for another flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;
