//! A configuration in the words of ip, nft and tc, so that the kernel does what our router would do.
//!
//! ```text
//!  /ip address add address=198.18.0.1/24 interface=ether1          ─► ip address add … dev d0
//!  /ip route add dst-address=198.18.65.0/24 gateway=198.18.1.10    ─► ip route add … via …
//!  /interface bridge port add bridge=bridge1 interface=ether1      ─► ip link set d0 master br0
//!  /ip firewall connection tracking set enabled=yes                ─► a rule that names ct
//!  /ip firewall nat add … out-interface=ether2 action=masquerade   ─► oifname d1 masquerade
//!  /ip firewall filter add … connection-state=invalid action=drop  ─► ct state invalid drop
//!  /interface bridge filter add … src-mac-address=… action=drop    ─► ether saddr … drop
//!  /queue simple add target=198.18.0.101/32 max-limit=100G/100G    ─► an HTB class at either end
//!  /ipv6 firewall filter add …                                     ─► the same in the table ip6
//! ```
//!
//! The script is run as our router would run it; what is read is the configuration that comes of it. What
//! the kernel is not told here is an error, never left out: the kernel would be measured as something it
//! is not.

use super::commands::Commands;
use crate::bench::BenchError;
use crate::bench::veth::DEVICE_ENDS;
use crate::device;
use measure::Family;

/// More routes than these are handed over together.
const FEW: usize = 8;

/// What a configuration wants of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The device's ends, `ether1` first.
    ends: &'static [&'static str],
    /// Of which family its rules and queues are.
    pub(super) family: Family,
    /// Its bridge, if it has one.
    bridge: Option<String>,
    /// The ends that are ports of it.
    pub(super) bridged: Vec<&'static str>,
    /// Addresses with their networks' lengths, each at an end.
    addresses: Vec<(String, &'static str)>,
    /// Networks, and by which gateways.
    routes: Vec<(String, String)>,
    /// Connections are tracked, whatever rules there are.
    tracked: bool,
    /// What is masqueraded, as nft says it.
    masquerade: Vec<String>,
    /// The rules of the chain forward.
    rules: Vec<Rule>,
    /// Those of the bridge.
    bridge_rules: Vec<Rule>,
    /// Simple queues.
    queues: Vec<Queue>,
}

/// A rule of the chain forward.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// What it matches, as nft says it.
    matches: String,
    action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Accept,
    Drop,
    /// `fasttrack-connection`: a flow table, where the kernel has any.
    Fast,
}

/// A simple queue: its client, and its limits as tc says them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    /// The client's address.
    target: String,
    /// What it may send.
    upload: String,
    /// What it may be sent.
    download: String,
}

/// The values of an item, as name and what is printed.
type Words = [(&'static str, String)];

impl Wanted {
    /// Of the configuration that a script makes of a router with these ends.
    ///
    /// # Errors
    /// The script is refused, or an item cannot be said to the kernel: which.
    pub(super) fn read(script: &str, ends: &'static [&'static str]) -> Result<Wanted, String> {
        let (tree, before) = device::configured(script)
            .map_err(|error| format!("do line {} of its configuration: {error}", error.at.line))?;
        let menus = router::MENUS.iter().map(|menu| menu.path);
        let changed: Vec<&str> =
            menus.filter(|path| tree.items(path) != before.items(path)).collect();
        let has_ipv6 = changed.iter().any(|path| path.starts_with("/ipv6 "));
        let family = if has_ipv6 { Family::Ipv6 } else { Family::Ipv4 };
        let mut wanted = Wanted { ends, family, ..Wanted::default() };
        for path in changed {
            for item in tree.enabled(path) {
                let words = item.values.iter().map(|(name, value)| (*name, value.to_string()));
                let words: Vec<_> = words.collect();
                wanted.item(path, &words).ok_or_else(|| {
                    let words = words.iter().map(|(name, value)| format!(" {name}={value}"));
                    format!("do {path}{}", words.collect::<String>())
                })?;
            }
        }
        Ok(wanted)
    }

    fn item(&mut self, path: &str, words: &Words) -> Option<()> {
        let family = self.family;
        let has_only =
            |known: &[&str]| words.iter().all(|(name, _)| known.contains(name)).then_some(());
        match path {
            "/ip address" | "/ipv6 address" => {
                has_only(&["address", "interface", "advertise", "no-dad"])?;
                (of(words, "advertise") != Some("yes")).then_some(())?;
                let end = self.end(of(words, "interface")?)?;
                self.addresses.push((of(words, "address")?.to_string(), end));
            }
            "/ip route" | "/ipv6 route" => {
                has_only(&["dst-address", "gateway"])?;
                let [to, by] = ["dst-address", "gateway"].map(|name| of(words, name));
                self.routes.push((to?.to_string(), by?.to_string()));
            }
            "/interface bridge" => {
                has_only(&["name", "protocol-mode"])?;
                (of(words, "protocol-mode") == Some("none")).then_some(())?;
                let first = self.bridge.replace(of(words, "name")?.to_string()).is_none();
                first.then_some(())?;
            }
            "/interface bridge port" => {
                has_only(&["bridge", "interface"])?;
                (of(words, "bridge") == self.bridge.as_deref()).then_some(())?;
                self.bridged.push(self.end(of(words, "interface")?)?);
            }
            "/ip firewall connection tracking" => {
                let [("enabled", enabled)] = words else { return None };
                ["yes", "auto"].contains(&enabled.as_str()).then_some(())?;
                self.tracked |= enabled == "yes";
            }
            "/ip firewall nat" if family == Family::Ipv4 => {
                let is = |name, value| (of(words, name) == Some(value)).then_some(());
                is("chain", "srcnat").and(is("action", "masquerade"))?;
                let rule = format!("{} masquerade", self.matches(words)?);
                self.masquerade.push(rule.trim_start().to_string());
            }
            path if path == self.filter_menu() => self.rules.push(self.rule(words)?),
            "/interface bridge filter" => self.bridge_rules.push(self.rule(words)?),
            "/queue simple" => self.queues.push(queue(words, family)?),
            _ => return None,
        }
        Some(())
    }

    fn filter_menu(&self) -> &'static str {
        match self.family {
            Family::Ipv4 => "/ip firewall filter",
            Family::Ipv6 => "/ipv6 firewall filter",
        }
    }

    /// The family as nft and tc call it: of tables and addresses.
    fn nft(&self) -> &'static str {
        match self.family {
            Family::Ipv4 => "ip",
            Family::Ipv6 => "ip6",
        }
    }

    /// The device's end that is called so in the configuration.
    fn end(&self, interface: &str) -> Option<&'static str> {
        let number: usize = interface.strip_prefix("ether")?.parse().ok()?;
        self.ends.get(number.checked_sub(1)?).copied()
    }

    /// Whether the kernel tracks connections: RouterOS does so once there are rules (`enabled=auto`).
    pub(super) fn is_stateful(&self) -> bool {
        self.tracked || !self.masquerade.is_empty() || !self.rules.is_empty()
    }

    /// Whether it takes nft.
    pub(super) fn needs_nft(&self) -> bool {
        self.is_stateful() || !self.bridge_rules.is_empty()
    }

    /// The bridge, with its ports and its rules, of which all drop.
    pub(super) fn bridge(&self, commands: &mut Commands<'_>) -> Result<(), BenchError> {
        if self.bridged.is_empty() {
            return Ok(());
        }
        commands.run("ip link add name br0 type bridge stp_state 0 mcast_snooping 0")?;
        for end in &self.bridged {
            commands.run(&format!("ip link set {end} master br0"))?;
        }
        commands.run("ip link set br0 up")?;
        if !self.bridge_rules.is_empty() {
            let hook = "filter hook forward priority 0 ; policy accept";
            chain(commands, "bridge filter forward", hook)?;
        }
        for Rule { matches, .. } in &self.bridge_rules {
            commands.run(&format!("nft add rule bridge filter forward {matches} drop"))?;
        }
        Ok(())
    }

    /// Addresses, and routes. The rig has IPv6 switched off; of addresses nobody is asked whether he has
    /// them, too. By those of the links the kernel asks for neighbours.
    pub(super) fn route(&self, commands: &mut Commands<'_>) -> Result<(), BenchError> {
        let (whole, each, flags): (&[&str], &[&str], _) = match self.family {
            _ if self.addresses.is_empty() => return Ok(()),
            Family::Ipv4 => (
                &["ipv4.ip_forward=1", "ipv4.conf.all.rp_filter=0"],
                &["ipv4.conf.END.rp_filter=0"],
                "",
            ),
            Family::Ipv6 => (
                &["ipv6.conf.all.forwarding=1"],
                &["ipv6.conf.END.accept_dad=0", "ipv6.conf.END.disable_ipv6=0"],
                " nodad",
            ),
        };
        for setting in whole {
            commands.run(&format!("sysctl -qw net.{setting}"))?;
        }
        for (address, end) in &self.addresses {
            for setting in each {
                commands.run(&format!("sysctl -qw net.{}", setting.replace("END", end)))?;
            }
            commands.run(&format!("ip address add {address} dev {end}{flags}"))?;
        }
        let lines: Vec<String> =
            self.routes.iter().map(|(to, by)| format!("route add {to} via {by}")).collect();
        match lines.as_slice() {
            [first, .., last] if lines.len() > FEW => {
                let said = format!("ip {first}  ({} of them, to ip {last})", lines.len());
                commands.batch(&lines.join("\n"), &said)
            }
            lines => lines.iter().try_for_each(|line| commands.run(&format!("ip {line}"))),
        }
    }

    /// The rules of the chain forward; of the kernel's flow table why there is none, if a rule wants one.
    /// FastTrack changes how soon a packet is out, not what becomes of it.
    pub(super) fn filter(&self, commands: &mut Commands<'_>) -> Result<Option<String>, BenchError> {
        if self.rules.is_empty() {
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
        Ok(missing)
    }

    /// Masquerading; and connection tracking, by a rule in a chain that nothing jumps to, where no other
    /// rule looks at connections.
    pub(super) fn connections(&self, commands: &mut Commands<'_>) -> Result<(), BenchError> {
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
    pub(super) fn classes(&self, commands: &mut Commands<'_>) -> Result<(), BenchError> {
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

    fn rule(&self, words: &Words) -> Option<Rule> {
        let action = match of(words, "action")? {
            "accept" => Action::Accept,
            "drop" => Action::Drop,
            "fasttrack-connection" => Action::Fast,
            _ => return None,
        };
        let is_forward = of(words, "chain") == Some("forward");
        Some(Rule { matches: self.matches(words).filter(|_| is_forward)?, action })
    }

    /// Matchers, as nft says them; a protocol is said with the port, and a bridge's with the address.
    fn matches(&self, words: &Words) -> Option<String> {
        let (ip, protocol) = (self.nft(), of(words, "protocol"));
        let has_port = of(words, "src-port").or(of(words, "dst-port")).is_some();
        let mut said = vec![];
        for (name, value) in words {
            said.push(match (*name, value.as_str()) {
                ("chain" | "action", _) => continue,
                ("src-address", address) => format!("{ip} saddr {address}"),
                ("dst-address", address) => format!("{ip} daddr {address}"),
                ("in-interface", interface) => format!("iifname {}", self.end(interface)?),
                ("out-interface", interface) => format!("oifname {}", self.end(interface)?),
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

/// The value of this name.
fn of<'a>(words: &'a Words, name: &str) -> Option<&'a str> {
    words.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::ALL;

    fn said(rules: &[Rule]) -> Vec<String> {
        rules.iter().map(|rule| format!("{} {:?}", rule.matches, rule.action)).collect()
    }

    /// Whatever the rows of the table have, the kernel can be told.
    #[test]
    fn rows_of_the_table() {
        for row in ALL {
            let name = format!("{} {}", row.mode, row.name);
            let wanted = Wanted::read(row.script, &DEVICE_ENDS);
            let wanted = wanted.unwrap_or_else(|why| panic!("{name}: {why}"));
            let drops = |rules: &[Rule]| rules.iter().filter(|r| r.action == Action::Drop).count();
            let expected = match (name.as_str(), row.name) {
                ("Bridging 25-filter-rules", _) => (0, 25, 0),
                (_, "25-filter-rules" | "fasttrack") => (25, 0, 0),
                (_, "25-simple-queues") => (0, 0, 25),
                _ => (0, 0, 0),
            };
            let there = (drops(&wanted.rules), drops(&wanted.bridge_rules), wanted.queues.len());
            assert_eq!(there, expected, "{name}");
            let masquerade: &[&str] = match row.name {
                "fasttrack" if row.family == Family::Ipv4 => {
                    &["oifname d1 udp sport 10000-10199 masquerade"]
                }
                _ => &[],
            };
            assert_eq!(wanted.masquerade, masquerade);
            assert_eq!(wanted.family, row.family);
            let stateful = ["25-filter-rules", "fasttrack", "conntrack"].contains(&row.name);
            assert_eq!(wanted.is_stateful(), stateful && row.mode == measure::Mode::Routing);
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
            let wanted = Wanted::read(script, &["d0", "d1", "d2", "d3"]).unwrap();
            assert_eq!(wanted.is_stateful(), stateful, "{script}");
            assert_eq!(wanted.masquerade, masquerade, "{script}");
            assert_eq!(said(&wanted.rules), expected, "{script}");
        }
    }

    #[test]
    fn addresses_and_bridges() {
        let script = "/ip address\nadd address=198.18.1.1/24 interface=ether1\n/ip route\n\
                      add dst-address=198.18.65.0/24 gateway=198.18.1.10\n";
        let wanted = Wanted::read(script, &DEVICE_ENDS).unwrap();
        assert_eq!(wanted.addresses, [("198.18.1.1/24".to_string(), "d0")]);
        assert_eq!(wanted.routes, [("198.18.65.0/24".to_string(), "198.18.1.10".to_string())]);
        let bridge = include_str!("../../../../configs/bridge-two-ports.rsc");
        assert_eq!(Wanted::read(bridge, &DEVICE_ENDS).unwrap().bridged, DEVICE_ENDS);
    }

    #[test]
    fn words() {
        let one = |words: &str| {
            let script = format!("# a rule\n/ip firewall filter\nadd chain=forward {words}\n");
            Wanted::read(&script, &DEVICE_ENDS).map(|wanted| said(&wanted.rules).concat())
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
        let wanted = Wanted::read(script, &DEVICE_ENDS).unwrap();
        let expected = ["ip6 saddr 2001:db8::1/128 Drop", "ct state established Fast"];
        assert_eq!(said(&wanted.rules), expected);
        assert_eq!((wanted.family, wanted.queues.len()), (Family::Ipv6, 1));
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
            "/ip route\nadd dst-address=198.20.0.0/16 type=blackhole",
            "/interface bridge\nadd name=bridge1",
            "/ip address\nset 0 disabled=yes",
            "/ip address\nadd address=198.18.0.1/24 interface=ether3",
            "/queue simple\nadd name=a target=2001:2::1/128 max-limit=1G/1G",
            "/ipv6 firewall raw\nadd chain=prerouting action=drop",
        ] {
            let error = Wanted::read(script, &DEVICE_ENDS).unwrap_err();
            assert!(
                error.starts_with("do line 2 of") || error.starts_with("do /"),
                "{script}: {error}"
            );
        }
        let script = "/interface bridge filter\n\
                      add chain=forward src-mac-address=02:00:5E:00:53:01/FF:FF:FF:FF:FF:FF action=drop\n\
                      add chain=forward mac-protocol=ip dst-address=203.0.113.8/29 action=drop\n\
                      /queue simple\nadd name=a target=198.18.0.1/32 max-limit=100G/10G\n";
        let wanted = Wanted::read(script, &DEVICE_ENDS).unwrap();
        let bridge = ["ether saddr 02:00:5e:00:53:01 Drop", "ip daddr 203.0.113.8/29 Drop"];
        assert_eq!(said(&wanted.bridge_rules), bridge);
        let [target, upload, download] = ["198.18.0.1/32", "100gbit", "10gbit"].map(str::to_string);
        assert_eq!(wanted.queues, [Queue { target, upload, download }]);
    }
}
