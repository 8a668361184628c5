//! What a property can hold, and how it is typed and printed.

use std::net::Ipv4Addr;
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
    /// `yes` or `no` → [`Value::Bool`].
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
    /// A syntax of the facility's own. Returns the value, or what was expected instead; it must
    /// print (`Value::to_string`) as something it accepts again.
    Custom(fn(&str) -> Result<Value, String>),
}
