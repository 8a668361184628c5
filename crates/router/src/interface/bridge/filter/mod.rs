//! `/interface bridge filter`: which frames a bridge lets pass.
//!
//! ```text
//! decision ─┬─► [input]   ─► the router            frame ─► facts: eight words
//!           └─► [forward] ─► out, per port                    │
//! router ─────► [output]  ─► out, per port                    ▼
//!                                    gates  ▮▮▮▮▮▮▮▮▮▮▮▮   one masked word each
//!                                    rules  tests, counter, log, step   only behind the gate
//! ```
//!
//! Every field of a frame that rules ask for is laid out in eight words (`facts`). A rule's most
//! telling word is its gate: one load, one mask, one comparison; a rule that does not match hardly
//! ever costs more. What the rule asks beyond that is tested behind the gate.
//!
//! Matchers of IP fields match untagged IPv4 only, those of ports UDP and TCP, those of ARP fields
//! ARP: a negated one as well. Bytes are counted as the bridge sees them, L2 without FCS.
//!
//! Never looks up hosts or decides where a frame goes. `/interface bridge nat` is a table of the same
//! rules, whose actions rewrite MAC addresses. Missing: **marks and priorities**, and a **log line's
//! EtherType and ARP fields** (frames that are not IPv4 show their source MAC only).

mod compile;
mod facts;
// `dhcp-snooping` of bridges.
mod snooping;
// Why rules did not match.
mod told;
// The menu.
pub mod menu;

use crate::counter::CounterId;
use crate::firewall::invalid::Invalid;
use crate::firewall::log::LogHead;
use crate::firewall::rule::Books;
use crate::firewall::state::SlotId;
use crate::firewall::syntax::Limit;
use crate::packet::View;
use config::ItemId;
use facts::{Facts, IN_PORT, Test};
use std::collections::BTreeMap;
use std::ops::Range;
use wire::MacAddr;

/// The built-in chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// To the router.
    Input = 0,
    /// From port to port.
    Forward = 1,
    /// From the router.
    Output = 2,
    /// Of `/interface bridge nat`: before the bridging decision.
    DstNat = 3,
    /// Of `/interface bridge nat`: behind the filter.
    SrcNat = 4,
}

impl Chain {
    /// The filter's, at their places.
    pub(crate) const FILTER: &'static [&'static str] = &["input", "forward", "output"];
    /// Those of NAT.
    pub(crate) const NAT: &'static [&'static str] = &["dstnat", "srcnat"];

    /// Its place in its table.
    fn place(self) -> usize {
        match self {
            Chain::Input | Chain::DstNat => 0,
            Chain::Forward | Chain::SrcNat => 1,
            Chain::Output => 2,
        }
    }

    /// RouterOS's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Chain::DstNat | Chain::SrcNat => Chain::NAT[self.place()],
            _ => Chain::FILTER[self.place()],
        }
    }
}

/// The rules, compiled.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The built-in chains, then the user's own: which rules.
    chains: Vec<Range<u32>>,
    /// One of each a rule, chain by chain.
    gates: Vec<Gate>,
    rules: Vec<Rule>,
    /// One of each as well: read only when somebody asks why.
    notes: Vec<told::Note>,
    /// Some rule looks at fields of ARP or 802.2, which differ from frame to frame.
    looks_at_keyless: bool,
    /// By word of the facts: the bits that some rule looks at.
    looks_at: [u64; 8],
    invalid: BTreeMap<ItemId, Invalid>,
}

/// A rule's most telling word.
#[derive(Clone, Copy, Debug)]
struct Gate {
    value: u64,
    mask: u64,
    word: u8,
}

#[derive(Clone, Debug)]
struct Rule {
    /// What the gate does not stand for.
    tests: Box<[Test]>,
    limit: Option<(SlotId, Limit, bool)>,
    counter: CounterId,
    log: Option<LogHead>,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Another source address (`src-nat`).
    Source(MacAddr),
    /// Another destination (`dst-nat`).
    Destination(MacAddr),
    /// To the router itself (`redirect`).
    Redirect,
    /// An ARP reply from this address instead (`arp-reply`).
    ArpReply(MacAddr),
    Accept,
    Drop,
    Jump(u32),
    Return,
    /// `log`, `passthrough`.
    Continue,
}

impl Filter {
    /// Walks a frame through a built-in chain: whether it may pass. A frame that is refused is
    /// [`crate::discard::Discard::BridgeFilterDrop`].
    ///
    /// The member ports are those of the view's bridge ports, the bridges its interfaces. What
    /// differs between frames of the same MACs, EtherType, ports and 5-tuple is noted in the trace.
    pub fn accepts(&self, chain: Chain, view: &View, books: &mut Books) -> bool {
        self.walk(chain, view, books) != Step::Drop
    }

    /// The same: what the rule that ends the walk says, `Accept` at the chain's end.
    pub(crate) fn walk(&self, chain: Chain, view: &View, books: &mut Books) -> Step {
        let Some(mut rules) = self.chains.get(chain.place()).cloned() else {
            return Step::Accept;
        };
        if rules.is_empty() {
            return Step::Accept;
        }
        let layers = view.layers;
        let facts = Facts::of(chain, view);
        if layers.vlan.is_some() | layers.fragment | layers.options
            || self.looks_at_keyless && facts.is_keyless()
        {
            books.trace.once = true;
        }
        let depth = books.state.returns.len();
        loop {
            let next = self.next(rules.clone(), &facts);
            if books.state.told.is_some() {
                let passed = rules.start..next.unwrap_or(rules.end);
                self.tell_passed_over(passed, &facts, view, books, depth);
            }
            let Some(at) = next else {
                if books.state.returns.len() == depth {
                    return Step::Accept;
                }
                let Some((start, end)) = books.state.returns.pop() else { return Step::Accept };
                rules = start..end;
                continue;
            };
            rules.start = at + 1;
            let rule = &self.rules[at as usize];
            if !rule.tests.iter().all(|test| test.holds(&facts)) {
                if books.state.told.is_some() {
                    self.tell_passed_over(at..at + 1, &facts, view, books, depth);
                }
                continue;
            }
            if let Some((slot, limit, not)) = &rule.limit {
                books.trace.once = true;
                let len = view.frame.len().min(usize::from(u16::MAX)) as u16;
                if books.state.take(*slot, limit, len, books.now) == *not {
                    self.tell(at, Some("limit"), view, books, depth);
                    continue;
                }
            }
            self.tell(at, None, view, books, depth);
            books.counters.add(rule.counter, view.frame.len() as u64);
            books.trace.counters.push(rule.counter);
            if let Some(head) = &rule.log {
                books.trace.once = true;
                let ports = View {
                    in_interface: view.in_bridge_port,
                    out_interface: view.out_bridge_port,
                    ..*view
                };
                books.log.write(head, &ports, books.now);
            }
            match rule.step {
                Step::Continue => {}
                Step::Jump(chain) => {
                    books.state.returns.push((rules.start, rules.end));
                    rules = self.chains[chain as usize].clone();
                }
                Step::Return => rules.start = rules.end,
                Step::Accept
                | Step::Drop
                | Step::Source(_)
                | Step::Destination(_)
                | Step::Redirect
                | Step::ArpReply(_) => {
                    books.state.returns.truncate(depth);
                    return rule.step;
                }
            }
        }
    }

    /// The first of these rules whose gate lets the frame through.
    #[inline]
    fn next(&self, rules: Range<u32>, facts: &Facts) -> Option<u32> {
        let gates = &self.gates[rules.start as usize..rules.end as usize];
        let open = |gate: &Gate| (facts.word(gate.word) ^ gate.value) & gate.mask == 0;
        gates.iter().position(open).map(|i| rules.start + i as u32)
    }

    /// The bits of a plain frame's first four facts (see `facts.rs`) that any rule looks at:
    /// frames that agree in them, in kind and in the port they came by hear the same.
    pub fn looks_at(&self) -> [u64; 4] {
        let [a, b, c, d, bridges, ..] = self.looks_at;
        // A bridge is known by its ports.
        let ports = if bridges == 0 { 0 } else { IN_PORT.mask << IN_PORT.shift };
        [a, b, c, d | ports]
    }

    /// Why a rule is invalid, if it is.
    pub fn invalid(&self, item: ItemId) -> Option<&Invalid> {
        self.invalid.get(&item)
    }

    /// How many rules are in force: neither disabled nor invalid.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether rules look at frames for the router, or of the router's own.
    pub fn has(&self, chain: Chain) -> bool {
        self.chains.get(chain.place()).is_some_and(|rules| !rules.is_empty())
    }

    /// Whether no rule is in force.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

#[cfg(test)]
mod tests;
