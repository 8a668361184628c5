//! The FILTER boxes of IPv6: walk the rules, do what they say.

use super::local::{refuse, reset};
use crate::discard::Discard;
use crate::firewall::filter::FilterChain;
use crate::ipv6::firewall::Decision;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::{Event, Table};
use wire::Moment;

/// Walks a packet through a chain of `/ipv6 firewall filter`; `None` if it is gone.
pub(super) fn filter(
    r: &mut Router,
    now: Moment,
    chain: FilterChain,
    mut p: Packet,
) -> Option<Packet> {
    let filter = r.program.v6.filter.clone().filter(|filter| !filter.is_empty());
    let Some(filter) = filter else { return Some(p) };
    let (decision, fasttrack) =
        r.with_view(now, &mut p, |_, view, books| filter.run(chain, view, books));
    r.tell_rules(Table::Filter6, chain.name());
    if let (true, Some(flow)) = (fasttrack, p.flow) {
        r.v6.connections.set_fasttrack(flow);
        r.tell(|| Event::MarkedFasttrack);
    }
    match decision {
        Decision::Accept => return Some(p),
        Decision::Drop => r.discard(p, Discard::FilterDrop),
        Decision::Reject(error) => refuse(r, now, p, Discard::FilterReject, error),
        Decision::Reset => {
            r.tell(|| Event::Refuses(Discard::FilterReject));
            reset(r, now, &p);
            r.discard(p, Discard::FilterReject);
        }
    }
    None
}
