//! `/ip dhcp-relay`: clients of a server that is elsewhere (RFC 1542 §4, RFC 3046).
//!
//! ```text
//! a client's request, by the interface ─ giaddr, hops, option 82 ─► each server, through OUTPUT
//! a server's reply to giaddr ─ option 82 off ─► out by the interface, past IP, as a server's own
//! ```
//!
//! A request passes the firewall on its way in, as one for a server here does. Never answers itself.
//! **Missing**: `/ip dhcp-server relay=`: servers here serve no relays.

use super::menu::SERVER;
use crate::discard::Discard;
use crate::facility::Facility;
use crate::flow;
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::menu::ANY_INTERFACE;
use crate::interface::{InterfaceId, Names};
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::own_address;
use crate::packet::Packet;
use crate::program::Program;
use crate::router::Router;
use crate::story::{Event, Made};
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::time::Duration;
use wire::dhcp::{self, Message};
use wire::layers::protocol;
use wire::{MacAddr, Moment};

/// `/ip dhcp-relay`.
static RELAY: Menu = Menu {
    path: "/ip dhcp-relay",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("relay"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "Name of the relay.").column(),
        Property::new("interface", ANY_INTERFACE, "Whose clients it serves.").required().column(),
        Property::new("dhcp-server", Type::List(&Type::Address), "Who is asked for them.")
            .required()
            .column(),
        Property::new(
            "local-address",
            Type::Address,
            "What tells servers the network: an address of the interface, its first if 0.0.0.0.",
        )
        .default("0.0.0.0")
        .column(),
        Property::new(
            "delay-threshold",
            Type::Or(&["none"], &Type::Time),
            "Who waits for less is not heard.",
        )
        .default("none"),
        Property::new("add-relay-info", Type::Bool, "Whether option 82 says where they are.")
            .default("no"),
        Property::new(
            "relay-info-remote-id",
            Type::Text,
            "What it says: the MAC address if empty.",
        ),
    ],
    help: "Interfaces whose clients are served by a DHCP server elsewhere.",
};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| c.program.relays = compile(c.tree, &c.program.names).into(),
    check,
    ..Facility::of(&RELAY)
};

/// A relay, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Relay {
    interface: InterfaceId,
    servers: Vec<u32>,
    local: u32,
    delay: Duration,
    /// Option 82's remote ID, if it is added.
    remote_id: Option<String>,
}

/// A message has come by so many relays at most.
const HOPS: u8 = 16;
/// Option 82, and its parts: by which interface, and for whom.
const INFORMATION: u8 = 82;
const CIRCUIT: u8 = 1;
const REMOTE: u8 = 2;

fn check(item: &Item, tree: &Tree) -> Result<(), String> {
    let mut others = tree.enabled(RELAY.path).chain(tree.enabled(SERVER.path));
    let same =
        |other: &Item| other.id != item.id && other.get("interface") == item.get("interface");
    match !item.disabled && others.any(same) {
        true => Err("failure: the interface has a DHCP server or relay already".to_string()),
        false => Ok(()),
    }
}

fn compile(tree: &Tree, names: &Names) -> Vec<Relay> {
    let relays = tree.read(&RELAY).filter(|item| !item.bool("disabled"));
    let address = |value: &Value| match value {
        Value::Address(address) => u32::from(*address),
        _ => 0,
    };
    let relay = |item: config::Read| {
        let remote_id = item.bool("add-relay-info").then(|| item.text("relay-info-remote-id"));
        Some(Relay {
            interface: names.find(&item.text("interface"))?,
            servers: item.list("dhcp-server").iter().map(address).collect(),
            local: address(&item.value("local-address")),
            delay: match *item.value("delay-threshold") {
                Value::Time(time) => time,
                _ => Duration::ZERO,
            },
            remote_id,
        })
    };
    relays.filter_map(relay).collect()
}

/// The address that tells servers the network.
fn local(program: &Program, relay: &Relay) -> Option<u32> {
    let mut own = program.addresses.iter().filter(|own| own.interface == relay.interface);
    match relay.local {
        0 => own.next().map(|own| own.address),
        local => Some(local),
    }
}

/// Whether a packet is a client's that a relay serves, or a server's for one.
pub(crate) fn is_asked(program: &Program, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    let is_its = |relay: &Relay| {
        relay.interface == p.in_interface
            || relay.servers.contains(&tuple.src) && local(program, relay) == Some(tuple.dst)
    };
    tuple.protocol == protocol::UDP
        && tuple.dst_port == dhcp::SERVER_PORT
        && program.relays.iter().any(is_its)
}

/// A message has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let bytes = r.datagram(&p).map(<[u8]>::to_vec).unwrap_or_default();
    let done = Message::read(&bytes).and_then(|message| match message.op {
        dhcp::REQUEST => request(r, now, &p, bytes, &message),
        _ => reply(r, now, &p, bytes, &message),
    });
    match done {
        Some(()) => {
            r.tell(|| Event::Local);
            r.consume(p)
        }
        None => r.discard(p, Discard::BadDhcp),
    }
}

fn request(
    r: &mut Router,
    now: Moment,
    p: &Packet,
    mut bytes: Vec<u8>,
    message: &Message,
) -> Option<()> {
    let program = r.program.clone();
    let relay = program.relays.iter().find(|relay| relay.interface == p.in_interface)?;
    let local = local(&program, relay)?;
    if message.chaddr.is_multicast() || bytes[3] >= HOPS {
        return None;
    }
    if Duration::from_secs(message.secs.into()) < relay.delay {
        return Some(());
    }
    bytes[3] += 1;
    // The first relay says where the client is; a client that says so itself is not believed (RFC 3046
    // §2.1).
    if message.giaddr == 0 {
        bytes[24..28].copy_from_slice(&local.to_be_bytes());
        if message.get(INFORMATION).is_some() {
            return None;
        }
        if let Some(remote) = &relay.remote_id {
            inform(&program, relay, remote, message.chaddr, &mut bytes);
        }
    }
    for &server in &relay.servers {
        let Some(own) = own_address(r, server) else { continue };
        let port = dhcp::SERVER_PORT;
        let ends = (End { address: own, port }, End { address: server, port });
        let macs = (MacAddr::default(), MacAddr::default());
        match datagram::udp(&mut r.io.pool, macs, ends, &bytes) {
            Some(frame) => {
                r.stats.tally.made += 1;
                r.tools.sent = true;
                r.tell(|| Event::Makes(Made::Dhcp));
                flow::local_out(r, now, frame);
                r.tell(|| Event::Done);
            }
            None => r.stats.discards.add(Discard::NoFrame),
        }
    }
    Some(())
}

/// Says where a client is, behind its own options.
fn inform(program: &Program, relay: &Relay, remote: &str, mac: MacAddr, bytes: &mut Vec<u8>) {
    let circuit = &*program.interface(relay.interface).name;
    let remote = if remote.is_empty() { mac.to_string() } else { remote.to_string() };
    let mut data = Vec::new();
    for (code, text) in [(CIRCUIT, circuit), (REMOTE, &*remote)] {
        let text = &text.as_bytes()[..text.len().min(64)];
        data.extend([code, text.len() as u8]);
        data.extend(text);
    }
    let Some((end, _)) = options(bytes).find(|(_, option)| option.is_none()) else { return };
    bytes.truncate(end);
    bytes.extend([INFORMATION, data.len() as u8]);
    bytes.extend(data);
    bytes.push(255);
}

fn reply(
    r: &mut Router,
    now: Moment,
    p: &Packet,
    mut bytes: Vec<u8>,
    message: &Message,
) -> Option<()> {
    let program = r.program.clone();
    let (src, giaddr) = (p.layers.tuple.src, message.giaddr);
    let is_its =
        |relay: &&Relay| relay.servers.contains(&src) && local(&program, relay) == Some(giaddr);
    let relay = program.relays.iter().find(is_its)?;
    if relay.remote_id.is_some() {
        let place = options(&bytes).find_map(|(at, option)| match option {
            Some((INFORMATION, len)) => Some(at..at + 2 + len),
            _ => None,
        });
        if let Some(range) = place {
            bytes.drain(range);
        }
    }
    let broadcast = message.flags & dhcp::BROADCAST != 0 || message.yiaddr == 0;
    let (mac, address) = match () {
        () if message.ciaddr != 0 => (message.chaddr, message.ciaddr),
        () if broadcast => (MacAddr::BROADCAST, u32::MAX),
        () => (message.chaddr, message.yiaddr),
    };
    let ends = (
        End { address: giaddr, port: dhcp::SERVER_PORT },
        End { address, port: dhcp::CLIENT_PORT },
    );
    let macs = (program.interface(relay.interface).mac, mac);
    match datagram::udp(&mut r.io.pool, macs, ends, &bytes) {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tools.sent = true;
            r.tell(|| Event::Makes(Made::Dhcp));
            flow::link_out(r, now, relay.interface, frame, false);
            r.tell(|| Event::Done);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
    Some(())
}

/// The options of a message behind its magic cookie: where each begins, its code and its length; the last
/// one is where they end.
fn options(bytes: &[u8]) -> impl Iterator<Item = (usize, Option<(u8, usize)>)> {
    let (mut at, mut over) = (240, false);
    std::iter::from_fn(move || {
        let here = at;
        if over {
            return None;
        }
        match (bytes.get(here), bytes.get(here + 1)) {
            (Some(0), _) => {
                at += 1;
                Some((here, Some((0, 0))))
            }
            (Some(&code), Some(&len)) if code != 255 => {
                at += 2 + usize::from(len);
                Some((here, Some((code, len.into()))))
            }
            _ => {
                over = true;
                Some((here.min(bytes.len()), None))
            }
        }
    })
}
