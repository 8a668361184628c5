//! The log: lines of rules (`log=yes` and `action=log`), and what scripts and tools say.
//!
//! ```text
//! PREFIX forward: in:ether1 out:ether2, connection-state:new src-mac 02:00:00:00:00:01,
//!        proto TCP (SYN), 10.0.0.1:1234->10.0.0.2:80, len 60        (one line)
//! ```
//!
//! A rule's line is kept as numbers and written as text when it is read, so that logging allocates
//! nothing. The log is bounded: a new line takes the place of the oldest, and how many were lost
//! is counted.
//!
//! **Missing**: the `NAT (a:p->c:q)->b:p` part of translated connections.

use crate::interface::InterfaceId;
use crate::packet::{ConnectionState, Ends, View};
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
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Packet(Logged),
    Said { topics: Box<str>, message: Box<str> },
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

/// The last lines.
#[derive(Debug)]
pub struct Log {
    lines: VecDeque<LogLine>,
    capacity: usize,
    next: u64,
    lost: u64,
}

impl Log {
    /// Room for `capacity` lines.
    pub fn new(capacity: usize) -> Log {
        Log { lines: VecDeque::with_capacity(capacity), capacity, next: 0, lost: 0 }
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
        self.push(now, What::Packet(packet));
    }

    /// Adds what a script or a tool says; `topics` are words with commas between them.
    pub fn say(&mut self, now: Moment, topics: &str, message: &str) {
        self.push(now, What::Said { topics: topics.into(), message: message.into() });
    }

    fn push(&mut self, at: Moment, what: What) {
        let number = self.next;
        self.next += 1;
        if self.lines.len() == self.capacity {
            self.lost += 1;
            if self.lines.pop_front().is_none() {
                return;
            }
        }
        self.lines.push_back(LogLine { at, number, what });
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
        match &self.what {
            What::Packet(_) => "firewall,info",
            What::Said { topics, .. } => topics,
        }
    }

    /// The line as RouterOS writes it. `name` gives an interface's name.
    pub fn display<'a>(
        &'a self,
        name: impl Fn(InterfaceId) -> Option<&'a str> + 'a,
    ) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match &self.what {
            What::Packet(packet) => packet.write(f, &name),
            What::Said { message, .. } => f.write_str(message),
        })
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
