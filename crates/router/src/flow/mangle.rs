//! The MANGLE and RAW boxes: walk the rules, do to the packet what they say.

use super::family::Passes;
use super::sniff;
use crate::firewall::effect::{Effect, NewMss, NewPriority, NewTtl};
use crate::firewall::mangle::MangleChain;
use crate::firewall::mark::Mark;
use crate::firewall::raw::{Raw, RawChain};
use crate::packet::Packet;
use crate::parts::Stacked;
use crate::router::Router;
use crate::story::{Edit, Event};
use port::Frame;
use wire::layers::{ETHERTYPE_IPV6, protocol};
use wire::{Ipv4, Layers, Moment, Tcp, TcpFlags};

/// Walks a packet through a chain of `/ip firewall mangle`, or of IPv6's.
pub(super) fn mangle<F: Passes>(r: &mut Router, now: Moment, chain: MangleChain, p: &mut Packet) {
    let rules = F::mangle(&r.program).filter(|mangle| !mangle.is_empty());
    let Some(mut walk) = rules.map(|mangle| mangle.enter(chain)) else { return };
    loop {
        let effect = r.with_view(now, p, |program, view, books| {
            F::mangle(program)?.walk(&mut walk, view, books)
        });
        let Some(effect) = effect else { break };
        apply(r, p, effect);
    }
    r.tell_rules(F::TABLES.0, chain.name());
    sniff::send(r, now);
}

/// Walks a packet through a chain of `/ip firewall raw`, or of IPv6's; whether it goes on.
pub(super) fn raw<F: Passes>(r: &mut Router, now: Moment, chain: RawChain, p: &mut Packet) -> bool {
    if F::raw(&r.program).is_none_or(Raw::is_empty) {
        return true;
    }
    let verdict = r.with_view(now, p, |program, view, books| {
        F::raw(program).map(|raw| raw.run(chain, view, books)).unwrap_or_default()
    });
    p.notrack = verdict.notrack;
    r.tell_rules(F::TABLES.1, chain.name());
    !verdict.drop
}

/// Does to a packet, or to its connection, what a rule says.
fn apply(r: &mut Router, p: &mut Packet, effect: Effect) {
    match effect {
        Effect::MarkPacket(mark) => p.marks.packet = mark,
        Effect::MarkRouting(mark) => p.marks.routing = mark,
        Effect::MarkConnection(mark) if is_ipv6(p) => mark_connection::<u128>(r, p, mark),
        Effect::MarkConnection(mark) => mark_connection::<u32>(r, p, mark),
        Effect::Priority(new) => {
            let dscp = |r: &Router, p: &mut Packet| {
                let tos = tos(r, p);
                p.trace.looked_at_tos(tos);
                tos >> 2
            };
            p.marks.priority = match new {
                NewPriority::Set(priority) => priority,
                NewPriority::FromDscp => dscp(r, p),
                NewPriority::FromDscpHigh3Bits => dscp(r, p) >> 3,
                NewPriority::FromIngress => {
                    p.trace.once |= p.ingress_priority.is_some(); // its next one may have another
                    p.ingress_priority.unwrap_or(0)
                }
            };
        }
        Effect::Dscp(dscp) => {
            let was = tos(r, p);
            match is_ipv6(p) {
                true => each_header6(r, p, |ip| set_traffic_class(ip, dscp << 2 | was & 3)),
                false => each_header(r, p, |ip| ip.set_tos(dscp << 2 | ip.tos() & 3)),
            }
            p.trace.edited.dscp = true;
            r.tell(|| Event::Edited(Edit::Dscp, u32::from(was >> 2), dscp.into()));
        }
        Effect::Ttl(new) => {
            let was = r.ip_start(p)[if is_ipv6(p) { 7 } else { 8 }];
            let ttl = new.of(was);
            if !matches!(new, NewTtl::Set(_)) {
                p.trace.looked_at_ttl(was);
            }
            match is_ipv6(p) {
                true => each_header6(r, p, |ip| ip[7] = ttl),
                false => each_header(r, p, |ip| ip.set_ttl(ttl)),
            }
            p.trace.edited.ttl = true;
            r.tell(|| Event::Edited(Edit::Ttl, was.into(), ttl.into()));
        }
        Effect::ClearDf => {
            each_header(r, p, |ip: &mut Ipv4<&mut [u8]>| ip.clear_dont_fragment());
            p.trace.edited.df = true;
        }
        Effect::Mss(new) => clamp_mss(r, p, new),
        Effect::StripOptions => strip_options(r, p),
        Effect::Fasttrack => {
            if let Some(flow) = p.flow {
                match is_ipv6(p) {
                    true => r.v6.connections.set_fasttrack(flow),
                    false => r.v4.connections.set_fasttrack(flow),
                }
                r.tell(|| Event::MarkedFasttrack);
            }
        }
        Effect::Notrack => p.notrack = true,
        Effect::Sniff(to) => sniff::copy(r, p, to),
    }
}

/// Marks the packet's connection: the one it belongs to, begins or, being an error, is about.
fn mark_connection<F: Stacked>(r: &mut Router, p: &mut Packet, mark: Mark) {
    if let Some(new) = F::new_of(p) {
        new.mark = mark;
    } else if let Some(flow) = p.flow.or(p.related) {
        F::connections_mut(r).set_mark(flow, mark);
    }
}

fn is_ipv6(p: &Packet) -> bool {
    p.layers.ether_type == ETHERTYPE_IPV6
}

/// The TOS byte, or the traffic class.
fn tos(r: &Router, p: &Packet) -> u8 {
    let ip = r.ip_start(p);
    if is_ipv6(p) { traffic_class(ip) } else { ip[1] }
}

/// DSCP and ECN of an IPv6 header; 0 if it is not there.
pub(crate) fn traffic_class(ip: &[u8]) -> u8 {
    if let [a, b, ..] = *ip { a << 4 | b >> 4 } else { 0 }
}

/// Writes DSCP and ECN into an IPv6 header.
pub(crate) fn set_traffic_class(ip: &mut [u8], class: u8) {
    ip[0] = 0x60 | class >> 4;
    ip[1] = class << 4 | ip[1] & 0xf;
}

/// Edits the header of an IPv6 packet, and of all fragments it came in.
fn each_header6(r: &mut Router, p: &mut Packet, edit: impl Fn(&mut [u8])) {
    let rest = p.rest.iter_mut().map(|piece| (&mut piece.frame, piece.layers.l3));
    for (frame, l3) in std::iter::once((&mut p.frame, p.layers.l3)).chain(rest) {
        edit(&mut r.io.slab.bytes_mut(frame)[usize::from(l3)..]);
    }
}

/// Edits the IP header of a packet, and of all fragments it came in.
fn each_header(
    r: &mut Router,
    p: &mut Packet,
    edit: impl for<'a, 'b> Fn(&'a mut Ipv4<&'b mut [u8]>),
) {
    let one = |frame: &mut Frame, layers: &Layers| {
        let ip = &mut r.io.slab.bytes_mut(frame)[usize::from(layers.l3)..];
        if let Ok(mut ip) = Ipv4::new(ip) {
            edit(&mut ip);
        }
    };
    one(&mut p.frame, &p.layers);
    for piece in &mut p.rest {
        one(&mut piece.frame, &piece.layers);
    }
}

/// Lowers the MSS of a SYN. Other segments go on as they are.
fn clamp_mss(r: &mut Router, p: &mut Packet, new: NewMss) {
    const SYN: u8 = TcpFlags::SYN.0;
    let Some(&flags) = r.transport(p).get(13) else { return };
    if p.layers.protocol != protocol::TCP {
        return;
    }
    p.trace.looked_at_flags(flags, SYN);
    if flags & SYN == 0 {
        return;
    }
    // What a SYN says concerns no other packet of the flow, and none has a recipe.
    p.trace.once = true;
    let max = match new {
        NewMss::Set(mss) => mss,
        NewMss::ClampToPmtu => {
            let ways = [p.in_interface, p.out_interface].into_iter().filter(|way| way.is_some());
            let mtu = ways.map(|way| r.program.interface(way).mtu).min().unwrap_or(u16::MAX);
            mtu.saturating_sub(if is_ipv6(p) { 60 } else { 40 })
        }
    };
    let (l4, end) = (usize::from(p.layers.l4), usize::from(p.layers.l3_end));
    let Ok(mut tcp) = Tcp::new(&mut r.io.slab.bytes_mut(&mut p.frame)[l4..end]) else { return };
    // Of a checksum that is yet to be computed, only the pseudo-header is there; whoever completes
    // it begins afresh.
    if let Some(was) = tcp.clamp_mss(max) {
        r.tell(|| Event::Edited(Edit::Mss, was.into(), max.into()));
    }
}

/// Overwrites all IP options with the option that says nothing, as Linux does: no length changes.
fn strip_options(r: &mut Router, p: &mut Packet) {
    each_header(r, p, |ip: &mut Ipv4<&mut [u8]>| ip.blank_options());
}
