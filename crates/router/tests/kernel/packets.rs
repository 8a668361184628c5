//! Packets from a seed: of all kinds, without regard to connections; or of conversations.

use super::host_mac;
use wire::craft::{Body, Frame, ip};
use wire::icmp::IcmpHeader;
use wire::tcp::TcpHeader;
use wire::{MacAddr, TcpFlags};

/// A packet to be sent.
pub(crate) struct Sent {
    /// Where it comes in, from 1.
    pub(crate) port: usize,
    /// What tells it apart.
    pub(crate) ident: u16,
    /// What it is, for whoever reads of a difference.
    pub(crate) text: String,
    frame: Vec<u8>,
}

impl Sent {
    fn new(port: usize, frame: &Frame) -> Sent {
        let text = format!(
            "ether{port} {:?} ttl {} tos {} options {:?} offset {} more {}, {} bytes",
            frame.body,
            frame.ttl,
            frame.tos,
            frame.options,
            frame.fragment_offset,
            frame.more_fragments,
            frame.payload.len()
        );
        Sent { port, ident: frame.ident, text, frame: frame.build() }
    }

    /// The frame, to this address on the link.
    pub(crate) fn to(&self, mac: MacAddr) -> Vec<u8> {
        let mut frame = self.frame.clone();
        frame[..6].copy_from_slice(&mac.0);
        frame
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * sides as u128) >> 64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.throw(all.len())]
    }
}

const N: usize = 160;
const RECORD_ROUTE: &[u8] = &[7, 7, 4, 0, 0, 0, 0, 0];
const ROUTER_ALERT: &[u8] = &[148, 4, 0, 0];
const PAYLOAD: &[u8] = &[b'x'; 1200];

/// Of all kinds, through the router.
pub(crate) fn mixed(seed: u64) -> Vec<Sent> {
    all_kinds(seed, false, false)
}

/// The same, some of them later fragments.
pub(crate) fn with_fragments(seed: u64) -> Vec<Sent> {
    all_kinds(seed, true, false)
}

/// The same, some of them to the router itself.
pub(crate) fn to_router(seed: u64) -> Vec<Sent> {
    all_kinds(seed, false, true)
}

fn all_kinds(seed: u64, fragments: bool, to_router: bool) -> Vec<Sent> {
    let mut dice = Dice(seed);
    let packet = |n: usize| {
        let port = dice.of(&[1usize, 1, 2]);
        let (net, other) = (port as u8, 3 - port as u8);
        let src_host = dice.of(&[1u8, 2, 3]);
        let dst_host = dice.of(&[1u8, 2, 3]);
        let dst = match to_router && dice.throw(2) == 0 {
            true => ip(10, 0, net, 254),
            false => ip(10, 0, other, dst_host),
        };
        let flags = dice.of(&[2u8, 2, 0x12, 0x10, 0x18, 0x11, 0x14, 0x04, 0x29]);
        let ports = (dice.of(&[1000u16, 1001, 22]), dice.of(&[80u16, 53, 8080, 22]));
        let header = TcpHeader {
            src_port: ports.0,
            dst_port: ports.1,
            seq: 1000,
            ack: 1000,
            flags: TcpFlags(flags),
            window: 8000,
            urgent: 0,
        };
        let mss: &[u8] = dice.of(&[&[][..], &[2, 4, 5, 180], &[2, 4, 5, 20]]);
        let body = match dice.throw(10) {
            0..4 => Body::Udp { src_port: ports.0, dst_port: ports.1 },
            4..8 => Body::Tcp { header, options: if flags & 2 == 0 { &[] } else { mss } },
            8 => {
                let (kind, code) = dice.of(&[(8u8, 0u8), (13, 0), (8, 0), (17, 0)]);
                Body::Icmp(IcmpHeader { kind, code, ..IcmpHeader::echo_request(7, 1) })
            }
            _ => Body::Ip { protocol: dice.of(&[47u8, 50, 89]) },
        };
        let is_piece = fragments && dice.throw(4) == 0;
        let body = if is_piece { Body::Ip { protocol: 17 } } else { body };
        let payload = &PAYLOAD[..dice.of(&[0usize, 8, 60, 99, 120, 180, 1200])];
        let frame = Frame {
            src_mac: host_mac(port, src_host),
            src: ip(10, 0, net, src_host),
            dst,
            body,
            ttl: dice.of(&[64u8, 64, 2, 4, 5, 6, 255, 1]),
            tos: dice.of(&[0u8, 0, 0xb8, 40, 0x29]),
            ident: n as u16 + 1,
            options: dice.of(&[&[][..], &[], &[], RECORD_ROUTE, ROUTER_ALERT]),
            fragment_offset: if is_piece { 64 } else { 0 },
            more_fragments: is_piece && dice.throw(2) == 0,
            payload: if is_piece { &PAYLOAD[..64] } else { payload },
            ..Frame::default()
        };
        Sent::new(port, &frame)
    };
    (0..N).map(packet).collect()
}

/// Whether the text is at the start of the payload: half of the packets have it.
pub(crate) fn with_text(seed: u64) -> Vec<Sent> {
    let mut dice = Dice(seed);
    let packet = |n: usize| {
        let host = dice.of(&[1u8, 2, 3]);
        let frame = Frame {
            src_mac: host_mac(1, host),
            src: ip(10, 0, 1, host),
            dst: ip(10, 0, 2, 1),
            body: Body::Udp { src_port: 1000, dst_port: 53 },
            ident: n as u16 + 1,
            payload: dice.of(&[&b"abc is it"[..], b"another text", b"ab", b""]),
            ..Frame::default()
        };
        Sent::new(1, &frame)
    };
    (0..N).map(packet).collect()
}

/// What two hosts have said to each other so far.
#[derive(Clone, Copy)]
struct Conversation {
    hosts: (u8, u8),
    port: u16,
    tcp: bool,
    /// Steps of the handshake that are done.
    step: usize,
    /// The next byte of each.
    seq: [u32; 2],
}

/// UDP and TCP between hosts, each connection in its order, all of them mixed; the sides take turns
/// by chance.
pub(crate) fn conversations(seed: u64) -> Vec<Sent> {
    let mut dice = Dice(seed);
    let mut all: Vec<Conversation> = (0..14u16)
        .map(|n| Conversation {
            hosts: (dice.of(&[1u8, 2, 3]), dice.of(&[1u8, 2, 3])),
            port: 2000 + n,
            tcp: dice.throw(2) == 0,
            step: 0,
            seq: [1000, 5000],
        })
        .collect();
    let packet = |n: usize| {
        let at = dice.throw(all.len());
        let talk = &mut all[at];
        let side = match (talk.tcp, talk.step) {
            (_, 0) | (true, 2) => 0,
            (true, 1) => 1,
            _ => dice.throw(2),
        };
        let len = if talk.tcp && talk.step < 3 { 0 } else { dice.of(&[1usize, 20, 150, 400]) };
        let flags = match talk.step {
            0 => 0x02,
            1 => 0x12,
            _ if len == 0 => 0x10,
            _ => 0x18,
        };
        let ports = [(talk.port, 80), (80, talk.port)][side];
        let header = TcpHeader {
            src_port: ports.0,
            dst_port: ports.1,
            seq: talk.seq[side],
            ack: if talk.step == 0 { 0 } else { talk.seq[1 - side] },
            flags: TcpFlags(flags),
            window: 60_000,
            urgent: 0,
        };
        let body = match talk.tcp {
            true => Body::Tcp { header, options: &[] },
            false => Body::Udp { src_port: ports.0, dst_port: ports.1 },
        };
        talk.seq[side] += len as u32 + u32::from(flags & 2 != 0);
        talk.step += 1;
        let (a, b) = talk.hosts;
        let (mine, theirs) = [(a, b), (b, a)][side];
        let frame = Frame {
            src_mac: host_mac(side + 1, mine),
            src: ip(10, 0, side as u8 + 1, mine),
            dst: ip(10, 0, 2 - side as u8, theirs),
            body,
            ident: n as u16 + 1,
            payload: &PAYLOAD[..len],
            ..Frame::default()
        };
        Sent::new(side + 1, &frame)
    };
    (0..N).map(packet).collect()
}
