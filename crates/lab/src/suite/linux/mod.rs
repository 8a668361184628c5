//! The Linux kernel as a suite's device: what is typed so that it does what the plan says.
//!
//! ```text
//!  plan, modifier, configuration ─► ip, sysctl, nft ─► the kernel between the veths   all kept
//!  between trials                ─► its connections deleted, its bridge's hosts flushed
//! ```
//!
//! Our hosts are its neighbours by ARP, as they are everybody's. Rules are nft's, without counters:
//! one for each of the configuration's and the modifier's. Nothing outside the rig's namespace is
//! written but one limit (`limit.rs`), which is put back.
//! Missing: **modifiers of bridges**.

// How many connections there may be.
mod limit;

use super::plan::{End, Modifier, Need, Plan, Rule, Traffic};
use crate::bench::BenchError;
use crate::bench::commands::{Commands, ask};
use crate::bench::firewall::Firewall;
use crate::bench::linux::{bridge, route};
use crate::bench::veth::{DEVICE_ENDS, Rig};
use crate::clock::Clock;
use crate::linux::netlink::Connections;
use limit::Limit;
use port::linux::Unavailable;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

/// What it is called in results.
pub const DEVICE: &str = "linux kernel";

/// How long it keeps a connection by which nothing comes: longer than any trial (RFC 9693 wants none
/// to go by itself).
const KEPT: u32 = 86_400;

/// Forgets what a bridge of ours has learned.
const FLUSH: &str = "ip link set br0 type bridge fdb_flush";

/// What it cannot be told.
#[derive(Debug)]
pub enum Cannot {
    /// The plan wants something else of it.
    Unknown(String),
    /// It cannot be made to forget its connections.
    Remembers(Unavailable),
    /// A command failed.
    Failed(BenchError),
}

impl fmt::Display for Cannot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cannot::Unknown(what) => write!(f, "the kernel is not told yet how to {what}"),
            Cannot::Remembers(why) => write!(
                f,
                "this kernel cannot be made to forget its connections between trials (it takes the \
                 module nf_conntrack_netlink): {why}"
            ),
            Cannot::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Cannot {}

impl From<BenchError> for Cannot {
    fn from(error: BenchError) -> Cannot {
        Cannot::Failed(error)
    }
}

/// The kernel of a rig, set up.
pub struct Kernel {
    /// The commands that did.
    pub commands: Vec<String>,
    /// What it tracks, where trials want that forgotten.
    connections: Option<Connections>,
    bridged: bool,
    _limit: Option<Limit>,
}

impl Kernel {
    /// Sets the kernel of a rig up: as the plan says, with what its configuration (`script`) has
    /// beyond addresses, and the modifier.
    ///
    /// # Errors
    /// [`Cannot`].
    pub fn set_up(
        rig: &Rig,
        plan: &Plan,
        modifier: Modifier,
        script: &str,
    ) -> Result<Kernel, Cannot> {
        let firewall =
            Firewall::read(script, set_up_otherwise(plan.traffic)).map_err(Cannot::Unknown)?;
        let rules = modifier.rules(plan.ends);
        let mut commands = Commands::new(&rig.device);
        if let Traffic::Hosts { .. } = plan.traffic {
            let others = Firewall { bridge: vec![], ..firewall.clone() };
            if !rules.is_empty() || others != Firewall::default() {
                return Err(Cannot::Unknown("filter IP as a bridge".to_string()));
            }
            bridge(&mut commands, rig.inner())?;
            firewall.bridge_filter(&mut commands)?;
            // Whether it can be made to forget is asked before it is measured.
            commands.run(FLUSH)?;
            let (connections, _limit) = (None, None);
            return Ok(Kernel { commands: commands.ran, connections, bridged: true, _limit });
        }
        let own = plan.ends.map(|end| (Ipv4Addr::from(end.device).into(), end.network.len()));
        route(&mut commands, own)?;
        if let Traffic::Networks { .. } = plan.traffic {
            for (end, at) in plan.ends.iter().zip(DEVICE_ENDS) {
                networks(&mut commands, end, at)?;
            }
        }
        let more: Vec<String> = rules.iter().map(words).collect();
        if let Some(said) = firewall.filter(&mut commands, &more)? {
            // Without, the same packets take the longer way, and the result says so.
            let why = format!("# no flow table for fasttrack-connection in this kernel: {said}");
            commands.ran.push(why);
        }
        firewall.connections(&mut commands)?;
        firewall.classes(&mut commands)?;
        let (mut connections, mut _limit) = (None, None);
        if firewall.is_stateful() {
            _limit = track(&mut commands, rig)?;
            let needs = |need| plan.procedures.iter().any(|procedure| procedure.need() == need);
            if [Need::NewConnections, Need::EmptyTable, Need::Forgetting].into_iter().any(needs) {
                connections = Some(forgetting(rig).map_err(Cannot::Remembers)?);
            }
        }
        Ok(Kernel { commands: commands.ran, connections, bridged: false, _limit })
    }

    /// What is done between trials that want a device which knows nothing.
    pub fn between(&self) -> Option<&'static str> {
        match (self.bridged, &self.connections) {
            (true, _) => Some(FLUSH),
            (_, Some(_)) => Some("all connections deleted, by ctnetlink as `conntrack -F` does"),
            _ => None,
        }
    }

    /// Makes it forget connections and hosts.
    ///
    /// # Errors
    /// In a sentence.
    pub fn clear(&mut self, rig: &Rig) -> Result<(), String> {
        if self.bridged {
            ask(&rig.device, FLUSH).map_err(|error| error.to_string())?;
        }
        let Some(connections) = &mut self.connections else { return Ok(()) };
        connections.forget().map_err(|unavailable| unavailable.to_string())
    }

    /// Makes it forget its connections: how many they were, and how long that took.
    ///
    /// # Errors
    /// In a sentence.
    pub fn forget(&mut self) -> Result<(u64, Duration), String> {
        let Some(connections) = &mut self.connections else { return Ok((0, Duration::ZERO)) };
        let mut timed = || {
            let known = connections.filling()?.entries;
            let clock = Clock::start();
            let before = clock.now();
            connections.forget()?;
            Ok((known, clock.now().since(before)))
        };
        timed().map_err(|unavailable: Unavailable| unavailable.to_string())
    }
}

/// The networks behind a router in another's network (RFC 2544 §12).
fn networks(commands: &mut Commands<'_>, end: &End, at: &str) -> Result<(), Cannot> {
    let base = end.network.bits() & 0xffff_0000;
    let via = Ipv4Addr::from(end.router);
    for n in 65..=254 {
        let network = Ipv4Addr::from(base | n << 8);
        commands.run_as(&format!("ip route add {network}/24 via {via} dev {at}"), "")?;
        commands.ran.pop();
    }
    let [a, b] = [65, 254].map(|n| Ipv4Addr::from(base | n << 8));
    commands.ran.push(format!("ip route add {a}/24 via {via} dev {at}  (and so on to {b}/24)"));
    Ok(())
}

/// Menus of a configuration that say what the plan's traffic says, too.
fn set_up_otherwise(traffic: Traffic) -> &'static [&'static str] {
    match traffic {
        Traffic::Hosts { .. } => &["/interface bridge", "/interface bridge port"],
        Traffic::Pair { .. } => &["/ip address"],
        Traffic::Networks { .. } => &["/ip address", "/ip route"],
    }
}

/// A modifier's rule, as nft says it.
fn words(rule: &Rule) -> String {
    match rule {
        Rule::Deny(source) => format!("ip saddr {source} drop"),
        Rule::Permit(Some(all)) => format!("ip saddr {all} ip daddr {all} accept"),
        Rule::Permit(None) => "meta l4proto udp accept".to_string(),
    }
}

/// Connections are tracked, and none goes by itself or for lack of room.
fn track(commands: &mut Commands<'_>, rig: &Rig) -> Result<Option<Limit>, Cannot> {
    for kept in ["udp_timeout", "udp_timeout_stream"] {
        commands.run(&format!("sysctl -qw net.netfilter.nf_conntrack_{kept}={KEPT}"))?;
    }
    let (limit, said) = Limit::raise();
    commands.ran.push(said);
    if let Ok(buckets) = ask(&rig.device, "sysctl -n net.netfilter.nf_conntrack_buckets") {
        commands.ran.push(format!("# nf_conntrack_buckets is {}", buckets.trim()));
    }
    Ok(limit)
}

/// The way to make it forget its connections: whether it can is asked before it is measured.
fn forgetting(rig: &Rig) -> Result<Connections, Unavailable> {
    let mut connections = Connections::open_in(&rig.device)?;
    connections.forget()?;
    connections.filling()?;
    Ok(connections)
}

/// What it says it dropped, as far as interfaces tell.
pub(super) fn dropped(rig: &Rig) -> String {
    let count = |end: &&str| format!("{end}: {:?}", rig.counters(end));
    let counts: Vec<String> = rig.inner().iter().map(count).collect();
    let neighbours = ask(&rig.device, "ip neighbour show").unwrap_or_default();
    let neighbours = neighbours.lines().collect::<Vec<_>>().join(", ");
    format!("{}; its neighbours: {neighbours}", counts.join(", "))
}
