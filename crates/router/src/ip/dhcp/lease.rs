//! Leases of the DHCP servers: by address, by client, and in the order in which it ends.
//!
//! ```text
//! (none) ─► testing ─► offered ─► bound ─► (none)
//!              └► conflict ──────────────────┘
//! ```

use config::ItemId;
use hashbrown::HashTable;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use wire::dhcp::Message;
use wire::{MacAddr, Moment};

/// More than this are not given out, whatever the pools have.
pub(super) const MAX: usize = 1 << 16;

/// What has become of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// ARP asks whether somebody has the address.
    Testing,
    Offered,
    Bound,
    /// Somebody has the address who has not got it from here.
    Conflict,
}

impl State {
    pub(super) const fn name(self) -> &'static str {
        match self {
            State::Testing => "testing",
            State::Offered => "offered",
            State::Bound => "bound",
            State::Conflict => "conflict",
        }
    }
}

/// Who a client is: what it says, else its MAC address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Mac(MacAddr),
    Id(Box<[u8]>),
}

/// A moment to the second, rounded up: half the bytes, of which each of many leases has four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Second(u32);

impl Second {
    /// Of what does not end.
    pub(crate) const NEVER: Second = Second(u32::MAX);

    pub(crate) fn moment(self) -> Moment {
        match self {
            Second::NEVER => Moment::from_nanos(u64::MAX),
            Second(second) => Moment::from_nanos(u64::from(second) * 1_000_000_000),
        }
    }
}

impl From<Moment> for Second {
    fn from(moment: Moment) -> Second {
        let second = moment.as_nanos().div_ceil(1_000_000_000);
        u32::try_from(second).map_or(Second::NEVER, Second)
    }
}

/// A lease.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) server: ItemId,
    pub(crate) who: Who,
    pub(crate) mac: MacAddr,
    pub(crate) address: u32,
    pub(crate) state: State,
    pub(crate) expires: Second,
    pub(crate) seen: Second,
    pub(crate) host_name: Box<str>,
    /// The item, of a typed one.
    pub(crate) typed: Option<ItemId>,
}

/// An address that ARP has been asked for.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) due: Moment,
    pub(super) server: ItemId,
    pub(super) address: u32,
    /// Somebody has it.
    pub(super) taken: bool,
    /// What is to be answered.
    pub(super) message: Message,
}

/// All leases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases {
    /// In boxes: where addresses come in their order, half of each node is empty.
    by_address: BTreeMap<u32, Box<Lease>>,
    /// The address by the server and the client, which are in its lease.
    by_client: HashTable<u32>,
    keys: RandomState,
    ends: BTreeSet<(Second, u32)>,
    pub(super) probes: Vec<Probe>,
}

impl Leases {
    pub(crate) fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Whether ARP is asked for an address.
    #[inline]
    pub(crate) fn asks(&self) -> bool {
        !self.probes.is_empty()
    }

    /// By address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.by_address.values().map(Box::as_ref)
    }

    /// The lease of an address.
    pub(crate) fn at(&self, address: u32) -> Option<&Lease> {
        self.by_address.get(&address).map(Box::as_ref)
    }

    /// The lease that a client has.
    pub(crate) fn of(&self, server: ItemId, who: &Who) -> Option<&Lease> {
        let hash = self.keys.hash_one((server, who));
        let address = self.by_client.find(hash, |&address| {
            self.at(address).is_some_and(|lease| lease.server == server && lease.who == *who)
        })?;
        self.at(*address)
    }

    /// Enters a lease instead of what its address and its client had.
    pub(crate) fn put(&mut self, lease: Lease) {
        self.remove(lease.address);
        if lease.state != State::Conflict {
            if let Some(other) = self.of(lease.server, &lease.who).map(|other| other.address) {
                self.remove(other);
            }
            let hash = self.keys.hash_one((lease.server, &lease.who));
            let hash_of = |&address: &u32| {
                let lease = self.by_address.get(&address);
                lease.map_or(0, |lease| self.keys.hash_one((lease.server, &lease.who)))
            };
            self.by_client.insert_unique(hash, lease.address, hash_of);
        }
        self.ends.insert((lease.expires, lease.address));
        self.by_address.insert(lease.address, Box::new(lease));
    }

    /// Takes a lease out.
    pub(crate) fn remove(&mut self, address: u32) -> Option<Lease> {
        let lease = self.by_address.remove(&address)?;
        self.ends.remove(&(lease.expires, address));
        let hash = self.keys.hash_one((lease.server, &lease.who));
        if let Ok(entry) = self.by_client.find_entry(hash, |&other| other == address) {
            entry.remove();
        }
        Some(*lease)
    }

    /// The first that has ended by now.
    pub(crate) fn ended(&self, now: Moment) -> Option<u32> {
        self.ends.first().filter(|(end, _)| end.moment() <= now).map(|&(_, address)| address)
    }

    /// When something is due.
    pub(super) fn due(&self) -> Option<Moment> {
        let end = self.ends.first().map(|&(end, _)| end.moment());
        self.probes.iter().map(|probe| probe.due).chain(end).min()
    }
}
