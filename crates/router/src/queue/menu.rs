//! The menu `/queue simple`.
//!
//! What belongs to HTB, bursts and marks is accepted at its default only, so that a configuration
//! that does not use them loads, and one that does is refused with the reason.

use super::bucket::Limit;
use config::{Item, Menu, MenuKind, Property, Type, Value};

/// `/queue simple`.
pub static SIMPLE: Menu = Menu {
    path: "/queue simple",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("queue"),
        ordered: true,
        fixed: false,
    },
    properties: &[
        Property::flag("invalid", 'I', "It can never match; the reason stands above it."),
        Property::new("name", Type::Text, "Name of the queue."),
        Property::new(
            "target",
            Type::List(&TARGET),
            "Whose traffic: addresses, prefixes, interfaces.",
        )
        .required(),
        Property::new("dst", TARGET, "Only traffic between target and this."),
        Property::new(
            "max-limit",
            Type::Pair(&Type::Rate),
            "Most bits per second, upload/download; 0 means unlimited.",
        )
        .default("0/0"),
        Property::new(
            "bucket-size",
            Type::Pair(&Type::Custom(bucket_size)),
            "Size of the token bucket in seconds of max-limit.",
        )
        .default("0.1/0.1"),
        Property::new(
            "queue",
            Type::Pair(&Type::Enum(QUEUE_TYPES)),
            "How many packets may wait: default-small 10, default 50.",
        )
        .default("default-small/default-small"),
        Property::new(
            "parent",
            Type::Custom(|text| only(text, &["none"], NO_TREE)),
            "Only none is built.",
        )
        .default("none"),
        Property::new(
            "limit-at",
            Type::Pair(&Type::Custom(|text| only(text, &["0"], NO_HTB))),
            "Only 0/0 is built.",
        )
        .default("0/0"),
        Property::new(
            "priority",
            Type::Pair(&Type::Custom(|text| only(text, &["8"], NO_HTB))),
            "Only 8/8 is built.",
        )
        .default("8/8"),
        Property::new(
            "burst-limit",
            Type::Pair(&Type::Custom(|text| only(text, &["0"], NO_BURST))),
            "Only 0/0 is built.",
        )
        .default("0/0"),
        Property::new(
            "burst-threshold",
            Type::Pair(&Type::Custom(|text| only(text, &["0"], NO_BURST))),
            "Only 0/0 is built.",
        )
        .default("0/0"),
        Property::new(
            "burst-time",
            Type::Pair(&Type::Custom(|text| only(text, &["0s", "0"], NO_BURST))),
            "Only 0s/0s is built.",
        )
        .default("0s/0s"),
        Property::new(
            "packet-marks",
            Type::Custom(|text| only(text, &["", "no-mark"], "packets carry no marks yet")),
            "only \"\" is built",
        ),
        Property::missing("time", "queues work at all times"),
        Property::missing("total-max-limit", NO_TOTAL),
        Property::missing("total-limit-at", NO_TOTAL),
        Property::missing("total-priority", NO_TOTAL),
        Property::missing("total-queue", NO_TOTAL),
        Property::missing("total-burst-limit", NO_TOTAL),
        Property::missing("total-burst-threshold", NO_TOTAL),
        Property::missing("total-burst-time", NO_TOTAL),
        Property::missing("total-bucket-size", NO_TOTAL),
        Property::new("bytes", Type::Pair(&COUNT), "Bytes that passed, upload/download.")
            .read_only(),
        Property::new("packets", Type::Pair(&COUNT), "Packets that passed.").read_only(),
        Property::new("dropped", Type::Pair(&COUNT), "Packets dropped because too many waited.")
            .read_only(),
        Property::new("queued-bytes", Type::Pair(&COUNT), "Bytes waiting now.").read_only(),
        Property::new("queued-packets", Type::Pair(&COUNT), "Packets waiting now.").read_only(),
        Property::new("rate", Type::Pair(&Type::Rate), "Bits per second over the last second.")
            .read_only(),
        Property::new(
            "packet-rate",
            Type::Pair(&COUNT),
            "Packets per second over the last second.",
        )
        .read_only(),
    ],
    help: "Simple queues: a rate limit for each direction of a target's traffic.",
};

const TARGET: Type = Type::Either(&[Type::Cidr, Type::Reference(crate::interface::menu::MENUS)]);
const COUNT: Type = Type::Number(0, i64::MAX);

/// The queue types that are built, and how many packets may wait in them.
const QUEUE_TYPES: &[&str] = &["default-small", "default"];
const QUEUE_LIMITS: [u16; 2] = [10, 50];

const NO_TREE: &str = "queues have no parents yet";
const NO_HTB: &str = "HTB is not built; use max-limit";
const NO_BURST: &str = "bursts are not built; use bucket-size";
const NO_TOTAL: &str = "limit upload and download each with max-limit";

/// The limits of an item, upload and download.
pub(super) fn limits(item: &Item) -> [Limit; 2] {
    let both = |name| match item.get(name) {
        Some(Value::Pair(up, down)) => [Some(&**up), Some(&**down)],
        one => [one, one],
    };
    let (rates, depths, types) = (both("max-limit"), both("bucket-size"), both("queue"));
    [0, 1].map(|i| Limit {
        rate: match rates[i] {
            Some(&Value::Rate(rate)) => rate,
            _ => 0,
        },
        depth_ns: match depths[i] {
            Some(Value::Text(text)) => nanoseconds(text).unwrap_or(DEFAULT_DEPTH),
            _ => DEFAULT_DEPTH,
        },
        packets: match types[i] {
            Some(Value::Text(text)) => QUEUE_TYPES
                .iter()
                .position(|kind| kind == text)
                .map_or(QUEUE_LIMITS[0], |kind| QUEUE_LIMITS[kind]),
            _ => QUEUE_LIMITS[0],
        },
    })
}

/// 0.1 s.
const DEFAULT_DEPTH: u64 = 100_000_000;
const MAX_DEPTH: u64 = 10_000_000_000;

fn bucket_size(text: &str) -> Result<Value, String> {
    match nanoseconds(text) {
        Some(ns) if ns <= MAX_DEPTH => Ok(Value::Text(text.into())),
        _ => Err("a number from 0 to 10 with at most nine decimals, as 0.1".into()),
    }
}

/// A decimal number of seconds, without rounding.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| {
        let plain = (1..=9).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<u64>().ok().filter(|_| plain)
    };
    let scale = 10u64.pow(9 - fraction.len().min(9) as u32);
    Some(digits(whole)? * 1_000_000_000 + digits(fraction)? * scale)
}

/// One of the values that are built, or what is missing.
fn only(text: &str, built: &[&str], missing: &str) -> Result<Value, String> {
    if built.contains(&text) {
        Ok(Value::Text(text.into()))
    } else {
        let built = if built[0].is_empty() { "\"\"" } else { built[0] };
        Err(format!("{built} ({missing})"))
    }
}

#[cfg(test)]
mod tests;
