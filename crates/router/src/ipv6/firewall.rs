//! `/ipv6 firewall`: raw, mangle, filter, NAT, address lists, connections.
//!
//! ```text
//! in ─► raw ─► conntrack ─► mangle ─► dstnat ─► routing decision ┬► hop limit ─► mangle ─► [filter forward] ─┐
//!                                                               └► mangle ─► [filter input]                 ├► mangle ─► srcnat
//! local out ─► routing decision ─► raw ─► conntrack ─► mangle ─► [filter output] ─────────────────────────────┘
//! ```
//!
//! The tables are IPv4's: chains, jumps, gates, counters, raw, mangle and NAT altogether. The matchers of
//! addresses, hop limit, extension headers and ICMPv6 are IPv6's own, and so are the filter's answers.
//! A packet's routing mark chooses a table of `/ipv6 route`.
//!
//! Missing: the matchers that are not in the menu, `sniff-tzsp`.

// The property tables.
mod menus;

pub use menus::{ADDRESS_LIST, CONNECTION, FILTER, MANGLE, NAT, RAW};

pub(crate) use menus::{ORDER, REJECT_WITH};

use crate::firewall::compile::{self, Hook, Possible, Setting, Table};
use crate::firewall::effect::Effect;
use crate::firewall::filter::FilterChain;
use crate::firewall::invalid::Invalid;
use crate::firewall::mark::MarkBook;
use crate::firewall::read::text;
use crate::firewall::rule::{Books, Ruleset, Step};
use crate::ipv6::icmp::Error;
use crate::packet::View;
use config::{Item, ItemId};
use wire::icmpv6::kind;
use wire::layers::protocol;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes on.
    Accept,
    /// It ends here, silently.
    Drop,
    /// It ends here, and its sender is told.
    Reject(Error),
    /// It ends here, and its sender's connection is reset.
    Reset,
}

impl Table for Decision {
    const PATH: &'static str = FILTER.path;
    const HOOKS: &'static [Hook] = &[
        Hook { name: "input", has_in: true, has_out: false },
        Hook { name: "forward", has_in: true, has_out: true },
        Hook { name: "output", has_in: false, has_out: true },
    ];

    fn accepts(self) -> bool {
        matches!(self, Decision::Accept)
    }

    fn action(action: &str, item: &Item, _: &MarkBook) -> Result<Possible<Decision>, Invalid> {
        let decision = match action {
            "accept" => Decision::Accept,
            "drop" => Decision::Drop,
            "fasttrack-connection" => {
                return Ok(Possible { step: Step::Do(Effect::Fasttrack), only: None });
            }
            "reject" => match text(item, "reject-with").unwrap_or(REJECT_WITH[0]) {
                "icmp-no-route" => Decision::Reject(Error::NO_ROUTE),
                "icmp-admin-prohibited" => Decision::Reject(Error::PROHIBITED),
                "icmp-address-unreachable" => Decision::Reject(Error::ADDRESS_UNREACHABLE),
                "icmp-port-unreachable" => Decision::Reject(Error::new(kind::UNREACHABLE, 4)),
                "tcp-reset" if text(item, "protocol") == Some("tcp") => Decision::Reset,
                "tcp-reset" => return Err(Invalid::TcpReset),
                _ => return Err(Invalid::Unreadable("reject-with")),
            },
            _ => return Err(Invalid::Unreadable("action")),
        };
        Ok(Possible { step: Step::Stop(decision), only: None })
    }
}

/// The compiled table.
#[derive(Clone, Debug)]
pub struct Filter {
    rules: Ruleset<Decision>,
}

impl Filter {
    /// Compiles the enabled rules.
    pub fn compile(setting: &mut Setting) -> Filter {
        Filter { rules: compile::compile6(setting, FILTER.path) }
    }

    /// Walks a packet through a built-in chain; whether its connection is to be FastTracked, too.
    pub fn run(&self, chain: FilterChain, view: &View, books: &mut Books) -> (Decision, bool) {
        let outcome = self.rules.run(chain as usize, view, books);
        let can_fasttrack = matches!(view.layers.protocol, protocol::TCP | protocol::UDP);
        let fasttrack = outcome.passed(Effect::Fasttrack) && can_fasttrack;
        (outcome.action.unwrap_or(Decision::Accept), fasttrack)
    }

    /// Whether no rule is in force.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
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
