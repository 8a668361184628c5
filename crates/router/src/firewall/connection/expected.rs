//! Connections that others announce: what a helper has read in a packet of theirs.
//!
//! ```text
//! TFTP   client:c ─► server:69      read request, write request (RFC 1350)
//!                                   announces  server:any ─► client:c, state related
//! FTP    client   ─► server:21      PORT, EPRT: server:any ─► client:p
//!        client   ◄─ server:21      the replies to PASV, EPSV: client:any ─► server:p
//! IRC    client   ─► server:6667    DCC: anybody ─► client:p
//! SIP    either   ─► other:5060     SDP: anybody ─► speaker:p, and p + 1
//! PPTP   client   ─► server:1723    calls: GRE either way, each way with the other side's call ID
//! ```
//!
//! An expected connection is translated as the one that announced it is, without asking rules of NAT:
//! its packets reach whoever waits for them. It takes over the mark. Who is announced and does not
//! come in [`PATIENCE`] is forgotten, and so is whoever was announced by a connection that has ended.
//!
//! Whether a connection has a helper follows from its port ([`service`](super::service)), so its packets
//! are never replayed.

use super::flow::{Direction, Flow, FlowId};
use super::ftp::Shift;
use super::record::{ConnectionId, Flags};
use super::service::Service;
use super::tracking::{Connections, New};

use crate::firewall::mark::Mark;
use crate::ip::family::Family;
use wire::FiveTuple;
use wire::layers::protocol;

/// How long an announced connection is waited for, milliseconds: five minutes, as Linux does.
const PATIENCE: u32 = 300_000;
/// So many are waited for at once; the oldest gives way.
const MOST: usize = 1024;
/// How many ports are tried where the announced one is somebody else's.
const TRIES: u16 = 64;

/// A connection that was announced.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// Its first packet as it comes, but for the source port, which may be any; so may the source
    /// address, which is 0 then.
    tuple: FiveTuple,
    /// Where from and where to that packet goes on.
    src: From,
    dst: (u32, u16),
    /// Who has announced it, and its mark.
    by: ConnectionId,
    service: Service,
    mark: Mark,
    until_ms: u32,
}

/// The source of an announced connection's first packet as it goes on.
#[derive(Clone, Copy, Debug)]
enum From {
    /// This address, with the port it has.
    One(u32),
    /// Whoever it is. The other side of who has announced it is translated as there: address as it
    /// comes, and as it goes on.
    Any { peer: (u32, u32) },
}

/// Who may come to an announced port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// The other side of the connection.
    Peer,
    Anybody,
}

/// Whether a datagram's payload is a request to read or to write a file.
pub(crate) fn is_tftp_request(payload: &[u8]) -> bool {
    matches!(payload, [0, 1 | 2, ..])
}

impl Connections {
    /// The helper that a flow's packets have.
    pub(crate) fn service(&self, flow: FlowId) -> Option<Service> {
        self.settings.services.of(self.table.flow(flow))
    }

    /// The client of this flow waits for its server, which will answer from another port.
    pub(crate) fn expect_tftp(&mut self, flow: FlowId, now_ms: u32) {
        let flow = *self.table.flow(flow);
        if flow.direction() == Direction::Original {
            let (original, translated) = (flow.tuple(), flow.translated());
            let dst = (original.src, original.src_port);
            let src = From::One(original.dst);
            self.expect(&flow, translated.reversed(), src, dst, Service::Tftp, now_ms);
        }
    }

    /// The sender of this flow's packets has said where it waits: at so many ports of this protocol from
    /// `port` on. Where the others can reach it; `None` if it is not its own address, or no port is
    /// free. What is said again has the same answer, as long as nobody has come.
    pub(crate) fn expect_at(
        &mut self,
        flow: FlowId,
        (address, port): (Option<u32>, u16),
        (protocol, ports): (u8, u16),
        whom: Whom,
        now_ms: u32,
    ) -> Option<(u32, u16)> {
        let service = self.service(flow)?;
        let flow = *self.table.flow(flow);
        let (here, there) = (flow.tuple(), flow.translated());
        if address.is_some_and(|address| address != here.src) {
            return None;
        }
        // The other side's packets, as they come: to the address that the speaker has there.
        let to = |port| FiveTuple {
            src: if whom == Whom::Peer { there.dst } else { 0 },
            src_port: 0,
            dst: there.src,
            dst_port: port,
            protocol,
        };
        let last = port.checked_add(ports.checked_sub(1)?)?;
        let is_free = |port: u16| {
            let tuple = to(port);
            !self.expected.iter().any(|other| other.tuple == tuple && other.by != flow.connection)
        };
        let are_free = |seen: &u16| {
            seen.checked_add(last - port).is_some_and(|end| (*seen..=end).all(is_free))
        };
        let seen_port = (port..=port.saturating_add(TRIES)).find(are_free)?;
        let src = match whom {
            Whom::Peer => From::One(here.dst),
            Whom::Anybody => From::Any { peer: (there.dst, here.dst) },
        };
        for n in 0..ports {
            self.expect(&flow, to(seen_port + n), src, (here.src, port + n), service, now_ms);
        }
        Some((there.src, seen_port))
    }

    /// The sender of this flow's packets will take a call's GRE packets that have this call ID. The ID
    /// that the other side is to give them: another one if somebody else's calls have it there.
    pub(crate) fn expect_call(&mut self, flow: FlowId, call: u16, now_ms: u32) -> Option<u16> {
        let flow = *self.table.flow(flow);
        let (here, there) = (flow.tuple(), flow.translated());
        let (src, dst) = (there.dst, there.src);
        let to =
            |call| FiveTuple { src, src_port: 0, dst, dst_port: call, protocol: protocol::GRE };
        let goes_on = (here.src, call);
        let is_free = |call: &u16| {
            let tuple = to(*call);
            let of_others = |other: &Expected| {
                other.tuple == tuple && (other.by != flow.connection || other.dst != goes_on)
            };
            let is_same = |known: &Flow| (known.new_dst, known.new_dst_port) == goes_on;
            let known = self.table.find(tuple.hash(), &tuple).map(|id| self.table.flow(id));
            !self.expected.iter().any(of_others) && known.is_none_or(is_same)
        };
        let seen = (0..TRIES).map(|n| call.wrapping_add(n)).find(is_free)?;
        let src = From::One(here.dst);
        self.expect(&flow, to(seen), src, goes_on, Service::Pptp, now_ms);
        Some(seen)
    }

    /// The call ID, as its owner knows it, that the sender of this flow's packets calls so.
    pub(crate) fn call_of(&self, flow: FlowId, call: u16) -> Option<u16> {
        let flow = self.table.flow(flow);
        let (src, dst) = (flow.src, flow.dst);
        let tuple = FiveTuple { src, src_port: 0, dst, dst_port: call, protocol: protocol::GRE };
        let expected = self.expected.iter().find(|expected| expected.tuple == tuple);
        expected.map(|expected| expected.dst.1).or_else(|| {
            let known = self.table.find(tuple.hash(), &tuple)?;
            Some(self.table.flow(known).new_dst_port)
        })
    }

    /// Whether voice may come from elsewhere than the call.
    pub(crate) fn sip_direct_media(&self) -> bool {
        self.settings.services.sip_direct_media
    }

    fn expect(
        &mut self,
        by: &Flow,
        tuple: FiveTuple,
        src: From,
        dst: (u32, u16),
        service: Service,
        now_ms: u32,
    ) {
        let expected = Expected {
            tuple: FiveTuple { src_port: 0, ..tuple },
            src,
            dst,
            by: by.connection,
            service,
            mark: self.get(by.connection).map_or(Mark::NONE, |connection| connection.mark),
            until_ms: now_ms.wrapping_add(PATIENCE),
        };
        self.expected.retain(|other| other.tuple != expected.tuple);
        if self.expected.len() == MOST {
            self.expected.remove(0);
        }
        self.expected.push(expected);
    }

    /// Whether the text of any connection was rewritten.
    #[inline]
    pub(crate) fn are_shifted(&self) -> bool {
        !self.shifts.is_empty()
    }

    /// The sequence numbers of a flow's own direction and of the other one, if text was rewritten.
    pub(crate) fn shifts(&self, flow: FlowId) -> Option<[Shift; 2]> {
        let flow = self.table.flow(flow);
        let [original, reply] = *self.shifts.get(&flow.connection)?;
        Some(match flow.direction() {
            Direction::Original => [original, reply],
            Direction::Reply => [reply, original],
        })
    }

    /// The text of a segment of this flow has become longer.
    pub(crate) fn grow(&mut self, flow: FlowId, seq: u32, by: u32) {
        let flow = self.table.flow(flow);
        let shifts = self.shifts.entry(flow.connection).or_default();
        shifts[flow.direction() as usize].grow(seq, by);
    }

    /// Whether a connection that begins was announced: then it is related, and has its translation.
    pub(crate) fn meet(&mut self, new: &mut New, now_ms: u32) -> bool {
        if self.expected.is_empty() {
            return false;
        }
        self.expected.retain(|expected| (expected.until_ms.wrapping_sub(now_ms) as i32) > 0);
        let tuple = FiveTuple { src_port: 0, ..new.original };
        let anybody = FiveTuple { src: 0, ..tuple };
        let is = |expected: &Expected| expected.tuple == tuple || expected.tuple == anybody;
        let Some(at) = self.expected.iter().position(is) else { return false };
        let Expected { src, dst, mark, service, by, .. } = self.expected.remove(at);
        let came = (new.original.src, new.original.src_port);
        let src = match src {
            From::One(src) => (src, came.1),
            From::Any { peer } => {
                // Voice goes both ways between two ports: who waits at one sends from there.
                let own = self.expected.iter().find(|other| other.by == by && other.dst == came);
                match own {
                    Some(own) => (own.tuple.dst, own.tuple.dst_port),
                    None if came.0 == peer.0 => (peer.1, came.1),
                    None => came,
                }
            }
        };
        new.translated =
            FiveTuple { src: src.0, src_port: src.1, dst: dst.0, dst_port: dst.1, ..new.original };
        (new.mark, new.flags, new.announced) = (mark, Flags::EXPECTED, Some(service));
        if src != came {
            new.flags.set(Flags::SRCNAT);
        }
        if dst != (new.original.dst, new.original.dst_port) {
            new.flags.set(Flags::DSTNAT);
        }
        true
    }
}

impl<A: Family> Connections<A> {
    /// A connection has ended: nobody waits for what it has announced.
    pub(super) fn forget_expected(&mut self, by: ConnectionId) {
        if !self.expected.is_empty() {
            self.expected.retain(|expected| expected.by != by);
        }
        if !self.shifts.is_empty() {
            self.shifts.remove(&by);
        }
    }
}
