//! `cake-ack-filter`: a TCP acknowledgement that waits is dropped when a later one of its connection says
//! more.
//!
//! ```text
//! waiting: ack 100   ack 200   data   ◄─ ack 300     aggressive: 100 and 200 are one too many each
//!                                                     filter:     100 goes, 200 stays beside
//! ```
//!
//! One with SACK blocks, or any option but time stamps, is never dropped, nor one that repeats an
//! acknowledgement: senders count those (RFC 5681).

use crate::queue::nodes::{Label, List, Node, Ring};

/// `cake-ack-filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFilter {
    /// None is dropped.
    None,
    /// One stays beside the newest.
    Filter,
    /// Only the newest stays.
    Aggressive,
}

impl AckFilter {
    /// Takes out of a flow's ring, to which `node` came last, one that says less.
    pub(super) fn take(self, ring: &mut Ring, list: &mut List, node: u32) -> Option<u32> {
        let newest = list[node].label;
        newest.ack?;
        let is_less = |one: &Node| says_less(&one.label, &newest);
        match self {
            AckFilter::None => None,
            AckFilter::Aggressive => ring.take_if(list, is_less),
            AckFilter::Filter => {
                let less = ring.nodes(list).filter(|&at| is_less(&list[at])).take(2).count();
                if less == 2 { ring.take_if(list, is_less) } else { None }
            }
        }
    }
}

fn says_less(one: &Label, newest: &Label) -> bool {
    let (Some(old), Some(new)) = (one.ack, newest.ack) else { return false };
    one.tuple == newest.tuple && new.wrapping_sub(old).cast_signed() > 0
}
