//! The Linux kernel, in a namespace between two veths.
//!
//! ```text
//!  row (its script) ─► ip, sysctl, nft, tc ─► the kernel      every command kept for the result
//! ```
//!
//! What is asked of it is what the row asks of our router: the rules are the row's own, translated
//! (`bench/firewall.rs`), without counters, which the kernel then need not count. A
//! filter of ours brings connection tracking along (`enabled=auto`), so here one rule in a chain
//! that nothing jumps to names `ct`: that is what makes the kernel track. Simple queues become HTB
//! classes at both ends, found by `u32` filters one after the other. FastTrack becomes a flow table,
//! where the kernel has any.
//!
//! The tester's hosts are permanent neighbours, so that no ARP and no neighbour discovery comes between. Never
//! writes outside its namespace.
//! Missing: **hashed u32 filters**, **sets and maps in nft** (a kernel's rules can be written to be
//! faster than a list; so can ours).

use super::BenchError;
use super::commands::{Commands, ask, is_there};
use super::device::Cannot;
use super::firewall::Firewall;
use super::veth::{DEVICE_ENDS, Rig};
use super::wired::Wired;
use crate::configuration::{Configuration, Traffic};
use crate::routes::Table;
use crate::traffic::{HOSTS, host, router_address, tester_mac};
use measure::{Family, Mode};
use port::linux::Namespace;
use std::net::IpAddr;
use std::sync::Arc;

/// What it is called in results.
pub const DEVICE: &str = "linux kernel";

/// Menus of a configuration that are set up by what the traffic says.
pub(crate) const SET_UP_OTHERWISE: &[&str] =
    &["/ip address", "/ip route", "/interface bridge", "/interface bridge port"];

/// The kernel, set up.
pub struct Kernel {
    rig: Arc<Rig>,
    family: Family,
}

/// Makes the kernel of a rig do a row; returns the commands that did.
///
/// # Errors
/// [`Cannot`]: this kernel lacks what the row needs, or something failed.
pub fn set_up(
    rig: &Arc<Rig>,
    row: &Configuration,
    table: Option<&Table>,
) -> Result<(Kernel, Vec<String>), Cannot> {
    let mut commands = Commands::new(&rig.device);
    let but = [SET_UP_OTHERWISE, &["/ipv6 address"]].concat();
    let firewall = Firewall::read(row.script, &but)
        .map_err(|what| Cannot::Omitted(format!("{}: the kernel cannot {what}", row.file)))?;
    if firewall.needs_nft() && !is_there("nft") {
        return Err(Cannot::Omitted("nft is not installed (package nftables)".to_string()));
    }
    match row.mode {
        Mode::Bridging => {
            bridge(&mut commands, rig.inner())?;
            firewall.bridge_filter(&mut commands)?;
        }
        Mode::Routing => {
            let length = if row.family == Family::Ipv6 { 64 } else { 24 };
            route(&mut commands, [0, 1].map(|port| (router_address(row.family, port), length)))?;
            neighbours(&mut commands, row.family)?;
            if let Some(said) = firewall.filter(&mut commands, &[])? {
                let why = format!("this kernel has no flow tables (nft: {said})");
                return Err(Cannot::Omitted(why));
            }
            firewall.connections(&mut commands)?;
            firewall.classes(&mut commands)?;
            if let (Traffic::Table, Some(table)) = (row.traffic, table) {
                routes(&mut commands, row.family, table)?;
            }
        }
    }
    Ok((Kernel { rig: rig.clone(), family: row.family }, commands.ran))
}

/// Makes it a bridge of these ends.
pub(crate) fn bridge(commands: &mut Commands<'_>, ends: &[&str]) -> Result<(), BenchError> {
    commands.run("ip link add name br0 type bridge stp_state 0 mcast_snooping 0")?;
    for end in ends {
        commands.run(&format!("ip link set {end} master br0"))?;
    }
    commands.run("ip link set br0 up")
}

/// Makes it a router with these addresses, of one family, and their networks' lengths. The rig has IPv6
/// switched off; of addresses nobody is asked whether he has them, too. By those of the links the kernel
/// asks for neighbours.
pub(crate) fn route(commands: &mut Commands<'_>, own: [(IpAddr, u8); 2]) -> Result<(), BenchError> {
    let (whole, each, flags): (&[&str], &[&str], _) = match own[0].0 {
        IpAddr::V4(_) => (
            &["ipv4.ip_forward=1", "ipv4.conf.all.rp_filter=0"],
            &["ipv4.conf.END.rp_filter=0"],
            "",
        ),
        IpAddr::V6(_) => (
            &["ipv6.conf.all.forwarding=1"],
            &["ipv6.conf.END.accept_dad=0", "ipv6.conf.END.disable_ipv6=0"],
            " nodad",
        ),
    };
    for setting in whole {
        commands.run(&format!("sysctl -qw net.{setting}"))?;
    }
    for (end, (address, length)) in DEVICE_ENDS.iter().zip(own) {
        for setting in each {
            commands.run(&format!("sysctl -qw net.{}", setting.replace("END", end)))?;
        }
        commands.run(&format!("ip address add {address}/{length} dev {end}{flags}"))?;
    }
    Ok(())
}

fn neighbours(commands: &mut Commands<'_>, family: Family) -> Result<(), BenchError> {
    for (port, end) in DEVICE_ENDS.iter().enumerate() {
        for n in 0..HOSTS {
            let (address, mac) = (host(family, port, n), tester_mac(port));
            let words = format!("{address} lladdr {mac} dev {end} nud permanent");
            commands.run(&format!("ip neighbour replace {words}"))?;
        }
    }
    Ok(())
}

fn routes(commands: &mut Commands<'_>, family: Family, table: &Table) -> Result<(), BenchError> {
    let batch = table.said(family, |prefix, port, via| {
        format!("route add {prefix} via {via} dev {}\n", DEVICE_ENDS[port])
    });
    let file = std::env::temp_dir().join(format!("wirespeed-routes-{}", std::process::id()));
    let said = format!("ip -batch FILE, its {} routes: {}", table.len(family), table.source);
    let failed = |error: std::io::Error| BenchError::Command(said.clone(), error.to_string());
    std::fs::write(&file, batch).map_err(failed)?;
    // A list from elsewhere may have what the kernel refuses (multicast, say): the others are in.
    let added = commands.run_as(&format!("ip -force -batch {}", file.display()), said.as_str());
    let _ = std::fs::remove_file(&file);
    match added {
        Err(BenchError::Command(_, refused)) => {
            commands.ran.push(format!("{said}, but for some ({refused})"));
            Ok(())
        }
        added => added,
    }
}

impl Wired for Kernel {
    fn name(&self) -> &'static str {
        DEVICE
    }

    fn drops(&mut self) -> String {
        let count = |end: &str| format!("{end}: {:?}", self.rig.counters(end));
        DEVICE_ENDS.map(count).join(", ")
    }

    fn witness(&mut self) -> Vec<String> {
        witness(&self.rig.device, self.family)
    }
}

/// What the kernel says it did: connections it tracks, rules it has, packets its classes passed.
pub fn witness(namespace: &Namespace, family: Family) -> Vec<String> {
    let mut witness = Vec::new();
    let rules = ask(namespace, "nft list ruleset").unwrap_or_default();
    let is_rule = |line: &&str| line.ends_with(" drop");
    let n = rules.lines().map(str::trim).filter(is_rule).count();
    if n > 0 {
        witness.push(format!("nft: {n} rules that drop"));
    }
    if let Ok(n) = ask(namespace, "sysctl -n net.netfilter.nf_conntrack_count") {
        witness.push(format!("conntrack: {} connections", n.trim()));
    }
    for end in DEVICE_ENDS {
        let (classes, packets) = classes(namespace, end);
        if classes > 0 {
            witness.push(format!("tc, {end}: {classes} classes passed {packets} packets"));
        }
    }
    let ip = match family {
        Family::Ipv4 => "ip -4",
        Family::Ipv6 => "ip -6",
    };
    let routes = ask(namespace, &format!("{ip} route show table main"));
    witness.push(format!("{ip}: {} routes", routes.map_or(0, |text| text.lines().count())));
    witness
}

/// How many classes of an interface's HTB have passed packets, and how many packets.
pub fn classes(namespace: &Namespace, end: &str) -> (usize, u64) {
    let text = ask(namespace, &format!("tc -s class show dev {end}")).unwrap_or_default();
    let packets = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.first() == Some(&"Sent")).then(|| words.get(3)?.parse::<u64>().ok()).flatten()
    });
    let passed: Vec<u64> = packets.filter(|packets| *packets > 0).collect();
    (passed.len(), passed.iter().sum())
}
