//! What TCP makes of each path (RFC 6349): the paths, rate and round trip against window, a line for
//! each transfer.

use super::super::chart::{Chart, Series, escape};
use super::super::wire_latency;
use crate::number::thousands;
use crate::suite::whole;
use measure::iperf3::{HostPath, HostTransfer, Results};
use std::fmt::Write;

/// The part of the page; nothing if no path was measured.
pub(super) fn part(results: &Results) -> String {
    let paths = results.paths.as_slice();
    if paths.is_empty() {
        return String::new();
    }
    let mut out = "<h2>What TCP makes of the path (RFC 6349)</h2>\n".to_string();
    out += &charts(paths);
    out += &table(paths);
    out += "<p class=\"note\">Transfer time ratio: the time that the transfer took by the time that it \
            takes at best; 1 is the best. Efficiency: the share of what was sent that was not sent again. \
            Buffer delay: by how much the round trip was longer than on the empty path. Of BDP: all \
            connections' windows by the bandwidth-delay product; below 100 % the window is the \
            limit.</p>\n";
    out
}

/// What each path is, then its transfers.
fn table(paths: &[HostPath]) -> String {
    let mut out = "<div class=\"wide\"><table class=\"num\">\n<thead><tr><th>The path</th><th>MTU, byte</th>\
                   <th>Round trip, empty, µs</th><th>Narrowest place, Mbps (L2)</th>\
                   <th>Bandwidth-delay product, byte</th><th>TCP at best, Mbps (payload)</th></tr></thead>\n<tbody>\n"
        .to_string();
    for of in paths {
        let path = of.path();
        let smaller = if of.mtu_is_limit { "<sup>s</sup>" } else { "" };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}{smaller}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&of.device),
            of.mtu,
            thousands(of.rtt_ns as f64 / 1e3),
            thousands(path.bottleneck_bps() / 1e6),
            whole(path.bdp_bytes().round()),
            thousands(path.ideal_bps() / 1e6)
        );
    }
    out += "</tbody>\n</table></div>\n";
    if paths.iter().any(|of| of.mtu_is_limit) {
        out +=
            "<p class=\"note\">s: longer packets were tried, and did not come through whole</p>\n";
    }
    out += "<div class=\"wide\"><table class=\"num tight\">\n<thead><tr><th>Through</th><th>Window, byte</th><th>Of BDP, %</th>\
            <th>Connec&shy;tions</th><th>Mbps (TCP payload)</th><th>Transfer time ratio</th><th>Efficiency, %</th>\
            <th>Sent again</th><th>RTT, µs</th><th>Buffer delay, %</th></tr></thead>\n<tbody>\n";
    for (of, transfer) in each(paths) {
        let all = f64::from(transfer.window) * f64::from(transfer.connections);
        let dash = || "–".to_string();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.3}{}</td><td>{:.3}</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&of.device),
            whole(f64::from(transfer.window)),
            whole(all / of.path().bdp_bytes() * 100.0),
            transfer.connections,
            thousands(mbps(transfer)),
            transfer.ratio,
            super::mark(of.invalid(transfer)),
            transfer.efficiency,
            whole(transfer.retransmits as f64),
            transfer.rtt_us.map_or_else(dash, |us| whole(us as f64)),
            transfer.buffer_delay.map_or_else(dash, whole)
        );
    }
    out + "</tbody>\n</table></div>\n"
}

/// Each that is valid.
fn valid(of: &HostPath) -> impl Iterator<Item = &HostTransfer> {
    of.transfers.iter().filter(|transfer| of.invalid(transfer).is_none())
}

fn each(paths: &[HostPath]) -> impl Iterator<Item = (&HostPath, &HostTransfer)> {
    paths.iter().flat_map(|of| of.transfers.iter().map(move |transfer| (of, transfer)))
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
fn charts(paths: &[HostPath]) -> String {
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
