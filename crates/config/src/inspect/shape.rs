//! Shapes of commands: built-in verbs, the device's commands, global ones.
//!
//! The parser reads the same tables while it runs a command (`arguments.rs`, `edit.rs`, `find.rs`,
//! `print.rs`, `export.rs`); here they are put side by side for whoever asks beforehand.

use super::offer::is_settable;
use crate::export;
use crate::language::Verb;
use crate::{Access, Menu, MenuKind, Property, Type, Unnamed};

/// What a command takes.
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// One sentence.
    pub(super) help: &'static str,
    /// What words without a name mean, in their order, unless given by name.
    pub(super) unnamed: Vec<Parameter>,
    pub(super) named: Vec<Parameter>,
    /// Conditions on items of this menu may follow.
    pub(super) conditions: Option<Conditions>,
}

#[derive(Clone, Copy)]
pub(super) struct Conditions {
    pub(super) menu: &'static Menu,
    /// Whether they come at once (`find`), or behind `where`.
    pub(super) at_once: bool,
}

/// One parameter.
#[derive(Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) what: What,
    /// As typed; empty if it has none.
    pub(super) default: &'static str,
    pub(super) required: bool,
    pub(super) form: Form,
}

/// How a parameter is typed, beside its place among the unnamed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// `name=value`.
    Valued,
    /// `name=value`, `name` for yes.
    FlagToo,
    /// `name=value`, `!name`.
    UnsetToo,
    /// `name` only.
    Flag,
    /// Without its name only.
    Bare,
}

/// What a parameter takes.
#[derive(Clone, Copy)]
pub(super) enum What {
    /// A value of this type.
    Value(Type),
    /// The same, but any text will do: it is compared.
    Compared(Type),
    /// Items, by number, name or identity.
    Items(&'static Menu),
    /// The name of a property that can be read.
    Readable(&'static Menu),
    /// The name of a property that can be unset.
    Settable(&'static Menu),
    /// Commands, in `{ }`.
    Code,
    /// Whatever an expression may be.
    Any,
    /// A name for a new variable.
    NewName,
    /// The name of a variable.
    Variable,
}

impl Parameter {
    pub(super) const fn new(name: &'static str, what: What, help: &'static str) -> Parameter {
        Parameter { name, help, what, default: "", required: false, form: Form::Valued }
    }

    pub(super) const ANY: Parameter = Parameter::new("value", What::Any, "");

    const fn form(self, form: Form) -> Parameter {
        Parameter { form, ..self }
    }

    const fn flag(name: &'static str, help: &'static str) -> Parameter {
        Parameter::new(name, What::Value(Type::Bool), help).form(Form::Flag)
    }

    fn property(property: &Property, form: Form) -> Parameter {
        let Property { name, help, kind, default, access, .. } = *property;
        let required = access == Access::Required;
        Parameter { name, help, what: What::Value(kind), default, required, form }
    }
}

impl Shape {
    pub(super) fn of(verb: Verb, menu: Option<&'static Menu>) -> Shape {
        let (name, help) = named(verb);
        let mut shape = Shape { name, help, unnamed: vec![], named: vec![], conditions: None };
        match (verb, menu) {
            (Verb::Export, _) => shape.named.extend([
                Parameter::flag("compact", "Only what differs from the defaults"),
                Parameter::flag("terse", "One full line for each command"),
                Parameter::flag("verbose", "The defaults too"),
                Parameter::flag("show-sensitive", "Secrets too"),
                Parameter { help: "Where to write it, instead of showing it", ..FILE },
                Parameter::new("version", What::Value(export::VERSION), "In whose words"),
            ]),
            (Verb::Import, _) => {
                let name = Parameter::new("file-name", What::Value(Type::Text), "A file's name");
                shape.takes(name);
            }
            (Verb::Device(command), menu) => {
                let usable = |p: &&Property| !matches!(p.access, Access::Missing(_));
                for property in command.parameters.iter().filter(usable) {
                    let bool = property.kind.is_bool();
                    let form = if bool { Form::FlagToo } else { Form::Valued };
                    shape.named.push(Parameter::property(property, form));
                }
                match command.unnamed {
                    Unnamed::Nothing => {}
                    Unnamed::Items => {
                        shape.unnamed.extend(menu.map(|m| numbers(m).form(Form::Bare)));
                    }
                    Unnamed::Parameter(name) => {
                        shape.unnamed.extend(shape.named.iter().find(|p| p.name == name).copied());
                    }
                }
            }
            (_, None) => {}
            (Verb::Add, Some(menu)) => {
                shape.properties(menu);
                let item = "An item whose values are taken where none is given";
                shape.named.push(Parameter::new("copy-from", What::Items(menu), item));
                if matches!(menu.kind, MenuKind::List { ordered: true, .. }) {
                    let item = "The item to stand before";
                    shape.named.push(Parameter::new("place-before", What::Items(menu), item));
                }
            }
            (Verb::Set, Some(menu)) => {
                shape.properties(menu);
                for parameter in &mut shape.named {
                    parameter.required = false;
                }
                if menu.is_list() {
                    shape.takes(numbers(menu));
                }
            }
            (Verb::Unset, Some(menu)) => {
                let name = "The property to unset";
                shape.unnamed.push(numbers(menu).form(Form::Bare));
                shape.takes(Parameter::new("value-name", What::Settable(menu), name));
            }
            (Verb::Remove | Verb::Enable | Verb::Disable, Some(menu)) => {
                shape.takes(numbers(menu));
            }
            (Verb::Move, Some(menu)) => {
                shape.takes(numbers(menu));
                let item = "The item to stand before; the end without it";
                shape.takes(Parameter::new("destination", What::Items(menu), item));
            }
            (Verb::Comment, Some(menu)) => {
                shape.unnamed.push(numbers(menu).form(Form::Bare));
                shape.takes(COMMENT.form(Form::Valued));
            }
            (Verb::Find, Some(menu)) => {
                shape.conditions = Some(Conditions { menu, at_once: true });
            }
            (Verb::Get, Some(menu)) => {
                if menu.is_list() {
                    shape.takes(Parameter { name: "number", ..numbers(menu) });
                }
                let name = "The property to read";
                shape.takes(Parameter::new("value-name", What::Readable(menu), name));
            }
            (Verb::Print, Some(menu)) => {
                shape.named.extend(LAYOUTS);
                shape.named.extend([FILE, INTERVAL]);
                if menu.is_list() {
                    shape.named.extend(FOLLOW);
                    let from = "These items only";
                    shape.named.push(Parameter::new("from", What::Items(menu), from));
                    shape.conditions = Some(Conditions { menu, at_once: false });
                }
            }
        }
        shape
    }

    /// What `add` and `set` take of a menu.
    fn properties(&mut self, menu: &'static Menu) {
        for property in menu.properties.iter().filter(|p| is_settable(p.access)) {
            self.named.push(Parameter::property(property, Form::UnsetToo));
        }
        if menu.is_list() {
            self.named.extend([COMMENT, DISABLED]);
        }
    }

    /// With or without its name.
    fn takes(&mut self, parameter: Parameter) {
        self.unnamed.push(parameter);
        self.named.push(parameter);
    }
}

fn numbers(menu: &'static Menu) -> Parameter {
    let help = "Numbers of the last print, names, or [find …]";
    Parameter { required: true, ..Parameter::new("numbers", What::Items(menu), help) }
}

const COMMENT: Parameter = Parameter {
    form: Form::UnsetToo,
    ..Parameter::new("comment", What::Value(Type::Text), "A remark, shown above the item")
};
const DISABLED: Parameter = Parameter {
    default: "no",
    form: Form::FlagToo,
    ..Parameter::new("disabled", What::Value(Type::Bool), "Whether the item is ignored")
};

const LAYOUTS: [Parameter; 9] = [
    Parameter::flag("as-value", "As .id=*1;name=value;…"),
    Parameter::flag("brief", "The menu's columns"),
    Parameter::flag("count-only", "How many there are"),
    Parameter::flag("detail", "Every property as name=value"),
    Parameter::flag("stats", "The counters"),
    Parameter::flag("stats-detail", "The counters, as name=value"),
    Parameter::flag("terse", "One line for each item"),
    Parameter::flag("value-list", "One line for each property"),
    Parameter::flag("without-paging", "Without stopping at every screen"),
];

const FILE: Parameter =
    Parameter::new("file", What::Value(Type::Text), "Where to write what would be shown");
const INTERVAL: Parameter =
    Parameter::new("interval", What::Value(Type::Time), "Shows it again and again, so often");
const FOLLOW: [Parameter; 2] = [
    Parameter::flag("follow", "And then what is new or changes"),
    Parameter::flag("follow-only", "Only what is new or changes from now on"),
];

/// A built-in verb's name, and one sentence.
pub(super) fn named(verb: Verb) -> (&'static str, &'static str) {
    match verb {
        Verb::Add => ("add", "Creates a new item with the given values"),
        Verb::Set => ("set", "Changes values"),
        Verb::Unset => ("unset", "Takes values away"),
        Verb::Remove => ("remove", "Removes items"),
        Verb::Enable => ("enable", "Enables items"),
        Verb::Disable => ("disable", "Disables items"),
        Verb::Move => ("move", "Changes the order of items"),
        Verb::Comment => ("comment", "Sets the remark on items"),
        Verb::Find => ("find", "Finds items by their values"),
        Verb::Get => ("get", "Returns one value"),
        Verb::Print => ("print", "Shows values"),
        Verb::Import => ("import", "Runs a file, all of it or nothing"),
        Verb::Export => ("export", "Shows the commands that make this configuration"),
        Verb::Device(command) => (command.name, command.help),
    }
}
