//! Connections that others announce: what a helper has read in a packet of theirs.
//!
//! ```text
//! TFTP   client:c ─► server:69      read request, write request (RFC 1350)
//!                                   announces  server:any ─► client:c, state related
//! FTP    client   ─► server:21      PORT, EPRT: server:any ─► client:p
//!        client   ◄─ server:21      the replies to PASV, EPSV: client:any ─► server:p
//! ```
//!
//! An expected connection is translated as the one that announced it is, without asking rules of NAT:
//! its packets reach whoever waits for them. It takes over the mark. Who is announced and does not
//! come in [`PATIENCE`] is forgotten, and so is whoever was announced by a connection that has ended.
//!
//! Whether a connection has a helper follows from its port, so its packets are never replayed.
//!
//! **Missing**: the helpers of SIP, H.323, IRC and PPTP, and `/ip firewall service-port`.

use super::flow::{Direction, Flow, FlowId};
use super::ftp::Shift;
use super::record::{ConnectionId, Flags};
use super::tracking::{Connections, New};

use crate::firewall::mark::Mark;
use wire::FiveTuple;
use wire::layers::protocol;

/// How long an announced connection is waited for, milliseconds: five minutes, as Linux does.
const PATIENCE: u32 = 300_000;
/// So many are waited for at once; the oldest gives way.
const MOST: usize = 1024;
/// The port of TFTP's requests.
const TFTP: u16 = 69;
/// The port of FTP's commands.
pub(crate) const FTP: u16 = 21;
/// How many ports are tried where the announced one is somebody else's.
const TRIES: u16 = 64;

/// A connection that was announced.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// Its first packet as it comes, but for the source port, which may be any.
    tuple: FiveTuple,
    /// Where from and where to that packet goes on.
    src: u32,
    dst: (u32, u16),
    /// Who has announced it, and its mark.
    by: ConnectionId,
    mark: Mark,
    until_ms: u32,
}

/// What a connection's helper understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Tftp,
    Ftp,
}

/// The helper that a flow's packets have.
#[inline]
pub(crate) fn service(flow: &Flow) -> Option<Service> {
    let port = match flow.direction() {
        Direction::Original => flow.new_dst_port,
        Direction::Reply => flow.src_port,
    };
    match (flow.protocol, port) {
        (protocol::UDP, TFTP) => Some(Service::Tftp),
        (protocol::TCP, FTP) => Some(Service::Ftp),
        _ => None,
    }
}

/// Whether a datagram's payload is a request to read or to write a file.
pub(crate) fn is_tftp_request(payload: &[u8]) -> bool {
    matches!(payload, [0, 1 | 2, ..])
}

impl Connections {
    /// The client of this flow waits for its server, which will answer from another port.
    pub(crate) fn expect_tftp(&mut self, flow: FlowId, now_ms: u32) {
        let flow = *self.table.flow(flow);
        if flow.direction() == Direction::Original {
            let (original, translated) = (flow.tuple(), flow.translated());
            let dst = (original.src, original.src_port);
            self.expect(&flow, translated.reversed(), original.dst, dst, now_ms);
        }
    }

    /// A side of FTP has said where it waits for the other one. Where the other one can reach it;
    /// `None` if it is not its own address, or no port is free.
    pub(crate) fn expect_ftp(
        &mut self,
        flow: FlowId,
        address: Option<u32>,
        port: u16,
        now_ms: u32,
    ) -> Option<(u32, u16)> {
        let flow = *self.table.flow(flow);
        let (here, there) = (flow.tuple(), flow.translated());
        if address.is_some_and(|address| address != here.src) {
            return None;
        }
        // The other side's packets, as they come: to the address that the speaker has there.
        let to = |port| FiveTuple {
            src: there.dst,
            src_port: 0,
            dst: there.src,
            dst_port: port,
            ..here
        };
        let is_free = |port: &u16| {
            let tuple = to(*port);
            !self.expected.iter().any(|other| other.tuple == tuple && other.by != flow.connection)
        };
        let seen_port = (port..=port.saturating_add(TRIES)).find(is_free)?;
        self.expect(&flow, to(seen_port), here.dst, (here.src, port), now_ms);
        Some((there.src, seen_port))
    }

    fn expect(&mut self, by: &Flow, tuple: FiveTuple, src: u32, dst: (u32, u16), now_ms: u32) {
        let expected = Expected {
            tuple: FiveTuple { src_port: 0, ..tuple },
            src,
            dst,
            by: by.connection,
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
    pub(super) fn meet(&mut self, new: &mut New, now_ms: u32) -> bool {
        if self.expected.is_empty() {
            return false;
        }
        self.expected.retain(|expected| (expected.until_ms.wrapping_sub(now_ms) as i32) > 0);
        let tuple = FiveTuple { src_port: 0, ..new.original };
        let Some(at) = self.expected.iter().position(|expected| expected.tuple == tuple) else {
            return false;
        };
        let Expected { src, dst, mark, .. } = self.expected.remove(at);
        new.translated = FiveTuple { src, dst: dst.0, dst_port: dst.1, ..new.original };
        (new.mark, new.flags) = (mark, Flags::EXPECTED);
        if src != new.original.src {
            new.flags.set(Flags::SRCNAT);
        }
        if dst != (new.original.dst, new.original.dst_port) {
            new.flags.set(Flags::DSTNAT);
        }
        true
    }

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
