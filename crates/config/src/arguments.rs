//! Arguments of a command: `name=value`, `!name`, flags and a word without a name, matched with the menu's
//! table.
//!
//! Parameter names may be abbreviated while that is unambiguous. What is not in the table, is
//! read-only, or is there but not implemented, is refused: nothing is swallowed.

use crate::error::choices;
use crate::parse::pick;
use crate::run::{Line, Run};
use crate::script::{Operator, Word};
use crate::{Access, Call, Command, Error, Item, Menu, Mismatch, Property, Type, Unnamed, Value};
use std::collections::{BTreeMap, HashSet};

/// What was said about items, before it is known which.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    /// `None` unsets.
    pub(crate) values: Vec<(&'static Property, Option<Value>)>,
    pub(crate) disabled: Option<bool>,
    pub(crate) comment: Option<String>,
}

/// A line's arguments.
pub(crate) struct Arguments<'w> {
    pub(crate) changes: Changes,
    /// `copy-from`, `place-before`, `numbers`.
    pub(crate) extras: BTreeMap<&'static str, &'w Word>,
}

/// What a parameter's name stands for.
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    Property(&'static Property),
    Disabled,
    Comment,
    Extra(&'static str),
}

impl Run<'_> {
    /// Reads `name=value`, `!name`, `flag` and, if `unnamed` says what it stands for, one word
    /// without a name.
    pub(crate) fn arguments<'w>(
        &mut self,
        menu: &'static Menu,
        line: Line<'w>,
        extras: &[&'static str],
        unnamed: Option<&'static str>,
    ) -> Result<Arguments<'w>, Error> {
        let mut arguments = Arguments { changes: Changes::default(), extras: BTreeMap::new() };
        let mut seen = HashSet::new();
        for word in line.words {
            let bare = match &word.name {
                Some((name, Operator::Equal)) => Err(name.as_str()),
                Some(_) => return Err(Error::end_of_command(word.at)),
                None => Ok(word.plain()),
            };
            // `!name` unsets; the first other bare word selects; the rest are flags: `disabled`.
            let unset = bare.ok().flatten().and_then(|bare| bare.strip_prefix('!'));
            if bare.is_ok()
                && unset.is_none()
                && let Some(unnamed) = unnamed
                && !arguments.extras.contains_key(unnamed)
            {
                arguments.extras.insert(unnamed, word);
                continue;
            }
            let name = match bare {
                Err(name) => name,
                Ok(Some(bare)) => unset.unwrap_or(bare),
                Ok(None) => return Err(Error::end_of_command(word.at)),
            };
            let empty = bare.is_err() && word.is_empty();
            let slot = slot(menu, extras, name, word, unset.is_some() || empty)?;
            if !seen.insert(slot.name()) {
                let help = format!("{} is given twice", slot.name());
                return Err(Error::end_of_command(word.at).help(help));
            }
            let changes = &mut arguments.changes;
            match (slot, bare.is_ok()) {
                (Slot::Property(property), true) if unset.is_some() => {
                    changes.values.push((property, None));
                }
                (Slot::Comment, true) if unset.is_some() => changes.comment = Some(String::new()),
                (_, true) if unset.is_some() => return Err(Error::end_of_command(word.at)),
                (Slot::Property(property), true) if property.kind.is_bool() => {
                    let value = self.read_as("yes", property.name, &property.kind, word.at)?;
                    arguments.changes.values.push((property, Some(value)));
                }
                (Slot::Disabled, true) => changes.disabled = Some(true),
                (_, true) => {
                    let help = format!("{} needs a value: {}=", slot.name(), slot.name());
                    return Err(Error::end_of_command(word.at).help(help));
                }
                (Slot::Property(property), false) => {
                    let value = self.value_of(word, property.name, &property.kind, line.path)?;
                    arguments.changes.values.push((property, Some(value)));
                }
                (Slot::Disabled, false) => {
                    let value = self.value_of(word, "disabled", &Type::Bool, line.path)?;
                    arguments.changes.disabled = Some(value == Value::Bool(true));
                }
                (Slot::Comment, false) => {
                    arguments.changes.comment = Some(self.text_of(word, line.path)?);
                }
                (Slot::Extra(name), false) => {
                    arguments.extras.insert(name, word);
                }
            }
        }
        Ok(arguments)
    }

    /// What is said to a command of the device's own, which the device runs.
    pub(crate) fn device(
        &mut self,
        command: &'static Command,
        menu: Option<&'static Menu>,
        line: Line,
    ) -> Result<Call, Error> {
        let mut call = Call { command, items: None, arguments: BTreeMap::new() };
        for word in line.words {
            let (name, name_at) = match (&word.name, command.unnamed) {
                (named, Unnamed::Items) if call.items.is_none() && is_numbers(named) => {
                    let menu = menu.ok_or_else(|| Error::end_of_command(word.at))?;
                    call.items = Some(self.select(menu, word, line.path)?);
                    continue;
                }
                (Some((name, Operator::Equal)), _) => (name.as_str(), word.at),
                (None, Unnamed::Parameter(name)) if !call.arguments.contains_key(name) => {
                    (name, word.at)
                }
                _ => (word.plain().ok_or_else(|| Error::end_of_command(word.at))?, word.at),
            };
            let names = command.parameters.iter().map(|parameter| parameter.name);
            let name = pick(names.clone(), name).map_err(|_| {
                let names: Vec<&str> = names.clone().collect();
                let help = format!("parameters of {} are {}", command.name, choices(name, &names));
                Error::end_of_command(name_at).help(help)
            })?;
            let parameter = command.parameters.iter().find(|parameter| parameter.name == name);
            let Some(parameter) = parameter else { continue };
            if let Access::Missing(remark) = parameter.access {
                return Err(Error::missing(name_at, remark));
            }
            let flag = word.name.is_none() && command.unnamed != Unnamed::Parameter(name);
            let value = match (flag, parameter.kind) {
                (false, kind) => self.value_of(word, name, &kind, line.path)?,
                (true, Type::Bool) => Value::Bool(true),
                (true, _) => return Err(Error::end_of_command(word.at)),
            };
            if call.arguments.insert(parameter.name, value).is_some() {
                return Err(Error::end_of_command(name_at).help(format!("{name} is given twice")));
            }
        }
        let required = command.parameters.iter().filter(|p| p.access == Access::Required);
        let absent = required.map(|p| p.name).filter(|name| !call.arguments.contains_key(name));
        let absent: Vec<&str> = absent.collect();
        if !absent.is_empty() {
            return Err(missing(line, &absent.join(" ")));
        }
        Ok(call)
    }
}

/// Whether a word says which items: by itself, or as `numbers=`.
fn is_numbers(name: &Option<(String, Operator)>) -> bool {
    name.as_ref()
        .is_none_or(|(name, operator)| (name.as_str(), *operator) == ("numbers", Operator::Equal))
}

impl Changes {
    pub(crate) fn apply(&self, item: &mut Item) {
        for (property, value) in &self.values {
            // Empty means unset, unless that differs from the default.
            let empty = |value: &Value| match value {
                Value::Text(text) => text.is_empty(),
                Value::List(values) => values.is_empty(),
                _ => false,
            };
            match value {
                Some(value) if !(empty(value) && property.default.is_empty()) => {
                    item.values.insert(property.name, value.clone());
                }
                _ => {
                    item.values.remove(property.name);
                }
            }
        }
        if let Some(disabled) = self.disabled {
            item.disabled = disabled;
        }
        if let Some(comment) = &self.comment {
            item.comment.clone_from(comment);
        }
    }
}

impl Slot {
    fn name(self) -> &'static str {
        match self {
            Slot::Property(property) => property.name,
            Slot::Disabled => "disabled",
            Slot::Comment => "comment",
            Slot::Extra(name) => name,
        }
    }
}

/// What can be said to items of a menu, by name.
pub(crate) fn slots(menu: &'static Menu, extras: &[&'static str]) -> BTreeMap<&'static str, Slot> {
    let mut slots = BTreeMap::new();
    for property in menu.properties.iter().filter(|property| property.access != Access::ReadOnly) {
        slots.insert(property.name, Slot::Property(property));
    }
    if menu.is_list() {
        slots.insert("comment", Slot::Comment);
        slots.insert("disabled", Slot::Disabled);
    }
    slots.extend(extras.iter().map(|name| (*name, Slot::Extra(name))));
    slots
}

/// What a parameter's name, or the beginning of it, stands for. What is not implemented is unset
/// already: that (`unset`) can be said of it, and a verbose export of RouterOS does.
pub(crate) fn slot(
    menu: &'static Menu,
    extras: &[&'static str],
    typed: &str,
    word: &Word,
    unset: bool,
) -> Result<Slot, Error> {
    let unknown = || Error::end_of_command(word.at);
    let slots = slots(menu, extras);
    let read_only = |property: &Property| property.access == Access::ReadOnly;
    if !slots.contains_key(typed) && menu.property(typed).is_some_and(read_only) {
        return Err(unknown().help(format!("{typed} is read-only")));
    }
    match pick(slots.keys().copied(), typed) {
        Ok(name) => match slots[name] {
            Slot::Property(Property { access: Access::Missing(remark), .. }) if !unset => {
                Err(Error::missing(word.at, remark))
            }
            slot => Ok(slot),
        },
        Err(Mismatch::Ambiguous(words)) => {
            Err(unknown().help(format!("{typed} could be: {}", words.join(", "))))
        }
        Err(_) => {
            let usable = |slot: &Slot| match slot {
                Slot::Property(property) => !matches!(property.access, Access::Missing(_)),
                _ => true,
            };
            let names = slots.iter().filter(|(_, slot)| usable(slot)).map(|(name, _)| *name);
            let names: Vec<&str> = names.collect();
            Err(unknown().help(format!("parameters are {}", choices(typed, &names))))
        }
    }
}

pub(crate) fn missing(line: Line, names: &str) -> Error {
    Error::new(line.at, format!("missing value(s) of argument(s) {names}"))
}
