//! VRRP's part of the flow: advertisements sent and received, and who has the virtual address.
//!
//! ```text
//! ticks    ─► [tick] ─► advertisement ─► output ─► … ─► link_out(vrrp) ─► the interface below
//! link_in  ─► [alias_in] ─► IP: the virtual address is the frame's
//! routing  ─► [is_awaited]? input ─► local_in ─► [receive] ─► the machine
//! arp_in   ─► [owner_of]: whose address is asked for
//! ```
//!
//! Over IPv6 the same by `v6/local.rs` and `v6/discovery.rs`: [receive6], [owner_of6].

use super::local::local_out_by;
use super::{link_out, to_router, v6};
use crate::discard::Discard;
use crate::interface::vrrp::machine::Act;
use crate::interface::vrrp::{Machine, Vrrp};
use crate::interface::{InterfaceId, priority};
use crate::ip::arp;
use crate::ip::icmp::write_ipv4;
use crate::ipv6::{ALL_NODES, address, icmp as icmp6};
use crate::packet::{Ends, Packet};
use crate::program::Program;
use crate::router::Router;
use crate::story::{Event, Made};
use port::Frame;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::arp::ArpMessage;
use wire::layers::{ETHERTYPE_IPV4, protocol};
use wire::vrrp::{Advertisement, Authentication, GROUP, GROUP6, TTL};
use wire::{MacAddr, Moment, ah, checksum, layers};

/// The frame has another interface's address, which stands on this one: a virtual router's.
pub(super) fn alias_in(r: &mut Router, now: Moment, mut p: Packet, alias: InterfaceId) {
    p.in_interface = alias;
    if p.layers.vlan.is_some() && priority::take_off(&r.io.slab, &mut p.frame) {
        match layers::network(r.io.slab.bytes(&p.frame)) {
            Ok(layers) => p.layers = layers,
            Err(malformed) => p.malformed = Some(malformed),
        }
    }
    r.count_in(&p, alias);
    p.ingress = r.enter(&p, alias);
    to_router(r, now, p)
}

/// A frame leaves by a virtual router.
pub(super) fn vrrp_out(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    on: InterfaceId,
    frame: Frame,
    fast: bool,
) {
    if !r.program.runs(interface) {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    r.count_out(interface, frame.len(), fast);
    link_out(r, now, on, frame, fast)
}

/// Whether a multicast packet is an advertisement that a virtual router of ours listens to.
#[cold]
pub(super) fn is_awaited(r: &Router, p: &Packet) -> bool {
    p.layers.tuple.dst == GROUP
        && matches!(p.layers.protocol, protocol::VRRP | protocol::AH)
        && r.program.vrrps.iter().any(|vrrp| vrrp.on == p.in_interface && !vrrp.is_ipv6)
}

/// An advertisement has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let header = r.ip_header(&p);
    let (ttl, at) = (header[8], usize::from(p.layers.l3) + header.len());
    let mut payload = &r.io.slab.bytes(&p.frame)[at..usize::from(p.layers.l3_end)];
    let src = Ipv4Addr::from(p.layers.tuple.src).into();
    let mut whole = ttl == TTL && p.rest.is_empty() && p.layers.tuple.dst == GROUP;
    let mut sealed = None;
    if p.layers.protocol == protocol::AH {
        sealed = ah::Header::read(network(r, &p)).filter(|ah| ah.next_header == protocol::VRRP);
        payload = payload.get(ah::LEN..).unwrap_or_default();
        whole &= sealed.is_some();
    }
    let said = Advertisement::read(payload, src).filter(|_| whole);
    heard(r, now, p, src, said, sealed)
}

/// The same over IPv6.
pub(super) fn receive6(r: &mut Router, now: Moment, p: Packet) {
    let hop_limit = r.io.slab.bytes(&p.frame)[usize::from(p.layers.l3) + 7];
    let src = Ipv6Addr::from(p.ends.src);
    let whole = hop_limit == TTL
        && p.rest.is_empty()
        && p.ends.dst == GROUP6
        && src.is_unicast_link_local();
    let said = Advertisement::read(r.transport(&p), src.into()).filter(|_| whole);
    heard(r, now, p, src.into(), said, None)
}

/// The IP packet: its header and what follows.
fn network<'a>(r: &'a Router, p: &'a Packet) -> &'a [u8] {
    &r.io.slab.bytes(&p.frame)[usize::from(p.layers.l3)..usize::from(p.layers.l3_end)]
}

/// `said` was heard, behind an authentication header if it is `sealed`.
fn heard(
    r: &mut Router,
    now: Moment,
    p: Packet,
    src: IpAddr,
    said: Option<Advertisement>,
    sealed: Option<ah::Header>,
) {
    let Some(said) = said else { return r.discard(p, Discard::BadVrrp) };
    let program = r.program.clone();
    let mine = |vrrp: &Vrrp| {
        vrrp.on == p.in_interface && vrrp.vrid == said.vrid && vrrp.is_ipv6 == src.is_ipv6()
    };
    let Some(place) = program.vrrps.iter().position(mine) else {
        return r.discard(p, Discard::NoListener);
    };
    let vrrp = &program.vrrps[place];
    let same = said.version == vrrp.version
        && said.authentication == vrrp.authentication
        && sealed.is_some() == (vrrp.authentication == Authentication::Header)
        && (sealed.is_none() || ah::is_sealed(network(r, &p), &vrrp.key))
        // RFC 3768 §7.1: version 2 has one interval.
        && (vrrp.version == 3 || said.interval_cs == vrrp.interval_cs());
    let (Some(machine), true) = (r.link.machines.get_mut(place), same) else {
        return r.discard(p, Discard::BadVrrp);
    };
    if sealed.is_some_and(|ah| !machine.is_fresh(ah.sequence)) {
        return r.discard(p, Discard::BadVrrp);
    }
    let own = primary(&program, vrrp).unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    machine.speaker = Some(src);
    if vrrp.leader.is_none() {
        // It does not take over before it knows of the other one's connections.
        let mut settings = vrrp.settings;
        settings.preempts &= !r.link.sync.waits(vrrp.interface, now);
        machine.heard(now, &said, src, own, settings);
    }
    // Whether its interface runs follows at the next look.
    r.link.up_due = now;
    r.consume(p)
}

/// The address that advertisements come from: the first of the interface below, or its link's.
pub(super) fn primary(program: &Program, vrrp: &Vrrp) -> Option<IpAddr> {
    if vrrp.is_ipv6 {
        let own = address::source(&program.v6.addresses, vrrp.on, ALL_NODES);
        return own.map(|own| Ipv6Addr::from(own).into());
    }
    let own = program.addresses.iter().find(|own| own.interface == vrrp.on);
    own.map(|own| Ipv4Addr::from(own.address).into())
}

/// The virtual router's addresses; of IPv6 the link's own is the first (RFC 5798 §5.2.9).
fn addresses(program: &Program, vrrp: &Vrrp) -> Vec<IpAddr> {
    if vrrp.is_ipv6 {
        let own = program.v6.addresses.iter().filter(|own| own.interface == vrrp.interface);
        return own.map(|own| Ipv6Addr::from(own.address).into()).collect();
    }
    let own = program.addresses.iter().filter(|own| own.interface == vrrp.interface);
    own.map(|own| Ipv4Addr::from(own.address).into()).collect()
}

/// The virtual router on `interface` that has this address now.
pub(super) fn owner_of(r: &Router, interface: InterfaceId, address: u32) -> Option<InterfaceId> {
    let vrrps = r.program.vrrps.iter().filter(|vrrp| vrrp.on == interface);
    let has = |vrrp: &&Vrrp| {
        let mut all = r.program.addresses.iter();
        r.program.runs(vrrp.interface)
            && all.any(|own| own.interface == vrrp.interface && own.address == address)
    };
    vrrps.map(Some).find_map(|vrrp| vrrp.filter(has)).map(|vrrp| vrrp.interface)
}

/// The virtual router on `interface` that has this address of IPv6 now: those that are backups have none.
pub(super) fn owner_of6(r: &Router, interface: InterfaceId, address: u128) -> Option<InterfaceId> {
    let mut vrrps = r.program.vrrps.iter().filter(|vrrp| vrrp.on == interface);
    let has = |vrrp: &&Vrrp| r.program.v6.has(vrrp.interface, address);
    vrrps.find(has).map(|vrrp| vrrp.interface)
}

/// Lets all machines do what is due; `up` takes those that have the addresses. Returns when
/// something is due next, if that is before `due`.
pub(super) fn tick(
    r: &mut Router,
    now: Moment,
    up: &mut Vec<InterfaceId>,
    mut due: Moment,
) -> Moment {
    let program = r.program.clone();
    let all = || program.vrrps.iter().enumerate();
    // Groups after their masters.
    let alone = all().filter(|(_, vrrp)| vrrp.leader.is_none());
    for (place, vrrp) in alone.chain(all().filter(|(_, vrrp)| vrrp.leader.is_some())) {
        let (link, speaks) = (program.runs(vrrp.on), program.runs(vrrp.interface));
        let leader = all().find(|(_, other)| Some(other.interface) == vrrp.leader);
        let leader = leader.and_then(|(place, _)| r.link.machines.get(place)).cloned();
        let Some(machine) = r.link.machines.get_mut(place) else { continue };
        // What can be sent is known when the program says that its interface runs.
        let act = match leader {
            Some(leader) => machine.follow(now, (link, speaks), vrrp.settings, &leader),
            None => machine.tick(now, link, speaks, vrrp.settings),
        };
        if machine.is_master() {
            up.push(vrrp.interface);
        }
        let news = machine.news();
        due = machine.due().map_or(due, |at| due.min(at));
        if let Some(is_master) = news {
            let [on_master, on_backup] = &vrrp.scripts;
            let script = if is_master { on_master } else { on_backup };
            let who = format!("vrrp {}", program.interface(vrrp.interface).name);
            r.services.want_script(who, &[], script);
        }
        match act {
            Act::Nothing => {}
            Act::Advertise => advertise(r, now, (place, vrrp), vrrp.settings.priority),
            Act::TakeOver => {
                advertise(r, now, (place, vrrp), vrrp.settings.priority);
                announce(r, now, vrrp);
            }
        }
    }
    due
}

/// Those that have the addresses, and will not be there any more, say so.
pub(crate) fn resign(r: &mut Router, now: Moment, next: &[Vrrp]) {
    let program = r.program.clone();
    for (place, vrrp) in program.vrrps.iter().enumerate() {
        let stays = next.iter().any(|other| other.interface == vrrp.interface);
        let is_master = r.link.machines.get(place).is_some_and(Machine::is_master);
        if is_master && !stays && program.runs(vrrp.interface) {
            advertise(r, now, (place, vrrp), 0);
            r.tools.sent = true;
        }
    }
}

/// Sends an advertisement of a virtual router, which stands there in their list.
fn advertise(r: &mut Router, now: Moment, (place, vrrp): (usize, &Vrrp), priority: u8) {
    let Some(src) = primary(&r.program, vrrp) else { return };
    let said = Advertisement {
        version: vrrp.version,
        vrid: vrrp.vrid,
        priority,
        interval_cs: vrrp.interval_cs(),
        addresses: addresses(&r.program, vrrp),
        authentication: vrrp.authentication,
    };
    let bytes = said.to_bytes(src);
    r.tools.sent = true;
    let src = match src {
        IpAddr::V4(src) => src.into(),
        IpAddr::V6(src) => {
            let ends = Ends { src: src.into(), dst: GROUP6 };
            let write = |to: &mut [u8]| to.copy_from_slice(&bytes);
            let (pool, len) = (&mut r.io.pool, bytes.len());
            let Some(frame) = icmp6::packet(pool, ends, protocol::VRRP, TTL, len, write) else {
                return r.stats.discards.add(Discard::NoFrame);
            };
            r.stats.tally.made += 1;
            return v6::local_out(r, now, frame, vrrp.interface);
        }
    };
    let machine = r.link.machines.get_mut(place);
    let header = machine.filter(|_| vrrp.authentication == Authentication::Header).map(|machine| {
        let (next_header, sequence) = (protocol::VRRP, machine.next_sequence());
        ah::Header { next_header, spi: src, sequence }.to_bytes()
    });
    let ah = header.as_ref().map_or(&[][..], |header| header);
    let Some(mut frame) = r.io.pool.alloc(34 + ah.len() + bytes.len()) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    let out = r.io.slab.bytes_mut(&mut frame);
    out[..12].fill(0);
    out[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    out[34..34 + ah.len()].copy_from_slice(ah);
    out[34 + ah.len()..].copy_from_slice(&bytes);
    let protocol = if ah.is_empty() { protocol::VRRP } else { protocol::AH };
    write_ipv4(&mut out[14..], 0xc0, protocol, src, GROUP);
    out[22] = TTL;
    out[24..26].fill(0);
    let sum = checksum::of(&out[14..34]);
    out[24..26].copy_from_slice(&sum.to_be_bytes());
    if !ah.is_empty() {
        ah::seal(&mut out[14..], &vrrp.key);
    }
    r.stats.tally.made += 1;
    local_out_by(r, now, frame, vrrp.interface);
}

/// Tells hosts, and the switches between, where the addresses are now: an ARP request for each, from
/// itself, or a neighbour's advertisement that nobody asked for (RFC 5798 §6.4.1).
fn announce(r: &mut Router, now: Moment, vrrp: &Vrrp) {
    let program = r.program.clone();
    let own = vrrp.mac();
    r.tools.sent = true;
    if vrrp.is_ipv6 {
        for address in program.v6.addresses.iter().filter(|own| own.interface == vrrp.interface) {
            v6::announce(r, now, vrrp.interface, address.address);
        }
        return;
    }
    for address in program.addresses.iter().filter(|own| own.interface == vrrp.interface) {
        let message = ArpMessage::request(own, address.address, address.address);
        match arp::frame(&mut r.io.pool, message, own, MacAddr::BROADCAST) {
            Some(frame) => {
                r.stats.tally.made += 1;
                let (interface, address) = (vrrp.interface, address.address);
                r.tell(|| Event::Makes(Made::ArpRequest { interface, address }));
                link_out(r, now, vrrp.interface, frame, false);
                r.tell(|| Event::Done);
            }
            None => r.stats.discards.add(Discard::NoFrame),
        }
    }
}
