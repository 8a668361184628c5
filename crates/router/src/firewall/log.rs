//! The log: lines of rules (`log=yes` and `action=log`), and what scripts and tools say. Where a line
//! goes, `/system logging` says: here are the buffers of memory, and what waits to be sent.
//!
//! ```text
//! PREFIX forward: in:ether1 out:ether2, connection-state:new src-mac 02:00:00:00:00:01,
//!        proto TCP (SYN), 10.0.0.1:1234->10.0.0.2:80, len 60        (one line)
//! ```
//!
//! A rule's line is kept as numbers and written as text when it is read, so that logging allocates
//! nothing. Buffers are bounded: a new line takes the place of the oldest, and how many were lost
//! is counted; so is what waits.
//!
//! **Missing**: the `NAT (a:p->c:q)->b:p` part of translated connections.

use crate::interface::InterfaceId;
use crate::packet::{ConnectionState, Ends, View};
use crate::system::logging::{Action, Logging, Target};
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::ipv6::header::ICMPV6;
use wire::layers::protocol;
use wire::{FiveTuple, MacAddr, Moment};

/// What the lines of one rule begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogHead(Arc<str>);

impl LogHead {
    pub(crate) fn new(prefix: &str, chain: &str) -> LogHead {
        let blank = if prefix.is_empty() { "" } else { " " };
        LogHead(format!("{prefix}{blank}{chain}:").into())
    }
}

/// One line.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// When.
    pub at: Moment,
    /// From 0, in the order in which they came.
    pub number: u64,
    /// The buffer it is in.
    buffer: Arc<str>,
    prefix: Arc<str>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Packet(Logged),
    Said { topics: Arc<str>, message: Arc<str> },
}

/// One packet that a rule logged.
#[derive(Clone, Debug)]
struct Logged {
    head: LogHead,
    in_interface: InterfaceId,
    out_interface: InterfaceId,
    state: ConnectionState,
    srcnat: bool,
    dstnat: bool,
    src_mac: MacAddr,
    tuple: FiveTuple,
    ends: Ends,
    /// The packet begins with a transport header.
    has_transport: bool,
    /// TCP: the flags. ICMP: type and code.
    detail: [u8; 2],
    len: u16,
}

/// The last lines, by buffer, and those that wait to be sent.
#[derive(Debug)]
pub struct Log {
    logging: Arc<Logging>,
    lines: VecDeque<LogLine>,
    next: u64,
    lost: u64,
    /// For syslog servers.
    remote: VecDeque<(LogLine, Arc<Action>)>,
    /// For whoever runs the router.
    outside: VecDeque<(LogLine, Arc<Action>)>,
    /// What waits is being sent: no server is told of that.
    is_sending: bool,
}

/// Lines that wait to be sent.
const WAITING: usize = 1024;

impl Log {
    /// Room for `capacity` lines, of whatever topics.
    pub fn new(capacity: usize) -> Log {
        Log::with(Logging::all(capacity).into())
    }

    /// Lines that go where these rules say.
    pub(crate) fn with(logging: Arc<Logging>) -> Log {
        let lines = VecDeque::with_capacity(logging.capacity);
        let (remote, outside) = (VecDeque::new(), VecDeque::new());
        Log { logging, lines, next: 0, lost: 0, remote, outside, is_sending: false }
    }

    /// Other rules: lines stay in buffers that are still there.
    pub(crate) fn configure(&mut self, logging: &Arc<Logging>) {
        if Arc::ptr_eq(&self.logging, logging) {
            return;
        }
        self.logging = logging.clone();
        let actions = || logging.rules.iter().map(|rule| &rule.action);
        let is_there = |line: &LogLine| actions().any(|action| action.name == line.buffer);
        self.lines.retain(is_there);
        for action in actions() {
            while let Target::Memory { lines, .. } = action.target
                && self.in_buffer(&action.name) > lines
            {
                self.drop_oldest(&action.name);
            }
        }
        self.lines.reserve(logging.capacity.saturating_sub(self.lines.len()));
        let sends = |to: fn(&Target) -> bool| actions().any(|action| to(&action.target));
        if sends(|target| matches!(target, Target::Remote(_))) {
            self.remote.reserve(WAITING);
        }
        if sends(|target| matches!(target, Target::Outside(_))) {
            self.outside.reserve(WAITING);
        }
    }

    fn in_buffer(&self, buffer: &str) -> usize {
        self.lines.iter().filter(|line| *line.buffer == *buffer).count()
    }

    fn drop_oldest(&mut self, buffer: &str) {
        if let Some(at) = self.lines.iter().position(|line| *line.buffer == *buffer) {
            self.lines.remove(at);
        }
    }

    pub(crate) fn write(&mut self, head: &LogHead, view: &View, now: Moment) {
        let transport = view.transport();
        let detail = match view.layers.protocol {
            protocol::TCP => [transport.get(13).copied().unwrap_or(0), 0],
            protocol::ICMP | ICMPV6 => transport.first_chunk().copied().unwrap_or_default(),
            _ => [0; 2],
        };
        let packet = Logged {
            head: head.clone(),
            in_interface: view.in_interface,
            out_interface: view.out_interface,
            state: view.connection_state,
            srcnat: view.srcnat,
            dstnat: view.dstnat,
            src_mac: view.src_mac(),
            tuple: view.layers.tuple,
            ends: view.ends,
            has_transport: !transport.is_empty(),
            detail,
            len: view.ip_len,
        };
        self.push(now, &What::Packet(packet));
    }

    /// Adds what a script or a tool says; `topics` are words with commas between them.
    pub fn say(&mut self, now: Moment, topics: &str, message: &str) {
        self.push(now, &What::Said { topics: topics.into(), message: message.into() });
    }

    fn push(&mut self, at: Moment, what: &What) {
        let logging = self.logging.clone();
        for rule in logging.of(what.topics()) {
            let (number, action) = (self.next, &rule.action);
            let (buffer, prefix) = (action.name.clone(), rule.prefix.clone());
            let line = LogLine { at, number, buffer, prefix, what: what.clone() };
            let waiting = match &action.target {
                Target::Memory { lines, stop_on_full } => {
                    self.keep(line, *lines, *stop_on_full);
                    continue;
                }
                Target::Remote(_) if self.is_sending => continue,
                Target::Remote(_) => &mut self.remote,
                Target::Outside(_) => &mut self.outside,
            };
            match waiting.len() < WAITING {
                true => waiting.push_back((line, action.clone())),
                false => self.lost += 1,
            }
        }
    }

    fn keep(&mut self, line: LogLine, most: usize, stop_on_full: bool) {
        self.next += 1;
        // One buffer alone is full when there is no room for more.
        let full = self.lines.len() >= most && self.in_buffer(&line.buffer) >= most;
        if full {
            self.lost += 1;
            if stop_on_full || most == 0 {
                return;
            }
            self.drop_oldest(&line.buffer);
        }
        self.lines.push_back(line);
    }

    /// The next line for a syslog server.
    pub(crate) fn next_remote(&mut self) -> Option<(LogLine, Arc<Action>)> {
        self.remote.pop_front()
    }

    /// Whether a syslog server is to be told something.
    pub(crate) fn has_remote(&self) -> bool {
        !self.remote.is_empty()
    }

    /// The next line for whoever runs the router.
    pub(crate) fn next_outside(&mut self) -> Option<(LogLine, Arc<Action>)> {
        self.outside.pop_front()
    }

    /// Whether whoever runs the router is to put a line somewhere.
    pub(crate) fn has_outside(&self) -> bool {
        !self.outside.is_empty()
    }

    /// What waits is being sent, or not any more.
    pub(crate) fn is_sending(&mut self, is_sending: bool) {
        self.is_sending = is_sending;
    }

    /// The lines from a number on.
    pub fn from(&self, number: u64) -> impl Iterator<Item = &LogLine> {
        let first = self.lines.front().map_or(0, |line| line.number);
        let skip = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        self.lines.iter().skip(skip)
    }

    /// The oldest line, which is then no longer in the log.
    pub fn take(&mut self) -> Option<LogLine> {
        self.lines.pop_front()
    }

    /// The lines, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &LogLine> {
        self.lines.iter()
    }

    /// How many lines were lost because nobody took them in time.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl LogLine {
    /// Who says it, and how important it is: `firewall,info`.
    pub fn topics(&self) -> &str {
        self.what.topics()
    }

    /// The buffer it is in.
    pub(crate) fn buffer(&self) -> &str {
        &self.buffer
    }

    /// The line as RouterOS writes it. `name` gives an interface's name.
    pub fn display<'a>(
        &'a self,
        name: impl Fn(InterfaceId) -> Option<&'a str> + 'a,
    ) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            if !self.prefix.is_empty() {
                write!(f, "{}: ", self.prefix)?;
            }
            match &self.what {
                What::Packet(packet) => packet.write(f, &name),
                What::Said { message, .. } => f.write_str(message),
            }
        })
    }
}

impl What {
    fn topics(&self) -> &str {
        match self {
            What::Packet(_) => "firewall,info",
            What::Said { topics, .. } => topics,
        }
    }
}

impl Logged {
    fn write<'a>(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &dyn Fn(InterfaceId) -> Option<&'a str>,
    ) -> fmt::Result {
        let interface = |id: InterfaceId| match name(id).filter(|_| id.is_some()) {
            Some(name) => name.to_string(),
            None => format!("(unknown {})", id.0),
        };
        let LogHead(head) = &self.head;
        let (from, to) = (interface(self.in_interface), interface(self.out_interface));
        let state = ConnectionState::WORDS[self.state as usize];
        write!(f, "{head} in:{from} out:{to}, connection-state:{state}")?;
        if self.srcnat {
            f.write_str(",snat")?;
        }
        if self.dstnat {
            f.write_str(",dnat")?;
        }
        if self.in_interface.is_some() {
            write!(f, " src-mac {},", self.src_mac.to_string().to_lowercase())?;
        }
        write!(f, " proto {}", self.protocol())?;
        let FiveTuple { src, dst, src_port, dst_port, protocol } = self.tuple;
        let v6 = self.ends != Ends::default();
        let (src, dst): (IpAddr, IpAddr) = match v6 {
            true => (Ipv6Addr::from(self.ends.src).into(), Ipv6Addr::from(self.ends.dst).into()),
            false => (Ipv4Addr::from(src).into(), Ipv4Addr::from(dst).into()),
        };
        match protocol {
            protocol::TCP | protocol::UDP if self.has_transport && v6 => {
                write!(f, ", [{src}]:{src_port}->[{dst}]:{dst_port}")?;
            }
            protocol::TCP | protocol::UDP if self.has_transport => {
                write!(f, ", {src}:{src_port}->{dst}:{dst_port}")?;
            }
            _ => write!(f, ", {src}->{dst}")?,
        }
        write!(f, ", len {}", self.len)
    }

    fn protocol(&self) -> String {
        const FLAGS: [(u8, &str); 6] = [
            (0x02, "SYN"),
            (0x10, "ACK"),
            (0x01, "FIN"),
            (0x04, "RST"),
            (0x08, "PSH"),
            (0x20, "URG"),
        ];
        let [first, second] = self.detail;
        match self.tuple.protocol {
            protocol::TCP if self.has_transport => {
                let set = FLAGS.iter().filter(|(bit, _)| first & bit != 0);
                let names: Vec<&str> = set.map(|&(_, name)| name).collect();
                format!("TCP ({})", names.join(","))
            }
            protocol::TCP => "TCP".to_string(),
            protocol::ICMP if self.has_transport => format!("ICMP (type {first}, code {second})"),
            ICMPV6 if self.has_transport => format!("ICMPv6 (type {first}, code {second})"),
            protocol::ICMP => "ICMP".to_string(),
            protocol::UDP => "UDP".to_string(),
            other => other.to_string(),
        }
    }
}
