//! First packets that go by the recipe of others of their class, where nothing is tracked.

use crate::rig::{Rig, mac, own_mac};
use wire::craft::{self, ip};

const NETS: &str = "/ip address\nadd address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip firewall connection tracking set enabled=no
/ip firewall address-list add list=some address=10.0.1.2
/queue type add name=fair kind=pcq pcq-classifier=src-address\n";

/// A packet: the last byte of its source, its ports, its TTL.
type Packet = (u8, [u16; 2], u8);

/// What is typed, a flow's first packet behind [`FIRST`], and whether it goes by the recipe of that.
type Case = (&'static str, Packet, bool);

const FIRST: Packet = (1, [1000, 80], 64);

const CASES: &[Case] = &[
    ("add chain=forward dst-port=22 protocol=tcp action=drop", (1, [1001, 80], 64), true),
    ("add chain=forward dst-port=22 protocol=tcp action=drop", (2, [7, 99], 9), true),
    ("add chain=forward dst-port=80 protocol=udp action=accept", (1, [1001, 80], 64), true),
    ("add chain=forward dst-port=80 protocol=udp action=accept", (1, [1001, 81], 64), false),
    ("add chain=forward dst-port=!80 protocol=udp action=drop", (1, [1001, 79], 64), false),
    ("add chain=forward src-address=10.0.1.2 action=drop", (2, [1000, 81], 64), false),
    ("add chain=forward src-address=10.0.1.2 action=drop", (3, [1000, 81], 64), false),
    ("add chain=forward src-address=10.0.1.0/24 action=accept", (3, [1000, 81], 64), true),
    // What a rule looks at beside its gate.
    ("add chain=forward src-address-list=some action=drop", (2, [1000, 80], 64), false),
    ("add chain=forward src-address-list=!some action=accept", (3, [1000, 80], 64), false),
    ("add chain=forward ttl=equal:64 action=accept", (2, [1000, 80], 63), false),
    (
        "add chain=forward per-connection-classifier=src-address:2/1 action=drop",
        (2, [1000, 80], 64),
        false,
    ),
    ("add chain=forward log=yes action=accept", (2, [1000, 80], 64), false),
    (
        "add chain=forward action=add-src-to-address-list address-list=seen",
        (3, [1000, 80], 64),
        false,
    ),
    // What a way depends on beside rules.
    ("add chain=forward\n/queue simple add target=10.0.1.2", (2, [1000, 80], 64), false),
    ("add chain=forward\n/ip settings set rp-filter=strict", (2, [1000, 80], 64), false),
    (
        "add chain=forward\n/ip route rule add src-address=10.0.1.3 action=drop",
        (3, [1000, 80], 64),
        false,
    ),
    ("add chain=forward", (254, [1000, 80], 64), false),
    ("add chain=forward", (2, [67, 68], 64), false),
    (
        "add chain=forward\n/ip firewall nat add chain=srcnat action=masquerade",
        (2, [1000, 80], 64),
        false,
    ),
    (
        "add chain=forward\n/ip firewall mangle add chain=postrouting action=mark-packet \
         new-packet-mark=m\n/queue tree add parent=global packet-mark=m max-limit=1M queue=fair",
        (2, [1000, 80], 64),
        false,
    ),
];

fn rig(script: &str, reference: bool) -> Rig {
    let mut rig = Rig::new(2, &format!("{NETS}/ip firewall filter\n{script}"));
    rig.router.set_reference(reference);
    for n in [1, 2] {
        rig.introduce(usize::from(n), mac(n), ip(10, 0, n, 1), ip(10, 0, n, 254));
    }
    rig
}

fn pass(rig: &mut Rig, (host, [src_port, dst_port], ttl): Packet) -> Vec<(usize, Vec<u8>)> {
    let plain = craft::udp(ip(10, 0, 1, host), src_port, ip(10, 0, 2, 1), dst_port);
    let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ttl, ..plain };
    rig.pass(1, &frame.build())
}

#[test]
fn by_the_class_of_what_rules_look_at() {
    for &(script, other, by_recipe) in CASES {
        let [(out, state, _), (fast_out, fast_state, replayed)] = [true, false].map(|reference| {
            let mut rig = rig(script, reference);
            let mut out = pass(&mut rig, FIRST);
            let before = rig.router.path_counts().replayed;
            out.extend(pass(&mut rig, other));
            let replayed = rig.router.path_counts().replayed - before;
            (out, rig.state(), replayed)
        });
        assert_eq!((fast_out, &fast_state), (out, &state), "{script}, {other:?}");
        assert_eq!(replayed == 1, by_recipe, "{script}, {other:?}: {replayed} {fast_state:#?}");
    }
}

/// Another address in a list, another rule, another way: what was known is of before.
#[test]
fn a_change_is_seen_by_the_next_first_packet() {
    for (change, arrives) in [
        (
            "/ip firewall filter add place-before=0 chain=forward src-address=10.0.1.3 action=drop",
            false,
        ),
        ("/ip firewall filter set 0 action=drop", false),
        ("/ip firewall connection tracking set enabled=yes", true),
        ("/ip address disable [find interface=ether2]", false),
        ("/ip route add dst-address=10.0.2.1/32 type=blackhole", false),
    ] {
        let mut rig = rig("add chain=forward action=accept src-address=10.0.1.0/24", false);
        let passed = [FIRST, (2, [5, 80], 64)].map(|packet| pass(&mut rig, packet).len());
        assert_eq!((passed, rig.router.path_counts().replayed), ([1, 1], 1), "{change}");
        rig.run(change);
        let out = pass(&mut rig, (3, [6, 80], 64));
        let arrived = out.iter().filter(|(port, _)| *port == 2).count();
        assert_eq!(arrived == 1, arrives, "{change}: {out:?}");
        assert_eq!(rig.router.path_counts().replayed, 1, "{change}");
    }
}
