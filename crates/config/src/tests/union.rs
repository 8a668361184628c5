//! A menu that unites others.

use super::*;

const ALL: Menu = Menu {
    path: "/interface",
    kind: MenuKind::Union { key: "name", of: "name" },
    properties: &[
        Property::new("name", Type::Text, "Its name.").column(),
        Property::new("type", Type::Text, "What it is.").read_only().column(),
        Property::new("mtu", Type::Number(0, 65535), "The largest packet.").column(),
    ],
    help: "All interfaces.",
};

const LIST: Menu = Menu {
    path: "/list",
    kind: list(None, None, false),
    properties: &[Property::new("interface", Type::Reference(&["/interface"]), "Which.").required()],
    help: "Any interface.",
};

struct Kinds;

impl Status for Kinds {
    fn value(&self, menu: &Menu, _: Option<&Item>, property: &str) -> Option<Value> {
        let kind = (menu.path == ALL.path && property == "type").then(|| "some".to_string());
        kind.map(Value::Text)
    }
}

fn check(cases: &[(&str, &str)]) {
    for (script, expected) in cases {
        let mut router = Interpreter::new([&ALL, &ETHERNET, &BRIDGE, &LIST]);
        for number in 1..=2 {
            let name = Value::Text(format!("ether{number}"));
            router.tree_mut().push(&ETHERNET, [("name", name)].into());
        }
        let text = match router.run(script, &Kinds) {
            Ok(output) => output.text,
            Err(error) => format!("!{}", error.text),
        };
        assert_eq!(text.trim_end_matches('\n'), *expected, "{script}\n{text}");
    }
}

#[test]
fn tables_fit() {
    assert_eq!(menu::faults(&[&ALL, &ETHERNET, &BRIDGE, &LIST]), Vec::<String>::new());
}

#[test]
fn unites() {
    let add = "/interface bridge add name=lan\n/interface\n";
    let cases = [
        (
            "print",
            " #   NAME   TYPE MTU\n 0   ether1 some 1500\n 1   ether2 some 1500\n 2   lan    some",
        ),
        ("print count-only where name~\"ether\"", "2"),
        (":put [find type=some]; :put [find name=lan]", "*1;*2;*3\n*3"),
        ("set ether2 mtu=1400 comment=x; :put [/interface ethernet get ether2 mtu]", "1400"),
        ("set ether2 mtu=9999", "!value of mtu out of range (68..9000)"),
        ("set lan mtu=1400", "!expected end of command (line 3 column 1)"),
        ("disable 0,lan; :put [find disabled]; enable lan; :put [find disabled]", "*1;*3\n*1"),
        ("set ether1 name=wan; :put [/interface ethernet find name=wan]", "*1"),
        ("set ether1 name=lan", "!failure: already have interface with such name"),
        (
            "/list add interface=lan; /interface set lan name=home; :put [/list get 0 interface]",
            "home",
        ),
        (
            "/list add interface=eth",
            "!ambiguous value of interface, more than one possible value matches input",
        ),
        ("add name=x", "!bad command name add (line 3 column 1)"),
        ("export", "/interface bridge\nadd name=lan"),
    ];
    let cases = cases.map(|(script, expected)| (format!("{add}{script}"), expected));
    for (script, expected) in &cases {
        check(&[(script, expected)]);
    }
}
