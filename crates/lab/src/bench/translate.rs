//! The rows' scripts, in the words of nft and tc: so that every device has the same rules.
//!
//! ```text
//! add chain=forward src-address=192.0.2.1 action=drop ─► ip saddr 192.0.2.1 drop
//! add name=… target=198.18.0.101/32 max-limit=100G/100G ─► (198.18.0.101, 100gbit, 100gbit)
//! ```
//!
//! Reads flat scripts only: a menu a line, then its `add` lines, as in `configs/`. A word it does
//! not know is an error, never left out.

/// A script has something that cannot be said to the kernel.
pub type Unknown = String;

/// The `add` lines of a menu: for each, its words as name and value.
fn items<'a>(script: &'a str, menu: &str) -> Vec<Vec<(&'a str, &'a str)>> {
    let mut within = false;
    let mut items = Vec::new();
    for line in script.lines().map(str::trim) {
        if line.starts_with('/') {
            within = line == menu;
        } else if let (true, Some(words)) = (within, line.strip_prefix("add ")) {
            let pair = |word: &'a str| word.split_once('=').unwrap_or((word, ""));
            items.push(words.split_whitespace().map(pair).collect());
        }
    }
    items
}

/// The rules of the filter's chain forward that drop, as nft says them.
///
/// # Errors
/// [`Unknown`].
pub fn filter(script: &str) -> Result<Vec<String>, Unknown> {
    let drops = |rule: &&Vec<(&str, &str)>| rule.contains(&("action", "drop"));
    items(script, "/ip firewall filter").iter().filter(drops).map(|rule| rule_of(rule)).collect()
}

/// The same of the bridge's filter.
///
/// # Errors
/// [`Unknown`].
pub fn bridge_filter(script: &str) -> Result<Vec<String>, Unknown> {
    items(script, "/interface bridge filter").iter().map(|rule| rule_of(rule)).collect()
}

fn rule_of(words: &[(&str, &str)]) -> Result<String, Unknown> {
    let mut said = Vec::new();
    for &(name, value) in words {
        match (name, value) {
            // The protocol is said with the port, and bridges' with the address.
            ("chain", "forward") | ("protocol", "udp") | ("mac-protocol", "ip") => {}
            ("src-address", address) => said.push(format!("ip saddr {address}")),
            ("dst-address", address) => said.push(format!("ip daddr {address}")),
            ("dst-port", port) => said.push(format!("udp dport {port}")),
            ("src-mac-address", mac) => match mac.split_once('/') {
                Some((mac, "FF:FF:FF:FF:FF:FF")) => {
                    said.push(format!("ether saddr {}", mac.to_lowercase()));
                }
                _ => return Err(format!("{name}={value}")),
            },
            ("action", "drop") => said.push("drop".to_string()),
            _ => return Err(format!("{name}={value}")),
        }
    }
    Ok(said.join(" "))
}

/// The source ports of the masquerade rule, if there is one: `10000-10199`.
///
/// # Errors
/// [`Unknown`].
pub fn masqueraded(script: &str) -> Result<Option<String>, Unknown> {
    let mut ports = None;
    for rule in items(script, "/ip firewall nat") {
        for (name, value) in rule {
            match (name, value) {
                ("chain", "srcnat")
                | ("out-interface", "ether2")
                | ("protocol", "udp")
                | ("action", "masquerade") => {}
                ("src-port", range) => ports = Some(range.to_string()),
                _ => return Err(format!("{name}={value}")),
            }
        }
    }
    Ok(ports)
}

/// A simple queue: its client, and its limits as tc says them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The client's address.
    pub target: String,
    /// What it may send.
    pub upload: String,
    /// What it may be sent.
    pub download: String,
}

/// The simple queues.
///
/// # Errors
/// [`Unknown`].
pub fn queues(script: &str) -> Result<Vec<Queue>, Unknown> {
    let bits = |limit: &str| limit.strip_suffix('G').map(|number| format!("{number}gbit"));
    let queue = |words: &Vec<(&str, &str)>| {
        let mut queue =
            Queue { target: String::new(), upload: String::new(), download: String::new() };
        for &(name, value) in words {
            let unknown = || format!("{name}={value}");
            match name {
                "name" => {}
                "target" => queue.target = value.to_string(),
                "max-limit" => {
                    let (up, down) = value.split_once('/').ok_or_else(unknown)?;
                    queue.upload = bits(up).ok_or_else(unknown)?;
                    queue.download = bits(down).ok_or_else(unknown)?;
                }
                _ => return Err(unknown()),
            }
        }
        Ok(queue)
    };
    items(script, "/queue simple").iter().map(queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::ALL;

    /// Every row's rules can be said, all of them.
    #[test]
    fn every_script() {
        for row in ALL {
            let name = format!("{} {}", row.mode, row.name);
            let ip = filter(row.script).unwrap_or_else(|word| panic!("{name}: {word}"));
            let bridge = bridge_filter(row.script).unwrap_or_else(|word| panic!("{name}: {word}"));
            let queues = queues(row.script).unwrap_or_else(|word| panic!("{name}: {word}"));
            let expected = match (name.as_str(), row.name) {
                ("Bridging 25-filter-rules", _) => (0, 25, 0),
                (_, "25-filter-rules" | "fasttrack") => (25, 0, 0),
                (_, "25-simple-queues") => (0, 0, 25),
                _ => (0, 0, 0),
            };
            assert_eq!((ip.len(), bridge.len(), queues.len()), expected, "{name}");
            let ports = masqueraded(row.script).unwrap();
            assert_eq!(ports.as_deref(), (row.name == "fasttrack").then_some("10000-10199"));
        }
    }

    #[test]
    fn words() {
        let script = "/ip firewall filter\nadd chain=forward protocol=udp dst-port=7 action=drop\n\
                      add chain=forward connection-state=established action=accept\n\
                      /interface bridge filter\n\
                      add chain=forward src-mac-address=02:00:5E:00:53:01/FF:FF:FF:FF:FF:FF action=drop\n\
                      add chain=forward mac-protocol=ip dst-address=203.0.113.8/29 action=drop\n\
                      /queue simple\nadd name=a target=198.18.0.1/32 max-limit=100G/10G\n";
        assert_eq!(filter(script).unwrap(), ["udp dport 7 drop"]);
        let bridge = ["ether saddr 02:00:5e:00:53:01 drop", "ip daddr 203.0.113.8/29 drop"];
        assert_eq!(bridge_filter(script).unwrap(), bridge);
        let [target, upload, download] = ["198.18.0.1/32", "100gbit", "10gbit"].map(str::to_string);
        assert_eq!(queues(script).unwrap(), [Queue { target, upload, download }]);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let rule = |words: &str| filter(&format!("/ip firewall filter\nadd {words} action=drop"));
        assert_eq!(rule("chain=forward content=x").unwrap_err(), "content=x");
        assert_eq!(rule("chain=input").unwrap_err(), "chain=input");
        assert_eq!(
            queues("/queue simple\nadd name=a burst-limit=1M").unwrap_err(),
            "burst-limit=1M"
        );
        assert_eq!(queues("/queue simple\nadd max-limit=1M/1M").unwrap_err(), "max-limit=1M/1M");
    }
}
