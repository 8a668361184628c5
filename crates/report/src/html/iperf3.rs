//! Drawings of the iperf3 method: rate by packet length beside what the wire carries, how long packets
//! take, rate and round trip by TCP's window.

use super::chart::{Chart, Series};
use super::distribution::{self, Strip};
use super::wire_latency;
use crate::number::thousands;
use measure::compare::median;
use measure::iperf3::{Direction, HostPath, HostTransfer, Latency, Protocol, Row, Tool};
use std::collections::BTreeMap;

/// Rate against length, of valid rows; of a single length against turns, if there are several; else nothing.
pub(crate) fn rates(protocol: Protocol, direction: Direction, rows: &[&Row]) -> String {
    let mut packets: Vec<u32> = rows.iter().map(|row| row.setting.packet).collect();
    packets.sort_unstable();
    packets.dedup();
    let mut devices: Vec<&str> = vec![];
    for row in rows {
        if !devices.contains(&row.setting.device.as_str()) {
            devices.push(&row.setting.device);
        }
    }
    let turns = |device: &str, packet: u32| -> Vec<Option<f64>> {
        let of = rows.iter().filter(|row| row.setting.device == device);
        let of = of.filter(|row| row.setting.packet == packet);
        of.map(|row| row.validity.is_valid().then_some(row.l3_mbps)).collect()
    };
    let most = |packet: u32| {
        rows.iter().find(|row| row.setting.packet == packet).and_then(|row| row.most_l3_mbps())
    };
    let by_turn = match packets.as_slice() {
        [packet] => {
            let n = devices.iter().map(|device| turns(device, *packet).len()).max().unwrap_or(0);
            (n > 1).then_some((*packet, n))
        }
        _ => None,
    };
    if packets.len() < 2 && by_turn.is_none() {
        return String::new();
    }
    let line = |name: &str, points: Vec<Option<f64>>, reference| Series {
        reference,
        ..Series::line(name, points)
    };
    let (title, x_name, x, wire, lines): (_, _, Vec<String>, Vec<_>, Vec<Series>) = match by_turn {
        Some((packet, n)) => (
            format!("{protocol}, {direction}: rate of IP packets of {packet} bytes, turn by turn"),
            "turn",
            (1..=n).map(|turn| turn.to_string()).collect(),
            vec![most(packet); n],
            devices.iter().map(|device| line(device, turns(device, packet), false)).collect(),
        ),
        None => {
            let middle = |device: &str, packet: u32| {
                let mut all: Vec<f64> = turns(device, packet).into_iter().flatten().collect();
                all.sort_by(f64::total_cmp);
                median(&all)
            };
            let of = |device: &str| packets.iter().map(|&packet| middle(device, packet)).collect();
            (
                format!("{protocol}, {direction}: rate of IP packets by their length"),
                "IP packet, bytes",
                packets.iter().map(u32::to_string).collect(),
                packets.iter().map(|&packet| most(packet)).collect(),
                devices.iter().map(|device| line(device, of(device), false)).collect(),
            )
        }
    };
    let mut series = vec![];
    if wire.iter().any(Option::is_some) {
        series.push(line("the wire (theoretical)", wire, true));
    }
    series.extend(lines);
    let chart = Chart {
        title,
        y_name: "Mbps (L3), all pairs together",
        x_name,
        x,
        series,
        show: |mbps| thousands(mbps).trim_end_matches(".0").to_string(),
        ..Chart::default()
    };
    chart.svg()
}

/// How long packets took, a drawing for each tool that asked.
pub(crate) fn latencies(all: &[Latency]) -> String {
    let mut out = String::new();
    for (tool, how) in [
        (Tool::Ping, "ping: ICMP, the next packet when the answer is there"),
        (Tool::Irtt, "irtt: UDP, a packet every 200 µs"),
    ] {
        let valid = all.iter().filter(|of| of.validity.is_valid());
        let of: Vec<&Latency> = valid.filter(|of| of.tool == tool).collect();
        if !of.is_empty() {
            out += &picture(how, &of);
        }
    }
    out
}

/// The devices, in order of their first appearance.
fn devices<'a>(all: &[&'a Latency]) -> Vec<&'a str> {
    let mut devices: Vec<&str> = Vec::new();
    for of in all {
        if !devices.contains(&of.device.as_str()) {
            devices.push(&of.device);
        }
    }
    devices
}

fn picture(title: &str, all: &[&Latency]) -> String {
    let devices = devices(all);
    let turns = |device: &str| -> Vec<&Latency> {
        all.iter().filter(|of| of.device == device).copied().collect()
    };
    if all.iter().any(|of| of.histogram.is_empty()) {
        let series = devices.iter().map(|device| quantiles(device, &turns(device)));
        return Chart {
            title: title.to_string(),
            y_name: "there and back, medians of turns",
            x_name: "share of packets that did not take longer",
            x: ["fastest", "50 %", "99 %", "slowest"].map(String::from).to_vec(),
            logarithmic: true,
            series: series.collect(),
            show: |ns| wire_latency(ns as u64),
            ..Chart::default()
        }
        .svg();
    }
    let merged = |turns: Vec<&Latency>| {
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for &(ns, n) in turns.into_iter().flat_map(|of| &of.histogram) {
            *buckets.entry(ns).or_default() += n;
        }
        buckets.into_iter().collect::<Vec<_>>()
    };
    let all: Vec<Vec<(u64, u64)>> = devices.iter().map(|device| merged(turns(device))).collect();
    let strips: Vec<Strip<'_>> = devices
        .iter()
        .zip(&all)
        .map(|(device, buckets)| Strip { name: (*device).to_string(), buckets })
        .collect();
    let caption = "The lines across a distribution are its median and its 99.9th percentile.";
    distribution::svg(title, caption, &strips)
}

/// A device's line: of each quantile the median of its turns.
fn quantiles(device: &str, turns: &[&Latency]) -> Series {
    let middle = |of: fn(&Latency) -> u64| {
        let mut all: Vec<f64> = turns.iter().map(|turn| of(turn) as f64).collect();
        all.sort_by(f64::total_cmp);
        median(&all)
    };
    let points = [
        middle(|of| of.min_ns),
        middle(|of| of.median_ns),
        middle(|of| of.p99_ns),
        middle(|of| of.max_ns),
    ];
    Series::line(device, points.to_vec())
}

/// Each that is valid.
fn valid(of: &HostPath) -> impl Iterator<Item = &HostTransfer> {
    of.transfers.iter().filter(|transfer| of.invalid(transfer).is_none())
}

fn mbps(transfer: &HostTransfer) -> f64 {
    transfer.bytes as f64 * 8.0 / transfer.seconds / 1e6
}

/// A window in few letters: 64 KiB.
fn short(bytes: u32) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => n.to_string(),
    }
}

/// Rate, and how long the round trip is meanwhile, against window, of what is valid; nothing for a single
/// window.
pub(crate) fn paths(paths: &[HostPath]) -> String {
    let mut windows: Vec<u32> =
        paths.iter().flat_map(valid).map(|transfer| transfer.window).collect();
    windows.sort_unstable();
    windows.dedup();
    if windows.len() < 2 {
        return String::new();
    }
    let line = |of: &HostPath, value: &dyn Fn(&HostTransfer) -> Option<f64>| {
        let at = |window: &u32| valid(of).find(|t| t.window == *window).and_then(value);
        Series::line(of.device.clone(), windows.iter().map(at).collect())
    };
    let flat = |name: String, value: f64| Series::limit(name, vec![Some(value); windows.len()]);
    let x: Vec<String> = windows.iter().map(|window| short(*window)).collect();
    let x_name = "window of each connection";
    let best = |of: &HostPath| of.path().ideal_bps() / 1e6;
    let mut rates: Vec<Series> = Vec::new();
    let best = paths.iter().map(best).fold(0.0, f64::max);
    rates.push(flat("TCP at best (theoretical)".to_string(), best));
    rates.extend(paths.iter().map(|of| line(of, &|transfer| Some(mbps(transfer)))));
    let rates = Chart {
        title: "Rate of the transfer by window".to_string(),
        y_name: "Mbps of TCP payload, all connections together",
        x_name,
        x: x.clone(),
        series: rates,
        show: |mbps| thousands(mbps).trim_end_matches(".0").to_string(),
        ..Chart::default()
    };
    let mut trips: Vec<Series> = paths
        .iter()
        .map(|of| line(of, &|transfer| transfer.rtt_us.map(|us| us as f64 * 1e3)))
        .collect();
    let empty = |of: &HostPath| flat(format!("{}, empty", of.device), of.rtt_ns as f64);
    trips.extend(paths.iter().map(empty));
    let trips = Chart {
        title: "Buffer delay: the round trip during the transfer, and on the empty path"
            .to_string(),
        y_name: "round trip, mean of all connections",
        x_name,
        x,
        logarithmic: true,
        series: trips,
        show: |ns| wire_latency(ns as u64),
        ..Chart::default()
    };
    rates.svg() + &trips.svg()
}
