//! Queries of the API: which items a `print` is about.
//!
//! ```text
//! ?type=ether   ?type=vlan   ?#|!         neither of them
//!    true          false       false      a stack of answers, for each item
//! ```
//!
//! The stack begins with as many `true` as anybody pops; an item is meant if no `false` is left.

use crate::api::{Trap, plain};
use crate::condition::{compare, field};
use crate::script::Operator;
use crate::{AnyName, Menu, Type, Value};

/// A query, read.
#[derive(Debug)]
pub(crate) struct Query(Vec<Step>);

#[derive(Debug)]
enum Step {
    /// Whether there is a value, or none.
    Has(String, bool),
    Compare {
        name: String,
        kind: Type,
        operator: Operator,
        value: Option<Value>,
        text: String,
    },
    /// A name that the menu does not know: it has no value, whatever is asked of it.
    Nothing,
    Not,
    And,
    Or,
    /// Pushes a copy of the value at this depth.
    Copy(usize),
    /// Leaves only the value at this depth.
    Only(usize),
}

/// Answers a query may hold at a time.
const MAX_DEPTH: usize = 1000;

impl Query {
    /// Reads query words, each without its question mark.
    pub(crate) fn new(menu: &'static Menu, words: &[String]) -> Result<Query, Trap> {
        let mut steps = Vec::new();
        for word in words {
            match word.as_bytes() {
                [b'#', ..] => operations(&word[1..], &mut steps)?,
                [b'-', ..] => steps.push(has(menu, &word[1..], false)),
                [b'=', ..] => steps.push(question(menu, &word[1..], Operator::Equal)),
                [b'<', ..] => steps.push(question(menu, &word[1..], Operator::Less)),
                [b'>', ..] => steps.push(question(menu, &word[1..], Operator::Greater)),
                _ => steps.push(question(menu, word, Operator::Equal)),
            }
        }
        Ok(Query(steps))
    }

    /// Whether an item of these values is meant.
    pub(crate) fn holds(&self, value: impl Fn(&str) -> Option<Value>) -> bool {
        // RouterOS shows no empty comment, so there is none.
        let value = |name: &str| {
            value(name).filter(|value| !(name == "comment" && plain(value).is_empty()))
        };
        let mut stack: Vec<bool> = Vec::new();
        for step in &self.0 {
            let answer = match step {
                Step::Has(name, wanted) => value(name).is_some() == *wanted,
                Step::Compare { name, kind, operator, value: typed, text } => value(name)
                    .is_some_and(|value| {
                        plain(&value) == *text && *operator == Operator::Equal
                            || compare(Some(&value), *operator, typed.as_ref(), text, kind)
                    }),
                Step::Nothing => false,
                Step::Not => !stack.pop().unwrap_or(true),
                Step::And => stack.pop().unwrap_or(true) & stack.pop().unwrap_or(true),
                Step::Or => stack.pop().unwrap_or(true) | stack.pop().unwrap_or(true),
                Step::Copy(depth) => at(&stack, *depth),
                Step::Only(depth) => {
                    let only = at(&stack, *depth);
                    stack.clear();
                    only
                }
            };
            if stack.len() < MAX_DEPTH {
                stack.push(answer);
            }
        }
        stack.into_iter().all(|answer| answer)
    }
}

fn at(stack: &[bool], depth: usize) -> bool {
    stack.len().checked_sub(depth + 1).and_then(|at| stack.get(at)).copied().unwrap_or(true)
}

fn has(menu: &'static Menu, name: &str, wanted: bool) -> Step {
    match exact(menu, name) {
        Some(_) => Step::Has(name.to_string(), wanted),
        None if wanted => Step::Nothing,
        None => Step::Copy(usize::MAX - 1), // `true`, from below the bottom
    }
}

fn question(menu: &'static Menu, word: &str, operator: Operator) -> Step {
    let Some((name, text)) = word.split_once('=') else { return has(menu, word, true) };
    let Some(kind) = exact(menu, name) else { return Step::Nothing };
    let value = kind.parse(text, &AnyName).ok();
    Step::Compare { name: name.to_string(), kind, operator, value, text: text.to_string() }
}

fn exact(menu: &'static Menu, name: &str) -> Option<Type> {
    field(menu, name).ok().filter(|(found, _)| *found == name).map(|(_, kind)| kind)
}

/// `!`, `&`, `|`, depths and dots.
fn operations(text: &str, steps: &mut Vec<Step>) -> Result<(), Trap> {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits > 0 {
            let depth: usize = rest[..digits].parse().unwrap_or(MAX_DEPTH);
            rest = &rest[digits..];
            if rest.is_empty() {
                steps.push(Step::Only(depth.min(MAX_DEPTH)));
                return Ok(());
            }
            steps.push(Step::Copy(depth.min(MAX_DEPTH)));
            // A dot only ends the number.
            rest = rest.strip_prefix('.').unwrap_or(rest);
            continue;
        }
        steps.push(match c {
            '!' => Step::Not,
            '&' => Step::And,
            '|' => Step::Or,
            '.' => Step::Copy(0),
            _ => return Err(Trap::new(None, format!("bad query operation {c}"))),
        });
        rest = &rest[c.len_utf8()..];
    }
    Ok(())
}
