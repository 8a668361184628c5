//! The FILTER boxes, of IP and of the bridge: walk the rules, do what they say.

use super::link_out;
use super::local::{local_out_in, refuse};
use crate::discard::Discard;
use crate::firewall::filter::{Answer, Decision, FilterChain, FilterVerdict};
use crate::interface::bridge::filter::{Chain, Step};
use crate::ip::{arp, icmp};
use crate::packet::Packet;
use crate::router::Router;
use crate::story::{Event, Made, Table};
use port::{Frame, Pool};
use wire::{Arp, Layers, MacAddr, Moment};

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
        local_out_in(r, now, frame, p.vrf);
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
    r.tell_rules(Table::BridgeFilter, chain.name());
    accepts
}

/// BRIDGE DST-NAT and SRC-NAT: what `/interface bridge nat` says is done to the frame; `None` if it is
/// gone.
pub(super) fn bridge_nat(
    r: &mut Router,
    now: Moment,
    chain: Chain,
    mut p: Packet,
) -> Option<Packet> {
    if r.program.bridge_nat.is_empty() {
        return Some(p);
    }
    let step = r
        .with_view(now, &mut p, |program, view, books| program.bridge_nat.walk(chain, view, books));
    r.tell_rules(Table::BridgeNat, chain.name());
    let (at, mac) = match (chain, step) {
        (_, Step::Drop) => {
            r.discard(p, Discard::BridgeNatDrop);
            return None;
        }
        (Chain::SrcNat, Step::Source(mac)) => (6, mac),
        (Chain::DstNat, Step::Destination(mac)) => (0, mac),
        (Chain::DstNat, Step::Redirect) => (0, r.program.interface(p.in_interface).mac),
        (Chain::DstNat, Step::ArpReply(mac)) => {
            reply_for(r, now, p, mac);
            return None;
        }
        // What a chain of one's own says where it cannot be done.
        _ => return Some(p),
    };
    if let Some(address) = r.io.slab.bytes_mut(&mut p.frame).get_mut(at..at + 6) {
        address.copy_from_slice(&mac.0);
    }
    Some(p)
}

/// Answers an ARP request out by the port it came by, as if `mac` had the address.
fn reply_for(r: &mut Router, now: Moment, p: Packet, mac: MacAddr) {
    let bytes = r.io.slab.bytes(&p.frame).get(usize::from(p.layers.l3)..).unwrap_or(&[]);
    let Ok(request) = Arp::new(bytes).map(|arp| arp.message()) else {
        return r.discard(p, Discard::MalformedArp);
    };
    let (reply, port) = (request.reply_from(mac), p.in_bridge_port);
    match arp::frame(&mut r.io.pool, reply, mac, request.sender_mac) {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tell(|| Event::Makes(Made::ArpReply));
            link_out(r, now, port, frame, false);
            r.tell(|| Event::Done);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
    r.consume(p);
}
