//! `/ping` over IPv6, by routers in a row: as it is shown, and who says what is wrong.

use crate::chain::Chain;
use config::{Reply, Value};
use router::discard::Discard;
use std::time::Duration;

const A: &str =
    "/ipv6 address add address=2001:db8:1::1/64 interface=ether2 advertise=no no-dad=yes
/ipv6 route add dst-address=2001:db8:2::/64 gateway=2001:db8:1::2
/ipv6 route add dst-address=2001:db8:9::/48 gateway=2001:db8:1::2
/ipv6 route add dst-address=2001:db8:7::/48 gateway=2001:db8:1::2 routing-table=m";
const B: &str = "/ipv6 address
add address=2001:db8:1::2/64 interface=ether1 advertise=no no-dad=yes
add address=2001:db8:2::2/64 interface=ether2 advertise=no no-dad=yes";
const C: &str =
    "/ipv6 address add address=2001:db8:2::3/64 interface=ether1 advertise=no no-dad=yes
/ipv6 route add gateway=2001:db8:2::2";

/// Three routers whose neighbours know each other.
fn chain(delay: Duration) -> Chain {
    let mut chain = Chain::new(delay, &[A, B, C]);
    chain.wait(Duration::from_secs(3));
    let first = chain.complete(0, "/ping 2001:db8:2::3 count=1 interval=5s");
    assert_eq!(first.last("received"), "1", "{}", first.text);
    chain
}

#[test]
fn as_it_is_shown() {
    let mut chain = chain(Duration::from_millis(5));
    let ping = chain.complete(0, "/ping 2001:db8:2::3 count=2 size=100 ttl=60");
    let lines = ping.text.lines().map(str::trim_end);
    let expected = "  SEQ HOST                                     SIZE TTL TIME  STATUS
    0 2001:db8:2::3                             100  63 20ms  echo reply
    1 2001:db8:2::3                             100  63 20ms  echo reply
    sent=2 received=2 packet-loss=0% min-rtt=20ms avg-rtt=20ms max-rtt=20ms";
    assert!(lines.eq(expected.lines()), "{}", ping.text);
    // Four times over a wire: 14 + 100 + 4 bytes and the preamble at 1 ns a bit, and the delay.
    let time = Duration::from_nanos(4 * (5_000_000 + (118 + 8) * 8));
    assert_eq!(ping.records[0].get("time"), Some(&Value::Time(time)));
    assert_eq!(ping.reply, Some(Ok(Reply::Text("2".to_string()))));
}

/// What is wrong, and who says so: host, size and status.
#[test]
fn failures_by_cause() {
    let mut chain = chain(Duration::from_millis(1));
    chain.run(1, "/interface ethernet set ether2 mtu=1300");
    for (script, host, status) in [
        ("/ping 2001:db8:8::1", "", "no route to host"),
        ("/ping 2001:db8:9::1", "2001:db8:1::2", "no route to destination"),
        ("/ping 2001:db8:7::1", "", "no route to host"),
        ("/ping 2001:db8:7::1 routing-table=m", "2001:db8:1::2", "no route to destination"),
        ("/ping 2001:db8:2::77 interval=5s", "2001:db8:1::2", "address unreachable"),
        ("/ping 2001:db8:1::77 interval=5s", "2001:db8:1::1", "address unreachable"),
        ("/ping 2001:db8:2::3 ttl=1", "2001:db8:1::2", "hop limit exceeded"),
        ("/ping 2001:db8:2::3 size=1301", "2001:db8:1::2", "packet too big"),
        (
            "/ping 2001:db8:2::3 size=1501 do-not-fragment",
            "",
            "packet too large and cannot be fragmented",
        ),
        ("/ping 2001:db8:1::1", "2001:db8:1::1", "echo reply"),
        ("/ping fe80::ff:fe00:101%ether2", "fe80::ff:fe00:101", "echo reply"),
        ("/ping fe80::ff:fe00:101 interface=ether2", "fe80::ff:fe00:101", "echo reply"),
        ("/ping ff02::2%ether2", "fe80::ff:fe00:101", "echo reply"),
        ("/ping 2001:db8:2::3 interface=ether1", "", "no route to host"),
        ("/ping 2001:db8:2::3 src-address=2001:db8:1::1", "2001:db8:2::3", "echo reply"),
        ("/tool flood-ping 2001:db8:2::3", "", ""),
    ] {
        let ping = chain.complete(0, &format!("{script} count=1"));
        assert_eq!(
            (ping.last("host").as_str(), ping.last("status").as_str()),
            (host, status),
            "{script}"
        );
    }
    chain.run(0, "/ipv6 firewall filter add chain=output action=drop");
    let ping = chain.complete(0, "/ping 2001:db8:2::3 count=1");
    assert_eq!(ping.last("status"), "packet rejected");
    assert_eq!(chain.routers[0].discards().get(Discard::FilterDrop), 1);
    assert!(chain.routers.iter().all(|router| router.frames().balance()));
}

/// Longer than the first link takes: in pieces there and back.
#[test]
fn long_requests_go_in_pieces() {
    let mut chain = chain(Duration::from_millis(1));
    for tracked in ["no", "yes"] {
        chain.run(0, &format!("/ip firewall connection tracking set enabled={tracked}"));
        for size in ["28", "1500", "1501", "4000", "65527"] {
            let ping = chain.complete(0, &format!("/ping 2001:db8:2::3 count=1 size={size}"));
            let shown = if size == "28" { "48" } else { size };
            assert_eq!(
                (ping.last("received").as_str(), ping.last("size").as_str()),
                ("1", shown),
                "{tracked} {size}\n{}",
                ping.text
            );
        }
    }
    assert!(chain.routers.iter().all(|router| router.frames().balance()));
}

#[test]
fn what_cannot_be_is_refused() {
    let mut chain = chain(Duration::from_millis(1));
    for (script, error) in [
        ("/ping fe80::1", "failure: fe80::1 is of a link: by which interface?"),
        ("/ping ff02::1", "failure: ff02::1 is of a link: by which interface?"),
        ("/ping fe80::1%ether9", "input does not match any value of interface"),
        (
            "/ping 2001:db8:2::3 src-address=2001:db8::9",
            "failure: 2001:db8::9 is no address of this router",
        ),
        (
            "/ping 2001:db8:2::3 src-address=10.0.0.1",
            "failure: 10.0.0.1 and 2001:db8:2::3 are of different families",
        ),
        (
            "/ping 2001:db8:1::2 arp-ping=yes interface=ether2",
            "failure: arp ping is for IPv4 addresses",
        ),
    ] {
        assert_eq!(chain.start(0, script).err().as_deref(), Some(error), "{script}");
    }
}
