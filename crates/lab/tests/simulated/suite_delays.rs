//! Latency and delay variation where both are known: in virtual time a router takes as long for every frame,
//! and wires as long as they are.

use lab::suite::plan::{self, Allowed, Plan};
use lab::suite::{Device, Options, run, scaled};
use measure::suite_result::Cell;
use measure::{Environment, SuiteResults};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const ROUTER: &str = "/ip address add address=198.18.1.1/24 interface=ether1
/ip address add address=198.19.1.1/24 interface=ether2";

/// 1 µs a frame and hardly more for a long one; wires of such a delay.
fn read(sizes: &str, delay: &str, procedures: &str) -> Plan {
    let text = format!(
        "name = \"delays\"\n[device]\n[medium]\nlink = \"100M\"\n\
         [traffic]\nframe-sizes = [{sizes}]\nflows = \"pair\"\n{procedures}\n\
         [virtual]\nlink = \"100M\"\nframe = \"1us\"\nbyte-ps = 1\npause-every = \"100s\"\n\
         pause = \"1ns\"\ndelay = \"{delay}\"\n\
         [virtual.scaling]\ndivide-durations-by = 600.0\nshortest = \"20ms\"\n\
         repetitions-at-most = 2\nprecision = \"1%\"\n"
    );
    plan::read(&text, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}\n{text}"))
}

fn measure(plan: &Plan) -> SuiteResults {
    let options = Options {
        device: Device::BuiltIn,
        text: String::new(),
        script: ROUTER.to_string(),
        quick: true,
        pair: None,
        interrupt: Arc::new(AtomicBool::new(false)),
        environment: Environment::default(),
    };
    let (plan, scaling) = scaled(plan, &options);
    let results = run(&plan, scaling, &options, |_| {});
    assert_eq!((results.complete, &results.incomplete_because), (true, &None));
    assert_eq!(results.faults(), [""; 0]);
    results
}

fn figure(cell: &Cell, start: &str) -> f64 {
    let found = cell.figures.iter().find(|figure| figure.name.starts_with(start));
    found.and_then(|figure| figure.value).unwrap_or_else(|| panic!("{start} of {cell:?}"))
}

/// The width of a bucket is no variation, however long wires are: at a load that nobody waits at,
/// every frame takes the microsecond that the model takes, and nothing varies.
#[test]
fn what_does_not_vary_does_not() {
    let procedures = "[[procedure]]\nkind = \"throughput\"\ncriteria = [\"bisection\"]\n\
                      [[procedure]]\nkind = \"latency\"\ntagged = 50\n\
                      [[procedure]]\nkind = \"delay-variation\"\n";
    for delay in ["1ns", "5ms"] {
        let results = measure(&read("512, 1518", delay, procedures));
        for cell in &results.cells {
            let told = format!("{delay}, {} bytes: {cell:?}", cell.frame_size);
            let steady = cell.trials.iter().filter(|trial| trial.outcome == "pass");
            for latency in steady.filter_map(|trial| trial.latency) {
                // Frames of both ways that come at once wait for each other.
                assert!((999..=1002).contains(&latency.min_ns), "{told}");
                assert!(latency.max_ns <= 2_005, "{told}");
            }
            for way in cell.trials.iter().flat_map(|trial| &trial.directions) {
                if let (Some(latency), Some(ipdv)) = (way.latency, way.ipdv) {
                    let apart = latency.max_ns - latency.min_ns;
                    assert!(way.pdv_ns <= Some(apart) && apart <= 1, "{told}");
                    assert!(ipdv.max_ns.unsigned_abs() <= apart, "{told}");
                    assert!(ipdv.min_ns.unsigned_abs() <= apart, "{told}");
                }
            }
            if cell.procedure == "delay-variation" {
                assert!(figure(cell, "PDV[") <= 1.0, "{told}");
            }
        }
    }
}
