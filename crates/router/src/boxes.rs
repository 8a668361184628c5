//! Services of the router to the boxes of the packet flow: a packet made, seen by rules, rewritten,
//! answered, put to its end.
//!
//! ```text
//! flow.rs ─► box ─► [packet, with_view, rewrite, decrement_ttl, copy …] ─► state, slab, pool
//!                   [discard, consume, transmit] ─► the end of a frame, counted
//! ```
//!
//! Decides nothing about a packet: that is the flow's and its facilities' business.

use crate::discard::Discard;
use crate::fast;
use crate::fast::enclose::{enclose, in_run};
use crate::firewall::address_list::dynamic::Moved;
use crate::firewall::connection::{Connections, Flags, FlowId, NO_PIECES, New, Tracking};
use crate::firewall::mark::{Mark, Marks};
use crate::firewall::matcher::connection::Whole;
use crate::firewall::rule;
use crate::firewall::translation;
use crate::flow::{self, Cost, Hop, Resume, Unkept};
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::ip::family::Family;
use crate::ip::neighbour::{NeighbourId, Neighbours, Request, Status, Waiting};
use crate::ip::route::Target;
use crate::ip::{address, arp};
use crate::packet::{ConnectionState, Ends, Packet, Passing, View};
use crate::parts::{Learnt, Links, Stacked};
use crate::program::{Interface, Kind, Program};
use crate::queue::Decision;
use crate::router::Router;
use crate::story::{Event, Made};
use port::{Frame, Pool};
use wire::arp::ArpMessage;
use wire::layers::ETHERTYPE_IPV6;
use wire::{FiveTuple, Layers, MacAddr, Moment};

impl Router {
    /// A packet on the slow path.
    pub(crate) fn packet(&mut self, frame: Frame, layers: Layers, port: InterfaceId) -> Packet {
        let mut used = self.learnt.packets.pop();
        let trace = used.as_mut().map(|used| std::mem::take(&mut used.trace)).unwrap_or_default();
        let passing = Passing {
            frame,
            layers,
            ends: Ends::default(),
            headers: 0,
            next_header_at: 0,
            source_route: None,
            malformed: None,
            rest: Vec::new(),
            ip_len: layers.l3_end.saturating_sub(layers.l3),
            port,
            arrival: None,
            ingress_priority: None,
            arrived_len: 0,
            ingress: IngressId::NONE,
            in_bridge_port: InterfaceId::NONE,
            class: None,
            learns: None,
            in_interface: port,
            out_interface: InterfaceId::NONE,
            out_port: InterfaceId::NONE,
            bound: InterfaceId::NONE,
            vrf: Mark::NONE,
            connection_state: ConnectionState::Untracked,
            flow: None,
            new: None,
            new6: None,
            related: None,
            marks: Marks::default(),
            connection_mark: Mark::NONE,
            notrack: false,
            fasttrack: false,
            fast: false,
            is_outer: false,
            redirected: None,
            is_decrypted: false,
            trace,
        };
        match used {
            Some(mut used) => {
                *used = passing;
                used
            }
            None => Box::new(passing),
        }
    }

    /// Puts a packet to its end, for a reason.
    pub(crate) fn discard(&mut self, p: Packet, why: Discard) {
        self.tell(|| Event::Discarded(why));
        self.stats.discards.add(why);
        self.stats.last_discard = Some(why);
        self.stats.tally.more_pieces += p.rest.len() as u64;
        self.free(p);
    }

    /// Puts a frame to its end, for a reason.
    pub(crate) fn discard_frame(&mut self, frame: Frame, why: Discard) {
        self.tell(|| Event::Discarded(why));
        self.stats.discards.add(why);
        self.io.pool.free(frame);
    }

    /// Frees a packet that has reached its destination: here.
    pub(crate) fn consume(&mut self, p: Packet) {
        self.stats.tally.consumed += 1 + p.rest.len() as u64;
        self.free(p);
    }

    fn free(&mut self, mut p: Packet) {
        self.tools.profiler.go_home();
        for piece in p.rest.drain(..) {
            self.io.pool.free(piece.frame);
        }
        let frame = self.recycle(p);
        self.io.pool.free(frame);
    }

    /// Takes the frame out of a packet, whose memory is kept for the next one.
    pub(crate) fn recycle(&mut self, mut p: Packet) -> Frame {
        let frame = p.frame.take();
        p.trace.clear();
        self.learnt.packets.push(p);
        frame
    }

    pub(crate) fn src_mac(&self, p: &Packet) -> MacAddr {
        let bytes = self.io.slab.bytes(&p.frame);
        bytes[6..].first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac))
    }

    pub(crate) fn dst_mac(&self, p: &Packet) -> MacAddr {
        self.io.slab.bytes(&p.frame).first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac))
    }

    /// The IPv4 header, options included.
    pub(crate) fn ip_header<'a>(&'a self, p: &'a Packet) -> &'a [u8] {
        let ip = &self.io.slab.bytes(&p.frame)[usize::from(p.layers.l3)..];
        &ip[..usize::from(ip[0] & 0x0f) * 4]
    }

    /// From the IP header on, of either family.
    pub(crate) fn ip_start<'a>(&'a self, p: &'a Packet) -> &'a [u8] {
        &self.io.slab.bytes(&p.frame)[usize::from(p.layers.l3)..]
    }

    /// From the transport header on; empty if there is none.
    pub(crate) fn transport<'a>(&'a self, p: &'a Packet) -> &'a [u8] {
        let (l4, end) = (usize::from(p.layers.l4), usize::from(p.layers.l3_end));
        if l4 == 0 { &[] } else { &self.io.slab.bytes(&p.frame)[l4..end] }
    }

    /// A TCP segment that answers this one: a reset, or one that holds its sender.
    pub(crate) fn tcp_answer(
        &mut self,
        p: &Packet,
        answer: fn(&mut Pool, &[u8], &Layers) -> Option<Frame>,
    ) -> Option<Frame> {
        let slab = self.io.slab.clone();
        let ip = &slab.bytes(&p.frame)[usize::from(p.layers.l3)..usize::from(p.layers.l3_end)];
        let made = answer(&mut self.io.pool, ip, &p.layers)?;
        self.stats.tally.made += 1;
        Some(made)
    }

    pub(crate) fn dont_fragment(&self, p: &Packet) -> bool {
        self.ip_header(p)[6] & 0x40 != 0
    }

    /// Takes one from the TTL; no if it was 0 or 1 (RFC 1812 §5.3.1).
    pub(crate) fn decrement_ttl(&mut self, p: &mut Packet) -> bool {
        let frames = std::iter::once((&mut p.frame, p.layers.l3));
        let rest = p.rest.iter_mut().map(|piece| (&mut piece.frame, piece.layers.l3));
        let mut ttl = 0;
        for (frame, l3) in frames.chain(rest) {
            let ip = &mut self.io.slab.bytes_mut(frame)[usize::from(l3)..];
            ttl = ip[8];
            if ttl <= 1 {
                return false;
            }
            fast::decrement_ttl(ip);
        }
        p.trace.ttl_taken = 1;
        self.tell(|| Event::Ttl(ttl));
        true
    }

    /// What connection tracking makes of a packet.
    pub(crate) fn track<F: Stacked>(&mut self, now: Moment, p: &Packet) -> Tracking<F> {
        let slab = self.io.slab.clone();
        let whole = (slab.bytes(&p.frame), &p.layers, F::tuple(p));
        let connections = F::connections_mut(self);
        if p.rest.is_empty() {
            return connections.track_as(now, whole, p.frame.has_offload(), NO_PIECES);
        }
        let rest = p.rest.iter().map(|piece| {
            let start = usize::from(piece.layers.l3) + piece.header_len;
            &slab.bytes(&piece.frame)[start..usize::from(piece.layers.l3_end)]
        });
        connections.track_as(now, whole, false, Some((p.ip_len, rest)))
    }

    /// Shows a packet to rules.
    pub(crate) fn with_view<T>(
        &mut self,
        now: Moment,
        p: &mut Packet,
        run: impl FnOnce(&Program, &View, &mut rule::Books) -> T,
    ) -> T {
        let of_v6 = p.layers.ether_type == ETHERTYPE_IPV6;
        let (nat, mark) = match of_v6 {
            false => known(&self.v4.connections, p, p.new.as_ref()),
            true => known(&self.v6.connections, p, p.new6.as_ref()),
        };
        let out = !of_v6 && self.ipsec_out(&p.layers.tuple).is_some();
        let view = View {
            ipsec: [p.is_decrypted, out],
            ends: p.ends,
            headers: p.headers,
            frame: self.io.slab.bytes(&p.frame),
            layers: &p.layers,
            ip_len: p.ip_len,
            in_interface: p.in_interface,
            out_interface: p.out_interface,
            in_bridge_port: p.in_bridge_port,
            out_bridge_port: p.out_port,
            connection_state: p.connection_state,
            srcnat: nat.has(Flags::SRCNAT),
            dstnat: nat.has(Flags::DSTNAT),
            marks: p.marks,
            connection_mark: mark,
            connection: Whole {
                connections: (!of_v6).then_some(&self.v4.connections),
                flow: p.flow.or(p.related),
                new: p.new.as_ref(),
                v6: of_v6.then_some((&self.v6.connections, p.new6.as_ref())),
            },
            ingress_priority: p.ingress_priority,
            routes: &self.v4.routes,
            routes6: Some(&self.program.v6.routes),
            vrf: p.vrf,
        };
        let mut books = rule::Books {
            now,
            state: &mut self.rules,
            trace: &mut p.trace,
            counters: &mut self.stats.counters,
            log: &mut self.stats.log,
        };
        let result = run(&self.program, &view, &mut books);
        self.follow_lists();
        result
    }

    /// What was learnt of addresses that came into a list, or left it, is asked again.
    #[inline]
    pub(crate) fn follow_lists(&mut self) {
        let moved = self.rules.lists.take_moved();
        self.ask_again(moved);
        let moved = self.rules.lists6.take_moved();
        self.ask_again(moved);
    }

    #[inline]
    fn ask_again<A: Family>(&mut self, moved: Option<Moved<A>>) {
        match moved {
            None => {}
            Some(Moved::All) => self.learnt.recipes.forget(),
            Some(Moved::Addresses(addresses)) => {
                let folded = addresses.into_iter().map(A::folded);
                folded.for_each(|at| self.learnt.recipes.address_moved(at));
            }
        }
    }

    /// Gives a packet, and all its fragments, another 5-tuple.
    pub(crate) fn rewrite<F: Stacked>(&mut self, p: &mut Packet, new: FiveTuple<F>) {
        translation::rewrite(self.io.slab.bytes_mut(&mut p.frame), &mut p.layers, &new);
        for piece in &mut p.rest {
            translation::rewrite(self.io.slab.bytes_mut(&mut piece.frame), &mut piece.layers, &new);
        }
        F::moved(p, &new);
    }

    /// The length of the longest piece of a packet (fragment, segment), which for most is all of it.
    pub(crate) fn longest_piece(&self, p: &Packet) -> u16 {
        let lens = p.rest.iter().map(|piece| piece.layers.l3_end - piece.layers.l3);
        let own = self.segment_len(&p.frame).map(|len| len as u16);
        lens.chain([own.unwrap_or(p.layers.l3_end - p.layers.l3)]).max().unwrap_or(0)
    }

    /// The flow that keeps a recipe for packets that are not tracked.
    pub(crate) fn untracked_flow<F: Stacked>(
        &mut self,
        now: Moment,
        p: &Packet,
    ) -> Result<FlowId, Unkept> {
        let (tuple, tracking) = (F::tuple(p), F::is_tracking(self));
        let connections = F::connections_mut(self);
        match connections.flows().find(F::hash_of(&tuple), &tuple) {
            Some(flow) if connections.is_untracked(flow) => Ok(flow),
            Some(_) => Err(Unkept::Tracked),
            None => connections.keep_untracked(tuple, now, tracking).ok_or(Unkept::Full),
        }
    }

    /// Whether a packet goes to a broadcast address.
    pub(crate) fn is_broadcast(&self, p: &Packet) -> bool {
        let routes = &self.v4.routes;
        let target = routes.target(routes.lookup_in(p.vrf, p.layers.tuple.dst));
        matches!(target, Some(Target::Broadcast))
    }

    /// Whether `address` belongs to a network connected to `interface`: only such may enter the
    /// ARP table.
    pub(crate) fn is_neighbour(&self, interface: InterfaceId, address: u32) -> bool {
        let on = self.program.addresses.iter().filter(|own| own.interface == interface);
        on.into_iter().any(|own| own.network.contains(address))
    }

    /// The address an ICMP error about this packet comes from.
    pub(crate) fn answer_source(&self, p: &Packet) -> Option<u32> {
        if self.program.is_local_in(p.vrf, p.layers.tuple.dst) {
            return Some(p.layers.tuple.dst);
        }
        address::source(&self.program.addresses, p.in_interface, p.layers.tuple.src)
    }

    /// The neighbour of a hop, or its place for a label: of an interface that leads to one only, that one.
    pub(crate) fn neighbour(&mut self, hop: Hop) -> Option<NeighbourId> {
        match self.program.is_point_to_point(hop.interface) {
            true => Some(self.v4.neighbours.other_end(hop.interface)),
            false => {
                let id = self.v4.neighbours.find(hop.interface, hop.address)?;
                Some(hop.label.map_or(id, |label| self.v4.neighbours.labelled(id, label)))
            }
        }
    }

    /// The same of IPv6's. What is for everybody has another end for each destination: none of these.
    pub(crate) fn neighbour6(&mut self, hop: Hop<u128>) -> Option<NeighbourId> {
        if !self.program.is_point_to_point(hop.interface) {
            return self.v6.neighbours.find(hop.interface, hop.address);
        }
        let tunnel = self.program.packet_tunnel(hop.interface);
        let has_one_end = tunnel.is_none_or(|tunnel| !tunnel.is_automatic());
        has_one_end.then(|| self.v6.neighbours.other_end(hop.interface))
    }

    /// Makes sure that a neighbour's rewrite leads where a frame would go now; whether it has one.
    pub(crate) fn refresh(&mut self, id: NeighbourId) -> bool {
        let (neighbours, links) = (&mut self.v4.neighbours, &self.link);
        refreshed(neighbours, id, links, &self.program, &mut self.learnt)
    }

    /// The same of IPv6's.
    pub(crate) fn refresh6(&mut self, id: NeighbourId) -> bool {
        let (neighbours, links) = (&mut self.v6.neighbours, &self.link);
        let is_fresh = refreshed(neighbours, id, links, &self.program, &mut self.learnt);
        // Another router may have said that the link takes less.
        let rewrite = &mut neighbours.rewrites_mut()[id.index()];
        let own = self.program.interface(rewrite.interface()).mtu;
        rewrite.mtu = self.program.v6.mtu(rewrite.interface(), own);
        is_fresh
    }

    pub(crate) fn send_arp_request(&mut self, now: Moment, request: Request) {
        let mac = self.program.interface(request.interface).mac;
        let Some(own) =
            address::source(&self.program.addresses, request.interface, request.address)
        else {
            return;
        };
        let message = ArpMessage::request(mac, own, request.address);
        match arp::frame(&mut self.io.pool, message, mac, request.to) {
            Some(frame) => {
                self.stats.tally.made += 1;
                let (interface, address) = (request.interface, request.address);
                self.tell(|| Event::Makes(Made::ArpRequest { interface, address }));
                flow::link_out(self, now, request.interface, frame, false);
                self.tell(|| Event::Done);
            }
            None => self.stats.discards.add(Discard::NoFrame),
        }
    }

    /// Counts a packet that the IPv4 FastPath handler has carried from end to end.
    pub(crate) fn count_fast_path(&mut self, waiting: &Waiting) {
        let bytes = self.io.slab.bytes(&waiting.frame);
        let l3 = usize::from(waiting.l3);
        let ip_len = u16::from_be_bytes([bytes[l3 + 2], bytes[l3 + 3]]);
        // A tunnel's outer packet has not come in: what is inside was counted.
        if !waiting.fasttrack && waiting.in_interface.is_some() {
            self.stats.paths.ipv4_fast_path.add(ip_len.into());
        }
        let len = bytes.len();
        self.count_fast_in(waiting.ingress, len);
    }

    /// The same of IPv6.
    pub(crate) fn count_fast_path6(&mut self, waiting: &Waiting) {
        let bytes = self.io.slab.bytes(&waiting.frame);
        let l3 = usize::from(waiting.l3);
        let ip_len = 40 + u64::from(u16::from_be_bytes([bytes[l3 + 4], bytes[l3 + 5]]));
        if !waiting.fasttrack {
            self.stats.paths.ipv6_fast_path.add(ip_len);
        }
        let len = bytes.len();
        self.count_fast_in(waiting.ingress, len);
    }

    /// A second frame with the same bytes.
    pub(crate) fn copy_frame(&mut self, frame: &Frame) -> Option<Frame> {
        let copy = self.io.pool.copy(frame)?;
        self.stats.tally.made += 1;
        Some(copy)
    }

    /// A second packet like this one, for another port of a bridge.
    pub(crate) fn copy(&mut self, p: &Packet) -> Option<Packet> {
        let Some(frame) = self.copy_frame(&p.frame) else {
            self.stats.discards.add(Discard::NoFrame);
            return None;
        };
        let mut copy = self.packet(frame, p.layers, p.port);
        copy.ingress_priority = p.ingress_priority;
        (copy.arrival, copy.arrived_len, copy.ingress) = (p.arrival, p.arrived_len, p.ingress);
        (copy.in_bridge_port, copy.class, copy.learns) = (p.in_bridge_port, p.class, p.learns);
        (copy.in_interface, copy.out_interface) = (p.in_interface, p.out_interface);
        (copy.fast, copy.malformed) = (p.fast, p.malformed);
        Some(copy)
    }

    /// Whether frames that go out by an interface leave by a port of its own, which is up.
    #[inline]
    pub(crate) fn is_port(&self, interface: InterfaceId) -> bool {
        usize::from(self.io.ways_out[interface.index()].port) < self.io.outboxes.len()
            || self.program.trees.are_on(interface) && self.program.runs(interface)
    }

    /// Puts a frame in its port's outbox.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, interface: InterfaceId, frame: Frame, fast: bool) {
        self.transmit_marked(interface, frame, fast, self.io.mark);
    }

    /// The same of a packet with a mark, at which trees on the interfaces below look.
    #[inline(always)]
    pub(crate) fn transmit_marked(
        &mut self,
        interface: InterfaceId,
        frame: Frame,
        fast: bool,
        mark: Mark,
    ) {
        let link = self.io.ways_out[interface.index()];
        if frame.len() > usize::from(link.longest) && self.is_too_long(&frame, link.longest) {
            return self.discard_frame(frame, Discard::TooLong);
        }
        let Some(outbox) = self.io.outboxes.get_mut(usize::from(link.port)) else {
            return self.go_below(interface, frame, fast, mark);
        };
        if fast & link.fast_tx {
            outbox.fast.add(frame.len() as u64);
        }
        outbox.push(frame);
    }

    /// What leaves by no port of its own: into a tunnel, or through an interface's HTB.
    #[inline(never)]
    fn go_below(&mut self, interface: InterfaceId, frame: Frame, fast: bool, mark: Mark) {
        if let Err(frame) = in_run(self, interface, frame, fast) {
            self.go_further(interface, frame, fast, mark);
        }
    }

    /// The same of what is not as the frame before. Out of line, so that little has to be saved for the others.
    #[inline(never)]
    fn go_further(&mut self, interface: InterfaceId, frame: Frame, fast: bool, mark: Mark) {
        let Err(frame) = enclose(self, interface, frame, fast) else { return };
        let before = std::mem::replace(&mut self.io.mark, mark);
        self.interface_htb(interface, frame, fast);
        self.io.mark = before;
    }

    /// INTERFACE HTB: the port of an interface with a queue tree is not among its ways out.
    #[cold]
    #[inline(never)]
    pub(crate) fn interface_htb(&mut self, interface: InterfaceId, frame: Frame, fast: bool) {
        let leaf = self.program.trees.of_interface(interface, self.io.mark);
        let Some(leaf) = leaf.filter(|_| self.program.runs(interface)) else {
            return self.put_out(interface, frame, fast);
        };
        let len = frame.len() as u32;
        let cost = Cost { len, label: self.label(leaf, &frame) };
        let now = self.io.now;
        let decision = self.queues.offer(leaf, now, len);
        self.tell(|| Event::Queued { leaf, decision });
        if decision == Decision::Pass {
            return self.put_out(interface, frame, fast);
        }
        let (depth, mark) = (self.link.depth, self.io.mark);
        let resume = Resume::Link { interface, frame, fast, depth, mark };
        flow::queue(self, now, leaf, decision, resume, cost)
    }

    /// Puts a frame that has passed the interface's HTB in its port's outbox, or goes on with it below.
    pub(crate) fn put_out(&mut self, interface: InterfaceId, frame: Frame, fast: bool) {
        let Interface { kind, running, fast_tx, .. } = *self.program.interface(interface);
        match kind {
            Kind::Ethernet { port } if running && (port as usize) < self.io.outboxes.len() => {
                let outbox = &mut self.io.outboxes[port as usize];
                if fast & fast_tx {
                    outbox.fast.add(frame.len() as u64);
                }
                outbox.push(frame);
            }
            Kind::Ethernet { .. } => self.discard_frame(frame, Discard::InterfaceDown),
            _ => flow::link_below(self, self.io.now, interface, frame, fast),
        }
    }

    /// Whether a frame that is longer than the interface takes without a tag has none, and is none of
    /// those that the port parts.
    #[cold]
    fn is_too_long(&self, frame: &Frame, longest: u16) -> bool {
        let is_tagged =
            matches!(self.io.slab.bytes(frame)[12..14], [0x81 | 0x91, 0x00] | [0x88, 0xa8]);
        let tag = if is_tagged { 4 } else { 0 };
        !frame.has_offload() && frame.len() > usize::from(longest) + tag
    }
}

/// The flags and the mark of a packet's connection.
#[inline]
fn known<F: Family>(
    connections: &Connections<F>,
    p: &Packet,
    new: Option<&New<F>>,
) -> (Flags, Mark) {
    match (p.flow, new) {
        (_, Some(new)) => (new.flags, new.mark),
        (Some(flow), None) => (connections.flags_of(flow), connections.mark_of(flow)),
        (None, None) => {
            let mark = p.related.map_or(Mark::NONE, |flow| connections.mark_of(flow));
            (Flags::default(), mark)
        }
    }
}

fn refreshed<F: Family>(
    neighbours: &mut Neighbours<F>,
    id: NeighbourId,
    links: &Links,
    program: &Program,
    learnt: &mut Learnt,
) -> bool {
    let Some(mac) = neighbours.mac(id) else { return false };
    // RFC 4861 §7.3.3: who is not sure is asked once it is used, which the slow path sees to.
    if F::LINGERS && neighbours.status(id) == Status::Stale {
        return false;
    }
    let label = neighbours.label(id);
    let rewrite = &mut neighbours.rewrites_mut()[id.index()];
    rewrite.is_fresh(&links.hosts)
        || rewrite.resolve(program, &links.hosts, &mut learnt.egresses, (mac, label))
}
