//! How long packets took there and back: a picture for each program that asked, and a table.
//!
//! ```text
//!  times kept ─► a strip for each device, all of its turns    not kept ─► least, median, 99 %, most
//! ```

use super::super::chart::{Chart, Series, escape};
use super::super::distribution::{self, Strip};
use super::super::wire_latency;
use crate::number::thousands;
use crate::suite::whole;
use measure::compare::median;
use measure::iperf3::{Latency, Results, Tool};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The part of the page; nothing if nobody asked.
pub(super) fn part(results: &Results) -> String {
    let all = results.latencies.as_slice();
    if all.is_empty() {
        return String::new();
    }
    let mut out = "<h2>How long a packet takes there and back</h2>\n".to_string();
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
    out += &table(all);
    out += "<p class=\"note\">Round trips, from the sending program and back to it: both hosts and their \
            systems are part of them. Lost: packets that were not answered.</p>\n";
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

fn table(all: &[Latency]) -> String {
    let mut out = "<div class=\"wide\"><table>\n<thead><tr><th>Device</th><th>Asked by</th><th>Sent</th>\
                   <th>Lost</th><th>Least, µs</th><th>Median, µs</th><th>Mean, µs</th><th>99 %, µs</th>\
                   <th>Most, µs</th></tr></thead>\n<tbody>\n"
        .to_string();
    let us = |ns: u64| thousands(ns as f64 / 1e3);
    for of in
        [Tool::Ping, Tool::Irtt].iter().flat_map(|tool| all.iter().filter(|of| of.tool == *tool))
    {
        let Latency { device, tool, sent, received, min_ns, median_ns, .. } = of;
        let mark = super::mark(of.validity.invalid.as_ref());
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{tool}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}{mark}</td>\
             <td>{}</td><td>{}</td></tr>",
            escape(device),
            whole(*sent as f64),
            whole(sent.saturating_sub(*received) as f64),
            us(*min_ns),
            us(*median_ns),
            us(of.mean_ns),
            us(of.p99_ns),
            us(of.max_ns)
        );
    }
    out + "</tbody>\n</table></div>\n"
}
