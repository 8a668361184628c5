//! Actions of UPnP's services: what each call does.

use super::super::nat_pmp::{self, Maker};
use super::texts;
use super::{COMMON, CONTROL_COMMON, CONTROL_WAN, WAN};
use crate::ip::tcp::Ends;
use crate::router::Router;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::Moment;
use wire::layers::protocol;
use wire::upnp::{Call, Request};

/// Why something is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Error {
    InvalidAction = 401,
    InvalidArgs = 402,
    ActionFailed = 501,
    NotAuthorized = 606,
    ArrayIndexInvalid = 713,
    NoSuchEntryInArray = 714,
    WildCardNotPermittedInExtPort = 716,
    ConflictInMappingEntry = 718,
    RemoteHostOnlySupportsWildcard = 726,
}

impl Error {
    pub(super) fn name(self) -> &'static str {
        match self {
            Error::InvalidAction => "Invalid Action",
            Error::InvalidArgs => "Invalid Args",
            Error::ActionFailed => "Action Failed",
            Error::NotAuthorized => "Action not authorized",
            Error::ArrayIndexInvalid => "SpecifiedArrayIndexInvalid",
            Error::NoSuchEntryInArray => "NoSuchEntryInArray",
            Error::WildCardNotPermittedInExtPort => "WildCardNotPermittedInExtPort",
            Error::ConflictInMappingEntry => "ConflictInMappingEntry",
            Error::RemoteHostOnlySupportsWildcard => "RemoteHostOnlySupportsWildcard",
        }
    }
}

type Values = Vec<(&'static str, String)>;

/// What a request by HTTP is answered.
pub(super) fn answer(r: &mut Router, now: Moment, ends: Ends, request: &Request) -> Vec<u8> {
    let service = match request.path {
        CONTROL_WAN => WAN,
        CONTROL_COMMON => COMMON,
        path => {
            let on = r.program.addresses.iter().find(|own| own.address == ends.0.address);
            let ids = super::ids(r, on.map(|own| own.interface).unwrap_or_default());
            let name = r.program.system.identity.to_string();
            let ids = [0, 1, 2].map(|n| &ids[n][..]);
            return match texts::document(path, &name, ids) {
                Some(text) if request.method == "GET" => texts::response("200 OK", &text),
                Some(_) => texts::response("405 Method Not Allowed", ""),
                None => texts::response("404 Not Found", ""),
            };
        }
    };
    if request.method != "POST" {
        return texts::response("405 Method Not Allowed", "");
    }
    let Some(call) = Call::read(request.body) else {
        return texts::response("400 Bad Request", "");
    };
    let done = match service {
        WAN => of_wan(r, now, ends, &call),
        _ => of_common(&call),
    };
    match done {
        Ok(values) => texts::response("200 OK", &texts::answer(service, &call.action, &values)),
        Err(why) => texts::response("500 Internal Server Error", &texts::fault(why)),
    }
}

fn of_common(call: &Call) -> Result<Values, Error> {
    if call.action != "GetCommonLinkProperties" {
        return Err(Error::InvalidAction);
    }
    let speed = || "1000000000".to_string();
    Ok(vec![
        ("NewWANAccessType", "Ethernet".to_string()),
        ("NewLayer1UpstreamMaxBitRate", speed()),
        ("NewLayer1DownstreamMaxBitRate", speed()),
        ("NewPhysicalLinkStatus", "Up".to_string()),
    ])
}

fn of_wan(r: &mut Router, now: Moment, ends: Ends, call: &Call) -> Result<Values, Error> {
    let program = r.program.clone();
    let outside = program.upnp.sides.outside(&program).next();
    let text = str::to_string;
    match &call.action[..] {
        "GetConnectionTypeInfo" => Ok(vec![
            ("NewConnectionType", text("IP_Routed")),
            ("NewPossibleConnectionTypes", text("IP_Routed")),
        ]),
        "GetStatusInfo" => {
            let status = if outside.is_some() { "Connected" } else { "Disconnected" };
            let uptime = now.as_nanos() / 1_000_000_000;
            Ok(vec![
                ("NewConnectionStatus", text(status)),
                ("NewLastConnectionError", text("ERROR_NONE")),
                ("NewUptime", uptime.to_string()),
            ])
        }
        "GetNATRSIPStatus" => {
            Ok(vec![("NewRSIPAvailable", text("0")), ("NewNATEnabled", text("1"))])
        }
        "GetExternalIPAddress" => {
            let outside = outside.ok_or(Error::ActionFailed)?;
            Ok(vec![("NewExternalIPAddress", Ipv4Addr::from(outside).to_string())])
        }
        "AddPortMapping" => add(r, now, ends, call),
        "DeletePortMapping" => {
            let (protocol, port) = place(call)?;
            let known = r.services.mappings.get(protocol, port).ok_or(Error::NoSuchEntryInArray)?;
            if known.by != Maker::Upnp || known.host != ends.1.address {
                return Err(Error::NotAuthorized);
            }
            r.services.mappings.remove(protocol, port);
            Ok(Values::new())
        }
        "GetSpecificPortMappingEntry" => {
            let (protocol, port) = place(call)?;
            let known = r.services.mappings.get(protocol, port);
            let known = known.filter(|known| known.by == Maker::Upnp);
            let mut entry = entry(now, protocol, port, known.ok_or(Error::NoSuchEntryInArray)?);
            entry.drain(..3);
            Ok(entry)
        }
        "GetGenericPortMappingEntry" => {
            let at = call.get("NewPortMappingIndex").and_then(|text| text.parse().ok());
            let at: usize = at.ok_or(Error::InvalidArgs)?;
            let mut all = r.services.mappings.of(Maker::Upnp);
            if let Some((protocol, port, known)) = all.nth(at) {
                return Ok(entry(now, protocol, port, known));
            }
            let is_empty = r.services.mappings.of(Maker::Upnp).next().is_none();
            match outside.filter(|_| at == 0 && is_empty && program.upnp.has_dummy) {
                Some(outside) => Ok(dummy(outside)),
                None => Err(Error::ArrayIndexInvalid),
            }
        }
        _ => Err(Error::InvalidAction),
    }
}

/// The protocol and the port outside that a call is about.
fn place(call: &Call) -> Result<(u8, u16), Error> {
    let protocol = match call.get("NewProtocol") {
        Some(name) if name.eq_ignore_ascii_case("tcp") => protocol::TCP,
        Some(name) if name.eq_ignore_ascii_case("udp") => protocol::UDP,
        _ => return Err(Error::InvalidArgs),
    };
    if call.get("NewRemoteHost").is_some_and(|host| !matches!(host, "" | "*" | "0.0.0.0")) {
        return Err(Error::RemoteHostOnlySupportsWildcard);
    }
    Ok((protocol, port(call, "NewExternalPort")?))
}

fn port(call: &Call, name: &str) -> Result<u16, Error> {
    call.get(name).and_then(|text| text.parse().ok()).ok_or(Error::InvalidArgs)
}

fn add(r: &mut Router, now: Moment, ends: Ends, call: &Call) -> Result<Values, Error> {
    let (protocol, external) = place(call)?;
    let internal = port(call, "NewInternalPort")?;
    let client = call.get("NewInternalClient").and_then(|text| text.parse().ok());
    let client: Ipv4Addr = client.ok_or(Error::InvalidArgs)?;
    let lease = call.get("NewLeaseDuration").map_or(Some(0), |text| text.parse().ok());
    let lease: u32 = lease.ok_or(Error::InvalidArgs)?;
    let is_wanted = matches!(call.get("NewEnabled"), None | Some("1" | "true" | "yes"));
    if internal == 0 || !is_wanted {
        return Err(Error::InvalidArgs);
    }
    if external == 0 {
        return Err(Error::WildCardNotPermittedInExtPort);
    }
    if u32::from(client) != ends.1.address {
        return Err(Error::NotAuthorized);
    }
    if !r.program.tracking || r.program.upnp.sides.outside(&r.program).next().is_none() {
        return Err(Error::ActionFailed);
    }
    let about: String =
        call.get("NewPortMappingDescription").unwrap_or("").chars().take(64).collect();
    let ends_at = (lease != 0).then(|| now + Duration::from_secs(lease.into()));
    let place = (protocol, external);
    let given = r.services.mappings.put(place, (ends.1.address, internal), ends_at, about);
    r.services.due = now;
    given.map(|()| Values::new()).map_err(|why| match why {
        nat_pmp::Full::Taken => Error::ConflictInMappingEntry,
        nat_pmp::Full::NoRoom => Error::ActionFailed,
    })
}

fn entry(now: Moment, protocol: u8, port: u16, known: &nat_pmp::Mapped) -> Values {
    let left = known.ends.map_or(0, |ends| ends.since(now.min(ends)).as_secs().max(1));
    let name = if protocol == protocol::TCP { "TCP" } else { "UDP" };
    vec![
        ("NewRemoteHost", String::new()),
        ("NewExternalPort", port.to_string()),
        ("NewProtocol", name.to_string()),
        ("NewInternalPort", known.port.to_string()),
        ("NewInternalClient", Ipv4Addr::from(known.host).to_string()),
        ("NewEnabled", "1".to_string()),
        ("NewPortMappingDescription", known.about.clone()),
        ("NewLeaseDuration", left.to_string()),
    ]
}

/// What those hear who do not believe that there is none: the discard port of the router.
fn dummy(outside: u32) -> Values {
    let outside = Ipv4Addr::from(outside).to_string();
    vec![
        ("NewRemoteHost", String::new()),
        ("NewExternalPort", "9".to_string()),
        ("NewProtocol", "UDP".to_string()),
        ("NewInternalPort", "9".to_string()),
        ("NewInternalClient", outside),
        ("NewEnabled", "0".to_string()),
        ("NewPortMappingDescription", "dummy".to_string()),
        ("NewLeaseDuration", "0".to_string()),
    ]
}
