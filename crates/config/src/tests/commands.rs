//! Tests of commands.

use super::*;
use std::sync::Arc;

/// A script and what it prints.
fn check(script: &str, printed: &str) {
    assert_eq!(prints(script), printed, "{script}");
}

const RULES: &str =
    "/ip firewall filter\nadd chain=a\nadd chain=b comment=second\nadd chain=c disabled=yes\n";

fn order_after(script: &str) -> String {
    let router = after(&format!("{RULES}{script}"));
    router.tree().read(&FILTER).map(|rule| rule.text("chain")).collect()
}

#[test]
fn adding() {
    check(":put [/interface bridge add]", "*E\n");
    check(
        "/interface bridge\nadd\nadd\nadd name=bridge4\nadd\n:put [get 3 name]",
        "bridge5\n".replace('5', "3").as_str(),
    );
    check(
        "/interface bridge add disabled\n:put [/interface bridge get bridge1 disabled]",
        "true\n",
    );
    check(
        "/interface bridge\nadd name=a ageing-time=1m\nadd copy-from=a\n:put [get bridge1 ageing-time]",
        "1m\n",
    );
    assert_eq!(order_after("add chain=d place-before=1"), "adbc");
    assert_eq!(order_after("add copy-from=1 place-before=0"), "babc");
    assert_eq!(order_after("add chain=d place-before=[find comment=second]"), "adbc");
}

#[test]
fn setting() {
    check(
        "/ip firewall connection tracking\nset enabled=y udp-timeout=00:00:20\n:put [get enabled]\n:put [get udp-timeout]",
        "yes\n20s\n",
    );
    let router = after(&format!(
        "{RULES}set 0,2 action=drop\nset [find comment=second] action=log !comment"
    ));
    let actions: Vec<String> =
        router.tree().read(&FILTER).map(|rule| rule.text("action")).collect();
    assert_eq!(actions, ["drop", "log", "drop"]);
    assert!(router.tree().read(&FILTER).all(|rule| rule.comment().is_empty()));
    // The empty set forces nothing but is no error: source 001 uses it.
    after("/ip address set [find] disabled=yes");
    let router =
        after(&format!("{RULES}set 0 protocol=tcp\nset numbers=0 !protocol\nunset 1 comment"));
    assert!(router.tree().items(FILTER.path)[0].get("protocol").is_none());
    assert_eq!(router.tree().items(FILTER.path)[1].comment, "");
}

#[test]
fn abbreviating() {
    let router = after(
        "/int br ad na=lan age=1m\n/ip addr a addr=1.1.1.1/24 int=la\n/ip fire fi ad ch=x act=d prot=tc in-interface=all-e",
    );
    let tree = router.tree();
    assert_eq!(tree.read(&ADDRESS).next().map(|a| a.text("interface")).as_deref(), Some("lan"));
    let rule = tree
        .read(&FILTER)
        .next()
        .map(|r| (r.text("action"), r.text("protocol"), r.text("in-interface")));
    assert_eq!(rule, Some(("drop".into(), "tcp".into(), "all-ethernet".into())));
}

#[test]
fn moving_and_removing() {
    for (script, order) in [
        ("move 2 0", "cab"),
        ("move 0", "bca"),
        ("move 0,1 2", "abc"),
        ("move 2,1 0", "cba"),
        ("move 1 1", "abc"),
        ("move 0,1 1", "abc"),
        ("move [find disabled] destination=1", "acb"),
        ("remove 1", "ac"),
        ("remove 0,2", "b"),
        ("remove [find]", ""),
        ("remove [find chain!=b]", "b"),
        ("print\nadd chain=d\nremove 0", "bcd"),
        ("print where chain=c\nremove 0", "ab"),
    ] {
        assert_eq!(order_after(script), order, "{script}");
    }
}

#[test]
fn enabling_and_commenting() {
    let router =
        after(&format!("{RULES}enable 2\ndisable 0,1\ncomment 0 \"a b\"\ncomment 1 comment=x"));
    let rules: Vec<_> =
        router.tree().read(&FILTER).map(|r| (r.bool("disabled"), r.comment())).collect();
    assert_eq!(rules, [(true, "a b"), (true, "x"), (false, "")]);
    assert_eq!(router.tree().enabled(FILTER.path).count(), 1);
}

#[test]
fn finding() {
    let script = "/ip firewall filter
add chain=input protocol=tcp dst-port=80,443 timeout=1m comment=web
add chain=input src-address=10.0.0.0-10.0.0.255 timeout=2h disabled=yes
add chain=forward in-interface=!ether1 action=drop comment=\"to drop\"
";
    for (conditions, found) in [
        ("", "0,1,2"),
        ("chain=input", "0,1"),
        ("chain!=input", "2"),
        ("chain=input disabled", "1"),
        ("!disabled", "0,2"),
        ("where disabled=no", "0,2"),
        ("comment~\"drop|web\"", "0,2"),
        ("comment~\"^drop\"", ""),
        ("comment=\"to drop\"", "2"),
        ("comment=\"\"", "1"),
        ("src-address=10.0.0.0/24", "1"),
        ("dst-port=80,443", "0"),
        ("in-interface=!ether1", "2"),
        ("action=accept", "0,1"),
        ("timeout>5m", "1,2"),
        ("timeout<=10m", "0,2"),
        ("protocol=tcp and dst-port=80", ""),
        ("dynamic", ""),
        (".id=*E", "0"),
        ("protocol=\"\"", "1,2"),
    ] {
        let text = prints(&format!("{script}:put [find {conditions}]"));
        let ids = ["*E", "*F", "*10"];
        let found: Vec<&str> =
            found.split(',').filter_map(|n| n.parse::<usize>().ok()).map(|n| ids[n]).collect();
        assert_eq!(text.trim_end(), found.join(";"), "find {conditions}");
    }
}

#[test]
fn references_follow() {
    let script = "/interface bridge add name=lan
/interface bridge port add bridge=lan interface=ether1
/ip address add address=1.1.1.1/24 interface=lan
/ip firewall filter add chain=x in-interface=!lan
/interface bridge set lan name=home
";
    let router = after(script);
    let text = |router: &Interpreter, menu: &'static Menu, name| {
        router.tree().read(menu).next().map(|item| item.text(name)).unwrap_or_default()
    };
    assert_eq!(text(&router, &BRIDGE_PORT, "bridge"), "home");
    assert_eq!(text(&router, &ADDRESS, "interface"), "home");
    assert_eq!(text(&router, &FILTER, "in-interface"), "!home");
    // Nothing is called by the old name any more, so it is free again.
    after(&format!("{script}/interface bridge add name=lan"));
    // What is gone shows as its identity, and its name can be given anew without reviving it.
    let router = after(&format!("{script}/interface bridge\nremove home\nadd name=home"));
    assert_eq!(text(&router, &ADDRESS, "interface"), "*E");
    // An identity is a name too.
    let router = after("/ip address add address=1.1.1.1/24 interface=*3");
    assert_eq!(text(&router, &ADDRESS, "interface"), "ether3");
}

#[test]
fn places() {
    let mut router = router();
    for (line, place) in [
        ("/ip", "/ip"),
        ("address", "/ip address"),
        ("..", "/ip"),
        ("firewall connection tracking", "/ip firewall connection tracking"),
        ("../../filter", "/ip firewall filter"),
        (".. .. address", "/ip address"),
        ("/interface/bridge/port", "/interface bridge port"),
        ("/ip address print", "/interface bridge port"),
        ("# nothing", "/interface bridge port"),
        ("/", "/"),
        ("..", "/"),
        ("/ip; address; ..; firewall", "/ip firewall"),
    ] {
        router.run(line, &()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(router.place(), place, "{line}");
    }
}

#[test]
fn lines() {
    check(":put \"a\\\n   b\"", "ab\n");
    check(":put \"a \\  \n   b\"; :put c # d \"e", "a b\nc\n");
    check(":put \"a\\_\\41\\$\\?\\\"\\\\\\t|\" ; ; # x\r\n\r\n:put \"x#y\"", "a A$?\"\\\t|\nx#y\n");
    check(":put \\\n  1.2.3.4", "1.2.3.4\n");
    check(":put \"\\C3\\BC\"", "ü\n");
    check(":put \"two\nlines\"", "two\nlines\n");
    check(
        "/interface bridge add name=a\\\n    ageing-time=\\\n  1m; :put [/interface bridge get a ageing-time]",
        "1m\n",
    );
    check(":put [/interface ethernet get [find name=\"ether\\\n   3\"] name]", "ether3\n");
}

/// The device's own commands come back, arguments read, in order.
#[test]
fn device_commands() {
    let mut router = after(RULES);
    let output =
        router.run("/ping 1.1.1.1\n/ip firewall filter reset-counters 0,2; reset-counters", &());
    let calls = output.unwrap_or_else(|error| panic!("{error}")).calls;
    let names: Vec<&str> = calls.iter().map(|call| call.command.name).collect();
    assert_eq!(names, ["ping", "reset-counters", "reset-counters"]);
    assert_eq!(calls[0].argument("address").map(|v| v.to_string()).as_deref(), Some("1.1.1.1"));
    assert_eq!(calls[1].items.as_ref().map(Vec::len), Some(2));
    assert_eq!(calls[2].items, None);
}

/// The device's rules about items are asked at the line that breaks them.
#[test]
fn device_rules() {
    struct Ports;
    impl Status for Ports {
        fn check(&self, menu: &Menu, item: &Item, _: &Tree) -> Result<(), String> {
            let item = menu.read(item);
            let text = "failure: ports can be specified if proto is tcp,udp,udp-lite,dccp,sctp";
            let bad = menu.path == FILTER.path
                && item.opt("dst-port").is_some()
                && !["tcp", "udp"].contains(&item.text("protocol").as_str());
            if bad { Err(text.to_string()) } else { Ok(()) }
        }
    }
    let mut router = router();
    let script = "/ip firewall filter\nadd chain=x protocol=tcp dst-port=1\nset 0 protocol=icmp";
    let error = router.run(script, &Ports).unwrap_err();
    assert!(error.text.starts_with("failure: ports can be specified"), "{error}");
    assert_eq!(error.at.line, 3);
}

/// 25,000 named queues, each name checked against all others, are a second's work at most.
#[test]
fn many_names() {
    let mut script = String::from("/interface bridge\n");
    for number in 0..25_000 {
        script += &format!("add name=queue{number}\n");
    }
    let router = after(&script);
    assert_eq!(router.tree().items(BRIDGE.path).len(), 25_000);
}

#[test]
fn an_edit_makes_one_item_anew_and_shares_the_others() {
    let mut router = router();
    router.run("/interface bridge\nadd name=a\nadd name=b\nadd name=c", &()).unwrap();
    router.run("/ip firewall filter add chain=input", &()).unwrap();
    let before = router.tree().clone();
    assert!(before.shares(router.tree(), BRIDGE.path));
    router.run("/interface bridge set b comment=changed", &()).unwrap();
    let now = router.tree();
    assert!(now.shares(&before, FILTER.path) && !now.shares(&before, BRIDGE.path));
    let pairs = before.items(BRIDGE.path).iter().zip(now.items(BRIDGE.path));
    let same: Vec<bool> = pairs.map(|(old, new)| Arc::ptr_eq(old, new)).collect();
    assert_eq!(same, [true, false, true]);
    assert_eq!(before.items(BRIDGE.path)[1].comment, "", "the copy is as it was");
}
