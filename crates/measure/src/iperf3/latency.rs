//! Latency to the other host and back, by programs that are not ours.
//!
//! ```text
//! ping -A   a line for each answer, µs    ─┐
//! irtt      JSON, a round trip each, ns   ─┴─► Latency: sent, received, median, 99 of 100
//! ```
//!
//! ping sends the next packet when the answer is there, as its flood does (which prints no times);
//! irtt sends at intervals, whatever is under way.

use super::Validity;
use super::validity::is_zero;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// iputils' ping: ICMP, answered by the other host's kernel.
    Ping,
    /// irtt: UDP, answered by its server.
    Irtt,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Tool::Ping => "ping",
            Tool::Irtt => "irtt",
        })
    }
}

/// What one of them found out. Times are there and back, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// What is between the hosts.
    pub device: String,
    /// Who asked.
    pub tool: Tool,
    /// In which words.
    pub command: String,
    /// Packets sent.
    pub sent: u64,
    /// Answers that came.
    pub received: u64,
    /// The shortest.
    pub min_ns: u64,
    /// Half of them took no longer.
    pub median_ns: u64,
    /// The mean.
    pub mean_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Times to three digits and how many packets took them, ascending; none in results before
    /// 2026-11-22. In the file a text, [`histogram`](crate::histogram).
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "crate::histogram")]
    pub histogram: Vec<(u64, u64)>,
    /// How long it took in all; 0 in files that were written before this was kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_ns: u64,
    /// Whether it says something about the device.
    #[serde(flatten)]
    pub validity: Validity,
}

impl Latency {
    /// Of what a program printed.
    ///
    /// # Errors
    /// What it lacks, or that nothing was answered.
    pub fn of(device: &str, tool: Tool, command: &str, said: &str) -> Result<Latency, String> {
        let (sent, mut times) = match tool {
            Tool::Ping => pings(said).ok_or("ping did not come to its end")?,
            Tool::Irtt => irtt(said)?,
        };
        times.sort_unstable();
        let (Some(&min_ns), Some(&max_ns)) = (times.first(), times.last()) else {
            return Err(format!("none of {sent} packets was answered"));
        };
        // The shortest that so many of a hundred did not exceed.
        let share = |hundredths: usize| times[(times.len() * hundredths).div_ceil(100) - 1];
        let received = times.len() as u64;
        Ok(Latency {
            device: device.to_string(),
            tool,
            command: command.to_string(),
            sent,
            received,
            min_ns,
            median_ns: share(50),
            mean_ns: (times.iter().map(|&time| u128::from(time)).sum::<u128>()
                / u128::from(received)) as u64,
            p99_ns: share(99),
            max_ns,
            histogram: histogram(&times),
            took_ns: 0,
            validity: Validity::default(),
        })
    }
}

/// Ascending times, each to three digits, cut off.
fn histogram(times: &[u64]) -> Vec<(u64, u64)> {
    let mut buckets: Vec<(u64, u64)> = Vec::new();
    for &time in times {
        let unit = 10u64.pow(time.checked_ilog10().unwrap_or(0).saturating_sub(2));
        let time = time / unit * unit;
        match buckets.last_mut().filter(|(last, _)| *last == time) {
            Some((_, n)) => *n += 1,
            None => buckets.push((time, 1)),
        }
    }
    buckets
}

/// Packets sent, and the time of each answer in nanoseconds, by what ping printed: `… time=0.012 ms`
/// to its three digits, which are microseconds. `None` if it did not come to its end.
pub fn pings(said: &str) -> Option<(u64, Vec<u64>)> {
    let time = |line: &str| {
        // A second answer to the same packet is none.
        let rest = line.split_once(" time=").filter(|_| !line.contains("DUP!"))?.1;
        let ms: f64 = rest.split(' ').next()?.parse().ok()?;
        Some((ms * 1e6).round() as u64)
    };
    let sent = |line: &str| line.split_once(" packets transmitted")?.0.parse().ok();
    Some((said.lines().find_map(sent)?, said.lines().filter_map(time).collect()))
}

/// Packets sent, and the time of each answer.
fn irtt(said: &str) -> Result<(u64, Vec<u64>), String> {
    let lacks = |what: &str| format!("what irtt wrote lacks {what}");
    let begin = said.find('{').ok_or_else(|| lacks("JSON"))?;
    let value: Value =
        serde_json::from_str(&said[begin..]).map_err(|error| format!("irtt: {error}"))?;
    let sent = value["stats"]["packets_sent"].as_u64().ok_or_else(|| lacks("packets_sent"))?;
    let trips = value["round_trips"].as_array().ok_or_else(|| lacks("round_trips"))?;
    Ok((sent, trips.iter().filter_map(|trip| trip["delay"]["rtt"].as_u64()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &str = "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=63 time=1.265 ms
64 bytes from 10.0.0.2: icmp_seq=2 ttl=63 time=0.003 ms
64 bytes from 10.0.0.2: icmp_seq=2 ttl=63 time=0.009 ms (DUP!)
64 bytes from 10.0.0.2: icmp_seq=4 ttl=63 time=0.012 ms
64 bytes from 10.0.0.2: icmp_seq=5 ttl=63 time=20.1 ms

--- 10.0.0.2 ping statistics ---
5 packets transmitted, 4 received, 20% packet loss, time 0ms
";

    const IRTT: &str = "[ServerRestriction] something
{\"stats\": {\"packets_sent\": 3}, \"round_trips\": [
 {\"seqno\": 0, \"lost\": \"false\", \"delay\": {\"rtt\": 4001}},
 {\"seqno\": 1, \"lost\": \"true\", \"delay\": {}},
 {\"seqno\": 2, \"lost\": \"false\", \"delay\": {\"rtt\": 2000}}]}";

    #[test]
    fn both_are_read() {
        for (tool, said, expected) in [
            (Tool::Ping, PING, [5, 4, 3_000, 12_000, 5_345_000, 20_100_000, 20_100_000]),
            (Tool::Irtt, IRTT, [3, 2, 2_000, 2_000, 3_000, 4_001, 4_001]),
        ] {
            let of = Latency::of("x", tool, "x", said).unwrap();
            assert_eq!(of.histogram.iter().map(|(_, n)| n).sum::<u64>(), of.received);
            let Latency { sent, received, min_ns, median_ns, mean_ns, p99_ns, max_ns, .. } = of;
            assert_eq!([sent, received, min_ns, median_ns, mean_ns, p99_ns, max_ns], expected);
        }
    }

    #[test]
    fn times_to_three_digits() {
        let times = [0, 7, 999, 1000, 1009, 1010, 1_234_567, 1_239_999];
        let expected = [(0, 1), (7, 1), (999, 1), (1000, 2), (1010, 1), (1_230_000, 2)];
        assert_eq!(histogram(&times), expected);
    }

    #[test]
    fn what_is_lacking_is_said() {
        for (tool, said, expected) in [
            (Tool::Ping, "", "did not come to its end"),
            (Tool::Ping, "3 packets transmitted, 0 received", "none of 3 packets was answered"),
            (Tool::Irtt, "Error: no reply from server", "lacks JSON"),
            (Tool::Irtt, "{", "irtt: EOF"),
            (Tool::Irtt, "{}", "lacks packets_sent"),
            (Tool::Irtt, "{\"stats\": {\"packets_sent\": 3}}", "lacks round_trips"),
        ] {
            let error = Latency::of("x", tool, "x", said).unwrap_err();
            assert!(error.contains(expected), "{said}: {error}");
        }
    }
}
