//! Syntax tree of a script: statements of words, words of parts, each with its place.
//!
//! ```text
//! Statement   set [find name=a] comment=("x" . $y)
//! Words       └1┘ └─────2─────┘ └───────3────────┘
//! Parts           Command        Expression, of the word named comment
//! ```
//!
//! Knows nothing of menus, commands or types: `/ip/address` is one word here.

use crate::At;
use crate::script::Datum;
use std::sync::Arc;

/// One command as typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) words: Vec<Word>,
    /// Just behind its last character.
    pub(crate) end: At,
}

/// Statements in `{ }` or `[ ]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) statements: Vec<Statement>,
    /// Before the closing bracket.
    pub(crate) end: At,
}

/// `word`, `name=value`, or `name!=value` and the like.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) at: At,
    /// What stands before the operator; `None` for a bare word, which is all value.
    pub(crate) name: Option<(String, Operator)>,
    pub(crate) value: Vec<Part>,
    pub(crate) value_at: At,
}

/// What stands between a name and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Matches,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
}

/// A piece of a value; a value is its pieces one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Plain(String),
    Quoted(String),
    /// A string with `$` in it.
    Template(Vec<Part>),
    /// `$name`.
    Variable(String, At),
    /// `[ … ]`: what the last of the commands returns.
    Command(Arc<Block>),
    /// `( … )`.
    Expression(Box<Expression>),
    /// `{ a; b; key=c }` where a value is expected.
    Array(Vec<Element>),
    /// `{ … }` where commands are expected.
    Block(Arc<Block>),
}

/// One value of an array literal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Element {
    pub(crate) key: Option<Part>,
    pub(crate) value: Vec<Part>,
    pub(crate) at: At,
}

/// What stands in `( )`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(crate) at: At,
    pub(crate) term: Term,
}

/// An operator and what it is applied to, or an operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    Literal(Datum),
    /// A bare word: in `where` a property, elsewhere a text.
    Name(String),
    Part(Part),
    Unary(Unary, Box<Expression>),
    /// Operators that bind equally: what comes first, then each with its place and right side. A
    /// list and no tree, so that no chain is too deep to be evaluated.
    Chain(Box<Expression>, Vec<(Binary, At, Expression)>),
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Minus,
    /// `~`: all bits turned.
    Complement,
}

/// An operator between its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    In,
    Compare(Operator),
    Join,
    Concatenate,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Element,
}

impl Word {
    /// The text of a bare word without quotes and brackets: a command, a path, a flag.
    pub(crate) fn plain(&self) -> Option<&str> {
        match (&self.name, self.value.as_slice()) {
            (None, [Part::Plain(text)]) => Some(text),
            _ => None,
        }
    }

    /// Whether its value is no text at all: `name=""`.
    pub(crate) fn is_empty(&self) -> bool {
        self.value.iter().all(|part| match part {
            Part::Plain(text) | Part::Quoted(text) => text.is_empty(),
            _ => false,
        })
    }
}

impl Binary {
    /// As typed.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Binary::Or => "||",
            Binary::And => "&&",
            Binary::In => "in",
            Binary::Compare(Operator::Equal) => "=",
            Binary::Compare(Operator::NotEqual) => "!=",
            Binary::Compare(Operator::Matches) => "~",
            Binary::Compare(Operator::Less) => "<",
            Binary::Compare(Operator::Greater) => ">",
            Binary::Compare(Operator::LessEqual) => "<=",
            Binary::Compare(Operator::GreaterEqual) => ">=",
            Binary::Join => ",",
            Binary::Concatenate => ".",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::BitAnd => "&",
            Binary::ShiftLeft => "<<",
            Binary::ShiftRight => ">>",
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Remainder => "%",
            Binary::Element => "->",
        }
    }
}
