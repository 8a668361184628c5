//! A plan's configuration, in the words of nft.
//!
//! ```text
//!  /ip firewall connection tracking set enabled=yes              ─► a rule that names ct
//!  /ip firewall nat add … out-interface=ether2 action=masquerade ─► oifname d1 masquerade
//!  /ip firewall filter add … connection-state=invalid action=drop ─► ct state invalid drop
//! ```
//!
//! Reads flat scripts only: a menu a line, then its `add` and `set` lines, as in `configs/`. Addresses,
//! routes or a bridge are what the plan's traffic says and are passed over here. A word it does not know is an error, with its
//! line, never left out: the kernel would be measured as something it is not.

use crate::bench::veth::DEVICE_ENDS;
use crate::suite::plan::Traffic;

/// What a configuration wants of the kernel's firewall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Firewall {
    /// Connections are tracked, whatever rules there are.
    pub(super) tracked: bool,
    /// What is masqueraded, as nft says it.
    pub(super) masquerade: Vec<String>,
    /// The rules of the chain forward.
    pub(super) rules: Vec<Rule>,
}

/// A rule of the chain forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// What it matches, as nft says it.
    pub(super) matches: String,
    pub(super) action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Accept,
    Drop,
    /// `fasttrack-connection`: a flow table, where the kernel has any.
    Fast,
}

impl Firewall {
    /// Reads the configuration of a plan with this traffic.
    ///
    /// # Errors
    /// The line that cannot be said to the kernel.
    pub(super) fn read(script: &str, traffic: Traffic) -> Result<Firewall, String> {
        let known: &[&str] = match traffic {
            Traffic::Hosts { .. } => &["/interface bridge", "/interface bridge port"],
            Traffic::Pair { .. } => &["/ip address"],
            Traffic::Networks { .. } => &["/ip address", "/ip route"],
        };
        let mut firewall = Firewall::default();
        let mut menu = "";
        let lines = script.lines().map(str::trim).enumerate();
        for (n, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let unknown = || format!("do line {} of its configuration, {line}", n + 1);
            if line.starts_with('/') {
                menu = line;
                continue;
            }
            let (verb, words) = line.split_once(' ').unwrap_or((line, ""));
            let mut words = words.split_whitespace().map(|word| word.split_once('='));
            let words: Option<Vec<(&str, &str)>> = words.by_ref().collect();
            let words = words.ok_or_else(unknown)?;
            let done = match (menu, verb) {
                (menu, "add") if known.contains(&menu) => Some(()),
                ("/ip firewall connection tracking", "set") => firewall.tracking(&words),
                ("/ip firewall nat", "add") => firewall.nat(&words),
                ("/ip firewall filter", "add") => firewall.filter(&words),
                _ => None,
            };
            done.ok_or_else(unknown)?;
        }
        Ok(firewall)
    }

    /// Whether the kernel tracks connections.
    pub(super) fn is_stateful(&self) -> bool {
        let names = |rule: &Rule| rule.matches.contains("ct state") || rule.action == Action::Fast;
        self.tracked || !self.masquerade.is_empty() || self.rules.iter().any(names)
    }

    fn tracking(&mut self, words: &[(&str, &str)]) -> Option<()> {
        let [("enabled", enabled)] = words else { return None };
        match *enabled {
            "yes" => self.tracked = true,
            // RouterOS does so once there are rules; so does the kernel.
            "auto" => {}
            _ => return None,
        }
        Some(())
    }

    fn nat(&mut self, words: &[(&str, &str)]) -> Option<()> {
        let mut matches = vec![];
        let (mut source, mut masquerade) = (false, false);
        for &(name, value) in words {
            match (name, value) {
                ("chain", "srcnat") => source = true,
                ("action", "masquerade") => masquerade = true,
                ("out-interface", interface) => {
                    matches.push(format!("oifname {}", end(interface)?))
                }
                ("src-address", address) => matches.push(format!("ip saddr {address}")),
                _ => return None,
            }
        }
        matches.push("masquerade".to_string());
        self.masquerade.push(matches.join(" "));
        (source && masquerade).then_some(())
    }

    fn filter(&mut self, words: &[(&str, &str)]) -> Option<()> {
        let (mut matches, mut action, mut forward) = (vec![], None, false);
        let protocol = words.iter().find(|(name, _)| *name == "protocol").map(|(_, value)| *value);
        for &(name, value) in words {
            match (name, value) {
                ("chain", "forward") => forward = true,
                ("action", "accept") => action = Some(Action::Accept),
                ("action", "drop") => action = Some(Action::Drop),
                ("action", "fasttrack-connection") => action = Some(Action::Fast),
                ("src-address", address) => matches.push(format!("ip saddr {address}")),
                ("dst-address", address) => matches.push(format!("ip daddr {address}")),
                ("in-interface", interface) => matches.push(format!("iifname {}", end(interface)?)),
                ("out-interface", interface) => {
                    matches.push(format!("oifname {}", end(interface)?))
                }
                ("protocol", "udp" | "tcp") => matches.push(format!("meta l4proto {value}")),
                ("dst-port", port) => matches.push(format!("{} dport {port}", protocol?)),
                ("src-port", port) => matches.push(format!("{} sport {port}", protocol?)),
                ("connection-state", states) => {
                    let known = ["established", "related", "new", "invalid", "untracked"];
                    states.split(',').all(|state| known.contains(&state)).then_some(())?;
                    matches.push(format!("ct state {states}"));
                }
                _ => return None,
            }
        }
        self.rules.push(Rule { matches: matches.join(" "), action: action? });
        forward.then_some(())
    }
}

/// The device's end that is called so in the configuration.
fn end(interface: &str) -> Option<&'static str> {
    match interface {
        "ether1" => Some(DEVICE_ENDS[0]),
        "ether2" => Some(DEVICE_ENDS[1]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Traffic = Traffic::Pair { bidirectional: true };

    fn rules(firewall: &Firewall) -> Vec<String> {
        let said = |rule: &Rule| format!("{} {:?}", rule.matches, rule.action);
        firewall.rules.iter().map(said).collect()
    }

    /// Whatever our plans' configurations have, the kernel can be told.
    #[test]
    fn our_own_configurations() {
        let (pair, networks) = (PAIR, Traffic::Networks { bidirectional: false });
        let hosts = Traffic::Hosts {
            distribution: crate::suite::plan::Distribution::NonMeshed { bidirectional: true },
        };
        for (script, traffic, stateful, masquerade, expected) in [
            (include_str!("../../../../../configs/rfc2544.rsc"), pair, false, &[][..], &[][..]),
            (
                include_str!("../../../../../configs/rfc2544-networks.rsc"),
                networks,
                false,
                &[],
                &[],
            ),
            (include_str!("../../../../../configs/rfc2889.rsc"), hosts, false, &[], &[]),
            (include_str!("../../../../../configs/bridge-two-ports.rsc"), hosts, false, &[], &[]),
            (
                include_str!("../../../../../configs/rfc9693.rsc"),
                pair,
                true,
                &["oifname d1 masquerade"],
                &[],
            ),
            (
                include_str!("../../../../../configs/tcp.rsc"),
                pair,
                true,
                &["oifname d1 masquerade"],
                &[
                    "ct state established,related Fast",
                    "ct state established,related Accept",
                    "ct state invalid Drop",
                ],
            ),
        ] {
            let firewall = Firewall::read(script, traffic).unwrap();
            assert_eq!(firewall.is_stateful(), stateful, "{script}");
            assert_eq!(firewall.masquerade, masquerade, "{script}");
            assert_eq!(rules(&firewall), expected, "{script}");
        }
    }

    #[test]
    fn words() {
        let one = |words: &str| {
            let script = format!("# a rule\n/ip firewall filter\nadd chain=forward {words}\n");
            Firewall::read(&script, PAIR).map(|firewall| rules(&firewall).concat())
        };
        for (words, expected) in [
            ("src-address=192.0.2.1 action=drop", "ip saddr 192.0.2.1 Drop"),
            ("protocol=udp dst-port=7 action=accept", "meta l4proto udp udp dport 7 Accept"),
            ("in-interface=ether1 out-interface=ether2 action=drop", "iifname d0 oifname d1 Drop"),
            ("connection-state=new action=accept", "ct state new Accept"),
        ] {
            assert_eq!(one(words).unwrap(), expected);
        }
        for words in [
            "src-address=192.0.2.1",
            "action=reject",
            "content=x action=drop",
            "dst-port=7 action=drop",
            "connection-state=!new action=drop",
            "in-interface=ether3 action=drop",
            "log action=drop",
        ] {
            let error = one(words).unwrap_err();
            let expected = format!("do line 3 of its configuration, add chain=forward {words}");
            assert_eq!(error, expected);
        }
        for script in [
            "/ip firewall nat\nadd chain=dstnat action=masquerade",
            "/ip firewall nat\nadd chain=srcnat action=src-nat to-addresses=198.19.1.9",
            "/ip firewall connection tracking\nset enabled=no",
            "/queue simple\nadd target=198.18.1.2",
            "/ip route\nadd dst-address=198.20.0.0/16 gateway=198.19.1.9",
            "/interface bridge\nadd name=bridge1",
            "/ip address\nset 0 disabled=yes",
        ] {
            let error = Firewall::read(script, PAIR).unwrap_err();
            assert!(error.starts_with("do line 2 of"), "{script}: {error}");
        }
    }
}
