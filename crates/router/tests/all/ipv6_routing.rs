//! Policy routing of IPv6: `/routing rule`, tables, `/ip vrf`; and rules that are fed, of both families.

use crate::ipv6::{Sent, discards, introduce, ip6, ping, to};
use crate::rig::{Rig, mac, own_mac};
use router::interface::InterfaceId;
use router::ip::fed::{FedRule, FedTables};
use router::ip::rule::Action;
use wire::craft::{self, Frame, ip};
use wire::icmpv6::kind;
use wire::ipv6::header;

/// Three networks; the way on is by the second, of table wan by the third.
const NETS: &str = "/ipv6 address
add address=2001:db8:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:db8:2::1/64 interface=ether2 advertise=no no-dad=yes
add address=2001:db8:3::1/64 interface=ether3 advertise=no no-dad=yes
/ipv6 route
add gateway=2001:db8:2::b
add gateway=2001:db8:3::b routing-table=wan
";
const AWAY: &str = "2001:db8:a::1";
const NEAR: &str = "2001:db8:2::b";

fn rig(script: &str) -> Rig {
    let mut rig = Rig::new(3, &format!("{NETS}{script}"));
    for n in 1..=3 {
        let host = if n == 1 { "a" } else { "b" };
        let net = format!("2001:db8:{n}::");
        introduce(&mut rig, n, n, &format!("{net}{host}"), &format!("{net}1"));
    }
    rig
}

/// The port that a packet leaves by; none if it is dropped, whatever its sender is told.
fn way(rig: &mut Rig, port: u8, sent: &Sent) -> Option<usize> {
    let out = rig.pass(port.into(), &sent.build());
    out.first().map(|(to, _)| *to).filter(|to| *to != usize::from(port))
}

#[test]
fn rules_choose_a_table() {
    let cases: &[(&str, &str, Option<usize>)] = &[
        ("", AWAY, Some(2)),
        ("add src-address=2001:db8:1::/64 table=wan", AWAY, Some(3)),
        ("add src-address=2001:db8:9::/64 table=wan", AWAY, Some(2)),
        ("add src-address=2001:db8:1::a table=wan", AWAY, Some(3)),
        ("add interface=ether1 dst-address=2001:db8:a::/48 table=wan", AWAY, Some(3)),
        ("add interface=ether2 table=wan", AWAY, Some(2)),
        ("add dst-address=2001:db8:a::/48 action=drop", AWAY, None),
        ("add dst-address=2001:db8:a::/48 action=unreachable", AWAY, None),
        // One without a prefix is of both families, one of IPv4 is not IPv6's.
        ("add table=wan", AWAY, Some(3)),
        ("add src-address=0.0.0.0/0 table=wan", AWAY, Some(2)),
        // Nothing there: the next one, or no route.
        ("add table=empty\nadd table=wan", AWAY, Some(3)),
        ("add table=empty action=lookup-only-in-table\nadd table=wan", AWAY, None),
        // The table's default route is for connected networks, too, unless it does not count.
        ("add table=wan", NEAR, Some(3)),
        ("add table=wan min-prefix=0", NEAR, Some(2)),
        ("add table=main min-prefix=0\nadd table=wan", NEAR, Some(2)),
        ("add table=main min-prefix=0\nadd table=wan", AWAY, Some(3)),
        ("add table=main min-prefix=64\nadd table=wan", NEAR, Some(3)),
        ("add table=wan min-prefix=0 action=lookup-only-in-table", NEAR, None),
        // Marks are asked behind the rules, and rules ask for marks.
        (
            "add routing-mark=wan action=drop\n/ipv6 firewall mangle add chain=prerouting \
          action=mark-routing new-routing-mark=wan",
            AWAY,
            None,
        ),
        (
            "add routing-mark=wan table=main\n/ipv6 firewall mangle add chain=prerouting \
          action=mark-routing new-routing-mark=wan",
            AWAY,
            Some(2),
        ),
    ];
    for &(script, dst, want) in cases {
        for tracking in ["yes", "no"] {
            let script = format!(
                "/ip firewall connection tracking set enabled={tracking}\n/routing rule\n{script}"
            );
            let mut rig = rig(&script);
            let before = rig.router.path_counts();
            for _ in 0..4 {
                let got = way(&mut rig, 1, &to(dst));
                assert_eq!(got, want, "{script} {dst}: {:?}", discards(&rig));
            }
            let after = rig.router.path_counts();
            let fast = after.replayed - before.replayed + after.ipv6_fast_path.packets;
            assert!(want.is_none() || fast >= 2, "{script}: {after:?}");
            // The router's own addresses come before all rules; its answers ask them, too, by the mark of
            // what they answer.
            let out = rig.pass(1, &ping("2001:db8:1::1").build());
            let has_way = !["only-in-table", "routing-mark=wan action=drop"]
                .iter()
                .any(|words| script.contains(words));
            assert_eq!(out.len(), usize::from(has_way), "{script}: {:?}", discards(&rig));
            assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
        }
    }
}

/// What a rule refuses is said to the sender as IPv6 says it.
#[test]
fn an_unreachable_rule_says_so() {
    let mut rig = rig("/routing rule add action=unreachable dst-address=2001:db8:a::/48");
    let out = rig.pass(1, &to(AWAY).build());
    assert_eq!(out[0].0, 1);
    assert_eq!(out[0].1[54..56], [kind::UNREACHABLE, 3], "address unreachable");
    assert_eq!(discards(&rig), [("route-rule-unreachable", 1)]);
}

/// A mark, a rule or a change of it is asked anew by flows that go fast.
#[test]
fn rules_that_change_are_asked_anew() {
    let mut rig = rig("");
    let wan = |rig: &mut Rig| (0..3).map(|_| way(rig, 1, &to(AWAY))).collect::<Vec<_>>();
    assert_eq!(wan(&mut rig), [Some(2); 3]);
    rig.run("/routing rule add table=wan");
    assert_eq!(wan(&mut rig), [Some(3); 3]);
    rig.run("/routing rule set 0 src-address=2001:db8:7::/48");
    assert_eq!(wan(&mut rig), [Some(2); 3]);
    rig.run("/routing rule set 0 src-address=2001:db8:1::/48");
    assert_eq!(wan(&mut rig), [Some(3); 3]);
    rig.run("/routing rule disable 0");
    assert_eq!(wan(&mut rig), [Some(2); 3]);
    let fast = rig.run(":put [/ipv6 settings get ipv6-fast-path-active]");
    assert_eq!(fast.trim(), "true");
    for (line, why) in [
        ("src-address=10.0.0.0/8 dst-address=2001:db8::/32", "are of two families"),
        ("src-address=2001:db8::/129", "src-address"),
        ("min-prefix=-1", "min-prefix"),
    ] {
        let error = rig.try_run(&format!("/routing rule add {line}")).unwrap_err().text;
        assert!(error.contains(why), "{line}: {error}");
    }
    assert!(rig.try_run("/ip route rule add src-address=2001:db8::/32").is_err());
}

/// Two customers with the same network, each with a way out; and what is not theirs.
const TWO: &str = "/ip vrf
add name=red interfaces=ether1,ether2
add name=blue interfaces=ether3,ether4
/ipv6 address
add address=2001:db8::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:db8:1::1/64 interface=ether2 advertise=no no-dad=yes
add address=2001:db8::1/64 interface=ether3 advertise=no no-dad=yes
add address=2001:db8:1::1/64 interface=ether4 advertise=no no-dad=yes
add address=2001:db8:9::1/64 interface=ether5 advertise=no no-dad=yes
/ipv6 route
add dst-address=2001:db8:a::/48 gateway=2001:db8:1::b routing-table=red
add dst-address=2001:db8:b::/48 gateway=2001:db8:a::1 target-scope=30 routing-table=red
add dst-address=2001:db8:a::/48 gateway=2001:db8:1::b routing-table=blue
add dst-address=2001:db8:c::/48 gateway=2001:db8:9::b@main routing-table=red
add dst-address=2001:db8:d::/48 gateway=2001:db8:9::b
";

fn customers(script: &str) -> Rig {
    let mut rig = Rig::new(5, &format!("{TWO}{script}"));
    for (n, net) in [(1, ""), (2, ":1"), (3, ""), (4, ":1"), (5, ":9")] {
        introduce(&mut rig, n, n, &format!("2001:db8{net}::b"), &format!("2001:db8{net}::1"));
    }
    rig
}

fn by(port: u8, src: &str, dst: &str) -> Sent {
    Sent { src_mac: mac(port), dst_mac: own_mac(port), src: ip6(src), ..to(dst) }
}

#[test]
fn an_interface_asks_the_table_of_its_vrf() {
    let host = "2001:db8::b";
    let main = "2001:db8:9::b";
    let cases: &[(&str, u8, &str, &str, Option<usize>)] = &[
        ("", 1, host, "2001:db8:1::b", Some(2)),
        ("", 3, host, "2001:db8:1::b", Some(4)),
        ("", 1, host, "2001:db8:a::5", Some(2)),
        ("", 3, host, "2001:db8:a::5", Some(4)),
        // A gateway behind another one, in the VRF.
        ("", 1, host, "2001:db8:b::5", Some(2)),
        ("", 3, host, "2001:db8:b::5", None),
        // A route that leaves the VRF.
        ("", 1, host, "2001:db8:c::5", Some(5)),
        // A VRF's table stands for itself.
        ("", 1, host, "2001:db8:d::5", None),
        ("", 5, main, "2001:db8:d::5", None),
        ("", 5, main, "2001:db8:a::5", None),
        // An address of another VRF is not the router's own here.
        ("", 5, main, "2001:db8:1::1", None),
        // Rules and marks come first.
        ("/routing rule add interface=ether1 table=main", 1, host, "2001:db8:d::5", Some(5)),
        (
            "/ipv6 firewall mangle add chain=prerouting in-interface=ether5 action=mark-routing \
             new-routing-mark=blue",
            5,
            main,
            "2001:db8:a::5",
            Some(4),
        ),
        // A mark without a VRF falls back to the VRF.
        (
            "/ipv6 firewall mangle add chain=prerouting action=mark-routing new-routing-mark=other",
            1,
            host,
            "2001:db8:a::5",
            Some(2),
        ),
        ("/ip vrf disable [find name=red]", 1, host, "2001:db8:d::5", Some(5)),
    ];
    for tracking in ["auto", "yes"] {
        for &(script, port, src, dst, want) in cases {
            let mut rig = customers(script);
            rig.run(&format!("/ip firewall connection tracking set enabled={tracking}"));
            for _ in 0..3 {
                let got = way(&mut rig, port, &by(port, src, dst));
                assert_eq!(got, want, "{script} {port} {dst}: {:?}", discards(&rig));
            }
        }
    }
}

/// Who asks the router in a VRF is answered there, by whatever the router answers with.
#[test]
fn answers_go_back_in_the_vrf() {
    let mut rig = customers("");
    for port in [1, 3, 5] {
        let net = if port == 5 { "2001:db8:9" } else { "2001:db8" };
        let (host, own) = (format!("{net}::b"), format!("{net}::1"));
        let echo = ping(&own).payload;
        let asked = [
            ("ping", Sent { next_header: header::ICMPV6, payload: echo, ..by(port, &host, &own) }),
            ("a port nobody listens on", by(port, &host, &own)),
            ("no route", by(port, &host, "2001:db8:ffff::1")),
            ("hop limit", Sent { hop_limit: 1, ..by(port, &host, "2001:db8:1::b") }),
        ];
        for (what, sent) in asked {
            let out = rig.pass(port.into(), &sent.build());
            let dst = out.first().map(|(to, bytes)| (*to, bytes[38..54].to_vec()));
            let expected = Some((port.into(), ip6(&host).octets().to_vec()));
            assert_eq!(dst, expected, "{what} by {port}: {:?}", discards(&rig));
        }
    }
    let shown = rig.run("/ipv6 route print where routing-table=blue connect");
    assert!(shown.contains("2001:db8:1::/64") && shown.contains("ether4"), "{shown}");
    assert!(rig.router.frames().balance());
}

/// Rules that somebody else knows stand behind those that were typed, and are shown.
#[test]
fn fed() {
    let mut rig = rig("/ip address add address=10.0.1.254/24 interface=ether1
/ip address add address=10.0.2.254/24 interface=ether2
/ip address add address=10.0.3.254/24 interface=ether3
/ip route add gateway=10.0.2.1
/ip route add gateway=10.0.3.1 routing-mark=wan");
    for n in 1..=3 {
        rig.introduce(n.into(), mac(n), ip(10, 0, n, 1), ip(10, 0, n, 254));
    }
    fn rule<A: router::ip::fib::Word>(action: Action, dst: Option<A::Prefix>) -> FedRule<A> {
        let (src, interface, min_prefix) = (None, Some(InterfaceId(1)), None);
        FedRule { priority: 9, src, dst, interface, action, table: "100".to_string(), min_prefix }
    }
    let feed = |rig: &mut Rig, table: &str| {
        let four = FedRule { table: table.to_string(), ..rule(Action::Lookup, None) };
        let six = FedRule { table: table.to_string(), ..rule(Action::Lookup, None) };
        let prohibited = rule(Action::Prohibit, Some("2001:db8:b::/48".parse().unwrap()));
        let (rules4, rules6) = (vec![four], vec![prohibited, six]);
        rig.router.feed_tables(FedTables { tables: Vec::new(), rules4, rules6 });
        rig.pass(2, &[]);
    };
    let four = |rig: &mut Rig| {
        let udp = craft::udp(ip(10, 0, 1, 1), 1000, ip(192, 0, 2, 1), 53);
        let frame = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp }.build();
        rig.pass(1, &frame)[0].0
    };
    assert_eq!((four(&mut rig), way(&mut rig, 1, &to(AWAY))), (2, Some(2)));
    feed(&mut rig, "wan");
    for _ in 0..3 {
        assert_eq!((four(&mut rig), way(&mut rig, 1, &to(AWAY))), (3, Some(3)));
    }
    let out = rig.pass(1, &to("2001:db8:b::1").build());
    assert_eq!(out[0].1[54..56], [kind::UNREACHABLE, 1], "administratively prohibited");
    let shown = rig.run("/routing rule print detail where dynamic");
    for part in ["the kernel's rule 9", "interface=ether1", "table=wan", "action=prohibit"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Those that were typed come first; a table that only a rule speaks of is one.
    rig.run("/routing rule add table=main");
    assert_eq!((four(&mut rig), way(&mut rig, 1, &to(AWAY))), (2, Some(2)));
    rig.run("/routing rule remove [find !dynamic]");
    feed(&mut rig, "100");
    assert!(rig.router.table_names().any(|name| name == "100"));
    assert_eq!((four(&mut rig), way(&mut rig, 1, &to(AWAY))), (2, Some(2)));
}
