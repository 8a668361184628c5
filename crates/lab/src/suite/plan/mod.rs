//! A plan: what is measured, of what, with which traffic, by which procedures.
//!
//! ```text
//!  plans/*.toml ─► text (every value with its place) ─► checked ─► Plan
//!                                                         └ impossible: line, column, why
//! ```
//!
//! Nothing is sent before the whole plan is checked: rates above the wire, frames no Ethernet has,
//! searches whose bounds cross, addresses that belong to other people (RFC 6815), streams that cannot
//! be built.
//!
//! Never opens a file: the caller does, captures ([`read_with`]) and configurations.

// Values that TOML has no words for: times, rates, their places.
mod value;
// Who is on the ports.
mod end;
// Where frames go.
mod traffic;
// What it is run with, one after the other.
mod modifier;
// What is run.
mod procedure;
// Of that, what speaks TCP.
mod tcp;
// Streams of its own.
pub mod stream;
// What a throughput may be asked for, in the plan's own words.
mod goal;
// How long frames are: lengths and mixes.
mod frame_sizes;
// Captures that it replays.
pub mod replay;
// What makes it short.
mod scaling;
// What virtual time is like.
mod simulated;
// From the file's tables to the plan.
mod read;
// And to its procedures.
mod reader;
#[cfg(test)]
mod tests;

pub(super) use end::TCP_HOSTS;
pub use end::{End, Said, moved};
pub use modifier::Modifier;
pub use procedure::{Criterion, Need, Offer, Procedure};
pub use read::{Allowed, read, read_with};
pub use replay::Replay;
pub use scaling::Scaling;
pub use simulated::Simulated;
pub use stream::Spec;
pub use tcp::Tcp;
pub(super) use tcp::mss;
pub use traffic::{Distribution, Mesh, Traffic};
pub use value::At;

use crate::net::Net;
use crate::tester::Subnet;
use measure::Family;
use measure::FrameSize;
use std::fmt;
use std::net::Ipv4Addr;
use wire::{BitRate, FrameLen};

/// A plan that can be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it is called in results.
    pub name: String,
    /// The device's configuration: a file beside the plan; none for a device as it comes.
    pub configuration: Option<String>,
    /// How many ports the device has.
    pub ports: usize,
    /// Configurations and traffic the suite is run with, one after the other.
    pub modifiers: Vec<Modifier>,
    /// L1 rate of every wire: what 100 % is.
    pub link: BitRate,
    /// Frame lengths, ascending, and then mixes of them.
    pub sizes: Vec<FrameSize>,
    /// Where frames go.
    pub traffic: Traffic,
    /// Whether frames carry a UDP checksum: by RFC 768 they need none over IPv4, and it costs the tester
    /// a few nanoseconds each.
    pub udp_checksum: bool,
    /// Who is on the first and on the second port.
    pub ends: [End; 2],
    /// Captures that are replayed together with its streams.
    pub replays: Vec<Replay>,
    /// What is run, in this order.
    pub procedures: Vec<Procedure>,
    /// Where random choices start from.
    pub seed: u64,
    /// What makes it short.
    pub quick: Scaling,
    /// What virtual time is like.
    pub simulated: Simulated,
}

/// Why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlan {
    /// Where, if it is at a place.
    pub at: Option<At>,
    /// Why, and what could be.
    pub why: String,
}

impl fmt::Display for BadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(At { line, column }) => write!(f, "{line}:{column}: {}", self.why),
            None => write!(f, " {}", self.why),
        }
    }
}

impl std::error::Error for BadPlan {}

impl Plan {
    /// The streams of its own.
    pub fn streams(&self) -> &[Spec] {
        let streams = self.procedures.iter().find_map(|procedure| match procedure {
            Procedure::Streams(streams) => Some(streams.as_slice()),
            _ => None,
        });
        streams.unwrap_or_default()
    }

    /// The networks on the ports; none on bridges.
    pub fn ends_on_ports(&self) -> &[End] {
        match self.traffic {
            Traffic::Hosts { .. } => &[],
            _ => &self.ends,
        }
    }

    /// Who is on the ports; nobody on bridges.
    pub fn subnets(&self) -> Vec<Subnet> {
        let ends = self.ends_on_ports().iter().enumerate();
        ends.map(|(port, end)| end.subnet(port)).collect()
    }

    /// The longest frame that is sent: of its sizes, its streams and what it replays.
    pub fn longest(&self) -> FrameLen {
        let sizes = self.sizes.iter().map(FrameSize::longest);
        let streams = self.streams().iter().map(Spec::longest);
        let replays = self.replays.iter().map(Replay::longest);
        sizes.chain(streams).chain(replays).max().unwrap_or(FrameLen::MAX)
    }

    /// The configuration of a device as it comes: what the traffic takes, and nothing else.
    pub fn script(&self) -> String {
        if let Traffic::Hosts { .. } = self.traffic {
            let port = |n| format!("add bridge=bridge1 interface=ether{n}\n");
            let ports: String = (1..=self.ports).map(port).collect();
            let bridge = "/interface bridge\nadd name=bridge1 protocol-mode=none\n";
            return format!("{bridge}/interface bridge port\n{ports}");
        }
        let mut script = "/ip address\n".to_string();
        for (n, end) in (1..).zip(self.ends) {
            let (address, length) = (Ipv4Addr::from(end.device), end.network.len());
            script += &format!("add address={address}/{length} interface=ether{n}\n");
        }
        if self.traffic.ipv6() > 0 {
            script += "/ipv6 address\n";
            for (n, gateway) in (1..).zip(Net::of(Family::Ipv6).gateways) {
                script += &format!("add address={gateway}/64 interface=ether{n} advertise=no\n");
            }
        }
        if let Traffic::Networks { .. } = self.traffic {
            script += "/ip route\n";
            // RFC 2544 C.2.2: they are behind the routers.
            for (end, n) in self.ends.iter().flat_map(|end| (65..=254).map(move |n| (end, n))) {
                let network = Ipv4Addr::from(end.network.bits() & 0xffff_0000 | n << 8);
                let router = Ipv4Addr::from(end.router);
                script += &format!("add dst-address={network}/24 gateway={router}\n");
            }
        }
        script
    }

    /// What its frames are, in a line, for results.
    pub fn described(&self) -> String {
        let sums = if self.udp_checksum { ", with UDP checksums" } else { "" };
        format!("{}{sums}", self.traffic.describe())
    }

    /// Whether nothing but TCP is run.
    pub fn is_all_tcp(&self) -> bool {
        self.procedures.iter().all(|procedure| matches!(procedure, Procedure::Tcp(_)))
    }
}
