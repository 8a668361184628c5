//! A host of the swarm: it finds its neighbours by ARP, answers what it is sent, and notes what came.

use super::case::{self, Kind};
use std::collections::HashMap;
use wire::arp::{ArpMessage, Operation};
use wire::craft::{self, Body, Frame};
use wire::icmp::IcmpHeader;
use wire::layers::{self, ETHERTYPE_ARP, protocol};
use wire::tcp::TcpHeader;
use wire::vlan::Tci;
use wire::{Arp, Icmp, Ipv4, Ipv4Prefix, MacAddr, Tcp, TcpFlags, Udp};

/// A host, and what it remembers.
pub(super) struct Host {
    pub(super) address: u32,
    mac: MacAddr,
    network: Ipv4Prefix,
    gateway: u32,
    vlan: Option<u16>,
    neighbours: HashMap<u32, MacAddr>,
    /// What waits for a neighbour's answer: one packet for each.
    waiting: HashMap<u32, Vec<u8>>,
    ident: u16,
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
        let is_marked = half(0) == MAGIC && half(8) == !half(2);
        is_marked.then_some(Mark { flow: half(2), answer: false, number })
    }

    /// A payload of this length that begins with it.
    pub(super) fn payload(self, len: u16) -> Vec<u8> {
        let mut payload = vec![0; usize::from(len).max(10)];
        payload[..2].copy_from_slice(&MAGIC.to_be_bytes());
        payload[2..4].copy_from_slice(&self.flow.to_be_bytes());
        payload[4..8].copy_from_slice(&self.number.to_be_bytes());
        payload[8..10].copy_from_slice(&(!self.flow).to_be_bytes());
        payload
    }
}

impl Host {
    pub(super) fn new(number: u8, spec: &case::Host) -> Host {
        let address = u32::from(spec.address);
        Host {
            address,
            mac: MacAddr([0x06, 0, 0, 0x5a, 0, number]),
            network: Ipv4Prefix::new(address, spec.prefix),
            gateway: spec.gateway.into(),
            vlan: spec.vlan,
            neighbours: HashMap::new(),
            waiting: HashMap::new(),
            ident: 0,
        }
    }

    /// Forgets its neighbours, as hosts do after a while.
    pub(super) fn forget(&mut self) {
        self.neighbours.clear();
    }

    /// Sends an echo request.
    pub(super) fn ping(&mut self, to: u32, ident: u16, sequence: u16, out: &mut Vec<Vec<u8>>) {
        let header = IcmpHeader::echo_request(ident, sequence);
        self.send(to, Body::Icmp(header), &[], out);
    }

    /// Sends one packet of a flow that is no TCP.
    pub(super) fn datagram(
        &mut self,
        to: u32,
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
        to: u32,
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

    /// A frame that hosts should not send, or seldom do; `choose` says which of so many.
    pub(super) fn odd(
        &mut self,
        to: u32,
        mut choose: impl FnMut(usize) -> usize,
    ) -> Option<Vec<u8>> {
        let (mac, address) = (self.mac, self.address);
        let gateway = self.neighbours.get(&self.gateway).copied()?;
        let plain = Frame {
            src_mac: mac,
            dst_mac: gateway,
            vlan: self.vlan.map(|id| Tci::new(id, 0)),
            src: address,
            dst: to,
            body: Body::Udp { src_port: 9, dst_port: 9 },
            ..Frame::default()
        };
        // Somebody who is not there, in the host's own network.
        let ghost = self.network.bits() | 99;
        let fragment = Body::Ip { protocol: protocol::UDP };
        let long = [0; 1000];
        Some(match choose(16) {
            0 => Frame { ttl: 1, ..plain }.build(),
            1 => Frame { ttl: 1, src: ghost, ..plain }.build(),
            2 => Frame { src: craft::ip(127, 0, 0, 1), ..plain }.build(),
            3 => Frame { dst: craft::ip(224, 0, 0, 9), ..plain }.build(),
            4 => Frame { dst: craft::ip(240, 0, 0, 1), ..plain }.build(),
            5 => Frame { dst: craft::ip(172, 16 + choose(4) as u8, 0, 1), ..plain }.build(),
            6 => Frame { dst: self.network.last(), dst_mac: MacAddr::BROADCAST, ..plain }.build(),
            7 => Frame {
                dst: self.gateway,
                body: Body::Tcp { header: TcpHeader::default(), options: &[] },
                ..plain
            }
            .build(),
            8 => Frame { options: &[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0], ..plain }.build(),
            9 => Frame { payload: &long, dont_fragment: choose(2) == 0, ..plain }.build(),
            10 => {
                let fragment_offset = [0, 1000, 1008, 65_528][choose(4)];
                let more_fragments = choose(2) == 0;
                let ident = choose(3) as u16;
                Frame {
                    body: fragment,
                    fragment_offset,
                    more_fragments,
                    ident,
                    payload: &long,
                    ..plain
                }
                .build()
            }
            11 => Frame { body: Body::Raw { ether_type: 0x86dd }, payload: &long[..60], ..plain }
                .build(),
            12 => Frame { dst_mac: MacAddr([1, 0x80, 0xc2, 0, 0, 0]), ..plain }.build(),
            13 => Frame {
                body: Body::Raw { ether_type: ETHERTYPE_ARP },
                payload: &long[..30],
                ..plain
            }
            .build(),
            14 => {
                let tags = [0x81, 0, 0, 5, 0x88, 0xa8, 0, 6, 0x81, 0, 0, 7, 8, 0];
                Frame { body: Body::Raw { ether_type: 0x88a8 }, payload: &tags, ..plain }.build()
            }
            _ => Frame {
                src: ghost,
                dst: self.gateway,
                body: Body::Icmp(IcmpHeader::echo_request(1, 1)),
                ..plain
            }
            .build(),
        })
    }

    fn send(&mut self, to: u32, body: Body, payload: &[u8], out: &mut Vec<Vec<u8>>) {
        self.ident = self.ident.wrapping_add(1);
        let hop = if self.network.contains(to) { to } else { self.gateway };
        let known = self.neighbours.get(&hop).copied();
        let frame = Frame {
            src_mac: self.mac,
            dst_mac: known.unwrap_or_default(),
            vlan: self.vlan.map(|id| Tci::new(id, 0)),
            src: self.address,
            dst: to,
            ident: self.ident,
            body,
            payload,
            ..Frame::default()
        };
        let frame = frame.build();
        if known.is_some() {
            out.push(frame);
            return;
        }
        self.waiting.insert(hop, frame);
        let question = ArpMessage::request(self.mac, self.address, hop);
        let vlan = self.vlan.map(|id| Tci::new(id, 0));
        out.push(Frame { vlan, ..craft::arp(question) }.build());
    }

    /// A frame has come: what it meant, and what is sent because of it.
    pub(super) fn receive(&mut self, frame: &[u8], out: &mut Vec<Vec<u8>>) -> Option<Came> {
        let layers = layers::parse(frame).ok()?;
        let vlan = layers.vlan.map(|tci| tci & 0xfff);
        if vlan != self.vlan {
            return None;
        }
        let dst = MacAddr(*frame.first_chunk()?);
        if dst != self.mac && dst != MacAddr::BROADCAST {
            return None;
        }
        let l3 = usize::from(layers.l3);
        if layers.ether_type == ETHERTYPE_ARP {
            self.receive_arp(Arp::new(&frame[l3..]).ok()?.message(), out);
            return None;
        }
        let ip = Ipv4::new(&frame[l3..]).ok()?;
        if ip.dst() != self.address || !ip.checksum_ok() || layers.fragment {
            return None;
        }
        // What came by a MAC is answered to it: the neighbour is found by itself.
        match ip.protocol() {
            protocol::ICMP => self.receive_icmp(ip.src(), Icmp::new(ip.payload()).ok()?, out),
            protocol::UDP => {
                let udp = Udp::new(ip.payload()).ok()?;
                if !udp.checksum_ok(ip.src(), ip.dst()) {
                    return None;
                }
                let mark = Mark::read(udp.payload())?;
                // By where it goes: a router may give an answer another source port, where the one
                // it had clashes with a connection's.
                let answer = udp.dst_port() != ECHO;
                if udp.dst_port() == ECHO {
                    let body = Body::Udp { src_port: ECHO, dst_port: udp.src_port() };
                    self.send(ip.src(), body, udp.payload(), out);
                }
                Some(Came::Marked(Mark { answer, ..mark }))
            }
            protocol::TCP => {
                let tcp = Tcp::new(ip.payload()).ok()?;
                if !tcp.checksum_ok(ip.src(), ip.dst()) {
                    return None;
                }
                self.receive_tcp(ip.src(), &tcp, out)
            }
            _ => None,
        }
    }

    fn receive_arp(&mut self, message: ArpMessage, out: &mut Vec<Vec<u8>>) {
        if message.target_ip != self.address {
            return;
        }
        self.neighbours.insert(message.sender_ip, message.sender_mac);
        let vlan = self.vlan.map(|id| Tci::new(id, 0));
        if message.operation == Operation::Request {
            let reply = craft::arp(message.reply_from(self.mac));
            out.push(Frame { vlan, ..reply }.build());
        }
        if let Some(mut frame) = self.waiting.remove(&message.sender_ip) {
            frame[..6].copy_from_slice(&message.sender_mac.0);
            out.push(frame);
        }
    }

    fn receive_icmp(
        &mut self,
        from: u32,
        icmp: Icmp<&[u8]>,
        out: &mut Vec<Vec<u8>>,
    ) -> Option<Came> {
        if !icmp.checksum_ok() {
            return None;
        }
        match icmp.kind() {
            8 => {
                let header = IcmpHeader { kind: 0, ..icmp.header() };
                self.send(from, Body::Icmp(header), icmp.payload(), out);
                Some(Came::Marked(Mark::read(icmp.payload())?))
            }
            0 => Some(match Mark::read(icmp.payload()) {
                Some(mark) => Came::Marked(Mark { answer: true, ..mark }),
                None => Came::Pong(icmp.ident(), icmp.sequence()),
            }),
            _ => None,
        }
    }

    /// A web port answers each segment by what it says; it remembers nothing.
    fn receive_tcp(&mut self, from: u32, tcp: &Tcp<&[u8]>, out: &mut Vec<Vec<u8>>) -> Option<Came> {
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

/// A client's TCP connection, one after another: opened, a few times asked and answered, closed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Client {
    /// Of which connection: it makes the port.
    round: u16,
    stage: Stage,
    seq: u32,
    ack: u32,
    asked: u8,
    /// How often the same was sent in vain.
    tries: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Opening,
    Asking,
    Closing,
}

impl Client {
    /// The port of the connection, of a flow.
    pub(super) fn port(&self, flow: u16) -> u16 {
        FIRST_PORT + 64 * (flow + 1) + self.round % 64
    }

    /// What is to be sent now: new, or once more.
    pub(super) fn next(&mut self) -> (TcpFlags, (u32, u32), bool) {
        self.tries += 1;
        if self.tries > 8 {
            self.again();
        }
        match self.stage {
            Stage::Opening => (TcpFlags::SYN, (self.seq, 0), false),
            Stage::Asking => (TcpFlags::ACK | TcpFlags::PSH, (self.seq, self.ack), true),
            Stage::Closing => (TcpFlags::FIN | TcpFlags::ACK, (self.seq, self.ack), false),
        }
    }

    fn again(&mut self) {
        *self = Client {
            round: self.round + 1,
            seq: self.seq.wrapping_add(70_000),
            ..Client::default()
        };
    }

    /// A segment has come for it.
    pub(super) fn take(&mut self, flags: TcpFlags, seq: u32, ack: u32, len: u32, asked_len: u32) {
        if flags.intersects(TcpFlags::RST) {
            return self.again();
        }
        let has = |flags_wanted| flags.contains(flags_wanted);
        match self.stage {
            Stage::Opening
                if has(TcpFlags::SYN | TcpFlags::ACK) && ack == self.seq.wrapping_add(1) =>
            {
                (self.stage, self.seq, self.ack) = (Stage::Asking, ack, seq.wrapping_add(1));
                self.tries = 0;
            }
            Stage::Asking if len > 0 && ack == self.seq.wrapping_add(asked_len) => {
                (self.seq, self.ack) = (ack, seq.wrapping_add(len));
                (self.asked, self.tries) = (self.asked + 1, 0);
                if self.asked == 5 {
                    self.stage = Stage::Closing;
                }
            }
            Stage::Closing if has(TcpFlags::FIN) => self.again(),
            _ => {}
        }
    }
}
