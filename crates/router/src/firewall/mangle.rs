//! `/ip firewall mangle`: marks, and headers edited.
//!
//! ```text
//! prerouting:  raw ─► conntrack ─► [prerouting] ─► dst-nat ─► routing decision
//! forward:     ttl ─► [forward] ─► filter         input: [input] ─► filter
//! output:      conntrack ─► [output] ─► filter    postrouting: [postrouting] ─► src-nat
//! ```
//!
//! Never drops, never looks up a route: a routing mark is read by the routing decision after it.
//! What FastTrack carries comes by none of these boxes.
//!
//! `route` marks as well: with a table of its gateway's own, made where routes are compiled.

use crate::firewall::compile::{self, Hook, Possible, Setting, Table};
use crate::firewall::effect::{Effect, NEW_MSS, NEW_PRIORITY, NEW_TTL};
use crate::firewall::gate::Gate;
use crate::firewall::invalid::Invalid;
use crate::firewall::mark::MarkBook;
use crate::firewall::menu::{MATCHERS, RULES, TAIL, WORD, join};
use crate::firewall::read::text;
use crate::firewall::rule::{Books, Pause, Ruleset, Step, Walk};
use crate::packet::View;
use crate::recipe::Stage;
use config::{Item, ItemId, Menu, Property, Tree, Type, Value};
use std::collections::BTreeSet;

/// `/ip firewall mangle`.
pub static MENU: Menu = Menu {
    path: "/ip firewall mangle",
    kind: RULES,
    properties: &PROPERTIES,
    help: "Marks, and headers edited: rules over packets, before and after each decision.",
};

static PROPERTIES: [Property; HEAD.len() + MATCHERS.len() + TAIL.len()] =
    join(HEAD, MATCHERS, TAIL);

const HEAD: [Property; 15] = [
    Property::new("chain", WORD, "prerouting, input, forward, output, postrouting or your own.")
        .required(),
    Property::new("action", ACTIONS, "What to do with a packet that matches.").default("accept"),
    Property::new("jump-target", WORD, "The chain to jump to."),
    Property::new("new-packet-mark", WORD, "action=mark-packet marks packets so."),
    Property::new("new-connection-mark", WORD, "action=mark-connection marks connections so."),
    Property::new("new-routing-mark", WORD, "action=mark-routing: the routing table to ask first."),
    Property::new("new-dscp", Type::Number(0, 63), "action=change-dscp sets the DSCP to this."),
    Property::new("new-ttl", NEW_TTL, "action=change-ttl: set:N, increment:N or decrement:N."),
    Property::new(
        "new-mss",
        NEW_MSS,
        "action=change-mss lowers the MSS of a SYN to this; it is never raised.",
    ),
    Property::new(
        "new-priority",
        NEW_PRIORITY,
        "action=set-priority: a number, or taken from the DSCP; kept with the packet.",
    ),
    Property::new(
        "passthrough",
        Type::Bool,
        "Whether the next rules are tried once an action has marked or edited.",
    )
    .default("yes"),
    Property::new("route-dst", GATEWAY, "action=route: the gateway, whatever routes say."),
    Property::new("sniff-id", Type::Number(0, u32::MAX as i64), "action=sniff-pc: of the case; 0."),
    Property::new("sniff-target", Type::Address, "action=sniff-tzsp, sniff-pc: who gets copies."),
    Property::new("sniff-target-port", Type::Number(1, 65535), "Its port; 37008, or 5000 of pc."),
];

const ACTIONS: Type = Type::Enum(&[
    "accept",
    "add-dst-to-address-list",
    "add-src-to-address-list",
    "change-dscp",
    "change-mss",
    "change-ttl",
    "clear-df",
    "fasttrack-connection",
    "jump",
    "log",
    "mark-connection",
    "mark-packet",
    "mark-routing",
    "passthrough",
    "return",
    "route",
    "set-priority",
    "sniff-pc",
    "sniff-tzsp",
    "strip-ipv4-options",
]);

/// An address: the name of its table.
const GATEWAY: Type = Type::Custom(|text| match text.parse::<std::net::Ipv4Addr>() {
    Ok(address) => Ok(Value::Text(address.to_string())),
    Err(_) => Err("the gateway's address".to_string()),
});

/// The gateways that enabled rules send packets to.
pub(crate) fn gateways(tree: &Tree) -> BTreeSet<&str> {
    let rules = tree.enabled(MENU.path).filter(|rule| text(rule, "action") == Some("route"));
    rules.filter_map(|rule| text(rule, "route-dst")).collect()
}

/// The chains in front of whose rules a dummy rule shows what FastTrack carries.
pub(crate) const DUMMIES: [&str; 3] = ["prerouting", "forward", "postrouting"];

/// The built-in chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MangleChain {
    /// Before the routing decision.
    Prerouting = 0,
    /// To the router.
    Input = 1,
    /// Through the router.
    Forward = 2,
    /// From the router.
    Output = 3,
    /// Whatever leaves.
    Postrouting = 4,
}

impl MangleChain {
    /// Its name.
    pub const fn name(self) -> &'static str {
        Accept::HOOKS[self as usize].name
    }
}

/// The table's only last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accept;

impl Table for Accept {
    const PATH: &'static str = MENU.path;
    const HOOKS: &'static [Hook] = &[
        Hook { name: "prerouting", has_in: true, has_out: false },
        Hook { name: "input", has_in: true, has_out: false },
        Hook { name: "forward", has_in: true, has_out: true },
        Hook { name: "output", has_in: false, has_out: true },
        Hook { name: "postrouting", has_in: false, has_out: true },
    ];

    fn accepts(self) -> bool {
        true
    }

    fn action(action: &str, item: &Item, marks: &MarkBook) -> Result<Possible<Accept>, Invalid> {
        if action == "accept" {
            return Ok(Possible { step: Step::Stop(Accept), only: None });
        }
        let effect = Effect::read(action, item, marks)?.ok_or(Invalid::Unreadable("action"))?;
        let last = item.get("passthrough") == Some(&Value::Bool(false));
        let ends = last && effect != Effect::Fasttrack;
        let only = match effect {
            Effect::MarkRouting(_) if action == "route" => Some(("prerouting", "route")),
            Effect::MarkRouting(_) => Some(("prerouting,output", "mark-routing")),
            Effect::Fasttrack => Some(("prerouting,forward,postrouting", "fasttrack-connection")),
            _ => None,
        };
        let step = if ends { Step::Last(effect) } else { Step::Do(effect) };
        Ok(Possible { step, only })
    }
}

/// The compiled table.
#[derive(Clone, Debug)]
pub struct Mangle {
    rules: Ruleset<Accept>,
    copies: bool,
}

impl Mangle {
    /// Compiles the enabled rules of `/ip firewall mangle`.
    pub fn compile(setting: &mut Setting) -> Mangle {
        Mangle::of(compile::compile(setting, true))
    }

    /// Those of the menu of this path, which are of IPv6.
    pub(crate) fn compile6(setting: &mut Setting, path: &str) -> Mangle {
        Mangle::of(compile::compile6(setting, path))
    }

    /// The same as [`compile`](Self::compile) where few rules have changed since `before`, quickly; `None`
    /// where that is not possible.
    pub(crate) fn patched(&self, setting: &mut Setting, before: &Tree) -> Option<Mangle> {
        compile::patched(&self.rules, setting, before, (MENU.path, false)).map(Mangle::of)
    }

    fn of(rules: Ruleset<Accept>) -> Mangle {
        let copies = rules.does(|effect| matches!(effect, Effect::Sniff(_)));
        Mangle { rules, copies }
    }

    /// A walk through a built-in chain, before its first rule.
    pub(crate) fn enter(&self, chain: MangleChain) -> Walk {
        self.rules.enter(chain as usize)
    }

    /// Goes on to the next effect; `None` at the end.
    pub(crate) fn walk(&self, walk: &mut Walk, view: &View, books: &mut Books) -> Option<Effect> {
        match self.rules.walk(walk, view, books) {
            Pause::Do(effect) => Some(effect),
            Pause::End(_) => None,
        }
    }

    /// The rules.
    pub(crate) fn rules(&self) -> &Ruleset<Accept> {
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

    /// What has to pass one of these gates to fare otherwise with `new`; `None` if that are too many
    /// to ask.
    pub(crate) fn differences(&self, new: &Mangle, max: usize) -> Option<Vec<(Stage, Gate)>> {
        self.rules.differences(&new.rules, max, |chain| match chain {
            0 => Stage::Arrived,
            1..=4 => Stage::Routed,
            _ => Stage::Any,
        })
    }

    /// Whether a rule sends copies of packets.
    pub(crate) fn copies(&self) -> bool {
        self.copies
    }

    /// Why a rule is invalid, if it is.
    pub fn invalid(&self, item: ItemId) -> Option<&Invalid> {
        self.rules.invalid(item)
    }
}
