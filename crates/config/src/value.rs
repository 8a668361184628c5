//! Values of properties, and their printed form. `parse.rs` reads them.
//!
//! For every type, what is printed is read as the same value again.
//!
//! **Missing**: sizes in KiB, ids and arrays as values.

use std::collections::HashMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use wire::{Ipv4Range, MacAddr};

/// A typed value. Which shape a property's value has is decided by its [`Type`] alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `yes`, `no`.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// Free text, a name, a reference to an item by name, or a word of an enumeration (always
    /// spelled out, however it was abbreviated).
    Text(String),
    /// An address.
    Address(Ipv4Addr),
    /// An address with its prefix length; the host bits are kept.
    Cidr(Ipv4Addr, u8),
    /// One or more contiguous addresses.
    Range(Ipv4Range),
    /// An IPv6 address.
    Address6(Ipv6Addr),
    /// An IPv6 address with its prefix length; the host bits are kept.
    Cidr6(Ipv6Addr, u8),
    /// A MAC address.
    Mac(MacAddr),
    /// A MAC address and the mask of the bits that count (`FF:…:FF` when none was typed).
    MacMask(MacAddr, MacAddr),
    /// A length of time.
    Time(Duration),
    /// Bits per second; 0 means unlimited.
    Rate(u64),
    /// `a-b`, both included; `a` alone is `a-a`.
    Numbers(u64, u64),
    /// `a/b`: upload and download.
    Pair(Box<Value>, Box<Value>),
    /// Comma separated.
    List(Vec<Value>),
    /// `!value`: whatever does not match it.
    Not(Box<Value>),
}

/// How a property is typed.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// `yes` or `no` (`true`, `false`) → [`Value::Bool`].
    Bool,
    /// A whole number of a range (both included), decimal or `0x` → [`Value::Number`].
    Number(i64, i64),
    /// Free text → [`Value::Text`].
    Text,
    /// One of these words, which may be abbreviated → [`Value::Text`].
    Enum(&'static [&'static str]),
    /// The name of an item of one of these menus (their key property) → [`Value::Text`].
    Reference(&'static [&'static str]),
    /// `1.2.3.4` → [`Value::Address`].
    Address,
    /// `1.2.3.4/24`; no length means /32 → [`Value::Cidr`].
    Cidr,
    /// `1.2.3.4`, `1.2.3.0/24` or `1.2.3.4-1.2.3.9` → [`Value::Range`].
    Range,
    /// `2001:db8::1` → [`Value::Address6`].
    Address6,
    /// `2001:db8::1/64`; no length means /128 → [`Value::Cidr6`].
    Cidr6,
    /// `00:0C:42:00:00:01` → [`Value::Mac`].
    Mac,
    /// `00:0C:42:00:00:01/FF:FF:FF:00:00:00` → [`Value::MacMask`].
    MacMask,
    /// `1d2h3m4s`, `HH:MM:SS`, a bare number of seconds → [`Value::Time`].
    Time,
    /// `10M`, `512k`, `1G` (k = 1000), bits per second → [`Value::Rate`].
    Rate,
    /// `a` or `a-b` within the range (both included) → [`Value::Numbers`].
    Numbers(u64, u64),
    /// `up/down`, one value standing for both → [`Value::Pair`].
    Pair(&'static Type),
    /// Comma separated, no blanks → [`Value::List`].
    List(&'static Type),
    /// May be preceded by `!` → [`Value::Not`].
    Negatable(&'static Type),
    /// A word of this list instead of the type's own form (`auto`, `none`, `all-ethernet`) →
    /// [`Value::Text`]; else the type.
    Or(&'static [&'static str], &'static Type),
    /// The first of these types that accepts the text.
    Either(&'static [Type]),
    /// The type's form, of which only these values are built, the default first; another is refused
    /// as not implemented, with the remark. What is no value of the type stays a typing error.
    Only(&'static Type, &'static [&'static str], &'static str),
    /// A syntax of the facility's own. Returns the value, or what was expected instead; it must
    /// print (`Value::to_string`) as something it accepts again.
    Custom(fn(&str) -> Result<Value, String>),
}

impl Type {
    /// Whether it is made of words of its own: what `print` shows without quotes.
    pub(crate) fn is_free_text(&self) -> bool {
        match self {
            Type::Text => true,
            Type::Negatable(kind) | Type::Or(_, kind) | Type::Only(kind, ..) => kind.is_free_text(),
            _ => false,
        }
    }

    /// Whether its name alone, without a value, says yes.
    pub(crate) fn is_bool(&self) -> bool {
        matches!(self, Type::Bool | Type::Only(Type::Bool, ..))
    }
}

impl fmt::Display for Value {
    /// As RouterOS prints it, without the quotes a text may need on a command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(true) => f.write_str("yes"),
            Value::Bool(false) => f.write_str("no"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
            Value::Address(address) => write!(f, "{address}"),
            Value::Cidr(address, len) => write!(f, "{address}/{len}"),
            Value::Range(range) => write!(f, "{range}"),
            Value::Address6(address) => write!(f, "{address}"),
            Value::Cidr6(address, len) => write!(f, "{address}/{len}"),
            Value::Mac(mac) => write!(f, "{mac}"),
            Value::MacMask(mac, mask) => write!(f, "{mac}/{mask}"),
            Value::Time(time) => write_time(f, *time),
            Value::Rate(rate) => write_rate(f, *rate),
            Value::Numbers(low, high) if low == high => write!(f, "{low}"),
            Value::Numbers(low, high) => write!(f, "{low}-{high}"),
            Value::Pair(up, down) => write!(f, "{up}/{down}"),
            Value::List(values) => {
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Value::Not(value) => write!(f, "!{value}"),
        }
    }
}

/// `1w2d3h4m5s6ms7us`, nothing that is zero, except `0s`.
fn write_time(f: &mut fmt::Formatter<'_>, time: Duration) -> fmt::Result {
    let mut rest = time.as_micros();
    if rest == 0 {
        return f.write_str("0s");
    }
    for (unit, us) in TIME_UNITS {
        let n = rest / us;
        rest %= us;
        if n > 0 {
            write!(f, "{n}{unit}")?;
        }
    }
    Ok(())
}

/// In microseconds, longest first.
pub(crate) const TIME_UNITS: [(&str, u128); 7] = [
    ("w", 604_800_000_000),
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// In the largest unit that shows it whole: `10M`, `1500k`, `1`.
fn write_rate(f: &mut fmt::Formatter<'_>, rate: u64) -> fmt::Result {
    let unit = RATE_UNITS.iter().find(|(_, bits)| rate != 0 && rate.is_multiple_of(*bits));
    match unit {
        Some((unit, bits)) => write!(f, "{}{unit}", rate / bits),
        None => write!(f, "{rate}"),
    }
}

/// In bits per second, largest first; k is 1000.
pub(crate) const RATE_UNITS: [(char, u64); 3] =
    [('G', 1_000_000_000), ('M', 1_000_000), ('k', 1_000)];

impl Type {
    /// Calls `visit` with the menus of every reference it holds.
    pub(crate) fn each_reference(&self, visit: &mut dyn FnMut(&'static [&'static str])) {
        match self {
            Type::Reference(menus) => visit(menus),
            Type::Pair(kind)
            | Type::List(kind)
            | Type::Negatable(kind)
            | Type::Or(_, kind)
            | Type::Only(kind, ..) => kind.each_reference(visit),
            Type::Either(kinds) => kinds.iter().for_each(|kind| kind.each_reference(visit)),
            _ => {}
        }
    }

    /// Gives references to items of a menu, known by any of these paths, their new names.
    pub(crate) fn rename(
        &self,
        value: &mut Value,
        known_as: &[&str],
        new: &HashMap<String, String>,
    ) {
        let mean = |menus: &[&str]| menus.iter().any(|menu| known_as.contains(menu));
        match (self, value) {
            (Type::Reference(menus), Value::Text(name)) if mean(menus) => {
                if let Some(new) = new.get(name) {
                    name.clone_from(new);
                }
            }
            (Type::Or(words, _), Value::Text(word)) if words.contains(&word.as_str()) => {}
            (Type::Or(_, kind) | Type::Only(kind, ..), value) => kind.rename(value, known_as, new),
            (Type::Negatable(kind), Value::Not(value)) => kind.rename(value, known_as, new),
            (Type::Negatable(kind), value) => kind.rename(value, known_as, new),
            (Type::List(kind), Value::List(values)) => {
                values.iter_mut().for_each(|value| kind.rename(value, known_as, new));
            }
            (Type::Pair(kind), Value::Pair(up, down)) => {
                kind.rename(up, known_as, new);
                kind.rename(down, known_as, new);
            }
            (Type::Either(kinds), value) => {
                // One of them read the name; two must not follow a swap of names twice.
                let refers = |kind: &&Type| {
                    let mut refers = false;
                    kind.each_reference(&mut |menus| refers |= mean(menus));
                    refers
                };
                if let Some(kind) = kinds.iter().find(refers) {
                    kind.rename(value, known_as, new);
                }
            }
            _ => {}
        }
    }
}
