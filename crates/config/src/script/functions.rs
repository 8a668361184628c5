//! Global commands that only return values: `:len`, `:pick`, `:find`, `:typeof` and conversions.
//!
//! Places in texts are characters, counted from 0. `:find` looks behind the place it is given, so
//! -1 finds from the beginning.

use crate::run::Run;
use crate::script::Datum;
use crate::script::control::Given;
use crate::script::data::Array;
use crate::script::operate::Reason;
use crate::{Error, ItemId};

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Find,
    Len,
    Pick,
    ToArray,
    ToBool,
    ToId,
    ToIp,
    ToNum,
    ToStr,
    ToTime,
    TypeOf,
}

impl Function {
    /// In the order of those without names.
    pub(crate) fn parameters(self) -> &'static [&'static str] {
        match self {
            Function::Find => &["in", "key", "from"],
            Function::Pick => &["counter", "begin", "end"],
            _ => &["value"],
        }
    }
}

impl Run<'_> {
    pub(crate) fn call_function(
        &mut self,
        function: Function,
        given: &Given,
        path: &'static str,
    ) -> Result<Datum, Error> {
        let names = function.parameters();
        let mut data = Vec::new();
        for name in names {
            let datum = given.optional(name).map(|word| self.datum(word, path)).transpose()?;
            data.push(datum);
        }
        let first = given.word(names[0])?;
        let value = data[0].take().unwrap_or_default();
        let number = |place: usize| data.get(place).and_then(Option::as_ref).map(Datum::number);
        let result = match function {
            Function::Find => {
                given.word("key")?;
                let key = data[1].clone().unwrap_or_default();
                Ok(find(&value, &key, number(2).flatten().unwrap_or(-1)))
            }
            Function::Pick => {
                given.word("begin")?;
                match (number(1).flatten(), number(2)) {
                    (Some(begin), None) => pick(&value, begin, None),
                    (Some(begin), Some(Some(end))) => pick(&value, begin, Some(end)),
                    _ => Err("invalid value for argument begin".to_string()),
                }
            }
            Function::Len => Ok(Datum::Number(match &value {
                Datum::Nothing | Datum::Nil => 0,
                Datum::Array(array) => array.elements.len() as i64,
                Datum::Id(_) => 1,
                datum => datum.to_string().chars().count() as i64,
            })),
            Function::TypeOf => Ok(Datum::Text(value.kind().to_string())),
            Function::ToStr => Datum::text(value.to_string()).map_err(Reason::from),
            Function::ToNum => Ok(value.number().map_or(Datum::Nil, Datum::Number)),
            Function::ToTime => Ok(value.time().map_or(Datum::Nil, Datum::Time)),
            Function::ToBool => Ok(value.truth().map_or(Datum::Nil, Datum::Bool)),
            Function::ToIp => Ok(match Datum::word(&value.to_string()) {
                it @ Datum::Address(_) => it,
                _ => Datum::Nil,
            }),
            Function::ToId => Ok(match Datum::word(&value.to_string()) {
                it @ Datum::Id(_) => it,
                Datum::Number(id) => {
                    u32::try_from(id).map_or(Datum::Nil, |id| Datum::Id(ItemId(id)))
                }
                _ => Datum::Nil,
            }),
            Function::ToArray => to_array(value),
        };
        result.map_err(|why| Error::new(first.value_at, why))
    }
}

fn to_array(value: Datum) -> Result<Datum, Reason> {
    Ok(match value {
        it @ Datum::Array(_) => it,
        Datum::Text(text) if text.is_empty() => Array::of([])?,
        Datum::Text(text) => Array::of(text.split(',').map(|part| Datum::word(part.trim())))?,
        Datum::Nothing | Datum::Nil => Array::of([])?,
        other => Array::of([other])?,
    })
}

/// The first place behind `from` where the key is.
fn find(value: &Datum, key: &Datum, from: i64) -> Datum {
    let place = match value {
        Datum::Array(array) => {
            let skipped = usize::try_from(from.saturating_add(1)).unwrap_or(0);
            let text = key.to_string();
            let mut elements = array.elements.iter().enumerate().skip(skipped);
            elements.find(|(_, (_, datum))| datum.to_string() == text).map(|(place, _)| place)
        }
        value => {
            let (text, key) = (value.to_string(), key.to_string());
            let skipped = usize::try_from(from.saturating_add(1)).unwrap_or(0);
            let start = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(skipped);
            start.and_then(|start| {
                let at = start + text[start..].find(&key)?;
                Some(text[..at].chars().count())
            })
        }
    };
    place.map_or(Datum::Nil, |place| Datum::Number(place as i64))
}

/// From `begin` up to, not including, `end`; without an end, one.
fn pick(value: &Datum, begin: i64, end: Option<i64>) -> Result<Datum, Reason> {
    let first = usize::try_from(begin).unwrap_or(0);
    let len = match end {
        Some(end) => usize::try_from(end).unwrap_or(0).saturating_sub(first),
        None => 1,
    };
    Ok(match (value, end) {
        (Datum::Array(array), None) => {
            array.elements.get(first).map(|(_, datum)| datum.clone()).unwrap_or_default()
        }
        (Datum::Array(array), Some(_)) => {
            Array::keyed(array.elements.iter().skip(first).take(len).cloned().collect())?
        }
        (Datum::Nothing | Datum::Nil, _) => Datum::Nothing,
        (value, _) => Datum::Text(value.to_string().chars().skip(first).take(len).collect()),
    })
}
