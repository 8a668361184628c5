//! RFC 6349 between hosts that are not ours: the path, and a line for each transfer.
//!
//! ```text
//! linux kernel, the path (RFC 6349 §3): MTU 1500, round trip 3.0 µs, narrowest place 98.7 Mbps(L2), …
//! window, byte   of BDP, %  connections  Mbps(TCP payload)  transfer time ratio  efficiency, %  …
//!         4096    11,067.7            1               92.1                1.030         99.990  …
//! ```

use crate::number::thousands;
use measure::iperf3::HostPath;
use std::fmt::Write;

/// A path and its transfers.
pub(super) fn table(of: &HostPath) -> String {
    let mut out = String::new();
    let path = of.path();
    let limit = if of.mtu_is_limit { " (longer packets were tried)" } else { "" };
    let _ = writeln!(
        out,
        "\n{}, the path (RFC 6349 §3): MTU {}{limit}, round trip {} µs, narrowest place {} \
         Mbps(L2), bandwidth-delay product {:.0} byte; TCP at best {} Mbps(TCP payload)",
        of.device,
        of.mtu,
        thousands(of.rtt_ns as f64 / 1e3),
        thousands(path.bottleneck_bps() / 1e6),
        path.bdp_bytes(),
        thousands(path.ideal_bps() / 1e6)
    );
    let _ = writeln!(
        out,
        "{:>12}{:>12}{:>13}{:>19}{:>21}{:>15}{:>12}{:>10}{:>17}",
        "window, byte",
        "of BDP, %",
        "connections",
        "Mbps(TCP payload)",
        "transfer time ratio",
        "efficiency, %",
        "sent again",
        "RTT, µs",
        "buffer delay, %"
    );
    let dash = || "-".to_string();
    for transfer in &of.transfers {
        let all = f64::from(transfer.window) * f64::from(transfer.connections);
        let _ = writeln!(
            out,
            "{:>12}{:>12}{:>13}{:>19}{:>21.3}{:>15.3}{:>12}{:>10}{:>17}{}",
            transfer.window,
            thousands(all / path.bdp_bytes() * 100.0),
            transfer.connections,
            thousands(transfer.bytes as f64 * 8.0 / transfer.seconds / 1e6),
            transfer.ratio,
            transfer.efficiency,
            transfer.retransmits,
            transfer.rtt_us.map_or_else(dash, |us| us.to_string()),
            transfer.buffer_delay.map_or_else(dash, thousands),
            super::mark(of.invalid(transfer))
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::iperf3::{HostTransfer, Validity};

    #[test]
    fn a_path_and_its_transfers() {
        let transfer = HostTransfer {
            command: String::new(),
            connections: 2,
            window: 15_180,
            bytes: 1_250_000,
            seconds: 1.0,
            retransmits: 3,
            rtt_us: None,
            ratio: 1.25,
            efficiency: 99.5,
            buffer_delay: None,
            validity: Validity::default(),
        };
        let of = HostPath {
            device: "linux kernel".to_string(),
            mtu: 1500,
            mtu_is_limit: true,
            rtt_ns: 10_000_000,
            packets_per_second: 1000.0,
            took_ns: None,
            validity: Validity::default(),
            transfers: vec![transfer],
        };
        let text = table(&of);
        for part in ["MTU 1500 (longer", "10,000.0 µs", "12.1 Mbps(L2)", "15180 byte", "11.7 Mbps"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let words: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["15180", "200.0", "2", "10.0", "1.250", "99.500", "3", "-", "-"]);
    }
}
