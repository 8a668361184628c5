//! Synchronized connections' part of the flow: what masters say to their backups, and backups hear.
//!
//! ```text
//! chores ─► [tick] ─┬─ backup: a hello ────────────────────────► output ─► … ─► the master
//!                   └─ master: what the scan of the table tells ─► output ─► … ─► each peer
//! local_in ─► [receive] ─► Synchronized: a peer more, or connections
//! ```
//!
//! Datagrams go from port 8275 to port 8275, over IPv4. They are taken of `remote-address` alone; without one,
//! of neighbours on the virtual router's own link (with a TTL of 255: none comes from afar, RFC 5082), and of
//! those connections are believed only to whom the last advertisement was from.

use super::local::{local_out, local_out_by};
use super::vrrp::primary;
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::interface::vrrp::sync::{HELLO, Peering, Standing, Synchronized, TICK};
use crate::interface::vrrp::{Machine, Vrrp};
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::own_address;
use crate::packet::Packet;
use crate::router::Router;
use std::net::IpAddr;
use wire::layers::protocol;
use wire::vrrp::TTL;
use wire::vrrp_sync::{self, Header, Kind, PORT, Record};
use wire::{MacAddr, Moment, checksum};

/// Says what is due.
#[cold]
pub(super) fn tick(r: &mut Router, now: Moment) {
    let program = r.program.clone();
    let mut sync = std::mem::take(&mut r.link.sync);
    if !program.vrrps.iter().any(|vrrp| vrrp.syncs) {
        return;
    }
    sync.due = now + TICK;
    sync.learn(r.changes, &program);
    sync.follow(&program.vrrps, now);
    let syncing = || program.vrrps.iter().enumerate().filter(|(_, vrrp)| vrrp.syncs);
    for ((place, vrrp), peering) in syncing().zip(&mut sync.peerings) {
        let machine = r.link.machines.get(place);
        let (standing, speaker) = (standing(machine), machine.and_then(|machine| machine.speaker));
        let number = if standing == peering.standing { 0 } else { r.services.dice.throw() };
        peering.stand(standing, vrrp.remote.is_some(), now, number as u32);
        let speaker = speaker.and_then(|speaker| match speaker {
            IpAddr::V4(speaker) => Some(speaker.into()),
            IpAddr::V6(_) => None,
        });
        let to = vrrp.remote.or(speaker);
        let (last, due) = peering.hello;
        if let Some(address) = to.filter(|_| standing != Standing::Master)
            && (to != last || now >= due)
        {
            peering.hello = (to, now + HELLO);
            let header = header(vrrp, Kind::Hello, peering.whole);
            send(r, now, vrrp, address, &header.to_bytes());
        }
    }
    let tables = (&mut r.v4.connections, &mut r.v6.connections);
    let datagrams = sync.scan(now, tables);
    for ((_, vrrp), peering) in syncing().zip(&mut sync.peerings) {
        tell(r, now, vrrp, peering, &datagrams);
    }
    r.link.sync = sync;
}

/// Tells the peers of a master; at least that it is there, and which request it has answered.
fn tell(r: &mut Router, now: Moment, vrrp: &Vrrp, peering: &mut Peering, datagrams: &[Vec<u8>]) {
    const NOTHING: &[Vec<u8>] = &[Vec::new()];
    for peer in &mut peering.peers {
        let datagrams = match datagrams {
            [] if now >= peer.told + HELLO => NOTHING,
            some => some,
        };
        for records in datagrams {
            peer.sequence = peer.sequence.wrapping_add(1);
            let (epoch, sequence) = (peer.epoch, peer.sequence);
            let header = header(vrrp, Kind::Connections, peer.answered);
            let header = Header { epoch, sequence, ..header };
            let bytes = [&header.to_bytes()[..], records].concat();
            send(r, now, vrrp, peer.address, &bytes);
            peer.told = now;
        }
    }
}

fn header(vrrp: &Vrrp, kind: Kind, whole: u32) -> Header {
    Header { kind, vrid: vrrp.vrid, is_ipv6: vrrp.is_ipv6, epoch: 0, sequence: 0, whole }
}

fn standing(machine: Option<&Machine>) -> Standing {
    match machine {
        Some(machine) if machine.is_master() => Standing::Master,
        Some(machine) if machine.is_backup() => Standing::Backup,
        _ => Standing::Down,
    }
}

/// Sends a datagram; by the virtual router's own link, if the other end was not typed.
fn send(r: &mut Router, now: Moment, vrrp: &Vrrp, to: u32, payload: &[u8]) {
    let own = match (vrrp.remote, primary(&r.program, vrrp)) {
        (Some(_), _) => own_address(r, to),
        (None, Some(IpAddr::V4(own))) => Some(own.into()),
        _ => None,
    };
    let Some(address) = own else { return };
    let ends = (End { address, port: PORT }, End { address: to, port: PORT });
    let macs = (MacAddr::default(), MacAddr::default());
    let Some(mut frame) = datagram::udp(&mut r.io.pool, macs, ends, payload) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    let ip = &mut r.io.slab.bytes_mut(&mut frame)[14..34];
    ip[8] = TTL;
    ip[10..12].fill(0);
    let sum = checksum::of(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    r.stats.tally.made += 1;
    r.tools.sent = true;
    match vrrp.remote {
        Some(_) => local_out(r, now, frame),
        None => local_out_by(r, now, frame, vrrp.on),
    }
}

/// Whether a packet is for us.
pub(super) fn is_asked(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP
        && tuple.dst_port == PORT
        && r.program.vrrps.iter().any(|vrrp| vrrp.syncs)
}

/// A datagram has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let said = r.datagram(&p).and_then(vrrp_sync::read);
    let Some((header, records)) = said else { return r.discard(p, Discard::BadVrrpSync) };
    let program = r.program.clone();
    let mut vrrps = program.vrrps.iter().zip(&r.link.machines);
    let found = vrrps.find(|(vrrp, machine)| {
        let is_same = vrrp.vrid == header.vrid && vrrp.is_ipv6 == header.is_ipv6;
        vrrp.syncs && is_same && may_say(r, &p, vrrp, machine, header.kind)
    });
    let found = found.map(|(vrrp, machine)| (vrrp, standing(Some(machine))));
    let mut sync = std::mem::take(&mut r.link.sync);
    let mut peerings = sync.peerings.iter_mut();
    let peering = found.and_then(|(vrrp, standing)| {
        let peering = peerings.find(|peering| peering.interface == vrrp.interface)?;
        Some((standing, peering))
    });
    let heard = match (peering, header.kind) {
        (None, _) => Err(Discard::BadVrrpSync),
        (Some((Standing::Master, peering)), Kind::Hello) => {
            let epoch = r.services.dice.throw() as u32;
            let address = p.layers.tuple.src;
            match peering.greet(now, address, header.whole, epoch) {
                true => Ok(None),
                false => Err(Discard::BadVrrpSync),
            }
        }
        (Some((Standing::Backup | Standing::Down, peering)), Kind::Connections) => {
            let before = peering.is_whole;
            match peering.hear(now, &header) {
                true => Ok(Some((peering.interface, peering.is_whole && !before))),
                false => Err(Discard::Repeated),
            }
        }
        // Of two masters each goes on as it did; one that is none has nothing to tell.
        _ => Ok(None),
    };
    if let Ok(Some((from, is_whole))) = heard {
        take(r, now, &mut sync, from, &records);
        if is_whole {
            let text = format!("{} has got all connections", program.interface(from).name);
            r.stats.log.say(now, "vrrp,info", &text);
        }
    }
    r.link.sync = sync;
    match heard {
        Ok(_) => r.consume(p),
        Err(why) => r.discard(p, why),
    }
}

/// Whether somebody may say this to a virtual router.
fn may_say(r: &Router, p: &Packet, vrrp: &Vrrp, machine: &Machine, kind: Kind) -> bool {
    let src = p.layers.tuple.src;
    if let Some(remote) = vrrp.remote {
        return src == remote;
    }
    let is_near =
        p.in_interface == vrrp.on && r.ip_header(p)[8] == TTL && r.is_neighbour(vrrp.on, src);
    let speaks = machine.speaker == Some(IpAddr::V4(src.into()));
    is_near && (kind == Kind::Hello || speaks)
}

/// Takes in what the master of a virtual router has told of connections.
fn take(
    r: &mut Router,
    now: Moment,
    sync: &mut Synchronized,
    from: InterfaceId,
    records: &[Record],
) {
    let program = r.program.clone();
    sync.learn(r.changes, &program);
    for record in records {
        match record {
            Record::V4(state, gone) if program.tracking && sync.is_through(state) => {
                let mark = sync.mark(state.mark);
                sync.v4.take(&mut r.v4.connections, (state, *gone), mark, from, now);
            }
            Record::V6(state, gone) if program.v6.tracking && sync.is_through(state) => {
                let mark = sync.mark(state.mark);
                sync.v6.take(&mut r.v6.connections, (state, *gone), mark, from, now);
            }
            _ => {}
        }
    }
}
