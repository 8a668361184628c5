//! Tests of values, type by type: as typed, as printed, and read back by getters.

use super::*;
use std::time::Duration;

const PORTS: Type = Type::Negatable(&Type::List(&Type::Numbers(0, 65535)));

/// (type, typed, printed).
const CASES: &[(Type, &str, &str)] = &[
    (Type::Bool, "true", "yes"),
    (Type::Bool, "n", "no"),
    (Type::Number(-5, 0xffff), "0x1F", "31"),
    (Type::Number(-5, 0xffff), "-5", "-5"),
    (Type::Number(-5, 0xffff), "007", "7"),
    (Type::Enum(&["tcp", "udp", "udp-lite"]), "udp", "udp"),
    (Type::Enum(&["tcp", "udp", "udp-lite"]), "udp-", "udp-lite"),
    (Type::Cidr, "1.1.1.1/24", "1.1.1.1/24"),
    (Type::Cidr, "1.1.1.1", "1.1.1.1/32"),
    (Type::Cidr, "1.1.1.1/255.255.240.0", "1.1.1.1/20"),
    (Type::Range, "1.1.1.1/24", "1.1.1.0/24"),
    (Type::Range, "192.168.0.0-192.168.1.255", "192.168.0.0/23"),
    (Type::Range, "10.0.0.5-10.0.0.9", "10.0.0.5-10.0.0.9"),
    (Type::Range, "10.0.0.5/32", "10.0.0.5"),
    (Type::Range, "0.0.0.0/0", "0.0.0.0/0"),
    (Type::Address6, "2001:DB8:0:0::1", "2001:db8::1"),
    (Type::Address6, "1.2.3.4", ""),
    (Type::Address6, "2001:db8::1/64", ""),
    (Type::Cidr6, "2001:db8::1/64", "2001:db8::1/64"),
    (Type::Cidr6, "::", "::/128"),
    (Type::Cidr6, "::/129", ""),
    (Type::Mac, "00:0c:42:aa:bb:cc", "00:0C:42:AA:BB:CC"),
    (Type::MacMask, "00:0c:42:00:00:01", "00:0C:42:00:00:01/FF:FF:FF:FF:FF:FF"),
    (Type::MacMask, "00:0c:42:00:00:00/ff:ff:ff:0:0:0", ""),
    (Type::Time, "86400", "1d"),
    (Type::Time, "600s", "10m"),
    (Type::Time, "00:03:20", "3m20s"),
    (Type::Time, "31s250ms", "31s250ms"),
    (Type::Time, "1d 00:04:02", "1d4m2s"),
    (Type::Time, "1w2d3h4m5s6ms7us", "1w2d3h4m5s6ms7us"),
    (Type::Time, "0", "0s"),
    (Type::Time, "", ""),
    (Type::Time, "5s1m", ""),
    (Type::Time, "1:60:00", ""),
    (Type::Time, "999999999999999999w", ""),
    (Type::Rate, "10M", "10M"),
    (Type::Rate, "10000k", "10M"),
    (Type::Rate, "1500000", "1500k"),
    (Type::Rate, "1999", "1999"),
    (Type::Rate, "0", "0"),
    (Type::Rate, "18446744073709551615G", ""),
    (Type::Rate, "1.5M", ""),
    (Type::Pair(&Type::Rate), "10M/512k", "10M/512k"),
    (Type::Pair(&Type::Rate), "10M", "10M/10M"),
    (PORTS, "80,443,8000-8080", "80,443,8000-8080"),
    (PORTS, "!22", "!22"),
    (PORTS, "80-80", "80"),
    (PORTS, "80,", ""),
    (PORTS, "", ""),
    (Type::List(&Type::Enum(&["mac", "ip", "udp"])), "m,i,u", "mac,ip,udp"),
    (Type::Or(&["auto", "none"], &Type::Number(68, 9000)), "au", "auto"),
    (Type::Or(&["auto", "none"], &Type::Number(68, 9000)), "1500", "1500"),
    (Type::Either(&[Type::Address, PORTS]), "1.2.3.4", "1.2.3.4"),
    (Type::Either(&[Type::Address, PORTS]), "!1-3", "!1-3"),
    (Type::Only(&Type::Number(0, 255), &["30"], "no"), "0x1e", "30"),
    (Type::Only(&Type::Number(0, 255), &["30"], "no"), "31", ""),
];

#[test]
fn typed_and_printed() {
    for (kind, typed, printed) in CASES {
        let text = kind.parse(typed, &AnyName).map(|value| value.to_string());
        assert_eq!(text.unwrap_or_default(), *printed, "{kind:?}: {typed}");
    }
}

/// The more telling of two reasons is given.
#[test]
fn alternatives() {
    let horizon = Type::Or(&["none"], &Type::Number(0, 9));
    assert_eq!(horizon.parse("10", &AnyName), Err(Mismatch::OutOfRange(None, 0, 9)));
    assert_eq!(horizon.parse("non-", &AnyName), Err(Mismatch::NoMatch(vec!["none".to_string()])));
    let either = Type::Either(&[Type::Address, Type::Enum(&["blackhole", "blue"])]);
    assert!(matches!(either.parse("b", &AnyName), Err(Mismatch::Ambiguous(_))));
    assert!(matches!(either.parse("1.2.3", &AnyName), Err(Mismatch::NoMatch(_))));
}

#[test]
fn getters() {
    let router = after(
        "/interface bridge add ageing-time=90 comment=lan disabled=yes\n\
        /ip firewall filter add chain=a rate=10M/1k dst-port=1,2-3",
    );
    let tree = router.tree();
    let bridge = tree.read(&BRIDGE).next().expect("one bridge");
    assert_eq!((bridge.name(), bridge.comment()), ("bridge1", "lan"));
    assert_eq!(bridge.time("ageing-time"), Duration::from_secs(90));
    assert!(bridge.bool("disabled") && !bridge.bool("dynamic"));
    assert_eq!(bridge.opt("admin-mac"), None);
    let rule = tree.read(&FILTER).next().expect("one rule");
    assert_eq!((rule.text("action").as_str(), rule.bool("log")), ("accept", false));
    assert_eq!(rule.text("rate"), "10M/1k");
    assert_eq!(rule.list("dst-port"), [Value::Numbers(1, 1), Value::Numbers(2, 3)]);
    assert_eq!(rule.text("protocol"), "");
    let ether1 = tree.read(&ETHERNET).next().expect("thirteen ports");
    assert_eq!(ether1.number("mtu"), 1500);
    let untouched = tree.read_settings(&TRACKING);
    assert_eq!((untouched.text("enabled"), untouched.item()), ("auto".to_string(), None));
    assert_eq!(tree.read(&TRACKING).count(), 1);
}

#[test]
#[should_panic(expected = "/interface bridge has no agein-time")]
fn a_name_not_in_the_table_is_a_mistake_of_ours() {
    let router = after("/interface bridge add");
    let bridge = router.tree().read(&BRIDGE).next().expect("one bridge");
    bridge.time("agein-time");
}
