//! `/tool traceroute` of both families over routers in a row.

use crate::chain::Chain;
use std::time::Duration;

const A: &str = "/ip address add address=10.0.1.1/24 interface=ether2
/ip route add gateway=10.0.1.2
/ipv6 address add address=2001:db8:1::1/64 interface=ether2 advertise=no no-dad=yes
/ipv6 route add gateway=2001:db8:1::2";
const B: &str = "/ip address
add address=10.0.1.2/24 interface=ether1
add address=10.0.2.2/24 interface=ether2
/ipv6 address
add address=2001:db8:1::2/64 interface=ether1 advertise=no no-dad=yes
add address=2001:db8:2::2/64 interface=ether2 advertise=no no-dad=yes";
const C: &str = "/ip address
add address=10.0.2.3/24 interface=ether1
add address=10.0.3.3/24 interface=ether2
/ip route add gateway=10.0.2.2
/ipv6 address
add address=2001:db8:2::3/64 interface=ether1 advertise=no no-dad=yes
add address=2001:db8:3::3/64 interface=ether2 advertise=no no-dad=yes
/ipv6 route add gateway=2001:db8:2::2";

fn chain() -> Chain {
    let mut chain = Chain::new(Duration::from_millis(1), &[A, B, C]);
    chain.run(1, "/ip route add dst-address=10.0.3.0/24 gateway=10.0.2.3");
    chain.run(1, "/ipv6 route add dst-address=2001:db8:3::/64 gateway=2001:db8:2::3");
    chain.wait(Duration::from_secs(3));
    chain
}

#[test]
fn as_it_is_shown() {
    let mut chain = chain();
    for to in ["10.0.2.3", "2001:db8:2::3"] {
        chain.complete(0, &format!("/ping {to} count=1"));
    }
    for (to, table) in [
        (
            "10.0.2.3",
            " # ADDRESS                          LOSS SENT    LAST     AVG    BEST   WORST STD-DEV STATUS
 1 10.0.1.2                           0%    2     2ms       2       2       2       0
 2 10.0.2.3                           0%    2     4ms       4       4       4       0\n",
        ),
        (
            "2001:db8:2::3",
            " # ADDRESS                          LOSS SENT    LAST     AVG    BEST   WORST STD-DEV STATUS
 1 2001:db8:1::2                      0%    2     2ms       2       2       2       0
 2 2001:db8:2::3                      0%    2     4ms       4       4       4       0\n",
        ),
    ] {
        let trace = chain.complete(0, &format!("/tool traceroute {to} count=2"));
        assert!(trace.text.ends_with(table), "{}\nnot\n{table}", trace.text);
    }
}

/// Who is on the way, and what is said at the end of it.
#[test]
fn ends_of_ways() {
    let mut chain = chain();
    chain
        .run(1, "/ip firewall filter add chain=output protocol=icmp icmp-options=11:0 action=drop");
    chain.run(
        1,
        "/ipv6 firewall filter add chain=output protocol=icmpv6 icmp-options=3:0 action=drop",
    );
    for (to, hops) in [
        // The second router does not say that it is there.
        ("10.0.2.3", ", 10.0.2.3"),
        ("2001:db8:2::3", ", 2001:db8:2::3"),
        ("10.0.3.9 timeout=5s", ", 10.0.2.3, 10.0.2.3 host unreachable"),
        ("2001:db8:3::9 timeout=5s", ", 2001:db8:2::3, 2001:db8:2::3 address unreachable"),
        ("10.0.9.9", "10.0.1.2 net unreachable"),
        ("2001:db8:9::9", "2001:db8:1::2 no route to destination"),
        ("10.0.1.1", "10.0.1.1"),
        ("2001:db8:1::1", "2001:db8:1::1"),
        ("2001:db8:1::77 max-hops=2 timeout=5s", "2001:db8:1::1 address unreachable"),
    ] {
        let trace = chain.complete(0, &format!("/tool traceroute {to} count=1"));
        let last = trace
            .records
            .iter()
            .rposition(|hop| hop.get("hop").map(ToString::to_string).as_deref() == Some("1"));
        let shown: Vec<String> = trace.records[last.unwrap()..]
            .iter()
            .map(|hop| {
                let get = |name| hop.get(name).map_or(String::new(), ToString::to_string);
                let status = get("status").replace("timeout", "");
                format!("{} {status}", get("address")).trim().to_string()
            })
            .collect();
        assert_eq!(shown.join(", "), hops, "{to}\n{}", trace.text);
    }
    assert!(chain.routers.iter().all(|router| router.frames().balance()));
}
