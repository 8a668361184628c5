//! What the router's own services keep between packets: leases, names, and their dice.
//!
//! ```text
//! LOCAL IN ─► dhcp, dns ─► [ Services ] ◄─ tick: what is due (timers)
//! ```

use super::dhcp::client::{Leased, Machine};
use super::dhcp::lease::Leases;
use super::discovery;
use super::dns::resolver::Resolver;
use super::nat_pmp;
use super::pool::Used;
use crate::ipv6;
use crate::system::ntp;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::Arc;
use wire::Moment;

/// The state of the router's services.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services {
    /// Addresses of pools.
    pub(crate) used: Used,
    /// What DHCP servers have given out.
    pub(crate) leases: Leases,
    /// DHCP clients, by item.
    pub(crate) clients: BTreeMap<config::ItemId, Machine>,
    /// Scripts of theirs that are to run: a name, and the source.
    pub(crate) scripts: VecDeque<(String, String)>,
    /// What they have been given.
    pub(crate) leased: Arc<[Leased]>,
    /// What IPv6 keeps between packets.
    pub(crate) v6: ipv6::State,
    /// Names.
    pub(crate) resolver: Resolver,
    /// Ports that hosts have asked for.
    pub(crate) mappings: nat_pmp::Mappings,
    /// Until then what recipes have counted is new enough for SNMP.
    pub(crate) snmp_counted: Moment,
    /// The time of day.
    pub(crate) ntp: ntp::Client,
    /// Devices that have said that they are there.
    pub(crate) neighbours: discovery::Neighbours,
    pub(crate) dice: Dice,
    /// When something is due next.
    pub(crate) due: Moment,
}

/// Numbers that others should not guess: transactions, ports. Repeatable, unless it is given a secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dice {
    /// A keyed hash that nobody outside knows.
    secret: Option<RandomState>,
    seed: u64,
    thrown: u64,
}

impl Dice {
    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    pub(crate) fn set_secret(&mut self, secret: RandomState) {
        self.secret = Some(secret);
    }

    /// The next one.
    pub(crate) fn throw(&mut self) -> u64 {
        self.thrown += 1;
        let number = (self.seed, self.thrown);
        match &self.secret {
            Some(secret) => secret.hash_one(number),
            None => {
                let mut hasher = DefaultHasher::new();
                number.hash(&mut hasher);
                hasher.finish()
            }
        }
    }
}
