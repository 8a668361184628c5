//! Changes one after the other lead where the last configuration alone would have led; and
//! whatever is changed, each rule and queue has counted its own packets, no more and no less.

use crate::rig::{Rig, mac, own_mac};
use proptest::prelude::*;
use proptest::sample::select;
use router::ip::route::Target;
use std::time::Duration;
use wire::Ipv4Prefix;
use wire::craft::{self, ip};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
add address=10.0.3.254/24 interface=bridge1\n";

/// A line that somebody may type; one that does not fit what is there is refused, and that is all.
fn line() -> impl Strategy<Value = String> {
    const LINES: &[&str] = &[
        "/ip firewall filter add chain=forward src-address-list=some action=drop",
        "/ip firewall filter add chain=forward dst-port=80 protocol=udp action=passthrough",
        "/ip firewall filter add chain=forward action=jump jump-target=own",
        "/ip firewall filter add chain=own in-interface=ether1 action=accept",
        "/ip firewall filter add chain=own action=drop dst-address=10.0.2.2",
        "/ip firewall filter add chain=forward limit=1,2:packet action=accept place-before=0",
        "/ip firewall filter remove 0",
        "/ip firewall filter remove [find]",
        "/ip firewall filter move 0 1",
        "/ip firewall filter disable 0",
        "/ip firewall filter enable [find]",
        "/ip firewall filter set 0 src-port=1000",
        "/ip firewall filter set 0 comment=only",
        "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade",
        "/ip firewall nat add chain=dstnat dst-address=10.0.2.9 action=dst-nat to-addresses=10.0.2.1",
        "/ip firewall nat remove [find]",
        "/ip firewall address-list add list=some address=10.0.1.2",
        "/ip firewall address-list add list=some address=10.0.1.3",
        "/ip firewall address-list remove [find]",
        "/ip firewall connection tracking set enabled=no",
        "/ip firewall connection tracking set enabled=auto",
        "/queue simple add target=10.0.1.1/32 max-limit=8k/8k bucket-size=0/0",
        "/queue simple add target=10.0.1.0/24 max-limit=64k/64k bucket-size=0.01/0.01",
        "/queue simple add target=ether1 place-before=0",
        "/queue simple set 0 max-limit=1M/1M",
        "/queue simple set 0 target=10.0.2.1/32",
        "/queue simple disable 0",
        "/queue simple enable [find]",
        "/queue simple remove 0",
        "/ip route add dst-address=10.9.0.0/16 gateway=10.0.2.1",
        "/ip route add dst-address=10.9.0.0/16 gateway=10.0.2.2 distance=3",
        "/ip route remove [find dst-address=10.9.0.0/16]",
        "/ip address disable [find interface=ether2]",
        "/ip address enable [find]",
        "/ip arp add address=10.0.2.7 mac-address=06:00:00:00:00:77 interface=ether2",
        "/ip arp remove [find]",
        "/interface ethernet disable ether3",
        "/interface ethernet enable ether3",
        "/interface ethernet set ether2 mtu=1000",
        "/interface bridge port add bridge=bridge1 interface=ether3",
        "/interface bridge port remove [find interface=ether3]",
        "/interface bridge filter add chain=forward action=drop dst-port=80 ip-protocol=udp mac-protocol=ip",
        "/interface bridge filter remove [find]",
        "/ip settings set ip-forward=no",
        "/ip settings set ip-forward=yes allow-fast-path=no",
    ];
    select(LINES).prop_map(String::from)
}

fn fresh() -> Rig {
    Rig::new(4, &format!("/interface bridge add name=bridge1 protocol-mode=none\n{NETS}"))
}

/// What is shown of a configuration that no packet has met yet.
fn shown(rig: &mut Rig) -> Vec<String> {
    const PRINTS: &[&str] = &[
        "/interface ethernet print",
        "/interface bridge port print",
        "/interface bridge filter print",
        "/ip address print",
        "/ip arp print",
        "/ip route print detail",
        "/ip settings print",
        "/ip firewall filter print",
        "/ip firewall nat print",
        "/queue simple print",
    ];
    PRINTS.iter().map(|print| rig.run(print)).collect()
}

/// What the packets have left behind. Not the queues' rates: at which moment of a second a queue is
/// sampled depends on its place.
fn state(rig: &mut Rig) -> Vec<String> {
    let rates = |line: String| match line.split_once(": [LeafStats") {
        Some((queue, stats)) => {
            let stats: Vec<&str> =
                stats.split(", ").filter(|word| !word.contains("rate:")).collect();
            format!("{queue}: {}", stats.join(", "))
        }
        None => line,
    };
    rig.state().into_iter().map(rates).collect()
}

/// Packets from everybody to everybody.
fn traffic(rig: &mut Rig) -> Vec<(usize, Vec<u8>)> {
    let mut out = Vec::new();
    // A larger bucket is not full at once, a new one is: let both be.
    rig.wait(Duration::from_secs(1));
    for round in 0..3u16 {
        for (port, from) in [(1u8, 1u8), (1, 2), (2, 1), (2, 2), (3, 1), (4, 1)] {
            let src = ip(10, 0, port.min(3), from + (port / 4) * 8);
            for dst in [ip(10, 0, 1, 1), ip(10, 0, 2, 1), ip(10, 0, 2, 9), ip(10, 9, 0, 1)] {
                let frame = craft::udp(src, 1000 + round / 2, dst, 80);
                let dst_mac = own_mac(port);
                let frame = craft::Frame { src_mac: mac(port * 16 + from), dst_mac, ..frame };
                out.extend(rig.pass(port.into(), &frame.build()));
            }
        }
        rig.wait(Duration::from_millis(700));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..Default::default() })]

    #[test]
    fn many_changes_are_as_one(lines in prop::collection::vec(line(), 1..20)) {
        let mut step_by_step = fresh();
        for line in &lines {
            let _ = step_by_step.try_run(line);
        }
        let mut at_once = fresh();
        *at_once.console.tree_mut() = step_by_step.console.tree().clone();
        let tree = at_once.console.tree().clone();
        at_once.router.configure(&tree, at_once.now).unwrap();
        prop_assert_eq!(shown(&mut step_by_step), shown(&mut at_once), "{:#?}", lines);
        let out = [traffic(&mut step_by_step), traffic(&mut at_once)];
        prop_assert_eq!(&out[0], &out[1], "{:#?}", lines);
        prop_assert_eq!(state(&mut step_by_step), state(&mut at_once), "{:#?}", lines);
        prop_assert_eq!(shown(&mut step_by_step), shown(&mut at_once), "{:#?}", lines);
    }
}

/// What is done to a list of rules and queues, each for packets of one host.
#[derive(Clone, Copy, Debug)]
enum Step {
    AddRule(u8),
    RemoveRule(u8),
    EditRule(u8, u8),
    AddQueue(u8),
    RemoveQueue(u8),
    Comment,
    /// So many packets of each host.
    Send(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..8u8).prop_map(Step::AddRule),
        2 => any::<u8>().prop_map(Step::RemoveRule),
        1 => (any::<u8>(), 0..8u8).prop_map(|(at, host)| Step::EditRule(at, host)),
        1 => (0..8u8).prop_map(Step::AddQueue),
        1 => any::<u8>().prop_map(Step::RemoveQueue),
        1 => Just(Step::Comment),
        6 => (1..4u8).prop_map(Step::Send),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..Default::default() })]

    /// The model: a rule counts all packets of its host, a queue those of its host if it is the
    /// first for it.
    #[test]
    fn everybody_counts_his_own(steps in prop::collection::vec(step(), 1..40)) {
        let mut rig = fresh();
        // Without tracking a flow has its recipe from the first packet on.
        rig.run("/ip firewall connection tracking set enabled=no");
        rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
        // By item: its host, its packets.
        let mut rules: Vec<(u8, u64)> = Vec::new();
        let mut queues: Vec<(u8, u64)> = Vec::new();
        for step in &steps {
            let n_rules = rules.len();
            match *step {
                Step::AddRule(host) => {
                    rules.push((host, 0));
                    rig.run(&format!("/ip firewall filter add chain=forward src-address=10.0.1.{} action=passthrough", host + 1));
                }
                Step::RemoveRule(at) if n_rules > 0 => {
                    let at = usize::from(at) % n_rules;
                    rules.remove(at);
                    rig.run(&format!("/ip firewall filter remove {at}"));
                }
                Step::EditRule(at, host) if n_rules > 0 => {
                    let at = usize::from(at) % n_rules;
                    rules[at].0 = host;
                    rig.run(&format!("/ip firewall filter set {at} src-address=10.0.1.{}", host + 1));
                }
                Step::AddQueue(host) => {
                    queues.push((host, 0));
                    rig.run(&format!("/queue simple add target=10.0.1.{}/32 max-limit=100M/100M", host + 1));
                }
                Step::RemoveQueue(at) if !queues.is_empty() => {
                    let at = usize::from(at) % queues.len();
                    queues.remove(at);
                    rig.run(&format!("/queue simple remove {at}"));
                }
                Step::Comment if n_rules > 0 => {
                    rig.run("/ip firewall filter set 0 comment=words");
                }
                Step::Send(n) => {
                    for host in (0..8u8).flat_map(|host| (0..n).map(move |_| host)) {
                        let frame = craft::udp(ip(10, 0, 1, host + 1), 1000, ip(10, 0, 2, 1), 80);
                        let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame };
                        prop_assert_eq!(rig.pass(1, &frame.build()).len(), 1, "{:?}", steps);
                        for rule in rules.iter_mut().filter(|rule| rule.0 == host) {
                            rule.1 += 1;
                        }
                        if let Some(queue) = queues.iter_mut().find(|queue| queue.0 == host) {
                            queue.1 += 1;
                        }
                    }
                }
                _ => {}
            }
            let tree = rig.console.tree().clone();
            let counted = rig.router.rule_counts("/ip firewall filter", &tree);
            let counted: Vec<u64> = counted.iter().map(|count| count.packets).collect();
            let wanted: Vec<u64> = rules.iter().map(|rule| rule.1).collect();
            prop_assert_eq!(counted, wanted, "rules after {:?} of {:?}", step, steps);
            let counted = rig.router.queue_stats(&tree);
            let counted: Vec<u64> = counted.iter().map(|[upload, _]| upload.packets).collect();
            let wanted: Vec<u64> = queues.iter().map(|queue| queue.1).collect();
            prop_assert_eq!(counted, wanted, "queues after {:?} of {:?}", step, steps);
        }
    }
}

#[test]
fn a_change_that_is_refused_leaves_everything_as_it_was() {
    let mut rig = fresh();
    rig.run("/ip firewall filter add chain=forward action=passthrough");
    // All numbers that there are: fed behind as many pairs of gateways as can be, and then one of each pair.
    let (ether1, ether2) = (rig.ether(1), rig.ether(2));
    let pair = |n: u32| Target::Gateways(vec![(ether1, n), (ether2, n)]);
    let routes = (1..65_535).map(|n| (Ipv4Prefix::host(0x0b00_0000 + n), pair(n)));
    rig.router.feed_routes(routes.collect::<Vec<_>>()).unwrap();
    rig.run("/interface ethernet disable ether1");
    rig.run("/interface ethernet enable ether1");
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    let before = rig.state();
    let tree = rig.console.tree().clone();
    let script = "/ip firewall filter add chain=forward action=drop place-before=0\n\
                  /queue simple add target=10.0.1.0/24 max-limit=1k/1k\n\
                  /ip route add dst-address=10.9.0.0/16 gateway=10.0.2.77";
    rig.console.run(script, &()).unwrap();
    assert!(rig.router.configure(rig.console.tree(), rig.now).is_err());
    *rig.console.tree_mut() = tree;
    assert_eq!(rig.state(), before);
    let frame = craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 80);
    let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame };
    assert_eq!(rig.pass(1, &frame.build()).len(), 1, "not dropped");
    rig.run("/ip firewall filter add chain=forward action=drop place-before=0");
    assert_eq!(rig.pass(1, &frame.build()), [], "the next change is taken over");
}

/// What ends with its interface says so by the interfaces as they still were: the bridge below a VLAN was
/// gone already, and the router with it (the swarm's seed 2127).
#[test]
fn who_takes_leave_does_so_by_what_was_there() {
    const BRIDGE: &str = "/interface bridge add name=b protocol-mode=none
        /interface bridge port add bridge=b interface=ether1
        /interface vlan add name=v interface=b vlan-id=5\n";
    #[rustfmt::skip]
    let cases = [
        ("/ipv6 address add address=2001:db8::1/64 interface=v", "/interface bridge disable b", 0x86dd_u16),
        ("/ipv6 address add address=2001:db8::1/64 interface=b", "/interface bridge disable b", 0x86dd),
        ("/ipv6 address add address=2001:db8::1/64 interface=v", "/interface vlan disable v", 0x86dd),
        ("/ip address add address=10.9.0.1/24 interface=v; /interface vrrp add name=r interface=v",
         "/interface bridge disable b", 0x0800),
        ("/ip address add address=10.9.0.1/24 interface=b; /interface vrrp add name=r interface=b",
         "/interface bridge disable b", 0x0800),
        ("/ip address add address=10.9.0.1/24 interface=b; /interface vrrp add name=r interface=b",
         "/interface bridge port disable [find]; /interface bridge disable b", 0x0800),
    ];
    for (script, change, ether_type) in cases {
        let mut rig = Rig::new(1, &format!("{BRIDGE}{script}"));
        rig.wait(Duration::from_secs(10));
        rig.take(1);
        rig.run(change);
        rig.breathe();
        let last = rig.take(1);
        let of = |frame: &Vec<u8>| {
            let tagged = frame[12..14] == [0x81, 0];
            let at = if tagged { 16 } else { 12 };
            u16::from_be_bytes([frame[at], frame[at + 1]])
        };
        assert!(
            last.iter().any(|frame| of(frame) == ether_type),
            "{script}, {change}: {last:02x?}"
        );
        assert_eq!(rig.frames_in_use(), 0, "{script}, {change}");
        assert!(rig.router.frames().balance(), "{script}, {change}");
    }
}

/// What a flow has forgotten names no queue, though there are so many that they are asked for ahead: neither a
/// connection's that has got its answer, nor a new one's.
#[test]
fn a_connection_through_no_queue_of_many() {
    let queues: String = (0..1100)
        .map(|n| format!("add target=172.16.{}.{}/32 max-limit=1M/1M\n", n / 250, 1 + n % 250))
        .collect();
    let mut rig = Rig::new(
        2,
        &format!(
            "/ip address add address=10.0.1.254/24 interface=ether1
             /ip address add address=10.0.2.254/24 interface=ether2
             /queue type add name=fair kind=fq-codel
             /queue simple\nadd target=172.17.0.1/32 max-limit=1M/1M queue=fair/fair\n{queues}"
        ),
    );
    let (here, there) = (ip(10, 0, 1, 1), ip(10, 0, 2, 1));
    let frame = |port: u8, src, src_port, dst, dst_port| {
        let (src_mac, dst_mac) = (mac(port * 16 + 1), own_mac(port));
        craft::Frame { src_mac, dst_mac, ..craft::udp(src, src_port, dst, dst_port) }.build()
    };
    rig.run("/ip firewall connection tracking set enabled=yes");
    rig.run("/ip arp add address=10.0.1.1 mac-address=06:00:00:00:00:11 interface=ether1");
    rig.run("/ip arp add address=10.0.2.1 mac-address=06:00:00:00:00:21 interface=ether2");
    // What is kept of the first ones is forgotten with the answer.
    for (port, times) in [(1, 3), (2, 1), (1, 3), (2, 3)] {
        for _ in 0..times {
            let there = if port == 1 {
                frame(1, here, 1000, there, 80)
            } else {
                frame(2, there, 80, here, 1000)
            };
            assert_eq!(rig.pass(port, &there).len(), 1);
        }
    }
    assert!(rig.router.path_counts().replayed > 0);
}
