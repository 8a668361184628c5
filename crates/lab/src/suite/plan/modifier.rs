//! RFC 2544 §11's modifiers: the same suite, with filters, or with frames beside the test's.
//!
//! ```text
//!  filters      deny 203.0.113.1, deny .2, … permit the test's    told to the device
//!  broadcasts, queries, updates                                   sent by us, see suite::beside
//! ```

use super::End;
use crate::net::{FOR_TESTS, contains};
use wire::rip::Version;

/// RFC 2544 §11's modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// The configuration as it is.
    None,
    /// One filter, which permits the traffic.
    OneFilter,
    /// Twenty-five, of which the last permits the traffic (the RFC's words).
    FiltersLast,
    /// Twenty-five, of which the thirteenth does (the RFC's list, §11.4.1): a device that sorts
    /// them shows.
    FiltersMiddle,
    /// One frame in a hundred is a broadcast.
    Broadcasts,
    /// The device is asked for its counters, once a second (§11.2).
    Queries,
    /// And told of networks as by a router beside it, every 30 seconds (§11.3): by RIP's version 1, as
    /// the appendix has it, or by the one that devices speak today.
    Updates(Version),
}

impl Modifier {
    /// All, by name.
    pub const ALL: [(&'static str, Modifier); 8] = [
        ("none", Modifier::None),
        ("1-filter", Modifier::OneFilter),
        ("25-filters-permit-last", Modifier::FiltersLast),
        ("25-filters-permit-middle", Modifier::FiltersMiddle),
        ("1-percent-broadcasts", Modifier::Broadcasts),
        ("management-queries", Modifier::Queries),
        ("routing-updates", Modifier::Updates(Version::One)),
        ("routing-updates-rip-2", Modifier::Updates(Version::Two)),
    ];

    /// Whether it is frames that we send, not what the device is told.
    pub fn is_ours(self) -> bool {
        matches!(self, Modifier::Broadcasts | Modifier::Queries | Modifier::Updates(_))
    }

    /// As it stands in plans and results.
    pub fn name(self) -> &'static str {
        Modifier::ALL.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }

    /// What the device is told beyond its configuration: filters of the chain forward, in their order. The
    /// test's frames are let through by their network, or (of several) by their protocol, UDP.
    pub fn commands(self, ends: [End; 2]) -> String {
        let (denied, at) = match self {
            Modifier::None | Modifier::Broadcasts | Modifier::Queries | Modifier::Updates(_) => {
                return String::new();
            }
            Modifier::OneFilter => (0, 0),
            Modifier::FiltersLast => (24, 24),
            Modifier::FiltersMiddle => (24, 12),
        };
        // Both directions, as one rule.
        let all = FOR_TESTS;
        let permit = match ends.iter().all(|end| contains(all, end.network)) {
            true => format!("src-address={all} dst-address={all} action=accept"),
            false => "protocol=udp action=accept".to_string(),
        };
        let rule = |n: u32| match n == at {
            true => format!("add chain=forward {permit}\n"),
            false => format!("add chain=forward src-address=203.0.113.{} action=drop\n", n + 1),
        };
        "/ip firewall filter\n".to_string() + &(0..=denied).map(rule).collect::<String>()
    }
}
