//! LOCAL IN of IPv6: echo replies, neighbour discovery, and what the router says about packets it could
//! not forward, or nobody here takes.

use super::{discovery, local_out, output};
use crate::discard::Discard;
use crate::flow::wireguard;
use crate::interface::InterfaceId;
use crate::ip::dns::resolver;
use crate::ipv6::icmp::{self, Error};
use crate::ipv6::nd::autoconf;
use crate::ipv6::{address, dhcp};
use crate::packet::{ConnectionState, Ends, Packet};
use crate::router::Router;
use crate::story::{Event, Made};
use std::net::Ipv6Addr;
use wire::Moment;
use wire::checksum::Delta;
use wire::icmpv6::{self, kind};
use wire::ipv6::{Extensions, header};
use wire::layers::protocol;
use wire::vrrp;

/// LOCAL IN: the router's own programs.
pub(super) fn local_in(r: &mut Router, now: Moment, p: Packet) {
    r.tell(|| Event::Local);
    if p.layers.protocol == header::ICMPV6 {
        return icmp_in(r, now, p);
    }
    if dhcp::is_asked(&r.program, &p) {
        return dhcp::receive(r, now, p);
    }
    if p.layers.protocol == protocol::VRRP && p.ends.dst == vrrp::GROUP6 {
        return super::vrrp::receive6(r, now, p);
    }
    if Ipv6Addr::from(p.ends.dst).is_multicast() {
        return r.discard(p, Discard::NoListener);
    }
    if wireguard::is_asked(r, &p) {
        return wireguard::receive(r, now, p);
    }
    if resolver::is_asked(r, &p) {
        return resolver::receive(r, now, p);
    }
    r.tell(|| Event::Refuses(Discard::NoListener));
    match p.layers.protocol {
        protocol::TCP => reset(r, now, &p),
        protocol::UDP => answer(r, now, &p, Error::PORT_UNREACHABLE),
        header::NONE => {}
        _ => answer(r, now, &p, Error::problem(1, p.next_header_at)),
    }
    r.discard(p, Discard::NoListener)
}

/// ICMPv6: pings are answered, neighbours heard.
fn icmp_in(r: &mut Router, now: Moment, p: Packet) {
    let (src, dst) = (Ipv6Addr::from(p.ends.src), Ipv6Addr::from(p.ends.dst));
    let message = r.transport(&p);
    let Some(&[kind, ..]) = message.first_chunk::<8>() else {
        return r.discard(p, Discard::MalformedTransport);
    };
    if p.rest.is_empty() && !icmpv6::is_intact(src, dst, message) {
        return r.discard(p, Discard::MalformedTransport);
    }
    let in_pieces = p.headers & Extensions::FRAGMENT != 0;
    if in_pieces && matches!(kind, kind::ROUTER_SOLICITATION..=kind::REDIRECT)
        || !p.rest.is_empty() && !matches!(kind, kind::ECHO_REQUEST | kind::ECHO_REPLY)
    {
        // RFC 6980: neighbours are not discovered in pieces, be it in one alone.
        return r.discard(p, Discard::BadFragment);
    }
    match kind {
        kind::ECHO_REQUEST if icmp::is_host(p.ends.src) => echo_reply(r, now, p),
        kind::ROUTER_ADVERTISEMENT if !autoconf::accepts(r, p.in_interface) => {
            r.discard(p, Discard::NoListener)
        }
        kind::LISTENER_QUERY => discovery::query(r, now, p),
        kind::ROUTER_SOLICITATION
        | kind::ROUTER_ADVERTISEMENT
        | kind::NEIGHBOUR_SOLICITATION
        | kind::NEIGHBOUR_ADVERTISEMENT => discovery::heard(r, now, p, kind),
        _ if r.is_awaited6(now, &p) => r.consume(p),
        _ => r.discard(p, Discard::NoListener),
    }
}

/// Turns an echo request round (RFC 4443 §4.2): the same data, from an address of the router's.
fn echo_reply(r: &mut Router, now: Moment, mut p: Packet) {
    let Ends { src, dst } = p.ends;
    let own = match Ipv6Addr::from(dst).is_multicast() {
        true => address::source(&r.program.v6.addresses, p.in_interface, src),
        false => Some(dst),
    };
    let Some(own) = own else { return r.discard(p, Discard::NoListener) };
    let slab = r.io.slab.clone();
    let rest = p.rest.iter_mut().map(|piece| (&mut piece.frame, piece.layers.l3));
    for (frame, l3) in std::iter::once((&mut p.frame, p.layers.l3)).chain(rest) {
        let ip = &mut slab.bytes_mut(frame)[l3.into()..];
        ip[7] = 64;
        ip[8..24].copy_from_slice(&own.to_be_bytes());
        ip[24..40].copy_from_slice(&src.to_be_bytes());
    }
    let (l4, end) = (usize::from(p.layers.l4), p.layers.l3_end.into());
    let message = &mut slab.bytes_mut(&mut p.frame)[l4..end];
    message[0] = kind::ECHO_REPLY;
    if p.rest.is_empty() {
        icmpv6::fill_checksum(own.into(), src.into(), message);
    } else {
        // Of addresses, only another order: the sum changes by the type alone.
        let sum = u16::from_be_bytes([message[2], message[3]]);
        let types = [kind::ECHO_REQUEST, kind::ECHO_REPLY].map(|kind| u16::from(kind) << 8);
        let sum = Delta::default().u16(types[0], types[1]).apply(sum);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    (p.flow, p.related, p.new6) = (None, None, None);
    p.bound = p.in_interface;
    (p.port, p.in_interface) = (InterfaceId::NONE, InterfaceId::NONE);
    p.connection_state = ConnectionState::Untracked;
    p.trace.clear();
    r.tell(|| Event::Turned);
    output::<u128>(r, now, p)
}

/// Answers a segment that nobody takes.
pub(super) fn reset(r: &mut Router, now: Moment, p: &Packet) {
    let (ends, slab) = (Ends { src: p.ends.dst, dst: p.ends.src }, r.io.slab.clone());
    let (l4, end) = (usize::from(p.layers.l4), usize::from(p.layers.l3_end));
    let segment = if l4 == 0 { &[] } else { &slab.bytes(&p.frame)[l4..end] };
    if let Some(frame) = icmp::tcp_reset(&mut r.io.pool, segment, ends) {
        r.stats.tally.made += 1;
        r.tell(|| Event::Makes(Made::TcpReset));
        local_out(r, now, frame, p.in_interface);
        r.tell(|| Event::Done);
    }
}

/// Discards a packet and, where the RFCs allow, says so to its sender.
pub(super) fn refuse(r: &mut Router, now: Moment, p: Packet, why: Discard, error: Error) {
    r.tell(|| Event::Refuses(why));
    answer(r, now, &p, error);
    r.discard(p, why);
}

/// Sends an ICMPv6 error about a packet, if that may be and is not too often.
fn answer(r: &mut Router, now: Moment, p: &Packet, error: Error) {
    if !icmp::may_answer(r.io.slab.bytes(&p.frame), &p.layers, &p.ends, error) {
        return;
    }
    let v6 = &r.program.v6;
    let src = match v6.is_own(p.in_interface, p.ends.dst) {
        true => Some(p.ends.dst),
        false => address::source(&v6.addresses, p.in_interface, p.ends.src),
    };
    let Some(src) = src else { return };
    if !r.v6.icmp_limit.allows(now, error.kind) {
        r.tell(|| Event::Discarded(Discard::IcmpRateLimited));
        return r.stats.discards.add(Discard::IcmpRateLimited);
    }
    let (l3, end) = (usize::from(p.layers.l3), usize::from(p.layers.l3_end));
    let slab = r.io.slab.clone();
    let original = &slab.bytes(&p.frame)[l3..end];
    match icmp::error(&mut r.io.pool, original, error, Ends { src, dst: p.ends.src }) {
        Some(frame) => {
            r.stats.tally.made += 1;
            let (kind, code) = (error.kind, error.code);
            r.tell(|| Event::Makes(Made::Icmp6Error { kind, code }));
            local_out(r, now, frame, p.in_interface);
            r.tell(|| Event::Done);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}
