//! `dhcp-snooping` of bridges, as rules before all others: DHCP servers are behind trusted ports alone.
//!
//! ```text
//!  from a server (UDP 67), by a port that is not trusted      ─► dropped, to the router as well
//!  to servers (UDP 67), out of a port that is not trusted     ─► dropped there
//! ```
//!
//! As of any rule's, fields of IP are those of untagged frames. Missing: **add-dhcp-option82**, and what
//! leases say of who has which address.

use super::compile::{gate, presupposed};
use super::facts::{self, Test};
use super::told::Note;
use super::{Chain, Gate, Rule, Step};
use crate::counter::CounterBook;
use crate::interface::bridge::{menu, ports_of, text};
use crate::interface::{InterfaceId, Names};
use config::{Tree, Value};
use wire::dhcp::SERVER_PORT;
use wire::layers::protocol;

/// The rules, and the chains that they are of.
pub(super) fn rules(
    tree: &Tree,
    names: &Names,
    book: &mut CounterBook,
) -> Vec<(Chain, (Gate, Rule, Note))> {
    let (mut rules, mut taken) = (Vec::new(), Vec::new());
    for item in tree.enabled(menu::BRIDGE.path) {
        let name = text(item, "name").unwrap_or_default();
        let ports = ports_of(tree, names, name, &mut taken);
        let Some(bridge) = names.find(name).filter(|id| id.is_short()) else { continue };
        if item.get("dhcp-snooping") != Some(&Value::Bool(true)) {
            continue;
        }
        let is_trusted = |port: &config::Item| port.get("trusted") == Some(&Value::Bool(true));
        let trusted: Vec<InterfaceId> =
            ports.iter().filter(|(port, _)| is_trusted(port)).map(|&(_, id)| id).collect();
        let (from, to) = ((facts::SRC_PORT, facts::IN_PORT), (facts::DST_PORT, facts::OUT_PORT));
        for (chain, (udp, port)) in
            [(Chain::Forward, from), (Chain::Forward, to), (Chain::Input, from)]
        {
            let mut tests = presupposed("src-port");
            tests.extend(presupposed("ip-protocol"));
            tests.push(Test::is(facts::PROTOCOL, protocol::UDP.into()));
            tests.push(Test::is(udp, SERVER_PORT.into()));
            tests.push(Test::is(facts::IN_BRIDGE, bridge.0.into()));
            let others = trusted.iter().map(|id| Test { not: true, ..Test::is(port, id.0.into()) });
            tests.extend(others);
            let named = tests.iter().map(|&test| ("dhcp-snooping", test)).collect();
            let (gate, tests) = gate(tests);
            let (counter, step) = (book.of(item.id), Step::Drop);
            let rule = Rule { tests: tests.into(), limit: None, counter, log: None, step };
            rules.push((chain, (gate, rule, Note { item: item.id, tests: named })));
        }
    }
    rules
}
