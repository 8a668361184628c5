//! `print` and `export`, to the letter.

use super::*;

fn check(script: &str, printed: &str) {
    let text = prints(script);
    assert_eq!(text, printed, "{script}\nprinted\n{text}");
}

const ADDRESSES: &str = "/ip address
add address=1.1.1.254/24 interface=ether1 network=1.1.1.0
add address=2.2.2.254/24 interface=ether13 disabled=yes comment=\"to the lab\"
";

const RULES: &str = "/ip firewall filter
add chain=forward connection-state=established,related comment=\"allow already established connections\"
add chain=forward protocol=tcp dst-port=!80,8000-8080 src-address=10.0.0.0-10.0.0.255 in-interface=ether11 action=drop log=yes disabled=yes
";

#[test]
fn table() {
    check(
        &format!("{ADDRESSES}print"),
        "Flags: X - disabled, D - dynamic \n \
 #   ADDRESS      NETWORK INTERFACE
 0   1.1.1.254/24 1.1.1.0 ether1
 1 X ;;; to the lab
     2.2.2.254/24         ether13\n",
    );
}

#[test]
fn runs() {
    check(
        &format!("{RULES}print"),
        "Flags: X - disabled, I - invalid, D - dynamic 
 0    ;;; allow already established connections
      chain=\"forward\" action=accept connection-state=established,related log=no
      timeout=10m rate=0/0

 1 X  chain=\"forward\" action=drop protocol=tcp src-address=10.0.0.0/24
      dst-port=!80,8000-8080 in-interface=ether11 log=yes timeout=10m rate=0/0\n",
    );
}

#[test]
fn other_layouts() {
    check(&format!("{ADDRESSES}print count-only\n:put [find disabled]"), "2\n*F\n");
    check(
        &format!("{ADDRESSES}print terse"),
        " 0 address=1.1.1.254/24 network=1.1.1.0 interface=ether1
 1 X comment=\"to the lab\" address=2.2.2.254/24 interface=ether13\n",
    );
    check(
        &format!("{ADDRESSES}print value-list where disabled"),
        "    address: 2.2.2.254/24\n  interface: ether13\n\n",
    );
    check(
        &format!("{ADDRESSES}print as-value from=0"),
        ".id=*E;address=1.1.1.254/24;network=1.1.1.0;interface=ether1\n",
    );
    check(
        "/ip firewall connection tracking print",
        "        enabled: auto\n    udp-timeout: 10s\n           note:\n  total-entries:\n",
    );
}

/// What only the device knows: counters, flags with their reason, items of its own.
struct Busy;

impl Status for Busy {
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        match (menu.path, property) {
            ("/ip firewall filter", "bytes") => Some(Value::Number(15_577_081)),
            ("/ip firewall filter", "packets") => Some(Value::Number(480)),
            ("/ip firewall filter", "invalid") => {
                Some(Value::Bool(menu.read(item?).opt("in-interface").is_some()))
            }
            ("/ip firewall connection tracking", "total-entries") => Some(Value::Number(7)),
            _ => None,
        }
    }

    fn remark(&self, menu: &Menu, item: &Item) -> Option<String> {
        let invalid = self.value(menu, Some(item), "invalid") == Some(Value::Bool(true));
        invalid.then(|| "no such interface here".to_string())
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        if menu.path != ADDRESS.path {
            return Vec::new();
        }
        let address = Value::Cidr([10, 0, 0, 1].into(), 24);
        let values = [("address", address), ("interface", Value::Text("ether2".to_string()))];
        vec![Item { dynamic: true, ..Item::new(ItemId(FIRST_DYNAMIC), values.into()) }]
    }

    fn banner(&self) -> Vec<String> {
        vec!["jan/01/1970 00:00:00 by wirespeed".to_string(), String::new()]
    }
}

#[test]
fn device_status() {
    let run = |script: &str| {
        let mut router = router();
        router.run(script, &Busy).map_or_else(|error| error.text, |output| output.text)
    };
    assert_eq!(
        run(&format!("{RULES}print stats where invalid")),
        "Flags: X - disabled, I - invalid, D - dynamic 
 #    CHAIN   ACTION      BYTES PACKETS
 0 XI ;;; no such interface here
      forward drop   15 577 081     480\n"
    );
    assert_eq!(run("/ip firewall connection tracking\n:put [get total-entries]"), "7\n");
    assert_eq!(run(&format!("{RULES}:put [find packets>479 !invalid]")), "*E\n");
    assert_eq!(
        run("/ip address print"),
        "Flags: X - disabled, D - dynamic \n \
 #   ADDRESS     NETWORK INTERFACE\n 0 D 10.0.0.1/24         ether2\n"
    );
    assert_eq!(run("/ip address remove 0"), "failure: cannot remove dynamic address");
    assert_eq!(
        run("/ip address set *80000000 comment=x"),
        "failure: cannot change dynamic address"
    );
    assert_eq!(run("/ip address disable [find]"), "failure: cannot disable dynamic address");
    assert_eq!(run("/ip address export"), "# jan/01/1970 00:00:00 by wirespeed\n#\n");
}

#[test]
fn export() {
    let script = format!(
        "/interface bridge add name=lan ageing-time=00:05:00\n{ADDRESSES}{RULES}\
        /interface ethernet\nset ether2 name=wan mtu=1400\nset ether3 disabled=yes\n\
        /ip firewall connection tracking set udp-timeout=30\n/"
    );
    let compact = "/interface ethernet
set [ find default-name=ether2 ] mtu=1400 name=wan
set [ find default-name=ether3 ] disabled=yes
/interface bridge
add name=lan
/ip address
add address=1.1.1.254/24 interface=ether1 network=1.1.1.0
add address=2.2.2.254/24 comment=\"to the lab\" disabled=yes interface=ether13
/ip firewall filter
add chain=forward comment=\"allow already established connections\" \\
    connection-state=established,related
add action=drop chain=forward disabled=yes dst-port=!80,8000-8080 \\
    in-interface=ether11 log=yes protocol=tcp src-address=10.0.0.0/24
/ip firewall connection tracking
set udp-timeout=30s
";
    check(&format!("{script}\nexport"), compact);
    check(
        &format!("{script}\n/ip address export"),
        &compact
            [compact.find("/ip address").unwrap_or(0)..compact.find("/ip firewall").unwrap_or(0)],
    );
    check(
        &format!("{script}\n/interface export terse"),
        "/interface ethernet set [ find default-name=ether2 ] mtu=1400 name=wan
/interface ethernet set [ find default-name=ether3 ] disabled=yes
/interface bridge add name=lan\n",
    );
    check(
        "/interface bridge add name=lan\n/interface bridge export verbose",
        "/interface bridge\nadd ageing-time=5m disabled=no name=lan\n",
    );
    let text = prints("/interface ethernet export verbose");
    let line = "set [ find default-name=ether1 ] disabled=no mtu=1500 name=ether1";
    assert_eq!(text.lines().nth(1), Some(line));
}

/// Fixed items without factory names: by their own, or by number.
#[test]
fn fixed_items() {
    const fn services(path: &'static str, key: Option<&'static str>) -> Menu {
        let kind = MenuKind::List { key, auto_name: None, ordered: false, fixed: true };
        const PROPERTIES: &[Property] = &[
            Property::new("name", Type::Text, "Which."),
            Property::new("port", Type::Number(1, 65535), "Where.").default("1"),
        ];
        Menu { path, kind, properties: PROPERTIES, help: "" }
    }
    static NAMED: Menu = services("/ip service", Some("name"));
    static NUMBERED: Menu = services("/system leds", None);
    let fresh = || {
        let mut router = Interpreter::new([&NAMED, &NUMBERED]);
        for name in ["telnet", "ssh"] {
            router.tree_mut().push(&NAMED, [("name", Value::Text(name.to_string()))].into());
            router.tree_mut().push(&NUMBERED, Default::default());
        }
        router
    };
    let mut router = fresh();
    let script = "/ip service set ssh port=2200\n/system leds set 1 disabled=yes\n/export";
    let text = router.run(script, &()).map_or_else(|e| panic!("{e}"), |output| output.text);
    assert_eq!(text, "/ip service\nset ssh port=2200\n/system leds\nset 1 disabled=yes\n");
    let mut second = fresh();
    second.run(&text, &()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(second.tree(), router.tree());
}

/// The device's items may stand ahead of the user's, and it may say what follows when nothing was
/// typed; what has a default is left alone.
struct Ahead;

impl Status for Ahead {
    fn value(&self, _: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        match (item?.get("address")?, property) {
            (Value::Cidr(address, _), "network") => Some(Value::Address(*address)),
            _ => Some(Value::Number(7)),
        }
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        let text = |text: &str| Value::Text(text.to_string());
        let (ahead, behind) = (ItemId(FIRST_AHEAD), ItemId(FIRST_DYNAMIC));
        let items = [(behind, "behind"), (ahead, "ahead")].map(|(id, chain)| Item {
            dynamic: true,
            ..Item::new(id, [("chain", text(chain))].into())
        });
        if menu.path == FILTER.path { items.into() } else { Vec::new() }
    }
}

#[test]
fn ahead_of_the_users() {
    let mut router = router();
    let mut run = |script: &str| match router.run(script, &Ahead) {
        Ok(output) => output.text,
        Err(error) => error.text,
    };
    run("/ip firewall filter\nadd chain=mine");
    let chains = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().filter_map(|word| word.strip_prefix("chain="));
        words.map(|chain| chain.trim_matches('"').to_string()).collect()
    };
    assert_eq!(chains(&run("print")), ["ahead", "mine", "behind"]);
    assert_eq!(chains(&run("print from=1,0")), ["ahead", "mine"]);
    assert_eq!(
        run("print\nremove 0").lines().last(),
        Some("failure: cannot remove dynamic filter")
    );
    run("print\nremove 1");
    assert_eq!(chains(&run("print")), ["ahead", "behind"]);
    assert_eq!(
        run("/ip address\nadd address=1.1.1.254/24 interface=ether1\nprint"),
        "Flags: X - disabled, D - dynamic \n \
 #   ADDRESS      NETWORK   INTERFACE\n 0   1.1.1.254/24 1.1.1.254 ether1\n"
    );
}
