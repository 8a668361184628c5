//! Header stacks: from a `packet-template` to a frame plan.
//!
//! ```text
//! header-stack=mac,vlan,ip,udp  ─ read ─►  [Header; 4]  ─ plan(assumed) ─►  FramePlan
//!   ip-dst=1.1.1.1,2.2.2.2  (one value per occurrence, a single one for all)
//!
//! header-stack=mac,ipv6,udp  ipv6-dst=2001:db8:2::/64
//! ```
//!
//! What a header does not say follows from the next one (protocols), has a fixed value (TTL 64,
//! ports 100 and 200), or comes from the box ([`assume`](super::assume)).

use super::menu::template::{ETHERTYPES, FLAGS, IP_PROTOCOLS, NEXT_HEADERS, bytes};
use super::payload::Payload;
use config::{Read, Value};
use measure::frame::{FramePlan, Lengths, Transport, Varying};
use measure::vary::{Pick, Values};
use std::net::IpAddr;
use wire::MacAddr;

/// A kind of header.
#[derive(Debug, PartialEq)]
struct Kind {
    name: &'static str,
    /// What announces it: its EtherType, its IP protocol.
    announced: (u16, u16),
    /// Its bytes, where all properties are zero.
    bytes: &'static [u8],
    properties: &'static [Property],
}

/// A property: its name, where its bytes begin in the header, how many they are, the bits behind it, and
/// what it is without a value.
type Property = (&'static str, usize, usize, u32, Unsaid);

/// A property's value where none is given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unsaid {
    Is(u16),
    /// The flags of a segment of an established connection.
    Ack,
    /// A checksum that is computed.
    Auto,
    /// What the box finds.
    MacSrc,
    MacDst,
    IpSrc,
    IpDst,
    /// What announces the next header, and the words for it.
    Type,
    Protocol(&'static [(&'static str, u16)]),
}

use Unsaid::{Ack, Auto, IpDst, IpSrc, Is, MacDst, MacSrc, Protocol, Type};

const IPV4: [u8; 20] = [0x45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const IPV6: [u8; 40] = {
    let mut bytes = [0; 40];
    bytes[0] = 0x60;
    bytes
};

/// IEEE 802's first EtherType, and RFC 3692's first protocol, for experiments: what is behind a
/// raw header, or nothing, is nobody else's.
const EXPERIMENTAL: (u16, u16) = (0x88b5, 253);

const KINDS: [Kind; 7] = [
    Kind {
        name: "mac",
        announced: EXPERIMENTAL,
        bytes: &[0; 14],
        properties: &[
            ("mac-dst", 0, 6, 0, MacDst),
            ("mac-src", 6, 6, 0, MacSrc),
            ("mac-protocol", 12, 2, 0, Type),
        ],
    },
    Kind {
        name: "vlan",
        announced: (0x8100, EXPERIMENTAL.1),
        bytes: &[0; 4],
        properties: &[
            ("vlan-id", 0, 2, 0, Is(0)),
            ("vlan-priority", 0, 2, 13, Is(0)),
            ("vlan-protocol", 2, 2, 0, Type),
        ],
    },
    Kind {
        name: "ip",
        announced: (0x0800, 4),
        bytes: &IPV4,
        properties: &[
            ("ip-dscp", 1, 1, 0, Is(0)),
            ("ip-id", 4, 2, 0, Is(0)),
            ("ip-frag-off", 6, 2, 0, Is(0)),
            ("ip-ttl", 8, 1, 0, Is(64)),
            ("ip-protocol", 9, 1, 0, Protocol(&IP_PROTOCOLS)),
            ("ip-src", 12, 4, 0, IpSrc),
            ("ip-dst", 16, 4, 0, IpDst),
        ],
    },
    Kind {
        name: "ipv6",
        announced: (0x86dd, 41),
        bytes: &IPV6,
        properties: &[
            ("ipv6-traffic-class", 0, 4, 20, Is(0)),
            ("ipv6-flow-label", 0, 4, 0, Is(0)),
            ("ipv6-next-header", 6, 1, 0, Protocol(&NEXT_HEADERS)),
            ("ipv6-hop-limit", 7, 1, 0, Is(64)),
            ("ipv6-src", 8, 16, 0, IpSrc),
            ("ipv6-dst", 24, 16, 0, IpDst),
        ],
    },
    Kind {
        name: "udp",
        announced: (EXPERIMENTAL.0, 17),
        bytes: &[0; 8],
        properties: &[
            ("udp-src-port", 0, 2, 0, Is(100)),
            ("udp-dst-port", 2, 2, 0, Is(200)),
            ("udp-checksum", 6, 2, 0, Auto),
        ],
    },
    Kind {
        name: "tcp",
        announced: (EXPERIMENTAL.0, 6),
        bytes: &[0; 20],
        properties: &[
            ("tcp-src-port", 0, 2, 0, Is(100)),
            ("tcp-dst-port", 2, 2, 0, Is(200)),
            ("tcp-syn", 4, 4, 0, Is(0)),
            ("tcp-ack", 8, 4, 0, Is(0)),
            ("tcp-data-offset", 12, 1, 4, Is(5)),
            ("tcp-flags", 13, 1, 0, Ack),
            ("tcp-window-size", 14, 2, 0, Is(8192)),
            ("tcp-urgent-pointer", 18, 2, 0, Is(0)),
        ],
    },
    Kind { name: "raw", announced: EXPERIMENTAL, bytes: &[], properties: &[] },
];

/// One header of a stack.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    kind: &'static Kind,
    /// Of each of its properties; `None`: to be assumed.
    values: Vec<Option<Field>>,
    raw: Vec<u8>,
}

impl Header {
    pub(super) fn name(&self) -> &'static str {
        self.kind.name
    }

    /// What was given for a property of this header.
    pub(super) fn given(&self, property: &str) -> Option<&Field> {
        let at = self.kind.properties.iter().position(|(name, ..)| *name == property)?;
        self.values[at].as_ref()
    }

    /// What announces it, and nothing.
    fn announced(header: Option<&Header>) -> (u16, u16) {
        header.map_or(EXPERIMENTAL, |header| header.kind.announced)
    }

    /// Writes it behind those before.
    fn put(&self, frame: &mut FramePlan, next: Option<&Header>, found: Found) {
        let start = frame.header.len();
        frame.header.extend(self.kind.bytes.iter().chain(&self.raw));
        match self.name() {
            "ip" => frame.ipv4.push(start),
            "ipv6" => frame.ipv6.push(start),
            "tcp" => frame.transport = Some((start, Transport::Tcp)),
            "udp" => {
                let given = self.given("udp-checksum");
                let kind = given.map_or(Transport::UdpChecksum, |_| Transport::Udp);
                frame.transport = Some((start, kind));
            }
            _ => {}
        }
        for (value, &(_, at, width, shift, unsaid)) in self.values.iter().zip(self.kind.properties)
        {
            let at = start + at;
            let first = value.as_ref().map(|field| field.first);
            let first = first.unwrap_or_else(|| unsaid.number(width, next, found)) << shift;
            let bytes = &mut frame.header[at..at + width];
            bytes.iter_mut().zip(&first.to_be_bytes()[16 - width..]).for_each(|(to, of)| *to |= of);
            if let Some((mask, values, pick)) = value.as_ref().and_then(|field| field.vary.clone())
            {
                // Of an IPv6 address the lower half.
                let (at, width) = (at + width.saturating_sub(8), width.min(8));
                let mask = mask & (u64::MAX >> (64 - 8 * width));
                frame.varying.push(Varying { at, width, mask, values, pick, link: None });
            }
        }
    }
}

impl Unsaid {
    fn number(self, width: usize, next: Option<&Header>, found: Found) -> u128 {
        let address = |found: Option<IpAddr>| match (found, width) {
            (Some(IpAddr::V4(address)), 4) => u32::from(address).into(),
            (Some(IpAddr::V6(address)), 16) => address.into(),
            _ => 0,
        };
        match self {
            Is(number) => number.into(),
            Ack => 0x10,
            Auto => 0,
            MacSrc => found.mac_src.to_u64().into(),
            MacDst => found.mac_dst.to_u64().into(),
            IpSrc => address(found.ip_src),
            IpDst => address(found.ip_dst),
            Type => Header::announced(next).0.into(),
            Protocol(_) => Header::announced(next).1.into(),
        }
    }

    /// The same as it is shown; `None` of what is not known.
    fn shown(self, next: Option<&Header>, found: Found) -> Option<String> {
        let mac = |mac: MacAddr| (mac != MacAddr::default()).then(|| mac.to_string());
        let (ethertype, protocol) = Header::announced(next);
        match self {
            Is(number) => Some(number.to_string()),
            Ack => Some("ack".to_string()),
            Auto => Some("auto".to_string()),
            MacSrc => mac(found.mac_src),
            MacDst => mac(found.mac_dst),
            IpSrc => found.ip_src.map(|ip| ip.to_string()),
            IpDst => found.ip_dst.map(|ip| ip.to_string()),
            Type => Some(spell(&ETHERTYPES, ethertype)),
            Protocol(words) => Some(spell(words, protocol)),
        }
    }
}

/// A field's first value, and what of its last eight bytes varies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) first: u128,
    vary: Option<(u64, Values, Pick)>,
}

impl Field {
    fn still(value: impl Into<u128>) -> Field {
        Field { first: value.into(), vary: None }
    }

    fn range(first: u64, last: u64) -> Field {
        let vary = (first != last).then_some((u64::MAX, Values::Range(first, last), Pick::InTurn));
        Field { first: first.into(), vary }
    }

    /// The bits of `mask` stay, the others of `width` bits are random.
    fn masked(value: u64, mask: u64, width: u32) -> Field {
        let all = u64::MAX >> (64 - width);
        let random = !mask & all;
        let vary = (random != 0).then_some((random, Values::Range(0, all), Pick::Random));
        Field { first: value.into(), vary }
    }

    /// # Errors
    /// RouterOS's words for what has too many values.
    fn read(value: &Value, unsaid: Unsaid) -> Result<Option<Field>, String> {
        Ok(Some(match value {
            Value::Text(text) => {
                let words = match unsaid {
                    Type => &ETHERTYPES[..],
                    Protocol(words) => words,
                    _ => &[],
                };
                let known = words.iter().find(|(word, _)| word == text);
                return Ok(known.map(|(_, number)| Field::still(*number)));
            }
            Value::List(flags) => {
                let bit = |flag: &Value| FLAGS.iter().position(|name| *name == flag.to_string());
                Field::still(flags.iter().filter_map(bit).fold(0u8, |all, bit| all | 1 << bit))
            }
            Value::Mac(mac) => Field::still(mac.to_u64()),
            Value::MacMask(mac, mask) => Field::masked(mac.to_u64(), mask.to_u64(), 48),
            Value::Range(range) => Field::range(range.first().into(), range.last().into()),
            Value::Numbers(first, last) => Field::range(*first, *last),
            Value::Number(number) => Field::still(*number as u64),
            Value::Pair(port, mask) => match (&**port, &**mask) {
                (Value::Number(port), Value::Number(mask)) => {
                    Field::masked(*port as u64, *mask as u64, 16)
                }
                _ => Field::still(0u8),
            },
            Value::Address6(address) => Field::still(*address),
            Value::Cidr6(address, len @ 64..) => {
                let hosts = u128::MAX.checked_shr((*len).into()).unwrap_or(0);
                let first = u128::from(*address) & !hosts;
                let mask = hosts as u64;
                let vary = (mask != 0).then_some((mask, Values::Range(0, mask), Pick::InTurn));
                Field { first, vary }
            }
            Value::Cidr6(..) => {
                let text = format!("failure: {value} has too many addresses: 64 bits vary at most");
                return Err(text);
            }
            _ => Field::still(0u8),
        }))
    }
}

/// What the box adds to a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) mac_src: MacAddr,
    pub(super) mac_dst: MacAddr,
    pub(super) ip_src: Option<IpAddr>,
    pub(super) ip_dst: Option<IpAddr>,
}

/// Reads a template's stack.
///
/// # Errors
/// RouterOS's words for a stack that cannot be.
pub(super) fn read(item: Read) -> Result<Vec<Header>, String> {
    let names: Vec<String> = item.list("header-stack").iter().map(ToString::to_string).collect();
    check_order(&names)?;
    let lists = Lists { item, names: &names };
    let mut headers = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let nth = names[..i].iter().filter(|other| *other == name).count();
        headers.push(lists.header(i, nth)?);
    }
    Ok(headers)
}

fn check_order(names: &[String]) -> Result<(), String> {
    let fault = |what: &str| Err(format!("failure: header-stack: {what}"));
    let count = |name: &str| names.iter().filter(|other| *other == name).count();
    if !(1..=16).contains(&names.len()) {
        return fault("1 to 16 headers");
    }
    if !matches!(names[0].as_str(), "mac" | "raw") {
        return fault("an ethernet frame begins with mac (or raw)");
    }
    if count("udp") + count("tcp") > 1 {
        return fault("at most 1 udp or tcp header");
    }
    for pair in names.windows(2) {
        match (pair[0].as_str(), pair[1].as_str()) {
            (_, "mac") => return fault("mac comes first"),
            ("mac" | "vlan", "vlan") => {}
            (_, "vlan") => return fault("vlan comes after mac or vlan"),
            ("ip" | "ipv6", "udp" | "tcp") => {}
            (_, "udp" | "tcp") => return fault("udp and tcp come after ip or ipv6"),
            _ => {}
        }
    }
    Ok(())
}

struct Lists<'a> {
    item: Read<'a>,
    names: &'a [String],
}

impl Lists<'_> {
    /// The value for the `nth` occurrence of a header.
    fn value(&self, header: &str, nth: usize, name: &str) -> Result<Option<Value>, String> {
        let values = match self.item.opt(name).as_deref() {
            None => return Ok(None),
            // A header's flags are one value.
            Some(Value::List(values)) if name != "tcp-flags" => values.clone(),
            Some(value) => return Ok(Some(value.clone())),
        };
        let there = self.names.iter().filter(|other| *other == header).count();
        match values.len() {
            0 | 1 => Ok(values.into_iter().next()),
            n if n == there => Ok(values.into_iter().nth(nth)),
            n => Err(format!(
                "failure: {name} has {n} values, the stack {there} {header} headers: give 1 or \
                 {there}"
            )),
        }
    }

    /// The header at this place of the stack, the `nth` of its kind.
    fn header(&self, at: usize, nth: usize) -> Result<Header, String> {
        let name = self.names[at].as_str();
        let known = KINDS.iter().find(|kind| kind.name == name);
        let kind = known.ok_or_else(|| format!("failure: header-stack: no header {name}"))?;
        let mut values = vec![];
        for &(property, .., unsaid) in kind.properties {
            let value = self.value(name, nth, property)?;
            values.push(match value {
                // RFC 8200 §8.1: behind IPv6 there is one.
                None if unsaid == Auto && self.names[at - 1] != "ipv6" => Some(Field::still(0u8)),
                None => None,
                Some(value) => Field::read(&value, unsaid)?,
            });
        }
        let raw = match name == "raw" {
            false => vec![],
            true => match self.value(name, nth, "raw-header")? {
                Some(Value::Text(hex)) => bytes(&hex),
                _ => return Err("failure: a raw header needs raw-header=, its bytes".to_string()),
            },
        };
        Ok(Header { kind, values, raw })
    }
}

/// The frames of a stack.
pub(super) fn plan(
    headers: &[Header],
    payload: &Payload,
    found: Found,
    lengths: Lengths,
) -> FramePlan {
    let mut frame = payload.plan(lengths);
    for (i, header) in headers.iter().enumerate() {
        header.put(&mut frame, headers.get(i + 1), found);
    }
    frame
}

/// What is assumed for properties of the stack that have no value, as `assumed-…` shows it; `None`
/// for one that has a value, or whose header is not there.
pub(super) fn assumed(headers: &[Header], found: Found, item: Read, name: &str) -> Option<String> {
    let property = name.strip_prefix("assumed-")?;
    if item.opt(property).is_some() {
        return None;
    }
    let one = |(i, header): (usize, &Header)| -> Option<String> {
        let known = header.kind.properties.iter().find(|(name, ..)| *name == property);
        let &(.., unsaid) = known?;
        match header.given(property) {
            Some(field) => Some(field.first.to_string()),
            None => unsaid.shown(headers.get(i + 1), found),
        }
    };
    let all: Vec<String> = headers.iter().enumerate().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join(","))
}

/// A number by its word, if it has one.
fn spell(words: &[(&str, u16)], number: u16) -> String {
    let word = words.iter().find(|(_, other)| *other == number);
    word.map_or_else(|| number.to_string(), |(word, _)| (*word).to_string())
}
