//! What of an interface's frames is the kernel's, and goes past the port.
//!
//! ```text
//!  set(10.0.0.9 …) ─► map ◄── asked for each frame by the program at the interface (XDP, or ingress)
//!                      └── 224.0.0.5, 224.0.0.6 (OSPF), 224.0.0.9 (RIP): always
//! ```
//!
//! So that a routing daemon can talk to neighbours behind the port: it has an address there that is
//! nobody else's, answers for it by the kernel's own ARP and ICMP, and sends as it always does. Each
//! address has one owner: what is for one of these the port never sees, and counts nowhere.

use crate::linux::Unavailable;
use crate::linux::bpf::{self, redirect};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV4};

/// The groups of routing protocols, which a port's owner has no use for.
const GROUPS: [Ipv4Addr; 3] =
    [Ipv4Addr::new(224, 0, 0, 5), Ipv4Addr::new(224, 0, 0, 6), Ipv4Addr::new(224, 0, 0, 9)];

/// The kernel's addresses behind a port, to be changed by whoever has a copy of this.
#[derive(Clone, Debug)]
pub struct Kernels(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    map: bpf::Map,
    addresses: Mutex<BTreeSet<Ipv4Addr>>,
}

impl Kernels {
    pub(super) fn new() -> Result<Kernels, Unavailable> {
        let (map, addresses) = (redirect::addresses()?, Mutex::default());
        for group in GROUPS {
            map.update(&group.octets(), &[0; 4])?;
        }
        Ok(Kernels(Arc::new(Shared { map, addresses })))
    }

    pub(super) fn map(&self) -> &bpf::Map {
        &self.0.map
    }

    /// From now on these are the kernel's addresses, and no others; whether they were others
    /// before.
    ///
    /// # Errors
    /// [`Unavailable`]: they are more than a thousand; those there was room for are the kernel's.
    pub fn set(&self, addresses: &BTreeSet<Ipv4Addr>) -> Result<bool, Unavailable> {
        let mut held = self.held();
        if *held == *addresses {
            return Ok(false);
        }
        for gone in held.difference(addresses).filter(|gone| !GROUPS.contains(gone)) {
            self.0.map.delete(&gone.octets());
        }
        let new: Vec<_> = addresses.difference(&held).copied().collect();
        held.clone_from(addresses);
        new.iter().try_for_each(|new| self.0.map.update(&new.octets(), &[0; 4]))?;
        Ok(true)
    }

    /// Whether a frame without a tag is for one of them: the question that the program asks, too, for a
    /// port that gets a copy of what the kernel gets.
    pub(super) fn are_meant_by(&self, frame: &[u8]) -> bool {
        let at = match frame.get(12..14).map(|kind| u16::from_be_bytes([kind[0], kind[1]])) {
            Some(ETHERTYPE_IPV4) => 30,
            Some(ETHERTYPE_ARP) => 38,
            _ => return false,
        };
        let Some(&[a, b, c, d]) = frame.get(at..at + 4) else { return false };
        let address = Ipv4Addr::new(a, b, c, d);
        GROUPS.contains(&address) || self.held().contains(&address)
    }

    fn held(&self) -> MutexGuard<'_, BTreeSet<Ipv4Addr>> {
        self.0.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
