//! Labs with hosts, for tests: read, run, and what they printed.

#![allow(dead_code)] // not every test uses all of it

// A machine with two interfaces, and a box that they are connected to.
pub(crate) mod outside;

#[path = "../../../port/tests/left_out/mod.rs"]
pub(crate) mod left_out;

use lab::live::Interrupt;
use lab::run::{Lab, Plan, Report, Scripts};
use lab::topology::{Time, Topology};
use port::linux::Namespace;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where our labs and their programs are.
pub(crate) fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

/// Whether there may be namespaces here, and `ip` and these programs in them; if not, says so on
/// standard error (except when `CI` is set: then it panics).
pub(crate) fn can_have_hosts(programs: &[&str]) -> bool {
    if left_out::lacks(&[&["ip"], programs].concat()) {
        return false;
    }
    match Namespace::new() {
        Ok(_) => true,
        Err(unavailable) => {
            left_out::left_out(unavailable);
            false
        }
    }
}

/// Whether there can be machines here; if not, says so on standard error (except when `CI` is set:
/// then it panics).
pub(crate) fn can_have_machines() -> bool {
    if !can_have_hosts(&["busybox"]) {
        return false;
    }
    lab::host::uml::is_there().map_err(left_out::left_out).is_ok()
}

/// The lab of this file, in its own time.
pub(crate) fn plan(yaml: &str) -> Plan {
    let topology = Topology::read(yaml).unwrap_or_else(|fault| panic!("{fault}\n{yaml}"));
    let scripts = Scripts::read(&topology, &labs()).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let (time, seed) = (topology.time, topology.seed);
    Plan {
        topology,
        scripts,
        time,
        seed,
        files: None,
        rehearsed: false,
        limit: Duration::from_secs(30),
    }
}

/// The lab of this file; what is busy may take its time.
pub(crate) fn patient(yaml: &str) -> Plan {
    Plan { limit: Duration::from_secs(120), ..plan(yaml) }
}

/// Brings a lab up.
pub(crate) fn up(plan: &Plan) -> Lab {
    let language = Arc::new(lab::node::language(&[]));
    Lab::up(plan, &language, Interrupt::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a lab; returns what came of it and the transcript.
pub(crate) fn run(plan: &Plan) -> (Report, String) {
    assert_eq!(plan.time, Time::Real);
    let mut lab = up(plan);
    let mut transcript = String::new();
    let report = lab.run(plan, &mut |event| transcript.push_str(&event.to_string()));
    lab.down().unwrap();
    (report, transcript)
}
