//! `/ip settings`, as typed.

use super::menu::SETTINGS;
use config::Tree;
use std::time::Duration;

/// What holds for all of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether packets are forwarded at all.
    pub ip_forward: bool,
    /// Entries of the ARP table.
    pub max_neighbor_entries: usize,
    /// How long an ARP answer is believed.
    pub arp_timeout: Duration,
    /// ICMP errors a second; 0 is no limit.
    pub icmp_rate_limit: u32,
    /// Bit *n*: ICMP type *n* is limited.
    pub icmp_rate_mask: u32,
    /// Whether FastPath may be used.
    pub allow_fast_path: bool,
    /// `rp-filter`.
    pub reverse_path: ReversePath,
}

/// How sources are checked (RFC 3704).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReversePath {
    /// Not at all, but for martians.
    No,
    /// Some route must lead there.
    Loose,
    /// It must lead there by the interface that the packet came in by.
    Strict,
}

impl Settings {
    /// Reads them from the configuration.
    pub fn read(tree: &Tree) -> Settings {
        let settings = tree.read_settings(&SETTINGS);
        let mask = settings.text("icmp-rate-mask");
        Settings {
            ip_forward: settings.bool("ip-forward"),
            max_neighbor_entries: settings.number("max-neighbor-entries") as usize,
            arp_timeout: settings.time("arp-timeout"),
            icmp_rate_limit: settings.number("icmp-rate-limit") as u32,
            icmp_rate_mask: u32::from_str_radix(mask.trim_start_matches("0x"), 16).unwrap_or(0),
            allow_fast_path: settings.bool("allow-fast-path"),
            reverse_path: match settings.text("rp-filter").as_str() {
                "loose" => ReversePath::Loose,
                "strict" => ReversePath::Strict,
                _ => ReversePath::No,
            },
        }
    }
}
