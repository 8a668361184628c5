//! LOCAL IN and LOCAL OUT: the router's own programs (echo replies, ARP, what its tools wait for)
//! and what it says about packets it could not forward.

use super::leave::{Hop, to_neighbour};
use super::rules::bridge_accepts;
use super::{ipsec, l2tp, link_out, output, pptp, radius, reason, tcp, tunnel};
use super::{vrrp, vrrp_sync, wireguard};
use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::interface::bridge::filter::Chain;
use crate::ip::family::Family;
use crate::ip::{arp, dhcp, discovery, dns, icmp, nat_pmp, upnp};
use crate::mpls::ldp;
use crate::packet::{ConnectionState, Packet};
use crate::program::BridgeAt;
use crate::router::Router;
use crate::snmp;
use crate::story::{Event, Made};
use crate::system::ntp;
use port::Frame;
use wire::arp::Operation;
use wire::bpdu::Bpdu;
use wire::layers::{self, protocol};
use wire::{Arp, Moment, checksum};

/// LOCAL IN: the router's own programs. One answers pings, one waits for the answers to its own.
pub(super) fn local_in(r: &mut Router, now: Moment, p: Packet) {
    r.tell(|| Event::Local);
    if matches!(p.layers.protocol, protocol::VRRP | protocol::AH) && vrrp::is_awaited(r, &p) {
        return vrrp::receive(r, now, p);
    }
    if dhcp::server::is_asked(&r.program, &p) {
        return dhcp::server::receive(r, now, p);
    }
    if dhcp::relay::is_asked(&r.program, &p) {
        return dhcp::relay::receive(r, now, p);
    }
    if discovery::is_mndp(r, &p) {
        return discovery::receive(r, now, p);
    }
    if upnp::is_asked(r, &p) {
        return upnp::receive(r, now, p);
    }
    if ldp::is_hello(r, &p) {
        return ldp::receive(r, now, p);
    }
    if r.dst_mac(&p).is_multicast() || r.is_broadcast(&p) {
        return r.discard(p, Discard::NoListener);
    }
    if ipsec::is_asked(r, &p) {
        return ipsec::receive(r, now, p);
    }
    if tunnel::is_l2tp_ether(r, &p) {
        return tunnel::decapsulate(r, now, p);
    }
    if wireguard::is_asked(r, &p) {
        return wireguard::receive(r, now, p);
    }
    if l2tp::is_asked(r, &p) {
        return l2tp::receive(r, now, p);
    }
    if vrrp_sync::is_asked(r, &p) {
        return vrrp_sync::receive(r, now, p);
    }
    if radius::is_asked(r, &p) {
        return radius::receive(r, now, p);
    }
    if dns::resolver::is_asked(r, &p) {
        return dns::resolver::receive(r, now, p);
    }
    if snmp::is_asked(r, &p) {
        return snmp::receive(r, now, p);
    }
    if ntp::is_asked(r, &p) {
        return ntp::receive(r, now, p);
    }
    if ntp::is_served(r, &p) {
        return ntp::serve(r, now, p);
    }
    if nat_pmp::is_asked(r, &p) {
        return nat_pmp::receive(r, now, p);
    }
    match p.layers.protocol {
        protocol::GRE if pptp::is_asked(r, &p) => pptp::receive(r, now, p),
        protocol::IPIP | protocol::GRE | protocol::IPV6 | protocol::L2TP => {
            tunnel::decapsulate(r, now, p)
        }
        protocol::ICMP => match r.transport(&p).first().copied() {
            Some(8) => echo_reply(r, now, p),
            _ if r.is_awaited(now, &p) => r.consume(p),
            _ => r.discard(p, Discard::NoListener),
        },
        protocol::TCP if tcp::is_asked(r, &p) => tcp::receive(r, now, p),
        protocol::TCP => reset(r, now, p, Discard::NoListener),
        _ => no_listener(r, now, p),
    }
}

/// Discards a segment, and ends its connection.
pub(crate) fn reset(r: &mut Router, now: Moment, p: Packet, why: Discard) {
    r.tell(|| Event::Refuses(why));
    if let Some(reset) = r.tcp_answer(&p, icmp::tcp_reset) {
        r.tell(|| Event::Makes(Made::TcpReset));
        local_out_in(r, now, reset, p.vrf);
        r.tell(|| Event::Done);
    }
    r.discard(p, why)
}

/// Whether somebody here listens to a packet for a group.
#[cold]
pub(super) fn is_heard(r: &Router, p: &Packet) -> bool {
    vrrp::is_awaited(r, p) || upnp::is_asked(r, p) || ldp::is_hello(r, p)
}

/// Nobody takes this protocol, or listens on this port.
pub(super) fn no_listener(r: &mut Router, now: Moment, p: Packet) {
    let error = match p.layers.protocol {
        protocol::UDP => icmp::Error::PORT_UNREACHABLE,
        _ => icmp::Error::PROTOCOL_UNREACHABLE,
    };
    r.tell(|| Event::Refuses(Discard::NoListener));
    answer(r, now, &p, error);
    r.discard(p, Discard::NoListener)
}

/// A BPDU for the bridge it came to: the spanning tree hears it when the breath ends, so that all of
/// the breath's frames meet the same ports. Gives back what is none.
pub(super) fn bpdu_in(r: &mut Router, now: Moment, at: BridgeAt, mut p: Packet) -> Option<Packet> {
    let Some(bpdu) = Bpdu::read(r.io.slab.bytes(&p.frame)) else { return Some(p) };
    if bridge_accepts(r, now, Chain::Input, &mut p) {
        r.link.bpdus.push((at, p.in_bridge_port, bpdu));
        r.tell(|| Event::Local);
        r.consume(p);
    } else {
        r.discard(p, Discard::BridgeFilterDrop);
    }
    None
}

/// Turns an echo request round (RFC 1122 §3.2.2.6): the same data, in the same pieces.
pub(super) fn echo_reply(r: &mut Router, now: Moment, mut p: Packet) {
    if !checksum::is_ok(r.transport(&p)) && p.rest.is_empty() {
        return r.discard(p, Discard::MalformedTransport);
    }
    let slab = r.io.slab.clone();
    let rest = p.rest.iter_mut().map(|piece| (&mut piece.frame, &mut piece.layers));
    for (frame, layers) in std::iter::once((&mut p.frame, &mut p.layers)).chain(rest) {
        let ip = &mut slab.bytes_mut(frame)[usize::from(layers.l3)..];
        icmp::turn_round(ip, usize::from(layers.l4.saturating_sub(layers.l3)));
        layers.tuple = layers.tuple.reversed();
    }
    (p.port, p.in_interface, p.fast) = (InterfaceId::NONE, InterfaceId::NONE, false);
    // What was found out about the request is not true of the reply.
    (p.flow, p.related) = (None, None);
    p.connection_state = ConnectionState::Untracked;
    p.trace.clear();
    r.tell(|| Event::Turned);
    output::<u32>(r, now, p)
}

/// LOCAL OUT (box K): a packet the router itself makes. `frame` begins with 14 bytes for the
/// Ethernet header.
pub(crate) fn local_out(r: &mut Router, now: Moment, frame: Frame) {
    local_out_as(r, now, frame, InterfaceId::NONE, None)
}

/// The same, in this VRF: an answer to a packet of it.
pub(super) fn local_out_in(r: &mut Router, now: Moment, frame: Frame, vrf: Mark) {
    local_out_as(r, now, frame, InterfaceId::NONE, Some(vrf))
}

/// The same, by this interface whatever the routes say; `NONE` for where they lead.
pub(crate) fn local_out_by(r: &mut Router, now: Moment, frame: Frame, bound: InterfaceId) {
    let vrf = r.program.vrfs.of(bound);
    local_out_as(r, now, frame, bound, Some(vrf))
}

fn local_out_as(r: &mut Router, now: Moment, frame: Frame, bound: InterfaceId, vrf: Option<Mark>) {
    match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => {
            let mut p = r.packet(frame, layers, InterfaceId::NONE);
            p.bound = bound;
            p.vrf = vrf.unwrap_or_else(|| r.program.vrf_of_own(p.layers.tuple.src));
            output::<u32>(r, now, p)
        }
        Err(malformed) => r.discard_frame(frame, reason(malformed)),
    }
}

/// ARP, which is part of the router itself.
pub(super) fn arp_in(r: &mut Router, now: Moment, p: Packet) {
    let (interface, vrf) = (p.in_interface, r.program.vrfs.of(p.in_interface));
    let mode = r.program.interface(interface).arp;
    if mode == arp::Mode::Disabled {
        return r.consume(p);
    }
    let l3 = usize::from(p.layers.l3);
    let message = match Arp::new(&r.io.slab.bytes(&p.frame)[l3..]) {
        Ok(arp) => arp.message(),
        Err(_) => return r.discard(p, Discard::MalformedArp),
    };
    if r.services.leases.asks() {
        dhcp::server::heard(r, interface, message.sender_ip, message.sender_mac);
    }
    let for_us = r
        .program
        .addresses
        .iter()
        .any(|own| own.address == message.target_ip && own.interface == interface);
    let sender_known = icmp::is_host(message.sender_ip)
        && !message.sender_mac.is_multicast()
        && !r.program.is_local_in(vrf, message.sender_ip)
        && !super::is_own_source(r, message.sender_ip, vrf)
        && r.is_neighbour(interface, message.sender_ip);
    if sender_known && mode.learns() {
        let ip = message.sender_ip;
        let (_, waiting) = r.v4.neighbours.learn(now, interface, ip, message.sender_mac, for_us);
        for frame in waiting {
            to_neighbour(r, now, Hop::to(interface, ip), frame);
        }
    }
    if for_us && message.operation == Operation::Reply {
        let (ip, mac) = (message.sender_ip, message.sender_mac);
        r.tools.echoes.arp_reply(now, interface, ip.ip(), mac);
    }
    let asked = match for_us {
        true => Some(interface),
        false => vrrp::owner_of(r, interface, message.target_ip)
            .filter(|&own| r.program.interface(own).arp.answers())
            .or_else(|| {
                let proxied = arp::is_proxied(&r.program, &r.v4.routes, interface, &message);
                proxied.then_some(interface)
            }),
    };
    if let (Some(interface), Operation::Request) = (asked, message.operation) {
        let mac = r.program.interface(interface).mac;
        let reply = message.reply_from(mac);
        match arp::frame(&mut r.io.pool, reply, mac, message.sender_mac) {
            Some(frame) => {
                r.stats.tally.made += 1;
                r.tell(|| Event::Makes(Made::ArpReply));
                link_out(r, now, interface, frame, false);
                r.tell(|| Event::Done);
            }
            None => r.stats.discards.add(Discard::NoFrame),
        }
    }
    r.consume(p);
}

/// Discards a packet and, where the RFCs allow, says so to its sender.
pub(crate) fn refuse(r: &mut Router, now: Moment, p: Packet, why: Discard, error: icmp::Error) {
    r.tell(|| Event::Refuses(why));
    let frame = r.io.slab.bytes(&p.frame);
    if icmp::may_answer(frame, &p.layers) && !r.is_broadcast(&p) {
        answer(r, now, &p, error);
    }
    r.discard(p, why);
}

/// Sends an ICMP error about a packet, if `icmp-rate-limit` lets it.
pub(super) fn answer(r: &mut Router, now: Moment, p: &Packet, error: icmp::Error) {
    let Some(src) = r.answer_source(p) else { return };
    if !r.v4.icmp_limit.allows(now, error.kind) {
        r.tell(|| Event::Discarded(Discard::IcmpRateLimited));
        return r.stats.discards.add(Discard::IcmpRateLimited);
    }
    let (l3, end) = (usize::from(p.layers.l3), usize::from(p.layers.l3_end));
    let slab = r.io.slab.clone();
    let original = &slab.bytes(&p.frame)[l3..end];
    match icmp::error(&mut r.io.pool, original, error, src) {
        Some(frame) => {
            r.stats.tally.made += 1;
            let (kind, code) = (error.kind, error.code);
            r.tell(|| Event::Makes(Made::IcmpError { kind, code }));
            local_out_in(r, now, frame, p.vrf);
            r.tell(|| Event::Done);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}
