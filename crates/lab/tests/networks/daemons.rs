//! Labs of a machine whose daemon dials our router, and is dialled by it: pppd and its kin, strongSwan, FRR.
//!
//! (They take long, and wait most of it: each is a test by itself, and they come early.)

use crate::rig::{can_have_hosts, can_have_machines, labs, patient, run};

/// Runs a lab whose machine is the other end of what our router dials, and dials in.
fn either_way(lab: &str, programs: &[&str]) {
    if !can_have_machines() || !can_have_hosts(programs) {
        return;
    }
    let yaml = std::fs::read_to_string(labs().join(lab)).unwrap();
    let (report, transcript) = run(&patient(&yaml));
    assert!(report.passed(), "{transcript}");
}

#[test]
fn pppoe() {
    either_way("pppoe.yaml", &["pppd", "pppoe-server"]);
}

#[test]
fn l2tp() {
    either_way("l2tp.yaml", &["pppd", "xl2tpd"]);
}

#[test]
fn pptp() {
    either_way("pptp.yaml", &["pppd", "pptpd", "pptp"]);
}

#[test]
fn ipsec_by_ikev2() {
    either_way("ipsec.yaml", &["ipsec"]);
}

#[test]
fn ipsec_by_ikev1() {
    either_way("ipsec-ikev1.yaml", &["ipsec"]);
}

#[test]
fn l2tp_over_ipsec() {
    either_way("l2tp-ipsec.yaml", &["ipsec", "pppd", "xl2tpd"]);
}

#[test]
fn labels_by_ldp() {
    either_way("mpls-ldp.yaml", &["vtysh"]);
}
