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

/// One header of a stack. `None`: to be assumed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Header {
    Mac { src: Option<Field>, dst: Option<Field>, protocol: Option<u16> },
    Vlan { id: u16, priority: u16, protocol: Option<u16> },
    Ip(Ip),
    Ip6(Ip6),
    Udp { src: Field, dst: Field, checksum: Option<u16> },
    Tcp(Tcp),
    Raw(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ip {
    pub(super) src: Option<Field>,
    pub(super) dst: Option<Field>,
    dscp: u8,
    id: u16,
    frag_off: u16,
    ttl: u8,
    protocol: Option<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ip6 {
    pub(super) src: Option<Field6>,
    pub(super) dst: Option<Field6>,
    traffic_class: u8,
    flow_label: u32,
    hop_limit: u8,
    next_header: Option<u8>,
}

/// An address of IPv6: the first, and the last if there are several, which differ in their lower halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Field6 {
    pub(super) first: u128,
    last: u128,
}

impl Field6 {
    fn still(address: u128) -> Field6 {
        Field6 { first: address, last: address }
    }

    fn read(value: &Value) -> Result<Field6, String> {
        match *value {
            Value::Address6(address) => Ok(Field6::still(address.into())),
            Value::Cidr6(address, 128) => Ok(Field6::still(address.into())),
            Value::Cidr6(address, len @ 64..) => {
                let hosts = u128::MAX.checked_shr(len.into()).unwrap_or(0);
                let first = u128::from(address) & !hosts;
                Ok(Field6 { first, last: first | hosts })
            }
            ref other => {
                Err(format!("failure: {other} has too many addresses: 64 bits vary at most"))
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tcp {
    src: Field,
    dst: Field,
    sequence: Field,
    acknowledgment: Field,
    data_offset: u8,
    flags: u8,
    window: u16,
    urgent: u16,
}

/// A field's first value, and what of it varies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) first: u64,
    vary: Option<(u64, Values, Pick)>,
}

impl Field {
    pub(super) fn still(value: u64) -> Field {
        Field { first: value, vary: None }
    }

    fn range(first: u64, last: u64) -> Field {
        let vary = (first != last).then_some((u64::MAX, Values::Range(first, last), Pick::InTurn));
        Field { first, vary }
    }

    /// The bits of `mask` stay, the others of `width` bits are random.
    fn masked(value: u64, mask: u64, width: u32) -> Field {
        let all = u64::MAX >> (64 - width);
        let random = !mask & all;
        let vary = (random != 0).then_some((random, Values::Range(0, all), Pick::Random));
        Field { first: value, vary }
    }

    fn read(value: &Value) -> Field {
        match value {
            Value::Mac(mac) => Field::still(mac.to_u64()),
            Value::MacMask(mac, mask) => Field::masked(mac.to_u64(), mask.to_u64(), 48),
            Value::Range(range) => Field::range(range.first().into(), range.last().into()),
            Value::Numbers(first, last) => Field::range(*first, *last),
            Value::Number(number) => Field::still(*number as u64),
            Value::Pair(port, mask) => match (&**port, &**mask) {
                (Value::Number(port), Value::Number(mask)) => {
                    Field::masked(*port as u64, *mask as u64, 16)
                }
                _ => Field::still(0),
            },
            _ => Field::still(0),
        }
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

impl Found {
    fn address(found: Option<IpAddr>) -> Field {
        match found {
            Some(IpAddr::V4(address)) => Field::still(u32::from(address).into()),
            _ => Field::still(0),
        }
    }

    fn address6(found: Option<IpAddr>) -> Field6 {
        match found {
            Some(IpAddr::V6(address)) => Field6::still(address.into()),
            _ => Field6::still(0),
        }
    }
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
        headers.push(lists.header(name, nth)?);
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
        let values = self.item.list(name);
        let there = self.names.iter().filter(|other| *other == header).count();
        match values.len() {
            0 => Ok(None),
            1 => Ok(values.into_iter().next()),
            n if n == there => Ok(values.into_iter().nth(nth)),
            n => Err(format!(
                "failure: {name} has {n} values, the stack {there} {header} headers: give 1 or \
                 {there}"
            )),
        }
    }

    fn number(&self, header: &str, nth: usize, name: &str, default: u64) -> Result<u64, String> {
        Ok(match self.value(header, nth, name)? {
            Some(Value::Number(number)) => number as u64,
            _ => default,
        })
    }

    fn field(&self, header: &str, nth: usize, name: &str) -> Result<Option<Field>, String> {
        Ok(self.value(header, nth, name)?.map(|value| Field::read(&value)))
    }

    fn word<T: Copy + TryFrom<i64>>(
        &self,
        header: &str,
        nth: usize,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, String> {
        Ok(match self.value(header, nth, name)? {
            Some(Value::Number(number)) => T::try_from(number).ok(),
            Some(Value::Text(text)) => {
                words.iter().find(|(word, _)| *word == text).map(|(_, number)| *number)
            }
            _ => None,
        })
    }

    fn header(&self, name: &str, nth: usize) -> Result<Header, String> {
        let (item, port) = (self.item, |number| Field::still(number));
        let optional = |name: &str, default: u64| {
            item.opt(name).map_or(Field::still(default), |value| Field::read(&value))
        };
        Ok(match name {
            "mac" => Header::Mac {
                src: self.field(name, nth, "mac-src")?,
                dst: self.field(name, nth, "mac-dst")?,
                protocol: self.word(name, nth, "mac-protocol", &ETHERTYPES)?,
            },
            "vlan" => Header::Vlan {
                id: self.number(name, nth, "vlan-id", 0)? as u16,
                priority: self.number(name, nth, "vlan-priority", 0)? as u16,
                protocol: self.word(name, nth, "vlan-protocol", &ETHERTYPES)?,
            },
            "ip" => Header::Ip(Ip {
                src: self.field(name, nth, "ip-src")?,
                dst: self.field(name, nth, "ip-dst")?,
                dscp: self.number(name, nth, "ip-dscp", 0)? as u8,
                id: self.number(name, nth, "ip-id", 0)? as u16,
                frag_off: self.number(name, nth, "ip-frag-off", 0)? as u16,
                ttl: self.number(name, nth, "ip-ttl", 64)? as u8,
                protocol: self.word(name, nth, "ip-protocol", &IP_PROTOCOLS)?,
            }),
            "ipv6" => {
                let address = |property| -> Result<Option<Field6>, String> {
                    let value = self.value(name, nth, property)?;
                    value.map(|value| Field6::read(&value)).transpose()
                };
                Header::Ip6(Ip6 {
                    src: address("ipv6-src")?,
                    dst: address("ipv6-dst")?,
                    traffic_class: self.number(name, nth, "ipv6-traffic-class", 0)? as u8,
                    flow_label: self.number(name, nth, "ipv6-flow-label", 0)? as u32,
                    hop_limit: self.number(name, nth, "ipv6-hop-limit", 64)? as u8,
                    next_header: self.word(name, nth, "ipv6-next-header", &NEXT_HEADERS)?,
                })
            }
            "udp" => Header::Udp {
                src: self.field(name, nth, "udp-src-port")?.unwrap_or(port(100)),
                dst: self.field(name, nth, "udp-dst-port")?.unwrap_or(port(200)),
                checksum: match self.value(name, nth, "udp-checksum")? {
                    Some(Value::Text(_)) => None,
                    Some(Value::Number(number)) => Some(number as u16),
                    // RFC 8200 §8.1: behind IPv6 there is one.
                    _ if self.names.windows(2).any(|pair| pair == ["ipv6", "udp"]) => None,
                    _ => Some(0),
                },
            },
            "tcp" => {
                let flag = |flag: &Value| {
                    FLAGS
                        .iter()
                        .position(|name| *name == flag.to_string())
                        .map_or(0, |bit| 1 << bit)
                };
                let flags = item.list("tcp-flags").iter().map(flag).fold(0u8, |all, bit| all | bit);
                Header::Tcp(Tcp {
                    src: self.field(name, nth, "tcp-src-port")?.unwrap_or(port(100)),
                    dst: self.field(name, nth, "tcp-dst-port")?.unwrap_or(port(200)),
                    sequence: optional("tcp-syn", 0),
                    acknowledgment: optional("tcp-ack", 0),
                    data_offset: optional("tcp-data-offset", 5).first as u8,
                    flags: if item.opt("tcp-flags").is_some() { flags } else { TCP_ACK },
                    window: optional("tcp-window-size", 8192).first as u16,
                    urgent: optional("tcp-urgent-pointer", 0).first as u16,
                })
            }
            _ => match self.value(name, nth, "raw-header")? {
                Some(Value::Text(hex)) => Header::Raw(bytes(&hex)),
                _ => return Err("failure: a raw header needs raw-header=, its bytes".to_string()),
            },
        })
    }
}

/// Of a segment of an established connection.
const TCP_ACK: u8 = 0x10;

/// IEEE 802's first EtherType, and RFC 3692's first protocol, for experiments: what is behind a
/// raw header, or nothing, is nobody else's.
const EXPERIMENTAL: (u16, u8) = (0x88b5, 253);

/// The EtherType that announces this header.
pub(super) fn ethertype(next: Option<&Header>) -> u16 {
    match next {
        Some(Header::Ip(_)) => 0x0800,
        Some(Header::Ip6(_)) => 0x86dd,
        Some(Header::Vlan { .. }) => 0x8100,
        _ => EXPERIMENTAL.0,
    }
}

/// The IP protocol that announces this header.
pub(super) fn ip_protocol(next: Option<&Header>) -> u8 {
    match next {
        Some(Header::Ip(_)) => 4,
        Some(Header::Ip6(_)) => 41,
        Some(Header::Udp { .. }) => 17,
        Some(Header::Tcp(_)) => 6,
        _ => EXPERIMENTAL.1,
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
        let mut put = Put { frame: &mut frame };
        put.header(header, headers.get(i + 1), found);
    }
    frame
}

/// A plan whose header is being written.
struct Put<'a> {
    frame: &'a mut FramePlan,
}

impl Put<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.frame.header.extend(bytes);
    }

    fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    fn field(&mut self, field: &Field, width: usize) {
        let at = self.frame.header.len();
        self.bytes(&field.first.to_be_bytes()[8 - width..]);
        if let Some((mask, values, pick)) = &field.vary {
            let mask = mask & (u64::MAX >> (64 - 8 * width));
            let values = values.clone();
            self.frame.varying.push(Varying { at, width, mask, values, pick: *pick, link: None });
        }
    }

    fn field6(&mut self, Field6 { first, last }: Field6) {
        let at = self.frame.header.len();
        self.bytes(&first.to_be_bytes());
        if first != last {
            let (at, mask) = (at + 8, (first ^ last) as u64);
            let values = Values::Range(first as u64 & mask, last as u64 & mask);
            let pick = Pick::InTurn;
            self.frame.varying.push(Varying { at, width: 8, mask, values, pick, link: None });
        }
    }

    fn header(&mut self, header: &Header, next: Option<&Header>, found: Found) {
        let at = self.frame.header.len();
        match header {
            Header::Mac { src, dst, protocol } => {
                let or = |field: &Option<Field>, mac: MacAddr| {
                    field.clone().unwrap_or(Field::still(mac.to_u64()))
                };
                self.field(&or(dst, found.mac_dst), 6);
                self.field(&or(src, found.mac_src), 6);
                self.u16(protocol.unwrap_or(ethertype(next)));
            }
            Header::Vlan { id, priority, protocol } => {
                self.u16(priority << 13 | id);
                self.u16(protocol.unwrap_or(ethertype(next)));
            }
            Header::Ip(ip) => {
                self.frame.ipv4.push(at);
                self.bytes(&[0x45, ip.dscp, 0, 0]);
                self.u16(ip.id);
                self.u16(ip.frag_off);
                self.bytes(&[ip.ttl, ip.protocol.unwrap_or(ip_protocol(next)), 0, 0]);
                self.field(&ip.src.clone().unwrap_or(Found::address(found.ip_src)), 4);
                self.field(&ip.dst.clone().unwrap_or(Found::address(found.ip_dst)), 4);
            }
            Header::Ip6(ip) => {
                self.frame.ipv6.push(at);
                let first = 6 << 28 | u32::from(ip.traffic_class) << 20 | ip.flow_label & 0xf_ffff;
                self.bytes(&first.to_be_bytes());
                self.u16(0);
                self.bytes(&[ip.next_header.unwrap_or(ip_protocol(next)), ip.hop_limit]);
                self.field6(ip.src.unwrap_or(Found::address6(found.ip_src)));
                self.field6(ip.dst.unwrap_or(Found::address6(found.ip_dst)));
            }
            Header::Udp { src, dst, checksum } => {
                let kind = checksum.map_or(Transport::UdpChecksum, |_| Transport::Udp);
                self.frame.transport = Some((at, kind));
                self.field(src, 2);
                self.field(dst, 2);
                self.u16(0);
                self.u16(checksum.unwrap_or(0));
            }
            Header::Tcp(tcp) => {
                self.frame.transport = Some((at, Transport::Tcp));
                self.field(&tcp.src, 2);
                self.field(&tcp.dst, 2);
                self.field(&tcp.sequence, 4);
                self.field(&tcp.acknowledgment, 4);
                self.bytes(&[tcp.data_offset << 4, tcp.flags]);
                self.u16(tcp.window);
                self.u16(0);
                self.u16(tcp.urgent);
            }
            Header::Raw(bytes) => self.bytes(bytes),
        }
    }
}

/// What is assumed for properties of the stack that have no value, as `assumed-…` shows it; `None`
/// for one that has a value, or whose header is not there.
pub(super) fn assumed(headers: &[Header], found: Found, item: Read, name: &str) -> Option<String> {
    let property = name.strip_prefix("assumed-")?;
    if item.opt(property).is_some() {
        return None;
    }
    let next = |i: usize| headers.get(i + 1);
    let mac = |mac: MacAddr| (mac != MacAddr::default()).then(|| mac.to_string());
    let one = |(i, header): (usize, &Header)| -> Option<String> {
        let fixed = |text: &str| Some(text.to_string());
        match (header, property) {
            (Header::Mac { .. }, "mac-src") => mac(found.mac_src),
            (Header::Mac { .. }, "mac-dst") => mac(found.mac_dst),
            (Header::Mac { .. }, "mac-protocol") | (Header::Vlan { .. }, "vlan-protocol") => {
                Some(spell(&ETHERTYPES, ethertype(next(i))))
            }
            (Header::Vlan { .. }, "vlan-id" | "vlan-priority") => fixed("0"),
            (Header::Ip(_), "ip-src") => found.ip_src.map(|ip| ip.to_string()),
            (Header::Ip(_), "ip-dst") => found.ip_dst.map(|ip| ip.to_string()),
            (Header::Ip(_), "ip-dscp" | "ip-id" | "ip-frag-off") => fixed("0"),
            (Header::Ip(_), "ip-ttl") | (Header::Ip6(_), "ipv6-hop-limit") => fixed("64"),
            (Header::Ip6(_), "ipv6-src") => found.ip_src.map(|ip| ip.to_string()),
            (Header::Ip6(_), "ipv6-dst") => found.ip_dst.map(|ip| ip.to_string()),
            (Header::Ip6(_), "ipv6-traffic-class" | "ipv6-flow-label") => fixed("0"),
            (Header::Ip6(_), "ipv6-next-header") => {
                Some(spell(&NEXT_HEADERS, ip_protocol(next(i))))
            }
            (Header::Ip(_), "ip-protocol") => Some(spell(&IP_PROTOCOLS, ip_protocol(next(i)))),
            (Header::Udp { .. }, "udp-src-port") | (Header::Tcp(_), "tcp-src-port") => fixed("100"),
            (Header::Udp { .. }, "udp-dst-port") | (Header::Tcp(_), "tcp-dst-port") => fixed("200"),
            (Header::Udp { checksum: None, .. }, "udp-checksum") => fixed("auto"),
            (Header::Udp { .. }, "udp-checksum") => fixed("0"),
            (Header::Tcp(_), "tcp-syn" | "tcp-ack" | "tcp-urgent-pointer") => fixed("0"),
            (Header::Tcp(_), "tcp-data-offset") => fixed("5"),
            (Header::Tcp(_), "tcp-flags") => fixed("ack"),
            (Header::Tcp(_), "tcp-window-size") => fixed("8192"),
            _ => None,
        }
    };
    let all: Vec<String> = headers.iter().enumerate().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join(","))
}

/// A number by its word, if it has one.
fn spell<T: Copy + PartialEq + ToString>(words: &[(&str, T)], number: T) -> String {
    let word = words.iter().find(|(_, other)| *other == number);
    word.map_or_else(|| number.to_string(), |(word, _)| (*word).to_string())
}
