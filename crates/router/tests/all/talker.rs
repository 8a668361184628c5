//! A host that speaks TCP well enough to say anything to a service of the router's.

use crate::rig::{Rig, mac};
use wire::craft;
use wire::{MacAddr, Tcp, TcpFlags};

/// Two addresses and the port of the rig between them.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    /// The host's number, by which its MAC address goes.
    pub(crate) host: u8,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// The router's.
    pub(crate) mac: MacAddr,
    /// Of the rig.
    pub(crate) by: usize,
    /// Where the service listens.
    pub(crate) to: u16,
}

pub(crate) struct Talker {
    pub(crate) rig: Rig,
    line: Line,
    port: u16,
    seq: u32,
    ack: u32,
    /// The other end says no more.
    pub(crate) over: bool,
}

impl Talker {
    /// Opens a connection from this port.
    pub(crate) fn dial(rig: Rig, line: Line, port: u16) -> Talker {
        let mut talker = Talker { rig, line, port, seq: 1000, ack: 0, over: false };
        talker.send(TcpFlags::SYN, b"");
        talker.seq += 1;
        talker.hear();
        if talker.ack != 0 {
            talker.send(TcpFlags::ACK, b"");
            talker.hear();
        }
        talker
    }

    /// Whether somebody has answered.
    pub(crate) fn is_open(&self) -> bool {
        self.ack != 0 && !self.over
    }

    fn send(&mut self, flags: TcpFlags, payload: &[u8]) {
        let Line { host, src, dst, mac: dst_mac, by, to } = self.line;
        let mut bytes = craft::Frame {
            src_mac: mac(host),
            dst_mac,
            payload,
            ..craft::tcp(src, self.port, dst, to, flags)
        }
        .build();
        bytes.truncate(54 + payload.len());
        bytes[38..42].copy_from_slice(&self.seq.to_be_bytes());
        bytes[42..46].copy_from_slice(&self.ack.to_be_bytes());
        bytes[48..50].copy_from_slice(&[0xff, 0xff]);
        bytes[50..52].fill(0);
        let sum = wire::checksum::tcp(src, dst, &bytes[34..]);
        bytes[50..52].copy_from_slice(&sum.to_be_bytes());
        self.rig.send(by, &bytes);
        self.rig.breathe();
    }

    /// What the service has said, acknowledged as soon as something is said.
    pub(crate) fn hear(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        let mut frames = self.rig.take(self.line.by);
        // Whoever is asked for is there.
        let asked = |frame: &Vec<u8>| frame[12..14] == [8, 6];
        for frame in frames.iter().filter(|frame| asked(frame)) {
            let question = wire::Arp::new(&frame[14..]).unwrap().message();
            let answer = question.reply_from(mac(self.line.host));
            let answer = craft::Frame { dst_mac: self.line.mac, ..craft::arp(answer) };
            self.rig.send(self.line.by, &answer.build());
        }
        self.rig.breathe();
        frames.extend(self.rig.take(self.line.by));
        let service = self.line.to.to_be_bytes();
        let to = [&self.line.src.to_be_bytes()[..], &service, &self.port.to_be_bytes()].concat();
        for frame in frames.iter().filter(|frame| !asked(frame)) {
            if frame[23] != 6 || frame[30..38] != to {
                continue;
            }
            let len = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            let segment = &frame[34..14 + len];
            let tcp = Tcp::new(segment).unwrap();
            let payload = &segment[usize::from(segment[12] >> 4) * 4..];
            if tcp.flags().contains(TcpFlags::RST) {
                self.over = true;
            } else if tcp.flags().contains(TcpFlags::SYN) {
                self.ack = tcp.seq().wrapping_add(1);
            } else if tcp.seq() == self.ack {
                self.ack = self.ack.wrapping_add(payload.len() as u32);
                said.extend(payload);
                self.over |= tcp.flags().contains(TcpFlags::FIN);
            }
        }
        said
    }

    /// Says something; what is answered, and acknowledged.
    pub(crate) fn say(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        for part in payload.chunks(1000) {
            self.send(TcpFlags::ACK | TcpFlags::PSH, part);
            self.seq = self.seq.wrapping_add(part.len() as u32);
            said.extend(self.hear());
        }
        loop {
            self.send(TcpFlags::ACK, b"");
            let more = self.hear();
            if more.is_empty() {
                return said;
            }
            said.extend(more);
        }
    }
}
