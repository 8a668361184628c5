//! Echo requests of the router's own: sent, answered, refused (RFC 792, RFC 1122 §3.2.2.6); how they are
//! made and read here is IPv4's, IPv6's is [`echo6`](super::echo6).
//!
//! ```text
//! Router::send_echo ─► LOCAL OUT: output chain, tracking, NAT, queues ─► …
//!         │ kept by ping (identifier) and number (sequence)              │
//!         ▼                                                              │
//!      Answers ◄── LOCAL IN: a reply, an error that quotes the request ◄─┘
//!         └──► ping::Pinger
//! ```
//!
//! A request waits for its answer as long as its ping says, counted in the router's own time: an
//! answer that comes later was asked for by nobody, and is discarded as that. Requests longer than
//! a frame are made in pieces, as reassembly would have left them.
//!
//! Never decides when to send: that is the ping's.
//! **Missing**: the router's own "host unreachable" for a request that leaves translated.

use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::flow;
use crate::interface::InterfaceId;
use crate::ip::address;
use crate::ip::family::Family;
use crate::ip::fib::NextHopId;
use crate::ip::fragment::Piece;
use crate::ip::neighbour;
use crate::ip::route::Target;
use crate::packet::Packet;
use crate::router::Router;
use port::slab::MAX_FRAME;
use port::{Frame, Pool};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use wire::ipv4::Ipv4Header;
use wire::layers::{self, ETHERTYPE_IPV4, protocol};
use wire::{Icmp, Ipv4, Layers, MacAddr, Moment, checksum, icmp};

/// One ping's number: the identifier its requests carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PingId(pub(super) u16);

/// What all requests of a ping have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) dst: IpAddr,
    /// Where from, of the same family; the route says if nobody else does.
    pub(crate) src: Option<IpAddr>,
    /// The routing table it asks: that of a mark or a VRF, or main.
    pub(crate) table: Mark,
    /// Out by this interface, whatever the routes say; `NONE` if they may.
    pub(crate) interface: InterfaceId,
    /// Of the whole IP packet.
    pub(crate) size: u16,
    pub(crate) ttl: u8,
    pub(crate) dscp: u8,
    pub(crate) dont_fragment: bool,
    /// Ask by ARP instead, or by neighbour discovery.
    pub(crate) arp: bool,
    /// How long an answer is waited for.
    pub(crate) timeout: Duration,
}

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// By IP.
    Address(IpAddr),
    /// By ARP.
    Mac(MacAddr),
}

/// What came of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The request's number in its ping.
    pub(crate) number: u64,
    /// Who says so; nobody if the request did not leave.
    pub(crate) host: Option<Host>,
    /// IP length and TTL of what came, if it was IP.
    pub(crate) packet: Option<(u16, u8)>,
    /// From the request's leaving to this.
    pub(crate) time: Duration,
    /// What is wrong; `None` for a reply.
    pub(crate) error: Option<&'static str>,
}

/// The pings under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echoes {
    last: u16,
    pings: BTreeMap<PingId, Ping>,
}

#[derive(Clone, Debug)]
struct Ping {
    request: Request,
    /// Numbers not answered yet, and when they were sent.
    waiting: VecDeque<(u64, Moment)>,
    answers: Vec<Answer>,
}

impl Echoes {
    /// A number for a new ping.
    ///
    /// # Errors
    /// All 65,536 are in use.
    pub(crate) fn begin(&mut self, request: Request) -> Result<PingId, String> {
        for _ in 0..=u16::MAX {
            self.last = self.last.wrapping_add(1);
            let id = PingId(self.last);
            if let Entry::Vacant(place) = self.pings.entry(id) {
                let (waiting, answers) = (VecDeque::new(), Vec::new());
                place.insert(Ping { request, waiting, answers });
                return Ok(id);
            }
        }
        Err("failure: too many pings at once".to_string())
    }

    /// What its requests from now on live for, in hops.
    pub(crate) fn set_ttl(&mut self, id: PingId, ttl: u8) {
        if let Some(ping) = self.pings.get_mut(&id) {
            ping.request.ttl = ttl;
        }
    }

    /// Whether nobody asks anything.
    pub(super) fn is_empty(&self) -> bool {
        self.pings.is_empty()
    }

    /// Forgets a ping; what still comes was asked for by nobody.
    pub(crate) fn end(&mut self, id: PingId) {
        self.pings.remove(&id);
    }

    /// What has come since this was last asked; a request that was waited for in vain counts as
    /// come.
    pub(crate) fn take(&mut self, id: PingId, now: Moment) -> Vec<Answer> {
        let Some(ping) = self.pings.get_mut(&id) else { return Vec::new() };
        let mut answers = std::mem::take(&mut ping.answers);
        let timeout = ping.request.timeout;
        while let Some((number, _)) = ping.waiting.pop_front_if(|(_, at)| *at + timeout <= now) {
            let host = Some(Host::Address(ping.request.dst));
            let error = Some("timeout");
            answers.push(Answer { number, host, packet: None, time: timeout, error });
        }
        answers
    }

    /// When the next request will have been waited for in vain; `None` if none waits.
    pub(crate) fn deadline(&self, id: PingId) -> Option<Moment> {
        let ping = self.pings.get(&id)?;
        ping.waiting.front().map(|(_, at)| *at + ping.request.timeout)
    }

    /// Gives the request of this number, or of one with the same 16 bits, its answer; no if it
    /// does not wait, or no longer.
    pub(super) fn answer(&mut self, id: PingId, sequence: u16, now: Moment, came: Came) -> bool {
        let Some(ping) = self.pings.get_mut(&id) else { return false };
        let timeout = ping.request.timeout;
        let asked =
            |(number, at): &(u64, Moment)| *number as u16 == sequence && now.since(*at) <= timeout;
        let Some(at) = ping.waiting.iter().position(asked) else { return false };
        let Some((number, sent)) = ping.waiting.remove(at) else { return false };
        let Came { host, packet, error } = came;
        ping.answers.push(Answer { number, host, packet, time: now.since(sent), error });
        true
    }

    /// A neighbour says where it is, by ARP or as IPv6's do: answers the oldest request for it.
    pub(crate) fn arp_reply(
        &mut self,
        now: Moment,
        interface: InterfaceId,
        address: IpAddr,
        mac: MacAddr,
    ) {
        let asks = |request: &Request| {
            request.arp && request.dst == address && request.interface == interface
        };
        let found = self.pings.iter().find(|(_, ping)| asks(&ping.request));
        let oldest = found.and_then(|(&id, ping)| Some((id, ping.waiting.front()?.0)));
        if let Some((id, number)) = oldest {
            let came = Came { host: Some(Host::Mac(mac)), packet: None, error: None };
            self.answer(id, number as u16, now, came);
        }
    }
}

/// An answer as it comes in.
#[derive(Clone, Copy)]
pub(super) struct Came {
    pub(super) host: Option<Host>,
    pub(super) packet: Option<(u16, u8)>,
    pub(super) error: Option<&'static str>,
}

impl Came {
    /// The request did not leave.
    fn not_sent(error: &'static str) -> Came {
        Came { host: None, packet: None, error: Some(error) }
    }
}

impl Router {
    /// Sends a ping's request of this number. Whatever comes of it, even at once, is among the
    /// ping's answers.
    pub(crate) fn send_echo(&mut self, now: Moment, id: PingId, number: u64) {
        let Some(ping) = self.tools.echoes.pings.get_mut(&id) else { return };
        ping.waiting.push_back((number, now));
        let request = ping.request;
        self.tools.sent = true;
        let sent = match request.dst {
            IpAddr::V4(dst) if request.arp => {
                let (interface, address) = (request.interface, dst.into());
                let to = MacAddr::BROADCAST;
                return self.send_arp_request(now, neighbour::Request { interface, address, to });
            }
            IpAddr::V6(dst) if request.arp => {
                let (interface, address) = (request.interface, u128::from(dst));
                let to = address.everybody();
                return flow::v6::solicit(self, now, neighbour::Request { interface, address, to });
            }
            IpAddr::V4(dst) => self.send_request(now, id, number, &request, dst.into()),
            IpAddr::V6(dst) => self.send_request6(now, id, number, &request, dst),
        };
        if let Err(error) = sent {
            self.tools.echoes.answer(id, number as u16, now, Came::not_sent(error));
        }
    }

    /// Makes the request and gives it to LOCAL OUT.
    fn send_request(
        &mut self,
        now: Moment,
        id: PingId,
        number: u64,
        request: &Request,
        dst: u32,
    ) -> Result<(), &'static str> {
        let (own, mtu) = self.way_to(request, dst).ok_or("no route to host")?;
        let src = match request.src {
            Some(IpAddr::V4(src)) => src.into(),
            _ => own,
        };
        if request.dont_fragment && request.size > mtu {
            return Err("packet too large and cannot be fragmented");
        }
        let header = Ipv4Header {
            tos: request.dscp << 2,
            ident: number as u16,
            dont_fragment: request.dont_fragment,
            ttl: request.ttl,
            protocol: protocol::ICMP,
            src,
            dst,
            ..Ipv4Header::default()
        };
        let message = message(id, number as u16, request.size);
        let Some(mut pieces) = pieces(&mut self.io.pool, header, &message) else {
            // As if it had been lost: it is counted as never made.
            self.stats.discards.add(Discard::NoFrame);
            return Ok(());
        };
        self.stats.tally.made += pieces.len() as u64;
        let first = pieces.remove(0);
        let mut p = self.packet(first.frame, first.layers, InterfaceId::NONE);
        p.layers.fragment = false;
        (p.ip_len, p.rest, p.bound) = (request.size, pieces, request.interface);
        match self.program.vrfs.has(request.table) {
            true => p.vrf = request.table,
            false => p.marks.routing = request.table,
        }
        self.stats.last_discard = None;
        flow::output::<u32>(self, now, p);
        match self.stats.last_discard {
            Some(Discard::FilterDrop | Discard::FilterReject) => Err("packet rejected"),
            _ => Ok(()),
        }
    }

    /// The address a request leaves from if nobody says which, and the longest IP packet that
    /// goes that way.
    fn way_to(&self, request: &Request, dst: u32) -> Option<(u32, u16)> {
        let routes = &self.v4.routes;
        // Where a table says nothing main does, if it is no VRF's.
        let has_it = routes.lookup_in(request.table, dst) != NextHopId::NONE;
        let alone = self.program.vrfs.has(request.table);
        let table = if has_it || alone { request.table } else { Mark::NONE };
        let out = |interface: InterfaceId, toward: u32| {
            let own = address::source(&self.program.addresses, interface, toward)?;
            let own = routes.pref_src(table, dst).unwrap_or(own);
            Some((own, self.program.interface(interface).mtu))
        };
        match routes.target(routes.lookup_in(table, dst)) {
            Some(Target::Local) => Some((dst, u16::MAX)),
            _ if request.interface.is_some() => out(request.interface, dst),
            Some(&Target::Connected(interface)) => out(interface, dst),
            Some(Target::Gateways(ways)) => ways.first().and_then(|&(i, gateway)| out(i, gateway)),
            _ => None,
        }
    }

    /// LOCAL IN: whether a ping waits for this ICMP message, which then has it.
    pub(crate) fn is_awaited(&mut self, now: Moment, p: &Packet) -> bool {
        if self.tools.echoes.pings.is_empty() {
            return false;
        }
        let bytes = self.transport(p);
        let intact = checksum::is_ok(bytes) || !p.rest.is_empty();
        let Some((id, sequence, error)) = Icmp::new(bytes).ok().and_then(read) else {
            return false;
        };
        let packet = Some((p.ip_len, self.ip_header(p)[8]));
        let host = Some(Host::Address(Ipv4Addr::from(p.layers.tuple.src).into()));
        intact && self.tools.echoes.answer(id, sequence, now, Came { host, packet, error })
    }

    /// A frame of the router's own whose neighbour did not answer: if it is a request, the router
    /// tells itself what it would tell others.
    pub(crate) fn own_frame_failed(&mut self, now: Moment, frame: &Frame) {
        let ip = self.io.slab.bytes(frame).get(14..).unwrap_or(&[]);
        let Some((id, sequence)) = request_in(ip) else { return };
        let Ok(packet) = Ipv4::new(ip) else { return };
        let len = (packet.total_len() + 28).min(576);
        let host = Some(Host::Address(Ipv4Addr::from(packet.src()).into()));
        let error = Some("host unreachable");
        let came = Came { host, packet: Some((len, 64)), error };
        self.tools.echoes.answer(id, sequence, now, came);
    }
}

/// The ICMP message of a request in an IP packet of `size` bytes: header, and bytes that count.
fn message(PingId(id): PingId, sequence: u16, size: u16) -> Vec<u8> {
    let len = usize::from(size).saturating_sub(20).max(icmp::HEADER_LEN);
    let mut message: Vec<u8> = (0..len).map(|i| i as u8).collect();
    message[..4].copy_from_slice(&[icmp::kind::ECHO_REQUEST, 0, 0, 0]);
    message[4..6].copy_from_slice(&id.to_be_bytes());
    message[6..8].copy_from_slice(&sequence.to_be_bytes());
    let sum = checksum::of(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// What of a datagram's payload fits a frame.
const MOST: usize = (MAX_FRAME - 14 - 20) & !7;

/// The datagram in as many pieces as it needs; `None` when the pool runs dry.
fn pieces(pool: &mut Pool, header: Ipv4Header, message: &[u8]) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let slab = pool.slab().clone();
    for (n, part) in message.chunks(MOST).enumerate() {
        let offset = n * MOST;
        let header = Ipv4Header {
            payload_len: part.len() as u16,
            more_fragments: offset + part.len() < message.len(),
            fragment_offset: offset as u16,
            ..header
        };
        let Some(mut frame) = pool.alloc(34 + part.len()) else {
            pieces.into_iter().for_each(|piece: Piece| pool.free(piece.frame));
            return None;
        };
        let bytes = slab.bytes_mut(&mut frame);
        bytes[..12].fill(0);
        bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        bytes[14..34].copy_from_slice(&header.to_bytes());
        bytes[34..].copy_from_slice(part);
        let layers = layers::network(bytes).unwrap_or_default();
        pieces.push(Piece { offset, len: part.len(), header_len: 20, frame, layers });
    }
    Some(pieces)
}

/// Which request an ICMP message answers, and what it says is wrong.
fn read(message: Icmp<&[u8]>) -> Option<(PingId, u16, Option<&'static str>)> {
    if message.kind() == icmp::kind::ECHO_REPLY {
        return Some((PingId(message.ident()), message.sequence(), None));
    }
    let error = error_name(message.kind(), message.code())?;
    let (id, sequence) = request_in(message.payload())?;
    Some((id, sequence, Some(error)))
}

/// The echo request in an IP packet, which may be cut off behind its first eight bytes.
fn request_in(ip: &[u8]) -> Option<(PingId, u16)> {
    let Layers { protocol, l4, later_fragment, .. } = layers::quoted(ip).ok()?;
    let icmp = Icmp::new(ip.get(usize::from(l4)..)?).ok()?;
    let is_request = protocol == protocol::ICMP
        && l4 != 0
        && !later_fragment
        && icmp.kind() == icmp::kind::ECHO_REQUEST;
    is_request.then(|| (PingId(icmp.ident()), icmp.sequence()))
}

/// What STATUS says of an ICMP error.
fn error_name(kind: u8, code: u8) -> Option<&'static str> {
    use icmp::{code as c, kind as k};
    Some(match (kind, code) {
        (k::UNREACHABLE, c::NETWORK_UNREACHABLE) => "net unreachable",
        (k::UNREACHABLE, c::HOST_UNREACHABLE) => "host unreachable",
        (k::UNREACHABLE, c::PROTOCOL_UNREACHABLE) => "protocol unreachable",
        (k::UNREACHABLE, c::PORT_UNREACHABLE) => "port unreachable",
        (k::UNREACHABLE, c::FRAGMENTATION_NEEDED) => "fragmentation needed and DF set",
        (k::UNREACHABLE, c::NETWORK_PROHIBITED | c::HOST_PROHIBITED | c::ADMIN_PROHIBITED) => {
            "admin prohibited"
        }
        (k::UNREACHABLE, _) => "unreachable",
        (k::TIME_EXCEEDED, 0) => "TTL exceeded",
        (k::TIME_EXCEEDED, _) => "reassembly time exceeded",
        (k::PARAMETER_PROBLEM, _) => "parameter problem",
        _ => return None,
    })
}
