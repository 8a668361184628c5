//! Tests of refusals: RouterOS's words, and the place.

use super::*;

/// (script, text, line, column).
const CASES: &[(&str, &str, u32, u32)] = &[
    // Paths and commands.
    ("foo", "bad command name foo (line 1 column 1)", 1, 1),
    ("/foo", "bad command name foo (line 1 column 2)", 1, 2),
    ("/ip adress", "bad command name adress (line 1 column 5)", 1, 5),
    ("/ip address\n\n  addd x=1", "bad command name addd (line 3 column 3)", 3, 3),
    ("/ip/firewall/foo/add", "bad command name foo (line 1 column 14)", 1, 14),
    ("/ip//address", "expected command name (line 1 column 5)", 1, 5),
    ("/ip address add/x", "bad command name add (line 1 column 13)", 1, 13),
    ("/ip address address=1.1.1.1", "expected command name (line 1 column 13)", 1, 13),
    ("/interface bridge p", "ambiguous command name p", 1, 19),
    ("/ip address move 0", "bad command name move (line 1 column 13)", 1, 13),
    ("/interface ethernet add", "bad command name add (line 1 column 21)", 1, 21),
    ("/interface ethernet remove 0", "bad command name remove (line 1 column 21)", 1, 21),
    ("/ip firewall connection tracking add", "bad command name add (line 1 column 34)", 1, 34),
    (":foo", "bad command name foo (line 1 column 2)", 1, 2),
    ("ADD", "bad command name ADD (line 1 column 1)", 1, 1),
    // Parameters.
    ("/ip address add adress=1.1.1.1", "expected end of command (line 1 column 17)", 1, 17),
    ("/ip address add 1.1.1.1/24", "expected end of command (line 1 column 17)", 1, 17),
    ("/ip address add address!=1.1.1.1", "expected end of command (line 1 column 17)", 1, 17),
    ("/ip address add actual-interface=x", "expected end of command (line 1 column 17)", 1, 17),
    ("/ip firewall filter add d=1", "expected end of command (line 1 column 25)", 1, 25),
    (
        "/ip address add address=1.1.1.1/8 \\\n  addr=1.1.1.1/8",
        "expected end of command (line 2 column 3)",
        2,
        3,
    ),
    ("/ip address remove 0 1", "expected end of command (line 1 column 22)", 1, 22),
    ("/ip address print foo", "expected end of command (line 1 column 19)", 1, 19),
    ("/ip address find foo=1", "expected end of command (line 1 column 18)", 1, 18),
    ("/export foo", "expected end of command (line 1 column 9)", 1, 9),
    ("/ip address add", "missing value(s) of argument(s) address interface", 1, 13),
    ("/ip address add address=1.1.1.1/24", "missing value(s) of argument(s) interface", 1, 13),
    ("/ip address set", "missing value(s) of argument(s) numbers", 1, 13),
    (
        "/ip address\nadd address=1.1.1.1/8 interface=ether1\nset 0 !interface",
        "missing value(s) of argument(s) interface",
        3,
        1,
    ),
    ("/interface ethernet set ether1 name=\"\"", "missing value(s) of argument(s) name", 1, 21),
    ("/tool traffic-generator quick", "missing value(s) of argument(s) tx-template", 1, 25),
    ("/tool traffic-generator quick foo=1", "expected end of command (line 1 column 31)", 1, 31),
    // Values.
    ("/ip address add address=1.1.1", "invalid value for argument address", 1, 25),
    ("/ip address add address=1.1.1.1/33", "value of netmask out of range (0..32)", 1, 25),
    ("/ip address add interface=ether99", "input does not match any value of interface", 1, 27),
    (
        "/ip address add interface=ether",
        "ambiguous value of interface, more than one possible value matches input",
        1,
        27,
    ),
    ("/interface ethernet set ether1 mtu=10", "value of mtu out of range (68..9000)", 1, 36),
    (
        "/interface ethernet set ether1 mtu=99999999999999999999999999999999999999999",
        "value of mtu out of range (68..9000)",
        1,
        36,
    ),
    ("/interface ethernet set ether1 mtu=big", "invalid value for argument mtu", 1, 36),
    (
        "/interface ethernet set ether1 mac-address=1:2",
        "invalid value for argument mac-address",
        1,
        44,
    ),
    (
        "/interface ethernet set ether1 disabled=perhaps",
        "input does not match any value of disabled",
        1,
        41,
    ),
    ("/interface bridge add ageing-time=5x", "invalid time value for argument ageing-time", 1, 35),
    (
        "/ip firewall filter add chain=x protocol=tpc",
        "input does not match any value of protocol",
        1,
        42,
    ),
    (
        "/ip firewall filter add chain=x protocol=ud action=a",
        "ambiguous value of protocol, more than one possible value matches input",
        1,
        42,
    ),
    (
        "/ip firewall filter add chain=x action=a",
        "ambiguous value of action, more than one possible value matches input",
        1,
        40,
    ),
    (
        "/ip firewall filter add chain=x protocol=256",
        "value of protocol out of range (0..255)",
        1,
        42,
    ),
    (
        "/ip firewall filter add chain=x dst-port=80,70000",
        "value of range out of range (0..65535)",
        1,
        42,
    ),
    (
        "/ip firewall filter add chain=x dst-port=\\\n    90-80",
        "invalid value for argument dst-port",
        2,
        5,
    ),
    (
        "/ip firewall filter add chain=x icmp-options=3",
        "invalid value for argument icmp-options",
        1,
        46,
    ),
    (
        "/ip firewall filter add chain=x connection-state=!new,old",
        "input does not match any value of connection-state",
        1,
        50,
    ),
    (
        "/tool traffic-generator quick tx-template=r12",
        "input does not match any value of tx-template",
        1,
        43,
    ),
    // Items.
    ("/ip address set 0 disabled=yes", "no such item", 1, 17),
    ("/ip address remove *1F", "no such item", 1, 20),
    ("/ip address remove [/interface ethernet find name=ether1]", "no such item", 1, 20),
    ("/interface ethernet set ether99 mtu=1400", "no such item", 1, 25),
    (
        "/interface ethernet set ether mtu=1400",
        "ambiguous value of numbers, more than one possible value matches input",
        1,
        25,
    ),
    (
        "/interface ethernet set ether1 name=ether2",
        "failure: already have interface with such name",
        1,
        21,
    ),
    ("/interface bridge add name=ether2", "failure: already have interface with such name", 1, 19),
    (
        "/tool traffic-generator packet-template\nadd name=a header-stack=mac\nadd name=a header-stack=mac",
        "failure: already have such name",
        3,
        1,
    ),
    (
        "/ip firewall filter add chain=x place-before=0",
        "failure: item referred by 'place-before' does not exist",
        1,
        46,
    ),
    // Form.
    ("/ip address add comment=\"abc", "syntax error (line 1 column 25)", 1, 25),
    ("/ip address add comment=\"a\\qc\"", "syntax error (line 1 column 27)", 1, 27),
    ("/ip address add comment=\"\\FF\"", "syntax error (line 1 column 25)", 1, 25),
    ("/ip address add comment=a]", "syntax error (line 1 column 26)", 1, 26),
    ("/ip address set [find", "syntax error (line 1 column 17)", 1, 17),
    ("/ip address set [ ]", "expected command name (line 1 column 19)", 1, 19),
    ("/ip address set [/ip]", "expected command name (line 1 column 21)", 1, 21),
    ("/ip address find comment~\"(\"", "syntax error (line 1 column 26)", 1, 26),
    // What RouterOS has and we have not.
    (
        "/interface bridge add protocol-mode=rstp",
        "not implemented: spanning trees come later; leave it out",
        1,
        23,
    ),
    ("/tool traffic-generator quick num=3", "not implemented: give a duration instead", 1, 31),
];

#[test]
fn wording_and_place() {
    for (script, text, line, column) in CASES {
        let mut router = router();
        let before = contents(&router);
        let Err(error) = router.run(script, &()) else { panic!("{script}\nwas accepted") };
        let at = At { line: *line, column: *column };
        assert_eq!((error.text.as_str(), error.at), (*text, at), "{script}\n{error}");
        assert_eq!(contents(&router), before, "{script} left something behind");
        assert_eq!(router.place(), "/", "{script} moved the current menu");
    }
}

/// (script, the end of the help).
const HELP: &[(&str, &str)] = &[
    (
        "/ip address add address=10.0.0.300/24 interface=ether1",
        "address takes an address and prefix length, as 1.2.3.4/24",
    ),
    ("/ip adress", "one of: address, export, firewall; did you mean address?"),
    (
        "/ip firewall filter add chain=x protocol=tpc",
        "protocol is one of: icmp, tcp, udp, udp-lite; did you mean tcp?",
    ),
    (
        "/ip address add adress=1.1.1.1/24",
        "parameters are one of: address, comment, copy-from, disabled, interface, network; did you mean address?",
    ),
    ("/ip address add actual-interface=x", "actual-interface is read-only"),
    ("/ip address add comment", "comment needs a value: comment="),
    ("/ip address add disabled disabled=no", "disabled is given twice"),
    ("/interface ethernet set ether1 mtu=x", "mtu takes a number from 68 to 9000"),
    ("/interface bridge add name=ether2", "ether2 is in /interface ethernet"),
    ("/ip firewall filter add src=1.1.1.1", "src could be: src-address, src-mac-address"),
    ("/ip firewall filter add chain=x icmp-options=3", "icmp-options takes type:code, as 3:4"),
    (
        "/tool traffic-generator quick tx-template=r12",
        "tx-template is a list, separated by commas, each the name of an item of /tool \
        traffic-generator packet-template; there is none",
    ),
    (
        "/tool traffic-generator packet-template set p1 ip-src=1.1.1.1",
        "/tool traffic-generator packet-template has no entry p1 on this device, and no other",
    ),
];

#[test]
fn legal_alternatives() {
    for (script, help) in HELP {
        let error = router().run(script, &()).expect_err(script);
        assert_eq!(error.help, *help, "{script}\n{error}");
    }
}

/// Good lines before a bad one leave nothing behind, not even the current menu.
#[test]
fn nothing_half_applied() {
    let mut router = after("/interface bridge add name=lan\n/interface bridge");
    let before = contents(&router);
    let script = "/ip address\nadd address=1.1.1.1/24 interface=lan\n/interface bridge\n\
        set lan name=wan\nremove wan\n/ip firewall filter\nprint\nadd";
    let error = router.run(script, &()).unwrap_err();
    assert_eq!(error.text, "missing value(s) of argument(s) chain");
    assert_eq!(error.source, "add");
    assert_eq!(contents(&router), before);
    assert_eq!(router.place(), "/interface bridge");
}
