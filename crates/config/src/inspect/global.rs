//! The global commands: `:put`, `:if`, `:foreach`, from the table that runs them.

use super::shape::{Form, Parameter, Shape, What};
use crate::Type;
use crate::script::control::{Global, TOPICS};

/// What a global command takes, by its name.
pub(super) fn shape(name: &str) -> Option<Shape> {
    let (name, help) = Global::all().find(|(known, _)| *known == name)?;
    let global = Global::named(name)?;
    let parameters = global.parameters().iter();
    let named: Vec<Parameter> = parameters.map(|parameter| of(global, parameter)).collect();
    let unnamed = named.clone();
    Some(Shape { name, help, unnamed, named, conditions: None })
}

/// What a parameter takes, and one sentence about it.
fn of(global: Global, name: &'static str) -> Parameter {
    let (what, help) = match (global, name) {
        (Global::Set, "name") => (What::Variable, "The variable"),
        (Global::Local | Global::Session, "name") => (What::NewName, "The variable"),
        (Global::Foreach, "counter") => (What::NewName, "A variable for each value, or key,value"),
        (Global::For, "counter") => (What::NewName, "A variable for each number"),
        (_, "do") => (What::Code, "What is run"),
        (_, "command") => (What::Code, "What is run"),
        (_, "else") => (What::Code, "What is run if the condition does not hold"),
        (_, "on-error") => (What::Code, "What is run if there is an error"),
        (_, "condition") => (What::Any, "What has to hold, in ( )"),
        (_, "while") => (What::Any, "As long as this holds, in ( )"),
        (_, "topics") => (What::Value(Type::Enum(&TOPICS)), "What kind of line it is"),
        (_, "delay-time") => (What::Any, "How long, as 10s or 500ms"),
        (_, "message") => (What::Any, "The text"),
        (_, "step") => (What::Any, "From one number to the next; 1 if left out"),
        (_, "from") => (What::Any, "The first one"),
        (_, "to") => (What::Any, "The last one"),
        (_, "in") => (What::Any, "An array, or a text"),
        (_, "key") => (What::Any, "What is looked for"),
        (_, "begin") => (What::Any, "The first place, counted from 0"),
        (_, "end") => (What::Any, "The place behind the last"),
        _ => (What::Any, "Any value"),
    };
    let required =
        !matches!(name, "value" | "else" | "on-error" | "while" | "step" | "end" | "from");
    Parameter { required, form: Form::Valued, ..Parameter::new(name, what, help) }
}
