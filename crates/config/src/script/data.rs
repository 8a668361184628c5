//! Values at run time: what variables hold and commands return.
//!
//! ```text
//! :typeof   nothing nil bool num time str ip ip-prefix id array code
//! ```
//!
//! Texts hold up to [`MAX_TEXT`] bytes and arrays [`MAX_WEIGHT`] values, all told, so no script
//! can grow without bounds. Times print as properties do (`1m30s`).
//!
//! **Missing**: IPv6 addresses.

use crate::script::ast::Block;
use crate::{AnyName, ItemId, Reply, Type, Value};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// A value at run time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Datum {
    /// A variable without a value; what a command returns that returns nothing.
    #[default]
    Nothing,
    /// No value, as a result: what `:find` did not find.
    Nil,
    Bool(bool),
    Number(i64),
    /// Microseconds.
    Time(i64),
    Text(String),
    Address(Ipv4Addr),
    Prefix(Ipv4Addr, u8),
    Id(ItemId),
    Array(Arc<Array>),
    Code(Arc<Code>),
}

/// Values in their order, some with keys.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Array {
    pub(crate) elements: Vec<(Option<String>, Datum)>,
    /// How many values and bytes are in it, all told.
    weight: usize,
    /// How deep arrays are in it.
    depth: usize,
}

/// Commands as a value: a function.
#[derive(Debug, PartialEq)]
pub(crate) struct Code {
    pub(crate) block: Arc<Block>,
    /// Which script it stands in: places are places there.
    pub(crate) script: u64,
}

pub(crate) const MAX_TEXT: usize = 1 << 20;
pub(crate) const MAX_WEIGHT: usize = 1 << 18;
/// Arrays inside each other.
const MAX_DEPTH: usize = 50;

/// A text or an array would grow beyond bounds.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl Array {
    pub(crate) fn keyed(elements: Vec<(Option<String>, Datum)>) -> Result<Datum, TooLarge> {
        let weight = elements.iter().map(|(_, datum)| datum.weight()).sum();
        let depth = elements.iter().map(|(_, datum)| datum.depth()).max().unwrap_or(0) + 1;
        if weight > MAX_WEIGHT || depth > MAX_DEPTH {
            return Err(TooLarge);
        }
        Ok(Datum::Array(Arc::new(Array { elements, weight, depth })))
    }

    pub(crate) fn of(values: impl IntoIterator<Item = Datum>) -> Result<Datum, TooLarge> {
        Array::keyed(values.into_iter().map(|datum| (None, datum)).collect())
    }
}

impl Datum {
    /// What an unquoted text is, if it is not just a text.
    pub(crate) fn literal(text: &str) -> Option<Datum> {
        let as_kind = |kind: Type| kind.parse(text, &AnyName).ok();
        match text.bytes().next()? {
            b't' | b'y' if text == "true" || text == "yes" => Some(Datum::Bool(true)),
            b'f' | b'n' if text == "false" || text == "no" => Some(Datum::Bool(false)),
            b'*' => ItemId::parse(text).map(Datum::Id),
            b'0'..=b'9' | b'-' => {
                if let Some(Value::Number(number)) = as_kind(Type::Number(i64::MIN, i64::MAX)) {
                    return Some(Datum::Number(number));
                }
                if text.starts_with('-') {
                    return None;
                }
                match as_kind(Type::Cidr) {
                    Some(Value::Cidr(address, len)) if text.contains('/') => {
                        return Some(Datum::Prefix(address, len));
                    }
                    Some(Value::Cidr(address, _)) => return Some(Datum::Address(address)),
                    _ => {}
                }
                match as_kind(Type::Time)? {
                    Value::Time(time) => i64::try_from(time.as_micros()).ok().map(Datum::Time),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// An unquoted text: what it says, else the text itself.
    pub(crate) fn word(text: &str) -> Datum {
        Datum::literal(text).unwrap_or_else(|| Datum::Text(text.to_string()))
    }

    pub(crate) fn text(text: String) -> Result<Datum, TooLarge> {
        if text.len() > MAX_TEXT { Err(TooLarge) } else { Ok(Datum::Text(text)) }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Datum::Nothing | Datum::Nil)
    }

    fn weight(&self) -> usize {
        match self {
            Datum::Text(text) => 1 + text.len() / 8,
            Datum::Array(array) => 1 + array.weight,
            _ => 1,
        }
    }

    fn depth(&self) -> usize {
        match self {
            Datum::Array(array) => array.depth,
            _ => 0,
        }
    }

    /// As `:typeof` says.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Datum::Nothing => "nothing",
            Datum::Nil => "nil",
            Datum::Bool(_) => "bool",
            Datum::Number(_) => "num",
            Datum::Time(_) => "time",
            Datum::Text(_) => "str",
            Datum::Address(_) => "ip",
            Datum::Prefix(..) => "ip-prefix",
            Datum::Id(_) => "id",
            Datum::Array(_) => "array",
            Datum::Code(_) => "code",
        }
    }

    /// As a command's argument: `yes`, and lists with commas.
    pub(crate) fn argument(&self) -> String {
        match self {
            Datum::Bool(true) => "yes".to_string(),
            Datum::Bool(false) => "no".to_string(),
            Datum::Array(array) => {
                let values = array.elements.iter().map(|(_, datum)| datum.argument());
                values.collect::<Vec<_>>().join(",")
            }
            datum => datum.to_string(),
        }
    }

    /// Yes or no, if it says so.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self {
            Datum::Bool(truth) => Some(*truth),
            Datum::Number(number) => Some(*number != 0),
            Datum::Text(text) => match text.as_str() {
                "true" | "yes" => Some(true),
                "false" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A whole number, if it is or spells one.
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Datum::Number(number) => Some(*number),
            Datum::Bool(truth) => Some(i64::from(*truth)),
            Datum::Time(us) => Some(us / 1_000_000),
            Datum::Address(address) => Some(u32::from(*address).into()),
            Datum::Id(id) => Some(id.0.into()),
            Datum::Text(text) => match Datum::literal(text)? {
                Datum::Number(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Microseconds; a bare number is seconds.
    pub(crate) fn time(&self) -> Option<i64> {
        match self {
            Datum::Time(us) => Some(*us),
            Datum::Number(seconds) => seconds.checked_mul(1_000_000),
            Datum::Text(text) => match Datum::literal(text)? {
                Datum::Text(_) => None,
                other => other.time(),
            },
            _ => None,
        }
    }

    /// What a public caller gets.
    pub(crate) fn into_reply(self) -> Reply {
        let id = |datum: &Datum| match datum {
            Datum::Id(id) => Some(*id),
            _ => None,
        };
        match &self {
            Datum::Nothing | Datum::Nil => Reply::Nothing,
            Datum::Id(id) => Reply::Items(vec![*id]),
            Datum::Array(array) => {
                let ids: Option<Vec<ItemId>> =
                    array.elements.iter().map(|(_, datum)| id(datum)).collect();
                ids.map_or_else(|| Reply::Text(self.to_string()), Reply::Items)
            }
            _ => Reply::Text(self.to_string()),
        }
    }
}

impl From<Value> for Datum {
    fn from(value: Value) -> Datum {
        match value {
            Value::Bool(value) => Datum::Bool(value),
            Value::Number(number) => Datum::Number(number),
            Value::Rate(rate) => Datum::Number(i64::try_from(rate).unwrap_or(i64::MAX)),
            Value::Address(address) => Datum::Address(address),
            Value::Cidr(address, len) => Datum::Prefix(address, len),
            Value::Time(time) => Datum::Time(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)),
            Value::Numbers(low, high) if low == high => {
                Datum::Number(i64::try_from(low).unwrap_or(i64::MAX))
            }
            Value::Range(_) => Datum::word(&value.to_string()),
            Value::List(values) => {
                let texts = values.iter().map(Value::to_string).collect::<Vec<_>>().join(",");
                Array::of(values.into_iter().map(Datum::from)).unwrap_or(Datum::Text(texts))
            }
            value => Datum::Text(value.to_string()),
        }
    }
}

impl From<Reply> for Datum {
    fn from(reply: Reply) -> Datum {
        match reply {
            Reply::Nothing => Datum::Nothing,
            Reply::Text(text) => Datum::Text(text),
            Reply::Items(ids) => match ids.as_slice() {
                [id] => Datum::Id(*id),
                ids => Array::of(ids.iter().copied().map(Datum::Id)).unwrap_or_default(),
            },
        }
    }
}

impl fmt::Display for Datum {
    /// As `:put` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Nothing | Datum::Nil => Ok(()),
            Datum::Bool(truth) => write!(f, "{truth}"),
            Datum::Number(number) => write!(f, "{number}"),
            Datum::Time(us) => {
                let time = Value::Time(std::time::Duration::from_micros(us.unsigned_abs()));
                write!(f, "{}{time}", if *us < 0 { "-" } else { "" })
            }
            Datum::Text(text) => f.write_str(text),
            Datum::Address(address) => write!(f, "{address}"),
            Datum::Prefix(address, len) => write!(f, "{address}/{len}"),
            Datum::Id(id) => write!(f, "{id}"),
            Datum::Array(array) => {
                for (i, (key, value)) in array.elements.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ";" })?;
                    if let Some(key) = key {
                        write!(f, "{key}=")?;
                    }
                    write!(f, "{value}")?;
                }
                Ok(())
            }
            Datum::Code(_) => f.write_str("(code)"),
        }
    }
}
