//! For all inputs: what is printed is read again, and nothing panics.

use super::*;
use crate::script::{quote, quote_always};
use proptest::prelude::*;

/// Types, and texts that tend to be theirs.
fn typed() -> impl Strategy<Value = (Type, String)> {
    let number = prop_oneof!["[0-9]{1,6}", "0x[0-9a-f]{1,4}", "-?[0-9]{1,3}"].boxed();
    let address = "(([0-9]|1[0-9]{2}|25[0-5])\\.){3}[0-9]{1,2}".boxed();
    let range = prop_oneof![
        address.clone(),
        (address.clone(), 0..33).prop_map(|(a, len)| format!("{a}/{len}")),
        (address.clone(), address.clone()).prop_map(|(a, b)| format!("{a}-{b}")),
    ]
    .boxed();
    let mac = "([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}".boxed();
    let time = prop_oneof![
        "[0-9]{1,5}",
        "([0-9]w)?([0-9]{1,2}d)?([0-9]{1,3}h)?([0-9]m)?[0-9]{1,4}s([0-9]ms)?([0-9]us)?",
        "([0-9]d ?)?[0-9]{2}:[0-5][0-9]:[0-5][0-9]"
    ]
    .boxed();
    let rate = "[0-9]{1,6}[kMG]?".boxed();
    let numbers = "[0-9]{1,3}(-[0-9]{3,5})?".boxed();
    let text = "[a-z!,/=\"\\\\ $-]{0,8}".boxed();
    const NUMBERS: Type = Type::Numbers(0, 65535);
    prop_oneof![
        (Just(Type::Bool), "(yes|no|true|false|y|n)".boxed()),
        (Just(Type::Number(-1000, 100_000)), number),
        (Just(Type::Text), text.clone()),
        (Just(Type::Enum(&["accept", "drop", "draw"])), "(accept|drop|draw|a|dr)".boxed()),
        (Just(Type::Address), address.clone()),
        (Just(Type::Cidr), range.clone()),
        (Just(Type::Range), range.clone()),
        (Just(Type::Address6), "[0-9a-f]{1,4}::[0-9a-f]{0,4}".boxed()),
        (Just(Type::Cidr6), "[0-9a-f]{1,4}(:[0-9a-f]{1,4})?::(/[0-9]{1,2})?".boxed()),
        (Just(Type::Mac), mac.clone()),
        (
            Just(Type::MacMask),
            (mac.clone(), mac.clone()).prop_map(|(a, b)| format!("{a}/{b}")).boxed()
        ),
        (Just(Type::MacMask), mac),
        (Just(Type::Time), time),
        (Just(Type::Rate), rate.clone()),
        (Just(NUMBERS), numbers.clone()),
        (
            Just(Type::Pair(&Type::Rate)),
            (rate.clone(), rate).prop_map(|(a, b)| format!("{a}/{b}")).boxed()
        ),
        (
            Just(Type::List(&NUMBERS)),
            (numbers.clone(), numbers.clone()).prop_map(|(a, b)| format!("{a},{b}")).boxed()
        ),
        (Just(Type::List(&Type::Text)), text.clone()),
        (Just(Type::Negatable(&Type::Text)), text.clone()),
        (
            Just(Type::Negatable(&Type::List(&NUMBERS))),
            numbers.clone().prop_map(|a| format!("!{a}")).boxed()
        ),
        (Just(Type::Or(&["auto", "none"], &Type::Number(0, 9))), "(auto|none|a|[0-9])".boxed()),
        (
            Just(Type::Either(&[Type::Address, NUMBERS, Type::Text])),
            prop_oneof![range, numbers, text].boxed()
        ),
        (Just(PROTOCOL), "(tcp|udp|i|6|17|255)".boxed()),
    ]
}

/// Any text, and some that unquoted are numbers, times, identities.
fn quoted_texts() -> impl Strategy<Value = String> {
    prop_oneof![4 => any::<String>(), 1 => "\\*?[+-]?[0-9a-f]{1,3}[hd]?", 1 => "(yes|no|true|nothing)"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn printed_is_read_again((kind, text) in typed()) {
        if let Ok(value) = kind.parse(&text, &AnyName) {
            let printed = value.to_string();
            let again = kind.parse(&printed, &AnyName);
            prop_assert_eq!(again, Ok(value), "{:?} {} {}", kind, text, printed);
        }
    }

    #[test]
    fn quoted_is_read_again(text in quoted_texts()) {
        let printed = prints(&format!(":put {}", quote_always(&text)));
        prop_assert_eq!(printed, format!("{text}\n"));
    }

    /// Where `export` puts it: as an argument, which `:put`'s words are not (`:put *a` is an identity).
    #[test]
    fn exported_argument_is_read_again(text in quoted_texts()) {
        let add = format!("/interface bridge add name=b comment={}", quote(&text));
        let printed = prints(&format!("{add}\n:put [/interface bridge get b comment]"));
        prop_assert_eq!(printed, format!("{text}\n"));
    }

    #[test]
    fn types_take_any_text((kind, _) in typed(), text in any::<String>()) {
        let _ = kind.parse(&text, &AnyName);
    }
}

/// Fragments of the language, so that random scripts get somewhere.
fn fragment() -> impl Strategy<Value = String> {
    let words: Vec<&'static str> = vec![
        "/",
        "/ip",
        "address",
        "/interface bridge",
        "port",
        "..",
        "add",
        "set",
        "remove",
        "find",
        "print",
        "export",
        "move",
        "comment",
        "get",
        "unset",
        "enable",
        "disable",
        ":put",
        "0",
        "0,1",
        "*1",
        "[find]",
        "[",
        "]",
        "[find ",
        "name=a",
        "name=",
        "!name",
        "address=1.1.1.1/24",
        "interface=ether1",
        "chain=x",
        "/ip firewall filter",
        "tracking",
        "place-before=0",
        "copy-from=0",
        "where",
        "disabled",
        "!disabled",
        "comment=\"a b\"",
        "comment~\"a*\"",
        "\"",
        "\\",
        "\\\n",
        "\n",
        ";",
        "#",
        "=",
        "!=",
        "~",
        "{",
        "(",
        "$x",
        "terse",
        "verbose",
        "detail",
        "stats",
        "as-value",
        "count-only",
        "ether1",
        "quick",
        "ü",
        "\t",
    ];
    prop_oneof![9 => proptest::sample::select(words).prop_map(str::to_string), 1 => any::<String>()]
}

/// A rule as somebody might write it.
fn rule() -> impl Strategy<Value = String> {
    let comment = prop_oneof!["[ -~]{0,200}", any::<String>()];
    let optional = |name: &'static str, value: &'static str| {
        proptest::option::of(value)
            .prop_map(move |v| v.map(|v| format!(" {name}={v}")).unwrap_or_default())
    };
    let parts = (
        optional("protocol", "!?(tcp|udp|[0-9]{2})"),
        optional("dst-port", "!?[0-9]{1,4}(,[0-9]{1,2}-[1-9][0-9]{2}){0,30}"),
        optional("src-address", "!?10\\.0\\.[0-9]\\.0/[12][0-9]"),
        optional("in-interface", "!?(ether1[0-3]|bridge1|all-vlan)"),
        optional("connection-state", "!?(new|established)(,invalid)?"),
        optional("timeout", "[0-9]{1,3}m"),
        optional("rate", "[0-9]{1,3}M(/[0-9]{1,2}k)?"),
        optional("disabled", "(yes|no)"),
        optional("log", "(yes|no)"),
    );
    ("[a-z!=~-]{1,90}", comment, parts).prop_map(|(chain, comment, p)| {
        let chain = quote_always(&chain);
        let comment = quote_always(&comment);
        let (a, b, c, d, e, f, g, h, i) = p;
        format!(
            "/ip firewall filter add chain={chain} comment={comment}{a}{b}{c}{d}{e}{f}{g}{h}{i}\n"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_script_panics(words in proptest::collection::vec((fragment(), any::<bool>()), 0..30)) {
        let text: String = words.into_iter().map(|(word, blank)| word + if blank { " " } else { "" }).collect();
        let mut router = router();
        if let Err(error) = router.run(&text, &()) {
            // Its display slices the script, so let it.
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn exported_is_run_again(
        rules in proptest::collection::vec(rule(), 0..8),
        bridge in "[a-zA-Z0-9 <>_.-]{1,20}",
        note in any::<String>(),
        verbose in prop_oneof![Just(""), Just("verbose"), Just("terse"), Just("verbose terse")],
    ) {
        let bridge = quote_always(&bridge);
        let mut first = router();
        let script = format!(
            "/interface bridge add\nadd name={bridge} ageing-time=1m\n\
            /interface bridge add; port add bridge={bridge} interface=ether4\n\
            /ip firewall connection tracking set note={} enabled=no\n\
            /ip address add address=1.2.3.4/24 interface={bridge}\n\
            /interface ethernet set ether5 name=wan\n/\n{}",
            quote_always(&note), rules.concat()
        ).replace("add\nadd", "\nadd");
        first.run(&script, &()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let exported = first.run(&format!("/export {verbose}"), &()).map(|o| o.text);
        let exported = exported.map_err(|e| TestCaseError::fail(e.to_string()))?;
        if !verbose.contains("terse") {
            // What has no place to break may be longer.
            let long = exported.lines().find(|line| line.len() > 79 && line.contains(' ') && line.contains('"'));
            prop_assert_eq!(long, None);
        }
        let mut second = router();
        second.run(&exported, &()).map_err(|e| TestCaseError::fail(format!("{e}\n{exported}")))?;
        prop_assert_eq!(contents(&first), contents(&second), "{}", exported);
    }
}
