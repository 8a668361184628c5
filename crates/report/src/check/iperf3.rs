//! What `iperf3 --json` writes, as versions 3.0 to 3.17 do.
//!
//! ```text
//!  end ─┬─ sum_sent                sum_received                sum                 one way
//!       ├─ sum_sent_bidir_reverse  sum_received_bidir_reverse  sum_bidir_reverse   --bidir: back
//!       └─ streams[].{sender, receiver | udp}: each with `sender`, which way it goes
//! ```
//!
//! The client is told what the server counted; the server is told nothing, and writes 0 for the
//! other side. `sum` of UDP has the sender's bytes and rate, and the receiver's seconds.

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
    let is_server = value["start"]["accepted_connection"].is_object();
    for way in WAYS {
        let sum = |name: &str| &end[format!("{name}{way}")];
        for name in ["sum_sent", "sum_received", "sum"] {
            rate(end, (name, way), &mut note);
        }
        let bytes = |name: &str| sum(name)["bytes"].as_u64();
        // What the other side has sent, or received, a server does not know, and writes 0.
        if let (Some(sent), Some(received)) = (bytes("sum_sent"), bytes("sum_received"))
            && received > sent
            && !(is_server && sent == 0)
        {
            note(Kind::Impossible, format!("{received} bytes received of {sent} sent"));
        }
        streams(end, way, &mut note);
        losses(sum("sum"), &mut note);
    }
    wire(value, link, &mut note);
    for (side, name) in [("this host", "host_total"), ("the other host", "remote_total")] {
        let load = end["cpu_utilization_percent"][name].as_f64();
        if let Some(load) = load.filter(|load| *load > 90.0) {
            let text = format!("{side} was busy for {load:.0} %: the tester may be the limit");
            note(Kind::Ambiguous, text);
        }
    }
}

/// What iperf3 wrote of each pair, kept with our rows: sums against rates and streams.
pub(super) fn kept(results: &measure::iperf3::Results, note: &mut Note) {
    for row in &results.rows {
        let setting = &row.setting;
        let place = format!("{}, {}, {} byte", setting.device, setting.protocol, setting.packet);
        for pair in &row.pairs_run {
            for (who, value) in [("client", &pair.client), ("server", &pair.server)] {
                let end = &value["end"];
                let mut note =
                    |kind, text| note(None, kind, format!("{place}: the {who}'s JSON: {text}"));
                for way in WAYS {
                    for name in ["sum_sent", "sum_received", "sum"] {
                        rate(end, (name, way), &mut note);
                    }
                    streams(end, way, &mut note);
                }
            }
        }
    }
}

/// Rows of our method that were half as fast again through a device as the same hosts node to node: one
/// of the two was disturbed.
pub(super) fn beyond_the_hosts(results: &measure::iperf3::Results) -> Vec<String> {
    let valid = results.rows.iter().filter(|row| row.validity.is_valid());
    let beyond = valid.filter_map(|row| {
        let (alone, through) = (results.alone(&row.setting)?, row.l3_mbps);
        (through > 1.5 * alone).then(|| {
            format!(
                "{}, packets of {} bytes: {through:.1} Mbps(L3), and {alone:.1} without a device: one \
                 of the two was disturbed",
                row.setting.device, row.setting.packet
            )
        })
    });
    beyond.collect()
}

/// What the names of sums end with: those of `--bidir` have a second set, of the way back.
const WAYS: [&str; 2] = ["", "_bidir_reverse"];

/// Bits per second are bytes by seconds.
fn rate(end: &Value, (name, way): (&str, &str), note: &mut impl FnMut(Kind, String)) {
    let sum = &end[format!("{name}{way}")];
    let number = |field: &str| sum[field].as_f64();
    let (Some(bytes), Some(seconds), Some(rate)) =
        (number("bytes"), number("seconds"), number("bits_per_second"))
    else {
        return;
    };
    let fits = |seconds: f64| {
        // The time they were divided by may be another clock's, a few milliseconds off.
        let exact = bytes * 8.0 / seconds;
        seconds <= 0.0 || (rate - exact).abs() <= exact.abs() * 0.005
    };
    // `sum` of UDP has the seconds of one side, and the rate of the other.
    let other = |name: &str| end[format!("{name}{way}")]["seconds"].as_f64();
    let others = ["sum_sent", "sum_received"].into_iter().filter_map(other);
    let mut others = others.filter(|_| name == "sum");
    if !fits(seconds) && !others.any(fits) {
        let text = format!(
            "{name}{way}: {bytes} bytes in {seconds} s are {:.1} Mbps, not {:.1}",
            bytes * 8.0 / seconds / 1e6,
            rate / 1e6
        );
        note(Kind::Inconsistent, text);
    }
}

/// The streams of one direction add up.
fn streams(end: &Value, way: &str, note: &mut impl FnMut(Kind, String)) {
    let Some(streams) = end["streams"].as_array() else { return };
    let is_bidir = end.as_object().is_some_and(|end| end.keys().any(|key| key.ends_with(WAYS[1])));
    for (part, name) in [("sender", "sum_sent"), ("receiver", "sum_received"), ("udp", "sum")] {
        let sum = &end[format!("{name}{way}")];
        // Of --bidir, those that this side sends, or those that it receives, as the sum says.
        let is_of = |part: &Value| !is_bidir || part["sender"] == sum["sender"];
        let parts = || streams.iter().map(|stream| &stream[part]).filter(|part| is_of(part));
        let bytes = parts()
            .map(|part| part["bytes"].as_u64())
            .try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?)));
        let (Some(bytes), Some(sum_bytes)) = (bytes, sum["bytes"].as_u64()) else { continue };
        if bytes != sum_bytes && parts().next().is_some() {
            let text = format!("{name}{way}: {sum_bytes} bytes, but its streams add up to {bytes}");
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
    for sum in WAYS.map(|way| format!("{sum}{way}")) {
        let Some(rate) = end[&sum]["bits_per_second"].as_f64().filter(|&rate| rate > most) else {
            continue;
        };
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
