//! Parser of the expressions in ( ).
//!
//! ```text
//! loosest   or ||   and &&   in   = != < > <= >= ~   ,   .   |   ^   &   << >>   + -   * / %
//! tightest                                                                     ! - ~   ->
//! ```
//!
//! A bare word is a text, in `where` a property. `-` binds two operands: `($a-1)` subtracts, and a
//! name may hold it only before a letter (`src-address`).

use crate::error::Error;
use crate::script::Datum;
use crate::script::ast::{Binary, Expression, Operator, Part, Term, Unary};
use crate::script::lexer::{Lexer, not_closed};

/// How tightly the operators bind, loosest first.
const LEVELS: u8 = 12;

impl Lexer<'_> {
    /// `( … )`.
    pub(super) fn parenthesis(&mut self) -> Result<Expression, Error> {
        let at = self.enter('(')?;
        self.skip_space();
        if self.peek() == Some(')') {
            self.leave();
            return Ok(Expression { at, term: Term::Literal(Datum::Nothing) });
        }
        let expression = self.binary(0)?;
        match self.peek() {
            Some(')') => {
                self.leave();
                Ok(expression)
            }
            None => Err(not_closed(at)),
            Some(_) => Err(Error::syntax(self.at, "an operator or ) is expected here")),
        }
    }

    /// Operands of one level and those that bind tighter.
    fn binary(&mut self, level: u8) -> Result<Expression, Error> {
        if level == LEVELS {
            return self.unary();
        }
        let first = self.binary(level + 1)?;
        let mut chain = Vec::new();
        loop {
            self.skip_space();
            let at = self.at;
            let Some((operator, sign)) = self.sign().filter(|(op, _)| level_of(*op) == level)
            else {
                return Ok(chained(first, chain));
            };
            self.take(sign);
            chain.push((operator, at, self.binary(level + 1)?));
        }
    }

    /// The operator that comes.
    fn sign(&self) -> Option<(Binary, &'static str)> {
        use Binary::*;
        let rest = self.rest.as_bytes();
        let word = |word: &str| {
            let end = self.rest.as_bytes().get(word.len());
            self.rest.starts_with(word)
                && end.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'-')
        };
        Some(match rest {
            [b'|', b'|', ..] => (Or, "||"),
            [b'&', b'&', ..] => (And, "&&"),
            [b'!', b'=', ..] => (Compare(Operator::NotEqual), "!="),
            [b'<', b'=', ..] => (Compare(Operator::LessEqual), "<="),
            [b'>', b'=', ..] => (Compare(Operator::GreaterEqual), ">="),
            [b'<', b'<', ..] => (ShiftLeft, "<<"),
            [b'>', b'>', ..] => (ShiftRight, ">>"),
            [b'-', b'>', ..] => return None,
            [b'=', ..] => (Compare(Operator::Equal), "="),
            [b'<', ..] => (Compare(Operator::Less), "<"),
            [b'>', ..] => (Compare(Operator::Greater), ">"),
            [b'~', ..] => (Compare(Operator::Matches), "~"),
            [b',', ..] => (Join, ","),
            [b'.', ..] => (Concatenate, "."),
            [b'|', ..] => (BitOr, "|"),
            [b'^', ..] => (BitXor, "^"),
            [b'&', ..] => (BitAnd, "&"),
            [b'+', ..] => (Add, "+"),
            [b'-', ..] => (Subtract, "-"),
            [b'*', ..] => (Multiply, "*"),
            [b'/', ..] => (Divide, "/"),
            [b'%', ..] => (Remainder, "%"),
            _ if word("or") => (Or, "or"),
            _ if word("and") => (And, "and"),
            _ if word("in") => (In, "in"),
            _ => return None,
        })
    }

    fn unary(&mut self) -> Result<Expression, Error> {
        self.skip_space();
        let at = self.at;
        let operator = match self.rest.as_bytes() {
            [b'!', ..] => Unary::Not,
            [b'-', ..] => Unary::Minus,
            [b'~', ..] => Unary::Complement,
            _ => return self.elements(),
        };
        // Not a bracket, but as deep.
        self.enter('(')?;
        let operand = self.unary()?;
        self.open.pop();
        Ok(Expression { at, term: Term::Unary(operator, operand.into()) })
    }

    /// An operand, and the elements of it that are asked for.
    fn elements(&mut self) -> Result<Expression, Error> {
        let first = self.operand()?;
        let mut chain = Vec::new();
        loop {
            self.skip_space();
            let at = self.at;
            if !self.take("->") {
                return Ok(chained(first, chain));
            }
            self.skip_space();
            chain.push((Binary::Element, at, self.operand()?));
        }
    }

    fn operand(&mut self) -> Result<Expression, Error> {
        let at = self.at;
        let term = match self.peek() {
            Some('"' | '[' | '$') => Term::Part(self.part()?),
            Some('(') => return self.parenthesis(),
            Some('{') => Term::Part(Part::Array(self.array()?)),
            Some('*') => {
                self.bump();
                let hex = self.take_while(|c| c.is_ascii_hexdigit());
                literal(&format!("*{hex}")).ok_or_else(|| expected(at))?
            }
            Some(c) if c.is_ascii_alphanumeric() => self.literal_or_name()?,
            Some(_) => return Err(expected(at)),
            None => return Err(Error::syntax(at, "the expression goes on here")),
        };
        Ok(Expression { at, term })
    }

    /// `15`, `0x1f`, `10s`, `1.2.3.4`, `1.2.3.0/24`, `yes`, `src-address`.
    fn literal_or_name(&mut self) -> Result<Term, Error> {
        let at = self.at;
        let number = self.peek().is_some_and(|c| c.is_ascii_digit());
        let mut text = String::new();
        loop {
            let more = |c: char| c.is_ascii_alphanumeric() || number && c == ':';
            text += self.take_while(more);
            let next = self.rest.as_bytes().get(1).copied().unwrap_or(0);
            let joins = match self.peek() {
                // `1.2.3.0/24`, but 10/2 is 5.
                Some('/') => text.matches('.').count() == 3 && next.is_ascii_digit(),
                Some('.') => number && next.is_ascii_digit(),
                Some('-') => !number && next.is_ascii_alphabetic(),
                Some('_') => !number,
                _ => false,
            };
            if !joins || text.contains('/') {
                break;
            }
            text.extend(self.bump());
        }
        match literal(&text) {
            Some(term) => Ok(term),
            None if number || text.is_empty() => Err(expected(at)),
            None => Ok(Term::Name(text)),
        }
    }
}

fn chained(first: Expression, chain: Vec<(Binary, crate::At, Expression)>) -> Expression {
    match chain.first() {
        Some((_, at, _)) => Expression { at: *at, term: Term::Chain(first.into(), chain) },
        None => first,
    }
}

fn literal(text: &str) -> Option<Term> {
    Datum::literal(text).map(Term::Literal)
}

fn expected(at: crate::At) -> Error {
    Error::syntax(at, "a value is expected here: 1, \"text\", $variable, [command]")
}

fn level_of(operator: Binary) -> u8 {
    use Binary::*;
    match operator {
        Or => 0,
        And => 1,
        In => 2,
        Compare(_) => 3,
        Join => 4,
        Concatenate => 5,
        BitOr => 6,
        BitXor => 7,
        BitAnd => 8,
        ShiftLeft | ShiftRight => 9,
        Add | Subtract => 10,
        Multiply | Divide | Remainder => 11,
        Element => LEVELS,
    }
}
