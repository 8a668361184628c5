//! A configuration's firewall and queues in the words of nft and tc, so that the kernel has the same rules.
//!
//! ```text
//!  /ip firewall connection tracking set enabled=yes                ─► a rule that names ct
//!  /ip firewall nat add … out-interface=ether2 action=masquerade   ─► oifname d1 masquerade
//!  /ip firewall filter add … connection-state=invalid action=drop  ─► ct state invalid drop
//!  /interface bridge filter add … src-mac-address=… action=drop    ─► ether saddr … drop
//!  /queue simple add target=198.18.0.101/32 max-limit=100G/100G    ─► an HTB class at either end
//!  /ipv6 firewall filter add …                                     ─► the same in the table ip6
//! ```
//!
//! The script is run as our router would run it; what is read is the configuration that comes of it. Menus
//! that whoever asks sets up otherwise are passed over. What the kernel is not told here is an error, never
//! left out: the kernel would be measured as something it is not.

use super::BenchError;
use super::commands::Commands;
use super::veth::DEVICE_ENDS;
use crate::device;
use measure::Family;

/// What a configuration wants of the kernel's firewall and queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Firewall {
    /// Of which family its rules and queues are.
    pub(crate) family: Family,
    /// Connections are tracked, whatever rules there are.
    pub(crate) tracked: bool,
    /// What is masqueraded, as nft says it.
    pub(crate) masquerade: Vec<String>,
    /// The rules of the chain forward.
    pub(crate) rules: Vec<Rule>,
    /// Those of the bridge.
    pub(crate) bridge: Vec<Rule>,
    /// Simple queues.
    pub(crate) queues: Vec<Queue>,
}

/// A rule of the chain forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// What it matches, as nft says it.
    pub(crate) matches: String,
    pub(crate) action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Accept,
    Drop,
    /// `fasttrack-connection`: a flow table, where the kernel has any.
    Fast,
}

/// A simple queue: its client, and its limits as tc says them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// The client's address.
    pub(crate) target: String,
    /// What it may send.
    pub(crate) upload: String,
    /// What it may be sent.
    pub(crate) download: String,
}

/// The values of an item, as name and what is printed.
type Words = [(&'static str, String)];

impl Firewall {
    /// Of the configuration that a script makes, but for these menus.
    ///
    /// # Errors
    /// The script is refused, or an item cannot be said to the kernel: which.
    pub(crate) fn read(script: &str, but: &[&str]) -> Result<Firewall, String> {
        let (tree, before) = device::configured(script)
            .map_err(|error| format!("do line {} of its configuration: {error}", error.at.line))?;
        let is_ipv6 =
            |path: &&str| path.starts_with("/ipv6 ") && tree.items(path) != before.items(path);
        let has_ipv6 = router::MENUS.iter().map(|menu| menu.path).any(|path| is_ipv6(&path));
        let family = if has_ipv6 { Family::Ipv6 } else { Family::Ipv4 };
        let mut firewall = Firewall { family, ..Firewall::default() };
        let others = router::MENUS.iter().map(|menu| menu.path).filter(|path| !but.contains(path));
        for path in others.filter(|path| tree.items(path) != before.items(path)) {
            for item in tree.enabled(path) {
                let words = item.values.iter().map(|(name, value)| (*name, value.to_string()));
                let words: Vec<_> = words.collect();
                let done = match path {
                    "/ip firewall connection tracking" => firewall.tracking(&words),
                    "/ip firewall nat" if family == Family::Ipv4 => firewall.nat_rule(&words),
                    path if path == firewall.filter_menu() => {
                        rule(&words, family).map(|rule| firewall.rules.push(rule))
                    }
                    "/interface bridge filter" => {
                        rule(&words, family).map(|rule| firewall.bridge.push(rule))
                    }
                    "/queue simple" => {
                        queue(&words, family).map(|queue| firewall.queues.push(queue))
                    }
                    _ => None,
                };
                done.ok_or_else(|| {
                    let words = words.iter().map(|(name, value)| format!(" {name}={value}"));
                    format!("do {path}{}", words.collect::<String>())
                })?;
            }
        }
        Ok(firewall)
    }

    fn filter_menu(&self) -> &'static str {
        match self.family {
            Family::Ipv4 => "/ip firewall filter",
            Family::Ipv6 => "/ipv6 firewall filter",
        }
    }

    /// The family as nft and tc call it: of tables and addresses.
    fn nft(&self) -> &'static str {
        nft(self.family)
    }

    /// Whether the kernel tracks connections: RouterOS does so once there are rules (`enabled=auto`).
    pub(crate) fn is_stateful(&self) -> bool {
        self.tracked || !self.masquerade.is_empty() || !self.rules.is_empty()
    }

    /// Whether it takes nft.
    pub(crate) fn needs_nft(&self) -> bool {
        self.is_stateful() || !self.bridge.is_empty()
    }

    fn tracking(&mut self, words: &Words) -> Option<()> {
        let [("enabled", enabled)] = words else { return None };
        match enabled.as_str() {
            "yes" => self.tracked = true,
            "auto" => {}
            _ => return None,
        }
        Some(())
    }

    fn nat_rule(&mut self, words: &Words) -> Option<()> {
        let is_it =
            of(words, "chain") == Some("srcnat") && of(words, "action") == Some("masquerade");
        let matches = matches(words, Family::Ipv4).filter(|_| is_it)?;
        self.masquerade.push(format!("{matches} masquerade").trim_start().to_string());
        Some(())
    }

    /// The rules of the chain forward, then more of them; of the kernel's flow table why there is none,
    /// if a rule wants one. FastTrack changes how soon a packet is out, not what becomes of it.
    pub(crate) fn filter(
        &self,
        commands: &mut Commands<'_>,
        more: &[String],
    ) -> Result<Option<String>, BenchError> {
        if self.rules.is_empty() && more.is_empty() {
            return Ok(None);
        }
        let table = format!("{} filter", self.nft());
        let hook = "filter hook forward priority 0 ; policy accept";
        chain(commands, &format!("{table} forward"), hook)?;
        let mut missing = None;
        for Rule { matches, action } in &self.rules {
            let verdict = match action {
                Action::Accept => "accept",
                Action::Drop => "drop",
                Action::Fast => match flow_table(commands, &table)? {
                    None => "flow add @fast",
                    why => {
                        missing = why;
                        continue;
                    }
                },
            };
            commands.run(&format!("nft add rule {table} forward {matches} {verdict}"))?;
        }
        for rule in more {
            commands.run(&format!("nft add rule {table} forward {rule}"))?;
        }
        Ok(missing)
    }

    /// The bridge's rules, of which all drop.
    pub(crate) fn bridge_filter(&self, commands: &mut Commands<'_>) -> Result<(), BenchError> {
        if self.bridge.is_empty() {
            return Ok(());
        }
        chain(commands, "bridge filter forward", "filter hook forward priority 0 ; policy accept")?;
        for Rule { matches, .. } in &self.bridge {
            commands.run(&format!("nft add rule bridge filter forward {matches} drop"))?;
        }
        Ok(())
    }

    /// Masquerading; and connection tracking, by a rule in a chain that nothing jumps to, where no other
    /// rule looks at connections.
    pub(crate) fn connections(&self, commands: &mut Commands<'_>) -> Result<(), BenchError> {
        if !self.masquerade.is_empty() {
            chain(commands, "ip nat postrouting", "nat hook postrouting priority 100")?;
            for rule in &self.masquerade {
                commands.run(&format!("nft add rule ip nat postrouting {rule}"))?;
            }
            return Ok(());
        }
        let looks = self.rules.iter().any(|rule| rule.matches.contains("ct state"));
        if self.is_stateful() && !looks {
            let track = format!("{} track", self.nft());
            commands.run(&format!("nft add table {track}"))?;
            commands.run(&format!("nft add chain {track} unused"))?;
            commands.run(&format!("nft add rule {track} unused ct state established"))?;
        }
        Ok(())
    }

    /// A class for each client at both ends: what it sends leaves by the second, what it is sent by the
    /// first.
    pub(crate) fn classes(&self, commands: &mut Commands<'_>) -> Result<(), BenchError> {
        if self.queues.is_empty() {
            return Ok(());
        }
        let [to_clients, to_servers] = DEVICE_ENDS;
        let (protocol, of) = match self.family {
            Family::Ipv4 => ("ip", self.nft()),
            Family::Ipv6 => ("ipv6", self.nft()),
        };
        for (end, field) in [(to_clients, "dst"), (to_servers, "src")] {
            commands.run(&format!("tc qdisc add dev {end} root handle 1: htb"))?;
            for (i, queue) in self.queues.iter().enumerate() {
                let class = format!("1:{:x}", i + 0x101);
                let rate = if field == "src" { &queue.upload } else { &queue.download };
                commands.run(&format!(
                    "tc class add dev {end} parent 1: classid {class} htb rate {rate} ceil {rate} \
                     quantum 60000"
                ))?;
                let target = &queue.target;
                commands.run(&format!(
                    "tc filter add dev {end} parent 1: protocol {protocol} prio 1 u32 match {of} \
                     {field} {target} flowid {class}"
                ))?;
            }
        }
        Ok(())
    }
}

/// A table and a chain of it that is hooked in.
fn chain(commands: &mut Commands<'_>, name: &str, hook: &str) -> Result<(), BenchError> {
    let (table, _) = name.rsplit_once(' ').unwrap_or((name, ""));
    commands.run(&format!("nft add table {table}"))?;
    commands.run(&format!("nft add chain {name} {{ type {hook} ; }}"))
}

/// A flow table over both ends; why there is none, if the kernel has none.
fn flow_table(commands: &mut Commands<'_>, table: &str) -> Result<Option<String>, BenchError> {
    let [a, b] = DEVICE_ENDS;
    let words = format!("{{ hook ingress priority 0 ; devices = {{ {a}, {b} }} ; }}");
    match commands.run(&format!("nft add flowtable {table} fast {words}")) {
        Ok(()) => Ok(None),
        Err(BenchError::Command(_, said)) => Ok(Some(said)),
        Err(error) => Err(error),
    }
}

fn nft(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ip6",
    }
}

fn rule(words: &Words, family: Family) -> Option<Rule> {
    let action = match of(words, "action")? {
        "accept" => Action::Accept,
        "drop" => Action::Drop,
        "fasttrack-connection" => Action::Fast,
        _ => return None,
    };
    let is_forward = of(words, "chain") == Some("forward");
    Some(Rule { matches: matches(words, family).filter(|_| is_forward)?, action })
}

/// The value of this name.
fn of<'a>(words: &'a Words, name: &str) -> Option<&'a str> {
    words.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

/// Matchers, as nft says them; a protocol is said with the port, and a bridge's with the address.
fn matches(words: &Words, family: Family) -> Option<String> {
    let (ip, protocol) = (nft(family), of(words, "protocol"));
    let has_port = of(words, "src-port").or(of(words, "dst-port")).is_some();
    let mut said = vec![];
    for (name, value) in words {
        said.push(match (*name, value.as_str()) {
            ("chain" | "action", _) => continue,
            ("src-address", address) => format!("{ip} saddr {address}"),
            ("dst-address", address) => format!("{ip} daddr {address}"),
            ("in-interface", interface) => format!("iifname {}", end(interface)?),
            ("out-interface", interface) => format!("oifname {}", end(interface)?),
            ("protocol", "udp" | "tcp") if has_port => continue,
            ("protocol", "udp" | "tcp") => format!("meta l4proto {value}"),
            ("dst-port", port) => format!("{} dport {port}", protocol?),
            ("src-port", port) => format!("{} sport {port}", protocol?),
            ("connection-state", states) => {
                let known = ["established", "related", "new", "invalid", "untracked"];
                states.split(',').all(|state| known.contains(&state)).then_some(())?;
                format!("ct state {states}")
            }
            ("mac-protocol", "ip") => continue,
            ("src-mac-address", mac) => {
                let mac = mac.strip_suffix("/FF:FF:FF:FF:FF:FF")?;
                format!("ether saddr {}", mac.to_lowercase())
            }
            _ => return None,
        });
    }
    Some(said.join(" "))
}

fn queue(words: &Words, family: Family) -> Option<Queue> {
    let known = ["name", "target", "max-limit"];
    let is_known = words.iter().all(|(name, _)| known.contains(name));
    let bits = |limit: &str| limit.strip_suffix('G').map(|number| format!("{number}gbit"));
    let (up, down) = of(words, "max-limit").filter(|_| is_known)?.split_once('/')?;
    let is_ipv6 = family == Family::Ipv6;
    let target = of(words, "target").filter(|target| target.contains(':') == is_ipv6)?.to_string();
    Some(Queue { target, upload: bits(up)?, download: bits(down)? })
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
    use crate::bench::linux::SET_UP_OTHERWISE;
    use crate::configuration::ALL;

    fn said(rules: &[Rule]) -> Vec<String> {
        rules.iter().map(|rule| format!("{} {:?}", rule.matches, rule.action)).collect()
    }

    /// Whatever the rows of the table have, the kernel can be told.
    #[test]
    fn rows_of_the_table() {
        for row in ALL {
            let name = format!("{} {}", row.mode, row.name);
            let but = [SET_UP_OTHERWISE, &["/ipv6 address"]].concat();
            let firewall = Firewall::read(row.script, &but);
            let firewall = firewall.unwrap_or_else(|why| panic!("{name}: {why}"));
            let drops = |rules: &[Rule]| rules.iter().filter(|r| r.action == Action::Drop).count();
            let expected = match (name.as_str(), row.name) {
                ("Bridging 25-filter-rules", _) => (0, 25, 0),
                (_, "25-filter-rules" | "fasttrack") => (25, 0, 0),
                (_, "25-simple-queues") => (0, 0, 25),
                _ => (0, 0, 0),
            };
            let there = (drops(&firewall.rules), drops(&firewall.bridge), firewall.queues.len());
            assert_eq!(there, expected, "{name}");
            let masquerade: &[&str] = match row.name {
                "fasttrack" if row.family == Family::Ipv4 => {
                    &["oifname d1 udp sport 10000-10199 masquerade"]
                }
                _ => &[],
            };
            assert_eq!(firewall.masquerade, masquerade);
            assert_eq!(firewall.family, row.family);
            let stateful = ["25-filter-rules", "fasttrack", "conntrack"].contains(&row.name);
            assert_eq!(firewall.is_stateful(), stateful && row.mode == measure::Mode::Routing);
        }
    }

    /// And what our plans' configurations have.
    #[test]
    fn configurations_of_plans() {
        let tcp = [
            "ct state established,related Fast",
            "ct state established,related Accept",
            "ct state invalid Drop",
        ];
        for (script, stateful, masquerade, expected) in [
            (include_str!("../../../../configs/rfc2544.rsc"), false, &[][..], &[][..]),
            (include_str!("../../../../configs/rfc2544-networks.rsc"), false, &[], &[]),
            (include_str!("../../../../configs/rfc2889.rsc"), false, &[], &[]),
            (include_str!("../../../../configs/bridge-two-ports.rsc"), false, &[], &[]),
            (
                include_str!("../../../../configs/rfc9693.rsc"),
                true,
                &["oifname d1 masquerade"],
                &[],
            ),
            (include_str!("../../../../configs/tcp.rsc"), true, &["oifname d1 masquerade"], &tcp),
        ] {
            let firewall = Firewall::read(script, SET_UP_OTHERWISE).unwrap();
            assert_eq!(firewall.is_stateful(), stateful, "{script}");
            assert_eq!(firewall.masquerade, masquerade, "{script}");
            assert_eq!(said(&firewall.rules), expected, "{script}");
        }
    }

    #[test]
    fn words() {
        let one = |words: &str| {
            let script = format!("# a rule\n/ip firewall filter\nadd chain=forward {words}\n");
            Firewall::read(&script, &[]).map(|firewall| said(&firewall.rules).concat())
        };
        for (words, expected) in [
            ("src-address=192.0.2.1 action=drop", "ip saddr 192.0.2.1 Drop"),
            ("protocol=udp dst-port=7 action=accept", "udp dport 7 Accept"),
            ("protocol=udp action=accept", "meta l4proto udp Accept"),
            ("in-interface=ether1 out-interface=ether2 action=drop", "iifname d0 oifname d1 Drop"),
            ("connection-state=new action=accept", "ct state new Accept"),
        ] {
            assert_eq!(one(words).unwrap(), expected);
        }
        let script = "/ipv6 firewall filter\nadd chain=forward src-address=2001:db8::1 action=drop\n\
                      add chain=forward connection-state=established action=fasttrack-connection\n\
                      /queue simple\nadd name=a target=2001:2::1/128 max-limit=1G/1G\n";
        let firewall = Firewall::read(script, &[]).unwrap();
        let expected = ["ip6 saddr 2001:db8::1/128 Drop", "ct state established Fast"];
        assert_eq!(said(&firewall.rules), expected);
        assert_eq!((firewall.family, firewall.queues.len()), (Family::Ipv6, 1));
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
            assert!(
                error.starts_with("do line 3 of") || error.starts_with("do /ip fire"),
                "{error}"
            );
        }
        for script in [
            "/ip firewall filter\nadd chain=input action=drop",
            "/ip firewall nat\nadd chain=dstnat action=masquerade",
            "/ip firewall nat\nadd chain=srcnat action=src-nat to-addresses=198.19.1.9",
            "/ip firewall connection tracking\nset enabled=no",
            "/queue simple\nadd target=198.18.1.2",
            "/queue simple\nadd name=a target=198.18.1.2 max-limit=1M/1M",
            "/ip route\nadd dst-address=198.20.0.0/16 gateway=198.19.1.9",
            "/interface bridge\nadd name=bridge1",
            "/ip address\nset 0 disabled=yes",
            "/ipv6 address\nadd address=2001:2::1/64 interface=ether1",
            "/queue simple\nadd name=a target=2001:2::1/128 max-limit=1G/1G",
            "/ipv6 firewall raw\nadd chain=prerouting action=drop",
        ] {
            let error = Firewall::read(script, &["/ip address"]).unwrap_err();
            assert!(
                error.starts_with("do line 2 of") || error.starts_with("do /"),
                "{script}: {error}"
            );
        }
        let script = "/interface bridge filter\n\
                      add chain=forward src-mac-address=02:00:5E:00:53:01/FF:FF:FF:FF:FF:FF action=drop\n\
                      add chain=forward mac-protocol=ip dst-address=203.0.113.8/29 action=drop\n\
                      /queue simple\nadd name=a target=198.18.0.1/32 max-limit=100G/10G\n";
        let firewall = Firewall::read(script, &[]).unwrap();
        let bridge = ["ether saddr 02:00:5e:00:53:01 Drop", "ip daddr 203.0.113.8/29 Drop"];
        assert_eq!(said(&firewall.bridge), bridge);
        let [target, upload, download] = ["198.18.0.1/32", "100gbit", "10gbit"].map(str::to_string);
        assert_eq!(firewall.queues, [Queue { target, upload, download }]);
    }
}
