//! The global commands: `:put`, `:if`, `:foreach`.

use super::shape::{Parameter, Shape, What};

/// A global command and what it takes.
pub(super) struct Global {
    pub(super) name: &'static str,
    help: &'static str,
    /// By their places; those of `named` may be given by name only.
    unnamed: &'static [Parameter],
    named: &'static [Parameter],
}

impl Global {
    pub(super) fn shape(&self) -> Shape {
        Shape {
            name: self.name,
            help: self.help,
            unnamed: self.unnamed.to_vec(),
            named: self.named.to_vec(),
            conditions: None,
        }
    }

    pub(super) fn help(&self) -> &'static str {
        self.help
    }
}

/// Those there are.
pub(super) const GLOBALS: &[Global] = &[Global {
    name: "put",
    help: "Prints a value",
    unnamed: &[Parameter::new("message", What::Any, "What is printed")],
    named: &[],
}];
