//! `wirespeed lab chaos` for a quarter of a minute: every fault is recovered from, nothing is left.
use crate::rig::left_out;
use lab::chaos::{ChaosError, Plan, run};
use std::time::Duration;

#[test]
fn a_router_recovers_from_what_goes_wrong_around_it() {
    let programs =
        ["ip", "ping", "curl", "iperf3", "python3", "unshare", "prlimit", "timeout", "kill"];
    if left_out::lacks(&programs) {
        return;
    }
    let plan = Plan {
        program: env!("CARGO_BIN_EXE_wirespeed").into(),
        seed: 3,
        time: Duration::from_secs(15),
    };
    let ran = match run(&plan, |_| {}, || false) {
        Ok(ran) => ran,
        Err(ChaosError::Unavailable(unavailable)) => return left_out::left_out(unavailable),
        Err(error) => panic!("{error}"),
    };
    assert!(!ran.recoveries.is_empty() && ran.wrong.is_empty(), "{ran:#?}");
}
