//! Classes of tuples: intervals of addresses and ports, cut at the bounds of every rule.
//!
//! ```text
//! rules   src 10.1.0.0/16 ├────────┤      dst-port 80..=90 ├──┤      …
//! source  0 ────────────┤ 1        ├ 2    port 0 ──────────┤1 ├ 2        class: (1, …, 2, …)
//! ```
//!
//! Packets of one class that come and leave by the same interfaces pass the same gates of all tables. What
//! more a rule looks at is noted in the [trace](crate::trace::Trace::beyond).

use super::place;
use crate::firewall::gate::{Gate, OF_TUPLE};
use wire::FiveTuple;

/// The intervals that a packet's ports and addresses lie in, and its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    places: [u32; OF_TUPLE.len()],
    protocol: u8,
}

/// Where intervals begin, of each field; the first at 0.
#[derive(Clone, Debug)]
pub(crate) struct Tuples {
    starts: [Vec<u32>; OF_TUPLE.len()],
}

impl Tuples {
    /// Cut by these tables' gates.
    pub(crate) fn of(tables: &[&[Gate]]) -> Tuples {
        let starts = OF_TUPLE.map(|field| {
            let mut starts = vec![0];
            for gate in tables.iter().copied().flatten() {
                gate.pieces(field, |first, last| {
                    starts.push(first);
                    starts.extend(last.checked_add(1));
                });
            }
            starts.sort_unstable();
            starts.dedup();
            starts
        });
        Tuples { starts }
    }

    /// The class of a tuple.
    #[inline]
    pub(crate) fn class(&self, tuple: &FiveTuple) -> Class {
        let values = [tuple.src_port.into(), tuple.dst_port.into(), tuple.src, tuple.dst];
        let mut places = [0; OF_TUPLE.len()];
        for ((at, starts), value) in places.iter_mut().zip(&self.starts).zip(values) {
            *at = place(starts, value) as u32;
        }
        Class { places, protocol: tuple.protocol }
    }
}
