//! Connections that others announce: what a helper has read in a packet of theirs.
//!
//! ```text
//! TFTP   client:c ─► server:69      read request, write request (RFC 1350)
//!                                   announces  server:any ─► client:c, state related
//! ```
//!
//! An expected connection is translated as the one that announced it is, without asking rules of NAT:
//! its packets reach whoever waits for them. It takes over the mark. Who is announced and does not
//! come in [`PATIENCE`] is forgotten, and so is whoever was announced by a connection that has ended.
//!
//! Whether a connection has a helper follows from its port, so its packets are never replayed.
//!
//! **Missing**: the helpers of FTP, SIP, H.323, IRC and PPTP, and `/ip firewall service-port`.

use super::record::{ConnectionId, Flags};
use super::tracking::{Connections, New};
use crate::firewall::connection::flow::{Flow, FlowId};
use crate::firewall::mark::Mark;
use wire::FiveTuple;
use wire::layers::protocol;

/// How long an announced connection is waited for, milliseconds: five minutes, as Linux does.
const PATIENCE: u32 = 300_000;
/// So many are waited for at once; the oldest gives way.
const MOST: usize = 1024;
/// The port of TFTP's requests.
const TFTP: u16 = 69;

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

/// Whether a packet between these ports may announce a connection.
#[inline]
pub(crate) fn may_announce(protocol: u8, dst_port: u16) -> bool {
    protocol == protocol::UDP && dst_port == TFTP
}

/// Whether a datagram's payload is a request to read or to write a file.
pub(crate) fn is_tftp_request(payload: &[u8]) -> bool {
    matches!(payload, [0, 1 | 2, ..])
}

/// Whether a flow's connection has a helper, which reads its packets.
pub(super) fn has_helper(flow: &Flow) -> bool {
    may_announce(flow.protocol, flow.new_dst_port) || may_announce(flow.protocol, flow.src_port)
}

impl Connections {
    /// The client of this flow waits for its server, which will answer from another port.
    pub(crate) fn expect_tftp(&mut self, flow: FlowId, now_ms: u32) {
        let flow = *self.table.flow(flow);
        let (original, translated) = (flow.tuple(), flow.translated());
        let tuple = FiveTuple { src_port: 0, ..translated.reversed() };
        let expected = Expected {
            tuple,
            src: original.dst,
            dst: (original.src, original.src_port),
            by: flow.connection,
            mark: self.get(flow.connection).map_or(Mark::NONE, |connection| connection.mark),
            until_ms: now_ms.wrapping_add(PATIENCE),
        };
        self.expected.retain(|other| other.tuple != tuple);
        if self.expected.len() == MOST {
            self.expected.remove(0);
        }
        self.expected.push(expected);
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
    }
}
