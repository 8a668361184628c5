//! The iperf3 method's results for other programs.
//!
//! ```text
//! kind,device,protocol,…,tool,sent,…,window,…       throughput │ latency │ transfer: a line for each,
//!                                                   empty where a column is of another kind
//! ```

use super::{escaped, optional};
use crate::iperf3::beside;
use crate::number::thousands;
use crate::suite::whole;
use measure::iperf3::{HostPath, HostTransfer, Latency, Protocol, Results, Row, Validity};
use std::fmt::Write;

/// A line of the CSV.
#[derive(Clone, Copy)]
enum Line<'a> {
    Throughput(&'a Row),
    Latency(&'a Latency),
    Transfer(&'a HostPath, &'a HostTransfer),
}

impl<'a> Line<'a> {
    fn row(self) -> Option<&'a Row> {
        if let Line::Throughput(row) = self { Some(row) } else { None }
    }

    fn latency(self) -> Option<&'a Latency> {
        if let Line::Latency(of) = self { Some(of) } else { None }
    }

    fn path(self) -> Option<&'a HostPath> {
        if let Line::Transfer(path, _) = self { Some(path) } else { None }
    }

    fn transfer(self) -> Option<&'a HostTransfer> {
        if let Line::Transfer(_, transfer) = self { Some(transfer) } else { None }
    }

    fn validity(self) -> &'a Validity {
        match self {
            Line::Throughput(row) => &row.validity,
            Line::Latency(of) => &of.validity,
            Line::Transfer(_, transfer) => &transfer.validity,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Line::Throughput(_) => "throughput",
            Line::Latency(_) => "latency",
            Line::Transfer(..) => "transfer",
        }
    }

    fn device(self) -> &'a str {
        match self {
            Line::Throughput(row) => &row.setting.device,
            Line::Latency(of) => &of.device,
            Line::Transfer(path, _) => &path.device,
        }
    }
}

/// A column of the CSV: its name, and how a line has it.
type Column = (&'static str, fn(Line<'_>) -> String);

const COLUMNS: [Column; 42] = [
    ("kind", |of| of.kind().to_string()),
    ("device", |of| of.device().to_string()),
    ("protocol", |of| optional(of.row().map(|row| row.setting.protocol))),
    ("direction", |of| optional(of.row().map(|row| row.setting.direction))),
    ("packet_l3", |of| optional(of.row().map(|row| row.setting.packet))),
    ("pairs", |of| optional(of.row().map(|row| row.setting.pairs))),
    ("streams", |of| optional(of.row().map(|row| row.setting.streams))),
    ("length", |of| optional(of.row().map(|row| row.length))),
    ("mss", |of| optional(of.row().map(|row| row.mss))),
    ("payload_mbps", |of| optional(of.row().map(|row| row.payload_mbps))),
    ("l3_mbps", |of| optional(of.row().map(|row| row.l3_mbps))),
    ("l2_without_fcs_mbps", |of| optional(of.row().map(|row| row.l2_without_fcs_mbps))),
    ("l2_mbps", |of| optional(of.row().map(|row| row.l2_mbps))),
    ("l1_mbps", |of| optional(of.row().map(|row| row.l1_mbps))),
    ("kpps", |of| optional(of.row().map(|row| row.kpps))),
    ("link_l1_mbps", |of| optional(of.row().and_then(|row| row.setting.link_mbps))),
    ("retransmits", |of| {
        let of_transfer = of.transfer().map(|transfer| transfer.retransmits);
        optional(of.row().and_then(|row| row.retransmits).or(of_transfer))
    }),
    ("lost_packet", |of| optional(of.row().and_then(|row| row.lost))),
    ("fault", |of| {
        let faults = of.row().map(Row::faults).unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }),
    ("tool", |of| optional(of.latency().map(|latency| latency.tool))),
    ("sent", |of| optional(of.latency().map(|latency| latency.sent))),
    ("received", |of| optional(of.latency().map(|latency| latency.received))),
    ("rtt_min_ns", |of| optional(of.latency().map(|latency| latency.min_ns))),
    ("rtt_median_ns", |of| optional(of.latency().map(|latency| latency.median_ns))),
    ("rtt_mean_ns", |of| {
        let of_transfer =
            of.transfer().and_then(|transfer| transfer.rtt_us).map(|us| us.saturating_mul(1000));
        optional(of.latency().map(|latency| latency.mean_ns).or(of_transfer))
    }),
    ("rtt_p99_ns", |of| optional(of.latency().map(|latency| latency.p99_ns))),
    ("rtt_max_ns", |of| optional(of.latency().map(|latency| latency.max_ns))),
    ("path_mtu", |of| optional(of.path().map(|path| path.mtu))),
    ("path_rtt_ns", |of| optional(of.path().map(|path| path.rtt_ns))),
    ("path_bottleneck_l2_mbps", |of| {
        optional(of.path().map(|path| path.path().bottleneck_bps() / 1e6))
    }),
    ("path_bdp_byte", |of| optional(of.path().map(|path| path.path().bdp_bytes()))),
    ("path_ideal_tcp_mbps", |of| optional(of.path().map(|path| path.path().ideal_bps() / 1e6))),
    ("window", |of| optional(of.transfer().map(|transfer| transfer.window))),
    ("connections", |of| optional(of.transfer().map(|transfer| transfer.connections))),
    ("transferred_byte", |of| optional(of.transfer().map(|transfer| transfer.bytes))),
    ("transfer_s", |of| optional(of.transfer().map(|transfer| transfer.seconds))),
    ("transfer_time_ratio", |of| optional(of.transfer().map(|transfer| transfer.ratio))),
    ("efficiency_percent", |of| optional(of.transfer().map(|transfer| transfer.efficiency))),
    ("buffer_delay_percent", |of| {
        optional(of.transfer().and_then(|transfer| transfer.buffer_delay))
    }),
    ("stolen_ns", |of| of.validity().stolen_ns.to_string()),
    ("repeated", |of| of.validity().disturbed.len().to_string()),
    ("invalid", |of| match of {
        Line::Transfer(path, transfer) => optional(path.invalid(transfer)),
        _ => optional(of.validity().invalid.as_ref()),
    }),
];

fn lines(results: &Results) -> impl Iterator<Item = Line<'_>> {
    let transfers = results
        .paths
        .iter()
        .flat_map(|path| path.transfers.iter().map(move |transfer| Line::Transfer(path, transfer)));
    let rows = results.rows.iter().map(Line::Throughput);
    rows.chain(results.latencies.iter().map(Line::Latency)).chain(transfers)
}

/// All of it as CSV (RFC 4180), with a header, nothing rounded.
pub fn iperf3_csv(results: &Results) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Into memory nothing fails.
    let _ = writer.write_record(COLUMNS.iter().map(|(name, _)| *name));
    for line in lines(results) {
        let _ = writer.write_record(COLUMNS.iter().map(|(_, of)| of(line)));
    }
    String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
}

/// All of it as Markdown tables, with what cannot be said below them.
pub fn iperf3_markdown(results: &Results) -> String {
    let mut out = String::new();
    besides(&mut out, results);
    rows(&mut out, &results.rows);
    latencies(&mut out, &results.latencies);
    paths(&mut out, &results.paths);
    let environment = &results.environment;
    let _ = writeln!(
        out,
        "{}, {} cores, {}; commit {}, {}; `{}`",
        escaped(&environment.cpu),
        environment.cores,
        escaped(&environment.kernel),
        environment.commit,
        environment.timestamp,
        environment.command.replace('`', "'"),
    );
    for omitted in &results.omitted {
        let _ = writeln!(out, "\n*Omitted:* {}.", escaped(omitted));
    }
    for repeated in results.repeated() {
        let _ = writeln!(out, "\n*Repeated:* {}.", escaped(&repeated));
    }
    for invalid in results.invalid() {
        let _ = writeln!(out, "\n**Invalid:** {}.", escaped(&invalid));
    }
    for fault in results.faults() {
        let _ = writeln!(out, "\n**Impossible:** {}.", escaped(&fault));
    }
    if results.quick {
        out += "\n**Shortened:** too short to be a result.\n";
    }
    if let Some(why) = &results.incomplete_because {
        let _ = writeln!(out, "\n**Incomplete:** {}.", escaped(why));
    }
    out
}

/// What stands behind a figure that is invalid.
fn mark(invalid: Option<&String>) -> &'static str {
    if invalid.is_some() { " *invalid*" } else { "" }
}

/// The head of a table: names, those of the first `left` columns being words.
fn head(out: &mut String, left: usize, names: &[&str]) {
    let _ = writeln!(out, "| {} |", names.join(" | "));
    let line = |at: usize| if at < left { "---" } else { "---:" };
    let lines: Vec<&str> = (0..names.len()).map(line).collect();
    let _ = writeln!(out, "| {} |", lines.join(" | "));
}

fn besides(out: &mut String, results: &Results) {
    let Some(devices) = beside::devices(results) else { return };
    let compared = beside::compared(results, devices);
    if compared.is_empty() {
        return;
    }
    let [a, b] = devices.map(escaped);
    head(out, 1, &["medians of turns", &a, &b, "ratio"]);
    for of in compared {
        let [a, b] = of.turns.each_ref().map(|turns| thousands(turns.median()));
        let _ = writeln!(out, "| {} | {a} | {b} | {:.2} |", of.what, of.ratio());
    }
    out.push('\n');
}

fn rows(out: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    head(
        out,
        3,
        &[
            "device",
            "protocol",
            "direction",
            "packet (L3)",
            "Mbps (payload)",
            "Mbps (L3)",
            "Mbps (L2)",
            "kpps",
            "of the wire",
            "lost or sent again",
        ],
    );
    for row in rows {
        let share = row.most_l3_mbps().map(|most| format!("{:.1}%", row.l3_mbps / most * 100.0));
        let gone = match row.setting.protocol {
            Protocol::Tcp => optional(row.retransmits),
            Protocol::Udp => optional(row.lost),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {}{} | {} | {} | {} | {gone} |",
            escaped(&row.setting.device),
            row.setting.protocol,
            row.setting.direction,
            row.setting.packet,
            thousands(row.payload_mbps),
            thousands(row.l3_mbps),
            mark(row.validity.invalid.as_ref()),
            thousands(row.l2_mbps),
            thousands(row.kpps),
            share.unwrap_or_default(),
        );
    }
    out.push('\n');
}

fn latencies(out: &mut String, latencies: &[Latency]) {
    if latencies.is_empty() {
        return;
    }
    let names = [
        "there and back",
        "asked by",
        "sent",
        "lost",
        "least, µs",
        "median",
        "mean",
        "99%",
        "most",
    ];
    head(out, 2, &names);
    let us = |ns: u64| thousands(ns as f64 / 1e3);
    for of in latencies {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {}{} | {} | {} | {} |",
            escaped(&of.device),
            of.tool,
            of.sent,
            of.sent.saturating_sub(of.received),
            us(of.min_ns),
            us(of.median_ns),
            mark(of.validity.invalid.as_ref()),
            us(of.mean_ns),
            us(of.p99_ns),
            us(of.max_ns)
        );
    }
    out.push('\n');
}

fn paths(out: &mut String, paths: &[HostPath]) {
    for of in paths {
        let path = of.path();
        let _ = writeln!(
            out,
            "{}, the path (RFC 6349): MTU {}, round trip {} µs, narrowest place {} Mbps (L2), \
             bandwidth-delay product {} byte; TCP at best {} Mbps (TCP payload)\n",
            escaped(&of.device),
            of.mtu,
            thousands(of.rtt_ns as f64 / 1e3),
            thousands(path.bottleneck_bps() / 1e6),
            whole(path.bdp_bytes().round()),
            thousands(path.ideal_bps() / 1e6)
        );
        let names = [
            "window, byte",
            "connections",
            "Mbps (TCP payload)",
            "transfer time ratio",
            "efficiency, %",
            "sent again",
            "RTT, µs",
            "buffer delay, %",
        ];
        head(out, 0, &names);
        for transfer in &of.transfers {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {:.3}{} | {:.3} | {} | {} | {} |",
                transfer.window,
                transfer.connections,
                thousands(transfer.bytes as f64 * 8.0 / transfer.seconds / 1e6),
                transfer.ratio,
                mark(of.invalid(transfer)),
                transfer.efficiency,
                transfer.retransmits,
                optional(transfer.rtt_us),
                transfer.buffer_delay.map_or(String::new(), whole)
            );
        }
        out.push('\n');
    }
}
