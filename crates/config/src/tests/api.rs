//! API commands: what programs say and get.

use super::bench::Bench;
use super::*;

/// `/path/command =name=value ?query`, words separated by blanks.
fn request(line: &str) -> Request {
    let mut words = line.split(' ');
    let mut request = Request::new(words.next().unwrap_or(""));
    for word in words {
        request = match (word.strip_prefix('='), word.strip_prefix('?')) {
            (Some(attribute), _) => {
                let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
                request.with(name, value)
            }
            (_, Some(query)) => request.query(query),
            _ => panic!("{word}"),
        };
    }
    request
}

/// Requests one after the other, and what comes of the last.
fn check(lines: &[&str], expected: &str) {
    let mut bench = Bench::new();
    let mut text = String::new();
    for line in lines {
        text = bench.executes(&request(line));
    }
    assert_eq!(text, expected, "{lines:?}\n{text}");
}

#[test]
fn changing() {
    let add = "/interface/bridge/add =name=lan =disabled=true =comment=x";
    check(&[add], "ret *E\n");
    let print = "/interface/bridge/print";
    let lan = "=name=lan=ageing-time=5m=dynamic=false";
    check(&[add, print], &format!("=.id=*E{lan}=disabled=true=comment=x\n"));
    check(
        &[add, "/interface/bridge/set =.id=lan =disabled=no =comment=", print],
        &format!("=.id=*E{lan}=disabled=false\n"),
    );
    check(
        &[add, "/interface/bridge/enable =numbers=*E", print],
        &format!("=.id=*E{lan}=disabled=false=comment=x\n"),
    );
    check(
        &[add, "/interface/bridge/comment =.id=*E =comment=y", print],
        &format!("=.id=*E{lan}=disabled=true=comment=y\n"),
    );
    check(&[add, "/interface/bridge/remove =.id=*E", print], "");
    check(
        &[
            add,
            "/interface/bridge/set =.id=*E =ageing-time=1m",
            "/interface/bridge/get =.id=*E =value-name=ageing-time",
        ],
        "ret 1m\n",
    );
    for unset in ["=!ageing-time= =!comment=", "=!comment =!ageing-time"] {
        let set = format!("/interface/bridge/set =.id=*E {unset}");
        check(
            &[add, "/interface/bridge/set =.id=*E =ageing-time=1m", &set, print],
            &format!("=.id=*E{lan}=disabled=true\n"),
        );
    }
    check(&[add, "/interface/bridge/unset =.id=*E =value-name=admin-mac"], "");
    let rules = ["/ip/firewall/filter/add =chain=a", "/ip/firewall/filter/add =chain=b"];
    let order = "/ip/firewall/filter/print =.proplist=chain,rate";
    check(
        &[rules[0], rules[1], "/ip/firewall/filter/move =numbers=*F =destination=*E", order],
        "=chain=b=rate=0/0\n=chain=a=rate=0/0\n",
    );
    check(
        &[rules[0], "/ip/firewall/filter/add =chain=b =rate=1M/10k =place-before=*E", order],
        "=chain=b=rate=1000000/10000\n=chain=a=rate=0/0\n",
    );
    check(
        &[
            "/ip/firewall/connection/tracking/set =enabled=yes",
            "/ip/firewall/connection/tracking/print",
        ],
        "=enabled=yes=udp-timeout=10s\n",
    );
}

#[test]
fn refusing() {
    for (line, trap) in [
        ("/interface/bridge/add =nam=lan", "None unknown parameter nam"),
        ("/interface/bridge/add =name=lan =.id=*1", "None unknown parameter .id"),
        ("/interface/bridge/remove =.id=*99", "Some(0) no such item (4)"),
        ("/interface/bridge/set =name=x", "Some(1) missing value(s) of argument(s) numbers"),
        (
            "/interface/bridge/add =ageing-time=x",
            "Some(1) invalid time value for argument ageing-time",
        ),
        (
            "/interface/bridge/add =name=ether1",
            "None failure: already have interface with such name",
        ),
        (
            "/ip/address/add =address=1.1.1.1/24 =interface=ethernet",
            "Some(1) input does not match any value of interface",
        ),
        ("/ip/address/add", "Some(1) missing value(s) of argument(s) address interface"),
        ("/ip/adress/print", "Some(0) no such command prefix"),
        ("/ip/address/prin", "Some(0) no such command"),
        ("/ip/address", "Some(0) no such command"),
        ("ip/address/print", "Some(0) no such command prefix"),
        ("", "Some(0) no such command prefix"),
        ("/ip/address/print =foo=", "None unknown parameter foo"),
        ("/ip/address/print ?#x", "None bad query operation x"),
        ("/tool/count =too=1", "None unknown parameter too"),
    ] {
        check(&[line], &format!("trap {trap}\n"));
    }
}

#[test]
fn queries() {
    let rules = [
        "/ip/firewall/filter/add =chain=a =timeout=1m =comment=one",
        "/ip/firewall/filter/add =chain=b =disabled=yes =protocol=tcp",
        "/ip/firewall/filter/add =chain=c =timeout=2m =protocol=udp",
    ];
    for (query, chains) in [
        ("", "abc"),
        ("?chain=b", "b"),
        ("?=chain=b", "b"),
        ("?disabled=true", "b"),
        ("?disabled=no", "ac"),
        ("?protocol", "bc"),
        ("?-protocol", "a"),
        ("?comment", "a"),
        ("?>timeout=60", "bc"),
        ("?<timeout=2m", "a"),
        ("?chain=a ?chain=b", ""),
        ("?chain=a ?chain=b ?#|", "ab"),
        ("?chain=a ?chain=b ?#|!", "c"),
        ("?chain=a ?#!", "bc"),
        ("?chain=a ?disabled=yes ?#!&", "a"),
        ("?chain=a ?chain=b ?#1", "a"),
        ("?chain=a ?chain=b ?#|.&", "ab"),
        ("?nothing=x", ""),
        ("?-nothing", "abc"),
        ("?.id=*F", "b"),
    ] {
        let mut bench = Bench::new();
        for rule in rules {
            bench.executes(&request(rule));
        }
        let line = format!("/ip/firewall/filter/print =.proplist=chain {query}");
        let text = bench.executes(&request(line.trim_end()));
        let expected: String = chains.chars().map(|chain| format!("=chain={chain}\n")).collect();
        assert_eq!(text, expected, "{query}");
        let ids = bench.executes(&request(format!("/ip/firewall/filter/find {query}").trim_end()));
        assert_eq!(ids.matches('*').count(), chains.len(), "{query} {ids}");
    }
}

#[test]
fn printing() {
    check(&["/interface/ethernet/print =count-only="], "ret 13\n");
    let port = |number: u32, running: bool| {
        format!(
            "=.id=*{number}=running={running}=name=ether{number}=default-name=ether{number}\
             =mtu=1500=dynamic=false=disabled=false\n"
        )
    };
    check(
        &["/interface/ethernet/print =from=ether2,*3 =detail="],
        &(port(2, false) + &port(3, true)),
    );
    check(
        &["/interface/ethernet/getall =.proplist=name,.id ?name=ether9"],
        "=.id=*9=name=ether9\n",
    );
}

#[test]
fn device_commands() {
    check(
        &["/tool/count =to=2"],
        "=left=2=rate=2000=.section=0\n=left=1=rate=1000=.section=1\nret counted\n",
    );
    check(&["/tool/count =to=1 =.proplist=rate"], "=rate=1000=.section=0\nret counted\n");
    check(&["/ip/firewall/filter/add =chain=a", "/ip/firewall/filter/reset-counters =.id=*E"], "");
}
