//! Rules that are marked invalid, and those that are refused.

use super::*;
use wire::craft::{self, ip};

fn udp() -> Packet {
    Packet::of(&craft::udp(ip(10, 0, 0, 1), 4000, ip(172, 16, 5, 9), 53))
}

#[test]
fn rules_that_can_never_match_say_why() {
    // Filter rules, and the reason of each (empty: valid).
    let cases: &[(&str, &[&str])] = &[
        (
            "add chain=forward in-interface=ether3",
            &["in/out-interface matcher not possible when interface (ether3) is slave - use \
               master instead (bridge1)"],
        ),
        (
            "add chain=forward in-bridge-port=ether1",
            &["in/out-bridge-port matcher not possible when interface (ether1) is not slave"],
        ),
        (
            "add chain=output in-interface=ether1\nadd chain=input in-interface=ether1",
            &["incoming interface matching not possible in output and srcnat chains", ""],
        ),
        (
            "add chain=input out-interface=!ether1\nadd chain=output out-interface=ether1",
            &["outgoing interface matching not possible in input and dstnat chains", ""],
        ),
        (
            // An own chain is as good as the best way to it.
            "add chain=input action=jump jump-target=a\n\
             add chain=a out-interface=ether1\n\
             add chain=a in-interface=ether1",
            &["", "outgoing interface matching not possible in input and dstnat chains", ""],
        ),
        (
            "add chain=input action=jump jump-target=a\n\
             add chain=forward action=jump jump-target=a\n\
             add chain=a in-interface=ether1 out-interface=ether2",
            &["", "", ""],
        ),
        (
            // Input has the one interface, output the other, neither both.
            "add chain=input action=jump jump-target=a\n\
             add chain=output action=jump jump-target=a\n\
             add chain=a in-interface=ether1 out-interface=ether2\n\
             add chain=a in-interface=ether1\nadd chain=a out-interface=ether1",
            &[
                "",
                "",
                "outgoing interface matching not possible in input and dstnat chains",
                "",
                "",
            ],
        ),
        (
            "add chain=forward action=jump jump-target=nowhere",
            &["jump-target=nowhere: there is no such chain"],
        ),
        (
            "add chain=forward action=jump jump-target=input",
            &["jump-target=input: cannot jump to a builtin chain"],
        ),
        (
            "add chain=a action=jump jump-target=b\n\
             add chain=b action=jump jump-target=a\n\
             add chain=forward action=jump jump-target=a",
            &["", "jump-target=a: the jump closes a loop", ""],
        ),
        (
            "add chain=forward action=jump jump-target=a\nadd chain=a action=jump jump-target=a",
            &["", "jump-target=a: the jump closes a loop"],
        ),
        (
            "add chain=a action=drop\nadd chain=b action=jump jump-target=a",
            &["no rule jumps to chain=a", "no rule jumps to chain=b"],
        ),
        (
            // A jump that is itself invalid leads nowhere.
            "add chain=output in-interface=ether1 action=jump jump-target=a\nadd chain=a",
            &[
                "incoming interface matching not possible in output and srcnat chains",
                "no rule jumps to chain=a",
            ],
        ),
        (
            "add chain=forward src-address-list=nobody\nadd chain=forward src-address-list=!nobody",
            &["", ""],
        ),
        (
            "add chain=forward src-address=!0.0.0.0/0",
            &["src-address=!0.0.0.0/0: no packet matches"],
        ),
        ("add chain=forward packet-size=0-19", &["packet-size=0-19: no packet matches"]),
        ("add chain=forward packet-size=!20-65535", &["packet-size=!20-65535: no packet matches"]),
        ("add chain=forward nth=3,4", &["nth=3,4: no packet matches"]),
        ("add chain=forward limit=3,0", &["limit=3,0: no packet matches"]),
        ("add chain=forward ttl=less-than:0", &["ttl=less-than:0: no packet matches"]),
        (
            "add chain=forward protocol=tcp tcp-flags=syn,!syn",
            &["tcp-flags=syn,!syn: no packet matches"],
        ),
        (
            "add chain=forward protocol=udp dst-port=!0-65535",
            &["dst-port=!0-65535: no packet matches"],
        ),
        (
            "add chain=forward connection-state=!invalid,established,related,new,untracked",
            &["connection-state=!invalid,established,related,new,untracked: no packet matches"],
        ),
        (
            "add chain=forward protocol=udp action=reject reject-with=tcp-reset",
            &["reject-with=tcp-reset works only with tcp"],
        ),
    ];
    for &(rules, want) in cases {
        let fixture = Fixture::new(&format!("/ip firewall filter\n{rules}"));
        assert_eq!(fixture.reasons(), want, "{rules}");
        let valid = want.iter().filter(|reason| reason.is_empty()).count();
        assert_eq!(fixture.filter.len(), valid, "{rules}");
    }
}

#[test]
fn rules_that_no_packet_reaches_are_named() {
    let mut fixture = Fixture::new(
        "/ip firewall filter
add chain=forward protocol=tcp dst-port=1-1023 action=drop
add chain=forward protocol=tcp dst-port=22 action=accept
add chain=forward protocol=tcp dst-port=22 action=accept disabled=yes
add chain=input protocol=tcp dst-port=22 action=accept
add chain=forward protocol=tcp dst-port=1000-1024 action=accept
add chain=forward src-address=!10.0.0.0/8 action=accept
add chain=forward src-address=11.0.0.0/8 content=x action=drop
add chain=forward src-address=9.0.0.0-11.0.0.0 action=drop
add chain=forward limit=1,1 action=accept
add chain=forward limit=1,1 action=drop
add chain=forward content=x action=passthrough
add chain=forward content=x action=accept
add chain=forward content=x ttl=equal:1 action=drop
add chain=forward connection-state=new,established action=accept
add chain=forward connection-state=new src-mac-address=02:00:00:00:00:01 action=drop
add chain=forward action=accept
add chain=forward connection-state=invalid action=drop",
    );
    fixture.compile();
    let items = fixture.items("/ip firewall filter");
    let shadows: Vec<_> = items
        .into_iter()
        .enumerate()
        .filter_map(|(n, item)| Some((n, fixture.filter.shadowed_by(item)?)))
        .collect();
    assert_eq!(shadows, [(1, 0), (6, 5), (12, 11), (14, 13), (16, 15)]);
}

#[test]
fn invalid_rules_are_skipped_and_come_back() {
    let mut fixture = Fixture::new(
        "/ip firewall filter\nadd chain=forward action=drop src-address-list=bad\n\
         add chain=forward action=drop in-bridge-port=!ether3",
    );
    fixture.use_ip_firewall = false;
    fixture.compile();
    let reasons = [
        "", // an entry may come at any time
        "in-bridge-port needs use-ip-firewall=yes in /interface bridge settings",
    ];
    assert_eq!(fixture.reasons(), reasons);
    assert_eq!(fixture.filter.len(), 1);
    assert_eq!(fixture.forward(&udp()), Decision::Accept);
    fixture.edit("/ip firewall address-list add list=bad address=10.0.0.0/8");
    assert_eq!(fixture.forward(&udp()), Decision::Drop);
    // An interface that is gone.
    fixture.edit("/ip firewall filter add chain=input in-interface=ether2 place-before=0");
    fixture.names = Names::default();
    fixture.compile();
    assert_eq!(fixture.reasons()[0], "in-interface=ether2: there is no such interface");
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    const NEED: &str = "failure: ports can be specified if proto is tcp,udp,udp-lite,dccp,sctp";
    let cases = [
        ("filter add chain=forward dst-port=80", NEED),
        ("filter add chain=forward protocol=icmp src-port=80", NEED),
        ("filter add chain=forward protocol=!tcp port=80", NEED),
        (
            "filter add chain=forward protocol=sctp port=80",
            "failure: port with protocol=sctp is not implemented",
        ),
        (
            "filter add chain=forward protocol=tcp port=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
            "failure: port: at most 15 ports or ranges",
        ),
        (
            "filter add chain=forward protocol=udp tcp-flags=syn",
            "failure: tcp-flags works only with tcp",
        ),
        ("filter add chain=forward tcp-mss=0-500", "failure: tcp-mss works only with tcp"),
        (
            "filter add chain=forward icmp-options=8:0",
            "failure: icmp-options can be specified if proto is icmp",
        ),
        ("filter add chain=forward action=jump", "failure: action=jump needs a jump-target"),
        (
            "nat add chain=srcnat action=endpoint-independent-nat",
            "not implemented: this action is not built",
        ),
        ("nat add chain=srcnat action=masquerade to-ports=1-2", NEED),
    ];
    for (line, want) in cases {
        let mut fixture = Fixture::empty();
        let error = fixture.session.run(&format!("/ip firewall {line}"), &Checked).unwrap_err();
        assert_eq!(error.text, want, "{line}");
    }
    for line in [
        "filter add action=drop",
        "filter add chain=forward action=dorp",
        "filter add chain=forward protocol=tpc",
        "filter add chain=forward in-interface=ether9",
        "filter add chain=forward src-address=10.0.0.300",
        "filter add chain=forward hotspot=auth",
        "mangle add chain=forward action=mark-packet",
        "mangle add chain=forward action=change-ttl new-ttl=64",
        "raw add chain=prerouting connection-state=new",
        "filter add chain=forward layer7-protocol=x",
        "filter add chain=forward to-addresses=1.1.1.1",
        "nat add chain=srcnat action=drop",
        "address-list add list=a address=example..com",
        "filter add chain=forward action=add-src-to-address-list",
        "filter add chain=forward action=log address-list-timeout=none-static",
        "filter add chain=forward realm=1",
    ] {
        let mut fixture = Fixture::empty();
        let refused = fixture.session.run(&format!("/ip firewall {line}"), &Checked);
        assert!(refused.is_err(), "{line}");
    }
}
