//! Ends of TCP connections of the router's own services, in the router's own time.
//!
//! ```text
//! LOCAL IN ─► [Tcp::receive] ─► a connection: smoltcp puts segments in order, and sends lost ones again
//!                                  │ [Tcp::read]            ▲ [Tcp::write], [Tcp::close]
//!                                  ▼                        │
//!                       flow::tcp: the service that listens, or has dialled
//!                                  │ [Tcp::leaving]
//!                                  ▼
//!                               LOCAL OUT
//! ```
//!
//! Each connection is a stack of its own, of one address and one socket: they know nothing of each other.
//! Pure: packets, the time and random numbers come in, packets go out.
//!
//! Never: looks at ports that nobody listens on, which are the flow's. Missing: **IPv6**, **congestion
//! control** (what services say fits into a window of a few kilobytes).
//!
//! # DoS
//!
//! There are [`MOST`] connections, [`MOST_OF_HOST`] of one address, and [`MOST_HALF_OPEN`] that others have
//! begun and not opened: one more ends the oldest of these. What is open is touched by none of it.

use super::datagram::End;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::{Duration as Span, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;
use wire::Moment;

/// Connections there can be.
pub(crate) const MOST: usize = 1024;
/// Of one address: many clients may be behind it.
pub(crate) const MOST_OF_HOST: usize = 128;
/// Those that others have begun and not opened yet.
pub(crate) const MOST_HALF_OPEN: usize = 128;
/// How long anybody may take to open one.
const OPENING: Duration = Duration::from_secs(20);
/// How long what was sent may be without an acknowledgement, and how long a connection may take to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Flags of a segment.
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// How much of each direction is held.
const ROOM: usize = 4096;
/// The longest packet to send: one that everybody takes (RFC 9293 §3.7.1).
const LONGEST: usize = 576;

/// Who listens, or has dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Pptp,
    Upnp,
    Ldp,
    Hotspot,
}

/// The end here, and the other one.
pub(crate) type Ends = (End, End);

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is not open yet.
    Opening,
    Open,
    /// The other end says no more.
    Ending,
    Over,
}

/// All connections.
#[derive(Default)]
pub(crate) struct Tcp {
    connections: BTreeMap<Ends, Connection>,
    due: BTreeSet<(Moment, Ends)>,
    /// Of others and not open, the oldest first.
    half_open: BTreeSet<(u64, Ends)>,
    /// How many there have been.
    taken_up: u64,
    by_host: HashMap<u32, usize>,
    /// Packets that are to leave.
    leaving: VecDeque<Vec<u8>>,
    /// They leave just now: what comes of that has to wait for its turn.
    pub(crate) busy: bool,
    /// Of a trial: what connections there are in truth; it has none.
    trial: Option<BTreeSet<Ends>>,
}

struct Connection {
    service: Service,
    stack: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    wire: Wire,
    since: Moment,
    due: Option<Moment>,
    /// Its place among them, if others have begun it, and it is not open yet.
    half_open: Option<u64>,
    /// The service wants to hear no more of it, since then.
    left: Option<Moment>,
    /// How much was not acknowledged when that last changed, and when.
    unheard: (usize, Moment),
}

impl Connection {
    fn new(now: Moment, service: Service, (own, _): Ends, seed: u64) -> Connection {
        let mut wire = Wire::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut stack = Interface::new(config, &mut wire, instant(now));
        stack.update_ip_addrs(|addresses| {
            // There is room for one.
            let _ = addresses.push(IpCidr::new(address(own), 32));
        });
        let buffer = || SocketBuffer::new(vec![0; ROOM]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_ack_delay(None);
        socket.set_nagle_enabled(false);
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let socket = sockets.add(socket);
        let (since, due, left, unheard, half_open) = (now, None, None, (0, now), None);
        Connection { service, stack, sockets, socket, wire, since, due, half_open, left, unheard }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    fn progress(&self) -> Progress {
        match self.sockets.get::<Socket>(self.socket).state() {
            State::SynSent | State::SynReceived => Progress::Opening,
            State::Established | State::FinWait1 | State::FinWait2 => Progress::Open,
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait => {
                Progress::Ending
            }
            // It listens again, if the other end has changed its mind.
            State::Closed | State::Listen => Progress::Over,
        }
    }

    /// When it is over, if nothing changes. (smoltcp's own timeout ends what is idle as well.)
    fn deadline(&mut self, now: Moment) -> Option<Moment> {
        let unheard = self.socket().send_queue();
        if unheard != self.unheard.0 {
            self.unheard = (unheard, now);
        }
        match self.progress() {
            Progress::Over => None,
            Progress::Opening => Some(self.since + OPENING),
            _ if self.left.is_some() => self.left.map(|left| left + PATIENCE),
            _ => (unheard > 0).then(|| self.unheard.1 + PATIENCE),
        }
    }
}

impl Tcp {
    /// As a trial has it: its packets come to where they would, and nothing comes of them.
    pub(crate) fn trial(&self) -> Tcp {
        Tcp { trial: Some(self.connections.keys().copied().collect()), ..Tcp::default() }
    }

    pub(crate) fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Whether there is such a connection.
    pub(crate) fn knows(&self, ends: Ends) -> bool {
        self.connections.contains_key(&ends)
            || self.trial.as_ref().is_some_and(|known| known.contains(&ends))
    }

    /// The service of a connection that still wants to hear of it.
    pub(crate) fn service(&self, ends: Ends) -> Option<Service> {
        self.connections.get(&ends).filter(|known| known.left.is_none()).map(|known| known.service)
    }

    /// How far a connection has come.
    pub(crate) fn progress(&self, ends: Ends) -> Progress {
        self.connections.get(&ends).map_or(Progress::Over, Connection::progress)
    }

    /// Dials; false if there is no room. `seed` makes its numbers hard to guess.
    pub(crate) fn connect(&mut self, now: Moment, service: Service, ends: Ends, seed: u64) -> bool {
        if self.connections.len() >= MOST || self.knows(ends) {
            return false;
        }
        let mut new = Connection::new(now, service, ends, seed);
        let (own, peer) = ends;
        let Connection { stack, sockets, socket, .. } = &mut new;
        let socket = sockets.get_mut::<Socket>(*socket);
        let (to, from) = ((address(peer), peer.port), (address(own), own.port));
        let begun = socket.connect(stack.context(), to, from).is_ok();
        if begun {
            self.add(ends, new);
        }
        begun
    }

    /// Takes up a connection that another host begins; false if there is no room.
    pub(crate) fn accept(&mut self, now: Moment, service: Service, ends: Ends, seed: u64) -> bool {
        let of_host = self.by_host.get(&ends.1.address).copied().unwrap_or(0);
        if of_host >= MOST_OF_HOST {
            return false;
        }
        if self.half_open.len() >= MOST_HALF_OPEN || self.connections.len() >= MOST {
            let Some(&(_, oldest)) = self.half_open.first() else { return false };
            self.remove(oldest);
        }
        let mut new = Connection::new(now, service, ends, seed);
        self.taken_up += 1;
        new.half_open = Some(self.taken_up);
        let begun = new.socket().listen((address(ends.0), ends.0.port)).is_ok();
        if begun {
            self.add(ends, new);
        }
        begun
    }

    fn add(&mut self, ends: Ends, new: Connection) {
        self.half_open.extend(new.half_open.map(|at| (at, ends)));
        *self.by_host.entry(ends.1.address).or_default() += 1;
        self.connections.insert(ends, new);
    }

    fn remove(&mut self, ends: Ends) {
        let Some(old) = self.connections.remove(&ends) else { return };
        if let Some(at) = old.half_open {
            self.half_open.remove(&(at, ends));
        }
        if let Some(due) = old.due {
            self.due.remove(&(due, ends));
        }
        if let Some(n) = self.by_host.get_mut(&ends.1.address) {
            *n -= 1;
            if *n == 0 {
                self.by_host.remove(&ends.1.address);
            }
        }
    }

    /// A packet of a connection has come: an IPv4 header without options and the segment, whose checksum is
    /// right.
    pub(crate) fn receive(&mut self, now: Moment, ends: Ends, packet: Vec<u8>) {
        if let Some(known) = self.connections.get_mut(&ends) {
            // RFC 5961 §4.2: who begins anew where we know a connection is asked whether he knows it, too.
            let begins = packet.get(33).is_some_and(|flags| flags & (SYN | ACK) == SYN);
            let asks = begins && known.progress() != Progress::Opening;
            known.socket().set_keep_alive(asks.then_some(Span::from_secs(60)));
            known.wire.came.push_back(packet);
            self.run(now, ends);
        }
    }

    /// Lets a connection do what there is to do.
    pub(crate) fn run(&mut self, now: Moment, ends: Ends) {
        let Some(known) = self.connections.get_mut(&ends) else { return };
        let at = instant(now);
        known.stack.poll(at, &mut known.wire, &mut known.sockets);
        let mut deadline = known.deadline(now);
        if deadline.take_if(|deadline| now >= *deadline).is_some() {
            known.socket().abort();
            known.stack.poll(at, &mut known.wire, &mut known.sockets);
        }
        self.leaving.extend(known.wire.left.drain(..));
        let is_opening = known.progress() == Progress::Opening;
        if let Some(at) = known.half_open.take_if(|_| !is_opening) {
            self.half_open.remove(&(at, ends));
        }
        let next = known.stack.poll_at(at, &known.sockets).map(moment);
        let next = [next, deadline].into_iter().flatten().min();
        // Never at once again.
        let next = next.map(|next| next.max(now + Duration::from_millis(1)));
        if let Some(before) = std::mem::replace(&mut known.due, next) {
            self.due.remove(&(before, ends));
        }
        self.due.extend(next.map(|next| (next, ends)));
        if known.left.is_some() && known.progress() == Progress::Over {
            self.remove(ends);
        }
    }

    /// What has come on a connection.
    pub(crate) fn read(&mut self, ends: Ends) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(known) = self.connections.get_mut(&ends) {
            let socket = known.socket();
            let mut more = true;
            while more {
                let taken = socket.recv(|part| {
                    bytes.extend_from_slice(part);
                    (part.len(), part.len())
                });
                more = taken.is_ok_and(|n| n > 0);
            }
        }
        bytes
    }

    /// Says something; false if the other end takes nothing any more.
    pub(crate) fn write(&mut self, ends: Ends, bytes: &[u8]) -> bool {
        self.offer(ends, bytes) == bytes.len()
    }

    /// Says as much of something as there is room for; how much that was.
    pub(crate) fn offer(&mut self, ends: Ends, bytes: &[u8]) -> usize {
        let Some(known) = self.connections.get_mut(&ends) else { return 0 };
        known.socket().send_slice(bytes).unwrap_or(0)
    }

    /// What was said is still sent, and then it is over; its service hears no more of it.
    pub(crate) fn close(&mut self, now: Moment, ends: Ends) {
        let Some(known) = self.connections.get_mut(&ends) else { return };
        known.left.get_or_insert(now);
        known.socket().close();
        self.run(now, ends);
    }

    /// Ends a connection at once, and tells the other end.
    pub(crate) fn abort(&mut self, now: Moment, ends: Ends) {
        let Some(known) = self.connections.get_mut(&ends) else { return };
        known.left.get_or_insert(now);
        known.socket().abort();
        self.run(now, ends);
        self.remove(ends);
    }

    /// The next packet that is to leave.
    pub(crate) fn leaving(&mut self) -> Option<Vec<u8>> {
        self.leaving.pop_front()
    }

    /// One that is due now.
    pub(crate) fn is_due(&self, now: Moment) -> Option<Ends> {
        self.due.first().filter(|(due, _)| *due <= now).map(|(_, ends)| *ends)
    }

    /// When the next one is due.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.due.first().map(|(due, _)| *due)
    }
}

fn address(end: End) -> IpAddress {
    IpAddress::Ipv4(Ipv4Address::from(end.address))
}

fn instant(now: Moment) -> Instant {
    Instant::from_micros((now.as_nanos() / 1000) as i64)
}

/// The first moment at which that has come.
fn moment(at: Instant) -> Moment {
    Moment::from_nanos(at.total_micros().max(0) as u64 * 1000 + 999)
}

/// What lies between a stack and the router.
#[derive(Default)]
struct Wire {
    came: VecDeque<Vec<u8>>,
    left: Vec<Vec<u8>>,
}

struct Came(Vec<u8>);

struct Leaves<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Came {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Leaves<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let done = write(&mut packet);
        self.0.push(packet);
        done
    }
}

impl Device for Wire {
    type RxToken<'a> = Came;
    type TxToken<'a> = Leaves<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Came, Leaves<'_>)> {
        Some((Came(self.came.pop_front()?), Leaves(&mut self.left)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaves<'_>> {
        Some(Leaves(&mut self.left))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut able = DeviceCapabilities::default();
        (able.medium, able.max_transmission_unit) = (Medium::Ip, LONGEST);
        // Whoever hands packets over has looked; what an interface was to finish has none yet.
        (able.checksum.ipv4, able.checksum.tcp) = (Checksum::Tx, Checksum::Tx);
        able
    }
}

#[cfg(test)]
mod tests;
