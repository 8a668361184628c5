//! RFC 6349 between hosts that are not ours: what iperf3's transfers make of a path.
//!
//! ```text
//!  ping, whole packets only   the largest that comes through          §3.1  ┐
//!  ping, an empty path        the quickest answer                     §3.2  ├ Path
//!  iperf3 UDP, a full wire    packets that come through               §3.2  ┘  │ ideal, BDP
//!  iperf3 TCP, -w             bytes, seconds, sent again, mean RTT    §4    ──┴► Transfer
//! ```
//!
//! The arithmetic is [`procedure::rfc6349`](crate::procedure::rfc6349)'s, of figures that the hosts'
//! kernels give: `tcpi_rtt` for the round trip, retransmitted segments for what was sent again.

use super::Validity;
use crate::procedure::rfc6349::transfer_time_ratio;
use crate::procedure::rfc6349::{Path, buffer_delay_percent, efficiency_percent};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use wire::PacketRate;

/// A path, and the transfers over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostPath {
    /// What is between the hosts.
    pub device: String,
    /// The largest IP packet that comes through whole, in bytes.
    pub mtu: u32,
    /// Whether it is less than the hosts' own.
    pub mtu_is_limit: bool,
    /// The quickest answer on the empty path.
    pub rtt_ns: u64,
    /// Full packets a second that come through when more are sent.
    pub packets_per_second: f64,
    /// How long it took to find out these; none in files that were written before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<u64>,
    /// Whether the round trip and the rate say something about it.
    #[serde(flatten)]
    pub validity: Validity,
    /// Of TCP, one after the other.
    pub transfers: Vec<HostTransfer>,
}

/// What came of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostTransfer {
    /// Who sent, in which words.
    pub command: String,
    /// Connections at the same time.
    pub connections: u32,
    /// The window asked for (`-w`), in bytes.
    pub window: u32,
    /// Bytes that came.
    pub bytes: u64,
    /// In which time.
    pub seconds: f64,
    /// Segments sent again.
    pub retransmits: u64,
    /// The mean round trip of all connections by their kernel, in microseconds; none if it says none.
    pub rtt_us: Option<u64>,
    /// Actual by ideal time.
    pub ratio: f64,
    /// Per cent of what was sent that was not sent again.
    pub efficiency: f64,
    /// Per cent by which the round trip was longer than on the empty path.
    pub buffer_delay: Option<f64>,
    /// Whether it says something about the path.
    #[serde(flatten)]
    pub validity: Validity,
}

impl HostPath {
    /// The same for the arithmetic.
    pub fn path(&self) -> Path {
        Path {
            mtu: self.mtu,
            mtu_is_limit: self.mtu_is_limit,
            rtt: Duration::from_nanos(self.rtt_ns),
            frames: PacketRate(self.packets_per_second),
        }
    }

    /// A transfer over it, by what both processes wrote.
    ///
    /// # Errors
    /// What is not in it.
    pub fn transfer(
        &self,
        command: &str,
        (connections, window): (u32, u32),
        client: &Value,
    ) -> Result<HostTransfer, String> {
        let lacks = |what: &str| format!("what iperf3 wrote lacks {what}");
        let end = &client["end"];
        let bytes = end["sum_received"]["bytes"].as_u64().filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or_else(|| lacks("bytes that were received"))?;
        let seconds = end["sum_received"]["seconds"].as_f64().filter(|time| *time > 0.0);
        let seconds = seconds.ok_or_else(|| lacks("the time this took"))?;
        let retransmits = end["sum_sent"]["retransmits"].as_u64();
        let retransmits = retransmits.ok_or_else(|| lacks("retransmits"))?;
        let sent = end["sum_sent"]["bytes"].as_u64().ok_or_else(|| lacks("bytes sent"))?;
        let streams = end["streams"].as_array().into_iter().flatten();
        let times: Vec<u64> = streams
            .filter_map(|stream| stream["sender"]["mean_rtt"].as_u64())
            .filter(|time| *time > 0)
            .collect();
        let rtt_us = times.iter().sum::<u64>().checked_div(times.len() as u64);
        let path = self.path();
        let again = retransmits * u64::from(path.mss());
        let delay = |us| buffer_delay_percent(Duration::from_micros(us), path.rtt);
        Ok(HostTransfer {
            command: command.to_string(),
            connections,
            window,
            bytes,
            seconds,
            retransmits,
            rtt_us,
            ratio: transfer_time_ratio(
                Duration::from_secs_f64(seconds.min(1e9)),
                bytes,
                path.ideal_bps(),
            ),
            efficiency: efficiency_percent(sent + again, again),
            buffer_delay: rtt_us.map(delay),
            validity: Validity::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> HostPath {
        HostPath {
            device: "x".to_string(),
            mtu: 1500,
            mtu_is_limit: false,
            rtt_ns: 25_000_000,
            packets_per_second: 1000.0,
            took_ns: None,
            validity: Validity::default(),
            transfers: Vec::new(),
        }
    }

    #[test]
    fn the_figures_of_real_output() {
        let client = serde_json::from_str(include_str!("../../data/iperf3-3.12-tcp-client.json"));
        let client: Value = client.unwrap();
        let end = &client["end"];
        let of = path().transfer("iperf3", (2, 65_536), &client).unwrap();
        assert_eq!(Some(of.bytes), end["sum_received"]["bytes"].as_u64());
        assert_eq!(Some(of.retransmits), end["sum_sent"]["retransmits"].as_u64());
        assert!(of.rtt_us.is_some(), "{of:?}");
        assert_eq!((of.connections, of.window), (2, 65_536));
    }

    /// The RFC's examples (§4.2): 2,000 of 100,000 bytes again (here segments), 25 ms become 32.
    #[test]
    fn the_rfc_s_own_numbers() {
        let client = serde_json::json!({"end": {
            "streams": [{"sender": {"mean_rtt": 31_000}}, {"sender": {"mean_rtt": 33_000}}],
            "sum_sent": {"bytes": 146_000, "retransmits": 2},
            "sum_received": {"bytes": 146_000, "seconds": 0.2},
        }});
        let of = path().transfer("", (2, 1), &client).unwrap();
        // 100 segments in the time of 200.
        assert!((of.ratio - 2.0).abs() < 1e-9, "{of:?}");
        assert!((of.efficiency - 100.0 * 100.0 / 102.0).abs() < 1e-9, "{of:?}");
        assert!((of.buffer_delay.unwrap() - 28.0).abs() < 1e-9, "{of:?}");
    }

    #[test]
    fn what_is_lacking_is_said() {
        for (client, expected) in [
            ("{}", "bytes that were received"),
            ("{\"end\": {\"sum_received\": {\"bytes\": 1, \"seconds\": 0}}}", "the time this took"),
            ("{\"end\": {\"sum_received\": {\"bytes\": 1, \"seconds\": 1}}}", "retransmits"),
        ] {
            let error = path().transfer("", (1, 1), &serde_json::from_str(client).unwrap());
            assert!(error.unwrap_err().contains(expected), "{client}");
        }
    }
}
