//! Address family of the flow: the steps that differ between IPv4 and IPv6, so that the flow is written once.
//!
//! ```text
//! flow.rs:  come ─► raw, tracking, mangle, dst-nat ─► beside_tables, whither ─► next_hop ─► stops ─► … ─► keep
//!            IPv4: the header's checksum, gateways (ECMP), DF, options        here
//!            IPv6: extension headers, links' own addresses, groups, redirects v6.rs
//! ```

use super::leave::{Onward, decide, record};
use super::rules::verdict_says;
use super::wait::{Cost, Waits};
use super::{Hop, checks, help, leave, local, routing, rules, tunnel};
use crate::counter::Count;
use crate::discard::Discard;
use crate::fast::first;
use crate::firewall::filter::FilterChain;
use crate::firewall::mangle::Mangle;
use crate::firewall::raw::Raw;
use crate::interface::InterfaceId;
use crate::ip::fib::NextHopId;
use crate::ip::route::Target;
use crate::ip::rule::{Action, Decision as Decided, Lookup};
use crate::ip::{icmp, record_route};
use crate::packet::Packet;
use crate::program::Program;
use crate::queue::Path;
use crate::queue::simple::Sorted;
use crate::router::Router;
use crate::story::{Event, Table};
use wire::{FiveTuple, Moment, checksum};

/// A family whose packets pass the boxes.
pub(crate) trait Passes: Waits + Sorted {
    /// What the router says about a packet that it could not forward.
    type Error: Copy;
    /// No route leads there.
    const NO_ROUTE: Self::Error;
    /// Nobody is there.
    const UNREACHABLE: Self::Error;
    /// It may not go there.
    const PROHIBITED: Self::Error;
    /// Its TTL ran out.
    const TTL_EXCEEDED: Self::Error;
    /// The tables of `mangle` and of `raw`.
    const TABLES: (Table, Table);

    /// Discards a packet and, where the RFCs allow, says so to its sender.
    fn refuse(r: &mut Router, now: Moment, p: Packet, why: Discard, error: Self::Error);

    /// Reads what a packet's boxes look at, and says in which VRF it is; `None` if it may not be on a wire,
    /// or comes again.
    fn come(r: &mut Router, now: Moment, p: Packet) -> Option<Packet>;

    /// The same of one of the router's own.
    fn begin(r: &mut Router, p: Packet) -> Option<Packet>;

    /// The rules of mangle; none before they were compiled.
    fn mangle(program: &Program) -> Option<&Mangle>;

    /// The rules of raw.
    fn raw(program: &Program) -> Option<&Raw>;

    /// Walks a packet through a chain of the filter; `None` if it is gone.
    fn filter(r: &mut Router, now: Moment, chain: FilterChain, p: Packet) -> Option<Packet>;

    /// What becomes of a packet that asks no table.
    fn beside_tables(_: &Router, _: &Packet) -> Option<Fate<Self::Error>> {
        None
    }

    /// What becomes of a packet that may not leave its link, though a route leads on.
    fn of_link(_: &Packet) -> Option<Fate<Self::Error>> {
        None
    }

    /// Whether the router hears what is sent to a packet's group.
    fn hears(r: &Router, p: &Packet) -> bool;

    /// Whether packets are forwarded at all.
    fn forwards(r: &Router) -> bool;

    /// The next hop behind a leaf that forwards.
    fn next_hop(r: &mut Router, leaf: NextHopId, p: &Packet) -> Hop<Self>;

    /// Whether FastPath is open.
    fn fast_path(r: &Router) -> bool;

    /// Takes one from the TTL; no, if it is at its end.
    fn decrement_ttl(r: &mut Router, p: &mut Packet) -> bool;

    /// Why a packet cannot take this hop, and what is said about it.
    fn stops(
        r: &mut Router,
        now: Moment,
        p: &Packet,
        hop: Hop<Self>,
    ) -> Option<(Discard, Self::Error)>;

    /// Whether a packet passes no queue.
    fn is_urgent(_: &Router, _: &Packet) -> bool {
        false
    }

    /// What a packet is to these queues.
    fn cost(r: &Router, p: &Packet, tuple: FiveTuple<Self>, queues: Path) -> Cost;

    /// The router's own programs.
    fn local_in(r: &mut Router, now: Moment, p: Packet);

    /// The way of a packet of the router's own; `None` if no route leads anywhere.
    fn way_out(r: &mut Router, p: &Packet) -> Option<Onward<Self>>;

    /// Keeps what a packet went through that is for the router itself.
    fn keep_inward(_: &mut Router, _: Moment, _: &Packet, _: Path) {}

    /// Keeps what a packet went through that leaves.
    fn keep(r: &mut Router, now: Moment, p: &mut Packet, hop: Hop<Self>, queues: Path) {
        let kept = record::<Self>(r, now, p, hop, queues).map(|_| ());
        r.tell(|| Event::Kept(kept));
    }

    /// What FastTrack has carried.
    fn fasttrack(r: &mut Router) -> &mut Count;
}

/// What becomes of a packet.
pub(crate) enum Fate<E> {
    /// It is for the router.
    Here,
    /// It goes on, by this leaf.
    On(NextHopId),
    /// It is dropped.
    Dropped(Discard),
    /// It is dropped, and its sender told.
    Refused(Discard, E),
}

/// What the tables say of a packet.
pub(super) fn whither<F: Passes>(r: &mut Router, p: &Packet) -> Fate<F::Error> {
    let leaf = match decide::<F>(r, p) {
        Decided::Route { leaf, .. } => leaf,
        Decided::Ends(Action::Unreachable, _) => {
            return Fate::Refused(Discard::RouteRuleUnreachable, F::UNREACHABLE);
        }
        Decided::Ends(Action::Prohibit, _) => {
            return Fate::Refused(Discard::RouteProhibit, F::PROHIBITED);
        }
        Decided::Ends(..) => return Fate::Dropped(Discard::RouteRuleDrop),
    };
    match F::routes(r).target(leaf) {
        Some(Target::Local | Target::Broadcast) => Fate::Here,
        Some(Target::Martian) => Fate::Dropped(Discard::MartianDestination),
        Some(Target::Multicast) if F::hears(r, p) => Fate::Here,
        Some(Target::Multicast) => Fate::Dropped(Discard::MulticastDestination),
        // RFC 1812 §5.3.4: what came as a link-layer broadcast is not forwarded.
        _ if r.dst_mac(p).is_multicast() => Fate::Dropped(Discard::OtherHost),
        _ if !F::forwards(r) => Fate::Dropped(Discard::ForwardingOff),
        None => Fate::Refused(Discard::NoRoute, F::NO_ROUTE),
        Some(Target::Blackhole) => Fate::Dropped(Discard::RouteBlackhole),
        Some(Target::Unreachable) => Fate::Refused(Discard::RouteUnreachable, F::UNREACHABLE),
        Some(Target::Prohibit) => Fate::Refused(Discard::RouteProhibit, F::PROHIBITED),
        Some(Target::Connected(_) | Target::Gateways(_)) => F::of_link(p).unwrap_or(Fate::On(leaf)),
    }
}

/// The queues of a packet.
pub(super) fn queues<F: Passes>(
    r: &mut Router,
    now: Moment,
    p: &Packet,
    tuple: &FiveTuple<F>,
    out: InterfaceId,
) -> Path {
    if F::is_urgent(r, p) {
        return Path::NONE;
    }
    let (mark, clock) = (p.marks.packet, (&mut r.rules.clock, now));
    r.program.queue_path(tuple, p.in_interface, out, mark, clock)
}

impl Passes for u32 {
    type Error = icmp::Error;
    const NO_ROUTE: icmp::Error = icmp::Error::NET_UNREACHABLE;
    const UNREACHABLE: icmp::Error = icmp::Error::HOST_UNREACHABLE;
    const PROHIBITED: icmp::Error = icmp::Error::ADMIN_PROHIBITED;
    const TTL_EXCEEDED: icmp::Error = icmp::Error::TTL_EXCEEDED;
    const TABLES: (Table, Table) = (Table::Mangle, Table::Raw);

    fn refuse(r: &mut Router, now: Moment, p: Packet, why: Discard, error: icmp::Error) {
        local::refuse(r, now, p, why, error)
    }

    fn come(r: &mut Router, now: Moment, mut p: Packet) -> Option<Packet> {
        if help::wants_whole(r, &p) {
            r.finish_in(p, |r, p| routing::<u32>(r, now, p));
            return None;
        }
        let why = if checksum::is_ok(r.ip_header(&p)) {
            p.vrf = r.program.vrfs.of(p.in_interface);
            checks::bad_source(r, &p)
        } else {
            Some(Discard::BadHeaderChecksum)
        };
        if let Some(why) = why {
            r.discard(p, why);
            return None;
        }
        Some(p)
    }

    fn begin(_: &mut Router, p: Packet) -> Option<Packet> {
        Some(p)
    }

    fn mangle(program: &Program) -> Option<&Mangle> {
        Some(&program.mangle)
    }

    fn raw(program: &Program) -> Option<&Raw> {
        Some(&program.raw)
    }

    fn filter(r: &mut Router, now: Moment, chain: FilterChain, mut p: Packet) -> Option<Packet> {
        if chain == FilterChain::Input && p.redirected.is_some() {
            return Some(p);
        }
        let verdict = rules::filter(r, now, chain, &mut p);
        verdict_says(r, now, p, verdict)
    }

    fn hears(r: &Router, p: &Packet) -> bool {
        local::is_heard(r, p)
    }

    fn forwards(r: &Router) -> bool {
        r.program.settings.ip_forward
    }

    fn next_hop(r: &mut Router, leaf: NextHopId, p: &Packet) -> Hop {
        leave::next_hop(r, leaf, &p.layers)
    }

    fn fast_path(r: &Router) -> bool {
        r.ipv4_fast_path()
    }

    fn decrement_ttl(r: &mut Router, p: &mut Packet) -> bool {
        r.decrement_ttl(p)
    }

    fn stops(r: &mut Router, _: Moment, p: &Packet, hop: Hop) -> Option<(Discard, icmp::Error)> {
        // It was to come to the router itself, and nobody could translate it.
        if p.redirected.is_some() {
            return Some((Discard::HotspotLogin, icmp::Error::ADMIN_PROHIBITED));
        }
        let mtu = r.program.mtu(hop);
        let stops = r.longest_piece(p) > mtu && r.dont_fragment(p);
        stops.then(|| (Discard::FragmentationNeeded, icmp::Error::fragmentation_needed(mtu)))
    }

    fn cost(r: &Router, p: &Packet, tuple: FiveTuple, _: Path) -> Cost {
        r.cost(p, tuple)
    }

    fn local_in(r: &mut Router, now: Moment, p: Packet) {
        local::local_in(r, now, p)
    }

    fn way_out(r: &mut Router, p: &Packet) -> Option<Onward> {
        leave::way_out(r, p)
    }

    fn keep_inward(r: &mut Router, now: Moment, p: &Packet, queues: Path) {
        if tunnel::is_outer(r, p) {
            let kept = leave::keep_inward(r, now, p, queues);
            r.tell(|| Event::Kept(kept));
        }
    }

    fn keep(r: &mut Router, now: Moment, p: &mut Packet, hop: Hop, queues: Path) {
        record_route::note(r, p, hop.interface);
        let kept = record::<u32>(r, now, p, hop, queues);
        if let Ok(kept) = kept
            && queues == Path::NONE
        {
            first::note(r, p, hop, kept);
        }
        r.tell(|| Event::Kept(kept.map(|_| ())));
    }

    fn fasttrack(r: &mut Router) -> &mut Count {
        &mut r.stats.paths.ipv4_fasttrack
    }
}
