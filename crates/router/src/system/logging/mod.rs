//! `/system logging`: which lines of the log go where.
//!
//! ```text
//! Log::say, log=yes ─► rules: topics? ─┬► memory   lines of /log, by buffer
//!                                      ├► remote   a syslog datagram through OUTPUT ([`syslog`])
//!                                      └► disk, echo: handed to whoever runs the router
//! ```
//!
//! A rule takes a line that has all its topics, and none of those behind a `!`. A line that several
//! rules send to the same action with the same prefix goes there once.
//!
//! Never reads a file or a terminal. **Missing**: e-mail, CEF, remote by TCP.

pub(crate) mod menu;
pub(crate) mod syslog;

use crate::ip::datagram::End;
use config::{Read, Tree, Value};
use menu::{ACTION, LOGGING};
use std::sync::Arc;

/// `/system logging`, compiled.
#[derive(Debug, PartialEq, Eq)]
pub struct Logging {
    pub(crate) rules: Vec<Rule>,
    /// How many lines all buffers hold together.
    pub(crate) capacity: usize,
}

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Topics, and whether a line must have them, or must not.
    topics: Vec<(String, bool)>,
    pub(crate) prefix: Arc<str>,
    pub(crate) action: Arc<Action>,
}

/// Where lines go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) name: Arc<str>,
    pub(crate) target: Target,
}

/// How.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Memory { lines: usize, stop_on_full: bool },
    Remote(Remote),
    Outside(Outlet),
}

/// A syslog server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) to: End,
    pub(crate) src: Option<u32>,
    pub(crate) format: Format,
    pub(crate) facility: u8,
    /// `None` is `auto`: that of the topics.
    pub(crate) severity: Option<u8>,
}

/// How a datagram is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// RouterOS's own: topics and message, nothing else.
    Plain,
    /// RFC 3164.
    Bsd,
    /// RFC 5424.
    Iso,
}

/// Where whoever runs the router puts a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlet {
    /// The device's own terminal.
    Echo,
    /// A file of the device's: `NAME.0.txt` is the newest.
    File {
        /// `disk-file-name`.
        name: String,
        /// `disk-lines-per-file`.
        lines: u32,
        /// `disk-file-count`.
        files: u32,
        /// `disk-stop-on-full`: nothing is thrown away for a new line.
        stop_on_full: bool,
    },
}

impl Default for Logging {
    /// What a device begins with.
    fn default() -> Logging {
        let mut tree = Tree::default();
        menu::actions().into_iter().for_each(|values| {
            tree.push(&ACTION, values);
        });
        menu::rules().into_iter().for_each(|values| {
            tree.push(&LOGGING, values);
        });
        Logging::compile(&tree)
    }
}

impl Logging {
    /// One buffer of so many lines for everything.
    pub(crate) fn all(lines: usize) -> Logging {
        let target = Target::Memory { lines, stop_on_full: false };
        let action = Arc::new(Action { name: "memory".into(), target });
        Logging { rules: vec![Rule { topics: vec![], prefix: "".into(), action }], capacity: lines }
    }

    pub(crate) fn compile(tree: &Tree) -> Logging {
        let actions: Vec<_> = tree.read(&ACTION).map(|item| Arc::new(action(&item))).collect();
        let rules = tree.read(&LOGGING).filter(|item| !item.bool("disabled"));
        let rules = rules.filter_map(|item| {
            let name = item.text("action");
            let action = actions.iter().find(|action| *action.name == *name)?.clone();
            let topics = item.list("topics").iter().map(topic).collect();
            Some(Rule { topics, prefix: item.text("prefix").into(), action })
        });
        let capacity = actions.iter().map(|action| match action.target {
            Target::Memory { lines, .. } => lines,
            _ => 0,
        });
        Logging { rules: rules.collect(), capacity: capacity.sum() }
    }

    /// The rules that send a line of these topics somewhere.
    pub(crate) fn of<'a>(&'a self, topics: &'a str) -> impl Iterator<Item = &'a Rule> {
        let same = |a: &Rule, b: &Rule| Arc::ptr_eq(&a.action, &b.action) && a.prefix == b.prefix;
        self.rules.iter().enumerate().filter_map(move |(at, rule)| {
            let told = |before: &Rule| same(before, rule) && before.takes(topics);
            (rule.takes(topics) && !self.rules[..at].iter().any(told)).then_some(rule)
        })
    }
}

impl Rule {
    fn takes(&self, topics: &str) -> bool {
        let has = |topic: &str| topics.split(',').any(|word| word == topic);
        self.topics.iter().all(|(topic, wanted)| has(topic) == *wanted)
    }
}

/// A topic, and whether it is wanted.
fn topic(value: &Value) -> (String, bool) {
    match value {
        Value::Not(topic) => (topic.to_string(), false),
        topic => (topic.to_string(), true),
    }
}

fn action(item: &Read) -> Action {
    let number = |name| u32::try_from(item.number(name)).unwrap_or(1);
    let address = |name| match &*item.value(name) {
        Value::Address(address) => u32::from(*address),
        _ => 0,
    };
    let target = match item.text("target").as_str() {
        "memory" => Target::Memory {
            lines: number("memory-lines") as usize,
            stop_on_full: item.bool("memory-stop-on-full"),
        },
        "disk" => Target::Outside(Outlet::File {
            name: menu::without_folder(&item.text("disk-file-name")).to_string(),
            lines: number("disk-lines-per-file"),
            files: number("disk-file-count"),
            stop_on_full: item.bool("disk-stop-on-full"),
        }),
        "remote" => {
            let word = |words: &[&str], name| {
                let said = item.text(name);
                words.iter().position(|word| *word == said).map(|place| place as u8)
            };
            let iso = item.text("syslog-time-format") == "iso8601";
            Target::Remote(Remote {
                to: End { address: address("remote"), port: number("remote-port") as u16 },
                src: Some(address("src-address")).filter(|&src| src != 0),
                format: match item.bool("bsd-syslog") || item.text("remote-log-format") == "syslog"
                {
                    false => Format::Plain,
                    true if iso => Format::Iso,
                    true => Format::Bsd,
                },
                facility: word(menu::FACILITIES, "syslog-facility").unwrap_or(3),
                severity: word(menu::SEVERITIES, "syslog-severity"),
            })
        }
        _ => Target::Outside(Outlet::Echo),
    };
    Action { name: item.name().into(), target }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_and_those_that_must_not_be() {
        for (topics, line, takes) in [
            ("info", "dhcp,info", true),
            ("info", "dhcp,warning", false),
            ("dhcp,info", "dhcp,info", true),
            ("dhcp,info", "system,info", false),
            ("info,!dhcp", "system,info", true),
            ("info,!dhcp", "dhcp,info", false),
            ("", "dhcp,info", true),
            ("!debug", "dhcp,debug", false),
        ] {
            let topics = topics.split(',').filter(|word| !word.is_empty());
            let topics = topics.map(|word| match word.strip_prefix('!') {
                Some(topic) => (topic.to_string(), false),
                None => (word.to_string(), true),
            });
            let all = Logging::all(1);
            let rule = Rule {
                topics: topics.collect(),
                prefix: "".into(),
                action: all.rules[0].action.clone(),
            };
            assert_eq!(rule.takes(line), takes, "{:?} {line}", rule.topics);
        }
    }
}
