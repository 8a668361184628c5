//! Our labs of tunnels, bonds and virtual routers: to a Linux kernel of its own, which has what the kernel under
//! us may lack, between two routers of ours, and beside keepalived.

use crate::rig;
use rig::{can_have_hosts, can_have_machines, labs, patient, run};

fn check(name: &str) {
    let yaml = std::fs::read_to_string(labs().join(name)).unwrap();
    let (report, transcript) = run(&patient(&yaml));
    assert!(report.passed(), "{transcript}");
}

#[test]
fn packets_in_packets() {
    if can_have_machines() {
        check("ipip.yaml");
    }
}

#[test]
fn packets_behind_gre() {
    if can_have_machines() {
        check("gre.yaml");
    }
}

#[test]
fn frames_behind_l2tp_version_3() {
    if can_have_machines() {
        check("l2tp-ether.yaml");
    }
}

#[test]
fn ipv6_in_ipv4() {
    if can_have_machines() {
        check("6to4.yaml");
    }
}

#[test]
fn links_that_are_one() {
    if can_have_machines() {
        check("bonding.yaml");
    }
}

#[test]
fn a_virtual_router_beside_keepalived() {
    if can_have_hosts(&["busybox", "keepalived"]) {
        check("vrrp.yaml");
    }
}

#[test]
fn frames_between_two_bridges() {
    if can_have_hosts(&["busybox"]) {
        check("eoip.yaml");
    }
}
