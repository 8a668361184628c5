//! Our labs of VLANs: trunks to a Linux kernel of its own, which has what the kernel under us may lack.

use crate::rig;
use rig::{can_have_machines, labs, patient, run};

fn check(name: &str) {
    if !can_have_machines() {
        return;
    }
    let yaml = std::fs::read_to_string(labs().join(name)).unwrap();
    let (report, transcript) = run(&patient(&yaml));
    assert!(report.passed(), "{transcript}");
}

#[test]
fn a_router_has_interfaces_on_a_trunk() {
    check("vlan.yaml");
}

#[test]
fn a_service_tag_has_a_tag_in_it() {
    check("qinq.yaml");
}

#[test]
fn two_bridges_with_vlans_are_one_network_for_each() {
    check("vlan-filtering.yaml");
}
