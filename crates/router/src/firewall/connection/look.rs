//! `orig-rate` and `repl-rate`: how fast a connection was between two looks at it.
//!
//! ```text
//! print ── bytes then ──── a second or more ──── bytes now ── print      rate = 8 × (now - then) / time
//! ```
//!
//! A connection that nobody looks at costs nothing. Its first look finds 0; looks that follow within a
//! second find what the one before found.

use super::record::ConnectionId;
use super::tracking::Connections;
use crate::ip::family::Family;
use std::cell::RefCell;
use std::collections::HashMap;
use wire::Moment;

/// What was found at the last looks.
#[derive(Debug, Default)]
pub(super) struct Looks(RefCell<HashMap<ConnectionId, Look>>);

#[derive(Clone, Copy, Debug)]
struct Look {
    /// Whose: numbers are used again.
    created_ms: u32,
    at: Moment,
    bytes: [u64; 2],
    rates: [u64; 2],
}

/// More are not remembered: all are forgotten.
const MOST: usize = 65_536;
const SECOND_NS: u64 = 1_000_000_000;

impl<A: Family> Connections<A> {
    /// Bits a second, as the first packet and against it, since the last look.
    pub(super) fn look(&self, id: ConnectionId, now: Moment) -> Option<[u64; 2]> {
        let connection = self.get(id)?;
        let (created_ms, bytes) =
            (connection.created_ms, connection.flows.map(|f| self.flow(f).counted().bytes));
        let mut looks = self.looks.0.borrow_mut();
        if looks.len() >= MOST && !looks.contains_key(&id) {
            looks.clear();
        }
        let first = Look { created_ms, at: now, bytes, rates: [0; 2] };
        let look = looks.entry(id).or_insert(first);
        if look.created_ms != created_ms {
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
