//! `/ip neighbor`: the router tells its neighbours of itself, and knows those that do.
//!
//! ```text
//! every minute, by each interface of the list ─► MNDP through OUTPUT; LLDP, CDP out by the link
//! MNDP in LOCAL IN, LLDP and CDP at the link ─► [ table, 256 at most ] ─► gone after what they said
//! ```
//!
//! RouterOS does so on all interfaces unless told otherwise. A router that is measured says nothing
//! unasked: here `discover-interface-list` is `none` at first. LLDP and CDP are spoken by ports, MNDP by
//! interfaces that are not a bridge's or a bond's. What is said in frames never leads anywhere else.
//!
//! **Missing**: LLDP-MED, 802.3's additions.

pub(crate) mod menu;

use super::datagram::{self, End};
use crate::discard::Discard;
use crate::flow;
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::program::{Kind, Program};
use crate::router::Router;
use crate::story::Event;
use config::{Tree, Value};
use menu::SETTINGS;
use std::collections::BTreeSet;
use std::time::Duration;
use wire::discovery::{Told, cdp, lldp, mndp};
use wire::layers::protocol;
use wire::{MacAddr, Moment};

/// By their bits, from the lowest.
const PROTOCOLS: &[&str] = &["cdp", "lldp", "mndp"];
const CDP: u8 = 1;
const LLDP: u8 = 2;
const MNDP: u8 = 4;
/// Neighbours that are known; further ones are not heard.
const MOST: usize = 256;
/// Who is asked to speak does not do so more often.
const PAUSE: Duration = Duration::from_secs(1);

/// `/ip neighbor discovery-settings`, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    interfaces: BTreeSet<InterfaceId>,
    protocols: u8,
    says: bool,
    hears: bool,
    interval: Duration,
}

impl Settings {
    pub(super) fn compile(tree: &Tree, program: &Program) -> Settings {
        let read = tree.read_settings(&SETTINGS);
        let names = &program.names;
        let of = |list: &Value| -> BTreeSet<InterfaceId> {
            names.list(&list.to_string()).unwrap_or_default().iter().copied().collect()
        };
        let mut interfaces = match &*read.value("discover-interface-list") {
            Value::Not(list) => {
                let not = of(list);
                names.all().filter(|id| !not.contains(id)).collect()
            }
            list => of(list),
        };
        interfaces.retain(|&id| is_ethernet(program, id));
        let spoken = read.list("protocol");
        let bit = |(n, name): (usize, &&str)| {
            let said = spoken.iter().any(|word| word.to_string() == *name);
            u8::from(said) << n
        };
        let mode = read.text("mode");
        Settings {
            interfaces,
            protocols: PROTOCOLS.iter().enumerate().map(bit).sum(),
            says: mode != "rx-only",
            hears: mode != "tx-only",
            interval: read
                .time("discover-interval")
                .clamp(Duration::from_secs(5), Duration::from_secs(3600)),
        }
    }

    fn hears(&self, interface: InterfaceId, protocol: u8) -> bool {
        self.hears && self.protocols & protocol != 0 && self.interfaces.contains(&interface)
    }
}

fn is_ethernet(program: &Program, id: InterfaceId) -> bool {
    match program.interface(id).kind {
        Kind::Ethernet { .. } | Kind::Bridge(_) | Kind::Vlan { .. } | Kind::Bond(_) => true,
        Kind::Tunnel { carries, .. } => carries.is_ethernet(),
        _ => false,
    }
}

/// A neighbour.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// By which it was heard: a port of a bridge, or the interface itself.
    port: InterfaceId,
    interface: InterfaceId,
    /// What it speaks.
    by: u8,
    told: Told,
    heard: Moment,
    gone: Moment,
}

/// What is known of neighbours, and when they are told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    known: Vec<Known>,
    due: Option<Moment>,
    last: Option<Moment>,
    sequence: u16,
}

impl Neighbours {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Known> {
        self.known.iter()
    }

    /// Takes in what a neighbour says; `false` if there is no room for it.
    fn learn(&mut self, new: Known) -> bool {
        let same = |known: &Known| known.port == new.port && known.told.mac == new.told.mac;
        let place = self.known.iter().position(same);
        if new.told.ttl == 0 {
            place.map(|at| self.known.remove(at));
            return true;
        }
        match place {
            Some(at) => {
                let known = &mut self.known[at];
                known.told = join(&known.told, new.told);
                (known.by, known.heard) = (known.by | new.by, new.heard);
                known.gone = known.gone.max(new.gone);
                true
            }
            None if self.known.len() < MOST => {
                self.known.push(new);
                true
            }
            None => false,
        }
    }
}

/// What is said newly, and what was said before in another protocol.
fn join(old: &Told, new: Told) -> Told {
    let or = |new: String, old: &String| if new.is_empty() { old.clone() } else { new };
    Told {
        identity: or(new.identity, &old.identity),
        // MNDP says it best, word by word.
        platform: if old.uptime.is_some() { old.platform.clone() } else { new.platform },
        board: if old.uptime.is_some() { old.board.clone() } else { new.board },
        version: or(new.version, &old.version),
        interface: or(new.interface, &old.interface),
        address: new.address.or(old.address),
        address6: new.address6.or(old.address6),
        uptime: new.uptime.or(old.uptime),
        ..new
    }
}

/// Whether a packet is MNDP, and somebody listens.
pub(crate) fn is_mndp(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP
        && tuple.dst_port == mndp::PORT
        && r.program.system.discovery.hears(p.in_interface, MNDP)
}

/// MNDP has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let Some(payload) = r.datagram(&p) else { return r.discard(p, Discard::BadAnnouncement) };
    if mndp::is_question(payload) {
        let neighbours = &mut r.services.neighbours;
        let earliest = neighbours.last.map_or(now, |last| last + PAUSE);
        neighbours.due = Some(neighbours.due.map_or(earliest, |due| due.min(earliest.max(now))));
        r.services.due = now;
        return r.consume(p);
    }
    let told = mndp::read(payload);
    end(r, now, p, MNDP, told)
}

/// A frame has come in by an interface: what of LLDP and CDP is for the router, it hears; all else is given
/// back, and so is CDP that a bridge has to flood.
#[inline]
pub(crate) fn link_in(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    if r.program.system.discovery.interfaces.is_empty() || !r.dst_mac(&p).is_multicast() {
        return Some(p);
    }
    announced(r, now, p)
}

fn announced(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    let (bytes, dst) = (r.io.slab.bytes(&p.frame), r.dst_mac(&p));
    let (settings, master) = (&r.program.system.discovery, master(&r.program, p.in_interface));
    let hears =
        |protocol| settings.hears(p.in_interface, protocol) || settings.hears(master, protocol);
    let plain = p.layers.vlan.is_none();
    let (told, by) = if plain && dst == lldp::GROUP && p.layers.ether_type == lldp::ETHERTYPE {
        (hears(LLDP).then(|| lldp::read(&bytes[14..])), LLDP)
    } else if plain && dst == cdp::GROUP && cdp::is_cdp(&bytes[12..]) {
        (hears(CDP).then(|| cdp::read(&bytes[12..])), CDP)
    } else {
        (None, 0)
    };
    let Some(told) = told else { return Some(p) };
    if by == CDP && r.program.interface(p.in_interface).bridge.is_some() {
        let _ = heard(r, now, &p, by, told);
        return Some(p);
    }
    end(r, now, p, by, told);
    None
}

/// The bridge or bond that an interface is part of; else itself.
fn master(program: &Program, id: InterfaceId) -> InterfaceId {
    let interface = program.interface(id);
    match (interface.bridge, interface.bond) {
        (Some(at), _) => program.bridge(at).interface,
        (_, Some(at)) => program.bonds[at.index()].interface,
        _ => id,
    }
}

fn end(r: &mut Router, now: Moment, p: Packet, by: u8, told: Option<Told>) {
    match heard(r, now, &p, by, told) {
        Ok(()) => {
            r.tell(|| Event::Local);
            r.consume(p)
        }
        Err(why) => r.discard(p, why),
    }
}

fn heard(
    r: &mut Router,
    now: Moment,
    p: &Packet,
    by: u8,
    told: Option<Told>,
) -> Result<(), Discard> {
    let mut told = told.ok_or(Discard::BadAnnouncement)?;
    if told.mac == MacAddr::default() {
        told.mac = r.src_mac(p);
    }
    let own = r.program.interfaces.iter().any(|interface| interface.mac == told.mac);
    if told.mac.is_multicast() || own {
        return Err(Discard::BadAnnouncement);
    }
    let port = if p.in_bridge_port.is_some() { p.in_bridge_port } else { p.in_interface };
    let gone = now + Duration::from_secs(told.ttl.into());
    let interface = master(&r.program, port);
    let known = Known { port, interface, by, told, heard: now, gone };
    r.services.due = r.services.due.min(gone);
    r.services.neighbours.learn(known).then_some(()).ok_or(Discard::TooManyNeighbours)
}

/// The settings have changed: what is not heard any more is forgotten, the others are told at once.
pub(crate) fn adopt(r: &mut Router, now: Moment) {
    let settings = r.program.system.discovery.clone();
    let neighbours = &mut r.services.neighbours;
    let stays = |known: &Known| {
        settings.interfaces.contains(&known.port) || settings.interfaces.contains(&known.interface)
    };
    neighbours.known.retain(stays);
    neighbours.due = (settings.says && !settings.interfaces.is_empty()).then_some(now);
    r.services.due = now;
}

/// Forgets who is gone, and speaks if that is due; returns when something is due next.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    r.services.neighbours.known.retain(|known| now < known.gone);
    if r.services.neighbours.due.is_some_and(|due| due <= now) {
        let interval = r.program.system.discovery.interval;
        r.services.neighbours.due = Some(now + interval);
        r.services.neighbours.last = Some(now);
        speak(r, now);
    }
    let neighbours = &r.services.neighbours;
    neighbours.known.iter().map(|known| known.gone).chain(neighbours.due).min()
}

fn speak(r: &mut Router, now: Moment) {
    let program = r.program.clone();
    let settings = &program.system.discovery;
    r.services.neighbours.sequence = r.services.neighbours.sequence.wrapping_add(1);
    let sequence = r.services.neighbours.sequence;
    let ttl = settings.interval.as_secs().saturating_mul(3).min(u16::MAX.into()) as u16;
    for &id in settings.interfaces.iter().filter(|&&id| program.runs(id)) {
        let interface = program.interface(id);
        let master = master(&program, id);
        let own = program.addresses.iter().find(|own| own.interface == master);
        let told = Told {
            mac: interface.mac,
            identity: program.system.identity.to_string(),
            platform: "MikroTik".to_string(),
            version: concat!(env!("CARGO_PKG_VERSION"), " (wirespeed)").to_string(),
            board: "wirespeed".to_string(),
            interface: interface.name.to_string(),
            address: own.map(|own| own.address),
            address6: None,
            uptime: Some((now.as_nanos() / 1_000_000_000) as u32),
            routes: program.settings.ip_forward,
            bridges: !program.bridges.is_empty(),
            ttl,
        };
        let says = |protocol| settings.protocols & protocol != 0;
        if says(MNDP) && master == id {
            let bytes = mndp::write(&told, sequence);
            let from = End { address: told.address.unwrap_or(0), port: mndp::PORT };
            let to = End { address: u32::MAX, port: mndp::PORT };
            let macs = (interface.mac, MacAddr::BROADCAST);
            match datagram::udp(&mut r.io.pool, macs, (from, to), &bytes) {
                Some(frame) => {
                    r.stats.tally.made += 1;
                    r.tools.sent = true;
                    flow::local_out_by(r, now, frame, id);
                }
                None => r.stats.discards.add(Discard::NoFrame),
            }
        }
        // A bridge's ports speak for it.
        if matches!(interface.kind, Kind::Bridge(_)) {
            continue;
        }
        if says(LLDP) {
            let bytes = lldp::write(&told, id.index() as u32);
            let frame =
                [&lldp::GROUP.0[..], &interface.mac.0, &lldp::ETHERTYPE.to_be_bytes(), &bytes];
            send(r, now, id, &frame.concat());
        }
        if says(CDP) {
            send(r, now, id, &[&cdp::GROUP.0[..], &interface.mac.0, &cdp::write(&told)].concat());
        }
    }
}

/// Sends a frame out by a link.
fn send(r: &mut Router, now: Moment, by: InterfaceId, bytes: &[u8]) {
    let Some(mut frame) = r.io.pool.alloc(bytes.len()) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    r.io.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
    r.stats.tally.made += 1;
    r.tools.sent = true;
    flow::link_out(r, now, by, frame, false);
}
