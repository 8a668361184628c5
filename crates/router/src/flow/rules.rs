//! The FILTER boxes, of IP and of the bridge: walk the rules, do what they say.

use super::local::{local_out, refuse};
use crate::discard::Discard;
use crate::firewall::filter::{Answer, Decision, FilterChain, FilterVerdict};
use crate::interface::bridge::filter::Chain;
use crate::ip::icmp;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::{Event, Made, Table};
use port::{Frame, Pool};
use wire::{Layers, Moment};

/// Walks a packet through a chain of `/ip firewall filter`.
pub(super) fn filter(
    r: &mut Router,
    now: Moment,
    chain: FilterChain,
    p: &mut Packet,
) -> FilterVerdict {
    let verdict =
        r.with_view(now, p, |program, view, books| program.filter.run(chain, view, books));
    r.tell_rules(Table::Filter, chain.name());
    verdict
}

/// Does what the filter said; `None` if the packet is gone.
pub(super) fn verdict_says(
    r: &mut Router,
    now: Moment,
    p: Packet,
    verdict: FilterVerdict,
) -> Option<Packet> {
    if let (true, Some(flow)) = (verdict.fasttrack, p.flow) {
        r.v4.connections.set_fasttrack(flow);
        r.tell(|| Event::MarkedFasttrack);
    }
    match verdict.decision {
        Decision::Accept => return Some(p),
        Decision::Drop => r.discard(p, Discard::FilterDrop),
        Decision::Tarpit => {
            let (why, made) = (Discard::FilterTarpit, Made::TcpHold);
            answer_segment(r, now, p, why, icmp::tcp_hold, made);
        }
        Decision::Reject(with) => match with.answer() {
            Answer::Icmp { kind, code } => {
                refuse(r, now, p, Discard::FilterReject, icmp::Error::new(kind, code));
            }
            Answer::TcpReset => {
                let (why, made) = (Discard::FilterReject, Made::TcpReset);
                answer_segment(r, now, p, why, icmp::tcp_reset, made);
            }
        },
    }
    None
}

/// Ends a segment, and answers it.
fn answer_segment(
    r: &mut Router,
    now: Moment,
    p: Packet,
    why: Discard,
    answer: fn(&mut Pool, &[u8], &Layers) -> Option<Frame>,
    made: Made,
) {
    r.tell(|| Event::Refuses(why));
    if let Some(frame) = r.tcp_answer(&p, answer) {
        r.tell(|| Event::Makes(made));
        local_out(r, now, frame);
        r.tell(|| Event::Done);
    }
    r.discard(p, why);
}

/// Whether `/interface bridge filter` lets a frame pass. Its bridge and ports are in the packet.
pub(super) fn bridge_accepts(r: &mut Router, now: Moment, chain: Chain, p: &mut Packet) -> bool {
    if r.program.bridge_filter.is_empty() {
        return true;
    }
    let accepts = r.with_view(now, p, |program, view, books| {
        program.bridge_filter.accepts(chain, view, books)
    });
    r.tell_rules(Table::BridgeFilter, Chain::NAMES[chain as usize]);
    accepts
}
