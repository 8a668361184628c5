//! Our lab of an access network: a thousand subscribers of PPPoE, and RADIUS.
//!
//! (It takes longest, and so comes first.)

use crate::rig::{can_have_hosts, can_have_machines, labs, patient, run};

/// Their sessions, rates, accounts, and what ten of them and an office do.
#[test]
fn a_thousand_subscribers() {
    if !can_have_machines() || !can_have_hosts(&["ip", "pppd", "freeradius", "python3", "curl"]) {
        return;
    }
    // How fast a tariff without much of a limit is, is the machine's affair.
    let yaml = std::fs::read_to_string(labs().join("isp-access.yaml")).unwrap();
    let yaml = yaml.replace("([2-9]|1[0-2])[0-9]{6}", "[0-9]*").replace("1[012][0-9]{5}", "[0-9]*");
    let (report, transcript) = run(&patient(&yaml));
    assert!(report.passed(), "{transcript}");
}
