//! Drawings of the iperf3 method: rate by packet length beside what the wire carries, how long packets
//! take, rate and round trip by TCP's window.

use super::chart::{Chart, Series};
use super::distribution;
use crate::document::once;
use crate::number::thousands;
use measure::compare::median;
use measure::iperf3::{Direction, HostPath, HostTransfer, Latency, Protocol, Row, Tool};
use std::collections::{BTreeMap, BTreeSet};

/// Rate against length, of valid rows; of a single length against turns, if there are several; else nothing.
pub(crate) fn rates(protocol: Protocol, direction: Direction, rows: &[&Row]) -> String {
    let packets: BTreeSet<u32> = rows.iter().map(|row| row.setting.packet).collect();
    let packets: Vec<u32> = packets.into_iter().collect();
    let devices = once(rows.iter().map(|row| row.setting.device.as_str()));
    let of = |packet: u32| rows.iter().filter(move |row| row.setting.packet == packet);
    let turns = |device: &str, packet: u32| -> Vec<Option<f64>> {
        let of = of(packet).filter(|row| row.setting.device == device);
        of.map(|row| row.validity.is_valid().then_some(row.l3_mbps)).collect()
    };
    let most = |packet: u32| of(packet).next().and_then(|row| row.most_l3_mbps());
    let by_turn = match packets.as_slice() {
        [packet] => devices.iter().map(|device| turns(device, *packet).len()).max().unwrap_or(0),
        _ => 0,
    };
    let (title, x_name, x, wire) = match packets.as_slice() {
        [packet] if by_turn > 1 => (
            format!("rate of IP packets of {packet} bytes, turn by turn"),
            "turn",
            (1..=by_turn).map(|turn| turn.to_string()).collect(),
            vec![most(*packet); by_turn],
        ),
        [] | [_] => return String::new(),
        several => (
            "rate of IP packets by their length".to_string(),
            "IP packet, bytes",
            several.iter().map(u32::to_string).collect(),
            several.iter().map(|&packet| most(packet)).collect(),
        ),
    };
    let mut series: Vec<Series> = vec![];
    if wire.iter().any(Option::is_some) {
        series.push(Series::limit("the wire (theoretical)", wire));
    }
    series.extend(devices.iter().map(|device| match by_turn {
        0 => {
            let middle = |&packet: &u32| middle(turns(device, packet).into_iter().flatten());
            Series::line(*device, packets.iter().map(middle).collect())
        }
        _ => Series::line(*device, turns(device, packets[0])),
    }));
    let chart = Chart {
        title: format!("{protocol}, {direction}: {title}"),
        y_name: "Mbps (L3), all pairs together",
        x_name,
        x,
        series,
        show: |mbps| thousands(mbps).trim_end_matches(".0").to_string(),
        ..Chart::default()
    };
    chart.svg()
}

/// The median.
fn middle(all: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    median(&all)
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

fn picture(title: &str, all: &[&Latency]) -> String {
    let devices = once(all.iter().map(|of| of.device.as_str()));
    let turns = |device: &&str| -> Vec<&Latency> {
        all.iter().filter(|of| of.device == *device).copied().collect()
    };
    if all.iter().any(|of| of.histogram.is_empty()) {
        // Of each quantile the median of the turns.
        let line = |device: &&str| {
            let middle = |of: fn(&Latency) -> u64| {
                middle(turns(device).into_iter().map(|turn| of(turn) as f64))
            };
            let [least, most] = [middle(|of| of.min_ns), middle(|of| of.max_ns)];
            let points = vec![least, middle(|of| of.median_ns), middle(|of| of.p99_ns), most];
            Series::line(*device, points)
        };
        return Chart {
            title: title.to_string(),
            y_name: "there and back, medians of turns",
            x_name: "share of packets that did not take longer",
            series: devices.iter().map(line).collect(),
            ..Chart::of_times(&["fastest", "50 %", "99 %", "slowest"])
        }
        .svg();
    }
    let merged = |device: &&str| {
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for &(ns, n) in turns(device).into_iter().flat_map(|of| &of.histogram) {
            *buckets.entry(ns).or_default() += n;
        }
        buckets.into_iter().collect::<Vec<_>>()
    };
    let all: Vec<Vec<(u64, u64)>> = devices.iter().map(merged).collect();
    let strips = devices.iter().zip(&all).map(|(device, all)| (device.to_string(), &all[..]));
    let caption = "The lines across a distribution are its median and its 99.9th percentile.";
    distribution::svg(title, caption, strips)
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
    let windows: BTreeSet<u32> = paths.iter().flat_map(valid).map(|one| one.window).collect();
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
        show: distribution::round,
        ..Chart::default()
    };
    rates.svg() + &trips.svg()
}
