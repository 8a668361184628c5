//! The kernel's routing rules (`ip rule`) in the router's words.
//!
//! ```text
//!  100: from 10.0.1.0/24 lookup 100      ─► src-address=10.0.1.0/24 action=lookup table=100
//!  110: to 2001:db8::/32 blackhole       ─► dst-address=2001:db8::/32 action=drop
//!  120: from all fwmark 0x1 lookup 101   ─► not followed, and said
//!  32766: from all lookup main           ─► what the router does in the end, whatever its rules are
//! ```
//!
//! A rule of an interface that is no port concerns no packet of the router's. The kernel's local table is
//! asked by nobody here: the router has its own addresses.

use super::table::{End, Table};
use crate::linux::netlink::route::{LOCAL, MAIN};
use crate::linux::netlink::{Rule, RuleAction};
use router::ip::family::Family;
use router::ip::fed::FedRule;
use router::ip::fib::Word;
use router::ip::rule::Action;

/// The table that the kernel asks in the end, which nobody fills.
const DEFAULT: u32 = 253;

/// The rules of a family, and what is to be said of those that are not followed. `names` are those of
/// tables.
pub(super) fn followed<A: Word + Family>(
    rules: &[Rule],
    table: &Table,
    names: &[(u32, String)],
) -> (Vec<FedRule<A>>, Vec<String>) {
    let (mut followed, mut said) = (Vec::new(), Vec::new());
    let is_ipv6 = A::BITS == u128::BITS as u8;
    for rule in rules.iter().filter(|rule| rule.is_ipv6 == is_ipv6) {
        match follow(rule, table, names) {
            Ok(rule) => followed.extend(rule),
            Err(why) => {
                let family = if is_ipv6 { "IPv6" } else { "IPv4" };
                let priority = rule.priority;
                let text =
                    format!("the kernel's rule {priority} of {family} is not followed: {why}");
                said.push(text);
            }
        }
    }
    while followed.last().is_some_and(asks_main) {
        followed.pop();
    }
    (followed, said)
}

/// A rule in the router's words; none if it concerns no packet of the router's.
fn follow<A: Word + Family>(
    rule: &Rule,
    table: &Table,
    names: &[(u32, String)],
) -> Result<Option<FedRule<A>>, String> {
    let (all, mut asked) = (rule.src.is_none() && rule.dst.is_none(), String::new());
    let interface = match rule.interface.as_ref().map(|name| table.end_of(name)) {
        None => None,
        Some(Some(End::Port(interface))) => Some(interface),
        Some(_) => return Ok(None),
    };
    let action = match rule.action {
        // The router's own addresses come first, and nobody fills the last table.
        RuleAction::Table(LOCAL) | RuleAction::Nop => return Ok(None),
        RuleAction::Table(DEFAULT) if all && interface.is_none() => return Ok(None),
        RuleAction::Table(DEFAULT) => return Err("table default".to_string()),
        RuleAction::Table(number) => {
            let name = names.iter().find(|(named, _)| *named == number);
            asked = match number {
                MAIN => "main".to_string(),
                number => name.map_or_else(|| number.to_string(), |(_, name)| name.clone()),
            };
            Action::Lookup
        }
        RuleAction::Blackhole => Action::Drop,
        RuleAction::Unreachable => Action::Unreachable,
        RuleAction::Prohibit => Action::Prohibit,
        RuleAction::Goto => return Err("goto".to_string()),
        RuleAction::Other(number) => return Err(format!("action {number}")),
    };
    if !rule.beside.is_empty() {
        return Err(rule.beside.join(", "));
    }
    let prefix = |(address, len)| A::of(address).map(|address| address.prefix(len));
    Ok(Some(FedRule {
        priority: rule.priority,
        src: rule.src.and_then(prefix),
        dst: rule.dst.and_then(prefix),
        interface,
        action,
        table: asked,
        min_prefix: rule.suppressed,
    }))
}

/// Whether a rule has all packets ask main.
fn asks_main<A: Word>(rule: &FedRule<A>) -> bool {
    let all = rule.src.is_none() && rule.dst.is_none() && rule.interface.is_none();
    all && rule.table == "main" && rule.min_prefix.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use router::interface::InterfaceId;
    use std::net::IpAddr;

    /// A rule's words: `priority [from PREFIX] [to PREFIX] [iif NAME] [suppress N] [beside WORD] ACTION`.
    fn rule(line: &str) -> Rule {
        let words: Vec<&str> = line.split(' ').collect();
        let behind = |name| words.iter().position(|word| *word == name).map(|at| words[at + 1]);
        let prefix = |name| {
            behind(name).map(|text| {
                let (address, len) = text.split_once('/').unwrap();
                (address.parse::<IpAddr>().unwrap(), len.parse().unwrap())
            })
        };
        let action = match (behind("lookup"), *words.last().unwrap()) {
            (Some(table), _) => RuleAction::Table(table.parse().unwrap()),
            (None, "blackhole") => RuleAction::Blackhole,
            (None, "prohibit") => RuleAction::Prohibit,
            (None, "goto") => RuleAction::Goto,
            (None, _) => RuleAction::Nop,
        };
        Rule {
            is_ipv6: false,
            priority: words[0].parse().unwrap(),
            src: prefix("from"),
            dst: prefix("to"),
            interface: behind("iif").map(str::to_string),
            action,
            suppressed: behind("suppress").map(|len| len.parse().unwrap()),
            beside: if words.contains(&"fwmark") { vec!["fwmark"] } else { Vec::new() },
        }
    }

    #[test]
    fn rules_in_the_routers_words() {
        let mut table = Table::default();
        let ends = [("eth1", End::Port(InterfaceId(1))), ("tap", End::Kernels)];
        table.set_ports(ends.map(|(name, end)| (name.to_string(), end)).into());
        let names = [(100, "wan".to_string())];
        for (line, expected) in [
            ("9 from 10.0.1.0/24 lookup 100", "10.0.1.0/24 - - Lookup wan -"),
            ("9 to 10.0.1.9/32 iif eth1 lookup 7", "- 10.0.1.9/32 Some(InterfaceId(1)) Lookup 7 -"),
            ("9 lookup 254 suppress 0", "- - - Lookup main 0"),
            ("9 from 10.0.0.0/8 blackhole", "10.0.0.0/8 - - Drop  -"),
            ("9 to 10.0.0.0/8 prohibit", "- 10.0.0.0/8 - Prohibit  -"),
            // No packet of the router's.
            ("9 iif tap lookup 100", ""),
            ("9 iif lo lookup 100", ""),
            ("9 nop", ""),
            // What the router does by itself.
            ("0 lookup 255", ""),
            ("32766 lookup 254", ""),
            ("32767 lookup 253", ""),
            ("9 fwmark lookup 100", "the kernel's rule 9 of IPv4 is not followed: fwmark"),
            ("9 goto", "the kernel's rule 9 of IPv4 is not followed: goto"),
            (
                "9 from 10.0.0.0/8 lookup 253",
                "the kernel's rule 9 of IPv4 is not followed: table default",
            ),
        ] {
            let (followed, said) = followed::<u32>(&[rule(line)], &table, &names);
            let shown = followed.iter().map(|rule| {
                let prefix = |prefix: Option<wire::Ipv4Prefix>| {
                    prefix.map_or("-".to_string(), |prefix| prefix.to_string())
                };
                let interface =
                    rule.interface.map_or("-".to_string(), |at| format!("{:?}", Some(at)));
                let min = rule.min_prefix.map_or("-".to_string(), |min| min.to_string());
                let (src, dst) = (prefix(rule.src), prefix(rule.dst));
                format!("{src} {dst} {interface} {:?} {} {min}", rule.action, rule.table)
            });
            let shown: Vec<_> = shown.chain(said).collect();
            assert_eq!(shown.join("; "), expected, "{line}");
        }
        // Behind main comes something: then it is asked in its place.
        let rules = ["9 lookup 254", "10 lookup 100", "11 lookup 254"].map(rule);
        let (followed, _) = followed::<u32>(&rules, &table, &names);
        let tables: Vec<_> = followed.iter().map(|rule| rule.table.as_str()).collect();
        assert_eq!(tables, ["main", "wan"]);
        assert!(super::followed::<u128>(&rules, &table, &names).0.is_empty(), "IPv4's");
    }
}
