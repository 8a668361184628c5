//! Inert lines: those of a configuration that have no meaning here, kept word for word.
//!
//! ```text
//! /interface wireless                         ─►  /
//! set [ find default-name=wlan1 ] ssid=x      ─►  /system inert add menu="/interface wireless" line="set …"
//! /interface bridge port
//! add bridge=lan interface=wlan1              ─►  as it is; /interface absent has a wlan1, which never runs
//! ```
//!
//! A tolerant import is another text, line by line the same: what the import of that text does and
//! refuses is what every import does and refuses. Inert is what could change nothing about a packet;
//! all else that is not here stays refused.

use crate::script::{Lexer, Part, Word, quote_always};
use crate::survey::{split, statements};
use crate::{Error, Item, Menu, MenuKind, Property, Type, Value};
use std::collections::BTreeSet;

/// Menus whose lines are inert: the first words of their paths, and why they have no meaning here.
pub const TABLE: &[(&str, &str)] = &[
    ("/app", "containers are the host's"),
    ("/caps-man", "there are no radios"),
    ("/certificate", "certificates are the host's"),
    ("/container", "containers are the host's"),
    ("/disk", "disks are the host's"),
    ("/interface lte", "there are no modems"),
    ("/interface wifi", "there are no radios"),
    ("/interface wifiwave2", "there are no radios"),
    ("/interface wireless", "there are no radios"),
    ("/iot", "there is no such hardware"),
    ("/ip cloud", "there is no cloud"),
    ("/ip hotspot service-port", "clients of hotspots keep their addresses"),
    ("/ip ipsec mode-config", "nobody is given an address by IPsec"),
    ("/ip ipsec peer profile", "version 6.43's: name it in /ip ipsec profile"),
    ("/ip ipsec policy group", "no policy is made of a template"),
    ("/ip ipsec settings", "RADIUS is not asked by IPsec"),
    ("/ip ipsec user settings", "there is no XAuth"),
    ("/ip neighbor discovery", "version 6.43's: name a list in discovery-settings"),
    // The proxy (/ip proxy) is off.
    ("/ip proxy access", "there is no web proxy"),
    ("/ip proxy cache", "there is no web proxy"),
    ("/ip proxy direct", "there is no web proxy"),
    ("/ip smb", "files are the host's"),
    ("/ip ssh", "SSH is the host's"),
    ("/ip tftp", "files are the host's"),
    ("/ip traffic-flow ipfix", "collectors are told all that is known of flows"),
    ("/lcd", "there is no display"),
    ("/port", "serial ports are the host's"),
    ("/routing bfd", "nothing asks BFD"),
    ("/special-login", "serial ports are the host's"),
    ("/system clock manual", "the time shown is UTC"),
    ("/system console", "serial ports are the host's"),
    ("/system gps", "there is no receiver"),
    ("/system health", "sensors are the host's"),
    ("/system leds", "there are no LEDs"),
    ("/system lcd", "there is no display"),
    ("/system package", "packages are the host's"),
    ("/system resource irq", "interrupts are the host's"),
    ("/system routerboard", "there is no RouterBOARD"),
    ("/system ups", "the UPS is the host's"),
    ("/system upgrade", "packages are the host's"),
    ("/system watchdog", "the watchdog is the host's"),
    ("/tool bandwidth-server", "there is no bandwidth test"),
    ("/tool e-mail", "nobody is sent mail"),
    ("/tool graphing", "there are no graphs"),
    ("/tool mac-server", "nobody logs in by MAC"),
    ("/tool romon", "nobody logs in by MAC"),
    ("/tool sms", "there are no modems"),
    ("/user aaa", "RADIUS is not asked who may log in here"),
];

/// The same of menus by themselves: what is below them is not, and without it none of these is asked.
pub const ALONE: &[(&str, &str)] = &[
    ("/routing bgp instance", "there is no BGP"),
    ("/routing bgp template", "there is no BGP"),
    ("/routing id", "there are no routing protocols"),
    ("/routing mme", "there is no MME"),
    ("/routing ospf area", "there is no OSPF"),
    ("/routing ospf instance", "there is no OSPF"),
    ("/routing rip", "there is no RIP"),
];

/// Menus of which those lines are inert that say nothing but these: what is so here anyway. A word that
/// ends in `=` stands for any value.
pub const SOME: &[(&str, &str, &[&str])] = &[
    (
        "/interface detect-internet",
        "nobody looks for the Internet",
        &[
            "detect-interface-list=none",
            "internet-interface-list=",
            "lan-interface-list=",
            "wan-interface-list=",
        ],
    ),
    (
        "/interface ethernet switch",
        "there is no switch chip",
        &[
            "cpu-flow-control=",
            "l3-hw-offloading=",
            "mirror-source=none",
            "mirror-target=none",
            "name=",
        ],
    ),
    (
        "/interface ethernet switch port",
        "there is no switch chip",
        &["default-vlan-id=", "vlan-header=leave-as-is", "vlan-mode=disabled", "l3-hw-offloading="],
    ),
];

/// Inert menus whose items are interfaces.
const INTERFACES: &[&str] = &[
    "/caps-man interface",
    "/interface lte",
    "/interface wifi",
    "/interface wifiwave2",
    "/interface wireless",
];

/// What interfaces without hardware are called in a factory, before their number.
const NAMES: &[&str] = &["wlan", "wifi", "lte", "cap"];

/// Why lines of a menu are inert, if they are.
pub fn why(menu: &str) -> Option<&'static str> {
    let is = |path: &str| {
        menu.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let alone = ALONE.iter().find(|(path, _)| *path == menu);
    TABLE.iter().find(|(path, _)| is(path)).or(alone).map(|(_, why)| *why)
}

/// Why a line of a menu is inert, if it is.
pub(crate) fn why_of(menu: &str, command: &str) -> Option<&'static str> {
    let some = || {
        let (_, why, said) = SOME.iter().find(|(path, ..)| *path == menu)?;
        let command = joined(command);
        let mut words = command.split_whitespace().filter(|word| word.contains('='));
        let is_said = |word: &str| {
            said.iter().any(|said| *said == word || said.ends_with('=') && word.starts_with(said))
        };
        // Which items are changed does not matter.
        let is_inert = words.all(|word| is_said(word) || word.starts_with("default-name="));
        (is_inert && command.starts_with("set")).then_some(*why)
    };
    why(menu).or_else(some)
}

/// Whether lines of a menu may be inert.
fn has_inert(menu: &str) -> bool {
    why(menu).is_some() || SOME.iter().any(|(path, ..)| *path == menu)
}

/// `/system inert`: the lines that are kept. Their comments say why they are inert.
pub static MENU: Menu = Menu {
    path: "/system inert",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("menu", Type::Text, "The menu that the line was in.").required().column(),
        Property::new("line", Type::Text, "The line, word for word.").required().column(),
    ],
    help: "Lines of menus without a meaning here: only kept, and exported as they were.",
};

/// What a kept line must be.
///
/// # Errors
/// It would be exported as something else: its menu has a meaning, or it is no single line.
pub(crate) fn check(item: &Item) -> Result<(), String> {
    let text = |name| item.get(name).map(Value::to_string).unwrap_or_default();
    let (menu, line) = (text("menu"), text("line"));
    if why_of(&menu, &line).is_none() {
        return Err(format!("failure: {menu} is not inert"));
    }
    let alone = statements(&line).is_ok_and(|found| found.len() == 1);
    if !alone || line.contains('\n') || line.starts_with([':', '/', '#']) {
        return Err("failure: line is not one command".to_string());
    }
    Ok(())
}

/// The lines of some kept items, as an export has them.
pub(crate) fn export<'a>(items: impl Iterator<Item = &'a Item>, terse: bool) -> String {
    let (mut text, mut place) = (String::new(), String::new());
    for item in items {
        let said = |name| item.get(name).map(Value::to_string).unwrap_or_default();
        let (menu, line) = (said("menu"), said("line"));
        if menu != place {
            let why = why_of(&menu, &line).unwrap_or_default();
            text += &format!("# inert: {why}\n");
            if !terse {
                text += &format!("{menu}\n");
            }
        }
        text += &if terse { format!("{menu} {line}\n") } else { format!("{line}\n") };
        place = menu;
    }
    text
}

/// A script in which inert lines are kept, and how many they are. Its other lines stand where they
/// stood.
///
/// # Errors
/// The script cannot be read at all: a bracket or a string is not closed.
pub fn tolerant(script: &str) -> Result<(String, usize), Error> {
    let script = script.strip_prefix(crate::script::BYTE_ORDER_MARK).unwrap_or(script);
    let (mut written, mut done, mut kept) = (String::new(), 0, 0);
    let mut place = String::new();
    for (_, range) in statements(script)? {
        let text = &script[range.clone()];
        written += &script[done..range.start];
        if done == 0 {
            written += &absent(script)?;
        }
        done = range.end;
        let (menu, command) = split(&place, text);
        let lines = text.matches('\n').count();
        let was_inert = has_inert(&place);
        if command.is_empty() {
            place.clone_from(&menu);
        }
        let inert = match command.is_empty() {
            true => has_inert(&menu).then_some(""),
            false => why_of(&menu, &command),
        };
        match inert {
            Some(_) if command.is_empty() => written += "/",
            Some(_) if !text.starts_with(':') => {
                written += &keep(&menu, &command);
                kept += 1;
            }
            None if was_inert && !text.starts_with([':', '/']) => {
                written += format!("{menu} {command}").trim_end();
                continue;
            }
            _ => {
                written += text;
                continue;
            }
        }
        // What follows stays on its line.
        written += &"\n".repeat(lines);
    }
    written += &script[done..];
    Ok((written, kept))
}

/// The command that keeps a line.
pub(crate) fn keep(menu: &str, command: &str) -> String {
    let why = quote_always(why_of(menu, command).unwrap_or_default());
    let menu = quote_always(menu);
    format!("{} add menu={menu} line={} comment={why}", MENU.path, quote_always(&joined(command)))
}

/// A command on one line: without the backslashes that end lines, and the blanks behind them.
fn joined(command: &str) -> String {
    let mut parts = command.replace("\r\n", "\n");
    while let Some(at) = parts.find("\\\n") {
        let rest = parts[at + 2..].trim_start_matches([' ', '\t']).to_string();
        parts.truncate(at);
        parts += &rest;
    }
    parts
}

/// The commands that make the interfaces a script speaks of and no hardware has, where they are not
/// there yet.
pub(crate) fn absent(script: &str) -> Result<String, Error> {
    let (mut names, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut place = String::new();
    for (_, range) in statements(script)? {
        let text = &script[range];
        let (menu, command) = split(&place, text);
        let words = Lexer::new(text).next().ok().flatten().map(|statement| statement.words);
        let words = words.unwrap_or_default();
        let named = words.iter().find_map(|word| valued(word).filter(|(name, _)| *name == "name"));
        if command.is_empty() {
            place = menu;
        } else if INTERFACES.contains(&menu.as_str()) {
            let default = command.split_once("default-name=").map(|(_, rest)| {
                let rest = rest.trim_start_matches('"');
                rest.split([' ', ']', '"']).next().unwrap_or_default()
            });
            names.extend(named.map(|(_, name)| name.to_string()).or(default.map(String::from)));
        } else if why(&menu).is_none() {
            others.extend(named.map(|(_, name)| name.to_string()));
            let spoken = words.iter().filter_map(valued).filter(|(name, _)| {
                name.ends_with("interface") || ["tagged", "untagged", "gateway"].contains(name)
            });
            let values = spoken.flat_map(|(_, value)| value.split([',', '!', '%']));
            names.extend(values.filter(|name| is_absent(name)).map(String::from));
        }
    }
    let names = names.difference(&others).map(|name| quote_always(name));
    let made = names.map(|name| {
        format!(
            ":if ([:len [/interface find name={name}]] = 0) do={{/interface absent add name={name}}}; "
        )
    });
    Ok(made.collect())
}

/// `name=value`, where the value is said and not computed.
fn valued(word: &Word) -> Option<(&str, &str)> {
    match (&word.name, word.value.as_slice()) {
        (Some((name, _)), [Part::Plain(value) | Part::Quoted(value)]) => Some((name, value)),
        _ => None,
    }
}

/// Whether hardware that is not here is called so in a factory: `wlan1`, `lte2`.
fn is_absent(name: &str) -> bool {
    let mut numbers = NAMES.iter().filter_map(|kind| name.strip_prefix(kind));
    numbers.any(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_where_they_stood() {
        for (script, expected, count) in [
            ("/ip address\nadd address=1", "/ip address\nadd address=1", 0),
            (
                "# a\r\n/lcd\nset a=\\\n  b\n/ip address add c=d",
                "# a\r\n/\n/system inert add menu=\"/lcd\" line=\"set a=b\" comment=\"there is no display\"\n\n\
                 /ip address add c=d",
                1,
            ),
            ("/port\n..\nip address\nadd a=b", "/\n\nip address\nadd a=b", 0),
            ("/ip hotspot\nadd interface=ether1", "/ip hotspot\nadd interface=ether1", 0),
            (
                "/interface ethernet switch port\nset 0 default-vlan-id=0\nset 1 vlan-mode=secure",
                "/\n/system inert add menu=\"/interface ethernet switch port\" \
                 line=\"set 0 default-vlan-id=0\" comment=\"there is no switch chip\"\n\
                 /interface ethernet switch port set 1 vlan-mode=secure",
                1,
            ),
            ("/routing rip network\nadd a=b", "/routing rip network\nadd a=b", 0),
        ] {
            let (written, kept) = tolerant(script).unwrap();
            assert_eq!((written.as_str(), kept), (expected, count), "{script}");
        }
    }

    #[test]
    fn interfaces_are_found() {
        for (script, expected) in [
            ("/interface wireless set [ find default-name=wlan1 ] ssid=x", vec!["wlan1"]),
            (
                "/interface wireless set [ find default-name=wlan1 ] name=\"at home\"",
                vec!["at home"],
            ),
            ("/interface wifi add master-interface=wifi1 name=guest", vec!["guest"]),
            ("/interface wireless security-profiles add name=x", vec![]),
            ("/interface bridge port add bridge=b interface=wlan2", vec!["wlan2"]),
            ("/ip firewall nat add out-interface=!lte1 comment=\"wlan1 off\"", vec!["lte1"]),
            ("/interface bridge add name=wifi1\n/ip address add interface=wifi1", vec![]),
        ] {
            let made = absent(script).unwrap();
            let made: Vec<_> = made.split("do={/interface absent add name=\"").skip(1).collect();
            let names: Vec<_> = made.iter().filter_map(|rest| rest.split('"').next()).collect();
            assert_eq!(names, expected, "{script}");
        }
    }
}
