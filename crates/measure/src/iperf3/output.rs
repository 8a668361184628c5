//! iperf3's own output, of both sides: `--json` of versions 3.5 and later.
//!
//! ```text
//! server (who receives)   intervals[].sum: bytes, seconds ── those of the window ─► the rate
//! client (who sends)      end.sum_sent: packets, retransmits ─► what did not arrive
//! ```
//!
//! The receiver's own bytes by the receiver's own seconds, interval by interval: bytes and time of
//! the warm-up are cut at the same moment. `-O` is not used, which cuts them at two (esnet/iperf
//! #236). What comes after the window is cut, too: pairs are never started at one moment, and who
//! ends last has the wire for himself, so that rates added up are above what the wire carried.

use super::Figures;
use serde_json::Value;
use std::ops::Range;

/// What one pair has done. `window` is what of it counts, in seconds from its start; `length` is the
/// payload of a packet.
///
/// # Errors
/// One of the two ended with an error, or what is needed is not there.
pub fn figures(
    client: &Value,
    server: &Value,
    window: Range<f64>,
    length: u32,
) -> Result<Figures, String> {
    for (who, value) in [("client", client), ("server", server)] {
        if let Some(error) = value["error"].as_str() {
            return Err(format!("the {who} says: {error}"));
        }
        if !value["start"]["version"].as_str().is_some_and(|text| text.starts_with("iperf ")) {
            return Err(format!("what the {who} wrote is not of iperf3"));
        }
    }
    let lacks = |what: &str| format!("what iperf3 wrote lacks {what}");
    let intervals = server["intervals"].as_array().ok_or_else(|| lacks("intervals"))?;
    let (mut bytes, mut seconds, mut all_bytes) = (0u64, 0.0, 0u64);
    for interval in intervals {
        let sum = &interval["sum"];
        let of = (sum["start"].as_f64(), sum["seconds"].as_f64(), sum["bytes"].as_u64());
        let (Some(start), Some(lasted), Some(received)) = of else {
            return Err(lacks("an interval's sum"));
        };
        all_bytes = all_bytes.saturating_add(received);
        // Intervals are a second long, and begin a little late.
        if start >= window.start - 0.5 && start < window.end - 0.5 {
            bytes = bytes.saturating_add(received);
            seconds += lasted;
        }
    }
    let wanted = window.end - window.start;
    if seconds.is_nan() || (seconds - wanted).abs() > 0.5 {
        return Err(format!("it received for {seconds:.3} of the {wanted} s that count"));
    }
    let (end, udp) =
        (&client["end"], client["start"]["test_start"]["protocol"].as_str() == Some("UDP"));
    let packets_sent = if udp {
        Some(super::fault::packets_sent(end).ok_or_else(|| lacks("packets"))?)
    } else {
        None
    };
    let told = |value: &Value| {
        let end = &value["end"];
        end["sum_received"]["lost_packets"].as_u64().or(end["sum"]["lost_packets"].as_u64())
    };
    Ok(Figures {
        bytes,
        seconds,
        all_bytes,
        packets_sent,
        packets_received: udp.then(|| all_bytes / u64::from(length.max(1))),
        lost_told: if udp { told(server) } else { None },
        retransmits: end["sum_sent"]["retransmits"].as_u64(),
        mss: client["start"]["tcp_mss"].as_u64().and_then(|mss| u32::try_from(mss).ok()),
        client_cpu: end["cpu_utilization_percent"]["host_total"].as_f64(),
        server_cpu: end["cpu_utilization_percent"]["remote_total"].as_f64(),
    })
}
