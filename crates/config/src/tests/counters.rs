//! Counters, rates and lines for the eye, to the letter.

use super::*;

/// A menu whose device counts.
const METER: Menu = Menu {
    path: "/meter",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "").required(),
        Property::new("protocol", Type::Text, "").read_only().wide(4),
        Property::new("at", Type::Text, "").read_only().wide(12),
        count("packets"),
        Property::new("rate", Type::Rate, "").read_only(),
        count("fp-packets").detail(),
    ],
    help: "",
};

/// Counters by direction, which are too wide for a table.
const PAIRS: Menu = Menu {
    path: "/pairs",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "").required(),
        Property::new("packets", Type::Pair(&Type::Number(0, i64::MAX)), "").read_only(),
        Property::new("rate", Type::Pair(&Type::Rate), "").read_only(),
        Property::new("max-limit", Type::Pair(&Type::Rate), "").default("0/0"),
    ],
    help: "",
};

const SUMS: Menu = Menu {
    path: "/sums",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("size", Type::Number(0, 9999), "").default("1500"),
        count("packets"),
    ],
    help: "",
};

const LINES: Menu = Menu {
    path: "/lines",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("time", Type::Text, "").read_only().line(),
        Property::new("message", Type::Text, "").read_only().line(),
    ],
    help: "",
};

const fn count(name: &'static str) -> Property {
    Property::new(name, Type::Number(0, i64::MAX), "").read_only()
}

struct Device;

impl Status for Device {
    fn value(&self, _: &Menu, _: Option<&Item>, property: &str) -> Option<Value> {
        match property {
            "protocol" => Some(Value::Text("udp".into())),
            "at" => Some(Value::Text("10.0.0.1:53".into())),
            "packets" => Some(Value::Number(15_577_081)),
            "rate" => Some(Value::Rate(463_373_600)),
            "fp-packets" => Some(Value::Number(1000)),
            _ => None,
        }
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        let line = |n: u32, message: &str| {
            let text = |text: &str| Value::Text(text.to_string());
            let values = [("time", text("01:02:03")), ("message", text(message))];
            Item { dynamic: true, ..Item::new(ItemId(FIRST_DYNAMIC + n), values.into()) }
        };
        let long = "a message that is longer than any cell of a table may be, and has\ntwo lines";
        if menu.path == LINES.path { vec![line(0, "short"), line(1, long)] } else { Vec::new() }
    }
}

/// The same, with counts by direction.
struct Pairs;

impl Status for Pairs {
    fn value(&self, _: &Menu, _: Option<&Item>, property: &str) -> Option<Value> {
        let pair = |up, down| Some(Value::Pair(Box::new(up), Box::new(down)));
        match property {
            "packets" => pair(Value::Number(1000), Value::Number(2)),
            "rate" => pair(Value::Rate(106_499_999), Value::Rate(0)),
            _ => None,
        }
    }
}

fn check(status: &dyn Status, script: &str, expected: &str) {
    let mut session = Interpreter::new([&METER, &PAIRS, &SUMS, &LINES]);
    session.run("/meter add name=m\n/pairs add name=p max-limit=10M/1500k", &()).unwrap();
    let text = session.run(script, status).unwrap_or_else(|error| panic!("{error}")).text;
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let expected: Vec<&str> = expected.lines().collect();
    assert_eq!(lines, expected, "{script}\nprinted\n{text}");
}

#[test]
fn in_every_layout() {
    let flags = "Flags: X - disabled, D - dynamic";
    for (script, expected) in [
        ("/meter print", format!("{flags}\n #   PR.. AT\n 0   udp  10.0.0.1:53")),
        (
            "/meter print stats",
            format!("{flags}\n #   NAME    PACKETS      RATE\n 0   m    15 577 081 463.3Mbps"),
        ),
        (
            "/meter print stats-detail",
            format!("{flags}\n 0    name=\"m\" packets=15 577 081 rate=463.3Mbps fp-packets=1 000"),
        ),
        (
            "/meter print detail",
            format!("{flags}\n 0    name=\"m\" protocol=\"udp\" at=\"10.0.0.1:53\""),
        ),
        ("/meter print terse", " 0 name=\"m\" protocol=\"udp\" at=\"10.0.0.1:53\"".to_string()),
        (
            "/meter print value-list",
            "      name: m\n  protocol: udp\n        at: 10.0.0.1:53\n\n".to_string(),
        ),
        // What programs read is exact.
        (
            "/meter print as-value",
            ".id=*1;name=m;protocol=udp;at=10.0.0.1:53;packets=15577081;rate=463373600;\
             fp-packets=1000"
                .to_string(),
        ),
        ("/sums print", "     size: 1500\n  packets: 15 577 081".to_string()),
        ("/sums print as-value", "size=1500;packets=15577081".to_string()),
        (
            "/lines print",
            "01:02:03 short
01:02:03 a message that is longer than any cell of a table may be, and has two lines"
                .to_string(),
        ),
        ("/lines print where message=short", "01:02:03 short".to_string()),
    ] {
        check(&Device, script, &expected);
    }
    check(
        &Pairs,
        "/pairs print stats",
        &format!("{flags}\n 0    name=\"p\" packets=1 000/2 rate=106.4Mbps/0bps"),
    );
    check(&Pairs, "/pairs print", &format!("{flags}\n 0    name=\"p\" max-limit=10M/1500k"));
}
