//! `layer7-protocol`: patterns in the first payloads of a connection, both directions together.
//!
//! ```text
//! /ip firewall layer7-protocol ─► one automaton for all patterns (Patterns)
//! payloads of a connection ─► zero bytes out ─► up to 2 KB of up to 10 packets ─► which match (set)
//!                                                         then decided, for the connection's life
//! ```
//!
//! A connection that is decided needs no payloads any more: its packets have recipes again. Patterns
//! are regular expressions over bytes without regard to case, `^` and `$` the ends of what has come so
//! far. The automaton has a bounded size and takes linear time; a pattern that needs more is refused.
//!
//! Missing: **back-references and look-around**, which automata do not have; they are refused.

use super::connection::Key;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, PatternSet};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// A pattern, by name.
pub(crate) const PATTERN: Type = Type::Reference(&["/ip firewall layer7-protocol"]);

/// `/ip firewall layer7-protocol`.
pub static LAYER7: Menu = Menu {
    path: "/ip firewall layer7-protocol",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", crate::firewall::menu::WORD, "What rules call it.")
            .required()
            .column(),
        Property::new("regexp", Type::Custom(read), "What is looked for in the payloads.")
            .required()
            .column(),
    ],
    help: "Patterns that layer7-protocol looks for in the first 2 KB or 10 packets of connections.",
};

/// The longest pattern.
const MAX_PATTERN: usize = 2048;
/// The memory of one automaton, of one pattern and of all, in bytes.
const MAX_AUTOMATON: (usize, usize) = (1 << 18, 1 << 21);
/// Payload that is looked at, in bytes.
const MAX_PAYLOAD: usize = 2048;
/// Packets that are looked at.
const MAX_PACKETS: u8 = 10;
/// Connections that are looked at at once; others do not match meanwhile.
const MAX_UNDECIDED: usize = 8192;

fn read(text: &str) -> Result<Value, String> {
    if text.is_empty() || text.len() > MAX_PATTERN {
        return Err(format!("a regular expression of 1 to {MAX_PATTERN} characters"));
    }
    match automaton(&[text], MAX_AUTOMATON.0) {
        Ok(_) => Ok(Value::Text(text.to_string())),
        Err(why) => Err(format!("a regular expression: {why}")),
    }
}

pub(crate) fn automaton(patterns: &[&str], max: usize) -> Result<Regex, String> {
    let bytes = syntax::Config::new()
        .unicode(false)
        .utf8(false)
        .case_insensitive(true)
        .dot_matches_new_line(true);
    let config = Regex::config()
        .utf8_empty(false)
        .match_kind(MatchKind::All)
        .nfa_size_limit(Some(max))
        .onepass(false)
        .dfa(false)
        .backtrack(false)
        .hybrid_cache_capacity(max);
    let built = Regex::builder().syntax(bytes).configure(config).build_many(patterns);
    built.map_err(|error| match error.size_limit() {
        Some(_) => "this one needs too much memory".to_string(),
        None => match error.syntax_error() {
            Some(error) => error.to_string().lines().last().unwrap_or_default().to_string(),
            None => error.to_string(),
        },
    })
}

/// All patterns of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    names: Vec<String>,
    automaton: Option<Regex>,
    /// A hash of names and patterns: whether two are the same ones.
    id: u64,
}

/// `layer7-protocol` of a rule.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    all: Arc<Patterns>,
    number: u32,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        (self.all.id, self.number) == (other.all.id, other.number)
    }
}

impl Pattern {
    /// Whether it is among these, as [`Patterns::matching`] has them.
    #[cfg(test)]
    pub(crate) fn is_one_of(&self, matching: &[u32]) -> bool {
        matching.contains(&self.number)
    }
}

impl Patterns {
    /// The enabled patterns of the menu. Those beyond what all may take together are left out.
    pub fn compile(tree: &Tree) -> Patterns {
        let text = |item: &Item, name| match item.get(name) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let all = tree.enabled(LAYER7.path);
        let all =
            all.filter_map(|item| Some((text(item, "name")?, text(item, "regexp")?))).collect();
        Patterns::of(all)
    }

    /// These, by name.
    pub(crate) fn of(mut all: Vec<(String, String)>) -> Patterns {
        while !all.is_empty() {
            let regexps: Vec<&str> = all.iter().map(|(_, regexp)| regexp.as_str()).collect();
            if let Ok(automaton) = automaton(&regexps, MAX_AUTOMATON.1) {
                let mut hasher = DefaultHasher::new();
                all.hash(&mut hasher);
                let names = all.into_iter().map(|(name, _)| name).collect();
                return Patterns { names, automaton: Some(automaton), id: hasher.finish() };
            }
            all.pop();
        }
        Patterns::default()
    }

    /// The pattern of this name.
    pub(crate) fn find(self: &Arc<Self>, name: &str) -> Option<Pattern> {
        let at = self.names.iter().position(|known| known == name)?;
        Some(Pattern { all: self.clone(), number: at as u32 })
    }

    /// Which patterns these bytes match.
    pub fn matching(&self, payload: &[u8]) -> Vec<u32> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let mut set = PatternSet::new(automaton.pattern_len());
        automaton.which_overlapping_matches(&Input::new(payload), &mut set);
        set.iter().map(|pattern| pattern.as_u32()).collect()
    }
}

/// What is known of connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payloads {
    by_connection: HashMap<Key, Payload>,
    undecided: usize,
    /// At so many, those that have ended are looked for.
    full: usize,
}

#[derive(Clone, Debug, Default)]
struct Payload {
    bytes: Vec<u8>,
    packets: u8,
    /// Ascending.
    matching: Vec<u32>,
    /// Of which patterns.
    of: u64,
    decided: bool,
}

/// A packet as layer 7 sees it.
pub(crate) struct Part<'a> {
    pub(crate) connection: Key,
    pub(crate) payload: &'a [u8],
    /// A rule has looked at this packet before.
    pub(crate) seen: bool,
}

impl Payloads {
    /// What is kept of a connection, zero bytes left out.
    pub(crate) fn bytes(&self, connection: &Key) -> Option<&[u8]> {
        self.by_connection.get(connection).map(|payload| &payload.bytes[..])
    }

    /// Whether the connection matches a pattern, this packet included, and whether that is decided
    /// for its life.
    pub(crate) fn matches(
        &mut self,
        pattern: &Pattern,
        part: &Part,
        lives: impl Fn(&Key) -> bool,
    ) -> (bool, bool) {
        let known = self.by_connection.contains_key(&part.connection);
        if !known && (self.by_connection.len() >= self.full.max(MAX_UNDECIDED)) {
            self.by_connection.retain(|key, _| lives(key));
            self.undecided = self.by_connection.values().filter(|p| !p.decided).count();
            self.full = self.by_connection.len() * 2;
        }
        if !known && self.undecided >= MAX_UNDECIDED {
            self.by_connection.retain(|key, payload| payload.decided || lives(key));
            self.undecided = self.by_connection.values().filter(|p| !p.decided).count();
            if self.undecided >= MAX_UNDECIDED {
                return (false, false);
            }
        }
        let payload = self.by_connection.entry(part.connection).or_insert_with(|| {
            self.undecided += 1;
            Payload::default()
        });
        let of = pattern.all.id;
        let is_decided = payload.decided;
        if !part.seen && !is_decided {
            payload.add(part.payload);
        }
        if !is_decided || payload.of != of {
            // Patterns that were changed meanwhile see what was kept.
            payload.matching = pattern.all.matching(&payload.bytes);
            payload.of = of;
        }
        if !is_decided && payload.is_full() {
            payload.decided = true;
            self.undecided -= 1;
        }
        (payload.matching.binary_search(&pattern.number).is_ok(), payload.decided)
    }
}

impl Payload {
    fn add(&mut self, payload: &[u8]) {
        if payload.is_empty() {
            return;
        }
        self.packets += 1;
        let room = MAX_PAYLOAD - self.bytes.len();
        self.bytes.extend(payload.iter().filter(|&&byte| byte != 0).take(room));
    }

    fn is_full(&self) -> bool {
        self.packets >= MAX_PACKETS || self.bytes.len() >= MAX_PAYLOAD
    }
}

#[cfg(test)]
mod tests;
