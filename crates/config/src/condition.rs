//! Conditions that select items: `chain=input !disabled and (comment~"^temp" or packets>5)`.
//!
//! ```text
//! words, ( ) ─► Condition, its values known ─► holds(item), for each item of a page
//! ```
//!
//! Words are and-ed unless `or` stands between them. What a value is compared with is evaluated
//! once, before the first item: variables and `[ ]` see no item.

use crate::error::choices;
use crate::parse::pick;
use crate::pattern::Pattern;
use crate::run::{Run, mismatch};
use crate::script::ast::{Binary, Expression, Part, Term, Unary};
use crate::script::{Datum, Operator, Word, operate};
use crate::view::View;
use crate::{Access, AnyName, At, Error, Item, Menu, Mismatch, Type, Value};

/// A condition on items, read.
#[derive(Debug)]
pub(crate) enum Condition {
    /// `disabled`.
    Flag(&'static str),
    /// `chain=input`: the value, if the text is one, and the text.
    Compare(&'static str, Type, Operator, Option<Value>, String),
    /// `comment~"^temp"`.
    Matches(&'static str, Pattern),
    /// `address in 10.0.0.0/8`.
    In(&'static str, Datum),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    /// What does not depend on the item.
    Constant(bool),
}

impl Condition {
    /// Whether it asks for a property of which `is` says so.
    pub(crate) fn asks(&self, is: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Condition::Flag(name)
            | Condition::Compare(name, ..)
            | Condition::Matches(name, _)
            | Condition::In(name, _) => is(name),
            Condition::Not(condition) => condition.asks(is),
            Condition::All(all) | Condition::Any(all) => all.iter().any(|one| one.asks(is)),
            Condition::Constant(_) => false,
        }
    }
}

impl Run<'_> {
    /// Reads a condition; it stands at the end of a line.
    pub(crate) fn condition(
        &mut self,
        menu: &'static Menu,
        words: &[Word],
        path: &'static str,
    ) -> Result<Condition, Error> {
        let mut any = Vec::new();
        let mut all = Vec::new();
        let mut rest = words;
        while let [word, after @ ..] = rest {
            rest = after;
            match word.plain() {
                Some("and" | "&&") => {}
                Some("or" | "||") => any.push(Condition::All(std::mem::take(&mut all))),
                _ => {
                    let (condition, after) = self.word_condition(menu, word, after, path)?;
                    (rest, _) = (after, all.push(condition));
                }
            }
        }
        any.push(Condition::All(all));
        Ok(if any.len() == 1 { any.remove(0) } else { Condition::Any(any) })
    }

    /// One word's condition; takes the words behind it along in `chain = input`.
    fn word_condition<'w>(
        &mut self,
        menu: &'static Menu,
        word: &Word,
        after: &'w [Word],
        path: &'static str,
    ) -> Result<(Condition, &'w [Word]), Error> {
        if let Some((name, operator)) = &word.name {
            let datum = self.text_of(word, path)?;
            let condition = leaf(menu, name, *operator, datum, word.at, word.value_at)?;
            return Ok((condition, after));
        }
        match (word.plain(), word.value.as_slice(), after) {
            (None, [Part::Expression(expression)], _) => {
                Ok((self.expression_condition(menu, expression, path)?, after))
            }
            (None, [Part::Plain(not), Part::Expression(expression)], _) if not == "!" => {
                let condition = self.expression_condition(menu, expression, path)?;
                Ok((Condition::Not(condition.into()), after))
            }
            (Some(name), _, [sign, value, rest @ ..]) if sign.plain().is_some_and(is_sign) => {
                let sign = sign.plain().unwrap_or("");
                if sign == "in" {
                    let (name, _) = property(menu, name, word.at)?;
                    return Ok((Condition::In(name, self.datum(value, path)?), rest));
                }
                let text = self.text_of(value, path)?;
                let condition = leaf(menu, name, operator(sign), text, word.at, value.value_at)?;
                Ok((condition, rest))
            }
            (Some(flag), ..) => {
                let name = flag.strip_prefix('!').unwrap_or(flag);
                let condition = Condition::Flag(property(menu, name, word.at)?.0);
                let negated = flag.starts_with('!');
                Ok((if negated { Condition::Not(condition.into()) } else { condition }, after))
            }
            _ => Err(Error::end_of_command(word.at)),
        }
    }

    fn expression_condition(
        &mut self,
        menu: &'static Menu,
        expression: &Expression,
        path: &'static str,
    ) -> Result<Condition, Error> {
        let at = expression.at;
        Ok(match &expression.term {
            Term::Name(name) => Condition::Flag(property(menu, name, at)?.0),
            Term::Unary(Unary::Not, operand) => {
                Condition::Not(self.expression_condition(menu, operand, path)?.into())
            }
            Term::Chain(first, chain) => match (&first.term, chain.as_slice()) {
                (_, [(operator @ (Binary::And | Binary::Or), ..), ..]) => {
                    let mut all = vec![self.expression_condition(menu, first, path)?];
                    for (_, _, operand) in chain {
                        all.push(self.expression_condition(menu, operand, path)?);
                    }
                    match operator {
                        Binary::And => Condition::All(all),
                        _ => Condition::Any(all),
                    }
                }
                (Term::Name(name), [(Binary::Compare(operator), _, right)]) => {
                    let text = self.expression(right, path)?.argument();
                    leaf(menu, name, *operator, text, first.at, right.at)?
                }
                (Term::Name(name), [(Binary::In, _, right)]) => {
                    let (name, _) = property(menu, name, first.at)?;
                    Condition::In(name, self.expression(right, path)?)
                }
                _ => self.constant(expression, path)?,
            },
            _ => self.constant(expression, path)?,
        })
    }

    /// What is asked of no item.
    fn constant(
        &mut self,
        expression: &Expression,
        path: &'static str,
    ) -> Result<Condition, Error> {
        let datum = self.expression(expression, path)?;
        let holds = operate::truth(&datum).map_err(|why| Error::new(expression.at, why))?;
        Ok(Condition::Constant(holds))
    }
}

impl View<'_> {
    /// Whether a condition holds for an item.
    pub(crate) fn holds(
        &self,
        menu: &Menu,
        member: &Menu,
        item: &Item,
        condition: &Condition,
    ) -> bool {
        let value = |name: &str| self.value(menu, member, Some(item), name);
        match condition {
            Condition::Flag(name) => match value(name) {
                Some(Value::Bool(value)) => value,
                Some(value) => value.to_string() != "",
                None => false,
            },
            Condition::Matches(name, pattern) => {
                pattern.matches(&value(name).map(|value| value.to_string()).unwrap_or_default())
            }
            Condition::Compare(name, kind, operator, typed, text) => {
                compare(value(name).as_ref(), *operator, typed.as_ref(), text, kind)
            }
            Condition::In(name, datum) => {
                let value = value(name).map(Datum::from).unwrap_or_default();
                operate::binary(Binary::In, &value, datum) == Ok(Datum::Bool(true))
            }
            Condition::Not(condition) => !self.holds(menu, member, item, condition),
            Condition::All(all) => all.iter().all(|one| self.holds(menu, member, item, one)),
            Condition::Any(any) => any.iter().any(|one| self.holds(menu, member, item, one)),
            Condition::Constant(holds) => *holds,
        }
    }
}

fn leaf(
    menu: &'static Menu,
    name: &str,
    operator: Operator,
    text: String,
    at: At,
    value_at: At,
) -> Result<Condition, Error> {
    let (name, kind) = property(menu, name, at)?;
    if operator == Operator::Matches {
        let pattern = Pattern::new(&text).map_err(|why| Error::syntax(value_at, why))?;
        return Ok(Condition::Matches(name, pattern));
    }
    let value = kind.parse(&text, &AnyName).ok();
    Ok(Condition::Compare(name, kind, operator, value, text))
}

fn is_sign(text: &str) -> bool {
    ["=", "!=", "<", ">", "<=", ">=", "~", "in"].contains(&text)
}

fn operator(sign: &str) -> Operator {
    match sign {
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        ">" => Operator::Greater,
        "<=" => Operator::LessEqual,
        ">=" => Operator::GreaterEqual,
        "~" => Operator::Matches,
        _ => Operator::Equal,
    }
}

/// The property that a condition is about.
fn property(menu: &'static Menu, name: &str, at: At) -> Result<(&'static str, Type), Error> {
    field(menu, name).map_err(|why| match why {
        Mismatch::NoMatch(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let help = format!("conditions are about {}", choices(name, &words));
            Error::end_of_command(at).help(help)
        }
        why => mismatch("condition", &Type::Text, name, why, at),
    })
}

/// What conditions and `get` can name.
pub(crate) fn field(menu: &'static Menu, typed: &str) -> Result<(&'static str, Type), Mismatch> {
    const BUILT_IN: [(&str, Type); 4] = [
        ("comment", Type::Text),
        ("disabled", Type::Bool),
        ("dynamic", Type::Bool),
        (".id", Type::Text),
    ];
    let built_in = BUILT_IN.iter().filter(|_| menu.is_list());
    let theirs =
        menu.properties.iter().filter(|p| !matches!(p.access, Access::Secret | Access::Missing(_)));
    let theirs = theirs.map(|property| (property.name, property.kind));
    let fields: Vec<(&'static str, Type)> = built_in.copied().chain(theirs).collect();
    let name = pick(fields.iter().map(|(name, _)| *name), typed)?;
    fields.into_iter().find(|field| field.0 == name).ok_or(Mismatch::NoMatch(Vec::new()))
}

pub(crate) fn compare(
    value: Option<&Value>,
    operator: Operator,
    typed: Option<&Value>,
    text: &str,
    kind: &Type,
) -> bool {
    let equal = || match (value, typed) {
        (Some(value), Some(typed)) => value == typed,
        (Some(value), None) => value.to_string() == text,
        (None, _) => text.is_empty(),
    };
    let order = || {
        let value = value?;
        let typed = typed.cloned().or_else(|| kind.parse(text, &AnyName).ok())?;
        match (magnitude(value), magnitude(&typed)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => Some(value.to_string().cmp(&typed.to_string())),
        }
    };
    match operator {
        Operator::Equal => equal(),
        Operator::NotEqual => !equal(),
        Operator::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        Operator::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        Operator::LessEqual => order().is_some_and(std::cmp::Ordering::is_le),
        Operator::GreaterEqual => order().is_some_and(std::cmp::Ordering::is_ge),
        Operator::Matches => false,
    }
}

/// What `<` and `>` compare.
fn magnitude(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Number(number) => (*number).into(),
        Value::Rate(rate) => (*rate).into(),
        Value::Numbers(low, _) => (*low).into(),
        Value::Time(time) => time.as_micros() as i128,
        Value::Address(address) => u32::from(*address).into(),
        _ => return None,
    })
}
