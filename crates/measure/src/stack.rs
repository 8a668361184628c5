//! Header stacks by name: `eth/vlan/mpls/ipv4/gre/ipv4/tcp`, and the fields in them: `vlan.vid`.
//!
//! ```text
//!  "eth/vlan/ipv4/udp" ─ parse ─► Stack ─ plan(hosts, lengths) ─► FramePlan, nothing varies yet
//!  "vlan.vid", "ipv4#2.dst" ──────► place ─► where in the frame, which bits, how it is written
//! ```
//!
//! What a header does not say follows from the one behind it (types, protocols, MPLS's last label),
//! from the hosts between which it is sent, or is what anybody would take: TTL 64, echo requests,
//! RFC 2544's UDP ports. What is behind the last header, or behind raw bytes, has IEEE 802's first
//! EtherType and RFC 3692's first protocol for experiments: nobody else's.
//!
//! Ethernet can be inside: behind GRE (RFC 1701's transparent bridging, 0x6558), behind MPLS (RFC
//! 4448's pseudowire, with its control word or without: `mpls/cw/eth`), and behind raw bytes. Behind
//! these can be anything, a header that has no name here in front of one that has: lengths and
//! checksums before and behind them are right, `eth/ipv4/udp/raw(0800000000000100)/eth/ipv4/tcp` is
//! VXLAN. A UDP header in front of another transport is a tunnel's and has no checksum (RFC 7348 §5,
//! RFC 6935).
//!
//! Never chooses a host. Missing: **GRE keys and checksums**, **IPv6 extension headers**, **TCP and
//! IPv4 options**, **VXLAN, PPPoE**: as raw bytes, PPPoE's length as well.

// Which fields a header has, and where.
mod field;
#[cfg(test)]
mod tests;

pub use field::{Form, Place};

use crate::frame::{Data, FramePlan, Lengths, Transport};
use std::fmt;
use wire::MacAddr;

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Header {
    Eth,
    /// 802.1Q's tag.
    Vlan,
    /// 802.1ad's, the service's.
    Svlan,
    Mpls,
    Arp,
    Ipv4,
    Ipv6,
    Icmp,
    Icmpv6,
    Udp,
    Tcp,
    Gre,
    /// RFC 4448's control word.
    Cw,
    Raw(Vec<u8>),
}

/// By name, but for raw bytes.
const HEADERS: [(&str, Header); 13] = [
    ("eth", Header::Eth),
    ("vlan", Header::Vlan),
    ("svlan", Header::Svlan),
    ("mpls", Header::Mpls),
    ("arp", Header::Arp),
    ("ipv4", Header::Ipv4),
    ("ipv6", Header::Ipv6),
    ("icmp", Header::Icmp),
    ("icmpv6", Header::Icmpv6),
    ("udp", Header::Udp),
    ("tcp", Header::Tcp),
    ("gre", Header::Gre),
    ("cw", Header::Cw),
];

/// The longest stack.
const MOST: usize = 64;

/// IEEE 802's first EtherType and RFC 3692's first protocol for experiments.
const EXPERIMENTAL: (u16, u8) = (0x88b5, 253);

/// Headers, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    headers: Vec<Header>,
}

/// Between whom frames go, where a stack is not told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Whose frames they are.
    pub src_mac: MacAddr,
    /// Who is to take them up.
    pub dst_mac: MacAddr,
    /// From, IPv4.
    pub src: u32,
    /// To.
    pub dst: u32,
    /// From, IPv6.
    pub src6: u128,
    /// To.
    pub dst6: u128,
}

/// No such stack, or no such field in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadStack {
    /// No header of this name.
    Header(String),
    /// The bytes of a raw header are none.
    Raw(String),
    /// So many headers, more than 64.
    TooMany(usize),
    /// The second cannot be behind the first.
    Behind(String, String),
    /// Of two transports the first is no tunnel's, or no IP header is between them.
    Tunnel(String, String),
    /// A transport without an IP header in front of it.
    NoIp(String),
    /// The first is always Ethernet's.
    First(String),
    /// The stack has no such header, or not so many.
    NotThere(String),
    /// The header has no such field; those that it has.
    Field(String, String),
}

impl fmt::Display for BadStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadStack::Header(name) => {
                let names: Vec<&str> = HEADERS.iter().map(|(name, _)| *name).collect();
                write!(f, "{name:?} is no header: {} or raw(0a0b0c)", names.join(", "))
            }
            BadStack::Raw(text) => {
                write!(f, "{text:?}: raw bytes are hexadecimal digits, two a byte: raw(0a0b0c)")
            }
            BadStack::TooMany(n) => write!(f, "{n} headers are too many: at most {MOST}"),
            BadStack::Behind(first, second) => write!(f, "{second} cannot be behind {first}"),
            BadStack::Tunnel(first, second) => write!(
                f,
                "{first} around {second}: a tunnel is of udp, with an ip header of its own inside"
            ),
            BadStack::NoIp(name) => {
                write!(f, "no ip header of its version in front of the {name} header")
            }
            BadStack::First(first) => write!(f, "a frame begins with eth, not with {first}"),
            BadStack::NotThere(name) => write!(f, "the stack has no {name}"),
            BadStack::Field(name, fields) if fields.is_empty() => {
                write!(f, "{name}: fields are written header.field, as in ipv4.dst")
            }
            BadStack::Field(name, fields) => write!(f, "{name} is no field: there are {fields}"),
        }
    }
}

impl std::error::Error for BadStack {}

impl Header {
    fn name(&self) -> &'static str {
        HEADERS.iter().find(|(_, header)| header == self).map_or("raw", |(name, _)| name)
    }

    fn len(&self) -> usize {
        match self {
            Header::Eth => 14,
            Header::Vlan | Header::Svlan | Header::Mpls | Header::Gre | Header::Cw => 4,
            Header::Arp => 28,
            Header::Ipv4 | Header::Tcp => 20,
            Header::Ipv6 => 40,
            Header::Icmp | Header::Icmpv6 | Header::Udp => 8,
            Header::Raw(bytes) => bytes.len(),
        }
    }

    fn is_transport(&self) -> bool {
        matches!(self, Header::Icmp | Header::Icmpv6 | Header::Udp | Header::Tcp)
    }

    /// Whether a receiver that knows this header would look for that one behind it.
    fn takes(&self, behind: &Header) -> bool {
        use Header::{Arp, Cw, Eth, Gre, Icmp, Icmpv6, Ipv4, Ipv6};
        use Header::{Mpls, Raw, Svlan, Tcp, Udp, Vlan};
        match (self, behind) {
            // What raw bytes are, nobody here knows.
            (_, Raw(_)) | (Raw(_), _) => true,
            (Gre | Mpls | Cw, Eth) | (Mpls, Cw) => true,
            (Eth | Svlan, Vlan | Svlan | Mpls | Arp | Ipv4 | Ipv6) => true,
            (Vlan, Vlan | Mpls | Arp | Ipv4 | Ipv6) => true,
            (Mpls, Mpls | Ipv4 | Ipv6) | (Gre, Ipv4 | Ipv6) => true,
            (Ipv4, Ipv4 | Ipv6 | Icmp | Udp | Tcp | Gre) => true,
            (Ipv6, Ipv4 | Ipv6 | Icmpv6 | Udp | Tcp | Gre) => true,
            _ => false,
        }
    }

    /// The EtherType that announces it.
    fn ethertype(behind: Option<&Header>) -> u16 {
        match behind {
            Some(Header::Vlan) => 0x8100,
            Some(Header::Svlan) => 0x88a8,
            Some(Header::Mpls) => 0x8847,
            Some(Header::Arp) => 0x0806,
            Some(Header::Ipv4) => 0x0800,
            Some(Header::Ipv6) => 0x86dd,
            // Of GRE: transparent Ethernet bridging.
            Some(Header::Eth) => 0x6558,
            _ => EXPERIMENTAL.0,
        }
    }

    /// The protocol that does.
    fn protocol(behind: Option<&Header>) -> u8 {
        match behind {
            Some(Header::Ipv4) => 4,
            Some(Header::Ipv6) => 41,
            Some(Header::Icmp) => 1,
            Some(Header::Icmpv6) => 58,
            Some(Header::Udp) => 17,
            Some(Header::Tcp) => 6,
            Some(Header::Gre) => 47,
            _ => EXPERIMENTAL.1,
        }
    }

    fn bytes(&self, behind: Option<&Header>, hosts: &Hosts) -> Vec<u8> {
        let mut out = vec![];
        let mut put = |bytes: &[u8]| out.extend_from_slice(bytes);
        match self {
            Header::Eth => {
                put(&hosts.dst_mac.0);
                put(&hosts.src_mac.0);
                put(&Header::ethertype(behind).to_be_bytes());
            }
            Header::Vlan | Header::Svlan => {
                put(&1u16.to_be_bytes());
                put(&Header::ethertype(behind).to_be_bytes());
            }
            Header::Mpls => {
                let last = u32::from(behind != Some(&Header::Mpls));
                // RFC 3032: labels below 16 have meanings.
                put(&(16 << 12 | last << 8 | 64).to_be_bytes());
            }
            Header::Arp => {
                put(&[0, 1, 8, 0, 6, 4, 0, 1]);
                put(&hosts.src_mac.0);
                put(&hosts.src.to_be_bytes());
                put(&[0; 6]);
                put(&hosts.dst.to_be_bytes());
            }
            Header::Ipv4 => {
                put(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, Header::protocol(behind), 0, 0]);
                put(&hosts.src.to_be_bytes());
                put(&hosts.dst.to_be_bytes());
            }
            Header::Ipv6 => {
                put(&[0x60, 0, 0, 0, 0, 0, Header::protocol(behind), 64]);
                put(&hosts.src6.to_be_bytes());
                put(&hosts.dst6.to_be_bytes());
            }
            // Echo requests.
            Header::Icmp => put(&[8, 0, 0, 0, 0, 1, 0, 0]),
            Header::Icmpv6 => put(&[128, 0, 0, 0, 0, 1, 0, 0]),
            Header::Udp => put(&[0xc0, 0x20, 0, 7, 0, 0, 0, 0]),
            // A segment of an established connection: ACK, a window of 8192.
            Header::Tcp => {
                put(&[0xc0, 0x20, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
                put(&[0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
            }
            Header::Gre => {
                put(&[0, 0]);
                put(&Header::ethertype(behind).to_be_bytes());
            }
            // Nobody counts: a sequence number of 0 (RFC 4448 §4.6).
            Header::Cw => put(&[0; 4]),
            Header::Raw(bytes) => put(bytes),
        }
        out
    }
}

impl Stack {
    /// Reads a stack.
    ///
    /// # Errors
    /// [`BadStack`].
    pub fn parse(text: &str) -> Result<Stack, BadStack> {
        let headers =
            text.split('/').map(|name| header(name.trim())).collect::<Result<Vec<_>, _>>()?;
        if headers.len() > MOST {
            return Err(BadStack::TooMany(headers.len()));
        }
        if headers[0] != Header::Eth {
            return Err(BadStack::First(headers[0].name().to_string()));
        }
        if let Some(pair) = headers.windows(2).find(|pair| !pair[0].takes(&pair[1])) {
            return Err(BadStack::Behind(pair[0].name().into(), pair[1].name().into()));
        }
        transports(&headers)?;
        Ok(Stack { headers })
    }

    /// How many bytes of headers there are.
    pub fn len(&self) -> usize {
        self.headers.iter().map(Header::len).sum()
    }

    /// Whether there are none: never.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Bytes in front of the first IP header: what L2 has and L3 has not, without the FCS. A frame
    /// without IP has an Ethernet header.
    pub fn before_ip(&self) -> usize {
        let at = self.headers.iter().position(|h| matches!(h, Header::Ipv4 | Header::Ipv6));
        at.map_or(14, |at| self.offset(at))
    }

    /// Whether there is an IP packet in it.
    pub fn has_ip(&self) -> bool {
        self.headers.iter().any(|h| matches!(h, Header::Ipv4 | Header::Ipv6))
    }

    /// The bytes of its raw headers.
    pub fn raw(&self) -> Vec<&[u8]> {
        let bytes = self.headers.iter().filter_map(|header| match header {
            Header::Raw(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        bytes.collect()
    }

    fn offset(&self, index: usize) -> usize {
        self.headers[..index].iter().map(Header::len).sum()
    }

    /// Frames with these headers, all alike. UDP over IPv6 and over IPv4 has a right checksum,
    /// unless `udp_checksum` is false and IPv4 allows it to be none.
    pub fn plan(&self, hosts: &Hosts, lengths: Lengths, udp_checksum: bool) -> FramePlan {
        let mut plan = FramePlan {
            header: vec![],
            ipv4: vec![],
            ipv6: vec![],
            transport: None,
            tunnels: vec![],
            varying: vec![],
            links: vec![],
            data: Data::Byte(0xa5),
            lengths,
            footer: true,
            checksum_from: None,
        };
        let last = self.headers.iter().rposition(Header::is_transport);
        for (i, header) in self.headers.iter().enumerate() {
            let at = plan.header.len();
            let udp = match udp_checksum || !plan.ipv6.is_empty() {
                true => Transport::UdpChecksum,
                false => Transport::Udp,
            };
            match header {
                Header::Ipv4 => plan.ipv4.push(at),
                Header::Ipv6 => plan.ipv6.push(at),
                Header::Udp if last != Some(i) => plan.tunnels.push(at),
                Header::Udp => plan.transport = Some((at, udp)),
                Header::Tcp => plan.transport = Some((at, Transport::Tcp)),
                Header::Icmp => plan.transport = Some((at, Transport::Icmp)),
                Header::Icmpv6 => plan.transport = Some((at, Transport::Icmpv6)),
                _ => {}
            }
            plan.header.extend(header.bytes(self.headers.get(i + 1), hosts));
        }
        plan
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, header) in self.headers.iter().enumerate() {
            let slash = if i == 0 { "" } else { "/" };
            write!(f, "{slash}{}", header.name())?;
            if let Header::Raw(bytes) = header {
                write!(f, "(")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, ")")?;
            }
        }
        Ok(())
    }
}

/// Whether each transport has its IP header, and all but the last are tunnels.
fn transports(headers: &[Header]) -> Result<(), BadStack> {
    let mut network: Option<&Header> = None;
    let mut outer: Option<&Header> = None;
    for header in headers {
        match header {
            Header::Ipv4 | Header::Ipv6 => network = Some(header),
            _ if !header.is_transport() => {}
            transport => {
                let name = transport.name();
                if let Some(outer) = outer
                    && (*outer != Header::Udp || network.is_none())
                {
                    return Err(BadStack::Tunnel(outer.name().into(), name.into()));
                }
                match (network.take(), transport) {
                    (None, _)
                    | (Some(Header::Ipv6), Header::Icmp)
                    | (Some(Header::Ipv4), Header::Icmpv6) => {
                        return Err(BadStack::NoIp(name.into()));
                    }
                    _ => outer = Some(transport),
                }
            }
        }
    }
    Ok(())
}

fn header(name: &str) -> Result<Header, BadStack> {
    let known = HEADERS.iter().find(|(known, _)| *known == name);
    if let Some((_, header)) = known {
        return Ok(header.clone());
    }
    let Some(hex) = name.strip_prefix("raw(").and_then(|rest| rest.strip_suffix(')')) else {
        return Err(BadStack::Header(name.to_string()));
    };
    let byte = |at: usize| hex.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let bytes = bytes.filter(|bytes| !bytes.is_empty() && !hex.contains('+'));
    bytes.map(Header::Raw).ok_or_else(|| BadStack::Raw(hex.to_string()))
}
