//! The menu `/queue simple`.
//!
//! What belongs to HTB, bursts and marks is accepted at its default only, so that a configuration
//! that does not use them loads, and one that does is refused with the reason.

use super::bucket::Limit;
use crate::firewall::menu::WORD;
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
            Type::Pair(&Type::Only(&ALL_TYPES, QUEUE_TYPES, NO_TYPE)),
            "How many packets may wait: default-small 10, default 50.",
        )
        .default("default-small/default-small"),
        Property::only("parent", &WORD, &["none"], NO_TREE),
        Property::only("limit-at", &RATES, &["0/0"], NO_HTB),
        Property::only("priority", &Type::Pair(&PRIORITY), &["8/8"], NO_HTB),
        Property::only("burst-limit", &RATES, &["0/0"], NO_BURST),
        Property::only("burst-threshold", &RATES, &["0/0"], NO_BURST),
        Property::only("burst-time", &Type::Pair(&Type::Time), &["0s/0s"], NO_BURST),
        Property::only("packet-marks", &Type::Text, &["", "no-mark"], "packets carry no marks yet"),
        Property::missing("time", "queues work at all times"),
        Property::only("total-max-limit", &Type::Rate, &["0"], NO_TOTAL).default(""),
        Property::only("total-limit-at", &Type::Rate, &["0"], NO_TOTAL).default(""),
        Property::only("total-priority", &PRIORITY, &["8"], NO_TOTAL).default(""),
        Property::only("total-queue", &ALL_TYPES, &["default-small", "default"], NO_TOTAL)
            .default(""),
        Property::only("total-burst-limit", &Type::Rate, &["0"], NO_TOTAL).default(""),
        Property::only("total-burst-threshold", &Type::Rate, &["0"], NO_TOTAL).default(""),
        Property::only("total-burst-time", &Type::Time, &["0s"], NO_TOTAL).default(""),
        Property::only("total-bucket-size", &Type::Custom(bucket_size), &["0.1"], NO_TOTAL)
            .default(""),
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

const TARGET: Type = Type::Either(&[Type::Cidr, crate::interface::menu::ANY_INTERFACE]);
const COUNT: Type = Type::Number(0, i64::MAX);
const RATES: Type = Type::Pair(&Type::Rate);
const PRIORITY: Type = Type::Number(1, 8);

/// What a new RouterOS has in `/queue type`.
const ALL_TYPES: Type = Type::Enum(&[
    "default",
    "default-small",
    "ethernet-default",
    "hotspot-default",
    "multi-queue-ethernet-default",
    "only-hardware-queue",
    "pcq-download-default",
    "pcq-upload-default",
    "synchronous-default",
    "wireless-default",
]);

/// The queue types that are built, and how many packets may wait in them.
const QUEUE_TYPES: &[&str] = &["default-small", "default"];
const QUEUE_LIMITS: [u16; 2] = [10, 50];

const NO_TYPE: &str = "/queue type is not built; default-small and default are";
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

#[cfg(test)]
mod tests;
