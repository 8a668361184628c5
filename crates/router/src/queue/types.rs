//! `/queue type`: kinds of queues by name.
//!
//! ```text
//! queue=pcq-download-default ─► the ten that RouterOS begins with ─► Kind
//! queue=mine ─────────────────► an item of /queue type ─────────────┘
//! ```

use super::burst::BurstLimit;
use super::discipline::{
    AckFilter, CakeLimits, Cells, Classifier, CodelLimits, FairLimits, Framing, Isolation, Kind,
    PcqLimits, RedLimits, SCHEMES, Tins,
};
use crate::facility::Facility;
use crate::status::Values;
use config::{Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// `/queue type`.
pub static TYPE: Menu = Menu {
    path: "/queue type",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("type"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "Name of the type."),
        Property::new("kind", Type::Enum(KIND_WORDS), "How packets wait.").default("pfifo"),
        Property::new("pfifo-limit", COUNT, "Packets that may wait.").default("50"),
        Property::new("bfifo-limit", COUNT, "Bytes that may wait.").default("15000"),
        Property::new("mq-pfifo-limit", COUNT, "Packets that may wait.").default("50"),
        Property::new("red-limit", COUNT, "Packets that may wait.").default("60"),
        Property::new("red-min-threshold", COUNT, "Nobody is dropped below.").default("10"),
        Property::new("red-max-threshold", COUNT, "Everybody is dropped above.").default("50"),
        Property::new("red-burst", COUNT, "Packets that may come at once.").default("20"),
        Property::new("red-avg-packet", COUNT, "Average packet, bytes.").default("1000"),
        Property::new("sfq-perturb", Type::Number(0, 1_000_000), "Hashed anew each s.")
            .default("5"),
        Property::new("sfq-allot", Type::Number(0, 32_767), "Bytes in a turn.").default("1514"),
        Property::new("pcq-rate", Type::Rate, "Bits per second of each sub-queue.").default("0"),
        Property::new("pcq-limit", KIBS, "KiB that may wait in each.").default("50"),
        Property::new("pcq-total-limit", KIBS, "KiB that may wait in all.").default("2000"),
        Property::new(
            "pcq-classifier",
            Type::List(&Type::Enum(&["src-address", "dst-address", "src-port", "dst-port"])),
            "What tells sub-queues apart.",
        ),
        Property::new("pcq-burst-rate", Type::Rate, "Burst of each sub-queue.").default("0"),
        Property::new("pcq-burst-threshold", Type::Rate, "Its threshold.").default("0"),
        Property::new("pcq-burst-time", Type::Time, "Its time.").default("10s"),
        Property::new("pcq-src-address-mask", MASK, "Bits of the source.").default("32"),
        Property::new("pcq-dst-address-mask", MASK, "Bits of the destination.").default("32"),
        Property::new("pcq-src-address6-mask", MASK6, "Bits of an IPv6 source.").default("128"),
        Property::new("pcq-dst-address6-mask", MASK6, "Bits of an IPv6 destination.")
            .default("128"),
        Property::new("codel-limit", COUNT, "Packets that may wait.").default("1000"),
        Property::new("codel-target", Type::Time, "How long they may wait.").default("5ms"),
        Property::new("codel-interval", Type::Time, "For how long that may last.").default("100ms"),
        Property::new("codel-ecn", Type::Bool, "Mark instead of dropping.").default("no"),
        Property::new("codel-ce-threshold", THRESHOLD, "Who waited longer is marked.").default(""),
        Property::new("fq-codel-limit", COUNT, "Packets that may wait.").default("10240"),
        Property::new("fq-codel-flows", Type::Number(1, 65_536), "Hashed flows.").default("1024"),
        Property::new("fq-codel-quantum", COUNT, "Bytes in a turn.").default("1514"),
        Property::new("fq-codel-memlimit", COUNT, "Bytes that may wait.").default("33554432"),
        Property::new("fq-codel-target", Type::Time, "How long they may wait.").default("5ms"),
        Property::new("fq-codel-interval", Type::Time, "For how long that may last.")
            .default("100ms"),
        Property::new("fq-codel-ecn", Type::Bool, "Mark instead of dropping.").default("yes"),
        Property::new("fq-codel-ce-threshold", THRESHOLD, "Who waited longer is marked.")
            .default(""),
        Property::new("cake-flowmode", Type::Enum(FLOW_MODES), "Whose shares are equal.")
            .default("triple-isolate"),
        Property::new("cake-diffserv", Type::Enum(TIN_WORDS), "Tins by DSCP.").default("diffserv3"),
        Property::new("cake-rtt", Type::Time, "How long answers take.").default("100ms"),
        Property::new("cake-memlimit", COUNT, "Bytes that may wait.").default("33554432"),
        Property::new("cake-rtt-scheme", Type::Enum(RTT_WORDS), "The same by name.")
            .default("none"),
        Property::new("cake-bandwidth", Type::Rate, "Its own shaper, on the line; 0 is none.")
            .default("0"),
        Property::new("cake-overhead-scheme", Type::Enum(SCHEMES), "What the line adds, by name.")
            .default("none"),
        Property::new("cake-overhead", Type::Number(-64, 256), "Bytes the line adds to IP's.")
            .default("0"),
        Property::new("cake-mpu", Type::Number(0, 256), "Bytes of the shortest on the line.")
            .default("0"),
        Property::new("cake-atm", Type::Enum(&["none", "ptm", "atm"]), "What the line cuts into.")
            .default("none"),
        Property::new("cake-ack-filter", Type::Enum(&["none", "filter", "aggressive"]), ACKS)
            .default("none"),
        Property::new(
            "cake-autorate-ingress",
            Type::Bool,
            "The bandwidth is estimated all the time.",
        )
        .default("no"),
        Property::new("cake-nat", Type::Bool, "Flows are those before src-nat, either way; kept.")
            .default("no"),
        Property::new("cake-wash", Type::Bool, "DSCP is 0 afterwards.").default("no"),
    ],
    help: "How packets wait in queues, by name.",
};

/// `/queue type`.
pub(crate) static FACILITY: Facility = Facility { factory: predefined, ..Facility::of(&TYPE) };

const COUNT: Type = Type::Number(0, u32::MAX as i64);
/// `50`, or as RouterOS 7 writes it, `50KiB`.
const KIBS: Type =
    Type::Custom(|text| match text.strip_suffix("KiB").unwrap_or(text).parse::<u32>() {
        Ok(kib) => Ok(Value::Number(kib.into())),
        Err(_) => Err("a number of KiB".to_string()),
    });
/// No threshold, or a time.
const THRESHOLD: Type = Type::Or(&["", "none"], &Type::Time);
const MASK: Type = Type::Number(0, 32);
const MASK6: Type = Type::Number(0, 128);
const ACKS: &str = "Acknowledgements that go for a later one.";

const KIND_WORDS: &[&str] =
    &["pfifo", "bfifo", "mq-pfifo", "sfq", "red", "pcq", "none", "codel", "fq-codel", "cake"];
const FLOW_MODES: &[&str] = &[
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
];
const TIN_WORDS: &[&str] = &["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"];
/// How long answers take, by tc-cake(8)'s names.
const RTTS: [(&str, Duration); 8] = [
    ("datacentre", Duration::from_micros(100)),
    ("lan", Duration::from_millis(1)),
    ("metro", Duration::from_millis(10)),
    ("regional", Duration::from_millis(30)),
    ("internet", Duration::from_millis(100)),
    ("oceanic", Duration::from_millis(300)),
    ("satellite", Duration::from_secs(1)),
    ("interplanetary", Duration::from_secs(1000)),
];
const RTT_WORDS: &[&str] = &[
    "none",
    "datacentre",
    "lan",
    "metro",
    "regional",
    "internet",
    "oceanic",
    "satellite",
    "interplanetary",
];

/// The types that RouterOS begins with, in its order.
const PREDEFINED: &[&str] = &[
    "default",
    "ethernet-default",
    "wireless-default",
    "synchronous-default",
    "hotspot-default",
    "pcq-upload-default",
    "pcq-download-default",
    "only-hardware-queue",
    "multi-queue-ethernet-default",
    "default-small",
];

/// What `queue=` takes: a type that RouterOS begins with, or one of [`TYPE`].
pub(crate) const KINDS: Type = Type::Or(PREDEFINED, &Type::Reference(&["/queue type"]));

/// The one that queues have if they say nothing.
pub(super) const DEFAULT_KIND: &str = "default-small";

/// The one that ports have if they say nothing: what their hardware has.
pub(super) const DEFAULT_INTERFACE_KIND: &str = "only-hardware-queue";

/// The types, compiled.
#[derive(Debug, Default)]
pub struct Types(HashMap<String, Option<Kind>>);

impl Types {
    /// Compiles `/queue type`.
    pub fn compile(tree: &Tree) -> Types {
        let enabled = tree.read(&TYPE).filter(|item| !item.bool("disabled"));
        let own = enabled.map(|item| (item.name().to_string(), kind(&item)));
        Types(own.collect())
    }

    /// The kind of this name; `None` of one in which no packets wait.
    pub fn find(&self, name: &str) -> Option<Kind> {
        let pfifo = |packets| Some(Kind::Pfifo(packets));
        let sfq = Kind::Sfq { perturb: Duration::from_secs(5), allot: 1514 };
        if let Some(typed) = self.0.get(name) {
            return *typed;
        }
        // Without a tree to say so.
        match name {
            "default" | "ethernet-default" | "multi-queue-ethernet-default" => pfifo(50),
            "default-small" => pfifo(10),
            "hotspot-default" | "wireless-default" => Some(sfq),
            "synchronous-default" => Some(Kind::Red(RedLimits {
                limit: 60,
                min: 10,
                max: 50,
                burst: 20,
                average_packet: 1000,
            })),
            "pcq-upload-default" => Some(pcq(u32::MAX, 0)),
            "pcq-download-default" => Some(pcq(0, u32::MAX)),
            _ => None,
        }
    }
}

const KIB: u64 = 1024;

fn pcq(src: u32, dst: u32) -> Kind {
    Kind::Pcq(PcqLimits {
        rate: 0,
        limit: 50 * KIB,
        total: 2000 * KIB,
        classifier: Classifier { src, dst, src_port: 0, dst_port: 0, len6: [128; 2] },
        burst: BurstLimit { rate: 0, threshold: 0, time_ns: 0 },
    })
}

fn kind(item: &Read) -> Option<Kind> {
    let number = |name| item.number(name).max(0) as u64;
    let count = |name| u32::try_from(item.number(name)).unwrap_or(0);
    let codel = |[target, interval, ecn, ce]: [&str; 4], packets| CodelLimits {
        packets,
        target: item.time(target),
        interval: item.time(interval),
        ecn: item.bool(ecn),
        ce: match item.opt(ce).as_deref() {
            Some(&Value::Time(time)) => Some(time),
            _ => None,
        },
    };
    Some(match item.text("kind").as_str() {
        "bfifo" => Kind::Bfifo(number("bfifo-limit")),
        "mq-pfifo" => Kind::Pfifo(count("mq-pfifo-limit")),
        "red" => Kind::Red(RedLimits {
            limit: count("red-limit"),
            min: count("red-min-threshold"),
            max: count("red-max-threshold").max(count("red-min-threshold") + 1),
            burst: count("red-burst").max(1),
            average_packet: count("red-avg-packet").max(1),
        }),
        "sfq" => Kind::Sfq {
            perturb: Duration::from_secs(number("sfq-perturb")),
            allot: count("sfq-allot").max(1),
        },
        "pcq" => {
            let words = item.list("pcq-classifier");
            let has = |word: &str| words.iter().any(|value| value.to_string() == word);
            let address = |word, mask| match has(word) {
                true => wire::prefix::mask(item.number(mask) as u8),
                false => 0,
            };
            Kind::Pcq(PcqLimits {
                rate: item.rate("pcq-rate"),
                limit: number("pcq-limit") * KIB,
                total: number("pcq-total-limit") * KIB,
                classifier: Classifier {
                    src: address("src-address", "pcq-src-address-mask"),
                    dst: address("dst-address", "pcq-dst-address-mask"),
                    src_port: if has("src-port") { u16::MAX } else { 0 },
                    dst_port: if has("dst-port") { u16::MAX } else { 0 },
                    len6: ["pcq-src-address6-mask", "pcq-dst-address6-mask"]
                        .map(|mask| item.number(mask).clamp(0, 128) as u8),
                },
                burst: BurstLimit {
                    rate: item.rate("pcq-burst-rate"),
                    threshold: item.rate("pcq-burst-threshold"),
                    time_ns: u64::try_from(item.time("pcq-burst-time").as_nanos()).unwrap_or(0),
                },
            })
        }
        "codel" => Kind::Codel(codel(
            ["codel-target", "codel-interval", "codel-ecn", "codel-ce-threshold"],
            count("codel-limit"),
        )),
        "fq-codel" => Kind::FqCodel(FairLimits {
            packets: count("fq-codel-limit"),
            bytes: number("fq-codel-memlimit"),
            flows: count("fq-codel-flows"),
            quantum: count("fq-codel-quantum").max(1),
            codel: Some(codel(
                ["fq-codel-target", "fq-codel-interval", "fq-codel-ecn", "fq-codel-ce-threshold"],
                u32::MAX,
            )),
            blue: false,
            isolation: Isolation::Flows,
            acks: AckFilter::None,
            perturb: Duration::ZERO,
        }),
        "cake" => Kind::Cake(CakeLimits {
            tins: match item.text("cake-diffserv").as_str() {
                "besteffort" => Tins::BestEffort,
                "diffserv4" => Tins::Diffserv4,
                "diffserv8" => Tins::Diffserv8,
                "precedence" => Tins::Precedence,
                _ => Tins::Diffserv3,
            },
            isolation: match item.text("cake-flowmode").as_str() {
                "flowblind" => Isolation::Flowblind,
                "srchost" => Isolation::SrcHost,
                "dsthost" => Isolation::DstHost,
                "hosts" => Isolation::Hosts,
                "flows" => Isolation::Flows,
                "dual-srchost" => Isolation::DualSrcHost,
                "dual-dsthost" => Isolation::DualDstHost,
                _ => Isolation::Triple,
            },
            rtt: match RTTS.iter().find(|(name, _)| *name == item.text("cake-rtt-scheme")) {
                Some(&(_, rtt)) => rtt,
                None => item.time("cake-rtt").max(Duration::from_micros(1)),
            },
            bytes: number("cake-memlimit"),
            rate: item.rate("cake-bandwidth"),
            autorate: item.bool("cake-autorate-ingress"),
            framing: framing(item),
            acks: match item.text("cake-ack-filter").as_str() {
                "filter" => AckFilter::Filter,
                "aggressive" => AckFilter::Aggressive,
                _ => AckFilter::None,
            },
            wash: item.bool("cake-wash"),
        }),
        "none" => return None,
        _ => Kind::Pfifo(count("pfifo-limit")),
    })
}

/// That of the scheme, but for what is said otherwise.
fn framing(item: &Read) -> Framing {
    let mut framing = Framing::of(&item.text("cake-overhead-scheme"));
    match item.number("cake-overhead") {
        0 => {}
        overhead => framing.overhead = Some(overhead as i16),
    }
    match item.number("cake-mpu") {
        0 => {}
        mpu => framing.mpu = mpu as u16,
    }
    match item.text("cake-atm").as_str() {
        "atm" => framing.cells = Cells::Atm,
        "ptm" => framing.cells = Cells::Ptm,
        _ => {}
    }
    framing
}

/// The types that RouterOS begins with, as they are then.
fn predefined() -> Vec<Values> {
    let row = |&name: &&'static str| {
        let text = |text: &str| Value::Text(text.to_string());
        let number = Value::Number;
        let classifier = |word| Value::List(vec![text(word)]);
        let mut values = BTreeMap::from([("name", text(name)), ("default", Value::Bool(true))]);
        values.extend(match name {
            "default-small" => vec![("kind", text("pfifo")), ("pfifo-limit", number(10))],
            "hotspot-default" | "wireless-default" => vec![("kind", text("sfq"))],
            "multi-queue-ethernet-default" => vec![("kind", text("mq-pfifo"))],
            "only-hardware-queue" => vec![("kind", text("none"))],
            "synchronous-default" => vec![("kind", text("red"))],
            "pcq-upload-default" => {
                vec![("kind", text("pcq")), ("pcq-classifier", classifier("src-address"))]
            }
            "pcq-download-default" => {
                vec![("kind", text("pcq")), ("pcq-classifier", classifier("dst-address"))]
            }
            _ => vec![("kind", text("pfifo")), ("pfifo-limit", number(50))],
        });
        values
    };
    PREDEFINED.iter().map(row).collect()
}
