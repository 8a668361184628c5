//! `/ip firewall nat` and `/ipv6 firewall nat`: which translation a connection gets.
//!
//! ```text
//! prerouting:  conntrack ─► mangle ─► [dstnat] ─► routing decision
//! postrouting: mangle ─► [srcnat] ─► queues
//! ```
//!
//! Read only for the first packet of a connection; the choice is kept in the connection, and later
//! packets are rewritten from there.
//!
//! Never: rewrites a packet, looks for a free port, knows an interface's address (that is
//! `firewall::translation`).
//! **Missing**: `endpoint-independent-nat`.

use crate::firewall::compile::{self, Hook, Possible, Setting, Table};
use crate::firewall::invalid::Invalid;
use crate::firewall::mark::MarkBook;
use crate::firewall::menu;
use crate::firewall::read::{numbers, range};
use crate::firewall::rule::{Books, Ruleset, Step};
use crate::ip::family::Family;
use crate::ipv6::firewall as firewall6;
use crate::packet::View;
use config::{Item, ItemId, Menu, Tree, Value};
use wire::{Ipv4Range, Ipv6Prefix};

/// The built-in chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatChain {
    /// Before the routing decision: destinations.
    Dstnat = 0,
    /// Before the packet leaves: sources.
    Srcnat = 1,
}

/// Ports, both included.
pub type PortRange = (u16, u16);

/// Which translation a connection gets. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatVerdict<A: Family = u32> {
    /// No rule decided.
    None,
    /// A rule said that there is to be no translation.
    Accept,
    /// `src-nat`.
    Src {
        /// The new source is one of these.
        addresses: Option<A::Block>,
        /// The new source port is one of these.
        ports: Option<PortRange>,
        /// By chance.
        random: bool,
    },
    /// `masquerade`: the new source is the out-interface's address.
    Masquerade {
        /// The new source port is one of these.
        ports: Option<PortRange>,
        /// By chance.
        random: bool,
    },
    /// `dst-nat`.
    Dst {
        /// The new destination is one of these.
        addresses: Option<A::Block>,
        /// The new destination port is one of these.
        ports: Option<PortRange>,
        /// By chance.
        random: bool,
    },
    /// `netmap`: of the chain's kind, the address at the same place of another network.
    Netmap {
        /// That network.
        addresses: A::Block,
    },
    /// `same`: of the chain's kind, the same one for all connections of a host, or of two.
    Same {
        /// One of these.
        addresses: A::Block,
        /// The new port is one of these.
        ports: Option<PortRange>,
        /// By chance.
        random: bool,
        /// Whom the host talks to counts.
        by_destination: bool,
    },
    /// `redirect`: the new destination is the in-interface's address.
    Redirect {
        /// The new destination port is one of these.
        ports: Option<PortRange>,
        /// By chance.
        random: bool,
    },
}

/// A family whose connections are translated.
pub(crate) trait Translated: Family {
    /// The menu of its rules.
    const MENU: &'static Menu;

    /// What a rule translates to; `None` for what stays.
    fn to_addresses(item: &Item) -> Result<Option<Self::Block>, Invalid>;
}

impl Translated for u32 {
    const MENU: &'static Menu = &menu::NAT;

    fn to_addresses(item: &Item) -> Result<Option<Ipv4Range>, Invalid> {
        let Some(value) = item.get("to-addresses") else { return Ok(None) };
        let addresses = range(value).ok_or(Invalid::Unreadable("to-addresses"))?;
        // RouterOS writes 0.0.0.0 for an address that is not to change.
        Ok(Some(addresses).filter(|range| range.last() != 0))
    }
}

impl Translated for u128 {
    const MENU: &'static Menu = &firewall6::NAT;

    fn to_addresses(item: &Item) -> Result<Option<Ipv6Prefix>, Invalid> {
        match item.get("to-address") {
            Some(&Value::Cidr6(address, len)) => Ok(Some(Ipv6Prefix::new(address.into(), len))),
            Some(_) => Err(Invalid::Unreadable("to-address")),
            None => Ok(None),
        }
    }
}

impl<A: Translated> Table for NatVerdict<A> {
    const PATH: &'static str = A::MENU.path;
    const HOOKS: &'static [Hook] = &[
        Hook { name: "dstnat", has_in: true, has_out: false },
        Hook { name: "srcnat", has_in: false, has_out: true },
    ];

    fn accepts(self) -> bool {
        matches!(self, NatVerdict::Accept | NatVerdict::None)
    }

    fn action(action: &str, item: &Item, _: &MarkBook) -> Result<Possible<Self>, Invalid> {
        let addresses = A::to_addresses(item)?;
        let ports = match item.get("to-ports") {
            Some(value) => Some(numbers(value).ok_or(Invalid::Unreadable("to-ports"))?),
            None => None,
        };
        if let Some((low, high)) = ports
            && low > high
        {
            return Err(Invalid::Never("to-ports", format!("{low}-{high}")));
        }
        let nothing = addresses.is_none() && ports.is_none();
        let is_set = |name| item.get(name) == Some(&Value::Bool(true));
        let random = is_set("randomise-ports");
        let by_destination = !is_set("same-not-by-dst");
        let (verdict, only) = match action {
            "accept" => (NatVerdict::Accept, None),
            "src-nat" if nothing => return Err(Invalid::NothingToTranslate("src-nat")),
            "dst-nat" if nothing => return Err(Invalid::NothingToTranslate("dst-nat")),
            "src-nat" => {
                (NatVerdict::Src { addresses, ports, random }, Some(("srcnat", "src-nat")))
            }
            "dst-nat" => {
                (NatVerdict::Dst { addresses, ports, random }, Some(("dstnat", "dst-nat")))
            }
            "masquerade" => {
                (NatVerdict::Masquerade { ports, random }, Some(("srcnat", "masquerade")))
            }
            "redirect" => (NatVerdict::Redirect { ports, random }, Some(("dstnat", "redirect"))),
            "netmap" | "same" => {
                let name = if action == "netmap" { "netmap" } else { "same" };
                let addresses = addresses.ok_or(Invalid::NothingToTranslate(name))?;
                let verdict = match action {
                    "netmap" => NatVerdict::Netmap { addresses },
                    _ => NatVerdict::Same { addresses, ports, random, by_destination },
                };
                (verdict, None)
            }
            _ => return Err(Invalid::Unreadable("action")),
        };
        Ok(Possible { step: Step::Stop(verdict), only })
    }
}

/// The compiled table.
#[derive(Clone, Debug)]
pub struct Nat<A: Family = u32> {
    rules: Ruleset<NatVerdict<A>>,
}

impl Nat {
    /// Compiles the enabled rules of `/ip firewall nat`.
    pub fn compile(setting: &mut Setting) -> Nat {
        Nat { rules: compile::compile(setting, true) }
    }

    /// The same where few rules have changed since `before`, quickly; `None` where that is not possible.
    pub(crate) fn patched(&self, setting: &mut Setting, before: &Tree) -> Option<Nat> {
        let rules = compile::patched(&self.rules, setting, before, (menu::NAT.path, false))?;
        Some(Nat { rules })
    }
}

impl Nat<u128> {
    /// Compiles the enabled rules of `/ipv6 firewall nat`.
    pub fn compile6(setting: &mut Setting) -> Nat<u128> {
        Nat { rules: compile::compile6(setting, firewall6::NAT.path) }
    }
}

impl<A: Family> Nat<A> {
    /// Walks the first packet of a connection through a built-in chain.
    pub fn run(&self, chain: NatChain, view: &View, books: &mut Books) -> NatVerdict<A> {
        self.rules.run(chain as usize, view, books).action.unwrap_or(NatVerdict::None)
    }

    /// The rules.
    pub(crate) fn rules(&self) -> &Ruleset<NatVerdict<A>> {
        &self.rules
    }

    /// Whether no rule is in force.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// How many rules are in force: neither disabled nor invalid.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// The number of the first rule that takes all packets of this one.
    pub fn shadowed_by(&self, item: ItemId) -> Option<usize> {
        self.rules.shadowed_by(item)
    }

    /// Why a rule is invalid, if it is.
    pub fn invalid(&self, item: ItemId) -> Option<&Invalid> {
        self.rules.invalid(item)
    }
}
