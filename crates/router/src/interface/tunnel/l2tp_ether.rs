//! `/interface l2tp-ether`: Ethernet frames behind L2TP version 3 (RFC 3931), between ends that both were told.
//!
//! ```text
//! | IPv4 A ► B, protocol 115           | session 4 | cookie 0, 4, 8 | sublayer 0, 4 | Ethernet frame
//! | IPv4 A ► B, UDP 1701 | version 3 4 | session 4 | cookie 0, 4, 8 | sublayer 0, 4 | Ethernet frame
//! ```
//!
//! A session is found by its number, and believed by its cookie: who cannot see the packets cannot guess it
//! (RFC 3931 §8.2). Both ends are configured, as Linux's `ip l2tp` does it; what `unmanaged-mode=no` agrees upon by
//! control messages is missing, and so are **IPv6 outside** and **sequence numbers** (RFC 4719 sends none).

use super::menu::{ACTUAL_MTU, FAST, LOCAL, NAME, RUNNING, list};
use crate::interface::menu::{ARP_MODE, ARP_TIMEOUT};
use config::{Item, Menu, Property, Read, Tree, Type, Value};
use std::net::Ipv4Addr;
use std::ops::Range;
use wire::l2tp::PORT;
use wire::l2tp3;

/// UDP's header, the version, the session, the cookie, and the sublayer.
pub(super) const MOST: usize = UDP_LEN + 8 + 8 + SUBLAYER_LEN;
const UDP_LEN: usize = 8;
/// The default sublayer of §4.6: whether there is a number, and the number.
const SUBLAYER_LEN: usize = 4;

/// `/interface l2tp-ether`.
pub static MENU: Menu = Menu {
    path: "/interface l2tp-ether",
    kind: list("l2tp-ether"),
    properties: &[
        RUNNING,
        Property::flag("slave", 'S', "It is a port of a bridge."),
        NAME,
        Property::new("mtu", Type::Number(68, 65535), "The longest packet it takes, bytes.")
            .default("1420")
            .column(),
        ACTUAL_MTU,
        Property::new("l2mtu", Type::Number(0, 65535), "The longest frame less its header.")
            .read_only(),
        Property::new("mac-address", Type::Mac, "Its MAC address; one of its own if not given."),
        Property::new("connect-to", Type::Address, "The other end.").required().column(),
        LOCAL,
        Property::new(
            "unmanaged-mode",
            Type::Only(&Type::Bool, &["yes"], UNMANAGED),
            "Both ends are configured; nothing is agreed upon.",
        )
        .required(),
        Property::new(
            "l2tp-proto-version",
            Type::Enum(&["l2tpv3-ip", "l2tpv3-udp"]),
            "Behind IPv4's header alone (protocol 115), or behind UDP's (port 1701).",
        )
        .default("l2tpv3-udp")
        .column(),
        Property::new("local-session-id", SESSION, "The session's number in what comes.")
            .required()
            .column(),
        Property::new("remote-session-id", SESSION, "Its number in what is sent.")
            .required()
            .column(),
        Property::new("local-tunnel-id", SESSION, "Not in data messages: for the reader alone."),
        Property::new("remote-tunnel-id", SESSION, "Not in data messages: for the reader alone."),
        Property::new(
            "peer-cookie",
            Type::Custom(cookie),
            "What packets that come must have: 8 or 16 hexadecimal digits; empty is nothing.",
        )
        .default(""),
        Property::new(
            "send-cookie",
            Type::Custom(cookie),
            "What packets that are sent have: 8 or 16 hexadecimal digits; empty is nothing.",
        )
        .default(""),
        Property::new(
            "use-l2-specific-sublayer",
            Type::Bool,
            "The default sublayer (RFC 3931 §4.6) is in front of each frame, without a number.",
        )
        .default("no"),
        FAST.default("no"),
        ARP_MODE,
        ARP_TIMEOUT,
        Property::only("cookie-length", &LENGTH, &["0"], UNMANAGED),
        Property::only("digest-hash", &HASH, &["md5"], UNMANAGED),
        Property::only("circuit-id", &Type::Text, &[""], UNMANAGED),
        Property::only("use-ipsec", &Type::Bool, &["no"], NO_IPSEC),
        Property::missing("ipsec-secret", NO_IPSEC),
    ],
    help: "Tunnels that carry Ethernet frames behind L2TP version 3, between ends that are both configured.",
};

const NO_IPSEC: &str = "say it in /ip ipsec policy";
const UNMANAGED: &str = "control messages of L2TP version 3 are not built";
const SESSION: Type = Type::Number(1, u32::MAX as i64);
const LENGTH: Type = Type::Enum(&["0", "4-bytes", "8-bytes"]);
const HASH: Type = Type::Enum(&["md5", "none", "sha1"]);

/// `DEADBEEF`: a cookie, as it is sent.
fn cookie(text: &str) -> Result<Value, String> {
    let is_one = matches!(text.len(), 0 | 8 | 16) && text.bytes().all(|c| c.is_ascii_hexdigit());
    if is_one {
        Ok(Value::Text(text.to_ascii_lowercase()))
    } else {
        Err("8 or 16 hexadecimal digits, or nothing".to_string())
    }
}

/// What stands between a session's number and what is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cookie {
    bytes: [u8; 8],
    len: u8,
}

impl Cookie {
    /// Of a value that [`cookie`] has made.
    fn read(item: &Read, name: &str) -> Cookie {
        let text = item.text(name);
        let mut bytes = [0; 8];
        for (byte, at) in bytes.iter_mut().zip((0..text.len()).step_by(2)) {
            *byte =
                text.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
        }
        Cookie { bytes, len: (text.len() / 2) as u8 }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A session as compiled; its number here is the tunnel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    is_in_udp: bool,
    /// `remote-session-id`.
    remote: u32,
    sends: Cookie,
    expects: Cookie,
    has_sublayer: bool,
}

impl Session {
    /// Reads an item.
    pub(super) fn read(item: &Read) -> Session {
        Session {
            is_in_udp: item.text("l2tp-proto-version") == "l2tpv3-udp",
            remote: item.number("remote-session-id") as u32,
            sends: Cookie::read(item, "send-cookie"),
            expects: Cookie::read(item, "peer-cookie"),
            has_sublayer: item.bool("use-l2-specific-sublayer"),
        }
    }

    /// Whether the outer packets are of UDP.
    pub(crate) fn is_in_udp(&self) -> bool {
        self.is_in_udp
    }

    /// What is behind IPv4's header, UDP's length and checksum zero, and how long it is.
    pub(super) fn header(&self) -> ([u8; MOST], usize) {
        let mut out = [0; MOST];
        let mut len = 0;
        let mut put = |bytes: &[u8]| {
            out[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        if self.is_in_udp {
            put(&PORT.to_be_bytes());
            put(&PORT.to_be_bytes());
            put(&[0, 0, 0, 0, 0, 3, 0, 0]);
        }
        put(&self.remote.to_be_bytes());
        put(self.sends.as_bytes());
        if self.has_sublayer {
            put(&[0; SUBLAYER_LEN]);
        }
        (out, len)
    }

    /// Where in an outer packet's payload the frame lies; `None` if the cookie is another one, or nothing is left.
    #[inline]
    pub(crate) fn frame_in(&self, payload: &[u8]) -> Option<Range<usize>> {
        let (begins, end) = match self.is_in_udp {
            true => (UDP_LEN + 8, udp_len(payload)?),
            false => (4, payload.len()),
        };
        let cookie = self.expects.as_bytes();
        let sublayer = if self.has_sublayer { SUBLAYER_LEN } else { 0 };
        let at = begins + cookie.len() + sublayer;
        let is_his = payload.get(begins..begins + cookie.len())? == cookie;
        (is_his && at < end).then_some(at..end)
    }
}

/// The session that a UDP datagram is of.
#[inline]
pub(crate) fn session_in_udp(datagram: &[u8]) -> Option<u32> {
    l2tp3::in_udp(datagram.get(UDP_LEN..udp_len(datagram)?)?)
}

/// The length of a datagram, if it is all there.
#[inline]
fn udp_len(datagram: &[u8]) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes([*datagram.get(4)?, *datagram.get(5)?]));
    (len >= UDP_LEN && len <= datagram.len()).then_some(len)
}

/// What a session that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
pub(super) fn check(tree: &Tree, session: &Item) -> Result<(), String> {
    let address = |item: &Item, name| match item.get(name) {
        Some(Value::Address(address)) => *address,
        _ => Ipv4Addr::UNSPECIFIED,
    };
    let (local, remote) = (address(session, "local-address"), address(session, "connect-to"));
    if remote.is_unspecified() || remote.is_multicast() || remote.is_broadcast() {
        return Err(format!("failure: connect-to {remote} is no host's"));
    }
    if local == remote {
        return Err(format!("failure: the tunnel would lead to itself: both ends are {local}"));
    }
    let key = |item: &Item| {
        let version = item.get("l2tp-proto-version").map(ToString::to_string);
        let id = item.get("local-session-id").cloned();
        (address(item, "connect-to"), version.unwrap_or_else(|| "l2tpv3-udp".to_string()), id)
    };
    let mut others = tree.items(MENU.path).iter().filter(|other| other.id != session.id);
    if let Some(other) = others.find(|other| key(other) == key(session)) {
        let name = other.get("name").map_or(String::new(), ToString::to_string);
        return Err(format!("failure: {name} has this session of {remote} already"));
    }
    Ok(())
}
