//! Story of a packet, told while somebody listens: the boxes it enters, and what they find.
//!
//! ```text
//! flow.rs:  at(Step) ─── tell(Tracked) ─── tell(Rules) ─── tell(Routed) ─── tell(Sent) …
//!              └────────────┴────────────────┴── Router::story ──┴─────────────┘
//! ```
//!
//! Only the slow path tells. Nobody listens to a router that forwards; listeners are tests, and
//! `/tool explain` on a trial router ([`tool::explain`](crate::tool)). Telling changes nothing
//! else, and costs one branch where nobody listens.

use crate::discard::Discard;
use crate::fast::Left;
use crate::firewall::connection::FlowId;
use crate::firewall::syntax::protocol_name;
use crate::firewall::told::Met;
use crate::flow::{Hop, Unkept};
use crate::interface::InterfaceId;
use crate::ip::family::Family;
use crate::ip::rule::Decision as Decided;
use crate::packet::ConnectionState;
use crate::queue::leaf::{Decision, QueueLeafId};
use crate::router::Router;
use crate::step::Step;
use std::net::IpAddr;
use wire::FiveTuple;
use wire::layers::{ETHERTYPE_IPV6, protocol};
use wire::mpls::Label;

/// A table of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    BridgeFilter,
    BridgeNat,
    Raw,
    Mangle,
    Filter,
    Nat,
    /// Those of IPv6.
    Raw6,
    Mangle6,
    Filter6,
}

/// What of a header is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Dscp,
    Ttl,
    Mss,
}

/// What the router makes beside the packet it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    ArpRequest {
        interface: InterfaceId,
        address: u32,
    },
    ArpReply,
    IcmpError {
        kind: u8,
        code: u8,
    },
    /// An error of ICMPv6.
    Icmp6Error {
        kind: u8,
        code: u8,
    },
    /// A question for a neighbour of IPv6.
    Solicitation {
        interface: InterfaceId,
        address: u128,
    },
    Advertisement,
    TcpReset,
    TcpHold,
    Dhcp,
    Dns,
    /// A copy of the packet, for whoever watches.
    Copy,
}

/// A neighbour of either family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub(crate) interface: InterfaceId,
    pub(crate) address: IpAddr,
}

impl<A: Family> From<Hop<A>> for Near {
    fn from(hop: Hop<A>) -> Near {
        Near { interface: hop.interface, address: hop.address.ip() }
    }
}

/// A connection's flow, of either family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) id: FlowId,
    pub(crate) of_ipv6: bool,
}

impl Flow {
    /// A flow of this family.
    pub(crate) fn of<F: Family>(id: FlowId) -> Flow {
        Flow { id, of_ipv6: F::ETHERTYPE == ETHERTYPE_IPV6 }
    }
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// It came to a box.
    At(Step),
    /// A bridge looked up where the frame goes: these ports, and the router itself.
    Bridged {
        ports: Vec<InterfaceId>,
        local: bool,
    },
    /// Its tag came off: it is this VLAN's.
    Vlan(InterfaceId),
    /// It came out of this tunnel's packet.
    Decapsulated(InterfaceId),
    /// From here on it is this tunnel's packet, between these addresses.
    Encapsulated {
        tunnel: InterfaceId,
        src: u32,
        dst: u32,
    },
    /// This label is put in front of it.
    Pushed(Label),
    /// This label came off.
    Popped(Label),
    /// Its label leads on: to this next hop, with another one or none.
    Switched {
        from: Label,
        to: Option<Label>,
        hop: Near,
    },
    /// A policy has it encrypted.
    Encrypts,
    /// From here on it is ESP with this SPI, between these addresses.
    Encrypted {
        spi: u32,
        own: u32,
        other: u32,
    },
    /// It came out of ESP with this SPI.
    Decrypted {
        spi: u32,
    },
    /// The copy that is spoken of from now on leaves by this port of the bridge.
    To(InterfaceId),
    /// Rules of a built-in chain, given by its name, were walked.
    Rules {
        table: Table,
        chain: &'static str,
        met: Vec<Met>,
    },
    /// What connection tracking found.
    Tracked {
        state: ConnectionState,
        flow: Option<Flow>,
        related: Option<Flow>,
    },
    /// A rule said that it is not to be tracked.
    Untracked,
    /// A rule has edited it: from this, to this.
    Edited(Edit, u32, u32),
    /// A FastTracked packet leaves the regular path.
    Fasttracked {
        flow: Flow,
    },
    /// The rest of a datagram is waited for.
    Collected,
    /// The packet was given another tuple.
    Translated {
        from: String,
        to: String,
    },
    /// The route was chosen.
    Routed {
        dst: IpAddr,
        decision: Decided,
    },
    /// The next hop was.
    NextHop(Near),
    /// Taken from the TTL, which was this.
    Ttl(u8),
    /// The filter said that the connection is to be FastTracked.
    MarkedFasttrack,
    /// A connection begins here.
    Entered(Flow),
    /// A simple queue has the packet.
    Queued {
        leaf: QueueLeafId,
        decision: Decision,
    },
    /// It has waited in a queue: its turn has come.
    Resumed,
    /// It leaves in pieces of at most this many bytes.
    Split {
        mtu: usize,
    },
    /// The neighbour is known.
    Neighbour(Near),
    /// It waits for the neighbour's answer; whether anybody was asked before.
    Waits {
        hop: Near,
        asked: bool,
    },
    /// The router itself takes it.
    Local,
    /// The router answers a ping: from here on the packet is the answer.
    Turned,
    /// From here to its [`Event::Done`] it is about what the router makes itself.
    Makes(Made),
    Done,
    /// The batch loop left it to the slow path.
    Left(Left),
    /// It leaves by a port.
    Sent(InterfaceId),
    /// It will end, for a reason; first its sender is told.
    Refuses(Discard),
    /// It ends, for a reason.
    Discarded(Discard),
    /// Whether what it went through is kept as a recipe for the next packets of its flow.
    Kept(Result<(), Unkept>),
}

impl Router {
    /// Marks that a packet has entered a box.
    #[inline]
    pub(crate) fn at(&mut self, step: Step) {
        self.tools.profiler.at(step);
        if let Some(story) = &mut self.tools.story {
            story.push(Event::At(step));
        }
    }

    /// Tells what happened, if somebody listens.
    #[inline]
    pub(crate) fn tell(&mut self, event: impl FnOnce() -> Event) {
        if let Some(story) = &mut self.tools.story {
            story.push(event());
        }
    }

    /// Whether anybody listens: to be asked before something is found out only to be told.
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        self.tools.story.is_some()
    }

    /// Tells of the rules of a chain that were just walked.
    #[inline]
    pub(crate) fn tell_rules(&mut self, table: Table, chain: &'static str) {
        if let Some(story) = &mut self.tools.story {
            let met = self.rules.told.replace(Vec::new()).unwrap_or_default();
            story.push(Event::Rules { table, chain, met });
        }
    }

    /// Listens from now on; returns what was told so far.
    pub(crate) fn listen(&mut self) -> Vec<Event> {
        self.rules.told = Some(Vec::new());
        self.tools.story.replace(Vec::new()).unwrap_or_default()
    }

    /// Notes the boxes that slow-path packets pass from now on; returns those noted so far.
    pub fn watch_steps(&mut self) -> Vec<Step> {
        let step = |event| match event {
            Event::At(step) => Some(step),
            _ => None,
        };
        self.listen().into_iter().filter_map(step).collect()
    }
}

/// `udp 10.0.1.1:1000->10.0.2.1:2000`.
pub(crate) fn tuple<A: Family>(tuple: &FiveTuple<A>) -> String {
    let FiveTuple { src, dst, src_port, dst_port, protocol } = *tuple;
    let has_ports = matches!(protocol, protocol::TCP | protocol::UDP);
    let [src, dst] = [(src, src_port), (dst, dst_port)]
        .map(|(address, port)| address.written(has_ports.then_some(port)));
    format!("{} {src}->{dst}", protocol_name(protocol))
}
