//! Connections in virtual time.

use super::*;
use crate::packet::ConnectionState::{self, Established, Invalid};
use std::time::Duration;
use wire::layers::{self, protocol};
use wire::{FiveTuple, Moment, checksum};

const A: u32 = 0x0a00_0002; // 10.0.0.2
const B: u32 = 0xc000_0201; // 192.0.2.1

pub(crate) fn udp(src: u32, src_port: u16, dst: u32, dst_port: u16) -> FiveTuple {
    FiveTuple { src, dst, src_port, dst_port, protocol: protocol::UDP }
}

/// A frame around a transport payload whose checksum the caller has seen to.
pub(crate) fn frame_of(src: u32, dst: u32, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let total = (20 + transport.len()) as u16;
    let mut header = vec![0x45, 0];
    header.extend(total.to_be_bytes());
    header.extend([0, 1, 0, 0, 64, protocol, 0, 0]);
    header.extend(src.to_be_bytes());
    header.extend(dst.to_be_bytes());
    let sum = checksum::ipv4_header(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend(transport);
    frame
}

/// A UDP frame with a right checksum.
pub(crate) fn udp_frame(tuple: FiveTuple, payload: usize) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(tuple.src_port.to_be_bytes());
    datagram.extend(tuple.dst_port.to_be_bytes());
    datagram.extend((8 + payload as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.resize(8 + payload, 0x5a);
    let sum = checksum::udp(tuple.src, tuple.dst, &datagram);
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    frame_of(tuple.src, tuple.dst, protocol::UDP, &datagram)
}

/// A router that lets everything pass: track, and confirm what is new.
pub(crate) struct Bench {
    pub(crate) connections: Connections,
    pub(crate) now: Moment,
}

impl Bench {
    pub(crate) fn new(max: usize) -> Bench {
        Bench { connections: Connections::new(max), now: Moment::ZERO }
    }

    pub(crate) fn pass(&mut self, frame: &[u8]) -> (ConnectionState, Option<FlowId>) {
        let layers = layers::parse(frame).expect("test frames are whole");
        let tracking = self.connections.track(self.now, frame, &layers);
        let new = tracking.new.map(|new| self.connections.confirm(&new, self.now).unwrap());
        (tracking.state, tracking.flow.or(new))
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now = self.now + Duration::from_millis(ms);
        self.connections.sweep(self.now, usize::MAX);
    }

    fn flags(&self, flow: FlowId) -> String {
        let id = self.connections.flow(flow).connection;
        self.connections.get(id).expect("lives").flags().to_string()
    }
}

#[test]
fn udp_becomes_established_then_assured() {
    let mut bench = Bench::new(8);
    let there = udp_frame(udp(A, 5000, B, 53), 30);
    let back = udp_frame(udp(B, 53, A, 5000), 100);
    let (state, flow) = bench.pass(&there);
    let flow = flow.unwrap();
    assert_eq!((state, bench.flags(flow).as_str()), (ConnectionState::New, "C"));
    assert_eq!(bench.pass(&there).0, ConnectionState::New, "still no reply");
    let (state, reply) = bench.pass(&back);
    assert_eq!((state, bench.flags(flow).as_str()), (Established, "SC"));
    assert_eq!(bench.pass(&there), (Established, Some(flow)));
    assert_eq!(bench.flags(flow), "SAC");
    let (f, r) = (bench.connections.flow(flow), bench.connections.flow(reply.unwrap()));
    assert_eq!((f.packets, f.bytes), (3, 3 * 58));
    assert_eq!((r.packets, r.bytes), (1, 128));
    assert_eq!(f.connection, r.connection);
}

#[test]
fn wrong_checksum_begins_nothing() {
    let mut bench = Bench::new(8);
    let mut frame = udp_frame(udp(A, 1, B, 2), 10);
    frame[14 + 20 + 8] ^= 1;
    assert_eq!(bench.pass(&frame), (Invalid, None));
    assert!(bench.connections.is_empty());
    frame[14 + 20 + 6..][..2].fill(0); // no checksum at all
    assert_eq!(bench.pass(&frame).0, ConnectionState::New);
}
