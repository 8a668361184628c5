//! The Linux kernel as a device, in a namespace between veths, set up as a configuration says.
//!
//! ```text
//!  RouterOS script ─► config::Tree ─► Wanted ─► ip, sysctl, nft, tc ─► the kernel    every command kept
//!  between trials  ─► its connections deleted, its bridge's hosts flushed
//! ```
//!
//! What is asked of it is what the script asks of our router, rule by rule, without counters, which the
//! kernel then need not count. A filter of ours brings connection tracking along (`enabled=auto`), so here
//! one rule in a chain that nothing jumps to names `ct`: that is what makes the kernel track. Simple queues
//! become HTB classes at both ends, found by `u32` filters one after the other. FastTrack becomes a flow
//! table, where the kernel has any.
//!
//! Nothing outside the rig's namespace is written but one limit (`limit.rs`), which is put back.
//!
//! Missing: **hashed u32 filters**, **sets and maps in nft** (a kernel's rules can be written to be faster
//! than a list; so can ours).

// Commands, run and kept.
mod commands;
// What a configuration wants, in nft's and tc's words.
mod wanted;
// How many connections there may be.
mod limit;

use crate::bench::BenchError;
use crate::bench::device::Cannot;
use crate::bench::veth::{DEVICE_ENDS, Rig};
use crate::bench::wired::Wired;
use crate::clock::Clock;
use crate::linux::netlink::Connections;
use crate::routes::Table;
use crate::traffic::{HOSTS, host, tester_mac};
pub use commands::ask;
pub(crate) use commands::{Commands, is_there, typed};
use limit::Limit;
use measure::Family;
use port::linux::{Namespace, Unavailable};
use std::time::Duration;
use wanted::Wanted;

/// What it is called in results.
pub const DEVICE: &str = "linux kernel";

/// How long it keeps a connection by which nothing comes: longer than any trial (RFC 9693 wants none
/// to go by itself).
const KEPT: u32 = 86_400;

/// Forgets what bridges of ours have learned.
const FLUSH: &str = "ip link set br0 type bridge fdb_flush";

/// The kernel of a rig, set up.
#[derive(Default)]
pub struct Kernel {
    /// The commands that did.
    pub commands: Vec<String>,
    /// Why there is no flow table for FastTrack, if a rule wants one.
    pub no_flow_table: Option<String>,
    family: Family,
    bridged: bool,
    tracks: bool,
    /// What it tracks, where trials want that forgotten.
    connections: Option<Connections>,
    _limit: Option<Limit>,
}

impl Kernel {
    /// Makes the kernel of a rig do what a script makes our router do.
    ///
    /// # Errors
    /// [`Cannot`]: it cannot be told this, this kernel lacks what it needs, or something failed.
    pub fn set_up(rig: &Rig, script: &str) -> Result<Kernel, Cannot> {
        let wanted = Wanted::read(script, rig.inner());
        let wanted = wanted
            .map_err(|what| Cannot::Omitted(format!("the kernel is not told yet how to {what}")))?;
        if wanted.needs_nft() && !is_there("nft") {
            return Err(Cannot::Omitted("nft is not installed (package nftables)".to_string()));
        }
        let mut commands = Commands::new(&rig.device);
        wanted.bridge(&mut commands)?;
        wanted.route(&mut commands)?;
        let no_flow_table = wanted.filter(&mut commands)?;
        wanted.connections(&mut commands)?;
        wanted.classes(&mut commands)?;
        let bridged = !wanted.bridged.is_empty();
        if bridged {
            // Whether it can be made to forget is asked before it is measured.
            commands.run(FLUSH)?;
        }
        let (family, tracks) = (wanted.family, wanted.is_stateful());
        Ok(Kernel {
            commands: commands.ran,
            no_flow_table,
            family,
            bridged,
            tracks,
            ..Kernel::default()
        })
    }

    /// Tells it where the tester's hosts are, so that no ARP and no neighbour discovery comes between.
    ///
    /// # Errors
    /// [`BenchError::Command`].
    pub fn knows_hosts(&mut self, rig: &Rig) -> Result<(), BenchError> {
        let mut commands = Commands::new(&rig.device);
        for (port, end) in DEVICE_ENDS.iter().enumerate() {
            for n in 0..HOSTS {
                let (address, mac) = (host(self.family, port, n), tester_mac(port));
                let words = format!("{address} lladdr {mac} dev {end} nud permanent");
                commands.run(&format!("ip neighbour replace {words}"))?;
            }
        }
        self.commands.append(&mut commands.ran);
        Ok(())
    }

    /// Gives it the routes of a full table.
    ///
    /// # Errors
    /// [`BenchError::Command`].
    pub fn feed(&mut self, rig: &Rig, table: &Table) -> Result<(), BenchError> {
        let batch = table.said(self.family, |prefix, port, via| {
            format!("route add {prefix} via {via} dev {}\n", DEVICE_ENDS[port])
        });
        let said =
            format!("ip -batch FILE, its {} routes: {}", table.len(self.family), table.source);
        let mut commands = Commands::new(&rig.device);
        commands.batch(&batch, &said)?;
        self.commands.append(&mut commands.ran);
        Ok(())
    }

    /// Sees to it that connections are kept for as long as trials want them, and as many; and, where
    /// trials want them forgotten, that they can be.
    ///
    /// # Errors
    /// [`Cannot`]: it cannot be made to forget.
    pub fn keep_connections(&mut self, rig: &Rig, forgets: bool) -> Result<(), Cannot> {
        if !self.tracks {
            return Ok(());
        }
        let mut commands = Commands::new(&rig.device);
        for kept in ["udp_timeout", "udp_timeout_stream"] {
            commands.run(&format!("sysctl -qw net.netfilter.nf_conntrack_{kept}={KEPT}"))?;
        }
        let (limit, said) = Limit::raise();
        self._limit = limit;
        commands.ran.push(said);
        if let Ok(buckets) = ask(&rig.device, "sysctl -n net.netfilter.nf_conntrack_buckets") {
            commands.ran.push(format!("# nf_conntrack_buckets is {}", buckets.trim()));
        }
        self.commands.append(&mut commands.ran);
        // Whether it can is asked before it is measured.
        let open = || -> Result<Connections, Unavailable> {
            let mut connections = Connections::open_in(&rig.device)?;
            connections.forget()?;
            connections.filling()?;
            Ok(connections)
        };
        if forgets {
            self.connections = Some(open().map_err(|why| {
                Cannot::Omitted(format!(
                    "this kernel cannot be made to forget its connections between trials (it takes the \
                     module nf_conntrack_netlink): {why}"
                ))
            })?);
        }
        Ok(())
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
        self.forget().map(|_| ())
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

impl Wired for Kernel {
    fn name(&self) -> &'static str {
        DEVICE
    }

    fn drops(&mut self, rig: &Rig) -> String {
        dropped(rig)
    }

    fn witness(&mut self, rig: &Rig) -> Vec<String> {
        witness(&rig.device, self.family)
    }
}

/// What it says it dropped, as far as interfaces tell, and whom it knows.
pub(crate) fn dropped(rig: &Rig) -> String {
    let count = |end: &&str| format!("{end}: {:?}", rig.counters(end));
    let counts: Vec<String> = rig.inner().iter().map(count).collect();
    let neighbours = ask(&rig.device, "ip neighbour show").unwrap_or_default();
    let learned = neighbours.lines().filter(|line| !line.contains("PERMANENT"));
    let neighbours = learned.collect::<Vec<_>>().join(", ");
    format!("{}; its neighbours: {neighbours}", counts.join(", "))
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
