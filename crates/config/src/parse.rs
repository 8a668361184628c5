//! Reading values: from what was typed to a [`Value`], by its [`Type`].
//!
//! Words of enumerations and names of items may be abbreviated while that is unambiguous.

use crate::value::{RATE_UNITS, TIME_UNITS};
use crate::{Type, Value};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{Ipv4Range, MacAddr};

/// Why a text is no value of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Not of the form; holds what was expected instead.
    Invalid(String),
    /// Not a time.
    Time,
    /// None of these words.
    NoMatch(Vec<String>),
    /// Short for more than one of these words.
    Ambiguous(Vec<String>),
    /// A value that RouterOS takes and we do not yet; holds what to do instead, or why.
    Missing(&'static str),
    /// A number, but not from low to high. RouterOS names some parts of values here (`netmask`,
    /// `range`); without such a name it is the property's.
    OutOfRange(Option<&'static str>, i128, i128),
}

/// The names of items that references may mean.
pub trait Names {
    /// The full name that `typed` stands for among the items of these menus.
    ///
    /// # Errors
    /// [`Mismatch::NoMatch`] or [`Mismatch::Ambiguous`].
    fn resolve(&self, menus: &[&str], typed: &str) -> Result<String, Mismatch>;
}

/// Believes every name: for defaults, and where no configuration is at hand.
pub struct AnyName;

impl Names for AnyName {
    fn resolve(&self, _menus: &[&str], typed: &str) -> Result<String, Mismatch> {
        Ok(typed.to_string())
    }
}

/// The one of `words` that `typed` is, or begins.
pub(crate) fn pick<'a>(
    words: impl Iterator<Item = &'a str> + Clone,
    typed: &str,
) -> Result<&'a str, Mismatch> {
    let own = |words: Vec<&str>| words.into_iter().map(str::to_string).collect();
    let mut found = Vec::new();
    for word in words.clone() {
        if word == typed {
            return Ok(word);
        }
        if !typed.is_empty() && word.starts_with(typed) {
            found.push(word);
        }
    }
    found.dedup();
    match found.as_slice() {
        [word] => Ok(word),
        [] => Err(Mismatch::NoMatch(own(words.collect()))),
        _ => Err(Mismatch::Ambiguous(own(found))),
    }
}

impl Type {
    /// Reads a value. `names` resolves references.
    ///
    /// ```
    /// use config::{AnyName, Type, Value};
    /// let ports = Type::Negatable(&Type::List(&Type::Numbers(0, 65535)));
    /// let value = ports.parse("!80,8000-8080", &AnyName).unwrap();
    /// assert_eq!(value.to_string(), "!80,8000-8080");
    /// assert!(matches!(value, Value::Not(_)));
    /// ```
    ///
    /// # Errors
    /// Why not, with what is legal.
    pub fn parse(&self, text: &str, names: &dyn Names) -> Result<Value, Mismatch> {
        match self {
            Type::Bool => {
                let word = pick(["yes", "no", "true", "false"].into_iter(), text)?;
                Ok(Value::Bool(matches!(word, "yes" | "true")))
            }
            Type::Number(low, high) => {
                number(text, (*low).into(), (*high).into()).map(|n| Value::Number(n as i64))
            }
            Type::Text => Ok(Value::Text(text.to_string())),
            Type::Enum(words) => pick(words.iter().copied(), text).map(text_value),
            Type::Reference(menus) => names.resolve(menus, text).map(Value::Text),
            Type::Address => address(text).map(Value::Address),
            Type::Cidr => cidr(text).map_err(|mismatch| match mismatch {
                Mismatch::Invalid(_) => Mismatch::Invalid(self.describe()),
                other => other,
            }),
            Type::Range => range(text),
            Type::Address6 => {
                let expected = |_| Mismatch::Invalid(self.describe());
                text.parse().map(Value::Address6).map_err(expected)
            }
            Type::Cidr6 => match wire::prefix6::address_and_len(text) {
                Ok((address, len)) => Ok(Value::Cidr6(address, len)),
                Err(_) => Err(Mismatch::Invalid(self.describe())),
            },
            Type::Mac => mac(text).map(Value::Mac),
            Type::MacMask => match text.split_once('/') {
                Some((address, mask)) => Ok(Value::MacMask(mac(address)?, mac(mask)?)),
                None => Ok(Value::MacMask(mac(text)?, MacAddr::BROADCAST)),
            },
            Type::Time => time(text).map(Value::Time).ok_or(Mismatch::Time),
            Type::Rate => rate(text),
            Type::Numbers(low, high) => numbers(text, *low, *high),
            Type::Pair(kind) => {
                let (up, down) = text.split_once('/').unwrap_or((text, text));
                let (up, down) = (kind.parse(up, names)?, kind.parse(down, names)?);
                Ok(Value::Pair(up.into(), down.into()))
            }
            Type::List(_) if text.is_empty() => Ok(Value::List(Vec::new())),
            Type::List(kind) => {
                let values = text.split(',').map(|part| kind.parse(part, names));
                values.collect::<Result<_, _>>().map(Value::List)
            }
            Type::Negatable(kind) => match text.strip_prefix('!') {
                Some(text) => Ok(Value::Not(kind.parse(text, names)?.into())),
                None => kind.parse(text, names),
            },
            Type::Or(words, _) if words.contains(&text) => Ok(text_value(text)),
            Type::Or(words, kind) => match kind.parse(text, names) {
                Ok(value) => Ok(value),
                Err(other) => match pick(words.iter().copied(), text) {
                    Ok(word) => Ok(text_value(word)),
                    Err(ours) => Err(both(ours, other)),
                },
            },
            Type::Either(kinds) => {
                let mut why = Mismatch::NoMatch(Vec::new());
                for kind in *kinds {
                    match kind.parse(text, names) {
                        Ok(value) => return Ok(value),
                        Err(other) => why = both(why, other),
                    }
                }
                Err(why)
            }
            Type::Only(kind, built, remark) => {
                let is_built = |value: &Value| {
                    let mut built = built.iter().map(|text| kind.parse(text, &AnyName));
                    built.any(|built| built.as_ref() == Ok(value))
                };
                match kind.parse(text, names) {
                    Ok(value) if is_built(&value) => Ok(value),
                    Ok(_) => Err(Mismatch::Missing(remark)),
                    // Nobody is told to choose what would be refused then.
                    Err(Mismatch::NoMatch(_)) => {
                        Err(Mismatch::NoMatch(built.iter().map(ToString::to_string).collect()))
                    }
                    Err(other) => Err(other),
                }
            }
            Type::Custom(read) => read(text).map_err(Mismatch::Invalid),
        }
    }

    /// What it takes, in a few words, for `help`.
    pub fn describe(&self) -> String {
        match self {
            Type::Bool => "yes or no".to_string(),
            Type::Number(low, high) => format!("a number from {low} to {high}"),
            Type::Text => "a text".to_string(),
            Type::Enum(words) => words.join(" | "),
            Type::Reference(menus) => format!("the name of an item of {}", menus.join(" or ")),
            Type::Address => "an address, as 1.2.3.4".to_string(),
            Type::Cidr => "an address and prefix length, as 1.2.3.4/24".to_string(),
            Type::Range => "an address, prefix or range, as 1.2.3.4-1.2.3.9".to_string(),
            Type::Address6 => "an IPv6 address, as 2001:db8::1".to_string(),
            Type::Cidr6 => "an IPv6 address and prefix length, as 2001:db8::1/64".to_string(),
            Type::Mac => "a MAC address, as 00:0C:42:00:00:01".to_string(),
            Type::MacMask => {
                "a MAC address and mask, as 00:0C:42:00:00:01/FF:FF:FF:00:00:00".to_string()
            }
            Type::Time => "a time, as 1d2h3m4s or 00:05:00".to_string(),
            Type::Rate => "bits per second, as 10M or 512k".to_string(),
            Type::Numbers(low, high) => format!("a number or range within {low}-{high}"),
            Type::Pair(kind) => format!("upload/download, each {}", kind.describe()),
            Type::List(kind) => format!("a list, separated by commas, each {}", kind.describe()),
            Type::Negatable(kind) => format!("[!] {}", kind.describe()),
            Type::Or(words, kind) => format!("{} | {}", words.join(" | "), kind.describe()),
            Type::Either(kinds) => {
                kinds.iter().map(Type::describe).collect::<Vec<_>>().join(", or ")
            }
            Type::Only(_, built, _) => {
                let quoted = |text: &&str| if text.is_empty() { "\"\"" } else { *text }.to_string();
                built.iter().map(quoted).collect::<Vec<_>>().join(" | ")
            }
            Type::Custom(_) => "see the manual".to_string(),
        }
    }
}

/// What to say when neither of two alternatives fits: the more telling of the two.
fn both(a: Mismatch, b: Mismatch) -> Mismatch {
    use Mismatch::{Ambiguous, Invalid, Missing, NoMatch, OutOfRange, Time};
    match (a, b) {
        (it @ Missing(_), _) | (_, it @ Missing(_)) => it,
        (NoMatch(mut a), NoMatch(b)) => {
            a.extend(b);
            NoMatch(a)
        }
        (Ambiguous(mut a), Ambiguous(b)) => {
            a.extend(b);
            Ambiguous(a)
        }
        (it @ OutOfRange(..), _) | (_, it @ OutOfRange(..)) => it,
        (it @ Ambiguous(_), _) | (_, it @ Ambiguous(_)) => it,
        (NoMatch(words), it) | (it, NoMatch(words)) if words.is_empty() => it,
        (it @ NoMatch(_), _) | (_, it @ NoMatch(_)) => it,
        (Invalid(a), Invalid(b)) if a != b => Invalid(format!("{a}, or {b}")),
        (it @ Invalid(_), _) | (_, it @ Invalid(_)) => it,
        (Time, Time) => Time,
    }
}

fn text_value(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Decimal or `0x`, within the bounds.
fn number(text: &str, low: i128, high: i128) -> Result<i128, Mismatch> {
    let (minus, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (digits, radix) = match digits.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(Mismatch::Invalid(format!("a number from {low} to {high}")));
    }
    // Too many digits for an i128 are out of every range.
    let number = i128::from_str_radix(digits, radix).ok().map(|n| if minus { -n } else { n });
    let in_range = number.filter(|n| (low..=high).contains(n));
    in_range.ok_or(Mismatch::OutOfRange(None, low, high))
}

fn address(text: &str) -> Result<Ipv4Addr, Mismatch> {
    text.parse().map_err(|_| Mismatch::Invalid("an address, as 1.2.3.4".to_string()))
}

/// What stands behind the slash: a length, or a netmask whose ones come first.
fn prefix_len(text: &str) -> Result<u8, Mismatch> {
    let out = || Mismatch::OutOfRange(Some("netmask"), 0, 32);
    if let Ok(netmask) = text.parse::<Ipv4Addr>() {
        let bits = u32::from(netmask);
        let len = bits.leading_ones();
        return if bits.count_ones() == len { Ok(len as u8) } else { Err(out()) };
    }
    match number(text, 0, 32) {
        Ok(len) => Ok(len as u8),
        Err(Mismatch::OutOfRange(..)) => Err(out()),
        Err(other) => Err(other),
    }
}

fn cidr(text: &str) -> Result<Value, Mismatch> {
    match text.split_once('/') {
        Some((addr, len)) => Ok(Value::Cidr(address(addr)?, prefix_len(len)?)),
        None => Ok(Value::Cidr(address(text)?, 32)),
    }
}

fn range(text: &str) -> Result<Value, Mismatch> {
    let range = if let Some((addr, len)) = text.split_once('/') {
        Some(wire::Ipv4Prefix::new(address(addr)?.into(), prefix_len(len)?).into())
    } else {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Ipv4Range::new(address(first)?.into(), address(last)?.into())
    };
    let expected = || Mismatch::Invalid("a range whose first address is the lower".to_string());
    range.map(Value::Range).ok_or_else(expected)
}

fn mac(text: &str) -> Result<MacAddr, Mismatch> {
    text.parse().map_err(|error: wire::mac::BadMac| Mismatch::Invalid(error.to_string()))
}

fn rate(text: &str) -> Result<Value, Mismatch> {
    let unit = RATE_UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
    let (digits, bits) = unit.map_or((text, 1), |(_, bits)| (&text[..text.len() - 1], *bits));
    let digits_only = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !digits_only {
        return Err(Mismatch::Invalid("bits per second, as 10M or 512k".to_string()));
    }
    let rate = digits.parse().ok().and_then(|n: u64| n.checked_mul(bits));
    rate.map(Value::Rate).ok_or(Mismatch::OutOfRange(None, 0, u64::MAX.into()))
}

fn numbers(text: &str, low: u64, high: u64) -> Result<Value, Mismatch> {
    let bound = |text| match number(text, low.into(), high.into()) {
        Ok(n) => Ok(n as u64),
        Err(Mismatch::OutOfRange(_, low, high)) => {
            Err(Mismatch::OutOfRange(Some("range"), low, high))
        }
        Err(other) => Err(other),
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (bound(first)?, bound(last)?),
        None => (bound(text)?, bound(text)?),
    };
    if first > last {
        return Err(Mismatch::Invalid("a range whose first number is the lower".to_string()));
    }
    Ok(Value::Numbers(first, last))
}

/// `1w2d3h4m5s6ms7us`, units in this order; `HH:MM:SS`, with or without `1d` or `1d ` before it;
/// a bare number of seconds.
fn time(text: &str) -> Option<Duration> {
    let plain = |text: &str| -> Option<u128> {
        let digits =
            !text.is_empty() && text.len() < 20 && text.bytes().all(|b| b.is_ascii_digit());
        if digits { text.parse().ok() } else { None }
    };
    let mut us: u128 = 0;
    let mut rest = text;
    if let Some(seconds) = plain(text) {
        us = seconds * 1_000_000;
        rest = "";
    } else if text.is_empty() {
        return None;
    }
    let mut units = TIME_UNITS.iter();
    while !rest.is_empty() {
        if rest.contains(':') && rest.bytes().all(|b| b.is_ascii_digit() || b == b':') {
            let parts: Vec<&str> = rest.split(':').collect();
            let [h, m, s] = parts[..] else { return None };
            let (h, m, s) = (plain(h)?, plain(m)?, plain(s)?);
            if m > 59 || s > 59 {
                return None;
            }
            us += ((h * 60 + m) * 60 + s) * 1_000_000;
            break;
        }
        let (digits, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        us += plain(digits)? * units.find(|(name, _)| *name == unit)?.1;
        rest = tail.strip_prefix(' ').unwrap_or(tail);
    }
    Some(Duration::from_micros(u64::try_from(us).ok()?))
}
