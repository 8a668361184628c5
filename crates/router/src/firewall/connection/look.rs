//! `orig-rate` and `repl-rate`: how fast a connection was between two looks at it.
//!
//! ```text
//! print ── bytes then ──── a second or more ──── bytes now ── print      rate = 8 × (now - then) / time
//! ```
//!
//! A connection that nobody looks at costs nothing. Its first look finds 0; looks that follow within a
//! second find what the one before found. One that takes the place of another in [`Looks`] is looked at anew.

use super::record::ConnectionId;
use super::tracking::Connections;
use crate::ip::family::Family;
use std::cell::RefCell;
use wire::Moment;

/// What was found at the last looks, by the connection's number: a table that never grows, for packets
/// wait during a look. None before the first.
#[derive(Debug, Default)]
pub(super) struct Looks(RefCell<Vec<Look>>);

#[derive(Clone, Copy, Debug)]
struct Look {
    /// Whose. Numbers are used again, so it is its beginning, too.
    id: ConnectionId,
    created_ms: u32,
    at: Moment,
    bytes: [u64; 2],
    rates: [u64; 2],
}

/// As many connections are remembered: 800 KB, made at the first look in half a millisecond.
const PLACES: usize = 16_384;
const SECOND_NS: u64 = 1_000_000_000;

impl<A: Family> Connections<A> {
    /// Bits a second, as the first packet and against it, since the last look.
    pub(super) fn look(&self, id: ConnectionId, now: Moment) -> Option<[u64; 2]> {
        let connection = self.get(id)?;
        let (created_ms, bytes) =
            (connection.created_ms, connection.flows.map(|f| self.flow(f).counted().bytes));
        let first = Look { id, created_ms, at: now, bytes, rates: [0; 2] };
        let mut looks = self.looks.0.borrow_mut();
        if looks.is_empty() {
            looks.resize(PLACES, first);
        }
        let look = &mut looks[id.index() % PLACES];
        if (look.id, look.created_ms) != (id, created_ms) {
            *look = first;
        }
        let elapsed = now.as_nanos().saturating_sub(look.at.as_nanos());
        if elapsed >= SECOND_NS {
            let rate = |n: usize| {
                let bits = u128::from(bytes[n].saturating_sub(look.bytes[n])) * 8;
                (bits * u128::from(SECOND_NS) / u128::from(elapsed)) as u64
            };
            *look = Look { rates: [rate(0), rate(1)], ..first };
        }
        Some(look.rates)
    }
}
