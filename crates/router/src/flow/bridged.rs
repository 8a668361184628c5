//! `use-ip-firewall`: packets of IP that a bridge passes on go by the boxes of IP, too.
//!
//! ```text
//! bridge filter forward ─► raw, tracking, mangle, dst-nat of prerouting ─► mangle, filter of forward
//!    bridge src-nat, out ◄─ htb global, simple queues ◄─ mangle, src-nat of postrouting ◄─┘
//! ```
//!
//! To rules the bridge is the interface that a packet comes in and goes out by, its ports are
//! `in-bridge-port` and `out-bridge-port`. What dst-nat gives another destination is routed; else no route and
//! no neighbour is asked, and the TTL stays. Such packets go the slow path, those for the router do not.
//!
//! Fragments of groups are not tracked: a bridge sends each by several ports.
//! Missing: **use-ip-firewall-for-vlan** and **-for-pppoe**: what has a tag, or is in a session, passes
//! as it is.

use super::checks::reason;
use super::family::{Passes, queues};
use super::mangle::{mangle, raw};
use super::track::{confirm, track};
use super::translate::{dst_nat, src_nat};
use super::wait::{self, Cost};
use super::{bridge_leave, routed};
use crate::discard::Discard;
use crate::firewall::filter::FilterChain;
use crate::firewall::mangle::MangleChain;
use crate::firewall::raw::RawChain;
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::program::Kind;
use crate::queue::Path;
use crate::router::Router;
use crate::step::Step;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use wire::{Moment, checksum};

/// A packet on its way from port to port of a bridge that has not passed all its queues.
#[derive(Debug)]
pub(crate) struct Bridged {
    pub(crate) p: Packet,
    /// By which port it goes out.
    to: InterfaceId,
    pub(crate) queues: Path,
    pub(crate) cost: Cost,
}

/// Whether the boxes of IP are to see a packet.
pub(super) fn is_seen(r: &Router, p: &Packet) -> bool {
    let is_ip = matches!(p.layers.ether_type, ETHERTYPE_IPV4 | ETHERTYPE_IPV6);
    r.program.bridges_use_ip_firewall && (p.malformed.is_some() || is_ip && p.layers.vlan.is_none())
}

/// The boxes of IP, for a packet that goes out by a port.
pub(super) fn pass(r: &mut Router, now: Moment, p: Packet, to: InterfaceId) {
    match (p.malformed, p.layers.ether_type) {
        (Some(malformed), _) => r.discard(p, reason(malformed)),
        (None, ETHERTYPE_IPV6) => across::<u128>(r, now, p, to),
        (None, _) if !checksum::is_ok(r.ip_header(&p)) => r.discard(p, Discard::BadHeaderChecksum),
        (None, _) => across::<u32>(r, now, p, to),
    }
}

fn across<F: Passes>(r: &mut Router, now: Moment, p: Packet, to: InterfaceId) {
    let Some(mut p) = F::begin(r, p) else { return };
    r.at(Step::RawPrerouting);
    if !raw::<F>(r, now, RawChain::Prerouting, &mut p) {
        return r.discard(p, Discard::RawDrop);
    }
    p.notrack |= p.layers.fragment && r.dst_mac(&p).is_multicast();
    // Who puts fragments together knows nothing of bridges.
    let bridge = (p.in_bridge_port, p.out_interface, p.out_port, p.class, p.learns);
    r.at(Step::TrackPrerouting);
    let Some(mut p) = track::<F>(r, now, p) else { return };
    (p.in_bridge_port, p.out_interface, p.out_port, p.class, p.learns) = bridge;
    r.at(Step::ManglePrerouting);
    mangle::<F>(r, now, MangleChain::Prerouting, &mut p);
    let dst = F::tuple(&p).dst;
    r.at(Step::DstNat);
    if let Err(why) = dst_nat::<F>(r, now, &mut p) {
        return r.discard(p, why);
    }
    if F::tuple(&p).dst != dst {
        let bridge = std::mem::replace(&mut p.out_interface, InterfaceId::NONE);
        (p.out_port, p.class, p.arrival) = (InterfaceId::NONE, None, None);
        r.count_in(&p, bridge);
        return routed::<F>(r, now, p);
    }
    r.at(Step::MangleForward);
    mangle::<F>(r, now, MangleChain::Forward, &mut p);
    r.at(Step::FilterForward);
    let Some(mut p) = F::filter(r, now, FilterChain::Forward, p) else { return };
    r.at(Step::ManglePostrouting);
    mangle::<F>(r, now, MangleChain::Postrouting, &mut p);
    let tuple = F::tuple(&p);
    r.at(Step::SrcNat);
    if let Err(why) = src_nat::<F>(r, now, &mut p) {
        return r.discard(p, why);
    }
    if let Err(why) = confirm::<F>(r, now, &mut p) {
        return r.discard(p, why);
    }
    r.at(Step::HtbGlobal);
    r.at(Step::SimpleQueues);
    let queues = queues::<F>(r, now, &p, &tuple, p.out_interface);
    let cost = F::cost(r, &p, tuple, queues);
    wait::across(r, now, Bridged { p, to, queues, cost })
}

/// It has passed its queues: out by its port, all pieces of it. Meanwhile the bridge may be another one.
pub(super) fn leave(r: &mut Router, now: Moment, Bridged { mut p, to, .. }: Bridged) {
    let kind = r.program.interface(p.out_interface).kind;
    let Kind::Bridge(at) = kind else { return r.discard(p, Discard::InterfaceDown) };
    if r.program.bridge(at).port(to).is_none() {
        return r.discard(p, Discard::NoBridgePort);
    }
    for piece in std::mem::take(&mut p.rest) {
        let mut other = r.packet(piece.frame, piece.layers, p.port);
        (other.in_interface, other.in_bridge_port) = (p.in_interface, p.in_bridge_port);
        (other.out_interface, other.out_port) = (p.out_interface, p.out_port);
        (other.class, other.fast) = (p.class, false);
        bridge_leave(r, now, other, at, to);
    }
    p.fast = false;
    bridge_leave(r, now, p, at, to)
}
