//! Tests of values that state the present behaviour, and of refusals that give the reason.

use super::*;
use std::sync::Arc;

static ROUTE: Menu = Menu {
    path: "/ip route",
    kind: list(None, None, false),
    properties: &[
        Property::new("gateway", Type::Text, "Where to."),
        Property::only("check-gateway", &CHECK, &["none"], "gateways are not asked"),
        Property::only("scope", &Type::Number(0, 255), &["30"], "there are no scopes"),
        Property::only("hw", &Type::Bool, &["yes", "no"], "never said"),
        Property::only("pcap", &Type::Bool, &["no"], "nothing is captured"),
        Property::only("queue", &Type::Pair(&QUEUES), &["a/a"], "queues have no other type"),
        Property::only("limit-at", &Type::Pair(&Type::Rate), &["0/0"], "nothing is guaranteed"),
        Property::only("marks", &Type::Text, &["", "no-mark"], "nothing is marked"),
        Property::missing("routing-mark", "only the main table exists"),
    ],
    help: "Routes.",
};

const CHECK: Type = Type::Enum(&["arp", "none", "ping"]);
const QUEUES: Type = Type::Enum(&["a", "b"]);

/// What is kept of what was said; or the refusal and its help.
type Outcome = Result<&'static str, (&'static str, &'static str)>;

/// (what is said of a route, what comes of it).
const CASES: &[(&str, Outcome)] = &[
    ("check-gateway=none", Ok("check-gateway=none")),
    ("check=n", Ok("check-gateway=none")),
    (
        "check-gateway=ping",
        Err(("not implemented: gateways are not asked", "check-gateway is none")),
    ),
    ("check-gateway=p", Err(("not implemented: gateways are not asked", "check-gateway is none"))),
    (
        "check-gateway=reachable",
        Err(("input does not match any value of check-gateway", "check-gateway is one of: none")),
    ),
    ("scope=30", Ok("scope=30")),
    ("scope=0x1e", Ok("scope=30")),
    ("scope=31", Err(("not implemented: there are no scopes", "scope is 30"))),
    ("scope=256", Err(("value of scope out of range (0..255)", "scope takes 30"))),
    ("scope=x", Err(("invalid value for argument scope", "scope takes a number from 0 to 255"))),
    ("hw=no", Ok("hw=no")),
    ("hw", Ok("hw=yes")),
    ("pcap=no", Ok("pcap=no")),
    ("pcap", Err(("not implemented: nothing is captured", "pcap is no"))),
    ("queue=a/a", Ok("queue=a/a")),
    ("queue=a/b", Err(("not implemented: queues have no other type", "queue is a/a"))),
    ("limit-at=0", Ok("limit-at=0/0")),
    ("limit-at=2M/2M", Err(("not implemented: nothing is guaranteed", "limit-at is 0/0"))),
    ("marks=\"\"", Ok("")),
    ("marks=no-mark", Ok("marks=no-mark")),
    ("marks=x", Err(("not implemented: nothing is marked", "marks is \"\" | no-mark"))),
    // What is not there is unset already.
    ("!routing-mark", Ok("")),
    ("routing-mark=x", Err(("not implemented: only the main table exists", ""))),
    ("!scope", Ok("")),
];

fn routes() -> Interpreter {
    Interpreter::new([&ROUTE])
}

#[test]
fn what_is_built_is_taken() {
    assert_eq!(menu::faults(&[&ROUTE]), Vec::<String>::new());
    for (said, expected) in CASES {
        let mut router = routes();
        let result = router.run(&format!("/ip route add {said}"), &());
        match (result, expected) {
            (Ok(_), Ok(kept)) => {
                let item = &router.tree().items(ROUTE.path)[0];
                let values = item.values.iter().map(|(name, value)| format!("{name}={value}"));
                assert_eq!(values.collect::<Vec<_>>().join(" "), *kept, "{said}");
            }
            (Err(error), Err((text, help))) => {
                assert_eq!((error.text.as_str(), error.help.as_str()), (*text, *help), "{said}");
            }
            (result, _) => panic!("{said}: {result:?}"),
        }
    }
}

/// The default is kept out of an export and is in a verbose one, which makes the same items.
#[test]
fn exported_like_any_other() {
    let mut router = routes();
    router.run("/ip route add gateway=a hw=no check-gateway=none marks=no-mark", &()).unwrap();
    let export = |router: &mut Interpreter, how: &str| {
        router.run(&format!("/ip route export {how} terse"), &()).unwrap().text
    };
    let compact = "/ip route add gateway=a hw=no marks=no-mark\n";
    assert_eq!(export(&mut router, ""), compact);
    let verbose = export(&mut router, "verbose");
    assert_eq!(
        verbose,
        "/ip route add check-gateway=none disabled=no gateway=a hw=no limit-at=0/0 \
        marks=no-mark pcap=no queue=a/a scope=30\n"
    );
    let mut again = routes();
    again.run(&verbose, &()).unwrap();
    assert_eq!(export(&mut again, ""), compact);
}

/// Tab offers nothing that is refused then.
#[test]
fn offered_is_taken() {
    for (line, expected) in [
        ("/ip route add check-gateway=", &["none"][..]),
        ("/ip route add queue=", &["a/a"]),
        ("/ip route add hw=", &["no", "yes"]),
    ] {
        let mut bench = bench::Bench::new();
        bench.session = Session::new(Arc::new(Language::new([&ROUTE], [])));
        let words = bench.session.complete(line, &mut bench.device);
        let words: Vec<String> = words.into_iter().map(|offered| offered.word).collect();
        assert_eq!(words, expected, "{line}");
    }
}
