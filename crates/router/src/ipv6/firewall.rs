//! `/ipv6 firewall filter` and `/ipv6 firewall address-list`: who may pass.
//!
//! ```text
//! input:   routing decision ─► [filter input]   ─► the router itself
//! forward: hop limit        ─► [filter forward] ─► to the neighbour
//! output:  routing decision ─► [filter output]  ─► to the neighbour
//! ```
//!
//! The tables are IPv4's: chains, jumps, gates and counters; the matchers of addresses and ICMPv6 are
//! IPv6's own.
//!
//! Missing: **connection tracking**, **raw, mangle**, lists that rules fill, the matchers that are not in the menu.

use crate::firewall::compile::{self, Hook, Possible, Setting, Table};
use crate::firewall::filter::FilterChain;
use crate::firewall::invalid::Invalid;
use crate::firewall::mark::MarkBook;
use crate::firewall::menu::{RULES, TAIL, WORD, join, matcher_named};
use crate::firewall::read::text;
use crate::firewall::rule::{Books, Ruleset, Step};
use crate::firewall::syntax;
use crate::ipv6::icmp::Error;
use crate::packet::View;
use config::{Item, ItemId, Menu, MenuKind, Property, Type};
use wire::icmpv6::kind;

/// `/ipv6 firewall filter`.
pub static FILTER: Menu = Menu {
    path: "/ipv6 firewall filter",
    kind: RULES,
    properties: &PROPERTIES,
    help: "Who may pass by IPv6: rules over the packets of input, forward and output.",
};

/// `/ipv6 firewall address-list`.
pub static ADDRESS_LIST: Menu = Menu {
    path: "/ipv6 firewall address-list",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("list", WORD, "The list's name.").required().column(),
        Property::new("address", Type::Cidr6, "An address or a prefix.").required().column(),
        Property::missing("timeout", "entries of IPv6 stay until they are removed"),
    ],
    help: "Named sets of IPv6 addresses.",
};

/// The order in which a rule's matchers are tried.
const ORDER: [&str; 21] = [
    "in-interface",
    "out-interface",
    "in-interface-list",
    "out-interface-list",
    "protocol",
    "src-mac-address",
    "src-address",
    "dst-address",
    "dst-address-list",
    "src-address-list",
    "hop-limit",
    "packet-size",
    "dst-port",
    "src-port",
    "port",
    "tcp-flags",
    "icmp-options",
    "random",
    "nth",
    "limit",
    "time",
];

const MATCHERS: [Property; 24] = [
    matcher_named("in-interface"),
    matcher_named("out-interface"),
    matcher_named("in-interface-list"),
    matcher_named("out-interface-list"),
    matcher_named("protocol"),
    matcher_named("src-mac-address"),
    Property::new("src-address", ADDRESS, "Source: an address or a prefix."),
    Property::new("dst-address", ADDRESS, "Destination: an address or a prefix."),
    matcher_named("dst-address-list"),
    matcher_named("src-address-list"),
    Property::new("hop-limit", HOP_LIMIT, "equal:N, less-than:N and so on."),
    matcher_named("packet-size"),
    matcher_named("dst-port"),
    matcher_named("src-port"),
    matcher_named("port"),
    matcher_named("tcp-flags"),
    Property::new("icmp-options", ICMP_OPTIONS, "ICMPv6 type:code or type:code-code."),
    Property::missing("connection-state", "connections of IPv6 are not tracked"),
    matcher_named("random"),
    matcher_named("nth"),
    matcher_named("limit"),
    matcher_named("time"),
    matcher_named("ipsec-policy"),
    Property::missing("headers", "extension headers are walked, not matched"),
];

const ADDRESS: Type = Type::Negatable(&Type::Cidr6);
const HOP_LIMIT: Type = Type::Custom(syntax::read_ttl);
const ICMP_OPTIONS: Type = Type::Negatable(&Type::Custom(syntax::read_icmp_options));

/// The words of `reject-with`.
const REJECT_WITH: &[&str] = &[
    "icmp-no-route",
    "icmp-admin-prohibited",
    "icmp-address-unreachable",
    "icmp-port-unreachable",
    "tcp-reset",
];

const ACTIONS: Type = Type::Only(
    &Type::Enum(&[
        "accept",
        "add-dst-to-address-list",
        "add-src-to-address-list",
        "drop",
        "fasttrack-connection",
        "jump",
        "log",
        "passthrough",
        "reject",
        "return",
    ]),
    &["accept", "drop", "jump", "log", "passthrough", "reject", "return"],
    "this action is not built for IPv6",
);

const HEAD: [Property; 4] = [
    Property::new("chain", WORD, "input, forward, output or a chain of your own.").required(),
    Property::new("action", ACTIONS, "What to do with a packet that matches.").default("accept"),
    Property::new("jump-target", WORD, "The chain to jump to."),
    Property::new(
        "reject-with",
        Type::Enum(REJECT_WITH),
        "What a rejected sender is told; icmp-no-route if not set.",
    ),
];

/// What all tables have behind their matchers, but for the lists that rules fill.
const END: [Property; 6] = [TAIL[0], TAIL[1], TAIL[4], TAIL[5], TAIL[6], TAIL[7]];

static PROPERTIES: [Property; HEAD.len() + MATCHERS.len() + END.len()] = join(HEAD, MATCHERS, END);

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
    const ORDER: &'static [&'static str] = &ORDER;
    const V6: bool = true;

    fn place(name: &str) -> Option<usize> {
        ORDER.iter().position(|&matcher| matcher == name)
    }

    fn accepts(self) -> bool {
        matches!(self, Decision::Accept)
    }

    fn action(action: &str, item: &Item, _: &MarkBook) -> Result<Possible<Decision>, Invalid> {
        let decision = match action {
            "accept" => Decision::Accept,
            "drop" => Decision::Drop,
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
        Filter { rules: compile::compile(setting, true) }
    }

    /// Walks a packet through a built-in chain.
    pub fn run(&self, chain: FilterChain, view: &View, books: &mut Books) -> Decision {
        self.rules.run(chain as usize, view, books).action.unwrap_or(Decision::Accept)
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
