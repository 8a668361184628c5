//! Model of a router over the capture, worked out from tshark's fields alone.
//!
//! ```text
//!  Row ─► whole datagram? ─► connection? ─► TTL ─► may it pass? ─► Step
//! ```
//!
//! Plain and slow on purpose: no windows, no timers, no recipes. It knows that a connection is two
//! hosts and two ports (or an ICMP identifier), when it is over, and what a home router's firewall
//! lets in. The ends' kernels did not lose or forge anything here, so every TCP segment of a
//! connection that the router let begin belongs to it.

use crate::witness::{Ip, Row};
use std::collections::HashMap;

/// What the configuration under test asks for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Policy {
    /// There are firewall rules: connections are tracked, datagrams put together.
    pub(crate) tracking: bool,
    /// Invalid packets are dropped.
    pub(crate) drop_invalid: bool,
    /// New connections from the servers' side are dropped.
    pub(crate) drop_uninvited: bool,
    /// What is established is FastTracked.
    pub(crate) fasttrack: bool,
}

/// `connection-state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    New,
    Established,
    Related,
    Invalid,
    Untracked,
}

/// Where a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// On the other side, with all others of its datagram.
    Forwarded,
    /// It waits for the rest of its datagram.
    Held,
    /// In the router's own ARP.
    Consumed,
    /// Dropped for this reason.
    Dropped(&'static str),
}

/// What hosts are told about.
pub(crate) const TTL_EXCEEDED: Fate = Fate::Dropped("ttl-exceeded");

/// What happens to one frame.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) fate: Fate,
    pub(crate) state: State,
    /// Its connection, or the one an ICMP error is about.
    pub(crate) connection: Option<usize>,
    /// It begins the connection.
    pub(crate) first: bool,
    /// It is the last one of the connection.
    pub(crate) last: bool,
    /// FastTrack carries it.
    pub(crate) fast: bool,
    /// The frames of its datagram, in the order of their offsets; itself if it is whole.
    pub(crate) datagram: Vec<usize>,
    /// IP length of the datagram.
    pub(crate) len: u64,
}

/// Protocol, source, source port, destination, destination port.
pub(crate) type Tuple = (u8, u32, u16, u32, u16);

/// Packets and IP bytes.
pub(crate) type Count = (u64, u64);

/// A connection, at its end.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) tuple: Tuple,
    /// By direction: original, reply.
    pub(crate) counts: [Count; 2],
    /// Of these, by FastTrack.
    pub(crate) fasttrack: [Count; 2],
    /// Which directions FastTrack may carry by now.
    ready: [bool; 2],
    pub(crate) marked: bool,
    pub(crate) seen_reply: bool,
    /// When its last packet came.
    pub(crate) last_ns: u64,
    last_row: usize,
    began_ns: u64,
    /// FINs, and whether an ACK came after the last one: as far as the regular path saw them.
    n_fins: u32,
    acked: bool,
    reset: bool,
    /// The answer to the SYN was a reset: there is nothing to keep.
    pub(crate) refused: bool,
    handshake: u32,
}

const FIN: u16 = 1;
const SYN: u16 = 2;
const RST: u16 = 4;
const ACK: u16 = 16;

const SECOND: u64 = 1_000_000_000;
/// How late a connection may end (`firewall/connection/timers.rs` promises 256 ms).
const SLACK: u64 = SECOND / 2;

impl Connection {
    /// `tcp-state` (`routeros/D-conntrack.md`, D.3).
    pub(crate) fn tcp_state(&self) -> &'static str {
        match (self.reset, self.n_fins, self.acked) {
            (true, ..) => "close",
            (false, 0, _) => {
                ["none", "syn-sent", "syn-received", "established"][self.handshake.min(3) as usize]
            }
            (false, 1, false) => "fin-wait",
            (false, 1, true) => "close-wait",
            (false, _, false) => "last-ack",
            (false, _, true) => "time-wait",
        }
    }

    /// How long it lives without packets.
    pub(crate) fn timeout_ns(&self) -> u64 {
        match self.tuple.0 {
            6 if self.refused => 0,
            6 => match self.tcp_state() {
                "established" => 300 * SECOND, // a day, or five minutes while data is not acknowledged
                "syn-sent" | "syn-received" => 5 * SECOND,
                _ => 10 * SECOND,
            },
            17 if self.seen_reply && self.counts[0].0 + self.counts[1].0 > 2 => 180 * SECOND,
            17 | 1 => 10 * SECOND,
            other => panic!("protocol {other} in the capture"),
        }
    }

    /// Whether a packet at this time still finds it.
    fn lives(&self, now_ns: u64) -> bool {
        let (idle, timeout) = (now_ns - self.last_ns, self.timeout_ns());
        let ambiguous = !self.refused && (timeout..timeout + SLACK).contains(&idle);
        assert!(!ambiguous, "the capture is ambiguous, make it anew: {self:?} at {now_ns}");
        idle < timeout
    }

    /// Whether a SYN begins another one with the same tuple.
    fn is_over(&self) -> bool {
        self.refused || self.reset || self.tcp_state() == "time-wait"
    }

    fn see_tcp(&mut self, flags: u16, reply: bool) {
        if flags & RST != 0 {
            self.reset = true;
            self.refused |= !self.seen_reply && reply;
        } else if flags & FIN != 0 {
            (self.n_fins, self.acked) = (self.n_fins + 1, false);
        } else if flags & SYN != 0 {
            self.handshake = self.handshake.max(if reply { 2 } else { 1 });
        } else if flags & ACK != 0 {
            self.acked = true;
            if self.handshake == 2 && !reply {
                self.handshake = 3;
            }
        }
    }
}

/// Everything worked out.
pub(crate) struct Model {
    /// By row.
    pub(crate) steps: Vec<Step>,
    pub(crate) connections: Vec<Connection>,
}

/// Fragments of datagrams that are not complete: (source, destination, protocol, id).
type Pieces = HashMap<(u32, u32, u8, u16), Vec<usize>>;

/// Works the capture out.
pub(crate) fn work_out(rows: &[Row], policy: Policy) -> Model {
    let mut model = Model { steps: Vec::new(), connections: Vec::new() };
    let mut by_tuple = HashMap::new();
    let mut pieces = Pieces::new();
    for (n, row) in rows.iter().enumerate() {
        let step = Step {
            fate: Fate::Forwarded,
            state: State::Untracked,
            connection: None,
            first: false,
            last: false,
            fast: false,
            datagram: vec![n],
            len: row.ip.map_or(0, |ip| ip.len.into()),
        };
        let step = match (&row.ip, row.ether_type.as_str()) {
            (Some(ip), _) => model.packet(rows, n, *ip, policy, step, &mut by_tuple, &mut pieces),
            (None, "0x0806") => Step { fate: Fate::Consumed, ..step },
            (None, "0x86dd") => Step { fate: Fate::Dropped("ipv6-off"), ..step },
            (None, _) => Step { fate: Fate::Dropped("unknown-protocol"), ..step },
        };
        // Those that were held learn what they were pieces of.
        for &piece in step.datagram.iter().filter(|&&piece| piece != n) {
            let held = &mut model.steps[piece];
            (held.datagram, held.connection) = (step.datagram.clone(), step.connection);
        }
        model.steps.push(step);
    }
    assert!(pieces.is_empty(), "datagrams that are not complete: {pieces:?}");
    for connection in &model.connections {
        model.steps[connection.last_row].last = true;
    }
    model
}

impl Model {
    /// Whether a connection has seen its last packet when this row comes.
    pub(crate) fn is_over(&self, connection: usize, row: usize) -> bool {
        self.connections[connection].last_row < row
    }

    #[expect(clippy::too_many_arguments)]
    fn packet(
        &mut self,
        rows: &[Row],
        n: usize,
        ip: Ip,
        policy: Policy,
        mut step: Step,
        by_tuple: &mut HashMap<Tuple, usize>,
        pieces: &mut Pieces,
    ) -> Step {
        let row = &rows[n];
        let mut first = ip;
        if policy.tracking {
            if ip.more_fragments || ip.fragment_offset != 0 {
                let key = (ip.src, ip.dst, ip.protocol, ip.id);
                let held = pieces.entry(key).or_default();
                held.push(n);
                let Some(whole) = whole(rows, held) else {
                    return Step { fate: Fate::Held, ..step };
                };
                pieces.remove(&key);
                first = rows[whole[0]].ip.unwrap();
                let payload: u16 = whole.iter().map(|&n| rows[n].ip.unwrap().len - 20).sum();
                (step.len, step.datagram) = (u64::from(payload) + 20, whole);
            }
            self.track(row, n, &first, &mut step, by_tuple);
        }
        let may_confirm = if ip.ttl <= 1 {
            step.fate = TTL_EXCEEDED;
            false
        } else {
            let uninvited = step.state == State::New && !row.from_client;
            let invalid = step.state == State::Invalid;
            if (uninvited && policy.drop_uninvited) || (invalid && policy.drop_invalid) {
                step.fate = Fate::Dropped("filter-drop");
            }
            step.fate == Fate::Forwarded
        };
        if step.first && !may_confirm {
            // What the router did not let out was not the beginning of anything.
            let connection = self.connections.pop().unwrap();
            by_tuple.remove(&connection.tuple);
            (step.first, step.connection) = (false, None);
        }
        if policy.fasttrack && may_confirm {
            self.fasttrack(&first, &step);
        }
        step
    }

    /// Finds out what a datagram belongs to, and counts it there.
    fn track(
        &mut self,
        row: &Row,
        n: usize,
        ip: &Ip,
        step: &mut Step,
        by_tuple: &mut HashMap<Tuple, usize>,
    ) {
        let now = row.time_ns;
        if matches!(ip.icmp_type, Some(3 | 11)) {
            // Here it is always the quoted packet's destination that complains.
            let (protocol, ports) = match (ip.udp, ip.tcp) {
                (Some(ports), _) => (17, ports),
                (_, Some(ports)) => (6, ports),
                _ => panic!("an ICMP error about neither TCP nor UDP"),
            };
            let quoted = (protocol, ip.dst, ports.0, ip.src, ports.1);
            let about = [quoted, reversed(quoted)].iter().find_map(|t| by_tuple.get(t).copied());
            let about = about.filter(|&at| self.connections[at].lives(now));
            step.connection = about;
            step.state = if about.is_some() { State::Related } else { State::Invalid };
            return;
        }
        let (src_port, dst_port) = match ip.protocol {
            6 => ip.tcp.unwrap(),
            17 => ip.udp.unwrap(),
            _ => (ip.icmp_id.unwrap(), ip.icmp_id.unwrap()),
        };
        let tuple = (ip.protocol, ip.src, src_port, ip.dst, dst_port);
        let opens = ip.protocol == 6 && ip.tcp_flags & (SYN | ACK | FIN | RST) == SYN;
        let known = by_tuple.get(&tuple).map(|&at| (at, 0));
        let known = known.or_else(|| by_tuple.get(&reversed(tuple)).map(|&at| (at, 1)));
        let known = known.filter(|&(at, _)| {
            let connection = &self.connections[at];
            connection.lives(now) && !(opens && connection.is_over())
        });
        let (at, direction) = match known {
            Some(known) => known,
            None => {
                let begins = match ip.protocol {
                    6 => opens || ip.tcp_flags & (SYN | ACK | FIN | RST) == ACK,
                    17 => true,
                    _ => ip.icmp_type == Some(8),
                };
                if !begins {
                    step.state = State::Invalid;
                    return;
                }
                by_tuple.insert(tuple, self.connections.len());
                by_tuple.remove(&reversed(tuple));
                self.connections.push(Connection {
                    tuple,
                    counts: Default::default(),
                    fasttrack: Default::default(),
                    ready: [false; 2],
                    marked: false,
                    seen_reply: false,
                    last_ns: now,
                    last_row: n,
                    began_ns: now,
                    n_fins: 0,
                    acked: false,
                    reset: false,
                    refused: false,
                    handshake: 0,
                });
                step.first = true;
                (self.connections.len() - 1, 0)
            }
        };
        let connection = &mut self.connections[at];
        let new = direction == 0 && !connection.seen_reply;
        step.state = if new { State::New } else { State::Established };
        step.connection = Some(at);
        // Only a whole packet that ends nothing may go by FastTrack.
        let plain = step.datagram.len() == 1 && ip.tcp_flags & (SYN | FIN | RST) == 0;
        step.fast = plain && connection.ready[direction];
        if step.fast {
            // The sweep shows a connection to the regular path again when a timeout has passed.
            assert!(now - connection.began_ns < 4 * SECOND, "too long for this model: {tuple:?}");
            add(&mut connection.fasttrack[direction], step.len);
        } else if ip.protocol == 6 {
            connection.see_tcp(ip.tcp_flags, direction == 1);
        }
        connection.seen_reply |= direction == 1;
        add(&mut connection.counts[direction], step.len);
        (connection.last_ns, connection.last_row) = (now, n);
    }

    /// The rule marks an established connection; each direction needs one regular packet more.
    fn fasttrack(&mut self, ip: &Ip, step: &Step) {
        let (Some(at), State::Established) = (step.connection, step.state) else { return };
        let connection = &mut self.connections[at];
        if ip.protocol == 1 || step.fast {
            return;
        }
        connection.ready[usize::from(ip.src != connection.tuple.1)] = true;
        connection.marked = true;
    }
}

/// The pieces in order, if none is missing.
fn whole(rows: &[Row], pieces: &[usize]) -> Option<Vec<usize>> {
    let mut pieces = pieces.to_vec();
    pieces.sort_by_key(|&n| rows[n].ip.unwrap().fragment_offset);
    let mut end = 0;
    for &n in &pieces {
        let ip = rows[n].ip.unwrap();
        if ip.fragment_offset != end {
            return None;
        }
        end += ip.len - 20;
    }
    let last = rows[*pieces.last()?].ip.unwrap();
    (!last.more_fragments).then_some(pieces)
}

fn reversed((protocol, src, src_port, dst, dst_port): Tuple) -> Tuple {
    (protocol, dst, dst_port, src, src_port)
}

fn add(count: &mut Count, bytes: u64) {
    *count = (count.0 + 1, count.1 + bytes);
}
