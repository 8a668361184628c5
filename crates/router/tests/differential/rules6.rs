//! Lines about IPv6: addresses, rules, what is changed.

use proptest::prelude::*;
use proptest::sample::select;

/// A rule of IPv6's filter, raw, mangle or NAT.
pub(super) fn rule6() -> impl Strategy<Value = String> {
    const MATCHERS: &[&str] = &[
        "",
        "",
        " protocol=udp",
        " protocol=tcp dst-port=80",
        " protocol=udp dst-port=53",
        " protocol=icmpv6 icmp-options=128:0",
        " protocol=icmpv6",
        " src-address=2001:db8:a00:1::/64",
        " dst-address=!2001:db8:a00:2::1",
        " src-address-list=some",
        " src-address-list=fresh",
        " dst-address-list=!some",
        " in-interface=ether1",
        " packet-size=0-100",
        " hop-limit=less-than:12",
        " dscp=10",
        " headers=frag:contains",
        " protocol=tcp tcp-flags=syn,!ack",
        " random=50",
        " limit=5,2:packet",
    ];
    const LATE: &[&str] = &[
        "",
        "",
        " connection-state=new",
        " connection-state=established,related",
        " connection-state=invalid",
        " connection-state=untracked",
        " connection-bytes=200-0",
        " connection-mark=a",
        " packet-mark=a",
        " connection-nat-state=srcnat",
        " connection-nat-state=!dstnat",
    ];
    const NAT: &[&str] = &[
        "srcnat action=masquerade",
        "srcnat action=masquerade out-interface=ether2",
        "srcnat action=masquerade protocol=udp to-ports=2000-2001",
        "srcnat action=src-nat to-address=2001:db8:a00:2::f0/126",
        "srcnat action=netmap to-address=2001:db8:a00:3::/64 src-address=2001:db8:a00:1::/64",
        "srcnat action=accept protocol=icmpv6",
        "dstnat action=redirect protocol=udp dst-port=53",
        "dstnat action=dst-nat dst-address=2001:db8:a00:1::fe to-address=2001:db8:a00:3::1/128",
        "dstnat action=dst-nat protocol=tcp dst-port=80 to-address=2001:db8:a00:2::/126 to-ports=8080",
        "dstnat action=netmap dst-address=2001:db8:a00:4::/64 to-address=2001:db8:a00:2::/64",
        "dstnat action=passthrough",
    ];
    const ACTIONS: &[&str] = &[
        "filter add chain=forward action=accept",
        "filter add chain=forward action=accept",
        "filter add chain=forward action=drop",
        "filter add chain=forward action=fasttrack-connection",
        "filter add chain=forward action=fasttrack-connection",
        "filter add chain=forward action=passthrough",
        "filter add chain=forward action=reject",
        "filter add chain=forward action=log",
        "filter add chain=input action=accept",
        "filter add chain=output action=passthrough",
        "filter add chain=forward action=add-src-to-address-list address-list=fresh \
         address-list-timeout=3s",
        "raw add chain=prerouting action=notrack",
        "raw add chain=prerouting action=passthrough",
        "mangle add chain=prerouting action=mark-packet new-packet-mark=a",
        "mangle add chain=forward action=mark-connection new-connection-mark=a",
        "mangle add chain=forward action=change-dscp new-dscp=10",
        "mangle add chain=postrouting action=change-dscp new-dscp=46",
        "mangle add chain=prerouting action=change-hop-limit new-hop-limit=set:9",
        "mangle add chain=forward action=change-hop-limit new-hop-limit=increment:2",
        "mangle add chain=forward action=fasttrack-connection",
    ];
    let others = (select(ACTIONS), select(MATCHERS), select(LATE));
    let others = others.prop_map(|(action, matchers, late)| {
        let late = if action.starts_with("raw") { "" } else { late };
        format!("/ipv6 firewall {action}{matchers}{late}")
    });
    let nat = select(NAT).prop_map(|rule| format!("/ipv6 firewall nat add chain={rule}"));
    prop_oneof![3 => others, 1 => nat]
}

/// The router's addresses in a network.
pub(super) fn addresses(n: u8, interface: &str) -> [String; 2] {
    [
        format!("/ip address add address=10.0.{n}.254/24 interface={interface}"),
        format!("/ipv6 address add address=2001:db8:a00:{n}::fe/64 interface={interface}"),
    ]
}

/// What somebody may change while packets flow.
pub(super) fn change6() -> impl Strategy<Value = String> {
    const CHANGES: &[&str] = &[
        "/ipv6 settings set forward=no",
        "/ipv6 settings set forward=yes disable-ipv6=no",
        "/ipv6 settings set disable-ipv6=yes",
        "/ipv6 firewall filter remove [find]",
        "/ipv6 firewall filter disable [find chain=forward]",
        "/ipv6 firewall mangle remove [find]",
        "/ipv6 firewall raw remove [find]",
        "/ipv6 firewall nat remove [find]",
        "/ipv6 firewall nat add chain=srcnat action=masquerade",
        "/ipv6 firewall connection remove [find]",
        "/ipv6 firewall address-list add list=fresh address=2001:db8:a00:1::2 timeout=4s",
        "/ipv6 firewall address-list remove [find dynamic]",
        "/ipv6 route remove [find dst-address=2001:db8:ac10::/60]",
        "/routing rule remove [find]",
        "/routing rule disable [find table=wan]",
        "/routing rule enable [find]",
        "/routing rule add src-address=2001:db8:a00:1::/64 table=wan",
        "/ip vrf disable [find]",
        "/ip vrf enable [find]",
        "/ipv6 address disable [find interface=ether2]",
        "/ipv6 address enable [find]",
    ];
    select(CHANGES).prop_map(String::from)
}

/// What is typed beside rules.
pub(super) fn common6() -> impl Strategy<Value = String> {
    const LINES: &[&str] = &[
        "/ipv6 settings set allow-fast-path=no",
        "/ipv6 route add dst-address=2001:db8:ac10::/60 gateway=2001:db8:a00:2::1",
        "/ipv6 route add dst-address=2001:db8:ac10:1::/64 gateway=2001:db8:a00:2::1,2001:db8:a00:3::1",
        "/ipv6 route add dst-address=2001:db8:ac10:2::/64 type=blackhole",
        "/ipv6 route add dst-address=2001:db8:ac10:3::/64 type=unreachable",
        "/ipv6 route add dst-address=::/0 gateway=2001:db8:a00:4::1",
        "/ipv6 route add dst-address=::/0 gateway=2001:db8:a00:3::1 routing-table=wan",
        "/ipv6 route add dst-address=2001:db8:a00:2::/65 type=prohibit routing-table=wan",
        "/ipv6 route add dst-address=::/0 gateway=2001:db8:a00:2::1@main routing-table=red",
        "/routing rule add src-address=2001:db8:a00:1::/64 table=wan",
        "/routing rule add interface=ether1 action=lookup-only-in-table table=wan",
        "/routing rule add dst-address=2001:db8:ac10:1::/64 action=drop",
        "/routing rule add dst-address=2001:db8:ac10::/60 action=unreachable",
        "/routing rule add table=wan min-prefix=0",
        "/routing rule add routing-mark=wan src-address=::/0 table=main",
        "/ip vrf add name=red interfaces=ether1,ether3",
        "/ipv6 firewall address-list add list=some address=2001:db8:a00:1::/64",
    ];
    select(LINES).prop_map(String::from)
}
