//! What becomes due between packets: ARP, incomplete datagrams, queues, ageing.

use super::ip_out;
use super::local::refuse;
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::ip::icmp;
use crate::router::Router;
use wire::Moment;
use wire::layers;

/// What is due by now: ARP requests and failures, datagrams that stayed incomplete.
pub(crate) fn due(r: &mut Router, now: Moment) {
    let due = r.neighbours.tick(now);
    if r.neighbours.take_removed() {
        r.routes.forget_neighbours();
        r.recipes.forget(&mut r.counters);
    }
    for request in due.requests {
        r.send_arp_request(now, request);
    }
    for waiting in due.failed {
        match layers::parse(r.slab.bytes(&waiting.frame)) {
            Ok(layers) if waiting.in_interface.is_some() => {
                let p = r.packet(waiting.frame, layers, waiting.in_interface);
                refuse(r, now, p, Discard::NeighbourUnreachable, icmp::Error::HOST_UNREACHABLE);
            }
            _ => r.discard_frame(waiting.frame, Discard::NeighbourUnreachable),
        }
    }
    for pieces in r.reassembly.expired(now) {
        // RFC 792: only if the first fragment is there, which has the ports.
        let mut pieces = pieces.into_iter();
        if let Some(first) = pieces.next() {
            let p = r.packet(first.frame, first.layers, InterfaceId::NONE);
            if p.layers.later_fragment {
                r.discard(p, Discard::ReassemblyTimeout);
            } else {
                let error = icmp::Error::REASSEMBLY_EXCEEDED;
                refuse(r, now, p, Discard::ReassemblyTimeout, error);
            }
        }
        for piece in pieces {
            r.discard_frame(piece.frame, Discard::ReassemblyTimeout);
        }
    }
    let mut released = std::mem::take(&mut r.released);
    r.queues.release(now, |_, leaving| released.push(leaving));
    for leaving in released.drain(..) {
        ip_out(r, now, leaving);
    }
    r.released = released;
    r.queues.sample(now);
    r.connections.sweep(now, SWEEP);
    for (bridge, hosts) in r.program.bridges.iter().zip(&mut r.hosts) {
        hosts.age(now.as_millis_u32(), bridge.ageing_ms, SWEEP);
    }
}

/// Entries of a table that one breath looks at for their age.
const SWEEP: usize = 16;
