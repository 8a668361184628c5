//! The words that fit where the text ends, and what is to be said about the place.

use super::scan::{Expects, Situation};
use super::shape::{Form, Parameter, Shape, What, named};
use super::{Class, Completion, Explanation, MAX_OFFERED, Scene};
use crate::language::Choice;
use crate::script::control::Global;
use crate::script::{quote, quote_always};
use crate::{Access, Menu, Type};

/// The words that begin as what was typed, sorted.
pub(super) fn words(scene: &Scene, situation: &Situation) -> Vec<Completion> {
    let Situation { at, typed, variables, expects } = situation;
    let mut offer = Offer { at: *at, typed, variables, words: Vec::new() };
    match expects {
        Expects::Step { path, first } => {
            for (word, choice) in scene.language.choices(path) {
                let (class, help) = match choice {
                    Choice::Menu(path) => {
                        (Class::Path, scene.language.menu(path).map_or("", |menu| menu.help))
                    }
                    Choice::Verb(verb) => (Class::Command, named(*verb).1),
                };
                offer.add(word, " ", class, help);
            }
            if *first && !path.is_empty() {
                let parent = path.rsplit_once(' ').map_or("root", |(parent, _)| parent);
                let parent = parent.rsplit([' ', '/']).next().unwrap_or(parent);
                offer.add("..", " ", Class::Path, &format!("go up to {parent}"));
            }
        }
        Expects::Global => {
            for (name, help) in Global::all() {
                offer.add(name, " ", Class::Command, help);
            }
        }
        Expects::Argument { shape, given, unnamed } => {
            offer.parameters(shape, given, unnamed.is_some());
            if let Some(parameter) = unnamed {
                offer.values(scene, parameter.what);
            }
        }
        Expects::Value(parameter) => offer.values(scene, parameter.what),
        Expects::Condition(conditions) => {
            let menu = conditions.menu;
            let help = |name| menu.property(name).map_or("", |property| property.help);
            for name in readable(menu) {
                offer.add(name, "", Class::Parameter, help(name));
            }
        }
        Expects::Variable => offer.variables(),
    }
    let mut words = offer.words;
    words.sort_by(|a, b| a.word.cmp(&b.word));
    words.dedup_by(|a, b| a.word == b.word);
    words.truncate(MAX_OFFERED);
    words
}

/// What is to be said about the place.
pub(super) fn explain(scene: &Scene, situation: &Situation) -> Vec<Explanation> {
    let (symbol, text, definition) = match &situation.expects {
        Expects::Step { path, .. } => {
            let menu = scene.language.menu(path);
            (*path, menu.map_or("", |menu| menu.help), String::new())
        }
        Expects::Argument { shape, unnamed, .. } => match unnamed {
            Some(parameter) if !situation.typed.is_empty() => return vec![about(parameter)],
            _ => (shape.name, shape.help, String::new()),
        },
        Expects::Value(parameter) => return vec![about(parameter)],
        Expects::Condition(_) => {
            ("where", "Conditions that items have to meet", CONDITION.to_string())
        }
        Expects::Variable => ("$", "The value of a variable", String::new()),
        Expects::Global => (":", "Global commands", String::new()),
    };
    if text.is_empty() && definition.is_empty() {
        return Vec::new();
    }
    vec![Explanation { symbol: symbol.to_string(), text: text.to_string(), definition }]
}

const CONDITION: &str =
    "name=value, name!=value, name<value, name~\"expression\", name or !name for yes and no";

fn about(parameter: &Parameter) -> Explanation {
    let mut definition = match parameter.what {
        What::Value(kind) | What::Compared(kind) => kind.describe(),
        What::Items(_) => "items: numbers of the last print, names, *ids, or [find …]".to_string(),
        What::Readable(_) | What::Settable(_) => "the name of a property".to_string(),
        What::Code => "commands, in { }".to_string(),
        What::Any => "any value: a text, a number, $variable, ( ), [ ], { }".to_string(),
        What::NewName | What::Variable => "the name of a variable".to_string(),
    };
    if parameter.required {
        definition += "; required";
    } else if !parameter.default.is_empty() {
        definition += &format!("; {} if left out", parameter.default);
    }
    let (symbol, text) = (parameter.name.to_string(), parameter.help.to_string());
    Explanation { symbol, text, definition }
}

/// What can be read of an item.
fn readable(menu: &'static Menu) -> impl Iterator<Item = &'static str> {
    let hidden = |access| matches!(access, Access::Secret | Access::Missing(_));
    let usable = menu.properties.iter().filter(move |p| !hidden(p.access));
    let own = ["comment", "disabled", "dynamic"].into_iter().filter(|_| menu.is_list());
    usable.map(|property| property.name).chain(own)
}

/// Whether the user sets it.
pub(super) fn is_settable(access: Access) -> bool {
    matches!(access, Access::Optional | Access::Required | Access::Secret)
}

/// What can be unset.
pub(super) fn settable(menu: &'static Menu) -> impl Iterator<Item = &'static str> + Clone {
    let usable = menu.properties.iter().filter(|property| is_settable(property.access));
    usable.map(|property| property.name).chain(menu.is_list().then_some("comment"))
}

struct Offer<'a> {
    at: usize,
    typed: &'a str,
    variables: &'a [String],
    words: Vec<Completion>,
}

impl Offer<'_> {
    fn add(&mut self, word: &str, append: &'static str, class: Class, help: &str) {
        if word.starts_with(self.typed) && self.words.len() < 2 * MAX_OFFERED {
            let (word, help) = (word.to_string(), help.to_string());
            self.words.push(Completion { word, at: self.at, append, class, help });
        }
    }

    fn parameters(&mut self, shape: &Shape, given: &[&'static str], bare_is_value: bool) {
        for parameter in shape.named.iter().filter(|p| !given.contains(&p.name)) {
            match parameter.form {
                // A bare word would be taken for the value that has no name.
                Form::Flag if bare_is_value => {}
                Form::Flag => self.add(parameter.name, " ", Class::Parameter, parameter.help),
                _ => self.add(parameter.name, "=", Class::Parameter, parameter.help),
            }
            if self.typed.starts_with('!') && parameter.form == Form::UnsetToo {
                let word = format!("!{}", parameter.name);
                self.add(&word, " ", Class::Parameter, parameter.help);
            }
        }
        if shape.conditions.is_some() {
            self.add("where", " ", Class::Parameter, "Only items that meet these conditions");
        }
    }

    fn values(&mut self, scene: &Scene, what: What) {
        match what {
            What::Value(kind) | What::Compared(kind) => self.of_type(scene, &kind, 0),
            What::Items(menu) => self.items(scene, menu),
            What::Readable(menu) => readable(menu).for_each(|name| self.value(0, name)),
            What::Settable(menu) => settable(menu).for_each(|name| self.value(0, name)),
            What::Variable => self.variables(),
            What::Code | What::Any | What::NewName => {}
        }
    }

    fn variables(&mut self) {
        for name in self.variables {
            self.add(name, "", Class::Variable, "");
        }
    }

    /// Words of a type, for what was typed from the byte `from` on.
    fn of_type(&mut self, scene: &Scene, kind: &Type, from: usize) {
        let typed = &self.typed[from..];
        match kind {
            Type::Bool => ["no", "yes"].iter().for_each(|word| self.value(from, word)),
            Type::Enum(words) => words.iter().for_each(|word| self.value(from, word)),
            Type::Reference(menus) => {
                for menu in menus.iter().filter_map(|path| scene.language.menu(path)) {
                    scene.names(menu).iter().for_each(|name| self.value(from, name));
                }
            }
            Type::Negatable(kind) => {
                let behind = from + usize::from(typed.starts_with('!'));
                self.of_type(scene, kind, behind);
            }
            Type::List(kind) => {
                let behind = if typed.starts_with('"') { None } else { typed.rfind(',') };
                self.of_type(scene, kind, behind.map_or(from, |comma| from + comma + 1));
            }
            Type::Pair(kind) => {
                let behind = if typed.starts_with('"') { None } else { typed.rfind('/') };
                self.of_type(scene, kind, behind.map_or(from, |slash| from + slash + 1));
            }
            Type::Or(words, kind) => {
                words.iter().for_each(|word| self.value(from, word));
                self.of_type(scene, kind, from);
            }
            Type::Only(_, built, _) => built.iter().for_each(|word| self.value(from, word)),
            Type::Either(kinds) => kinds.iter().for_each(|kind| self.of_type(scene, kind, from)),
            Type::Number(..)
            | Type::Text
            | Type::Address
            | Type::Cidr
            | Type::Range
            | Type::Address6
            | Type::Cidr6
            | Type::Mac
            | Type::MacMask
            | Type::Time
            | Type::Rate
            | Type::Numbers(..)
            | Type::Custom(_) => {}
        }
    }

    /// Names, or numbers where there are none.
    fn items(&mut self, scene: &Scene, menu: &'static Menu) {
        let from = match self.typed.contains('"') {
            true => 0,
            false => self.typed.rfind(',').map_or(0, |comma| comma + 1),
        };
        if menu.key().is_some() {
            for name in scene.names(menu) {
                // These are read as numbers and identities.
                let is_number = name.bytes().all(|b| b.is_ascii_digit()) || name.starts_with('*');
                match is_number {
                    false if name.contains(',') => self.word(from, &quote_always(&name)),
                    false => self.value(from, &name),
                    true => {}
                }
            }
        } else {
            for number in 0..scene.numbers(menu).min(MAX_OFFERED) {
                self.value(from, &number.to_string());
            }
        }
    }

    /// A value, in quotes if it needs them or has them.
    fn value(&mut self, from: usize, value: &str) {
        let is_quoted = self.typed[from..].starts_with('"');
        self.word(from, &if is_quoted { quote_always(value) } else { quote(value) });
    }

    fn word(&mut self, from: usize, word: &str) {
        if word.starts_with(&self.typed[from..]) && self.words.len() < 2 * MAX_OFFERED {
            let at = self.at + self.typed[..from].chars().count();
            let (word, help) = (word.to_string(), String::new());
            self.words.push(Completion { word, at, append: " ", class: Class::Plain, help });
        }
    }
}
