//! `wirespeed router --kernel-routes`: the kernel's routes and neighbours are the router's, and a
//! routing daemon beside it drives it.
use crate::rig;
use port::linux::Namespace;
use rig::bird::Bird;
use rig::{Rig, sh};

/// Two ports by AF_XDP.
const XDP: &[&str] = &["--port", "ether1=xdp:eth1", "--port", "ether2=xdp:eth2"];

/// The kernel's neighbours behind the ports stand in the router's table as long as it has them.
#[test]
fn the_kernels_neighbours_are_the_routers() {
    let Some(mut rig) = Rig::new("neighbours", &["ping"]) else { return };
    rig.start(&[XDP, &["--kernel-routes"]].concat());
    rig.pings(1);
    let count = |last: &str| format!("/ip arp print count-only where dynamic address=10.0.{last}");
    let mac = |last: &str| format!(":put [/ip arp get [find address=10.0.{last}] mac-address]");
    let kernel = |rig: &Rig, words: &str| sh(&rig.r, &format!("ip neighbour {words}"));
    let own = sh(&rig.b, "ip -br link show b0");
    let own = own.split_whitespace().nth(2).expect("a MAC address").to_uppercase();

    // What the kernel is not sure of is no news, and does not take the place of what is known.
    kernel(&rig, "replace 10.0.1.79 lladdr 02:00:00:00:00:79 dev eth1 nud stale");
    kernel(&rig, "replace 10.0.2.2 lladdr 02:00:00:00:00:99 dev eth2 nud stale");
    kernel(&rig, "replace 10.0.1.77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent");
    kernel(&rig, "replace 10.0.1.78 lladdr 02:00:00:00:00:78 dev eth1 nud reachable");
    kernel(&rig, "replace 10.0.1.1 lladdr 02:00:00:00:00:01 dev eth1 nud permanent");
    rig.console_comes_to(&count("1.77"), "1");
    rig.console_comes_to(&count("1.78"), "1");
    assert_eq!(rig.console(&mac("1.77")).trim(), "02:00:00:00:00:77");
    assert_eq!(rig.console(&count("1.79")).trim(), "0", "stale");
    assert_eq!(rig.console(&count("1.1")).trim(), "0", "the router's own address");
    assert_eq!(rig.console(&mac("2.2")).trim(), own);
    rig.pings(1);

    // They change and go with the kernel's.
    kernel(&rig, "replace 10.0.1.78 lladdr 02:00:00:00:00:aa dev eth1 nud permanent");
    rig.console_comes_to(&mac("1.78"), "02:00:00:00:00:AA");
    kernel(&rig, "del 10.0.1.77 dev eth1");
    rig.console_comes_to(&count("1.77"), "0");
    // A link takes them along, and they are back with it.
    sh(&rig.a, "ip link set a0 down");
    rig.console_comes_to(&count("1.78"), "0");
    sh(&rig.a, "ip link set a0 up; ip route replace default via 10.0.1.1");
    rig.console_comes_to(&count("1.78"), "1");
    rig.pings(1);
}

/// Where bird's routes lead, in the kernel's table; the sessions are on a cable of their own.
const MANAGEMENT: &str = "
ip link set lo up
ip address add 10.0.1.1/24 dev eth1
ip address add 10.0.2.1/24 dev eth2
ip link add name mgmt type veth peer name mgmt netns PEER
ip address add 192.168.9.1/30 dev mgmt
ip link set mgmt up
";
const NEAR: &str = "
router id 192.168.9.1;
protocol device { scan time 1; }
protocol direct { ipv4; }
protocol kernel {
    ipv4 { import none; export filter { if source = RTS_BGP then accept; reject; }; };
}
protocol bgp peer {
    local 192.168.9.1 as 65000;
    neighbor 192.168.9.2 as 65000;
    connect delay time 1; connect retry time 1; error wait time 1, 2;
    ipv4 { import all; export none; };
}
";
const FAR: &str = "
router id 192.168.9.2;
protocol device { scan time 1; }
protocol static learnt { ipv4; ROUTES }
protocol bgp peer {
    local 192.168.9.2 as 65000;
    neighbor 192.168.9.1 as 65000;
    connect delay time 1; connect retry time 1; error wait time 1, 2;
    ipv4 { import none; export filter { bgp_next_hop = 10.0.2.2; accept; }; };
}
";

#[test]
fn a_routing_daemon_drives_the_fib() {
    const ROUTES: usize = 300;
    let Some(mut rig) = Rig::new("bird", &["ping", "bird", "birdc", "sysctl"]) else { return };
    let far = Namespace::new().unwrap();
    sh(&rig.r, &MANAGEMENT.replace("PEER", &far.path().display().to_string()));
    sh(&far, "ip address add 192.168.9.2/30 dev mgmt; ip link set mgmt up");
    sh(&rig.b, "ip link set lo up; ip address add 172.16.7.1/32 dev lo");
    sh(&rig.r, "ip route add 10.66.0.0/16 via 10.0.1.2; ip route add 10.65.0.0/16 via 192.168.9.2");
    sh(
        &rig.r,
        "ip route add 10.64.0.0/10 via 10.0.2.2; ip route add 10.65.0.0/16 via 10.0.2.2 metric 9",
    );
    rig.start(&[XDP, &["--kernel-routes"]].concat());
    rig.says("2 of the kernel's routes lead by no port of the router: unreachable to it");
    rig.pings(1);
    // Neither by a shorter route nor by a later one.
    let refused = sh(&rig.a, "ping -c 1 -w 5 10.65.0.1 || true");
    assert!(refused.contains("Host Unreachable"), "{refused}");
    let route = "[/ip route find dst-address=10.65.0.0/16]";
    let why = rig.console(&format!(":put [/ip route get {route} gateway-status]"));
    assert_eq!(why.trim(), "the host sends there by an interface that is no port");
    sh(&rig.r, "ip route del 10.65.0.0/16 via 192.168.9.2");
    rig.console_comes_to(&format!(":put [/ip route get {route} gateway]"), "10.0.2.2");
    sh(&rig.r, "ip route del 10.64.0.0/10; ip route del 10.65.0.0/16");
    let routes =
        (0..ROUTES).map(|n| format!("route 172.{}.{}.0/24 blackhole;", 16 + n / 256, n % 256));
    let routes: String = routes.collect();
    let there = Bird::start(&far, rig.home(), "far", &FAR.replace("ROUTES", &routes));
    let here = Bird::start(&rig.r, rig.home(), "near", NEAR);
    let active = "/ip route print count-only where dynamic active !connect distance=20";
    let all = "/ip route print count-only where dynamic !connect distance=20";
    let n = ROUTES.to_string();
    rig.console_comes_to(active, &n);
    assert!(here.says("show protocols peer").contains("Established"));
    let ping = "ping -q -c 3 -i 0.05 -w 10 172.16.7.1";
    sh(&rig.a, ping);

    // What the kernel has besides.
    sh(
        &rig.r,
        "ip route add blackhole 10.67.0.0/16
         ip route add 10.68.0.0/16 nexthop via 10.0.1.2 weight 2 nexthop via 10.0.2.2",
    );
    rig.console_comes_to("/ip route print count-only where dynamic static", "3");
    let text = rig.console("/ip route print where dynamic static");
    let mut rows: Vec<String> = text
        .lines()
        .skip(3)
        .map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
        .collect();
    rows.sort();
    let expected = [
        "ADS 10.66.0.0/16 10.0.1.2 1",
        "ADS 10.68.0.0/16 10.0.1.2,10.0.1.2,10.0.2.2 1",
        "ADSB 10.67.0.0/16 1",
    ];
    assert_eq!(rows, expected, "{text}");

    // A link takes its routes out of use, and gives them back.
    sh(&rig.b, "ip link set b0 down");
    rig.console_comes_to(active, "0");
    assert_eq!(rig.console(all).trim(), n);
    sh(&rig.b, "ip link set b0 up; ip route replace default via 10.0.2.1");
    rig.console_comes_to(active, &n);
    sh(&rig.a, ping);

    // Of several ways the one goes whose address is gone, and comes back with it.
    let gateways = ":put [/ip route get [find dst-address=10.68.0.0/16] gateway]";
    let both = rig.console(gateways).trim().to_string();
    sh(&rig.r, "ip address del 10.0.1.1/24 dev eth1");
    rig.console_comes_to(gateways, "10.0.2.2");
    sh(&rig.r, "ip address add 10.0.1.1/24 dev eth1");
    rig.console_comes_to(gateways, &both);

    // Routes by next-hop objects go with these, without a word, whether the kernel spells their ways
    // out or not; what goes into a tunnel goes by no port, and is unreachable.
    sh(&rig.r, "ip route add 172.31.4.0/24 encap ip id 5 dst 10.0.2.2 dev eth2");
    let by_objects = "/ip route print count-only where dst-address in 172.31.0.0/16";
    let group = ":put [/ip route get [find dst-address=172.31.2.0/24] gateway]";
    for spelled_out in [1, 0] {
        sh(&rig.r, &format!("sysctl -qw net.ipv4.nexthop_compat_mode={spelled_out}"));
        sh(
            &rig.r,
            "ip nexthop add id 1 via 10.0.1.2 dev eth1; ip nexthop add id 2 via 10.0.2.2 dev eth2
             ip nexthop add id 3 group 1/2,2; ip nexthop add id 4 blackhole
             ip route add 172.31.1.0/24 nhid 1; ip route add 172.31.2.0/24 nhid 3
             ip route add 172.31.3.0/24 nhid 4",
        );
        rig.console_comes_to(by_objects, "4");
        rig.console_comes_to(group, "10.0.1.2;10.0.2.2;10.0.2.2");
        sh(&rig.r, "ip nexthop replace id 1 via 10.0.1.3 dev eth1");
        rig.console_comes_to(group, "10.0.1.3;10.0.2.2;10.0.2.2");
        sh(&rig.r, "ip nexthop del id 1");
        rig.console_comes_to(by_objects, "3");
        sh(&rig.r, "ip nexthop del id 4; ip nexthop del id 2");
        rig.console_comes_to(by_objects, "1");
    }

    there.says("disable learnt");
    rig.console_comes_to(all, "0");
    let refused = sh(&rig.a, "ping -c 1 -w 5 172.16.7.1 || true");
    assert!(refused.contains("Net Unreachable"), "{refused}");
    there.says("enable learnt");
    rig.console_comes_to(active, &n);
    sh(&rig.a, ping);
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// IPv6's routes, which bird has by BGP and `ip` enters, and neighbours: as of IPv4.
#[test]
fn the_kernels_ipv6_is_followed() {
    const ROUTES: usize = 300;
    let Some(mut rig) = Rig::new("kernel6", &["ping", "bird", "birdc"]) else { return };
    let far = Namespace::new().unwrap();
    sh(&rig.r, &MANAGEMENT.replace("PEER", &far.path().display().to_string()));
    sh(&far, "ip address add 192.168.9.2/30 dev mgmt; ip link set mgmt up");
    for (at, name) in [(&rig.r, "eth1"), (&rig.r, "eth2"), (&rig.a, "a0"), (&rig.b, "b0")] {
        sh(at, &format!("echo 0 >/proc/sys/net/ipv6/conf/{name}/disable_ipv6"));
    }
    sh(&rig.r, "for n in 1 2; do ip address add 2001:db8:$n::1/64 dev eth$n nodad; done");
    sh(&rig.r, "ip address add 2001:db8:f::1/64 dev mgmt nodad");
    sh(
        &rig.a,
        "ip address add 2001:db8:1::2/64 dev a0 nodad; ip route add default via 2001:db8:1::1",
    );
    sh(
        &rig.b,
        "ip address add 2001:db8:2::2/64 dev b0 nodad; ip route add default via 2001:db8:2::1",
    );
    sh(&rig.b, "ip link set lo up; ip address add 2001:db8:7::1/128 dev lo nodad");
    sh(&rig.b, "ip address add 2001:db8:a000::1/128 dev lo nodad");
    rig.start(&[XDP, &["--kernel-routes"]].concat());
    for n in [1, 2] {
        rig.console(&format!("/ipv6 address add address=2001:db8:{n}::1/64 interface=ether{n} advertise=no no-dad=yes"));
    }
    sh(
        &rig.r,
        "ip route add 2001:db8:7::/48 via 2001:db8:2::2
         ip route add 2001:db8:8::/48 via fe80::8 dev eth2 metric 7
         ip route add blackhole 2001:db8:9::/48
         ip route add 2001:db8:e::/48 via 2001:db8:f::2
         ip route add 2001:db8:68::/48 nexthop via 2001:db8:1::2 nexthop via 2001:db8:2::2",
    );
    rig.console_comes_to("/ipv6 route print count-only where dynamic active static", "4");
    let gateway =
        |prefix: &str| format!(":put [/ipv6 route get [find dst-address={prefix}] gateway]");
    assert_eq!(rig.console(&gateway("2001:db8:8::/48")).trim(), "fe80::8%ether2");
    rig.console_comes_to(&gateway("2001:db8:68::/48"), "2001:db8:1::2;2001:db8:2::2");
    sh(&rig.r, "ip route del 2001:db8:68::/48 via 2001:db8:1::2");
    rig.console_comes_to(&gateway("2001:db8:68::/48"), "2001:db8:2::2");
    let elsewhere = "/ipv6 route print count-only where unreachable active distance=255";
    // The network of the cable, and what lies behind it.
    rig.console_comes_to(elsewhere, "2");
    sh(&rig.a, "ping -q -c 3 -i 0.05 -w 30 2001:db8:7::1");

    // A link takes its routes out of use, and gives them back.
    let active = "/ipv6 route print count-only where dynamic active dst-address=2001:db8:7::/48";
    sh(&rig.b, "ip link set b0 down");
    rig.console_comes_to(active, "0");
    sh(&rig.b, "ip link set b0 up; ip address replace 2001:db8:2::2/64 dev b0 nodad");
    sh(&rig.b, "ip route replace default via 2001:db8:2::1; ip route replace default via 10.0.2.1");
    sh(&rig.r, "ip route replace 2001:db8:7::/48 via 2001:db8:2::2");
    rig.console_comes_to(active, "1");
    sh(&rig.a, "ping -q -c 3 -i 0.05 -w 30 2001:db8:7::1");

    let routes = (0..ROUTES).map(|n| format!("route 2001:db8:{:x}::/48 blackhole;", 0xa000 + n));
    let six = |config: &str| config.replace("ipv4", "ipv6").replace("10.0.2.2", "2001:db8:2::2");
    let routes: String = routes.collect();
    let there = Bird::start(&far, rig.home(), "far", &six(FAR).replace("ROUTES", &routes));
    let here = Bird::start(&rig.r, rig.home(), "near", &six(NEAR));
    let fed = "/ipv6 route print count-only where dynamic active distance=20";
    rig.console_comes_to_or(fed, &ROUTES.to_string(), || here.says("show protocols all peer"));
    sh(&rig.a, "ping -q -c 3 -i 0.05 -w 30 2001:db8:a000::1");
    there.says("disable learnt");
    rig.console_comes_to(fed, "0");

    // Neighbours.
    let mac = |last: &str| {
        format!(":put [/ipv6 neighbor get [find address=2001:db8:1::{last}] mac-address]")
    };
    let kernel = |rig: &Rig, words: &str| sh(&rig.r, &format!("ip neighbour {words}"));
    kernel(&rig, "replace 2001:db8:1::77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent");
    rig.console_comes_to(&mac("77"), "02:00:00:00:00:77");
    kernel(&rig, "replace 2001:db8:1::77 lladdr 02:00:00:00:00:78 dev eth1 nud permanent");
    rig.console_comes_to(&mac("77"), "02:00:00:00:00:78");
    kernel(&rig, "del 2001:db8:1::77 dev eth1");
    rig.console_comes_to("/ipv6 neighbor print count-only where address=2001:db8:1::77", "0");
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// Addresses of both families on the ports and behind them, networks of them at the far ends.
fn of_both_families(rig: &Rig) {
    for (at, name) in [(&rig.r, "eth1"), (&rig.r, "eth2"), (&rig.a, "a0"), (&rig.b, "b0")] {
        sh(at, &format!("echo 0 >/proc/sys/net/ipv6/conf/{name}/disable_ipv6"));
    }
    sh(
        &rig.r,
        "for n in 1 2; do
             ip address add 2001:db8:$n::1/64 dev eth$n nodad; ip address add 10.0.$n.1/24 dev eth$n
         done",
    );
    for (at, n, name) in [(&rig.a, 1, "a0"), (&rig.b, 2, "b0")] {
        sh(
            at,
            &format!(
                "ip address add 2001:db8:{n}::2/64 dev {name} nodad
                 ip route add default via 2001:db8:{n}::1
                 ip link set lo up; ip address add 172.16.7.{n}/32 dev lo
                 ip address add 2001:db8:7::{n}/128 dev lo nodad"
            ),
        );
    }
}

/// The router, with addresses of both families.
fn start_with_both(rig: &mut Rig) {
    rig.start(&[XDP, &["--kernel-routes"]].concat());
    for n in [1, 2] {
        rig.console(&format!("/ipv6 address add address=2001:db8:{n}::1/64 interface=ether{n} advertise=no no-dad=yes"));
    }
}

fn pinged(rig: &Rig, address: &str) {
    sh(&rig.a, &format!("ping -q -c 3 -i 0.05 -w 30 {address}"));
}

fn unreachable(rig: &Rig, address: &str) {
    let said = sh(&rig.a, &format!("ping -q -c 1 -w 1 {address} || true"));
    assert!(said.contains(" 0 received"), "{said}");
}

/// The kernel's rules of both families are the router's, behind its own; what they look at that the router's
/// cannot is said.
#[test]
fn the_kernels_rules_are_the_routers() {
    let Some(mut rig) = Rig::new("rules", &["ping"]) else { return };
    of_both_families(&rig);
    sh(
        &rig.r,
        "ip route add 172.16.7.0/24 via 10.0.2.2 table 100
         ip route add 2001:db8:7::/64 via 2001:db8:2::2 table 100
         ip rule add from 10.0.1.0/24 iif eth1 lookup 100 pref 100
         ip rule add fwmark 1 lookup 101 pref 90
         ip rule add iif lo lookup 102 pref 80",
    );
    start_with_both(&mut rig);
    let rules = "/routing rule print count-only where dynamic";
    rig.console_comes_to(rules, "1");
    assert_eq!(rig.console(":put [/routing rule get [find dynamic] table]").trim(), "100");
    let both = ["172.16.7.2", "2001:db8:7::2"];
    rig.console_comes_to("/ip route print count-only where dynamic active routing-mark=100", "1");
    pinged(&rig, both[0]);
    unreachable(&rig, both[1]);
    let said = rig.console("/log print");
    assert!(said.contains("the kernel's rule 90 of IPv4 is not followed: fwmark"), "{said}");

    // They come, change and go as the kernel's do.
    sh(&rig.r, "ip -6 rule add from 2001:db8:1::/64 lookup 100 pref 100");
    rig.console_comes_to(rules, "2");
    pinged(&rig, both[1]);
    sh(
        &rig.r,
        "ip rule add to 172.16.7.0/24 blackhole pref 50; ip -6 rule add to 2001:db8:7::/64 prohibit pref 50",
    );
    rig.console_comes_to(rules, "4");
    both.iter().for_each(|address| unreachable(&rig, address));
    // The router's own come first.
    rig.console("/routing rule add table=100");
    both.iter().for_each(|address| pinged(&rig, address));
    rig.console("/routing rule remove [find !dynamic]");
    sh(&rig.r, "ip rule del pref 50; ip -6 rule del pref 50");
    rig.console_comes_to(rules, "2");
    both.iter().for_each(|address| pinged(&rig, address));
    sh(&rig.r, "ip rule flush; ip -6 rule flush");
    rig.console_comes_to(rules, "0");
    both.iter().for_each(|address| unreachable(&rig, address));
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// Tables beside main, of both families: that of a number or of a name is the router's of that name, which
/// marks and rules ask.
#[test]
fn the_kernels_tables_are_the_routers() {
    let Some(mut rig) = Rig::new("tables", &["ping"]) else { return };
    of_both_families(&rig);
    sh(
        &rig.r,
        "ip route add 172.16.7.0/24 via 10.0.2.2 table 100
         ip route add 2001:db8:7::/64 via 2001:db8:2::2 table 100
         ip route add blackhole 172.16.7.0/24 table 200
         ip route add 172.16.9.0/24 via 10.0.2.2 table 300",
    );
    start_with_both(&mut rig);
    let four = "/ip route print count-only where dynamic active static routing-mark=";
    let six = "/ipv6 route print count-only where dynamic active static routing-table=";
    assert_eq!(rig.console(&format!("{four}100")).trim(), "0", "nobody speaks of it");
    rig.console("/routing table add name=100; /routing table add name=200");
    rig.console_comes_to(&format!("{four}100"), "1");
    rig.console_comes_to(&format!("{six}100"), "1");
    rig.console_comes_to(&format!("{four}200"), "1");
    let gateway = ":put [/ip route get [find dst-address=172.16.7.0/24 routing-mark=100] gateway]";
    assert_eq!(rig.console(gateway).trim(), "10.0.2.2");
    unreachable(&rig, "172.16.7.2");
    unreachable(&rig, "2001:db8:7::2");

    // A rule, and marks.
    rig.console("/routing rule add src-address=10.0.1.0/24 action=lookup table=100");
    let mark = "add chain=prerouting in-interface=ether1 action=mark-routing new-routing-mark=100";
    rig.console(&format!("/ipv6 firewall mangle {mark}"));
    for address in ["172.16.7.2", "2001:db8:7::2"] {
        sh(&rig.a, &format!("ping -q -c 3 -i 0.05 -w 30 {address}"));
    }

    // They change and go as the kernel's do: by a word, with a link, with an address.
    sh(&rig.r, "ip route add blackhole 172.16.8.0/24 table 100; ip route flush table 200");
    rig.console_comes_to(&format!("{four}100"), "2");
    rig.console_comes_to(&format!("{four}200"), "0");
    sh(&rig.b, "ip link set b0 down");
    rig.console_comes_to(&format!("{four}100"), "1");
    rig.console_comes_to(&format!("{six}100"), "0");
    sh(&rig.b, "ip link set b0 up; ip address replace 2001:db8:2::2/64 dev b0 nodad");
    sh(&rig.b, "ip route replace default via 2001:db8:2::1; ip route replace default via 10.0.2.1");
    sh(&rig.r, "ip route replace 2001:db8:7::/64 via 2001:db8:2::2 table 100");
    rig.console_comes_to(&format!("{four}100"), "2");
    rig.console_comes_to(&format!("{six}100"), "1");
    for address in ["172.16.7.2", "2001:db8:7::2"] {
        sh(&rig.a, &format!("ping -q -c 3 -i 0.05 -w 30 {address}"));
    }
    sh(&rig.r, "ip address del 10.0.2.1/24 dev eth2");
    rig.console_comes_to(&format!("{four}100"), "1");
    unreachable(&rig, "172.16.7.2");
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// Bird's own part on a port: the kernel has an address there that is not the router's.
const ROUTER: &str = "
router id 10.0.1.9;
protocol device { scan time 1; }
protocol direct { ipv4; interface \"eth2\"; }
protocol kernel { ipv4 { import none; export filter { if source != RTS_DEVICE then accept; reject; }; }; }
protocol ospf v2 inner {
    ipv4 { import all; export where source = RTS_DEVICE; };
    area 0 { interface \"eth1\" { type broadcast; hello 1; dead 60; }; };
}
protocol bgp outer {
    local 10.0.1.9 as 65000;
    neighbor 10.0.1.2 as 65001;
    connect delay time 1; connect retry time 1; error wait time 1, 2;
    ipv4 { import all; export none; };
}
";
const HOST: &str = "
router id 10.0.1.2;
protocol device { scan time 1; }
protocol static near { ipv4; route 172.16.7.1/32 via \"lo\"; }
protocol static far { ipv4; route 172.16.8.1/32 via \"lo\"; }
protocol kernel { ipv4 { import none; export where source = RTS_OSPF || source = RTS_OSPF_EXT1 || source = RTS_OSPF_EXT2; }; }
protocol ospf v2 inner {
    ipv4 { import all; export where proto = \"near\"; };
    area 0 { interface \"a0\" { type broadcast; hello 1; dead 60; }; };
}
protocol bgp outer {
    local 10.0.1.2 as 65001;
    neighbor 10.0.1.9 as 65000;
    connect delay time 1; connect retry time 1; error wait time 1, 2;
    ipv4 { import none; export where proto = \"far\"; };
}
";

/// OSPF and BGP sessions with a neighbour behind a port by AF_XDP: what is for the kernel's address
/// there goes to it, and what it learns leads through the router.
#[test]
fn a_routing_daemon_has_neighbours_behind_a_port() {
    for backend in ["xdp", "packet"] {
        let Some(rig) = Rig::new(&format!("ospf-{backend}"), &["ping", "bird", "birdc", "sysctl"])
        else {
            return;
        };
        has_neighbours(rig, backend);
    }
}

fn has_neighbours(mut rig: Rig, backend: &str) {
    sh(&rig.r, "ip address add 10.0.1.9/24 dev eth1; ip address add 10.0.2.9/24 dev eth2");
    // What is not the kernel's it cannot forward once more.
    sh(&rig.r, "sysctl -qw net.ipv4.ip_forward=1");
    let ports = [1, 2].map(|n| format!("ether{n}={backend}:eth{n}"));
    let ports = ["--port", &ports[0], "--port", &ports[1], "--kernel-routes"];
    sh(&rig.a, "ip link set lo up; ip route del default");
    sh(&rig.a, "for n in 7 8; do ip address add 172.16.$n.1/32 dev lo; done");
    rig.start(&ports);
    assert!(rig.out().contains("the kernel's addresses left to it"), "{}", rig.out());
    rig.says("ether1: to the kernel goes what is for its addresses at eth1: 10.0.1.9");
    // Each address has its owner, who answers for it.
    sh(&rig.a, "ip route add 10.0.2.0/24 via 10.0.1.1");
    for address in ["10.0.1.1", "10.0.1.9", "10.0.2.2"] {
        let said = sh(&rig.a, &format!("ping -q -c 3 -i 0.05 -w 30 {address}"));
        assert!(said.contains(" received") && !said.contains("duplicates"), "{address}\n{said}");
    }
    sh(&rig.a, "ip route del 10.0.2.0/24 via 10.0.1.1");
    let here = Bird::start(&rig.r, rig.home(), "here", ROUTER);
    let there = Bird::start(&rig.a, rig.home(), "there", HOST);
    for (prefix, protocol) in [("172.16.7.1/32", "OSPF"), ("172.16.8.1/32", "BGP")] {
        let line = format!("/ip route print count-only where dynamic active dst-address={prefix}");
        rig.console_comes_to_or(&line, "1", || {
            format!("{protocol}\n{}\n{}", here.says("show protocols"), there.says("show protocols"))
        });
    }
    // Host b reaches what OSPF and BGP have told of, and host a has its way there by OSPF.
    for address in ["172.16.7.1", "172.16.8.1"] {
        sh(&rig.b, &format!("ping -q -c 3 -i 0.05 -w 60 {address}"));
    }
    let forwarded = rig.console(":put [/interface get ether1 tx-packet]");
    assert!(forwarded.trim().replace(' ', "").parse::<u64>().is_ok_and(|n| n >= 6), "{forwarded}");
    there.says("disable near");
    let line = "/ip route print count-only where dynamic dst-address=172.16.7.1/32";
    rig.console_comes_to(line, "0");
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// The same by IPv6: OSPFv3, whose neighbours have addresses of the link, and BGP.
#[test]
fn a_routing_daemon_has_neighbours_behind_a_port_by_ipv6() {
    for backend in ["xdp", "packet"] {
        let programs = ["ping", "bird", "birdc", "sysctl"];
        let Some(rig) = Rig::new(&format!("ospf6-{backend}"), &programs) else { return };
        has_neighbours_by_ipv6(rig, backend);
    }
}

/// A configuration of bird for IPv4, of which these words are IPv6's.
fn of_ipv6(config: &str) -> String {
    let mut six = config.to_string();
    for (four, word) in [
        ("router id 10.0.", "ROUTER"),
        ("ospf v2", "ospf v3"),
        ("ipv4", "ipv6"),
        ("10.0.1.", "2001:db8:1::"),
        ("172.16.7.1/32", "2001:db8:7::1/128"),
        ("172.16.8.1/32", "2001:db8:8::1/128"),
        ("ROUTER", "router id 10.0."),
    ] {
        six = six.replace(four, word);
    }
    six
}

fn has_neighbours_by_ipv6(mut rig: Rig, backend: &str) {
    // The kernel's address of the link is not the one that the router makes of the same MAC address.
    sh(
        &rig.r,
        "for n in 1 2; do
             sysctl -qw net.ipv6.conf.eth$n.addr_gen_mode=1 net.ipv6.conf.eth$n.disable_ipv6=0
             ip address add 2001:db8:$n::9/64 dev eth$n nodad
         done
         ip address add fe80::9/64 dev eth1 nodad
         sysctl -qw net.ipv6.conf.all.forwarding=1",
    );
    for (at, n, name) in [(&rig.a, 1, "a0"), (&rig.b, 2, "b0")] {
        sh(
            at,
            &format!(
                "sysctl -qw net.ipv6.conf.{name}.addr_gen_mode=0 net.ipv6.conf.{name}.disable_ipv6=0
                 ip address add 2001:db8:{n}::2/64 dev {name} nodad; ip link set lo up"
            ),
        );
    }
    sh(&rig.b, "ip route add default via 2001:db8:2::1");
    sh(&rig.a, "for n in 7 8; do ip address add 2001:db8:$n::1/128 dev lo nodad; done");
    let ports = [1, 2].map(|n| format!("ether{n}={backend}:eth{n}"));
    rig.start(&["--port", &ports[0], "--port", &ports[1], "--kernel-routes"]);
    rig.says("ether1: to the kernel goes what is for its addresses at eth1: ");
    for n in [1, 2] {
        rig.console(&format!("/ipv6 address add address=2001:db8:{n}::1/64 interface=ether{n} advertise=no no-dad=yes"));
    }
    // Each address has its owner, who answers for it.
    for address in ["2001:db8:1::1", "2001:db8:1::9"] {
        let said = sh(&rig.a, &format!("ping -q -c 3 -i 0.05 -w 30 {address}"));
        assert!(said.contains(" received") && !said.contains("duplicates"), "{address}\n{said}");
    }
    let here = Bird::start(&rig.r, rig.home(), "here", &of_ipv6(ROUTER));
    let there = Bird::start(&rig.a, rig.home(), "there", &of_ipv6(HOST));
    for (prefix, protocol) in [("2001:db8:7::1/128", "OSPF"), ("2001:db8:8::1/128", "BGP")] {
        let line =
            format!("/ipv6 route print count-only where dynamic active dst-address={prefix}");
        rig.console_comes_to_or(&line, "1", || {
            format!("{protocol}\n{}\n{}", here.says("show protocols"), there.says("show protocols"))
        });
    }
    // Host b reaches what OSPF and BGP have told of, and host a has its way there by OSPF.
    for address in ["2001:db8:7::1", "2001:db8:8::1"] {
        sh(&rig.b, &format!("ping -q -c 3 -i 0.05 -w 60 {address}"));
    }
    there.says("disable near");
    let line = "/ipv6 route print count-only where dynamic dst-address=2001:db8:7::1/128";
    rig.console_comes_to(line, "0");
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}
