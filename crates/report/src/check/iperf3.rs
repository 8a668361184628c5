//! Files of `iperf3 --json`, as versions 3.0 to 3.17 write them.
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
    let has_sums = end.as_object().is_some_and(|end| end.keys().any(|key| key.starts_with("sum")));
    if !has_sums && !value["error"].is_string() {
        let text = "it has no sums at its `end`: the run did not end, and what it did is not told";
        note(Kind::Inconsistent, text.to_string());
    }
    let is_server = value["start"]["accepted_connection"].is_object();
    figures(value, &mut note);
    for way in WAYS {
        let sum = |name: &str| &end[format!("{name}{way}")];
        let bytes = |name: &str| sum(name)["bytes"].as_u64();
        // What the other side has sent, or received, a server does not know, nor does a client that was
        // interrupted: it writes 0.
        if let (Some(sent), Some(received)) = (bytes("sum_sent"), bytes("sum_received"))
            && received > sent
            && !(sent == 0 && (is_server || value["error"].is_string()))
        {
            note(Kind::Impossible, format!("{received} bytes received of {sent} sent"));
        }
        losses("", sum("sum"), &mut note);
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

/// What the names of sums end with: those of `--bidir` have a second set, of the way back.
const WAYS: [&str; 2] = ["", "_bidir_reverse"];

/// What every run's numbers are to each other at its end.
fn figures(value: &Value, note: &mut impl FnMut(Kind, String)) {
    let end = &value["end"];
    for way in WAYS {
        for name in ["sum_sent", "sum_received", "sum"] {
            // `sum` of UDP has the seconds of one side, and the rate of the other.
            let other = |name: &str| end[format!("{name}{way}")]["seconds"].as_f64();
            let others = ["sum_sent", "sum_received"].into_iter().filter_map(other);
            let others: Vec<f64> = others.filter(|_| name == "sum").collect();
            let name_of = format!("{name}{way}");
            rate(&name_of, &end[&name_of], (&others, OF_SUMS), note);
            if name != "sum" {
                losses(&format!("{name_of}: "), &end[&name_of], note);
            }
        }
        for (part, name) in [("sender", "sum_sent"), ("receiver", "sum_received"), ("udp", "sum")] {
            streams(end, &format!("{name}{way}"), |stream| &stream[part], note);
        }
    }
    let took = WAYS.iter().flat_map(|way| {
        ["sum_sent", "sum_received", "sum"]
            .map(|name| end[format!("{name}{way}")]["seconds"].as_f64())
    });
    let took: Vec<f64> = took.flatten().collect();
    for (stream, n) in end["streams"].as_array().into_iter().flatten().zip(1..) {
        for part in ["sender", "receiver", "udp"] {
            let place = format!("stream {n}, {part}");
            rate(&place, &stream[part], (&took, OF_STREAMS), note);
            losses(&format!("{place}: "), &stream[part], note);
        }
    }
}

/// The time that bytes of a sum were divided by may be another clock's, a few milliseconds off; that of one
/// stream at the other host's end a few more.
const OF_SUMS: f64 = 0.005;
const OF_STREAMS: f64 = 0.02;

/// Bits per second are bytes by seconds, its own or one of `others`, but for a share of `slack`.
fn rate(
    name: &str,
    sum: &Value,
    (others, slack): (&[f64], f64),
    note: &mut impl FnMut(Kind, String),
) {
    let number = |field: &str| sum[field].as_f64();
    let (Some(bytes), Some(seconds), Some(rate)) =
        (number("bytes"), number("seconds"), number("bits_per_second"))
    else {
        return;
    };
    let fits = |seconds: f64| {
        let exact = bytes * 8.0 / seconds;
        seconds <= 0.0 || (rate - exact).abs() <= exact.abs() * slack
    };
    if !fits(seconds) && !others.iter().copied().any(fits) {
        let text = format!(
            "{name}: {bytes} bytes in {seconds} s are {:.1} Mbps, not {:.1}",
            bytes * 8.0 / seconds / 1e6,
            rate / 1e6
        );
        note(Kind::Inconsistent, text);
    }
}

/// The streams of one direction add up to its sum; `part` is what of each is summed there.
fn streams<'a>(
    all: &'a Value,
    name: &str,
    part: impl Fn(&'a Value) -> &'a Value,
    note: &mut impl FnMut(Kind, String),
) {
    let Some(streams) = all["streams"].as_array() else { return };
    let sum = &all[name];
    let is_bidir = all.as_object().is_some_and(|all| all.keys().any(|key| key.ends_with(WAYS[1])));
    // Of --bidir, those that this side sends, or those that it receives, as the sum says.
    let is_of = |part: &&Value| !is_bidir || part["sender"] == sum["sender"];
    let parts: Vec<&Value> = streams.iter().map(part).filter(is_of).collect();
    for field in ["bytes", "packets", "lost_packets"] {
        let mut added = parts.iter().map(|part| part[field].as_i64());
        let added = added.try_fold(0i64, |sum, number| sum.checked_add(number?));
        let (Some(added), Some(said)) = (added, sum[field].as_i64()) else { continue };
        if added != said && !parts.is_empty() {
            let field = field.replace('_', " ");
            let text = format!("{name}: {said} {field}, but its streams add up to {added}");
            note(Kind::Inconsistent, text);
        }
    }
}

/// Losses of UDP, which counts them itself.
fn losses(place: &str, sum: &Value, note: &mut impl FnMut(Kind, String)) {
    let (Some(packets), Some(lost)) = (sum["packets"].as_f64(), sum["lost_packets"].as_f64())
    else {
        return;
    };
    if let Some(out) = sum["out_of_order"].as_f64().filter(|out| *out > packets) {
        note(Kind::Impossible, format!("{place}{out} packets out of order of {packets}"));
    }
    if lost > packets || lost < 0.0 {
        note(Kind::Impossible, format!("{place}{lost} packets lost of {packets}"));
    } else if let Some(percent) = sum["lost_percent"].as_f64().filter(|_| packets > 0.0) {
        let exact = lost / packets * 100.0;
        // Beside what was received it is a share of what was sent, counted a moment earlier or later.
        let slack = if place.is_empty() { 0.01 } else { 0.01 + exact * 0.02 };
        // A server leaves a stream's at 0.
        let is_untold = percent == 0.0 && place.starts_with("stream");
        if !is_untold && (exact - percent).abs() > slack {
            note(
                Kind::Inconsistent,
                format!("{place}{lost} of {packets} packets are {exact:.3} %, not {percent}"),
            );
        } else if lost > 0.0 && percent < 0.005 && place.is_empty() {
            note(Kind::Rounded, format!("{lost} packets are lost, which shows as 0.00 %"));
        }
    }
}

/// What the wire carries of the payload, packets being as large as they were.
fn wire(value: &Value, link: Option<f64>, note: &mut impl FnMut(Kind, String)) {
    let Some(link) = link else { return };
    let (start, end) = (&value["start"], &value["end"]);
    let udp = start["test_start"]["protocol"].as_str() == Some("UDP");
    let payload = match udp {
        true => &start["test_start"]["blksize"],
        // That of -M, if it was asked for.
        false if start["tcp_mss"].is_number() => &start["tcp_mss"],
        false => &start["tcp_mss_default"],
    };
    let Some(payload) = payload.as_f64().filter(|&bytes| bytes > 0.0) else { return };
    // The default MSS is told with or without its options: at best there are none. A datagram that is
    // longer than a frame takes more than one: at best it were one.
    let header = if udp { UDP } else { TCP - 12.0 };
    let most = link * payload / (payload + header + L2 + L1);
    let sum = if end["sum_received"].is_object() { "sum_received" } else { "sum" };
    for sum in WAYS.map(|way| format!("{sum}{way}")) {
        let Some(rate) = end[&sum]["bits_per_second"].as_f64().filter(|&rate| rate > most) else {
            continue;
        };
        let text = format!(
            "{sum}: {:.1} Mbps of payload in packets of {} bytes are {} what the wire carries, {:.1} \
             at most",
            rate / 1e6,
            payload + header,
            above(rate, most),
            most / 1e6
        );
        note(Kind::Impossible, text);
    }
}
