//! Operators: what they make of two values.
//!
//! Numbers wrap around at 64 bits; a text that spells a number counts as one; times, addresses and
//! prefixes are added to and compared as what they are. What fits nothing is compared as text.

use crate::pattern::Pattern;
use crate::script::Datum;
use crate::script::ast::{Binary, Operator, Unary};
use crate::script::data::{Array, TooLarge};
use std::cmp::Ordering;
use std::net::Ipv4Addr;

/// Why not.
pub(crate) type Reason = String;

impl From<TooLarge> for Reason {
    fn from(_: TooLarge) -> Reason {
        "value is too large".to_string()
    }
}

/// `! - ~`.
pub(crate) fn unary(operator: Unary, datum: &Datum) -> Result<Datum, Reason> {
    let refused = || format!("cannot apply {operator:?} to {}", datum.kind()).to_lowercase();
    Ok(match (operator, datum) {
        (Unary::Not, datum) => Datum::Bool(!truth(datum)?),
        (Unary::Minus, Datum::Time(us)) => Datum::Time(us.wrapping_neg()),
        (Unary::Minus, datum) => Datum::Number(datum.number().ok_or_else(refused)?.wrapping_neg()),
        (Unary::Complement, Datum::Address(address)) => {
            Datum::Address(Ipv4Addr::from(!u32::from(*address)))
        }
        (Unary::Complement, datum) => Datum::Number(!datum.number().ok_or_else(refused)?),
    })
}

/// Whether a condition holds.
pub(crate) fn truth(datum: &Datum) -> Result<bool, Reason> {
    match datum {
        Datum::Nothing | Datum::Nil => Ok(false),
        _ => datum.truth().ok_or_else(|| format!("{} is no condition", datum.kind())),
    }
}

/// All operators between two values; `&&` and `||` know their second one here.
pub(crate) fn binary(operator: Binary, left: &Datum, right: &Datum) -> Result<Datum, Reason> {
    let refused =
        || format!("cannot apply {} to {} and {}", operator.sign(), left.kind(), right.kind());
    match operator {
        Binary::Or => Ok(Datum::Bool(truth(left)? | truth(right)?)),
        Binary::And => Ok(Datum::Bool(truth(left)? & truth(right)?)),
        Binary::In => within(left, right).map(Datum::Bool).ok_or_else(refused),
        Binary::Compare(Operator::Matches) => {
            Ok(Datum::Bool(Pattern::new(&right.to_string())?.matches(&left.to_string())))
        }
        Binary::Compare(operator) => Ok(Datum::Bool(compare(operator, left, right))),
        Binary::Concatenate => Ok(Datum::text(format!("{left}{right}"))?),
        Binary::Join => join(left, right),
        Binary::Element => Ok(element(left, right)),
        _ => arithmetic(operator, left, right).ok_or_else(|| {
            let zero = right.number() == Some(0) || right.time() == Some(0);
            match operator {
                Binary::Divide | Binary::Remainder if zero => "division by zero".to_string(),
                _ => refused(),
            }
        }),
    }
}

fn arithmetic(operator: Binary, left: &Datum, right: &Datum) -> Option<Datum> {
    match (left, right) {
        (Datum::Address(address), right) => {
            let (bits, right_bits) = (u32::from(*address), right.number()?);
            let number = integer(operator, bits.into(), right_bits)?;
            // The distance of two addresses is a number; what is done to one is an address.
            let distance = matches!((operator, right), (Binary::Subtract, Datum::Address(_)));
            Some(if distance {
                Datum::Number(number)
            } else {
                Datum::Address(Ipv4Addr::from(number as u32))
            })
        }
        (Datum::Time(a), Datum::Time(b)) => match operator {
            Binary::Divide => a.checked_div(*b).map(Datum::Number),
            _ => integer(operator, *a, *b).map(Datum::Time),
        },
        (Datum::Time(a), right) => match operator {
            Binary::Multiply | Binary::Divide | Binary::ShiftLeft | Binary::ShiftRight => {
                integer(operator, *a, right.number()?).map(Datum::Time)
            }
            _ => integer(operator, *a, right.time()?).map(Datum::Time),
        },
        (left, Datum::Time(b)) => match operator {
            Binary::Multiply => integer(operator, left.number()?, *b).map(Datum::Time),
            _ => integer(operator, left.time()?, *b).map(Datum::Time),
        },
        _ => integer(operator, left.number()?, right.number()?).map(Datum::Number),
    }
}

fn integer(operator: Binary, a: i64, b: i64) -> Option<i64> {
    Some(match operator {
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide if b != 0 => a.wrapping_div(b),
        Binary::Remainder if b != 0 => a.wrapping_rem(b),
        Binary::BitAnd => a & b,
        Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::ShiftLeft => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0),
        Binary::ShiftRight => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(0),
        _ => return None,
    })
}

fn compare(operator: Operator, left: &Datum, right: &Datum) -> bool {
    match operator {
        Operator::Equal => equal(left, right),
        Operator::NotEqual => !equal(left, right),
        Operator::Less => order(left, right).is_lt(),
        Operator::Greater => order(left, right).is_gt(),
        Operator::LessEqual => order(left, right).is_le(),
        Operator::GreaterEqual => order(left, right).is_ge(),
        Operator::Matches => false,
    }
}

fn equal(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Text(a), Datum::Text(b)) => a == b,
        (Datum::Bool(a), other) | (other, Datum::Bool(a)) => other.truth() == Some(*a),
        _ if left.is_nothing() && right.is_nothing() => true,
        _ => left == right || left.to_string() == right.to_string(),
    }
}

fn order(left: &Datum, right: &Datum) -> Ordering {
    match (left, right) {
        (Datum::Text(a), Datum::Text(b)) if left.number().is_none() || right.number().is_none() => {
            a.cmp(b)
        }
        (Datum::Time(_), _) | (_, Datum::Time(_)) => left.time().cmp(&right.time()),
        _ => match (left.number(), right.number()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => left.to_string().cmp(&right.to_string()),
        },
    }
}

/// `1.2.3.4 in 1.2.3.0/24`, `"a" in {"a";"b"}`.
fn within(left: &Datum, right: &Datum) -> Option<bool> {
    let prefix = |datum: &Datum| match datum {
        Datum::Address(address) => Some((u32::from(*address), 32)),
        Datum::Prefix(address, len) => Some((u32::from(*address), *len)),
        _ => None,
    };
    if let Datum::Array(array) = right {
        return Some(array.elements.iter().any(|(_, datum)| equal(left, datum)));
    }
    let ((inner, inner_len), (outer, outer_len)) = (prefix(left)?, prefix(right)?);
    let shift = 32 - u32::from(outer_len);
    let net = |bits: u32| bits.checked_shr(shift).unwrap_or(0);
    Some(inner_len >= outer_len && net(inner) == net(outer))
}

fn join(left: &Datum, right: &Datum) -> Result<Datum, Reason> {
    let mut elements = Vec::new();
    for datum in [left, right] {
        match datum {
            Datum::Array(array) => elements.extend(array.elements.iter().cloned()),
            Datum::Nothing => {}
            datum => elements.push((None, datum.clone())),
        }
    }
    Ok(Array::keyed(elements)?)
}

/// The element of this key, or at this place; nothing if there is none.
pub(crate) fn element(array: &Datum, key: &Datum) -> Datum {
    let Datum::Array(array) = array else { return Datum::Nothing };
    let text = key.to_string();
    let of_key = array.elements.iter().find(|(name, _)| name.as_ref() == Some(&text));
    let at = || match key {
        Datum::Number(at) => usize::try_from(*at).ok().and_then(|at| array.elements.get(at)),
        _ => None,
    };
    of_key.or_else(at).map(|(_, datum)| datum.clone()).unwrap_or_default()
}
