//! One pass of the capture through a router: frames in, frames out, each compared.

use crate::bytes::{self, End};
use crate::model::{Fate, Model, State, Step, TTL_EXCEEDED};
use crate::rig::{Rig, own_mac};
use crate::witness::{CLIENT_MAC, Row, SERVER_MAC};
use crate::{ADDRESSES, Setup};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use wire::Moment;

/// The router's address towards the clients.
const LAN: u32 = u32::from_be_bytes([192, 168, 88, 1]);
/// The one towards the servers, which stands for the clients.
pub(crate) const WAN: u32 = u32::from_be_bytes([203, 0, 113, 254]);

/// How the router is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Slow path only, one frame a breath.
    Reference,
    /// As it comes: frames of one side together, up to a batch.
    Fast,
}

/// A router, the capture, and what is to come of it.
pub(crate) struct Replay<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) rows: &'a [Row],
    pub(crate) model: &'a Model,
    pub(crate) mode: Mode,
    pub(crate) rig: Rig,
    /// By connection: the port that stands for the client's.
    pub(crate) ports: HashMap<usize, u16>,
    /// Connections whose client's own port was somebody else's.
    pub(crate) n_changed: usize,
    /// Who uses a port towards a server: protocol, port, server, its port.
    pub(crate) users: HashMap<(u8, u16, u32, u16), usize>,
    /// What was forwarded, for those who complain, by what it was before.
    pub(crate) forwarded: HashMap<Identity, Vec<u8>>,
    /// Frames out that were expected, by port.
    pub(crate) n_out: [u64; 2],
}

/// What tells an IP packet from others: protocol, addresses, identification.
type Identity = (u8, [u8; 8], [u8; 2]);

fn identity(packet: &[u8]) -> Identity {
    (packet[9], *packet[12..].first_chunk().unwrap(), [packet[4], packet[5]])
}

impl<'a> Replay<'a> {
    /// A fresh router.
    pub(crate) fn new(
        setup: &'a Setup,
        rows: &'a [Row],
        model: &'a Model,
        mode: Mode,
    ) -> Replay<'a> {
        let mut rig = Rig::new(2, &format!("{ADDRESSES}{}", setup.script));
        rig.router.set_reference(mode == Mode::Reference);
        Replay {
            setup,
            rows,
            model,
            mode,
            rig,
            ports: HashMap::new(),
            n_changed: 0,
            users: HashMap::new(),
            forwarded: HashMap::new(),
            n_out: [0; 2],
        }
    }

    /// All of it, and all checks.
    pub(crate) fn run(mut self) {
        let mut at = 0;
        while at < self.rows.len() {
            let end = self.end_of_breath(at);
            self.breathe(at, end);
            at = end;
        }
        self.check_counters();
        self.check_the_end();
        assert_eq!(self.rig.frames_in_use(), 0, "frames that nobody gave back");
    }

    /// Frames of one side that come within a fifth of a millisecond go in one breath. A frame of
    /// the other side ends it: it may be the answer to one of them.
    fn end_of_breath(&self, at: usize) -> usize {
        if self.mode == Mode::Reference {
            return at + 1;
        }
        let first = &self.rows[at];
        let together = |row: &&Row| {
            row.from_client == first.from_client && row.time_ns - first.time_ns < 200_000
        };
        at + self.rows[at..].iter().take(64).take_while(together).count()
    }

    /// Frames in, and what has to come of them.
    fn breathe(&mut self, from: usize, to: usize) {
        self.rig.now = Moment::from_nanos(1_000_000_000 + self.rows[to - 1].time_ns);
        for n in from..to {
            let bytes = self.incoming(n);
            self.rig.send(if self.rows[n].from_client { 1 } else { 2 }, &bytes);
        }
        self.rig.breathe();
        let mut out = [1, 2].map(|port| VecDeque::from(self.rig.take(port)));
        for n in from..to {
            let (row, step) = (&self.rows[n], &self.model.steps[n]);
            match step.fate {
                Fate::Forwarded => {
                    let port = usize::from(row.from_client);
                    let n_pieces = step.datagram.len().min(out[port].len());
                    let got: Vec<_> = out[port].drain(..n_pieces).collect();
                    assert_eq!(got.len(), step.datagram.len(), "frames out: {}", self.describe(n));
                    self.note_port(n, &got[0]);
                    let expected = self.outgoing(n);
                    assert_eq!(got, expected, "{}", self.describe(n));
                    self.forwarded.insert(identity(&row.bytes[14..]), expected[0][14..].to_vec());
                    self.n_out[port] += step.datagram.len() as u64;
                }
                TTL_EXCEEDED => {
                    let port = usize::from(!row.from_client);
                    let got = out[port].pop_front();
                    assert_eq!(got, Some(time_exceeded(row)), "{}", self.describe(n));
                    self.n_out[port] += 1;
                }
                Fate::Held | Fate::Consumed | Fate::Dropped(_) => {}
            }
        }
        let calm = out.iter().all(VecDeque::is_empty);
        assert!(
            calm,
            "uncalled for: {out:02x?}, the last of {}: {}",
            to - from,
            self.describe(to - 1)
        );
        for n in from..to {
            if self.model.steps[n].last {
                self.check_connection(n);
            }
        }
    }

    /// For the reader of a failed test.
    pub(crate) fn describe(&self, n: usize) -> String {
        let (row, step) = (&self.rows[n], &self.model.steps[n]);
        let connection = step.connection.and_then(|at| self.model.connections.get(at));
        let discards: Vec<_> = self.rig.router.discards().iter().collect();
        let (mode, bytes, ip) = (self.mode, &row.bytes, &row.ip);
        format!(
            "frame {} ({mode:?}): {bytes:02x?}\n{ip:?}\n{step:?}\n{connection:?}\n{discards:?}",
            n + 1
        )
    }

    /// The port that stands for a connection's client; `None` if it is not translated.
    fn port(&self, step: &Step) -> Option<u16> {
        self.ports.get(&step.connection?).copied()
    }

    /// The frames of a datagram as they were captured.
    fn captured(&self, step: &Step) -> Vec<Vec<u8>> {
        step.datagram.iter().map(|&n| self.rows[n].bytes.clone()).collect()
    }

    /// What an ICMP error complains about, as it was when it came there: if it did.
    fn complained_about(&self, row: &Row) -> Option<&Vec<u8>> {
        let error = matches!(row.ip?.icmp_type, Some(3 | 11));
        error.then(|| self.forwarded.get(&identity(bytes::quoted(&row.bytes))))?
    }

    /// A frame as its sender would have sent it to the router: to the address and port that
    /// servers see. A datagram's checksum stands in its first fragment, so all of them are
    /// readdressed at once.
    fn incoming(&self, n: usize) -> Vec<u8> {
        let (row, step) = (&self.rows[n], &self.model.steps[n]);
        let mut frame = row.bytes.clone();
        if row.ip.is_some() {
            let mut frames = self.captured(step);
            if let (false, Some(port)) = (row.from_client, self.port(step)) {
                let port = Some(port).filter(|_| step.state != State::Related);
                bytes::readdress(&mut frames, End::Destination, WAN, port);
            }
            if let Some(packet) = self.complained_about(row) {
                bytes::quote(&mut frames[0], packet);
            }
            bytes::finish(&mut frames);
            let at = step.datagram.iter().position(|&piece| piece == n).unwrap();
            frame = frames.swap_remove(at);
        }
        if frame[0] & 1 == 0 {
            frame[..6].copy_from_slice(&own_mac(if row.from_client { 1 } else { 2 }).0);
        }
        frame
    }

    /// The datagram as it has to leave.
    fn outgoing(&self, n: usize) -> Vec<Vec<u8>> {
        let (row, step) = (&self.rows[n], &self.model.steps[n]);
        let mut frames = self.captured(step);
        if self.complained_about(row).is_some() {
            bytes::hop_quoted(&mut frames[0]);
        }
        if let (true, Some(port)) = (row.from_client, self.port(step)) {
            bytes::readdress(&mut frames, End::Source, WAN, Some(port));
        }
        bytes::hop(&mut frames);
        for frame in &mut frames {
            match row.from_client {
                true => bytes::set_macs(frame, SERVER_MAC, own_mac(2).0),
                false => bytes::set_macs(frame, CLIENT_MAC, own_mac(1).0),
            }
        }
        bytes::finish(&mut frames);
        frames
    }

    /// Reads the port that a new connection got, and judges it.
    fn note_port(&mut self, n: usize, got: &[u8]) {
        let (row, step) = (&self.rows[n], &self.model.steps[n]);
        if !self.setup.nat || !step.first || !row.from_client {
            return;
        }
        let (at, port) = (step.connection.unwrap(), bytes::source_port(got));
        let (protocol, _, own, dst, dst_port) = self.model.connections[at].tuple;
        // An ICMP identifier is both ports.
        let user = |port| (protocol, port, dst, if protocol == 1 { 0 } else { dst_port });
        // A connection whose time is over may linger for a moment: then both are right.
        let using = |port, slack: Duration| {
            let at = self.users.get(&user(port))?;
            let connection = &self.model.connections[*at];
            let gone = if self.model.is_over(*at, n) { connection.timeout_ns() } else { u64::MAX };
            let end = connection.last_ns.saturating_add(gone);
            (row.time_ns < end.saturating_add(slack.as_nanos() as u64)).then_some(at)
        };
        if let (Some((low, high)), 6 | 17) = (self.setup.to_ports, protocol) {
            assert!((low..=high).contains(&port), "{port}: {}", self.describe(n));
            assert_eq!(using(port, Duration::ZERO), None, "{}", self.describe(n));
            self.n_changed += usize::from(port != own);
        } else if port == own {
            let user = using(port, Duration::ZERO);
            assert_eq!(user, None, "the port is somebody else's: {}", self.describe(n));
        } else {
            let free = using(own, Duration::from_millis(500)).is_none();
            assert!(!free, "{port} though {own} is free: {}", self.describe(n));
            assert_eq!(using(port, Duration::ZERO), None, "{}", self.describe(n));
            assert!(port >= 1024 || protocol == 1, "{port}: {}", self.describe(n));
            self.n_changed += 1;
        }
        self.users.insert(user(port), at);
        self.ports.insert(at, port);
    }
}

/// The router's complaint to a frame's sender.
pub(crate) fn time_exceeded(row: &Row) -> Vec<u8> {
    match row.from_client {
        true => bytes::time_exceeded(&row.bytes, LAN, [CLIENT_MAC, own_mac(1).0]),
        false => bytes::time_exceeded(&row.bytes, WAN, [SERVER_MAC, own_mac(2).0]),
    }
}
