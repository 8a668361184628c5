//! `/ip firewall raw`: what is dropped, or not tracked, before connection tracking sees it.
//!
//! ```text
//! in ─► [prerouting] ─► conntrack ─► mangle …      local out ─► [output] ─► conntrack ─► mangle …
//! ```
//!
//! Nothing is known of connections here: addresses are untranslated, the state is `untracked`, and
//! matchers of connections are not in the menu. Fragments come by one by one. What FastTrack carries
//! does not come by.

use crate::firewall::compile::{self, Hook, Possible, Setting, Table};
use crate::firewall::effect::Effect;
use crate::firewall::gate::Gate;
use crate::firewall::invalid::Invalid;
use crate::firewall::mark::MarkBook;
use crate::firewall::menu::{MATCHERS, RULES, TAIL, WORD, join};
use crate::firewall::rule::{Books, Ruleset, Step};
use crate::packet::View;
use crate::recipe::Stage;
use config::{Item, ItemId, Menu, Property, Tree, Type};

/// `/ip firewall raw`.
pub static MENU: Menu = Menu {
    path: "/ip firewall raw",
    kind: RULES,
    properties: &PROPERTIES,
    help: "What is dropped, or not tracked, before connection tracking: rules over packets.",
};

static PROPERTIES: [Property; HEAD.len() + N_MATCHERS + TAIL.len()] =
    join(HEAD, RAW_MATCHERS, TAIL);

const HEAD: [Property; 3] = [
    Property::new("chain", WORD, "prerouting, output or a chain of your own.").required(),
    Property::new("action", ACTIONS, "What to do with a packet that matches.").default("accept"),
    Property::new("jump-target", WORD, "The chain to jump to."),
];

/// The actions, of either family.
pub(crate) const ACTIONS: Type = Type::Enum(&[
    "accept",
    "add-dst-to-address-list",
    "add-src-to-address-list",
    "drop",
    "jump",
    "log",
    "notrack",
    "passthrough",
    "return",
]);

/// What the rules of all tables look at, but for what is found out later: connections, marks.
const RAW_MATCHERS: [Property; N_MATCHERS] = {
    let mut picked = [MATCHERS[0]; N_MATCHERS];
    let (mut from, mut to) = (0, 0);
    while from < MATCHERS.len() {
        if is_known_early(MATCHERS[from].name) {
            picked[to] = MATCHERS[from];
            to += 1;
        }
        from += 1;
    }
    picked
};

const N_MATCHERS: usize = {
    let (mut n, mut at) = (0, 0);
    while at < MATCHERS.len() {
        n += is_known_early(MATCHERS[at].name) as usize;
        at += 1;
    }
    n
};

const fn is_known_early(name: &str) -> bool {
    let later: [&[u8]; 5] =
        [b"connection-", b"packet-mark", b"routing-mark", b"layer7-protocol", b"p2p"];
    let name = name.as_bytes();
    let mut word = 0;
    while word < later.len() {
        let mut at = 0;
        while at < later[word].len() && at < name.len() && later[word][at] == name[at] {
            at += 1;
        }
        if at == later[word].len() {
            return false;
        }
        word += 1;
    }
    true
}

/// The built-in chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawChain {
    /// What comes in.
    Prerouting = 0,
    /// From the router.
    Output = 1,
}

impl RawChain {
    /// Its name.
    pub const fn name(self) -> &'static str {
        Last::HOOKS[self as usize].name
    }
}

/// The table's word on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    Accept,
    Drop,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawVerdict {
    pub(crate) drop: bool,
    /// A `notrack` rule was passed: no connection is looked for.
    pub(crate) notrack: bool,
}

impl Table for Last {
    const PATH: &'static str = MENU.path;
    const HOOKS: &'static [Hook] = &[
        Hook { name: "prerouting", has_in: true, has_out: false },
        Hook { name: "output", has_in: false, has_out: true },
    ];

    fn accepts(self) -> bool {
        self == Last::Accept
    }

    fn action(action: &str, _: &Item, _: &MarkBook) -> Result<Possible<Last>, Invalid> {
        let step = match action {
            "accept" => Step::Stop(Last::Accept),
            "drop" => Step::Stop(Last::Drop),
            // As with Linux, the next rules are tried all the same.
            "notrack" => Step::Do(Effect::Notrack),
            _ => return Err(Invalid::Unreadable("action")),
        };
        Ok(Possible { step, only: None })
    }
}

/// The compiled table.
#[derive(Clone, Debug)]
pub struct Raw {
    rules: Ruleset<Last>,
}

impl Raw {
    /// Compiles the enabled rules of `/ip firewall raw`.
    pub fn compile(setting: &mut Setting) -> Raw {
        Raw { rules: compile::compile(setting, true) }
    }

    /// The same where few rules have changed since `before`, quickly; `None` where that is not possible.
    pub(crate) fn patched(&self, setting: &mut Setting, before: &Tree) -> Option<Raw> {
        let rules = compile::patched(&self.rules, setting, before, (MENU.path, false))?;
        Some(Raw { rules })
    }

    /// Those of the menu of this path, which are of IPv6.
    pub(crate) fn compile6(setting: &mut Setting, path: &str) -> Raw {
        Raw { rules: compile::compile6(setting, path) }
    }

    /// Walks a packet through a built-in chain.
    pub(crate) fn run(&self, chain: RawChain, view: &View, books: &mut Books) -> RawVerdict {
        let outcome = self.rules.run(chain as usize, view, books);
        let drop = outcome.action == Some(Last::Drop);
        RawVerdict { drop, notrack: outcome.passed(Effect::Notrack) }
    }

    /// The rules.
    pub(crate) fn rules(&self) -> &Ruleset<Last> {
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
    pub(crate) fn differences(&self, new: &Raw, max: usize) -> Option<Vec<(Stage, Gate)>> {
        self.rules.differences(&new.rules, max, |_| Stage::Untracked)
    }

    /// Why a rule is invalid, if it is.
    pub fn invalid(&self, item: ItemId) -> Option<&Invalid> {
        self.rules.invalid(item)
    }
}
