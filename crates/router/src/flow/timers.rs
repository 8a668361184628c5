//! Timers, for what becomes due between packets: ARP, incomplete datagrams, queues, ageing.

use super::local::refuse;
use super::wait::{Resume, end_dropped, resume};
use super::{ipsec, link_out, sniff, vrrp_sync, wireguard};
use crate::discard::Discard;
use crate::fast::{self, Passed};
use crate::interface::InterfaceId;
use crate::ip::neighbour::Waiting;
use crate::ip::{dhcp, discovery, dns, hotspot, icmp, nat_pmp, traffic_flow, upnp};
use crate::ipv6::dhcp as dhcp6;
use crate::ipv6::{found, nd};
use crate::mpls::ldp;
use crate::router::Router;
use crate::system::{logging::syslog, ntp};
use crate::tool::profile::Facility;
use std::time::Duration;
use wire::Moment;
use wire::layers;

/// Does what is due by now; says whether anything may have been sent.
pub(crate) fn due(r: &mut Router, now: Moment) -> bool {
    let queues = r.queues.next_deadline().is_some_and(|deadline| deadline <= now);
    if queues {
        r.tools.profiler.settle_in(Facility::Queuing);
        release(r, now);
    }
    let trees = spanning_trees(r, now);
    let streams = r.tools.taps.any() && sniff::stream(r, now);
    let chores = now >= r.chores_at;
    if chores {
        r.chores_at = now + CHORES;
        r.tools.profiler.settle_in(Facility::Networking);
        if now >= r.link.up_due {
            super::up::look(r, now);
        }
        if now >= r.link.sync.due {
            vrrp_sync::tick(r, now);
        }
        if now >= r.services.due {
            services(r, now);
        }
        if r.stats.log.has_remote() {
            syslog::send(r, now);
        }
        if r.program.traffic_flow.is_some() || r.services.traffic_flow.is_on() {
            traffic_flow::tick(r, now);
        }
        if now >= r.services.ipsec.due && (r.program.ipsec.is_some() || r.services.ipsec.has_any())
        {
            ipsec::tick(r, now);
        }
        neighbours(r, now);
        super::v6::timers(r, now);
        incomplete_datagrams(r, now);
        r.tools.profiler.enter(Facility::Queuing);
        r.queues.sample(now);
        r.tools.profiler.enter(Facility::Firewall);
        r.v4.connections.sweep(now, SWEEP);
        r.v6.connections.sweep(now, SWEEP);
        r.rules.lists.expire(now);
        r.rules.lists6.expire(now);
        r.follow_lists();
        r.tools.profiler.enter(Facility::Bridging);
        for (bridge, hosts) in r.program.bridges.iter().zip(&mut r.link.hosts) {
            hosts.age(now.as_millis_u32(), bridge.ageing_ms, SWEEP);
            hosts.groups.expire(now, bridge);
        }
    }
    // What the router's tools have sent between two breaths is in the outboxes.
    let room = r.io.room_at.is_some_and(|at| at <= now);
    queues | trees | streams | chores | room | std::mem::take(&mut r.tools.sent)
}

/// Lets go what waits in queues and may go by now.
pub(crate) fn release(r: &mut Router, now: Moment) {
    let mut released = std::mem::take(&mut r.io.released);
    r.queues.release(now, |_, resume, waited| released.push((resume, waited)));
    let mut passed = Passed::default();
    let mut rest = released.drain(..);
    while let Some((next, waited)) = rest.next() {
        // Its frame has left the caches, maybe; when its turn comes, it is there again.
        if let Some((soon, _)) = rest.as_slice().get(SOON) {
            r.io.slab.prefetch(soon.frame());
        }
        let next = match next {
            Resume::Out(leaving) if !waited.marks.any() => {
                match fast::resume(r, now, leaving, &mut passed) {
                    Ok(()) => continue,
                    Err(leaving) => Resume::Out(leaving),
                }
            }
            next => next,
        };
        // It may look at what was counted: a session may end.
        passed.settle(r);
        resume(r, now, next, waited);
    }
    drop(rest);
    passed.settle(r);
    end_dropped(r);
    r.io.released = released;
}

/// How many packets before its turn a frame is asked for.
const SOON: usize = 12;

/// How often the router looks after what waits for no packet: a thousandth of the shortest timeout.
const CHORES: Duration = Duration::from_millis(1);
/// Entries of a table that are looked at for their age each time: half a million a second.
const SWEEP: usize = 512;

/// Lets spanning trees hear what this breath has brought, and their seconds pass; whether BPDUs were
/// sent.
fn spanning_trees(r: &mut Router, now: Moment) -> bool {
    if r.link.bpdus.is_empty() && r.next_bpdu().is_none_or(|due| now < due) {
        return false;
    }
    for (at, port, bpdu) in std::mem::take(&mut r.link.bpdus) {
        if let Some(tree) = &mut r.link.trees[at.index()] {
            tree.receive(port, bpdu);
        }
    }
    let mut sent = false;
    for at in 0..r.link.trees.len() {
        let Some(tree) = &mut r.link.trees[at] else { continue };
        let outcome = tree.work(now);
        let hosts = &mut r.link.hosts[at];
        for port in outcome.flush {
            hosts.remove_port(port);
        }
        if outcome.changed {
            hosts.close(tree.closed());
            // Who came in by a port that is closed now must not be taken up by the short way.
            r.learnt.ingresses.forget();
        }
        for (port, bpdu) in outcome.send {
            let bytes = bpdu.frame(r.program.interface(port).mac);
            let Some(mut frame) = r.io.pool.alloc(bytes.len()) else {
                r.stats.discards.add(Discard::NoFrame);
                continue;
            };
            r.io.slab.bytes_mut(&mut frame).copy_from_slice(&bytes);
            r.stats.tally.made += 1;
            link_out(r, now, port, frame, false);
            sent = true;
        }
    }
    sent
}

/// Lets DHCP and the resolver do what is due.
#[cold]
fn services(r: &mut Router, now: Moment) {
    let due = [
        dhcp::server::tick(r, now),
        dhcp::client::tick(r, now),
        ntp::tick(r, now),
        wireguard::tick::tick(r, now),
        // After whoever asks for names.
        dns::resolver::tick(r, now),
        discovery::tick(r, now),
        nat_pmp::tick(r, now),
        upnp::tick(r, now),
        ldp::tick(r, now),
        hotspot::tick(r, now),
        dhcp6::client::tick(r, now),
        dhcp6::server::tick(r, now),
        nd::tick(r, now),
    ];
    found::note(r);
    r.services.due = due.into_iter().flatten().min().unwrap_or(Moment::from_nanos(u64::MAX));
}

/// Asks again, gives up, forgets.
fn neighbours(r: &mut Router, now: Moment) {
    let due = r.v4.neighbours.tick(now);
    if r.v4.neighbours.take_removed() {
        r.v4.routes.forget_neighbours();
        r.learnt.recipes.forget();
    }
    for request in due.requests {
        r.send_arp_request(now, request);
    }
    for waiting in due.failed {
        nobody_there(r, now, waiting);
    }
}

/// A neighbour does not answer, or may not be asked: whoever sent the frame is told (RFC 1812 §5.2.7.1).
pub(super) fn nobody_there(r: &mut Router, now: Moment, waiting: Waiting) {
    match layers::network(r.io.slab.bytes(&waiting.frame)) {
        Ok(layers) if waiting.in_interface.is_some() && waiting.labels.are_none() => {
            let p = r.packet(waiting.frame, layers, waiting.in_interface);
            refuse(r, now, p, Discard::NeighbourUnreachable, icmp::Error::HOST_UNREACHABLE);
        }
        _ => {
            r.own_frame_failed(now, &waiting.frame);
            r.discard_frame(waiting.frame, Discard::NeighbourUnreachable);
        }
    }
}

/// Gives up datagrams whose pieces did not all come, and says so if the first one did (RFC 792).
fn incomplete_datagrams(r: &mut Router, now: Moment) {
    for pieces in r.v4.reassembly.expired(now) {
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
}
