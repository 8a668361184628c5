//! YAML as a tree whose every key and value knows where it stands.
//!
//! ```text
//! text ─► saphyr_parser (events, places) ─► Node { at, Map │ List │ Text } ─► topology, steps
//! ```
//!
//! What reads the tree says which keys are legal; whatever else is there is refused with its place,
//! so nothing is ever swallowed. Aliases and tags are refused: a lab's file says what it says, and
//! a few lines cannot become gigabytes.

use saphyr_parser::{Event, Parser, Span};
use std::fmt;

/// The longest file that is read.
const MOST_BYTES: usize = 1 << 20;
/// How deep maps and lists nest.
const MOST_DEPTH: usize = 16;

/// A place in a file; lines and columns count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Why a file is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub at: Place,
    /// What is wrong, and what would be right.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.at.line, self.at.column, self.why)
    }
}

/// A value and its place.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: Place,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Whether it was quoted or a block does not matter: every text is a text here.
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// A map whose keys are all known.
pub(super) struct Map<'a> {
    at: Place,
    entries: Vec<(&'a str, &'a Node)>,
}

impl Place {
    pub(super) fn fault(self, why: impl Into<String>) -> Fault {
        Fault { at: self, why: why.into() }
    }
}

impl Node {
    /// Reads a file's only document; an empty file is an empty map.
    pub(super) fn read(text: &str) -> Result<Node, Fault> {
        let top = Place { line: 1, column: 1 };
        if text.len() > MOST_BYTES {
            return Err(top.fault(format!("a lab's file has at most {MOST_BYTES} bytes")));
        }
        let mut events = Events { parser: Parser::new_from_str(text), depth: 0 };
        let mut root = None;
        loop {
            match events.next()? {
                (Event::StreamEnd, _) => break,
                (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
                (Event::Nothing, _) => {}
                (_, at) if root.is_some() => {
                    return Err(at.fault("a second document: a file holds one lab"));
                }
                (event, at) => root = Some(events.node(event, at)?),
            }
        }
        Ok(root.unwrap_or(Node { at: top, kind: Kind::Map(Vec::new()) }))
    }

    pub(super) fn fault(&self, why: impl Into<String>) -> Fault {
        self.at.fault(why)
    }

    /// The text, which is not empty.
    pub(super) fn text(&self) -> Result<&str, Fault> {
        match &self.kind {
            Kind::Text(text) if text.is_empty() => Err(self.fault("nothing stands here")),
            Kind::Text(text) => Ok(text),
            _ => Err(self.fault("a text is wanted here, not a list or a map")),
        }
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }

    pub(super) fn list(&self) -> Result<&[Node], Fault> {
        match &self.kind {
            Kind::List(list) => Ok(list),
            Kind::Text(text) if text.is_empty() => Ok(&[]),
            _ => Err(self.fault("a list is wanted here: lines that begin with -")),
        }
    }

    /// A map of any keys.
    pub(super) fn entries(&self) -> Result<Vec<(&Node, &Node)>, Fault> {
        match &self.kind {
            Kind::Map(entries) => Ok(entries.iter().map(|(key, value)| (key, value)).collect()),
            Kind::Text(text) if text.is_empty() => Ok(Vec::new()),
            _ => Err(self.fault("a map is wanted here: lines of key: value")),
        }
    }

    /// A map of these keys and no others.
    pub(super) fn map(&self, legal: &[&str]) -> Result<Map<'_>, Fault> {
        let mut entries = Vec::new();
        for (key, value) in self.entries()? {
            let name = key.text()?;
            if !legal.contains(&name) {
                let legal = legal.join(", ");
                return Err(key.fault(format!("{name} is no key here; legal are: {legal}")));
            }
            entries.push((name, value));
        }
        Ok(Map { at: self.at, entries })
    }

    /// A whole number of a range.
    pub(super) fn number(&self, least: u64, most: u64) -> Result<u64, Fault> {
        let number = self.text()?.parse().ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| self.fault(format!("a whole number from {least} to {most} is wanted")))
    }
}

impl<'a> Map<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    pub(super) fn need(&self, name: &str) -> Result<&'a Node, Fault> {
        self.get(name).ok_or_else(|| self.at.fault(format!("the key {name} is missing here")))
    }

    /// The one of these keys that is there.
    pub(super) fn one_of(&self, names: &[&'static str]) -> Result<(&'static str, &'a Node), Fault> {
        let mut there = names.iter().filter_map(|name| Some((*name, self.get(name)?)));
        match (there.next(), there.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some((name, node))) => {
                Err(node.fault(format!("{name} is too many: one of {}", names.join(", "))))
            }
            (None, _) => Err(self.at.fault(format!("one of these keys: {}", names.join(", ")))),
        }
    }
}

/// The parser's events, with places as people count them.
struct Events<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    depth: usize,
}

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Place), Fault> {
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, place(span))),
            Some(Err(error)) => {
                let mark = error.marker();
                let at = Place { line: mark.line(), column: mark.col() + 1 };
                Err(at.fault(format!("not YAML: {}", error.info())))
            }
            None => Ok((Event::StreamEnd, Place::default())),
        }
    }

    /// The node that begins with an event.
    fn node(&mut self, event: Event<'a>, at: Place) -> Result<Node, Fault> {
        if self.depth == MOST_DEPTH {
            return Err(at.fault(format!("nested deeper than {MOST_DEPTH}")));
        }
        self.depth += 1;
        let kind = match event {
            Event::Scalar(text, _, _, None) => Kind::Text(text.into_owned()),
            Event::SequenceStart(_, None) => {
                let mut list = Vec::new();
                while let Some(node) = self.until(&Event::SequenceEnd)? {
                    list.push(node);
                }
                Kind::List(list)
            }
            Event::MappingStart(_, None) => Kind::Map(self.map()?),
            Event::Alias(_) => return Err(at.fault("aliases are not read: write it out")),
            _ => return Err(at.fault("tags are not read: a plain value is wanted")),
        };
        self.depth -= 1;
        Ok(Node { at, kind })
    }

    fn map(&mut self) -> Result<Vec<(Node, Node)>, Fault> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        while let Some(key) = self.until(&Event::MappingEnd)? {
            let name = key.text()?;
            let before = entries.iter().find(|(other, _)| other.text() == Ok(name));
            if let Some((other, _)) = before {
                let Place { line, .. } = other.at;
                return Err(key.fault(format!("{name} is there twice, first in line {line}")));
            }
            let (event, at) = self.next()?;
            let value = self.node(event, at)?;
            entries.push((key, value));
        }
        Ok(entries)
    }

    /// The next node, unless this ends them.
    fn until(&mut self, end: &Event<'_>) -> Result<Option<Node>, Fault> {
        let (event, at) = self.next()?;
        if event == *end { Ok(None) } else { self.node(event, at).map(Some) }
    }
}

fn place(span: Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}
