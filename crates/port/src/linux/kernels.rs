//! The kernel's share of an interface's frames, which goes past the port.
//!
//! ```text
//!  set(10.0.0.9 …) ─► map ◄── asked for each frame by the program at the interface (XDP, or ingress)
//!                      └── 224.0.0.5, 224.0.0.6, ff02::5, ff02::6 (OSPF), 224.0.0.9, ff02::9 (RIP): always
//! ```
//!
//! So that a routing daemon can talk to neighbours behind the port: it has an address there that is
//! nobody else's, answers for it by the kernel's own ARP, neighbour discovery and ICMP, and sends as it
//! always does. Who solicits a neighbour means the address that he looks for, not its group. Each
//! address has one owner: what is for one of these the port never sees, and counts nowhere.

use crate::linux::Unavailable;
use crate::linux::bpf::{self, redirect};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::icmpv6::kind::NEIGHBOUR_SOLICITATION;
use wire::ipv6::header::ICMPV6;
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6};

/// The groups of routing protocols, which a port's owner has no use for.
const GROUPS: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(224, 0, 0, 5)),
    IpAddr::V4(Ipv4Addr::new(224, 0, 0, 6)),
    IpAddr::V4(Ipv4Addr::new(224, 0, 0, 9)),
    IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 5)),
    IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 6)),
    IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 9)),
];

/// What an address is called in the map: one of IPv4 as IPv6 maps it (RFC 4291 §2.5.5.2).
fn key(address: &IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The kernel's addresses behind a port, to be changed by whoever has a copy of this.
#[derive(Clone, Debug)]
pub struct Kernels(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    map: bpf::Map,
    addresses: Mutex<BTreeSet<IpAddr>>,
}

impl Kernels {
    pub(super) fn new() -> Result<Kernels, Unavailable> {
        let (map, addresses) = (redirect::addresses()?, Mutex::default());
        for group in GROUPS {
            map.update(&key(&group), &[0; 4])?;
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
    pub fn set(&self, addresses: &BTreeSet<IpAddr>) -> Result<bool, Unavailable> {
        let mut held = self.held();
        if *held == *addresses {
            return Ok(false);
        }
        for gone in held.difference(addresses).filter(|gone| !GROUPS.contains(gone)) {
            self.0.map.delete(&key(gone));
        }
        let new: Vec<_> = addresses.difference(&held).copied().collect();
        held.clone_from(addresses);
        new.iter().try_for_each(|new| self.0.map.update(&key(new), &[0; 4]))?;
        Ok(true)
    }

    /// Whether a frame without a tag is for one of them: the question that the program asks, too, for a
    /// port that gets a copy of what the kernel gets.
    pub(super) fn are_meant_by(&self, frame: &[u8]) -> bool {
        let four = |at: usize| Some(IpAddr::from(*frame.get(at..)?.first_chunk::<4>()?));
        let six = |at: usize| Some(IpAddr::from(*frame.get(at..)?.first_chunk::<16>()?));
        let address = match frame.get(12..14).map(|kind| u16::from_be_bytes([kind[0], kind[1]])) {
            Some(ETHERTYPE_IPV4) => four(30),
            Some(ETHERTYPE_ARP) => four(38),
            Some(ETHERTYPE_IPV6) => {
                let solicits = frame.get(20) == Some(&ICMPV6)
                    && frame.get(54) == Some(&NEIGHBOUR_SOLICITATION)
                    && frame.len() >= 78;
                six(if solicits { 62 } else { 38 })
            }
            _ => None,
        };
        let Some(address) = address else { return false };
        GROUPS.contains(&address) || self.held().contains(&address)
    }

    fn held(&self) -> MutexGuard<'_, BTreeSet<IpAddr>> {
        self.0.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
