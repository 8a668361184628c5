//! `/ip firewall filter`: who may pass.
//!
//! ```text
//! input:    mangle ─► [filter input]   ─► the router itself
//! forward:  mangle ─► [filter forward] ─► postrouting
//! output:   mangle ─► [filter output]  ─► routing adjustment
//! ```
//!
//! Decides about packets; the flow carries it out: drops and counts, sends the answer of a
//! `reject`, marks the connection of a `fasttrack-connection`.
//!
//! **Missing**: `add-src-to-address-list`, `add-dst-to-address-list`.

use crate::firewall::compile::{self, Hook, Possible, Setting, Table};
use crate::firewall::effect::Effect;
use crate::firewall::gate::Gate;
use crate::firewall::invalid::Invalid;
use crate::firewall::mark::MarkBook;
use crate::firewall::menu::{self, REJECT_WITH};
use crate::firewall::read::text;
use crate::firewall::rule::{Books, Ruleset, Step};
use crate::packet::View;
use crate::recipe::Stage;
use config::{Item, ItemId, Tree, Value};
use std::collections::BTreeMap;
use wire::layers::protocol;

/// The built-in chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterChain {
    /// To the router.
    Input = 0,
    /// Through the router.
    Forward = 1,
    /// From the router.
    Output = 2,
}

impl FilterChain {
    /// Its name.
    pub const fn name(self) -> &'static str {
        Last::HOOKS[self as usize].name
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes on.
    Accept,
    /// It ends here, silently.
    Drop,
    /// It ends here, and its sender is held: answered, with a window of 0 (TCP).
    Tarpit,
    /// It ends here, and the sender is told.
    Reject(RejectWith),
}

/// The filter's word on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterVerdict {
    /// What becomes of it.
    pub decision: Decision,
    /// A `fasttrack-connection` rule matched: mark the connection. Only ever set for TCP and UDP.
    pub fasttrack: bool,
}

/// `reject-with`, in the order of the property's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectWith {
    /// ICMP 3:0.
    NetworkUnreachable,
    /// ICMP 3:1.
    HostUnreachable,
    /// ICMP 3:3.
    PortUnreachable,
    /// ICMP 3:2.
    ProtocolUnreachable,
    /// ICMP 3:9.
    NetworkProhibited,
    /// ICMP 3:10.
    HostProhibited,
    /// ICMP 3:13.
    AdminProhibited,
    /// A TCP segment with RST.
    TcpReset,
}

/// What a rejected sender is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An ICMP error.
    Icmp {
        /// The ICMP type.
        kind: u8,
        /// The ICMP code.
        code: u8,
    },
    /// A TCP segment with RST.
    TcpReset,
}

impl RejectWith {
    const ALL: [RejectWith; 8] = [
        RejectWith::NetworkUnreachable,
        RejectWith::HostUnreachable,
        RejectWith::PortUnreachable,
        RejectWith::ProtocolUnreachable,
        RejectWith::NetworkProhibited,
        RejectWith::HostProhibited,
        RejectWith::AdminProhibited,
        RejectWith::TcpReset,
    ];

    /// What the sender is sent (codes: RFC 792, RFC 1122 §3.2.2.1, RFC 1812 §5.2.7.1).
    pub const fn answer(self) -> Answer {
        let code = match self {
            RejectWith::NetworkUnreachable => 0,
            RejectWith::HostUnreachable => 1,
            RejectWith::ProtocolUnreachable => 2,
            RejectWith::PortUnreachable => 3,
            RejectWith::NetworkProhibited => 9,
            RejectWith::HostProhibited => 10,
            RejectWith::AdminProhibited => 13,
            RejectWith::TcpReset => return Answer::TcpReset,
        };
        Answer::Icmp { kind: 3, code }
    }
}

/// The table's last words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last(Decision);

impl Table for Last {
    const PATH: &'static str = menu::FILTER.path;
    const HOOKS: &'static [Hook] = &[
        Hook { name: "input", has_in: true, has_out: false },
        Hook { name: "forward", has_in: true, has_out: true },
        Hook { name: "output", has_in: false, has_out: true },
    ];

    fn accepts(self) -> bool {
        self.0 == Decision::Accept
    }

    fn action(action: &str, item: &Item, _: &MarkBook) -> Result<Possible<Last>, Invalid> {
        let step = match action {
            "accept" => Step::Stop(Last(Decision::Accept)),
            "drop" => Step::Stop(Last(Decision::Drop)),
            "tarpit" if text(item, "protocol") != Some("tcp") => return Err(Invalid::Tarpit),
            "tarpit" => Step::Stop(Last(Decision::Tarpit)),
            "reject" => Step::Stop(Last(Decision::Reject(reject_with(item)?))),
            "fasttrack-connection" => Step::Do(Effect::Fasttrack),
            _ => return Err(Invalid::Unreadable("action")),
        };
        Ok(Possible { step, only: None })
    }
}

fn reject_with(item: &Item) -> Result<RejectWith, Invalid> {
    let word = text(item, "reject-with").unwrap_or(REJECT_WITH[0]);
    let place = REJECT_WITH.iter().position(|&w| w == word);
    let reject_with = RejectWith::ALL[place.ok_or(Invalid::Unreadable("reject-with"))?];
    if reject_with == RejectWith::TcpReset && text(item, "protocol") != Some("tcp") {
        return Err(Invalid::TcpReset);
    }
    Ok(reject_with)
}

/// The compiled table.
#[derive(Clone, Debug)]
pub struct Filter {
    rules: Ruleset<Last>,
}

impl Filter {
    /// Compiles the enabled rules of `/ip firewall filter`.
    pub fn compile(setting: &mut Setting) -> Filter {
        Filter::compile_and(setting, &[])
    }

    /// The same, and of rules before them that nobody has typed.
    pub(crate) fn compile_and(setting: &mut Setting, more: &[Item]) -> Filter {
        Filter { rules: compile::compile_and(setting, more) }
    }

    /// The same where few rules have changed since `before`, quickly; `None` where that is not possible.
    pub(crate) fn patched(&self, setting: &mut Setting, before: &Tree) -> Option<Filter> {
        let rules = compile::patched(&self.rules, setting, before, (Last::PATH, false))?;
        Some(Filter { rules })
    }

    /// The same, slower: the oracle for the gates.
    #[cfg(test)]
    pub(crate) fn compile_without_gates(setting: &mut Setting) -> Filter {
        Filter { rules: compile::compile(setting, false) }
    }

    /// Walks a packet through a built-in chain.
    pub fn run(&self, chain: FilterChain, view: &View, books: &mut Books) -> FilterVerdict {
        let outcome = self.rules.run(chain as usize, view, books);
        let can_fasttrack = matches!(view.layers.protocol, protocol::TCP | protocol::UDP);
        FilterVerdict {
            decision: outcome.action.map_or(Decision::Accept, |Last(decision)| decision),
            fasttrack: outcome.passed(Effect::Fasttrack) && can_fasttrack,
        }
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
    pub(crate) fn differences(&self, new: &Filter, max: usize) -> Option<Vec<(Stage, Gate)>> {
        self.rules.differences(&new.rules, max, |_| Stage::Routed)
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

/// The rule that RouterOS shows in front of all others as long as a connection is fasttracked:
/// position 0, flag `D`, in chain forward of the filter and in three of mangle's. Its counters are
/// those of the fasttracked packets.
///
/// `id` is the identity it shall have; no item of the tree may have it.
pub fn dummy_rule(id: ItemId, chain: &str) -> Item {
    let word = |text: &str| Value::Text(text.to_string());
    let values = [("chain", word(chain)), ("action", word("passthrough"))];
    Item {
        id,
        values: BTreeMap::from(values),
        disabled: false,
        comment: "special dummy rule to show fasttrack counters".to_string(),
        dynamic: true,
    }
}
