//! Checks of a packet that several boxes make, and its counts.

use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::ip::route::Target;
use crate::ip::settings::ReversePath;
use crate::ip::{dhcp, discovery};
use crate::packet::Packet;
use crate::router::Router;
use wire::layers::Malformed;

/// Counts a frame as received in FastPath: once, by however many ports it leaves.
pub(super) fn count_bridged(r: &mut Router, p: &Packet) {
    if p.fast && r.bridge_fast_path() {
        r.stats.interface_counts[p.port.index()].fast_rx.add(p.frame.len() as u64);
    }
}

/// A source that no host may have (RFC 1812 §5.3.7).
#[inline]
pub(crate) fn is_martian_source(src: u32) -> bool {
    matches!(src >> 24, 0 | 127 | 224..)
}

/// A source that is the router's own, or a broadcast of its networks: as Linux has it, a packet that
/// comes from outside has none of these.
#[inline]
pub(crate) fn is_own_source(r: &Router, src: u32, vrf: Mark) -> bool {
    r.program.own_sources.may_have(src)
        && matches!(
            r.v4.routes.target(r.v4.routes.lookup_in(vrf, src)),
            Some(Target::Local | Target::Broadcast)
        )
}

/// The name under which a damaged packet ends.
pub(super) fn reason(malformed: Malformed) -> Discard {
    match malformed {
        Malformed::Ethernet => Discard::MalformedEthernet,
        Malformed::Ipv4 => Discard::MalformedIpv4,
        Malformed::Ipv6 => Discard::MalformedIpv6,
        Malformed::Arp => Discard::MalformedArp,
        Malformed::Transport => Discard::MalformedTransport,
    }
}

/// Why a packet's source cannot be, if it cannot.
pub(super) fn bad_source(r: &Router, p: &Packet) -> Option<Discard> {
    let src = p.layers.tuple.src;
    if is_martian_source(src) {
        return (!is_nobodys(r, p)).then_some(Discard::MartianSource);
    }
    if is_own_source(r, src, p.vrf) {
        return Some(Discard::MartianSource);
    }
    let by = |interface| match r.program.settings.reverse_path {
        ReversePath::Strict => interface == p.in_interface,
        _ => true,
    };
    let leads_back = || match r.v4.routes.target(r.v4.routes.lookup_in(p.vrf, src)) {
        Some(Target::Connected(interface)) => by(*interface),
        Some(Target::Gateways(ways)) => ways.iter().any(|(interface, _)| by(*interface)),
        _ => false,
    };
    let asks = r.program.settings.reverse_path != ReversePath::No;
    (asks && !leads_back()).then_some(Discard::ReversePath)
}

/// Whether a packet is from somebody who has no address yet, and the router hears such.
fn is_nobodys(r: &Router, p: &Packet) -> bool {
    dhcp::server::is_nobodys(&r.program, p) || p.layers.tuple.src == 0 && discovery::is_mndp(r, p)
}
