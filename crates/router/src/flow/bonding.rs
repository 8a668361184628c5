//! Bonds in the flow: frames of slaves go up by their bond, frames of a bond down by its slaves.
//!
//! ```text
//! link_in(slave) ─► [bond_in] ─┬─ LACPDU ─► the slave's machine
//!                              └─► link_in(bond)
//! link_out(bond) ─► [bond_out] ─► link_out(slave), one or each
//! ticks          ─► [tick] ─► which slaves are active; LACPDUs ─► link_out(slave)
//! ```

use super::{link_in, link_out};
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::interface::bonding::{Bond, BondAt, Mode};
use crate::ip::{address, arp};
use crate::packet::Packet;
use crate::router::Router;
use port::Frame;
use wire::arp::{Arp, ArpMessage, Operation};
use wire::ethernet::ETHERTYPE_ARP;
use wire::lacp::{End, GROUP, LEN, Lacpdu, state};
use wire::{MacAddr, Moment, lacp};

/// A frame has come in by a slave.
pub(super) fn bond_in(r: &mut Router, now: Moment, mut p: Packet, at: BondAt) {
    let program = r.program.clone();
    let (bond, slave) = (&program.bonds[at.index()], p.in_interface);
    let bytes = r.io.slab.bytes(&p.frame);
    if bond.mode == Mode::Lacp && bytes[12..14] == lacp::ETHERTYPE.to_be_bytes() {
        let Some(said) = Lacpdu::read(&bytes[14..]) else {
            return r.discard(p, Discard::UnknownProtocol);
        };
        let place = bond.slaves.iter().position(|&other| other == slave);
        let own = place.map(|place| end(bond, at, place, program.interface(bond.interface).mac));
        let known = place.zip(r.link.bonds.get_mut(at.index()));
        if let (Some((place, known)), Some(own)) = (known, own) {
            known.slaves[place].lacp.heard(now, &said, &own);
        }
        r.link.up_due = now;
        return r.consume(p);
    }
    if bond.watch.is_some()
        && let Some(place) = bond.slaves.iter().position(|&other| other == slave)
        && let Some(known) = r.link.bonds.get_mut(at.index())
    {
        known.slaves[place].heard = Some(now);
        r.link.up_due = if bond.active.contains(&slave) { r.link.up_due } else { now };
    }
    let receives = bond.receiver().is_none_or(|receiver| receiver == slave);
    let bytes = r.io.slab.bytes_mut(&mut p.frame);
    let own = program.interface(slave).mac;
    let is_its_own = bond.mode == Mode::Alb && bytes.starts_with(&own.0);
    let is_active = bond.active.contains(&slave) && program.runs(bond.interface);
    if !is_active || !receives && !is_its_own {
        return r.discard(p, Discard::InterfaceDown);
    }
    if !receives {
        // The fast path knows a port by one address, and this slave's is not the bond's.
        p.arrival = None;
    }
    if is_its_own {
        bytes[..6].copy_from_slice(&program.interface(bond.interface).mac.0);
    }
    let answers = arp_of(bytes).filter(|arp| arp.operation == Operation::Reply);
    r.count_in(&p, bond.interface);
    link_in(r, now, p, bond.interface);
    // Who has answered has heard the bond's address, which is one slave's; unless it was told already, as
    // another bond like this one would tell us in turn.
    let is_news = |arp: &ArpMessage| {
        let told = bond.told_to(arp.sender_ip);
        told.is_some_and(|slave| program.interface(slave).mac != arp.target_mac)
    };
    if let Some(arp) = answers.filter(is_news) {
        tell(r, now, bond, (arp.sender_ip, arp.sender_mac), arp.target_ip);
    }
}

/// What a frame says by ARP, if it has no tag.
fn arp_of(bytes: &[u8]) -> Option<ArpMessage> {
    let is_arp = bytes.get(12..14)? == ETHERTYPE_ARP.to_be_bytes();
    let arp = is_arp.then(|| Arp::new(&bytes[14..]).ok())??;
    Some(arp.message())
}

/// Tells a host the address of the slave that is to receive from it, in balance-alb.
fn tell(r: &mut Router, now: Moment, bond: &Bond, host: (u32, MacAddr), own: u32) {
    let Some(slave) = bond.told_to(host.0) else { return };
    let (mac, (target_ip, target_mac)) = (r.program.interface(slave).mac, host);
    let says = ArpMessage {
        operation: Operation::Reply,
        sender_mac: mac,
        sender_ip: own,
        target_mac,
        target_ip,
    };
    let is_own = r.program.addresses.iter().any(|address| address.address == own);
    if is_own && target_mac.0[0] & 1 == 0 {
        send(r, now, slave, says, target_mac);
    }
}

fn send(r: &mut Router, now: Moment, slave: InterfaceId, says: ArpMessage, to: MacAddr) {
    match arp::frame(&mut r.io.pool, says, says.sender_mac, to) {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tools.sent = true;
            link_out(r, now, slave, frame, false);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}

/// A frame leaves by a bond.
pub(super) fn bond_out(r: &mut Router, now: Moment, at: BondAt, mut frame: Frame, fast: bool) {
    let program = r.program.clone();
    let bond = &program.bonds[at.index()];
    if !program.runs(bond.interface) {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    r.count_out(bond.interface, frame.len(), fast);
    let turn = r.link.bonds.get_mut(at.index()).map_or(0, |known| {
        known.turn = known.turn.wrapping_add(1);
        known.turn
    });
    let bytes = r.io.slab.bytes_mut(&mut frame);
    if let Some(mut slave) = bond.slave(bytes, turn) {
        if let Some(receiver) = bond.receiver() {
            let own = program.interface(bond.interface).mac;
            let is_ours = bytes[6..12] == own.0;
            let answer = arp_of(bytes).filter(|arp| {
                is_ours && arp.operation == Operation::Reply && arp.sender_mac == own
            });
            if let Some(told) = answer.and_then(|arp| bond.told_to(arp.target_ip)) {
                slave = told;
                bytes[14 + 8..14 + 14].copy_from_slice(&program.interface(slave).mac.0);
            }
            if is_ours && slave != receiver {
                bytes[6..12].copy_from_slice(&program.interface(slave).mac.0);
            }
        }
        return link_out(r, now, slave, frame, fast);
    }
    let Some((&last, others)) = bond.active.split_last() else {
        return r.discard_frame(frame, Discard::InterfaceDown);
    };
    for &slave in others {
        match r.copy_frame(&frame) {
            Some(copy) => link_out(r, now, slave, copy, fast),
            None => r.stats.discards.add(Discard::NoFrame),
        }
    }
    link_out(r, now, last, frame, fast)
}

/// The end of LACP's that a slave is.
fn end(bond: &Bond, at: BondAt, place: usize, system: MacAddr) -> End {
    End {
        system_priority: 65535,
        system,
        key: at.0 + 1,
        port_priority: 255,
        port: place as u16 + 1,
        state: state::ACTIVITY | if bond.fast { state::TIMEOUT } else { 0 },
    }
}

/// Finds out which slaves are active, and lets LACP speak; `up` takes them, and the bonds that run.
/// Returns when something is due next, if that is before `due`.
pub(super) fn tick(
    r: &mut Router,
    now: Moment,
    up: &mut Vec<InterfaceId>,
    mut due: Moment,
) -> Moment {
    let program = r.program.clone();
    for (at, bond) in program.bonds.iter().enumerate() {
        let at = BondAt(at as u16);
        let Some(known) = r.link.bonds.get_mut(at.index()) else { continue };
        let system = program.interface(bond.interface).mac;
        let link = |slave| program.runs(slave);
        let own = |place| end(bond, at, place, system);
        let (active, says) = known.tick(now, bond, &link, &own);
        if known.waits() {
            due = due.min(now + std::time::Duration::from_millis(10));
        }
        if active.len() >= bond.min_links {
            up.push(bond.interface);
        }
        up.extend(active);
        for (slave, says) in says {
            say(r, now, slave, says);
        }
        due = watch(r, now, at, bond, due);
        let told = r
            .link
            .bonds
            .get_mut(at.index())
            .map(|known| std::mem::replace(&mut known.told, bond.active.clone()));
        if bond.mode == Mode::Alb && told.is_some_and(|told| told != bond.active) {
            tell_all(r, now, bond);
        }
    }
    due
}

/// Asks the targets of ARP monitoring. Returns when they are asked next, if that is before `due`.
fn watch(r: &mut Router, now: Moment, at: BondAt, bond: &Bond, due: Moment) -> Moment {
    let Some((_, targets)) = &bond.watch else { return due };
    let Some(known) = r.link.bonds.get_mut(at.index()) else { return due };
    let slaves = known.asks(now, bond);
    let next = known.asks_at().unwrap_or(due);
    let program = r.program.clone();
    let mac = program.interface(bond.interface).mac;
    for (slave, &target) in slaves.iter().flat_map(|slave| targets.iter().map(move |t| (slave, t)))
    {
        if program.runs(*slave) {
            let own = address::source(&program.addresses, bond.interface, target).unwrap_or(0);
            send(r, now, *slave, ArpMessage::request(mac, own, target), MacAddr::BROADCAST);
        }
    }
    due.min(next)
}

/// Other slaves receive now: the hosts that are known are told.
fn tell_all(r: &mut Router, now: Moment, bond: &Bond) {
    let program = r.program.clone();
    let all = r.v4.neighbours.iter().filter(|neighbour| neighbour.interface == bond.interface);
    let all: Vec<_> = all.filter_map(|host| Some((host.address, host.mac?))).collect();
    for host in all {
        if let Some(own) = address::source(&program.addresses, bond.interface, host.0) {
            tell(r, now, bond, host, own);
        }
    }
}

/// Sends a LACPDU.
fn say(r: &mut Router, now: Moment, slave: InterfaceId, says: Lacpdu) {
    let own = r.program.interface(slave).mac;
    let Some(mut frame) = r.io.pool.alloc(14 + LEN) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    let bytes = r.io.slab.bytes_mut(&mut frame);
    bytes[..6].copy_from_slice(&GROUP.0);
    bytes[6..12].copy_from_slice(&own.0);
    bytes[12..14].copy_from_slice(&lacp::ETHERTYPE.to_be_bytes());
    bytes[14..].copy_from_slice(&says.to_bytes());
    r.stats.tally.made += 1;
    r.tools.sent = true;
    link_out(r, now, slave, frame, false);
}
