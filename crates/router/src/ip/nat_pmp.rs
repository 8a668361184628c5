//! `/ip nat-pmp`: hosts inside ask for ports of the address outside (RFC 6886).
//!
//! ```text
//! host ─ filter input ─► LOCAL IN ─► request ─► [Mappings]
//! from outside ─► dstnat: no rule decides ─► is the port somebody's? ─► as by dst-nat to that host
//! ```
//!
//! Off unless `enabled`. A mapping is a host's own: for the address that asked, which must be a neighbour
//! on an interface of type `internal`. Ports below 1024 are never given, so that hosts do not take the
//! place of the router's own services; the filter's chain `forward` sees what comes as any other
//! translated connection. Of 4,096 mappings a host has 128, and those of UPnP are among them
//! ([`upnp`](super::upnp)).
//!
//! **Missing**: announcements of a new address, PCP; of what a host sends from such a port the source is
//! not the port outside.

use crate::discard::Discard;
use crate::facility::Facility;
use crate::firewall::menu::NAT;
use crate::firewall::nat::NatVerdict;
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::menu::ANY_INTERFACE;
use crate::interface::{InterfaceId, Names};
use crate::ip::datagram;
use crate::ip::family::Block;
use crate::packet::Packet;
use crate::program::Program;
use crate::router::Router;
use crate::status::{Numbers, RouterStatus, dynamic};
use crate::story::Event;
use config::{AnyName, Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::layers::protocol;
use wire::nat_pmp::{self, Mapping, PORT, Request, result};
use wire::{FiveTuple, Moment};

/// `/ip nat-pmp`.
pub(crate) static MENU: Menu = Menu {
    path: "/ip nat-pmp",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether hosts inside may open ports.").default("no")
    ],
    help: "Hosts inside open ports of the address outside by NAT-PMP.",
};

/// `/ip nat-pmp interfaces`.
pub(crate) static SIDES: Menu = Menu {
    path: "/ip nat-pmp interfaces",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &SIDE,
    help: "Which side of NAT-PMP an interface is on.",
};

/// What is said of an interface that opens ports: here, and by UPnP.
pub(crate) const SIDE: [Property; 3] = [
    Property::new("interface", ANY_INTERFACE, "The interface.").required().column(),
    Property::new("type", Type::Enum(&["external", "internal"]), "Who asks is internal.")
        .required()
        .column(),
    Property::new("forced-ip", Type::Address, "The address outside, if it is not the first.")
        .column(),
];

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| {
        let enabled = c.tree.read_settings(&MENU).bool("enabled");
        let settings = Settings { enabled, sides: Sides::read(c.tree, &SIDES, &c.program.names) };
        if *c.program.nat_pmp != settings {
            c.program.nat_pmp = settings.into();
        }
    },
    ..Facility::of(&MENU)
};

/// `/ip nat-pmp interfaces`.
pub(crate) static SIDES_FACILITY: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&SIDES) };

/// No mapping lives longer than a day without being asked for again.
const LONGEST: u32 = 86_400;
/// Mappings, and those of one host.
const MAX: usize = 4096;
const MAX_OF_ONE: usize = 128;
/// Ports below belong to the router.
const FIRST_PORT: u16 = 1024;

/// `/ip nat-pmp`, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) enabled: bool,
    sides: Sides,
}

/// Who asks, and where ports are opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    pub(crate) internal: Vec<InterfaceId>,
    external: Vec<(InterfaceId, Option<u32>)>,
}

impl Sides {
    /// Reads a menu of interfaces.
    pub(crate) fn read(tree: &Tree, menu: &'static Menu, names: &Names) -> Sides {
        let mut sides = Sides::default();
        for item in tree.read(menu).filter(|item| !item.bool("disabled")) {
            let Some(interface) = names.find(&item.text("interface")) else { continue };
            let forced = match item.opt("forced-ip").as_deref() {
                Some(Value::Address(address)) => Some(u32::from(*address)),
                _ => None,
            };
            match item.text("type") == "internal" {
                true => sides.internal.push(interface),
                false => sides.external.push((interface, forced)),
            }
        }
        sides
    }

    /// The addresses outside, the one that hosts are told first.
    pub(crate) fn outside<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = u32> + 'a {
        self.external.iter().filter_map(|(interface, forced)| {
            let first = || program.addresses.iter().find(|own| own.interface == *interface);
            forced.or_else(|| first().map(|own| own.address))
        })
    }
}

/// How somebody has asked for a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    NatPmp,
    Upnp,
}

impl Maker {
    fn name(self) -> &'static str {
        match self {
            Maker::NatPmp => "nat-pmp",
            Maker::Upnp => "upnp",
        }
    }

    /// The addresses outside whose ports its mappings are.
    fn outside(self, program: &Program) -> impl Iterator<Item = u32> {
        let sides = match self {
            Maker::NatPmp => &program.nat_pmp.sides,
            Maker::Upnp => &program.upnp.sides,
        };
        sides.outside(program)
    }
}

/// A port outside that is a host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) by: Maker,
    pub(crate) host: u32,
    pub(crate) port: u16,
    /// `None` stays for ever, which only UPnP gives.
    pub(crate) ends: Option<Moment>,
    /// What the host says it is for.
    pub(crate) about: String,
}

/// Why there is no such mapping to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The port is somebody else's.
    Taken,
    /// There are enough.
    NoRoom,
}

/// All of them, by protocol and port outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings {
    by_port: BTreeMap<(u8, u16), Mapped>,
    /// When they were all forgotten.
    since: Moment,
}

impl Mappings {
    /// Gives a host what it asks for, or says why not.
    fn give(&mut self, now: Moment, host: u32, asked: Mapping) -> Result<Mapping, u16> {
        let Mapping { protocol, internal, external, lifetime } = asked;
        let is_its = |at: &(u8, u16), mapped: &Mapped| {
            at.0 == protocol && mapped.host == host && mapped.by == Maker::NatPmp
        };
        if lifetime == 0 {
            let goes = |port: u16| internal == 0 || port == internal;
            self.by_port.retain(|at, mapped| !(is_its(at, mapped) && goes(mapped.port)));
            return Ok(Mapping { external: 0, ..asked });
        }
        if internal == 0 {
            return Err(result::REFUSED);
        }
        let lifetime = lifetime.min(LONGEST);
        let ends = now + Duration::from_secs(lifetime.into());
        let mut known = self.by_port.iter_mut();
        if let Some(((_, external), mapped)) =
            known.find(|(at, mapped)| is_its(at, mapped) && mapped.port == internal)
        {
            mapped.ends = Some(ends);
            return Ok(Mapping { external: *external, lifetime, ..asked });
        }
        if !self.has_room(host) {
            return Err(result::RESOURCES);
        }
        let is_free = |port: &u16| self.is_free(host, (protocol, *port));
        let mut ports = [external, internal].into_iter().chain(FIRST_PORT..=u16::MAX);
        let external = ports.find(is_free).ok_or(result::RESOURCES)?;
        let (by, about) = (Maker::NatPmp, String::new());
        let mapped = Mapped { by, host, port: internal, ends: Some(ends), about };
        self.by_port.insert((protocol, external), mapped);
        Ok(Mapping { external, lifetime, ..asked })
    }

    fn has_room(&self, host: u32) -> bool {
        let own = self.by_port.values().filter(|mapped| mapped.host == host).count();
        self.by_port.len() < MAX && own < MAX_OF_ONE
    }

    /// Whether a host may have a port. One of one protocol is not given to another host by the other one
    /// (§3.3).
    fn is_free(&self, host: u32, (protocol, port): (u8, u16)) -> bool {
        let other = if protocol == protocol::TCP { protocol::UDP } else { protocol::TCP };
        port >= FIRST_PORT
            && !self.by_port.contains_key(&(protocol, port))
            && self.by_port.get(&(other, port)).is_none_or(|mapped| mapped.host == host)
    }

    /// Gives a host just this port outside, by UPnP; or changes what it has of it.
    pub(crate) fn put(
        &mut self,
        place: (u8, u16),
        (host, port): (u32, u16),
        ends: Option<Moment>,
        about: String,
    ) -> Result<(), Full> {
        let is_its = |known: &Mapped| known.by == Maker::Upnp && known.host == host;
        if !self.by_port.get(&place).is_some_and(is_its) {
            if !self.is_free(host, place) {
                return Err(Full::Taken);
            }
            if !self.has_room(host) {
                return Err(Full::NoRoom);
            }
        }
        self.by_port.insert(place, Mapped { by: Maker::Upnp, host, port, ends, about });
        Ok(())
    }

    /// Whose a port is.
    pub(crate) fn get(&self, protocol: u8, port: u16) -> Option<&Mapped> {
        self.by_port.get(&(protocol, port))
    }

    pub(crate) fn remove(&mut self, protocol: u8, port: u16) {
        self.by_port.remove(&(protocol, port));
    }

    /// Those that were asked for so: protocol and port outside.
    pub(crate) fn of(&self, by: Maker) -> impl Iterator<Item = (u8, u16, &Mapped)> {
        let all = self.by_port.iter().filter(move |(_, mapped)| mapped.by == by);
        all.map(|(&(protocol, port), mapped)| (protocol, port, mapped))
    }
}

/// Whether a packet is a request.
pub(crate) fn is_asked(r: &Router, p: &Packet) -> bool {
    let settings = &r.program.nat_pmp;
    settings.enabled
        && p.layers.tuple.protocol == protocol::UDP
        && p.layers.tuple.dst_port == PORT
        && settings.sides.internal.contains(&p.in_interface)
}

/// A request has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let Some(request) = r.datagram(&p).and_then(nat_pmp::read) else {
        return r.discard(p, Discard::BadNatPmp);
    };
    let program = r.program.clone();
    let host = p.layers.tuple.src;
    let may = r.is_neighbour(p.in_interface, host);
    let outside = Maker::NatPmp.outside(&program).next();
    let outside = outside.filter(|_| program.tracking).ok_or(result::NETWORK);
    let mappings = &mut r.services.mappings;
    let epoch = now.since(mappings.since).as_secs() as u32;
    let answer = match request {
        Request::Unknown(opcode, why) => nat_pmp::unknown(opcode, why, epoch),
        Request::Address => nat_pmp::address(outside, epoch),
        Request::Map(asked) => {
            let may = if may { outside } else { Err(result::REFUSED) };
            match may.and_then(|_| mappings.give(now, host, asked)) {
                Ok(given) => nat_pmp::mapped(result::SUCCESS, given, epoch),
                Err(why) => nat_pmp::mapped(why, asked, epoch),
            }
        }
    };
    let tuple = p.layers.tuple;
    r.tell(|| Event::Local);
    r.consume(p);
    r.services.due = now;
    datagram::answer(r, now, &tuple, &answer);
}

/// What a connection is translated to that no rule has decided about.
pub(crate) fn verdict(r: &Router, tuple: &FiveTuple) -> NatVerdict {
    let mapped = r.services.mappings.by_port.get(&(tuple.protocol, tuple.dst_port));
    let is_there =
        |mapped: &&Mapped| mapped.by.outside(&r.program).any(|address| address == tuple.dst);
    match mapped.filter(is_there) {
        Some(mapped) => NatVerdict::Dst {
            addresses: Some(Block::host(mapped.host)),
            ports: Some((mapped.port, mapped.port)),
            random: false,
        },
        None => NatVerdict::None,
    }
}

/// Forgets what has ended; returns when the next does.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let mappings = &mut r.services.mappings.by_port;
    mappings.retain(|_, mapped| mapped.ends.is_none_or(|ends| now < ends));
    mappings.values().filter_map(|mapped| mapped.ends).min()
}

/// The settings have changed: all begins anew.
pub(crate) fn adopt(r: &mut Router, now: Moment) {
    forget(r, Maker::NatPmp);
    r.services.mappings.since = now;
}

/// Forgets all that were asked for so.
pub(crate) fn forget(r: &mut Router, by: Maker) {
    r.services.mappings.by_port.retain(|_, mapped| mapped.by != by);
}

/// The mappings as rules, which they are like.
pub(crate) fn rules(status: &RouterStatus) -> Vec<Item> {
    let router = status.router;
    let mut numbers = Numbers::default();
    let rule = |(&(protocol, port), mapped): (&(u8, u16), &Mapped)| {
        let outside = mapped.by.outside(&router.program).next()?;
        let words = [
            ("chain", "dstnat".to_string()),
            ("action", "dst-nat".to_string()),
            ("dst-address", Ipv4Addr::from(outside).to_string()),
            ("protocol", if protocol == protocol::TCP { "tcp" } else { "udp" }.to_string()),
            ("dst-port", port.to_string()),
            ("to-addresses", Ipv4Addr::from(mapped.host).to_string()),
            ("to-ports", mapped.port.to_string()),
        ];
        let value = |(name, text): (&'static str, String)| {
            Some((name, NAT.property(name)?.kind.parse(&text, &AnyName).ok()?))
        };
        let mut item = dynamic(
            numbers.of((mapped.by.name(), protocol, port)),
            words.into_iter().filter_map(value).collect(),
        );
        let left = mapped.ends.map(|ends| Duration::from_secs(ends.since(status.now).as_secs()));
        let left = left.map(|left| format!("{} left", Value::Time(left)));
        let words = [Some(mapped.by.name().to_string()), Some(mapped.about.clone()), left];
        let words = words.into_iter().flatten().filter(|word| !word.is_empty());
        item.comment = words.collect::<Vec<_>>().join(", ");
        Some(item)
    };
    router.services.mappings.by_port.iter().filter_map(rule).collect()
}
