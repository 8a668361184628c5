//! The CONNECTION TRACKING box: pieces put together, connections found, FastTrack's fork.

use super::{help, ipsec};
use crate::discard::Discard;
use crate::firewall::connection::{Connections, FlowId};
use crate::firewall::mark::Mark;
use crate::ip::fragment::Collected;
use crate::ip::traffic_flow;
use crate::packet::Packet;
use crate::parts::Stacked;
use crate::router::Router;
use crate::story::{Event, Flow};
use wire::Moment;
use wire::layers::{ETHERTYPE_IPV4, protocol};

/// CONNECTION TRACKING: reassembles, finds the connection, and lets FastTracked packets leave the
/// regular path. `None` if the packet is held back or gone.
pub(super) fn track<F: Stacked>(r: &mut Router, now: Moment, mut p: Packet) -> Option<Packet> {
    if let (true, Some(flow)) = (p.fasttrack, p.flow) {
        F::connections_mut(r).flow_mut(flow).count(p.ip_len, now.as_millis_u32());
        r.tell(|| Event::Fasttracked { flow: Flow::of::<F>(flow) });
        return Some(p);
    }
    if !F::is_tracking(r) {
        traffic_flow::count_untracked::<F>(r, now, &p);
        return Some(p);
    }
    p.fast &= p.is_outer;
    if p.notrack {
        traffic_flow::count_untracked::<F>(r, now, &p);
        r.tell(|| Event::Untracked);
        return Some(p);
    }
    if p.layers.fragment {
        p = reassemble::<F>(r, now, p)?;
    }
    if F::ETHERTYPE == ETHERTYPE_IPV4 {
        help::arrive(r, &mut p);
    }
    let tracking = r.track::<F>(now, &p);
    let (state, flow, related) = (tracking.state, tracking.flow, tracking.related);
    r.tell(|| {
        let [flow, related] = [flow, related].map(|flow| flow.map(Flow::of::<F>));
        Event::Tracked { state, flow, related }
    });
    p.connection_state = tracking.state;
    (p.flow, p.related) = (tracking.flow, tracking.related);
    let marked = p.flow.or(p.related);
    let new = tracking.new.as_ref().map_or(Mark::NONE, |new| new.mark);
    *F::new_of(&mut p) = tracking.new;
    p.connection_mark = marked.map_or(new, |flow| F::connections(r).mark_of(flow));
    if tracking.full {
        r.discard(p, Discard::ConnectionTableFull);
        return None;
    }
    Some(p)
}

/// The flow of a packet that may take the FastTrack way. What may end a connection, or is out of
/// the ordinary, stays on the regular path.
pub(super) fn fasttracked<F: Stacked>(r: &Router, p: &Packet) -> Option<FlowId> {
    const FIN_SYN_RST: u8 = 0x07;
    let tuple = F::tuple(p);
    let whole = !p.layers.fragment && p.rest.is_empty();
    let plain = p.fast && p.layers.l4 != 0 && whole && !p.layers.options;
    let flags = || r.transport(p).get(13).copied().unwrap_or(FIN_SYN_RST);
    let ends = tuple.protocol == protocol::TCP && flags() & FIN_SYN_RST != 0;
    if !plain || ends || !r.fasttrack_of(F::ETHERTYPE) || F::connections(r).fasttracked() == 0 {
        return None;
    }
    let flow = F::connections(r).flows().find(F::hash_of(&tuple), &tuple)?;
    Connections::<F>::fasttrack_allows(F::connections(r).flow(flow)).then_some(flow)
}

/// Collects a fragment; the packet goes on when its datagram is complete.
pub(super) fn reassemble<F: Stacked>(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    // No piece in the clear comes among those that were encrypted.
    if ipsec::is_in_the_clear(r, &p) {
        r.discard(p, Discard::NotEncrypted);
        return None;
    }
    let (port, in_interface, is_decrypted) = (p.port, p.in_interface, p.is_decrypted);
    let (ends, next_header_at, headers, bound) = (p.ends, p.next_header_at, p.headers, p.bound);
    let (marks, notrack, vrf, source_route) = (p.marks, p.notrack, p.vrf, p.source_route);
    let layers = p.layers;
    let frame = r.recycle(p);
    match F::collect(r, now, frame, &layers) {
        Collected::Held => {
            r.tell(|| Event::Collected);
            None
        }
        Collected::Full(frame) => {
            r.discard_frame(frame, Discard::ReassemblyFull);
            None
        }
        Collected::Bad(pieces) => {
            for piece in pieces {
                r.discard_frame(piece.frame, Discard::BadFragment);
            }
            None
        }
        Collected::Complete(mut pieces, ip_len) => {
            let first = pieces.remove(0);
            let mut whole = r.packet(first.frame, first.layers, port);
            whole.layers.fragment = false;
            (whole.in_interface, whole.ip_len, whole.rest) = (in_interface, ip_len, pieces);
            (whole.marks, whole.notrack) = (marks, notrack);
            (whole.ends, whole.headers, whole.bound) = (ends, headers, bound);
            (whole.next_header_at, whole.source_route) = (next_header_at, source_route);
            (whole.vrf, whole.is_decrypted) = (vrf, is_decrypted);
            Some(whole)
        }
    }
}

/// Enters the connection of a first packet that the router does not drop; and whom a packet that goes
/// on announces.
pub(super) fn confirm<F: Stacked>(
    r: &mut Router,
    now: Moment,
    p: &mut Packet,
) -> Result<(), Discard> {
    let mut flow = p.flow;
    if let Some(new) = F::new_of(p).take() {
        let entered = F::connections_mut(r).confirm(&new, now)?;
        r.tell(|| Event::Entered(Flow::of::<F>(entered)));
        flow = Some(entered);
    }
    traffic_flow::note::<F>(r, now, p, flow);
    if let Some(flow) = flow.filter(|_| F::ETHERTYPE == ETHERTYPE_IPV4) {
        help::heed(r, now, p, flow);
    }
    Ok(())
}
