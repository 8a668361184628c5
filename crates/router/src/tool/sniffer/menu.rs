//! The property tables of `/tool sniffer` and its commands.

use super::quick;
use crate::ip::datagram::End;
use crate::tool::sight::{
    ADDRESSES, ADDRESSES6, INTERFACES, MAC_PROTOCOLS, MACS, PORTS, PROTOCOLS, VLANS,
};
use config::{Command, Display, Menu, MenuKind, Property, Type, Unnamed, Value};
use std::net::SocketAddrV4;

/// `/tool sniffer`.
pub(crate) static SNIFFER: Menu = Menu {
    path: "/tool sniffer",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("only-headers", Type::Bool, "Keep no more than the headers.").default("no"),
        Property::new("memory-limit", SIZE, "How much is kept in memory.").default("100KiB"),
        Property::new("memory-scroll", Type::Bool, "When memory is full: forget the oldest.")
            .default("yes"),
        Property::new("file-name", Type::Text, "Keep it all for this file, written by stop."),
        Property::new("file-limit", SIZE, "Stop when the file is as long as this.")
            .default("1000KiB"),
        Property::new("streaming-enabled", Type::Bool, "Send them to streaming-server by TZSP.")
            .default("no"),
        Property::new(
            "streaming-server",
            Type::Custom(read_server),
            "IP:PORT, or IP for port 37008.",
        )
        .default("0.0.0.0:37008"),
        Property::new(
            "filter-stream",
            Type::Bool,
            "Kept: what was streamed is never streamed again.",
        )
        .default("yes"),
        Property::new("filter-interface", INTERFACES, "Where to look; of a bridge, its ports.")
            .default("all"),
        Property::new("filter-mac-address", MACS, "Source or destination MAC."),
        Property::new("filter-mac-protocol", MAC_PROTOCOLS, "EtherType."),
        Property::new("filter-ip-address", ADDRESSES, "Source or destination address."),
        Property::new("filter-ipv6-address", ADDRESSES6, "The same of IPv6."),
        Property::new("filter-ip-protocol", PROTOCOLS, "IP protocol."),
        Property::new("filter-port", PORTS, "Source or destination port."),
        Property::only("filter-size", &Type::Text, &[""], "frames of all lengths are kept"),
        Property::missing("filter-cpu", "a router runs on one core"),
        Property::new("filter-vlan", VLANS, "VLAN of the outermost tag."),
        Property::new("filter-direction", DIRECTION, "Received, sent, or both.").default("any"),
        Property::new("filter-operator-between-entries", OPERATOR, "Of one filter's entries.")
            .default("or"),
        Property::new("running", Type::Bool, "Whether it runs.").read_only(),
    ],
    help: "Which frames are kept, and where.",
};

/// `/tool sniffer packet`.
pub(crate) static PACKET: Menu = Menu {
    path: "/tool sniffer packet",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("time", Type::Text, "Seconds since the sniffer was started.")
            .read_only()
            .column(),
        Property::new("num", Type::Number(0, i64::MAX), "Its number.").read_only(),
        Property::new("direction", Type::Text, "rx or tx.").read_only(),
        Property::new("src-mac", Type::Mac, "Source MAC.").read_only(),
        Property::new("dst-mac", Type::Mac, "Destination MAC.").read_only(),
        Property::new("interface", Type::Text, "Where it was.").read_only().column(),
        Property::new("vlan", Type::Number(0, 4095), "Its VLAN.").read_only(),
        Property::new("src-address", Type::Text, "Source, with its port.").read_only().column(),
        Property::new("dst-address", Type::Text, "Destination, with its port.")
            .read_only()
            .column(),
        Property::new("protocol", Type::Text, "EtherType.").read_only(),
        Property::new("ip-protocol", Type::Text, "IP protocol.").read_only().column(),
        Property::new("size", Type::Number(0, 65535), "Bytes, without FCS.").read_only().column(),
        Property::new("fp", Type::Bool, "It came in FastPath; never while the sniffer runs.")
            .read_only(),
    ],
    help: "What the sniffer has in memory.",
};

const DIRECTION: Type = Type::Enum(&["any", "rx", "tx"]);
const OPERATOR: Type = Type::Enum(&["or", "and"]);
const SIZE: Type = Type::Custom(read_size);

/// Wireshark's port for it.
const TZSP_PORT: u16 = 37008;

/// `10.0.0.1:37008`, or an address alone.
fn read_server(text: &str) -> Result<Value, String> {
    let with_port = text.parse().map(|address| SocketAddrV4::new(address, TZSP_PORT));
    match with_port.or_else(|_| text.parse::<SocketAddrV4>()) {
        Ok(server) if server.port() > 0 => Ok(Value::Text(server.to_string())),
        _ => Err("an address and a port, as 10.0.0.1:37008".to_string()),
    }
}

/// The server of a value; `None` if it is nobody.
pub(super) fn server(text: &str) -> Option<End> {
    let server: SocketAddrV4 = text.parse().ok()?;
    let address = Some(*server.ip()).filter(|address| !address.is_unspecified())?;
    Some(End { address: address.into(), port: server.port() })
}

/// `100KiB`, `2MiB`, or a number of KiB; at least 10.
fn read_size(text: &str) -> Result<Value, String> {
    match kib(text) {
        Some(kib @ 10..=1_048_576) => Ok(Value::Text(format!("{kib}KiB"))),
        _ => Err("a size from 10KiB to 1048576KiB".to_string()),
    }
}

fn kib(text: &str) -> Option<u64> {
    let units = [("KiB", 1), ("MiB", 1024), ("GiB", 1024 * 1024)];
    let unit = units.iter().find_map(|&(unit, kib)| Some((text.strip_suffix(unit)?, kib)));
    let (digits, scale) = unit.unwrap_or((text, 1));
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(scale)
}

/// How many bytes a size of the menu is.
pub(super) fn bytes(size: &str) -> usize {
    kib(size).and_then(|kib| usize::try_from(kib * 1024).ok()).unwrap_or(usize::MAX)
}

/// `start`.
pub(crate) static START: Command = command("start", &[], "Begins to keep frames.");
/// `stop`.
pub(crate) static STOP: Command = command("stop", &[], "Ends it, and writes the file.");
/// `save`.
pub(crate) static SAVE: Command =
    command("save", &SAVE_PARAMETERS, "Writes what is in memory to a file.");

const SAVE_PARAMETERS: [Property; 1] =
    [Property::new("file-name", Type::Text, "The file.").required()];

const fn command(
    name: &'static str,
    parameters: &'static [Property],
    help: &'static str,
) -> Command {
    let (unnamed, display) = (Unnamed::Nothing, Display::Nothing);
    Command { menu: "/tool sniffer", name, unnamed, parameters, display, help }
}

/// `quick`.
pub(crate) static QUICK: Command = Command {
    menu: "/tool sniffer",
    name: "quick",
    unnamed: Unnamed::Nothing,
    parameters: &[
        Property::new("interface", INTERFACES, "Where to look; of a bridge, its ports.")
            .default("all"),
        Property::new("mac-address", MACS, "Source or destination MAC."),
        Property::new("mac-protocol", MAC_PROTOCOLS, "EtherType."),
        Property::new("ip-address", ADDRESSES, "Source or destination address."),
        Property::new("ipv6-address", ADDRESSES6, "The same of IPv6."),
        Property::new("ip-protocol", PROTOCOLS, "IP protocol."),
        Property::new("port", PORTS, "Source or destination port."),
        Property::missing("cpu", "a router runs on one core"),
        Property::new("vlan", VLANS, "VLAN of the outermost tag."),
        Property::new("direction", DIRECTION, "Received, sent, or both.").default("any"),
        Property::new("operator-between-entries", OPERATOR, "Of one filter's entries.")
            .default("or"),
        Property::new("duration", Type::Time, "For how long; until stopped if not given."),
        Property::new("freeze-frame-interval", Type::Time, "How often rows are shown.")
            .default("100ms"),
    ],
    display: Display::Append(quick::rows),
    help: "Shows frames as they come and go.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (typed, shown) in [
            ("100KiB", Some("100KiB")),
            ("10", Some("10KiB")),
            ("2MiB", Some("2048KiB")),
            ("1GiB", Some("1048576KiB")),
            ("9KiB", None),
            ("2GiB", None),
            ("KiB", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("18446744073709551615GiB", None),
        ] {
            assert_eq!(read_size(typed).ok().map(|v| v.to_string()).as_deref(), shown, "{typed}");
        }
        assert_eq!(bytes("100KiB"), 102_400);
    }
}
