//! Connections in virtual time: each test drives frames through a router that lets all pass.

mod fasttrack;
mod flow_table;
mod memory;
mod tcp;
mod timers;
mod tracking;

use super::*;
use crate::packet::ConnectionState;
use std::time::Duration;
use wire::craft::ip;
use wire::layers::{self, protocol};
use wire::{FiveTuple, Moment};

pub(crate) const CLIENT: u32 = ip(10, 0, 0, 2);
pub(crate) const SERVER: u32 = ip(192, 0, 2, 1);

pub(crate) fn udp(src: u32, src_port: u16, dst: u32, dst_port: u16) -> FiveTuple {
    FiveTuple { src, dst, src_port, dst_port, protocol: protocol::UDP }
}

/// A router that lets everything pass: what is new is confirmed.
pub(crate) struct Bench {
    pub(crate) connections: Connections,
    pub(crate) now: Moment,
}

impl Bench {
    pub(crate) fn new(max: usize) -> Bench {
        Bench { connections: Connections::new(max), now: Moment::ZERO }
    }

    /// A frame passes: its state and its flow.
    pub(crate) fn pass(&mut self, frame: &[u8]) -> (ConnectionState, Option<FlowId>) {
        let layers = layers::parse(frame).expect("test frames are whole");
        let tracking = self.connections.track(self.now, frame, &layers);
        let new = tracking.new.map(|new| self.connections.confirm(&new, self.now).unwrap());
        (tracking.state, tracking.flow.or(new))
    }

    /// A datagram of a tuple passes.
    pub(crate) fn pass_udp(&mut self, t: FiveTuple) -> (ConnectionState, Option<FlowId>) {
        self.pass(&wire::craft::udp(t.src, t.src_port, t.dst, t.dst_port).build())
    }

    /// Time goes on, and what has lapsed is swept.
    pub(crate) fn wait(&mut self, ms: u64) {
        self.now = self.now + Duration::from_millis(ms);
        self.connections.sweep(self.now, usize::MAX);
    }

    pub(crate) fn entry(&self, flow: FlowId) -> Entry {
        let id = self.connections.flow(flow).connection;
        self.connections.entry(id, self.now).expect("lives")
    }
}
