//! Control frames: what a router is asked and told while it forwards (RFC 2544 §11.2, §11.3).
//!
//! ```text
//!  queries  SNMP get-request, first of every second ─► port      ─► answered, refused, or nothing
//!  updates  RIP response, A and B by turns, every 30 s ─► port   ─► passed on by the device, or not
//! ```
//!
//! RFC 2544 (C.2.6) leaves the query open: `sysUpTime` and `ifInOctets` are asked, by SNMP version 2c,
//! community `public`. An update is RIP's, of version 1 as in the appendix or of version 2, and names
//! six networks that no test uses; what changes from state A to B is how far they are. C.2.3 has RIP's
//! updates every 30 seconds.
//!
//! Beside the test's streams, never among them: these frames have no trailer, and the receiver counts
//! what comes of them as foreign. Never reads a clock. Missing: **other routing protocols**.

use port::{Batch, Pool, Port};
use std::collections::{BTreeSet, VecDeque};
use std::ops::AddAssign;
use std::time::Duration;
use wire::craft::{self, Frame};
use wire::rip::{self, Version};
use wire::{Ipv4Prefix, MacAddr, Moment, snmp};

/// A query is the first frame of each second.
pub const QUERY_EVERY: Duration = Duration::from_secs(1);
/// RIP's time between updates (RFC 2544 C.2.3).
pub const UPDATE_EVERY: Duration = Duration::from_secs(30);
/// The networks of an update.
const NETWORKS: u32 = 6;
/// Of the questions.
const QUERY_PORT: u16 = 0xc0a1;

/// Who sends, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The sender's MAC address.
    pub src_mac: MacAddr,
    /// The next hop's; updates go to all routers.
    pub dst_mac: MacAddr,
    /// The sender's address.
    pub src: u32,
    /// The device's.
    pub dst: u32,
    /// That of everybody on the sender's network.
    pub broadcast: u32,
}

/// What became of control frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Queries sent.
    pub queries: u64,
    /// Answered with values.
    pub answered: u64,
    /// Answered with an error of SNMP's instead.
    pub errors: u64,
    /// Refused: nobody listens there (ICMP).
    pub refused: u64,
    /// Updates sent.
    pub updates: u64,
    /// Updates of the device's own that tell of a network of ours.
    pub passed_on: u64,
}

impl AddAssign for Told {
    fn add_assign(&mut self, other: Told) {
        self.queries += other.queries;
        self.answered += other.answered;
        self.errors += other.errors;
        self.refused += other.refused;
        self.updates += other.updates;
        self.passed_on += other.passed_on;
    }
}

impl Told {
    /// In sentences, of what was sent.
    pub fn describe(&self) -> Vec<String> {
        let Told { queries, answered, errors, refused, updates, passed_on } = *self;
        let mut lines = vec![];
        if queries > 0 {
            let mut line = format!("management queries (SNMP): {answered} of {queries} answered");
            if errors > 0 {
                line += &format!(", {errors} with an error");
            }
            if refused > 0 {
                line += &format!(", {refused} refused (ICMP)");
            }
            lines.push(line);
        }
        if updates > 0 {
            let heard = match passed_on {
                0 => "nothing the device sends tells of their networks".to_string(),
                n => format!("{n} of the device's own tell of their networks"),
            };
            lines.push(format!("routing updates (RIP): {updates} sent, {heard}"));
        }
        lines
    }
}

/// Control frames of one trial.
#[derive(Debug)]
pub struct Control {
    due: VecDeque<(Moment, Vec<u8>)>,
    is_query: bool,
    /// The number of the next query.
    next: i32,
    /// Queries without an answer yet.
    open: BTreeSet<i32>,
    told: Told,
    batch: Batch,
}

impl Control {
    /// Queries at the beginning of each second of a trial, numbered from `first`.
    pub fn queries(path: &Path, first: i32, start: Moment, duration: Duration) -> Control {
        let names = [snmp::SYS_UP_TIME, snmp::IF_IN_OCTETS_1];
        let of = |(n, at): (i32, Moment)| {
            let payload = snmp::get_request("public", first.wrapping_add(n), &names);
            let plain = craft::udp(path.src, QUERY_PORT, path.dst, snmp::PORT);
            let Path { src_mac, dst_mac, .. } = *path;
            (at, Frame { src_mac, dst_mac, payload: &payload, ..plain }.build())
        };
        let due = (0..).zip(times(start, duration, QUERY_EVERY)).map(of).collect();
        Control::new(due, true, first)
    }

    /// Updates at the beginning of a trial and every 30 seconds, by turns, the first of them the
    /// state of this number.
    pub fn updates(
        path: &Path,
        version: Version,
        first: u64,
        (start, duration): (Moment, Duration),
    ) -> Control {
        let (dst, dst_mac) = match version {
            Version::One => (path.broadcast, MacAddr([0xff; 6])),
            Version::Two => (rip::GROUP, rip::GROUP_MAC),
        };
        let of = |(n, at): (u64, Moment)| {
            let metric = 1 + ((first + n) % 2) as u32;
            let route = |network| rip::Route { network, metric };
            let routes = networks(version).map(route).collect::<Vec<_>>();
            let payload = rip::response(version, &routes);
            let plain = craft::udp(path.src, rip::PORT, dst, rip::PORT);
            let src_mac = path.src_mac;
            (at, Frame { src_mac, dst_mac, ttl: 1, payload: &payload, ..plain }.build())
        };
        let due = (0..).zip(times(start, duration, UPDATE_EVERY)).map(of).collect();
        Control::new(due, false, 0)
    }

    fn new(due: VecDeque<(Moment, Vec<u8>)>, is_query: bool, next: i32) -> Control {
        let (open, told, batch) = (BTreeSet::new(), Told::default(), Batch::new());
        Control { due, is_query, next, open, told, batch }
    }

    /// Frames that are still to be sent.
    pub fn left(&self) -> u64 {
        self.due.len() as u64
    }

    /// When the next is due.
    pub fn next_due(&self) -> Moment {
        self.due.front().map_or(Moment::from_nanos(u64::MAX), |(at, _)| *at)
    }

    /// Sends what is due, and returns how many frames that were.
    #[inline]
    pub fn poll<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        if now < self.next_due() {
            return 0;
        }
        self.send(now, pool, port)
    }

    #[cold]
    fn send<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        while self.next_due() <= now && self.batch.room() > 0 {
            let Some((_, bytes)) = self.due.pop_front() else { break };
            let Some(mut frame) = pool.alloc(bytes.len()) else { break };
            pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
            self.batch.push(frame);
            if self.is_query {
                self.open.insert(self.next);
                self.next = self.next.wrapping_add(1);
                self.told.queries += 1;
            } else {
                self.told.updates += 1;
            }
        }
        let n = self.batch.len();
        port.send(now, pool, &mut self.batch);
        n
    }

    /// Looks at a frame that came, whosever it is.
    #[inline]
    pub fn frame(&mut self, bytes: &[u8]) {
        // Where the ports are without IP options: whatever is a test frame is none of these.
        let Some(head) = bytes.first_chunk::<38>() else { return };
        let [src_port, dst_port] = [34, 36].map(|at| u16::from_be_bytes([head[at], head[at + 1]]));
        let is_mine = match self.is_query {
            true => src_port == snmp::PORT || head[23] == wire::layers::protocol::ICMP,
            false => dst_port == rip::PORT,
        };
        if is_mine && head[12..15] == [0x08, 0x00, 0x45] {
            self.look(bytes);
        }
    }

    #[cold]
    fn look(&mut self, bytes: &[u8]) {
        let Ok(layers) = wire::layers::parse(bytes) else { return };
        let packet = &bytes[usize::from(layers.l4)..usize::from(layers.l3_end)];
        if layers.protocol == wire::layers::protocol::ICMP {
            // Port unreachable, about a datagram of ours.
            let quoted = packet.get(8 + 20..).and_then(|quoted| quoted.first_chunk::<4>());
            let ports = [QUERY_PORT.to_be_bytes(), snmp::PORT.to_be_bytes()].concat();
            let is_ours = packet.starts_with(&[3, 3]) && quoted.is_some_and(|q| q[..] == ports);
            if is_ours && self.open.pop_first().is_some() {
                self.told.refused += 1;
            }
            return;
        }
        let Some(payload) = packet.get(8..) else { return };
        if self.is_query {
            let answer = snmp::response(payload).filter(|answer| self.open.remove(&answer.request));
            match answer.map(|answer| answer.error) {
                Some(0) => self.told.answered += 1,
                Some(_) => self.told.errors += 1,
                None => {}
            }
        } else if let Some(mut routes) = rip::routes(payload) {
            // A device may pass on in its own version what it heard in another.
            let ours = || networks(Version::One).chain(networks(Version::Two));
            let is_ours = routes.any(|route| ours().any(|ours| ours == route.network));
            self.told.passed_on += u64::from(is_ours);
        }
    }

    /// Whether an answer is still to come, if the device gives one.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// What became of them so far.
    pub fn told(&self) -> Told {
        self.told
    }
}

/// From the beginning on, as long as it lasts.
fn times(start: Moment, duration: Duration, every: Duration) -> impl Iterator<Item = Moment> {
    let n = duration.as_nanos().div_ceil(every.as_nanos()) as u32;
    (0..n).map(move |n| start + every * n)
}

/// The networks of an update: of TEST-NET-2, which is nobody's (RFC 5737); without masks whole class C
/// networks, of those for benchmarks that no test uses (RFC 2544 C.2.2 has 1 to 64 for ports and begins
/// there).
fn networks(version: Version) -> impl Iterator<Item = Ipv4Prefix> {
    (0..NETWORKS as u8).map(move |n| match version {
        Version::One => Ipv4Prefix::new(craft::ip(198, 18, 32 + n, 0), 24),
        Version::Two => Ipv4Prefix::new(craft::ip(198, 51, 100, 32 * n), 27),
    })
}

#[cfg(test)]
mod tests;
