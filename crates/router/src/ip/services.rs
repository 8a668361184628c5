//! State of the router's own services between packets: leases, names, scripts that are to run, dice.
//!
//! ```text
//! LOCAL IN ─► dhcp, dns ─► [ Services ] ◄─ tick: what is due (timers)
//! ```

use super::accounting::Accounts;
use super::dhcp::client::{Leased, Machine};
use super::dhcp::lease::Leases;
use super::discovery;
use super::dns::names::Names;
use super::dns::resolver::Resolver;
use super::fed::FedTables;
use super::pool::Used;
use super::{hotspot, ipsec, nat_pmp, traffic_flow, upnp};
use crate::ipv6;
use crate::mpls::ldp::Ldp;
use crate::router::Router;
use crate::system::ntp;
use sha2::{Digest, Sha256};
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
    /// Scripts that are to run.
    scripts: VecDeque<WantedScript>,
    /// What they have been given.
    pub(crate) leased: Arc<[Leased]>,
    /// The tables and rules that somebody else knows.
    pub(crate) fed: Arc<FedTables>,
    /// What IPv6 keeps between packets.
    pub(crate) v6: ipv6::State,
    /// Names.
    pub(crate) resolver: Resolver,
    /// Those in address lists.
    pub(crate) names: Names,
    /// Ports that hosts have asked for.
    pub(crate) mappings: nat_pmp::Mappings,
    /// Who asks by UPnP.
    pub(crate) upnp: upnp::State,
    /// Until then what recipes have counted is new enough for SNMP.
    pub(crate) snmp_counted: Moment,
    /// What was wrong with messages of version 3.
    pub(crate) snmp_wrong: crate::snmp::users::Counts,
    /// The time of day.
    pub(crate) ntp: ntp::Client,
    /// Devices that have said that they are there.
    pub(crate) neighbours: discovery::Neighbours,
    /// How much went from whom to whom.
    pub(crate) accounts: Accounts,
    /// What collectors of flows are told.
    pub(crate) traffic_flow: traffic_flow::Exporter,
    /// What was agreed upon with IPsec's peers.
    pub(crate) ipsec: ipsec::state::Ike,
    /// Clients who log in.
    pub(crate) hotspot: hotspot::State,
    /// Which label stands for which network.
    pub(crate) ldp: Ldp,
    pub(crate) dice: Dice,
    /// When something is due next.
    pub(crate) due: Moment,
}

/// A script that is to run, because of what has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedScript {
    /// Who wants it.
    pub who: String,
    /// What it may know: lines that say so, to be put in front of it.
    pub known: String,
    /// A script's name, or its source.
    pub script: String,
}

/// Scripts that wait to be run; further ones are left out.
const MAX_SCRIPTS: usize = 64;

impl Services {
    /// Wants a script to run that may know this: names, and values as they are typed. An empty one is none.
    pub(crate) fn want_script(&mut self, who: String, known: &[(&str, String)], script: &str) {
        if script.is_empty() || self.scripts.len() >= MAX_SCRIPTS {
            return;
        }
        let known = known.iter().map(|(name, value)| format!(":local \"{name}\" {value}; "));
        let (known, script) = (known.collect(), script.to_string());
        self.scripts.push_back(WantedScript { who, known, script });
    }
}

impl Router {
    /// The next script that is to run.
    pub fn take_script(&mut self) -> Option<WantedScript> {
        self.services.scripts.pop_front()
    }

    /// Whether there is one.
    #[inline]
    pub fn has_scripts(&self) -> bool {
        !self.services.scripts.is_empty()
    }
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

    /// Bytes that nobody guesses: SHA-256 of the secret and how often there were some.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        let key = self.own_key();
        for chunk in bytes.chunks_mut(32) {
            self.thrown += 1;
            let digest = Sha256::digest([&key[..], &self.thrown.to_be_bytes()].concat());
            chunk.copy_from_slice(&digest[..chunk.len()]);
        }
    }

    /// A key that nobody else has, always the same.
    pub(crate) fn own_key(&self) -> [u8; 32] {
        let word = |n: u64| match &self.secret {
            Some(secret) => secret.hash_one((self.seed, u64::MAX - n)),
            None => self.seed ^ n << 56,
        };
        let mut key = [0; 32];
        for (n, eight) in (0..).zip(key.chunks_exact_mut(8)) {
            eight.copy_from_slice(&word(n).to_be_bytes());
        }
        key
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
