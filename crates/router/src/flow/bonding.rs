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
use crate::packet::Packet;
use crate::router::Router;
use port::Frame;
use wire::lacp::{End, GROUP, LEN, Lacpdu, state};
use wire::{MacAddr, Moment, lacp};

/// A frame has come in by a slave.
pub(super) fn bond_in(r: &mut Router, now: Moment, p: Packet, at: BondAt) {
    let program = r.program.clone();
    let (bond, slave) = (&program.bonds[at.0], p.in_interface);
    let bytes = r.io.slab.bytes(&p.frame);
    if bond.mode == Mode::Lacp && bytes[12..14] == lacp::ETHERTYPE.to_be_bytes() {
        let Some(said) = Lacpdu::read(&bytes[14..]) else {
            return r.discard(p, Discard::UnknownProtocol);
        };
        let place = bond.slaves.iter().position(|&other| other == slave);
        let own = place.map(|place| end(bond, at, place, program.interface(bond.interface).mac));
        let known = place.zip(r.link.bonds.get_mut(at.0));
        if let (Some((place, known)), Some(own)) = (known, own) {
            known.slaves[place].lacp.heard(now, &said, &own);
        }
        r.link.up_due = now;
        return r.consume(p);
    }
    if !bond.active.contains(&slave) || !program.runs(bond.interface) {
        return r.discard(p, Discard::InterfaceDown);
    }
    r.count_in(&p, bond.interface);
    link_in(r, now, p, bond.interface)
}

/// A frame leaves by a bond.
pub(super) fn bond_out(r: &mut Router, now: Moment, at: BondAt, frame: Frame, fast: bool) {
    let program = r.program.clone();
    let bond = &program.bonds[at.0];
    if !program.runs(bond.interface) {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    r.count_out(bond.interface, frame.len(), fast);
    let turn = r.link.bonds.get_mut(at.0).map_or(0, |known| {
        known.turn = known.turn.wrapping_add(1);
        known.turn
    });
    if let Some(slave) = bond.slave(r.io.slab.bytes(&frame), turn) {
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
        key: at.0 as u16 + 1,
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
        let at = BondAt(at);
        let Some(known) = r.link.bonds.get_mut(at.0) else { continue };
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
    }
    due
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
