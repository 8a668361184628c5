//! `/ip firewall address-list` while packets flow: entries of rules, entries with a timeout, and what
//! was learnt of flows whose addresses come into a list.

use crate::rig::{Rig, mac, own_mac};
use std::time::Duration;
use wire::craft::{self, Frame, ip};

const CLIENT: u32 = ip(10, 0, 1, 1);
const SERVER: u32 = ip(10, 0, 2, 1);

fn rig(script: &str, reference: bool) -> Rig {
    let nets = "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
                add address=10.0.2.254/24 interface=ether2\n";
    let mut rig = Rig::new(2, &format!("{nets}{script}"));
    rig.router.set_reference(reference);
    rig.introduce(1, mac(1), CLIENT, ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), SERVER, ip(10, 0, 2, 254));
    rig
}

/// Whether a datagram of the client to a port passes.
fn passes(rig: &mut Rig, port: u16) -> bool {
    let udp = craft::udp(CLIENT, 1000, SERVER, port);
    let frame = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp }.build();
    rig.pass(1, &frame).iter().any(|(port, _)| *port == 2)
}

#[test]
fn a_rule_adds_and_the_time_runs_out() {
    let script = "/ip firewall filter\n\
        add chain=forward action=drop src-address-list=bad\n\
        add chain=forward action=add-src-to-address-list address-list=bad \
        address-list-timeout=10s protocol=udp dst-port=23";
    for reference in [true, false] {
        let mut rig = rig(script, reference);
        assert!((0..10).all(|_| passes(&mut rig, 53)), "has a recipe by now");
        assert!(passes(&mut rig, 23), "the packet that gives it away");
        assert!(!passes(&mut rig, 53), "of the address, whatever was learnt of the flow");
        rig.wait(Duration::from_secs(5));
        assert!(!passes(&mut rig, 53));
        let entries = rig.router.list_entries(rig.now);
        assert!(
            entries[0].starts_with("bad 10.0.1.1") && entries[0].ends_with("6s"),
            "{entries:?}"
        );
        rig.wait(Duration::from_secs(7));
        assert!((0..10).all(|_| passes(&mut rig, 53)), "ten seconds later");
        let shown = rig.run("/ip firewall filter print stats");
        assert!(shown.contains("add-src-to-address-list"), "{shown}");
    }
}

#[test]
fn entries_with_a_timeout_are_no_part_of_the_configuration() {
    let script = "/ip firewall filter add chain=forward action=drop dst-address-list=closed\n\
                  /ip firewall address-list add list=closed address=192.0.2.1";
    for reference in [true, false] {
        let mut rig = rig(script, reference);
        assert!((0..10).all(|_| passes(&mut rig, 53)));
        rig.run("/ip firewall address-list add list=closed address=10.0.2.1 timeout=1m");
        assert!(!passes(&mut rig, 53));
        let shown = rig.run("/ip firewall address-list print");
        assert!(shown.contains("D closed") || shown.contains(" D "), "{shown}");
        assert!(!rig.run("/export").contains("10.0.2.1 "), "exported");
        rig.run("/ip firewall address-list remove [find dynamic]");
        assert!((0..10).all(|_| passes(&mut rig, 53)), "removed");
        assert!(rig.run("/ip firewall address-list print").contains("192.0.2.1"));
        rig.run("/ip firewall address-list add list=closed address=10.0.2.0/24 timeout=1s");
        assert!(!passes(&mut rig, 53), "a network");
        rig.wait(Duration::from_millis(2500));
        assert!(passes(&mut rig, 53));
        let error = rig.try_run("/ip firewall address-list set 0 timeout=1m");
        assert!(error.is_err_and(|error| error.to_string().contains("when it is added")));
    }
}

#[test]
fn other_flows_keep_their_recipes() {
    let script = "/ip firewall filter add chain=forward action=drop src-address-list=bad\n\
                  /ip firewall connection tracking set enabled=yes";
    let mut rig = rig(script, false);
    assert!((0..10).all(|_| passes(&mut rig, 53)));
    let before = rig.router.path_counts().replayed;
    for n in 0..200 {
        let line = "/ip firewall address-list add list=bad timeout=1h address=192.0";
        rig.run(&format!("{line}.2.{n}"));
        assert!(passes(&mut rig, 53));
    }
    assert_eq!(rig.router.path_counts().replayed - before, 200, "each by its recipe");
}
