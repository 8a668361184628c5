//! A host of the swarm: it finds its neighbours by ARP or by neighbour discovery, answers what it is
//! sent, and notes what came.

use super::case::{self, Kind};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use wire::arp::{ArpMessage, Operation};
use wire::checksum::Sum;
use wire::craft::{self, Body, Frame};
use wire::icmp::IcmpHeader;
use wire::icmpv6::{self, Neighbour, group_mac, solicited_node};
use wire::ipv6::{Ipv6Header, header};
use wire::layers::{self, ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, protocol};
use wire::tcp::TcpHeader;
use wire::vlan::Tci;
use wire::{Arp, Icmp, Ipv4, Ipv4Prefix, Ipv6, Ipv6Prefix, MacAddr, Tcp, TcpFlags, Udp};

/// A host, and what it remembers.
pub(super) struct Host {
    pub(super) mac: MacAddr,
    pub(super) vlan: Option<Tci>,
    pub(super) v4: Own,
    pub(super) v6: Option<Own>,
    neighbours: HashMap<IpAddr, MacAddr>,
    /// What waits for a neighbour's answer: one packet for each.
    waiting: HashMap<IpAddr, Vec<u8>>,
    ident: u16,
}

/// An address of a host's.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) address: IpAddr,
    pub(super) prefix: u8,
    pub(super) gateway: IpAddr,
}

impl Own {
    /// Where a packet to this address goes first.
    fn hop(&self, to: IpAddr) -> IpAddr {
        let is_near = match (self.address, to) {
            (IpAddr::V4(own), IpAddr::V4(to)) => {
                Ipv4Prefix::new(own.into(), self.prefix).contains(to.into())
            }
            (IpAddr::V6(own), IpAddr::V6(to)) => {
                Ipv6Prefix::new(own.into(), self.prefix).contains(to.into())
            }
            _ => false,
        };
        if is_near { to } else { self.gateway }
    }
}

/// Something that came to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// The answer to a probe: its identifier and sequence number.
    Pong(u16, u16),
    /// A datagram or segment of a flow.
    Marked(Mark),
    /// A segment for this port of a client's.
    Segment { port: u16, flags: TcpFlags, seq: u32, ack: u32, len: u32 },
}

/// What the payload of a flow's packets begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) flow: u16,
    /// Whether it is an answer.
    pub(super) answer: bool,
    /// The how manieth packet of the flow.
    pub(super) number: u32,
}

const MAGIC: u16 = 0x5a57;
/// The ports that answer.
const ECHO: u16 = 7;
const WEB: u16 = 80;
/// The first port of flows.
pub(super) const FIRST_PORT: u16 = 20_000;

impl Mark {
    fn read(payload: &[u8]) -> Option<Mark> {
        let bytes: &[u8; 10] = payload.first_chunk()?;
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let number = u32::from(half(4)) << 16 | u32::from(half(6));
        let mark = Mark { flow: half(2), answer: false, number };
        (half(0) == MAGIC && half(8) == mark.proof()).then_some(mark)
    }

    /// What two bits that turn over on the way do not leave right, as they may the checksum: all bits of flow and
    /// number have a part in it.
    fn proof(self) -> u16 {
        let product = u64::from(self.number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        !self.flow ^ (product >> 48) as u16
    }

    /// A payload of this length that begins with it.
    pub(super) fn payload(self, len: u16) -> Vec<u8> {
        let mut payload = vec![0; usize::from(len).max(10)];
        payload[..2].copy_from_slice(&MAGIC.to_be_bytes());
        payload[2..4].copy_from_slice(&self.flow.to_be_bytes());
        payload[4..8].copy_from_slice(&self.number.to_be_bytes());
        payload[8..10].copy_from_slice(&self.proof().to_be_bytes());
        payload
    }
}

impl Host {
    pub(super) fn new(number: u8, spec: &case::Host) -> Host {
        let v6 = spec.v6.map(|v6| Own {
            address: v6.address.into(),
            prefix: 64,
            gateway: v6.gateway.into(),
        });
        let v4 =
            Own { address: spec.address.into(), prefix: spec.prefix, gateway: spec.gateway.into() };
        Host {
            mac: MacAddr([0x06, 0, 0, 0x5a, 0, number]),
            vlan: spec.vlan.map(|id| Tci::new(id, 0)),
            v4,
            v6,
            neighbours: HashMap::new(),
            waiting: HashMap::new(),
            ident: 0,
        }
    }

    /// Forgets its neighbours, as hosts do after a while.
    pub(super) fn forget(&mut self) {
        self.neighbours.clear();
    }

    /// Its address of a packet to this one, if it has one of that family.
    fn own(&self, to: IpAddr) -> Option<Own> {
        if to.is_ipv4() { Some(self.v4) } else { self.v6 }
    }

    /// The link's address of a gateway, once it is known.
    pub(super) fn gateway_mac(&self, own: Own) -> Option<MacAddr> {
        self.neighbours.get(&own.gateway).copied()
    }

    /// Sends an echo request.
    pub(super) fn ping(&mut self, to: IpAddr, ident: u16, sequence: u16, out: &mut Vec<Vec<u8>>) {
        let header = IcmpHeader::echo_request(ident, sequence);
        self.send(to, Body::Icmp(header), &[], out);
    }

    /// Sends one packet of a flow that is no TCP.
    pub(super) fn datagram(
        &mut self,
        to: IpAddr,
        kind: Kind,
        mark: Mark,
        len: u16,
        out: &mut Vec<Vec<u8>>,
    ) {
        let port = FIRST_PORT + mark.flow;
        let body = match kind {
            Kind::Ping => Body::Icmp(IcmpHeader::echo_request(port, mark.number as u16)),
            _ => Body::Udp { src_port: port, dst_port: ECHO },
        };
        self.send(to, body, &mark.payload(len), out);
    }

    /// Sends a segment to a web port.
    pub(super) fn segment(
        &mut self,
        to: IpAddr,
        port: u16,
        flags: TcpFlags,
        (seq, ack): (u32, u32),
        payload: &[u8],
        out: &mut Vec<Vec<u8>>,
    ) {
        let header = TcpHeader {
            src_port: port,
            dst_port: WEB,
            flags,
            seq,
            ack,
            window: 65535,
            ..TcpHeader::default()
        };
        self.send(to, Body::Tcp { header, options: &[] }, payload, out);
    }

    fn send(&mut self, to: IpAddr, body: Body, payload: &[u8], out: &mut Vec<Vec<u8>>) {
        let Some(own) = self.own(to) else { return };
        self.ident = self.ident.wrapping_add(1);
        let hop = own.hop(to);
        let known = self.neighbours.get(&hop).copied();
        let plain = Frame {
            src_mac: self.mac,
            dst_mac: known.unwrap_or_default(),
            vlan: self.vlan,
            ident: self.ident,
            body,
            payload,
            ..Frame::default()
        };
        let frame = match (own.address, to) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                Frame { src: src.into(), dst: dst.into(), ..plain }.build()
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let (next_header, transport) = transport6(src, dst, plain);
                self.frame6(plain.dst_mac, &packet6(src, dst, next_header, 64, &transport))
            }
            _ => return,
        };
        if known.is_some() {
            out.push(frame);
            return;
        }
        self.waiting.insert(hop, frame);
        out.push(self.question(own.address, hop));
    }

    /// Who has this address?
    fn question(&self, own: IpAddr, hop: IpAddr) -> Vec<u8> {
        match (own, hop) {
            (IpAddr::V6(src), IpAddr::V6(target)) => {
                let message = Neighbour {
                    advertisement: false,
                    router: false,
                    solicited: false,
                    override_: false,
                    target,
                    mac: Some(self.mac),
                };
                let dst = solicited_node(target);
                self.frame6(group_mac(dst), &discovery(src, dst, message))
            }
            (IpAddr::V4(own), IpAddr::V4(hop)) => {
                let question = ArpMessage::request(self.mac, own.into(), hop.into());
                Frame { vlan: self.vlan, ..craft::arp(question) }.build()
            }
            _ => Vec::new(),
        }
    }

    /// A frame with an IPv6 packet.
    pub(super) fn frame6(&self, dst_mac: MacAddr, packet: &[u8]) -> Vec<u8> {
        let body = Body::Raw { ether_type: ETHERTYPE_IPV6 };
        let (src_mac, vlan) = (self.mac, self.vlan);
        Frame { src_mac, dst_mac, vlan, body, payload: packet, ..Frame::default() }.build()
    }

    /// A frame has come: what it meant, and what is sent because of it.
    pub(super) fn receive(&mut self, frame: &[u8], out: &mut Vec<Vec<u8>>) -> Option<Came> {
        let layers = layers::parse(frame).ok()?;
        if layers.vlan.map(|tci| tci & 0xfff) != self.vlan.map(Tci::id) {
            return None;
        }
        let dst = MacAddr(*frame.first_chunk()?);
        if dst != self.mac && !dst.is_multicast() {
            return None;
        }
        let l3 = usize::from(layers.l3);
        match layers.ether_type {
            ETHERTYPE_ARP => {
                self.receive_arp(Arp::new(&frame[l3..]).ok()?.message(), out);
                None
            }
            ETHERTYPE_IPV6 => self.receive6(&frame[l3..], out),
            ETHERTYPE_IPV4 if dst == self.mac || dst == MacAddr::BROADCAST => {
                self.receive4(&frame[l3..], layers.fragment, out)
            }
            _ => None,
        }
    }

    fn receive4(&mut self, packet: &[u8], fragment: bool, out: &mut Vec<Vec<u8>>) -> Option<Came> {
        let ip = Ipv4::new(packet).ok()?;
        let from = IpAddr::V4(ip.src().into());
        if IpAddr::V4(ip.dst().into()) != self.v4.address || !ip.checksum_ok() || fragment {
            return None;
        }
        // What came by a MAC is answered to it: the neighbour is found by itself.
        match ip.protocol() {
            protocol::ICMP => {
                let icmp = Icmp::new(ip.payload()).ok()?;
                icmp.checksum_ok().then(|| self.receive_echo(from, icmp, [8, 0], out))?
            }
            protocol::UDP => {
                let udp = Udp::new(ip.payload()).ok()?;
                udp.checksum_ok(ip.src(), ip.dst()).then(|| self.receive_udp(from, &udp, out))?
            }
            protocol::TCP => {
                let tcp = Tcp::new(ip.payload()).ok()?;
                tcp.checksum_ok(ip.src(), ip.dst()).then(|| self.receive_tcp(from, &tcp, out))?
            }
            _ => None,
        }
    }

    fn receive6(&mut self, packet: &[u8], out: &mut Vec<Vec<u8>>) -> Option<Came> {
        let (own, ip) = (self.v6?.address, Ipv6::new(packet).ok()?);
        let (src, dst, payload) = (ip.src(), ip.dst(), ip.payload());
        let (from, next_header) = (IpAddr::V6(src), ip.next_header());
        let len = payload.len() as u32;
        let sum = Sum::pseudo_ipv6(src.octets(), dst.octets(), next_header, len).bytes(payload);
        if !sum.is_ok() || IpAddr::V6(dst) != own && !dst.is_multicast() {
            return None;
        }
        match next_header {
            header::ICMPV6 => match Neighbour::read(payload) {
                Ok(message) => {
                    self.receive_neighbour(src, message, out);
                    None
                }
                Err(_) => self.receive_echo(from, Icmp::new(payload).ok()?, [128, 129], out),
            },
            protocol::UDP => self.receive_udp(from, &Udp::new(payload).ok()?, out),
            protocol::TCP => self.receive_tcp(from, &Tcp::new(payload).ok()?, out),
            _ => None,
        }
    }

    fn receive_udp(
        &mut self,
        from: IpAddr,
        udp: &Udp<&[u8]>,
        out: &mut Vec<Vec<u8>>,
    ) -> Option<Came> {
        let mark = Mark::read(udp.payload())?;
        // By where it goes: a router may give an answer another source port, where the one it had
        // clashes with a connection's.
        let answer = udp.dst_port() != ECHO;
        if !answer {
            let body = Body::Udp { src_port: ECHO, dst_port: udp.src_port() };
            self.send(from, body, udp.payload(), out);
        }
        Some(Came::Marked(Mark { answer, ..mark }))
    }

    /// Somebody says who he is, or asks who we are.
    fn receive_neighbour(&mut self, from: Ipv6Addr, said: Neighbour, out: &mut Vec<Vec<u8>>) {
        let (own, about) = (self.v6.map(|own| own.address), IpAddr::V6(said.target));
        if said.advertisement {
            if let Some(mac) = said.mac {
                self.learn(about, mac, out);
            }
        } else if own == Some(about)
            && let Some(mac) = said.mac
        {
            self.learn(IpAddr::V6(from), mac, out);
            let answer = Neighbour {
                advertisement: true,
                router: false,
                solicited: true,
                override_: true,
                target: said.target,
                mac: Some(self.mac),
            };
            out.push(self.frame6(mac, &discovery(said.target, from, answer)));
        }
    }

    fn learn(&mut self, address: IpAddr, mac: MacAddr, out: &mut Vec<Vec<u8>>) {
        self.neighbours.insert(address, mac);
        if let Some(mut frame) = self.waiting.remove(&address) {
            frame[..6].copy_from_slice(&mac.0);
            out.push(frame);
        }
    }

    fn receive_arp(&mut self, message: ArpMessage, out: &mut Vec<Vec<u8>>) {
        if IpAddr::V4(message.target_ip.into()) != self.v4.address {
            return;
        }
        if message.operation == Operation::Request {
            let reply = craft::arp(message.reply_from(self.mac));
            out.push(Frame { vlan: self.vlan, ..reply }.build());
        }
        self.learn(IpAddr::V4(message.sender_ip.into()), message.sender_mac, out);
    }

    /// An echo request or reply, whose types are these two in its family.
    fn receive_echo(
        &mut self,
        from: IpAddr,
        icmp: Icmp<&[u8]>,
        [request, reply]: [u8; 2],
        out: &mut Vec<Vec<u8>>,
    ) -> Option<Came> {
        let kind = icmp.kind();
        if kind == request {
            let header = IcmpHeader { kind: 0, ..icmp.header() };
            self.send(from, Body::Icmp(header), icmp.payload(), out);
            return Some(Came::Marked(Mark::read(icmp.payload())?));
        }
        (kind == reply).then(|| match Mark::read(icmp.payload()) {
            Some(mark) => Came::Marked(Mark { answer: true, ..mark }),
            None => Came::Pong(icmp.ident(), icmp.sequence()),
        })
    }

    /// A web port answers each segment by what it says; it remembers nothing.
    fn receive_tcp(
        &mut self,
        from: IpAddr,
        tcp: &Tcp<&[u8]>,
        out: &mut Vec<Vec<u8>>,
    ) -> Option<Came> {
        let (flags, seq, ack) = (tcp.flags(), tcp.seq(), tcp.ack());
        if tcp.dst_port() != WEB {
            let len = tcp.payload().len() as u32;
            return Some(Came::Segment { port: tcp.dst_port(), flags, seq, ack, len });
        }
        if flags.intersects(TcpFlags::RST) {
            return None;
        }
        let (own, answer) = match () {
            () if flags.contains(TcpFlags::SYN) => (1000, TcpFlags::SYN | TcpFlags::ACK),
            () if flags.contains(TcpFlags::FIN) => (ack, TcpFlags::FIN | TcpFlags::ACK),
            () if !tcp.payload().is_empty() => (ack, TcpFlags::ACK),
            () => return None,
        };
        let header = TcpHeader {
            src_port: WEB,
            dst_port: tcp.src_port(),
            flags: answer,
            seq: own,
            ack: seq.wrapping_add(tcp.seq_len()),
            window: 65535,
            ..TcpHeader::default()
        };
        let echo = if flags.contains(TcpFlags::FIN) { &[][..] } else { tcp.payload() };
        self.send(from, Body::Tcp { header, options: &[] }, echo, out);
        Some(Came::Marked(Mark::read(tcp.payload())?))
    }
}

/// The transport part of a packet: that of the same over IPv4, with the checksum that IPv6 wants.
fn transport6(src: Ipv6Addr, dst: Ipv6Addr, plain: Frame) -> (u8, Vec<u8>) {
    const IPV4: std::ops::Range<usize> = 14..34;
    let frame = Frame { vlan: None, ..plain }.build();
    let end = IPV4.start + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let mut bytes = frame[IPV4.end..end].to_vec();
    let (next_header, checksum) = match plain.body {
        Body::Icmp(_) => {
            bytes[0] =
                if bytes[0] == 8 { icmpv6::kind::ECHO_REQUEST } else { icmpv6::kind::ECHO_REPLY };
            (header::ICMPV6, 2)
        }
        Body::Tcp { .. } => (protocol::TCP, 16),
        _ => (protocol::UDP, 6),
    };
    bytes[checksum..checksum + 2].fill(0);
    let len = bytes.len() as u32;
    let sum = Sum::pseudo_ipv6(src.octets(), dst.octets(), next_header, len).bytes(&bytes).finish();
    let sum = if sum == 0 && next_header == protocol::UDP { 0xffff } else { sum };
    bytes[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
    (next_header, bytes)
}

/// An IPv6 packet.
pub(super) fn packet6(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    next_header: u8,
    hop_limit: u8,
    payload: &[u8],
) -> Vec<u8> {
    let payload_len = payload.len() as u16;
    let (traffic_class, flow_label) = (0, 0);
    let header =
        Ipv6Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    [&header.to_bytes()[..], payload].concat()
}

/// A packet of neighbour discovery.
fn discovery(src: Ipv6Addr, dst: Ipv6Addr, message: Neighbour) -> Vec<u8> {
    let (mut bytes, len) = message.to_bytes();
    icmpv6::fill_checksum(src, dst, &mut bytes[..len]);
    packet6(src, dst, header::ICMPV6, 255, &bytes[..len])
}
