//! `packet-template` and `raw-packet-template`.
//!
//! Where a header occurs more than once, its properties are lists with a value for each; one value
//! stands for all. `mac/mask` and `port/mask` keep the bits of the mask and vary the others, ranges
//! and prefixes go through their values in turn.

use super::{INTERFACES, PORTS, list};
use config::{Menu, Property, Type, Value};

/// `/tool traffic-generator packet-template`.
pub static PACKET: Menu = Menu {
    path: "/tool traffic-generator packet-template",
    kind: list("packet-template"),
    properties: &[
        Property::new("name", Type::Text, "Name of the template."),
        Property::new(
            "header-stack",
            Type::List(&Type::Enum(&["mac", "vlan", "ip", "ipv6", "udp", "tcp", "raw"])),
            "The headers in their order, at most 16.",
        )
        .default("mac,ip,udp"),
        Property::new("port", Type::Reference(PORTS), "Where it is sent."),
        Property::new("interface", Type::Reference(INTERFACES), "Where it is sent."),
        assumed("assumed-interface"),
        Property::new("mac-src", MACS, "Source, or source/mask."),
        assumed("assumed-mac-src"),
        Property::new("mac-dst", MACS, "Destination, or destination/mask."),
        assumed("assumed-mac-dst"),
        Property::new("mac-protocol", PROTOCOLS, "EtherType."),
        assumed("assumed-mac-protocol"),
        Property::new("vlan-id", Type::List(&Type::Number(0, 4095)), "VLAN."),
        assumed("assumed-vlan-id"),
        Property::new("vlan-priority", Type::List(&Type::Number(0, 7)), "Priority."),
        assumed("assumed-vlan-priority"),
        Property::new("vlan-protocol", PROTOCOLS, "EtherType behind the tag."),
        assumed("assumed-vlan-protocol"),
        Property::new(
            "ip-gateway",
            Type::Address,
            "Whose MAC address is assumed: the device under test.",
        ),
        Property::new("ip-dscp", BYTES, "The whole TOS byte."),
        assumed("assumed-ip-dscp"),
        Property::new("ip-id", WORDS, "Identification."),
        assumed("assumed-ip-id"),
        Property::new("ip-frag-off", WORDS, "Fragment offset and flags."),
        assumed("assumed-ip-frag-off"),
        Property::new("ip-ttl", BYTES, "Time to live."),
        assumed("assumed-ip-ttl"),
        Property::new("ip-dst", Type::List(&Type::Range), "Destination, prefix or range."),
        assumed("assumed-ip-dst"),
        Property::new("ip-src", Type::List(&Type::Range), "Source, prefix or range."),
        assumed("assumed-ip-src"),
        Property::new(
            "ip-protocol",
            Type::List(&Type::Or(&["icmp", "ipencap", "tcp", "udp", "gre"], &Type::Number(0, 255))),
            "What is behind the header.",
        ),
        assumed("assumed-ip-protocol"),
        Property::new("udp-src-port", PORT_LIST, "Source port, port/mask or range."),
        assumed("assumed-udp-src-port"),
        Property::new("udp-dst-port", PORT_LIST, "Destination port, port/mask or range."),
        assumed("assumed-udp-dst-port"),
        Property::new(
            "udp-checksum",
            Type::List(&Type::Or(&["auto"], &Type::Number(0, 65_535))),
            "The checksum; 0: none; auto: the right one.",
        ),
        assumed("assumed-udp-checksum"),
        Property::new("tcp-src-port", PORT_LIST, "Source port, port/mask or range."),
        assumed("assumed-tcp-src-port"),
        Property::new("tcp-dst-port", PORT_LIST, "Destination port, port/mask or range."),
        assumed("assumed-tcp-dst-port"),
        Property::new("tcp-syn", NUMBERS, "Sequence number, or range."),
        assumed("assumed-tcp-syn"),
        Property::new("tcp-ack", NUMBERS, "Acknowledgment number, or range."),
        assumed("assumed-tcp-ack"),
        Property::new(
            "tcp-data-offset",
            Type::Number(5, 15),
            "Words of the header; more than 5: a raw header behind it has the options.",
        ),
        assumed("assumed-tcp-data-offset"),
        Property::new("tcp-flags", Type::List(&Type::Enum(&FLAGS)), "The flags that are set."),
        assumed("assumed-tcp-flags"),
        Property::new("tcp-window-size", Type::Number(0, 65_535), "Window."),
        assumed("assumed-tcp-window-size"),
        Property::new("tcp-urgent-pointer", Type::Number(0, 65_535), "Urgent pointer."),
        assumed("assumed-tcp-urgent-pointer"),
        Property::new("raw-header", Type::List(&Type::Custom(hex)), "Bytes, hexadecimal."),
        Property::new(
            "ipv6-gateway",
            Type::Address6,
            "Whose MAC address is assumed: the device under test.",
        ),
        Property::new("ipv6-traffic-class", BYTES, "DSCP and ECN."),
        assumed("assumed-ipv6-traffic-class"),
        Property::new("ipv6-flow-label", Type::List(&Type::Number(0, 0xf_ffff)), "Flow label."),
        assumed("assumed-ipv6-flow-label"),
        Property::new("ipv6-hop-limit", BYTES, "Hop limit."),
        assumed("assumed-ipv6-hop-limit"),
        Property::new("ipv6-dst", ADDRESSES6, "Destination, or a prefix of 64 bits or more."),
        assumed("assumed-ipv6-dst"),
        Property::new("ipv6-src", ADDRESSES6, "Source, or a prefix of 64 bits or more."),
        assumed("assumed-ipv6-src"),
        Property::new(
            "ipv6-next-header",
            Type::List(&Type::Or(
                &["icmpv6", "ipencap", "ipv6", "tcp", "udp", "gre"],
                &Type::Number(0, 255),
            )),
            "What is behind the header.",
        ),
        assumed("assumed-ipv6-next-header"),
        PAYLOAD[0],
        PAYLOAD[1],
        PAYLOAD[2],
        PAYLOAD[3],
        PAYLOAD[4],
        PAYLOAD[5],
    ],
    help: "Packets made of headers; what is not said is assumed when the template is set.",
};

/// `/tool traffic-generator raw-packet-template`.
pub static RAW: Menu = Menu {
    path: "/tool traffic-generator raw-packet-template",
    kind: list("raw-packet-template"),
    properties: &[
        Property::new("name", Type::Text, "Name of the template."),
        Property::new("port", Type::Reference(PORTS), "Where it is sent."),
        Property::new("header", Type::Custom(hex), "All headers, hexadecimal."),
        Property::new("header-length", Type::Number(0, 65_535), "Bytes of the header.").read_only(),
        Property::new("ip-header-offset", WORDS, "Where IPv4 headers are: at most 2."),
        Property::new("udp-header-offset", Type::Number(0, 65_535), "Where a UDP header is."),
        Property::new("udp-compute-checksum", Type::Bool, "Whether UDP has a right checksum.")
            .default("no"),
        Property::new("tcp-header-offset", Type::Number(0, 65_535), "Where a TCP header is."),
        Property::new("ipv6-header-offset", WORDS, "Where IPv6 headers are: at most 2."),
        PAYLOAD[0],
        PAYLOAD[1],
        PAYLOAD[2],
        PAYLOAD[3],
        PAYLOAD[4],
        PAYLOAD[5],
    ],
    help: "Packets byte by byte; those made of packet templates are here as well.",
};

/// What stands behind the headers, alike for both kinds.
const PAYLOAD: [Property; 6] = [
    Property::new(
        "data",
        Type::Enum(&["uninitialized", "specific-byte", "incrementing", "random"]),
        "What stands behind the headers.",
    )
    .default("uninitialized"),
    Property::new("data-byte", Type::Number(0, 255), "The byte of data=specific-byte.")
        .default("0"),
    Property::new(
        "random-byte-offsets-and-masks",
        Type::List(&Type::Custom(offset_and_mask)),
        "Bytes with random bits, as offset/mask.",
    ),
    Property::new(
        "random-ranges",
        Type::List(&Type::Custom(random_range)),
        "Random numbers, as offset:width:low-high, width 8, 16 or 32.",
    ),
    Property::new("special-footer", Type::Bool, "Whether packets can be known again.")
        .default("yes"),
    Property::new(
        "compute-checksum-from-offset",
        Type::Or(&["no-checksum"], &Type::Number(0, 65_535)),
        "From where on a checksum is made, and looked at when packets come back.",
    )
    .default("no-checksum"),
];

const fn assumed(name: &'static str) -> Property {
    // Not `Type::Text`, which is printed in quotes.
    let words = Type::Custom(|text| Ok(Value::Text(text.to_string())));
    Property::new(name, words, "What is assumed for want of a value.").read_only()
}

/// The TCP flags by their bit, lowest first.
pub(crate) const FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];

/// EtherTypes that have names.
pub(crate) const ETHERTYPES: [(&str, u16); 10] = [
    ("ip", 0x0800),
    ("ipv6", 0x86dd),
    ("arp", 0x0806),
    ("rarp", 0x8035),
    ("vlan", 0x8100),
    ("service-vlan", 0x88a8),
    ("mpls-unicast", 0x8847),
    ("mpls-multicast", 0x8848),
    ("pppoe-discovery", 0x8863),
    ("pppoe", 0x8864),
];

/// What is behind IPv6, by names.
pub(crate) const NEXT_HEADERS: [(&str, u16); 6] =
    [("icmpv6", 58), ("ipencap", 4), ("ipv6", 41), ("tcp", 6), ("udp", 17), ("gre", 47)];

/// IP protocols that have names.
pub(crate) const IP_PROTOCOLS: [(&str, u16); 5] =
    [("icmp", 1), ("ipencap", 4), ("tcp", 6), ("udp", 17), ("gre", 47)];

const MACS: Type = Type::List(&Type::Either(&[Type::Mac, Type::MacMask]));
const ADDRESSES6: Type = Type::List(&Type::Either(&[Type::Address6, Type::Cidr6]));
const BYTES: Type = Type::List(&Type::Number(0, 255));
const WORDS: Type = Type::List(&Type::Number(0, 65_535));
const NUMBERS: Type = Type::Numbers(0, 0xffff_ffff);
const PORT_LIST: Type =
    Type::List(&Type::Either(&[Type::Numbers(0, 65_535), Type::Pair(&Type::Number(0, 65_535))]));
const PROTOCOLS: Type = Type::List(&Type::Or(
    &[
        "ip",
        "ipv6",
        "arp",
        "rarp",
        "vlan",
        "service-vlan",
        "mpls-unicast",
        "mpls-multicast",
        "pppoe-discovery",
        "pppoe",
    ],
    &Type::Number(0, 65_535),
));

/// Pairs of hexadecimal digits.
pub(crate) fn hex(text: &str) -> Result<Value, String> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let whole = is_hex && text.len().is_multiple_of(2) && text.len() <= 4096;
    whole
        .then(|| Value::Text(text.to_ascii_lowercase()))
        .ok_or_else(|| "bytes as pairs of hex digits, at most 2048, as 45000054".to_string())
}

/// The bytes of a value that [`hex`] has read.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
    hex.as_bytes().as_chunks::<2>().0.iter().map(|[a, b]| digit(*a) << 4 | digit(*b)).collect()
}

/// `offset/mask`, the mask hexadecimal.
fn offset_and_mask(text: &str) -> Result<Value, String> {
    read_offset_and_mask(text)
        .map(|(offset, mask)| Value::Text(format!("{offset}/{mask:02x}")))
        .ok_or_else(|| "offset/mask, as 42/ff: a byte's offset and its random bits".to_string())
}

pub(crate) fn read_offset_and_mask(text: &str) -> Option<(usize, u8)> {
    let (offset, mask) = text.split_once('/')?;
    let offset = offset.parse::<u16>().ok()?;
    let mask = u8::from_str_radix(mask, 16).ok().filter(|_| !mask.starts_with('+'))?;
    Some((usize::from(offset), mask))
}

/// `offset:width:low-high`.
fn random_range(text: &str) -> Result<Value, String> {
    read_random_range(text)
        .map(|(offset, width, low, high)| Value::Text(format!("{offset}:{width}:{low}-{high}")))
        .ok_or_else(|| "offset:width:low-high with width 8, 16 or 32, as 42:16:1-1000".to_string())
}

/// Offset, width in bits, lowest and highest.
pub(crate) fn read_random_range(text: &str) -> Option<(usize, u32, u32, u32)> {
    let mut parts = text.splitn(3, ':');
    let (offset, width, range) = (parts.next()?, parts.next()?, parts.next()?);
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let width = width.parse().ok().filter(|width| matches!(width, 8 | 16 | 32))?;
    let (low, high) = (low.parse::<u32>().ok()?, high.parse::<u32>().ok()?);
    let largest = u32::MAX >> (32 - width);
    let offset = usize::from(offset.parse::<u16>().ok()?);
    (low <= high && high <= largest).then_some((offset, width, low, high))
}
