//! `/ip upnp`: hosts inside look for the gateway, and ask it for ports of the address outside (UPnP's
//! InternetGatewayDevice:1).
//!
//! ```text
//! host ─ M-SEARCH, UDP 1900, to all ─► [receive] ─► where the device is described
//!      ─ GET, TCP 2828 ─► flow::tcp ─► [heard] ─► [texts]: the device, its services
//!      ─ POST: a call ──────────────────────────► [calls] ─► the mappings that NAT-PMP has as well
//! ```
//!
//! Off unless `enabled`. Neighbours on an interface of type `internal` are heard, nobody else, and a host
//! gets ports for itself only: rules as NAT-PMP's ([`nat_pmp`](super::nat_pmp)) come of it.
//!
//! **Missing**: events (nobody is told of changes), hosts that open ports for others, calls that take an
//! interface down.

// What calls do.
mod calls;
// What is sent.
mod texts;

use super::datagram::{self, End};
use super::nat_pmp::{SIDE, Sides};
use super::tcp::Ends;
use super::{address, http, nat_pmp};
use crate::discard::Discard;
use crate::facility::Facility;
use crate::interface::InterfaceId;
use crate::interface::facilities::ALL as INTERFACES;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::Event;
use calls::Error;
use config::{Menu, MenuKind, Property, Type};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::layers::protocol;
use wire::upnp::{GROUP, PORT, Request};
use wire::{MacAddr, Moment};

/// `/ip upnp`.
pub(crate) static MENU: Menu = Menu {
    path: "/ip upnp",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether hosts inside may open ports.").default("no"),
        Property::only(
            "allow-disable-external-interface",
            &Type::Bool,
            &["no"],
            "hosts do not take interfaces down",
        ),
        Property::new(
            "show-dummy-rule",
            Type::Bool,
            "Whether there is a mapping if there is none.",
        )
        .default("yes"),
    ],
    help: "Hosts inside open ports of the address outside by UPnP.",
};

/// `/ip upnp interfaces`.
pub(crate) static SIDES: Menu = Menu {
    path: "/ip upnp interfaces",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &SIDE,
    help: "Which side of UPnP an interface is on.",
};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| {
        let item = c.tree.read_settings(&MENU);
        let settings = Settings {
            enabled: item.bool("enabled"),
            has_dummy: item.bool("show-dummy-rule"),
            sides: Sides::read(c.tree, &SIDES, &c.program.names),
        };
        if *c.program.upnp != settings {
            c.program.upnp = settings.into();
        }
    },
    ..Facility::of(&MENU)
};

/// `/ip upnp interfaces`.
pub(crate) static SIDES_FACILITY: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&SIDES) };

/// TCP's port.
pub(crate) const HTTP: u16 = 2828;
/// The documents, and where calls go to.
const DEVICE: &str = "/gateway_description.xml";
const DOES_WAN: &str = "/wanipc.xml";
const DOES_COMMON: &str = "/wancommonifc.xml";
const CONTROL_WAN: &str = "/control/wanipc";
const CONTROL_COMMON: &str = "/control/wancommonifc";
/// The services.
const WAN: &str = "urn:schemas-upnp-org:service:WANIPConnection:1";
const COMMON: &str = "urn:schemas-upnp-org:service:WANCommonInterfaceConfig:1";
const ROOT: &str = "upnp:rootdevice";
const DEVICES: [&str; 3] = [
    "urn:schemas-upnp-org:device:InternetGatewayDevice:1",
    "urn:schemas-upnp-org:device:WANDevice:1",
    "urn:schemas-upnp-org:device:WANConnectionDevice:1",
];
const SERVER: &str = "wirespeed UPnP/1.0 wirespeed/1.0";
/// How long what is told holds, in seconds, and how often it is told.
const HOLDS: u32 = 1800;
const OFTEN: Duration = Duration::from_secs(600);

/// `/ip upnp`, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) enabled: bool,
    has_dummy: bool,
    pub(crate) sides: Sides,
}

/// What is going on.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Those who ask by HTTP.
    talks: http::Talks,
    /// The interfaces where we were announced.
    told: Vec<InterfaceId>,
    /// When that is due again.
    due: Option<Moment>,
}

/// Whether a packet looks for the gateway.
#[cold]
pub(crate) fn is_asked(r: &Router, p: &Packet) -> bool {
    let (settings, tuple) = (&r.program.upnp, &p.layers.tuple);
    settings.enabled
        && tuple.protocol == protocol::UDP
        && tuple.dst_port == PORT
        && settings.sides.internal.contains(&p.in_interface)
        && (tuple.dst == GROUP || r.program.is_local(tuple.dst))
}

/// Whether somebody on this interface may ask by HTTP.
pub(crate) fn listens(r: &Router, on: InterfaceId) -> bool {
    r.program.upnp.enabled && r.program.upnp.sides.internal.contains(&on)
}

/// A datagram has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let said = r.datagram(&p).and_then(|said| Request::read(said).ok()?);
    let wanted = said.filter(|(request, _)| {
        request.method == "M-SEARCH" && request.header("man") == Some("\"ssdp:discover\"")
    });
    let wanted = wanted.and_then(|(request, _)| request.header("st")).map(str::to_string);
    let (on, tuple) = (p.in_interface, p.layers.tuple);
    let Some(wanted) = wanted.filter(|_| r.is_neighbour(on, tuple.src)) else {
        return r.discard(p, Discard::BadUpnp);
    };
    let own = address::source(&r.program.addresses, on, tuple.src);
    r.tell(|| Event::Local);
    r.consume(p);
    let Some(own) = own else { return };
    let ids = ids(r, on);
    let ends = (End { address: own, port: PORT }, End { address: tuple.src, port: tuple.src_port });
    for (kind, name) in kinds(&ids) {
        if wanted == "ssdp:all" || wanted == kind {
            let text = format!(
                "HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age={HOLDS}\r\nEXT:\r\nLOCATION: {}\r\nSERVER: \
                 {SERVER}\r\nST: {kind}\r\nUSN: {name}\r\n\r\n",
                location(own)
            );
            datagram::send(r, now, ends, text.as_bytes());
        }
    }
}

fn location(own: u32) -> String {
    format!("http://{}:{HTTP}{DEVICE}", Ipv4Addr::from(own))
}

/// What the device and those in it are called, which stays so: by the interface's address.
fn ids(r: &Router, on: InterfaceId) -> [String; 3] {
    let MacAddr([a, b, c, d, e, f]) = r.program.interface(on).mac;
    let id = |n: u8| {
        format!("uuid:7769726e-5370-4{n:03}-8000-{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}{f:02x}")
    };
    [id(1), id(2), id(3)]
}

/// All that can be looked for: its type, and this one's name.
fn kinds([root, wan, connection]: &[String; 3]) -> Vec<(String, String)> {
    let ids = [root, wan, connection];
    let mut kinds = vec![(ROOT.to_string(), format!("{root}::{ROOT}"))];
    for (id, device) in ids.into_iter().zip(DEVICES) {
        kinds.push((id.clone(), id.clone()));
        kinds.push((device.to_string(), format!("{id}::{device}")));
    }
    kinds.push((COMMON.to_string(), format!("{wan}::{COMMON}")));
    kinds.push((WAN.to_string(), format!("{connection}::{WAN}")));
    kinds
}

/// Tells all hosts on an interface that we are there, or no longer.
fn announce(r: &mut Router, now: Moment, on: InterfaceId, is_there: bool) {
    let program = r.program.clone();
    let own = program.addresses.iter().find(|own| own.interface == on);
    let Some(own) = own.map(|own| own.address).filter(|_| program.runs(on)) else { return };
    let ids = ids(r, on);
    let from = End { address: own, port: PORT };
    let to = End { address: GROUP, port: PORT };
    for (kind, name) in kinds(&ids) {
        let host = format!("NOTIFY * HTTP/1.1\r\nHOST: {}:{PORT}\r\n", Ipv4Addr::from(GROUP));
        let text = match is_there {
            true => format!(
                "{host}CACHE-CONTROL: max-age={HOLDS}\r\nLOCATION: {}\r\nSERVER: {SERVER}\r\nNT: {kind}\r\n\
                 NTS: ssdp:alive\r\nUSN: {name}\r\n\r\n",
                location(own)
            ),
            false => format!("{host}NT: {kind}\r\nNTS: ssdp:byebye\r\nUSN: {name}\r\n\r\n"),
        };
        // As far as the document wants it to go.
        datagram::to_group(r, now, on, (from, to), 4, text.as_bytes());
    }
}

/// Something has become of a TCP connection.
pub(crate) fn heard(r: &mut Router, now: Moment, ends: Ends) {
    http::heard(r, now, ends, SERVICE);
}

/// What is asked by HTTP, and answered.
const SERVICE: http::Service = (|r| &mut r.services.upnp.talks, answer);

fn answer(r: &mut Router, now: Moment, ends: Ends, request: Option<&Request<'_>>) -> Vec<u8> {
    match request {
        Some(request) => calls::answer(r, now, ends, request),
        None => texts::response("400 Bad Request", ""),
    }
}

/// Sends who takes too long away, and announces what is due; returns when the next is.
pub(crate) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    let talks = http::tick(r, now, SERVICE);
    if r.services.upnp.due.is_some_and(|due| now >= due) {
        let program = r.program.clone();
        let internal = program.upnp.sides.internal.iter().copied();
        let (told, left) =
            (internal.collect::<Vec<_>>(), std::mem::take(&mut r.services.upnp.told));
        let told = if program.upnp.enabled { told } else { Vec::new() };
        for on in left.into_iter().filter(|on| !told.contains(on)) {
            announce(r, now, on, false);
        }
        for on in &told {
            announce(r, now, *on, true);
        }
        r.services.upnp.due = (!told.is_empty()).then_some(now + OFTEN);
        r.services.upnp.told = told;
    }
    talks.into_iter().chain(r.services.upnp.due).min()
}

/// The settings have changed: all begins anew, and is announced.
pub(crate) fn adopt(r: &mut Router, now: Moment) {
    nat_pmp::forget(r, nat_pmp::Maker::Upnp);
    r.services.upnp.due = Some(now);
    r.services.due = now;
}
