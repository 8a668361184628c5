//! Labs of queues: the list of 25,000, latency under load, and Linux's kinds beside ours.

use crate::rig;
use lab::topology::Time;
use rig::{can_have_hosts, can_have_machines, labs, patient, plan, run};

fn lab(name: &str) -> String {
    std::fs::read_to_string(labs().join(name)).unwrap()
}

/// Everything that was expected of a lab was so.
fn passes(name: &str) {
    let (report, transcript) = run(&patient(&lab(name)));
    assert!(report.passed(), "{transcript}");
}

#[test]
fn htb_shares_as_linux_does() {
    if can_have_hosts(&["tc", "python3"]) {
        passes("queue-htb.yaml");
    }
}

#[test]
fn kinds_share_as_those_of_linux() {
    if can_have_hosts(&["tc", "python3"]) && can_have_machines() {
        passes("queue-kinds.yaml");
    }
}

#[test]
fn latency_under_load() {
    if can_have_hosts(&["iperf3", "ping", "python3"]) {
        passes("queue-latency.yaml");
    }
}

/// In virtual time: the same each time.
#[test]
fn the_list_of_25000() {
    let plan = plan(&lab("queues.yaml"));
    assert_eq!(plan.time, Time::Virtual);
    let mut lab = rig::up(&plan);
    let mut transcript = String::new();
    let report = lab.run(&plan, &mut |event| transcript.push_str(&event.to_string()));
    lab.down().unwrap();
    assert!(report.passed(), "{transcript}");
}
