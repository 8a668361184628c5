//! The Linux kernel as a suite's device: what is typed so that it does what the plan says.
//!
//! ```text
//!  plan, modifier ─► ip, sysctl, nft ─► the kernel between the veths      every command kept
//! ```
//!
//! Our hosts are its neighbours by ARP, as they are everybody's. Rules are nft's, one for each of
//! the modifier's, without counters. Never writes outside the rig's namespace.
//! Missing: **filters of bridges**, **connection tracking** (RFC 9693).

use super::plan::{End, Modifier, Plan, Rule, Traffic};
use crate::bench::commands::{Commands, ask};
use crate::bench::linux::bridge;
use crate::bench::veth::{DEVICE_ENDS, Rig};
use std::fmt;
use std::net::Ipv4Addr;

/// What it is called in results.
pub const DEVICE: &str = "linux kernel";

/// What it cannot be told.
#[derive(Debug)]
pub enum Cannot {
    /// The plan wants something else of it.
    Unknown(&'static str),
    /// A command failed.
    Failed(crate::bench::BenchError),
}

impl fmt::Display for Cannot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cannot::Unknown(what) => write!(f, "the kernel is not told yet how to {what}"),
            Cannot::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Cannot {}

impl From<crate::bench::BenchError> for Cannot {
    fn from(error: crate::bench::BenchError) -> Cannot {
        Cannot::Failed(error)
    }
}

/// Sets the kernel of a rig up; returns the commands that did.
///
/// # Errors
/// [`Cannot`].
pub fn set_up(rig: &Rig, plan: &Plan, modifier: Modifier) -> Result<Vec<String>, Cannot> {
    let mut commands = Commands::new(&rig.device);
    if let Traffic::Hosts { .. } = plan.traffic {
        if !modifier.rules(plan.ends).is_empty() {
            return Err(Cannot::Unknown("filter as a bridge"));
        }
        bridge(&mut commands)?;
        return Ok(commands.ran);
    }
    commands.run("sysctl -qw net.ipv4.ip_forward=1")?;
    commands.run("sysctl -qw net.ipv4.conf.all.rp_filter=0")?;
    for (end, at) in plan.ends.iter().zip(DEVICE_ENDS) {
        commands.run(&format!("sysctl -qw net.ipv4.conf.{at}.rp_filter=0"))?;
        let address = Ipv4Addr::from(end.device);
        commands.run(&format!("ip address add {address}/{} dev {at}", end.network.len()))?;
    }
    if let Traffic::Networks { .. } = plan.traffic {
        for (end, at) in plan.ends.iter().zip(DEVICE_ENDS) {
            networks(&mut commands, end, at)?;
        }
    }
    filters(&mut commands, &modifier.rules(plan.ends))?;
    Ok(commands.ran)
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

fn filters(commands: &mut Commands<'_>, rules: &[Rule]) -> Result<(), Cannot> {
    if rules.is_empty() {
        return Ok(());
    }
    commands.run("nft add table ip filter")?;
    let hook = "{ type filter hook forward priority 0 ; policy accept ; }";
    commands.run(&format!("nft add chain ip filter forward {hook}"))?;
    for rule in rules {
        let words = match rule {
            Rule::Deny(source) => format!("ip saddr {source} drop"),
            Rule::Permit(Some(all)) => format!("ip saddr {all} ip daddr {all} accept"),
            Rule::Permit(None) => "meta l4proto udp accept".to_string(),
        };
        commands.run(&format!("nft add rule ip filter forward {words}"))?;
    }
    Ok(())
}

/// What it says it dropped, as far as interfaces tell.
pub(super) fn dropped(rig: &Rig) -> String {
    let count = |end: &str| format!("{end}: {:?}", rig.counters(end));
    let neighbours = ask(&rig.device, "ip neighbour show").unwrap_or_default();
    let neighbours = neighbours.lines().collect::<Vec<_>>().join(", ");
    format!("{}; its neighbours: {neighbours}", DEVICE_ENDS.map(count).join(", "))
}
