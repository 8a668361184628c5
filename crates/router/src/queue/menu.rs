//! The menu `/queue simple`.
//!
//! The properties of a class are the same in `/queue tree`, and what they mean is read here.

use super::bucket::Limit;
use super::burst::BurstLimit;
use super::discipline::Kind;
use super::settings::Settings;
use super::types::{DEFAULT_KIND, KINDS, Types};
use crate::firewall::mark::{Mark, MarkNames};
use crate::firewall::matcher::hours;
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
        Property::new("queue", Type::Pair(&KINDS), "How packets wait: a kind of /queue type.")
            .default("default-small/default-small"),
        Property::new("parent", PARENT, "The queue whose part it is.").default("none"),
        Property::new("limit-at", RATES, "Bits per second that are assured.").default("0/0"),
        Property::new("priority", Type::Pair(&PRIORITY), "Who gets first what is left; 1 is best.")
            .default("8/8"),
        Property::new("burst-limit", RATES, "Most bits per second in a burst.").default("0/0"),
        Property::new("burst-threshold", RATES, "Bursts, as long as the average is below.")
            .default("0/0"),
        Property::new("burst-time", Type::Pair(&Type::Time), "Over how long the average is taken.")
            .default("0s/0s"),
        Property::new("packet-marks", MARKS, "Packets with one of these marks, or no-mark."),
        Property::new("time", Type::Custom(hours::read), "From-to,days: when it is there."),
        Property::new("total-max-limit", Type::Rate, "Most bits per second, both ways together."),
        Property::new("total-limit-at", Type::Rate, "Assured, both ways together."),
        Property::new("total-priority", PRIORITY, "Priority of both ways together."),
        Property::new("total-queue", KINDS, "How packets wait, both ways together."),
        Property::new("total-burst-limit", Type::Rate, "Burst, both ways together."),
        Property::new("total-burst-threshold", Type::Rate, "Its threshold."),
        Property::new("total-burst-time", Type::Time, "Its time."),
        Property::new("total-bucket-size", Type::Custom(bucket_size), "Its bucket."),
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
        Property::new("total-bytes", COUNT, "Bytes that passed, both ways.").read_only().detail(),
        Property::new("total-packets", COUNT, "Packets that passed, both ways.")
            .read_only()
            .detail(),
        Property::new("total-dropped", COUNT, "Packets dropped, both ways.").read_only().detail(),
        Property::new("total-queued-bytes", COUNT, "Bytes waiting, both ways.")
            .read_only()
            .detail(),
        Property::new("total-queued-packets", COUNT, "Packets waiting, both ways.")
            .read_only()
            .detail(),
        Property::new("total-rate", Type::Rate, "Bits per second, both ways.").read_only().detail(),
        Property::new("total-packet-rate", COUNT, "Packets per second, both ways.")
            .read_only()
            .detail(),
    ],
    help: "Simple queues: rate limits for each direction of a target's traffic, one below the other.",
};

const TARGET: Type =
    Type::Either(&[Type::Cidr, Type::Cidr6, crate::interface::menu::ANY_INTERFACE]);
const COUNT: Type = Type::Number(0, i64::MAX);
const RATES: Type = Type::Pair(&Type::Rate);
const PRIORITY: Type = Type::Number(1, 8);
const PARENT: Type = Type::Or(&["none"], &A_QUEUE);
/// The name of a queue.
pub(crate) const A_QUEUE: Type = Type::Reference(&["/queue simple"]);

/// Names of marks; an empty text is none, which is any packet.
pub(super) const MARKS: Type = Type::Or(&[""], &Type::List(&crate::firewall::menu::WORD));

/// The marks that a queue asks for; `None` if it asks for none. A name that has no number is no
/// packet's.
pub(super) fn marks_of(value: Option<&Value>, names: &MarkNames) -> Option<Vec<Mark>> {
    let one = |value: &Value| names.find(&value.to_string());
    match value? {
        Value::List(list) => Some(list.iter().filter_map(one).collect()),
        Value::Text(text) if text.is_empty() => None,
        text => Some(one(text).into_iter().collect()),
    }
}

/// 0.1 s.
const DEFAULT_DEPTH: u64 = 100_000_000;
const MAX_DEPTH: u64 = 10_000_000_000;

pub(super) fn bucket_size(text: &str) -> Result<Value, String> {
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

/// What an item says of one class: names of properties begin with `prefix`, and of a pair the half
/// is taken.
pub(super) struct Said<'a> {
    pub(super) item: &'a Item,
    pub(super) prefix: &'static [&'static str; 8],
    pub(super) half: usize,
}

/// Names of the properties of a class: max-limit, limit-at, priority, queue, burst-limit,
/// burst-threshold, burst-time, bucket-size.
pub(super) const OWN: [&str; 8] = [
    "max-limit",
    "limit-at",
    "priority",
    "queue",
    "burst-limit",
    "burst-threshold",
    "burst-time",
    "bucket-size",
];
/// The same of both ways together.
pub(super) const TOTAL: [&str; 8] = [
    "total-max-limit",
    "total-limit-at",
    "total-priority",
    "total-queue",
    "total-burst-limit",
    "total-burst-threshold",
    "total-burst-time",
    "total-bucket-size",
];

impl Said<'_> {
    /// What it means; whose place in a tree is not known yet.
    ///
    /// # Errors
    /// Why no queue can be like that.
    pub(super) fn read(&self, types: &Types) -> Result<Settings, String> {
        let rate = |n: usize| match self.get(n) {
            Some(&Value::Rate(rate)) => rate,
            _ => 0,
        };
        let limit = Limit {
            rate: rate(0),
            depth_ns: match self.get(7) {
                Some(Value::Text(text)) => nanoseconds(text).unwrap_or(DEFAULT_DEPTH),
                _ => DEFAULT_DEPTH,
            },
            packets: 0,
        };
        let limit_at = rate(1);
        if limit.rate > 0 && limit_at > limit.rate {
            return Err(format!("{} is above {}", self.prefix[1], self.prefix[0]));
        }
        let burst = BurstLimit {
            rate: rate(4),
            threshold: rate(5),
            time_ns: match self.get(6) {
                Some(Value::Time(time)) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
                _ => 0,
            },
        };
        let name = match self.get(3) {
            Some(Value::Text(name)) => name.as_str(),
            _ => DEFAULT_KIND,
        };
        let kind = types.find(name).ok_or_else(|| format!("no packets wait in {name}"))?;
        let packets = match kind {
            Kind::Pfifo(packets) => u16::try_from(packets).unwrap_or(u16::MAX),
            _ => 0,
        };
        let priority = match self.get(2) {
            Some(&Value::Number(priority)) => priority as u8,
            _ => 8,
        };
        let limit = Limit { packets, ..limit };
        Ok(Settings { limit_at, priority, burst, kind, ..Settings::plain(limit) })
    }

    fn get(&self, property: usize) -> Option<&Value> {
        match self.item.get(self.prefix[property]) {
            Some(Value::Pair(up, down)) => Some(if self.half == 0 { up } else { down }),
            one => one,
        }
    }
}

/// What an item means for upload and download.
///
/// # Errors
/// Why no queue can be like that.
pub(super) fn both(item: &Item, types: &Types) -> Result<[Settings; 2], String> {
    let half = |half| Said { item, prefix: &OWN, half }.read(types);
    Ok([half(0)?, half(1)?])
}

/// What it means for both ways together; `None` if it says nothing of that.
///
/// # Errors
/// Why no queue can be like that.
pub(super) fn total(item: &Item, types: &Types) -> Result<Option<Settings>, String> {
    if !has_total(item) {
        return Ok(None);
    }
    Said { item, prefix: &TOTAL, half: 0 }.read(types).map(Some)
}

/// Whether it limits both ways together.
pub(super) fn has_total(item: &Item) -> bool {
    let rates = [TOTAL[0], TOTAL[1], TOTAL[4]];
    rates.iter().any(|name| matches!(item.get(name), Some(&Value::Rate(rate)) if rate > 0))
}

#[cfg(test)]
mod tests;
