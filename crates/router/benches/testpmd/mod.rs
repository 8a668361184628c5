//! DPDK's `testpmd` beside our ways, in the same run: frames of 64 bytes between two null devices by
//! `--forward-mode=mac`, bursts of 64, on one core. It looks nothing up and verifies nothing: the
//! ceiling of what a forwarder on this machine can do.
//!
//! Left out with one line where `dpdk-testpmd` is not installed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Periods of a second that are read; the first ones warm up.
const PERIODS: usize = 5;

/// The least time it took for a packet, in nanoseconds; `None` if it is not installed or says nothing.
pub(crate) fn ns_per_packet() -> Option<f64> {
    let child = Command::new("dpdk-testpmd")
        .args(["--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf", "-l", "0,1"])
        .args(["--vdev=net_null0,size=64", "--vdev=net_null1,size=64", "--"])
        .args(["--forward-mode=mac", "--burst=64", "--nb-cores=1", "--total-num-mbufs=8192"])
        .args(["--stats-period=1", "--auto-start"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("no rows of dpdk-testpmd: it is not installed");
        return None;
    };
    let mut rates: Vec<f64> = Vec::new();
    // One line a port and period: "  Tx-pps:     12345678          Tx-bps:   6320987136".
    if let Some(lines) = child.stdout.take() {
        for line in BufReader::new(lines).lines().map_while(Result::ok) {
            let rate = line.trim().strip_prefix("Tx-pps:");
            let rate = rate.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
            rates.extend(rate);
            if rates.len() >= 2 * PERIODS {
                break;
            }
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    let both = rates.chunks_exact(2).map(|ports| ports.iter().sum::<f64>());
    both.max_by(f64::total_cmp).filter(|&rate| rate > 0.0).map(|rate| 1e9 / rate)
}
