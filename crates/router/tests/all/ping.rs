//! `/ping` and `/tool flood-ping` over routers in a row: what is shown, to the letter, and times,
//! to the nanosecond.

use crate::chain::Chain;
use config::{Reply, Value};
use router::discard::Discard;
use std::time::Duration;

const A: &str = "/ip address add address=10.0.1.1/24 interface=ether2
/ip route add dst-address=10.0.2.0/24 gateway=10.0.1.2
/ip route add dst-address=10.9.0.0/16 gateway=10.0.1.2";
const B: &str = "/ip address
add address=10.0.1.2/24 interface=ether1
add address=10.0.2.2/24 interface=ether2
/ip settings set icmp-rate-limit=0";
const C: &str = "/ip address add address=10.0.2.3/24 interface=ether1
/ip route add gateway=10.0.2.2";

/// Three routers whose neighbours know each other.
fn chain(delay: Duration) -> Chain {
    let mut chain = Chain::new(delay, &[A, B, C]);
    let first = chain.complete(0, "/ping 10.0.2.3 count=1 interval=5s");
    assert_eq!(first.last("received"), "1", "{}", first.text);
    chain
}

/// Runs a ping on the first router and compares all but blanks at the ends.
fn check(chain: &mut Chain, script: &str, expected: &str) {
    let ping = chain.complete(0, script);
    let lines = ping.text.lines().map(str::trim_end);
    assert!(lines.eq(expected.lines()), "{script}\nprinted\n{}\nnot\n{expected}", ping.text);
}

#[test]
fn times_are_exact_to_the_nanosecond() {
    let mut chain = chain(Duration::from_millis(5));
    let ping = chain.complete(0, "/ping 10.0.2.3 count=2");
    // Four times over a wire: 14 + 56 + 4 bytes and the preamble at 1 ns a bit, and the delay.
    let time = Duration::from_nanos(4 * (5_000_000 + (74 + 8) * 8));
    for record in &ping.records {
        assert_eq!(record.get("time"), Some(&Value::Time(time)), "{}", ping.text);
    }
    assert_eq!(ping.reply, Some(Ok(Reply::Text("2".to_string()))));
}

#[test]
fn as_it_is_shown() {
    let mut chain = chain(Duration::from_millis(5));
    check(
        &mut chain,
        "/ping 10.0.2.3 count=3 size=100 ttl=60",
        "  SEQ HOST                                     SIZE TTL TIME  STATUS
    0 10.0.2.3                                  100  63 20ms
    1 10.0.2.3                                  100  63 20ms
    2 10.0.2.3                                  100  63 20ms
    sent=3 received=3 packet-loss=0% min-rtt=20ms avg-rtt=20ms max-rtt=20ms",
    );
    check(
        &mut chain,
        "/ping 10.0.2.3 count=3 interval=20ms",
        "  SEQ HOST                                     SIZE TTL TIME  STATUS
    0 10.0.2.3                                                timeout
    1 10.0.2.3                                                timeout
    2 10.0.2.3                                                timeout
    sent=3 received=0 packet-loss=100%",
    );
}

/// What is wrong, and who says so.
#[test]
fn failures_by_cause() {
    let mut chain = chain(Duration::from_millis(1));
    chain.run(1, "/interface ethernet set ether2 mtu=600");
    for (script, row) in [
        (
            "/ping 8.8.8.8",
            "    0                                                         no route to host",
        ),
        (
            "/ping 10.9.0.1",
            "    0 10.0.1.2                                   84  64 2ms   net unreachable",
        ),
        (
            "/ping 10.0.2.77 interval=5s",
            "    0 10.0.1.2                                   84  64 3003ms host unreachable",
        ),
        (
            "/ping 10.0.1.77 interval=5s",
            "    0 10.0.1.1                                   84  64 3000ms host unreachable",
        ),
        (
            "/ping 10.0.2.3 ttl=1",
            "    0 10.0.1.2                                   84  64 2ms   TTL exceeded",
        ),
        (
            "/ping 10.0.2.3 size=1000 do-not-fragment",
            "    0 10.0.1.2                                  576  64 2ms   fragmentation needed and DF set",
        ),
        (
            "/ping 10.0.2.3 size=1501 do-not-fragment",
            "    0                                                         packet too large and cannot be fragmented",
        ),
    ] {
        let expected = format!(
            "  SEQ HOST                                     SIZE TTL TIME  STATUS\n{row}
    sent=1 received=0 packet-loss=100%"
        );
        check(&mut chain, &format!("{script} count=1"), &expected);
    }
    chain.run(0, "/ip firewall filter add chain=output action=drop");
    let ping = chain.complete(0, "/ping 10.0.2.3 count=1");
    assert_eq!(ping.last("status"), "packet rejected");
    assert_eq!(chain.routers[0].discards().get(Discard::FilterDrop), 1);
    chain
        .run(0, "/ip firewall filter remove 0\n/ip firewall filter add chain=output protocol=icmp icmp-options=8:0 action=reject");
    let ping = chain.complete(0, "/ping 10.0.2.3 count=1");
    assert_eq!(ping.last("status"), "net unreachable", "says the router to itself");
    chain.run(0, "/ip firewall filter remove 0");
    chain.run(
        2,
        "/ip firewall filter add chain=input action=reject reject-with=icmp-admin-prohibited",
    );
    let ping = chain.complete(0, "/ping 10.0.2.3 count=1");
    assert_eq!(ping.last("status"), "admin prohibited");
    assert!(chain.routers.iter().all(|router| router.frames().balance()));
}

/// Longer than a frame, than the MTU, as long as can be: in pieces there and back.
#[test]
fn long_requests_go_in_pieces() {
    let mut chain = chain(Duration::from_millis(1));
    chain.run(1, "/interface ethernet set ether2 mtu=600");
    chain.run(0, "/ip firewall connection tracking set enabled=yes");
    for size in ["1500", "1501", "4000", "65535"] {
        let ping = chain.complete(0, &format!("/ping 10.0.2.3 count=1 size={size}"));
        assert_eq!((ping.last("received"), ping.last("size")), ("1".into(), size.into()));
    }
    assert!(chain.routers.iter().all(|router| router.frames().balance()));
}

/// Requests are packets as others: tracked, translated, counted by rules.
#[test]
fn requests_pass_the_packet_flow() {
    let mut chain = chain(Duration::from_millis(1));
    chain.run(
        1,
        "/ip address add address=10.5.5.5/32 interface=ether1
/ip firewall nat add chain=srcnat out-interface=ether2 action=src-nat to-addresses=10.0.2.99
/ip firewall filter add chain=output protocol=icmp icmp-options=8:0 dscp=7 ttl=equal:30 \\
    src-address=10.5.5.5",
    );
    // 10.0.2.99 is nobody's, so only what the router's own neighbour table knows comes back.
    chain.run(2, "/ip arp add address=10.0.2.99 mac-address=02:00:00:00:01:02 interface=ether1");
    let ping = chain.complete(1, "/ping 10.0.2.3 count=2 src-address=10.5.5.5 dscp=7 ttl=30");
    assert_eq!(ping.last("received"), "2", "{}", ping.text);
    let tree = chain.consoles[1].tree().clone();
    assert_eq!(chain.routers[1].rule_counts("/ip firewall filter", &tree)[0].packets, 2);
    assert_eq!(chain.routers[1].rule_counts("/ip firewall nat", &tree)[0].packets, 1);
    let shown = chain.run(1, "/ip firewall connection print terse");
    assert!(shown.contains("SCs") && shown.contains("reply-dst-address=10.0.2.99"), "{shown}");
}

#[test]
fn the_router_answers_itself() {
    let mut chain = chain(Duration::from_millis(1));
    let own = "  SEQ HOST                                     SIZE TTL TIME  STATUS
    0 10.0.1.1                                   56  64 0ms
    sent=1 received=1 packet-loss=0% min-rtt=0ms avg-rtt=0ms max-rtt=0ms";
    check(&mut chain, "/ping 10.0.1.1 count=1", own);
    chain.run(0, "/ip firewall filter add chain=input protocol=icmp");
    check(&mut chain, "/ping 10.0.1.1 count=1", own);
    let tree = chain.consoles[0].tree().clone();
    let counts = chain.routers[0].rule_counts("/ip firewall filter", &tree);
    assert_eq!(counts[0].packets, 2, "request and reply came in");
    assert!(chain.routers[0].frames().balance());
}

#[test]
fn out_by_an_interface_and_by_arp() {
    let mut chain = chain(Duration::from_millis(1));
    // No route leads to 10.0.2.3 that way: everybody there is a neighbour, and this one is not.
    let ping = chain.complete(0, "/ping 10.0.2.3 count=1 interface=ether1 interval=5s");
    assert_eq!(ping.last("status"), "host unreachable");
    let ping = chain.complete(0, "/ping 10.0.2.3 count=1 interface=ether2");
    assert_eq!(ping.last("received"), "1", "by the route, which is the same way");
    check(
        &mut chain,
        "/ping 10.0.1.2 count=2 arp-ping=yes interface=ether2",
        "  SEQ HOST                                     SIZE TTL TIME  STATUS
    0 02:00:00:00:01:01                                 2ms
    1 02:00:00:00:01:01                                 2ms
    sent=2 received=2 packet-loss=0% min-rtt=2ms avg-rtt=2ms max-rtt=2ms",
    );
    let ping = chain.complete(0, "/ping 10.0.1.9 count=1 arp-ping=yes interface=ether2");
    assert_eq!(ping.last("status"), "timeout");
}

#[test]
fn sums_come_after_twenty_rows_and_at_the_end() {
    let mut chain = chain(Duration::from_millis(1));
    let titles = |text: &str| text.matches("SEQ").count();
    let sums = |text: &str| text.matches("sent=").map(str::to_string).count();
    let mut ping = chain.start(0, "/ping 10.0.2.3").unwrap();
    chain.go_on(&mut ping, Duration::from_millis(24_500));
    assert_eq!((titles(&ping.text), sums(&ping.text)), (2, 1), "{}", ping.text);
    assert!(
        ping.text
            .contains("   19 10.0.2.3                                   56  63 4ms\n    sent=20 ")
    );
    ping.stop(&mut chain);
    assert!(ping.text.ends_with(
        "   24 10.0.2.3                                   56  63 4ms
    sent=25 received=25 packet-loss=0% min-rtt=4ms avg-rtt=4ms max-rtt=4ms\n"
    ));
    let ping = chain.complete(0, "/ping 10.0.2.3 count=40");
    assert_eq!((titles(&ping.text), sums(&ping.text)), (2, 2), "{}", ping.text);
}

/// An answer that nobody waits for, or no longer, is a packet without a listener.
#[test]
fn late_answers_are_discarded_by_name() {
    let mut chain = chain(Duration::from_millis(5));
    let without_listener = |chain: &Chain| chain.routers[0].discards().get(Discard::NoListener);
    let mut ping = chain.start(0, "/ping 10.0.2.3").unwrap();
    chain.go_on(&mut ping, Duration::from_millis(1_010));
    ping.stop(&mut chain);
    assert_eq!(without_listener(&chain), 0);
    chain.wait(Duration::from_millis(100));
    assert_eq!(without_listener(&chain), 1, "the second reply came after the end");
    chain.complete(0, "/ping 10.0.2.3 count=1 interval=15ms");
    chain.wait(Duration::from_millis(100));
    assert_eq!(without_listener(&chain), 2, "20 ms there and back");
    assert!(chain.routers[0].frames().balance());
}

#[test]
fn many_at_once_do_not_mix() {
    let mut chain = chain(Duration::from_millis(1));
    let mut one = chain.start(0, "/ping 10.0.2.3 size=60 interval=100ms").unwrap();
    let mut two = chain.start(0, "/ping 10.0.1.2 size=70 interval=100ms").unwrap();
    for _ in 0..20 {
        chain.go_on(&mut one, Duration::from_millis(50));
        chain.go_on(&mut two, Duration::from_millis(50));
    }
    for (ping, host, size) in [(&one, "10.0.2.3", "60"), (&two, "10.0.1.2", "70")] {
        assert!(ping.records.len() > 10, "{}", ping.text);
        for record in &ping.records {
            let get = |name: &str| record.get(name).map(Value::to_string);
            assert_eq!((get("host"), get("size")), (Some(host.into()), Some(size.into())));
        }
    }
}

#[test]
fn flood_ping_sums_up() {
    let mut chain = chain(Duration::from_millis(5));
    let flood = chain.complete(0, "/tool flood-ping 10.0.2.3 count=50 size=1500");
    let last = flood.text.split_at(flood.text.rfind("      sent").unwrap()).1;
    assert_eq!(
        last,
        "      sent: 50
  received: 50
   min-rtt: 20
   avg-rtt: 20
   max-rtt: 20\n"
    );
    assert_eq!(flood.reply, Some(Ok(Reply::Text("50".to_string()))));
}

#[test]
fn what_cannot_be_is_refused() {
    let mut chain = chain(Duration::from_millis(1));
    for (script, error) in [
        ("/ping", "missing value(s) of argument(s) address"),
        ("/ping 02:00:00:00:00:01", "failure: 02:00:00:00:00:01: mac-ping is not implemented"),
        ("/ping 10.0.2.3 interval=9ms", "value of interval out of range (10ms..5s)"),
        ("/ping 10.0.2.3 src-address=1.2.3.4", "failure: 1.2.3.4 is no address of this router"),
        ("/ping 10.0.2.3 arp-ping=yes", "failure: interface needs to be specified for arp ping"),
        ("/tool flood-ping 10.0.2.3 timeout=6s", "value of timeout out of range (10ms..5s)"),
    ] {
        assert_eq!(chain.start(0, script).err().as_deref(), Some(error), "{script}");
    }
}
