//! What `iperf3 --json` writes, as versions 3.0 to 3.17 do.

use super::{Kind, L1, L2, Note, above};
use serde_json::Value;

/// IPv4 and TCP headers with the time stamp option; IPv4 and UDP headers.
const TCP: f64 = 52.0;
const UDP: f64 = 28.0;

/// Whether it is one of its files.
pub(super) fn is_of_iperf3(value: &Value) -> bool {
    value["start"]["version"].as_str().is_some_and(|version| version.starts_with("iperf "))
}

/// Checks a file. `link` is what the wire carries on layer 1, bit/s, if it is known.
pub(super) fn check(value: &Value, link: Option<f64>, note: &mut Note) {
    let mut note = |kind, text| note(None, kind, text);
    let test = &value["start"]["test_start"];
    let end = &value["end"];
    if let Some(error) = value["error"].as_str() {
        note(Kind::Inconsistent, format!("the run ended with an error: {error}"));
    }
    let omit = test["omit"].as_f64().unwrap_or(0.0);
    if omit > 0.0 {
        let text = format!(
            "-O {omit}: bytes and time of the seconds left out are not cut at the same moment \
             (esnet/iperf #236), so that rates come out too high"
        );
        note(Kind::Ambiguous, text);
    }
    for name in ["sum_sent", "sum_received", "sum"] {
        rate(&end[name], name, &mut note);
    }
    let (sent, received) =
        (end["sum_sent"]["bytes"].as_u64(), end["sum_received"]["bytes"].as_u64());
    if let (Some(sent), Some(received)) = (sent, received)
        && received > sent
    {
        note(Kind::Impossible, format!("{received} bytes received of {sent} sent"));
    }
    streams(end, &mut note);
    losses(&end["sum"], &mut note);
    wire(value, link, &mut note);
    for (side, name) in [("this host", "host_total"), ("the other host", "remote_total")] {
        let load = end["cpu_utilization_percent"][name].as_f64();
        if let Some(load) = load.filter(|load| *load > 90.0) {
            let text = format!("{side} was busy for {load:.0} %: the tester may be the limit");
            note(Kind::Ambiguous, text);
        }
    }
}

/// Bits per second are bytes by seconds.
fn rate(sum: &Value, name: &str, note: &mut impl FnMut(Kind, String)) {
    let number = |field: &str| sum[field].as_f64();
    let (Some(bytes), Some(seconds), Some(rate)) =
        (number("bytes"), number("seconds"), number("bits_per_second"))
    else {
        return;
    };
    let exact = bytes * 8.0 / seconds;
    // The time they were divided by may be another clock's, a few milliseconds off.
    if seconds > 0.0 && (rate / exact - 1.0).abs() > 0.005 {
        let text = format!(
            "{name}: {bytes} bytes in {seconds} s are {:.1} Mbps, not {:.1}",
            exact / 1e6,
            rate / 1e6
        );
        note(Kind::Inconsistent, text);
    }
}

/// The streams add up.
fn streams(end: &Value, note: &mut impl FnMut(Kind, String)) {
    let Some(streams) = end["streams"].as_array() else { return };
    for (part, sum) in [("sender", "sum_sent"), ("receiver", "sum_received"), ("udp", "sum")] {
        let bytes: Option<u64> = streams.iter().map(|stream| stream[part]["bytes"].as_u64()).sum();
        let (Some(bytes), Some(sum_bytes)) = (bytes, end[sum]["bytes"].as_u64()) else { continue };
        if bytes != sum_bytes && !streams.is_empty() {
            let text = format!("{sum}: {sum_bytes} bytes, but its streams add up to {bytes}");
            note(Kind::Inconsistent, text);
        }
    }
}

/// Losses of UDP, which counts them itself.
fn losses(sum: &Value, note: &mut impl FnMut(Kind, String)) {
    let (Some(packets), Some(lost)) = (sum["packets"].as_f64(), sum["lost_packets"].as_f64())
    else {
        return;
    };
    if lost > packets || lost < 0.0 {
        note(Kind::Impossible, format!("{lost} packets lost of {packets}"));
    } else if let Some(percent) = sum["lost_percent"].as_f64().filter(|_| packets > 0.0) {
        let exact = lost / packets * 100.0;
        if (exact - percent).abs() > 0.01 {
            note(
                Kind::Inconsistent,
                format!("{lost} of {packets} packets are {exact:.3} %, not {percent}"),
            );
        } else if lost > 0.0 && percent < 0.005 {
            note(Kind::Rounded, format!("{lost} packets are lost, which shows as 0.00 %"));
        }
    }
}

/// What the wire carries of the payload, packets being as large as they were.
fn wire(value: &Value, link: Option<f64>, note: &mut impl FnMut(Kind, String)) {
    let Some(link) = link else { return };
    let (start, end) = (&value["start"], &value["end"]);
    let udp = start["test_start"]["protocol"].as_str() == Some("UDP");
    let payload = if udp { &start["test_start"]["blksize"] } else { &start["tcp_mss_default"] };
    let Some(payload) = payload.as_f64().filter(|&bytes| bytes > 0.0 && (bytes < 9200.0 || !udp))
    else {
        return;
    };
    // The default MSS is told with or without its options: at best there are none.
    let header = if udp { UDP } else { TCP - 12.0 };
    let most = link * payload / (payload + header + L2 + L1);
    let sum = if end["sum_received"].is_object() { "sum_received" } else { "sum" };
    if let Some(rate) = end[sum]["bits_per_second"].as_f64().filter(|&rate| rate > most) {
        let text = format!(
            "{sum}: {:.1} Mbps of payload in packets of {} bytes are {} what the wire carries, \
             {:.1}",
            rate / 1e6,
            payload + header,
            above(rate, most),
            most / 1e6
        );
        note(Kind::Impossible, text);
    }
}
