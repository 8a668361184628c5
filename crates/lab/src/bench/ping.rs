//! Pings between two hosts' own network stacks, through a device: the time a packet and its answer
//! take when nothing else is on the way.
//!
//! ```text
//!  ping 198.19.0.2 ── t0 ═══ d0 [ device ] d1 ═══ t1 ── the kernel answers
//! ```
//!
//! One after the other, as soon as the last is answered (`ping -A`): the flood of one packet. The
//! two hosts' stacks and four crossings between processors are in the time, so compare devices, not
//! microseconds. Run before the tester takes the interfaces over.

use super::BenchError;
use super::veth::Rig;
use super::wired::Wired;
use crate::configuration::Configuration;
use crate::kernel::ask;
use crate::machine;
use crate::net::after;
use crate::placement::Pair;
use crate::traffic::router_address;
use crate::two_cores::NICE;
use measure::result::Ping;
use measure::{Family, Mode};
use port::affinity;
use std::process::{Child, Command, Stdio};

/// How many.
const PINGS: u32 = 1000;

/// Pings through a device.
///
/// # Errors
/// [`BenchError`]: there is no `ping`, or nothing can be started.
pub fn through(
    rig: &Rig,
    pair: Option<Pair>,
    device: &mut dyn Wired,
    row: &Configuration,
) -> Result<Ping, BenchError> {
    let gateways = [0, 1].map(|port| router_address(row.family, port));
    let hosts = match row.mode {
        Mode::Routing => gateways.map(|gateway| after(gateway, 1)),
        // One network, no gateway.
        Mode::Bridging => [1, 2].map(|n| after(gateways[0], n)),
    };
    let (length, flags) = match row.family {
        Family::Ipv4 => (24, ""),
        Family::Ipv6 => (64, " nodad"),
    };
    for (i, (namespace, end)) in rig.tester_ends().into_iter().enumerate() {
        if row.family == Family::Ipv6 {
            // Without an address of the link; and nobody asks for routers.
            for setting in ["addr_gen_mode=1", "accept_ra=0", "disable_ipv6=0"] {
                ask(namespace, &format!("sysctl -qw net.ipv6.conf.{end}.{setting}"))?;
            }
        }
        ask(namespace, &format!("ip address add {}/{length} dev {end}{flags}", hosts[i]))?;
        if row.mode == Mode::Routing {
            ask(namespace, &format!("ip route add default via {}", gateways[i]))?;
        }
    }
    let mut words = format!("ping -n -A -c {PINGS} -w 3 {}", hosts[1]);
    if let Some(pair) = pair {
        words = format!("taskset -c {} {words}", pair.tester);
    }
    let failed = |said: String| BenchError::Command(words.clone(), said);
    let mut split = words.split_whitespace();
    let mut command = Command::new(split.next().unwrap_or_default());
    command.args(split).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child =
        rig.tester_ends()[0].0.spawn(command).map_err(|error| failed(error.to_string()))?;
    work(device, pair, &mut child);
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    for (namespace, end) in rig.tester_ends() {
        let _ = ask(namespace, &format!("ip address flush dev {end}"));
        if row.family == Family::Ipv6 {
            let _ = ask(namespace, &format!("sysctl -qw net.ipv6.conf.{end}.disable_ipv6=1"));
        }
    }
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

/// Works the device's part of ours until the process has ended.
fn work(device: &mut dyn Wired, pair: Option<Pair>, child: &mut Child) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(pair) = pair {
                let _ = affinity::pin(pair.device);
            }
            machine::prefer(None, NICE);
            if device.dut().is_none() {
                return drop(child.wait());
            }
            while matches!(child.try_wait(), Ok(None)) {
                // Asking after the process costs as much as a frame.
                for _ in 0..1000 {
                    device.settle();
                    std::thread::yield_now();
                }
            }
        });
    });
}

/// Of what ping prints; nothing of one that was ended before its own end.
fn read(text: &str) -> Ping {
    let (sent, mut times) = measure::iperf3::pings(text).unwrap_or_default();
    times.sort_unstable();
    let at = |share: f64| {
        let last = times.len().saturating_sub(1);
        times.get((last as f64 * share).round() as usize).copied().unwrap_or(0)
    };
    Ping { sent, answered: times.len() as u64, p50_ns: at(0.5), p99_ns: at(0.99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ping_prints() {
        let line =
            |seq, ms| format!("64 bytes from 198.19.0.2: icmp_seq={seq} ttl=63 time={ms} ms");
        let lines = [line(1, "0.100"), line(2, "0.043"), line(3, "0.045")].join("\n");
        let text = format!(
            "PING 198.19.0.2 (198.19.0.2) 56(84) bytes of data.\n{lines}\n\n--- 198.19.0.2 ping \
             statistics ---\n4 packets transmitted, 3 received, 25% packet loss, time 3ms\n"
        );
        let expected = Ping { sent: 4, answered: 3, p50_ns: 45_000, p99_ns: 100_000 };
        assert_eq!(read(&text), expected);
        assert_eq!(read(""), Ping { sent: 0, answered: 0, p50_ns: 0, p99_ns: 0 });
    }
}
