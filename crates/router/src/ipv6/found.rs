//! Addresses, prefixes and routes of IPv6 that nobody typed: news to the compiler.
//!
//! ```text
//! nd (duplicates, advertisements), DHCPv6 (addresses, prefixes), pools, the kernel's routes
//!                                                            └─► [Found] ─► news ─► the compiler
//! ```

use super::pool::Pool;
use super::{dhcp, nd};
use crate::interface::InterfaceId;
use crate::ip::fed::Fed;
use crate::ip::gateway::How;
use crate::ip::route::Target;
use crate::router::Router;
use config::ItemId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::Ipv6Prefix;

/// What was found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Own addresses that somebody else has, too.
    pub(crate) duplicates: BTreeSet<(InterfaceId, u128)>,
    /// Addresses that the router was given.
    pub(crate) addresses: Vec<Given>,
    /// Routes that it was told.
    pub(crate) routes: Vec<Told>,
    /// Routes that somebody else knows: the kernel.
    pub(crate) fed: Arc<[Fed]>,
    /// The MTUs that routers have told.
    pub(crate) mtus: BTreeMap<InterfaceId, u16>,
    /// The pools of DHCPv6 clients.
    pub(crate) pools: Vec<Pool>,
    /// The prefixes that addresses of pools have, by item.
    pub(crate) taken: BTreeMap<ItemId, Ipv6Prefix>,
}

/// An address that the router was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) address: u128,
    pub(crate) network: Ipv6Prefix,
    pub(crate) interface: InterfaceId,
}

/// A route that the router was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) prefix: Ipv6Prefix,
    pub(crate) distance: u8,
    pub(crate) target: Target<u128>,
    /// How its gateway is asked whether it lives.
    pub(crate) check: Option<How>,
    /// By whom, as `print` shows it.
    pub(crate) by: &'static str,
}

/// Notes what has been found out by now: news, if it is something else than before.
pub(crate) fn note(r: &mut Router) {
    let (taken, fed) = (r.services.v6.used.taken(), r.services.v6.fed.clone());
    let mut found = Found { taken, fed, ..Found::default() };
    nd::tell(r, &mut found);
    dhcp::client::tell(r, &mut found);
    dhcp::server::tell(r, &mut found);
    if *r.services.v6.found != found {
        r.services.v6.found = Arc::new(found);
    }
}
