//! Random frames: few hosts and ports, so that flows repeat; and what hosts answer, so that
//! connections come about, translations and all.
//!
//! ```text
//! host h of network n: 10.0.n.h, MAC 06:00:00:00:0n:0h, behind ether n
//! ```

#[path = "traffic/six.rs"] // beside whoever takes this file
mod six;
#[path = "traffic/tunnel.rs"]
mod tunnel;

use crate::configuration::PORTS;
use crate::rig::Rig;
use crate::session;
use proptest::prelude::*;
use proptest::sample::select;
use router::interface::tunnel::Carries;
use router::program;
use wire::arp::{ArpMessage, Operation};
use wire::craft::{self, Body, Frame, ip};
use wire::icmp::IcmpHeader;
use wire::layers::{self, protocol};
use wire::tcp::TcpHeader;
use wire::vlan::Tci;
use wire::{Arp, MacAddr, Tcp, TcpFlags, checksum};

/// A frame, or the fragments of one.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// Where it comes in, from 1.
    pub(crate) port: usize,
    link: Link,
    src: u32,
    dst: u32,
    kind: Kind,
    payload: usize,
    ttl: u8,
    tos: u8,
    dont_fragment: bool,
    options: bool,
    vlan: Option<Tci>,
    cut: Option<Cut>,
    broken: Option<Broken>,
    /// The same in IPv6.
    six: bool,
}

/// To whom it is addressed on the link.
#[derive(Clone, Copy, Debug)]
enum Link {
    Router,
    /// The router's end of a PPPoE session, if there is one.
    Session,
    /// The virtual router.
    Virtual,
    /// The host itself: what a bridge forwards.
    Host,
    Stranger,
    Broadcast,
    Multicast,
    /// Sent to its own source.
    Itself,
    /// From a group address.
    FromGroup,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Udp(u16, u16),
    Tcp {
        ports: (u16, u16),
        flags: u8,
        seq: u32,
        ack: u32,
    },
    Ping(u16),
    Icmp(u8, u8),
    Protocol(u8),
    /// From the other end of a tunnel, with a datagram inside.
    Tunnelled(Carries),
    ArpRequest,
    ArpReply,
    Gratuitous,
    /// Another EtherType.
    Other(u16),
    /// So many bytes, no more.
    Runt(usize),
}

/// In pieces: so long each, in this order of things.
#[derive(Clone, Copy, Debug)]
enum Cut {
    InOrder(usize),
    Backwards(usize),
    LastMissing(usize),
    Overlapping(usize),
}

#[derive(Clone, Copy, Debug)]
enum Broken {
    IpChecksum,
    L4Checksum,
    /// One byte of the frame is another.
    Byte(usize, u8),
    /// The frame ends early.
    Truncated(usize),
}

fn host(net: u8, host: u8) -> u32 {
    ip(10, 0, net, host)
}

fn mac_of(address: u32) -> MacAddr {
    let [.., net, host] = address.to_be_bytes();
    MacAddr([6, 0, 0, 0, net, host])
}

pub(crate) fn packet() -> impl Strategy<Value = Packet> {
    let net = || 1..=PORTS;
    let near = (net(), 1..4u8).prop_map(|(n, h)| host(n, h));
    let own = net().prop_map(|n| ip(10, 0, n, 254));
    let far = (0..8u8).prop_map(|n| ip(172, 16, n, 1));
    let odd = select(vec![
        ip(10, 0, 2, 255),
        ip(10, 0, 2, 0),
        ip(255, 255, 255, 255),
        ip(224, 0, 0, 5),
        ip(127, 0, 0, 1),
        ip(0, 0, 0, 0),
        ip(8, 8, 8, 8),
        ip(240, 0, 0, 1),
        ip(192, 0, 2, 1),
        ip(10, 0, 1, 253),
        ip(10, 0, 3, 77),
        ip(10, 0, 3, 200),
        ip(10, 0, 1, 200),
    ]);
    let dst = prop_oneof![12 => near, 4 => own, 3 => far, 1 => odd.clone()];
    let src = prop_oneof![
        20 => (1..4u8).prop_map(|h| (None, h)),
        1 => odd.prop_map(|address| (Some(address), 1)),
    ];
    let link = prop_oneof![
        16 => Just(Link::Router),
        4 => Just(Link::Session),
        5 => Just(Link::Host),
        2 => Just(Link::Virtual),
        1 => select(vec![
            Link::Stranger, Link::Broadcast, Link::Multicast, Link::Itself, Link::FromGroup
        ]),
    ];
    let rare = |n: u32| prop_oneof![n => Just(false), 1 => Just(true)];
    let ttl = prop_oneof![10 => Just(64u8), 1 => select(vec![0u8, 1, 2, 10, 63, 255])];
    let tos = prop_oneof![6 => Just(0u8), 1 => Just(40u8)];
    let payload = prop_oneof![6 => 0..60usize, 2 => 60..600usize, 1 => 1300..1472usize];
    let cut = prop_oneof![
        20 => Just(None),
        1 => (8..100usize).prop_map(|n| Some(Cut::InOrder(n / 8 * 8))),
        1 => select(vec![Cut::Backwards(16), Cut::LastMissing(24), Cut::Overlapping(16)])
            .prop_map(Some),
    ];
    let broken = prop_oneof![
        20 => Just(None),
        1 => Just(Some(Broken::IpChecksum)),
        1 => Just(Some(Broken::L4Checksum)),
        1 => (0..80usize, any::<u8>()).prop_map(|(at, byte)| Some(Broken::Byte(at, byte))),
        1 => (0..80usize).prop_map(|n| Some(Broken::Truncated(n))),
        // 0x8100 becomes 0x9100, the tag of some bridges.
        1 => Just(Some(Broken::Byte(12, 0x91))),
    ];
    let where_to = (1..=usize::from(PORTS), link, src, dst, kind());
    // As the port has it; of a VLAN, which may be there or not; of none: a priority tag.
    let vlan = prop_oneof![
        25 => Just(None),
        2 => select(vec![5, 11, 21, 22, 6]).prop_map(|id| Some(Tci::new(id, 3))),
        2 => Just(Some(Tci::new(0, 5))),
    ];
    let six = prop_oneof![2 => Just(false), 1 => Just(true)];
    let how = (payload, ttl, tos, rare(8), rare(25), vlan, cut, broken, six);
    (where_to, how).prop_map(
        |(
            (port, link, (odd, h), dst, kind),
            (payload, ttl, tos, dont_fragment, options, vlan, cut, broken, six),
        )| {
            // What comes out of a tunnel is mostly of its other end.
            let (port, h) = match kind {
                Kind::Tunnelled(carries) if !payload.is_multiple_of(5) => {
                    tunnel::other_end(carries, payload)
                }
                _ => (port, h),
            };
            let src = odd.unwrap_or(host(port as u8, h));
            Packet {
                port,
                link,
                src,
                dst,
                kind,
                payload,
                ttl,
                tos,
                dont_fragment,
                options,
                vlan,
                cut,
                broken,
                six,
            }
        },
    )
}

fn kind() -> impl Strategy<Value = Kind> {
    let udp = (select(vec![1000u16, 1001]), select(vec![53u16, 53, 2000, 2000, 69]))
        .prop_map(|(s, d)| Kind::Udp(s, d));
    let tcp_ports = || (select(vec![1000u16, 1001]), select(vec![80u16, 80, 8080, 8080, 21]));
    let syn = tcp_ports().prop_map(|ports| Kind::Tcp { ports, flags: 2, seq: 999, ack: 0 });
    let flags = select(vec![0x10u8, 0x10, 0x18, 0x11, 0x04, 0x14, 0x12, 0x00, 0x3f, 0x01]);
    let number = || select(vec![999u32, 1000, 1000, 1001, 1020, 5000, 90_000, 0x8000_0000]);
    let segment = (tcp_ports(), flags, number(), number())
        .prop_map(|(ports, flags, seq, ack)| Kind::Tcp { ports, flags, seq, ack });
    prop_oneof![
        10 => udp,
        8 => syn,
        4 => segment,
        4 => (1..3u16).prop_map(Kind::Ping),
        1 => (0..20u8, 0..3u8).prop_map(|(kind, code)| Kind::Icmp(kind, code)),
        1 => select(vec![47u8, 50, 132, 0, 255]).prop_map(Kind::Protocol),
        5 => select(tunnel::KINDS).prop_map(Kind::Tunnelled),
        4 => Just(Kind::ArpRequest),
        1 => Just(Kind::ArpReply),
        1 => Just(Kind::Gratuitous),
        1 => select(vec![0x86ddu16, 0x8847, 0x88cc, 0x0026, 0x8100, 0x88a8, 0x9100]).prop_map(Kind::Other),
        1 => (0..64usize).prop_map(Kind::Runt),
    ]
}

impl Packet {
    /// A datagram of host 1 behind a port to an address, by way of the router.
    pub(crate) fn udp(port: u8, dst: u32) -> Packet {
        Packet {
            port: port.into(),
            link: Link::Router,
            src: host(port, 1),
            dst,
            kind: Kind::Udp(1000, 53),
            payload: 0,
            ttl: 64,
            tos: 0,
            dont_fragment: false,
            options: false,
            vlan: None,
            cut: None,
            broken: None,
            six: false,
        }
    }

    /// The same, on the link to the host itself: by way of a bridge alone.
    pub(crate) fn bridged(self) -> Packet {
        Packet { link: Link::Host, ..self }
    }

    /// A gratuitous ARP: where host 1 behind a port is.
    pub(crate) fn gratuitous(port: u8) -> Packet {
        Packet { kind: Kind::Gratuitous, ..Packet::udp(port, ip(10, 0, 1, 1)) }
    }

    /// An ARP request for the router.
    pub(crate) fn arp(port: u8) -> Packet {
        Packet { kind: Kind::ArpRequest, payload: 1, ..Packet::udp(port, 0) }
    }

    /// So many bytes of data, not to be fragmented.
    pub(crate) fn whole(self, payload: usize) -> Packet {
        Packet { payload, dont_fragment: true, ..self }
    }

    /// A SYN in fragments, the last one first.
    pub(crate) fn syn_backwards(self) -> Packet {
        let kind = Kind::Tcp { ports: (1000, 80), flags: 2, seq: 999, ack: 0 };
        Packet { kind, cut: Some(Cut::Backwards(16)), ..self }
    }

    /// The frames, as they come to this router.
    pub(crate) fn frames(&self, rig: &Rig) -> Vec<Vec<u8>> {
        let program = rig.router.program();
        let port = program.interface(rig.ether(self.port as u8));
        let gateway = ip(10, 0, self.port as u8, 254);
        let gateway = program.addresses.iter().find(|own| own.address == gateway);
        let own = gateway.map_or(port.mac, |own| program.interface(own.interface).mac);
        // Hosts tag their frames as the network behind the port expects it.
        let vlan = self.vlan.or_else(|| tag_behind(rig, self.port as u8));
        let session = program.sessions.list().first().map(|standing| &standing.session);
        let session = session.filter(|_| matches!(self.link, Link::Session));
        let src = match session {
            Some(session) if !self.payload.is_multiple_of(4) => session.remote,
            _ => self.src,
        };
        let src_mac = mac_of(self.src);
        let l2tp = session.is_some_and(|session| !session.on().is_some());
        let ends = session.filter(|_| !l2tp);
        let ends = ends.map(|session| (program.interface(session.on()).mac, session.peer()));
        let (dst_mac, src_mac) = match self.link {
            Link::Session => ends.unwrap_or((own, src_mac)),
            Link::Router => (own, src_mac),
            Link::Virtual if self.payload.is_multiple_of(2) => (wire::vrrp::mac6(1), src_mac),
            Link::Virtual => (wire::vrrp::mac(1), src_mac),
            Link::Host => (mac_of(self.dst), src_mac),
            Link::Stranger => (MacAddr([2, 9, 9, 9, 9, 9]), src_mac),
            Link::Broadcast => (MacAddr::BROADCAST, src_mac),
            Link::Multicast => (MacAddr([1, 0x80, 0xc2, 0, 0, 0]), src_mac),
            Link::Itself => (src_mac, src_mac),
            Link::FromGroup => (own, MacAddr([1, 0, 0, 0, 0, 1])),
        };
        let payload: Vec<u8> = match self.kind {
            // What helpers read.
            Kind::Udp(_, 69) => vec![0, 1 + (self.payload % 2) as u8, b'a', 0],
            Kind::Tcp { ports: (_, 21), .. } => {
                let host = std::net::Ipv4Addr::from(self.src).to_string().replace('.', ",");
                format!("PORT {host},3,{}\r\n", 232 + self.payload % 2).into_bytes()
            }
            _ => b"abcdefgh".iter().copied().cycle().take(self.payload).collect(),
        };
        let template = Frame {
            dst_mac,
            src_mac,
            vlan,
            src,
            dst: self.dst,
            tos: self.tos,
            ident: self.payload as u16,
            dont_fragment: self.dont_fragment,
            ttl: self.ttl,
            options: if self.options { &[7, 7, 4, 0, 0, 0, 0, 0] } else { &[] },
            payload: &payload,
            ..Frame::default()
        };
        let router_ip = ip(10, 0, self.port as u8, 254);
        let mut frame = match self.kind {
            Kind::Udp(src_port, dst_port) => {
                Frame { body: Body::Udp { src_port, dst_port }, ..template }.build()
            }
            Kind::Tcp { ports: (src_port, dst_port), flags, seq, ack } => {
                let flags = TcpFlags(flags);
                let header =
                    TcpHeader { src_port, dst_port, seq, ack, flags, window: 8000, urgent: 0 };
                let options: &[u8] = if flags == TcpFlags::SYN { &[2, 4, 5, 180] } else { &[] };
                let payload = if flags == TcpFlags::SYN { &[][..] } else { &payload[..] };
                Frame { body: Body::Tcp { header, options }, payload, ..template }.build()
            }
            Kind::Ping(id) => {
                Frame { body: Body::Icmp(IcmpHeader::echo_request(id, 1)), ..template }.build()
            }
            Kind::Icmp(kind, code) => {
                let mut frame =
                    Frame { body: Body::Icmp(IcmpHeader::echo_request(1, 1)), ..template }.build();
                if let Ok(layers) = layers::parse(&frame) {
                    let l4 = usize::from(layers.l4);
                    frame[l4..l4 + 2].copy_from_slice(&[kind, code]);
                    mend_l4(&mut frame);
                }
                frame
            }
            Kind::Protocol(protocol) => Frame { body: Body::Ip { protocol }, ..template }.build(),
            Kind::Tunnelled(carries) => {
                let flags = if self.payload.is_multiple_of(6) { 2 } else { 16 };
                let (src_port, flags) = (1000, TcpFlags(flags));
                let (seq, ack, window, urgent) = (999, 0, 8000, 0);
                let header = TcpHeader { src_port, dst_port: 80, seq, ack, flags, window, urgent };
                let body = match self.payload % 3 {
                    0 => Body::Tcp { header, options: &[] },
                    _ => Body::Udp { src_port, dst_port: 53 },
                };
                let src = ip(172, 16, 6, 1);
                let to = rig.router.program().names.find(tunnel::addressed(carries));
                let own = to.map(|id| rig.router.program().interface(id).mac);
                let dst_mac =
                    own.filter(|_| !self.payload.is_multiple_of(4)).unwrap_or(MacAddr::BROADCAST);
                let inner = Frame { dst_mac, vlan: None, body, src, ..template }.build();
                let (protocol, payload) = tunnel::wrap(carries, self.payload, &inner);
                let body = Body::Ip { protocol };
                Frame { body, dst: router_ip, payload: &payload, ..template }.build()
            }
            Kind::ArpRequest => {
                let target = if self.payload.is_multiple_of(3) { self.dst } else { router_ip };
                let request = ArpMessage::request(src_mac, self.src, target);
                Frame { vlan, ..craft::arp(request) }.build()
            }
            Kind::ArpReply => {
                let reply = ArpMessage::request(own, router_ip, self.src).reply_from(src_mac);
                Frame { vlan, ..craft::arp(reply) }.build()
            }
            Kind::Gratuitous => {
                // Somebody else has the address now, for those with an odd payload.
                let mac = if self.payload.is_multiple_of(2) {
                    src_mac
                } else {
                    MacAddr([6, 0, 0, 0, 9, 9])
                };
                Frame { vlan, ..craft::arp(ArpMessage::request(mac, self.src, self.src)) }.build()
            }
            Kind::Other(ether_type) => Frame { body: Body::Raw { ether_type }, ..template }.build(),
            Kind::Runt(len) => {
                let mut frame = Frame { body: Body::Udp { src_port: 1, dst_port: 1 }, ..template };
                frame.payload = &[];
                let mut frame = frame.build();
                frame.truncate(len);
                frame
            }
        };
        if self.six {
            frame = six::of(frame);
        }
        let whole = match self.cut {
            Some(cut) => pieces(&frame, cut),
            None => vec![frame],
        };
        let one = |frame: Vec<u8>| self.as_sent(frame, session.map(|session| session.id()), l2tp);
        whole.into_iter().map(one).collect()
    }

    /// As it is on the wire: in its session, which may be padded, and damaged.
    fn as_sent(&self, mut frame: Vec<u8>, session: Option<u16>, l2tp: bool) -> Vec<u8> {
        if l2tp {
            frame = session::wrap_l2tp(&frame, self.port);
        } else if let Some(id) = session {
            frame = session::wrap(&frame, id);
            if self.payload.is_multiple_of(8) {
                frame.resize(frame.len().max(60), 0);
            }
        }
        match self.broken {
            Some(Broken::IpChecksum) if frame.len() > 30 => frame[24] ^= 0x55,
            Some(Broken::L4Checksum) if frame.len() > 52 => frame[40] ^= 0x55,
            Some(Broken::Byte(at, byte)) if at < frame.len() => frame[at] = byte,
            Some(Broken::Truncated(len)) => frame.truncate(len),
            _ => {}
        }
        frame
    }
}

/// The tag that hosts behind a port have: the network there expects it.
pub(crate) fn tag_behind(rig: &Rig, port: u8) -> Option<Tci> {
    let program = rig.router.program();
    let trunk = program.names.find(&format!("trunk{port}"))?;
    match program.interface(trunk).kind {
        program::Kind::Vlan { tag, .. } => Some(tag.tci),
        _ => None,
    }
}

/// The fragments of an IPv4 packet; other frames stay as they are.
fn pieces(frame: &[u8], cut: Cut) -> Vec<Vec<u8>> {
    let (Cut::InOrder(len) | Cut::Backwards(len) | Cut::LastMissing(len) | Cut::Overlapping(len)) =
        cut;
    if let Some(pieces) = six::pieces(frame, len) {
        return in_order(pieces, cut);
    }
    let layers = match layers::parse(frame) {
        Ok(layers) if layers.ether_type == layers::ETHERTYPE_IPV4 && !layers.fragment => layers,
        _ => return vec![frame.to_vec()],
    };
    let l3 = usize::from(layers.l3);
    let header_len = usize::from(frame[l3] & 15) * 4;
    let (head, body) = frame[..layers.l3_end.into()].split_at(l3 + header_len);
    if body.is_empty() {
        return vec![frame.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let end = (at + len.max(8)).min(body.len());
        let more = end < body.len();
        let mut piece = [head, &body[at..end]].concat();
        let ip = &mut piece[l3..];
        ip[2..4].copy_from_slice(&((header_len + end - at) as u16).to_be_bytes());
        let field = u16::from(more) << 13 | (at / 8) as u16;
        ip[6..8].copy_from_slice(&field.to_be_bytes());
        ip[10..12].fill(0);
        let sum = checksum::of(&ip[..header_len]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        pieces.push(piece);
        at = end;
    }
    in_order(pieces, cut)
}

/// The pieces as they come.
fn in_order(mut pieces: Vec<Vec<u8>>, cut: Cut) -> Vec<Vec<u8>> {
    match cut {
        Cut::InOrder(_) => {}
        Cut::Backwards(_) => pieces.reverse(),
        Cut::LastMissing(_) => drop(pieces.pop()),
        Cut::Overlapping(_) => pieces.insert(1, pieces[0].clone()),
    }
    pieces
}

/// Makes the transport checksum right again.
fn mend_l4(frame: &mut [u8]) {
    let Ok(layers) = layers::parse(frame) else { return };
    let (l4, end) = (usize::from(layers.l4), usize::from(layers.l3_end));
    let at = match layers.protocol {
        protocol::ICMP => 2,
        protocol::UDP => 6,
        protocol::TCP => 16,
        _ => return,
    };
    let tuple = layers.tuple;
    let body = &mut frame[l4..end];
    body[at..at + 2].fill(0);
    let sum = match layers.protocol {
        protocol::ICMP => checksum::icmp(body),
        protocol::UDP => checksum::udp(tuple.src, tuple.dst, body),
        _ => checksum::tcp(tuple.src, tuple.dst, body),
    };
    body[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// How hosts answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// As they should: with so much data.
    Well(usize),
    /// Only ARP.
    ArpOnly,
    /// They close their TCP connections.
    Fin,
    /// They reset them.
    Reset,
    /// With segments beyond the window.
    OutOfWindow,
    /// With an ICMP error of this type and code about what they got.
    Error(u8, u8),
}

pub(crate) fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        12 => select(vec![0usize, 1, 20, 20, 100, 1000]).prop_map(Answer::Well),
        2 => Just(Answer::ArpOnly),
        1 => Just(Answer::Fin),
        1 => Just(Answer::Reset),
        1 => Just(Answer::OutOfWindow),
        2 => select(vec![(3, 0), (3, 1), (3, 3), (3, 4), (11, 0), (12, 0), (4, 0)])
            .prop_map(|(kind, code)| Answer::Error(kind, code)),
    ]
}

impl Answer {
    /// What the host behind a port sends when it gets this frame.
    pub(crate) fn to(self, port: usize, frame: &[u8]) -> Option<Vec<u8>> {
        if let Some(inside) = session::unwrap_l2tp(frame) {
            return Some(session::wrap_l2tp(&self.to(port, &inside)?, port));
        }
        if let Some((inside, id)) = session::unwrap(frame) {
            return Some(session::wrap(&self.to(port, &inside)?, id));
        }
        let layers = layers::parse(frame).ok()?;
        let vlan = layers.vlan.map(Tci);
        let vlan = vlan.filter(|_| layers.l3 == 18);
        if layers.vlan.is_some() && vlan.is_none() {
            return None;
        }
        let lives_here = |address: u32| {
            let [a, _, net, host] = address.to_be_bytes();
            (a != 10 || usize::from(net) == port) && !matches!(host, 0 | 77 | 253..)
        };
        if layers.ether_type == layers::ETHERTYPE_ARP {
            let message = Arp::new(&frame[layers.l3.into()..]).ok()?.message();
            let asked = message.operation == Operation::Request && lives_here(message.target_ip);
            let reply = message.reply_from(mac_of(message.target_ip));
            return asked.then(|| Frame { vlan, ..craft::arp(reply) }.build());
        }
        if layers.ether_type == layers::ETHERTYPE_IPV6 {
            let advertised = six::advertise(frame, lives_here);
            return advertised.or_else(|| Some(six::of(self.to(port, &six::v4(frame)?)?)));
        }
        let tuple = layers.tuple;
        if self == Answer::ArpOnly
            || layers.ether_type != layers::ETHERTYPE_IPV4
            || !lives_here(tuple.dst)
            || frame[0] & 1 != 0
        {
            return None;
        }
        // By way of whoever sent it: the router, or a host on the same bridge.
        let [dst_mac, src_mac] = [6, 0].map(|at| MacAddr(*frame[at..].first_chunk().unwrap()));
        if let Some((carries, inside)) = tunnel::unwrap(frame, &layers) {
            let (protocol, payload) = tunnel::wrap(carries, 0, &self.to(port, &inside)?);
            let (src, dst, body) = (tuple.dst, tuple.src, Body::Ip { protocol });
            let back = Frame {
                dst_mac,
                src_mac,
                vlan,
                src,
                dst,
                body,
                payload: &payload,
                ..Frame::default()
            };
            return Some(back.build());
        }
        let data: Vec<u8> = match self {
            Answer::Well(len) => vec![b'x'; len],
            _ => vec![b'y'; 10],
        };
        let back = Frame {
            dst_mac,
            src_mac,
            vlan,
            src: tuple.dst,
            dst: tuple.src,
            payload: &data,
            ..Frame::default()
        };
        if let Answer::Error(kind, code) = self {
            let quote = &frame[layers.l3.into()..layers.l3_end.into()];
            let quote = &quote[..quote.len().min(60)];
            let body = Body::Icmp(IcmpHeader::echo_request(0, 0));
            let mut error = Frame { body, payload: quote, ..back }.build();
            let l4 = usize::from(layers::parse(&error).ok()?.l4);
            error[l4..l4 + 2].copy_from_slice(&[kind, code]);
            mend_l4(&mut error);
            return Some(error);
        }
        if layers.fragment {
            return None;
        }
        match layers.protocol {
            protocol::UDP => {
                let body = Body::Udp { src_port: tuple.dst_port, dst_port: tuple.src_port };
                Some(Frame { body, ..back }.build())
            }
            protocol::ICMP if frame[usize::from(layers.l4)] == 8 => {
                let body = Body::Icmp(IcmpHeader::echo_request(tuple.src_port, 1));
                let mut reply = Frame { body, ..back }.build();
                let l4 = usize::from(layers::parse(&reply).ok()?.l4);
                reply[l4] = 0;
                mend_l4(&mut reply);
                Some(reply)
            }
            protocol::TCP => self.segment(frame, layers.l4.into(), layers.l3_end.into(), back),
            _ => None,
        }
    }

    fn segment(self, frame: &[u8], l4: usize, end: usize, back: Frame<'_>) -> Option<Vec<u8>> {
        let got = Tcp::new(&frame[l4..end]).ok()?;
        let flags = got.flags();
        if flags.contains(TcpFlags::RST) {
            return None;
        }
        let opens = flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK);
        let ack = got.seq().wrapping_add(got.seq_len());
        let seq = if opens { 77_000 } else { got.ack() };
        let (flags, seq) = match self {
            Answer::Fin if !opens => (TcpFlags(0x11), seq),
            Answer::Reset => (TcpFlags(0x14), seq),
            Answer::OutOfWindow => (TcpFlags(0x10), seq.wrapping_add(1 << 24)),
            _ if opens => (TcpFlags(0x12), seq),
            _ => (TcpFlags(0x18), seq),
        };
        let header = TcpHeader {
            src_port: got.dst_port(),
            dst_port: got.src_port(),
            seq,
            ack,
            flags,
            window: 8000,
            urgent: 0,
        };
        let payload = if opens { &[][..] } else { back.payload };
        let options: &[u8] = if opens { &[2, 4, 5, 180] } else { &[] };
        Some(Frame { body: Body::Tcp { header, options }, payload, ..back }.build())
    }
}

/// A frame in words, and its bytes.
pub(crate) fn show(frame: &[u8]) -> String {
    let layers = layers::parse(frame);
    let what = match &layers {
        Ok(layers) => format!("{:?} fragment {}", layers.tuple, layers.fragment),
        Err(malformed) => format!("{malformed:?}"),
    };
    format!("{} B {what} {:02x?}", frame.len(), &frame[..frame.len().min(64)])
}
