//! Nothing is allocated per packet: a counting allocator says so, for each way through the router,
//! slow and fast. And not for all rules of a table when one of them changes.

mod rig;

use rig::{Rig, mac, own_mac};
use wire::craft::{self, ip};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2\n";

const RULES: &str = "/ip firewall filter
add chain=forward src-address=172.16.0.0/24 action=drop
add chain=forward protocol=tcp dst-port=80,443 action=drop
add chain=forward action=jump jump-target=own
add chain=own packet-size=0-1400\n";

const CASES: &[(&str, &str)] = &[
    ("plain routing", ""),
    ("tracking", "/ip firewall connection tracking set enabled=yes\n"),
    ("rules", RULES),
    ("masquerade", "/ip firewall nat add chain=srcnat action=masquerade\n"),
    ("queues", "/queue simple add target=10.0.1.0/24 max-limit=1G/1G\n"),
    (
        "fasttrack",
        "/ip firewall filter add chain=forward action=fasttrack-connection \
         connection-state=established\n",
    ),
];

#[test]
fn nothing_is_allocated_per_packet() {
    for &(name, script) in CASES {
        for reference in [false, true] {
            check(name, &format!("{NETS}{script}"), reference);
        }
    }
}

/// One rule of thousands that changes is compiled without the others.
#[test]
fn a_rule_that_changes_leaves_the_others_alone() {
    let rule = |n: u32| {
        let net = format!("10.{}.{}.0/24", n / 250, n % 250);
        format!("add chain=forward protocol=udp dst-address={net} dst-port={n} action=drop\n")
    };
    let rules: String = (1..=4000).map(rule).collect();
    let mut rig = Rig::new(2, &format!("/ip firewall filter\n{rules}"));
    let mut compiler = rig.router.take_compiler();
    for line in [
        "set 5 dst-port=7",
        "add chain=forward protocol=tcp action=drop place-before=9",
        "remove 100",
        "disable 7",
    ] {
        let line = format!("/ip firewall filter {line}");
        rig.console.run(&line, &rig.router.status(rig.now)).unwrap();
        let mut change = None;
        let compiles = || change = Some(compiler.compile(rig.console.tree()));
        let allocated = allocation_counter::measure(compiles).count_total;
        // Compiled whole, each rule takes some.
        assert!(allocated < 3000, "{line}: {allocated} allocations");
        let mut change = change.unwrap();
        rig.router.apply(&mut change, rig.now).unwrap();
        compiler.taken_over(change);
    }
}

fn check(name: &str, script: &str, reference: bool) {
    let mut rig = Rig::new(2, script);
    rig.router.set_reference(reference);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    let there = |n: u16| craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        ..craft::udp(ip(10, 0, 1, 1), 1000 + n % 20, ip(10, 0, 2, 1), 53)
    };
    let masqueraded = script.contains("masquerade");
    let client = if masqueraded { ip(10, 0, 2, 254) } else { ip(10, 0, 1, 1) };
    let back = |n: u16| craft::Frame {
        src_mac: mac(2),
        dst_mac: own_mac(2),
        ..craft::udp(ip(10, 0, 2, 1), 53, client, 1000 + n % 20)
    };
    let round = |rig: &mut Rig| -> u64 {
        let mut allocated = 0;
        for n in 0..100 {
            rig.send(1, &there(n).build());
            rig.send(2, &back(n).build());
            allocated += allocation_counter::measure(|| rig.breathe()).count_total;
            let out = rig.take(1).len() + rig.take(2).len();
            assert_eq!(out, 2, "{name}: {:?}", rig.router.discards());
        }
        allocated
    };
    round(&mut rig); // tables grow to the size the traffic needs
    round(&mut rig);
    let allocated = round(&mut rig);
    assert_eq!(allocated, 0, "{name}, reference {reference}: allocations for 200 packets");
}
